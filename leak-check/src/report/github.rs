//! Workflow commands, which GitHub shows as annotations of a pull request's lines.
//!
//! A step shows 10 annotations of each level and silently drops the others. So the report writes at most 10 commands,
//! those on lines of the repository first, and counts the rest.

use std::io::{self, Write};

use cg_collections::sorting::Order as _;
use cg_document::number::plural;
use cg_document::visible;
use cg_stream::record::Count;

use super::{GateReport, kinds};

/// The number of annotations of one level that a step shows.
const SHOWN: usize = 10;

pub(super) fn write(report: &GateReport<'_>, output: &mut dyn Write) -> io::Result<()> {
    let entries = report.entries();
    for (level, fails) in [("error", true), ("notice", false)] {
        let mut placed: Vec<_> = entries
            .iter()
            .filter(|entry| entry.ruling.status.fails() == fails)
            .map(|entry| (report.place(entry), entry))
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
    if report.could_not_judge {
        output.write_all(b"::warning title=leak-check::some inputs could not be judged; see the log of this step\n")?;
    }
    writeln!(output, "leak-check: {}", report.verdict_line())
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
