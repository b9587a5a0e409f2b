//! The columns of a diff: old, new, delta and change an event; with more than two runs a column a run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cg_stream::profile::Profile;
use cg_stream::record::{
    Count, CountsPerRun, DiffRecord, DiffSummary, Name, PerRun, RecordType, RunRecord, Status,
    Total,
};

use crate::listing::{self, choose_events};
use crate::options::{GroupBy, Options};
use cg_document::{Audience, Cell, Column, Layout, Table};

mod sum;
mod summary;

use sum::{add, grouped, merged, sorted};

/// The records of one diff, or of several added up.
pub(crate) struct Diffs<'a> {
    pub(crate) runs: Vec<String>,
    /// What was compared, in a line.
    pub(crate) title: String,
    pub(crate) summary: DiffSummary,
    pub(crate) records: Cow<'a, [DiffRecord<'static>]>,
    /// What the records are called in a sentence.
    nouns: (&'static str, &'static str),
    events: Vec<String>,
    totals: Vec<PerRun>,
    /// The position of the run that figures are relative to.
    base: usize,
    group_by: Option<GroupBy>,
    is_inclusive: bool,
}

/// One event as it is shown.
pub(crate) struct DiffEvent<'a> {
    pub(crate) name: &'a str,
    pub(crate) total: &'a PerRun,
    pub(crate) audience: Audience,
}

impl<'a> Diffs<'a> {
    /// The diff in a profile. Several are added up by key, element by element; `--group-by` adds up further.
    pub(crate) fn of(profile: &'a Profile, options: &Options) -> Diffs<'a> {
        let diffs: Vec<&RunRecord> = profile.runs().iter().filter(|run| run.is_diff()).collect();
        let runs = run_names(&diffs, profile.diffs());
        let summary = summary::of(&diffs);
        let title = summary::title(&diffs, &runs);
        let last = runs.len().saturating_sub(1);
        let base = match summary.relative_to.as_str() {
            "previous" => last.saturating_sub(1),
            name => runs.iter().position(|run| run == name).unwrap_or(0),
        };
        let mut events = profile.events().to_vec();
        for record in profile.diffs() {
            for (event, _) in record.cost.0.iter().chain(&record.incl.0) {
                if !events.iter().any(|known| known == event.as_str()) {
                    events.push(event.as_str().to_owned());
                }
            }
        }
        let kind = kind_of(profile.diffs());
        events.retain(|event| kind.is_none_or(|kind| listing::has_event(kind, event)));
        let first = events.first().map(String::as_str).unwrap_or_default();
        // cg-diff was told to rank by inclusive cost, or the rows are to be sorted by it, or are arcs, which have no other.
        let has_self_cost = |record: &DiffRecord| !record.cost.is_empty();
        let is_inclusive = summary.inclusive
            || options
                .sort
                .as_ref()
                .is_some_and(|key| key.starts_with("incl"))
            || !profile.diffs().is_empty() && !profile.diffs().iter().any(has_self_cost);
        let mut nouns = match kind {
            Some(kind) => (listing::noun(kind, 1), listing::noun(kind, 2)),
            None => ("record", "records"),
        };
        let records = match options.group_by {
            Some(by) => {
                nouns = (by.noun(1), by.noun(2));
                Cow::Owned(sorted(grouped(profile.diffs(), by, base), first))
            }
            None if diffs.len() > 1 => Cow::Owned(sorted(merged(profile.diffs(), base), first)),
            None => Cow::Borrowed(profile.diffs()),
        };
        let totals = events
            .iter()
            .map(|event| total(event, &diffs, &records, runs.len()))
            .collect();
        Diffs {
            runs,
            title,
            summary,
            records,
            nouns,
            events,
            totals,
            base,
            group_by: options.group_by,
            is_inclusive,
        }
    }

    /// Whether rows are ranked by inclusive cost, which is then what people are shown.
    pub(crate) fn is_inclusive(&self) -> bool {
        self.is_inclusive
    }

    pub(crate) fn noun(&self, count: usize) -> &'static str {
        if count == 1 {
            self.nouns.0
        } else {
            self.nouns.1
        }
    }

