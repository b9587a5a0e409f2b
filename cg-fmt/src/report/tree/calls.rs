//! Functions with their callers and callees: what `callgrind_annotate --tree` shows, from `call` records.
//!
//! A function's row is marked `*`. Above it stand its callers, marked `<`, below it its callees, marked `>`, each with
//! the number of calls and the inclusive cost of these calls. Arcs from several lines of one caller are added up.

use std::collections::HashMap;

use cg_document::{Block, Cell, Column, Cut, Document, Layout, Table};
use cg_stream::profile::{FunctionKey, Key, Profile};
use cg_stream::record::{Count, RecordType};

use crate::options::{Directions, Options};
use crate::report::columns::{order_of_functions, push_events, push_function, set_totals};
use crate::report::events::EventColumns;
use crate::report::{arrange, kinds, origin, records};

/// The arcs of a profile, added up by caller and callee.
pub(crate) struct CallTree<'a> {
    profile: &'a Profile,
    events: EventColumns,
    arcs: Vec<CallArc>,
    /// Functions and the arcs around them, in the order they are shown.
    rows: Vec<TreeRow>,
    group_starts: Vec<usize>,
    /// How many functions were left out, and their self cost.
    cut: Option<Cut>,
}

struct CallArc {
    caller: FunctionKey,
    callee: FunctionKey,
    calls: Count,
    incl: Vec<Count>,
}

#[derive(Clone, Copy)]
enum TreeRow {
    /// A row of the profile's functions.
    Function(usize),
    /// An arc by which it is called.
    Caller(usize),
    /// An arc by which it calls.
    Callee(usize),
}

/// A function of one part and thread, where parts are kept apart.
type FunctionOfPart = (FunctionKey, Option<u64>, Option<u64>);

