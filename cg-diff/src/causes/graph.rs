//! The call graph of one run, between the rows of a comparison.

use cg_collections::components::components;
use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;
use cg_profile::{FunctionKey, Key};
use cg_stream::record::{Count, RecordType};

use crate::compare::{self, Comparison};
use crate::join::FunctionRows;
use crate::runs::Runs;

/// The function of a node: a row, or a key if the function has no row because it has no self cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeFunction {
    Row(usize),
    Key(FunctionKey),
}

/// The nodes of the graphs of both runs: functions and, if known, chains of inlined functions.
pub(super) struct Nodes<'a> {
    /// The chain of each node, innermost function first, sorted by names.
    pub(super) chains: Vec<Vec<NodeFunction>>,
    /// The node of each row, for its out-of-line code.
    by_row: Vec<usize>,
    /// The other nodes.
    by_chain: Map<Vec<NodeFunction>, usize>,
    rows: &'a FunctionRows,
    /// True if chains of inlined functions are known.
    has_chains: bool,
}

impl Nodes<'_> {
    pub(super) fn collect<'a>(comparison: &Comparison, rows: &'a FunctionRows) -> Nodes<'a> {
        let (runs, joined) = (comparison.runs, comparison.joined);
        let functions = comparison.changes.iter();
        let functions = functions.filter(|change| joined.rows[change.row].kind == RecordType::Fn);
        let mut nodes = Nodes {
            chains: Vec::new(),
            by_row: vec![usize::MAX; joined.rows.len()],
            by_chain: Map::default(),
            rows,
            has_chains: !runs.out_of_line.is_empty(),
        };
        let mut names = vec![FunctionKey::default(); joined.rows.len()];
        for change in functions {
            names[change.row] = change.shown.function;
            nodes.chains.push(vec![NodeFunction::Row(change.row)]);
        }
        let has_chains = nodes.has_chains;
        for profile in runs.profiles.iter().filter(|_| has_chains) {
            for kind in [RecordType::Inline, RecordType::Call] {
                for key in profile.table(kind).keys() {
                    let chain = nodes.chain(runs, key);
                    nodes.add_chain(&chain);
                }
            }
        }
        nodes.chains.order_by_cached_key(|chain| {
            let names = chain.iter().map(|function| match function {
                NodeFunction::Row(row) => names[*row],
                NodeFunction::Key(key) => *key,
            });
            names
                .map(|name| compare::place(runs, name))
                .collect::<Vec<_>>()
        });
        for (node, chain) in nodes.chains.iter().enumerate() {
            match chain[..] {
                [NodeFunction::Row(row)] => nodes.by_row[row] = node,
                _ => drop(nodes.by_chain.insert(chain.clone(), node)),
            }
        }
        nodes
    }

    /// Adds a chain, and the chains that it is inlined into.
    fn add_chain(&mut self, chain: &[NodeFunction]) {
        for inlined in 0..chain.len() {
            let chain = &chain[inlined..];
            let is_row = matches!(chain, [NodeFunction::Row(_)]);
            if !is_row && !self.by_chain.contains_key(chain) {
                self.by_chain.insert(chain.to_vec(), self.chains.len());
                self.chains.push(chain.to_vec());
            }
        }
    }

    /// Returns the node of a chain.
    fn chain_node(&self, chain: &[NodeFunction]) -> Option<usize> {
        match chain {
            [NodeFunction::Row(row)] => Some(self.by_row[*row]),
            _ => self.by_chain.get(chain).copied(),
        }
    }

    fn function(&self, function: FunctionKey, key: &Key) -> NodeFunction {
        let row = self.rows.row(function, key);
        row.map_or(NodeFunction::Key(function), NodeFunction::Row)
    }

    /// Returns the chain of the code that a record belongs to. For an `inline` record, this is its stack. For a `call`
    /// record, these are the inlined functions that contain the call, and the caller.
    fn chain(&self, runs: &Runs, key: &Key) -> Vec<NodeFunction> {
        let inlined = key.stack.or(key.inlined);
        let frames = runs.names.stacks.frames_of(inlined).iter();
        let frames = frames.map(|frame| frame.function);
        let host = key.stack.is_none().then_some(key.function);
        frames
            .chain(host)
            .map(|function| self.function(function, key))
            .collect()
    }

    /// Returns the node of the code that a record belongs to.
    fn node(&self, runs: &Runs, key: &Key) -> Option<usize> {
        match self.has_chains {
            true => self.chain_node(&self.chain(runs, key)),
            false => self.chain_node(&[self.function(key.function, key)]),
        }
    }

    /// Returns the called node of a `call` record.
    pub(super) fn callee(&self, key: &Key) -> Option<usize> {
        self.chain_node(&[self.function(key.callee?, key)])
    }
}

