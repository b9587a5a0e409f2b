//! Records in the order of their times.
//!
//! perf reads the buffers of all processors in turn: what it writes in one round is not in order, but nothing in the next
//! round is older than the newest record of the round before. So at the end of a round all records are handed on that are not
//! newer than what the round before had (`ordered-events.c`).

use std::ops::Range;

/// Records that wait for their turn.
#[derive(Default)]
pub(crate) struct Rounds {
    bytes: Vec<u8>,
    waiting: Vec<WaitingRecord>,
    /// The time up to which the end of this round hands on.
    until: u64,
    newest: u64,
}

/// A record that waits.
#[derive(Clone, Debug)]
struct WaitingRecord {
    time: u64,
    place: Range<usize>,
}

/// How many bytes may wait. Real rounds are as long as perf's buffers are; a recording without rounds is handed on in halves.
const MOST_WAITING: usize = 256 << 20;

impl Rounds {
    /// Adds a record of this time.
    pub(crate) fn push(&mut self, time: u64, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        let place = start..self.bytes.len();
        self.waiting.push(WaitingRecord { time, place });
        self.newest = self.newest.max(time);
    }

    /// Ends a round: how many records are ready.
    pub(crate) fn finish_round(&mut self) -> usize {
        let until = std::mem::replace(&mut self.until, self.newest);
        self.sort();
        self.waiting.partition_point(|record| record.time <= until)
    }

    /// How many are ready because there is no room for more.
    pub(crate) fn overflow(&mut self) -> usize {
        if self.bytes.len() < MOST_WAITING {
            return 0;
        }
        self.sort();
        self.waiting.len().div_ceil(2)
    }

    /// How many are ready where nothing follows: all.
    pub(crate) fn finish(&mut self) -> usize {
        self.sort();
        self.waiting.len()
    }

    /// One of those that are ready.
    pub(crate) fn record(&self, position: usize) -> &[u8] {
        &self.bytes[self.waiting[position].place.clone()]
    }

    /// Forgets the first so many.
    pub(crate) fn forget(&mut self, count: usize) {
        self.waiting.drain(..count);
        let mut bytes = Vec::new();
        for record in &mut self.waiting {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[record.place.clone()]);
            record.place = start..bytes.len();
        }
        if bytes.is_empty() {
            self.bytes.clear();
        } else {
            self.bytes = bytes;
        }
    }

    fn sort(&mut self) {
        // Stable: records of one time stay as they were written.
        self.waiting.sort_by_key(|record| record.time);
    }
}
