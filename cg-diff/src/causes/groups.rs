//! Groups of functions that call each other.
//!
//! In each run, the functions of a strongly connected component are one group, because their calls of each other have no
//! price: the cost of recursion levels is recorded several times. Components of the two runs that share a function are one
//! group. Each group is a union of whole components of either run, so its cost from outside is exact in each run.

use cg_collections::components::components;

use super::graph::{CallGraph, CauseArc};
use super::nodes::Node;

/// The groups of all nodes. Most have one node.
#[derive(Debug)]
pub(super) struct Groups {
    /// The group of each node.
    pub(super) of: Vec<usize>,
    /// The nodes, sorted by group.
    nodes: Vec<Node>,
    /// The position of the first node of each group, and the number of nodes.
    starts: Vec<usize>,
    /// True for each group with calls inside it, in one of the runs.
    pub(super) is_recursive: Vec<bool>,
}

impl Groups {
    pub(super) fn find(graphs: [&CallGraph; 2]) -> Groups {
        let nodes = graphs[0].is_present.len();
        let mut first: Vec<Node> = (0..nodes).collect();
        for graph in graphs {
            let arcs = graph.arcs.iter().map(|arc| (arc.caller, arc.callee));
            let component_of = components(nodes, arcs);
            let mut member = vec![None; nodes];
            for (node, component) in component_of.into_iter().enumerate() {
                match member[component] {
                    None => member[component] = Some(node),
                    Some(other) => unite(&mut first, other, node),
                }
            }
        }
        let mut of = vec![usize::MAX; nodes];
        let mut count = 0;
        for node in 0..nodes {
            let root = find_root(&mut first, node);
            if of[root] == usize::MAX {
                of[root] = count;
                count += 1;
            }
            of[node] = of[root];
        }
        let mut starts = vec![0; count + 1];
        for group in &of {
            starts[group + 1] += 1;
        }
        for group in 0..count {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; nodes];
        for (node, group) in of.iter().enumerate() {
            sorted[next[*group]] = node;
            next[*group] += 1;
        }
        let mut is_recursive = vec![false; count];
        for CauseArc { caller, callee, .. } in graphs.iter().flat_map(|graph| &graph.arcs) {
            is_recursive[of[*caller]] |= of[*caller] == of[*callee];
        }
        Groups {
            of,
            nodes: sorted,
            starts,
            is_recursive,
        }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the nodes of a group, sorted.
    pub(super) fn members(&self, group: usize) -> &[Node] {
        &self.nodes[self.starts[group]..self.starts[group + 1]]
    }
}

fn find_root(first: &mut [Node], node: Node) -> Node {
    let mut root = node;
    while first[root] != root {
        first[root] = first[first[root]];
        root = first[root];
    }
    root
}

/// Unites the groups of two nodes. The lowest node represents a group, so the order of unions makes no difference.
fn unite(first: &mut [Node], a: Node, b: Node) {
    let (a, b) = (find_root(first, a), find_root(first, b));
    first[a.max(b)] = a.min(b);
}
