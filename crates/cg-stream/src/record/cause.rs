//! What cg-diff says of where a difference comes from.

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{Counts, CountsPerRun, FunctionName, Name, PerRun, is_nothing};

/// A part of the difference of two totals that has one place and one kind. Summed over all of a comparison `delta` is the
/// new total less the old one, of every event, to the unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "cause", default)]
pub struct CauseRecord<'a> {
    /// What kind of part it is.
    pub kind: CauseKind,
    /// The function; the caller, where the cause is a call.
    #[serde(rename = "fn", borrow, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name<'a>>,
    /// Its file.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub file: Option<Name<'a>>,
    /// Its object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub obj: Option<Name<'a>>,
    /// The function that it is inlined into, of which calls are counted, where chains of inlined functions are known.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<FunctionName<'a>>>,
    /// The called function, of [`CauseKind::Calls`].
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub callee: Option<Box<FunctionName<'a>>>,
    /// True where the callee is not called but inlined: it ran as often as its host where it is, else never.
    #[serde(skip_serializing_if = "is_nothing")]
    pub inline: bool,
    /// Old and new: how often the function ran; of [`CauseKind::Calls`] how often it called the callee, of
    /// [`CauseKind::Entered`] how often it was entered from outside.
    pub calls: PerRun,
    /// Of [`CauseKind::CostPerCall`], by event: old self cost, old calls, new self cost, new calls.
    #[serde(borrow, skip_serializing_if = "CountsPerRun::is_empty")]
    pub per_call: CountsPerRun<'a>,
    /// Of [`CauseKind::Calls`], in the old run: calls of the callee, calls of the function.
    #[serde(skip_serializing_if = "is_nothing")]
    pub old_rate: PerRun,
    /// The same in the new run.
    #[serde(skip_serializing_if = "is_nothing")]
    pub new_rate: PerRun,
    /// The strongly connected component of the graph of calls that the place lies in, numbered from 1, where that is more
    /// than one function: single causes in it can outgrow the difference of the totals, their sum does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<u64>,
    /// True where the function or the callee was paired by a guess.
    #[serde(skip_serializing_if = "is_nothing")]
    pub guess: bool,
    /// The line that changed most, where one has at least half of it: of the new run, or of the old one where what it calls
    /// is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The file of that line, where it is not that of the function.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub site: Option<Name<'a>>,
    /// What it adds to the new total, by event.
    #[serde(borrow)]
    pub delta: Counts<'a>,
}

/// The kinds of cause.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// A call of the function costs more or less itself.
    #[default]
    CostPerCall,
    /// The function calls the callee more or less often for each call of its own.
    Calls,
    /// The function is entered more or less often from outside.
    Entered,
}

impl CauseRecord<'_> {
    /// The same record to be kept among many: their names share their texts.
    pub(crate) fn shared(self, texts: &mut SharedTexts) -> CauseRecord<'static> {
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
