//! Text logs of Memcheck, Helgrind and DRD (`--log-file`, or what comes on stderr).
//!
//! Every line of Valgrind's has a prefix with the number of its process, so the lines of several processes can be
//! mixed, and mixed with what the programs print. A block is a sentence, `   at`/`   by` frames, further sentences with
//! frames of their own, and an empty line. HEAP SUMMARY, the loss records, LEAK SUMMARY and ERROR SUMMARY end a log;
//! `-s` and `-v` print all errors a second time then, with how often each happened, and ERROR SUMMARY again. A log of
//! `-q` has neither preamble nor summaries. A log without its preamble and not forked by a process that has one is what is left
//! of one: nobody knows what stood above. `--gen-suppressions` puts suppressions behind the errors, without a prefix.
//!
//! Lines without Valgrind's prefix can be of a sanitizer's report, which `sanitizers` reads; such sections come last.
//!
//! Processes are handed on when the input ends: any process may have something to say until then.

mod block;
mod frame;
mod prefix;
mod process_log;
mod sentences;
mod summary_lines;
mod unprefixed;

use cg_reader::{Error, Reading};
use cg_stream::maps::Map;

use self::prefix::{LineMark, Prefixed};
use self::process_log::ProcessLog;
use self::unprefixed::Unprefixed;
use super::hand_on;
use super::line_end::undecorated;
use super::preamble;
use super::sanitizers::SanitizerLog;
use super::table::FindingTable;

/// True for a line of Valgrind's own, which shows that an input is a log.
pub fn is_log_line(line: &[u8]) -> bool {
    prefix::split(line).is_some_and(|prefixed| match prefixed.column.checked_sub(1) {
        None => true,
        // What separates the parts of a mail looks like that: `--===============0123456789==`.
        Some(before) => prefixed.mark == LineMark::User && line[before] != b'=',
    })
}

/// A log while it is read.
pub(super) struct Log {
    table: FindingTable,
    /// In order of appearance. Each preamble of a number begins an entry.
    processes: Vec<ProcessLog>,
    /// The last entry of each process number.
    latest: Map<u64, usize>,
    /// The process of the last line with a prefix, and the column where that began.
    current: Option<usize>,
    column: usize,
    /// That line's prefix with its blank, where it was one of [`LineMark::User`]: most lines begin as the one before them.
    /// Else empty.
    prefix: Vec<u8>,
    /// A suppression that is being read.
    suppression: Option<Vec<u8>>,
    /// Whether the log is inside XML that other tools wrote, such as CTest's.
    is_escaped: bool,
    unescaped: Vec<u8>,
    is_first_line: bool,
    sanitizers: SanitizerLog,
    /// The last line that told of a run that never began: the lines of one follow each other.
    last_refusal: u64,
}

/// Whether the text ends before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogLine {
    OfText,
    /// It has the beginning of a document of XML, and was not read.
    OfDocument,
}

/// The first line of every suppression that Valgrind prints.
const SUPPRESSION_NAME: &[u8] = b"   <insert_a_suppression_name_here>";

/// No suppression is longer; Valgrind's own limit is 40 frames.
const LONGEST_SUPPRESSION: usize = 1024 * 1024;

/// A text without its entities, if it is escaped; `unescaped` is where it is put together.
fn without_entities<'t>(text: &'t [u8], is_escaped: bool, unescaped: &'t mut Vec<u8>) -> &'t [u8] {
    if !(is_escaped && text.contains(&b'&')) {
        return text;
    }
    unescaped.clear();
    super::xml::unescape_into(text, unescaped);
    unescaped
}

impl Log {
    pub(super) fn new(demangles: bool) -> Log {
        Log {
            table: FindingTable::new(demangles),
            processes: Vec::new(),
            latest: Map::default(),
            current: None,
            column: 0,
            prefix: Vec::new(),
            suppression: None,
            is_escaped: false,
            unescaped: Vec::new(),
            is_first_line: true,
            last_refusal: 0,
            sanitizers: SanitizerLog::default(),
        }
    }

    /// Reads a line.
    pub(super) fn line(&mut self, line: &[u8], line_number: u64) -> LogLine {
        let line = undecorated(line);
        if std::mem::take(&mut self.is_first_line) {
            self.is_escaped = line.trim_ascii_start().starts_with(b"<?xml");
        }
        let Some((prefixed, position)) = self.split(line) else {
            let read = self.line_without_prefix(line, line_number);
            if read == LogLine::OfText {
                self.line_of_sanitizer(line, line_number);
            }
            return read;
        };
        let process = &mut self.processes[position];
        process.last_line = line_number;
        match prefixed.mark {
            LineMark::Debug => process.debug_message(prefixed.message),
            LineMark::Client => process.client_message(&mut self.table),
            LineMark::User => {
                let message =
                    without_entities(prefixed.message, self.is_escaped, &mut self.unescaped);
                process.message(message, &mut self.table);
            }
        }
        LogLine::OfText
    }

