//! The call graph that graph formats write: functions and the calls between them, of a profile or of a diff. A diff has
//! the counts of both runs side by side.

use anyhow::{bail, ensure};
use cg_stream::intern::{Id, TooMany};
use cg_stream::maps::{OrderedMap, OrderedSet};
use cg_stream::profile::{FunctionKey, Profile};
use cg_stream::record::{
    Count, CountsPerRun, DiffRecord, Frame, FunctionName, RecordType, add_counts,
};
use cg_stream::tool::Diagnostics;

use super::holds::{FormatHolds, choose};
use super::names::WrittenNames;
use super::stacks::{StackRows, WrittenStacks, frame_name};
use crate::options::Options;
use crate::report::diff::{self, Diffs};

mod recursion;
mod stack_graph;

cg_stream::ids! {
    pub(crate) struct GraphFunctionId;
}

/// A function as records name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FunctionNames<'n> {
    pub(crate) name: Option<&'n str>,
    pub(crate) file: Option<&'n str>,
    pub(crate) obj: Option<&'n str>,
    /// How often it is in the stack already, where stacks were made a graph: each level is a function of its own.
    pub(crate) outer_levels: usize,
}

/// A function.
#[derive(Debug, Default)]
pub(crate) struct GraphFunction<'n> {
    /// Self cost, an entry a column.
    pub(crate) cost: Vec<Count>,
    /// Inclusive cost, where it is known.
    pub(crate) incl: Option<Vec<Count>>,
    /// The function is in a cycle whose members' inclusive costs cannot be told apart.
    pub(crate) is_in_cycle: bool,
    /// Self costs by line, where they are known; they are part of `cost`.
    pub(crate) lines: Vec<LineCost<'n>>,
    /// The calls that it makes.
    pub(crate) arcs: Vec<GraphArc<'n>>,
}

/// Self cost of a line.
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
    /// The file of the call site, where it is not that of the caller.
    pub(crate) site: Option<&'n str>,
    /// 0 where it is not known.
    pub(crate) line: u64,
    pub(crate) calls: Count,
    pub(crate) incl: Vec<Count>,
}

/// The profile or diff that a graph is made of, with the names to write.
pub(crate) struct GraphSource<'a> {
    profile: &'a Profile,
    holds: &'static FormatHolds,
    /// The diff in the profile, where it is one.
    diffs: Option<Box<Diffs<'a>>>,
    names: WrittenNames,
    /// Where there are no functions: the stacks that the graph is made of, and the columns of their counts.
    stacks: Option<Box<(StackRows, Vec<String>)>>,
}

impl<'a> GraphSource<'a> {
    /// The profile, or the diff in it. `holds` is what the format is called, and what it holds of stacks.
    ///
    /// # Errors
    /// If an option selects or transforms records.
    pub(crate) fn of(
        profile: &'a Profile,
        options: &Options,
        holds: &'static FormatHolds,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<GraphSource<'a>> {
        ensure!(
            options.is_of_all_records(),
            "a format for other viewers has all functions: --tree, --source, --by, --group-by, --sort, --top and --columns are for tables"
        );
        let diffs =
            diff::is_wanted(profile, options).then(|| Box::new(Diffs::of(profile, options)));
        let stacks = match is_of_stacks(profile, diffs.as_deref(), options) {
            true => Some(Box::new(stacks_of(profile, options, holds, diagnostics)?)),
            false => None,
        };
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

    /// A function as it is written.
    fn written<'n>(&'n self, function: FunctionNames<'n>) -> FunctionNames<'n> {
        FunctionNames {
            name: function.name.map(|name| self.names.function(name)),
            file: function.file.map(|file| self.names.file(file)),
            obj: function.obj.map(|object| self.names.object(object)),
            ..FunctionNames::default()
        }
    }
}

/// Whether a graph has to be made of stacks: there are some, and no functions or calls.
fn is_of_stacks(profile: &Profile, diffs: Option<&Diffs<'_>>, options: &Options) -> bool {
    let is_of_graph = |kind| matches!(kind, RecordType::Fn | RecordType::Call);
    match (options.kind, diffs) {
        (Some(kind), _) => kind.has_stack(),
        (None, Some(diffs)) => {
            let mut kinds = diffs
                .records
                .iter()
                .map(|record| RecordType::from_name(&record.of));
            let has_stacks = diffs.records.iter().any(|record| !record.stack.is_empty());
            has_stacks && !kinds.any(is_of_graph)
        }
        (None, None) => {
            profile.types().any(RecordType::has_stack) && !profile.types().any(is_of_graph)
        }
    }
}

/// The stacks of a profile or a diff, and the columns of their counts.
fn stacks_of(
    profile: &Profile,
    options: &Options,
    holds: &'static FormatHolds,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(StackRows, Vec<String>)> {
    let stacks = WrittenStacks::of(profile, options, holds, diagnostics)?;
    let rows = StackRows::of_frames(&stacks, |frame| Frame {
        name: Some(frame_name(frame).into_owned().into()),
        file: frame.file.clone(),
        line: frame.line,
        site: frame.site.clone(),
        obj: frame.obj.clone(),
        ..Frame::default()
    })?;
    rows.losses.say(holds, diagnostics);
    let column = |column: usize| match &stacks.runs {
        None => stacks.event_of(column).to_owned(),
        Some(_) => format!("{}.{}", stacks.event_of(column), ["old", "new"][column % 2]),
    };
    let columns = (0..stacks.columns()).map(column).collect();
    Ok((rows, columns))
}

/// What becomes of a function that is in a stack several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecursionShape {
    /// Each level is a function of its own.
    ByLevel,
    /// It is one, which the stack counts in once.
    Folded,
}

/// Functions and calls.
pub(crate) struct DrawnGraph<'n> {
    /// The names of the columns: the events; a diff has each event with `.old` and with `.new`.
    pub(crate) columns: Vec<String>,
    functions: OrderedMap<FunctionNames<'n>, GraphFunction<'n>>,
    /// Whether there are records of calls.
    pub(crate) has_calls: bool,
    /// How many lines had an address, which is left out.
    pub(crate) addresses: usize,
    /// It was made of stacks.
    pub(crate) is_of_stacks: bool,
}

