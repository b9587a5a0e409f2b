//! A direct-mapped cache from frame lines to parsed frames.
//!
//! A function mostly has few callers, so most lines repeat soon, with the same address. The address selects the slot, and
//! all slots are in one block of memory, so a lookup stays within the processor's second-level cache.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// The number of slots, and the maximum length of a cached line in bytes.
const LINES: usize = 4096;
const LONGEST: usize = 256;

/// The cache. `T` is the result of parsing a line.
pub(super) struct RecentLines<T> {
    /// The line of each slot with its line break, [`LONGEST`] bytes per slot.
    texts: Vec<u8>,
    /// The length of each slot's line, and its parsed frame.
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

    /// Looks up the first line of a text. Returns its length with the line break, and its parsed frame; `None` if it is not
    /// cached.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<(usize, T)> {
        let place = self.place(text)?;
        let (length, known) = self.known[place]?;
        let line = &self.texts[place * LONGEST..][..length];
        text.starts_with(line).then_some((length, known))
    }

    /// Caches a line, given with its line break. Replaces the previous line of the slot.
    #[inline]
    pub(super) fn remember(&mut self, line: &[u8], known: T) {
        if let Some(place) = self.place(line)
            && let Some(text) = self.texts[place * LONGEST..][..LONGEST].get_mut(..line.len())
        {
            text.copy_from_slice(line);
            self.known[place] = Some((line.len(), known));
        }
    }

    /// Returns the slot of a line, by a hash of the sixteen columns of its address after the tab.
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
    fn a_line_is_found_only_with_its_line_break() {
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
