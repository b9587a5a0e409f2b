//! Callgrind's profile format, as Callgrind, Valgrind's xtrees and many other profilers write it.
//!
//! Manual: Callgrind, "Callgrind Format Specification" (`cl-format.xml`); writer: `callgrind/dump.c`. If the two differ,
//! the writer is right. A file has one or more parts. Each part has a header of `key: value` lines and a body of
//!
//! ```text
//! ob= fl= fi= fe= fn=        position in force: object, file of the function, file of inlined code, function
//! cob= cfi= cfl= cfn=        the called position, for the calls= that follows
//! calls=N TARGET             the next cost line is the inclusive cost of N calls
//! jump=… jcnd=…              the next line has positions only
//! POSITIONS COSTS            self cost; trailing zeros are omitted, so there may be no costs at all
//! totals: COSTS              the sum of the part's self cost
//! ```
//!
//! The modules that handle deviations of known producers also describe them: [`names`] for compressed names, [`position`]
//! for positions, [`functions`] for the meaning of numbers, [`inclusive`] for recursion. `summary:` has the counts of the
//! simulator, which often differ from the sum of the written costs. `totals:` has the sum of the written costs, and the
//! reader checks it.

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

/// Adds a profile to a section, part by part. If there is an error, the section keeps the data read before it.
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
