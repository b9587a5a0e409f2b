//! Writes a comparison as a stream.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cg_names::rules::{Part, Rules, Strength};
use cg_stream::profile::{FunctionKey, Key, Symbol};
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, DiffSummary, Frame, FunctionName, Host, Name, PerRun,
    RecordType, RunRecord, SilentRun, Status, Total,
};
use cg_stream::rows::{CauseName, CauseNames, CauseRow};
use cg_stream::tool::Diagnostics;
use cg_stream::writer::Writer;

use crate::causes::{CauseOfNode, Causes, NodeFunction};
use crate::code;
use crate::compare::{self, Change, Comparison};
use crate::explain::Explanations;
use crate::figures::{self, Figure, Figures};
use crate::inlining::{self, HostCosts, Inlining};
use crate::join::Certainty;
use crate::snapshots;

/// Everything that is written.
pub(crate) struct ToldComparison<'a> {
    pub(crate) of: &'a Comparison<'a>,
    pub(crate) explanations: &'a Explanations,
    pub(crate) causes: &'a Causes,
    pub(crate) summary: &'a DiffSummary,
    pub(crate) rules: &'a Rules,
    /// For each type that is compared, the first event that it has.
    pub(crate) first_events: BTreeMap<RecordType, usize>,
}

/// Writes the stream; rows that are the same only where `with_same`.
///
/// A change beyond the range of `i64`, which counts that Valgrind let underflow make, is left out and told to
/// `diagnostics`; the figures themselves are written all the same.
///
/// # Errors
/// What the output reports.
pub(crate) fn write(
    told: &ToldComparison,
    with_same: bool,
    diagnostics: &mut Diagnostics,
    out: &mut Writer<&mut dyn Write>,
) -> io::Result<()> {
    out.run(&told.run_record())?;
    told.write_causes(diagnostics, out)?;
    let inlining = inlining::of(told.of.runs, told.of.joined);
    for change in &told.of.changes {
        let inlining = inlining.get(&change.row);
        if with_same || change.status != Status::Same || inlining.is_some() {
            out.record(&told.diff_record(change, inlining, diagnostics))?;
        }
    }
    for snapshot in snapshots::of_runs(told.of.runs) {
        out.record(&snapshot)?;
    }
    // An input that could not be read to its end makes no whole comparison.
    if diagnostics.had_trouble() {
        out.flush()
    } else {
        out.end()
    }
}

/// The nodes of causes as they are written.
struct CauseNodes {
    nodes: Vec<CauseNode>,
    names: CauseNames,
}

struct CauseNode {
    name: CauseName,
    /// The function that it is inlined into.
    host: Option<CauseName>,
    /// Whether any function of it was paired by a guess.
    is_guess: bool,
}

