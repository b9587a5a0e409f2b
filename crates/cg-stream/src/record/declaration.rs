//! The one place that says which record types are added up, and what their fields are.
//!
//! `records!` hands the declaration to the macro it is given: [`super::structs`] makes the structs that hold text and
//! [`RecordType`] of it, [`crate::rows`] the rows that hold ids and how they are written as JSON, and `profile::rows` what
//! adds rows up by key and makes rows of the sums again. A field is written
//!
//! ```text
//! /// What it means.
//! ROLE NAME: WORD,
//! ROLE NAME as "key": WORD,
//! ```
//!
//! and fields are written to a stream in the order they have here, under their names unless a key is said. The word says
//! what a field holds and whether it is left out where it holds nothing:
//!
//! | word | holds | left out |
//! |---|---|---|
//! | `Option<Function>`, `Option<File>`, `Option<Object>` | a name of a function, a source file, an ELF object | not given |
//! | `Option<Name>` | another name: of a thread, of a process | not given |
//! | `Text`, `Option<Text>` | a text that hardly comes twice: a sentence | never; not given |
//! | `Option<Address>` | an address of code | not given |
//! | `u64`, `NonZero`, `Option<u64>` | a number | never; 0; not given |
//! | `bool`, `Mark` | what is so or not | never; not so |
//! | `Counts`, `Option<Counts>` | a count an event | never; no event named |
//! | `Stack`, `Inlined` | frames, innermost first | never; no frame |
//! | `Callee` | a function | never |
//! | `Names`, `Notes` | names; sentences with stacks | none |
//! | `Option<HeapBlock>`, `Option<Accesses>` | a heap block; counts by byte | not given |
//! | `Option<Labels>` | labels of a sample | not given |
//!
//! The role says what becomes of the field where records are added up:
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
        Fn "fn" FnRecord FnRow {
            /// The function's name.
            function name as "fn": Option<Function>,
            /// The file the function itself is in, not that of code inlined into it.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// How often the function was called; not given where the profile knows nothing of calls.
            sum calls: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Inclusive cost; empty where the profile cannot tell it.
            incl incl: Option<Counts>,
            /// The cycle this function is in, numbered from 1, where inclusive cost had to be computed over a cycle.
            min cycle: Option<u64>,
            /// What all of its machine code is known by: the processor and the version of this form, how many instructions, a
            /// hash of them, and one without constants and addresses.
            agreed code: Option<Text>,
            /// The same of the instructions that ran.
            agreed code_ran: Option<Text>,
        }

        /// A source line inside a function. `file` is the line's own, so inlined code keeps the file it came from.
        Line "line" LineRecord LineRow {
            /// The function the line's cost belongs to.
            function name as "fn": Option<Function>,
            /// The file of the line.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// Line number; 0 is an unknown line.
            key line: u64,
            /// Instruction address (`0x…`), where the profile has them.
            key addr: Option<Address>,
            /// The inlined functions that the instruction at `addr` is of, innermost first and without the function itself.
            detail inlined: Inlined,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost in the function's first level, with the calls that leave from here; empty where it is the self cost.
            incl_or_cost incl: Option<Counts>,
        }

        /// A call arc: the calls from one place to one function.
        Call "call" CallRecord CallRow {
            /// The calling function's name.
            function name as "fn": Option<Function>,
            /// The calling function's file.
            function file: Option<File>,
            /// The calling function's ELF object.
            function obj: Option<Object>,
            /// The file of the call site, where it is not that of the calling function: the call was inlined from there.
            key site: Option<File>,
            /// Line number of the call site; 0 is an unknown line.
            key line: NonZero,
            /// Address of the call instruction (`0x…`), where the profile has them.
            key addr: Option<Address>,
            /// The inlined functions that the call leaves from, innermost first and without the calling function itself.
            key inlined: Inlined,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// The called function.
            key callee: Callee,
            /// How many calls were made.
            sum calls: u64,
            /// Inclusive cost of these calls.
            incl incl: Counts,
        }

        /// Code of one chain of inlined functions.
        Inline "inline" InlineRecord InlineRow {
            /// The innermost function.
            function name as "fn": Option<Function>,
            /// Its file.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// Where the profile has no addresses: names of functions of which each may be the innermost.
            key ambiguous: Names,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost and that of what was inlined into this chain, with the calls that leave from there; empty where the
            /// profile cannot tell it.
            incl incl: Option<Counts>,
            /// Innermost frame first; the last is the function that the others were inlined into.
            key stack: Stack,
        }

        /// A Memcheck loss record. Over the records of one kind, `cost` sums to that row of the LEAK SUMMARY.
        Leak "leak" LeakRecord LeakRow {
            /// Function of the frame to blame.
            function name as "fn": Option<Function>,
            /// File of the frame to blame.
            function file: Option<File>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Object>,
            /// `definite`, `indirect`, `possible` or `reachable`.
            key kind: Text,
            /// `bytes` (direct) and `blocks`.
            cost cost: Counts,
            /// Bytes reachable only through these blocks. They are counted in the `indirect` records too, so they stand beside
            /// `cost` and not in it.
            sum indirect_bytes: u64,
            /// The process.
            agreed pid: Option<u64>,
            /// Innermost frame first.
            key stack: Stack,
            /// A suppression that Valgrind wrote for this record (`--gen-suppressions`), as text.
            detail suppression: Option<Text>,
        }

        /// An error of Memcheck, Helgrind or DRD.
        Error "error" ErrorRecord ErrorRow {
            /// Function of the frame to blame.
            function name as "fn": Option<Function>,
            /// File of the frame to blame.
            function file: Option<File>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Object>,
            /// The kind as Valgrind's XML names it: `InvalidRead`, `UninitCondition`, `Race`, …
            key kind: Text,
            /// The sentence.
            key what: Text,
            /// `count`: how often it happened, as far as the input tells.
            cost cost: Counts,
            /// How many bytes were read, written or used, where the sentence tells.
            detail size: Option<u64>,
            /// The address, `0x` and hex digits as the input has them, where a sentence tells.
            detail address: Option<Text>,
            /// The heap block that the address is in or near, where a sentence tells.
            detail block: Option<HeapBlock>,
            /// Valgrind's number of the thread.
            detail thread: Option<u64>,
            /// The thread's name.
            detail thread_name: Option<Text>,
            /// The process.
            agreed pid: Option<u64>,
            /// Innermost frame first.
            key stack: Stack,
            /// What else Valgrind says about it.
            detail notes: Notes,
            /// A suppression that Valgrind wrote for this error (`--gen-suppressions`), as text.
            detail suppression: Option<Text>,
        }

        /// Bytes live at one allocation stack of a Massif snapshot.
        Heap "heap" HeapRecord HeapRow {
            /// Function of the frame to blame.
            function name as "fn": Option<Function>,
            /// File of the frame to blame.
            function file: Option<File>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Object>,
            /// The snapshot's number.
            key snapshot: u64,
            /// True for the snapshot that Massif marked as the peak.
            any peak: bool,
            /// `bytes`.
            cost cost: Counts,
            /// For a group that Massif folded as below its threshold: how many places it stands for.
            sum places: Option<u64>,
            /// Innermost frame first. A folded group's stack begins at the frame that called the places it stands for.
            key stack: Stack,
        }

        /// A program point of DHAT or heaptrack: a stack that allocates.
        ProgramPoint "program_point" ProgramPointRecord ProgramPointRow {
            /// Function of the frame to blame.
            function name as "fn": Option<Function>,
            /// File of the frame to blame.
            function file: Option<File>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Object>,
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
            detail accesses: Option<Accesses>,
            /// Innermost frame first.
            key stack: Stack,
        }

        /// A sampled or folded call stack.
        Stack "stack" StackRecord StackRow {
            /// Function of the frame to blame.
            function name as "fn": Option<Function>,
            /// File of the frame to blame.
            function file: Option<File>,
            /// Line of the frame to blame.
            key line: Option<u64>,
            /// Object of the frame to blame.
            function obj: Option<Object>,
            /// The thread's name.
            key thread_name as "thread": Option<Name>,
            /// The thread's number.
            key tid: Option<u64>,
            /// The process's name.
            key process: Option<Name>,
            /// The process.
            agreed pid: Option<u64>,
            /// True where the stack is an estimate made from a graph of calls.
            any estimated: Mark,
            /// True where the producer did not follow the stack to its outermost frame.
            key cut: Mark,
            /// When the sample was taken, in ns since the run began, where samples are kept apart by it.
            key time: Option<u64>,
            /// What the producer says of the sample besides its thread and process.
            key labels: Option<Labels>,
            /// Self cost of this stack.
            cost cost: Counts,
            /// Innermost frame first.
            key stack: Stack,
        }

            }
    };
}

pub(crate) use records;
