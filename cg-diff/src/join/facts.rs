//! What the runs say of a function besides its name, and how much alike two functions are by it.

use std::collections::BTreeSet;

use cg_stream::profile::Symbol;
use cg_stream::profile::{FrameKey, FunctionKey};
use cg_stream::record::{Count, RecordType};

use super::Map;
use super::functions::{FunctionIndex, Functions};
use super::names::JoinNames;
use crate::code;
use crate::key::normal::Level;
use crate::runs::Runs;

/// What is known of a function of one side. Counts are the sums over the side's files.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFacts {
    /// Self cost, an event of all runs each.
    pub(super) costs: Vec<Count>,
    /// Inclusive cost of the first event.
    pub(super) incl: Count,
    pub(super) calls: Count,
    /// True where it was seen in stacks alone, which have no call counts and charge one function each.
    pub(super) is_of_stacks: bool,
    files: BTreeSet<usize>,
    callers: BTreeSet<FunctionIndex>,
    callees: BTreeSet<FunctionIndex>,
    /// The lines it is called from.
    sites: BTreeSet<u64>,
    /// Lines of its own.
    lines: BTreeSet<u64>,
    /// What its machine code is known by, in each record that says so.
    codes: BTreeSet<String>,
}

/// Collects what is known of these nodes.
pub(super) fn collect(
    runs: &Runs,
    types: &[RecordType],
    functions: &Functions,
    nodes: impl Iterator<Item = FunctionIndex>,
) -> Map<FunctionIndex, NodeFacts> {
    let mut facts: Map<FunctionIndex, NodeFacts> =
        nodes.map(|node| (node, NodeFacts::default())).collect();
    if facts.is_empty() {
        return facts;
    }
    for (side, profile) in runs.files() {
        let mut collector = FactCollector {
            runs,
            functions,
            facts: &mut facts,
            side,
            profile,
        };
        collector.add_functions();
        collector.add_arcs();
        for of in types.iter().filter(|of| of.has_stack()) {
            collector.add_stacks(*of);
        }
    }
    facts
}

struct FactCollector<'a> {
    runs: &'a Runs,
    functions: &'a Functions,
    facts: &'a mut Map<FunctionIndex, NodeFacts>,
    side: usize,
    profile: usize,
}

