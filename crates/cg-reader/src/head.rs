//! The beginning of an input, by which formats are recognised.

/// How much of an input is looked at before it is given up: logs may begin with a program's own output.
pub const FARTHEST_LOOK: usize = 1024 * 1024;

/// The beginning of an input, as far as it was looked at.
pub struct Head<'a> {
    /// What was looked at.
    pub bytes: &'a [u8],
    /// How much of the input that is.
    pub reach: Reach,
}

/// How much of an input was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Part of it; there may be more.
    Beginning,
    /// There may be more, but it will not be waited for.
    Enough,
    /// All of it.
    All,
}

impl<'a> Head<'a> {
    /// The beginning of an input, of all of it if it is whole.
    pub fn new(bytes: &'a [u8], is_whole: bool) -> Head<'a> {
        let reach = if is_whole {
            Reach::All
        } else if bytes.len() > FARTHEST_LOOK {
            Reach::Enough
        } else {
            Reach::Beginning
        };
        Head { bytes, reach }
    }

    /// The lines that are there to their ends, with where they begin; blanks behind them are left out.
    pub fn whole_lines(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let end = match self.reach {
            Reach::All => self.bytes.len(),
            _ => memchr::memrchr(b'\n', self.bytes).map_or(0, |last| last + 1),
        };
        let mut rest = &self.bytes[..end];
        let mut start = 0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, behind) = rest.split_at(length);
            rest = behind;
            let at = start;
            start += length;
            Some((at, line.trim_ascii_end()))
        })
    }
}
