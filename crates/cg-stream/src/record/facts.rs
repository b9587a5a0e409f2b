//! The fields of a `run` record that only some tools have. Each group is flattened into its record.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Count, Counts, Frame, LeakKind, RunRecord, is_nothing};

/// Declares the fields that one group of tools has. An empty field is left out.
macro_rules! facts {
    ($(#[$type_meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$type_meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_meta])* #[serde(skip_serializing_if = "is_nothing")] pub $field: $type,)*
        }
    };
}

/// The `desc` of a profile: one text as in Massif's files, or texts by key as in Callgrind's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Description {
    /// The text of Massif's `desc:` line.
    Text(String),
    /// Callgrind's `desc:` lines by key, which is the text before the next colon. They are cache parameters and the like.
    ByKey(BTreeMap<String, String>),
}

facts! {
    /// The fields of Callgrind and Cachegrind. If a profile has several parts, only fields that agree in all parts are
    /// given.
    CostFacts {
        /// Formulas of derived events.
        derived: BTreeMap<String, String>,
        /// The parts that were added up, of each run of which parts are missing. Empty if `part` and `trigger` identify the
        /// part.
        partial: Vec<PartialRun>,
        /// Long names of events.
        event_names: BTreeMap<String, String>,
        /// The cost and the objects whose inlined functions were resolved, if this was requested.
        inlines: Option<InlineFacts>,
        /// The part's number.
        part: Option<u64>,
        /// The number of parts that were added up.
        parts: Option<u64>,
        /// The profile's own summary, if it differs from the sum of its costs.
        #[serde(deserialize_with = "owned_counts")]
        summary: Counts<'static>,
        /// The thread's number.
        thread: Option<u64>,
        /// The range of basic blocks that the part covers.
        timerange: Option<String>,
        /// The reason why the part was written.
        trigger: Option<String>,
    }
}

/// The parts of a run that a profile has, if it does not have all of them. Callgrind numbers its dumps from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialRun {
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The parts as ranges in order, each with its first and its last part.
    pub parts: Vec<(u64, u64)>,
    /// The part that was written when the program ended, if it is among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// The trigger of the part that Callgrind writes when the program ends (`dump_profile` in callgrind/main.c).
const PROGRAM_TERMINATION: &str = "Program termination";

impl PartialRun {
    /// Creates a run with one part, which was written for this reason.
    pub fn one(pid: Option<u64>, part: u64, trigger: &str) -> PartialRun {
        PartialRun {
            pid,
            parts: vec![(part, part)],
            last: (trigger == PROGRAM_TERMINATION).then_some(part),
        }
    }

    /// Returns the runs of which parts are missing in the profiles of these records.
    pub fn from_runs(runs: &[RunRecord]) -> Vec<PartialRun> {
        let mut partial = Vec::new();
        for part in runs.iter().flat_map(|run| run.costs.partial_runs(run.pid)) {
            part.add_to(&mut partial);
        }
        partial
    }

    /// Returns true if these are all parts of the run, from the first to the one that was written at its end.
    pub fn has_all(&self) -> bool {
        self.last.is_some_and(|last| self.parts == [(1, last)])
    }

    /// Returns the number of parts.
    pub fn count(&self) -> u64 {
        let sizes = self
            .parts
            .iter()
            .map(|(first, last)| last.saturating_sub(*first));
        sizes.fold(0, |sum, size| sum.saturating_add(size).saturating_add(1))
    }

    /// Merges the parts with those of the same process. Removes a run of which all parts are present.
    pub fn add_to(mut self, partial: &mut Vec<PartialRun>) {
        if let Some(known) = partial.iter().position(|known| known.pid == self.pid) {
            let known = partial.remove(known);
            self.last = self.last.max(known.last);
            self.parts.extend(known.parts);
            self.parts.sort_unstable();
            // Merges ranges that overlap or follow without a gap.
            self.parts.dedup_by(|next, range| {
                let is_joined = next.0 <= range.1.saturating_add(1);
                if is_joined {
                    range.1 = range.1.max(next.1);
                }
                is_joined
            });
        }
        if !self.has_all() {
            partial.push(self);
        }
    }
}

impl CostFacts {
    /// Returns the runs of which parts are known to be missing in a profile of this process.
    pub fn partial_runs(&self, pid: Option<u64>) -> Vec<PartialRun> {
        match (self.part, &self.trigger) {
            (Some(part), Some(trigger)) => {
                let mut partial = Vec::new();
                PartialRun::one(pid, part, trigger).add_to(&mut partial);
                partial
            }
            _ => self.partial.clone(),
        }
    }
}

/// The result of resolving inlined functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineFacts {
    /// The cost whose chain of inlined functions is known, including the cost of code into which nothing was inlined.
    #[serde(deserialize_with = "owned_counts")]
    pub resolved: Counts<'static>,
    /// The objects with cost, sorted by cost in descending order.
    pub objects: Vec<InlineObject>,
}