/// All calls from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeArc {
    pub(super) caller: usize,
    pub(super) callee: usize,
    pub(super) calls: Count,
}

/// The graph of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct CallGraph {
    /// The number of times that each node ran. It is at least the number of incoming calls, and at least 1 for a node with
    /// costs or outgoing calls.
    pub(super) calls: Vec<Count>,
    /// The number of entries of each node from outside: its calls without the incoming arcs.
    pub(super) entered: Vec<Count>,
    /// The self cost of each node, by event.
    pub(super) cost: Vec<Vec<Count>>,
    /// True for nodes whose own code ran.
    has_code: Vec<bool>,
    /// The arcs, sorted by caller and callee, one for each pair.
    pub(super) arcs: Vec<NodeArc>,
    /// The position of the first arc of each caller, and the number of arcs.
    starts: Vec<usize>,
    /// The number of calls whose caller or callee has no record.
    pub(super) without_ends: Count,
}

impl CallGraph {
    /// Makes the graph of one side of a comparison, with the costs of some events.
    pub(super) fn collect(runs: &Runs, nodes: &Nodes, side: usize, events: &[usize]) -> CallGraph {
        let mut graph = CallGraph::new(nodes.chains.len(), events.len());
        let mut arcs: Vec<NodeArc> = Vec::new();
        let cost_type = match nodes.has_chains {
            true => RecordType::Inline,
            false => RecordType::Fn,
        };
        for profile in runs.files_of(side) {
            let positions: Vec<Option<usize>> = (events.iter())
                .map(|event| runs.position(profile, *event))
                .collect();
            let profile = &runs.profiles[profile];
            let costs = profile.table(cost_type);
            for (record, key) in costs.keys().iter().enumerate() {
                let Some(node) = nodes.node(runs, key) else {
                    continue;
                };
                let cost = costs.cost(record);
                for (sum, position) in graph.cost[node].iter_mut().zip(&positions) {
                    *sum += position
                        .and_then(|position| cost.get(position))
                        .copied()
                        .unwrap_or(0);
                }
                graph.has_code[node] = true;
            }
            let functions = profile.table(RecordType::Fn);
            for (record, key) in functions.keys().iter().enumerate() {
                if let Some(node) = nodes.chain_node(&[nodes.function(key.function, key)]) {
                    graph.calls[node] += functions.calls(record);
                }
            }
            let calls = profile.table(RecordType::Call);
            for (record, key) in calls.keys().iter().enumerate() {
                let calls = calls.calls(record);
                match (nodes.node(runs, key), nodes.callee(key)) {
                    (Some(_), Some(_)) if calls == 0 => {}
                    (Some(caller), Some(callee)) => {
                        graph.has_code[caller] = true;
                        arcs.push(NodeArc {
                            caller,
                            callee,
                            calls,
                        });
                    }
                    _ => graph.without_ends += calls,
                }
            }
        }
        graph.set_arcs(arcs);
        graph.enter_inlined(nodes);
        graph.enter_components();
        graph
    }

    /// Adds an arc from each chain to its inlined callee, with as many calls as the outermost function has.
    fn enter_inlined(&mut self, nodes: &Nodes) {
        let mut inlined: Vec<(usize, usize, usize)> = Vec::new();
        for (node, chain) in nodes
            .chains
            .iter()
            .enumerate()
            .filter(|(node, _)| self.has_code[*node])
        {
            for outer in 1..chain.len() {
                let at = |position: usize| nodes.chain_node(&chain[position..]);
                if let (Some(host), Some(into), Some(inner)) =
                    (at(chain.len() - 1), at(outer), at(outer - 1))
                {
                    inlined.push((host, into, inner));
                }
            }
            debug_assert!(nodes.chain_node(chain) == Some(node));
        }
        if inlined.is_empty() {
            return;
        }
        inlined.sort_unstable();
        inlined.dedup();
        let mut arcs = std::mem::take(&mut self.arcs);
        for (host, into, inner) in inlined {
            // A function that contains code that ran did run.
            self.calls[host] = self.calls[host].max(1);
            self.calls[inner] = 0;
            let calls = self.calls[host];
            arcs.push(NodeArc {
                caller: into,
                callee: inner,
                calls,
            });
        }
        self.set_arcs(arcs);
    }

