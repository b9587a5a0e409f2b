//! The inputs, added up.

use std::path::PathBuf;

use cg_parse::{Snapshots, stream};
use cg_stream::profile::Profile;
use cg_stream::record::RecordType;
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
}

impl ReadProfile {
    /// True where records came without a `run` record, so the program's total is not known.
    pub(crate) fn is_fragment(&self) -> bool {
        self.framing.runs == 0 && self.framing.records > 0
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.framing.completeness() == Completeness::Whole
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
    if is_of_several && files.iter().all(|file| file.is_file()) {
        let parse = cg_parse::Options {
            snapshots: Snapshots::Peak,
            ..parse
        };
        // The first reading reported all messages already.
        let mut again = Diagnostics::to(|_, _| {});
        (profile, framing) = read_all(files, &parse, &mut again)?;
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
    Ok(ReadProfile {
        profile,
        framing,
        estimated,
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

/// Reads raw profiles of calls again, with estimated stacks; `None` if an input cannot be read twice or there are none.
fn estimated_stacks(
    files: &[PathBuf],
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<Profile>> {
    let parse = cg_parse::Options {
        stacks: true,
        ..cg_parse::Options::default()
    };
    if !files.iter().all(|file| file.is_file()) {
        return Ok(None);
    }
    let (profile, _) = read_all(files, &parse, diagnostics)?;
    let has_stacks = !profile.table(RecordType::Stack).is_empty();
    Ok(has_stacks.then_some(profile))
}
