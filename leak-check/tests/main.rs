//! The integration tests of leak-check, in one program to save link time.

mod support;

mod baseline;
mod certainty;
mod children;
mod conditions;
mod evidence;
mod formats;
mod gate;
mod identity;
mod jobs;
mod launchers;
mod laws;
mod nextest;
mod rust_std;
mod sanitizers;
mod searches;
mod suppressions;
mod written;