    /// Takes a line's prefix off, and finds the process it names.
    fn split<'a>(&mut self, line: &'a [u8]) -> Option<(Prefixed<'a>, usize)> {
        // Frames and notes begin with a blank, and nothing that begins another process does.
        if let Some(current) = self.current
            && !self.prefix.is_empty()
            && let Some(message) = line.strip_prefix(self.prefix.as_slice())
            && message.first() == Some(&b' ')
        {
            let prefixed = Prefixed {
                mark: LineMark::User,
                pid: self.processes[current].pid(),
                column: self.column,
                message,
            };
            return Some((prefixed, current));
        }
        let prefixed = prefix::split(line)?;
        self.column = prefixed.column;
        let position = self.process_of(&prefixed);
        self.current = Some(position);
        self.prefix.clear();
        let prefix = &line[..line.len() - prefixed.message.len()];
        // An editor may have taken the blank off a line without a message.
        if prefixed.mark == LineMark::User && prefix.ends_with(b" ") {
            self.prefix.extend_from_slice(prefix);
        }
        Some((prefixed, position))
    }

    /// Suppressions have no prefix; what else has none is the program's output.
    fn line_without_prefix(&mut self, line: &[u8], line_number: u64) -> LogLine {
        match unprefixed::of(line) {
            Some(Unprefixed::Document) => {
                // Whatever came before was its own first line.
                self.is_escaped = false;
                return LogLine::OfDocument;
            }
            Some(Unprefixed::NotStarted(said)) => self.not_started(said, line_number),
            None => self.suppression_line(line),
        }
        LogLine::OfText
    }

    fn not_started(&mut self, said: &[u8], line_number: u64) {
        if self.last_refusal == 0 || line_number > self.last_refusal + 1 {
            let mut process = ProcessLog::not_started(said);
            process.last_line = line_number;
            self.processes.push(process);
        }
        self.last_refusal = line_number;
    }

    fn suppression_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A CI service's own prefix is before these lines too, as long as before the others.
        let inner = line.get(self.column..).unwrap_or_default();
        let is = |text: &[u8]| line == text || inner == text;
        let Some(suppression) = &mut self.suppression else {
            if is(b"{") {
                self.suppression = Some(b"{".to_vec());
            }
            return;
        };
        let is_first = suppression.len() == 1;
        suppression.push(b'\n');
        if is(b"}") {
            suppression.push(b'}');
            let text = self.suppression.take().unwrap_or_default();
            if let Some(current) = self.current {
                self.processes[current].suppression(&text, &mut self.table);
            }
            return;
        }
        let has_ci_prefix = !line.starts_with(b"   ") && inner.starts_with(b"   ");
        let line = if has_ci_prefix { inner } else { line };
        if self.is_escaped {
            super::xml::unescape_into(line, suppression);
        } else {
            suppression.extend_from_slice(line);
        }
        // Programs print braces too.
        let is_other_text = is_first && !suppression.ends_with(SUPPRESSION_NAME);
        if is_other_text || suppression.len() > LONGEST_SUPPRESSION {
            self.suppression = None;
        }
    }

    /// What has no prefix of Valgrind's can be of a sanitizer's report.
    fn line_of_sanitizer(&mut self, line: &[u8], line_number: u64) {
        let line = without_entities(line, self.is_escaped, &mut self.unescaped);
        self.sanitizers.line(line, line_number, &mut self.table);
    }

    /// The entry that a line belongs to. A second preamble of one number is another run's: Valgrind empties a process' log
    /// file when it executes another program, and on a descriptor nobody can tell.
    fn process_of(&mut self, prefixed: &Prefixed) -> usize {
        let known = match self.current {
            Some(current) if self.processes[current].pid() == prefixed.pid => Some(current),
            _ => self.latest.get(&prefixed.pid).copied(),
        };
        if let Some(known) = known {
            let begins_anew = prefixed.mark == LineMark::User
                && self.processes[known].is_valgrind
                && preamble::tool_of_banner(prefixed.message).is_some();
            if !begins_anew {
                return known;
            }
            let position = self.processes.len();
            self.processes[known].end_before(position, &mut self.table);
        }
        let position = self.processes.len();
        self.processes.push(ProcessLog::new(prefixed.pid));
        self.latest.insert(prefixed.pid, position);
        position
    }

    /// Ends the log; `is_cut` where the input, of so many lines, ended inside its last one.
    pub(super) fn finish(&mut self, is_cut: bool, lines: u64) {
        self.sanitizers.finish(!is_cut, lines, &mut self.table);
        for process in &mut self.processes {
            process.finish(&mut self.table);
        }
        // The last line of an unfinished write can be cut anywhere.
        if is_cut && let Some(current) = self.current {
            self.processes[current].end_inside_line();
        }
        self.processes.retain(|process| process.is_valgrind);
        self.set_forked();
        for process in &mut self.processes {
            process.check_beginning();
        }
    }

    /// A process without preamble beside others that have one was forked by one of these: it has no tool, version or
    /// command of its own to print.
    fn set_forked(&mut self) {
        let mut parent: Option<usize> = None;
        let mut parents = 0;
        for position in 0..self.processes.len() {
            if self.processes[position].has_preamble {
                parent = Some(position);
                parents += 1;
                continue;
            }
            let Some(parent) = parent else { continue };
            if !self.processes[position].began() {
                continue;
            }
            let (before, rest) = self.processes.split_at_mut(position);
            if let (Some(parent), Some(child)) = (before.get(parent), rest.first_mut()) {
                child.set_forked_from(parent, parents == 1);
            }
        }
    }

    /// Whether anything of Valgrind's was read.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.sanitizers.is_empty()
    }

    /// Hands on each process, in the order in which they appear.
    pub(super) fn hand_on(&self, reading: &mut Reading) -> Result<(), Error> {
        let source = reading.source;
        let processes = self
            .processes
            .iter()
            .map(|process| (&process.process, process.trouble(source)));
        hand_on(processes, &self.table, reading)?;
        self.sanitizers.hand_on(&self.table, reading)
    }
}
