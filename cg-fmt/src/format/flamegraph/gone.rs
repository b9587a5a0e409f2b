//! Stacks that a diff's later run does not have, not even as the outer part of other stacks.

use cg_collections::intern::Id;
use cg_stream::record::Count;

use super::super::stacks::StackNodes;

/// Returns for each node the earlier run's cost of the gone stacks that begin with it. `later` has the inclusive cost of
/// each node in the later run.
pub(super) fn costs(nodes: &StackNodes, later: &[Count]) -> Vec<Count> {
    let mut gone = vec![0; nodes.len()];
    for node in nodes.all().rev() {
        if later[node.index()] == 0 {
            let own = nodes.own(node);
            gone[node.index()] += own[0] + own[2];
        }
        if let Some(outer) = nodes.outer(node) {
            gone[outer.index()] += gone[node.index()];
        }
    }
    gone
}
