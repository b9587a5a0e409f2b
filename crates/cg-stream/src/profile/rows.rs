//! Adds rows up and makes records of the sums, for every declared type.
//!
//! Each role of a field is implemented here once: `into_key!`, `into_row!`, `into_detail!` and `agree!` add a field of
//! a row up, `out_of_row!` makes the field of the sum's record.

use std::io;

use super::key::{Key, StackId, Symbol};
use super::sum::NotAdded;
use super::table::{Detail, Rows};
use super::{FunctionKey, Names, Profile};
use crate::intern::TooMany;
use crate::record::declaration::records;
use crate::record::{
    CallRecord, Counts, ErrorRecord, FnRecord, Frame, FunctionName, HeapBlock, HeapRecord,
    InlineRecord, LeakRecord, LineRecord, Name, Note, ProgramPointRecord, Record, RecordType,
    SampleLabels, StackRecord,
};
use crate::rows::{
    AddressRef, CallRow, ErrorRow, FnRow, FunctionRef, HeapRow, InlineRow, LeakRow, LineRow,
    NameRef, Named, NamesRef, NotesRef, ProgramPointRow, Row, StackRef, StackRow,
};
use crate::{Error, Writer};

use super::adding::Adding;

/// A row that is added up.
trait AddedRow {
    /// Adds the row to the one with its key.
    fn add(&self, adding: &mut Adding<'_>, table: &mut Rows) -> Result<(), NotAdded>;
}

/// A record that is made of a summed row.
trait SummedRecord<'a>: Record + Sized {
    /// Makes the record of a summed row, with these of the profile's events.
    fn of_row(profile: &'a Profile, row: usize, events: &[usize]) -> Self;
}

/// Puts a field of a row into a key.
trait ToKey {
    /// How the key holds it.
    type Held;
    fn to_key(&self, of: Named, adding: &mut Adding<'_>) -> Result<Self::Held, TooMany>;
}

impl ToKey for Option<NameRef<'_>> {
    type Held = Option<Symbol>;

    fn to_key(&self, of: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|name| adding.symbol(of, name)).transpose()
    }
}

impl ToKey for &str {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        adding.names.symbols.intern(self).map(Some)
    }
}

impl ToKey for Option<&str> {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|text| adding.names.symbols.intern(text))
            .transpose()
    }
}

impl ToKey for Option<AddressRef<'_>> {
    type Held = Option<Symbol>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<Symbol>, TooMany> {
        self.map(|address| adding.address(address)).transpose()
    }
}

impl ToKey for Option<u64> {
    type Held = Option<u64>;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<Option<u64>, TooMany> {
        Ok(*self)
    }
}

impl ToKey for u64 {
    type Held = Option<u64>;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<Option<u64>, TooMany> {
        Ok(Some(*self))
    }
}

impl ToKey for bool {
    type Held = bool;

    fn to_key(&self, _: Named, _: &mut Adding<'_>) -> Result<bool, TooMany> {
        Ok(*self)
    }
}

impl ToKey for FunctionRef<'_> {
    type Held = Option<FunctionKey>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<FunctionKey>, TooMany> {
        Ok(Some(FunctionKey {
            name: self.name.to_key(Named::Function, adding)?,
            file: self.file.to_key(Named::File, adding)?,
            obj: self.obj.to_key(Named::Object, adding)?,
        }))
    }
}

impl ToKey for StackRef<'_> {
    type Held = Option<StackId>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<StackId>, TooMany> {
        adding.stack(*self).map(Some)
    }
}

impl ToKey for NamesRef<'_> {
    type Held = Option<StackId>;

    fn to_key(&self, _: Named, adding: &mut Adding<'_>) -> Result<Option<StackId>, TooMany> {
        adding.names_as_frames(self)
    }
}

/// A field of a record that is made of a field of the key.
trait Keyed<'a>: Sized {
    /// How the key holds it.
    type Held;
    fn of_key(held: Self::Held, names: &'a Names) -> Self;
}

impl<'a> Keyed<'a> for Option<Name<'a>> {
    type Held = Option<Symbol>;

    fn of_key(held: Option<Symbol>, names: &'a Names) -> Self {
        names.symbols.name(held)
    }
}

impl<'a> Keyed<'a> for Option<SampleLabels<'a>> {
    type Held = Option<Symbol>;

    fn of_key(held: Option<Symbol>, names: &'a Names) -> Self {
        held.map(|labels| SampleLabels::of_text(names.symbols.text(labels)))
    }
}

impl<'a> Keyed<'a> for Name<'a> {
    type Held = Option<Symbol>;

    fn of_key(held: Option<Symbol>, names: &'a Names) -> Self {
        <Option<Name> as Keyed>::of_key(held, names).unwrap_or_default()
    }
}

