//! The structs of the record types in [`super::declaration`], and [`RecordType`].
//!
//! Each struct borrows its names from the line it was read from and has `type` as its first key.

use serde::{Deserialize, Serialize};

use super::{Counts, Frame, FunctionName, HeapBlock, Name, Note, Record, SampleLabels, is_nothing};
use crate::records;

/// Generates a struct. Recursive: each step moves one field from the second braces to the first, with the attribute and the
/// type that [`struct_field`] has for the word of its declaration.
macro_rules! record_struct {
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident as $key:literal: Option<$name:ident>, $($rest:tt)* }) => {
        record_struct! { $head $done {
            $(#[$meta])* #[serde(rename = $key)] $role $field: Option<$name>, $($rest)*
        } }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: $word:ident $(<$of:ident>)?, $($rest:tt)* }) => {
        struct_field! { [$head $done { $($rest)* } $(#[$meta])* $field] $word $($of)? }
    };
    (@field [$head:tt { $($done:tt)* } $rest:tt $(#[$meta:meta])* $field:ident] ($($serde:tt)*) $type:ty) => {
        record_struct! { $head { $($done)* $(#[$meta])* #[serde($($serde)*)] pub $field: $type, } $rest }
    };
    ({ $(#[$meta:meta])* $word:literal $record:ident } { $($body:tt)* } {}) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "type", rename = $word, default)]
        pub struct $record<'a> { $($body)* }
    };
}

/// Maps a word of the declaration to the serde attribute and the type of a struct's field.
macro_rules! struct_field {
    ($to:tt Option u64) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") Option<u64> }
    };
    ($to:tt Option HeapBlock) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") Option<HeapBlock> }
    };
    ($to:tt Option Accesses) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") Option<Vec<Option<u64>>> }
    };
    ($to:tt Option Labels) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") Option<SampleLabels<'a>> }
    };
    ($to:tt Option Counts) => {
        record_struct! { @field $to (borrow, skip_serializing_if = "is_nothing") Counts<'a> }
    };
    ($to:tt Option $name:ident) => {
        record_struct! { @field $to (borrow, skip_serializing_if = "is_nothing") Option<Name<'a>> }
    };
    ($to:tt Inlined) => {
        record_struct! { @field $to (borrow, skip_serializing_if = "is_nothing") Vec<Frame<'a>> }
    };
    ($to:tt Names) => {
        record_struct! { @field $to (borrow, skip_serializing_if = "is_nothing") Vec<Name<'a>> }
    };
    ($to:tt Notes) => {
        record_struct! { @field $to (borrow, skip_serializing_if = "is_nothing") Vec<Note<'a>> }
    };
    ($to:tt Mark) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") bool }
    };
    ($to:tt NonZero) => {
        record_struct! { @field $to (skip_serializing_if = "is_nothing") u64 }
    };
    ($to:tt Text) => {
        record_struct! { @field $to (borrow) Name<'a> }
    };
    ($to:tt Counts) => {
        record_struct! { @field $to (borrow) Counts<'a> }
    };
    ($to:tt Callee) => {
        record_struct! { @field $to (borrow) FunctionName<'a> }
    };
    ($to:tt Stack) => {
        record_struct! { @field $to (borrow) Vec<Frame<'a>> }
    };
    ($to:tt $type:ident) => {
        record_struct! { @field $to () $type }
    };
}

/// Lists the names of the fields of one type.
macro_rules! field_names {
    ({ $($(#[$meta:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)* }) => {
        &[$(stringify!($field)),*]
    };
}

/// Generates the structs of all declared types, and [`RecordType`].
macro_rules! structs {
    ($($(#[$meta:meta])* $kind:ident $word:literal $record:ident $row:ident $fields:tt)*) => {
        /// The type of a record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RecordType {
            /// The first record of a stream: its origin, its events and its total.
            Run,
            $($(#[$meta])* $kind,)*
            /// The heap sizes of a Massif snapshot.
            Snapshot,
            /// A comparison of one record over several runs.
            Diff,
            /// A part of the difference of two totals.
            Cause,
            /// A change in a series of profiles.
            Step,
            /// The costs of a function in a series of profiles.
            Series,
            /// The last record of a stream.
            End,
            /// A type that this version does not know. Filters copy its records unchanged.
            Other,
        }

        impl RecordType {
            /// All types with their names in a stream.
            pub const ALL: [(&'static str, RecordType); 7 + [$($word),*].len()] = [
                ("run", RecordType::Run),
                $(($word, RecordType::$kind),)*
                ("snapshot", RecordType::Snapshot),
                ("diff", RecordType::Diff),
                ("cause", RecordType::Cause),
                ("step", RecordType::Step),
                ("series", RecordType::Series),
                ("end", RecordType::End),
            ];

            /// Returns the fields of a declared type in their order in a stream; empty for other types.
            pub fn fields(self) -> &'static [&'static str] {
                match self {
                    $(RecordType::$kind => field_names!($fields),)*
                    _ => &[],
                }
            }

            /// Returns true if records of this type have a `stack` of frames.
            pub fn has_stack(self) -> bool {
                self.fields().contains(&"stack")
            }

            /// The names of the declared types.
            pub const DECLARED: &'static [&'static str] = &[$($word),*];

            /// The names of the types that can be listed: all except `run` and `end`.
            pub const LISTED: &'static [&'static str] = &[$($word,)* "snapshot", "diff", "cause"];
        }

        $(
            record_struct! { { $(#[$meta])* $word $record } {} $fields }

            impl Record for $record<'_> {
                const TYPE: RecordType = RecordType::$kind;
            }
        )*
    };
}

records!(structs!);
