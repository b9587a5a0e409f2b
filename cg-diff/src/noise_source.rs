//! Functions whose cost varies from run to run, although the program does the same work: it depends on random seeds,
//! addresses and block sizes.
//!
//! The words of the name decide. Regular expressions for them take more instructions to compile than a small comparison.

/// The reason why the cost of a function varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoiseSource {
    Hashing,
    Allocation,
    CopyingMemory,
    DynamicLinking,
}

#[rustfmt::skip]
const HASHING: [&str; 14] = [
    "sip", "sip13", "SipHasher13", "Sip13Rounds", "hashbrown", "HashMap", "HashSet", "hash_one", "make_hash", "RandomState",
    "_Hash_bytes", "_Hashtable", "unordered_map", "unordered_set",
];

#[rustfmt::skip]
const ALLOCATION: [&str; 21] = [
    "malloc", "calloc", "realloc", "free", "_int_malloc", "_int_free", "_int_realloc", "malloc_consolidate", "unlink_chunk",
    "sysmalloc", "sbrk", "brk", "__rust_alloc", "__rust_dealloc", "__rust_realloc", "__rdl_alloc", "__rdl_dealloc",
    "__rdl_realloc", "RawVec", "RawVecInner", "raw_vec",
];

/// The functions of C++ that allocate. Their names have two words.
const ALLOCATION_OPERATORS: [&str; 2] = ["new", "delete"];

const COPYING: [&str; 6] = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "mempcpy"];

const LINKING: [&str; 4] = ["do_lookup_x", "dl_main", "check_match", "elf_machine_rela"];

impl NoiseSource {
    /// Returns the first reason that a word of a function's name has; `None` if the cost of the function does not vary.
    pub(crate) fn from_name(name: &str) -> Option<NoiseSource> {
        let separates = |character: char| !(character.is_alphanumeric() || character == '_');
        let mut found = None;
        let mut before = "";
        for word in name.split(separates) {
            let source = NoiseSource::from_word(word).or_else(|| {
                let allocates = before == "operator" && ALLOCATION_OPERATORS.contains(&word);
                allocates.then_some(NoiseSource::Allocation)
            });
            found = match (found, source) {
                (Some(found), Some(source)) => Some(source.min(found)),
                (found, source) => found.or(source),
            };
            before = word;
        }
        found
    }

    fn from_word(word: &str) -> Option<NoiseSource> {
        let copies = |word: &str| {
            let word = word.trim_start_matches('_');
            let after = |name| word.strip_prefix(name);
            let is_variant = |rest: &str| rest.is_empty() || rest.starts_with('_') && rest != "_";
            COPYING.into_iter().filter_map(after).any(is_variant)
        };
        if HASHING.contains(&word) || word.starts_with("siphash") {
            Some(NoiseSource::Hashing)
        } else if ALLOCATION.contains(&word) {
            Some(NoiseSource::Allocation)
        } else if copies(word) {
            Some(NoiseSource::CopyingMemory)
        } else if LINKING.contains(&word) || word.starts_with("_dl_") && word != "_dl_" {
            Some(NoiseSource::DynamicLinking)
        } else {
            None
        }
    }

    /// Returns the work of these functions.
    pub(crate) fn work(self) -> &'static str {
        match self {
            NoiseSource::Hashing => "hashing",
            NoiseSource::Allocation => "allocation",
            NoiseSource::CopyingMemory => "copying memory",
            NoiseSource::DynamicLinking => "dynamic linking",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_decide() {
        for (name, expected) in [
            (
                "<core::hash::sip::Hasher<S> as Hasher>::write",
                Some(NoiseSource::Hashing),
            ),
            ("siphash24", Some(NoiseSource::Hashing)),
            ("std::unordered_set<int>::find", Some(NoiseSource::Hashing)),
            (
                "operator new[](unsigned long)",
                Some(NoiseSource::Allocation),
            ),
            ("operator delete", Some(NoiseSource::Allocation)),
            ("operator newer", None),
            ("operator  new", None),
            ("new", None),
            (
                "__memcpy_avx_unaligned_erms",
                Some(NoiseSource::CopyingMemory),
            ),
            ("bcmp", Some(NoiseSource::CopyingMemory)),
            ("memcpyx", None),
            ("memset_", None),
            ("_dl_relocate_object", Some(NoiseSource::DynamicLinking)),
            ("_dl_", None),
            ("freeze", None),
            ("my::malloc_count", None),
            // The first source of two.
            ("free::<HashMap>", Some(NoiseSource::Hashing)),
            ("", None),
        ] {
            assert_eq!(NoiseSource::from_name(name), expected, "{name}");
        }
    }
}
