//! A page for a browser: the verdict, the tables, a fold for each finding, and the processes. Includes excused findings and
//! the source around the lines of frames.

use std::io::{self, Write};

use cg_document::html::{
    self, FindingsPage, FramePart, PageFinding, PageFrame, PagePart, Tone, filter_address,
};
use cg_document::number::plural;
use cg_document::{Block, Cell, Column, Layout, Span, Table};
use cg_stream::record::Count;

use super::frames::frame_parts;
use super::markdown::{lists, summary};
use super::ordinal::Ordinals;
use super::sources::Sources;
use super::{GateReport, ReportEntry};
use crate::finding::JudgedProcess;
use crate::ruling::RulingStatus;

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let entries = report.all_entries();
    let sources = Sources::read(report, &entries);
    let mut rest: Vec<Block<'_>> = sources.notes().map(Block::Note).collect();
    rest.extend(lists(report));
    let processes = &report.evidence.processes;
    if !processes.is_empty() {
        let count = plural(processes.len() as Count, "process", "processes");
        rest.push(Block::Heading(count));
        rest.push(Block::Table(process_table(report, processes)));
    }
    let mut parts = Vec::new();
    if report.could_not_judge() {
        let reasons = report.reasons.iter();
        let reasons = reasons.map(|reason| vec![Span::text(reason.as_str())]);
        parts.push(PagePart::Blocks(vec![
            Block::Heading("Not judged".to_owned()),
            Block::List(reasons.collect()),
        ]));
    }
    parts.push(PagePart::Blocks(report.tables()));
    parts.extend(sections(report, &entries, &sources));
    parts.push(PagePart::Blocks(rest));
    let verdict = report.verdict_line();
    let page = FindingsPage {
        title: format!("leak-check: {verdict}"),
        tone: tone(report),
        lead: vec![Block::Text(verdict.clone())],
        parts,
    };
    html::write_findings(&page, output)
}

fn tone(report: &GateReport<'_>) -> Tone {
    match (report.verdict.is_clean(), report.could_not_judge()) {
        (false, _) => Tone::Bad,
        (true, true) => Tone::Doubtful,
        (true, false) => Tone::Good,
    }
}

/// Returns the sections of failing, limited and excused findings. Omits empty sections.
fn sections(
    report: &GateReport<'_>,
    entries: &[ReportEntry<'_>],
    sources: &Sources,
) -> Vec<PagePart<'static>> {
    /// The maximum number of findings to unfold.
    const FEW: usize = 12;
    let is_open = entries
        .iter()
        .filter(|entry| entry.ruling.status.is_shown())
        .count()
        <= FEW;
    let mut ordinals = Ordinals::default();
    let mut section = |heading, is_open, holds: fn(RulingStatus) -> bool| {
        let entries = entries.iter().enumerate();
        let entries = entries.filter(|(_, entry)| holds(entry.ruling.status));
        PagePart::Findings {
            heading,
            is_open,
            findings: entries
                .map(|(at, entry)| finding(report, at, entry, sources, &mut ordinals))
                .collect(),
        }
    };
    let mut sections = vec![
        section("Findings", is_open, RulingStatus::fails),
        section("Within the limits", is_open, |status| {
            status == RulingStatus::Allowed
        }),
        section("Excused", false, |status| !status.is_shown()),
    ];
    sections
        .retain(|part| !matches!(part, PagePart::Findings { findings, .. } if findings.is_empty()));
    sections
}

fn finding(
    report: &GateReport<'_>,
    at: usize,
    entry: &ReportEntry<'_>,
    sources: &Sources,
    ordinals: &mut Ordinals,
) -> PageFinding {
    let mut summary = summary(report, entry, usize::MAX);
    if entry.processes.len() > 1 {
        summary.push(Span::text(format!(" ({} findings)", entry.processes.len())));
    }
    let processes = report.linked_process_lines(entry).into_iter();
    PageFinding {
        id: ordinals.fingerprint(entry),
        summary,
        kind: entry.finding.kind().to_owned(),
        status: entry.ruling.status.word(),
        processes: entry.processes.iter().map(|process| process.0).collect(),
        frames: frames(report, at, entry, sources),
        remarks: processes
            .map(|(line, process)| (format!("in {line}"), process.map(|process| process.0)))
            .collect(),
    }
}

fn frames(
    report: &GateReport<'_>,
    at: usize,
    entry: &ReportEntry<'_>,
    sources: &Sources,
) -> Vec<PageFrame> {
    let stack = &entry.finding.stack;
    let lines = report.lines.placed(stack).into_iter().enumerate();
    let frames = lines.map(|(number, (line, position))| {
        let Some(position) = position else {
            return PageFrame {
                parts: vec![FramePart::Words(report.lines.shown(number, line))],
                is_blamed: false,
                source: None,
            };
        };
        let word = if number == 0 { "at " } else { "by " };
        let mut parts = vec![FramePart::Words(word.to_owned())];
        parts.extend(frame_parts(&stack[position], report.paths));
        let count = line.1;
        if count > 1 {
            parts.push(FramePart::Words(format!(", {count} times")));
        }
        let is_blamed = entry.is_blamed_on(position, count);
        PageFrame {
            parts,
            is_blamed,
            source: sources.get(at, entry, position, is_blamed),
        }
    });
    frames.collect()
}

/// Returns a table of the processes, with their numbers of failing and of all findings.
fn process_table(report: &GateReport<'_>, processes: &[JudgedProcess]) -> Table<'static> {
    let titles: Vec<String> = processes.iter().map(JudgedProcess::title).collect();
    let by_process = report.findings_by_process();
    let column = |title: &str, is_counted: fn(RulingStatus) -> bool| {
        let counts = by_process.iter().map(|findings| {
            let statuses = findings.iter().map(|(_, ruling)| ruling.status);
            statuses.filter(|status| is_counted(*status)).count()
        });
        let counts: Vec<usize> = counts.collect();
        let statuses = RulingStatus::ALL.into_iter();
        let statuses: Vec<RulingStatus> = statuses.filter(|status| is_counted(*status)).collect();
        let has_any = counts.clone();
        Column::new(title, Layout::Number, move |row| {
            Cell::Count(counts[row] as Count)
        })
        .with_filter(move |row| {
            let is_all = statuses.len() == RulingStatus::ALL.len();
            let filtered = statuses.iter().filter(|_| !is_all);
            let number = row.to_string();
            let pairs = filtered.map(|status| ("status", status.word()));
            let address = filter_address(pairs.chain([("process", number.as_str())]));
            (has_any[row] > 0).then_some(address)
        })
    };
    let mut columns = vec![
        column("failing", RulingStatus::fails),
        column("found", |_| true),
        Column::new("process", Layout::Name, move |row: usize| {
            Cell::Text(titles[row].clone().into())
        })
        .with_filter(|row| Some(format!("process={row}"))),
    ];
    // The title of a test replaces its command.
    if processes.iter().any(|process| process.test().is_some()) {
        let commands = processes.iter().map(|process| process.run.command.clone());
        let commands: Vec<String> = commands.map(Option::unwrap_or_default).collect();
        columns.push(Column::new("command", Layout::Name, move |row: usize| {
            Cell::Text(commands[row].clone().into())
        }));
    }
    Table::new(columns, (0..processes.len()).collect())
}
