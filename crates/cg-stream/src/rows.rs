//! Rows: the form in which records go from readers to sinks within a process. They are rendered as JSON at the output.
//!
//! A reader of a format interns names and frames in its own tables, and passes rows of ids together with these
//! [tables](RowTables). A sink ([`RowSink`]) looks up each id once: the [`Writer`](crate::Writer) renders it as JSON,
//! and the `Profile` of the crate `cg-profile` interns it. A line of a stream becomes a row of ids, too, if it
//! has the form of our own writer ([`StreamRows`]). Any other line becomes a row that contains text ([`hand_over`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::{
    CallRecord, ErrorRecord, FnRecord, HeapRecord, InlineRecord, LeakRecord, LineRecord,
    ProgramPointRecord, StackRecord,
};
use crate::record::{
    CauseRecord, Count, Counts, DiffRecord, EndRecord, Frame, FunctionName, HeapBlock, Name, Note,
    RecordType, RunRecord, SampleLabels, SeriesRecord, SnapshotRecord, StepRecord,
};
use crate::records;
use crate::{Error, Line};

/// Expands to the text before a field's value: comma, key and colon.
macro_rules! key {
    ($field:ident) => {
        concat!(",\"", stringify!($field), "\":")
    };
    ($field:ident $key:literal) => {
        concat!(",\"", $key, "\":")
    };
}

mod causes;
mod json;
mod known;
mod plain_fields;
mod scan;
mod stream_rows;

pub use causes::{CauseDetailRow, CauseName, CauseNames, CauseRow};
pub use json::address_text;
pub(crate) use json::{Rendered, put};
pub use known::KnownIds;
pub use stream_rows::StreamRows;

cg_collections::ids! {
    /// A name in a reader's tables.
    pub struct NameId;
    /// A frame in a reader's tables.
    pub struct FrameId;
}

/// A consumer of the rows of one or several inputs.
pub trait RowSink {
    /// Begins a section.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written or the sink refuses the record.
    fn run(&mut self, run: &RunRecord) -> Result<(), Error>;

    /// Takes the hint that this many rows of a type follow and that most of them are new.
    fn expect(&mut self, _of: RecordType, _rows: usize) {}

    /// Takes a row, whose ids refer to these tables.
    ///
    /// # Errors
    /// Returns the errors of [`RowSink::run`].
    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error>;

    /// Takes a row of a comparison.
    ///
    /// # Errors
    /// Returns the errors of [`RowSink::run`].
    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error>;

    /// Ends a complete section, which had this many records when it was written.
    ///
    /// # Errors
    /// Returns the errors of [`RowSink::run`].
    fn end(&mut self, records: u64) -> Result<(), Error>;

    /// Ends a section without `end`, with the reason if it is known. Returns true if the sink reports the reason.
    ///
    /// # Errors
    /// Returns the errors of [`RowSink::run`].
    fn cut(&mut self, _why: Option<&str>) -> Result<bool, Error> {
        Ok(false)
    }

    /// Returns true if the sink reads rows of this type. Rows of other types may arrive as [`Row::Unread`].
    fn wants(&self, _of: RecordType) -> bool {
        true
    }
}

/// The names and frames that rows refer to.
pub trait RowTables {
    /// Returns the number of these tables. While the number is the same, each id has the same meaning.
    fn number(&self) -> TableNumber;

    /// Returns the name of this id, which is a name of this sort.
    fn name(&self, of: Named, id: NameId) -> Name<'_>;

    /// Returns the frame of this id.
    fn frame(&self, id: FrameId) -> Frame<'_>;
}

/// A number that is unique among the tables of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableNumber(u64);

impl TableNumber {
    /// The number of [`NoTables`], which has no ids.
    const NONE: TableNumber = TableNumber(0);

