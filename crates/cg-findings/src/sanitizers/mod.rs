//! Reports of AddressSanitizer, HWAddressSanitizer, LeakSanitizer, MemorySanitizer, ThreadSanitizer and
//! UndefinedBehaviorSanitizer for C, C++ and Rust, and of Go's race detector, anywhere in a log.
//!
//! A clean program prints nothing, so a log contains errors but never a clean result. Only the heads of reports and the line
//! `==PID==ABORTING` have a pid. Other lines belong to the last report. The prefixes of CI services, and colours, are
//! skipped. Each process becomes a section. The reports of UndefinedBehaviorSanitizer and of Go have no pid, so all reports
//! of one tool become one section.
//!
//! | field of the `run` record | meaning |
//! |---|---|
//! | `complete` | each report has the usual end of its kind |
//! | `unfinished` | the sanitizer ended the process or did not report its end, so later errors are unknown |
//! | `leak_summary` | LeakSanitizer searched for leaks; the counts of its SUMMARY, direct leaks as `definite`, indirect ones as `indirect` |
//! | `error_summary` | the number of reports that ThreadSanitizer or MemorySanitizer printed at the end |
//! | `fatal_signal` | the signal because of which the sanitizer ended the process |

pub(crate) mod described;
mod frame;
mod go_events;
mod heads;
mod kinds;
mod leaks;
mod notes;
mod report;

use std::sync::LazyLock;

use cg_reader::{Error, Reading, plural};
use cg_stream::record::{ErrorSummary, Tool};
use memchr::memmem::Finder;

pub(super) use self::go_events::{GoEvent, GoEvents};
use self::heads::{ReportLine, ReportLineKind};
use self::leaks::LeakReport;
use self::report::ErrorReport;
use super::process::Process;
use super::table::FindingTable;
use super::write_processes;

/// Returns true for a line that begins, ends or replaces a report, which shows that an input has one.
pub fn is_report_line(line: &[u8]) -> bool {
    let is_report = |line: &[u8]| heads::parse_line(&heads::plain(line)).is_some();
    may_be_report_line(line)
        && match GoEvent::parse(line) {
            Some(event) => event.output.lines().any(|line| is_report(line.as_bytes())),
            None => is_report(line),
        }
}

/// Returns true if a message with Valgrind's prefix is a sanitizer's: GCC 4.8 and Clang 3 write `==PID== ERROR:
/// AddressSanitizer`, with a blank.
pub(super) fn has_valgrinds_prefix(message: &[u8]) -> bool {
    const STARTS: [&[u8]; 2] = [b"ERROR: ", b"WARNING: "];
    let is_head = STARTS.iter().any(|start| message.starts_with(start));
    message.trim_ascii_end() == b"ABORTING"
        || (is_head && memchr::memmem::find(message, b"Sanitizer").is_some())
}

/// Quickly checks if a line outside a report may be a sanitizer's. Most lines of a log are not.
fn may_be_report_line(line: &[u8]) -> bool {
    /// Built once, because every line of a program's output is searched.
    static WORDS: LazyLock<[Finder<'static>; 8]> = LazyLock::new(|| {
        let words: [&[u8]; 8] = [
            b"Sanitizer",
            b": runtime error: ",
            b"DATA RACE",
            b" data race(s)",
            heads::RACY_TEST,
            b"ASan ",
            b"ABORTING",
            heads::MINIMAL,
        ];
        words.map(Finder::new)
    });
    WORDS.iter().any(|words| words.find(line).is_some())
}

/// Returns true for the line around ThreadSanitizer's blocks, `==================`.
fn is_rule(line: &[u8]) -> bool {
    line.len() >= 18 && line.iter().all(|byte| *byte == b'=')
}

/// The reports of a log while it is read.
#[derive(Default)]
pub(super) struct SanitizerLog {
    /// The command of the processes, if it is known.
    command: Option<String>,
    /// In order of appearance.
    processes: Vec<SanitizedProcess>,
    open: Option<OpenReport>,
    /// The line that announced a signal, if its report has not begun.
    deadly: Option<(u64, Tool)>,
    /// The first line about a test that failed because of a race. The race's report may be elsewhere.
    racy_test: Option<u64>,
}

