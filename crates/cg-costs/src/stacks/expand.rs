//! Estimates stacks from a call graph. Each path to a function gets the share of the function's cost that enters by this
//! path.
//!
//! The number of paths can be too large to write, for example with thirty layers of functions that each call the whole next
//! layer. So the most expensive path is followed first. Some paths are not followed: paths below 1/[`FINEST`] of the total
//! if there are already [`ENOUGH`] paths, paths deeper than [`DEEPEST`], and all paths after the first [`MOST_CONTEXTS`].
//! They become one frame called `[pruned]` on the stack of their caller.
//!
//! On each path into a cycle, every member appears once. It is reached by the most expensive calls from the member at which
//! the cycle was entered. Callgrind counts calls inside a cycle repeatedly, so their cost cannot be used for shares.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use cg_collections::maps::Map;

use super::apportion::{ROUNDING, WHOLE, apportion, part};
use super::units::{ContextGraph, ContextUnits};

/// The divisor of the total that gives the minimum cost of a path, after the first [`ENOUGH`] paths.
const FINEST: u128 = 100_000;

/// The number of paths that are followed even if they are cheap. Most programs have fewer, and viewers can draw this many.
const ENOUGH: usize = 20_000;

/// The maximum number of frames in a followed path.
const DEEPEST: usize = 256;

/// The maximum number of paths into functions.
const MOST_CONTEXTS: usize = 1_000_000;

/// The maximum number of arcs and members to visit for paths inside cycles. After that, the entry member counts as the
/// caller of all other members.
const MOST_INSIDE: usize = 4_000_000;

/// Stacks with their costs.
pub(super) struct Estimate {
    /// The stacks. A stack has an innermost frame and the stack of its caller.
    pub(super) paths: Vec<Path>,
    pub(super) rows: Vec<EstimatedRow>,
    /// The self cost, by the ranking event, of functions with only one chain of callers.
    pub(super) certain: u128,
    /// The self cost in `[pruned]`, by the ranking event.
    pub(super) pruned: u128,
    /// The number of functions with self cost in `[pruned]`.
    pub(super) pruned_functions: usize,
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The index of the caller's stack.
    pub(super) outer: Option<usize>,
    pub(super) at: PathFrame,
}

/// The innermost frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathFrame {
    Context(usize),
    /// A replacement for calls that are not followed.
    Pruned,
}

/// The cost of a stack, with one entry per event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EstimatedRow {
    pub(super) path: usize,
    pub(super) cost: Vec<u64>,
}

/// A path into a unit that has not been followed yet.
struct Way {
    /// The cost of the path by the ranking event, in units of 1/[`WHOLE`].
    amount: u128,
    /// The number of paths found before this path. Breaks ties.
    order: usize,
    outer: Option<usize>,
    depth: usize,
    unit: usize,
    entry: usize,
    /// The share of the unit that enters by this path, by event.
    share: Box<[u64]>,
    /// True if no other path enters the unit.
    is_certain: bool,
}

/// A stack that gets a share of a function's self cost.
struct ChargedStack {
    path: usize,
    share: Box<[u64]>,
    is_certain: bool,
}

struct Expansion<'g> {
    graph: &'g ContextGraph<'g>,
    units: &'g ContextUnits,
    paths: Vec<Path>,
    /// The stacks of each context.
    charged: Vec<Vec<ChargedStack>>,
    /// The stacks that end in `[pruned]`, with the cost that was not followed.
    pruned: Vec<(usize, Vec<u128>)>,
    ways: BinaryHeap<Way>,
    found: usize,
    /// The minimum cost of a followed path, in units of 1/[`WHOLE`].
    threshold: u128,
    trees: Map<(usize, usize), Rc<CircleTree>>,
    inside_left: usize,
}

/// The callers of a cycle's members, for one entry member.
struct CircleTree {
    /// The position of the entry member.
    first: usize,
    /// For each member, the position of its caller and its depth below the entry; `None` if the entry member counts as the
    /// caller of all other members.
    callers: Option<Vec<(Option<usize>, usize)>>,
}

impl CircleTree {
    fn caller(&self, position: usize) -> (Option<usize>, usize) {
        match &self.callers {
            Some(callers) => callers[position],
            None if position == self.first => (None, 0),
            None => (Some(self.first), 1),
        }
    }
}

