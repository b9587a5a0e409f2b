//! Memcheck's leak kinds.

/// Memcheck's kind of a leak. The variants have the order of Memcheck's LEAK SUMMARY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeakKind {
    /// No pointer points to the block.
    Definite,
    /// Only lost blocks point to the block.
    Indirect,
    /// Pointers point only into the middle of the block.
    Possible,
    /// A pointer points to the block, so the program could still have freed it.
    Reachable,
}

impl LeakKind {
    /// All kinds.
    pub const ALL: [LeakKind; 4] = [
        LeakKind::Definite,
        LeakKind::Indirect,
        LeakKind::Possible,
        LeakKind::Reachable,
    ];

    /// Returns the word that records, options and suppressions use.
    pub fn word(self) -> &'static str {
        match self {
            LeakKind::Definite => "definite",
            LeakKind::Indirect => "indirect",
            LeakKind::Possible => "possible",
            LeakKind::Reachable => "reachable",
        }
    }

    /// Returns the phrase that loss records and the LEAK SUMMARY use.
    pub fn phrase(self) -> &'static str {
        match self {
            LeakKind::Definite => "definitely lost",
            LeakKind::Indirect => "indirectly lost",
            LeakKind::Possible => "possibly lost",
            LeakKind::Reachable => "still reachable",
        }
    }

    /// Returns the kind with this word; `None` if the word is unknown.
    pub fn from_word(word: &str) -> Option<LeakKind> {
        LeakKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