impl Keyed<'_> for Option<u64> {
    type Held = Option<u64>;

    fn of_key(held: Option<u64>, _: &Names) -> Self {
        held
    }
}

impl Keyed<'_> for u64 {
    type Held = Option<u64>;

    fn of_key(held: Option<u64>, _: &Names) -> Self {
        held.unwrap_or(0)
    }
}

impl Keyed<'_> for bool {
    type Held = bool;

    fn of_key(held: bool, _: &Names) -> Self {
        held
    }
}

impl<'a> Keyed<'a> for FunctionName<'a> {
    type Held = Option<FunctionKey>;

    fn of_key(held: Option<FunctionKey>, names: &'a Names) -> Self {
        let function = held.unwrap_or_default();
        FunctionName {
            name: Keyed::of_key(function.name, names),
            file: Keyed::of_key(function.file, names),
            obj: Keyed::of_key(function.obj, names),
        }
    }
}

impl<'a> Keyed<'a> for Vec<Frame<'a>> {
    type Held = Option<StackId>;

    fn of_key(held: Option<StackId>, names: &'a Names) -> Self {
        held.map_or_else(Vec::new, |stack| names.stack(stack).collect())
    }
}

impl<'a> Keyed<'a> for Vec<Name<'a>> {
    type Held = Option<StackId>;

    fn of_key(held: Option<StackId>, names: &'a Names) -> Self {
        let frames = held.map(|stack| names.stacks.frames(stack));
        let frames = frames.unwrap_or_default();
        (frames.iter())
            .map(|frame| Keyed::of_key(frame.function.name, names))
            .collect()
    }
}

/// Puts a field of a row into a detail.
trait ToDetail {
    /// How the detail holds it.
    type Held;
    fn to_detail(&self, adding: &mut Adding<'_>) -> Self::Held;
}

impl ToDetail for Option<u64> {
    type Held = Option<u64>;

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<u64> {
        *self
    }
}

impl ToDetail for Option<&HeapBlock> {
    type Held = Option<HeapBlock>;

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<HeapBlock> {
        self.cloned()
    }
}

impl ToDetail for Option<&[Option<u64>]> {
    type Held = Option<Vec<Option<u64>>>;

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<Vec<Option<u64>>> {
        self.map(<[_]>::to_vec)
    }
}

impl ToDetail for Option<&str> {
    type Held = Option<Name<'static>>;

    fn to_detail(&self, _: &mut Adding<'_>) -> Option<Name<'static>> {
        self.map(|text| Name::from(text.to_owned()))
    }
}

impl ToDetail for StackRef<'_> {
    type Held = Vec<Frame<'static>>;

    fn to_detail(&self, adding: &mut Adding<'_>) -> Vec<Frame<'static>> {
        adding.frames(*self)
    }
}

impl ToDetail for NotesRef<'_> {
    type Held = Vec<Note<'static>>;

    fn to_detail(&self, adding: &mut Adding<'_>) -> Vec<Note<'static>> {
        let note = |note: crate::rows::NoteRef<'_>| Note {
            what: note.what.to_detail(adding),
            stack: adding.frames(note.stack),
        };
        self.iter().map(note).collect()
    }
}

/// A field of a record that is made of a field of the detail.
trait Kept<'a>: Sized {
    /// How the detail holds it.
    type Held;
    fn of_detail(held: &'a Self::Held) -> Self;
}

/// For types that details and records hold in the same form.
macro_rules! kept_as_it_is {
    ($($type:ty),*) => {$(
        impl<'a> Kept<'a> for $type {
            type Held = $type;

            fn of_detail(held: &'a $type) -> Self {
                held.clone()
            }
        }
    )*};
}

kept_as_it_is!(Option<u64>, Option<HeapBlock>, Option<Vec<Option<u64>>>);

impl<'a> Kept<'a> for Option<Name<'a>> {
    type Held = Option<Name<'static>>;

    fn of_detail(held: &'a Option<Name<'static>>) -> Self {
        held.as_deref().map(Name::from)
    }
}

impl<'a> Kept<'a> for Vec<Frame<'a>> {
    type Held = Vec<Frame<'static>>;

    fn of_detail(held: &'a Vec<Frame<'static>>) -> Self {
        held.clone()
    }
}

impl<'a> Kept<'a> for Vec<Note<'a>> {
    type Held = Vec<Note<'static>>;

    fn of_detail(held: &'a Vec<Note<'static>>) -> Self {
        held.clone()
    }
}

