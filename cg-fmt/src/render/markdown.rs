//! GitHub-flavoured markdown: tables whose names are code spans, safe whatever the names hold.

use std::io::{self, Write};

use super::visible;
use crate::document::{Block, Document};
use crate::number;
use crate::table::{Cell, Table};

pub(crate) fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(&document.blocks).as_bytes())?;
    out.flush()
}

/// The markdown of some blocks, for those who must know how long it gets.
pub(crate) fn text(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() && !text.ends_with("-->\n") {
            text.push('\n');
        }
        push_block(&mut text, block);
    }
    text
}

fn push_block(text: &mut String, block: &Block) {
    match block {
        Block::Marker(marker) => push_all(text, &["<!-- ", marker, " -->\n"]),
        Block::Heading(words) => push_all(text, &["### ", &escaped(words), "\n"]),
        Block::Text(words) => push_all(text, &[&escaped(words), "\n"]),
        Block::Note(words) => push_all(text, &["<sub>", &escaped(words), "</sub>\n"]),
        Block::Table(table) => push_table(text, table),
        Block::Verbatim(lines) => {
            let fence = fence(lines);
            push_all(text, &[&fence, "text\n", lines, &fence, "\n"]);
        }
        Block::Details { summary, blocks } => {
            push_all(
                text,
                &["<details><summary>", &escaped(summary), "</summary>\n"],
            );
            for block in blocks {
                text.push('\n');
                push_block(text, block);
            }
            text.push_str("\n</details>\n");
        }
    }
}

fn push_table(text: &mut String, table: &Table) {
    for column in &table.columns {
        push_all(text, &["| ", &escaped(&column.title), " "]);
    }
    text.push_str("|\n");
    for column in &table.columns {
        text.push_str(if column.is_right_aligned() {
            "|---:"
        } else {
            "|:---"
        });
    }
    text.push_str("|\n");
    if table.has_totals() {
        for column in &table.columns {
            let total = cell_text(&column.total);
            if total.is_empty() {
                text.push_str("| ");
            } else {
                push_all(text, &["| **", &total, "** "]);
            }
        }
        text.push_str("|\n");
    }
    for row in &table.rows {
        for column in &table.columns {
            let cell = cell_text(&column.cell(*row));
            push_all(text, &["| ", &cell]);
            if !cell.is_empty() {
                text.push(' ');
            }
        }
        text.push_str("|\n");
    }
}

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Name(name) => code_span(name),
        Cell::Text(words) => escaped(words),
        Cell::Called { name, calls } => {
            format!("{} ({}x)", code_span(name), number::grouped(*calls))
        }
        Cell::Count(count) => number::grouped(*count),
        Cell::Delta(delta) => number::signed(*delta),
        Cell::Ordinal(number) => number.to_string(),
        Cell::Quotient { .. } => cell.ratio().map(number::quotient).unwrap_or_default(),
        Cell::Share { .. } => cell.percentage().map(number::percent).unwrap_or_default(),
        Cell::Change { .. } => cell
            .percentage()
            .map(number::signed_percent)
            .unwrap_or_default(),
    }
}

/// Text that means itself: what markdown or HTML would take for markup is escaped, and a pipe does not end a cell.
pub(crate) fn escaped(words: &str) -> String {
    let words = visible(words);
    let mut text = String::with_capacity(words.len());
    let mut before = ' ';
    let mut characters = words.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            // At the start these would begin a list or underline a heading.
            '-' | '+' | '=' if text.is_empty() => {
                text.push('\\');
                text.push(character);
            }
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => {
                text.push('\\');
                text.push(character);
            }
            // An underscore within a word is no markup, and `snake_case` stays legible in the source.
            '_' if !(before.is_alphanumeric()
                && characters.peek().is_some_and(|next| next.is_alphanumeric())) =>
            {
                text.push_str("\\_");
            }
            // `@name` would call somebody, and `#12` would link to an issue.
            '@' => text.push_str("&#64;"),
            '#' => text.push_str("&#35;"),
            character => text.push(character),
        }
        before = character;
    }
    text
}

/// A name as a code span that may stand in a table's cell.
pub(crate) fn code_span(name: &str) -> String {
    let name = visible(name);
    if name.is_empty() {
        return String::new();
    }
    // GitHub reads `\\|` in a cell as a backslash and the cell's end, so such a name cannot be a code span.
    if name.contains("\\|") {
        let html = name
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('|', "&#124;")
            .replace('\\', "&#92;")
            .replace('`', "&#96;")
            .replace('*', "&#42;")
            .replace('_', "&#95;");
        return format!("<code>{html}</code>");
    }
    let fence = "`".repeat(longest_run_of_backticks(&name) + 1);
    let needs_padding = name.starts_with('`')
        || name.ends_with('`')
        || (name.starts_with(' ') && name.ends_with(' '));
    let padding = if needs_padding { " " } else { "" };
    let name = name.replace('|', "\\|");
    format!("{fence}{padding}{name}{padding}{fence}")
}

/// A fence that no line of the text can close.
fn fence(text: &str) -> String {
    "`".repeat(longest_run_of_backticks(text).max(2) + 1)
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

fn push_all(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Layout};

    #[test]
    fn names_are_code_spans_that_show_them_exactly() {
        for (name, span) in [
            ("demo::main", "`demo::main`"),
            ("<A as B<C>>::f", "`<A as B<C>>::f`"),
            ("operator|(A, B)", "`operator\\|(A, B)`"),
            ("a`b", "``a`b``"),
            ("``a", "``` ``a ```"),
            ("a\nb", "`a\\nb`"),
            ("a\\|b", "<code>a&#92;&#124;b</code>"),
            ("", ""),
        ] {
            assert_eq!(code_span(name), span);
        }
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            escaped("a|b <c> *d* `e` snake_case _f_ @g #1"),
            "a\\|b &lt;c&gt; \\*d\\* \\`e\\` snake_case \\_f\\_ &#64;g &#35;1"
        );
        assert_eq!(escaped("- a-b"), "\\- a-b");
    }

    #[test]
    fn a_document_is_tables_sentences_and_details() {
        let table = || {
            Table::new(
                vec![
                    Column::new("Ir", Layout::Number, |_| Cell::Count(1_234))
                        .with_total(Cell::Count(1_234)),
                    Column::new("fn", Layout::Name, |_| Cell::Name("f|g")).titled("function"),
                ],
                vec![0],
            )
        };
        let blocks = [
            Block::Marker("cg-diff"),
            Block::Text("1 < 2".into()),
            Block::Table(table()),
            Block::Details {
                summary: "more".into(),
                blocks: vec![Block::Table(table())],
            },
        ];
        let table = "\
| Ir | function |
|---:|:---|
| **1,234** | |
| 1,234 | `f\\|g` |
";
        assert_eq!(
            text(&blocks),
            format!(
                "<!-- cg-diff -->\n1 &lt; 2\n\n{table}\n<details><summary>more</summary>\n\n{table}\n</details>\n"
            )
        );
    }

    #[test]
    fn verbatim_lines_cannot_close_their_fence() {
        assert_eq!(
            text(&[Block::Verbatim("```\n".into())]),
            "````text\n```\n````\n"
        );
    }
}