impl FactCollector<'_> {
    fn node(&self, function: FunctionKey) -> Option<FunctionIndex> {
        self.functions.find(function, self.side)
    }

    fn of(&mut self, function: FunctionKey) -> Option<&mut NodeFacts> {
        let facts = self
            .facts
            .get_mut(&self.functions.find(function, self.side)?)?;
        facts.files.insert(self.profile);
        Some(facts)
    }

    fn first_event(&self) -> usize {
        self.runs.position(self.profile, 0).unwrap_or(usize::MAX)
    }

    fn add_functions(&mut self) {
        let (runs, profile) = (self.runs, self.profile);
        let first = self.first_event();
        let table = runs.profiles[profile].table(RecordType::Fn);
        for (record, key) in table.keys().iter().enumerate() {
            let Some(facts) = self.of(key.function) else {
                continue;
            };
            facts.add_costs(runs, profile, table.cost(record));
            facts.incl += table
                .incl(record)
                .and_then(|incl| incl.get(first))
                .unwrap_or(&0);
            facts.calls += table.calls(record);
            facts
                .codes
                .extend(code::all_of(table, record).map(str::to_owned));
        }
    }

    fn add_arcs(&mut self) {
        for key in self.runs.profiles[self.profile]
            .table(RecordType::Call)
            .keys()
        {
            let Some(callee) = key.callee else { continue };
            let ends = (self.node(self.runs.caller(key)), self.node(callee));
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            if from == to {
                continue;
            }
            let line = key.line.filter(|line| *line != 0);
            if let Some(facts) = self.facts.get_mut(&to) {
                facts.callers.insert(from);
                facts.sites.extend(line);
            }
            if let Some(facts) = self.facts.get_mut(&from) {
                facts.callees.insert(to);
                facts.lines.extend(line);
            }
        }
    }

    /// A stack charges its cost to the function to blame, and as inclusive cost to every function in it.
    fn add_stacks(&mut self, of: RecordType) {
        let (runs, profile) = (self.runs, self.profile);
        let table = runs.profiles[profile].table(of);
        for (record, key) in table.keys().iter().enumerate() {
            let cost = table.cost(record);
            if let Some(facts) = self.of(key.function) {
                facts.add_costs(runs, profile, cost);
            }
            let frames = runs.names.stacks.frames_of(key.stack);
            // The first event that the record counts; events of other record types are 0 here.
            let whole = cost.iter().copied().find(|count| *count != 0).unwrap_or(0);
            let mut seen = BTreeSet::new();
            for (position, FrameKey { function, line, .. }) in frames.iter().enumerate() {
                let outer = frames
                    .get(position + 1)
                    .and_then(|frame| self.node(frame.function));
                let inner = position
                    .checked_sub(1)
                    .and_then(|inner| frames.get(inner))
                    .and_then(|frame| self.node(frame.function));
                let node = self.node(*function);
                let Some(facts) = self.of(*function) else {
                    continue;
                };
                facts.is_of_stacks = true;
                facts.lines.extend(*line);
                facts
                    .callers
                    .extend(outer.filter(|outer| Some(*outer) != node));
                facts
                    .callees
                    .extend(inner.filter(|inner| Some(*inner) != node));
                if seen.insert(node) {
                    facts.incl += whole;
                }
            }
        }
    }
}

impl NodeFacts {
    fn add_costs(&mut self, runs: &Runs, profile: usize, costs: &[Count]) {
        self.costs.resize(runs.events.len(), 0);
        for (event, sum) in self.costs.iter_mut().enumerate() {
            let position = runs.position(profile, event);
            *sum += position
                .and_then(|position| costs.get(position))
                .unwrap_or(&0);
        }
    }

    /// Adds the facts of another node of the same function and side.
    pub(super) fn add(&mut self, other: &NodeFacts) {
        let events = self.costs.len().max(other.costs.len());
        self.costs.resize(events, 0);
        for (sum, cost) in self.costs.iter_mut().zip(&other.costs) {
            *sum += cost;
        }
        self.incl += other.incl;
        self.calls += other.calls;
        self.is_of_stacks |= other.is_of_stacks;
        self.files.extend(&other.files);
        self.callers.extend(&other.callers);
        self.callees.extend(&other.callees);
        self.sites.extend(&other.sites);
        self.lines.extend(&other.lines);
        self.codes.extend(other.codes.iter().cloned());
    }

    fn file_count(&self) -> f64 {
        self.files.len().max(1) as f64
    }

    /// Self cost of the first event that is not 0, the mean of the side's files.
    pub(super) fn cost(&self) -> f64 {
        let first = self.costs.iter().find(|cost| **cost != 0);
        first.copied().unwrap_or(0) as f64 / self.file_count()
    }

    pub(super) fn incl(&self) -> f64 {
        self.incl as f64 / self.file_count()
    }

    pub(super) fn calls(&self) -> f64 {
        self.calls as f64 / self.file_count()
    }

    pub(super) fn cost_of(&self, event: usize) -> f64 {
        self.costs.get(event).copied().unwrap_or(0) as f64 / self.file_count()
    }

    /// Self cost a call; of one that nobody called, self cost.
    pub(super) fn cost_per_call(&self) -> f64 {
        self.cost() / self.calls().max(1.0)
    }

    /// What its machine code is known by, where all records agree.
    pub(super) fn code(&self) -> Option<&str> {
        let one = self.codes.first().filter(|_| self.codes.len() == 1);
        one.map(String::as_str)
    }

