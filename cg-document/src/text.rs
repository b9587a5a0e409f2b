//! Aligned text for a terminal or a pipe.
//!
//! Columns are as wide as their widest cell. Only where the caller gives a width are paths, then names, shortened to fit
//! it, with `…` for what is missing; into a pipe everything is written in full.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{Block, Cell, Column, Document, Layout, Span, Table, number, visible};

/// What is known of the place where the text will be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Columns of text that fit; `None` is any number.
    pub width: Option<usize>,
    /// Whether styles are written.
    pub is_coloured: bool,
}

/// The narrowest a shortened column gets.
const NARROWEST: usize = 16;

/// Writes a document for a screen, or for a pipe if nothing is known of one.
///
/// # Errors
/// Those of the writer.
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
        // Tables and headings stand apart; sentences follow what they are about.
        let stands_apart = matches!(
            block,
            Block::Table(_)
                | Block::List(_)
                | Block::Heading(_)
                | Block::Graph(_)
                | Block::Verbatim(_)
                | Block::Details { .. }
        );
        if stands_apart && !*is_first {
            writeln!(out)?;
        }
        *is_first = false;
        match block {
            Block::Marker(_) => {}
            Block::Heading(text) => writeln!(out, "{bold}{}{bold:#}", visible(text))?,
            Block::Text(text) => writeln!(out, "{}", visible(text))?,
            Block::Note(text) => writeln!(out, "{dim}{}{dim:#}", visible(text))?,
            Block::List(items) => {
                for item in items {
                    writeln!(out, "  {}", line(item))?;
                }
            }
            Block::Table(table) => write_table(table, screen, out)?,
            Block::Graph(graph) => write_lines(&graph.lines(), out)?,
            Block::Verbatim(lines) => write_lines(lines, out)?,
            Block::Details { summary, blocks } => {
                writeln!(out, "{bold}{}{bold:#}", line(summary))?;
                write_blocks(blocks, screen, out, &mut false)?;
            }
        }
    }
    Ok(())
}

fn write_lines(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        writeln!(out, "{}", visible(line))?;
    }
    Ok(())
}

/// Spans in a row.
fn line(spans: &[Span]) -> String {
    spans.iter().map(|span| visible(span.words())).collect()
}

impl Screen {
    /// The style where the screen has colours, else none.
    pub fn style(self, style: Style) -> Style {
        if self.is_coloured {
            style
        } else {
            Style::new()
        }
    }

    fn cell_style(self, cell: &Cell) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        self.style(match cell {
            Cell::Delta(delta) | Cell::Change { delta, .. } if *delta > 0 => colour(AnsiColor::Red),
            Cell::Delta(delta) | Cell::Change { delta, .. } if *delta < 0 => {
                colour(AnsiColor::Green)
            }
            Cell::Share { .. } => Style::new().dimmed(),
            _ => Style::new(),
        })
    }
}

fn write_table(table: &Table, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let columns = &table.columns;
    let lines: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let cells = columns.iter().map(|column| text(&column.cell(*row)));
            cells.collect()
        })
        .collect();
    let titles: Vec<String> = columns
        .iter()
        .map(|column| visible(&column.title).into_owned())
        .collect();
    let totals: Option<Vec<String>> = table
        .has_totals()
        .then(|| columns.iter().map(|column| text(&column.total)).collect());
    let mut widths: Vec<usize> = titles.iter().map(|title| title.width()).collect();
    for line in lines.iter().chain(&totals) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.width());
        }
    }
    if let Some(limit) = screen.width {
        shrink(&mut widths, columns, limit);
    }
    let aligned = Aligned {
        columns,
        widths: &widths,
        screen,
    };
    let bold = Style::new().bold();
    aligned.write(&titles, |_| bold, out)?;
    if let Some(totals) = &totals {
        aligned.write(totals, |column| screen.cell_style(&column.total), out)?;
    }
    for (position, (line, row)) in lines.iter().zip(&table.rows).enumerate() {
        if table.group_starts.binary_search(&position).is_ok() {
            writeln!(out)?;
        }
        aligned.write(line, |column| screen.cell_style(&column.cell(*row)), out)?;
    }
    Ok(())
}

