//! The facts in the `run` record of a section, apart from its figures.

use std::collections::BTreeMap;
use std::mem;

use cg_stream::record::{CostFacts, Description, PartialRun};

/// A fact that each part may state. The whole section states it only if all parts agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Agreed<T> {
    /// No part states it.
    #[default]
    Unset,
    /// Stated by an earlier part, and valid until this part states another value.
    Inherited(T),
    /// All parts with a value state this value.
    One(T),
    /// Two parts state different values.
    Differing,
}

/// Adds the summaries of two parts. Callgrind computes a summary modulo 2^64, so a summary close to 2^64 is negative and the
/// sum is signed. Returns `None` if the sum exceeds 64 bits both as unsigned and as signed.
fn add_summaries(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).or_else(|| {
        Some(
            a.cast_signed()
                .checked_add(b.cast_signed())?
                .cast_unsigned(),
        )
    })
}

impl<T: PartialEq> Agreed<T> {
    /// Records the value that a part states.
    pub fn record(&mut self, value: T) {
        match self {
            Agreed::Unset | Agreed::Inherited(_) => *self = Agreed::One(value),
            Agreed::One(known) if *known == value => {}
            _ => *self = Agreed::Differing,
        }
    }

    /// Returns the value on which all inputs agree.
    pub fn one(&self) -> Option<&T> {
        match self {
            Agreed::One(value) | Agreed::Inherited(value) => Some(value),
            Agreed::Unset | Agreed::Differing => None,
        }
    }

    /// Returns the value that two inputs agree on. An input without a value does not agree with a value.
    fn and(self, other: Agreed<T>) -> Agreed<T> {
        match (self, other) {
            (Agreed::Unset, Agreed::Unset) => Agreed::Unset,
            (Agreed::One(a) | Agreed::Inherited(a), Agreed::One(b) | Agreed::Inherited(b))
                if a == b =>
            {
                Agreed::One(a)
            }
            _ => Agreed::Differing,
        }
    }

    /// Returns the initial value for the next part.
    fn inherited(&self) -> Agreed<T>
    where
        T: Clone,
    {
        self.one().cloned().map_or(Agreed::Unset, Agreed::Inherited)
    }
}

/// The facts of a section, gathered from all files and parts in it.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    tool: &'static str,
    /// The program that wrote the profile.
    pub creator: Agreed<String>,
    /// The profiled command.
    pub command: Agreed<String>,
    /// The id of the profiled process.
    pub pid: Agreed<u64>,
    part: Agreed<u64>,
    /// The number and the trigger of the current part.
    this_part: (Option<u64>, Option<String>),
    /// The parts in the input, for runs that may have more parts.
    partial: Vec<PartialRun>,
    /// The number of the thread.
    pub thread: Agreed<u64>,
    /// `desc:` lines by key: cache parameters, `Trigger`, `Timerange`.
    descriptions: BTreeMap<String, Agreed<String>>,
    /// The inputs.
    pub sources: Vec<String>,
    /// The number of parts.
    pub parts: u64,
    /// The file's own `summary:` by event, added up over the parts modulo 2^64, as in Callgrind; `None` if the sum exceeds
    /// 64 bits.
    pub(crate) summary: BTreeMap<String, Option<u64>>,
    /// Long names of events, from `event:` lines.
    pub event_names: BTreeMap<String, String>,
    /// Formulas of derived events, from `event:` lines.
    pub derived: BTreeMap<String, String>,
    /// Units of events that are not plain counts.
    pub units: BTreeMap<String, String>,
}

impl RunFacts {
    /// Creates empty facts about profiles of this tool.
    pub fn new(tool: &'static str) -> RunFacts {
        RunFacts {
            tool,
            ..RunFacts::default()
        }
    }

    /// Returns the initial facts for the next part of the same file, whose header may be incomplete.
    pub(crate) fn next_part(&self) -> RunFacts {
        RunFacts {
            creator: self.creator.inherited(),
            command: self.command.inherited(),
            pid: self.pid.inherited(),
            descriptions: (self.descriptions.iter())
                .filter(|(key, _)| !is_part_key(key))
                .map(|(key, value)| (key.clone(), value.inherited()))
                .collect(),
            sources: self.sources.clone(),
            event_names: self.event_names.clone(),
            derived: self.derived.clone(),
            units: self.units.clone(),
            ..RunFacts::new(self.tool)
        }
    }

