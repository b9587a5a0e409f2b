//! Reports of AddressSanitizer, HWAddressSanitizer, LeakSanitizer, MemorySanitizer, ThreadSanitizer and
//! UndefinedBehaviorSanitizer, of C, C++ and Rust, and of Go's race detector, wherever they stand in a log.
//!
//! A program that is clean writes nothing, so a log tells what was found and never that nothing was. Only heads and the
//! line `==PID==ABORTING` name the process; other lines belong to the report that was begun last. What a CI service puts
//! in front of lines, and colours, are passed over. Each process becomes a section, and so do all reports that name no
//! process, by their tool: those of UndefinedBehaviorSanitizer and of Go.
//!
//! | field of the `run` record | meaning |
//! |---|---|
//! | `complete` | each report has what reports of its sort end with |
//! | `unfinished` | the sanitizer ended the process, or does not tell that the process came to its end: what came later is not known |
//! | `leak_summary` | LeakSanitizer looked for leaks: what its SUMMARY counts, direct leaks as `definite`, indirect as `indirect` |
//! | `error_summary` | how many reports ThreadSanitizer or MemorySanitizer says that it wrote |
//! | `fatal_signal` | the signal that the sanitizer ended the process for |

pub(crate) mod described;
mod frame;
mod heads;
mod kinds;
mod leaks;
mod notes;
mod report;

use std::sync::LazyLock;

use cg_reader::{Error, Reading};
use cg_stream::record::{ErrorSummary, Tool};
use memchr::memmem::Finder;

use self::heads::{LineSays, ReportLine};
use self::leaks::LeakReport;
use self::report::ErrorReport;
use super::hand_on;
use super::process::Process;
use super::table::FindingTable;

/// True for a line that begins, ends or replaces a report, which shows that an input has one.
pub fn is_report_line(line: &[u8]) -> bool {
    may_tell(line) && heads::of_line(&heads::plain(line)).is_some()
}

/// Whether a line outside a report may be one of a sanitizer's: most lines of a log are not, and need no closer look.
fn may_tell(line: &[u8]) -> bool {
    /// Made once: every line of a program's output is searched for all of them.
    static WORDS: LazyLock<[Finder<'static>; 7]> = LazyLock::new(|| {
        let words: [&[u8]; 7] = [
            b"Sanitizer",
            b": runtime error: ",
            b"DATA RACE",
            b" data race(s)",
            heads::RACY_TEST,
            b"ASan ",
            b"==ABORTING",
        ];
        words.map(Finder::new)
    });
    WORDS.iter().any(|words| words.find(line).is_some())
}

/// The line of ThreadSanitizer's blocks, `==================`.
fn is_rule(line: &[u8]) -> bool {
    line.len() >= 18 && line.iter().all(|byte| *byte == b'=')
}

/// The reports of a log while it is read.
#[derive(Default)]
pub(super) struct SanitizerLog {
    /// In order of appearance.
    processes: Vec<SanitizedProcess>,
    open: Option<OpenReport>,
    /// The line that announced a signal whose report has not begun.
    deadly: Option<(u64, Tool)>,
    /// The line that named a race first whose report may stand elsewhere.
    racy_test: Option<u64>,
}

/// A process, or what names none.
struct SanitizedProcess {
    process: Process,
    /// The sanitizer ended it: what follows with its number is of another.
    is_over: bool,
    /// Why it cannot be all, and the line that shows it.
    trouble: Option<(u64, String)>,
}

/// A report that is being read.
struct OpenReport {
    /// Its process.
    position: usize,
    /// Where its lines begin.
    column: usize,
    last_line: u64,
    of: ReportOf,
}

enum ReportOf {
    Error(Box<ErrorReport>),
    Leaks(LeakReport),
}

impl SanitizerLog {
    /// Reads a line that is none of Valgrind's.
    pub(super) fn line(&mut self, line: &[u8], line_number: u64, table: &mut FindingTable) {
        if self.open.is_none() && !may_tell(line) {
            return;
        }
        let line = &*heads::plain(line);
        if let Some(head) = heads::of_line(line) {
            self.head(&head, line_number, table);
        } else if let Some(pid) = heads::aborted(line) {
            self.aborted(pid, line_number, table);
        } else {
            self.inner_line(line, line_number, table);
        }
    }

