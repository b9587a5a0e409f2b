//! The trees of two snapshots as one: a node has the bytes of both.
//!
//! Massif prints places below its threshold as one sum. Below a node that both trees have, a place that one of them shows may
//! be in the sum of the other: then it has no difference of its own, and neither has the sum. All of these together have
//! one, as what moved between them stays among them. So the differences below a node add up to its own.

use std::cmp::Reverse;
use std::collections::HashMap;

use cg_stream::profile::{FrameKey, Key, Profile};
use cg_stream::record::{Count, RecordType};
use cg_stream::sorting::Order as _;

use crate::report::stack_tree::{corner, name_and_place};

/// No tree is shown deeper than this; a stream may hold stacks of any length.
const DEEPEST: usize = 1000;

/// The trees of two snapshots.
pub(super) struct PairTree {
    /// The first is the root; children come behind their parents.
    nodes: Vec<PairNode>,
    /// By node: the most that anything in it changed, or that is not told of it.
    movement: Vec<Count>,
}

#[derive(Default)]
struct PairNode {
    /// `None` of the root, and of places below Massif's threshold.
    frame: Option<FrameKey>,
    children: Vec<usize>,
    /// Where a snapshot has the node: its bytes.
    bytes: [Option<Count>; 2],
    /// How many places below the threshold it stands for.
    places: [Option<Count>; 2],
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairRowKind {
    Total,
    Frame(FrameKey),
    /// Places below Massif's threshold, as many as each snapshot has.
    Places([Option<Count>; 2]),
    /// Places that one snapshot shows and the other may have below the threshold, with those that are below it.
    Among,
    /// What was allocated by the frame above itself.
    Itself,
    /// Rows that changed by less than the reader wants to see.
    Pruned(usize),
}

/// A row of the tree.
pub(super) struct PairRow {
    pub(super) kind: PairRowKind,
    pub(super) bytes: [Option<Count>; 2],
    /// Whether both snapshots tell it, so that there is a difference.
    pub(super) is_told: bool,
    pub(super) depth: usize,
    /// Lines that lead from the root to this row.
    pub(super) lines: String,
}

impl PairRow {
    /// The difference, where it is told.
    pub(super) fn delta(&self) -> Option<Count> {
        self.is_told.then(|| delta(self.bytes))
    }
}

/// A row below a node, before it is known whether it is shown.
struct Below {
    kind: PairRowKind,
    bytes: [Option<Count>; 2],
    movement: Count,
    /// The node that it is of, or the nodes that it gathers.
    nodes: Vec<usize>,
}

fn delta([old, new]: [Option<Count>; 2]) -> Count {
    new.unwrap_or(0) - old.unwrap_or(0)
}

fn add(sum: &mut Option<Count>, count: Option<Count>) {
    if let Some(count) = count {
        *sum = Some(sum.unwrap_or(0) + count);
    }
}

impl PairTree {
    /// The trees of two snapshots; `None` is one that holds nothing.
    pub(super) fn of(profile: &Profile, snapshots: [Option<u64>; 2], event: usize) -> PairTree {
        let mut tree = PairTree {
            nodes: vec![PairNode::default()],
            movement: Vec::new(),
        };
        tree.nodes[0].bytes = [Some(0); 2];
        let rows = profile.table(RecordType::Heap);
        let mut index = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            let bytes = rows.count(row, event);
            let places = rows.numbers().places.count(row);
            for (side, snapshot) in snapshots.iter().enumerate() {
                if snapshot.is_some() && key.snapshot == *snapshot {
                    tree.add(profile, key, (side, bytes, places), &mut index);
                }
            }
        }
        tree.movement = vec![0; tree.nodes.len()];
        for node in (0..tree.nodes.len()).rev() {
            let below = tree.below(node).into_iter().map(|below| below.movement);
            let own = delta(tree.nodes[node].bytes).abs();
            tree.movement[node] = below.fold(own, Count::max);
        }
        tree
    }

    fn add(
        &mut self,
        profile: &Profile,
        key: &Key,
        (side, bytes, places): (usize, Count, Option<Count>),
        index: &mut HashMap<(usize, Option<FrameKey>), usize>,
    ) {
        let frames = profile.stacks().frames_of(key.stack);
        let path = frames.iter().map(|frame| Some(*frame));
        let mut node = 0;
        add(&mut self.nodes[0].bytes[side], Some(bytes));
        for frame in path.chain(places.map(|_| None)) {
            let outer = node;
            node = *index.entry((outer, frame)).or_insert(self.nodes.len());
            if node == self.nodes.len() {
                self.nodes[outer].children.push(node);
                self.nodes.push(PairNode {
                    frame,
                    ..PairNode::default()
                });
            }
            add(&mut self.nodes[node].bytes[side], Some(bytes));
        }
        add(&mut self.nodes[node].places[side], places);
    }

    fn is_places(&self, node: usize) -> bool {
        self.nodes[node].places != [None; 2]
    }

    /// The children of a node whose differences are not told, with the places among which they may be.
    fn untold(&self, node: usize) -> Vec<usize> {
        let children = self.nodes[node].children.iter().copied();
        let places = children.clone().find(|child| self.is_places(*child));
        let in_places = |side: usize| {
            let bytes = places.and_then(|places| self.nodes[places].bytes[side]);
            bytes.is_some_and(|bytes| bytes != 0)
        };
        let has = |child: usize, side: usize| self.nodes[child].bytes[side].is_some();
        let is_hidden = |child: &usize| {
            (0..2).any(|side| !has(*child, side) && in_places(side)) && !self.is_places(*child)
        };
        // A node that one snapshot alone has tells all that is below it.
        if !(has(node, 0) && has(node, 1)) {
            return Vec::new();
        }
        let hidden: Vec<usize> = children.filter(is_hidden).collect();
        match hidden.is_empty() {
            true => hidden,
            false => hidden.into_iter().chain(places).collect(),
        }
    }

