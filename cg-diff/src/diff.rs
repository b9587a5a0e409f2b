//! The comparison from inputs to verdict.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use cg_stream::percent::Percent;
use cg_stream::record::{DiffSummary, RecordType, SamplingSummary, Status};
use cg_stream::tool::{Diagnostics, Outcome};
use cg_stream::writer::Writer;

use crate::causes::{self, Causes};
use crate::compare::{self, Change, CompareOptions, Comparison};
use crate::gate::{self, JudgedLimits};
use crate::join::{self, FunctionRows, JoinOptions, MOST_SIDES};
use crate::limits::Limit;
use crate::runs::{ReadOptions, Runs, Side, Statistic};
use crate::sampling::{Sampling, Shares, Z};
use crate::unjudged::Judged;
use crate::write::{self, ToldComparison};
use crate::{code, explain, extent, notes, totals};

/// What to compare, and what to say about it.
pub(crate) struct Options {
    /// The sides of each comparison; several comparisons only of a directory of pairs.
    pub(crate) comparisons: Vec<Vec<Side>>,
    /// Of a directory of pairs, a sentence on each file that lacks its counterpart.
    pub(crate) missing: Vec<String>,
    /// Of directories, a sentence on each benchmark that has files of another run too.
    pub(crate) of_two_layouts: Vec<String>,
    /// Whether a missing counterpart is accepted instead of being trouble.
    pub(crate) allow_missing: bool,
    pub(crate) relative_to: RelativeTo,
    /// What a side of several files is compared by.
    pub(crate) statistic: Statistic,
    /// Compare stacks as the functions in them.
    pub(crate) by_function: bool,
    /// Which records of raw profiles are wanted by name.
    pub(crate) records: cg_parse::Options,
    /// Where else objects of the first and of the last side are.
    pub(crate) debug_roots: [Vec<PathBuf>; 2],
    /// Compare sampled stacks as the functions in them.
    pub(crate) samples_by_function: bool,
    /// When shares of all samples are compared.
    pub(crate) shares: Shares,
    pub(crate) join: JoinOptions,
    pub(crate) inclusive: bool,
    /// Whether it is told where the difference of the totals comes from.
    pub(crate) causes: bool,
    /// The share of an event's total from which on a change counts.
    pub(crate) min_change: Percent,
    /// Write rows that are the same too.
    pub(crate) all: bool,
    /// Any difference fails the gate.
    pub(crate) exit_code: bool,
    pub(crate) limits: Vec<Limit>,
    pub(crate) allow_fragment: bool,
    /// Whether conditions that match nothing are accepted instead of being trouble.
    pub(crate) allow_unmatched: bool,
    /// The types of records that were asked for, if any.
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
    /// True where the exit status is a verdict.
    pub(crate) fn is_gate(&self) -> bool {
        self.exit_code || !self.limits.is_empty()
    }

    /// True where a verdict rests on leaks.
    fn judges_leaks(&self) -> bool {
        let has_leaks = self.join.types.contains(&RecordType::Leak);
        (self.exit_code && has_leaks) || self.limits.iter().any(Limit::is_on_leaks)
    }
}

/// Compares, writes and judges.
///
/// # Errors
/// Where the output cannot be written, or the comparison cannot be made as it was asked for.
pub(crate) fn diff(
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let mut out = Writer::new(output);
    let mut differs = false;
    let mut is_broken = false;
    let mut judged = vec![Judged::default(); options.limits.len()];
    let mut events = BTreeSet::new();
    let mut types = BTreeSet::new();
    tell_missing(&options.missing, options, diagnostics);
    for sentence in &options.of_two_layouts {
        diagnostics.say(options.is_gate(), sentence);
    }
    let sides = options.comparisons.iter().flatten();
    diagnostics.begin_inputs(sides.flat_map(|side| &side.files));
    for sides in &options.comparisons {
        for verdict in compare_sides(sides, options, &mut out, diagnostics)? {
            differs |= verdict.differs;
            is_broken |= !verdict.judgement.broken.is_empty();
            for (judged, now) in judged.iter_mut().zip(verdict.judgement.judged) {
                *judged = now.max(*judged);
            }
            events.extend(verdict.events);
            types.extend(verdict.types);
        }
    }
    diagnostics.end_inputs();
    for (limit, judged) in options.limits.iter().zip(judged) {
        match judged {
            Judged::Fully => {}
            Judged::Unmatched => tell_unmatched(limit.unmatched(), options, diagnostics),
            Judged::NotCounted => {
                diagnostics.trouble(limit.not_counted(&events));
            }
        }
    }
    for of in options.wanted_types.iter().filter(|of| !types.contains(of)) {
        let sentence = format!(
            "--type {}: no run has such records; --allow-unmatched accepts that",
            of.name()
        );
        tell_unmatched(sentence, options, diagnostics);
    }
    Ok(if is_broken || (options.exit_code && differs) {
        Outcome::No
    } else {
        Outcome::Done
    })
}

