//! What Massif does not tell of a row: places whose bytes are below its threshold are one sum, and a place that only one
//! run shows may be among those of the other ([`ToldPlaces`]).

use std::collections::BTreeSet;

use cg_names::blame::is_allocator_or_replacement;
use cg_stream::profile::{FrameKey, Key, PlaceFrame, Rows, ToldPlaces};
use cg_stream::record::{Count, RecordType};

use super::functions::FunctionIndex;
use super::rows::{JoinedRow, RowMembers, Sides};
use super::{Joiner, Map};

/// What the runs do not tell of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct UntoldCost {
    /// By side: how much more than its entry says the self cost may be.
    pub(crate) more: Vec<Count>,
    /// By side: how much more the inclusive cost may be.
    pub(crate) more_incl: Vec<Count>,
    /// The sides whose trees do not tell it.
    pub(crate) silent: Sides,
}

impl UntoldCost {
    /// What is not told between two sides: of self or inclusive cost, by how much more it may be on either.
    pub(crate) fn between(&self, sides: [usize; 2], is_inclusive: bool) -> Option<[Count; 2]> {
        let is_silent = sides.iter().any(|side| self.silent & 1 << side != 0);
        let of = match is_inclusive {
            true => &self.more_incl,
            false => &self.more,
        };
        let more = sides.map(|side| of.get(side).copied().unwrap_or(0));
        (is_silent && more != [0, 0]).then_some(more)
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

/// The rows that are not told, by position.
pub(super) type UntoldRows = Map<usize, UntoldCost>;

/// The tree of a profile whose places are not all told.
struct UntoldTree {
    profile: usize,
    side: usize,
    tree: ToldPlaces<FunctionIndex>,
}

impl Joiner<'_> {
    /// Finds the rows that are not told: of heaps by their stacks, or where functions stand for these, by the functions.
    pub(super) fn untold(&self, rows: &[JoinedRow], members: &[RowMembers]) -> UntoldRows {
        match self.runs.heaps.is_empty() {
            true => self.untold_stacks(rows, members),
            false => self.untold_functions(rows, members),
        }
    }

    fn untold_stacks(&self, rows: &[JoinedRow], members: &[RowMembers]) -> UntoldRows {
        let heap = |profile: usize| self.runs.profiles[profile].table(RecordType::Heap);
        let of_heap = |row: &usize| rows[*row].of == RecordType::Heap;
        let heaps: Vec<usize> = (0..rows.len()).filter(of_heap).collect();
        let records = |profile: usize| {
            let members = &members[profile];
            let of_row = move |row: usize| members.of(row).iter().map(move |record| (row, *record));
            heaps.iter().copied().flat_map(of_row).collect::<Vec<_>>()
        };
        let trees = self.trees(heap, records, true);
        let mut untold = UntoldRows::default();
        for row in &heaps {
            for UntoldTree {
                profile,
                side,
                tree,
            } in &trees
            {
                if !members[*profile].of(*row).is_empty() {
                    continue;
                }
                let shown = self.shown(*row, members);
                let Some((shown_side, key, _)) = shown.first() else {
                    continue;
                };
                let hiding = tree.hiding(self.path(key, *shown_side, true));
                let Some(most) = hiding.iter().map(|untold| untold.bytes).max() else {
                    continue;
                };
                let cost = untold.entry(*row).or_default();
                cost.silent |= 1 << side;
                cost.add(*side, most, false);
                // What is hidden among places is no change of these.
                for places in hiding {
                    let of_places = untold.entry(places.id).or_default();
                    of_places.silent |= 1 << side;
                    for (shown_side, _, bytes) in &shown {
                        of_places.add(*shown_side, *bytes, false);
                    }
                }
            }
        }
        untold
    }

    /// Where a row is shown: the side, a key and the bytes there, once a side.
    fn shown(&self, row: usize, members: &[RowMembers]) -> Vec<(usize, Key, Count)> {
        let of_side = |side: usize| {
            self.runs.files_of(side).find_map(|profile| {
                let records = members[profile].of(row);
                let heap = self.runs.profiles[profile].table(RecordType::Heap);
                let bytes = records
                    .iter()
                    .map(|record| bytes_of(heap, *record as usize));
                let key = *heap.key(*records.first()? as usize);
                Some((side, key, bytes.sum()))
            })
        };
        (0..self.runs.sides.len()).filter_map(of_side).collect()
    }

    fn untold_functions(&self, rows: &[JoinedRow], members: &[RowMembers]) -> UntoldRows {
        let heap = |profile: usize| &self.runs.heaps[profile];
        let records = |profile: usize| {
            let records = 0..heap(profile).len();
            records.map(|record| (record, record as u32)).collect()
        };
        let trees = self.trees(heap, records, false);
        if trees.is_empty() {
            return UntoldRows::default();
        }
        let row_of = self.rows_of_classes(rows, members);
        // Places hide a function once, however many of its stacks may be among them.
        let mut hidden: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
        let mut untold = UntoldRows::default();
        let mut add = |function: FunctionIndex, silent: usize, more: (usize, Count, bool)| {
            if let Some(row) = row_of.get(&function) {
                let cost = untold.entry(*row).or_default();
                cost.silent |= 1 << silent;
                let (side, bytes, is_inclusive) = more;
                cost.add(side, bytes, is_inclusive);
            }
        };
        for (side, profile) in self.runs.files() {
            for (record, key) in heap(profile).keys().iter().enumerate() {
                let path = self.path(key, side, false);
                for other in trees.iter().filter(|other| other.side != side) {
                    for places in other.tree.hiding(path.iter().copied()) {
                        // The functions that they have in common have their bytes.
                        for (depth, (function, _)) in path.iter().enumerate().skip(places.depth) {
                            let found = (*function as usize, other.profile, places.id);
                            if hidden.insert(found) {
                                add(*function, other.side, (other.side, places.bytes, true));
                                if depth == 0 {
                                    let more = (other.side, places.bytes, false);
                                    add(*function, other.side, more);
                                }
                            }
                        }
                        if places.depth == 0 {
                            let of_places = heap(other.profile).key(places.id).function;
                            let bytes = bytes_of(heap(profile), record);
                            let class = self.class_of(of_places, other.side);
                            add(class, other.side, (side, bytes, false));
                        }
                    }
                }
            }
        }
        untold
    }

    /// The rows of functions.
    fn rows_of_classes(
        &self,
        rows: &[JoinedRow],
        members: &[RowMembers],
    ) -> Map<FunctionIndex, usize> {
        let mut row_of = Map::default();
        for (row, _) in rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.of == RecordType::Fn)
        {
            for (side, profile) in self.runs.files() {
                let functions = self.runs.profiles[profile].table(RecordType::Fn);
                for record in members[profile].of(row) {
                    let function = functions.key(*record as usize).function;
                    row_of.insert(self.class_of(function, side), row);
                }
            }
        }
        row_of
    }

