//! Recursion in Callgrind's notation: deeper activations of `f` are a separate function `f'2`.
//!
//! A stream has one self cost for all levels of a function, and the inclusive cost of the first level. Readers that add up
//! self cost and outgoing calls would count the deeper levels twice: once in `f`, and once in the callee on the way to them.
//! So the cost beyond the inclusive cost moves to `f'2`, and every reader computes the figure of the stream. The stream does
//! not say how the excess divides into self cost and calls, so self cost moves first. Calls without a cost go to `f'2`,
//! because they entered the function while it was active.

use cg_stream::record::Count;

use super::super::call_graph::{GraphArc, GraphFunction, LineCost};

/// The lines and calls of one block of the file.
#[derive(Debug)]
pub(super) struct RecursionLevel<'n> {
    pub(super) lines: Vec<LineCost<'n>>,
    pub(super) arcs: Vec<GraphArc<'n>>,
}

/// Splits a function into its first level and, if it has any, all deeper levels as one.
pub(super) fn levels<'n>(
    function: &GraphFunction<'n>,
    is_recursive: bool,
) -> (RecursionLevel<'n>, Option<RecursionLevel<'n>>) {
    let mut first = RecursionLevel {
        lines: lines(function),
        arcs: function.arcs.clone(),
    };
    let Some(incl) = function.incl.as_deref().filter(|_| is_recursive) else {
        return (first, None);
    };
    let columns = function.cost.len();
    let mut deeper = RecursionLevel {
        lines: Vec::new(),
        arcs: Vec::new(),
    };
    for line in &first.lines {
        deeper.lines.push(LineCost {
            cost: vec![0; columns],
            ..*line
        });
    }
    for arc in &first.arcs {
        deeper.arcs.push(GraphArc {
            calls: 0,
            incl: vec![0; columns],
            ..arc.clone()
        });
    }
    for (column, incl) in incl.iter().enumerate() {
        let outgoing: Count = first.arcs.iter().map(|arc| arc.incl[column]).sum();
        let mut rest = (function.cost[column] + outgoing - incl).max(0);
        for (line, deeper) in first.lines.iter_mut().zip(&mut deeper.lines) {
            let moved = rest.min(line.cost[column].max(0));
            line.cost[column] -= moved;
            deeper.cost[column] = moved;
            rest -= moved;
        }
        for (arc, deeper) in first.arcs.iter_mut().zip(&mut deeper.arcs) {
            let moved = rest.min(arc.incl[column].max(0));
            arc.incl[column] -= moved;
            deeper.incl[column] = moved;
            rest -= moved;
        }
    }
    // An arc needs at least one call, so one call moves with the cost if the arc has several.
    for (arc, deeper) in first.arcs.iter_mut().zip(&mut deeper.arcs) {
        if arc.calls > 1 && deeper.incl.iter().any(|count| *count != 0) {
            arc.calls -= 1;
            deeper.calls = 1;
        }
    }
    let is_any = |counts: &[Count]| counts.iter().any(|count| *count != 0);
    deeper.lines.retain(|line| is_any(&line.cost));
    deeper.arcs.retain(|arc| is_any(&arc.incl));
    let has_deeper = !deeper.lines.is_empty() || !deeper.arcs.is_empty();
    (first, has_deeper.then_some(deeper))
}

/// Returns the lines of a function. Cost without a line goes to line 0, so that the lines sum to the self cost.
fn lines<'n>(function: &GraphFunction<'n>) -> Vec<LineCost<'n>> {
    let mut rest = function.cost.clone();
    let mut lines = Vec::with_capacity(function.lines.len() + 1);
    for line in &function.lines {
        for (rest, count) in rest.iter_mut().zip(&line.cost) {
            *rest -= count;
        }
        lines.push(LineCost {
            cost: line.cost.clone(),
            ..*line
        });
    }
    // Write line 0 only if it has a cost, because callgrind_annotate warns about line 0 in a file that it can open.
    if rest.iter().any(|count| *count != 0) {
        lines.push(LineCost {
            file: None,
            line: 0,
            cost: rest,
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use cg_collections::intern::Id;

    use super::super::super::call_graph::GraphFunctionId;
    use super::*;

    fn arc(callee: usize, calls: Count, incl: Count) -> GraphArc<'static> {
        GraphArc {
            callee: GraphFunctionId::at(callee).unwrap(),
            site: None,
            line: 0,
            calls,
            incl: vec![incl],
        }
    }

    /// Returns the self cost, and the calls and costs of the arcs, of both levels.
    fn split(
        cost: Count,
        incl: Count,
        arcs: &[(Count, Count)],
    ) -> [(Count, Vec<(Count, Count)>); 2] {
        let arcs = arcs.iter().enumerate();
        let function = GraphFunction {
            cost: vec![cost],
            incl: Some(vec![incl]),
            arcs: arcs
                .map(|(callee, (calls, incl))| arc(callee, *calls, *incl))
                .collect(),
            ..GraphFunction::default()
        };
        let (first, deeper) = levels(&function, true);
        let figures = |level: RecursionLevel| {
            let own = level.lines.iter().map(|line| line.cost[0]).sum();
            (
                own,
                level
                    .arcs
                    .iter()
                    .map(|arc| (arc.calls, arc.incl[0]))
                    .collect(),
            )
        };
        [figures(first), deeper.map(figures).unwrap_or_default()]
    }

    #[test]
    fn self_cost_and_calls_of_first_level_sum_to_inclusive_cost() {
        // Self cost 18, of which 9 is below another function that costs 20: inclusive 29 = 9 + 20.
        assert_eq!(split(18, 29, &[(2, 20)]), [(9, vec![(2, 20)]), (9, vec![])]);
        // No self cost is left to move, so the cost of a call moves, together with one call.
        assert_eq!(
            split(1, 10, &[(3, 8), (1, 7)]),
            [(0, vec![(2, 3), (1, 7)]), (1, vec![(1, 5)])]
        );
        assert_eq!(split(5, 15, &[(1, 10)]), [(5, vec![(1, 10)]), (0, vec![])]);
        // An inclusive cost above the sum of its parts is not a recursion.
        assert_eq!(split(5, 99, &[(1, 10)]), [(5, vec![(1, 10)]), (0, vec![])]);
    }
}
