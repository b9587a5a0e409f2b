//! The call graph of one run: self costs, and calls with the inclusive cost that was recorded for them.

use cg_collections::maps::Map;
use cg_profile::{FunctionKey, Key};
use cg_stream::record::{Count, RecordType};

use super::groups::Groups;
use super::nodes::{Node, Nodes};
use crate::runs::Runs;

/// All calls from one function to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CauseArc {
    pub(super) caller: Node,
    pub(super) callee: Node,
    pub(super) calls: Count,
}

/// The cost of a function that is inlined into another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InlinedPair {
    pub(super) host: Node,
    /// The innermost function of the chain.
    pub(super) function: Node,
    /// The next function of the chain, which the innermost function is inlined into. It can be the host.
    pub(super) into: Node,
}

/// The graph of one run. The last node is everything outside of the program: it has no cost, and calls the functions that
/// no other function calls.
#[derive(Clone, Debug, Default)]
pub(super) struct CallGraph {
    pub(super) events: usize,
    /// The self cost of each node by event, without the functions that are inlined into it.
    own: Vec<Count>,
    /// The functions that are inlined into others, sorted, with their cost by event.
    pub(super) inlined: Vec<InlinedPair>,
    inlined_costs: Vec<Count>,
    /// The arcs, sorted by caller and callee, one for each pair, with their inclusive cost by event.
    pub(super) arcs: Vec<CauseArc>,
    costs: Vec<Count>,
    /// True for each node that ran.
    pub(super) is_present: Vec<bool>,
    /// The number of calls whose caller or callee has no record.
    pub(super) without_ends: Count,
}

impl CallGraph {
    pub(super) fn new(functions: usize, events: usize) -> CallGraph {
        let nodes = functions + 1;
        CallGraph {
            events,
            own: vec![0; nodes * events],
            is_present: vec![false; nodes],
            ..CallGraph::default()
        }
    }

    /// Makes the graph of one side of a comparison, with the costs of some events.
    pub(super) fn collect(runs: &Runs, nodes: &Nodes, side: usize, events: &[usize]) -> CallGraph {
        let mut graph = CallGraph::new(nodes.len(), events.len());
        let mut found = FoundCalls::default();
        for number in runs.files_of(side) {
            let positions: Vec<Option<usize>> = (events.iter())
                .map(|event| runs.position(number, *event))
                .collect();
            let profile = &runs.profiles[number];
            let cost_of = |counts: &[Count], costs: &mut Vec<Count>| {
                for position in &positions {
                    let count = position.and_then(|position| counts.get(position));
                    costs.push(count.copied().unwrap_or(0));
                }
            };
            let cost_type = match nodes.has_chains {
                true => RecordType::Inline,
                false => RecordType::Fn,
            };
            let plain = plain_hosts(runs, number);
            let functions = profile.table(cost_type);
            let mut cost = Vec::new();
            for (record, key) in functions.keys().enumerate() {
                let Some((host, inlined)) = host_and_inlined(runs, nodes, &key, &plain) else {
                    continue;
                };
                cost.clear();
                cost_of(functions.cost(record), &mut cost);
                graph.is_present[host] |=
                    functions.calls(record) > 0 || cost.iter().any(|cost| *cost != 0);
                match inlined {
                    None => graph.add_own(host, &cost),
                    Some(pair) => found.add_inlined(pair, &cost),
                }
            }
            let calls = profile.table(RecordType::Call);
            found.arcs.reserve(calls.len());
            found.costs.reserve(calls.len() * events.len());
            // The calls of a function follow each other.
            let mut last: Option<(Key, Option<Node>)> = None;
            for (record, key) in calls.keys().enumerate() {
                let count = calls.calls(record);
                let same = last.filter(|(last, _)| {
                    (last.function, last.part, last.thread) == (key.function, key.part, key.thread)
                });
                let caller = match same {
                    Some((_, caller)) => caller,
                    None => nodes.node(key.function, &key),
                };
                last = Some((key, caller));
                let callee = key.callee.and_then(|callee| nodes.node(callee, &key));
                let (Some(caller), Some(callee)) = (caller, callee) else {
                    graph.without_ends += count;
                    continue;
                };
                cost.clear();
                cost_of(calls.incl(record).unwrap_or_default(), &mut cost);
                found.add_arc(caller, callee, count, &cost);
            }
        }
        graph.set(found);
        graph
    }

