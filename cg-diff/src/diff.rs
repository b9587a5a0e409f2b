//! The comparison from inputs to verdict.

use std::io::Write;

use cg_parse::Snapshots;
use cg_stream::record::{RecordType, Status};
use cg_stream::tool::{Diagnostics, Outcome};

use crate::compare::{self, CompareOptions};
use crate::gate;
use crate::join::{self, JoinOptions, MOST_SIDES};
use crate::limits::Limit;
use crate::runs::{Runs, Side};
use crate::write::{self, Comparison};

/// What to compare, and what to say about it.
pub(crate) struct Options {
    pub(crate) sides: Vec<Side>,
    pub(crate) relative_to: RelativeTo,
    pub(crate) snapshots: Snapshots,
    /// Compare stacks as the functions in them.
    pub(crate) by_function: bool,
    pub(crate) join: JoinOptions,
    pub(crate) inclusive: bool,
    /// Write rows that are the same too.
    pub(crate) all: bool,
    /// The verdict is no where anything differs.
    pub(crate) exit_code: bool,
    pub(crate) limits: Vec<Limit>,
    pub(crate) allow_fragment: bool,
}

/// The run that changes are relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RelativeTo {
    First,
    Previous,
    Named(String),
}

impl Options {
    /// True where the exit status is a verdict.
    pub(crate) fn is_gate(&self) -> bool {
        self.exit_code || !self.limits.is_empty()
    }

    fn reference(&self) -> anyhow::Result<usize> {
        match &self.relative_to {
            RelativeTo::First => Ok(0),
            RelativeTo::Previous => Ok(self.sides.len() - 2),
            RelativeTo::Named(name) => self
                .sides
                .iter()
                .position(|side| side.name == *name)
                .ok_or_else(|| {
                    let names: Vec<&str> =
                        self.sides.iter().map(|side| side.name.as_str()).collect();
                    anyhow::anyhow!(
                        "--relative-to: expected first, previous or one of {}; found \"{name}\"",
                        names.join(", ")
                    )
                }),
        }
    }
}

/// Compares, writes and judges.
///
/// # Errors
/// Where the output cannot be written, or the comparison cannot be made as it was asked for.
pub(crate) fn diff(
    options: Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        options.sides.len() <= MOST_SIDES,
        "{} runs are too many, {MOST_SIDES} is the most; --before and --after take any number",
        options.sides.len()
    );
    let reference = options.reference()?;
    let mut runs = Runs::read(
        &options.sides,
        options.snapshots,
        options.by_function,
        diagnostics,
    )?;
    let is_judged = options.is_gate() && !options.allow_fragment;
    for incomplete in &runs.incomplete {
        if is_judged {
            diagnostics.trouble(incomplete);
        }
    }
    let compare_options = CompareOptions {
        reference,
        inclusive: options.inclusive,
    };
    let joined = join::join(&mut runs, &options.join);
    let rules = &options.join.rules;
    let changes = compare::compare(&runs, &joined, compare_options);
    let relative_to = match options.relative_to {
        RelativeTo::Previous => "previous".to_owned(),
        _ => runs.sides[reference].0.clone(),
    };
    let mut summary = compare::summary(&runs, &joined, &changes, rules, relative_to);
    let mut broken = Vec::new();
    if !options.limits.is_empty() {
        match gate::broken(&runs, &joined, &changes, &options.limits, compare_options) {
            Ok(sentences) => broken = sentences,
            Err(error) => diagnostics.trouble(format!("{error:#}")),
        }
        summary.broken_limits = Some(broken.clone());
    }
    let comparison = Comparison {
        runs: &runs,
        joined: &joined,
        changes: &changes,
        summary: &summary,
        rules,
        options: compare_options,
    };
    let is_whole = !diagnostics.had_trouble();
    write::write(&comparison, options.all, is_whole, output)?;
    for sentence in &broken {
        diagnostics.warn(sentence);
    }
    let differs = changes.iter().any(|change| change.status != Status::Same);
    Ok(if !broken.is_empty() || (options.exit_code && differs) {
        Outcome::No
    } else {
        Outcome::Done
    })
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
