//! Interned frames and stacks with their costs.
//!
//! A stack is a linked list: [`StackLinkId`] identifies an innermost frame together with the stack of its callers. Stacks
//! with a common root share links, so memory grows with distinct links. A reader that gets the outermost frame first calls
//! [`StackTable::push`] for each frame. A reader that gets the innermost frame first collects the frames for
//! `StackTable::stack`.

use std::hash::{BuildHasher, Hash, Hasher};

use cg_collections::intern::{Id, Keys, Texts, TooMany};
use cg_names::demangle::demangle_path;
use cg_stream::record::{Count, Frame, FrameMarks, Name};
pub use cg_stream::rows::{FrameId, NameId};
use cg_stream::rows::{Named, RowTables, TableNumber};
use foldhash::fast::FixedState;

cg_collections::ids! {
    /// A stack with at least one frame.
    pub struct StackLinkId;
    /// A row: a stack with its thread, process and other keys.
    pub struct StackKeyId;
    /// The fields of a row except its stack.
    struct OriginId;
}

/// The fields of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameParts {
    /// The function.
    pub name: Option<NameId>,
    /// The source file.
    pub file: Option<NameId>,
    /// The line in the source file.
    pub line: Option<u64>,
    /// The object.
    pub obj: Option<NameId>,
    /// The address. Frames that differ only in it are different here, but equal for readers of the stream.
    pub addr: Option<u64>,
    /// Further properties: kernel, inlined …
    pub marks: FrameMarks,
}

/// The key under which costs are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackKey {
    /// The stack; `None` for a sample without frames.
    pub stack: Option<StackLinkId>,
    /// The thread's name.
    pub thread: Option<NameId>,
    /// The thread id.
    pub tid: Option<u64>,
    /// The process's name.
    pub process: Option<NameId>,
    /// The process id.
    pub pid: Option<u64>,
    /// True if the stack was estimated from a call graph.
    pub estimated: bool,
    /// True if the outer frames are missing, because the profiler did not unwind the whole stack.
    pub cut: bool,
    /// The time of the sample in ns since the start of the run; `None` unless samples are kept separate by time.
    pub time: Option<u64>,
    /// The labels of the sample, as text in the form of [`cg_stream::record::SampleLabels::text`].
    pub labels: Option<NameId>,
}

impl StackKey {
    /// Returns a key that consists only of a stack.
    pub fn from_stack(stack: Option<StackLinkId>) -> StackKey {
        StackKey {
            stack,
            ..StackKey::default()
        }
    }
}

/// A frame and the stack of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StackLink {
    frame: FrameId,
    outer: Option<StackLinkId>,
}

/// Hashes one word instead of one per field, which takes a third of the time. This is the most frequent lookup.
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

/// A stack and its origin.
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
    /// A cache: the last frame pushed onto each stack, and the resulting stack. The first entry is for the empty stack.
    /// Most functions have one call site, and the entries of their callees are adjacent.
    inner: Vec<Option<(FrameId, StackLinkId)>>,
    /// The rows without their stacks.
    origins: Keys<OriginId, StackKey>,
    last_origin: Option<(StackKey, OriginId)>,
    rows: Keys<StackKeyId, RowKey>,
    events: Vec<String>,
    /// One column per event. A column ends at the last row with a cost in it.
    costs: Vec<Vec<Count>>,
    /// The most recent stacks of [`StackTable::stack`], outermost frame first, each frame with the stack up to it. A hash
    /// of some outer frames selects the entry, so that different kinds of threads have separate entries.
    last: Vec<Vec<(FrameId, StackLinkId)>>,
    /// A direct-mapped cache for [`StackTable::stack`], by a hash of the frames. Most stacks recur soon.
    recent: Vec<RecentStack>,
    hasher: FixedState,
}

/// An entry of the cache of whole stacks.
#[derive(Clone, Default)]
struct RecentStack {
    frames: Vec<FrameId>,
    stack: Option<StackLinkId>,
}

/// The number of slots in `recent`.
const RECENT: usize = 4096;
/// The number of entries in `last`.
const SORTS: usize = 64;

impl StackTable {
    /// Creates an empty table with these events.
    pub fn new(events: impl IntoIterator<Item = impl Into<String>>) -> StackTable {
        let mut table = StackTable::default();
        for event in events {
            table.event(&event.into());
        }
        table
    }

    /// Returns the position of an event. Adds the event if it is new.
    pub fn event(&mut self, name: &str) -> usize {
        if let Some(known) = self.events.iter().position(|event| event == name) {
            return known;
        }
        self.events.push(name.to_owned());
        self.costs.push(Vec::new());
        self.events.len() - 1
    }

    /// Interns a name.
    #[inline]
    pub fn text(&mut self, name: &[u8]) -> Result<NameId, TooMany> {
        match std::str::from_utf8(name) {
            Ok(text) => self.texts.intern(text),
            Err(_) => self.texts.intern(&Name::from_bytes(name)),
        }
    }

    /// Interns a name; `None` if it is empty.
    #[inline]
    pub fn text_unless_empty(&mut self, name: &[u8]) -> Result<Option<NameId>, TooMany> {
        if name.is_empty() {
            return Ok(None);
        }
        self.text(name).map(Some)
    }

    /// Interns the name of a function, demangled if `is_demangled`; `None` if the name is empty.
    pub fn function(&mut self, name: &[u8], is_demangled: bool) -> Result<Option<NameId>, TooMany> {
        match is_demangled {
            true => self.text_unless_empty(&demangle_path(name)),
            false => self.text_unless_empty(name),
        }
    }

