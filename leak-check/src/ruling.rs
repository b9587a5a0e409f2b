//! The decision about one finding.

use std::cell::OnceCell;
use std::rc::Rc;

use cg_stream::record::Frame;

use crate::finding::Finding;
use crate::fingerprint::Fingerprint;
use crate::identity::NormalNames;

/// The status of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RulingStatus {
    /// Counts, and nothing excuses it.
    New,
    /// Counts, is in the baseline, and has grown beyond `--max-growth`.
    Grown,
    /// A leak that counts, within `--max-bytes` and `--max-blocks`.
    Allowed,
    /// Counts, and is in the baseline.
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

    /// Returns true if the finding fails the gate.
    pub(crate) fn fails(self) -> bool {
        match self {
            RulingStatus::New | RulingStatus::Grown => true,
            RulingStatus::Allowed
            | RulingStatus::Known
            | RulingStatus::Ignored
            | RulingStatus::OtherCode
            | RulingStatus::NotCounted
            | RulingStatus::Suppressed => false,
        }
    }

    /// Returns true if reports show the finding: it fails, or only a limit accepts it.
    pub(crate) fn is_shown(self) -> bool {
        self.fails() || self == RulingStatus::Allowed
    }

    /// Returns true if the finding counts, even if the baseline or a limit excuses it.
    pub(crate) fn is_counted(self) -> bool {
        self.is_shown() || self == RulingStatus::Known
    }

    /// Returns true if `--only` and `--ignore` are applied to the finding. Suppressions and leak kinds are applied first.
    pub(crate) fn reaches_conditions(self) -> bool {
        match self {
            RulingStatus::NotCounted | RulingStatus::Suppressed => false,
            RulingStatus::New
            | RulingStatus::Grown
            | RulingStatus::Allowed
            | RulingStatus::Known
            | RulingStatus::Ignored
            | RulingStatus::OtherCode => true,
        }
    }

    /// Returns the word for records.
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

    /// Returns the word for people, with spaces.
    pub(crate) fn words(self) -> String {
        self.word().replace('_', " ")
    }
}

/// The decision about one finding.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) status: RulingStatus,
    /// The position of the blamed frame in the stack.
    pub(crate) blame: Option<usize>,
    /// The fingerprint in the baseline, otherwise the current one. Computed on first use.
    pub(crate) fingerprint: OnceCell<Fingerprint>,
    pub(crate) names: Rc<NormalNames>,
    /// The fingerprint by the current rules, if the baseline has a different one.
    pub(crate) renewed: Option<Fingerprint>,
    /// The number of equal findings that the baseline allows per process.
    pub(crate) known_equals: u64,
}

impl Ruling {
    /// Returns the blamed frame. `finding` must be the finding of this ruling.
    pub(crate) fn blamed<'f>(&self, finding: &'f Finding) -> Option<&'f Frame<'static>> {
        Some(&finding.stack[self.blame?])
    }

    /// Returns the fingerprint in the baseline, otherwise the current one. `finding` must be the finding of this ruling.
    pub(crate) fn fingerprint(&self, finding: &Finding) -> &Fingerprint {
        self.fingerprint
            .get_or_init(|| self.names.fingerprint(finding))
    }
}
