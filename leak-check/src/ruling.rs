//! What is decided about one finding.

use std::cell::OnceCell;
use std::rc::Rc;

use cg_stream::record::Frame;

use crate::finding::Finding;
use crate::fingerprint::{Fingerprint, NormalNames};

/// What became of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RulingStatus {
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
    OtherCode,
    /// The policy does not count its kind.
    NotCounted,
    /// A suppression matches.
    Suppressed,
}

impl RulingStatus {
    pub(crate) const ALL: [RulingStatus; 8] = [
        RulingStatus::New,
        RulingStatus::Grown,
        RulingStatus::Allowed,
        RulingStatus::Known,
        RulingStatus::Ignored,
        RulingStatus::OtherCode,
        RulingStatus::NotCounted,
        RulingStatus::Suppressed,
    ];

    /// Whether it fails the gate.
    pub(crate) fn fails(self) -> bool {
        matches!(self, RulingStatus::New | RulingStatus::Grown)
    }

    /// Whether reports show it: what fails, and what only a limit lets pass.
    pub(crate) fn is_shown(self) -> bool {
        self.fails() || self == RulingStatus::Allowed
    }

    /// Whether it counts, excused or not.
    pub(crate) fn is_counted(self) -> bool {
        self.is_shown() || self == RulingStatus::Known
    }

    /// The word in reports and records.
    pub(crate) fn word(self) -> &'static str {
        match self {
            RulingStatus::New => "new",
            RulingStatus::Grown => "grown",
            RulingStatus::Allowed => "allowed",
            RulingStatus::Known => "known",
            RulingStatus::Ignored => "ignored",
            RulingStatus::OtherCode => "other_code",
            RulingStatus::NotCounted => "not_counted",
            RulingStatus::Suppressed => "suppressed",
        }
    }

    /// The same for people.
    pub(crate) fn words(self) -> String {
        self.word().replace('_', " ")
    }
}

/// The decision about one finding.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) status: RulingStatus,
    /// The position in its stack of the frame to blame.
    pub(crate) blame: Option<usize>,
    /// The one that the baseline knows it by, where it does; made when it is asked for.
    pub(crate) fingerprint: OnceCell<Fingerprint>,
    pub(crate) names: Rc<NormalNames>,
    /// Today's fingerprint, if the baseline knows it by another one.
    pub(crate) renewed: Option<Fingerprint>,
    /// How many equal findings the baseline allows per process; more than that are new.
    pub(crate) known_equals: u64,
}

impl Ruling {
    /// The frame to blame of the finding that this is about.
    pub(crate) fn blamed<'f>(&self, finding: &'f Finding) -> Option<&'f Frame<'static>> {
        Some(&finding.stack[self.blame?])
    }

    /// The fingerprint of the finding that this is about: the one that the baseline knows it by, where it does.
    pub(crate) fn fingerprint(&self, finding: &Finding) -> &Fingerprint {
        self.fingerprint
            .get_or_init(|| self.names.fingerprint(finding))
    }
}
