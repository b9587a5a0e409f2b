//! Cost centres with calls and without: what Callgrind and Cachegrind write.
//!
//! Readers fill a [`section`], and [`sums`] adds up what several inputs hold.

pub(crate) mod section;
pub(crate) mod sums;

mod cachegrind;
mod callgrind;
