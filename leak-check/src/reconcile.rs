//! Compares what Valgrind counted with what it printed: the records of each process with its summaries.
//!
//! Loss records stay unprinted with `--leak-check=summary` and with a `--show-leak-kinds` that leaves their kind out,
//! errors beyond Valgrind's limits. All of them are in the summaries, and a gate that looks at the records alone would
//! call such a process clean.

use std::rc::Rc;

use cg_stream::record::Count;

use crate::finding::{Details, Evidence, Finding, LeakKind, Process, ProcessId, Unprinted};

/// What the records of one process add up to.
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

/// Adds a finding for what the summaries of a process count beyond its records.
pub(crate) fn add_unprinted(evidence: &mut Evidence) {
    let mut printed = vec![Printed::default(); evidence.processes.len()];
    for finding in &evidence.findings {
        let printed = &mut printed[finding.process.0];
        match &finding.details {
            Details::Error(_) => printed.errors += 1,
            Details::Leak(leak) => {
                let leaks = &mut printed.leaks[leak.kind as usize];
                leaks.records += 1;
                leaks.bytes += leak.bytes;
                leaks.blocks += leak.blocks;
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
                stack: Rc::from([]),
                suppression: None,
            }));
    }
}

/// How many errors a process may have counted for its parent: a forked child goes on with its parent's counters. They
/// were judged with the parent, if its log is among the inputs.
fn inherited_errors(child: &Process, processes: &[Process], printed: &[Printed]) -> Count {
    processes
        .iter()
        .zip(printed)
        .filter(|(parent, _)| may_be_parent(parent, child))
        .map(|(parent, printed)| parent.summary.contexts.unwrap_or(printed.errors))
        .max()
        .unwrap_or(0)
}

/// By the parent's pid where it is known; a fork that writes into its parent's log has no header that would tell it.
fn may_be_parent(parent: &Process, child: &Process) -> bool {
    match child.parent_pid {
        Some(pid) => parent.pid == Some(pid) && parent.command == child.command,
        None => child.is_forked && parent.source == child.source && parent.pid != child.pid,
    }
}

fn unprinted(process: &Process, printed: &Printed, inherited: Count) -> Vec<Unprinted> {
    let mut unprinted = Vec::new();
    let mut explained = printed.errors + inherited + process.summary.repeated_leaks;
    for kind in LeakKind::ALL {
        let leaks = printed.leaks[kind as usize];
        let is_counted_by_default = matches!(kind, LeakKind::Definite | LeakKind::Possible);
        if is_counted_by_default {
            explained += leaks.records;
        }
        let Some((bytes, blocks)) = process.summary.leaks[kind as usize] else {
            continue;
        };
        if bytes > leaks.bytes || blocks > leaks.blocks {
            let hidden_blocks = (blocks - leaks.blocks).max(0);
            if is_counted_by_default {
                // Several blocks may be one loss record, so there are at most as many hidden records.
                explained += hidden_blocks;
            }
            unprinted.push(Unprinted::Leaks {
                kind,
                bytes: (bytes - leaks.bytes).max(0),
                blocks: hidden_blocks,
            });
        }
    }
    let contexts = process.summary.contexts.unwrap_or(0) - explained;
    if contexts > 0 && !counts_other_leak_kinds(contexts, printed) {
        unprinted.push(Unprinted::Errors { contexts });
    }
    unprinted
}

/// True where exactly the printed leaks of kinds that Valgrind counts only on request make up the difference.
fn counts_other_leak_kinds(contexts: Count, printed: &Printed) -> bool {
    let indirect = printed.leaks[LeakKind::Indirect as usize].records;
    let reachable = printed.leaks[LeakKind::Reachable as usize].records;
    [indirect, reachable, indirect + reachable].contains(&contexts)
}
