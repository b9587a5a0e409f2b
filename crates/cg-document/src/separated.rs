//! Comma- and tab-separated values. Contains only the first table of a document, with plain integers. Each row is one line,
//! because control characters in names are spelled out.

use std::borrow::Cow;
use std::io;

use cg_stream::record::Count;
use cg_stream::visible::{Found, find};

use crate::number::push_hundredths;
use crate::{Cell, Document, visible};

/// The intended reader of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueReader {
    /// A program. Values are not changed.
    #[default]
    Program,
    /// A spreadsheet. A byte order mark marks the file as UTF-8. Texts that look like formulas, and integers that a double
    /// cannot represent exactly, are written as text.
    Spreadsheet,
}

/// A double can represent all integers up to this one.
const LARGEST_EXACT: Count = 1 << 53;

/// The number of bytes per write.
const BUFFER: usize = 64 * 1024;

/// Writes CSV, quoted as in RFC 4180. Lines end in `\n`, which all readers accept and Unix filters need.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_csv(
    document: &Document,
    reader: ValueReader,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write_separated(
        document,
        FieldWriter {
            reader,
            tabs: false,
        },
        out,
    )
}

/// Writes TSV without quotes. A tab inside a field becomes `\t`, a backslash `\\`.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_tsv(
    document: &Document,
    reader: ValueReader,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    write_separated(document, FieldWriter { reader, tabs: true }, out)
}

/// Writes fields.
///
/// This does not use the csv crate: most fields are numbers, which need no quotes. The csv crate checks every field for
/// quotes and copies it twice, which takes twice the instructions.
#[derive(Clone, Copy)]
struct FieldWriter {
    reader: ValueReader,
    /// True if tabs separate the fields; false for commas.
    tabs: bool,
}

