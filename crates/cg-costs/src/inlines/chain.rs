//! The key by which code of one chain of inlined functions is added up.

use cg_debug_info::ChainNodeId;

use crate::ids::FunctionId;
use crate::tables::CostRows;

cg_stream::ids! {
    /// Code of one chain of inlined functions in one function of the profile.
    pub(crate) struct ChainId;
}

/// The key of such code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainKey {
    /// The function of the profile, into which the others are inlined.
    pub(super) host: FunctionId,
    /// What is inlined into it, in the chains of the host's object; `None` if nothing is inlined or known.
    pub(super) inlined: Option<Inlined>,
}

/// What is known of code that is inlined into a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inlined {
    /// The chain, by its innermost function.
    Chain(ChainNodeId),
    /// Only the innermost function is known, not the chain.
    Innermost(cg_debug_info::ChainFunctionId),
    /// One of several functions: index into the list of such groups.
    OneOf(usize),
}

/// Counts by chain.
pub(super) type ChainRows = CostRows<ChainId, ChainKey, ()>;
