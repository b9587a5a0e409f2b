//! The keys of a table's rows in few bytes. A [`Key`] has a field for everything that some type of record has, and each type
//! has few of them, so a table stores only the fields that a key has.

use std::hash::{Hash, Hasher};

use cg_collections::intern::{Id, Slices, TooMany};

use super::key::{FunctionKey, Key};

cg_collections::ids! {
    struct RowId;
}

/// The keys of the rows of a table. A key is a slice of words: the mask, the name, the file and the object of the function, and
/// the other fields that the key has. The mask has a bit for each place. A place with a bit has a word, unless it is a mark.
#[derive(Clone, Default)]
pub(crate) struct PackedKeys {
    keys: Slices<RowId, u32>,
    /// The bits that some mask has.
    used: u32,
}

impl PackedKeys {
    /// Reserves space for more keys.
    pub(crate) fn reserve(&mut self, keys: usize) {
        self.keys.reserve(keys);
    }

    /// Returns the row of a key, which is added if it is new.
    pub(crate) fn intern(&mut self, key: &Key) -> Result<usize, TooMany> {
        let mut packing = Packing::default();
        let words = packing.pack(key);
        self.used |= words[0];
        Ok(self.keys.intern(words)?.index())
    }

    /// Returns the row of a key; `None` if there is none.
    pub(crate) fn find(&self, key: &Key) -> Option<usize> {
        self.keys.find(Packing::default().pack(key)).map(Id::index)
    }

    /// Returns the number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the key of a row.
    pub(crate) fn key(&self, row: usize) -> Key {
        unpack(self.keys.nth(row))
    }

    /// Returns the function in the key of a row.
    pub(crate) fn function(&self, row: usize) -> FunctionKey {
        unpack_function(self.keys.nth(row))
    }

    /// Returns a key that has some value in each field that some key has, except for the function.
    pub(crate) fn used_fields(&self) -> Key {
        let mut words = [1; MOST_WORDS];
        words[0] = self.used;
        Key {
            function: FunctionKey::default(),
            ..unpack(&words)
        }
    }

    /// Returns all keys, in the order of the rows.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = Key> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|row| self.key(row))
    }
}

/// The number of words before those of the places: the mask, and the function.
const FIXED_WORDS: usize = 4;

/// The most words of a packed key.
const MOST_WORDS: usize = FIXED_WORDS + u32::BITS as usize;

/// A key that is being packed.
struct Packing {
    words: [u32; MOST_WORDS],
    len: usize,
    /// The number of places so far, with and without a word.
    places: u32,
}

/// The rest of a key that is being unpacked.
struct Unpacking<'w> {
    mask: u32,
    words: std::slice::Iter<'w, u32>,
}

/// Packs and unpacks the fields of a key in the same order: the usual ones first, so that few places are read for most keys.
macro_rules! packed {
    (ids: $($id:ident)*; numbers: $($number:ident)*; marks: $($mark:ident)*;) => {
        impl Packing {
            fn pack(&mut self, key: &Key) -> &[u32] {
                // Lists every field, so that the compiler reports a new field that is not packed.
                let Key { function, line, stack, callee, $($id,)* $($number,)* $($mark,)* } = key;
                let FunctionKey { name, file, obj } = *function;
                self.words[1..FIXED_WORDS].copy_from_slice(&[word(name), word(file), word(obj)]);
                self.number(*line);
                self.id(*stack);
                self.callee(*callee);
                // Most keys have no other fields. One test of all takes less time than one for each.
                if false $(| $id.is_some())* $(| $number.is_some())* $(| *$mark)* {
                    $(self.id(*$id);)*
                    $(self.number(*$number);)*
                    $(self.mark(*$mark);)*
                }
                &self.words[..self.len]
            }
        }

        /// Returns the key with these words.
        fn unpack(words: &[u32]) -> Key {
            let mut key = Key { function: unpack_function(words), ..Key::default() };
            let [mask, _, _, _, rest @ ..] = words else {
                return key;
            };
            let mut rest = Unpacking { mask: *mask, words: rest.iter() };
            if rest.is_empty() {
                return key;
            }
            key.line = rest.number();
            key.stack = rest.id();
            if rest.is_empty() {
                return key;
            }
            key.callee = rest.callee();
            if rest.is_empty() {
                return key;
            }
            $(key.$id = rest.id();)*
            $(key.$number = rest.number();)*
            $(key.$mark = rest.mark();)*
            key
        }
    };
}

