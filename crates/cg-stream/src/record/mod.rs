//! The records of a stream. The names of their fields are the keys that `FORMAT.md` documents.
//!
//! Each type borrows its names from the line it was read from and serializes `type` as its first key. Fields that
//! a profile does not have are left out, and a reader ignores unknown fields.

pub(crate) mod declaration;
mod structs;

mod cause;
mod counts;
mod diff;
mod facts;
mod history;
mod known;
mod leak_kind;
mod name;
mod parts;
mod run;
mod sample_labels;
mod snapshot;

pub use cause::{CauseDetail, CauseKind, CauseRecord, CycleSummary, InlinedIn};
pub use counts::{Count, Counts, CountsPerRun, PerRun, Total, add_counts, add_counts_growing};
pub use diff::{
    CalleeCalls, Cause, CodeChange, DiffRecord, DiffSummary, Host, LeftOut, RunBelowThreshold,
    SamplingSummary, Status, Why,
};
pub use facts::{
    Blocks, CostFacts, CounterFacts, Description, DhatFacts, ErrorSummary, HeapSummary,
    HeaptrackFacts, HexAddress, InlineFacts, InlineObject, LeakSummary, LogFileQualifier,
    MappingFacts, PartialRun, PeriodFacts, ProcessFacts, SamplingFacts, SignalFacts, ThreadFacts,
    UsedSuppression,
};
pub use history::{SeriesRecord, StepRecord};
pub use known::{ErrorKind, Tool};
pub use leak_kind::LeakKind;
pub use name::Name;
pub use name::SharedTexts;
pub use parts::{Frame, FrameMarks, FunctionName, HeapBlock, Note};
pub use run::{EndRecord, RunRecord};
pub use sample_labels::{LabelMeaning, LabelValue, SampleLabels};
pub use snapshot::SnapshotRecord;
pub use structs::{
    CallRecord, ErrorRecord, FnRecord, HeapRecord, InlineRecord, LeakRecord, LineRecord,
    ProgramPointRecord, RecordType, StackRecord,
};

/// The version of the stream that this crate reads and writes: the field `stream` of a `run` record.
pub const VERSION: u32 = 1;

impl RecordType {
    /// Returns the type with this name; [`RecordType::Other`] if the name is unknown.
    pub fn from_name(name: &str) -> RecordType {
        RecordType::from_bytes(name.as_bytes())
    }

    /// Returns the type whose name has these bytes; [`RecordType::Other`] if the name is unknown.
    pub(crate) fn from_bytes(name: &[u8]) -> RecordType {
        Self::ALL
            .iter()
            .find(|(known, _)| known.as_bytes() == name)
            .map_or(RecordType::Other, |(_, found)| *found)
    }

    /// Returns the name in a stream; `""` for [`RecordType::Other`].
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(name, _)| name)
    }
}

/// A record that can be written: every type of this module with a `type` key.
pub trait Record: serde::Serialize {
    /// The value of `type`.
    const TYPE: RecordType;
}

macro_rules! record_types {
    ($($record:ty => $kind:ident),* $(,)?) => {
        $(impl Record for $record { const TYPE: RecordType = RecordType::$kind; })*
    };
}

record_types! {
    RunRecord => Run,
    SnapshotRecord => Snapshot,
    DiffRecord<'_> => Diff,
    CauseRecord<'_> => Cause,
    StepRecord<'_> => Step,
    SeriesRecord<'_> => Series,
    EndRecord => End,
}

/// Returns true if the value is the default of its type, so that serde leaves the field out.
fn is_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads the unknown fields without `type`, which serde's `flatten` would include.
fn without_type<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<serde_json::Map<String, serde_json::Value>, D::Error> {
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde::Deserialize::deserialize(deserializer)?;
    fields.remove("type");
    Ok(fields)
}
