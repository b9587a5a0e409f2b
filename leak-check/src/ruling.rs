//! What is decided about one finding.

use std::cell::OnceCell;
use std::rc::Rc;

use crate::finding::Finding;
use crate::fingerprint::{Fingerprint, NormalNames};

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Status {
    /// It counts, and nothing excuses it.
    New,
    /// It counts, is in the baseline, and has grown beyond `--max-growth`.
    Grown,
    /// A leak that counts, within `--max-bytes` and `--max-blocks`.
    Allowed,
    /// It counts and is in the baseline.
    Known,
    /// `--ignore` matches.
    Ignored,
    /// `--only` does not match.
    Foreign,
    /// The policy does not count its kind.
    NotCounted,
    /// A suppression matches.
    Suppressed,
}

impl Status {
    pub(crate) const ALL: [Status; 8] = [
        Status::New,
        Status::Grown,
        Status::Allowed,
        Status::Known,
        Status::Ignored,
        Status::Foreign,
        Status::NotCounted,
        Status::Suppressed,
    ];

    /// Whether it fails the gate.
    pub(crate) fn fails(self) -> bool {
        matches!(self, Status::New | Status::Grown)
    }

    /// Whether reports show it: what fails, and what only a limit lets pass.
    pub(crate) fn is_shown(self) -> bool {
        self.fails() || self == Status::Allowed
    }

    /// Whether it counts, excused or not.
    pub(crate) fn is_counted(self) -> bool {
        self.is_shown() || self == Status::Known
    }

    /// The word in reports and records.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::New => "new",
            Status::Grown => "grown",
            Status::Allowed => "allowed",
            Status::Known => "known",
            Status::Ignored => "ignored",
            Status::Foreign => "foreign",
            Status::NotCounted => "not_counted",
            Status::Suppressed => "suppressed",
        }
    }
}

/// The decision about one finding.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) status: Status,
    /// The position in its stack of the frame to blame.
    pub(crate) blame: Option<usize>,
    /// The one that the baseline knows it by, where it does; made when it is asked for.
    pub(crate) fingerprint: OnceCell<Fingerprint>,
    pub(crate) names: Rc<NormalNames>,
    /// Today's, where the baseline knows it by another.
    pub(crate) renewed: Option<Fingerprint>,
    /// How many equal ones the baseline knows in a process; more than that are new.
    pub(crate) known_equals: u64,
}

impl Ruling {
    /// The fingerprint of the finding that this is about: the one that the baseline knows it by, where it does.
    pub(crate) fn fingerprint(&self, finding: &Finding) -> &Fingerprint {
        self.fingerprint
            .get_or_init(|| self.names.fingerprint(finding))
    }
}
