//! Writes a comparison as a stream.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cg_names::rules::Rules;
use cg_profile::{FunctionKey, Key, Symbol};
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, DiffSummary, Frame, FunctionName, Host, Name, PerRun,
    RecordType, RunBelowThreshold, RunRecord, Status, Total,
};
use cg_stream::writer::Writer;
use cg_tool::Diagnostics;

use crate::causes::{self, Causes};
use crate::code;
use crate::compare::{self, Change, Comparison};
use crate::explain::Explanations;
use crate::figures::{self, Figure, Figures};
use crate::inlining::{self, HostCosts, Inlining};
use crate::join::Certainty;
use crate::snapshots;
use crate::write_causes::write_causes;

/// The input of [`write()`].
pub(crate) struct ComparisonOutput<'a> {
    pub(crate) comparison: &'a Comparison<'a>,
    pub(crate) explanations: &'a Explanations,
    pub(crate) causes: &'a Causes<'a>,
    pub(crate) summary: &'a DiffSummary,
    pub(crate) rules: &'a Rules,
    /// The first event of each compared type.
    pub(crate) first_events: BTreeMap<RecordType, usize>,
}

/// Writes the stream. Unchanged rows are written only with `with_same`.
///
/// Leaves out a change beyond the range of `i64`, and warns about it. Counts that underflow in Valgrind cause such changes.
/// The figures themselves are written.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(crate) fn write(
    written: &ComparisonOutput,
    with_same: bool,
    diagnostics: &mut Diagnostics,
    out: &mut Writer<&mut dyn Write>,
) -> io::Result<()> {
    out.run(&written.run_record())?;
    write_causes(written, diagnostics, out)?;
    let inlining = inlining::find_inlining(written.comparison.runs, written.comparison.joined);
    for change in &written.comparison.changes {
        let inlining = inlining.get(&change.row);
        if with_same || change.status != Status::Same || inlining.is_some() {
            out.record(&written.diff_record(change, inlining, diagnostics))?;
        }
    }
    for snapshot in snapshots::collect_snapshots(written.comparison.runs) {
        out.record(&snapshot)?;
    }
    // A comparison of incomplete inputs is incomplete: it has no `end` record.
    if diagnostics.has_errors() {
        out.flush()
    } else {
        out.end()
    }
}

