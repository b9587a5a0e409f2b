//! The gate: reads, judges, reports, and says yes or no.

use std::collections::HashSet;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_document::number::plural;
use cg_document::text::Screen;
use cg_sources::Places;
use cg_stream::tool::whole_file::Replaceable;
use cg_stream::tool::{self, Diagnostics, Outcome, Output, WhenClosed};

use crate::baseline::Baseline;
use crate::collect::{Lenience, collect};
use crate::coverage;
use crate::finding::Evidence;
use crate::folder::with_files_of_folders;
use crate::paths::Paths;
use crate::policy::{self, Policy, Verdict};
use crate::report::{self, GateReport, ReportFormat, StackLines};
use crate::suppression::{self, Suppressions};
use crate::unmatched;

/// A report is written in pieces of this size.
const BUFFER_SIZE: usize = 64 * 1024;

/// What a run of leak-check is asked to do.
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) allow_fragment: bool,
    pub(crate) allow_exec: bool,
    /// How many processes there have to be.
    pub(crate) expect: Option<u64>,
    pub(crate) allow_unmatched: bool,
    pub(crate) policy: Policy,
    pub(crate) suppressions: Vec<PathBuf>,
    pub(crate) default_suppressions: bool,
    pub(crate) list_unused_suppressions: bool,
    pub(crate) write_suppressions: bool,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) update_baseline: bool,
    pub(crate) format: ReportFormat,
    /// What the report for people is laid out for.
    pub(crate) screen: Screen,
    pub(crate) all_frames: bool,
    pub(crate) paths: Paths,
    /// Where a page may show sources from.
    pub(crate) places: Places,
}

/// Judges the inputs.
///
/// # Errors
/// Where suppressions, the baseline or the output cannot be read or written.
pub(crate) fn run(
    mut options: Options,
    output: &mut Output,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    output.set_when_closed(WhenClosed::GoOn);
    // A report says itself what could not be judged; suppressions do not.
    if !options.write_suppressions {
        output.stand_with_trouble();
    }
    let suppressions = Suppressions::read(&options.suppressions, options.default_suppressions)?;
    let baseline_file = baseline_to_update(&options)?;
    let baseline = match (&options.baseline, &baseline_file) {
        (Some(path), None) => Baseline::read(path)?,
        (Some(path), Some(file)) if file.exists() => Baseline::read(path)?,
        _ => Baseline::default(),
    };
    let evidence = read(&options, diagnostics)?;
    let policy = &options.policy;
    let asks_for_files = !(policy.only.is_empty() && policy.ignore.is_empty());
    if asks_for_files || (options.format.needs_repository_paths() && !options.write_suppressions) {
        options.paths.find(&base_names(&evidence));
    }
    let paths = &options.paths;
    let mut verdict = policy::judge(&evidence, policy, &suppressions, &baseline, paths);
    let is_red = !verdict.is_clean() && !options.update_baseline;
    let is_text = options.format == ReportFormat::Text && !options.write_suppressions;
    let mut doubts = Vec::new();
    for doubt in unmatched::doubts(&evidence, policy, &verdict, paths) {
        // What is red stays so, whatever else was asked.
        let is_accepted = options.allow_unmatched && doubt.is_unmatched;
        if is_text && !is_red && !is_accepted {
            diagnostics.trouble_in_output(&doubt.sentence);
            doubts.push(doubt.sentence);
        } else {
            diagnostics.say(!is_red && !is_accepted, doubt.sentence);
        }
    }
    if options.policy.errors && !is_red {
        tell_of_limits(&evidence, diagnostics);
    }
    for gap in coverage::gaps(&evidence, options.policy.leak_kinds, options.policy.errors) {
        // What was not shown can only add to what was found.
        diagnostics.say(!is_red, gap);
    }
    if let (Some(path), Some(file)) = (&options.baseline, &baseline_file)
        && let Some(updated) =
            update_baseline(path, file, &baseline, &evidence, &verdict, diagnostics)?
    {
        verdict = policy::judge(&evidence, policy, &suppressions, &updated, paths);
    }
    if options.policy.max_growth.is_some()
        && let Some(doubt) = unknown_sizes(&verdict)
    {
        diagnostics.say(!is_red, doubt);
    }
    if options.write_suppressions {
        let text = written_suppressions(&evidence, &verdict, diagnostics);
        output.write_all(text.as_bytes())?;
    } else {
        let report = GateReport {
            evidence: &evidence,
            verdict: &verdict,
            defaults_used: suppressions.defaults_used(&verdict.suppression_uses),
            paths: &options.paths,
            places: &options.places,
            lines: StackLines::new(&options.paths, options.all_frames),
            could_not_judge: diagnostics.had_trouble(),
            doubts,
        };
        let mut buffered = BufWriter::with_capacity(BUFFER_SIZE, &mut *output);
        report::write(&report, options.format, options.screen, &mut buffered)?;
        buffered.flush()?;
    }
    output.flush()?;

    let all_unused = options.list_unused_suppressions;
    warn_of_unused(&suppressions, &verdict, all_unused, diagnostics);
    Ok(if verdict.is_clean() {
        Outcome::Done
    } else {
        Outcome::No
    })
}