    /// Sets inlined functions and arcs. Adds up the ones of each pair.
    pub(super) fn set(&mut self, found: FoundCalls) {
        let events = self.events;
        self.arcs.reserve_exact(found.arcs.len());
        self.costs.reserve_exact(found.costs.len());
        for at in sorted_arcs(&found.arcs, self.is_present.len()) {
            let (arc, cost) = (found.arcs[at], &found.costs[at * events..][..events]);
            match self.arcs.last_mut() {
                Some(last) if (last.caller, last.callee) == (arc.caller, arc.callee) => {
                    last.calls += arc.calls;
                    let start = self.costs.len() - events;
                    add(&mut self.costs[start..], cost);
                }
                _ => {
                    self.arcs.push(arc);
                    self.costs.extend_from_slice(cost);
                }
            }
        }
        self.drop_empty_arcs();
        let order = sorted_by(found.inlined.len(), |at| found.inlined[at]);
        for at in order {
            let cost = &found.inlined_costs[at * events..][..events];
            if self.inlined.last() == Some(&found.inlined[at]) {
                let start = self.inlined_costs.len() - events;
                add(&mut self.inlined_costs[start..], cost);
            } else {
                self.inlined.push(found.inlined[at]);
                self.inlined_costs.extend_from_slice(cost);
            }
        }
    }

    /// Drops arcs without calls and costs. The functions of the others ran.
    fn drop_empty_arcs(&mut self) {
        let events = self.events;
        let mut kept = 0;
        for at in 0..self.arcs.len() {
            let mut arc = self.arcs[at];
            let has_cost = self.cost(at).iter().any(|cost| *cost != 0);
            if arc.calls == 0 && !has_cost {
                continue;
            }
            // A call that began before the recording was counted nowhere.
            arc.calls = arc.calls.max(1);
            self.is_present[arc.caller] = true;
            self.is_present[arc.callee] = true;
            self.arcs[kept] = arc;
            self.costs
                .copy_within(at * events..(at + 1) * events, kept * events);
            kept += 1;
        }
        self.arcs.truncate(kept);
        self.costs.truncate(kept * events);
    }

    /// Adds an arc from outside to each group whose inclusive cost exceeds what its callers paid for it. It is negative if
    /// the profile was cut.
    pub(super) fn enter_from_outside(&mut self, groups: &Groups) {
        let events = self.events;
        let outside = self.is_present.len() - 1;
        let mut missing = vec![0; groups.len() * events];
        for node in 0..outside {
            let group = groups.of[node] * events;
            add(&mut missing[group..][..events], self.own(node));
        }
        for (pair, cost) in self
            .inlined
            .iter()
            .zip(self.inlined_costs.chunks(events.max(1)))
        {
            let group = groups.of[pair.host] * events;
            add(&mut missing[group..][..events], cost);
        }
        // The entry of a group is the function for which its callers paid most, or else its costliest function.
        let mut paid = self.own.clone();
        for (arc, cost) in self.arcs.iter().zip(self.costs.chunks(events.max(1))) {
            let (from, to) = (groups.of[arc.caller], groups.of[arc.callee]);
            if from != to {
                add(&mut missing[from * events..][..events], cost);
                for (sum, cost) in missing[to * events..][..events].iter_mut().zip(cost) {
                    *sum -= cost;
                }
                add(&mut paid[arc.callee * events..][..events], cost);
            }
        }
        for group in 0..groups.len() {
            let cost = &missing[group * events..][..events];
            if cost.iter().all(|cost| *cost == 0) {
                continue;
            }
            let members = groups.members(group).iter();
            let entry = members
                .filter(|node| self.is_present[**node])
                .max_by_key(|node| (paid[**node * events], std::cmp::Reverse(**node)));
            if let Some(entry) = entry {
                self.arcs.push(CauseArc {
                    caller: outside,
                    callee: *entry,
                    calls: 1,
                });
                self.costs.extend_from_slice(cost);
            }
        }
        self.is_present[outside] = true;
    }

    pub(super) fn add_own(&mut self, node: Node, cost: &[Count]) {
        add(&mut self.own[node * self.events..][..self.events], cost);
        self.is_present[node] |= cost.iter().any(|cost| *cost != 0);
    }

    /// Returns the self cost of a node by event, without inlined functions.
    pub(super) fn own(&self, node: Node) -> &[Count] {
        &self.own[node * self.events..][..self.events]
    }

    /// Returns the recorded cost of an arc by event.
    pub(super) fn cost(&self, arc: usize) -> &[Count] {
        &self.costs[arc * self.events..][..self.events]
    }

