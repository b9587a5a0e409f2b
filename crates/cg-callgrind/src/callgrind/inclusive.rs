//! Converts a part's nodes to functions: folds recursion levels and callers, and computes inclusive cost.
//!
//! **If the file has recursion levels** (Callgrind's default), the inclusive cost of a function is the inclusive cost of its
//! first level. If it was called, this is the cost of the incoming calls, else its self cost and its outgoing calls. When a
//! call enters the first level, the function is not on the stack yet, so recursion never counts a cost twice. Callgrind
//! counts levels by function, not by chain of callers, so the rule also applies to the chains of `--separate-callers`. The
//! sum over the first levels of a function's chains equals its inclusive cost in a run without chains.
//!
//! **If the file has no levels** (`--separate-recs=1`, other producers), calls of a function to itself do not count. For
//! functions that call each other in a circle this module follows KCachegrind: self cost plus the calls that leave the
//! circle. A Callgrind file without any sign of recursion may be of either kind. Two functions may call each other without
//! recursion, at different times, and also form a circle of arcs. A circle counts as recursion only if the incoming calls of
//! one of its functions cost more than all calls into the circle. Without recursion this is impossible.
//!
//! Python's cProfile times each arc separately, also inside circles, so its arcs are not sums over the calls below them. The
//! cost of a function is then the cost of its incoming arcs from other functions; see `FunctionSums::timed`.
//!
//! `calls` of a function counts all calls, including calls into deeper levels. An arc folds the levels at both ends: its
//! `calls` counts all calls, but its inclusive cost covers only the calls into the callee's first level. So the arcs into a
//! function add up to its inclusive cost.

use cg_collections::intern::Id as _;
use cg_collections::maps::{Map, Set};
use cg_collections::sorting::Order as _;
use cg_costs::circles;
use cg_costs::ids::{ArcId, FileFunctionId, FunctionId, StringId};
use cg_costs::inlines::TracedNode;
use cg_costs::section::{ArcKey, Section, SectionFunction};
use cg_costs::tables::{
    Added, CostRows, NoRoom, Signedness, add_calls, add_inclusive_row, add_row,
};

use super::contexts;
use super::functions::{FileFunctionNames, FileFunctions};
use super::part::{NodeArc, PartSums};
use super::recursion::{FoldedNode, RecursionSigns};

/// Adds a part to a section.
pub(crate) fn fold(
    part: &PartSums,
    nodes: &FileFunctions,
    names: &FileFunctionNames,
    shown: RecursionSigns,
    section: &mut Section,
) -> Added {
    let mut folded: Vec<FoldedNode> = Vec::with_capacity(part.present.len());
    for node in &part.present {
        let known = nodes.get(*node);
        let name = names.folded(known.name, shown.chains, &mut section.strings)?;
        folded.push(FoldedNode {
            function: section.function(SectionFunction {
                name: name.name,
                file: nodes.own_file(*node),
                object: known.object,
            })?,
            is_deeper: name.is_deeper,
            node: *node,
        });
    }
    for node in &folded {
        section.add_cost(node.function, part.own.row(node.node.index()))?;
    }
    let has_levels = shown.levels || folded.iter().any(|node| node.is_deeper);
    let arcs = part.arcs.as_ref().filter(|_| !has_levels);
    // A profile may have many small parts that need no look-up. Clearing a table for each would take most of the time.
    let needs_lookup =
        arcs.is_some() || part.lines.is_some() || part.calls.is_some() || section.trace.is_some();
    let mut by_node = vec![None; if needs_lookup { nodes.len() } else { 0 }];
    if needs_lookup {
        for node in &folded {
            by_node[node.node.index()] = Some(*node);
        }
    }
    let lookup = |node: FileFunctionId| by_node.get(node.index()).copied().flatten();

    let circles = if let Some(arcs) = arcs {
        let recurses = folded
            .iter()
            .any(|node| part.called_by_itself[node.node.index()] > 0);
        let cycles = match shown.timed {
            Some(whole) => Cycles::Timed(whole),
            None if recurses || !shown.is_callgrind => Cycles::All,
            None => Cycles::Shown,
        };
        add_inclusive_without_levels(part, &mut folded, arcs, lookup, cycles, section)?
    } else {
        add_inclusive_by_levels(part, &mut folded, section)?;
        match &section.trace {
            Some(trace) => circles_of_levels(&folded, trace.arcs(), lookup),
            None => Map::default(),
        }
    };
    if let Some(trace) = &mut section.trace {
        let nodes = folded.iter().map(|node| TracedNode {
            node: node.node,
            function: node.function,
            is_deeper: node.is_deeper,
            circle: circles.get(&node.function).copied(),
        });
        trace.end_part(has_levels, nodes);
    }
    if let Some(lines) = &part.lines {
        // The lines of a function then add up to its self cost and inclusive cost.
        let function = |node| lookup(node).map(|node| (node.function, node.is_deeper));
        section.add_lines(lines, function)?;
    }
    if let Some(calls) = &part.calls {
        add_arcs(calls, lookup, names.keeps_levels(), section)?;
    }
    if let Some(mut graph) = section.stacks.take() {
        let added = contexts::add(part, nodes, names, shown, &folded, section, &mut graph);
        section.stacks = Some(graph);
        added?;
    }
    Ok(())
}