/// Estimates the stacks of a graph.
pub(super) fn estimate(graph: &ContextGraph) -> Estimate {
    let units = ContextUnits::new(graph);
    let own = |context: &&[u64]| u128::from(context.get(graph.ranking).copied().unwrap_or(0));
    let total: u128 = graph.own.iter().map(own).sum();
    let mut expansion = Expansion {
        graph,
        units: &units,
        paths: Vec::new(),
        charged: graph.own.iter().map(|_| Vec::new()).collect(),
        pruned: Vec::new(),
        ways: BinaryHeap::new(),
        found: 0,
        threshold: total.saturating_mul(u128::from(WHOLE)) / FINEST,
        trees: Map::default(),
        inside_left: MOST_INSIDE,
    };
    expansion.begin();
    expansion.follow();
    expansion.finish()
}

impl Expansion<'_> {
    /// Queues the paths without a caller, for the cost of each unit that does not enter by calls.
    fn begin(&mut self) {
        let events = self.graph.event_count();
        let mut pruned = vec![0; events];
        for (position, unit) in self.units.all.iter().enumerate() {
            let share: Box<[u64]> = (0..events).map(|event| unit.root_share(event)).collect();
            let is_certain = unit.entering.is_empty();
            let entry = unit.root(self.graph);
            if !self.find(None, 0, position, entry, share.clone(), is_certain) {
                for (event, sum) in pruned.iter_mut().enumerate() {
                    *sum += part(share[event], unit.flow[event]);
                }
            }
        }
        self.prune(None, pruned);
    }

    /// Queues a path if it is worth following. Returns true if it was queued.
    fn find(
        &mut self,
        outer: Option<usize>,
        depth: usize,
        unit: usize,
        entry: usize,
        share: Box<[u64]>,
        is_certain: bool,
    ) -> bool {
        let ranking = self.graph.ranking;
        let flow = self.units.all[unit].flow.get(ranking).copied().unwrap_or(0);
        let amount = u128::from(share.get(ranking).copied().unwrap_or(0)) * flow;
        if !self.is_worth(amount) || depth >= DEEPEST {
            return false;
        }
        self.ways.push(Way {
            amount,
            order: self.found,
            outer,
            depth,
            unit,
            entry,
            share,
            is_certain,
        });
        self.found += 1;
        true
    }

    /// Returns true if a path with this cost is followed.
    fn is_worth(&self, amount: u128) -> bool {
        let has_room = self.found < ENOUGH && self.paths.len() < ENOUGH;
        amount >= self.threshold.max(1) || (amount > 0 && has_room)
    }

    fn follow(&mut self) {
        let mut followed = 0;
        while let Some(way) = self.ways.pop() {
            followed += 1;
            if followed > MOST_CONTEXTS {
                let flow = self.flow_of(&way);
                self.prune(way.outer, flow);
                continue;
            }
            self.follow_way(&way);
        }
    }

    /// Returns the cost that flows through a path, by event.
    fn flow_of(&self, way: &Way) -> Vec<u128> {
        let flow = &self.units.all[way.unit].flow;
        let flows = way.share.iter().zip(flow);
        flows.map(|(share, flow)| part(*share, *flow)).collect()
    }

    fn follow_way(&mut self, way: &Way) {
        let (graph, units) = (self.graph, self.units);
        let unit = &units.all[way.unit];
        let tree = self.tree(way.unit, way.entry);
        let mut paths: Map<usize, usize> = Map::default();
        let is_certain = way.is_certain && unit.members.len() == 1 && !unit.recurses;
        let (mut left, mut taken) = (self.flow_of(way), 1);
        let take = |left: &mut Vec<u128>, flow: &dyn Fn(usize) -> u128| {
            for (event, left) in left.iter_mut().enumerate() {
                *left = left.saturating_sub(flow(event));
            }
        };
        for (position, context) in unit.members.iter().enumerate() {
            let own = graph.own[*context];
            let ranked = u128::from(own.get(graph.ranking).copied().unwrap_or(0));
            let amount = u128::from(way.share[graph.ranking]) * ranked;
            // A single function gets a stack for each path, even if it is cheap. A cycle has one stack per member, so its
            // cheap members get none.
            if !self.is_worth(amount) && unit.members.len() > 1 {
                break;
            }
            let depth = way.depth + tree.caller(position).1;
            if own.iter().all(|count| *count == 0) || depth >= DEEPEST {
                continue;
            }
            let path = self.path(way, &tree, position, &mut paths);
            taken += 1;
            take(&mut left, &|event| {
                part(way.share[event], u128::from(own[event]))
            });
            self.charged[*context].push(ChargedStack {
                path,
                share: way.share.clone(),
                is_certain,
            });
        }
        for arc in &unit.leaving {
            let (caller, callee) = (graph.arcs[*arc].caller, graph.arcs[*arc].callee);
            let flow = units.flow(graph, *arc, graph.ranking);
            if !self.is_worth(u128::from(way.share[graph.ranking]) * flow) {
                break;
            }
            let position = units.position[caller];
            let depth = way.depth + tree.caller(position).1 + 1;
            if depth >= DEEPEST {
                continue;
            }
            let share: Box<[u64]> = (way.share.iter().enumerate())
                .map(|(event, share)| units.share(graph, *arc, event, *share))
                .collect();
            let path = self.path(way, &tree, position, &mut paths);
            let into = units.unit_of[callee];
            let is_only = is_certain && units.all[into].entering.len() == 1;
            let is_only = is_only && units.all[into].root_share(graph.ranking) <= ROUNDING;
            if self.find(Some(path), depth, into, callee, share, is_only) {
                taken += 1;
                take(&mut left, &|event| {
                    part(way.share[event], units.flow(graph, *arc, event))
                });
            }
        }
        // Each subtracted number was rounded down, so a small remainder is not a cost.
        if left.iter().any(|count| *count > taken) {
            let entry = units.position[way.entry];
            let path = self.path(way, &tree, entry, &mut paths);
            self.prune(Some(path), left);
        }
    }

    /// Returns the stack of a unit's member, for a unit entered by the path `way`. Adds the stack if it is new.
    fn path(
        &mut self,
        way: &Way,
        tree: &CircleTree,
        position: usize,
        known: &mut Map<usize, usize>,
    ) -> usize {
        let mut inwards = Vec::new();
        let mut at = Some(position);
        let mut outer = loop {
            let Some(position) = at else { break way.outer };
            if let Some(path) = known.get(&position) {
                break Some(*path);
            }
            inwards.push(position);
            at = tree.caller(position).0;
        };
        let members = &self.units.all[way.unit].members;
        for position in inwards.into_iter().rev() {
            self.paths.push(Path {
                outer,
                at: PathFrame::Context(members[position]),
            });
            let path = self.paths.len() - 1;
            known.insert(position, path);
            outer = Some(path);
        }
        // The stack of `position` is either known or has just been added.
        outer.unwrap_or(0)
    }

    /// Adds a `[pruned]` frame to the stack `outer`, for cost that is not followed.
    fn prune(&mut self, outer: Option<usize>, flow: Vec<u128>) {
        if flow.iter().all(|count| *count == 0) {
            return;
        }
        self.paths.push(Path {
            outer,
            at: PathFrame::Pruned,
        });
        self.pruned.push((self.paths.len() - 1, flow));
    }

    /// Returns the callers of a unit's members, which follow the most expensive calls from the entry member.
    fn tree(&mut self, unit: usize, entry: usize) -> Rc<CircleTree> {
        if let Some(tree) = self.trees.get(&(unit, entry)) {
            return Rc::clone(tree);
        }
        let members = &self.units.all[unit];
        let flat = CircleTree {
            first: self.units.position[entry],
            callers: None,
        };
        let size = members.inside.len() + members.members.len();
        let Some(left) = self.inside_left.checked_sub(size).filter(|_| size > 1) else {
            return Rc::new(flat);
        };
        self.inside_left = left;
        let tree = Rc::new(CircleTree {
            callers: Some(self.callers_inside(unit, flat.first)),
            ..flat
        });
        self.trees.insert((unit, entry), Rc::clone(&tree));
        tree
    }

    fn callers_inside(&self, unit: usize, first: usize) -> Vec<(Option<usize>, usize)> {
        let (graph, position) = (self.graph, &self.units.position);
        let unit = &self.units.all[unit];
        let mut callers: Vec<(Option<usize>, usize)> = vec![(Some(first), 1); unit.members.len()];
        callers[first] = (None, 0);
        let mut calls: Vec<Vec<(u64, usize)>> = vec![Vec::new(); unit.members.len()];
        for arc in unit.inside.iter().map(|arc| &graph.arcs[*arc]) {
            let cost = arc.cost(graph.ranking);
            calls[position[arc.caller]].push((cost, position[arc.callee]));
        }
        let mut is_reached = vec![false; unit.members.len()];
        let mut reachable = BinaryHeap::from([(u64::MAX, Reverse(first), None)]);
        while let Some((_, Reverse(member), caller)) = reachable.pop() {
            if std::mem::replace(&mut is_reached[member], true) {
                continue;
            }
            if let Some(Reverse(caller)) = caller {
                callers[member] = (Some(caller), callers[caller].1 + 1);
            }
            for (cost, callee) in &calls[member] {
                if !is_reached[*callee] {
                    reachable.push((*cost, Reverse(*callee), Some(Reverse(member))));
                }
            }
        }
        callers
    }

    /// Divides each function's self cost among its stacks, and the remainder among the `[pruned]` stacks.
    fn finish(mut self) -> Estimate {
        let (graph, events) = (self.graph, self.graph.event_count());
        let mut rows = Vec::new();
        let mut left_over = vec![0u64; events];
        let mut pruned_functions = 0;
        let mut certain = 0;
        for (context, charged) in self.charged.iter().enumerate() {
            let own = graph.own[context];
            if let [only] = &charged[..]
                && only.is_certain
            {
                certain += u128::from(own[graph.ranking]);
            }
            let first_row = rows.len();
            rows.extend(charged.iter().map(|charged| EstimatedRow {
                path: charged.path,
                cost: vec![0; events],
            }));
            let mut is_pruned = false;
            for event in 0..events {
                let mut weights: Vec<u64> =
                    charged.iter().map(|charged| charged.share[event]).collect();
                let given: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
                let rest = u128::from(WHOLE).saturating_sub(given) as u64;
                weights.push(if rest > ROUNDING || given == 0 {
                    rest.max(1)
                } else {
                    0
                });
                let parts = apportion(own[event], &weights);
                for (row, part) in rows[first_row..].iter_mut().zip(&parts) {
                    row.cost[event] = *part;
                }
                left_over[event] += parts[charged.len()];
                is_pruned |= parts[charged.len()] > 0;
            }
            pruned_functions += usize::from(is_pruned);
        }
        let has_no_place = |event: usize| {
            left_over[event] > 0 && self.pruned.iter().all(|(_, flow)| flow[event] == 0)
        };
        if (0..events).any(has_no_place) {
            self.prune(None, vec![1; events]);
        }
        let pruned = left_over
            .get(graph.ranking)
            .map_or(0, |cost| (*cost).into());
        let first_row = rows.len();
        rows.extend(self.pruned.iter().map(|(path, _)| EstimatedRow {
            path: *path,
            cost: vec![0; events],
        }));
        for (event, left_over) in left_over.into_iter().enumerate() {
            // The counts of an event add up to at most 64 bits, so parts of the counts fit too.
            let weight = |(_, flow): &(usize, Vec<u128>)| {
                u64::try_from(flow[event])
                    .unwrap_or(u64::MAX)
                    .min(u64::MAX >> 1)
            };
            let weights: Vec<u64> = self.pruned.iter().map(weight).collect();
            for (row, part) in rows[first_row..]
                .iter_mut()
                .zip(apportion(left_over, &weights))
            {
                row.cost[event] = part;
            }
        }
        rows.retain(|row| row.cost.iter().any(|count| *count > 0));
        Estimate {
            paths: self.paths,
            rows,
            certain,
            pruned,
            pruned_functions,
        }
    }
}

impl Ord for Way {
    fn cmp(&self, other: &Way) -> Ordering {
        (self.amount, Reverse(self.order)).cmp(&(other.amount, Reverse(other.order)))
    }
}

impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Way) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Way {
    fn eq(&self, other: &Way) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Way {}
