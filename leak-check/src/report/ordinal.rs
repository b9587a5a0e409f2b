//! Fingerprints for consumers that want each of them once.

use std::collections::HashMap;

use super::ReportEntry;

/// Numbers entries of equal fingerprint: GitLab shows only the first of those that have the same.
#[derive(Default)]
pub(super) struct Ordinals(HashMap<String, u64>);

impl Ordinals {
    /// The entry's fingerprint, with a number behind it from the second one on.
    pub(super) fn fingerprint(&mut self, entry: &ReportEntry<'_>) -> String {
        let hex = entry.ruling.fingerprint(entry.finding).hex();
        let number = self.0.entry(hex.clone()).or_default();
        *number += 1;
        match *number {
            1 => hex,
            number => format!("{hex}-{number}"),
        }
    }
}
