//! The gate: reads the inputs, judges them, writes the report, and chooses the outcome.

use std::collections::HashSet;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use cg_document::number::{grouped, plural};
use cg_document::text::Screen;
use cg_sources::Places;
use cg_stream::record::Count;
use cg_tool::whole_file::Replaceable;
use cg_tool::{Diagnostics, Outcome, Output, WhenClosed};
use regex::Regex;

use crate::baseline::Baseline;
use crate::collect::{Lenience, collect};
use crate::coverage;
use crate::directory::expand_directories;
use crate::finding::Evidence;
use crate::identity::NormalNames;
use crate::launchers;
use crate::paths::Paths;
use crate::policy::{self, Policy, Verdict};
use crate::report::{self, GateReport, ReportFormat, StackLines};
use crate::source_text::SourceLines;
use crate::suppression::{self, Suppressions};
use crate::unmatched;

/// The size of the buffer for reports, in bytes.
const BUFFER_SIZE: usize = 64 * 1024;

/// The options of a run of leak-check.
pub(crate) struct Options {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) allow_fragment: bool,
    pub(crate) allow_exec: bool,
    pub(crate) allow_launcher: bool,
    /// Regexes that must each match the command of a judged process.
    pub(crate) commands: Vec<Regex>,
    /// The exit status of the job that wrote the inputs.
    pub(crate) job_status: Option<u8>,
    /// The expected number of processes.
    pub(crate) expect: Option<u64>,
    pub(crate) allow_unmatched: bool,
    pub(crate) policy: Policy,
    pub(crate) suppressions: Vec<PathBuf>,
    pub(crate) default_suppressions: bool,
    pub(crate) list_unused_suppressions: bool,
    pub(crate) write_suppressions: bool,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) update_baseline: bool,
    /// True if secrets in command lines are replaced.
    pub(crate) redact: bool,
    pub(crate) format: ReportFormat,
    /// The terminal for which the text report is laid out.
    pub(crate) screen: Screen,
    pub(crate) all_frames: bool,
    pub(crate) paths: Paths,
    /// The directories from which a page may show sources.
    pub(crate) places: Places,
}

/// Judges the inputs.
///
/// # Errors
/// Returns an error if the suppressions or the baseline cannot be read, or the baseline or the output cannot be written.
pub(crate) fn run(
    mut options: Options,
    output: &mut Output,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    output.set_when_closed(WhenClosed::GoOn);
    // A report itself lists what could not be judged, so it is kept. Suppressions do not.
    if !options.write_suppressions {
        output.keep_file_on_error();
    }
    let suppressions = Suppressions::read(&options.suppressions, options.default_suppressions)?;
    let baseline_file = baseline_to_update(&options)?;
    let baseline = read_baseline(&options, baseline_file.as_ref())?;
    let evidence = read(&options, diagnostics)?;
    find_paths(&mut options, &evidence);
    let (policy, paths) = (&options.policy, &options.paths);
    let names = Rc::new(NormalNames::with_sources(match options.baseline {
        Some(_) => SourceLines::new(paths, base_names(&evidence)),
        None => SourceLines::default(),
    }));
    let mut verdict = policy::judge(&evidence, policy, &suppressions, &baseline, &names, paths);
    let is_red = !verdict.is_clean() && !options.update_baseline;
    let is_text = options.format == ReportFormat::Text && !options.write_suppressions;
    for doubt in unmatched::doubts(&evidence, policy, &verdict, paths) {
        // A failed verdict stays failed, so a doubt is then only a warning.
        let is_accepted = options.allow_unmatched && doubt.is_unmatched;
        if is_text && !is_red && !is_accepted {
            diagnostics.error_in_output(doubt.sentence);
        } else {
            diagnostics.report(!is_red && !is_accepted, doubt.sentence);
        }
    }
    if options.policy.errors && !is_red {
        report_error_limits(&evidence, diagnostics);
    }
    for gap in coverage::gaps(&evidence, options.policy.leak_kinds, options.policy.errors) {
        // Hidden findings cannot turn a failed verdict into a clean one.
        diagnostics.report(!is_red, gap);
    }
    if let (Some(path), Some(file)) = (&options.baseline, &baseline_file)
        && let Some(updated) =
            update_baseline(path, file, &baseline, &evidence, &verdict, diagnostics)?
    {
        verdict = policy::judge(&evidence, policy, &suppressions, &updated, &names, paths);
    }
    if options.policy.max_growth.is_some()
        && let Some(doubt) = unknown_sizes(&verdict)
    {
        diagnostics.report(!is_red, doubt);
    }
    if options.write_suppressions {
        let text = written_suppressions(&evidence, &verdict, diagnostics);
        output.write_all(text.as_bytes())?;
    } else {
        let inputs = options.files.iter().map(|path| path.display().to_string());
        let inputs: Vec<String> = inputs.collect();
        let report = GateReport {
            evidence: &evidence,
            verdict: &verdict,
            defaults_used: suppressions.defaults_used(&verdict.suppression_uses),
            paths: &options.paths,
            places: &options.places,
            lines: StackLines::new(&options.paths, options.all_frames),
            reasons: diagnostics.errors(),
            inputs: &inputs,
            expected: options.expect,
        };
        let mut buffered = BufWriter::with_capacity(BUFFER_SIZE, &mut *output);
        report::write(&report, options.format, options.screen, &mut buffered)?;
        buffered.flush()?;
    }
    output.flush()?;

    let all_unused = options.list_unused_suppressions;
    warn_unused_suppressions(&suppressions, &verdict, all_unused, diagnostics);
    Ok(if verdict.is_clean() {
        Outcome::Done
    } else {
        Outcome::No
    })
}

