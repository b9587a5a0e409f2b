//! Costs that Massif's threshold hides. Massif sums the places below its threshold. A place that only one run shows may be
//! part of such a sum in the other run ([`ShownPlaces`]).

use std::collections::BTreeSet;

use cg_names::blame::is_allocator_or_replacement;
use cg_profile::{FrameKey, Key, PlaceFrame, Rows, ShownPlaces};
use cg_stream::record::{Count, RecordType};

use super::functions::FunctionIndex;
use super::rows::{JoinedRow, RowMembers, Sides};
use super::{Joiner, Map};

/// The cost of a row that may be below Massif's threshold.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostBelowThreshold {
    /// By side: the maximum self cost in addition to the entry.
    pub(crate) more: Vec<Count>,
    /// By side: the maximum inclusive cost in addition to the entry.
    pub(crate) more_incl: Vec<Count>,
    /// The sides that may hide a part of the row.
    pub(crate) hiding_sides: Sides,
}

impl CostBelowThreshold {
    /// Returns the maximum additional self or inclusive cost on two sides; `None` if the figures are exact.
    pub(crate) fn between(&self, sides: [usize; 2], is_inclusive: bool) -> Option<[Count; 2]> {
        let is_hidden = sides.iter().any(|side| self.hiding_sides & 1 << side != 0);
        let by_side = match is_inclusive {
            true => &self.more_incl,
            false => &self.more,
        };
        let more = sides.map(|side| by_side.get(side).copied().unwrap_or(0));
        (is_hidden && more != [0, 0]).then_some(more)
    }

    fn add(&mut self, side: usize, bytes: Count, is_inclusive: bool) {
        let more = match is_inclusive {
            true => &mut self.more_incl,
            false => &mut self.more,
        };
        if more.len() <= side {
            more.resize(side + 1, 0);
        }
        more[side] = more[side].saturating_add(bytes);
    }
}

/// The rows that may be below Massif's threshold, by position.
pub(super) type RowsBelowThreshold = Map<usize, CostBelowThreshold>;

/// The tree of a profile with places below Massif's threshold.
struct PartialHeapTree {
    profile: usize,
    side: usize,
    tree: ShownPlaces<FunctionIndex>,
}

