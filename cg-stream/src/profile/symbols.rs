//! Interned strings: every distinct name is held once, and rows hold four bytes for it.

use std::hash::BuildHasher;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// An interned string of one [`Symbols`] table. Two symbols of a table are equal where their strings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The strings behind symbols, end to end in one allocation.
#[derive(Clone, Default)]
pub struct Symbols {
    text: String,
    /// Where each string ends; it begins where the one before it ends.
    ends: Vec<usize>,
    index: HashTable<Symbol>,
    hasher: FixedState,
}

impl Symbols {
    /// The symbol of a string, new or known.
    ///
    /// # Panics
    /// Past four billion distinct names, which would take more memory than any machine has.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let hash = self.hasher.hash_one(text);
        if let Some(symbol) = self.index.find(hash, |symbol| {
            lookup(&self.text, &self.ends, *symbol) == text
        }) {
            return *symbol;
        }
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let number = u32::try_from(self.ends.len())
            .ok()
            .and_then(NonZeroU32::new);
        let symbol = Symbol(number.expect("four billion distinct names do not fit in memory"));
        let Symbols {
            text, ends, hasher, ..
        } = self;
        self.index.insert_unique(hash, symbol, |symbol| {
            hasher.hash_one(lookup(text, ends, *symbol))
        });
        symbol
    }

    /// The symbol of a string, if it was interned.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let hash = self.hasher.hash_one(text);
        self.index
            .find(hash, |symbol| self.text(*symbol) == text)
            .copied()
    }

    /// The string of a symbol of this table.
    pub fn text(&self, symbol: Symbol) -> &str {
        lookup(&self.text, &self.ends, symbol)
    }

    /// How many distinct strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True where nothing was interned.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn lookup<'a>(text: &'a str, ends: &[usize], symbol: Symbol) -> &'a str {
    let index = symbol.index();
    let start = if index == 0 { 0 } else { ends[index - 1] };
    &text[start..ends[index]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_equal_symbols() {
        let mut symbols = Symbols::default();
        let names: Vec<String> = (0..5000).map(|number| format!("f{number}")).collect();
        let first: Vec<Symbol> = names.iter().map(|name| symbols.intern(name)).collect();
        let again: Vec<Symbol> = names.iter().map(|name| symbols.intern(name)).collect();
        assert_eq!(first, again);
        assert_eq!(symbols.len(), 5000);
        assert_eq!(symbols.text(first[4711]), "f4711");
        assert_eq!(symbols.find("f12"), Some(first[12]));
        assert_eq!(symbols.find("g"), None);
    }
}
