//! Fits tables to narrow screens: selects the columns to leave out, and shortens cells.
//!
//! Columns of lower [`Worth`](crate::Worth) are left out first. Paths and explanations are shortened, then names. Names keep
//! [`ENOUGH`] columns while a column of low worth can be left out instead. A percentage stays together with its figure. The
//! first figure stays while there is room for the name.

use std::ops::Range;

use cg_names::structure::shorten;
use unicode_width::UnicodeWidthChar;

use crate::width::TextWidth as _;
use crate::{Cell, Column, Layout, Worth, visible};

/// The minimum width of a path, or of a name other than the row's function.
const NARROWEST: usize = 16;
/// The minimum width of a text.
const FEW_WORDS: usize = 24;
/// The minimum width of a row's function while a column of less worth than an explanation can be left out.
const ENOUGH: usize = 40;

/// The shown columns and their widths.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fitted {
    /// Indexes into the columns of the table, with widths.
    pub(crate) columns: Vec<(usize, usize)>,
    /// The indexes of the columns that do not fit.
    pub(crate) left_out: Vec<usize>,
}

impl Fitted {
    /// Widens a column.
    pub(crate) fn widen(&mut self, index: usize, by: usize) {
        for (column, width) in &mut self.columns {
            if *column == index {
                *width += by;
            }
        }
    }
}

/// Returns the text between a column and the previous column.
pub(crate) fn gap(column: &Column) -> &'static str {
    match column.layout {
        Layout::Percent => " ",
        _ => "  ",
    }
}

/// Fits columns of these natural widths into a line of `limit` columns of text.
pub(crate) fn fit(natural: &[usize], columns: &[Column], limit: Option<usize>) -> Fitted {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let Some(limit) = limit.filter(|_| !columns.is_empty()) else {
        return Fitted {
            columns: shown
                .iter()
                .map(|index| (*index, natural[*index]))
                .collect(),
            left_out: Vec::new(),
        };
    };
    let function = columns
        .iter()
        .position(|column| column.layout == Layout::Name);
    let floor = |index: usize, function_width: usize| match columns[index].layout {
        _ if Some(index) == function => function_width,
        Layout::Name | Layout::Path => NARROWEST,
        Layout::Text => FEW_WORDS,
        _ => usize::MAX,
    };
    let worth = |index: usize| worth(index, columns);
    loop {
        let others = shown.iter().filter(|index| Some(**index) != function);
        let least = others
            .min_by_key(|index| (worth(**index), std::cmp::Reverse(**index)))
            .copied();
        // Among columns of equal worth, the last one is left out first.
        let least = pair(least.unwrap_or(shown[shown.len() - 1]), columns);
        let are_others_gone = shown
            .iter()
            .all(|index| Some(*index) == function || least.contains(index));
        let enough = match worth(least.start) {
            Worth::Figure if are_others_gone => NARROWEST,
            worth if worth >= Worth::Explanation => FEW_WORDS,
            _ => ENOUGH,
        };
        let mut widths: Vec<usize> = shown.iter().map(|index| natural[*index]).collect();
        for layout in [Layout::Path, Layout::Text, Layout::Name] {
            let floors: Vec<usize> = shown
                .iter()
                .map(|index| match columns[*index].layout == layout {
                    true => floor(*index, enough),
                    false => usize::MAX,
                })
                .collect();
            let too_much = excess(&shown, &widths, columns, limit);
            shrink(&mut widths, &floors, too_much);
        }
        let is_last = shown.len() == 1;
        if is_last {
            let excess = excess(&shown, &widths, columns, limit);
            shrink(&mut widths, &[1], excess);
        }
        if is_last || excess(&shown, &widths, columns, limit) == 0 {
            let left_out = (0..columns.len()).filter(|index| !shown.contains(index));
            return Fitted {
                left_out: left_out.collect(),
                columns: shown.into_iter().zip(widths).collect(),
            };
        }
        shown.retain(|index| !least.contains(index));
    }
}

/// Returns the range of a figure and its percentage, which are shown or left out together; for other columns, the column.
fn pair(index: usize, columns: &[Column]) -> Range<usize> {
    let is = |index: usize, layout| {
        columns
            .get(index)
            .is_some_and(|column| column.layout == layout)
    };
    let follows_figure =
        |index: usize| is(index, Layout::Percent) && index > 0 && is(index - 1, Layout::Number);
    let start = if follows_figure(index) {
        index - 1
    } else {
        index
    };
    let end = if follows_figure(start + 1) {
        start + 2
    } else {
        start + 1
    };
    start..end
}

