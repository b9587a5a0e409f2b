//! The runs of a comparison: one profile per file, one table of names, files grouped into sides.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use cg_collections::sorting::Order as _;
use cg_names::commands::launcher_note;
use cg_parse::{Options, Snapshots};
use cg_profile::{FunctionKey, Key, Names, Profile, Rows};
use cg_stream::record::{Count, RecordType, SnapshotRecord};
use cg_tool::Diagnostics;

use crate::inputs::InputBenchmark;
use crate::known_chains::undo_inlining;
use crate::leak_kinds::ShownLeakKinds;
use crate::recorded::UnevenlyRecorded;

/// A side of the comparison: one run or several runs. Each side is one entry in every array of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// The name in the field `runs`.
    pub(crate) name: String,
    /// The files of the side. Noise is measured only with several files.
    pub(crate) files: Vec<PathBuf>,
    /// The Massif snapshot to compare.
    pub(crate) snapshot: Snapshots,
}

/// The sides of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedSides {
    /// The name of the benchmark, if there are several comparisons.
    pub(crate) bench: Option<String>,
    pub(crate) sides: Vec<Side>,
}

impl Side {
    /// Returns the name of some of the files for messages: the path of one file, or the side's name for several.
    pub(crate) fn files_name(&self, files: &[PathBuf]) -> String {
        match files {
            [file] => file.display().to_string(),
            _ => self.name.clone(),
        }
    }
}

/// The way to combine several files of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Statistic {
    /// The median, for repeated runs of one program. The noise is measured too.
    #[default]
    Median,
    /// The sum, for parts of one thing such as all benchmarks of a commit. Files are added up while they are read, so
    /// memory grows only with distinct functions.
    Sum,
}

impl Statistic {
    /// Returns the number of files to add up in one profile.
    pub(crate) fn files_at_once(self, files: usize) -> usize {
        match self {
            Statistic::Median => 1,
            Statistic::Sum => files.max(1),
        }
    }

    /// The name in the field `statistic` of a `run` record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Sum => "sum",
        }
    }
}

/// The options for reading runs.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    /// The way to combine several files of a side.
    pub(crate) statistic: Statistic,
    /// True if source lines are read. They can be most of a profile.
    pub(crate) lines: bool,
    /// True if stacks are converted to the functions in them.
    pub(crate) by_function: bool,
    /// The records to make of raw profiles.
    pub(crate) records: Options,
    /// Additional directories with the objects of the first and the last side.
    pub(crate) debug_roots: [Vec<PathBuf>; 2],
    /// True if functions are compared, so that chains of inlined functions are converted to functions.
    pub(crate) functions: bool,
    /// True if stacks are converted to functions where a profile has nothing else.
    pub(crate) stacks_by_function: bool,
    /// True if an input without summaries counts as complete.
    pub(crate) allow_fragment: bool,
    /// The events that are limited.
    pub(crate) limited: Vec<String>,
}

impl ReadOptions {
    /// Returns the options for raw profiles of the side at `number`.
    pub(crate) fn raw_profile_options(&self, number: usize, sides: &[Side]) -> Options {
        let asked = &self.records;
        let mut search = asked.search.clone();
        let [old, new] = &self.debug_roots;
        let roots = [old, new].map(|roots| roots.iter().cloned());
        let [old, new] = roots;
        // The directories of one side precede the directories of both sides.
        search.roots.splice(0..0, old.filter(|_| number == 0));
        search
            .roots
            .splice(0..0, new.filter(|_| number + 1 == sides.len()));
        Options {
            search,
            // Call arcs explain cost changes. Stacks replace the arcs.
            calls: asked.calls || !asked.stacks,
            lines: asked.lines || (self.lines && !asked.stacks),
            snapshots: sides[number].snapshot,
            ..asked.clone()
        }
    }
}

