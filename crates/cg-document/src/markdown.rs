//! GitHub-flavoured markdown. Names are escaped code spans, so they are safe.

use std::fmt::Write as _;
use std::io;

use crate::fit::short_name;
use crate::{Block, Cell, Document, NAMELESS, Span, Table, number, visible};

/// Writes a document.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(document: &Document, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(text(&document.blocks).as_bytes())?;
    out.flush()
}

/// Returns the markdown of some blocks, for callers that need its length.
pub fn text(blocks: &[Block]) -> String {
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
        Block::List(items) => {
            for item in items {
                push_all(text, &["- ", &html_line(item), "\n"]);
            }
        }
        Block::Table(table) => push_table(text, table),
        Block::Graph(graph) => push_lines(text, &graph.lines()),
        Block::Verbatim(lines) => push_lines(text, lines),
        Block::Details { summary, blocks } => {
            push_all(
                text,
                &["<details><summary>", &html_line(summary), "</summary>\n"],
            );
            for block in blocks {
                text.push('\n');
                push_block(text, block);
            }
            text.push_str("\n</details>\n");
        }
    }
}

/// Appends lines as a code block.
fn push_lines(text: &mut String, lines: &[String]) {
    let fence = fence(lines);
    push_all(text, &[&fence, "text\n"]);
    for line in lines {
        push_all(text, &[&visible(line), "\n"]);
    }
    push_all(text, &[&fence, "\n"]);
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

/// The maximum width of names in tables.
const WIDEST_NAME: usize = 80;

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Nameless => NAMELESS.to_owned(),
        Cell::Name(name) => code_span(&short_name(name, WIDEST_NAME)),
        Cell::Text(words) => escaped(words),
        Cell::Called { name, calls } => {
            let name = code_span(&short_name(name, WIDEST_NAME));
            format!("{name} ({}x)", number::grouped(*calls))
        }
        Cell::Placed { lead, name, place } => {
            let name = short_name(name, WIDEST_NAME);
            match place.is_empty() {
                true => escaped(&format!("{lead}{name}")),
                false => escaped(&format!("{lead}{name} ({place})")),
            }
        }
        Cell::Count(count) => number::grouped(*count),
        Cell::AtMost(count) => number::at_most(&number::grouped(*count)),
        Cell::Delta(delta) => number::signed(*delta),
        Cell::Ordinal(number) => number.to_string(),
        Cell::Quotient { .. } => cell.ratio().map(number::quotient).unwrap_or_default(),
        Cell::Share { .. } => cell.percentage().map(number::percent).unwrap_or_default(),
        Cell::ShareAtMost { .. } => cell
            .percentage()
            .map(|percent| number::at_most(&number::percent(percent)))
            .unwrap_or_default(),
        Cell::Change { .. } => cell
            .percentage()
            .map(number::signed_percent)
            .unwrap_or_default(),
    }
}

/// Escapes a text, so that it contains no markup of markdown or HTML and no pipe ends a cell.
pub fn escaped(words: &str) -> String {
    let words = visible(words);
    let mut text = String::with_capacity(words.len());
    let mut before = ' ';
    let mut characters = words.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            // At the start of a line these would begin a list or underline a heading.
            '-' | '+' | '=' if text.is_empty() => {
                text.push('\\');
                text.push(character);
            }
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => {
                text.push('\\');
                text.push(character);
            }
            // An underscore inside a word is not markup. So `snake_case` stays readable in the source.
            '_' if !(before.is_alphanumeric()
                && characters.peek().is_some_and(|next| next.is_alphanumeric())) =>
            {
                text.push_str("\\_");
            }
            // `@name` would notify a user, and `#12` would link to an issue.
            '@' => text.push_str("&#64;"),
            '#' => text.push_str("&#35;"),
            character => text.push(character),
        }
        before = character;
    }
    text
}

/// Returns a name as a code span that is valid in a cell of a table.
pub fn code_span(name: &str) -> String {
    let name = visible(name);
    if name.is_empty() {
        return String::new();
    }
    // GitHub reads `\\|` in a cell as a backslash and the end of the cell, so such a name cannot be a code span.
    if name.contains("\\|") {
        return format!("<code>{}</code>", html(&name));
    }
    let fence = "`".repeat(longest_run_of_backticks(&name) + 1);
    let needs_padding = name.starts_with('`')
        || name.ends_with('`')
        || (name.starts_with(' ') && name.ends_with(' '));
    let padding = if needs_padding { " " } else { "" };
    let name = name.replace('|', "\\|");
    format!("{fence}{padding}{name}{padding}{fence}")
}

/// Escapes text for both HTML and markdown: a summary is HTML, a list item is both. An empty HTML comment after `@` and `#`
/// prevents GitHub from making mentions and references.
fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' | '#' => {
                escaped.push(character);
                escaped.push_str("<!-- -->");
            }
            '*' | '_' | '`' | '~' | '[' | ']' | '\\' | '|' => {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            character => escaped.push(character),
        }
    }
    escaped
}

/// Returns spans as HTML.
fn html_line(spans: &[Span]) -> String {
    let html = spans.iter().map(|span| match span {
        Span::Text(words) => html(words),
        Span::Code(name) => format!("<code>{}</code>", html(name)),
    });
    html.collect()
}

/// Returns a fence that none of the lines can close.
fn fence(lines: &[String]) -> String {
    let longest = lines.iter().map(|line| longest_run_of_backticks(line));
    "`".repeat(longest.max().unwrap_or(0).max(2) + 1)
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
    use crate::{Column, Layout};

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
    fn text_never_contains_markup() {
        assert_eq!(
            escaped("a|b <c> *d* `e` snake_case _f_ @g #1"),
            "a\\|b &lt;c&gt; \\*d\\* \\`e\\` snake_case \\_f\\_ &#64;g &#35;1"
        );
        assert_eq!(escaped("- a-b"), "\\- a-b");
    }

    #[test]
    fn names_in_html_are_neither_markup_nor_mentions() {
        assert_eq!(
            html_line(&[Span::text("f<T>(a*, #3) memcpy@GLIBC\n"), Span::code("_x_")]),
            "f&lt;T&gt;(a&#42;, #<!-- -->3) memcpy@<!-- -->GLIBC&#92;n<code>&#95;x&#95;</code>"
        );
        let items = vec![vec![Span::text("a")], vec![Span::code("b|c")]];
        assert_eq!(
            text(&[Block::List(items)]),
            "- a\n- <code>b&#124;c</code>\n"
        );
    }

    #[test]
    fn a_document_has_tables_sentences_and_details() {
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
                summary: vec![Span::text("2 more of "), Span::code("a*b")],
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
                "<!-- cg-diff -->\n1 &lt; 2\n\n{table}\n<details><summary>2 more of <code>a&#42;b</code></summary>\n\n{table}\n</details>\n"
            )
        );
    }

    #[test]
    fn verbatim_lines_cannot_close_their_fence() {
        assert_eq!(
            text(&[Block::Verbatim(vec!["```".into(), "a\n\x1b".into()])]),
            "````text\n```\na\\n\\u{1b}\n````\n"
        );
    }
}
