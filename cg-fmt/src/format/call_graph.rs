//! The call graph for graph formats: functions and the calls between them, from a profile or a diff. In a diff, the counts
//! of both runs are side by side.

use anyhow::{bail, ensure};
use cg_collections::intern::{Id, TooMany};
use cg_collections::maps::{OrderedMap, OrderedSet};
use cg_profile::{FunctionKey, Profile};
use cg_stream::record::{
    Count, CountsPerRun, DiffRecord, Frame, FunctionName, RecordType, add_counts,
};
use cg_tool::Diagnostics;

use super::holds::{FormatHolds, choose};
use super::names::WrittenNames;
use super::stacks::{StackRows, WrittenStacks, frame_name};
use crate::options::Options;
use crate::report::diff::{self, Diffs};

mod recursion;
mod stack_graph;

cg_collections::ids! {
    pub(crate) struct GraphFunctionId;
}

/// The names of a function in records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FunctionNames<'n> {
    pub(crate) name: Option<&'n str>,
    pub(crate) file: Option<&'n str>,
    pub(crate) obj: Option<&'n str>,
    /// In a graph from stacks, the number of outer frames of the same function. Each recursion level is a separate function.
    pub(crate) outer_levels: usize,
}

/// A function.
#[derive(Debug, Default)]
pub(crate) struct GraphFunction<'n> {
    /// Self cost, one entry per column.
    pub(crate) cost: Vec<Count>,
    /// Inclusive cost, if known.
    pub(crate) incl: Option<Vec<Count>>,
    /// True if the function is in a cycle whose members share one inclusive cost.
    pub(crate) is_in_cycle: bool,
    /// Self costs by line, if known; they are part of `cost`.
    pub(crate) lines: Vec<LineCost<'n>>,
    /// The calls that it makes.
    pub(crate) arcs: Vec<GraphArc<'n>>,
}

/// The self cost of a line.
#[derive(Debug)]
pub(crate) struct LineCost<'n> {
    pub(crate) file: Option<&'n str>,
    pub(crate) line: u64,
    pub(crate) cost: Vec<Count>,
}

/// The calls from one place to one function.
#[derive(Clone, Debug)]
pub(crate) struct GraphArc<'n> {
    pub(crate) callee: GraphFunctionId,
    /// The file of the call site, if it differs from the file of the caller.
    pub(crate) site: Option<&'n str>,
    /// 0 if unknown.
    pub(crate) line: u64,
    pub(crate) calls: Count,
    pub(crate) incl: Vec<Count>,
}

/// The profile or diff for a graph, with the names to write.
pub(crate) struct GraphSource<'a> {
    profile: &'a Profile,
    holds: &'static FormatHolds,
    /// The diff, if the profile contains one.
    diffs: Option<Box<Diffs<'a>>>,
    names: WrittenNames,
    /// If there are no functions: the stacks for the graph, and the columns of their counts.
    stacks: Option<Box<(StackRows, Vec<String>)>>,
}

