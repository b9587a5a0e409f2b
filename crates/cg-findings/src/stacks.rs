//! Collects the stacks of an error or a leak: the main stack, and the stacks of its notes.

use super::process::KeptNote;
use super::table::{FindingStackId, FindingTable, FrameId};

/// The stacks while they are read.
#[derive(Debug, Default)]
pub(super) struct GatheredStacks {
    main: FindingStackId,
    notes: Vec<KeptNote>,
    /// The frames of the stack that is being read.
    frames: Vec<FrameId>,
    /// The owner of that stack.
    owner: Owner,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owner {
    /// The error or leak itself if it has no stack yet, otherwise a note without a sentence.
    #[default]
    Main,
    /// The note at this position.
    Note(usize),
    /// A note without a sentence, which exists only if it has a stack.
    Nameless,
}

impl GatheredStacks {
    /// Creates a collection that begins with these notes.
    pub(super) fn with_notes(notes: Vec<KeptNote>) -> GatheredStacks {
        GatheredStacks {
            notes,
            ..GatheredStacks::default()
        }
    }

    /// Adds a frame to the current stack.
    pub(super) fn frame(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    /// Begins a stack, which belongs to the preceding note if that has no stack yet. Otherwise it is the main stack, even
    /// after notes: Valgrind 3.24 prints the main stack of an error about descriptors last.
    pub(super) fn begin_stack(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
    }

    /// Adds a note. The next stack belongs to this note.
    pub(super) fn note(&mut self, what: &[u8], table: &mut FindingTable) {
        self.end_stack(table);
        self.push_note(what, table);
        self.owner = Owner::Note(self.notes.len() - 1);
    }

    /// Adds a note without a stack. The next stack keeps its owner.
    pub(super) fn remark(&mut self, what: &[u8], table: &mut FindingTable) {
        self.end_stack(table);
        self.push_note(what, table);
    }

    /// Appends text to the last note if the next stack belongs to it, otherwise adds a note.
    pub(super) fn extend_note(&mut self, what: &[u8], table: &mut FindingTable) {
        let Owner::Note(position) = self.owner else {
            self.note(what, table);
            return;
        };
        let mut text = match self.notes[position].what {
            Some(what) => format!("{} ", table.text(what)).into_bytes(),
            None => Vec::new(),
        };
        text.extend_from_slice(what);
        self.notes[position].what = Some(table.name(&text));
    }

    /// Makes the next stack belong to a note without a sentence.
    pub(super) fn nameless_note(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
        self.owner = Owner::Nameless;
    }

    /// Makes the next stack the main one.
    pub(super) fn expect_main(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
        self.owner = Owner::Main;
    }

    /// Returns the main stack and the notes.
    pub(super) fn finish(mut self, table: &mut FindingTable) -> (FindingStackId, Vec<KeptNote>) {
        self.end_stack(table);
        (self.main, self.notes)
    }

    fn push_note(&mut self, what: &[u8], table: &mut FindingTable) {
        self.notes.push(KeptNote {
            what: Some(table.name(what)),
            stack: FindingStackId::EMPTY,
        });
    }

    fn end_stack(&mut self, table: &mut FindingTable) {
        if self.frames.is_empty() {
            return;
        }
        let stack = table.stack(&self.frames);
        self.frames.clear();
        match std::mem::take(&mut self.owner) {
            Owner::Note(note) => self.notes[note].stack = stack,
            Owner::Main if self.main == FindingStackId::EMPTY => self.main = stack,
            Owner::Main | Owner::Nameless => self.notes.push(KeptNote { what: None, stack }),
        }
    }
}
