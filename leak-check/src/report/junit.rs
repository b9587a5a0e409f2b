//! JUnit XML: one suite per program or test binary, one case per process or test. A case can fail only once, so its failure
//! lists all failing findings of the process.
//!
//! JUnit has no standard. `<testsuites>` has no attribute `skipped`, because Jenkins' xunit plugin and other schemas allow it
//! only in `<testsuite>`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cg_document::number::plural;
use cg_document::{Markup, visible};
use cg_stream::record::Count;

use super::{GateReport, with_subject};
use crate::finding::{Finding, JudgedProcess};
use crate::ruling::Ruling;

/// The processes of a program or test binary.
#[derive(Default)]
struct Suite {
    cases: Vec<Case>,
    /// The commands of cases whose names lack them.
    commands: Vec<String>,
}

/// A process or test.
struct Case {
    name: String,
    result: CaseResult,
}

enum CaseResult {
    Success,
    /// The process has new findings.
    Failure {
        message: String,
        lines: Vec<String>,
    },
    /// The process could not be judged.
    Error {
        message: String,
        lines: Vec<String>,
    },
}

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut suites: BTreeMap<String, Suite> = BTreeMap::new();
    let processes = &report.evidence.processes;
    for (process, findings) in processes.iter().zip(report.findings_by_process()) {
        let suite = suites.entry(suite_name(process)).or_default();
        suite.cases.push(Case {
            name: case_name(process),
            result: judge(report, process, &findings),
        });
        // The name of a test replaces its command.
        if process.test().is_some() {
            suite.commands.extend(process.run.command.clone());
        }
    }
    for source in &report.evidence.without_report {
        let suite = suites.entry("leak-check".to_owned()).or_default();
        suite.cases.push(Case {
            name: source.clone(),
            result: CaseResult::Success,
        });
    }
    if let Some(unread) = unread_case(report) {
        // An unreadable input has no process, so without this case it would look like a success.
        let suite = suites.entry("leak-check".to_owned()).or_default();
        suite.cases.push(unread);
    }
    let mut xml = Markup::default();
    xml.tag("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    let name = format!("leak-check: {}", report.verdict_line());
    write_attribute(&mut xml, " name=\"", &name);
    write_counts(&mut xml, suites.values().flat_map(|suite| &suite.cases));
    xml.tag(">\n");
    for (name, suite) in &suites {
        write_suite(&mut xml, name, suite);
    }
    xml.tag("</testsuites>\n");
    output.write_all(xml.into_string().as_bytes())
}

/// Returns a case with all reasons of a missing verdict; `None` if there is a verdict.
fn unread_case(report: &GateReport<'_>) -> Option<Case> {
    let (first, others) = report.reasons.split_first()?;
    let message = match others.len() {
        0 => first.clone(),
        more => format!(
            "{first}; and {}",
            plural(more as Count, "more reason", "more reasons")
        ),
    };
    Some(Case {
        name: "inputs".to_owned(),
        result: CaseResult::Error {
            message,
            lines: report.reasons.to_vec(),
        },
    })
}

fn write_suite(xml: &mut Markup, name: &str, suite: &Suite) {
    xml.tag("    <testsuite");
    write_attribute(xml, " name=\"", name);
    write_counts(xml, suite.cases.iter());
    xml.tag(" skipped=\"0\">\n");
    for case in &suite.cases {
        write_case(xml, name, case);
    }
    if !suite.commands.is_empty() {
        xml.tag("        <system-out>");
        for command in &suite.commands {
            xml.text(&visible(command));
            xml.tag("\n");
        }
        xml.tag("</system-out>\n");
    }
    xml.tag("    </testsuite>\n");
}

/// Writes the number of all, failed and unjudged cases.
fn write_counts<'c>(xml: &mut Markup, cases: impl Iterator<Item = &'c Case> + Clone) {
    let failed = |case: &&Case| matches!(case.result, CaseResult::Failure { .. });
    let unjudged = |case: &&Case| matches!(case.result, CaseResult::Error { .. });
    for (attribute, count) in [
        (" tests=\"", cases.clone().count()),
        (" failures=\"", cases.clone().filter(failed).count()),
        (" errors=\"", cases.filter(unjudged).count()),
    ] {
        xml.tag(attribute);
        xml.integer(count);
        xml.tag("\"");
    }
}

/// Writes an attribute. `beginning` ends with its opening quote.
fn write_attribute(xml: &mut Markup, beginning: &'static str, value: &str) {
    xml.tag(beginning);
    xml.text(value);
    xml.tag("\"");
}

fn write_case(xml: &mut Markup, suite: &str, case: &Case) {
    xml.tag("        <testcase");
    write_attribute(xml, " name=\"", &case.name);
    write_attribute(xml, " classname=\"", suite);
    match &case.result {
        CaseResult::Success => xml.tag("/>\n"),
        CaseResult::Failure { message, lines } => {
            write_attribute(xml, ">\n            <failure message=\"", message);
            write_lines(xml, lines);
            xml.tag("</failure>\n        </testcase>\n");
        }
        CaseResult::Error { message, lines } => {
            write_attribute(xml, ">\n            <error message=\"", message);
            write_lines(xml, lines);
            xml.tag("</error>\n        </testcase>\n");
        }
    }
}

fn write_lines(xml: &mut Markup, lines: &[String]) {
    xml.tag(" type=\"leak-check\">");
    for line in lines {
        xml.text(line);
        xml.tag("\n");
    }
}

/// Returns the test binary, otherwise the program.
fn suite_name(process: &JudgedProcess) -> String {
    if let Some(test) = process.test() {
        return test.binary;
    }
    let program = process
        .run
        .command
        .as_deref()
        .and_then(|command| command.split(' ').next());
    program.map_or_else(|| "unknown program".to_owned(), str::to_owned)
}

fn case_name(process: &JudgedProcess) -> String {
    process
        .test()
        .map_or_else(|| process.title(), |test| test.name)
}

fn judge(
    report: &GateReport<'_>,
    process: &JudgedProcess,
    findings: &[(&Finding, &Ruling)],
) -> CaseResult {
    let mut lines = Vec::new();
    let mut first = None;
    let mut failures = 0;
    for (finding, ruling) in findings {
        if !ruling.status.fails() {
            continue;
        }
        failures += 1;
        let sentence = with_subject(ruling.blamed(finding), &report.sentence(finding, ruling));
        lines.push(sentence.clone());
        for line in report.lines.lines(&finding.stack) {
            lines.push(format!("  {line}"));
        }
        first.get_or_insert(sentence);
    }
    if let Some(first) = first {
        let message = match failures {
            1 => first,
            failures => format!(
                "{}; the first: {first}",
                plural(failures as Count, "finding", "findings")
            ),
        };
        return CaseResult::Failure { message, lines };
    }
    match &process.not_judged {
        Some(reason) => CaseResult::Error {
            message: format!("not judged: {reason}"),
            lines: Vec::new(),
        },
        None => CaseResult::Success,
    }
}
