//! Data structures that all crates share.
//!
//! This crate refuses anything about profiles, streams or processes: its types know only values, ids and orders.
#![warn(missing_docs)]

pub mod components;
pub mod intern;
pub mod maps;
pub mod sorting;
