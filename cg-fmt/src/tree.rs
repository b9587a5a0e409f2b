//! Functions with their callers and callees: what `callgrind_annotate --tree` shows, from `call` records.
//!
//! A function's row is marked `*`. Above it stand its callers, marked `<`, below it its callees, marked `>`, each with
//! the number of calls and the inclusive cost of these calls. Arcs from several lines of one caller are added up.

use std::collections::HashMap;

use cg_stream::profile::{FunctionKey, Key, Profile};
use cg_stream::record::{Count, RecordType};

use crate::listing::{self, EventColumns};
use crate::options::{Options, View};
use crate::report;
use cg_document::{Audience, Cell, Column, Cut, Layout, Table};

/// The arcs of a profile, added up by caller and callee.
pub(crate) struct Tree<'a> {
    profile: &'a Profile,
    arcs: Vec<Arc>,
    /// Functions and the arcs around them, in the order they are shown.
    rows: Vec<Row>,
    group_starts: Vec<usize>,
    /// How many functions were left out, and their self cost.
    pub(crate) cut: Option<Cut>,
}

struct Arc {
    caller: FunctionKey,
    callee: FunctionKey,
    calls: Count,
    incl: Vec<Count>,
}

#[derive(Clone, Copy)]
enum Row {
    /// A row of the profile's functions.
    Function(usize),
    /// An arc by which it is called.
    Caller(usize),
    /// An arc by which it calls.
    Callee(usize),
}

/// A function of one part and thread, where parts are kept apart.
type End = (FunctionKey, Option<u64>, Option<u64>);

impl<'a> Tree<'a> {
    /// The tree for the top functions, by inclusive cost where nothing else is asked for.
    ///
    /// # Errors
    /// Where there are no `call` records to make it of, and where the options name columns that there are not.
    pub(crate) fn of(
        profile: &'a Profile,
        events: &EventColumns,
        options: &Options,
    ) -> anyhow::Result<Tree<'a>> {
        let View::Tree { callers, callees } = options.view else {
            anyhow::bail!("not asked for a tree");
        };
        anyhow::ensure!(
            !profile.table(RecordType::Call).is_empty(),
            "the input has no call records to show a tree of; cg-parse --calls writes them, where the profile has calls"
        );
        let arcs = Arcs::of(profile);
        let functions = profile.table(RecordType::Fn);
        let mut table = listing::table(profile, RecordType::Fn, events);
        let first = events.first().map(|event| event.name.as_str());
        let sorted = Options {
            sort: Some(options.sort.clone().unwrap_or_else(|| "incl".to_owned())),
            columns: Vec::new(),
            ..options.clone()
        };
        let cut = report::arrange(&mut table, first, Some("self"), &sorted)?;
        let order = arcs.order(profile, events.first().map_or(0, |event| event.index));
        let mut tree = Tree {
            profile,
            arcs: Vec::new(),
            rows: Vec::new(),
            group_starts: Vec::new(),
            cut,
        };
        for row in table.rows {
            if !tree.rows.is_empty() {
                tree.group_starts.push(tree.rows.len());
            }
            let end = end_of(functions.key(row), functions.key(row).function);
            if callers && let Some(incoming) = arcs.incoming.get(&end) {
                tree.push_arcs(incoming, &order, Row::Caller);
            }
            tree.rows.push(Row::Function(row));
            if callees && let Some(outgoing) = arcs.outgoing.get(&end) {
                tree.push_arcs(outgoing, &order, Row::Callee);
            }
        }
        tree.arcs = arcs.arcs;
        Ok(tree)
    }

    fn push_arcs(&mut self, arcs: &[usize], order: &[usize], row: fn(usize) -> Row) {
        let mut arcs = arcs.to_vec();
        arcs.sort_by_key(|arc| order[*arc]);
        self.rows.extend(arcs.into_iter().map(row));
    }

    /// The tree as a table.
    pub(crate) fn table(
        &self,
        events: &EventColumns,
        options: &Options,
    ) -> anyhow::Result<Table<'_>> {
        let functions = self.profile.table(RecordType::Fn);
        let mut columns = Vec::new();
        listing::push_events(&mut columns, events, "", move |row| match self.rows[row] {
            Row::Function(row) => Some(functions.cost(row)),
            Row::Caller(_) | Row::Callee(_) => None,
        });
        listing::push_events(&mut columns, events, "incl.", move |row| {
            match self.rows[row] {
                Row::Function(row) => functions.incl(row),
                Row::Caller(arc) | Row::Callee(arc) => Some(&self.arcs[arc].incl[..]),
            }
        });
        columns.push(
            Column::new("role", Layout::Text, move |row| {
                let mark = match self.rows[row] {
                    Row::Caller(_) => "<",
                    Row::Function(_) => "*",
                    Row::Callee(_) => ">",
                };
                Cell::Text(mark.into())
            })
            .titled(""),
        );
        let key = move |row: usize| match self.rows[row] {
            Row::Function(row) => functions.key(row).function,
            Row::Caller(arc) => self.arcs[arc].caller,
            Row::Callee(arc) => self.arcs[arc].callee,
        };
        listing::push_function(&mut columns, "", key, self.profile);
        if let Some(column) = columns.iter_mut().find(|column| column.name == "fn") {
            *column = Column::new("fn", Layout::Name, move |row| {
                let name = self.profile.text(key(row).name).unwrap_or("???");
                match self.rows[row] {
                    Row::Function(_) => Cell::Name(name),
                    Row::Caller(arc) | Row::Callee(arc) => Cell::Called {
                        name,
                        calls: self.arcs[arc].calls,
                    },
                }
            })
            .titled("function");
        }
        listing::set_totals(&mut columns, events);
        let mut table = Table::new(columns, (0..self.rows.len()).collect());
        table.group_starts.clone_from(&self.group_starts);
        if options.columns.is_empty() {
            table.choose_for(Audience::People);
        } else {
            table.choose(&options.columns)?;
        }
        Ok(table)
    }
}