/// Returns the worth of a column. A percentage has the worth of its figure. Without a column of files, an object has the
/// worth of a file.
fn worth(index: usize, columns: &[Column]) -> Worth {
    let has_files = columns.iter().any(|column| column.worth == Worth::File);
    match columns[pair(index, columns).start].worth {
        Worth::Object if !has_files => Worth::File,
        worth => worth,
    }
}

/// Returns the number of characters by which a line of these columns is too long.
fn excess(shown: &[usize], widths: &[usize], columns: &[Column], limit: usize) -> usize {
    let gaps = shown
        .iter()
        .skip(1)
        .map(|index| gap(&columns[*index]).len());
    let needed = widths.iter().sum::<usize>() + gaps.sum::<usize>();
    needed.saturating_sub(limit)
}

/// Removes an excess by shrinking the widest column to the width of the next widest one, and so on. No column gets narrower
/// than its floor.
fn shrink(widths: &mut [usize], floors: &[usize], mut excess: usize) {
    while excess > 0 {
        let can_shrink = |index: &usize| widths[*index] > floors[*index];
        let Some(widest) = (0..widths.len())
            .filter(can_shrink)
            .max_by_key(|index| widths[*index])
        else {
            return;
        };
        let next = (0..widths.len())
            .filter(can_shrink)
            .map(|index| widths[index])
            .filter(|width| *width < widths[widest])
            .max()
            .unwrap_or(0)
            .max(floors[widest]);
        let step = excess.min((widths[widest] - next).max(1));
        widths[widest] -= step;
        excess -= step;
    }
}

/// Shortens the text of a cell to a width.
pub(crate) fn shortened(cell: &Cell, text: &str, width: usize, layout: Layout) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    match cell {
        Cell::Called { name, .. } => {
            let name = visible(name);
            let calls = &text[name.len().min(text.len())..];
            match width.checked_sub(calls.width()) {
                Some(room) if room >= NARROWEST => short_name(&name, room) + calls,
                _ => short_name(&name, width),
            }
        }
        Cell::Placed { lead, name, place } => {
            let name = visible(name);
            let room = width.saturating_sub(lead.width());
            let place_room = room.saturating_sub(name.width() + " ()".len());
            let place = match place.is_empty() || place_room < NARROWEST / 2 {
                true => String::new(),
                false => format!(" ({})", path_end(&visible(place), place_room)),
            };
            let short = short_name(&name, room.saturating_sub(place.width()));
            truncated_line(&format!("{lead}{short}{place}"), width)
        }
        Cell::Name(_) if layout == Layout::Name => short_name(text, width),
        _ if layout == Layout::Path => path_end(text, width),
        _ => first_words(text, width),
    }
}

/// Fits a line of a stack to a width: `by serve::handle (src/serve.rs:12)`. Drops directories of the place first, then
/// shortens the name. Keeps the file name and the line number.
pub fn frame_line(lead: &str, name: &str, place: &str, width: usize) -> String {
    let whole = format!("{lead}{name}{place}");
    if whole.width() <= width {
        return whole;
    }
    // The text between the parentheses of ` (src/serve.rs:12)`, and the text after them.
    let inner = place
        .strip_prefix(" (")
        .and_then(|inner| inner.rsplit_once(')'));
    let room = width.saturating_sub(lead.width());
    let place = match inner {
        Some((inner, rest)) => {
            let base = inner.rsplit('/').next().unwrap_or(inner);
            let around = " ()".width() + rest.width();
            let inner_room = room.saturating_sub(name.width() + around);
            let inner = path_end(inner, inner_room.max(base.width() + "…/".width()));
            format!(" ({inner}){rest}")
        }
        None => place.to_owned(),
    };
    let name = match room.checked_sub(place.width()) {
        Some(room) if room >= NARROWEST => short_name(name, room),
        // A single word is too long, so the place goes to a separate line.
        _ => {
            let indent = " ".repeat(lead.width());
            let place = path_end(place.trim_start(), room);
            return format!("{lead}{}\n{indent}{place}", short_name(name, room));
        }
    };
    format!("{lead}{name}{place}")
}

