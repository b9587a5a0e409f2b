//! From records to rows and back, for every type that is declared.
//!
//! What a role means is written here once: `into_key!`, `into_row!`, `into_detail!` and `agree!` add a record's field
//! up, `out_of_row!` makes the field of the sum again.

use std::io;

use super::key::{Key, StackId, Symbol, function_key, symbol};
use super::sum::NotAdded;
use super::table::{Detail, Rows};
use super::{FunctionKey, Names, Profile};
use crate::intern::TooMany;
use crate::record::declaration::records;
use crate::record::{
    CallRecord, Counts, ErrorRecord, FnRecord, Frame, FunctionName, HeapBlock, HeapRecord,
    InlineRecord, LeakRecord, LineRecord, Name, Note, ProgramPointRecord, Record, RecordType,
    StackRecord,
};
use crate::{Error, Line, Writer};

/// A record type that is added up.
trait Added<'a>: Record + Sized {
    /// Adds the record to the row with its key.
    fn add(
        self,
        names: &mut Names,
        events: &mut Vec<String>,
        table: &mut Rows,
    ) -> Result<(), NotAdded>;

    /// The record that a row stands for, with these of the profile's events.
    fn of_row(profile: &'a Profile, row: usize, events: &[usize]) -> Self;
}

/// A field of a key, as records have it.
trait Keyed<'a>: Sized {
    /// How the key holds it.
    type Held;
    fn to_key(&self, names: &mut Names) -> Result<Self::Held, TooMany>;
    fn of_key(held: Self::Held, names: &'a Names) -> Self;
}

impl<'a> Keyed<'a> for Option<Name<'a>> {
    type Held = Option<Symbol>;

    fn to_key(&self, names: &mut Names) -> Result<Option<Symbol>, TooMany> {
        symbol(&mut names.symbols, self)
    }

    fn of_key(held: Option<Symbol>, names: &'a Names) -> Self {
        held.map(|symbol| Name::from(names.symbols.text(symbol)))
    }
}

impl<'a> Keyed<'a> for Name<'a> {
    type Held = Option<Symbol>;

    fn to_key(&self, names: &mut Names) -> Result<Option<Symbol>, TooMany> {
        names.symbols.intern(self).map(Some)
    }

    fn of_key(held: Option<Symbol>, names: &'a Names) -> Self {
        <Option<Name> as Keyed>::of_key(held, names).unwrap_or_default()
    }
}

impl Keyed<'_> for Option<u64> {
    type Held = Option<u64>;

    fn to_key(&self, _: &mut Names) -> Result<Option<u64>, TooMany> {
        Ok(*self)
    }

    fn of_key(held: Option<u64>, _: &Names) -> Self {
        held
    }
}

impl Keyed<'_> for u64 {
    type Held = Option<u64>;

    fn to_key(&self, _: &mut Names) -> Result<Option<u64>, TooMany> {
        Ok(Some(*self))
    }

    fn of_key(held: Option<u64>, _: &Names) -> Self {
        held.unwrap_or(0)
    }
}

impl Keyed<'_> for bool {
    type Held = bool;

    fn to_key(&self, _: &mut Names) -> Result<bool, TooMany> {
        Ok(*self)
    }

    fn of_key(held: bool, _: &Names) -> Self {
        held
    }
}

impl<'a> Keyed<'a> for FunctionName<'a> {
    type Held = Option<FunctionKey>;

    fn to_key(&self, names: &mut Names) -> Result<Option<FunctionKey>, TooMany> {
        function_key(&mut names.symbols, &self.name, &self.file, &self.obj).map(Some)
    }

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

    fn to_key(&self, names: &mut Names) -> Result<Option<StackId>, TooMany> {
        names.stacks.intern(self, &mut names.symbols).map(Some)
    }

    fn of_key(held: Option<StackId>, names: &'a Names) -> Self {
        let Some(stack) = held else {
            return Vec::new();
        };
        let frames = names.stacks.frames(stack).iter();
        frames
            .zip(names.stacks.addresses(stack))
            .map(|(frame, addr)| Frame {
                name: Keyed::of_key(frame.function.name, names),
                file: Keyed::of_key(frame.function.file, names),
                line: frame.line,
                site: Keyed::of_key(frame.site, names),
                obj: Keyed::of_key(frame.function.obj, names),
                addr: Keyed::of_key(addr, names),
                ..Frame::default().with_marks(frame.marks)
            })
            .collect()
    }
}

impl<'a> Keyed<'a> for Vec<Name<'a>> {
    type Held = Option<StackId>;

    fn to_key(&self, names: &mut Names) -> Result<Option<StackId>, TooMany> {
        if self.is_empty() {
            return Ok(None);
        }
        let frames: Vec<Frame> = (self.iter())
            .map(|name| Frame {
                name: Some(name.clone()),
                ..Frame::default()
            })
            .collect();
        names.stacks.intern(&frames, &mut names.symbols).map(Some)
    }

    fn of_key(held: Option<StackId>, names: &'a Names) -> Self {
        let frames = held.map(|stack| names.stacks.frames(stack));
        let frames = frames.unwrap_or_default();
        (frames.iter())
            .map(|frame| Keyed::of_key(frame.function.name, names))
            .collect()
    }
}

/// A field of a detail, as records have it.
trait Kept<'a>: Sized {
    /// How the detail holds it.
    type Held;
    fn to_detail(self) -> Self::Held;
    fn of_detail(held: &'a Self::Held) -> Self;
}

impl Kept<'_> for Option<u64> {
    type Held = Option<u64>;

    fn to_detail(self) -> Option<u64> {
        self
    }

    fn of_detail(held: &Option<u64>) -> Self {
        *held
    }
}