    /// Creates a number that no table has yet.
    pub fn new() -> TableNumber {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        TableNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for TableNumber {
    fn default() -> TableNumber {
        TableNumber::new()
    }
}

/// The sort of thing that a name belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A function.
    Function,
    /// A source file.
    File,
    /// An ELF object.
    Object,
    /// A thread or a process.
    Other,
}

/// A name in a row.
#[derive(Clone, Copy, Debug)]
pub enum NameRef<'a> {
    /// A name in the tables.
    Id(NameId),
    /// A name that was read from a stream.
    Text(&'a str),
}

/// Frames in a row, innermost first.
#[derive(Clone, Copy, Debug)]
pub enum StackRef<'a> {
    /// Frames in the tables.
    Ids(&'a [FrameId]),
    /// Frames that were read from a stream.
    Frames(&'a [Frame<'a>]),
}

impl StackRef<'_> {
    /// Returns true if there are no frames.
    pub fn is_empty(self) -> bool {
        match self {
            StackRef::Ids(ids) => ids.is_empty(),
            StackRef::Frames(frames) => frames.is_empty(),
        }
    }
}

impl Default for StackRef<'_> {
    fn default() -> Self {
        StackRef::Ids(&[])
    }
}

/// Names in a row.
#[derive(Clone, Copy, Debug)]
pub enum NamesRef<'a> {
    /// Names in the tables.
    Ids(&'a [NameId]),
    /// Names that were read from a stream.
    Names(&'a [Name<'a>]),
}

impl NamesRef<'_> {
    /// Returns an iterator over the names.
    pub fn iter(&self) -> impl Iterator<Item = NameRef<'_>> {
        let (ids, names): (&[NameId], &[Name]) = match self {
            NamesRef::Ids(ids) => (ids, &[]),
            NamesRef::Names(names) => (&[], names),
        };
        let ids = ids.iter().map(|id| NameRef::Id(*id));
        ids.chain(names.iter().map(|name| NameRef::Text(name)))
    }
}

impl Default for NamesRef<'_> {
    fn default() -> Self {
        NamesRef::Ids(&[])
    }
}

/// A note of an `error` row.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoteRef<'a> {
    /// The sentence.
    pub what: Option<&'a str>,
    /// The stack; empty if the note has none.
    pub stack: StackRef<'a>,
}

/// Notes in a row.
#[derive(Clone, Copy, Debug)]
pub enum NotesRef<'a> {
    /// Notes with stacks in the tables.
    Refs(&'a [NoteRef<'a>]),
    /// Notes that were read from a stream.
    Notes(&'a [Note<'a>]),
}

impl<'a> NotesRef<'a> {
    /// Returns an iterator over the notes.
    pub fn iter(self) -> impl Iterator<Item = NoteRef<'a>> {
        let (refs, notes): (&[NoteRef], &[Note]) = match self {
            NotesRef::Refs(refs) => (refs, &[]),
            NotesRef::Notes(notes) => (&[], notes),
        };
        let notes = notes.iter().map(|note| NoteRef {
            what: note.what.as_deref(),
            stack: StackRef::Frames(&note.stack),
        });
        refs.iter().copied().chain(notes)
    }
}

impl Default for NotesRef<'_> {
    fn default() -> Self {
        NotesRef::Refs(&[])
    }
}

/// A function in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionRef<'a> {
    /// The name of the function.
    pub name: Option<NameRef<'a>>,
    /// The source file of the function.
    pub file: Option<NameRef<'a>>,
    /// The ELF object of the function.
    pub obj: Option<NameRef<'a>>,
}

/// An address of code in a row.
#[derive(Clone, Copy, Debug)]
pub enum AddressRef<'a> {
    /// The address.
    Number(u64),
    /// The text that was read from a stream: `0x` and digits.
    Text(&'a str),
}

