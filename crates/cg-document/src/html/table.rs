//! A table as HTML: a `<table>` with all rows. Its headings become buttons for sorting by the page's script.

use std::collections::BTreeMap;

use cg_names::paths;

use crate::markup::Markup;
use crate::{Cell, Column, Layout, NAMELESS, Table, number};

/// The number of columns that the style sheet has rules for. Classes of the table style its columns, because a class in
/// every cell would enlarge a page by half.
const STYLED_COLUMNS: usize = 24;

/// The minimum share with a bar, in percent.
const LEAST_BAR: f64 = 0.5;

/// Writes a table as an element.
pub fn write(page: &mut Markup, table: &Table) {
    let shorts: Vec<Option<ShortPaths>> = table
        .columns
        .iter()
        .map(|column| ShortPaths::new(column, &table.rows))
        .collect();
    let beginnings: Vec<Beginnings> = table
        .columns
        .iter()
        .map(|column| Beginnings::new(column, &table.rows))
        .collect();
    page.tag("<div class=scroll tabindex=0 role=group aria-label=Table>\n<table class=\"");
    if table.group_starts.is_empty() {
        page.tag("sorts ");
    }
    for (column, number) in table.columns.iter().zip(1..=STYLED_COLUMNS) {
        page.tag(match column.layout {
            Layout::Number | Layout::Percent => "n",
            Layout::Name => "f",
            Layout::Path => "p",
            Layout::Text => continue,
        });
        page.integer(number);
        page.tag(" ");
    }
    page.tag("\">\n<thead>\n<tr>");
    for column in &table.columns {
        // Screen readers announce a header without words as empty.
        page.tag(match column.is_right_aligned() {
            _ if column.title.is_empty() => "<td>",
            true => "<th scope=col class=number>",
            false => "<th scope=col>",
        });
        page.text(&column.title);
    }
    if table.has_totals() {
        page.tag("<tr class=totals\n>");
        for column in &table.columns {
            page.tag("<td>");
            cell(page, &column.total);
        }
    }
    page.tag("\n</thead>\n<tbody>\n");
    for (position, row) in table.rows.iter().enumerate() {
        if table.group_starts.binary_search(&position).is_ok() {
            page.tag("</tbody>\n<tbody>\n");
        }
        // The line break is inside the tag, so that it is not part of a cell's text.
        page.tag("<tr\n>");
        for ((column, short), beginnings) in table.columns.iter().zip(&shorts).zip(&beginnings) {
            match (short, column.cell(*row)) {
                (Some(_), Cell::Name(path)) => {
                    page.tag("<td>");
                    page.text(last_part(path));
                }
                (None, Cell::Name(path)) if column.layout == Layout::Path => {
                    beginnings.write_cell(page, path);
                }
                _ => write_cell(page, column, *row),
            }
        }
    }
    page.tag("</tbody>\n</table>\n</div>\n");
    for (position, (column, short)) in table.columns.iter().zip(shorts).enumerate() {
        match short {
            Some(short) => short.legend(page, column),
            None => beginnings[position].legend(page, column, position),
        }
    }
}

/// Short forms for a column with few distinct paths, such as objects. Rows show the last parts of the paths, which are
/// distinct. A legend below the table has the full paths.
struct ShortPaths<'a>(Vec<&'a str>);

impl<'a> ShortPaths<'a> {
    fn new(column: &Column<'a>, rows: &[usize]) -> Option<ShortPaths<'a>> {
        const MOST: usize = 100;
        const ROWS_A_PATH: usize = 4;
        if column.layout != Layout::Path {
            return None;
        }
        let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
        for row in rows {
            let Cell::Name(path) = column.cell(*row) else {
                continue;
            };
            let known = *paths.entry(last_part(path)).or_insert(path);
            if known != path || paths.len() > MOST {
                return None;
            }
        }
        let are_few = !paths.is_empty() && paths.len() * ROWS_A_PATH <= rows.len();
        let mut paths: Vec<&str> = paths.into_values().collect();
        paths.retain(|path| last_part(path) != *path);
        (are_few && !paths.is_empty()).then_some(ShortPaths(paths))
    }

    fn legend(&self, page: &mut Markup, column: &Column) {
        page.tag("<details class=paths><summary>");
        page.text(&column.title);
        page.tag(": full paths</summary>");
        for path in &self.0 {
            page.tag("<code>");
            page.text(path);
            page.tag("</code> ");
        }
        page.tag("</details>\n");
    }
}

/// Generic beginnings that several paths of a column share. Each beginning is written once below the table, and cells have
/// its index (`d`). The script of the page joins both parts.
#[derive(Default)]
struct Beginnings<'a>(Vec<&'a str>);

