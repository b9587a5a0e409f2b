//! Gives both runs the same functions: the cost and the calls of a function that only one run has go to its callers.
//!
//! A group without a function of both runs is contracted into its callers, callees first. Each caller gets as much as it
//! paid, which is exact for one caller and an estimate for several. In a group with functions of both runs, the others are
//! folded into the members that call them.

use cg_collections::components::components;
use cg_stream::record::Count;

use super::amounts::{AmountId, Amounts, CostShares};
use super::graph::CallGraph;
use super::groups::Groups;
use super::nodes::Node;

/// A group with more pairs of a caller and an item is not contracted. It then came or went at its recorded cost.
const MOST_PAIRS: usize = 4096;

/// The number of pairs to contract in any graph, and for each node and arc, so that contraction takes linear time.
const PAIRS: usize = 100_000;
const PAIRS_FOR_EACH: usize = 2;

/// An amount of own cost, with the function that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) function: Node,
    /// If the function is inlined, so that its cost is in the code of another function, the function next to it in the chain.
    pub(super) inlined_into: Option<Node>,
    pub(super) cost: AmountId,
    /// The recorded inclusive cost, for a function that was contracted.
    pub(super) recorded: Option<AmountId>,
}

/// Calls of a function. Calls of contracted functions are fractions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) callee: Node,
    pub(super) calls: f64,
    pub(super) cost: AmountId,
}

/// The parts and calls that a node holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) parts: Vec<Part>,
    pub(super) calls: Vec<Calls>,
}

impl Held {
    /// Returns true if parts and calls are sorted, one for each function.
    fn is_combined(&self) -> bool {
        let key = |part: &Part| (part.function, part.inlined_into);
        let parts = &self.parts;
        parts.is_sorted_by(|a, b| key(a) < key(b))
            && self.calls.is_sorted_by(|a, b| a.callee < b.callee)
    }
}

/// A run after contraction.
pub(super) struct ContractedRun {
    pub(super) amounts: Amounts,
    /// The parts and calls of each node: sorted, one for each function.
    pub(super) held: Vec<Held>,
}

/// Contracts and folds the functions of a run that the other run lacks.
pub(super) fn contract(graph: &CallGraph, groups: &Groups, is_kept: &[bool]) -> ContractedRun {
    let mut contraction = Contraction::new(graph, groups, is_kept);
    contraction.contract_groups();
    for group in 0..groups.len() {
        if groups.members(group).len() > 1 && !contraction.is_contracted[group] {
            contraction.fold(group);
        }
    }
    contraction.finish()
}

struct Contraction<'a> {
    graph: &'a CallGraph,
    groups: &'a Groups,
    is_kept: &'a [bool],
    amounts: Amounts,
    /// The own cost of each node that ran, until it is contracted or folded.
    own: Vec<Option<AmountId>>,
    /// The calls of each node, and the parts that it got.
    held: Vec<Held>,
    /// The positions of the arcs, sorted by the group of their callee.
    arcs_into: Vec<usize>,
    /// The position of the first arc into each group in `arcs_into`, and the number of arcs.
    starts: Vec<usize>,
    is_contracted: Vec<bool>,
    /// The number of pairs that may still be contracted.
    pairs_left: usize,
}

