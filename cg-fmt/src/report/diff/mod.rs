//! The report on a diff: its records, and their summary.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_document::{Audience, Document, Graph};
use cg_profile::Profile;
use cg_stream::record::{
    CauseRecord, Count, CountsPerRun, DiffRecord, DiffSummary, Name, PerRun, RecordType, RunRecord,
    Status, Total,
};

use super::arrange;
use super::events::{choose_events, has_event};
use super::kinds::noun;
use super::timeline::Timeline;
use crate::options::{GroupBy, Options, OutputFormat};

mod benchmarks;
mod cause_words;
mod causes;
mod columns;
mod comment;
mod sentences;
mod sum;
mod summary;
mod why;

use benchmarks::{Benchmark, totals_of_benchmarks};
use sum::{add, grouped, merged, sorted};

/// The records of one diff, or of several added up.
pub(crate) struct Diffs<'a> {
    runs: Vec<String>,
    /// The compared runs, in one line.
    title: String,
    pub(crate) summary: DiffSummary,
    pub(crate) records: Cow<'a, [DiffRecord<'static>]>,
    /// The causes of the difference of the totals, if requested.
    pub(crate) causes: Vec<&'a CauseRecord<'static>>,
    /// The noun for the records in a sentence, singular and plural.
    nouns: (&'static str, &'static str),
    events: Vec<String>,
    totals: Vec<PerRun>,
    /// The events that one of the compared runs does not count.
    not_compared: Vec<String>,
    /// The position of the run that figures are relative to.
    base: usize,
    /// The snapshots of the runs, if any.
    timeline: Option<Timeline<'a>>,
    /// The comparisons, if they concern different benchmarks.
    benchmarks: Vec<Benchmark<'a>>,
    /// True if the rows belong to several benchmarks, so their totals are sums.
    pub(crate) is_suite: bool,
    group_by: Option<GroupBy>,
    /// True if rows are ranked by inclusive cost, which people then see.
    is_inclusive: bool,
}

/// Returns true if the input is a diff and the user requested no other record type.
pub(crate) fn is_wanted(profile: &Profile, options: &Options) -> bool {
    let has_diff = !profile.diffs().is_empty() || profile.runs().iter().any(RunRecord::is_diff);
    let wants_diff = matches!(options.kind, Some(RecordType::Diff | RecordType::Cause));
    wants_diff || (has_diff && options.kind.is_none())
}

/// One event with its totals and its audience.
struct DiffEvent<'a> {
    name: &'a str,
    total: &'a PerRun,
    audience: Audience,
}

