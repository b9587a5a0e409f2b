//! Classification of a frame by the frames around it, if its own facts do not suffice.

use super::CodeOrigin;
use super::facts::{Facts, OriginEvidence};

/// The maximum number of outer frames to examine. Inlining is less deep, and the limit bounds the time for stacks of
/// millions of frames.
const FARTHEST: usize = 64;

/// Returns the origin of the frame at a position. `at` returns the facts of a stack by position, innermost first.
pub fn classify_frame(position: usize, at: impl Fn(usize) -> Option<Facts> + Copy) -> CodeOrigin {
    let Some(facts) = at(position) else {
        return CodeOrigin::Own;
    };
    match facts.evidence {
        OriginEvidence::Certain(whose) => whose,
        OriginEvidence::BareRust { is_closure } => bare_rust(position, facts, is_closure, at),
        OriginEvidence::DependencyOfStd => dependency(position, at),
        OriginEvidence::PerhapsGlibc { file } => {
            let same_file = |facts: Facts| facts.evidence == OriginEvidence::PerhapsGlibc { file };
            let outer = (position + 1..=position + FARTHEST)
                .map_while(at)
                .find(|facts| !same_file(*facts));
            let is_system = |outer: Facts| match outer.evidence {
                OriginEvidence::Certain(CodeOrigin::System) => true,
                // Code that is inlined into a library's function is in that library.
                OriginEvidence::Certain(CodeOrigin::Runtime) => {
                    facts.address != 0 && outer.address == facts.address
                }
                _ => false,
            };
            if outer.is_some_and(is_system) {
                CodeOrigin::System
            } else {
                CodeOrigin::Own
            }
        }
        OriginEvidence::Main => {
            let inner = position.checked_sub(1).and_then(at);
            if inner.is_some_and(|inner| inner.is_lang_start) {
                CodeOrigin::Runtime
            } else {
                CodeOrigin::Own
            }
        }
    }
}

/// Returns the origin of an inlined function in a file without a directory. Both the program and the precompiled library of
/// Rust have such files. The path of library code that is compiled with the program begins with `library/`.
fn bare_rust(
    position: usize,
    facts: Facts,
    is_closure: bool,
    at: impl Fn(usize) -> Option<Facts> + Copy,
) -> CodeOrigin {
    let outwards = || (position + 1..=position + FARTHEST).map_while(at);
    let inlined = if facts.address != 0 {
        outwards()
            .take_while(|outer| outer.address == facts.address)
            .count()
    } else {
        // Without addresses, frames with bare names are inlinees, and the first outer frame with a path is their inliner.
        match outwards().position(|outer| !outer.is_bare) {
            Some(bare) => bare + 1,
            None => 0,
        }
    };
    let host_position = position + inlined;
    let Some(host) = at(host_position).filter(|_| inlined > 0) else {
        return CodeOrigin::Own;
    };
    let is_host_compiled = host.is_file_bare
        && match host.evidence {
            OriginEvidence::Certain(whose) => whose == CodeOrigin::Runtime,
            OriginEvidence::DependencyOfStd => dependency(host_position, at) == CodeOrigin::Runtime,
            _ => false,
        };
    if is_host_compiled {
        return CodeOrigin::Runtime;
    }
    // The library's hash tables are in another crate, whose files have no directory, so only their callers show the origin.
    // A closure can belong to the program.
    let is_in_tables = |facts: &Facts| match facts.evidence {
        OriginEvidence::BareRust { is_closure } => !is_closure,
        OriginEvidence::Certain(whose) => {
            whose == CodeOrigin::Runtime && facts.is_file_bare && facts.is_bare
        }
        _ => false,
    };
    let caller = (position + 1..=host_position)
        .map_while(at)
        .find(|facts| !is_in_tables(facts));
    if !is_closure && caller.is_some_and(|caller| caller.is_hash_collection) {
        CodeOrigin::Runtime
    } else {
        CodeOrigin::Own
    }
}

/// Returns the origin of a function of a crate that Rust's library also uses. It belongs to the library unless the program
/// or another dependency calls it.
fn dependency(position: usize, at: impl Fn(usize) -> Option<Facts> + Copy) -> CodeOrigin {
    let caller = (position + 1..=position + FARTHEST)
        .map_while(at)
        .find(|facts| {
            !matches!(
                facts.evidence,
                OriginEvidence::DependencyOfStd | OriginEvidence::BareRust { .. }
            )
        });
    match caller.map(|facts| facts.evidence) {
        Some(OriginEvidence::Certain(CodeOrigin::Own)) => CodeOrigin::Own,
        // A crate that a dependency calls is a dependency, too.
        Some(OriginEvidence::Certain(CodeOrigin::Dependency)) => CodeOrigin::Dependency,
        _ => CodeOrigin::Runtime,
    }
}
