//! Call stacks that profilers sampled, or that were counted under their names.
//!
//! A format reads an input into a [`table`] and hands that to [`write`], which is the one place that knows the records.
//! So a reader is one function, and what makes its format recognisable is another; the list of formats names both.

mod address;
mod count;
mod outline;
mod rate;
mod symbols;
pub(crate) mod table;
mod tree;
pub(crate) mod write;

pub(crate) mod bpftrace;
pub(crate) mod dtrace;
pub(crate) mod firefox;
pub(crate) mod folded;
pub(crate) mod perf;
pub(crate) mod pprof;
pub(crate) mod sample;
pub(crate) mod speedscope;
pub(crate) mod v8;
pub(crate) mod visual_studio;
pub(crate) mod vtune;
pub(crate) mod xctrace;
