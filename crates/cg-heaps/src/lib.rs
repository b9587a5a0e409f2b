//! Where memory lives and what becomes of it: what Massif, DHAT and heaptrack write.
#![warn(missing_docs)]

pub mod dhat;
pub mod heaptrack;
pub mod massif;

mod frames;
