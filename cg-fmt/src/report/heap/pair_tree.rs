//! The trees of two snapshots in one tree, whose nodes have the bytes of both.
//!
//! Massif prints places below its threshold as one sum. If both trees have a node, a place below it that only one tree shows
//! may be in the sum of the other tree. Then the difference of this place is unknown, and so is the difference of the sum.
//! But the difference of all of them together is known, because bytes can move only between them. So one row contains all of
//! them, and the differences below a node add up to the difference of the node.

use std::cmp::Reverse;
use std::collections::HashMap;

use cg_collections::sorting::Order as _;
use cg_profile::{FrameKey, Key, Profile};
use cg_stream::record::{Count, RecordType};

use crate::report::stack_tree::{corner, name_and_place};

/// The maximum depth of the shown tree. A stream may contain stacks of any length.
const DEEPEST: usize = 1000;

/// The trees of two snapshots.
pub(super) struct PairTree {
    /// The first node is the root. Children follow their parents.
    nodes: Vec<PairNode>,
    /// For each node, the largest change in it. A row with an unknown change counts with its bytes.
    movement: Vec<Count>,
}

#[derive(Default)]
struct PairNode {
    /// `None` for the root and for places below Massif's threshold.
    frame: Option<FrameKey>,
    children: Vec<usize>,
    /// The bytes in each snapshot; `None` if the snapshot does not have the node.
    bytes: [Option<Count>; 2],
    /// The number of places below the threshold, if the node is their sum.
    places: [Option<Count>; 2],
}

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairRowKind {
    Total,
    Frame(FrameKey),
    /// Places below Massif's threshold, with their number in each snapshot.
    Places([Option<Count>; 2]),
    /// Places that one snapshot shows and the other may have below the threshold, together with the places below it.
    Among,
    /// The memory that the frame above allocated itself.
    Itself,
    /// The number of folded rows, each with a small change.
    Pruned(usize),
}

/// A row of the tree.
pub(super) struct PairRow {
    pub(super) kind: PairRowKind,
    pub(super) bytes: [Option<Count>; 2],
    /// True if the bytes of both snapshots are known, so the difference is known.
    pub(super) is_known: bool,
    pub(super) depth: usize,
    /// The lines of the drawn tree before this row.
    pub(super) lines: String,
}

impl PairRow {
    /// Returns the difference; `None` if it is unknown.
    pub(super) fn delta(&self) -> Option<Count> {
        self.is_known.then(|| delta(self.bytes))
    }
}

/// A candidate for a row below a node.
struct Below {
    kind: PairRowKind,
    bytes: [Option<Count>; 2],
    movement: Count,
    /// The nodes in the row.
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
    /// Builds the tree of two snapshots; `None` means an empty heap.
    pub(super) fn build(profile: &Profile, snapshots: [Option<u64>; 2], event: usize) -> PairTree {
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
                    tree.add(profile, &key, (side, bytes, places), &mut index);
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

    /// Returns the children of a node whose differences are unknown, together with the sum of places that may contain them.
    fn children_below_threshold(&self, node: usize) -> Vec<usize> {
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
        // If only one snapshot has the node, all differences below it are known.
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

    fn row_for_node(&self, node: usize, is_known: bool) -> Below {
        let PairNode { bytes, places, .. } = self.nodes[node];
        Below {
            kind: match self.nodes[node].frame {
                Some(frame) => PairRowKind::Frame(frame),
                None => PairRowKind::Places(places),
            },
            bytes,
            movement: match is_known {
                true => self.movement[node],
                false => bytes.into_iter().flatten().max().unwrap_or(0),
            },
            nodes: vec![node],
        }
    }

    /// Returns the parts of a node. Their differences add up to the difference of the node.
    fn below(&self, node: usize) -> Vec<Below> {
        let children = &self.nodes[node].children;
        if children.is_empty() {
            return Vec::new();
        }
        let unknown = self.children_below_threshold(node);
        let known = children.iter().filter(|child| !unknown.contains(child));
        let mut below: Vec<Below> = known.map(|child| self.row_for_node(*child, true)).collect();
        if !unknown.is_empty() {
            below.push(Below {
                kind: PairRowKind::Among,
                bytes: self.sum(&unknown),
                movement: self.sum(&unknown).into_iter().flatten().max().unwrap_or(0),
                nodes: unknown,
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

    /// Returns the rows from the root down, the largest change first. The children of a node that changed by less than
    /// `least` are folded into one row.
    pub(super) fn rows(&self, profile: &Profile, least: Count) -> Vec<PairRow> {
        let mut walk = PairWalk {
            tree: self,
            profile,
            least: least.max(1),
            rows: Vec::new(),
        };
        let total = Below {
            kind: PairRowKind::Total,
            ..self.row_for_node(0, true)
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
    /// Adds a row and the rows below it. `lines` and `below` are the lines of the drawn tree before the row and before the
    /// rows below it.
    fn row(&mut self, row: &Below, (depth, is_known): (usize, bool), [lines, below]: [&str; 2]) {
        self.rows.push(PairRow {
            kind: row.kind,
            bytes: row.bytes,
            is_known,
            depth,
            lines: lines.to_owned(),
        });
        let mut inner = match (row.kind, &row.nodes[..]) {
            (PairRowKind::Among, _) => {
                let nodes = row.nodes.iter();
                nodes
                    .map(|node| self.tree.row_for_node(*node, false))
                    .collect()
            }
            (_, [node]) => self.tree.below(*node),
            _ => Vec::new(),
        };
        // If the difference of a row is unknown, the differences of the rows below it are unknown too.
        let is_known = is_known && row.kind != PairRowKind::Among;
        inner.order_by_cached_key(|below| (Reverse(below.movement), self.text(below.kind)));
        let seen = match depth {
            DEEPEST.. => 0,
            _ if !is_known => inner.len(),
            _ => inner.partition_point(|below| below.movement >= self.least),
        };
        let pruned = self.pruned(&inner[seen..]);
        let count = seen + usize::from(pruned.is_some());
        for (at, one) in inner[..seen].iter().chain(&pruned).enumerate() {
            // Only branches are indented. A chain is not.
            let [corner, beside] = match depth > 1 && count == 1 {
                true => ["", ""],
                false => corner(depth as u64, at + 1 == count).into(),
            };
            let lines = [format!("{below}{corner}"), format!("{below}{beside}")];
            self.row(one, (depth + 1, is_known), [&lines[0], &lines[1]]);
        }
    }

    /// Folds rows into one; `None` if there is nothing to fold.
    fn pruned(&self, rows: &[Below]) -> Option<Below> {
        // Places that are empty in both snapshots get no row.
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
