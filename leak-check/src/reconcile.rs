//! Compares the records of each process with its summaries, to find what Valgrind counted but did not print.
//!
//! Valgrind does not print loss records with `--leak-check=summary`, loss records of a kind that `--show-leak-kinds`
//! excludes, and errors beyond its limits. The summaries count all of these, so a gate that reads only the records would
//! treat such a process as clean.

use cg_parse::findings::LeakOptions;
use cg_stream::record::{Count, LeakKind};

use crate::finding::{Details, Evidence, Finding, JudgedProcess, LeakKinds, ProcessId, Unprinted};
use crate::stack::Stack;

/// The totals of one process's records.
#[derive(Clone, Copy, Default)]
struct Printed {
    errors: Count,
    leaks: [PrintedLeaks; 4],
}

#[derive(Clone, Copy, Default)]
struct PrintedLeaks {
    records: Count,
    bytes: Count,
    blocks: Count,
}

/// Adds a finding for the leaks and errors that a process's summaries count beyond its records.
pub(crate) fn add_unprinted(evidence: &mut Evidence) {
    let mut printed = vec![Printed::default(); evidence.processes.len()];
    for finding in &evidence.findings {
        let printed = &mut printed[finding.process.0];
        match &finding.details {
            // Valgrind does not count the signal as an error.
            Details::Error(_) if finding.is_fatal_signal() => {}
            Details::Error(_) => printed.errors += 1,
            Details::Leak(leak) => {
                let leaks = &mut printed.leaks[leak.kind as usize];
                leaks.records += 1;
                // The LEAK SUMMARY describes the last search.
                if !leak.earlier_search {
                    leaks.bytes += leak.bytes;
                    leaks.blocks += leak.blocks;
                }
            }
            Details::Unprinted(_) => {}
        }
    }
    for (position, process) in evidence.processes.iter().enumerate() {
        if !process.is_whole {
            continue;
        }
        let inherited = inherited_errors(process, &evidence.processes, &printed);
        let unprinted = unprinted(process, &printed[position], inherited);
        evidence
            .findings
            .extend(unprinted.into_iter().map(|unprinted| Finding {
                process: ProcessId(position),
                details: Details::Unprinted(unprinted),
                stack: Stack::default(),
                suppression: None,
            }));
    }
}

/// Returns the number of errors that a process may have inherited from its parent, since a forked child continues its
/// parent's counters. Counts only parents among the inputs, whose errors are judged with the parent.
fn inherited_errors(
    child: &JudgedProcess,
    processes: &[JudgedProcess],
    printed: &[Printed],
) -> Count {
    processes
        .iter()
        .zip(printed)
        .filter(|(parent, _)| may_be_parent(parent, child))
        .map(|(parent, printed)| contexts(parent).unwrap_or(printed.errors))
        .max()
        .unwrap_or(0)
}

/// Returns true if a process may be the child's parent. Compares the parent's pid if it is known. A child that writes to
/// its parent's log has no header with that pid.
fn may_be_parent(parent: &JudgedProcess, child: &JudgedProcess) -> bool {
    match child.facts().ppid {
        Some(pid) => parent.run.pid == Some(pid) && parent.run.command == child.run.command,
        None => {
            child.facts().forked && parent.source == child.source && parent.run.pid != child.run.pid
        }
    }
}

/// Returns the number of different errors that Valgrind counted, including leaks; `None` without an ERROR SUMMARY.
fn contexts(process: &JudgedProcess) -> Option<Count> {
    let summary = process.facts().error_summary?;
    Some(summary.contexts.into())
}

fn unprinted(process: &JudgedProcess, printed: &Printed, inherited: Count) -> Vec<Unprinted> {
    let mut unprinted = Vec::new();
    let mut records = [RecordBounds::default(); 4];
    for kind in LeakKind::ALL {
        let leaks = printed.leaks[kind as usize];
        let records = &mut records[kind as usize];
        *records = RecordBounds {
            least: leaks.records,
            most: leaks.records,
        };
        let Some((bytes, blocks)) = process.lost(kind) else {
            continue;
        };
        if bytes > leaks.bytes || blocks > leaks.blocks {
            let hidden_blocks = (blocks - leaks.blocks).max(0);
            // A loss record may have several blocks, so the number of blocks is only an upper bound.
            records.least += hidden_blocks.min(1);
            records.most += hidden_blocks;
            unprinted.push(Unprinted::Leaks {
                kind,
                bytes: (bytes - leaks.bytes).max(0),
                blocks: hidden_blocks,
            });
        }
    }
    let contexts = unexplained_contexts(process, printed, inherited, &records)
        .max(Count::from(process.facts().unprinted_errors) - inherited);
    if contexts > 0 {
        unprinted.push(Unprinted::Errors { contexts });
    }
    unprinted
}

/// Bounds on the number of loss records of a kind, printed or not.
#[derive(Clone, Copy, Default)]
struct RecordBounds {
    least: Count,
    most: Count,
}

/// Returns the number of contexts in the ERROR SUMMARY that are neither printed errors nor loss records.
///
/// Every loss record of a kind in Valgrind's `--errors-for-leak-kinds` is a context, printed or not. Valgrind may have run
/// with other kinds than leak-check. If the log lacks Valgrind's options, accepts any set of kinds that explains all
/// contexts: leaks are judged by kind and must not count again as errors.
fn unexplained_contexts(
    process: &JudgedProcess,
    printed: &Printed,
    inherited: Count,
    records: &[RecordBounds; 4],
) -> Count {
    let Some(contexts) = contexts(process) else {
        return 0;
    };
    let in_sets = |kinds: LeakKinds| {
        LeakKind::ALL
            .into_iter()
            .filter(move |kind| kinds.contains(*kind))
            .map(|kind| records[kind as usize])
    };
    let least = |kinds| printed.errors + in_sets(kinds).map(|records| records.least).sum::<Count>();
    let most = |kinds| {
        let inherited = inherited + Count::from(process.facts().repeated_leaks);
        printed.errors + inherited + in_sets(kinds).map(|records| records.most).sum::<Count>()
    };
    let counted = LeakOptions::from_run(&process.run).counted;
    let beyond = contexts - most(counted.unwrap_or(LeakKinds::DEFAULT));
    let is_explained = counted.is_none()
        && LeakKinds::every().any(|kinds| (least(kinds)..=most(kinds)).contains(&contexts));
    if is_explained { 0 } else { beyond.max(0) }
}
