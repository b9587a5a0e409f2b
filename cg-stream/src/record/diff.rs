//! What cg-diff writes: one record compared over several runs.

use serde::{Deserialize, Serialize};

use super::{Callee, CountsPerRun, Frame, Name, PerRun};

/// What became of a record between the first run and the last.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Both have it and some count differs.
    #[default]
    Changed,
    /// Only the last has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it under different names; a guess, told by `was`.
    Renamed,
    /// Both have it and all counts are equal.
    Same,
}

impl Status {
    /// The word in the stream.
    pub fn name(self) -> &'static str {
        match self {
            Status::Changed => "changed",
            Status::Added => "added",
            Status::Removed => "removed",
            Status::Renamed => "renamed",
            Status::Same => "same",
        }
    }
}

/// One record compared over several runs: an array an event, an entry a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "diff", default)]
pub struct DiffRecord<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// Its file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Its object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The line, where lines or arcs are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The called function, where arcs are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub callee: Option<Callee<'a>>,
    /// The kind, where leaks or errors are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name<'a>>,
    /// The type of the records compared: `fn`, `leak`, …
    #[serde(borrow)]
    pub of: Name<'a>,
    /// What became of it.
    pub status: Status,
    /// Call counts.
    #[serde(skip_serializing_if = "is_empty_per_run")]
    pub calls: PerRun,
    /// Self cost.
    #[serde(borrow)]
    pub cost: CountsPerRun<'a>,
    /// Inclusive cost.
    #[serde(borrow, skip_serializing_if = "CountsPerRun::is_empty")]
    pub incl: CountsPerRun<'a>,
    /// Self cost of the last run less that of the first, an event; in the range of `i64`.
    #[serde(borrow)]
    pub delta: super::Counts<'a>,
    /// Where stacks are compared: the frames, innermost first.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
    /// What else the writer says (`was`, `why`, `joined`, `spread`, …).
    #[serde(flatten, deserialize_with = "super::without_type")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl DiffRecord<'_> {
    /// The same record, owning its names.
    pub fn into_owned(self) -> DiffRecord<'static> {
        DiffRecord {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            obj: self.obj.map(Name::into_owned),
            line: self.line,
            callee: self.callee.map(Callee::into_owned),
            kind: self.kind.map(Name::into_owned),
            of: self.of.into_owned(),
            status: self.status,
            calls: self.calls,
            cost: self.cost.into_owned(),
            incl: self.incl.into_owned(),
            delta: self.delta.into_owned(),
            stack: self.stack.into_iter().map(Frame::into_owned).collect(),
            extra: self.extra,
        }
    }
}

fn is_empty_per_run(calls: &PerRun) -> bool {
    calls.0.is_empty()
}