    pub(super) fn has_arcs(&self) -> bool {
        !self.callers.is_empty() || !self.callees.is_empty()
    }

    pub(super) fn has_callees(&self) -> bool {
        !self.callees.is_empty()
    }
}

/// A caller or callee as both sides can name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// Its class, where that is of several sides.
    Class(FunctionIndex),
    /// Else its normalised name.
    Name(Option<Symbol>),
}

/// How alike the surroundings of two functions are: of two sets, the intersection divided by the union.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// `None` where neither of them has any.
    pub(super) callers: Option<f64>,
    pub(super) callees: Option<f64>,
    pub(super) shares_line: bool,
}

/// Compares callers, callees and lines.
pub(super) fn surroundings(
    functions: &Functions,
    names: &mut JoinNames,
    a: &NodeFacts,
    b: &NodeFacts,
) -> Surroundings {
    let mut labels = |nodes: &BTreeSet<FunctionIndex>| -> BTreeSet<Label> {
        nodes
            .iter()
            .map(|node| label(functions, names, *node))
            .collect()
    };
    let sets = [&a.callers, &b.callers, &a.callees, &b.callees].map(&mut labels);
    Surroundings {
        callers: overlap(&sets[0], &sets[1]),
        callees: overlap(&sets[2], &sets[3]),
        shares_line: !a.sites.is_disjoint(&b.sites) || !a.lines.is_disjoint(&b.lines),
    }
}

fn label(functions: &Functions, names: &mut JoinNames, node: FunctionIndex) -> Label {
    let class = functions.class(node);
    if functions.sides_of(class).count_ones() > 1 {
        Label::Class(class)
    } else {
        let name = functions.key(node).name;
        Label::Name(name.map(|name| names.name(name, Level::Counter)))
    }
}

/// The most that [`likeness`] comes to.
pub(super) const MOST_LIKE: i64 = 1_000_000;

/// How alike two functions are whose names may mean the same, from 0 to [`MOST_LIKE`]. Equal numbers in names are
/// evidence too, but weaker than equal figures.
pub(super) fn likeness(
    functions: &Functions,
    names: &mut JoinNames,
    (a, a_facts): (FunctionIndex, &NodeFacts),
    (b, b_facts): (FunctionIndex, &NodeFacts),
) -> i64 {
    let around = surroundings(functions, names, a_facts, b_facts);
    let has_equal_figures = a_facts.costs == b_facts.costs
        && (a_facts.calls, a_facts.incl) == (b_facts.calls, b_facts.incl);
    let share = |agrees: bool| if agrees { 1.0 } else { 0.0 };
    let mut evidence = vec![
        (3.0, ratio(a_facts.cost_per_call(), b_facts.cost_per_call())),
        (1.0, ratio(a_facts.incl(), b_facts.incl())),
        (1.5, share(has_equal_figures)),
        (0.8, share(functions.key(a).name == functions.key(b).name)),
        (0.4, share(around.shares_line)),
    ];
    if !a_facts.is_of_stacks {
        evidence.push((2.0, ratio(a_facts.calls(), b_facts.calls())));
    }
    evidence.extend(around.callers.map(|callers| (1.5, callers)));
    evidence.extend(around.callees.map(|callees| (2.0, callees)));
    let whole: f64 = evidence.iter().map(|(weight, _)| weight).sum();
    let sum: f64 = evidence.iter().map(|(weight, value)| weight * value).sum();
    (sum / whole * MOST_LIKE as f64) as i64
}

/// The smaller number divided by the greater, 1 if both are 0.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    let (less, greater) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
    if greater == 0.0 { 1.0 } else { less / greater }
}

fn overlap(a: &BTreeSet<Label>, b: &BTreeSet<Label>) -> Option<f64> {
    let together = a.union(b).count();
    (together != 0).then(|| a.intersection(b).count() as f64 / together as f64)
}
