//! Rows of one record type, their counts side by side in flat columns.

use super::adding::Adding;
use super::key::Key;
use super::sum::{self, Beyond, NotAdded};
use crate::intern::{Id, Keys, TooMany};
use crate::record::{Count, Frame, HeapBlock, Name, Note};
use crate::rows::Cells;

crate::ids! {
    struct RowId;
}

/// Rows of one record type. Counts are in the order of the profile's events.
#[derive(Clone, Default)]
pub struct Rows {
    keys: Keys<RowId, Key>,
    cost: CostColumns,
    incl: CostColumns,
    /// Whether each row has inclusive cost; ends with the last row that has.
    has_incl: Vec<bool>,
    pub(super) numbers: OtherNumbers,
    /// Ends with the last row that has a detail; most types have none.
    details: Vec<Option<Box<Detail>>>,
}

/// Numbers that stand beside `cost`, as far as the type has them.
#[derive(Clone, Debug, Default)]
pub struct OtherNumbers {
    /// Of a `fn` or `call` record.
    pub calls: Numbers<u64>,
    /// Of a `fn` record.
    pub cycle: Numbers<u64>,
    /// Of a `leak` record.
    pub indirect_bytes: Numbers<u64>,
    /// Of a `heap` record.
    pub places: Numbers<u64>,
    /// Of a `heap` record: whether it is of the peak.
    pub peak: Numbers<bool>,
    /// Of a `program_point` record.
    pub max_bytes: Numbers<u64>,
    /// Of a `program_point` record.
    pub max_blocks: Numbers<u64>,
    /// Of a `program_point` record.
    pub lifetime: Numbers<u64>,
    /// Of a `stack` record: whether some of it is an estimate.
    pub estimated: Numbers<bool>,
}

/// Fields that are merged rather than summed.
///
/// Of several records the greatest detail is kept, compared field by field: a field that is given is greater than one
/// that is not, and otherwise the greater text or number wins. So the order of the records makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detail {
    /// Of an `error` record.
    pub notes: Vec<Note<'static>>,
    /// Of an `error` record.
    pub thread: Option<u64>,
    /// Of an `error` record.
    pub thread_name: Option<Name<'static>>,
    /// Of an `error` record: how many bytes it is about.
    pub size: Option<u64>,
    /// Of an `error` record.
    pub address: Option<Name<'static>>,
    /// Of an `error` record: what the address is in or near.
    pub block: Option<HeapBlock>,
    /// Of a `leak` or `error` record.
    pub suppression: Option<Name<'static>>,
    /// Of a `program_point` record: access counts for each byte of its blocks.
    pub accesses: Option<Vec<Option<u64>>>,
    /// Of a `line` record with an address: the inlined functions that the instruction is of.
    pub inlined: Vec<Frame<'static>>,
    /// Of a `leak`, `error` or `stack` record: the process, where all records added up agree.
    pub pid: Option<u64>,
    /// Of a `fn` record: what all of its machine code is known by, where all records added up agree.
    pub code: Option<Name<'static>>,
    /// Of a `fn` record: the same of the instructions that ran.
    pub code_ran: Option<Name<'static>>,
}

/// One number for each row; ends with the last row that has one.
#[derive(Clone, Debug, Default)]
pub struct Numbers<T>(Vec<Option<T>>);

impl<T: Copy> Numbers<T> {
    /// The number of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<T> {
        self.0.get(row).copied().flatten()
    }

    /// The slot for a row's number; extends the column to that row.
    fn place(&mut self, row: usize) -> &mut Option<T> {
        if self.0.len() <= row {
            self.0.resize(row + 1, None);
        }
        &mut self.0[row]
    }
}

impl Numbers<u64> {
    /// The number of a row as a count.
    pub fn count(&self, row: usize) -> Option<Count> {
        self.get(row).map(Count::from)
    }

    pub(super) fn sum(&mut self, row: usize, number: impl Into<Option<u64>>) -> Result<(), Beyond> {
        let Some(number) = number.into() else {
            return Ok(());
        };
        let sum = self.place(row);
        *sum = Some(sum.unwrap_or(0).checked_add(number).ok_or(Beyond)?);
        Ok(())
    }

    pub(super) fn max(&mut self, row: usize, number: impl Into<Option<u64>>) {
        if let Some(number) = number.into() {
            let greatest = self.place(row);
            *greatest = Some(greatest.map_or(number, |known| known.max(number)));
        }
    }

    pub(super) fn min(&mut self, row: usize, number: impl Into<Option<u64>>) {
        if let Some(number) = number.into() {
            let least = self.place(row);
            *least = Some(least.map_or(number, |known| known.min(number)));
        }
    }
}

impl Numbers<bool> {
    pub(super) fn any(&mut self, row: usize, is_so: bool) {
        if is_so {
            *self.place(row) = Some(true);
        }
    }
}