/// Takes from paths first and from names then what the lines have too much.
fn shrink(widths: &mut [usize], columns: &[Column], limit: usize) {
    for layout in [Layout::Path, Layout::Name] {
        loop {
            let needed: usize = widths.iter().sum::<usize>()
                + columns
                    .iter()
                    .skip(1)
                    .map(|column| gap(column).len())
                    .sum::<usize>();
            let excess = needed.saturating_sub(limit);
            let widest = (0..widths.len())
                .filter(|index| columns[*index].layout == layout)
                .max_by_key(|index| widths[*index]);
            match widest {
                Some(index) if excess > 0 && widths[index] > NARROWEST => {
                    // The widest gives way until it is no wider than the next.
                    let next = (0..widths.len())
                        .filter(|other| *other != index && columns[*other].layout == layout)
                        .map(|other| widths[other])
                        .filter(|width| *width < widths[index])
                        .max()
                        .unwrap_or(NARROWEST)
                        .max(NARROWEST);
                    let step = excess.min((widths[index] - next).max(1));
                    widths[index] -= step;
                }
                _ => break,
            }
        }
    }
}

/// What stands between a column and the one before it.
fn gap(column: &Column) -> &'static str {
    match column.layout {
        Layout::Percent => " ",
        _ => "  ",
    }
}

/// Writes lines of cells under each other.
struct Aligned<'l, 'a> {
    columns: &'l [Column<'a>],
    widths: &'l [usize],
    screen: Screen,
}

impl Aligned<'_, '_> {
    fn write(
        &self,
        cells: &[String],
        style: impl Fn(&Column) -> Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        // Blanks are held back until something follows them, so no line ends in any.
        let mut blanks = 0;
        for (index, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            if index > 0 {
                blanks += gap(column).len();
            }
            let cell = shorten(cell, self.widths[index], column.layout);
            let padding = self.widths[index].saturating_sub(cell.width());
            if cell.is_empty() {
                blanks += padding;
                continue;
            }
            if column.is_right_aligned() {
                blanks += padding;
            }
            let style = self.screen.style(style(column));
            write!(out, "{:blanks$}{style}{cell}{style:#}", "")?;
            blanks = if column.is_right_aligned() {
                0
            } else {
                padding
            };
        }
        writeln!(out)
    }
}

/// A cell's text for people.
fn text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Name(name) => visible(name).into_owned(),
        Cell::Text(words) => visible(words).into_owned(),
        Cell::Called { name, calls } => {
            format!("{} ({}x)", visible(name), number::grouped(*calls))
        }
        Cell::Count(count) => number::grouped(*count),
        Cell::Delta(delta) => number::signed(*delta),
        Cell::Ordinal(number) => number.to_string(),
        Cell::Quotient { .. } => cell.ratio().map(number::quotient).unwrap_or_default(),
        // Nothing is no share, as callgrind_annotate has it.
        Cell::Share { part: 0, .. } => String::new(),
        Cell::Share { .. } => cell
            .percentage()
            .map(number::annotate_percent)
            .unwrap_or_default(),
        Cell::Change { .. } => cell
            .percentage()
            .map(|percent| format!("({})", number::signed_percent(percent)))
            .unwrap_or_default(),
    }
}

/// The text within a width: of a path the end stays, of a name both ends.
fn shorten(text: &str, width: usize, layout: Layout) -> String {
    if text.width() <= width || width == 0 {
        return text.to_owned();
    }
    let left = match layout {
        Layout::Path => 0,
        _ => (width - 1) / 2,
    };
    let head = fitting(text.chars(), left);
    let tail: String = fitting(text.chars().rev(), width - 1 - head.width())
        .chars()
        .rev()
        .collect();
    format!("{head}…{tail}")
}

/// As many of the first characters as fit in a width.
fn fitting(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let screen = Screen { width, is_coloured };
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
    fn a_narrow_screen_shortens_paths_first_and_visibly() {
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
    fn colour_is_only_there_when_asked_for() {
        assert!(!rendered(None, false).contains('\x1b'));
        assert!(rendered(None, true).contains('\x1b'));
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        assert_eq!(text(&Cell::Name("a\x1b[2J\n")), "a\\u{1b}[2J\\n");
    }

    #[test]
    fn no_block_lets_control_characters_through() {
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
    fn wide_characters_count_twice() {
        assert_eq!(shorten("日本語テスト", 7, Layout::Path), "…テスト");
    }
}
