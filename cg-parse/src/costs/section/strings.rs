//! Names, each kept once: what a profile repeats on every line becomes a small number.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// One of the byte strings of a [`Strings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StringId(u32);

impl StringId {
    /// The empty string, which stands for a name that is not given.
    pub(crate) const NOT_GIVEN: StringId = StringId(0);

    /// Where something of this string stands in a table of its own.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Byte strings under small numbers, in one piece of memory.
pub(crate) struct Strings {
    bytes: Vec<u8>,
    /// Where each string ends; it begins where the one before it ends.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl Strings {
    pub(crate) fn new() -> Strings {
        let mut strings = Strings {
            bytes: Vec::new(),
            ends: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
        };
        strings.intern(b"");
        strings
    }

    /// The number of a string, the same for the same bytes.
    pub(crate) fn intern(&mut self, text: &[u8]) -> StringId {
        let Strings {
            bytes,
            ends,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(text);
        if let Some(id) = index.find(hash, |id| slice(bytes, ends, *id) == text) {
            return StringId(*id);
        }
        // A profile with 2^32 distinct names does not fit into memory.
        let id = u32::try_from(ends.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        index.insert_unique(hash, id, |id| hasher.hash_one(slice(bytes, ends, *id)));
        StringId(id)
    }

    /// The number of a string, if it is known.
    pub(crate) fn find(&self, text: &[u8]) -> Option<StringId> {
        self.index
            .find(self.hasher.hash_one(text), |id| {
                slice(&self.bytes, &self.ends, *id) == text
            })
            .map(|id| StringId(*id))
    }

    pub(crate) fn get(&self, id: StringId) -> &[u8] {
        slice(&self.bytes, &self.ends, id.0)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &bytes[start..ends[id]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_have_one_number() {
        let mut strings = Strings::new();
        let f = strings.intern(b"f");
        let g = strings.intern(b"g\0\xff");
        assert_eq!((strings.intern(b"f"), strings.find(b"h")), (f, None));
        assert_eq!(strings.get(g), b"g\0\xff");
        assert_eq!(strings.intern(b""), StringId::NOT_GIVEN);
    }
}
