//! The picture as SVG: sections of frames one below the other, as wide as the window, with a script that zooms and searches.
//!
//! A frame has its position in the unit of costs as well as in percent, so that the script zooms exactly. Its label is the
//! longest form of its name that fits ([`forms`]). The picture contains the forms of each name once, and the script selects
//! again whenever a width changes.

use std::fmt::Write;

use cg_document::number::grouped;
use cg_document::short_name;
use cg_names::structure::shorten::forms;
use cg_stream::record::Count;
use cg_stream::visible::visible;
use cg_viewer::LABEL_SCRIPT;

use super::layout::FrameLayout;
use crate::format::color::{self, Color};
use crate::format::stacks::StackNodeId;

/// The width of the picture in pixels without the script. The script changes it to the width of the window.
const WIDTH: f64 = 1200.0;
const FRAME_HEIGHT: usize = 16;
const LINE_HEIGHT: usize = 20;
const MARGIN: usize = 10;
/// The width of a character in pixels, equal to the width in the script.
const CHARACTER_WIDTH: f64 = 7.2;

/// The script that zooms and searches.
const SCRIPT: &str = include_str!("script.js");

/// A part of the picture with its own layout.
pub(super) struct Section<'d> {
    pub(super) id: &'static str,
    pub(super) heading: Option<String>,
    pub(super) layout: &'d FrameLayout,
    /// The frame of the total, at the bottom; `None` if the heading has the total.
    pub(super) root: Option<FrameLook<'d>>,
}

/// The texts and the colour of a frame.
pub(super) struct FrameLook<'d> {
    pub(super) name: &'d str,
    /// The number of the name in the list of names, if it is listed.
    pub(super) number: Option<usize>,
    /// The text after the name, if there is room.
    pub(super) change: String,
    pub(super) figure: String,
    pub(super) color: Color,
}

/// Draws sections below a title and lines of text. `look` returns the look of a frame in the section at a position. `names`
/// are the names that frames refer to by number.
pub(super) fn draw<'d>(
    title: &str,
    lines: &[String],
    sections: &[Section<'d>],
    names: impl Iterator<Item = &'d str>,
    look: impl Fn(usize, StackNodeId) -> FrameLook<'d>,
) -> String {
    let mut drawn = String::new();
    // Writing to a String cannot fail.
    let mut y = MARGIN + LINE_HEIGHT;
    let _ = write!(
        drawn,
        r#"<text class="title" x="{MARGIN}" y="{y}">{}</text>"#,
        escaped(title)
    );
    for line in lines {
        y += LINE_HEIGHT;
        let _ = write!(
            drawn,
            r#"<text x="{MARGIN}" y="{y}">{}</text>"#,
            escaped(line)
        );
    }
    y += LINE_HEIGHT;
    let _ = write!(
        drawn,
        r#"<text id="reset" class="button" x="{MARGIN}" y="{y}">Reset zoom</text><text id="search" class="button end" x="100%" dx="-{MARGIN}" y="{y}">Search</text>"#
    );
    y += MARGIN;
    for (position, section) in sections.iter().enumerate() {
        if let Some(heading) = &section.heading {
            y += LINE_HEIGHT;
            let heading = escaped(heading);
            let _ = write!(drawn, r#"<text x="{MARGIN}" y="{y}">{heading}</text>"#);
            y += MARGIN;
        }
        let _ = write!(drawn, r#"<g id="{}" class="section">"#, section.id);
        y += section.draw(y, &mut drawn, |node| look(position, node));
        drawn.push_str("</g>");
    }
    y += LINE_HEIGHT;
    let _ = write!(drawn, r#"<text id="details" x="{MARGIN}" y="{y}"> </text>"#);
    let height = y + MARGIN;
    let style = include_str!("style.css");
    let names = names.map(|name| {
        let forms = forms(name);
        let forms: Vec<String> = forms.iter().map(|form| escaped(&form.text)).collect();
        forms.join("\t")
    });
    let names: Vec<String> = names.collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flames\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n<style>{style}</style>\n<metadata id=\"names\">{}</metadata>\n<rect class=\"paper\" width=\"100%\" height=\"{height}\"/>\n{drawn}\n<script><![CDATA[\n{LABEL_SCRIPT}{SCRIPT}]]></script>\n</svg>\n",
        names.join("\n")
    )
}

impl<'d> Section<'d> {
    /// Draws the frames, beginning at `top`. Returns their height.
    fn draw(
        &self,
        top: usize,
        drawn: &mut String,
        look: impl Fn(StackNodeId) -> FrameLook<'d>,
    ) -> usize {
        let layout = self.layout;
        let lowest = usize::from(self.root.is_some());
        let deepest = layout.frames.iter().map(|frame| frame.depth + 1).max();
        let rows = deepest.unwrap_or(usize::from(layout.rest > 0)) + lowest;
        let mut put = |look: &FrameLook<'_>, row: usize, start: Count, cost: Count| {
            let y = top + (rows - 1 - row) * FRAME_HEIGHT;
            look.draw(y, [start, cost, layout.total], drawn);
        };
        if let Some(root) = &self.root {
            put(root, 0, 0, layout.total);
        }
        for frame in &layout.frames {
            let cost = layout.cost(frame.node);
            let row = frame.depth + lowest;
            put(&look(frame.node), row, frame.start, cost);
        }
        if layout.rest > 0 {
            let rest = FrameLook {
                name: "[too narrow to draw]",
                number: None,
                change: String::new(),
                figure: grouped(layout.rest),
                color: color::delta_color(0, 0),
            };
            put(&rest, lowest, layout.total - layout.rest, layout.rest);
        }
        rows * FRAME_HEIGHT
    }
}

impl FrameLook<'_> {
    /// Draws a frame at the position `start` with the width `cost`, both in the unit of costs.
    fn draw(&self, y: usize, [start, cost, total]: [Count; 3], drawn: &mut String) {
        let percent = |cost: Count| cost as f64 * 100.0 / total as f64;
        let room = (percent(cost) / 100.0 * WIDTH - 6.0) / CHARACTER_WIDTH;
        let whole = format!("{}{}", self.name, self.change);
        let label = match room as usize {
            0..3 => String::new(),
            room if whole.chars().count() <= room => whole.clone(),
            room => short_name(self.name, room),
        };
        drawn.push_str("<g");
        if let Some(number) = self.number {
            let _ = write!(drawn, r#" data-n="{number}""#);
        }
        let _ = write!(
            drawn,
            r#"><title>{} ({})</title><rect data-x="{start}" data-w="{cost}" x="{:.4}%" y="{y}" width="{:.4}%" height="{}" fill="{}"/><text x="{:.4}%" dx="3" y="{}">{}</text></g>"#,
            escaped(&whole),
            escaped(&self.figure),
            percent(start),
            percent(cost),
            FRAME_HEIGHT - 1,
            self.color,
            percent(start),
            y + FRAME_HEIGHT - 4,
            escaped(&label),
        );
    }
}

/// Escapes a text for XML, and replaces the two characters that XML cannot hold.
fn escaped(text: &str) -> String {
    let text = visible(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
