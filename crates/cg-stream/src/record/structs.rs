//! The structs of the record types in [`super::declaration`], and [`RecordType`].
//!
//! Each borrows its names from the line it was read from and has `type` as its first key.

use serde::{Deserialize, Serialize};

use super::declaration::records;
use super::{
    Counts, Frame, FunctionName, HeapBlock, Name, Note, Record, SampleLabels, is_false, is_zero,
};

/// Generates a struct: maps the word of each field's declaration to a type and serde attributes. Recursive: each step
/// moves one field from the second braces to the first.
macro_rules! record_struct {
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident as $key:literal: Option<$name:ident>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(rename = $key, borrow, skip_serializing_if = "Option::is_none")]
            $field: Option<Name<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<u64>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "Option::is_none")] $field: Option<u64> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<HeapBlock>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "Option::is_none")] $field: Option<HeapBlock> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<Accesses>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "Option::is_none")] $field: Option<Vec<Option<u64>>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<Counts>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(borrow, skip_serializing_if = "Counts::is_empty")] $field: Counts<'a> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<Labels>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "Option::is_none")] $field: Option<SampleLabels<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Option<$name:ident>, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(borrow, skip_serializing_if = "Option::is_none")] $field: Option<Name<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Text, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* } $(#[$meta])* #[serde(borrow)] $field: Name<'a> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Counts, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* } $(#[$meta])* #[serde(borrow)] $field: Counts<'a> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Callee, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* } $(#[$meta])* #[serde(borrow)] $field: FunctionName<'a> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Stack, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* } $(#[$meta])* #[serde(borrow)] $field: Vec<Frame<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Inlined, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(borrow, skip_serializing_if = "Vec::is_empty")] $field: Vec<Frame<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Names, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(borrow, skip_serializing_if = "Vec::is_empty")] $field: Vec<Name<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Notes, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(borrow, skip_serializing_if = "Vec::is_empty")] $field: Vec<Note<'a>> }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: Mark, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "is_false")] $field: bool }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: NonZero, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* }
            $(#[$meta])* #[serde(skip_serializing_if = "is_zero")] $field: u64 }
    };
    ($head:tt $done:tt { $(#[$meta:meta])* $role:ident $field:ident: $type:ident, $($rest:tt)* }) => {
        record_struct! { @field $head $done { $($rest)* } $(#[$meta])* $field: $type }
    };
    (@field $head:tt { $($done:tt)* } $rest:tt $(#[$meta:meta])* $field:ident: $type:ty) => {
        record_struct! { $head { $($done)* $(#[$meta])* pub $field: $type, } $rest }
    };
    ({ $(#[$meta:meta])* $word:literal $record:ident } { $($body:tt)* } {}) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "type", rename = $word, default)]
        pub struct $record<'a> { $($body)* }
    };
}

/// Makes [`RecordType`] and the structs of all declared types.
macro_rules! structs {
    ($($(#[$meta:meta])* $kind:ident $word:literal $record:ident $row:ident $fields:tt)*) => {
        /// What the `type` of a record says it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RecordType {
            /// The first record of a stream: where it is from, its events and its total.
            Run,
            $($(#[$meta])* $kind,)*
            /// The levels of a Massif snapshot.
            Snapshot,
            /// A comparison of one record over several runs.
            Diff,
            /// A part of the difference of two totals.
            Cause,
            /// The last record of a stream.
            End,
            /// A type this version does not know; it passes through.
            Other,
        }

        impl RecordType {
            /// All types by the name they have in a stream.
            pub const ALL: [(&'static str, RecordType); 5 + [$($word),*].len()] = [
                ("run", RecordType::Run),
                $(($word, RecordType::$kind),)*
                ("snapshot", RecordType::Snapshot),
                ("diff", RecordType::Diff),
                ("cause", RecordType::Cause),
                ("end", RecordType::End),
            ];

            /// The names of the declared types.
            pub const DECLARED: &'static [&'static str] = &[$($word),*];

            /// The names of the types that can be listed: all that do not frame a stream.
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
