//! The causes of a difference, which cg-diff finds.

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{Counts, CountsPerRun, FunctionName, Name, PerRun, is_nothing};

/// The cause of a part of a difference: a function, with details that add up to it. For every event, the sum of `delta` over
/// all causes of a comparison is exactly the new total minus the old total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "cause", default)]
pub struct CauseRecord<'a> {
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
    pub bench: Option<Name<'a>>,
    /// True if the function was paired by a guess.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The number, counted from 1, of the group of functions that call each other, or of the function that calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// The cause's share of the change of the total, by event.
    #[serde(borrow)]
    pub delta: Counts<'a>,
    /// The details, the greatest first.
    #[serde(borrow)]
    pub details: Vec<CauseDetail<'a>>,
}

/// A part of a cause. The sum of `delta` over the details of a cause is its `delta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CauseDetail<'a> {
    /// The kind of the detail.
    pub kind: CauseKind,
    /// The function that the detail names: called, contracted, inlined or entered.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// That function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// That function's object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// True if that function was paired by a guess.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The old and the new number of calls. For [`CauseKind::Runs`], the number of times that the function of the cause ran.
    #[serde(skip_serializing_if = "is_nothing")]
    pub calls: PerRun,
    /// True if `calls` is an estimate.
    #[serde(skip_serializing_if = "is_nothing")]
    pub about: bool,
    /// The old and the new number of entries into the cycle, for [`CauseKind::Runs`].
    #[serde(skip_serializing_if = "is_nothing")]
    pub entries: PerRun,
    /// The old and the new inclusive cost as the profiles recorded it, by event.
    #[serde(borrow, skip_serializing_if = "CountsPerRun::is_empty")]
    pub recorded: CountsPerRun<'a>,
    /// The amount by event that netted out, because other functions make the calls.
    #[serde(borrow, skip_serializing_if = "Counts::is_empty")]
    pub moved: Counts<'a>,
    /// The function that makes the calls instead, or made them before, if calls moved.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub other: Option<Box<FunctionName<'a>>>,
    /// The runs in which the function is inlined, for [`CauseKind::Inlined`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inlined: Option<InlinedIn>,
    /// The line that changed most, if it has at least half of the change. It is a line of the new run, or of the old run if
    /// the calls are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The file of that line, if it is not the file of the cause's function.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The detail's share of the change of the total, by event.
    #[serde(borrow)]
    pub delta: Counts<'a>,
}

/// The kinds of details of a cause.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// The function's own code.
    #[default]
    Own,
    /// The own code of a function that only the old run has.
    Gone,
    /// The own code of a function that only the new run has.
    New,
    /// The number of calls of a function.
    Calls,
    /// Calls that another function makes in the other run.
    Moved,
    /// The number of times that the function runs for each entry into its cycle.
    Runs,
    /// The code of an inlined function.
    Inlined,
    /// Calls from outside of the program.
    Entered,
}

impl CauseKind {
    /// Returns the name in a stream.
    pub fn name(self) -> &'static str {
        match self {
            CauseKind::Own => "own",
            CauseKind::Gone => "gone",
            CauseKind::New => "new",
            CauseKind::Calls => "calls",
            CauseKind::Moved => "moved",
            CauseKind::Runs => "runs",
            CauseKind::Inlined => "inlined",
            CauseKind::Entered => "entered",
        }
    }
}

/// The runs in which a function is inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InlinedIn {
    /// Only the old run.
    Old,
    /// Only the new run.
    New,
    /// Both runs.
    Both,
}

impl InlinedIn {
    /// Returns the name in a stream.
    pub fn name(self) -> &'static str {
        match self {
            InlinedIn::Old => "old",
            InlinedIn::New => "new",
            InlinedIn::Both => "both",
        }
    }
}

/// A group of several functions that call each other, in the `run` record of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CycleSummary {
    /// The number in the field `cycle` of its causes.
    pub cycle: u64,
    /// The function for which callers from outside of the group paid most.
    #[serde(rename = "fn")]
    pub name: String,
    /// The number of functions.
    pub members: u64,
    /// The sum of the causes of its functions, by event.
    pub delta: std::collections::BTreeMap<String, i64>,
}

impl CauseRecord<'_> {
    /// Returns the record with its texts shared with those of earlier records.
    pub fn shared(self, texts: &mut SharedTexts) -> CauseRecord<'static> {
        CauseRecord {
            name: texts.share_any(&self.name),
            file: texts.share_any(&self.file),
            obj: texts.share_any(&self.obj),
            bench: texts.share_any(&self.bench),
            guess: self.guess,
            cycle: self.cycle,
            delta: self.delta.shared(texts),
            details: (self.details.into_iter())
                .map(|detail| detail.shared(texts))
                .collect(),
        }
    }
}

impl CauseDetail<'_> {
    fn shared(self, texts: &mut SharedTexts) -> CauseDetail<'static> {
        CauseDetail {
            kind: self.kind,
            name: texts.share_any(&self.name),
            file: texts.share_any(&self.file),
            obj: texts.share_any(&self.obj),
            guess: self.guess,
            calls: self.calls,
            about: self.about,
            entries: self.entries,
            recorded: self.recorded.shared(texts),
            moved: self.moved.shared(texts),
            other: self.other.map(|other| Box::new(other.into_owned())),
            inlined: self.inlined,
            line: self.line,
            site: texts.share_any(&self.site),
            delta: self.delta.shared(texts),
        }
    }
}
