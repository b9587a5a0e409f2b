//! The tree of a record type's stacks. Stacks with an equal beginning share a branch. A node's cost is the cost of all
//! stacks through the node.

use std::collections::HashMap;

use cg_collections::sorting::Order as _;
use cg_document::{Cell, NAMELESS, number};
use cg_names::code_origin::{self, Facts, StackLine};
use cg_profile::{FrameKey, FunctionKey, Key, Profile, StackFrames};
use cg_stream::record::{Count, RecordType, add_counts};

use crate::report::passed_through::PassedThrough;

/// The end of the stacks that is next to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    /// A node's children are its callers.
    Innermost,
    /// A node's children are its callees.
    Outermost,
}

/// The tree of a record type's stacks. Node 0 is the root and has no frame.
pub(crate) struct StackTree {
    nodes: Vec<StackNode>,
    /// The costs of all nodes. Each node has one count per event of the profile, in the order of the events.
    costs: Vec<Count>,
    events: usize,
    /// True if the tree leaves out frames of inlined functions that only lead to another function.
    passes_through: bool,
}

struct StackNode {
    content: ShownNode,
    children: Vec<usize>,
}

/// The content of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownNode {
    Root,
    Frame(FrameKey),
    /// Consecutive frames outside the program's own code: the minimum and the maximum number of frames, and the name of the
    /// libraries.
    Libraries {
        least: usize,
        most: usize,
        library: &'static str,
    },
    /// Places that Massif merged because they are below its threshold.
    Folded {
        places: Count,
    },
    /// Hidden children, each below the threshold.
    Pruned {
        nodes: usize,
    },
}

/// A row of the drawn tree.
pub(super) struct Branch {
    pub(super) content: ShownNode,
    /// The functions left out between the parent and the node.
    through: PassedThrough,
    pub(super) cost: Vec<Count>,
    pub(super) depth: u64,
    /// The drawn lines from the root to this node.
    pub(super) lines: String,
}

/// The identity of a node among the children of its parent.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ChildKey {
    Frame(FrameKey),
    Libraries(&'static str),
    Places,
}

impl ShownNode {
    fn clear_line(&mut self) {
        if let ShownNode::Frame(frame) = self {
            (frame.line, frame.site) = (None, None);
        }
    }
}

