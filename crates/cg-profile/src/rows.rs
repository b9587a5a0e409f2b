//! The addition of rows of every declared type, and the conversion of the sums to rows.
//!
//! Each role of a field is implemented once: `into_key!`, `into_row!`, `into_detail!` and `agree!` add up a field of
//! a row, and `out_of_row!` creates the field of the sum's row.

use super::key::{Key, StackId, Symbol};
use super::sum::NotAdded;
use super::table::{Detail, Rows};
use super::{FunctionKey, Names, Profile};
use cg_collections::intern::TooMany;
use cg_stream::Error;
use cg_stream::record::{Counts, Frame, HeapBlock, Name, Note, RecordType};
use cg_stream::records;
use cg_stream::rows::{
    AddressRef, CallRow, Cells, ErrorRow, FnRow, FunctionRef, HeapRow, InlineRow, LeakRow, LineRow,
    NameRef, Named, NamesRef, NoTables, NotesRef, ProgramPointRow, Row, RowSink, StackRef,
    StackRow,
};

use super::adding::Adding;

/// A row whose type is added up.
trait AddedRow {
    /// Adds the row to the table's row with its key.
    fn add(&self, adding: &mut Adding<'_>, table: &mut Rows) -> Result<(), NotAdded>;
}

/// A row of sums, and the values that its fields borrow.
struct SummedRow<'p> {
    names: &'p Names,
    table: &'p Rows,
    row: usize,
    key: Key,
    cost: Counts<'p>,
    incl: Option<Counts<'p>>,
    /// The frames of the key's stack. No type of record has two stacks in its key.
    frames: Vec<Frame<'p>>,
    ambiguous: Vec<Name<'p>>,
}

impl<'p> SummedRow<'p> {
    /// Creates a row of one of the profile's tables, with only these events.
    fn new(profile: &'p Profile, table: &'p Rows, row: usize, events: &[usize]) -> SummedRow<'p> {
        let (names, key) = (&profile.names, table.key(row));
        let stack = key.stack.or(key.inlined);
        let ambiguous = names.stacks.frames_of(key.ambiguous).iter();
        let incl = table.incl(row).map(|incl| profile.counts(events, incl));
        SummedRow {
            names,
            table,
            row,
            key,
            cost: profile.counts(events, table.cost(row)),
            incl: incl.filter(|incl| !incl.is_empty()),
            frames: stack.map_or_else(Vec::new, |stack| names.stack(stack).collect()),
            ambiguous: (ambiguous.filter_map(|frame| names.name(frame.function.name))).collect(),
        }
    }

    fn text(&self, symbol: Option<Symbol>) -> Option<&str> {
        symbol.map(|symbol| self.names.symbols.text(symbol))
    }
}

/// A field of a row that is part of the key.
trait KeyField<'a>: Sized {
    /// The field's type in the key.
    type Held;
    fn to_key(&self, of: Named, adding: &mut Adding<'_>) -> Result<Self::Held, TooMany>;
    /// Creates the field of a summed row.
    fn from_key(held: Self::Held, of: &'a SummedRow<'_>) -> Self;
}

impl<'a> KeyField<'a> for Option<NameRef<'a>> {
    type Held = Option<Symbol>;

    fn to_key(&self, of: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|name| adding.symbol(of, name)).transpose()
    }

    fn from_key(held: Option<Symbol>, of: &'a SummedRow<'_>) -> Self {
        of.text(held).map(NameRef::Text)
    }
}

impl<'a> KeyField<'a> for &'a str {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        adding.names.symbols.intern(self).map(Some)
    }

    fn from_key(held: Option<Symbol>, of: &'a SummedRow<'_>) -> Self {
        of.text(held).unwrap_or_default()
    }
}

impl<'a> KeyField<'a> for Option<&'a str> {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|text| adding.names.symbols.intern(text))
            .transpose()
    }

    fn from_key(held: Option<Symbol>, of: &'a SummedRow<'_>) -> Self {
        of.text(held)
    }
}

impl<'a> KeyField<'a> for Option<AddressRef<'a>> {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|address| adding.address(address)).transpose()
    }

    fn from_key(held: Option<Symbol>, of: &'a SummedRow<'_>) -> Self {
        of.text(held).map(AddressRef::Text)
    }
}

