//! The inclusive cost per call of each function.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::dense::{self, Dense};
use super::double::Double;
use super::graph::CallGraph;

/// Members that each call more than 1/`DENSE_PART` of the remaining members are solved in a table. For 3,000 functions that
/// call each other at random, this takes a twelfth of the time.
const DENSE_PART: usize = 4;

/// The maximum number of pairs of a caller and a callee that the elimination of a component may add, which takes some
/// seconds.
const MOST_PAIRS: usize = 20_000_000;

/// The number of functions that call each other in too many ways to compute the cost of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entangled(pub(super) usize);

/// Computes the inclusive cost per call of each node, by event: the solution of
/// `calls(f) · u(f) = cost(f) + Σ calls(f → g) · u(g)`. 0 for a node that did not run.
///
/// Callees are solved before callers. The functions of a component are eliminated one by one. The elimination never
/// subtracts (after Grassmann, Taksar and Heyman 1985: the diagonal is the sum of calls from the other functions and from
/// outside). So a function that calls itself a billion times loses no digits.
///
/// # Errors
/// Returns an error if too many functions call each other in too many ways.
pub(super) fn cost_per_call(
    graph: &CallGraph,
    component_of: &[usize],
) -> Result<Vec<Vec<Double>>, Entangled> {
    let count = component_of.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, component) in component_of.iter().enumerate() {
        members[*component].push(node);
    }
    let mut solved = vec![Vec::new(); component_of.len()];
    for members in members {
        match members[..] {
            [node] => solved[node] = solve_single(graph, node, &solved),
            _ => Component::new(graph, &members, &solved)
                .solve(&mut solved)
                .ok_or(Entangled(members.len()))?,
        }
    }
    Ok(solved)
}

/// Returns the self cost of a node plus the cost of its calls to solved nodes, summed over all calls of the node.
fn known_cost(graph: &CallGraph, node: usize, solved: &[Vec<Double>]) -> Vec<Double> {
    let own = graph.cost[node].iter();
    let mut known: Vec<Double> = own.map(|cost| Double::from_count(*cost)).collect();
    for arc in graph.from(node) {
        let calls = Double::from_count(arc.calls);
        for (sum, cost) in known.iter_mut().zip(&solved[arc.callee]) {
            *sum = sum.plus(cost.times(calls));
        }
    }
    known
}

/// Returns the cost per call of a node that is in no cycle, except with itself.
fn solve_single(graph: &CallGraph, node: usize, solved: &[Vec<Double>]) -> Vec<Double> {
    let from_others = graph.calls[node] - graph.calls_between(node, node);
    let known = known_cost(graph, node, solved);
    match from_others {
        0 => vec![Double::ZERO; known.len()],
        _ => divided(&known, Double::from_count(from_others)),
    }
}

fn divided(costs: &[Double], divisor: Double) -> Vec<Double> {
    costs.iter().map(|cost| cost.over(divisor)).collect()
}

/// The functions of a component during the elimination. Members are identified by their positions.
struct Component<'a> {
    members: &'a [usize],
    /// The known cost of each member.
    cost: Vec<Vec<Double>>,
    /// Calls of each member from outside the component, including calls passed on by eliminated members.
    entered: Vec<Double>,
    callees: Vec<BTreeMap<usize, Double>>,
    callers: Vec<BTreeMap<usize, Double>>,
}

