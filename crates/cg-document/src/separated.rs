//! Comma- and tab-separated values: the first table of a document, bare integers, nothing around it. A row is a line,
//! whatever names hold: their control characters are spelled out.

use std::borrow::Cow;
use std::io;

use cg_stream::record::Count;

use crate::number::push_hundredths;
use crate::{Cell, Document, visible};

/// Who reads the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueReader {
    /// A program: values are what they are.
    #[default]
    Program,
    /// A spreadsheet: a byte order mark says that this is UTF-8, what would be a formula is text, and an integer that a
    /// double does not hold exactly is text too.
    Spreadsheet,
}

/// The largest integer up to which a double holds all.
const LARGEST_EXACT: Count = 1 << 53;

/// CSV as RFC 4180 quotes it. Lines end in `\n`, which every reader takes and every Unix filter needs.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(
    document: &Document,
    reader: ValueReader,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut builder = csv::WriterBuilder::new();
    builder.quote_style(csv::QuoteStyle::Necessary);
    write_separated(document, reader, builder, visible, out)
}

/// TSV without quotes: a tab inside a field is written `\t`, a backslash `\\`.
///
/// # Errors
/// Those of the writer.
pub fn write_tsv(
    document: &Document,
    reader: ValueReader,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut builder = csv::WriterBuilder::new();
    builder.delimiter(b'\t').quote_style(csv::QuoteStyle::Never);
    write_separated(document, reader, builder, escaped, out)
}

fn write_separated(
    document: &Document,
    reader: ValueReader,
    mut builder: csv::WriterBuilder,
    shown: fn(&str) -> Cow<'_, str>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let Some(table) = document.first_table() else {
        return Ok(());
    };
    if reader == ValueReader::Spreadsheet {
        out.write_all("\u{feff}".as_bytes())?;
    }
    let mut writer = builder
        .terminator(csv::Terminator::Any(b'\n'))
        .buffer_capacity(64 * 1024)
        .from_writer(out);
    let heading = table.columns.iter().map(|column| column.name.as_str());
    let heading = heading.map(|name| neutralised(shown(name), reader).into_owned());
    writer.write_record(heading).map_err(io_error)?;
    let mut field = String::new();
    let mut record = csv::StringRecord::new();
    for row in &table.rows {
        record.clear();
        for column in &table.columns {
            field.clear();
            push_cell(&mut field, &column.cell(*row), reader, shown);
            record.push_field(&field);
        }
        writer.write_record(&record).map_err(io_error)?;
    }
    writer.flush()
}

/// The csv crate hides the error of the writer inside its own; a closed pipe has to stay one.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A field whose backslashes are doubled, so that those before a control character's name are told from them.
fn escaped(field: &str) -> Cow<'_, str> {
    if field.contains('\\') {
        Cow::Owned(visible(&field.replace('\\', "\\\\")).into_owned())
    } else {
        visible(field)
    }
}

/// A text that no spreadsheet takes for a formula.
fn neutralised(text: Cow<'_, str>, reader: ValueReader) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    match reader {
        ValueReader::Spreadsheet if is_formula => Cow::Owned(format!("'{text}")),
        _ => text,
    }
}

/// A cell as programs read it: bare integers, percentages without a sign, nothing for nothing.
fn push_cell(
    field: &mut String,
    cell: &Cell,
    reader: ValueReader,
    shown: fn(&str) -> Cow<'_, str>,
) {
    let mut push_text = |text: &str| field.push_str(&neutralised(shown(text), reader));
    match cell {
        Cell::Empty | Cell::Nameless => {}
        Cell::Name(name) | Cell::Called { name, .. } | Cell::Placed { name, .. } => push_text(name),
        Cell::Text(words) => push_text(words),
        Cell::Count(number) | Cell::Delta(number) => push_integer(field, *number, reader),
        Cell::Ordinal(number) => push_integer(field, Count::from(*number), reader),
        Cell::Quotient { .. } | Cell::Share { .. } | Cell::Change { .. } => {
            if let Some(value) = cell.ratio().or_else(|| cell.percentage()) {
                push_hundredths(value, field);
            }
        }
    }
}

fn push_integer(field: &mut String, number: Count, reader: ValueReader) {
    let mut digits = itoa::Buffer::new();
    // Almost every count fits in 64 bits, whose division is several times faster than that of 128.
    let digits = match i64::try_from(number) {
        Ok(number) => digits.format(number),
        Err(_) => digits.format(number),
    };
    if reader == ValueReader::Spreadsheet && number.abs() > LARGEST_EXACT {
        // Only in the form `="123"` do spreadsheets keep digits as text.
        field.push_str("=\"");
        field.push_str(digits);
        field.push('"');
    } else {
        field.push_str(digits);
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
    fn csv_is_read_back_as_it_was_meant() {
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
    fn a_row_of_one_empty_field_is_still_a_row() {
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
    fn tsv_has_one_line_a_row_and_one_tab_a_column() {
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
            let mut text = String::new();
            push_cell(&mut text, &cell, ValueReader::Spreadsheet, visible);
            text
        };
        for formula in ["=1+1", "+1", "-x", "@SUM(A1)"] {
            assert_eq!(plain(Cell::Name(formula)), format!("'{formula}"));
        }
        assert_eq!(plain(Cell::Name("operator=")), "operator=");
        assert_eq!(plain(Cell::Delta(-5)), "-5");
        assert_eq!(plain(Cell::Count(1 << 53)), "9007199254740992");
        assert_eq!(plain(Cell::Count((1 << 53) + 1)), "=\"9007199254740993\"");
        let mut out = Vec::new();
        write_csv(&table(), ValueReader::Spreadsheet, &mut out).unwrap();
        assert!(out.starts_with(b"\xef\xbb\xbfIr,fn,file\n"));
    }

    #[test]
    fn programs_get_bare_integers() {
        let plain = |cell: Cell| {
            let mut text = String::new();
            push_cell(&mut text, &cell, ValueReader::Program, visible);
            text
        };
        assert_eq!(plain(Cell::Count(1_234_567)), "1234567");
        assert_eq!(plain(Cell::Count(u64::MAX.into())), "18446744073709551615");
        assert_eq!(plain(Cell::Delta(-1_234)), "-1234");
        assert_eq!(plain(Cell::share(1, 3)), "33.33");
        assert_eq!(plain(Cell::Empty), "");
        assert_eq!(plain(Cell::Nameless), "");
    }
}