/// Reads the baseline. A file that is to be updated need not exist.
fn read_baseline(options: &Options, updated: Option<&Replaceable>) -> anyhow::Result<Baseline> {
    match (&options.baseline, updated) {
        (Some(path), None) => Baseline::read(path),
        (Some(path), Some(file)) if file.exists() => Baseline::read(path),
        _ => Ok(Baseline::default()),
    }
}

/// Searches the root for the files of a text log, if the conditions or the report need their directories.
fn find_paths(options: &mut Options, evidence: &Evidence) {
    let policy = &options.policy;
    let asks_for_files = !(policy.only.is_empty() && policy.ignore.is_empty());
    if asks_for_files || (options.format.needs_repository_paths() && !options.write_suppressions) {
        options.paths.find(&own_files(evidence));
    }
}

/// Reads the inputs and checks the number of processes against `--expect`.
fn read(options: &Options, diagnostics: &mut Diagnostics) -> anyhow::Result<Evidence> {
    let files = cg_tool::inputs(&options.files, diagnostics);
    let files = expand_directories(files, options.job_status.is_some(), diagnostics);
    let lenience = Lenience {
        job_status: options.job_status,
        fragments: options.allow_fragment,
        exec: options.allow_exec,
    };
    let parse = cg_parse::Options {
        redact: options.redact,
        ..cg_parse::Options::default()
    };
    let evidence = collect(&files, lenience, &parse, diagnostics)?;
    if let Some(expected) = options.expect {
        check_process_count(expected, &evidence, diagnostics);
    }
    check_commands(options, &evidence, diagnostics);
    Ok(evidence)
}

/// Checks that the programs under test ran, and not only other commands.
fn check_commands(options: &Options, evidence: &Evidence, diagnostics: &mut Diagnostics) {
    for note in launchers::notes(evidence, &options.paths) {
        match note.is_error {
            true if options.allow_launcher => {}
            is_error => diagnostics.report(is_error, note.sentence),
        }
    }
    let judged = evidence
        .processes
        .iter()
        .filter(|process| process.is_judged());
    let commands: HashSet<&str> = judged
        .filter_map(|process| process.run.command.as_deref())
        .collect();
    for regex in &options.commands {
        if !commands.iter().any(|command| regex.is_match(command)) {
            diagnostics.error(format!(
                "--command {regex} matches the command of no judged process; check the command that ran under Valgrind"
            ));
        }
    }
}

/// Reports an error if the number of processes differs from the expected one.
fn check_process_count(expected: u64, evidence: &Evidence, diagnostics: &mut Diagnostics) {
    let found = evidence.processes.len() as u64;
    if found != expected {
        let processes = |count: u64| plural(count.into(), "process", "processes");
        let difference = match expected.checked_sub(found) {
            Some(missing) => format!("{} missing", grouped(missing.into())),
            None => format!("{} more than expected", grouped((found - expected).into())),
        };
        diagnostics.error(format!(
            "expected {} (--expect), found {}: {difference}; check for missing or extra logs",
            processes(expected),
            processes(found)
        ));
    }
}

/// Returns a message with the number of known leaks whose growth cannot be checked; `None` if there are none.
fn unknown_sizes(verdict: &Verdict) -> Option<String> {
    let unknown = verdict.known_without_size;
    (unknown > 0).then(|| {
        let leaks = plural(unknown as Count, "known leak", "known leaks");
        format!(
            "--max-growth: the baseline has no size for {leaks}; --update-baseline adds the sizes"
        )
    })
}

/// Reports processes in which Valgrind stopped reporting errors: the unreported errors may fail even if all others are
/// excused.
fn report_error_limits(evidence: &Evidence, diagnostics: &mut Diagnostics) {
    for process in &evidence.processes {
        if process.facts().stopped_reporting {
            diagnostics.error(format!(
                "{}: Valgrind reached its limit and stopped reporting errors; rerun Valgrind with --error-limit=no",
                process.title()
            ));
        }
    }
}

