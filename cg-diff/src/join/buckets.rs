//! Things under keys, in the order they came: nothing is hashed into an order.

use std::hash::Hash;

use super::Map;

/// Things under keys, both in the order they came.
pub(super) struct Buckets<K> {
    index: Map<K, usize>,
    buckets: Vec<Vec<usize>>,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Buckets {
            index: Map::default(),
            buckets: Vec::new(),
        }
    }
}

impl<K: Hash + Eq> Buckets<K> {
    pub(super) fn add(&mut self, key: K, thing: usize) {
        let next = self.buckets.len();
        let bucket = *self.index.entry(key).or_insert(next);
        if bucket == next {
            self.buckets.push(Vec::with_capacity(2));
        }
        self.buckets[bucket].push(thing);
    }

    pub(super) fn into_vec(self) -> Vec<Vec<usize>> {
        self.buckets
    }

    pub(super) fn into_pairs(self) -> Vec<(K, Vec<usize>)> {
        let mut keys: Vec<(K, usize)> = self.index.into_iter().collect();
        keys.sort_by_key(|(_, bucket)| *bucket);
        keys.into_iter()
            .map(|(key, _)| key)
            .zip(self.buckets)
            .collect()
    }
}
