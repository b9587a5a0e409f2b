//! Estimates stacks from a call graph. Each path to a function gets the share of the function's cost that enters by this
//! path.
//!
//! The number of paths can be too large to write, for example with thirty layers of functions that each call the whole next
//! layer. So the most expensive path is followed first. Some paths are not followed: paths below 1/[`FINEST`] of the total
//! if there are already [`ENOUGH`] paths, paths deeper than [`DEEPEST`], and all paths after the first [`MOST_CONTEXTS`].
//! If the stacks are too large to write, those with the least cost are not followed to their end either. A function keeps the
//! cost that reaches it on these paths, below its nearest caller on a followed path and a frame called `[pruned]`
//! (`unfollowed.rs`).
//!
//! On each path into a cycle, every member appears once. It is reached by the most expensive calls from the member at which
//! the cycle was entered. Callgrind counts calls inside a cycle repeatedly, so their cost cannot be used for shares.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;

use super::apportion::{ROUNDING, WHOLE, apportion, part};
use super::unfollowed::{CutWay, Unfollowed, UnfollowedStacks};
use super::units::{ContextGraph, ContextUnits};

/// The divisor of the total that gives the minimum cost of a path, after the first [`ENOUGH`] paths.
const FINEST: u128 = 100_000;

/// The number of paths that are followed even if they are cheap. Most programs have fewer, and viewers can draw this many.
const ENOUGH: usize = 20_000;

/// The maximum number of frames in a followed path.
pub(super) const DEEPEST: usize = 256;

/// The maximum number of paths into functions.
const MOST_CONTEXTS: usize = 1_000_000;

/// The size of a record besides its frames, in bytes.
pub(super) const RECORD_BYTES: usize = 100;

/// The size of a frame `[pruned]`, in bytes.
pub(super) const PRUNED_BYTES: usize = 20;

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
    /// The self cost below frames `[pruned]`, by the ranking event.
    pub(super) pruned: u128,
    /// The number of functions with self cost below `[pruned]`.
    pub(super) pruned_functions: usize,
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The index of the caller's stack.
    pub(super) outer: Option<usize>,
    pub(super) at: PathFrame,
    /// The number of frames.
    pub(super) depth: usize,
    /// The size of a record with this stack, in bytes.
    pub(super) bytes: usize,
}

/// The innermost frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathFrame {
    Context(usize),
    /// A replacement for the frames of calls that are not followed.
    Pruned,
}

/// The cost of a stack, with one entry per event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EstimatedRow {
    pub(super) path: usize,
    pub(super) cost: Vec<u64>,
    /// True if the function has only this chain of callers.
    pub(super) is_certain: bool,
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
    share: Rc<[u64]>,
    /// True if no other path enters the unit.
    is_certain: bool,
}

/// A stack that gets a share of a function's self cost.
struct ChargedStack {
    path: usize,
    share: Rc<[u64]>,
    is_certain: bool,
}

struct Expansion<'g> {
    graph: &'g ContextGraph<'g>,
    units: &'g ContextUnits,
    paths: Vec<Path>,
    /// The stacks of each context.
    charged: Vec<Vec<ChargedStack>>,
    unfollowed: Unfollowed,
    ways: BinaryHeap<Way>,
    found: usize,
    /// The minimum cost of a followed path, in units of 1/[`WHOLE`].
    threshold: u128,
    trees: Map<(usize, usize), Rc<CircleTree>>,
    /// The tree of a unit with a single member.
    single: Rc<CircleTree>,
    inside_left: usize,
    /// The known stacks of the current unit's members, and the members whose stacks are missing.
    buffers: (Map<usize, usize>, Vec<usize>),
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
        unfollowed: Unfollowed::new(units.all.len()),
        ways: BinaryHeap::new(),
        found: 0,
        threshold: total.saturating_mul(u128::from(WHOLE)) / FINEST,
        trees: Map::default(),
        single: Rc::new(CircleTree {
            first: 0,
            callers: None,
        }),
        inside_left: MOST_INSIDE,
        buffers: Default::default(),
    };
    expansion.begin();
    expansion.follow();
    expansion.finish()
}

