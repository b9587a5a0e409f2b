//! Memory over time as an SVG picture, for a page or a separate file.
//!
//! The picture has axes with round numbers in binary units, steps, areas and marks. All elements have classes, which a style
//! sheet colours for light and dark screens. All words are SVG text.

use crate::fit::truncated_line;
use crate::graph::UNKNOWN_WORDS;
use crate::markup::Markup;
use crate::number::{grouped, round_bytes};
use crate::{Graph, Mark, Point, number};

/// The width and height in pixels, without the legend.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
/// The margins around the axes, and the height of a line of the legend.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 52.0;
const LEGEND_LINE: f64 = 28.0;

/// The maximum number of characters in a line of the legend. Phones draw larger letters ([`chart.css`](chart.css)).
const LEGEND_COLUMNS: usize = 60;

/// If there are more points, points within the same half pixel are merged.
const MOST_POINTS: usize = 1840;

/// The number of colours for layers. The last colour is for all sites without a separate layer.
pub(crate) const LAYERS: usize = 7;

/// Returns the number of a layer's colour, from 1.
fn colour(layer: usize) -> usize {
    (layer + 1).min(LAYERS)
}

/// Returns the graph as a separate SVG file.
pub fn svg(graph: &Graph) -> String {
    let mut svg = Markup::default();
    svg.tag("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n");
    draw(graph, &mut svg);
    svg.into_string()
}

/// Draws the graph as an `<svg>` element.
pub fn draw(graph: &Graph, svg: &mut Markup) {
    let scale = Scale::new(graph);
    let legend = legend(graph);
    let height = HEIGHT + LEGEND_LINE * (legend.len() + usize::from(!legend.is_empty())) as f64;
    svg.tag("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" width=\"960\" viewBox=\"0 0 960 ");
    svg.decimal(height);
    svg.tag("\">\n<title>");
    svg.text(&graph.title);
    svg.tag("</title>\n<style>");
    svg.tag(include_str!("chart.css"));
    svg.tag("</style>\n<rect class=\"paper\" width=\"960\" height=\"");
    svg.decimal(height);
    svg.tag("\"/>\n<text class=\"title\" x=\"8\" y=\"24\">");
    svg.text(&truncated_line(&graph.title, 110));
    svg.tag("</text>\n");
    scale.axes(graph, svg);
    let kept = fewer(&graph.points, &scale);
    let nothing = vec![0; graph.points.len()];
    let totals: Vec<u64> = graph.points.iter().map(|point| point.total).collect();
    let band = |below: &[u64], above: &[u64], svg: &mut Markup| {
        svg.tag(" d=\"");
        bands(&kept, &graph.points, below, above, &scale, svg);
        svg.tag("\"");
    };
    svg.tag("<path class=\"area\"");
    band(&nothing, &totals, svg);
    svg.tag("/>\n");
    let edges = graph.edges();
    let mut below = &nothing;
    for (position, (layer, edge)) in graph.layers.iter().zip(&edges).enumerate() {
        svg.tag("<path class=\"layer l");
        svg.integer(colour(position));
        svg.tag("\"");
        if layer.is_function {
            svg.tag(" data-fn=\"");
            svg.text(&layer.name);
            svg.tag("\"");
        }
        band(below, edge, svg);
        svg.tag("><title>");
        svg.text(&layer.name);
        svg.tag("</title></path>\n");
        below = edge;
    }
    if graph.overlay.is_none() {
        svg.tag(HATCHING);
        svg.tag("<path class=\"unknown\"");
        band(below, &totals, svg);
        svg.tag("><title>");
        svg.tag(UNKNOWN_WORDS);
        svg.tag("</title></path>\n");
    }
    if let Some(overlay) = &graph.overlay {
        svg.tag("<path class=\"before\" d=\"");
        steps(&overlay.points, &scale, svg);
        svg.tag("\"/>\n");
    }
    svg.tag("<path class=\"total\" d=\"");
    steps(&graph.points, &scale, svg);
    svg.tag("\"/>\n");
    if let Some([from, to]) = graph.trend {
        svg.tag("<path class=\"trend\" d=\"M");
        scale.place(from, svg);
        svg.tag("L");
        scale.place(to, svg);
        svg.tag("\"/>\n");
    }
    let mut labels = 0.0;
    for mark in &graph.marks {
        draw_mark(mark, &scale, &mut labels, svg);
    }
    draw_legend(&legend, svg);
    svg.tag("</svg>\n");
}

