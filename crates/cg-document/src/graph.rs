//! Memory over time, and its drawing with block characters.
//!
//! A column is a span of time and as high as the largest total in it, so no peak is lost between columns; a row is an
//! eighth of a character high. What a total consists of is drawn in characters of their own, where that is known.

use crate::fit::beginning_of;
use crate::number::{bytes, round_bytes};

/// The height of the graph in characters, at most.
const HEIGHT: usize = 16;
/// The narrowest graph, without its labels.
const NARROWEST: usize = 10;
/// Characters that are filled by so many eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What layers are filled with, from the bottom up. The last one is of the sites that have no layer of their own.
const FILLS: [char; 7] = ['█', '▒', '#', '░', '=', '▓', '-'];
/// The fill of a total whose composition is not known.
const UNKNOWN: char = '·';
/// Marks the totals of an earlier run.
const EARLIER: char = '○';

/// Bytes over time. A total holds from its point to the next one.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What a picture of it is headed.
    pub title: String,
    /// In the order of time, as far as the input keeps it.
    pub points: Vec<Point>,
    /// What is worth a mark: the peak, the largest snapshot.
    pub marks: Vec<Mark>,
    /// What the totals consist of, from the bottom up; empty where that is not known.
    pub layers: Vec<Layer>,
    /// How the totals grow, in a sentence, where a picture has one.
    pub growth: Option<String>,
    /// Where a line of growth begins and ends.
    pub trend: Option<[Point; 2]>,
    /// An earlier run to compare with.
    pub overlay: Option<Overlay>,
    /// What time is counted in.
    pub time_unit: String,
    /// How many columns a drawing in text has at most, labels included.
    pub columns: usize,
}

/// A total and when it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// In the graph's unit.
    pub time: f64,
    /// In bytes.
    pub total: u64,
}

/// A labelled point.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where it is.
    pub point: Point,
    /// `peak`.
    pub label: String,
}

/// A part of the totals, at the times at which it is known. All layers of a graph have the same times.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What it is of.
    pub name: String,
    /// Its bytes, without those of the layers below.
    pub points: Vec<Point>,
}

/// Another run in the same graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// What it is called.
    pub name: String,
    /// What the run of the graph is called beside it.
    pub name_of_graph: String,
    /// Its totals.
    pub points: Vec<Point>,
}

/// What one column shows.
#[derive(Clone, Copy)]
struct GraphColumn {
    /// The largest total.
    total: u64,
    /// When it was measured, or the middle of the column's time.
    time: f64,
    /// The largest total of an earlier run.
    earlier: u64,
}

/// The points in the time of one column.
#[derive(Clone, Copy)]
struct Extent {
    largest: Point,
    last: u64,
}

impl Graph {
    /// The graph in block characters, a line each, and what they mean.
    pub fn lines(&self) -> Vec<String> {
        let (step, steps) = self.steps();
        let rows_a_step = HEIGHT / steps;
        let height = rows_a_step * steps;
        let label = |tick: usize| round_bytes(step * tick as u128);
        let label_width = (0..=steps).map(|tick| label(tick).len()).max();
        let label_width = label_width.unwrap_or(1);
        let columns = self.columns.saturating_sub(label_width + 2).max(NARROWEST);
        let shown = self.shown(columns);
        let mut lines = Vec::new();
        for row in (0..height).rev() {
            let is_tick = (row + 1).is_multiple_of(rows_a_step);
            let (label, axis) = match is_tick {
                true => (label((row + 1) / rows_a_step), '┤'),
                false => (String::new(), '│'),
            };
            let scale = GraphRows {
                height,
                top: step * steps as u128,
            };
            let cells: String = shown
                .iter()
                .map(|column| self.cell(column, row, scale))
                .collect();
            let line = format!("{label:>label_width$} {axis}{cells}");
            lines.push(line.trim_end().to_owned());
        }
        lines.push(format!("{:>label_width$} └{}", "0", "─".repeat(columns)));
        for mark in &self.marks {
            lines.push(self.mark_line(mark, label_width, columns));
        }
        lines.push(self.time_axis(label_width, columns));
        let mut legend = self.legend(columns);
        if lines.iter().any(|line| line.contains(UNKNOWN)) {
            legend.push(format!("{UNKNOWN} what it consists of is not known"));
        }
        let indent = label_width + 2;
        let legend = legend.into_iter();
        lines.extend(legend.map(|line| format!("{:indent$}{line}", "")));
        lines
    }

