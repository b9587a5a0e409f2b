//! Memory over time, and its drawing with block characters.
//!
//! A column is a span of time. Its height is the largest total in the span, so no peak is lost. Heights have a resolution
//! of an eighth of a character. If the parts of a total are known, each layer is drawn with a different character.

use crate::fit::{short_name, truncated_line};
use crate::number::{bytes, round_bytes};

/// The maximum height of the graph in characters.
const HEIGHT: usize = 16;
/// The minimum width of the graph without its labels.
const NARROWEST: usize = 10;
/// Characters filled from zero to eight eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The characters of layers, from the bottom up. The last one is for all sites without a separate layer.
const FILLS: [char; 7] = ['█', '▒', '#', '░', '=', '▓', '-'];
/// The character of memory that belongs to no known layer.
const UNKNOWN: char = '╱';
/// The text in the legend for [`UNKNOWN`].
pub(crate) const UNKNOWN_WORDS: &str = "contents unknown";
/// The character for the totals of an earlier run.
const EARLIER: char = '○';

/// Bytes over time. A total holds from its point to the next one.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The title of a picture.
    pub title: String,
    /// The totals, in the order of the input, which is usually the order of time.
    pub points: Vec<Point>,
    /// The marked points: the peak, the largest snapshot.
    pub marks: Vec<Mark>,
    /// The parts of the totals, from the bottom up; empty if they are unknown.
    pub layers: Vec<Layer>,
    /// A sentence about the growth of the totals, for pictures.
    pub growth: Option<String>,
    /// The ends of the line of growth.
    pub trend: Option<[Point; 2]>,
    /// An earlier run to compare with.
    pub overlay: Option<Overlay>,
    /// The unit of time.
    pub time_unit: String,
    /// The maximum width of a drawing in text, including labels.
    pub columns: usize,
}

/// A total and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The time in the graph's unit.
    pub time: f64,
    /// The total in bytes.
    pub total: u64,
}

/// A labelled point.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The marked point.
    pub point: Point,
    /// The label, for example `peak`.
    pub label: String,
}

/// A part of the totals. A value stays in force until the next known one.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The name of the layer.
    pub name: String,
    /// True if `name` is the name of a function.
    pub is_function: bool,
    /// The last known bytes of the layer at each point of the graph, without the layers below; 0 before the first known
    /// value.
    pub held: Vec<u64>,
}

impl Layer {
    /// Returns the name and the maximum number of bytes, shortened to a width.
    pub(crate) fn words(&self, columns: usize) -> String {
        let most = self.held.iter().copied().max().unwrap_or(0);
        let held = format!(", at most {}", bytes(most));
        let room = columns.saturating_sub(held.len());
        match self.is_function {
            true => short_name(&self.name, room) + &held,
            false => truncated_line(&self.name, room) + &held,
        }
    }
}

/// Another run in the same graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The name of the earlier run.
    pub name: String,
    /// The name of the graph's run, to distinguish it from the earlier run.
    pub name_of_graph: String,
    /// The totals of the earlier run.
    pub points: Vec<Point>,
}

/// The contents of a column.
#[derive(Clone, Copy)]
struct GraphColumn {
    /// The largest total.
    total: u64,
    /// The position of the point with that total in the graph.
    point: Option<usize>,
    /// The largest total of the earlier run.
    earlier: u64,
}

/// The points in the time of a column, by their positions.
#[derive(Clone, Copy)]
struct Extent {
    largest: usize,
    last: usize,
}

