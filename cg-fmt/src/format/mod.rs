//! The formats that only cg-fmt has; those that other tools have too are in `cg_document`.
//!
//! A format is a file. One for people renders a document and knows no report. One for other programs, as JSON is, takes
//! the records themselves, of which a document shows a part.

pub(crate) mod callgrind;
pub(crate) mod dot;
pub(crate) mod firefox;
pub(crate) mod flamegraph;
pub(crate) mod folded;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod pprof;
pub(crate) mod speedscope;
pub(crate) mod svg;
pub(crate) mod trace;

mod call_graph;
mod color;
mod holds;
mod names;
mod scale;
mod stacks;

pub(crate) use stacks::kind_of as kind_of_stacks;
