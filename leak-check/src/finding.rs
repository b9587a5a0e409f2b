//! What is judged: the findings of all inputs, and the processes they are from.

use std::rc::Rc;

pub(crate) use cg_parse::findings::LeakKinds;
use cg_stream::record::{Count, ErrorKind, HeapBlock, LeakKind, ProcessFacts, RunRecord};

use crate::stack::Stack;

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) processes: Vec<JudgedProcess>,
    /// In the order they were read.
    pub(crate) findings: Vec<Finding>,
}

/// Position of a process in [`Evidence::processes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProcessId(pub(crate) usize);

impl Evidence {
    pub(crate) fn process(&self, id: ProcessId) -> &JudgedProcess {
        &self.processes[id.0]
    }
}

/// A process that ran under Valgrind.
#[derive(Debug, Default)]
pub(crate) struct JudgedProcess {
    /// The input it was read from.
    pub(crate) source: String,
    /// The run record as it was read.
    pub(crate) run: RunRecord,
    /// Why its records do not tell whether it is clean, where that is known.
    pub(crate) not_judged: Option<String>,
    /// Its records end where the input does.
    pub(crate) is_cut: bool,
    /// All its records were read, so that they can be compared with the summary.
    pub(crate) is_whole: bool,
}

impl JudgedProcess {
    /// What its log says of it.
    pub(crate) fn facts(&self) -> &ProcessFacts {
        &self.run.process
    }

    /// Bytes and blocks of a kind by its LEAK SUMMARY, where there is one.
    pub(crate) fn lost(&self, kind: LeakKind) -> Option<(Count, Count)> {
        let row = self.facts().leak_summary?.of(kind);
        Some((row.bytes.into(), row.blocks.into()))
    }
}

/// One error or loss record.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) process: ProcessId,
    pub(crate) details: Details,
    /// Empty where Valgrind gave none.
    pub(crate) stack: Stack,
    /// The suppression that Valgrind wrote for it; it has the mangled names.
    pub(crate) suppression: Option<Rc<str>>,
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Details {
    Leak(Leak),
    Error(ErrorDetails),
    /// What Valgrind counted and did not print.
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
}

#[derive(Debug)]
pub(crate) struct ErrorDetails {
    /// As Valgrind's XML names it.
    pub(crate) kind: ErrorKind,
    pub(crate) what: String,
    /// How often it happened, as far as is known.
    pub(crate) count: Count,
    /// How many bytes were read, written or used.
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
    /// Whether its sentence begins so.
    pub(crate) fn says(&self, start: &str) -> bool {
        let what = self.what.as_deref();
        what.is_some_and(|what| what.trim_start().starts_with(start))
    }
}

/// What a summary counts beyond the records.
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
    /// The leak kind, where this is about a leak.
    pub(crate) fn leak_kind(&self) -> Option<LeakKind> {
        match &self.details {
            Details::Leak(leak) => Some(leak.kind),
            Details::Unprinted(Unprinted::Leaks { kind, .. }) => Some(*kind),
            Details::Error(_) | Details::Unprinted(Unprinted::Errors { .. }) => None,
        }
    }

    /// Bytes and blocks, where this is about a leak.
    pub(crate) fn lost(&self) -> Option<(Count, Count)> {
        match &self.details {
            Details::Leak(leak) => Some((leak.bytes, leak.blocks)),
            Details::Unprinted(Unprinted::Leaks { bytes, blocks, .. }) => Some((*bytes, *blocks)),
            Details::Error(_) | Details::Unprinted(Unprinted::Errors { .. }) => None,
        }
    }

    /// The kind in one word: a leak kind, or the error's kind as Valgrind's XML names it.
    pub(crate) fn kind(&self) -> &str {
        match &self.details {
            Details::Leak(leak) => leak.kind.word(),
            Details::Error(error) => &error.kind,
            Details::Unprinted(Unprinted::Leaks { kind, .. }) => kind.word(),
            Details::Unprinted(Unprinted::Errors { .. }) => "Unprinted",
        }
    }

    /// Whether this is the signal that ended the process, which Valgrind reports beside the errors it counts.
    pub(crate) fn is_fatal_signal(&self) -> bool {
        matches!(&self.details, Details::Error(error) if error.kind == ErrorKind::FatalSignal)
    }

    pub(crate) fn is_unprinted(&self) -> bool {
        matches!(self.details, Details::Unprinted(_))
    }
}
