//! Two inputs as the diff of their stacks: what `cg-diff --all --type stack` writes, in one step, joined by equal names.

use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use cg_parse::stream;
use cg_stream::Framing;
use cg_stream::maps::{Map, OrderedMap};
use cg_stream::profile::{Profile, StackId, ToldPlaces};
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, Frame, Name, PerRun, RecordType, RunRecord, SilentRun,
    Status, Total,
};
use cg_stream::rows::RowSink as _;
use cg_stream::tool::Diagnostics;

use crate::format::kind_of_stacks;
use crate::options::Options;
use crate::report::events::events_of;

/// The self costs of a stack in the two runs, in the order of the events.
type OfRuns = [Option<Vec<Count>>; 2];

/// Reads two inputs, the older first, and compares their stacks.
///
/// # Errors
/// Where there are not two inputs, or nothing that both count.
pub(crate) fn read(
    files: &[PathBuf],
    parse: &cg_parse::Options,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Profile, Framing)> {
    ensure!(
        options.format.is_of_stacks(),
        "--diff draws the stacks of two runs; write cg-diff OLD NEW | cg-fmt for tables, or -f flamegraph"
    );
    let [old_file, new_file] = files else {
        bail!(
            "--diff is of two inputs: write cg-fmt --diff OLD NEW; there are {}",
            files.len()
        );
    };
    let mut old = Profile::default();
    let mut framing = stream::read(old_file, parse, diagnostics, &mut old)?;
    let mut new = Profile::continuing(old.take_names());
    framing.add(stream::read(new_file, parse, diagnostics, &mut new)?);
    old.check_sums()?;
    new.check_sums()?;
    let runs = [(old_file.as_path(), &old), (new_file.as_path(), &new)];
    // Stacks of which one run has none are all new, or all gone.
    let of = if old.types().any(RecordType::has_stack) {
        &old
    } else {
        &new
    };
    let kind = kind_of_stacks(of, options, diagnostics)?;
    let diff = compare(runs, kind)?;
    Ok((diff, framing))
}

/// The diff of the stacks of two profiles with the same names.
fn compare(runs: [(&Path, &Profile); 2], kind: RecordType) -> anyhow::Result<Profile> {
    let profiles = runs.map(|(_, profile)| profile);
    let events = events_in_common(profiles, kind)?;
    let mut stacks: OrderedMap<Option<StackId>, OfRuns> = OrderedMap::default();
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
    let silent = silent(profiles, kind, &stacks);
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
        let below = silent.get(&row).and_then(|silent| SilentRun::of(*silent));
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

/// The events of the stacks of either run.
///
/// # Errors
/// Where both count something, and nothing in common.
fn events_in_common(profiles: [&Profile; 2], kind: RecordType) -> anyhow::Result<Vec<&str>> {
    let mut events: Vec<&str> = Vec::new();
    for profile in profiles {
        for event in events_of(profile, kind) {
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
        "nothing to compare: the two runs count nothing in common ({})",
        events.join(", ")
    );
    Ok(events)
}

/// Adds the stacks of a run, whatever thread or process they are of.
fn add(
    profile: &Profile,
    kind: RecordType,
    events: &[&str],
    position: usize,
    stacks: &mut OrderedMap<Option<StackId>, OfRuns>,
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

/// The rows that one run may have below Massif's threshold, and the sums of such places; for each, which run is silent.
fn silent(
    profiles: [&Profile; 2],
    kind: RecordType,
    stacks: &OrderedMap<Option<StackId>, OfRuns>,
) -> Map<usize, [bool; 2]> {
    let names = profiles[1].names();
    let path = |stack: Option<StackId>| {
        let frames = names.stacks.frames_of(stack);
        frames.iter().map(|frame| (frame.function, frame.line))
    };
    let mut silent: Map<usize, [bool; 2]> = Map::default();
    for (run, profile) in profiles.into_iter().enumerate() {
        let table = profile.table(kind);
        let mut tree = ToldPlaces::default();
        for (record, key) in table.keys().iter().enumerate() {
            let row = stacks.get_index_of(&key.stack).unwrap_or_default();
            let places = table.numbers().places.get(record);
            tree.add(path(key.stack), places.map(|_| (row, 0)));
        }
        for (row, (stack, costs)) in stacks.iter().enumerate() {
            if tree.is_whole() || costs[run].is_some() {
                continue;
            }
            for places in tree.hiding(path(*stack)) {
                silent.entry(row).or_default()[run] = true;
                silent.entry(places.id).or_default()[run] = true;
            }
        }
    }
    silent
}

fn status([old, new]: &OfRuns) -> Status {
    match (old, new) {
        (None, _) => Status::Added,
        (_, None) => Status::Removed,
        (old, new) if old == new => Status::Same,
        _ => Status::Changed,
    }
}
