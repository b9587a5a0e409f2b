//! Function names for addresses in profiles without names, which samply writes. The names come from a sidecar file, or else
//! from the objects.
//!
//! samply can write a sidecar file (`--unstable-presymbolicate`): `profile.json.gz` has `profile.json.syms.json`. It
//! contains the symbol at each address of an object. For each symbol it contains the inlined functions at the first address
//! that was looked up. So the inlined functions are used only if a symbol has a single address.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cg_collections::maps::Map;
use cg_debug_info::Search;
use cg_reader::json::{self, JsonText};
use cg_reader::{Error, get_checked};
use serde::Deserialize;

use super::super::symbols::{AddressSymbol, BuildId, CountedFrom, FoundObject, OutermostName};
use super::document::Library;

/// The functions at addresses of objects, the innermost inlined one first.
#[derive(Default)]
pub(super) struct SidecarSymbols {
    by_address: Map<(usize, u64), Vec<AddressSymbol>>,
}

impl SidecarSymbols {
    /// Returns the functions at an address of the object with this number.
    pub(super) fn get(&self, lib: usize, address: u64) -> Option<&[AddressSymbol]> {
        self.by_address.get(&(lib, address)).map(Vec::as_slice)
    }

    /// Adds the functions of the objects at these addresses.
    pub(super) fn look_up(
        &mut self,
        objects: &BTreeMap<usize, FoundObject>,
        addresses: &BTreeMap<usize, BTreeSet<u64>>,
        search: &Search,
    ) {
        for (lib, addresses) in addresses {
            if let Some(object) = objects.get(lib) {
                let found = object.functions(
                    addresses,
                    CountedFrom::Base,
                    OutermostName::DebugInfo,
                    search,
                );
                for (address, functions) in found {
                    self.by_address.entry((*lib, address)).or_insert(functions);
                }
            }
        }
    }

    /// Adds the functions of a sidecar file.
    pub(super) fn add(&mut self, text: &[u8], libs: &[Library]) -> Result<(), Error> {
        let sidecar: Sidecar = json::read(text)?;
        for object in &sidecar.data {
            for (number, _) in libs
                .iter()
                .enumerate()
                .filter(|(_, lib)| object.matches(lib))
            {
                object.add_to(self, number, &sidecar.string_table)?;
            }
        }
        Ok(())
    }
}

/// Finds the objects of a profile that exist in the profiled build, by number.
pub(super) fn find_objects(libs: &[Library], search: &Search) -> BTreeMap<usize, FoundObject> {
    let find = |lib: &Library| {
        let given = |text: &Option<JsonText>, read: fn(&[u8]) -> Option<BuildId>| {
            text.as_ref().and_then(|text| read(text.as_bytes()))
        };
        let build_id = given(&lib.code_id, BuildId::elf)
            .or_else(|| given(&lib.breakpad_id, BuildId::breakpad))?;
        let path = lib.path.as_ref()?;
        FoundObject::find(path.as_bytes(), &build_id, search)
    };
    let found = libs.iter().enumerate();
    found
        .filter_map(|(number, lib)| Some((number, find(lib)?)))
        .collect()
}

/// Returns the possible paths of the sidecar file: the one that samply uses, and the ones after packing the profile by hand.
pub(super) fn sidecars(profile: &str) -> Vec<PathBuf> {
    let path = Path::new(profile);
    let unpacked = match path
        .extension()
        .is_some_and(|end| end == "gz" || end == "zst")
    {
        true => path.with_extension(""),
        false => path.to_owned(),
    };
    let mut named = path.as_os_str().to_owned();
    named.push(".syms.json");
    let mut candidates = vec![
        path.with_extension("syms.json"),
        unpacked.with_extension("syms.json"),
        PathBuf::from(named),
    ];
    candidates.dedup();
    candidates
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Sidecar<'a> {
    string_table: Vec<JsonText<'a>>,
    data: Vec<ObjectSymbols<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ObjectSymbols<'a> {
    debug_name: JsonText<'a>,
    debug_id: JsonText<'a>,
    code_id: Option<JsonText<'a>>,
    symbol_table: Vec<SidecarSymbol>,
    /// Pairs of an address and a position in the symbol table.
    known_addresses: Vec<(u64, usize)>,
}

#[derive(Deserialize)]
struct SidecarSymbol {
    symbol: usize,
    /// The inlined functions, innermost first.
    #[serde(default)]
    frames: Option<Vec<SidecarFrame>>,
}

#[derive(Deserialize)]
struct SidecarFrame {
    function: Option<usize>,
    file: Option<usize>,
    line: Option<u64>,
}

