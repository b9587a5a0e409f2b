//! Stacks that are gone in a diff's later run, even as the beginning of other stacks.

use cg_stream::intern::Id;
use cg_stream::record::Count;

use super::super::stacks::StackNodes;

/// For each node, the earlier run's cost of the gone stacks that begin with it; `later` is the later run's inclusive cost
/// of each node.
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
