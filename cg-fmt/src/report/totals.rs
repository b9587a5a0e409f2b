//! Totals without records, from counters and benchmarks: one row per event of each run, with ratios between events.

use cg_document::{Audience, Block, Cell, Column, Document, Layout, Table, number};
use cg_profile::Profile;
use cg_stream::record::{Count, Counts, RunRecord, Tool};

use super::{arrange, origin};
use crate::options::{Options, RatioColumn};

/// The report on runs that have only totals.
pub(crate) struct Totals<'a> {
    profile: &'a Profile,
    /// The labels of all runs, sorted.
    labels: Vec<&'a str>,
    rows: Vec<TotalsRow<'a>>,
    ratios: Vec<RatioColumn>,
}

/// An event of a run.
struct TotalsRow<'a> {
    run: &'a RunRecord,
    event: &'a str,
    count: Count,
    /// Its ratio to another event, as a text.
    kind: Option<String>,
}

impl<'a> Totals<'a> {
    /// Computes the report; `None` unless the input has only totals and the user requested the default view.
    pub(crate) fn compute(profile: &'a Profile, options: &Options) -> Option<Totals<'a>> {
        let has_only_counters = |run: &RunRecord| {
            matches!(
                run.tool,
                Some(Tool::PerfStat | Tool::Gungraun | Tool::Criterion)
            ) && !run.is_diff()
        };
        let runs = profile.runs();
        let has_records = profile.types().next().is_some() || !profile.snapshots().is_empty();
        let is_default = options.kind.is_none() && options.group_by.is_none();
        if has_records || runs.is_empty() || !is_default || !runs.iter().all(has_only_counters) {
            return None;
        }
        let mut labels: Vec<&str> = Vec::new();
        for label in runs.iter().flat_map(|run| run.sampling.labels.keys()) {
            if !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
        labels.sort_unstable();
        let rows = runs.iter().flat_map(|run| {
            let total = run.total.one();
            run.events.iter().filter_map(move |event| {
                Some(TotalsRow {
                    run,
                    event,
                    count: total?.get(event),
                    kind: ratio(event, total?),
                })
            })
        });
        Some(Totals {
            profile,
            labels,
            rows: rows.collect(),
            ratios: options.ratios.clone(),
        })
    }

    pub(crate) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let runs = self.profile.runs();
        document.push(Block::Heading(match runs {
            [_] => origin::origin(self.profile).unwrap_or_default(),
            [first, ..] => format!(
                "{}: {} runs",
                first.tool.as_deref().unwrap_or_default(),
                number::grouped(runs.len() as Count)
            ),
            [] => String::new(),
        }));
        let mut table = self.table();
        arrange::sort(&mut table, options.sort.as_deref(), None, options)?;
        if options.top.is_some() {
            table.cut(options.rows(), None);
        }
        arrange::choose_columns(&mut table, None, options)?;
        document.push(Block::Table(table));
        for run in self.profile.runs() {
            let lists = [
                ("not counted", &run.counters.not_counted),
                ("not supported by the machine", &run.counters.not_supported),
            ];
            for (title, events) in lists.into_iter().filter(|(_, events)| !events.is_empty()) {
                document.push(Block::Text(format!("{title}: {}", events.join(", "))));
            }
        }
        Ok(document)
    }

    /// Returns the column of a ratio. The row of the event that is divided has the value.
    fn ratio<'t>(&'t self, ratio: &'t RatioColumn) -> Column<'t> {
        let events = self.profile.events();
        let cell = move |row: usize| {
            let row = &self.rows[row];
            let first = ratio.formula.sum.first().map(|(_, event)| &events[*event]);
            if first.is_none_or(|first| first != row.event) {
                return Cell::Empty;
            }
            let total = row.run.total.one();
            let counts = events
                .iter()
                .map(|event| total.map_or(0, |total| total.get(event)));
            let (dividend, divisor) = ratio.formula.evaluate(&counts.collect::<Vec<_>>());
            Cell::quotient(dividend, divisor.unwrap_or(0))
        };
        let audience = Audience::all_if(ratio.is_shown);
        Column::new(&ratio.formula.name, Layout::Number, cell).for_audience(audience)
    }

    pub(crate) fn table(&self) -> Table<'_> {
        let rows = &self.rows;
        let mut columns: Vec<Column<'_>> = self
            .labels
            .iter()
            .map(|label| {
                let label = *label;
                // People identify benchmarks by name, so the description is only for programs.
                let audience = match label {
                    "description" => Audience::Programs,
                    _ => Audience::All,
                };
                Column::new(label, Layout::Text, move |row: usize| {
                    let text = rows[row].run.sampling.labels.get(label);
                    Cell::name(text.map(String::as_str))
                })
                .for_audience(audience)
            })
            .collect();
        columns.push(Column::new("event", Layout::Name, move |row: usize| {
            Cell::Name(rows[row].event)
        }));
        for ratio in &self.ratios {
            columns.push(self.ratio(ratio));
        }
        columns.push(Column::new("count", Layout::Number, move |row: usize| {
            Cell::Count(rows[row].count)
        }));
        columns.push(Column::new("unit", Layout::Text, move |row: usize| {
            let unit = rows[row].run.sampling.units.get(rows[row].event);
            Cell::name(unit.map(String::as_str))
        }));
        let has_shares = rows
            .iter()
            .any(|row| !row.run.counters.counted_share.is_empty());
        if has_shares {
            columns.push(Column::new("counted", Layout::Text, move |row: usize| {
                let share = rows[row].run.counters.counted_share.get(rows[row].event);
                let share = share.and_then(serde_json::Number::as_f64);
                share.map_or(Cell::Empty, |share| {
                    Cell::Text(format!("{} of the time", number::percent(share)).into())
                })
            }));
        }
        columns.push(
            Column::new("ratio", Layout::Text, move |row: usize| {
                let kind = rows[row].kind.as_ref();
                kind.map_or(Cell::Empty, |kind| Cell::Text(kind.clone().into()))
            })
            .titled(""),
        );
        Table::new(columns, (0..rows.len()).collect())
    }
}

