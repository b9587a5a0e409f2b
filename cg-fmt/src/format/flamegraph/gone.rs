//! Stacks that are gone in a diff's later run, even as the beginning of other stacks.

use cg_stream::intern::Id;
use cg_stream::record::Count;

use super::super::stacks::StackNodes;

/// For each node, the earlier run's cost of the gone stacks that begin with it. A node has two counts, the earlier
/// run's first; `later` is the later run's inclusive cost of each node.
pub(super) fn costs(nodes: &StackNodes, later: &[Count]) -> Vec<Count> {
    let mut gone = vec![0; nodes.len()];
    for node in nodes.all().rev() {
        if later[node.index()] == 0 {
            gone[node.index()] += nodes.own(node)[0];
        }
        if let Some(outer) = nodes.outer(node) {
            gone[outer.index()] += gone[node.index()];
        }
    }
    gone
}
