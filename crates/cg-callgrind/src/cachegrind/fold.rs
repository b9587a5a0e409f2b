//! From a function under each of its files to one function.
//!
//! Cachegrind charges code to the file that it came from and to the symbol that it is part of: a function that took in
//! code of three headers stands four times. A callgrind profile has it once, under the file of the function itself. Which
//! of the files that is, Cachegrind does not say, so it is told by the names:
//!
//! - A qualified name (`crate::module::f`, `std::vector<int>::push_back`) is that of one function.
//! - Another name may be that of several static functions. The files that are no headers tell them apart; where there is
//!   one of these at most, all is one function, and where there are more, nothing is folded.
//!
//! Of the files in question one is the function's own: rather no header, rather none of a library's, rather the one with
//! the larger cost.
//!
//! Each profile is folded by itself: what one makes of a name depends on nothing that is read beside it, so the sum of
//! several is that of their streams.

use std::cmp::Reverse;

use cg_costs::ids::{FunctionId, StringId, Strings};
use cg_costs::section::{Section, SectionFunction};
use cg_names::whose::{Whose, whose};
use cg_stream::maps::Map;
use cg_stream::record::{Frame, Name};

/// The functions of a profile that are another one of it. Their names are in `strings`.
pub(super) fn same_functions(part: &Section, strings: &Strings) -> Map<FunctionId, FunctionId> {
    let mut by_name: Map<StringId, Vec<(FunctionId, SectionFunction)>> = Map::default();
    for (id, key) in part.present() {
        by_name.entry(key.name).or_default().push((id, key));
    }
    let mut same = Map::default();
    for (name, functions) in by_name {
        let name = strings.get(name);
        // Neither is the name of a function.
        if functions.len() == 1 || matches!(name, b"" | b"???") {
            continue;
        }
        let is_source = |key: &SectionFunction| is_source(strings.get(key.file));
        let sources = functions.iter().filter(|(_, key)| is_source(key)).count();
        if sources > 1 && !is_of_one_function(name) {
            continue;
        }
        let worth = |(id, key): &&(FunctionId, SectionFunction)| {
            let file = strings.get(key.file);
            let place = Frame {
                file: Some(Name::from_bytes(file)),
                ..Frame::default()
            };
            let of_library = matches!(
                whose(&[place])[..],
                [Whose::Runtime | Whose::System | Whose::Installed]
            );
            let cost = part.cost(*id).first().copied();
            (is_source(key), !of_library, cost, Reverse(file))
        };
        if let Some((own, _)) = functions.iter().max_by_key(worth) {
            let others = functions.iter().filter(|(id, _)| id != own);
            same.extend(others.map(|(id, _)| (*id, *own)));
        }
    }
    same
}

/// Whether a name can be that of one function only.
fn is_of_one_function(name: &[u8]) -> bool {
    memchr::memmem::find(name, b"::").is_some()
        && memchr::memmem::find(name, b"(anonymous namespace)").is_none()
}

/// Whether a file is one that functions are compiled from, and no header.
fn is_source(file: &[u8]) -> bool {
    const HEADERS: [&[u8]; 10] = [
        b"h", b"hh", b"hpp", b"hxx", b"h++", b"inc", b"inl", b"ipp", b"tcc", b"def",
    ];
    let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or(file);
    // C++'s own headers have no extension, and an unknown file is called ???.
    match memchr::memrchr(b'.', name) {
        Some(dot) => !HEADERS.contains(&name[dot + 1..].to_ascii_lowercase().as_slice()),
        None => false,
    }
}