impl<'a> Beginnings<'a> {
    fn new(column: &Column<'a>, rows: &[usize]) -> Beginnings<'a> {
        if column.layout != Layout::Path {
            return Beginnings::default();
        }
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for row in rows {
            if let Cell::Name(path) = column.cell(*row) {
                *found
                    .entry(&path[..paths::generic_prefix_len(path)])
                    .or_insert(0) += 1;
            }
        }
        let several = |(beginning, count): &(&str, usize)| !beginning.is_empty() && *count > 1;
        let several = found.into_iter().filter(several);
        Beginnings(several.map(|(beginning, _)| beginning).collect())
    }

    fn write_cell(&self, page: &mut Markup, path: &str) {
        let (little, most) = path.split_at(paths::generic_prefix_len(path));
        match self.0.binary_search(&little) {
            Ok(number) => {
                page.tag("<td d=");
                page.integer(number);
                page.tag(">");
                page.text(most);
            }
            Err(_) => {
                page.tag("<td>");
                write_path(page, path);
            }
        }
    }

    fn legend(&self, page: &mut Markup, column: &Column, position: usize) {
        if self.0.is_empty() {
            return;
        }
        page.tag("<details class=paths data-column=");
        page.integer(position);
        page.tag("><summary>");
        page.text(&column.title);
        page.tag(": beginnings of paths, shown as …</summary>");
        for beginning in &self.0 {
            page.tag("<code>");
            page.text(beginning);
            page.tag("</code>");
        }
        page.tag("</details>\n");
    }
}

/// Returns the text after the last slash.
fn last_part(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last,
        _ => path,
    }
}

/// Writes a full path, marked up so that the style sheet can hide its generic beginning. Search, sorting, copying and
/// tooltips use the full path.
pub(super) fn write_path(page: &mut Markup, path: &str) {
    let (little, most) = path.split_at(paths::generic_prefix_len(path));
    if !little.is_empty() {
        page.tag("<i>");
        page.text(little);
        page.tag("</i>");
    }
    page.text(most);
}

fn write_cell(page: &mut Markup, column: &Column, row: usize) {
    let content = column.cell(row);
    match (&content, content.percentage()) {
        (Cell::Share { .. }, Some(percent)) if percent >= LEAST_BAR => {
            page.tag("<td style=--p:");
            page.decimal(percent.min(100.0));
            page.tag(">");
        }
        (Cell::Delta(delta) | Cell::Change { delta, .. }, _) if *delta > 0 => {
            page.tag("<td class=more>");
        }
        (Cell::Delta(delta) | Cell::Change { delta, .. }, _) if *delta < 0 => {
            page.tag("<td class=less>");
        }
        _ => match column.filter(row) {
            Some(filter) => {
                page.tag("<td data-filter=\"");
                page.text(&filter);
                page.tag("\">");
            }
            None => page.tag("<td>"),
        },
    }
    cell(page, &content);
}

/// Writes the text of a cell.
pub(super) fn cell(page: &mut Markup, cell: &Cell) {
    match cell {
        Cell::Placed { name, place, .. } => {
            page.text(name);
            if !place.is_empty() {
                page.tag(" <span class=place>");
                page.text(place);
                page.tag("</span>");
            }
        }
        cell => page.text(&text(cell)),
    }
}

