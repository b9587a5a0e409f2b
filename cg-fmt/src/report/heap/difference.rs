//! The comparison of the heap at two snapshots, as a tree.

use cg_document::{Audience, Block, Cell, Column, Layout, Table, number};
use cg_profile::{FrameKey, Profile};
use cg_stream::record::{Count, RecordType, SnapshotRecord, Status};

use super::pair_tree::{PairRow, PairRowKind, PairTree};
use crate::options::Options;
use crate::report::arrange;
use crate::report::columns::push_frame;
use crate::report::stack_tree::name_and_place;
use crate::report::timeline::Timeline;

/// The difference of two snapshots.
pub(super) struct HeapDifference<'a> {
    profile: &'a Profile,
    pub(super) heading: String,
    /// Notes about snapshots without a tree, for which an earlier tree is used.
    pub(super) stand_ins: Vec<String>,
    event: &'static str,
    rows: Vec<PairRow>,
    threshold: f64,
}

impl<'a> HeapDifference<'a> {
    /// Compares the later snapshot with the earlier one.
    ///
    /// # Errors
    /// Returns an error if a snapshot does not exist, if there is no tree at it or before it, or if the two have different
    /// events.
    pub(super) fn compute(
        timeline: &Timeline<'a>,
        numbers: [u64; 2],
        options: &Options,
    ) -> anyhow::Result<HeapDifference<'a>> {
        let profile = timeline.profile;
        anyhow::ensure!(
            profile.table(RecordType::ProgramPoint).is_empty(),
            "--tree snapshot=N..M needs snapshots of Massif: snapshots of heaptrack do not contain all places"
        );
        let mut stand_ins = Vec::new();
        let mut shown = |number| -> anyhow::Result<&'a SnapshotRecord> {
            let shown = with_tree(timeline, number)?;
            if shown.snapshot != number {
                stand_ins.push(format!(
                    "snapshot {number} has no tree; the newest earlier tree is used, of snapshot {}",
                    shown.snapshot
                ));
            }
            Ok(shown)
        };
        let shown = [shown(numbers[0])?, shown(numbers[1])?];
        anyhow::ensure!(
            shown[0].event == shown[1].event,
            "snapshots {} and {} have different events: {} and {}",
            shown[0].snapshot,
            shown[1].snapshot,
            shown[0].event.as_deref().unwrap_or("bytes"),
            shown[1].event.as_deref().unwrap_or("bytes")
        );
        let event = super::tree_event(shown[0]);
        let position = profile.event(event).unwrap_or(0);
        let snapshots = shown.map(|one| (one.heap_bytes > 0).then_some(one.snapshot));
        let tree = PairTree::build(profile, snapshots, position);
        let most = shown.map(|one| one.heap_bytes).into_iter().max();
        let threshold = options.threshold();
        let least = most.unwrap_or(0) as f64 * threshold / 100.0;
        let rows = tree.rows(profile, least.ceil() as Count);
        for (one, bytes) in shown.iter().zip(rows[0].bytes) {
            anyhow::ensure!(
                bytes != Some(0) || one.heap_bytes == 0,
                "there are no heap records of snapshot {}; use the massif.out file, or cg-parse --snapshots all",
                one.snapshot
            );
        }
        Ok(HeapDifference {
            profile,
            heading: heading(shown, event),
            stand_ins,
            event,
            rows,
            threshold,
        })
    }

    pub(super) fn blocks(&self, options: &Options) -> anyhow::Result<Vec<Block<'_>>> {
        let mut table = Table::new(self.columns(), (0..self.rows.len()).collect());
        table.depths = self.rows.iter().map(|row| row.depth).collect();
        arrange::choose_columns(&mut table, None, options)?;
        let mut blocks: Vec<Block> = self.stand_ins.iter().cloned().map(Block::Text).collect();
        blocks.push(Block::Table(table));
        let has = |matches: fn(&PairRow) -> bool| self.rows.iter().any(matches);
        if has(|row| !row.is_known) {
            blocks.push(Block::Note(
                "places without a delta are below Massif's threshold in one snapshot; rerun Massif with --threshold=0"
                    .to_owned(),
            ));
        }
        if has(|row| matches!(row.kind, PairRowKind::Pruned(_))) {
            blocks.push(Block::Note(format!(
                "places that changed by less than {}% of the larger heap are folded (--threshold 0 shows all changes)",
                self.threshold
            )));
        }
        Ok(blocks)
    }

    /// Returns the columns: figures, the drawn tree for people, and the parts of the tree for programs.
    fn columns(&self) -> Vec<Column<'_>> {
        let event = self.event;
        let mut columns = Vec::new();
        for (side, word) in ["old", "new"].into_iter().enumerate() {
            columns.push(
                Column::new(format!("{event}.{word}"), Layout::Number, move |row| {
                    Cell::count(self.rows[row].bytes[side])
                })
                .titled(format!("{event} {word}")),
            );
        }
        columns.push(
            Column::new(format!("{event}.delta"), Layout::Number, |row| {
                self.rows[row].delta().map_or(Cell::Empty, Cell::Delta)
            })
            .titled(format!("{event} delta")),
        );
        columns.push(
            Column::new(format!("{event}.delta%"), Layout::Percent, |row| {
                let from = self.rows[row].bytes[0].unwrap_or(0);
                let delta = self.rows[row].delta();
                delta.map_or(Cell::Empty, |delta| Cell::change(delta, from))
            })
            .titled("%"),
        );
        columns.push(Column::new("status", Layout::Text, |row| {
            Cell::Text(status(&self.rows[row]).name().into())
        }));
        columns.push(
            Column::new("tree", Layout::Name, |row| self.cell(row)).for_audience(Audience::People),
        );
        self.push_programs(&mut columns);
        columns
    }

    fn push_programs<'c>(&'c self, columns: &mut Vec<Column<'c>>) {
        let column = |name: &str, layout, cell: fn(&PairRow) -> Cell<'static>| {
            let cell = move |row: usize| cell(&self.rows[row]);
            Column::new(name, layout, cell).for_audience(Audience::Programs)
        };
        columns.push(column("depth", Layout::Number, |row| {
            Cell::Ordinal(row.depth as u64)
        }));
        push_frame(columns, |row| frame(&self.rows[row]), self.profile);
        columns.push(column("places.old", Layout::Number, |row| places(row, 0)));
        columns.push(column("places.new", Layout::Number, |row| places(row, 1)));
        columns.push(column("what", Layout::Text, |row| match row.kind {
            PairRowKind::Frame(_) => Cell::Empty,
            kind => Cell::Text(words(kind).into()),
        }));
    }

    /// Returns the cell with the name of a row, after the lines of the tree.
    fn cell(&self, row: usize) -> Cell<'a> {
        let row = &self.rows[row];
        match frame(row) {
            Some(frame) => {
                let (name, place) = name_and_place(&frame, self.profile);
                Cell::Placed {
                    lead: row.lines.clone().into(),
                    name,
                    place,
                }
            }
            None => Cell::Text(format!("{}{}", row.lines, words(row.kind)).into()),
        }
    }
}

