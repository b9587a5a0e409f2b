//! The lines of a source by themselves, for a page that lays them out.

use std::ops::RangeInclusive;

use cg_sources::{FoundSource, Places};

/// The wanted lines of a source, ranges in order that do not overlap; nothing of one that may not be shown or is not found.
pub(crate) fn source_lines(
    places: &Places,
    name: &str,
    wanted: &[RangeInclusive<u64>],
) -> Vec<(u64, String)> {
    match places.find(name, wanted) {
        FoundSource::Shown(_, source) => {
            let lines = source.lines().iter();
            lines.map(|(line, text)| (*line, text.clone())).collect()
        }
        FoundSource::Refused(..) | FoundSource::Nowhere => Vec::new(),
    }
}
