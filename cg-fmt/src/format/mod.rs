//! The formats that only cg-fmt writes. Formats that other tools also write are in `cg_document`.
//!
//! Each format has a file. A format for people renders a document and does not know reports. A format for other programs,
//! such as JSON, takes the records, because a document contains only some of their fields.

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

pub(crate) use stacks::select_kind as kind_of_stacks;
