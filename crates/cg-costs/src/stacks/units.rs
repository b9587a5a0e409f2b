//! The units among which cost is distributed: single functions, and cycles of functions as one unit each. So the graph of
//! units has no cycles.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;

use super::apportion::{WHOLE, part, part_of_share};
use crate::circles;

/// A call graph between contexts, which are numbered from 0.
pub(super) struct ContextGraph<'g> {
    /// The event that decides which paths get a separate stack.
    pub(super) ranking: usize,
    /// The self cost of each context, with one entry per event.
    pub(super) own: Vec<&'g [u64]>,
    pub(super) arcs: Vec<ContextArc<'g>>,
    /// The size of each context's frame, in bytes.
    pub(super) bytes: Vec<usize>,
    /// The maximum size of all stacks, in bytes. Each function with cost gets a stack even if they are larger.
    pub(super) most_bytes: usize,
}

/// Calls between two contexts.
pub(super) struct ContextArc<'g> {
    pub(super) caller: usize,
    pub(super) callee: usize,
    pub(super) calls: u64,
    pub(super) cost: &'g [u64],
}

impl ContextArc<'_> {
    /// Returns the cost of the calls; 0 for a number just below 2^64. Callgrind writes negative costs as such numbers if its
    /// counters were reset during a call.
    pub(super) fn cost(&self, event: usize) -> u64 {
        match self.cost.get(event) {
            Some(cost) if cost.cast_signed() >= 0 => *cost,
            _ => 0,
        }
    }
}

impl ContextGraph<'_> {
    pub(super) fn event_count(&self) -> usize {
        self.own.first().map_or(0, |own| own.len())
    }
}

/// A context, or a cycle of contexts as one unit.
#[derive(Default)]
pub(super) struct ContextUnit {
    /// The contexts in the unit, largest self cost first.
    pub(super) members: Vec<usize>,
    /// The arcs from other units.
    pub(super) entering: Vec<usize>,
    /// The arcs to other units, largest flow first.
    pub(super) leaving: Vec<usize>,
    /// The arcs between members.
    pub(super) inside: Vec<usize>,
    /// True if a member calls itself.
    pub(super) recurses: bool,
    /// The cost of the entering arcs, by event.
    entered: Vec<u128>,
    /// The self cost plus the cost of the leaving arcs, by event.
    spent: Vec<u128>,
    entering_calls: u128,
    /// The self cost of the unit plus its part of its callees' flow, by event.
    pub(super) flow: Vec<u128>,
}

/// The units of a graph.
pub(super) struct ContextUnits {
    /// The unit of each context.
    pub(super) unit_of: Vec<usize>,
    /// The position of each context among the members of its unit.
    pub(super) position: Vec<usize>,
    pub(super) all: Vec<ContextUnit>,
}

impl ContextUnits {
    pub(super) fn new(graph: &ContextGraph) -> ContextUnits {
        let pairs = graph.arcs.iter().map(|arc| (arc.caller, arc.callee));
        let pairs = pairs.filter(|(caller, callee)| caller != callee);
        let circle_of = circles::find(graph.own.len(), pairs);
        let mut units = ContextUnits {
            unit_of: Vec::with_capacity(graph.own.len()),
            position: vec![0; graph.own.len()],
            all: Vec::new(),
        };
        let mut circle_units = Vec::new();
        for (context, circle) in circle_of.into_iter().enumerate() {
            let unit = match circle {
                Some(circle) => {
                    if circle_units.len() <= circle {
                        circle_units.resize(circle + 1, None);
                    }
                    *circle_units[circle].get_or_insert_with(|| units.add(graph))
                }
                None => units.add(graph),
            };
            units.unit_of.push(unit);
            units.all[unit].members.push(context);
        }
        units.reserve_arcs(graph);
        for (position, arc) in graph.arcs.iter().enumerate() {
            let (caller, callee) = (units.unit_of[arc.caller], units.unit_of[arc.callee]);
            if arc.caller == arc.callee {
                units.all[caller].recurses = true;
            } else if caller == callee {
                units.all[caller].inside.push(position);
            } else {
                units.all[caller].leaving.push(position);
                units.all[callee].entering.push(position);
            }
        }
        for unit in &mut units.all {
            unit.sum_up(graph);
        }
        units.compute_flow(graph);
        let flows: Vec<u128> = (0..graph.arcs.len())
            .map(|arc| units.flow(graph, arc, graph.ranking))
            .collect();
        for unit in &mut units.all {
            let own = |context: &usize| graph.own[*context].get(graph.ranking).copied();
            unit.members
                .order_by_key(|context| (Reverse(own(context)), *context));
            for (position, context) in unit.members.iter().enumerate() {
                units.position[*context] = position;
            }
            unit.leaving
                .order_by_key(|arc| (Reverse(flows[*arc]), *arc));
        }
        units
    }

    fn add(&mut self, graph: &ContextGraph) -> usize {
        let zeros = || vec![0; graph.event_count()];
        self.all.push(ContextUnit {
            entered: zeros(),
            spent: zeros(),
            flow: zeros(),
            ..ContextUnit::default()
        });
        self.all.len() - 1
    }

    /// Reserves the space for the arcs between units.
    fn reserve_arcs(&mut self, graph: &ContextGraph) {
        let mut counts = vec![(0, 0); self.all.len()];
        for arc in &graph.arcs {
            let (caller, callee) = (self.unit_of[arc.caller], self.unit_of[arc.callee]);
            if caller != callee {
                counts[caller].0 += 1;
                counts[callee].1 += 1;
            }
        }
        for (unit, (leaving, entering)) in self.all.iter_mut().zip(counts) {
            unit.leaving.reserve_exact(leaving);
            unit.entering.reserve_exact(entering);
        }
    }