impl Expansion<'_> {
    /// Queues the paths without a caller, for the cost of each unit that does not enter by calls.
    fn begin(&mut self) {
        let events = self.graph.event_count();
        for (position, unit) in self.units.all.iter().enumerate() {
            let share: Rc<[u64]> = (0..events).map(|event| unit.root_share(event)).collect();
            let is_certain = unit.entering.is_empty();
            let entry = unit.root(self.graph);
            self.find(None, 0, position, entry, share, is_certain);
        }
    }

    /// Queues a path if it is worth following.
    fn find(
        &mut self,
        outer: Option<usize>,
        depth: usize,
        unit: usize,
        entry: usize,
        share: Rc<[u64]>,
        is_certain: bool,
    ) {
        let ranking = self.graph.ranking;
        let flow = self.units.all[unit].flow.get(ranking).copied().unwrap_or(0);
        let amount = u128::from(share.get(ranking).copied().unwrap_or(0)) * flow;
        if !self.is_worth(amount) || depth >= DEEPEST {
            self.unfollowed.enter(unit, outer, &share, &self.paths);
            return;
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
                let paths = &self.paths;
                self.unfollowed
                    .enter(way.unit, way.outer, &way.share, paths);
                continue;
            }
            self.follow_way(&way);
        }
    }

    fn follow_way(&mut self, way: &Way) {
        let (graph, units) = (self.graph, self.units);
        let unit = &units.all[way.unit];
        let tree = self.tree(way.unit, way.entry);
        let (mut paths, mut missing) = std::mem::take(&mut self.buffers);
        paths.clear();
        let is_certain = way.is_certain && unit.members.len() == 1 && !unit.recurses;
        let (mut members, mut arcs) = (0, 0);
        for (position, context) in unit.members.iter().enumerate() {
            let own = graph.own[*context];
            let ranked = u128::from(own.get(graph.ranking).copied().unwrap_or(0));
            let amount = u128::from(way.share[graph.ranking]) * ranked;
            let depth = way.depth + tree.caller(position).1;
            // A single function gets a stack for each path, even if it is cheap. A cycle has one stack per member, so its
            // cheap members get none.
            let is_cheap = !self.is_worth(amount) && unit.members.len() > 1;
            if is_cheap || depth >= DEEPEST {
                break;
            }
            members += 1;
            if own.iter().all(|count| *count == 0) {
                continue;
            }
            let path = self.path(way, &tree, position, (&mut paths, &mut missing));
            self.charged[*context].push(ChargedStack {
                path,
                share: way.share.clone(),
                is_certain,
            });
        }
        for arc in &unit.leaving {
            let (caller, callee) = (graph.arcs[*arc].caller, graph.arcs[*arc].callee);
            let flow = units.flow(graph, *arc, graph.ranking);
            let position = units.position[caller];
            let depth = way.depth + tree.caller(position).1 + 1;
            if !self.is_worth(u128::from(way.share[graph.ranking]) * flow) || depth > DEEPEST {
                break;
            }
            arcs += 1;
            let share = units.shares(graph, *arc, &way.share).collect();
            let path = self.path(way, &tree, position, (&mut paths, &mut missing));
            let into = units.unit_of[callee];
            let is_only = is_certain && units.all[into].entering.len() == 1;
            let is_only = is_only && units.all[into].root_share(graph.ranking) <= ROUNDING;
            self.find(Some(path), depth, into, callee, share, is_only);
        }
        if members < unit.members.len() || arcs < unit.leaving.len() {
            let entry = units.position[way.entry];
            let stack = Some(self.path(way, &tree, entry, (&mut paths, &mut missing)));
            let cut = CutWay {
                stack,
                share: way.share.clone(),
                members,
                arcs,
            };
            self.unfollowed.cut(way.unit, cut);
        }
        self.buffers = (paths, missing);
    }

    /// Returns the stack of a unit's member, for a unit entered by the path `way`. Adds the stack if it is new.
    fn path(
        &mut self,
        way: &Way,
        tree: &CircleTree,
        position: usize,
        (known, inwards): (&mut Map<usize, usize>, &mut Vec<usize>),
    ) -> usize {
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
        for position in inwards.drain(..).rev() {
            let context = members[position];
            let path = push_path(
                &mut self.paths,
                outer,
                PathFrame::Context(context),
                self.graph,
            );
            known.insert(position, path);
            outer = Some(path);
        }
        // The stack of `position` is either known or has just been added.
        outer.unwrap_or(0)
    }

    /// Returns the callers of a unit's members, which follow the most expensive calls from the entry member.
    fn tree(&mut self, unit: usize, entry: usize) -> Rc<CircleTree> {
        if let Some(tree) = self.trees.get(&(unit, entry)) {
            return Rc::clone(tree);
        }
        let members = &self.units.all[unit];
        if members.members.len() == 1 {
            return Rc::clone(&self.single);
        }
        let flat = CircleTree {
            first: self.units.position[entry],
            callers: None,
        };
        let size = members.inside.len() + members.members.len();
        let Some(left) = self.inside_left.checked_sub(size) else {
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

    /// Divides each function's self cost among its stacks.
    fn finish(mut self) -> Estimate {
        let graph = self.graph;
        let mut unfollowed = self.unfollowed.spread(graph, self.units, &self.paths);
        let bytes = keep_largest(&mut self.charged, &mut unfollowed, graph, &self.paths);
        let room = graph.most_bytes.saturating_sub(bytes);
        let unfollowed = unfollowed.fold_to_size(graph, &self.paths, room);
        let mut estimate = Estimate {
            paths: self.paths,
            rows: Vec::new(),
            certain: 0,
            pruned: 0,
            pruned_functions: 0,
        };
        let mut pruned_stacks: Map<Option<usize>, usize> = Map::default();
        let stacks = self.charged.into_iter().zip(unfollowed);
        for (context, (mut charged, mut unfollowed)) in stacks.enumerate() {
            let followed = charged.len();
            // Shares of shares can become too small for a number.
            if followed == 0 && unfollowed.is_empty() {
                unfollowed.push(None, &vec![0; graph.event_count()]);
            }
            for (stack, share) in unfollowed.iter() {
                let paths = &mut estimate.paths;
                let pruned = *pruned_stacks
                    .entry(stack)
                    .or_insert_with(|| push_path(paths, stack, PathFrame::Pruned, graph));
                let at = PathFrame::Context(context);
                charged.push(ChargedStack {
                    path: push_path(paths, Some(pruned), at, graph),
                    share: share.into(),
                    is_certain: false,
                });
            }
            estimate.divide(graph, context, &charged, followed);
        }
        estimate
    }
}

/// Keeps the stacks with the largest cost in `charged`, as many as can be written. The callers of the other stacks become
/// `unfollowed`. Returns the size of the kept stacks.
fn keep_largest(
    charged: &mut [Vec<ChargedStack>],
    unfollowed: &mut UnfollowedStacks,
    graph: &ContextGraph,
    paths: &[Path],
) -> usize {
    let cost = |context: usize, stack: &ChargedStack| {
        part(
            stack.share[graph.ranking],
            u128::from(graph.own[context][graph.ranking]),
        )
    };
    let mut largest: Vec<(Reverse<u128>, usize, usize)> = Vec::new();
    for (context, stacks) in charged.iter().enumerate() {
        let stacks = stacks.iter();
        largest.extend(stacks.map(|stack| (Reverse(cost(context, stack)), context, stack.path)));
    }
    // A record names the innermost function twice.
    let size = |context: usize, path: usize| paths[path].bytes + graph.bytes[context];
    let sizes = largest
        .iter()
        .map(|(_, context, path)| size(*context, *path));
    let bytes: usize = sizes.sum();
    if bytes + unfollowed.least_bytes(graph) <= graph.most_bytes {
        return bytes;
    }
    largest.order_by_key(|stack| *stack);
    let mut kept = 0;
    let mut is_kept = vec![false; paths.len()];
    for (_, context, path) in largest {
        kept += size(context, path);
        if kept > graph.most_bytes / 3 * 2 {
            kept -= size(context, path);
            break;
        }
        is_kept[path] = true;
    }
    for (context, stacks) in charged.iter_mut().enumerate() {
        let others = stacks.extract_if(.., |stack| !is_kept[stack.path]);
        for stack in others {
            let outer = paths[stack.path].outer;
            unfollowed.add(context, outer, &stack.share);
        }
    }
    kept
}

impl Estimate {
    /// Divides a function's self cost among its stacks, of which the first `followed` are without `[pruned]`.
    fn divide(
        &mut self,
        graph: &ContextGraph,
        context: usize,
        charged: &[ChargedStack],
        followed: usize,
    ) {
        let own = graph.own[context];
        let mut costs = vec![vec![0; own.len()]; charged.len()];
        for (event, count) in own.iter().enumerate() {
            let mut weights: Vec<u64> = charged.iter().map(|stack| stack.share[event]).collect();
            // The shares of an event that has no cost among the calls can all be 0.
            if weights.iter().all(|weight| *weight == 0) {
                weights.fill(1);
            }
            for (cost, part) in costs.iter_mut().zip(apportion(*count, &weights)) {
                cost[event] = part;
            }
        }
        let ranked = |cost: &Vec<u64>| u128::from(cost[graph.ranking]);
        let pruned = &costs[followed..];
        self.pruned += pruned.iter().map(ranked).sum::<u128>();
        self.pruned_functions += usize::from(pruned.iter().flatten().any(|count| *count > 0));
        let is_only = charged.len() == 1;
        for (stack, cost) in charged.iter().zip(costs) {
            let is_certain = is_only && stack.is_certain;
            if is_certain {
                self.certain += ranked(&cost);
            }
            if cost.iter().any(|count| *count > 0) {
                self.rows.push(EstimatedRow {
                    path: stack.path,
                    cost,
                    is_certain,
                });
            }
        }
    }
}

/// Adds a stack. Returns its index.
fn push_path(
    paths: &mut Vec<Path>,
    outer: Option<usize>,
    at: PathFrame,
    graph: &ContextGraph,
) -> usize {
    let (depth, bytes) = outer.map_or((0, RECORD_BYTES), |outer| {
        (paths[outer].depth, paths[outer].bytes)
    });
    paths.push(Path {
        outer,
        at,
        depth: depth + 1,
        bytes: bytes
            + match at {
                PathFrame::Context(context) => graph.bytes[context],
                PathFrame::Pruned => PRUNED_BYTES,
            },
    });
    paths.len() - 1
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
