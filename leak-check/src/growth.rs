//! The sizes of known leaks, and the limit on their growth.

use std::fmt;
use std::str::FromStr;

use cg_document::number::plural;
use cg_stream::percent::Percent;
use cg_stream::record::Count;

use crate::finding::{Details, Finding};

/// The total size of equal leaks in one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostSize {
    /// Direct bytes.
    pub(crate) bytes: Count,
    pub(crate) blocks: Count,
    /// Bytes reachable only through these blocks.
    pub(crate) indirect_bytes: Count,
}

impl LostSize {
    /// Returns the size of a leak; `None` for other findings.
    pub(crate) fn from_finding(finding: &Finding) -> Option<LostSize> {
        let Details::Leak(leak) = &finding.details else {
            return None;
        };
        Some(LostSize {
            bytes: leak.bytes,
            blocks: leak.blocks,
            indirect_bytes: leak.indirect_bytes.into(),
        })
    }

    pub(crate) fn plus(self, other: LostSize) -> LostSize {
        LostSize {
            bytes: self.bytes.saturating_add(other.bytes),
            blocks: self.blocks.saturating_add(other.blocks),
            indirect_bytes: self.indirect_bytes.saturating_add(other.indirect_bytes),
        }
    }

    /// Returns the larger of each figure.
    pub(crate) fn max(self, other: LostSize) -> LostSize {
        LostSize {
            bytes: self.bytes.max(other.bytes),
            blocks: self.blocks.max(other.blocks),
            indirect_bytes: self.indirect_bytes.max(other.indirect_bytes),
        }
    }

    /// Returns the sum of direct and indirect bytes, which measures growth. The split between them depends on the order in
    /// which Memcheck visits the blocks of a cycle.
    fn all_bytes(self) -> Count {
        self.bytes.saturating_add(self.indirect_bytes)
    }

    /// Returns true if there are more bytes or more blocks than in `known`.
    pub(crate) fn is_larger_than(self, known: LostSize) -> bool {
        self.all_bytes() > known.all_bytes() || self.blocks > known.blocks
    }
}

/// Writes `1 block, 10 bytes`.
impl fmt::Display for LostSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}",
            plural(self.blocks, "block", "blocks"),
            plural(self.bytes, "byte", "bytes")
        )?;
        if self.indirect_bytes > 0 {
            let indirect = plural(self.indirect_bytes, "byte", "bytes");
            write!(f, " and {indirect} through them")?;
        }
        Ok(())
    }
}

/// A known leak that grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeakGrowth {
    /// The size per process in the baseline.
    pub(crate) known: LostSize,
    /// The largest present size in a process.
    pub(crate) present: LostSize,
}

/// Writes `1 block, 10 bytes → 1,000 blocks, 5,000,000 bytes`.
impl fmt::Display for LeakGrowth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.known, self.present)
    }
}

/// The maximum growth of a known leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaxGrowth {
    /// In bytes, the sum of direct and indirect ones.
    Bytes(Count),
    /// In percent of its bytes and of its blocks.
    Percent(Percent),
}

impl MaxGrowth {
    /// Returns true if the growth exceeds this limit.
    pub(crate) fn is_exceeded(self, growth: LeakGrowth) -> bool {
        let LeakGrowth { known, present } = growth;
        let more_bytes = present.all_bytes() - known.all_bytes();
        let more_blocks = present.blocks - known.blocks;
        match self {
            MaxGrowth::Bytes(most) => more_bytes > most,
            MaxGrowth::Percent(most) => {
                most.is_exceeded(more_bytes, known.all_bytes())
                    || most.is_exceeded(more_blocks, known.blocks)
            }
        }
    }
}

impl FromStr for MaxGrowth {
    type Err = String;

    /// Parses `N` or `P%`.
    fn from_str(text: &str) -> Result<MaxGrowth, String> {
        if text.ends_with('%') {
            return text.parse().map(MaxGrowth::Percent);
        }
        text.parse::<u64>()
            .map(|bytes| MaxGrowth::Bytes(bytes.into()))
            .map_err(|_| format!("expected a number of bytes or a percentage, found \"{text}\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size((blocks, bytes, indirect_bytes): (Count, Count, Count)) -> LostSize {
        LostSize {
            bytes,
            blocks,
            indirect_bytes,
        }
    }

    #[test]
    fn growth_is_limited_in_bytes_or_in_per_cent_of_bytes_and_blocks() {
        for (limit, known, present, expected) in [
            ("10", (1, 10, 0), (9, 20, 0), false),
            ("10", (1, 10, 0), (1, 21, 0), true),
            ("0", (1, 10, 0), (2, 10, 0), false),
            ("0%", (1, 10, 0), (2, 10, 0), true),
            ("0%", (2, 10, 0), (2, 10, 0), false),
            ("100%", (1, 10, 0), (2, 20, 0), false),
            ("100%", (1, 10, 0), (2, 21, 0), true),
            ("100%", (1, 10, 0), (3, 20, 0), true),
            ("12.5%", (8, 80, 0), (9, 90, 0), false),
            ("12.4%", (8, 80, 0), (9, 80, 0), true),
            // In a lost list, only the first node is lost directly.
            ("100%", (1, 10, 90), (1, 10, 190), false),
            ("100%", (1, 10, 90), (1, 10, 191), true),
            ("0", (1, 10, 90), (1, 60, 40), false),
            // A block of 0 bytes.
            ("1000%", (1, 0, 0), (1, 1, 0), true),
            // A decrease in one figure does not offset growth in the other.
            ("50%", (10, 1000, 0), (16, 10, 0), true),
        ] {
            let growth = LeakGrowth {
                known: size(known),
                present: size(present),
            };
            let limit: MaxGrowth = limit.parse().unwrap();
            assert_eq!(limit.is_exceeded(growth), expected, "{limit:?} {growth}");
        }
    }

    #[test]
    fn a_limit_is_bytes_or_a_percentage() {
        for wrong in ["", "%", "-1", "1.5", "10 %", "x"] {
            assert!(wrong.parse::<MaxGrowth>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn growth_shows_the_old_and_the_new_size() {
        let growth = LeakGrowth {
            known: size((1, 10, 0)),
            present: size((1_000, 5_000_000, 8)),
        };
        assert_eq!(
            growth.to_string(),
            "1 block, 10 bytes → 1,000 blocks, 5,000,000 bytes and 8 bytes through them"
        );
    }
}
