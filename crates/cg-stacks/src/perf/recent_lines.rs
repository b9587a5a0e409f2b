//! Direct-mapped cache from frame lines to parsed frames.
//!
//! A function is mostly called from few places, so most lines come again soon, with the same address. The address
//! selects the slot, and all slots are in one block of memory, so a lookup goes no farther than the processor's
//! second-level cache.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// Number of slots, and the longest line in bytes that is cached.
const LINES: usize = 1024;
const LONGEST: usize = 256;

/// The cache; `T` is what a line is parsed into.
pub(super) struct RecentLines<T> {
    /// The text of each slot with its line break, [`LONGEST`] bytes per slot.
    texts: Vec<u8>,
    /// By slot: the length of the line, and what it was parsed into.
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

    /// Looks up the line that a text begins with: its length with the line break, and what it was parsed into; `None`
    /// if it is not cached.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<(usize, T)> {
        let place = self.place(text)?;
        let (length, known) = self.known[place]?;
        let line = &self.texts[place * LONGEST..][..length];
        text.starts_with(line).then_some((length, known))
    }

    /// Caches a line, given with its line break, and evicts what was in its slot.
    #[inline]
    pub(super) fn remember(&mut self, line: &[u8], known: T) {
        if let Some(place) = self.place(line)
            && let Some(text) = self.texts[place * LONGEST..][..LONGEST].get_mut(..line.len())
        {
            text.copy_from_slice(line);
            self.known[place] = Some((line.len(), known));
        }
    }

    /// The slot of a line, by a hash of its sixteen columns of address behind the tab.
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
        // Lines with the same address share a slot.
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
