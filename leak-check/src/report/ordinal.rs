//! Unique fingerprints, for consumers that merge findings with equal ones.

use std::collections::HashMap;

use super::ReportEntry;

/// Numbers entries with equal fingerprints, because GitLab shows only the first of several equal ones.
#[derive(Default)]
pub(super) struct Ordinals(HashMap<String, u64>);

impl Ordinals {
    /// Returns the entry's fingerprint, followed by a number from the second equal one on.
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
