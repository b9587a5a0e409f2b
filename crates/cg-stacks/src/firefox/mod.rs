//! Profiles of the Firefox Profiler: samply's, those that the profiler's web page saves, Firefox's own, and those of other
//! tools that write its format (`perf script report gecko`, Python).
//!
//! A profile is one JSON object of tables. In the *processed* format a table has a list for each column, in that of Firefox
//! itself a list for each row and a schema. Which columns there are and whether they stand in each thread or are shared has
//! changed with nearly every version (`docs-developer/CHANGELOG-formats.md` there); what is there is read, so versions are
//! not asked for.
//!
//! - `samples` is the sum of the weights, 1 for each sample that has none; weights of another type (`bytes`, `tracing-ms`)
//!   are an event of that kind. samply gives the time that a thread was not running to its last stack as weight.
//! - `cpu` is the sum of the threads' CPU deltas, in the unit that the profile says. The first delta of a thread is what was
//!   used before its first sample; it counts too.
//! - `jsAllocations` and `nativeAllocations` are bytes, negative where they were freed.
//! - A sample without a stack is one whose stack is empty.
//! - Frames without a name are looked up in the file that samply writes beside the profile, and in the objects themselves;
//!   see `symbols`.

use std::collections::BTreeMap;

use cg_reader::json::{self, NotInList, Scanner, bytes_of, string_of};
use cg_reader::{Error, Head, Options, Reading};
use cg_stream::record::{Count, RunRecord, ThreadFacts};

use super::count::Carry;
use super::rate::samples_a_second;
use super::table::{StackKey, StackKeyId, StackTable};
use super::write::write;

mod columns;
mod document;
mod frames;
mod location;
mod symbols;

use columns::{DocumentTables, NumberColumn, SampleColumns, in_column, sample_columns};
use document::{ColumnTable, FirefoxDocument, FirefoxThread, Meta, leading_number};
use frames::{Frames, ThreadStacks};
use symbols::SidecarSymbols;

/// Whether a document is a profile: by its threads, which come after what else is in it, or by what a profile alone says of
/// itself.
pub fn is_profile(head: &Head) -> bool {
    has_keys_of_profile(Scanner::new(head.bytes))
}

/// Keys of `meta` that other formats do not have in theirs.
const KEYS_OF_META: [&[u8]; 4] = [
    b"preprocessedProfileVersion",
    b"stackwalk",
    b"sampleUnits",
    b"gcpoison",
];

/// Keys of a thread, and of the profile of another process.
const KEYS_OF_THREAD: [&[u8]; 6] = [
    b"samples",
    b"stackTable",
    b"frameTable",
    b"processType",
    b"registerTime",
    b"threads",
];

fn has_keys_of_profile(mut scanner: Scanner) -> bool {
    scanner.any_key(|key, mut value| match key {
        b"threads" | b"processes" if value.take(b'[') => {
            value.has_key_of(&KEYS_OF_THREAD).then_some(true)
        }
        b"profile" => Some(has_keys_of_profile(value)),
        b"meta" => value.has_key_of(&KEYS_OF_META).then_some(true),
        _ => None,
    })
}

/// Reads a profile of the Firefox Profiler: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let document: FirefoxDocument = json::read(&text)?;
    let document = document.profile.as_deref().unwrap_or(&document);
    let meta = document.meta.as_ref().ok_or_else(|| {
        Error::whole("expected a profile that says in \"meta\" what it is, found none")
    })?;
    let mut stacks = FirefoxStacks {
        options: reading.options,
        table: StackTable::default(),
        run: run_record(reading.run("firefox"), meta),
        rounded: 0,
    };
    let read = stacks.document(document, reading);
    reading.warn_of(
        stacks.rounded,
        "counts are fractions and were rounded; their sums are right to 1",
    );
    write(stacks.run, &stacks.table, read, reading.out)
}

fn run_record(mut run: RunRecord, meta: &Meta) -> RunRecord {
    run.creator = string_of(&meta.imported_from);
    run.command = string_of(&meta.arguments);
    let units = meta.sample_units.as_ref();
    if let Some(unit) = units.and_then(|units| string_of(&units.thread_cpu_delta)) {
        run.sampling.units.insert("cpu".to_owned(), unit);
    }
    let interval = meta.interval.filter(|interval| *interval > 0.0);
    run.sampling.sample_rate = interval.and_then(|interval| samples_a_second(1000.0 / interval));
    for (key, text) in [
        ("product", string_of(&meta.product)),
        ("oscpu", string_of(&meta.oscpu)),
    ] {
        if let Some(text) = text {
            run.sampling.labels.insert(key.to_owned(), text);
        }
    }
    run
}

/// A profile while it is read.
struct FirefoxStacks<'o> {
    options: &'o Options,
    table: StackTable,
    run: RunRecord,
    /// Counts that were no integers.
    rounded: u64,
}

