//! The allowance of each group, and the price of each call, callers first.
//!
//! A group gets as much as its callers' new calls would cost at the old prices. It is expected to spend that as it spent its
//! cost before. The sum of the causes is exact for any prices, so a price is only an estimate of what calls should cost.

use cg_collections::components::components;
use cg_stream::record::Count;

use super::amounts::{between, scaled};
use super::groups::Groups;
use super::items::{CallsItem, Items};

/// Calls count as moved although their numbers differ, if the prices of a call differ by at most this factor.
const SIMILAR_PRICE: f64 = 2.0;

/// The expected cost and the price of each item.
pub(super) struct Allowances {
    /// By item and event: the expected cost.
    pub(super) expected: Vec<Count>,
    /// By item and event: the price of calls, or the new cost of a part.
    pub(super) price: Vec<Count>,
    /// By group and event: the allowance from old calls as a multiple of the old cost.
    pub(super) scale: Vec<f64>,
    /// True for each group whose main callers changed.
    pub(super) has_other_callers: Vec<bool>,
    /// For each group, its calls from outside of the group in both runs.
    pub(super) entries: Vec<[f64; 2]>,
}

/// Computes the allowances of all groups.
pub(super) fn allow(items: &Items, groups: &Groups) -> Allowances {
    let count = items.all.len() * items.events;
    let order = callers_first(items, groups);
    let mut place = vec![0; groups.len()];
    for (position, group) in order.iter().enumerate() {
        place[*group] = position;
    }
    let mut work = Work {
        items,
        groups,
        place,
        is_priced: vec![false; items.all.len()],
        from_old: vec![0; items.all.len()],
        found: Allowances {
            expected: vec![0; count],
            price: vec![0; count],
            scale: vec![1.0; groups.len() * items.events],
            has_other_callers: vec![false; groups.len()],
            entries: vec![[0.0; 2]; groups.len()],
        },
    };
    for group in order {
        work.visit(group);
    }
    work.found
}

/// Returns the groups in the order of the new run, callers before their callees.
fn callers_first(items: &Items, groups: &Groups) -> Vec<usize> {
    let arcs = (0..items.all.len()).filter_map(|item| {
        let calls = items.calls(item)?;
        let caller = groups.of[items.all[item].owner];
        (calls.calls[1] > 0.0).then_some((caller, calls.group))
    });
    let arcs: Vec<(usize, usize)> = arcs.collect();
    let component_of = components(groups.len(), arcs.into_iter());
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_unstable_by_key(|group| (std::cmp::Reverse(component_of[*group]), *group));
    order
}

struct Work<'a> {
    items: &'a Items,
    groups: &'a Groups,
    /// The position of each group in the order of visits.
    place: Vec<usize>,
    /// True for calls whose price was set before their caller was visited.
    is_priced: Vec<bool>,
    /// For each item, the part of the expected cost that comes from old calls, in the current event.
    from_old: Vec<Count>,
    found: Allowances,
}

/// An allowance: the part of old callers, which is spent like the old cost, and the part of new callers, which is spent like
/// the new cost.
#[derive(Clone, Copy, Debug, Default)]
struct Allowance {
    old: Count,
    new: Count,
}