    /// Interns a frame.
    #[inline]
    pub fn frame(&mut self, frame: FrameParts) -> Result<FrameId, TooMany> {
        self.frames.intern(frame)
    }

    /// Joins several stacks into one, innermost first. If there are at least two, marks the frames of the first as kernel
    /// frames.
    pub(crate) fn join_with_kernel(
        &mut self,
        stacks: &[Vec<FrameId>],
    ) -> Result<Vec<FrameId>, TooMany> {
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

    /// Adds an innermost frame to a stack; `None` is the empty stack.
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

    /// Interns the stack of these frames, innermost first; `None` if there are no frames.
    ///
    /// Consecutive stacks usually share their outer frames, which are not looked up again.
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

    /// As [`StackTable::stack`], without the caches of whole stacks and pushed frames. For stacks that rarely recur.
    pub(crate) fn rare_stack(
        &mut self,
        frames: &[FrameId],
    ) -> Result<Option<StackLinkId>, TooMany> {
        self.push_all(frames, |table, outer, frame| {
            table.stacks.intern(StackLink { frame, outer })
        })
    }

    /// Pushes the frames of a stack, except the outer frames that it shares with the last stack of the same entry of `last`.
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

    /// Interns a row. A row is written even if no cost is added to it.
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

    /// Interns a row and adds to its cost.
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

    /// Adds to the cost of a row. The writer checks that the sum fits in 64 bits.
    #[inline]
    pub fn add(&mut self, row: StackKeyId, event: usize, count: Count) {
        *self.cost_mut(row, event) += count;
    }

    /// Returns the cost of a row for modification.
    #[inline]
    pub(crate) fn cost_mut(&mut self, row: StackKeyId, event: usize) -> &mut Count {
        let column = &mut self.costs[event];
        if column.len() <= row.index() {
            column.resize(row.index() + 1, 0);
        }
        &mut column[row.index()]
    }

    /// Multiplies all costs of an event. Returns false and changes nothing if a product exceeds 128 bits.
    pub(crate) fn multiply(&mut self, event: usize, by: Count) -> bool {
        let column = &mut self.costs[event];
        let fits = |cost: &Count| cost.checked_mul(by).is_some();
        let fit = column.iter().all(fits);
        if fit {
            column.iter_mut().for_each(|cost| *cost *= by);
        }
        fit
    }

    /// Reorders the events: moves the event at `order[n]` to `n`.
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

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns a row by its position.
    #[inline]
    pub fn row_at(&self, position: usize) -> StackKey {
        let RowKey { stack, origin } = self.rows.all()[position];
        let origin = *self.origins.get(origin);
        StackKey { stack, ..origin }
    }

    /// Returns the stack of a row by its position.
    #[inline]
    pub(crate) fn stack_at(&self, position: usize) -> Option<StackLinkId> {
        self.rows.all()[position].stack
    }

    /// Changes the fields of all rows except their stacks. `change` must not make two rows equal.
    ///
    /// # Errors
    /// Never returns an error, because the number of distinct rows does not change.
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

    /// Returns the cost of a row by its position.
    #[inline]
    pub fn cost(&self, row: usize, event: usize) -> Count {
        self.costs[event].get(row).copied().unwrap_or(0)
    }

    /// Iterates over all stored costs, of all rows and events.
    pub(crate) fn costs_mut(&mut self) -> impl Iterator<Item = &mut Count> {
        self.costs.iter_mut().flatten()
    }

    /// Returns all frames, in the order of their ids.
    pub fn frames(&self) -> &[FrameParts] {
        self.frames.all()
    }

    /// Returns the frames of a stack, innermost first.
    pub fn frames_of(&self, stack: Option<StackLinkId>) -> impl Iterator<Item = FrameId> {
        let mut rest = stack;
        std::iter::from_fn(move || {
            let node = self.stacks.get(rest?);
            rest = node.outer;
            Some(node.frame)
        })
    }

    /// Iterates over all stacks in the order of their ids. Each item is the stack of the callers and the innermost frame. A
    /// stack follows the stack of its callers.
    pub fn links(&self) -> impl Iterator<Item = (Option<StackLinkId>, FrameId)> {
        self.stacks
            .all()
            .iter()
            .map(|link| (link.outer, link.frame))
    }

    /// Returns the number of distinct stacks, including those that are only the callers of others.
    pub(crate) fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// Returns all texts, in the order of their ids.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.all()
    }

    /// Returns a text by its id.
    pub fn text_by_id(&self, text: NameId) -> &str {
        self.texts.text(text)
    }

    /// Returns a text by its id, or `None` for `None`.
    pub fn name(&self, text: Option<NameId>) -> Option<&str> {
        text.map(|text| self.text_by_id(text))
    }

    /// Converts a frame to the form of a record.
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
        Name::from(self.text_by_id(id))
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.record_frame(self.frames.get(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(table: &mut StackTable, name: &str) -> FrameId {
        let name = table.text_unless_empty(name.as_bytes()).unwrap();
        table
            .frame(FrameParts {
                name,
                ..FrameParts::default()
            })
            .unwrap()
    }

    #[test]
    fn a_stack_is_the_same_whichever_frame_comes_first() {
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
    fn each_stack_of_a_thread_is_one_row() {
        let mut table = StackTable::new(["cycles", "samples"]);
        let f = frame(&mut table, "f");
        let stack = table.stack(&[f]).unwrap();
        let worker = table.text_unless_empty(b"worker").unwrap();
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
