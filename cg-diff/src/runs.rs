//! The runs of a comparison, read: a profile a file, one table of names for all, files grouped into sides.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_parse::{Options, Snapshots};
use cg_stream::derived::Formula;
use cg_stream::profile::{FunctionKey, Key, Names, Profile, Rows};
use cg_stream::record::{Count, DiffRecord, RecordType, RunRecord, SnapshotRecord};
use cg_stream::rows::{Row, RowSink, RowTables};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Diagnostics;
use cg_stream::{Completeness, Framing};

use crate::gate::compared;
use crate::known_chains::{InputChains, undo_inlining};
use crate::leak_kinds::ShownLeakKinds;

/// A side of the comparison, which is one entry of every array: a run, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// What it is called in `runs`.
    pub(crate) name: String,
    /// Its files; one, where noise is not measured.
    pub(crate) files: Vec<PathBuf>,
    /// The Massif snapshot that is compared.
    pub(crate) snapshot: Snapshots,
}

impl Side {
    /// What some of its files are called in messages: one goes by its path, several by the side.
    fn name_of(&self, files: &[PathBuf]) -> String {
        match files {
            [file] => file.display().to_string(),
            _ => self.name.clone(),
        }
    }
}

/// What a side of several files is compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Statistic {
    /// The files are runs of one thing: their median, and the noise around it.
    #[default]
    Median,
    /// The files are parts of one thing, benchmarks of a commit say: their sum. They are added up as they are read, so
    /// memory goes with distinct functions, however many files there are.
    Sum,
}

impl Statistic {
    /// How many of the files of a side are added up in one profile.
    fn files_at_once(self, files: usize) -> usize {
        match self {
            Statistic::Median => 1,
            Statistic::Sum => files.max(1),
        }
    }

    /// What it is called in `statistic` of a `run` record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Statistic::Median => "median",
            Statistic::Sum => "sum",
        }
    }
}

/// What is read of each run.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    /// What becomes of several files of one side.
    pub(crate) statistic: Statistic,
    /// Whether source lines are read; they can be most of a profile.
    pub(crate) lines: bool,
    /// Whether stacks are turned into the functions in them.
    pub(crate) by_function: bool,
    /// Which records of raw profiles are wanted by name.
    pub(crate) records: Options,
    /// Where else objects of the first and of the last side are.
    pub(crate) debug_roots: [Vec<PathBuf>; 2],
    /// Whether functions are compared, so that chains of inlined ones can be turned into functions.
    pub(crate) functions: bool,
    /// Whether sampled stacks are turned into functions even if other stacks are not.
    pub(crate) samples_by_function: bool,
    /// Whether what has no summaries is taken for all there is.
    pub(crate) allow_fragment: bool,
    /// The events that limits are on.
    pub(crate) limited: Vec<String>,
}

