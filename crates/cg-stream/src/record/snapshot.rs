//! The heap sizes that a heap profiler measured at one time.

use serde::{Deserialize, Serialize};

use super::Count;

/// A snapshot of Massif or a time stamp of heaptrack. Its figures are sizes at that time, not costs, so they are not added
/// up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "snapshot")]
pub struct SnapshotRecord {
    /// The snapshot's number.
    pub snapshot: u64,
    /// The time of the snapshot, in the run's `time_unit`. Not always an integer: some writers use fractions.
    pub time: serde_json::Number,
    /// Bytes that the program requested (`mem_heap_B`).
    pub heap_bytes: u64,
    /// Bytes of administration and rounding (`mem_heap_extra_B`).
    pub extra_bytes: u64,
    /// Bytes of stacks (`mem_stacks_B`).
    pub stacks_bytes: u64,
    /// Resident bytes of the whole process, in recordings of heaptrack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// `empty`, `detailed` or `peak`.
    pub detail: String,
    /// The event, such as `curB` or `totBk`, if the input is an xtree file, which has a snapshot for each of its events.
    /// Then the heap fields contain that event's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The run of the snapshot in a diff, as a position in `runs` of the `run` record, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
}

impl SnapshotRecord {
    /// Returns all bytes at that time: requested bytes, administration, and stacks. Massif draws and sorts by this number.
    pub fn total(&self) -> Count {
        Count::from(self.heap_bytes)
            + Count::from(self.extra_bytes)
            + Count::from(self.stacks_bytes)
    }
}
