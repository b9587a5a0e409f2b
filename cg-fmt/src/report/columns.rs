//! Columns that several reports share: events and the names of functions.

use cg_document::{Audience, Cell, Column, Layout, Worth};
use cg_names::code_origin::CodeOwner;
use cg_profile::formula::Formula;
use cg_profile::{FrameKey, FunctionKey, Profile, Symbol};
use cg_stream::record::Count;

use super::events::{EventColumn, EventColumns};
use crate::options::RatioColumn;

/// Adds a column of counts and a column of percentages for each event.
pub(crate) fn push_events<'a>(
    columns: &mut Vec<Column<'a>>,
    events: &EventColumns,
    prefix: &str,
    counts: impl Fn(usize) -> Option<&'a [Count]> + Copy + 'a,
) {
    for (position, event) in events.events.iter().enumerate() {
        let EventColumn { index, whole, .. } = *event;
        let audience = match prefix {
            "" => event.audience,
            _ => event.incl_audience,
        };
        let count =
            move |row| counts(row).map(|counts: &[Count]| counts.get(index).copied().unwrap_or(0));
        let name = format!("{prefix}{}", event.name);
        let percent = match audience {
            Audience::All if position == 0 => Audience::All,
            Audience::All => Audience::People,
            _ => Audience::Nobody,
        };
        columns.push(
            Column::new(&name, Layout::Number, move |row| Cell::count(count(row)))
                .for_audience(audience)
                .worth(match (position, prefix) {
                    (0, "") => Worth::Figure,
                    (0, _) => Worth::Inclusive,
                    _ => Worth::Other,
                }),
        );
        columns.push(
            Column::new(format!("{name}%"), Layout::Percent, move |row| {
                count(row).map_or_else(|| Cell::Empty, |count| Cell::share(count, whole))
            })
            .titled("%")
            .for_audience(percent),
        );
    }
    push_ratios(columns, events, prefix, counts);
}

/// Adds a column for each ratio, computed from the sums of its events.
fn push_ratios<'a>(
    columns: &mut Vec<Column<'a>>,
    events: &EventColumns,
    prefix: &str,
    counts: impl Fn(usize) -> Option<&'a [Count]> + Copy + 'a,
) {
    for ratio in &events.ratios {
        let formula = ratio.formula.clone();
        let audience = Audience::all_if(ratio.is_shown);
        let name = format!("{prefix}{}", formula.name);
        columns.push(
            Column::new(name, Layout::Number, move |row| {
                counts(row).map_or(Cell::Empty, |counts| quotient(&formula, counts))
            })
            .for_audience(audience),
        );
    }
}

fn quotient<'a>(formula: &Formula, counts: &[Count]) -> Cell<'a> {
    let (dividend, divisor) = formula.evaluate(counts);
    Cell::quotient(dividend, divisor.unwrap_or(0))
}

/// Fills the row of totals, which has the bases of the percentages.
pub(crate) fn set_totals(columns: &mut [Column], events: &EventColumns) {
    for event in &events.events {
        for column in columns.iter_mut() {
            if column.name == event.name {
                column.total = Cell::Count(event.whole);
            } else if column.name.strip_suffix('%') == Some(&event.name) {
                column.total = Cell::share(event.whole, event.whole);
            }
        }
    }
    let highest = events.events.iter().map(|event| event.index + 1).max();
    let mut wholes = vec![0; highest.unwrap_or(0)];
    for event in &events.events {
        wholes[event.index] = event.whole;
    }
    for RatioColumn { formula, .. } in &events.ratios {
        for column in columns
            .iter_mut()
            .filter(|column| column.name == formula.name)
        {
            column.total = quotient(formula, &wholes);
        }
    }
    if let Some(column) = columns
        .iter_mut()
        .find(|column| column.layout == Layout::Name)
    {
        column.total = Cell::Text(events.total_name.into());
    }
}

/// Adds columns with function, file and object, in this order.
pub(crate) fn push_function<'a>(
    columns: &mut Vec<Column<'a>>,
    prefix: &str,
    key: impl Fn(usize) -> FunctionKey + Copy + 'a,
    profile: &'a Profile,
) {
    let title = |word: &str| match prefix {
        "" => word.to_owned(),
        _ if word == "function" => "callee".to_owned(),
        _ => format!("callee's {word}"),
    };
    let text = move |symbol: Option<Symbol>| Cell::name(profile.text(symbol));
    columns.push(
        Column::new(format!("{prefix}fn"), Layout::Name, move |row| {
            Cell::function(profile.text(key(row).name))
        })
        .titled(title("function")),
    );
    columns.push(
        Column::new(format!("{prefix}file"), Layout::Path, move |row| {
            text(key(row).file)
        })
        .titled(title("file")),
    );
    columns.push(
        Column::new(format!("{prefix}obj"), Layout::Path, move |row| {
            text(key(row).obj)
        })
        .titled(title("object"))
        .worth(Worth::Object),
    );
}

/// Adds columns with function, file, line and object of a frame, in this order, for programs.
pub(crate) fn push_frame<'a>(
    columns: &mut Vec<Column<'a>>,
    frame: impl Fn(usize) -> Option<FrameKey> + Copy + 'a,
    profile: &'a Profile,
) {
    let function = move |row: usize| frame(row).map(|frame| frame.function).unwrap_or_default();
    let text = move |symbol: Option<Symbol>| Cell::name(profile.text(symbol));
    let name = move |row: usize| text(function(row).name);
    let file = move |row: usize| text(function(row).file);
    let line = move |row: usize| Cell::ordinal(frame(row).and_then(|frame| frame.line));
    let obj = move |row: usize| text(function(row).obj);
    columns.extend(
        [
            Column::new("fn", Layout::Name, name),
            Column::new("file", Layout::Path, file),
            Column::new("line", Layout::Number, line),
            Column::new("obj", Layout::Path, obj),
        ]
        .map(|column| column.for_audience(Audience::Programs)),
    );
}

/// Returns the column that marks inclusive costs that are only upper bounds. People see the mark in the figures.
pub(crate) fn inclusive_bound<'a>(is_bound: impl Fn(usize) -> bool + 'a) -> Column<'a> {
    Column::new("incl_bound", Layout::Text, move |row| match is_bound(row) {
        true => Cell::Text("true".into()),
        false => Cell::Empty,
    })
    .titled("incl. is at most")
    .for_audience(Audience::Programs)
}

/// Returns the column `whose` with the owners of functions. It is hidden by default.
pub(crate) fn code<'a>(owner: impl Fn(usize) -> CodeOwner + 'a) -> Column<'a> {
    Column::new(CODE, Layout::Text, move |row| {
        Cell::Text(owner(row).word().into())
    })
    .for_audience(Audience::Nobody)
}

/// The name of the column with the owners.
pub(crate) const CODE: &str = "whose";
