//! The page that shows a whole profile: one file with its data, script and style.
//!
//! [`PageData`] packs rows, stacks and sources into one inert block, and the script unpacks it (`script/data.js`). The
//! script is plain JavaScript, in files by purpose. Readers without JavaScript see the sentences and the first rows as a
//! table. The style of the viewer and the picture of memory over time are in the data too, because they are smaller there.
//!
//! This crate knows neither profiles nor reports: cg-fmt fills the data from its reports.
#![warn(missing_docs)]

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use cg_document::html::{Script, write_table_element};
use cg_document::{Markup, Table};

mod data;

pub use data::{PageData, PageText};

/// The style for readers without JavaScript. The style of the viewer is in the data, where it is compressed.
const STYLE: &str = "html{color-scheme:light dark;font:15px/1.4 system-ui,sans-serif}noscript td,noscript th{padding:.1rem .5rem;text-align:left;vertical-align:top}";
const SCRIPT: Script = Script {
    text: include_str!("sent/viewer.js"),
    hash: include_str!("sent/viewer.js.sha256"),
};

/// The part of the script that flame graph pictures share: `fittedLabel`.
pub const LABEL_SCRIPT: &str = include_str!("script/label.js");

/// The contents of a page.
pub struct Viewer<'v, 't> {
    /// The title of the page.
    pub title: &'v str,
    /// The first sentences.
    pub lead: &'v [String],
    /// Secondary sentences.
    pub notes: &'v [String],
    /// The first rows, for browsers that do not run scripts.
    pub rows: &'v Table<'t>,
    /// The data for the script, compressed with zlib.
    pub data: &'v [u8],
}

/// Writes the page.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write_viewer(viewer: &Viewer<'_, '_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Markup::default();
    page.tag("<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n");
    page.tag("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src ");
    page.trusted(&SCRIPT.source());
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
    page.tag("<noscript>\n");
    write_table_element(&mut page, viewer.rows);
    for note in viewer.notes {
        page.tag("<p class=note>");
        page.text(note);
        page.tag("</p>\n");
    }
    page.tag("</noscript>\n</main>\n<script type=application/octet-stream id=data>");
    page.trusted(&BASE64_STANDARD.encode(viewer.data));
    page.tag("</script>\n<script>");
    page.trusted(SCRIPT.text);
    page.tag("</script>\n</body>\n</html>\n");
    out.write_all(page.into_string().as_bytes())?;
    out.flush()
}
