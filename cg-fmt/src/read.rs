//! The inputs, added up.

use std::path::PathBuf;

use cg_document::number::plural;
use cg_document::{Block, Document};
use cg_names::commands::launcher_note;
use cg_parse::{Snapshots, stream};
use cg_profile::Profile;
use cg_stream::record::{DiffSummary, RecordType};
use cg_stream::{Completeness, Framing};
use cg_tool::Diagnostics;

use crate::options::{GroupBy, Options, OutputFormat, View};
use crate::report::samples;
use crate::two_runs;

/// All records of all inputs, and the facts that show whether they are complete.
pub(crate) struct ReadProfile {
    pub(crate) profile: Profile,
    pub(crate) framing: Framing,
    /// For a full page of a raw profile without stacks: the stacks estimated from its calls.
    pub(crate) estimated: Option<Profile>,
    /// For a full page of a raw profile with samples: the samples with their times, if the profile has times.
    pub(crate) timed: Option<Profile>,
}

impl ReadProfile {
    /// Returns true if there are records without a `run` record, so the total of the program is unknown.
    pub(crate) fn is_fragment(&self) -> bool {
        self.framing.runs == 0 && self.framing.records > 0
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.framing.completeness() == Completeness::Whole
    }

    /// Returns a sentence if part of an input is missing. Readers of a stored report do not see the error messages, so the
    /// report repeats the fact. Returns `None` for a diff that lists its own errors.
    pub(crate) fn loss_sentence(&self) -> Option<String> {
        let runs = self.profile.runs();
        let has_own_errors = runs
            .iter()
            .any(|run| !DiffSummary::from_run(run).errors.is_empty());
        let is_cut = self.framing.completeness() == Completeness::CutShort && !has_own_errors;
        let words = "an input is damaged or truncated: the figures cover only the readable part";
        is_cut.then(|| words.to_owned())
    }

    /// Inserts the sentence of [`ReadProfile::loss_sentence`] below the heading and the marker.
    pub(crate) fn insert_loss_sentence(&self, document: &mut Document<'_>) {
        let is_first = |block: &&Block| matches!(block, Block::Heading(_) | Block::Marker(_));
        let at = document.blocks.iter().take_while(is_first).count();
        let sentence = self.loss_sentence().map(Block::Text);
        document.blocks.splice(at..at, sentence).for_each(drop);
    }
}

