//! Memory over time as an SVG picture.

use anyhow::anyhow;
use cg_stream::record::Count;
use plotters::prelude::*;

use super::graph::{Graph, bytes};
use cg_document::number;
use cg_document::visible;

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 480);

impl Graph<'_> {
    /// The graph as an SVG document under this title.
    ///
    /// # Errors
    /// None that a graph can cause; the drawing library's signatures have some.
    pub(crate) fn svg(&self, title: &str) -> anyhow::Result<String> {
        let mut picture = String::new();
        self.draw_on(
            &SVGBackend::with_string(&mut picture, SIZE).into_drawing_area(),
            title,
        )
        .map_err(|error| anyhow!("cannot draw the graph: {error}"))?;
        picture.push('\n');
        Ok(picture)
    }

    fn draw_on(
        &self,
        area: &DrawingArea<SVGBackend, plotters::coord::Shift>,
        title: &str,
    ) -> Result<(), Box<dyn std::error::Error + '_>> {
        let (start, end) = self.span();
        // An axis needs a length, whatever it shows.
        let end = if end > start {
            end
        } else {
            start + start.abs().max(1.0)
        };
        let highest = self.highest().max(1) as f64;
        area.fill(&WHITE).map_err(to_text)?;
        let mut chart = ChartBuilder::on(area)
            .caption(visible(title), ("sans-serif", 18))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(90)
            .build_cartesian_2d(start..end, 0.0..highest * 1.05)
            .map_err(to_text)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(format!("time ({})", visible(self.time_unit)))
            .x_label_formatter(&|time| time_label(*time))
            .y_label_formatter(&|total| bytes(*total as u64))
            .draw()
            .map_err(to_text)?;
        let steps = self.steps();
        chart
            .draw_series(
                AreaSeries::new(steps.iter().copied(), 0.0, BLUE.mix(0.25)).border_style(BLUE),
            )
            .map_err(to_text)?;
        if let Some((time, total)) = self.peak() {
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

    /// The corners of the step function: a total holds until the next snapshot.
    fn steps(&self) -> Vec<(f64, f64)> {
        let mut corners = Vec::with_capacity(self.points.len() * 2);
        let mut held = None;
        for point in self.points {
            corners.extend(held.map(|total| (point.time, total)));
            corners.push((point.time, point.total as f64));
            held = Some(point.total as f64);
        }
        corners
    }
}

/// A time on the axis: only heaptrack's have fractions.
fn time_label(time: f64) -> String {
    if time.fract() == 0.0 {
        number::grouped(time as Count)
    } else {
        time.to_string()
    }
}

/// The library's errors borrow from what is drawn on.
fn to_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

const TRANSPARENT: RGBAColor = RGBAColor(255, 255, 255, 0.0);

#[cfg(test)]
mod tests {
    use super::super::growth::Point;
    use super::*;

    #[test]
    fn a_picture_has_the_peak_and_the_unit() {
        let points = [
            Point {
                time: 0.0,
                total: 0,
            },
            Point {
                time: 5.0,
                total: 3 << 20,
            },
            Point {
                time: 9.0,
                total: 1024,
            },
        ];
        let graph = Graph {
            points: &points,
            peak_time: Some(5.0),
            time_unit: "ms",
        };
        let picture = graph.svg("massif: a <b> & c").unwrap();
        for part in [
            "<svg ",
            "peak: 3.00 MiB",
            "time (ms)",
            "a &lt;b&gt; &amp; c",
            "</svg>\n",
        ] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
        assert_eq!(picture, graph.svg("massif: a <b> & c").unwrap());
    }

    #[test]
    fn a_command_with_line_breaks_leaves_the_picture_well_formed() {
        let points = [0.0, 4_000.0].map(|time| Point { time, total: 1 });
        let graph = Graph {
            points: &points,
            peak_time: None,
            time_unit: "i",
        };
        let picture = graph.svg("massif: sh -c \u{1}\nls").unwrap();
        assert!(picture.contains("massif: sh -c \\u{1}\\nls"), "{picture}");
        assert!(picture.contains("\n4,000\n"), "{picture}");
    }

    #[test]
    fn snapshots_in_any_order_are_drawn() {
        let points = [-1.0, 9.2e18, -9.2e18, 5.0].map(|time| Point {
            time,
            total: u64::MAX,
        });
        let graph = Graph {
            points: &points,
            peak_time: Some(5.0),
            time_unit: "ms",
        };
        assert!(graph.svg("massif").unwrap().contains("</svg>"));
        assert!(graph.draw(40).concat().contains('█'));
    }

    #[test]
    fn nothing_is_drawn_all_the_same() {
        for points in [
            &[][..],
            &[Point {
                time: 0.0,
                total: 0,
            }],
        ] {
            let graph = Graph {
                points,
                peak_time: None,
                time_unit: "i",
            };
            assert!(graph.svg("massif").unwrap().contains("<svg "));
        }
    }
}