/// Returns the text of `--write-suppressions`. Warns of findings that the suppressions miss or match too widely.
fn written_suppressions(
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) -> String {
    let written = suppression::suppressions_for(evidence, verdict);
    if written.without_stack > 0 {
        diagnostics.warn(format!(
            "{} left out: no suppression can match signals, errors of sanitizers or findings without a stack",
            plural(written.without_stack as Count, "finding", "findings")
        ));
    }
    if written.without_own_function > 0 {
        diagnostics.warn(format!(
            "{} no function of the program, which lacks symbols; such suppressions also match other findings in the \
             same objects",
            plural(
                written.without_own_function as Count,
                "suppression has",
                "suppressions have"
            )
        ));
    }
    written.text
}

/// Warns of suppressions that matched nothing: of all of them if `all` is set, otherwise of those that cannot match.
fn warn_unused_suppressions(
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
                "{place}: its wildcards need mangled names; rerun Valgrind with --gen-suppressions=all"
            ));
        } else if all {
            diagnostics.warn(place);
        }
    }
}

/// Collects the names of the source files of own frames that have no directory.
fn base_names(evidence: &Evidence) -> HashSet<String> {
    let files = own_files(evidence).into_iter();
    files
        .filter(|file| !file.contains('/'))
        .map(str::to_owned)
        .collect()
}

/// Collects the source files of own frames. A library's file may have the same name as a file of the project.
fn own_files(evidence: &Evidence) -> HashSet<&str> {
    let mut names = HashSet::new();
    let mut seen = HashSet::new();
    for finding in &evidence.findings {
        if !seen.insert(&finding.stack) {
            continue;
        }
        let own = finding.stack.own();
        let frames = finding.stack.iter().zip(own).filter(|(_, own)| *own);
        names.extend(frames.filter_map(|(frame, _)| frame.file.as_deref()));
    }
    names
}

/// Returns the baseline file to update; `None` without `--update-baseline`. Rejects a file that cannot be replaced before
/// reading it, because reading a pipe could block.
fn baseline_to_update(options: &Options) -> anyhow::Result<Option<Replaceable>> {
    match &options.baseline {
        Some(path) if options.update_baseline => Replaceable::at(path)
            .with_context(|| path.display().to_string())
            .map(Some),
        _ => Ok(None),
    }
}

/// Writes the findings as the new baseline and returns it. If an input could not be judged, leaves the file unchanged and
/// returns `None`: a missing finding may still exist.
fn update_baseline(
    path: &Path,
    file: &Replaceable,
    known: &Baseline,
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<Baseline>> {
    let name = path.display();
    if diagnostics.has_errors() {
        diagnostics.warn(format!(
            "{name}: baseline not updated, because an input could not be judged"
        ));
        return Ok(None);
    }
    let present = Baseline::renewed(evidence, &verdict.rulings);
    let replaced = present
        .write(file)
        .with_context(|| format!("{name}: cannot write the baseline"))?;
    if let Some(warning) = replaced.warning(&name.to_string()) {
        diagnostics.warn(warning);
    }
    let gone = verdict.gone.iter().filter(|gone| gone.present == 0).count();
    let new = (present.len() + gone).saturating_sub(known.len());
    diagnostics.warn(format!(
        "{name}: known findings: {}; added: {new}; removed: {gone}",
        present.len()
    ));
    warn_missing_names(path, evidence, verdict, diagnostics);
    Ok(Some(present))
}

/// Warns of findings in the baseline whose frames have no function names, because less evidence identifies them.
fn warn_missing_names(
    path: &Path,
    evidence: &Evidence,
    verdict: &Verdict,
    diagnostics: &mut Diagnostics,
) {
    let name = path.display();
    let (mut lines, mut unnamed) = (0, 0);
    for (finding, ruling) in evidence.findings.iter().zip(&verdict.rulings) {
        if !ruling.status.is_counted() || finding.is_unprinted() {
            continue;
        }
        let fingerprint = ruling.names.fingerprint(finding);
        match fingerprint.is_of_a_line() {
            true => lines += 1,
            false => unnamed += Count::from(fingerprint.has_unnamed_frame()),
        }
    }
    if lines > 0 {
        diagnostics.warn(format!(
            "{name}: {} no function names and no stack, so only the message and the line identify them; \
             UBSAN_OPTIONS=print_stacktrace=1 prints stacks",
            plural(lines, "finding has", "findings have")
        ));
    }
    if unnamed > 0 {
        diagnostics.warn(format!(
            "{name}: {} own frames without function names, so only lines or addresses identify these; keep the \
             program's symbols, and build without -flto",
            plural(unnamed, "finding has", "findings have")
        ));
    }
}