impl ObjectSymbols<'_> {
    /// Returns true if this is the object `lib` of the profile. Compares build ids in either form, or names if neither has
    /// one.
    fn matches(&self, lib: &Library) -> bool {
        let given = |text: &Option<JsonText>| {
            let id = text.as_ref().map(|text| build_id(text.as_bytes()));
            id.filter(|id| !id.is_empty())
        };
        let own_debug_id = build_id(self.debug_id.as_bytes());
        match (given(&lib.code_id), given(&self.code_id)) {
            (Some(lib), Some(own)) if lib == own => return true,
            _ => {}
        }
        match given(&lib.breakpad_id) {
            Some(id) if !is_nil(&id) || !is_nil(&own_debug_id) => {
                let digits = |id: &[u8]| id[..id.len().min(32)].to_vec();
                digits(&id) == digits(&own_debug_id)
            }
            _ => [&lib.debug_name, &lib.name]
                .into_iter()
                .flatten()
                .any(|name| *name == self.debug_name),
        }
    }

    fn add_to(
        &self,
        symbols: &mut SidecarSymbols,
        lib: usize,
        strings: &[JsonText],
    ) -> Result<(), Error> {
        let mut addresses_of: BTreeMap<usize, u32> = BTreeMap::new();
        for (_, symbol) in &self.known_addresses {
            *addresses_of.entry(*symbol).or_default() += 1;
        }
        let text = |position: usize| {
            get_checked(strings, position, "strings").map(|text| text.as_bytes().to_vec())
        };
        for (address, position) in &self.known_addresses {
            let symbol = get_checked(&self.symbol_table, *position, "symbols")?;
            let inlined = symbol.frames.as_deref().unwrap_or_default();
            let mut found = Vec::new();
            if addresses_of.get(position) == Some(&1) {
                for frame in inlined {
                    found.push(AddressSymbol {
                        name: match frame.function {
                            Some(function) => text(function)?,
                            None => text(symbol.symbol)?,
                        },
                        file: frame.file.map_or_else(|| Ok(Vec::new()), text)?,
                        line: frame.line.filter(|line| *line > 0),
                    });
                }
            }
            if found.is_empty() {
                found.push(AddressSymbol {
                    name: text(symbol.symbol)?,
                    ..AddressSymbol::default()
                });
            }
            symbols.by_address.insert((lib, *address), found);
        }
        Ok(())
    }
}

/// Returns the digits of an id, without hyphens and in lower case.
fn build_id(id: &[u8]) -> Vec<u8> {
    let digits = id.iter().filter(|byte| byte.is_ascii_hexdigit());
    digits.map(u8::to_ascii_lowercase).collect()
}

fn is_nil(id: &[u8]) -> bool {
    id.iter().all(|digit| *digit == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDECAR: &str = r#"{"string_table":["UNKNOWN","host","inlined","a.rs","memcpy"],"data":[{"debug_name":"demo","debug_id":"3247e185-ced2-36ff-9e29-47a77c23e004","code_id":"","symbol_table":[{"rva":4096,"size":64,"symbol":1,"frames":[{"function":2,"file":3,"line":7},{"function":1,"file":3,"line":12}]},{"rva":8192,"symbol":4,"frames":[{"function":4,"file":null,"line":null}]}],"known_addresses":[[4100,0],[8200,1],[8210,1]]},{"debug_name":"libc.so.6","debug_id":"00000000-0000-0000-0000-000000000000","code_id":"93ac61ec5a8e","symbol_table":[{"rva":0,"symbol":4}],"known_addresses":[[16,0]]}]}"#;

    fn symbol(name: &str, file: &str, line: Option<u64>) -> AddressSymbol {
        AddressSymbol {
            name: name.as_bytes().to_vec(),
            file: file.as_bytes().to_vec(),
            line,
        }
    }

    fn symbols(libs: &str) -> SidecarSymbols {
        let libs: Vec<Library> = serde_json::from_str(libs).unwrap();
        let mut symbols = SidecarSymbols::default();
        symbols.add(SIDECAR.as_bytes(), &libs).unwrap();
        symbols
    }

    #[test]
    fn objects_are_found_by_their_ids() {
        let demo = r#"{"debugName":"x","breakpadId":"3247E185CED236FF9E2947A77C23E0040"}"#;
        let libc = r#"{"debugName":"y","codeId":"93AC61EC5A8E"}"#;
        let other = r#"{"debugName":"demo","breakpadId":"9247E185CED236FF9E2947A77C23E0040"}"#;
        let symbols = symbols(&format!("[{other},{demo},{libc}]"));
        let inlined = [
            symbol("inlined", "a.rs", Some(7)),
            symbol("host", "a.rs", Some(12)),
        ];
        assert_eq!(symbols.get(1, 4100), Some(&inlined[..]));
        assert_eq!(symbols.get(2, 16), Some(&[symbol("memcpy", "", None)][..]));
        assert_eq!(symbols.get(0, 4100), None);
    }

    #[test]
    fn inlined_functions_are_used_only_for_their_own_address() {
        let symbols = symbols(r#"[{"breakpadId":"3247E185CED236FF9E2947A77C23E0040"}]"#);
        let plain = [symbol("memcpy", "", None)];
        assert_eq!(symbols.get(0, 8200), Some(&plain[..]));
        assert_eq!(symbols.get(0, 8210), Some(&plain[..]));
    }

    #[test]
    fn the_sidecar_file_has_the_name_that_samply_uses() {
        let names = |profile| {
            let paths = sidecars(profile);
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("a/p.json"), ["a/p.syms.json", "a/p.json.syms.json"]);
        assert_eq!(
            names("a/p.json.gz"),
            [
                "a/p.json.syms.json",
                "a/p.syms.json",
                "a/p.json.gz.syms.json"
            ]
        );
    }
}
