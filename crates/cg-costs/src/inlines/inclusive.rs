//! The inclusive cost of inlined functions.

use super::chain::{ChainKey, ChainRows, Inlined};
use super::objects::TracedObjects;
use crate::section::Section;
use crate::tables::{Added, CostRows};

/// The costs of chains in recursive functions that need special treatment.
pub(super) struct Recursion {
    /// The self cost of deeper levels, and the cost of their calls that leave the recursion.
    pub(super) deeper: ChainRows,
    /// The cost of calls from the first level back into the recursion.
    pub(super) back: ChainRows,
}

impl Recursion {
    pub(super) fn new(events: usize) -> Recursion {
        Recursion {
            deeper: CostRows::for_arcs(events),
            back: CostRows::for_arcs(events),
        }
    }
}

/// Adds the inclusive cost of each chain to the chains of the functions that it is inlined into, except the host, which
/// already has its inclusive cost.
///
/// Inclusive cost counts code that is entered while it is not active. If a chain makes no recursive call, its inclusive cost
/// is its self cost plus outgoing calls at all levels. If a chain makes all recursive calls, its inclusive cost is its first
/// level plus these calls, which contain the deeper levels. Neither figure ever exceeds the inclusive cost, so the larger
/// figure is exact in both cases. If only some of the recursive calls come from the chain, the larger figure is a lower
/// bound.
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

/// Adds the cost of each chain to the chains of the functions that it is inlined into, except the host.
fn add_to_callers(rows: &mut ChainRows, objects: &mut TracedObjects, section: &Section) -> Added {
    // Copy all costs first, because cost from another chain must not be passed on again.
    let costs: Vec<(ChainKey, Vec<u64>)> = (rows.all())
        .map(|(row, key)| (key, rows.inclusive(row).to_vec()))
        .collect();
    for (key, cost) in costs {
        let place = objects.place(key.host, section);
        // If an object is known only by its lines, the cost of its chains is incomplete.
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