    /// The step between two numbers of the axis, a power of two, and the number of steps: at most five.
    pub(crate) fn steps(&self) -> (u128, usize) {
        let highest = u128::from(self.highest().max(1));
        let step = highest.div_ceil(5).next_power_of_two();
        // At most five, and at least one.
        (step, highest.div_ceil(step) as usize)
    }

    /// What each column shows.
    fn shown(&self, columns: usize) -> Vec<GraphColumn> {
        let whole = self.span();
        let width = (whole.1 / 2.0 - whole.0 / 2.0) * 2.0 / columns as f64;
        let middle = |column: usize| whole.0 + (column as f64 + 0.5) * width;
        let points = held(&self.points, whole, columns);
        let earlier = self.overlay.as_ref().map(|overlay| &overlay.points[..]);
        let earlier = held(earlier.unwrap_or_default(), whole, columns);
        let both = points.into_iter().zip(earlier).enumerate();
        both.map(|(column, ((total, time), (earlier, _)))| GraphColumn {
            total,
            time: time.unwrap_or_else(|| middle(column)),
            earlier,
        })
        .collect()
    }

    /// The character of a column in a row.
    fn cell(&self, column: &GraphColumn, row: usize, rows: GraphRows) -> char {
        let earlier = rows.eighths(column.earlier);
        if earlier > 0 && (earlier - 1) / 8 == row {
            return EARLIER;
        }
        let filled = rows.eighths(column.total).saturating_sub(row * 8).min(8);
        if filled < 8 || self.layers.is_empty() {
            return EIGHTHS[filled];
        }
        let layer = self.layer_at(column.time, rows.middle(row));
        layer.map_or(UNKNOWN, |layer| FILLS[layer.min(FILLS.len() - 1)])
    }

    /// The layer that a height of `bytes` is in at a time. Between the times at which layers are known, they are
    /// interpolated linearly.
    fn layer_at(&self, time: f64, bytes: f64) -> Option<usize> {
        let known = &self.layers.first()?.points;
        let next = known.partition_point(|point| point.time <= time);
        let from = next.checked_sub(1)?;
        let before = known.get(from)?;
        let share = match known.get(next) {
            Some(after) => (time - before.time) / (after.time - before.time),
            None if before.time == time => 0.0,
            None => return None,
        };
        let mut below = 0.0;
        self.layers.iter().position(|layer| {
            let total = |at: usize| layer.points.get(at).map_or(0.0, |point| point.total as f64);
            below += match share > 0.0 {
                true => total(from) + (total(next) - total(from)) * share,
                false => total(from),
            };
            bytes < below
        })
    }

    /// What the characters mean: the runs where there are two, and the layers from the top down.
    fn legend(&self, columns: usize) -> Vec<String> {
        let most = |points: &[Point]| points.iter().map(|point| point.total).max().unwrap_or(0);
        let line = |key: char, name: &str, points: &[Point]| {
            let held = format!(", at most {}", bytes(most(points)));
            // A key and a blank are in front.
            let room = columns
                .max(MOST_OF_A_NAME)
                .saturating_sub(held.chars().count() + 2);
            format!("{key} {}{held}", beginning_of(name, room))
        };
        let mut lines = Vec::new();
        if let Some(overlay) = &self.overlay {
            lines.push(line(EARLIER, &overlay.name, &overlay.points));
            lines.push(line(EIGHTHS[8], &overlay.name_of_graph, &self.points));
        }
        for (position, layer) in self.layers.iter().enumerate().rev() {
            let fill = FILLS[position.min(FILLS.len() - 1)];
            lines.push(line(fill, &layer.name, &layer.points));
        }
        lines
    }

    /// The largest total, of an earlier run too.
    pub fn highest(&self) -> u64 {
        let totals = self.all_points().map(|point| point.total);
        totals.max().unwrap_or(0)
    }

    /// The earliest and the latest time, 0 among them. Massif's snapshots are in the order of time, but a file can say
    /// anything.
    pub fn span(&self) -> (f64, f64) {
        let times = self.all_points().map(|point| point.time);
        times.fold((0.0, 0.0), |(start, end): (f64, f64), time| {
            (start.min(time), end.max(time))
        })
    }

