//! Readers of heap profiles from Massif, DHAT and heaptrack.
#![warn(missing_docs)]

pub mod dhat;
pub mod heaptrack;
pub mod massif;

mod frames;
