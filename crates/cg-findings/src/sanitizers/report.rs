//! The report of an error while it is read: its head, stacks and sentences, and the lines that show that it is complete.

use cg_stream::record::Tool;
use memchr::memmem;

use super::heads::{ReportLine, ReportLineKind};
use super::notes::{self, Sentence};
use super::{frame, heads, kinds};
use crate::process::{FatalSignal, KeptError, Process};
use crate::stacks::GatheredStacks;
use crate::table::{FindingTable, FrameId};

/// A report that is being read.
#[derive(Debug)]
pub(super) struct ErrorReport {
    tool: Tool,
    is_go: bool,
    head: Vec<u8>,
    /// The text of its SUMMARY after the sanitizer's name.
    summary: Option<Vec<u8>>,
    /// The sentence about the access.
    access: Option<Vec<u8>>,
    thread: Option<u64>,
    names: Vec<(u64, Vec<u8>)>,
    stacks: GatheredStacks,
    has_stack: bool,
    /// The place in UndefinedBehaviorSanitizer's report, used if there is no stack.
    place: Option<FrameId>,
    /// True if further frames do not belong to this report.
    is_over: bool,
    /// A function of Go, whose place is on the next line. The flag is true if it is the first of its stack.
    function: Option<(bool, Vec<u8>)>,
    after_note: bool,
    /// True if the last line was a frame, which another line must follow.
    pub(super) is_in_stack: bool,
    tail: Tail,
}

/// The part that must follow the SUMMARY in this kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// No further part.
    Whole,
    /// The dump of the shadow memory with its legend, or the end of the process.
    Dump,
    /// The end of the process.
    Abort,
    /// The line that closes a block.
    Rule,
}

impl ErrorReport {
    /// Creates a report that begins with this line.
    pub(super) fn new(head: &ReportLine<'_>, table: &mut FindingTable) -> ErrorReport {
        let is_go = head.kind == ReportLineKind::GoRace;
        let is_signal = kinds::signal(head.text).is_some();
        let mut report = ErrorReport {
            tail: match head.tool {
                _ if head.kind == ReportLineKind::Undefined => Tail::Whole,
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
            thread: notes::find_thread(head.text),
            names: Vec::new(),
            stacks: GatheredStacks::default(),
            has_stack: false,
            place: None,
            is_over: false,
            function: None,
            after_note: false,
            is_in_stack: false,
        };
        if head.kind == ReportLineKind::Undefined {
            report.thread = None;
            report.undefined(head.text, table);
        }
        report
    }

    /// Returns true for a report of UndefinedBehaviorSanitizer, whose first line is a complete report.
    pub(super) fn is_undefined(&self) -> bool {
        self.tool == Tool::Ubsan && kinds::signal(&self.head).is_none()
    }

    /// Splits the first line of UndefinedBehaviorSanitizer into place and text.
    fn undefined(&mut self, line: &[u8], table: &mut FindingTable) {
        const WORDS: &[u8] = b": runtime error: ";
        if let Some(check) = line.strip_prefix(heads::MINIMAL) {
            self.head = [kinds::MINIMAL, check].concat();
            return;
        }
        let Some(end) = memmem::find(line, WORDS) else {
            return;
        };
        self.head = line[end + WORDS.len()..].to_vec();
        self.place = Some(table.frame(&line[..end], frame::parse_place));
    }

    /// Adds a frame.
    pub(super) fn frame(&mut self, is_innermost: bool, raw: &[u8], table: &mut FindingTable) {
        if self.is_over {
            return;
        }
        // The first stack belongs to the error, not to a note before it.
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

    /// Reads a line that is not a frame of the usual form.
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
        let Some((sentence, text)) =
            notes::find_sentence(line).or_else(|| notes::find_sentence(inner))
        else {
            return;
        };
        if let Some((thread, name)) = notes::named_thread(text) {
            self.names.push((thread, name.to_vec()));
        }
        let is_tsan = self.tool == Tool::Tsan;
        match sentence {
            Sentence::Remark => self.stacks.remark(text, table),
            // ThreadSanitizer's first sentence describes the error: an access, a lock, or a thread that was not joined.
            _ if self.access.is_none()
                && !self.has_stack
                && (sentence == Sentence::Access || is_tsan) =>
            {
                self.thread = notes::find_thread(text);
                self.access = Some(text.to_vec());
                self.stacks.expect_main(table);
            }
            _ => {
                self.stacks.note(text, table);
                self.after_note = true;
            }
        }
    }

    /// Reads a frame of Go: `  main.f()` and, on the next line, `      /src/main.go:12 +0x33`.
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

    /// Sets the text of the SUMMARY.
    pub(super) fn summary(&mut self, text: &[u8]) {
        self.end_of_stacks();
        self.summary = Some(text.to_vec());
    }

    /// Ends the stacks: further frames do not belong to this report.
    pub(super) fn end_of_stacks(&mut self) {
        self.is_in_stack = false;
        self.is_over = true;
    }

    pub(super) fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// Reads a line of `=`. Returns true if it closes the block: in ThreadSanitizer after the SUMMARY, in Go without one.
    pub(super) fn rule(&mut self) -> bool {
        let closes = self.tail == Tail::Rule && (self.is_go || self.has_summary());
        if closes {
            self.tail = Tail::Whole;
        }
        closes
    }

    /// Records that the sanitizer ended the process, so the report is complete.
    pub(super) fn abort(&mut self) {
        self.tail = Tail::Whole;
    }

    /// Returns the reason why the report is incomplete; `None` if it is complete. If another report follows, the end of the
    /// block may be missing.
    pub(super) fn lack(&self, is_followed: bool) -> Option<&'static str> {
        if self.is_undefined() {
            let is_cut = self.is_in_stack && !is_followed;
            return is_cut.then_some("ends in the middle of a stack");
        }
        // Go's reports have no SUMMARY.
        let is_summed_up = self.has_summary() || (self.is_go && self.tail == Tail::Whole);
        if !is_summed_up {
            return Some("ends before its SUMMARY");
        }
        match self.tail {
            Tail::Dump if !is_followed => Some("ends before the legend of its shadow bytes"),
            Tail::Abort => Some("ends before ABORTING, the end of the process"),
            Tail::Rule if !is_followed => Some("ends before the line that closes it"),
            _ => None,
        }
    }

    /// Adds the error or signal to the process.
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
            true => kinds::undefined_behaviour_check(&self.head),
            false => kinds::report_kind(&self.tool, &self.head, self.summary.as_deref()),
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

/// Returns the text before the address, which the access repeats: `heap-use-after-free on address 0x602 at pc 0x55…`.
fn kind_words(head: &[u8]) -> &[u8] {
    let end = memmem::find(head, b" on address ").unwrap_or(head.len());
    &head[..end]
}
