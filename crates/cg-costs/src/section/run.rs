//! What the `run` record says of a section besides its figures.

use std::collections::BTreeMap;
use std::mem;

use cg_stream::record::{CostFacts, Description, PartialRun};

/// A fact that each part may state; the whole states it only if all parts agree on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Agreed<T> {
    /// No part states it.
    #[default]
    Unsaid,
    /// Stated by an earlier part, and valid until this part states something else.
    Inherited(T),
    /// All parts that state it state this.
    One(T),
    /// Two parts state different things.
    Differing,
}

/// The sum of what two parts say. Callgrind computes it modulo 2^64, and one close to 2^64 is below 0: such sums are signed.
/// A sum that is too large for both readings is none.
fn sum_of_summaries(a: u64, b: u64) -> Option<u64> {
    a.checked_add(b).or_else(|| {
        Some(
            a.cast_signed()
                .checked_add(b.cast_signed())?
                .cast_unsigned(),
        )
    })
}

impl<T: PartialEq> Agreed<T> {
    /// Takes what a part states.
    pub fn say(&mut self, value: T) {
        match self {
            Agreed::Unsaid | Agreed::Inherited(_) => *self = Agreed::One(value),
            Agreed::One(said) if *said == value => {}
            _ => *self = Agreed::Differing,
        }
    }

    pub(crate) fn one(&self) -> Option<&T> {
        match self {
            Agreed::One(value) | Agreed::Inherited(value) => Some(value),
            Agreed::Unsaid | Agreed::Differing => None,
        }
    }

    /// What two inputs say alike; one that says nothing does not agree.
    fn and(self, other: Agreed<T>) -> Agreed<T> {
        match (self, other) {
            (Agreed::Unsaid, Agreed::Unsaid) => Agreed::Unsaid,
            (Agreed::One(a) | Agreed::Inherited(a), Agreed::One(b) | Agreed::Inherited(b))
                if a == b =>
            {
                Agreed::One(a)
            }
            _ => Agreed::Differing,
        }
    }

    /// What another part begins with.
    fn inherited(&self) -> Agreed<T>
    where
        T: Clone,
    {
        self.one()
            .cloned()
            .map_or(Agreed::Unsaid, Agreed::Inherited)
    }
}

/// The facts of a section, gathered from all files and parts in it.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    tool: &'static str,
    /// The program that wrote the profile.
    pub creator: Agreed<String>,
    /// The command that was profiled.
    pub command: Agreed<String>,
    /// Its process.
    pub pid: Agreed<u64>,
    part: Agreed<u64>,
    /// The part that is being read: its number, and why it was written.
    this_part: (Option<u64>, Option<String>),
    /// The parts that were read of runs that have more.
    partial: Vec<PartialRun>,
    /// The number of the thread.
    pub thread: Agreed<u64>,
    /// `desc:` lines by key: cache parameters, `Trigger`, `Timerange`.
    descriptions: BTreeMap<String, Agreed<String>>,
    /// The inputs.
    pub sources: Vec<String>,
    /// How many parts were read.
    pub parts: u64,
    /// The file's own `summary:` by event, added up over the parts, modulo 2^64 as Callgrind computes it.
    /// `None` where they do not add up to a number of 64 bits.
    pub(crate) summary: BTreeMap<String, Option<u64>>,
    /// Long names of events, from `event:` lines.
    pub event_names: BTreeMap<String, String>,
    /// Formulas of derived events, from `event:` lines.
    pub derived: BTreeMap<String, String>,
}

impl RunFacts {
    /// Nothing said yet, of what this tool wrote.
    pub fn new(tool: &'static str) -> RunFacts {
        RunFacts {
            tool,
            ..RunFacts::default()
        }
    }

    /// The facts of another part of the same file, which may repeat nothing of its header.
    pub(crate) fn next_part(&self) -> RunFacts {
        RunFacts {
            creator: self.creator.inherited(),
            command: self.command.inherited(),
            pid: self.pid.inherited(),
            descriptions: (self.descriptions.iter())
                .filter(|(key, _)| !is_of_part(key))
                .map(|(key, said)| (key.clone(), said.inherited()))
                .collect(),
            sources: self.sources.clone(),
            event_names: self.event_names.clone(),
            derived: self.derived.clone(),
            ..RunFacts::new(self.tool)
        }
    }

    /// The facts of this section with another input in it. As where streams are added up, only what both say is said of
    /// the sum; an input without a part says nothing and has no part in it.
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
                .map(|(key, said)| {
                    let said = said.and(others.remove(&key).unwrap_or_default());
                    (key, said)
                })
                .collect(),
            sources: self.sources,
            parts: self.parts + other.parts,
            summary: self.summary,
            event_names: agreed(self.event_names, &other.event_names),
            derived: agreed(self.derived, &other.derived),
        }
    }

    /// The number of the part that is being read.
    pub fn say_part(&mut self, part: u64) {
        self.part.say(part);
        self.this_part.0 = Some(part);
    }

    /// The number of the part, where all parts have it.
    pub fn part(&self) -> Option<u64> {
        self.part.one().copied()
    }

    /// Notes that a part of this process was read to its end.
    pub fn end_part(&mut self, pid: Option<u64>) {
        self.parts += 1;
        if let (Some(part), Some(trigger)) = mem::take(&mut self.this_part) {
            PartialRun::one(pid, part, &trigger).add_to(&mut self.partial);
        }
    }

    /// The tool, as records have it.
    pub fn tool(&self) -> &'static str {
        self.tool
    }

    /// Adds an input, once.
    pub fn add_source(&mut self, source: &str) {
        if self.sources.iter().all(|known| known != source) {
            self.sources.push(source.to_owned());
        }
    }

    /// A `desc:` line, split at its first colon.
    pub fn add_description(&mut self, key: &str, value: &str) {
        if key == TRIGGER {
            self.this_part.1 = Some(value.to_owned());
        }
        if !value.is_empty() {
            self.descriptions
                .entry(key.to_owned())
                .or_default()
                .say(value.to_owned());
        }
    }

    /// Adds what a part's `summary:` says of an event.
    pub fn add_summary(&mut self, event: &str, count: u64) {
        let sum = self.summary.entry(event.to_owned()).or_insert(Some(0));
        *sum = sum.and_then(|sum| sum_of_summaries(sum, count));
    }

    /// The cache parameters and the like.
    pub(crate) fn description(&self) -> Option<Description> {
        let by_key: BTreeMap<String, String> = self
            .descriptions
            .iter()
            .filter(|(key, _)| !is_of_part(key))
            .filter_map(|(key, value)| Some((key.clone(), value.one()?.clone())))
            .collect();
        (!by_key.is_empty()).then_some(Description::ByKey(by_key))
    }

    /// What only these tools say, without the summary.
    pub fn facts(&self) -> CostFacts {
        let described = |key: &str| self.descriptions.get(key)?.one().cloned();
        let (part, trigger) = (self.part(), described(TRIGGER));
        let is_told = part.is_some() && trigger.is_some();
        CostFacts {
            partial: if is_told {
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

/// The texts that two maps have under the same key.
fn agreed(
    mut texts: BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    texts.retain(|key, text| other.get(key) == Some(text));
    texts
}

// These two keys of `desc:` lines are of the run and not of how it was simulated.
const TRIGGER: &str = "Trigger";
const TIMERANGE: &str = "Timerange";

/// Whether a `desc:` line is of a part alone; Callgrind writes the others for the first part of a file.
fn is_of_part(key: &str) -> bool {
    [TRIGGER, TIMERANGE].contains(&key)
}
