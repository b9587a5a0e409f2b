//! The rows of causes. The cause of a function is the cost of its items minus their expected cost.

use std::cmp::Reverse;

use cg_collections::sorting::Order as _;
use cg_stream::record::{CauseKind, Count, InlinedIn};

use super::allowances::{Allowances, only_side};
use super::amounts::{CostShares, between};
use super::graph::{CallGraph, add};
use super::groups::Groups;
use super::items::{CallsItem, ItemKind, Items};
use super::lines::CauseLine;
use super::nodes::Node;

/// The cause of a function: the sum of its details.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) node: Node,
    /// The number of the function's group, from 1, if functions of the group call each other or themselves.
    pub(crate) cycle: Option<u64>,
    /// By event.
    pub(crate) delta: Vec<Count>,
    /// The details, the greatest first.
    pub(crate) details: Vec<Detail>,
}

/// A part of a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detail {
    pub(crate) kind: CauseKind,
    /// The function that the detail names.
    pub(crate) function: Option<Node>,
    /// The old and the new number of calls.
    pub(crate) calls: Option<[Count; 2]>,
    /// True if the numbers of calls are rounded, because calls of contracted functions are fractions.
    pub(crate) is_about: bool,
    /// The old and the new number of entries into the cycle, for [`CauseKind::Runs`].
    pub(crate) entries: Option<[Count; 2]>,
    /// The old and the new inclusive cost as recorded, by event; empty if there is none.
    pub(crate) recorded: Vec<[Count; 2]>,
    /// The amount that netted out, by event; empty unless calls moved.
    pub(crate) moved: Vec<Count>,
    /// The function that calls instead, or called before, if calls moved.
    pub(crate) other: Option<Node>,
    /// The runs in which the function is inlined.
    pub(crate) inlined: Option<InlinedIn>,
    /// The line with most of the change, if there is one.
    pub(crate) line: Option<CauseLine>,
    /// By event.
    pub(crate) delta: Vec<Count>,
}

/// A group of several functions that call each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub(crate) number: u64,
    /// The function for which callers outside of the group paid most.
    pub(crate) node: Node,
    pub(crate) members: usize,
    /// The sum of its members' causes, by event.
    pub(crate) delta: Vec<Count>,
}

/// The input of [`find_rows`].
pub(super) struct Attribution<'a> {
    pub(super) items: &'a Items,
    pub(super) groups: &'a Groups,
    pub(super) allowances: &'a Allowances,
    /// The number of calls of each node in both runs.
    pub(super) ran: [Vec<Count>; 2],
    /// For each function, a number that is equal for the same code; empty if no chains of inlined functions are known.
    pub(super) code: &'a [usize],
}

/// Returns the number of calls of each node, all arcs counted.
pub(super) fn count_runs(graph: &CallGraph) -> Vec<Count> {
    let mut ran = vec![0; graph.is_present.len()];
    for arc in &graph.arcs {
        ran[arc.callee] += arc.calls;
    }
    ran
}

