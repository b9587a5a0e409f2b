//! The declaration of the record types that are added up, and of their fields.
//!
//! `records!` passes the declaration to a macro. [`super::structs`] generates the structs that contain text, and
//! [`RecordType`]. [`crate::rows`] generates the rows that contain ids, and the code that writes them as JSON. The module
//! `rows` of `cg-profile` generates the code that adds rows up by key and turns the sums into rows again. The form of a field:
//!
//! ```text
//! /// The meaning of the field.
//! ROLE NAME: WORD,
//! ROLE NAME as "key": WORD,
//! ```
//!
//! A stream has the fields in the order of the declaration. The key of a field is its name unless `as` gives another one.
//! The word determines the field's type, and the value for which the field is left out:
//!
//! | word | value | left out |
//! |---|---|---|
//! | `Option<Function>`, `Option<File>`, `Option<Object>` | the name of a function, a source file, an ELF object | if missing |
//! | `Option<Name>` | another name: of a thread or a process | if missing |
//! | `Text`, `Option<Text>` | a text that is rarely repeated, such as a sentence | never; if missing |
//! | `Option<Address>` | an address of code | if missing |
//! | `u64`, `NonZero`, `Option<u64>` | a number | never; if 0; if missing |
//! | `bool`, `Mark` | true or false | never; if false |
//! | `Counts`, `Option<Counts>` | a count per event | never; if there is no event |
//! | `Stack`, `Inlined` | frames, innermost first | never; if there is no frame |
//! | `Callee` | a function | never |
//! | `Names`, `Notes` | names; sentences with stacks | if there are none |
//! | `Option<HeapBlock>`, `Option<Accesses>` | a heap block; counts by byte | if missing |
//! | `Option<Labels>` | labels of a sample | if missing |
//!
//! The role determines how the field's values are combined when records are added up:
//!
//! | role | combination |
//! |---|---|
//! | `function` | none: a name of the record's function, which is a part of the key |
//! | `key` | none: another part of the key; only records with equal keys are added up |
//! | `cost` | event counts are added up; the sum must fit in 64 bits |
//! | `incl` | event counts are added up, modulo 2^64 if some are negative |
//! | `incl_or_cost` | like `incl`; if a record has no such field, its `cost` is added |
//! | `sum` | numbers are added up |
//! | `max`, `min` | the largest or the smallest number is kept |
//! | `any` | true if the field is true in one of the records |
//! | `agreed` | kept if all records have the same value |
//! | `detail` | kept from one record, independent of the order of the records |
//!
//! In `cg-profile`, each field with the role `key` needs a field of `Key`, each number (`sum`, `max`, `min`, `any`) a field
//! of
//! `OtherNumbers`, and each `agreed` and `detail` a field of `Detail`. The compiler reports a missing one.
//!
//! [`RecordType`]: super::RecordType

