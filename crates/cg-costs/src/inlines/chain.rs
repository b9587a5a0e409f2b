//! The keys for the sums by chain of inlined functions.

use cg_debug_info::ChainNodeId;

use crate::ids::FunctionId;
use crate::tables::CostRows;

cg_collections::ids! {
    /// The code of one chain of inlined functions in one function of the profile.
    pub(crate) struct ChainId;
}

/// The key of the code of one chain in one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainKey {
    /// The function of the profile that the chain is inlined into.
    pub(super) host: FunctionId,
    /// The inlined functions; `None` if the code is not inlined or nothing is known.
    pub(super) inlined: Option<Inlined>,
}

/// The known functions of inlined code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inlined {
    /// The chain, by its innermost function.
    Chain(ChainNodeId),
    /// The innermost function. The rest of the chain is unknown.
    Innermost(cg_debug_info::ChainFunctionId),
    /// One of several functions. Contains the index into the list of groups.
    OneOf(usize),
}

/// Counts by chain.
pub(super) type ChainRows = CostRows<ChainId, ChainKey, ()>;
