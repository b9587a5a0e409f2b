//! The causes of the difference of two totals. Each cause has one place and one kind, and the causes add up exactly.
//!
//! With `W` self cost, `n` calls, `c` calls from one function to another, `x` entries from outside, `u` the inclusive cost
//! of a call, and 0 and 1 for the old and the new run:
//!
//! ```text
//! T1 - T0 = Σ W1 - n1 · W0 / n0                 a call costs more itself      cost-per-call
//!         + Σ (c1 - n1 · c0 / n0) · u0          calls another more often      calls
//!         + Σ (x1 - x0) · u0                    is entered more often         entered
//! ```
//!
//! This equation holds for any graph. Each term is rounded down. The terms with the greatest fractions then get one unit
//! each, until the sum is right. So each term is within one unit of its exact value.

mod dense;
mod double;
mod graph;
mod inclusive;
mod lines;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use cg_collections::sorting::Order as _;
use cg_profile::Symbol;
use cg_stream::record::{CauseKind, Count, RecordType};

use crate::compare::Comparison;
use crate::join::FunctionRows;
use crate::runs::Runs;
use double::Double;
pub(crate) use graph::NodeFunction;
use graph::{CallGraph, NodeArc, Nodes};
use inclusive::Entangled;

/// A cause. Its nodes are positions in [`Causes::nodes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeCause {
    pub(crate) kind: CauseKind,
    pub(crate) node: usize,
    /// The called node, for [`CauseKind::Calls`].
    pub(crate) callee: Option<usize>,
    /// The old and new calls, as in [`cg_stream::record::CauseRecord::calls`].
    pub(crate) calls: [Count; 2],
    /// The old and new number of times that the node ran.
    pub(crate) ran: [Count; 2],
    /// The old and new self cost by event, for [`CauseKind::CostPerCall`].
    pub(crate) cost: Vec<[Count; 2]>,
    /// The number of the cause's cycle, from 1.
    pub(crate) cycle: Option<u64>,
    /// The line with most of the change, if there is one.
    pub(crate) line: Option<CauseLine>,
    /// The change, by event.
    pub(crate) delta: Vec<Count>,
}

/// A line of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CauseLine {
    /// The file of the line, if it differs from the file of the function.
    pub(crate) site: Option<Symbol>,
    pub(crate) line: u64,
}

/// All causes of a comparison.
#[derive(Default)]
pub(crate) struct Causes {
    /// The events that are explained.
    pub(crate) events: Vec<usize>,
    /// The nodes: a function, or an inlined function followed by the functions that it is inlined into.
    pub(crate) nodes: Vec<Vec<NodeFunction>>,
    /// The causes that are not 0, sorted by the first event, the greatest first.
    pub(crate) all: Vec<NodeCause>,
}

/// The reason why the terms are unknown.
#[derive(Debug, PartialEq, Eq)]
enum Unattributed {
    /// The counts of this event have too many digits.
    Event(usize),
    /// This number of functions call each other in too many ways.
    Entangled(usize),
}

/// The error message if there are no causes.
type Refusal = String;

/// Finds the causes of the difference between two sides.
///
/// # Errors
/// Returns an error if call counts or records are missing, if a side is a median, or if the terms cannot be computed.
pub(crate) fn find_causes(comparison: &Comparison, rows: &FunctionRows) -> Result<Causes, Refusal> {
    let runs = comparison.runs;
    let sides = comparison.options.sides(runs);
    if sides.iter().any(|side| runs.files_of(*side).len() > 1) {
        return Err(
            "--causes: medians do not add up; give one file per side, or use --statistic sum"
                .to_owned(),
        );
    }
    let nodes = Nodes::collect(comparison, rows);
    let events = counted_events(runs);
    let graphs = sides.map(|side| CallGraph::collect(runs, &nodes, side, &events));
    for (graph, side) in graphs.iter().zip(sides) {
        check(runs, graph, side, &events)?;
    }
    let [old, new] = &graphs;
    let mut all = attribute(old, new, events.len()).map_err(|error| match error {
        Unattributed::Event(event) => format!(
            "--causes: the counts of {} are too large to be explained exactly",
            runs.events[events[event]]
        ),
        Unattributed::Entangled(functions) => format!(
            "--causes: {functions} functions call each other in too many ways to compute the cost of a call"
        ),
    })?;
    lines::find(runs, comparison.joined, &nodes, sides, events[0], &mut all);
    let nodes = nodes.chains;
    Ok(Causes { events, nodes, all })
}

/// Returns the events that all runs count and that are not 0 in some function.
fn counted_events(runs: &Runs) -> Vec<usize> {
    let has = |profile: usize, event: usize| {
        let table = runs.profiles[profile].table(RecordType::Fn);
        let position = runs.position(profile, event);
        position.is_some_and(|position| table.counts(position))
    };
    (0..runs.events.len())
        .filter(|event| runs.is_common(*event))
        .filter(|event| (0..runs.profiles.len()).any(|profile| has(profile, *event)))
        .collect()
}

