//! The symbols that cover addresses, including all aliases. They show if an object is the profiled build.

use std::ops::Range;

use object::{Endian, Endianness};

use crate::Error;
use crate::object_file::ObjectFile;

/// The functions in the symbol tables that cover one of the given addresses.
#[derive(Debug, Default)]
pub struct CoveringSymbols {
    /// The symbols, by start address.
    symbols: Vec<ElfSymbol>,
    /// For each symbol, the maximum end of this and all preceding symbols. It limits the search backwards.
    farthest: Vec<u64>,
}

/// A function in a symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElfSymbol {
    /// The covered addresses. A symbol without a size, as in much assembly code, extends to the next symbol.
    pub addresses: Range<SymbolAddress>,
    /// The name in the table, usually mangled.
    pub name: Vec<u8>,
    /// The binding, which decides between symbols with the same name.
    pub binding: SymbolBinding,
}

impl ElfSymbol {
    /// Returns the name without a version. Some tables append a version: `pthread_sigmask@@GLIBC_2.32`.
    pub fn name_without_version(&self) -> &[u8] {
        without_version(&self.name)
    }
}

/// Returns the name of a symbol without a version, such as `memcpy` for `memcpy@@GLIBC_2.14`.
pub fn without_version(name: &[u8]) -> &[u8] {
    let version = name.iter().position(|byte| *byte == b'@');
    &name[..version.filter(|at| *at > 0).unwrap_or(name.len())]
}

/// The binding of a symbol, in the order in which `perf` prefers aliases (`choose_best_symbol`, tools/perf/util/symbol.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolBinding {
    /// Other symbols with the same name take precedence.
    Weak,
    /// Visible only in its own file.
    Local,
    /// Visible everywhere.
    Global,
}

/// An address relative to the object, as in its section headers and symbols.
pub type SymbolAddress = u64;

impl CoveringSymbols {
    /// Reads the symbols of an object, and of its debug file if there is one, that cover any of `addresses`, which are
    /// sorted.
    pub fn covering(files: &[&ObjectFile], addresses: &[u64]) -> Result<CoveringSymbols, Error> {
        CoveringSymbols::read(files, Some(addresses))
    }

    /// Reads all functions of the symbol tables.
    ///
    /// # Errors
    /// Returns an error if the tables cannot be read, or have too many symbols.
    pub fn all(files: &[&ObjectFile]) -> Result<CoveringSymbols, Error> {
        CoveringSymbols::read(files, None)
    }

    fn read(files: &[&ObjectFile], addresses: Option<&[u64]>) -> Result<CoveringSymbols, Error> {
        let mut symbols = Vec::new();
        for file in files {
            for (table, strings) in [(".symtab", ".strtab"), (".dynsym", ".dynstr")] {
                read_table(file, table, strings, addresses, &mut symbols)?;
            }
        }
        symbols.sort_by(|a, b| {
            (a.addresses.start, a.addresses.end, &a.name).cmp(&(
                b.addresses.start,
                b.addresses.end,
                &b.name,
            ))
        });
        symbols.dedup();
        let mut end = 0;
        let farthest = (symbols.iter())
            .map(|symbol| {
                end = symbol.addresses.end.max(end);
                end
            })
            .collect();
        Ok(CoveringSymbols { symbols, farthest })
    }

    /// Iterates over the symbols that cover an address, highest start address first.
    pub fn at(&self, address: u64) -> impl Iterator<Item = &ElfSymbol> {
        let begun = (self.symbols).partition_point(|symbol| symbol.addresses.start <= address);
        (0..begun)
            .rev()
            .take_while(move |index| self.farthest[*index] > address)
            .take(MAX_OVERLAPPING)
            .map(|index| &self.symbols[index])
            .filter(move |symbol| symbol.addresses.contains(&address))
    }