impl ReadOptions {
    /// What is read of the raw profiles of the side at `number`.
    fn of_raw_profiles(&self, number: usize, sides: &[Side]) -> Options {
        let asked = &self.records;
        let mut search = asked.search.clone();
        let [old, new] = &self.debug_roots;
        let roots = [old, new].map(|roots| roots.iter().cloned());
        let [old, new] = roots;
        // They come before the directories of both sides.
        search.roots.splice(0..0, old.filter(|_| number == 0));
        search
            .roots
            .splice(0..0, new.filter(|_| number + 1 == sides.len()));
        Options {
            search,
            // Why a cost changed is told from call arcs. Stacks stand instead of them.
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
    /// The Massif snapshot that is compared of each profile.
    pub(crate) snapshots: Vec<Snapshots>,
    /// The events of all runs, in the order they came.
    pub(crate) events: Vec<String>,
    /// The files that were fragments or empty, which is no basis for a verdict.
    pub(crate) incomplete: Vec<String>,
    /// For each profile and event of `events`: the event's position in the profile, if the profile has it.
    positions: Vec<Vec<Option<usize>>>,
    /// Which leaks not all runs show.
    pub(crate) leak_kinds: ShownLeakKinds,
    /// For each profile and `fn` row, the part of its cost that is out of line, by event. Empty if functions are
    /// compared with what was inlined into them.
    pub(crate) out_of_line: Vec<Vec<Vec<Count>>>,
    /// For each profile, its heap where functions stand for its stacks; empty where they do not.
    pub(crate) heaps: Vec<Rows>,
    /// Whether all profiles are sampled.
    pub(crate) are_sampled: bool,
    /// How several files of a side are combined.
    pub(crate) statistic: Statistic,
    /// How many files were read, a side each.
    pub(crate) files_read: Vec<usize>,
}

/// Checks the sums, and adds the events that limits are on and that follow from others, as far as the profile has these.
fn derive(profile: &mut Profile, limited: &[String]) -> anyhow::Result<()> {
    profile.check_sums()?;
    for event in limited {
        let is_there = profile.event(event).is_some();
        let formula = Formula::named(event, profile.events());
        let Some(formula) = formula.filter(|_| !is_there) else {
            continue;
        };
        anyhow::ensure!(
            formula.divisor.is_none(),
            "{event} is a ratio, which does not add up; limits are on counts"
        );
        profile.derive(event, &formula.sum)?;
    }
    Ok(())
}

impl Runs {
    /// Reads all files, stacks as functions where asked for. What cannot be read is told to `diagnostics`.
    ///
    /// # Errors
    /// None but what the machine itself fails at.
    pub(crate) fn read(
        sides: &[Side],
        how: ReadOptions,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Runs> {
        let mut names = Names::default();
        let mut profiles = Vec::new();
        let mut chains = Vec::new();
        let mut ranges = Vec::new();
        let mut snapshots = Vec::new();
        let mut incomplete = Vec::new();
        let mut leak_kinds = ShownLeakKinds::new(how.allow_fragment);
        let mut are_sampled = true;
        let mut files_read = Vec::new();
        let mut has_chains_in_part = false;
        let mut heaps = Vec::new();
        for (number, side) in sides.iter().enumerate() {
            let options = how.of_raw_profiles(number, sides);
            let start = profiles.len();
            let files = cg_parse::without_empty_bases(&side.files);
            files_read.push(files.len());
            for files in files.chunks(how.statistic.files_at_once(files.len())) {
                let mut profile = Profile::continuing(names);
                let mut lacks_chains = false;
                let mut is_filtered = false;
                for file in files {
                    let (framing, read) =
                        read_into(&mut profile, file, &options, how.lines, diagnostics)?;
                    let has = |of| read.types.contains(&of);
                    lacks_chains |= has(RecordType::Fn) && !has(RecordType::Inline);
                    is_filtered |= read.is_filtered;
                    // Unreadable inputs were reported already.
                    if !diagnostics.had_trouble() {
                        let why = no_basis(framing);
                        incomplete.extend(why.map(|why| format!("{}: {why}", file.display())));
                        check_snapshot(side.snapshot, &profile, file, diagnostics);
                    }
                }
                let name = side.name_of(files);
                derive(&mut profile, &how.limited).with_context(|| name.clone())?;
                leak_kinds.add(&profile, name.clone(), is_filtered);
                let is_sampled = is_sampled(&profile);
                are_sampled &= is_sampled;
                if how.by_function {
                    heaps.push(profile.table(RecordType::Heap).clone());
                }
                if how.by_function || (how.samples_by_function && is_sampled) {
                    profile = profile.by_function()?;
                }
                // If only some files of a sum have inline chains, the chains do not add up to its functions.
                let are_known_in_part = lacks_chains && files.len() > 1;
                let has_any = !profile.table(RecordType::Inline).is_empty() && how.functions;
                let has_chains = has_any && !are_known_in_part;
                has_chains_in_part |= has_any && are_known_in_part;
                chains.push(InputChains::of(name, has_chains, &profile));
                names = profile.take_names();
                profiles.push(profile);
                snapshots.push(side.snapshot);
            }
            ranges.push((side.name.clone(), start..profiles.len()));
        }
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
            files_read,
            ..Runs::new(names, profiles, ranges, incomplete)
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
            profiles,
            sides,
            events,
            incomplete,
            positions,
            leak_kinds: ShownLeakKinds::default(),
            out_of_line: Vec::new(),
            heaps: Vec::new(),
            are_sampled: false,
            statistic: Statistic::default(),
            files_read,
        }
    }

    /// True for a record that is not compared: of a kind of leak that not all runs show.
    pub(crate) fn is_left_out(&self, key: &Key) -> bool {
        key.kind
            .is_some_and(|kind| self.leak_kinds.left_out.contains(&kind))
    }

    /// The function that a `call` record is of; of inlined code the inlined function, where functions are compared so.
    pub(crate) fn caller(&self, key: &Key) -> FunctionKey {
        let inlined = key.inlined.filter(|_| !self.out_of_line.is_empty());
        let innermost = self.names.stacks.frames_of(inlined).first();
        innermost.map_or(key.function, |frame| frame.function)
    }

    /// The profiles of a side.
    pub(crate) fn files_of(&self, side: usize) -> Range<usize> {
        self.sides[side].1.clone()
    }

    /// All profiles, each behind its side.
    pub(crate) fn files(&self) -> impl Iterator<Item = (usize, usize)> {
        let sides = self.sides.iter().enumerate();
        sides.flat_map(|(side, (_, files))| files.clone().map(move |profile| (side, profile)))
    }

    /// Where a profile has an event.
    pub(crate) fn position(&self, profile: usize, event: usize) -> Option<usize> {
        self.positions[profile][event]
    }

    /// True where a profile counts the events of the first, in the same order.
    pub(crate) fn has_events_of_first(&self, profile: usize) -> bool {
        self.profiles[profile].events() == self.profiles[0].events()
    }

    /// True if a profile counts an event. A profile without a `run` record leaves out events that are 0 everywhere, so
    /// it may count any event.
    pub(crate) fn counts(&self, profile: usize, event: usize) -> bool {
        self.positions[profile][event].is_some() || self.profiles[profile].runs().is_empty()
    }

    /// True where all runs count an event, so that its figures can be compared.
    pub(crate) fn is_common(&self, event: usize) -> bool {
        (0..self.profiles.len()).all(|profile| self.counts(profile, event))
    }

    /// By type of record: see [`Runs::first_event`].
    pub(crate) fn first_events(&self, types: &[RecordType]) -> BTreeMap<RecordType, usize> {
        let types = types.iter();
        types.map(|of| (*of, self.first_event(*of))).collect()
    }

    /// The first event that is not 0 in some record of a type; findings and heap records have events of their own.
    pub(crate) fn first_event(&self, of: RecordType) -> usize {
        let is_of_type = |event: &usize| {
            self.profiles.iter().enumerate().any(|(profile, records)| {
                let table = records.table(of);
                self.position(profile, *event)
                    .is_some_and(|position| table.counts(position))
            })
        };
        (0..self.events.len()).find(is_of_type).unwrap_or(0)
    }

    /// Where the stream of one run has the trees of several snapshots: what the one that is compared holds.
    fn held_of_several(&self, profile: usize, event: usize) -> Option<Count> {
        let records = &self.profiles[profile];
        let keys = records.table(RecordType::Heap).keys();
        let has_several = keys.iter().any(|key| key.snapshot != keys[0].snapshot);
        let is_of_several = has_several && records.runs().len() == 1;
        let snapshot = compared(records.snapshots(), self.snapshots[profile])?;
        (is_of_several && self.events[event] == "bytes").then_some(snapshot.heap_bytes.into())
    }

    /// The total of a profile's event: what its `run` records say, or of a fragment the sum of what is there.
    pub(crate) fn total(&self, profile: usize, event: usize) -> Option<Count> {
        if !self.counts(profile, event) {
            return None;
        }
        let Some(position) = self.position(profile, event) else {
            return Some(0);
        };
        let held = self.held_of_several(profile, event);
        if held.is_some() {
            return held;
        }
        let index = profile;
        let profile = &self.profiles[profile];
        if !profile.runs().is_empty() {
            let total = profile.total().get(position).copied().unwrap_or(0);
            let leaks = profile.table(RecordType::Leak);
            let left_out = (0..leaks.len())
                .filter(|record| self.is_left_out(leaks.key(*record)))
                .map(|record| leaks.count(record, position));
            let unprinted = self.leak_kinds.unprinted(index, &self.events[event]);
            return Some(total + unprinted - left_out.sum::<Count>());
        }
        // Each event is counted by one record type; `line` and `call` records only break its counts down.
        let sum = |of: RecordType| -> Count {
            let table = profile.table(of);
            (0..table.len()).map(|row| table.count(row, position)).sum()
        };
        let mut types: Vec<RecordType> = profile.types().collect();
        types.order_by_key(|of| *of == RecordType::Line);
        Some(
            types
                .into_iter()
                .map(sum)
                .find(|sum| *sum != 0)
                .unwrap_or(0),
        )
    }
}

/// What came of a file besides its records.
#[derive(Default)]
struct ReadFile {
    /// The types of its records.
    types: BTreeSet<RecordType>,
    /// Whether a filter took records out: `end` counts those that were written.
    is_filtered: bool,
}

/// Reads one file and adds it to a profile.
fn read_into(
    profile: &mut Profile,
    file: &Path,
    options: &Options,
    with_lines: bool,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<(Framing, ReadFile)> {
    let diffs = profile.diffs().len();
    let mut sink = TypedRows {
        profile,
        with_lines,
        read: ReadFile::default(),
        records: 0,
        last: None,
    };
    let framing = cg_parse::stream::read(file, options, diagnostics, &mut sink)?;
    let read = sink.read;
    if profile.diffs().len() > diffs {
        diagnostics.trouble(format!(
            "{}: is a comparison already; give the profiles it was made from",
            file.display()
        ));
    }
    Ok((framing, read))
}

/// Fails where a snapshot is asked for that an input has no records of.
fn check_snapshot(
    snapshots: Snapshots,
    profile: &Profile,
    file: &Path,
    diagnostics: &mut Diagnostics,
) {
    if let Snapshots::Number(number) = snapshots
        && lacks_snapshot(profile, number)
    {
        diagnostics.trouble(format!(
            "{}: there are no heap records of snapshot {number}: give the massif.out file itself, or cg-parse --snapshots {number}",
            file.display()
        ));
    }
}

/// Adds rows to a profile and keeps their types.
struct TypedRows<'p> {
    profile: &'p mut Profile,
    with_lines: bool,
    read: ReadFile,
    /// How many records came since the last `run`.
    records: u64,
    last: Option<RecordType>,
}

impl TypedRows<'_> {
    fn note(&mut self, of: RecordType) {
        // Records of one type are adjacent, so the set is rarely touched.
        if self.last != Some(of) {
            self.last = Some(of);
            self.read.types.insert(of);
        }
    }
}

impl RowSink for TypedRows<'_> {
    fn run(&mut self, run: &RunRecord) -> Result<(), cg_stream::Error> {
        self.note(RecordType::Run);
        self.records = 0;
        self.profile.run(run)
    }

