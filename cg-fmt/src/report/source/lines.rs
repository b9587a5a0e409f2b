//! The lines of a source without costs, for a page that lays them out.

use std::ops::RangeInclusive;

use cg_sources::{FoundSource, Places};

/// Returns the wanted lines of a source, with their numbers. The ranges are in order and do not overlap. Returns no lines if
/// the source may not be shown or was not found.
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
