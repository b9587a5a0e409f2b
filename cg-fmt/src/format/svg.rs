//! The graph of a document as an SVG picture.

use std::io::{self, Write};

use cg_document::number::{self, bytes};
use cg_document::{Document, Graph, visible};
use cg_stream::record::Count;
use plotters::prelude::*;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 480);

/// Draws the first graph of a document.
///
/// # Errors
/// Those of the writer; the drawing library's signatures have others, which no graph can cause.
pub(crate) fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let Some(graph) = document.first_graph() else {
        return Ok(());
    };
    let mut picture = String::new();
    draw(graph, &mut picture)
        .map_err(|error| io::Error::other(format!("cannot draw the graph: {error}")))?;
    writeln!(out, "{picture}")
}

/// The library's errors borrow from what is drawn on, so they are text here.
fn draw(graph: &Graph, picture: &mut String) -> Result<(), String> {
    let area = SVGBackend::with_string(picture, SIZE).into_drawing_area();
    let (start, end) = graph.span();
    // An axis needs a length, whatever it shows.
    let end = if end > start {
        end
    } else {
        start + start.abs().max(1.0)
    };
    let highest = graph.highest().max(1) as f64;
    area.fill(&WHITE).map_err(to_text)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(visible(&graph.title), ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(90)
        .build_cartesian_2d(start..end, 0.0..highest * 1.05)
        .map_err(to_text)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(format!("time ({})", visible(&graph.time_unit)))
        .x_label_formatter(&|time| time_label(*time))
        .y_label_formatter(&|total| bytes(*total as u64))
        .draw()
        .map_err(to_text)?;
    let steps = steps(graph);
    chart
        .draw_series(AreaSeries::new(steps.iter().copied(), 0.0, BLUE.mix(0.25)).border_style(BLUE))
        .map_err(to_text)?;
    if let Some((time, total)) = graph.peak() {
        let label = format!("peak: {}", bytes(total));
        let total = total as f64;
        let at_right = time > start + (end - start) / 2.0;
        let offset = if at_right { (-110, -8) } else { (8, -8) };
        let mark = EmptyElement::at((time, total))
            + Circle::new((0, 0), 4, RED.filled())
            + Text::new(label, offset, ("sans-serif", 14));
        chart.draw_series([mark]).map_err(to_text)?;
    }
    area.present().map_err(to_text)?;
    Ok(())
}

/// The corners of the step function: a total holds until the next point.
fn steps(graph: &Graph) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(graph.points.len() * 2);
    let mut held = None;
    for point in &graph.points {
        corners.extend(held.map(|total| (point.time, total)));
        corners.push((point.time, point.total as f64));
        held = Some(point.total as f64);
    }
    corners
}

/// A time on the axis: only heaptrack's have fractions.
fn time_label(time: f64) -> String {
    if time.fract() == 0.0 {
        number::grouped(time as Count)
    } else {
        time.to_string()
    }
}

fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const TRANSPARENT: RGBAColor = RGBAColor(255, 255, 255, 0.0);

#[cfg(test)]
mod tests {
    use super::*;
    use cg_document::{Block, Point};

    fn svg(points: &[(f64, u64)], title: &str, time_unit: &str) -> String {
        let graph = Graph {
            title: title.to_owned(),
            points: points
                .iter()
                .map(|(time, total)| Point {
                    time: *time,
                    total: *total,
                })
                .collect(),
            peak_time: Some(5.0),
            time_unit: time_unit.to_owned(),
            columns: 80,
        };
        let document = Document {
            blocks: vec![Block::Graph(graph)],
        };
        let mut out = Vec::new();
        write(&document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_picture_has_the_peak_and_the_unit() {
        let points = [(0.0, 0), (5.0, 3 << 20), (9.0, 1024)];
        let picture = svg(&points, "massif: a <b> & c", "ms");
        for part in [
            "<svg ",
            "peak: 3.00 MiB",
            "time (ms)",
            "a &lt;b&gt; &amp; c",
            "</svg>\n",
        ] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
        assert_eq!(picture, svg(&points, "massif: a <b> & c", "ms"));
    }

    #[test]
    fn a_command_with_line_breaks_leaves_the_picture_well_formed() {
        let points = [(0.0, 1), (4_000.0, 1)];
        let picture = svg(&points, "massif: sh -c \u{1}\nls", "\u{1b}");
        assert!(picture.contains("massif: sh -c \\u{1}\\nls"), "{picture}");
        assert!(picture.contains("time (\\u{1b})"), "{picture}");
        assert!(picture.contains("\n4,000\n"), "{picture}");
    }

    #[test]
    fn points_in_any_order_and_none_at_all_are_drawn() {
        let scattered = [-1.0, 9.2e18, -9.2e18, 5.0].map(|time| (time, u64::MAX));
        for points in [&scattered[..], &[(0.0, 0)], &[]] {
            assert!(svg(points, "massif", "ms").contains("</svg>\n"));
        }
    }
}