    /// Returns the share of the callee's unit that enters by an arc, given the share of the caller's unit.
    pub(super) fn share(&self, graph: &ContextGraph, arc: usize, event: usize, caller: u64) -> u64 {
        let arc = &graph.arcs[arc];
        let unit = &self.all[self.unit_of[arc.callee]];
        if unit.entered[event] > 0 {
            return part_of_share(caller, arc.cost(event), unit.whole(event));
        }
        // If no arc has any cost, the numbers of calls decide.
        match unit.entering_calls {
            0 => part_of_share(caller, 1, unit.entering.len() as u128),
            calls => part_of_share(caller, arc.calls, calls),
        }
    }

    /// Returns these shares of the callee's unit for all events.
    pub(super) fn shares(
        &self,
        graph: &ContextGraph,
        arc: usize,
        caller: &[u64],
    ) -> impl Iterator<Item = u64> {
        let shares = caller.iter().enumerate();
        shares.map(move |(event, share)| self.share(graph, arc, event, *share))
    }

    /// Returns the units in an order in which callers precede their callees.
    pub(super) fn callers_first(&self, graph: &ContextGraph) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.all.iter().map(|unit| unit.entering.len()).collect();
        let mut order: Vec<usize> = (0..self.all.len())
            .filter(|unit| waiting[*unit] == 0)
            .collect();
        let mut next = 0;
        while let Some(unit) = order.get(next) {
            for arc in &self.all[*unit].leaving {
                let callee = self.unit_of[graph.arcs[*arc].callee];
                waiting[callee] -= 1;
                if waiting[callee] == 0 {
                    order.push(callee);
                }
            }
            next += 1;
        }
        order
    }

    /// Returns the self cost that flows through an arc.
    pub(super) fn flow(&self, graph: &ContextGraph, arc: usize, event: usize) -> u128 {
        let share = self.share(graph, arc, event, WHOLE);
        part(
            share,
            self.all[self.unit_of[graph.arcs[arc].callee]].flow[event],
        )
    }

    /// Computes the flow of all units, callees first.
    fn compute_flow(&mut self, graph: &ContextGraph) {
        let mut waiting: Vec<usize> = self.all.iter().map(|unit| unit.leaving.len()).collect();
        let is_last = |unit: &usize| waiting[*unit] == 0;
        let mut ready: Vec<usize> = (0..self.all.len()).filter(is_last).collect();
        while let Some(unit) = ready.pop() {
            let mut flow = vec![0; graph.event_count()];
            for (event, flow) in flow.iter_mut().enumerate() {
                let own = |context: &usize| u128::from(graph.own[*context][event]);
                let below = |arc: &usize| self.flow(graph, *arc, event);
                let unit = &self.all[unit];
                *flow = unit.members.iter().map(own).sum::<u128>()
                    + unit.leaving.iter().map(below).sum::<u128>();
            }
            self.all[unit].flow = flow;
            for arc in &self.all[unit].entering {
                let caller = self.unit_of[graph.arcs[*arc].caller];
                waiting[caller] -= 1;
                if waiting[caller] == 0 {
                    ready.push(caller);
                }
            }
        }
    }
}

impl ContextUnit {
    fn sum_up(&mut self, graph: &ContextGraph) {
        let arc = |position: &usize| &graph.arcs[*position];
        for event in 0..graph.event_count() {
            let cost = |position: &usize| u128::from(arc(position).cost(event));
            let own = |context: &usize| u128::from(graph.own[*context][event]);
            self.entered[event] = self.entering.iter().map(cost).sum();
            self.spent[event] = self.members.iter().map(own).sum::<u128>()
                + self.leaving.iter().map(cost).sum::<u128>();
        }
        let calls = |position: &usize| u128::from(arc(position).calls);
        self.entering_calls = self.entering.iter().map(calls).sum();
    }

    /// Returns the denominator of the unit's shares. Incoming cost can exceed the spent cost if counters were reset.
    fn whole(&self, event: usize) -> u128 {
        self.entered[event].max(self.spent[event])
    }

    /// Returns the share of the unit without a caller: the spent cost beyond its incoming cost.
    pub(super) fn root_share(&self, event: usize) -> u64 {
        if self.entering.is_empty() {
            return WHOLE;
        }
        match self.entered[event] {
            0 => 0,
            entered => {
                let whole = self.whole(event);
                let missing = u64::try_from(whole - entered).unwrap_or(u64::MAX);
                part_of_share(WHOLE, missing, whole)
            }
        }
    }

    /// Returns the member in which the share without a caller begins. It has the largest spent cost beyond its incoming
    /// cost.
    pub(super) fn root(&self, graph: &ContextGraph) -> usize {
        if let [only] = self.members[..] {
            return only;
        }
        let event = graph.ranking;
        let own = |context: &usize| graph.own[*context].get(event).copied().unwrap_or(0);
        let mut net: BTreeMap<usize, i128> = (self.members.iter())
            .map(|context| (*context, i128::from(own(context))))
            .collect();
        let arcs = || {
            self.inside
                .iter()
                .chain(&self.leaving)
                .chain(&self.entering)
        };
        for arc in arcs().map(|arc| &graph.arcs[*arc]) {
            let cost = i128::from(arc.cost(event));
            for (context, cost) in [(arc.caller, cost), (arc.callee, -cost)] {
                if let Some(net) = net.get_mut(&context) {
                    *net += cost;
                }
            }
        }
        let greatest = net
            .into_iter()
            .max_by_key(|(context, net)| (*net, Reverse(*context)));
        greatest.map_or(0, |(context, _)| context)
    }
}