    /// The trees of the profiles that do not tell all places; `records` are those of a profile with their ids.
    fn trees<'h>(
        &self,
        heap: impl Fn(usize) -> &'h Rows,
        records: impl Fn(usize) -> Vec<(usize, u32)>,
        by_lines: bool,
    ) -> Vec<UntoldTree> {
        let mut trees = Vec::new();
        for (side, profile) in self.runs.files() {
            let heap = heap(profile);
            let places = &heap.numbers().places;
            if (0..heap.len()).all(|record| places.get(record).is_none()) {
                continue;
            }
            let mut tree = ToldPlaces::default();
            for (id, record) in records(profile) {
                let record = record as usize;
                let untold = places.get(record).map(|_| (id, bytes_of(heap, record)));
                tree.add(self.path(heap.key(record), side, by_lines), untold);
            }
            if !tree.is_whole() {
                trees.push(UntoldTree {
                    profile,
                    side,
                    tree,
                });
            }
        }
        trees
    }

    /// The functions of a stack from the first that is not the allocator's: which of its frames are shown depends on
    /// Valgrind's version and on `--alloc-fn`.
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

/// The bytes of a record, or its blocks where these are what was counted.
fn bytes_of(heap: &Rows, record: usize) -> Count {
    heap.cost(record).iter().copied().max().unwrap_or(0)
}