impl StackTree {
    /// Builds the tree of the rows whose keys are wanted. With `folds_libraries`, consecutive frames outside the program's
    /// own code become one node.
    pub(crate) fn build(
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
            if !is_wanted(&key) {
                continue;
            }
            let cost = rows.cost(row);
            let frames = profile.stacks().frames_of(key.stack);
            let mut node = 0;
            tree.add(0, cost);
            // The merged places are callers of the known frames, so they are the outermost end of the stack.
            let places = rows.numbers().places.count(row);
            let mut path = match folds_libraries {
                true => folded_path(profile, frames, &mut facts),
                false => frames
                    .iter()
                    .map(|frame| ShownNode::Frame(*frame))
                    .collect(),
            };
            // An inlinee is one node below its inliner, even if it is called from several lines.
            if kind == RecordType::Inline {
                path.iter_mut().for_each(ShownNode::clear_line);
            }
            path.extend(places.map(|places| ShownNode::Folded { places }));
            if root == Root::Outermost {
                path.reverse();
            }
            for what in path {
                let step = match what {
                    ShownNode::Frame(frame) => ChildKey::Frame(frame),
                    ShownNode::Libraries { library, .. } => ChildKey::Libraries(library),
                    ShownNode::Root | ShownNode::Folded { .. } | ShownNode::Pruned { .. } => {
                        ChildKey::Places
                    }
                };
                let child = index.get(&(node, step)).copied();
                node = match child {
                    Some(child) => {
                        tree.nodes[child].content.join(what);
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

    /// Returns true if the tree has neither frames nor cost.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.len() == 1 && self.cost(0).iter().all(|count| *count == 0)
    }

    fn cost(&self, node: usize) -> &[Count] {
        &self.costs[node * self.events..(node + 1) * self.events]
    }

    /// Returns the next node that gets a row, and the functions left out on the way to it.
    fn passed_through(&self, mut node: usize) -> (usize, PassedThrough) {
        let mut through = PassedThrough::Nothing;
        while self.passes_through
            && let ShownNode::Frame(frame) = self.nodes[node].content
            && let [child] = self.nodes[node].children[..]
            && self.cost(child) == self.cost(node)
        {
            through = through.and(frame.function);
            node = child;
        }
        (node, through)
    }

    /// Adds a node without cost.
    fn push(&mut self, content: ShownNode) -> usize {
        self.nodes.push(StackNode {
            content,
            children: Vec::new(),
        });
        self.costs.resize(self.nodes.len() * self.events, 0);
        self.nodes.len() - 1
    }

    fn add(&mut self, node: usize, cost: &[Count]) {
        let range = node * self.events..(node + 1) * self.events;
        add_counts(&mut self.costs[range], cost);
    }

    /// Returns the rows from the root down, with the most expensive child by `event` first. For each parent, children below
    /// `least` are folded into one row. The root always has a row.
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

/// Returns the nodes of a stack, innermost frame first, with folded runs of frames outside the program's own code.
fn folded_path(
    profile: &Profile,
    frames: StackFrames<'_>,
    known: &mut HashMap<FunctionKey, Facts>,
) -> Vec<ShownNode> {
    let facts: Vec<Facts> = frames
        .iter()
        .map(|frame| {
            let function = frame.function;
            let facts = || Facts::from_frame(&function.frame(profile.symbols()));
            *known.entry(function).or_insert_with(facts)
        })
        .collect();
    code_origin::fold_libraries(&code_origin::classify_facts(&facts))
        .into_iter()
        .map(|piece| match piece {
            // The position is an index into `frames`.
            StackLine::Frame(position) => {
                ShownNode::Frame(frames.get(position).copied().unwrap_or_default())
            }
            StackLine::Libraries { frames, of } => ShownNode::Libraries {
                least: frames.len(),
                most: frames.len(),
                library: of,
            },
        })
        .collect()
}

/// The maximum depth of a drawn tree. Valgrind's stacks have at most 500 frames (`--num-callers`), but a stream may have
/// deeper stacks.
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
    /// Adds the rows of a node and its children. `lines` is the prefix of the node's row, `below` the prefix of the rows
    /// below.
    fn node(&mut self, node: usize, depth: u64, lines: &str, below: &str) {
        let (node, through) = match depth {
            0 | 1 => (node, PassedThrough::Nothing),
            _ => self.tree.passed_through(node),
        };
        let cost = self.tree.cost(node).to_vec();
        self.push(self.tree.nodes[node].content, cost, depth, lines);
        if let Some(branch) = self.shown.last_mut() {
            branch.through = through;
        }
        let children = self.sorted_children(node);
        let visible = match depth {
            ..DEEPEST => children.partition_point(|child| self.count(*child) >= self.least),
            _ => 0,
        };
        let (visible, pruned) = children.split_at(visible);
        // Folded children without any cost get no row.
        let costs = |child: &usize| self.tree.cost(*child);
        let has_more = pruned.iter().flat_map(costs).any(|count| *count != 0);
        // Only branches are indented, not chains of single children.
        let is_chain = depth > 1 && visible.len() == 1 && !has_more;
        for (position, child) in visible.iter().enumerate() {
            let is_last = position + 1 == visible.len() && !has_more;
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

    fn push(&mut self, content: ShownNode, cost: Vec<Count>, depth: u64, lines: &str) {
        self.shown.push(Branch {
            content,
            through: PassedThrough::Nothing,
            cost,
            depth,
            lines: lines.to_owned(),
        });
    }

    fn sorted_children(&self, node: usize) -> Vec<usize> {
        let mut children = self.tree.nodes[node].children.clone();
        // Order by cost. If costs are equal, frames with a line come first, then the order follows text and line.
        children.order_by_cached_key(|child| {
            let line = match &self.tree.nodes[*child].content {
                ShownNode::Frame(frame) => frame.line,
                _ => None,
            };
            let text = self.tree.nodes[*child].content.text(self.profile);
            (
                std::cmp::Reverse(self.count(*child)),
                line.is_none(),
                text,
                line,
            )
        });
        children
    }

    /// Returns the count of a node for the event of the order.
    fn count(&self, node: usize) -> Count {
        self.tree.cost(node).get(self.event).copied().unwrap_or(0)
    }
}

/// Returns the drawn corner before a child, and the prefix of the rows below that child. Children of the root start at the
/// margin.
pub(crate) fn corner(depth: u64, is_last: bool) -> (&'static str, &'static str) {
    match (depth, is_last) {
        (0, _) => ("", ""),
        (_, true) => ("└─ ", "   "),
        (_, false) => ("├─ ", "│  "),
    }
}

impl Branch {
    /// Returns the cell of the row: the drawn lines, then the name of the node.
    pub(super) fn cell<'c>(&self, profile: &'c Profile) -> Cell<'c> {
        let lead = &self.lines;
        match &self.content {
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
    /// Merges another node of the same key. Adds up places, and widens the range of library frames.
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

    /// Returns the name of the node. Children with equal cost are sorted by it.
    fn text(&self, profile: &Profile) -> String {
        match self {
            ShownNode::Frame(frame) => match name_and_place(frame, profile) {
                (name, place) if place.is_empty() => name.to_owned(),
                (name, place) => format!("{name} ({place})"),
            },
            _ => self.words(),
        }
    }

    /// Returns the text of a node that is not a frame; empty for a frame.
    fn words(&self) -> String {
        match self {
            ShownNode::Root => "total".to_owned(),
            ShownNode::Frame(_) => String::new(),
            ShownNode::Libraries {
                least,
                most,
                library,
            } if least == most => {
                let frames = number::plural(*most as Count, "frame", "frames");
                format!("… {frames} of {library}")
            }
            ShownNode::Libraries {
                least,
                most,
                library,
            } => format!("… {least} to {most} frames of {library}"),
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

/// Returns the function name of a frame, and its place: the file with the line, or the object.
pub(crate) fn name_and_place<'p>(frame: &FrameKey, profile: &'p Profile) -> (&'p str, String) {
    // A frame's site is the file of its line, so it applies only if the frame has a line.
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

    /// Draws the tree of heap records with these stacks (outermost frame last) and bytes. A number at the end of a stack is
    /// a number of places that Massif merged.
    fn tree(stacks: &[(&str, u64)], root: Root, least: Count) -> Vec<String> {
        draw(stacks, root, false, least)
    }

    /// Draws the whole tree, with or without folded library frames.
    fn whole_tree(stacks: &[(&str, u64)], root: Root, folds_libraries: bool) -> Vec<String> {
        draw(stacks, root, folds_libraries, 0)
    }

    fn draw(
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
        let tree = StackTree::build(&profile, RecordType::Heap, root, folds_libraries, |_| true);
        tree.shown(&profile, 0, least)
            .iter()
            .map(|node| {
                let text = node.content.text(&profile);
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
    fn consecutive_library_frames_are_one_node() {
        let stacks = [
            ("malloc core::a core::b demo::f demo::main", 8),
            ("malloc core::b demo::f demo::main", 4),
            ("malloc demo::g demo::main std::rt::a std::rt::b", 2),
            ("malloc core::a core::b", 1),
        ];
        assert_eq!(
            whole_tree(&stacks, Root::Innermost, true),
            [
                "15 total",
                "12 … 2 to 3 frames of std",
                "12 └─ demo::f",
                "12    demo::main",
                // A single library frame stays, and so does a stack without own frames.
                "3 malloc",
                "2 ├─ demo::g",
                "2 │  demo::main",
                "2 │  … 2 frames of std",
                "1 └─ core::a",
                "1    core::b",
            ]
        );
        assert_eq!(whole_tree(&stacks[2..3], Root::Innermost, false).len(), 6);
    }

    #[test]
    fn nodes_below_the_threshold_are_folded_into_their_sum() {
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
    fn a_deep_stack_is_cut_at_the_maximum_depth() {
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
