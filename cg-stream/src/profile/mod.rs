//! A stream read into memory, its records added up by key: law 3, "concatenation is addition".
//!
//! This is what cg-diff compares and cg-fmt formats. Names are interned and counts lie in flat columns, so memory goes
//! with the number of distinct rows.

mod by_function;
mod key;
mod table;

pub use key::{FrameKey, FunctionKey, Key, StackId, Stacks, Symbol, Symbols};
pub use table::{Beside, Detail, Table};

use crate::intern::TooMany;
use crate::record::{
    CallRecord, Count, Counts, DiffRecord, ErrorRecord, FnRecord, Frame, HeapRecord, LeakRecord,
    LineRecord, Name, ProgramPointRecord, RecordType, RunRecord, SnapshotRecord, StackRecord,
};
use crate::{Error, Line};
use key::{callee_key, function_key, symbol};

/// The records of one or more streams, added up.
#[derive(Clone, Default)]
pub struct Profile {
    runs: Vec<RunRecord>,
    events: Vec<String>,
    total: Vec<Count>,
    symbols: Symbols,
    stacks: Stacks,
    tables: [Table; TABLES.len()],
    snapshots: Vec<SnapshotRecord>,
    diffs: Vec<DiffRecord<'static>>,
    unknown: u64,
}

/// The record types that are added up in tables.
const TABLES: [RecordType; 8] = [
    RecordType::Fn,
    RecordType::Line,
    RecordType::Call,
    RecordType::Leak,
    RecordType::Error,
    RecordType::Heap,
    RecordType::ProgramPoint,
    RecordType::Stack,
];

/// The interned names and stacks of profiles that are compared.
#[derive(Clone, Default)]
pub struct Names {
    /// Every distinct name.
    pub symbols: Symbols,
    /// Every distinct stack.
    pub stacks: Stacks,
}

impl Profile {
    /// An empty profile that adds its names to those of others, so that equal names have equal symbols in all of them.
    pub fn continuing(names: Names) -> Profile {
        Profile {
            symbols: names.symbols,
            stacks: names.stacks,
            ..Profile::default()
        }
    }

    /// Takes the names out, for the next profile to continue, or to hold those of several profiles once.
    pub fn take_names(&mut self) -> Names {
        Names {
            symbols: std::mem::take(&mut self.symbols),
            stacks: std::mem::take(&mut self.stacks),
        }
    }

    /// Adds a line of a stream.
    ///
    /// # Errors
    /// Where the line is not the record its `type` says.
    pub fn add(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let added = match line.kind {
            RecordType::Run => {
                self.add_run(line.parse()?);
                Ok(())
            }
            RecordType::Fn => self.add_fn(&line.parse()?),
            RecordType::Line => self.add_line(&line.parse()?),
            RecordType::Call => self.add_call(&line.parse()?),
            RecordType::Leak => self.add_leak(line.parse()?),
            RecordType::Error => self.add_error(line.parse()?),
            RecordType::Heap => self.add_heap(&line.parse()?),
            RecordType::ProgramPoint => self.add_program_point(line.parse()?),
            RecordType::Stack => self.add_stack(&line.parse()?),
            RecordType::Snapshot => {
                self.snapshots.push(line.parse()?);
                Ok(())
            }
            RecordType::Diff => {
                self.diffs.push(line.parse::<DiffRecord>()?.into_owned());
                Ok(())
            }
            RecordType::End => Ok(()),
            RecordType::Other => {
                self.unknown += 1;
                Ok(())
            }
        };
        added.map_err(|error| Error::at(line.number, error.to_string()))
    }

    /// The `run` records, in the order they came.
    pub fn runs(&self) -> &[RunRecord] {
        &self.runs
    }

    /// Event names: those of the `run` records in order, then others as records brought them.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// The position of an event in [`Profile::events`].
    pub fn event(&self, name: &str) -> Option<usize> {
        self.events.iter().position(|event| event == name)
    }

    /// The totals of all `run` records, added up, in the order of the events; all 0 in a fragment.
    pub fn total(&self) -> &[Count] {
        &self.total
    }

