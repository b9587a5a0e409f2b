//! Words of messages that contain a count.

use cg_stream::record::Count;

/// Returns a count with its words: `1 sample is`, `2 samples are`. The digits are not grouped, so that people can search the
/// input for them.
pub fn plural(count: impl Into<Count>, one: &str, many: &str) -> String {
    let count = count.into();
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns each count above 0 with its words, like [`plural`].
pub fn plurals<const N: usize>(counts: [(u64, &str, &str); N]) -> Vec<String> {
    let occurred = counts.into_iter().filter(|(count, ..)| *count > 0);
    occurred
        .map(|(count, one, many)| plural(count, one, many))
        .collect()
}