/// Checks that the records of a side account for its total.
///
/// # Errors
/// Returns an error if functions, calls or costs are missing.
fn check(runs: &Runs, graph: &CallGraph, side: usize, events: &[usize]) -> Result<(), Refusal> {
    let name = &runs.sides[side].0;
    let functions = |kind: RecordType| -> usize {
        let profiles = runs.files_of(side);
        profiles
            .map(|profile| runs.profiles[profile].table(kind).len())
            .sum()
    };
    let counts_calls = runs.files_of(side).any(|profile| {
        let table = runs.profiles[profile].table(RecordType::Fn);
        (0..table.len()).any(|row| table.calls(row) > 0)
    });
    if events.is_empty() || functions(RecordType::Fn) == 0 {
        return Err(format!(
            "--causes: {name} has no functions with costs; use Callgrind profiles"
        ));
    }
    if functions(RecordType::Call) == 0 && functions(RecordType::Fn) > 1 {
        return Err(match counts_calls {
            true => format!(
                "--causes: {name} has no call records; write the stream with cg-parse --calls"
            ),
            false => format!("--causes: {name} counts no calls; use Callgrind profiles"),
        });
    }
    if graph.without_ends > 0 {
        return Err(format!(
            "--causes: {name} lacks the functions of {} calls; give the unfiltered input",
            graph.without_ends
        ));
    }
    for (position, event) in events.iter().enumerate() {
        let sum: Count = graph.cost.iter().map(|cost| cost[position]).sum();
        let profiles = runs.files_of(side);
        let total: Count = profiles
            .filter_map(|profile| runs.total(profile, *event))
            .sum();
        if sum != total {
            return Err(format!(
                "--causes: the functions of {name} have {sum} of its {total} {}; give the unfiltered input",
                runs.events[*event]
            ));
        }
    }
    Ok(())
}

/// Computes the rounded terms of the equation. Nodes are in the order of their names.
///
/// # Errors
/// Returns an error if the terms are not precise enough.
fn attribute(
    old: &CallGraph,
    new: &CallGraph,
    events: usize,
) -> Result<Vec<NodeCause>, Unattributed> {
    let completed = old.completed_by(new);
    let component_of = completed.components();
    let inclusive = inclusive::cost_per_call(&completed, &component_of)
        .map_err(|Entangled(functions)| Unattributed::Entangled(functions))?;
    let terms = Terms {
        old,
        new,
        inclusive: &inclusive,
    };
    let (mut causes, values) = terms.all(events);
    for event in 0..events {
        let total =
            |graph: &CallGraph| -> Count { graph.cost.iter().map(|cost| cost[event]).sum() };
        let column = values.iter().map(|values| values[event]);
        let rounded = rounded(total(new) - total(old), column).ok_or(Unattributed::Event(event))?;
        for (cause, delta) in causes.iter_mut().zip(rounded) {
            cause.delta.push(delta);
        }
    }
    causes.retain(|cause| cause.delta.iter().any(|delta| *delta != 0));
    // Equal causes keep the order of nodes, kinds and callees.
    causes.order_by_cached_key(|cause| Reverse(cause.delta[0].unsigned_abs()));
    number_cycles(&mut causes, &component_of);
    Ok(causes)
}

/// Sets the number of the cycle for causes inside a cycle of the old run. Cycles are numbered in the order of the causes.
fn number_cycles(causes: &mut [NodeCause], component_of: &[usize]) {
    let mut members = vec![0; component_of.len()];
    for component in component_of {
        members[*component] += 1;
    }
    let mut numbers = vec![None; component_of.len()];
    let mut next = 1;
    for cause in causes {
        let component = component_of[cause.node];
        let is_inside = cause
            .callee
            .is_none_or(|callee| component_of[callee] == component);
        if is_inside && members[component] > 1 {
            cause.cycle = Some(*numbers[component].get_or_insert_with(|| {
                next += 1;
                next - 1
            }));
        }
    }
}

/// A term for an event: its floor and its fraction; `None` if the floor is too large.
type Term = Option<(Count, f64)>;

/// The inputs of the terms.
struct Terms<'a> {
    old: &'a CallGraph,
    new: &'a CallGraph,
    /// Inclusive cost per call of each node in the old run.
    inclusive: &'a [Vec<Double>],
}

