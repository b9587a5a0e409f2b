//! A walker that does not keep the document in memory. The buffer of lines holds only the current value. This suits traces:
//! a gigabyte of JSON that is a list of small events.

use cg_stream::fields::value_length;
use serde::Deserialize;

use super::walker::{JsonSource, Walker};
use crate::error::Error;
use crate::options::Lines;

/// A position in a document that is read once.
pub type Window<'l> = Walker<BufferSource<'l>>;

/// A document in a buffer of lines.
pub struct BufferSource<'l> {
    lines: &'l mut Lines,
    /// The number of bytes before the position in its line.
    column: usize,
}

impl JsonSource for BufferSource<'_> {
    type Text = Vec<u8>;

    #[inline]
    fn loaded(&self) -> &[u8] {
        self.lines.buffered()
    }

    #[inline]
    fn load(&mut self, wanted: usize) -> Result<bool, Error> {
        let seen = self.loaded().len();
        Ok(self.lines.peek(wanted).map_err(Error::Input)?.len() > seen)
    }

    fn text(&self, length: usize) -> Vec<u8> {
        self.loaded()[..length].to_vec()
    }

    #[inline]
    fn consume(&mut self, length: usize) {
        self.column = match memchr::memrchr(b'\n', &self.loaded()[..length]) {
            Some(newline) => length - newline - 1,
            None => self.column + length,
        };
        self.lines.consume(length);
    }

    fn place(&self) -> (u64, usize) {
        (self.lines.line_number() + 1, self.column + 1)
    }
}

impl<'l> Window<'l> {
    /// Creates a window at the current position of `lines`.
    pub fn new(lines: &'l mut Lines) -> Window<'l> {
        Walker::from_source(BufferSource { lines, column: 0 })
    }

    /// Parses the next value, which is loaded and has this length.
    pub fn read<'w, T: Deserialize<'w>>(&'w self, length: usize) -> Result<T, Error> {
        let value = &self.source.loaded()[..length];
        serde_json::from_slice(value).map_err(|error| self.explain(&error))
    }

    /// Skips the next value. Only its strings and numbers have to fit in the buffer.
    pub fn skip_value(&mut self) -> Result<(), Error> {
        let mut depth = 0u64;
        loop {
            let length = match self.peek()? {
                Some(b'{' | b'[') => {
                    // Usually the whole value is in the buffer. Nested values are not checked again.
                    let whole = (depth == 0).then(|| value_length(self.source.loaded()).ok());
                    depth += u64::from(whole.flatten().is_none());
                    whole.flatten().unwrap_or(1)
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    1
                }
                // Bytes between strings and brackets are not checked, as in a value that is whole in the buffer.
                Some(byte) if depth > 0 && byte != b'"' => {
                    let loaded = self.source.loaded();
                    let others = loaded.iter().position(|byte| b"\"{[}]".contains(byte));
                    others.unwrap_or(loaded.len())
                }
                _ => self.load_value()?,
            };
            self.consume(length);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Returns the line of the position, counted from 1.
    pub fn line(&self) -> u64 {
        self.source.place().0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use cg_stream::lines::LineReader;

    use super::*;

    /// A reader that returns at most a fixed number of bytes per call.
    struct PieceReader<'a>(&'a [u8], usize);
    impl Read for PieceReader<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(self.0.len()).min(out.len());
            out[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// Returns the texts of a list's elements, and the error after them.
    fn elements(text: &'static [u8], piece: usize) -> (Vec<String>, Result<(), String>) {
        let input: Box<dyn Read> = Box::new(PieceReader(text, piece));
        let mut lines = LineReader::new(input);
        let mut window = Window::new(&mut lines);
        let mut found = Vec::new();
        let mut walk = || {
            window.expect(b'[')?;
            while window.next_element()? {
                let length = window.load_value()?;
                window.read::<serde_json::Value>(length)?;
                found.push(String::from_utf8(window.source.text(length)).unwrap());
                window.consume(length);
            }
            window.expect_end()
        };
        let end: Result<(), Error> = walk();
        (found, end.map_err(|error| error.to_string()))
    }

    #[test]
    fn skipped_values_need_not_fit_in_the_buffer() {
        // The last element is not JSON, which must not depend on the buffer either.
        let end = "null, (ab\"]\" Q]} ,7";
        let long = ["{\"a\":[", &"[\"}\",{\"b\":-1}],".repeat(1000), end].concat();
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