/// Maps the word of a field's declaration to the kind of name that the field holds.
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
    (sum $field:ident of $added:ident, $table:ident, $row:ident, $adding:ident) => {
        let sum = $table.numbers.$field.sum($row, $added.$field);
        sum.map_err(|beyond| beyond.of(stringify!($field)))?;
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

/// Whether a role is one of the detail's.
macro_rules! is_detail {
    (agreed) => {
        true
    };
    (detail) => {
        true
    };
    ($other:ident) => {
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

/// Makes a field of the record of a summed row.
macro_rules! out_of_row {
    (function $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        Keyed::of_key($table.key($row).function.$field, &$profile.names)
    };
    (key $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        Keyed::of_key($table.key($row).$field, &$profile.names)
    };
    (cost $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        $profile.counts($events, $table.cost($row))
    };
    (incl $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        match $table.incl($row) {
            Some(counts) => $profile.counts($events, counts),
            None => Counts::default(),
        }
    };
    (incl_or_cost $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        out_of_row!(incl $field of $profile, $table, $row, $events)
    };
    (agreed $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        $table
            .detail($row)
            .map(|detail| Kept::of_detail(&detail.$field))
            .unwrap_or_default()
    };
    (detail $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        $table
            .detail($row)
            .map(|detail| Kept::of_detail(&detail.$field))
            .unwrap_or_default()
    };
    ($number:ident $field:ident of $profile:ident, $table:ident, $row:ident, $events:ident) => {
        Number::of_number($table.numbers.$field.get($row))
    };
}

/// A field of a record that is made of a number beside the cost.
trait Number<T> {
    fn of_number(held: Option<T>) -> Self;
}

impl<T> Number<T> for Option<T> {
    fn of_number(held: Option<T>) -> Option<T> {
        held
    }
}

impl<T: Default> Number<T> for T {
    fn of_number(held: Option<T>) -> T {
        held.unwrap_or_default()
    }
}

/// Makes the tables of all declared types.
macro_rules! rows {
    ($($(#[$of_type:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$of_field:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
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
                    let row = table.row(key)?;
                    $(into_row!($role $field of added, table, row, adding);)*
                    if false $(|| is_detail!($role))* {
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

            impl<'a> SummedRecord<'a> for $record<'a> {
                fn of_row(profile: &'a Profile, row: usize, events: &[usize]) -> $record<'a> {
                    let table = profile.table(RecordType::$kind);
                    $record { $($field: out_of_row!($role $field of profile, table, row, events),)* }
                }
            }
        )*

        /// Adds a row of a type that is added up; false for one of another type.
        pub(super) fn add(
            row: &Row<'_>,
            adding: &mut Adding<'_>,
            tables: &mut [Rows; TABLES.len()],
        ) -> Result<bool, Error> {
            let Some(table) = table_index(row.kind()) else {
                return Ok(false);
            };
            let table = &mut tables[table];
            let added = match row {
                $(Row::$kind(row) => row.add(adding, table),)*
                _ => return Ok(false),
            };
            added.map_err(|refusal| Error::whole(refusal.to_string()))?;
            Ok(true)
        }

        impl Profile {
            /// Writes rows of a type as records, in this order and with these of the profile's
            /// [events](Profile::events): the first of them always, the others only if they are not 0.
            ///
            /// # Errors
            /// What the output reports.
            pub fn write_rows<W: io::Write>(
                &self,
                of: RecordType,
                rows: &[usize],
                events: &[usize],
                writer: &mut Writer<W>,
            ) -> io::Result<()> {
                match of {
                    $(RecordType::$kind => rows.iter().try_for_each(|row| {
                        writer.record(&$record::of_row(self, *row, events))
                    }),)*
                    _ => Ok(()),
                }
            }
        }

        impl RecordType {
            /// The fields of the records of a type that is added up, in the order they are written.
            pub fn fields(self) -> &'static [&'static str] {
                match self {
                    $(RecordType::$kind => &[$(stringify!($field)),*],)*
                    _ => &[],
                }
            }
        }
    };
}

records!(rows!);

/// The index of a type's table; `None` if records of the type are not added up.
pub(super) fn table_index(of: RecordType) -> Option<usize> {
    TABLES.iter().position(|known| *known == of)
}

impl RecordType {
    /// Whether records of the type are added up by key, in a table of the profile.
    pub fn is_added_up(self) -> bool {
        table_index(self).is_some()
    }

    /// True for the record types that carry a `stack` of frames.
    pub fn has_stack(self) -> bool {
        self.fields().contains(&"stack")
    }
}

impl Profile {
    /// The counts to write of these events: the first always, others where they are not 0.
    fn counts<'a>(&'a self, events: &[usize], row: &[crate::record::Count]) -> Counts<'a> {
        let counts = events.iter().enumerate().filter_map(|(position, event)| {
            let count = row.get(*event).copied().unwrap_or(0);
            (position == 0 || count != 0).then(|| (Name::from(self.events[*event].as_str()), count))
        });
        Counts(counts.collect())
    }
}
