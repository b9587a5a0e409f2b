//! JUnit XML: a suite a program or test binary, a case a process or test. A case can fail once, so its failure lists
//! all that fails in the process.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cg_document::number::plural;
use cg_document::visible;
use cg_stream::record::Count;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{GateReport, with_subject};
use crate::finding::{Finding, JudgedProcess};
use crate::ruling::Ruling;

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let mut suites: BTreeMap<String, TestSuite> = BTreeMap::new();
    let processes = &report.evidence.processes;
    for (process, findings) in processes.iter().zip(report.findings_by_process()) {
        let name = visible(&suite_name(process)).into_owned();
        let suite = suites
            .entry(name.clone())
            .or_insert_with(|| TestSuite::new(name.clone()));
        let mut case = TestCase::new(
            &*visible(&case_name(process)),
            status(report, process, &findings),
        );
        case.set_classname(name);
        suite.add_test_case(case);
    }
    if report.could_not_judge {
        // An input that could not be read is no process, and must not look like a success by its absence.
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message("not everything could be judged; standard error says what");
        let mut suite = TestSuite::new("leak-check");
        suite.add_test_case(TestCase::new("inputs", status));
        suites.insert("leak-check".to_owned(), suite);
    }
    let mut junit = quick_junit::Report::new("leak-check");
    junit.add_test_suites(suites.into_values());
    let text = junit.to_string().map_err(io::Error::other)?;
    output.write_all(without_sum_of_skipped(&text).as_bytes())
}

/// The report without `skipped` of `<testsuites>`: the schemas of Jenkins' xunit plugin and of others know it of a
/// `<testsuite>` alone. Nothing is skipped, so nothing is lost.
fn without_sum_of_skipped(text: &str) -> String {
    let end = text.find("<testsuites").and_then(|begin| {
        let length = text[begin..].find('>')?;
        Some(begin + length)
    });
    let (head, rest) = text.split_at(end.unwrap_or(0));
    format!("{}{rest}", head.replacen(" skipped=\"0\"", "", 1))
}

/// The test binary, else the program.
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

fn status(
    report: &GateReport<'_>,
    process: &JudgedProcess,
    findings: &[(&Finding, &Ruling)],
) -> TestCaseStatus {
    let mut description = String::new();
    let mut first = None;
    let mut failures = 0;
    for (finding, ruling) in findings {
        if !ruling.status.fails() {
            continue;
        }
        failures += 1;
        let line = with_subject(ruling.blamed(finding), &report.sentence(finding, ruling));
        description.push_str(&line);
        description.push('\n');
        for line in report.lines.of(&finding.stack) {
            description.push_str(&format!("  {line}\n"));
        }
        first.get_or_insert(line);
    }
    if let Some(first) = first {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("leak-check");
        status.set_message(match failures {
            1 => first,
            failures => format!(
                "{}; the first: {first}",
                plural(failures as Count, "finding", "findings")
            ),
        });
        status.set_description(description);
        return status;
    }
    if let Some(reason) = &process.not_judged {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("leak-check");
        status.set_message(format!("not judged: {reason}"));
        return status;
    }
    TestCaseStatus::success()
}
