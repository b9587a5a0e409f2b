//! Decoding of numbers and texts in recordings.

use std::borrow::Cow;

use cg_collections::intern::TooMany;
use cg_collections::limits;
use cg_reader::Error;

/// A position in the bytes of a chunk.
#[derive(Clone, Copy)]
pub(super) struct JfrCursor<'a> {
    bytes: &'a [u8],
    pub(super) position: usize,
    /// The offset of the chunk in the file, for error messages.
    start: u64,
}

/// A text, or its number in the pool of texts.
#[derive(Clone, Debug)]
pub(super) enum JfrText<'a> {
    Given(Cow<'a, [u8]>),
    Pooled(u64),
}

impl<'a> JfrCursor<'a> {
    pub(super) fn new(bytes: &'a [u8], start: u64) -> JfrCursor<'a> {
        JfrCursor {
            bytes,
            position: 0,
            start,
        }
    }

    pub(super) fn at(self, position: usize) -> JfrCursor<'a> {
        JfrCursor { position, ..self }
    }

    /// Returns the cursor, limited to the bytes before `end`.
    pub(super) fn until(self, end: usize) -> JfrCursor<'a> {
        JfrCursor {
            bytes: &self.bytes[..end.min(self.bytes.len())],
            ..self
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position >= self.bytes.len()
    }

    pub(super) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Reads a number: seven bits per byte, least significant first. A ninth byte has eight bits.
    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Ok(number | u64::from(self.byte()?) << 56)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let byte = self.bytes.get(self.position).copied();
        self.position += 1;
        byte.ok_or_else(|| self.cut())
    }

    #[inline]
    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Error> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let length = usize::try_from(length).ok();
        let taken = length.and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| self.cut())?;
        self.position += taken.len();
        Ok(taken)
    }

    pub(super) fn text(&mut self) -> Result<JfrText<'a>, Error> {
        let given = |text| Ok(JfrText::Given(text));
        match self.byte()? {
            0 | 1 => given(Cow::Borrowed(&[])),
            2 => Ok(JfrText::Pooled(self.number()?)),
            3 => {
                let length = self.text_length()?;
                given(Cow::Borrowed(self.take(length)?))
            }
            4 => {
                let length = self.text_length()?;
                let mut units = Vec::new();
                for _ in 0..length {
                    units.push(self.number()? as u16);
                }
                given(Cow::Owned(String::from_utf16_lossy(&units).into_bytes()))
            }
            5 => {
                let length = self.text_length()?;
                let latin: String = self
                    .take(length)?
                    .iter()
                    .map(|byte| *byte as char)
                    .collect();
                given(Cow::Owned(latin.into_bytes()))
            }
            other => Err(self.error(format!("expected the kind of a text, found {other}"))),
        }
    }

    fn text_length(&mut self) -> Result<u64, Error> {
        let length = self.number()?;
        match length > limits::NAME as u64 {
            true => Err(TooMany::Letters(length).into()),
            false => Ok(length),
        }
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        let byte = self.start + self.position as u64;
        Error::whole(format!("byte {byte}: {message}"))
    }

    fn cut(&self) -> Error {
        let end = self.start + self.bytes.len() as u64;
        Error::whole(format!(
            "byte {end}: expected more of an event, found its end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_too_long_by_all_bits_of_its_length() {
        // 1 << 32 | 5, in groups of seven bits.
        let text = b"\x03\x85\x80\x80\x80\x10hello";
        let error = JfrCursor::new(text, 0).text().unwrap_err().to_string();
        let expected = "a name has 4294967301 bytes, and the limit is 1048576";
        assert!(error.ends_with(expected), "{error}");
    }
}