/// All runs in memory.
pub(crate) struct Runs {
    /// Names and stacks of all profiles.
    pub(crate) names: Names,
    /// The profiles. Their own tables of names are empty: all names are in `names`.
    pub(crate) profiles: Vec<Profile>,
    /// The sides, as ranges of `profiles`.
    pub(crate) sides: Vec<(String, Range<usize>)>,
    /// The Massif snapshot to compare, for each profile.
    pub(crate) snapshots: Vec<Snapshots>,
    /// The events of all runs, in order of appearance.
    pub(crate) events: Vec<String>,
    /// A message for each file that is a fragment or empty. Such files are no basis for a verdict.
    pub(crate) incomplete: Vec<String>,
    /// For each profile and event of `events`: the event's position in the profile, if the profile has it.
    positions: Vec<Vec<Option<usize>>>,
    /// The treatment of leak kinds that not all runs show.
    pub(crate) leak_kinds: ShownLeakKinds,
    /// For each profile and `fn` row, the out-of-line part of its cost, by event. Empty if functions are compared
    /// including their inlined code.
    pub(crate) out_of_line: Vec<Vec<Vec<Count>>>,
    /// For each profile, its heap records, if functions replace the stacks. Empty otherwise.
    pub(crate) heaps: Vec<Rows>,
    /// True if all profiles are sampled.
    pub(crate) are_sampled: bool,
    /// The data that only some runs record.
    pub(crate) uneven: UnevenlyRecorded,
    /// The name of the benchmark, if the runs belong to one.
    pub(crate) bench: Option<String>,
    /// The way to combine several files of a side.
    pub(crate) statistic: Statistic,
    /// The number of files that were read, for each side.
    pub(crate) files_read: Vec<usize>,
}

impl Runs {
    /// Combines the inputs of the sides of one benchmark. Functions are compared as if nothing were inlined, if all inputs
    /// know their inlined functions.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn from_inputs(
        mut names: Names,
        inputs: Vec<(usize, InputBenchmark)>,
        sides: &[Side],
        how: &ReadOptions,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Runs> {
        let mut ranges: Vec<(String, Range<usize>)> = Vec::new();
        let (mut profiles, mut chains, mut heaps) = (Vec::new(), Vec::new(), Vec::new());
        let mut snapshots = Vec::new();
        let mut leak_kinds = ShownLeakKinds::default();
        let mut are_sampled = true;
        let mut has_chains_in_part = false;
        let mut inputs = inputs.into_iter().peekable();
        for (number, side) in sides.iter().enumerate() {
            let start = profiles.len();
            while let Some((_, input)) = inputs.next_if(|(of, _)| *of == number) {
                leak_kinds.add(input.leaks);
                are_sampled &= input.is_sampled;
                heaps.extend(input.heap);
                has_chains_in_part |= input.has_chains_in_part;
                chains.push(input.chains);
                profiles.push(input.profile);
                snapshots.push(side.snapshot);
            }
            ranges.push((side.name.clone(), start..profiles.len()));
        }
        let launchers = profiles
            .iter()
            .filter_map(|profile: &Profile| launcher_note(profile.runs()));
        launchers.take(1).for_each(|note| diagnostics.warn(note));
        let out_of_line = undo_inlining(
            &mut profiles,
            &mut names,
            &chains,
            has_chains_in_part,
            diagnostics,
        )?;
        leak_kinds.finish(&names.symbols, how.by_function);
        leak_kinds.add_unprinted(&mut profiles, &mut names)?;
        Ok(Runs {
            snapshots,
            leak_kinds,
            out_of_line,
            heaps,
            are_sampled,
            statistic: how.statistic,
            ..Runs::new(names, profiles, ranges, Vec::new())
        })
    }

    pub(crate) fn new(
        names: Names,
        profiles: Vec<Profile>,
        sides: Vec<(String, Range<usize>)>,
        incomplete: Vec<String>,
    ) -> Runs {
        let mut events: Vec<String> = Vec::new();
        for event in profiles.iter().flat_map(Profile::events) {
            if !events.contains(event) {
                events.push(event.clone());
            }
        }
        let positions = profiles
            .iter()
            .map(|profile| events.iter().map(|event| profile.event(event)).collect())
            .collect();
        let files_read = sides.iter().map(|(_, profiles)| profiles.len()).collect();
        Runs {
            names,
            snapshots: vec![Snapshots::Peak; profiles.len()],
            uneven: UnevenlyRecorded::find(&profiles),
            profiles,
            sides,
            events,
            incomplete,
            positions,
            leak_kinds: ShownLeakKinds::default(),
            out_of_line: Vec::new(),
            heaps: Vec::new(),
            are_sampled: false,
            bench: None,
            statistic: Statistic::default(),
            files_read,
        }
    }