impl KeyField<'_> for Option<u64> {
    type Held = Option<u64>;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<Option<u64>, TooMany> {
        Ok(*self)
    }

    fn from_key(held: Option<u64>, _: &SummedRow<'_>) -> Self {
        held
    }
}

impl KeyField<'_> for u64 {
    type Held = Option<u64>;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<Option<u64>, TooMany> {
        Ok(Some(*self))
    }

    fn from_key(held: Option<u64>, _: &SummedRow<'_>) -> Self {
        held.unwrap_or(0)
    }
}

impl KeyField<'_> for bool {
    type Held = bool;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<bool, TooMany> {
        Ok(*self)
    }

    fn from_key(held: bool, _: &SummedRow<'_>) -> Self {
        held
    }
}

impl<'a> KeyField<'a> for FunctionRef<'a> {
    type Held = Option<FunctionKey>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<FunctionKey>, TooMany> {
        Ok(Some(FunctionKey {
            name: self.name.to_key(Named::Function, adding)?,
            file: self.file.to_key(Named::File, adding)?,
            obj: self.obj.to_key(Named::Object, adding)?,
        }))
    }

    fn from_key(held: Option<FunctionKey>, of: &'a SummedRow<'_>) -> Self {
        let function = held.unwrap_or_default();
        FunctionRef {
            name: KeyField::from_key(function.name, of),
            file: KeyField::from_key(function.file, of),
            obj: KeyField::from_key(function.obj, of),
        }
    }
}

impl<'a> KeyField<'a> for StackRef<'a> {
    type Held = Option<StackId>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<StackId>, TooMany> {
        adding.stack(*self).map(Some)
    }

    fn from_key(_: Option<StackId>, of: &'a SummedRow<'_>) -> Self {
        StackRef::Frames(&of.frames)
    }
}

impl<'a> KeyField<'a> for NamesRef<'a> {
    type Held = Option<StackId>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<StackId>, TooMany> {
        adding.names_as_frames(self)
    }

    fn from_key(_: Option<StackId>, of: &'a SummedRow<'_>) -> Self {
        NamesRef::Names(&of.ambiguous)
    }
}

/// A field of a row that is part of the detail.
trait DetailField<'a>: Sized {
    /// The field's type in the detail.
    type Held;
    /// Returns true if the record has the field.
    fn is_given(&self) -> bool;
    fn to_detail(&self, adding: &mut Adding<'_>) -> Self::Held;
    /// Creates the field of a summed row.
    fn from_detail(held: &'a Self::Held) -> Self;
}

impl DetailField<'_> for Option<u64> {
    type Held = Option<u64>;

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<u64> {
        *self
    }

    fn from_detail(held: &Option<u64>) -> Self {
        *held
    }
}

impl<'a> DetailField<'a> for Option<&'a HeapBlock> {
    type Held = Option<HeapBlock>;

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<HeapBlock> {
        self.cloned()
    }

    fn from_detail(held: &'a Option<HeapBlock>) -> Self {
        held.as_ref()
    }
}

impl<'a> DetailField<'a> for Option<&'a [Option<u64>]> {
    type Held = Option<Vec<Option<u64>>>;

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<Vec<Option<u64>>> {
        self.map(<[_]>::to_vec)
    }

    fn from_detail(held: &'a Option<Vec<Option<u64>>>) -> Self {
        held.as_deref()
    }
}

impl<'a> DetailField<'a> for Option<&'a str> {
    type Held = Option<Name<'static>>;

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<Name<'static>> {
        self.map(|text| Name::from(text.to_owned()))
    }

    fn from_detail(held: &'a Option<Name<'static>>) -> Self {
        held.as_deref()
    }
}

impl<'a> DetailField<'a> for StackRef<'a> {
    type Held = Vec<Frame<'static>>;

    fn is_given(&self) -> bool {
        !self.is_empty()
    }

    fn to_detail(&self, adding: &mut Adding<'_>) -> Vec<Frame<'static>> {
        adding.frames(*self)
    }

    fn from_detail(held: &'a Vec<Frame<'static>>) -> Self {
        StackRef::Frames(held)
    }
}

