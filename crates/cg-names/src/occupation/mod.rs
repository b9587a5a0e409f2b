//! The work of a program at the time of a stack: its own code, the code of a framework that runs it, or a service for its
//! own code, such as locks, memory or copies.
//!
//! A stack is read from its innermost frame outwards. Frames of other code, and frames that lock, allocate or copy, work for
//! their caller. The first remaining frame is the one that the time is spent for. If it belongs to a framework, the stack is
//! overhead of the framework. Otherwise the innermost frame with a known service decides. Without such a frame, the time
//! belongs to the program's own code.

mod tables;

use std::sync::LazyLock;

use crate::code_origin::CodeOrigin;
use crate::paths::base_name;
use crate::pattern::NamePattern;
use crate::structure::ParsedName;
use tables::{ALLOCATION, COPYING, FRAMEWORK_CRATES, FRAMEWORK_OBJECTS, LOCKING};

/// A service of functions for their callers, recognised by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Waiting for locks and conditions, and waking the threads that wait.
    Locking,
    /// Allocating and freeing memory, and dropping values that own memory.
    Allocation,
    /// Copying memory.
    Copying,
}

/// The role of a frame, recognised by its names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The service for its callers.
    pub service: Option<Service>,
    /// Its framework, by the name of the crate or object.
    pub framework: Option<&'static str>,
}

impl Role {
    /// Returns the role of a function with this name in this object.
    pub fn from_name(name: &str, object: &str) -> Role {
        static SERVICES: LazyLock<[(Service, Vec<NamePattern>); 3]> = LazyLock::new(|| {
            [
                (Service::Locking, *LOCKING),
                (Service::Allocation, *ALLOCATION),
                (Service::Copying, *COPYING),
            ]
            .map(|(service, rows)| (service, parse_patterns(rows)))
        });
        let plain = without_version(name);
        let has_version = plain.len() < name.len();
        let matches = |pattern: &NamePattern| {
            pattern.matches(name) || (has_version && pattern.matches(plain))
        };
        let mut services = SERVICES.iter();
        let service = services.find(|(_, patterns)| patterns.iter().any(matches));
        Role {
            service: service.map(|(service, _)| *service),
            framework: framework(name, object),
        }
    }
}

/// The work of a program at the time of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupation {
    /// Its own code.
    Own,
    /// The code of a framework.
    Framework(&'static str),
    /// A service for its own code.
    Service(Service),
    /// Other code.
    Libraries,
}

/// Returns the work of a program in a stack, innermost frame first, and the position of the frame that the time is spent
/// for, if any.
pub fn find_occupation(
    frames: usize,
    at: impl Fn(usize) -> (CodeOrigin, Role),
) -> (Occupation, Option<usize>) {
    let mut service = None;
    for position in 0..frames {
        let (whose, role) = at(position);
        let known = match whose {
            CodeOrigin::Allocator => role.service.or(Some(Service::Allocation)),
            _ => role.service,
        };
        service = service.or(known);
        if !whose.is_program() || known.is_some() {
            // The object of a framework can belong to the system.
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

/// Returns true for code that belongs neither to the program nor to the library of its language. Inlined code of the
/// language's library is hard to distinguish from code of the program.
fn is_of_library(whose: CodeOrigin) -> bool {
    matches!(
        whose,
        CodeOrigin::System | CodeOrigin::Kernel | CodeOrigin::Installed
    )
}

fn framework(name: &str, object: &str) -> Option<&'static str> {
    let known = |list: &'static [&'static str], wanted: &str| {
        list.iter().copied().find(|framework| *framework == wanted)
    };
    let object = base_name(object);
    let library = object.split(['.', '-']).next().unwrap_or(object);
    let by_object = known(&FRAMEWORK_OBJECTS, library);
    by_object.or_else(|| {
        let crate_name = ParsedName::new(name.as_bytes()).crate_name()?;
        known(&FRAMEWORK_CRATES, &crate_name.to_string())
    })
}

/// Removes the library version and the compiler's suffix from a C symbol: `cfree@GLIBC_2.2.5`, `unlink_chunk.isra.0`.
fn without_version(name: &str) -> &str {
    if name.contains("::") {
        return name;
    }
    let end = name.find(['@', '.', '[']).filter(|end| *end > 0);
    name[..end.unwrap_or(name.len())].trim_end()
}

/// Parses the patterns of a list.
fn parse_patterns(rows: &[&'static str]) -> Vec<NamePattern> {
    let parse = |row| NamePattern::parse(row).expect("a test parses every row");
    rows.iter().copied().map(parse).collect()
}

#[cfg(test)]
mod tests;
