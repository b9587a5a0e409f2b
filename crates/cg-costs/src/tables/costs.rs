//! Tables of event counts: rows of 64-bit cells with exact sums.

use cg_collections::intern::TooMany;
use cg_stream::record::Count;

/// The interpretation of the 64 bits of a cell. Valgrind's own counts are unsigned and use the whole range (it writes an
/// underflow as 18446744073709551615). `cg_diff` writes negative counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signedness {
    /// As numbers from 0 to 2^64 - 1.
    #[default]
    Unsigned,
    /// As two's complement.
    Signed,
}

impl Signedness {
    /// Converts a cell to its count.
    pub fn count(self, cell: u64) -> Count {
        match self {
            Signedness::Unsigned => cell.into(),
            Signedness::Signed => cell.cast_signed().into(),
        }
    }
}

/// The result of adding something to a section.
pub type Added = Result<(), NoRoom>;

/// The reason for which a section cannot take a count, a name or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// A sum exceeds 64 bits.
    #[error("a sum of counts is beyond 64 bits")]
    Sum,
    /// There are more different names or rows than ids.
    #[error(transparent)]
    Ids(#[from] TooMany),
}

/// Rows of counts, with one cell per event.
#[derive(Clone, Debug, Default)]
pub struct CostTable {
    events: usize,
    cells: Vec<u64>,
}

impl CostTable {
    /// Creates an empty table with a column for each event.
    pub fn new(events: usize) -> CostTable {
        CostTable {
            events,
            cells: Vec::new(),
        }
    }

    /// Returns the number of columns.
    pub fn event_count(&self) -> usize {
        self.events
    }

    /// Ensures that there are at least this many rows.
    pub fn grow_to(&mut self, rows: usize) {
        let cells = rows * self.events;
        if self.cells.len() < cells {
            self.cells.resize(cells, 0);
        }
    }

    /// Returns the counts of a row.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.cells[row * self.events..][..self.events]
    }

    #[inline]
    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.cells[row * self.events..][..self.events]
    }

    /// Adds counts to a row. `counts` may be shorter than the row, because trailing zeros are omitted.
    #[inline]
    pub fn add(&mut self, row: usize, counts: &[u64], signedness: Signedness) -> Added {
        add_row(self.row_mut(row), counts, signedness)
    }

    /// Adds inclusive counts to a row, modulo 2^64.
    #[inline]
    pub fn add_inclusive(&mut self, row: usize, counts: &[u64], signedness: Signedness) -> Added {
        add_inclusive_row(self.row_mut(row), counts, signedness)
    }

    /// Sets all counts of a row to 0.
    pub fn clear_row(&mut self, row: usize) {
        self.row_mut(row).fill(0);
    }

    pub(crate) fn clear(&mut self) {
        self.cells.clear();
    }

    /// Adds columns for more events.
    pub(crate) fn widen(&mut self, events: usize) {
        if events == self.events {
            return;
        }
        let mut cells = Vec::new();
        for row in self.cells.chunks(self.events.max(1)) {
            cells.extend_from_slice(row);
            cells.resize(cells.len() + events - self.events, 0);
        }
        self.cells = cells;
        self.events = events;
    }

    /// Returns true if all cells keep their values when read as signed.
    pub fn fits_signed(&self) -> bool {
        self.cells.iter().all(|cell| cell.cast_signed() >= 0)
    }
}

/// Adds counts to the cells of a row. If one of the sums exceeds 64 bits, returns an error and does not change the row.
#[inline]
pub fn add_row(cells: &mut [u64], counts: &[u64], signedness: Signedness) -> Added {
    // Fast path: most profiles have one event.
    if let ([cell], [count], Signedness::Unsigned) = (&mut *cells, counts, signedness) {
        *cell = cell.checked_add(*count).ok_or(NoRoom::Sum)?;
        return Ok(());
    }
    let mut has_overflown = false;
    for (cell, count) in cells.iter_mut().zip(counts) {
        let (sum, carry) = match signedness {
            Signedness::Unsigned => cell.overflowing_add(*count),
            Signedness::Signed => signed_sum(*cell, *count),
        };
        *cell = sum;
        has_overflown |= carry;
    }
    if has_overflown {
        take_back(cells, counts);
        return Err(NoRoom::Sum);
    }
    Ok(())
}

