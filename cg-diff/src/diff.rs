//! The whole comparison, from inputs to verdict.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use cg_document::number;
use cg_profile::Names;
use cg_stream::percent::Percent;
use cg_stream::record::{DiffSummary, RecordType, SamplingSummary, Status};
use cg_stream::writer::Writer;
use cg_tool::{Diagnostics, Outcome};

use crate::causes::{self, Causes};
use crate::compare::{self, Change, CompareOptions, Comparison};
use crate::gate::{self, JudgedLimits};
use crate::inputs::Inputs;
use crate::join::{self, FunctionRows, JoinOptions, MOST_SIDES};
use crate::limits::Limit;
use crate::matches::MatchList;
use crate::runs::{ComparedSides, ReadOptions, Runs, Side, Statistic};
use crate::sampling::{Sampling, Shares, Z};
use crate::unjudged::Judged;
use crate::write::{self, ComparisonOutput};
use crate::{caches, code, explain, extent, notes, totals};

/// The number of error messages that the output repeats.
const MOST_ERRORS: usize = 20;

/// The options of a comparison.
pub(crate) struct Options {
    /// The sides of each comparison; more than one comparison only for a directory of pairs.
    pub(crate) comparisons: Vec<ComparedSides>,
    /// In a directory of pairs, a message for each file without a counterpart.
    pub(crate) missing: Vec<String>,
    /// In directories, a message for each benchmark that also has files of another run.
    pub(crate) mixed_layouts: Vec<String>,
    /// True if a missing counterpart is not an error.
    pub(crate) allow_missing: bool,
    pub(crate) relative_to: RelativeTo,
    /// The way to combine the files of a side.
    pub(crate) statistic: Statistic,
    /// True if stacks are compared by function.
    pub(crate) by_function: bool,
    /// The records to make of raw profiles.
    pub(crate) records: cg_parse::Options,
    /// Additional directories with the objects of the first and the last side.
    pub(crate) debug_roots: [Vec<PathBuf>; 2],
    /// True if profiles that have only stacks are compared by function.
    pub(crate) stacks_by_function: bool,
    /// When to compare shares of all samples.
    pub(crate) shares: Shares,
    pub(crate) join: JoinOptions,
    pub(crate) inclusive: bool,
    /// True if the difference of the totals is explained by causes.
    pub(crate) causes: bool,
    /// The minimum change that counts, as a share of an event's total.
    pub(crate) min_change: Percent,
    /// True if unchanged rows are also written.
    pub(crate) all: bool,
    /// True if any difference fails the gate.
    pub(crate) exit_code: bool,
    pub(crate) limits: Vec<Limit>,
    pub(crate) allow_fragment: bool,
    /// True if a condition that matches nothing is not an error.
    pub(crate) allow_unmatched: bool,
    /// True if matches are listed instead of the comparison.
    pub(crate) list_matches: bool,
    /// The record types of `--type`; empty without this option.
    pub(crate) wanted_types: Vec<RecordType>,
}

/// The run that changes are relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RelativeTo {
    First,
    Previous,
    Named(String),
}

impl RelativeTo {
    fn side(&self, sides: &[Side]) -> anyhow::Result<usize> {
        match self {
            RelativeTo::First => Ok(0),
            RelativeTo::Previous => Ok(sides.len().saturating_sub(2)),
            RelativeTo::Named(name) => sides
                .iter()
                .position(|side| side.name == *name)
                .with_context(|| {
                    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
                    format!(
                        "--relative-to: expected first, previous or one of {}; found \"{name}\"",
                        names.join(", ")
                    )
                }),
        }
    }
}

impl Options {
    /// Returns true if the exit status is a verdict.
    pub(crate) fn is_gate(&self) -> bool {
        self.exit_code || !self.limits.is_empty()
    }

    /// Returns true if the verdict depends on leaks.
    fn judges_leaks(&self) -> bool {
        let has_leaks = self.join.types.contains(&RecordType::Leak);
        (self.exit_code && has_leaks) || self.limits.iter().any(Limit::is_on_leaks)
    }
}