/// Calls the macro with the declaration.
#[macro_export]
#[doc(hidden)]
macro_rules! records {
    ($declare:ident!) => {
        $declare! {

        /// A function: self cost in `cost`, inclusive cost in `incl`.
        Fn "fn" FnRecord FnRow {
            /// The function's name.
            function name as "fn": Option<Function>,
            /// The file of the function itself, not of code that is inlined into it.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// The number of calls of the function; missing if the profile does not count calls.
            sum calls: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Inclusive cost; empty if the profile does not have it.
            incl incl: Option<Counts>,
            /// The number of the function's cycle, counted from 1, if inclusive cost had to be computed for a cycle.
            min cycle: Option<u64>,
            /// The fingerprint of all of its machine code: the processor and the version of this form, the number of
            /// instructions, a hash of them, and a hash without constants and addresses.
            agreed code: Option<Text>,
            /// The fingerprint of the instructions that ran.
            agreed code_ran: Option<Text>,
        }

        /// A source line of a function. `file` is the file of the line, so inlined code keeps its own file.
        Line "line" LineRecord LineRow {
            /// The function that the line's cost belongs to.
            function name as "fn": Option<Function>,
            /// The file of the line.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// Line number; 0 is an unknown line.
            key line: u64,
            /// Instruction address (`0x…`), if the profile has addresses.
            key addr: Option<Address>,
            /// The inlined functions that contain the instruction at `addr`, innermost first, without the function itself.
            detail inlined: Inlined,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost in the function's first level, plus the calls from this line; empty if it equals the self cost.
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
            /// The file of the call site, if the call is in inlined code from another file than the calling function's.
            key site: Option<File>,
            /// Line number of the call site; 0 is an unknown line.
            key line: NonZero,
            /// Address of the call instruction (`0x…`), if the profile has addresses.
            key addr: Option<Address>,
            /// The inlined functions that contain the call, innermost first, without the calling function itself.
            key inlined: Inlined,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// The called function.
            key callee: Callee,
            /// The number of calls.
            sum calls: u64,
            /// Inclusive cost of these calls.
            incl incl: Counts,
        }

        /// The code of one chain of inlined functions.
        Inline "inline" InlineRecord InlineRow {
            /// The innermost function.
            function name as "fn": Option<Function>,
            /// The file of the innermost function.
            function file: Option<File>,
            /// The ELF object.
            function obj: Option<Object>,
            /// The names of the functions that may be the innermost one, if the profile has no addresses.
            key ambiguous: Names,
            /// The part this record is of, where parts are kept apart.
            key part: Option<u64>,
            /// The thread this record is of, where parts are kept apart and the profile names threads.
            key thread: Option<u64>,
            /// Self cost.
            cost cost: Counts,
            /// Self cost plus the cost of code inlined into this chain and of the calls from there; empty if the profile
            /// does not have it.
            incl incl: Option<Counts>,
            /// Innermost frame first; the last frame is the function that the others were inlined into.
            key stack: Stack,
        }

        /// A Memcheck loss record. The sum of `cost` over the records of one kind, except those of earlier searches, is the
        /// row of that kind in the LEAK SUMMARY.
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
            /// Bytes reachable only through these blocks. `cost` does not include them, because the `indirect` records do.
            sum indirect_bytes: u64,
            /// True if an earlier leak search of the process reported the leak, and the last one did not.
            key earlier_search: Mark,
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
            /// `count`: the number of times that the error happened, if the input has it.
            cost cost: Counts,
            /// The number of bytes read, written or used, if the sentence contains it.
            detail size: Option<u64>,
            /// The address as `0x` and the hex digits of the input, if a sentence contains it.
            detail address: Option<Text>,
            /// The heap block that the address is in or near, if a sentence describes it.
            detail block: Option<HeapBlock>,
            /// Valgrind's number of the thread.
            detail thread: Option<u64>,
            /// The thread's name.
            detail thread_name: Option<Text>,
            /// The process.
            agreed pid: Option<u64>,
            /// Innermost frame first.
            key stack: Stack,
            /// Valgrind's further descriptions of the error.
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
            /// The number of places in a group that Massif folded because they are below its threshold.
            sum places: Option<u64>,
            /// Innermost frame first. The stack of a folded group begins at the frame that called its places.
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
            /// For DHAT those of `total_bytes total_blocks gmax_bytes gmax_blocks end_bytes end_blocks read_bytes
            /// write_bytes` that the mode has; for heaptrack `total_bytes allocations temporary peak_bytes leaked_bytes`.
            cost cost: Counts,
            /// DHAT's `mb`: the maximum of live bytes at this point. Maxima cannot be added up.
            max max_bytes: Option<u64>,
            /// DHAT's `mbk`: the live blocks at the time of `max_bytes`.
            max max_blocks: Option<u64>,
            /// Summed lifetimes of all blocks, in the run's `time_unit`.
            sum lifetime: Option<u64>,
            /// Access counts for each byte of the block, if all blocks have the same size; `null` is a count that
            /// overflowed.
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
            /// True if the stack is an estimate from a call graph.
            any estimated: Mark,
            /// True if the producer did not unwind the stack to its outermost frame.
            key cut: Mark,
            /// The time of the sample in ns since the start of the run, if samples are separated by time.
            key time: Option<u64>,
            /// The producer's labels of the sample, except its thread and process.
            key labels: Option<Labels>,
            /// Self cost of this stack.
            cost cost: Counts,
            /// Innermost frame first.
            key stack: Stack,
        }

            }
    };
}