impl<'a> Diffs<'a> {
    /// Returns the diff in a profile. Several diffs are added up by key, element by element. `--group-by` adds up further.
    pub(crate) fn new(profile: &'a Profile, options: &Options) -> Diffs<'a> {
        let diffs: Vec<&RunRecord> = profile.runs().iter().filter(|run| run.is_diff()).collect();
        let runs = run_names(&diffs, profile.diffs());
        let summary = summary::sum_summaries(&diffs);
        let title = summary::title(&diffs, &runs);
        let last = runs.len().saturating_sub(1);
        let base = match summary.relative_to.as_str() {
            "previous" => last.saturating_sub(1),
            name => runs.iter().position(|run| run == name).unwrap_or(0),
        };
        let kind = common_kind(profile.diffs());
        let events = shown_events(profile, kind);
        let first = events.first().map(String::as_str).unwrap_or_default();
        // Use inclusive cost if cg-diff ranked by it, if rows are sorted by it, or if the rows are arcs, which have no self
        // cost.
        let has_self_cost = |record: &DiffRecord| !record.cost.is_empty();
        let is_inclusive = summary.inclusive
            || options
                .sort
                .as_ref()
                .is_some_and(|key| key.starts_with("incl"))
            || !profile.diffs().is_empty() && !profile.diffs().iter().any(has_self_cost);
        let mut nouns = match kind {
            Some(kind) => (noun(kind, 1), noun(kind, 2)),
            None => ("record", "records"),
        };
        let benchmarks = benchmarks::distinct(&diffs);
        let is_suite = !benchmarks.is_empty() || benchmarks::are_several(profile.diffs());
        let is_for_people = options.format.is_for_people();
        let mut causes: Vec<&CauseRecord> = profile.causes().iter().collect();
        if is_suite && is_for_people {
            // The greatest causes of all benchmarks come first.
            causes.sort_by_key(|cause| Reverse(cause.delta.get(first).unsigned_abs()));
        }
        let has_only_totals = profile.diffs().is_empty() && is_suite && !is_for_people;
        let records = match options.group_by {
            Some(GroupBy::Bench) => {
                nouns = (GroupBy::Bench.noun(1), GroupBy::Bench.noun(2));
                Cow::Owned(totals_of_benchmarks(&diffs, base))
            }
            None if has_only_totals => {
                let mut records = totals_of_benchmarks(&diffs, base);
                records.iter_mut().for_each(|record| record.name = None);
                Cow::Owned(records)
            }
            Some(by) => {
                nouns = (by.noun(1), by.noun(2));
                Cow::Owned(sorted(grouped(profile.diffs(), by, base), first))
            }
            // Programs get the rows of one benchmark after the other.
            None if is_suite && !is_for_people => Cow::Owned(merged(profile.diffs(), base)),
            None if diffs.len() > 1 => Cow::Owned(sorted(merged(profile.diffs(), base), first)),
            None => Cow::Borrowed(profile.diffs()),
        };
        let totals = events
            .iter()
            .map(|event| total(event, &diffs, &records, runs.len()))
            .collect();
        let ends = [base, runs.len().saturating_sub(1)];
        let not_compared = events
            .iter()
            .filter(|event| !is_compared(event, &diffs, ends));
        let not_compared = not_compared.cloned().collect();
        Diffs {
            causes,
            timeline: Timeline::new(profile),
            benchmarks,
            is_suite,
            runs,
            title,
            summary,
            records,
            nouns,
            not_compared,
            events,
            totals,
            base,
            group_by: options.group_by,
            is_inclusive,
        }
    }

    /// Returns true if cg-diff compared shares of sampled runs.
    pub(crate) fn is_by_shares(&self) -> bool {
        let sampling = self.summary.sampling.as_ref();
        sampling.is_some_and(|sampling| sampling.compared == "shares")
    }

    /// Renders the diff: a comment on a pull request for markdown, or else a listing.
    pub(crate) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        match options.format {
            _ if options.kind == Some(RecordType::Cause) => self.causes_alone(options),
            OutputFormat::Markdown => self.comment(options),
            _ => self.listing(options),
        }
    }

    /// Returns the positions of the records, sorted and cut.
    pub(crate) fn rows(&self, options: &Options) -> anyhow::Result<Vec<usize>> {
        let events = self.events(options)?;
        let first = events.first().map(|event| event.name);
        let mut table = self.table(&events);
        arrange::sort(&mut table, options.sort.as_deref(), first, options)?;
        table.cut(options.rows(), None);
        Ok(table.rows)
    }

