//! Data structures that all crates share.
//!
//! This crate refuses anything about profiles and streams: its types know only values, ids and orders. `limits` bounds the
//! memory of the process.
#![warn(missing_docs)]

pub mod components;
pub mod intern;
pub mod limits;
pub mod maps;
pub mod sorting;
