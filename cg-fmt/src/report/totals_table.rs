//! What a page says first: the total of every event, of a diff in each run.

use cg_document::{Cell, Column, Layout, Table};
use cg_stream::profile::Profile;
use cg_stream::record::{Count, RunRecord};

use super::events::is_of_snapshots;

/// The totals of the runs, where there are any; events that are 0 throughout are left out.
pub(crate) fn of(profile: &Profile) -> Option<Table<'_>> {
    let diffs: Vec<&RunRecord> = profile.runs().iter().filter(|run| run.is_diff()).collect();
    match diffs.as_slice() {
        [] => of_profile(profile),
        [diff] => of_diff(profile, diff),
        // Those of several comparisons are a table of the report.
        _ => None,
    }
}

fn of_profile(profile: &Profile) -> Option<Table<'_>> {
    let totals = profile.total();
    let rows: Vec<usize> = (0..profile.events().len())
        .filter(|event| totals.get(*event).is_some_and(|total| *total != 0))
        .filter(|event| !is_of_snapshots(profile, &profile.events()[*event]))
        .collect();
    let columns = vec![
        event_column(profile),
        Column::new("total", Layout::Number, |event| {
            Cell::count(totals.get(event).copied())
        }),
    ];
    (!rows.is_empty()).then(|| Table::new(columns, rows))
}

fn of_diff<'a>(profile: &'a Profile, diff: &'a RunRecord) -> Option<Table<'a>> {
    let total = diff.total.per_run()?;
    let count = move |event: usize, run: usize| -> Option<Count> {
        let entries = total.get(profile.events().get(event)?)?;
        entries.0.get(run).copied().flatten()
    };
    let runs = diff.runs.len();
    let rows: Vec<usize> = (0..profile.events().len())
        .filter(|event| (0..runs).any(|run| count(*event, run).is_some_and(|count| count != 0)))
        .collect();
    let mut columns = vec![event_column(profile)];
    for (run, name) in diff.runs.iter().enumerate() {
        columns.push(Column::new(name, Layout::Number, move |event| {
            Cell::count(count(event, run))
        }));
    }
    let last = runs.checked_sub(1)?;
    let ends = move |event| Some((count(event, 0)?, count(event, last)?));
    columns.push(Column::new("delta", Layout::Number, move |event| {
        ends(event).map_or(Cell::Empty, |(before, after)| Cell::Delta(after - before))
    }));
    columns.push(
        Column::new("delta%", Layout::Percent, move |event| {
            ends(event).map_or(Cell::Empty, |(before, after)| {
                Cell::change(after - before, before)
            })
        })
        .titled("%"),
    );
    (!rows.is_empty()).then(|| Table::new(columns, rows))
}

fn event_column(profile: &Profile) -> Column<'_> {
    Column::new("event", Layout::Text, |event: usize| {
        Cell::name(profile.events().get(event).map(String::as_str))
    })
}
