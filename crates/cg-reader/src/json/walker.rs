//! The grammar of JSON, read token by token. This suits documents that a parser cannot handle: trees that exceed its
//! recursion limit, lists without their closing bracket, and documents that are truncated or do not fit in memory.

use cg_stream::fields::value_length;

use super::without_place;
use crate::error::Error;

/// A document with a position. Bytes after the position may have to be loaded.
pub trait JsonSource {
    /// The text of a key.
    type Text;
    /// Returns the loaded bytes after the position.
    fn loaded(&self) -> &[u8];
    /// Loads bytes until `wanted` are loaded or the document ends. Returns true if there are more than before.
    fn load(&mut self, wanted: usize) -> Result<bool, Error>;
    /// Returns the next `length` loaded bytes.
    fn text(&self, length: usize) -> Self::Text;
    /// Skips loaded bytes.
    fn consume(&mut self, length: usize);
    /// Returns the line and the column of the position, both counted from 1.
    fn place(&self) -> (u64, usize);
}

/// A reader of the tokens of a document, from its beginning to its end.
#[derive(Clone)]
pub struct Walker<S> {
    pub(super) source: S,
    /// True if the last token opened an object or a list.
    is_after_open: bool,
}

impl<S: JsonSource> Walker<S> {
    pub(super) fn from_source(source: S) -> Walker<S> {
        Walker {
            source,
            is_after_open: false,
        }
    }

    /// Skips white space and returns the next byte without consuming it; `None` at the end.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let bytes = self.source.loaded();
            let blanks = bytes
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
            let next = bytes.get(blanks).copied();
            self.source.consume(blanks);
            if next.is_some() || !self.source.load(1)? {
                return Ok(next);
            }
        }
    }

    /// Consumes the next byte if it equals `byte`. Returns true if it does.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Result<bool, Error> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.source.consume(1);
            self.is_after_open = matches!(byte, b'{' | b'[');
        }
        Ok(is_next)
    }

    /// Consumes the next byte. Returns an error if it differs from `byte`.
    pub fn expect(&mut self, byte: u8) -> Result<(), Error> {
        match self.take(byte)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", byte as char))),
        }
    }

    /// Consumes the next key of an object and its colon. Returns the key with its escapes; `None` at the end of the object,
    /// whose bracket is consumed.
    pub fn next_key(&mut self) -> Result<Option<S::Text>, Error> {
        if !self.next_item(b'}')? {
            return Ok(None);
        }
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("`\"`"));
        }
        let length = self.load_value()?;
        self.source.consume(1);
        let key = self.source.text(length - 2);
        self.consume(length - 1);
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Moves to the next element of a list. Returns false at the end of the list, whose bracket is consumed.
    pub fn next_element(&mut self) -> Result<bool, Error> {
        self.next_item(b']')
    }

    /// Moves to the next item of an object or list. Returns false at the bracket `close`, which is consumed.
    fn next_item(&mut self, close: u8) -> Result<bool, Error> {
        if self.take(close)? {
            return Ok(false);
        }
        if !self.is_after_open {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// Loads the next value and returns its length. [`value_length`] does not check the value fully.
    pub fn load_value(&mut self) -> Result<usize, Error> {
        let has_end = match self.peek()? {
            Some(b'"' | b'{' | b'[') => true,
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => false,
            _ => return Err(self.unexpected("a value")),
        };
        loop {
            let seen = self.source.loaded().len();
            let length = value_length(self.source.loaded()).ok();
            // A number or a word is complete only if another byte follows or the document ends.
            if let Some(length) = length.filter(|length| has_end || *length < seen) {
                return Ok(length);
            }
            // Doubles the size each time, because every attempt scans the value from its beginning.
            if !self.source.load((2 * seen).max(4096))? {
                return length.ok_or_else(|| self.cut_short());
            }
        }
    }

    /// Skips the next value, which has this length.
    pub fn consume(&mut self, length: usize) {
        self.source.consume(length);
        self.is_after_open = false;
    }

    /// Returns an error unless only white space is left.
    pub fn expect_end(&mut self) -> Result<(), Error> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    /// Returns the error for a next byte that is not `expected`.
    fn unexpected(&mut self, expected: &str) -> Error {
        match self.peek() {
            Err(error) => error,
            Ok(None) => self.cut_short(),
            Ok(Some(byte)) => {
                let (line, column) = self.source.place();
                let found = byte.escape_ascii();
                let message = format!("expected {expected}, found `{found}` (column {column})");
                Error::at(line, message)
            }
        }
    }

    /// Returns the error for a document that ends inside the next value.
    pub(super) fn cut_short(&mut self) -> Error {
        let rest = self.source.loaded().len();
        self.source.consume(rest);
        let (line, column) = self.source.place();
        Error::at(
            line,
            format!(
                "expected more of the JSON, found the end of the file in column {column}: it is cut short"
            ),
        )
    }

    /// Converts the error of a parser that began at the position.
    pub(super) fn explain(&self, error: &serde_json::Error) -> Error {
        let (line, column) = self.source.place();
        let (line, column) = match error.line() {
            0 | 1 => (line, column - 1 + error.column()),
            further => (line + further as u64 - 1, error.column()),
        };
        Error::at(line, format!("{} (column {column})", without_place(error)))
    }
}
