//! A stream read into memory, its records added up by key: law 3, "concatenation is addition".
//!
//! This is what cg-diff compares and cg-fmt formats. Names are interned and counts lie in flat columns, so memory goes
//! with the number of distinct rows. Sums are exact: one that 64 bits cannot hold is an error of the line that made it.

mod adding;
mod by_function;
mod by_innermost;
mod derived;
mod key;
mod of_calls;
mod order;
mod rows;
mod run;
mod sum;
mod table;
mod told_places;

pub use by_innermost::InlinedFunctions;
pub use key::{FrameKey, FunctionKey, Key, StackFrames, StackId, Stacks, Symbol, Symbols};
pub use table::{Detail, Numbers, OtherNumbers, Rows};
pub use told_places::{PlaceFrame, ToldPlaces, UntoldPlaces};

use crate::record::{
    CauseRecord, Count, Counts, DiffRecord, Frame, RecordType, RunRecord, SharedTexts,
    SnapshotRecord, add_counts,
};
use crate::rows::{Row, RowSink, RowTables, hand_over};
use crate::{Error, Line};
use adding::{Adding, LookedUp};
use rows::{TABLES, table_index};
use sum::add_exact;
use table::event_index;

/// The records of one or more streams, added up.
///
/// ```
/// use cg_stream::Reader;
/// use cg_stream::profile::Profile;
/// use cg_stream::record::RecordType;
///
/// # fn main() -> Result<(), cg_stream::Error> {
/// let run = concat!(
///     r#"{"type":"run","stream":1,"events":["Ir"],"total":{"Ir":42}}"#, "\n",
///     r#"{"type":"fn","fn":"main","calls":1,"cost":{"Ir":42}}"#, "\n",
///     r#"{"type":"end","records":1}"#, "\n",
/// );
/// let mut profile = Profile::default();
/// // Two runs of one program are the sum of both.
/// for stream in [run, run] {
///     let mut reader = Reader::new(stream.as_bytes());
///     while let Some(line) = reader.next_line()? {
///         profile.add(&line)?;
///     }
/// }
/// let functions = profile.table(RecordType::Fn);
/// assert_eq!(functions.len(), 1);
/// assert_eq!(profile.text(functions.key(0).function.name), Some("main"));
/// assert_eq!((functions.calls(0), functions.cost(0)), (2, &[84][..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Profile {
    runs: Vec<RunRecord>,
    events: Vec<String>,
    /// How many of the events the `run` records name; they come first.
    run_events: usize,
    total: Vec<Count>,
    names: Names,
    tables: [Rows; TABLES.len()],
    snapshots: Vec<SnapshotRecord>,
    diffs: Vec<DiffRecord<'static>>,
    causes: Vec<CauseRecord<'static>>,
    diff_texts: SharedTexts,
    unknown: u64,
    /// How many records came, and how many their `end` records count.
    records: u64,
    written: u64,
    known: LookedUp,
}

/// The interned names and stacks of profiles that are compared.
#[derive(Clone, Default)]
pub struct Names {
    /// Every distinct name.
    pub symbols: Symbols,
    /// Every distinct stack.
    pub stacks: Stacks,
}

impl Names {
    /// A frame of a stack, at this address. All frames that are made of ids are made here.
    pub fn frame(&self, frame: &FrameKey, addr: Option<Symbol>) -> Frame<'_> {
        Frame {
            line: frame.line,
            site: self.symbols.name(frame.site),
            addr: self.symbols.name(addr),
            ..frame.function.frame(&self.symbols).with_marks(frame.marks)
        }
    }

    /// The frames of a stack, innermost first.
    pub fn stack(&self, stack: StackId) -> impl Iterator<Item = Frame<'_>> {
        let frames = self.stacks.frames(stack).iter();
        frames
            .zip(self.stacks.addresses(stack))
            .map(|(frame, addr)| self.frame(frame, addr))
    }
}

impl Profile {
    /// An empty profile that adds its names to those of others, so that equal names have equal symbols in all of them.
    pub fn continuing(names: Names) -> Profile {
        Profile {
            names,
            ..Profile::default()
        }
    }

    /// Takes the names out, for the next profile to continue, or to hold those of several profiles once.
    pub fn take_names(&mut self) -> Names {
        std::mem::take(&mut self.names)
    }

    /// Gives back the names that were taken out, so that records can be added again.
    pub fn put_names(&mut self, names: Names) {
        self.names = names;
    }

