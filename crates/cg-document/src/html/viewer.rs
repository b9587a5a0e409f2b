//! The shell of a viewer: a page whose rows, stacks and sources are one inert block of data, opened by one script.
//!
//! The script is plain JavaScript, in files by purpose (`viewer/*.js`). Without it there are the sentences, the first rows as
//! a table, and memory over time as a picture.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{hash, table};
use crate::markup::Markup;
use crate::{Graph, Table, chart};

const STYLE: &str = include_str!("viewer/viewer.css");
const SCRIPT: &str = include_str!("sent/viewer.js");

/// The part of the script that a picture with a script of its own has too: `fittedLabel`.
pub const LABEL_SCRIPT: &str = include_str!("viewer/label.js");

/// What a page is made of.
pub struct Viewer<'v, 't> {
    /// What it is of.
    pub title: &'v str,
    /// What is to be said first, a sentence each.
    pub lead: &'v [String],
    /// What is to be said beside it.
    pub notes: &'v [String],
    /// The first rows, for those who let no script run.
    pub rows: &'v Table<'t>,
    /// Memory over time.
    pub graph: Option<&'v Graph>,
    /// The data that the script opens: packed with zlib.
    pub data: &'v [u8],
}

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn write_viewer(viewer: &Viewer<'_, '_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Markup::default();
    page.tag("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    page.tag("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src ");
    page.trusted(&hash(SCRIPT));
    page.tag("; base-uri 'none'; form-action 'none'\">\n");
    page.tag("<meta name=viewport content=\"width=device-width,initial-scale=1\">\n");
    page.tag("<meta name=color-scheme content=\"light dark\">\n<title>");
    page.text(viewer.title);
    page.tag("</title>\n<style>\n");
    page.tag(STYLE);
    page.tag("</style>\n</head>\n<body>\n<main aria-busy=true>\n<header>\n<h1>");
    page.text(viewer.title);
    page.tag("</h1>\n<div class=lead>");
    for sentence in viewer.lead {
        page.tag("<p>");
        page.text(sentence);
        page.tag("</p>\n");
    }
    page.tag("</div>\n</header>\n");
    if let Some(graph) = viewer.graph {
        page.tag("<figure id=chart>");
        chart::draw(graph, &mut page);
        page.tag("</figure>\n");
    }
    page.tag("<noscript>\n");
    table::write(&mut page, viewer.rows);
    for note in viewer.notes {
        page.tag("<p class=note>");
        page.text(note);
        page.tag("</p>\n");
    }
    page.tag("</noscript>\n</main>\n<script type=application/octet-stream id=data>");
    page.trusted(&BASE64_STANDARD.encode(viewer.data));
    page.tag("</script>\n<script>");
    page.trusted(SCRIPT);
    page.tag("</script>\n</body>\n</html>\n");
    out.write_all(page.into_string().as_bytes())?;
    out.flush()
}