/// Counts in a row. If counts have no names, the first count is always written and the others only if they are not 0.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// A count for each event of the run.
    Unsigned(&'a [u64]),
    /// A count for each event of the run, in two's complement.
    Signed(&'a [u64]),
    /// A count for each event of the run, starting at the event with this index.
    From(usize, &'a [Count]),
    /// Counts with the names of their events, which were read from a stream.
    Named(&'a Counts<'a>),
}

impl Cells<'_> {
    /// Returns the count of an event in a run with these events; 0 if the row has no count for it.
    pub fn get(self, event: &str, events: &[String]) -> Count {
        let position = || events.iter().position(|known| known == event);
        let found = match self {
            Cells::Unsigned(cells) => {
                position().and_then(|at| cells.get(at).map(|cell| (*cell).into()))
            }
            Cells::Signed(cells) => {
                position().and_then(|at| cells.get(at).map(|cell| cell.cast_signed().into()))
            }
            Cells::From(first, counts) => {
                position().and_then(|at| counts.get(at.checked_sub(first)?).copied())
            }
            Cells::Named(counts) => Some(counts.get(event)),
        };
        found.unwrap_or(0)
    }
}

impl Default for Cells<'_> {
    fn default() -> Self {
        Cells::From(0, &[])
    }
}

/// Expands to the type of a row's field. Its arguments are the words in the field's declaration.
macro_rules! ref_type {
    ($a:lifetime Option Text) => { Option<&$a str> };
    ($a:lifetime Option Address) => { Option<AddressRef<$a>> };
    ($a:lifetime Option u64) => { Option<u64> };
    ($a:lifetime Option HeapBlock) => { Option<&$a HeapBlock> };
    ($a:lifetime Option Accesses) => { Option<&$a [Option<u64>]> };
    ($a:lifetime Option Counts) => { Option<Cells<$a>> };
    ($a:lifetime Option Labels) => { Option<&$a str> };
    ($a:lifetime Option $name:ident) => { Option<NameRef<$a>> };
    ($a:lifetime Text) => { &$a str };
    ($a:lifetime u64) => { u64 };
    ($a:lifetime NonZero) => { u64 };
    ($a:lifetime bool) => { bool };
    ($a:lifetime Mark) => { bool };
    ($a:lifetime Counts) => { Cells<$a> };
    ($a:lifetime Stack) => { StackRef<$a> };
    ($a:lifetime Inlined) => { StackRef<$a> };
    ($a:lifetime Callee) => { FunctionRef<$a> };
    ($a:lifetime Names) => { NamesRef<$a> };
    ($a:lifetime Notes) => { NotesRef<$a> };
}

/// Expands to the value of a row's field for the field of a parsed record.
macro_rules! ref_of_text {
    ($field:expr, Option Text) => {
        $field.as_deref()
    };
    ($field:expr, Option Address) => {
        $field.as_deref().map(AddressRef::Text)
    };
    ($field:expr, Option u64) => {
        $field
    };
    ($field:expr, Option HeapBlock) => {
        $field.as_ref()
    };
    ($field:expr, Option Accesses) => {
        $field.as_deref()
    };
    ($field:expr, Option Counts) => {
        Some(Cells::Named(&$field)).filter(|_| !$field.is_empty())
    };
    ($field:expr, Option Labels) => {
        $field.as_ref().map(SampleLabels::text)
    };
    ($field:expr, Option $name:ident) => {
        $field.as_deref().map(NameRef::Text)
    };
    ($field:expr, Text) => {
        $field.as_str()
    };
    ($field:expr, Counts) => {
        Cells::Named(&$field)
    };
    ($field:expr, Stack) => {
        StackRef::Frames(&$field)
    };
    ($field:expr, Inlined) => {
        StackRef::Frames(&$field)
    };
    ($field:expr, Callee) => {
        FunctionRef::from(&$field)
    };
    ($field:expr, Names) => {
        NamesRef::Names(&$field)
    };
    ($field:expr, Notes) => {
        NotesRef::Notes(&$field)
    };
    ($field:expr, $number:ident) => {
        $field
    };
}

