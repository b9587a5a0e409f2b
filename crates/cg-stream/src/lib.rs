#![doc = include_str!("../FORMAT.md")]
#![warn(missing_docs)]

pub mod record;

pub mod reader;
pub mod rows;
pub mod writer;

pub mod intern;
pub mod maps;
pub mod profile;

pub mod fields;
pub mod lines;

pub mod derived;

pub mod percent;

pub mod components;
pub mod sorting;

pub mod visible;

pub mod diagnostics;

#[cfg(feature = "tool")]
pub mod tool;

mod error;

pub use diagnostics::Diagnostics;
pub use error::Error;
pub use reader::{Completeness, Framing, Line, Reader};
pub use writer::Writer;
