//! Memcheck, Helgrind and DRD: errors and leaks, from text logs and from XML.

pub(crate) mod text;
pub(crate) mod xml;
