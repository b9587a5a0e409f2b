//! Readers of one input for the tests, and tests of both formats.

mod laws;
mod stacks;

use cg_reader::{Error, FARTHEST_LOOK, Head, Reading};

use crate::recognise::find_format;
use crate::sums::{Summed, Sums};

/// Reads a Callgrind profile.
pub(crate) fn callgrind(reading: &mut Reading) -> Result<(), Error> {
    read(Summed::Callgrind, reading)
}

/// Reads a profile of the detected tool, or of Callgrind if no tool is detected.
pub(crate) fn recognised(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.lines.peek(FARTHEST_LOOK).map_err(Error::Input)?;
    let tool = find_format(&Head::new(text, true));
    read(tool.unwrap_or(Summed::Callgrind), reading)
}

fn read(tool: Summed, reading: &mut Reading) -> Result<(), Error> {
    let mut sums = Sums::new(reading.options);
    let read = sums.read(tool, reading);
    sums.write(read.is_ok(), reading.out, reading.diagnostics)?;
    read
}
