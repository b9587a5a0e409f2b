//! The records of a history: the changes in a series of profiles.

use serde::{Deserialize, Serialize};

use super::name::SharedTexts;
use super::{FunctionName, Name, PerRun};

/// A place in a series at which a cost changed by more than its noise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "step", default)]
pub struct StepRecord<'a> {
    /// The function; `PROGRAM TOTALS` for the total.
    #[serde(flatten, borrow)]
    pub function: FunctionName<'a>,
    /// The benchmark, if the series belongs to one.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub bench: Option<Name<'a>>,
    /// The event.
    #[serde(borrow)]
    pub event: Name<'a>,
    /// The first version with the new cost.
    #[serde(borrow)]
    pub at: Name<'a>,
    /// The version before it.
    #[serde(borrow)]
    pub before: Name<'a>,
    /// The cost in the version before.
    pub old: u64,
    /// The cost in this version.
    pub new: u64,
    /// The new cost minus the old one.
    pub delta: i64,
}

/// The costs of a function with a step, one for each version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "series", default)]
pub struct SeriesRecord<'a> {
    /// The function; `PROGRAM TOTALS` for the total.
    #[serde(flatten, borrow)]
    pub function: FunctionName<'a>,
    /// The benchmark, if the series belongs to one.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub bench: Option<Name<'a>>,
    /// The event.
    #[serde(borrow)]
    pub event: Name<'a>,
    /// The costs, in the order of the versions in the `run` record.
    pub values: PerRun,
}

impl StepRecord<'_> {
    /// Returns the record with its texts shared with those of earlier records.
    pub fn shared(self, texts: &mut SharedTexts) -> StepRecord<'static> {
        StepRecord {
            function: self.function.into_owned(),
            bench: texts.share_any(&self.bench),
            event: texts.share(&self.event),
            at: texts.share(&self.at),
            before: texts.share(&self.before),
            old: self.old,
            new: self.new,
            delta: self.delta,
        }
    }
}

impl SeriesRecord<'_> {
    /// Returns the record with its texts shared with those of earlier records.
    pub fn shared(self, texts: &mut SharedTexts) -> SeriesRecord<'static> {
        SeriesRecord {
            function: self.function.into_owned(),
            bench: texts.share_any(&self.bench),
            event: texts.share(&self.event),
            values: self.values,
        }
    }
}