impl Graph {
    /// Returns the lines of the graph in block characters, and the legend.
    pub fn lines(&self) -> Vec<String> {
        let (step, steps) = self.steps();
        let rows_a_step = HEIGHT / steps;
        let height = rows_a_step * steps;
        let label = |tick: usize| round_bytes(step * tick as u128);
        let label_width = (0..=steps).map(|tick| label(tick).len()).max();
        let label_width = label_width.unwrap_or(1);
        let columns = self.columns.saturating_sub(label_width + 2).max(NARROWEST);
        let shown = self.shown(columns);
        let edges = self.edges();
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
                .map(|column| self.cell(&edges, column, row, scale))
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
            legend.push(format!("{UNKNOWN} {UNKNOWN_WORDS}"));
        }
        let indent = label_width + 2;
        let legend = legend.into_iter();
        lines.extend(legend.map(|line| format!("{:indent$}{line}", "")));
        lines
    }

    /// Returns the step between two numbers of the axis, which is a power of two, and the number of steps.
    pub(crate) fn steps(&self) -> (u128, usize) {
        let highest = u128::from(self.highest().max(1));
        let step = highest.div_ceil(5).next_power_of_two();
        // At most five, and at least one.
        (step, highest.div_ceil(step) as usize)
    }

    /// Returns the contents of the columns.
    fn shown(&self, columns: usize) -> Vec<GraphColumn> {
        let whole = self.span();
        let points = held(&self.points, whole, columns);
        let earlier = self.overlay.as_ref().map(|overlay| &overlay.points[..]);
        let earlier = earlier.unwrap_or_default();
        let both = points.into_iter().zip(held(earlier, whole, columns));
        let total = |points: &[Point], at: Option<usize>| at.map_or(0, |at| points[at].total);
        both.map(|(point, before)| GraphColumn {
            total: total(&self.points, point),
            point,
            earlier: total(earlier, before),
        })
        .collect()
    }

    /// Returns the upper edge of each layer at each point, lowest first. If the layers exceed the total, subtracts the
    /// excess from every layer, because any of the layers may have shrunk.
    pub(crate) fn edges(&self) -> Vec<Vec<u64>> {
        let shrunk: Vec<u64> = (self.points.iter().enumerate())
            .map(|(at, point)| {
                let held = self.layers.iter().map(|layer| layer.held[at]);
                let sum = held.fold(0, u64::saturating_add);
                sum.saturating_sub(point.total)
            })
            .collect();
        let mut below = vec![0; self.points.len()];
        let layers = self.layers.iter().map(|layer| {
            for (edge, (held, shrunk)) in below.iter_mut().zip(layer.held.iter().zip(&shrunk)) {
                *edge += held.saturating_sub(*shrunk);
            }
            below.clone()
        });
        layers.collect()
    }

    /// Returns the character of a column in a row.
    fn cell(&self, edges: &[Vec<u64>], column: &GraphColumn, row: usize, rows: GraphRows) -> char {
        let earlier = rows.eighths(column.earlier);
        if earlier > 0 && (earlier - 1) / 8 == row {
            return EARLIER;
        }
        let filled = rows.eighths(column.total).saturating_sub(row * 8).min(8);
        if filled < 8 || self.layers.is_empty() {
            return EIGHTHS[filled];
        }
        let reaches = |edges: &Vec<u64>| {
            column
                .point
                .is_some_and(|at| edges[at] as f64 > rows.middle(row))
        };
        let layer = edges.iter().position(reaches);
        layer.map_or(UNKNOWN, |layer| FILLS[layer.min(FILLS.len() - 1)])
    }

    /// Returns the legend: the runs if there are two, and the layers from the top down.
    fn legend(&self, columns: usize) -> Vec<String> {
        // A key and a blank precede the words.
        let columns = columns.max(MOST_OF_A_NAME) - 2;
        let line = |key: char, name: &str, points: &[Point]| {
            let run = Layer {
                name: name.to_owned(),
                is_function: false,
                held: points.iter().map(|point| point.total).collect(),
            };
            format!("{key} {}", run.words(columns))
        };
        let mut lines = Vec::new();
        if let Some(overlay) = &self.overlay {
            lines.push(line(EARLIER, &overlay.name, &overlay.points));
            lines.push(line(EIGHTHS[8], &overlay.name_of_graph, &self.points));
        }
        for (position, layer) in self.layers.iter().enumerate().rev() {
            let fill = FILLS[position.min(FILLS.len() - 1)];
            lines.push(format!("{fill} {}", layer.words(columns)));
        }
        lines
    }

    /// Returns the largest total of both runs.
    pub fn highest(&self) -> u64 {
        let totals = self.all_points().map(|point| point.total);
        totals.max().unwrap_or(0)
    }

    /// Returns the earliest and the latest time, including 0. Massif writes snapshots in the order of time, but a malformed
    /// file may have any order.
    pub fn span(&self) -> (f64, f64) {
        let times = self.all_points().map(|point| point.time);
        times.fold((0.0, 0.0), |(start, end): (f64, f64), time| {
            (start.min(time), end.max(time))
        })
    }

    /// Iterates over the points of both runs.
    fn all_points(&self) -> impl Iterator<Item = &Point> {
        let earlier = self.overlay.iter().flat_map(|overlay| &overlay.points);
        self.points.iter().chain(earlier)
    }

    /// Returns the line with a mark.
    fn mark_line(&self, mark: &Mark, label_width: usize, columns: usize) -> String {
        let column = column_of(mark.point.time, self.span(), columns);
        let label = &mark.label;
        let mark = match column + label.chars().count() + "▲ ".chars().count() <= columns {
            true => format!("{:column$}▲ {label}", ""),
            false => format!("{:>width$}", format!("{label} ▲"), width = column + 1),
        };
        format!("{:indent$}{mark}", "", indent = label_width + 2)
    }

    /// Returns the line with the first and the last time.
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

