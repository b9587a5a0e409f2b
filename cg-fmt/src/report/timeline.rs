//! The snapshots of a Massif run: how they follow each other, which is the peak, what is drawn of them.

use cg_document::{Audience, Cell, Column, Graph, Layout, Point, Table, number};
use cg_stream::profile::Profile;
use cg_stream::record::{Count, SnapshotRecord};

use super::origin::origin;
use crate::options::Options;

/// The snapshots that were read, at least one.
pub(super) struct Timeline<'a> {
    pub(super) profile: &'a Profile,
    pub(super) snapshots: &'a [SnapshotRecord],
    pub(super) time_unit: &'a str,
}

impl<'a> Timeline<'a> {
    /// The snapshots of a profile, if it has any.
    pub(super) fn of(profile: &'a Profile) -> Option<Timeline<'a>> {
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
            snapshots: profile.snapshots(),
            time_unit,
        })
    }

    /// True where the snapshots follow each other. Those of several runs have no common time, and those of an xtree
    /// file are one for each of its events.
    pub(super) fn is_in_time(&self) -> bool {
        self.profile.runs().len() <= 1
            && self
                .snapshots
                .iter()
                .all(|snapshot| snapshot.event.is_none())
    }

    /// The total at each snapshot.
    pub(super) fn points(&self) -> Vec<Point> {
        let point = |snapshot: &SnapshotRecord| Point {
            time: time_as_float(snapshot),
            total: u64::try_from(total(snapshot)).unwrap_or(u64::MAX),
        };
        self.snapshots.iter().map(point).collect()
    }

    /// The totals as a graph.
    pub(super) fn graph(&self, options: &Options) -> Graph {
        let peak = self.peak().filter(|peak| peak.detail == "peak");
        Graph {
            title: origin(self.profile).unwrap_or_default(),
            points: self.points(),
            peak_time: peak.map(time_as_float),
            time_unit: self.time_unit.to_owned(),
            columns: options.graph_width,
        }
    }

    /// The snapshot that is marked as the peak, else the largest.
    pub(super) fn peak(&self) -> Option<&'a SnapshotRecord> {
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
        marked.or_else(largest)
    }

    /// The columns of `ms_print`, under its headings, and which snapshots have a tree.
    pub(super) fn table(&self) -> Table<'a> {
        let rows = (0..self.snapshots.len()).collect();
        let snapshots = self.snapshots;
        let column = |name: &str, title: &str, layout, cell: fn(&'a SnapshotRecord) -> Cell<'a>| {
            Column::new(name, layout, move |row| cell(&snapshots[row])).titled(title)
        };
        let number = |name: &str, title: &str, cell| column(name, title, Layout::Number, cell);
        let events = match snapshots.iter().any(|snapshot| snapshot.event.is_some()) {
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
}

/// What `ms_print` calls the total.
pub(super) fn total(snapshot: &SnapshotRecord) -> Count {
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
pub(super) fn time(snapshot: &SnapshotRecord) -> String {
    match snapshot.time.as_i128() {
        Some(time) => number::grouped(time),
        None => snapshot.time.to_string(),
    }
}