/// Reads streams and raw profiles. From raw profiles, reads only the record types that the view needs.
pub(crate) fn read(
    files: &[PathBuf],
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<ReadProfile> {
    let parse = parse_options(options);
    if options.is_diff {
        let parse = cg_parse::Options {
            stable_names: options.stable_names,
            snapshots: Snapshots::Peak,
            ..parse
        };
        let (profile, framing) = two_runs::read(files, &parse, options, diagnostics)?;
        return Ok(ReadProfile {
            profile,
            framing,
            estimated: None,
            timed: None,
        });
    }
    if files.len() > 1 && options.format.has_only_stacks() {
        diagnostics.warn(format!(
            "{} inputs are added up; use --diff OLD NEW to compare two inputs",
            files.len()
        ));
    }
    // Inlined functions, levels and parts change the functions whose stacks are estimated.
    let has_plain_stacks = !parse.inline && !parse.levels && !parse.per_part && !parse.stacks;
    // A page of a pipe equals the page of its stream, which has no stacks.
    let reads_stacks = options.is_full_page() && has_plain_stacks && can_be_read_again(files);
    let mut stacks = Profile::default();
    let (mut profile, mut framing) = match reads_stacks {
        true => read_with_stacks(files, &parse, &mut stacks, diagnostics)?,
        false => read_all(empty_profile(options), files, &parse, diagnostics)?,
    };
    // Snapshots of several runs have no common time, and their heaps do not add up, so only the peaks are listed.
    let has_heap = !profile.table(RecordType::Heap).is_empty();
    let has_several_heaps = profile.runs().len() > 1 && is_heap_report(options) && has_heap;
    if has_several_heaps && can_be_read_again(files) {
        let parse = cg_parse::Options {
            snapshots: Snapshots::Peak,
            ..parse.clone()
        };
        (profile, framing) = read_again(files, &parse)?;
    }
    profile.check_sums()?;
    if let Some(note) = launcher_note(profile.runs()) {
        diagnostics.warn(note);
    }
    if profile.unknown() > 0 {
        diagnostics.warn(format!(
            "left out: {} that this version does not know",
            plural(
                profile.unknown().into(),
                "record of a type",
                "records of types"
            )
        ));
    }
    // The report on samples groups by function itself, and needs the stacks for its other figures.
    if options.by_function && !samples::is_wanted(&profile, options) {
        profile = profile.by_function()?;
    }
    // Chains of inlined functions are parts of a function, not stacks of callers.
    let is_of_callers = |kind: RecordType| kind != RecordType::Inline && kind.has_stack();
    let has_stacks = profile.types().any(is_of_callers);
    let has_calls = !profile.table(RecordType::Call).is_empty();
    let estimated = match options.is_full_page() && has_calls && !has_stacks {
        true if reads_stacks => Some(stacks).filter(has_samples),
        true => estimated_stacks(files, diagnostics)?,
        false => None,
    };
    let timed = match options.is_full_page() && has_samples(&profile) && files.len() == 1 {
        true => timed_samples(files, &parse)?,
        false => None,
    };
    Ok(ReadProfile {
        profile,
        framing,
        estimated,
        timed,
    })
}

/// Returns true if the heap report may be shown. It draws the heap over time, so it needs all snapshots.
fn is_heap_report(options: &Options) -> bool {
    options.view.is_list() && options.kind.is_none() && !options.wants_listing()
}

/// Returns the options for raw profiles, with the record types that the view needs.
fn parse_options(options: &Options) -> cg_parse::Options {
    let is_source = matches!(options.view, View::Source { .. }) || options.is_full_page();
    let is_inline = options.inline;
    let is_heap_report = is_heap_report(options);
    cg_parse::Options {
        // Only records of separate parts have threads.
        per_part: options.group_by == Some(GroupBy::Thread),
        calls: is_source
            || matches!(options.view, View::Tree(_) | View::Peek(_))
            || options.kind == Some(RecordType::Call)
            || options.format.has_calls(),
        lines: is_source
            || options.kind == Some(RecordType::Line)
            || (options.format.has_lines() && !options.is_diff),
        // Chains of inlined functions need the costs of instructions.
        instr: is_source && is_inline,
        inline: is_inline,
        // For Callgrind, `inline` records have stacks. Without them, stacks are estimated for stack formats.
        stacks: options.format.has_only_stacks()
            && !is_inline
            && matches!(options.kind, None | Some(RecordType::Stack)),
        times: options.format.has_times() && !options.is_diff,
        levels: options.format.has_lines() && !options.is_diff,
        search: options.search.clone(),
        redact: options.redact,
        snapshots: match options.view {
            View::Snapshot(number) => Snapshots::Number(number),
            _ if options.is_full_page()
                || matches!(options.view, View::Snapshots(_))
                || is_heap_report
                || options.format == OutputFormat::Svg
                || options.is_any_picture =>
            {
                Snapshots::All
            }
            _ => Snapshots::Peak,
        },
        ..cg_parse::Options::default()
    }
}

/// Returns an empty profile whose rows are as separate as the format needs: pprof has a location for each address. Addresses
/// differ between builds, so stable names do not keep them separate.
fn empty_profile(options: &Options) -> Profile {
    match options.format == OutputFormat::Pprof && !options.stable_names {
        true => Profile::by_address(),
        false => Profile::default(),
    }
}

/// Reads all inputs and adds them up, beginning with an empty profile.
fn read_all(
    mut profile: Profile,
    files: &[PathBuf],
    parse: &cg_parse::Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Profile, Framing)> {
    let mut framing = Framing::default();
    for file in &cg_parse::without_empty_bases(files) {
        framing.add(stream::read(file, parse, diagnostics, &mut profile)?);
    }
    Ok((profile, framing))
}

/// Reads all inputs, and adds up the stacks of raw Callgrind profiles separately.
fn read_with_stacks(
    files: &[PathBuf],
    parse: &cg_parse::Options,
    stacks: &mut Profile,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Profile, Framing)> {
    let mut profile = Profile::default();
    let mut framing = Framing::default();
    for file in &cg_parse::without_empty_bases(files) {
        let read = stream::read_with_stacks(file, parse, diagnostics, &mut profile, stacks)?;
        framing.add(read);
    }
    Ok((profile, framing))
}

/// Returns true if all inputs are regular files: a pipe can be read only once.
fn can_be_read_again(files: &[PathBuf]) -> bool {
    files.iter().all(|file| file.is_file())
}

/// Reads all inputs again with other options. Drops messages, because the first reading already printed them.
fn read_again(files: &[PathBuf], parse: &cg_parse::Options) -> anyhow::Result<(Profile, Framing)> {
    read_all(
        Profile::default(),
        files,
        parse,
        &mut Diagnostics::to(|_, _| {}),
    )
}

fn has_samples(profile: &Profile) -> bool {
    !profile.table(RecordType::Stack).is_empty()
}

/// Reads a raw profile again, with the time of each sample; `None` if it cannot be read twice or has no times.
fn timed_samples(files: &[PathBuf], parse: &cg_parse::Options) -> anyhow::Result<Option<Profile>> {
    if !can_be_read_again(files) {
        return Ok(None);
    }
    let parse = cg_parse::Options {
        times: true,
        ..parse.clone()
    };
    let (profile, _) = read_again(files, &parse)?;
    let has_times = (profile.table(RecordType::Stack).used_fields().time).is_some();
    Ok(has_times.then_some(profile))
}

/// Reads raw profiles of calls again, with estimated stacks; `None` if an input cannot be read twice or gives no stacks.
fn estimated_stacks(
    files: &[PathBuf],
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<Profile>> {
    let parse = cg_parse::Options {
        stacks: true,
        ..cg_parse::Options::default()
    };
    if !can_be_read_again(files) {
        return Ok(None);
    }
    let (profile, _) = read_all(Profile::default(), files, &parse, diagnostics)?;
    Ok(has_samples(&profile).then_some(profile))
}
