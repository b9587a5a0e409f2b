//! The causes of a difference, which cg-diff finds.

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{Counts, CountsPerRun, FunctionName, Name, PerRun, is_nothing};

/// A part of the difference of two totals, with one place and one kind. For every event, the sum of `delta` over all causes
/// of a comparison is exactly the new total minus the old total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "cause", default)]
pub struct CauseRecord<'a> {
    /// The kind of the cause.
    pub kind: CauseKind,
    /// The function; the caller if the cause is a call.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// The function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// The function's object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The function that it is inlined into, if chains of inlined functions are known. Calls of this function are counted.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<FunctionName<'a>>>,
    /// The called function, for [`CauseKind::Calls`].
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub callee: Option<Box<FunctionName<'a>>>,
    /// True if the callee is inlined, not called. In a run that inlines it, it ran as often as its host; otherwise never.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inline: bool,
    /// The old and the new number of times that the function ran. For [`CauseKind::Calls`], the number of times that it
    /// called the callee; for [`CauseKind::Entered`], the number of times that it was entered from outside.
    pub calls: PerRun,
    /// For [`CauseKind::CostPerCall`], by event: old self cost, old calls, new self cost, new calls.
    #[serde(borrow, skip_serializing_if = "CountsPerRun::is_empty")]
    pub per_call: CountsPerRun<'a>,
    /// For [`CauseKind::Calls`], in the old run: calls of the callee, calls of the function.
    #[serde(skip_serializing_if = "is_nothing")]
    pub old_rate: PerRun,
    /// For [`CauseKind::Calls`], in the new run: calls of the callee, calls of the function.
    #[serde(skip_serializing_if = "is_nothing")]
    pub new_rate: PerRun,
    /// The number, counted from 1, of the strongly connected component of the call graph, if it has several functions. A
    /// single cause in it can be larger than the difference of the totals; the sum of its causes is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// True if the function or the callee was paired by a guess.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The line that changed most, if it has at least half of the change. It is a line of the new run, or of the old run if
    /// the call is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The file of that line, if it is not the function's file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// The cause's share of the change of the total, by event.
    #[serde(borrow)]
    pub delta: Counts<'a>,
}

/// The kinds of cause.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// The function's self cost per call changed.
    #[default]
    CostPerCall,
    /// The number of calls of the callee per call of the function changed.
    Calls,
    /// The number of times that the function is entered from outside changed.
    Entered,
}

impl CauseRecord<'_> {
    /// Returns the record with its texts shared with those of earlier records.
    pub fn shared(self, texts: &mut SharedTexts) -> CauseRecord<'static> {
        CauseRecord {
            kind: self.kind,
            name: self.name.map(Name::into_owned),
            file: texts.share_any(&self.file),
            obj: texts.share_any(&self.obj),
            host: self.host.map(|host| Box::new(host.into_owned())),
            inline: self.inline,
            callee: self.callee.map(|callee| Box::new(callee.into_owned())),
            calls: self.calls,
            per_call: self.per_call.shared(texts),
            old_rate: self.old_rate,
            new_rate: self.new_rate,
            cycle: self.cycle,
            guess: self.guess,
            line: self.line,
            site: texts.share_any(&self.site),
            delta: self.delta.shared(texts),
        }
    }
}
