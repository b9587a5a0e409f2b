//! Interned frames and stacks, and what the stacks cost.
//!
//! A stack is a linked list: [`StackLinkId`] is the id of its innermost frame together with the stack of the callers.
//! Stacks with a common root share those links, so memory grows with what differs. Readers that meet a stack from its
//! root call [`StackTable::push`] frame by frame; those that meet its innermost frame first collect frames for
//! `StackTable::stack`.

use std::hash::{BuildHasher, Hash, Hasher};

use cg_names::demangle::demangle_path;
use cg_stream::intern::{Id, Keys, Texts, TooMany};
use cg_stream::record::{Count, Frame, FrameMarks, Name};
pub use cg_stream::rows::{FrameId, NameId};
use cg_stream::rows::{Named, RowTables, TableNumber};
use foldhash::fast::FixedState;

cg_stream::ids! {
    /// A stack that has a frame at least.
    pub struct StackLinkId;
    /// A stack of a thread, which has costs.
    pub struct StackKeyId;
    /// All that a row says besides its stack.
    struct OriginId;
}

/// What is known of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameParts {
    /// The function.
    pub name: Option<NameId>,
    /// The source file.
    pub file: Option<NameId>,
    /// The line in it.
    pub line: Option<u64>,
    /// The object.
    pub obj: Option<NameId>,
    /// Frames that differ only in their address are different here, but the same for readers of the stream.
    pub addr: Option<u64>,
    /// What else is known of it: kernel, inlined …
    pub marks: FrameMarks,
}

/// The key under which costs are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackKey {
    /// `None` of a sample without frames.
    pub stack: Option<StackLinkId>,
    /// The thread's name.
    pub thread: Option<NameId>,
    /// The thread's number.
    pub tid: Option<u64>,
    /// The process's name.
    pub process: Option<NameId>,
    /// The process.
    pub pid: Option<u64>,
    /// The stack was made from a graph of calls.
    pub estimated: bool,
    /// The producer did not follow the stack to its outermost frame.
    pub cut: bool,
    /// When the sample was taken, in ns since the run began, where samples are kept apart by it.
    pub time: Option<u64>,
    /// Its labels, as [`cg_stream::record::SampleLabels::text`] has them.
    pub labels: Option<NameId>,
}

impl StackKey {
    /// That of a stack of which no more is known.
    pub fn of(stack: Option<StackLinkId>) -> StackKey {
        StackKey {
            stack,
            ..StackKey::default()
        }
    }
}

/// A frame and what called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackLink {
    frame: FrameId,
    outer: Option<StackLinkId>,
}

/// Hashes one word instead of one per field, which takes a third of the time; no other lookup is as frequent.
impl Hash for StackLink {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(two_ids(self.outer, Some(self.frame)));
    }
}

/// Packs two ids into one word.
#[inline]
fn two_ids(a: Option<impl Id>, b: Option<impl Id>) -> u64 {
    let number = |index: Option<usize>| index.map_or(0, |index| index as u64 + 1);
    number(a.map(Id::index)) << 32 | number(b.map(Id::index))
}

/// A stack and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowKey {
    stack: Option<StackLinkId>,
    origin: OriginId,
}

impl Hash for RowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(two_ids(self.stack, Some(self.origin)));
    }
}

/// The stacks of a profile with their costs.
#[derive(Default)]
pub struct StackTable {
    number: TableNumber,
    texts: Texts<NameId>,
    frames: Keys<FrameId, FrameParts>,
    stacks: Keys<StackLinkId, StackLink>,
    /// Cache with one entry per stack, behind one for the empty stack: the frame that was pushed onto it last, and the
    /// resulting stack. Most functions are called from one place, and the entries of their callees are next to each
    /// other here.
    inner: Vec<Option<(FrameId, StackLinkId)>>,
    /// Rows without their stacks.
    origins: Keys<OriginId, StackKey>,
    last_origin: Option<(StackKey, OriginId)>,
    rows: Keys<StackKeyId, RowKey>,
    events: Vec<String>,
    /// A column an event. Each is as long as the last row that has a cost there.
    costs: Vec<Vec<Count>>,
    /// The stacks that [`StackTable::stack`] made last, outermost frame first, each frame with the stack up to it. A
    /// hash of some outer frames selects the entry, so that threads of several sorts can take turns.
    last: Vec<Vec<(FrameId, StackLinkId)>>,
    /// Direct-mapped cache of the stacks that it made, by a hash of their frames: most come again before long.
    recent: Vec<RecentStack>,
    hasher: FixedState,
}

