//! Reads the lines of one process: blocks of errors and leaks, and lines about the whole run.

use cg_stream::record::{Name, Tool};

use super::block::{About, LogBlock};
use super::{frame, sentences, summary_lines};
use crate::process::Process;
use crate::table::{FindingTable, NameId};
use crate::{kinds, leak, preamble};

/// The state of one process while it is read.
#[derive(Default)]
pub(super) struct ProcessLog {
    pub(super) process: Process,
    /// True if the process has Valgrind's preamble. A forked process has none, and neither has a log of `-q`.
    pub(super) has_preamble: bool,
    /// True if a line certainly comes from Valgrind. Programs may print lines with a prefix too.
    pub(super) is_valgrind: bool,
    /// The number of the last line.
    pub(super) last_line: u64,
    /// True if the log ended inside a block.
    pub(super) ended_in_block: bool,
    block: Option<LogBlock>,
    /// The last unknown sentence outside a block. If a stack follows, it is an unknown error.
    unknown_sentence: Vec<u8>,
    /// The current thread, initially 1. Valgrind prints it only when it changes.
    thread: u64,
    thread_name: Option<NameId>,
    /// The count from `-s` for the next block.
    again: Option<u64>,
    /// True if the errors are being printed again, so another ERROR SUMMARY must follow.
    awaits_summary: bool,
    /// The last finding of the process, to which a following suppression belongs.
    last_finding: Option<LastFinding>,
    /// True if the leak check at exit printed why it shows no leaks.
    has_leak_hint: bool,
    /// True inside Valgrind's options, which `-v` prints.
    is_in_options: bool,
    /// True inside a preamble, which ends with an empty line.
    is_in_preamble: bool,
    /// True if there was a line of a preamble outside one.
    has_stray_preamble: bool,
    /// True if there was a line after the preamble.
    has_more_than_preamble: bool,
    /// The reason for which Valgrind ended the process, if it reported one.
    early_end: Option<&'static str>,
    /// Valgrind's message if the run never began.
    refusal: Option<String>,
    /// The next entry with the same pid.
    pub(super) next: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum LastFinding {
    Error,
    Leak,
}

impl ProcessLog {
    pub(super) fn new(pid: u64) -> ProcessLog {
        ProcessLog {
            process: Process::new(Some(pid)),
            thread: 1,
            ..ProcessLog::default()
        }
    }

    /// Creates an entry for a run that never began, with Valgrind's message.
    pub(super) fn not_started(message: &[u8]) -> ProcessLog {
        ProcessLog {
            process: Process::new(None),
            is_valgrind: true,
            refusal: Some(Name::from_bytes(message).into_string()),
            ..ProcessLog::new(0)
        }
    }

    /// Reads the message of a `==PID==` line.
    pub(super) fn message(&mut self, message: &[u8], table: &mut FindingTable) {
        if let Some((is_innermost, raw)) = frame::split_frame(message) {
            self.frame(raw, is_innermost, table);
            return;
        }
        let message = message.trim_ascii_end();
        if message.is_empty() {
            self.unknown_sentence.clear();
            self.is_in_preamble = false;
            if let Some(block) = &mut self.block {
                block.after_blank = true;
            }
            return;
        }
        self.place_in_preamble(message);
        if let Some((thread, name)) = sentences::thread_header(message) {
            self.finish_block(table);
            self.thread = thread;
            self.thread_name = (!name.is_empty()).then(|| table.name(name));
            return;
        }
        if self.begin_finding(message, table) || self.continue_block(message, table) {
            return;
        }
        self.finish_block(table);
        if !self.run_line(message) && message[0] != b' ' {
            self.unknown_sentence.clear();
            self.unknown_sentence.extend_from_slice(message);
        }
    }

    /// Reads the message of a `--PID--` line.
    pub(super) fn debug_message(&mut self, message: &[u8]) {
        let is_in_options = std::mem::take(&mut self.is_in_options);
        if message == b"Valgrind options:" {
            self.is_in_options = true;
            return;
        }
        if is_in_options && let Some(option) = message.strip_prefix(b"   ") {
            self.is_in_options = true;
            let option = Name::from_bytes(option).into_string();
            self.process.options.push(option);
            return;
        }
        if let Some((name, count)) = sentences::used_suppression(message) {
            let name = Name::from_bytes(name).into_string();
            self.process.used_suppressions.push((name, count));
        }
    }

    /// Reads a message of the client, which ends the open block. A following stack does not belong to an error.
    pub(super) fn client_message(&mut self, table: &mut FindingTable) {
        self.has_more_than_preamble = true;
        self.finish_block(table);
        self.unknown_sentence.clear();
    }

