//! The lines of one process, in order: which of them begin a block, go on with one, or say something of the whole run.

use cg_stream::record::{Name, Tool};

use super::block::{About, LogBlock};
use super::{frame, sentences, summary_lines};
use crate::process::Process;
use crate::table::{FindingTable, NameId};
use crate::{kinds, leak, preamble};

/// What is known of one process, and the block that is being read of it.
#[derive(Default)]
pub(super) struct ProcessLog {
    pub(super) process: Process,
    /// Whether it began with Valgrind's preamble, which neither a forked process nor `-q` has.
    pub(super) has_preamble: bool,
    /// Whether anything was read that only Valgrind says: programs print lines like its own too.
    pub(super) is_valgrind: bool,
    /// The line that was read last.
    pub(super) last_line: u64,
    /// Whether the log ended in the middle of a block.
    pub(super) ended_in_block: bool,
    block: Option<LogBlock>,
    /// The last line that was not understood and stood alone; with a stack it is the sentence of an unknown error.
    unknown_sentence: Vec<u8>,
    /// The thread that was named last. Valgrind names one when it differs from the last, which is 1 at first.
    thread: u64,
    thread_name: Option<NameId>,
    /// The count that `-s` gives for the block that follows.
    again: Option<u64>,
    /// Whether the errors are being printed again, and another ERROR SUMMARY must follow.
    awaits_summary: bool,
    /// What the process' last finding is, for the suppression that may follow it.
    last_finding: Option<LastFinding>,
    /// Whether the leak check at exit said why it shows nothing.
    has_leak_hint: bool,
    /// Whether the lines that follow are Valgrind's options, which `-v` prints.
    is_in_options: bool,
    /// Whether the lines that follow are those of a preamble, which an empty line ends.
    is_in_preamble: bool,
    /// Whether a line of a preamble came where none had begun.
    has_stray_preamble: bool,
    /// Whether anything was read behind the preamble.
    has_more_than_preamble: bool,
    /// What Valgrind said where it gave up before its preamble.
    refusal: Option<String>,
    /// The entry of the same number whose preamble came next.
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

    /// A run that never began, with what was said of it.
    pub(super) fn not_started(said: &[u8]) -> ProcessLog {
        ProcessLog {
            process: Process::new(None),
            is_valgrind: true,
            refusal: Some(Name::from_bytes(said).into_string()),
            ..ProcessLog::new(0)
        }
    }

