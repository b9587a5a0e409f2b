//! Inlined functions by name: what of a function's cost is whose.
//!
//! Callgrind charges what was inlined into a function to that function. With `--dump-instr=yes` its profiles have the
//! addresses of instructions as the object counts them, and the debug information of the object says of which chain of
//! inlined functions each is: [`trace`] keeps the cost lines until all is read, [`objects`] finds the objects, [`resolve`]
//! adds the lines up by chain and holds them against the symbols of the objects on the way ([`spans`] tells what is known of
//! code at an address), [`write`] writes them.

mod addresses;
mod lines;
mod objects;
mod paths;
mod resolve;
mod spans;
mod trace;
mod write;

pub(crate) use resolve::{Inlines, resolve};
pub(crate) use trace::{At, Trace, TracedNode};