    /// Adds a line of a stream.
    ///
    /// # Errors
    /// Where the line is not the record its `type` says, and where a sum is beyond 64 bits with it.
    pub fn add(&mut self, line: &Line<'_>) -> Result<(), Error> {
        hand_over(line, self)
    }

    /// Checks, once everything is added, that the self cost of all records of each type fits in 64 bits, as that of
    /// each row does. Then sums over some of the rows need no check.
    ///
    /// # Errors
    /// Where they cannot, with the event.
    pub fn check_sums(&self) -> Result<(), Error> {
        for table in &self.tables {
            let mut sums = vec![0; self.events.len()];
            for row in 0..table.len() {
                add_counts(&mut sums, table.cost(row));
            }
            for (sum, event) in sums.into_iter().zip(&self.events) {
                add_exact(&mut 0, sum).map_err(|beyond| beyond.of(event))?;
            }
        }
        Ok(())
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
    pub fn table(&self, of: RecordType) -> &Rows {
        static EMPTY: std::sync::LazyLock<Rows> = std::sync::LazyLock::new(Rows::default);
        table_index(of).map_or(&EMPTY, |table| &self.tables[table])
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

    /// Where the difference of a diff's totals comes from, in the order the records came.
    pub fn causes(&self) -> &[CauseRecord<'static>] {
        &self.causes
    }

    /// How many records of types unknown to this version were left out.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Whether a filter took records out of what was read: `end` counts those that were written.
    pub fn is_filtered(&self) -> bool {
        self.records < self.written
    }

    /// The interned names.
    pub fn symbols(&self) -> &Symbols {
        &self.names.symbols
    }

    /// The interned names and stacks.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The interned stacks.
    pub fn stacks(&self) -> &Stacks {
        &self.names.stacks
    }

    /// The text of a name, if there is one.
    #[inline]
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.names.symbols.text(symbol))
    }

    /// Inserts an event after the events that `run` records name, and before those known from records alone, which came
    /// before their `run`.
    fn add_run_event(&mut self, event: &str) {
        let index = event_index(&mut self.events, event, 0);
        if index < self.run_events {
            return;
        }
        if index > self.run_events {
            let mut order: Vec<usize> = (0..self.events.len()).collect();
            order[self.run_events..=index].rotate_right(1);
            self.events[self.run_events..=index].rotate_right(1);
            self.total.resize(self.events.len(), 0);
            self.total[self.run_events..=index].rotate_right(1);
            for table in &mut self.tables {
                table.reorder(&order);
            }
        }
        self.run_events += 1;
    }
}

impl RowSink for Profile {
    fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
        for event in &run.events {
            self.add_run_event(event);
        }
        self.total.resize(self.events.len(), 0);
        for (event, count) in run.total.one().into_iter().flat_map(Counts::iter) {
            let index = event_index(&mut self.events, event, 0);
            self.total.resize(self.events.len(), 0);
            add_exact(&mut self.total[index], count).map_err(|beyond| beyond.of(event))?;
        }
        let position = |event| event_index(&mut self.events, event, 0);
        self.known.events = run
            .events
            .iter()
            .map(|event| event.as_str())
            .map(position)
            .collect();
        self.runs.push(run.clone());
        Ok(())
    }

    fn expect(&mut self, of: RecordType, rows: usize) {
        if let Some(table) = table_index(of) {
            self.tables[table].reserve(rows, self.events.len());
        }
        match of.has_stack() {
            true => self.names.stacks.reserve(rows),
            false => self.names.symbols.reserve(rows),
        }
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error> {
        self.records += 1;
        let Profile {
            names,
            events,
            known,
            ..
        } = self;
        let mut adding = Adding::new(names, events, known, tables);
        if rows::add(row, &mut adding, &mut self.tables)? {
            return Ok(());
        }
        match row {
            Row::Snapshot(record) => self.snapshots.push((*record).clone()),
            Row::Cause(record) => {
                (self.causes).push((*record).clone().shared(&mut self.diff_texts))
            }
            Row::Unread(RecordType::Other) => self.unknown += 1,
            _ => {}
        }
        Ok(())
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        self.records += 1;
        self.diffs.push(record.shared(&mut self.diff_texts));
        Ok(())
    }

    fn end(&mut self, records: u64) -> Result<(), Error> {
        self.written = self.written.saturating_add(records);
        Ok(())
    }
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
        assert_eq!(leaks.numbers().indirect_bytes.get(0), Some(4));
        assert_eq!(leaks.detail(0).and_then(|detail| detail.pid), None);
        let stack = leaks.key(0).stack.unwrap();
        assert_eq!(profile.stacks().frames(stack).len(), 2);
    }
}
