//! The two runs of a diff, read again: what a diff has of functions does not tell their lines, calls and stacks.

use std::path::Path;

use cg_names::whose::CodeOwner;
use cg_parse::{Snapshots, stream};
use cg_stream::profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_stream::tool::Diagnostics;

use crate::report::diff::Diffs;
use crate::report::owners::FunctionOwners;

/// A run: its calls and lines, and its stacks where it takes another reading to have them.
pub(super) struct RunOfDiff {
    pub(super) code: Profile,
    stacks: Option<Profile>,
}

impl RunOfDiff {
    pub(super) fn stacks(&self) -> &Profile {
        self.stacks.as_ref().unwrap_or(&self.code)
    }

    fn read(path: &Path) -> Option<RunOfDiff> {
        // What there is to say of a profile, cg-diff has said when it read it.
        let mut quiet = Diagnostics::to(|_, _| {});
        let mut read = |parse: &cg_parse::Options| -> Option<Profile> {
            let mut profile = Profile::default();
            stream::read(path, parse, &mut quiet, &mut profile).ok()?;
            profile.check_sums().ok()?;
            Some(profile)
        };
        let parse = cg_parse::Options {
            calls: true,
            lines: true,
            snapshots: Snapshots::Peak,
            ..cg_parse::Options::default()
        };
        let code = read(&parse)?;
        let has_stacks = code.types().any(RecordType::has_stack);
        let stacks = match has_stacks || code.table(RecordType::Call).is_empty() {
            true => None,
            false => read(&cg_parse::Options {
                stacks: true,
                ..cg_parse::Options::default()
            }),
        };
        Some(RunOfDiff { code, stacks })
    }
}

/// What each event comes to in the code of each owner, in the order of [`CodeOwner::ALL`].
pub(super) fn sums_by_owner(
    profile: &Profile,
    events: &[String],
) -> anyhow::Result<Vec<[String; CodeOwner::ALL.len()]>> {
    let functions = match profile.table(RecordType::Fn) {
        rows if rows.is_empty() => &profile.functions_of_stacks()?,
        rows => rows,
    };
    let mut owners = FunctionOwners::of(profile);
    let owners: Vec<CodeOwner> = functions
        .keys()
        .iter()
        .map(|key| owners.of_function(key.function))
        .collect();
    let sums = events.iter().map(|event| {
        let event = profile.event(event);
        CodeOwner::ALL.map(|owner| {
            let of_owner = owners.iter().enumerate().filter(|(_, of)| **of == owner);
            let counts = of_owner.filter_map(|(row, _)| functions.cost(row).get(event?));
            counts.sum::<Count>().to_string()
        })
    });
    Ok(sums.collect())
}

/// The runs that a diff is of, where it is one of two files that are there as they were: their totals are those of the
/// diff.
pub(super) fn runs_of(profile: &Profile, diffs: &Diffs<'_>) -> Option<[RunOfDiff; 2]> {
    let [run] = profile.runs() else {
        return None;
    };
    let [old, new] = run.source.as_slice() else {
        return None;
    };
    let files = [old, new].map(Path::new);
    if run.runs.len() != 2 || !files.iter().all(|file| file.is_file()) {
        return None;
    }
    let [old, new] = files.map(RunOfDiff::read);
    let runs = [old?, new?];
    let is_as_it_was = |side: usize| {
        diffs.event_names().into_iter().all(|event| {
            let profile = &runs[side].code;
            let position = profile.event(event);
            let total = position.and_then(|event| profile.total().get(event).copied());
            diffs.total_of(event, diffs.compared()[side]).unwrap_or(0) == total.unwrap_or(0)
        })
    };
    (is_as_it_was(0) && is_as_it_was(1)).then_some(runs)
}