    /// Adds a suppression to the finding before it.
    pub(super) fn suppression(&mut self, text: &[u8], table: &mut FindingTable) {
        self.finish_block(table);
        let text = Some(table.name(text));
        match self.last_finding {
            Some(LastFinding::Error) => {
                if let Some(error) = self.process.errors.last_mut() {
                    error.suppression = text;
                }
            }
            Some(LastFinding::Leak) => {
                if let Some(leak) = self.process.leaks.last_mut() {
                    leak.suppression = text;
                }
            }
            None => {}
        }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self, table: &mut FindingTable) {
        if self.next.is_some() {
            return;
        }
        self.ended_in_block = self.block.as_ref().is_some_and(|block| !block.after_blank);
        self.finish_block(table);
        self.process.is_complete = self.process.error_summary.is_some()
            && !self.awaits_summary
            && !self.ended_in_block
            && self.has_final_leak_check();
        let has_summary = self.process.has_summary();
        // Before 3.23, Nulgrind does not report errors, and has no ERROR SUMMARY.
        let version = self.process.version;
        let never_has_summary = self.process.tool == Some(Tool::Nulgrind)
            && version.is_some_and(|version| version < (3, 23));
        self.process.is_quiet = (!self.has_preamble && !has_summary) || never_has_summary;
        self.process.has_only_preamble = self.has_preamble
            && self.process.ppid.is_some()
            && !self.is_in_preamble
            && !self.has_more_than_preamble
            && !self.has_stray_preamble
            && !has_summary
            && !never_has_summary;
        self.drop_other_messages();
    }

    /// Drops messages of unknown form if the ERROR SUMMARY counts only the known errors.
    fn drop_other_messages(&mut self) {
        let Some(summary) = self.process.error_summary else {
            return;
        };
        let errors = &mut self.process.errors;
        let known = errors.iter().filter(|error| error.is_known).count();
        if summary.contexts <= known as u64 {
            self.process.dropped_messages = (errors.len() - known) as u64;
            errors.retain(|error| error.is_known);
        }
    }

    /// Ends the entry before another preamble with the same pid. `next` is the position of the new entry.
    pub(super) fn end_before(&mut self, next: usize, table: &mut FindingTable) {
        self.finish(table);
        self.process.has_only_preamble = false;
        self.next = Some(next);
    }

    /// Marks a log without its beginning as incomplete. Must be called after forked processes are marked.
    pub(super) fn check_beginning(&mut self) {
        let has_beginning = self.has_preamble || self.process.is_forked;
        self.process.is_complete &= has_beginning && self.missing_part().is_none();
    }

    /// Returns the part that is missing, judged by the rest of the log.
    fn missing_part(&self) -> Option<&'static str> {
        let process = &self.process;
        if self.has_stray_preamble {
            Some("the first line of a preamble")
        } else if process.leak_summary.is_some() && process.whole_leak_summary().is_none() {
            Some("a row of its LEAK SUMMARY")
        } else {
            None
        }
    }

    /// Records that the input ended inside this log's last line.
    pub(super) fn end_inside_line(&mut self) {
        // A parsed ERROR SUMMARY is complete, even without its line end.
        self.ended_in_block |= !self.process.is_complete;
        self.process.has_only_preamble &= !self.ended_in_block;
    }

    /// Returns false if the run never began.
    pub(super) fn began(&self) -> bool {
        self.refusal.is_none()
    }

    pub(super) fn pid(&self) -> u64 {
        self.process.pid.unwrap_or_default()
    }

    /// Copies the facts that a forked process does not print from its parent.
    pub(super) fn set_forked_from(&mut self, parent: &ProcessLog, is_only_parent: bool) {
        let child = &mut self.process;
        child.is_forked = true;
        child.is_quiet = false;
        child.tool = child.tool.take().or_else(|| parent.process.tool.clone());
        child.creator.clone_from(&parent.process.creator);
        child.options.clone_from(&parent.process.options);
        // If there are several possible parents, the command is unknown.
        if is_only_parent {
            child.command.clone_from(&parent.process.command);
        }
    }

