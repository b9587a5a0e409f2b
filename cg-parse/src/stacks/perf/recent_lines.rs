//! Lines of frames that were read not long ago, with what they came to.
//!
//! A function is mostly called from few places, so most lines come again soon, address and all. Each has its place by its
//! address, and all places are in one piece, so that looking takes the processor no farther than its second cache.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// How many lines are remembered, and how long they may be.
const LINES: usize = 1024;
const LONGEST: usize = 256;

/// What lines came to.
pub(super) struct RecentLines<T> {
    /// The lines with their ends, so many bytes for each.
    texts: Vec<u8>,
    /// The length of each, and what it came to.
    known: Vec<Option<(usize, T)>>,
    hasher: FixedState,
}

impl<T: Copy> RecentLines<T> {
    pub(super) fn new() -> RecentLines<T> {
        RecentLines {
            texts: vec![0; LINES * LONGEST],
            known: vec![None; LINES],
            hasher: FixedState::default(),
        }
    }

    /// What the line that a text begins with came to, and how long it is with its end; `None` where it is not remembered.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<(usize, T)> {
        let place = self.place(text)?;
        let (length, known) = self.known[place]?;
        let line = &self.texts[place * LONGEST..][..length];
        text.starts_with(line).then_some((length, known))
    }

    /// Remembers what a line came to, in place of another. The line has its end.
    #[inline]
    pub(super) fn remember(&mut self, line: &[u8], known: T) {
        if let Some(place) = self.place(line)
            && let Some(text) = self.texts[place * LONGEST..][..LONGEST].get_mut(..line.len())
        {
            text.copy_from_slice(line);
            self.known[place] = Some((line.len(), known));
        }
    }

    /// The place of a line: its tab, and the sixteen columns of its address.
    #[inline]
    fn place(&self, line: &[u8]) -> Option<usize> {
        let address = line.strip_prefix(b"\t")?.first_chunk()?;
        let hash = self.hasher.hash_one(u128::from_le_bytes(*address));
        Some(hash as usize % LINES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_with_its_end_alone() {
        let mut lines = RecentLines::new();
        let line = |symbol: &str| format!("\t        55d8ba1fe2e6 {symbol} (/x)\n").into_bytes();
        let long = "f".repeat(LONGEST);
        for (known, symbol) in ["f", "f+0x1", &long].into_iter().enumerate() {
            lines.remember(&line(symbol), known);
        }
        // One address has one place.
        assert_eq!(lines.find(&line("f")), None);
        let mut text = line("f+0x1");
        let length = text.len();
        text.extend_from_slice(b"and more");
        assert_eq!(lines.find(&text), Some((length, 1)));
        for shorter in 0..length {
            assert_eq!(lines.find(&text[..shorter]), None, "{shorter}");
        }
        assert_eq!(lines.find(&line(&long)), None);
    }
}
