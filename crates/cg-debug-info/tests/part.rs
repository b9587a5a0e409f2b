//! Chains from the beginning of the debug information are the chains from all of it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use cg_debug_info::{Chains, DebugInfo, ObjectFile, Search};
use needs::needs;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// The number of source files, which are units of the debug information.
const UNITS: u64 = 12;

/// Builds a program of several units. Each has a function with an inlined function.
fn build(folder: &Path, options: &[&str]) {
    let mut sources = Vec::new();
    for unit in 0..UNITS {
        let name = format!("u{unit}.c");
        let main = match unit {
            0 => "int main(void) { f0(1); return 0; }",
            _ => "",
        };
        let text = format!(
            "volatile long sum{unit};\nstatic inline __attribute__((always_inline)) void in{unit}(long by) {{\n    sum{unit} += by;\n}}\n\
             __attribute__((noinline)) void f{unit}(long by) {{\n    in{unit}(by);\n    sum{unit} ^= by;\n}}\n{main}\n"
        );
        std::fs::write(folder.join(&name), text).unwrap();
        sources.push(name);
    }
    let status = needs::command("gcc")
        .args(["-O1", "-g", "-o", "program"])
        .args(options)
        .args(&sources)
        .current_dir(folder)
        .status();
    assert!(status.unwrap().success());
}

/// Returns the addresses of the code of a function.
fn addresses(program: &[u8], name: &str) -> Vec<u64> {
    let file = object::File::parse(program).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
    let symbol = symbol.unwrap();
    (symbol.address()..symbol.address() + symbol.size()).collect()
}

/// Returns the functions, their places of call and the line at each address.
fn described(chains: &Chains, addresses: &[u64]) -> Vec<String> {
    assert_eq!(chains.errors, Default::default());
    let file = |file: Option<_>| {
        let path = file.map_or(&b""[..], |file| chains.file(file));
        String::from_utf8_lossy(path).into_owned()
    };
    let describe = |row: usize| {
        let mut text = String::new();
        for node in chains.innermost[row]
            .into_iter()
            .flat_map(|node| chains.chain(node))
        {
            let name = String::from_utf8_lossy(&chains.function(node.function).name);
            let call = node
                .inlined_into
                .map(|(_, call)| (file(call.file), call.line));
            text += &format!("{name} {call:?} ");
        }
        let line = chains.lines[row].map(|line| chains.table_line(line));
        text + &format!("{:?}", line.map(|line| (file(line.file), line.line)))
    };
    (0..addresses.len()).map(describe).collect()
}

#[test]
fn the_beginning_of_the_debug_information_gives_the_same_chains() {
    needs!("gcc");
    for options in [&["-gz=none"][..], &["-gz=zlib"], &["-gdwarf-4"], &["-flto"]] {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path(), options);
        let path = folder.path().join("program");
        let program = std::fs::read(&path).unwrap();
        let search = Search::default();
        let object = ObjectFile::open(&path, &search.limits).unwrap();
        let all = DebugInfo::find(&object, &search).unwrap();
        let mut asked: Vec<Vec<u64>> = (0..UNITS)
            .map(|unit| addresses(&program, &format!("f{unit}")))
            .collect();
        asked.push(asked.concat());
        asked.push(vec![asked[1][0], asked[3][0]]);
        asked.push(Vec::new());
        for mut addresses in asked {
            addresses.sort_unstable();
            let expected = described(&all.chains(&addresses), &addresses);
            let (chains, _) = DebugInfo::find_chains(&object, &search, &addresses).unwrap();
            assert_eq!(described(&chains, &addresses), expected, "{options:?}");
        }
    }
}

#[test]
fn the_rest_of_the_debug_information_is_not_read() {
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &["-gz=none"]);
    let path = folder.path().join("program");
    let mut program = std::fs::read(&path).unwrap();
    let addresses = addresses(&program, "f1");
    let search = Search::default();
    let object = ObjectFile::open(&path, &search.limits).unwrap();
    let all = DebugInfo::find(&object, &search).unwrap();
    let expected = described(&all.chains(&addresses), &addresses);
    assert!(
        expected.iter().any(|chain| chain.starts_with("in1 ")),
        "{expected:?}"
    );
    // Overwrite the second half of the abbreviations, which the last units need.
    let file = object::File::parse(&program[..]).unwrap();
    let (start, size) = file
        .section_by_name(".debug_abbrev")
        .and_then(|section| section.file_range())
        .unwrap();
    let (start, size) = (start as usize, size as usize);
    program[start + size / 2..start + size].fill(0xff);
    std::fs::write(&path, &program).unwrap();
    let object = ObjectFile::open(&path, &search.limits).unwrap();
    let (chains, _) = DebugInfo::find_chains(&object, &search, &addresses).unwrap();
    assert_eq!(described(&chains, &addresses), expected);
    let all = DebugInfo::find(&object, &search).unwrap();
    assert!(all.chains(&addresses).errors.damaged_units > 0);
}