/// Adds inclusive costs from a file with recursion levels.
fn add_inclusive_by_levels(
    part: &PartSums,
    folded: &mut [FoldedNode],
    section: &mut Section,
) -> Added {
    folded.order_by_key(|node| (node.function, node.is_deeper, node.node.index()));
    let mut inclusive = Vec::new();
    for nodes in folded.chunk_by(|a, b| a.function == b.function) {
        // A part that began inside a recursion may have only deeper levels.
        let first_level = nodes[0].is_deeper;
        let first = nodes.iter().filter(|node| node.is_deeper == first_level);
        let mut sums = FunctionSums::new(part);
        for node in first {
            sums.add_node(part, node.node)?;
        }
        sums.inclusive(part.signedness, &mut inclusive)?;
        let mut calls = 0u64;
        for node in nodes {
            let index = node.node.index();
            add_calls(&mut calls, part.called[index])?;
            add_calls(&mut calls, part.called_by_itself[index])?;
        }
        section.add_inclusive(nodes[0].function, &inclusive, calls)?;
    }
    Ok(())
}

/// The sums from which a function's inclusive cost is computed.
struct FunctionSums {
    own: Vec<u64>,
    incoming: Vec<u64>,
    outgoing: Vec<u64>,
    /// The maximum cost of an arc to another function, per event.
    dearest: Vec<u64>,
    called: u64,
    calls: u64,
}

impl FunctionSums {
    fn new(part: &PartSums) -> FunctionSums {
        let zeros = vec![0; part.own.event_count()];
        FunctionSums {
            own: zeros.clone(),
            incoming: zeros.clone(),
            outgoing: zeros.clone(),
            dearest: zeros,
            called: 0,
            calls: 0,
        }
    }

    fn add_node(&mut self, part: &PartSums, node: FileFunctionId) -> Added {
        let (index, signedness) = (node.index(), part.signedness);
        add_row(&mut self.own, part.own.row(index), signedness)?;
        add_inclusive_row(&mut self.incoming, part.incoming.row(index), signedness)?;
        add_inclusive_row(&mut self.outgoing, part.outgoing.row(index), signedness)?;
        add_calls(&mut self.called, part.called[index])
    }

    /// Adds an arc to another function.
    fn add_outgoing(&mut self, cost: &[u64], signedness: Signedness) -> Added {
        for (dearest, cost) in self.dearest.iter_mut().zip(cost) {
            *dearest = (*dearest).max(*cost);
        }
        add_inclusive_row(&mut self.outgoing, cost, signedness)
    }

    /// Computes the inclusive cost: the incoming cost if the function was called, else self cost plus outgoing cost.
    fn inclusive(&self, signedness: Signedness, out: &mut Vec<u64>) -> Added {
        out.clear();
        if self.called > 0 {
            out.extend_from_slice(&self.incoming);
            return Ok(());
        }
        out.extend_from_slice(&self.own);
        add_inclusive_row(out, &self.outgoing, signedness)
    }