    /// Returns the reason why the log is incomplete. Returns `None` if it is complete or if this is unknown.
    pub(super) fn error(&self, source: &str) -> Option<String> {
        if self.process.is_complete {
            return None;
        }
        let (line, pid) = (self.last_line, self.pid());
        if let Some(message) = &self.refusal {
            return Some(format!("{source}:{line}: the run never began: {message}"));
        }
        if let Some(part) = self.missing_part() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} is damaged: {part} is missing"
            ));
        }
        if let Some(reason) = self.early_end {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends early: {reason}"
            ));
        }
        if self.ended_in_block {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends in the middle of a message; it was cut short"
            ));
        }
        // For such a log it is unknown if it is complete. Only the field `complete` is false.
        let has_beginning = self.has_preamble || self.process.is_forked;
        if self.process.is_quiet || (!has_beginning && self.process.error_summary.is_some()) {
            return None;
        }
        if self.next.is_some() && self.process.ppid.is_some() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY, before the log of another process {pid}: it was cut short; an exec would have emptied the log file"
            ));
        }
        if self.next.is_some() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY, before another process {pid}: it was cut short, or the process executed another program; XML shows which (--xml-fd)"
            ));
        }
        let reason = self.process.reason_without_end();
        Some(format!(
            "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY: {reason}"
        ))
    }

    /// Returns false if the leak check is missing at the end. Valgrind before 3.6 prints it after the ERROR SUMMARY.
    fn has_final_leak_check(&self) -> bool {
        let comes_last = self.process.version.is_some_and(|version| version < (3, 6))
            && self.process.tool == Some(Tool::Memcheck);
        !comes_last
            || self.process.leak_summary.is_some()
            || self.process.all_heap_blocks_freed
            || self.has_leak_hint
    }

    fn frame(&mut self, raw: &[u8], is_innermost: frame::IsInnermost, table: &mut FindingTable) {
        let frame::IsInnermost(is_innermost) = is_innermost;
        if self.block.is_none() {
            if !is_innermost || self.unknown_sentence.is_empty() {
                return;
            }
            let sentence = std::mem::take(&mut self.unknown_sentence);
            let kind = kinds::unknown_kind(self.process.tool.as_ref());
            self.begin_error(&sentence, &kind, false, table);
        }
        if let Some(block) = &mut self.block {
            let frame = table.frame(raw, frame::parse);
            if is_innermost {
                block.stacks.begin_stack(table);
            }
            block.stacks.frame(frame);
        }
    }

    /// Begins the block of an error or a leak. Returns false if the message is not the sentence of one.
    fn begin_finding(&mut self, message: &[u8], table: &mut FindingTable) -> bool {
        // Notes are indented.
        if message[0] == b' ' {
            return false;
        }
        if message[0].is_ascii_digit() {
            let Some(loss) = leak::parse(message) else {
                return false;
            };
            self.finish_block(table);
            self.set_tool(Tool::Memcheck);
            self.block = Some(LogBlock::new(About::Leak(loss)));
            return true;
        }
        let Some(kind) = kinds::find_kind(message) else {
            return false;
        };
        if kinds::is_open_descriptor(message)
            && self
                .process
                .version
                .is_some_and(|version| version < (3, 23))
        {
            self.finish_block(table);
            self.block = Some(LogBlock::new(About::Nothing));
            return true;
        }
        if let Some(tool) = kind.tool {
            self.set_tool(tool);
        }
        let name = kinds::kind_in_version(kind.name, message, self.process.version);
        self.begin_error(message, &name, true, table);
        true
    }

    /// Begins an error. `is_known` is true if only errors have its sentence.
    fn begin_error(
        &mut self,
        sentence: &[u8],
        kind: &str,
        is_known: bool,
        table: &mut FindingTable,
    ) {
        let notes = match self.block.take() {
            Some(block) if matches!(block.about, About::Early) => block.stacks.finish(table).1,
            block => {
                self.block = block;
                self.finish_block(table);
                Vec::new()
            }
        };
        self.is_valgrind = true;
        // Helgrind's sentences contain its own thread numbers. DRD also has its own thread numbers.
        let numbered = sentences::find_thread(sentence);
        // The sentence of a descriptor without a name ends with a colon.
        let sentence = sentence.strip_suffix(b":").unwrap_or(sentence);
        let about = About::Error {
            kind: table.name(kind.as_bytes()),
            is_known,
            what: sentence.to_vec(),
            thread: numbered.or(Some(self.thread)),
            thread_name: self.thread_name.filter(|_| numbered.is_none()),
            again: self.again.take(),
        };
        self.block = Some(LogBlock::with_notes(about, notes));
    }

    /// Continues the open block, or begins a block with an early note. Returns false if the message does neither.
    fn continue_block(&mut self, message: &[u8], table: &mut FindingTable) -> bool {
        let sentence = message.trim_ascii_start();
        let is_indented = message[0] == b' ';
        if let Some(block) = &mut self.block {
            let after_blank = std::mem::take(&mut block.after_blank);
            match &mut block.about {
                About::Error { what, .. } if sentence.starts_with(b"with error code ") => {
                    // Helgrind splits this sentence into two lines, and in XML into two `<what>`.
                    what.push(b' ');
                    what.extend_from_slice(sentence);
                    return true;
                }
                About::Error { .. } if sentences::is_continuation(sentence) => {
                    block.note_or_remark(sentence, table);
                    return true;
                }
                About::Error { .. } if !after_blank && !sentences::is_separate_message(message) => {
                    if !sentences::replaces_stack(sentence) {
                        block.note_or_remark(sentence, table);
                    }
                    return true;
                }
                About::Early if is_indented || sentences::is_early_note(sentence) => {
                    block.stacks.note(sentence, table);
                    return true;
                }
                About::Signal(signal) if is_indented && !after_blank => {
                    sentences::signal_event(sentence, signal);
                    return true;
                }
                About::Nothing if is_indented && !after_blank => return true,
                _ => block.after_blank = after_blank,
            }
        }
        if sentences::is_early_note(sentence) {
            self.finish_block(table);
            let mut block = LogBlock::new(About::Early);
            block.stacks.note(sentence, table);
            self.block = Some(block);
            return true;
        }
        false
    }

    /// Reads a message outside errors and leaks. Returns false if it is unknown.
    fn run_line(&mut self, message: &[u8]) -> bool {
        if summary_lines::read(message, &mut self.process) {
            self.is_valgrind = true;
            if message.starts_with(b"ERROR SUMMARY: ") {
                self.awaits_summary = false;
            }
            return true;
        }
        if let Some(count) = sentences::parse_context_count(message) {
            self.again = Some(count);
            self.awaits_summary = true;
            return true;
        }
        if self.preamble_line(message) {
            return true;
        }
        if let Some(reason) = sentences::early_end(message) {
            self.is_valgrind = true;
            self.early_end = Some(reason);
            return true;
        }
        let begins = |start: &str| message.starts_with(start.as_bytes());
        if begins("For a detailed leak analysis, rerun with") {
            self.has_leak_hint = true;
        } else if begins("More than ")
            && memchr::memmem::find(message, b" errors detected").is_some()
        {
            self.process.error_limit_reached = true;
            // After 100 different errors, Valgrind compares errors less exactly. After 1,000 different errors, or
            // 10,000,000 in total, it stops reporting.
            self.process.stopped_reporting |=
                memchr::memmem::find(message, b"not reporting any more").is_some();
        } else if let Some(signal) = sentences::fatal_signal(message, self.thread) {
            self.is_valgrind = true;
            self.block = Some(LogBlock::new(About::Signal(signal)));
        } else if let Some((thread, is_root)) = sentences::announced_thread(message) {
            self.block = Some(LogBlock::new(About::Thread { thread, is_root }));
        } else if begins("FILE DESCRIPTORS: ") && message.ends_with(b" open at exit.") {
            // Valgrind up to 3.18 has this form. In these versions open descriptors are not errors.
            self.process.version.get_or_insert((3, 18));
        } else if sentences::has_stack_without_error(message) {
            self.block = Some(LogBlock::new(About::Nothing));
        } else {
            return sentences::begins_run_line(message);
        }
        true
    }

    /// Tracks whether a message is inside a preamble, after it, or outside any preamble.
    fn place_in_preamble(&mut self, message: &[u8]) {
        if self.is_in_preamble {
            self.has_more_than_preamble |= !preamble::may_be_preamble_line(message);
            return;
        }
        let had_more = std::mem::replace(&mut self.has_more_than_preamble, true);
        // Most messages are notes and loss records. Skip these quickly: lines of a preamble begin differently.
        if message[0] == b' ' || message[0].is_ascii_digit() {
            return;
        }
        let is_banner = preamble::find_banner_tool(message).is_some();
        if is_banner || preamble::is_profiler_banner(message) {
            self.is_in_preamble = true;
            self.has_more_than_preamble = had_more;
            return;
        }
        if preamble::is_preamble_line(message) {
            self.has_stray_preamble = true;
            self.is_valgrind = true;
        }
        const REFUSALS: [&str; 2] = ["Bad option: ", "Unknown option: "];
        let refuses = |start: &&str| message.starts_with(start.as_bytes());
        if !self.has_preamble && REFUSALS.iter().any(refuses) {
            self.refusal = Some(Name::from_bytes(message).into_string());
            self.is_valgrind = true;
        }
    }

    fn preamble_line(&mut self, message: &[u8]) -> bool {
        if preamble::find_banner_tool(message).is_some() {
            self.is_valgrind = true;
            self.has_preamble = true;
            self.process.has_leak_summaries = true;
        }
        self.has_preamble && preamble::read(message, &mut self.process)
    }

    fn set_tool(&mut self, tool: Tool) {
        self.is_valgrind = true;
        self.process.tool.get_or_insert(tool);
    }

    fn finish_block(&mut self, table: &mut FindingTable) {
        let Some(block) = self.block.take() else {
            return;
        };
        match block.about {
            About::Error { again: None, .. } => self.last_finding = Some(LastFinding::Error),
            About::Leak(_) => self.last_finding = Some(LastFinding::Leak),
            _ => self.last_finding = None,
        }
        block.finish(&mut self.process, table);
    }
}
