//! The strongly connected components of a graph. In a call graph, they are the cycles of functions.

/// Returns the component of each node. Components are numbered from 0, callees first, so every path from a component leads to
/// smaller numbers. `arcs` has pairs of caller and callee.
///
/// This is Tarjan's algorithm with an explicit stack, because call graphs can be deeper than a thread's stack.
pub fn components(nodes: usize, arcs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let callees = Callees::new(nodes, arcs);
    let mut search = Search {
        order: vec![0; nodes],
        lowest: vec![0; nodes],
        open: Vec::new(),
        is_open: vec![false; nodes],
        component_of: vec![0; nodes],
        visited: 0,
        components: 0,
    };
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..nodes {
        if search.order[root] != 0 {
            continue;
        }
        search.visit(root);
        path.push((root, 0));
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if let Some(callee) = callees.get(node).get(*next) {
                *next += 1;
                if search.order[*callee] == 0 {
                    search.visit(*callee);
                    path.push((*callee, 0));
                } else if search.is_open[*callee] {
                    search.lowest[node] = search.lowest[node].min(search.order[*callee]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                search.lowest[*caller] = search.lowest[*caller].min(search.lowest[node]);
            }
            if search.lowest[node] == search.order[node] {
                search.close(node);
            }
        }
    }
    search.component_of
}

/// The state of the search. `order` is the order of visits, counted from 1; 0 is an unvisited node.
struct Search {
    order: Vec<usize>,
    lowest: Vec<usize>,
    open: Vec<usize>,
    is_open: Vec<bool>,
    component_of: Vec<usize>,
    visited: usize,
    components: usize,
}

impl Search {
    fn visit(&mut self, node: usize) {
        self.visited += 1;
        self.order[node] = self.visited;
        self.lowest[node] = self.visited;
        self.open.push(node);
        self.is_open[node] = true;
    }

    /// Removes the component of `node` from the open nodes.
    fn close(&mut self, node: usize) {
        while let Some(member) = self.open.pop() {
            self.is_open[member] = false;
            self.component_of[member] = self.components;
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}

/// Callees grouped by caller, in one flat array.
struct Callees {
    starts: Vec<usize>,
    callees: Vec<usize>,
}

impl Callees {
    fn new(nodes: usize, arcs: impl Iterator<Item = (usize, usize)>) -> Callees {
        let mut sorted: Vec<(usize, usize)> = arcs.collect();
        sorted.sort_unstable();
        let mut starts = vec![0; nodes + 1];
        for (caller, _) in &sorted {
            starts[caller + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        Callees {
            starts,
            callees: sorted.into_iter().map(|(_, callee)| callee).collect(),
        }
    }

    fn get(&self, node: usize) -> &[usize] {
        &self.callees[self.starts[node]..self.starts[node + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_reach_each_other_are_one_and_callees_come_first() {
        let arcs = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)];
        assert_eq!(components(6, arcs.into_iter()), [3, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_deep_chain_needs_no_deep_stack() {
        let chain = (0..300_000).map(|node| (node, node + 1));
        let found = components(300_001, chain);
        assert_eq!((found[300_000], found[0]), (0, 300_000));
    }

    #[test]
    fn circles_are_found_whatever_way_leads_into_them() {
        // 0 → 1 → 2 → 1, 2 → 3 → 3, 4 → 0, 5 → 6 → 7 → 5 and 5 → 7
        let callees: [&[usize]; 8] = [&[1], &[2], &[1, 3], &[3], &[0], &[6, 7], &[7], &[5]];
        let arcs = callees.iter().enumerate();
        let arcs = arcs.flat_map(|(caller, callees)| callees.iter().map(move |to| (caller, *to)));
        let mut circles = std::collections::BTreeMap::<usize, Vec<usize>>::new();
        for (node, component) in components(callees.len(), arcs).into_iter().enumerate() {
            circles.entry(component).or_default().push(node);
        }
        let mut found: Vec<Vec<usize>> = circles.into_values().collect();
        found.sort();
        assert_eq!(
            found,
            [vec![0], vec![1, 2], vec![3], vec![4], vec![5, 6, 7]]
        );
        let ring = (0..200_000).map(|at| (at, (at + 1) % 200_000));
        assert_eq!(components(200_000, ring), vec![0; 200_000]);
    }
}