impl Attribution<'_> {
    /// Returns the rows, the greatest first, and the groups of several functions.
    pub(super) fn find_rows(&self) -> (Vec<Cause>, Vec<Cycle>) {
        let moved = self.moved_amounts();
        let nodes = self.groups.of.len();
        let mut rows: Vec<Cause> = (0..nodes)
            .map(|node| self.row(node, &moved))
            .filter(|row| {
                let is_moved = |detail: &Detail| !detail.moved.is_empty();
                row.delta.iter().any(|delta| *delta != 0) || row.details.iter().any(is_moved)
            })
            .collect();
        // Equal causes keep the order of their names.
        rows.order_by_cached_key(|row| Reverse(row.delta[0].unsigned_abs()));
        let cycles = self.number_cycles(&mut rows);
        (rows, cycles)
    }

    /// Numbers the cycles in the order of the rows.
    fn number_cycles(&self, rows: &mut [Cause]) -> Vec<Cycle> {
        let mut numbers = vec![None; self.groups.len()];
        // The position of each group in `cycles`.
        let mut places = vec![None; self.groups.len()];
        let mut next = 0;
        let mut cycles: Vec<Cycle> = Vec::new();
        for row in rows {
            let group = self.groups.of[row.node];
            if !self.groups.is_recursive[group] {
                continue;
            }
            let number = *numbers[group].get_or_insert_with(|| {
                next += 1;
                next
            });
            row.cycle = Some(number);
            let members = self.groups.members(group).len();
            if members < 2 {
                continue;
            }
            if let Some(place) = places[group] {
                let cycle: &mut Cycle = &mut cycles[place];
                add(&mut cycle.delta, &row.delta);
                continue;
            }
            places[group] = Some(cycles.len());
            cycles.push(Cycle {
                number,
                node: self.main_entry(group),
                members,
                delta: row.delta.clone(),
            });
        }
        cycles
    }

    /// Returns the function of a group for which callers paid most.
    fn main_entry(&self, group: usize) -> Node {
        let calls = self.items.calls_of[group].iter();
        let calls = calls.filter_map(|item| self.items.calls(*item));
        let mut paid: std::collections::BTreeMap<Node, Count> = std::collections::BTreeMap::new();
        for entry in calls.flat_map(|calls| self.items.entries_of(calls)) {
            let callee = self.items.entries[entry].callee;
            *paid.entry(callee).or_default() +=
                self.items.entry_cost(entry, 0).iter().sum::<Count>();
        }
        let most = paid
            .into_iter()
            .max_by_key(|(node, cost)| (*cost, Reverse(*node)));
        most.map_or(self.groups.members(group)[0], |(node, _)| node)
    }

    /// Returns price minus expected cost.
    fn raw_cause(&self, item: usize, event: usize) -> Count {
        let at = item * self.items.events + event;
        self.allowances.price[at] - self.allowances.expected[at]
    }

    /// Returns, by item and event, the amount that nets out because other functions make the calls: below 0 for new calls.
    fn moved_amounts(&self) -> Vec<Count> {
        let events = self.items.events;
        let mut moved = vec![0; self.items.all.len() * events];
        for group in 0..self.groups.len() {
            if !self.allowances.has_other_callers[group] {
                continue;
            }
            let one_sided = |side: usize| -> Vec<usize> {
                let calls = self.items.calls_of[group].iter().copied();
                calls
                    .filter(|item| self.items.calls(*item).and_then(only_side) == Some(side))
                    .collect()
            };
            let (gone, new) = (one_sided(0), one_sided(1));
            for event in 0..events {
                let less = |item: usize| (-self.raw_cause(item, event)).max(0);
                let more = |item: usize| self.raw_cause(item, event).max(0);
                let gone_sum: Count = gone.iter().map(|item| less(*item)).sum();
                let new_sum: Count = new.iter().map(|item| more(*item)).sum();
                let netted = gone_sum.min(new_sum);
                if netted == 0 {
                    continue;
                }
                let shares = CostShares::by_weights(gone.iter().map(|item| less(*item) as f64));
                for (position, item) in gone.iter().enumerate() {
                    moved[item * events + event] = shares.share(netted, position);
                }
                let shares = CostShares::by_weights(new.iter().map(|item| more(*item) as f64));
                for (position, item) in new.iter().enumerate() {
                    moved[item * events + event] = -shares.share(netted, position);
                }
            }
        }
        moved
    }

    fn row(&self, node: Node, moved: &[Count]) -> Cause {
        let events = self.items.events;
        let group = self.groups.of[node];
        let mut row = Cause {
            node,
            delta: vec![0; events],
            ..Cause::default()
        };
        let mut runs = vec![0; events];
        let mut delta = vec![0; events];
        let mut items: Vec<(usize, Detail)> = Vec::new();
        for item in self.items.of_node(node) {
            let moved = &moved[item * events..][..events];
            for (event, delta) in delta.iter_mut().enumerate() {
                *delta = self.raw_cause(item, event) + moved[event];
            }
            add(&mut row.delta, &delta);
            if self.groups.is_recursive[group] {
                for (event, delta) in delta.iter_mut().enumerate() {
                    let more = self.more_runs(item, event, *delta);
                    runs[event] += more;
                    *delta -= more;
                }
            }
            let is_zero = delta.iter().chain(moved).all(|amount| *amount == 0);
            if !is_zero {
                items.push((item, self.detail(item, moved, delta.clone())));
            }
        }
        row.details = self.with_inlining(node, items);
        if runs.iter().any(|amount| *amount != 0) {
            let entries = self.allowances.entries[group];
            row.details.push(Detail {
                kind: CauseKind::Runs,
                calls: Some([self.ran[0][node], self.ran[1][node]]),
                entries: Some(entries.map(|calls| calls.round() as Count)),
                delta: runs,
                ..Detail::default()
            });
        }
        if row.details.len() > 1 {
            row.details
                .order_by_key(|detail| Reverse(detail.delta[0].unsigned_abs()));
        }
        row
    }

    /// Returns the part of an item's change that comes from more runs for each entry of the function's cycle.
    fn more_runs(&self, item: usize, event: usize, delta: Count) -> Count {
        let node = self.items.all[item].owner;
        let is_in_both = match &self.items.all[item].kind {
            ItemKind::Part {
                function,
                inlined_into,
            } => *function == node && inlined_into.is_none(),
            ItemKind::Calls(calls) => only_side(calls).is_none(),
        };
        let [old_runs, new_runs] = [self.ran[0][node] as f64, self.ran[1][node] as f64];
        let group = self.groups.of[node];
        let scale = self.allowances.scale[group * self.items.events + event];
        let factor = new_runs / old_runs / scale;
        if !is_in_both || !factor.is_finite() || factor == 0.0 {
            return 0;
        }
        let expected = self.allowances.expected[item * self.items.events + event];
        let base = (expected as f64 * factor).round() as Count;
        between(base, expected, expected + delta) - expected
    }

    fn detail(&self, item: usize, moved: &[Count], delta: Vec<Count>) -> Detail {
        let node = self.items.all[item].owner;
        let events = 0..self.items.events;
        match &self.items.all[item].kind {
            ItemKind::Part {
                function,
                inlined_into: None,
            } if *function == node => Detail {
                kind: CauseKind::Own,
                delta,
                ..Detail::default()
            },
            ItemKind::Part {
                function,
                inlined_into: None,
            } => {
                let is_old = events.clone().any(|event| {
                    self.items.cost(0, item, event) != 0 || self.items.recorded(item, event)[0] != 0
                });
                Detail {
                    kind: match is_old {
                        true => CauseKind::Gone,
                        false => CauseKind::New,
                    },
                    function: Some(*function),
                    recorded: events
                        .map(|event| self.items.recorded(item, event))
                        .collect(),
                    delta,
                    ..Detail::default()
                }
            }
            ItemKind::Part { function, .. } => {
                let has = |side: usize| {
                    events
                        .clone()
                        .any(|event| self.items.cost(side, item, event) != 0)
                };
                Detail {
                    kind: CauseKind::Inlined,
                    function: Some(*function),
                    inlined: Some(match (has(0), has(1)) {
                        (true, false) => InlinedIn::Old,
                        (false, true) => InlinedIn::New,
                        _ => InlinedIn::Both,
                    }),
                    delta,
                    ..Detail::default()
                }
            }
            ItemKind::Calls(calls) => {
                let is_moved = moved.iter().any(|amount| *amount != 0);
                let is_outside = node + 1 == self.groups.of.len();
                let is_fraction = |calls: &f64| (calls - calls.round()).abs() > 1e-6;
                Detail {
                    kind: match (is_moved, is_outside) {
                        (true, _) => CauseKind::Moved,
                        (false, true) => CauseKind::Entered,
                        (false, false) => CauseKind::Calls,
                    },
                    function: Some(self.called(calls)),
                    calls: Some(calls.calls.map(whole_calls)),
                    is_about: calls.calls.iter().any(is_fraction),
                    recorded: events.map(|event| self.items.both(item, event)).collect(),
                    moved: match is_moved {
                        true => moved.iter().map(|amount| amount.abs()).collect(),
                        false => Vec::new(),
                    },
                    other: is_moved.then(|| self.other_caller(calls)).flatten(),
                    delta,
                    ..Detail::default()
                }
            }
        }
    }

    /// Returns the function that most of these calls call.
    fn called(&self, calls: &CallsItem) -> Node {
        let entries = self.items.entries_of(calls);
        let most = entries.max_by_key(|entry| {
            let cost = self.items.entry_cost(*entry, 0);
            (cost[0].max(cost[1]), Reverse(*entry))
        });
        most.map_or(0, |entry| self.items.entries[entry].callee)
    }

    /// Returns the greatest caller of a group in the other run, for calls that only one run has.
    fn other_caller(&self, calls: &CallsItem) -> Option<Node> {
        let other = 1 - only_side(calls)?;
        let callers = self.items.calls_of[calls.group].iter();
        let others =
            callers.filter(|item| self.items.calls(**item).and_then(only_side) == Some(other));
        let most = others.max_by_key(|item| (self.items.cost(other, **item, 0), Reverse(**item)));
        most.map(|item| self.items.all[*item].owner)
    }
}

/// Rounds a number of calls. A fraction of a call is a call.
fn whole_calls(calls: f64) -> Count {
    match calls > 0.0 {
        true => (calls.round() as Count).max(1),
        false => 0,
    }
}
