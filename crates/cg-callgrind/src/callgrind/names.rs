//! Name compression: `(7) name` defines a number, `(7)` refers to it, anything else is the name itself.
//!
//! A name is compressed only if a digit follows the parenthesis: `(below main)` and `(anonymous namespace)::f` are names.
//! Objects, files and functions each have their own numbers. 0 is a valid number. Each part of a profile may redefine
//! numbers. Other numbers keep their meaning.

use cg_collections::maps::Map;
use cg_reader::number::whole_u64;

/// The value of a position line: the text after the `=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compressed<'a> {
    Definition(u64, &'a [u8]),
    Reference(u64),
    Name(&'a [u8]),
    /// A number of more than 64 bits, which no producer writes.
    Beyond(&'a [u8]),
}

impl Compressed<'_> {
    /// Returns the number that the line defines (`None` inside if it defines none); outer `None` if it has no name in full.
    pub(crate) fn defined(self) -> Option<Option<u64>> {
        match self {
            Compressed::Definition(number, _) => Some(Some(number)),
            Compressed::Name(_) => Some(None),
            Compressed::Reference(_) | Compressed::Beyond(_) => None,
        }
    }
}

/// Parses the text after the `=` of a position line.
#[inline]
pub(crate) fn read(text: &[u8]) -> Compressed<'_> {
    let [b'(', rest @ ..] = text else {
        return Compressed::Name(text);
    };
    let mut number = 0u64;
    let mut digits = 0;
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        digits += 1;
    }
    let [b')', after @ ..] = &rest[digits..] else {
        return Compressed::Name(text);
    };
    match digits {
        0 => return Compressed::Name(text),
        // 19 digits cannot overflow.
        1..=19 => {}
        _ => match whole_u64(&rest[..digits]) {
            Some(long) => number = long,
            None => return Compressed::Beyond(&rest[..digits]),
        },
    }
    match after {
        _ if after.trim_ascii_start().is_empty() => Compressed::Reference(number),
        // Callgrind separates number and name by one blank. Further blanks belong to the name.
        [b' ' | b'\t', name @ ..] => Compressed::Definition(number, name),
        // `(1234)'(1216)` is a name that consists of numbers (`--compress-mangled=yes`).
        [b'\'', ..] => Compressed::Name(text),
        // The manual's grammar does not require a blank.
        name => Compressed::Definition(number, name),
    }
}

/// Maps the numbers of one kind of name to their meanings.
pub(crate) struct NumberTable<T> {
    /// Callgrind counts from 0, so nearly all numbers are small.
    dense: Vec<Option<T>>,
    sparse: Map<u64, T>,
    definitions: usize,
}

impl<T: Copy> NumberTable<T> {
    pub(crate) fn new() -> NumberTable<T> {
        NumberTable {
            dense: Vec::new(),
            sparse: Map::default(),
            definitions: 0,
        }
    }

    pub(crate) fn define(&mut self, number: u64, meaning: T) {
        self.definitions += 1;
        // The number of definitions limits the memory, not the size of the numbers.
        let limit = 1024 + 8 * self.definitions as u64;
        match usize::try_from(number) {
            Ok(index) if number < limit => {
                if self.dense.len() <= index {
                    self.dense.resize(index + 1, None);
                }
                self.dense[index] = Some(meaning);
            }
            _ => {
                self.sparse.insert(number, meaning);
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<T> {
        let dense = usize::try_from(number)
            .ok()
            .and_then(|index| self.dense.get(index).copied().flatten());
        match dense {
            Some(meaning) => Some(meaning),
            None if self.sparse.is_empty() => None,
            None => self.sparse.get(&number).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digit_makes_a_parenthesis_a_number() {
        assert_eq!(read(b"(0) main"), Compressed::Definition(0, b"main"));
        assert_eq!(read(b"(12)"), Compressed::Reference(12));
        assert_eq!(read(b"(12) "), Compressed::Reference(12));
        assert_eq!(read(b"(7)x"), Compressed::Definition(7, b"x"));
        for name in [
            "(below main)",
            "(anonymous namespace)::f",
            "main",
            "",
            "(",
            "(1",
            "(7)'(8)",
        ] {
            assert_eq!(read(name.as_bytes()), Compressed::Name(name.as_bytes()));
        }
    }

    #[test]
    fn numbers_are_of_64_bits() {
        assert_eq!(
            read(b"(18446744073709551615) f"),
            Compressed::Definition(u64::MAX, b"f")
        );
        assert_eq!(
            read(b"(000000000000000000000000007)"),
            Compressed::Reference(7)
        );
        let beyond = Compressed::Beyond(b"18446744073709551616");
        assert_eq!(read(b"(18446744073709551616) f"), beyond);
        assert_eq!(read(b"(18446744073709551616)"), beyond);
    }

    #[test]
    fn names_may_look_like_anything() {
        assert_eq!(read(b"(3) (7)"), Compressed::Definition(3, b"(7)"));
        assert_eq!(
            read(b"(3) (1) fake compressed"),
            Compressed::Definition(3, b"(1) fake compressed")
        );
        assert_eq!(
            read(b"(3)  leading"),
            Compressed::Definition(3, b" leading")
        );
        assert_eq!(read(b"(3) fn=(2)"), Compressed::Definition(3, b"fn=(2)"));
    }

    #[test]
    fn far_numbers_cost_no_memory() {
        let mut table = NumberTable::new();
        table.define(u64::MAX, 'a');
        table.define(3, 'b');
        table.define(500_000, 'c');
        assert_eq!(
            [u64::MAX, 3, 500_000, 4].map(|number| table.get(number)),
            [Some('a'), Some('b'), Some('c'), None]
        );
        assert!(table.dense.len() < 10);
        table.define(3, 'd');
        assert_eq!(table.get(3), Some('d'));
    }
}
