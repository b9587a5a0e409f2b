//! Rows of one record type, their counts side by side in flat columns.

use super::key::Key;
use crate::intern::{Id, Keys, TooMany};
use crate::record::{Count, Name, Note};

crate::ids! {
    struct RowId;
}

/// Rows of one record type. Counts are in the order of the profile's events.
#[derive(Clone, Default)]
pub struct Table {
    keys: Keys<RowId, Key>,
    calls: Vec<Count>,
    cycles: Vec<Option<u64>>,
    cost: Costs,
    incl: Costs,
    has_incl: Vec<bool>,
    /// As long as the last row that has any; most types have none.
    beside: Vec<Beside>,
    /// As long as the last row that has any.
    details: Vec<Option<Box<Detail>>>,
}

/// Numbers that stand beside `cost` because they do not add up with it, as far as the type has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Of a `leak` record; added up.
    pub indirect_bytes: Option<Count>,
    /// Of a `heap` record; added up.
    pub places: Option<Count>,
    /// Of a `program_point` record; the larger is kept.
    pub max_bytes: Option<Count>,
    /// Of a `program_point` record; the larger is kept.
    pub max_blocks: Option<Count>,
    /// Of a `program_point` record; added up.
    pub lifetime: Option<Count>,
    /// Of a `heap` record: whether it is of the peak.
    pub is_peak: bool,
}

/// What a row says that is neither key nor number; of records added up, the first one's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Of an `error` record.
    pub notes: Vec<Note<'static>>,
    /// Of an `error` record.
    pub thread: Option<u64>,
    /// Of an `error` record.
    pub thread_name: Option<Name<'static>>,
    /// Of a `leak` or `error` record.
    pub suppression: Option<Name<'static>>,
    /// Of a `leak` or `error` record: the process, where all records added up agree.
    pub pid: Option<u64>,
    /// Of a `program_point` record: access counts for each byte of its blocks.
    pub accesses: Option<Vec<Option<u64>>>,
}

impl Table {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of a row.
    pub fn key(&self, row: usize) -> &Key {
        &self.keys.all()[row]
    }

    /// All keys, in the order in which they first came.
    pub fn keys(&self) -> &[Key] {
        self.keys.all()
    }

    /// Call count.
    pub fn calls(&self, row: usize) -> Count {
        self.calls[row]
    }

    /// The cycle the function is in, if its inclusive cost was computed over one.
    pub fn cycle(&self, row: usize) -> Option<u64> {
        self.cycles[row]
    }

    /// Self cost of a row; events beyond the slice are 0.
    pub fn cost(&self, row: usize) -> &[Count] {
        self.cost.row(row)
    }

    /// Inclusive cost of a row, where the profile has it; events beyond the slice are 0.
    pub fn incl(&self, row: usize) -> Option<&[Count]> {
        self.has_incl[row].then(|| self.incl.row(row))
    }

    /// Numbers beside `cost`.
    pub fn beside(&self, row: usize) -> &Beside {
        const NONE: &Beside = &Beside {
            indirect_bytes: None,
            places: None,
            max_bytes: None,
            max_blocks: None,
            lifetime: None,
            is_peak: false,
        };
        self.beside.get(row).unwrap_or(NONE)
    }

    /// What is neither key nor number.
    pub fn detail(&self, row: usize) -> Option<&Detail> {
        self.details.get(row).and_then(Option::as_deref)
    }

    /// The row with this key.
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.keys.find(key).map(Id::index)
    }

    /// The row with this key, new or known.
    pub(super) fn row(&mut self, key: Key) -> Result<usize, TooMany> {
        let row = self.keys.intern(key)?.index();
        if row == self.calls.len() {
            self.calls.push(0);
            self.cycles.push(None);
            self.cost.push_row();
            self.incl.push_row();
            self.has_incl.push(false);
        }
        Ok(row)
    }

    pub(super) fn add_calls(&mut self, row: usize, calls: u64) {
        self.calls[row] += Count::from(calls);
    }

    pub(super) fn set_cycle(&mut self, row: usize, cycle: Option<u64>) {
        self.cycles[row] = self.cycles[row].or(cycle);
    }

    pub(super) fn add_cost(&mut self, row: usize, event: usize, count: Count) {
        self.cost.add(row, event, count);
    }

    pub(super) fn add_incl(&mut self, row: usize, event: usize, count: Count) {
        self.has_incl[row] = true;
        self.incl.add(row, event, count);
    }

    pub(super) fn add_beside(&mut self, row: usize, other: Beside) {
        if self.beside.len() <= row {
            self.beside.resize(row + 1, Beside::default());
        }
        let beside = &mut self.beside[row];
        let sum = |a: Option<Count>, b: Option<Count>| {
            if a.is_none() {
                b
            } else {
                a.map(|a| a + b.unwrap_or(0))
            }
        };
        beside.indirect_bytes = sum(beside.indirect_bytes, other.indirect_bytes);
        beside.places = sum(beside.places, other.places);
        beside.lifetime = sum(beside.lifetime, other.lifetime);
        beside.max_bytes = beside.max_bytes.max(other.max_bytes);
        beside.max_blocks = beside.max_blocks.max(other.max_blocks);
        beside.is_peak |= other.is_peak;
    }

    pub(super) fn add_detail(&mut self, row: usize, other: Detail) {
        if self.details.len() <= row {
            self.details.resize(row + 1, None);
        }
        match &mut self.details[row] {
            Some(detail) => {
                if detail.pid != other.pid {
                    detail.pid = None;
                }
            }
            // A row that was there before and had nothing to say has no process to agree on.
            empty if other == Detail::default() => *empty = None,
            empty => *empty = Some(Box::new(other)),
        }
    }
}

/// Counts of all rows in one allocation; a row is `stride` counts long.
#[derive(Clone, Default)]
struct Costs {
    stride: usize,
    rows: usize,
    counts: Vec<Count>,
}

impl Costs {
    fn row(&self, row: usize) -> &[Count] {
        &self.counts[row * self.stride..(row + 1) * self.stride]
    }

    fn push_row(&mut self) {
        self.rows += 1;
        self.counts.resize(self.rows * self.stride, 0);
    }

    fn add(&mut self, row: usize, event: usize, count: Count) {
        if event >= self.stride {
            self.widen(event + 1);
        }
        self.counts[row * self.stride + event] += count;
    }

    /// Events come first with the `run` record or the first rows, so this happens a few times and early.
    fn widen(&mut self, stride: usize) {
        let mut counts = vec![0; self.rows * stride];
        for row in 0..self.rows {
            counts[row * stride..row * stride + self.stride].copy_from_slice(self.row(row));
        }
        self.counts = counts;
        self.stride = stride;
    }
}
