//! The levels that a heap profiler measured.

use serde::{Deserialize, Serialize};

use super::Count;

/// A snapshot of Massif's or a time stamp of heaptrack's. These are levels, not costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "snapshot")]
pub struct SnapshotRecord {
    /// Its number.
    pub snapshot: u64,
    /// When it was taken, in the run's `time_unit`. A number; some writers use fractions.
    pub time: serde_json::Number,
    /// Bytes asked for (`mem_heap_B`).
    pub heap_bytes: u64,
    /// Bytes of administration and rounding (`mem_heap_extra_B`).
    pub extra_bytes: u64,
    /// Bytes of stacks (`mem_stacks_B`).
    pub stacks_bytes: u64,
    /// Bytes of memory that the whole process held, of heaptrack's recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// `empty`, `detailed` or `peak`.
    pub detail: String,
    /// Of an xtree file, which has a snapshot for each of its events: the event, `curB` or `totBk`. The heap fields
    /// then hold that event's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// In a diff, the run that it is of: its position among the `runs` of the `run` record, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

impl SnapshotRecord {
    /// All bytes at that time: asked for, of administration, and of stacks. This is what Massif draws and ranks by.
    pub fn total(&self) -> Count {
        Count::from(self.heap_bytes)
            + Count::from(self.extra_bytes)
            + Count::from(self.stacks_bytes)
    }
}
