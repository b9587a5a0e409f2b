//! Names from the profiled program. These formats never contain its build id.

use std::collections::{BTreeMap, BTreeSet};

use cg_debug_info::Search;

use super::super::super::symbols::{CountedFrom, FoundObject, OutermostName};
use super::super::program::{left_unnamed, program_among};
use super::{LegacyProfile, LegacySymbol};

/// Names the program's unnamed addresses. Adds a warning if some stay unnamed.
///
/// # Errors
/// Returns a message if the program cannot be read.
pub(super) fn name(profile: &mut LegacyProfile, search: &Search) -> Result<(), String> {
    let program = FoundObject::program(search)?;
    let Some((object, addresses)) = unnamed(profile, search) else {
        return Ok(());
    };
    let mut left = addresses.len();
    if let Some(program) = program {
        left -= add_names(profile, &program, &addresses, search);
    }
    let warning = left_unnamed(&object, left, addresses.len(), search);
    profile.warnings.extend(warning);
    Ok(())
}

/// Names addresses by their offsets in the program's file. Returns the number of addresses that got a name.
fn add_names(
    profile: &mut LegacyProfile,
    program: &FoundObject,
    addresses: &BTreeMap<u64, u64>,
    search: &Search,
) -> usize {
    let offsets: BTreeSet<u64> = addresses.values().copied().collect();
    let found = program.functions(
        &offsets,
        CountedFrom::File,
        OutermostName::DebugInfo,
        search,
    );
    let mut named = 0;
    for (address, offset) in addresses {
        let Some(functions) = found.get(offset) else {
            continue;
        };
        named += 1;
        let functions = functions.iter().map(|function| LegacySymbol {
            name: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
        });
        profile.symbols.insert(*address, functions.collect());
    }
    named
}

/// Returns the program's name in the profile, and its unnamed addresses with their file offsets; `None` if there are no such
/// addresses.
fn unnamed(profile: &LegacyProfile, search: &Search) -> Option<(Vec<u8>, BTreeMap<u64, u64>)> {
    let object = program_among(profile.maps.objects(), search)?.to_vec();
    let addresses = profile.addresses.iter().filter_map(|address| {
        let (mapped, offset) = profile.maps.find(*address)?;
        let is_wanted = mapped == object && !profile.symbols.contains_key(address);
        is_wanted.then_some((*address, offset))
    });
    let addresses: BTreeMap<u64, u64> = addresses.collect();
    (!addresses.is_empty()).then_some((object, addresses))
}
