//! What a call of each function costs, with all below it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::dense::{self, Dense};
use super::double::Double;
use super::graph::CallGraph;

/// Members that each call more than 1/`DENSE_PART` of what is left are solved in a table: of 3,000 functions that call each
/// other at random that takes a twelfth of the time.
const DENSE_PART: usize = 4;

/// So many pairs of a caller and a callee are made at most while a component is eliminated: some seconds.
const MOST_PAIRS: usize = 20_000_000;

/// So many functions call each other in so many ways that what a call costs is not found out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entangled(pub(super) usize);

/// What a call of each node costs with all that it calls, an entry an event: the solution of
/// `calls(f) · u(f) = cost(f) + Σ calls(f → g) · u(g)`. 0 for a node that did not run.
///
/// Callees come before callers, and the functions of a component are eliminated one after the other. Nothing is ever
/// subtracted (after Grassmann, Taksar and Heyman 1985: what is left on the diagonal is what leads there from the others and
/// from outside), so that a function that calls itself a billion times loses no digits.
///
/// # Errors
/// Where too many functions call each other in too many ways.
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
            [node] => solved[node] = alone(graph, node, &solved),
            _ => Component::of(graph, &members, &solved)
                .solve(&mut solved)
                .ok_or(Entangled(members.len()))?,
        }
    }
    Ok(solved)
}

/// Self cost of a node and the cost of its calls of nodes that are solved, of all its calls together.
fn known_cost(graph: &CallGraph, node: usize, solved: &[Vec<Double>]) -> Vec<Double> {
    let own = graph.cost[node].iter();
    let mut known: Vec<Double> = own.map(|cost| Double::of(*cost)).collect();
    for arc in graph.from(node) {
        let calls = Double::of(arc.calls);
        for (sum, cost) in known.iter_mut().zip(&solved[arc.callee]) {
            *sum = sum.plus(cost.times(calls));
        }
    }
    known
}

/// The same for one call of a node that is in no cycle but that with itself.
fn alone(graph: &CallGraph, node: usize, solved: &[Vec<Double>]) -> Vec<Double> {
    let from_others = graph.calls[node] - graph.calls_between(node, node);
    let known = known_cost(graph, node, solved);
    match from_others {
        0 => vec![Double::ZERO; known.len()],
        _ => divided(&known, Double::of(from_others)),
    }
}

fn divided(costs: &[Double], divisor: Double) -> Vec<Double> {
    costs.iter().map(|cost| cost.over(divisor)).collect()
}

/// The functions of a component while they are eliminated. Members are named by their position among them.
struct Component<'a> {
    members: &'a [usize],
    /// Cost that is known of each.
    cost: Vec<Vec<Double>>,
    /// Calls of each from outside the component, and on from those that were eliminated.
    entered: Vec<Double>,
    callees: Vec<BTreeMap<usize, Double>>,
    callers: Vec<BTreeMap<usize, Double>>,
}

impl Component<'_> {
    fn of<'a>(graph: &CallGraph, members: &'a [usize], solved: &[Vec<Double>]) -> Component<'a> {
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
                    component.callees[caller].insert(callee, Double::of(arc.calls));
                    component.callers[callee].insert(caller, Double::of(arc.calls));
                }
            }
        }
        let entered = members
            .iter()
            .zip(inside)
            .map(|(node, inside)| graph.calls[*node] - inside);
        component.entered = entered.map(Double::of).collect();
        component
    }

    /// Eliminates the members, those with the fewest neighbours first, which keeps the graph sparse; then solves them in the
    /// reverse order. None where that takes too long.
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

    /// What is left, as a table.
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

    /// How many pairs are made by eliminating a member.
    fn degree(&self, member: usize) -> usize {
        self.callees[member].len() * self.callers[member].len()
    }

    /// Leads the calls of a member on to its callees, and its cost to its callers. Returns how often it ran, calls of itself
    /// aside.
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
        // What is left of the member's row is solved once its callees are.
        self.callees[member] = callees;
        ran
    }
}