impl Rows {
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

    /// Call count; 0 where none is known.
    pub fn calls(&self, row: usize) -> Count {
        self.numbers.calls.count(row).unwrap_or(0)
    }

    /// Self cost of a row; events beyond the slice are 0.
    #[inline]
    pub fn cost(&self, row: usize) -> &[Count] {
        self.cost.row(row)
    }

    /// The count of an event in the self cost of a row.
    pub fn count(&self, row: usize, event: usize) -> Count {
        self.cost(row).get(event).copied().unwrap_or(0)
    }

    /// Whether the event is not 0 in the self cost of some row.
    pub fn counts(&self, event: usize) -> bool {
        (0..self.len()).any(|row| self.count(row, event) != 0)
    }

    /// Inclusive cost of a row, where the profile has it; events beyond the slice are 0.
    #[inline]
    pub fn incl(&self, row: usize) -> Option<&[Count]> {
        let has_incl = self.has_incl.get(row).is_some_and(|has| *has);
        has_incl.then(|| self.incl.row(row))
    }

    /// Numbers beside `cost`.
    pub fn numbers(&self) -> &OtherNumbers {
        &self.numbers
    }

    /// The fields of a row that are merged rather than summed.
    pub fn detail(&self, row: usize) -> Option<&Detail> {
        self.details.get(row).and_then(Option::as_deref)
    }

    /// The row with this key.
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.keys.find(key).map(Id::index)
    }

    /// Makes room for so many rows, with counts of so many events.
    pub(super) fn reserve(&mut self, rows: usize, events: usize) {
        self.keys.reserve(rows);
        if events > self.cost.stride {
            self.cost.widen(events);
        }
        self.cost.counts.reserve(rows * events);
    }

    /// The row with this key, new or known.
    pub(super) fn row(&mut self, key: Key) -> Result<usize, TooMany> {
        let row = self.keys.intern(key)?.index();
        self.cost.grow_to(self.keys.len());
        self.incl.grow_to(self.keys.len());
        Ok(row)
    }

    /// Adds calls, if they are counted.
    pub(super) fn add_calls(&mut self, row: usize, calls: Option<u64>) -> Result<(), NotAdded> {
        let sum = self.numbers.calls.sum(row, calls);
        sum.map_err(|beyond| beyond.of("calls"))
    }

    /// Adds self cost.
    #[inline]
    pub(super) fn add_costs(
        &mut self,
        row: usize,
        cells: Cells<'_>,
        adding: &mut Adding<'_>,
    ) -> Result<(), NotAdded> {
        adding
            .counts(cells, |event, count| {
                sum::add_exact(self.cost.cell(row, event), count)
            })
            .map_err(|(event, sum)| sum.of_event(adding.events, event))
    }

    /// Adds inclusive cost, where any event is named.
    #[inline]
    pub(super) fn add_incls(
        &mut self,
        row: usize,
        cells: Cells<'_>,
        adding: &mut Adding<'_>,
    ) -> Result<(), NotAdded> {
        adding
            .counts(cells, |event, count| {
                self.set_has_incl(row);
                sum::add_inclusive(self.incl.cell(row, event), count)
            })
            .map_err(|(event, sum)| sum.of(&format!("inclusive {}", adding.events[event])))
    }

    /// Adds the inclusive cost of a record; if it has none, its self cost stands for it. `cost` is the self cost of the
    /// same record, which was added to the row before.
    pub(super) fn add_incls_or_costs(
        &mut self,
        row: usize,
        incl: Option<Cells<'_>>,
        cost: Cells<'_>,
        adding: &mut Adding<'_>,
    ) -> Result<(), NotAdded> {
        let Some(incl) = incl else {
            return match self.incl(row) {
                Some(_) => self.add_incls(row, cost, adding),
                None => Ok(()),
            };
        };
        if self.incl(row).is_none() {
            // The inclusive cost of the earlier records, none of which gave any: their self cost.
            let mut before = self.cost(row).to_vec();
            adding
                .counts(cost, |event, count| {
                    // The row's self cost already includes this record's.
                    before[event] -= count;
                    Ok(())
                })
                .map_err(|(event, sum)| sum.of_event(adding.events, event))?;
            for (event, count) in before.into_iter().enumerate() {
                self.set_has_incl(row);
                sum::add_inclusive(self.incl.cell(row, event), count)
                    .map_err(|sum| sum.of("inclusive cost"))?;
            }
        }
        self.add_incls(row, incl, adding)
    }

    /// Adds the self cost of a row of another table of a profile with these events.
    pub(super) fn add_cost(
        &mut self,
        row: usize,
        counts: &[Count],
        events: &[String],
    ) -> Result<(), NotAdded> {
        for (event, count) in counts.iter().enumerate() {
            sum::add_exact(self.cost.cell(row, event), *count)
                .map_err(|sum| sum.of_event(events, event))?;
        }
        Ok(())
    }

    /// The same of inclusive cost.
    pub(super) fn add_incl(
        &mut self,
        row: usize,
        counts: &[Count],
        events: &[String],
    ) -> Result<(), NotAdded> {
        for (event, count) in counts.iter().enumerate() {
            self.set_has_incl(row);
            sum::add_inclusive(self.incl.cell(row, event), *count)
                .map_err(|sum| sum.of_event(events, event))?;
        }
        Ok(())
    }

    /// Sets the counts of an event that is new to the table.
    pub(super) fn put(&mut self, row: usize, event: usize, cost: Count, incl: Option<Count>) {
        *self.cost.cell(row, event) = cost;
        if let Some(incl) = incl {
            *self.incl.cell(row, event) = incl;
        }
    }

    fn set_has_incl(&mut self, row: usize) {
        if self.has_incl.len() <= row {
            self.has_incl.resize(row + 1, false);
        }
        self.has_incl[row] = true;
    }

    /// Merges the detail of a record into its row. `agree` clears, in its second detail, the `agreed` fields that
    /// differ from those of the first.
    pub(super) fn add_detail(
        &mut self,
        row: usize,
        is_new: bool,
        mut other: Detail,
        agree: impl Fn(&Detail, &mut Detail),
    ) {
        if !is_new {
            let known = self.details.get_mut(row).and_then(Option::take);
            let mut known = known.map_or_else(Detail::default, |known| *known);
            agree(&known, &mut other);
            agree(&other, &mut known);
            other = other.max(known);
        }
        if other == Detail::default() {
            return;
        }
        if self.details.len() <= row {
            self.details.resize(row + 1, None);
        }
        self.details[row] = Some(Box::new(other));
    }

    /// Takes the detail of a row of another table.
    pub(super) fn take_detail(&mut self, row: usize, from: &Rows, from_row: usize) {
        if let Some(detail) = from.detail(from_row) {
            self.details.resize(self.details.len().max(row + 1), None);
            self.details[row] = Some(Box::new(detail.clone()));
        }
    }

    /// Puts the columns of counts in another order: the event at `order[n]` becomes the one at `n`.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.cost.reorder(order);
        self.incl.reorder(order);
    }
}

