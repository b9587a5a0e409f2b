//! What the findings of an input have in common, kept once: names, frames, stacks.
//!
//! A log repeats few frames many times. A frame is looked up by the bytes that the log has for it, and taken apart only
//! when these are new.

use std::hash::BuildHasher;
use std::ops::Range;

use cg_names::blame::frame_to_blame_by;
use cg_names::demangle::demangle;
use cg_names::whose::Facts;
use cg_stream::record::{Frame, Name};
use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A name, a sentence, or any other text of a `Table`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NameId(u32);

/// A frame of a `Table`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameId(u32);

impl FrameId {
    /// Its position among the frames of the input, counted from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stack of a `Table`. Equal stacks have equal ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

impl StackId {
    /// The stack without frames.
    pub(super) const EMPTY: StackId = StackId(0);
}

/// What a log says of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameRow {
    pub(super) name: Option<NameId>,
    pub(super) file: Option<NameId>,
    pub(super) line: Option<u32>,
    pub(super) obj: Option<NameId>,
    pub(super) addr: Option<NameId>,
}

/// Names, frames and stacks by number.
pub(super) struct Table {
    names: Names,
    /// The frames as the input writes them: text `n` of these is row `n` of `frames`.
    raw_frames: RawTexts,
    frames: Vec<FrameRow>,
    /// What each frame tells of whose code it is.
    facts: Vec<Facts>,
    /// Names that were left mangled are demangled.
    demangles: bool,
    /// The frames of all stacks, one stack behind the other.
    stack_frames: Vec<FrameId>,
    /// Where in `stack_frames` each stack ends. The first is the empty one.
    stack_ends: Vec<usize>,
    stack_index: HashTable<StackId>,
    hasher: FixedState,
}

impl Table {
    /// An empty table; it demangles names or leaves them as they are.
    pub(super) fn new(demangles: bool) -> Table {
        Table {
            demangles,
            facts: Vec::new(),
            names: Names::default(),
            raw_frames: RawTexts::default(),
            frames: Vec::new(),
            stack_frames: Vec::new(),
            stack_ends: vec![0],
            stack_index: HashTable::new(),
            hasher: FixedState::default(),
        }
    }

    /// The id of these bytes of an input, as a [`Name`].
    pub(super) fn name(&mut self, bytes: &[u8]) -> NameId {
        self.names.intern(Name::from_bytes(bytes).as_str())
    }

    /// The id of a function's name.
    pub(super) fn function(&mut self, bytes: &[u8]) -> NameId {
        if self.demangles {
            self.name(&demangle(bytes))
        } else {
            self.name(bytes)
        }
    }

    /// True where names that were left mangled are demangled.
    pub(super) fn demangles(&self) -> bool {
        self.demangles
    }

    /// A frame with its names in this table.
    pub(super) fn row(&mut self, frame: &Frame) -> FrameRow {
        let mut name = |name: &Option<Name>| {
            let text = name.as_deref()?;
            Some(self.names.intern(text))
        };
        FrameRow {
            name: name(&frame.name),
            file: name(&frame.file),
            line: frame.line.and_then(|line| u32::try_from(line).ok()),
            obj: name(&frame.obj),
            addr: name(&frame.addr),
        }
    }

    /// The text of a name.
    pub(super) fn text(&self, id: NameId) -> &str {
        &self.names.texts[id.0 as usize]
    }

    /// The frame that the input writes as `raw`; `parse` takes it apart where it is new.
    pub(super) fn frame(
        &mut self,
        raw: &[u8],
        parse: impl FnOnce(&[u8], &mut Table) -> FrameRow,
    ) -> FrameId {
        let (id, is_new) = self.raw_frames.intern(raw);
        if is_new {
            let row = parse(raw, self);
            self.frames.push(row);
            let facts = Facts::of(&self.record_frame(FrameId(id)));
            self.facts.push(facts);
        }
        FrameId(id)
    }

    /// The id of a stack.
    pub(super) fn stack(&mut self, frames: &[FrameId]) -> StackId {
        if frames.is_empty() {
            return StackId::EMPTY;
        }
        let hash = self.hasher.hash_one(frames);
        let known = self
            .stack_index
            .find(hash, |id| self.frames_of(*id) == frames);
        if let Some(id) = known {
            return *id;
        }
        let id = StackId(dense_id(self.stack_ends.len()));
        self.stack_frames.extend_from_slice(frames);
        self.stack_ends.push(self.stack_frames.len());
        let (ends, all, hasher) = (&self.stack_ends, &self.stack_frames, &self.hasher);
        self.stack_index
            .insert_unique(hash, id, |id| hasher.hash_one(&all[stack_range(ends, *id)]));
        id
    }

