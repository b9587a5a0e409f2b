//! The contents of the heap at some of the time stamps, at the peak and at the end.
//!
//! The length of a recording is unknown until its end, so the stamps to use for trees are chosen as Massif chooses its
//! snapshots. Every stamp has a tree until there are too many. Then every second tree is removed, and only every second
//! later stamp has a tree. A tree contains only the largest traces, so memory does not grow with the length of a recording.

use std::collections::BTreeMap;
use std::mem;

use cg_collections::sorting::Order as _;
use cg_reader::{Error, Out};
use cg_stream::record::{Count, Frame, Name, SnapshotRecord};
use cg_stream::rows::{Cells, FrameId, HeapRow, StackRef};

use super::replay::{AllocationKind, Replay};
use super::symbols::SymbolTables;
use super::timeline::Moment;
use crate::frames::{Blamed, FrameTable};

/// The maximum number of trees. If there are more, half of them are removed.
const MOST_TREES: usize = 128;
/// The maximum number of traces in a tree. The others are added up.
const MOST_TRACES: usize = 4_096;
/// The heap divided by this is the minimum size for a record of a trace or a function: 1 %, as in Massif.
const THRESHOLD: u64 = 100;

/// The trees of a recording.
#[derive(Debug)]
pub(super) struct HeapTrees {
    kept: Vec<(Moment, HeapTree)>,
    /// The interval in stamps between two trees.
    every: usize,
    /// The bytes of each trace. A buffer, in which all values are 0 between two trees.
    by_trace: Vec<u64>,
}

/// The contents of the heap at one moment.
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

    /// Processes the time stamp with this number.
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

    /// Adds the trees of the peak and of the last moment, after the whole recording has been read.
    pub(super) fn finish(&mut self, replay: &Replay, last: Moment) -> Result<(), Error> {
        if replay.peak().0 > 0 {
            let peak = self.tree(replay, |kind| kind.live_at_peak)?;
            self.kept.push((Moment::Peak, peak));
        }
        if self.get(last).is_none() {
            let end = self.tree(replay, |kind| kind.live)?;
            self.kept.push((last, end));
        }
        Ok(())
    }

    /// Returns the tree of a moment, if any.
    pub(super) fn get(&self, moment: Moment) -> Option<&HeapTree> {
        let mut kept = self.kept.iter();
        kept.find(|(kept, _)| *kept == moment).map(|(_, tree)| tree)
    }

    /// Returns the sum of all trees.
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
        // A trace with blocks of 0 bytes may be in `traces` twice.
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

/// A function to blame, by name, file and object.
type Site<'a> = (Option<Name<'a>>, Option<Name<'a>>, Option<Name<'a>>);

impl HeapTree {
    fn bytes(&self) -> Count {
        let traces = self.traces.iter().map(|(_, bytes)| Count::from(*bytes));
        traces.sum::<Count>() + Count::from(self.others.0)
    }

    /// Writes the `heap` records of a snapshot: one per large trace, one per function with many bytes in smaller traces, and
    /// one for all other traces. `event` is the position of the level event in the events of the run.
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
        let (mut rest, mut rest_places) = self.others;
        let mut sites: Vec<(Site, (u64, u64))> = sites.into_iter().collect();
        // The sites are already sorted by name, which decides between equal sizes.
        sites.order_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
        for ((name, file, obj), (bytes, places)) in sites {
            if name.is_none() || !is_large(bytes) {
                rest += bytes;
                rest_places += places;
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
            write(frames, Blamed::default(), rest, Some(rest_places), &[])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a heap with one live block for each size, each at a separate trace.
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
    fn trees_stay_few_and_evenly_spaced_for_many_stamps() {
        let replay = replay([1].into_iter());
        let mut trees = HeapTrees::new();
        for stamp in 1..=1_000_000 {
            trees.stamp(stamp, &replay).unwrap();
            assert!(trees.kept.len() <= MOST_TREES);
        }
        let expected: Vec<Moment> = (1..=1_000_000 / trees.every)
            .map(|at| Moment::Stamp(at * trees.every))
            .collect();
        assert_eq!(stamps(&trees), expected);
        assert!(expected.len() >= MOST_TREES / 2 - 1, "{}", expected.len());
        trees.finish(&replay, Moment::Stamp(1_000_000)).unwrap();
        let last = [Moment::Peak, Moment::Stamp(1_000_000)];
        assert_eq!(stamps(&trees)[expected.len()..], last);
    }

    #[test]
    fn the_smallest_traces_of_a_tree_are_added_up() {
        let sizes = 1..=MOST_TRACES as u64 + 3;
        let mut trees = HeapTrees::new();
        trees.stamp(1, &replay(sizes.clone())).unwrap();
        let tree = trees.get(Moment::Stamp(1)).unwrap();
        // The three smallest traces have 1, 2 and 3 bytes.
        assert_eq!(tree.others, (6, 3));
        assert_eq!(tree.traces.len(), MOST_TRACES);
        assert_eq!(tree.bytes(), Count::from(sizes.sum::<u64>()));
    }

    #[test]
    fn blocks_of_different_sizes_at_one_trace_are_added_up() {
        let mut replay = Replay::default();
        for size in [0, 3, 0, 5] {
            let kind = replay.add_kind(size, 1);
            replay.allocate(kind, kind as u64, 0).unwrap();
        }
        let mut trees = HeapTrees::new();
        for stamp in [1, 2] {
            trees.stamp(stamp, &replay).unwrap();
            let tree = trees.get(Moment::Stamp(stamp)).unwrap();
            assert_eq!(tree.traces, [(1, 8)]);
        }
    }
}
