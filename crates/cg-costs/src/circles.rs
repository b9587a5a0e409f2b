//! Finds the cycles of a call graph: its strongly connected components with more than one function.

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
///
/// Tarjan's algorithm with an explicit stack instead of recursion: call graphs are deeper than a thread's stack.
pub fn find(functions: usize, arcs: impl Iterator<Item = (usize, usize)>) -> Vec<Option<usize>> {
    let callees = Callees::new(functions, arcs);
    let mut search = CircleSearch {
        order: vec![0; functions],
        lowest: vec![0; functions],
        open: Vec::new(),
        is_open: vec![false; functions],
        circle_of: vec![None; functions],
        visited: 0,
        circles: 0,
    };
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..functions {
        if search.order[root] != 0 {
            continue;
        }
        search.visit(root);
        path.push((root, 0));
        while let Some((function, next)) = path.last_mut() {
            let function = *function;
            if let Some(callee) = callees.of(function).get(*next) {
                *next += 1;
                if search.order[*callee] == 0 {
                    search.visit(*callee);
                    path.push((*callee, 0));
                } else if search.is_open[*callee] {
                    search.lowest[function] = search.lowest[function].min(search.order[*callee]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                search.lowest[*caller] = search.lowest[*caller].min(search.lowest[function]);
            }
            if search.lowest[function] == search.order[function] {
                search.close(function);
            }
        }
    }
    search.circle_of
}

/// The state of the search. `order` is the order of visits, counted from 1; 0 means not yet visited.
struct CircleSearch {
    order: Vec<usize>,
    lowest: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    circle_of: Vec<Option<usize>>,
    visited: usize,
    circles: usize,
}

impl CircleSearch {
    fn visit(&mut self, function: usize) {
        self.visited += 1;
        self.order[function] = self.visited;
        self.lowest[function] = self.visited;
        self.open.push(function);
        self.is_open[function] = true;
    }

    /// Pops the component of `function` off the open functions; it is a cycle if it has more than one member.
    fn close(&mut self, function: usize) {
        let start = self
            .open
            .iter()
            .rposition(|open| *open == function)
            .unwrap_or(0);
        let members = self.open.split_off(start);
        for member in &members {
            self.is_open[*member] = false;
            if members.len() > 1 {
                self.circle_of[*member] = Some(self.circles);
            }
        }
        self.circles += usize::from(members.len() > 1);
    }
}

/// Callees grouped by caller, in one flat array.
struct Callees {
    starts: Vec<usize>,
    callees: Vec<usize>,
}

impl Callees {
    fn new(functions: usize, arcs: impl Iterator<Item = (usize, usize)>) -> Callees {
        let mut sorted: Vec<(usize, usize)> = arcs.collect();
        sorted.sort_unstable();
        let mut starts = vec![0; functions + 1];
        for (caller, _) in &sorted {
            starts[caller + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        Callees {
            starts,
            callees: sorted.into_iter().map(|(_, callee)| callee).collect(),
        }
    }

    fn of(&self, function: usize) -> &[usize] {
        &self.callees[self.starts[function]..self.starts[function + 1]]
    }
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

    #[test]
    fn a_deep_chain_needs_no_deep_stack() {
        let chain = (0..300_000).map(|function| (function, function + 1));
        assert!(find(300_001, chain).iter().all(Option::is_none));
    }
}
