//! Which processes cannot be clean although nothing was found in them, since nobody looked, or nobody was shown.

use cg_parse::findings::{Coverage, LeakDoubt, LeakOptions, may_have_leaks};
use cg_stream::record::LeakKind;

use crate::finding::{Evidence, JudgedProcess, LeakKinds};
use crate::sanitizers::SanitizerGap;

impl JudgedProcess {
    /// What its log tells of a leak kind.
    pub(crate) fn coverage(&self, kind: LeakKind) -> Coverage {
        Coverage::of(&self.run, self.is_whole, kind)
    }

    /// Whether the tool looks for leaks at all, as far as is known.
    pub(crate) fn may_have_leaks(&self) -> bool {
        may_have_leaks(&self.run)
    }
}

/// Why processes cannot be clean although nothing was found in them, and what would help; equal reasons once.
pub(crate) fn gaps(evidence: &Evidence, counted: LeakKinds, errors: bool) -> Vec<String> {
    let mut gaps: Vec<(Gap, &JudgedProcess, usize)> = Vec::new();
    for process in &evidence.processes {
        let Some(gap) = gap(process, counted, errors) else {
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
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gap {
    /// These kinds were not to be shown.
    NotShown(LeakKinds),
    /// Leaks were not searched for.
    NotMeasured { in_use: Option<(u64, u64)> },
    /// What was shown cannot be told.
    InDoubt(LeakDoubt),
    /// What a sanitizer leaves open.
    OfSanitizer(SanitizerGap),
}

/// What is needed to judge a process but not known. Incomplete processes were reported by the reader already.
fn gap(process: &JudgedProcess, counted: LeakKinds, errors: bool) -> Option<Gap> {
    if process.is_of_sanitizer() {
        return process.gap_of_sanitizer(counted).map(Gap::OfSanitizer);
    }
    if !process.is_whole || process.facts().exec {
        return None;
    }
    let options = LeakOptions::of(&process.run);
    // An option that nobody knows may hide errors too, and nothing but an ERROR SUMMARY counts what was hidden.
    if let Some(doubt @ LeakDoubt::Unknown(_)) = &options.doubt
        && errors
        && process.facts().error_summary.is_none()
    {
        return Some(Gap::InDoubt(doubt.clone()));
    }
    if !process.may_have_leaks() {
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
    (hidden != LeakKinds::default()).then_some(match options.doubt {
        Some(doubt) => Gap::InDoubt(doubt),
        None => Gap::NotShown(hidden),
    })
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
            Gap::OfSanitizer(gap) => gap.reason().to_owned(),
            Gap::NotMeasured { in_use: None } | Gap::InDoubt(LeakDoubt::SwitchedOff) => {
                "its options switch the search for leaks off; run Valgrind with --leak-check=full"
                    .to_owned()
            }
            Gap::InDoubt(LeakDoubt::NotTold) => {
                "neither a summary nor Valgrind's options tell which leaks were looked for and shown; give the log as \
                 Valgrind wrote it"
                    .to_owned()
            }
            Gap::InDoubt(LeakDoubt::Elsewhere) => {
                "--xtree-leak=yes has Valgrind write the leaks to another file; run it without that option".to_owned()
            }
            Gap::InDoubt(LeakDoubt::Unknown(option)) => format!(
                "{option} is not known here and may hide what is to be judged; run Valgrind without it, or write a \
                 text log, which sums up what it does not show"
            ),
        }
    }
}
