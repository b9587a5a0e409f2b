//! What the heap consisted of while the program ran: at some of the time stamps, at the peak and at the end.
//!
//! How long a recording is, and so which stamps are worth a tree, is known only when it ends. As Massif does with its
//! snapshots, every stamp has a tree until there are too many; then every second tree goes, and from there on every second
//! stamp has one. Of a tree the traces that hold most are kept, so memory does not go with the length of the recording.

use std::collections::BTreeMap;
use std::mem;

use cg_reader::{Error, Out};
use cg_stream::record::{Count, Frame, Name, SnapshotRecord};
use cg_stream::rows::{Cells, FrameId, HeapRow, StackRef};
use cg_stream::sorting::Order as _;

use super::replay::{AllocationKind, Replay};
use super::symbols::SymbolTables;
use super::timeline::Moment;
use crate::frames::{Blamed, FrameTable};

/// More trees than this are never held; half of them stay then.
const MOST_TREES: usize = 128;
/// How many traces of a tree are told apart.
const MOST_TRACES: usize = 4_096;
/// One of so many of the heap's bytes is what a trace or a function has to hold for a record of its own: Massif's 1 %.
const THRESHOLD: u64 = 100;

/// The trees of a recording.
#[derive(Debug)]
pub(super) struct HeapTrees {
    kept: Vec<(Moment, HeapTree)>,
    /// Every n-th stamp has a tree; this is n.
    every: usize,
    /// Bytes by trace, all 0 between two trees.
    by_trace: Vec<u64>,
}

/// What holds the bytes of the heap at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeapTree {
    /// Traces and their bytes.
    traces: Vec<(u32, u64)>,
    /// The bytes of all other traces, and the number of these traces.
    others: (u64, u64),
}

impl HeapTrees {
    pub(super) fn new() -> HeapTrees {
        HeapTrees {
            kept: Vec::new(),
            every: 1,
            by_trace: Vec::new(),
        }
    }

    /// A time stamp was read, the one of this number.
    pub(super) fn stamp(&mut self, stamp: usize, replay: &Replay) -> Result<(), Error> {
        if !stamp.is_multiple_of(self.every) {
            return Ok(());
        }
        let tree = self.tree(replay, |kind| kind.live)?;
        self.kept.push((Moment::Stamp(stamp), tree));
        if self.kept.len() > MOST_TREES {
            self.every *= 2;
            let every = self.every;
            self.kept.retain(|(moment, _)| match moment {
                Moment::Stamp(stamp) => stamp.is_multiple_of(every),
                Moment::Peak | Moment::End => true,
            });
        }
        Ok(())
    }

    /// All was read: adds the trees of the peak and of the last moment.
    pub(super) fn finish(&mut self, replay: &Replay, last: Moment) -> Result<(), Error> {
        if replay.peak().0 > 0 {
            let peak = self.tree(replay, |kind| kind.live_at_peak)?;
            self.kept.push((Moment::Peak, peak));
        }
        if self.of(last).is_none() {
            let end = self.tree(replay, |kind| kind.live)?;
            self.kept.push((last, end));
        }
        Ok(())
    }

    /// The tree of a moment, if it has one.
    pub(super) fn of(&self, moment: Moment) -> Option<&HeapTree> {
        let mut kept = self.kept.iter();
        kept.find(|(kept, _)| *kept == moment).map(|(_, tree)| tree)
    }

    /// The sum of all trees.
    pub(super) fn bytes(&self) -> Count {
        self.kept.iter().map(|(_, tree)| tree.bytes()).sum()
    }

    fn tree(
        &mut self,
        replay: &Replay,
        blocks: fn(&AllocationKind) -> u64,
    ) -> Result<HeapTree, Error> {
        let mut traces = Vec::new();
        for kind in replay.kinds() {
            let blocks = blocks(kind);
            if blocks == 0 {
                continue;
            }
            let trace = kind.trace as usize;
            if trace >= self.by_trace.len() {
                self.by_trace.resize(trace + 1, 0);
            }
            if self.by_trace[trace] == 0 {
                traces.push(kind.trace);
            }
            // The whole heap fits in 64 bits.
            self.by_trace[trace] += kind.bytes(blocks)?;
        }
        // A trace whose blocks have no bytes may be among them twice.
        let take = |trace: u32| (trace, mem::take(&mut self.by_trace[trace as usize]));
        let mut traces: Vec<(u32, u64)> = traces.into_iter().map(take).collect();
        traces.retain(|(_, bytes)| *bytes > 0);
        let rank = |(trace, bytes): &(u32, u64)| (std::cmp::Reverse(*bytes), *trace);
        let mut others = (0, 0);
        if traces.len() > MOST_TRACES {
            traces.select_nth_unstable_by_key(MOST_TRACES, rank);
            let small = traces.split_off(MOST_TRACES);
            others = (
                small.iter().map(|(_, bytes)| bytes).sum(),
                small.len() as u64,
            );
        }
        traces.order_by_key(rank);
        Ok(HeapTree { traces, others })
    }
}

/// A function that traces are to blame on.
type Site<'a> = (Option<Name<'a>>, Option<Name<'a>>, Option<Name<'a>>);

