//! Sorting, cutting and choosing rows and columns as the options require, and the notes about omitted rows and columns.

use cg_document::{Audience, Block, Cell, Cut, Table, UnknownColumn, number};
use cg_stream::record::Count;

use super::events::EventColumns;
use crate::options::Options;

/// Sorts by a column, which may have a short name such as `self`, and shows this column. Reverses the order if the options
/// request it.
pub(crate) fn sort(
    table: &mut Table,
    key: Option<&str>,
    first: Option<&str>,
    options: &Options,
) -> Result<(), UnknownColumn> {
    if let Some(key) = key {
        let name = sort_column(table, column_name(key, first));
        table.sort(&name)?;
        table.show(&name);
        let is_counted = table.column(&name)?.is_right_aligned();
        if options.is_descending && !is_counted {
            table.rows.reverse();
        }
    }
    if options.reverse {
        table.rows.reverse();
    }
    Ok(())
}

/// Keeps the first rows. Returns the omitted rows, measured by a column (`self` or `delta`) of the first event.
pub(crate) fn cut(
    table: &mut Table,
    rows: usize,
    measure: Option<&str>,
    first: Option<&str>,
) -> Option<Cut> {
    let measure = measure.map(|measure| column_name(measure, first));
    table.cut(rows, measure.as_deref())
}

/// Chooses the columns of the options, or else the default columns of the format.
pub(crate) fn choose_columns(
    table: &mut Table,
    first: Option<&str>,
    options: &Options,
) -> Result<(), UnknownColumn> {
    if options.columns.is_empty() {
        let audience = match options.format.is_for_people() {
            true => Audience::People,
            false => Audience::Programs,
        };
        table.choose_for(audience);
        return Ok(());
    }
    let names = options.columns.iter();
    let names: Vec<String> = names.map(|name| column_name(name, first)).collect();
    table.choose(&names)
}

/// Returns the column to sort by. If a diff has no column with this name, returns the event's `.delta`, or else its `.new`.
fn sort_column(table: &Table<'_>, name: String) -> String {
    let candidates = [name.clone(), format!("{name}.delta"), format!("{name}.new")];
    let known = candidates
        .into_iter()
        .find(|candidate| table.column(candidate).is_ok());
    known.unwrap_or(name)
}

/// Returns the full name of a column: `self`, `incl` and `delta` are columns of the first event.
fn column_name(key: &str, first: Option<&str>) -> String {
    let of_first = |make: fn(&str) -> String| first.map_or_else(|| key.to_owned(), make);
    match key {
        "self" => of_first(str::to_owned),
        "incl" => of_first(|event| format!("incl.{event}")),
        "delta" => of_first(|event| format!("{event}.delta")),
        "incl.delta" => of_first(|event| format!("incl.{event}.delta")),
        "function" => "fn".to_owned(),
        "object" => "obj".to_owned(),
        key => key.to_owned(),
    }
}

/// Returns the closing line of a listing with omitted rows.
pub(crate) fn left_out<'a>(cut: &Cut, noun: &str, share: Option<String>) -> Block<'a> {
    Block::Note(format!("{} (--top all)", not_shown(cut, noun, share)))
}

/// Returns the words about the number of omitted rows.
pub(crate) fn not_shown(cut: &Cut, noun: &str, share: Option<String>) -> String {
    let rows = number::grouped(cut.rows as Count);
    let with = share
        .map(|share| format!(" with {share}"))
        .unwrap_or_default();
    format!("{rows} more {noun}{with} not shown")
}

/// Returns the cost of the omitted rows, and its share of the first event's total.
pub(crate) fn share(cut: &Cut, events: &EventColumns) -> Option<String> {
    let event = events.first()?;
    let percent = Cell::share(cut.sum, event.whole)
        .percentage()
        .map(|percent| format!(" ({})", number::percent(percent)))
        .unwrap_or_default();
    Some(format!(
        "{} {}{percent}",
        number::grouped(cut.sum),
        event.name
    ))
}

/// Returns a note with the events that are not shown.
pub(crate) fn hidden<'a>(hidden: &[&str], options: &Options) -> Option<Block<'a>> {
    let names = hidden.join(", ");
    (!hidden.is_empty() && options.columns.is_empty())
        .then(|| Block::Note(format!("events not shown: {names} (--events all)")))
}