    /// Returns true for a leak of a kind that is not compared, because not all runs show it.
    pub(crate) fn is_left_out(&self, key: &Key) -> bool {
        key.kind
            .is_some_and(|kind| self.leak_kinds.left_out.contains(&kind))
    }

    /// Returns the caller of a `call` record. For inlined code, this is the inlined function, if functions are compared as
    /// if nothing were inlined.
    pub(crate) fn caller(&self, key: &Key) -> FunctionKey {
        let inlined = key.inlined.filter(|_| !self.out_of_line.is_empty());
        let innermost = self.names.stacks.frames_of(inlined).first();
        innermost.map_or(key.function, |frame| frame.function)
    }

    /// The profiles of a side.
    pub(crate) fn files_of(&self, side: usize) -> Range<usize> {
        self.sides[side].1.clone()
    }

    /// Returns the side and the position of each profile.
    pub(crate) fn files(&self) -> impl Iterator<Item = (usize, usize)> {
        let sides = self.sides.iter().enumerate();
        sides.flat_map(|(side, (_, files))| files.clone().map(move |profile| (side, profile)))
    }

    /// The position of an event in a profile, if the profile has it.
    pub(crate) fn position(&self, profile: usize, event: usize) -> Option<usize> {
        self.positions[profile][event]
    }

    /// Returns true if a profile has the events of the first profile, in the same order.
    pub(crate) fn has_events_of_first(&self, profile: usize) -> bool {
        self.profiles[profile].events() == self.profiles[0].events()
    }

    /// Returns true if a profile counts an event. A profile without a `run` record leaves out events that are 0
    /// everywhere, so it may count any event.
    pub(crate) fn counts(&self, profile: usize, event: usize) -> bool {
        self.positions[profile][event].is_some() || self.profiles[profile].runs().is_empty()
    }

    /// Returns true if all runs count an event, so its figures are comparable.
    pub(crate) fn is_common(&self, event: usize) -> bool {
        (0..self.profiles.len()).all(|profile| self.counts(profile, event))
    }

    /// Returns the [`Runs::first_event`] of each record type.
    pub(crate) fn first_events(&self, types: &[RecordType]) -> BTreeMap<RecordType, usize> {
        let types = types.iter();
        types.map(|kind| (*kind, self.first_event(*kind))).collect()
    }

    /// Returns the first event that is not 0 in some record of a type. Findings and heap records have their own events.
    pub(crate) fn first_event(&self, kind: RecordType) -> usize {
        let is_of_type = |event: &usize| {
            self.profiles.iter().enumerate().any(|(profile, records)| {
                let table = records.table(kind);
                self.position(profile, *event)
                    .is_some_and(|position| table.counts(position))
            })
        };
        (0..self.events.len()).find(is_of_type).unwrap_or(0)
    }

    /// Returns the heap size of the compared snapshot, if the stream of one run has trees of several snapshots.
    fn size_of_compared_snapshot(&self, profile: usize, event: usize) -> Option<Count> {
        let records = &self.profiles[profile];
        let mut snapshots = (records.table(RecordType::Heap).keys()).map(|key| key.snapshot);
        let first = snapshots.next();
        let has_several = snapshots.any(|snapshot| Some(snapshot) != first);
        let is_one_run = records.runs().len() == 1;
        let snapshot = compared_snapshot(records.snapshots(), self.snapshots[profile])?;
        let is_heap_size = has_several && is_one_run && self.events[event] == "bytes";
        is_heap_size.then_some(snapshot.heap_bytes.into())
    }

