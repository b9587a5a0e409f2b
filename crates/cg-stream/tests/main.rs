//! The tests of the crate from the outside, in one program: one is linked.

mod fields;
mod format;
mod sums;
