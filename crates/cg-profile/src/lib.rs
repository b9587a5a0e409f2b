//! A stream in memory, with its records added up by key: law 3, "concatenation is addition".
//!
//! cg-diff compares profiles, and cg-fmt formats them. This crate neither reads files nor renders output. Names are interned and counts are stored in flat columns, so memory
//! is proportional to the number of distinct rows. Sums are exact: if a sum does not fit in 64 bits, the line that causes
//! this is an error.

mod adding;
mod by_function;
mod by_innermost;
mod call_functions;
mod derived;
pub mod formula;
mod inclusive;
mod key;
mod order;
mod packed_keys;
mod rows;
mod run;
mod shown_places;
mod sum;
mod table;

pub use by_innermost::InlinedFunctions;
pub use key::{FrameKey, FunctionKey, Key, StackFrames, StackId, Stacks, Symbol, Symbols};
pub use shown_places::{MergedPlaces, PlaceFrame, ShownPlaces};
pub use table::{Detail, Numbers, OtherNumbers, Rows};

use adding::{Adding, LookedUp};
use cg_stream::record::{
    CauseRecord, Count, Counts, DiffRecord, Frame, Name, RecordType, RunRecord, SeriesRecord,
    SharedTexts, SnapshotRecord, StepRecord, add_counts,
};
use cg_stream::rows::{Row, RowSink, RowTables, hand_over};
use cg_stream::{Error, Line};
use rows::{TABLES, table_index};
use sum::add_exact;
use table::event_index;

/// The records of one or more streams, added up.
///
/// ```
/// use cg_stream::Reader;
/// use cg_profile::Profile;
/// use cg_stream::record::RecordType;
///
/// # fn main() -> Result<(), cg_stream::Error> {
/// let run = concat!(
///     r#"{"type":"run","stream":1,"events":["Ir"],"total":{"Ir":42}}"#, "\n",
///     r#"{"type":"fn","fn":"main","calls":1,"cost":{"Ir":42}}"#, "\n",
///     r#"{"type":"end","records":1}"#, "\n",
/// );
/// let mut profile = Profile::default();
/// // The profile of two runs of a program is their sum.
/// for stream in [run, run] {
///     let mut reader = Reader::new(stream.as_bytes());
///     while let Some(line) = reader.next_line()? {
///         profile.add(&line)?;
///     }
/// }
/// let functions = profile.table(RecordType::Fn);
/// assert_eq!(functions.len(), 1);
/// assert_eq!(profile.text(functions.function(0).name), Some("main"));
/// assert_eq!((functions.calls(0), functions.cost(0)), (2, &[84][..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Profile {
    runs: Vec<RunRecord>,
    events: Vec<String>,
    /// The number of events from `run` records, which come first.
    run_events: usize,
    total: Vec<Count>,
    names: Names,
    tables: [Rows; TABLES.len()],
    snapshots: Vec<SnapshotRecord>,
    diffs: Vec<DiffRecord<'static>>,
    causes: Vec<CauseRecord<'static>>,
    steps: Vec<StepRecord<'static>>,
    series: Vec<SeriesRecord<'static>>,
    diff_texts: SharedTexts,
    unknown: u64,
    /// The number of records that were read.
    records: u64,
    /// The number of records according to the `end` records.
    written: u64,
    known: LookedUp,
}

/// The interned names and stacks, which several profiles may share.
#[derive(Clone, Default)]
pub struct Names {
    /// Every distinct name.
    pub symbols: Symbols,
    /// Every distinct stack.
    pub stacks: Stacks,
}

impl Names {
    /// Returns the name with this symbol in the form of records.
    pub fn name(&self, symbol: Option<Symbol>) -> Option<Name<'_>> {
        key::name(&self.symbols, symbol)
    }

    /// Creates the frame of a stack from ids, with this address.
    pub fn frame(&self, frame: &FrameKey, addr: Option<Symbol>) -> Frame<'_> {
        Frame {
            line: frame.line,
            site: self.name(frame.site),
            addr: self.name(addr),
            ..frame.function.frame(&self.symbols).with_marks(frame.marks)
        }
    }

    /// Returns the frames of a stack, innermost first.
    pub fn stack(&self, stack: StackId) -> impl Iterator<Item = Frame<'_>> {
        let frames = self.stacks.frames(stack).iter();
        frames
            .zip(self.stacks.addresses(stack))
            .map(|(frame, addr)| self.frame(frame, addr))
    }
}

impl Profile {
    /// Creates an empty profile in which stacks are different rows if only the addresses of their frames differ. In other
    /// profiles, addresses are not part of a key.
    pub fn by_address() -> Profile {
        let mut profile = Profile::default();
        profile.known.is_by_address = true;
        profile
    }

