//! A block of a text log while it is read: a sentence, its stack, and what else is said with stacks of their own.

use crate::memcheck::leak::LossRecord;
use crate::memcheck::process::{AnnouncedThread, ErrorRow, FatalSignal, NoteRow, Process};
use crate::memcheck::table::{FrameId, NameId, StackId, Table};

/// What a block is about.
#[derive(Debug)]
pub(super) enum About {
    /// An error; `again` is the count where it is the second printing that `-s` gives.
    Error {
        kind: NameId,
        what: Vec<u8>,
        thread: Option<u64>,
        thread_name: Option<NameId>,
        again: Option<u64>,
    },
    Leak(LossRecord),
    /// Helgrind's announcement of a thread.
    Thread {
        thread: u64,
        is_root: bool,
    },
    /// The signal that ended the process.
    Signal(FatalSignal),
    /// Notes that come before the sentence of their error: Helgrind's locks, DRD's `Acquired at:`.
    Early,
    /// A warning or a remark, which can have a stack too.
    Nothing,
}

/// A block that is not finished.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) about: About,
    main: StackId,
    notes: Vec<NoteRow>,
    /// The frames of the stack that is being read.
    frames: Vec<FrameId>,
    /// Whose stack that is: the note's at this position, or the main one.
    owner: Option<usize>,
    /// Whether an empty line was read since.
    pub(super) after_blank: bool,
}

impl Block {
    /// A block that begins with its sentence, or with notes that came before it.
    pub(super) fn new(about: About, notes: Vec<NoteRow>) -> Block {
        Block {
            about,
            main: StackId::EMPTY,
            notes,
            frames: Vec::new(),
            owner: None,
            after_blank: false,
        }
    }

    /// Adds a frame. One that is innermost begins a stack, even without a sentence before it: Valgrind 3.24 prints the
    /// main stack of an error about descriptors behind those of its notes.
    pub(super) fn frame(&mut self, frame: FrameId, is_innermost: bool, table: &mut Table) {
        if is_innermost && !self.frames.is_empty() {
            self.end_stack(table);
            if self.main != StackId::EMPTY {
                self.begin_note(None);
            }
        }
        self.frames.push(frame);
    }

    /// Adds a note. The stack that follows is its own.
    pub(super) fn note(&mut self, what: &[u8], table: &mut Table) {
        self.end_stack(table);
        let what = table.name(what);
        self.begin_note(Some(what));
    }

    /// Adds a note, or what comes between a sentence and its stack: that stack remains the sentence's.
    pub(super) fn note_or_remark(&mut self, what: &[u8], table: &mut Table) {
        const REMARKS: [&str; 2] = ["Locks held: ", "Observed (incorrect) order is: "];
        if !REMARKS
            .iter()
            .any(|remark| what.starts_with(remark.as_bytes()))
        {
            self.note(what, table);
            return;
        }
        let owner = self.owner;
        self.end_stack(table);
        let what = Some(table.name(what));
        self.begin_note(what);
        self.owner = owner;
    }

    /// The notes alone.
    pub(super) fn into_notes(mut self, table: &mut Table) -> Vec<NoteRow> {
        self.end_stack(table);
        self.notes
    }

    fn begin_note(&mut self, what: Option<NameId>) {
        self.owner = Some(self.notes.len());
        self.notes.push(NoteRow {
            what,
            stack: StackId::EMPTY,
        });
    }

    fn end_stack(&mut self, table: &mut Table) {
        if self.frames.is_empty() {
            return;
        }
        let stack = table.stack(&self.frames);
        self.frames.clear();
        match self.owner.take() {
            Some(note) => self.notes[note].stack = stack,
            None => self.main = stack,
        }
    }

    /// Puts what was read into the process.
    pub(super) fn finish(mut self, process: &mut Process, table: &mut Table) {
        self.end_stack(table);
        match self.about {
            About::Error {
                kind,
                what,
                thread,
                thread_name,
                again,
            } => {
                let error = ErrorRow {
                    kind,
                    what: table.name(&what),
                    count: again.unwrap_or(1),
                    thread,
                    thread_name,
                    stack: self.main,
                    notes: self.notes.into_boxed_slice(),
                    suppression: None,
                };
                match again {
                    Some(_) => process.count_again(error),
                    None => process.errors.push(error),
                }
            }
            About::Leak(loss) => process.add_leak(loss, self.main),
            About::Thread { thread, is_root } => process.threads.push(AnnouncedThread {
                thread,
                is_root,
                stack: self.main,
            }),
            About::Signal(signal) => {
                process.fatal_signal = Some(FatalSignal {
                    stack: self.main,
                    ..signal
                });
            }
            About::Early | About::Nothing => {}
        }
    }
}
