//! A walker over a document in memory, which returns slices of it. Uses serde_json for values.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::line_at;
use super::walker::{JsonSource, Walker};
use crate::error::Error;

/// A position in a document in memory.
pub type Scanner<'a> = Walker<SliceSource<'a>>;

/// A document in memory.
#[derive(Clone)]
pub struct SliceSource<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> JsonSource for SliceSource<'a> {
    type Text = &'a [u8];

    #[inline]
    fn loaded(&self) -> &[u8] {
        &self.text[self.position..]
    }

    #[inline]
    fn load(&mut self, _wanted: usize) -> Result<bool, Error> {
        Ok(false)
    }

    #[inline]
    fn text(&self, length: usize) -> &'a [u8] {
        &self.text[self.position..][..length]
    }

    #[inline]
    fn consume(&mut self, length: usize) {
        self.position += length;
    }

    fn place(&self) -> (u64, usize) {
        let (line, start) = line_at(self.text, self.position);
        (line, self.position - start + 1)
    }
}

impl<'a> Scanner<'a> {
    /// Creates a scanner at the beginning of a text.
    pub fn new(text: &'a [u8]) -> Scanner<'a> {
        Walker::from_source(SliceSource { text, position: 0 })
    }

    /// Creates a scanner at a value of the document `text`. Errors have positions in the document.
    pub fn at_value(text: &'a [u8], value: &'a RawValue) -> Scanner<'a> {
        let position = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let position = position.min(text.len());
        Walker::from_source(SliceSource { text, position })
    }

    /// Parses the next value.
    pub fn value<T: Deserialize<'a>>(&mut self) -> Result<T, Error> {
        let rest = &self.source.text[self.source.position..];
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.consume(values.byte_offset());
                Ok(value)
            }
            Some(Err(error)) if !error.is_eof() => Err(self.explain(&error)),
            _ => Err(self.cut_short()),
        }
    }

    /// Skips the next value and returns its text.
    pub fn skip_value(&mut self) -> Result<&'a [u8], Error> {
        let length = self.load_value()?;
        let text = self.source.text(length);
        self.consume(length);
        Ok(text)
    }

    /// Calls `judge` with each key of an object and a scanner at its value, until `judge` returns a verdict. Returns the
    /// verdict; false if the readable part of the object has none.
    pub fn any_key(&mut self, mut judge: impl FnMut(&[u8], Scanner) -> Option<bool>) -> bool {
        let Ok(true) = self.take(b'{') else {
            return false;
        };
        while let Ok(Some(key)) = self.next_key() {
            if let Some(verdict) = judge(key, self.clone()) {
                return verdict;
            }
            if self.skip_value().is_err() {
                break;
            }
        }
        false
    }

    /// Returns true if an object begins here and its readable part has one of these keys.
    pub fn has_any_key(&mut self, keys: &[&[u8]]) -> bool {
        self.any_key(|key, _| keys.contains(&key).then_some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_in_turn() {
        let mut scanner = Scanner::new(br#" {"a\"b" : [1, {"x": "]"}], "n":-1.5e3,"t" :true} "#);
        scanner.expect(b'{').unwrap();
        assert_eq!(scanner.next_key().unwrap(), Some(&br#"a\"b"#[..]));
        assert_eq!(scanner.skip_value().unwrap(), br#"[1, {"x": "]"}]"#);
        assert_eq!(scanner.next_key().unwrap(), Some(&b"n"[..]));
        assert_eq!(scanner.value::<f64>().unwrap(), -1500.0);
        assert_eq!(scanner.next_key().unwrap(), Some(&b"t"[..]));
        assert_eq!(scanner.skip_value().unwrap(), b"true");
        assert_eq!(scanner.next_key().unwrap(), None);
        assert!(matches!(scanner.peek(), Ok(None)));
    }

    #[test]
    fn errors_have_a_line_and_a_column() {
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
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
        assert_eq!(Scanner::new(&deep).skip_value().unwrap().len(), 2_000_000);
    }
}
