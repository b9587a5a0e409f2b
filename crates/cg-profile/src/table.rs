//! The rows of one record type, with their counts in flat columns.

use super::adding::Adding;
use super::key::{FunctionKey, Key};
use super::packed_keys::PackedKeys;
use super::sum::{self, Beyond, NotAdded};
use cg_collections::intern::TooMany;
use cg_stream::record::{Count, Frame, HeapBlock, Name, Note, RecordType};
use cg_stream::rows::Cells;

/// The rows of one record type. Counts are in the order of the profile's events.
#[derive(Clone, Default)]
pub struct Rows {
    keys: PackedKeys,
    cost: CostColumns,
    incl: CostColumns,
    /// True for each row that has inclusive cost, up to the last such row.
    has_incl: Vec<bool>,
    pub(super) numbers: OtherNumbers,
    /// The details of the rows, up to the last row that has one. Most types have no details.
    details: Vec<Option<Box<Detail>>>,
}

/// The numbers of the rows besides `cost` and `incl`. Each type of record has some of them.
#[derive(Clone, Debug, Default)]
pub struct OtherNumbers {
    /// Call counts, in `fn` and `call` records.
    pub calls: Numbers<u64>,
    /// Numbers of cycles, in `fn` records.
    pub cycle: Numbers<u64>,
    /// Indirectly lost bytes, in `leak` records.
    pub indirect_bytes: Numbers<u64>,
    /// The number of added records, in `leak` and `error` records.
    pub records: Numbers<u64>,
    /// Numbers of places, in `heap` records.
    pub places: Numbers<u64>,
    /// True for the peak, in `heap` records.
    pub peak: Numbers<bool>,
    /// Maxima of live bytes, in `program_point` records.
    pub max_bytes: Numbers<u64>,
    /// Live blocks at these maxima, in `program_point` records.
    pub max_blocks: Numbers<u64>,
    /// Lifetimes of blocks, in `program_point` records.
    pub lifetime: Numbers<u64>,
    /// True if the inclusive cost is only known to be at most a number.
    incl_bound: Numbers<bool>,
    /// True if a part of the cost is an estimate, in `stack` records.
    pub estimated: Numbers<bool>,
}

/// The fields that are merged instead of added up.
///
/// The greatest detail of several records is kept. Details are compared field by field: a field with a value is greater than
/// a missing field, and otherwise the greater text or number wins. So the order of the records does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detail {
    /// Further descriptions, in an `error` record.
    pub notes: Vec<Note<'static>>,
    /// The thread's number, in an `error` record.
    pub thread: Option<u64>,
    /// The thread's name, in an `error` record.
    pub thread_name: Option<Name<'static>>,
    /// The number of bytes read, written or used, in an `error` record.
    pub size: Option<u64>,
    /// The address, in an `error` record.
    pub address: Option<Name<'static>>,
    /// The block that the address is in or near, in an `error` record.
    pub block: Option<HeapBlock>,
    /// The suppression that Valgrind wrote, in a `leak` or `error` record.
    pub suppression: Option<Name<'static>>,
    /// Access counts for each byte of the blocks, in a `program_point` record.
    pub accesses: Option<Vec<Option<u64>>>,
    /// The inlined functions that contain the instruction, in a `line` record with an address.
    pub inlined: Vec<Frame<'static>>,
    /// The process in a `leak`, `error` or `stack` record, if all added records agree.
    pub pid: Option<u64>,
    /// The fingerprint of all machine code in a `fn` record, if all added records agree.
    pub code: Option<Name<'static>>,
    /// The fingerprint of the instructions that ran in a `fn` record, if all added records agree.
    pub code_ran: Option<Name<'static>>,
}

/// One number for each row, up to the last row that has one.
#[derive(Clone, Debug, Default)]
pub struct Numbers<T>(Vec<Option<T>>);

impl<T: Copy> Numbers<T> {
    /// Returns the number of a row; `None` if the row has none.
    pub fn get(&self, row: usize) -> Option<T> {
        self.0.get(row).copied().flatten()
    }

