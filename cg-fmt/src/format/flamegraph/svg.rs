//! The picture as SVG: sections of frames one below the other, as wide as the window, with a script that zooms and searches.
//!
//! A frame has its position in the unit of costs as well as in percent, so that the script zooms exactly. Its label is the
//! longest form of its name that fits. The picture contains the forms of each name once ([`DrawnNames`]), and the script
//! selects again whenever a width changes.

use std::io::{self, Write};

use cg_document::short_name;
use cg_stream::record::Count;
use cg_viewer::LABEL_SCRIPT;

use super::buffer::{PercentDecimals, PictureBuffer};
use super::layout::FrameLayout;
use super::names::DrawnNames;
use crate::format::color::{self, Color};
use crate::format::stacks::StackNodeId;

/// The width of the picture in pixels without the script. The script changes it to the width of the window.
const WIDTH: f64 = 1200.0;
const FRAME_HEIGHT: usize = 16;
const LINE_HEIGHT: usize = 20;
const MARGIN: usize = 10;
/// The width of a character in pixels, equal to the width in the script.
const CHARACTER_WIDTH: f64 = 7.2;
/// About the size of a drawn frame in bytes.
const FRAME_BYTES: usize = 320;

/// The script that zooms and searches.
const SCRIPT: &str = include_str!("script.js");

/// The contents of a picture: sections below a title and lines of text.
pub(super) struct PictureContents<'d> {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    pub(super) event: &'d str,
    /// The names of the drawn frames.
    pub(super) names: &'d DrawnNames<'d>,
    pub(super) sections: Vec<Section<'d>>,
}

/// A part of the picture with its own layout.
pub(super) struct Section<'d> {
    pub(super) id: &'static str,
    pub(super) heading: Option<String>,
    pub(super) layout: &'d FrameLayout,
    /// True if the total has a frame at the bottom, and the other frames have their share of the total. False if the heading
    /// has the total.
    pub(super) has_total: bool,
}

/// The look of a frame.
pub(super) struct FrameLook {
    /// The number of its name in the list of names.
    pub(super) number: usize,
    /// The text after the name, if there is room.
    pub(super) change: String,
    pub(super) color: Color,
}

