//! Walks a document without holding it: values are looked at one by one in the buffer of its lines, which has to hold the
//! one that is looked at and no more. A trace of a gigabyte is a list of small events.

use cg_stream::fields::value_length;
use serde::Deserialize;

use super::without_place;
use crate::error::Error;
use crate::options::Lines;

/// A place in a document that is read once, from its beginning to its end.
pub struct Window<'l> {
    lines: &'l mut Lines,
    /// How much of the line that the place is in stands in front of it.
    column: usize,
}

/// How much is asked for at first where a value is not in the buffer to its end.
const FIRST_LOOK: usize = 4096;

impl<'l> Window<'l> {
    /// Begins where the lines are.
    pub fn new(lines: &'l mut Lines) -> Window<'l> {
        Window { lines, column: 0 }
    }

    /// The next byte that is not white space, to which it goes; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Input`], here and below.
    pub fn peek(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let bytes = self.lines.buffered();
            let blanks = bytes
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
            if let Some(byte) = bytes.get(blanks).copied() {
                self.consume(blanks);
                return Ok(Some(byte));
            }
            self.consume(blanks);
            if self.lines.is_at_end().map_err(Error::Input)? {
                return Ok(None);
            }
        }
    }

    /// Takes the next byte if it is this one.
    ///
    /// # Errors
    /// As [`Window::peek`].
    pub fn take(&mut self, byte: u8) -> Result<bool, Error> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.consume(1);
        }
        Ok(is_next)
    }

    /// Takes the next byte, which has to be this one.
    ///
    /// # Errors
    /// Where it is another.
    pub fn expect(&mut self, byte: u8) -> Result<(), Error> {
        match self.take(byte)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", byte as char))),
        }
    }

    /// The length of the value that stands here, all of which is in the buffer then.
    ///
    /// # Errors
    /// Where no value begins here, or the document ends within it.
    pub fn value(&mut self) -> Result<usize, Error> {
        let first = self.peek()?;
        let Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'a'..=b'z') = first else {
            return Err(self.unexpected("a value"));
        };
        let has_end = matches!(first, Some(b'"' | b'{' | b'['));
        loop {
            let bytes = self.lines.buffered();
            let seen = bytes.len();
            let length = value_length(bytes).ok();
            // What has no bracket of its own ends where something else begins.
            let known = length.filter(|length| has_end || *length < seen);
            if let Some(length) = known {
                return Ok(length);
            }
            // Twice as much each time, so that a long value is not looked at from its beginning with every piece of it.
            let wanted = (2 * seen).max(FIRST_LOOK);
            let now = self.lines.peek(wanted).map_err(Error::Input)?.len();
            if now == seen {
                return length.filter(|_| !has_end).ok_or_else(|| self.cut_short());
            }
        }
    }

    /// The value of this length that stands here, as it is written.
    pub fn text(&self, length: usize) -> &[u8] {
        let bytes = self.lines.buffered();
        &bytes[..length.min(bytes.len())]
    }

    /// The value of this length that stands here.
    ///
    /// # Errors
    /// Where it is another than is wanted, or not JSON.
    pub fn read<'w, T: Deserialize<'w>>(&'w self, length: usize) -> Result<T, Error> {
        serde_json::from_slice(self.text(length)).map_err(|error| {
            let column = match error.line() {
                0 | 1 => self.column + error.column(),
                _ => error.column(),
            };
            let line = self.line() + (error.line() as u64).saturating_sub(1);
            Error::at(line, format!("{} (column {column})", without_place(&error)))
        })
    }

    /// Goes behind bytes that were looked at.
    pub fn consume(&mut self, length: usize) {
        self.column = match memchr::memrchr(b'\n', self.text(length)) {
            Some(newline) => length - newline - 1,
            None => self.column + length,
        };
        self.lines.consume(length);
    }

    /// Goes behind the next value, which is not held: only strings and numbers have to be in the buffer.
    ///
    /// # Errors
    /// As [`Window::value`].
    pub fn skip_value(&mut self) -> Result<(), Error> {
        let mut depth = 0u64;
        loop {
            let length = match self.peek()? {
                Some(b'{' | b'[') => {
                    // Mostly all of it is there; of what is in it that is not asked again.
                    let whole = (depth == 0).then(|| value_length(self.lines.buffered()));
                    match whole {
                        Some(Ok(length)) => length,
                        _ => {
                            depth += 1;
                            1
                        }
                    }
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    1
                }
                Some(b',' | b':') if depth > 0 => 1,
                _ => self.value()?,
            };
            self.consume(length);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The next key of an object, as it is written, with the colon behind it; `None` at the object's end, which is taken.
    ///
    /// # Errors
    /// Where neither stands here.
    pub fn next_key(&mut self, is_first: bool) -> Result<Option<Vec<u8>>, Error> {
        if self.take(b'}')? {
            return Ok(None);
        }
        if !is_first {
            self.expect(b',')?;
        }
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("`\"`"));
        }
        let length = self.value()?;
        let key = self.text(length)[1..length - 1].to_vec();
        self.consume(length);
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Fails where anything but white space is left.
    ///
    /// # Errors
    /// Where something is left.
    pub fn expect_end(&mut self) -> Result<(), Error> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    /// The line of the place, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines.line_number() + 1
    }

    /// The error for what stands here instead of what is expected.
    pub fn unexpected(&mut self, expected: &str) -> Error {
        match self.peek() {
            Err(error) => error,
            Ok(None) => self.cut_short(),
            Ok(Some(byte)) => Error::at(
                self.line(),
                format!(
                    "expected {expected}, found `{}` (column {})",
                    byte.escape_ascii(),
                    self.column + 1
                ),
            ),
        }
    }

    /// The error for a document that ends within the value that stands here.
    fn cut_short(&mut self) -> Error {
        self.consume(self.lines.buffered().len());
        Error::at(
            self.line(),
            format!(
                "expected more of the JSON, found the end of the file in column {}: it is cut short",
                self.column + 1
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use cg_stream::lines::LineReader;

    use super::*;

    /// Hands out so many bytes a read.
    struct PieceReader<'a>(&'a [u8], usize);
    impl Read for PieceReader<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(self.0.len()).min(out.len());
            out[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// The elements of a list, as they are written, and what is wrong behind them.
    fn elements(text: &'static [u8], piece: usize) -> (Vec<String>, Result<(), String>) {
        let input: Box<dyn Read> = Box::new(PieceReader(text, piece));
        let mut lines = LineReader::new(input);
        let mut window = Window::new(&mut lines);
        let mut found = Vec::new();
        let mut walk = || {
            window.expect(b'[')?;
            while !window.take(b']')? {
                if !found.is_empty() {
                    window.expect(b',')?;
                }
                let length = window.value()?;
                window.read::<serde_json::Value>(length)?;
                found.push(String::from_utf8(window.text(length).to_vec()).unwrap());
                window.consume(length);
            }
            window.expect_end()
        };
        let end: Result<(), Error> = walk();
        (found, end.map_err(|error| error.to_string()))
    }

    #[test]
    fn what_is_skipped_need_not_be_in_the_buffer() {
        let long = ["{\"a\":[", &"[\"}\",{\"b\":-1}],".repeat(1000), "null]} ,7"].concat();
        for piece in [1, 100, 1 << 20] {
            let input: Box<dyn Read> = Box::new(PieceReader(long.clone().leak().as_bytes(), piece));
            let mut lines = LineReader::new(input);
            let mut window = Window::new(&mut lines);
            window.skip_value().unwrap();
            window.expect(b',').unwrap();
            window.skip_value().unwrap();
            window.expect_end().unwrap();
            let cut: Box<dyn Read> = Box::new(PieceReader(&b"{\"a\":[1,{\"b\":2"[..], piece));
            let mut lines = LineReader::new(cut);
            let error = Window::new(&mut lines)
                .skip_value()
                .unwrap_err()
                .to_string();
            assert!(error.contains("cut short"), "{error}");
        }
    }

    #[test]
    fn values_do_not_depend_on_how_bytes_arrive() {
        for (text, expected, end) in [
            (
                &b" [ 12,\"a]\\\"\",\n{\"b\":[1, {}]} ,true ] \n"[..],
                &["12", "\"a]\\\"\"", "{\"b\":[1, {}]}", "true"][..],
                Ok(()),
            ),
            (
                b"[1,\n 23",
                &["1", "23"],
                Err(
                    "2: expected more of the JSON, found the end of the file in column 4: it is cut short",
                ),
            ),
            (
                b"[1,\n {\"a\":[2",
                &["1"],
                Err(
                    "2: expected more of the JSON, found the end of the file in column 9: it is cut short",
                ),
            ),
            (
                b"[1 2]",
                &["1"],
                Err("1: expected `,`, found `2` (column 4)"),
            ),
            (
                b"[1]\n x",
                &["1"],
                Err("2: expected the end of the file, found `x` (column 2)"),
            ),
            (
                b"[\n7, {\"a\":01}]",
                &["7"],
                Err("2: invalid number (column 10)"),
            ),
            (
                b"[,]",
                &[],
                Err("1: expected a value, found `,` (column 2)"),
            ),
        ] {
            for piece in [1, 3, 1000] {
                let (found, found_end) = elements(text, piece);
                assert_eq!(found, expected, "{piece}");
                assert_eq!(found_end, end.map_err(str::to_owned), "{piece}");
            }
        }
    }
}