/// Compares the inputs, writes the comparison and judges it.
///
/// # Errors
/// Returns an error if the output cannot be written, or the options do not fit the inputs.
pub(crate) fn diff(
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let mut unwritten = io::sink();
    let mut matches = MatchList::default();
    let mut out = Writer::new(match options.list_matches {
        true => &mut unwritten as &mut dyn Write,
        false => &mut *output,
    });
    let mut differs = false;
    let mut broken = BrokenLimits::default();
    let mut judged = vec![Judged::default(); options.limits.len()];
    let mut events = BTreeSet::new();
    let mut types = BTreeSet::new();
    report_missing(&options.missing, options, diagnostics);
    for sentence in &options.mixed_layouts {
        diagnostics.report(options.is_gate(), sentence);
    }
    let sides = options
        .comparisons
        .iter()
        .flat_map(|compared| &compared.sides);
    diagnostics.begin_inputs(sides.flat_map(|side| &side.files));
    for compared in &options.comparisons {
        for verdict in compare_sides(compared, options, &mut out, diagnostics)? {
            differs |= verdict.differs;
            broken.warn(&verdict, diagnostics);
            for (judged, now) in judged.iter_mut().zip(verdict.judgement.judged) {
                *judged = now.max(*judged);
            }
            events.extend(verdict.events);
            types.extend(verdict.types);
            matches.extend(verdict.matches);
        }
    }
    if options.list_matches {
        matches.write(output)?;
    }
    diagnostics.end_inputs();
    broken.warn_more(diagnostics);
    for (limit, judged) in options.limits.iter().zip(judged) {
        match judged {
            Judged::Fully => {}
            Judged::Unmatched => report_unmatched(limit.unmatched(), options, diagnostics),
            Judged::NotCounted => {
                diagnostics.error(limit.not_counted(&events));
            }
        }
    }
    let wanted_types = options.wanted_types.iter();
    for missing in wanted_types.filter(|wanted| !types.contains(wanted)) {
        let sentence = format!(
            "--type {}: no run has such records; --allow-unmatched accepts this",
            missing.name()
        );
        report_unmatched(sentence, options, diagnostics);
    }
    Ok(if broken.count > 0 || (options.exit_code && differs) {
        Outcome::No
    } else {
        Outcome::Done
    })
}

/// Reports missing counterparts.
fn report_missing(missing: &[String], options: &Options, diagnostics: &mut Diagnostics) {
    for missing in missing {
        diagnostics.report(!options.allow_missing, missing);
    }
}

/// Reports a condition that matches nothing: an error if the exit status is a verdict, otherwise a warning.
fn report_unmatched(sentence: String, options: &Options, diagnostics: &mut Diagnostics) {
    diagnostics.report(options.is_gate() && !options.allow_unmatched, sentence);
}

/// The result of one comparison.
#[derive(Default)]
struct Compared {
    /// The name of the comparison, if there are several.
    name: Option<String>,
    differs: bool,
    judgement: JudgedLimits,
    /// The events that can be limited.
    events: Vec<String>,
    /// The record types that the runs have or could have.
    types: BTreeSet<RecordType>,
    /// The rows with different names, if they are listed.
    matches: MatchList,
}

