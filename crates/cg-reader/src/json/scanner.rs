//! Walks a document by hand where a parser cannot: trees that nest deeper than its recursion may go, lists that end without
//! their bracket, the beginning of a document whose rest is not there yet. Values are given to serde_json.

use cg_stream::fields::value_length;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{cut_short, explain, line_at};
use crate::error::Error;

/// A place in a document.
#[derive(Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> Scanner<'a> {
    /// Begins at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Scanner<'a> {
        Scanner { text, position: 0 }
    }

    /// A scanner over a value that was left as text, which says of errors where in the document they are.
    pub fn of(text: &'a [u8], value: &'a RawValue) -> Scanner<'a> {
        let position = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        Scanner {
            text,
            position: position.min(text.len()),
        }
    }

    /// The next byte that is not white space; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        let rest = &self.text[self.position..];
        let blank = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            .count();
        self.position += blank;
        rest.get(blank).copied()
    }

    /// Takes the next byte if it is this one.
    pub fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Takes the next byte, which has to be this one.
    pub fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{}`", byte as char)))
        }
    }

    /// The next value.
    pub fn value<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let mut values =
            serde_json::Deserializer::from_slice(&self.text[self.position..]).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.position += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => Err(explain(self.text, self.position, &error)),
            None => Err(cut_short(self.text)),
        }
    }

    /// The next key of an object, as it is written, and the colon behind it; `None` at the object's end, which is taken.
    pub fn next_key(&mut self) -> Result<Option<&'a [u8]>, Error> {
        if !self.next_item(b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("`\"`"));
        }
        let key = self.skip_value()?;
        self.expect(b':')?;
        Ok(Some(&key[1..key.len() - 1]))
    }

    /// Goes to the next element of a list; false at its end, which is taken.
    pub fn next_element(&mut self) -> Result<bool, Error> {
        self.next_item(b']')
    }

    /// Goes to what an object or list has next; false where this bracket closes it, which is taken.
    fn next_item(&mut self, close: u8) -> Result<bool, Error> {
        if self.take(close) {
            return Ok(false);
        }
        let before = self.text[..self.position].trim_ascii_end();
        if !matches!(before.last(), Some(b'{' | b'[')) {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// The first verdict that `says` returns for a key of the object here; false if it returns none, as far as the
    /// object can be read. `says` gets the key and a scanner at its value.
    pub fn any_key(&mut self, mut says: impl FnMut(&[u8], Scanner) -> Option<bool>) -> bool {
        if !self.take(b'{') {
            return false;
        }
        while let Ok(Some(key)) = self.next_key() {
            if let Some(said) = says(key, self.clone()) {
                return said;
            }
            if self.skip_value().is_err() {
                break;
            }
        }
        false
    }

    /// Whether an object begins here that has one of these keys, as far as it can be read.
    pub fn has_key_of(&mut self, keys: &[&[u8]]) -> bool {
        self.any_key(|key, _| keys.contains(&key).then_some(true))
    }

    /// Goes behind the next value, at which [`value_length`] looks no closer than it has to.
    pub fn skip_value(&mut self) -> Result<&'a [u8], Error> {
        let first = self.peek();
        if !matches!(
            first,
            Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'a'..=b'z')
        ) {
            return Err(self.unexpected("a value"));
        }
        let rest = &self.text[self.position..];
        let length = value_length(rest).map_err(|_| cut_short(self.text))?;
        self.position += length;
        Ok(&rest[..length])
    }

    /// Fails where anything but white space is left.
    pub fn expect_end(&mut self) -> Result<(), Error> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    /// The error for what stands here instead of what is expected.
    pub fn unexpected(&mut self, expected: &str) -> Error {
        match self.peek() {
            None => cut_short(self.text),
            Some(byte) => {
                let (line, start) = line_at(self.text, self.position);
                Error::at(
                    line,
                    format!(
                        "expected {expected}, found `{}` (column {})",
                        byte.escape_ascii(),
                        self.position - start + 1
                    ),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_in_turn() {
        let mut scanner = Scanner::new(br#" {"a\"b" : [1, {"x": "]"}], "n":-1.5e3,"t" :true} "#);
        scanner.expect(b'{').unwrap();
        assert_eq!(scanner.next_key().unwrap(), Some(&br#"a\"b"#[..]));
        assert_eq!(scanner.skip_value().unwrap(), br#"[1, {"x": "]"}]"#);
        assert_eq!(scanner.next_key().unwrap(), Some(&b"n"[..]));
        assert_eq!(scanner.value::<f64>().unwrap(), -1500.0);
        assert_eq!(scanner.next_key().unwrap(), Some(&b"t"[..]));
        assert_eq!(scanner.skip_value().unwrap(), b"true");
        assert_eq!(scanner.next_key().unwrap(), None);
        assert_eq!(scanner.peek(), None);
    }

    #[test]
    fn errors_say_where() {
        let text = b"{\n \"a\": [1,\n  x]}";
        let mut scanner = Scanner::new(text);
        scanner.expect(b'{').unwrap();
        scanner.next_key().unwrap();
        assert_eq!(
            scanner.value::<Vec<u64>>().unwrap_err().to_string(),
            "3: expected value (column 3)"
        );
        for length in 0..text.len() - 1 {
            let mut scanner = Scanner::new(&text[..length]);
            let read = scanner
                .expect(b'{')
                .and_then(|()| scanner.next_key())
                .and_then(|_| scanner.skip_value());
            assert!(read.unwrap_err().to_string().contains("cut short"));
        }
    }

    #[test]
    fn nesting_does_not_use_the_stack() {
        let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
        assert_eq!(Scanner::new(&deep).skip_value().unwrap().len(), 2_000_000);
    }
}