/// The event of a table's weights, and what they are multiplied by.
struct Weights {
    event: String,
    unit: Option<&'static str>,
    factor: Count,
}

impl FirefoxStacks<'_> {
    fn document(&mut self, document: &FirefoxDocument, reading: &mut Reading) -> Result<(), Error> {
        let mut symbols = SidecarSymbols::default();
        if document.is_processed() {
            add_sidecar(&mut symbols, document, reading);
            self.look_up(&mut symbols, document)?;
        }
        // Tables that all threads share are walked once.
        let mut shared: Option<ThreadStacks> = None;
        for (number, thread) in document.threads.iter().enumerate() {
            let read = self.thread(document, thread, &symbols, &mut shared);
            read.map_err(|error| match error {
                Error::Malformed {
                    line: None,
                    message,
                } => Error::whole(format!("thread {number}: {message}")),
                other => other,
            })?;
        }
        for process in &document.processes {
            self.document(process, reading)?;
        }
        Ok(())
    }

    /// Looks names up in the objects of the profile, as far as they are there.
    fn look_up(
        &self,
        symbols: &mut SidecarSymbols,
        document: &FirefoxDocument,
    ) -> Result<(), Error> {
        let search = &self.options.search;
        let objects = symbols::found_objects(&document.libs, search);
        if objects.is_empty() {
            return Ok(());
        }
        let mut addresses = BTreeMap::new();
        for thread in &document.threads {
            let tables = DocumentTables::of(document, thread)?;
            self.frames(document, &tables, symbols)
                .unnamed(&mut addresses)?;
            if !thread.has_tables() {
                // All threads have these.
                break;
            }
        }
        symbols.look_up(&objects, &addresses, search);
        Ok(())
    }

    fn frames<'p, 'a>(
        &self,
        document: &'p FirefoxDocument<'a>,
        tables: &'p DocumentTables<'p, 'a>,
        symbols: &'p SidecarSymbols,
    ) -> Frames<'p, 'a> {
        Frames {
            tables,
            categories: document.categories(),
            symbols,
            is_demangled: self.options.demangle,
            has_return_addresses: !tables.frames.location.is_empty(),
        }
    }

    fn thread(
        &mut self,
        document: &FirefoxDocument,
        thread: &FirefoxThread,
        symbols: &SidecarSymbols,
        shared: &mut Option<ThreadStacks>,
    ) -> Result<(), Error> {
        self.name_thread(thread);
        let tables = [
            ("samples", &thread.samples),
            ("jsAllocations", &thread.js_allocations),
            ("nativeAllocations", &thread.native_allocations),
        ];
        let has_own = thread.has_tables();
        let own;
        let stacks = match shared {
            Some(stacks) if !has_own => &*stacks,
            _ => {
                let tables = DocumentTables::of(document, thread)?;
                let frames = self.frames(document, &tables, symbols);
                own = frames.stacks(&mut self.table)?;
                match has_own {
                    true => &own,
                    false => shared.insert(own),
                }
            }
        };
        for (name, table) in tables {
            if let Some(table) = table {
                self.samples(name, table, thread, stacks)?;
            }
        }
        Ok(())
    }

    /// Names a thread in the run record.
    fn name_thread(&mut self, thread: &FirefoxThread) {
        let facts = ThreadFacts {
            pid: leading_number(thread.pid),
            process: string_of(&thread.process_name),
            thread: leading_number(thread.tid),
            thread_name: string_of(&thread.name),
            ..ThreadFacts::default()
        };
        if facts != ThreadFacts::default() {
            self.run.threads.push(facts);
        }
    }

    /// Adds up the samples of a table.
    fn samples(
        &mut self,
        name: &str,
        table: &ColumnTable,
        thread: &FirefoxThread,
        stacks: &ThreadStacks,
    ) -> Result<(), Error> {
        let SampleColumns {
            stack,
            weight,
            cpu,
            times,
            deltas,
        } = sample_columns(name, table)?;
        if stack.is_empty() {
            return Ok(());
        }
        let weights = weights(name, table);
        let event = self.event(&weights.event, weights.unit);
        let cpu_event = match cpu.is_empty() {
            true => None,
            false => Some(self.event("cpu", None)),
        };
        let place = StackKey {
            thread: self.table.given(bytes_of(&thread.name))?,
            process: self.table.given(bytes_of(&thread.process_name))?,
            pid: leading_number(thread.pid),
            ..StackKey::default()
        };
        let mut weight_column = IntegerColumn::new(&weight, weights.factor, (name, "weight"));
        let mut cpu_column = IntegerColumn::new(&cpu, 1, (name, "threadCPUDelta"));
        let mut clock = (self.options.times).then(|| SampleClock::new(&times, &deltas, name));
        // Cache of the row of each stack that had a sample; the last entry is for samples without a stack.
        let mut rows: Vec<Option<StackKeyId>> = vec![None; stacks.count() + 1];
        for stack in stack {
            let known = match stack.get() {
                None => stacks.count(),
                // No such stack: `stacks.at` returns the error.
                Some(row) if row >= stacks.count() => usize::MAX,
                Some(row) => row,
            };
            let row = match (&mut clock, rows.get(known).copied().flatten()) {
                (None, Some(row)) => row,
                (clock, _) => {
                    let stack = stacks.at(stack)?;
                    let time = clock.as_mut().map(SampleClock::next).transpose()?.flatten();
                    let key = StackKey {
                        stack,
                        time,
                        ..place
                    };
                    let row = self.table.row(key)?;
                    rows[known] = Some(row);
                    row
                }
            };
            let count = weight_column.next()?.unwrap_or(weights.factor);
            self.table.add(row, event, count);
            if let Some(event) = cpu_event {
                let count = cpu_column.next()?.unwrap_or(0);
                self.table.add(row, event, count);
            }
        }
        self.rounded += weight_column.carry.rounded + cpu_column.carry.rounded;
        Ok(())
    }

    fn event(&mut self, name: &str, unit: Option<&str>) -> usize {
        if let Some(unit) = unit {
            self.run.sampling.set_unit(name, unit);
        }
        self.table.event(name)
    }
}

