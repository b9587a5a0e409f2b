//! Inlined functions that only lead to another function: they have no self cost, and exactly one function is inlined into
//! them. Trees leave them out.

use cg_document::NAMELESS;
use cg_profile::{FunctionKey, Profile};

/// The functions that are left out before a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PassedThrough {
    #[default]
    Nothing,
    One(FunctionKey),
    Several(usize),
}

impl PassedThrough {
    /// Adds a function.
    pub(crate) fn and(self, function: FunctionKey) -> PassedThrough {
        match self {
            PassedThrough::Nothing => PassedThrough::One(function),
            PassedThrough::One(_) => PassedThrough::Several(2),
            PassedThrough::Several(functions) => PassedThrough::Several(functions + 1),
        }
    }

    /// Returns the words after the name of the function that they lead to.
    pub(crate) fn words(self, profile: &Profile) -> Option<String> {
        match self {
            PassedThrough::Nothing => None,
            PassedThrough::One(function) => {
                let name = profile.text(function.name).unwrap_or(NAMELESS);
                Some(format!("through {name}"))
            }
            PassedThrough::Several(functions) => Some(format!("through {functions} functions")),
        }
    }
}