    /// Returns the symbol that `perf` would use for an address. Among the symbols with the highest start address, prefers
    /// global to local and local to weak symbols, then fewer leading underscores, then the longest name.
    pub fn preferred_at(&self, address: u64) -> Option<&ElfSymbol> {
        let first = self.at(address).next()?;
        let aliases =
            (self.at(address)).take_while(|symbol| symbol.addresses.start == first.addresses.start);
        aliases.max_by_key(|symbol| {
            let name = symbol.name_without_version();
            let underscores = name.iter().take_while(|byte| **byte == b'_').count();
            (
                symbol.binding,
                std::cmp::Reverse(underscores),
                name.len(),
                name,
            )
        })
    }

    /// Iterates over all symbols, by start address.
    pub fn iter(&self) -> impl Iterator<Item = &ElfSymbol> {
        self.symbols.iter()
    }
}

/// One entry of a table. Its name has not been looked up yet.
struct Entry {
    name: usize,
    start: u64,
    size: u64,
    binding: SymbolBinding,
}

fn read_table(
    file: &ObjectFile,
    table: &str,
    strings: &str,
    addresses: Option<&[u64]>,
    symbols: &mut Vec<ElfSymbol>,
) -> Result<(), Error> {
    let mut budget = file.budget();
    let table = file.read(table.as_bytes(), &mut budget)?;
    let strings = file.read(strings.as_bytes(), &mut budget)?;
    let code: Vec<Range<u64>> = file.code().collect();
    let functions = || {
        entries(&table, file.is_64_bit(), file.endian())
            .filter(|entry| code.iter().any(|range| range.contains(&entry.start)))
    };
    // The few symbols without a size, each with the start of the next symbol: the smallest greater start. Each start is only
    // compared with the last symbol before it. This suffices, because these symbols' own starts are compared too.
    let mut endless: Vec<(u64, u64)> = (functions().filter(|entry| entry.size == 0))
        .map(|entry| (entry.start, u64::MAX))
        .collect();
    endless.sort_unstable();
    endless.dedup();
    let begun_before = |endless: &[(u64, u64)], address: u64| {
        let begun = endless.partition_point(|(start, _)| *start < address);
        begun.checked_sub(1)
    };
    for entry in functions() {
        if let Some(last) = begun_before(&endless, entry.start) {
            endless[last].1 = entry.start.min(endless[last].1);
        }
    }
    let mut bytes_left = MAX_SYMBOL_BYTES;
    for entry in functions() {
        let end = match entry.size {
            0 => begun_before(&endless, entry.start.saturating_add(1))
                .map_or(u64::MAX, |own| endless[own].1),
            size => entry.start.saturating_add(size),
        };
        let section = code.iter().find(|range| range.contains(&entry.start));
        let end = end.min(section.map_or(u64::MAX, |range| range.end));
        if let Some(addresses) = addresses {
            let first = addresses.partition_point(|address| *address < entry.start);
            if addresses.get(first).is_none_or(|address| *address >= end) {
                continue;
            }
        }
        let Some(name) = (strings.get(entry.name..))
            .and_then(|rest| rest.split(|byte| *byte == 0).next())
            .filter(|name| !name.is_empty() && name.len() <= MAX_NAME_LEN)
        else {
            continue;
        };
        bytes_left = bytes_left
            .checked_sub(name.len() + size_of::<ElfSymbol>())
            .ok_or(Error::TooLarge)?;
        symbols.push(ElfSymbol {
            addresses: entry.start..end,
            name: name.to_vec(),
            binding: entry.binding,
        });
    }
    Ok(())
}

/// The maximum length of a name. No compiler writes longer names, so a longer one is damaged.
const MAX_NAME_LEN: usize = 1 << 16;
/// The maximum memory for one table's symbols, in bytes.
const MAX_SYMBOL_BYTES: usize = 48 << 20;
/// The maximum number of symbols to examine for one address. A file may have a symbol that covers all others.
const MAX_OVERLAPPING: usize = 1024;

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;
const SHN_UNDEF: u16 = 0;

