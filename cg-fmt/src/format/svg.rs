//! The graph of a document as an SVG picture.

use std::io::{self, Write};

use cg_document::{Document, svg};

/// Draws the first graph of a document.
///
/// # Errors
/// Returns the errors of the writer.
pub(crate) fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    match document.first_graph() {
        Some(graph) => out.write_all(svg(graph).as_bytes()),
        None => Ok(()),
    }
}