impl ComparisonOutput<'_> {
    /// Returns the value of a field if all runs agree on it.
    fn common_value<T: Clone + PartialEq>(&self, field: fn(&RunRecord) -> &Option<T>) -> Option<T> {
        let profiles = self.comparison.runs.profiles.iter();
        let mut values = profiles.flat_map(|profile| profile.runs()).map(field);
        let first = values.next()?;
        first.clone().filter(|_| values.all(|value| value == first))
    }

    fn run_record(&self) -> RunRecord {
        let events = self
            .comparison
            .runs
            .events
            .iter()
            .map(|event| event.clone().into());
        let totals = figures::totals(self.comparison.runs);
        let totals = events.zip(totals.iter().map(Figure::per_run));
        let names = self
            .comparison
            .runs
            .sides
            .iter()
            .map(|(name, _)| name.clone());
        let mut run = RunRecord {
            stream: cg_stream::record::VERSION,
            tool: self.common_value(|run| &run.tool),
            creator: self.common_value(|run| &run.creator),
            command: self.common_value(|run| &run.command),
            time_unit: self.common_value(|run| &run.time_unit),
            source: self.sources(),
            runs: names.collect(),
            events: self.comparison.runs.events.clone(),
            total: Total::PerRun(CountsPerRun(totals.collect())),
            ..RunRecord::default()
        };
        let bench = self.comparison.runs.bench.iter();
        let labels = bench.map(|bench| ("bench".to_owned(), bench.clone()));
        run.sampling.labels = labels.collect();
        self.summary.put_into(&mut run);
        run
    }

    /// Returns the distinct sources of the runs.
    fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = Vec::new();
        for run in self
            .comparison
            .runs
            .profiles
            .iter()
            .flat_map(|profile| profile.runs())
        {
            for source in &run.source {
                if !sources.contains(source) {
                    sources.push(source.clone());
                }
            }
        }
        sources
    }

    fn diff_record(
        &self,
        change: &Change,
        inlining: Option<&Inlining>,
        diagnostics: &mut Diagnostics,
    ) -> DiffRecord<'_> {
        let (runs, joined) = (self.comparison.runs, self.comparison.joined);
        let row = &joined.rows[change.row];
        let figures = figures::row_figures(runs, joined, change.row);
        let key = &change.shown;
        let function = causes::row_name(runs, self.rules, change);
        let sides = self.sides();
        let is_known = |is_inclusive| joined.is_change_known(change.row, sides, is_inclusive);
        let why = self.explanations.why.get(&change.row);
        let explained_by = self.explanations.explained_by.get(&change.row);
        let is_sum = figures.merged.iter().flatten().any(|count| *count > 1);
        let mut deltas = |figures: &[Figure]| {
            self.deltas(row.kind, figures, |event, delta| {
                let name = self.name(key.function.name).unwrap_or_default();
                diagnostics.warn(format!(
                    "{name}: left out the change of {event} by {delta}, which exceeds 64 bits"
                ));
            })
        };
        DiffRecord {
            status: change.status,
            below: self.below(change.row),
            at_most: self.at_most(change.row, &figures.cost).map(Box::new),
            places: self.places(change.row).map(Box::new),
            was: (change.status == Status::Renamed)
                .then(|| compare::first_key(runs, joined, change.row))
                .flatten()
                .map(|key| Box::new(self.function_name(key.function))),
            guess: row.certainty > Certainty::Certain,
            joined: self.rules.names(row.matched).map(Name::from).collect(),
            merged: is_sum.then(|| Box::new(PerRun(figures.merged.clone()))),
            calls: figures
                .calls
                .as_ref()
                .map(Figure::per_run)
                .unwrap_or_default(),
            cost: self.per_run(row.kind, &figures.cost, |figure| figure.per_run()),
            incl: self.per_run(row.kind, &figures.incl, |figure| figure.per_run()),
            incl_bound: (!figures.incl_bound.is_empty())
                .then(|| self.per_run(row.kind, &figures.incl_bound, |figure| figure.per_run()))
                .map(Box::new),
            delta: match is_known(false) {
                true => deltas(&figures.cost),
                false => Counts::default(),
            },
            incl_delta: match is_known(true) && is_known(false) {
                true => deltas(&figures.incl),
                false => Counts::default(),
            },
            out_of_line: inlining
                .map(|inlining| self.per_run(row.kind, &inlining.out_of_line, Figure::per_run))
                .map(Box::new),
            gone_inline: inlining
                .map(|inlining| self.per_run(row.kind, &inlining.gone_inline, Figure::per_run))
                .map(Box::new),
            hosts: inlining
                .map_or_else(Vec::new, |inlining| self.hosts(row.kind, &inlining.hosts))
                .into(),
            code: code::compare_row(runs, joined, change.row, sides),
            why: why.cloned().map(Box::new),
            explained_by: explained_by
                .and_then(|callee| compare::last_key(runs, joined, *callee))
                .map(|key| Box::new(self.function_name(key.function))),
            min: self.file_figures(row.kind, &figures, Figure::min),
            spread: self.file_figures(row.kind, &figures, Figure::spread),
            noise: self.noise(row.kind, &figures),
            z: self.z(change.row).map(Box::new),
            ..self.key_fields(row.kind, key, function)
        }
    }

    /// Returns a record with only the fields that identify the row.
    fn key_fields<'r>(
        &'r self,
        kind: RecordType,
        key: &Key,
        function: FunctionName<'r>,
    ) -> DiffRecord<'r> {
        let stack = self.stack(key);
        // The line of a stack is a line of its blamed frame, which can be in another file than the function.
        let blamed = |frame: &&Frame| frame.line == key.line && frame.name == function.name;
        let site = stack
            .iter()
            .find(blamed)
            .and_then(|frame| frame.site.clone());
        DiffRecord {
            name: function.name,
            file: function.file,
            obj: function.obj,
            bench: (self.comparison.runs.bench.as_deref()).map(|bench| Box::new(Name::from(bench))),
            site: self.name(key.site).or(site),
            line: key.line,
            callee: key
                .callee
                .map(|callee| Box::new(self.function_name(callee))),
            kind: self.name(key.kind),
            what: self.name(key.what).map(Box::new),
            of: Name::from(kind.name()),
            stack,
            ..DiffRecord::default()
        }
    }

    /// The compared sides: old and new.
    fn sides(&self) -> [usize; 2] {
        self.comparison.options.sides(self.comparison.runs)
    }

    /// Returns the sides on which this row is below Massif's threshold.
    fn below(&self, row: usize) -> Option<RunBelowThreshold> {
        let (sides, hidden) = (
            self.sides(),
            self.comparison.joined.cost_below_threshold(row)?,
        );
        let is_below = |side: usize| hidden.hiding_sides & 1 << side != 0;
        let is_inexact = |is_inclusive| hidden.between(sides, is_inclusive).is_some();
        RunBelowThreshold::from_flags(sides.map(is_below))
            .filter(|_| is_inexact(false) || is_inexact(true))
    }

    /// Returns the maximum cost on each side on which this row is below Massif's threshold.
    fn at_most(&self, row: usize, cost: &[Figure]) -> Option<CountsPerRun<'_>> {
        let hidden = self.comparison.joined.cost_below_threshold(row)?;
        let event = self
            .first_events
            .get(&self.comparison.joined.rows[row].kind)?;
        let entries = cost.get(*event)?.entries.iter().enumerate();
        let most = entries.map(|(side, entry)| {
            let more = hidden.more.get(side).copied().filter(|more| *more > 0)?;
            Some(entry.unwrap_or(0).saturating_add(more))
        });
        let most: Vec<Option<Count>> = most.collect();
        let is_any = most.iter().any(Option::is_some);
        is_any.then(|| CountsPerRun(vec![(self.event(*event), PerRun(most))]))
    }

    /// Returns the number of places below Massif's threshold that a row sums, for each side.
    fn places(&self, row: usize) -> Option<PerRun> {
        let side_places = |side: usize| {
            let file_places = |profile: usize| {
                let places = &self.comparison.runs.profiles[profile]
                    .table(self.comparison.joined.rows[row].kind);
                let records = self.comparison.joined.records(row, profile).iter();
                let places = &places.numbers().places;
                let found = records.filter_map(|record| places.count(*record as usize));
                found.reduce(|sum, places| sum + places)
            };
            self.comparison
                .runs
                .files_of(side)
                .filter_map(file_places)
                .max()
        };
        let places: Vec<Option<Count>> = (0..self.comparison.runs.sides.len())
            .map(side_places)
            .collect();
        let is_any = places.iter().any(Option::is_some);
        is_any.then_some(PerRun(places))
    }

    fn hosts(&self, kind: RecordType, hosts: &[HostCosts]) -> Vec<Host<'_>> {
        let host = |host: &HostCosts| Host {
            function: self.function_name(host.function),
            cost: self.per_run(kind, &host.cost, Figure::per_run),
        };
        hosts.iter().map(host).collect()
    }

    /// Returns the change of a row's samples in standard deviations of chance.
    fn z(&self, row: usize) -> Option<serde_json::Number> {
        let sampling = self.comparison.options.sampling?;
        let (event, is_inclusive) = (sampling.event(), self.comparison.options.inclusive);
        let sampled = sampling.row_figure(
            self.comparison.runs,
            self.comparison.joined,
            row,
            event,
            is_inclusive,
        );
        let [reference, last] = self.sides();
        let z = sampled.z(reference, last);
        serde_json::Number::from_f64((z * 100.0).round() / 100.0)
    }

    /// Returns the events to write: the first event of the type, and other events with an entry that is not 0.
    fn written<'f>(
        &self,
        kind: RecordType,
        figures: &'f [Figure],
    ) -> impl Iterator<Item = (usize, &'f Figure)> {
        let first = self.first_events.get(&kind).copied().unwrap_or(0);
        figures.iter().enumerate().filter(move |(event, figure)| {
            *event == first || figure.entries.iter().flatten().any(|count| *count != 0)
        })
    }

    fn per_run(
        &self,
        kind: RecordType,
        figures: &[Figure],
        entries: impl Fn(&Figure) -> PerRun,
    ) -> CountsPerRun<'_> {
        CountsPerRun(
            self.written(kind, figures)
                .map(|(event, figure)| (self.event(event), entries(figure)))
                .collect(),
        )
    }

    /// Returns a figure of self cost over the files of each side, if a side has several files.
    fn file_figures(
        &self,
        kind: RecordType,
        figures: &Figures,
        entries: impl Fn(&Figure) -> figures::Entries,
    ) -> Option<Box<CountsPerRun<'_>>> {
        self.has_several_files()
            .then(|| Box::new(self.per_run(kind, &figures.cost, |figure| PerRun(entries(figure)))))
    }

    /// Returns the greatest change of self cost that counts as noise, if a side has several files. Sampled runs have `z`
    /// instead.
    fn noise(&self, kind: RecordType, figures: &Figures) -> Option<Box<Counts<'_>>> {
        let [reference, last] = self.sides();
        let has_noise = self.has_several_files() && self.comparison.options.sampling.is_none();
        has_noise.then(|| {
            let noise = |figure: &Figure| {
                // Limited to the range of a written change.
                let noise = figure.noise(reference, last);
                noise.min(i64::MAX.into())
            };
            let events = self.written(kind, &figures.cost);
            let noise = events.map(|(event, figure)| (self.event(event), noise(figure)));
            Box::new(Counts(noise.collect()))
        })
    }

    fn has_several_files(&self) -> bool {
        self.comparison
            .runs
            .sides
            .iter()
            .any(|(_, files)| files.len() > 1)
    }

    fn deltas(
        &self,
        kind: RecordType,
        figures: &[Figure],
        mut beyond: impl FnMut(&str, Count),
    ) -> Counts<'_> {
        let [reference, last] = self.sides();
        let mut deltas = Vec::new();
        for (event, figure) in self.written(kind, figures) {
            if !self.comparison.runs.is_common(event) {
                continue;
            }
            let delta = figure.change(reference, last);
            if i64::try_from(delta).is_ok() {
                deltas.push((self.event(event), delta));
            } else {
                beyond(&self.comparison.runs.events[event], delta);
            }
        }
        Counts(deltas)
    }

    fn event(&self, event: usize) -> Name<'_> {
        Name::from(self.comparison.runs.events[event].as_str())
    }

    fn name(&self, symbol: Option<Symbol>) -> Option<Name<'_>> {
        self.comparison.runs.names.name(symbol)
    }

    fn function_name(&self, function: FunctionKey) -> FunctionName<'_> {
        FunctionName {
            name: self.name(function.name),
            file: self.name(function.file),
            obj: self.name(function.obj),
        }
    }

    fn stack(&self, key: &Key) -> Vec<Frame<'_>> {
        let names = &self.comparison.runs.names;
        let frames = names.stacks.frames_of(key.stack);
        // Addresses differ between runs, so they are left out.
        frames
            .iter()
            .map(|frame| names.frame(frame, None))
            .collect()
    }
}
