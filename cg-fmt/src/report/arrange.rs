//! Rows and columns as the options want them: sorted, cut, chosen; and what is said of those that are left out.

use cg_document::{Audience, Block, Cell, Cut, Table, UnknownColumn, number};
use cg_stream::record::Count;

use super::events::EventColumns;
use crate::options::Options;

/// Sorts by a column as people call it, and shows that column. Turns the order around where the options say so.
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

/// Keeps the first rows. Returns what was cut, measured by a column (`self` or `delta`) of the first event.
pub(crate) fn cut(
    table: &mut Table,
    rows: usize,
    measure: Option<&str>,
    first: Option<&str>,
) -> Option<Cut> {
    let measure = measure.map(|measure| column_name(measure, first));
    table.cut(rows, measure.as_deref())
}

/// Chooses columns as the options say.
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

/// The column to sort by: if a diff has no column of this name, the event's `.delta`, or else its `.new`.
fn sort_column(table: &Table<'_>, name: String) -> String {
    let candidates = [name.clone(), format!("{name}.delta"), format!("{name}.new")];
    let known = candidates
        .into_iter()
        .find(|candidate| table.column(candidate).is_ok());
    known.unwrap_or(name)
}

/// A column as people call it: `self`, `incl` and `delta` are those of the first event.
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

/// The closing line of a listing that was cut.
pub(crate) fn left_out<'a>(cut: &Cut, noun: &str, share: Option<String>) -> Block<'a> {
    Block::Note(format!("{} (--top all)", not_shown(cut, noun, share)))
}

/// How many rows were left out.
pub(crate) fn not_shown(cut: &Cut, noun: &str, share: Option<String>) -> String {
    let rows = number::grouped(cut.rows as Count);
    let with = share
        .map(|share| format!(" with {share}"))
        .unwrap_or_default();
    format!("{rows} more {noun}{with} not shown")
}

/// The cost of the rows that were left out, and what share of the first event's total it is.
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

/// Says which events there are besides those shown.
pub(crate) fn hidden<'a>(hidden: &[&str], options: &Options) -> Option<Block<'a>> {
    let names = hidden.join(", ");
    (!hidden.is_empty() && options.columns.is_empty())
        .then(|| Block::Note(format!("events not shown: {names} (--events all)")))
}