impl Kept<'_> for Option<HeapBlock> {
    type Held = Option<HeapBlock>;

    fn to_detail(self) -> Self {
        self
    }

    fn of_detail(held: &Self) -> Self {
        held.clone()
    }
}

impl Kept<'_> for Option<Vec<Option<u64>>> {
    type Held = Option<Vec<Option<u64>>>;

    fn to_detail(self) -> Self {
        self
    }

    fn of_detail(held: &Self) -> Self {
        held.clone()
    }
}

impl<'a> Kept<'a> for Option<Name<'a>> {
    type Held = Option<Name<'static>>;

    fn to_detail(self) -> Option<Name<'static>> {
        self.map(Name::into_owned)
    }

    fn of_detail(held: &'a Option<Name<'static>>) -> Self {
        held.as_deref().map(Name::from)
    }
}

impl<'a> Kept<'a> for Vec<Frame<'a>> {
    type Held = Vec<Frame<'static>>;

    fn to_detail(self) -> Vec<Frame<'static>> {
        self.into_iter().map(Frame::into_owned).collect()
    }

    fn of_detail(held: &'a Vec<Frame<'static>>) -> Self {
        held.clone()
    }
}

impl<'a> Kept<'a> for Vec<Note<'a>> {
    type Held = Vec<Note<'static>>;

    fn to_detail(self) -> Vec<Note<'static>> {
        self.into_iter().map(Note::into_owned).collect()
    }

    fn of_detail(held: &'a Vec<Note<'static>>) -> Self {
        held.clone()
    }
}

/// Puts a field into the key of its row.
macro_rules! into_key {
    (function $field:ident of $record:ident, $key:ident, $names:ident) => {
        $key.function.$field = Keyed::to_key(&$record.$field, $names)?;
    };
    (key $field:ident of $record:ident, $key:ident, $names:ident) => {
        $key.$field = Keyed::to_key(&$record.$field, $names)?;
    };
    ($other:ident $field:ident of $record:ident, $key:ident, $names:ident) => {};
}

/// Adds a field to its row.
macro_rules! into_row {
    (cost $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.add_costs($row, &$record.$field, $events)?;
    };
    (incl $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.add_incls($row, &$record.$field, $events)?;
    };
    (incl_or_cost $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.add_incls_or_costs($row, &$record.$field, &$record.cost, $events)?;
    };
    (sum $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        let sum = $table.numbers.$field.sum($row, $record.$field);
        sum.map_err(|beyond| beyond.of(stringify!($field)))?;
    };
    (max $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.numbers.$field.max($row, $record.$field);
    };
    (min $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.numbers.$field.min($row, $record.$field);
    };
    (any $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {
        $table.numbers.$field.any($row, $record.$field);
    };
    ($other:ident $field:ident of $record:ident, $table:ident, $row:ident, $events:ident) => {};
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
    (agreed $field:ident of $record:ident, $detail:ident) => {
        $detail.$field = Kept::to_detail($record.$field);
    };
    (detail $field:ident of $record:ident, $detail:ident) => {
        $detail.$field = Kept::to_detail($record.$field);
    };
    ($other:ident $field:ident of $record:ident, $detail:ident) => {};
}

/// Takes out of a detail what another does not agree on.
macro_rules! agree {
    (agreed $field:ident of $known:ident, $other:ident) => {
        if $known.$field != $other.$field {
            $other.$field = Default::default();
        }
    };
    ($role:ident $field:ident of $known:ident, $other:ident) => {};
}

/// A field of the record that a row stands for.
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

/// A number beside the cost, as records have it.
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
    ($($(#[$of_type:meta])* $kind:ident $word:literal $record:ident {
        $($(#[$of_field:meta])* $role:ident $field:ident: $type:ty,)*
    })*) => {
        /// The record types that are added up in tables.
        pub(super) const TABLES: [RecordType; [$($word),*].len()] = [$(RecordType::$kind),*];

        $(
            impl<'a> Added<'a> for $record<'a> {
                fn add(
                    self,
                    names: &mut Names,
                    events: &mut Vec<String>,
                    table: &mut Rows,
                ) -> Result<(), NotAdded> {
                    let record = self;
                    let mut key = Key::default();
                    $(into_key!($role $field of record, key, names);)*
                    let rows = table.len();
                    let row = table.row(key)?;
                    $(into_row!($role $field of record, table, row, events);)*
                    if false $(|| is_detail!($role))* {
                        #[allow(unused_mut, reason = "most types have no field for it")]
                        let mut detail = Detail::default();
                        $(into_detail!($role $field of record, detail);)*
                        table.add_detail(row, row == rows, detail, |_known, _other| {
                            $(agree!($role $field of _known, _other);)*
                        });
                    }
                    Ok(())
                }

                fn of_row(profile: &'a Profile, row: usize, events: &[usize]) -> $record<'a> {
                    let table = profile.table(RecordType::$kind);
                    $record { $($field: out_of_row!($role $field of profile, table, row, events),)* }
                }
            }
        )*

        impl Profile {
            /// Adds a line of a type that is added up; false for a line of another type.
            pub(super) fn add_row(&mut self, line: &Line<'_>) -> Result<bool, Error> {
                let Some(table) = table_index(line.kind) else {
                    return Ok(false);
                };
                let (names, events) = (&mut self.names, &mut self.events);
                let table = &mut self.tables[table];
                let added = match line.kind {
                    $(RecordType::$kind => line.parse::<$record>()?.add(names, events, table),)*
                    _ => Ok(()),
                };
                added.map_err(|refusal| Error::at(line.number, refusal.to_string()))?;
                Ok(true)
            }

            /// Writes rows of a type as the records that they stand for, in this order and with these of the profile's
            /// [events](Profile::events): the first of them always, the others where they are not 0.
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

/// Where a type has its table.
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