/// The minimum width of the legend, so that names stay readable below a narrow graph.
const MOST_OF_A_NAME: usize = 40;

/// Returns the position of the point with the largest total in each column. A total applies until the next point, the last
/// total only in its column.
fn held(points: &[Point], whole: (f64, f64), columns: usize) -> Vec<Option<usize>> {
    let mut spans: Vec<Option<Extent>> = vec![None; columns];
    let mut last_column = 0;
    for (position, point) in points.iter().enumerate() {
        let column = column_of(point.time, whole, columns);
        last_column = last_column.max(column);
        let known = spans[column].map(|span| span.largest);
        spans[column] = Some(Extent {
            largest: known
                .filter(|largest| points[*largest].total >= point.total)
                .unwrap_or(position),
            last: position,
        });
    }
    let mut held = None;
    let shown = spans.into_iter().enumerate().map(|(column, span)| {
        let point = span.map_or(held, |span| Some(span.largest));
        held = span.map_or(held, |span| Some(span.last));
        point.filter(|_| column <= last_column)
    });
    shown.collect()
}

/// The scale of totals in rows of characters.
#[derive(Clone, Copy)]
struct GraphRows {
    height: usize,
    /// The total at the upper edge of the top row.
    top: u128,
}

impl GraphRows {
    /// Converts a total to eighths of a character; at least 1 if the total is not 0.
    fn eighths(self, total: u64) -> usize {
        if total == 0 {
            return 0;
        }
        let all = self.height * 8;
        let height = u128::from(total) * all as u128 / self.top.max(1);
        usize::try_from(height.max(1)).unwrap_or(all)
    }

    /// Returns the total in the middle of a row.
    fn middle(self, row: usize) -> f64 {
        (row as f64 + 0.5) / self.height as f64 * self.top as f64
    }
}

/// Formats a time, without a decimal point if it is an integer.
fn time(time: f64) -> String {
    if time.fract() == 0.0 && time.abs() < 1e15 {
        format!("{time:.0}")
    } else {
        format!("{time}")
    }
}

/// Returns the column of a time, if the whole span has this number of columns.
fn column_of(time: f64, (start, end): (f64, f64), columns: usize) -> usize {
    if end <= start {
        return 0;
    }
    // Converting a float to an integer saturates. The last time belongs to the last column.
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
    fn drawing_takes_linear_time() {
        // Comparing all pairs of points would take minutes.
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
    fn known_layers_have_different_characters() {
        let mut graph = graph(&[16, 16, 8, 16, 8], None, 17);
        let layer = |name: &str, held: [u64; 5]| Layer {
            name: name.to_owned(),
            is_function: true,
            held: held.to_vec(),
        };
        // The layers are known at 1 and 3. At 2 the total is 4 less than the layers.
        graph.layers = vec![
            layer("low", [0, 4, 4, 8, 8]),
            layer("high", [0, 8, 8, 4, 4]),
        ];
        // There are eleven columns. The last column has only the last time.
        let lines = graph.lines();
        let column = |time: usize| -> String {
            let at = 6 + (time * 11 / 4).min(10);
            let cells = lines[..16].iter().rev();
            cells
                .map(|line| line.chars().nth(at).unwrap_or(' '))
                .collect()
        };
        assert!(lines[0].starts_with("16 B ┤"), "{lines:#?}");
        assert_eq!(column(0), "╱".repeat(16));
        assert_eq!(column(1), "████▒▒▒▒▒▒▒▒╱╱╱╱");
        assert_eq!(column(2), "▒▒▒▒╱╱╱╱        ");
        assert_eq!(column(3), "████████▒▒▒▒╱╱╱╱");
        assert_eq!(column(4), "████╱╱╱╱        ");
        let legend: Vec<&str> = lines.iter().rev().take(3).map(|line| line.trim()).collect();
        assert_eq!(
            legend,
            [
                "╱ contents unknown",
                "█ low, at most 8 B",
                "▒ high, at most 8 B"
            ]
        );
    }

    #[test]
    fn functions_in_the_legend_keep_their_last_name_parts() {
        let mut graph = graph(&[16, 16], None, 17);
        graph.layers = vec![Layer {
            name: "demo::engine::Cache<demo::engine::Entry, demo::Hash>::insert".to_owned(),
            is_function: true,
            held: vec![16, 16],
        }];
        let lines = graph.lines();
        let last = lines.last().map(|line| line.trim());
        assert_eq!(
            last,
            Some("█ …::Cache<…>::insert, at most 16 B"),
            "{lines:#?}"
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
    fn a_graph_without_points_is_drawn() {
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
