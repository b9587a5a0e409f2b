//! The lines of a sanitizer outside the stacks of its reports: heads, summaries, and failures.
//!
//! They come from `sanitizer_common.cpp` of LLVM's compiler-rt, and from the `…_report.cpp` and `…_errors.cpp` of each
//! sanitizer. GCC's libsanitizer is a copy, and Go's race detector is ThreadSanitizer with different words
//! (`tsan_report.cpp`).

use std::borrow::Cow;

use cg_stream::record::Tool;
use memchr::memmem;

use crate::fields::{skip, whole_amount};

/// A line that begins or ends a report, or is outside any report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportLine<'a> {
    pub(super) kind: ReportLineKind,
    pub(super) tool: Tool,
    /// The pid in `==PID==` or `(pid=PID)`.
    pub(super) pid: Option<u64>,
    /// The column where the line begins, after the prefix of a CI service.
    pub(super) column: usize,
    /// The text after the sanitizer's name.
    pub(super) text: &'a [u8],
}

/// The kind of a line outside a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportLineKind {
    /// The beginning of an error's report.
    Error,
    /// The beginning of LeakSanitizer's report.
    Leaks,
    /// The beginning of a report of Go's race detector.
    GoRace,
    /// An error of UndefinedBehaviorSanitizer, whose place precedes the text.
    Undefined,
    /// The announcement of a signal, whose report follows.
    DeadlySignal,
    /// `SUMMARY: `
    Summary,
    /// The number of reports of ThreadSanitizer or MemorySanitizer.
    Count(u64),
    /// A test of Go's `testing` failed because of a race, whose report is elsewhere in the log.
    RacyTest,
    /// A failure of the sanitizer, which checked nothing after it.
    Failed,
}

/// Removes colours (`ESC [ … letter`) from a line, and blanks and carriage returns from its end.
pub(super) fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0x1b, line).is_none() {
        return Cow::Borrowed(line.trim_ascii_end());
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(escape) = memchr::memchr(0x1b, rest) {
        plain.extend_from_slice(&rest[..escape]);
        rest = &rest[escape + 1..];
        if let Some(sequence) = rest.strip_prefix(b"[") {
            let end = sequence
                .iter()
                .position(|byte| (0x40..=0x7e).contains(byte));
            rest = end.map_or(&[][..], |end| &sequence[end + 1..]);
        }
    }
    plain.extend_from_slice(rest);
    plain.truncate(plain.trim_ascii_end().len());
    Cow::Owned(plain)
}

/// Parses a line; `None` for all other lines, including frames.
pub(super) fn parse_line(line: &[u8]) -> Option<ReportLine<'_>> {
    if let Some(name) = memmem::find(line, b"Sanitizer") {
        return parse_sanitizer_line(line, name);
    }
    if let Some(column) = memmem::find(line, b"WARNING: DATA RACE") {
        let text = &line[column + b"WARNING: ".len()..];
        return (text == b"DATA RACE").then_some(head(
            ReportLineKind::GoRace,
            Tool::Tsan,
            column,
            text,
        ));
    }
    if let Some(end) = memmem::find(line, b": runtime error: ") {
        return undefined(line, end);
    }
    if let Some(found) = memmem::find(line, b"Found ")
        && let Some(count) = line[found + b"Found ".len()..].strip_suffix(b" data race(s)")
    {
        let kind = ReportLineKind::Count(whole_amount(count)?);
        return Some(head(kind, Tool::Tsan, found, b""));
    }
    if let Some(column) = memmem::find(line, RACY_TEST) {
        return Some(head(
            ReportLineKind::RacyTest,
            Tool::Tsan,
            column,
            RACY_TEST,
        ));
    }
    if let Some(column) = memmem::find(line, MINIMAL)
        && let Some(kind) = minimal(&line[column + MINIMAL.len()..])
    {
        return Some(head(kind, Tool::Ubsan, column, &line[column..]));
    }
    cannot_run(line)
}

/// The beginning of a line of UndefinedBehaviorSanitizer's minimal runtime (`ubsan_minimal_handlers.cpp`).
pub(super) const MINIMAL: &[u8] = b"ubsan: ";

/// Returns the kind of the text `add-overflow`, or since Clang 16 `add-overflow by 0x55d0c4e0`.
fn minimal(text: &[u8]) -> Option<ReportLineKind> {
    if text == b"too many errors" {
        return Some(ReportLineKind::Failed);
    }
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    let (check, rest) = text.split_at(end);
    let is_check = check.contains(&b'-')
        && check
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
    (is_check && (rest.is_empty() || rest.starts_with(b" by 0x")))
        .then_some(ReportLineKind::Undefined)
}

