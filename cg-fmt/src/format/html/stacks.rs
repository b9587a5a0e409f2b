//! Stacks as a tree: functions below those that called them, and what arose in each.

use cg_stream::maps::{Map, OrderedSet};
use cg_stream::profile::{Key, Profile};
use cg_stream::record::{Count, RecordType};

use super::data::PageData;
use super::functions::{FunctionsOf, PageFunction, PageFunctions};
use crate::report::diff::Diffs;

/// More nodes than a page holds with ease: the narrowest are left out, and what they cost is told below their callers.
const MOST_NODES: usize = 150_000;
/// The same of stacks that are estimated, and their counts of all events: what they cost in detail is a guess, and would be
/// a third of a page.
const MOST_ESTIMATED: usize = 2_500;
const MOST_ESTIMATED_COUNTS: usize = 3 * MOST_ESTIMATED;

/// What the frames are called that are left out.
const LEFT_OUT: &str = "(frames too narrow for a page)";

/// What arose in the innermost function of a stack.
struct StackCost {
    node: u32,
    /// The snapshot, where heaps of several are told.
    snapshot: Option<u64>,
    thread: u32,
    /// A count for each column.
    counts: Vec<Option<Count>>,
}

/// More samples than a page shows in the order of their times.
const MOST_SAMPLES: usize = 200_000;

/// What one sample, or several that follow each other, cost at a place.
struct TimedSample {
    thread: u32,
    time: u64,
    node: u32,
    counts: Vec<Count>,
}

/// Stacks while they are collected.
pub(super) struct StackForest {
    /// Caller and function; callers come first. The first node stands for all.
    nodes: Vec<(u32, PageFunction)>,
    ids: Map<(u32, PageFunction), u32>,
    costs: Vec<StackCost>,
    /// Where the cost of a node, a snapshot and a thread is.
    places: Map<(u32, Option<u64>, u32), usize>,
    columns: usize,
    /// Names of threads; the first is of those without.
    threads: OrderedSet<String>,
    /// Where the profile tells when samples were taken.
    samples: Vec<TimedSample>,
}

