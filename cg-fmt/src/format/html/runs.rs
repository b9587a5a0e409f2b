//! The two runs of a diff, read again for lines, calls and stacks, which a diff of functions does not contain.

use std::path::Path;

use cg_names::code_origin::CodeOwner;
use cg_parse::{Snapshots, stream};
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_tool::Diagnostics;

use crate::report::diff::Diffs;
use crate::report::owners::FunctionOwners;

/// One run of a diff.
pub(super) struct RunOfDiff {
    /// The calls and lines, and the stacks if the profile has any.
    pub(super) code: Profile,
    /// The estimated stacks of a profile without stacks.
    stacks: Option<Profile>,
}

impl RunOfDiff {
    pub(super) fn stacks(&self) -> &Profile {
        self.stacks.as_ref().unwrap_or(&self.code)
    }

    fn read(path: &Path) -> Option<RunOfDiff> {
        // Drop the messages, because cg-diff already printed them.
        let quiet = &mut Diagnostics::to(|_, _| {});
        let parse = cg_parse::Options {
            calls: true,
            lines: true,
            snapshots: Snapshots::Peak,
            ..cg_parse::Options::default()
        };
        let (mut code, mut stacks) = (Profile::default(), Profile::default());
        stream::read_with_stacks(path, &parse, quiet, &mut code, &mut stacks).ok()?;
        code.check_sums().ok()?;
        let has_stacks = code.types().any(RecordType::has_stack);
        let is_estimated = !has_stacks && !code.table(RecordType::Call).is_empty();
        let stacks = Some(stacks).filter(|stacks| is_estimated && stacks.check_sums().is_ok());
        Some(RunOfDiff { code, stacks })
    }
}

/// The sum of each event over the code of each owner, in the order of [`CodeOwner::ALL`].
type SumsByOwner = Vec<Vec<Count>>;

/// The files of a diff, if they still exist with the totals of the diff.
pub(super) struct FilesOfDiff {
    /// The sums of the new run; in a suite, of the new runs of all benchmarks.
    pub(super) sums: Option<SumsByOwner>,
    /// The two compared runs of one benchmark.
    pub(super) pair: Option<[RunOfDiff; 2]>,
}

impl FilesOfDiff {
    pub(super) fn read(
        profile: &Profile,
        diffs: &Diffs<'_>,
        events: &[String],
    ) -> anyhow::Result<FilesOfDiff> {
        let suite = diffs.is_suite.then(|| suite_sums(profile, diffs, events));
        if let Some(Some(sums)) = suite {
            return Ok(FilesOfDiff {
                sums: Some(sums),
                pair: None,
            });
        }
        let pair = read_runs(profile, diffs);
        let sums = pair
            .as_ref()
            .map(|[_, new]| sums_by_owner(&new.code, events));
        Ok(FilesOfDiff {
            sums: sums.transpose()?,
            pair,
        })
    }
}

fn sums_by_owner(profile: &Profile, events: &[String]) -> anyhow::Result<SumsByOwner> {
    let functions = match profile.table(RecordType::Fn) {
        rows if rows.is_empty() => &profile.functions_of_stacks()?,
        rows => rows,
    };
    let mut owners = FunctionOwners::new(profile);
    let owners: Vec<CodeOwner> = functions
        .keys()
        .map(|key| owners.find_function_owner(key.function))
        .collect();
    let sums = events.iter().map(|event| {
        let event = profile.event(event);
        let of_owner = |owner: &CodeOwner| {
            let matching = owners
                .iter()
                .enumerate()
                .filter(|(_, of_row)| *of_row == owner);
            let counts = matching.filter_map(|(row, _)| functions.cost(row).get(event?));
            counts.sum::<Count>()
        };
        CodeOwner::ALL.iter().map(of_owner).collect()
    });
    Ok(sums.collect())
}

/// Returns the sum of each event over the code of each owner in the new runs of all benchmarks of a suite; `None` if a file is
/// missing or has changed.
fn suite_sums(profile: &Profile, diffs: &Diffs<'_>, events: &[String]) -> Option<SumsByOwner> {
    let [_, newest] = diffs.compared();
    let mut sums = vec![vec![0; CodeOwner::ALL.len()]; events.len()];
    for run in profile.runs() {
        if run.runs.len() != run.source.len() {
            return None;
        }
        let path = Path::new(run.source.get(newest)?);
        let quiet = &mut Diagnostics::to(|_, _| {});
        let mut functions = Profile::default();
        let parse = cg_parse::Options {
            snapshots: Snapshots::Peak,
            ..cg_parse::Options::default()
        };
        stream::read(path, &parse, quiet, &mut functions).ok()?;
        let of_run = sums_by_owner(&functions, events).ok()?;
        for (sum, count) in sums.iter_mut().flatten().zip(of_run.iter().flatten()) {
            *sum += count;
        }
    }
    let totals = events.iter().map(|event| diffs.event_total(event, newest));
    let is_unchanged = sums
        .iter()
        .zip(totals)
        .all(|(sums, total)| sums.iter().sum::<Count>() == total.unwrap_or(0));
    is_unchanged.then_some(sums)
}

/// Reads the two compared runs of a diff; `None` unless both are single files that still exist with the totals of the diff.
fn read_runs(profile: &Profile, diffs: &Diffs<'_>) -> Option<[RunOfDiff; 2]> {
    let [run] = profile.runs() else {
        return None;
    };
    if run.runs.len() != run.source.len() {
        return None;
    }
    let [Some(old), Some(new)] = diffs.compared().map(|run_at| run.source.get(run_at)) else {
        return None;
    };
    let files = [old, new].map(Path::new);
    if !files.iter().all(|file| file.is_file()) {
        return None;
    }
    let [old, new] = files.map(RunOfDiff::read);
    let runs = [old?, new?];
    let is_unchanged = |side: usize| {
        diffs.event_names().into_iter().all(|event| {
            let profile = &runs[side].code;
            let position = profile.event(event);
            let total = position.and_then(|event| profile.total().get(event).copied());
            diffs
                .event_total(event, diffs.compared()[side])
                .unwrap_or(0)
                == total.unwrap_or(0)
        })
    };
    (is_unchanged(0) && is_unchanged(1)).then_some(runs)
}
