//! The rows of a page: the rows of `-f csv` in the same order, with all their columns.

use std::cmp::Reverse;

use cg_collections::maps::OrderedSet;
use cg_document::number::percent;
use cg_document::{Cell, Column, Layout, Table, UnknownColumn, short_name};
use cg_names::code_origin::CodeOwner;
use cg_names::paths::base_name;
use cg_profile::{Profile, Rows};
use cg_stream::record::{Count, DiffRecord, RecordType};
use cg_viewer::{PageData, PageText};
use serde_json::{Value, json};

use super::functions::{FunctionsOf, PageFunction, PageFunctions};
use crate::options::Options;
use crate::report::columns::CODE;
use crate::report::diff::{self, Diffs};
use crate::report::events::EventColumns;
use crate::report::inlined::InlinedListing;
use crate::report::totals::Totals;
use crate::report::{kinds, records, samples};

// These columns have a fixed place in the data of a page, like the figures.
const CALLS: [&str; 3] = ["calls", "calls.old", "calls.new"];
const ORDINALS: [&str; 2] = ["line", "snapshot"];
const WORDS: [&str; 3] = ["kind", "what", "status"];
const OF_FUNCTION: [&str; 4] = ["fn", "file", "obj", CODE];

/// The source of the rows. It outlives their tables.
pub(super) enum RowSource<'a> {
    Diff(Box<Diffs<'a>>),
    /// Functions summed from the stacks of samples.
    Sampled(&'a Profile, Box<Rows>),
    Inlined(Box<InlinedListing<'a>>),
    Totals(Totals<'a>),
    Records(&'a Profile, Vec<RecordType>),
}

/// Tables one below the other, and all their events.
pub(super) struct PageRows<'t> {
    pub(super) tables: Vec<Table<'t>>,
    pub(super) kinds: Vec<RecordType>,
    /// The events of a diff that one of the compared runs does not count.
    pub(super) not_compared: Vec<String>,
    /// The names of events with their totals; in a diff, the totals of the old run and of the new run.
    pub(super) events: Vec<(String, Vec<Count>)>,
    is_diff: bool,
    /// The end of the names of the columns that rows of a diff are sorted by: `delta`, or `points` if shares are compared.
    pub(super) change: &'static str,
    /// The greatest change of a row between any two runs, if there are more than two.
    pub(super) greatest_spread: Option<Count>,
    /// True if the rows belong to several benchmarks.
    pub(super) is_suite: bool,
    /// In a diff, the parts of column names for each run.
    runs: Vec<String>,
    /// The positions of the two compared runs.
    compared: [usize; 2],
    /// The event of the heap's contents at snapshots, if the profile also has program points. It has separate rows.
    pub(super) levels: Option<String>,
}

/// The stacks of rows: their lengths, and their frames one after the other.
#[derive(Default)]
struct FramesOfRows {
    lengths: Vec<u64>,
    functions: Vec<PageFunction>,
    sites: Vec<u32>,
    lines: Vec<u64>,
}

impl FramesOfRows {
    fn push(&mut self, function: PageFunction, site: PageText, line: Option<u64>) {
        self.functions.push(function);
        self.sites.push(site.0);
        self.lines.push(line.unwrap_or(0));
    }

    fn write(self, data: &mut PageData) {
        data.numbers("k.length", self.lengths);
        data.numbers("k.fn", self.functions);
        data.numbers("k.site", self.sites);
        data.numbers("k.line", self.lines);
    }
}

impl<'a> RowSource<'a> {
    pub(super) fn choose(profile: &'a Profile, options: &Options) -> anyhow::Result<RowSource<'a>> {
        if diff::is_wanted(profile, options) {
            return Ok(RowSource::Diff(Box::new(Diffs::new(profile, options))));
        }
        if let Some(inlined) = InlinedListing::compute(profile, options)? {
            return Ok(RowSource::Inlined(Box::new(inlined)));
        }
        if let Some(totals) = Totals::compute(profile, options) {
            return Ok(RowSource::Totals(totals));
        }
        if samples::is_wanted(profile, options) {
            return Ok(RowSource::Sampled(
                profile,
                Box::new(profile.functions_of_stacks()?),
            ));
        }
        let mut kinds = kinds::listed(profile, options);
        let has_levels = !profile.table(RecordType::Heap).is_empty() && profile.runs().len() <= 1;
        if kinds == [RecordType::ProgramPoint] && has_levels {
            kinds.push(RecordType::Heap);
        }
        Ok(RowSource::Records(profile, kinds))
    }

    pub(super) fn rows(&self, options: &Options) -> anyhow::Result<PageRows<'_>> {
        let choose = |profile, kind| EventColumns::choose(profile, kind, options);
        let mut rows = PageRows {
            tables: Vec::new(),
            kinds: Vec::new(),
            events: Vec::new(),
            is_diff: matches!(self, RowSource::Diff(_)),
            change: "",
            greatest_spread: None,
            is_suite: matches!(self, RowSource::Diff(diffs) if diffs.is_suite),
            not_compared: Vec::new(),
            runs: Vec::new(),
            compared: [0; 2],
            levels: None,
        };
        match self {
            RowSource::Diff(diffs) => {
                let runs = diffs.compared();
                rows.runs = diffs.run_columns();
                rows.compared = runs;
                for event in diffs.event_names() {
                    if !diffs.is_compared(event) {
                        rows.not_compared.push(event.to_owned());
                    }
                    let total = |run: usize| diffs.event_total(event, run).unwrap_or(0);
                    rows.events.push((event.to_owned(), runs.map(total).into()));
                }
                let mut table = diffs.all_columns(options)?;
                rows.change = match diffs.is_by_shares() {
                    true => "points",
                    false => "delta",
                };
                rows.sort_by_change(&mut table)?;
                rows.tables.push(table);
            }
            RowSource::Sampled(profile, functions) => {
                let events = choose(profile, RecordType::Stack)?;
                rows.note(&events);
                let kind = RecordType::Fn;
                rows.tables
                    .push(records::rows_table(profile, functions, kind, &events));
            }
            RowSource::Inlined(inlined) => {
                rows.note(inlined.events());
                rows.tables.push(inlined.table());
            }
            // Each row has a different event.
            RowSource::Totals(totals) => rows.tables.push(totals.table()),
            RowSource::Records(profile, kinds) => {
                for kind in kinds {
                    let events = choose(profile, *kind)?;
                    rows.note(&events);
                    if *kind == RecordType::Heap && kinds.len() > 1 {
                        rows.levels = events.first_name().map(str::to_owned);
                    }
                    rows.tables.push(records::table(profile, *kind, &events));
                    rows.kinds.push(*kind);
                }
            }
        }
        Ok(rows)
    }
}

impl PageRows<'_> {
    fn note(&mut self, events: &EventColumns) {
        let first = events.first_name();
        let mut columns: Vec<_> = events.events.iter().collect();
        columns.sort_by_key(|event| Some(event.name.as_str()) != first);
        for event in columns {
            if !self.events.iter().any(|(known, _)| *known == event.name) {
                self.events.push((event.name.clone(), vec![event.whole]));
            }
        }
    }

    /// Sorts the rows of a diff by their change, with the greatest first: that between any two runs, if there are more than
    /// two. The input has one benchmark of a suite after the other.
    fn sort_by_change(&mut self, table: &mut Table<'_>) -> Result<(), UnknownColumn> {
        let Some((event, _)) = self.events.first() else {
            return Ok(());
        };
        if self.runs.len() <= 2 || self.change != "delta" {
            return table.sort(&format!("{event}.{}", self.change));
        }
        let columns = self.runs.iter().map(|run| format!("{event}.{run}"));
        let columns = columns.map(|name| table.column(&name));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let spread = |row: usize| {
            let counts = columns.iter().map(|run| counted(&run.cell(row)));
            let counts = || counts.clone().map(|count| count.unwrap_or(0));
            counts().max().unwrap_or(0) - counts().min().unwrap_or(0)
        };
        let mut sorted = table.rows.clone();
        sorted.sort_by_cached_key(|row| Reverse(spread(*row)));
        self.greatest_spread = sorted.first().map(|row| spread(*row));
        table.rows = sorted;
        Ok(())
    }

    /// Returns true if rows are errors and leaks, whose figures do not add up across kinds.
    pub(super) fn are_findings(&self) -> bool {
        let is_finding = |kind: &RecordType| matches!(kind, RecordType::Error | RecordType::Leak);
        self.kinds.iter().any(is_finding)
    }

    pub(super) fn len(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }

    /// Iterates over the cells of a column from top to bottom. Rows of tables without the column have empty cells.
    pub(super) fn cells<'s>(&'s self, name: &'s str) -> impl Iterator<Item = Cell<'s>> {
        self.tables.iter().flat_map(move |table| {
            let column = table.columns.iter().find(|column| column.name == name);
            let rows = table.rows.iter();
            rows.map(move |row| column.map_or(Cell::Empty, |column| column.cell(*row)))
        })
    }

    pub(super) fn counts(&self, name: &str) -> Option<Vec<Option<Count>>> {
        let counts: Vec<_> = self.cells(name).map(|cell| counted(&cell)).collect();
        counts.iter().any(Option::is_some).then_some(counts)
    }

    /// Writes the column as an array, if any row has an entry.
    fn write_counts(&self, column: &str, array: &str, data: &mut PageData) {
        if let Some(counts) = self.counts(column) {
            data.counts(array, &counts);
        }
    }

    fn write_texts(&self, column: &str, array: &str, data: &mut PageData) {
        let texts: Vec<PageText> = self
            .cells(column)
            .map(|cell| data.optional_text(borrowed_text(&cell)))
            .collect();
        if texts.iter().any(|text| *text != PageText::default()) {
            data.numbers(array, texts.iter().map(|text| text.0));
        }
    }

    /// Writes the function of each row.
    fn write_functions(&self, (functions, data): (&mut PageFunctions, &mut PageData)) {
        let mut ids = Vec::with_capacity(self.len());
        let columns = OF_FUNCTION.map(|name| self.cells(name));
        let [names, files, objects, owners] = columns;
        for (((name, file), object), owner) in names.zip(files).zip(objects).zip(owners) {
            let names = [name, file, object].map(|cell| data.optional_text(borrowed_text(&cell)));
            let owner = borrowed_text(&owner).and_then(CodeOwner::from_word);
            ids.push(functions.intern(names, || owner.unwrap_or(CodeOwner::Own)));
        }
        data.numbers("r.function", ids);
    }

    /// Writes all rows.
    pub(super) fn write(&self, functions: &mut PageFunctions, data: &mut PageData) {
        self.write_functions((functions, data));
        let count = self.len();
        data.header.insert("rows".to_owned(), count.into());
        for (position, (event, _)) in self.events.iter().enumerate() {
            let figures = match self.is_diff {
                false => [("self", event.clone()), ("incl", format!("incl.{event}"))].to_vec(),
                true => {
                    let [old, new] = self.compared.map(|run| &self.runs[run]);
                    [
                        ("old", format!("{event}.{old}")),
                        ("new", format!("{event}.{new}")),
                        ("incl.old", format!("incl.{event}.{old}")),
                        ("incl.new", format!("incl.{event}.{new}")),
                    ]
                    .to_vec()
                }
            };
            for (array, column) in figures {
                self.write_counts(&column, &format!("r.{array}.{position}"), data);
            }
            if self.runs.len() > 2 {
                for (number, run) in self.runs.iter().enumerate() {
                    let array = format!("r.run.{number}.{position}");
                    self.write_counts(&format!("{event}.{run}"), &array, data);
                }
            }
        }
        for name in CALLS {
            self.write_counts(name, &format!("r.{name}"), data);
        }
        if self.runs.len() > 2 {
            for (side, run) in ["old", "new"].iter().zip(self.compared) {
                let column = format!("calls.{}", self.runs[run]);
                self.write_counts(&column, &format!("r.calls.{side}"), data);
            }
        }
        for name in ORDINALS {
            if let Some(numbers) = self.counts(name) {
                data.ordinals(&format!("r.{name}"), &numbers);
            }
        }
        for name in WORDS {
            self.write_texts(name, &format!("r.{name}"), data);
        }
        self.write_others(data);
    }

    /// Writes the columns that have no fixed place in the data of a page.
    fn write_others(&self, data: &mut PageData) {
        let known = [&CALLS[..], &ORDINALS, &WORDS, &OF_FUNCTION].concat();
        let mut names: Vec<(&str, &str)> = Vec::new();
        for column in self.tables.iter().flat_map(|table| &table.columns) {
            let is_figure = |event: &str| {
                let name = column.name.strip_prefix("incl.").unwrap_or(&column.name);
                let rest = name.strip_prefix(event);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '%']))
            };
            let is_known = known.contains(&column.name.as_str())
                || (self.runs.len() > 2 && column.name.starts_with("calls."))
                || column.layout == Layout::Percent
                || self.events.iter().any(|(event, _)| is_figure(event))
                || names.iter().any(|(name, _)| *name == column.name);
            if !is_known {
                names.push((&column.name, &column.title));
            }
        }
        let mut listed: Vec<Value> = Vec::new();
        for (name, title) in names {
            let array = format!("x.{name}");
            if let Some(counts) = self.counts(name) {
                data.counts(&array, &counts);
                listed.push(json!([name, title, "count"]));
                continue;
            }
            let ratios: Vec<Option<Count>> =
                self.cells(name).map(|cell| hundredths(&cell)).collect();
            if ratios.iter().any(Option::is_some) {
                data.counts(&array, &ratios);
                listed.push(json!([name, title, "ratio"]));
                continue;
            }
            if self.cells(name).any(|cell| cell != Cell::Empty) {
                self.write_texts(name, &array, data);
                listed.push(json!([name, title, "text"]));
            }
        }
        data.header.insert("others".to_owned(), listed.into());
    }

    /// Writes the stack of each row of a diff of heaps, leaks or errors, with its lines. Samples are rows by function.
    pub(super) fn write_diff_stacks(
        &self,
        records: &[DiffRecord<'_>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        let mut stacks = FramesOfRows::default();
        for row in self.tables.iter().flat_map(|table| &table.rows) {
            let record = &records[*row];
            let stack = match *record.of == *RecordType::Stack.name() {
                true => &[][..],
                false => &record.stack,
            };
            stacks.lengths.push(stack.len() as u64);
            for frame in stack {
                let function = functions.intern_frame(frame, data);
                let site = data.optional_text(frame.site.as_deref());
                stacks.push(function, site, frame.line);
            }
        }
        if !stacks.functions.is_empty() {
            stacks.write(data);
        }
    }

    /// Writes the stack of each row with its lines, and the number of findings that a row stands for. Findings and allocations
    /// are identified by their stacks.
    pub(super) fn write_stacks(
        &self,
        profile: &Profile,
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        let mut known = FunctionsOf::new(profile, false);
        let mut stacks = FramesOfRows::default();
        let mut records: Vec<Option<Count>> = Vec::new();
        for (kind, table) in self.kinds.iter().zip(&self.tables) {
            for row in &table.rows {
                let stack = profile.table(*kind).key(*row).stack;
                // The stacks of heaps are written separately.
                let stack = stack.filter(|_| *kind != RecordType::Heap);
                let frames = profile.stacks().frames_of(stack);
                stacks.lengths.push(frames.len() as u64);
                records.push(profile.table(*kind).numbers().records.count(*row));
                for frame in frames.iter() {
                    let function = known.get(frame.function, functions, data);
                    let site = data.optional_text(profile.text(frame.site));
                    stacks.push(function, site, frame.line);
                }
            }
        }
        if records
            .iter()
            .any(|count| count.is_some_and(|count| count > 1))
        {
            data.ordinals("r.records", &records);
        }
        stacks.write(data);
    }

    /// Writes the number of the stack of each heap row, and each stack with its lines. Rows of two snapshots are joined by
    /// stack.
    pub(super) fn write_heap_stacks(
        &self,
        profile: &Profile,
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        if !self.kinds.contains(&RecordType::Heap) {
            return;
        }
        let heap = profile.table(RecordType::Heap);
        let mut stacks = OrderedSet::default();
        let mut numbers: Vec<Option<Count>> = Vec::with_capacity(self.len());
        for (kind, table) in self.kinds.iter().zip(&self.tables) {
            let mut stack = |row: &usize| stacks.insert_full(heap.key(*row).stack).0 as Count;
            let is_heap = *kind == RecordType::Heap;
            numbers.extend(table.rows.iter().map(|row| is_heap.then(|| stack(row))));
        }
        let mut known = FunctionsOf::new(profile, false);
        let (mut lengths, mut ids, mut lines) = (vec![], vec![], vec![]);
        for stack in stacks {
            let frames = profile.stacks().frames_of(stack);
            lengths.push(frames.len() as u64);
            for frame in frames.iter() {
                ids.push(known.get(frame.function, functions, data));
                lines.push(frame.line.unwrap_or(0));
            }
        }
        data.ordinals("r.stack", &numbers);
        data.numbers("h.length", lengths);
        data.numbers("h.fn", ids);
        data.numbers("h.line", lines);
    }

    /// Returns the first rows as a table, for browsers without scripts.
    pub(super) fn first(&self, rows: usize) -> Table<'static> {
        const NAMES: [&str; 8] = [
            "bench", "event", "kind", "what", "status", "fn", "file", "line",
        ];
        let (mut figures, mut shares, mut titles) = (Vec::new(), Vec::new(), Vec::new());
        // Heap snapshots are below program points, so show only the first table.
        let tables = match &self.levels {
            Some(_) => &self.tables[..1],
            None => &self.tables[..],
        };
        let all: usize = tables.iter().map(|table| table.rows.len()).sum();
        let rows = rows.min(all);
        for table in tables {
            let is_figure = |column: &&Column<'_>| match self.is_diff {
                true => column.name.ends_with(".delta"),
                false => column.layout == Layout::Number,
            };
            let Some(figure) = table.columns.iter().find(is_figure) else {
                continue;
            };
            let name = format!("{}%", figure.name);
            let share = table.columns.iter().find(|column| column.name == name);
            for row in table.rows.iter().take(rows - figures.len()) {
                figures.push(owned(figure.cell(*row)));
                let share = share.and_then(|share| share.cell(*row).percentage());
                let share = share.filter(|share| share.abs() >= LEAST_SHARE);
                // A text has no bar, which only the style of other pages draws.
                shares.push(share.map_or(Cell::Empty, |share| Cell::Text(percent(share).into())));
            }
            titles.push(figure.title.clone());
        }
        titles.dedup();
        let title = titles.join(", ");
        let mut columns = vec![
            column_with("cost", &title, Layout::Number, figures),
            column_with("%", "%", Layout::Percent, shares),
        ];
        for name in NAMES {
            if self.cells(name).any(|cell| owned(cell) != Cell::Empty) {
                let cells = self.cells(name).take(rows).map(owned);
                let cells = cells.map(|cell| shortened(name, cell)).collect();
                let layout = match name {
                    "fn" => Layout::Name,
                    "file" | "obj" => Layout::Path,
                    "line" => Layout::Number,
                    _ => Layout::Text,
                };
                columns.push(column_with(name, name, layout, cells));
            }
        }
        Table::new(columns, (0..rows).collect())
    }
}

