//! The report for people: findings by the function to blame, then a table in the manner of the LEAK SUMMARY, then the
//! verdict.

use anstyle::{AnsiColor, Style};

use super::{Entry, Report, Row, one_line, stack_lines, table_cells};
use crate::policy::Status;

/// Colours, none of which says anything that the words do not.
struct Styles {
    function: Style,
    new: Style,
    quiet: Style,
    clean: Style,
}

impl Styles {
    fn new(in_colour: bool) -> Styles {
        if !in_colour {
            return Styles {
                function: Style::new(),
                new: Style::new(),
                quiet: Style::new(),
                clean: Style::new(),
            };
        }
        Styles {
            function: Style::new().bold(),
            new: AnsiColor::Red.on_default().bold(),
            quiet: Style::new().dimmed(),
            clean: AnsiColor::Green.on_default().bold(),
        }
    }
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub(super) fn render(report: &Report<'_>, in_colour: bool) -> String {
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
    push_gone(&mut text, report);
    for process in &report.evidence.processes {
        if let Some(signal) = &process.fatal_signal {
            text.push_str(&format!(
                "ended by {signal}: {}\n",
                one_line(&process.title())
            ));
        }
    }
    if let [process] = report.evidence.processes.as_slice() {
        text.push_str(&one_line(&process.title()));
        text.push('\n');
    }
    if !report.evidence.processes.is_empty() {
        push_table(&mut text, &report.rows());
    }
    let style = if report.could_not_judge || !report.verdict.is_clean() {
        styles.new
    } else {
        styles.clean
    };
    text.push_str(&styled(style, &report.verdict_line()));
    text.push('\n');
    text
}

fn push_entry(text: &mut String, entry: &Entry<'_>, report: &Report<'_>, styles: &Styles) {
    let sentence = &entry.sentence;
    match entry.ruling.status {
        Status::Allowed => text.push_str(&format!("  {sentence} (within the limits)\n")),
        _ => text.push_str(&format!("  {}\n", styled(styles.new, sentence))),
    }
    if entry.ruling.known_equals > 0 {
        // Equal findings cannot be told apart, and the one that is shown may be the older.
        text.push_str(&format!(
            "    one of several that are alike, of which the baseline knows {}\n",
            entry.ruling.known_equals
        ));
    }
    for line in stack_lines(&entry.finding.stack, report.paths) {
        text.push_str(&styled(styles.quiet, &format!("    {line}")));
        text.push('\n');
    }
    if report.evidence.processes.len() > 1 {
        for line in report.process_lines(entry) {
            text.push_str(&format!("    in {}\n", line));
        }
    }
}

fn push_gone(text: &mut String, report: &Report<'_>) {
    if report.verdict.gone.is_empty() {
        return;
    }
    text.push_str("in the baseline and no longer found (--update-baseline takes them out):\n");
    for gone in &report.verdict.gone {
        let counts = match (gone.known, gone.present) {
            (1, 0) => String::new(),
            (known, present) => format!(", {known} known and {present} found"),
        };
        text.push_str(&format!(
            "  {} in {}{counts}\n",
            gone.fingerprint.kind,
            one_line(&gone.fingerprint.frames.join(" < "))
        ));
    }
    text.push('\n');
}

/// Numbers right-aligned under their heads.
fn push_table(text: &mut String, rows: &[Row]) {
    let table = table_cells(rows);
    let widths: Vec<usize> = (0..table[0].len())
        .map(|column| {
            table
                .iter()
                .map(|cells| cells[column].len())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for cells in &table {
        let mut line = format!("{:<width$}", cells[0], width = widths[0]);
        for (cell, &width) in cells.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
