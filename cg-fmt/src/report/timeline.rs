//! The snapshots of Massif or heaptrack: their order, their peak, and their graph.

use std::fmt::Write as _;
use std::rc::Rc;

use cg_collections::sorting::Order as _;
use cg_document::{
    Audience, Block, Cell, Column, Graph, Layout, Mark, Overlay, Point, Table, number,
};
use cg_profile::Profile;
use cg_stream::record::{Count, RunRecord, SnapshotRecord};

use super::growth::Growth;
use super::origin::origin;
use crate::options::Options;

mod sites;

/// The snapshots of a profile, at least one.
pub(super) struct Timeline<'a> {
    pub(super) profile: &'a Profile,
    pub(super) snapshots: Vec<&'a SnapshotRecord>,
    pub(super) time_unit: &'a str,
}

impl<'a> Timeline<'a> {
    /// Returns the snapshots of a profile; `None` if it has none.
    pub(super) fn new(profile: &'a Profile) -> Option<Timeline<'a>> {
        if profile.snapshots().is_empty() {
            return None;
        }
        let time_unit = profile
            .runs()
            .first()
            .and_then(|run| run.time_unit.as_deref())
            .unwrap_or("time unit");
        Some(Timeline {
            profile,
            snapshots: profile.snapshots().iter().collect(),
            time_unit,
        })
    }

    /// Returns true if the snapshots form one sequence in time. Several runs have no common time, and an xtree file has one
    /// snapshot for each event.
    pub(super) fn is_in_time(&self) -> bool {
        let mut snapshots = self.snapshots.iter();
        self.profile.runs().len() <= 1
            && snapshots.all(|snapshot| snapshot.event.is_none() && snapshot.run.is_none())
    }

    /// Returns the total at each snapshot.
    pub(super) fn points(&self) -> Vec<Point> {
        self.snapshots.iter().map(|one| point(one)).collect()
    }

    /// Returns a sentence about the peak, a sentence about the growth, and a graph.
    pub(super) fn overview(&self, options: &Options) -> Vec<Block<'a>> {
        let growth = Growth::judge(&self.points());
        let peak = self.peak_sentence().map(Block::Text);
        peak.into_iter()
            .chain([
                Block::Text(growth.sentence(self.time_unit)),
                Block::Graph(self.graph(options)),
            ])
            .collect()
    }

    fn peak_sentence(&self) -> Option<String> {
        let peak = self.peak()?;
        let total = peak.total();
        let title = match peak.detail.as_str() {
            "peak" => "peak",
            _ => "largest snapshot",
        };
        let mut sentence = format!(
            "{title}: {} ({}) at snapshot {}, time {} {}",
            number::plural(total, "byte", "bytes"),
            number::bytes(u64::try_from(total).unwrap_or(u64::MAX)),
            peak.snapshot,
            time(peak),
            self.time_unit,
        );
        if let Some(largest) = self.larger_than_peak() {
            let _ = write!(
                sentence,
                "; the largest snapshot is {}, with {} at time {}: Massif looks for the peak only when memory is freed",
                largest.snapshot,
                number::plural(largest.total(), "byte", "bytes"),
                time(largest),
            );
        }
        let process = self
            .snapshots
            .iter()
            .filter_map(|snapshot| snapshot.rss_bytes);
        if let Some(bytes) = process.max() {
            let _ = write!(
                sentence,
                "; the process used up to {} ({})",
                number::plural(bytes.into(), "byte", "bytes"),
                number::bytes(bytes),
            );
        }
        Some(sentence)
    }

    /// Returns the graph of the totals.
    pub(super) fn graph(&self, options: &Options) -> Graph {
        let points = self.points();
        let growth = Growth::judge(&points);
        let mark = |snapshot: &SnapshotRecord, label: &str| Mark {
            point: point(snapshot),
            label: label.to_owned(),
        };
        let peak = self.peak().filter(|peak| peak.detail == "peak");
        let largest = self.larger_than_peak();
        let marks = peak.map(|peak| mark(peak, "peak")).into_iter();
        Graph {
            title: origin(self.profile).unwrap_or_default(),
            marks: marks
                .chain(largest.map(|largest| mark(largest, "largest snapshot")))
                .collect(),
            layers: sites::layers(self.profile, &self.snapshots),
            growth: Some(growth.sentence(self.time_unit)),
            trend: growth.line(&points),
            points,
            time_unit: self.time_unit.to_owned(),
            columns: options.graph_width,
            ..Graph::default()
        }
    }

