//! What the names in a profile mean, decided once for every tool.
//!
//! - [`structure`]: the parts of a function's name: crate, module, path.
//! - [`rules`]: which names of two builds are of the same function, file or object.
//! - [`whose`]: whether a frame is of an allocator, of Valgrind, of a language's runtime, of the system, or the program's own.
//! - [`blame`]: which frame of a stack is to blame.
//! - [`demangle`], [`frame_text`]: how names reach us.
#![warn(missing_docs)]

pub mod blame;
pub mod demangle;
pub mod frame_text;
pub mod mangling;
pub mod paths;
pub mod rules;
pub mod structure;
pub mod whose;
