//! The gate: reads, judges, reports, and says yes or no.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use cg_stream::tool::{self, Diagnostics, Outcome, Output, WhenClosed};

use crate::baseline::Baseline;
use crate::collect::collect;
use crate::finding::Evidence;
use crate::paths::Paths;
use crate::policy::{self, Policy, Status, Verdict};
use crate::report::{self, Format, Report};
use crate::suppression::{self, Suppressions};

/// What a run of leak-check is asked to do.
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) allow_fragment: bool,
    pub(crate) policy: Policy,
    pub(crate) suppressions: Vec<PathBuf>,
    pub(crate) list_unused_suppressions: bool,
    pub(crate) write_suppressions: bool,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) update_baseline: bool,
    pub(crate) format: Format,
    pub(crate) in_colour: bool,
    pub(crate) paths: Paths,
}

/// Judges the inputs.
///
/// # Errors
/// Where suppressions, the baseline or the output cannot be read or written.
pub(crate) fn run(mut options: Options, diagnostics: &mut Diagnostics) -> anyhow::Result<Outcome> {
    let suppressions = Suppressions::read(&options.suppressions)?;
    let baseline = read_baseline(&options)?;
    let files = tool::inputs(&options.files, diagnostics);
    let evidence = collect(&files, options.allow_fragment, diagnostics)?;
    let mut verdict = policy::judge(&evidence, &options.policy, &suppressions, &baseline);
    if options.policy.errors && (verdict.is_clean() || options.update_baseline) {
        tell_of_limits(&evidence, diagnostics);
    }
    if options.update_baseline
        && let Some(updated) =
            update_baseline(&options, &baseline, &evidence, &verdict, diagnostics)?
    {
        verdict = policy::judge(&evidence, &options.policy, &suppressions, &updated);
    }

    let text = if options.write_suppressions {
        written_suppressions(&evidence, &verdict, diagnostics)
    } else {
        if options.format.needs_repository_paths() {
            options.paths.find(&base_names(&evidence, &verdict));
        }
        let report = Report {
            evidence: &evidence,
            verdict: &verdict,
            paths: &options.paths,
            could_not_judge: diagnostics.had_trouble(),
        };
        report::render(&report, options.format, options.in_colour)?
    };
    let mut output = Output::new(WhenClosed::GoOn);
    output.write_all(&text).and_then(|()| output.flush())?;

    let all_unused = options.list_unused_suppressions;
    warn_of_unused(&suppressions, &verdict, all_unused, diagnostics);
    Ok(if verdict.is_clean() {
        Outcome::Done
    } else {
        Outcome::No
    })
}

/// Where Valgrind stopped reporting, it found more without saying what: what was found may be excused, the rest not.
fn tell_of_limits(evidence: &Evidence, diagnostics: &mut Diagnostics) {
    for process in &evidence.processes {
        if process.stopped_reporting {
            diagnostics.trouble(format!(
                "{}: Valgrind reached its limit and stopped reporting errors; --error-limit=no lifts it",
                process.title()
            ));
        }
    }
}

/// The text of `--write-suppressions`.
fn written_suppressions(
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) -> Vec<u8> {
    let written = suppression::suppressions_for(evidence, verdict);
    if written.without_stack > 0 {
        diagnostics.warn(format!(
            "findings without a stack, which no suppression can match: {}",
            written.without_stack
        ));
    }
    written.text.into_bytes()
}

/// Names the suppressions that matched nothing: all of them where that is asked for, else those that could not match.
fn warn_of_unused(
    suppressions: &Suppressions,
    verdict: &Verdict,
    all: bool,
    diagnostics: &mut Diagnostics,
) {
    for (suppression, uses) in suppressions.iter().zip(&verdict.suppression_uses) {
        if *uses > 0 {
            continue;
        }
        let place = format!(
            "{}: unused suppression \"{}\"",
            suppression.place, suppression.name
        );
        if suppression.needs_mangled_names() {
            diagnostics.warn(format!(
                "{place}: its wildcards are for mangled names, which are known only with --gen-suppressions=all"
            ));
        } else if all {
            diagnostics.warn(place);
        }
    }
}

/// The source files of new findings that are known by their base name alone.
fn base_names<'a>(evidence: &'a Evidence, verdict: &Verdict) -> HashSet<&'a str> {
    let findings = evidence.findings.iter().zip(&verdict.rulings);
    findings
        .filter(|(_, ruling)| matches!(ruling.status, Status::New | Status::Allowed))
        .flat_map(|(finding, _)| finding.stack.iter())
        .filter_map(|frame| frame.file.as_deref())
        .filter(|file| !file.contains('/'))
        .collect()
}

/// The baseline that was given; one that is to be updated need not exist yet.
fn read_baseline(options: &Options) -> anyhow::Result<Baseline> {
    match &options.baseline {
        Some(path) if !options.update_baseline || path.exists() => Baseline::read(path),
        _ => Ok(Baseline::default()),
    }
}

/// Writes what was found as the new baseline and returns it. Where something could not be read the file is left as it
/// was: what is missing is not gone then.
fn update_baseline(
    options: &Options,
    known: &Baseline,
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<Baseline>> {
    let path = options
        .baseline
        .as_deref()
        .context("--update-baseline needs --baseline")?;
    let name = path.display();
    if diagnostics.had_trouble() {
        diagnostics.warn(format!(
            "{name}: the baseline is left as it was, since not everything could be judged"
        ));
        return Ok(None);
    }
    let present = Baseline::of(evidence, &verdict.rulings);
    present.write(path)?;
    let gone = verdict.gone.iter().filter(|gone| gone.present == 0).count();
    let new = present.len() + gone - known.len();
    diagnostics.warn(format!(
        "{name}: known findings: {}, of which new: {new}; gone: {gone}",
        present.len()
    ));
    Ok(Some(present))
}
