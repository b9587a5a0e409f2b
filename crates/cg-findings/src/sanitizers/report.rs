//! The report of an error while it is read: its head, stacks and sentences, and the lines that show that it is whole.

use cg_stream::record::Tool;
use memchr::memmem;

use super::heads::{LineSays, ReportLine};
use super::notes::{self, Sentence};
use super::{frame, kinds};
use crate::process::{FatalSignal, KeptError, Process};
use crate::stacks::GatheredStacks;
use crate::table::{FindingTable, FrameId};

/// A report that is being read.
#[derive(Debug)]
pub(super) struct ErrorReport {
    tool: Tool,
    is_go: bool,
    head: Vec<u8>,
    /// What its SUMMARY says behind the sanitizer's name.
    summary: Option<Vec<u8>>,
    /// Who did it and how.
    access: Option<Vec<u8>>,
    thread: Option<u64>,
    names: Vec<(u64, Vec<u8>)>,
    stacks: GatheredStacks,
    has_stack: bool,
    /// The place that UndefinedBehaviorSanitizer names, which is all that is known where there is no stack.
    place: Option<FrameId>,
    /// Whether frames that follow belong to something else.
    is_over: bool,
    /// A function of Go's, whose place is on the next line, and whether it is the first of its stack.
    function: Option<(bool, Vec<u8>)>,
    after_note: bool,
    /// Whether the line that was read last was a frame's, which another line has to follow.
    pub(super) is_in_stack: bool,
    tail: Tail,
}

/// What has to follow the SUMMARY, as far as a report of this sort always has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Nothing, or nothing more.
    Whole,
    /// The dump of the shadow memory with its legend, or the end of the process.
    Dump,
    /// The end of the process.
    Abort,
    /// The line that closes a block.
    Rule,
}

impl ErrorReport {
    /// A report that begins with this line.
    pub(super) fn new(head: &ReportLine<'_>, table: &mut FindingTable) -> ErrorReport {
        let is_go = head.says == LineSays::GoRace;
        let is_signal = kinds::signal(head.text).is_some();
        let mut report = ErrorReport {
            tail: match head.tool {
                _ if head.says == LineSays::Undefined => Tail::Whole,
                _ if is_signal || head.text.starts_with(b"stack-overflow ") => Tail::Abort,
                Tool::Tsan => Tail::Rule,
                // `ErrorGeneric::Print`
                Tool::Asan if memmem::find(head.text, b" at pc 0x").is_some() => Tail::Dump,
                _ => Tail::Whole,
            },
            tool: head.tool.clone(),
            is_go,
            head: head.text.to_vec(),
            summary: None,
            access: None,
            thread: notes::thread_of(head.text),
            names: Vec::new(),
            stacks: GatheredStacks::default(),
            has_stack: false,
            place: None,
            is_over: false,
            function: None,
            after_note: false,
            is_in_stack: false,
        };
        if head.says == LineSays::Undefined {
            report.thread = None;
            report.undefined(head.text, table);
        }
        report
    }

    /// Whether it is one of UndefinedBehaviorSanitizer, which is whole with its first line.
    pub(super) fn is_undefined(&self) -> bool {
        self.tool == Tool::Ubsan && kinds::signal(&self.head).is_none()
    }

    /// Its place is in front of its text.
    fn undefined(&mut self, line: &[u8], table: &mut FindingTable) {
        const WORDS: &[u8] = b": runtime error: ";
        let Some(end) = memmem::find(line, WORDS) else {
            return;
        };
        self.head = line[end + WORDS.len()..].to_vec();
        self.place = Some(table.frame(&line[..end], frame::parse_place));
    }

    /// Takes a frame's line.
    pub(super) fn frame(&mut self, is_innermost: bool, raw: &[u8], table: &mut FindingTable) {
        if self.is_over {
            return;
        }
        // What was said in front of the first stack has none; what it belongs to has.
        if self.is_undefined() && !self.has_stack {
            self.stacks.expect_main(table);
        }
        let frame = table.frame(raw, frame::parse);
        self.add_frame(is_innermost, frame, table);
    }

    fn add_frame(&mut self, is_innermost: bool, frame: FrameId, table: &mut FindingTable) {
        if is_innermost {
            self.stacks.begin_stack(table);
        }
        self.has_stack = true;
        self.is_in_stack = true;
        self.stacks.frame(frame);
    }

    /// Takes a line that is no frame of the usual form.
    pub(super) fn line(&mut self, line: &[u8], inner: &[u8], table: &mut FindingTable) {
        self.is_in_stack = false;
        if self.is_go && self.go_frame(line, inner, table) {
            return;
        }
        if memmem::find(line, b"Right alloca redzone:").is_some() && self.tail == Tail::Dump {
            self.tail = Tail::Whole;
        }
        if self.summary.is_some() {
            return;
        }
        let Some((sentence, said)) = notes::of_line(line).or_else(|| notes::of_line(inner)) else {
            return;
        };
        if let Some((thread, name)) = notes::named_thread(said) {
            self.names.push((thread, name.to_vec()));
        }
        let is_of_threads = self.tool == Tool::Tsan;
        match sentence {
            Sentence::Remark => self.stacks.remark(said, table),
            // What ThreadSanitizer says first is what happened, be it an access, a lock or a thread that nobody joined.
            _ if self.access.is_none()
                && !self.has_stack
                && (sentence == Sentence::Access || is_of_threads) =>
            {
                self.thread = notes::thread_of(said);
                self.access = Some(said.to_vec());
                self.stacks.expect_main(table);
            }
            _ => {
                self.stacks.note(said, table);
                self.after_note = true;
            }
        }
    }

