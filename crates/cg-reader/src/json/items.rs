//! Lists of structures, which take many times the memory of their text.

use std::fmt;
use std::marker::PhantomData;

use cg_collections::limits;
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

/// Reads a list. The memory is checked while it grows.
///
/// # Errors
/// Returns an error if the value is not a list, and if the list takes too much memory.
pub fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Items<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
            formatter.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(element) = elements.next_element()? {
                limits::push(&mut items, element).map_err(A::Error::custom)?;
            }
            Ok(items)
        }
    }
    deserializer.deserialize_seq(Items(PhantomData))
}

/// A list that is read by [`items`].
pub struct ItemList<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ItemList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        items(deserializer).map(ItemList)
    }
}

impl<T> std::ops::Deref for ItemList<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}