/// A process, or all reports of one tool without a pid.
struct SanitizedProcess {
    process: Process,
    /// True if the process has ended: later lines with its pid belong to another process.
    is_over: bool,
    /// The line and the reason why the reports are incomplete.
    error: Option<(u64, String)>,
}

/// A report that is being read.
struct OpenReport {
    /// The position of its process.
    position: usize,
    /// The column where its lines begin.
    column: usize,
    last_line: u64,
    contents: ReportContents,
}

enum ReportContents {
    Error(Box<ErrorReport>),
    Leaks(LeakReport),
}

impl SanitizerLog {
    /// Reads a line without Valgrind's prefix.
    pub(super) fn line(&mut self, line: &[u8], line_number: u64, table: &mut FindingTable) {
        if self.open.is_none() && !may_be_report_line(line) {
            return;
        }
        let line = &*heads::plain(line);
        if let Some(head) = heads::parse_line(line) {
            self.head(&head, line_number, table);
        } else if let Some(pid) = heads::aborted(line) {
            self.aborted(pid, line_number, table);
        } else {
            self.inner_line(line, line_number, table);
        }
    }

    fn head(&mut self, head: &ReportLine<'_>, line_number: u64, table: &mut FindingTable) {
        match head.kind {
            ReportLineKind::Error
            | ReportLineKind::GoRace
            | ReportLineKind::Undefined
            | ReportLineKind::Leaks => {
                self.close(true, table);
                self.deadly = None;
                let contents = match head.kind {
                    ReportLineKind::Leaks => ReportContents::Leaks(LeakReport::default()),
                    _ => ReportContents::Error(Box::new(ErrorReport::new(head, table))),
                };
                let position = self.find_process(&head.tool, head.pid);
                if head.kind == ReportLineKind::GoRace {
                    let process = &mut self.processes[position].process;
                    process.creator = Some("Go race detector".to_owned());
                }
                self.open = Some(OpenReport {
                    position,
                    column: head.column,
                    last_line: line_number,
                    contents,
                });
            }
            ReportLineKind::DeadlySignal => {
                self.close(true, table);
                self.deadly = Some((line_number, head.tool.clone()));
            }
            ReportLineKind::RacyTest => {
                self.racy_test.get_or_insert(line_number);
            }
            ReportLineKind::Summary => self.summary(head, line_number, table),
            ReportLineKind::Count(count) => self.count(head, count, line_number, table),
            ReportLineKind::Failed => {
                let position = match (&self.open, head.pid) {
                    (Some(open), None) => open.position,
                    _ => self.find_process(&head.tool, head.pid),
                };
                self.close(true, table);
                let text = String::from_utf8_lossy(head.text);
                let reason = format!(
                    "has a failure of the sanitizer, which checked nothing after it: {}",
                    text.trim()
                );
                self.error(position, line_number, reason);
            }
        }
    }

    fn summary(&mut self, head: &ReportLine<'_>, line_number: u64, table: &mut FindingTable) {
        if let Some(open) = &mut self.open {
            open.last_line = line_number;
            match &mut open.contents {
                ReportContents::Error(report) if !report.has_summary() => {
                    report.summary(head.text);
                    return;
                }
                ReportContents::Leaks(_) => {
                    self.end_leaks(Some(head), table);
                    return;
                }
                ReportContents::Error(_) => {}
            }
        }
        self.missing_report(head, line_number, "has a SUMMARY but no report");
    }

    /// Records an error for a line that belongs to a missing report.
    fn missing_report(&mut self, head: &ReportLine<'_>, line_number: u64, reason: &str) {
        let position = self.find_process(&head.tool, head.pid);
        self.error(
            position,
            line_number,
            format!("{reason}: lines before this one are missing"),
        );
    }

    /// Reads the number of reports at the end of a process. The line has no pid.
    fn count(
        &mut self,
        head: &ReportLine<'_>,
        count: u64,
        line_number: u64,
        table: &mut FindingTable,
    ) {
        self.close(true, table);
        let is_open = |sanitized: &SanitizedProcess| {
            sanitized.process.tool.as_ref() == Some(&head.tool) && !sanitized.is_over
        };
        let Some(sanitized) = self.processes.iter_mut().rev().find(|known| is_open(known)) else {
            if count > 0 {
                self.missing_report(head, line_number, "counts reports that the log lacks");
            }
            return;
        };
        sanitized.is_over = true;
        sanitized.process.unfinished = false;
        sanitized.process.error_summary = Some(ErrorSummary {
            contexts: count,
            errors: count,
            ..ErrorSummary::default()
        });
    }

