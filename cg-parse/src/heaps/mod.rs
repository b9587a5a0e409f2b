//! Where memory lives and what becomes of it: what Massif, DHAT and heaptrack write.

pub(crate) mod dhat;
pub(crate) mod heaptrack;
pub(crate) mod massif;

mod frames;
