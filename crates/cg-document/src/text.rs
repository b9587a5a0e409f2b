//! Aligned text for a terminal or a pipe.
//!
//! Columns are as wide as their widest cell. If the caller gives a width, cells are shortened to fit, with `…` for the
//! missing text, and sentences are wrapped. A pipe gets the full text.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::fit::{self, Fitted};
use crate::width::TextWidth as _;
use crate::{Block, Cell, Column, Document, NAMELESS, Span, Table, number, visible};

mod bars;

/// The properties of the output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// The width in columns of text; `None` for no limit.
    pub width: Option<usize>,
    /// True if styles are written.
    pub is_coloured: bool,
    /// True if percentages may have bars: on a terminal, where no program splits the lines into columns.
    pub has_bars: bool,
}

/// Writes a document for a screen. The default [`Screen`] suits a pipe.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(document: &Document, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    write_blocks(&document.blocks, screen, out, &mut true)
}

fn write_blocks(
    blocks: &[Block],
    screen: Screen,
    out: &mut dyn Write,
    is_first: &mut bool,
) -> io::Result<()> {
    let bold = screen.style(Style::new().bold());
    let dim = screen.style(Style::new().dimmed());
    for block in blocks {
        if matches!(block, Block::Marker(_)) {
            continue;
        }
        // An empty line precedes tables, headings and the like. Sentences follow directly.
        let is_separate = matches!(
            block,
            Block::Table(_)
                | Block::List(_)
                | Block::Heading(_)
                | Block::Graph(_)
                | Block::Verbatim(_)
                | Block::Details { .. }
        );
        if is_separate && !*is_first {
            writeln!(out)?;
        }
        *is_first = false;
        match block {
            Block::Marker(_) => {}
            Block::Heading(text) => write_words(&visible(text), bold, "", screen, out)?,
            Block::Text(text) => write_words(&visible(text), Style::new(), "", screen, out)?,
            Block::Note(text) => write_words(&visible(text), dim, "", screen, out)?,
            Block::List(items) => {
                for item in items {
                    write_words(&line(item), Style::new(), "  ", screen, out)?;
                }
            }
            Block::Table(table) => write_table(table, screen, out)?,
            Block::Graph(graph) => write_lines(&graph.lines(), screen, out)?,
            Block::Verbatim(lines) => write_lines(lines, screen, out)?,
            Block::Details { summary, blocks } => {
                write_words(&line(summary), bold, "", screen, out)?;
                write_blocks(blocks, screen, out, &mut false)?;
            }
        }
    }
    Ok(())
}

/// Writes lines with a fixed layout, cut to the width of the screen.
fn write_lines(lines: &[String], screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        let line = visible(line);
        match screen.width {
            Some(width) => writeln!(out, "{}", fit::truncated_line(&line, width))?,
            None => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}

/// Writes a sentence, wrapped to the width of the screen.
fn write_words(
    words: &str,
    style: Style,
    indent: &str,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(width) = screen.width else {
        return writeln!(out, "{indent}{style}{words}{style:#}");
    };
    let options = textwrap::Options::new(width.max(1))
        .initial_indent(indent)
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(words, options) {
        writeln!(out, "{style}{line}{style:#}")?;
    }
    Ok(())
}

/// Returns the text of spans.
fn line(spans: &[Span]) -> String {
    spans.iter().map(|span| visible(span.words())).collect()
}

impl Screen {
    /// Returns the style if the screen has colours, or else the plain style.
    pub fn style(self, style: Style) -> Style {
        if self.is_coloured {
            style
        } else {
            Style::new()
        }
    }

    fn styled<'c>(self, cell: Cell<'c>) -> (Cell<'c>, Style) {
        let style = self.cell_style(&cell);
        (cell, style)
    }

    fn cell_style(self, cell: &Cell) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        self.style(match cell {
            Cell::Delta(delta) | Cell::Change { delta, .. } if *delta > 0 => colour(AnsiColor::Red),
            Cell::Delta(delta) | Cell::Change { delta, .. } if *delta < 0 => {
                colour(AnsiColor::Green)
            }
            Cell::Share { .. } | Cell::ShareAtMost { .. } => Style::new().dimmed(),
            _ => Style::new(),
        })
    }
}