    /// The events to show, the chosen ones first.
    pub(crate) fn events(&self, options: &Options) -> anyhow::Result<Vec<DiffEvent<'_>>> {
        let names: Vec<&str> = self.events.iter().map(String::as_str).collect();
        let (chosen, others) = choose_events(&names, &[], options)?;
        let event = |position: usize, audience| DiffEvent {
            name: &self.events[position],
            total: &self.totals[position],
            audience,
        };
        let chosen = chosen.into_iter().map(|at| event(at, Audience::All));
        let rest = options.events.audience_of_others();
        let others = others.into_iter().map(|at| event(at, rest));
        Ok(chosen.chain(others).collect())
    }

    /// All events with their totals, in their own order.
    pub(crate) fn all_events(&self) -> Vec<(&str, &PerRun)> {
        let names = self.events.iter().map(String::as_str);
        names.zip(&self.totals).collect()
    }

    /// The totals as a `run` record has them.
    pub(crate) fn total(&self) -> Total {
        let totals = self.all_events().into_iter();
        Total::PerRun(CountsPerRun(
            totals
                .map(|(event, total)| (Name::from(event).into_owned(), total.clone()))
                .collect(),
        ))
    }

    /// What an array of counts says: before and after, `None` where a run has nothing.
    pub(crate) fn ends(&self, counts: &PerRun) -> (Option<Count>, Option<Count>) {
        let at = |index: usize| counts.0.get(index).copied().flatten();
        (at(self.base), at(self.runs.len().saturating_sub(1)))
    }

    /// How many records have each status, in the order of the words.
    pub(crate) fn statuses(&self) -> Vec<(Status, u64)> {
        let mut counts = BTreeMap::new();
        for record in self.records.iter() {
            *counts.entry(record.status).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    /// The records as a table, in the order they came.
    pub(crate) fn table<'t>(&'t self, events: &[DiffEvent<'t>]) -> Table<'t> {
        let mut columns = Vec::new();
        for event in events {
            self.push_event(&mut columns, "", event);
        }
        for event in events {
            self.push_event(&mut columns, "incl.", event);
        }
        let records = &self.records;
        for run in 0..self.runs.len() {
            columns.push(
                Column::new(
                    format!("calls.{}", self.run_column(run)),
                    Layout::Number,
                    move |row| Cell::count(records[row].calls.0.get(run).copied().flatten()),
                )
                .for_audience(Audience::Programs),
            );
        }
        columns.push(Column::new("status", Layout::Text, move |row| {
            Cell::Text(records[row].status.name().into())
        }));
        match self.group_by {
            Some(by) => columns.push(
                Column::new(by.column(), Layout::Name, move |row| {
                    let record = &records[row];
                    let label = record.name.as_deref().or(record.file.as_deref());
                    Cell::name(label.or(record.obj.as_deref()))
                })
                .titled(by.noun(1)),
            ),
            None => self.push_keys(&mut columns),
        }
        if let Some(column) = columns
            .iter_mut()
            .find(|column| column.layout == Layout::Name)
        {
            column.total = Cell::Text("PROGRAM TOTALS".into());
        }
        Table::new(columns, (0..records.len()).collect())
    }

    fn push_event<'t>(
        &'t self,
        columns: &mut Vec<Column<'t>>,
        prefix: &'static str,
        event: &DiffEvent<'t>,
    ) {
        let DiffEvent { name, total, .. } = *event;
        let records = &self.records;
        let is_self = prefix.is_empty();
        // People see the figures that the rows are ranked by.
        let audience = match (is_self, self.is_inclusive()) {
            (true, false) | (false, true) => event.audience,
            _ if event.audience == Audience::Nobody => Audience::Nobody,
            _ => Audience::Programs,
        };
        let full_name = format!("{prefix}{name}");
        let counts = move |row: usize| {
            if is_self {
                &records[row].cost
            } else {
                &records[row].incl
            }
        };
        for run in 0..self.runs.len() {
            let word = self.run_column(run);
            let column = Column::new(format!("{full_name}.{word}"), Layout::Number, move |row| {
                Cell::count(entry(counts(row), name, run))
            });
            columns.push(
                column
                    .titled(format!("{full_name} {}", self.run_title(run)))
                    .for_audience(audience)
                    .with_total(match is_self {
                        true => Cell::count(total.0.get(run).copied().flatten()),
                        false => Cell::Empty,
                    }),
            );
        }
        let base = self.base;
        let last = self.runs.len().saturating_sub(1);
        // Taken from the entries: a record may lack the difference, and does where it is beyond 64 bits.
        let delta = move |row: usize| {
            let counts = counts(row);
            let at = |run| entry(counts, name, run).unwrap_or(0);
            (is_self || !counts.is_empty()).then(|| at(last) - at(base))
        };
        let (before, after) = self.ends(total);
        let total_delta = after.unwrap_or(0) - before.unwrap_or(0);
        let of_total = |cell: Cell<'t>| if is_self { cell } else { Cell::Empty };
        columns.push(
            Column::new(format!("{full_name}.delta"), Layout::Number, move |row| {
                delta(row).map_or(Cell::Empty, Cell::Delta)
            })
            .titled(format!("{full_name} delta"))
            .for_audience(audience)
            .with_total(of_total(Cell::Delta(total_delta))),
        );
        columns.push(
            Column::new(format!("{full_name}.delta%"), Layout::Percent, move |row| {
                let from = entry(counts(row), name, base).unwrap_or(0);
                delta(row).map_or(Cell::Empty, |delta| Cell::change(delta, from))
            })
            .titled("%")
            .for_audience(audience)
            .with_total(of_total(Cell::change(total_delta, before.unwrap_or(0)))),
        );
        let whole = before.unwrap_or(0);
        columns.push(
            Column::new(
                format!("{full_name}.delta%total"),
                Layout::Number,
                move |row| delta(row).map_or(Cell::Empty, |delta| Cell::change(delta, whole)),
            )
            .titled("% of total")
            .for_audience(Audience::Nobody),
        );
    }

    /// The columns that say what a record is of, and what else is known of it.
    fn push_keys<'t>(&'t self, columns: &mut Vec<Column<'t>>) {
        let records = &self.records;
        let mut text =
            |name: &str, title: &str, layout, audience, of: fn(&'t DiffRecord) -> Cell<'t>| {
                columns.push(
                    Column::new(name, layout, move |row| of(&records[row]))
                        .titled(title)
                        .for_audience(audience),
                );
            };
        let (has_kinds, has_sites, has_lines, has_callees) = (
            records.iter().any(|record| record.kind.is_some()),
            records.iter().any(|record| record.site.is_some()),
            records.iter().any(|record| record.line.is_some()),
            records.iter().any(|record| record.callee.is_some()),
        );
        let if_any = |any: bool| if any { Audience::All } else { Audience::Nobody };
        use Layout::{Name as Function, Path, Text};
        let all = Audience::All;
        text("kind", "kind", Text, if_any(has_kinds), |record| {
            Cell::name(record.kind.as_deref())
        });
        text("what", "what", Text, if_any(has_kinds), |record| {
            Cell::name(record.what.as_deref())
        });
        text("fn", "function", Function, all, |record| {
            Cell::name(record.name.as_deref())
        });
        text("file", "file", Path, all, |record| {
            Cell::name(record.file.as_deref())
        });
        text("site", "call site", Path, if_any(has_sites), |record| {
            Cell::name(record.site.as_deref())
        });
        text(
            "line",
            "line",
            Layout::Number,
            if_any(has_lines),
            |record| Cell::ordinal(record.line),
        );
        text("obj", "object", Path, Audience::Programs, |record| {
            Cell::name(record.obj.as_deref())
        });
        text(
            "callee.fn",
            "callee",
            Function,
            if_any(has_callees),
            |record| {
                let callee = record.callee.as_ref();
                Cell::name(callee.and_then(|callee| callee.name.as_deref()))
            },
        );
        text("was", "was", Function, all, |record| {
            let was = record.was.as_ref();
            Cell::name(was.and_then(|was| was.name.as_deref()))
        });
        text("why", "why", Text, all, |record| {
            let why = record.why.as_ref().map(|why| why.to_string());
            why.map_or(Cell::Empty, |why| Cell::Text(why.into()))
        });
        text("explained_by", "explained by", Function, all, |record| {
            let callee = record.explained_by.as_ref();
            Cell::name(callee.and_then(|callee| callee.name.as_deref()))
        });
        text("joined", "joined by", Text, Audience::Nobody, |record| {
            let rules: Vec<&str> = record.joined.iter().map(|rule| rule.as_str()).collect();
            match rules.is_empty() {
                true => Cell::Empty,
                false => Cell::Text(rules.join(", ").into()),
            }
        });
    }

    /// What the columns of a run are called: `old` and `new` where there are two.
    fn run_column(&self, run: usize) -> &str {
        match (self.runs.len(), run) {
            (2, 0) => "old",
            (2, _) => "new",
            _ => &self.runs[run],
        }
    }

    /// The heading of a run: the file's name, where no other run's is the same.
    pub(crate) fn run_title(&self, run: usize) -> &str {
        let base_name = |path: &'_ str| {
            path.rsplit_once('/')
                .map_or(0, |(directory, _)| directory.len() + 1)
        };
        let column = self.run_column(run);
        let title = &column[base_name(column)..];
        let same = self
            .runs
            .iter()
            .filter(|other| &other[base_name(other)..] == title)
            .count();
        if same > 1 { column } else { title }
    }
}

