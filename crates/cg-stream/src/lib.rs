//! The contract of the cost stream: its records, and how they are read and written. This crate neither adds records up nor
//! knows the process: cg-profile and cg-tool do that.
//!
#![doc = include_str!("../FORMAT.md")]
#![warn(missing_docs)]

pub mod record;

pub mod reader;
pub mod rows;
pub mod writer;

pub mod fields;
pub mod lines;

pub mod percent;

pub mod visible;

pub mod diagnostics;

mod error;

pub use diagnostics::Diagnostics;
pub use error::Error;
pub use reader::{Completeness, Framing, Line, Reader};
pub use writer::Writer;
