//! Costs of functions, lines and calls, with inlined functions and call stacks: the model for profiles of Callgrind and
//! Cachegrind.
//!
//! Readers fill a [`section`]. [`inlines`] and [`stacks`] derive further data from it on request. `write` writes its
//! records.
#![warn(missing_docs)]

pub mod circles;
pub mod ids;
pub mod inlines;
mod packing;
pub mod section;
pub mod stacks;
pub mod tables;
pub mod write;
