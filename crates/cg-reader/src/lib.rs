//! What the readers of all formats share: what they are given, where their rows go, and how numbers and JSON are read.
#![warn(missing_docs)]

mod error;
mod head;
pub mod json;
pub mod number;
mod options;
mod out;
mod reading;

pub use cg_debug_info::{KeptObjects, Search};

pub use error::{Error, excerpt, one_of};
pub use head::{FARTHEST_LOOK, Head, Reach};
pub use options::{BYTE_ORDER_MARK, Lines, Options, Revision, Snapshots};
pub use out::Out;
pub use reading::{ReadRecords, Reading};
