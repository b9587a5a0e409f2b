//! A tree as HTML. Each row folds together with the rows below it in the tree.
//!
//! Figures are in columns as wide as their widest text, in a monospaced font.

use crate::width::TextWidth as _;

use super::table::{cell, text, write_path};
use crate::markup::Markup;
use crate::{Cell, Layout, Table};

/// The maximum nesting depth. Browsers close elements that are nested deeper than about 500.
const DEEPEST: usize = 200;

/// The minimum share of an unfolded row, in percent.
const LEAST_UNFOLDED: f64 = 5.0;

/// The indent per level, in characters.
const LEAD: usize = 3;

/// The maximum width of a path, which leaves room for names.
const WIDEST_PATH: usize = 36;

pub(super) fn write(page: &mut Markup, table: &Table) {
    page.tag("<div class=tree style=\"--columns:");
    for column in &table.columns {
        let cells = table
            .rows
            .iter()
            .map(|row| text(&column.cell(*row)).width());
        let title = column.title.width();
        let width = cells.chain([title, text(&column.total).width()]).max();
        let width = width.unwrap_or(0);
        match column.layout {
            Layout::Name => page.tag("minmax(24ch,1fr) "),
            Layout::Path => {
                page.integer(width.min(WIDEST_PATH));
                page.tag("ch ");
            }
            _ => {
                page.integer(width);
                page.tag("ch ");
            }
        }
    }
    page.tag("\">\n<div class=head>");
    for column in &table.columns {
        page.tag(match column.is_right_aligned() {
            true => "<span class=n>",
            false => "<span>",
        });
        page.text(&column.title);
        page.tag("</span>");
    }
    page.tag("</div>\n");
    if table.has_totals() {
        page.tag("<div class=\"leaf totals\">");
        for column in &table.columns {
            page.tag(match column.is_right_aligned() {
                true => "<span class=n>",
                false => "<span>",
            });
            cell(page, &column.total);
            page.tag("</span>");
        }
        page.tag("</div>\n");
    }
    let depths: Vec<usize> = table
        .depths
        .iter()
        .map(|depth| (*depth).min(DEEPEST))
        .collect();
    // The depths of the open elements.
    let mut open: Vec<usize> = Vec::new();
    for (position, row) in table.rows.iter().enumerate() {
        let depth = depths[position];
        while open.last().is_some_and(|above| *above >= depth) {
            page.tag("</details>\n");
            open.pop();
        }
        let has_more = depths.get(position + 1).is_some_and(|next| *next > depth);
        if has_more {
            page.tag(match is_unfolded(table, *row) {
                true => "<details open><summary>",
                false => "<details><summary>",
            });
            open.push(depth);
        } else {
            page.tag("<div class=leaf>");
        }
        write_cells(page, table, *row, depth);
        page.tag(if has_more { "</summary>\n" } else { "</div>\n" });
    }
    for _ in open {
        page.tag("</details>\n");
    }
    page.tag("</div>\n");
}

/// Returns true if a row has a share that is large enough to unfold it.
fn is_unfolded(table: &Table, row: usize) -> bool {
    let shares = table.columns.iter().map(|column| column.cell(row));
    shares
        .filter(|cell| matches!(cell, Cell::Share { .. }))
        .filter_map(|cell| cell.percentage())
        .any(|percent| percent >= LEAST_UNFOLDED)
}

fn write_cells(page: &mut Markup, table: &Table, row: usize, depth: usize) {
    for column in &table.columns {
        let of = column.cell(row);
        match (column.layout, &of) {
            (Layout::Name, Cell::Placed { lead, .. }) => {
                page.tag("<span class=name style=--d:");
                page.integer(lead.width() / LEAD);
                page.tag(">");
            }
            (Layout::Name, Cell::Text(words)) => {
                let own = words.trim_start_matches(['│', '├', '└', '─', ' ']);
                let lead = words[..words.len() - own.len()].width();
                page.tag("<span class=name style=--d:");
                page.integer(lead / LEAD);
                page.tag(">");
                page.text(own);
                page.tag("</span>");
                continue;
            }
            (Layout::Name, _) => {
                page.tag("<span class=name style=--d:");
                page.integer(depth);
                page.tag(">");
            }
            (Layout::Number | Layout::Percent, _) => page.tag("<span class=n>"),
            (Layout::Path, Cell::Name(path)) => {
                page.tag("<span>");
                write_path(page, path);
                page.tag("</span>");
                continue;
            }
            _ => page.tag("<span>"),
        }
        cell(page, &of);
        page.tag("</span>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn written(depths: Vec<usize>) -> String {
        let columns = vec![
            Column::new("bytes", Layout::Number, |row| Cell::Count(row as i128)),
            Column::new("tree", Layout::Name, |_| Cell::Name("f")),
        ];
        let mut table = Table::new(columns, (0..depths.len()).collect());
        table.depths = depths;
        let mut page = Markup::default();
        write(&mut page, &table);
        page.into_string()
    }

    #[test]
    fn a_row_folds_with_the_rows_below_it() {
        let page = written(vec![0, 1, 2, 1, 0]);
        let shape: String = page
            .split('<')
            .filter_map(|tag| match tag.split(['>', ' ']).next() {
                Some("details") => Some('('),
                Some("/details") => Some(')'),
                Some("div") if tag.starts_with("div class=leaf") => Some('.'),
                _ => None,
            })
            .collect();
        assert_eq!(shape, "((.).).");
    }

    #[test]
    fn nesting_stays_below_the_limit_of_browsers() {
        let page = written((0..10_000).collect());
        assert_eq!(page.matches("<details").count(), DEEPEST);
        assert_eq!(page.matches("</details").count(), DEEPEST);
        assert_eq!(page.matches("class=leaf").count(), 10_000 - DEEPEST);
    }
}
