//! The tests of the crate from the outside, in one program: one is linked.

mod callgrind;
mod exe;
mod formats;
