//! The inclusive cost of inlined functions.

use super::chain::{ChainKey, ChainRows, Inlined};
use super::objects::TracedObjects;
use crate::section::Section;
use crate::tables::{Added, CostRows};

/// What chains of recursive functions have besides the first level, and what of the first level is the recursion.
pub(super) struct Recursion {
    /// Self cost of deeper levels, and the cost of calls that leave the recursion from there.
    pub(super) deeper: ChainRows,
    /// Calls from the first level back into the recursion.
    pub(super) back: ChainRows,
}

impl Recursion {
    pub(super) fn new(events: usize) -> Recursion {
        Recursion {
            deeper: CostRows::of_arcs(events),
            back: CostRows::of_arcs(events),
        }
    }
}

/// Adds the inclusive cost of each chain to those that its functions are inlined into, up to the host's own, which
/// has that of the host.
///
/// Inclusive cost counts code that is entered while it is not yet active. If no recursive call leaves from a chain, its
/// inclusive cost is its self cost and outgoing calls at all levels. If all recursive calls leave from it, it is the
/// first level with these calls, which contain the deeper ones. Neither figure is ever more than the inclusive cost, so
/// the larger one is exact in both cases; where some recursive calls leave from elsewhere, it is the most that is
/// known.
pub(super) fn add_inclusive_of_callers(
    chains: &mut ChainRows,
    recursion: Recursion,
    objects: &mut TracedObjects,
    section: &Section,
) -> Added {
    let signedness = section.signedness();
    let Recursion {
        mut deeper,
        mut back,
    } = recursion;
    for rows in [&mut *chains, &mut deeper, &mut back] {
        add_to_callers(rows, objects, section)?;
    }
    for (row, key) in deeper.all() {
        let mut more = deeper.inclusive(row).to_vec();
        let less = back.row(key)?;
        for (more, less) in more.iter_mut().zip(back.inclusive(less)) {
            *more = more.wrapping_sub(*less);
            if more.cast_signed() < 0 {
                *more = 0;
            }
        }
        let row = chains.row(key)?;
        chains.add_inclusive(row, &more, signedness)?;
    }
    for (host, _) in section.present() {
        chains.row(ChainKey {
            host,
            inlined: None,
        })?;
    }
    Ok(())
}

/// Adds what each chain has to those that its functions are inlined into, but for the host.
fn add_to_callers(rows: &mut ChainRows, objects: &mut TracedObjects, section: &Section) -> Added {
    // Copied before anything is added: cost that a chain gets from another one must not be passed on again.
    let costs: Vec<(ChainKey, Vec<u64>)> = (rows.all())
        .map(|(row, key)| (key, rows.inclusive(row).to_vec()))
        .collect();
    for (key, cost) in costs {
        let place = objects.place(key.host, section);
        // An object known by its lines alone does not tell all of what is in a chain.
        let Some(chains) = &objects.objects[place].chains else {
            continue;
        };
        let Some(Inlined::Chain(innermost)) = key.inlined else {
            continue;
        };
        let mut node = chains.node(innermost);
        while let Some((caller, _)) = node.inlined_into {
            node = chains.node(caller);
            if node.inlined_into.is_some() {
                let row = rows.row(ChainKey {
                    host: key.host,
                    inlined: Some(Inlined::Chain(caller)),
                })?;
                rows.add_inclusive(row, &cost, section.signedness())?;
            }
        }
    }
    Ok(())
}
