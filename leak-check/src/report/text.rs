//! The report for people: the verdict, findings by blamed function, the commands, a table like the LEAK SUMMARY, and the
//! verdict again.

use std::fmt;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use cg_document::text::{self, Screen};
use cg_document::{Document, visible};

use super::{GateReport, ReportEntry};
use crate::ruling::RulingStatus;
use crate::sentence::sentence;

/// The colours. They only repeat information in the text.
struct Styles {
    function: Style,
    new: Style,
    quiet: Style,
    clean: Style,
}

impl Styles {
    fn new(screen: Screen) -> Styles {
        Styles {
            function: screen.style(Style::new().bold()),
            new: screen.style(AnsiColor::Red.on_default().bold()),
            quiet: screen.style(Style::new().dimmed()),
            clean: screen.style(AnsiColor::Green.on_default().bold()),
        }
    }
}

/// A text in a style.
struct Styled<'a>(Style, &'a str);

impl fmt::Display for Styled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{:#}", self.0, self.1, self.0)
    }
}

pub(super) fn write(
    report: &GateReport<'_>,
    screen: Screen,
    output: &mut dyn Write,
) -> io::Result<()> {
    let styles = Styles::new(screen);
    let style = if report.could_not_judge() || !report.verdict.is_clean() {
        styles.new
    } else {
        styles.clean
    };
    let verdict = report.verdict_line();
    writeln!(output, "{}\n", Styled(style, &verdict))?;
    for group in report.groups() {
        let file = group.file.as_ref().map(|file| format!(" ({file})"));
        let place = file.unwrap_or_default();
        let line = fitted("", &group.function, &place, screen);
        // Only the function is bold, not the place.
        let name = line.strip_suffix(&place).filter(|_| !place.is_empty());
        match name {
            Some(name) => writeln!(output, "{}{place}", Styled(styles.function, name))?,
            None => writeln!(output, "{}", Styled(styles.function, &line))?,
        }
        for entry in &group.entries {
            write_entry(entry, report, &styles, screen, output)?;
        }
        writeln!(output)?;
    }
    write_growth(report, output)?;
    write_gone(report, output)?;
    for (finding, ruling) in report.findings() {
        if finding.is_fatal_signal() && ruling.status != RulingStatus::New {
            let process = report.evidence.process(finding.process);
            let signal = sentence(finding, report.paths);
            let line = format!("{signal}: {}", process.title());
            writeln!(output, "{}", visible(&line))?;
        }
    }
    for line in report.default_suppression_lines() {
        writeln!(output, "{line} (--no-default-suppressions disables this)")?;
    }
    match report.evidence.processes.as_slice() {
        [process] => writeln!(output, "{}", visible(&process.command_title()))?,
        _ => write_commands(report, output)?,
    }
    if !report.evidence.processes.is_empty() {
        let table = Document {
            blocks: report.tables(),
        };
        text::write(&table, Screen::default(), output)?;
    }
    for reason in report.reasons {
        writeln!(output, "not judged: {reason}")?;
    }
    // After a long report, a terminal shows only its end.
    writeln!(output, "{}", Styled(style, &verdict))
}

fn write_commands(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    const MOST_SHOWN: usize = 100;
    let lines = report.command_lines(MOST_SHOWN);
    if !lines.is_empty() {
        writeln!(output, "judged:")?;
    }
    for line in lines {
        writeln!(output, "  {line}")?;
    }
    Ok(())
}

fn write_entry(
    entry: &ReportEntry<'_>,
    report: &GateReport<'_>,
    styles: &Styles,
    screen: Screen,
    output: &mut dyn Write,
) -> io::Result<()> {
    let sentence = &entry.sentence;
    match entry.ruling.status {
        RulingStatus::Allowed => writeln!(output, "  {sentence} (within the limits)")?,
        _ => writeln!(output, "  {}", Styled(styles.new, sentence))?,
    }
    if entry.ruling.status != RulingStatus::Grown && entry.ruling.known_equals > 0 {
        // The entry may be an older finding, because equal findings cannot be distinguished.
        writeln!(
            output,
            "    one of several equal findings; the baseline has {}",
            entry.ruling.known_equals
        )?;
    }
    for (position, folded) in entry.stack.iter().enumerate() {
        let line = report.lines.shown(position, *folded);
        let (word, frame) = line.split_at("at ".len());
        let place = frame.rfind(" (").unwrap_or(frame.len());
        let (name, place) = frame.split_at(place);
        let line = fitted(&format!("    {word}"), name, place, screen);
        for line in line.split('\n') {
            writeln!(output, "{}", Styled(styles.quiet, line))?;
        }
    }
    if report.evidence.processes.len() > 1 {
        for line in report.process_lines(entry) {
            writeln!(output, "    in {line}")?;
        }
    }
    Ok(())
}

/// Returns a line of a stack, shortened to the width of the screen.
fn fitted(lead: &str, name: &str, place: &str, screen: Screen) -> String {
    match screen.width {
        Some(width) => cg_document::frame_line(lead, name, place, width),
        None => [lead, name, place].concat(),
    }
}

fn write_growth(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let growth = report.passing_growth();
    if growth.is_empty() {
        return Ok(());
    }
    writeln!(
        output,
        "in the baseline and grown (--max-growth limits this, --update-baseline accepts it):"
    )?;
    for (fingerprint, growth) in growth {
        let frames = fingerprint.frames.join(" < ");
        let line = format!("  {} in {frames}: {growth}", fingerprint.kind);
        writeln!(output, "{}", visible(&line))?;
    }
    writeln!(output)
}

fn write_gone(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    if report.verdict.gone.is_empty() {
        return Ok(());
    }
    writeln!(
        output,
        "in the baseline and no longer found (--update-baseline removes these):"
    )?;
    for gone in &report.verdict.gone {
        let counts = match (gone.known, gone.present) {
            (1, 0) => String::new(),
            (known, present) => format!(", {known} known and {present} found"),
        };
        let frames = gone.fingerprint.frames.join(" < ");
        let line = format!("  {} in {frames}{counts}", gone.fingerprint.kind);
        writeln!(output, "{}", visible(&line))?;
    }
    writeln!(output)
}
