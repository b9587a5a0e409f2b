//! A call graph made from stacks.
//!
//! The self cost of a function is the cost of the stacks that end in it. Its inclusive cost is the cost of all stacks that
//! contain it. The cost of the calls between two functions is the cost of the stacks in which the two frames are adjacent.
//! Recursion is split into levels, as in Callgrind, so each stack counts once for each function of the graph, and the cost
//! of the calls into a function equals its inclusive cost. For this, a function that is outermost in some stacks and called
//! in others gets an additional caller, `[outermost]`.

use cg_collections::intern::{Id as _, TooMany};
use cg_collections::maps::{Map, Set};
use cg_stream::record::{Count, Frame, add_counts};

use super::{DrawnGraph, FunctionNames, GraphArc, GraphFunctionId, LineCost, RecursionShape};
use crate::format::stacks::{StackRows, WrittenFrameId};

/// The caller of functions that are outermost in some stacks and called in others.
const OUTERMOST: FunctionNames = FunctionNames {
    name: Some("[outermost]"),
    file: None,
    obj: None,
    outer_levels: 0,
};

/// A place in the source: the file, if it differs from the file of the function, and the line.
type PlaceInSource<'n> = (Option<&'n str>, u64);

/// The graph under construction.
struct GraphOfStacks<'n> {
    graph: DrawnGraph<'n>,
    recursion: RecursionShape,
    /// For each function, without its level, the number of its frames so far in the current stack.
    active: Map<FunctionNames<'n>, usize>,
    /// Positions in the lists of lines of the functions.
    lines: Map<(usize, PlaceInSource<'n>), usize>,
    /// Positions in the lists of arcs of the functions.
    arcs: Map<(usize, usize, PlaceInSource<'n>), usize>,
    /// For each function, the cost of the stacks in which it is outermost.
    begun: Map<usize, Vec<Count>>,
}

/// Makes a graph from stacks.
pub(super) fn build_graph<'n>(
    rows: &'n StackRows,
    columns: &[String],
    recursion: RecursionShape,
) -> Result<DrawnGraph<'n>, TooMany> {
    let mut graph = DrawnGraph::new(columns.to_vec());
    (graph.is_from_stacks, graph.has_calls) = (true, true);
    let mut adding = GraphOfStacks {
        graph,
        recursion,
        active: Map::default(),
        lines: Map::default(),
        arcs: Map::default(),
        begun: Map::default(),
    };
    let mut frames: Vec<WrittenFrameId> = Vec::new();
    for row in rows.all() {
        frames.clear();
        frames.extend(rows.nodes.frames(row.node));
        frames.reverse();
        adding.stack(rows, &frames, row.counts)?;
    }
    adding.enter_outermost()?;
    Ok(adding.graph)
}

impl<'n> GraphOfStacks<'n> {
    /// Adds a stack, outermost frame first.
    fn stack(
        &mut self,
        rows: &'n StackRows,
        frames: &[WrittenFrameId],
        counts: &[Count],
    ) -> Result<(), TooMany> {
        self.active.clear();
        let mut outer: Option<(usize, &'n Frame)> = None;
        for frame in frames {
            let frame = rows.frame(*frame);
            let names = FunctionNames {
                name: frame.name.as_deref(),
                file: frame.file.as_deref(),
                obj: frame.obj.as_deref(),
                outer_levels: 0,
            };
            let active = self.active.entry(names).or_default();
            let outer_levels = *active;
            *active += 1;
            let is_active = outer_levels > 0 && self.recursion == RecursionShape::Folded;
            let function = self.graph.function(FunctionNames {
                outer_levels: if is_active { 0 } else { outer_levels },
                ..names
            })?;
            match outer {
                Some(caller) => self.arc(caller, function, counts, is_active)?,
                None => {
                    let columns = counts.len();
                    let begun = self.begun.entry(function);
                    add_counts(begun.or_insert_with(|| vec![0; columns]), counts);
                }
            }
            if !is_active {
                let columns = counts.len();
                let incl = &mut self.graph.functions[function].incl;
                add_counts(incl.get_or_insert_with(|| vec![0; columns]), counts);
            }
            outer = Some((function, frame));
        }
        if let Some((function, frame)) = outer {
            self.own(function, frame, counts);
        }
        Ok(())
    }

    /// Adds to the cost of a call. The call costs nothing if the callee is already active.
    fn arc(
        &mut self,
        (caller, at): (usize, &'n Frame),
        callee: usize,
        counts: &[Count],
        is_active: bool,
    ) -> Result<(), TooMany> {
        let line = source_line(at);
        let callee_id = GraphFunctionId::at(callee)?;
        let arcs = &mut self.graph.functions[caller].arcs;
        let position = *self
            .arcs
            .entry((caller, callee, line))
            .or_insert(arcs.len());
        if position == arcs.len() {
            arcs.push(GraphArc {
                callee: callee_id,
                site: line.0,
                line: line.1,
                calls: 0,
                incl: vec![0; counts.len()],
            });
        }
        let arc = &mut self.graph.functions[caller].arcs[position];
        // Stacks have no call counts, so this counts stacks.
        arc.calls += 1;
        if !is_active {
            add_counts(&mut arc.incl, counts);
        }
        Ok(())
    }

    fn own(&mut self, function: usize, frame: &'n Frame, counts: &[Count]) {
        let line = source_line(frame);
        let owner = &mut self.graph.functions[function];
        add_counts(&mut owner.cost, counts);
        if line.1 == 0 {
            return;
        }
        let next = owner.lines.len();
        let position = *self.lines.entry((function, line)).or_insert(next);
        if position == next {
            owner.lines.push(LineCost {
                file: line.0.or(frame.file.as_deref()),
                line: line.1,
                cost: vec![0; counts.len()],
            });
        }
        add_counts(&mut owner.lines[position].cost, counts);
    }

    /// Adds calls from `[outermost]` to functions that are outermost in some stacks and called in others, so that the calls
    /// into them sum to their inclusive cost.
    fn enter_outermost(&mut self) -> Result<(), TooMany> {
        let functions = self.graph.functions.values();
        let called: Set<usize> = functions
            .flat_map(|function| function.arcs.iter().map(|arc| arc.callee.index()))
            .collect();
        let mut begun: Vec<(usize, Vec<Count>)> = std::mem::take(&mut self.begun)
            .into_iter()
            .filter(|(function, _)| called.contains(function))
            .collect();
        begun.sort_unstable();
        if begun.is_empty() || self.recursion == RecursionShape::Folded {
            return Ok(());
        }
        let outermost = self.graph.function(OUTERMOST)?;
        for (function, incl) in begun {
            let arc = GraphArc {
                callee: GraphFunctionId::at(function)?,
                site: None,
                line: 0,
                calls: 1,
                incl,
            };
            self.graph.functions[outermost].arcs.push(arc);
        }
        Ok(())
    }
}

/// Returns the place of a frame in the source.
fn source_line<'n>(frame: &'n Frame) -> PlaceInSource<'n> {
    (frame.site.as_deref(), frame.line.unwrap_or(0))
}
