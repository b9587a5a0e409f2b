//! SARIF 2.1.0, for code scanning: one result per entry, with paths relative to the root of the repository.

use std::io::{self, Write};

use cg_document::push_encoded;
use cg_stream::record::Frame;
use serde_json::{Map, Value, json};

use super::{GateReport, ReportEntry, kinds, ordinal};

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let entries = report.entries();
    let mut rules: Vec<String> = entries.iter().map(kinds::rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let mut ordinals = ordinal::Ordinals::default();
    let results: Vec<Value> = entries
        .iter()
        .map(|entry| result(report, entry, &rules, &mut ordinals))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "leak-check",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.iter().map(|rule| json!({
                        "id": rule,
                        "shortDescription": { "text": kinds::meaning(rule) },
                    })).collect::<Vec<Value>>(),
                },
            },
            "invocations": [{
                "executionSuccessful": !report.could_not_judge(),
                "exitCodeDescription": report.verdict_line(),
                "toolExecutionNotifications": report.reasons.iter().map(|reason| json!({
                    "level": "error",
                    "message": { "text": format!("not judged: {reason}") },
                })).collect::<Vec<Value>>(),
            }],
            "properties": { "commands": report.command_lines(usize::MAX) },
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *output, &log)?;
    output.write_all(b"\n")
}

fn result(
    report: &GateReport<'_>,
    entry: &ReportEntry<'_>,
    rules: &[String],
    ordinals: &mut ordinal::Ordinals,
) -> Value {
    let rule = kinds::rule(entry);
    let place = report.place(entry);
    let mut physical = Map::new();
    physical.insert("artifactLocation".to_owned(), artifact(&place.path));
    // Code scanning hides results without a line.
    physical.insert(
        "region".to_owned(),
        json!({ "startLine": place.line.unwrap_or(1).max(1) }),
    );
    let mut location = json!({ "physicalLocation": physical });
    let blamed = entry.ruling.blamed(entry.finding);
    if let Some(function) = blamed.and_then(|frame| frame.name.as_deref()) {
        location["logicalLocations"] =
            json!([{ "fullyQualifiedName": function, "kind": "function" }]);
    }
    let processes = report.process_lines(entry);
    let mut result = json!({
        "ruleId": rule,
        "ruleIndex": rules.binary_search(&rule).unwrap_or(0),
        "level": if entry.ruling.status.fails() { "error" } else { "note" },
        "message": { "text": report.message(entry) },
        "locations": [location],
        "partialFingerprints": { "leakCheck/v1": ordinals.fingerprint(entry) },
        "occurrenceCount": entry.processes.len().max(1),
        "properties": { "processes": processes },
    });
    if !entry.finding.stack.is_empty() {
        let lines = report.stack_lines(entry);
        result["stacks"] = json!([{
            "message": { "text": lines.join("\n") },
            "frames": entry.finding.stack.iter().map(|frame| stack_frame(report, frame)).collect::<Vec<Value>>(),
        }]);
    }
    result
}

fn stack_frame(report: &GateReport<'_>, frame: &Frame) -> Value {
    let mut location = Map::new();
    if let Some(name) = frame.name.as_deref() {
        location.insert(
            "logicalLocations".to_owned(),
            json!([{ "fullyQualifiedName": name }]),
        );
    }
    if let Some(file) = frame.file.as_deref() {
        let artifact = match report.paths.in_root(file) {
            Some(path) => artifact(&path),
            None => json!({ "uri": uri(file) }),
        };
        let mut physical = json!({ "artifactLocation": artifact });
        if let Some(line) = frame.line.filter(|line| *line > 0) {
            physical["region"] = json!({ "startLine": line });
        }
        location.insert("physicalLocation".to_owned(), physical);
    }
    let mut stack_frame = json!({ "location": location });
    if let Some(object) = frame.obj.as_deref() {
        stack_frame["module"] = json!(object);
    }
    stack_frame
}

/// Returns the artifact location of a file in the repository.
fn artifact(path: &str) -> Value {
    json!({ "uri": uri(path), "uriBaseId": "%SRCROOT%" })
}

/// Converts a path to a URI reference: adds `file://` to an absolute path, and percent-encodes bytes that URIs do not allow.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    push_encoded(&mut uri, path, b"-._~/");
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uri_references() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(
            uri("/usr/include/c++/12/x"),
            "file:///usr/include/c%2B%2B/12/x"
        );
        assert_eq!(uri("a:b#c.c"), "a%3Ab%23c.c");
    }
}