fn write_table(table: &Table, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let columns = &table.columns;
    let mut lines: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let cells = columns.iter().map(|column| text(&column.cell(*row)));
            cells.collect()
        })
        .collect();
    let mut titles: Vec<String> = columns
        .iter()
        .map(|column| visible(&column.title).into_owned())
        .collect();
    let mut totals: Option<Vec<String>> = table
        .has_totals()
        .then(|| columns.iter().map(|column| text(&column.total)).collect());
    let mut natural: Vec<usize> = titles.iter().map(|title| title.width()).collect();
    for line in lines.iter().chain(&totals) {
        for (width, cell) in natural.iter_mut().zip(line) {
            *width = (*width).max(cell.width());
        }
    }
    let mut fitted = fit::fit(&natural, columns, screen.width);
    for index in bars::columns(table, &fitted, &natural, screen) {
        titles[index].push_str(bars::NONE);
        if let Some(totals) = &mut totals {
            totals[index].push_str(bars::NONE);
        }
        for (line, row) in lines.iter_mut().zip(&table.rows) {
            line[index].push_str(&bars::bar_text(&columns[index].cell(*row)));
        }
        fitted.widen(index, bars::WIDTH);
    }
    let aligned = Aligned {
        columns,
        fitted: &fitted,
        screen,
    };
    let bold = Style::new().bold();
    aligned.write(&titles, |_| (Cell::Empty, bold), out)?;
    if let Some(totals) = &totals {
        aligned.write(totals, |column| screen.styled(column.total.clone()), out)?;
    }
    for (position, (line, row)) in lines.iter().zip(&table.rows).enumerate() {
        if table.group_starts.binary_search(&position).is_ok() {
            writeln!(out)?;
        }
        aligned.write(line, |column| screen.styled(column.cell(*row)), out)?;
    }
    let left_out = fitted
        .left_out
        .iter()
        .map(|index| columns[*index].name.as_str());
    let left_out: Vec<&str> = left_out.collect();
    if !left_out.is_empty() {
        let note = format!(
            "columns hidden on this narrow screen: {}",
            left_out.join(", ")
        );
        let dim = screen.style(Style::new().dimmed());
        write_words(&visible(&note), dim, "", screen, out)?;
    }
    Ok(())
}

/// Writes lines of aligned cells.
struct Aligned<'l, 'a> {
    columns: &'l [Column<'a>],
    fitted: &'l Fitted,
    screen: Screen,
}

impl<'a> Aligned<'_, 'a> {
    /// Writes a line. `styled` returns the cell and the style of each column.
    fn write(
        &self,
        texts: &[String],
        styled: impl Fn(&Column<'a>) -> (Cell<'a>, Style),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // Blanks are written only before other text, so that no line ends in blanks.
        let mut blanks = 0;
        for (position, (index, width)) in self.fitted.columns.iter().enumerate() {
            let column = &self.columns[*index];
            if position > 0 {
                blanks += fit::gap(column).len();
            }
            let (cell, style) = styled(column);
            let cell = fit::shortened(&cell, &texts[*index], *width, column.layout);
            let padding = width.saturating_sub(cell.width());
            if cell.is_empty() {
                blanks += padding;
                continue;
            }
            if column.is_right_aligned() {
                blanks += padding;
            }
            let style = self.screen.style(style);
            write_blanks(blanks, out)?;
            write!(out, "{style}{cell}{style:#}")?;
            blanks = if column.is_right_aligned() {
                0
            } else {
                padding
            };
        }
        writeln!(out)
    }
}

/// Writes blanks. A width in a format string is at most 65,535, and names can be longer.
fn write_blanks(mut count: usize, out: &mut dyn Write) -> io::Result<()> {
    const BLANKS: &[u8] = &[b' '; 128];
    while count > 0 {
        let length = count.min(BLANKS.len());
        out.write_all(&BLANKS[..length])?;
        count -= length;
    }
    Ok(())
}

