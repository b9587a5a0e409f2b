//! The framing records: `run` first, `end` last.

use serde::{Deserialize, Serialize};

use super::{
    CostFacts, CounterFacts, Description, DhatFacts, HeaptrackFacts, ProcessFacts, SamplingFacts,
    ThreadFacts, Tool, Total,
};

/// The origin of a stream, its events and their totals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "run", default)]
pub struct RunRecord {
    /// The version of the stream's format: [`super::VERSION`].
    pub stream: u32,
    /// The tool that wrote the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// The profile's own name of its writer and its version: `callgrind-3.19.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// The command that was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The process that was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The inputs of the stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// The names of the compared runs in order, if this is the stream of a diff.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// Event names in file order.
    pub events: Vec<String>,
    /// The sum of self cost over the records of one type.
    pub total: Total,
    /// The profile's description of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desc: Option<Description>,
    /// The threads that the producer describes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadFacts>,
    /// The unit of times in a heap profile: `i`, `ms`, `instrs`, `µs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
    /// Fields that only Callgrind and Cachegrind have.
    #[serde(flatten)]
    pub costs: CostFacts,
    /// Fields that only Memcheck, Helgrind, DRD and the sanitizers have.
    #[serde(flatten)]
    pub process: ProcessFacts,
    /// Fields that only DHAT has.
    #[serde(flatten)]
    pub dhat: DhatFacts,
    /// Fields that only hardware counters have.
    #[serde(flatten)]
    pub counters: CounterFacts,
    /// Fields that only heaptrack has.
    #[serde(flatten)]
    pub heaptrack: HeaptrackFacts,
    /// Fields that only sampling profilers have.
    #[serde(flatten)]
    pub sampling: SamplingFacts,
    /// Unknown fields, and the fields of a [`DiffSummary`](super::DiffSummary).
    #[serde(flatten, deserialize_with = "super::without_type")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl RunRecord {
    /// Creates a run record of the current version with only the tool's name.
    pub fn new(tool: &str) -> RunRecord {
        RunRecord {
            stream: super::VERSION,
            tool: Some(Tool::from(tool)),
            ..RunRecord::default()
        }
    }

    /// Returns true if this is the run record of a diff.
    pub fn is_diff(&self) -> bool {
        !self.runs.is_empty()
    }
}

/// The last record of a complete stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "end", default)]
pub struct EndRecord {
    /// The number of records between `run` and this record.
    pub records: u64,
}
