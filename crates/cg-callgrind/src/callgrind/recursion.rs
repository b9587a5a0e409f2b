//! How a file records recursion, and what becomes of the nodes that recursion levels make.

use cg_costs::ids::{FileFunctionId, FunctionId};

/// What a file's names and arcs have shown of how it records recursion.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecursionSigns {
    /// Names carry their callers.
    pub(crate) chains: bool,
    /// Names carry recursion levels.
    pub(crate) levels: bool,
    /// Written by Callgrind, which records levels unless told otherwise.
    pub(crate) is_callgrind: bool,
    /// Of a profile of Python's cProfile the cost of its dearest function. Each of its arcs was timed by itself, with all
    /// that the callee did (`pyprof2calltree.py`: `_output_summary`, `_output_subentry`).
    pub(crate) timed: Option<u64>,
}

/// A node with the function that it folds into.
#[derive(Clone, Copy)]
pub(super) struct FoldedNode {
    pub(super) function: FunctionId,
    pub(super) is_deeper: bool,
    pub(super) node: FileFunctionId,
}