    /// The points of both runs.
    fn all_points(&self) -> impl Iterator<Item = &Point> {
        let earlier = self.overlay.iter().flat_map(|overlay| &overlay.points);
        self.points.iter().chain(earlier)
    }

    /// Where a mark is.
    fn mark_line(&self, mark: &Mark, label_width: usize, columns: usize) -> String {
        let column = column_of(mark.point.time, self.span(), columns);
        let label = &mark.label;
        let mark = match column + label.chars().count() + "▲ ".chars().count() <= columns {
            true => format!("{:column$}▲ {label}", ""),
            false => format!("{:>width$}", format!("{label} ▲"), width = column + 1),
        };
        format!("{:indent$}{mark}", "", indent = label_width + 2)
    }

    /// First and last time.
    fn time_axis(&self, label_width: usize, columns: usize) -> String {
        let (start, end) = self.span();
        let left = time(start);
        let right = format!("{} {}", time(end), self.time_unit);
        let mut axis: Vec<char> = vec![' '; columns];
        let mut put = |position: usize, text: &str| {
            for (place, character) in axis.iter_mut().skip(position).zip(text.chars()) {
                *place = character;
            }
        };
        put(columns.saturating_sub(right.chars().count()), &right);
        put(0, &left);
        let axis: String = axis.into_iter().collect();
        let line = format!("{:indent$}{axis}", "", indent = label_width + 2);
        line.trim_end().to_owned()
    }
}

/// The legend is at least this wide, so that names stay readable below a narrow graph.
const MOST_OF_A_NAME: usize = 40;

/// The largest total in each column, and its time if it was measured there. A total holds until the next point; the
/// last total only holds in its own column.
fn held(points: &[Point], whole: (f64, f64), columns: usize) -> Vec<(u64, Option<f64>)> {
    let mut spans: Vec<Option<Extent>> = vec![None; columns];
    let mut last_column = 0;
    for point in points {
        let column = column_of(point.time, whole, columns);
        last_column = last_column.max(column);
        let span = &mut spans[column];
        let largest = span.map(|span| span.largest);
        *span = Some(Extent {
            largest: largest
                .filter(|largest| largest.total >= point.total)
                .unwrap_or(*point),
            last: point.total,
        });
    }
    let mut held = 0;
    let mut totals = Vec::with_capacity(columns);
    for (column, span) in spans.into_iter().enumerate() {
        totals.push(match span {
            Some(Extent { largest, .. }) => (largest.total, Some(largest.time)),
            None if column > last_column => (0, None),
            None => (held, None),
        });
        held = span.map_or(held, |span| span.last);
    }
    totals
}

/// How totals are drawn in rows of characters.
#[derive(Clone, Copy)]
struct GraphRows {
    height: usize,
    /// The total at the upper edge of the highest row.
    top: u128,
}

impl GraphRows {
    /// A total in eighths of a character; at least 1 if the total is not 0.
    fn eighths(self, total: u64) -> usize {
        if total == 0 {
            return 0;
        }
        let all = self.height * 8;
        let height = u128::from(total) * all as u128 / self.top.max(1);
        usize::try_from(height.max(1)).unwrap_or(all)
    }

    /// The total in the middle of a row.
    fn middle(self, row: usize) -> f64 {
        (row as f64 + 0.5) / self.height as f64 * self.top as f64
    }
}

/// A time without a fraction where it has none.
fn time(time: f64) -> String {
    if time.fract() == 0.0 && time.abs() < 1e15 {
        format!("{time:.0}")
    } else {
        format!("{time}")
    }
}

