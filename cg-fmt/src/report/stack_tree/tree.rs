//! Equal beginnings of stacks are one branch, and a node's cost is that of all stacks through it.

use std::collections::HashMap;

use cg_document::number;
use cg_stream::profile::{FrameKey, Key, Profile};
use cg_stream::record::{Count, RecordType};

/// Which end of the stacks is the root's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// A node's children are its callers.
    Innermost,
    /// A node's children are what it calls.
    Outermost,
}

/// The tree of a record type's stacks. Node 0 is the root and has no frame.
pub(crate) struct StackTree {
    nodes: Vec<StackNode>,
    /// What each node costs, as many counts a node as the profile has events, in their order.
    costs: Vec<Count>,
    events: usize,
}

struct StackNode {
    what: What,
    children: Vec<usize>,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Root,
    Frame(FrameKey),
    /// Places that Massif folded as below its threshold.
    Folded {
        places: Count,
    },
    /// Children of small cost that the reader does not see.
    Pruned {
        nodes: usize,
    },
}

/// A node as it is shown: where it is in the tree, and what its branch looks like.
pub(super) struct Branch {
    pub(super) what: What,
    pub(super) cost: Vec<Count>,
    pub(super) depth: u64,
    /// Lines that lead from the root to this node.
    pub(super) lines: String,
}

impl StackTree {
    /// The tree of the rows whose keys are wanted.
    pub(crate) fn of(
        profile: &Profile,
        kind: RecordType,
        root: Root,
        is_wanted: impl Fn(&Key) -> bool,
    ) -> StackTree {
        let rows = profile.table(kind);
        let mut tree = StackTree {
            nodes: Vec::new(),
            costs: Vec::new(),
            events: profile.events().len(),
        };
        tree.push(What::Root);
        let mut index: HashMap<(usize, Option<FrameKey>), usize> = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            if !is_wanted(key) {
                continue;
            }
            let cost = rows.cost(row);
            let frames = key
                .stack
                .map_or(&[][..], |stack| profile.stacks().frames(stack));
            let mut node = 0;
            tree.add(0, cost);
            // Folded places are callers of what is known of the stack, so they are its outermost end.
            let places = rows.beside().places.count(row);
            let known = frames.iter().map(|frame| Some(*frame));
            let path: Vec<Option<FrameKey>> = match root {
                Root::Innermost => known.chain(places.map(|_| None)).collect(),
                Root::Outermost => places
                    .map(|_| None)
                    .into_iter()
                    .chain(known.rev())
                    .collect(),
            };
            for frame in path {
                let what = frame.map_or(What::Folded { places: 0 }, What::Frame);
                node = *index.entry((node, frame)).or_insert_with(|| {
                    let child = tree.push(what);
                    tree.nodes[node].children.push(child);
                    child
                });
                tree.add(node, cost);
                if let (What::Folded { places: sum }, Some(places)) =
                    (&mut tree.nodes[node].what, places)
                {
                    *sum += places;
                }
            }
        }
        tree
    }

    /// True where no stack was wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.cost(0).iter().all(|count| *count == 0)
    }

    /// What a node costs.
    fn cost(&self, node: usize) -> &[Count] {
        &self.costs[node * self.events..(node + 1) * self.events]
    }

    /// A new node that costs nothing yet.
    fn push(&mut self, what: What) -> usize {
        self.nodes.push(StackNode {
            what,
            children: Vec::new(),
        });
        self.costs.resize(self.nodes.len() * self.events, 0);
        self.nodes.len() - 1
    }

    fn add(&mut self, node: usize, cost: &[Count]) {
        let range = node * self.events..(node + 1) * self.events;
        add(&mut self.costs[range], cost);
    }

    /// The nodes from the root down, the most expensive child first, by one event. Children below `least` are folded
    /// into one node each family, and the root is always there.
    pub(super) fn shown(&self, profile: &Profile, event: usize, least: Count) -> Vec<Branch> {
        let mut walk = Walk {
            tree: self,
            profile,
            event,
            least,
            shown: Vec::new(),
        };
        walk.node(0, 0, "", "");
        walk.shown
    }
}

fn add(sums: &mut [Count], cost: &[Count]) {
    for (sum, count) in sums.iter_mut().zip(cost) {
        *sum += count;
    }
}

/// No tree is shown deeper than this. Valgrind's stacks have at most 500 frames (`--num-callers`), but a stream may hold
/// anything.
const DEEPEST: u64 = 1000;

/// The state of [`StackTree::shown`].
struct Walk<'a> {
    tree: &'a StackTree,
    profile: &'a Profile,
    event: usize,
    least: Count,
    shown: Vec<Branch>,
}

