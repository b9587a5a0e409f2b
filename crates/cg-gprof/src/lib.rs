//! Readers of gprof's profiles: the time of functions, sampled, and the number of calls from function to function, counted.
//!
//! Both readers fill a `CallTimes`, which estimates inclusive times as gprof does: each call of a function takes the same
//! time. `cg-costs` has the model of the written records.
#![warn(missing_docs)]

mod gmon;
mod text;
mod times;

use cg_reader::{Error, Head, Reading};

pub use gmon::is_gmon;
pub use text::is_header_line;

/// Reads `gmon.out`, or the text of gprof: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let beginning = reading
        .lines
        .peek(gmon::LONGEST_SIGN)
        .map_err(Error::Input)?;
    match is_gmon(&Head::new(beginning, false)) {
        true => gmon::parse(reading),
        false => text::parse(reading),
    }
}

#[cfg(test)]
mod tests;
