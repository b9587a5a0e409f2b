//! The evidence: the findings of all inputs, and their processes.

use std::rc::Rc;

pub(crate) use cg_parse::findings::LeakKinds;
use cg_stream::record::{Count, ErrorKind, HeapBlock, LeakKind, ProcessFacts, RunRecord};

use crate::stack::Stack;

/// The contents of all inputs.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) processes: Vec<JudgedProcess>,
    /// The findings, in input order.
    pub(crate) findings: Vec<Finding>,
    /// The inputs without a report, if the job's exit status is 0.
    pub(crate) without_report: Vec<String>,
}

/// The position of a process in [`Evidence::processes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(pub(crate) usize);

impl Evidence {
    pub(crate) fn process(&self, id: ProcessId) -> &JudgedProcess {
        &self.processes[id.0]
    }
}

/// A process that ran under Valgrind or a sanitizer.
#[derive(Debug, Default)]
pub(crate) struct JudgedProcess {
    /// The name of the input.
    pub(crate) source: String,
    /// The run record from the input.
    pub(crate) run: RunRecord,
    /// The reason why the process could not be judged, if there is one.
    pub(crate) not_judged: Option<String>,
    /// True if the input ends before the process's `end` record.
    pub(crate) is_cut: bool,
    /// True if all records of the process were read, so they can be compared with its summary.
    pub(crate) is_whole: bool,
}

impl JudgedProcess {
    /// The facts from the log.
    pub(crate) fn facts(&self) -> &ProcessFacts {
        &self.run.process
    }

    /// Returns true if the process was read to its end and can be judged.
    pub(crate) fn is_judged(&self) -> bool {
        !self.is_cut && self.not_judged.is_none()
    }

    /// Returns the name of the signal that ended the process, otherwise its number; `None` if no signal did.
    pub(crate) fn ended_by(&self) -> Option<String> {
        let signal = self.facts().fatal_signal.as_ref()?;
        Some(match (signal.name.as_str(), signal.signal) {
            ("", Some(number)) => format!("signal {number}"),
            ("", None) => "a signal".to_owned(),
            (name, _) => name.to_owned(),
        })
    }

    /// Returns the bytes and blocks of a kind in the LEAK SUMMARY; `None` without one.
    pub(crate) fn lost(&self, kind: LeakKind) -> Option<(Count, Count)> {
        let row = self.facts().leak_summary?.row(kind);
        Some((row.bytes.into(), row.blocks.into()))
    }
}

/// One error or loss record.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) process: ProcessId,
    pub(crate) details: Details,
    /// The stack; empty if the report has none.
    pub(crate) stack: Stack,
    /// Valgrind's suppression for this finding, which has the mangled names.
    pub(crate) suppression: Option<Rc<str>>,
}

/// The details of a finding, by type.
#[derive(Debug)]
pub(crate) enum Details {
    Leak(Leak),
    Error(ErrorDetails),
    /// Leaks or errors that Valgrind counted but did not print.
    Unprinted(Unprinted),
}

#[derive(Debug)]
pub(crate) struct Leak {
    pub(crate) kind: LeakKind,
    /// Direct bytes.
    pub(crate) bytes: Count,
    pub(crate) blocks: Count,
    /// Bytes reachable only through these blocks.
    pub(crate) indirect_bytes: u64,
    /// True if an earlier leak search of the process reported the leak, and the last one did not.
    pub(crate) earlier_search: bool,
}

#[derive(Debug)]
pub(crate) struct ErrorDetails {
    /// The name in Valgrind's XML.
    pub(crate) kind: ErrorKind,
    pub(crate) what: String,
    /// The number of occurrences, 1 if it is unknown.
    pub(crate) count: Count,
    /// The number of bytes that were read, written or used.
    pub(crate) size: Option<u64>,
    pub(crate) address: Option<String>,
    /// The heap block that the address is in or near.
    pub(crate) block: Option<HeapBlock>,
    pub(crate) thread: Option<u64>,
    pub(crate) thread_name: Option<String>,
    pub(crate) notes: Vec<FindingNote>,
}

/// A further description of an error, with its own stack.
#[derive(Debug)]
pub(crate) struct FindingNote {
    pub(crate) what: Option<String>,
    pub(crate) stack: Stack,
}

impl FindingNote {
    /// Returns true if the note's text begins with `start`.
    pub(crate) fn starts_with(&self, start: &str) -> bool {
        let what = self.what.as_deref();
        what.is_some_and(|what| what.trim_start().starts_with(start))
    }
}

/// Leaks or errors that a summary counts beyond the records.
#[derive(Debug)]
pub(crate) enum Unprinted {
    Leaks {
        kind: LeakKind,
        bytes: Count,
        blocks: Count,
    },
    Errors {
        contexts: Count,
    },
}

impl Finding {
    /// Returns the leak kind; `None` for errors.
    pub(crate) fn leak_kind(&self) -> Option<LeakKind> {
        match &self.details {
            Details::Leak(leak) => Some(leak.kind),
            Details::Unprinted(Unprinted::Leaks { kind, .. }) => Some(*kind),
            Details::Error(_) | Details::Unprinted(Unprinted::Errors { .. }) => None,
        }
    }

    /// Returns the lost bytes and blocks; `None` for errors.
    pub(crate) fn lost(&self) -> Option<(Count, Count)> {
        match &self.details {
            Details::Leak(leak) => Some((leak.bytes, leak.blocks)),
            Details::Unprinted(Unprinted::Leaks { bytes, blocks, .. }) => Some((*bytes, *blocks)),
            Details::Error(_) | Details::Unprinted(Unprinted::Errors { .. }) => None,
        }
    }

    /// Returns true for a leak that only an earlier leak search of the process reported.
    pub(crate) fn is_from_earlier_search(&self) -> bool {
        matches!(&self.details, Details::Leak(leak) if leak.earlier_search)
    }

    /// Returns the kind in one word: a leak kind, or the error's kind in Valgrind's XML.
    pub(crate) fn kind(&self) -> &str {
        match &self.details {
            Details::Leak(leak) => leak.kind.word(),
            Details::Error(error) => &error.kind,
            Details::Unprinted(Unprinted::Leaks { kind, .. }) => kind.word(),
            Details::Unprinted(Unprinted::Errors { .. }) => "Unprinted",
        }
    }

    /// Returns true for the signal that ended the process, which Valgrind reports but does not count as an error.
    pub(crate) fn is_fatal_signal(&self) -> bool {
        matches!(&self.details, Details::Error(error) if error.kind == ErrorKind::FatalSignal)
    }

    pub(crate) fn is_unprinted(&self) -> bool {
        matches!(self.details, Details::Unprinted(_))
    }
}
