//! The cycles of functions, over all parts of a section.

use cg_collections::maps::Map;

use crate::ids::FunctionId;

/// Union-find over functions. Groups that share a function become one group.
#[derive(Default)]
pub(crate) struct Cycles {
    /// Maps each function to another function of its group. This chain ends at the group's first function.
    leader: Map<FunctionId, FunctionId>,
}

impl Cycles {
    /// Unites these functions and their groups into one group.
    pub(crate) fn join(&mut self, members: &[FunctionId]) {
        let Some(leader) = members.iter().map(|member| self.find(*member)).min() else {
            return;
        };
        for member in members {
            let old_leader = self.find(*member);
            self.leader.insert(old_leader, leader);
            self.leader.insert(*member, leader);
        }
    }

    /// Adds `into` to the cycle of `from`, if there is one, because `from` is merged into `into`.
    pub(crate) fn replace(&mut self, from: FunctionId, into: FunctionId) {
        if self.leader.contains_key(&from) {
            self.join(&[from, into]);
        }
    }

    fn find(&self, mut function: FunctionId) -> FunctionId {
        while let Some(leader) = self.leader.get(&function)
            && *leader != function
        {
            function = *leader;
        }
        function
    }

    /// Returns the number of each function's cycle, counted from 1 in the order of the functions.
    pub(crate) fn numbers(&self) -> Map<FunctionId, u64> {
        let mut members: Vec<FunctionId> = self.leader.keys().copied().collect();
        members.sort_unstable();
        let mut number_of_leader = Map::default();
        members
            .into_iter()
            .map(|member| {
                let next = number_of_leader.len() as u64 + 1;
                let number = *number_of_leader.entry(self.find(member)).or_insert(next);
                (member, number)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_collections::intern::Id;

    #[test]
    fn cycles_that_share_a_function_are_united() {
        let f = |position| FunctionId::at(position).unwrap();
        let mut cycles = Cycles::default();
        cycles.join(&[f(5), f(6)]);
        cycles.join(&[f(2), f(3)]);
        cycles.join(&[f(8), f(6)]);
        let numbers = cycles.numbers();
        assert_eq!([2, 3, 5, 6, 8].map(|id| numbers[&f(id)]), [1, 1, 2, 2, 2]);
    }

    #[test]
    fn all_functions_of_a_cycle_move_to_the_cycle_of_an_earlier_function() {
        let f = |position| FunctionId::at(position).unwrap();
        let mut cycles = Cycles::default();
        cycles.join(&[f(5), f(6)]);
        cycles.join(&[f(2), f(6)]);
        cycles.join(&[f(8), f(9)]);
        let numbers = cycles.numbers();
        assert_eq!([2, 5, 6, 8, 9].map(|id| numbers[&f(id)]), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn function_takes_the_cycle_of_the_function_that_is_merged_into_it() {
        let f = |position| FunctionId::at(position).unwrap();
        let mut cycles = Cycles::default();
        cycles.join(&[f(5), f(6)]);
        cycles.replace(f(5), f(1));
        cycles.replace(f(3), f(2));
        let numbers = cycles.numbers();
        assert_eq!([1, 6].map(|id| numbers[&f(id)]), [1, 1]);
        assert!(!numbers.contains_key(&f(2)));
    }
}
