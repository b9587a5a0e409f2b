//! Subpositions: the numbers before the costs, absolute or relative to the previous line.
//!
//! `positions:` lists them in order: `instr`, `bb` and `line`. Without it there is only `line`. `+3`, `-3` and `*` are
//! relative to the same field of the previous cost line, also across functions and files. Target positions of calls and
//! jumps are relative to the same base and do not change it.
//!
//! Callgrind's own writer counts only lines of self cost as cost lines. The line of a call nearly always has the position of
//! the line before it, so other readers are wrong only if they differ, as after a switch of stacks by Go's runtime.

use cg_reader::excerpt;
use cg_reader::number::leading_u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subposition {
    Instr,
    BasicBlock,
    Line,
}

/// The numbers of a cost line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark([u64; 3]);

/// The fields before the costs, with their most recent numbers.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    fields: Vec<Subposition>,
    /// The numbers of the last cost line. Lines below 0 (`-4` after `2`) wrap around, and later differences undo this.
    last: [u64; 3],
    line_field: Option<usize>,
    instr_field: Option<usize>,
}

impl Default for Positions {
    fn default() -> Positions {
        Positions::with_fields(vec![Subposition::Line])
    }
}

impl Positions {
    fn with_fields(fields: Vec<Subposition>) -> Positions {
        let field = |wanted| fields.iter().position(|field| *field == wanted);
        Positions {
            line_field: field(Subposition::Line),
            instr_field: field(Subposition::Instr),
            fields,
            last: [0; 3],
        }
    }

    /// Parses the value of a `positions:` line.
    pub(crate) fn from_header(value: &[u8]) -> Result<Positions, String> {
        let mut fields = Vec::new();
        for word in value.split(u8::is_ascii_whitespace) {
            let field = match word {
                b"" => continue,
                b"instr" | b"addr" => Subposition::Instr,
                b"bb" => Subposition::BasicBlock,
                b"line" => Subposition::Line,
                _ => {
                    return Err(format!(
                        "expected instr, bb or line in positions:, found {}",
                        excerpt(word)
                    ));
                }
            };
            if fields.contains(&field) {
                return Err(format!("positions: names {} twice", excerpt(word)));
            }
            fields.push(field);
        }
        Ok(Positions::with_fields(fields))
    }

    /// Returns the line number of the last cost line; 0, an unknown line, if it is missing or negative.
    #[inline]
    pub(crate) fn line(&self) -> u64 {
        match self.line_field {
            Some(field) if self.last[field].cast_signed() >= 0 => self.last[field],
            _ => 0,
        }
    }

    /// Returns the instruction address of the last cost line; `None` if the part has no addresses.
    pub(crate) fn address(&self) -> Option<u64> {
        self.instr_field.map(|field| self.last[field])
    }

    /// Returns the numbers of the last cost line, for [`Positions::go_back_to`].
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.last)
    }

    /// Undoes the reading of a line.
    #[inline]
    pub(crate) fn go_back_to(&mut self, mark: Mark) {
        self.last = mark.0;
    }

    /// Reads the subpositions of a cost line in the usual form, with one blank after each. Returns the text after them,
    /// which may include further lines; `None` without any effect if the line has another form.
    #[inline]
    pub(crate) fn read_plain<'a>(&mut self, text: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = text;
        let mut numbers = self.last;
        for last in &mut numbers[..self.fields.len()] {
            let (number, after) = match rest {
                [b'+', digits @ ..] => {
                    let (difference, after) = leading_u64(digits)?;
                    (last.wrapping_add(difference), after)
                }
                [b'*', after @ ..] => (*last, after),
                [b'-', digits @ ..] => {
                    let (difference, after) = leading_u64(digits)?;
                    (last.wrapping_sub(difference), after)
                }
                _ => leading_u64(rest)?,
            };
            *last = number;
            rest = match after {
                [b' ', after @ ..] => after,
                [b'\n', ..] => after,
                _ => return None,
            };
        }
        self.last = numbers;
        Some(rest)
    }

    /// Reads the subpositions at the beginning of any cost line. Returns the text after them, without leading blanks.
    pub(crate) fn read<'a>(&mut self, line: &'a [u8]) -> Result<&'a [u8], Unreadable> {
        let mut rest = line;
        for last in &mut self.last[..self.fields.len()] {
            let (number, after) = match rest {
                [b'+', digits @ ..] => {
                    let (difference, after) = leading_u64(digits).ok_or(Unreadable)?;
                    (last.wrapping_add(difference), after)
                }
                [b'*', after @ ..] => (*last, after),
                [b'-', digits @ ..] => {
                    let (difference, after) = leading_u64(digits).ok_or(Unreadable)?;
                    (last.wrapping_sub(difference), after)
                }
                _ => leading_u64(rest).ok_or(Unreadable)?,
            };
            *last = number;
            rest = after_range(after).ok_or(Unreadable)?;
        }
        Ok(rest)
    }
}

