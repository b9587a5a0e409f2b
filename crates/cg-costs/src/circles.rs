//! Cycles of a call graph: strongly connected components with more than one function.

use cg_collections::components::components;

use crate::ids::ArcId;
use crate::tables::{NoRoom, Signedness, add_inclusive_row};

/// An arc between two different functions, with the row of its cost. Functions are numbered from 0.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// The number of the caller.
    pub caller: usize,
    /// The number of the callee.
    pub callee: usize,
    /// The calls from caller to callee.
    pub row: ArcId,
}

/// Returns the cycle of each function, numbered from 0; `None` if a function is not in a cycle. `arcs` are pairs of
/// different functions, caller first.
pub fn find(functions: usize, arcs: impl Iterator<Item = (usize, usize)>) -> Vec<Option<usize>> {
    let component_of = components(functions, arcs);
    let mut members = vec![0usize; functions];
    for component in &component_of {
        members[*component] += 1;
    }
    let mut circles = 0;
    let circle_of_component: Vec<Option<usize>> = (members.into_iter())
        .map(|members| {
            let is_circle = members > 1;
            circles += usize::from(is_circle);
            is_circle.then(|| circles - 1)
        })
        .collect();
    let circle = |component: usize| circle_of_component[component];
    component_of.into_iter().map(circle).collect()
}

/// Returns for each cycle true if it is recursion. With `believes_all` all cycles are recursion. Otherwise, some function of
/// the cycle must have more incoming cost than all calls into the cycle, which is impossible without recursion.
pub fn recursive<'a>(
    circle_of: &[Option<usize>],
    arcs: &[Between],
    cost: impl Fn(ArcId) -> &'a [u64],
    events: usize,
    signedness: Signedness,
    believes_all: bool,
    incoming: impl Fn(usize) -> &'a [u64],
) -> Result<Vec<bool>, NoRoom> {
    let circles = circle_of.iter().flatten().max().map_or(0, |last| last + 1);
    let mut is_recursive = vec![believes_all; circles];
    if believes_all || circles == 0 {
        return Ok(is_recursive);
    }
    let mut from_outside = vec![vec![0; events]; circles];
    for arc in arcs {
        if let Some(circle) = circle_of[arc.callee]
            && circle_of[arc.caller] != Some(circle)
        {
            add_inclusive_row(&mut from_outside[circle], cost(arc.row), signedness)?;
        }
    }
    for (function, circle) in circle_of.iter().enumerate() {
        if let Some(circle) = *circle {
            is_recursive[circle] |= incoming(function)
                .iter()
                .zip(&from_outside[circle])
                .any(|(incoming, outside)| incoming > outside);
        }
    }
    Ok(is_recursive)
}

#[cfg(test)]
mod tests {
    use cg_collections::intern::Id as _;

    use super::*;

    #[test]
    fn circles_are_components_with_several_functions() {
        let arcs = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)];
        let circle_of = find(6, arcs.into_iter());
        assert_eq!(circle_of[0], None);
        assert_eq!(circle_of[5], None);
        assert!(circle_of[1].is_some() && circle_of[1] == circle_of[2]);
        assert!(circle_of[3].is_some() && circle_of[3] == circle_of[4]);
        assert_ne!(circle_of[1], circle_of[3]);
    }

    /// Returns true for each cycle that is recursion, given the cycle of each function and calls with two events.
    fn recursions(
        circle_of: &[Option<usize>],
        calls: &[(usize, usize, [u64; 2])],
        believes_all: bool,
    ) -> Vec<bool> {
        let arcs: Vec<Between> = (calls.iter().enumerate())
            .map(|(row, (caller, callee, _))| Between {
                caller: *caller,
                callee: *callee,
                row: ArcId::at(row).unwrap(),
            })
            .collect();
        let mut incoming = vec![[0; 2]; circle_of.len()];
        for (_, callee, cost) in calls {
            for (sum, cost) in incoming[*callee].iter_mut().zip(cost) {
                *sum += cost;
            }
        }
        recursive(
            circle_of,
            &arcs,
            |row| &calls[row.index()].2,
            2,
            Signedness::Unsigned,
            believes_all,
            |function| &incoming[function],
        )
        .unwrap()
    }

    #[test]
    fn cycle_is_recursion_if_a_member_has_more_incoming_cost_than_enters_the_cycle() {
        let one = [None, Some(0), Some(0)];
        let calls = |back: [u64; 2]| [(0, 1, [10, 3]), (1, 2, [7, 0]), (2, 1, back)];
        // Calls between the members that cost nothing more prove nothing.
        assert_eq!(recursions(&one, &calls([0, 0]), false), [false]);
        assert_eq!(recursions(&one, &calls([0, 0]), true), [true]);
        assert_eq!(recursions(&one, &calls([1, 0]), false), [true]);
        // One event is enough.
        assert_eq!(recursions(&one, &calls([0, 1]), false), [true]);
    }

    #[test]
    fn calls_from_another_cycle_enter_a_cycle() {
        let two = [Some(0), Some(0), Some(1), Some(1)];
        let calls = [
            (0, 1, [2, 0]),
            (1, 0, [1, 0]),
            (1, 2, [5, 0]),
            (2, 3, [5, 0]),
            (3, 2, [0, 0]),
        ];
        // Nothing enters the first cycle, so it must be recursion.
        assert_eq!(recursions(&two, &calls, false), [true, false]);
    }
}