/// Says what has no counterpart to be compared with.
fn tell_missing(missing: &[String], options: &Options, diagnostics: &mut Diagnostics) {
    for missing in missing {
        diagnostics.say(!options.allow_missing, missing);
    }
}

/// Says which condition matched nothing; where there is a verdict, it does not rest on it.
fn tell_unmatched(sentence: String, options: &Options, diagnostics: &mut Diagnostics) {
    diagnostics.say(options.is_gate() && !options.allow_unmatched, sentence);
}

/// What one comparison came to.
#[derive(Default)]
struct Compared {
    differs: bool,
    judgement: JudgedLimits,
    /// What limits can be on.
    events: Vec<String>,
    /// The types of records that a run has, or could have had.
    types: BTreeSet<RecordType>,
}

/// One comparison, a section of the output; totals of several benchmarks are compared each for itself.
fn compare_sides(
    sides: &[Side],
    options: &Options,
    out: &mut Writer<&mut dyn Write>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Vec<Compared>> {
    anyhow::ensure!(
        sides.len() <= MOST_SIDES,
        "{} runs are too many, {MOST_SIDES} is the most; --before and --after take any number",
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
        samples_by_function: options.samples_by_function,
        allow_fragment: options.allow_fragment,
        limited: limited_events(&options.limits),
    };
    if options.records.lines && !read_options.lines {
        diagnostics.warn("line records are read and not compared: --type fn,line compares them");
    }
    let runs = Runs::read(sides, read_options, diagnostics)?;
    tell_missing(&notes::unequal_sums(&runs), options, diagnostics);
    if options.is_gate() && !options.allow_fragment {
        for incomplete in &runs.incomplete {
            diagnostics.trouble(incomplete);
        }
    }
    for doubt in &runs.leak_kinds.doubts {
        diagnostics.say(options.judges_leaks(), doubt);
    }
    if let Some(unlike) = extent::unlike_parts(&runs).filter(|_| options.is_gate()) {
        diagnostics.trouble(unlike);
    }
    let (all, is_one_of_several) = match totals::by_benchmark(&runs)? {
        Some(benchmarks) => {
            tell_missing(&benchmarks.missing, options, diagnostics);
            (benchmarks.runs, true)
        }
        None => (vec![runs], options.comparisons.len() > 1),
    };
    all.into_iter()
        .map(|runs| {
            compare_runs(
                runs,
                reference,
                is_one_of_several,
                options,
                out,
                diagnostics,
            )
        })
        .collect()
}

/// Compares runs with that at `reference`.
fn compare_runs(
    mut runs: Runs,
    reference: usize,
    is_one_of_several: bool,
    options: &Options,
    out: &mut Writer<&mut dyn Write>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Compared> {
    if let Some(why) = notes::why_meaningless(&runs) {
        diagnostics.trouble(why);
        return Ok(Compared::default());
    }
    refuse_other_caches(&runs, options, diagnostics);
    let joined = join::join(&mut runs, &options.join);
    let runs = &runs;
    let sampling = Sampling::of(runs, options.shares);
    let compare_options = CompareOptions {
        reference,
        is_to_previous: options.relative_to == RelativeTo::Previous,
        inclusive: options.inclusive,
        min_change: Some(options.min_change),
        sampling: sampling.as_ref(),
    };
    let mut comparison = compare::compare(runs, &joined, compare_options);
    let rows = FunctionRows::of(runs, &joined);
    let explanations = explain::explain(&comparison, &rows);
    let mut causes = Causes::default();
    if options.causes {
        match causes::of(&comparison, &rows) {
            Ok(found) => causes = found,
            // What cannot be told is trouble.
            Err(refusal) => diagnostics.trouble(refusal),
        }
    }
    explanations.rank(&mut comparison);
    let mut summary = summarise(&comparison, options, diagnostics);
    let judgement = gate::judge(&comparison, &options.limits, diagnostics);
    if !options.limits.is_empty() {
        summary.broken_limits = Some(judgement.broken.clone());
    }
    let differs = differs(&comparison, options, diagnostics);
    // The first of what could not be done; a document says it before its figures.
    summary.troubles.extend_from_slice(diagnostics.troubles());
    summary.troubles.dedup();
    let told = ToldComparison {
        of: &comparison,
        explanations: &explanations,
        causes: &causes,
        summary: &summary,
        rules: &options.join.rules,
        first_events: runs.first_events(&options.join.types),
    };
    write::write(&told, options.all, diagnostics, out)?;
    tell_broken(runs, &judgement, is_one_of_several, diagnostics);
    Ok(Compared {
        differs,
        judgement,
        events: gate::limited_events(runs),
        types: notes::possible_types(runs),
    })
}

/// Whether anything differs. Where nothing does but what Massif does not tell, `--exit-code` has no answer.
fn differs(comparison: &Comparison, options: &Options, diagnostics: &mut Diagnostics) -> bool {
    let is_untold = |change: &&Change| change.status == Status::BelowThreshold;
    let (untold, told): (Vec<&Change>, Vec<&Change>) =
        comparison.changes.iter().partition(is_untold);
    let differs = totals::differ(comparison.runs) || told.into_iter().any(Change::is_one);
    if !differs && !untold.is_empty() && options.exit_code {
        diagnostics.trouble(
            "--exit-code cannot tell whether places below Massif's threshold changed; run Massif with --threshold=0",
        );
    }
    differs
}

/// `--exit-code` is on every event, those among them that other caches change.
fn refuse_other_caches(runs: &Runs, options: &Options, diagnostics: &mut Diagnostics) {
    if let Some(event) = notes::of_other_caches(runs).filter(|_| options.exit_code) {
        diagnostics.trouble(format!(
            "--exit-code cannot tell what changed {event}: the runs have different caches; give all runs the same \
             --I1, --D1 and --LL"
        ));
    }
}

/// Says which limits are broken; of several comparisons, in which.
fn tell_broken(
    runs: &Runs,
    judgement: &JudgedLimits,
    is_one_of_several: bool,
    diagnostics: &mut Diagnostics,
) {
    let of_several = runs.sides.last().filter(|_| is_one_of_several);
    for sentence in &judgement.broken {
        diagnostics.warn(match of_several {
            Some((name, _)) => format!("{name}: {sentence}"),
            None => sentence.clone(),
        });
    }
}

/// What is said of a comparison as a whole, but for its limits.
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
    // A gate has made trouble of it.
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
    summary.troubles = [&runs.incomplete[..], &runs.leak_kinds.doubts].concat();
    // The output shows the notes, but a gate's output may be discarded, so a gate warns too.
    if options.is_gate() {
        for note in &summary.notes {
            diagnostics.warn(note);
        }
    }
    summary.notes.extend(notes::likely_noise(comparison));
    summary.notes.extend(code::note(comparison));
    let below_threshold = notes::below_threshold(&comparison.changes);
    summary.notes.extend(below_threshold);
    summary.left_out = notes::left_out(comparison);
    if let Some(left_out) = &summary.left_out {
        let note = match comparison.options.sampling {
            Some(sampling) => notes::of_chance(&runs.events[sampling.event()], left_out),
            None => notes::of_left_out(runs, left_out, options.min_change),
        };
        summary.notes.push(note);
    }
    summary
}

/// The types that have costs of their own; a `line` or `call` record only tells a function's cost apart.
pub(crate) const TYPES_BY_DEFAULT: [RecordType; 6] = [
    RecordType::Fn,
    RecordType::Leak,
    RecordType::Error,
    RecordType::Heap,
    RecordType::ProgramPoint,
    RecordType::Stack,
];

/// The events that limits are on, each once.
fn limited_events(limits: &[Limit]) -> Vec<String> {
    let events: BTreeSet<&str> = limits.iter().filter_map(Limit::event).collect();
    events.into_iter().map(str::to_owned).collect()
}
