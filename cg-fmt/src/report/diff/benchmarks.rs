//! The table of several benchmarks, with one row per benchmark and event. It precedes the functions of all benchmarks.

use cg_document::{Audience, Cell, Column, Layout, Table};
use cg_stream::record::Count;

use super::{DiffEvent, Diffs};

/// A row: the totals of one event in one benchmark.
#[derive(Clone, Copy)]
struct BenchmarkRow<'a> {
    benchmark: &'a str,
    event: &'a str,
    old: Option<Count>,
    new: Option<Count>,
}

impl BenchmarkRow<'_> {
    fn delta(self) -> Count {
        self.new.unwrap_or(0) - self.old.unwrap_or(0)
    }
}

impl Diffs<'_> {
    /// Returns the totals of each benchmark; `None` if there is only one comparison.
    pub(super) fn benchmarks<'t>(&'t self, events: &[DiffEvent<'t>]) -> Option<Table<'t>> {
        let shown = events
            .iter()
            .filter(|event| event.audience == Audience::All);
        let shown: Vec<&str> = shown.map(|event| event.name).collect();
        let mut rows: Vec<BenchmarkRow> = Vec::new();
        for run in &self.benchmarks {
            let last = run.runs.len().saturating_sub(1);
            for event in &shown {
                let Some(entries) = run.total.per_run().and_then(|totals| totals.get(event)) else {
                    continue;
                };
                let at = |run: usize| entries.0.get(run).copied().flatten();
                rows.push(BenchmarkRow {
                    benchmark: run.runs.last().map_or("", String::as_str),
                    event,
                    old: at(self.base.min(last)),
                    new: at(last),
                });
            }
        }
        if rows.is_empty() {
            return None;
        }
        let positions = (0..rows.len()).collect();
        let column = |name: &'static str, layout, cell: fn(BenchmarkRow<'t>) -> Cell<'t>| {
            let rows = rows.clone();
            Column::new(name, layout, move |row: usize| cell(rows[row]))
        };
        let columns = vec![
            column("benchmark", Layout::Path, |row| Cell::Name(row.benchmark)),
            column("event", Layout::Text, |row| Cell::Name(row.event)),
            column("old", Layout::Number, |row| Cell::count(row.old)),
            column("new", Layout::Number, |row| Cell::count(row.new)),
            column("delta", Layout::Number, |row| Cell::Delta(row.delta())),
            column("%", Layout::Percent, |row| {
                Cell::change(row.delta(), row.old.unwrap_or(0))
            }),
        ];
        Some(Table::new(columns, positions))
    }
}
