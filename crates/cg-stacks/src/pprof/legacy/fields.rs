//! The fields of a line: numbers, addresses, and punctuation, with optional blanks.

use cg_reader::number::leading_u64;
use cg_reader::{Error, excerpt};

/// A line, and the part that is not read yet.
pub(super) struct LineFields<'a> {
    line: &'a [u8],
    rest: &'a [u8],
    number: u64,
}

impl<'a> LineFields<'a> {
    /// Starts at the beginning of a line with this number.
    pub(super) fn new(line: &'a [u8], number: u64) -> LineFields<'a> {
        LineFields {
            line,
            rest: line.trim_ascii(),
            number,
        }
    }

    /// Skips blanks, then the given bytes.
    pub(super) fn expect(&mut self, bytes: &str) -> Result<(), Error> {
        match self.rest.trim_ascii_start().strip_prefix(bytes.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.unexpected(&format!("\"{bytes}\""))),
        }
    }

    /// Skips blanks, then reads a number, which may be negative.
    pub(super) fn number(&mut self) -> Result<i64, Error> {
        let text = self.rest.trim_ascii_start();
        let (digits, is_negative) = match text.strip_prefix(b"-") {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let number = leading_u64(digits).and_then(|(number, rest)| {
            let number = i64::try_from(number).ok()?;
            Some((if is_negative { -number } else { number }, rest))
        });
        let (number, rest) = number.ok_or_else(|| self.unexpected("a number"))?;
        self.rest = rest;
        Ok(number)
    }

    /// Reads the rest of the line as return addresses. Adds them, each moved back into its call.
    pub(super) fn return_addresses(mut self, addresses: &mut Vec<u64>) -> Result<(), Error> {
        loop {
            self.rest = self.rest.trim_ascii_start();
            if self.rest.is_empty() {
                return Ok(());
            }
            match self.rest.starts_with(b"0x").then(|| leading_u64(self.rest)) {
                Some(Some((address, rest))) => {
                    addresses.push(address.wrapping_sub(1));
                    self.rest = rest;
                }
                _ => return Err(self.unexpected("an address")),
            }
        }
    }

    /// Returns the unread part of the line.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }

    /// Returns an error with the whole line, saying which field was expected.
    pub(super) fn unexpected(&self, expected: &str) -> Error {
        Error::at(
            self.number,
            format!(
                "expected {expected}, found {}",
                excerpt(self.line.trim_ascii())
            ),
        )
    }
}

/// Returns true if a line is blank or a comment.
pub(super) fn is_blank_or_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}
