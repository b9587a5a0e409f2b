//! The framing records: `run` first, `end` last.

use serde::{Deserialize, Serialize};

use super::{
    CostFacts, CounterFacts, Description, DhatFacts, HeaptrackFacts, ProcessFacts, SamplingFacts,
    ThreadFacts, Tool, Total,
};

/// Where a stream is from, what its events are called, and what they sum to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "run", default)]
pub struct RunRecord {
    /// Version of the stream's format: [`super::VERSION`].
    pub stream: u32,
    /// The tool whose output this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// The writer as it names itself, with its version: `callgrind-3.19.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// The command that was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The process that was profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The inputs this was read from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// In the stream of a diff: the names of the runs compared, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// Event names in file order.
    pub events: Vec<String>,
    /// The sum of self cost over the records of one type.
    pub total: Total,
    /// What the profile says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desc: Option<Description>,
    /// The threads that the producer names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadFacts>,
    /// What times are counted in, of a heap profile: `i`, `ms`, `instrs`, `µs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_unit: Option<String>,
    /// What only Callgrind and Cachegrind say.
    #[serde(flatten)]
    pub costs: CostFacts,
    /// What only Memcheck, Helgrind and DRD say.
    #[serde(flatten)]
    pub process: ProcessFacts,
    /// What only DHAT says.
    #[serde(flatten)]
    pub dhat: DhatFacts,
    /// What only counters say.
    #[serde(flatten)]
    pub counters: CounterFacts,
    /// What only heaptrack says.
    #[serde(flatten)]
    pub heaptrack: HeaptrackFacts,
    /// What only sampling profilers say.
    #[serde(flatten)]
    pub sampling: SamplingFacts,
    /// Fields that this version does not know, and those of a [`DiffSummary`](super::DiffSummary).
    #[serde(flatten, deserialize_with = "super::without_type")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl RunRecord {
    /// A run record of the current version, without anything else.
    pub fn new(tool: &str) -> RunRecord {
        RunRecord {
            stream: super::VERSION,
            tool: Some(Tool::from(tool)),
            ..RunRecord::default()
        }
    }

    /// True for the run record of a diff.
    pub fn is_diff(&self) -> bool {
        !self.runs.is_empty()
    }
}

/// The last record of a stream that is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "end", default)]
pub struct EndRecord {
    /// How many records were written between `run` and this one.
    pub records: u64,
}
