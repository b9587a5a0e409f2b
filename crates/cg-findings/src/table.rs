//! Interned names, frames and stacks of the findings of an input.
//!
//! A log repeats few frames many times. A frame is looked up by its bytes in the log, and parsed only once.

use std::cell::OnceCell;

use cg_collections::intern::{Bytes, Id as _, Slices, Texts, TooMany};
use cg_names::blame::frame_to_blame_in_facts;
use cg_names::code_origin::Facts;
use cg_names::demangle::demangle;
use cg_stream::record::{Frame, Name};
use cg_stream::rows::{Named, RowTables, TableNumber};

pub(super) use cg_stream::rows::{FrameId, NameId};

cg_collections::ids! {
    /// A stack of an input. Equal stacks have equal ids.
    pub(super) struct FindingStackId;
}

impl FindingStackId {
    /// The stack without frames.
    pub(super) const EMPTY: FindingStackId = FindingStackId::FIRST;
}

impl Default for FindingStackId {
    fn default() -> FindingStackId {
        FindingStackId::EMPTY
    }
}

/// The contents of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameRow {
    pub(super) name: Option<NameId>,
    pub(super) file: Option<NameId>,
    pub(super) line: Option<u32>,
    pub(super) obj: Option<NameId>,
    pub(super) addr: Option<NameId>,
}

/// Names, frames and stacks by id.
///
/// A table that exceeds a limit returns the first id and sets `full`; [`FindingTable::check_room`] then ends the reading.
pub(super) struct FindingTable {
    number: TableNumber,
    /// Names, sentences and other texts.
    names: Texts<NameId>,
    /// The frames in the form of the input.
    raw_frames: Bytes<FrameId>,
    frames: Vec<FrameRow>,
    /// The facts about the origin of each frame's code. Computed on first use, because few frames are candidates for blame.
    facts: Vec<OnceCell<Facts>>,
    /// True to demangle names that the log left mangled.
    demangles: bool,
    stacks: Slices<FindingStackId, FrameId>,
    full: Option<TooMany>,
}

impl FindingTable {
    /// Creates an empty table, which demangles names if `demangles` is set.
    pub(super) fn new(demangles: bool) -> FindingTable {
        let mut table = FindingTable {
            number: TableNumber::new(),
            demangles,
            facts: Vec::new(),
            names: Texts::default(),
            raw_frames: Bytes::default(),
            frames: Vec::new(),
            stacks: Slices::default(),
            full: None,
        };
        table.stack(&[]);
        table
    }

    /// Creates a full table.
    #[cfg(test)]
    pub(super) fn full() -> FindingTable {
        FindingTable {
            full: Some(TooMany::Values),
            ..FindingTable::new(true)
        }
    }

    /// Checks that every entry has a unique id.
    ///
    /// # Errors
    /// Returns an error if the table was too full for an entry.
    pub(super) fn check_room(&self) -> Result<(), TooMany> {
        self.full.map_or(Ok(()), Err)
    }

    /// Interns bytes of an input as a [`Name`].
    pub(super) fn name(&mut self, bytes: &[u8]) -> NameId {
        self.words(Name::from_bytes(bytes).as_str())
    }

    fn words(&mut self, text: &str) -> NameId {
        self.names.intern(text).unwrap_or_else(|too_many| {
            self.full = Some(too_many);
            NameId::FIRST
        })
    }

    /// Interns the name of a function.
    pub(super) fn function(&mut self, bytes: &[u8]) -> NameId {
        if self.demangles {
            self.name(&demangle(bytes))
        } else {
            self.name(bytes)
        }
    }

    /// Returns true if the table demangles names that the log left mangled.
    pub(super) fn demangles(&self) -> bool {
        self.demangles
    }

    /// Interns the names of a frame.
    pub(super) fn row(&mut self, frame: &Frame) -> FrameRow {
        let mut name = |name: &Option<Name>| {
            let text = name.as_deref()?;
            Some(self.words(text))
        };
        FrameRow {
            name: name(&frame.name),
            file: name(&frame.file),
            line: frame.line.and_then(|line| u32::try_from(line).ok()),
            obj: name(&frame.obj),
            addr: name(&frame.addr),
        }
    }

