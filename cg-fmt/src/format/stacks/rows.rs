//! Stacks by thread with interned frames and stacks, for formats with tables.

use cg_collections::intern::{Id, Keys, Made, Texts, TooMany};
use cg_collections::maps::OrderedSet;
use cg_names::code_origin::{CodeOwner, Facts};
use cg_stream::record::{Count, Frame};
use cg_tool::Diagnostics;

use super::{Held, Losses, StackNodeId, StackNodes, WrittenFrameId, WrittenStacks};

cg_collections::ids! {
    /// The name of a thread or process, or the labels of a sample.
    pub(crate) struct PlaceId;
    struct StackRowId;
}

/// The thread and process of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Whereabouts {
    pub(crate) process: Option<PlaceId>,
    pub(crate) thread: Option<PlaceId>,
    pub(crate) pid: Option<u64>,
    pub(crate) tid: Option<u64>,
}

/// The key of a row. Stacks with equal keys are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackRowKey {
    node: StackNodeId,
    place: Whereabouts,
    labels: Option<PlaceId>,
    time: Option<u64>,
}

/// A stack at a place, with its counts.
#[derive(Clone, Copy)]
pub(crate) struct StackRow<'r> {
    pub(crate) node: StackNodeId,
    pub(crate) place: Whereabouts,
    pub(crate) labels: Option<PlaceId>,
    pub(crate) time: Option<u64>,
    /// One entry per [column](WrittenStacks::columns).
    pub(crate) counts: &'r [Count],
}

/// The stacks of a profile.
pub(crate) struct StackRows {
    frames: OrderedSet<Frame<'static>>,
    /// The owner of each frame.
    owners: Vec<CodeOwner>,
    pub(crate) nodes: StackNodes,
    places: Texts<PlaceId>,
    rows: Keys<StackRowId, StackRowKey>,
    columns: usize,
    counts: Vec<Count>,
    /// The cost of all stacks, by column.
    pub(crate) totals: Vec<Count>,
    /// The cost of estimated stacks, by column.
    pub(crate) estimated: Vec<Count>,
    pub(crate) losses: Losses,
}

impl StackRows {
    /// Warns about properties that the format cannot hold, and about estimated stacks.
    pub(crate) fn warn(&self, stacks: &WrittenStacks, diagnostics: &mut Diagnostics) {
        self.losses.warn(stacks.holds, diagnostics);
        stacks.warn_about_estimates(&self.estimated, &self.totals, diagnostics);
    }

    /// Adds up the stacks, with the properties that the format can hold.
    ///
    /// # Errors
    /// Returns an error if there are more frames or stacks than ids.
    pub(crate) fn collect(stacks: &WrittenStacks) -> Result<StackRows, TooMany> {
        StackRows::collect_frames(stacks, |frame| stacks.holds.frame(frame))
    }

    /// Adds up the stacks. `hold` reduces a frame to the properties that the format can hold.
    pub(crate) fn collect_frames(
        stacks: &WrittenStacks,
        hold: impl for<'f> Fn(&Frame<'f>) -> Frame<'f>,
    ) -> Result<StackRows, TooMany> {
        let (columns, holds) = (stacks.columns(), stacks.holds);
        let mut rows = StackRows {
            frames: OrderedSet::default(),
            owners: Vec::new(),
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
            rows.losses.record(&stack);
            frames.clear();
            for (number, frame) in stack.frames() {
                frames.push(made.get_or_make(number, || {
                    let held = hold(&stacks.written(frame)).into_owned();
                    let (position, is_new) = rows.frames.insert_full(held);
                    if is_new {
                        // Use the original frame, because stable names lack paths that show the owner.
                        rows.owners
                            .push(Facts::from_frame(frame).owner_without_context());
                    }
                    WrittenFrameId::at(position)
                })?);
            }
            let mut place =
                |name: Option<&str>| name.map(|name| rows.places.intern(name)).transpose();
            let (process, thread) = (place(stack.process)?, place(stack.thread)?);
            let labels = place(stack.labels.filter(|_| holds.has(Held::Labels)))?;
            let Some(node) = rows.nodes.stack(&frames)? else {
                return Ok(());
            };
            let key = StackRowKey {
                node,
                place: Whereabouts {
                    process,
                    thread,
                    pid: stack.pid.filter(|_| holds.has(Held::Numbers)),
                    tid: stack.tid.filter(|_| holds.has(Held::Numbers)),
                },
                labels,
                time: stack.time.filter(|_| holds.has(Held::Times)),
            };
            let row = rows.rows.intern(key)?.index();
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

    /// Iterates over all frames, in the order of their ids.
    pub(crate) fn frames(&self) -> impl ExactSizeIterator<Item = &Frame<'static>> {
        self.frames.iter()
    }

    /// Returns the frame of an id.
    pub(crate) fn frame(&self, id: WrittenFrameId) -> &Frame<'static> {
        &self.frames[id.index()]
    }

    /// Returns the owner of a frame's code.
    pub(crate) fn owner(&self, id: WrittenFrameId) -> CodeOwner {
        self.owners[id.index()]
    }

    pub(crate) fn place(&self, name: PlaceId) -> &str {
        self.places.text(name)
    }

    /// Returns true if any sample has a time.
    pub(crate) fn has_times(&self) -> bool {
        self.rows.all().iter().any(|row| row.time.is_some())
    }

    /// Iterates over all rows, in order of first occurrence.
    pub(crate) fn all(&self) -> impl Iterator<Item = StackRow<'_>> {
        let counts = self.counts.chunks_exact(self.columns.max(1));
        let keys = self.rows.all().iter().zip(counts);
        keys.map(|(key, counts)| StackRow {
            node: key.node,
            place: key.place,
            labels: key.labels,
            time: key.time,
            counts,
        })
    }

    /// Returns the rows of each place. Places and rows are in order of first occurrence.
    pub(crate) fn by_place(&self) -> Vec<(Whereabouts, Vec<StackRow<'_>>)> {
        let mut places: OrderedSet<Whereabouts> = OrderedSet::default();
        let mut rows: Vec<Vec<StackRow>> = Vec::new();
        for row in self.all() {
            let (position, is_new) = places.insert_full(row.place);
            if is_new {
                rows.push(Vec::new());
            }
            rows[position].push(row);
        }
        places.into_iter().zip(rows).collect()
    }
}
