//! The rows of `--peek`: callers, callees, and the nearest own functions among the direct and indirect callers of a
//! function.
//!
//! Figures from stacks are exact, because each stack has its own path. Figures from a call graph are exact if each function
//! on the path has one caller. Otherwise the cost through a function is divided among its callers in proportion to the cost
//! of their calls (to their number if they cost nothing), separately for each event, as in `cg-parse --stacks`.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use cg_collections::sorting::Order as _;
use cg_names::code_origin::CodeOwner;
use cg_profile::{FunctionKey, Profile, StackFrames};
use cg_stream::record::{Count, RecordType, add_counts_growing};
use regex::Regex;

use super::arcs::CallArcs;
use super::{ArcEnd, ArcRow, FunctionOfPart, TreeRow};
use crate::report::owners::FunctionOwners;

/// The maximum length of a path of callers. The limit ends cycles of functions that are not own.
const FARTHEST: usize = 256;

/// Costs by function.
type CostsByFunction = HashMap<FunctionKey, Vec<Count>>;

/// Finds the nearest own functions among the direct and indirect callers of functions.
pub(super) struct OwnCallers<'p> {
    profile: &'p Profile,
    owners: RefCell<FunctionOwners<'p>>,
    event: usize,
    /// True if any share in the results is estimated.
    pub(super) is_estimated: Cell<bool>,
}

