//! The report for people: findings by the function to blame, then a table in the manner of the LEAK SUMMARY, then the
//! verdict.

use std::io;

use anstyle::{AnsiColor, Style};
use cg_document::text::{Screen, write};
use cg_document::{Document, visible};

use super::{GateReport, ReportEntry};
use crate::ruling::RulingStatus;
use crate::sentence::sentence;

/// Colours, none of which says anything that the words do not.
struct Styles {
    function: Style,
    new: Style,
    quiet: Style,
    clean: Style,
}

impl Styles {
    fn new(in_colour: bool) -> Styles {
        let screen = Screen {
            is_coloured: in_colour,
            ..Screen::default()
        };
        Styles {
            function: screen.style(Style::new().bold()),
            new: screen.style(AnsiColor::Red.on_default().bold()),
            quiet: screen.style(Style::new().dimmed()),
            clean: screen.style(AnsiColor::Green.on_default().bold()),
        }
    }
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub(super) fn render(report: &GateReport<'_>, in_colour: bool) -> io::Result<Vec<u8>> {
    let styles = Styles::new(in_colour);
    let mut text = String::new();
    for group in report.groups() {
        text.push_str(&styled(styles.function, &group.function));
        if let Some(file) = &group.file {
            text.push_str(&format!(" ({file})"));
        }
        text.push('\n');
        for entry in &group.entries {
            push_entry(&mut text, entry, report, &styles);
        }
        text.push('\n');
    }
    push_growth(&mut text, report);
    push_gone(&mut text, report);
    for (finding, ruling) in report.findings() {
        if finding.is_fatal_signal() && ruling.status != RulingStatus::New {
            let process = report.evidence.process(finding.process);
            let signal = sentence(finding, report.paths);
            let line = format!("{signal}: {}", process.title());
            text.push_str(&visible(&line));
            text.push('\n');
        }
    }
    for line in report.default_suppression_lines() {
        text.push_str(&format!("{line} (--no-default-suppressions counts it)\n"));
    }
    if let [process] = report.evidence.processes.as_slice() {
        text.push_str(&visible(&process.title()));
        text.push('\n');
    }
    let mut text = text.into_bytes();
    if !report.evidence.processes.is_empty() {
        let table = Document {
            blocks: report.tables(),
        };
        write(&table, Screen::default(), &mut text)?;
    }
    let style = if report.could_not_judge || !report.verdict.is_clean() {
        styles.new
    } else {
        styles.clean
    };
    text.extend(styled(style, &report.verdict_line()).bytes());
    text.push(b'\n');
    Ok(text)
}

fn push_entry(
    text: &mut String,
    entry: &ReportEntry<'_>,
    report: &GateReport<'_>,
    styles: &Styles,
) {
    let sentence = &entry.sentence;
    match entry.ruling.status {
        RulingStatus::Allowed => text.push_str(&format!("  {sentence} (within the limits)\n")),
        _ => text.push_str(&format!("  {}\n", styled(styles.new, sentence))),
    }
    if entry.ruling.status != RulingStatus::Grown && entry.ruling.known_equals > 0 {
        // Equal findings cannot be told apart, and the one that is shown may be the older.
        text.push_str(&format!(
            "    one of several that are alike, of which the baseline knows {}\n",
            entry.ruling.known_equals
        ));
    }
    for line in report.lines.of(&entry.finding.stack) {
        text.push_str(&styled(styles.quiet, &format!("    {line}")));
        text.push('\n');
    }
    if report.evidence.processes.len() > 1 {
        for line in report.process_lines(entry) {
            text.push_str(&format!("    in {}\n", line));
        }
    }
}

fn push_growth(text: &mut String, report: &GateReport<'_>) {
    let growth = report.passing_growth();
    if growth.is_empty() {
        return;
    }
    text.push_str(
        "in the baseline and grown (--max-growth fails on it, --update-baseline takes it in):\n",
    );
    for (fingerprint, growth) in growth {
        let frames = fingerprint.frames.join(" < ");
        let line = format!("  {} in {frames}: {growth}", fingerprint.kind);
        text.push_str(&visible(&line));
        text.push('\n');
    }
    text.push('\n');
}

fn push_gone(text: &mut String, report: &GateReport<'_>) {
    if report.verdict.gone.is_empty() {
        return;
    }
    text.push_str("in the baseline and no longer found (--update-baseline takes them out):\n");
    for gone in &report.verdict.gone {
        let counts = match (gone.known, gone.present) {
            (1, 0) => String::new(),
            (known, present) => format!(", {known} known and {present} found"),
        };
        let frames = gone.fingerprint.frames.join(" < ");
        let line = format!("  {} in {frames}{counts}", gone.fingerprint.kind);
        text.push_str(&visible(&line));
        text.push('\n');
    }
    text.push('\n');
}
