//! Sorting of records by time.
//!
//! perf reads the buffers of all processors in turn. Records within a round are not sorted, but no record in the next round
//! is older than the newest record of the previous round. So at the end of a round, all records are ready that are not newer
//! than the newest one of the previous round (`ordered-events.c`).

use std::ops::Range;

/// Waiting records.
#[derive(Default)]
pub(crate) struct Rounds {
    bytes: Vec<u8>,
    waiting: Vec<WaitingRecord>,
    /// The time up to which records become ready at the end of this round.
    until: u64,
    newest: u64,
}

/// A waiting record.
#[derive(Clone, Debug)]
struct WaitingRecord {
    time: u64,
    place: Range<usize>,
}

/// The maximum number of waiting bytes. Real rounds are as long as perf's buffers. In a recording without rounds, half of
/// the records become ready at this limit.
const MOST_WAITING: usize = 256 << 20;

impl Rounds {
    /// Adds a record with this time.
    pub(crate) fn push(&mut self, time: u64, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        let place = start..self.bytes.len();
        self.waiting.push(WaitingRecord { time, place });
        self.newest = self.newest.max(time);
    }

    /// Ends a round. Returns the number of ready records.
    pub(crate) fn finish_round(&mut self) -> usize {
        let until = std::mem::replace(&mut self.until, self.newest);
        self.sort();
        self.waiting.partition_point(|record| record.time <= until)
    }

    /// Returns the number of records that are ready because the limit is reached.
    pub(crate) fn overflow(&mut self) -> usize {
        if self.bytes.len() < MOST_WAITING {
            return 0;
        }
        self.sort();
        self.waiting.len().div_ceil(2)
    }

    /// Ends the recording. Returns the number of ready records: all.
    pub(crate) fn finish(&mut self) -> usize {
        self.sort();
        self.waiting.len()
    }

    /// Returns a ready record.
    pub(crate) fn record(&self, position: usize) -> &[u8] {
        &self.bytes[self.waiting[position].place.clone()]
    }

    /// Removes the first `count` records.
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
        // The sort is stable: records with equal times keep their order.
        self.waiting.sort_by_key(|record| record.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(rounds: &mut Rounds, times: &[(u64, &str)]) {
        for (time, record) in times {
            rounds.push(*time, record.as_bytes());
        }
    }

    /// Takes the first records.
    fn take(rounds: &mut Rounds, count: usize) -> Vec<String> {
        let record = |position| String::from_utf8(rounds.record(position).to_vec()).unwrap();
        let taken = (0..count).map(record).collect();
        rounds.forget(count);
        taken
    }

    #[test]
    fn records_are_ready_one_round_after_a_record_of_their_time() {
        let mut rounds = Rounds::default();
        push(&mut rounds, &[(5, "a"), (7, "b"), (6, "c")]);
        // Records of the next round may be as old as all of these.
        assert_eq!(rounds.finish_round(), 0);
        push(&mut rounds, &[(9, "d"), (7, "e"), (8, "f")]);
        let count = rounds.finish_round();
        assert_eq!(take(&mut rounds, count), ["a", "c", "b", "e"]);
        push(&mut rounds, &[(9, "g"), (12, "h")]);
        let count = rounds.finish_round();
        assert_eq!(take(&mut rounds, count), ["f", "d", "g"]);
        let count = rounds.finish();
        assert_eq!(take(&mut rounds, count), ["h"]);
        assert_eq!(rounds.finish(), 0);
    }

    #[test]
    fn round_without_records_makes_the_last_records_ready() {
        let mut rounds = Rounds::default();
        push(&mut rounds, &[(5, "a")]);
        assert_eq!(rounds.finish_round(), 0);
        assert_eq!(rounds.finish_round(), 1);
    }
}
