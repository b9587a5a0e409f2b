//! Comma- and tab-separated values: one table, bare integers, nothing around it.
//!
//! Most fields are integers, so a writer that looks at every byte of every field for something to quote (the csv crate's
//! took an eighth of the time of a whole `cg-fmt -f csv`) is not used; it reads the output back in the tests.

use std::io::{self, Write};

use crate::number::push_plain;
use crate::table::{Cell, Table};

/// CSV as RFC 4180 quotes it. Lines end in `\n`, which every reader takes and every Unix filter needs.
pub(crate) fn write_csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write_separated(table, ',', push_quoted, out)
}

/// TSV without quotes: tabs, line ends and backslashes inside a field are written `\t`, `\n`, `\r` and `\\`.
pub(crate) fn write_tsv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    write_separated(table, '\t', push_escaped, out)
}

fn write_separated(
    table: &Table,
    separator: char,
    push_text: fn(&mut String, &str),
    out: &mut dyn Write,
) -> io::Result<()> {
    const BLOCK: usize = 64 * 1024;
    let mut text = String::with_capacity(BLOCK + 4096);
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            text.push(separator);
        }
        push_text(&mut text, &column.name);
    }
    text.push('\n');
    for row in &table.rows {
        let start = text.len();
        for (index, column) in table.columns.iter().enumerate() {
            if index > 0 {
                text.push(separator);
            }
            match column.cell(*row) {
                Cell::Name(name) | Cell::Called { name, .. } => push_text(&mut text, name),
                Cell::Text(words) => push_text(&mut text, &words),
                number => push_plain(&mut text, &number),
            }
        }
        if text.len() == start && separator == ',' {
            // A line of nothing would not be read as a row.
            text.push_str("\"\"");
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

/// A field within quotes where it holds a separator, a quote or a line end; quotes are doubled.
fn push_quoted(text: &mut String, field: &str) {
    let needs_quotes = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !field.as_bytes().iter().any(needs_quotes) {
        text.push_str(field);
        return;
    }
    text.push('"');
    for (index, part) in field.split('"').enumerate() {
        if index > 0 {
            text.push_str("\"\"");
        }
        text.push_str(part);
    }
    text.push('"');
}

/// A field in which tabs, line ends and backslashes are spelled out.
fn push_escaped(text: &mut String, field: &str) {
    let needs_escape = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\');
    if !field.as_bytes().iter().any(needs_escape) {
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
    fn csv_is_read_back_as_it_was_meant() {
        let mut out = Vec::new();
        write_csv(&table(), &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let names: Vec<String> = reader
            .records()
            .map(|record| record.unwrap()[1].to_owned())
            .collect();
        assert_eq!(names, [NAMES[3], NAMES[1], NAMES[2], NAMES[0]]);
    }

    #[test]
    fn a_row_of_one_empty_field_is_still_a_row() {
        let column = Column::new("file", Layout::Path, |_| Cell::Empty);
        let mut out = Vec::new();
        write_csv(&Table::new(vec![column], vec![0, 0]), &mut out).unwrap();
        assert_eq!(out, b"file\n\"\"\n\"\"\n");
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
