//! The inclusive cost of functions as if nothing were inlined.
//!
//! A function that is inlined in one place and called in another can be entered while it is active. The sum over its places
//! then counts a part of its cost twice. This happens only in cycles of the graph whose arcs are calls and inlined code. In
//! a cycle the sum is exact if all places of the function are entered from outside; otherwise it is an upper bound, and
//! other bounds follow from the function's callees, its callers, and the total.

use std::collections::{BTreeSet, HashMap};

use cg_collections::components::components;
use cg_stream::record::{Count, RecordType, add_counts_growing};

use super::{FrameKey, FunctionKey, Key, Profile, Rows};

/// The maximum number of rounds in which bounds follow from other bounds.
const ROUNDS: usize = 16;

/// The inclusive cost of a function, by event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InclusiveCost {
    pub(super) counts: Vec<Count>,
    /// True if the counts are upper bounds.
    pub(super) is_bound: bool,
}

/// A function in the graph, with the places at which it is entered.
#[derive(Default)]
struct Entered {
    own: Vec<Count>,
    /// The inclusive cost of its out-of-line code; `None` if there is none.
    out_of_line: Option<Vec<Count>>,
    /// The inclusive cost of its inlined code, except code inside another copy of itself.
    inlined: Vec<Count>,
    /// The number of places of its inlined code.
    places: usize,
    has_incl: bool,
    /// True if a call may leave from one of the places.
    has_calls: bool,
    /// The functions around its inlined code.
    inliners: BTreeSet<usize>,
    /// The cost of the calls from each caller.
    calls: HashMap<usize, Vec<Count>>,
    callers: BTreeSet<usize>,
    callees: BTreeSet<usize>,
}

/// The graph of calls and inlined code.
pub(super) struct InclusiveCosts<'p> {
    profile: &'p Profile,
    numbers: HashMap<Key, usize>,
    functions: Vec<Entered>,
    /// The self cost of each chain and of all chains inside it.
    subtrees: HashMap<Chain, Vec<Count>>,
    /// The function and the inclusive cost of each chain.
    chains: Vec<(usize, Chain, Vec<Count>)>,
    arcs: Vec<(usize, usize)>,
    records_calls: bool,
}

/// The function of some code, with part and thread, and the frames around the code.
type Chain = (Key, Vec<FrameKey>);

impl<'p> InclusiveCosts<'p> {
    pub(super) fn new(profile: &'p Profile) -> InclusiveCosts<'p> {
        InclusiveCosts {
            profile,
            numbers: HashMap::new(),
            functions: Vec::new(),
            subtrees: HashMap::new(),
            chains: Vec::new(),
            arcs: Vec::new(),
            records_calls: !profile.table(RecordType::Call).is_empty(),
        }
    }

    /// Adds a row of `inline` records as code of the row's innermost function.
    pub(super) fn add_chain(&mut self, rows: &Rows, row: usize) {
        let key = rows.key(row);
        let frames = self.profile.stacks().frames_of(key.stack);
        let Some(innermost) = frames.first() else {
            self.add_own(key.for_function(key.function), rows.cost(row));
            self.add_out_of_line(key.for_function(key.function), rows.incl(row));
            return;
        };
        // Only the last frame has an object.
        let object = key.function.obj;
        let in_object = |function| {
            key.for_function(FunctionKey {
                obj: object,
                ..function
            })
        };
        let number = self.number(in_object(innermost.function));
        add_counts_growing(&mut self.functions[number].own, rows.cost(row));
        let chains: Vec<Chain> = (frames.iter().enumerate())
            .map(|(position, frame)| {
                let around = frames.iter().skip(position + 1).copied().collect();
                (in_object(frame.function), around)
            })
            .collect();
        let mut inner = number;
        let mut outer = BTreeSet::new();
        for frame in frames.iter().skip(1) {
            let number = self.number(in_object(frame.function));
            self.add_arc(number, inner);
            outer.insert(number);
            inner = number;
        }
        if let Some(incl) = rows.incl(row) {
            if frames.len() == 1 {
                self.add_out_of_line(in_object(innermost.function), Some(incl));
            } else if !outer.contains(&number) {
                let entered = &mut self.functions[number];
                add_counts_growing(&mut entered.inlined, incl);
                entered.places += 1;
                entered.has_incl = true;
                entered.inliners.extend(outer);
            }
            self.chains.extend(
                chains
                    .first()
                    .map(|chain| (number, chain.clone(), incl.to_vec())),
            );
        }
        for chain in chains {
            let subtree = self.subtrees.entry(chain).or_default();
            add_counts_growing(subtree, rows.cost(row));
        }
    }

    /// Adds a row of `inline` records whose code counts as code of its host.
    pub(super) fn add_plain(&mut self, rows: &Rows, row: usize, host: FunctionKey) {
        let key = rows.key(row);
        self.add_own(key.for_function(host), rows.cost(row));
        if self.profile.stacks().frames_of(key.stack).len() <= 1 {
            self.add_out_of_line(key.for_function(host), rows.incl(row));
        }
    }

    /// Adds all calls. `is_plain` is true for functions that keep the code inlined into them.
    pub(super) fn add_calls(&mut self, is_plain: impl Fn(FunctionKey) -> bool) {
        let calls = self.profile.table(RecordType::Call);
        for row in 0..calls.len() {
            let key = calls.key(row);
            let inlined = self.profile.stacks().frames_of(key.inlined).first();
            let inlined = inlined.filter(|_| !is_plain(key.function));
            let caller = inlined.map_or(key.function, |frame| frame.function);
            let caller = FunctionKey {
                obj: key.function.obj,
                ..caller
            };
            let ends = [caller, key.callee.unwrap_or_default()];
            let [caller, callee] = ends.map(|end| self.number(key.for_function(end)));
            self.add_arc(caller, callee);
            let cost = self.functions[callee].calls.entry(caller).or_default();
            add_counts_growing(cost, calls.incl(row).unwrap_or_default());
        }
    }

    fn add_own(&mut self, key: Key, cost: &[Count]) {
        let number = self.number(key);
        add_counts_growing(&mut self.functions[number].own, cost);
    }

    fn add_out_of_line(&mut self, key: Key, incl: Option<&[Count]>) {
        let number = self.number(key);
        let Some(incl) = incl else { return };
        let entered = &mut self.functions[number];
        add_counts_growing(entered.out_of_line.get_or_insert_default(), incl);
        entered.has_incl = true;
    }

    fn number(&mut self, key: Key) -> usize {
        let next = self.functions.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.functions.push(Entered::default());
        }
        number
    }

