//! Text logs of Memcheck, Helgrind and DRD (`--log-file`, or standard error).
//!
//! Every line of Valgrind has a prefix with the pid, so lines of several processes, and output of the programs, may be
//! mixed. A block consists of a sentence, `   at`/`   by` frames, further sentences with frames, and an empty line. A log
//! ends with HEAP SUMMARY, the loss records, LEAK SUMMARY and ERROR SUMMARY. `-s` and `-v` then print all errors again with
//! their counts, and ERROR SUMMARY again. A log of `-q` has neither preamble nor summaries. Any other log without a preamble
//! lacks its beginning, unless a process with a preamble forked its process. `--gen-suppressions` prints a suppression after
//! each error, without a prefix.
//!
//! Lines without Valgrind's prefix may belong to a sanitizer's report, which `sanitizers` reads. Those sections come last.
//! Older sanitizers have Valgrind's prefix. In the events of `go test -json`, only reports of sanitizers are read.
//!
//! Processes are written when the input ends, because any process may have further lines until then.

mod block;
mod frame;
mod prefix;
mod process_log;
pub(crate) mod sentences;
mod summary_lines;
mod unprefixed;

use cg_collections::maps::Map;
use cg_reader::{Error, Reading};

use self::prefix::{LineMark, Prefixed};
use self::process_log::ProcessLog;
use self::unprefixed::Unprefixed;
use super::line_end::undecorated;
use super::preamble;
use super::sanitizers::{self, GoEvent, GoEvents, SanitizerLog};
use super::table::FindingTable;
use super::write_processes;

/// Returns true for a line of Valgrind, which shows that an input is a log.
pub fn is_log_line(line: &[u8]) -> bool {
    let not_started = || {
        let found = unprefixed::classify(line);
        matches!(found, Some(Unprefixed::NotStarted(_)))
    };
    not_started()
        || prefix::split(line).is_some_and(|prefixed| match prefixed.column.checked_sub(1) {
            None => true,
            // Exclude separators in mails: `--===============0123456789==`.
            Some(before) => prefixed.mark == LineMark::User && line[before] != b'=',
        })
}

/// A log while it is read.
pub(super) struct Log {
    table: FindingTable,
    /// The processes in order of appearance. Each preamble begins an entry, even with a known pid.
    processes: Vec<ProcessLog>,
    /// The last entry of each pid.
    latest: Map<u64, usize>,
    /// The process of the last line with a prefix.
    current: Option<usize>,
    /// The column of that prefix.
    column: usize,
    /// That prefix with its blank, if its mark was [`LineMark::User`], otherwise empty. Most lines have the same prefix as
    /// the line before.
    prefix: Vec<u8>,
    /// The suppression that is being read.
    suppression: Option<Vec<u8>>,
    /// True if the log is inside XML of another tool, such as CTest.
    is_escaped: bool,
    unescaped: Vec<u8>,
    is_first_line: bool,
    sanitizers: SanitizerLog,
    go_events: GoEvents,
    /// The last line about a run that never began. Such a report may have several consecutive lines.
    last_refusal: u64,
}

/// The kind of a line: text, or the beginning of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogLine {
    Text,
    /// The line has the beginning of an XML document, and was not read.
    Document,
}

/// The first line of every suppression that Valgrind prints.
const SUPPRESSION_NAME: &[u8] = b"   <insert_a_suppression_name_here>";

/// The maximum number of bytes in a suppression. Valgrind's own limit is 40 frames.
const LONGEST_SUPPRESSION: usize = 1024 * 1024;

