//! Lines of a text that a reader could not parse. Counts them and keeps the first one for a message.

use cg_reader::{Error, Reading, excerpt};

/// The lines that a reader left out.
#[derive(Default)]
pub(crate) struct UnreadLines {
    lines: u64,
    first: Option<(u64, String)>,
}

impl UnreadLines {
    /// Counts a line that is left out.
    #[cold]
    pub(crate) fn add(&mut self, line: &[u8], number: u64) {
        self.lines += 1;
        self.first.get_or_insert_with(|| (number, excerpt(line)));
    }

    /// Warns about the lines, if there are any. `what` describes the problem.
    pub(crate) fn warn(&self, what: &str, reading: &mut Reading) {
        if let Some((line, found)) = &self.first {
            let lines = self.lines;
            reading.warn_at(
                *line,
                format!("{what}: {found}; such lines left out: {lines}"),
            );
        }
    }

    /// Checks that no line was left out.
    ///
    /// # Errors
    /// Returns an error at the first line that was left out.
    pub(crate) fn refuse(self, expected: &str) -> Result<(), Error> {
        let Some((line, found)) = self.first else {
            return Ok(());
        };
        let lines = self.lines;
        Err(Error::at(
            line,
            format!("expected {expected}, found {found}; lines left out: {lines}"),
        ))
    }
}