impl Terms<'_> {
    /// Returns the causes without their deltas, and the values of each cause by event. Terms that are exactly 0 are left
    /// out.
    fn all(&self, events: usize) -> (Vec<NodeCause>, Vec<Vec<Term>>) {
        let (mut causes, mut values) = (Vec::new(), Vec::new());
        let mut push = |cause: NodeCause, terms: Vec<Term>| {
            let is_zero = |term: &Term| *term == Some((0, 0.0));
            if !terms.iter().all(is_zero) {
                causes.push(cause);
                values.push(terms);
            }
        };
        for node in 0..self.old.calls.len() {
            let ran = [self.old.calls[node], self.new.calls[node]];
            let cause = |kind, calls| NodeCause {
                kind,
                node,
                calls,
                ran,
                ..NodeCause::default()
            };
            if ran[0] > 0 && ran[1] > 0 {
                let costs = self.old.cost[node].iter().zip(&self.new.cost[node]);
                let cost: Vec<[Count; 2]> = costs.map(|(old, new)| [*old, *new]).collect();
                let terms = cost.iter().map(|cost| quotient(*cost, ran)).collect();
                push(
                    NodeCause {
                        cost,
                        ..cause(CauseKind::CostPerCall, ran)
                    },
                    terms,
                );
                for (callee, calls) in paired(self.old.from(node), self.new.from(node)) {
                    let rate = Double::from_count(calls[1]).plus(
                        Double::from_count(-calls[0])
                            .times(Double::from_count(ran[1]))
                            .over(Double::from_count(ran[0])),
                    );
                    let is_same = quotient(calls, ran) == Some((0, 0.0));
                    let terms = match is_same {
                        true => continue,
                        false => self.inclusive[callee]
                            .iter()
                            .map(|cost| cost.times(rate).floor())
                            .collect(),
                    };
                    let callee = Some(callee);
                    push(
                        NodeCause {
                            callee,
                            ..cause(CauseKind::Calls, calls)
                        },
                        terms,
                    );
                }
            }
            let entered = [self.old.entered[node], self.new.entered[node]];
            if entered[0] != entered[1] {
                let more = Double::from_count(entered[1] - entered[0]);
                let terms = self.inclusive[node]
                    .iter()
                    .map(|cost| cost.times(more).floor())
                    .collect();
                push(cause(CauseKind::Entered, entered), terms);
            }
        }
        debug_assert!(
            values
                .iter()
                .all(|values: &Vec<Term>| values.len() == events)
        );
        (causes, values)
    }
}

/// Computes `new - n1 · old / n0`, exactly if it fits in 128 bits.
fn quotient([old, new]: [Count; 2], [old_ran, new_ran]: [Count; 2]) -> Term {
    let exact = || {
        let dividend = new
            .checked_mul(old_ran)?
            .checked_sub(new_ran.checked_mul(old)?)?;
        let fraction = dividend.rem_euclid(old_ran) as f64 / old_ran as f64;
        Some((dividend.div_euclid(old_ran), fraction))
    };
    exact().or_else(|| {
        let part = Double::from_count(-old)
            .times(Double::from_count(new_ran))
            .over(Double::from_count(old_ran));
        Double::from_count(new).plus(part).floor()
    })
}

/// Pairs the arcs of a caller in both runs. Returns the old and new calls for each callee.
fn paired(old: &[NodeArc], new: &[NodeArc]) -> Vec<(usize, [Count; 2])> {
    let mut pairs: Vec<(usize, [Count; 2])> = Vec::with_capacity(old.len().max(new.len()));
    pairs.extend(old.iter().map(|arc| (arc.callee, [arc.calls, 0])));
    pairs.extend(new.iter().map(|arc| (arc.callee, [0, arc.calls])));
    pairs.sort_unstable_by_key(|(callee, _)| *callee);
    pairs.dedup_by(|next, first| {
        let is_same = first.0 == next.0;
        if is_same {
            first.1 = [first.1[0] + next.1[0], first.1[1] + next.1[1]];
        }
        is_same
    });
    pairs
}

/// Rounds terms that sum to `total`: returns integers with this sum, each within one of its term. `None` if rounding leaves
/// more than one unit per term.
fn rounded(total: Count, terms: impl Iterator<Item = Term>) -> Option<Vec<Count>> {
    let terms: Vec<(Count, f64)> = terms.collect::<Option<_>>()?;
    let mut rounded: Vec<Count> = terms.iter().map(|(floor, _)| *floor).collect();
    let left = total - rounded.iter().sum::<Count>();
    let left = usize::try_from(left)
        .ok()
        .filter(|left| *left <= terms.len())?;
    let mut greatest: Vec<usize> = (0..terms.len()).collect();
    if (1..terms.len()).contains(&left) {
        greatest.select_nth_unstable_by(left - 1, |a, b| {
            terms[*b].1.total_cmp(&terms[*a].1).then(a.cmp(b))
        });
    }
    for position in &greatest[..left] {
        rounded[*position] += 1;
    }
    Some(rounded)
}