fn draw_legend(legend: &[(LegendKey, String)], svg: &mut Markup) {
    for (position, (key, words)) in legend.iter().enumerate() {
        let y = HEIGHT + LEGEND_LINE * (position as f64 + 0.7);
        match key {
            LegendKey::Unknown | LegendKey::Layer(_) => {
                svg.tag("<rect class=\"");
                match key {
                    LegendKey::Layer(layer) => {
                        svg.tag("l");
                        svg.integer(colour(*layer));
                    }
                    _ => svg.tag("key"),
                }
                svg.tag("\" x=\"84\" width=\"12\" height=\"12\" y=\"");
                svg.decimal(y - 10.0);
                svg.tag("\"/>");
            }
            LegendKey::Line(class) => {
                svg.tag(class);
                svg.tag("M84 ");
                svg.decimal(y - 4.0);
                svg.tag("h12\"/>");
            }
            LegendKey::None => {}
        }
        svg.tag("<text x=\"104\" y=\"");
        svg.decimal(y);
        svg.tag("\">");
        svg.text(words);
        svg.tag("</text>\n");
    }
}

/// Stripes, made with a repeating gradient: a pattern would add lines to the picture.
const HATCHING: &str = "<linearGradient id=\"hatching\" gradientUnits=\"userSpaceOnUse\" x1=\"0\" y1=\"0\" x2=\"5\" y2=\"5\" spreadMethod=\"repeat\"><stop class=\"gap\" offset=\".6\"/><stop class=\"stripe\" offset=\".6\"/></linearGradient>\n";

/// The key at the beginning of a line of the legend.
enum LegendKey {
    Unknown,
    Layer(usize),
    Line(&'static str),
    /// The line continues the previous one.
    None,
}

/// Returns the legend: the runs if there are two, the line of growth, and the layers from the top down.
fn legend(graph: &Graph) -> Vec<(LegendKey, String)> {
    let mut lines = Vec::new();
    if let Some(overlay) = &graph.overlay {
        let name = |name: &str, points: &[Point]| {
            let highest = points.iter().map(|point| point.total).max().unwrap_or(0);
            let held = format!(", at most {}", number::bytes(highest));
            truncated_line(name, LEGEND_COLUMNS - held.len()) + &held
        };
        let before = name(&overlay.name, &overlay.points);
        lines.push((LegendKey::Line("<path class=\"before\" d=\""), before));
        let after = name(&overlay.name_of_graph, &graph.points);
        lines.push((LegendKey::Line("<path class=\"total\" d=\""), after));
    }
    if let Some(growth) = &graph.growth {
        let wrapped = textwrap::wrap(growth, LEGEND_COLUMNS).into_iter();
        let keys = std::iter::once(LegendKey::Line("<path class=\"trend\" d=\""));
        let keys = keys.chain(std::iter::repeat_with(|| LegendKey::None));
        lines.extend(keys.zip(wrapped.map(String::from)));
    }
    if graph.overlay.is_none() {
        lines.push((LegendKey::Unknown, UNKNOWN_WORDS.to_owned()));
    }
    for (position, layer) in graph.layers.iter().enumerate().rev() {
        lines.push((LegendKey::Layer(position), layer.words(LEGEND_COLUMNS)));
    }
    lines
}

/// Maps times and totals to positions in the picture.
struct Scale {
    times: (f64, f64),
    /// The number at the top of the axis.
    top: f64,
    /// The difference between two numbers of the axis.
    step: u128,
}

impl Scale {
    fn new(graph: &Graph) -> Scale {
        let (step, steps) = graph.steps();
        let (start, end) = graph.span();
        // An axis must not have length 0.
        let end = if end > start {
            end
        } else {
            start + start.abs().max(1.0)
        };
        Scale {
            times: (start, end),
            top: step as f64 * steps as f64,
            step,
        }
    }