impl<'a> DetailField<'a> for NotesRef<'a> {
    type Held = Vec<Note<'static>>;

    fn is_given(&self) -> bool {
        self.iter().next().is_some()
    }

    fn to_detail(&self, adding: &mut Adding<'_>) -> Vec<Note<'static>> {
        let note = |note: cg_stream::rows::NoteRef<'_>| Note {
            what: note.what.to_detail(adding),
            stack: adding.frames(note.stack),
        };
        self.iter().map(note).collect()
    }

    fn from_detail(held: &'a Vec<Note<'static>>) -> Self {
        NotesRef::Notes(held)
    }
}

/// Maps the word of a field's declaration to the sort of name in the field.
macro_rules! named {
    (Option Function) => {
        Named::Function
    };
    (Option File) => {
        Named::File
    };
    (Option Object) => {
        Named::Object
    };
    ($($other:ident)*) => {
        Named::Other
    };
}

/// Puts a field into the key of its row.
macro_rules! into_key {
    (function $field:ident $of:expr, $row:ident, $key:ident, $adding:ident) => {
        $key.function.$field = $row.$field.to_key($of, $adding)?;
    };
    (key $field:ident $of:expr, $row:ident, $key:ident, $adding:ident) => {
        $key.$field = $row.$field.to_key($of, $adding)?;
    };
    ($other:ident $field:ident $of:expr, $row:ident, $key:ident, $adding:ident) => {};
}

