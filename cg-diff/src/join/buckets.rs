//! Groups items by key, in the order in which they were added. The hash order never shows.

use std::hash::Hash;

use super::Map;

/// Items by key; keys and items are in the order in which they were added.
pub(super) struct Buckets<K, T> {
    index: Map<K, usize>,
    buckets: Vec<Vec<T>>,
}

impl<K, T> Default for Buckets<K, T> {
    fn default() -> Self {
        Buckets {
            index: Map::default(),
            buckets: Vec::new(),
        }
    }
}

impl<K: Hash + Eq, T> Buckets<K, T> {
    pub(super) fn add(&mut self, key: K, item: T) {
        let next = self.buckets.len();
        let bucket = *self.index.entry(key).or_insert(next);
        if bucket == next {
            self.buckets.push(Vec::with_capacity(2));
        }
        self.buckets[bucket].push(item);
    }

    pub(super) fn into_vec(self) -> Vec<Vec<T>> {
        self.buckets
    }
}