/// The result of reading the debug information of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineObject {
    /// The object's name in the profile.
    pub obj: String,
    /// The source of its debug information: `object`, `build-id` or `debuglink`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<String>,
    /// The reason why its cost is not resolved: `missing`, `no debug information`, `another build`, or an error message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<String>,
    /// Missing files of its debug information. Functions that only they describe are not resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Functions that are not resolved, because the object has them at other addresses than the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// The part of `named` whose line or function the object has at the same address.
    pub agrees: u64,
    /// The cost that can be compared with the object, by line or by function name, in the first event.
    pub named: u64,
}

facts! {
    /// The fields of Memcheck, Helgrind, DRD and the sanitizers, for one process.
    ProcessFacts {
        /// True if the last leak check found nothing.
        all_heap_blocks_freed: bool,
        /// True if the log contains the marks of a complete log.
        complete: Option<bool>,
        /// True if Valgrind stopped at its limit of errors.
        error_limit_reached: bool,
        /// The log's ERROR SUMMARY.
        error_summary: Option<ErrorSummary>,
        /// True if the process executed another program.
        exec: bool,
        /// The signal that ended the process.
        fatal_signal: Option<SignalFacts>,
        /// True if the process forked or was forked; the log does not show which.
        forked: bool,
        /// The log's HEAP SUMMARY.
        heap_summary: Option<HeapSummary>,
        /// The log's LEAK SUMMARY.
        leak_summary: Option<LeakSummary>,
        /// The variables of `%q{VARIABLE}` in Valgrind's file names.
        log_file_qualifiers: Vec<LogFileQualifier>,
        /// True if the log contains only the preamble.
        only_preamble: bool,
        /// Valgrind's own options.
        options: Vec<String>,
        /// The parent process.
        ppid: Option<u64>,
        /// True if the log has no summaries, as with `-q`.
        quiet: bool,
        /// The number of loss records of earlier leak checks that the last check repeats.
        repeated_leaks: u64,
        /// True if Valgrind stopped reporting errors.
        stopped_reporting: bool,
        /// True if a sanitizer ended the process or does not report its end.
        unfinished: bool,
        /// The number of different errors that the log counts but does not contain.
        unprinted_errors: u64,
        /// The suppressions that matched.
        used_suppressions: Vec<UsedSuppression>,
        /// The value of `--xml-user-comment`.
        user_comment: Option<String>,
    }
}

/// The bytes and blocks of one row of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of bytes in these blocks.
    pub bytes: u64,
}

/// The HEAP SUMMARY of a Memcheck log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapSummary {
    /// The sum of all allocated bytes.
    #[serde(default)]
    pub allocated_bytes: u64,
    /// The number of calls that allocated.
    #[serde(default)]
    pub allocs: u64,
    /// The number of calls that freed.
    #[serde(default)]
    pub frees: u64,
    /// Blocks in use at exit.
    pub in_use_blocks: u64,
    /// Bytes in use at exit.
    pub in_use_bytes: u64,
}

/// The LEAK SUMMARY of a Memcheck log: direct bytes and blocks by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakSummary {
    definite: Blocks,
    indirect: Blocks,
    possible: Blocks,
    reachable: Blocks,
    /// The leaks that suppressions removed.
    #[serde(default)]
    pub suppressed: Blocks,
}

impl LeakSummary {
    /// Returns the row of a kind.
    pub fn row(&self, kind: LeakKind) -> Blocks {
        match kind {
            LeakKind::Definite => self.definite,
            LeakKind::Indirect => self.indirect,
            LeakKind::Possible => self.possible,
            LeakKind::Reachable => self.reachable,
        }
    }

    /// Returns the row of a kind, to be changed.
    pub fn row_mut(&mut self, kind: LeakKind) -> &mut Blocks {
        match kind {
            LeakKind::Definite => &mut self.definite,
            LeakKind::Indirect => &mut self.indirect,
            LeakKind::Possible => &mut self.possible,
            LeakKind::Reachable => &mut self.reachable,
        }
    }
}

/// The ERROR SUMMARY of a Valgrind log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The number of different errors.
    pub contexts: u64,
    /// The number of times that errors happened.
    #[serde(default)]
    pub errors: u64,
    /// The number of times that suppressed errors happened.
    #[serde(default)]
    pub suppressed: u64,
    /// The number of different errors that were suppressed.
    #[serde(default)]
    pub suppressed_contexts: u64,
}

/// The signal that ended a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignalFacts {
    /// The address whose access raised the signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Valgrind's description of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The signal's name, such as `SIGSEGV`.
    pub name: String,
    /// The signal's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<u64>,
    /// The stack at the signal.
    #[serde(deserialize_with = "owned_stack")]
    pub stack: Vec<Frame<'static>>,
    /// The thread's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
}

/// A variable of `%q{VARIABLE}` and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFileQualifier {
    /// The variable's value.
    pub value: String,
    /// The variable's name.
    pub variable: String,
}

/// A suppression that matched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSuppression {
    /// The number of matches.
    pub count: u64,
    /// The suppression's name.
    pub name: String,
}

