//! The integration tests of the crate, in one program so that only one is linked.

mod fields;
mod sums;
