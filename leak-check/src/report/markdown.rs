//! Markdown for a comment on a pull request: a marker to find the comment by, the verdict, a fold for each finding,
//! the table. GitHub takes 65,536 characters; whatever would be longer is cut at a finding, and says so.

use super::{Entry, Report, stack_lines, table_cells};
use crate::numbers::plural;
use crate::policy::Status;
use cg_stream::record::Count;

/// The first line of every comment, so that the next run can find and replace it.
const MARKER: &str = "<!-- leak-check -->";

/// GitHub's limit for a comment. Bytes are counted, of which there are at least as many as characters.
const LONGEST: usize = 65_536;

pub(super) fn render(report: &Report<'_>) -> String {
    let groups = report.groups();
    let entries: Vec<&Entry<'_>> = groups.iter().flat_map(|group| &group.entries).collect();
    let mut text = format!("{MARKER}\n### leak-check: {}\n\n", report.verdict_line());
    let end = end(report);
    // Room for the table and for the line that says how many were left out.
    let room = LONGEST.saturating_sub(end.len() + 200);
    for (position, entry) in entries.iter().enumerate() {
        let fold = fold(report, entry);
        if text.len() + fold.len() > room {
            let left = entries.len() - position;
            text.push_str(&format!(
                "{} left out: a comment has room for {LONGEST} characters.\n\n",
                plural(left as Count, "finding is", "findings are")
            ));
            break;
        }
        text.push_str(&fold);
    }
    text.push_str(&end);
    text
}

fn fold(report: &Report<'_>, entry: &Entry<'_>) -> String {
    let place = report.place(entry);
    let place = match place.line.filter(|_| place.is_source) {
        Some(line) => format!(" (<code>{}:{line}</code>)", html(&place.path)),
        None => String::new(),
    };
    let limits = match entry.ruling.status {
        Status::Allowed => " (within the limits)",
        _ => "",
    };
    let mut lines = stack_lines(&entry.finding.stack, report.paths);
    lines.extend(
        report
            .process_lines(entry)
            .into_iter()
            .map(|line| format!("in {line}")),
    );
    let stack = lines.join("\n");
    let fence = "`".repeat(3.max(longest_run(&stack, '`') + 1));
    format!(
        "<details><summary>{}{place}{limits}</summary>\n\n{fence}text\n{stack}\n{fence}\n\n</details>\n\n",
        html(&report.message(entry))
    )
}

/// Baseline entries that are gone, and the table.
fn end(report: &Report<'_>) -> String {
    const MOST_GONE: usize = 20;
    let mut text = String::new();
    let gone = &report.verdict.gone;
    if !gone.is_empty() {
        text.push_str("In the baseline and no longer found:\n\n");
        for gone in gone.iter().take(MOST_GONE) {
            let innermost = gone.fingerprint.frames.first().map_or("", String::as_str);
            let name: String = innermost.chars().take(200).collect();
            text.push_str(&format!(
                "- {} in <code>{}</code>\n",
                html(&gone.fingerprint.kind),
                html(&name)
            ));
        }
        if gone.len() > MOST_GONE {
            text.push_str(&format!("- {} more\n", gone.len() - MOST_GONE));
        }
        text.push('\n');
    }
    for (position, cells) in table_cells(&report.rows()).iter().enumerate() {
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if position == 0 {
            text.push_str(&format!("| --- |{}\n", " ---: |".repeat(cells.len() - 1)));
        }
    }
    text
}

/// Text as HTML that GitHub makes neither mentions nor references of.
fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' | '#' => {
                escaped.push(c);
                escaped.push_str("<!-- -->");
            }
            '\n' | '\r' => escaped.push(' '),
            '*' | '_' | '`' | '~' | '[' | ']' | '\\' | '|' => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_html_nor_mentions() {
        assert_eq!(
            html("f<T>(a*, #3) memcpy@GLIBC"),
            "f&lt;T&gt;(a&#42;, #<!-- -->3) memcpy@<!-- -->GLIBC"
        );
        assert_eq!(longest_run("a``b```c`", '`'), 3);
    }
}