    fn aborted(&mut self, pid: u64, line_number: u64, table: &mut FindingTable) {
        if let Some(open) = &mut self.open
            && self.processes[open.position].process.pid == Some(pid)
            && let ReportContents::Error(report) = &mut open.contents
            && report.has_summary()
        {
            report.abort();
        }
        self.close(true, table);
        let known = self
            .processes
            .iter()
            .rposition(|sanitized| sanitized.process.pid == Some(pid));
        let position = known.unwrap_or_else(|| {
            let position = self.find_process(&Tool::Asan, Some(pid));
            let reason = "has ABORTING but no report: lines before this one are missing";
            self.error(position, line_number, reason.to_owned());
            position
        });
        self.processes[position].end();
    }

    /// Reads a line that may be inside a report.
    fn inner_line(&mut self, line: &[u8], line_number: u64, table: &mut FindingTable) {
        let Some(open) = &mut self.open else {
            return;
        };
        let inner = line.get(open.column..).unwrap_or_default();
        let is_line = |text: &[u8]| line == text || inner == text;
        let frame = frame::split_frame(line);
        open.last_line = match frame.is_some() || !inner.is_empty() {
            true => line_number,
            false => open.last_line,
        };
        match (&mut open.contents, frame) {
            (ReportContents::Leaks(report), Some((_, raw))) => {
                report.frame(table.frame(raw, frame::parse))
            }
            (ReportContents::Leaks(report), None) => report.line(line, table),
            (ReportContents::Error(report), Some((is_innermost, raw))) => {
                report.frame(is_innermost, raw, table);
            }
            (ReportContents::Error(report), None) => {
                let is_rule = is_rule(line) || is_rule(inner);
                let is_exit = is_line(b"Exiting") && report.has_summary();
                if is_exit {
                    self.processes[open.position].end();
                }
                if is_exit || (is_rule && report.rule()) {
                    self.close(true, table);
                } else if inner.is_empty() && report.is_undefined() && report.is_in_stack {
                    report.end_of_stacks();
                } else {
                    report.line(line, inner, table);
                }
            }
        }
    }

    /// Ends the open report. `is_followed` is true if another report or the end of the process follows.
    fn close(&mut self, is_followed: bool, table: &mut FindingTable) {
        match self.open.take() {
            None => {}
            Some(open) if matches!(open.contents, ReportContents::Leaks(_)) => {
                self.open = Some(open);
                self.end_leaks(None, table);
            }
            Some(open) => {
                let ReportContents::Error(report) = open.contents else {
                    return;
                };
                let lack = report.lack(is_followed);
                let process = &mut self.processes[open.position].process;
                // ThreadSanitizer prints the number of reports at the end, unless an option ends the process at the first.
                process.unfinished |= process.tool == Some(Tool::Tsan) && process.pid.is_some();
                report.finish(process, table);
                if let Some(lack) = lack {
                    self.error(
                        open.position,
                        open.last_line,
                        format!("{lack}: it was cut short"),
                    );
                }
            }
        }
    }

    fn end_leaks(&mut self, summary: Option<&ReportLine<'_>>, table: &mut FindingTable) {
        let Some(OpenReport {
            position,
            last_line,
            contents: ReportContents::Leaks(report),
            ..
        }) = self.open.take()
        else {
            return;
        };
        let process = &mut self.processes[position].process;
        let lack = match summary {
            // The SUMMARY has the name of the sanitizer that contains LeakSanitizer.
            Some(head) => {
                process.tool = Some(head.tool.clone());
                leaks::parse_sum(head.text)
                    .is_none()
                    .then_some("ends inside its SUMMARY: it was cut short")
            }
            None => Some("ends before its SUMMARY: it was cut short"),
        };
        let wrong = report.finish(summary.map(|head| head.text), process, table);
        if let Some(reason) = wrong.or_else(|| lack.map(str::to_owned)) {
            self.error(position, last_line, reason);
        }
    }