    /// Go's `  main.f()` and, on the next line, `      /src/main.go:12 +0x33`.
    fn go_frame(&mut self, line: &[u8], inner: &[u8], table: &mut FindingTable) -> bool {
        let text = match line.starts_with(b"  ") {
            true => line,
            false => inner,
        };
        if let Some(place) = text.strip_prefix(b"      ")
            && let Some((is_innermost, mut raw)) = self.function.take()
        {
            raw.push(b'\n');
            raw.extend_from_slice(place);
            let frame = table.frame(&raw, frame::parse_go);
            self.add_frame(is_innermost, frame, table);
            return true;
        }
        let is_first = self.function.is_none() && (self.after_note || !self.has_stack);
        if let Some(function) = text.strip_prefix(b"  ")
            && function.ends_with(b")")
            && !function.starts_with(b" ")
        {
            self.after_note = false;
            self.function = Some((is_first, function.to_vec()));
            return true;
        }
        false
    }

    /// Takes the text of its SUMMARY.
    pub(super) fn summary(&mut self, text: &[u8]) {
        self.end_of_stacks();
        self.summary = Some(text.to_vec());
    }

    /// No stack of it follows.
    pub(super) fn end_of_stacks(&mut self) {
        self.is_in_stack = false;
        self.is_over = true;
    }

    pub(super) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// A line of nothing but `=`: it closes a block of ThreadSanitizer that has its SUMMARY, which Go's have not.
    pub(super) fn rule(&mut self) -> bool {
        let closes = self.tail == Tail::Rule && (self.is_go || self.has_summary());
        if closes {
            self.tail = Tail::Whole;
        }
        closes
    }

    /// The sanitizer ended the process, behind everything that it had to say.
    pub(super) fn abort(&mut self) {
        self.tail = Tail::Whole;
    }

    /// Why it cannot be all of the report, if so. Another report may follow without the end of this one's block.
    pub(super) fn lack(&self, is_followed: bool) -> Option<&'static str> {
        if self.is_undefined() {
            let is_cut = self.is_in_stack && !is_followed;
            return is_cut.then_some("ends in the middle of a stack");
        }
        // Go's have none.
        let is_summed_up = self.has_summary() || (self.is_go && self.tail == Tail::Whole);
        if !is_summed_up {
            return Some("ends before its SUMMARY");
        }
        match self.tail {
            Tail::Dump if !is_followed => Some("ends before the legend of its shadow bytes"),
            Tail::Abort => Some("ends before the process did (ABORTING)"),
            Tail::Rule if !is_followed => Some("ends before the line that closes it"),
            _ => None,
        }
    }

    /// Puts what was read into the process.
    pub(super) fn finish(self, process: &mut Process, table: &mut FindingTable) {
        let (stack, notes) = self.stacks.finish(table);
        let stack = match self.place {
            Some(place) if !self.has_stack => table.stack(&[place]),
            _ => stack,
        };
        if let Some(signal) = kinds::signal(&self.head) {
            let event = notes.iter().find_map(|note| note.what);
            process.fatal_signal = Some(FatalSignal {
                thread: self.thread.filter(|_| self.tool != Tool::Tsan),
                event: event.map(|event| table.text(event).trim_end_matches('.').to_owned()),
                stack,
                ..signal
            });
            return;
        }
        let kind = match self.tool == Tool::Ubsan {
            true => kinds::of_undefined(&self.head).to_owned(),
            false => kinds::of_report(&self.tool, &self.head, self.summary.as_deref()),
        };
        let what = match &self.access {
            Some(access) => [kind_words(&self.head), b": ", access.as_slice()].concat(),
            None => self.head.strip_suffix(b":").unwrap_or(&self.head).to_vec(),
        };
        let name = self
            .names
            .iter()
            .find(|(thread, _)| Some(*thread) == self.thread);
        process.errors.push(KeptError {
            kind: table.name(kind.as_bytes()),
            is_known: true,
            what: table.name(&what),
            count: 1,
            thread: self.thread,
            thread_name: name.map(|(_, name)| table.name(name)),
            stack,
            notes: notes.into_boxed_slice(),
            suppression: None,
        });
    }
}

/// The text in front of the address, which the access repeats: `heap-use-after-free on address 0x602 at pc 0x55…`.
fn kind_words(head: &[u8]) -> &[u8] {
    let end = memmem::find(head, b" on address ").unwrap_or(head.len());
    &head[..end]
}