packed! {
    ids: addr site inlined ambiguous kind what thread_name process labels;
    numbers: part thread time tid snapshot;
    marks: cut earlier_search;
}

/// Returns the function of the key with these words.
fn unpack_function(words: &[u32]) -> FunctionKey {
    match words {
        [_, name, file, obj, ..] => FunctionKey {
            name: id(*name),
            file: id(*file),
            obj: id(*obj),
        },
        _ => FunctionKey::default(),
    }
}

/// Returns the word of an id; 0 means no id.
#[inline]
fn word(id: Option<impl Id>) -> u32 {
    id.map_or(0, |id| id.index() as u32 + 1)
}

/// Returns the id of a word.
#[inline]
fn id<I: Id>(word: u32) -> Option<I> {
    let position = word.checked_sub(1)?;
    I::at(position as usize).ok()
}

/// Hashes as few words as possible. A derived `Hash` takes two words for each optional field.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Packing::default().pack(self).hash(state);
    }
}

impl Default for Packing {
    fn default() -> Packing {
        Packing {
            words: [0; MOST_WORDS],
            len: FIXED_WORDS,
            places: 0,
        }
    }
}

impl Packing {
    /// Fills the next place if it is `given`.
    #[inline]
    fn mark(&mut self, given: bool) {
        self.words[0] |= u32::from(given) << self.places;
        self.places += 1;
    }

    #[inline]
    fn word(&mut self, word: Option<u32>) {
        self.mark(word.is_some());
        if let Some(word) = word {
            self.words[self.len] = word;
            self.len += 1;
        }
    }

    #[inline]
    fn id(&mut self, id: Option<impl Id>) {
        self.word(id.map(|id| word(Some(id))));
    }

    #[inline]
    fn callee(&mut self, callee: Option<FunctionKey>) {
        self.mark(callee.is_some());
        if let Some(FunctionKey { name, file, obj }) = callee {
            let words = [word(name), word(file), word(obj)];
            self.words[self.len..][..words.len()].copy_from_slice(&words);
            self.len += words.len();
        }
    }

    /// Packs the lower half, and the upper half if it is not 0.
    #[inline]
    fn number(&mut self, number: Option<u64>) {
        self.word(number.map(|number| number as u32));
        let upper = number.map(|number| (number >> 32) as u32);
        self.word(upper.filter(|upper| *upper != 0));
    }
}

