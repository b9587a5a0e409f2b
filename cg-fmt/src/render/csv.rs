//! Comma- and tab-separated values: one table, bare integers, nothing around it.

use std::io::{self, Write};

use crate::number::push_plain;
use crate::table::Table;

/// CSV as RFC 4180 quotes it. Lines end in `\n`, which every reader takes and every Unix filter needs.
pub(crate) fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new()
        .buffer_capacity(64 * 1024)
        .from_writer(out);
    let mut field = String::new();
    let result: Result<(), csv::Error> = (|| {
        csv.write_record(table.columns.iter().map(|column| &column.name))?;
        for row in &table.rows {
            for column in &table.columns {
                field.clear();
                push_plain(&mut field, &column.cell(*row));
                csv.write_field(&field)?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
        csv.flush()?;
        Ok(())
    })();
    result.map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    })
}

/// TSV without quotes: tabs, line ends and backslashes inside a field are written `\t`, `\n`, `\r` and `\\`.
pub(crate) fn write_tsv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    const BLOCK: usize = 64 * 1024;
    let mut text = String::with_capacity(BLOCK + 4096);
    let mut field = String::new();
    for (index, column) in table.columns.iter().enumerate() {
        push_separated(&mut text, index, &column.name);
    }
    text.push('\n');
    for row in &table.rows {
        for (index, column) in table.columns.iter().enumerate() {
            field.clear();
            push_plain(&mut field, &column.cell(*row));
            push_separated(&mut text, index, &field);
        }
        text.push('\n');
        if text.len() >= BLOCK {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn push_separated(text: &mut String, index: usize, field: &str) {
    if index > 0 {
        text.push('\t');
    }
    if !field.contains(['\t', '\n', '\r', '\\']) {
        text.push_str(field);
        return;
    }
    for character in field.chars() {
        match character {
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\\' => text.push_str("\\\\"),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Column, Layout};

    const NAMES: [&str; 4] = [
        "f",
        "operator,(A, B)",
        "say \"hi\"",
        "tab\tline\nback\\slash",
    ];

    fn table() -> Table<'static> {
        Table::new(
            vec![
                Column::new("Ir", Layout::Number, |row| Cell::Count(1_000 * row as i128)),
                Column::new("fn", Layout::Name, |row| Cell::Name(NAMES[row])),
                Column::new("file", Layout::Path, |_| Cell::Empty),
            ],
            vec![3, 1, 2, 0],
        )
    }

    #[test]
    fn csv_quotes_what_rfc_4180_wants_quoted() {
        let mut out = Vec::new();
        write_csv(&table(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Ir,fn,file\n\
             3000,\"tab\tline\nback\\slash\",\n\
             1000,\"operator,(A, B)\",\n\
             2000,\"say \"\"hi\"\"\",\n\
             0,f,\n"
        );
    }

    #[test]
    fn tsv_has_one_line_a_row_and_one_tab_a_column() {
        let mut out = Vec::new();
        write_tsv(&table(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 5);
        assert!(text.lines().all(|line| line.matches('\t').count() == 2));
        assert!(text.contains("tab\\tline\\nback\\\\slash"));
    }
}