/// Compares sides. Each comparison is a section of the output: one for each benchmark in the inputs.
fn compare_sides(
    ComparedSides { bench, sides }: &ComparedSides,
    options: &Options,
    out: &mut Writer<&mut dyn Write>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Vec<Compared>> {
    anyhow::ensure!(
        sides.len() <= MOST_SIDES,
        "expected at most {MOST_SIDES} runs, found {}; --before and --after accept any number of files",
        sides.len()
    );
    let reference = options.relative_to.side(sides)?;
    let read_options = ReadOptions {
        statistic: options.statistic,
        lines: options.join.types.contains(&RecordType::Line)
            || (options.causes && options.records.lines),
        by_function: options.by_function,
        records: options.records.clone(),
        debug_roots: options.debug_roots.clone(),
        functions: options.join.types.contains(&RecordType::Fn),
        stacks_by_function: options.stacks_by_function,
        allow_fragment: options.allow_fragment,
        limited: limited_events(&options.limits),
    };
    if options.records.lines && !read_options.lines {
        diagnostics.warn("line records are read but not compared; --type fn,line compares them");
    }
    let mut inputs = Inputs::read(sides, &read_options, diagnostics)?;
    let Some(benchmarks) = inputs.benchmarks() else {
        let mut runs = inputs.take_all(sides, &read_options, diagnostics)?;
        // The name in the profiles takes precedence over the path.
        runs.bench = totals::common_benchmark(&runs).or_else(|| bench.clone());
        let is_one_of_several = options.comparisons.len() > 1;
        let compared = compare_read(
            runs,
            reference,
            is_one_of_several,
            options,
            out,
            diagnostics,
        )?;
        return Ok(compared.0);
    };
    let mut all = Vec::new();
    for benchmark in benchmarks {
        let missing = inputs.missing(benchmark.as_deref());
        if !missing.is_empty() {
            report_missing(&missing, options, diagnostics);
            continue;
        }
        let name = benchmark.as_deref();
        let mut runs = inputs.take_benchmark(name, sides, &read_options, diagnostics)?;
        runs.bench = benchmark.or_else(|| bench.clone());
        let (compared, names) = compare_read(runs, reference, true, options, out, diagnostics)?;
        inputs.names = names;
        all.extend(compared);
    }
    Ok(all)
}

/// Checks the runs that were read, and compares them. Totals of several benchmarks are compared separately. Returns the
/// names of the runs too.
fn compare_read(
    runs: Runs,
    reference: usize,
    is_one_of_several: bool,
    options: &Options,
    out: &mut Writer<&mut dyn Write>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Vec<Compared>, Names)> {
    report_missing(&notes::unequal_sums(&runs), options, diagnostics);
    if options.is_gate() && !options.allow_fragment {
        for incomplete in &runs.incomplete {
            diagnostics.error(incomplete);
        }
    }
    for doubt in &runs.leak_kinds.doubts {
        diagnostics.report(options.judges_leaks(), doubt);
    }
    if let Some(unlike) = extent::unlike_parts(&runs).filter(|_| options.is_gate()) {
        diagnostics.error(unlike);
    }
    let (mut all, is_one_of_several) = match totals::by_benchmark(&runs)? {
        Some(benchmarks) => {
            report_missing(&benchmarks.missing, options, diagnostics);
            (benchmarks.runs, true)
        }
        None => (vec![runs], is_one_of_several),
    };
    let mut compared = Vec::new();
    for runs in &mut all {
        compared.push(compare_runs(
            runs,
            reference,
            is_one_of_several,
            options,
            out,
            diagnostics,
        )?);
    }
    let names = all.pop().map_or_else(Names::default, |runs| runs.names);
    Ok((compared, names))
}

/// Compares runs with the run at `reference`.
fn compare_runs(
    runs: &mut Runs,
    reference: usize,
    is_one_of_several: bool,
    options: &Options,
    out: &mut Writer<&mut dyn Write>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Compared> {
    if let Some(why) = notes::why_meaningless(runs) {
        diagnostics.error(why);
        return Ok(Compared::default());
    }
    refuse_other_caches(runs, options, diagnostics);
    let wanted = options.wanted_types.iter();
    for kind in wanted.filter(|kind| runs.uneven.has_type(**kind)) {
        let kind = kind.name();
        let sentence =
            format!("--type {kind}: only some runs have such records, so they are not compared");
        report_unmatched(sentence, options, diagnostics);
    }
    let joined = join::join(runs, &options.join);
    let runs = &*runs;
    let sampling = Sampling::from_runs(runs, options.shares);
    let compare_options = CompareOptions {
        reference,
        is_to_previous: options.relative_to == RelativeTo::Previous,
        inclusive: options.inclusive,
        min_change: Some(options.min_change),
        sampling: sampling.as_ref(),
    };
    let mut comparison = compare::compare(runs, &joined, compare_options);
    let rows = FunctionRows::collect(runs, &joined);
    let explanations = explain::explain(&comparison, &rows);
    let mut causes = Causes::default();
    if options.causes {
        match causes::find_causes(&comparison, &rows, &options.join.rules) {
            Ok(found) => causes = found,
            Err(refusal) => diagnostics.error(refusal),
        }
    }
    explanations.rank(&mut comparison);
    let mut summary = summarise(&comparison, options, diagnostics);
    summary.cycles = causes.cycle_summaries(runs);
    let judgement = gate::judge(&comparison, &options.limits, diagnostics);
    if !options.limits.is_empty() {
        summary.broken_limits = Some(judgement.broken.clone());
    }
    let differs = differs(&comparison, options, diagnostics);
    // Documents print the first errors before the figures.
    let errors = diagnostics.errors().iter().take(MOST_ERRORS);
    summary.errors.extend(errors.cloned());
    summary.errors.dedup();
    let written = ComparisonOutput {
        comparison: &comparison,
        explanations: &explanations,
        causes: &causes,
        summary: &summary,
        rules: &options.join.rules,
        first_events: runs.first_events(&options.join.types),
    };
    write::write(&written, options.all, diagnostics, out)?;
    let last_side = runs.sides.last().map(|(name, _)| name);
    let name = runs.bench.as_ref().or(last_side);
    Ok(Compared {
        name: name.filter(|_| is_one_of_several).cloned(),
        differs,
        judgement,
        events: gate::limited_events(runs),
        types: notes::possible_types(runs),
        matches: match options.list_matches {
            true => MatchList::new(&comparison, &options.join.rules),
            false => MatchList::default(),
        },
    })
}

/// Returns true if anything differs. Reports an error for `--exit-code` if only places below Massif's threshold may differ.
fn differs(comparison: &Comparison, options: &Options, diagnostics: &mut Diagnostics) -> bool {
    let is_below_threshold = |change: &&Change| change.status == Status::BelowThreshold;
    let (hidden, known): (Vec<&Change>, Vec<&Change>) =
        comparison.changes.iter().partition(is_below_threshold);
    let differs = totals::differ(comparison.runs) || known.into_iter().any(Change::differs);
    if !differs && !hidden.is_empty() && options.exit_code {
        diagnostics.error(
            "--exit-code: places below Massif's threshold may have changed; rerun Massif with --threshold=0",
        );
    }
    differs
}

/// Reports an error for `--exit-code` if the runs have different caches. It judges every event, including cache events.
fn refuse_other_caches(runs: &Runs, options: &Options, diagnostics: &mut Diagnostics) {
    if let Some(event) = caches::find_incomparable_cache_event(runs).filter(|_| options.exit_code) {
        diagnostics.error(format!(
            "--exit-code: {event} is not comparable, because the runs have different caches; give all runs the same \
             --I1, --D1 and --LL"
        ));
    }
}

/// The broken limits of all comparisons.
#[derive(Default)]
struct BrokenLimits {
    count: usize,
}

impl BrokenLimits {
    /// The maximum number of sentences on standard error. The `run` records have all.
    const MOST: usize = 25;

    /// Warns about the broken limits of a comparison.
    fn warn(&mut self, compared: &Compared, diagnostics: &mut Diagnostics) {
        for sentence in &compared.judgement.broken {
            self.count += 1;
            if self.count <= Self::MOST {
                diagnostics.warn(match &compared.name {
                    Some(name) => format!("{name}: {sentence}"),
                    None => sentence.clone(),
                });
            }
        }
    }

    /// Warns about the number of broken limits that [`BrokenLimits::warn`] did not name.
    fn warn_more(&self, diagnostics: &mut Diagnostics) {
        let more = self.count.saturating_sub(Self::MOST);
        if more > 0 {
            let limits = number::plural(more as i128, "more limit is", "more limits are");
            diagnostics.warn(format!(
                "{limits} broken; broken_limits in the run records has all"
            ));
        }
    }
}

/// Summarises the whole comparison, without its limits.
fn summarise(
    comparison: &Comparison,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> DiffSummary {
    let (runs, rules) = (comparison.runs, &options.join.rules);
    let mut summary = compare::summary(comparison, rules);
    summary.inclusive = options.inclusive;
    summary.relative_to = match options.relative_to {
        RelativeTo::Previous => "previous".to_owned(),
        _ => runs.sides[comparison.options.reference].0.clone(),
    };
    summary.notes = notes::differences(runs, rules);
    // For a gate, this is already an error.
    summary
        .notes
        .extend(extent::unlike_parts(runs).filter(|_| !options.is_gate()));
    if let Some(sampling) = comparison.options.sampling {
        if let Some(note) = sampling.note() {
            // Readers of counts, here or further down a pipe, need this note before anything else.
            if !options.is_gate() {
                diagnostics.warn(&note);
            }
            summary.notes.push(note);
        }
        let is_by_shares = sampling.is_by_shares();
        let compared = if is_by_shares { "shares" } else { "counts" };
        summary.sampling = Some(SamplingSummary {
            compared: compared.to_owned(),
            event: runs.events[sampling.event()].clone(),
            z: Z,
        });
    }
    summary.errors = [&runs.incomplete[..], &runs.leak_kinds.doubts].concat();
    // The output shows the notes, but a gate's output may be discarded, so a gate warns too.
    if options.is_gate() {
        for note in &summary.notes {
            diagnostics.warn(note);
        }
    }
    let sides = comparison.options.sides(runs);
    if let Some(note) = totals::chance_note(runs, sides) {
        summary.is_noise = !totals::differ(runs);
        summary.notes.push(note);
    }
    summary.notes.extend(notes::likely_noise(comparison));
    summary.notes.extend(notes::renamed_paths(comparison));
    summary.notes.extend(code::note(comparison));
    let below_threshold = notes::below_threshold(&comparison.changes);
    summary.notes.extend(below_threshold);
    summary.left_out = notes::left_out(comparison);
    if let Some(left_out) = &summary.left_out {
        let note = match comparison.options.sampling {
            Some(sampling) => notes::chance_note(&runs.events[sampling.event()], left_out),
            None => notes::left_out_note(runs, left_out, options.min_change),
        };
        summary.notes.push(note);
    }
    summary
}

/// The types with self cost. `line` and `call` records only split the cost of a function.
pub(crate) const TYPES_BY_DEFAULT: [RecordType; 6] = [
    RecordType::Fn,
    RecordType::Leak,
    RecordType::Error,
    RecordType::Heap,
    RecordType::ProgramPoint,
    RecordType::Stack,
];

/// Returns the distinct events that are limited.
fn limited_events(limits: &[Limit]) -> Vec<String> {
    let events: BTreeSet<&str> = limits.iter().filter_map(Limit::event).collect();
    events.into_iter().map(str::to_owned).collect()
}
