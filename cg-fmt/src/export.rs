//! The interface of the writers for other viewers.

use std::io::Write;

use cg_profile::Profile;
use cg_tool::Diagnostics;

use crate::options::Options;

/// The arguments of a writer for other viewers.
pub(crate) struct Export<'e> {
    pub(crate) profile: &'e Profile,
    pub(crate) options: &'e Options,
    /// Buffered. A writer flushes it before it prints warnings.
    pub(crate) out: &'e mut dyn Write,
    pub(crate) diagnostics: &'e mut Diagnostics,
}
