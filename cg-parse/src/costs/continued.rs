//! Names that go on in the next line. A path or a symbol may have line ends, and neither Callgrind nor Cachegrind escapes
//! them: a line that is none of the format's and follows one that gave a name is taken for the rest of that name.

use cg_stream::Diagnostics;

use crate::error::excerpt;

/// A line that gave a name, and what it gave it to.
#[derive(Clone, Copy)]
pub(crate) struct NameLine<T> {
    line_number: u64,
    given: T,
}

impl<T> NameLine<T> {
    pub(crate) fn new(line_number: u64, given: T) -> NameLine<T> {
        NameLine { line_number, given }
    }

    /// What the name was given to, where this line follows the one that gave it.
    pub(crate) fn continued_at(self, line_number: u64) -> Option<T> {
        (self.line_number + 1 == line_number).then_some(self.given)
    }
}

/// The name that began in the line before, with this line; it is said that a line was taken so.
pub(crate) fn continued(
    begun: &[u8],
    line: &[u8],
    source: &str,
    line_number: u64,
    diagnostics: &mut Diagnostics,
) -> Vec<u8> {
    diagnostics.warn(format!(
        "{source}:{line_number}: taken for the rest of the name in the line before: {}",
        excerpt(line)
    ));
    [begun, b"\n", line].concat()
}
