//! Which functions are in a cycle together, over all parts of a section.

use cg_stream::maps::Map;

use crate::ids::FunctionId;

/// Union-find over functions; groups that share a function are one.
#[derive(Default)]
pub(crate) struct Cycles {
    /// For each function another one of its group; following these leads to the group's first function.
    leader: Map<FunctionId, FunctionId>,
}

impl Cycles {
    /// Unites these functions and the groups they are in into one group.
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

    /// Adds `into` to the cycle of `from`, if it is in one, as `from` is merged into `into`.
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

    /// The number of each function's cycle, counted from 1 in the order of the functions.
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
    use cg_stream::intern::Id;

    #[test]
    fn cycles_that_share_a_function_are_one() {
        let f = |position| FunctionId::at(position).unwrap();
        let mut cycles = Cycles::default();
        cycles.join(&[f(5), f(6)]);
        cycles.join(&[f(2), f(3)]);
        cycles.join(&[f(8), f(6)]);
        let numbers = cycles.numbers();
        assert_eq!([2, 3, 5, 6, 8].map(|id| numbers[&f(id)]), [1, 1, 2, 2, 2]);
    }
}