/// The message of Go's `testing` for a test or a benchmark with a reported race.
pub(super) const RACY_TEST: &[u8] = b"race detected during execution of ";

fn head(kind: ReportLineKind, tool: Tool, column: usize, text: &[u8]) -> ReportLine<'_> {
    ReportLine {
        kind,
        tool,
        pid: None,
        column,
        text,
    }
}

/// Parses the runtime's message if it cannot start (`asan_linux.cpp`, `asan_rtl.cpp`).
fn cannot_run(line: &[u8]) -> Option<ReportLine<'_>> {
    const WORDS: [&str; 4] = [
        "ASan runtime does not come first in initial library list",
        "Your application is linked against incompatible ASan runtimes",
        "ASan cannot proceed correctly. ABORTING",
        "Shadow memory range interleaves with an existing memory mapping",
    ];
    let at = WORDS
        .iter()
        .find_map(|words| memmem::find(line, words.as_bytes()))?;
    let (pid, column) = pid_before(line, at);
    Some(ReportLine {
        pid,
        ..head(ReportLineKind::Failed, Tool::Asan, column, &line[at..])
    })
}

/// Parses a line that contains the word `Sanitizer` at the position `name`.
fn parse_sanitizer_line(line: &[u8], name: usize) -> Option<ReportLine<'_>> {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric();
    let letters = line[..name].iter().rev().take_while(is_letter).count();
    let start = name - letters;
    let tool = parse_tool(&line[start..name])?;
    let rest = &line[name + b"Sanitizer".len()..];
    const MARKS: [&[u8]; 4] = [b"ERROR: ", b"WARNING: ", b"FATAL: ", b"SUMMARY: "];
    let mark = MARKS.into_iter().find(|mark| line[..start].ends_with(mark));
    let (pid, column) = pid_before(line, start - mark.map_or(0, <[u8]>::len));
    let text = skip(rest, b": ").or_else(|| skip(rest, b":"));
    let kind = match (mark, text) {
        (Some(b"SUMMARY: "), Some(_)) => ReportLineKind::Summary,
        (Some(b"FATAL: "), _) => ReportLineKind::Failed,
        (Some(b"ERROR: "), None) => ReportLineKind::Failed,
        (Some(b"ERROR: "), Some(b"detected memory leaks")) => ReportLineKind::Leaks,
        (Some(b"ERROR: "), Some(_)) => ReportLineKind::Error,
        (Some(b"WARNING: "), Some(text)) if tool == Tool::Tsan => return race(column, text),
        (Some(b"WARNING: "), Some(_)) if tool == Tool::Msan && pid.is_some() => {
            ReportLineKind::Error
        }
        (None, text) => parse_unmarked(text, rest)?,
        _ => return None,
    };
    // A program may have other things called sanitizers, but their lines have no pid.
    if matches!(tool, Tool::Other(_)) && pid.is_none() {
        return None;
    }
    let text = text.unwrap_or(rest);
    Some(ReportLine {
        pid,
        ..head(kind, tool, column, text)
    })
}

/// Parses the text after a sanitizer's name without `ERROR: ` before it.
fn parse_unmarked(text: Option<&[u8]>, rest: &[u8]) -> Option<ReportLineKind> {
    let is_failure = [
        &b" CHECK failed: "[..],
        b": CHECK failed: ",
        b" has encountered a fatal error",
        b": nested bug in the same thread, aborting",
        b": out of memory",
        b": internal allocator is out of memory",
    ]
    .into_iter()
    .any(|start| rest.starts_with(start));
    if is_failure {
        return Some(ReportLineKind::Failed);
    }
    let text = text?;
    if text == b"DEADLYSIGNAL" {
        return Some(ReportLineKind::DeadlySignal);
    }
    // `ThreadSanitizer: reported 2 warnings`, `MemorySanitizer: 1 warnings reported.`
    let count = match skip(text, b"reported ") {
        Some(count) => count.strip_suffix(b" warnings"),
        None => text.strip_suffix(b" warnings reported."),
    };
    whole_amount(count?).map(ReportLineKind::Count)
}

/// Parses `WARNING: ThreadSanitizer: data race (pid=9962)`; `None` for other warnings, which are not reports.
fn race(column: usize, text: &[u8]) -> Option<ReportLine<'_>> {
    let pid = memmem::rfind(text, b" (pid=")?;
    let number = text[pid + b" (pid=".len()..].strip_suffix(b")")?;
    Some(ReportLine {
        pid: Some(whole_amount(number)?),
        ..head(ReportLineKind::Error, Tool::Tsan, column, &text[..pid])
    })
}

