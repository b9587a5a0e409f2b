//! What the tools write for people, and the forms it is written in.
//!
//! A report of a tool is a [`Document`]: headings, sentences, tables, graphs. A format renders documents and knows no report:
//! [`text`] for terminals and pipes, [`markdown`] for code hosts, [`separated`] for spreadsheets, [`html`] for browsers. Names in a document
//! are input and may hold anything. A format shows them so that they are text and nothing else: no escape sequence
//! reaches a terminal ([`visible`]), no markup a page.
#![warn(missing_docs)]

mod chart;
mod document;
mod fit;
mod graph;
mod markup;
mod table;

pub mod number;

pub mod html;
pub mod markdown;
pub mod separated;
pub mod text;

pub mod comment;

pub use cg_stream::visible::visible;
pub use chart::svg;
pub use document::{Block, Document, Span};
pub use fit::{frame_line, short_name};
pub use graph::{Graph, Layer, Mark, Overlay, Point};
pub use markup::push_encoded;
pub use table::{Audience, Cell, Column, Cut, Layout, NAMELESS, Table, UnknownColumn, Worth};