impl Joiner<'_> {
    /// Finds the rows that may be below Massif's threshold: the stacks, or the functions if they replace the stacks.
    pub(super) fn rows_below_threshold(
        &self,
        rows: &[JoinedRow],
        members: &[RowMembers],
    ) -> RowsBelowThreshold {
        match self.runs.heaps.is_empty() {
            true => self.stacks_below_threshold(rows, members),
            false => self.functions_below_threshold(rows, members),
        }
    }

    fn stacks_below_threshold(
        &self,
        rows: &[JoinedRow],
        members: &[RowMembers],
    ) -> RowsBelowThreshold {
        let heap = |profile: usize| self.runs.profiles[profile].table(RecordType::Heap);
        let is_heap = |row: &usize| rows[*row].kind == RecordType::Heap;
        let heaps: Vec<usize> = (0..rows.len()).filter(is_heap).collect();
        let records = |profile: usize| {
            let members = &members[profile];
            let with_row = move |row: usize| {
                members
                    .row_records(row)
                    .iter()
                    .map(move |record| (row, *record))
            };
            heaps.iter().copied().flat_map(with_row).collect::<Vec<_>>()
        };
        let trees = self.trees(heap, records, true);
        let mut found = RowsBelowThreshold::default();
        for row in &heaps {
            for PartialHeapTree {
                profile,
                side,
                tree,
            } in &trees
            {
                if !members[*profile].row_records(*row).is_empty() {
                    continue;
                }
                let shown = self.shown(*row, members);
                let Some((shown_side, key, _)) = shown.first() else {
                    continue;
                };
                let hiding = tree.hiding(self.path(key, *shown_side, true));
                let Some(most) = hiding.iter().map(|places| places.bytes).max() else {
                    continue;
                };
                let cost = found.entry(*row).or_default();
                cost.hiding_sides |= 1 << side;
                cost.add(*side, most, false);
                // A place that is hidden in a sum does not change the sum.
                for places in hiding {
                    let sum = found.entry(places.id).or_default();
                    sum.hiding_sides |= 1 << side;
                    for (shown_side, _, bytes) in &shown {
                        sum.add(*shown_side, *bytes, false);
                    }
                }
            }
        }
        found
    }

    /// Returns the sides that show a row, with a key and the bytes on each.
    fn shown(&self, row: usize, members: &[RowMembers]) -> Vec<(usize, Key, Count)> {
        let on_side = |side: usize| {
            self.runs.files_of(side).find_map(|profile| {
                let records = members[profile].row_records(row);
                let heap = self.runs.profiles[profile].table(RecordType::Heap);
                let bytes = records
                    .iter()
                    .map(|record| record_bytes(heap, *record as usize));
                let key = heap.key(*records.first()? as usize);
                Some((side, key, bytes.sum()))
            })
        };
        (0..self.runs.sides.len()).filter_map(on_side).collect()
    }

    fn functions_below_threshold(
        &self,
        rows: &[JoinedRow],
        members: &[RowMembers],
    ) -> RowsBelowThreshold {
        let heap = |profile: usize| &self.runs.heaps[profile];
        let records = |profile: usize| {
            let records = 0..heap(profile).len();
            records.map(|record| (record, record as u32)).collect()
        };
        let trees = self.trees(heap, records, false);
        if trees.is_empty() {
            return RowsBelowThreshold::default();
        }
        let row_of = self.rows_of_classes(rows, members);
        // A sum hides a function only once, even if it may contain several stacks of the function.
        let mut hidden: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
        let mut found = RowsBelowThreshold::default();
        let mut add = |function: FunctionIndex, hiding: usize, more: (usize, Count, bool)| {
            if let Some(row) = row_of.get(&function) {
                let cost = found.entry(*row).or_default();
                cost.hiding_sides |= 1 << hiding;
                let (side, bytes, is_inclusive) = more;
                cost.add(side, bytes, is_inclusive);
            }
        };
        for (side, profile) in self.runs.files() {
            for (record, key) in heap(profile).keys().enumerate() {
                let path = self.path(&key, side, false);
                for other in trees.iter().filter(|other| other.side != side) {
                    for places in other.tree.hiding(path.iter().copied()) {
                        // Skip the functions that all places of the sum have in common: they have the bytes.
                        for (depth, (function, _)) in path.iter().enumerate().skip(places.depth) {
                            let function_in_sum = (*function as usize, other.profile, places.id);
                            if hidden.insert(function_in_sum) {
                                add(*function, other.side, (other.side, places.bytes, true));
                                if depth == 0 {
                                    let more = (other.side, places.bytes, false);
                                    add(*function, other.side, more);
                                }
                            }
                        }
                        if places.depth == 0 {
                            let function = heap(other.profile).function(places.id);
                            let bytes = record_bytes(heap(profile), record);
                            let class = self.class_of(function, other.side);
                            add(class, other.side, (side, bytes, false));
                        }
                    }
                }
            }
        }
        found
    }

    /// Maps classes of functions to their rows.
    fn rows_of_classes(
        &self,
        rows: &[JoinedRow],
        members: &[RowMembers],
    ) -> Map<FunctionIndex, usize> {
        let mut row_of = Map::default();
        for (row, _) in rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.kind == RecordType::Fn)
        {
            for (side, profile) in self.runs.files() {
                let functions = self.runs.profiles[profile].table(RecordType::Fn);
                for record in members[profile].row_records(row) {
                    let function = functions.function(*record as usize);
                    row_of.insert(self.class_of(function, side), row);
                }
            }
        }
        row_of
    }

    /// Returns the trees of the profiles with places below Massif's threshold. `records` returns the records of a profile,
    /// with their ids.
    fn trees<'h>(
        &self,
        heap: impl Fn(usize) -> &'h Rows,
        records: impl Fn(usize) -> Vec<(usize, u32)>,
        by_lines: bool,
    ) -> Vec<PartialHeapTree> {
        let mut trees = Vec::new();
        for (side, profile) in self.runs.files() {
            let heap = heap(profile);
            let places = &heap.numbers().places;
            if (0..heap.len()).all(|record| places.get(record).is_none()) {
                continue;
            }
            let mut tree = ShownPlaces::default();
            for (id, record) in records(profile) {
                let record = record as usize;
                let merged = places.get(record).map(|_| (id, record_bytes(heap, record)));
                tree.add(self.path(&heap.key(record), side, by_lines), merged);
            }
            if !tree.is_whole() {
                trees.push(PartialHeapTree {
                    profile,
                    side,
                    tree,
                });
            }
        }
        trees
    }

    /// Returns the functions of a stack without the allocator's. The frames of the allocator depend on Valgrind's version
    /// and on `--alloc-fn`.
    fn path(&self, key: &Key, side: usize, by_lines: bool) -> Vec<PlaceFrame<FunctionIndex>> {
        let frames = self.runs.names.stacks.frames_of(key.stack).iter();
        let symbols = &self.names.symbols;
        let is_allocators =
            |frame: &&FrameKey| is_allocator_or_replacement(&frame.function.frame(symbols));
        let frames = frames.skip_while(is_allocators);
        let frame = |frame: &FrameKey| {
            let line = frame.line.filter(|_| by_lines);
            (self.class_of(frame.function, side), line)
        };
        frames.map(frame).collect()
    }
}

/// Returns the bytes of a record, or its blocks if only these are counted.
fn record_bytes(heap: &Rows, record: usize) -> Count {
    heap.cost(record).iter().copied().max().unwrap_or(0)
}