/// Reads the inputs, and holds the number of processes to what is expected.
fn read(options: &Options, diagnostics: &mut Diagnostics) -> anyhow::Result<Evidence> {
    let files = tool::inputs(&options.files, diagnostics);
    let files = with_files_of_folders(files, diagnostics);
    let lenience = Lenience {
        fragments: options.allow_fragment,
        exec: options.allow_exec,
    };
    let evidence = collect(&files, lenience, diagnostics)?;
    if let Some(expected) = options.expect {
        tell_of_number(expected, &evidence, diagnostics);
    }
    Ok(evidence)
}

/// Says where another number of processes was found than there should be.
fn tell_of_number(expected: u64, evidence: &Evidence, diagnostics: &mut Diagnostics) {
    let found = evidence.processes.len() as u64;
    if found != expected {
        let processes = |count: u64| plural(count.into(), "process", "processes");
        diagnostics.trouble(format!(
            "expected {} (--expect), found {}: a log is missing, or one is too many",
            processes(expected),
            processes(found)
        ));
    }
}

/// How many known leaks cannot be held to a limit of growth, in a sentence.
fn unknown_sizes(verdict: &Verdict) -> Option<String> {
    (verdict.known_without_size > 0).then(|| {
        format!(
            "known leaks whose size the baseline does not tell, so that --max-growth cannot hold them to it: {}; \
             --update-baseline writes it",
            verdict.known_without_size
        )
    })
}

/// Where Valgrind stopped reporting, it found more without saying what: what was found may be excused, the rest not.
fn tell_of_limits(evidence: &Evidence, diagnostics: &mut Diagnostics) {
    for process in &evidence.processes {
        if process.facts().stopped_reporting {
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
) -> String {
    let written = suppression::suppressions_for(evidence, verdict);
    if written.without_stack > 0 {
        diagnostics.warn(format!(
            "findings without a stack, signals and errors of sanitizers, which no suppression can match: {}",
            written.without_stack
        ));
    }
    if written.of_objects > 0 {
        diagnostics.warn(format!(
            "suppressions that name no function of the program, since it has no symbols, and match whatever else is \
             allocated or done in the same objects in this way: {}",
            written.of_objects
        ));
    }
    written.text
}

/// Names the suppressions that matched nothing: all of them where that is asked for, else those that could not match.
fn warn_of_unused(
    suppressions: &Suppressions,
    verdict: &Verdict,
    all: bool,
    diagnostics: &mut Diagnostics,
) {
    for (suppression, uses) in suppressions.given().iter().zip(&verdict.suppression_uses) {
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

/// The source files of own frames that are known by their base names alone; a library's file of that name is not the
/// project's.
fn base_names(evidence: &Evidence) -> HashSet<&str> {
    let mut names = HashSet::new();
    let mut seen = HashSet::new();
    for finding in &evidence.findings {
        if !seen.insert(&finding.stack) {
            continue;
        }
        let own = finding.stack.own();
        let frames = finding.stack.iter().zip(own).filter(|(_, own)| *own);
        let files = frames.filter_map(|(frame, _)| frame.file.as_deref());
        names.extend(files.filter(|file| !file.contains('/')));
    }
    names
}

/// The baseline file to update, if that is asked for. A file that cannot be replaced is refused before it is read:
/// reading a pipe could block.
fn baseline_to_update(options: &Options) -> anyhow::Result<Option<Replaceable>> {
    match &options.baseline {
        Some(path) if options.update_baseline => Replaceable::at(path)
            .with_context(|| path.display().to_string())
            .map(Some),
        _ => Ok(None),
    }
}

/// Writes the findings as the new baseline and returns it. If something could not be read, the file stays unchanged: a
/// finding that is missing may not be gone.
fn update_baseline(
    path: &Path,
    file: &Replaceable,
    known: &Baseline,
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<Baseline>> {
    let name = path.display();
    if diagnostics.had_trouble() {
        diagnostics.warn(format!(
            "{name}: the baseline is left as it was, since not everything could be judged"
        ));
        return Ok(None);
    }
    let present = Baseline::renewed(evidence, &verdict.rulings);
    present
        .write(file)
        .with_context(|| format!("{name}: cannot write the baseline"))?;
    let gone = verdict.gone.iter().filter(|gone| gone.present == 0).count();
    let new = (present.len() + gone).saturating_sub(known.len());
    diagnostics.warn(format!(
        "{name}: known findings: {}, of which new: {new}; gone: {gone}",
        present.len()
    ));
    Ok(Some(present))
}