    /// Returns the cost of an inlined function by event.
    pub(super) fn inlined_cost(&self, pair: usize) -> &[Count] {
        &self.inlined_costs[pair * self.events..][..self.events]
    }

    /// Returns the cost of all nodes in an event.
    pub(super) fn total(&self, event: usize) -> Count {
        let column = |costs: &[Count]| -> Count {
            costs.iter().skip(event).step_by(self.events.max(1)).sum()
        };
        column(&self.own) + column(&self.inlined_costs)
    }
}

/// Records in the order of the input, before the ones of each pair are added up.
#[derive(Default)]
pub(super) struct FoundCalls {
    arcs: Vec<CauseArc>,
    costs: Vec<Count>,
    inlined: Vec<InlinedPair>,
    inlined_costs: Vec<Count>,
}

impl FoundCalls {
    pub(super) fn add_arc(&mut self, caller: Node, callee: Node, calls: Count, cost: &[Count]) {
        self.arcs.push(CauseArc {
            caller,
            callee,
            calls,
        });
        self.costs.extend_from_slice(cost);
    }

    pub(super) fn add_inlined(&mut self, pair: InlinedPair, cost: &[Count]) {
        self.inlined.push(pair);
        self.inlined_costs.extend_from_slice(cost);
    }
}

/// Returns the node that a cost record belongs to, and the innermost functions if its code is inlined. Functions that are
/// compared including their inlined code have no inlined functions.
fn host_and_inlined(
    runs: &Runs,
    nodes: &Nodes,
    key: &Key,
    plain: &Map<FunctionKey, Count>,
) -> Option<(Node, Option<InlinedPair>)> {
    let frames = runs.names.stacks.frames_of(key.stack);
    match (frames.first(), frames.last()) {
        (Some(first), Some(last)) if nodes.has_chains => {
            let host = nodes.inlined_node(last.function, key)?;
            let next = frames.get(1);
            let next = next.filter(|_| !plain.contains_key(&last.function));
            let inlined = next.and_then(|next| {
                Some(InlinedPair {
                    host,
                    function: nodes.inlined_node(first.function, key)?,
                    into: nodes.inlined_node(next.function, key).unwrap_or(host),
                })
            });
            Some((host, inlined))
        }
        _ => Some((nodes.node(key.function, key)?, None)),
    }
}

/// Returns the functions that are compared including their inlined code, because not all runs know it: their out-of-line cost
/// exceeds the cost of their own code.
fn plain_hosts(runs: &Runs, profile: usize) -> Map<FunctionKey, Count> {
    let mut excess: Map<FunctionKey, Count> = Map::default();
    let Some(out_of_line) = runs.out_of_line.get(profile) else {
        return excess;
    };
    let functions = runs.profiles[profile].table(RecordType::Fn);
    for (key, cost) in functions.keys().zip(out_of_line) {
        *excess.entry(key.function).or_default() += cost.iter().sum::<Count>();
    }
    let chains = runs.profiles[profile].table(RecordType::Inline);
    for (record, key) in chains.keys().enumerate() {
        let frames = runs.names.stacks.frames_of(key.stack);
        if let (1, Some(frame)) = (frames.len(), frames.first()) {
            let cost: Count = chains.cost(record).iter().sum();
            *excess.entry(frame.function).or_default() -= cost;
        }
    }
    excess.retain(|_, excess| *excess > 0);
    excess
}

/// Adds counts event by event.
#[inline]
pub(super) fn add(sums: &mut [Count], counts: &[Count]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Returns the positions of arcs in the order of callers and callees, in linear time but for the calls of each caller.
fn sorted_arcs(arcs: &[CauseArc], nodes: usize) -> Vec<usize> {
    let mut next = vec![0; nodes + 1];
    for arc in arcs {
        next[arc.caller + 1] += 1;
    }
    for node in 0..nodes {
        next[node + 1] += next[node];
    }
    let mut order = vec![0; arcs.len()];
    for (at, arc) in arcs.iter().enumerate() {
        order[next[arc.caller]] = at;
        next[arc.caller] += 1;
    }
    let callers = order.chunk_by_mut(|a, b| arcs[*a].caller == arcs[*b].caller);
    for calls in callers {
        calls.sort_unstable_by_key(|at| (arcs[*at].callee, *at));
    }
    order
}

/// Returns the positions in the order of their keys.
fn sorted_by<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by_key(|at| (key(*at), *at));
    order
}