/// All arcs, and which of them lead to and from each function.
#[derive(Default)]
struct Arcs {
    arcs: Vec<Arc>,
    incoming: HashMap<End, Vec<usize>>,
    outgoing: HashMap<End, Vec<usize>>,
}

impl Arcs {
    fn of(profile: &Profile) -> Arcs {
        let rows = profile.table(RecordType::Call);
        let mut arcs = Arcs::default();
        let mut index: HashMap<(End, FunctionKey), usize> = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            let callee = key.callee.unwrap_or_default();
            let caller = end_of(key, key.function);
            let arc = *index.entry((caller, callee)).or_insert_with(|| {
                arcs.arcs.push(Arc {
                    caller: key.function,
                    callee,
                    calls: 0,
                    incl: vec![0; profile.events().len()],
                });
                let arc = arcs.arcs.len() - 1;
                arcs.outgoing.entry(caller).or_default().push(arc);
                arcs.incoming
                    .entry(end_of(key, callee))
                    .or_default()
                    .push(arc);
                arc
            });
            let sum = &mut arcs.arcs[arc];
            sum.calls += rows.calls(row);
            for (sum, count) in sum.incl.iter_mut().zip(rows.incl(row).unwrap_or_default()) {
                *sum += count;
            }
        }
        arcs
    }

    /// The place of each arc among all: by inclusive cost, largest first, then by the names of both ends.
    fn order(&self, profile: &Profile, event: usize) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.arcs.len()).collect();
        let cost = |arc: &Arc| arc.incl.get(event).copied().unwrap_or(0);
        sorted.sort_by(|a, b| {
            let (a, b) = (&self.arcs[*a], &self.arcs[*b]);
            cost(b)
                .cmp(&cost(a))
                .then_with(|| listing::order_of_functions(profile, &a.caller, &b.caller))
                .then_with(|| listing::order_of_functions(profile, &a.callee, &b.callee))
        });
        let mut places = vec![0; sorted.len()];
        for (place, arc) in sorted.into_iter().enumerate() {
            places[arc] = place;
        }
        places
    }
}

fn end_of(key: &Key, function: FunctionKey) -> End {
    (function, key.part, key.thread)
}