impl<'n> DrawnGraph<'n> {
    /// The graph of what was read.
    ///
    /// # Errors
    /// Where there are no functions, or the events are not theirs.
    pub(crate) fn of(
        source: &'n GraphSource<'_>,
        options: &Options,
        recursion: RecursionShape,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<DrawnGraph<'n>> {
        match (&source.stacks, &source.diffs) {
            (Some(stacks), _) => Ok(stack_graph::of(&stacks.0, &stacks.1, recursion)?),
            (None, None) => of_profile(source, options),
            (None, Some(diffs)) => of_diff(source, diffs, options, diagnostics),
        }
    }

    fn new(columns: Vec<String>) -> DrawnGraph<'n> {
        DrawnGraph {
            columns,
            functions: OrderedMap::default(),
            has_calls: false,
            addresses: 0,
            is_of_stacks: false,
        }
    }

    /// All functions, in the order of their ids.
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

    /// The sum of self costs, by column.
    pub(crate) fn totals(&self) -> Vec<Count> {
        let mut totals = vec![0; self.columns.len()];
        for function in self.functions.values() {
            add_counts(&mut totals, &function.cost);
        }
        totals
    }

    /// The function with these names, new or known.
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

fn of_profile<'n>(
    source: &'n GraphSource<'_>,
    options: &Options,
) -> anyhow::Result<DrawnGraph<'n>> {
    let profile = source.profile;
    let functions = profile.table(RecordType::Fn);
    let calls = profile.table(RecordType::Call);
    if functions.is_empty() && calls.is_empty() {
        bail!("there are no functions: fn and call records are what this format is made of");
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
    for (row, key) in functions.keys().iter().enumerate() {
        let incl = functions.incl(row).map(&pick);
        let is_in_cycle = functions.numbers().cycle.get(row).is_some();
        graph.add_function(
            names_of(key.function),
            &pick(functions.cost(row)),
            incl.as_deref(),
            is_in_cycle,
        )?;
    }
    for (row, key) in calls.keys().iter().enumerate() {
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

/// Assigns the line costs to functions. A line names its own file, not that of its function, so of several functions of
/// one name and object the one in the line's file gets it. Lines that match no function are left out.
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
    for (row, key) in lines.keys().iter().enumerate() {
        graph.addresses += usize::from(key.addr.is_some());
        let of_line = source.written(FunctionNames {
            name: profile.text(key.function.name),
            file: profile.text(key.function.file),
            obj: profile.text(key.function.obj),
            ..FunctionNames::default()
        });
        let (name, file) = ((of_line.name, of_line.obj), of_line.file);
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
        // Lines that cost more than their function are no breakdown of it: records were filtered, or merged where
        // nothing tells them apart.
        let is_account = sum
            .iter()
            .zip(&function.cost)
            .all(|(sum, cost)| sum <= cost);
        if !is_account {
            function.lines.clear();
        }
    }
}

fn of_diff<'n>(
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
            "the rows of this diff are of {} records: this format is made of functions",
            others.join(" and ")
        );
    }
    diagnostics.warn(format!(
        "the counts of {} are columns that end in .old, those of {} in .new",
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
