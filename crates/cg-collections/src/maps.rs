//! Maps and sets that iterate in the same order in every run: their hasher has a fixed seed.

use foldhash::fast::FixedState;

/// The entry of a [`Map`] for a key, which may be vacant.
pub use hashbrown::hash_map::Entry;

/// A hash map.
pub type Map<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// A hash set.
pub type Set<T> = hashbrown::HashSet<T, FixedState>;

/// A hash map that iterates in the order of insertion.
pub type OrderedMap<K, V> = indexmap::IndexMap<K, V, FixedState>;

/// A hash set that iterates in the order of insertion; each value has a position.
pub type OrderedSet<T> = indexmap::IndexSet<T, FixedState>;
