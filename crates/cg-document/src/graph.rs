//! Memory over time, and its drawing with block characters.
//!
//! A column is a span of time and as high as the largest total in it, so no peak is lost between columns; a row is an
//! eighth of a character high. What that total consists of is drawn in characters of their own, where it is known.

use crate::fit::{beginning_of, short_name};
use crate::number::{bytes, round_bytes};

/// The height of the graph in characters, at most.
const HEIGHT: usize = 16;
/// The narrowest graph, without its labels.
const NARROWEST: usize = 10;
/// Characters that are filled by so many eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// What layers are filled with, from the bottom up. The last one is of the sites that have no layer of their own.
const FILLS: [char; 7] = ['█', '▒', '#', '░', '=', '▓', '-'];
/// The fill of what no layer is known of.
const UNKNOWN: char = '╱';
/// What that fill means.
pub(crate) const UNKNOWN_WORDS: &str = "what it consists of is not known";
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

/// A part of the totals. What is known of it holds, as totals do, until something newer is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What it is of.
    pub name: String,
    /// True where that is the name of a function.
    pub is_function: bool,
    /// Its bytes at each point of the graph, by what is known newest, without those of the layers below; 0 as long as
    /// nothing is known.
    pub held: Vec<u64>,
}

impl Layer {
    /// What it is called where there is so much room, and the most that it held.
    pub(crate) fn words(&self, columns: usize) -> String {
        let most = self.held.iter().copied().max().unwrap_or(0);
        let held = format!(", at most {}", bytes(most));
        let room = columns.saturating_sub(held.len());
        match self.is_function {
            true => short_name(&self.name, room) + &held,
            false => beginning_of(&self.name, room) + &held,
        }
    }
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
    /// The point that it is of, among those of the graph.
    point: Option<usize>,
    /// The largest total of an earlier run.
    earlier: u64,
}

/// The points in the time of one column, by their positions.
#[derive(Clone, Copy)]
struct Extent {
    largest: usize,
    last: usize,
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

    /// Up to where each layer reaches at each point, from the lowest on. Where the total is less than the layers come to,
    /// some of them have shrunk: each has what is left of it if it was the one.
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

    /// The character of a column in a row.
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

    /// What the characters mean: the runs where there are two, and the layers from the top down.
    fn legend(&self, columns: usize) -> Vec<String> {
        // A key and a blank are in front.
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

/// The point with the largest total in each column, by its position. A total holds until the next point; the last total
/// only holds in its own column.
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
        let mut graph = graph(&[16, 16, 8, 16, 8], None, 17);
        let layer = |name: &str, held: [u64; 5]| Layer {
            name: name.to_owned(),
            is_function: true,
            held: held.to_vec(),
        };
        // Known at 1, held at 2, where 4 of either are gone, and known again at 3.
        graph.layers = vec![
            layer("low", [0, 4, 4, 8, 8]),
            layer("high", [0, 8, 8, 4, 4]),
        ];
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
        assert_eq!(column(0), "╱".repeat(16));
        assert_eq!(column(1), "████▒▒▒▒▒▒▒▒╱╱╱╱");
        assert_eq!(column(2), "▒▒▒▒╱╱╱╱        ");
        assert_eq!(column(3), "████████▒▒▒▒╱╱╱╱");
        assert_eq!(column(4), "████╱╱╱╱        ");
        let legend: Vec<&str> = lines.iter().rev().take(3).map(|line| line.trim()).collect();
        assert_eq!(
            legend,
            [
                "╱ what it consists of is not known",
                "█ low, at most 8 B",
                "▒ high, at most 8 B"
            ]
        );
    }

    #[test]
    fn functions_in_the_legend_keep_their_own_names() {
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
