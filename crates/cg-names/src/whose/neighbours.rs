//! Classifies a frame by the frames around it, if it does not say enough by itself.

use super::Whose;
use super::facts::{Alone, Facts};

/// How many outer frames are examined. Inlining nests less deep, and stacks of millions of frames must not cost more.
const FARTHEST: usize = 64;

/// Whose the frame at a position is; `at` has the facts of a stack by position, innermost first.
pub fn whose_at(position: usize, at: impl Fn(usize) -> Option<Facts> + Copy) -> Whose {
    let Some(facts) = at(position) else {
        return Whose::Own;
    };
    match facts.alone {
        Alone::Certain(whose) => whose,
        Alone::BareRust { is_closure } => bare_rust(position, facts, is_closure, at),
        Alone::DependencyOfStd => dependency(position, at),
        Alone::PerhapsGlibc { file } => {
            let same_file = |facts: Facts| facts.alone == Alone::PerhapsGlibc { file };
            let outer = (position + 1..=position + FARTHEST)
                .map_while(at)
                .find(|facts| !same_file(*facts));
            let is_system = |facts: Facts| facts.alone == Alone::Certain(Whose::System);
            if outer.is_some_and(is_system) {
                Whose::System
            } else {
                Whose::Own
            }
        }
        Alone::Main => {
            let inner = position.checked_sub(1).and_then(at);
            if inner.is_some_and(|inner| inner.is_lang_start) {
                Whose::Runtime
            } else {
                Whose::Own
            }
        }
    }
}

/// An inlined function in a file without a directory. The precompiled library of Rust names its files like that, and so
/// does the program; code of the library that is compiled with the program has `library/` in front.
fn bare_rust(
    position: usize,
    facts: Facts,
    is_closure: bool,
    at: impl Fn(usize) -> Option<Facts> + Copy,
) -> Whose {
    let outwards = || (position + 1..=position + FARTHEST).map_while(at);
    let inlined = if facts.address != 0 {
        outwards()
            .take_while(|outer| outer.address == facts.address)
            .count()
    } else {
        // Without addresses: inlinees have bare names, and the first outer frame with a path is their inliner.
        match outwards().position(|outer| !outer.is_bare) {
            Some(bare) => bare + 1,
            None => 0,
        }
    };
    let host_position = position + inlined;
    let Some(host) = at(host_position).filter(|_| inlined > 0) else {
        return Whose::Own;
    };
    let is_host_compiled = host.is_file_bare
        && match host.alone {
            Alone::Certain(whose) => whose == Whose::Runtime,
            Alone::DependencyOfStd => dependency(host_position, at) == Whose::Runtime,
            _ => false,
        };
    if is_host_compiled {
        return Whose::Runtime;
    }
    // The library's hash tables are in another crate, whose files have no directory: only their callers tell. A closure
    // can be the program's.
    let is_in_tables = |facts: &Facts| match facts.alone {
        Alone::BareRust { is_closure } => !is_closure,
        Alone::Certain(whose) => whose == Whose::Runtime && facts.is_file_bare && facts.is_bare,
        _ => false,
    };
    let caller = (position + 1..=host_position)
        .map_while(at)
        .find(|facts| !is_in_tables(facts));
    if !is_closure && caller.is_some_and(|caller| caller.is_hash_collection) {
        Whose::Runtime
    } else {
        Whose::Own
    }
}

/// A function of a crate that Rust's library uses too: it is the library's unless the program's own code calls it.
fn dependency(position: usize, at: impl Fn(usize) -> Option<Facts> + Copy) -> Whose {
    let caller = (position + 1..=position + FARTHEST)
        .map_while(at)
        .find(|facts| !matches!(facts.alone, Alone::DependencyOfStd | Alone::BareRust { .. }));
    match caller.map(|facts| facts.alone) {
        Some(Alone::Certain(Whose::Own)) => Whose::Own,
        // What a dependency calls of the crates that Rust's library uses too is a dependency.
        Some(Alone::Certain(Whose::Dependency)) => Whose::Dependency,
        _ => Whose::Runtime,
    }
}
