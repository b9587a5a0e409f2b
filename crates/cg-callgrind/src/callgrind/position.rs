//! Subpositions: the numbers in front of the costs, absolute or relative to those of the line before.
//!
//! `positions:` names them and their order: `instr`, `bb` and `line`; without it there is `line` alone. `+3`, `-3` and
//! `*` are relative to the same field of the cost line before, also across functions and files. Target positions of
//! calls and jumps are relative to the same base and do not move it.

use cg_reader::excerpt;
use cg_reader::number::leading_u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subposition {
    Instr,
    BasicBlock,
    Line,
}

/// The fields in front of the costs and the numbers last seen in them.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    fields: Vec<Subposition>,
    /// Numbers of the last cost line; lines before 1 (`-4` behind `2`) wrap around and come back.
    last: [u64; 3],
    line_field: Option<usize>,
    instr_field: Option<usize>,
}

impl Default for Positions {
    fn default() -> Positions {
        Positions::of(vec![Subposition::Line])
    }
}

impl Positions {
    fn of(fields: Vec<Subposition>) -> Positions {
        let field = |wanted| fields.iter().position(|field| *field == wanted);
        Positions {
            line_field: field(Subposition::Line),
            instr_field: field(Subposition::Instr),
            fields,
            last: [0; 3],
        }
    }

    /// What a `positions:` line says.
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
        Ok(Positions::of(fields))
    }

    /// The line number of the last cost line; 0, an unknown line, where there is none or it would be negative.
    #[inline]
    pub(crate) fn line(&self) -> u64 {
        match self.line_field {
            Some(field) if self.last[field].cast_signed() >= 0 => self.last[field],
            _ => 0,
        }
    }

    /// The instruction address of the last cost line.
    pub(crate) fn address(&self) -> Option<u64> {
        self.instr_field.map(|field| self.last[field])
    }

    /// The numbers of the last cost line, for [`Positions::go_back_to`].
    #[inline]
    pub(crate) fn mark(&self) -> [u64; 3] {
        self.last
    }

    /// Forgets a line that was read in vain.
    #[inline]
    pub(crate) fn go_back_to(&mut self, mark: [u64; 3]) {
        self.last = mark;
    }

    /// Reads the subpositions of a cost line that is written as nearly all are, with one blank behind each; returns what
    /// follows, which may be further lines. `None` where it is written otherwise, and nothing was read.
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

    /// Reads the subpositions at the beginning of any cost line; returns what follows them, without leading blanks.
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

/// What follows a number: the end, blanks, or first the rest of a range (`0x80+4`, `0x80:0x84`, `3-5`), of which the
/// beginning is the position. KCachegrind reads these; no known producer writes them.
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
    fn what_is_no_position_is_refused() {
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
