//! What a `run` record says that only some tools know. Each group stands beside the other fields of its record.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Count, Counts, Frame, LeakKind, RunRecord, is_nothing};

/// Declares what one group of tools says of a run: a field that holds nothing is left out.
macro_rules! facts {
    ($(#[$of_type:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$of_type])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$of_field])* #[serde(skip_serializing_if = "is_nothing")] pub $field: $type,)*
        }
    };
}

/// The `desc` of a profile: one text, as Massif has it, or texts by key, as Callgrind has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Description {
    /// The text of Massif's `desc:` line.
    Text(String),
    /// Callgrind's `desc:` lines by what stands in front of their colon: cache parameters and the like.
    ByKey(BTreeMap<String, String>),
}

facts! {
    /// What profiles of Callgrind and Cachegrind say of their run, as far as all parts agree on it.
    CostFacts {
        /// Formulas of derived events.
        derived: BTreeMap<String, String>,
        /// Of runs that were written in parts, and of which parts are missing, those that were added up; where `part` and
        /// `trigger` tell, these do.
        partial: Vec<PartialRun>,
        /// Long names of events.
        event_names: BTreeMap<String, String>,
        /// How far inlined functions were resolved, where that was asked for.
        inlines: Option<InlineFacts>,
        /// The part's number.
        part: Option<u64>,
        /// How many parts were added up.
        parts: Option<u64>,
        /// The profile's own summary, where it is not the sum of its costs.
        #[serde(deserialize_with = "owned_counts")]
        summary: Counts<'static>,
        /// The thread's number.
        thread: Option<u64>,
        /// Which basic blocks the part is of.
        timerange: Option<String>,
        /// Why the part was written.
        trigger: Option<String>,
    }
}

/// The parts that a profile has of a run, where it does not have all of them. Callgrind numbers its dumps from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialRun {
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The parts, as ranges in order: their first and their last.
    pub parts: Vec<(u64, u64)>,
    /// The part that was written when the program ended, if it is among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// The trigger of the part that Callgrind writes when the program ends (`dump_profile` in callgrind/main.c).
const PROGRAM_TERMINATION: &str = "Program termination";

impl PartialRun {
    /// One part, with why it was written.
    pub fn one(pid: Option<u64>, part: u64, trigger: &str) -> PartialRun {
        PartialRun {
            pid,
            parts: vec![(part, part)],
            last: (trigger == PROGRAM_TERMINATION).then_some(part),
        }
    }

    /// The runs of which parts are missing in what these records are of.
    pub fn of(runs: &[RunRecord]) -> Vec<PartialRun> {
        let mut partial = Vec::new();
        for part in runs.iter().flat_map(|run| run.costs.partial_runs(run.pid)) {
            part.add_to(&mut partial);
        }
        partial
    }

    /// Whether these are all parts of the run: from the first to the one that was written at its end.
    pub fn has_all(&self) -> bool {
        self.last.is_some_and(|last| self.parts == [(1, last)])
    }

    /// How many parts there are.
    pub fn count(&self) -> u64 {
        let sizes = self
            .parts
            .iter()
            .map(|(first, last)| last.saturating_sub(*first));
        sizes.fold(0, |sum, size| sum.saturating_add(size).saturating_add(1))
    }

    /// Adds what is known of parts to that of others. A run of which all parts are there is none of these.
    pub fn add_to(mut self, partial: &mut Vec<PartialRun>) {
        if let Some(known) = partial.iter().position(|known| known.pid == self.pid) {
            let known = partial.remove(known);
            self.last = self.last.max(known.last);
            self.parts.extend(known.parts);
            self.parts.sort_unstable();
            // What overlaps or follows without a gap is one range.
            self.parts.dedup_by(|next, range| {
                let is_one = next.0 <= range.1.saturating_add(1);
                if is_one {
                    range.1 = range.1.max(next.1);
                }
                is_one
            });
        }
        if !self.has_all() {
            partial.push(self);
        }
    }
}

impl CostFacts {
    /// The runs of which parts are missing in a profile of this process, as far as it says so.
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

/// How far inlined functions were resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineFacts {
    /// The cost whose chain of inlined functions is known, including that of code into which nothing was inlined.
    #[serde(deserialize_with = "owned_counts")]
    pub resolved: Counts<'static>,
    /// The objects that cost something, those that cost most first.
    pub objects: Vec<InlineObject>,
}