/// The index of an event, which is added if it is new. Records mostly have their events in the profile's order, with
/// some left out, so the search begins at `next`, behind the event before.
#[inline]
pub(super) fn event_index(events: &mut Vec<String>, event: &str, next: usize) -> usize {
    for (position, known) in events.iter().enumerate().skip(next) {
        if known == event {
            return position;
        }
    }
    event_out_of_order(events, event)
}

#[cold]
fn event_out_of_order(events: &mut Vec<String>, event: &str) -> usize {
    let known = events.iter().position(|known| known == event);
    known.unwrap_or_else(|| {
        events.push(event.to_owned());
        events.len() - 1
    })
}

/// Counts of all rows in one allocation; a row is `stride` counts long.
#[derive(Clone, Default)]
struct CostColumns {
    stride: usize,
    rows: usize,
    counts: Vec<Count>,
}

impl CostColumns {
    #[inline]
    fn row(&self, row: usize) -> &[Count] {
        &self.counts[row * self.stride..(row + 1) * self.stride]
    }

    fn grow_to(&mut self, rows: usize) {
        if self.rows < rows {
            self.rows = rows;
            self.counts.resize(rows * self.stride, 0);
        }
    }

    #[inline]
    fn cell(&mut self, row: usize, event: usize) -> &mut Count {
        if event >= self.stride {
            self.widen(event + 1);
        }
        &mut self.counts[row * self.stride + event]
    }

    /// New events come with the `run` record or the first rows, so this happens a few times and early.
    #[cold]
    fn widen(&mut self, stride: usize) {
        let same = (0..self.stride).map(Some);
        let columns: Vec<_> = same.chain((self.stride..stride).map(|_| None)).collect();
        self.arrange(&columns);
    }

    fn reorder(&mut self, order: &[usize]) {
        if self.stride > 0 {
            let within = |column: &usize| (*column < self.stride).then_some(*column);
            let columns: Vec<_> = order.iter().map(within).collect();
            self.arrange(&columns);
        }
    }

    /// Rebuilds the columns: each new one is a copy of an old one, or all 0 for `None`.
    fn arrange(&mut self, columns: &[Option<usize>]) {
        let mut counts = Vec::with_capacity(self.rows * columns.len());
        for row in 0..self.rows {
            let row = self.row(row);
            let count = |column: &Option<usize>| column.map_or(0, |column| row[column]);
            counts.extend(columns.iter().map(count));
        }
        self.counts = counts;
        self.stride = columns.len();
    }
}