facts! {
    /// The fields of DHAT.
    DhatFacts {
        /// The unit of blocks, if it is not blocks.
        blocks_unit: Option<String>,
        /// The unit of one byte, if it is not a byte.
        byte_unit: Option<String>,
        /// The unit of several bytes, if it is not bytes.
        bytes_unit: Option<String>,
        /// The time of the program's end, in `time_unit`.
        end_time: Option<u64>,
        /// The time at which most bytes were live, in `time_unit`.
        gmax_time: Option<u64>,
        /// The name of a million of `time_unit`.
        mega_time_unit: Option<String>,
        /// `heap`, `copy` or `ad-hoc`.
        mode: Option<String>,
        /// The lifetime, in `time_unit`, below which a block is short-lived.
        short_lived: Option<u64>,
        /// The word for the program's action on the blocks, such as `Allocated`.
        verb: Option<String>,
    }
}

facts! {
    /// The fields of hardware counters.
    CounterFacts {
        /// The share of the time in which an event was counted, in per cent, if counters were multiplexed. Its count was
        /// scaled up.
        counted_share: BTreeMap<String, serde_json::Number>,
        /// The confidence interval of an event, in its unit: lower and upper bound.
        interval: BTreeMap<String, (u64, u64)>,
        /// The level of confidence of the intervals.
        confidence: Option<serde_json::Number>,
        /// Events that were not counted, or not always.
        not_counted: Vec<String>,
        /// Events that the machine cannot count.
        not_supported: Vec<String>,
    }
}

facts! {
    /// The fields of heaptrack.
    HeaptrackFacts {
        /// True if heaptrack was attached to a running program, so that earlier allocations are unknown.
        attached: bool,
        /// The program's own patterns of leaks that must not be reported.
        leak_suppressions: Vec<String>,
    }
}

facts! {
    /// The fields of sampling profilers.
    SamplingFacts {
        /// The duration of profiling, in nanoseconds. The durations of several runs are added up.
        duration: Option<u64>,
        /// Other facts about the run, by key: the host, the machine, a user's comment.
        labels: BTreeMap<String, String>,
        /// The places in memory of the objects that frame addresses refer to, in the producer's order.
        mappings: Vec<MappingFacts>,
        /// The event that triggers samples, and its amount per sample.
        period: Option<PeriodFacts>,
        /// Samples per second. Not always an integer, for example for an interval of 0.7 ms.
        sample_rate: Option<serde_json::Number>,
        /// The type and unit of each event as spelled in pprof's file, if `events` and `units` do not determine them.
        sample_types: Vec<[String; 2]>,
        /// The start of the run, in nanoseconds since 1970.
        start: Option<u64>,
        /// The unit of an event, if it is not a plain count: `ns`, `bytes`.
        units: BTreeMap<String, String>,
    }
}

impl SamplingFacts {
    /// Sets the unit of an event.
    pub fn set_unit(&mut self, event: &str, unit: &str) {
        self.units.insert(event.to_owned(), unit.to_owned());
    }
}

/// A mapping of an object in memory. Addresses of frames are offsets in the object's file: the memory address `start` has
/// the offset `offset`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MappingFacts {
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obj: Option<String>,
    /// Its start in memory, as `0x` and hexadecimal digits.
    pub start: HexAddress,
    /// Its end in memory.
    pub end: HexAddress,
    /// Its start in the file.
    pub offset: HexAddress,
    /// The build ID of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The kinds of names that the producer looked up for this code: `functions`, `files`, `lines`, `inlined`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

impl MappingFacts {
    /// All possible values of [`known`](MappingFacts::known), in pprof's order.
    pub const KNOWN: [&str; 4] = ["functions", "files", "lines", "inlined"];
}

/// An address. In a stream, it is the text `0x` and hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HexAddress(pub u64);

impl Serialize for HexAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for HexAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x");
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        address.map(HexAddress).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "expected an address such as 0x401000, found {text}"
            ))
        })
    }
}

/// The amount of an event between two samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeriodFacts {
    /// The producer's name of the event: `cpu`, `space`.
    pub event: String,
    /// The producer's name of the unit.
    pub unit: String,
    /// The amount.
    pub value: i64,
}

/// A thread that the producer describes: one that Helgrind announced, or one that was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadFacts {
    /// The process that the thread belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The process's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// True if this is the program's first thread, which no other thread created.
    #[serde(skip_serializing_if = "is_nothing")]
    pub root: bool,
    /// The stack at which the thread was created, as Helgrind reports it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "owned_optional_stack"
    )]
    pub stack: Option<Vec<Frame<'static>>>,
    /// The number that Valgrind or the operating system gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// The thread's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
}

fn owned_counts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts<'static>, D::Error> {
    Counts::deserialize(deserializer).map(Counts::into_owned)
}

fn owned_stack<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Frame<'static>>, D::Error> {
    let stack: Vec<Frame> = Deserialize::deserialize(deserializer)?;
    Ok(stack.into_iter().map(Frame::into_owned).collect())
}

fn owned_optional_stack<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Frame<'static>>>, D::Error> {
    owned_stack(deserializer).map(Some)
}

impl CostFacts {
    /// Returns the count of an event in the profile's own summary; `None` if the summary does not have the event.
    pub fn summary_count(&self, event: &str) -> Option<Count> {
        let mut counts = self.summary.iter();
        counts.find_map(|(name, count)| (name == event).then_some(count))
    }
}