impl<'a> GraphSource<'a> {
    /// Selects the profile, its diff or its stacks. `holds` has the name of the format and the properties of stacks that it
    /// can hold.
    ///
    /// # Errors
    /// Returns an error if an option selects or transforms records.
    pub(crate) fn new(
        profile: &'a Profile,
        options: &Options,
        holds: &'static FormatHolds,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<GraphSource<'a>> {
        ensure!(
            options.shows_all_records(),
            "--tree, --source, --by, --group-by, --sort, --top and --columns are for tables: a format for other viewers has all functions"
        );
        let diffs =
            diff::is_wanted(profile, options).then(|| Box::new(Diffs::new(profile, options)));
        let stacks = match needs_stacks(profile, diffs.as_deref(), options) {
            true => Some(Box::new(read_stacks(profile, options, holds, diagnostics)?)),
            false => None,
        };
        // Inlined functions in stacks are functions of the graph.
        if options.inline && stacks.is_none() {
            diagnostics.warn(format!(
                "--inline has no effect on {}: inlined functions are not in this format; -f html and -f json have them",
                holds.format
            ));
        }
        Ok(GraphSource {
            profile,
            holds,
            diffs,
            stacks,
            names: match options.stable_names {
                true => WrittenNames::stable(profile),
                false => WrittenNames::default(),
            },
        })
    }

    /// Returns a function with the names to write.
    fn written<'n>(&'n self, function: FunctionNames<'n>) -> FunctionNames<'n> {
        FunctionNames {
            name: function.name.map(|name| self.names.function(name)),
            file: function.file.map(|file| self.names.file(file)),
            obj: function.obj.map(|object| self.names.object(object)),
            ..FunctionNames::default()
        }
    }
}

/// Returns true if the graph has to be made from stacks: there are stacks, but no functions or calls.
fn needs_stacks(profile: &Profile, diffs: Option<&Diffs<'_>>, options: &Options) -> bool {
    let is_graph_record = |kind| matches!(kind, RecordType::Fn | RecordType::Call);
    match (options.kind, diffs) {
        (Some(kind), _) => kind.has_stack(),
        (None, Some(diffs)) => {
            let mut kinds = diffs
                .records
                .iter()
                .map(|record| RecordType::from_name(&record.of));
            let has_stacks = diffs.records.iter().any(|record| !record.stack.is_empty());
            has_stacks && !kinds.any(is_graph_record)
        }
        (None, None) => {
            profile.types().any(RecordType::has_stack) && !profile.types().any(is_graph_record)
        }
    }
}

/// Returns the stacks of a profile or a diff, and the columns of their counts.
fn read_stacks(
    profile: &Profile,
    options: &Options,
    holds: &'static FormatHolds,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(StackRows, Vec<String>)> {
    let stacks = WrittenStacks::select(profile, options, holds, diagnostics)?;
    let rows = StackRows::collect_frames(&stacks, |frame| Frame {
        name: Some(frame_name(frame).into_owned().into()),
        file: frame.file.clone(),
        line: frame.line,
        site: frame.site.clone(),
        obj: frame.obj.clone(),
        ..Frame::default()
    })?;
    rows.losses.warn(holds, diagnostics);
    let column = |column: usize| match &stacks.runs {
        None => stacks.event(column).to_owned(),
        Some(_) => format!("{}.{}", stacks.event(column), ["old", "new"][column % 2]),
    };
    let columns = (0..stacks.columns()).map(column).collect();
    Ok((rows, columns))
}

/// The representation of a recursive function in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecursionShape {
    /// Each recursion level is a separate function.
    ByLevel,
    /// All levels are one function, and each stack counts once for it.
    Folded,
}

/// Functions and calls.
pub(crate) struct DrawnGraph<'n> {
    /// The names of the columns: the events. In a diff, each event occurs with `.old` and with `.new`.
    pub(crate) columns: Vec<String>,
    functions: OrderedMap<FunctionNames<'n>, GraphFunction<'n>>,
    /// True if there are records of calls.
    pub(crate) has_calls: bool,
    /// The number of line records with an address, which is left out.
    pub(crate) addresses: usize,
    /// True if the graph was made from stacks.
    pub(crate) is_from_stacks: bool,
}

impl<'n> DrawnGraph<'n> {
    /// Builds the graph of a profile or diff.
    ///
    /// # Errors
    /// Returns an error if there are no functions, or if they lack a requested event.
    pub(crate) fn build(
        source: &'n GraphSource<'_>,
        options: &Options,
        recursion: RecursionShape,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<DrawnGraph<'n>> {
        match (&source.stacks, &source.diffs) {
            (Some(stacks), _) => Ok(stack_graph::build_graph(&stacks.0, &stacks.1, recursion)?),
            (None, None) => profile_graph(source, options),
            (None, Some(diffs)) => diff_graph(source, diffs, options, diagnostics),
        }
    }

    fn new(columns: Vec<String>) -> DrawnGraph<'n> {
        DrawnGraph {
            columns,
            functions: OrderedMap::default(),
            has_calls: false,
            addresses: 0,
            is_from_stacks: false,
        }
    }

    /// Iterates over all functions, in the order of their ids.
    pub(crate) fn all(
        &self,
    ) -> impl ExactSizeIterator<Item = (FunctionNames<'n>, &GraphFunction<'n>)> {
        self.functions
            .iter()
            .map(|(names, function)| (*names, function))
    }

    pub(crate) fn names(&self, function: GraphFunctionId) -> FunctionNames<'n> {
        let known = self.functions.get_index(function.index());
        known.map_or_else(FunctionNames::default, |(names, _)| *names)
    }

    /// Returns the sum of the self costs of each column.
    pub(crate) fn totals(&self) -> Vec<Count> {
        let mut totals = vec![0; self.columns.len()];
        for function in self.functions.values() {
            add_counts(&mut totals, &function.cost);
        }
        totals
    }

    /// Returns the position of the function with these names. Adds the function if it is new.
    fn function(&mut self, names: FunctionNames<'n>) -> Result<usize, TooMany> {
        let entry = self.functions.entry(names);
        let position = entry.index();
        GraphFunctionId::at(position)?;
        let columns = self.columns.len();
        entry.or_insert_with(|| GraphFunction {
            cost: vec![0; columns],
            ..GraphFunction::default()
        });
        Ok(position)
    }

    fn add_function(
        &mut self,
        names: FunctionNames<'n>,
        cost: &[Count],
        incl: Option<&[Count]>,
        is_in_cycle: bool,
    ) -> Result<(), TooMany> {
        let position = self.function(names)?;
        let function = &mut self.functions[position];
        add_counts(&mut function.cost, cost);
        if let Some(incl) = incl {
            add_counts(
                function.incl.get_or_insert_with(|| vec![0; cost.len()]),
                incl,
            );
        }
        function.is_in_cycle |= is_in_cycle;
        Ok(())
    }

    fn add_arc(
        &mut self,
        caller: FunctionNames<'n>,
        callee: FunctionNames<'n>,
        arc: GraphArc<'n>,
    ) -> Result<(), TooMany> {
        let callee = GraphFunctionId::at(self.function(callee)?)?;
        let caller = self.function(caller)?;
        self.has_calls = true;
        self.functions[caller].arcs.push(GraphArc { callee, ..arc });
        Ok(())
    }
}