    /// Returns the column to sum over omitted rows; `None` for inclusive cost, which does not add up.
    fn measure(&self) -> Option<&'static str> {
        (!self.is_inclusive).then_some("delta")
    }

    fn noun(&self, count: usize) -> &'static str {
        if count == 1 {
            self.nouns.0
        } else {
            self.nouns.1
        }
    }

    /// Returns the events to show, the chosen ones first.
    fn events(&self, options: &Options) -> anyhow::Result<Vec<DiffEvent<'_>>> {
        let names: Vec<&str> = self.events.iter().map(String::as_str).collect();
        let (chosen, others) = choose_events(&names, 0, &[], options)?;
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

    /// Returns all events with their totals, in the order of the diff.
    fn all_events(&self) -> Vec<(&str, &PerRun)> {
        let names = self.events.iter().map(String::as_str);
        names.zip(&self.totals).collect()
    }

    /// Returns the totals in the form of a `run` record.
    pub(crate) fn total(&self) -> Total {
        let totals = self.all_events().into_iter();
        Total::PerRun(CountsPerRun(
            totals
                .map(|(event, total)| (Name::from(event).into_owned(), total.clone()))
                .collect(),
        ))
    }

    /// Returns the counts before and after; `None` for a run without a count.
    fn ends(&self, counts: &PerRun) -> (Option<Count>, Option<Count>) {
        let at = |index: usize| counts.0.get(index).copied().flatten();
        (at(self.base), at(self.runs.len().saturating_sub(1)))
    }

    /// Returns the positions of the two compared runs.
    pub(crate) fn compared(&self) -> [usize; 2] {
        [self.base, self.runs.len().saturating_sub(1)]
    }

    /// Returns the graph of the heap of both runs over time; `None` if the diff has no snapshots.
    pub(crate) fn graph(&self, options: &Options) -> Option<Graph> {
        let ends = self.compared().map(|run| (run, self.run_name(run)));
        self.timeline.as_ref()?.compared(ends, options)
    }

    /// Returns the compared runs, in one line.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Returns the name of a run.
    pub(crate) fn run_name(&self, position: usize) -> String {
        let name = self.runs.get(position).cloned();
        name.unwrap_or_else(|| format!("run{}", position + 1))
    }

    /// Returns the events of the rows, in the order of the runs.
    pub(crate) fn event_names(&self) -> Vec<&str> {
        self.events.iter().map(String::as_str).collect()
    }

    /// Returns true if both compared runs count an event.
    pub(crate) fn is_compared(&self, event: &str) -> bool {
        !self.not_compared.iter().any(|known| known == event)
    }

    /// Returns the total of an event in a run; `None` if the run does not have it.
    pub(crate) fn event_total(&self, event: &str, run: usize) -> Option<Count> {
        let position = self.events.iter().position(|known| known == event)?;
        self.totals[position].0.get(run).copied().flatten()
    }

    /// Returns the number of records with each status, sorted by status.
    fn statuses(&self) -> Vec<(Status, u64)> {
        let mut counts = BTreeMap::new();
        for record in self.records.iter() {
            *counts.entry(record.status).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
}

/// Returns the names of the runs. Fragments do not contain the names, so their runs are numbered.
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

/// Returns the events of a diff that records of this type can have.
fn shown_events(profile: &Profile, kind: Option<RecordType>) -> Vec<String> {
    let mut events = profile.events().to_vec();
    for record in profile.diffs() {
        for (event, _) in record.cost.0.iter().chain(&record.incl.0) {
            if !events.iter().any(|known| known == event.as_str()) {
                events.push(event.as_str().to_owned());
            }
        }
    }
    events.retain(|event| kind.is_none_or(|kind| has_event(kind, event)));
    events
}

/// Returns true if both compared runs count an event, in one of the `run` records at least.
fn is_compared(event: &str, diffs: &[&RunRecord], ends: [usize; 2]) -> bool {
    let totals = diffs
        .iter()
        .filter_map(|run| run.total.per_run()?.get(event));
    let mut has_both = totals
        .map(|counts| {
            ends.iter()
                .all(|at| counts.0.get(*at).copied().flatten().is_some())
        })
        .peekable();
    has_both.peek().is_none() || has_both.any(|has_both| has_both)
}

/// Returns the totals of an event, summed over the `run` records. For a fragment, sums the records.
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

/// Returns the type of the compared records if all are of one type; functions if there are no records.
fn common_kind(records: &[DiffRecord]) -> Option<RecordType> {
    let Some(first) = records.first() else {
        return Some(RecordType::Fn);
    };
    let is_uniform = records.iter().all(|record| record.of == first.of);
    is_uniform.then(|| RecordType::from_name(&first.of))
}
