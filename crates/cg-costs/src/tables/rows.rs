//! Costs under keys: a row for each function, line or arc, with its counts and what else is known of it.

use std::hash::Hash;

use cg_stream::intern::{Id, Keys, TooMany};

use super::costs::{Added, CostTable, NoRoom, Signedness};

/// Interned keys, each with a row of self cost, inclusive cost and facts. Arcs have no self cost.
pub struct CostRows<I, K, T> {
    keys: Keys<I, K>,
    own: Option<CostTable>,
    inclusive: CostTable,
    facts: Vec<T>,
}

impl<I: Id, K: Copy + Eq + Hash, T: Clone + Default> CostRows<I, K, T> {
    /// A table for costs of so many events.
    pub(crate) fn new(events: usize) -> CostRows<I, K, T> {
        CostRows {
            keys: Keys::default(),
            own: Some(CostTable::new(events)),
            inclusive: CostTable::new(events),
            facts: Vec::new(),
        }
    }

    /// A table whose rows have inclusive cost only.
    pub fn of_arcs(events: usize) -> CostRows<I, K, T> {
        CostRows {
            own: None,
            ..CostRows::new(events)
        }
    }

    /// The row of a key; a new key gets a row of zeros.
    #[inline]
    pub fn row(&mut self, key: K) -> Result<I, TooMany> {
        let row = self.keys.intern(key)?;
        if self.facts.len() < self.keys.len() {
            let rows = self.keys.len();
            self.facts.resize(rows, T::default());
            self.inclusive.grow_to(rows);
            if let Some(own) = &mut self.own {
                own.grow_to(rows);
            }
        }
        Ok(row)
    }

    #[inline]
    pub(crate) fn add_own(&mut self, row: I, counts: &[u64], signedness: Signedness) -> Added {
        match &mut self.own {
            Some(own) => own.add(row.index(), counts, signedness),
            None => Ok(()),
        }
    }

    /// Adds inclusive cost, modulo 2^64.
    #[inline]
    pub fn add_inclusive(&mut self, row: I, counts: &[u64], signedness: Signedness) -> Added {
        self.inclusive
            .add_inclusive(row.index(), counts, signedness)
    }

    /// Takes all cost from a row.
    pub(crate) fn clear_row(&mut self, row: I) {
        self.inclusive.clear_row(row.index());
        if let Some(own) = &mut self.own {
            own.clear_row(row.index());
        }
    }

    pub(crate) fn key(&self, row: I) -> K {
        *self.keys.get(row)
    }

    pub(crate) fn own(&self, row: I) -> &[u64] {
        self.own.as_ref().map_or(&[], |own| own.row(row.index()))
    }

    /// The inclusive cost of a row.
    pub fn inclusive(&self, row: I) -> &[u64] {
        self.inclusive.row(row.index())
    }

    /// What is known of a row besides its costs.
    pub fn facts(&self, row: I) -> &T {
        &self.facts[row.index()]
    }

    /// The same, to be changed.
    pub fn facts_mut(&mut self, row: I) -> &mut T {
        &mut self.facts[row.index()]
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.keys.len()
    }

    /// All rows with their keys, in the order in which they were first met.
    pub fn all(&self) -> impl Iterator<Item = (I, K)> {
        let keys = self.keys.all().iter().enumerate();
        keys.filter_map(|(position, key)| Some((I::at(position).ok()?, *key)))
    }

    /// Makes every row wider.
    pub(crate) fn widen(&mut self, events: usize) {
        if let Some(own) = &mut self.own {
            own.widen(events);
        }
        self.inclusive.widen(events);
    }

    /// Whether all counts mean the same when they are read as signed.
    pub(crate) fn fits_signed(&self) -> bool {
        self.own.as_ref().is_none_or(CostTable::fits_signed) && self.inclusive.fits_signed()
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.inclusive.clear();
        self.facts.clear();
        if let Some(own) = &mut self.own {
            own.clear();
        }
    }
}

/// Adds to a number of calls.
pub fn add_calls(sum: &mut u64, calls: u64) -> Added {
    *sum = sum.checked_add(calls).ok_or(NoRoom::Sum)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    cg_stream::ids! {
        struct PlaceId;
    }

    #[test]
    fn rows_of_one_key_are_one() {
        let mut rows = CostRows::<PlaceId, char, u64>::new(1);
        let ids = ['a', 'b', 'a'].map(|key| rows.row(key).unwrap());
        for (row, count) in ids.into_iter().zip([1, 20, 300]) {
            rows.add_own(row, &[count], Signedness::Unsigned).unwrap();
            rows.add_inclusive(row, &[1], Signedness::Unsigned).unwrap();
            *rows.facts_mut(row) += 1;
        }
        let shown = |row: PlaceId| (rows.own(row)[0], rows.inclusive(row)[0], *rows.facts(row));
        let all: Vec<_> = rows.all().map(|(row, key)| (key, shown(row))).collect();
        assert_eq!(all, [('a', (301, 2, 2)), ('b', (20, 1, 1))]);
        rows.widen(2);
        assert_eq!(rows.own(ids[0]), [301, 0]);
        rows.clear();
        assert_eq!((rows.row_count(), rows.row('b')), (0, Ok(PlaceId::FIRST)));
        assert_eq!(rows.own(PlaceId::FIRST), [0, 0]);
    }

    #[test]
    fn arcs_have_no_cost_of_their_own() {
        let mut rows = CostRows::<PlaceId, char, ()>::of_arcs(1);
        let row = rows.row('a').unwrap();
        rows.add_inclusive(row, &[7], Signedness::Unsigned).unwrap();
        assert_eq!((rows.own(row), rows.inclusive(row)), (&[][..], &[7][..]));
    }
}
