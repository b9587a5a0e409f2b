//! The functions of all runs, and the classes of equal functions.
//!
//! A node is a function of one side. Nodes of the same function form a class. A class is a row of the comparison. Records
//! of every other type are joined by the classes of their functions.

use cg_names::rules::MatchedRules;
use cg_profile::FunctionKey;
use cg_stream::record::RecordType;

use super::names::JoinNames;
use super::{Map, Sides};
use crate::runs::Runs;

/// The position of a node in [`Functions`].
pub(super) type FunctionIndex = u32;

/// The certainty that the functions of a class are the same function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// Their names match.
    #[default]
    Certain,
    /// Their names allow several pairings, and likeness chose this one.
    Likeliest,
    /// Their names differ, but other facts suggest one function that was renamed or moved.
    Renamed,
}

/// All nodes and their classes.
#[derive(Default)]
pub(super) struct Functions {
    keys: Vec<FunctionKey>,
    sides: Vec<u8>,
    index: Map<(FunctionKey, u8), FunctionIndex>,
    classes: Vec<Class>,
}

/// A class. The first node has the facts of its class; the other nodes point to their parent.
#[derive(Clone, Copy)]
struct Class {
    parent: FunctionIndex,
    sides: Sides,
    matched: MatchedRules,
    certainty: Certainty,
}

impl Functions {
    /// Makes a node for each function of each side, in the order of the runs. No nodes are joined yet.
    pub(super) fn collect(runs: &Runs, types: &[RecordType]) -> Functions {
        let mut functions = Functions::default();
        // Always include `fn` records, because they have the figures of functions.
        let others = types.iter().copied().filter(|kind| *kind != RecordType::Fn);
        let types: Vec<RecordType> = std::iter::once(RecordType::Fn).chain(others).collect();
        for (side, profile) in runs.files() {
            for kind in &types {
                for key in runs.profiles[profile].table(*kind).keys() {
                    let frames = runs.names.stacks.frames_of(key.stack);
                    for frame in frames.iter() {
                        functions.add(frame.function, side);
                    }
                    if frames.is_empty() {
                        functions.add(key.function, side);
                    }
                    if let Some(callee) = key.callee {
                        functions.add(callee, side);
                    }
                }
            }
        }
        functions
    }

    fn add(&mut self, key: FunctionKey, side: usize) {
        // There are at most as many sides as `Sides` has bits.
        let number = side as u8;
        let next = self.keys.len() as FunctionIndex;
        if *self.index.entry((key, number)).or_insert(next) == next {
            self.keys.push(key);
            self.sides.push(number);
            self.classes.push(Class {
                parent: next,
                sides: 1 << side,
                matched: MatchedRules::default(),
                certainty: Certainty::Certain,
            });
        }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn nodes(&self) -> std::ops::Range<FunctionIndex> {
        0..self.keys.len() as FunctionIndex
    }

    pub(super) fn find(&self, key: FunctionKey, side: usize) -> Option<FunctionIndex> {
        self.index.get(&(key, side as u8)).copied()
    }

    pub(super) fn key(&self, node: FunctionIndex) -> FunctionKey {
        self.keys[node as usize]
    }

    pub(super) fn side(&self, node: FunctionIndex) -> usize {
        usize::from(self.sides[node as usize])
    }

    /// Returns the first node of a node's class.
    pub(super) fn class(&self, node: FunctionIndex) -> FunctionIndex {
        let mut node = node;
        while self.classes[node as usize].parent != node {
            node = self.classes[node as usize].parent;
        }
        node
    }

    pub(super) fn sides_of(&self, class: FunctionIndex) -> Sides {
        self.classes[class as usize].sides
    }

    pub(super) fn matched(&self, class: FunctionIndex) -> MatchedRules {
        self.classes[class as usize].matched
    }

    pub(super) fn certainty(&self, class: FunctionIndex) -> Certainty {
        self.classes[class as usize].certainty
    }

    /// Unites the classes of two nodes.
    pub(super) fn unite(
        &mut self,
        a: FunctionIndex,
        b: FunctionIndex,
        matched: MatchedRules,
        certainty: Certainty,
    ) {
        let (a, b) = (self.class(a), self.class(b));
        // The lowest node represents the class, so the order of unions makes no difference.
        let (first, other) = (a.min(b), a.max(b));
        let joined = self.classes[other as usize];
        self.classes[other as usize].parent = first;
        let class = &mut self.classes[first as usize];
        class.sides |= joined.sides;
        class.matched.add(joined.matched);
        class.matched.add(matched);
        class.certainty = class.certainty.max(joined.certainty).max(certainty);
    }

    /// Unites functions of different sides with equal names. Without `is_exact`, names with counters, and addresses, are
    /// united only if their figures are also equal.
    pub(super) fn unite_equal(&mut self, runs: &Runs, names: &mut JoinNames, is_exact: bool) {
        let settled = if is_exact {
            Vec::new()
        } else {
            self.with_equal_figures(runs)
        };
        for node in self.nodes() {
            let (key, side) = (self.key(node), self.side(node));
            let Some(first) = (0..side).find_map(|other| self.find(key, other)) else {
                continue;
            };
            if is_exact || settled[node as usize] || !names.is_contested(key.name) {
                self.unite(first, node, MatchedRules::default(), Certainty::Certain);
            }
        }
    }

    /// Returns true for each node that has one `fn` record on every side, with equal figures.
    fn with_equal_figures(&self, runs: &Runs) -> Vec<bool> {
        let mut records: Vec<Option<(usize, usize)>> = vec![None; self.len()];
        let mut has_several = vec![false; self.len()];
        for (side, profile) in runs.files() {
            for (record, key) in runs.profiles[profile]
                .table(RecordType::Fn)
                .keys()
                .enumerate()
            {
                if let Some(node) = self.find(key.function, side) {
                    let known = records[node as usize].replace((profile, record));
                    has_several[node as usize] |= known.is_some();
                }
            }
        }
        let figures = |node: FunctionIndex| {
            let (profile, record) = records[node as usize]?;
            let table = runs.profiles[profile].table(RecordType::Fn);
            let is_comparable = !has_several[node as usize] && runs.has_events_of_first(profile);
            is_comparable.then(|| (table.cost(record), table.incl(record), table.calls(record)))
        };
        let mut settled = vec![false; self.len()];
        for node in self.nodes().filter(|node| self.side(*node) == 0) {
            let Some(own) = figures(node) else { continue };
            let others: Option<Vec<FunctionIndex>> = (1..runs.sides.len())
                .map(|side| self.find(self.key(node), side))
                .collect();
            let Some(others) = others else { continue };
            if others.iter().all(|other| figures(*other) == Some(own)) {
                for node in others.into_iter().chain([node]) {
                    settled[node as usize] = true;
                }
            }
        }
        settled
    }

    /// Returns the classes that some side lacks, in the order of their first nodes.
    pub(super) fn open(&self, all: Sides) -> Vec<FunctionIndex> {
        self.nodes()
            .filter(|node| {
                self.classes[*node as usize].parent == *node && self.sides_of(*node) != all
            })
            .collect()
    }
}
