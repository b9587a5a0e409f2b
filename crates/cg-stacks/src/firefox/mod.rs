//! Profiles of the Firefox Profiler: written by samply, by the profiler's web page, by Firefox itself, and by other tools
//! that write its format (`perf script report gecko`, Python).
//!
//! A profile is a JSON object of tables. In the *processed* format a table has a list for each column. Profiles of Firefox
//! itself have a list for each row, and a schema. The set of columns, and the tables that threads share, changed with nearly
//! every version (`docs-developer/CHANGELOG-formats.md` there). The reader reads the columns that exist and ignores the
//! version.
//!
//! - `samples` is the sum of the weights. A sample without a weight counts as 1. Weights of another type (`bytes`,
//!   `tracing-ms`) are a separate event. samply adds the time that a thread was not running to the weight of its last stack.
//! - `cpu` is the sum of the threads' CPU deltas, in the unit of the profile. It includes the first delta of a thread, which
//!   is the CPU time before its first sample.
//! - `jsAllocations` and `nativeAllocations` are in bytes. Freed memory is negative.
//! - A sample without a stack has an empty stack.
//! - Names of unnamed frames are looked up in the file that samply writes next to the profile, and in the objects; see
//!   `symbols`.

use std::collections::BTreeMap;

use cg_reader::json::{self, NotInList, Scanner, bytes_or_empty, non_empty_string};
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

/// Returns true if a document is a profile. It has threads, which come last, or keys in `meta` that only profiles have.
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
        b"threads" | b"processes" if value.expect(b'[').is_ok() => {
            value.has_any_key(&KEYS_OF_THREAD).then_some(true)
        }
        b"profile" => Some(has_keys_of_profile(value)),
        b"meta" => value.has_any_key(&KEYS_OF_META).then_some(true),
        _ => None,
    })
}

/// Reads a profile of the Firefox Profiler: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let document: FirefoxDocument = json::read(&text)?;
    let document = document.profile.as_deref().unwrap_or(&document);
    let meta = document
        .meta
        .as_ref()
        .ok_or_else(|| Error::whole("expected a profile with \"meta\", found none"))?;
    let mut stacks = FirefoxStacks {
        options: reading.options,
        table: StackTable::default(),
        run: run_record(reading.run("firefox"), meta),
        rounded: 0,
    };
    let read = stacks.document(document, reading);
    reading.warn_count(
        stacks.rounded,
        "fractional count was rounded; the error of each sum is less than 1",
        "fractional counts were rounded; the error of each sum is less than 1",
    );
    write(stacks.run, &stacks.table, read, reading.out)
}

fn run_record(mut run: RunRecord, meta: &Meta) -> RunRecord {
    run.creator = non_empty_string(&meta.imported_from);
    run.command = non_empty_string(&meta.arguments);
    let units = meta.sample_units.as_ref();
    if let Some(unit) = units.and_then(|units| non_empty_string(&units.thread_cpu_delta)) {
        run.sampling.units.insert("cpu".to_owned(), unit);
    }
    let interval = meta.interval.filter(|interval| *interval > 0.0);
    run.sampling.sample_rate = interval.and_then(|interval| samples_a_second(1000.0 / interval));
    for (key, text) in [
        ("product", non_empty_string(&meta.product)),
        ("oscpu", non_empty_string(&meta.oscpu)),
    ] {
        if let Some(text) = text {
            run.sampling.labels.insert(key.to_owned(), text);
        }
    }
    run
}

/// The state of reading a profile.
struct FirefoxStacks<'o> {
    options: &'o Options,
    table: StackTable,
    run: RunRecord,
    /// The number of counts that were not integers.
    rounded: u64,
}

