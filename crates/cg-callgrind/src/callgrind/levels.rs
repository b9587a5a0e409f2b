//! Recursion levels whose function is in another part or file.
//!
//! A dump that was written while a function is active can have `f'2` and no `f`: the first level cost nothing in it.
//! Only once all parts are added up is it known that there is an `f`.

use cg_costs::section::{Section, SectionFunction};
use cg_costs::tables::Added;
use cg_stream::maps::Map;

use super::decoration::decoration_of;

/// Adds what is left of deeper levels to their functions, where the section has these.
///
/// A part without the first level was spent below it, so all that the deeper level cost is its cost too.
pub(crate) fn fold(section: &mut Section) -> Added {
    let strings = &section.strings;
    let without_level = |key: SectionFunction| {
        let name = strings.get(key.name);
        let range = decoration_of(name)?.without_level?;
        let name = strings.find(&name[range])?;
        Some(SectionFunction { name, ..key })
    };
    let deeper: Vec<_> = section
        .present()
        .filter_map(|(id, key)| Some((id, without_level(key)?)))
        .collect();
    // So it is in almost every profile.
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