    /// Computes the inclusive cost from separately timed arcs: the incoming cost. If the self cost or one outgoing arc is
    /// larger, the function was also entered from outside the profile. It then has its self cost plus outgoing cost, at most
    /// `whole`.
    fn timed(&self, whole: u64, signedness: Signedness, out: &mut Vec<u64>) -> Added {
        out.clear();
        out.extend_from_slice(&self.own);
        add_inclusive_row(out, &self.outgoing, signedness)?;
        let sums = self.own.iter().zip(&self.dearest).zip(&self.incoming);
        for (cost, ((own, dearest), incoming)) in out.iter_mut().zip(sums) {
            *cost = match incoming < own.max(dearest) {
                true => (*cost).min(whole).max(*own),
                false => *incoming,
            };
        }
        Ok(())
    }
}

/// Finds the circles of arcs that are recursion, in a file with recursion levels: circles with a node of a deeper level.
/// Functions of other circles were never active at the same time.
fn circles_of_levels(
    folded: &[FoldedNode],
    arcs: impl Iterator<Item = (FileFunctionId, FileFunctionId)>,
    lookup: impl Fn(FileFunctionId) -> Option<FoldedNode>,
) -> Map<FunctionId, usize> {
    let mut functions: Vec<FunctionId> = folded.iter().map(|node| node.function).collect();
    functions.sort_unstable();
    functions.dedup();
    let place = |node: FileFunctionId| functions.binary_search(&lookup(node)?.function).ok();
    let pairs = arcs.filter_map(|(caller, callee)| Some((place(caller)?, place(callee)?)));
    let mut pairs: Vec<(usize, usize)> =
        pairs.filter(|(caller, callee)| caller != callee).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let circle_of = circles::find(functions.len(), pairs.into_iter());
    let deeper = folded.iter().filter(|node| node.is_deeper);
    let recursive: Set<usize> = deeper
        .filter_map(|node| circle_of[functions.binary_search(&node.function).ok()?])
        .collect();
    let in_recursion = |(place, circle): (usize, &Option<usize>)| {
        let circle = circle.filter(|circle| recursive.contains(circle))?;
        Some((functions[place], circle))
    };
    circle_of
        .iter()
        .enumerate()
        .filter_map(in_recursion)
        .collect()
}

/// The circles of arcs that count as recursion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cycles {
    All,
    /// Circles whose costs prove recursion.
    Shown,
    /// No circles, because each arc was timed separately. Contains the cost of the most expensive function.
    Timed(u64),
}

