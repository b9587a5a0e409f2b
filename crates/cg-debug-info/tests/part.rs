//! Chains from the units that contain the addresses are the chains from all of the debug information.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use cg_debug_info::{Chains, DebugInfo, ObjectFile, Search};
use needs::needs;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

/// The number of source files, which are units of the debug information.
const UNITS: u64 = 12;

/// Builds a program of several units. Each has a function with an inlined function. The unit `unlisted` is not in
/// `.debug_aranges`.
fn build(folder: &Path, options: &[&str], unlisted: Option<u64>) {
    let run = |program: &str, arguments: &[&str]| {
        let mut command = needs::command(program);
        let status = command.args(arguments).current_dir(folder).status();
        assert!(status.unwrap().success(), "{program} {arguments:?}");
    };
    let mut files = Vec::new();
    for unit in 0..UNITS {
        let name = format!("u{unit}.c");
        let main = match unit {
            0 => {
                let calls =
                    (0..UNITS).map(|unit| format!("extern void f{unit}(long); f{unit}(n); "));
                format!(
                    "int main(int n) {{ {}return 0; }}",
                    calls.collect::<String>()
                )
            }
            _ => String::new(),
        };
        let text = format!(
            "volatile long sum{unit};\nstatic inline __attribute__((always_inline)) void in{unit}(long by) {{\n    sum{unit} += by;\n}}\n\
             __attribute__((noinline)) void f{unit}(long by) {{\n    in{unit}(by);\n    sum{unit} ^= by;\n}}\n{main}\n"
        );
        std::fs::write(folder.join(&name), text).unwrap();
        if unlisted == Some(unit) {
            run("gcc", &[&["-O1", "-g", "-c", &name], options].concat());
            let name = format!("u{unit}.o");
            run("objcopy", &["--remove-section=.debug_aranges", &name]);
            files.push(name);
        } else {
            files.push(name);
        }
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let common = ["-O1", "-g", "-o", "program"];
    run("gcc", &[&common, options, &files].concat());
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
fn the_units_of_the_addresses_give_the_same_chains() {
    needs!("gcc");
    let all_options: [&[&str]; 6] = [
        &["-gz=none"],
        &["-gz=zlib"],
        &["-gz=zlib-gnu"],
        &["-gdwarf-4", "-gz=zlib"],
        &["-gdwarf-2"],
        // Units refer to entries of other units.
        &["-flto"],
    ];
    for (options, unlisted) in all_options.into_iter().flat_map(|options| {
        let is_lto = options == ["-flto"];
        [(options, None), (options, (!is_lto).then_some(3))]
    }) {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path(), options, unlisted);
        let path = folder.path().join("program");
        let program = std::fs::read(&path).unwrap();
        let search = Search::default();
        let object = ObjectFile::open(&path, &search.limits).unwrap();
        let all = DebugInfo::find(&object, &search).unwrap();
        let functions = (0..UNITS).map(|unit| addresses(&program, &format!("f{unit}")));
        let mut asked: Vec<Vec<u64>> = functions.collect();
        asked.push(asked.concat());
        asked.push(vec![asked[1][0], asked[3][0]]);
        asked.push(Vec::new());
        // This function has no debug information.
        asked.push([&asked[2][..], &addresses(&program, "_start")].concat());
        for mut addresses in asked {
            addresses.sort_unstable();
            let expected = described(&all.chains(&addresses), &addresses);
            let (chains, _) = DebugInfo::find_chains(&object, &search, &addresses).unwrap();
            let found = described(&chains, &addresses);
            assert_eq!(found, expected, "{options:?} {unlisted:?}");
        }
    }
}

#[test]
fn other_units_are_not_read() {
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &["-gz=none"], None);
    let path = folder.path().join("program");
    let mut program = std::fs::read(&path).unwrap();
    let addresses = addresses(&program, "f5");
    let search = Search::default();
    let object = ObjectFile::open(&path, &search.limits).unwrap();
    let all = DebugInfo::find(&object, &search).unwrap();
    let expected = described(&all.chains(&addresses), &addresses);
    let has_inlined = |chain: &String| chain.starts_with("in5 ");
    assert!(expected.iter().any(has_inlined), "{expected:?}");
    // Overwrite the entries of all other units, and everything behind the headers of their line tables.
    let file = object::File::parse(&program[..]).unwrap();
    let range = |name| file.section_by_name(name).unwrap().file_range().unwrap();
    let sections =
        [(".debug_info", 12), (".debug_line", 6)].map(|(name, kept)| (range(name), kept));
    for ((start, size), kept) in sections {
        let (mut at, end) = (start as usize, (start + size) as usize);
        let mut number = 0;
        while at < end {
            let length = u32::from_le_bytes(program[at..at + 4].try_into().unwrap()) as usize;
            if number != 5 {
                program[at + kept..at + 4 + length].fill(0xff);
            }
            (at, number) = (at + 4 + length, number + 1);
        }
        assert_eq!(number, UNITS);
    }
    std::fs::write(&path, &program).unwrap();
    let object = ObjectFile::open(&path, &search.limits).unwrap();
    let (chains, _) = DebugInfo::find_chains(&object, &search, &addresses).unwrap();
    assert_eq!(described(&chains, &addresses), expected);
    let all = DebugInfo::find(&object, &search).unwrap();
    assert!(all.chains(&addresses).errors.damaged_units > 0);
}
