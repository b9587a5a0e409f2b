//! A page for a browser: the verdict, what it is of, a fold for each finding, the processes. It has room for all findings.

use std::io::{self, Write};

use cg_document::html::{self, Tone};
use cg_document::number::plural;
use cg_document::{Block, Cell, Column, Document, Layout, Span, Table};
use cg_stream::record::Count;

use super::GateReport;
use super::markdown::{fold, push_gone, push_growth, push_list};
use crate::finding::JudgedProcess;
use crate::ruling::RulingStatus;

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    html::write(&document(report), tone(report), output)
}

fn tone(report: &GateReport<'_>) -> Tone {
    match (report.verdict.is_clean(), report.could_not_judge) {
        (false, _) => Tone::Bad,
        (true, true) => Tone::Doubtful,
        (true, false) => Tone::Good,
    }
}

fn document(report: &GateReport<'_>) -> Document<'static> {
    let mut document = Document::default();
    document.push(Block::Heading("leak-check".to_owned()));
    document.push(Block::Text(report.verdict_line()));
    document.blocks.extend(report.tables());
    let groups = report.groups();
    for (heading, is_failing) in [("Findings", true), ("Within the limits", false)] {
        let entries = groups.iter().flat_map(|group| &group.entries);
        let mut entries = entries
            .filter(|entry| (entry.ruling.status != RulingStatus::Allowed) == is_failing)
            .peekable();
        if entries.peek().is_some() {
            document.push(Block::Heading(heading.to_owned()));
        }
        document
            .blocks
            .extend(entries.map(|entry| fold(report, entry)));
    }
    push_growth(&mut document, report);
    push_gone(&mut document, report);
    let suppressed = report.default_suppression_lines().into_iter();
    push_list(
        &mut document,
        "Rust's standard library:",
        suppressed.map(|line| vec![Span::text(line)]).collect(),
    );
    let processes = &report.evidence.processes;
    if !processes.is_empty() {
        let count = plural(processes.len() as Count, "process", "processes");
        document.push(Block::Heading(count));
        document.push(Block::Table(process_table(report, processes)));
    }
    document
}

/// What was judged, process by process, and how many findings of each fail.
fn process_table(report: &GateReport<'_>, processes: &[JudgedProcess]) -> Table<'static> {
    let titles: Vec<String> = processes.iter().map(JudgedProcess::title).collect();
    let rows = (0..processes.len()).collect();
    let by_process = report.findings_by_process();
    let count = |is_counted: fn(RulingStatus) -> bool| -> Vec<Count> {
        let counts = by_process.iter().map(|findings| {
            let counted = findings
                .iter()
                .filter(|(_, ruling)| is_counted(ruling.status));
            counted.count() as Count
        });
        counts.collect()
    };
    let (found, failing) = (count(|_| true), count(RulingStatus::fails));
    let columns = vec![
        Column::new("failing", Layout::Number, move |row| {
            Cell::Count(failing[row])
        }),
        Column::new("found", Layout::Number, move |row| Cell::Count(found[row])),
        Column::new("process", Layout::Name, move |row: usize| {
            Cell::Text(titles[row].clone().into())
        }),
    ];
    Table::new(columns, rows)
}