/// The entry of a run for an event. An event that is left out is 0 where the run has the record.
fn entry(counts: &CountsPerRun, event: &str, run: usize) -> Option<Count> {
    match counts.get(event) {
        Some(entries) => entries.0.get(run).copied().flatten(),
        None => counts
            .0
            .iter()
            .any(|(_, entries)| matches!(entries.0.get(run), Some(Some(_))))
            .then_some(0),
    }
}

/// The names of the runs; of fragments, which do not tell them, numbers.
fn run_names(diffs: &[&RunRecord], records: &[DiffRecord]) -> Vec<String> {
    if let Some(run) = diffs.iter().max_by_key(|run| run.runs.len()) {
        return run.runs.clone();
    }
    let entries = |record: &DiffRecord| {
        let counts = record.cost.0.iter().chain(&record.incl.0);
        counts.map(|(_, runs)| runs.0.len()).max()
    };
    let count = records.iter().filter_map(entries).max().unwrap_or(2);
    (1..=count).map(|number| format!("run{number}")).collect()
}

/// The totals of an event: those of the `run` records added up, of a fragment those of its records.
fn total(event: &str, diffs: &[&RunRecord], records: &[DiffRecord], runs: usize) -> PerRun {
    let mut sum = PerRun(vec![Some(0); runs]);
    if diffs.is_empty() {
        for record in records {
            if let Some(entries) = record.cost.get(event) {
                add(&mut sum, entries);
            }
        }
    }
    for run in diffs {
        if let Some(entries) = run.total.per_run().and_then(|total| total.get(event)) {
            add(&mut sum, entries);
        }
    }
    sum
}

/// The type of the records compared, where it is the same of all; functions where there are none.
fn kind_of(records: &[DiffRecord]) -> Option<RecordType> {
    let Some(first) = records.first() else {
        return Some(RecordType::Fn);
    };
    let is_uniform = records.iter().all(|record| record.of == first.of);
    is_uniform.then(|| RecordType::from_name(&first.of))
}
