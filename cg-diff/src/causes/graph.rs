//! The graph of calls of one run, between the rows of a comparison.

use cg_stream::components::components;
use cg_stream::maps::Map;
use cg_stream::profile::{FunctionKey, Key};
use cg_stream::record::{Count, RecordType};
use cg_stream::sorting::Order as _;

use crate::compare::{self, Comparison};
use crate::join::FunctionRows;
use crate::runs::Runs;

/// What a node is: the row of a function, or one that has none since it costs nothing itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeFunction {
    Row(usize),
    Key(FunctionKey),
}

/// The nodes of the graphs of both runs: functions, and where chains of inlined ones are known these, innermost first.
pub(super) struct Nodes<'a> {
    /// What each is, in the order of their names.
    pub(super) chains: Vec<Vec<NodeFunction>>,
    /// The node of each row, out of line.
    by_row: Vec<usize>,
    /// The others.
    by_chain: Map<Vec<NodeFunction>, usize>,
    rows: &'a FunctionRows,
    /// Whether chains of inlined functions are known.
    has_chains: bool,
}

impl Nodes<'_> {
    pub(super) fn of<'a>(comparison: &Comparison, rows: &'a FunctionRows) -> Nodes<'a> {
        let (runs, joined) = (comparison.runs, comparison.joined);
        let functions = comparison.changes.iter();
        let functions = functions.filter(|change| joined.rows[change.row].of == RecordType::Fn);
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
            for of in [RecordType::Inline, RecordType::Call] {
                for key in profile.table(of).keys() {
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

    /// Adds a chain, and all that it is inlined into.
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

    /// The node of a chain.
    fn of_chain(&self, chain: &[NodeFunction]) -> Option<usize> {
        match chain {
            [NodeFunction::Row(row)] => Some(self.by_row[*row]),
            _ => self.by_chain.get(chain).copied(),
        }
    }

    fn function(&self, function: FunctionKey, of: &Key) -> NodeFunction {
        let row = self.rows.row(function, of);
        row.map_or(NodeFunction::Key(function), NodeFunction::Row)
    }

    /// The functions whose code a record is of: of an `inline` record its stack, of a `call` record those that the call was
    /// inlined from and the caller.
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

    /// The node of the code that a record is of.
    fn node(&self, runs: &Runs, key: &Key) -> Option<usize> {
        match self.has_chains {
            true => self.of_chain(&self.chain(runs, key)),
            false => self.of_chain(&[self.function(key.function, key)]),
        }
    }

    /// The node that a `call` record leads to.
    pub(super) fn callee(&self, key: &Key) -> Option<usize> {
        self.of_chain(&[self.function(key.callee?, key)])
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
    /// How often each node ran: its calls, at least those that come in, and once where it has costs or calls all the same.
    pub(super) calls: Vec<Count>,
    /// How often each node was entered from outside: what is left of its calls.
    pub(super) entered: Vec<Count>,
    /// Self cost of each node, an entry an event.
    pub(super) cost: Vec<Vec<Count>>,
    /// Whether anything of the node itself ran.
    has_code: Vec<bool>,
    /// Sorted by caller and callee, one for each pair.
    pub(super) arcs: Vec<NodeArc>,
    /// Where the arcs of each caller begin; one more at the end.
    starts: Vec<usize>,
    /// How many calls are between functions of which one has no record.
    pub(super) without_ends: Count,
}

impl CallGraph {
    /// The graph of one side of a comparison, with the costs of these events.
    pub(super) fn of(runs: &Runs, nodes: &Nodes, side: usize, events: &[usize]) -> CallGraph {
        let mut graph = CallGraph::new(nodes.chains.len(), events.len());
        let mut arcs: Vec<NodeArc> = Vec::new();
        let of_cost = match nodes.has_chains {
            true => RecordType::Inline,
            false => RecordType::Fn,
        };
        for profile in runs.files_of(side) {
            let positions: Vec<Option<usize>> = (events.iter())
                .map(|event| runs.position(profile, *event))
                .collect();
            let profile = &runs.profiles[profile];
            let costs = profile.table(of_cost);
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
                if let Some(node) = nodes.of_chain(&[nodes.function(key.function, key)]) {
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

    /// Enters what is inlined from what it is inlined into, once for each call of the function that holds it all.
    fn enter_inlined(&mut self, nodes: &Nodes) {
        let mut inlined: Vec<(usize, usize, usize)> = Vec::new();
        for (node, chain) in nodes
            .chains
            .iter()
            .enumerate()
            .filter(|(node, _)| self.has_code[*node])
        {
            for outer in 1..chain.len() {
                let at = |position: usize| nodes.of_chain(&chain[position..]);
                if let (Some(host), Some(into), Some(inner)) =
                    (at(chain.len() - 1), at(outer), at(outer - 1))
                {
                    inlined.push((host, into, inner));
                }
            }
            debug_assert!(nodes.of_chain(chain) == Some(node));
        }
        if inlined.is_empty() {
            return;
        }
        inlined.sort_unstable();
        inlined.dedup();
        let mut arcs = std::mem::take(&mut self.arcs);
        for (host, into, inner) in inlined {
            // What holds code that ran did run itself.
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

    /// Takes the arcs, adds up those of one pair, and says how often each node ran and was entered.
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

    /// A component that nothing enters, as of a run that was cut at its beginning, is entered once, at the member that ran
    /// most often; of several at the first.
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

    /// The component of each node, callees first.
    pub(super) fn components(&self) -> Vec<usize> {
        let arcs = self.arcs.iter().map(|arc| (arc.caller, arc.callee));
        components(self.calls.len(), arcs)
    }

    /// The arcs that leave a node.
    pub(super) fn from(&self, node: usize) -> &[NodeArc] {
        &self.arcs[self.starts[node]..self.starts[node + 1]]
    }

    /// How often one node called another.
    pub(super) fn calls_between(&self, caller: usize, callee: usize) -> Count {
        let arcs = self.from(caller);
        let found = arcs.binary_search_by_key(&callee, |arc| arc.callee);
        found.map_or(0, |position| arcs[position].calls)
    }

    /// This graph, where a node that did not run has the calls and the cost that it has in another run. A node that ran
    /// in this one calls none that did not.
    pub(super) fn completed_by(&self, other: &CallGraph) -> CallGraph {
        let mut completed = CallGraph::new(self.calls.len(), 0);
        completed.cost.clear();
        for node in 0..self.calls.len() {
            let of = if self.calls[node] > 0 { self } else { other };
            completed.calls[node] = of.calls[node];
            completed.cost.push(of.cost[node].clone());
            completed.starts.push(completed.arcs.len());
            completed.arcs.extend_from_slice(of.from(node));
        }
        completed.starts.push(completed.arcs.len());
        completed
    }
}
