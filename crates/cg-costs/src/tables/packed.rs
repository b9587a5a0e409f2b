//! Rows of counts in a variable-length encoding.
//!
//! A profile of instructions has millions of rows. Most counts in them are 0, and most others are below 128, so thirteen
//! 64-bit cells would take a hundred bytes instead of seven. Counts are therefore stored as LEB128, without the zeros at the
//! end of a row. A row that outgrows its bytes moves to the end of the buffer, with room to grow. The number of unused bytes
//! stays below twice the number of used bytes.

use super::costs::{Added, Signedness, add_inclusive_row, add_row};
use crate::packing::{put, take};

/// Rows of counts in one contiguous buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedCosts {
    events: usize,
    bytes: Vec<u8>,
    /// The offset of each row in `bytes`. A row begins with its length in bytes. Bytes after its counts are zeros.
    starts: Vec<usize>,
    row: Vec<u64>,
    packed: Vec<u8>,
}

impl PackedCosts {
    pub(crate) fn new(events: usize) -> PackedCosts {
        PackedCosts {
            events,
            ..PackedCosts::default()
        }
    }

    pub(crate) fn event_count(&self) -> usize {
        self.events
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.starts.reserve(rows);
        self.bytes.reserve(bytes);
    }

    /// Returns the size of the buffer in bytes.
    pub(crate) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a row. Missing counts are 0.
    #[inline]
    pub(crate) fn push(&mut self, counts: &[u64]) {
        self.starts.push(self.bytes.len());
        self.packed.clear();
        pack(counts, &mut self.packed);
        put(&mut self.bytes, self.packed.len() as u64);
        self.bytes.extend_from_slice(&self.packed);
    }

    /// Adds a copy of another table's row.
    #[inline]
    pub(crate) fn push_copy(&mut self, other: &PackedCosts, row: usize) {
        let (_, packed) = other.packed(row);
        self.starts.push(self.bytes.len());
        put(&mut self.bytes, packed.len() as u64);
        self.bytes.extend_from_slice(packed);
    }

    /// Reads a row into `out`, one cell per event.
    #[inline]
    pub(crate) fn read(&self, row: usize, out: &mut Vec<u64>) {
        let (_, packed) = self.packed(row);
        unpack(packed, self.events, out);
    }

    /// Returns the count of one event.
    pub(crate) fn count(&self, row: usize, event: usize) -> u64 {
        let (_, mut packed) = self.packed(row);
        let mut count = 0;
        for _ in 0..=event {
            (count, packed) = take(packed).unwrap_or_default();
        }
        count
    }

    /// Adds counts to a row.
    pub(crate) fn add(&mut self, row: usize, counts: &[u64], signedness: Signedness) -> Added {
        self.add_by(row, |cells| add_row(cells, counts, signedness))
    }

    /// Adds inclusive counts to a row, modulo 2^64.
    pub(crate) fn add_inclusive(
        &mut self,
        row: usize,
        counts: &[u64],
        signedness: Signedness,
    ) -> Added {
        self.add_by(row, |cells| add_inclusive_row(cells, counts, signedness))
    }

    fn add_by(&mut self, row: usize, add: impl FnOnce(&mut [u64]) -> Added) -> Added {
        let mut cells = std::mem::take(&mut self.row);
        self.read(row, &mut cells);
        let added = add(&mut cells);
        if added.is_ok() {
            self.replace(row, &cells);
        }
        self.row = cells;
        added
    }

    /// Rewrites a row: in place if it fits, else at the end of the buffer.
    fn replace(&mut self, row: usize, counts: &[u64]) {
        self.packed.clear();
        pack(counts, &mut self.packed);
        let (start, room) = {
            let (start, packed) = self.packed(row);
            (start, packed.len())
        };
        if self.packed.len() <= room {
            let place = &mut self.bytes[start..start + room];
            let (used, rest) = place.split_at_mut(self.packed.len());
            used.copy_from_slice(&self.packed);
            rest.fill(0);
            return;
        }
        let room = self.packed.len() + self.packed.len() / 2;
        self.starts[row] = self.bytes.len();
        put(&mut self.bytes, room as u64);
        let end = self.bytes.len() + room;
        self.bytes.extend_from_slice(&self.packed);
        self.bytes.resize(end, 0);
    }

