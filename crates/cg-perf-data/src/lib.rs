//! Reader of `perf.data`, the recordings of Linux' perf.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` of Linux, and `include/uapi/linux/perf_event.h` for the
//! records written by the kernel.
//!
//! ```text
//! file    := header (ids | attributes)* data features      header: magic, sizes, offsets of the others
//! pipe    := magic size record*                            `-o -`: attributes and features are records
//! data    := record*
//! record  := type:u32 misc:u16 size:u16 body               types below 64 are the kernel's, others perf's
//! ```
//!
//! `perf record --threads` writes a directory, in which the records are in several files (`directory`).
//!
//! A file is read from beginning to end like a pipe, without seeking. perf writes the data that the records depend on before
//! them. Data that is needed only at the end (names of events, build ids, the host) follows the records. The steps:
//! `container` returns the records, decompressed if necessary; `rounds` sorts them; `processes` tracks the mappings; each
//! sample becomes a stack of `locations`, which are objects with offsets. After the last record, each location is named
//! once, and the common table of the readers writes the stacks.
//!
//! The crate `linux-perf-data` reads the same format, but it seeks, which is impossible in pipes and compressed inputs. It
//! also allocates whatever sizes a file claims, returns nothing from the last round of a truncated file, and decompresses
//! with C code.
#![warn(missing_docs)]

mod attributes;
mod container;
mod counters;
mod directory;
mod features;
mod fields;
mod jit;
mod kernel;
mod locations;
mod names;
mod outcome;
mod processes;
mod reader;
mod records;
mod rounds;
mod sample;
mod stacks;
mod unpack;
mod unwinder;

use cg_reader::Head;

pub use directory::{directory_of_thread, main_file};
pub use reader::parse;

/// Returns true if an input begins with the magic of a recording, in either byte order.
pub fn is_recording(head: &Head) -> bool {
    fields::FileEndian::from_magic(head.bytes).is_some()
}

#[cfg(test)]
mod tests;
