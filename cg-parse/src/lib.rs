//! Parses what Valgrind's tools and other profilers write into a cost stream: the door to the readers.
//!
//! Readers are crates by what they read: `cg-callgrind`, `cg-findings`, `cg-heaps`, `cg-stacks` and `cg-totals`. A format is
//! one module of one of them, with one function of one signature, and one entry of the list in `formats`.
#![warn(missing_docs)]

mod detect;
mod directory;
mod format;
mod formats;
mod input;
mod layouts;
mod packed;
mod unsupported;
mod utf16;

mod profiles;
#[cfg(feature = "args")]
pub mod record_args;
mod stable_names;
pub mod stream;

pub use cg_findings as findings;
pub use cg_reader::{Error, KeptObjects, Options, Revision, Search, Snapshots};
pub use format::{Answer, Format};
pub use formats::FORMATS;
pub use input::without_empty_bases;
pub use layouts::two_layouts;
pub use profiles::parse;
pub use unsupported::hints;
