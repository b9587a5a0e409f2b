//! The report on a Massif run: the growth of memory, a graph, the snapshots, and the heap at one snapshot.

use std::collections::HashSet;

use cg_document::{Block, Document, Table, number};
use cg_profile::{Key, Profile};
use cg_stream::record::{RecordType, SnapshotRecord};
use cg_tool::Diagnostics;

use difference::HeapDifference;

use super::stack_tree::{Branches, Root, StackTree};
use super::timeline::Timeline;
use super::{arrange, origin};
use crate::options::{Options, View};

mod difference;
mod pair_tree;

/// The report on a Massif run, or a part of it.
pub(crate) struct Heap<'a> {
    timeline: Timeline<'a>,
    /// True if the report has sentences about the peak and the growth, and the graph.
    has_overview: bool,
    has_snapshots: bool,
    /// The heap at one snapshot, with a heading.
    tree: Option<(String, Branches<'a>)>,
    difference: Option<HeapDifference<'a>>,
}

impl<'a> Heap<'a> {
    /// Computes the report; `None` unless the input is a Massif run and the user requested the default view or a snapshot.
    pub(crate) fn compute(
        profile: &'a Profile,
        options: &Options,
    ) -> anyhow::Result<Option<Heap<'a>>> {
        let is_one_run = profile.runs().len() <= 1;
        let timeline = Timeline::new(profile);
        let wants_tree = matches!(options.view, View::Snapshot(_) | View::Snapshots(_));
        anyhow::ensure!(
            (timeline.is_some() && is_one_run) || !wants_tree,
            "--tree snapshot=N needs exactly one run of Massif"
        );
        let Some(timeline) = timeline else {
            return Ok(None);
        };
        // A run without a detailed snapshot, as with --heap=no, has no other records.
        let has_more = profile.types().next().is_some();
        // heaptrack's program points contain more information than its snapshots.
        let has_points = !profile.table(RecordType::ProgramPoint).is_empty();
        let wants_report = is_one_run && !has_points && !options.wants_listing();
        let (is_report, number) = match (&options.view, options.kind) {
            (View::Snapshot(number), _) => (false, Some(*number)),
            (View::Snapshots(_), _) => (false, None),
            (View::List, Some(RecordType::Snapshot)) => (false, None),
            (View::List, None) if wants_report || !has_more => {
                (true, snapshot_with_tree(&timeline))
            }
            _ => return Ok(None),
        };
        let tree = number.map(|number| tree(&timeline, number, options));
        let difference = match options.view {
            View::Snapshots(numbers) => Some(HeapDifference::compute(&timeline, numbers, options)?),
            _ => None,
        };
        Ok(Some(Heap {
            difference,
            has_overview: is_report && timeline.is_in_time(),
            has_snapshots: !wants_tree,
            tree: tree.transpose()?,
            timeline,
        }))
    }

    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let origin = origin::origin(self.timeline.profile);
        document.blocks.extend(origin.map(Block::Heading));
        if self.has_overview {
            document.blocks.extend(self.timeline.overview(options));
        }
        if self.has_snapshots {
            document.push(Block::Table(self.snapshots(options)?));
        }
        if let Some((heading, branches)) = &self.tree {
            document.push(Block::Heading(heading.clone()));
            document.blocks.extend(branches.blocks(options)?);
        }
        if let Some(difference) = &self.difference {
            document.push(Block::Heading(difference.heading.clone()));
            document.blocks.extend(difference.blocks(options)?);
            // The output for people contains these notes already.
            if !options.format.is_for_people() {
                for stand_in in &difference.stand_ins {
                    diagnostics.warn(stand_in);
                }
            }
        }
        Ok(document)
    }

    /// Returns the table of the snapshots, sorted and cut if requested.
    fn snapshots(&self, options: &Options) -> anyhow::Result<Table<'_>> {
        let mut table = self.timeline.table();
        arrange::sort(&mut table, options.sort.as_deref(), None, options)?;
        if options.top.is_some() {
            table.cut(options.rows(), None);
        }
        arrange::choose_columns(&mut table, None, options)?;
        Ok(table)
    }
}

/// Returns the snapshot with heap records: the peak if it has any, or else the largest.
fn snapshot_with_tree(timeline: &Timeline) -> Option<u64> {
    let heap = timeline.profile.table(RecordType::Heap);
    let trees: HashSet<u64> = heap.keys().filter_map(|key| key.snapshot).collect();
    let with_tree = timeline
        .snapshots
        .iter()
        .filter(|snapshot| trees.contains(&snapshot.snapshot));
    with_tree
        .max_by_key(|snapshot| (snapshot.detail == "peak", snapshot.total()))
        .map(|snapshot| snapshot.snapshot)
}

/// Returns the event of a snapshot's tree.
fn tree_event(snapshot: &SnapshotRecord) -> &'static str {
    match &snapshot.event {
        Some(event) if event.ends_with("Bk") => "blocks",
        _ => "bytes",
    }
}

/// Returns the tree of the heap at one snapshot, with its heading.
fn tree<'a>(
    timeline: &Timeline<'a>,
    number: u64,
    options: &Options,
) -> anyhow::Result<(String, Branches<'a>)> {
    let snapshot = timeline
        .snapshots
        .iter()
        .find(|snapshot| snapshot.snapshot == number);
    let Some(snapshot) = snapshot else {
        anyhow::bail!("there is no snapshot {number}");
    };
    anyhow::ensure!(snapshot.detail != "empty", "snapshot {number} has no tree");
    let profile = timeline.profile;
    let is_in_snapshot = |key: &Key| key.snapshot == Some(number);
    let folds = options.folds_libraries();
    let tree = StackTree::build(
        profile,
        RecordType::Heap,
        Root::Innermost,
        folds,
        is_in_snapshot,
    );
    anyhow::ensure!(
        !tree.is_empty() || snapshot.heap_bytes == 0,
        "there are no heap records of snapshot {number}; use the massif.out file, or cg-parse --snapshots {number} (heaptrack has no heap records)"
    );
    let event = tree_event(snapshot);
    let whole = snapshot.total();
    let details = match (&snapshot.event, snapshot.detail.as_str()) {
        (Some(event), _) => format!(": {} {event}", number::grouped(whole)),
        (None, detail) => format!(
            "{}: {} of {} on the heap",
            if detail == "peak" { " (peak)" } else { "" },
            number::grouped(snapshot.heap_bytes.into()),
            number::plural(whole, "byte", "bytes"),
        ),
    };
    let costs = vec![(event.to_owned(), whole)];
    let branches = Branches::new(profile, &tree, costs, options.threshold());
    Ok((format!("snapshot {number}{details}"), branches))
}