    fn x(&self, time: f64) -> f64 {
        let (start, end) = self.times;
        // Halves the numbers to prevent overflow, because both ends may be extreme floats.
        let share = (time / 2.0 - start / 2.0) / (end / 2.0 - start / 2.0);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, total: f64) -> f64 {
        HEIGHT - BOTTOM - total / self.top * (HEIGHT - TOP - BOTTOM)
    }

    fn place(&self, point: Point, svg: &mut Markup) {
        svg.decimal(self.x(point.time));
        svg.tag(" ");
        svg.decimal(self.y(point.total as f64));
    }

    fn axes(&self, graph: &Graph, svg: &mut Markup) {
        let mut total = 0;
        while total as f64 <= self.top {
            svg.tag("<path class=\"grid\" d=\"M84 ");
            svg.decimal(self.y(total as f64));
            svg.tag("h852\"/><text class=\"bytes\" x=\"76\" y=\"");
            svg.decimal(self.y(total as f64) + 4.0);
            svg.tag("\">");
            svg.text(&round_bytes(total));
            svg.tag("</text>\n");
            total += self.step;
        }
        let (ticks, decimals) = time_ticks(self.times);
        for (position, time) in ticks.into_iter().enumerate() {
            svg.tag("<path class=\"tick\" d=\"M");
            svg.decimal(self.x(time));
            svg.tag(match position % 2 {
                0 => " 368v6\"/><text class=\"time\" x=\"",
                _ => " 368v6\"/><text class=\"time second\" x=\"",
            });
            svg.decimal(self.x(time));
            svg.tag("\" y=\"388\">");
            svg.text(&time_text(time, decimals));
            svg.tag("</text>\n");
        }
        svg.tag("<text class=\"time\" x=\"510\" y=\"412\">time (");
        svg.text(&graph.time_unit);
        svg.tag(")</text>\n");
    }
}

/// Returns at most six round times for an axis, and their number of decimals.
fn time_ticks((start, end): (f64, f64)) -> (Vec<f64>, usize) {
    const MOST: f64 = 6.0;
    let least = (end / MOST - start / MOST).max(f64::MIN_POSITIVE);
    let magnitude = least.log10().floor();
    let unit = 10f64.powf(magnitude);
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit);
    let step = step.into_iter().find(|step| *step >= least * 0.999_999);
    let step = step.unwrap_or(10.0 * unit);
    let first = (start / step).ceil();
    let ticks = (0..=7).map(|position| (first + f64::from(position)) * step);
    // Rounding may move the last tick slightly beyond the end.
    let ticks = ticks.filter(|time| time.is_finite() && *time <= end + step * 1e-9);
    let decimals = if step < 1.0 {
        -step.log10().floor()
    } else {
        0.0
    };
    (ticks.collect(), decimals.clamp(0.0, 12.0) as usize)
}

fn time_text(time: f64, decimals: usize) -> String {
    match decimals {
        // Converting a float to an integer saturates.
        0 => grouped(time.round() as i128),
        _ => format!("{time:.decimals$}"),
    }
}

/// Draws the totals as steps. Each total applies until the next one.
fn steps(points: &[Point], scale: &Scale, svg: &mut Markup) {
    let mut is_first = true;
    for point in fewer(points, scale) {
        svg.tag(if is_first { "M" } else { "H" });
        svg.decimal(scale.x(points[point].time));
        svg.tag(if is_first { " " } else { "V" });
        svg.decimal(scale.y(points[point].total as f64));
        is_first = false;
    }
}

