//! Lines of a text that were not understood: they are counted, and the first is shown.

use cg_reader::{Error, Reading, excerpt};

/// Lines that were left out.
#[derive(Default)]
pub(crate) struct UnreadLines {
    lines: u64,
    first: Option<(u64, String)>,
}

impl UnreadLines {
    /// Leaves out a line with this number.
    #[cold]
    pub(crate) fn add(&mut self, line: &[u8], number: u64) {
        self.lines += 1;
        self.first.get_or_insert_with(|| (number, excerpt(line)));
    }

    /// Warns of them, saying what they were not.
    pub(crate) fn warn(&self, what: &str, reading: &mut Reading) {
        if let Some((line, found)) = &self.first {
            let lines = self.lines;
            reading.warn_at(
                *line,
                format!("{what}: {found}; such lines left out: {lines}"),
            );
        }
    }

    /// Nothing, or the error that something was expected where they stood.
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
