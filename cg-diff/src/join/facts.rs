//! Facts about functions besides their names, and the likeness of two functions by these facts.

use std::collections::{BTreeMap, BTreeSet};

use cg_names::code_origin::{CodeOwner, Facts};
use cg_profile::Symbol;
use cg_profile::{FrameKey, FunctionKey};
use cg_stream::record::{Count, RecordType};

use super::Map;
use super::functions::{FunctionIndex, Functions};
use super::names::JoinNames;
use crate::code;
use crate::key::normal::Level;
use crate::runs::Runs;

/// Facts about a function of one side. Counts are sums over the files of the side.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFacts {
    /// Self cost, by event of all runs.
    pub(super) costs: Vec<Count>,
    /// Inclusive cost of the first event.
    pub(super) incl: Count,
    pub(super) calls: Count,
    /// True if the function is in stacks, which have no call counts and charge one function each.
    pub(super) is_from_stacks: bool,
    files: BTreeSet<usize>,
    callers: BTreeSet<FunctionIndex>,
    callees: BTreeSet<FunctionIndex>,
    /// The calls from each caller, and the self cost of the function's code inlined into each host.
    entries: BTreeMap<(FunctionIndex, EntryKind), Count>,
    /// The lines of the function's callers that call it.
    sites: BTreeSet<u64>,
    /// The lines of the function itself.
    lines: BTreeSet<u64>,
    /// The distinct fingerprints of the function's machine code.
    codes: BTreeSet<String>,
}

/// The way in which a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EntryKind {
    Called,
    Inlined,
}

/// Collects the facts about these nodes.
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
        collector.add_hosts();
        for kind in types.iter().filter(|kind| kind.has_stack()) {
            collector.add_stacks(*kind);
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

    /// Returns the facts about a function, if they are collected. Records that the current file has the function.
    fn node_facts(&mut self, function: FunctionKey) -> Option<&mut NodeFacts> {
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
        for (record, key) in table.keys().enumerate() {
            let Some(facts) = self.node_facts(key.function) else {
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
                .extend(code::whole_code(table, record).map(str::to_owned));
        }
    }

    fn add_arcs(&mut self) {
        let table = self.runs.profiles[self.profile].table(RecordType::Call);
        for (record, key) in table.keys().enumerate() {
            let Some(callee) = key.callee else { continue };
            let ends = (self.node(self.runs.caller(&key)), self.node(callee));
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            if from == to {
                continue;
            }
            let line = key.line.filter(|line| *line != 0);
            if let Some(facts) = self.facts.get_mut(&to) {
                facts.callers.insert(from);
                *facts.entries.entry((from, EntryKind::Called)).or_default() += table.calls(record);
                facts.sites.extend(line);
            }
            if let Some(facts) = self.facts.get_mut(&from) {
                facts.callees.insert(to);
                facts.lines.extend(line);
            }
        }
    }

    /// Adds the functions that contain inlined code of other functions.
    fn add_hosts(&mut self) {
        let first = self.first_event();
        let table = self.runs.profiles[self.profile].table(RecordType::Inline);
        for (record, key) in table.keys().enumerate() {
            let frames = self.runs.names.stacks.frames_of(key.stack);
            let (Some(inlined), Some(host)) = (frames.first(), frames.get(1).and(frames.last()))
            else {
                continue;
            };
            let ends = (self.node(inlined.function), self.node(host.function));
            if let (Some(inlined), Some(host)) = ends
                && let Some(facts) = self.facts.get_mut(&inlined)
            {
                let entry = facts.entries.entry((host, EntryKind::Inlined));
                *entry.or_default() += table.count(record, first);
            }
        }
    }

    /// Adds stacks. A stack charges its cost to the blamed function, and as inclusive cost to each of its functions.
    fn add_stacks(&mut self, kind: RecordType) {
        let (runs, profile) = (self.runs, self.profile);
        let table = runs.profiles[profile].table(kind);
        for (record, key) in table.keys().enumerate() {
            let cost = table.cost(record);
            if let Some(facts) = self.node_facts(key.function) {
                facts.add_costs(runs, profile, cost);
            }
            let frames = runs.names.stacks.frames_of(key.stack);
            // The first event that is not 0. Events of other record types are 0 here.
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
                let Some(facts) = self.node_facts(*function) else {
                    continue;
                };
                facts.is_from_stacks = true;
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
        self.is_from_stacks |= other.is_from_stacks;
        self.files.extend(&other.files);
        self.callers.extend(&other.callers);
        self.callees.extend(&other.callees);
        for (entry, count) in &other.entries {
            *self.entries.entry(*entry).or_default() += count;
        }
        self.sites.extend(&other.sites);
        self.lines.extend(&other.lines);
        self.codes.extend(other.codes.iter().cloned());
    }

    fn file_count(&self) -> f64 {
        self.files.len().max(1) as f64
    }

    /// Returns the self cost of the first event that is not 0: the mean over the side's files.
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

    pub(super) fn event_cost(&self, event: usize) -> f64 {
        self.costs.get(event).copied().unwrap_or(0) as f64 / self.file_count()
    }

    /// Returns the self cost per call; without calls, the self cost.
    pub(super) fn cost_per_call(&self) -> f64 {
        self.cost() / self.calls().max(1.0)
    }

    /// Returns the fingerprint of the machine code if all records agree.
    pub(super) fn code(&self) -> Option<&str> {
        let one = self.codes.first().filter(|_| self.codes.len() == 1);
        one.map(String::as_str)
    }

    pub(super) fn has_arcs(&self) -> bool {
        !(self.callers.is_empty() && self.callees.is_empty() && self.entries.is_empty())
    }

    pub(super) fn has_callees(&self) -> bool {
        !self.callees.is_empty()
    }
}

/// A label for a caller or callee that is comparable between sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// The class, if it has several sides.
    Class(FunctionIndex),
    /// Otherwise, the normalised name.
    Name(Option<Symbol>),
}

/// The likeness of the surroundings of two functions: the intersection of two sets divided by their union.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// The likeness of the callers; `None` if neither function has callers.
    pub(super) callers: Option<f64>,
    /// The likeness of the callees; `None` if neither function has callees.
    pub(super) callees: Option<f64>,
    /// True if the functions have a line, or the line of a call site, in common.
    pub(super) shares_line: bool,
}