/// What became of the debug information of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InlineObject {
    /// The object, as the profile names it.
    pub obj: String,
    /// Where its debug information came from: `object`, `build-id` or `debuglink`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug: Option<String>,
    /// Why its cost is not resolved: `missing`, `no debug information`, `another build`, or the reader's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresolved: Option<String>,
    /// Files of its debug information that are not there: what they would tell is not resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Functions that are elsewhere in the file that is there than the profile has them, and so are not resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// The part of `named` that is where the object has it.
    pub agrees: u64,
    /// The cost that can be held against the object, by its line or by the name of its function; counted in the first
    /// event.
    pub named: u64,
}

facts! {
    /// What logs of Memcheck, Helgrind, DRD and the sanitizers say of a process.
    ProcessFacts {
        /// The last leak check found nothing.
        all_heap_blocks_freed: bool,
        /// Whether the log says itself that it is whole.
        complete: Option<bool>,
        /// Valgrind stopped after this many errors.
        error_limit_reached: bool,
        /// ERROR SUMMARY.
        error_summary: Option<ErrorSummary>,
        /// The process went on as another program.
        exec: bool,
        /// The signal that ended the process.
        fatal_signal: Option<SignalFacts>,
        /// It forked or was forked; the log does not tell which.
        forked: bool,
        /// HEAP SUMMARY.
        heap_summary: Option<HeapSummary>,
        /// LEAK SUMMARY.
        leak_summary: Option<LeakSummary>,
        /// The variables of `%q{VARIABLE}` in Valgrind's file names.
        log_file_qualifiers: Vec<LogFileQualifier>,
        /// Nothing but the preamble came.
        only_preamble: bool,
        /// Valgrind's own options.
        options: Vec<String>,
        /// The parent.
        ppid: Option<u64>,
        /// The log has no summaries, as with `-q`.
        quiet: bool,
        /// How many loss records of earlier leak checks the last one has again.
        repeated_leaks: u64,
        /// Valgrind stopped reporting errors.
        stopped_reporting: bool,
        /// A sanitizer ended the process, or does not tell that it came to its end.
        unfinished: bool,
        /// How many different errors the log counts that it does not have.
        unprinted_errors: u64,
        /// The suppressions that matched.
        used_suppressions: Vec<UsedSuppression>,
        /// `--xml-user-comment`.
        user_comment: Option<String>,
    }
}

/// Bytes and blocks of one row of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many there are.
    pub blocks: u64,
    /// What they hold.
    pub bytes: u64,
}

/// HEAP SUMMARY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapSummary {
    /// All bytes that were ever allocated.
    #[serde(default)]
    pub allocated_bytes: u64,
    /// Calls that allocated.
    #[serde(default)]
    pub allocs: u64,
    /// Calls that freed.
    #[serde(default)]
    pub frees: u64,
    /// Blocks in use at exit.
    pub in_use_blocks: u64,
    /// Bytes in use at exit.
    pub in_use_bytes: u64,
}

/// LEAK SUMMARY: direct bytes and blocks by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakSummary {
    definite: Blocks,
    indirect: Blocks,
    possible: Blocks,
    reachable: Blocks,
    /// What suppressions took out.
    #[serde(default)]
    pub suppressed: Blocks,
}

impl LeakSummary {
    /// The row of a kind.
    pub fn of(&self, kind: LeakKind) -> Blocks {
        match kind {
            LeakKind::Definite => self.definite,
            LeakKind::Indirect => self.indirect,
            LeakKind::Possible => self.possible,
            LeakKind::Reachable => self.reachable,
        }
    }

    /// The row of a kind, to be filled in.
    pub fn of_mut(&mut self, kind: LeakKind) -> &mut Blocks {
        match kind {
            LeakKind::Definite => &mut self.definite,
            LeakKind::Indirect => &mut self.indirect,
            LeakKind::Possible => &mut self.possible,
            LeakKind::Reachable => &mut self.reachable,
        }
    }
}

/// ERROR SUMMARY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// How many different errors there are.
    pub contexts: u64,
    /// How often errors happened.
    #[serde(default)]
    pub errors: u64,
    /// How often suppressed ones did.
    #[serde(default)]
    pub suppressed: u64,
    /// How many different ones were suppressed.
    #[serde(default)]
    pub suppressed_contexts: u64,
}

/// The signal that ended a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SignalFacts {
    /// The address that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What happened there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// `SIGSEGV`.
    pub name: String,
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<u64>,
    /// Where the process was.
    #[serde(deserialize_with = "owned_stack")]
    pub stack: Vec<Frame<'static>>,
    /// The thread's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
}

/// A variable of `%q{VARIABLE}` and what it held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFileQualifier {
    /// What it held.
    pub value: String,
    /// Its name.
    pub variable: String,
}

