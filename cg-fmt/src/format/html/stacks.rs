//! Stacks as a tree: functions below their callers, with self costs.

use cg_collections::maps::{Map, OrderedSet};
use cg_profile::{Key, Profile};
use cg_stream::record::{Count, RecordType};
use cg_viewer::PageData;

use super::functions::{FunctionsOf, PageFunction, PageFunctions};
use super::inlined::InlinedCosts;
use crate::options::GroupBy;
use crate::report::diff::Diffs;
use crate::report::records::threads::Origins;

/// The maximum number of nodes that a page handles easily. The narrowest nodes are left out, and their cost is in one node
/// below their callers.
const MOST_NODES: usize = 150_000;
/// The maximum number of nodes of estimated stacks. Their detailed costs are a guess, and would be a third of a page.
const MOST_ESTIMATED: usize = 2_500;
/// The maximum number of counts of estimated stacks, over all events.
const MOST_ESTIMATED_COUNTS: usize = 3 * MOST_ESTIMATED;

/// The name of the node with the cost of omitted frames.
const LEFT_OUT: &str = "(frames too narrow for a page)";

/// The self cost of the innermost function of a stack.
struct StackCost {
    node: u32,
    /// The snapshot, if there are heaps of several snapshots.
    snapshot: Option<u64>,
    thread: u32,
    /// One count per column.
    counts: Vec<Option<Count>>,
}

/// The maximum number of samples that a page shows in the order of time.
const MOST_SAMPLES: usize = 200_000;

/// The cost of one sample, or of a piece of a slice.
struct TimedSample {
    thread: u32,
    time: u64,
    node: u32,
    counts: Vec<Count>,
}

/// A function below its caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    outer: u32,
    function: PageFunction,
    /// True for a function that was inlined into its caller.
    is_inlined: bool,
}

/// The stacks of a page under construction.
pub(super) struct StackForest {
    /// Callers precede callees. The first node is the root.
    nodes: Vec<Node>,
    ids: Map<Node, u32>,
    costs: Vec<StackCost>,
    /// The position in `costs` for a node, a snapshot and a thread.
    places: Map<(u32, Option<u64>, u32), usize>,
    columns: usize,
    /// The names of threads. The first name, the empty one, is for samples without a thread.
    threads: OrderedSet<String>,
    /// The samples in the order of time. Empty if the profile has no times.
    samples: Vec<TimedSample>,
    /// True if the cost of each timed sample is the time from then on.
    pub(super) has_spans: bool,
    /// The inlined functions in each function.
    inlined: InlinedCosts,
}