impl PictureContents<'_> {
    /// Writes the picture. `look` returns the look of a frame in the section at a position.
    pub(super) fn write(
        &self,
        look: impl Fn(usize, StackNodeId) -> FrameLook,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let layouts = self.sections.iter().map(|section| section.layout);
        let frames: usize = layouts.map(|layout| layout.frames.len()).sum();
        let mut drawn = PictureBuffer::with_capacity((frames + 16) * FRAME_BYTES);
        let height = self.draw(&look, &mut drawn);
        let style = include_str!("style.css");
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flames\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n<style>{style}</style>\n<metadata id=\"names\">"
        )?;
        out.write_all(self.names.lines())?;
        writeln!(
            out,
            "</metadata>\n<rect class=\"paper\" width=\"100%\" height=\"{height}\"/>"
        )?;
        out.write_all(drawn.as_bytes())?;
        writeln!(
            out,
            "\n<script><![CDATA[\n{LABEL_SCRIPT}{SCRIPT}]]></script>\n</svg>"
        )
    }

    /// Draws everything below the background. Returns the height of the picture.
    fn draw(
        &self,
        look: &impl Fn(usize, StackNodeId) -> FrameLook,
        drawn: &mut PictureBuffer,
    ) -> usize {
        let mut y = MARGIN + LINE_HEIGHT;
        push_line(" class=\"title\"", y, &self.title, drawn);
        for line in &self.lines {
            y += LINE_HEIGHT;
            push_line("", y, line, drawn);
        }
        y += LINE_HEIGHT;
        drawn.push(&format!(
            r#"<text id="reset" class="button" x="{MARGIN}" y="{y}">Reset zoom</text><text id="search" class="button end" x="100%" dx="-{MARGIN}" y="{y}">Search</text>"#
        ));
        y += MARGIN;
        for (position, section) in self.sections.iter().enumerate() {
            if let Some(heading) = &section.heading {
                y += LINE_HEIGHT;
                push_line("", y, heading, drawn);
                y += MARGIN;
            }
            drawn.push(&format!(r#"<g id="{}" class="section">"#, section.id));
            y += section.draw(self, y, drawn, |node| look(position, node));
            drawn.push("</g>");
        }
        y += LINE_HEIGHT;
        push_line(" id=\"details\"", y, " ", drawn);
        y + MARGIN
    }
}

/// Appends a line of text. `attributes` begins with a blank, or is empty.
fn push_line(attributes: &str, y: usize, text: &str, drawn: &mut PictureBuffer) {
    drawn.push(&format!(r#"<text{attributes} x="{MARGIN}" y="{y}">"#));
    drawn.push_escaped(text);
    drawn.push("</text>");
}

impl Section<'_> {
    /// Draws the frames, beginning at `top`. Returns their height.
    fn draw(
        &self,
        contents: &PictureContents<'_>,
        top: usize,
        drawn: &mut PictureBuffer,
        look: impl Fn(StackNodeId) -> FrameLook,
    ) -> usize {
        let layout = self.layout;
        let lowest = usize::from(self.has_total);
        let deepest = layout.frames.iter().map(|frame| frame.depth + 1).max();
        let rows = deepest.unwrap_or(usize::from(layout.rest > 0)) + lowest;
        let y = |row: usize| top + (rows - 1 - row) * FRAME_HEIGHT;
        let mut event = PictureBuffer::default();
        event.push(" ");
        event.push_escaped(contents.event);
        let mut figure = PictureBuffer::default();
        if self.has_total {
            figure.push_grouped(layout.total);
            figure.push_bytes(event.as_bytes());
            figure.push(", 100%");
            let total = FrameBox::unlisted("all", figure.as_bytes());
            total.draw(y(0), [0, layout.total, layout.total], drawn);
        }
        for frame in &layout.frames {
            let cost = layout.cost(frame.node);
            figure.clear();
            figure.push_grouped(cost);
            figure.push_bytes(event.as_bytes());
            if self.has_total {
                figure.push(", ");
                figure.push_percent(cost, layout.total, PercentDecimals::Two);
            }
            let look = look(frame.node);
            let name = contents.names.get(look.number);
            let frame_box = FrameBox {
                name: name.text,
                length: name.length,
                escaped: contents.names.escaped(name),
                number: Some(look.number),
                change: &look.change,
                figure: figure.as_bytes(),
                color: look.color,
            };
            let place = [frame.start, cost, layout.total];
            frame_box.draw(y(frame.depth + lowest), place, drawn);
        }
        if layout.rest > 0 {
            figure.clear();
            figure.push_grouped(layout.rest);
            let rest = FrameBox::unlisted("[too narrow to draw]", figure.as_bytes());
            let place = [layout.total - layout.rest, layout.rest, layout.total];
            rest.draw(y(lowest), place, drawn);
        }
        rows * FRAME_HEIGHT
    }
}

/// A frame with its texts.
struct FrameBox<'d> {
    name: &'d str,
    /// The number of characters of the name.
    length: usize,
    /// The name, escaped for XML.
    escaped: &'d [u8],
    /// The number of the name in the list of names, if it is listed.
    number: Option<usize>,
    /// The text after the name, if there is room.
    change: &'d str,
    /// The cost, escaped for XML.
    figure: &'d [u8],
    color: Color,
}

impl<'d> FrameBox<'d> {
    /// Returns a white frame that is not a function. Its name is ASCII without special characters.
    fn unlisted(name: &'d str, figure: &'d [u8]) -> FrameBox<'d> {
        FrameBox {
            name,
            length: name.len(),
            escaped: name.as_bytes(),
            number: None,
            change: "",
            figure,
            color: color::delta_color(0, 0),
        }
    }

    /// Draws the frame at the position `start` with the width `cost`, both in the unit of costs.
    fn draw(&self, y: usize, [start, cost, total]: [Count; 3], drawn: &mut PictureBuffer) {
        drawn.push("<g");
        if let Some(number) = self.number {
            drawn.push(" data-n=\"");
            drawn.push_integer(number);
            drawn.push("\"");
        }
        drawn.push("><title>");
        self.push_name(drawn);
        drawn.push(" (");
        drawn.push_bytes(self.figure);
        drawn.push(")</title><rect data-x=\"");
        drawn.push_count(start);
        drawn.push("\" data-w=\"");
        drawn.push_count(cost);
        drawn.push("\" x=\"");
        let left = drawn.len();
        drawn.push_percent(start, total, PercentDecimals::Four);
        let left_end = drawn.len();
        drawn.push("\" y=\"");
        drawn.push_integer(y);
        drawn.push("\" width=\"");
        drawn.push_percent(cost, total, PercentDecimals::Four);
        drawn.push("\" height=\"");
        drawn.push_integer(FRAME_HEIGHT - 1);
        drawn.push("\" fill=\"rgb(");
        drawn.push_integer(self.color.r.into());
        drawn.push(",");
        drawn.push_integer(self.color.g.into());
        drawn.push(",");
        drawn.push_integer(self.color.b.into());
        drawn.push(")\"/><text x=\"");
        drawn.repeat(left, left_end);
        drawn.push("\" dx=\"3\" y=\"");
        drawn.push_integer(y + FRAME_HEIGHT - 4);
        drawn.push("\">");
        self.push_label(cost as f64 * 100.0 / total as f64, drawn);
        drawn.push("</text></g>");
    }

    /// Appends the label that fits in a width. The width is in percent of the picture.
    fn push_label(&self, width: f64, drawn: &mut PictureBuffer) {
        let room = (width / 100.0 * WIDTH - 6.0) / CHARACTER_WIDTH;
        match room as usize {
            0..3 => {}
            room if self.length + self.change.chars().count() <= room => self.push_name(drawn),
            room => drawn.push_escaped(&short_name(self.name, room)),
        }
    }

    /// Appends the name and the text after it.
    fn push_name(&self, drawn: &mut PictureBuffer) {
        drawn.push_bytes(self.escaped);
        drawn.push_escaped(self.change);
    }
}