fn write_separated(
    document: &Document,
    fields: FieldWriter,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let Some(table) = document.first_table() else {
        return Ok(());
    };
    let mut text = Vec::with_capacity(BUFFER + 4096);
    if fields.reader == ValueReader::Spreadsheet {
        text.extend_from_slice("\u{feff}".as_bytes());
    }
    fields.push_line(&mut text, &table.columns, |text, column| {
        fields.push_text(text, &column.name);
    });
    for row in &table.rows {
        fields.push_line(&mut text, &table.columns, |text, column| {
            fields.push_cell(text, &column.cell(*row));
        });
        if text.len() >= BUFFER {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    out.flush()
}

impl FieldWriter {
    /// Appends a line with a field for each item.
    fn push_line<T>(self, text: &mut Vec<u8>, items: &[T], push: impl Fn(&mut Vec<u8>, &T)) {
        let start = text.len();
        for item in items {
            push(text, item);
            text.push(if self.tabs { b'\t' } else { b',' });
        }
        if text.len() > start {
            text.pop();
        }
        // An empty line would not be a row.
        if text.len() == start {
            text.extend_from_slice(b"\"\"");
        }
        text.push(b'\n');
    }

    /// Appends a text in its visible form. Prevents spreadsheets from reading it as a formula.
    fn push_text(self, text: &mut Vec<u8>, field: &str) {
        if self.reader == ValueReader::Program && !self.tabs {
            match find(field, [',', '"']) {
                Found { control: true, .. } => self.push_quoted(text, &visible(field)),
                Found { other: true, .. } => self.push_in_quotes(text, field),
                _ => text.extend_from_slice(field.as_bytes()),
            }
            return;
        }
        let shown = match self.tabs {
            // Escapes backslashes first, to distinguish them from those of spelled out control characters.
            true if field.contains('\\') => {
                Cow::Owned(visible(&field.replace('\\', "\\\\")).into_owned())
            }
            _ => visible(field),
        };
        let is_formula = || shown.starts_with(['=', '+', '-', '@', '\t', '\r']);
        match self.reader {
            ValueReader::Spreadsheet if is_formula() => {
                self.push_quoted(text, &format!("'{shown}"));
            }
            _ => self.push_quoted(text, &shown),
        }
    }

    /// Appends a field, with quotes if it needs them.
    fn push_quoted(self, text: &mut Vec<u8>, field: &str) {
        if self.tabs || memchr::memchr2(b',', b'"', field.as_bytes()).is_none() {
            text.extend_from_slice(field.as_bytes());
        } else {
            self.push_in_quotes(text, field);
        }
    }

    fn push_in_quotes(self, text: &mut Vec<u8>, field: &str) {
        let mut rest = field.as_bytes();
        text.push(b'"');
        while let Some(quote) = memchr::memchr(b'"', rest) {
            text.extend_from_slice(&rest[..=quote]);
            text.push(b'"');
            rest = &rest[quote + 1..];
        }
        text.extend_from_slice(rest);
        text.push(b'"');
    }

    /// Appends a cell for programs: plain integers, percentages without the sign %, empty cells as nothing.
    fn push_cell(self, text: &mut Vec<u8>, cell: &Cell) {
        match cell {
            Cell::Empty | Cell::Nameless => {}
            Cell::Name(name) | Cell::Called { name, .. } | Cell::Placed { name, .. } => {
                self.push_text(text, name);
            }
            Cell::Text(words) => self.push_text(text, words),
            Cell::Count(number) | Cell::AtMost(number) | Cell::Delta(number) => {
                self.push_integer(text, *number);
            }
            Cell::Ordinal(number) => self.push_integer(text, Count::from(*number)),
            Cell::Quotient { .. }
            | Cell::Share { .. }
            | Cell::ShareAtMost { .. }
            | Cell::Change { .. } => {
                if let Some(value) = cell.ratio().or_else(|| cell.percentage()) {
                    push_hundredths(value, text);
                }
            }
        }
    }

    fn push_integer(self, text: &mut Vec<u8>, number: Count) {
        // In a Cachegrind profile, 80 % of the counts have one or two digits.
        if let Ok(small @ 0..=99) = u8::try_from(number) {
            if small > 9 {
                text.push(b'0' + small / 10);
            }
            text.push(b'0' + small % 10);
            return;
        }
        let mut digits = itoa::Buffer::new();
        // Almost every count fits in 64 bits. Dividing 64 bits is several times faster than dividing 128 bits.
        let digits = match i64::try_from(number) {
            Ok(number) => digits.format(number),
            Err(_) => digits.format(number),
        };
        if self.reader == ValueReader::Spreadsheet && number.abs() > LARGEST_EXACT {
            // Spreadsheets keep digits as text only in the form `="123"`.
            self.push_quoted(text, &format!("=\"{digits}\""));
        } else {
            text.extend_from_slice(digits.as_bytes());
        }
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
    fn csv_is_quoted_as_in_rfc_4180() {
        let mut out = Vec::new();
        write_csv(&table(), ValueReader::Program, &mut out).unwrap();
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
    fn csv_reads_back_unchanged() {
        let mut out = Vec::new();
        write_csv(&table(), ValueReader::Program, &mut out).unwrap();
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let names: Vec<String> = reader
            .records()
            .map(|record| record.unwrap()[1].to_owned())
            .collect();
        let shown = NAMES.map(visible);
        assert_eq!(names, [&*shown[3], &*shown[1], &*shown[2], &*shown[0]]);
    }

    #[test]
    fn a_row_with_one_empty_field_is_a_row() {
        let column = Column::new("file", Layout::Path, |_| Cell::Empty);
        let mut out = Vec::new();
        write_csv(
            &document(Table::new(vec![column], vec![0, 0])),
            ValueReader::Program,
            &mut out,
        )
        .unwrap();
        assert_eq!(out, b"file\n\"\"\n\"\"\n");
    }

    #[test]
    fn tsv_has_one_line_per_row_and_one_tab_between_columns() {
        let mut out = Vec::new();
        write_tsv(&table(), ValueReader::Program, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 5);
        assert!(text.lines().all(|line| line.matches('\t').count() == 2));
        assert!(text.contains("tab\\tline\\nback\\\\slash"));
    }

    #[test]
    fn spreadsheets_get_no_formulas_and_no_rounded_integers() {
        let plain = |cell: Cell| {
            let mut text = Vec::new();
            // TSV, because CSV would quote the form that contains quotes.
            let reader = ValueReader::Spreadsheet;
            FieldWriter { reader, tabs: true }.push_cell(&mut text, &cell);
            String::from_utf8(text).unwrap()
        };
        for formula in ["=1+1", "+1", "-x", "@SUM(A1)"] {
            assert_eq!(plain(Cell::Name(formula)), format!("'{formula}"));
        }
        assert_eq!(plain(Cell::Name("operator=")), "operator=");
        assert_eq!(plain(Cell::Delta(-5)), "-5");
        assert_eq!(plain(Cell::Count(1 << 53)), "9007199254740992");
        assert_eq!(plain(Cell::Count((1 << 53) + 1)), "=\"9007199254740993\"");
        let large = Column::new("Ir", Layout::Number, |_| Cell::Count((1 << 53) + 1));
        let mut out = Vec::new();
        let document = document(Table::new(vec![large], vec![0]));
        write_csv(&document, ValueReader::Spreadsheet, &mut out).unwrap();
        assert_eq!(
            out,
            "\u{feff}Ir\n\"=\"\"9007199254740993\"\"\"\n".as_bytes()
        );
    }

    #[test]
    fn programs_get_plain_integers() {
        let plain = |cell: Cell| {
            let mut text = Vec::new();
            let reader = ValueReader::Program;
            FieldWriter {
                reader,
                tabs: false,
            }
            .push_cell(&mut text, &cell);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(plain(Cell::Count(1_234_567)), "1234567");
        assert_eq!(plain(Cell::Count(u64::MAX.into())), "18446744073709551615");
        assert_eq!(plain(Cell::Delta(-1_234)), "-1234");
        assert_eq!(plain(Cell::share(1, 3)), "33.33");
        assert_eq!(plain(Cell::Empty), "");
        assert_eq!(plain(Cell::Nameless), "");
    }
}
