//! Common parts of all readers: their inputs and outputs, errors, and parsers for numbers and JSON.
#![warn(missing_docs)]

mod error;
mod head;
pub mod json;
pub mod number;
mod options;
mod out;
mod reading;
mod wording;

pub use cg_debug_info::{KeptObjects, Search};

pub use error::{Error, excerpt, get_checked};
pub use head::{FARTHEST_LOOK, Head, LineEvidence, Reach};
pub use options::{BYTE_ORDER_MARK, Lines, Options, Revision, Snapshots};
pub use out::Out;
pub use reading::{ReadRecords, Reading};
pub use wording::{plural, plurals};
