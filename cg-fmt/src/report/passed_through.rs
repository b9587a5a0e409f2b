//! Inlined functions that only lead to another: they cost nothing themselves and have one other inlined into them. Trees
//! leave them out on the way to that one.

use cg_document::NAMELESS;
use cg_stream::profile::{FunctionKey, Profile};

/// The functions that are left out in front of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PassedThrough {
    #[default]
    Nothing,
    One(FunctionKey),
    Several(usize),
}

impl PassedThrough {
    /// Adds one more function.
    pub(crate) fn and(self, function: FunctionKey) -> PassedThrough {
        match self {
            PassedThrough::Nothing => PassedThrough::One(function),
            PassedThrough::One(_) => PassedThrough::Several(2),
            PassedThrough::Several(functions) => PassedThrough::Several(functions + 1),
        }
    }

    /// The words that stand behind the function that they lead to.
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
