//! Costs of functions, lines and calls, with what was inlined and through which callers: the model of what Callgrind and
//! Cachegrind count.
//!
//! Readers fill a [`section`]; [`inlines`] and [`stacks`] derive from it what was asked for, and `write` hands it on.
#![warn(missing_docs)]

pub mod circles;
pub mod ids;
pub mod inlines;
mod packing;
pub mod section;
pub mod stacks;
pub mod tables;
pub mod write;