/// Returns the snapshot whose tree describes this one: the snapshot itself, or the newest earlier one with a tree.
fn with_tree<'a>(timeline: &Timeline<'a>, number: u64) -> anyhow::Result<&'a SnapshotRecord> {
    let snapshots = &timeline.snapshots;
    let listed = |is_listed: fn(&SnapshotRecord) -> bool| {
        let listed = snapshots.iter().filter(|one| is_listed(one));
        let listed: Vec<String> = listed.map(|one| one.snapshot.to_string()).collect();
        listed.join(", ")
    };
    // An empty heap needs no tree.
    let has_tree = |one: &SnapshotRecord| one.detail != "empty" || one.heap_bytes == 0;
    let Some(at) = snapshots.iter().position(|one| one.snapshot == number) else {
        anyhow::bail!(
            "there is no snapshot {number}; snapshots with a tree: {}",
            listed(has_tree)
        );
    };
    let found = snapshots[..=at].iter().rev().find(|one| has_tree(one));
    found.copied().ok_or_else(|| {
        anyhow::anyhow!(
            "snapshot {number} has no tree, and no earlier one has a tree; snapshots with a tree: {}",
            listed(has_tree)
        )
    })
}

fn heading([old, new]: [&SnapshotRecord; 2], event: &str) -> String {
    let bytes = [old, new].map(|one| Count::from(one.heap_bytes));
    format!(
        "snapshot {} → {}: {} → {} {event} on the heap ({})",
        old.snapshot,
        new.snapshot,
        number::grouped(bytes[0]),
        number::grouped(bytes[1]),
        number::signed(bytes[1] - bytes[0])
    )
}

fn frame(row: &PairRow) -> Option<FrameKey> {
    match row.kind {
        PairRowKind::Frame(frame) => Some(frame),
        _ => None,
    }
}

fn places(row: &PairRow, side: usize) -> Cell<'static> {
    match row.kind {
        PairRowKind::Places(places) => Cell::count(places[side]),
        _ => Cell::Empty,
    }
}

fn status(row: &PairRow) -> Status {
    match (row.is_known, row.bytes) {
        (false, _) => Status::BelowThreshold,
        (_, [None, Some(_)]) => Status::Added,
        (_, [Some(_), None]) => Status::Removed,
        (_, [old, new]) if old == new => Status::Same,
        _ => Status::Changed,
    }
}

fn words(kind: PairRowKind) -> String {
    let count = |places: Option<Count>| number::grouped(places.unwrap_or(0));
    match kind {
        PairRowKind::Total => "total".to_owned(),
        PairRowKind::Frame(_) => String::new(),
        PairRowKind::Places([old, new]) => format!(
            "places below Massif's threshold: {} → {}",
            count(old),
            count(new)
        ),
        PairRowKind::Among => "cost below Massif's threshold in one snapshot".to_owned(),
        PairRowKind::Itself => "itself".to_owned(),
        PairRowKind::Pruned(rows) => format!("{} more", number::grouped(rows as Count)),
    }
}
