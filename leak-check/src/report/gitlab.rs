//! GitLab's Code Quality report: an array of issues, each with a unique fingerprint and a path in the repository.

use std::io::{self, Write};

use cg_stream::record::LeakKind;
use serde_json::{Value, json};

use super::{GateReport, kinds, ordinal};

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut ordinals = ordinal::Ordinals::default();
    let mut issues: Vec<Value> = Vec::new();
    for entry in &report.entries() {
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
    for reason in report.reasons {
        issues.push(json!({
            "description": format!("not judged: {reason}"),
            "check_name": "NotJudged",
            "fingerprint": ordinals.fingerprint_of_text(reason),
            "severity": "blocker",
            "location": {
                "path": report.reason_path(reason),
                "lines": { "begin": 1 },
            },
        }));
    }
    serde_json::to_writer_pretty(&mut *output, &issues)?;
    output.write_all(b"\n")
}