    /// Reads the message of one `==PID==` line.
    pub(super) fn message(&mut self, message: &[u8], table: &mut FindingTable) {
        if let Some((is_innermost, raw)) = frame::of_message(message) {
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
        if self.begin_finding(message, table) || self.go_on(message, table) {
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

    /// A message of the client itself ends whatever was being read; the stack that can follow is not an error's.
    pub(super) fn client_message(&mut self, table: &mut FindingTable) {
        self.has_more_than_preamble = true;
        self.finish_block(table);
        self.unknown_sentence.clear();
    }

    /// Gives the suppression that was printed behind a finding to it.
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
            && self.has_leak_check_where_it_comes_last();
        let has_summary = self.process.has_summary();
        // Nulgrind knows no errors before 3.23, and so has no summary of them.
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
        self.drop_what_is_no_error();
    }

    /// Takes out the messages of unknown words that are no errors, because the ERROR SUMMARY counts no more errors than
    /// those that are known as such.
    fn drop_what_is_no_error(&mut self) {
        let Some(summary) = self.process.error_summary else {
            return;
        };
        let errors = &mut self.process.errors;
        let known = errors.iter().filter(|error| error.is_known).count();
        if summary.contexts <= known as u64 {
            self.process.messages_that_are_no_errors = (errors.len() - known) as u64;
            errors.retain(|error| error.is_known);
        }
    }

    /// Another preamble of the same number was read, and its entry is at this position.
    pub(super) fn end_before(&mut self, next: usize, table: &mut FindingTable) {
        self.finish(table);
        self.process.has_only_preamble = false;
        self.next = Some(next);
    }

    /// Once it is known which processes were forked: a log is whole only where it has its beginning too.
    pub(super) fn check_beginning(&mut self) {
        let has_beginning = self.has_preamble || self.process.is_forked;
        self.process.is_complete &= has_beginning && self.missing_part().is_none();
    }

    /// What somebody has taken out of the log, as far as its other parts tell.
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

    /// The input ended inside this log's last line.
    pub(super) fn end_inside_line(&mut self) {
        // An ERROR SUMMARY that was read is whole, with or without the end of its line.
        self.ended_in_block |= !self.process.is_complete;
        self.process.has_only_preamble &= !self.ended_in_block;
    }

    /// Whether there is a process at all.
    pub(super) fn began(&self) -> bool {
        self.refusal.is_none()
    }

    pub(super) fn pid(&self) -> u64 {
        self.process.pid.unwrap_or_default()
    }

    /// Takes over what a forked process does not print itself.
    pub(super) fn set_forked_from(&mut self, parent: &ProcessLog, is_only_parent: bool) {
        let child = &mut self.process;
        child.is_forked = true;
        child.is_quiet = false;
        child.tool = child.tool.take().or_else(|| parent.process.tool.clone());
        child.creator.clone_from(&parent.process.creator);
        child.options.clone_from(&parent.process.options);
        // Of several commands nobody can tell which one forked.
        if is_only_parent {
            child.command.clone_from(&parent.process.command);
        }
    }

    /// Why the log cannot be the whole one, if that is so.
    pub(super) fn trouble(&self, source: &str) -> Option<String> {
        if self.process.is_complete {
            return None;
        }
        let (line, pid) = (self.last_line, self.pid());
        if let Some(said) = &self.refusal {
            return Some(format!("{source}:{line}: a run that never began: {said}"));
        }
        if let Some(part) = self.missing_part() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} is damaged: {part} is missing"
            ));
        }
        if self.ended_in_block {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends in the middle of a message; it was cut short"
            ));
        }
        // It says by `complete` that nobody can tell.
        let has_beginning = self.has_preamble || self.process.is_forked;
        if self.process.is_quiet || (!has_beginning && self.process.error_summary.is_some()) {
            return None;
        }
        if self.next.is_some() && self.process.ppid.is_some() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY where that of another process {pid} begins: it was cut short, as Valgrind empties a process' log file where it executes another program"
            ));
        }
        if self.next.is_some() {
            return Some(format!(
                "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY where another process {pid} begins: it was cut short, or it executed the other one, which XML would tell (--xml-fd)"
            ));
        }
        let advice = self.process.advice_for_children();
        Some(format!(
            "{source}:{line}: the log of process {pid} ends without its ERROR SUMMARY: it was cut short, or the process was killed or executed a program that Valgrind did not follow{advice}"
        ))
    }

    /// Valgrind before 3.6 prints ERROR SUMMARY first and checks for leaks then.
    fn has_leak_check_where_it_comes_last(&self) -> bool {
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
            let kind = kinds::of_unknown(self.process.tool.as_ref());
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

    /// Begins the block of an error or a leak, where the message is the sentence of one.
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
        let Some(kind) = kinds::of(message) else {
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
        let name = kinds::of_version(kind.name, message, self.process.version);
        self.begin_error(message, &name, true, table);
        true
    }

    /// Begins an error; `is_known` where its sentence is one of an error for sure.
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
        // Helgrind prints its own numbers of threads, in the sentence; DRD's are its own too.
        let numbered = sentences::thread_of_sentence(sentence);
        // A descriptor without a name leaves the colon before it.
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

    /// Takes a message that goes on with the block that is open, or begins one with a note that comes early.
    fn go_on(&mut self, message: &[u8], table: &mut FindingTable) -> bool {
        let said = message.trim_ascii_start();
        let is_indented = message[0] == b' ';
        if let Some(block) = &mut self.block {
            let after_blank = std::mem::take(&mut block.after_blank);
            match &mut block.about {
                About::Error { what, .. } if said.starts_with(b"with error code ") => {
                    // Helgrind breaks this one sentence in two lines; XML has it in two `<what>`.
                    what.push(b' ');
                    what.extend_from_slice(said);
                    return true;
                }
                About::Error { .. } if sentences::is_continuation(said) => {
                    block.note_or_remark(said, table);
                    return true;
                }
                About::Error { .. } if !after_blank && !sentences::stands_apart(message) => {
                    if !sentences::stands_for_a_stack(said) {
                        block.note_or_remark(said, table);
                    }
                    return true;
                }
                About::Early if is_indented || sentences::is_early_note(said) => {
                    block.stacks.note(said, table);
                    return true;
                }
                About::Signal(signal) if is_indented && !after_blank => {
                    sentences::signal_event(said, signal);
                    return true;
                }
                About::Nothing if is_indented && !after_blank => return true,
                _ => block.after_blank = after_blank,
            }
        }
        if sentences::is_early_note(said) {
            self.finish_block(table);
            let mut block = LogBlock::new(About::Early);
            block.stacks.note(said, table);
            self.block = Some(block);
            return true;
        }
        false
    }

    /// Reads a message that is not part of an error or a leak; false where it is not understood.
    fn run_line(&mut self, message: &[u8]) -> bool {
        if summary_lines::read(message, &mut self.process) {
            self.is_valgrind = true;
            if message.starts_with(b"ERROR SUMMARY: ") {
                self.awaits_summary = false;
            }
            return true;
        }
        if let Some(count) = sentences::count_of_context(message) {
            self.again = Some(count);
            self.awaits_summary = true;
            return true;
        }
        if self.preamble_line(message) {
            return true;
        }
        let begins = |start: &str| message.starts_with(start.as_bytes());
        if begins("For a detailed leak analysis, rerun with") {
            self.has_leak_hint = true;
        } else if begins("More than ")
            && memchr::memmem::find(message, b" errors detected").is_some()
        {
            self.process.error_limit_reached = true;
            // After 100 errors equal ones are told apart less well; after 1,000, or 10,000,000 in all, nothing is told.
            self.process.stopped_reporting |=
                memchr::memmem::find(message, b"not reporting any more").is_some();
        } else if let Some(signal) = sentences::fatal_signal(message, self.thread) {
            self.is_valgrind = true;
            self.block = Some(LogBlock::new(About::Signal(signal)));
        } else if let Some((thread, is_root)) = sentences::announced_thread(message) {
            self.block = Some(LogBlock::new(About::Thread { thread, is_root }));
        } else if begins("FILE DESCRIPTORS: ") && message.ends_with(b" open at exit.") {
            // Valgrind up to 3.18 writes it like this, and open descriptors are no errors there.
            self.process.version.get_or_insert((3, 18));
        } else if sentences::has_stack_without_error(message) {
            self.block = Some(LogBlock::new(About::Nothing));
        } else {
            return sentences::begins_run_line(message);
        }
        true
    }

    /// Follows where a message stands: in a preamble, behind it, or where none should be.
    fn place_in_preamble(&mut self, message: &[u8]) {
        if self.is_in_preamble {
            self.has_more_than_preamble |= !preamble::may_be_behind_banner(message);
            return;
        }
        let had_more = std::mem::replace(&mut self.has_more_than_preamble, true);
        // Most messages of a log are notes and loss records, and none of these lines begins as they do.
        if message[0] == b' ' || message[0].is_ascii_digit() {
            return;
        }
        let is_banner = preamble::tool_of_banner(message).is_some();
        if is_banner || preamble::is_banner_of_profiler(message) {
            self.is_in_preamble = true;
            self.has_more_than_preamble = had_more;
            return;
        }
        if preamble::is_behind_banner(message) {
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
        if preamble::tool_of_banner(message).is_some() {
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
