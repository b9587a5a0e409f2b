//! The way in which a file records recursion, and the nodes that fold into functions.

use cg_costs::ids::{FileFunctionId, FunctionId};

/// The signs, in a file's names and arcs, of how it records recursion.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecursionSigns {
    /// True if names contain their callers.
    pub(crate) chains: bool,
    /// True if names contain recursion levels.
    pub(crate) levels: bool,
    /// True if Callgrind wrote the file. It records levels by default.
    pub(crate) is_callgrind: bool,
    /// The cost of the most expensive function in a profile of Python's cProfile; `None` for other profiles. cProfile times
    /// each arc separately, including everything below the callee (`pyprof2calltree.py`: `_output_summary`,
    /// `_output_subentry`).
    pub(crate) timed: Option<u64>,
}

/// A node with the function that it folds into.
#[derive(Clone, Copy)]
pub(super) struct FoldedNode {
    pub(super) function: FunctionId,
    pub(super) is_deeper: bool,
    pub(super) node: FileFunctionId,
}