impl<'a> Contraction<'a> {
    fn new(graph: &'a CallGraph, groups: &'a Groups, is_kept: &'a [bool]) -> Contraction<'a> {
        let mut amounts = Amounts::new(graph.events);
        let nodes = graph.is_present.len();
        let mut held = vec![Held::default(); nodes];
        let own = (0..nodes).map(|node| {
            let is_present = graph.is_present[node];
            is_present.then(|| amounts.push(graph.own(node)))
        });
        let own: Vec<Option<AmountId>> = own.collect();
        for (at, pair) in graph.inlined.iter().enumerate() {
            held[pair.host].parts.push(Part {
                function: pair.function,
                inlined_into: Some(pair.into),
                cost: amounts.push(graph.inlined_cost(at)),
                recorded: None,
            });
        }
        let mut starts = vec![0; groups.len() + 1];
        let mut at = 0;
        for arcs in graph.arcs.chunk_by(|a, b| a.caller == b.caller) {
            let calls = &mut held[arcs[0].caller].calls;
            calls.reserve_exact(arcs.len());
            for arc in arcs {
                starts[groups.of[arc.callee] + 1] += 1;
                calls.push(Calls {
                    callee: arc.callee,
                    calls: arc.calls as f64,
                    cost: amounts.push(graph.cost(at)),
                });
                at += 1;
            }
        }
        for group in 0..groups.len() {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut arcs_into = vec![0; graph.arcs.len()];
        for (at, arc) in graph.arcs.iter().enumerate() {
            let group = groups.of[arc.callee];
            arcs_into[next[group]] = at;
            next[group] += 1;
        }
        Contraction {
            graph,
            groups,
            is_kept,
            amounts,
            own,
            held,
            arcs_into,
            starts,
            is_contracted: vec![false; groups.len()],
            pairs_left: PAIRS + PAIRS_FOR_EACH * (nodes + graph.arcs.len()),
        }
    }

    fn contract_groups(&mut self) {
        let graph = self.graph;
        let is_one_sided = |group: &usize| {
            let members = self.groups.members(*group);
            graph.is_present[members[0]] && !members.iter().any(|node| self.is_kept[*node])
        };
        let mut order: Vec<usize> = (0..self.groups.len()).filter(is_one_sided).collect();
        if order.is_empty() {
            return;
        }
        let arcs = graph.arcs.iter().map(|arc| (arc.caller, arc.callee));
        let component_of = components(graph.is_present.len(), arcs);
        order.sort_unstable_by_key(|group| component_of[self.groups.members(*group)[0]]);
        for group in order {
            self.contract_group(group);
        }
    }

    /// Gives a group to its callers. All arcs into it are still the recorded ones, because its callees come before it.
    fn contract_group(&mut self, group: usize) {
        let mut into: Vec<usize> = self.arcs_into[self.starts[group]..self.starts[group + 1]]
            .iter()
            .copied()
            .filter(|arc| self.groups.of[self.graph.arcs[*arc].caller] != group)
            .collect();
        into.sort_unstable_by_key(|arc| self.graph.arcs[*arc].caller);
        let callers =
            into.chunk_by(|a, b| self.graph.arcs[*a].caller == self.graph.arcs[*b].caller);
        let callers: Vec<(Node, Vec<Count>, Count)> = callers
            .map(|arcs| {
                let mut paid = vec![0; self.graph.events];
                let mut calls = 0;
                for arc in arcs {
                    super::graph::add(&mut paid, self.graph.cost(*arc));
                    calls += self.graph.arcs[*arc].calls;
                }
                (self.graph.arcs[arcs[0]].caller, paid, calls)
            })
            .collect();
        match &callers[..] {
            [] => {}
            [(caller, paid, _)] => {
                let items = self.take_members(group, Some(paid));
                self.move_to(*caller, items);
                self.is_contracted[group] = true;
            }
            _ => {
                let members = self.groups.members(group);
                let items = members.iter().map(|node| &self.held[*node]);
                let items: usize = items.map(|held| held.parts.len() + held.calls.len()).sum();
                if items * callers.len() <= MOST_PAIRS.min(self.pairs_left) {
                    self.pairs_left -= items * callers.len();
                    self.share_among(group, callers);
                    self.is_contracted[group] = true;
                }
            }
        }
    }

    /// Takes the parts and the calls of all members of a group. The recorded inclusive cost of a single function is the cost
    /// that its callers paid. In a recursion, only the own cost of a function is known.
    fn take_members(&mut self, group: usize, paid: Option<&[Count]>) -> Held {
        let mut items = Held::default();
        let members = self.groups.members(group);
        for node in members {
            append(&mut items, std::mem::take(&mut self.held[*node]));
            let recorded = paid.filter(|_| members.len() == 1);
            items.parts.extend(self.take_own(*node, recorded));
        }
        items
    }

    /// Takes the own cost of a node, as a part of its future holder.
    fn take_own(&mut self, node: Node, recorded: Option<&[Count]>) -> Option<Part> {
        let cost = self.own[node].take()?;
        let recorded = match recorded {
            Some(recorded) => recorded.to_vec(),
            None => self.amounts.get(cost).to_vec(),
        };
        Some(Part {
            function: node,
            inlined_into: None,
            cost,
            recorded: Some(self.amounts.push(&recorded)),
        })
    }

    /// Moves parts and calls to a node.
    fn move_to(&mut self, node: Node, items: Held) {
        append(&mut self.held[node], items);
    }

    /// Divides the parts and calls of a group among its callers by the cost that they paid for it. The greatest part takes
    /// what rounding leaves, so that each caller gets what it paid.
    fn share_among(&mut self, group: usize, callers: Vec<(Node, Vec<Count>, Count)>) {
        let events = self.graph.events;
        let mut items = self.take_members(group, None);
        items.calls.retain(|calls| {
            let callee = self.groups.of[calls.callee];
            callee != group && !self.is_contracted[callee]
        });
        self.combine(&mut items);
        let by_event: Vec<CostShares> = (0..events)
            .map(|event| {
                let paid = callers.iter().map(move |(_, paid, _)| paid[event] as f64);
                match callers.iter().any(|(_, paid, _)| paid[event] > 0) {
                    true => CostShares::by_weights(paid),
                    false => {
                        CostShares::by_weights(callers.iter().map(|(.., calls)| *calls as f64))
                    }
                }
            })
            .collect();
        let greatest = (items.parts.iter().enumerate())
            .max_by_key(|(at, part)| (self.amounts.get(part.cost)[0], std::cmp::Reverse(*at)))
            .map_or(0, |(at, _)| at);
        let last = callers.len() - 1;
        let mut given = vec![0; events];
        for (position, (caller, paid, _)) in callers.into_iter().enumerate() {
            let mut left = paid.clone();
            let share = |amounts: &mut Amounts, cost: AmountId, left: &mut [Count]| {
                let share: Vec<Count> = (by_event.iter().zip(amounts.get(cost)))
                    .map(|(shares, amount)| shares.share(*amount, position))
                    .collect();
                for (left, share) in left.iter_mut().zip(&share) {
                    *left -= share;
                }
                amounts.push(&share)
            };
            let mut held = Held::default();
            for calls in &items.calls {
                held.calls.push(Calls {
                    callee: calls.callee,
                    calls: calls.calls * by_event[0].fraction(position),
                    cost: share(&mut self.amounts, calls.cost, &mut left),
                });
            }
            for (at, part) in items.parts.iter().enumerate() {
                if at != greatest {
                    let cost = share(&mut self.amounts, part.cost, &mut left);
                    held.parts.push(Part { cost, ..*part });
                }
            }
            let part = items.parts[greatest];
            if position == last {
                let whole = self.amounts.get(part.cost).iter().zip(&given);
                left = whole.map(|(whole, given)| whole - given).collect();
            }
            super::graph::add(&mut given, &left);
            let cost = self.amounts.push(&left);
            held.parts.push(Part { cost, ..part });
            for part in &mut held.parts {
                let is_of_group =
                    part.inlined_into.is_none() && self.groups.of[part.function] == group;
                part.recorded = part.recorded.map(|recorded| {
                    match is_of_group && self.groups.members(group).len() == 1 {
                        true => self.amounts.push(&paid),
                        false => share(&mut self.amounts, recorded, &mut vec![0; events]),
                    }
                });
            }
            self.move_to(caller, held);
        }
    }

    /// Gives the members of a group that the other run lacks to the members that call them. Callers outside of the group get
    /// nothing, because their arcs already have its cost.
    fn fold(&mut self, group: usize) {
        let members = self.groups.members(group);
        let graph = self.graph;
        let is_folded = |node: &Node| graph.is_present[*node] && !self.is_kept[*node];
        let mut folded: Vec<Node> = members.iter().copied().filter(is_folded).collect();
        let costliest = (members.iter().copied())
            .filter(|node| self.is_kept[*node])
            .max_by_key(|node| (graph.own(*node)[0], std::cmp::Reverse(*node)));
        let Some(costliest) = costliest.filter(|_| !folded.is_empty()) else {
            return;
        };
        let mut inner = InnerCalls::collect(graph, self.groups, group, &folded);
        while let Some(node) = folded.pop() {
            let callers = inner.take(node, &mut self.pairs_left);
            let mut items = std::mem::take(&mut self.held[node]);
            items.parts.extend(self.take_own(node, None));
            match &callers[..] {
                [] => self.move_to(costliest, items),
                [(caller, _)] => self.move_to(*caller, items),
                _ => {
                    let pairs = callers.len() * (items.parts.len() + items.calls.len());
                    if pairs > MOST_PAIRS.min(self.pairs_left) {
                        self.move_to(costliest, items);
                        continue;
                    }
                    self.pairs_left -= pairs;
                    self.combine(&mut items);
                    let shares = CostShares::by_weights(callers.iter().map(|(_, calls)| *calls));
                    for (position, (caller, _)) in callers.iter().enumerate() {
                        let held = self.shared(&items, &shares, position);
                        self.move_to(*caller, held);
                    }
                }
            }
        }
    }

    /// Returns the share of a receiver in these parts and calls.
    fn shared(&mut self, items: &Held, shares: &CostShares, position: usize) -> Held {
        let mut share = |cost: AmountId| {
            let amounts = self.amounts.get(cost).iter();
            let share: Vec<Count> = amounts
                .map(|amount| shares.share(*amount, position))
                .collect();
            self.amounts.push(&share)
        };
        Held {
            parts: (items.parts.iter())
                .map(|part| Part {
                    cost: share(part.cost),
                    recorded: part.recorded.map(&mut share),
                    ..*part
                })
                .collect(),
            calls: (items.calls.iter())
                .map(|calls| Calls {
                    callee: calls.callee,
                    calls: calls.calls * shares.fraction(position),
                    cost: share(calls.cost),
                })
                .collect(),
        }
    }

    /// Sorts parts and calls, and adds up the ones of each function.
    fn combine(&mut self, held: &mut Held) {
        let amounts = &mut self.amounts;
        // A node that got nothing is in order.
        if held.is_combined() {
            return;
        }
        held.parts
            .sort_by_key(|part| (part.function, part.inlined_into));
        held.parts.dedup_by(|next, first| {
            let is_same =
                (first.function, first.inlined_into) == (next.function, next.inlined_into);
            if is_same {
                amounts.add(first.cost, next.cost);
                match (first.recorded, next.recorded) {
                    (Some(first), Some(next)) => amounts.add(first, next),
                    (known, other) => first.recorded = known.or(other),
                }
            }
            is_same
        });
        held.calls.sort_by_key(|calls| calls.callee);
        held.calls.dedup_by(|next, first| {
            let is_same = first.callee == next.callee;
            if is_same {
                first.calls += next.calls;
                amounts.add(first.cost, next.cost);
            }
            is_same
        });
    }

    /// Drops calls of contracted groups, and calls inside of groups, which have no price.
    fn finish(mut self) -> ContractedRun {
        let mut all = std::mem::take(&mut self.held);
        for (node, held) in all.iter_mut().enumerate() {
            let own_group = self.groups.of[node];
            held.calls.retain(|calls| {
                let group = self.groups.of[calls.callee];
                group != own_group && !self.is_contracted[group]
            });
            if let Some(cost) = self.own[node] {
                held.parts.push(Part {
                    function: node,
                    inlined_into: None,
                    cost,
                    recorded: None,
                });
            }
            self.combine(held);
        }
        ContractedRun {
            amounts: self.amounts,
            held: all,
        }
    }
}

/// Appends one list of parts and calls to another. Moves the shorter one, so that a chain of contractions stays linear.
fn append(to: &mut Held, mut items: Held) {
    fn append_shorter<T>(to: &mut Vec<T>, items: &mut Vec<T>) {
        if to.len() < items.len() {
            std::mem::swap(to, items);
        }
        to.append(items);
    }
    append_shorter(&mut to.parts, &mut items.parts);
    append_shorter(&mut to.calls, &mut items.calls);
}

/// The calls of folded functions by members of their group.
struct InnerCalls {
    /// For each folded function: the members that call it, with the number of calls.
    callers: cg_collections::maps::Map<Node, Vec<(Node, f64)>>,
    /// For each folded function: the folded functions that it calls.
    callees: cg_collections::maps::Map<Node, Vec<Node>>,
}

impl InnerCalls {
    fn collect(graph: &CallGraph, groups: &Groups, group: usize, folded: &[Node]) -> InnerCalls {
        let mut inner = InnerCalls {
            callers: folded.iter().map(|node| (*node, Vec::new())).collect(),
            callees: folded.iter().map(|node| (*node, Vec::new())).collect(),
        };
        for caller in groups.members(group) {
            let start = graph.arcs.partition_point(|arc| arc.caller < *caller);
            let arcs = graph.arcs[start..].iter();
            for arc in arcs.take_while(|arc| arc.caller == *caller) {
                if arc.callee != *caller
                    && let Some(callers) = inner.callers.get_mut(&arc.callee)
                {
                    callers.push((*caller, arc.calls as f64));
                    if let Some(callees) = inner.callees.get_mut(caller) {
                        callees.push(arc.callee);
                    }
                }
            }
        }
        inner
    }

    /// Removes a folded function: its callers now call its folded callees. Returns the callers, sorted. Once no pairs are
    /// left, the callees lose these calls.
    fn take(&mut self, node: Node, pairs_left: &mut usize) -> Vec<(Node, f64)> {
        let mut callers = self.callers.remove(&node).unwrap_or_default();
        let callees = self.callees.remove(&node).unwrap_or_default();
        callers.retain(|(caller, _)| *caller != node);
        add_up(&mut callers);
        let total: f64 = callers.iter().map(|(_, calls)| calls).sum();
        for callee in callees {
            let Some(of_callee) = self.callers.get_mut(&callee) else {
                continue;
            };
            add_up(of_callee);
            let Ok(at) = of_callee.binary_search_by_key(&node, |(caller, _)| *caller) else {
                continue;
            };
            let (_, calls) = of_callee.remove(at);
            if callers.len() > *pairs_left {
                continue;
            }
            *pairs_left -= callers.len();
            for (caller, share) in callers.iter().filter(|(caller, _)| *caller != callee) {
                of_callee.push((*caller, calls * share / total));
                if let Some(callees) = self.callees.get_mut(caller) {
                    callees.push(callee);
                }
            }
        }
        callers
    }
}

/// Sorts callers, and adds up the calls of each.
fn add_up(callers: &mut Vec<(Node, f64)>) {
    callers.sort_by_key(|(caller, _)| *caller);
    callers.dedup_by(|next, first| {
        let is_same = first.0 == next.0;
        if is_same {
            first.1 += next.1;
        }
        is_same
    });
}