    /// The rows of a record type that adds up; empty for the others.
    pub fn table(&self, of: RecordType) -> &Table {
        static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::default);
        TABLES
            .iter()
            .position(|known| *known == of)
            .map_or(&EMPTY, |position| &self.tables[position])
    }

    /// The record types that have rows, in a fixed order.
    pub fn types(&self) -> impl Iterator<Item = RecordType> {
        TABLES.into_iter().filter(|of| !self.table(*of).is_empty())
    }

    /// Massif snapshots in the order they came.
    pub fn snapshots(&self) -> &[SnapshotRecord] {
        &self.snapshots
    }

    /// The records of a diff, in the order they came.
    pub fn diffs(&self) -> &[DiffRecord<'static>] {
        &self.diffs
    }

    /// How many records of types unknown to this version were left out.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The interned names.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// The interned stacks.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// The text of a name, if there is one.
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.symbols.text(symbol))
    }

    fn add_run(&mut self, run: RunRecord) {
        for event in &run.events {
            event_index(&mut self.events, event, 0);
        }
        if let Some(total) = run.total.one() {
            for (event, count) in total.iter() {
                let index = event_index(&mut self.events, event, 0);
                add_at(&mut self.total, index, count);
            }
        }
        if self.total.len() < self.events.len() {
            self.total.resize(self.events.len(), 0);
        }
        self.runs.push(run);
    }

    fn add_fn(&mut self, record: &FnRecord) -> Result<(), TooMany> {
        let key = Key {
            function: function_key(&mut self.symbols, &record.name, &record.file, &record.obj)?,
            part: record.part,
            thread: record.thread,
            ..Key::default()
        };
        let row = self.add_counts(RecordType::Fn, key, &record.cost, &record.incl)?;
        let table = self.table_mut(RecordType::Fn);
        table.add_calls(row, record.calls);
        table.set_cycle(row, record.cycle);
        Ok(())
    }

    fn add_line(&mut self, record: &LineRecord) -> Result<(), TooMany> {
        let key = Key {
            function: function_key(&mut self.symbols, &record.name, &record.file, &record.obj)?,
            line: Some(record.line),
            addr: symbol(&mut self.symbols, &record.addr)?,
            part: record.part,
            thread: record.thread,
            ..Key::default()
        };
        self.add_counts(RecordType::Line, key, &record.cost, &record.incl)?;
        Ok(())
    }

    fn add_call(&mut self, record: &CallRecord) -> Result<(), TooMany> {
        let key = Key {
            function: function_key(&mut self.symbols, &record.name, &record.file, &record.obj)?,
            site: symbol(&mut self.symbols, &record.site)?,
            line: Some(record.line),
            callee: Some(callee_key(&mut self.symbols, &record.callee)?),
            part: record.part,
            thread: record.thread,
            ..Key::default()
        };
        let row = self.add_counts(RecordType::Call, key, &Counts::default(), &record.incl)?;
        self.table_mut(RecordType::Call)
            .add_calls(row, record.calls);
        Ok(())
    }

    fn add_leak(&mut self, record: LeakRecord) -> Result<(), TooMany> {
        let kind = Some(self.symbols.intern(&record.kind)?);
        let place = self.place(
            &record.name,
            &record.file,
            &record.obj,
            record.line,
            &record.stack,
        )?;
        let row = self.add_counts(
            RecordType::Leak,
            Key { kind, ..place },
            &record.cost,
            &Counts::default(),
        )?;
        let beside = Beside {
            indirect_bytes: Some(record.indirect_bytes.into()),
            ..Beside::default()
        };
        let detail = Detail {
            suppression: record.suppression.map(Name::into_owned),
            pid: record.pid,
            ..Detail::default()
        };
        let table = self.table_mut(RecordType::Leak);
        table.add_beside(row, beside);
        table.add_detail(row, detail);
        Ok(())
    }

    fn add_error(&mut self, record: ErrorRecord) -> Result<(), TooMany> {
        let kind = Some(self.symbols.intern(&record.kind)?);
        let what = Some(self.symbols.intern(&record.what)?);
        let place = self.place(
            &record.name,
            &record.file,
            &record.obj,
            record.line,
            &record.stack,
        )?;
        let row = self.add_counts(
            RecordType::Error,
            Key {
                kind,
                what,
                ..place
            },
            &record.cost,
            &Counts::default(),
        )?;
        let detail = Detail {
            notes: record
                .notes
                .into_iter()
                .map(crate::record::Note::into_owned)
                .collect(),
            thread: record.thread,
            thread_name: record.thread_name.map(Name::into_owned),
            suppression: record.suppression.map(Name::into_owned),
            pid: record.pid,
            accesses: None,
        };
        self.table_mut(RecordType::Error).add_detail(row, detail);
        Ok(())
    }

    fn add_heap(&mut self, record: &HeapRecord) -> Result<(), TooMany> {
        let place = self.place(
            &record.name,
            &record.file,
            &record.obj,
            record.line,
            &record.stack,
        )?;
        let key = Key {
            snapshot: Some(record.snapshot),
            ..place
        };
        let row = self.add_counts(RecordType::Heap, key, &record.cost, &Counts::default())?;
        let places = record.places.map(Count::from);
        self.table_mut(RecordType::Heap).add_beside(
            row,
            Beside {
                places,
                is_peak: record.peak,
                ..Beside::default()
            },
        );
        Ok(())
    }

    fn add_program_point(&mut self, record: ProgramPointRecord) -> Result<(), TooMany> {
        let key = self.place(
            &record.name,
            &record.file,
            &record.obj,
            record.line,
            &record.stack,
        )?;
        let row = self.add_counts(
            RecordType::ProgramPoint,
            key,
            &record.cost,
            &Counts::default(),
        )?;
        let beside = Beside {
            max_bytes: record.max_bytes.map(Count::from),
            max_blocks: record.max_blocks.map(Count::from),
            lifetime: record.lifetime.map(Count::from),
            ..Beside::default()
        };
        let table = self.table_mut(RecordType::ProgramPoint);
        table.add_beside(row, beside);
        table.add_detail(
            row,
            Detail {
                accesses: record.accesses,
                ..Detail::default()
            },
        );
        Ok(())
    }

    fn add_stack(&mut self, record: &StackRecord) -> Result<(), TooMany> {
        let key = self.place(
            &record.name,
            &record.file,
            &record.obj,
            record.line,
            &record.stack,
        )?;
        self.add_counts(RecordType::Stack, key, &record.cost, &Counts::default())?;
        Ok(())
    }

    /// The part of a key that all records with a stack share.
    fn place(
        &mut self,
        name: &Option<Name>,
        file: &Option<Name>,
        obj: &Option<Name>,
        line: Option<u64>,
        stack: &[Frame],
    ) -> Result<Key, TooMany> {
        Ok(Key {
            function: function_key(&mut self.symbols, name, file, obj)?,
            line,
            stack: Some(self.stacks.intern(stack, &mut self.symbols)?),
            ..Key::default()
        })
    }

    /// Adds counts to the row of a key, and returns the row.
    fn add_counts(
        &mut self,
        of: RecordType,
        key: Key,
        cost: &Counts,
        incl: &Counts,
    ) -> Result<usize, TooMany> {
        let table = &mut self.tables[table_index(of)];
        let row = table.row(key)?;
        for (position, (event, count)) in cost.iter().enumerate() {
            table.add_cost(row, event_index(&mut self.events, event, position), count);
        }
        for (position, (event, count)) in incl.iter().enumerate() {
            table.add_incl(row, event_index(&mut self.events, event, position), count);
        }
        Ok(row)
    }

    fn table_mut(&mut self, of: RecordType) -> &mut Table {
        &mut self.tables[table_index(of)]
    }
}

