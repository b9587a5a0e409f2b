//! Finds the end of a text and its hash in one pass, eight bytes at a time.

use crate::fields::{ONES, zeros};

/// A text up to a stop byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// The number of bytes before the stop byte.
    pub(super) length: usize,
    /// The hash of these bytes, as [`hash`] returns it.
    pub(super) hash: u64,
}

/// Returns the text before the first stop byte; `None` if there is no stop byte.
#[inline]
pub(super) fn scan(text: &[u8], stop: u8) -> Option<Scanned> {
    let stops = ONES * u64::from(stop);
    let mut state = SEED;
    let (words, rest) = text.as_chunks::<8>();
    for (position, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ stops);
        if found != 0 {
            let before = found.trailing_zeros() as usize / 8;
            let kept = word & ((1 << (8 * before)) - 1);
            return Some(Scanned {
                length: position * 8 + before,
                hash: mix(state, kept),
            });
        }
        state = mix(state, word);
    }
    let before = rest.iter().position(|byte| *byte == stop)?;
    Some(Scanned {
        length: words.len() * 8 + before,
        hash: mix(state, padded(&rest[..before])),
    })
}

/// Returns the hash of a text.
pub(super) fn hash(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let add = |state, word: &[u8; 8]| mix(state, u64::from_le_bytes(*word));
    mix(words.iter().fold(SEED, add), padded(rest))
}

/// Returns at most seven bytes as a word, followed by zeros.
fn padded(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Any odd numbers with about as many ones as zeros.
const SEED: u64 = 0x243f_6a88_85a3_08d3;
const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;

/// Adds a word to a hash: both halves of a product depend on all bits.
#[inline]
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * FACTOR;
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_and_hash_do_not_depend_on_what_follows() {
        let text = b"module12::part3::function_45 and more \xff letters";
        for length in 0..text.len() {
            let name = &text[..length];
            for after in ["", "x", "1234567", "12345678", "\"\"\"\"\"\"\"\"\""] {
                let line = [name, b"\"", after.as_bytes()].concat();
                let expected = Scanned {
                    length,
                    hash: hash(name),
                };
                assert_eq!(scan(&line, b'"'), Some(expected), "{length} {after}");
            }
            assert_eq!(scan(name, b'"'), None);
        }
    }

    #[test]
    fn similar_names_have_different_hashes() {
        let names = (0..20_000).map(|number| format!("part::function_{number}"));
        let mut hashes: Vec<u32> = names
            .map(|name| (hash(name.as_bytes()) >> 32) as u32)
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        // 20,000 random numbers of 32 bits have 0.05 pairs of equal ones on average.
        assert!(hashes.len() >= 19_998, "{}", hashes.len());
    }
}