    /// The frames of a stack, innermost first.
    pub(super) fn frames_of(&self, id: StackId) -> &[FrameId] {
        &self.stack_frames[stack_range(&self.stack_ends, id)]
    }

    /// A stack as records have it.
    pub(super) fn record_stack(&self, id: StackId) -> Vec<Frame<'_>> {
        self.frames_of(id)
            .iter()
            .map(|frame| self.record_frame(*frame))
            .collect()
    }

    /// The frame of a stack to blame, behind these innermost ones; nothing is known of that of an empty stack.
    pub(super) fn to_blame(&self, id: StackId, skipped: usize) -> Frame<'_> {
        let frames = &self.frames_of(id)[skipped..];
        let position = frame_to_blame_by(frames.len(), |position| {
            frames
                .get(position)
                .map(|frame| self.facts[frame.0 as usize])
        });
        frames
            .get(position)
            .map_or_else(Frame::default, |frame| self.record_frame(*frame))
    }

    /// Forgets all stacks, once nothing refers to one any more. Names and frames come again; they stay.
    pub(super) fn forget_stacks(&mut self) {
        self.stack_frames.clear();
        self.stack_ends.truncate(1);
        self.stack_index.clear();
    }

    #[inline]
    pub(super) fn record_frame(&self, id: FrameId) -> Frame<'_> {
        let row = self.frames[id.0 as usize];
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

fn stack_range(ends: &[usize], id: StackId) -> Range<usize> {
    let position = id.0 as usize;
    match position.checked_sub(1) {
        Some(before) => ends[before]..ends[position],
        None => 0..0,
    }
}

/// A position as an id. Four billion entries do not fit into the memory that would hold them.
fn dense_id(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Different names by number.
#[derive(Default)]
struct Names {
    texts: Vec<Box<str>>,
    index: HashTable<NameId>,
    hasher: FixedState,
}

impl Names {
    fn intern(&mut self, text: &str) -> NameId {
        let hash = self.hasher.hash_one(text);
        let texts = &self.texts;
        let is = |id: &NameId| *texts[id.0 as usize] == *text;
        if let Some(id) = self.index.find(hash, is) {
            return *id;
        }
        let id = NameId(dense_id(texts.len()));
        self.texts.push(text.into());
        let (texts, hasher) = (&self.texts, &self.hasher);
        self.index
            .insert_unique(hash, id, |id| hasher.hash_one(&*texts[id.0 as usize]));
        id
    }
}

/// Different texts by number, in one buffer.
#[derive(Default)]
struct RawTexts {
    bytes: Vec<u8>,
    /// Where in `bytes` each text ends.
    ends: Vec<usize>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl RawTexts {
    /// The number of a text, and whether it is new.
    fn intern(&mut self, text: &[u8]) -> (u32, bool) {
        let hash = self.hasher.hash_one(text);
        if let Some(id) = self.index.find(hash, |id| self.get(*id) == text) {
            return (*id, false);
        }
        let id = dense_id(self.ends.len());
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        self.index.insert_unique(hash, id, |id| {
            hasher.hash_one(&bytes[text_range(ends, *id)])
        });
        (id, true)
    }

    fn get(&self, id: u32) -> &[u8] {
        &self.bytes[text_range(&self.ends, id)]
    }
}

fn text_range(ends: &[usize], id: u32) -> Range<usize> {
    let position = id as usize;
    let start = position.checked_sub(1).map_or(0, |before| ends[before]);
    start..ends[position]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_have_equal_ids() {
        let mut table = Table::new(true);
        let frame = |table: &mut Table, raw: &[u8]| {
            table.frame(raw, |raw, table| FrameRow {
                name: Some(table.name(raw)),
                ..FrameRow::default()
            })
        };
        let (a, b) = (frame(&mut table, b"a"), frame(&mut table, b"b"));
        assert_eq!(frame(&mut table, b"a"), a);
        let ab = table.stack(&[a, b]);
        let b_alone = table.stack(&[b]);
        assert_eq!(table.stack(&[]), StackId::EMPTY);
        assert_eq!(table.stack(&[a, b]), ab);
        assert_ne!(ab, b_alone);
        let names: Vec<_> = table
            .record_stack(ab)
            .iter()
            .map(|frame| frame.name.clone().map(Name::into_string))
            .collect();
        assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
        assert_eq!(table.record_stack(StackId::EMPTY), []);
        table.forget_stacks();
        assert_eq!(table.stack(&[b]), ab, "ids begin anew");
    }
}
