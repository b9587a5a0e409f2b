//! Rows: the form in which records go from readers to sinks inside a process. They become JSON where they leave it.
//!
//! A reader of a format interns names and frames in tables of its own, and hands over rows of ids together with these
//! [tables](RowTables). A sink ([`RowSink`]) looks up each id once: the [`Writer`](crate::Writer) renders it as JSON,
//! the [`Profile`](crate::profile::Profile) interns it. A line of a stream becomes a row that holds text
//! ([`hand_over`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::declaration::records;
use crate::record::{
    CallRecord, ErrorRecord, FnRecord, HeapRecord, InlineRecord, LeakRecord, LineRecord,
    ProgramPointRecord, StackRecord,
};
use crate::record::{
    CauseRecord, Count, Counts, DiffRecord, EndRecord, Frame, FunctionName, HeapBlock, Name, Note,
    RecordType, RunRecord, SampleLabels, SnapshotRecord,
};
use crate::{Error, Line};

mod causes;
mod json;
mod known;

pub use causes::{CauseName, CauseNames, CauseRow};
pub(crate) use json::{Rendered, address_text, put};
pub use known::KnownIds;

crate::ids! {
    /// A name of a reader's tables.
    pub struct NameId;
    /// A frame of a reader's tables.
    pub struct FrameId;
}

/// What takes the rows of one input after the other.
pub trait RowSink {
    /// Begins a section.
    ///
    /// # Errors
    /// Those of the output, and what is wrong with the record; so are those of the other methods.
    fn run(&mut self, run: &RunRecord) -> Result<(), Error>;

    /// Takes the hint that so many rows of a type follow, of which most are new.
    fn expect(&mut self, _of: RecordType, _rows: usize) {}

    /// Takes a row, whose ids are those of these tables.
    ///
    /// # Errors
    /// As [`RowSink::run`].
    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error>;

    /// Takes a row of a comparison.
    ///
    /// # Errors
    /// As [`RowSink::run`].
    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error>;

    /// Ends a section that is whole, which had so many records when it was written.
    ///
    /// # Errors
    /// As [`RowSink::run`].
    fn end(&mut self, records: u64) -> Result<(), Error>;

    /// Gives up a section without its `end`, for this reason if one is known. Returns true if the sink reports the
    /// reason.
    ///
    /// # Errors
    /// As [`RowSink::run`].
    fn cut(&mut self, _why: Option<&str>) -> Result<bool, Error> {
        Ok(false)
    }

    /// Whether the sink reads rows of this type. Rows of other types may arrive as [`Row::Unread`].
    fn wants(&self, _of: RecordType) -> bool {
        true
    }
}

/// The names and frames that rows refer to.
pub trait RowTables {
    /// Identifies these tables: as long as the number is the same, ids mean the same.
    fn number(&self) -> TableNumber;

    /// A name, by what it is the name of.
    fn name(&self, of: Named, id: NameId) -> Name<'_>;

    /// A frame.
    fn frame(&self, id: FrameId) -> Frame<'_>;
}

/// A number that is unique to each table of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableNumber(u64);

impl TableNumber {
    /// The number of [`NoTables`], which has no ids.
    const NONE: TableNumber = TableNumber(0);

    /// A number that no table has yet.
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

/// What a name is the name of.
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
    /// A name of the tables.
    Id(NameId),
    /// A name that was read of a stream.
    Text(&'a str),
}

/// Frames in a row, innermost first.
#[derive(Clone, Copy, Debug)]
pub enum StackRef<'a> {
    /// Frames of the tables.
    Ids(&'a [FrameId]),
    /// Frames that were read of a stream.
    Frames(&'a [Frame<'a>]),
}

impl StackRef<'_> {
    /// True without frames.
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
    /// Names of the tables.
    Ids(&'a [NameId]),
    /// Names that were read of a stream.
    Names(&'a [Name<'a>]),
}

impl NamesRef<'_> {
    /// Each of them.
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

/// A note of an error in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoteRef<'a> {
    /// The sentence.
    pub what: Option<&'a str>,
    /// Its stack; empty where there is none.
    pub stack: StackRef<'a>,
}

/// Notes in a row.
#[derive(Clone, Copy, Debug)]
pub enum NotesRef<'a> {
    /// With stacks of the tables.
    Refs(&'a [NoteRef<'a>]),
    /// As they were read of a stream.
    Notes(&'a [Note<'a>]),
}

impl<'a> NotesRef<'a> {
    /// Each of them.
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
    /// Its name.
    pub name: Option<NameRef<'a>>,
    /// Its file.
    pub file: Option<NameRef<'a>>,
    /// Its ELF object.
    pub obj: Option<NameRef<'a>>,
}

/// An address of code in a row.
#[derive(Clone, Copy, Debug)]
pub enum AddressRef<'a> {
    /// The address.
    Number(u64),
    /// `0x` and digits, as they were read of a stream.
    Text(&'a str),
}

/// Counts in a row. Of counts by position the first is always written, the others only if they are not 0.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// A count for each event of the run.
    Unsigned(&'a [u64]),
    /// The same in two's complement.
    Signed(&'a [u64]),
    /// A count for each event of the run from this one on.
    From(usize, &'a [Count]),
    /// Counts by the names of their events, as they were read of a stream.
    Named(&'a Counts<'a>),
}

impl Cells<'_> {
    /// The count of an event, of a run with these events; 0 where it is left out.
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

/// The type of a field of a row, by the word of the declaration.
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

/// What a row holds for the field of a record that holds text.
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

/// Makes the rows of all declared types.
macro_rules! row_types {
    ($($(#[$of_type:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$of_field:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
    })*) => {
        $(
            $(#[$of_type])*
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $row<'a> {
                $($(#[$of_field])* pub $field: ref_type!('a $word $($of)?),)*
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

        /// A record between `run` and `end`, but for those of comparisons.
        #[derive(Clone, Copy, Debug)]
        pub enum Row<'a> {
            $($(#[$of_type])* $kind($row<'a>),)*
            /// The levels of a snapshot.
            Snapshot(&'a SnapshotRecord),
            /// A part of the difference of two totals.
            Cause(&'a CauseRecord<'a>),
            /// A record that is not looked into: of a type that is not wanted, or not known.
            Unread(RecordType),
        }

        impl Row<'_> {
            /// The type of the record.
            pub fn kind(&self) -> RecordType {
                match self {
                    $(Row::$kind(_) => RecordType::$kind,)*
                    Row::Snapshot(_) => RecordType::Snapshot,
                    Row::Cause(_) => RecordType::Cause,
                    Row::Unread(of) => *of,
                }
            }
        }

        /// Parses a line of a stream and hands it over.
        ///
        /// # Errors
        /// Where the line is not the record that its `type` says, and those of the sink about it, with its number.
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
                RecordType::Diff => sink.diff(line.parse()?),
                RecordType::Other => Ok(()),
            };
            taken.map_err(|error| error.of_line(line.number))
        }
    };
}

records!(row_types!);

/// The tables of rows that have no ids.
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