    fn head(&mut self, head: &ReportLine<'_>, line_number: u64, table: &mut FindingTable) {
        match head.says {
            LineSays::Error | LineSays::GoRace | LineSays::Undefined | LineSays::Leaks => {
                self.close(true, table);
                self.deadly = None;
                let of = match head.says {
                    LineSays::Leaks => ReportOf::Leaks(LeakReport::default()),
                    _ => ReportOf::Error(Box::new(ErrorReport::new(head, table))),
                };
                let position = self.process_of(&head.tool, head.pid);
                if head.says == LineSays::GoRace {
                    let process = &mut self.processes[position].process;
                    process.creator = Some("Go race detector".to_owned());
                }
                self.open = Some(OpenReport {
                    position,
                    column: head.column,
                    last_line: line_number,
                    of,
                });
            }
            LineSays::DeadlySignal => {
                self.close(true, table);
                self.deadly = Some((line_number, head.tool.clone()));
            }
            LineSays::RacyTest => {
                self.racy_test.get_or_insert(line_number);
            }
            LineSays::Summary => self.summary(head, line_number, table),
            LineSays::Count(count) => self.count(head, count, line_number, table),
            LineSays::Failed => {
                let position = match (&self.open, head.pid) {
                    (Some(open), None) => open.position,
                    _ => self.process_of(&head.tool, head.pid),
                };
                self.close(true, table);
                let text = String::from_utf8_lossy(head.text);
                let why = format!("failed, and judged nothing from there on: {}", text.trim());
                self.trouble(position, line_number, why);
            }
        }
    }

    fn summary(&mut self, head: &ReportLine<'_>, line_number: u64, table: &mut FindingTable) {
        if let Some(open) = &mut self.open {
            open.last_line = line_number;
            match &mut open.of {
                ReportOf::Error(report) if !report.has_summary() => {
                    report.summary(head.text);
                    return;
                }
                ReportOf::Leaks(_) => {
                    self.end_leaks(Some(head), table);
                    return;
                }
                ReportOf::Error(_) => {}
            }
        }
        self.without_report(head, line_number, "has a SUMMARY whose report is not there");
    }

    /// What belongs to a report that was not read.
    fn without_report(&mut self, head: &ReportLine<'_>, line_number: u64, why: &str) {
        let position = self.process_of(&head.tool, head.pid);
        self.trouble(
            position,
            line_number,
            format!("{why}: lines are missing in front of it"),
        );
    }

    /// How many reports were written, said at the end of a process that was not named.
    fn count(
        &mut self,
        head: &ReportLine<'_>,
        count: u64,
        line_number: u64,
        table: &mut FindingTable,
    ) {
        self.close(true, table);
        let is_of =
            |of: &SanitizedProcess| of.process.tool.as_ref() == Some(&head.tool) && !of.is_over;
        let Some(of) = self.processes.iter_mut().rev().find(|of| is_of(of)) else {
            if count > 0 {
                self.without_report(head, line_number, "counts reports that are not there");
            }
            return;
        };
        of.is_over = true;
        of.process.unfinished = false;
        of.process.error_summary = Some(ErrorSummary {
            contexts: count,
            errors: count,
            ..ErrorSummary::default()
        });
    }

    fn aborted(&mut self, pid: u64, line_number: u64, table: &mut FindingTable) {
        if let Some(open) = &mut self.open
            && self.processes[open.position].process.pid == Some(pid)
            && let ReportOf::Error(report) = &mut open.of
            && report.has_summary()
        {
            report.abort();
        }
        self.close(true, table);
        let known = self
            .processes
            .iter()
            .rposition(|of| of.process.pid == Some(pid));
        let position = known.unwrap_or_else(|| {
            let position = self.process_of(&Tool::Asan, Some(pid));
            let why =
                "was ended by a report that is not there: lines are missing in front of ABORTING";
            self.trouble(position, line_number, why.to_owned());
            position
        });
        self.processes[position].end();
    }

