//! Recordings of Linux' perf, `perf.data`, read as they are.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` of Linux, and `include/uapi/linux/perf_event.h` for the records
//! that the kernel writes.
//!
//! ```text
//! file    := header (ids | attributes)* data features      header: magic, sizes, where the others are
//! pipe    := magic size record*                            `-o -`: attributes and features are records
//! data    := record*
//! record  := type:u32 misc:u16 size:u16 body               below 64 the kernel's, from 64 on perf's own
//! ```
//!
//! A file is read from its beginning to its end as a pipe is, and never sought in: perf writes what it takes to understand
//! the data in front of it, and what is wanted at last (names of events, build ids, the host) behind it. The steps:
//! `container` hands out records, unpacked where perf packed them; `rounds` puts them in order; `processes` follows
//! what is mapped where; a sample becomes a stack of `locations`, each an object and an offset in it; once all are read,
//! each location is named once, and the stacks are written by the readers' common table.
//!
//! The crate `linux-perf-data` reads the same format. It seeks, which no pipe and no packed input can; it allocates what
//! sizes in a file claim; of a file that is cut short it hands out nothing of the last round; and it unpacks with C.
#![warn(missing_docs)]

mod attributes;
mod container;
mod counters;
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

pub use reader::parse;

/// True for a recording: its magic, in either byte order.
pub fn is_recording(head: &Head) -> bool {
    fields::FileEndian::of_magic(head.bytes).is_some()
}

#[cfg(test)]
mod tests;
