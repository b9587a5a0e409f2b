//! What the `run` record says of a section besides its figures.

use std::collections::BTreeMap;

use cg_stream::record::{CostFacts, Description};

/// Something every part of a section may say; only what all of them agree on is said of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Agreed<T> {
    #[default]
    Unsaid,
    /// Said by an earlier part, and true until this one says something else.
    Inherited(T),
    One(T),
    Differing,
}

impl<T: PartialEq> Agreed<T> {
    pub(crate) fn say(&mut self, value: T) {
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
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    tool: &'static str,
    pub(crate) creator: Agreed<String>,
    pub(crate) command: Agreed<String>,
    pub(crate) pid: Agreed<u64>,
    pub(crate) part: Agreed<u64>,
    pub(crate) thread: Agreed<u64>,
    /// `desc:` lines by key: cache parameters, `Trigger`, `Timerange`.
    descriptions: BTreeMap<String, Agreed<String>>,
    pub(crate) sources: Vec<String>,
    pub(crate) parts: u64,
    /// The file's own `summary:` by event, added up over the parts, modulo 2^64 as Callgrind computes it.
    pub(crate) summary: BTreeMap<String, u64>,
    /// Long names of events, from `event:` lines.
    pub(crate) event_names: BTreeMap<String, String>,
    /// Formulas of derived events, from `event:` lines.
    pub(crate) derived: BTreeMap<String, String>,
}

impl RunFacts {
    pub(crate) fn new(tool: &'static str) -> RunFacts {
        RunFacts {
            tool,
            creator: Agreed::default(),
            command: Agreed::default(),
            pid: Agreed::default(),
            part: Agreed::default(),
            thread: Agreed::default(),
            descriptions: BTreeMap::new(),
            sources: Vec::new(),
            parts: 0,
            summary: BTreeMap::new(),
            event_names: BTreeMap::new(),
            derived: BTreeMap::new(),
        }
    }

    /// The facts of another part of the same file, which may repeat nothing of its header.
    pub(crate) fn next_part(&self) -> RunFacts {
        RunFacts {
            creator: self.creator.inherited(),
            command: self.command.inherited(),
            pid: self.pid.inherited(),
            sources: self.sources.clone(),
            ..RunFacts::new(self.tool)
        }
    }

    pub(crate) fn tool(&self) -> &'static str {
        self.tool
    }

    pub(crate) fn add_source(&mut self, source: &str) {
        if self.sources.iter().all(|known| known != source) {
            self.sources.push(source.to_owned());
        }
    }

    /// A `desc:` line, split at its first colon.
    pub(crate) fn add_description(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.descriptions
                .entry(key.to_owned())
                .or_default()
                .say(value.to_owned());
        }
    }

    pub(crate) fn add_summary(&mut self, event: &str, count: u64) {
        let sum = self.summary.entry(event.to_owned()).or_default();
        *sum = sum.wrapping_add(count);
    }

    /// The cache parameters and the like.
    pub(crate) fn description(&self) -> Option<Description> {
        let by_key: BTreeMap<String, String> = self
            .descriptions
            .iter()
            .filter(|(key, _)| ![TRIGGER, TIMERANGE].contains(&key.as_str()))
            .filter_map(|(key, value)| Some((key.clone(), value.one()?.clone())))
            .collect();
        (!by_key.is_empty()).then_some(Description::ByKey(by_key))
    }

    /// What only these tools say, without the summary.
    pub(crate) fn facts(&self) -> CostFacts {
        let described = |key: &str| self.descriptions.get(key)?.one().cloned();
        CostFacts {
            derived: self.derived.clone(),
            event_names: self.event_names.clone(),
            part: self.part.one().copied(),
            parts: Some(self.parts).filter(|parts| *parts > 0),
            thread: self.thread.one().copied(),
            timerange: described(TIMERANGE),
            trigger: described(TRIGGER),
            ..CostFacts::default()
        }
    }
}

// These two keys of `desc:` lines are of the run and not of how it was simulated.
const TRIGGER: &str = "Trigger";
const TIMERANGE: &str = "Timerange";