    /// A line that may be inside a report.
    fn inner_line(&mut self, line: &[u8], line_number: u64, table: &mut FindingTable) {
        let Some(open) = &mut self.open else {
            return;
        };
        let inner = line.get(open.column..).unwrap_or_default();
        let is_line = |text: &[u8]| line == text || inner == text;
        let frame = frame::of_line(line);
        open.last_line = match frame.is_some() || !inner.is_empty() {
            true => line_number,
            false => open.last_line,
        };
        match (&mut open.of, frame) {
            (ReportOf::Leaks(report), Some((_, raw))) => {
                report.frame(table.frame(raw, frame::parse))
            }
            (ReportOf::Leaks(report), None) => report.line(line, table),
            (ReportOf::Error(report), Some((is_innermost, raw))) => {
                report.frame(is_innermost, raw, table);
            }
            (ReportOf::Error(report), None) => {
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

    /// Ends the report that is open; another one follows, or something that stands behind it.
    fn close(&mut self, is_followed: bool, table: &mut FindingTable) {
        match self.open.take() {
            None => {}
            Some(open) if matches!(open.of, ReportOf::Leaks(_)) => {
                self.open = Some(open);
                self.end_leaks(None, table);
            }
            Some(open) => {
                let ReportOf::Error(report) = open.of else {
                    return;
                };
                let lack = report.lack(is_followed);
                let process = &mut self.processes[open.position].process;
                // It says at the end how many reports it wrote, unless it was to end the process at the first.
                process.unfinished |= process.tool == Some(Tool::Tsan) && process.pid.is_some();
                report.finish(process, table);
                if let Some(lack) = lack {
                    self.trouble(
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
            of: ReportOf::Leaks(report),
            ..
        }) = self.open.take()
        else {
            return;
        };
        let process = &mut self.processes[position].process;
        let lack = match summary {
            // The sanitizer that LeakSanitizer is a part of.
            Some(head) => {
                process.tool = Some(head.tool.clone());
                leaks::sum_of(head.text)
                    .is_none()
                    .then_some("ends in its SUMMARY: it was cut short")
            }
            None => Some("ends before its SUMMARY: it was cut short"),
        };
        let wrong = report.finish(summary.map(|head| head.text), process, table);
        if let Some(why) = wrong.or_else(|| lack.map(str::to_owned)) {
            self.trouble(position, last_line, why);
        }
    }

    /// The process of this number that is not over, or what this tool says without a number; a new one if there is none.
    fn process_of(&mut self, tool: &Tool, pid: Option<u64>) -> usize {
        let is_it = |of: &SanitizedProcess| {
            let is_same = of.process.pid == pid && !of.is_over;
            is_same && (pid.is_some() || of.process.tool.as_ref() == Some(tool))
        };
        if let Some(known) = self.processes.iter().rposition(is_it) {
            return known;
        }
        let mut process = Process::new(pid);
        process.tool = Some(tool.clone());
        self.processes.push(SanitizedProcess {
            process,
            is_over: false,
            trouble: None,
        });
        self.processes.len() - 1
    }

    /// Remembers the first reason why a process cannot be judged as a whole.
    fn trouble(&mut self, position: usize, line_number: u64, why: String) {
        let trouble = &mut self.processes[position].trouble;
        trouble.get_or_insert((line_number, why));
    }

    /// Ends the log; its last line can be cut anywhere where it has no end.
    pub(super) fn finish(
        &mut self,
        ended_with_newline: bool,
        lines: u64,
        table: &mut FindingTable,
    ) {
        let cut = self.open.as_ref().filter(|open| {
            let may_be_cut = match &open.of {
                ReportOf::Error(report) => report.is_undefined() || report.has_summary(),
                ReportOf::Leaks(_) => false,
            };
            !ended_with_newline && open.last_line == lines && may_be_cut
        });
        if let Some(position) = cut.map(|open| open.position) {
            self.trouble(
                position,
                lines,
                "ends in the middle of a line: it was cut short".to_owned(),
            );
        }
        self.close(false, table);
        if let Some((line, tool)) = self.deadly.take() {
            let position = self.process_of(&tool, None);
            let why = "announces a signal whose report is not there: it was cut short";
            self.trouble(position, line, why.to_owned());
        }
        let is_go =
            |of: &SanitizedProcess| of.process.pid.is_none() && of.process.tool == Some(Tool::Tsan);
        if let Some(line) = self.racy_test.take()
            && !self.processes.iter().any(is_go)
        {
            let position = self.process_of(&Tool::Tsan, None);
            let why = "is not there, and a test failed for it: lines are missing, or were written elsewhere";
            self.trouble(position, line, why.to_owned());
        }
        for of in &mut self.processes {
            of.process.is_complete = of.trouble.is_none();
        }
    }

    /// Whether there is anything of a sanitizer in the log.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Hands on each process.
    pub(super) fn hand_on(&self, table: &FindingTable, reading: &mut Reading) -> Result<(), Error> {
        for of in &self.processes {
            of.check_count(reading);
        }
        let source = reading.source;
        let processes = self
            .processes
            .iter()
            .map(|of| (&of.process, of.said(source)));
        hand_on(processes, table, reading)
    }
}

impl SanitizedProcess {
    /// The sanitizer ended the process.
    fn end(&mut self) {
        self.is_over = true;
        self.process.unfinished = true;
    }

    /// What it is called in a message: `asan, process 7`.
    fn title(&self) -> String {
        let tool = self.process.tool.as_deref().unwrap_or_default();
        match self.process.pid {
            Some(pid) => format!("the report of {tool} about process {pid}"),
            None => format!("the report of {tool}"),
        }
    }

    fn said(&self, source: &str) -> Option<String> {
        let (line, why) = self.trouble.as_ref()?;
        Some(format!("{source}:{line}: {} {why}", self.title()))
    }

    /// Holds what was read against the number of reports that the sanitizer says it wrote.
    fn check_count(&self, reading: &mut Reading) {
        let read = self.process.errors.len() as u64;
        if let Some(summary) = self.process.error_summary
            && summary.contexts != read
        {
            reading.warn(format!(
                "{} counts {} reports, but {read} were read",
                self.title(),
                summary.contexts
            ));
        }
    }
}
