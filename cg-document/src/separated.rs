//! Comma- and tab-separated values: the first table of a document, bare integers, nothing around it. A row is a line,
//! whatever names hold: their control characters are spelled out.
//!
//! Most fields are integers, so a writer that looks at every byte of every field for something to quote (the csv crate's
//! took an eighth of the time of a whole `cg-fmt -f csv`) is not used; it reads the output back in the tests.

use std::fmt::Write as _;
use std::io;

use cg_stream::record::Count;

use crate::{Cell, Document, visible};

/// CSV as RFC 4180 quotes it. Lines end in `\n`, which every reader takes and every Unix filter needs.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(document: &Document, out: &mut dyn io::Write) -> io::Result<()> {
    write_separated(document, ',', push_quoted, out)
}

/// TSV without quotes: a tab inside a field is written `\t`, a backslash `\\`.
///
/// # Errors
/// Those of the writer.
pub fn write_tsv(document: &Document, out: &mut dyn io::Write) -> io::Result<()> {
    write_separated(document, '\t', push_escaped, out)
}

fn write_separated(
    document: &Document,
    separator: char,
    push_text: fn(&mut String, &str),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    const BLOCK: usize = 64 * 1024;
    let Some(table) = document.first_table() else {
        return Ok(());
    };
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
            push_cell(&mut text, &column.cell(*row), push_text);
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

/// A field within quotes where it holds a separator or a quote; quotes are doubled.
fn push_quoted(text: &mut String, field: &str) {
    let field = visible(field);
    if memchr::memchr2(b',', b'"', field.as_bytes()).is_none() {
        text.push_str(&field);
        return;
    }
    text.push('"');
    text.push_str(&field.replace('"', "\"\""));
    text.push('"');
}

/// A field whose backslashes are doubled, so that those before a control character's name are told from them.
fn push_escaped(text: &mut String, field: &str) {
    if field.contains('\\') {
        text.push_str(&visible(&field.replace('\\', "\\\\")));
    } else {
        text.push_str(&visible(field));
    }
}

/// A cell as programs read it: bare integers, percentages without a sign, nothing for nothing.
fn push_cell(text: &mut String, cell: &Cell, push_text: fn(&mut String, &str)) {
    match cell {
        Cell::Empty => {}
        Cell::Name(name) | Cell::Called { name, .. } | Cell::Placed { name, .. } => {
            push_text(text, name)
        }
        Cell::Text(words) => push_text(text, words),
        Cell::Count(number) | Cell::Delta(number) => push_integer(text, *number),
        Cell::Ordinal(number) => text.push_str(itoa::Buffer::new().format(*number)),
        Cell::Quotient { .. } => {
            if let Some(ratio) = cell.ratio() {
                // Writing to a string does not fail.
                let _ = write!(text, "{ratio:.2}");
            }
        }
        Cell::Share { .. } | Cell::Change { .. } => {
            if let Some(percent) = cell.percentage() {
                // Writing to a string does not fail.
                let _ = write!(text, "{percent:.2}");
            }
        }
    }
}

fn push_integer(text: &mut String, number: Count) {
    // Almost every count fits in 64 bits, whose division is several times faster than that of 128.
    match i64::try_from(number) {
        Ok(number) => text.push_str(itoa::Buffer::new().format(number)),
        Err(_) => text.push_str(itoa::Buffer::new().format(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Column, Layout, Table};

    const NAMES: [&str; 4] = [
        "f",
        "operator,(A, B)",
        "say \"hi\"",
        "tab\tline\nback\\slash",
    ];

    fn document(table: Table<'static>) -> Document<'static> {
        Document {
            blocks: vec![Block::Text("a sentence".into()), Block::Table(table)],
        }
    }

    fn table() -> Document<'static> {
        document(Table::new(
            vec![
                Column::new("Ir", Layout::Number, |row| Cell::Count(1_000 * row as i128)),
                Column::new("fn", Layout::Name, |row| Cell::Name(NAMES[row])),
                Column::new("file", Layout::Path, |_| Cell::Empty),
            ],
            vec![3, 1, 2, 0],
        ))
    }

    #[test]
    fn csv_quotes_what_rfc_4180_wants_quoted() {
        let mut out = Vec::new();
        write_csv(&table(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Ir,fn,file\n\
             3000,tab\\tline\\nback\\slash,\n\
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
        let shown = NAMES.map(visible);
        assert_eq!(names, [&*shown[3], &*shown[1], &*shown[2], &*shown[0]]);
    }

    #[test]
    fn a_row_of_one_empty_field_is_still_a_row() {
        let column = Column::new("file", Layout::Path, |_| Cell::Empty);
        let mut out = Vec::new();
        write_csv(&document(Table::new(vec![column], vec![0, 0])), &mut out).unwrap();
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

    #[test]
    fn programs_get_bare_integers() {
        let plain = |cell: Cell| {
            let mut text = String::new();
            push_cell(&mut text, &cell, push_quoted);
            text
        };
        assert_eq!(plain(Cell::Count(1_234_567)), "1234567");
        assert_eq!(plain(Cell::Count(u64::MAX.into())), "18446744073709551615");
        assert_eq!(plain(Cell::Delta(-1_234)), "-1234");
        assert_eq!(plain(Cell::share(1, 3)), "33.33");
        assert_eq!(plain(Cell::Empty), "");
    }
}