    fn sum(&self, nodes: &[usize]) -> [Option<Count>; 2] {
        let mut sum = [None; 2];
        for node in nodes {
            for (sum, bytes) in sum.iter_mut().zip(self.nodes[*node].bytes) {
                add(sum, bytes);
            }
        }
        sum
    }

    fn below_of(&self, node: usize, is_told: bool) -> Below {
        let PairNode { bytes, places, .. } = self.nodes[node];
        Below {
            kind: match self.nodes[node].frame {
                Some(frame) => PairRowKind::Frame(frame),
                None => PairRowKind::Places(places),
            },
            bytes,
            movement: match is_told {
                true => self.movement[node],
                false => bytes.into_iter().flatten().max().unwrap_or(0),
            },
            nodes: vec![node],
        }
    }

    /// What a node consists of: their differences add up to its own.
    fn below(&self, node: usize) -> Vec<Below> {
        let children = &self.nodes[node].children;
        if children.is_empty() {
            return Vec::new();
        }
        let untold = self.untold(node);
        let told = children.iter().filter(|child| !untold.contains(child));
        let mut below: Vec<Below> = told.map(|child| self.below_of(*child, true)).collect();
        if !untold.is_empty() {
            below.push(Below {
                kind: PairRowKind::Among,
                bytes: self.sum(&untold),
                movement: self.sum(&untold).into_iter().flatten().max().unwrap_or(0),
                nodes: untold,
            });
        }
        let [old, new] = self.sum(children);
        let own = self.nodes[node].bytes;
        let itself = [(own[0], old), (own[1], new)].map(|(all, children)| {
            let rest = all? - children.unwrap_or(0);
            (rest != 0).then_some(rest)
        });
        if itself != [None; 2] {
            below.push(Below {
                kind: PairRowKind::Itself,
                bytes: itself,
                movement: delta(itself).abs(),
                nodes: Vec::new(),
            });
        }
        below
    }

    /// The rows from the root down, what changed most first. What changed by less than `least` is one row for each node.
    pub(super) fn rows(&self, profile: &Profile, least: Count) -> Vec<PairRow> {
        let mut walk = PairWalk {
            tree: self,
            profile,
            least: least.max(1),
            rows: Vec::new(),
        };
        let total = Below {
            kind: PairRowKind::Total,
            ..self.below_of(0, true)
        };
        walk.row(&total, (0, true), ["", ""]);
        walk.rows
    }
}

/// The state of [`PairTree::rows`].
struct PairWalk<'t> {
    tree: &'t PairTree,
    profile: &'t Profile,
    least: Count,
    rows: Vec<PairRow>,
}

impl PairWalk<'_> {
    /// Shows a row and what is below it; `lines` lead to it, and `below` to what is below it.
    fn row(&mut self, row: &Below, (depth, is_told): (usize, bool), [lines, below]: [&str; 2]) {
        self.rows.push(PairRow {
            kind: row.kind,
            bytes: row.bytes,
            is_told,
            depth,
            lines: lines.to_owned(),
        });
        let mut inner = match (row.kind, &row.nodes[..]) {
            (PairRowKind::Among, _) => {
                let nodes = row.nodes.iter();
                nodes.map(|node| self.tree.below_of(*node, false)).collect()
            }
            (_, [node]) => self.tree.below(*node),
            _ => Vec::new(),
        };
        // What is below a row that is not told is as little told, and not in doubt any further.
        let is_told = is_told && row.kind != PairRowKind::Among;
        inner.order_by_cached_key(|below| (Reverse(below.movement), self.text(below.kind)));
        let seen = match depth {
            DEEPEST.. => 0,
            _ if !is_told => inner.len(),
            _ => inner.partition_point(|below| below.movement >= self.least),
        };
        let pruned = self.pruned(&inner[seen..]);
        let count = seen + usize::from(pruned.is_some());
        for (at, one) in inner[..seen].iter().chain(&pruned).enumerate() {
            // A chain is not indented: only branches are.
            let [corner, beside] = match depth > 1 && count == 1 {
                true => ["", ""],
                false => corner(depth as u64, at + 1 == count).into(),
            };
            let lines = [format!("{below}{corner}"), format!("{below}{beside}")];
            self.row(one, (depth + 1, is_told), [&lines[0], &lines[1]]);
        }
    }

    /// Rows as one.
    fn pruned(&self, rows: &[Below]) -> Option<Below> {
        // What holds nothing in either gets no row.
        let holds = |row: &&Below| row.bytes.into_iter().flatten().any(|bytes| bytes != 0);
        let rows: Vec<&Below> = rows.iter().filter(holds).collect();
        let sum = |side: usize| Some(rows.iter().filter_map(|row| row.bytes[side]).sum());
        (!rows.is_empty()).then_some(Below {
            kind: PairRowKind::Pruned(rows.len()),
            bytes: [sum(0), sum(1)],
            movement: 0,
            nodes: Vec::new(),
        })
    }

    fn text(&self, kind: PairRowKind) -> (String, Option<u64>) {
        match kind {
            PairRowKind::Frame(frame) => {
                let (name, place) = name_and_place(&frame, self.profile);
                (format!("{name} ({place})"), frame.line)
            }
            _ => (String::new(), None),
        }
    }
}