/// Draws the area between two edges as steps, for the points in `kept`. Draws nothing where the edges are equal.
fn bands(
    kept: &[usize],
    points: &[Point],
    below: &[u64],
    above: &[u64],
    scale: &Scale,
    svg: &mut Markup,
) {
    let x = |at: usize| scale.x(points[kept[at]].time);
    let y = |edges: &[u64], at: usize| scale.y(edges[kept[at]] as f64);
    let mut go = |sign: &'static str, number: f64| {
        svg.tag(sign);
        svg.decimal(number);
    };
    let mut at = 0;
    // A point applies until the next one. The last point has no width.
    let end = kept.len().saturating_sub(1);
    while at < end {
        let has_height = |at: &usize| above[kept[*at]] > below[kept[*at]];
        let length = (at..end).take_while(has_height).count();
        if length > 0 {
            go("M", x(at));
            go(" ", y(above, at));
            for next in at + 1..at + length {
                if above[kept[next]] != above[kept[next - 1]] {
                    go("H", x(next));
                    go("V", y(above, next));
                }
            }
            go("H", x(at + length));
            for next in (at..at + length).rev() {
                let goes_on = next > at && below[kept[next - 1]] == below[kept[next]];
                if !goes_on {
                    go("V", y(below, next));
                    go("H", x(next));
                }
            }
            // Closes the area with a vertical line.
            go("V", y(above, at));
        }
        at += length + 1;
    }
}

/// Returns the positions of the points to draw. From the points in the same half pixel, keeps the largest total and the last
/// point.
fn fewer(points: &[Point], scale: &Scale) -> Vec<usize> {
    if points.len() <= MOST_POINTS {
        return (0..points.len()).collect();
    }
    let mut fewer: Vec<usize> = Vec::new();
    let mut place = None;
    for (position, point) in points.iter().enumerate() {
        let here = (scale.x(point.time) * 2.0) as i64;
        if place != Some(here) {
            place = Some(here);
            fewer.extend([position, position]);
            continue;
        }
        let end = fewer.len();
        if let [largest, last] = &mut fewer[end - 2..] {
            if point.total > points[*largest].total {
                *largest = position;
            }
            *last = position;
        }
    }
    fewer
}