impl Work<'_> {
    fn visit(&mut self, group: usize) {
        let callers = &self.items.calls_of[group];
        let calls = callers.iter().filter_map(|item| self.items.calls(*item));
        let entries = calls.fold([0.0; 2], |sum, item| {
            [sum[0] + item.calls[0], sum[1] + item.calls[1]]
        });
        // Everything outside of the program is entered once.
        self.found.entries[group] = if callers.is_empty() {
            [1.0; 2]
        } else {
            entries
        };
        self.found.has_other_callers[group] = self.have_callers_changed(group);
        for event in 0..self.items.events {
            let allowance = self.receive(group, event);
            let scale = self.expect(group, event, allowance);
            self.price_calls(group, event, scale);
        }
        for node in self.groups.members(group) {
            for item in self.items.of_node(*node) {
                self.is_priced[item] = true;
            }
        }
    }

    /// Returns true if gone calls have at least half of the old cost of a group, and new calls half of its new cost, by the
    /// first event.
    fn have_callers_changed(&self, group: usize) -> bool {
        let (mut all, mut one_sided) = ([0; 2], [0; 2]);
        for item in &self.items.calls_of[group] {
            let costs = self.items.both(*item, 0);
            let side = self.items.calls(*item).and_then(only_side);
            for (run, cost) in costs.into_iter().enumerate() {
                all[run] += cost;
                one_sided[run] += if side == Some(run) { cost } else { 0 };
            }
        }
        (0..2).all(|run| one_sided[run] > 0 && one_sided[run] * 2 >= all[run])
    }

    /// Sets the prices of gone and new calls of a group, and returns its allowance.
    fn receive(&mut self, group: usize, event: usize) -> Allowance {
        let moved_price = self.moved_price(group, event);
        let mut allowance = Allowance::default();
        let items = self.items;
        for item in &items.calls_of[group] {
            let Some(calls) = items.calls(*item) else {
                continue;
            };
            let [old, new] = items.both(*item, event);
            let at = *item * items.events + event;
            let caller = self.groups.of[items.all[*item].owner];
            match (only_side(calls), moved_price) {
                (Some(0), _) => self.found.price[at] = 0,
                (Some(_), None) => {
                    self.found.price[at] = new;
                    allowance.new += new;
                    continue;
                }
                (Some(_), Some(price)) => {
                    self.found.price[at] = (calls.calls[1] * price).round() as Count;
                }
                // Merged components can make a loop, so a caller can be later.
                (None, _) if self.place[caller] > self.place[group] => {
                    let price = scaled(old, calls.calls[1] / calls.calls[0]);
                    self.found.price[at] = between(price, old, new);
                    self.is_priced[*item] = true;
                }
                (None, _) => {}
            }
            allowance.old += self.found.price[at];
        }
        if items.calls_of[group].is_empty() {
            allowance.old = self.total(group, 0, event);
        }
        allowance
    }

    /// Returns the old price of a call if the calls of a group moved from its old callers to new ones.
    fn moved_price(&self, group: usize, event: usize) -> Option<f64> {
        if !self.found.has_other_callers[group] {
            return None;
        }
        let (mut calls, mut costs) = ([0.0; 2], [0.0; 2]);
        for item in &self.items.calls_of[group] {
            let of_item = self.items.calls(*item)?;
            if let Some(run) = only_side(of_item) {
                calls[run] += of_item.calls[run];
                costs[run] += self.items.cost(run, *item, event) as f64;
            }
        }
        let [old, new] = [costs[0] / calls[0], costs[1] / calls[1]];
        let is_same_number = (calls[0] - calls[1]).abs() <= calls[0] * 1e-9;
        let is_similar = old * SIMILAR_PRICE >= new && new * SIMILAR_PRICE >= old;
        (old.is_finite() && (is_same_number || is_similar)).then_some(old)
    }

    /// Returns the old or the new cost of all items of a group.
    fn total(&self, group: usize, side: usize, event: usize) -> Count {
        let members = self.groups.members(group).iter();
        let items = members.flat_map(|node| self.items.of_node(*node));
        items.map(|item| self.items.cost(side, item, event)).sum()
    }

    /// Divides an allowance among the items of a group. Returns the part from old calls as a multiple of the old cost.
    fn expect(&mut self, group: usize, event: usize, mut allowance: Allowance) -> f64 {
        let total = [self.total(group, 0, event), self.total(group, 1, event)];
        if total[0] == 0 {
            allowance.new += std::mem::take(&mut allowance.old);
        }
        if total[1] == 0 && total[0] != 0 {
            allowance.old += std::mem::take(&mut allowance.new);
        }
        let items = self.items;
        for node in self.groups.members(group) {
            for item in items.of_node(*node) {
                self.from_old[item] = 0;
                self.found.expected[item * items.events + event] = 0;
            }
        }
        let mut scale = 0.0;
        if total[0] != 0 {
            scale = allowance.old as f64 / total[0] as f64;
            self.found.scale[group * items.events + event] = scale;
            self.divide(group, event, 0, (allowance.old, total[0]));
        }
        for node in self.groups.members(group) {
            for item in items.of_node(*node) {
                self.from_old[item] = self.found.expected[item * items.events + event];
            }
        }
        // Without any cost, the code of the group itself takes it all.
        self.divide(group, event, 1, (allowance.new, total[1]));
        scale
    }

    /// Adds the expected costs from an allowance, in proportion to the old or new cost of the items. The greatest item takes
    /// what rounding leaves.
    fn divide(&mut self, group: usize, event: usize, side: usize, (amount, total): (Count, Count)) {
        if amount == 0 {
            return;
        }
        let items = self.items;
        let factor = match amount == total {
            true => 1.0,
            false => amount as f64 / total as f64,
        };
        let (mut left, mut greatest) = (amount, None);
        for node in self.groups.members(group) {
            for item in items.of_node(*node) {
                let cost = items.cost(side, item, event);
                let is_greater = greatest.is_none_or(|(most, _)| cost > most);
                if is_greater {
                    greatest = Some((cost, item));
                }
                if cost != 0 {
                    let share = scaled(cost, factor);
                    self.found.expected[item * items.events + event] += share;
                    left -= share;
                }
            }
        }
        if let Some((_, item)) = greatest {
            self.found.expected[item * items.events + event] += left;
        }
    }

    /// Sets the prices of calls that both runs have, and of parts.
    fn price_calls(&mut self, group: usize, event: usize, scale: f64) {
        let items = self.items;
        for node in self.groups.members(group) {
            for item in items.of_node(*node) {
                let at = item * items.events + event;
                let [_, new] = items.both(item, event);
                let Some(calls) = items.calls(item) else {
                    self.found.price[at] = new;
                    continue;
                };
                if only_side(calls).is_some() || self.is_priced[item] {
                    continue;
                }
                let expected = self.found.expected[at];
                let ratio = self.ratio(item, calls, event, (group, scale));
                let more = (self.from_old[item] as f64 * (ratio - 1.0)).round() as Count;
                self.found.price[at] = between(expected + more, expected, new);
            }
        }
    }

    /// Returns the expected cost of calls as a multiple of their share in the old allowance: how much more often the group
    /// makes these calls than before.
    fn ratio(
        &self,
        item: usize,
        calls: &CallsItem,
        event: usize,
        (group, scale): (usize, f64),
    ) -> f64 {
        let [old_entries, new_entries] = self.found.entries[group];
        let by_number = new_entries / old_entries;
        let entries = self.items.entries_of(calls);
        let is_single = entries.len() == 1;
        if is_single {
            let ratio = calls.calls[1] / calls.calls[0];
            return nearer_to_one(ratio / by_number, ratio / scale);
        }
        // The group may be entered by other functions than before.
        let whole = self.items.cost(0, item, event) as f64;
        let (mut known, mut gone, mut new) = ([0.0; 2], 0.0, 0.0);
        for entry in entries {
            let [old_cost, new_cost] = self.items.entry_cost(entry, event);
            let [old_calls, new_calls] = self.items.entries[entry].calls;
            if old_calls > 0.0 && new_calls > 0.0 {
                let ratio = new_calls / old_calls;
                known[0] += old_cost as f64 / whole * ratio / by_number;
                known[1] += old_cost as f64 / whole * ratio / scale;
            } else {
                gone += old_cost as f64 / whole;
                new += new_cost as f64 / whole;
            }
        }
        let others = match gone > 0.0 {
            // Functions of the group took over.
            true if new > 0.0 => gone,
            true => 0.0,
            false => new,
        };
        nearer_to_one(known[0] + others, known[1] + others)
    }
}

/// Returns 1 if one ratio is above 1 and the other below, or else the nearer one.
fn nearer_to_one(a: f64, b: f64) -> f64 {
    match (a.is_finite(), b.is_finite()) {
        (true, true) if (a > 1.0) != (b > 1.0) => 1.0,
        (true, true) if a > 1.0 => a.min(b),
        (true, true) => a.max(b),
        (true, false) => a,
        (false, true) => b,
        (false, false) => 1.0,
    }
}

/// Returns the only run that has these calls; `None` if both have them.
pub(super) fn only_side(calls: &CallsItem) -> Option<usize> {
    match calls.calls {
        [old, new] if old > 0.0 && new > 0.0 => None,
        [old, _] if old > 0.0 => Some(0),
        _ => Some(1),
    }
}
