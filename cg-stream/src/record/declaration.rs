//! The one place that says which record types are added up, and what their fields are.
//!
//! `records!` hands the declaration to the macro it is given: [`super::structs`] makes the structs and [`RecordType`]
//! of it, and `profile::rows` what adds records up by key and makes records of the sums again. A field is written
//!
//! ```text
//! /// What it means.
//! ROLE NAME: TYPE,
//! ```
//!
//! and fields are written to a stream in the order they have here. The role says what becomes of the field where records
//! are added up:
//!
//! | role | of several records |
//! |---|---|
//! | `function` | a name of the record's function: part of what makes records the same one |
//! | `key` | part of it too |
//! | `cost` | event counts, added up; the sum must fit in 64 bits |
//! | `incl` | event counts, added up modulo 2^64 where some are below 0 |
//! | `incl_or_cost` | the same; of a record without it, its `cost` stands for it |
//! | `sum` | a number, added up |
//! | `max`, `min` | a number, of which the largest or smallest is kept |
//! | `any` | true where it is true of one |
//! | `agreed` | kept where all say the same |
//! | `detail` | kept of one record, whatever the order they come in |
//!
//! A new role `key` has its row in [`Key`](crate::profile::Key), the numbers (`sum`, `max`, `min`, `any`) in
//! [`OtherNumbers`](crate::profile::OtherNumbers), `agreed` and `detail` in [`Detail`](crate::profile::Detail); the compiler names
//! the one that lacks it.
//!
//! [`RecordType`]: super::RecordType

