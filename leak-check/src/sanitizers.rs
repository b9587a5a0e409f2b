//! Gaps in the report of a sanitizer, which never says that it found nothing; and its errors as plain sentences.

use cg_document::number::plural;
use cg_parse::findings::Coverage;
use cg_stream::record::{LeakKind, Tool};

use crate::finding::{ErrorDetails, FindingNote, JudgedProcess, LeakKinds};
use crate::paths::Paths;
use crate::sentence::{block, place};

/// Information that a process lacks although its reports are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SanitizerGap {
    /// The sanitizer ended the process at an error, or did not report a normal end.
    Unfinished,
    /// It is unknown if leak detection was on.
    NoLeakReport,
    /// Reachable blocks count, but LeakSanitizer does not report these.
    ReachableNotShown,
}

impl SanitizerGap {
    /// Returns why the process is not clean, and the remedy.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            SanitizerGap::Unfinished => {
                "the sanitizer ended the process at an error or did not report its end, so later errors and leaks are \
                 unknown; build with -fsanitize-recover and run with halt_on_error=0"
            }
            SanitizerGap::NoLeakReport => {
                "no leak report: either there are no leaks, or leak detection was off; \
                 --errors-for-leak-kinds=none checks only errors"
            }
            SanitizerGap::ReachableNotShown => {
                "sanitizers do not report blocks that are still reachable; use Memcheck for these"
            }
        }
    }
}

impl JudgedProcess {
    /// Returns true if the process has the reports of a sanitizer.
    pub(crate) fn is_from_sanitizer(&self) -> bool {
        self.run.tool.as_ref().is_some_and(Tool::is_sanitizer)
    }

    /// Returns the reason why the process is not clean even without findings. Sanitizers do not report possibly lost
    /// blocks, and that is not such a reason.
    pub(crate) fn sanitizer_gap(&self, counted: LeakKinds) -> Option<SanitizerGap> {
        if !self.is_whole {
            return None;
        }
        if self.facts().unfinished {
            return Some(SanitizerGap::Unfinished);
        }
        let counts = |kind| self.may_have_leaks() && counted.contains(kind);
        let is_known = |kind| self.coverage(kind) == Coverage::Certain;
        if [LeakKind::Definite, LeakKind::Indirect]
            .into_iter()
            .any(|kind| counts(kind) && !is_known(kind))
        {
            return Some(SanitizerGap::NoLeakReport);
        }
        counts(LeakKind::Reachable).then_some(SanitizerGap::ReachableNotShown)
    }
}

/// Returns the sentence of a sanitizer's error; `None` for an error of Valgrind, whose kinds begin with a capital letter.
/// Leaves out addresses and thread numbers, which differ from run to run.
pub(crate) fn sanitizer_sentence(error: &ErrorDetails, paths: &Paths) -> Option<String> {
    let kind = &*error.kind;
    if !kind.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let note = |start: &str| error.notes.iter().find(|note| note.starts_with(start));
    let sentence = match kind {
        "data-race" => race(error, paths)?,
        "lock-order-inversion" => "takes locks in an order that can deadlock".to_owned(),
        "thread-leak" => "leaves a thread that it neither joins nor detaches".to_owned(),
        "use-of-uninitialized-value" => match note("Uninitialized value was ") {
            Some(note) if !note.stack.is_empty() => {
                format!(
                    "uses uninitialised memory, created {}",
                    place(&note.stack, paths)
                )
            }
            _ => "uses uninitialised memory".to_owned(),
        },
        _ => match access(error) {
            Some(access) => match block(error, paths) {
                Some(block) => format!("{access}, {block}"),
                None => access,
            },
            None => without_addresses(&error.what),
        },
    };
    Some(match sentence.contains(kind) {
        true => sentence,
        false => format!("{sentence} ({kind})"),
    })
}

/// Returns `writes 4 bytes` for `…: WRITE of size 4 at 0x602 thread T0` and `writes memory` for Go's
/// `…: Write at 0x0c by goroutine 7`.
fn access(error: &ErrorDetails) -> Option<String> {
    let (_, access) = error.what.split_once(": ")?;
    let verb = match access.to_ascii_lowercase() {
        access if access.starts_with("atomic write") => "writes atomically",
        access if access.starts_with("atomic read") => "reads atomically",
        access if access.starts_with("write ") => "writes",
        access if access.starts_with("read ") => "reads",
        _ => return None,
    };
    Some(match error.size {
        Some(size) => format!("{verb} {}", plural(size.into(), "byte", "bytes")),
        None => format!("{verb} memory"),
    })
}

/// Returns `writes 4 bytes, in no order with the write at a.cpp:14`.
fn race(error: &ErrorDetails, paths: &Paths) -> Option<String> {
    let access = access(error)?;
    let previous = |note: &&FindingNote| note.starts_with("Previous ") && !note.stack.is_empty();
    let Some(previous) = error.notes.iter().find(previous) else {
        return Some(access);
    };
    let words = previous.what.as_deref().unwrap_or_default();
    let other = if words.contains("write") {
        "write"
    } else {
        "read"
    };
    Some(format!(
        "{access}, in no order with the {other} {}",
        place(&previous.stack, paths)
    ))
}

/// Replaces the addresses in a sanitizer's message with `…`.
fn without_addresses(what: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in what.split(' ') {
        match word.contains("0x") {
            true => words.push("…"),
            false => words.push(word),
        }
    }
    words.join(" ")
}
