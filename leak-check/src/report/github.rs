//! Workflow commands, which GitHub shows as annotations of a pull request's lines.
//!
//! A step shows 10 annotations of each level and silently drops the others. So the report writes at most 10 commands,
//! those on lines of the repository first, and counts the rest. Other lines appear only in the log of the step.

use std::io::{self, Write};

use cg_collections::sorting::Order as _;
use cg_document::number::plural;
use cg_document::visible;
use cg_stream::record::Count;

use super::{GateReport, kinds};

/// The number of annotations of one level that a step shows.
const SHOWN: usize = 10;

/// The number of commands that the log of a step lists.
const MOST_COMMANDS: usize = 100;

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "leak-check: {}", report.verdict_line())?;
    let entries = report.entries();
    for (level, fails) in [("error", true), ("notice", false)] {
        let mut placed: Vec<_> = entries
            .iter()
            .filter(|entry| entry.ruling.status.fails() == fails)
            .map(|entry| (report.place_below_root(entry), entry))
            .collect();
        placed.order_by_key(|(place, _)| !place.is_source);
        for (place, entry) in placed.iter().take(SHOWN) {
            let mut properties = format!("file={}", property(&visible(&place.path)));
            if let Some(line) = place.line {
                properties.push_str(&format!(",line={line}"));
            }
            properties.push_str(&format!(",title={}", property(&kinds::rule(entry))));
            let mut message = report.message(entry);
            for line in report.stack_lines(entry) {
                message.push_str(&format!("\n  {line}"));
            }
            for line in report.process_lines(entry) {
                message.push_str(&format!("\n  in {line}"));
            }
            writeln!(output, "::{level} {properties}::{}", data(&message))?;
        }
        if placed.len() > SHOWN {
            let cut = plural(
                (placed.len() - SHOWN) as Count,
                "finding is",
                "findings are",
            );
            writeln!(
                output,
                "{} not annotated: GitHub shows at most {SHOWN} of each level",
                cut
            )?;
        }
    }
    for (position, reason) in report.reasons.iter().enumerate() {
        match position < SHOWN {
            true => writeln!(
                output,
                "::warning title=leak-check::not judged: {}",
                data(reason)
            )?,
            false => writeln!(output, "not judged: {reason}")?,
        }
    }
    for line in report.command_lines(MOST_COMMANDS) {
        writeln!(output, "judged: {line}")?;
    }
    Ok(())
}

/// Escapes a message: line ends, which would end the command, and the escape character `%`.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes the value of a property, where `:` and `,` are special too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_special_to_the_runner_are_escaped() {
        assert_eq!(data("100%\r\na:b,c"), "100%25%0D%0Aa:b,c");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
