//! GitLab's Code Quality report: an array of issues, each with a fingerprint of its own and a path in the repository.

use std::io;

use serde_json::{Value, json};

use super::{GateReport, kinds, ordinal};
use cg_stream::record::LeakKind;

pub(super) fn render(report: &GateReport<'_>) -> io::Result<Vec<u8>> {
    let mut ordinals = ordinal::Ordinals::default();
    let mut issues: Vec<Value> = Vec::new();
    for entry in report.groups().iter().flat_map(|group| &group.entries) {
        let place = report.place(entry);
        let severity = match entry.finding.leak_kind() {
            _ if !entry.ruling.status.fails() => "info",
            None => "critical",
            Some(LeakKind::Definite | LeakKind::Indirect) => "major",
            Some(LeakKind::Possible | LeakKind::Reachable) => "minor",
        };
        issues.push(json!({
            "description": report.message(entry),
            "check_name": kinds::rule(entry),
            "fingerprint": ordinals.fingerprint(entry),
            "severity": severity,
            "location": {
                "path": place.path,
                "lines": { "begin": place.line.unwrap_or(1).max(1) },
            },
        }));
    }
    let mut text = serde_json::to_vec_pretty(&issues).map_err(io::Error::from)?;
    text.push(b'\n');
    Ok(text)
}
