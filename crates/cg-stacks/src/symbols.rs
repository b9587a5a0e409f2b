//! Names for the addresses of a profile that was saved without them, out of the objects they are in.
//!
//! An object is asked only if its build id is the one that the profile names: a program that was built again has other
//! functions at the same addresses. What its debug information does not tell its symbols do.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cg_debug_info::{
    ChainNodeId, Chains, CoveringSymbols, DebugInfo, ElfSymbol, ObjectFile, Search, SourcePlace,
    TableLine, TableLineId,
};

/// A function at an address; those inlined there come before the one they were inlined into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSymbol {
    /// As the object has it, mangled perhaps.
    pub name: Vec<u8>,
    /// The source file; empty where nobody knows it.
    pub file: Vec<u8>,
    /// The line in it.
    pub line: Option<u64>,
}

/// What a profile says of the build of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildId {
    /// What the linker wrote.
    Elf(Vec<u8>),
    /// Its first 16 bytes, with the first three numbers in the other byte order, as Breakpad writes them.
    Breakpad([u8; 16]),
}

/// What addresses are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedFrom {
    /// The beginning of the object in memory.
    Base,
    /// The beginning of its file.
    File,
}

/// What a function is called that nothing is inlined into at an address, or that all else there is inlined into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutermostName {
    /// As debug information has it; as its symbol, where there is none.
    DebugInfo,
    /// As its symbol, with what compilers append to that; as debug information has it, where there is none.
    Symbol,
}

impl BuildId {
    /// The id that these hexadecimal digits are; `None` for none, and for one that is only zeros.
    pub fn elf(digits: &[u8]) -> Option<BuildId> {
        let bytes = bytes(digits)?;
        let says_something = bytes.len() >= 8 && bytes.iter().any(|byte| *byte != 0);
        says_something.then_some(BuildId::Elf(bytes))
    }

    /// The same of Breakpad's spelling, behind which stands a number that counts nothing for ELF.
    pub fn breakpad(digits: &[u8]) -> Option<BuildId> {
        let id: [u8; 16] = bytes(digits.get(..32)?)?.try_into().ok()?;
        (id != [0; 16]).then_some(BuildId::Breakpad(id))
    }

    /// Whether the object is of this build.
    pub fn is_of(&self, object: &ObjectFile) -> bool {
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

/// The bytes that an even number of hexadecimal digits is.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// An object that is the one which was profiled.
pub struct FoundObject {
    file: ObjectFile,
}

impl FoundObject {
    /// The object that a profile names, if it is there in the build that was profiled.
    pub fn find(path: &[u8], build_id: &BuildId, search: &Search) -> Option<FoundObject> {
        let candidates = search.objects(Path::new(OsStr::from_bytes(path)));
        let open = |path: &PathBuf| ObjectFile::open(path, &search.limits).ok();
        let mut files = candidates.iter().filter_map(open);
        let file = files.find(|file| build_id.is_of(file))?;
        Some(FoundObject { file })
    }

    /// An object that its caller found to be the one.
    pub fn of(file: ObjectFile) -> FoundObject {
        FoundObject { file }
    }

    /// The program that the search names, which nothing in the profile vouches for; `None` where none is named.
    ///
    /// # Errors
    /// A message where the file cannot be read or is no object.
    pub(super) fn program(search: &Search) -> Result<Option<FoundObject>, String> {
        let Some(path) = &search.exe else {
            return Ok(None);
        };
        let file = ObjectFile::open(path, &search.limits)
            .map_err(|error| format!("--exe {}: {error}", path.display()))?;
        Ok(Some(FoundObject { file }))
    }

    /// Whether it is of this build.
    pub(crate) fn is_of(&self, build_id: &BuildId) -> bool {
        build_id.is_of(&self.file)
    }

    /// The functions at each of these addresses; none where nothing is known of one.
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
        let found = self.found(addresses.iter().copied(), counted_from, outermost, search);
        let found = (found.iter())
            .map(|(address, functions)| (address, functions.into_iter().map(owned).collect()));
        found.collect()
    }

    /// The same, not yet put together.
    pub fn found(
        &self,
        addresses: impl Iterator<Item = u64>,
        counted_from: CountedFrom,
        outermost: OutermostName,
        search: &Search,
    ) -> FoundFunctions {
        // As the object's own tables count them. What is outside of the object has no name.
        let own_address = |address: u64| match counted_from {
            CountedFrom::Base => self.file.base_address()?.checked_add(address),
            CountedFrom::File => self.file.address_at(address),
        };
        let mut asked: Vec<(u64, u64)> = addresses
            .filter_map(|address| Some((own_address(address)?, address)))
            .collect();
        asked.sort_unstable();
        asked.dedup_by_key(|(own, _)| *own);
        let sorted: Vec<u64> = asked.iter().map(|(own, _)| *own).collect();
        let info = DebugInfo::of(&self.file, search).ok();
        let debug_file = info.as_ref().and_then(DebugInfo::file);
        let files: Vec<&ObjectFile> = std::iter::once(&self.file).chain(debug_file).collect();
        FoundFunctions {
            chains: info.as_ref().map(|info| info.chains(&sorted)),
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

/// What an object says of addresses.
pub struct FoundFunctions {
    /// Each address as the object counts it, and as it was asked for.
    asked: Vec<(u64, u64)>,
    chains: Option<Chains>,
    symbols: CoveringSymbols,
    stubs: BTreeMap<u64, Vec<u8>>,
    outermost: OutermostName,
}

/// An [`AddressSymbol`] where it was found.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionAt<'a> {
    /// As the object has it, mangled perhaps.
    pub name: &'a [u8],
    /// The source file; empty where nobody knows it.
    pub file: &'a [u8],
    /// The line in it.
    pub line: Option<u64>,
}

impl FoundFunctions {
    /// The addresses of which something is known, each with its functions.
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

/// The functions of a chain, the innermost of which is at a line.
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
    fn ids_of_either_spelling() {
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
