//! Function names for addresses, read from the objects of a profile that was saved without names.
//!
//! An object is used only if its build id matches the profile's, because a rebuilt program has other functions at the same
//! addresses. If the debug information lacks a function, its symbol is used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cg_debug_info::{
    ChainNodeId, Chains, CoveringSymbols, DebugInfo, ElfSymbol, ObjectFile, Search, SourcePlace,
    TableLine, TableLineId, path_from_bytes,
};

/// A function at an address. Inlined functions precede the function they are inlined into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSymbol {
    /// The name in the object, which may be mangled.
    pub name: Vec<u8>,
    /// The source file; empty if unknown.
    pub file: Vec<u8>,
    /// The line in the source file.
    pub line: Option<u64>,
}

/// The build id of an object, as a profile records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildId {
    /// The id that the linker wrote.
    Elf(Vec<u8>),
    /// The first 16 bytes of the id in Breakpad's form: the first three numbers have the opposite byte order.
    Breakpad([u8; 16]),
}

/// The origin of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// The start of the object in memory.
    Base,
    /// The start of the object file.
    File,
    /// Zero: the addresses are those of the object's own tables.
    Tables,
}

/// The name of the outermost function at an address, which is not inlined itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutermostName {
    /// The name in the debug information; without debug information, the symbol.
    DebugInfo,
    /// The symbol, including suffixes of compilers; without a symbol, the name in the debug information.
    Symbol,
}

impl BuildId {
    /// Parses an id in hexadecimal digits; `None` if it is shorter than 8 bytes or only zeros.
    pub fn elf(digits: &[u8]) -> Option<BuildId> {
        let bytes = bytes(digits)?;
        let is_specific = bytes.len() >= 8 && bytes.iter().any(|byte| *byte != 0);
        is_specific.then_some(BuildId::Elf(bytes))
    }

    /// Parses an id in Breakpad's form. Ignores the number after the id, which has no meaning for ELF.
    pub fn breakpad(digits: &[u8]) -> Option<BuildId> {
        let id: [u8; 16] = bytes(digits.get(..32)?)?.try_into().ok()?;
        (id != [0; 16]).then_some(BuildId::Breakpad(id))
    }

    /// Returns true if the object has this build id.
    pub fn matches(&self, object: &ObjectFile) -> bool {
        let Some(id) = object.build_id() else {
            return false;
        };
        match self {
            BuildId::Elf(expected) => expected == id,
            BuildId::Breakpad(expected) => {
                let mut padded = [0; 16];
                for (to, from) in padded.iter_mut().zip(id) {
                    *to = *from;
                }
                padded[..4].reverse();
                padded[4..6].reverse();
                padded[6..8].reverse();
                padded == *expected
            }
        }
    }
}

/// Decodes an even number of hexadecimal digits.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// An object file of the build that was profiled.
pub struct FoundObject {
    file: ObjectFile,
}

impl FoundObject {
    /// Finds an object that a profile names; `None` if no candidate has the build id.
    pub fn find(path: &[u8], build_id: &BuildId, search: &Search) -> Option<FoundObject> {
        let candidates = search.objects(&path_from_bytes(path));
        let open = |path: &PathBuf| ObjectFile::open(path, &search.limits).ok();
        let mut files = candidates.iter().filter_map(open);
        let file = files.find(|file| build_id.matches(file))?;
        Some(FoundObject { file })
    }

    /// Wraps an object that the caller has verified.
    pub fn new(file: ObjectFile) -> FoundObject {
        FoundObject { file }
    }

    /// Opens the program of the search (`--exe`) without a check of its build id; `None` if the search has no program.
    ///
    /// # Errors
    /// Returns a message if the file cannot be read or is not an object.
    pub fn program(search: &Search) -> Result<Option<FoundObject>, String> {
        let Some(path) = &search.exe else {
            return Ok(None);
        };
        let file = ObjectFile::open(path, &search.limits)
            .map_err(|error| format!("--exe {}: {error}", path.display()))?;
        Ok(Some(FoundObject { file }))
    }

    /// Returns true if the object has this build id.
    pub(crate) fn has_build_id(&self, build_id: &BuildId) -> bool {
        build_id.matches(&self.file)
    }

    /// Returns the functions at each address, without the addresses that have no known function.
    pub fn functions(
        &self,
        addresses: &BTreeSet<u64>,
        counted_from: CountedFrom,
        outermost: OutermostName,
        search: &Search,
    ) -> BTreeMap<u64, Vec<AddressSymbol>> {
        let owned = |function: FunctionAt| AddressSymbol {
            name: function.name.to_vec(),
            file: function.file.to_vec(),
            line: function.line,
        };
        let found = self.find_functions(addresses.iter().copied(), counted_from, outermost, search);
        let found = (found.iter())
            .map(|(address, functions)| (address, functions.into_iter().map(owned).collect()));
        found.collect()
    }

