//! Costs under keys: a row for each function, line or arc, with its counts and other facts.

use std::hash::Hash;

use cg_collections::intern::{Id, Keys, TooMany};

use super::costs::{Added, CostTable, NoRoom, Signedness};

/// Interned keys, each with a row of self cost, inclusive cost and facts. Arcs have no self cost.
pub struct CostRows<I, K, T> {
    keys: Keys<I, K>,
    own: Option<CostTable>,
    inclusive: CostTable,
    facts: Vec<T>,
}

impl<I: Id, K: Copy + Eq + Hash, T: Clone + Default> CostRows<I, K, T> {
    /// Creates a table with a column for each event.
    pub(crate) fn new(events: usize) -> CostRows<I, K, T> {
        CostRows {
            keys: Keys::default(),
            own: Some(CostTable::new(events)),
            inclusive: CostTable::new(events),
            facts: Vec::new(),
        }
    }

    /// Creates a table whose rows have only inclusive cost.
    pub fn for_arcs(events: usize) -> CostRows<I, K, T> {
        CostRows {
            own: None,
            ..CostRows::new(events)
        }
    }

    /// Returns the row of a key. A new key gets a row of zeros.
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

    /// Sets all costs of a row to 0.
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

    /// Returns the inclusive cost of a row.
    pub fn inclusive(&self, row: I) -> &[u64] {
        self.inclusive.row(row.index())
    }

    /// Returns the facts about a row, apart from its costs.
    pub fn facts(&self, row: I) -> &T {
        &self.facts[row.index()]
    }

    /// Returns the facts about a row for modification.
    pub fn facts_mut(&mut self, row: I) -> &mut T {
        &mut self.facts[row.index()]
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.keys.len()
    }

    /// Iterates over all rows with their keys, in the order in which the keys were first used.
    pub fn all(&self) -> impl Iterator<Item = (I, K)> {
        let keys = self.keys.all().iter().enumerate();
        keys.filter_map(|(position, key)| Some((I::at(position).ok()?, *key)))
    }

    /// Adds columns for more events.
    pub(crate) fn widen(&mut self, events: usize) {
        if let Some(own) = &mut self.own {
            own.widen(events);
        }
        self.inclusive.widen(events);
    }

    /// Returns true if all counts keep their values when read as signed.
    pub(crate) fn fits_signed(&self) -> bool {
        self.own.as_ref().is_none_or(CostTable::fits_signed) && self.inclusive.fits_signed()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.inclusive.clear();
        self.facts.clear();
        if let Some(own) = &mut self.own {
            own.clear();
        }
    }
}

/// Adds to a number of calls. Returns an error if the sum exceeds 64 bits.
pub fn add_calls(sum: &mut u64, calls: u64) -> Added {
    *sum = sum.checked_add(calls).ok_or(NoRoom::Sum)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    cg_collections::ids! {
        struct PlaceId;
    }

    #[test]
    fn each_key_has_one_row() {
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
    fn arcs_have_no_self_cost() {
        let mut rows = CostRows::<PlaceId, char, ()>::for_arcs(1);
        let row = rows.row('a').unwrap();
        rows.add_inclusive(row, &[7], Signedness::Unsigned).unwrap();
        assert_eq!((rows.own(row), rows.inclusive(row)), (&[][..], &[7][..]));
    }
}
