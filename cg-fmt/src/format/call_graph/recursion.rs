//! Recursion in a graph of calls: circles, levels, and whether inclusive cost agrees with the calls.

use cg_stream::intern::Id as _;
use cg_stream::record::{Count, add_counts};

use super::{DrawnGraph, FunctionNames, GraphArc, GraphFunction};

impl DrawnGraph<'_> {
    /// Whether the graph tells the levels of a recursion apart, or has arcs as a profile without levels has them: its names
    /// have levels, or calls of a function to itself cost something.
    pub(crate) fn has_levels(&self) -> bool {
        let is_level = |names: &FunctionNames| {
            let (name, level) = names.name?.rsplit_once('\'')?;
            let is_number = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
            let first = FunctionNames {
                name: Some(name),
                ..*names
            };
            (is_number && self.functions.contains_key(&first)).then_some(())
        };
        let calls_itself = |(position, function): (usize, &GraphFunction)| {
            let arcs = || function.arcs.iter();
            arcs().any(|arc| {
                arc.callee.index() == position && arc.incl.iter().any(|count| *count != 0)
            })
        };
        self.is_of_stacks
            || self.functions.keys().any(|names| is_level(names).is_some())
            || self.functions.values().enumerate().any(calls_itself)
    }

    /// How many functions have an inclusive cost that is not the sum of the calls into them or, if nothing calls them,
    /// of self cost and outgoing calls. Functions in cycles do not count, since viewers compute these as the stream
    /// does.
    pub(crate) fn with_other_inclusive_cost(&self) -> usize {
        let columns = self.columns.len();
        let mut incoming: Vec<Option<Vec<Count>>> = vec![None; self.functions.len()];
        for (caller, function) in self.functions.values().enumerate() {
            // Arcs without counted calls, and calls of a function to itself, do not make it a called function.
            let is_call = |arc: &&GraphArc| arc.calls > 0 && arc.callee.index() != caller;
            for arc in function.arcs.iter().filter(is_call) {
                let sum = incoming[arc.callee.index()].get_or_insert_with(|| vec![0; columns]);
                add_counts(sum, &arc.incl);
            }
        }
        let functions = self.functions.values().zip(incoming);
        let is_other = |(function, incoming): &(&GraphFunction, Option<Vec<Count>>)| {
            let outgoing = || {
                let mut sum = function.cost.clone();
                function
                    .arcs
                    .iter()
                    .for_each(|arc| add_counts(&mut sum, &arc.incl));
                sum
            };
            let incl = function.incl.as_ref().filter(|_| !function.is_in_cycle);
            incl.is_some_and(|incl| *incl != incoming.clone().unwrap_or_else(outgoing))
        };
        functions.filter(is_other).count()
    }

    /// For each function, true if it can call itself, directly or through others, and its inclusive cost is that of its
    /// first level.
    pub(crate) fn recursive(&self) -> Vec<bool> {
        let callees: Vec<Vec<usize>> = self
            .functions
            .values()
            .map(|function| function.arcs.iter().map(|arc| arc.callee.index()).collect())
            .collect();
        let mut recursive = vec![false; callees.len()];
        for circle in circles(&callees) {
            for function in &circle {
                let is_in_cycle = self.functions[*function].is_in_cycle;
                let calls_itself = circle.len() > 1 || callees[*function].contains(function);
                recursive[*function] = calls_itself && !is_in_cycle;
            }
        }
        recursive
    }
}

/// The strongly connected components of a graph, by Tarjan's algorithm with an explicit stack, since a chain of calls
/// may be deeper than our own call stack.
fn circles(callees: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut number = vec![UNSEEN; callees.len()];
    let mut lowest = vec![UNSEEN; callees.len()];
    let mut is_open = vec![false; callees.len()];
    let mut open = Vec::new();
    let mut circles = Vec::new();
    let mut numbers = 0..;
    for root in 0..callees.len() {
        // The explicit stack: functions, and how many of their callees were visited.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if number[root] == UNSEEN {
            way.push((root, 0));
        }
        while let Some((function, looked)) = way.pop() {
            if looked == 0 {
                number[function] = numbers.next().unwrap_or(UNSEEN);
                lowest[function] = number[function];
                is_open[function] = true;
                open.push(function);
            }
            if let Some(before) = looked.checked_sub(1) {
                let callee = callees[function][before];
                if is_open[callee] {
                    lowest[function] = lowest[function].min(lowest[callee]);
                }
            }
            if let Some(callee) = callees[function].get(looked) {
                way.push((function, looked + 1));
                if number[*callee] == UNSEEN {
                    way.push((*callee, 0));
                }
            } else if lowest[function] == number[function] {
                let begin = open.iter().rposition(|known| *known == function);
                let circle = open.split_off(begin.unwrap_or(0));
                for known in &circle {
                    is_open[*known] = false;
                }
                circles.push(circle);
            }
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_whatever_way_leads_into_them() {
        // 0 → 1 → 2 → 1, 2 → 3 → 3, 4 → 0, 5 → 6 → 7 → 5 and 5 → 7
        let callees = [
            vec![1],
            vec![2],
            vec![1, 3],
            vec![3],
            vec![0],
            vec![6, 7],
            vec![7],
            vec![5],
        ];
        let mut found = circles(&callees);
        found.iter_mut().for_each(|circle| circle.sort_unstable());
        found.sort();
        assert_eq!(
            found,
            [vec![0], vec![1, 2], vec![3], vec![4], vec![5, 6, 7]]
        );
        let chain: Vec<Vec<usize>> = (0..200_000).map(|at| vec![(at + 1) % 200_000]).collect();
        assert_eq!(circles(&chain).len(), 1);
    }
}