    /// Returns the offset and the bytes of a row's packed counts.
    #[inline]
    fn packed(&self, row: usize) -> (usize, &[u8]) {
        let all = &self.bytes[self.starts[row]..];
        let (length, rest) = take(all).unwrap_or_default();
        let start = self.starts[row] + all.len() - rest.len();
        (start, &rest[..length as usize])
    }

    /// Adds cells for more events to every row.
    pub(crate) fn widen(&mut self, events: usize) {
        self.events = events;
    }

    /// Returns true if all cells keep their values when read as signed.
    pub(crate) fn fits_signed(&self) -> bool {
        let mut cells = Vec::new();
        (0..self.len()).all(|row| {
            self.read(row, &mut cells);
            cells.iter().all(|cell| cell.cast_signed() >= 0)
        })
    }
}

/// Writes counts, without the zeros at the end.
#[inline]
fn pack(counts: &[u64], out: &mut Vec<u8>) {
    let length = counts.iter().rposition(|count| *count != 0);
    let counts = length.map_or(&[][..], |last| &counts[..=last]);
    for count in counts {
        put(out, *count);
    }
}

#[inline]
fn unpack(mut packed: &[u8], events: usize, out: &mut Vec<u64>) {
    out.clear();
    while out.len() < events
        && let Some((count, rest)) = take(packed)
    {
        out.push(count);
        packed = rest;
    }
    out.resize(events, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::NoRoom;

    fn read(costs: &PackedCosts, row: usize) -> Vec<u64> {
        let mut out = vec![99];
        costs.read(row, &mut out);
        let counts = (0..costs.event_count()).map(|event| costs.count(row, event));
        assert_eq!(out, counts.collect::<Vec<_>>());
        out
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows: [&[u64]; 6] = [
            &[],
            &[0, 0, 0],
            &[1],
            &[0, 127, 128],
            &[u64::MAX, 0, 1 << 63],
            &[7, 300],
        ];
        let mut costs = PackedCosts::new(3);
        for row in rows {
            costs.push(row);
        }
        for (position, row) in rows.iter().enumerate() {
            let mut row = row.to_vec();
            row.resize(3, 0);
            assert_eq!(read(&costs, position), row);
        }
        costs.widen(4);
        assert_eq!(read(&costs, 3), [0, 127, 128, 0]);
        assert!(!costs.fits_signed());
    }

    #[test]
    fn sums_equal_the_sums_in_a_table_of_cells() {
        // A generator of numbers of all sizes. The sum of 60 of these numbers stays below 2^64.
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize
        };
        let mut costs = PackedCosts::new(4);
        let mut expected = vec![[0u64; 4]; 50];
        (0..50).for_each(|_| costs.push(&[]));
        for _ in 0..3000 {
            let row = random() % 50;
            let counts: Vec<u64> = (0..random() % 5)
                .map(|_| (random() as u64) << (random() % 25))
                .collect();
            costs.add(row, &counts, Signedness::Unsigned).unwrap();
            for (cell, count) in expected[row].iter_mut().zip(&counts) {
                *cell += count;
            }
        }
        for (row, cells) in expected.iter().enumerate() {
            assert_eq!(read(&costs, row), cells);
        }
        let needed = expected.iter().flatten().count() * 10;
        assert!(costs.byte_count() < 4 * needed, "{}", costs.byte_count());
    }

    #[test]
    fn a_sum_beyond_64_bits_does_not_change_the_row() {
        let mut costs = PackedCosts::new(2);
        costs.push(&[5, u64::MAX]);
        assert_eq!(
            costs.add(0, &[1, 1], Signedness::Unsigned),
            Err(NoRoom::Sum)
        );
        assert_eq!(read(&costs, 0), [5, u64::MAX]);
        costs
            .add_inclusive(0, &[2u64.wrapping_neg(), 2], Signedness::Unsigned)
            .unwrap();
        assert_eq!(read(&costs, 0), [3, 1]);
    }
}
