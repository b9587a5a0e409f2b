//! Callgrind's profile format, as Callgrind, Valgrind's xtrees and many other profilers write it.
//!
//! Manual: Callgrind, "Callgrind Format Specification" (`cl-format.xml`); writer: `callgrind/dump.c`. Where the two
//! differ the writer is right. A file is one part or several, each a header of `key: value` lines and a body of
//!
//! ```text
//! ob= fl= fi= fe= fn=        position in force: object, file of the function, file of inlined code, function
//! cob= cfi= cfl= cfn=        the called position, for the calls= that follows
//! calls=N TARGET             the next cost line is the inclusive cost of N calls
//! jump=… jcnd=…              the next line has positions only
//! POSITIONS COSTS            self cost; trailing zeros are left out, all of them may be
//! totals: COSTS              the sum of the part's self cost
//! ```
//!
//! What known producers do differently is written down where it is handled: [`names`] for compressed names,
//! [`position`] for positions, [`functions`] for what a number stands for, [`inclusive`] for recursion. `summary:` is
//! what the simulator counted and often differs from the sum of the costs that were written; `totals:` is that sum, and
//! is checked.

use cg_costs::section::Section;
use cg_reader::{Error, Lines, Options};
use cg_stream::Diagnostics;

use super::PartDone;

mod names;

mod position;

mod recursion;

pub(crate) mod counts;

pub(crate) mod header;

mod decoration;

mod functions;

mod part;

mod contexts;

mod inclusive;

pub(crate) mod levels;

mod reader;

#[cfg(test)]
mod tests;

/// Adds a profile to a section, part by part. What was read before an error is in the section.
pub(crate) fn read(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    section: &mut Section,
    part_done: PartDone,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    reader::CallgrindReader::new(source, options, section, part_done, diagnostics).read(lines)
}