/// The callers of two functions, including the functions that their code is inlined into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallerCounts {
    all: usize,
    common: usize,
    /// The number of common callers with equal calls, or with inlined code of equal cost.
    equal: usize,
}

/// The number of callers with equal counts that are evidence of a rename. From one or two callers, equal counts are
/// frequent among functions that have nothing in common.
const ENOUGH_EQUAL_CALLERS: usize = 3;

impl CallerCounts {
    /// Compares the callers of two functions.
    pub(super) fn compare(
        functions: &Functions,
        names: &mut JoinNames,
        a: &NodeFacts,
        b: &NodeFacts,
    ) -> CallerCounts {
        let mut labels = |facts: &NodeFacts| {
            let mut counts: BTreeMap<(Label, EntryKind), f64> = BTreeMap::new();
            for ((node, kind), count) in &facts.entries {
                let label = label(functions, names, *node);
                *counts.entry((label, *kind)).or_default() += *count as f64 / facts.file_count();
            }
            counts
        };
        let (a, b) = (labels(a), labels(b));
        let common = || {
            a.iter()
                .filter_map(|(caller, count)| Some((*count, *b.get(caller)?)))
        };
        CallerCounts {
            all: a.len() + b.len() - common().count(),
            common: common().count(),
            equal: common().filter(|(a, b)| a == b).count(),
        }
    }

    /// Returns true if most callers are the same, and most of these call both functions equally often.
    pub(super) fn are_evidence(self) -> bool {
        self.equal >= ENOUGH_EQUAL_CALLERS
            && 2 * self.common >= self.all
            && 2 * self.equal >= self.common
    }

    /// Returns the share of the callers with equal counts.
    pub(super) fn equal_share(self) -> f64 {
        self.equal as f64 / self.all.max(1) as f64
    }
}

/// Returns the number of common callees that belong to the program or its dependencies. Library functions, such as
/// allocators, have too many callers to be evidence.
pub(super) fn common_own_callees(
    functions: &Functions,
    names: &mut JoinNames,
    a: &NodeFacts,
    b: &NodeFacts,
) -> usize {
    let mut labels = |facts: &NodeFacts| -> BTreeSet<Label> {
        let callees = facts.callees.iter().copied();
        let own: Vec<FunctionIndex> = callees
            .filter(|callee| is_of_program(names, functions.key(*callee)))
            .collect();
        own.into_iter()
            .map(|callee| label(functions, names, callee))
            .collect()
    };
    let (a, b) = (labels(a), labels(b));
    a.intersection(&b).count()
}

fn is_of_program(names: &JoinNames, function: FunctionKey) -> bool {
    match Facts::from_frame(&function.frame(&names.symbols)).owner_without_context() {
        CodeOwner::Own | CodeOwner::Dependency => true,
        CodeOwner::Std | CodeOwner::System | CodeOwner::Kernel | CodeOwner::Unknown => false,
    }
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

/// The maximum result of [`likeness`].
pub(super) const MOST_LIKE: i64 = 1_000_000;

/// Rates the likeness of two functions whose names may mean the same, from 0 to [`MOST_LIKE`]. Equal numbers in names are
/// evidence, but weaker than equal figures.
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
    if !a_facts.is_from_stacks {
        evidence.push((2.0, ratio(a_facts.calls(), b_facts.calls())));
    }
    evidence.extend(around.callers.map(|callers| (1.5, callers)));
    evidence.extend(around.callees.map(|callees| (2.0, callees)));
    let whole: f64 = evidence.iter().map(|(weight, _)| weight).sum();
    let sum: f64 = evidence.iter().map(|(weight, value)| weight * value).sum();
    (sum / whole * MOST_LIKE as f64) as i64
}

/// Returns the smaller number divided by the greater; 1 if both are 0.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    let (less, greater) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
    if greater == 0.0 { 1.0 } else { less / greater }
}

fn overlap(a: &BTreeSet<Label>, b: &BTreeSet<Label>) -> Option<f64> {
    let together = a.union(b).count();
    (together != 0).then(|| a.intersection(b).count() as f64 / together as f64)
}
