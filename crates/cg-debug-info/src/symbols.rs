//! The symbols that cover addresses, all aliases of them: the check that an object is the one that was profiled.

use std::ops::Range;

use object::{Endian, Endianness};

use crate::Error;
use crate::object_file::ObjectFile;

/// The functions of the symbol tables that cover one of the addresses asked for.
#[derive(Debug, Default)]
pub struct CoveringSymbols {
    /// By where they begin.
    symbols: Vec<ElfSymbol>,
    /// For each symbol the greatest end of it and those before it, which bounds the search backwards.
    farthest: Vec<u64>,
}

/// A function in a symbol table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElfSymbol {
    /// What it covers; to the next symbol where it says no size, as assembler code often does.
    pub addresses: Range<SymbolAddress>,
    /// As the table has it, mangled.
    pub name: Vec<u8>,
    /// How the linker chose between symbols of this name.
    pub binding: SymbolBinding,
}

impl ElfSymbol {
    /// Its name without a version, which some tables append to it: `pthread_sigmask@@GLIBC_2.32`.
    pub fn name_without_version(&self) -> &[u8] {
        without_version(&self.name)
    }
}

/// The name of a symbol without a version: `memcpy@@GLIBC_2.14`.
pub fn without_version(name: &[u8]) -> &[u8] {
    let version = name.iter().position(|byte| *byte == b'@');
    &name[..version.filter(|at| *at > 0).unwrap_or(name.len())]
}

/// The binding of a symbol, in the order in which `perf` prefers aliases (`choose_best_symbol`, tools/perf/util/symbol.c).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolBinding {
    /// Gives way to others of its name.
    Weak,
    /// Known in its own file alone.
    Local,
    /// Known everywhere.
    Global,
}

/// An address as the object counts it: what its section headers and symbols say.
pub type SymbolAddress = u64;

impl CoveringSymbols {
    /// The symbols of an object, and of its debug file where there is one, that cover any of `addresses`, which are
    /// sorted.
    pub fn covering(files: &[&ObjectFile], addresses: &[u64]) -> Result<CoveringSymbols, Error> {
        CoveringSymbols::read(files, Some(addresses))
    }

    /// All functions of the symbol tables.
    ///
    /// # Errors
    /// Where they cannot be read, or are too many.
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

    /// The symbols that cover an address, the one that begins last first.
    pub fn at(&self, address: u64) -> impl Iterator<Item = &ElfSymbol> {
        let begun = (self.symbols).partition_point(|symbol| symbol.addresses.start <= address);
        (0..begun)
            .rev()
            .take_while(move |index| self.farthest[*index] > address)
            .take(MOST_OVERLAPPING)
            .map(|index| &self.symbols[index])
            .filter(move |symbol| symbol.addresses.contains(&address))
    }

    /// The symbol at an address that `perf` would name it by: of those that begin last a global one rather than a local, that
    /// rather than a weak one; then the one with fewer underscores in front, then the longest name.
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

    /// All of them, by where they begin.
    pub fn iter(&self) -> impl Iterator<Item = &ElfSymbol> {
        self.symbols.iter()
    }
}

/// One entry of a table, its name not yet looked up.
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
    // The few that say no size, each with where the next symbol begins: the least start that is greater. A start needs to be
    // compared with the last of them before it alone, for their own are among the starts.
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
    let mut bytes_left = MOST_NAMES;
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
            .filter(|name| !name.is_empty() && name.len() <= LONGEST_NAME)
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

/// Longer names than any compiler writes are damage.
const LONGEST_NAME: usize = 1 << 16;
/// What the symbols of one table that cover an address may take, in bytes.
const MOST_NAMES: usize = 48 << 20;
/// The most symbols that are examined for one address. Some file may have one that covers all others.
const MOST_OVERLAPPING: usize = 1024;

const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;
const SHN_UNDEF: u16 = 0;

/// The defined functions of a symbol table, and labels without a type, which assembler code has.
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
