//! The beginning of an input, which is used to recognise formats, and evidence that several lines give together.

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
    /// Creates a head. `is_whole` is true if `bytes` are the whole input. Otherwise bytes beyond [`FARTHEST_LOOK`] are cut
    /// off.
    pub fn new(bytes: &'a [u8], is_whole: bool) -> Head<'a> {
        let (bytes, reach) = match bytes.get(..FARTHEST_LOOK) {
            _ if is_whole => (bytes, Reach::All),
            Some(enough) if enough.len() < bytes.len() => (enough, Reach::Enough),
            _ => (bytes, Reach::Beginning),
        };
        Head { bytes, reach }
    }

    /// Iterates over the complete lines without trailing blanks.
    pub fn whole_lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let end = match self.reach {
            Reach::All => self.bytes.len(),
            _ => memchr::memrchr(b'\n', self.bytes).map_or(0, |last| last + 1),
        };
        let mut rest = &self.bytes[..end];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, following) = rest.split_at(length);
            rest = following;
            Some(line.trim_ascii_end())
        })
    }
}

/// The evidence for a format that needs several lines. Every line of a head is added once, in order.
pub trait LineEvidence {
    /// Adds the next line, without its line break and trailing blanks.
    fn add(&mut self, line: &[u8]);

    /// Returns true if the lines so far prove the format, whatever follows.
    fn is_proven(&self) -> bool;

    /// Returns true if the input has this format, judged by all lines of its head.
    fn is_likely(&self) -> bool;
}
