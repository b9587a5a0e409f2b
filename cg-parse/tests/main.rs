//! Integration tests of the crate, in a single program to link only once.

mod callgrind;
mod exe;
mod formats;