impl<'a> CallTree<'a> {
    /// The tree for the top functions, by inclusive cost where nothing else is asked for.
    ///
    /// # Errors
    /// Where there are no `call` records to make it of, and where the options name columns that there are not.
    pub(super) fn of(
        profile: &'a Profile,
        directions: Directions,
        options: &Options,
    ) -> anyhow::Result<CallTree<'a>> {
        let events = EventColumns::choose(profile, RecordType::Fn, options)?;
        anyhow::ensure!(
            !profile.table(RecordType::Call).is_empty(),
            "the input has no call records to show a tree of; cg-parse --calls writes them, where the profile has calls"
        );
        let arcs = CallArcs::of(profile);
        let functions = profile.table(RecordType::Fn);
        let mut table = records::table(profile, RecordType::Fn, &events);
        let first = events.first_name();
        let key = options.sort.as_deref().unwrap_or("incl");
        arrange::sort(&mut table, Some(key), first, options)?;
        let cut = arrange::cut(&mut table, options.rows(), Some("self"), first);
        let order = arcs.order(profile, events.first_index());
        let mut tree = CallTree {
            profile,
            events,
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
            if directions.callers
                && let Some(incoming) = arcs.incoming.get(&end)
            {
                tree.push_arcs(incoming, &order, TreeRow::Caller);
            }
            tree.rows.push(TreeRow::Function(row));
            if directions.callees
                && let Some(outgoing) = arcs.outgoing.get(&end)
            {
                tree.push_arcs(outgoing, &order, TreeRow::Callee);
            }
        }
        tree.arcs = arcs.arcs;
        Ok(tree)
    }

    fn push_arcs(&mut self, arcs: &[usize], order: &[usize], row: fn(usize) -> TreeRow) {
        let mut arcs = arcs.to_vec();
        arcs.sort_by_key(|arc| order[*arc]);
        self.rows.extend(arcs.into_iter().map(row));
    }

    pub(super) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let origin = origin::origin(self.profile);
        document.blocks.extend(origin.map(Block::Heading));
        let mut table = self.table();
        arrange::choose_columns(&mut table, self.events.first_name(), options)?;
        document.push(Block::Table(table));
        if let Some(cut) = &self.cut {
            let share = arrange::share(cut, &self.events);
            let noun = kinds::noun(RecordType::Fn, cut.rows);
            document.push(arrange::left_out(cut, noun, share));
        }
        document
            .blocks
            .extend(arrange::hidden(&self.events.hidden(), options));
        Ok(document)
    }

    fn table(&self) -> Table<'_> {
        let functions = self.profile.table(RecordType::Fn);
        let mut columns = Vec::new();
        push_events(&mut columns, &self.events, "", move |row| {
            match self.rows[row] {
                TreeRow::Function(row) => Some(functions.cost(row)),
                TreeRow::Caller(_) | TreeRow::Callee(_) => None,
            }
        });
        push_events(&mut columns, &self.events, "incl.", move |row| {
            match self.rows[row] {
                TreeRow::Function(row) => functions.incl(row),
                TreeRow::Caller(arc) | TreeRow::Callee(arc) => Some(&self.arcs[arc].incl[..]),
            }
        });
        columns.push(
            Column::new("role", Layout::Text, move |row| {
                let mark = match self.rows[row] {
                    TreeRow::Caller(_) => "<",
                    TreeRow::Function(_) => "*",
                    TreeRow::Callee(_) => ">",
                };
                Cell::Text(mark.into())
            })
            .titled(""),
        );
        let key = move |row: usize| match self.rows[row] {
            TreeRow::Function(row) => functions.key(row).function,
            TreeRow::Caller(arc) => self.arcs[arc].caller,
            TreeRow::Callee(arc) => self.arcs[arc].callee,
        };
        push_function(&mut columns, "", key, self.profile);
        if let Some(column) = columns.iter_mut().find(|column| column.name == "fn") {
            *column = Column::new("fn", Layout::Name, move |row| {
                let name = self.profile.text(key(row).name).unwrap_or("???");
                match self.rows[row] {
                    TreeRow::Function(_) => Cell::Name(name),
                    TreeRow::Caller(arc) | TreeRow::Callee(arc) => Cell::Called {
                        name,
                        calls: self.arcs[arc].calls,
                    },
                }
            })
            .titled("function");
        }
        set_totals(&mut columns, &self.events);
        let mut table = Table::new(columns, (0..self.rows.len()).collect());
        table.group_starts.clone_from(&self.group_starts);
        table
    }
}

/// All arcs, and which of them lead to and from each function.
#[derive(Default)]
struct CallArcs {
    arcs: Vec<CallArc>,
    incoming: HashMap<FunctionOfPart, Vec<usize>>,
    outgoing: HashMap<FunctionOfPart, Vec<usize>>,
}

impl CallArcs {
    fn of(profile: &Profile) -> CallArcs {
        let rows = profile.table(RecordType::Call);
        let mut arcs = CallArcs::default();
        let mut index: HashMap<(FunctionOfPart, FunctionKey), usize> = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            let callee = key.callee.unwrap_or_default();
            let caller = end_of(key, key.function);
            let arc = *index.entry((caller, callee)).or_insert_with(|| {
                arcs.arcs.push(CallArc {
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
        let cost = |arc: &CallArc| arc.incl.get(event).copied().unwrap_or(0);
        sorted.sort_by(|a, b| {
            let (a, b) = (&self.arcs[*a], &self.arcs[*b]);
            cost(b)
                .cmp(&cost(a))
                .then_with(|| order_of_functions(profile, &a.caller, &b.caller))
                .then_with(|| order_of_functions(profile, &a.callee, &b.callee))
        });
        let mut places = vec![0; sorted.len()];
        for (place, arc) in sorted.into_iter().enumerate() {
            places[arc] = place;
        }
        places
    }
}

fn end_of(key: &Key, function: FunctionKey) -> FunctionOfPart {
    (function, key.part, key.thread)
}