fn table_index(of: RecordType) -> usize {
    TABLES
        .iter()
        .position(|known| *known == of)
        .expect("only called with the types in TABLES")
}

/// The position of an event, new or known. Events mostly come in their own order, so the search begins at `hint`.
fn event_index(events: &mut Vec<String>, event: &str, hint: usize) -> usize {
    let from_hint = events
        .iter()
        .skip(hint)
        .position(|known| known == event)
        .map(|position| position + hint);
    from_hint
        .or_else(|| events.iter().position(|known| known == event))
        .unwrap_or_else(|| {
            events.push(event.to_owned());
            events.len() - 1
        })
}

fn add_at(counts: &mut Vec<Count>, index: usize, count: Count) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += count;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    fn profile(text: &str) -> Profile {
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        profile
    }

    #[test]
    fn equal_keys_add_up_whatever_their_events() {
        let profile = profile(concat!(
            "{\"type\":\"run\",\"events\":[\"Ir\"],\"total\":{\"Ir\":3}}\n",
            "{\"type\":\"fn\",\"fn\":\"f\",\"file\":\"a.c\",\"calls\":1,\"cost\":{\"Ir\":3},\"incl\":{\"Ir\":4}}\n",
            "{\"type\":\"run\",\"events\":[\"Dr\",\"Ir\"],\"total\":{\"Dr\":7,\"Ir\":5}}\n",
            "{\"type\":\"fn\",\"fn\":\"f\",\"file\":\"a.c\",\"calls\":2,\"cost\":{\"Dr\":7,\"Ir\":5},\"incl\":{\"Ir\":6}}\n",
            "{\"type\":\"fn\",\"fn\":\"f\",\"file\":\"b.c\",\"calls\":0,\"cost\":{}}\n",
        ));
        assert_eq!(profile.events(), ["Ir", "Dr"]);
        assert_eq!(profile.total(), [8, 7]);
        let functions = profile.table(RecordType::Fn);
        assert_eq!(functions.len(), 2);
        assert_eq!((functions.calls(0), functions.cost(0)), (3, &[8, 7][..]));
        assert_eq!(functions.incl(0).map(|incl| incl[0]), Some(10));
        assert_eq!(functions.incl(1), None);
        assert_eq!(profile.text(functions.key(1).function.file), Some("b.c"));
    }

    #[test]
    fn leaks_of_two_processes_are_one_row() {
        let leak = |pid: u64, addr: &str| {
            format!(
                "{{\"type\":\"leak\",\"fn\":\"make\",\"kind\":\"definite\",\"cost\":{{\"bytes\":16,\"blocks\":1}},\"indirect_bytes\":2,\"pid\":{pid},\"stack\":[{{\"fn\":\"malloc\",\"addr\":\"{addr}\"}},{{\"fn\":\"make\",\"line\":3}}]}}\n"
            )
        };
        let profile = profile(&(leak(1, "0x10") + &leak(2, "0x20")));
        let leaks = profile.table(RecordType::Leak);
        assert_eq!(leaks.len(), 1);
        assert_eq!(leaks.cost(0), [32, 2]);
        assert_eq!(leaks.beside(0).indirect_bytes, Some(4));
        assert_eq!(leaks.detail(0).and_then(|detail| detail.pid), None);
        let stack = leaks.key(0).stack.unwrap();
        assert_eq!(profile.stacks().frames(stack).len(), 2);
    }
}