/// Shortens a name by its structure. If that is still too long, keeps both ends.
pub fn short_name(name: &str, width: usize) -> String {
    let name = shorten::shorten(name, |form| form.width() <= width);
    if name.width() <= width || width == 0 {
        return name;
    }
    let head = head(&name, (width - 1) / 2);
    let tail = tail(&name, width - 1 - head.width());
    format!("{head}…{tail}")
}

/// Returns the end of a path that fits. It starts at a `/` if there is one.
fn path_end(path: &str, width: usize) -> String {
    if path.width() <= width {
        return path.to_owned();
    }
    let tail = tail(path, width.saturating_sub(1));
    match tail.find('/') {
        Some(slash) if slash + 1 < tail.len() => format!("…{}", &tail[slash..]),
        _ => format!("…{tail}"),
    }
}

/// Returns the leading words that fit.
fn first_words(text: &str, width: usize) -> String {
    let head = head(text, width.saturating_sub(1));
    match head.rfind(' ') {
        Some(blank) if blank > width / 2 => {
            format!("{}…", head[..blank].trim_end_matches([',', ' ']))
        }
        _ => format!("{head}…"),
    }
}

/// Shortens a line to a width, with `…` for the missing characters.
pub(crate) fn truncated_line(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    format!("{}…", head(line, width.saturating_sub(1)))
}

/// Returns the leading characters that fit in a width.
fn head(text: &str, width: usize) -> &str {
    let mut length = fitting_length(text.char_indices(), width).unwrap_or(text.len());
    // A text may be wider than its characters: a control character has a width only in a text, and a sign is wider together
    // with the selector of its picture.
    while text[..length].width() > width {
        let last = text[..length].char_indices().next_back();
        length = last.map_or(0, |(index, _)| index);
    }
    &text[..length]
}

/// Returns the last characters that fit in a width.
fn tail(text: &str, width: usize) -> &str {
    let after = |(index, character): (usize, char)| (index + character.len_utf8(), character);
    let mut start = fitting_length(text.char_indices().rev().map(after), width).unwrap_or(0);
    while text[start..].width() > width {
        let second = text[start..].char_indices().nth(1);
        start = second.map_or(text.len(), |(index, _)| start + index);
    }
    &text[start..]
}