/// Events that count a part of other events: the part, the events that sum to the whole, and the words for the ratio.
const PARTS: [(&str, &[&str], &str); 9] = [
    ("branch-misses", &["branches"], "of branches"),
    ("branch-misses", &["branch-instructions"], "of branches"),
    ("cache-misses", &["cache-references"], "of cache references"),
    ("L1-dcache-load-misses", &["L1-dcache-loads"], "of loads"),
    ("LLC-load-misses", &["LLC-loads"], "of loads"),
    ("dTLB-load-misses", &["dTLB-loads"], "of loads"),
    ("I1mr", &["Ir"], "of instructions"),
    ("D1mr", &["Dr"], "of reads"),
    ("D1mw", &["Dw"], "of writes"),
];

/// Returns the ratio of an event to another event: instructions per cycle, or a rate of misses.
fn ratio(event: &str, total: &Counts) -> Option<String> {
    let (prefix, name, suffix) = split_event(event);
    // Compare only with an event for the same processors and the same mode.
    let count_event = |other: &str| {
        let count = total.get(&format!("{prefix}{other}{suffix}"));
        (count > 0).then_some(count as f64)
    };
    let count = count_event(name)?;
    if name == "instructions" {
        let cycles = count_event("cycles").or_else(|| count_event("cpu-cycles"))?;
        return Some(format!("{} per cycle", number::quotient(count / cycles)));
    }
    PARTS.iter().find_map(|(part, wholes, words)| {
        let wholes = wholes.iter().map(|whole| count_event(whole));
        let whole: f64 = wholes.sum::<Option<f64>>()?;
        let is_part = *part == name;
        is_part.then(|| format!("{} {words}", number::percent(count / whole * 100.0)))
    })
}

/// Splits an event into processors, name and mode: `cpu_core/cycles/u`, `cycles:u`.
fn split_event(event: &str) -> (&str, &str, &str) {
    if let Some((processors, rest)) = event.split_once('/')
        && let Some(end) = rest.find('/')
    {
        let (before, _) = event.split_at(processors.len() + 1);
        return (before, &rest[..end], &rest[end..]);
    }
    let end = event.find(':').unwrap_or(event.len());
    ("", &event[..end], &event[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    #[test]
    fn ratios_use_only_events_of_the_same_mode() {
        let total = [
            ("cycles:u", 200),
            ("cycles:k", 50),
            ("instructions:u", 300),
            ("cpu_core/cycles/", 10),
            ("cpu_core/instructions/", 5),
            ("branches", 400),
            ("branch-misses", 10),
            ("cache-misses", 0),
            ("Ir", 1000),
            ("I1mr", 5),
        ];
        let total = Counts(
            total
                .map(|(event, count)| (Name::from(event), count))
                .into(),
        );
        for (event, kind) in [
            ("cycles:u", None),
            ("instructions:u", Some("1.5 per cycle")),
            ("cpu_core/instructions/", Some("0.5 per cycle")),
            ("branch-misses", Some("2.50% of branches")),
            ("cache-misses", None),
            ("I1mr", Some("0.50% of instructions")),
            ("instructions:k", None),
        ] {
            assert_eq!(ratio(event, &total).as_deref(), kind, "{event}");
        }
    }
}
