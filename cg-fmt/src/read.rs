//! The inputs, added up.

use std::path::PathBuf;

use cg_document::{Block, Document};
use cg_parse::{Snapshots, stream};
use cg_stream::profile::Profile;
use cg_stream::record::{DiffSummary, RecordType};
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Framing};

use crate::options::{Options, OutputFormat, View};
use crate::report::samples;
use crate::two_runs;

/// All records of all inputs, and whether they are a whole profile.
pub(crate) struct ReadProfile {
    pub(crate) profile: Profile,
    pub(crate) framing: Framing,
    /// For a full page of a raw profile without stacks: the stacks that are estimated from its calls.
    pub(crate) estimated: Option<Profile>,
    /// For a full page of a raw profile with samples: these with their times, where it tells them.
    pub(crate) timed: Option<Profile>,
}

impl ReadProfile {
    /// True where records came without a `run` record, so the program's total is not known.
    pub(crate) fn is_fragment(&self) -> bool {
        self.framing.runs == 0 && self.framing.records > 0
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.framing.completeness() == Completeness::Whole
    }

    /// That some of an input could not be read, if so. What is kept or sent on says it itself: who reads it does not see the
    /// messages of the run that wrote it. A diff whose reading failed tells more, in its own words.
    pub(crate) fn lost(&self) -> Option<String> {
        let runs = self.profile.runs();
        let is_told = runs
            .iter()
            .any(|run| !DiffSummary::of(run).troubles.is_empty());
        let is_cut = self.framing.completeness() == Completeness::CutShort && !is_told;
        let words = "an input is damaged or cut: figures are of what could be read of it";
        is_cut.then(|| words.to_owned())
    }

    /// Says so below heading and marker.
    pub(crate) fn say_lost(&self, document: &mut Document<'_>) {
        let is_first = |block: &&Block| matches!(block, Block::Heading(_) | Block::Marker(_));
        let at = document.blocks.iter().take_while(is_first).count();
        let said = self.lost().map(Block::Text);
        document.blocks.splice(at..at, said).for_each(drop);
    }
}

/// Reads streams and raw profiles; of the latter as much as the view needs.
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
    if files.len() > 1 && options.format.is_of_stacks() {
        diagnostics.warn(format!(
            "{} inputs are added up; --diff OLD NEW shows what grew and shrank",
            files.len()
        ));
    }
    let (mut profile, mut framing) = read_all(files, &parse, diagnostics)?;
    // Snapshots of several runs have no common time, and their heaps do not add up, so only the peaks are listed.
    let has_heap = !profile.table(RecordType::Heap).is_empty();
    let is_of_several = profile.runs().len() > 1 && is_heap_report(options) && has_heap;
    if is_of_several && can_be_read_again(files) {
        let parse = cg_parse::Options {
            snapshots: Snapshots::Peak,
            ..parse.clone()
        };
        (profile, framing) = read_again(files, &parse)?;
    }
    profile.check_sums()?;
    if profile.unknown() > 0 {
        diagnostics.warn(format!(
            "{} records of types this version does not know are left out",
            profile.unknown()
        ));
    }
    // The report on samples groups by function itself, and needs the stacks for its other figures.
    if options.by_function && !samples::is_wanted(&profile, options) {
        profile = profile.by_function()?;
    }
    let has_stacks = profile.types().any(RecordType::has_stack);
    let has_calls = !profile.table(RecordType::Call).is_empty();
    let estimated = match options.is_full_page() && has_calls && !has_stacks {
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

/// The heap report draws the composition of the heap over time, so it needs all snapshots.
fn is_heap_report(options: &Options) -> bool {
    options.view.is_list() && options.kind.is_none() && !options.wants_listing()
}

/// How raw profiles are read: with as much as the view needs.
fn parse_options(options: &Options) -> cg_parse::Options {
    let is_source = matches!(options.view, View::Source { .. }) || options.is_full_page();
    let is_inline = options.inline;
    let is_heap_report = is_heap_report(options);
    cg_parse::Options {
        calls: is_source
            || matches!(options.view, View::Tree(_) | View::Peek(_))
            || options.kind == Some(RecordType::Call)
            || options.format.is_of_calls(),
        lines: is_source
            || options.kind == Some(RecordType::Line)
            || (options.format == OutputFormat::Callgrind && !options.is_diff),
        // Only instructions have chains of inlined functions.
        instr: is_source && is_inline,
        inline: is_inline,
        // Of Callgrind's records only `inline` records have stacks; without these, stacks are estimated for stack
        // formats.
        stacks: options.format.is_of_stacks()
            && !is_inline
            && matches!(options.kind, None | Some(RecordType::Stack)),
        times: options.format.is_of_times() && !options.is_diff,
        levels: options.format == OutputFormat::Callgrind && !options.is_diff,
        search: options.search.clone(),
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

/// All inputs, added up.
fn read_all(
    files: &[PathBuf],
    parse: &cg_parse::Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Profile, Framing)> {
    let mut profile = Profile::default();
    let mut framing = Framing::default();
    for file in &cg_parse::without_empty_bases(files) {
        framing.add(stream::read(file, parse, diagnostics, &mut profile)?);
    }
    Ok((profile, framing))
}

/// Of what comes out of a pipe nothing is left.
fn can_be_read_again(files: &[PathBuf]) -> bool {
    files.iter().all(|file| file.is_file())
}

/// Reads all inputs once more, by other options; the first reading reported all messages already.
fn read_again(files: &[PathBuf], parse: &cg_parse::Options) -> anyhow::Result<(Profile, Framing)> {
    read_all(files, parse, &mut Diagnostics::to(|_, _| {}))
}

fn has_samples(profile: &Profile) -> bool {
    !profile.table(RecordType::Stack).is_empty()
}

/// Reads a raw profile again, with the time of each sample; `None` if it cannot be read twice or tells none.
fn timed_samples(files: &[PathBuf], parse: &cg_parse::Options) -> anyhow::Result<Option<Profile>> {
    if !can_be_read_again(files) {
        return Ok(None);
    }
    let parse = cg_parse::Options {
        times: true,
        ..parse.clone()
    };
    let (profile, _) = read_again(files, &parse)?;
    let mut keys = profile.table(RecordType::Stack).keys().iter();
    let has_times = keys.any(|key| key.time.is_some());
    Ok(has_times.then_some(profile))
}

/// Reads raw profiles of calls again, with estimated stacks; `None` if an input cannot be read twice or there are none.
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
    let (profile, _) = read_all(files, &parse, diagnostics)?;
    Ok(has_samples(&profile).then_some(profile))
}