impl ToldComparison<'_> {
    /// Writes where the difference of the totals comes from.
    fn write_causes(
        &self,
        diagnostics: &mut Diagnostics,
        out: &mut Writer<&mut dyn Write>,
    ) -> io::Result<()> {
        if self.causes.all.is_empty() {
            return Ok(());
        }
        let nodes = self.cause_nodes();
        for cause in &self.causes.all {
            if cause
                .delta
                .iter()
                .any(|delta| i64::try_from(*delta).is_err())
            {
                diagnostics.trouble("--causes: a cause is beyond 64 bits and left out");
                continue;
            }
            out.cause(&self.cause_row(cause, &nodes), &nodes.names)?;
        }
        Ok(())
    }

    /// What the nodes of causes are called.
    fn cause_nodes(&self) -> CauseNodes {
        let mut change_of = vec![None; self.of.joined.rows.len()];
        for change in &self.of.changes {
            change_of[change.row] = Some(change);
        }
        let function_of = |function: &NodeFunction| match function {
            NodeFunction::Key(key) => self.function_name(*key),
            NodeFunction::Row(row) => change_of[*row]
                .map_or_else(FunctionName::default, |change| self.function_of(change)),
        };
        let is_guess = |function: &NodeFunction| match function {
            NodeFunction::Row(row) => self.of.joined.rows[*row].certainty > Certainty::Told,
            NodeFunction::Key(_) => false,
        };
        let events = self.causes.events.iter();
        let mut names = CauseNames::new(events.map(|event| self.of.runs.events[*event].as_str()));
        let nodes = self.causes.nodes.iter().map(|chain| {
            let name = chain.first().map(function_of).unwrap_or_default();
            let host = chain.last().filter(|_| chain.len() > 1);
            CauseNode {
                name: names.add(&name),
                host: host.map(|host| names.add(&function_of(host))),
                is_guess: chain.iter().any(is_guess),
            }
        });
        let nodes = nodes.collect();
        CauseNodes { nodes, names }
    }

    fn cause_row<'c>(&'c self, cause: &'c CauseOfNode, nodes: &CauseNodes) -> CauseRow<'c> {
        let node = &nodes.nodes[cause.node];
        let callee = cause.callee.map(|callee| &nodes.nodes[callee]);
        let site = cause.line.and_then(|line| line.site);
        CauseRow {
            kind: cause.kind,
            function: node.name,
            host: node.host,
            callee: callee.map(|callee| callee.name),
            inline: callee.is_some_and(|callee| callee.host.is_some()),
            calls: cause.calls,
            ran: cause.ran,
            cost: &cause.cost,
            cycle: cause.cycle,
            guess: node.is_guess || callee.is_some_and(|callee| callee.is_guess),
            line: cause.line.map(|line| line.line),
            site: site.map(|site| self.of.runs.names.symbols.text(site)),
            delta: &cause.delta,
        }
    }

    /// What a row is called.
    fn function_of(&self, change: &Change) -> FunctionName<'_> {
        let function = self.function_name(change.shown.function);
        match change.has_several_names {
            true => FunctionName {
                name: self.common_name(change.shown.function.name),
                ..function
            },
            false => function,
        }
    }

    /// The value of a field, if all runs agree on it.
    fn of_all<T: Clone + PartialEq>(&self, field: fn(&RunRecord) -> &Option<T>) -> Option<T> {
        let profiles = self.of.runs.profiles.iter();
        let mut values = profiles.flat_map(|profile| profile.runs()).map(field);
        let first = values.next()?;
        first.clone().filter(|_| values.all(|value| value == first))
    }

    fn run_record(&self) -> RunRecord {
        let events = self.of.runs.events.iter().map(|event| event.clone().into());
        let totals = figures::totals(self.of.runs);
        let totals = events.zip(totals.iter().map(Figure::per_run));
        let names = self.of.runs.sides.iter().map(|(name, _)| name.clone());
        let mut run = RunRecord {
            stream: cg_stream::record::VERSION,
            tool: self.of_all(|run| &run.tool),
            creator: self.of_all(|run| &run.creator),
            command: self.of_all(|run| &run.command),
            time_unit: self.of_all(|run| &run.time_unit),
            source: self.sources(),
            runs: names.collect(),
            events: self.of.runs.events.clone(),
            total: Total::PerRun(CountsPerRun(totals.collect())),
            ..RunRecord::default()
        };
        self.summary.put_into(&mut run);
        run
    }

    /// What the runs were read from, as they say.
    fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = Vec::new();
        for run in self
            .of
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
        let row = &self.of.joined.rows[change.row];
        let figures = figures::of_row(self.of.runs, self.of.joined, change.row);
        let key = &change.shown;
        let function = self.function_of(change);
        let sides = self.sides();
        let is_told = |is_inclusive| self.of.joined.tells_change(change.row, sides, is_inclusive);
        let why = self.explanations.why.get(&change.row);
        let explained_by = self.explanations.explained_by.get(&change.row);
        let is_sum = figures.merged.iter().flatten().any(|count| *count > 1);
        let mut deltas = |figures: &[Figure]| {
            self.deltas(row.of, figures, |event, delta| {
                let of = self.name(key.function.name).unwrap_or_default();
                diagnostics.warn(format!(
                    "{of}: the change of {event} by {delta} is beyond 64 bits and left out"
                ));
            })
        };
        DiffRecord {
            status: change.status,
            below: self.below(change.row),
            at_most: self.at_most(change.row, &figures.cost).map(Box::new),
            places: self.places(change.row).map(Box::new),
            was: (change.status == Status::Renamed)
                .then(|| compare::first_key(self.of.runs, self.of.joined, change.row))
                .flatten()
                .map(|key| Box::new(self.function_name(key.function))),
            guess: row.certainty > Certainty::Told,
            joined: self.rules.names(row.matched).map(Name::from).collect(),
            merged: is_sum.then(|| Box::new(PerRun(figures.merged.clone()))),
            calls: figures
                .calls
                .as_ref()
                .map(Figure::per_run)
                .unwrap_or_default(),
            cost: self.per_run(row.of, &figures.cost, |figure| figure.per_run()),
            incl: self.per_run(row.of, &figures.incl, |figure| figure.per_run()),
            delta: match is_told(false) {
                true => deltas(&figures.cost),
                false => Counts::default(),
            },
            incl_delta: match is_told(true) && is_told(false) {
                true => deltas(&figures.incl),
                false => Counts::default(),
            },
            out_of_line: inlining
                .map(|inlining| self.per_run(row.of, &inlining.out_of_line, Figure::per_run))
                .map(Box::new),
            gone_inline: inlining
                .map(|inlining| self.per_run(row.of, &inlining.gone_inline, Figure::per_run))
                .map(Box::new),
            hosts: inlining.map_or_else(Vec::new, |inlining| self.hosts(row.of, &inlining.hosts)),
            code: code::of_row(self.of.runs, self.of.joined, change.row, self.sides()),
            why: why.cloned().map(Box::new),
            explained_by: explained_by
                .and_then(|callee| compare::last_key(self.of.runs, self.of.joined, *callee))
                .map(|key| Box::new(self.function_name(key.function))),
            min: self.of_files(row.of, &figures, Figure::min),
            spread: self.of_files(row.of, &figures, Figure::spread),
            noise: self.noise(row.of, &figures),
            z: self.z(change.row).map(Box::new),
            ..self.key_fields(row.of, key, function)
        }
    }

    /// What a row is of.
    fn key_fields<'r>(
        &'r self,
        of: RecordType,
        key: &Key,
        function: FunctionName<'r>,
    ) -> DiffRecord<'r> {
        DiffRecord {
            name: function.name,
            file: function.file,
            obj: function.obj,
            site: self.name(key.site),
            line: key.line,
            callee: key
                .callee
                .map(|callee| Box::new(self.function_name(callee))),
            kind: self.name(key.kind),
            what: self.name(key.what),
            of: Name::from(of.name()),
            stack: self.stack(key),
            ..DiffRecord::default()
        }
    }

    /// The sides that are compared: old and new.
    fn sides(&self) -> [usize; 2] {
        self.of.options.sides(self.of.runs)
    }

    /// Which of them does not tell all of a row.
    fn below(&self, row: usize) -> Option<SilentRun> {
        let (sides, untold) = (self.sides(), self.of.joined.untold(row)?);
        let is_silent = |side: usize| untold.silent & 1 << side != 0;
        let is_of_any = |is_inclusive| untold.between(sides, is_inclusive).is_some();
        SilentRun::of(sides.map(is_silent)).filter(|_| is_of_any(false) || is_of_any(true))
    }

    /// The most that a side may have of a row of which it does not tell all.
    fn at_most(&self, row: usize, cost: &[Figure]) -> Option<CountsPerRun<'_>> {
        let untold = self.of.joined.untold(row)?;
        let event = self.first_events.get(&self.of.joined.rows[row].of)?;
        let entries = cost.get(*event)?.entries.iter().enumerate();
        let most = entries.map(|(side, entry)| {
            let more = untold.more.get(side).copied().filter(|more| *more > 0)?;
            Some(entry.unwrap_or(0).saturating_add(more))
        });
        let most: Vec<Option<Count>> = most.collect();
        let is_any = most.iter().any(Option::is_some);
        is_any.then(|| CountsPerRun(vec![(self.event(*event), PerRun(most))]))
    }

    /// How many places a row is the sum of that no run tells apart.
    fn places(&self, row: usize) -> Option<PerRun> {
        let of_side = |side: usize| {
            let of_file = |profile: usize| {
                let places = &self.of.runs.profiles[profile].table(self.of.joined.rows[row].of);
                let records = self.of.joined.records(row, profile).iter();
                let places = &places.numbers().places;
                let found = records.filter_map(|record| places.count(*record as usize));
                found.reduce(|sum, places| sum + places)
            };
            self.of.runs.files_of(side).filter_map(of_file).max()
        };
        let places: Vec<Option<Count>> = (0..self.of.runs.sides.len()).map(of_side).collect();
        let is_any = places.iter().any(Option::is_some);
        is_any.then_some(PerRun(places))
    }

    fn hosts(&self, of: RecordType, hosts: &[HostCosts]) -> Vec<Host<'_>> {
        let host = |host: &HostCosts| Host {
            function: self.function_name(host.function),
            cost: self.per_run(of, &host.cost, Figure::per_run),
        };
        hosts.iter().map(host).collect()
    }

    /// By how many standard deviations of chance the samples of a row changed.
    fn z(&self, row: usize) -> Option<serde_json::Number> {
        let sampling = self.of.options.sampling?;
        let (event, is_inclusive) = (sampling.event(), self.of.options.inclusive);
        let sampled = sampling.of_row(self.of.runs, self.of.joined, row, event, is_inclusive);
        let [reference, last] = self.sides();
        let z = sampled.z(reference, last);
        serde_json::Number::from_f64((z * 100.0).round() / 100.0)
    }

    /// The events to write: the first that the type has, and the others where some entry is not 0.
    fn written<'f>(
        &self,
        of: RecordType,
        figures: &'f [Figure],
    ) -> impl Iterator<Item = (usize, &'f Figure)> {
        let first = self.first_events.get(&of).copied().unwrap_or(0);
        figures.iter().enumerate().filter(move |(event, figure)| {
            *event == first || figure.entries.iter().flatten().any(|count| *count != 0)
        })
    }

    fn per_run(
        &self,
        of: RecordType,
        figures: &[Figure],
        entries: impl Fn(&Figure) -> PerRun,
    ) -> CountsPerRun<'_> {
        CountsPerRun(
            self.written(of, figures)
                .map(|(event, figure)| (self.event(event), entries(figure)))
                .collect(),
        )
    }

    /// What the files of each side say of self cost, where a side has several.
    fn of_files(
        &self,
        of: RecordType,
        figures: &Figures,
        entries: impl Fn(&Figure) -> figures::Entries,
    ) -> Option<Box<CountsPerRun<'_>>> {
        self.has_several_files()
            .then(|| Box::new(self.per_run(of, &figures.cost, |figure| PerRun(entries(figure)))))
    }

    /// The greatest change of self cost that is noise, where a side has several files. Of samples `z` tells.
    fn noise(&self, of: RecordType, figures: &Figures) -> Option<Box<Counts<'_>>> {
        let [reference, last] = self.sides();
        let is_told = self.has_several_files() && self.of.options.sampling.is_none();
        is_told.then(|| {
            let noise = |figure: &Figure| {
                // As far as a change is written.
                let noise = figure.noise(reference, last);
                noise.min(i64::MAX.into())
            };
            let events = self.written(of, &figures.cost);
            let noise = events.map(|(event, figure)| (self.event(event), noise(figure)));
            Box::new(Counts(noise.collect()))
        })
    }

    fn has_several_files(&self) -> bool {
        self.of.runs.sides.iter().any(|(_, files)| files.len() > 1)
    }

    fn deltas(
        &self,
        of: RecordType,
        figures: &[Figure],
        mut beyond: impl FnMut(&str, Count),
    ) -> Counts<'_> {
        let [reference, last] = self.sides();
        let mut deltas = Vec::new();
        for (event, figure) in self.written(of, figures) {
            if !self.of.runs.is_common(event) {
                continue;
            }
            let delta = figure.change(reference, last);
            if i64::try_from(delta).is_ok() {
                deltas.push((self.event(event), delta));
            } else {
                beyond(&self.of.runs.events[event], delta);
            }
        }
        Counts(deltas)
    }

    fn event(&self, event: usize) -> Name<'_> {
        Name::from(self.of.runs.events[event].as_str())
    }

    fn name(&self, symbol: Option<Symbol>) -> Option<Name<'_>> {
        self.of.runs.names.symbols.name(symbol)
    }

    fn function_name(&self, function: FunctionKey) -> FunctionName<'_> {
        FunctionName {
            name: self.name(function.name),
            file: self.name(function.file),
            obj: self.name(function.obj),
        }
    }

    /// The name that all records of a sum have once it is normalised.
    fn common_name(&self, name: Option<Symbol>) -> Option<Name<'_>> {
        let text = self.of.runs.names.symbols.text(name?);
        let (common, _) = self.rules.apply(text, Part::Function, Strength::Counter);
        Some(Name::from(common.into_owned()))
    }

    fn stack(&self, key: &Key) -> Vec<Frame<'_>> {
        let names = &self.of.runs.names;
        let frames = names.stacks.frames_of(key.stack);
        // Addresses are those of one run.
        frames
            .iter()
            .map(|frame| names.frame(frame, None))
            .collect()
    }
}
