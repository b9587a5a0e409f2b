//! The meaning of the names in a profile, for all tools.
//!
//! - [`structure`]: the parts of a function's name: crate, module, path.
//! - [`identity`]: decides whether names from two builds belong to the same function, with the table in [`rules`] and Rust's
//!   two [`mangling`] schemes.
//! - [`paths`]: paths of the same file in two directories.
//! - [`code_origin`]: the origin of a frame's code: an allocator, Valgrind, a language runtime, the system, or the program.
//! - [`occupation`]: the work of a program in a stack: its own code, locks, memory, copies, a framework.
//! - [`blame`]: the frame of a stack to blame.
//! - [`membership`]: the crate and the module of a function.
//! - [`commands`]: the kind of a command: a program, or a launcher of other programs.
//! - [`demangle`], [`frame_text`]: parsing of names and frames in input.
//!
//! Tables of patterns and names are text files. `lists.rs` and `pattern/` read them cheaply, because small reports need
//! them, too.
#![warn(missing_docs)]

pub mod blame;
pub mod code_origin;
pub mod commands;
mod cpp;
pub mod demangle;
pub mod frame_text;
pub mod identity;
pub mod mangling;
pub mod membership;
pub mod occupation;
pub mod paths;
pub mod rules;
pub mod structure;

mod lists;
mod pattern;
