//! The inputs, added up.

use std::path::PathBuf;

use cg_parse::{Snapshots, stream};
use cg_stream::profile::Profile;
use cg_stream::record::RecordType;
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Framing, Line};

use crate::options::{Options, View};
use crate::report::samples;

/// All records of all inputs, and whether they are a whole profile.
pub(crate) struct Read {
    pub(crate) profile: Profile,
    pub(crate) framing: Framing,
}

impl Read {
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
) -> anyhow::Result<Read> {
    let is_source = matches!(options.view, View::Source { .. });
    let is_inline = options.inline.is_some();
    let parse = cg_parse::Options {
        calls: is_source
            || matches!(options.view, View::Tree(_))
            || options.kind == Some(RecordType::Call)
            || options.format.is_of_calls(),
        lines: is_source || options.kind == Some(RecordType::Line),
        // Only instructions have chains of inlined functions.
        instr: is_source && is_inline,
        inline: is_inline,
        // Callgrind's other records have no stacks. Those of inlined functions are stacks of their own.
        stacks: options.format.is_of_stacks()
            && !is_inline
            && matches!(options.kind, None | Some(RecordType::Stack)),
        search: options.inline.clone().unwrap_or_default(),
        snapshots: match options.view {
            View::Snapshot(number) => Snapshots::Number(number),
            _ => Snapshots::Peak,
        },
        ..cg_parse::Options::default()
    };
    let mut profile = Profile::default();
    let mut framing = Framing::default();
    for file in &cg_parse::without_empty_bases(files) {
        framing.add(stream::read(
            file,
            &parse,
            diagnostics,
            &mut |line: Line<'_>, _: &mut Diagnostics| profile.add(&line),
        )?);
    }
    profile.check_sums()?;
    if profile.unknown() > 0 {
        diagnostics.warn(format!(
            "{} records of types this version does not know are left out",
            profile.unknown()
        ));
    }
    // The report on samples is by function by itself, and needs the stacks for what else it says.
    if options.by_function && !samples::is_wanted(&profile, options) {
        profile = profile.by_function()?;
    }
    Ok(Read { profile, framing })
}
