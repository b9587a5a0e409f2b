//! The call graph that graph formats write: functions and the calls between them, of a profile or of a diff. A diff has
//! the counts of both runs side by side.

use anyhow::{bail, ensure};
use cg_stream::intern::{Id, TooMany};
use cg_stream::profile::{FunctionKey, Profile};
use cg_stream::record::{Count, CountsPerRun, DiffRecord, FunctionName, RecordType};
use cg_stream::tool::Diagnostics;
use foldhash::fast::FixedState;
use indexmap::{IndexMap, IndexSet};

use super::events::{Holds, choose};
use super::names::WrittenNames;
use crate::options::Options;
use crate::report::diff::{self, Diffs};

cg_stream::ids! {
    pub(crate) struct GraphFunctionId;
}

/// A function as records name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FunctionNames<'n> {
    pub(crate) name: Option<&'n str>,
    pub(crate) file: Option<&'n str>,
    pub(crate) obj: Option<&'n str>,
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
    /// The diff in the profile, where it is one.
    diffs: Option<Box<Diffs<'a>>>,
    names: WrittenNames,
}

impl<'a> GraphSource<'a> {
    /// The profile, or the diff in it.
    ///
    /// # Errors
    /// If an option selects or transforms records.
    pub(crate) fn of(profile: &'a Profile, options: &Options) -> anyhow::Result<GraphSource<'a>> {
        ensure!(
            options.is_of_all_records(),
            "a format for other viewers has all functions: --tree, --source, --by, --group-by, --sort, --top and --columns are for tables"
        );
        Ok(GraphSource {
            profile,
            diffs: diff::is_wanted(profile, options).then(|| Box::new(Diffs::of(profile, options))),
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
        }
    }
}

/// Functions and calls.
pub(crate) struct DrawnGraph<'n> {
    /// The names of the columns: the events; a diff has each event with `.old` and with `.new`.
    pub(crate) columns: Vec<String>,
    functions: IndexMap<FunctionNames<'n>, GraphFunction<'n>, FixedState>,
    /// Whether there are records of calls.
    pub(crate) has_calls: bool,
    /// How many lines had an address, which is left out.
    pub(crate) addresses: usize,
}

impl<'n> DrawnGraph<'n> {
    /// The graph of what was read.
    ///
    /// # Errors
    /// Where there are no functions, or the events are not theirs.
    pub(crate) fn of(
        source: &'n GraphSource<'_>,
        options: &Options,
        holds: Holds,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<DrawnGraph<'n>> {
        match &source.diffs {
            None => of_profile(source, options, holds),
            Some(diffs) => of_diff(source, diffs, options, holds, diagnostics),
        }
    }

