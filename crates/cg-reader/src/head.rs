//! The beginning of an input, which is used to recognise formats.

/// The maximum number of bytes for recognising a format. It is large because logs may begin with output of the program.
pub const FARTHEST_LOOK: usize = 1024 * 1024;

/// The beginning of an input.
pub struct Head<'a> {
    /// The bytes read so far.
    pub bytes: &'a [u8],
    /// The share of the input that was read.
    pub reach: Reach,
}

/// The share of an input that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A part. More may follow.
    Beginning,
    /// A part. More may follow, but no more will be read for recognition.
    Enough,
    /// The whole input.
    All,
}

impl<'a> Head<'a> {
    /// Creates a head. `is_whole` is true if `bytes` are the whole input.
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

    /// Iterates over the complete lines without trailing blanks, each with its start position.
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
            let (line, following) = rest.split_at(length);
            rest = following;
            let at = start;
            start += length;
            Some((at, line.trim_ascii_end()))
        })
    }
}