impl Unpacking<'_> {
    /// Returns true if no further place is filled.
    #[inline]
    fn is_empty(&self) -> bool {
        self.mask == 0
    }

    /// Returns true if the next place is filled.
    #[inline]
    fn mark(&mut self) -> bool {
        let is_filled = self.mask & 1 == 1;
        self.mask >>= 1;
        is_filled
    }

    #[inline]
    fn word(&mut self) -> Option<u32> {
        self.mark().then(|| self.words.next().copied())?
    }

    #[inline]
    fn id<I: Id>(&mut self) -> Option<I> {
        self.word().and_then(id)
    }

    #[inline]
    fn callee(&mut self) -> Option<FunctionKey> {
        self.mark().then(|| {
            let mut word = || self.words.next().copied().unwrap_or(0);
            FunctionKey {
                name: id(word()),
                file: id(word()),
                obj: id(word()),
            }
        })
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let (lower, upper) = (self.word(), self.word());
        lower.map(|lower| u64::from(upper.unwrap_or(0)) << 32 | u64::from(lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StackId, Symbol};

    /// Returns a key for each field, in which only this field has a value, and for each extreme of a number.
    fn keys_with_one_field() -> Vec<Key> {
        let (symbol, stack) = (Symbol::at(7).unwrap(), StackId::at(7).unwrap());
        let mut keys = vec![Key::default(); 24];
        let mut next = keys.iter_mut();
        let mut with = |set: &dyn Fn(&mut Key)| set(next.next().unwrap());
        with(&|key| key.function.name = Some(symbol));
        with(&|key| key.function.file = Some(symbol));
        with(&|key| key.function.obj = Some(symbol));
        with(&|key| key.callee = Some(FunctionKey::default()));
        for set in [
            |callee: &mut FunctionKey, symbol| callee.name = symbol,
            |callee: &mut FunctionKey, symbol| callee.file = symbol,
            |callee: &mut FunctionKey, symbol| callee.obj = symbol,
        ] {
            with(&|key| set(key.callee.get_or_insert_default(), Some(symbol)));
        }
        with(&|key| key.addr = Some(symbol));
        with(&|key| key.site = Some(symbol));
        with(&|key| key.inlined = Some(stack));
        with(&|key| key.ambiguous = Some(stack));
        with(&|key| key.kind = Some(symbol));
        with(&|key| key.what = Some(symbol));
        with(&|key| key.thread_name = Some(symbol));
        with(&|key| key.process = Some(symbol));
        with(&|key| key.labels = Some(symbol));
        with(&|key| key.stack = Some(stack));
        with(&|key| key.cut = true);
        with(&|key| key.earlier_search = true);
        with(&|key| key.line = Some(0));
        with(&|key| key.line = Some(1 << 32));
        with(&|key| key.line = Some(u64::MAX));
        with(&|key| key.time = Some(0));
        // The last key has all numbers.
        with(&|key| {
            let numbers = [
                &mut key.line,
                &mut key.snapshot,
                &mut key.part,
                &mut key.thread,
                &mut key.tid,
                &mut key.time,
            ];
            for (number, field) in numbers.into_iter().enumerate() {
                *field = Some(u64::MAX - number as u64);
            }
        });
        keys
    }

    #[test]
    fn every_field_of_a_key_is_kept_and_distinguishes_keys() {
        let mut packed = PackedKeys::default();
        let mut keys = keys_with_one_field();
        keys.push(Key::default());
        for _ in 0..2 {
            for (row, key) in keys.iter().enumerate() {
                assert_eq!(packed.intern(key).unwrap(), row);
                assert_eq!(packed.find(key), Some(row));
                assert_eq!(packed.key(row), *key);
                assert_eq!(packed.function(row), key.function);
            }
        }
        assert!(packed.all().eq(keys));
        let used = packed.used_fields();
        assert!(used.cut && used.labels.is_some() && used.callee.is_some() && used.tid.is_some());
        assert_eq!(PackedKeys::default().used_fields(), Key::default());
    }

    #[test]
    fn a_key_with_all_fields_fits() {
        let symbol = Some(Symbol::at(u32::MAX as usize - 1).unwrap());
        let function = FunctionKey {
            name: symbol,
            file: symbol,
            obj: symbol,
        };
        let stack = Some(StackId::FIRST);
        let number = Some(u64::MAX);
        let key = Key {
            function,
            line: number,
            addr: symbol,
            site: symbol,
            inlined: stack,
            ambiguous: stack,
            callee: Some(function),
            kind: symbol,
            what: symbol,
            snapshot: number,
            part: number,
            thread: number,
            thread_name: symbol,
            tid: number,
            process: symbol,
            cut: true,
            earlier_search: true,
            time: number,
            labels: symbol,
            stack,
        };
        let mut packed = PackedKeys::default();
        assert_eq!(packed.intern(&key).unwrap(), 0);
        assert_eq!(packed.key(0), key);
    }
}