    pub(super) fn new(nodes: usize, events: usize) -> CallGraph {
        CallGraph {
            calls: vec![0; nodes],
            entered: vec![0; nodes],
            cost: vec![vec![0; events]; nodes],
            has_code: vec![false; nodes],
            ..CallGraph::default()
        }
    }

    /// Sets the arcs. Adds up the arcs of each pair, and computes how often each node ran and was entered.
    pub(super) fn set_arcs(&mut self, mut arcs: Vec<NodeArc>) {
        arcs.sort_unstable_by_key(|arc| (arc.caller, arc.callee));
        arcs.dedup_by(|next, first| {
            let is_same = (first.caller, first.callee) == (next.caller, next.callee);
            if is_same {
                first.calls += next.calls;
            }
            is_same
        });
        let nodes = self.calls.len();
        let mut incoming = vec![0; nodes];
        self.starts = vec![0; nodes + 1];
        for arc in &arcs {
            incoming[arc.callee] += arc.calls;
            self.starts[arc.caller + 1] += 1;
        }
        for node in 0..nodes {
            self.starts[node + 1] += self.starts[node];
        }
        self.arcs = arcs;
        for (node, incoming) in incoming.into_iter().enumerate() {
            let calls = self.calls[node].max(incoming);
            let ran = calls > 0
                || self.cost[node].iter().any(|cost| *cost != 0)
                || !self.from(node).is_empty();
            self.calls[node] = if ran { calls.max(1) } else { 0 };
            self.entered[node] = self.calls[node] - incoming;
        }
    }

    /// Enters each component that nothing enters, such as in a run whose beginning is missing. Enters it once, at the first
    /// member among those that ran most often.
    pub(super) fn enter_components(&mut self) {
        let component_of = self.components();
        let count = component_of.iter().max().map_or(0, |last| last + 1);
        let mut is_entered = vec![false; count];
        let mut most: Vec<Option<usize>> = vec![None; count];
        for (node, component) in component_of.iter().enumerate() {
            is_entered[*component] |= self.entered[node] > 0 || self.calls[node] == 0;
            let most = &mut most[*component];
            if most.is_none_or(|most| self.calls[node] > self.calls[most]) {
                *most = Some(node);
            }
        }
        for arc in &self.arcs {
            let callee = component_of[arc.callee];
            is_entered[callee] |= component_of[arc.caller] != callee;
        }
        for (node, is_entered) in most.iter().zip(is_entered) {
            if let Some(node) = node.filter(|_| !is_entered) {
                self.calls[node] += 1;
                self.entered[node] += 1;
            }
        }
    }

    /// Returns the component of each node, callees first.
    pub(super) fn components(&self) -> Vec<usize> {
        let arcs = self.arcs.iter().map(|arc| (arc.caller, arc.callee));
        components(self.calls.len(), arcs)
    }

    /// Returns the arcs that leave a node.
    pub(super) fn from(&self, node: usize) -> &[NodeArc] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    /// Returns the number of calls from one node to another.
    pub(super) fn calls_between(&self, caller: usize, callee: usize) -> Count {
        let arcs = self.from(caller);
        let found = arcs.binary_search_by_key(&callee, |arc| arc.callee);
        found.map_or(0, |position| arcs[position].calls)
    }

    /// Returns this graph with the calls and costs of another run for nodes that did not run in this run. A node that ran
    /// calls only nodes that ran.
    pub(super) fn completed_by(&self, other: &CallGraph) -> CallGraph {
        let mut completed = CallGraph::new(self.calls.len(), 0);
        completed.cost.clear();
        for node in 0..self.calls.len() {
            let source = if self.calls[node] > 0 { self } else { other };
            completed.calls[node] = source.calls[node];
            completed.cost.push(source.cost[node].clone());
            completed.starts.push(completed.arcs.len());
            completed.arcs.extend_from_slice(source.from(node));
        }
        completed.starts.push(completed.arcs.len());
        completed
    }
}
