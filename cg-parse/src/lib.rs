//! Parses what Valgrind's tools and other profilers write into a cost stream. This crate alone knows their file formats.
//!
//! Readers stand together by what they read: `costs`, `findings`, `heaps`, `stacks` and `totals`. A format is one module with
//! one function of one signature, which gets what `format` has for all of them, and one entry of the list in `formats`.
#![warn(missing_docs)]

mod error;
mod format;
mod input;
mod json;
mod number;
mod out;
mod packed;
mod utf16;

mod costs;
pub mod findings;
mod heaps;
mod stacks;
mod totals;

mod formats;

mod detect;
mod directory;
mod head;
mod unsupported;

mod profiles;
mod stable_names;
pub mod stream;

#[cfg(test)]
mod testing;

pub use cg_debug_info::Search;
pub use error::Error;
pub use format::{Options, Revision, Snapshots};
pub use formats::{Answer, FORMATS, Format};
pub use input::without_empty_bases;
pub use profiles::parse;
