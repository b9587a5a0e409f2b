//! Stacks by thread, with frames and stacks interned, for formats that have tables of their own.

use cg_names::whose::{CodeOwner, Facts};
use cg_stream::intern::{Id, Keys, Made, Texts, TooMany};
use cg_stream::maps::OrderedSet;
use cg_stream::record::{Count, Frame};
use cg_stream::tool::Diagnostics;

use super::{Held, Losses, StackNodeId, StackNodes, WrittenFrameId, WrittenStacks};

cg_stream::ids! {
    /// The name of a thread or process, or labels.
    pub(crate) struct PlaceId;
    struct StackRowId;
}

/// Where a stack was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Whereabouts {
    pub(crate) process: Option<PlaceId>,
    pub(crate) thread: Option<PlaceId>,
    pub(crate) pid: Option<u64>,
    pub(crate) tid: Option<u64>,
}

/// What makes two rows one.
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
    /// An entry a [column](WrittenStacks::columns).
    pub(crate) counts: &'r [Count],
}

/// The stacks of a profile.
pub(crate) struct StackRows {
    frames: OrderedSet<Frame<'static>>,
    /// By frame: whose code it is.
    owners: Vec<CodeOwner>,
    pub(crate) nodes: StackNodes,
    places: Texts<PlaceId>,
    rows: Keys<StackRowId, StackRowKey>,
    columns: usize,
    counts: Vec<Count>,
    /// What all stacks cost, by column.
    pub(crate) totals: Vec<Count>,
    /// The cost of estimated stacks, by column.
    pub(crate) estimated: Vec<Count>,
    pub(crate) losses: Losses,
}

impl StackRows {
    /// Says what the format lost of these stacks, and how much of them is estimated.
    pub(crate) fn say(&self, stacks: &WrittenStacks, diagnostics: &mut Diagnostics) {
        self.losses.say(stacks.holds, diagnostics);
        stacks.say_estimated(&self.estimated, &self.totals, diagnostics);
    }

    /// Adds up the stacks, as the format can hold them.
    ///
    /// # Errors
    /// Where there are more frames or stacks than ids.
    pub(crate) fn of(stacks: &WrittenStacks) -> Result<StackRows, TooMany> {
        StackRows::of_frames(stacks, |frame| stacks.holds.frame(frame))
    }

    /// The same; `hold` reduces a frame to what the format can hold.
    pub(crate) fn of_frames(
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
            rows.losses.note(&stack);
            frames.clear();
            for (number, frame) in stack.frames() {
                frames.push(made.of(number, || {
                    let held = hold(&stacks.written(frame)).into_owned();
                    let (position, is_new) = rows.frames.insert_full(held);
                    if is_new {
                        // Stable names do not tell whose they are.
                        rows.owners.push(Facts::of(frame).owner_alone());
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

    /// All frames, in the order of their ids.
    pub(crate) fn frames(&self) -> impl ExactSizeIterator<Item = &Frame<'static>> {
        self.frames.iter()
    }

    /// The frame of an id of this table.
    pub(crate) fn frame(&self, id: WrittenFrameId) -> &Frame<'static> {
        &self.frames[id.index()]
    }

    /// Whose code a frame is.
    pub(crate) fn owner(&self, id: WrittenFrameId) -> CodeOwner {
        self.owners[id.index()]
    }

    pub(crate) fn place(&self, name: PlaceId) -> &str {
        self.places.text(name)
    }

    /// Whether any sample has the time at which it was taken.
    pub(crate) fn has_times(&self) -> bool {
        self.rows.all().iter().any(|row| row.time.is_some())
    }

    /// All rows, in the order in which they were first met.
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

    /// The rows of each place in turn, the places in the order in which they were first met.
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
