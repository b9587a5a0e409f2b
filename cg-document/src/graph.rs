//! Memory over time, and its drawing with block characters.
//!
//! A column is a span of time and as high as the largest total in it, so no peak is lost between columns; a row is an
//! eighth of a character high.

use crate::number::bytes;

/// The height of the graph in characters.
const HEIGHT: usize = 16;
/// The narrowest graph, without its labels.
const NARROWEST: usize = 10;
/// Characters that are filled by so many eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

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

/// A point that is told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where it is.
    pub point: Point,
    /// `peak`.
    pub label: String,
}

/// A part of the totals, at those times at which it is known; all layers of a graph at the same ones.
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

/// The points that one column shows.
#[derive(Clone, Copy)]
struct Extent {
    largest: u64,
    last: u64,
}

impl Graph {
    /// The graph in block characters, a line each.
    pub fn lines(&self) -> Vec<String> {
        let highest = self.highest();
        let label = bytes(highest);
        let label_width = label.len().max(1);
        let columns = self.columns.saturating_sub(label_width + 2).max(NARROWEST);
        let heights = self.heights(columns, highest);
        let mut lines = Vec::new();
        for row in (0..HEIGHT).rev() {
            let label = match row {
                _ if row + 1 == HEIGHT => label.as_str(),
                0 => "0",
                _ => "",
            };
            let filled: String = heights
                .iter()
                .map(|height| EIGHTHS[height.saturating_sub(row * 8).min(8)])
                .collect();
            let line = format!("{label:>label_width$} │{filled}");
            lines.push(line.trim_end().to_owned());
        }
        lines.push(format!("{:label_width$} └{}", "", "─".repeat(columns)));
        for mark in &self.marks {
            lines.push(self.mark_line(mark, label_width, columns));
        }
        lines.push(self.time_axis(label_width, columns));
        lines
    }

    /// The height of each column in eighths of a character; what is not nothing is seen.
    fn heights(&self, columns: usize, highest: u64) -> Vec<usize> {
        let mut spans: Vec<Option<Extent>> = vec![None; columns];
        let whole = self.span();
        for point in &self.points {
            let span = &mut spans[column_of(point.time, whole, columns)];
            *span = Some(Extent {
                largest: span.map_or(0, |span| span.largest).max(point.total),
                last: point.total,
            });
        }
        let mut held = 0;
        let mut heights = Vec::with_capacity(columns);
        for span in spans {
            heights.push(eighths(span.map_or(held, |span| span.largest), highest));
            // A total holds until the next snapshot.
            held = span.map_or(held, |span| span.last);
        }
        heights
    }

    /// The largest total.
    pub fn highest(&self) -> u64 {
        let totals = self.points.iter().map(|point| point.total);
        totals.max().unwrap_or(0)
    }

    /// The earliest and the latest time, 0 among them. Massif's snapshots are in the order of time, but a file can say
    /// anything.
    pub fn span(&self) -> (f64, f64) {
        let times = self.points.iter().map(|point| point.time);
        times.fold((0.0, 0.0), |(start, end): (f64, f64), time| {
            (start.min(time), end.max(time))
        })
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

/// A total in eighths of a character of the whole height.
fn eighths(total: u64, highest: u64) -> usize {
    if total == 0 || highest == 0 {
        return 0;
    }
    let all = (HEIGHT * 8) as u128;
    let height = u128::from(total) * all / u128::from(highest);
    usize::try_from(height.max(1)).unwrap_or(HEIGHT * 8)
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
        assert!(graph.lines()[0].ends_with('█'));
    }

    #[test]
    fn a_column_is_as_high_as_the_largest_total_in_it() {
        let lines = graph(&[0, 2048, 0, 1024], Some(1.0), 20).lines();
        assert_eq!(lines.len(), HEIGHT + 3);
        assert_eq!(lines[0], "2.00 KiB │   ███");
        assert_eq!(lines[HEIGHT / 2 - 1], "         │   ███");
        assert_eq!(lines[HEIGHT / 2], "         │   ███   █");
        assert_eq!(lines[HEIGHT - 1], "       0 │   ███   █");
        assert_eq!(lines[HEIGHT], "         └──────────");
        assert_eq!(lines[HEIGHT + 1], "             ▲ peak");
        assert_eq!(lines[HEIGHT + 2], "          0     3 ms");
        assert!(lines.iter().all(|line| line.chars().count() <= 20));
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
