//! Reads the inputs of a comparison.
//!
//! A stream may have the profiles of several benchmarks, named by the label `bench` of their `run` records. Each benchmark
//! becomes a profile, so that an improvement of one cannot hide a regression of another.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use cg_parse::Snapshots;
use cg_profile::formula::Formula;
use cg_profile::{Names, Profile, Rows};
use cg_stream::record::{DiffRecord, RecordType, RunRecord, SnapshotRecord};
use cg_stream::rows::{Row, RowSink, RowTables};
use cg_stream::{Completeness, Framing};
use cg_tool::Diagnostics;

use crate::known_chains::InputChains;
use crate::leak_kinds::SeenFile;
use crate::runs::{ReadOptions, Runs, SAMPLES, Side, Statistic};

/// All inputs of a comparison in memory.
pub(crate) struct Inputs {
    /// Names and stacks of all profiles.
    pub(crate) names: Names,
    inputs: Vec<Input>,
    /// A message for each file that is a fragment or empty.
    incomplete: Vec<String>,
    /// The number of files that were read, for each side.
    files_read: Vec<usize>,
}

/// The files that one profile was read from: one file, or the files of a sum.
struct Input {
    /// The position of the side.
    side: usize,
    /// The name for messages.
    name: String,
    /// The benchmarks in the order of the input. There is only one if the label `bench` does not vary.
    benchmarks: Vec<InputBenchmark>,
}

/// One benchmark of an input, or an input with only one.
pub(crate) struct InputBenchmark {
    /// The label `bench` of its runs.
    bench: Option<String>,
    pub(crate) profile: Profile,
    /// Its heap records, if functions replace the stacks.
    pub(crate) heap: Option<Rows>,
    pub(crate) is_sampled: bool,
    pub(crate) chains: InputChains,
    /// True if only some files of a sum have chains of inlined functions.
    pub(crate) has_chains_in_part: bool,
    pub(crate) leaks: SeenFile,
}

impl Inputs {
    /// Reads all files, and converts stacks to functions if asked to. Reports unreadable inputs to `diagnostics`.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn read(
        sides: &[Side],
        how: &ReadOptions,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Inputs> {
        let mut all = Inputs {
            names: Names::default(),
            inputs: Vec::new(),
            incomplete: Vec::new(),
            files_read: Vec::new(),
        };
        for (number, side) in sides.iter().enumerate() {
            let options = how.raw_profile_options(number, sides);
            let files = cg_parse::without_empty_bases(&side.files);
            all.files_read.push(files.len());
            for files in files.chunks(how.statistic.files_at_once(files.len())) {
                let mut rows = BenchmarkRows::new(std::mem::take(&mut all.names));
                rows.separates = how.statistic == Statistic::Median;
                rows.with_lines = how.lines;
                for file in files {
                    let framing = rows.read(file, &options, diagnostics)?;
                    // Unreadable inputs are already reported.
                    if !diagnostics.has_errors() {
                        let why = why_incomplete(framing);
                        let why = why.map(|why| format!("{}: {why}", file.display()));
                        all.incomplete.extend(why);
                        let profiles = rows.all.iter().map(|rows| &rows.profile);
                        check_snapshot(side.snapshot, profiles, file, diagnostics);
                    }
                }
                let name = side.files_name(files);
                let (mut names, read) = rows.finish();
                let mut benchmarks = Vec::new();
                for rows in totals_together(read)? {
                    let benchmark = rows.input(&mut names, &name, files.len(), how);
                    benchmarks.push(benchmark.with_context(|| name.clone())?);
                }
                all.names = names;
                all.inputs.push(Input {
                    side: number,
                    name,
                    benchmarks,
                });
            }
        }
        Ok(all)
    }

    /// Returns the benchmarks to compare separately, in the order of the inputs; `None` if no input has several.
    pub(crate) fn benchmarks(&self) -> Option<Vec<Option<String>>> {
        self.inputs
            .iter()
            .find(|input| input.benchmarks.len() > 1)?;
        let mut names = Vec::new();
        for benchmark in self.inputs.iter().flat_map(|input| &input.benchmarks) {
            if !names.contains(&benchmark.bench) {
                names.push(benchmark.bench.clone());
            }
        }
        Some(names)
    }

    /// Returns a message for each input without this benchmark.
    pub(crate) fn missing(&self, bench: Option<&str>) -> Vec<String> {
        let lacks = |input: &&Input| {
            let mut benchmarks = input.benchmarks.iter();
            !benchmarks.any(|benchmark| benchmark.bench.as_deref() == bench)
        };
        let inputs = self.inputs.iter().filter(lacks);
        let wanted = match bench {
            Some(bench) => format!("no result for {bench}"),
            None => "no result without a label bench".to_owned(),
        };
        inputs
            .map(|input| {
                format!(
                    "{}: there is {wanted}; --allow-missing accepts this; --statistic sum with --before and --after adds up all benchmarks",
                    input.name
                )
            })
            .collect()
    }

