//! Stacks by thread, with frames and stacks interned, for formats that have tables of their own.

use cg_stream::intern::{Id, Keys, Made, Texts, TooMany};
use cg_stream::record::{Count, Frame};
use foldhash::fast::FixedState;
use indexmap::IndexSet;

use super::{Losses, StackNodeId, StackNodes, WrittenFrameId, WrittenStacks};

cg_stream::ids! {
    /// The name of a thread or process.
    pub(crate) struct PlaceId;
    struct StackRowId;
}

/// Where a stack was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Whereabouts {
    pub(crate) process: Option<PlaceId>,
    pub(crate) thread: Option<PlaceId>,
}

/// A stack at a place, with its counts.
#[derive(Clone, Copy)]
pub(crate) struct StackRow<'r> {
    pub(crate) node: StackNodeId,
    pub(crate) place: Whereabouts,
    /// An entry a [column](WrittenStacks::columns).
    pub(crate) counts: &'r [Count],
}

/// The stacks of a profile.
pub(crate) struct StackRows {
    frames: IndexSet<Frame<'static>, FixedState>,
    pub(crate) nodes: StackNodes,
    places: Texts<PlaceId>,
    rows: Keys<StackRowId, (StackNodeId, Whereabouts)>,
    columns: usize,
    counts: Vec<Count>,
    /// What all stacks cost, by column.
    pub(crate) totals: Vec<Count>,
    /// The cost of estimated stacks, by column.
    pub(crate) estimated: Vec<Count>,
    pub(crate) losses: Losses,
}

impl StackRows {
    /// Adds up the stacks. `hold` reduces a frame to what the format can hold.
    ///
    /// # Errors
    /// Where there are more frames or stacks than ids.
    pub(crate) fn of(
        stacks: &WrittenStacks,
        hold: impl for<'f> Fn(&Frame<'f>) -> Frame<'f>,
    ) -> Result<StackRows, TooMany> {
        let columns = stacks.columns();
        let mut rows = StackRows {
            frames: IndexSet::default(),
            nodes: StackNodes::new(0),
            places: Texts::default(),
            rows: Keys::default(),
            columns,
            counts: Vec::new(),
            totals: vec![0; columns],
            estimated: vec![0; columns],
            losses: Losses::default(),
        };
        let mut frames = Vec::new();
        let mut made = Made::default();
        stacks.each(|stack| {
            rows.losses.note(&stack);
            frames.clear();
            for (number, frame) in stack.frames() {
                frames.push(made.of(number, || {
                    let held = hold(&stacks.written(frame)).into_owned();
                    WrittenFrameId::at(rows.frames.insert_full(held).0)
                })?);
            }
            let mut place =
                |name: Option<&str>| name.map(|name| rows.places.intern(name)).transpose();
            let place = Whereabouts {
                process: place(stack.process)?,
                thread: place(stack.thread)?,
            };
            let Some(node) = rows.nodes.stack(&frames)? else {
                return Ok(());
            };
            let row = rows.rows.intern((node, place))?.index();
            rows.counts.resize(rows.rows.len() * columns, 0);
            let sums = &mut rows.counts[row * columns..];
            for (column, count) in stack.counts.iter().enumerate() {
                sums[column] += count;
                rows.totals[column] += count;
                if stack.is_estimated {
                    rows.estimated[column] += count;
                }
            }
            Ok(())
        })?;
        rows.nodes.close();
        rows.rows.close();
        Ok(rows)
    }

    /// All frames, in the order of their ids.
    pub(crate) fn frames(&self) -> impl ExactSizeIterator<Item = &Frame<'static>> {
        self.frames.iter()
    }

    /// The frame of an id of this table.
    pub(crate) fn frame(&self, id: WrittenFrameId) -> &Frame<'static> {
        &self.frames[id.index()]
    }

    pub(crate) fn place(&self, name: PlaceId) -> &str {
        self.places.text(name)
    }

    /// All rows, in the order in which they were first met.
    pub(crate) fn all(&self) -> impl Iterator<Item = StackRow<'_>> {
        let counts = self.counts.chunks_exact(self.columns.max(1));
        let keys = self.rows.all().iter().zip(counts);
        keys.map(|((node, place), counts)| StackRow {
            node: *node,
            place: *place,
            counts,
        })
    }

    /// The places, in the order in which they were first met.
    pub(crate) fn places(&self) -> Vec<Whereabouts> {
        let mut places: IndexSet<Whereabouts, FixedState> = IndexSet::default();
        places.extend(self.rows.all().iter().map(|(_, place)| *place));
        places.into_iter().collect()
    }
}
