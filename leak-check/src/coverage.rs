//! Processes without findings that are still not clean, because Valgrind did not search for leaks or did not print them.

use cg_parse::findings::{Coverage, LeakDoubt, LeakOptions, may_have_leaks};
use cg_stream::record::LeakKind;

use crate::finding::{Evidence, JudgedProcess, LeakKinds};
use crate::sanitizers::SanitizerGap;

impl JudgedProcess {
    /// Returns how far the log covers a leak kind.
    pub(crate) fn coverage(&self, kind: LeakKind) -> Coverage {
        Coverage::from_run(&self.run, self.is_whole, kind)
    }

    /// Returns true if the tool may search for leaks.
    pub(crate) fn may_have_leaks(&self) -> bool {
        may_have_leaks(&self.run)
    }
}

/// Returns why processes without findings are not clean, and the remedy. Merges equal reasons.
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

/// Information that a process lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gap {
    /// Valgrind did not print these leak kinds.
    NotShown(LeakKinds),
    /// Valgrind did not search for leaks.
    NotMeasured { in_use: Option<(u64, u64)> },
    /// It is unknown which leak kinds Valgrind printed.
    InDoubt(LeakDoubt),
    /// A sanitizer's report leaves something open.
    Sanitizer(SanitizerGap),
}

/// Returns the information that is missing to judge a process. Skips incomplete processes: the reader has already reported
/// these.
fn gap(process: &JudgedProcess, counted: LeakKinds, errors: bool) -> Option<Gap> {
    if process.is_from_sanitizer() {
        return process.sanitizer_gap(counted).map(Gap::Sanitizer);
    }
    if !process.is_whole || process.facts().exec {
        return None;
    }
    let options = LeakOptions::from_run(&process.run);
    // An unknown option may hide errors too. Only an ERROR SUMMARY counts hidden errors.
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
                "Valgrind did not print leaks that count ({hidden}); rerun it with --show-leak-kinds={counted}"
            ),
            Gap::NotMeasured {
                in_use: Some((bytes, blocks)),
            } => format!(
                "{} in use at exit, but there was no leak check; rerun Valgrind with --leak-check=full",
                crate::sentence::amount(bytes.into(), blocks.into())
            ),
            Gap::Sanitizer(gap) => gap.reason().to_owned(),
            Gap::NotMeasured { in_use: None } | Gap::InDoubt(LeakDoubt::SwitchedOff) => {
                "Valgrind's options disable the leak check; rerun Valgrind with --leak-check=full"
                    .to_owned()
            }
            Gap::InDoubt(LeakDoubt::OptionsNotLogged) => {
                "the log has neither a summary nor Valgrind's options, so it is unknown which leaks it shows; \
                 use Valgrind's unchanged log"
                    .to_owned()
            }
            Gap::InDoubt(LeakDoubt::Elsewhere) => {
                "Valgrind wrote the leaks to another file (--xtree-leak=yes); rerun it without that option".to_owned()
            }
            Gap::InDoubt(LeakDoubt::Unknown(option)) => format!(
                "Valgrind's option {option} is unknown and may hide findings; rerun Valgrind without it, or write a \
                 text log, which has a summary"
            ),
        }
    }
}