impl<'p> OwnCallers<'p> {
    /// Creates the search for a profile. Results are sorted by their cost in this event.
    pub(super) fn new(profile: &'p Profile, event: usize) -> OwnCallers<'p> {
        OwnCallers {
            profile,
            owners: RefCell::new(FunctionOwners::new(profile)),
            event,
            is_estimated: Cell::new(false),
        }
    }

    /// Returns a row for each own function on the way to a function.
    pub(super) fn around(&self, arcs: &CallArcs, function: FunctionOfPart) -> Vec<TreeRow> {
        let (_, part, thread) = function;
        let mut found = CostsByFunction::new();
        let mut waiting = CostsByFunction::new();
        let mut pass = |caller: FunctionKey, cost: &[Count], waiting: &mut CostsByFunction| {
            let is_own = self.owners.borrow_mut().find_function_owner(caller) == CodeOwner::Own;
            let to = if is_own { &mut found } else { waiting };
            add(to, caller, cost);
        };
        for (caller, _, incl) in arcs.callers(function) {
            if caller != function.0 {
                pass(caller, incl, &mut waiting);
            }
        }
        for _ in 0..FARTHEST {
            for (through, cost) in std::mem::take(&mut waiting) {
                let callers: Vec<(FunctionKey, Count, &[Count])> = arcs
                    .callers((through, part, thread))
                    .filter(|(caller, _, _)| *caller != through && *caller != function.0)
                    .collect();
                self.is_estimated
                    .set(self.is_estimated.get() || callers.len() > 1);
                let shares: Vec<Vec<Count>> = (cost.iter().enumerate())
                    .map(|(event, count)| divide(*count, &weights(&callers, event)))
                    .collect();
                for (position, (caller, _, _)) in callers.iter().enumerate() {
                    let share: Vec<Count> = shares.iter().map(|share| share[position]).collect();
                    pass(*caller, &share, &mut waiting);
                }
            }
        }
        rows(self.profile, ArcEnd::Own, found, self.event)
    }
}

/// Returns the cost of each caller's calls in an event. If no calls have a cost, returns their numbers.
fn weights(callers: &[(FunctionKey, Count, &[Count])], event: usize) -> Vec<Count> {
    let costs = callers
        .iter()
        .map(|(_, _, incl)| incl.get(event).copied().unwrap_or(0).max(0));
    let costs: Vec<Count> = costs.collect();
    match costs.iter().all(|cost| *cost == 0) {
        true => callers.iter().map(|(_, calls, _)| *calls).collect(),
        false => costs,
    }
}

/// Divides a count in proportion to weights. The parts sum to the count, unless all weights are 0.
fn divide(count: Count, weights: &[Count]) -> Vec<Count> {
    let total: Count = weights.iter().sum();
    let (mut sum, mut given) = (0, 0);
    let part = |weight: &Count| {
        sum += weight;
        let until = match count.checked_mul(sum) {
            _ if total == 0 => 0,
            _ if sum == total => count,
            Some(product) => product / total,
            None => count / total * sum,
        };
        until - std::mem::replace(&mut given, until)
    };
    weights.iter().map(part).collect()
}

/// A matching function in stacks, with its callers, callees and nearest own callers.
#[derive(Default)]
struct PeekedFunction {
    cost: Vec<Count>,
    incl: Vec<Count>,
    callers: CostsByFunction,
    callees: CostsByFunction,
    own: CostsByFunction,
}

/// Returns the rows for each function in stacks whose name matches, the most expensive function first.
pub(super) fn peek_stacks(
    profile: &Profile,
    kind: RecordType,
    wanted: &Regex,
    event: usize,
) -> Vec<Vec<TreeRow>> {
    let table = profile.table(kind);
    let mut owners = FunctionOwners::new(profile);
    let mut functions: HashMap<FunctionKey, PeekedFunction> = HashMap::new();
    let mut known: HashMap<FunctionKey, bool> = HashMap::new();
    let mut is_wanted = |function: FunctionKey| {
        let name = || profile.text(function.name).unwrap_or_default();
        *known
            .entry(function)
            .or_insert_with(|| wanted.is_match(name()))
    };
    for row in 0..table.len() {
        let (key, cost) = (table.key(row), table.cost(row));
        let own = profile.own_function(kind, &key);
        if is_wanted(own) {
            add_counts_growing(&mut functions.entry(own).or_default().cost, cost);
        }
        let frames = profile.stacks().frames_of(key.stack);
        if frames.iter().any(|frame| is_wanted(frame.function)) {
            let owners = owners.find_stack_owners(frames);
            charge(&mut functions, frames, &owners, cost, &mut is_wanted);
        }
    }
    let first = |counts: &[Count]| counts.get(event).copied().unwrap_or(0);
    let mut sorted: Vec<(FunctionKey, PeekedFunction)> = functions.into_iter().collect();
    sorted.order_by(|(a, left), (b, right)| {
        first(&right.incl)
            .cmp(&first(&left.incl))
            .then_with(|| profile.order_of_functions(a, b))
    });
    let shown = sorted.into_iter().map(|(function, around)| {
        let middle = TreeRow {
            role: ArcEnd::Function,
            depth: 0,
            what: ArcRow::Function(function),
            cost: Some(around.cost),
            incl: Some(around.incl),
        };
        let mut shown = rows(profile, ArcEnd::Caller, around.callers, event);
        shown.push(middle);
        shown.extend(rows(profile, ArcEnd::Callee, around.callees, event));
        shown.extend(rows(profile, ArcEnd::Own, around.own, event));
        shown
    });
    shown.collect()
}

/// Adds the cost of a stack to its matching functions. A function counts at its outermost frame, so recursion counts once.
/// The callers of a function sum to its inclusive cost, except for stacks in which it has no caller.
fn charge(
    functions: &mut HashMap<FunctionKey, PeekedFunction>,
    frames: StackFrames<'_>,
    owners: &[CodeOwner],
    cost: &[Count],
    is_wanted: &mut impl FnMut(FunctionKey) -> bool,
) {
    let mut entered: HashSet<FunctionKey> = HashSet::new();
    let mut caller: Option<FunctionKey> = None;
    let mut own: Option<FunctionKey> = None;
    for (frame, owner) in frames.iter().zip(owners).rev() {
        let function = frame.function;
        if entered.insert(function) {
            if let Some(caller) = caller.filter(|caller| is_wanted(*caller)) {
                let around = functions.entry(caller).or_default();
                add(&mut around.callees, function, cost);
            }
            if is_wanted(function) {
                let around = functions.entry(function).or_default();
                add_counts_growing(&mut around.incl, cost);
                caller
                    .into_iter()
                    .for_each(|caller| add(&mut around.callers, caller, cost));
                own.into_iter()
                    .for_each(|own| add(&mut around.own, own, cost));
            }
        }
        caller = Some(function);
        if *owner == CodeOwner::Own {
            own = Some(function);
        }
    }
}

/// Returns the rows of these functions, sorted by inclusive cost.
fn rows(profile: &Profile, role: ArcEnd, costs: CostsByFunction, event: usize) -> Vec<TreeRow> {
    let first = |counts: &[Count]| counts.get(event).copied().unwrap_or(0);
    let mut sorted: Vec<(FunctionKey, Vec<Count>)> = costs.into_iter().collect();
    sorted.order_by(|(a, left), (b, right)| {
        (first(right).cmp(&first(left))).then_with(|| profile.order_of_functions(a, b))
    });
    let row = |(function, incl)| TreeRow {
        role,
        depth: 1,
        what: ArcRow::Around(function),
        cost: None,
        incl: Some(incl),
    };
    sorted.into_iter().map(row).collect()
}

fn add(costs: &mut CostsByFunction, function: FunctionKey, cost: &[Count]) {
    add_counts_growing(costs.entry(function).or_default(), cost);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_proportion_and_sum_to_the_whole() {
        assert_eq!(divide(10, &[1, 1, 2]), [2, 3, 5]);
        assert_eq!(divide(7, &[1, 1]), [3, 4]);
        assert_eq!(divide(7, &[0, 0]), [0, 0]);
        let most = Count::from(u64::MAX);
        assert_eq!(divide(most, &[most, most]).iter().sum::<Count>(), most);
    }
}