/// Returns the index of the first character that does not fit in a width, or `None` if all fit.
fn fitting_length(
    mut characters: impl Iterator<Item = (usize, char)>,
    width: usize,
) -> Option<usize> {
    let mut used = 0;
    let first = characters.find(|(_, character)| {
        used += character.width().unwrap_or(0);
        used > width
    });
    first.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Worth;

    #[test]
    fn shortened_text_fits_even_if_it_is_wider_than_its_characters() {
        // A control character, a sign with the selector of its picture, a flag, a family, and a mark without width.
        for text in [
            "\u{18}",
            "\u{2600}\u{fe0f}",
            "\u{1f1e9}\u{1f1ea}",
            "👩\u{200d}👧",
            "e\u{301}",
            "☃",
        ] {
            let name = text.repeat(12);
            let path = format!("/{name}/{name}");
            for width in 1..30 {
                let short = short_name(&name, width);
                assert!(short.width() <= width, "{short} {width}");
                let (head, tail) = (head(&name, width), tail(&name, width));
                assert!(
                    name.starts_with(head) && head.width() <= width,
                    "{head} {width}"
                );
                assert!(
                    name.ends_with(tail) && tail.width() <= width,
                    "{tail} {width}"
                );
                let end = path_end(&path, width);
                assert!(end.width() <= width, "{end} {width}");
            }
        }
    }

    fn columns() -> Vec<Column<'static>> {
        let column = |name: &str, layout| Column::new(name, layout, |_| Cell::Empty);
        vec![
            column("Ir", Layout::Number),
            column("Ir%", Layout::Percent),
            column("calls", Layout::Number).worth(Worth::Calls),
            column("fn", Layout::Name),
            column("file", Layout::Path),
            column("obj", Layout::Path).worth(Worth::Object),
            column("why", Layout::Text).worth(Worth::Explanation),
        ]
    }

    /// Returns the columns that are shown in a line of this width, with their widths.
    fn fitted(limit: usize) -> String {
        let columns = columns();
        let natural = [9, 8, 6, 90, 40, 30, 50];
        let fitted = fit(&natural, &columns, Some(limit));
        let shown = fitted.columns.iter();
        let words = shown.map(|(index, width)| format!("{} {width}", columns[*index].name));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn columns_of_low_worth_are_left_out_before_the_function_gets_narrow() {
        for (limit, expected) in [
            (300, "Ir 9, Ir% 8, calls 6, fn 90, file 40, obj 30, why 50"),
            (200, "Ir 9, Ir% 8, calls 6, fn 90, file 16, obj 16, why 44"),
            (150, "Ir 9, Ir% 8, calls 6, fn 60, file 16, obj 16, why 24"),
            (120, "Ir 9, Ir% 8, calls 6, fn 48, file 16, why 24"),
            (100, "Ir 9, Ir% 8, fn 36, file 16, why 24"),
            (80, "Ir 9, Ir% 8, fn 42, file 16"),
            (61, "Ir 9, Ir% 8, fn 41"),
            (55, "Ir 9, Ir% 8, fn 35"),
            (40, "Ir 9, Ir% 8, fn 20"),
            (20, "fn 20"),
            (10, "fn 10"),
        ] {
            assert_eq!(fitted(limit), expected, "{limit}");
        }
        assert_eq!(fit(&[9; 7], &columns(), None).left_out, [0_usize; 0]);
    }

    #[test]
    fn lines_are_never_longer_than_the_width() {
        let columns = columns();
        for limit in 1..300 {
            let fitted = fit(&[9, 8, 6, 90, 40, 30, 50], &columns, Some(limit));
            let gaps = fitted.columns.iter().skip(1);
            let gaps = gaps.map(|(index, _)| gap(&columns[*index]).len());
            let widths = fitted.columns.iter().map(|(_, width)| width);
            assert!(
                widths.sum::<usize>() + gaps.sum::<usize>() <= limit,
                "{limit}"
            );
            assert_eq!(fitted.columns.len() + fitted.left_out.len(), columns.len());
        }
    }

    #[test]
    fn shortened_cells_keep_their_important_parts() {
        let called = Cell::Called {
            name: "demo::parse<alloc::string::String>::run",
            calls: 12,
        };
        let placed = Cell::Placed {
            lead: "├─ ".into(),
            name: "demo::parse<u8>::run",
            place: "/home/dev/demo/src/parse.rs:12".into(),
        };
        for (cell, text, width, layout, expected) in [
            (
                &called,
                "demo::parse<alloc::string::String>::run (12x)",
                30,
                Layout::Name,
                "demo::parse<…>::run (12x)",
            ),
            (
                &placed,
                "├─ demo::parse<u8>::run (/home/dev/demo/src/parse.rs:12)",
                45,
                Layout::Name,
                "├─ demo::parse<u8>::run (…/src/parse.rs:12)",
            ),
            (
                &placed,
                "├─ demo::parse<u8>::run (/home/dev/demo/src/parse.rs:12)",
                25,
                Layout::Name,
                "├─ demo::parse<u8>::run",
            ),
            (
                &Cell::Name("日本語テスト"),
                "日本語テスト",
                7,
                Layout::Path,
                "…テスト",
            ),
            (
                &Cell::Empty,
                "calls 3 to 6, +300 Ir at the same cost per call",
                20,
                Layout::Text,
                "calls 3 to 6, +300…",
            ),
        ] {
            let short = shortened(cell, text, width, layout);
            assert_eq!(short, expected);
            assert!(short.width() <= width);
        }
    }

    #[test]
    fn last_of_columns_with_equal_worth_is_left_out_first() {
        let column = |name: &str, layout| Column::new(name, layout, |_| Cell::Empty);
        let columns = [
            column("fn", Layout::Name),
            column("first", Layout::Number).worth(Worth::Calls),
            column("second", Layout::Number).worth(Worth::Calls),
        ];
        // All columns need 10 + 2 + 20 + 2 + 20 characters.
        let left_out = |limit| fit(&[10, 20, 20], &columns, Some(limit)).left_out;
        assert_eq!(left_out(54), [0_usize; 0]);
        assert_eq!(left_out(53), [2]);
        assert_eq!(left_out(32), [2]);
        assert_eq!(left_out(31), [1, 2]);
    }
}
