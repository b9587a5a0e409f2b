//! Lists of numbers. A list stays text until it is read, because columns have millions of numbers and the text is in memory
//! anyway.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use cg_collections::limits;

use crate::error::excerpt;
use crate::number::whole_u64;

/// The length from which a list may need too much memory.
const LONG: usize = 1 << 20;

/// A list in a document. A list that is `null` or absent is empty.
#[derive(Clone, Copy, Default)]
pub struct List<'a> {
    /// The text between the brackets.
    inside: &'a [u8],
}

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get().as_bytes();
        let inside = text
            .strip_prefix(b"[")
            .and_then(|text| text.strip_suffix(b"]"));
        match inside {
            Some(inside) => Ok(List {
                inside: inside.trim_ascii(),
            }),
            None if text == b"null" => Ok(List::default()),
            None => Err(serde::de::Error::custom(format!(
                "expected a list, found {}",
                excerpt(text)
            ))),
        }
    }
}

impl<'a> List<'a> {
    /// Returns true if the list has no elements.
    pub fn is_empty(self) -> bool {
        self.inside.is_empty()
    }

    /// Iterates over the texts of the elements. Only for lists of numbers and `null`, which contain no comma.
    pub fn elements(self) -> ListElements<'a> {
        ListElements {
            rest: (!self.is_empty()).then_some(self.inside),
        }
    }

    /// Parses the elements as indices into another table.
    pub fn indices(self) -> Result<Vec<Index>, NotInList> {
        self.read(|element| match element {
            [b'-', b'0'..=b'9', ..] | b"null" => Some(Index::NONE),
            digits => u32::try_from(whole_u64(digits)?)
                .ok()
                .filter(|number| *number != u32::MAX)
                .map(Index),
        })
        .map_err(|bad| bad.expected("an index or null"))
    }

    /// Parses the elements as integers; `None` for `null`.
    pub fn integers(self) -> Result<Vec<Option<i64>>, NotInList> {
        self.read(integer)
            .map_err(|bad| bad.expected("an integer or null"))
    }

    /// Parses the elements as numbers of this type.
    pub fn numbers<T: TryFrom<i64>>(self) -> Result<Vec<T>, NotInList> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let count = memchr::memchr_iter(b',', self.inside).count() + 1;
        self.check_memory::<T>(count)?;
        let mut numbers = Vec::with_capacity(count);
        if read_plain(self.inside, &mut numbers) {
            return Ok(numbers);
        }
        self.read(|element| T::try_from(integer(element)??).ok())
            .map_err(|bad| bad.expected("a number"))
    }

    fn check_memory<T>(self, count: usize) -> Result<(), NotInList> {
        let exceeded = |_| {
            NotInList::new(
                0,
                "a shorter list",
                &self.inside[..self.inside.len().min(9)],
            )
        };
        match count * size_of::<T>() {
            0..LONG => Ok(()),
            growth => limits::check_memory(growth).map_err(exceeded),
        }
    }

    fn read<T>(self, read: impl Fn(&'a [u8]) -> Option<T>) -> Result<Vec<T>, NotInList> {
        if self.inside.len() >= LONG {
            self.check_memory::<T>(memchr::memchr_iter(b',', self.inside).count())?;
        }
        // An element has at least two bytes, usually more.
        let mut elements = Vec::with_capacity(match self.inside.len() {
            0..1024 => 0,
            length => length / 8,
        });
        for element in self.elements() {
            match read(element) {
                Some(value) => elements.push(value),
                None => {
                    return Err(NotInList {
                        position: elements.len(),
                        expected: "",
                        found: excerpt(element),
                    });
                }
            }
        }
        Ok(elements)
    }
}

/// Parses an element as an integer of 64 bits; `Some(None)` for `null`, `None` for other elements.
pub fn integer(element: &[u8]) -> Option<Option<i64>> {
    match element {
        b"null" => Some(None),
        [b'-', digits @ ..] => {
            let number = i128::from(whole_u64(digits)?);
            i64::try_from(-number).ok().map(Some)
        }
        digits => i64::try_from(whole_u64(digits)?).ok().map(Some),
    }
}