/// Draws a mark with its label, on the side with more room. Each label is below the previous one.
fn draw_mark(mark: &Mark, scale: &Scale, labels: &mut f64, svg: &mut Markup) {
    let (x, y) = (scale.x(mark.point.time), scale.y(mark.point.total as f64));
    svg.tag("<circle class=\"mark\" r=\"4\" cx=\"");
    svg.decimal(x);
    svg.tag("\" cy=\"");
    svg.decimal(y);
    let is_right = x > WIDTH / 2.0;
    svg.tag(match is_right {
        true => "\"/><text class=\"mark end\" x=\"",
        false => "\"/><text class=\"mark\" x=\"",
    });
    svg.decimal(if is_right { x - 8.0 } else { x + 8.0 });
    svg.tag("\" y=\"");
    svg.decimal((y - 8.0).max(TOP - 6.0) + *labels);
    svg.tag("\">");
    svg.text(&format!(
        "{}: {}",
        mark.label,
        number::bytes(mark.point.total)
    ));
    svg.tag("</text>\n");
    *labels += 24.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Overlay};

    fn point(time: f64, total: u64) -> Point {
        Point { time, total }
    }

    fn graph(points: &[(f64, u64)]) -> Graph {
        Graph {
            title: "massif: a <b> & c \u{1}".to_owned(),
            points: points
                .iter()
                .map(|(time, total)| point(*time, *total))
                .collect(),
            time_unit: "\u{1b}ms".to_owned(),
            columns: 80,
            ..Graph::default()
        }
    }

    /// Returns the contents of all `<text>` elements.
    fn texts(svg: &str) -> Vec<&str> {
        let texts = svg
            .split("</text>")
            .filter_map(|text| text.rsplit('>').next());
        texts.filter(|text| !text.trim().is_empty()).collect()
    }

    #[test]
    fn the_numbers_of_axes_are_round() {
        for (highest, expected) in [
            (
                200_000,
                &["0", "64 KiB", "128 KiB", "192 KiB", "256 KiB"][..],
            ),
            (5, &["0", "1 B", "2 B", "3 B", "4 B", "5 B"]),
            (3 << 29, &["0", "512 MiB", "1 GiB", "1.5 GiB"]),
            (u64::MAX, &["0", "4 EiB", "8 EiB", "12 EiB", "16 EiB"]),
            (0, &["0", "1 B"]),
        ] {
            let picture = svg(&graph(&[(0.0, highest), (10.0, 0)]));
            let texts = texts(&picture);
            assert_eq!(&texts[1..=expected.len()], expected, "{highest}");
        }
    }

    #[test]
    fn times_are_round_too() {
        for (span, expected) in [
            ((0.0, 10.0), &["0", "2", "4", "6", "8", "10"][..]),
            (
                (0.0, 3_600_000.0),
                &["0", "1,000,000", "2,000,000", "3,000,000"],
            ),
            (
                (0.0, 0.3),
                &["0.00", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"],
            ),
            ((-1.0, 1.0), &["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ] {
            let (ticks, decimals) = time_ticks(span);
            let texts: Vec<String> = ticks
                .iter()
                .map(|time| time_text(*time, decimals))
                .collect();
            assert_eq!(texts, expected, "{span:?}");
        }
    }

    #[test]
    fn words_are_text_elements() {
        let mut graph = graph(&[(0.0, 1), (4_000.0, 1)]);
        graph.marks.push(Mark {
            point: point(0.0, 1),
            label: "<peak>".to_owned(),
        });
        let picture = svg(&graph);
        for part in [
            "massif: a &lt;b> &amp; c \\u{1}",
            "time (\\u{1b}ms)",
            ">4,000<",
            "&lt;peak>: 1 B",
            "</svg>\n",
        ] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
    }

    #[test]
    fn layers_are_stacked_steps_and_never_exceed_the_total() {
        let mut graph = graph(&[(0.0, 64), (5.0, 128), (7.5, 48), (10.0, 48)]);
        let layer = |name: &str, held: [u64; 4], is_function| Layer {
            name: name.to_owned(),
            is_function,
            held: held.to_vec(),
        };
        graph.layers = vec![
            layer("a<\"b\">", [0, 64, 64, 64], true),
            layer("the rest", [0, 32, 32, 32], false),
        ];
        let picture = svg(&graph);
        // The axis ends at 128, and its middle is the middle between 44 and 368. At 7.5 there are 48 of 96 bytes: at least
        // 16 of `a`, and perhaps none of the rest.
        for part in [
            "l1\" data-fn=\"a&lt;&quot;b&quot;>\" d=\"M510 206H723V327.5H936V368H510V206\"",
            "l2\" d=\"M510 125H723V206H510V125\"><title>the rest<",
            "unknown\" d=\"M84 206H510V44H723V246.5H936V327.5H723V125H510V368H84V206\"",
            ">the rest, at most 32 B<",
        ] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
    }

    #[test]
    fn a_total_without_known_layers_is_marked() {
        let picture = svg(&graph(&[(0.0, 64), (10.0, 0)]));
        assert!(
            picture.contains("unknown\" d=\"M84 44H936V368H84V44\""),
            "{picture}"
        );
        assert!(picture.contains(">contents unknown<"), "{picture}");
    }

    #[test]
    fn an_earlier_run_shares_the_axes() {
        let mut graph = graph(&[(0.0, 0), (10.0, 100)]);
        graph.overlay = Some(Overlay {
            name: "old".to_owned(),
            name_of_graph: "new".to_owned(),
            points: vec![point(0.0, 0), point(20.0, 512)],
        });
        let picture = svg(&graph);
        assert!(picture.contains(">512 B<"), "{picture}");
        assert!(
            picture.contains("class=\"before\" d=\"M84 368H936V44\""),
            "{picture}"
        );
        assert!(
            picture.contains("class=\"total\" d=\"M84 368H510V304.72\""),
            "{picture}"
        );
    }

    #[test]
    fn graphs_with_unordered_points_or_none_are_drawn() {
        let scattered = [-1.0, 9.2e18, -9.2e18, 5.0].map(|time| (time, u64::MAX));
        for points in [&scattered[..], &[(0.0, 0)], &[]] {
            let picture = svg(&graph(points));
            assert!(picture.contains("</svg>\n"));
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{picture}"
            );
        }
    }

    #[test]
    fn a_million_points_make_a_small_picture_that_keeps_the_peak() {
        let mut points: Vec<(f64, u64)> = (0..1_000_000).map(|time| (f64::from(time), 1)).collect();
        points[777_777].1 = 1024;
        let picture = svg(&graph(&points));
        assert!(picture.len() < 100_000, "{}", picture.len());
        // The peak is at the top of the axis.
        assert!(picture.contains("V44"), "{picture}");
    }
}