fn profile_graph<'n>(
    source: &'n GraphSource<'_>,
    options: &Options,
) -> anyhow::Result<DrawnGraph<'n>> {
    let profile = source.profile;
    let functions = profile.table(RecordType::Fn);
    let calls = profile.table(RecordType::Call);
    if functions.is_empty() && calls.is_empty() {
        bail!("there are no functions: this format needs fn or call records");
    }
    let names: Vec<&str> = profile.events().iter().map(String::as_str).collect();
    let is_counted = |event: &usize| functions.counts(*event);
    let events = choose(&names, options, source.holds, is_counted)?;
    let pick = |counts: &[Count]| -> Vec<Count> {
        events
            .iter()
            .map(|event| counts.get(*event).copied().unwrap_or(0))
            .collect()
    };
    let names_of = |key: FunctionKey| {
        source.written(FunctionNames {
            name: profile.text(key.name),
            file: profile.text(key.file),
            obj: profile.text(key.obj),
            ..FunctionNames::default()
        })
    };
    let mut graph = DrawnGraph::new(
        events
            .iter()
            .map(|event| names[*event].to_owned())
            .collect(),
    );
    for (row, key) in functions.keys().enumerate() {
        let incl = functions.incl(row).map(&pick);
        let is_in_cycle = functions.numbers().cycle.get(row).is_some();
        graph.add_function(
            names_of(key.function),
            &pick(functions.cost(row)),
            incl.as_deref(),
            is_in_cycle,
        )?;
    }
    for (row, key) in calls.keys().enumerate() {
        let arc = GraphArc {
            callee: GraphFunctionId::FIRST,
            site: profile.text(key.site).map(|site| source.names.file(site)),
            line: key.line.unwrap_or(0),
            calls: calls.calls(row),
            incl: pick(calls.incl(row).unwrap_or_default()),
        };
        graph.add_arc(
            names_of(key.function),
            names_of(key.callee.unwrap_or_default()),
            arc,
        )?;
    }
    add_lines(&mut graph, source, pick);
    Ok(graph)
}

