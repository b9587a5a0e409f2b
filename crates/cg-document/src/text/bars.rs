//! Small bars next to percentages, if a line on a terminal has room for them.

use super::Screen;
use crate::fit::{self, Fitted};
use crate::{Cell, Layout, Table};

/// The length of a bar for 100 %, in characters.
const LONGEST: usize = 8;
/// The width of a bar and the blank before it.
pub(super) const WIDTH: usize = LONGEST + 1;
/// The text in place of a bar.
pub(super) const NONE: &str = "         ";
/// Characters filled from zero to seven eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Returns the columns with bars, by their positions in the table: as many percentages as there is room for, from the left.
/// There are no bars unless all columns have their full width. The last column has no bars, so that no line ends in blanks.
pub(super) fn columns(
    table: &Table,
    fitted: &Fitted,
    natural: &[usize],
    screen: Screen,
) -> Vec<usize> {
    let Some(limit) = screen.width.filter(|_| screen.has_bars) else {
        return Vec::new();
    };
    let is_whole = fitted.left_out.is_empty()
        && (fitted.columns.iter()).all(|(index, width)| *width == natural[*index]);
    if !is_whole {
        return Vec::new();
    }
    let gaps = table
        .columns
        .iter()
        .skip(1)
        .map(|column| fit::gap(column).len());
    let needed = natural.iter().sum::<usize>() + gaps.sum::<usize>();
    let room = limit.saturating_sub(needed) / WIDTH;
    let has_shares = |index: &usize| {
        let column = &table.columns[*index];
        let is_share = |row: &usize| matches!(column.cell(*row), Cell::Share { .. });
        column.layout == Layout::Percent && table.rows.iter().any(is_share)
    };
    let all_but_last = 0..table.columns.len().saturating_sub(1);
    all_but_last.filter(has_shares).take(room).collect()
}

/// Returns the bar for a share, padded to the maximum length. Every share above 0 is visible.
pub(super) fn bar_text(cell: &Cell) -> String {
    let Cell::Share { part, .. } = cell else {
        return NONE.to_owned();
    };
    let percent = cell.percentage().unwrap_or(0.0).clamp(0.0, 100.0);
    let eighths = (percent / 100.0 * (LONGEST * 8) as f64).round() as usize;
    let eighths = eighths.max(usize::from(*part > 0));
    let bar = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!(" {bar:LONGEST$}")
}
