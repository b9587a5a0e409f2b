//! Recursion levels whose function is in another part or file.
//!
//! If a dump is written while a function is active, it can have `f'2` and no `f`, because the first level cost nothing in
//! it. The existence of `f` is known only when all parts are added up.

use cg_collections::maps::Map;
use cg_costs::section::{Section, SectionFunction};
use cg_costs::tables::Added;

use super::decoration::parse_decoration;

/// Adds the remaining deeper levels to their functions, if the section has these functions.
///
/// A part without the first level ran entirely below it, so the whole cost of the deeper level is also a cost of the first
/// level.
pub(crate) fn fold(section: &mut Section) -> Added {
    let strings = &section.strings;
    let without_level = |key: SectionFunction| {
        let name = strings.get(key.name);
        let range = parse_decoration(name)?.without_level?;
        let name = strings.find(&name[range])?;
        Some(SectionFunction { name, ..key })
    };
    let deeper: Vec<_> = section
        .present()
        .filter_map(|(id, key)| Some((id, without_level(key)?)))
        .collect();
    // This is the case in almost every profile.
    if deeper.is_empty() {
        return Ok(());
    }
    let functions: Map<_, _> = section.present().map(|(id, key)| (key, id)).collect();
    let same: Map<_, _> = deeper
        .into_iter()
        .filter_map(|(id, key)| Some((id, *functions.get(&key)?)))
        .collect();
    if same.is_empty() {
        return Ok(());
    }
    section.merge(&same)
}
