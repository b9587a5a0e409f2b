//! Markdown for a comment on a pull request: a marker to find the comment by, the verdict, a fold for each finding,
//! the table. Findings that a comment has no room for are counted.

use std::convert::Infallible;

use cg_document::comment::{self, LONGEST};
use cg_document::number::{grouped, plural};
use cg_document::{Block, Document, Span, markdown};
use cg_stream::record::Count;

use super::{GateReport, ReportEntry};
use crate::fingerprint::Fingerprint;
use crate::ruling::RulingStatus;

/// The first line of every comment, so that the next run can find and replace it.
const MARKER: &str = "leak-check";

pub(super) fn text_of(report: &GateReport<'_>) -> String {
    let groups = report.groups();
    let entries: Vec<&ReportEntry<'_>> = groups.iter().flat_map(|group| &group.entries).collect();
    let Ok(document) = comment::fitting(entries.len(), |shown| -> Result<_, Infallible> {
        Ok(document(report, &entries, shown))
    });
    markdown::text(&document.blocks)
}

/// The comment with the first findings.
fn document(
    report: &GateReport<'_>,
    entries: &[&ReportEntry<'_>],
    shown: usize,
) -> Document<'static> {
    let mut document = Document::default();
    document.push(Block::Marker(MARKER));
    document.push(Block::Heading(format!(
        "leak-check: {}",
        report.verdict_line()
    )));
    let (shown, left) = entries.split_at(shown);
    document
        .blocks
        .extend(shown.iter().map(|entry| fold(report, entry)));
    if !left.is_empty() {
        document.push(Block::Text(format!(
            "{} left out: a comment has room for {} characters.",
            plural(left.len() as Count, "finding is", "findings are"),
            grouped(LONGEST as Count),
        )));
    }
    push_growth(&mut document, report);
    push_gone(&mut document, report);
    let suppressed = report.default_suppression_lines().into_iter();
    push_list(
        &mut document,
        "Rust's standard library:",
        suppressed.map(|line| vec![Span::text(line)]).collect(),
    );
    document.blocks.extend(report.tables());
    document
}

pub(super) fn fold(report: &GateReport<'_>, entry: &ReportEntry<'_>) -> Block<'static> {
    let mut summary = vec![Span::text(report.message(entry))];
    let place = report.place(entry);
    if let Some(line) = place.line.filter(|_| place.is_source) {
        summary.push(Span::text(" ("));
        summary.push(Span::code(format!("{}:{line}", place.path)));
        summary.push(Span::text(")"));
    }
    if entry.ruling.status == RulingStatus::Allowed {
        summary.push(Span::text(" (within the limits)"));
    }
    let mut lines = report.stack_lines(entry);
    let processes = report.process_lines(entry).into_iter();
    lines.extend(processes.map(|line| format!("in {line}")));
    Block::Details {
        summary,
        blocks: vec![Block::Verbatim(lines)],
    }
}

/// Baseline entries that grew.
pub(super) fn push_growth(document: &mut Document<'_>, report: &GateReport<'_>) {
    let items = report.passing_growth().into_iter();
    let items = items.map(|(fingerprint, growth)| {
        let mut item = place(fingerprint);
        item.push(Span::text(format!(": {growth}")));
        item
    });
    push_list(document, "In the baseline and grown:", items.collect());
}

/// Baseline entries that are gone.
pub(super) fn push_gone(document: &mut Document<'_>, report: &GateReport<'_>) {
    let items = report.verdict.gone.iter();
    let items = items.map(|gone| place(&gone.fingerprint)).collect();
    push_list(document, "In the baseline and no longer found:", items);
}

/// The kind and the innermost own function.
fn place(fingerprint: &Fingerprint) -> Vec<Span> {
    const LONGEST_NAME: usize = 200;
    let innermost = fingerprint.frames.first().map_or("", String::as_str);
    let name: String = innermost.chars().take(LONGEST_NAME).collect();
    vec![
        Span::text(format!("{} in ", fingerprint.kind)),
        Span::code(name),
    ]
}

/// The first few items under a title, if there are any.
pub(super) fn push_list(document: &mut Document<'_>, title: &str, mut items: Vec<Vec<Span>>) {
    const MOST_SHOWN: usize = 20;
    if items.is_empty() {
        return;
    }
    if items.len() > MOST_SHOWN {
        let left = items.len() - MOST_SHOWN;
        items.truncate(MOST_SHOWN);
        items.push(vec![Span::text(format!("{left} more"))]);
    }
    document.push(Block::Text(title.to_owned()));
    document.push(Block::List(items));
}
