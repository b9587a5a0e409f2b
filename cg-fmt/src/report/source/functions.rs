//! The functions that cost most, each with its lines: a page has no room for all files.
//!
//! A function's lines are those that its `line` records name, in its own file and in those that code was inlined from.

use std::collections::HashMap;

use cg_document::{Cell, number};
use cg_stream::profile::{FunctionKey, Profile, Symbol};
use cg_stream::record::{Count, RecordType};
use cg_stream::sorting::Order as _;

use super::costs::{Files, cost_of};
use super::{Account, AnnotatedFunction, AnnotatedSource, Looking, select};
use crate::options::{Options, Places};
use crate::report::events::EventColumns;

/// A file of a function is shown from this share of the function's cost on; the first one always.
const LEAST_SHARE: Count = 10;
/// After this many functions no more sources are looked for.
const MOST_TRIED: usize = 200;

/// The records of a function, which is told by name and object.
#[derive(Default)]
struct FunctionRecords {
    lines: Vec<usize>,
    calls: Vec<usize>,
    /// What its lines cost, in the first event.
    cost: Count,
}

type SourceFunction = (Option<Symbol>, Option<Symbol>);

impl AnnotatedSource {
    /// Annotates the functions that cost most and whose sources are found, as many as rows are wanted.
    ///
    /// # Errors
    /// Where an event is asked for that there is not.
    pub(crate) fn of_functions(
        profile: &Profile,
        places: &Places,
        context: usize,
        options: &Options,
    ) -> anyhow::Result<AnnotatedSource> {
        let events = EventColumns::choose(profile, RecordType::Line, options)?;
        let event = events.first_index();
        let functions = by_cost(profile, event);
        let mut shown: Vec<AnnotatedFunction> = Vec::new();
        let mut account = Account::new(profile);
        let mut looking = Looking::new(profile, places, events);
        let rows = profile.table(RecordType::Line);
        for (tried, ((name, _), records)) in functions.iter().enumerate() {
            let name = profile.text(*name).filter(|_| tried < MOST_TRIED);
            let Some(name) = name.filter(|_| shown.len() < options.rows()) else {
                let costs = records.lines.iter().map(|row| rows.cost(*row));
                account.add("functions not shown", None, costs);
                continue;
            };
            let lines = records.lines.iter().copied();
            let files = Files::of_rows(profile, lines, records.calls.iter().copied());
            let mut found = Vec::new();
            for (file, lines) in files.by_cost(event) {
                let path = profile.text(file).filter(|path| *path != "???");
                let is_small = cost_of(lines, event) * LEAST_SHARE < records.cost;
                match path {
                    None => account.add("file unknown", None, select(lines, |_| true)),
                    Some(_) if is_small && !found.is_empty() => {
                        account.add("files not shown", None, select(lines, |_| true));
                    }
                    Some(path) => {
                        found.extend(looking.annotate(path, lines, context, &mut account));
                    }
                }
            }
            if !found.is_empty() {
                shown.push(AnnotatedFunction {
                    name: name.to_owned(),
                    cost: said(records.cost, &looking.events),
                    files: found,
                });
            }
        }
        Ok(looking.found(account, Vec::new(), shown))
    }
}

/// All functions with lines, by their cost, largest first, then by name and object.
fn by_cost(profile: &Profile, event: usize) -> Vec<(SourceFunction, FunctionRecords)> {
    let lines = profile.table(RecordType::Line);
    let function = |key: FunctionKey| (key.name, key.obj);
    let mut records: HashMap<SourceFunction, FunctionRecords> = HashMap::new();
    for (row, key) in lines.keys().iter().enumerate() {
        let of_function = records.entry(function(key.function)).or_default();
        of_function.lines.push(row);
        of_function.cost += lines.cost(row).get(event).copied().unwrap_or(0);
    }
    let calls = profile.table(RecordType::Call);
    for (row, key) in calls.keys().iter().enumerate() {
        if let Some(of_function) = records.get_mut(&function(key.function)) {
            of_function.calls.push(row);
        }
    }
    let mut records: Vec<(SourceFunction, FunctionRecords)> = records.into_iter().collect();
    records.order_by(|((a, a_obj), a_records), ((b, b_obj), b_records)| {
        let text = |symbol: &Option<Symbol>| profile.text(*symbol);
        let names = (text(a), text(a_obj)).cmp(&(text(b), text(b_obj)));
        b_records.cost.cmp(&a_records.cost).then(names)
    });
    records
}

/// `1,204 Ir (12.04%)`
fn said(cost: Count, events: &EventColumns) -> String {
    let Some(event) = events.first() else {
        return String::new();
    };
    let count = format!("{} {}", number::grouped(cost), event.name);
    match Cell::share(cost, event.whole).percentage() {
        Some(percent) => format!("{count} ({})", number::percent(percent)),
        None => count,
    }
}
