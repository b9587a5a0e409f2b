//! Names with line breaks. A path or a symbol may contain them, and neither Callgrind nor Cachegrind escapes them: a
//! line that the format does not know, directly behind a line that gave a name, is read as the rest of that name.

use cg_reader::excerpt;
use cg_stream::Diagnostics;

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

    /// What the earlier line named, if this line directly follows it.
    pub(crate) fn continued_at(self, line_number: u64) -> Option<T> {
        (self.line_number + 1 == line_number).then_some(self.given)
    }
}

/// Appends this line to the name that began in the line before, and warns that it was read so.
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