impl Walk<'_> {
    /// Shows a node and its children. `lines` lead to the node, `below` to what is below it.
    fn node(&mut self, node: usize, depth: u64, lines: &str, below: &str) {
        let cost = self.tree.cost(node).to_vec();
        self.push(self.tree.nodes[node].what, cost, depth, lines);
        let children = self.sorted_children(node);
        let seen = match depth {
            ..DEEPEST => children.partition_point(|child| self.cost_of(*child) >= self.least),
            _ => 0,
        };
        let (seen, pruned) = children.split_at(seen);
        // What is folded and comes to nothing is not worth a line.
        let costs = |child: &usize| self.tree.cost(*child);
        let has_more = pruned.iter().flat_map(costs).any(|count| *count != 0);
        for (position, child) in seen.iter().enumerate() {
            let is_last = position + 1 == seen.len() && !has_more;
            let (corner, beside) = corner(depth, is_last);
            self.node(
                *child,
                depth + 1,
                &format!("{below}{corner}"),
                &format!("{below}{beside}"),
            );
        }
        if has_more {
            let mut sum = vec![0; self.tree.events];
            for child in pruned {
                add(&mut sum, self.tree.cost(*child));
            }
            let what = What::Pruned {
                nodes: pruned.len(),
            };
            let (corner, _) = corner(depth, true);
            self.push(what, sum, depth + 1, &format!("{below}{corner}"));
        }
    }

    fn push(&mut self, what: What, cost: Vec<Count>, depth: u64, lines: &str) {
        self.shown.push(Branch {
            what,
            cost,
            depth,
            lines: lines.to_owned(),
        });
    }

    fn sorted_children(&self, node: usize) -> Vec<usize> {
        let mut children = self.tree.nodes[node].children.clone();
        // What a node is called decides between equals; line numbers decide between frames of one function.
        children.sort_by_cached_key(|child| {
            let line = match &self.tree.nodes[*child].what {
                What::Frame(frame) => frame.line,
                _ => None,
            };
            let text = self.tree.nodes[*child].what.text(self.profile);
            (
                std::cmp::Reverse(self.cost_of(*child)),
                line.is_none(),
                text,
                line,
            )
        });
        children
    }

    fn cost_of(&self, node: usize) -> Count {
        self.tree.cost(node).get(self.event).copied().unwrap_or(0)
    }
}

/// The line to a child, and the line beside what is below that child. Children of the root begin at the margin.
fn corner(depth: u64, is_last: bool) -> (&'static str, &'static str) {
    match (depth, is_last) {
        (0, _) => ("", ""),
        (_, true) => ("└─ ", "   "),
        (_, false) => ("├─ ", "│  "),
    }
}

impl What {
    /// What a node is called.
    pub(super) fn text(&self, profile: &Profile) -> String {
        match self {
            What::Root => "total".to_owned(),
            What::Frame(frame) => {
                let name = profile.text(frame.function.name).unwrap_or("???");
                let file = profile.text(frame.function.file);
                match (file, frame.line, profile.text(frame.function.obj)) {
                    (Some(file), Some(line), _) => format!("{name} ({file}:{line})"),
                    (Some(file), None, _) => format!("{name} ({file})"),
                    (None, _, Some(obj)) => format!("{name} (in {obj})"),
                    (None, _, None) => name.to_owned(),
                }
            }
            What::Folded { places: 1 } => "1 place below Massif's threshold".to_owned(),
            What::Folded { places } => {
                format!(
                    "{} places, all below Massif's threshold",
                    number::grouped(*places)
                )
            }
            What::Pruned { nodes: 1 } => "1 more, below the threshold".to_owned(),
            What::Pruned { nodes } => {
                let nodes = number::grouped(*nodes as Count);
                format!("{nodes} more, each below the threshold")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::Reader;

    /// The tree of heap records with these stacks (outermost frame last) and bytes; a stack that ends in a number is of
    /// that many folded places.
    fn tree(stacks: &[(&str, u64)], root: Root, least: Count) -> Vec<String> {
        let mut lines = String::new();
        for (stack, bytes) in stacks {
            let (frames, places): (Vec<&str>, Vec<&str>) = stack
                .split_whitespace()
                .partition(|word| word.parse::<u64>().is_err());
            let frames: Vec<String> = frames
                .iter()
                .map(|name| format!("{{\"fn\":\"{name}\"}}"))
                .collect();
            let places = places
                .first()
                .map_or(String::new(), |places| format!("\"places\":{places},"));
            lines += &format!(
                "{{\"type\":\"heap\",\"snapshot\":1,\"peak\":true,\"cost\":{{\"bytes\":{bytes}}},{places}\"stack\":[{}]}}\n",
                frames.join(",")
            );
        }
        let mut reader = Reader::new(lines.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        let tree = StackTree::of(&profile, RecordType::Heap, root, |_| true);
        tree.shown(&profile, 0, least)
            .iter()
            .map(|node| {
                let text = node.what.text(&profile);
                format!("{} {}{text}", node.cost[0], node.lines)
            })
            .collect()
    }

    const STACKS: [(&str, u64); 4] = [
        ("grow main", 40),
        ("grow parse main", 20),
        ("grow 3", 5),
        ("read main", 1),
    ];

    #[test]
    fn a_node_has_the_cost_of_all_stacks_through_it() {
        assert_eq!(
            tree(&STACKS, Root::Innermost, 0),
            [
                "66 total",
                "65 grow",
                "40 ├─ main",
                "20 ├─ parse",
                "20 │  └─ main",
                "5 └─ 3 places, all below Massif's threshold",
                "1 read",
                "1 └─ main",
            ]
        );
        assert_eq!(
            tree(&STACKS, Root::Outermost, 0),
            [
                "66 total",
                "61 main",
                "40 ├─ grow",
                "20 ├─ parse",
                "20 │  └─ grow",
                "1 └─ read",
                "5 3 places, all below Massif's threshold",
                "5 └─ grow",
            ]
        );
    }

    #[test]
    fn what_is_below_the_threshold_is_folded_with_its_sum() {
        assert_eq!(
            tree(&STACKS, Root::Innermost, 21),
            [
                "66 total",
                "65 grow",
                "40 ├─ main",
                "25 └─ 2 more, each below the threshold",
                "1 1 more, below the threshold",
            ]
        );
    }

    #[test]
    fn a_stack_of_any_depth_is_shown_as_deep_as_people_read() {
        let deep = "f ".repeat(5000);
        let shown = tree(&[(&deep, 7)], Root::Innermost, 0);
        assert_eq!(shown.len() as u64, DEEPEST + 2);
        assert!(shown.last().unwrap().starts_with("7 "));
        assert!(
            shown
                .last()
                .unwrap()
                .ends_with("1 more, below the threshold")
        );
    }
}