impl StackForest {
    pub(super) fn new(columns: usize) -> StackForest {
        StackForest {
            nodes: vec![Node {
                outer: 0,
                function: PageFunction(u32::MAX),
                is_inlined: false,
            }],
            ids: Map::default(),
            costs: Vec::new(),
            places: Map::default(),
            columns,
            threads: OrderedSet::from_iter([String::new()]),
            samples: Vec::new(),
            has_spans: false,
            inlined: InlinedCosts::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// Collects the chains of inlined functions, which then are below the innermost function of each stack.
    pub(super) fn inline(
        &mut self,
        chains: Option<&Profile>,
        events: &[Option<usize>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        if let Some(profile) = chains {
            self.inlined = InlinedCosts::collect(profile, events, (functions, data));
        }
    }

    /// Returns the node of a function called by a node. Adds it if it is new.
    fn below(&mut self, node: u32, function: PageFunction) -> u32 {
        self.node(Node {
            outer: node,
            function,
            is_inlined: false,
        })
    }

    fn node(&mut self, node: Node) -> u32 {
        let nodes = &mut self.nodes;
        *self.ids.entry(node).or_insert_with(|| {
            nodes.push(node);
            // The number of nodes fits into u32, because frames of deep stacks are cut.
            nodes.len() as u32 - 1
        })
    }

    fn add(
        &mut self,
        (node, snapshot, thread): (u32, Option<u64>, u32),
        counts: impl Iterator<Item = (usize, Count)>,
    ) {
        let (columns, costs) = (self.columns, &mut self.costs);
        let place = (self.places)
            .entry((node, snapshot, thread))
            .or_insert_with(|| {
                costs.push(StackCost {
                    node,
                    snapshot,
                    thread,
                    counts: vec![None; columns],
                });
                costs.len() - 1
            });
        let sums = &mut self.costs[*place].counts;
        for (column, count) in counts {
            *sums[column].get_or_insert(0) += count;
        }
    }

    /// Returns the number of a thread's name. Adds the name if it is new.
    fn thread(&mut self, name: Option<&str>) -> u32 {
        let name = name.unwrap_or_default();
        let known = self.threads.get_index_of(name);
        known.unwrap_or_else(|| self.threads.insert_full(name.to_owned()).0) as u32
    }

    /// Adds the stacks of records. The event `events[n]` goes to column `n`. For a run of a diff, with `side` 0 or 1, it
    /// goes to column `2 * n + side`.
    pub(super) fn add_records(
        &mut self,
        profile: &Profile,
        kind: RecordType,
        (events, side): (&[Option<usize>], Option<usize>),
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        let mut known = FunctionsOf::new(profile, side.is_some());
        let column = |event: usize| side.map_or(event, |side| 2 * event + side);
        let table = profile.table(kind);
        let origins = Origins::collect(profile, table, GroupBy::Thread);
        for (row, key) in table.keys().enumerate() {
            let node = self.add_stack(profile, &key, (&mut known, functions, data));
            let thread = origins.label(profile, table, row, GroupBy::Thread);
            let thread = self.thread(thread.as_deref());
            let snapshot = key.snapshot.filter(|_| side.is_none());
            let cost = table.cost(row);
            let count = |event: &Option<usize>| cost.get((*event)?).copied();
            let counts: Vec<Count> = events.iter().map(|e| count(e).unwrap_or(0)).collect();
            let parts = self
                .inlined
                .parts(self.nodes[node as usize].function, counts);
            for (chain, counts) in parts {
                let node = chain.into_iter().fold(node, |outer, function| {
                    self.node(Node {
                        outer,
                        function,
                        is_inlined: true,
                    })
                });
                let counts = counts.into_iter().enumerate();
                let counts = counts.filter(|(_, count)| *count != 0);
                let counts = counts.map(|(position, count)| (column(position), count));
                self.add((node, snapshot, thread), counts);
            }
        }
    }

    /// Returns the node of a row's stack. Adds new nodes.
    fn add_stack(
        &mut self,
        profile: &Profile,
        key: &Key,
        (known, functions, data): (&mut FunctionsOf<'_>, &mut PageFunctions, &mut PageData),
    ) -> u32 {
        let frames = profile.stacks().frames_of(key.stack);
        if frames.is_empty() {
            return self.below(0, known.get(key.function, functions, data));
        }
        frames.iter().rev().fold(0, |node, frame| {
            self.below(node, known.get(frame.function, functions, data))
        })
    }

    /// Adds the samples in the order of time for each thread, if all have a time. Returns false if there are too many samples.
    pub(super) fn add_samples(
        &mut self,
        profile: &Profile,
        events: &[Option<usize>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) -> bool {
        let table = profile.table(RecordType::Stack);
        let has_times = table.keys().all(|key| key.time.is_some());
        if !has_times {
            return true;
        }
        if table.len() > MOST_SAMPLES {
            return false;
        }
        let mut known = FunctionsOf::new(profile, false);
        let origins = Origins::collect(profile, table, GroupBy::Thread);
        for (row, key) in table.keys().enumerate() {
            let node = self.add_stack(profile, &key, (&mut known, functions, data));
            let count = |event: &Option<usize>| event.map_or(0, |event| table.count(row, event));
            let thread = origins.label(profile, table, row, GroupBy::Thread);
            let thread = self.thread(thread.as_deref());
            self.samples.push(TimedSample {
                thread,
                time: key.time.unwrap_or(0),
                node,
                counts: events.iter().map(count).collect(),
            });
        }
        self.samples
            .sort_by_key(|sample| (sample.thread, sample.time));
        true
    }

    /// Adds the stacks of a diff, with two columns per event.
    pub(super) fn add_diff(
        &mut self,
        diffs: &Diffs<'_>,
        events: &[String],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) {
        let runs = diffs.compared();
        for record in diffs
            .records
            .iter()
            .filter(|record| !record.stack.is_empty())
        {
            let mut node = 0;
            for frame in record.stack.iter().rev() {
                node = self.below(node, functions.intern_frame(frame, data));
            }
            let counts = events.iter().enumerate().flat_map(|(position, event)| {
                let entries = record.cost.get(event);
                runs.into_iter().enumerate().filter_map(move |(side, run)| {
                    let count = entries?.0.get(run).copied().flatten()?;
                    Some((2 * position + side, count))
                })
            });
            self.add((node, None, 0), counts);
        }
    }

    /// Returns the inclusive cost of each node as a share of the total: the largest share of any column.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0_f64; self.nodes.len()];
        for column in 0..self.columns {
            let mut sums = vec![0.0_f64; self.nodes.len()];
            for cost in &self.costs {
                sums[cost.node as usize] += cost.counts[column].unwrap_or(0).abs() as f64;
            }
            for node in (1..sums.len()).rev() {
                sums[self.nodes[node].outer as usize] += sums[node];
            }
            let whole = sums[0].max(1.0);
            for (share, sum) in shares.iter_mut().zip(&sums) {
                *share = share.max(sum / whole);
            }
        }
        shares
    }

    /// Removes the narrowest nodes if there are too many. Returns the number of removed nodes.
    fn cut(&mut self, most: usize, functions: &mut PageFunctions, data: &mut PageData) -> usize {
        if self.nodes.len() <= most {
            return 0;
        }
        let shares = self.shares();
        let mut sorted = shares.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let least = sorted[most];
        let rest = functions.placeholder(LEFT_OUT, data);
        let mut cut = StackForest::new(self.columns);
        cut.threads = std::mem::take(&mut self.threads);
        // For each old node, its new node, and true if the old node is removed.
        let mut kept = vec![(0_u32, false)];
        let mut left_out = 0;
        for (node, share) in self.nodes.iter().zip(&shares).skip(1) {
            let (outer, is_cut) = kept[node.outer as usize];
            kept.push(match is_cut || *share <= least {
                false => (cut.node(Node { outer, ..*node }), false),
                true => {
                    left_out += 1;
                    match is_cut {
                        true => (outer, true),
                        false => (cut.below(outer, rest), true),
                    }
                }
            });
        }
        for cost in &self.costs {
            let counts = cost.counts.iter().enumerate();
            let counts = counts.filter_map(|(column, count)| Some((column, (*count)?)));
            let (node, _) = kept[cost.node as usize];
            cut.add((node, cost.snapshot, cost.thread), counts);
        }
        cut.has_spans = self.has_spans;
        cut.samples = std::mem::take(&mut self.samples);
        for sample in &mut cut.samples {
            (sample.node, _) = kept[sample.node as usize];
        }
        *self = cut;
        left_out
    }

    /// Returns the nodes in preorder, with their depths.
    fn order(&self) -> (Vec<u32>, Vec<u32>) {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (node, Node { outer, .. }) in self.nodes.iter().enumerate().skip(1) {
            children[*outer as usize].push(node as u32);
        }
        let (mut order, mut depths) = (Vec::new(), Vec::new());
        let mut waiting = vec![(0, 0)];
        while let Some((node, depth)) = waiting.pop() {
            order.push(node);
            depths.push(depth);
            let inner = children[node as usize].iter().rev();
            waiting.extend(inner.map(|inner| (*inner, depth + 1)));
        }
        (order, depths)
    }

    /// Writes nodes, and costs in the named columns. Returns the number of nodes that are left out.
    pub(super) fn write(
        mut self,
        columns: &[String],
        is_estimated: bool,
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) -> usize {
        let most = match is_estimated {
            true => MOST_ESTIMATED.min(MOST_ESTIMATED_COUNTS / columns.len().max(1)),
            false => MOST_NODES,
        };
        let left_out = self.cut(most, functions, data);
        let (order, depths) = self.order();
        let mut places = vec![0_u32; order.len()];
        for (place, node) in order.iter().enumerate() {
            places[*node as usize] = place as u32;
        }
        data.numbers("t.depth", depths[1..].iter().copied());
        let node = |node: &u32| self.nodes[*node as usize];
        data.numbers("t.fn", order[1..].iter().map(|at| node(at).function));
        if self.nodes.iter().any(|node| node.is_inlined) {
            let inlined = order[1..].iter().map(|at| u32::from(node(at).is_inlined));
            data.numbers("t.inlined", inlined);
        }
        self.costs
            .sort_by_key(|cost| (cost.snapshot, cost.thread, places[cost.node as usize]));
        data.numbers(
            "s.node",
            self.costs.iter().map(|cost| places[cost.node as usize]),
        );
        if self.costs.iter().any(|cost| cost.snapshot.is_some()) {
            let snapshots = self.costs.iter().map(|cost| cost.snapshot.map(Count::from));
            data.ordinals("s.snapshot", &snapshots.collect::<Vec<_>>());
        }
        let samples = &self.samples;
        if !samples.is_empty() {
            let nodes = samples.iter().map(|sample| places[sample.node as usize]);
            data.numbers("q.node", nodes);
            data.numbers("q.time", samples.iter().map(|sample| sample.time));
            data.header
                .insert("spans".to_owned(), self.has_spans.into());
            for column in 0..columns.len() {
                let counts = samples.iter().map(|sample| Some(sample.counts[column]));
                data.counts(&format!("q.cost.{column}"), &counts.collect::<Vec<_>>());
            }
        }
        if self.threads.len() > 2 {
            data.numbers("s.thread", self.costs.iter().map(|cost| cost.thread));
            data.numbers("q.thread", samples.iter().map(|sample| sample.thread));
            data.header
                .insert("threads".to_owned(), self.threads.into_iter().collect());
        }
        for (column, name) in columns.iter().enumerate() {
            let counts: Vec<Option<Count>> = self
                .costs
                .iter()
                .map(|cost| Some(cost.counts[column].unwrap_or(0)))
                .collect();
            data.counts(&format!("s.{name}"), &counts);
        }
        left_out
    }
}
