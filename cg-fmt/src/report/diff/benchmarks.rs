//! Several benchmarks: the first sentence about them, and their totals, which precede their functions.

use cg_collections::sorting::Order as _;
use cg_document::{Audience, Block, Cell, Column, Layout, Table, number};
use cg_stream::record::{
    Count, Counts, CountsPerRun, CycleSummary, DiffRecord, DiffSummary, Name, PerRun, RunRecord,
    Status,
};

use super::sum::{self, add};
use super::{DiffEvent, Diffs};
use crate::options::Options;

/// The maximum number of benchmarks to show, unless the user gives another number of rows.
const MOST_BENCHMARKS: usize = 20;

/// One of several benchmarks.
pub(super) struct Benchmark<'a> {
    /// Its label, or the last of its runs.
    pub(super) name: &'a str,
    run: &'a RunRecord,
    /// The groups of functions that call each other, which its causes name.
    pub(super) cycles: Vec<CycleSummary>,
}

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

    /// Returns the change in relation to the old total, for ranking. A total that was 0 changed most.
    fn ratio(self) -> f64 {
        match self.old.unwrap_or(0) {
            0 => f64::INFINITY * self.delta().signum() as f64,
            old => self.delta() as f64 / old.abs() as f64,
        }
    }

    /// Describes the change: `a -24.34%`.
    fn change(self) -> String {
        let percent = Cell::change(self.delta(), self.old.unwrap_or(0)).percentage();
        let change = percent.map_or_else(
            || format!("{} {}", number::signed(self.delta()), self.event),
            number::signed_percent,
        );
        format!("{} {change}", self.benchmark)
    }
}

/// Returns the name of a comparison: its benchmark, or its last run.
pub(super) fn name_of(run: &RunRecord) -> &str {
    let label = run.sampling.labels.get("bench");
    let name = label.or(run.runs.last());
    name.map_or("", String::as_str)
}

/// Returns the comparisons if they concern different benchmarks; otherwise nothing.
pub(super) fn distinct<'a>(diffs: &[&'a RunRecord]) -> Vec<Benchmark<'a>> {
    let all = diffs.iter().map(|run| Benchmark {
        name: name_of(run),
        run,
        cycles: DiffSummary::from_run(run).cycles,
    });
    let all: Vec<Benchmark> = all.collect();
    let differs = |one: &Benchmark| one.name != all[0].name || one.run.runs != all[0].run.runs;
    match all.iter().any(differs) {
        true => all,
        false => Vec::new(),
    }
}

/// Returns true if the records belong to several benchmarks.
pub(super) fn are_several(records: &[DiffRecord<'_>]) -> bool {
    records
        .iter()
        .any(|record| record.bench != records[0].bench)
}

/// Returns a record for each benchmark, with its totals as costs.
pub(super) fn totals_of_benchmarks(diffs: &[&RunRecord], base: usize) -> Vec<DiffRecord<'static>> {
    let mut records: Vec<DiffRecord<'static>> = Vec::new();
    for run in diffs {
        let name = Name::from(name_of(run)).into_owned();
        let known = records
            .iter()
            .position(|record| record.bench() == Some(&*name));
        let position = known.unwrap_or_else(|| {
            records.push(DiffRecord {
                name: Some(name.clone()),
                bench: Some(Box::new(name)),
                of: Name::from("run"),
                ..DiffRecord::default()
            });
            records.len() - 1
        });
        let cost = &mut records[position].cost;
        let totals = run.total.per_run().into_iter().flat_map(|total| &total.0);
        for (event, entries) in totals {
            match cost.0.iter_mut().find(|(known, _)| known == event) {
                Some((_, known)) => add(known, entries),
                None => cost.0.push((event.clone(), entries.clone())),
            }
        }
    }
    for record in &mut records {
        record.status = sum::status(&record.cost, base);
        record.delta = deltas(&record.cost, base);
    }
    records
}