/// Reads the names that stand beside the profile, if there are any.
fn add_sidecar(symbols: &mut SidecarSymbols, document: &FirefoxDocument, reading: &mut Reading) {
    for path in symbols::sidecars(reading.source) {
        let Ok(text) = std::fs::read(&path) else {
            continue;
        };
        if let Err(error) = symbols.add(&text, &document.libs) {
            let path = path.display().to_string();
            reading.diagnostics.warn(format!(
                "{}: the names beside it are left out",
                error.in_file(&path)
            ));
        }
        return;
    }
}

/// What the weights of a table count.
fn weights(name: &str, table: &ColumnTable) -> Weights {
    let kind = bytes_of(&table.weight_type);
    let (event, unit, factor) = match (name, kind) {
        ("samples", b"" | b"samples") => ("samples".to_owned(), None, 1),
        ("samples", b"tracing-ms") => ("time".to_owned(), Some("ns"), 1_000_000),
        ("samples", b"bytes") => ("bytes".to_owned(), Some("bytes"), 1),
        ("samples", other) => (String::from_utf8_lossy(other).into_owned(), None, 1),
        (name, _) => (name.to_owned(), Some("bytes"), 1),
    };
    Weights {
        event,
        unit,
        factor,
    }
}

/// When samples were taken: times, or what lies between them.
struct SampleClock<'c> {
    times: IntegerColumn<'c>,
    deltas: IntegerColumn<'c>,
    now: Count,
}

impl<'c> SampleClock<'c> {
    fn new(times: &'c NumberColumn, deltas: &'c NumberColumn, of: &'c str) -> SampleClock<'c> {
        SampleClock {
            times: IntegerColumn::new(times, 1_000_000, (of, "time")),
            deltas: IntegerColumn::new(deltas, 1_000_000, (of, "timeDeltas")),
            now: 0,
        }
    }

    /// The time of the next sample in ns; `None` where there are no times.
    fn next(&mut self) -> Result<Option<u64>, Error> {
        match (self.times.next()?, self.deltas.next()?) {
            (Some(time), _) => self.now = time,
            (None, Some(delta)) => self.now = self.now.saturating_add(delta),
            (None, None) => return Ok(None),
        }
        Ok(u64::try_from(self.now.max(0)).ok())
    }
}

/// A column of numbers, as integers whose sum is the sum of the numbers.
struct IntegerColumn<'c> {
    numbers:
        Option<Box<dyn Iterator<Item = Result<Option<super::count::Decimal>, NotInList>> + 'c>>,
    factor: Count,
    carry: Carry,
    /// The table and the column.
    of: (&'c str, &'c str),
}

impl<'c> IntegerColumn<'c> {
    fn new(column: &'c NumberColumn, factor: Count, of: (&'c str, &'c str)) -> IntegerColumn<'c> {
        IntegerColumn {
            numbers: (!column.is_empty()).then(|| column.iter()),
            factor,
            carry: Carry::default(),
            of,
        }
    }

    /// The next number; `None` for `null`, and where there is no column.
    fn next(&mut self) -> Result<Option<Count>, Error> {
        let (table, column) = self.of;
        let Some(numbers) = &mut self.numbers else {
            return Ok(None);
        };
        let Some(number) = numbers.next() else {
            return Err(Error::whole(format!(
                "{table}.{column}: expected as many numbers as there are samples, found fewer"
            )));
        };
        let Some(number) = number.map_err(|bad| in_column(table, column, &bad))? else {
            return Ok(None);
        };
        let count = self.carry.add(number, self.factor);
        count
            .map(Some)
            .ok_or_else(|| Error::whole(format!("{table}.{column}: the sum is beyond 64 bits")))
    }
}

#[cfg(test)]
mod tests;
