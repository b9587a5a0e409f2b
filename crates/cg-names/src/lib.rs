//! What the names in a profile mean, decided once for every tool.
//!
//! - [`structure`]: the parts of a function's name: crate, module, path.
//! - [`identity`]: which names of two builds are of the same function, by the table in [`rules`] and the two [`mangling`]s of
//!   Rust; [`paths`]: which directories are two homes of one tree.
//! - [`whose`]: whether a frame is of an allocator, of Valgrind, of a language's runtime, of the system, or the program's own.
//! - [`occupation`]: what a stack's program is occupied with: its own code, locks, memory, copies, a framework.
//! - [`blame`]: which frame of a stack is to blame.
//! - [`demangle`], [`frame_text`]: how names reach us.
#![warn(missing_docs)]

pub mod blame;
pub mod demangle;
pub mod frame_text;
pub mod identity;
pub mod mangling;
pub mod occupation;
pub mod paths;
pub mod rules;
pub mod structure;
pub mod whose;

mod lists;