/// Adds a field to its row.
macro_rules! into_row {
    (cost $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        $table.add_costs($row, $added.$field, $adding)?;
    };
    (incl $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        if let Some(incl) = Option::from($added.$field) {
            $table.add_incls($row, incl, $adding)?;
        }
    };
    (incl_or_cost $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        $table.add_incls_or_costs($row, $added.$field, $added.cost, $adding)?;
    };
    // Each leak record has this field, so the records of a row are counted here.
    (sum indirect_bytes of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        let numbers = &mut $table.numbers;
        let sum = numbers.indirect_bytes.sum($row, $added.indirect_bytes);
        sum.map_err(|beyond| beyond.with_name("indirect_bytes"))?;
        let sum = numbers.records.sum($row, 1);
        sum.map_err(|beyond| beyond.with_name("records"))?;
    };
    // Each error record has this field.
    (key what of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        let sum = $table.numbers.records.sum($row, 1);
        sum.map_err(|beyond| beyond.with_name("records"))?;
    };
    (sum $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        let sum = $table.numbers.$field.sum($row, $added.$field);
        sum.map_err(|beyond| beyond.with_name(stringify!($field)))?;
    };
    (max $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        $table.numbers.$field.max($row, $added.$field);
    };
    (min $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        $table.numbers.$field.min($row, $added.$field);
    };
    (any $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        $table.numbers.$field.any($row, $added.$field);
    };
    ($other:ident $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {};
}

/// Expands to true if the field is part of the detail and the row has it.
macro_rules! is_given {
    (agreed $field:ident of $row:ident) => {
        $row.$field.is_given()
    };
    (detail $field:ident of $row:ident) => {
        $row.$field.is_given()
    };
    ($other:ident $field:ident of $row:ident) => {
        false
    };
}

/// Puts a field into the detail of its row.
macro_rules! into_detail {
    (agreed $field:ident of $row:ident, $detail:ident, $adding:ident) => {
        $detail.$field = $row.$field.to_detail($adding);
    };
    (detail $field:ident of $row:ident, $detail:ident, $adding:ident) => {
        $detail.$field = $row.$field.to_detail($adding);
    };
    ($other:ident $field:ident of $row:ident, $detail:ident, $adding:ident) => {};
}

/// Clears an `agreed` field of the second detail if it differs from that of the first.
macro_rules! agree {
    (agreed $field:ident of $known:ident, $other:ident) => {
        if $known.$field != $other.$field {
            $other.$field = Default::default();
        }
    };
    ($role:ident $field:ident of $known:ident, $other:ident) => {};
}

/// Creates a field of a summed row.
macro_rules! out_of_row {
    (function $field:ident of $summed:ident) => {
        KeyField::from_key($summed.key.function.$field, &$summed)
    };
    (key $field:ident of $summed:ident) => {
        KeyField::from_key($summed.key.$field, &$summed)
    };
    (cost $field:ident of $summed:ident) => {
        Cells::Named(&$summed.cost)
    };
    (incl $field:ident of $summed:ident) => {
        Given::from_option($summed.incl.as_ref().map(Cells::Named))
    };
    (incl_or_cost $field:ident of $summed:ident) => {
        out_of_row!(incl $field of $summed)
    };
    (agreed $field:ident of $summed:ident) => {
        ($summed.table.detail($summed.row))
            .map(|detail| DetailField::from_detail(&detail.$field))
            .unwrap_or_default()
    };
    (detail $field:ident of $summed:ident) => {
        out_of_row!(agreed $field of $summed)
    };
    ($number:ident $field:ident of $summed:ident) => {
        Given::from_option($summed.table.numbers.$field.get($summed.row))
    };
}

/// A field of a row that is created from an optional value.
trait Given<T> {
    fn from_option(given: Option<T>) -> Self;
}

impl<T> Given<T> for Option<T> {
    fn from_option(given: Option<T>) -> Option<T> {
        given
    }
}

impl<T: Default> Given<T> for T {
    fn from_option(given: Option<T>) -> T {
        given.unwrap_or_default()
    }
}

/// Generates the tables of all declared types.
macro_rules! rows {
    ($($(#[$type_meta:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$field_meta:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
    })*) => {
        /// The record types that are added up in tables.
        pub(super) const TABLES: [RecordType; [$($type),*].len()] = [$(RecordType::$kind),*];

        $(
            impl AddedRow for $row<'_> {
                fn add(&self, adding: &mut Adding<'_>, table: &mut Rows) -> Result<(), NotAdded> {
                    let added = self;
                    let mut key = Key::default();
                    $(into_key!($role $field named!($word $($of)?), added, key, adding);)*
                    let rows = table.len();
                    let row = table.row(&key)?;
                    $(into_row!($role $field of added, table, row, adding);)*
                    let is_given = false $(|| is_given!($role $field of added))*;
                    if is_given || table.detail(row).is_some() {
                        #[allow(unused_mut, reason = "most types have no field for it")]
                        let mut detail = Detail::default();
                        $(into_detail!($role $field of added, detail, adding);)*
                        table.add_detail(row, row == rows, detail, |_known, _other| {
                            $(agree!($role $field of _known, _other);)*
                        });
                    }
                    Ok(())
                }
            }
        )*

        /// Adds a row. Returns false if rows of its type are not added up.
        pub(super) fn add(
            row: &Row<'_>,
            adding: &mut Adding<'_>,
            tables: &mut [Rows; TABLES.len()],
        ) -> Result<bool, Error> {
            let Some(table) = table_index(row.kind()) else {
                return Ok(false);
            };
            let table = &mut tables[table];
            match row {
                $(Row::$kind(row) => row.add(adding, table)?,)*
                _ => return Ok(false),
            }
            Ok(true)
        }

        impl Profile {
            /// Passes rows of a type to the sink in this order, with these of the profile's [events](Profile::events). The
            /// first event is always written, the others only if they are not 0.
            ///
            /// # Errors
            /// Returns the errors of the sink.
            pub fn write_rows(
                &self,
                of: RecordType,
                rows: &[usize],
                events: &[usize],
                sink: &mut dyn RowSink,
            ) -> Result<(), Error> {
                for row in rows {
                    let summed = SummedRow::new(self, self.table(of), *row, events);
                    let row = match of {
                        $(RecordType::$kind => {
                            Row::$kind($row { $($field: out_of_row!($role $field of summed),)* })
                        })*
                        _ => return Ok(()),
                    };
                    sink.row(&row, &NoTables)?;
                }
                Ok(())
            }
        }

    };
}

records!(rows!);

/// Returns the index of a type's table; `None` if records of the type are not added up.
pub(super) fn table_index(of: RecordType) -> Option<usize> {
    TABLES.iter().position(|known| *known == of)
}

impl Profile {
    /// Returns the counts of these events to write: always the first, the others only if they are not 0.
    fn counts<'a>(&'a self, events: &[usize], row: &[cg_stream::record::Count]) -> Counts<'a> {
        let counts = events.iter().enumerate().filter_map(|(position, event)| {
            let count = row.get(*event).copied().unwrap_or(0);
            (position == 0 || count != 0).then(|| (Name::from(self.events[*event].as_str()), count))
        });
        Counts(counts.collect())
    }
}
