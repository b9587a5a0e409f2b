//! The arguments of a reader.

use std::fmt::Display;
use std::io::Read as _;

use cg_collections::limits;
use cg_stream::Diagnostics;
use cg_stream::record::RunRecord;

use crate::error::Error;
use crate::options::{Lines, Options};
use crate::out::Out;
use crate::wording::plural;

/// A reader of a format. It reads an input and passes rows to [`Reading::out`].
///
/// # Errors
/// Returns an error if the input is malformed, after passing on the rows before the error. Returns [`Error::Output`] if the
/// sink rejects a row.
pub type ReadRecords = fn(&mut Reading<'_, '_>) -> Result<(), Error>;

/// An input with everything that is needed to read it.
pub struct Reading<'a, 'o> {
    /// The name of the input in messages.
    pub source: &'a str,
    /// The lines of the input.
    pub lines: &'a mut Lines,
    /// The options for reading.
    pub options: &'a Options,
    /// The output for rows.
    pub out: &'a mut Out<'o>,
    /// The output for warnings and errors.
    pub diagnostics: &'a mut Diagnostics,
}

impl Reading<'_, '_> {
    /// Creates the record of a run of this tool. It has only the name of the input.
    pub fn run(&self, tool: &str) -> RunRecord {
        let mut run = RunRecord::new(tool);
        run.source = vec![self.source.to_owned()];
        run
    }

    /// Reads the rest of the input.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        /// The maximum number of bytes between two looks at the limit.
        const PART: u64 = 64 << 20;
        let mut bytes = Vec::new();
        // The limit grows while the input is read.
        loop {
            let room = limits::longest_whole().saturating_sub(bytes.len() as u64);
            let read = self
                .lines
                .by_ref()
                .take(room.min(PART))
                .read_to_end(&mut bytes);
            match read.map_err(Error::Input)? {
                0 if room == 0 && !self.lines.is_at_end().map_err(Error::Input)? => {
                    return Err(Error::whole(limits::TOO_MUCH_MEMORY));
                }
                0 => return Ok(bytes),
                _ => {}
            }
        }
    }

    /// Warns about the input as a whole.
    pub fn warn(&mut self, message: impl Display) {
        let source = self.source;
        self.diagnostics.warn(format!("{source}: {message}"));
    }

    /// Warns about `count` things in the input, unless `count` is 0.
    pub fn warn_count(&mut self, count: u64, one: &str, many: &str) {
        if count > 0 {
            self.warn(plural(count, one, many));
        }
    }

    /// Reports an error about the input, which makes the exit status 2. Reading continues.
    pub fn error(&mut self, message: impl Display) {
        let source = self.source;
        self.diagnostics.error(format!("{source}: {message}"));
    }

    /// Warns about a line.
    pub fn warn_at(&mut self, line: u64, message: impl Display) {
        let source = self.source;
        self.diagnostics.warn(format!("{source}:{line}: {message}"));
    }
}
