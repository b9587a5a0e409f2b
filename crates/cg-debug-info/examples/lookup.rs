//! Looks up addresses from stdin, one hexadecimal address per line, and prints the number of frames, including inlined
//! frames. Uses this crate's walk or the crate `addr2line`. For `scripts/bench lookup`.
//!
//! ```sh
//! nm --defined-only PROGRAM | cut -d ' ' -f 1 | lookup walk PROGRAM
//! nm --defined-only PROGRAM | cut -d ' ' -f 1 | lookup addr2line PROGRAM
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed measurement ends the program"
)]

use std::collections::HashMap;
use std::path::Path;

use cg_debug_info::{DebugInfo, ObjectFile, Search};
use cg_names::demangle::demangle;
use object::{Object as _, ObjectSection as _};

fn main() {
    let mut args = std::env::args().skip(1);
    let (how, path) = (args.next().unwrap(), args.next().unwrap());
    let lines = std::io::stdin().lines().map(Result::unwrap);
    let mut addresses: Vec<u64> = lines
        .map(|line| u64::from_str_radix(&line, 16).unwrap())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let frames = match how.as_str() {
        "walk" => by_walk(Path::new(&path), &addresses),
        _ => by_addr2line(Path::new(&path), &addresses),
    };
    println!("{} addresses, {frames} frames", addresses.len());
}

fn by_walk(path: &Path, addresses: &[u64]) -> usize {
    let search = Search::default();
    let object = ObjectFile::open(path, &search.limits).unwrap();
    let info = DebugInfo::find(&object, &search).unwrap();
    let chains = info.chains(addresses);
    let innermost = chains.innermost.iter().flatten();
    innermost.map(|node| chains.chain(*node).count()).sum()
}

/// Looks up one address at a time. Demangles each name once, like the walk.
fn by_addr2line(path: &Path, addresses: &[u64]) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let load = |id: gimli::SectionId| {
        let section = file.section_by_name(id.name());
        let data = section.map_or(&[][..], |section| section.data().unwrap());
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(data, gimli::LittleEndian))
    };
    let context = addr2line::Context::from_dwarf(gimli::Dwarf::load(load).unwrap()).unwrap();
    let mut names: HashMap<Vec<u8>, String> = HashMap::new();
    let mut count = 0;
    for address in addresses {
        let mut frames = context.find_frames(*address).skip_all_loads().unwrap();
        while let Some(frame) = frames.next().unwrap() {
            let Some(function) = frame.function else {
                continue;
            };
            let mangled = function.name.slice();
            if !names.contains_key(mangled) {
                let name = String::from_utf8_lossy(&demangle(mangled)).into_owned();
                names.insert(mangled.to_vec(), name);
            }
            count += 1;
        }
    }
    count
}
