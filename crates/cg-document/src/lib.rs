//! Reports for people, and their output formats.
//!
//! A report of a tool is a [`Document`]: headings, sentences, tables, graphs. Formats render documents and do not know any
//! report: [`text`] for terminals and pipes, [`markdown`] for code hosts, [`separated`] for spreadsheets, [`html`] for
//! browsers. Names in a document are input and may contain anything. Formats escape them, so that they are plain text: no
//! escape sequence reaches a terminal ([`visible`]), and no markup reaches a page.
#![warn(missing_docs)]

mod chart;
mod document;
mod fit;
mod graph;
mod markup;
mod table;
mod width;

pub mod number;

pub mod html;
pub mod markdown;
pub mod separated;
pub mod text;

pub mod comment;

pub use cg_stream::visible::visible;
pub use chart::{draw as draw_chart, svg};
pub use document::{Block, Document, Span};
pub use fit::{frame_line, short_name};
pub use graph::{Graph, Layer, Mark, Overlay, Point};
pub use markup::{Markup, push_encoded};
pub use table::{Audience, Cell, Column, Cut, Layout, NAMELESS, Table, UnknownColumn, Worth};
