//! What cg-diff writes: one record compared over several runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{Counts, CountsPerRun, Frame, FunctionName, Name, PerRun, RunRecord, is_nothing};

/// What became of a record between the first run and the last.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Both have it and some count differs: self cost or calls, and inclusive cost where that is asked for.
    #[default]
    Changed,
    /// Only the last has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both have it under different names; a guess, told by `was`.
    Renamed,
    /// What one of them has of it is below Massif's threshold there, and not told.
    BelowThreshold,
    /// Both have it and the counts that are compared are equal, or differ by no more than noise.
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
            Status::BelowThreshold => "below-threshold",
            Status::Same => "same",
        }
    }
}

/// The run of a comparison that does not tell a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SilentRun {
    /// The one that changes are relative to.
    Old,
    /// The last.
    New,
    /// Both.
    Both,
}

impl SilentRun {
    /// The one of old and new that is silent, if one is.
    pub fn of([old, new]: [bool; 2]) -> Option<SilentRun> {
        match (old, new) {
            (true, true) => Some(SilentRun::Both),
            (true, false) => Some(SilentRun::Old),
            (false, true) => Some(SilentRun::New),
            (false, false) => None,
        }
    }

    /// Whether old and new are silent.
    pub fn ends(self) -> [bool; 2] {
        [self != SilentRun::New, self != SilentRun::Old]
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
    /// The file of the call site, where arcs are compared and it is not that of the function.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The line, where lines or arcs are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The called function, where arcs are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub callee: Option<Box<FunctionName<'a>>>,
    /// The kind, where leaks or errors are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name<'a>>,
    /// The sentence, where errors are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub what: Option<Name<'a>>,
    /// The type of the records compared: `fn`, `leak`, …
    #[serde(borrow)]
    pub of: Name<'a>,
    /// What became of it.
    pub status: Status,
    /// Which run does not tell all of it, as some of it is below Massif's threshold there. What depends on that run's figure
    /// is left out: `delta` where the status says so, else `incl_delta` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<SilentRun>,
    /// The most self cost that the silent runs may have, `null` for others.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Box<CountsPerRun<'a>>>,
    /// Where heaps are compared and this is the sum of places below Massif's threshold: how many they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Box<PerRun>>,
    /// What it was called in the first run that has it, where a guess joined it under another name, file or object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub was: Option<Box<FunctionName<'a>>>,
    /// True where the join is a guess (`renamed`), from what else the two have in common.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The rules that it took to see that the names of the runs mean the same; empty where they are equal.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Name<'a>>,
    /// How many records were summed into each entry, where it is more than one in some run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Box<PerRun>>,
    /// Call counts.
    #[serde(skip_serializing_if = "is_nothing")]
    pub calls: PerRun,
    /// Self cost.
    #[serde(borrow)]
    pub cost: CountsPerRun<'a>,
    /// Inclusive cost.
    #[serde(borrow, skip_serializing_if = "CountsPerRun::is_empty")]
    pub incl: CountsPerRun<'a>,
    /// Self cost of the last run less that of the first (or of the run that `relative_to` of the `run` record names),
    /// an event; in the range of `i64`.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub delta: Counts<'a>,
    /// The same of inclusive cost, where that is known.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub incl_delta: Counts<'a>,
    /// Of functions as if nothing were inlined: self cost of the function's own code, where its inlining changed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub out_of_line: Option<Box<CountsPerRun<'a>>>,
    /// Self cost of its code that went into others by inlining, where that changed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub gone_inline: Option<Box<CountsPerRun<'a>>>,
    /// Where that changed, the functions that its code is inlined into, each with what it has of it.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host<'a>>,
    /// Of functions whose instructions are known: how their machine code changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeChange>,
    /// Why the cost changed, where call counts and arcs tell.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<Why<'a>>>,
    /// The one callee whose inclusive cost changed by as much as that of this function; look there instead.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub explained_by: Option<Box<FunctionName<'a>>>,
    /// Where an entry stands for several files: the least self cost among them.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub min: Option<Box<CountsPerRun<'a>>>,
    /// Where an entry stands for several files: the greatest self cost among them less the least.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Box<CountsPerRun<'a>>>,
    /// Where an entry stands for several files: the greatest change of self cost that would still be noise.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Box<Counts<'a>>>,
    /// Where stacks are compared: the frames, innermost first.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
    /// Where sampled runs are compared: by how many standard deviations of chance the samples changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Box<serde_json::Number>>,
    /// What else the writer says.
    #[serde(flatten, deserialize_with = "super::without_type")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl DiffRecord<'_> {
    /// Whether it tells by how much self or inclusive cost changed.
    pub fn tells_change(&self, is_self: bool) -> bool {
        self.status != Status::BelowThreshold && (is_self || self.below.is_none())
    }

    /// The same record to be kept among many: their names share their texts.
    pub(crate) fn shared(self, texts: &mut SharedTexts) -> DiffRecord<'static> {
        let mut share = |name: Option<Name>| texts.share_any(&name);
        DiffRecord {
            // Few functions have several rows.
            name: self.name.map(Name::into_owned),
            file: share(self.file),
            obj: share(self.obj),
            site: share(self.site),
            line: self.line,
            kind: share(self.kind),
            what: share(self.what),
            of: texts.share(&self.of),
            status: self.status,
            below: self.below,
            at_most: self.at_most.map(|most| Box::new(most.shared(texts))),
            places: self.places,
            guess: self.guess,
            joined: self.joined.iter().map(|rule| texts.share(rule)).collect(),
            merged: self.merged,
            calls: self.calls,
            cost: self.cost.shared(texts),
            incl: self.incl.shared(texts),
            delta: self.delta.shared(texts),
            incl_delta: self.incl_delta.shared(texts),
            out_of_line: self.out_of_line.map(|own| Box::new(own.shared(texts))),
            gone_inline: self.gone_inline.map(|own| Box::new(own.shared(texts))),
            hosts: (self.hosts.into_iter())
                .map(|host| Host {
                    function: host.function.into_owned(),
                    cost: host.cost.shared(texts),
                })
                .collect(),
            min: self.min.map(|min| Box::new(min.shared(texts))),
            spread: self.spread.map(|spread| Box::new(spread.shared(texts))),
            noise: self.noise.map(|noise| Box::new(noise.shared(texts))),
            callee: self.callee.map(|callee| Box::new(callee.into_owned())),
            was: self.was.map(|was| Box::new(was.into_owned())),
            code: self.code,
            why: self.why.map(|why| Box::new(why.into_owned())),
            explained_by: self
                .explained_by
                .map(|callee| Box::new(callee.into_owned())),
            stack: self
                .stack
                .into_iter()
                .map(|frame| frame.shared(texts))
                .collect(),
            z: self.z,
            extra: self.extra,
        }
    }
}

