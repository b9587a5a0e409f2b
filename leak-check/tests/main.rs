//! The tests of leak-check from the outside, in one program: one is linked.

mod support;

mod baseline;
mod certainty;
mod children;
mod conditions;
mod evidence;
mod formats;
mod gate;
mod laws;
mod nextest;
mod rust_std;
mod sanitizers;
mod suppressions;
mod written;
