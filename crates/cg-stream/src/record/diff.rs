//! The records of cg-diff: one record compared over several runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{
    Counts, CountsPerRun, CycleSummary, Frame, FunctionName, Name, PerRun, RunRecord, is_nothing,
};

/// The kind of change of a record between the first and the last run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Both runs have it, and self cost or calls differ, or inclusive cost if it is compared.
    #[default]
    Changed,
    /// Only the last run has it.
    Added,
    /// Only the first run has it.
    Removed,
    /// Both runs have it under different names. This is a guess; `was` is the other name.
    Renamed,
    /// In one run its cost is below Massif's threshold and therefore unknown.
    BelowThreshold,
    /// Both runs have it, and the compared counts are equal or differ by no more than noise.
    Same,
}

impl Status {
    /// Returns the word in the stream.
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

/// The run of a comparison in which a cost is below the threshold and therefore unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunBelowThreshold {
    /// The run that changes are relative to.
    Old,
    /// The last run.
    New,
    /// Both runs.
    Both,
}

impl RunBelowThreshold {
    /// Returns the run whose flag is true; `None` if neither flag is.
    pub fn from_flags([old, new]: [bool; 2]) -> Option<RunBelowThreshold> {
        match (old, new) {
            (true, true) => Some(RunBelowThreshold::Both),
            (true, false) => Some(RunBelowThreshold::Old),
            (false, true) => Some(RunBelowThreshold::New),
            (false, false) => None,
        }
    }

    /// Returns the flags of the old and the new run: true if the cost is unknown in that run.
    pub fn flags(self) -> [bool; 2] {
        [
            self != RunBelowThreshold::New,
            self != RunBelowThreshold::Old,
        ]
    }
}

/// One record compared over several runs: an array per event with an entry per run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "diff", default)]
pub struct DiffRecord<'a> {
    /// The function.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The function's object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The benchmark, if the compared runs belong to one.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub bench: Option<Box<Name<'a>>>,
    /// The file of the line, if arcs or stacks are compared and it is not the function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The line, if lines or arcs are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The called function, if arcs are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub callee: Option<Box<FunctionName<'a>>>,
    /// The kind, if leaks or errors are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name<'a>>,
    /// The sentence, if errors are compared.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub what: Option<Box<Name<'a>>>,
    /// The type of the compared records: `fn`, `leak`, …
    #[serde(borrow)]
    pub of: Name<'a>,
    /// The kind of change.
    pub status: Status,
    /// The run in which a part of the record is below Massif's threshold and therefore unknown. Fields that depend on this
    /// part are left out: `delta` if the status is `below-threshold`, otherwise only `incl_delta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<RunBelowThreshold>,
    /// The upper bound of self cost in the runs of `below`; `null` for the other runs.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Box<CountsPerRun<'a>>>,
    /// The number of places, if this record is the sum of the places below Massif's threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Box<PerRun>>,
    /// The function's name in the first run that has it, if a guess joined it under another name, file or object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub was: Option<Box<FunctionName<'a>>>,
    /// True if the join is a guess (`renamed`) from other properties that both functions share.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The rules that joined the different names of the runs; empty if the names are equal.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Name<'a>>,
    /// The number of records that were added up for each entry, if it is more than one in some run.
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
    /// Upper bounds of inclusive cost, in place of `incl`, if some run has only a bound.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub incl_bound: Option<Box<CountsPerRun<'a>>>,
    /// Self cost of the last run minus that of the first run (or of the run in `relative_to` of the `run` record), per
    /// event, in the range of `i64`.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub delta: Counts<'a>,
    /// The same difference of inclusive cost, if inclusive cost is known.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub incl_delta: Counts<'a>,
    /// Self cost of the function's code that is not inlined, if the comparison undoes inlining and the inlining changed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub out_of_line: Option<Box<CountsPerRun<'a>>>,
    /// Self cost of the function's code that is inlined into others, if the inlining changed.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub gone_inline: Option<Box<CountsPerRun<'a>>>,
    /// The functions that the code is inlined into, each with its part of the cost, if the inlining changed.
    #[serde(borrow, skip_serializing_if = "<[_]>::is_empty")]
    pub hosts: Box<[Host<'a>]>,
    /// The change of the machine code, if the function's instructions are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeChange>,
    /// The reason for the change of cost, if call counts and arcs show it.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub why: Option<Box<Why<'a>>>,
    /// The one callee whose inclusive cost changed by as much as this function's. Users should look at the callee instead.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub explained_by: Option<Box<FunctionName<'a>>>,
    /// The minimum of self cost over the files, if a run has several.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub min: Option<Box<CountsPerRun<'a>>>,
    /// The maximum minus the minimum of self cost over the files, if a run has several.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Box<CountsPerRun<'a>>>,
    /// The largest change of self cost that counts as noise, if a run has several files.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Box<Counts<'a>>>,
    /// The frames, innermost first, if stacks are compared.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame<'a>>,
    /// The change of the samples in standard deviations of chance, if sampled runs are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<Box<serde_json::Number>>,
    /// Unknown fields.
    #[serde(flatten, deserialize_with = "super::without_type")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl DiffRecord<'_> {
    /// Returns the name of the benchmark.
    pub fn bench(&self) -> Option<&str> {
        self.bench.as_ref().map(|bench| bench.as_str())
    }

    /// Returns true if the change of self cost (or of inclusive cost) is known.
    pub fn is_change_known(&self, is_self: bool) -> bool {
        self.status != Status::BelowThreshold && (is_self || self.below.is_none())
    }

    /// Returns the record with its texts shared with those of earlier records.
    pub fn shared(self, texts: &mut SharedTexts) -> DiffRecord<'static> {
        let mut share = |name: Option<Name>| texts.share_any(&name);
        DiffRecord {
            // Few functions have several rows.
            name: self.name.map(Name::into_owned),
            file: share(self.file),
            obj: share(self.obj),
            site: share(self.site),
            line: self.line,
            kind: share(self.kind),
            of: texts.share(&self.of),
            what: self.what.map(|what| Box::new(texts.share(&what))),
            bench: self.bench.map(|bench| Box::new(texts.share(&bench))),
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
            incl_bound: (self.incl_bound).map(|bound| Box::new(bound.shared(texts))),
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

/// The change of a function's machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeChange {
    /// None: all instructions are the same, or all instructions that ran.
    Same,
    /// Only constants and addresses changed.
    Constants,
    /// The instructions changed.
    Other,
    /// A change that this version does not know.
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
    /// The inlined function's cost in this function.
    #[serde(borrow)]
    pub cost: CountsPerRun<'a>,
}

/// The reason why a function's cost changed, and the figures that show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Why<'a> {
    /// The kind of reason.
    pub cause: Cause,
    /// The event of the figures.
    #[serde(borrow)]
    pub event: Name<'a>,
    /// The part of the change of self cost that the change of the call count causes, at the old cost per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_calls: Option<i64>,
    /// The part of the change of self cost that the change of the cost per call causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_cost_per_call: Option<i64>,
    /// The old and the new call count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<u64>,
    /// The callees that only one of the runs has, most expensive first.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub callees: Vec<CalleeCalls<'a>>,
}