/// Iterates over the defined functions of a symbol table, including labels without a type, as in assembly code.
fn entries(table: &[u8], is_64_bit: bool, endian: Endianness) -> impl Iterator<Item = Entry> {
    let u16_at = move |bytes: &[u8], at: usize| {
        endian.read_u16(
            bytes[at..at + 2]
                .try_into()
                .expect("two bytes were cut out"),
        )
    };
    let u32_at = move |bytes: &[u8], at: usize| {
        endian.read_u32(
            bytes[at..at + 4]
                .try_into()
                .expect("four bytes were cut out"),
        )
    };
    let u64_at = move |bytes: &[u8], at: usize| {
        endian.read_u64(
            bytes[at..at + 8]
                .try_into()
                .expect("eight bytes were cut out"),
        )
    };
    (table.chunks_exact(if is_64_bit { 24 } else { 16 })).filter_map(move |bytes| {
        let (info, section, start, size) = if is_64_bit {
            (
                bytes[4],
                u16_at(bytes, 6),
                u64_at(bytes, 8),
                u64_at(bytes, 16),
            )
        } else {
            let (start, size) = (u32_at(bytes, 4), u32_at(bytes, 8));
            (
                bytes[12],
                u16_at(bytes, 14),
                u64::from(start),
                u64::from(size),
            )
        };
        let is_function = matches!(info & 0xf, STT_NOTYPE | STT_FUNC | STT_GNU_IFUNC);
        (is_function && section != SHN_UNDEF).then_some(Entry {
            name: usize::try_from(u32_at(bytes, 0)).ok()?,
            start,
            size,
            binding: match info >> 4 {
                STB_LOCAL => SymbolBinding::Local,
                STB_WEAK => SymbolBinding::Weak,
                _ => SymbolBinding::Global,
            },
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates symbols, which are sorted by their start addresses.
    fn symbols(list: &[(&str, Range<u64>, SymbolBinding)]) -> CoveringSymbols {
        let mut end = 0;
        let mut found = CoveringSymbols::default();
        for (name, addresses, binding) in list {
            end = end.max(addresses.end);
            found.farthest.push(end);
            found.symbols.push(ElfSymbol {
                addresses: addresses.clone(),
                name: name.as_bytes().to_vec(),
                binding: *binding,
            });
        }
        found
    }

    #[test]
    fn alias_is_chosen_by_binding_then_underscores_then_length() {
        use SymbolBinding::{Global, Local, Weak};
        for (a, b) in [
            (("weak", Weak), ("a", Global)),
            (("local", Local), ("a", Global)),
            (("weak", Weak), ("a", Local)),
            (("__libc_malloc", Global), ("malloc", Global)),
            (("_start_of_all", Global), ("go", Global)),
            (("open", Global), ("open64", Global)),
            // The version does not count.
            (("open@@GLIBC_2.14", Global), ("open64", Global)),
        ] {
            for [first, second] in [[a, b], [b, a]] {
                let list = [first, second].map(|(name, binding)| (name, 16..32, binding));
                let found = symbols(&list);
                let preferred = found.preferred_at(20).unwrap();
                assert_eq!(preferred.name, b.0.as_bytes(), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn symbols_cover_their_addresses_up_to_their_end() {
        let found = symbols(&[
            ("outer", 0..100, SymbolBinding::Global),
            ("inner", 10..20, SymbolBinding::Weak),
            ("after", 30..40, SymbolBinding::Global),
        ]);
        let names = |address: u64| -> Vec<&[u8]> {
            found.at(address).map(|symbol| &symbol.name[..]).collect()
        };
        assert_eq!(names(10), [&b"inner"[..], b"outer"]);
        assert_eq!(names(19), [&b"inner"[..], b"outer"]);
        assert_eq!(names(20), [&b"outer"[..]]);
        assert_eq!(names(40), [&b"outer"[..]]);
        assert!(names(100).is_empty());
        // The symbol that begins last is preferred, whatever its binding.
        assert_eq!(found.preferred_at(15).unwrap().name, b"inner");
    }

    #[test]
    fn version_begins_at_the_first_at_sign() {
        for (name, expected) in [
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("f@a@b", "f"),
            ("memcpy", "memcpy"),
            ("@@GLIBC", "@@GLIBC"),
        ] {
            assert_eq!(without_version(name.as_bytes()), expected.as_bytes());
        }
    }
}
