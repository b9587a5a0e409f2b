//! What the readers of all formats share: what they are given, where their rows go, and how numbers and JSON are read.
#![warn(missing_docs)]

mod error;
mod head;
pub mod json;
pub mod number;
mod options;
mod out;

pub use cg_debug_info::{KeptObjects, Search};

pub use error::{Error, excerpt};
pub use head::{FARTHEST_LOOK, Head, Reach};
pub use options::{BYTE_ORDER_MARK, Lines, Options, ReadRecords, Revision, Snapshots};
pub use out::Out;
