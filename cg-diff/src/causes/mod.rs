//! The causes of the difference of two totals: one row for each function, and rows that add up exactly.
//!
//! A function gets an allowance: what its callers' new calls would cost at the old prices. It is expected to spend it as it
//! spent its cost before. If its own code or one of its calls takes more or less, the difference is a cause. If a call costs
//! more than its allowance, the excess is passed down to the callee.
//!
//! ```text
//! graph ──▶ groups (recursion) ──▶ contraction (functions of one run) ──▶ items ──▶ allowances ──▶ rows ──▶ lines
//! ```
//!
//! The sum of the causes is the difference of the totals, whatever the prices are: each expected cost of calls is the price
//! of a call, and is subtracted at the caller and added at the callee. Contraction moves own cost and drops none.

mod allowances;
mod amounts;
mod contraction;
mod graph;
mod groups;
mod inlined;
mod items;
mod lines;
mod nodes;
mod rows;
#[cfg(test)]
mod tests;

use cg_document::number::plural;
use cg_names::rules::Rules;
use cg_stream::record::{Count, FunctionName, RecordType};

use crate::compare::Comparison;
use crate::join::FunctionRows;
use crate::runs::Runs;
use graph::CallGraph;
use groups::Groups;
use items::Items;
use nodes::Nodes;
pub(crate) use nodes::{NodeFunction, row_name};
use rows::{Attribution, count_runs};
pub(crate) use rows::{Cause, Cycle, Detail};

/// The name of the row of calls from outside of the program.
const OUTSIDE: &str = "[outside]";

/// All causes of a comparison.
#[derive(Default)]
pub(crate) struct Causes<'a> {
    /// The events that are explained.
    pub(crate) events: Vec<usize>,
    /// The functions that causes name by their positions.
    pub(crate) functions: Vec<NodeFunction<'a>>,
    /// The causes, sorted by the first event, the greatest first.
    pub(crate) rows: Vec<Cause>,
    /// The groups of several functions that call each other.
    pub(crate) cycles: Vec<Cycle>,
}

/// The error message if there are no causes.
type Refusal = String;

/// Finds the causes of the difference between two sides.
///
/// # Errors
/// Returns an error if call counts or records are missing, or if a side is a median.
pub(crate) fn find_causes<'a>(
    comparison: &Comparison<'a>,
    rows: &FunctionRows,
    rules: &Rules,
) -> Result<Causes<'a>, Refusal> {
    let runs = comparison.runs;
    let sides = comparison.options.sides(runs);
    if sides.iter().any(|side| runs.files_of(*side).len() > 1) {
        return Err(
            "--causes: medians do not add up; give one file per side, or use --statistic sum"
                .to_owned(),
        );
    }
    let nodes = Nodes::collect(comparison, rows, rules);
    let events = counted_events(runs);
    let graphs = sides.map(|side| CallGraph::collect(runs, &nodes, side, &events));
    for (graph, side) in graphs.iter().zip(sides) {
        check(runs, graph, side, &events)?;
    }
    let ran = [0, 1].map(|side: usize| count_runs(&graphs[side]));
    let (mut causes, cycles) = attribute(graphs, &nodes.code_numbers(rules));
    lines::find(
        runs,
        comparison.joined,
        &nodes,
        sides,
        events[0],
        (&mut causes, &ran),
    );
    let mut functions = nodes.into_functions();
    functions.push(NodeFunction {
        name: FunctionName {
            name: Some(OUTSIDE.into()),
            ..FunctionName::default()
        },
        is_guess: false,
    });
    Ok(Causes {
        events,
        functions,
        rows: causes,
        cycles,
    })
}

/// Divides the difference of the totals of two graphs with the same nodes. `code` has a number for each function that is
/// equal for the same code, if inlined functions are known.
fn attribute(mut graphs: [CallGraph; 2], code: &[usize]) -> (Vec<Cause>, Vec<Cycle>) {
    let events = graphs[0].events;
    let groups = Groups::find([&graphs[0], &graphs[1]]);
    for graph in &mut graphs {
        graph.enter_from_outside(&groups);
    }
    let [old, new] = &graphs;
    let presence = old.is_present.iter().zip(&new.is_present);
    let is_kept: Vec<bool> = presence.map(|(old, new)| *old && *new).collect();
    let contracted = [old, new].map(|graph| contraction::contract(graph, &groups, &is_kept));
    let items = Items::join([&contracted[0], &contracted[1]], &groups, events);
    let allowances = allowances::allow(&items, &groups);
    let attribution = Attribution {
        items: &items,
        groups: &groups,
        allowances: &allowances,
        ran: [count_runs(old), count_runs(new)],
        code,
    };
    attribution.find_rows()
}

/// Returns the events that all runs count and that are not 0 in some function.
fn counted_events(runs: &Runs) -> Vec<usize> {
    let has = |profile: usize, event: usize| {
        let table = runs.profiles[profile].table(RecordType::Fn);
        let position = runs.position(profile, event);
        position.is_some_and(|position| table.counts(position))
    };
    (0..runs.events.len())
        .filter(|event| runs.is_common(*event))
        .filter(|event| (0..runs.profiles.len()).any(|profile| has(profile, *event)))
        .collect()
}

/// Checks that the records of a side account for its total.
///
/// # Errors
/// Returns an error if functions, calls or costs are missing.
fn check(runs: &Runs, graph: &CallGraph, side: usize, events: &[usize]) -> Result<(), Refusal> {
    let name = &runs.sides[side].0;
    let functions = |kind: RecordType| -> usize {
        let profiles = runs.files_of(side);
        profiles
            .map(|profile| runs.profiles[profile].table(kind).len())
            .sum()
    };
    let counts_calls = runs.files_of(side).any(|profile| {
        let table = runs.profiles[profile].table(RecordType::Fn);
        (0..table.len()).any(|row| table.calls(row) > 0)
    });
    if events.is_empty() || functions(RecordType::Fn) == 0 {
        return Err(format!(
            "--causes: {name} has no functions with costs; use Callgrind profiles"
        ));
    }
    if functions(RecordType::Call) == 0 && functions(RecordType::Fn) > 1 {
        return Err(match counts_calls {
            true => format!(
                "--causes: {name} has no call records; write the stream with cg-parse --calls"
            ),
            false => format!("--causes: {name} counts no calls; use Callgrind profiles"),
        });
    }
    if graph.without_ends > 0 {
        return Err(format!(
            "--causes: {name} lacks the functions of {}; give the unfiltered input",
            plural(graph.without_ends, "call", "calls")
        ));
    }
    for (position, event) in events.iter().enumerate() {
        let sum = graph.total(position);
        let profiles = runs.files_of(side);
        let total: Count = profiles
            .filter_map(|profile| runs.total(profile, *event))
            .sum();
        if sum != total {
            return Err(format!(
                "--causes: the functions of {name} have {sum} of its {total} {}; give the unfiltered input",
                runs.events[*event]
            ));
        }
    }
    Ok(())
}
