//! Merges the records of a function under several files into one function.
//!
//! Cachegrind charges code to its source file and to the symbol that contains it. A function that contains code from three
//! headers therefore has four entries. A Callgrind profile has one entry, under the file of the function itself. Cachegrind
//! does not record which of the files that is, so this module uses the names:
//!
//! - A qualified name (`crate::module::f`, `std::vector<int>::push_back`) belongs to one function.
//! - Another name may belong to several static functions, in different files. With at most one file that is not a header,
//!   all entries are one function. With more such files, no entries are merged.
//!
//! The function's own file is then chosen in this order: not a header, not a library's file, the largest cost.
//!
//! Each profile is folded separately, so the functions of one profile never depend on another profile. The sum of several
//! profiles therefore equals the sum of their streams.

use std::cmp::Reverse;

use cg_collections::maps::Map;
use cg_costs::ids::{FunctionId, StringId, Strings};
use cg_costs::section::{Section, SectionFunction};
use cg_names::code_origin::{CodeOrigin, classify_stack};
use cg_stream::record::{Frame, Name};

/// Maps functions of a profile to the function that they are a part of. The names are in `strings`.
pub(super) fn same_functions(part: &Section, strings: &Strings) -> Map<FunctionId, FunctionId> {
    let mut by_name: Map<StringId, Vec<(FunctionId, SectionFunction)>> = Map::default();
    for (id, key) in part.present() {
        by_name.entry(key.name).or_default().push((id, key));
    }
    let mut same = Map::default();
    for (name, functions) in by_name {
        let name = strings.get(name);
        // These are not names of functions.
        if functions.len() == 1 || matches!(name, b"" | b"???") {
            continue;
        }
        let is_source = |key: &SectionFunction| is_source(strings.get(key.file));
        let sources = functions.iter().filter(|(_, key)| is_source(key)).count();
        if sources > 1 && !is_unique_name(name) {
            continue;
        }
        let worth = |(id, key): &&(FunctionId, SectionFunction)| {
            let file = strings.get(key.file);
            let place = Frame {
                file: Some(Name::from_bytes(file)),
                ..Frame::default()
            };
            let is_library = matches!(
                classify_stack(&[place])[..],
                [CodeOrigin::Runtime | CodeOrigin::System | CodeOrigin::Installed]
            );
            let cost = part.cost(*id).first().copied();
            (is_source(key), !is_library, cost, Reverse(file))
        };
        if let Some((own, _)) = functions.iter().max_by_key(worth) {
            let others = functions.iter().filter(|(id, _)| id != own);
            same.extend(others.map(|(id, _)| (*id, *own)));
        }
    }
    same
}

/// Returns true if a name can belong to only one function.
fn is_unique_name(name: &[u8]) -> bool {
    memchr::memmem::find(name, b"::").is_some()
        && memchr::memmem::find(name, b"(anonymous namespace)").is_none()
}

/// Returns true if a file is a source file and not a header.
fn is_source(file: &[u8]) -> bool {
    const HEADERS: [&[u8]; 10] = [
        b"h", b"hh", b"hpp", b"hxx", b"h++", b"inc", b"inl", b"ipp", b"tcc", b"def",
    ];
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    // The C++ standard headers have no extension, and an unknown file is called ???.
    match memchr::memrchr(b'.', name) {
        Some(dot) => !HEADERS.contains(&name[dot + 1..].to_ascii_lowercase().as_slice()),
        None => false,
    }
}