/// A fast path for unsigned numbers of at most 18 digits, without blanks. Returns false for other lists.
fn read_plain<T: TryFrom<i64>>(inside: &[u8], numbers: &mut Vec<T>) -> bool {
    let (mut number, mut digits) = (0i64, 0);
    for byte in inside.iter().chain(b",") {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
            digits += 1;
            continue;
        }
        // 18 digits cannot overflow.
        let is_number = *byte == b',' && (1..=18).contains(&digits);
        let Some(whole) = T::try_from(number).ok().filter(|_| is_number) else {
            return false;
        };
        numbers.push(whole);
        (number, digits) = (0, 0);
    }
    true
}

/// The error for an element of the wrong type.
#[derive(Debug, thiserror::Error)]
#[error("element {position}: expected {expected}, found {found}")]
pub struct NotInList {
    position: usize,
    expected: &'static str,
    found: String,
}

impl NotInList {
    /// Creates an error about the element at this position of its list.
    pub fn new(position: usize, expected: &'static str, found: &[u8]) -> NotInList {
        NotInList {
            position,
            expected,
            found: excerpt(found),
        }
    }

    fn expected(self, expected: &'static str) -> NotInList {
        NotInList { expected, ..self }
    }
}

/// The elements of a list, without blanks.
pub struct ListElements<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for ListElements<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // Numbers are short, so `memchr` would be slower.
        let length = rest.iter().position(|byte| *byte == b',');
        let (element, rest) = match length {
            Some(length) => (&rest[..length], Some(&rest[length + 1..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(element.trim_ascii())
    }
}

/// An index into another table, or no index if the element is `null` or negative.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    const NONE: Index = Index(u32::MAX);

    /// Returns the index; `None` if the element is `null` or negative.
    #[inline]
    pub fn get(self) -> Option<usize> {
        (self != Index::NONE).then_some(self.0 as usize)
    }
}

impl From<Option<u32>> for Index {
    fn from(index: Option<u32>) -> Index {
        index.map_or(Index::NONE, Index)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> List<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn indices_and_integers() {
        let indices = |text| {
            let indices = list(text).indices().map_err(|error| error.to_string());
            indices.map(|all| all.into_iter().map(Index::get).collect::<Vec<_>>())
        };
        assert_eq!(
            indices("[0, 7 ,null,-1,\n4294967294]"),
            Ok(vec![Some(0), Some(7), None, None, Some(4_294_967_294)])
        );
        assert_eq!(indices("[ ]"), Ok(vec![]));
        assert_eq!(indices("null"), Ok(vec![]));
        assert_eq!(
            indices("[1,4294967295]"),
            Err("element 1: expected an index or null, found \"4294967295\"".to_owned())
        );
        assert!(indices("[1,\"2\"]").is_err());
        assert_eq!(
            list("[1,null,-9223372036854775808]").integers().unwrap(),
            [Some(1), None, Some(i64::MIN)]
        );
        assert!(list("[1.5]").integers().is_err());
        assert!(serde_json::from_str::<List>("{}").is_err());
    }

    #[test]
    fn numbers_have_at_most_64_bits() {
        let numbers = |text| {
            list(text)
                .numbers::<i64>()
                .map_err(|error| error.to_string())
        };
        assert_eq!(numbers("[1,22,0]"), Ok(vec![1, 22, 0]));
        assert_eq!(numbers("[ 1 , -22 ]"), Ok(vec![1, -22]));
        assert_eq!(numbers("[]"), Ok(vec![]));
        assert_eq!(
            numbers("[999999999999999999]"),
            Ok(vec![999_999_999_999_999_999])
        );
        assert_eq!(numbers("[9223372036854775807]"), Ok(vec![i64::MAX]));
        assert_eq!(
            numbers("[7,9223372036854775808]"),
            Err("element 1: expected a number, found \"9223372036854775808\"".to_owned())
        );
        assert!(numbers("[null]").is_err());
        assert!(list("[4294967295]").numbers::<u32>().is_ok());
        assert!(list("[4294967296]").numbers::<u32>().is_err());
        assert!(list("[-1]").numbers::<u32>().is_err());
    }
}