/// Returns a cell's text for people.
fn text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Nameless => NAMELESS.to_owned(),
        Cell::Name(name) => visible(name).into_owned(),
        Cell::Text(words) => visible(words).into_owned(),
        Cell::Called { name, calls } => {
            format!("{} ({}x)", visible(name), number::grouped(*calls))
        }
        Cell::Placed { lead, name, place } if place.is_empty() => {
            format!("{lead}{}", visible(name))
        }
        Cell::Placed { lead, name, place } => {
            format!("{lead}{} ({})", visible(name), visible(place))
        }
        Cell::Count(count) => number::grouped(*count),
        Cell::AtMost(count) => number::at_most(&number::grouped(*count)),
        Cell::Delta(delta) => number::signed(*delta),
        Cell::Ordinal(number) => number.to_string(),
        Cell::Quotient { .. } => cell.ratio().map(number::quotient).unwrap_or_default(),
        // A share of 0 is empty, as in callgrind_annotate.
        Cell::Share { part: 0, .. } | Cell::ShareAtMost { part: 0, .. } => String::new(),
        Cell::Share { .. } => cell
            .percentage()
            .map(number::annotate_percent)
            .unwrap_or_default(),
        Cell::ShareAtMost { .. } => cell
            .percentage()
            .map(|percent| format!("({})", number::at_most(&number::percent(percent))))
            .unwrap_or_default(),
        Cell::Change { .. } => cell
            .percentage()
            .map(|percent| format!("({})", number::signed_percent(percent)))
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    const NAMES: [&str; 2] = ["demo::main", "demo::a_rather_long_function_name"];
    const FILES: [&str; 2] = ["src/main.rs", "/home/dev/demo/src/deep/down/log.rs"];

    fn rendered(width: Option<usize>, is_coloured: bool) -> String {
        let counts = [4_047_227, 812_004];
        let columns = vec![
            Column::new("Ir", Layout::Number, move |row| Cell::Count(counts[row]))
                .with_total(Cell::Count(4_859_231)),
            Column::new("Ir%", Layout::Percent, move |row| {
                Cell::share(counts[row], 4_859_231)
            })
            .titled("%")
            .with_total(Cell::share(1, 1)),
            Column::new("fn", Layout::Name, |row| Cell::Name(NAMES[row]))
                .titled("function")
                .with_total(Cell::Text("total".into())),
            Column::new("file", Layout::Path, |row| Cell::Name(FILES[row])),
        ];
        let document = Document {
            blocks: vec![
                Block::Table(Table::new(columns, vec![0, 1])),
                Block::Note("that is all".into()),
            ],
        };
        let mut out = Vec::new();
        let screen = Screen {
            width,
            is_coloured,
            has_bars: false,
        };
        write(&document, screen, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_line_up_and_no_line_ends_in_blanks() {
        let expected = concat!(
            "       Ir        %  function                           file\n",
            "4,859,231 (100.0%)  total\n",
            "4,047,227 (83.29%)  demo::main                         src/main.rs\n",
            "  812,004 (16.71%)  demo::a_rather_long_function_name  /home/dev/demo/src/deep/down/log.rs\n",
            "that is all\n",
        );
        assert_eq!(rendered(None, false), expected);
    }

    #[test]
    fn sentences_are_wrapped() {
        let document = Document {
            blocks: vec![Block::Note("one two three four".into())],
        };
        let mut out = Vec::new();
        let screen = Screen {
            width: Some(9),
            ..Screen::default()
        };
        write(&document, screen, &mut out).unwrap();
        assert_eq!(out, b"one two\nthree\nfour\n");
    }

    #[test]
    fn a_narrow_screen_shortens_paths_first_and_marks_it() {
        let text = rendered(Some(80), false);
        assert!(
            text.contains("demo::a_rather_long_function_name  …"),
            "{text}"
        );
        assert!(text.contains("log.rs\n"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        let narrower = rendered(Some(60), false);
        assert!(
            narrower.lines().all(|line| line.width() <= 60),
            "{narrower}"
        );
        assert!(narrower.contains("demo::a_r"), "{narrower}");
    }

    #[test]
    fn percentages_have_bars_if_there_is_room() {
        let counts = [750, 250, 1, 0];
        let shown = |width: usize, has_bars: bool| {
            let columns = vec![
                Column::new("Ir%", Layout::Percent, move |row| {
                    Cell::share(counts[row], 1_000)
                })
                .titled("%")
                .with_total(Cell::share(1, 1)),
                Column::new("fn", Layout::Name, |_| Cell::Name("f")),
            ];
            let document = Document {
                blocks: vec![Block::Table(Table::new(columns, vec![0, 1, 2, 3]))],
            };
            let screen = Screen {
                width: Some(width),
                has_bars,
                ..Screen::default()
            };
            let mut out = Vec::new();
            write(&document, screen, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let with = "       %           fn\n(75.00%) ██████    f\n(25.00%) ██        f\n( 0.10%) ▏         f\n                   f\n";
        assert_eq!(shown(21, true), with);
        assert_eq!(shown(120, true), with);
        let without = "       %  fn\n(75.00%)  f\n(25.00%)  f\n( 0.10%)  f\n          f\n";
        assert_eq!(shown(20, true), without);
        assert_eq!(shown(120, false), without);
    }

    #[test]
    fn colours_are_written_only_on_request() {
        assert!(!rendered(None, false).contains('\x1b'));
        assert!(rendered(None, true).contains('\x1b'));
    }

    #[test]
    fn names_cannot_send_control_characters_to_the_terminal() {
        assert_eq!(text(&Cell::Name("a\x1b[2J\n")), "a\\u{1b}[2J\\n");
    }

    #[test]
    fn all_blocks_escape_control_characters() {
        let hostile = || "a\u{1b}]0;\u{202e}\n".to_owned();
        let document = Document {
            blocks: vec![
                Block::Heading(hostile()),
                Block::Text(hostile()),
                Block::Note(hostile()),
                Block::List(vec![vec![Span::code(hostile())]]),
                Block::Verbatim(vec![hostile()]),
                Block::Details {
                    summary: vec![Span::text(hostile())],
                    blocks: Vec::new(),
                },
            ],
        };
        let mut out = Vec::new();
        write(&document, Screen::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let shown = text.lines().filter(|line| !line.is_empty());
        assert!(
            shown
                .clone()
                .all(|line| line.trim() == "a\\u{1b}]0;\\u{202e}\\n"),
            "{text}"
        );
        assert_eq!(shown.count(), 6);
    }

    #[test]
    fn name_longer_than_a_width_of_rust_is_written() {
        let long = "n".repeat(70_000);
        let columns = vec![
            Column::new("fn", Layout::Name, |row| {
                Cell::Name(if row == 0 { &long } else { "short" })
            }),
            Column::new("obj", Layout::Path, |_| Cell::Name("object")),
        ];
        let document = Document {
            blocks: vec![Block::Table(Table::new(columns, vec![0, 1]))],
        };
        let mut out = Vec::new();
        write(&document, Screen::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let widths = text.lines().map(str::len);
        assert_eq!(Vec::from_iter(widths), [70_005, 70_008, 70_008]);
    }
}
