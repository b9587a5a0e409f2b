//! What a diff's later run lacks: stacks of which nothing is left, not even as the beginning of others.

use cg_stream::intern::Id;
use cg_stream::record::Count;

use super::super::stacks::StackNodes;

/// For each node, what it and all that begin with it cost in the earlier run in stacks that are gone, of counts in pairs,
/// and of what each costs in the later run with all that begin with it.
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
