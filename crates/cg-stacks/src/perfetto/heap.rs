//! Heap dumps of heapprofd. A dump counts from the time at which heapprofd first saw the process, and may consist of several
//! packets. A later dump of the same process replaces the earlier one.

use cg_collections::maps::Map;
use cg_reader::Error;
use cg_stream::record::Count;

use super::super::table::{StackKeyId, StackTable};
use super::super::wire::MessageBytes;
use super::names::WantedFields;

/// Allocated bytes, freed bytes, allocated blocks, freed blocks, and the maximum of live bytes.
type DumpCounts = [u64; 5];

/// The events of a heap: the name, the count, and the count to subtract. Live memory is allocated minus freed memory.
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

/// The counts of a row in the dumps.
#[derive(Clone, Copy, Default)]
struct HeapRow {
    /// The last dump with this row.
    dump: u64,
    last: DumpCounts,
    /// The counts in the dump before `last`.
    previous: DumpCounts,
    /// Earlier counts that are no longer in `last`: heapprofd forgets a stack when all its memory is freed, and later counts
    /// it from zero.
    forgotten: DumpCounts,
}

impl HeapRow {
    /// Returns the total counts.
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
        let [callstack, counts @ ..] = WantedFields::read(message, [1, 2, 3, 5, 6, 8])?.numbers;
        Ok(HeapSample { callstack, counts })
    }
}

impl Heaps {
    /// Ends the current dump.
    pub(super) fn end_dump(&mut self) {
        self.dump += 1;
    }

    /// Adds a sample of the current dump.
    pub(super) fn add(&mut self, row: StackKeyId, sample: &HeapSample) {
        let known = self.rows.entry(row).or_default();
        // Dumps are numbered from 1, so a new row has no dump.
        if known.dump == self.dump + 1 {
            // Several stacks of the trace can be the same stack in the stream.
            for (sum, count) in known.last.iter_mut().zip(sample.counts) {
                *sum = sum.saturating_add(count);
            }
            return;
        }
        known.settle();
        known.last = sample.counts;
        known.dump = self.dump + 1;
    }

    /// Adds the totals over all dumps to the table.
    pub(super) fn finish(self, table: &mut StackTable) {
        let mut sums: Vec<_> = self.rows.into_iter().collect();
        sums.sort_unstable_by_key(|(row, _)| *row);
        for (event, plus, minus) in EVENTS {
            let counts = sums.iter().map(|(row, counts)| {
                let mut counts = *counts;
                let counts = counts.settle();
                let subtracted = minus.map_or(0, |minus| counts[minus]);
                (
                    *row,
                    counts[plus],
                    Count::from(counts[plus]) - Count::from(subtracted),
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

    /// Returns the events that count bytes.
    pub(super) fn units() -> impl Iterator<Item = &'static str> {
        let events = EVENTS.iter().map(|(event, ..)| *event);
        events.filter(|event| event.ends_with("_bytes"))
    }
}