    /// Combines the facts with the facts of another input. As with sums of streams, the result has only facts that both
    /// inputs state. An input without a part adds only its sources.
    pub fn and(mut self, other: RunFacts) -> RunFacts {
        for source in &other.sources {
            self.add_source(source);
        }
        if other.parts == 0 {
            return self;
        }
        if self.parts == 0 {
            return RunFacts {
                sources: self.sources,
                ..other
            };
        }
        for (event, count) in other.summary {
            match count {
                Some(count) => self.add_summary(&event, count),
                None => drop(self.summary.insert(event, None)),
            }
        }
        let mut partial = self.partial;
        for run in other.partial {
            run.add_to(&mut partial);
        }
        let mut others = other.descriptions;
        RunFacts {
            tool: self.tool,
            creator: self.creator.and(other.creator),
            command: self.command.and(other.command),
            pid: self.pid.and(other.pid),
            part: self.part.and(other.part),
            this_part: (None, None),
            partial,
            thread: self.thread.and(other.thread),
            descriptions: (self.descriptions.into_iter())
                .map(|(key, value)| {
                    let value = value.and(others.remove(&key).unwrap_or_default());
                    (key, value)
                })
                .collect(),
            sources: self.sources,
            parts: self.parts + other.parts,
            summary: self.summary,
            event_names: agreed(self.event_names, &other.event_names),
            derived: agreed(self.derived, &other.derived),
            units: agreed(self.units, &other.units),
        }
    }

    /// Records the number of the current part.
    pub fn record_part(&mut self, part: u64) {
        self.part.record(part);
        self.this_part.0 = Some(part);
    }

    /// Returns the number of the part; `None` if the parts have different numbers.
    pub fn part(&self) -> Option<u64> {
        self.part.one().copied()
    }

    /// Records that a part of this process has been read completely.
    pub fn end_part(&mut self, pid: Option<u64>) {
        self.parts += 1;
        if let (Some(part), Some(trigger)) = mem::take(&mut self.this_part) {
            PartialRun::one(pid, part, &trigger).add_to(&mut self.partial);
        }
    }

    /// Returns the tool's name in records.
    pub fn tool(&self) -> &'static str {
        self.tool
    }

    /// Adds an input, unless it is already listed.
    pub fn add_source(&mut self, source: &str) {
        if self.sources.iter().all(|known| known != source) {
            self.sources.push(source.to_owned());
        }
    }

    /// Adds a `desc:` line, split at its first colon.
    pub fn add_description(&mut self, key: &str, value: &str) {
        if key == TRIGGER {
            self.this_part.1 = Some(value.to_owned());
        }
        if !value.is_empty() {
            self.descriptions
                .entry(key.to_owned())
                .or_default()
                .record(value.to_owned());
        }
    }

    /// Adds the count of an event from a part's `summary:`.
    pub fn add_summary(&mut self, event: &str, count: u64) {
        let sum = self.summary.entry(event.to_owned()).or_insert(Some(0));
        *sum = sum.and_then(|sum| add_summaries(sum, count));
    }

    /// Returns the descriptions of the simulation, such as cache parameters.
    pub(crate) fn description(&self) -> Option<Description> {
        let by_key: BTreeMap<String, String> = self
            .descriptions
            .iter()
            .filter(|(key, _)| !is_part_key(key))
            .filter_map(|(key, value)| Some((key.clone(), value.one()?.clone())))
            .collect();
        (!by_key.is_empty()).then_some(Description::ByKey(by_key))
    }

    /// Returns the facts that only these tools record, without the summary.
    pub fn facts(&self) -> CostFacts {
        let described = |key: &str| self.descriptions.get(key)?.one().cloned();
        let (part, trigger) = (self.part(), described(TRIGGER));
        let is_recorded = part.is_some() && trigger.is_some();
        CostFacts {
            partial: if is_recorded {
                Vec::new()
            } else {
                self.partial.clone()
            },
            derived: self.derived.clone(),
            event_names: self.event_names.clone(),
            part,
            parts: Some(self.parts).filter(|parts| *parts > 0),
            thread: self.thread.one().copied(),
            timerange: described(TIMERANGE),
            trigger,
            ..CostFacts::default()
        }
    }
}

/// Returns the entries that two maps have in common.
fn agreed(
    mut texts: BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    texts.retain(|key, text| other.get(key) == Some(text));
    texts
}

// These two keys of `desc:` lines describe the part, not the simulation.
const TRIGGER: &str = "Trigger";
const TIMERANGE: &str = "Timerange";

/// Returns true if a `desc:` line describes only one part. Callgrind writes the other lines only in the first part of a
/// file.
fn is_part_key(key: &str) -> bool {
    [TRIGGER, TIMERANGE].contains(&key)
}
