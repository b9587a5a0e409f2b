//! Stacks with equal beginnings share a branch, and a node's cost is that of all stacks through it.

use std::collections::HashMap;

use cg_document::{Cell, NAMELESS, number};
use cg_names::whose::{self, Facts, StackLine};
use cg_stream::profile::{FrameKey, FunctionKey, Key, Profile, StackFrames};
use cg_stream::record::{Count, RecordType, add_counts};
use cg_stream::sorting::Order as _;

use crate::report::passed_through::PassedThrough;

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
    /// Leaves out frames that only lead to another one, as in chains of inlined functions.
    passes_through: bool,
}

struct StackNode {
    what: ShownNode,
    children: Vec<usize>,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownNode {
    Root,
    Frame(FrameKey),
    /// Frames in a row that are not the program's own: the least and the greatest number of them, and what they are of.
    Libraries {
        least: usize,
        most: usize,
        of: &'static str,
    },
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
    pub(super) what: ShownNode,
    /// What is left out between its parent and it.
    through: PassedThrough,
    pub(super) cost: Vec<Count>,
    pub(super) depth: u64,
    /// Lines that lead from the root to this node.
    pub(super) lines: String,
}

/// What children of one node are told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ChildKey {
    Frame(FrameKey),
    Libraries(&'static str),
    Places,
}

impl ShownNode {
    fn forget_line(&mut self) {
        if let ShownNode::Frame(frame) = self {
            (frame.line, frame.site) = (None, None);
        }
    }
}

impl StackTree {
    /// The tree of the rows whose keys are wanted; with `folds_libraries`, frames in a row that are not the program's own
    /// are one node.
    pub(crate) fn of(
        profile: &Profile,
        kind: RecordType,
        root: Root,
        folds_libraries: bool,
        is_wanted: impl Fn(&Key) -> bool,
    ) -> StackTree {
        let rows = profile.table(kind);
        let mut tree = StackTree {
            nodes: Vec::new(),
            costs: Vec::new(),
            events: profile.events().len(),
            passes_through: kind == RecordType::Inline && root == Root::Outermost,
        };
        tree.push(ShownNode::Root);
        let mut index: HashMap<(usize, ChildKey), usize> = HashMap::new();
        let mut facts: HashMap<FunctionKey, Facts> = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            if !is_wanted(key) {
                continue;
            }
            let cost = rows.cost(row);
            let frames = profile.stacks().frames_of(key.stack);
            let mut node = 0;
            tree.add(0, cost);
            // Folded places are callers of what is known of the stack, so they are its outermost end.
            let places = rows.numbers().places.count(row);
            let mut path = match folds_libraries {
                true => folded_path(profile, frames, &mut facts),
                false => frames
                    .iter()
                    .map(|frame| ShownNode::Frame(*frame))
                    .collect(),
            };
            // An inlinee is one node below its inliner, whatever the line that it is called from.
            if kind == RecordType::Inline {
                path.iter_mut().for_each(ShownNode::forget_line);
            }
            path.extend(places.map(|places| ShownNode::Folded { places }));
            if root == Root::Outermost {
                path.reverse();
            }
            for what in path {
                let step = match what {
                    ShownNode::Frame(frame) => ChildKey::Frame(frame),
                    ShownNode::Libraries { of, .. } => ChildKey::Libraries(of),
                    ShownNode::Root | ShownNode::Folded { .. } | ShownNode::Pruned { .. } => {
                        ChildKey::Places
                    }
                };
                let child = index.get(&(node, step)).copied();
                node = match child {
                    Some(child) => {
                        tree.nodes[child].what.join(what);
                        child
                    }
                    None => {
                        let child = tree.push(what);
                        tree.nodes[node].children.push(child);
                        index.insert((node, step), child);
                        child
                    }
                };
                tree.add(node, cost);
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

    /// The next node that is worth a row, and the functions that are left out on the way to it.
    fn passed_through(&self, mut node: usize) -> (usize, PassedThrough) {
        let mut through = PassedThrough::Nothing;
        while self.passes_through
            && let ShownNode::Frame(frame) = self.nodes[node].what
            && let [child] = self.nodes[node].children[..]
            && self.cost(child) == self.cost(node)
        {
            through = through.and(frame.function);
            node = child;
        }
        (node, through)
    }

    /// A new node that costs nothing yet.
    fn push(&mut self, what: ShownNode) -> usize {
        self.nodes.push(StackNode {
            what,
            children: Vec::new(),
        });
        self.costs.resize(self.nodes.len() * self.events, 0);
        self.nodes.len() - 1
    }

    fn add(&mut self, node: usize, cost: &[Count]) {
        let range = node * self.events..(node + 1) * self.events;
        add_counts(&mut self.costs[range], cost);
    }

    /// The nodes from the root down, the most expensive child first, by one event. Children below `least` are folded
    /// into one node each family, and the root is always there.
    pub(super) fn shown(&self, profile: &Profile, event: usize, least: Count) -> Vec<Branch> {
        let mut walk = TreeWalk {
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

/// A stack, innermost frame first, its runs of frames that are not the program's own folded.
fn folded_path(
    profile: &Profile,
    frames: StackFrames<'_>,
    known: &mut HashMap<FunctionKey, Facts>,
) -> Vec<ShownNode> {
    let facts: Vec<Facts> = frames
        .iter()
        .map(|frame| {
            let function = frame.function;
            let facts = || Facts::of(&function.frame(profile.symbols()));
            *known.entry(function).or_insert_with(facts)
        })
        .collect();
    whose::folded(&whose::whose_by(&facts))
        .into_iter()
        .map(|piece| match piece {
            // The position is an index into `frames`.
            StackLine::Frame(position) => {
                ShownNode::Frame(frames.get(position).copied().unwrap_or_default())
            }
            StackLine::Libraries { frames, of } => ShownNode::Libraries {
                least: frames.len(),
                most: frames.len(),
                of,
            },
        })
        .collect()
}

/// No tree is shown deeper than this. Valgrind's stacks have at most 500 frames (`--num-callers`), but a stream may hold
/// anything.
const DEEPEST: u64 = 1000;

/// The state of [`StackTree::shown`].
struct TreeWalk<'a> {
    tree: &'a StackTree,
    profile: &'a Profile,
    event: usize,
    least: Count,
    shown: Vec<Branch>,
}

impl TreeWalk<'_> {
    /// Shows a node and its children. `lines` is the prefix of the node's row, `below` that of the rows below it.
    fn node(&mut self, node: usize, depth: u64, lines: &str, below: &str) {
        let (node, through) = match depth {
            0 | 1 => (node, PassedThrough::Nothing),
            _ => self.tree.passed_through(node),
        };
        let cost = self.tree.cost(node).to_vec();
        self.push(self.tree.nodes[node].what, cost, depth, lines);
        if let Some(branch) = self.shown.last_mut() {
            branch.through = through;
        }
        let children = self.sorted_children(node);
        let seen = match depth {
            ..DEEPEST => children.partition_point(|child| self.cost_of(*child) >= self.least),
            _ => 0,
        };
        let (seen, pruned) = children.split_at(seen);
        // Folded children that cost nothing get no row.
        let costs = |child: &usize| self.tree.cost(*child);
        let has_more = pruned.iter().flat_map(costs).any(|count| *count != 0);
        // A chain of single children is not indented further: only branches are.
        let is_chain = depth > 1 && seen.len() == 1 && !has_more;
        for (position, child) in seen.iter().enumerate() {
            let is_last = position + 1 == seen.len() && !has_more;
            let (corner, beside) = match is_chain {
                true => ("", ""),
                false => corner(depth, is_last),
            };
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
                add_counts(&mut sum, self.tree.cost(*child));
            }
            let what = ShownNode::Pruned {
                nodes: pruned.len(),
            };
            let (corner, _) = corner(depth, true);
            self.push(what, sum, depth + 1, &format!("{below}{corner}"));
        }
    }

    fn push(&mut self, what: ShownNode, cost: Vec<Count>, depth: u64, lines: &str) {
        self.shown.push(Branch {
            what,
            through: PassedThrough::Nothing,
            cost,
            depth,
            lines: lines.to_owned(),
        });
    }

    fn sorted_children(&self, node: usize) -> Vec<usize> {
        let mut children = self.tree.nodes[node].children.clone();
        // Of equal costs, frames with a line come first, then the order is that of the texts and the lines.
        children.order_by_cached_key(|child| {
            let line = match &self.tree.nodes[*child].what {
                ShownNode::Frame(frame) => frame.line,
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
pub(crate) fn corner(depth: u64, is_last: bool) -> (&'static str, &'static str) {
    match (depth, is_last) {
        (0, _) => ("", ""),
        (_, true) => ("└─ ", "   "),
        (_, false) => ("├─ ", "│  "),
    }
}

impl Branch {
    /// What it is called, behind the lines that lead to it.
    pub(super) fn cell<'c>(&self, profile: &'c Profile) -> Cell<'c> {
        let lead = &self.lines;
        match &self.what {
            ShownNode::Frame(frame) => {
                let (name, place) = name_and_place(frame, profile);
                Cell::Placed {
                    lead: lead.to_owned().into(),
                    name,
                    place: match self.through.words(profile) {
                        None => place,
                        Some(through) if place.is_empty() => through,
                        Some(through) => format!("{place}, {through}"),
                    },
                }
            }
            what => Cell::Text(format!("{lead}{}", what.words()).into()),
        }
    }
}

impl ShownNode {
    /// Merges another node of the same key: places add up, and the range of library frames widens.
    fn join(&mut self, other: ShownNode) {
        match (self, other) {
            (ShownNode::Folded { places }, ShownNode::Folded { places: more }) => *places += more,
            (
                ShownNode::Libraries { least, most, .. },
                ShownNode::Libraries {
                    least: a, most: b, ..
                },
            ) => {
                *least = a.min(*least);
                *most = b.max(*most);
            }
            _ => {}
        }
    }

    /// What a node is called.
    fn text(&self, profile: &Profile) -> String {
        match self {
            ShownNode::Frame(frame) => match name_and_place(frame, profile) {
                (name, place) if place.is_empty() => name.to_owned(),
                (name, place) => format!("{name} ({place})"),
            },
            _ => self.words(),
        }
    }

    /// The text of a node that is no frame; empty for a frame.
    fn words(&self) -> String {
        match self {
            ShownNode::Root => "total".to_owned(),
            ShownNode::Frame(_) => String::new(),
            ShownNode::Libraries { least, most, of } if least == most => {
                format!("… {most} frames of {of}")
            }
            ShownNode::Libraries { least, most, of } => {
                format!("… {least} to {most} frames of {of}")
            }
            ShownNode::Folded { places: 1 } => "1 place below Massif's threshold".to_owned(),
            ShownNode::Folded { places } => {
                format!(
                    "{} places, all below Massif's threshold",
                    number::grouped(*places)
                )
            }
            ShownNode::Pruned { nodes: 1 } => "1 more, below the threshold".to_owned(),
            ShownNode::Pruned { nodes } => {
                let nodes = number::grouped(*nodes as Count);
                format!("{nodes} more, each below the threshold")
            }
        }
    }
}

/// The function of a frame, and the line or the object that it is in.
pub(crate) fn name_and_place<'p>(frame: &FrameKey, profile: &'p Profile) -> (&'p str, String) {
    // A line is one of the file that it says.
    let site = profile.text(frame.site).filter(|_| frame.line.is_some());
    let file = site.or(profile.text(frame.function.file));
    let place = match (file, frame.line, profile.text(frame.function.obj)) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        (Some(file), None, _) => file.to_owned(),
        (None, _, Some(obj)) => format!("in {obj}"),
        (None, _, None) => String::new(),
    };
    (profile.text(frame.function.name).unwrap_or(NAMELESS), place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::Reader;

    /// The tree of heap records with these stacks (outermost frame last) and bytes; a stack that ends in a number is of
    /// that many folded places.
    fn tree(stacks: &[(&str, u64)], root: Root, least: Count) -> Vec<String> {
        lines_of(stacks, root, false, least)
    }

    /// The whole tree, frames of libraries folded or not.
    fn shown(stacks: &[(&str, u64)], root: Root, folds_libraries: bool) -> Vec<String> {
        lines_of(stacks, root, folds_libraries, 0)
    }

    fn lines_of(
        stacks: &[(&str, u64)],
        root: Root,
        folds_libraries: bool,
        least: Count,
    ) -> Vec<String> {
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
        let tree = StackTree::of(&profile, RecordType::Heap, root, folds_libraries, |_| true);
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
                "20 │  main",
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
                "20 │  grow",
                "1 └─ read",
                "5 3 places, all below Massif's threshold",
                "5 └─ grow",
            ]
        );
    }

    #[test]
    fn frames_of_libraries_in_a_row_are_one_node() {
        let stacks = [
            ("malloc core::a core::b demo::f demo::main", 8),
            ("malloc core::b demo::f demo::main", 4),
            ("malloc demo::g demo::main std::rt::a std::rt::b", 2),
            ("malloc core::a core::b", 1),
        ];
        assert_eq!(
            shown(&stacks, Root::Innermost, true),
            [
                "15 total",
                "12 … 2 to 3 frames of std",
                "12 └─ demo::f",
                "12    demo::main",
                // One frame alone stays, and so does a stack without a frame of the program.
                "3 malloc",
                "2 ├─ demo::g",
                "2 │  demo::main",
                "2 │  … 2 frames of std",
                "1 └─ core::a",
                "1    core::b",
            ]
        );
        assert_eq!(shown(&stacks[2..3], Root::Innermost, false).len(), 6);
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
