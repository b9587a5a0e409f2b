//! Records that carry a call stack, and Massif's snapshots.
//!
//! At top level each has the `fn`, `file`, `line` and `obj` of the frame to blame (`cg_names::blame`).

use serde::{Deserialize, Serialize};

use super::{Counts, Name};

/// One frame of a stack, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The source file, with its directory where the input gives one.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The source line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The ELF object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The instruction address, `0x` and upper-case hex digits as the input has them.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub addr: Option<Name<'a>>,
}

impl Frame<'_> {
    /// The same frame, owning its names.
    pub fn into_owned(self) -> Frame<'static> {
        Frame {
            name: self.name.map(Name::into_owned),
            file: self.file.map(Name::into_owned),
            line: self.line,
            obj: self.obj.map(Name::into_owned),
            addr: self.addr.map(Name::into_owned),
        }
    }
}

/// A Memcheck loss record. Over the records of one kind, `cost` sums to that row of the LEAK SUMMARY.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "leak", default)]
pub struct LeakRecord<'a> {
    /// Function of the frame to blame.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// File of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Line of the frame to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Object of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// `definite`, `indirect`, `possible` or `reachable`.
    #[serde(borrow)]
    pub kind: Name<'a>,
    /// `bytes` (direct) and `blocks`.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// Bytes reachable only through these blocks. They are counted in the `indirect` records too, so they stand beside
    /// `cost` and not in it.
    pub indirect_bytes: u64,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// Innermost frame first.
    #[serde(borrow)]
    pub stack: Vec<Frame<'a>>,
    /// A suppression that Valgrind wrote for this record (`--gen-suppressions`), as text.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Name<'a>>,
}

/// A further description of an error, with its own stack: the address, the origin, the other thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note<'a> {
    /// The sentence.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub what: Option<Name<'a>>,
    /// Innermost frame first; empty where there is none.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
}

impl Note<'_> {
    /// The same note, owning its names.
    pub fn into_owned(self) -> Note<'static> {
        Note {
            what: self.what.map(Name::into_owned),
            stack: self.stack.into_iter().map(Frame::into_owned).collect(),
        }
    }
}

/// An error of Memcheck, Helgrind or DRD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "error", default)]
pub struct ErrorRecord<'a> {
    /// Function of the frame to blame.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// File of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Line of the frame to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Object of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The kind as Valgrind's XML names it: `InvalidRead`, `UninitCondition`, `Race`, …
    #[serde(borrow)]
    pub kind: Name<'a>,
    /// The sentence.
    #[serde(borrow)]
    pub what: Name<'a>,
    /// `count`: how often it happened, as far as the input tells.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// Valgrind's number of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// The thread's name.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<Name<'a>>,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// Innermost frame first.
    #[serde(borrow)]
    pub stack: Vec<Frame<'a>>,
    /// What else Valgrind says about it.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note<'a>>,
    /// A suppression that Valgrind wrote for this error (`--gen-suppressions`), as text.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub suppression: Option<Name<'a>>,
}

/// Bytes live at one allocation stack of a Massif snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "heap", default)]
pub struct HeapRecord<'a> {
    /// Function of the frame to blame.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// File of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Line of the frame to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Object of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The snapshot's number.
    pub snapshot: u64,
    /// True for the snapshot that Massif marked as the peak.
    pub peak: bool,
    /// `bytes`.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// For a group that Massif folded as below its threshold: how many places it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<u64>,
    /// Innermost frame first. A folded group's stack begins at the frame that called the places it stands for.
    #[serde(borrow)]
    pub stack: Vec<Frame<'a>>,
}

/// A DHAT program point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "program_point", default)]
pub struct ProgramPointRecord<'a> {
    /// Function of the frame to blame.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// File of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Line of the frame to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Object of the frame to blame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// `total_bytes total_blocks gmax_bytes gmax_blocks end_bytes end_blocks read_bytes write_bytes`, as far as the
    /// mode has them.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// DHAT's `mb`: bytes at this point when the program's live bytes last rose to a maximum here. It does not add up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// DHAT's `mbk`, the blocks that go with `max_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_blocks: Option<u64>,
    /// Summed lifetimes of all blocks, in the run's `time_unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<u64>,
    /// Access counts for each byte of the block, where all blocks have one size; `null` is a count that overflowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accesses: Option<Vec<Option<u64>>>,
    /// Innermost frame first.
    #[serde(borrow)]
    pub stack: Vec<Frame<'a>>,
}

/// A sampled or folded call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "stack", default)]
pub struct StackRecord<'a> {
    /// Function of the innermost frame.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// File of the innermost frame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Line of the innermost frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Object of the innermost frame.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// Self cost of this stack.
    #[serde(borrow)]
    pub cost: Counts<'a>,
    /// Innermost frame first.
    #[serde(borrow)]
    pub stack: Vec<Frame<'a>>,
}

/// A Massif snapshot. These are levels, not costs.
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
    /// `empty`, `detailed` or `peak`.
    pub detail: String,
    /// Of an xtree file, which has a snapshot for each of its events: the event, `curB` or `totBk`. The heap fields
    /// then hold that event's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
}