    fn expect(&mut self, of: RecordType, rows: usize) {
        self.profile.expect(of, rows);
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), cg_stream::Error> {
        self.note(row.kind());
        self.records += 1;
        match self.wants(row.kind()) {
            true => self.profile.row(row, tables),
            false => Ok(()),
        }
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), cg_stream::Error> {
        self.note(RecordType::Diff);
        self.profile.diff(record)
    }

    fn end(&mut self, records: u64) -> Result<(), cg_stream::Error> {
        self.note(RecordType::End);
        self.read.is_filtered |= self.records < records;
        self.profile.end(records)
    }

    fn wants(&self, of: RecordType) -> bool {
        of != RecordType::Line || self.with_lines
    }
}

/// The event that counts samples.
pub(crate) const SAMPLES: &str = "samples";

/// Whether a profile is one of samples: nothing but stacks, with how many samples each was taken in.
fn is_sampled(profile: &Profile) -> bool {
    profile.types().eq([RecordType::Stack]) && profile.event(SAMPLES).is_some()
}

/// True if a Massif stream was written without the trees of this snapshot; an empty snapshot has none anyway.
fn lacks_snapshot(profile: &Profile, number: u64) -> bool {
    let heap = profile.table(RecordType::Heap);
    let has_records = (0..heap.len()).any(|record| heap.key(record).snapshot == Some(number));
    let was_empty =
        |snapshot: &SnapshotRecord| snapshot.snapshot == number && snapshot.heap_bytes == 0;
    !has_records && !profile.snapshots().is_empty() && !profile.snapshots().iter().any(was_empty)
}

/// Why nothing can be judged from an input, if so.
fn no_basis(framing: Framing) -> Option<&'static str> {
    match framing.completeness() {
        Completeness::Whole | Completeness::CutShort => None,
        Completeness::Fragment => Some(
            "is a fragment, without run and end records (--allow-fragment judges it all the same)",
        ),
        Completeness::Empty => Some("is empty (--allow-fragment judges it all the same)"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cg_stream::Reader;

    /// The runs in these streams, a side each, named `a`, `b`, ….
    pub(crate) fn runs(streams: &[&str]) -> Runs {
        sides(&streams.iter().map(std::slice::from_ref).collect::<Vec<_>>())
    }

    /// The same with several files a side.
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
    fn the_total_of_a_fragment_is_the_sum_of_what_is_there() {
        let line = |name: &str, ir: u64| {
            format!("{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":1,\"cost\":{{\"Ir\":{ir}}}}}\n")
        };
        let runs = runs(&[&(line("f", 3) + &line("g", 4))]);
        assert_eq!(runs.total(0, 0), Some(7));
    }
}
