//! Tables on screens that are narrower than they are: which columns give way, and how a cell is shortened.
//!
//! Columns of lower [`Worth`](crate::Worth) give way first. Paths and explanations are shortened, then names, but not
//! below [`ENOUGH`] columns as long as a column of low worth can be left out instead. A percentage stays as long as its
//! figure does, and the first of the figures as long as there is any room for the name.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use cg_names::structure::shorten;

use crate::{Cell, Column, Layout, Worth, visible};

/// The least width of a path, or of a name that is not the row's own.
const NARROWEST: usize = 16;
/// The least width of a text.
const FEW_WORDS: usize = 24;
/// The least width of a row's function as long as a column can be left out that tells less than why and where.
const ENOUGH: usize = 40;

/// The columns that are shown, and how wide they are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fitted {
    /// Indexes into the columns of the table, with widths.
    pub(crate) columns: Vec<(usize, usize)>,
    /// Indexes of those that there is no room for.
    pub(crate) left_out: Vec<usize>,
}

impl Fitted {
    /// Gives a column more room.
    pub(crate) fn widen(&mut self, index: usize, by: usize) {
        for (column, width) in &mut self.columns {
            if *column == index {
                *width += by;
            }
        }
    }
}

/// What stands between a column and the one before it.
pub(crate) fn gap(column: &Column) -> &'static str {
    match column.layout {
        Layout::Percent => " ",
        _ => "  ",
    }
}

/// Fits columns of these natural widths into a line.
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
    let floor = |index: usize, of_function: usize| match columns[index].layout {
        _ if Some(index) == function => of_function,
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
        // Where all are worth the same, the first stays.
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

/// A figure and the percentage beside it, which stay or go together; else the column alone.
fn pair(index: usize, columns: &[Column]) -> Range<usize> {
    let is = |index: usize, layout| {
        columns
            .get(index)
            .is_some_and(|column| column.layout == layout)
    };
    let is_behind_figure =
        |index: usize| is(index, Layout::Percent) && index > 0 && is(index - 1, Layout::Number);
    let start = if is_behind_figure(index) {
        index - 1
    } else {
        index
    };
    let end = if is_behind_figure(start + 1) {
        start + 2
    } else {
        start + 1
    };
    start..end
}

/// What a column is worth: a percentage as much as its figure, an object as much as a file where there is none.
fn worth(index: usize, columns: &[Column]) -> Worth {
    let has_files = columns.iter().any(|column| column.worth == Worth::File);
    match columns[pair(index, columns).start].worth {
        Worth::Object if !has_files => Worth::File,
        worth => worth,
    }
}

/// By how much a line of these columns is too long.
fn excess(shown: &[usize], widths: &[usize], columns: &[Column], limit: usize) -> usize {
    let gaps = shown
        .iter()
        .skip(1)
        .map(|index| gap(&columns[*index]).len());
    let needed = widths.iter().sum::<usize>() + gaps.sum::<usize>();
    needed.saturating_sub(limit)
}

/// Takes an excess from the columns, none of which gets narrower than its floor: shrinks the widest to the width of the
/// next widest, and so on.
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

/// A cell's text within a width.
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
            let beside = room.saturating_sub(name.width() + " ()".len());
            let place = match place.is_empty() || beside < NARROWEST / 2 {
                true => String::new(),
                false => format!(" ({})", end_of(&visible(place), beside)),
            };
            let short = short_name(&name, room.saturating_sub(place.width()));
            beginning_of(&format!("{lead}{short}{place}"), width)
        }
        Cell::Name(_) if layout == Layout::Name => short_name(text, width),
        _ if layout == Layout::Path => end_of(text, width),
        _ => first_words(text, width),
    }
}

/// A line of a stack within a width: `by serve::handle (src/serve.rs:12)`. Of its place the directories go first, then the
/// name is shortened; the file's own name and the line stay.
pub fn frame_line(lead: &str, name: &str, place: &str, width: usize) -> String {
    let whole = format!("{lead}{name}{place}");
    if whole.width() <= width {
        return whole;
    }
    // ` (src/serve.rs:12)` without what stands in front of the file's name.
    let inner = place
        .strip_prefix(" (")
        .and_then(|inner| inner.rsplit_once(')'));
    let room = width.saturating_sub(lead.width());
    let place = match inner {
        Some((inner, behind)) => {
            let base = inner.rsplit('/').next().unwrap_or(inner);
            let around = " ()".width() + behind.width();
            let beside = room.saturating_sub(name.width() + around);
            let inner = end_of(inner, beside.max(base.width() + "…/".width()));
            format!(" ({inner}){behind}")
        }
        None => place.to_owned(),
    };
    let name = match room.checked_sub(place.width()) {
        Some(room) if room >= NARROWEST => short_name(name, room),
        // One word is too long: the place has a line of its own.
        _ => {
            let indent = " ".repeat(lead.width());
            let place = end_of(place.trim_start(), room);
            return format!("{lead}{}\n{indent}{place}", short_name(name, room));
        }
    };
    format!("{lead}{name}{place}")
}

/// Shortens a name by its structure. If that is still too long, keeps both ends.
pub fn short_name(name: &str, width: usize) -> String {
    let name = shorten::shortened(name, |form| form.width() <= width);
    if name.width() <= width || width == 0 {
        return name;
    }
    let head = fitting(name.chars(), (width - 1) / 2);
    let tail: String = fitting(name.chars().rev(), width - 1 - head.width());
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

/// The end of a path, from a `/` on where one stands in it.
fn end_of(path: &str, width: usize) -> String {
    if path.width() <= width {
        return path.to_owned();
    }
    let tail = fitting(path.chars().rev(), width.saturating_sub(1));
    let tail: String = tail.chars().rev().collect();
    match tail.find('/') {
        Some(slash) if slash + 1 < tail.len() => format!("…{}", &tail[slash..]),
        _ => format!("…{tail}"),
    }
}

/// Whole words as far as there is room for them.
fn first_words(text: &str, width: usize) -> String {
    let head = fitting(text.chars(), width.saturating_sub(1));
    match head.rfind(' ') {
        Some(blank) if blank > width / 2 => {
            format!("{}…", head[..blank].trim_end_matches([',', ' ']))
        }
        _ => format!("{head}…"),
    }
}

/// As many of a line's characters as fit, and `…` for the others.
pub(crate) fn beginning_of(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    format!("{}…", fitting(line.chars(), width.saturating_sub(1)))
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
    use crate::Worth;

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

    /// The columns that are shown in a line of so many characters, with their widths.
    fn fitted(limit: usize) -> String {
        let columns = columns();
        let natural = [9, 8, 6, 90, 40, 30, 50];
        let fitted = fit(&natural, &columns, Some(limit));
        let shown = fitted.columns.iter();
        let words = shown.map(|(index, width)| format!("{} {width}", columns[*index].name));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn columns_give_way_in_the_order_of_their_worth_and_the_function_keeps_enough() {
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
    fn no_width_makes_a_longer_line() {
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
    fn cells_keep_what_matters() {
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
}