    fn new(columns: Vec<String>) -> DrawnGraph<'n> {
        DrawnGraph {
            columns,
            functions: IndexMap::default(),
            has_calls: false,
            addresses: 0,
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
            add(&mut totals, &function.cost);
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
        add(&mut function.cost, cost);
        if let Some(incl) = incl {
            add(
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
    holds: Holds,
) -> anyhow::Result<DrawnGraph<'n>> {
    let profile = source.profile;
    let functions = profile.table(RecordType::Fn);
    let calls = profile.table(RecordType::Call);
    if functions.is_empty() && calls.is_empty() {
        bail!("there are no functions: fn and call records are what this format is made of");
    }
    let names: Vec<&str> = profile.events().iter().map(String::as_str).collect();
    let is_counted = |event: &usize| {
        (0..functions.len()).any(|row| {
            functions
                .cost(row)
                .get(*event)
                .is_some_and(|count| *count != 0)
        })
    };
    let events = choose(&names, options, holds, is_counted)?;
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
    let mut named: IndexMap<Named<'n>, Vec<usize>, FixedState> = IndexMap::default();
    for (position, names) in graph.functions.keys().enumerate() {
        named
            .entry((names.name, names.obj))
            .or_default()
            .push(position);
    }
    let mut sums: IndexMap<(usize, Option<&'n str>, u64), Vec<Count>, FixedState> =
        IndexMap::default();
    for (row, key) in lines.keys().iter().enumerate() {
        graph.addresses += usize::from(key.addr.is_some());
        let of_line = source.written(FunctionNames {
            name: profile.text(key.function.name),
            file: profile.text(key.function.file),
            obj: profile.text(key.function.obj),
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
        add(sum.or_insert_with(|| vec![0; cost.len()]), &cost);
    }
    for ((position, file, line), cost) in sums {
        graph.functions[position]
            .lines
            .push(LineCost { file, line, cost });
    }
    for function in graph.functions.values_mut() {
        let mut sum = vec![0; function.cost.len()];
        for line in &function.lines {
            add(&mut sum, &line.cost);
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
    holds: Holds,
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
    let events = choose(&names, options, holds, is_counted)?;
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
    let mut others: IndexSet<&str, FixedState> = IndexSet::default();
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
    }
}

fn names_of_callee<'n>(callee: &'n FunctionName<'static>) -> FunctionNames<'n> {
    FunctionNames {
        name: callee.name.as_deref(),
        file: callee.file.as_deref(),
        obj: callee.obj.as_deref(),
    }
}

impl DrawnGraph<'_> {
    /// How many functions have an inclusive cost that is not the sum of the calls into them or, if nothing calls them,
    /// of self cost and outgoing calls. Functions in cycles do not count, since viewers compute these as the stream
    /// does.
    pub(crate) fn with_other_inclusive_cost(&self) -> usize {
        let columns = self.columns.len();
        let mut incoming: Vec<Option<Vec<Count>>> = vec![None; self.functions.len()];
        for (caller, function) in self.functions.values().enumerate() {
            // Arcs without counted calls, and calls of a function to itself, do not make it a called function.
            let is_call = |arc: &&GraphArc| arc.calls > 0 && arc.callee.index() != caller;
            for arc in function.arcs.iter().filter(is_call) {
                let sum = incoming[arc.callee.index()].get_or_insert_with(|| vec![0; columns]);
                add(sum, &arc.incl);
            }
        }
        let functions = self.functions.values().zip(incoming);
        let is_other = |(function, incoming): &(&GraphFunction, Option<Vec<Count>>)| {
            let outgoing = || {
                let mut sum = function.cost.clone();
                function
                    .arcs
                    .iter()
                    .for_each(|arc| add(&mut sum, &arc.incl));
                sum
            };
            let incl = function.incl.as_ref().filter(|_| !function.is_in_cycle);
            incl.is_some_and(|incl| *incl != incoming.clone().unwrap_or_else(outgoing))
        };
        functions.filter(is_other).count()
    }

    /// For each function, true if it can call itself, directly or through others, and its inclusive cost is that of its
    /// first level.
    pub(crate) fn recursive(&self) -> Vec<bool> {
        let callees: Vec<Vec<usize>> = self
            .functions
            .values()
            .map(|function| function.arcs.iter().map(|arc| arc.callee.index()).collect())
            .collect();
        let mut recursive = vec![false; callees.len()];
        for circle in circles(&callees) {
            for function in &circle {
                let is_in_cycle = self.functions[*function].is_in_cycle;
                let calls_itself = circle.len() > 1 || callees[*function].contains(function);
                recursive[*function] = calls_itself && !is_in_cycle;
            }
        }
        recursive
    }
}

/// The strongly connected components of a graph, by Tarjan's algorithm with an explicit stack, since a chain of calls
/// may be deeper than our own call stack.
fn circles(callees: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut number = vec![UNSEEN; callees.len()];
    let mut lowest = vec![UNSEEN; callees.len()];
    let mut is_open = vec![false; callees.len()];
    let mut open = Vec::new();
    let mut circles = Vec::new();
    let mut numbers = 0..;
    for root in 0..callees.len() {
        // The explicit stack: functions, and how many of their callees were visited.
        let mut way: Vec<(usize, usize)> = Vec::new();
        if number[root] == UNSEEN {
            way.push((root, 0));
        }
        while let Some((function, looked)) = way.pop() {
            if looked == 0 {
                number[function] = numbers.next().unwrap_or(UNSEEN);
                lowest[function] = number[function];
                is_open[function] = true;
                open.push(function);
            }
            if let Some(before) = looked.checked_sub(1) {
                let callee = callees[function][before];
                if is_open[callee] {
                    lowest[function] = lowest[function].min(lowest[callee]);
                }
            }
            if let Some(callee) = callees[function].get(looked) {
                way.push((function, looked + 1));
                if number[*callee] == UNSEEN {
                    way.push((*callee, 0));
                }
            } else if lowest[function] == number[function] {
                let begin = open.iter().rposition(|known| *known == function);
                let circle = open.split_off(begin.unwrap_or(0));
                for known in &circle {
                    is_open[*known] = false;
                }
                circles.push(circle);
            }
        }
    }
    circles
}

/// Adds counts column by column.
pub(crate) fn add(sums: &mut [Count], counts: &[Count]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_whatever_way_leads_into_them() {
        // 0 → 1 → 2 → 1, 2 → 3 → 3, 4 → 0, 5 → 6 → 7 → 5 and 5 → 7
        let callees = [
            vec![1],
            vec![2],
            vec![1, 3],
            vec![3],
            vec![0],
            vec![6, 7],
            vec![7],
            vec![5],
        ];
        let mut found = circles(&callees);
        found.iter_mut().for_each(|circle| circle.sort_unstable());
        found.sort();
        assert_eq!(
            found,
            [vec![0], vec![1, 2], vec![3], vec![4], vec![5, 6, 7]]
        );
        let chain: Vec<Vec<usize>> = (0..200_000).map(|at| vec![(at + 1) % 200_000]).collect();
        assert_eq!(circles(&chain).len(), 1);
    }
}