    fn add_arc(&mut self, caller: usize, callee: usize) {
        self.arcs.push((caller, callee));
        if caller != callee {
            self.functions[caller].callees.insert(callee);
            self.functions[callee].callers.insert(caller);
        }
    }

    /// Returns the inclusive cost of each function that has one.
    pub(super) fn compute(mut self) -> HashMap<Key, InclusiveCost> {
        for (number, chain, incl) in std::mem::take(&mut self.chains) {
            let inside = self.subtrees.get(&chain).map_or(&[][..], Vec::as_slice);
            let calls = |(event, incl): (usize, &Count)| *incl > at(inside, event);
            self.functions[number].has_calls |= incl.iter().enumerate().any(calls);
        }
        let cycles = components(self.functions.len(), self.arcs.iter().copied());
        let mut costs: Vec<Option<InclusiveCost>> = (0..self.functions.len())
            .map(|number| self.sum(number, &cycles))
            .collect();
        self.tighten(&mut costs);
        let costs = (self.numbers.into_iter())
            .filter_map(|(key, number)| Some((key, std::mem::take(&mut costs[number])?)));
        costs.collect()
    }

    /// Returns the sum over the places of a function.
    fn sum(&self, number: usize, cycles: &[usize]) -> Option<InclusiveCost> {
        let entered = &self.functions[number];
        if !entered.has_incl {
            return None;
        }
        let mut counts = entered.inlined.clone();
        let out_of_line = entered.out_of_line.as_deref().unwrap_or_default();
        add_counts_growing(&mut counts, out_of_line);
        let places = entered.places + usize::from(entered.out_of_line.is_some());
        let mut is_bound = false;
        if entered.places > 0 && places > 1 {
            if !self.records_calls {
                is_bound = entered.has_calls;
            } else if let Some(own) = entered.calls.get(&number) {
                // These calls leave from the inlined code, because a recursive call costs nothing in its function.
                for (sum, inside) in counts.iter_mut().zip(own) {
                    *sum -= inside;
                }
            }
        }
        if self.records_calls && entered.places > 0 {
            let shares_cycle =
                |other: &&usize| **other != number && cycles[**other] == cycles[number];
            let mut around = entered.inliners.iter().chain(entered.calls.keys());
            is_bound = around.any(|other| shares_cycle(&other));
        }
        Some(InclusiveCost { counts, is_bound })
    }

    /// Lowers bounds to the total, to the sum over the callers, and to the self cost and the sum over the callees.
    fn tighten(&self, costs: &mut Vec<Option<InclusiveCost>>) {
        let total = self.profile.total();
        for cost in costs.iter_mut().flatten().filter(|cost| cost.is_bound) {
            lower(&mut cost.counts, total.iter().copied().map(Some));
        }
        for _ in 0..ROUNDS {
            let mut lowered = costs.clone();
            for (number, cost) in lowered.iter_mut().enumerate() {
                let Some(cost) = cost.as_mut().filter(|cost| cost.is_bound) else {
                    continue;
                };
                let entered = &self.functions[number];
                let events = 0..cost.counts.len();
                let of_all = |others: &BTreeSet<usize>, event| -> Option<Count> {
                    let other = |other: &usize| Some(at(&costs[*other].as_ref()?.counts, event));
                    others.iter().map(other).sum()
                };
                if self.has_known_callers(entered) {
                    let callers = events.clone().map(|event| of_all(&entered.callers, event));
                    lower(&mut cost.counts, callers);
                }
                if self.records_calls {
                    let callees = events.map(|event| {
                        Some(at(&entered.own, event) + of_all(&entered.callees, event)?)
                    });
                    lower(&mut cost.counts, callees);
                }
            }
            if lowered == *costs {
                break;
            }
            *costs = lowered;
        }
    }

    /// Returns true if the function is entered only by known callers.
    fn has_known_callers(&self, entered: &Entered) -> bool {
        let Some(out_of_line) = &entered.out_of_line else {
            return !entered.callers.is_empty();
        };
        let mut called = Vec::new();
        for cost in entered.calls.values() {
            add_counts_growing(&mut called, cost);
        }
        let is_called = |(event, incl): (usize, &Count)| at(&called, event) >= *incl;
        self.records_calls && out_of_line.iter().enumerate().all(is_called)
    }
}

fn at(counts: &[Count], event: usize) -> Count {
    counts.get(event).copied().unwrap_or(0)
}

/// Lowers counts to bounds. A bound that is not positive is unknown.
fn lower(counts: &mut [Count], bounds: impl Iterator<Item = Option<Count>>) {
    for (count, bound) in counts.iter_mut().zip(bounds) {
        if let Some(bound) = bound.filter(|bound| *bound > 0) {
            *count = (*count).min(bound);
        }
    }
}

#[cfg(test)]
mod tests;
