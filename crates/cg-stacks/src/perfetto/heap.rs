//! Heaps that heapprofd dumped. The figures of a dump count from when a process was first seen, and a dump can go on over several
//! packets; a later dump of the same process stands in the place of the one before.

use cg_reader::Error;
use cg_stream::maps::Map;
use cg_stream::record::Count;

use super::super::table::{StackKeyId, StackTable};
use super::super::wire::MessageBytes;
use super::names::WantedFields;

/// Bytes and blocks that were allocated and freed, and the bytes that lived when most did.
type DumpCounts = [u64; 5];

/// The events of a heap; what is live is what was allocated less what was freed.
const EVENTS: [(&str, usize, Option<usize>); 5] = [
    ("allocated_bytes", 0, None),
    ("live_bytes", 0, Some(1)),
    ("allocations", 2, None),
    ("live_allocations", 2, Some(3)),
    ("max_bytes", 4, None),
];

#[derive(Default)]
pub(super) struct Heaps {
    rows: Map<StackKeyId, HeapRow>,
    dump: u64,
}

/// What dumps said of a row.
#[derive(Clone, Copy, Default)]
struct HeapRow {
    /// The dump that it was in last.
    dump: u64,
    last: DumpCounts,
    /// The dump before.
    previous: DumpCounts,
    /// What was counted before heapprofd forgot the stack, as it does where all of it was freed, and counted it anew.
    forgotten: DumpCounts,
}

impl HeapRow {
    /// What was counted in all.
    fn settle(&mut self) -> DumpCounts {
        if self.last[0] < self.previous[0] {
            for (sum, count) in self.forgotten.iter_mut().zip(self.previous) {
                *sum = sum.saturating_add(count);
            }
        }
        self.previous = self.last;
        let mut sums = self.forgotten;
        for (sum, count) in sums.iter_mut().zip(self.last) {
            *sum = sum.saturating_add(count);
        }
        sums
    }
}

/// A stack of a heap.
pub(super) struct HeapSample {
    pub(super) callstack: u64,
    counts: DumpCounts,
}

impl HeapSample {
    pub(super) fn read(message: MessageBytes) -> Result<HeapSample, Error> {
        let [callstack, counts @ ..] = WantedFields::of(message, [1, 2, 3, 5, 6, 8])?.numbers;
        Ok(HeapSample { callstack, counts })
    }
}

impl Heaps {
    /// Says that the next sample is of another dump.
    pub(super) fn end_dump(&mut self) {
        self.dump += 1;
    }

    /// Takes a sample of the dump that is being read.
    pub(super) fn add(&mut self, row: StackKeyId, sample: &HeapSample) {
        let known = self.rows.entry(row).or_default();
        // Dumps are counted from 1, so that a new row is of none.
        if known.dump == self.dump + 1 {
            // Several stacks of a trace can be one of the stream.
            for (sum, count) in known.last.iter_mut().zip(sample.counts) {
                *sum = sum.saturating_add(count);
            }
            return;
        }
        known.settle();
        known.last = sample.counts;
        known.dump = self.dump + 1;
    }

    /// Adds what all dumps came to.
    pub(super) fn finish(self, table: &mut StackTable) {
        let mut sums: Vec<_> = self.rows.into_iter().collect();
        sums.sort_unstable_by_key(|(row, _)| *row);
        for (event, of, less) in EVENTS {
            let counts = sums.iter().map(|(row, counts)| {
                let mut counts = *counts;
                let counts = counts.settle();
                let less = less.map_or(0, |less| counts[less]);
                (
                    *row,
                    counts[of],
                    Count::from(counts[of]) - Count::from(less),
                )
            });
            let counts: Vec<_> = counts.collect();
            if counts.iter().any(|(_, all, _)| *all != 0) {
                let event = table.event(event);
                for (row, _, count) in counts {
                    table.add(row, event, count);
                }
            }
        }
    }

    /// The units of the events that are bytes.
    pub(super) fn units() -> impl Iterator<Item = &'static str> {
        let events = EVENTS.iter().map(|(event, ..)| *event);
        events.filter(|event| event.ends_with("_bytes"))
    }
}
