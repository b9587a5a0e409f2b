//! The stacks of an error or a leak while they are read: its own, and those of its notes.

use super::process::KeptNote;
use super::table::{FindingStackId, FindingTable, FrameId};

/// Stacks that are being put together.
#[derive(Debug, Default)]
pub(super) struct GatheredStacks {
    main: FindingStackId,
    notes: Vec<KeptNote>,
    /// The frames of the stack that is being read.
    frames: Vec<FrameId>,
    /// Whose stack that is.
    owner: Owner,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Owner {
    /// The main one, where it has not been read yet; else a note without a sentence.
    #[default]
    Main,
    /// The note at this position.
    Note(usize),
    /// A note that has no sentence, and exists only if it has a stack.
    Nameless,
}

impl GatheredStacks {
    /// Stacks whose notes begin with these.
    pub(super) fn with_notes(notes: Vec<KeptNote>) -> GatheredStacks {
        GatheredStacks {
            notes,
            ..GatheredStacks::default()
        }
    }

    /// Adds a frame to the stack that is being read.
    pub(super) fn frame(&mut self, frame: FrameId) {
        self.frames.push(frame);
    }

    /// Begins a stack, which belongs to the note before it. Without a note that still has none it is the main one, even
    /// behind notes: Valgrind 3.24 prints that of an error about descriptors last.
    pub(super) fn begin_stack(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
    }

    /// Adds a note. The stack that follows is its own.
    pub(super) fn note(&mut self, what: &[u8], table: &mut FindingTable) {
        self.end_stack(table);
        self.push_note(what, table);
        self.owner = Owner::Note(self.notes.len() - 1);
    }

    /// Adds a note that has no stack: the one that follows belongs to what was said before.
    pub(super) fn remark(&mut self, what: &[u8], table: &mut FindingTable) {
        self.end_stack(table);
        self.push_note(what, table);
    }

    /// Says more in the last note, if that is where the next stack goes; else in a note of its own.
    pub(super) fn say_more(&mut self, what: &[u8], table: &mut FindingTable) {
        let Owner::Note(position) = self.owner else {
            self.note(what, table);
            return;
        };
        let mut text = match self.notes[position].what {
            Some(said) => format!("{} ", table.text(said)).into_bytes(),
            None => Vec::new(),
        };
        text.extend_from_slice(what);
        self.notes[position].what = Some(table.name(&text));
    }

    /// The stack that follows belongs to something that has no words.
    pub(super) fn nameless_note(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
        self.owner = Owner::Nameless;
    }

    /// The stack that follows is the main one.
    pub(super) fn expect_main(&mut self, table: &mut FindingTable) {
        self.end_stack(table);
        self.owner = Owner::Main;
    }

    /// The main stack and the notes.
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