/// A callee of a function and its call counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalleeCalls<'a> {
    /// The callee.
    #[serde(rename = "fn", borrow)]
    pub name: Name<'a>,
    /// The old and the new number of calls.
    pub calls: [u64; 2],
}

/// A kind of reason for a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The call count changed; the cost per call did not.
    Calls,
    /// The cost per call changed; the call count did not.
    CostPerCall,
    /// The call count and the cost per call changed.
    CallsAndCostPerCall,
    /// The function calls new callees, or no longer calls some.
    Callees,
    /// A reason that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl Why<'_> {
    /// Returns the same reason with owned names.
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

/// The fields that only the `run` record of a diff has. They describe the comparison as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiffSummary {
    /// The run that `delta` and percentages are relative to: a name in `runs`, or `previous` for the last run but one.
    pub relative_to: String,
    /// True if rows are compared and sorted by inclusive cost.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inclusive: bool,
    /// The number of rows of each status, including rows that are not shown.
    pub rows: BTreeMap<Status, u64>,
    /// The sum of the rows that changed too little to be shown, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The method of comparing sampled runs, if the runs are sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingSummary>,
    /// The number of rows that each rule joined. Several rules may have joined one row. Empty if all names were equal.
    pub joined: BTreeMap<String, u64>,
    /// The number of rows that rules joined.
    #[serde(skip_serializing_if = "is_nothing")]
    pub matched: u64,
    /// The number of rows that are sums of several records of one run.
    pub merged: u64,
    /// The groups of several functions that call each other, if causes were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cycles: Vec<CycleSummary>,
    /// True if the runs have only totals, and all changes are within their confidence intervals.
    #[serde(skip_serializing_if = "is_nothing")]
    pub is_noise: bool,
    /// The statistic that combines the files of a run: `median`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<String>,
    /// The number of files of each run, if a run has several files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<u64>,
    /// The errors, a sentence each: inputs that could not be read completely, fragments, rows that could not be judged.
    /// A comparison with errors is not reliable.
    #[serde(rename = "troubles", skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Notes about the figures, a sentence each: the runs have different events, all changes are noise, …
    pub notes: Vec<String>,
    /// The broken limits, a sentence each; `null` if no limits were set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken_limits: Option<Vec<String>>,
}

/// The method of comparing sampled runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplingSummary {
    /// `counts`, or `shares` of all samples.
    pub compared: String,
    /// The event that counts samples.
    pub event: String,
    /// The number of standard deviations of chance that a change had to exceed.
    pub z: f64,
}

/// The rows that changed by less than the threshold of a change. The rows of a type and this sum add up to the difference of
/// the totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The number of these rows, which count as `same`.
    pub rows: u64,
    /// The sum of `delta` of these rows, by event.
    pub delta: BTreeMap<String, i64>,
}

impl DiffSummary {
    /// Reads the summary from the `run` record of a diff. Missing fields have their default values.
    pub fn from_run(run: &RunRecord) -> DiffSummary {
        serde_json::from_value(serde_json::Value::Object(run.extra.clone())).unwrap_or_default()
    }

    /// Adds the summary to the fields of a `run` record.
    pub fn put_into(&self, run: &mut RunRecord) {
        if let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(self) {
            run.extra.extend(fields);
        }
    }
}
