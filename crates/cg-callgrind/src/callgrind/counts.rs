//! The counts after the positions of a cost line.

use cg_reader::excerpt;
use cg_reader::number::leading_u64;

/// The counts of one line, in the order of `events:`. Trailing zeros are omitted, so there may be fewer counts than events.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineCounts {
    counts: Vec<u64>,
    has_negative: bool,
    /// The counts of the previous line, for producers that compress counts like positions.
    before: Vec<u64>,
    /// True after the first count of the form `*` or `+n`. From then on, `-n` is a difference too.
    are_relative: bool,
}

impl LineCounts {
    pub(crate) fn get(&self) -> &[u64] {
        &self.counts
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        self.has_negative = false;
    }

    /// Returns true if one of the counts is negative. Negative counts are stored in two's complement.
    pub(crate) fn has_negative(&self) -> bool {
        self.has_negative
    }

    /// Reads a line in the usual form: decimal numbers with one blank between them. Returns the lines after it; `None` for
    /// other forms, numbers that may be too large, and more than `events` counts. [`LineCounts::read`] then reads the line.
    #[inline]
    pub(crate) fn read_plain<'a>(&mut self, text: &'a [u8], events: usize) -> Option<&'a [u8]> {
        self.next_line();
        let mut rest = text;
        loop {
            // Fast path for zeros: on most lines, the cache misses are a long row of zeros.
            while let Some(after) = rest.strip_prefix(b"0 0 0 0 ") {
                self.counts.extend_from_slice(&[0; 4]);
                rest = after;
            }
            let (mut number, mut digits) = (0u64, 0);
            for byte in rest {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    break;
                }
                number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
                digits += 1;
            }
            let after = &rest[digits..];
            match (digits, after) {
                (0, [b'\n', after @ ..]) if self.counts.len() <= events => return Some(after),
                // 19 digits cannot overflow.
                (1..=19, [b' ', after @ ..]) => {
                    self.counts.push(number);
                    rest = after;
                }
                (1..=19, [b'\n', after @ ..]) if self.counts.len() < events => {
                    self.counts.push(number);
                    return Some(after);
                }
                _ => {
                    std::mem::swap(&mut self.before, &mut self.counts);
                    return None;
                }
            }
        }
    }

    /// Begins the counts of the next line.
    #[inline]
    fn next_line(&mut self) {
        self.has_negative = false;
        std::mem::swap(&mut self.before, &mut self.counts);
        self.counts.clear();
    }

    /// Reads counts in any form. `text` is the text after the positions of one line.
    pub(crate) fn read(&mut self, text: &[u8], events: usize) -> Result<(), String> {
        self.next_line();
        let mut rest = text.trim_ascii_start();
        while let Some(byte) = rest.first() {
            let (count, after) = if byte.is_ascii_digit() {
                leading_u64(rest).ok_or_else(|| unreadable(rest))?
            } else {
                self.read_rare(rest)?
            };
            let next = after.trim_ascii_start();
            if !after.is_empty() && next.len() == after.len() {
                return Err(unreadable(rest));
            }
            rest = next;
            self.counts.push(count);
        }
        if self.counts.len() > events {
            return Err(format!(
                "expected at most {events} counts, one per event, found {}",
                self.counts.len()
            ));
        }
        Ok(())
    }

    /// Reads a count that Callgrind does not write: missing (`.`), negative, or relative to the previous line.
    fn read_rare<'a>(&mut self, text: &'a [u8]) -> Result<(u64, &'a [u8]), String> {
        let last = self.before.get(self.counts.len()).copied().unwrap_or(0);
        match text {
            [b'.', after @ ..] => Ok((0, after)),
            [sign @ (b'+' | b'-'), digits @ ..] => {
                let (number, after) = leading_u64(digits).ok_or_else(|| unreadable(text))?;
                self.are_relative |= *sign == b'+';
                if self.are_relative {
                    let count = if *sign == b'+' {
                        last.checked_add(number)
                    } else {
                        last.checked_sub(number)
                    };
                    return Ok((count.ok_or_else(|| unreadable(text))?, after));
                }
                if number > 1 << 63 {
                    return Err(unreadable(text));
                }
                self.has_negative = true;
                Ok((number.wrapping_neg(), after))
            }
            [b'*', after @ ..] => {
                self.are_relative = true;
                Ok((last, after))
            }
            _ => Err(unreadable(text)),
        }
    }
}

fn unreadable(text: &[u8]) -> String {
    let end = text
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(text.len());
    format!(
        "expected a count of at most 64 bits, found {}",
        excerpt(&text[..end])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<u64>, bool), String> {
        let mut counts = LineCounts::default();
        counts.read(text.as_bytes(), 3)?;
        Ok((counts.get().to_vec(), counts.has_negative()))
    }

    #[test]
    fn counts_end_where_the_line_does() {
        assert_eq!(read("1 0x10  3 "), Ok((vec![1, 16, 3], false)));
        assert_eq!(read(""), Ok((vec![], false)));
        assert_eq!(read(". 2"), Ok((vec![0, 2], false)));
        assert_eq!(read("18446744073709551615"), Ok((vec![u64::MAX], false)));
        assert_eq!(read("-1"), Ok((vec![u64::MAX], true)));
        assert_eq!(read("-9223372036854775808"), Ok((vec![1 << 63], true)));
    }

    #[test]
    fn plain_lines_are_read_to_their_end_or_not_at_all() {
        let mut counts = LineCounts::default();
        assert_eq!(
            counts.read_plain(b"1 0 0 0 0 7\n+1 2\n", 6),
            Some(&b"+1 2\n"[..])
        );
        assert_eq!(counts.get(), [1, 0, 0, 0, 0, 7]);
        assert_eq!(counts.read_plain(b"3 \n", 1), Some(&b""[..]));
        assert_eq!(counts.get(), [3]);
        assert_eq!(counts.read_plain(b"\n", 1), Some(&b""[..]));
        assert_eq!(counts.get(), [0; 0]);
        for line in [
            "1 2\n",
            "1",
            "1  \n",
            "1\t\n",
            "0x1\n",
            "-1\n",
            "18446744073709551615\n",
        ] {
            assert_eq!(counts.read_plain(line.as_bytes(), 1), None, "{line}");
        }
    }

    #[test]
    fn excess_and_invalid_counts_are_refused() {
        assert!(read("1 2 3 4").is_err());
        assert!(read("18446744073709551616").is_err());
        assert!(read("1.5").is_err());
        assert!(read("1,5").is_err());
        assert!(read("-9223372036854775809").is_err());
    }
}