/// Makes a column from cells.
fn column_with(
    name: &str,
    title: &str,
    layout: Layout,
    cells: Vec<Cell<'static>>,
) -> Column<'static> {
    let cell = move |row: usize| cells.get(row).cloned().unwrap_or(Cell::Empty);
    Column::new(name, layout, cell).titled(title)
}

/// The least share without scripts: smaller ones would be 0.00%.
const LEAST_SHARE: f64 = 0.005;

/// The maximum width of a name without scripts.
const WIDEST_NAME: usize = 60;

/// Shortens names, and paths to their last part, for readers without scripts.
fn shortened(column: &str, cell: Cell<'static>) -> Cell<'static> {
    match (column, cell) {
        ("file", Cell::Text(path)) => Cell::Text(base_name(&path).to_owned().into()),
        ("fn", Cell::Text(name)) => Cell::Text(short_name(&name, WIDEST_NAME).into()),
        (_, cell) => cell,
    }
}

/// Copies a cell, so that it borrows nothing.
fn owned(cell: Cell<'_>) -> Cell<'static> {
    match cell_text(&cell) {
        Some(text) => Cell::Text(text.into()),
        None => match cell {
            Cell::Count(count) => Cell::Count(count),
            Cell::AtMost(count) => Cell::AtMost(count),
            Cell::ShareAtMost { part, whole } => Cell::ShareAtMost { part, whole },
            Cell::Delta(delta) => Cell::Delta(delta),
            Cell::Ordinal(number) => Cell::Ordinal(number),
            Cell::Share { part, whole } => Cell::Share { part, whole },
            Cell::Change { delta, from } => Cell::Change { delta, from },
            Cell::Nameless => Cell::Nameless,
            _ => Cell::Empty,
        },
    }
}

fn counted(cell: &Cell<'_>) -> Option<Count> {
    match cell {
        Cell::Ordinal(number) => Some((*number).into()),
        Cell::AtMost(count) => Some(*count),
        cell => cell.number(),
    }
}

/// Returns the text of a cell; `None` if it has no text.
pub(super) fn cell_text(cell: &Cell<'_>) -> Option<String> {
    borrowed_text(cell).map(str::to_owned)
}

fn borrowed_text<'c>(cell: &'c Cell<'_>) -> Option<&'c str> {
    match cell {
        Cell::Name(text) => Some(text),
        // For people, tables add the place after the name.
        Cell::Placed { name, .. } if !name.is_empty() => Some(name),
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns a ratio in hundredths.
fn hundredths(cell: &Cell<'_>) -> Option<Count> {
    // The cast saturates.
    cell.ratio().map(|ratio| (ratio * 100.0).round() as Count)
}