impl Component<'_> {
    fn new<'a>(graph: &CallGraph, members: &'a [usize], solved: &[Vec<Double>]) -> Component<'a> {
        let mut component = Component {
            members,
            cost: members
                .iter()
                .map(|node| known_cost(graph, *node, solved))
                .collect(),
            entered: Vec::new(),
            callees: vec![BTreeMap::new(); members.len()],
            callers: vec![BTreeMap::new(); members.len()],
        };
        let mut inside = vec![0; members.len()];
        for (caller, node) in members.iter().enumerate() {
            for arc in graph.from(*node) {
                // The members are in ascending order.
                let Ok(callee) = members.binary_search(&arc.callee) else {
                    continue;
                };
                inside[callee] += arc.calls;
                if caller != callee {
                    component.callees[caller].insert(callee, Double::from_count(arc.calls));
                    component.callers[callee].insert(caller, Double::from_count(arc.calls));
                }
            }
        }
        let entered = members
            .iter()
            .zip(inside)
            .map(|(node, inside)| graph.calls[*node] - inside);
        component.entered = entered.map(Double::from_count).collect();
        component
    }

    /// Eliminates the members, then solves them in the reverse order. Members with the fewest neighbours are eliminated
    /// first, to keep the graph sparse. `None` if this takes too long.
    fn solve(mut self, solved: &mut [Vec<Double>]) -> Option<()> {
        let mut queue: BinaryHeap<Reverse<(usize, usize)>> = (0..self.members.len())
            .map(|member| Reverse((self.degree(member), member)))
            .collect();
        let mut eliminated = Vec::with_capacity(self.members.len());
        let mut is_gone = vec![false; self.members.len()];
        let mut pairs = 0;
        while let Some(Reverse((degree, member))) = queue.pop() {
            if is_gone[member] {
                continue;
            }
            let now = self.degree(member);
            if now > degree {
                queue.push(Reverse((now, member)));
                continue;
            }
            let left = self.members.len() - eliminated.len();
            pairs += now;
            if self.callees[member].len() * DENSE_PART > left || pairs > MOST_PAIRS {
                if left > dense::LARGEST {
                    return None;
                }
                let left: Vec<usize> = (0..self.members.len())
                    .filter(|member| !is_gone[*member])
                    .collect();
                let costs = self.dense(&left).solve()?;
                for (member, cost) in left.into_iter().zip(costs) {
                    solved[self.members[member]] = cost;
                }
                break;
            }
            is_gone[member] = true;
            eliminated.push((member, self.eliminate(member)));
        }
        for (member, diagonal) in eliminated.into_iter().rev() {
            let mut known = std::mem::take(&mut self.cost[member]);
            for (callee, calls) in &self.callees[member] {
                for (sum, cost) in known.iter_mut().zip(&solved[self.members[*callee]]) {
                    *sum = sum.plus(cost.times(*calls));
                }
            }
            solved[self.members[member]] = match diagonal.is_zero() {
                true => vec![Double::ZERO; known.len()],
                false => divided(&known, diagonal),
            };
        }
        Some(())
    }

    /// Converts the remaining members to a table.
    fn dense(&mut self, left: &[usize]) -> Dense {
        let row = |calls: &BTreeMap<usize, Double>| {
            let calls = left.iter().map(|callee| calls.get(callee).copied());
            calls.map(Option::unwrap_or_default).collect()
        };
        Dense {
            calls: left
                .iter()
                .map(|member| row(&self.callees[*member]))
                .collect(),
            entered: left.iter().map(|member| self.entered[*member]).collect(),
            cost: left
                .iter()
                .map(|member| std::mem::take(&mut self.cost[*member]))
                .collect(),
        }
    }

    /// Returns the number of pairs that the elimination of a member adds.
    fn degree(&self, member: usize) -> usize {
        self.callees[member].len() * self.callers[member].len()
    }

    /// Eliminates a member: passes its calls on to its callees, and its cost to its callers. Returns the number of times
    /// that it ran, without calls of itself.
    fn eliminate(&mut self, member: usize) -> Double {
        let callers = std::mem::take(&mut self.callers[member]);
        let callees = std::mem::take(&mut self.callees[member]);
        let entered = self.entered[member];
        let ran = callers
            .values()
            .fold(entered, |sum, calls| sum.plus(*calls));
        if ran.is_zero() {
            return ran;
        }
        let cost = divided(&self.cost[member], ran);
        let rates: Vec<(usize, Double)> = callees
            .iter()
            .map(|(callee, calls)| (*callee, calls.over(ran)))
            .collect();
        for (callee, rate) in &rates {
            self.callers[*callee].remove(&member);
            self.entered[*callee] = self.entered[*callee].plus(entered.times(*rate));
        }
        for (caller, calls) in callers {
            self.callees[caller].remove(&member);
            for (sum, cost) in self.cost[caller].iter_mut().zip(&cost) {
                *sum = sum.plus(cost.times(calls));
            }
            for (callee, rate) in rates.iter().filter(|(callee, _)| *callee != caller) {
                let on = calls.times(*rate);
                let sum = self.callees[caller].entry(*callee).or_default();
                *sum = sum.plus(on);
                let sum = self.callers[*callee].entry(caller).or_default();
                *sum = sum.plus(on);
            }
        }
        // The rest of the member's row is solved after its callees.
        self.callees[member] = callees;
        ran
    }
}