/// Parses `FILE:LINE:COLUMN: runtime error: …`; `None` for Go's `panic: runtime error: …`, which has no place or only a
/// line before it.
fn undefined(line: &[u8], end: usize) -> Option<ReportLine<'_>> {
    let place = &line[..end];
    let is_line = || {
        let line = without_number(place)?;
        without_number(line).filter(|file| !file.is_empty())
    };
    let is_module = || place.ends_with(b")") && memmem::find(place, b"+0x").is_some();
    let is_place = is_line().is_some() || is_module() || place.ends_with(b"<unknown>");
    // The prefix of a CI service ends with a blank.
    let column = memchr::memrchr(b' ', place).map_or(0, |blank| blank + 1);
    is_place.then(|| {
        head(
            ReportLineKind::Undefined,
            Tool::Ubsan,
            column,
            &line[column..],
        )
    })
}

/// Returns the text before `:NUMBER`.
fn without_number(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let (front, number) = text.split_at(text.len() - digits.count());
    front.strip_suffix(b":").filter(|_| !number.is_empty())
}

/// Returns the sanitizer with this name before `Sanitizer`. An unknown sanitizer gets its full name as the tool, and
/// leak-check does not judge it.
fn parse_tool(name: &[u8]) -> Option<Tool> {
    Some(match name {
        b"Address" => Tool::Asan,
        b"HWAddress" => Tool::Hwasan,
        b"Leak" => Tool::Lsan,
        b"Memory" => Tool::Msan,
        b"Thread" => Tool::Tsan,
        b"UndefinedBehavior" => Tool::Ubsan,
        [] => return None,
        other => Tool::from(format!("{}Sanitizer", String::from_utf8_lossy(other)).as_str()),
    })
}

/// Returns the pid of a `==PID==` before this position, and the column where the line begins.
fn pid_before(line: &[u8], end: usize) -> (Option<u64>, usize) {
    let number = || {
        // GCC 4.8 and Clang 3 write a blank after the pid.
        let before = &line[..end];
        let before = before.strip_suffix(b" ").unwrap_or(before);
        let before = before.strip_suffix(b"==")?;
        let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit());
        let (start, pid) = before.split_at(before.len() - digits.count());
        Some((whole_amount(pid)?, start.strip_suffix(b"==")?.len()))
    };
    match number() {
        Some((pid, column)) => (Some(pid), column),
        None => (None, end),
    }
}