impl<'a> From<&'a FunctionName<'a>> for FunctionRef<'a> {
    fn from(function: &'a FunctionName<'a>) -> FunctionRef<'a> {
        let name = |name: &'a Option<Name<'a>>| name.as_deref().map(NameRef::Text);
        FunctionRef {
            name: name(&function.name),
            file: name(&function.file),
            obj: name(&function.obj),
        }
    }
}

/// Generates the row types and [`hand_over`] from the declarations of the record types.
macro_rules! row_types {
    ($($(#[$type_meta:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$field_meta:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
    })*) => {
        $(
            $(#[$type_meta])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $row<'a> {
                $($(#[$field_meta])* pub $field: ref_type!('a $word $($of)?),)*
            }

            impl<'a> From<&'a $record<'a>> for $row<'a> {
                fn from(record: &'a $record<'a>) -> $row<'a> {
                    $row { $($field: ref_of_text!(record.$field, $word $($of)?),)* }
                }
            }

            impl<'a> From<$row<'a>> for Row<'a> {
                #[inline]
                fn from(row: $row<'a>) -> Row<'a> {
                    Row::$kind(row)
                }
            }
        )*

        /// A record between `run` and `end`, except `diff` records.
        #[derive(Clone, Copy, Debug)]
        pub enum Row<'a> {
            $($(#[$type_meta])* $kind($row<'a>),)*
            /// The heap sizes of a snapshot.
            Snapshot(&'a SnapshotRecord),
            /// A part of the difference of two totals.
            Cause(&'a CauseRecord<'a>),
            /// A change in a series of profiles.
            Step(&'a StepRecord<'a>),
            /// The costs of a function in a series of profiles.
            Series(&'a SeriesRecord<'a>),
            /// A record that is not parsed, because its type is unknown or the sink does not read it.
            Unread(RecordType),
        }

        impl Row<'_> {
            /// Returns the type of the record.
            pub fn kind(&self) -> RecordType {
                match self {
                    $(Row::$kind(_) => RecordType::$kind,)*
                    Row::Snapshot(_) => RecordType::Snapshot,
                    Row::Cause(_) => RecordType::Cause,
                    Row::Step(_) => RecordType::Step,
                    Row::Series(_) => RecordType::Series,
                    Row::Unread(of) => *of,
                }
            }
        }

        /// Parses a line of a stream and passes it to the sink.
        ///
        /// # Errors
        /// Returns an error with the line number if the line is not a record of its `type`, and if the sink returns an
        /// error.
        pub fn hand_over(line: &Line<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
            let taken = match line.kind {
                RecordType::Run => sink.run(&line.parse()?),
                RecordType::End => sink.end(line.parse::<EndRecord>()?.records),
                of if of == RecordType::Other || !sink.wants(of) => {
                    sink.row(&Row::Unread(of), &NoTables)
                }
                $(RecordType::$kind => {
                    let record: $record = line.parse()?;
                    sink.row(&Row::$kind($row::from(&record)), &NoTables)
                })*
                RecordType::Snapshot => sink.row(&Row::Snapshot(&line.parse()?), &NoTables),
                RecordType::Cause => sink.row(&Row::Cause(&line.parse()?), &NoTables),
                RecordType::Step => sink.row(&Row::Step(&line.parse()?), &NoTables),
                RecordType::Series => sink.row(&Row::Series(&line.parse()?), &NoTables),
                RecordType::Diff => sink.diff(line.parse()?),
                RecordType::Other => Ok(()),
            };
            taken.map_err(|error| error.with_line(line.number))
        }
    };
}

records!(row_types!);

/// Empty tables, for rows without ids.
pub struct NoTables;

impl RowTables for NoTables {
    fn number(&self) -> TableNumber {
        TableNumber::NONE
    }

    fn name(&self, _: Named, _: NameId) -> Name<'_> {
        Name::default()
    }

    fn frame(&self, _: FrameId) -> Frame<'_> {
        Frame::default()
    }
}
