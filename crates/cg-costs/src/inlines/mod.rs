//! Inlined functions by name: what of a function's cost is whose.
//!
//! Callgrind charges what was inlined into a function to that function. With `--dump-instr=yes` its profiles have the
//! addresses of instructions as the object counts them, and the debug information of the object says of which chain of
//! inlined functions each is: `trace` keeps the cost lines until all is read, `objects` finds the objects, `add_up` adds
//! the lines up by `chain` and holds them against the objects on the way (`evidence`) (`spans` tells what is known of
//! code at an address), `inclusive` adds what is inlined to what it is inlined into, [`resolve`] does all of it and names
//! the functions, [`write`] writes them. [`read_code`] looks at what ran, and says by what its machine code is known.

mod add_up;
mod addresses;
mod chain;
mod code;
mod evidence;
mod facts;
mod inclusive;
mod keep;
mod lines;
mod objects;
mod paths;
mod resolve;
mod spans;
mod trace;
mod write;

pub(crate) use code::FunctionPrints;
pub use code::read_code;
pub use resolve::{Inlines, resolve};
pub use trace::{At, CostLines, TracedNode};