    /// Moves the runs of one benchmark out. All inputs must have it.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn take_benchmark(
        &mut self,
        bench: Option<&str>,
        sides: &[Side],
        how: &ReadOptions,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Runs> {
        self.take(sides, how, diagnostics, |input| {
            input.bench.as_deref() == bench
        })
    }

    /// Moves all runs out, if no input has several benchmarks.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn take_all(
        &mut self,
        sides: &[Side],
        how: &ReadOptions,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Runs> {
        self.take(sides, how, diagnostics, |_| true)
    }

    fn take(
        &mut self,
        sides: &[Side],
        how: &ReadOptions,
        diagnostics: &mut Diagnostics,
        is_wanted: impl Fn(&InputBenchmark) -> bool,
    ) -> anyhow::Result<Runs> {
        let mut wanted = Vec::new();
        for input in &mut self.inputs {
            let position = input.benchmarks.iter().position(&is_wanted);
            let benchmark = position.map(|position| input.benchmarks.swap_remove(position));
            wanted.extend(benchmark.map(|benchmark| (input.side, benchmark)));
        }
        let names = std::mem::take(&mut self.names);
        let mut runs = Runs::from_inputs(names, wanted, sides, how, diagnostics)?;
        runs.incomplete.clone_from(&self.incomplete);
        runs.files_read.clone_from(&self.files_read);
        Ok(runs)
    }
}

/// A sink that adds the rows of each benchmark to a profile of its own.
pub(crate) struct BenchmarkRows {
    all: Vec<ReadRows>,
    /// The position of the benchmark that rows belong to. Only its profile has the names.
    current: usize,
    /// True if benchmarks are separated.
    pub(crate) separates: bool,
    pub(crate) with_lines: bool,
    /// The number of records since the last `run`.
    records: u64,
    last: Option<RecordType>,
}

/// The rows of a benchmark, and facts about its input.
#[derive(Default)]
pub(crate) struct ReadRows {
    bench: Option<String>,
    pub(crate) profile: Profile,
    /// The types of the records.
    types: BTreeSet<RecordType>,
    /// True if functions of some file have no chains.
    lacks_chains: bool,
    /// True if a filter removed records: `end` has the number of records before filtering.
    is_filtered: bool,
}

impl BenchmarkRows {
    /// Creates a sink that adds its names to `names`.
    pub(crate) fn new(names: Names) -> BenchmarkRows {
        BenchmarkRows {
            all: vec![ReadRows {
                profile: Profile::continuing(names),
                ..ReadRows::default()
            }],
            current: 0,
            separates: true,
            with_lines: true,
            records: 0,
            last: None,
        }
    }

    /// Reads one file.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn read(
        &mut self,
        file: &Path,
        options: &cg_parse::Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Framing> {
        let diffs =
            |all: &[ReadRows]| -> usize { all.iter().map(|rows| rows.profile.diffs().len()).sum() };
        let before = diffs(&self.all);
        self.last = None;
        for rows in &mut self.all {
            rows.types.clear();
        }
        let framing = cg_parse::stream::read(file, options, diagnostics, self)?;
        for rows in &mut self.all {
            let has = |kind| rows.types.contains(&kind);
            rows.lacks_chains |= has(RecordType::Fn) && !has(RecordType::Inline);
        }
        if diffs(&self.all) > before {
            diagnostics.error(format!(
                "{}: the input is already a comparison; give the profiles that were compared",
                file.display()
            ));
        }
        Ok(framing)
    }

    /// Returns the names, and the benchmarks in the order of the input.
    pub(crate) fn finish(mut self) -> (Names, Vec<ReadRows>) {
        let names = self.all[self.current].profile.take_names();
        (names, self.all)
    }

    fn current(&mut self) -> &mut ReadRows {
        &mut self.all[self.current]
    }

    fn note(&mut self, kind: RecordType) {
        // Records of one type are adjacent, so the set rarely changes.
        if self.last != Some(kind) {
            self.last = Some(kind);
            self.current().types.insert(kind);
        }
    }

    /// Makes the benchmark of a run current.
    fn choose(&mut self, run: &RunRecord) {
        let bench = run.sampling.labels.get("bench");
        let is_first = self.all.len() == 1 && self.all[0].types.is_empty();
        if is_first {
            self.all[0].bench = bench.cloned();
        }
        if !self.separates || self.all[self.current].bench.as_ref() == bench {
            return;
        }
        let known = self
            .all
            .iter()
            .position(|rows| rows.bench.as_ref() == bench);
        let chosen = known.unwrap_or_else(|| {
            self.all.push(ReadRows {
                bench: bench.cloned(),
                ..ReadRows::default()
            });
            self.all.len() - 1
        });
        let names = self.current().profile.take_names();
        self.current = chosen;
        self.last = None;
        self.current().profile.put_names(names);
    }
}

impl RowSink for BenchmarkRows {
    fn run(&mut self, run: &RunRecord) -> Result<(), cg_stream::Error> {
        self.choose(run);
        self.note(RecordType::Run);
        self.records = 0;
        self.current().profile.run(run)
    }

