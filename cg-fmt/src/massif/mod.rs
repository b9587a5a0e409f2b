//! Massif as people read it: how memory grew, a graph of it, the snapshots, and what the heap held at one of them.

use std::rc::Rc;

use cg_stream::profile::Profile;
use cg_stream::record::{Count, RecordType, SnapshotRecord};

use crate::options::{Options, View};
use crate::report;
use crate::stacks::{self, Root, StackTree};
use cg_document::number;
use cg_document::{Audience, Cell, Column, Layout, Table};
use cg_document::{Block, Document};

mod graph;
mod growth;
mod svg;

use graph::Graph;
use growth::{Growth, Point};

/// The snapshots that were read.
struct Massif<'a> {
    profile: &'a Profile,
    snapshots: Rc<Vec<&'a SnapshotRecord>>,
    points: Vec<Point>,
    time_unit: &'a str,
}

/// The report on a Massif run, where that is what was read and nothing else was asked for.
pub(crate) fn document<'a>(
    profile: &'a Profile,
    options: &Options,
) -> anyhow::Result<Option<Document<'a>>> {
    let massif = Massif::of(profile);
    let is_one_run = profile.runs().len() <= 1;
    anyhow::ensure!(
        (massif.is_some() && is_one_run) || !matches!(options.view, View::Snapshot(_)),
        "--tree snapshot=N is for one Massif run, and this is not one"
    );
    let Some(massif) = massif else {
        return Ok(None);
    };
    let mut document = Document::default();
    document
        .blocks
        .extend(report::origin(profile).map(Block::Heading));
    // A run without a detailed snapshot, as of --heap=no, has no other records.
    let has_more = profile.types().next().is_some();
    let wants_report = is_one_run && !options.wants_listing();
    match options.view {
        View::Snapshot(number) => massif.push_tree(&mut document, number, options)?,
        View::List if options.kind == Some(RecordType::Snapshot) => {
            document.push(Block::Table(massif.arranged(options)?));
        }
        View::List if options.kind.is_none() && (wants_report || !has_more) => {
            if massif.is_timeline() {
                document.push(Block::Text(massif.peak_sentence()));
                document.push(Block::Text(
                    Growth::of(&massif.points).sentence(massif.time_unit),
                ));
                document.push(Block::Verbatim(massif.graph().draw(options.graph_width)));
            }
            document.push(Block::Table(massif.arranged(options)?));
            if let Some(number) = massif.snapshot_with_tree() {
                massif.push_tree(&mut document, number, options)?;
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(document))
}

/// The graph of a Massif run as an SVG document.
///
/// # Errors
/// Where something else was read.
pub(crate) fn svg(profile: &Profile) -> anyhow::Result<String> {
    let massif = Massif::of(profile).filter(Massif::is_timeline);
    let Some(massif) = massif else {
        anyhow::bail!("-f svg draws the snapshots of one Massif run, and this is not one");
    };
    let title = report::origin(profile).unwrap_or_default();
    massif.graph().svg(&title)
}

impl<'a> Massif<'a> {
    /// The snapshots of a profile, if it has any.
    fn of(profile: &'a Profile) -> Option<Massif<'a>> {
        if profile.snapshots().is_empty() {
            return None;
        }
        let snapshots: Vec<&SnapshotRecord> = profile.snapshots().iter().collect();
        let points = snapshots
            .iter()
            .map(|snapshot| Point {
                time: time_as_float(snapshot),
                total: u64::try_from(total(snapshot)).unwrap_or(u64::MAX),
            })
            .collect();
        let time_unit = profile
            .runs()
            .first()
            .and_then(|run| run.extra.get("time_unit")?.as_str())
            .unwrap_or("time unit");
        Some(Massif {
            profile,
            snapshots: Rc::new(snapshots),
            points,
            time_unit,
        })
    }

    /// True where the snapshots follow each other. Those of several runs have no common time, and those of an xtree
    /// file are one for each of its events.
    fn is_timeline(&self) -> bool {
        self.profile.runs().len() <= 1
            && self
                .snapshots
                .iter()
                .all(|snapshot| snapshot.event.is_none())
    }

    /// The snapshot that is marked as the peak, else the largest.
    fn peak(&self) -> Option<&'a SnapshotRecord> {
        let marked = self
            .snapshots
            .iter()
            .find(|snapshot| snapshot.detail == "peak");
        // Of equals the first: `max_by_key` takes the last.
        let largest = || {
            self.snapshots
                .iter()
                .rev()
                .max_by_key(|snapshot| total(snapshot))
        };
        marked.or_else(largest).copied()
    }

    fn peak_sentence(&self) -> String {
        let Some(peak) = self.peak() else {
            return String::new();
        };
        let total = total(peak);
        let what = match peak.detail.as_str() {
            "peak" => "peak",
            _ => "largest snapshot",
        };
        format!(
            "{what}: {} bytes ({}) at snapshot {}, time {} {}",
            number::grouped(total),
            graph::bytes(u64::try_from(total).unwrap_or(u64::MAX)),
            peak.snapshot,
            time(peak),
            self.time_unit,
        )
    }

    fn graph(&self) -> Graph<'_> {
        let peak = self.peak().filter(|peak| peak.detail == "peak");
        Graph {
            points: &self.points,
            peak_time: peak.map(time_as_float),
            time_unit: self.time_unit,
        }
    }

    /// The snapshots, sorted and cut if that was asked for.
    fn arranged(&self, options: &Options) -> anyhow::Result<Table<'a>> {
        let mut table = self.table();
        let all = Options {
            top: options.top.or(Some(crate::options::Top::All)),
            ..options.clone()
        };
        report::arrange(&mut table, None, None, &all)?;
        Ok(table)
    }

    /// The columns of `ms_print`, under its headings, and which snapshots have a tree.
    fn table(&self) -> Table<'a> {
        let rows = (0..self.snapshots.len()).collect();
        let column = |name: &str, title: &str, layout, cell: fn(&'a SnapshotRecord) -> Cell<'a>| {
            let snapshots = Rc::clone(&self.snapshots);
            Column::new(name, layout, move |row| cell(snapshots[row])).titled(title)
        };
        let number = |name: &str, title: &str, cell| column(name, title, Layout::Number, cell);
        let events = match self
            .snapshots
            .iter()
            .any(|snapshot| snapshot.event.is_some())
        {
            true => Audience::All,
            false => Audience::Nobody,
        };
        let columns = vec![
            number("snapshot", "n", |snapshot| Cell::Ordinal(snapshot.snapshot)),
            number(
                "time",
                &format!("time({})", self.time_unit),
                |snapshot| match snapshot.time.as_i128() {
                    Some(time) => Cell::Count(time),
                    None => Cell::Text(snapshot.time.to_string().into()),
                },
            ),
            number("total_bytes", "total(B)", |snapshot| {
                Cell::Count(total(snapshot))
            }),
            number("heap_bytes", "useful-heap(B)", |snapshot| {
                Cell::Count(snapshot.heap_bytes.into())
            }),
            number("extra_bytes", "extra-heap(B)", |snapshot| {
                Cell::Count(snapshot.extra_bytes.into())
            }),
            number("stacks_bytes", "stacks(B)", |snapshot| {
                Cell::Count(snapshot.stacks_bytes.into())
            }),
            column("detail", "tree", Layout::Text, |snapshot| {
                match snapshot.detail.as_str() {
                    "empty" => Cell::Empty,
                    detail => Cell::Name(detail),
                }
            }),
            column("event", "event", Layout::Text, |snapshot| {
                Cell::name(snapshot.event.as_deref())
            })
            .for_audience(events),
        ];
        Table::new(columns, rows)
    }

    /// The snapshot whose heap records there are, the one with the most where there are several.
    fn snapshot_with_tree(&self) -> Option<u64> {
        let heap = self.profile.table(RecordType::Heap);
        let has_tree = |number: u64| heap.keys().iter().any(|key| key.snapshot == Some(number));
        let with_tree = self
            .snapshots
            .iter()
            .filter(|snapshot| has_tree(snapshot.snapshot));
        with_tree
            .max_by_key(|snapshot| (snapshot.detail == "peak", total(snapshot)))
            .map(|snapshot| snapshot.snapshot)
    }

    /// What the heap held at one snapshot.
    fn push_tree(
        &self,
        document: &mut Document<'a>,
        number: u64,
        options: &Options,
    ) -> anyhow::Result<()> {
        let tree = StackTree::of(self.profile, RecordType::Heap, Root::Innermost, |key| {
            key.snapshot == Some(number)
        });
        let snapshot = self
            .snapshots
            .iter()
            .find(|snapshot| snapshot.snapshot == number);
        let Some(snapshot) = snapshot else {
            anyhow::bail!("there is no snapshot {number}");
        };
        anyhow::ensure!(snapshot.detail != "empty", "snapshot {number} has no tree");
        anyhow::ensure!(
            !tree.is_empty() || snapshot.heap_bytes == 0,
            "there are no heap records of snapshot {number}: give the massif.out file itself, or cg-parse --snapshots {number}"
        );
        let name = match &snapshot.event {
            Some(event) if event.ends_with("Bk") => "blocks",
            _ => "bytes",
        };
        let whole = total(snapshot);
        let what = match (&snapshot.event, snapshot.detail.as_str()) {
            (Some(event), _) => format!(": {} {event}", number::grouped(whole)),
            (None, detail) => format!(
                "{}: {} of {} bytes are on the heap",
                if detail == "peak" { " (peak)" } else { "" },
                number::grouped(snapshot.heap_bytes.into()),
                number::grouped(whole),
            ),
        };
        document.push(Block::Heading(format!("snapshot {number}{what}")));
        stacks::push_tree(document, self.profile, &tree, &[(name, whole)], options)
    }
}

/// What `ms_print` calls the total.
fn total(snapshot: &SnapshotRecord) -> Count {
    Count::from(snapshot.heap_bytes)
        + Count::from(snapshot.extra_bytes)
        + Count::from(snapshot.stacks_bytes)
}

/// A time to calculate with. Massif counts in 64 bits; what is said to be further away is as far as that.
fn time_as_float(snapshot: &SnapshotRecord) -> f64 {
    const FARTHEST: f64 = i64::MAX as f64;
    let time = snapshot.time.as_f64().unwrap_or(0.0);
    time.clamp(-FARTHEST, FARTHEST)
}

/// A time with a comma between thousands, where it is whole.
fn time(snapshot: &SnapshotRecord) -> String {
    match snapshot.time.as_i128() {
        Some(time) => number::grouped(time),
        None => snapshot.time.to_string(),
    }
}