/// How the machine code of a function changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeChange {
    /// It did not: all of its instructions are the same, or all that ran.
    Same,
    /// By nothing but constants and addresses.
    Constants,
    /// It is other code.
    Other,
    /// In a way that this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A function that another is inlined into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host<'a> {
    /// The function.
    #[serde(flatten, borrow)]
    pub function: FunctionName<'a>,
    /// The part of the other's cost that arose in it.
    #[serde(borrow)]
    pub cost: CountsPerRun<'a>,
}

/// Why the cost of a function changed, with the figures it was judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Why<'a> {
    /// The kind of reason.
    pub cause: Cause,
    /// The event that the figures are of.
    #[serde(borrow)]
    pub event: Name<'a>,
    /// How much of the change of self cost goes with the change of the call count, at the old cost per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_calls: Option<i64>,
    /// How much of it goes with the change of the cost per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_cost_per_call: Option<i64>,
    /// Call counts before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<u64>,
    /// The callees that only one of the runs has, the costliest first.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub callees: Vec<CalleeCalls<'a>>,
}

/// A callee of a function, and how often it called it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalleeCalls<'a> {
    /// The callee.
    #[serde(rename = "fn", borrow)]
    pub name: Name<'a>,
    /// Calls before and after.
    pub calls: [u64; 2],
}

/// The kinds of reason for a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It was called more or less often; a call costs what it did.
    Calls,
    /// It was called as often as before; a call costs more or less.
    CostPerCall,
    /// Both.
    CallsAndCostPerCall,
    /// It calls functions that it did not call before, or no longer calls some.
    Callees,
    /// One that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl Why<'_> {
    /// The same reason, owning its names.
    pub fn into_owned(self) -> Why<'static> {
        Why {
            cause: self.cause,
            event: self.event.into_owned(),
            by_calls: self.by_calls,
            by_cost_per_call: self.by_cost_per_call,
            calls: self.calls,
            callees: (self.callees.into_iter())
                .map(|callee| CalleeCalls {
                    name: callee.name.into_owned(),
                    calls: callee.calls,
                })
                .collect(),
        }
    }
}

/// What the `run` record of a diff says of the comparison as a whole. Its fields stand beside those of every `run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiffSummary {
    /// The run that `delta` and percentages are relative to: a name of `runs`, or `previous` for the last but one.
    pub relative_to: String,
    /// True where rows are judged and ranked by inclusive cost.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inclusive: bool,
    /// How many rows there are of each status, rows that are not shown too.
    pub rows: BTreeMap<Status, u64>,
    /// What changed too little to be a row of its own, where anything did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// How sampled runs were compared, where they are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingSummary>,
    /// How many rows were joined by which rule; a row may have taken several. Empty where all names were equal.
    pub joined: BTreeMap<String, u64>,
    /// How many rows are sums of several records of one run.
    pub merged: u64,
    /// What the entries are of sides with several files: `median`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<String>,
    /// How many files each run of the comparison stands for, where one stands for several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<u64>,
    /// What went wrong, a sentence each: inputs that could not be read to their end, fragments, what could not be judged.
    /// Such a comparison is not to be relied on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub troubles: Vec<String>,
    /// Sentences that a reader of the figures should know: the two sides differ in events, only noise moved, …
    pub notes: Vec<String>,
    /// The limits that are broken, a sentence each; `null` where none were set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_limits: Option<Vec<String>>,
}

/// How sampled runs were compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplingSummary {
    /// `counts`, or `shares` of all samples.
    pub compared: String,
    /// The event that counts samples.
    pub event: String,
    /// So many standard deviations of chance a change had to exceed.
    pub z: f64,
}

/// Rows that changed by less than what counts as a change. With them the rows of a type sum to the difference of the
/// totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// How many they are; they count as `same`.
    pub rows: u64,
    /// Event → the sum of what `delta` says of each.
    pub delta: BTreeMap<String, i64>,
}

impl DiffSummary {
    /// The summary in the `run` record of a diff, as far as it is there.
    pub fn of(run: &RunRecord) -> DiffSummary {
        serde_json::from_value(serde_json::Value::Object(run.extra.clone())).unwrap_or_default()
    }

    /// Puts the summary beside the other fields of a `run` record.
    pub fn put_into(&self, run: &mut RunRecord) {
        if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(self) {
            run.extra.extend(fields);
        }
    }
}
