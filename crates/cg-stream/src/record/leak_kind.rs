//! Memcheck's leak kinds.

/// How lost a block is, in the order of Memcheck's LEAK SUMMARY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeakKind {
    /// Nothing points to it.
    Definite,
    /// Only lost blocks point to it.
    Indirect,
    /// Only something inside it is pointed to.
    Possible,
    /// It could still have been freed.
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

    /// The word that records, options and suppressions use.
    pub fn word(self) -> &'static str {
        match self {
            LeakKind::Definite => "definite",
            LeakKind::Indirect => "indirect",
            LeakKind::Possible => "possible",
            LeakKind::Reachable => "reachable",
        }
    }

    /// The kind as loss records and the LEAK SUMMARY call it.
    pub fn phrase(self) -> &'static str {
        match self {
            LeakKind::Definite => "definitely lost",
            LeakKind::Indirect => "indirectly lost",
            LeakKind::Possible => "possibly lost",
            LeakKind::Reachable => "still reachable",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<LeakKind> {
        LeakKind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}
