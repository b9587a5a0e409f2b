//! The report for people: findings by the function to blame, then a table in the manner of the LEAK SUMMARY, then the
//! verdict.

use anstyle::{AnsiColor, Style};

use super::{Entry, Report, Row, stack_lines};
use crate::finding::ProcessId;
use crate::policy::Status;
use crate::sentence::grouped;

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
        text.push_str(&styled(styles.function, &printable(&group.function)));
        if let Some(file) = &group.file {
            text.push_str(&printable(&format!(" ({file})")));
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
            text.push_str(&printable(&format!(
                "ended by {signal}: {}\n",
                process.title()
            )));
        }
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
    let sentence = printable(&entry.sentence);
    match entry.ruling.status {
        Status::Allowed => text.push_str(&format!("  {sentence} (within the limits)\n")),
        _ => text.push_str(&format!("  {}\n", styled(styles.new, &sentence))),
    }
    for line in stack_lines(&entry.finding.stack, report.paths) {
        let line = format!("    {}", printable(&line));
        text.push_str(&styled(styles.quiet, &line));
        text.push('\n');
    }
    for line in process_lines(&entry.processes, report) {
        text.push_str(&format!("    in {}\n", printable(&line)));
    }
}

/// The processes of an entry, the first few by name.
fn process_lines(processes: &[ProcessId], report: &Report<'_>) -> Vec<String> {
    const MOST_SHOWN: usize = 5;
    let mut counted: Vec<(ProcessId, u64)> = Vec::new();
    for &process in processes {
        match counted.last_mut() {
            Some((last, count)) if *last == process => *count += 1,
            _ => counted.push((process, 1)),
        }
    }
    let mut lines: Vec<String> = counted
        .iter()
        .take(MOST_SHOWN)
        .map(|&(process, count)| {
            let title = report.evidence.process(process).title();
            match count {
                1 => title,
                count => format!("{title}, {count} times"),
            }
        })
        .collect();
    if counted.len() > MOST_SHOWN {
        lines.push(format!("{} more processes", counted.len() - MOST_SHOWN));
    }
    lines
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
        text.push_str(&printable(&format!(
            "  {} in {}{counts}\n",
            gone.fingerprint.kind,
            gone.fingerprint.frames.join(" < ")
        )));
    }
    text.push('\n');
}

/// Numbers right-aligned under their heads; statuses that nothing has are left out, but for `new`.
fn push_table(text: &mut String, rows: &[Row]) {
    let statuses: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| {
            *status == Status::New || rows.iter().any(|row| row.findings[*status as usize] > 0)
        })
        .collect();
    let mut table = vec![vec![
        String::new(),
        "bytes".to_owned(),
        "blocks".to_owned(),
        "found".to_owned(),
    ]];
    table[0].extend(
        statuses
            .iter()
            .map(|status| status.word().replace('_', " ")),
    );
    for row in rows {
        let (bytes, blocks) = match row.lost {
            Some((bytes, blocks)) => (grouped(bytes), grouped(blocks)),
            None if row.name == "errors" => (String::new(), String::new()),
            None => ("0".to_owned(), "0".to_owned()),
        };
        let mut cells = vec![row.name.to_owned(), bytes, blocks];
        cells.push(row.findings.iter().sum::<u64>().to_string());
        cells.extend(
            statuses
                .iter()
                .map(|status| row.findings[*status as usize].to_string()),
        );
        table.push(cells);
    }
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

/// Names are input and may hold anything: control characters do not reach the terminal.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}
