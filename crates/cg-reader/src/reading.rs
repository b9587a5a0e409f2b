//! What a reader of a format is given.

use std::fmt::Display;
use std::io::Read as _;

use cg_stream::Diagnostics;
use cg_stream::record::RunRecord;

use crate::error::Error;
use crate::options::{Lines, Options};
use crate::out::Out;

/// Reads an input and hands on its rows.
///
/// # Errors
/// What is wrong with the input, behind what could be read of it; [`Error::Output`] where the sink refuses a row.
pub type ReadRecords = fn(&mut Reading<'_, '_>) -> Result<(), Error>;

/// An input that is read.
pub struct Reading<'a, 'o> {
    /// Its name in messages.
    pub source: &'a str,
    /// Its lines.
    pub lines: &'a mut Lines,
    /// What to read of it.
    pub options: &'a Options,
    /// Where its rows go.
    pub out: &'a mut Out<'o>,
    /// Where warnings go.
    pub diagnostics: &'a mut Diagnostics,
}

impl Reading<'_, '_> {
    /// The record of a run of this tool, of which no more is known than the input.
    pub fn run(&self, tool: &str) -> RunRecord {
        let mut run = RunRecord::new(tool);
        run.source = vec![self.source.to_owned()];
        run
    }

    /// All that is left of the input.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.lines.read_to_end(&mut bytes).map_err(Error::Input)?;
        Ok(bytes)
    }

    /// Warns of the input as a whole.
    pub fn warn(&mut self, message: impl Display) {
        let source = self.source;
        self.diagnostics.warn(format!("{source}: {message}"));
    }

    /// Warns of this many things in the input, if there are any.
    pub fn warn_of(&mut self, count: u64, what: &str) {
        if count > 0 {
            self.warn(format!("{count} {what}"));
        }
    }

    /// Says what makes the exit status 2 although the input is read.
    pub fn trouble(&mut self, message: impl Display) {
        let source = self.source;
        self.diagnostics.trouble(format!("{source}: {message}"));
    }

    /// Warns of a line.
    pub fn warn_at(&mut self, line: u64, message: impl Display) {
        let source = self.source;
        self.diagnostics.warn(format!("{source}:{line}: {message}"));
    }
}