/// The column of a time, of so many for the whole span.
fn column_of(time: f64, (start, end): (f64, f64), columns: usize) -> usize {
    if end <= start {
        return 0;
    }
    // A float to an integer saturates, and the last time belongs to the last column.
    (((time - start) / (end - start) * columns as f64) as usize).min(columns - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(totals: &[u64], peak_time: Option<f64>, columns: usize) -> Graph {
        let point = |(total, time): (&u64, u32)| Point {
            time: time.into(),
            total: *total,
        };
        let mark = peak_time.map(|time| Mark {
            point: Point { time, total: 0 },
            label: "peak".to_owned(),
        });
        Graph {
            points: totals.iter().zip(0u32..).map(point).collect(),
            marks: mark.into_iter().collect(),
            time_unit: "ms".to_owned(),
            columns,
            ..Graph::default()
        }
    }

    #[test]
    fn each_point_is_looked_at_once() {
        // Comparing all points with all would take minutes.
        let points = (0..300_000).map(|time| Point {
            time: f64::from(time),
            total: 7,
        });
        let graph = Graph {
            points: points.collect(),
            time_unit: "i".to_owned(),
            columns: 80,
            ..Graph::default()
        };
        assert!(graph.lines()[HEIGHT / 2].ends_with('█'));
    }

    #[test]
    fn a_column_is_as_high_as_the_largest_total_in_it() {
        let lines = graph(&[0, 2048, 0, 1024], Some(1.0), 19).lines();
        assert_eq!(
            lines,
            [
                "  2 KiB ┤   ███",
                "        │   ███",
                "        │   ███",
                "        │   ███",
                "1.5 KiB ┤   ███",
                "        │   ███",
                "        │   ███",
                "        │   ███",
                "  1 KiB ┤   ███   █",
                "        │   ███   █",
                "        │   ███   █",
                "        │   ███   █",
                "  512 B ┤   ███   █",
                "        │   ███   █",
                "        │   ███   █",
                "        │   ███   █",
                "      0 └──────────",
                "            ▲ peak",
                "         0     3 ms",
            ]
        );
    }

    #[test]
    fn layers_are_told_apart_where_they_are_known() {
        let mut graph = graph(&[16, 16, 16, 16, 8], None, 17);
        let layer = |name: &str, totals: [u64; 2]| Layer {
            name: name.to_owned(),
            points: [1.0, 3.0]
                .into_iter()
                .zip(totals)
                .map(|(time, total)| Point { time, total })
                .collect(),
        };
        // At 2, between the two, they have 6 each.
        graph.layers = vec![layer("low", [4, 8]), layer("high", [8, 4])];
        // Eleven columns, the last of which is of the last time.
        let lines = graph.lines();
        let column = |time: usize| -> String {
            let at = 6 + (time * 11 / 4).min(10);
            let cells = lines[..16].iter().rev();
            cells
                .map(|line| line.chars().nth(at).unwrap_or(' '))
                .collect()
        };
        assert!(lines[0].starts_with("16 B ┤"), "{lines:#?}");
        assert_eq!(column(0), "·".repeat(16));
        assert_eq!(column(1), "████▒▒▒▒▒▒▒▒····");
        assert_eq!(column(2), "██████▒▒▒▒▒▒····");
        assert_eq!(column(3), "████████▒▒▒▒····");
        assert_eq!(column(4), "········        ");
        let legend: Vec<&str> = lines.iter().rev().take(3).map(|line| line.trim()).collect();
        assert_eq!(
            legend,
            [
                "· what it consists of is not known",
                "█ low, at most 8 B",
                "▒ high, at most 8 B"
            ]
        );
    }

    #[test]
    fn an_earlier_run_is_a_line_over_the_later_one() {
        let mut graph = graph(&[8, 8, 8], None, 16);
        let point = |time: f64, total| Point { time, total };
        graph.overlay = Some(Overlay {
            name: "old \u{1b}".to_owned(),
            name_of_graph: "new".to_owned(),
            points: vec![point(0.0, 4), point(5.0, 16)],
        });
        let lines = graph.lines();
        assert!(lines[0].starts_with("16 B ┤         ○"), "{lines:#?}");
        assert!(lines[7].ends_with("│"), "{lines:#?}");
        assert_eq!(lines[8], " 8 B ┤█████");
        assert_eq!(lines[12], " 4 B ┤○○○○○○○○○");
        assert_eq!(lines[15], "     │█████");
        let legend = &lines[lines.len() - 2..];
        assert!(legend[0].ends_with("○ old \u{1b}, at most 16 B"));
        assert!(legend[1].ends_with("█ new, at most 8 B"));
    }

    #[test]
    fn a_graph_of_nothing_is_drawn_all_the_same() {
        for totals in [&[][..], &[0], &[0, 0]] {
            assert_eq!(graph(totals, None, 0).lines().len(), HEIGHT + 2);
        }
    }

    #[test]
    fn times_in_any_order_are_drawn() {
        let mut graph = graph(&[u64::MAX; 4], Some(5.0), 40);
        for (point, time) in graph.points.iter_mut().zip([-1.0, 9.2e18, -9.2e18, 5.0]) {
            point.time = time;
        }
        assert!(graph.lines().concat().contains('█'));
    }
}
