//! A line of comma-separated values, as VTune and memray write them. A field does not continue on the next line.

use std::io::{self, Read};

use cg_reader::Error;
use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

/// The fields of the last line.
///
/// One reader serves all lines, because a new reader costs about 270,000 instructions.
pub(super) struct CsvLine {
    reader: Reader<LineSource>,
    fields: ByteRecord,
}

impl CsvLine {
    pub(super) fn new(delimiter: u8) -> CsvLine {
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            // Carriage returns are data.
            .terminator(Terminator::Any(b'\n'))
            .has_headers(false)
            .flexible(true)
            .from_reader(LineSource::default());
        CsvLine {
            reader,
            fields: ByteRecord::new(),
        }
    }

    /// Splits line `number` of the input into its fields.
    ///
    /// # Errors
    /// Returns an error if a quoted field does not end; no line can be read after that.
    pub(super) fn read(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        self.fields.clear();
        if line.is_empty() {
            return Ok(());
        }
        self.reader.get_mut().set(line);
        let is_read = self.reader.read_byte_record(&mut self.fields);
        match is_read.is_ok() && !self.reader.get_ref().was_exhausted {
            true => Ok(()),
            false => Err(Error::at(
                number,
                "expected a closing quote, found the end of the line",
            )),
        }
    }

    pub(super) fn get(&self, position: usize) -> Option<&[u8]> {
        self.fields.get(position)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.fields.iter()
    }
}

/// The bytes of one line and its line break.
#[derive(Default)]
struct LineSource {
    line: Vec<u8>,
    position: usize,
    /// True if the reader asked for bytes after the line break: it is still inside quotes.
    was_exhausted: bool,
}

impl LineSource {
    fn set(&mut self, line: &[u8]) {
        self.line.clear();
        self.line.extend_from_slice(line);
        self.line.push(b'\n');
        self.position = 0;
    }
}

impl Read for LineSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = &self.line[self.position..];
        self.was_exhausted |= rest.is_empty();
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        self.position += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_own_fields() {
        let long = "x".repeat(20_000);
        let mut line = CsvLine::new(b';');
        for (text, expected) in [
            ("a;b", &["a", "b"][..]),
            ("", &[]),
            ("\"a;\"\"b\"\"\";;c\r", &["a;\"b\"", "", "c\r"]),
            (&format!("{long};1"), &[&long, "1"]),
            ("a\"b;c", &["a\"b", "c"]),
        ] {
            assert!(line.read(text.as_bytes(), 1).is_ok(), "{text:.20}");
            let fields: Vec<&[u8]> = line.iter().collect();
            let expected: Vec<&[u8]> = expected.iter().map(|field| field.as_bytes()).collect();
            assert_eq!(fields, expected, "{text:.20}");
        }
    }

    #[test]
    fn open_quote_is_an_error() {
        for text in ["a;\"b", "\"", "a;\"b\"\";c"] {
            let mut line = CsvLine::new(b';');
            assert!(line.read(b"a;b", 1).is_ok(), "{text}");
            let error = line.read(text.as_bytes(), 2).unwrap_err().to_string();
            assert_eq!(
                error,
                "2: expected a closing quote, found the end of the line"
            );
        }
    }
}
