//! Names out of the program that was profiled (`--exe`): these formats say where it was mapped, and not which build it was.

use std::collections::{BTreeMap, BTreeSet};

use cg_debug_info::Search;
use cg_names::paths::base_name;
use cg_stream::record::Name;

use super::super::super::symbols::{CountedFrom, FoundObject, OutermostName};
use super::{LegacyProfile, LegacySymbol};

/// Names the addresses of the program that have no name yet, and says where that leaves any without.
///
/// # Errors
/// A message where the program cannot be read.
pub(super) fn name(profile: &mut LegacyProfile, search: &Search) -> Result<(), String> {
    let program = FoundObject::program(search)?;
    let Some((object, addresses)) = unnamed(profile, search) else {
        return Ok(());
    };
    let shown = base_name(&Name::from_bytes(&object)).to_owned();
    let Some(program) = program else {
        profile.warnings.push(format!(
            "{} addresses of {shown} have no names, as the profile has none; cg-parse --exe PROGRAM FILE takes them from the program",
            addresses.len()
        ));
        return Ok(());
    };
    let offsets: BTreeSet<u64> = addresses.values().copied().collect();
    let found = program.functions(
        &offsets,
        CountedFrom::File,
        OutermostName::DebugInfo,
        search,
    );
    let mut left = 0;
    for (address, offset) in &addresses {
        let Some(functions) = found.get(offset) else {
            left += 1;
            continue;
        };
        let functions = functions.iter().map(|function| LegacySymbol {
            name: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
        });
        profile.symbols.insert(*address, functions.collect());
    }
    if left > 0 {
        profile.warnings.push(format!(
            "{left} of {} addresses of {shown} have no names in the program of --exe: it is stripped, or not the build that was profiled",
            addresses.len()
        ));
    }
    Ok(())
}

/// The program as the profile calls it, and those of its addresses that have no name, with their places in its file.
///
/// It is the object that is called like the program of `--exe`, else the first that is mapped and no library: that is the
/// order of Linux' `/proc/PID/maps`.
fn unnamed(profile: &LegacyProfile, search: &Search) -> Option<(Vec<u8>, BTreeMap<u64, u64>)> {
    let is_library = |object: &[u8]| {
        let base = base_name_of(object);
        base.starts_with(b"[") || memchr::memmem::find(base, b".so").is_some()
    };
    let wanted = search.exe.as_deref().and_then(|path| path.file_name());
    let wanted = wanted.map(|name| name.as_encoded_bytes());
    let mut objects = profile.maps.objects();
    let object = objects
        .clone()
        .find(|object| Some(base_name_of(object)) == wanted)
        .or_else(|| objects.find(|object| !is_library(object)))?
        .to_vec();
    let addresses = profile.addresses.iter().filter_map(|address| {
        let (mapped, offset) = profile.maps.find(*address)?;
        let is_wanted = mapped == object && !profile.symbols.contains_key(address);
        is_wanted.then_some((*address, offset))
    });
    let addresses: BTreeMap<u64, u64> = addresses.collect();
    (!addresses.is_empty()).then_some((object, addresses))
}

fn base_name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