    /// As [`FoundObject::functions`], but the result borrows the names instead of copying them.
    pub fn find_functions(
        &self,
        addresses: impl Iterator<Item = u64>,
        counted_from: CountedFrom,
        outermost: OutermostName,
        search: &Search,
    ) -> FoundFunctions {
        // Addresses as the object's tables count them. An address outside the object has no name.
        let own_address = |address: u64| match counted_from {
            CountedFrom::Base => self.file.base_address()?.checked_add(address),
            CountedFrom::File => self.file.address_at(address),
            CountedFrom::Tables => Some(address),
        };
        let mut asked: Vec<(u64, u64)> = addresses
            .filter_map(|address| Some((own_address(address)?, address)))
            .collect();
        asked.sort_unstable();
        asked.dedup_by_key(|(own, _)| *own);
        let sorted: Vec<u64> = asked.iter().map(|(own, _)| *own).collect();
        let found = DebugInfo::find_chains(&self.file, search, &sorted);
        let (chains, debug_file) =
            found.map_or((None, None), |(chains, file)| (Some(chains), file));
        let files: Vec<&ObjectFile> = std::iter::once(&self.file).chain(&debug_file).collect();
        FoundFunctions {
            chains,
            symbols: CoveringSymbols::covering(&files, &sorted).unwrap_or_default(),
            stubs: match outermost {
                OutermostName::DebugInfo => BTreeMap::new(),
                OutermostName::Symbol => self.file.stubs(&sorted),
            },
            asked,
            outermost,
        }
    }
}

/// The functions of an object at a set of addresses.
pub struct FoundFunctions {
    /// Each address as the object counts it, and as the caller gave it.
    asked: Vec<(u64, u64)>,
    chains: Option<Chains>,
    symbols: CoveringSymbols,
    stubs: BTreeMap<u64, Vec<u8>>,
    outermost: OutermostName,
}

/// An [`AddressSymbol`] that borrows its texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionAt<'a> {
    /// The name in the object, which may be mangled.
    pub name: &'a [u8],
    /// The source file; empty if unknown.
    pub file: &'a [u8],
    /// The line in the source file.
    pub line: Option<u64>,
}

impl FoundFunctions {
    /// Returns each address that has a known function, with its functions.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Vec<FunctionAt<'_>>)> {
        (self.asked.iter().enumerate()).filter_map(|(row, (own, address))| {
            let functions = self.at(row, *own);
            let is_known = !functions.first()?.name.is_empty();
            is_known.then_some((*address, functions))
        })
    }

    fn at(&self, row: usize, own: u64) -> Vec<FunctionAt<'_>> {
        let functions = (self.chains.as_ref())
            .and_then(|chains| Some(chain(chains, chains.innermost[row]?, chains.lines[row])));
        let mut functions = functions.unwrap_or_default();
        let symbol = match self.outermost {
            OutermostName::DebugInfo => {
                (self.symbols.at(own).next()).map(|symbol| &symbol.name[..])
            }
            OutermostName::Symbol => (self.symbols.preferred_at(own))
                .map(ElfSymbol::name_without_version)
                .or_else(|| self.stubs.get(&own).map(Vec::as_slice)),
        };
        match (functions.last_mut(), symbol) {
            (Some(function), Some(symbol)) if self.outermost == OutermostName::Symbol => {
                function.name = symbol;
            }
            (None, Some(name)) => functions.push(FunctionAt {
                name,
                ..FunctionAt::default()
            }),
            _ => {}
        }
        functions
    }
}

/// Returns the functions of a chain, innermost first. `line` is the line of the innermost one.
fn chain(
    chains: &Chains,
    innermost: ChainNodeId,
    line: Option<TableLineId>,
) -> Vec<FunctionAt<'_>> {
    let mut found = Vec::new();
    let mut place = line.map(|line| {
        let TableLine { file, line, .. } = chains.table_line(line);
        SourcePlace { file, line }
    });
    for node in chains.chain(innermost) {
        let file = place.and_then(|place| place.file);
        let line = place.map(|place| u64::from(place.line));
        found.push(FunctionAt {
            name: &chains.function(node.function).name,
            file: file.map_or(&b""[..], |file| chains.file(file)),
            line: line.filter(|line| *line > 0),
        });
        place = node.inlined_into.map(|(_, call)| call);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_build_ids_are_parsed() {
        assert_eq!(
            BuildId::elf(b"0123456789abcdef"),
            Some(BuildId::Elf(vec![
                1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef
            ]))
        );
        assert_eq!(BuildId::elf(b""), None);
        assert_eq!(BuildId::elf(b"0000000000000000"), None);
        assert_eq!(BuildId::elf(b"no digits at all"), None);
        assert_eq!(
            BuildId::breakpad(b"9D8DF1E4D0C1FCE62B17E93E885A647B0"),
            Some(BuildId::Breakpad([
                0x9d, 0x8d, 0xf1, 0xe4, 0xd0, 0xc1, 0xfc, 0xe6, 0x2b, 0x17, 0xe9, 0x3e, 0x88, 0x5a,
                0x64, 0x7b
            ]))
        );
        assert_eq!(
            BuildId::breakpad(b"000000000000000000000000000000000"),
            None
        );
        assert_eq!(BuildId::breakpad(b"9D8D"), None);
    }
}