/// Adds inclusive costs from a file without levels, in which the arcs show recursion. Returns the circle of each function in
/// a recursion.
fn add_inclusive_without_levels(
    part: &PartSums,
    folded: &mut [FoldedNode],
    arcs: &CostRows<ArcId, (FileFunctionId, FileFunctionId), u64>,
    lookup: impl Fn(FileFunctionId) -> Option<FoldedNode>,
    cycles: Cycles,
    section: &mut Section,
) -> Result<Map<FunctionId, usize>, NoRoom> {
    let signedness = part.signedness;
    folded.order_by_key(|node| (node.function, node.node.index()));
    let mut functions: Vec<FunctionId> = folded.iter().map(|node| node.function).collect();
    functions.dedup();
    let place: Map<FunctionId, usize> = functions.iter().copied().zip(0..).collect();
    let mut sums: Vec<FunctionSums> = functions.iter().map(|_| FunctionSums::new(part)).collect();
    for node in folded.iter() {
        let own = part.own.row(node.node.index());
        add_row(&mut sums[place[&node.function]].own, own, signedness)?;
    }
    let mut between: Vec<circles::Between> = Vec::with_capacity(arcs.row_count());
    for (row, (caller, callee)) in arcs.all() {
        let (Some(caller), Some(callee)) = (lookup(caller), lookup(callee)) else {
            continue;
        };
        let (caller, callee) = (place[&caller.function], place[&callee.function]);
        let calls = *arcs.facts(row);
        add_calls(&mut sums[callee].calls, calls)?;
        if caller == callee {
            continue;
        }
        let cost = arcs.inclusive(row);
        add_calls(&mut sums[callee].called, calls)?;
        add_inclusive_row(&mut sums[callee].incoming, cost, signedness)?;
        sums[caller].add_outgoing(cost, signedness)?;
        if !matches!(cycles, Cycles::Timed(_)) {
            between.push(circles::Between {
                caller,
                callee,
                row,
            });
        }
    }
    let pairs = between.iter().map(|arc| (arc.caller, arc.callee));
    let circle_of = circles::find(functions.len(), pairs);
    let is_recursive = circles::recursive(
        &circle_of,
        &between,
        |row| arcs.inclusive(row),
        part.own.event_count(),
        signedness,
        cycles == Cycles::All,
        |place| sums[place].incoming.as_slice(),
    )?;
    // Calls inside a cycle do not count.
    let in_circle = |place: usize| circle_of[place].filter(|circle| is_recursive[*circle]);
    let leaving = sum_leaving_calls(&between, in_circle, arcs, part)?;
    let mut inclusive = Vec::new();
    for (place, function) in functions.iter().enumerate() {
        let sums = &sums[place];
        match (leaving.get(&place), cycles) {
            (Some(leaving), _) => {
                inclusive.clear();
                inclusive.extend_from_slice(&sums.own);
                add_inclusive_row(&mut inclusive, leaving, signedness)?;
            }
            (None, Cycles::Timed(whole)) => sums.timed(whole, signedness, &mut inclusive)?,
            (None, _) => sums.inclusive(signedness, &mut inclusive)?,
        }
        section.add_inclusive(*function, &inclusive, sums.calls)?;
    }
    for circle in 0..is_recursive.len() {
        let members: Vec<FunctionId> = (0..functions.len())
            .filter(|place| in_circle(*place) == Some(circle))
            .map(|place| functions[place])
            .collect();
        section.add_cycle(&members);
    }
    let in_recursion = |place: usize| Some((functions[place], in_circle(place)?));
    Ok((0..functions.len()).filter_map(in_recursion).collect())
}

/// Returns, for each function in a cycle, the cost of its calls that leave the cycle.
fn sum_leaving_calls(
    between: &[circles::Between],
    in_circle: impl Fn(usize) -> Option<usize>,
    arcs: &CostRows<ArcId, (FileFunctionId, FileFunctionId), u64>,
    part: &PartSums,
) -> Result<Map<usize, Vec<u64>>, NoRoom> {
    let mut leaving = Map::default();
    for arc in between {
        let Some(circle) = in_circle(arc.caller) else {
            continue;
        };
        let sum = leaving
            .entry(arc.caller)
            .or_insert_with(|| vec![0; part.own.event_count()]);
        if in_circle(arc.callee) != Some(circle) {
            add_inclusive_row(sum, arcs.inclusive(arc.row), part.signedness)?;
        }
    }
    Ok(leaving)
}

fn add_arcs(
    arcs: &CostRows<ArcId, NodeArc, u64>,
    lookup: impl Fn(FileFunctionId) -> Option<FoldedNode>,
    keeps_levels: bool,
    section: &mut Section,
) -> Added {
    for (arc, key) in arcs.all() {
        let (Some(caller), Some(callee)) = (lookup(key.caller), lookup(key.callee)) else {
            continue;
        };
        // A call of a function that is already active adds nothing to its callers' inclusive cost. If levels are kept, the
        // arcs stay as in the file.
        let is_nested = !keeps_levels && (callee.is_deeper || caller.function == callee.function);
        let is_own_file = key.file == section.key_of(caller.function).file;
        section.add_arc(
            ArcKey {
                caller: caller.function,
                callee: callee.function,
                site: if is_own_file {
                    StringId::NOT_GIVEN
                } else {
                    key.file
                },
                line: key.line,
                address: key.address,
                inlined: None,
            },
            *arcs.facts(arc),
            if is_nested { &[] } else { arcs.inclusive(arc) },
        )?;
    }
    Ok(())
}
