//! Stacks as a tree: equal beginnings of stacks are one branch, and a node's cost is that of all stacks through it.
//!
//! From the innermost frame outwards this is Massif's tree and DHAT's (who called the allocator, and who called that);
//! from the outermost frame inwards it says where a program spends what it has.

use std::collections::HashMap;
use std::rc::Rc;

use cg_stream::profile::{FrameKey, Key, Profile};
use cg_stream::record::{Count, RecordType};

use crate::document::{Block, Document};
use crate::listing::{self, EventColumns};
use crate::number;
use crate::options::{Options, Top, View};
use crate::report;
use crate::table::{Audience, Cell, Column, Layout, Table};

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
    nodes: Vec<Node>,
}

pub(crate) struct Node {
    pub(crate) what: What,
    /// In the order of the profile's events.
    pub(crate) cost: Vec<Count>,
    children: Vec<usize>,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
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
pub(crate) struct Shown {
    pub(crate) what: What,
    pub(crate) cost: Vec<Count>,
    pub(crate) depth: u64,
    /// Lines that lead from the root to this node.
    pub(crate) branch: String,
}

/// The stacks of a profile as trees, where these were asked for and there are no call arcs to make them of.
pub(crate) fn document<'a>(
    profile: &'a Profile,
    options: &Options,
) -> anyhow::Result<Option<Document<'a>>> {
    let View::Tree { callers, callees } = options.view else {
        return Ok(None);
    };
    let kinds = report::kinds(profile, options);
    let kinds: Vec<RecordType> = kinds.into_iter().filter(|kind| kind.has_stack()).collect();
    if kinds.is_empty() {
        return Ok(None);
    }
    let mut document = Document::default();
    document
        .blocks
        .extend(report::origin(profile).map(Block::Heading));
    for kind in kinds {
        let events = EventColumns::choose(profile, kind, options)?;
        let mut costs: Vec<(&str, Count)> = events
            .events
            .iter()
            .filter(|event| event.audience == Audience::All)
            .map(|event| (event.name.as_str(), event.whole))
            .collect();
        // The first cost is the one that branches are sorted and folded by.
        costs.sort_by_key(|(name, _)| options.sort.as_deref() != Some(name));
        for (is_wanted, root, heading) in [
            (callers, Root::Innermost, "callers"),
            (callees, Root::Outermost, "callees"),
        ] {
            if is_wanted {
                let noun = listing::noun(kind, 2);
                document.push(Block::Heading(format!("{noun}, with {heading} below")));
                let tree = StackTree::of(profile, kind, root, |_| true);
                push_tree(&mut document, profile, &tree, &costs, options)?;
            }
        }
    }
    Ok(Some(document))
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
        let events = profile.events().len();
        let mut tree = StackTree {
            nodes: vec![Node::new(What::Root, events)],
        };
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
            tree.nodes[0].add(cost);
            // Folded places are callers of what is known of the stack, so they are its outermost end.
            let places = rows.beside(row).places;
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
                    let child = tree.nodes.len();
                    tree.nodes.push(Node::new(what, events));
                    tree.nodes[node].children.push(child);
                    child
                });
                tree.nodes[node].add(cost);
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
        self.nodes.len() == 1 && self.nodes[0].cost.iter().all(|count| *count == 0)
    }

    /// Sum of all stacks.
    pub(crate) fn cost(&self) -> &[Count] {
        &self.nodes[0].cost
    }

    /// The nodes from the root down, the most expensive child first, by one event. Children below `least` are folded
    /// into one node each family, and the root is always there.
    pub(crate) fn shown(&self, profile: &Profile, event: usize, least: Count) -> Vec<Shown> {
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

impl Node {
    fn new(what: What, events: usize) -> Node {
        Node {
            what,
            cost: vec![0; events],
            children: Vec::new(),
        }
    }

    fn add(&mut self, cost: &[Count]) {
        add(&mut self.cost, cost);
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
    shown: Vec<Shown>,
}

impl Walk<'_> {
    /// Shows a node and its children. `branch` leads to the node, `below` to what is below it.
    fn node(&mut self, node: usize, depth: u64, branch: &str, below: &str) {
        let Node { what, cost, .. } = &self.tree.nodes[node];
        self.push(*what, cost.clone(), depth, branch);
        let children = self.sorted_children(node);
        let seen = match depth {
            ..DEEPEST => children.partition_point(|child| self.cost_of(*child) >= self.least),
            _ => 0,
        };
        let (seen, pruned) = children.split_at(seen);
        // What is folded and comes to nothing is not worth a line.
        let costs = |child: &usize| &self.tree.nodes[*child].cost;
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
            let mut sum = vec![0; self.tree.cost().len()];
            for child in pruned {
                add(&mut sum, &self.tree.nodes[*child].cost);
            }
            let what = What::Pruned {
                nodes: pruned.len(),
            };
            let (corner, _) = corner(depth, true);
            self.push(what, sum, depth + 1, &format!("{below}{corner}"));
        }
    }

    fn push(&mut self, what: What, cost: Vec<Count>, depth: u64, branch: &str) {
        self.shown.push(Shown {
            what,
            cost,
            depth,
            branch: branch.to_owned(),
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
            let text = text(&self.tree.nodes[*child].what, self.profile);
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
        self.tree.nodes[node]
            .cost
            .get(self.event)
            .copied()
            .unwrap_or(0)
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

/// What a node is called.
pub(crate) fn text(what: &What, profile: &Profile) -> String {
    match what {
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

/// Adds a tree to a document: a row a node, its costs with their share of these wholes, and for people what it looks
/// like as a tree. Children below the threshold of the first cost are folded.
pub(crate) fn push_tree<'a>(
    document: &mut Document<'a>,
    profile: &'a Profile,
    tree: &StackTree,
    costs: &[(&str, Count)],
    options: &Options,
) -> anyhow::Result<()> {
    let Some(((first, whole), _)) = costs.split_first() else {
        return Ok(());
    };
    let threshold = options.threshold();
    let least = (*whole as f64 * threshold / 100.0).ceil() as Count;
    let shown: Rc<Vec<Shown>> =
        Rc::new(tree.shown(profile, profile.event(first).unwrap_or(0), least));
    let mut columns = Vec::new();
    for (name, whole) in costs {
        let Some(event) = profile.event(name) else {
            continue;
        };
        let whole = *whole;
        let nodes = Rc::clone(&shown);
        columns.push(Column::new(*name, Layout::Number, move |row| {
            Cell::Count(nodes[row].cost[event])
        }));
        let nodes = Rc::clone(&shown);
        columns.push(
            Column::new(format!("{name}%"), Layout::Percent, move |row| {
                Cell::share(nodes[row].cost[event], whole)
            })
            .titled("%"),
        );
    }
    let nodes = Rc::clone(&shown);
    columns.push(
        Column::new("tree", Layout::Name, move |row| {
            let node = &nodes[row];
            Cell::Text(format!("{}{}", node.branch, text(&node.what, profile)).into())
        })
        .for_audience(Audience::People),
    );
    push_plain_columns(&mut columns, profile, &shown);
    let mut table = Table::new(columns, (0..shown.len()).collect());
    let unsorted = Options {
        sort: None,
        top: Some(Top::All),
        ..options.clone()
    };
    report::arrange(&mut table, None, None, &unsorted)?;
    document.push(Block::Table(table));
    let is_pruned = |node: &Shown| matches!(node.what, What::Pruned { .. });
    if shown.iter().any(is_pruned) {
        document.push(Block::Note(format!(
            "branches below {threshold}% are folded (--threshold 0 shows all)"
        )));
    }
    Ok(())
}

/// What programs get instead of the picture of a tree.
fn push_plain_columns<'a>(
    columns: &mut Vec<Column<'a>>,
    profile: &'a Profile,
    shown: &Rc<Vec<Shown>>,
) {
    let mut push = |name: &str, layout, cell: fn(&Shown, &'a Profile) -> Cell<'a>| {
        let nodes = Rc::clone(shown);
        columns.push(
            Column::new(name, layout, move |row| cell(&nodes[row], profile))
                .for_audience(Audience::Programs),
        );
    };
    push("depth", Layout::Number, |node, _| Cell::Ordinal(node.depth));
    push("fn", Layout::Name, |node, profile| {
        Cell::name(frame(node).and_then(|frame| profile.text(frame.function.name)))
    });
    push("file", Layout::Path, |node, profile| {
        Cell::name(frame(node).and_then(|frame| profile.text(frame.function.file)))
    });
    push("line", Layout::Number, |node, _| {
        Cell::ordinal(frame(node).and_then(|frame| frame.line))
    });
    push("obj", Layout::Path, |node, profile| {
        Cell::name(frame(node).and_then(|frame| profile.text(frame.function.obj)))
    });
    push("places", Layout::Number, |node, _| match node.what {
        What::Folded { places } => Cell::Count(places),
        _ => Cell::Empty,
    });
}

fn frame(node: &Shown) -> Option<FrameKey> {
    match node.what {
        What::Frame(frame) => Some(frame),
        _ => None,
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
                let text = text(&node.what, &profile);
                format!("{} {}{text}", node.cost[0], node.branch)
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