    /// Returns the total of a profile's event: the total of its `run` records or, for a fragment, the sum of its records.
    pub(crate) fn total(&self, profile: usize, event: usize) -> Option<Count> {
        if !self.counts(profile, event) {
            return None;
        }
        let Some(position) = self.position(profile, event) else {
            return Some(0);
        };
        let heap_size = self.size_of_compared_snapshot(profile, event);
        if heap_size.is_some() {
            return heap_size;
        }
        let index = profile;
        let profile = &self.profiles[profile];
        if !profile.runs().is_empty() {
            let total = profile.total().get(position).copied().unwrap_or(0);
            let leaks = profile.table(RecordType::Leak);
            let left_out = (0..leaks.len())
                .filter(|record| self.is_left_out(&leaks.key(*record)))
                .map(|record| leaks.count(record, position));
            let unprinted = self.leak_kinds.unprinted(index, &self.events[event]);
            return Some(total + unprinted - left_out.sum::<Count>());
        }
        // One record type counts each event; `line` and `call` records only split these counts.
        let sum = |kind: RecordType| -> Count {
            let table = profile.table(kind);
            (0..table.len()).map(|row| table.count(row, position)).sum()
        };
        let mut types: Vec<RecordType> = profile.types().collect();
        types.order_by_key(|kind| *kind == RecordType::Line);
        Some(
            types
                .into_iter()
                .map(sum)
                .find(|sum| *sum != 0)
                .unwrap_or(0),
        )
    }
}

/// The event that counts samples.
pub(crate) const SAMPLES: &str = "samples";

/// Returns the snapshot to compare: the snapshot with the wanted number, or the peak. The peak is the snapshot that Massif
/// marked, or else the largest.
pub(crate) fn compared_snapshot(
    snapshots: &[SnapshotRecord],
    wanted: Snapshots,
) -> Option<&SnapshotRecord> {
    match wanted {
        Snapshots::Number(number) => snapshots
            .iter()
            .find(|snapshot| snapshot.snapshot == number),
        Snapshots::Peak | Snapshots::All => snapshots
            .iter()
            .max_by_key(|snapshot| (snapshot.detail == "peak", snapshot.total())),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::known_chains::InputChains;
    use cg_stream::Reader;

    /// Reads streams, one side per stream, named `a`, `b`, ….
    pub(crate) fn runs(streams: &[&str]) -> Runs {
        sides(&streams.iter().map(std::slice::from_ref).collect::<Vec<_>>())
    }

    /// Divides the functions of runs by their chains of inlined functions, as the inputs of a comparison are.
    pub(crate) fn divide_by_chains(runs: &mut Runs) {
        let chains = runs.profiles.iter();
        let chains: Vec<InputChains> = chains
            .map(|profile| InputChains::new("run".to_owned(), true, profile))
            .collect();
        let (profiles, names) = (&mut runs.profiles, &mut runs.names);
        let mut diagnostics = Diagnostics::to(|_, _| {});
        let out_of_line = undo_inlining(profiles, names, &chains, false, &mut diagnostics);
        runs.out_of_line = out_of_line.unwrap();
    }

    /// Reads streams, several files per side.
    pub(crate) fn sides(streams: &[&[&str]]) -> Runs {
        let mut names = Names::default();
        let mut profiles = Vec::new();
        let mut ranges = Vec::new();
        for (letter, files) in ('a'..).zip(streams) {
            let start = profiles.len();
            for text in *files {
                let mut profile = Profile::continuing(names);
                let mut reader = Reader::new(text.as_bytes());
                while let Some(line) = reader.next_line().unwrap() {
                    profile.add(&line).unwrap();
                }
                names = profile.take_names();
                profiles.push(profile);
            }
            ranges.push((letter.to_string(), start..profiles.len()));
        }
        Runs::new(names, profiles, ranges, Vec::new())
    }

    #[test]
    fn total_of_a_fragment_is_the_sum_of_its_records() {
        let line = |name: &str, ir: u64| {
            format!("{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":1,\"cost\":{{\"Ir\":{ir}}}}}\n")
        };
        let runs = runs(&[&(line("f", 3) + &line("g", 4))]);
        assert_eq!(runs.total(0, 0), Some(7));
    }
}