/// A stack that was looked up.
#[derive(Clone, Default)]
struct RecentStack {
    frames: Vec<FrameId>,
    stack: Option<StackLinkId>,
}

/// Number of slots in `recent`, and number of entries in `last`.
const RECENT: usize = 4096;
const SORTS: usize = 64;

impl StackTable {
    /// A table without stacks whose costs are of these events.
    pub fn new(events: impl IntoIterator<Item = impl Into<String>>) -> StackTable {
        let mut table = StackTable::default();
        for event in events {
            table.event(&event.into());
        }
        table
    }

    /// The position of an event, new or known.
    pub fn event(&mut self, name: &str) -> usize {
        if let Some(known) = self.events.iter().position(|event| event == name) {
            return known;
        }
        self.events.push(name.to_owned());
        self.costs.push(Vec::new());
        self.events.len() - 1
    }

    /// A name as a profile has it.
    #[inline]
    pub fn text(&mut self, name: &[u8]) -> Result<NameId, TooMany> {
        match std::str::from_utf8(name) {
            Ok(text) => self.texts.intern(text),
            Err(_) => self.texts.intern(&Name::from_bytes(name)),
        }
    }

    /// A name, unless it is empty.
    #[inline]
    pub fn given(&mut self, name: &[u8]) -> Result<Option<NameId>, TooMany> {
        if name.is_empty() {
            return Ok(None);
        }
        self.text(name).map(Some)
    }

    /// The name of a function, demangled where that is wanted; `None` for an empty one.
    pub fn function(&mut self, name: &[u8], is_demangled: bool) -> Result<Option<NameId>, TooMany> {
        match is_demangled {
            true => self.given(&demangle_path(name)),
            false => self.given(name),
        }
    }

    /// A frame, new or known.
    #[inline]
    pub fn frame(&mut self, frame: FrameParts) -> Result<FrameId, TooMany> {
        self.frames.intern(frame)
    }

    /// Joins several stacks into one, innermost first. If there are at least two, the first is marked as the kernel's.
    pub(crate) fn with_kernel(&mut self, stacks: &[Vec<FrameId>]) -> Result<Vec<FrameId>, TooMany> {
        let Some((kernel, others)) = stacks
            .split_first()
            .filter(|(_, others)| !others.is_empty())
        else {
            return Ok(stacks.concat());
        };
        let marks = FrameMarks {
            kernel: true,
            ..FrameMarks::default()
        };
        let mut frames = Vec::new();
        for frame in kernel {
            let parts = *self.frames.get(*frame);
            frames.push(self.frames.intern(FrameParts { marks, ..parts })?);
        }
        frames.extend(others.concat());
        Ok(frames)
    }

    /// Extends a stack by a frame at its innermost end; `None` is the empty stack.
    #[inline]
    pub fn push(
        &mut self,
        outer: Option<StackLinkId>,
        frame: FrameId,
    ) -> Result<StackLinkId, TooMany> {
        let position = outer.map_or(0, |outer| outer.index() + 1);
        match self.inner.get(position) {
            Some(Some((known, stack))) if *known == frame => return Ok(*stack),
            Some(_) => {}
            None => self.inner.resize(position + 1, None),
        }
        let stack = self.stacks.intern(StackLink { frame, outer })?;
        self.inner[position] = Some((frame, stack));
        Ok(stack)
    }

