//! Unique fingerprints, for consumers that merge findings with equal ones.

use std::collections::HashMap;

use super::ReportEntry;
use crate::fingerprint::hex;

/// Numbers entries with equal fingerprints, because GitLab shows only the first of several equal ones.
#[derive(Default)]
pub(super) struct Ordinals(HashMap<String, u64>);

impl Ordinals {
    /// Returns the entry's fingerprint, followed by a number from the second equal one on.
    pub(super) fn fingerprint(&mut self, entry: &ReportEntry<'_>) -> String {
        self.number(entry.ruling.fingerprint(entry.finding).hex())
    }

    /// Returns the fingerprint of a text in the same form.
    pub(super) fn fingerprint_of_text(&mut self, text: &str) -> String {
        self.number(hex([text].into_iter()))
    }

    fn number(&mut self, hex: String) -> String {
        let number = self.0.entry(hex.clone()).or_default();
        *number += 1;
        match *number {
            1 => hex,
            number => format!("{hex}-{number}"),
        }
    }
}
