//! Draws the picture. inferno draws the stacks; a section below them is drawn here, and inferno's script ignores it.

use std::fmt::Write;

use anyhow::Context;
use cg_stream::visible::visible;
use inferno::flamegraph::color::BackgroundColor;
use inferno::flamegraph::{self, Options};

use super::layout::FrameLayout;
use crate::format::color::{self, Color, Palette};
use crate::format::stacks::StackNodeId;

/// The width of a picture that has a section, in pixels; others are as wide as their window.
const WIDTH: usize = 1200;
/// The same as inferno's.
const FRAME_HEIGHT: usize = 16;
const MARGIN: usize = 10;
const BACKGROUND: Color = Color::new(248, 248, 248);
const CHARACTER_WIDTH: f64 = 12.0 * 0.59;

/// Draws folded stacks, given in the order in which they are drawn.
pub(super) fn draw(
    title: &str,
    subtitle: &str,
    event: &str,
    lines: &[String],
    palette: Palette,
    has_section: bool,
) -> anyhow::Result<String> {
    let mut palette = palette.0;
    palette.insert("", color::of_delta(0, 0));
    palette.insert("[too narrow to draw]", color::of_delta(0, 0));
    let mut options = Options::default();
    options.title = drawable(title);
    options.subtitle = Some(drawable(subtitle));
    options.count_name = drawable(event);
    options.palette_map = Some(&mut palette);
    options.bgcolors = Some(BackgroundColor::Flat(BACKGROUND));
    options.image_width = has_section.then_some(WIDTH);
    // The layout has left out what is too narrow, and counted it.
    options.min_width = 0.0;
    // Lines are in drawing order, which is not byte order (`a b` comes between `a` and `a;b`). With `flame_chart`
    // inferno keeps the order of the lines, from the last to the first.
    options.flame_chart = true;
    let mut picture = Vec::new();
    let lines = lines.iter().rev().map(String::as_str);
    flamegraph::from_lines(&mut options, lines, &mut picture).context("cannot draw the stacks")?;
    String::from_utf8(picture).context("cannot draw the stacks")
}

/// A picture without stacks, for a section to stand below.
pub(super) fn empty(title: &str, subtitle: &str) -> String {
    let (title, subtitle) = (escaped(title), escaped(subtitle));
    let middle = WIDTH / 2;
    format!(
        r#"<?xml version="1.0" standalone="no"?><svg version="1.1" width="{WIDTH}" height="72" viewBox="0 0 {WIDTH} 72" xmlns="http://www.w3.org/2000/svg"><style type="text/css">text {{ font-family:monospace; font-size:12px }}</style><rect x="0" y="0" width="100%" height="72" fill="rgb(248,248,248)"/><text text-anchor="middle" x="{middle}" y="24">{title}</text><text text-anchor="middle" x="{middle}" y="48">{subtitle}</text></svg>"#
    )
}

/// A frame of a section.
pub(super) struct SectionFrame<'t> {
    pub(super) text: &'t str,
    pub(super) count: String,
    /// The later run lacks the frame; frames below it may still exist.
    pub(super) is_gone: bool,
}

/// A picture with a section below it. The picture's script ignores the section, so each of its frames has a `<title>`,
/// which browsers show as a tooltip.
pub(super) fn with_section<'t>(
    picture: &str,
    heading: &str,
    layout: &FrameLayout,
    frame_of: impl Fn(StackNodeId) -> SectionFrame<'t>,
) -> anyhow::Result<String> {
    const HEADING: usize = 32;
    let height = attribute(picture, "height").context("cannot read the height of the picture")?;
    let deepest = layout.frames.iter().map(|frame| frame.depth).max();
    let rows = deepest.map_or(0, |depth| depth + 1);
    let section = HEADING + rows * FRAME_HEIGHT + MARGIN;
    let inner = (WIDTH - 2 * MARGIN) as f64;
    let x = |cost: i128| MARGIN as f64 + inner * cost as f64 / layout.total as f64;

    let mut drawn = String::new();
    // A String takes everything, so there are no errors of writing.
    let _ = write!(
        drawn,
        r#"<g id="gone" transform="translate(0,{height})"><rect x="0" y="0" width="{WIDTH}" height="{section}" fill="rgb(248,248,248)"/><text x="{MARGIN}" y="20">{}</text>"#,
        escaped(heading)
    );
    for frame in &layout.frames {
        let SectionFrame {
            text,
            count,
            is_gone,
        } = frame_of(frame.node);
        let cost = layout.cost(frame.node);
        let (left, right) = (x(frame.start), x(frame.start + cost));
        let top = HEADING + (rows - 1 - frame.depth) * FRAME_HEIGHT;
        let fill = if is_gone {
            "rgb(150,150,255)"
        } else {
            "rgb(225,225,225)"
        };
        let fitting = ((right - left) / CHARACTER_WIDTH) as usize;
        let label = match fitting {
            0..3 => String::new(),
            _ if text.chars().count() <= fitting => text.to_owned(),
            _ => format!("{}..", text.chars().take(fitting - 2).collect::<String>()),
        };
        let _ = write!(
            drawn,
            r#"<g><title>{} ({count})</title><rect x="{left:.2}" y="{top}" width="{:.2}" height="{}" fill="{fill}"/><text x="{:.2}" y="{}">{}</text></g>"#,
            escaped(text),
            right - left,
            FRAME_HEIGHT - 1,
            left + 3.0,
            top + FRAME_HEIGHT - 5,
            escaped(&label),
        );
    }
    drawn.push_str("</g>");

    let whole = height + section;
    let picture = picture
        .replacen(
            &format!(r#"height="{height}""#),
            &format!(r#"height="{whole}""#),
            1,
        )
        .replacen(
            &format!(r#" {WIDTH} {height}""#),
            &format!(r#" {WIDTH} {whole}""#),
            1,
        );
    let end = picture
        .rfind("</svg>")
        .context("cannot find the end of the picture")?;
    Ok(format!("{}{drawn}{}", &picture[..end], &picture[end..]))
}

/// A numeric attribute of the picture's outermost element.
pub(super) fn attribute(picture: &str, name: &str) -> Option<usize> {
    let element = &picture[picture.find("<svg ")?..];
    let value = element.split_once(&format!(r#" {name}=""#))?.1;
    value.split_once('"')?.0.parse().ok()
}

/// Text without the two characters that XML has no way to write.
fn drawable(text: &str) -> String {
    visible(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    let text = drawable(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