/// A suppression and how often it matched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedSuppression {
    /// How often it matched.
    pub count: u64,
    /// Its name.
    pub name: String,
}

facts! {
    /// What profiles of DHAT say of their run.
    DhatFacts {
        /// What the blocks are counted in, where it is not blocks.
        blocks_unit: Option<String>,
        /// The unit of one byte, where it is not a byte.
        byte_unit: Option<String>,
        /// The unit of several bytes, where it is not bytes.
        bytes_unit: Option<String>,
        /// When the program ended, in `time_unit`.
        end_time: Option<u64>,
        /// When most bytes were live, in `time_unit`.
        gmax_time: Option<u64>,
        /// What a million of `time_unit` is called.
        mega_time_unit: Option<String>,
        /// `heap`, `copy`, `ad-hoc`.
        mode: Option<String>,
        /// A block that lives shorter than this, in `time_unit`, is short-lived.
        short_lived: Option<u64>,
        /// `Allocated`: what the program did with the blocks.
        verb: Option<String>,
    }
}

facts! {
    /// What counters say of how they counted.
    CounterFacts {
        /// Of how much of the time an event was counted, in per cent, where counters took turns. Its count was scaled up.
        counted_share: BTreeMap<String, serde_json::Number>,
        /// Events that were not counted, or not always.
        not_counted: Vec<String>,
        /// Events that the machine cannot count.
        not_supported: Vec<String>,
    }
}

facts! {
    /// What recordings of heaptrack say of their run.
    HeaptrackFacts {
        /// heaptrack came to a program that was running: what it had allocated before is not known.
        attached: bool,
        /// The program's own patterns of leaks that are not to be reported.
        leak_suppressions: Vec<String>,
    }
}

facts! {
    /// What a sampling profiler says of how it sampled, as far as it says so.
    SamplingFacts {
        /// How long was profiled, in nanoseconds. It adds up over several runs.
        duration: Option<u64>,
        /// What else is known of the run, by key: the host, the machine, what a user wrote beside it.
        labels: BTreeMap<String, String>,
        /// Where in memory the objects were that addresses of frames are of, in the producer's order.
        mappings: Vec<MappingFacts>,
        /// What there is a sample for each so many of.
        period: Option<PeriodFacts>,
        /// Samples a second. A number; an interval of 0.7 ms is no whole one.
        sample_rate: Option<serde_json::Number>,
        /// Type and unit of each event as pprof's file spells them, where `events` and `units` do not tell.
        sample_types: Vec<[String; 2]>,
        /// When the run began, in nanoseconds since 1970.
        start: Option<u64>,
        /// The unit of an event, where it is not a plain count: `ns`, `bytes`.
        units: BTreeMap<String, String>,
    }
}

impl SamplingFacts {
    /// Says the unit of an event.
    pub fn set_unit(&mut self, event: &str, unit: &str) {
        self.units.insert(event.to_owned(), unit.to_owned());
    }
}

/// A piece of an object in memory. Addresses of frames are counted from where the object's file begins: one that was met at
/// `start` is `offset`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MappingFacts {
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obj: Option<String>,
    /// Where it began in memory, `0x` and hexadecimal digits.
    pub start: HexAddress,
    /// Where it ended.
    pub end: HexAddress,
    /// Where in the file it began.
    pub offset: HexAddress,
    /// Which build of the object it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// What the producer says that it looked up of the code there: `functions`, `files`, `lines`, `inlined`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
}

impl MappingFacts {
    /// What can be [known](MappingFacts::known), in pprof's order.
    pub const KNOWN: [&str; 4] = ["functions", "files", "lines", "inlined"];
}

/// An address, in a stream a text: `0x` and hexadecimal digits.
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

/// How much of something passed between samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeriodFacts {
    /// What is counted, as the producer calls it: `cpu`, `space`.
    pub event: String,
    /// Its unit, as the producer spells it.
    pub unit: String,
    /// How many.
    pub value: i64,
}

/// A thread that the producer names: one that Helgrind announced, or one that was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadFacts {
    /// The process it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The process's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// True for the program's first thread, which nothing created.
    #[serde(skip_serializing_if = "is_nothing")]
    pub root: bool,
    /// Where Helgrind saw it created.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "owned_optional_stack"
    )]
    pub stack: Option<Vec<Frame<'static>>>,
    /// Its number: Valgrind's, or the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u64>,
    /// Its name.
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
    /// The profile's own count of an event, where it has a summary that says so.
    pub fn summary_of(&self, event: &str) -> Option<Count> {
        let mut counts = self.summary.iter();
        counts.find_map(|(name, count)| (name == event).then_some(count))
    }
}