    /// Creates an empty profile that adds its names to the names of others, so that equal names have equal symbols in all of
    /// them.
    pub fn continuing(names: Names) -> Profile {
        Profile {
            names,
            ..Profile::default()
        }
    }

    /// Removes the names and returns them, for the next profile or to store the names of several profiles once.
    pub fn take_names(&mut self) -> Names {
        std::mem::take(&mut self.names)
    }

    /// Puts back the names that were removed, so that records can be added again.
    pub fn put_names(&mut self, names: Names) {
        self.names = names;
    }

    /// Adds a line of a stream.
    ///
    /// # Errors
    /// Returns an error if the line is not a record of its `type`, and if a sum does not fit in 64 bits.
    pub fn add(&mut self, line: &Line<'_>) -> Result<(), Error> {
        hand_over(line, self)
    }

    /// Checks that the sum of self cost over all records of each type fits in 64 bits. Then sums over some of the rows need
    /// no check. Call this after all records are added.
    ///
    /// # Errors
    /// Returns an error with the event if a sum does not fit.
    pub fn check_sums(&self) -> Result<(), Error> {
        for table in &self.tables {
            let mut sums = vec![0; self.events.len()];
            for row in 0..table.len() {
                add_counts(&mut sums, table.cost(row));
            }
            for (sum, event) in sums.into_iter().zip(&self.events) {
                add_exact(&mut 0, sum).map_err(|beyond| beyond.with_name(event))?;
            }
        }
        Ok(())
    }

    /// Returns the `run` records in input order.
    pub fn runs(&self) -> &[RunRecord] {
        &self.runs
    }

    /// Returns the event names: first the names of the `run` records in order, then names that only other records have.
    pub fn events(&self) -> &[String] {
        &self.events
    }

    /// Returns the position of an event in [`Profile::events`].
    pub fn event(&self, name: &str) -> Option<usize> {
        self.events.iter().position(|event| event == name)
    }

    /// Returns the sum of the totals of all `run` records, in the order of the events; all 0 in a fragment.
    pub fn total(&self) -> &[Count] {
        &self.total
    }

    /// Returns the rows of a record type; empty if its records are not added up.
    pub fn table(&self, of: RecordType) -> &Rows {
        static EMPTY: std::sync::LazyLock<Rows> = std::sync::LazyLock::new(Rows::default);
        table_index(of).map_or(&EMPTY, |table| &self.tables[table])
    }

    /// Returns the record types that have rows, in a fixed order.
    pub fn types(&self) -> impl Iterator<Item = RecordType> {
        TABLES.into_iter().filter(|of| !self.table(*of).is_empty())
    }

    /// Returns the snapshots in input order.
    pub fn snapshots(&self) -> &[SnapshotRecord] {
        &self.snapshots
    }

    /// Returns the records of a diff in input order.
    pub fn diffs(&self) -> &[DiffRecord<'static>] {
        &self.diffs
    }

    /// Returns the steps of a history, in input order.
    pub fn steps(&self) -> &[StepRecord<'static>] {
        &self.steps
    }

    /// Returns the series of a history, in input order.
    pub fn series(&self) -> &[SeriesRecord<'static>] {
        &self.series
    }

    /// Returns the causes of the difference of a diff's totals, in input order.
    pub fn causes(&self) -> &[CauseRecord<'static>] {
        &self.causes
    }

    /// Returns the number of ignored records of unknown types.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns true if a filter removed records from the stream: fewer records were read than the `end` records count.
    pub fn is_filtered(&self) -> bool {
        self.records < self.written
    }

    /// Returns the interned names.
    pub fn symbols(&self) -> &Symbols {
        &self.names.symbols
    }

    /// Returns the interned names and stacks.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the interned stacks.
    pub fn stacks(&self) -> &Stacks {
        &self.names.stacks
    }

    /// Returns the text of a name; `None` if there is no name.
    #[inline]
    pub fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.names.symbols.text(symbol))
    }

    /// Inserts an event after the events of earlier `run` records, and before events that only other records have.
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
            add_exact(&mut self.total[index], count).map_err(|beyond| beyond.with_name(event))?;
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
            self.tables[table].reserve(rows, of, self.events.len());
        }
        if of == RecordType::Fn {
            self.names.symbols.reserve(rows);
        }
        if of.has_stack() {
            self.names.stacks.reserve(rows);
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
            Row::Step(record) => (self.steps).push((*record).clone().shared(&mut self.diff_texts)),
            Row::Series(record) => {
                (self.series).push((*record).clone().shared(&mut self.diff_texts))
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
    use cg_stream::Reader;

    fn profile(text: &str) -> Profile {
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        profile
    }

    #[test]
    fn records_with_equal_keys_are_added_up_by_event_name() {
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
        assert_eq!(profile.text(functions.function(1).file), Some("b.c"));
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
