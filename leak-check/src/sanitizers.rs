//! What the report of a sanitizer leaves open, as it tells what it found and never that it found nothing; and its errors in
//! plain sentences.

use cg_document::number::plural;
use cg_parse::findings::Coverage;
use cg_stream::record::{LeakKind, Tool};

use crate::finding::{ErrorDetails, FindingNote, JudgedProcess, LeakKinds};
use crate::paths::Paths;
use crate::sentence::{block, place};

/// What is not known of a process although its reports are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SanitizerGap {
    /// The process was ended at an error, or did not tell that it came to its end.
    Unfinished,
    /// Nobody can tell whether leaks were looked for.
    NoLeakReport,
    /// Reachable blocks count, which LeakSanitizer does not report.
    ReachableNotShown,
}

impl SanitizerGap {
    /// Why the process cannot be clean, and what would help.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            SanitizerGap::Unfinished => {
                "the sanitizer ended the process at an error or does not say that it came to its end, so what came later, leaks among it, was not judged; \
                 build with -fsanitize-recover and run with halt_on_error=0"
            }
            SanitizerGap::NoLeakReport => {
                "there is no report on leaks, as where there are none and where nobody looked for them; --errors-for-leak-kinds=none judges errors alone"
            }
            SanitizerGap::ReachableNotShown => {
                "sanitizers do not report blocks that are still reachable; Memcheck does"
            }
        }
    }
}

impl JudgedProcess {
    /// Whether it is what a sanitizer says of a process.
    pub(crate) fn is_of_sanitizer(&self) -> bool {
        self.run.tool.as_ref().is_some_and(Tool::is_sanitizer)
    }

    /// What keeps it from being clean where nothing of it counts. That it knows no possibly lost blocks does not.
    pub(crate) fn gap_of_sanitizer(&self, counted: LeakKinds) -> Option<SanitizerGap> {
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

/// The sentence of a sanitizer's error; `None` for those of Valgrind, whose kinds begin with capitals. Addresses and numbers
/// of threads are another run's, and are left out.
pub(crate) fn of_sanitizer(error: &ErrorDetails, paths: &Paths) -> Option<String> {
    let kind = &*error.kind;
    if !kind.starts_with(|first: char| first.is_ascii_lowercase()) {
        return None;
    }
    let note = |start: &str| error.notes.iter().find(|note| note.says(start));
    let said = match kind {
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
    Some(match said.contains(kind) {
        true => said,
        false => format!("{said} ({kind})"),
    })
}

/// `writes 4 bytes`, of `…: WRITE of size 4 at 0x602 thread T0` and of Go's `…: Write at 0x0c by goroutine 7`.
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

/// `writes 4 bytes, in no order with the write at a.cpp:14`
fn race(error: &ErrorDetails, paths: &Paths) -> Option<String> {
    let access = access(error)?;
    let previous = |note: &&FindingNote| note.says("Previous ") && !note.stack.is_empty();
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

/// A sanitizer's own words without the addresses in them.
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
