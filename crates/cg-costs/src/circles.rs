//! Finds the cycles of a call graph: its strongly connected components with more than one function.

use cg_stream::components::components;

use crate::ids::ArcId;
use crate::tables::{NoRoom, Signedness, add_inclusive_row};

/// An arc between two different functions, numbered from 0, and the row of its cost.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// Number of the caller.
    pub caller: usize,
    /// Number of the callee.
    pub callee: usize,
    /// The calls between them.
    pub row: ArcId,
}

/// The cycle of each function, numbered from 0; `None` for a function in no cycle. `arcs` are pairs of caller and
/// callee, which differ.
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

/// Tells which cycles are recursion: with `believes_all` all of them, otherwise those in which some function has more
/// incoming cost than entered the cycle from outside, which without recursion is impossible.
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
    use super::*;

    #[test]
    fn circles_are_the_components_of_more_than_one() {
        let arcs = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)];
        let circle_of = find(6, arcs.into_iter());
        assert_eq!(circle_of[0], None);
        assert_eq!(circle_of[5], None);
        assert!(circle_of[1].is_some() && circle_of[1] == circle_of[2]);
        assert!(circle_of[3].is_some() && circle_of[3] == circle_of[4]);
        assert_ne!(circle_of[1], circle_of[3]);
    }
}
