//! What a program was occupied with when a stack was taken: its own code, the machinery of a framework that runs it, or
//! what its own code asked of others: locks, memory, copies.
//!
//! A stack is read from its innermost frame outwards. Frames that are not the program's own, and those that are known to
//! lock, allocate or copy, belong to whoever called them; the first that remains is the one that the time is spent for. Where
//! it is a framework's, the stack is its overhead. Else the innermost frame that is known to do something special says
//! what is done, and where there is none the time is the program's own.

mod tables;

use std::sync::LazyLock;

use regex::Regex;

use crate::paths::base_name;
use crate::structure::ParsedName;
use crate::whose::Whose;
use tables::{ALLOCATION, COPYING, FRAMEWORK_CRATES, FRAMEWORK_OBJECTS, LOCKING};

/// What functions do for their callers, known by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// They wait for locks and conditions, or wake who does.
    Locking,
    /// They allocate and free memory, or drop what holds it.
    Allocation,
    /// They copy memory.
    Copying,
}

/// What a frame's names say of what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// What it does for its callers.
    pub service: Option<Service>,
    /// The framework it is of, by the name of its crate or object.
    pub framework: Option<&'static str>,
}

impl Role {
    /// The role of a function with this name, in this object.
    pub fn of(name: &str, object: &str) -> Role {
        static SERVICES: LazyLock<[(Service, Regex); 3]> = LazyLock::new(|| {
            [
                (Service::Locking, &*LOCKING),
                (Service::Allocation, &*ALLOCATION),
                (Service::Copying, &*COPYING),
            ]
            .map(|(service, patterns)| (service, any_of(patterns)))
        });
        let plain = without_version(name);
        let is_one_of = |names: &Regex| names.is_match(name) || names.is_match(plain);
        let service = SERVICES.iter().find(|(_, names)| is_one_of(names));
        Role {
            service: service.map(|(service, _)| *service),
            framework: framework(name, object),
        }
    }
}

/// What a program was occupied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupation {
    /// Its own code.
    Own,
    /// The machinery of a framework.
    Framework(&'static str),
    /// What its own code asked of functions that are known for it.
    Service(Service),
    /// Other code that is not its own.
    Libraries,
}

/// What a program was occupied with, by the frames of a stack, innermost first, and the position of the frame that it is
/// spent for, where there is one.
pub fn occupation(
    frames: usize,
    at: impl Fn(usize) -> (Whose, Role),
) -> (Occupation, Option<usize>) {
    let mut service = None;
    for position in 0..frames {
        let (whose, role) = at(position);
        let known = match whose {
            Whose::Allocator => role.service.or(Some(Service::Allocation)),
            _ => role.service,
        };
        service = service.or(known);
        if !whose.is_of_program() || known.is_some() {
            // A framework's object can be one that the system brings.
            if let Some(framework) = role.framework.filter(|_| known.is_none()) {
                return (Occupation::Framework(framework), Some(position));
            }
            continue;
        }
        let occupation = match (role.framework, service) {
            (Some(framework), _) => Occupation::Framework(framework),
            (None, Some(service)) => Occupation::Service(service),
            (None, None) if position > 0 && is_of_library(at(0).0) => Occupation::Libraries,
            (None, None) => Occupation::Own,
        };
        return (occupation, Some(position));
    }
    (
        service.map_or(Occupation::Libraries, Occupation::Service),
        None,
    )
}

/// True for code that is neither the program's nor that of its language: what is inlined of a language's own library is
/// hard to tell from the program.
fn is_of_library(whose: Whose) -> bool {
    matches!(whose, Whose::System | Whose::Kernel | Whose::Installed)
}

fn framework(name: &str, object: &str) -> Option<&'static str> {
    let known = |list: &'static [&'static str], wanted: &str| {
        list.iter().copied().find(|framework| *framework == wanted)
    };
    let object = base_name(object);
    let library = object.split(['.', '-']).next().unwrap_or(object);
    let of_object = known(&FRAMEWORK_OBJECTS, library);
    of_object.or_else(|| {
        let of_crate = ParsedName::new(name.as_bytes()).crate_name()?;
        known(&FRAMEWORK_CRATES, &of_crate.to_string())
    })
}

/// C's symbols without the version of their library and what a compiler put behind them: `cfree@GLIBC_2.2.5`,
/// `unlink_chunk.isra.0`.
fn without_version(name: &str) -> &str {
    if name.contains("::") {
        return name;
    }
    let end = name.find(['@', '.', '[']).filter(|end| *end > 0);
    name[..end.unwrap_or(name.len())].trim_end()
}

/// A pattern for names that one of these is the whole of.
fn any_of(patterns: &[&str]) -> Regex {
    let any = patterns.join("|");
    Regex::new(&format!("^(?:{any})$"))
        .expect("the patterns are constants, and a test compiles them")
}

#[cfg(test)]
mod tests;
