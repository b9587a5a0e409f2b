//! The records of a stream, as they are written: field names here are the contract of `FORMAT.md`.
//!
//! Each type borrows its names from the line it was read from and serialises with `type` as its first key. Fields that
//! a profile does not give are left out, and a reader ignores fields that it does not know.

mod cost;
mod counts;
mod diff;
mod name;
mod run;
mod stack;

pub use cost::{CallRecord, Callee, FnRecord, LineRecord};
pub use counts::{Count, Counts, CountsPerRun, PerRun, Total};
pub use diff::{Cause, DiffRecord, DiffSummary, FunctionName, Moved, Status, Why};
pub use name::Name;
pub use run::{EndRecord, RunRecord};
pub use stack::{
    ErrorRecord, Frame, HeapRecord, LeakRecord, Note, ProgramPointRecord, SnapshotRecord,
    StackRecord,
};

/// The version of the stream that this crate reads and writes: `stream` of a `run` record.
pub const VERSION: u32 = 1;

/// What the `type` of a record says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordType {
    /// The first record of a stream: where it is from, its events and its total.
    Run,
    /// A function with its self and inclusive cost.
    Fn,
    /// A source line (or instruction) inside a function.
    Line,
    /// A call arc.
    Call,
    /// A Memcheck loss record.
    Leak,
    /// An error of Memcheck, Helgrind or DRD.
    Error,
    /// Bytes live at one allocation stack of a Massif snapshot.
    Heap,
    /// A DHAT program point.
    ProgramPoint,
    /// A sampled or folded call stack.
    Stack,
    /// The levels of a Massif snapshot.
    Snapshot,
    /// A comparison of one record over several runs.
    Diff,
    /// The last record of a stream.
    End,
    /// A type this version does not know; it passes through.
    Other,
}

impl RecordType {
    /// All types by the name they have in a stream.
    pub const ALL: [(&'static str, RecordType); 12] = [
        ("run", RecordType::Run),
        ("fn", RecordType::Fn),
        ("line", RecordType::Line),
        ("call", RecordType::Call),
        ("leak", RecordType::Leak),
        ("error", RecordType::Error),
        ("heap", RecordType::Heap),
        ("program_point", RecordType::ProgramPoint),
        ("stack", RecordType::Stack),
        ("snapshot", RecordType::Snapshot),
        ("diff", RecordType::Diff),
        ("end", RecordType::End),
    ];

    /// The type with this name, [`RecordType::Other`] for a name that is not known.
    pub fn from_name(name: &str) -> RecordType {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(RecordType::Other, |(_, found)| *found)
    }

    /// The name in a stream; `""` for [`RecordType::Other`].
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(name, _)| name)
    }

    /// True for the record types that carry a `stack` of frames.
    pub fn has_stack(self) -> bool {
        matches!(
            self,
            RecordType::Leak
                | RecordType::Error
                | RecordType::Heap
                | RecordType::ProgramPoint
                | RecordType::Stack
        )
    }
}

/// A record type that can be written; every type in this module that has a `type` key.
pub trait Record: serde::Serialize {
    /// What `type` says.
    const TYPE: RecordType;
}

macro_rules! record_types {
    ($($record:ty => $kind:ident),* $(,)?) => {
        $(impl Record for $record { const TYPE: RecordType = RecordType::$kind; })*
    };
}

record_types! {
    RunRecord => Run,
    FnRecord<'_> => Fn,
    LineRecord<'_> => Line,
    CallRecord<'_> => Call,
    LeakRecord<'_> => Leak,
    ErrorRecord<'_> => Error,
    HeapRecord<'_> => Heap,
    ProgramPointRecord<'_> => ProgramPoint,
    StackRecord<'_> => Stack,
    SnapshotRecord => Snapshot,
    DiffRecord<'_> => Diff,
    EndRecord => End,
}

/// True for 0; serde's way of leaving out a count that is optional.
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Reads the fields a type does not name itself, without `type`, which serde's `flatten` would hand over too.
fn without_type<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<serde_json::Map<String, serde_json::Value>, D::Error> {
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde::Deserialize::deserialize(deserializer)?;
    fields.remove("type");
    Ok(fields)
}
