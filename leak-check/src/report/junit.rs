//! JUnit XML: one suite per program or test binary, one case per process or test. A case can fail only once, so its failure
//! lists all failing findings of the process.
//!
//! JUnit has no standard. `<testsuites>` has no attribute `skipped`, because Jenkins' xunit plugin and other schemas allow it
//! only in `<testsuite>`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cg_document::Markup;
use cg_document::number::plural;
use cg_stream::record::Count;

use super::{GateReport, with_subject};
use crate::finding::{Finding, JudgedProcess};
use crate::ruling::Ruling;

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
    },
}

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut suites: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let processes = &report.evidence.processes;
    for (process, findings) in processes.iter().zip(report.findings_by_process()) {
        suites.entry(suite_name(process)).or_default().push(Case {
            name: case_name(process),
            result: judge(report, process, &findings),
        });
    }
    if report.could_not_judge {
        // An unreadable input has no process, so without this case it would look like a success.
        let unread = Case {
            name: "inputs".to_owned(),
            result: CaseResult::Error {
                message: "some inputs could not be judged; see standard error".to_owned(),
            },
        };
        suites.insert("leak-check".to_owned(), vec![unread]);
    }
    let mut xml = Markup::default();
    xml.tag("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"leak-check\"");
    write_counts(&mut xml, suites.values().flatten());
    xml.tag(">\n");
    for (name, cases) in &suites {
        xml.tag("    <testsuite");
        write_attribute(&mut xml, " name=\"", name);
        write_counts(&mut xml, cases.iter());
        xml.tag(" skipped=\"0\">\n");
        for case in cases {
            write_case(&mut xml, name, case);
        }
        xml.tag("    </testsuite>\n");
    }
    xml.tag("</testsuites>\n");
    output.write_all(xml.into_string().as_bytes())
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
            xml.tag(" type=\"leak-check\">");
            for line in lines {
                xml.text(line);
                xml.tag("\n");
            }
            xml.tag("</failure>\n        </testcase>\n");
        }
        CaseResult::Error { message } => {
            write_attribute(xml, ">\n            <error message=\"", message);
            xml.tag(" type=\"leak-check\"/>\n        </testcase>\n");
        }
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
        },
        None => CaseResult::Success,
    }
}