/// Assigns the costs of lines to functions. A line record has the file of the line, not of the function. So if several
/// functions have the same name and object, the function in the line's file gets the cost. Skips lines without a matching
/// function.
fn add_lines<'n>(
    graph: &mut DrawnGraph<'n>,
    source: &'n GraphSource<'_>,
    pick: impl Fn(&[Count]) -> Vec<Count>,
) {
    let profile = source.profile;
    let lines = profile.table(RecordType::Line);
    if lines.is_empty() {
        return;
    }
    type Named<'n> = (Option<&'n str>, Option<&'n str>);
    let mut named: OrderedMap<Named<'n>, Vec<usize>> = OrderedMap::default();
    for (position, names) in graph.functions.keys().enumerate() {
        named
            .entry((names.name, names.obj))
            .or_default()
            .push(position);
    }
    let mut sums: OrderedMap<(usize, Option<&'n str>, u64), Vec<Count>> = OrderedMap::default();
    for (row, key) in lines.keys().enumerate() {
        graph.addresses += usize::from(key.addr.is_some());
        let names = source.written(FunctionNames {
            name: profile.text(key.function.name),
            file: profile.text(key.function.file),
            obj: profile.text(key.function.obj),
            ..FunctionNames::default()
        });
        let (name, file) = ((names.name, names.obj), names.file);
        let position = match named.get(&name).map(Vec::as_slice) {
            Some([position]) => *position,
            Some(positions) => {
                let names = |position: usize| {
                    graph
                        .functions
                        .get_index(position)
                        .map(|(names, _)| names.file)
                };
                let Some(position) = positions
                    .iter()
                    .find(|position| names(**position) == Some(file))
                else {
                    continue;
                };
                *position
            }
            None => continue,
        };
        let sum = sums.entry((position, file, key.line.unwrap_or(0)));
        let cost = pick(lines.cost(row));
        add_counts(sum.or_insert_with(|| vec![0; cost.len()]), &cost);
    }
    for ((position, file, line), cost) in sums {
        graph.functions[position]
            .lines
            .push(LineCost { file, line, cost });
    }
    for function in graph.functions.values_mut() {
        let mut sum = vec![0; function.cost.len()];
        for line in &function.lines {
            add_counts(&mut sum, &line.cost);
        }
        // If the lines cost more than their function, they are not its breakdown: a filter removed records, or several
        // functions with the same names were merged.
        let is_breakdown = sum
            .iter()
            .zip(&function.cost)
            .all(|(sum, cost)| sum <= cost);
        if !is_breakdown {
            function.lines.clear();
        }
    }
}

fn diff_graph<'n>(
    source: &'n GraphSource<'_>,
    diffs: &'n Diffs<'_>,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<DrawnGraph<'n>> {
    let names = diffs.event_names();
    let is_counted = |event: &usize| {
        diffs.records.iter().any(|record| {
            let entries = record
                .cost
                .get(names[*event])
                .or(record.incl.get(names[*event]));
            entries.is_some_and(|entries| entries.0.iter().flatten().any(|count| *count != 0))
        })
    };
    let events = choose(&names, options, source.holds, is_counted)?;
    let compared = diffs.compared();
    let columns = events
        .iter()
        .flat_map(|event| ["old", "new"].map(|run| format!("{}.{run}", names[*event])));
    let mut graph = DrawnGraph::new(columns.collect());
    let pick = |counts: &CountsPerRun| -> Vec<Count> {
        let entry =
            |event: &usize, run: usize| counts.get(names[*event])?.0.get(run).copied().flatten();
        let both = |event: &usize| compared.map(|run| entry(event, run).unwrap_or(0));
        events.iter().flat_map(both).collect()
    };
    let mut others: OrderedSet<&str> = OrderedSet::default();
    for record in diffs.records.iter() {
        let function = source.written(names_of_diff(record));
        match RecordType::from_name(&record.of) {
            RecordType::Fn => {
                let incl = (!record.incl.is_empty()).then(|| pick(&record.incl));
                graph.add_function(function, &pick(&record.cost), incl.as_deref(), false)?;
            }
            RecordType::Call => {
                let calls =
                    compared.map(|run| record.calls.0.get(run).copied().flatten().unwrap_or(0));
                let arc = GraphArc {
                    callee: GraphFunctionId::FIRST,
                    site: record.site.as_deref(),
                    line: record.line.unwrap_or(0),
                    calls: calls[1].max(calls[0]),
                    incl: pick(&record.incl),
                };
                let callee = record
                    .callee
                    .as_deref()
                    .map_or_else(FunctionNames::default, |callee| {
                        source.written(names_of_callee(callee))
                    });
                graph.add_arc(function, callee, arc)?;
            }
            _ => {
                others.insert(record.of.as_str());
            }
        }
    }
    if graph.functions.is_empty() {
        let others: Vec<&str> = others.into_iter().collect();
        bail!(
            "the rows of this diff are {} records, but this format needs functions",
            others.join(" and ")
        );
    }
    diagnostics.warn(format!(
        "columns that end in .old have the counts of {}, columns that end in .new the counts of {}",
        diffs.run_name(compared[0]),
        diffs.run_name(compared[1])
    ));
    Ok(graph)
}

fn names_of_diff<'n>(record: &'n DiffRecord<'static>) -> FunctionNames<'n> {
    FunctionNames {
        name: record.name.as_deref(),
        file: record.file.as_deref(),
        obj: record.obj.as_deref(),
        ..FunctionNames::default()
    }
}

fn names_of_callee<'n>(callee: &'n FunctionName<'static>) -> FunctionNames<'n> {
    FunctionNames {
        name: callee.name.as_deref(),
        file: callee.file.as_deref(),
        obj: callee.obj.as_deref(),
        ..FunctionNames::default()
    }
}