/// Replaces the entities in a text if it is escaped. Uses `unescaped` as the buffer.
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
            go_events: GoEvents::default(),
        }
    }

    /// Checks that every entry of the table has a unique id, after this line.
    ///
    /// # Errors
    /// Returns an error if the table exceeds a limit.
    pub(super) fn check_room(&self, line_number: u64) -> Result<(), Error> {
        let room = self.table.check_room();
        room.map_err(|error| Error::at(line_number, error.to_string()))
    }

    /// Reads a line.
    pub(super) fn line(&mut self, line: &[u8], line_number: u64) -> LogLine {
        let line = undecorated(line);
        if std::mem::take(&mut self.is_first_line) {
            self.is_escaped = line.trim_ascii_start().starts_with(b"<?xml");
        }
        if let Some(event) = GoEvent::parse(line) {
            self.go_events.event(event, line_number, &mut self.table);
            return LogLine::Text;
        }
        let Some((prefixed, position)) = self.split(line) else {
            let kind = self.line_without_prefix(line, line_number);
            if kind == LogLine::Text {
                self.sanitizer_line(line, line_number);
            }
            return kind;
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
        LogLine::Text
    }

    /// Removes a line's prefix, and finds its process.
    fn split<'a>(&mut self, line: &'a [u8]) -> Option<(Prefixed<'a>, usize)> {
        // Messages that begin with a blank are frames and notes, which never begin another process.
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
        if sanitizers::has_valgrinds_prefix(prefixed.message) {
            return None;
        }
        self.column = prefixed.column;
        let position = self.find_process(&prefixed);
        self.current = Some(position);
        self.prefix.clear();
        let prefix = &line[..line.len() - prefixed.message.len()];
        // An editor may have removed the blank from a line without a message.
        if prefixed.mark == LineMark::User && prefix.ends_with(b" ") {
            self.prefix.extend_from_slice(prefix);
        }
        Some((prefixed, position))
    }

    /// Reads a line without a prefix: the beginning of a document, a suppression, or output of the program.
    fn line_without_prefix(&mut self, line: &[u8], line_number: u64) -> LogLine {
        match unprefixed::classify(line) {
            Some(Unprefixed::Document) => {
                // A `<?xml` before this line belonged to the document.
                self.is_escaped = false;
                return LogLine::Document;
            }
            Some(Unprefixed::NotStarted(message)) => self.not_started(message, line_number),
            None => self.suppression_line(line),
        }
        LogLine::Text
    }

    fn not_started(&mut self, message: &[u8], line_number: u64) {
        if self.last_refusal == 0 || line_number > self.last_refusal + 1 {
            let mut process = ProcessLog::not_started(message);
            process.last_line = line_number;
            self.processes.push(process);
        }
        self.last_refusal = line_number;
    }

    fn suppression_line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A CI service's prefix precedes these lines too. It is as long as before other lines.
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
        // A brace may also be output of the program.
        let is_other_text = is_first && !suppression.ends_with(SUPPRESSION_NAME);
        if is_other_text || suppression.len() > LONGEST_SUPPRESSION {
            self.suppression = None;
        }
    }

    /// Reads a line without Valgrind's prefix, which may belong to a sanitizer's report.
    fn sanitizer_line(&mut self, line: &[u8], line_number: u64) {
        let line = without_entities(line, self.is_escaped, &mut self.unescaped);
        self.sanitizers.line(line, line_number, &mut self.table);
    }

    /// Returns the entry of a line's process. A second preamble with the same pid begins another run: Valgrind empties the
    /// log file when a process executes another program, and on a descriptor the log does not show an exec.
    fn find_process(&mut self, prefixed: &Prefixed) -> usize {
        let known = match self.current {
            Some(current) if self.processes[current].pid() == prefixed.pid => Some(current),
            _ => self.latest.get(&prefixed.pid).copied(),
        };
        if let Some(known) = known {
            let begins_anew = prefixed.mark == LineMark::User
                && self.processes[known].is_valgrind
                && preamble::find_banner_tool(prefixed.message).is_some();
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

    /// Ends the log after `lines` lines. `is_cut` is true if the last line is incomplete.
    pub(super) fn finish(&mut self, is_cut: bool, lines: u64) {
        self.sanitizers.finish(!is_cut, lines, &mut self.table);
        self.go_events.finish(lines, &mut self.table);
        for process in &mut self.processes {
            process.finish(&mut self.table);
        }
        // If the last line is incomplete, its message may be too.
        if is_cut && let Some(current) = self.current {
            self.processes[current].end_inside_line();
        }
        self.processes.retain(|process| process.is_valgrind);
        self.set_forked();
        for process in &mut self.processes {
            process.check_beginning();
        }
    }

    /// Marks processes without a preamble as forked if an earlier process has one. A forked process does not print its tool,
    /// version or command.
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

    /// Returns true if the log has no process of Valgrind or of a sanitizer.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.sanitizers.is_empty() && self.go_events.is_empty()
    }

    /// Writes the processes in order of appearance.
    pub(super) fn write_processes(&self, reading: &mut Reading) -> Result<(), Error> {
        let source = reading.source;
        let processes = self
            .processes
            .iter()
            .map(|process| (&process.process, process.error(source)));
        write_processes(processes, &self.table, reading)?;
        self.sanitizers.write_processes(&self.table, reading)?;
        self.go_events.write_processes(&self.table, reading)
    }
}