/// The event of a table's weights, with its unit and the factor of the weights.
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
        // Shared tables are converted once.
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

    /// Looks up names in those objects of the profile that exist in the profiled build.
    fn look_up(
        &self,
        symbols: &mut SidecarSymbols,
        document: &FirefoxDocument,
    ) -> Result<(), Error> {
        let search = &self.options.search;
        let objects = symbols::find_objects(&document.libs, search);
        if objects.is_empty() {
            return Ok(());
        }
        let mut addresses = BTreeMap::new();
        for thread in &document.threads {
            let tables = DocumentTables::new(document, thread)?;
            self.frames(document, &tables, symbols)
                .collect_unnamed_addresses(&mut addresses)?;
            if !thread.has_tables() {
                // The tables are shared by all threads.
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
                let tables = DocumentTables::new(document, thread)?;
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

    /// Adds a thread to the run record.
    fn name_thread(&mut self, thread: &FirefoxThread) {
        let facts = ThreadFacts {
            pid: leading_number(thread.pid),
            process: non_empty_string(&thread.process_name),
            thread: leading_number(thread.tid),
            thread_name: non_empty_string(&thread.name),
            ..ThreadFacts::default()
        };
        if facts != ThreadFacts::default() {
            self.run.threads.push(facts);
        }
    }

    /// Adds the samples of a table.
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
            thread: self.table.text_unless_empty(bytes_or_empty(&thread.name))?,
            process: self
                .table
                .text_unless_empty(bytes_or_empty(&thread.process_name))?,
            pid: leading_number(thread.pid),
            ..StackKey::default()
        };
        let mut weight_column = IntegerColumn::new(&weight, weights.factor, (name, "weight"));
        let mut cpu_column = IntegerColumn::new(&cpu, 1, (name, "threadCPUDelta"));
        let mut clock = (self.options.times).then(|| SampleClock::new(&times, &deltas, name));
        // Caches the row of each stack. The last entry is for samples without a stack.
        let mut rows: Vec<Option<StackKeyId>> = vec![None; stacks.count() + 1];
        for stack in stack {
            let known = match stack.get() {
                None => stacks.count(),
                // There is no such stack: `stacks.at` returns the error.
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

/// Reads the first sidecar file of the profile, if there is one.
fn add_sidecar(symbols: &mut SidecarSymbols, document: &FirefoxDocument, reading: &mut Reading) {
    for path in symbols::sidecars(reading.source) {
        let Ok(text) = std::fs::read(&path) else {
            continue;
        };
        if let Err(error) = symbols.add(&text, &document.libs) {
            let path = path.display().to_string();
            reading.diagnostics.warn(format!(
                "{}: the names in this file are ignored",
                error.in_file(&path)
            ));
        }
        return;
    }
}

/// Returns the event of a table's weights.
fn weights(name: &str, table: &ColumnTable) -> Weights {
    let kind = bytes_or_empty(&table.weight_type);
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

/// The times of samples, from a column of times or of differences.
struct SampleClock<'c> {
    times: IntegerColumn<'c>,
    deltas: IntegerColumn<'c>,
    now: Count,
}

impl<'c> SampleClock<'c> {
    fn new(times: &'c NumberColumn, deltas: &'c NumberColumn, table: &'c str) -> SampleClock<'c> {
        SampleClock {
            times: IntegerColumn::new(times, 1_000_000, (table, "time")),
            deltas: IntegerColumn::new(deltas, 1_000_000, (table, "timeDeltas")),
            now: 0,
        }
    }

    /// Returns the time of the next sample in ns; `None` if there are no times.
    fn next(&mut self) -> Result<Option<u64>, Error> {
        match (self.times.next()?, self.deltas.next()?) {
            (Some(time), _) => self.now = time,
            (None, Some(delta)) => self.now = self.now.saturating_add(delta),
            (None, None) => return Ok(None),
        }
        Ok(u64::try_from(self.now.max(0)).ok())
    }
}

/// A column of numbers, rounded to integers with a carry that preserves the sum.
struct IntegerColumn<'c> {
    numbers:
        Option<Box<dyn Iterator<Item = Result<Option<super::count::Decimal>, NotInList>> + 'c>>,
    factor: Count,
    carry: Carry,
    /// The table and the column.
    name: (&'c str, &'c str),
}

impl<'c> IntegerColumn<'c> {
    fn new(column: &'c NumberColumn, factor: Count, name: (&'c str, &'c str)) -> IntegerColumn<'c> {
        IntegerColumn {
            numbers: (!column.is_empty()).then(|| column.iter()),
            factor,
            carry: Carry::default(),
            name,
        }
    }

    /// Returns the next number; `None` for `null`, or if there is no column.
    fn next(&mut self) -> Result<Option<Count>, Error> {
        let (table, column) = self.name;
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