    /// Returns the text of a name.
    pub(super) fn text(&self, id: NameId) -> &str {
        self.names.text(id)
    }

    /// Interns the frame with the text `raw`. Calls `parse` if the frame is new.
    pub(super) fn frame(
        &mut self,
        raw: &[u8],
        parse: impl FnOnce(&[u8], &mut FindingTable) -> FrameRow,
    ) -> FrameId {
        let id = match self.raw_frames.intern(raw) {
            Ok(id) => id,
            Err(too_many) => {
                self.full = Some(too_many);
                return FrameId::FIRST;
            }
        };
        if id.index() == self.frames.len() {
            let row = parse(raw, self);
            self.frames.push(row);
            self.facts.push(OnceCell::new());
        }
        id
    }

    /// Interns a stack.
    pub(super) fn stack(&mut self, frames: &[FrameId]) -> FindingStackId {
        self.stacks.intern(frames).unwrap_or_else(|too_many| {
            self.full = Some(too_many);
            FindingStackId::EMPTY
        })
    }

    /// Returns the frames of a stack, innermost first.
    pub(super) fn stack_frames(&self, id: FindingStackId) -> &[FrameId] {
        self.stacks.get(id)
    }

    /// Converts a stack to the form in records.
    pub(super) fn record_stack(&self, id: FindingStackId) -> Vec<Frame<'_>> {
        self.stack_frames(id)
            .iter()
            .map(|frame| self.record_frame(*frame))
            .collect()
    }

    /// Returns the blamed frame, ignoring the `skipped` innermost frames; an empty row for an empty stack.
    pub(super) fn blamed_frame(&self, id: FindingStackId, skipped: usize) -> FrameRow {
        let frames = &self.stack_frames(id)[skipped..];
        let position = frame_to_blame_in_facts(frames.len(), |position| {
            frames.get(position).map(|frame| self.facts(*frame))
        });
        let blamed = frames.get(position).map(|frame| self.frames[frame.index()]);
        blamed.unwrap_or_default()
    }

    /// Returns the facts about the origin of a frame's code.
    fn facts(&self, id: FrameId) -> Facts {
        let facts = || Facts::from_frame(&self.record_frame(id));
        *self.facts[id.index()].get_or_init(facts)
    }

    /// Drops all stacks. Nothing may refer to a stack any more. Keeps names and frames, because the input repeats them.
    pub(super) fn forget_stacks(&mut self) {
        self.stacks.clear();
        self.stack(&[]);
    }

    #[inline]
    pub(super) fn record_frame(&self, id: FrameId) -> Frame<'_> {
        let row = self.frames[id.index()];
        let name = |id: Option<NameId>| id.map(|id| Name::from(self.text(id)));
        Frame {
            name: name(row.name),
            file: name(row.file),
            line: row.line.map(u64::from),
            obj: name(row.obj),
            addr: name(row.addr),
            ..Frame::default()
        }
    }
}

impl RowTables for FindingTable {
    fn number(&self) -> TableNumber {
        self.number
    }

    fn name(&self, _: Named, id: NameId) -> Name<'_> {
        Name::from(self.text(id))
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.record_frame(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_have_equal_ids() {
        let mut table = FindingTable::new(true);
        let frame = |table: &mut FindingTable, raw: &[u8]| {
            table.frame(raw, |raw, table| FrameRow {
                name: Some(table.name(raw)),
                ..FrameRow::default()
            })
        };
        let (a, b) = (frame(&mut table, b"a"), frame(&mut table, b"b"));
        assert_eq!(frame(&mut table, b"a"), a);
        let ab = table.stack(&[a, b]);
        let only_b = table.stack(&[b]);
        assert_eq!(table.stack(&[]), FindingStackId::EMPTY);
        assert_eq!(table.stack(&[a, b]), ab);
        assert_ne!(ab, only_b);
        let names: Vec<_> = table
            .record_stack(ab)
            .iter()
            .map(|frame| frame.name.clone().map(Name::into_string))
            .collect();
        assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(table.record_stack(FindingStackId::EMPTY), []);
        table.forget_stacks();
        assert_eq!(table.stack(&[b]), ab, "ids start again");
    }
}
