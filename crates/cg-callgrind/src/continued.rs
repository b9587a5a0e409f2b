//! Names with line breaks. A path or a symbol may contain them, and neither Callgrind nor Cachegrind escapes them.
//! If a line that the format does not define directly follows a line with a name, it is read as the rest of the name.

use cg_reader::excerpt;
use cg_stream::Diagnostics;

/// A line that gave a name, and the thing that it named.
#[derive(Clone, Copy)]
pub(crate) struct NameLine<T> {
    line_number: u64,
    given: T,
}

impl<T> NameLine<T> {
    pub(crate) fn new(line_number: u64, given: T) -> NameLine<T> {
        NameLine { line_number, given }
    }

    /// Returns the thing that the earlier line named; `None` if this line does not directly follow it.
    pub(crate) fn continued_at(self, line_number: u64) -> Option<T> {
        (self.line_number + 1 == line_number).then_some(self.given)
    }
}

/// Appends this line to the name that began on the previous line, and warns about it.
pub(crate) fn append_to_name(
    begun: &[u8],
    line: &[u8],
    source: &str,
    line_number: u64,
    diagnostics: &mut Diagnostics,
) -> Vec<u8> {
    diagnostics.warn(format!(
        "{source}:{line_number}: read as the rest of the name on the previous line: {}",
        excerpt(line)
    ));
    [begun, b"\n", line].concat()
}
