//! What a log tells of each leak kind: all of it, or nothing because it was not to be shown or was never measured.
//!
//! Text logs sum up every kind. XML has summaries from protocol 6 on; before, what `--show-leak-kinds` leaves out is
//! nowhere in it, and only Valgrind's own options, which XML repeats, tell that.

use cg_stream::record::{LeakKind, Tool};

use crate::finding::{Evidence, JudgedProcess, LeakKinds};

/// What is known of one leak kind in one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All that is lost is in the loss records or in the summary.
    Certain,
    /// Valgrind may have left out loss records, and there is no summary.
    NotShown,
    /// Leaks were not searched for: the tool has no leak check, or it was switched off.
    NotMeasured,
}

impl Coverage {
    pub(crate) const ALL: [Coverage; 3] =
        [Coverage::Certain, Coverage::NotShown, Coverage::NotMeasured];

    /// The words of the report.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Coverage::Certain => "certain",
            Coverage::NotShown => "not shown",
            Coverage::NotMeasured => "not measured",
        }
    }
}

/// What Memcheck's own options asked for. The last one of several counts, as in Valgrind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeakOptions {
    /// `--show-leak-kinds`, with the older options for single kinds.
    pub(crate) shown: LeakKinds,
    /// `--errors-for-leak-kinds`, where it was given.
    pub(crate) counted: Option<LeakKinds>,
    /// Whether `--leak-check` was given as `no` or `summary`.
    is_switched_off: bool,
}

impl LeakOptions {
    pub(crate) fn of(options: &[String]) -> LeakOptions {
        let mut asked = LeakOptions {
            shown: LeakKinds::DEFAULT,
            counted: None,
            is_switched_off: false,
        };
        for option in options {
            let Some((name, value)) = option.split_once('=') else {
                continue;
            };
            // Valgrind takes `-name` for `--name`.
            match (name.trim_start_matches('-'), value) {
                ("leak-check", value) => asked.is_switched_off = matches!(value, "no" | "summary"),
                ("show-leak-kinds", kinds) => {
                    // A value that Valgrind would have refused is taken to show nothing.
                    asked.shown = kinds.parse().unwrap_or_default();
                }
                ("errors-for-leak-kinds", kinds) => asked.counted = kinds.parse().ok(),
                ("show-reachable", "yes") => asked.shown = LeakKinds::ALL,
                ("show-reachable", "no") => asked.shown.set(LeakKind::Reachable, false),
                ("show-possibly-lost", value) => {
                    asked.shown.set(LeakKind::Possible, value == "yes");
                }
                _ => {}
            }
        }
        asked
    }
}

impl JudgedProcess {
    /// What its log tells of a leak kind.
    pub(crate) fn coverage(&self, kind: LeakKind) -> Coverage {
        if !self.may_have_leaks() {
            return Coverage::NotMeasured;
        }
        let facts = self.facts();
        let is_empty = facts
            .heap_summary
            .is_some_and(|heap| heap.in_use_blocks == 0);
        if facts.all_heap_blocks_freed || is_empty || facts.leak_summary.is_some() {
            return Coverage::Certain;
        }
        let options = LeakOptions::of(&facts.options);
        // Without a leak check the heap is summed up all the same. In XML Valgrind has made one in spite of its option so
        // far, which is nothing to rely on.
        if facts.heap_summary.is_some() || facts.exec || options.is_switched_off {
            return Coverage::NotMeasured;
        }
        if self.is_whole && options.shown.contains(kind) {
            Coverage::Certain
        } else {
            Coverage::NotShown
        }
    }

    /// Whether the tool looks for leaks at all, as far as is known.
    pub(crate) fn may_have_leaks(&self) -> bool {
        let tool = self.run.tool.as_ref();
        tool.is_none_or(|tool| *tool == Tool::Memcheck)
    }
}

/// Why processes cannot be clean although nothing was found in them, and what would help; equal reasons once.
pub(crate) fn gaps(evidence: &Evidence, counted: LeakKinds) -> Vec<String> {
    let mut gaps: Vec<(Gap, &JudgedProcess, usize)> = Vec::new();
    for process in &evidence.processes {
        let Some(gap) = gap(process, counted) else {
            continue;
        };
        match gaps.iter_mut().find(|(known, ..)| *known == gap) {
            Some((_, _, more)) => *more += 1,
            None => gaps.push((gap, process, 0)),
        }
    }
    gaps.into_iter()
        .map(|(gap, process, more)| {
            let more = match more {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}{more}: {}", process.title(), gap.reason(counted))
        })
        .collect()
}

/// What is missing of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    NotShown(LeakKinds),
    NotMeasured { in_use: Option<(u64, u64)> },
}

/// What is needed to judge a process but not known. Incomplete processes were reported by the reader already.
fn gap(process: &JudgedProcess, counted: LeakKinds) -> Option<Gap> {
    if !process.is_whole || !process.may_have_leaks() || process.facts().exec {
        return None;
    }
    let mut hidden = LeakKinds::default();
    for kind in LeakKind::ALL
        .into_iter()
        .filter(|kind| counted.contains(*kind))
    {
        match process.coverage(kind) {
            Coverage::Certain => {}
            Coverage::NotShown => hidden.set(kind, true),
            Coverage::NotMeasured => {
                let heap = process.facts().heap_summary;
                let in_use = heap.map(|heap| (heap.in_use_bytes, heap.in_use_blocks));
                return Some(Gap::NotMeasured { in_use });
            }
        }
    }
    (hidden != LeakKinds::default()).then_some(Gap::NotShown(hidden))
}

impl Gap {
    fn reason(self, counted: LeakKinds) -> String {
        match self {
            Gap::NotShown(hidden) => format!(
                "Valgrind was not to show leaks that count ({hidden}); run it with --show-leak-kinds={counted}"
            ),
            Gap::NotMeasured {
                in_use: Some((bytes, blocks)),
            } => format!(
                "{} in use at exit, and nobody looked for leaks; run Valgrind with --leak-check=full",
                crate::sentence::amount(bytes.into(), blocks.into())
            ),
            Gap::NotMeasured { in_use: None } => {
                "its options switch the search for leaks off; run Valgrind with --leak-check=full"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shown kinds, for these options.
    fn shown(options: &str) -> String {
        let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        LeakOptions::of(&options).shown.to_string()
    }

    #[test]
    fn options_are_read_as_memcheck_reads_them() {
        assert_eq!(shown(""), "definite,possible");
        assert_eq!(shown("--show-leak-kinds=all"), "all");
        assert_eq!(shown("--show-leak-kinds=none"), "none");
        assert_eq!(shown("--show-leak-kinds=definite"), "definite");
        assert_eq!(
            shown("--show-leak-kinds=definite --show-possibly-lost=yes"),
            "definite,possible"
        );
        assert_eq!(
            shown("--show-reachable=yes --show-possibly-lost=no"),
            "definite,indirect,reachable"
        );
        assert_eq!(shown("--show-possibly-lost=no --show-reachable=yes"), "all");
        assert_eq!(shown("--show-reachable=no"), "definite,possible");
        assert_eq!(
            shown("--show-leak-kinds=all --show-reachable=no"),
            "definite,indirect,possible"
        );
        // A program's own words are not among them.
        assert_eq!(shown("--leak-check=full -q ./x"), "definite,possible");
    }

    #[test]
    fn what_counts_is_known_where_it_was_given() {
        let counted = |option: &str| LeakOptions::of(&[option.to_owned()]).counted;
        assert_eq!(counted("--errors-for-leak-kinds=all"), Some(LeakKinds::ALL));
        assert_eq!(counted("--leak-check=full"), None);
    }
}