fn deltas(cost: &CountsPerRun<'static>, base: usize) -> Counts<'static> {
    let delta = |(event, entries): &(Name<'static>, PerRun)| {
        let at = |entry: Option<&Option<Count>>| entry.copied().flatten().unwrap_or(0);
        let delta = at(entries.0.last()) - at(entries.0.get(base));
        (event.clone(), delta)
    };
    Counts(cost.0.iter().map(delta).collect())
}

/// Returns true if a benchmark changed: one of its rows or, if it has only totals, one of these.
fn has_changed(run: &RunRecord, base: usize) -> bool {
    let summary = DiffSummary::from_run(run);
    if summary.is_noise {
        return false;
    }
    let rows = summary.rows;
    if !rows.is_empty() {
        let mut changed = rows.iter().filter(|(status, _)| **status != Status::Same);
        return changed.any(|(_, rows)| *rows > 0);
    }
    let mut totals = run.total.per_run().into_iter().flat_map(|total| &total.0);
    totals.any(|(_, entries)| entries.0.get(base) != entries.0.last())
}

impl<'a> Diffs<'a> {
    /// Returns the number of benchmarks that changed, with the worst and the best one by the total of an event; `None` if
    /// there is only one comparison.
    pub(super) fn changed_benchmarks(&self, event: &str) -> Option<String> {
        if self.benchmarks.is_empty() {
            return None;
        }
        let all = self.benchmarks.iter();
        let changed = all.filter(|benchmark| has_changed(benchmark.run, self.base));
        let count = changed.clone().count();
        let rows = changed.filter_map(|benchmark| self.benchmark_row(benchmark, event));
        let rows: Vec<BenchmarkRow> = match self.is_by_shares() {
            // The totals of sampled runs are not comparable.
            true => Vec::new(),
            false => rows.collect(),
        };
        let by_ratio = |a: &&BenchmarkRow, b: &&BenchmarkRow| a.ratio().total_cmp(&b.ratio());
        // The first of several equal changes counts.
        let worst = rows.iter().rev().max_by(by_ratio);
        let best = rows.iter().min_by(by_ratio);
        let mut parts = Vec::new();
        if let Some(worst) = worst.filter(|row| row.delta() > 0) {
            parts.push(format!("worst: {}", worst.change()));
        }
        if let Some(best) = best.filter(|row| row.delta() < 0) {
            parts.push(format!("best: {}", best.change()));
        }
        let of = self.benchmarks.len();
        let words = match count {
            0 => format!(
                "{} unchanged",
                number::plural(of as Count, "benchmark", "benchmarks")
            ),
            _ => format!("{count} of {of} benchmarks changed"),
        };
        Some(match parts.is_empty() {
            true => words,
            false => format!("{words}; {}", parts.join(", ")),
        })
    }

    /// Returns the old total of an event in the benchmark of a row, or in all runs if the row has no known benchmark.
    pub(super) fn old_total(&self, bench: Option<&str>, event: &str, total: &PerRun) -> Count {
        let mut all = self.benchmarks.iter();
        let benchmark = all.find(|benchmark| Some(benchmark.name) == bench);
        let total = match benchmark {
            Some(benchmark) => (self.benchmark_row(benchmark, event)).and_then(|row| row.old),
            None => self.ends(total).0,
        };
        total.unwrap_or(0)
    }

    fn benchmark_row<'e>(
        &self,
        benchmark: &Benchmark<'a>,
        event: &'e str,
    ) -> Option<BenchmarkRow<'e>>
    where
        'a: 'e,
    {
        let entries = benchmark.run.total.per_run()?.get(event)?;
        let last = benchmark.run.runs.len().saturating_sub(1);
        let at = |run: usize| entries.0.get(run).copied().flatten();
        Some(BenchmarkRow {
            benchmark: benchmark.name,
            event,
            old: at(self.base.min(last)),
            new: at(last),
        })
    }

    /// Returns true if each benchmark has a name of its own, so that it can be a section of a stream.
    pub(crate) fn are_separable(&self) -> bool {
        let has_label = |run: &RunRecord| run.sampling.labels.contains_key("bench");
        let mut names: Vec<&str> = self.benchmarks.iter().map(|one| one.name).collect();
        names.sort_unstable();
        let is_unique = names.windows(2).all(|pair| pair[0] != pair[1]);
        !names.is_empty()
            && is_unique
            && self.group_by.is_none()
            && self.benchmarks.iter().all(|one| has_label(one.run))
    }

    /// Returns the benchmarks with their `run` records.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (&'a str, &'a RunRecord)> {
        self.benchmarks.iter().map(|one| (one.name, one.run))
    }

    /// Returns the totals of the benchmarks that changed most, and a note on the others; nothing if there is only one
    /// comparison.
    pub(super) fn benchmarks<'t>(
        &'t self,
        events: &[DiffEvent<'t>],
        options: &Options,
    ) -> Vec<Block<'t>> {
        let shown = events
            .iter()
            .filter(|event| event.audience == Audience::All);
        let shown: Vec<&str> = shown.map(|event| event.name).collect();
        let rows = self.benchmarks.iter().map(|benchmark| {
            let events = shown.iter();
            let rows = events.filter_map(|event| self.benchmark_row(benchmark, event));
            rows.collect()
        });
        let mut rows: Vec<Vec<BenchmarkRow>> =
            rows.filter(|rows: &Vec<_>| !rows.is_empty()).collect();
        rows.order_by(|a, b| b[0].ratio().abs().total_cmp(&a[0].ratio().abs()));
        let most = match options.top {
            Some(_) => options.rows(),
            None => MOST_BENCHMARKS,
        };
        let others = rows.len().saturating_sub(most);
        let note = match others {
            0 => None,
            _ => Some(number::plural(
                others as Count,
                "more benchmark not shown (--top all)",
                "more benchmarks not shown (--top all)",
            )),
        };
        let rows: Vec<BenchmarkRow> = rows.into_iter().take(most).flatten().collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let table = Block::Table(self.table_of_benchmarks(rows));
        std::iter::once(table)
            .chain(note.map(Block::Note))
            .collect()
    }

    fn table_of_benchmarks<'t>(&'t self, rows: Vec<BenchmarkRow<'t>>) -> Table<'t> {
        let positions = (0..rows.len()).collect();
        let column = |name: &'static str, layout, cell: fn(BenchmarkRow<'t>) -> Cell<'t>| {
            let rows = rows.clone();
            Column::new(name, layout, move |row: usize| cell(rows[row]))
        };
        let columns = vec![
            column("bench", Layout::Path, |row| Cell::Name(row.benchmark)),
            column("event", Layout::Text, |row| Cell::Name(row.event)),
            column("old", Layout::Number, |row| Cell::count(row.old)),
            column("new", Layout::Number, |row| Cell::count(row.new)),
            column("delta", Layout::Number, |row| Cell::Delta(row.delta())),
            column("%", Layout::Percent, |row| {
                Cell::change(row.delta(), row.old.unwrap_or(0))
            }),
        ];
        Table::new(columns, positions)
    }
}
