//! The diff of the stacks of two inputs, in one step: the result of `cg-diff --all --type stack`, joined only by equal
//! names.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use cg_collections::maps::{Map, OrderedMap};
use cg_names::commands::launcher_note;
use cg_parse::stream;
use cg_profile::{Profile, ShownPlaces, StackId};
use cg_stream::Framing;
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, Frame, Name, PerRun, RecordType, RunBelowThreshold,
    RunRecord, Status, Total,
};
use cg_stream::rows::RowSink as _;
use cg_tool::Diagnostics;

use crate::format::kind_of_stacks;
use crate::options::Options;
use crate::report::events::find_events;

/// The self costs of a stack in the two runs, in the order of the events.
type StackCosts = [Option<Vec<Count>>; 2];

/// Reads two inputs, the older first, and compares their stacks.
///
/// # Errors
/// Returns an error unless there are two inputs with a common event.
pub(crate) fn read(
    files: &[PathBuf],
    parse: &cg_parse::Options,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Profile, Framing)> {
    ensure!(
        options.format.has_only_stacks(),
        "--diff needs a format of stacks such as -f flamegraph; for tables, use cg-diff OLD NEW | cg-fmt"
    );
    let [old_file, new_file] = files else {
        bail!(
            "--diff needs two inputs (cg-fmt --diff OLD NEW), found {}",
            files.len()
        );
    };
    let mut old = Profile::default();
    let mut framing = stream::read(old_file, parse, diagnostics, &mut old)?;
    let mut new = Profile::continuing(old.take_names());
    framing.add(stream::read(new_file, parse, diagnostics, &mut new)?);
    old.check_sums()?;
    new.check_sums()?;
    if let Some(note) = [&old, &new]
        .into_iter()
        .find_map(|run| launcher_note(run.runs()))
    {
        diagnostics.warn(note);
    }
    let runs = [(old_file.as_path(), &old), (new_file.as_path(), &new)];
    // If only one run has stacks, all of them are added or removed.
    let with_stacks = if old.types().any(RecordType::has_stack) {
        &old
    } else {
        &new
    };
    let kind = kind_of_stacks(with_stacks, options, diagnostics)?;
    let diff = compare(runs, kind)?;
    Ok((diff, framing))
}

/// Compares the stacks of two profiles that share their table of names.
fn compare(runs: [(&Path, &Profile); 2], kind: RecordType) -> anyhow::Result<Profile> {
    let profiles = runs.map(|(_, profile)| profile);
    let events = events_in_common(profiles, kind)?;
    let mut stacks: OrderedMap<Option<StackId>, StackCosts> = OrderedMap::default();
    for (position, profile) in profiles.into_iter().enumerate() {
        add(profile, kind, &events, position, &mut stacks)?;
    }
    let mut diff = Profile::default();
    let named = || events.iter().map(|event| Name::from((*event).to_owned()));
    let totals = |event: &str| {
        let total = |profile: &Profile| Some(*profile.total().get(profile.event(event)?)?);
        PerRun(profiles.map(total).to_vec())
    };
    diff.run(&RunRecord {
        runs: runs.map(|(file, _)| file.display().to_string()).to_vec(),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        total: Total::PerRun(CountsPerRun(
            named()
                .zip(events.iter().map(|event| totals(event)))
                .collect(),
        )),
        ..profiles[1]
            .runs()
            .first()
            .map_or_else(RunRecord::default, |run| {
                RunRecord::new(run.tool.as_deref().unwrap_or_default())
            })
    })?;
    let names = profiles[1].names();
    let below_threshold = rows_below_threshold(profiles, kind, &stacks);
    for (row, (stack, costs)) in stacks.iter().enumerate() {
        let frames = stack.map(|stack| {
            names.stack(stack).map(|frame| Frame {
                addr: None,
                ..frame
            })
        });
        let entry = |event: usize| {
            PerRun(
                costs
                    .each_ref()
                    .map(|cost| Some(cost.as_ref()?[event]))
                    .to_vec(),
            )
        };
        let entries: Vec<PerRun> = (0..events.len()).map(entry).collect();
        let below = below_threshold
            .get(&row)
            .and_then(|runs| RunBelowThreshold::from_flags(*runs));
        diff.diff(DiffRecord {
            of: Name::from(kind.name()),
            status: match below {
                None => status(costs),
                Some(_) => Status::BelowThreshold,
            },
            below,
            delta: match below {
                None => Counts(named().zip(entries.iter().map(PerRun::delta)).collect()),
                Some(_) => Counts::default(),
            },
            cost: CountsPerRun(named().zip(entries).collect()),
            stack: frames.into_iter().flatten().collect(),
            ..DiffRecord::default()
        })?;
    }
    diff.end(stacks.len() as u64)?;
    Ok(diff)
}