    /// Returns the open process with this pid; without a pid, the section of this tool. Adds a process if there is none.
    fn find_process(&mut self, tool: &Tool, pid: Option<u64>) -> usize {
        let matches = |sanitized: &SanitizedProcess| {
            let is_same = sanitized.process.pid == pid && !sanitized.is_over;
            is_same && (pid.is_some() || sanitized.process.tool.as_ref() == Some(tool))
        };
        if let Some(known) = self.processes.iter().rposition(matches) {
            return known;
        }
        let mut process = Process::new(pid);
        process.tool = Some(tool.clone());
        process.command.clone_from(&self.command);
        self.processes.push(SanitizedProcess {
            process,
            is_over: false,
            error: None,
        });
        self.processes.len() - 1
    }

    /// Records why the reports of a process are incomplete. Keeps only the first reason.
    fn error(&mut self, position: usize, line_number: u64, reason: String) {
        let error = &mut self.processes[position].error;
        error.get_or_insert((line_number, reason));
    }

    /// Ends the log. Without a line end, its last line may be incomplete.
    pub(super) fn finish(
        &mut self,
        ended_with_newline: bool,
        lines: u64,
        table: &mut FindingTable,
    ) {
        let cut = self.open.as_ref().filter(|open| {
            let may_be_cut = match &open.contents {
                ReportContents::Error(report) => report.is_undefined() || report.has_summary(),
                ReportContents::Leaks(_) => false,
            };
            !ended_with_newline && open.last_line == lines && may_be_cut
        });
        if let Some(position) = cut.map(|open| open.position) {
            self.error(
                position,
                lines,
                "ends in the middle of a line: it was cut short".to_owned(),
            );
        }
        self.close(false, table);
        if let Some((line, tool)) = self.deadly.take() {
            let position = self.find_process(&tool, None);
            let reason = "announces a signal but ends before its report: it was cut short";
            self.error(position, line, reason.to_owned());
        }
        let is_go = |sanitized: &SanitizedProcess| {
            sanitized.process.pid.is_none() && sanitized.process.tool == Some(Tool::Tsan)
        };
        if let Some(line) = self.racy_test.take()
            && !self.processes.iter().any(is_go)
        {
            let position = self.find_process(&Tool::Tsan, None);
            let reason = "is missing, although a test failed because of a race: lines are missing, or were written elsewhere";
            self.error(position, line, reason.to_owned());
        }
        for sanitized in &mut self.processes {
            sanitized.process.is_complete = sanitized.error.is_none();
        }
    }

    /// Returns true if the log has no reports of sanitizers.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Writes the processes.
    pub(super) fn write_processes(
        &self,
        table: &FindingTable,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        for sanitized in &self.processes {
            sanitized.check_count(reading);
        }
        let source = reading.source;
        let processes = self
            .processes
            .iter()
            .map(|sanitized| (&sanitized.process, sanitized.message(source)));
        write_processes(processes, table, reading)
    }
}

impl SanitizedProcess {
    /// Records that the sanitizer ended the process.
    fn end(&mut self) {
        self.is_over = true;
        self.process.unfinished = true;
    }

    /// Returns the title for messages: `the report of asan about process 7`.
    fn title(&self) -> String {
        let tool = self.process.tool.as_deref().unwrap_or_default();
        match self.process.pid {
            Some(pid) => format!("the report of {tool} about process {pid}"),
            None => format!("the report of {tool}"),
        }
    }

    /// Returns the error message; `None` if the reports are complete.
    fn message(&self, source: &str) -> Option<String> {
        let (line, reason) = self.error.as_ref()?;
        Some(format!("{source}:{line}: {} {reason}", self.title()))
    }

    /// Warns if the sanitizer's number of reports differs from the number of errors read.
    fn check_count(&self, reading: &mut Reading) {
        let read = self.process.errors.len() as u64;
        if let Some(summary) = self.process.error_summary
            && summary.contexts != read
        {
            reading.warn(format!(
                "{} counts {}, but {} read",
                self.title(),
                plural(summary.contexts, "report", "reports"),
                plural(read, "was", "were")
            ));
        }
    }
}