/// Returns the pid in `==PID==ABORTING`, printed when the sanitizer ends the process.
pub(super) fn aborted(line: &[u8]) -> Option<u64> {
    pid_before(line, line.strip_suffix(b"ABORTING")?.len()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(ReportLineKind, &str, Option<u64>, &str)>) {
        let found = parse_line(line.as_bytes());
        let found = found.as_ref().map(|head| {
            let text = std::str::from_utf8(head.text).unwrap();
            (head.kind, &*head.tool, head.pid, text)
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn heads_summaries_and_failures_are_recognised() {
        use ReportLineKind::{
            Count, DeadlySignal, Error, Failed, GoRace, Leaks, RacyTest, Summary, Undefined,
        };
        for (line, expected) in [
            (
                "==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0",
                (Error, "asan", Some(7), "SEGV on unknown address 0x0"),
            ),
            (
                "12:00 | ==7==ERROR: LeakSanitizer: detected memory leaks",
                (Leaks, "lsan", Some(7), "detected memory leaks"),
            ),
            (
                "==7==WARNING: MemorySanitizer: use-of-uninitialized-value",
                (Error, "msan", Some(7), "use-of-uninitialized-value"),
            ),
            (
                "WARNING: ThreadSanitizer: data race on vptr (ctor/dtor vs virtual call) (pid=9)",
                (
                    Error,
                    "tsan",
                    Some(9),
                    "data race on vptr (ctor/dtor vs virtual call)",
                ),
            ),
            (
                "==7==ERROR: HWAddressSanitizer: tag-mismatch on address 0x1",
                (Error, "hwasan", Some(7), "tag-mismatch on address 0x1"),
            ),
            (
                "==7==ERROR: RealtimeSanitizer: unsafe-library-call",
                (Error, "RealtimeSanitizer", Some(7), "unsafe-library-call"),
            ),
            ("WARNING: DATA RACE", (GoRace, "tsan", None, "DATA RACE")),
            ("Found 3 data race(s)", (Count(3), "tsan", None, "")),
            (
                "    testing.go:1319: race detected during execution of test",
                (RacyTest, "tsan", None, "race detected during execution of "),
            ),
            (
                "ThreadSanitizer: reported 2 warnings",
                (Count(2), "tsan", None, "reported 2 warnings"),
            ),
            (
                "MemorySanitizer: 1 warnings reported.",
                (Count(1), "msan", None, "1 warnings reported."),
            ),
            (
                "SUMMARY: AddressSanitizer: 133 byte(s) leaked in 1 allocation(s).",
                (
                    Summary,
                    "asan",
                    None,
                    "133 byte(s) leaked in 1 allocation(s).",
                ),
            ),
            (
                "a.c:1:2: runtime error: division by zero",
                (
                    Undefined,
                    "ubsan",
                    None,
                    "a.c:1:2: runtime error: division by zero",
                ),
            ),
            (
                "AddressSanitizer:DEADLYSIGNAL",
                (DeadlySignal, "asan", None, "DEADLYSIGNAL"),
            ),
            (
                "==7==LeakSanitizer has encountered a fatal error.",
                (Failed, "lsan", Some(7), " has encountered a fatal error."),
            ),
            (
                "==7==AddressSanitizer CHECK failed: a.cc:1 \"((0)) != (0)\" (0x0, 0x0)",
                (
                    Failed,
                    "asan",
                    Some(7),
                    " CHECK failed: a.cc:1 \"((0)) != (0)\" (0x0, 0x0)",
                ),
            ),
            (
                "AddressSanitizer: CHECK failed: a.cpp:1 \"((0))\" (tid=7)",
                (
                    Failed,
                    "asan",
                    None,
                    "CHECK failed: a.cpp:1 \"((0))\" (tid=7)",
                ),
            ),
            (
                "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2",
                (Failed, "tsan", None, "unexpected memory mapping 0x1-0x2"),
            ),
            (
                "==7==ERROR: AddressSanitizer failed to allocate 0x1 (1) bytes of x (error code: 12)",
                (
                    Failed,
                    "asan",
                    Some(7),
                    " failed to allocate 0x1 (1) bytes of x (error code: 12)",
                ),
            ),
            (
                "==7==ASan runtime does not come first in initial library list; you should",
                (
                    Failed,
                    "asan",
                    Some(7),
                    "ASan runtime does not come first in initial library list; you should",
                ),
            ),
        ] {
            check(line, Some(expected));
        }
    }

    #[test]
    fn older_and_smaller_runtimes_are_recognised() {
        use ReportLineKind::{Error, Failed, Undefined};
        check(
            "==7== ERROR: AddressSanitizer: heap-use-after-free on address 0x602 at pc 0x4",
            Some((
                Error,
                "asan",
                Some(7),
                "heap-use-after-free on address 0x602 at pc 0x4",
            )),
        );
        assert_eq!(aborted(b"==17== ABORTING"), Some(17));
        for line in ["ubsan: add-overflow", "ubsan: type-mismatch by 0x55d0c4e0"] {
            check(line, Some((Undefined, "ubsan", None, line)));
        }
        check(
            "ubsan: too many errors",
            Some((Failed, "ubsan", None, "ubsan: too many errors")),
        );
        for line in ["ubsan: enabled", "ubsan: add-overflow was fixed", "ubsan: "] {
            check(line, None);
        }
    }

    #[test]
    fn other_lines_with_a_sanitizers_name_are_ignored() {
        for line in [
            "panic: runtime error: index out of range [3]",
            "x: runtime error: y",
            "2024/01/02 main.go:12: runtime error: index out of range [5]",
            "ERROR: HtmlSanitizer: no such tag",
            "HtmlSanitizer has encountered a fatal error",
            "==7==AddressSanitizer: failed to intercept '__isoc99_printf'",
            "==7==WARNING: AddressSanitizer failed to allocate 0x1 bytes",
            "==7==WARNING: LeakSanitizer gave up on indirect leaks suppression.",
            "==7==WARNING: ThreadSanitizer: memory layout is incompatible",
            "AddressSanitizer can not provide additional info.",
            "built with AddressSanitizer: yes",
            "    #1 0x1 in __asan::ErrorSanitizer::Print() (/a+0x1)",
            "==7==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn colours_are_removed() {
        let line = b"\x1b[1m\x1b[31m==7==ERROR: x\x1b[0m \r";
        assert_eq!(&*plain(line), b"==7==ERROR: x");
        assert_eq!(&*plain(b"a\x1b[1"), b"a");
        assert_eq!(&*plain(b"a \r"), b"a");
    }

    #[test]
    fn aborting_has_the_pid_of_the_process() {
        assert_eq!(aborted(b"x ==17==ABORTING"), Some(17));
        assert_eq!(aborted(b"ABORTING"), None);
    }
}