    /// The stack of these frames, innermost first; `None` where there are none.
    ///
    /// Stacks that follow each other mostly have their outer frames in common, which are not looked up again.
    pub fn stack(&mut self, frames: &[FrameId]) -> Result<Option<StackLinkId>, TooMany> {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, RecentStack::default());
        }
        let slot = self.hasher.hash_one(frames) as usize % RECENT;
        let recent = &self.recent[slot];
        if recent.frames == frames {
            return Ok(recent.stack);
        }
        let stack = self.push_all(frames, StackTable::push)?;
        let recent = &mut self.recent[slot];
        recent.frames.clear();
        recent.frames.extend_from_slice(frames);
        recent.stack = stack;
        Ok(stack)
    }

    /// As [`StackTable::stack`], without the caches of whole stacks and pushed frames: for stacks that hardly come
    /// again.
    pub(crate) fn rare_stack(
        &mut self,
        frames: &[FrameId],
    ) -> Result<Option<StackLinkId>, TooMany> {
        self.push_all(frames, |table, outer, frame| {
            table.stacks.intern(StackLink { frame, outer })
        })
    }

    /// Pushes a stack frame by frame, except for the outer frames that it shares with the last stack of its sort.
    fn push_all(
        &mut self,
        frames: &[FrameId],
        push: impl Fn(&mut StackTable, Option<StackLinkId>, FrameId) -> Result<StackLinkId, TooMany>,
    ) -> Result<Option<StackLinkId>, TooMany> {
        let outermost_first = || frames.iter().rev();
        let sort = outermost_first().step_by(4).take(3);
        let sort = sort.fold(0usize, |sort, frame| sort.wrapping_mul(31) + frame.index());
        self.last.resize(SORTS, Vec::new());
        let mut last = std::mem::take(&mut self.last[sort % SORTS]);
        let known = outermost_first()
            .zip(&last)
            .take_while(|(frame, (last, _))| *frame == last)
            .count();
        last.truncate(known);
        let mut stack = last.last().map(|(_, stack)| *stack);
        for frame in outermost_first().skip(known) {
            let pushed = push(self, stack, *frame)?;
            last.push((*frame, pushed));
            stack = Some(pushed);
        }
        self.last[sort % SORTS] = last;
        Ok(stack)
    }

    /// The row of a stack of a thread, new or known. It is written even if nothing is added to it.
    #[inline]
    pub fn row(&mut self, row: StackKey) -> Result<StackKeyId, TooMany> {
        let stack = row.stack;
        let row = StackKey { stack: None, ..row };
        let origin = match self.last_origin {
            Some((last, origin)) if last == row => origin,
            _ => {
                let origin = self.origins.intern(row)?;
                self.last_origin = Some((row, origin));
                origin
            }
        };
        self.rows.intern(RowKey { stack, origin })
    }

    /// Adds to the cost of the row of a stack, new or known.
    #[inline]
    pub fn count(
        &mut self,
        key: StackKey,
        event: usize,
        count: Count,
    ) -> Result<StackKeyId, TooMany> {
        let row = self.row(key)?;
        self.add(row, event, count);
        Ok(row)
    }

    /// Adds to the cost of a row. Whether the sum fits in 64 bits is checked when it is written.
    #[inline]
    pub fn add(&mut self, row: StackKeyId, event: usize, count: Count) {
        *self.cost_mut(row, event) += count;
    }

    /// The cost of a row, to be changed.
    #[inline]
    pub(crate) fn cost_mut(&mut self, row: StackKeyId, event: usize) -> &mut Count {
        let column = &mut self.costs[event];
        if column.len() <= row.index() {
            column.resize(row.index() + 1, 0);
        }
        &mut column[row.index()]
    }

    /// Multiplies all costs of an event; false where one no longer fits in 128 bits, and then none is changed.
    pub(crate) fn multiply(&mut self, event: usize, by: Count) -> bool {
        let column = &mut self.costs[event];
        let fits = |cost: &Count| cost.checked_mul(by).is_some();
        let fit = column.iter().all(fits);
        if fit {
            column.iter_mut().for_each(|cost| *cost *= by);
        }
        fit
    }

    /// Puts the events in another order: the one at `order[n]` becomes the one at `n`.
    pub(crate) fn reorder_events(&mut self, order: &[usize]) {
        let events = order.iter().map(|event| self.events[*event].clone());
        self.events = events.collect();
        let costs = order
            .iter()
            .map(|event| std::mem::take(&mut self.costs[*event]));
        self.costs = costs.collect();
    }

    pub(crate) fn events(&self) -> &[String] {
        &self.events
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// A row by its position.
    #[inline]
    pub fn row_at(&self, position: usize) -> StackKey {
        let RowKey { stack, origin } = self.rows.all()[position];
        let origin = *self.origins.get(origin);
        StackKey { stack, ..origin }
    }

    /// The stack of a row by its position.
    #[inline]
    pub(crate) fn stack_at(&self, position: usize) -> Option<StackLinkId> {
        self.rows.all()[position].stack
    }

    /// Changes the fields of rows other than the stack. `change` must not make two of them equal.
    ///
    /// # Errors
    /// None: there are as many as before.
    pub(crate) fn change_rows(&mut self, change: impl Fn(&mut StackKey)) -> Result<(), TooMany> {
        let origins = std::mem::take(&mut self.origins);
        self.last_origin = None;
        for origin in origins.all() {
            let mut origin = *origin;
            change(&mut origin);
            self.origins.intern(origin)?;
        }
        debug_assert_eq!(origins.len(), self.origins.len());
        Ok(())
    }

    /// The cost of a row by its position.
    #[inline]
    pub fn cost(&self, row: usize, event: usize) -> Count {
        self.costs[event].get(row).copied().unwrap_or(0)
    }

    /// The costs of all rows that have any, of all events.
    pub(crate) fn costs_mut(&mut self) -> impl Iterator<Item = &mut Count> {
        self.costs.iter_mut().flatten()
    }

    /// All frames, in the order of their ids.
    pub fn frames(&self) -> &[FrameParts] {
        self.frames.all()
    }

    /// The frames of a stack, innermost first.
    pub fn frames_of(&self, stack: Option<StackLinkId>) -> impl Iterator<Item = FrameId> {
        let mut rest = stack;
        std::iter::from_fn(move || {
            let node = self.stacks.get(rest?);
            rest = node.outer;
            Some(node.frame)
        })
    }

    /// All stacks in the order of their ids, each as the stack that its innermost frame was called from, and that frame.
    /// A stack stands behind the one that it goes on from.
    pub fn links(&self) -> impl Iterator<Item = (Option<StackLinkId>, FrameId)> {
        self.stacks
            .all()
            .iter()
            .map(|link| (link.outer, link.frame))
    }

    /// How many different stacks there are, parts of others among them.
    pub(crate) fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// All texts, in the order of their ids.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.all()
    }

    /// A text by its id.
    pub fn text_of(&self, text: NameId) -> &str {
        self.texts.text(text)
    }

    /// A text, if there is one.
    pub fn name(&self, text: Option<NameId>) -> Option<&str> {
        text.map(|text| self.text_of(text))
    }

    /// A frame as records have it.
    pub(crate) fn record_frame(&self, frame: &FrameParts) -> Frame<'_> {
        let name = |text| self.name(text).map(Name::from);
        Frame {
            name: name(frame.name),
            file: name(frame.file),
            line: frame.line,
            obj: name(frame.obj),
            addr: frame.addr.map(|addr| Name::from(format!("{addr:#x}"))),
            ..Frame::default()
        }
        .with_marks(frame.marks)
    }
}