/// Returns the text of a cell without markup.
pub(super) fn text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Nameless => NAMELESS.to_owned(),
        Cell::Name(name) => (*name).to_owned(),
        Cell::Text(words) => words.clone().into_owned(),
        Cell::Called { name, calls } => format!("{name} ({}x)", number::grouped(*calls)),
        Cell::Placed { name, place, .. } => format!("{name} {place}"),
        Cell::Count(count) => number::grouped(*count),
        Cell::AtMost(count) => number::at_most(&number::grouped(*count)),
        Cell::Delta(delta) => number::signed(*delta),
        Cell::Ordinal(number) => number.to_string(),
        Cell::Quotient { .. } => cell.ratio().map(number::quotient).unwrap_or_default(),
        // A share of 0 is empty, as in text.
        Cell::Share { part: 0, .. } | Cell::ShareAtMost { part: 0, .. } => String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_has_the_full_paths_if_there_are_few() {
        let written = |paths: [&'static str; 4]| {
            let column = Column::new("obj", Layout::Path, move |row| Cell::Name(paths[row % 4]));
            let mut page = Markup::default();
            write(&mut page, &Table::new(vec![column], (0..16).collect()));
            page.into_string()
        };
        let page = written(["/lib/a.so", "/bin/b", "???", "/lib/a.so"]);
        assert_eq!(page.matches("<td>a.so<").count(), 8);
        assert!(
            page.contains("<code>/lib/a.so</code> <code>/bin/b</code>"),
            "{page}"
        );
        // The last parts of these paths are not distinct.
        let page = written(["/lib/a.so", "/old/a.so", "/bin/b", "???"]);
        assert_eq!(page.matches("<td>/old/a.so<").count(), 4);
        assert!(!page.contains("<details"));
    }

    #[test]
    fn common_beginnings_of_paths_are_written_once() {
        const PATHS: [&str; 4] = [
            "/home/dev/projects/server/src/storage/table.rs",
            "/home/dev/projects/server/src/storage/rows.rs",
            "src/main.rs",
            "/rustc/0123/library/core/src/iter/range.rs",
        ];
        let number = Column::new("Ir", Layout::Number, |_| Cell::Count(1));
        let file = Column::new("file", Layout::Path, |row| Cell::Name(PATHS[row]));
        let mut page = Markup::default();
        write(&mut page, &Table::new(vec![number, file], vec![0, 1, 2, 3]));
        let page = page.into_string();
        for text in [
            "<td d=0>src/storage/table.rs<tr",
            "<td d=0>src/storage/rows.rs<tr",
            "<td>src/main.rs<tr",
            "<td><i>/rustc/0123/</i>library/core/src/iter/range.rs<",
            "<details class=paths data-column=1>",
            "</summary><code>/home/dev/projects/server/</code></details>",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn the_beginning_of_a_long_path_has_separate_markup() {
        let paths = ["/home/dev/server/src/storage/table.rs", "src/<b>.rs"];
        let column = Column::new("file", Layout::Path, move |row| Cell::Name(paths[row]));
        let mut page = Markup::default();
        write(&mut page, &Table::new(vec![column], vec![0, 1]));
        let page = page.into_string();
        let cell = "<td><i>/home/dev/server/</i>src/storage/table.rs<";
        assert!(page.contains(cell), "{page}");
        assert!(page.contains("<td>src/&lt;b>.rs<"), "{page}");
    }

    #[test]
    fn all_rows_are_written_with_short_cells() {
        let counts = [9, 1];
        let columns = vec![
            Column::new("Ir", Layout::Number, move |row| Cell::Count(counts[row]))
                .with_total(Cell::Count(10)),
            Column::new("%", Layout::Percent, move |row| {
                Cell::share(counts[row], 1_000)
            }),
            Column::new("fn", Layout::Name, |row| Cell::Name(["a<b>", "c"][row])),
        ];
        let mut page = Markup::default();
        write(&mut page, &Table::new(columns, vec![0, 1]));
        let page = page.into_string();
        assert!(page.contains("<table class=\"sorts n1 n2 f3 \">"), "{page}");
        assert!(!page.contains("<details"));
        assert!(
            page.contains("<tr class=totals\n><td>10<td><td>\n"),
            "{page}"
        );
        assert!(
            page.contains(
                "<tr\n><td>9<td style=--p:0.9>0.90%<td>a&lt;b><tr\n><td>1<td>0.10%<td>c</tbody>"
            ),
            "{page}"
        );
    }
}