    /// Returns the snapshot that is marked as the peak, or else the largest.
    pub(super) fn peak(&self) -> Option<&'a SnapshotRecord> {
        let mut snapshots = self.snapshots.iter().copied();
        let marked = snapshots.find(|snapshot| snapshot.detail == "peak");
        marked.or_else(|| self.largest())
    }

    /// Returns the largest snapshot; the first if several are equal.
    fn largest(&self) -> Option<&'a SnapshotRecord> {
        // `max_by_key` returns the last of several equal items.
        let snapshots = self.snapshots.iter().copied().rev();
        snapshots.max_by_key(|snapshot| snapshot.total())
    }

    /// Returns the largest snapshot if it is larger than the marked peak.
    fn larger_than_peak(&self) -> Option<&'a SnapshotRecord> {
        let (peak, largest) = (self.peak()?, self.largest()?);
        (largest.total() > peak.total()).then_some(largest)
    }

    /// Returns true if the profile has two runs, in a diff or in sequence, that count time in different units.
    pub(super) fn has_two_units(&self) -> bool {
        match self.profile.runs() {
            [before, after] => before.time_unit != after.time_unit,
            [run] => run.is_diff() && run.time_unit.is_none(),
            _ => false,
        }
    }

    /// Returns the graph of two runs, the later run over the earlier one; `None` unless there are exactly two.
    pub(super) fn overlaid(&self, options: &Options) -> Option<Graph> {
        let [before, after] = self.profile.runs() else {
            return None;
        };
        let is_start = |pair: &[&SnapshotRecord]| pair[1].snapshot <= pair[0].snapshot;
        let mut starts =
            (1..self.snapshots.len()).filter(|at| is_start(&self.snapshots[at - 1..=*at]));
        let (start, None) = (starts.next()?, starts.next()) else {
            return None;
        };
        if before.time_unit != after.time_unit || before.is_diff() || after.is_diff() {
            return None;
        }
        let name = |run: &RunRecord| {
            let source = run.source.first().or(run.command.as_ref());
            source.cloned().unwrap_or_default()
        };
        let (earlier, later) = self.snapshots.split_at(start);
        self.over((name(before), earlier), (name(after), later), options)
    }

    /// Returns the graph of the two runs of a diff; `None` if the diff does not contain their snapshots.
    pub(super) fn compared(
        &self,
        [before, after]: [(usize, String); 2],
        options: &Options,
    ) -> Option<Graph> {
        let is_one_unit = |run: &RunRecord| run.is_diff() && run.time_unit.is_some();
        if self.profile.runs().len() > 1 || !self.profile.runs().iter().all(is_one_unit) {
            return None;
        }
        let find_snapshots = |run: usize| {
            let snapshots = self.snapshots.iter().copied();
            let mut snapshots: Vec<&SnapshotRecord> = snapshots
                .filter(|snapshot| snapshot.run == Some(run as u64))
                .collect();
            snapshots.order_by_key(|snapshot| snapshot.snapshot);
            snapshots
        };
        let (earlier, later) = (find_snapshots(before.0), find_snapshots(after.0));
        self.over((before.1, &earlier), (after.1, &later), options)
    }

    /// Returns the graph of a later run over an earlier run.
    fn over(
        &self,
        (name_before, earlier): (String, &[&'a SnapshotRecord]),
        (name_after, later): (String, &[&'a SnapshotRecord]),
        options: &Options,
    ) -> Option<Graph> {
        let has_event = |snapshot: &&SnapshotRecord| snapshot.event.is_some();
        if earlier.is_empty() || later.is_empty() || self.snapshots.iter().any(has_event) {
            return None;
        }
        let part = |snapshots: &[&'a SnapshotRecord]| Timeline {
            snapshots: snapshots.to_vec(),
            ..*self
        };
        Some(Graph {
            title: format!("{name_before} → {name_after}"),
            overlay: Some(Overlay {
                name: name_before,
                name_of_graph: name_after,
                points: part(earlier).points(),
            }),
            // Layers are identified by the number of a snapshot, and both runs use the same numbers.
            layers: Vec::new(),
            ..part(later).graph(options)
        })
    }

    /// Returns a table with the columns and headings of `ms_print`, and a column about trees.
    pub(super) fn table(&self) -> Table<'a> {
        let rows = (0..self.snapshots.len()).collect();
        let snapshots: Rc<[&SnapshotRecord]> = self.snapshots.as_slice().into();
        let column = |name: &str, title: &str, layout, cell: fn(&'a SnapshotRecord) -> Cell<'a>| {
            let snapshots = Rc::clone(&snapshots);
            Column::new(name, layout, move |row| cell(snapshots[row])).titled(title)
        };
        let number = |name: &str, title: &str, cell| column(name, title, Layout::Number, cell);
        let events = Audience::all_if(snapshots.iter().any(|snapshot| snapshot.event.is_some()));
        let process = Audience::all_if(
            snapshots
                .iter()
                .any(|snapshot| snapshot.rss_bytes.is_some()),
        );
        let runs = Audience::all_if(snapshots.iter().any(|snapshot| snapshot.run.is_some()));
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
                Cell::Count(snapshot.total())
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
            number("rss_bytes", "process(B)", |snapshot| {
                Cell::count(snapshot.rss_bytes.map(Count::from))
            })
            .for_audience(process),
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
            number("run", "run", |snapshot| {
                Cell::count(snapshot.run.map(Count::from))
            })
            .for_audience(runs),
        ];
        Table::new(columns, rows)
    }
}

fn point(snapshot: &SnapshotRecord) -> Point {
    Point {
        time: time_as_float(snapshot),
        total: u64::try_from(snapshot.total()).unwrap_or(u64::MAX),
    }
}

/// Returns a time as a float, limited to the 64 bits of Massif's counters.
fn time_as_float(snapshot: &SnapshotRecord) -> f64 {
    const FARTHEST: f64 = i64::MAX as f64;
    let time = snapshot.time.as_f64().unwrap_or(0.0);
    time.clamp(-FARTHEST, FARTHEST)
}

/// Formats a time. An integer gets commas between thousands.
pub(super) fn time(snapshot: &SnapshotRecord) -> String {
    match snapshot.time.as_i128() {
        Some(time) => number::grouped(time),
        None => snapshot.time.to_string(),
    }
}
