//! Recursion in a call graph: cycles, levels, and the comparison of inclusive cost with the calls.

use cg_collections::components::components;
use cg_collections::intern::Id as _;
use cg_stream::record::{Count, add_counts};

use super::{DrawnGraph, FunctionNames, GraphArc, GraphFunction};

impl DrawnGraph<'_> {
    /// Returns true if arcs can be written unchanged: the graph separates recursion levels, its names contain levels, or
    /// calls from a function to itself have a cost.
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
        self.is_from_stacks
            || self.functions.keys().any(|names| is_level(names).is_some())
            || self.functions.values().enumerate().any(calls_itself)
    }

    /// Returns the number of functions whose inclusive cost differs from the sum of the calls into them or, without such
    /// calls, from the sum of self cost and outgoing calls. Functions in cycles do not count: viewers and streams compute
    /// their cost in the same way.
    pub(crate) fn count_inconsistent_inclusive_costs(&self) -> usize {
        let columns = self.columns.len();
        let mut incoming: Vec<Option<Vec<Count>>> = vec![None; self.functions.len()];
        for (caller, function) in self.functions.values().enumerate() {
            // Ignore arcs without counted calls, and calls from a function to itself.
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

    /// Returns for each function true if it can call itself, directly or through others, and its inclusive cost is the cost
    /// of its first level.
    pub(crate) fn recursive(&self) -> Vec<bool> {
        let arcs = self.functions.values().enumerate();
        let arcs = arcs.flat_map(|(caller, function)| {
            let arcs = function.arcs.iter();
            arcs.map(move |arc| (caller, arc.callee.index()))
        });
        let component_of = components(self.functions.len(), arcs);
        let mut members = vec![0usize; self.functions.len()];
        for component in &component_of {
            members[*component] += 1;
        }
        let functions = self.functions.values().enumerate();
        let is_recursive = |(position, function): (usize, &GraphFunction)| {
            let mut arcs = function.arcs.iter();
            let calls_itself = members[component_of[position]] > 1
                || arcs.any(|arc| arc.callee.index() == position);
            calls_itself && !function.is_in_cycle
        };
        functions.map(is_recursive).collect()
    }
}