/// Returns the events of the stacks of either run.
///
/// # Errors
/// Returns an error if both runs have events, but no common one.
fn events_in_common(profiles: [&Profile; 2], kind: RecordType) -> anyhow::Result<Vec<&str>> {
    let mut events: Vec<&str> = Vec::new();
    for profile in profiles {
        for event in find_events(profile, kind) {
            let event = profile.events()[event].as_str();
            if !events.contains(&event) {
                events.push(event);
            }
        }
    }
    let counts_any = |profile: &Profile| events.iter().any(|event| profile.event(event).is_some());
    let in_common = events.iter().any(|event| {
        profiles
            .iter()
            .all(|profile| profile.event(event).is_some())
    });
    ensure!(
        in_common || !profiles.into_iter().all(counts_any),
        "nothing to compare: the two runs have no common event ({})",
        events.join(", ")
    );
    Ok(events)
}

/// Adds the stacks of a run, over all threads and processes.
fn add(
    profile: &Profile,
    kind: RecordType,
    events: &[&str],
    position: usize,
    stacks: &mut OrderedMap<Option<StackId>, StackCosts>,
) -> anyhow::Result<()> {
    let at: Vec<Option<usize>> = events.iter().map(|event| profile.event(event)).collect();
    let table = profile.table(kind);
    for row in 0..table.len() {
        let sums = &mut stacks.entry(table.key(row).stack).or_default()[position];
        let sums = sums.get_or_insert_with(|| vec![0; events.len()]);
        for (sum, event) in sums.iter_mut().zip(&at) {
            *sum += event.map_or(0, |event| table.count(row, event));
        }
    }
    Ok(())
}

/// Finds the rows that may be below Massif's threshold in one run, and the rows with the sums of such places. The result has
/// the affected runs of each row.
fn rows_below_threshold(
    profiles: [&Profile; 2],
    kind: RecordType,
    stacks: &OrderedMap<Option<StackId>, StackCosts>,
) -> Map<usize, [bool; 2]> {
    let names = profiles[1].names();
    let path = |stack: Option<StackId>| {
        let frames = names.stacks.frames_of(stack);
        frames.iter().map(|frame| (frame.function, frame.line))
    };
    let mut below: Map<usize, [bool; 2]> = Map::default();
    for (run, profile) in profiles.into_iter().enumerate() {
        let table = profile.table(kind);
        let mut tree = ShownPlaces::default();
        for (record, key) in table.keys().enumerate() {
            let row = stacks.get_index_of(&key.stack).unwrap_or_default();
            let places = table.numbers().places.get(record);
            tree.add(path(key.stack), places.map(|_| (row, 0)));
        }
        for (row, (stack, costs)) in stacks.iter().enumerate() {
            if tree.is_whole() || costs[run].is_some() {
                continue;
            }
            for places in tree.hiding(path(*stack)) {
                below.entry(row).or_default()[run] = true;
                below.entry(places.id).or_default()[run] = true;
            }
        }
    }
    below
}

fn status([old, new]: &StackCosts) -> Status {
    match (old, new) {
        (None, _) => Status::Added,
        (_, None) => Status::Removed,
        (old, new) if old == new => Status::Same,
        _ => Status::Changed,
    }
}
