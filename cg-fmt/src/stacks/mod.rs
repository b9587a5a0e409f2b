//! Stacks as trees.
//!
//! From the innermost frame outwards this is Massif's tree and DHAT's (who called the allocator, and who called that);
//! from the outermost frame inwards it says where a program spends what it has.

use std::rc::Rc;

use cg_stream::profile::{FrameKey, Profile};
use cg_stream::record::{Count, RecordType};

use crate::listing::{self, EventColumns};
use crate::options::{Options, Top, View};
use crate::report;
use cg_document::{Audience, Cell, Column, Layout, Table};
use cg_document::{Block, Document};

mod tree;

use tree::{Shown, What};

pub(crate) use tree::{Root, StackTree};

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
            Cell::Text(format!("{}{}", node.branch, node.what.text(profile)).into())
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