impl RowTables for StackTable {
    fn number(&self) -> TableNumber {
        self.number
    }

    fn name(&self, _: Named, id: NameId) -> Name<'_> {
        Name::from(self.text_of(id))
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.record_frame(self.frames.get(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(table: &mut StackTable, name: &str) -> FrameId {
        let name = table.given(name.as_bytes()).unwrap();
        table
            .frame(FrameParts {
                name,
                ..FrameParts::default()
            })
            .unwrap()
    }

    #[test]
    fn a_stack_is_the_same_from_either_end() {
        let mut table = StackTable::new(["samples"]);
        let [main, a, b] = ["main", "a", "b"].map(|name| frame(&mut table, name));
        for inwards in [vec![main, a, b], vec![main, b], vec![], vec![main, a, b, b]] {
            let mut pushed = None;
            for frame in &inwards {
                pushed = Some(table.push(pushed, *frame).unwrap());
            }
            let outwards: Vec<FrameId> = inwards.iter().rev().copied().collect();
            assert_eq!(table.stack(&outwards), Ok(pushed));
            assert_eq!(table.rare_stack(&outwards), Ok(pushed));
            assert_eq!(table.frames_of(pushed).collect::<Vec<_>>(), outwards);
        }
    }

    #[test]
    fn rows_are_of_a_stack_and_a_thread() {
        let mut table = StackTable::new(["cycles", "samples"]);
        let f = frame(&mut table, "f");
        let stack = table.stack(&[f]).unwrap();
        let worker = table.given(b"worker").unwrap();
        for (thread, count) in [(None, 3), (worker, 4), (None, 5)] {
            let row = StackKey {
                stack,
                thread,
                ..StackKey::default()
            };
            let row = table.row(row).unwrap();
            table.add(row, 0, count);
            table.add(row, 1, 1);
        }
        let costs = |event| [0, 1].map(|row| table.cost(row, event));
        assert_eq!((table.row_count(), costs(0), costs(1)), (2, [8, 4], [2, 1]));
    }
}