/// Calls the macro with the declaration.
macro_rules! records {
    ($declare:ident!) => {
        $declare! {

        /// A function: self cost in `cost`, inclusive cost in `incl`.
        Fn "fn" FnRecord {
            /// The function's name.
            function name: Option<Name>,
            /// The file the function itself is in, not that of code inlined into it.
            function file: Option<Name>,
            /// The ELF object.
            function obj: Option<Name>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// How often the function was called; not given where the profile knows nothing of calls.
            sum calls: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Inclusive cost; empty where the profile cannot tell it.
            #[serde(skip_serializing_if = "Counts::is_empty")]
            incl incl: Counts,
            /// The cycle this function is in, numbered from 1, where inclusive cost had to be computed over a cycle.
            min cycle: Option<u64>,
        }

        /// A source line inside a function. `file` is the line's own, so inlined code keeps the file it came from.
        Line "line" LineRecord {
            /// The function the line's cost belongs to.
            function name: Option<Name>,
            /// The file of the line.
            function file: Option<Name>,
            /// The ELF object.
            function obj: Option<Name>,
            /// Line number; 0 is an unknown line.
            key line: u64,
            /// Instruction address (`0x…`), where the profile has them.
            key addr: Option<Name>,
            /// The inlined functions that the instruction at `addr` is of, innermost first and without the function itself.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            detail inlined: Vec<Frame>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost in the function's first level, with the calls that leave from here; empty where it is the self cost.
            #[serde(skip_serializing_if = "Counts::is_empty")]
            incl_or_cost incl: Counts,
        }

        /// A call arc: the calls from one place to one function.
        Call "call" CallRecord {
            /// The calling function's name.
            function name: Option<Name>,
            /// The calling function's file.
            function file: Option<Name>,
            /// The calling function's ELF object.
            function obj: Option<Name>,
            /// The file of the call site, where it is not that of the calling function: the call was inlined from there.
            key site: Option<Name>,
            /// Line number of the call site; 0 is an unknown line.
            #[serde(skip_serializing_if = "is_zero")]
            key line: u64,
            /// Address of the call instruction (`0x…`), where the profile has them.
            key addr: Option<Name>,
            /// The inlined functions that the call leaves from, innermost first and without the calling function itself.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            key inlined: Vec<Frame>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// The called function.
            key callee: FunctionName,
            /// How many calls were made.
            sum calls: u64,
            /// Inclusive cost of these calls.
            incl incl: Counts,
        }

        /// Code of one chain of inlined functions.
        Inline "inline" InlineRecord {
            /// The innermost function.
            function name: Option<Name>,
            /// Its file.
            function file: Option<Name>,
            /// The ELF object.
            function obj: Option<Name>,
            /// Where the profile has no addresses: names of functions of which each may be the innermost.
            key ambiguous: Vec<Name>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost and that of what was inlined into this chain, with the calls that leave from there; empty where the
            /// profile cannot tell it.
            #[serde(skip_serializing_if = "Counts::is_empty")]
            incl incl: Counts,
            /// Innermost frame first; the last is the function that the others were inlined into.
            key stack: Vec<Frame>,
        }

        /// A Memcheck loss record. Over the records of one kind, `cost` sums to that row of the LEAK SUMMARY.
        Leak "leak" LeakRecord {
            /// Function of the frame to blame.
            function name: Option<Name>,
            /// File of the frame to blame.
            function file: Option<Name>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Name>,
            /// `definite`, `indirect`, `possible` or `reachable`.
            key kind: Name,
            /// `bytes` (direct) and `blocks`.
            cost cost: Counts,
            /// Bytes reachable only through these blocks. They are counted in the `indirect` records too, so they stand beside
            /// `cost` and not in it.
            sum indirect_bytes: u64,
            /// The process.
            agreed pid: Option<u64>,
            /// Innermost frame first.
            key stack: Vec<Frame>,
            /// A suppression that Valgrind wrote for this record (`--gen-suppressions`), as text.
            detail suppression: Option<Name>,
        }

        /// An error of Memcheck, Helgrind or DRD.
        Error "error" ErrorRecord {
            /// Function of the frame to blame.
            function name: Option<Name>,
            /// File of the frame to blame.
            function file: Option<Name>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Name>,
            /// The kind as Valgrind's XML names it: `InvalidRead`, `UninitCondition`, `Race`, …
            key kind: Name,
            /// The sentence.
            key what: Name,
            /// `count`: how often it happened, as far as the input tells.
            cost cost: Counts,
            /// How many bytes were read, written or used, where the sentence tells.
            detail size: Option<u64>,
            /// The address, `0x` and hex digits as the input has them, where a sentence tells.
            detail address: Option<Name>,
            /// The heap block that the address is in or near, where a sentence tells.
            detail block: Option<HeapBlock>,
            /// Valgrind's number of the thread.
            detail thread: Option<u64>,
            /// The thread's name.
            detail thread_name: Option<Name>,
            /// The process.
            agreed pid: Option<u64>,
            /// Innermost frame first.
            key stack: Vec<Frame>,
            /// What else Valgrind says about it.
            detail notes: Vec<Note>,
            /// A suppression that Valgrind wrote for this error (`--gen-suppressions`), as text.
            detail suppression: Option<Name>,
        }

        /// Bytes live at one allocation stack of a Massif snapshot.
        Heap "heap" HeapRecord {
            /// Function of the frame to blame.
            function name: Option<Name>,
            /// File of the frame to blame.
            function file: Option<Name>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Name>,
            /// The snapshot's number.
            key snapshot: u64,
            /// True for the snapshot that Massif marked as the peak.
            any peak: bool,
            /// `bytes`.
            cost cost: Counts,
            /// For a group that Massif folded as below its threshold: how many places it stands for.
            sum places: Option<u64>,
            /// Innermost frame first. A folded group's stack begins at the frame that called the places it stands for.
            key stack: Vec<Frame>,
        }

        /// A program point of DHAT or heaptrack: a stack that allocates.
        ProgramPoint "program_point" ProgramPointRecord {
            /// Function of the frame to blame.
            function name: Option<Name>,
            /// File of the frame to blame.
            function file: Option<Name>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Name>,
            /// `total_bytes total_blocks gmax_bytes gmax_blocks end_bytes end_blocks read_bytes write_bytes`, as far as the
            /// mode has them; of heaptrack `total_bytes allocations temporary peak_bytes leaked_bytes`.
            cost cost: Counts,
            /// DHAT's `mb`: bytes at this point when the program's live bytes last rose to a maximum here. It does not add up.
            max max_bytes: Option<u64>,
            /// DHAT's `mbk`, the blocks that go with `max_bytes`.
            max max_blocks: Option<u64>,
            /// Summed lifetimes of all blocks, in the run's `time_unit`.
            sum lifetime: Option<u64>,
            /// Access counts for each byte of the block, where all blocks have one size; `null` is a count that overflowed.
            detail accesses: Option<Vec<Option<u64>>>,
            /// Innermost frame first.
            key stack: Vec<Frame>,
        }

        /// A sampled or folded call stack.
        Stack "stack" StackRecord {
            /// Function of the frame to blame.
            function name: Option<Name>,
            /// File of the frame to blame.
            function file: Option<Name>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Name>,
            /// The thread's name.
            #[serde(rename = "thread")]
            key thread_name: Option<Name>,
            /// The process's name.
            key process: Option<Name>,
            /// The process.
            agreed pid: Option<u64>,
            /// True where the stack is an estimate made from a graph of calls.
            #[serde(skip_serializing_if = "is_false")]
            any estimated: bool,
            /// True where the producer did not follow the stack to its outermost frame.
            #[serde(skip_serializing_if = "is_false")]
            key cut: bool,
            /// Self cost of this stack.
            cost cost: Counts,
            /// Innermost frame first.
            key stack: Vec<Frame>,
        }

            }
    };
}

pub(crate) use records;
