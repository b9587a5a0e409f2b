//! Markdown for a comment on a pull request: a marker, the verdict, a fold for each finding, and the table. Counts the
//! findings that exceed the limit of a comment.

use std::convert::Infallible;

use cg_document::comment::{self, LONGEST};
use cg_document::number::{grouped, plural};
use cg_document::{Block, Document, Span, markdown, short_name};
use cg_stream::record::Count;

use super::{GateReport, ReportEntry};
use crate::fingerprint::Fingerprint;
use crate::ruling::RulingStatus;

/// The marker in the first line of every comment, which lets the next run find and replace the comment.
const MARKER: &str = "leak-check";

/// The maximum width of a function's name outside of stacks.
const WIDEST_NAME: usize = 80;

pub(super) fn render(report: &GateReport<'_>) -> String {
    let entries = report.entries();
    let Ok(document) = comment::fit_items(entries.len(), |shown| -> Result<_, Infallible> {
        Ok(document(report, &entries, shown))
    });
    markdown::text(&document.blocks)
}

/// Returns the comment with the first `shown` findings.
fn document(
    report: &GateReport<'_>,
    entries: &[ReportEntry<'_>],
    shown: usize,
) -> Document<'static> {
    let mut document = Document::default();
    document.push(Block::Marker(MARKER));
    document.push(Block::Heading(format!(
        "leak-check: {}",
        report.verdict_line()
    )));
    document.blocks.extend(reasons(report));
    let (shown, left) = entries.split_at(shown);
    document
        .blocks
        .extend(shown.iter().map(|entry| fold(report, entry)));
    if !left.is_empty() {
        document.push(Block::Text(format!(
            "{} left out: a comment has at most {} characters.",
            plural(left.len() as Count, "finding is", "findings are"),
            grouped(LONGEST as Count),
        )));
    }
    document.blocks.extend(lists(report));
    document.blocks.extend(report.tables());
    document.blocks.extend(commands(report));
    document
}

/// Returns the reasons why the inputs could not be judged. A comment has room for some of them.
fn reasons(report: &GateReport<'_>) -> Vec<Block<'static>> {
    const LONGEST_REASON: usize = 500;
    let reasons = report.reasons.iter();
    let reasons = reasons.map(|reason| {
        let reason: String = reason.chars().take(LONGEST_REASON).collect();
        vec![Span::text(reason)]
    });
    list("Not judged:", reasons.collect())
}

/// Returns a fold with the commands of the judged processes.
fn commands(report: &GateReport<'_>) -> Option<Block<'static>> {
    const MOST_SHOWN: usize = 50;
    const LONGEST_COMMAND: usize = 200;
    let lines = report.command_lines(MOST_SHOWN).into_iter();
    let lines = lines.map(|line| line.chars().take(LONGEST_COMMAND).collect());
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| Block::Details {
        summary: vec![Span::text("Commands that were judged")],
        blocks: vec![Block::Verbatim(lines)],
    })
}

fn fold(report: &GateReport<'_>, entry: &ReportEntry<'_>) -> Block<'static> {
    let mut lines = report.stack_lines(entry);
    let processes = report.process_lines(entry).into_iter();
    lines.extend(processes.map(|line| format!("in {line}")));
    Block::Details {
        summary: summary(report, entry, WIDEST_NAME),
        blocks: vec![Block::Verbatim(lines)],
    }
}

/// Returns a finding in one line: the sentence, the place, and the status if it is excused. The function's name has at most
/// `widest_name` columns.
pub(super) fn summary(
    report: &GateReport<'_>,
    entry: &ReportEntry<'_>,
    widest_name: usize,
) -> Vec<Span> {
    let mut summary = vec![Span::text(report.short_message(entry, widest_name))];
    let place = report.place(entry);
    if let Some(line) = place.line.filter(|_| place.is_source) {
        summary.push(Span::text(" ("));
        summary.push(Span::code(format!("{}:{line}", place.path)));
        summary.push(Span::text(")"));
    }
    match entry.ruling.status {
        status if status.fails() => {}
        RulingStatus::Allowed => summary.push(Span::text(" (within the limits)")),
        status => summary.push(Span::text(format!(" ({})", status.words()))),
    }
    summary
}

/// Returns the lists after the findings: known leaks that grew, known findings that are gone, and default suppressions.
pub(super) fn lists(report: &GateReport<'_>) -> Vec<Block<'static>> {
    let grown = report.passing_growth().into_iter();
    let grown = grown.map(|(fingerprint, growth)| {
        let mut item = place(fingerprint);
        item.push(Span::text(format!(": {growth}")));
        item
    });
    let gone = report.verdict.gone.iter();
    let gone = gone.map(|gone| place(&gone.fingerprint));
    let suppressed = report.default_suppression_lines().into_iter();
    let suppressed = suppressed.map(|line| vec![Span::text(line)]);
    let mut lists = list("In the baseline and grown:", grown.collect());
    lists.extend(list("In the baseline and no longer found:", gone.collect()));
    lists.extend(list("Rust's standard library:", suppressed.collect()));
    lists
}

/// Returns the kind and the innermost own function.
fn place(fingerprint: &Fingerprint) -> Vec<Span> {
    let innermost = fingerprint.frames.first().map_or("", String::as_str);
    vec![
        Span::text(format!("{} in ", fingerprint.kind)),
        Span::code(short_name(innermost, WIDEST_NAME)),
    ]
}

/// Returns the first few items under a title; nothing if there are no items.
fn list(title: &str, mut items: Vec<Vec<Span>>) -> Vec<Block<'static>> {
    const MOST_SHOWN: usize = 20;
    if items.is_empty() {
        return Vec::new();
    }
    if items.len() > MOST_SHOWN {
        let left = items.len() - MOST_SHOWN;
        items.truncate(MOST_SHOWN);
        items.push(vec![Span::text(format!("{left} more"))]);
    }
    vec![Block::Text(title.to_owned()), Block::List(items)]
}