    /// Returns the slot for a row's number. Extends the column to that row.
    fn place(&mut self, row: usize) -> &mut Option<T> {
        if self.0.len() <= row {
            self.0.resize(row + 1, None);
        }
        &mut self.0[row]
    }
}

impl Numbers<u64> {
    /// Returns the number of a row as a count.
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
    pub(super) fn any(&mut self, row: usize, is_true: bool) {
        if is_true {
            *self.place(row) = Some(true);
        }
    }
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    /// Returns the key of a row.
    pub fn key(&self, row: usize) -> Key {
        self.keys.key(row)
    }

    /// Returns the function of a row, which takes less time than its key.
    pub fn function(&self, row: usize) -> FunctionKey {
        self.keys.function(row)
    }

    /// Returns a key that has some value in each field that the key of some row has, except for the function. A report uses it
    /// to find out which columns it needs.
    pub fn used_fields(&self) -> Key {
        self.keys.used_fields()
    }

    /// Returns all keys, in the order of their first records.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = Key> + DoubleEndedIterator + Clone {
        self.keys.all()
    }

    /// Returns the call count of a row; 0 if it is unknown.
    pub fn calls(&self, row: usize) -> Count {
        self.numbers.calls.count(row).unwrap_or(0)
    }

    /// Returns the self cost of a row. Events after the end of the slice are 0.
    #[inline]
    pub fn cost(&self, row: usize) -> &[Count] {
        self.cost.row(row)
    }

    /// Returns the count of an event in the self cost of a row.
    pub fn count(&self, row: usize, event: usize) -> Count {
        self.cost(row).get(event).copied().unwrap_or(0)
    }

    /// Returns true if the event is not 0 in the self cost of some row.
    pub fn counts(&self, event: usize) -> bool {
        (0..self.len()).any(|row| self.count(row, event) != 0)
    }

    /// Returns the inclusive cost of a row; `None` if the profile does not have it. Events after the end of the slice are 0.
    #[inline]
    pub fn incl(&self, row: usize) -> Option<&[Count]> {
        let has_incl = self.has_incl.get(row).is_some_and(|has| *has);
        has_incl.then(|| self.incl.row(row))
    }

    /// Returns the upper bound of a row's inclusive cost, if the inclusive cost itself is unknown. Events after the end of the
    /// slice are 0.
    pub fn incl_bound(&self, row: usize) -> Option<&[Count]> {
        self.has_incl_bound(row).then(|| self.incl.row(row))
    }

    /// Returns the inclusive cost of a row, or its upper bound.
    pub fn incl_or_bound(&self, row: usize) -> Option<&[Count]> {
        self.incl(row).or_else(|| self.incl_bound(row))
    }

    fn has_incl_bound(&self, row: usize) -> bool {
        self.numbers.incl_bound.get(row) == Some(true)
    }

    /// Returns the numbers besides `cost` and `incl`.
    pub fn numbers(&self) -> &OtherNumbers {
        &self.numbers
    }

    /// Returns the fields of a row that are merged instead of added up; `None` if the row has none.
    pub fn detail(&self, row: usize) -> Option<&Detail> {
        self.details.get(row).and_then(Option::as_deref)
    }

    /// Returns the row with this key; `None` if there is none.
    pub fn find(&self, key: &Key) -> Option<usize> {
        self.keys.find(key)
    }

    /// Reserves space for more rows of a type with counts of this number of events.
    pub(super) fn reserve(&mut self, rows: usize, of: RecordType, events: usize) {
        self.keys.reserve(rows);
        let columns = match of {
            RecordType::Call => &mut self.incl,
            _ => &mut self.cost,
        };
        if events > columns.stride {
            columns.widen(events);
        }
        columns.counts.reserve(rows * events);
    }

    /// Returns the row with this key, which is added if it does not exist.
    pub(super) fn row(&mut self, key: &Key) -> Result<usize, TooMany> {
        let row = self.keys.intern(key)?;
        self.cost.grow_to(self.keys.len());
        self.incl.grow_to(self.keys.len());
        Ok(row)
    }

    /// Adds calls, if the profile counts them.
    pub(super) fn add_calls(&mut self, row: usize, calls: Option<u64>) -> Result<(), NotAdded> {
        let sum = self.numbers.calls.sum(row, calls);
        sum.map_err(|beyond| beyond.with_name("calls"))
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
            .map_err(|(event, sum)| sum.with_event(adding.events, event))
    }

    /// Adds inclusive cost, if it has any events.
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
            .map_err(|(event, sum)| sum.with_name(&format!("inclusive {}", adding.events[event])))
    }

    /// Adds the inclusive cost of a record, or its self cost if it has no inclusive cost. `cost` is the self cost of the
    /// same record, which must have been added to the row before.
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
            // No earlier record had an inclusive cost, so their inclusive cost is their self cost.
            let mut before = self.cost(row).to_vec();
            adding
                .counts(cost, |event, count| {
                    // The row's self cost already includes this record's.
                    before[event] -= count;
                    Ok(())
                })
                .map_err(|(event, sum)| sum.with_event(adding.events, event))?;
            for (event, count) in before.into_iter().enumerate() {
                self.set_has_incl(row);
                sum::add_inclusive(self.incl.cell(row, event), count)
                    .map_err(|sum| sum.with_name("inclusive cost"))?;
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
                .map_err(|sum| sum.with_event(events, event))?;
        }
        Ok(())
    }

    /// Adds the inclusive cost of a row of another table of a profile with these events.
    pub(super) fn add_incl(
        &mut self,
        row: usize,
        counts: &[Count],
        events: &[String],
    ) -> Result<(), NotAdded> {
        for (event, count) in counts.iter().enumerate() {
            self.set_has_incl(row);
            sum::add_inclusive(self.incl.cell(row, event), *count)
                .map_err(|sum| sum.with_event(events, event))?;
        }
        Ok(())
    }

    /// Sets the counts of an event that the table does not have yet.
    pub(super) fn put(&mut self, row: usize, event: usize, cost: Count, incl: Option<Count>) {
        *self.cost.cell(row, event) = cost;
        if let Some(incl) = incl {
            *self.incl.cell(row, event) = incl;
        }
    }

    /// Sets the inclusive cost of a row, or its upper bound.
    pub(super) fn set_incl(&mut self, row: usize, counts: &[Count], is_bound: bool) {
        for (event, count) in counts.iter().enumerate() {
            *self.incl.cell(row, event) = *count;
        }
        match is_bound {
            true => self.numbers.incl_bound.any(row, true),
            false => self.set_has_incl(row),
        }
    }

    fn set_has_incl(&mut self, row: usize) {
        if self.has_incl.len() <= row {
            self.has_incl.resize(row + 1, false);
        }
        self.has_incl[row] = true;
    }

    /// Merges the detail of a record into its row. `agree` clears those `agreed` fields of its second detail that differ
    /// from the fields of its first detail.
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

    /// Copies the detail of a row of another table.
    pub(super) fn take_detail(&mut self, row: usize, from: &Rows, from_row: usize) {
        if let Some(detail) = from.detail(from_row) {
            self.details.resize(self.details.len().max(row + 1), None);
            self.details[row] = Some(Box::new(detail.clone()));
        }
    }

    /// Changes the order of the columns of counts: the event at `order[n]` moves to `n`.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.cost.reorder(order);
        self.incl.reorder(order);
    }
}

/// Returns the index of an event, which is added if it is new. Most records have their events in the profile's order, with
/// some left out, so the search begins at `next`, after the previous event.
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

/// The counts of all rows in one allocation. Each row has `stride` counts.
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
        self.rows = self.rows.max(rows);
        // Most profiles have few events. Then this takes less time than a call of `resize`.
        while self.counts.len() < self.rows * self.stride {
            self.counts.push(0);
        }
    }

    #[inline]
    fn cell(&mut self, row: usize, event: usize) -> &mut Count {
        if event >= self.stride {
            self.widen(event + 1);
        }
        &mut self.counts[row * self.stride + event]
    }

    /// Adds columns. New events come with the `run` record or the first rows, so this happens rarely and early.
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

    /// Rebuilds the columns: each new column is a copy of an old column, or all 0 for `None`.
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