    fn expect(&mut self, kind: RecordType, rows: usize) {
        self.current().profile.expect(kind, rows);
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), cg_stream::Error> {
        self.note(row.kind());
        self.records += 1;
        match self.wants(row.kind()) {
            true => self.current().profile.row(row, tables),
            false => Ok(()),
        }
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), cg_stream::Error> {
        self.note(RecordType::Diff);
        self.current().profile.diff(record)
    }

    fn end(&mut self, records: u64) -> Result<(), cg_stream::Error> {
        self.note(RecordType::End);
        let is_filtered = self.records < records;
        let rows = self.current();
        rows.is_filtered |= is_filtered;
        rows.profile.end(records)
    }

    fn wants(&self, kind: RecordType) -> bool {
        kind != RecordType::Line || self.with_lines
    }
}

/// Puts benchmarks that have only totals together. Totals are separated later, by benchmark and tool.
fn totals_together(all: Vec<ReadRows>) -> anyhow::Result<Vec<ReadRows>> {
    if all.len() < 2 || !all.iter().all(ReadRows::has_only_totals) {
        return Ok(all);
    }
    let mut together = ReadRows::default();
    for run in all.iter().flat_map(|rows| rows.profile.runs()) {
        together.profile.run(run)?;
    }
    Ok(vec![together])
}

impl ReadRows {
    fn has_only_totals(&self) -> bool {
        let profile = &self.profile;
        profile.types().next().is_none()
            && profile.snapshots().is_empty()
            && profile.diffs().is_empty()
    }

    /// Completes the profile, which was read from `files` files.
    fn input(
        self,
        names: &mut Names,
        name: &str,
        files: usize,
        how: &ReadOptions,
    ) -> anyhow::Result<InputBenchmark> {
        let mut profile = self.profile;
        profile.put_names(std::mem::take(names));
        derive(&mut profile, &how.limited)?;
        let leaks = SeenFile::new(
            &profile,
            name.to_owned(),
            self.is_filtered,
            how.allow_fragment,
        );
        let is_sampled = is_sampled(&profile);
        let heap = how
            .by_function
            .then(|| profile.table(RecordType::Heap).clone());
        if how.by_function || (how.stacks_by_function && has_only_stacks(&profile)) {
            profile = profile.by_function()?;
        }
        // If only some files of a sum have inline chains, the chains do not add up to its functions.
        let are_known_in_part = self.lacks_chains && files > 1;
        let has_any = !profile.table(RecordType::Inline).is_empty() && how.functions;
        let has_chains = has_any && !are_known_in_part;
        let chains = InputChains::new(name.to_owned(), has_chains, &profile);
        *names = profile.take_names();
        Ok(InputBenchmark {
            bench: self.bench,
            profile,
            heap,
            is_sampled,
            chains,
            has_chains_in_part: has_any && are_known_in_part,
            leaks,
        })
    }
}

/// Checks the sums, and adds limited events that can be derived from the profile's events.
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
            "{event} is a ratio, which does not add up; limit a count instead"
        );
        profile.derive(event, &formula.sum)?;
    }
    Ok(())
}

/// Reports an error if an input has no records of the wanted snapshot.
fn check_snapshot<'p>(
    snapshots: Snapshots,
    mut profiles: impl Iterator<Item = &'p Profile>,
    file: &Path,
    diagnostics: &mut Diagnostics,
) {
    if let Snapshots::Number(number) = snapshots
        && profiles.any(|profile| lacks_snapshot(profile, number))
    {
        diagnostics.error(format!(
            "{}: there are no heap records of snapshot {number}; give the massif.out file itself, or write the stream with cg-parse --snapshots {number}",
            file.display()
        ));
    }
}

fn has_only_stacks(profile: &Profile) -> bool {
    profile.types().eq([RecordType::Stack])
}

/// Returns true if the profile is sampled: it has only stacks, each with a number of samples.
fn is_sampled(profile: &Profile) -> bool {
    has_only_stacks(profile) && profile.event(SAMPLES).is_some()
}

/// Returns true if a Massif stream lacks the heap records of a snapshot. An empty snapshot has no records.
fn lacks_snapshot(profile: &Profile, number: u64) -> bool {
    let heap = profile.table(RecordType::Heap);
    let has_records = (0..heap.len()).any(|record| heap.key(record).snapshot == Some(number));
    let was_empty =
        |snapshot: &SnapshotRecord| snapshot.snapshot == number && snapshot.heap_bytes == 0;
    !has_records && !profile.snapshots().is_empty() && !profile.snapshots().iter().any(was_empty)
}

/// Returns the reason why an input is no basis for a verdict; `None` if it is one.
fn why_incomplete(framing: Framing) -> Option<&'static str> {
    match framing.completeness() {
        Completeness::Whole | Completeness::CutShort => None,
        Completeness::Fragment => {
            Some("the input is a fragment without run and end records; --allow-fragment accepts it")
        }
        Completeness::Empty => Some("the input is empty; --allow-fragment accepts it"),
    }
}
