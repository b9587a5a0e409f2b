//! Where memory lives and what becomes of it: what Massif and DHAT write.

pub(crate) mod dhat;
pub(crate) mod massif;