/// Adds inclusive counts to the cells of a row, modulo 2^64 if one of them is below 0. If a sum exceeds 64 bits, returns an
/// error and does not change the row.
///
/// If the counters were reset during a call, Callgrind writes the negative cost of this call as a number just below 2^64.
/// Other calls compensate for it. So a sum beyond 2^64 is correct if it fits in an `i64` when both numbers are read as
/// signed. If the sum fits in neither range, no counter ran backwards and the sum is an error.
#[inline]
pub fn add_inclusive_row(cells: &mut [u64], counts: &[u64], signedness: Signedness) -> Added {
    if signedness == Signedness::Signed {
        return add_row(cells, counts, signedness);
    }
    let mut has_overflown = false;
    for (cell, count) in cells.iter_mut().zip(counts) {
        let (sum, carry) = cell.overflowing_add(*count);
        has_overflown |= carry & signed_sum(*cell, *count).1;
        *cell = sum;
    }
    if has_overflown {
        take_back(cells, counts);
        return Err(NoRoom::Sum);
    }
    Ok(())
}

/// Adds two cells as signed numbers. Returns the sum, and true if it exceeds 64 bits.
#[inline]
fn signed_sum(cell: u64, count: u64) -> (u64, bool) {
    let (sum, carry) = cell.cast_signed().overflowing_add(count.cast_signed());
    (sum.cast_unsigned(), carry)
}

/// Undoes an addition by subtracting modulo 2^64.
#[cold]
fn take_back(cells: &mut [u64], counts: &[u64]) {
    for (cell, count) in cells.iter_mut().zip(counts) {
        *cell = cell.wrapping_sub(*count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_or_an_error() {
        let mut table = CostTable::new(2);
        table.grow_to(2);
        table.add(1, &[u64::MAX], Signedness::Unsigned).unwrap();
        table.add(1, &[0, 7], Signedness::Unsigned).unwrap();
        assert_eq!(table.row(1), [u64::MAX, 7]);
        assert_eq!(
            table.add(1, &[1, 1], Signedness::Unsigned),
            Err(NoRoom::Sum)
        );
        assert_eq!(table.row(1), [u64::MAX, 7], "nothing wrapped is kept");
    }

    #[test]
    fn negative_counts_are_added_as_signed() {
        let mut table = CostTable::new(1);
        table.grow_to(1);
        table
            .add(0, &[(-5i64).cast_unsigned()], Signedness::Signed)
            .unwrap();
        table.add(0, &[2], Signedness::Signed).unwrap();
        assert_eq!(Signedness::Signed.count(table.row(0)[0]), -3);
        assert_eq!(
            table.add(0, &[i64::MIN.cast_unsigned()], Signedness::Signed),
            Err(NoRoom::Sum)
        );
    }

    #[test]
    fn inclusive_sums_wrap_around_only_for_negative_counts() {
        let sum = |counts: [u64; 2]| {
            let mut cells = [counts[0]];
            let added = add_inclusive_row(&mut cells, &counts[1..], Signedness::Unsigned);
            added.map(|()| cells[0]).map_err(|_| cells[0])
        };
        let below = |missing: u64| missing.wrapping_neg();
        assert_eq!(sum([below(3), 10]), Ok(7));
        assert_eq!(sum([10, below(3)]), Ok(7));
        assert_eq!(sum([below(3), below(4)]), Ok(below(7)));
        assert_eq!(sum([2, below(3)]), Ok(below(1)));
        assert_eq!(sum([1 << 63, (1 << 63) - 1]), Ok(u64::MAX));
        assert_eq!(sum([1 << 63, 1 << 63]), Err(1 << 63));
        assert_eq!(sum([(1 << 63) + 9, 1 << 63]), Err((1 << 63) + 9));
    }

    #[test]
    fn wider_rows_keep_their_counts() {
        let mut table = CostTable::new(1);
        table.grow_to(2);
        table.add(1, &[5], Signedness::Unsigned).unwrap();
        table.widen(3);
        assert_eq!(
            (table.row(0), table.row(1)),
            (&[0, 0, 0][..], &[5, 0, 0][..])
        );
    }
}