impl HeapTree {
    fn bytes(&self) -> Count {
        let traces = self.traces.iter().map(|(_, bytes)| Count::from(*bytes));
        traces.sum::<Count>() + Count::from(self.others.0)
    }

    /// Writes the `heap` records of a snapshot: one a trace that holds much, one a function to blame for much in smaller
    /// traces, and one for all others. The run's events have that of levels at this position.
    pub(super) fn write<'a>(
        &self,
        snapshot: &SnapshotRecord,
        symbols: &'a SymbolTables,
        frames: &mut FrameTable<'a>,
        event: usize,
        out: &mut Out,
    ) -> Result<(), Error> {
        let is_large = |bytes: u64| bytes >= snapshot.heap_bytes.div_ceil(THRESHOLD);
        let mut write =
            |frames: &FrameTable, blamed: Blamed, bytes: u64, places, stack: &[FrameId]| {
                let cost = [Count::from(bytes)];
                let row = HeapRow {
                    name: blamed.name,
                    file: blamed.file,
                    line: blamed.line,
                    obj: blamed.obj,
                    snapshot: snapshot.snapshot,
                    peak: snapshot.detail == "peak",
                    places,
                    cost: Cells::From(event, &cost),
                    stack: StackRef::Ids(stack),
                };
                out.row(row, frames)
            };
        let mut stack = Vec::new();
        let mut sites: BTreeMap<Site, (u64, u64)> = BTreeMap::new();
        for (trace, bytes) in &self.traces {
            symbols.stack(*trace, &mut stack);
            let blamed = frames.to_blame(&stack);
            if is_large(*bytes) {
                write(frames, frames.blamed(blamed), *bytes, None, &stack)?;
            } else {
                let frame = blamed.map(|blamed| frames.get(blamed).clone());
                let frame = frame.unwrap_or_default();
                let site = sites.entry((frame.name, frame.file, frame.obj));
                let (sum, places) = site.or_default();
                *sum += bytes;
                *places += 1;
            }
        }
        let (mut rest, mut places_of_rest) = self.others;
        let mut sites: Vec<(Site, (u64, u64))> = sites.into_iter().collect();
        // Of equals the names decide, which they are in the order of.
        sites.order_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
        for ((name, file, obj), (bytes, places)) in sites {
            if name.is_none() || !is_large(bytes) {
                rest += bytes;
                places_of_rest += places;
                continue;
            }
            let frame = frames.add(Frame {
                name,
                file,
                obj,
                ..Frame::default()
            })?;
            write(
                frames,
                frames.blamed(Some(frame)),
                bytes,
                Some(places),
                &[frame],
            )?;
        }
        if rest > 0 {
            write(frames, Blamed::default(), rest, Some(places_of_rest), &[])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heap with one kind of allocation for each size, each at a trace of its own, of which one block lives.
    fn replay(sizes: impl Iterator<Item = u64>) -> Replay {
        let mut replay = Replay::default();
        for (trace, size) in (1..).zip(sizes) {
            let kind = replay.add_kind(size, trace);
            replay.allocate(kind, kind as u64, 0).unwrap();
        }
        replay.finish();
        replay
    }

    fn stamps(trees: &HeapTrees) -> Vec<Moment> {
        trees.kept.iter().map(|(moment, _)| *moment).collect()
    }

    #[test]
    fn however_many_stamps_there_are_trees_stay_few_and_evenly_apart() {
        let replay = replay([1].into_iter());
        let mut trees = HeapTrees::new();
        for stamp in 1..=1_000_000 {
            trees.stamp(stamp, &replay).unwrap();
            assert!(trees.kept.len() <= MOST_TREES);
        }
        let apart: Vec<Moment> = (1..=1_000_000 / trees.every)
            .map(|at| Moment::Stamp(at * trees.every))
            .collect();
        assert_eq!(stamps(&trees), apart);
        assert!(apart.len() >= MOST_TREES / 2 - 1, "{}", apart.len());
        trees.finish(&replay, Moment::Stamp(1_000_000)).unwrap();
        let last = [Moment::Peak, Moment::Stamp(1_000_000)];
        assert_eq!(stamps(&trees)[apart.len()..], last);
    }

    #[test]
    fn what_is_not_told_apart_is_counted() {
        let sizes = 1..=MOST_TRACES as u64 + 3;
        let mut trees = HeapTrees::new();
        trees.stamp(1, &replay(sizes.clone())).unwrap();
        let tree = trees.of(Moment::Stamp(1)).unwrap();
        // The three smallest: 1, 2 and 3 bytes.
        assert_eq!(tree.others, (6, 3));
        assert_eq!(tree.traces.len(), MOST_TRACES);
        assert_eq!(tree.bytes(), Count::from(sizes.sum::<u64>()));
    }

    #[test]
    fn blocks_of_one_trace_are_one_however_large_they_are() {
        let mut replay = Replay::default();
        for size in [0, 3, 0, 5] {
            let kind = replay.add_kind(size, 1);
            replay.allocate(kind, kind as u64, 0).unwrap();
        }
        let mut trees = HeapTrees::new();
        for stamp in [1, 2] {
            trees.stamp(stamp, &replay).unwrap();
            let tree = trees.of(Moment::Stamp(stamp)).unwrap();
            assert_eq!(tree.traces, [(1, 8)]);
        }
    }
}
