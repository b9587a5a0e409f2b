//! Whether the sides have whole runs: one part of a run (`--dump-before`, a client request) says nothing of a whole one.

use std::collections::BTreeMap;

use cg_stream::profile::Profile;
use cg_stream::record::{PartialRun, RunRecord};

use crate::runs::Runs;

/// A sentence where one profile has runs of which parts are missing, and another has whole runs or other parts of them.
pub(crate) fn unlike_parts(runs: &Runs) -> Option<String> {
    let mut whole = false;
    let mut counts = Vec::new();
    let mut found = None;
    for (name, files) in &runs.sides {
        for profile in &runs.profiles[files.clone()] {
            let partial = PartialRun::of(profile.runs());
            match partial.first() {
                None => whole |= !profile.runs().is_empty(),
                Some(first) => {
                    counts.push(partial.iter().map(PartialRun::count).sum::<u64>());
                    found.get_or_insert_with(|| (name, first.clone()));
                }
            }
        }
    }
    let (name, partial) = found?;
    let are_alike = !whole && counts.windows(2).all(|pair| pair[0] == pair[1]);
    (!are_alike).then(|| {
        format!(
            "{name} has {} alone, and the others have more or less of theirs: give all parts of a run together, as \
             cg-parse adds them up, or compare part with part",
            described(&partial)
        )
    })
}

/// `part 1 of process 77`.
fn described(partial: &PartialRun) -> String {
    let range = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    let parts: Vec<String> = partial.parts.iter().map(range).collect();
    let word = if partial.count() == 1 {
        "part"
    } else {
        "parts"
    };
    let of = match partial.pid {
        Some(pid) => format!("process {pid}"),
        None => "a run".to_owned(),
    };
    format!("{word} {} of {of}", parts.join(", "))
}

/// Which parts a run record is of, where it is not a whole run.
pub(crate) fn parts_of(run: &RunRecord) -> Option<String> {
    let partial = run.costs.partial_runs(run.pid);
    let (part, trigger) = (run.costs.part?, run.costs.trigger.as_ref()?);
    (!partial.is_empty()).then(|| format!("{part} ({trigger})"))
}

/// How many files of a side are no run by themselves: the parts of a run that lie in files of their own are one.
pub(crate) fn further_parts(profiles: &[Profile]) -> usize {
    let mut files: BTreeMap<Option<u64>, usize> = BTreeMap::new();
    for run in profiles.iter().flat_map(Profile::runs) {
        if !run.costs.partial_runs(run.pid).is_empty() {
            *files.entry(run.pid).or_default() += 1;
        }
    }
    files.values().map(|files| files - 1).sum()
}
