//! The items of both runs after contraction: each part of own cost and each call of a function, with its old and new
//! figures.

use cg_stream::record::Count;

use super::contraction::{Calls, ContractedRun, Part};
use super::graph::add;
use super::groups::Groups;
use super::nodes::Node;

/// A part of a function's cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// The function that has the item.
    pub(super) owner: Node,
    pub(super) kind: ItemKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ItemKind {
    /// Own cost. If the function is not the owner, it was contracted into the owner, or is inlined into it.
    Part {
        function: Node,
        /// The next function of the chain, if the function is inlined.
        inlined_into: Option<Node>,
    },
    /// Calls of a group.
    Calls(CallsItem),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CallsItem {
    pub(super) group: usize,
    /// The old and the new number of calls.
    pub(super) calls: [f64; 2],
    /// The called functions of the group, as positions in [`Items::entries`].
    first_entry: usize,
    end_of_entries: usize,
}

/// The calls of one function of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) callee: Node,
    /// The old and the new number of calls; 0 if the run has none.
    pub(super) calls: [f64; 2],
}

/// The items of all functions, sorted by owner.
pub(super) struct Items {
    pub(super) events: usize,
    pub(super) all: Vec<Item>,
    /// The old and new cost of each item by event.
    costs: [Vec<Count>; 2],
    /// The old and new recorded inclusive cost of parts that were contracted, by event.
    recorded: [Vec<Count>; 2],
    pub(super) entries: Vec<Entry>,
    entry_costs: [Vec<Count>; 2],
    /// The position of each node's first item, and the number of items.
    starts: Vec<usize>,
    /// The items that call each group.
    pub(super) calls_of: Vec<Vec<usize>>,
}

impl Items {
    pub(super) fn join(runs: [&ContractedRun; 2], groups: &Groups, events: usize) -> Items {
        let mut items = Items {
            events,
            all: Vec::new(),
            costs: Default::default(),
            recorded: Default::default(),
            entries: Vec::new(),
            entry_costs: Default::default(),
            starts: vec![0],
            calls_of: vec![Vec::new(); groups.len()],
        };
        let (mut parts, mut calls) = (Vec::new(), Vec::new());
        for node in 0..runs[0].held.len() {
            items.join_parts(runs, node, &mut parts);
            items.join_calls(runs, groups, node, &mut calls);
            items.starts.push(items.all.len());
        }
        items
    }

    fn push(&mut self, owner: Node, kind: ItemKind) {
        self.all.push(Item { owner, kind });
        for columns in [&mut self.costs, &mut self.recorded] {
            for counts in columns {
                counts.extend(std::iter::repeat_n(0, self.events));
            }
        }
    }

    /// Adds the parts of a node. `parts` is reused memory.
    fn join_parts(
        &mut self,
        runs: [&ContractedRun; 2],
        node: Node,
        parts: &mut Vec<(usize, Part)>,
    ) {
        parts.clear();
        for (side, run) in runs.iter().enumerate() {
            for part in &run.held[node].parts {
                parts.push((side, *part));
            }
        }
        parts.sort_by_key(|(_, part)| (part.function, part.inlined_into));
        let mut last = None;
        for (side, part) in parts.iter().copied() {
            if last != Some((part.function, part.inlined_into)) {
                last = Some((part.function, part.inlined_into));
                let kind = ItemKind::Part {
                    function: part.function,
                    inlined_into: part.inlined_into,
                };
                self.push(node, kind);
            }
            let start = self.costs[side].len() - self.events;
            let amounts = &runs[side].amounts;
            add(&mut self.costs[side][start..], amounts.get(part.cost));
            if let Some(recorded) = part.recorded {
                add(&mut self.recorded[side][start..], amounts.get(recorded));
            }
        }
    }

    /// Adds the calls of a node. `calls` is reused memory.
    fn join_calls(
        &mut self,
        runs: [&ContractedRun; 2],
        groups: &Groups,
        node: Node,
        calls: &mut Vec<(usize, Calls)>,
    ) {
        calls.clear();
        for (side, run) in runs.iter().enumerate() {
            for more in &run.held[node].calls {
                calls.push((side, *more));
            }
        }
        calls.sort_by_key(|(_, calls)| (groups.of[calls.callee], calls.callee));
        for (side, calls) in calls.iter().copied() {
            let group = groups.of[calls.callee];
            let last = self.all.last().filter(|item| item.owner == node);
            let is_same =
                |item: &Item| matches!(item.kind, ItemKind::Calls(calls) if calls.group == group);
            if !last.is_some_and(is_same) {
                self.calls_of[group].push(self.all.len());
                let item = CallsItem {
                    group,
                    calls: [0.0; 2],
                    first_entry: self.entries.len(),
                    end_of_entries: self.entries.len(),
                };
                self.push(node, ItemKind::Calls(item));
            }
            let cost = runs[side].amounts.get(calls.cost);
            let start = self.costs[side].len() - self.events;
            add(&mut self.costs[side][start..], cost);
            if let Some(ItemKind::Calls(item)) = self.all.last_mut().map(|item| &mut item.kind) {
                item.calls[side] += calls.calls;
                let is_known = item.end_of_entries > item.first_entry
                    && self.entries[item.end_of_entries - 1].callee == calls.callee;
                if !is_known {
                    item.end_of_entries += 1;
                    self.entries.push(Entry {
                        callee: calls.callee,
                        calls: [0.0; 2],
                    });
                    for costs in &mut self.entry_costs {
                        costs.extend(std::iter::repeat_n(0, self.events));
                    }
                }
            }
            let entry = self.entries.len() - 1;
            self.entries[entry].calls[side] += calls.calls;
            let costs = &mut self.entry_costs[side][entry * self.events..];
            add(costs, cost);
        }
    }

    /// Returns the positions of a node's items.
    pub(super) fn of_node(&self, node: Node) -> std::ops::Range<usize> {
        self.starts[node]..self.starts[node + 1]
    }

    /// Returns the old or the new cost of an item.
    pub(super) fn cost(&self, side: usize, item: usize, event: usize) -> Count {
        self.costs[side][item * self.events + event]
    }

    /// Returns the old and the new cost of an item.
    pub(super) fn both(&self, item: usize, event: usize) -> [Count; 2] {
        [self.cost(0, item, event), self.cost(1, item, event)]
    }

    /// Returns the recorded inclusive costs of a part that was contracted.
    pub(super) fn recorded(&self, item: usize, event: usize) -> [Count; 2] {
        let at = item * self.events + event;
        [self.recorded[0][at], self.recorded[1][at]]
    }

    /// Returns the positions of the called functions.
    pub(super) fn entries_of(&self, calls: &CallsItem) -> std::ops::Range<usize> {
        calls.first_entry..calls.end_of_entries
    }

    /// Returns the old and the new cost of the calls of one function.
    pub(super) fn entry_cost(&self, entry: usize, event: usize) -> [Count; 2] {
        let at = entry * self.events + event;
        [self.entry_costs[0][at], self.entry_costs[1][at]]
    }

    /// Returns the calls of an item, if it is one.
    pub(super) fn calls(&self, item: usize) -> Option<&CallsItem> {
        match &self.all[item].kind {
            ItemKind::Calls(calls) => Some(calls),
            ItemKind::Part { .. } => None,
        }
    }
}
