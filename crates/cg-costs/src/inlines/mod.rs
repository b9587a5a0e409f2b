//! Inlined functions by name: splits a function's cost among the functions that are inlined into it.
//!
//! Callgrind charges inlined code to the function that contains it. With `--dump-instr=yes`, its profiles have the addresses
//! of instructions in the object, and the object's debug information has the chain of inlined functions at each address.
//!
//! - `trace` keeps the cost lines until all input has been read.
//! - `objects` finds the object files.
//! - `add_up` adds the lines up by `chain`. `spans` has the facts about the code at an address. At the same time, `evidence`
//!   compares the lines with the objects.
//! - `inclusive` adds the cost of inlined functions to the functions that contain them.
//! - [`resolve`] runs these steps and names the functions. [`write`] writes their records.
//! - [`read_code`] hashes the machine code of functions that ran.

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

#[cfg(test)]
mod tests;