/// A cost line whose positions cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Returns the text after a number and its blanks; `None` if neither a blank nor the end follows. Skips the rest of a range
/// (`0x80+4`, `0x80:0x84`, `3-5`), because the position is its beginning. KCachegrind reads ranges, but no known producer
/// writes them.
fn after_range(after: &[u8]) -> Option<&[u8]> {
    let after = match after {
        [b'+' | b'-' | b':', end @ ..] => leading_u64(end)?.1,
        _ => after,
    };
    let rest = after.trim_ascii_start();
    (rest.is_empty() || rest.len() < after.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(header: &str) -> Positions {
        Positions::from_header(header.as_bytes()).unwrap()
    }

    #[test]
    fn relative_numbers_build_on_the_line_before() {
        let mut positions = positions(" instr line");
        assert_eq!(positions.read(b"0x401000 7 3 4").unwrap(), b"3 4");
        assert_eq!((positions.address(), positions.line()), (Some(0x401000), 7));
        assert_eq!(positions.read(b"+3 -2 1").unwrap(), b"1");
        assert_eq!((positions.address(), positions.line()), (Some(0x401003), 5));
        assert_eq!(positions.read(b"* * ").unwrap(), b"");
        assert_eq!((positions.address(), positions.line()), (Some(0x401003), 5));
        assert_eq!(positions.read(b"+0x10 +1").unwrap(), b"");
        assert_eq!((positions.address(), positions.line()), (Some(0x401013), 6));
    }

    #[test]
    fn plain_lines_are_read_up_to_their_counts_or_not_at_all() {
        let mut positions = positions(" instr line");
        assert_eq!(
            positions.read_plain(b"0x10 7 3 4\n+1"),
            Some(&b"3 4\n+1"[..])
        );
        assert_eq!(positions.read_plain(b"+2 * \n"), Some(&b"\n"[..]));
        assert_eq!((positions.address(), positions.line()), (Some(0x12), 7));
        for line in ["+2\n", "+2  1\n", "+2\t1\n", "+2 1", "+2 x\n"] {
            assert_eq!(positions.read_plain(line.as_bytes()), None, "{line}");
        }
        assert_eq!((positions.address(), positions.line()), (Some(0x12), 7));
    }

    #[test]
    fn fields_come_in_any_order_and_number() {
        let mut reversed = positions("line instr");
        assert_eq!(reversed.read(b"12 0xff 1").unwrap(), b"1");
        assert_eq!((reversed.address(), reversed.line()), (Some(255), 12));
        let mut blocks = positions("bb line");
        assert_eq!(blocks.read(b"0x8 3 1").unwrap(), b"1");
        assert_eq!((blocks.address(), blocks.line()), (None, 3));
        let mut none = positions("");
        assert_eq!((none.read(b"16").unwrap(), none.line()), (&b"16"[..], 0));
        assert!(Positions::from_header(b"column").is_err());
    }

    #[test]
    fn lines_before_the_first_are_unknown() {
        let mut positions = Positions::default();
        positions.read(b"2 1").unwrap();
        positions.read(b"-4 1").unwrap();
        assert_eq!(positions.line(), 0);
        positions.read(b"+5 1").unwrap();
        assert_eq!(positions.line(), 3);
    }

    #[test]
    fn invalid_positions_are_refused() {
        for line in ["x", "+", "0x", "12x 1", "1.5 2", "18446744073709551616 1"] {
            assert!(
                Positions::default().read(line.as_bytes()).is_err(),
                "{line}"
            );
        }
        assert_eq!(Positions::default().read(b"5-9 1").unwrap(), b"1");
        assert_eq!(Positions::default().read(b"5\t 1").unwrap(), b"1");
    }
}