impl StackForest {
    pub(super) fn new(columns: usize) -> StackForest {
        StackForest {
            nodes: vec![(0, PageFunction(u32::MAX))],
            ids: Map::default(),
            costs: Vec::new(),
            places: Map::default(),
            columns,
            threads: OrderedSet::from_iter([String::new()]),
            samples: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// The function that a node called, as a node.
    fn below(&mut self, node: u32, function: PageFunction) -> u32 {
        let nodes = &mut self.nodes;
        *self.ids.entry((node, function)).or_insert_with(|| {
            nodes.push((node, function));
            // Names of a page are fewer than ids; stacks are cut far below.
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

    /// The number of a thread's name.
    fn thread(&mut self, name: Option<&str>) -> u32 {
        let name = name.unwrap_or_default();
        let known = self.threads.get_index_of(name);
        known.unwrap_or_else(|| self.threads.insert_full(name.to_owned()).0) as u32
    }

    /// Adds the stacks of records; the event at `events[n]` goes into the column `n`. Of a run of a diff, whose `side` is
    /// 0 or 1, it goes into the column `2 * n + side`.
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
        for (row, key) in table.keys().iter().enumerate() {
            let node = self.node_of(profile, key, (&mut known, functions, data));
            let thread = self.thread(profile.text(key.thread_name));
            let cost = table.cost(row);
            let counts = events.iter().enumerate().filter_map(|(position, event)| {
                let count = *cost.get((*event)?)?;
                (count != 0).then_some((column(position), count))
            });
            let snapshot = key.snapshot.filter(|_| side.is_none());
            self.add((node, snapshot, thread), counts);
        }
    }

    /// The node of a row's stack.
    fn node_of(
        &mut self,
        profile: &Profile,
        key: &Key,
        (known, functions, data): (&mut FunctionsOf<'_>, &mut PageFunctions, &mut PageData),
    ) -> u32 {
        let frames = profile.stacks().frames_of(key.stack);
        if frames.is_empty() {
            return self.below(0, known.of(key.function, functions, data));
        }
        frames.iter().rev().fold(0, |node, frame| {
            self.below(node, known.of(frame.function, functions, data))
        })
    }

    /// Notes in what order samples were taken, if all have a time: thread by thread, those of a place that follow each other
    /// as one. False if there are too many.
    pub(super) fn add_samples(
        &mut self,
        profile: &Profile,
        events: &[Option<usize>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) -> bool {
        let table = profile.table(RecordType::Stack);
        let has_times = table.keys().iter().all(|key| key.time.is_some());
        if !has_times {
            return true;
        }
        if table.len() > MOST_SAMPLES {
            return false;
        }
        let mut known = FunctionsOf::new(profile, false);
        for (row, key) in table.keys().iter().enumerate() {
            let node = self.node_of(profile, key, (&mut known, functions, data));
            let count = |event: &Option<usize>| event.map_or(0, |event| table.count(row, event));
            let thread = self.thread(profile.text(key.thread_name));
            self.samples.push(TimedSample {
                thread,
                time: key.time.unwrap_or(0),
                node,
                counts: events.iter().map(count).collect(),
            });
        }
        self.samples
            .sort_by_key(|sample| (sample.thread, sample.time));
        self.samples.dedup_by(|next, sample| {
            let is_same = (next.thread, next.node) == (sample.thread, sample.node);
            if is_same {
                let sums = sample.counts.iter_mut().zip(&next.counts);
                sums.for_each(|(sum, count)| *sum += count);
            }
            is_same
        });
        true
    }

    /// Adds the stacks of a diff, two columns an event.
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
                node = self.below(node, functions.of_frame(frame, data));
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

    /// What each node costs with all it called: the largest share of a column, in parts of a total.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0_f64; self.nodes.len()];
        for column in 0..self.columns {
            let mut sums = vec![0.0_f64; self.nodes.len()];
            for cost in &self.costs {
                sums[cost.node as usize] += cost.counts[column].unwrap_or(0).abs() as f64;
            }
            for node in (1..sums.len()).rev() {
                sums[self.nodes[node].0 as usize] += sums[node];
            }
            let whole = sums[0].max(1.0);
            for (share, sum) in shares.iter_mut().zip(&sums) {
                *share = share.max(sum / whole);
            }
        }
        shares
    }

    /// Leaves out the narrowest nodes where there are too many; returns how many.
    fn cut(&mut self, most: usize, functions: &mut PageFunctions, data: &mut PageData) -> usize {
        if self.nodes.len() <= most {
            return 0;
        }
        let shares = self.shares();
        let mut sorted = shares.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let least = sorted[most];
        let rest = functions.stand_in(LEFT_OUT, data);
        let mut cut = StackForest::new(self.columns);
        cut.threads = std::mem::take(&mut self.threads);
        // The new node of each old one, and whether it is one that is left out.
        let mut kept = vec![(0_u32, false)];
        let mut left_out = 0;
        for (node, share) in self.nodes.iter().zip(&shares).skip(1) {
            let (outer, is_cut) = kept[node.0 as usize];
            kept.push(match is_cut || *share <= least {
                false => (cut.below(outer, node.1), false),
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
        cut.samples = std::mem::take(&mut self.samples);
        for sample in &mut cut.samples {
            (sample.node, _) = kept[sample.node as usize];
        }
        *self = cut;
        left_out
    }

    /// The order in which each node is followed by those that it called, and the depth of each.
    fn order(&self) -> (Vec<u32>, Vec<u32>) {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (node, (outer, _)) in self.nodes.iter().enumerate().skip(1) {
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

    /// Writes nodes and costs, with the names of the columns. Returns how many nodes were left out.
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
        let function = |node: &u32| self.nodes[*node as usize].1;
        data.numbers("t.fn", order[1..].iter().map(function));
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
