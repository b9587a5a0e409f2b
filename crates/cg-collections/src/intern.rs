//! Interned values: each distinct value is stored once and has an id of four bytes.
//!
//! Ids count up from 0, so a `Vec` indexed by id can hold more data about the values. An id is valid only for its own table.
//! [`ids!`](crate::ids) declares a separate type for each kind of value, so the compiler rejects the id of a file in place of
//! the id of a function. A table that exceeds a limit returns [`TooMany`], an error about the input.

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

pub use crate::limits::TooMany;

use crate::limits::{self, Growth};

/// The number of a value in its table; [`ids!`](crate::ids) declares such types.
pub trait Id: Copy + Eq {
    /// Returns the id for a position.
    ///
    /// # Errors
    /// Returns an error if the position has no id.
    fn at(position: usize) -> Result<Self, TooMany>;

    /// Returns the position, counted from 0.
    fn index(self) -> usize;
}

/// Declares types of ids. An `Option` of an id also takes four bytes.
///
/// ```
/// cg_collections::ids! {
///     /// A file of a profile.
///     pub struct FileId;
/// }
/// use cg_collections::intern::{Id, Texts};
/// let mut files = Texts::<FileId>::default();
/// let file = files.intern("main.c")?;
/// assert_eq!((files.get(file), file.index()), ("main.c", 0));
/// # Ok::<(), cg_collections::intern::TooMany>(())
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$meta:meta])* $visibility:vis struct $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility struct $name(std::num::NonZeroU32);

        impl std::hash::Hash for $name {
            #[inline]
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }

            /// Hashes two ids per word, which halves the time to hash a stack.
            #[inline]
            fn hash_slice<H: std::hash::Hasher>(ids: &[$name], state: &mut H) {
                let (pairs, rest) = ids.as_chunks();
                for [a, b] in pairs {
                    state.write_u64(u64::from(a.0.get()) << 32 | u64::from(b.0.get()));
                }
                for id in rest {
                    id.hash(state);
                }
            }
        }

        impl $name {
            /// The first id of a table.
            #[allow(dead_code, reason = "few tables treat their first value apart")]
            $visibility const FIRST: $name = $name(std::num::NonZeroU32::MIN);
        }

        impl $crate::intern::Id for $name {
            #[inline]
            fn at(position: usize) -> Result<$name, $crate::intern::TooMany> {
                let number = u32::try_from(position).ok().and_then(|number| number.checked_add(1));
                let number = number.and_then(std::num::NonZeroU32::new);
                number.map($name).ok_or($crate::intern::TooMany::Values)
            }

            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

/// Strings.
pub type Texts<I> = Interner<I, String>;
/// Byte strings.
pub type Bytes<I> = Interner<I, Vec<u8>>;
/// Sequences of small values, such as the frames of a stack.
pub type Slices<I, T> = Interner<I, Vec<T>>;

/// The storage of an [`Interner`]: its values, one after the other.
pub trait Pieces: Default {
    /// A value.
    type Piece: Hash + Eq + ?Sized;
    /// Appends a value.
    fn append(&mut self, piece: &Self::Piece);
    /// Returns the position at which the next value will begin.
    fn end(&self) -> usize;
    /// Returns the value in a range.
    fn piece(&self, place: Range<usize>) -> &Self::Piece;
    /// Removes all values.
    fn clear(&mut self);

    /// Returns the size of a value in bytes, or an error if it is a name that is too long.
    fn size(piece: &Self::Piece) -> Result<usize, TooMany>;
}

impl Pieces for String {
    type Piece = str;

    #[inline]
    fn append(&mut self, piece: &str) {
        self.push_str(piece);
    }

    #[inline]
    fn end(&self) -> usize {
        self.len()
    }

    #[inline]
    fn piece(&self, place: Range<usize>) -> &str {
        &self[place]
    }

    #[inline]
    fn size(piece: &str) -> Result<usize, TooMany> {
        limits::check_name(piece.len())
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: Copy + Hash + Eq> Pieces for Vec<T> {
    type Piece = [T];

    #[inline]
    fn append(&mut self, piece: &[T]) {
        self.extend_from_slice(piece);
    }

    #[inline]
    fn end(&self) -> usize {
        self.len()
    }

    #[inline]
    fn piece(&self, place: Range<usize>) -> &[T] {
        &self[place]
    }

    /// Elements of one byte are names. Other values are sequences, such as stacks.
    #[inline]
    fn size(piece: &[T]) -> Result<usize, TooMany> {
        match size_of::<T>() {
            1 => limits::check_name(piece.len()),
            size => Ok(size * piece.len()),
        }
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// An index from hashes to positions. Each slot stores half of the hash, so a growing table does not hash its values again, and
/// a lookup compares only values with equal halves.
#[derive(Clone, Default)]
struct Index(HashTable<Slot>);

#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    position: u32,
}

impl Slot {
    /// Returns the hash for the table, which takes the slot from the lower bits and a tag from the upper bits.
    #[inline]
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

/// The size of an entry of an index in bytes, with the end of its value.
const INDEX_ENTRY: usize = 24;

/// Returns the half of a hash that slots store.
#[inline]
fn half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Index {
    #[inline]
    fn find(&self, hash: u64, is_same: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = half(hash);
        let slot = self.0.find(Slot::spread(hash), |slot| {
            slot.hash == hash && is_same(slot.position as usize)
        });
        slot.map(|slot| slot.position as usize)
    }

    /// Returns the id of a value, and true if the value is new. A new value gets the position `new`.
    #[inline]
    fn intern<I: Id>(
        &mut self,
        hash: u64,
        new: usize,
        is_same: impl Fn(usize) -> bool,
    ) -> Result<(I, bool), TooMany> {
        let hash = half(hash);
        let entry = self.0.entry(
            Slot::spread(hash),
            |slot| slot.hash == hash && is_same(slot.position as usize),
            |slot| Slot::spread(slot.hash),
        );
        match entry {
            Entry::Occupied(known) => Ok((I::at(known.get().position as usize)?, false)),
            Entry::Vacant(vacant) => {
                let id = I::at(new)?;
                let position = u32::try_from(new).map_err(|_| TooMany::Values)?;
                vacant.insert(Slot { hash, position });
                Ok((id, true))
            }
        }
    }

    fn reserve(&mut self, slots: usize) {
        (self.0).reserve(slots, |slot| Slot::spread(slot.hash));
    }
}

/// Values of any length with ids, in one allocation: [`Texts`], [`Bytes`], [`Slices`].
#[derive(Clone)]
pub struct Interner<I, P> {
    pieces: P,
    /// The end of each value. A value begins at the end of the previous value.
    ends: Vec<usize>,
    index: Index,
    hasher: FixedState,
    growth: Growth,
    id: PhantomData<I>,
}

impl<I, P: Default> Default for Interner<I, P> {
    fn default() -> Interner<I, P> {
        Interner {
            pieces: P::default(),
            ends: Vec::new(),
            index: Index::default(),
            hasher: FixedState::default(),
            growth: Growth::default(),
            id: PhantomData,
        }
    }
}

impl<I: Id, P: Pieces> Interner<I, P> {
    /// Reserves space for more values of any size.
    pub fn reserve(&mut self, values: usize) {
        self.ends.reserve(values);
        self.index.reserve(values);
    }

    /// Returns the id of a value. Adds the value if it is new.
    ///
    /// # Errors
    /// Returns an error if the value is new and no id is left.
    #[inline]
    pub fn intern(&mut self, piece: &P::Piece) -> Result<I, TooMany> {
        let Interner {
            pieces,
            ends,
            index,
            hasher,
            growth,
            ..
        } = self;
        let hash = hasher.hash_one(piece);
        let is_same = |position| pieces.piece(place(ends, position)) == piece;
        // Most values are known, and `find` is cheaper than `intern`.
        if let Some(position) = index.find(hash, is_same) {
            return I::at(position);
        }
        growth.add(P::size(piece)? + INDEX_ENTRY)?;
        let (id, _) = index.intern(hash, ends.len(), |_| false)?;
        pieces.append(piece);
        ends.push(pieces.end());
        Ok(id)
    }

    /// Returns the id of an interned value.
    pub fn find(&self, piece: &P::Piece) -> Option<I> {
        let is_same = |position| self.nth(position) == piece;
        let position = self.index.find(self.hasher.hash_one(piece), is_same)?;
        I::at(position).ok()
    }

    /// Returns the value with this id.
    #[inline]
    pub fn get(&self, id: I) -> &P::Piece {
        self.pieces.piece(self.place(id))
    }

    /// Returns the value whose id has this position.
    #[inline]
    pub fn nth(&self, position: usize) -> &P::Piece {
        self.pieces.piece(place(&self.ends, position))
    }

    /// Returns all values in the order of their ids.
    pub fn all(&self) -> impl Iterator<Item = &P::Piece> {
        (0..self.ends.len()).map(|position| self.nth(position))
    }

    /// Returns the range of a value's elements among the elements of all values. The range indexes data about the elements.
    #[inline]
    pub fn place(&self, id: I) -> Range<usize> {
        place(&self.ends, id.index())
    }

    /// Returns the number of distinct values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if the table has no values.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all values. The next id is the first one again.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.ends.clear();
        self.index.0.clear();
    }
}

impl<I: Id> Interner<I, String> {
    /// Returns the string with this id.
    #[inline]
    pub fn text(&self, id: I) -> &str {
        self.get(id)
    }
}

#[inline]
fn place(ends: &[usize], position: usize) -> Range<usize> {
    let start = match position {
        0 => 0,
        _ => ends[position - 1],
    };
    start..ends[position]
}

/// Small values of one size with ids, such as the keys of a table's rows.
#[derive(Clone)]
pub struct Keys<I, K> {
    keys: Vec<K>,
    index: Index,
    hasher: FixedState,
    growth: Growth,
    id: PhantomData<I>,
}

impl<I, K> Default for Keys<I, K> {
    fn default() -> Keys<I, K> {
        Keys {
            keys: Vec::new(),
            index: Index::default(),
            hasher: FixedState::default(),
            growth: Growth::default(),
            id: PhantomData,
        }
    }
}

impl<I: Id, K: Copy + Eq + Hash> Keys<I, K> {
    /// Reserves space for more keys.
    pub fn reserve(&mut self, keys: usize) {
        self.keys.reserve(keys);
        self.index.reserve(keys);
    }

    /// Returns the id of a key. Adds the key if it is new.
    ///
    /// # Errors
    /// Returns an error if the key is new and no id is left.
    #[inline]
    pub fn intern(&mut self, key: K) -> Result<I, TooMany> {
        let Keys {
            keys,
            index,
            hasher,
            growth,
            ..
        } = self;
        if index.0.is_empty() && !keys.is_empty() {
            return Err(TooMany::Values);
        }
        let is_same = |position: usize| keys[position] == key;
        let (id, is_new) = index.intern(hasher.hash_one(key), keys.len(), is_same)?;
        if is_new {
            keys.push(key);
            growth.add(size_of::<K>() + INDEX_ENTRY)?;
        }
        Ok(id)
    }

    /// Returns the id of an interned key.
    pub fn find(&self, key: &K) -> Option<I> {
        let is_same = |position: usize| self.keys[position] == *key;
        let position = self.index.find(self.hasher.hash_one(key), is_same)?;
        I::at(position).ok()
    }

    /// Returns the key with this id.
    #[inline]
    pub fn get(&self, id: I) -> &K {
        &self.keys[id.index()]
    }

    /// Returns all keys in the order of their ids.
    pub fn all(&self) -> &[K] {
        &self.keys
    }

    /// Returns the number of distinct keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if the table has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Frees the hash index, which takes as much memory as small keys. After that, keys can be looked up only by id.
    pub fn close(&mut self) {
        self.index = Index::default();
        self.keys.shrink_to_fit();
    }

    /// Removes all keys. The next id is the first one again.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.index.0.clear();
    }
}

/// A cache of results, one per interned value, by the index of the value's id.
#[derive(Clone, Debug)]
pub struct Made<T>(Vec<Option<T>>);

impl<T> Default for Made<T> {
    fn default() -> Made<T> {
        Made(Vec::new())
    }
}

impl<T: Clone> Made<T> {
    /// Returns the result for the value with this index; `None` if it is not in the cache.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index)?.as_ref()
    }

    /// Stores the result for the value with this index.
    pub fn set(&mut self, index: usize, made: T) {
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some(made);
    }

    /// Returns the result for the value with this index. Computes it with `make` if it is not in the cache.
    ///
    /// # Errors
    /// Returns the error of `make`.
    #[inline]
    pub fn get_or_make<E>(
        &mut self,
        index: usize,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(made) = self.get(index) {
            return Ok(made.clone());
        }
        let made = make()?;
        self.set(index, made.clone());
        Ok(made)
    }

    /// Removes all results.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::ids! {
        struct NameId;
    }

    #[test]
    fn equal_values_have_equal_ids() {
        let mut texts = Texts::<NameId>::default();
        let names: Vec<String> = (0..5000).map(|number| format!("f{number}")).collect();
        let ids = |texts: &mut Texts<NameId>| -> Vec<NameId> {
            names
                .iter()
                .map(|name| texts.intern(name).unwrap())
                .collect()
        };
        let first = ids(&mut texts);
        assert_eq!(ids(&mut texts), first);
        assert_eq!(texts.len(), 5000);
        assert_eq!(texts.get(first[4711]), "f4711");
        assert_eq!(texts.find("f12"), Some(first[12]));
        assert_eq!(texts.find("g"), None);
    }

    #[test]
    fn slices_may_be_empty_and_are_forgotten_together() {
        let mut slices = Slices::<NameId, u64>::default();
        let ids = [&[1, 2][..], &[], &[1], &[2, 1]].map(|slice| slices.intern(slice).unwrap());
        assert_eq!(ids.map(Id::index), [0, 1, 2, 3]);
        assert_eq!(slices.intern(&[]), Ok(ids[1]));
        assert_eq!((slices.get(ids[1]), slices.place(ids[3])), (&[][..], 3..5));
        assert!(slices.all().eq([&[1, 2][..], &[], &[1], &[2, 1]]));
        slices.clear();
        assert_eq!(slices.find(&[1]), None);
        assert_eq!(slices.intern(&[1]), Ok(NameId::FIRST));
    }

    #[test]
    fn keys_are_in_the_order_of_their_ids() {
        let mut keys = Keys::<NameId, (u8, u64)>::default();
        let ids = [(1, 2), (0, 9), (1, 2)].map(|key| keys.intern(key).unwrap().index());
        assert_eq!((ids, keys.all()), ([0, 1, 0], &[(1, 2), (0, 9)][..]));
        assert_eq!(keys.find(&(0, 9)).map(|id| *keys.get(id)), Some((0, 9)));
        keys.close();
        assert_eq!((keys.len(), keys.get(NameId::FIRST)), (2, &(1, 2)));
        assert_eq!(
            (keys.find(&(0, 9)), keys.intern((7, 7))),
            (None, Err(TooMany::Values))
        );
    }

    #[test]
    fn a_full_table_is_an_error_and_keeps_what_it_has() {
        /// A type with two ids.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        struct Few(usize);
        impl Id for Few {
            fn at(position: usize) -> Result<Few, TooMany> {
                (position < 2)
                    .then_some(Few(position))
                    .ok_or(TooMany::Values)
            }
            fn index(self) -> usize {
                self.0
            }
        }
        let mut texts = Texts::<Few>::default();
        let mut keys = Keys::<Few, u8>::default();
        for value in [1, 2] {
            texts.intern(&value.to_string()).unwrap();
            keys.intern(value).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(
                (texts.intern("3"), keys.intern(3)),
                (Err(TooMany::Values), Err(TooMany::Values))
            );
        }
        assert_eq!(
            (texts.intern("2"), keys.intern(2)),
            (Ok(Few(1)), Ok(Few(1)))
        );
        assert_eq!((texts.len(), keys.len()), (2, 2));
        assert_eq!((texts.find("3"), keys.find(&3)), (None, None));
    }

    #[test]
    fn ids_end_where_32_bits_do() {
        assert!(NameId::at(u32::MAX as usize - 1).is_ok());
        assert_eq!(NameId::at(u32::MAX as usize), Err(TooMany::Values));
        assert_eq!(size_of::<Option<NameId>>(), 4);
    }
}
