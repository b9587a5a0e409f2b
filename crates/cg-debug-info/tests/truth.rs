//! Tests chains in programs with known inlining. The programs are built by several compilers, with all forms of debug
//! information. Also compares chains at each address with the `addr2line` crate, an independent reader of DWARF.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{LookupContinuation as _, LookupResult};
use cg_debug_info::{Chains, CoveringSymbols, DebugInfo, Error, Limits, ObjectFile, Search};
use needs::needs;
use object::{Object as _, ObjectSection as _};
use tempfile::TempDir;

/// Runs a command. Returns its output; `None` if it fails.
fn run(directory: &Path, command: &str) -> Option<String> {
    let output = needs::command("bash")
        .args(["-ec", command])
        .current_dir(directory)
        .output()
        .unwrap();
    (output.status.success()).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Creates a directory and builds the program `nops` in it by `command`.
fn built(command: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    for name in ["nops.c", "nops.rs"] {
        std::fs::copy(programs.join(name), directory.path().join(name)).unwrap();
    }
    assert!(run(directory.path(), command).is_some(), "{command}");
    directory
}

/// Returns all addresses in the program's own functions, as listed by `nm` for `file`.
fn own_addresses(directory: &Path, file: &str) -> Vec<u64> {
    let symbols = run(directory, &format!("nm -S --defined-only {file}")).unwrap();
    let mut addresses = Vec::new();
    for line in symbols.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, size, "t" | "T", name] = words[..]
            && (["f", "g", "main", "_Z1fv", "_Z1gv"].contains(&name) || name.contains("4nops"))
        {
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            addresses.extend(hex(address)..hex(address) + hex(size));
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn name(chains: &Chains, node: cg_debug_info::ChainNode) -> String {
    let name = String::from_utf8_lossy(&chains.function(node.function).name).into_owned();
    // The forms `nops::outer::<u8>` and `outer<u8>` depend on the debug level and the language.
    let name = name
        .split(['<', '('])
        .next()
        .unwrap()
        .trim_end_matches("::");
    name.rsplit("::").next().unwrap().to_owned()
}

fn search(directory: &Path) -> Search {
    Search {
        roots: vec![directory.join("root")],
        ..Search::default()
    }
}

/// Returns the number of bytes of code of each chain, written innermost first.
fn bytes_of_chains(directory: &Path, addresses: &[u64]) -> BTreeMap<String, usize> {
    let search = search(directory);
    let object = ObjectFile::open(&directory.join("nops"), &search.limits).unwrap();
    let info = DebugInfo::find(&object, &search).unwrap();
    let chains = info.chains(addresses);
    assert_eq!(chains.errors, Default::default());
    let mut bytes = BTreeMap::new();
    for innermost in chains.innermost.iter().flatten() {
        let names: Vec<String> = chains
            .chain(*innermost)
            .map(|node| name(&chains, node))
            .collect();
        *bytes.entry(names.join(" < ")).or_default() += 1;
    }
    bytes
}

/// Checks the code sizes of chains: each inlined copy of `work` has 1000 `nop`s of one byte, and each copy of `outer` has
/// 100.
fn check_nops(command: &str, symbols: &str) {
    let directory = built(command);
    let addresses = own_addresses(directory.path(), symbols);
    assert!(addresses.len() > 5000, "{command}: {}", addresses.len());
    let bytes = bytes_of_chains(directory.path(), &addresses);
    for (chain, expected) in [
        ("work < outer < f", 2000),
        ("outer < f", 100),
        ("work < g", 1000),
        ("work < outer < main", 2000),
        ("outer < main", 100),
    ] {
        assert_eq!(
            bytes.get(chain),
            Some(&expected),
            "{command}: {chain} in {bytes:#?}"
        );
    }
}

const COMPILERS: [&str; 11] = [
    "gcc -O2 -g -o nops nops.c",
    "gcc -O2 -g -gdwarf-4 -o nops nops.c",
    "gcc -O2 -g1 -o nops nops.c",
    "gcc -O2 -g -no-pie -o nops nops.c",
    "gcc -O2 -g -static -o nops nops.c",
    "gcc -O2 -g -gz=zlib -o nops nops.c",
    "gcc -O2 -g -gz=zlib-gnu -o nops nops.c",
    "sed -e /include/d -e 's/puts(.x.);//' nops.c > n.c && gcc -m32 -O2 -g -ffreestanding -fno-pic -c n.c && ld -m elf_i386 -e main -o nops n.o",
    "rustc -O -C debuginfo=1 -o nops nops.rs",
    "rustc -O -C debuginfo=line-tables-only -o nops nops.rs",
    "rustc -O -C debuginfo=2 -o nops nops.rs",
];

#[test]
fn every_byte_of_inlined_code_has_its_chain() {
    needs!("gcc");
    for command in COMPILERS {
        check_nops(command, "nops");
    }
    check_nops(
        "gcc -O2 -g -c nops.c && gcc -r -o all.o nops.o && gcc -o nops all.o && objcopy --compress-debug-sections=zstd nops",
        "nops",
    );
}

#[test]
fn every_byte_of_inlined_code_has_its_chain_in_cpp() {
    needs!("gcc", "g++");
    check_nops("g++ -O2 -g -x c++ -o nops nops.c", "nops");
}

#[test]
fn every_byte_of_inlined_code_has_its_chain_by_another_compiler() {
    needs!("gcc", "clang");
    check_nops("clang -O2 -g -o nops nops.c", "nops");
}

#[test]
fn split_debug_information_is_found_in_packages() {
    needs!("gcc", "dwp");
    for command in [
        "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -o nops nops.c; dwp -e nops; rm *.dwo",
        // dwp of binutils 2.40 refuses gcc's DWARF 5, and dwp of 2.44 silently writes nothing.
        "gcc -O2 -g -gsplit-dwarf -o nops nops.c; dwp -e nops || rm -f nops.dwp; [ ! -e nops.dwp ] || rm *.dwo",
    ] {
        check_nops(command, "nops");
    }
}

/// The shared debug information is in a third file in the same directory.
#[test]
fn shared_debug_information_of_two_files_is_found() {
    needs!("gcc", "dwz");
    check_nops(
        "gcc -O2 -g -o nops nops.c && cp nops other && dwz -m shared.debug nops other",
        "nops",
    );
}

#[test]
fn debug_information_is_found_in_all_supported_places() {
    needs!("gcc");
    let separate = "objcopy --only-keep-debug nops whole; strip nops";
    for command in [
        // Split units: at the compiler's output path, in the directory of the object, and below a root.
        "gcc -O2 -g -gsplit-dwarf -o nops nops.c".to_owned(),
        "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -o nops nops.c".to_owned(),
        "mkdir away root && (cd away && gcc -O2 -g -gsplit-dwarf -o ../nops ../nops.c) && mv $(find . -name '*.dwo') root && rmdir away".to_owned(),
        // Debug files by link, with and without build ids.
        format!("gcc -O2 -g -o nops nops.c && {separate}; cp whole nops.debug; objcopy --add-gnu-debuglink=nops.debug nops"),
        format!("gcc -O2 -g -Wl,--build-id=none -o nops nops.c && {separate}; mkdir .debug; cp whole .debug/x; cp whole x; objcopy --add-gnu-debuglink=x nops; rm x"),
        // By build id, below a root.
        format!("gcc -O2 -g -Wl,--build-id=0xabcdef0123 -o nops nops.c && {separate}; mkdir -p root/.build-id/ab; cp whole root/.build-id/ab/cdef0123.debug"),
        format!("gcc -O2 -g -Wl,--build-id=0xabcdef0123 -o nops nops.c && {separate}; mkdir -p root/usr/lib/debug/.build-id/ab; cp whole root/usr/lib/debug/.build-id/ab/cdef0123.debug; objcopy --compress-debug-sections=zlib root/usr/lib/debug/.build-id/ab/cdef0123.debug"),
    ] {
        let symbols = if command.contains("whole") { "whole" } else { "nops" };
        check_nops(&command, symbols);
        if symbols == "whole" {
            check_symbols_of_debug_file(&command);
        }
    }
}

/// Checks that the symbols of a stripped object are found in its debug file.
fn check_symbols_of_debug_file(command: &str) {
    let directory = built(command);
    let addresses = own_addresses(directory.path(), "whole");
    let search = search(directory.path());
    let object = ObjectFile::open(&directory.path().join("nops"), &search.limits).unwrap();
    let debug = search.debug_file(&object).unwrap().file.unwrap();
    let symbols = CoveringSymbols::covering(&[&object, &debug], &addresses).unwrap();
    for address in &addresses {
        assert!(
            symbols
                .at(*address)
                .any(|symbol| [&b"f"[..], b"g", b"main"].contains(&&*symbol.name)),
            "{command}"
        );
    }
}

#[test]
fn a_debug_file_of_another_build_is_skipped() {
    needs!("gcc");
    for command in [
        // The right name, another checksum.
        "gcc -O2 -g -Wl,--build-id=none -o nops nops.c; gcc -O1 -g -Wl,--build-id=none -o other nops.c; cp other x; objcopy --only-keep-debug nops whole; strip nops; cp whole x; objcopy --add-gnu-debuglink=x nops; cp other x",
        // The right path, another build id.
        "gcc -O2 -g -Wl,--build-id=0xabcdef0123 -o nops nops.c; strip nops; mkdir -p root/.build-id/ab; gcc -O2 -g -Wl,--build-id=0xabcdef0124 -o root/.build-id/ab/cdef0123.debug nops.c",
    ] {
        let directory = built(command);
        let search = search(directory.path());
        let object = ObjectFile::open(&directory.path().join("nops"), &search.limits).unwrap();
        let found = DebugInfo::find(&object, &search);
        assert!(matches!(found, Err(Error::NoDebugInfo)), "{command}");
    }
}

/// Debug information for `addr2line`. It borrows the file's contents, which stay in memory until the tests end.
type Dwarf = gimli::Dwarf<gimli::EndianSlice<'static, gimli::LittleEndian>>;

/// Loads the debug information of a file, from sections with these names.
fn dwarf(path: &Path, name: fn(gimli::SectionId) -> Option<&'static str>) -> Dwarf {
    let bytes: &'static [u8] = std::fs::read(path).unwrap().leak();
    let object = object::File::parse(bytes).unwrap();
    let load = |id| {
        let section = name(id).and_then(|name| object.section_by_name(name));
        let data = section.map_or(&[][..], |section| section.data().unwrap());
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(data, gimli::LittleEndian))
    };
    gimli::Dwarf::load(load).unwrap()
}

/// Checks the number of frames and their lines at every address of the functions of the program and the standard library.
fn compare_with_addr2line(directory: &Path) {
    let search = search(directory);
    let path = directory.join("nops");
    let object = ObjectFile::open(&path, &search.limits).unwrap();
    let info = DebugInfo::find(&object, &search).unwrap();
    let symbols = run(directory, "nm -S --defined-only nops").unwrap();
    let mut addresses: Vec<u64> = (symbols.lines())
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [address, size, "t" | "T", _] = words[..] else {
                return None;
            };
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            Some(hex(address)..hex(address) + hex(size))
        })
        .flatten()
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let chains = info.chains(&addresses);
    // `addr2line` has a loader, but it needs features of `object` that the tools do not enable, so `object` would be built
    // twice.
    let oracle = addr2line::Context::from_dwarf(dwarf(&path, |id| Some(id.name()))).unwrap();
    let mut inlined = 0;
    for (index, address) in addresses.iter().enumerate() {
        let mut theirs = Vec::new();
        let mut lookup = oracle.find_frames(*address);
        let mut frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames.unwrap(),
                LookupResult::Load { load, continuation } => {
                    let place = [load.comp_dir, load.path].map(|part| part.unwrap().to_string());
                    let path: PathBuf = place.map(Result::unwrap).iter().collect();
                    let mut split = dwarf(&path, gimli::SectionId::dwo_name);
                    split.make_dwo(&load.parent);
                    lookup = continuation.resume(Some(Arc::new(split)));
                }
            }
        };
        while let Some(frame) = frames.next().unwrap() {
            if frame.function.is_some() {
                let line = frame
                    .location
                    .as_ref()
                    .and_then(|place| place.line)
                    .unwrap_or(0);
                let file = frame
                    .location
                    .and_then(|place| place.file)
                    .map(str::to_owned);
                theirs.push((line, file.filter(|_| line != 0)));
            }
        }
        let mut ours = Vec::new();
        if let Some(innermost) = chains.innermost[index] {
            let line = chains.lines[index].map(|line| chains.table_line(line));
            let file = line.and_then(|line| line.file);
            let file = file.map(|file| chains.file(file));
            let mut place = (line.map_or(0, |line| line.line), file);
            for node in chains.chain(innermost) {
                let file = place
                    .1
                    .map(|file| String::from_utf8_lossy(file).into_owned());
                ours.push((place.0, file.filter(|_| place.0 != 0)));
                if let Some((_, call)) = node.inlined_into {
                    place = (call.line, call.file.map(|file| chains.file(file)));
                }
            }
            inlined += usize::from(ours.len() > 1);
        }
        assert_eq!(ours, theirs, "{address:#x}");
    }
    assert!(inlined > 4000, "{inlined} of {}", addresses.len());
}

#[test]
fn chains_and_lines_agree_with_addr2line() {
    needs!("gcc");
    for command in [
        "rustc -O -C debuginfo=1 -o nops nops.rs",
        "gcc -O2 -g -gdwarf-4 -o nops nops.c",
        "gcc -O2 -g -gsplit-dwarf -o nops nops.c",
    ] {
        compare_with_addr2line(built(command).path());
    }
}

/// Describes the chain at every address of the functions of `nops`: names, declarations, and places of calls.
fn chains_in_words(directory: &Path) -> Vec<(u64, String)> {
    let search = search(directory);
    let object = ObjectFile::open(&directory.join("nops"), &search.limits).unwrap();
    let info = DebugInfo::find(&object, &search).unwrap();
    let symbols = run(directory, "nm -S --defined-only nops").unwrap();
    let hex = |text| u64::from_str_radix(text, 16).unwrap();
    let ranges = symbols.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [address, size, "t" | "T", _] => Some(hex(address)..hex(address) + hex(size)),
            _ => None,
        }
    });
    let mut addresses: Vec<u64> = ranges.flatten().collect();
    addresses.sort_unstable();
    addresses.dedup();
    let chains = info.chains(&addresses);
    let file = |file: Option<cg_debug_info::FileId>| {
        file.map_or("???".into(), |file| {
            String::from_utf8_lossy(chains.file(file))
        })
    };
    let words = |innermost: cg_debug_info::ChainNodeId| {
        let frames = chains.chain(innermost).map(|node| {
            let function = chains.function(node.function);
            let call = node
                .inlined_into
                .map(|(_, call)| format!("{}:{}", file(call.file), call.line));
            let name = String::from_utf8_lossy(&function.name);
            let (path, line) = (file(function.declared.file), function.declared.line);
            format!("{name} of {path}:{line} called at {call:?}")
        });
        frames.collect::<Vec<_>>().join("\n")
    };
    let described = (addresses.iter().zip(&chains.innermost))
        .filter_map(|(address, innermost)| Some((*address, words((*innermost)?))));
    described.collect()
}

#[test]
fn alternate_files_of_dwz_do_not_change_chains() {
    needs!("gcc", "dwz");
    for command in [
        "rustc -O -C debuginfo=1 -o nops nops.rs",
        "gcc -O2 -g -o nops nops.c",
    ] {
        let directory = built(command);
        let before = chains_in_words(directory.path());
        assert!(before.len() > 5000, "{command}: {}", before.len());
        let share = "cp nops other; dwz -m shared.debug nops other; readelf -SW nops | grep gnu_debugaltlink";
        assert!(run(directory.path(), share).is_some(), "{command}: {share}");
        let after = chains_in_words(directory.path());
        let differing = before
            .iter()
            .zip(&after)
            .find(|(before, after)| before != after);
        assert_eq!((differing, before.len()), (None, after.len()), "{command}");
        // Without the file, the chains remain, and functions described in it have no names.
        std::fs::remove_file(directory.path().join("shared.debug")).unwrap();
        assert_eq!(
            chains_in_words(directory.path()).len(),
            before.len(),
            "{command}"
        );
    }
}

#[test]
fn symbols_that_cover_an_address_include_all_aliases() {
    needs!("gcc");
    let source = "void one(void){} void two(void) __attribute__((alias(\\\"one\\\"))); int main(void){one(); return 0;}";
    let directory = built(&format!("echo \"{source}\" > a.c; gcc -O0 -o nops a.c"));
    let symbols = run(directory.path(), "nm nops").unwrap();
    let one = symbols.lines().find(|line| line.ends_with(" one")).unwrap();
    let address = u64::from_str_radix(one.split(' ').next().unwrap(), 16).unwrap();
    let object = ObjectFile::open(&directory.path().join("nops"), &Limits::default()).unwrap();
    let symbols = CoveringSymbols::covering(&[&object], &[address + 1]).unwrap();
    let mut names: Vec<_> = symbols
        .at(address + 1)
        .map(|symbol| symbol.name.as_slice())
        .collect();
    names.sort_unstable();
    assert_eq!(names, [b"one", b"two"]);
    assert_eq!(symbols.at(address - 1).count(), 0);
}

#[test]
fn first_lines_of_sequences_are_marked() {
    needs!("gcc");
    // Linkers merge the code of a file into one sequence unless each function has its own section.
    for (options, expected) in [("", [true, false]), ("-ffunction-sections", [true, true])] {
        let source = "int one(void){ return 1; }\\nint two(void){ return one(); }\\nint main(void){ return two(); }\\n";
        let directory = built(&format!(
            "printf '{source}' > a.c; gcc -O0 -g {options} -o nops a.c"
        ));
        let symbols = run(directory.path(), "nm nops").unwrap();
        let address = |name: &str| {
            let line = symbols.lines().find(|line| line.ends_with(name)).unwrap();
            u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
        };
        let search = search(directory.path());
        let object = ObjectFile::open(&directory.path().join("nops"), &search.limits).unwrap();
        let info = DebugInfo::find(&object, &search).unwrap();
        let chains = info.chains(&[address(" one"), address(" two")]);
        let begins = |index: usize| {
            chains
                .table_line(chains.lines[index].unwrap())
                .begins_sequence
        };
        assert_eq!([begins(0), begins(1)], expected, "{options}");
    }
}

#[test]
fn objects_are_searched_below_roots_first() {
    let directory = tempfile::tempdir().unwrap();
    let root: PathBuf = directory.path().join("root");
    std::fs::create_dir_all(root.join("usr/bin")).unwrap();
    for path in ["usr/bin/demo", "moved"] {
        std::fs::write(root.join(path), "").unwrap();
    }
    let search = Search {
        roots: vec![root.clone()],
        ..Search::default()
    };
    assert_eq!(
        search.objects(Path::new("/usr/bin/demo")),
        [root.join("usr/bin/demo")]
    );
    assert_eq!(
        search.objects(Path::new("/elsewhere/../x/moved")),
        [root.join("moved")]
    );
    assert!(search.objects(Path::new("/dev/null")).is_empty());
}

/// Returns the names of all functions inlined into `main`. With `are_declared`, checks that each has the file of its
/// declaration.
fn inlined_names(directory: &Path, are_declared: bool) -> Vec<String> {
    let search = search(directory);
    let object = ObjectFile::open(&directory.join("nops"), &search.limits).unwrap();
    let symbols = run(directory, "nm -S --defined-only nops | grep ' [tT] main$'").unwrap();
    let words: Vec<u64> = (symbols.split(' ').take(2))
        .map(|word| u64::from_str_radix(word, 16).unwrap())
        .collect();
    let addresses: Vec<u64> = (words[0]..words[0] + words[1]).collect();
    let chains = DebugInfo::find(&object, &search)
        .unwrap()
        .chains(&addresses);
    assert_eq!(chains.errors, Default::default());
    let inlined = chains
        .nodes()
        .filter(|(_, node)| node.inlined_into.is_some());
    let inlined: Vec<_> = inlined
        .map(|(_, node)| chains.function(node.function))
        .collect();
    let is_declared = |function: &&cg_debug_info::ChainFunction| function.declared.file.is_some();
    assert!(!are_declared || inlined.iter().all(is_declared));
    let name = |function: &cg_debug_info::ChainFunction| String::from_utf8(function.name.clone());
    let mut names: Vec<String> = (inlined.into_iter())
        .map(|function| name(function).unwrap())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Compares the names of inlined functions with the symbols of the same functions in a build without inlining.
#[test]
fn functions_without_mangled_names_have_the_names_of_their_symbols() {
    needs!("gcc", "g++");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let source = programs.join("locals.cpp").display().to_string();
    let build = |how: &str, level: &str| {
        built(&format!(
            "g++ -w -std=c++17 -O2 {level} -DHOW={how} -o nops {source}"
        ))
    };
    let out_of_line = build("noinline", "-g");
    let list = "nm -C --defined-only nops | grep -E ' [tT] (int )?(app|helper|main::)'";
    let list = run(out_of_line.path(), list).unwrap();
    let mut symbols: Vec<String> = (list.lines())
        .map(|line| line.splitn(3, ' ').nth(2).unwrap())
        .map(|name| name.split(" [clone").next().unwrap())
        // Only symbols of template instances include the return type.
        .map(|name| name.trim_start_matches("int ").to_owned())
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    assert!(symbols.len() > 15, "{symbols:?}");
    assert_eq!(
        inlined_names(build("always_inline", "-g").path(), true),
        symbols
    );
    // With `-g1`, the missing parameters are not invented.
    let short = inlined_names(build("always_inline", "-g1").path(), false);
    assert!(
        short.iter().any(|name| name == "weigh")
            && !short.iter().any(|name| name.contains("weigh(")),
        "{short:?}"
    );
}

#[test]
fn missing_files_are_listed() {
    needs!("gcc", "dwz");
    for (command, missing) in [
        (
            "gcc -O2 -g -gsplit-dwarf -o nops nops.c; rm nops.dwo",
            "nops.dwo",
        ),
        // A file of another build does not count.
        (
            "gcc -O2 -g -gsplit-dwarf -o nops nops.c; gcc -O1 -g -gsplit-dwarf -o other nops.c; mv other-nops.dwo nops.dwo",
            "nops.dwo",
        ),
        (
            "gcc -O2 -g -o nops nops.c && cp nops other && dwz -m shared.debug nops other && rm shared.debug",
            "shared.debug",
        ),
    ] {
        let directory = built(command);
        let addresses = own_addresses(directory.path(), "nops");
        let search = search(directory.path());
        let object = ObjectFile::open(&directory.path().join("nops"), &search.limits).unwrap();
        let chains = DebugInfo::find(&object, &search)
            .unwrap()
            .chains(&addresses);
        assert_eq!(chains.errors.missing, [missing], "{command}");
        let known = chains
            .innermost
            .iter()
            .flatten()
            .filter(|innermost| chains.has_names(**innermost));
        let named = known
            .filter(|innermost| chains.node(**innermost).inlined_into.is_some())
            .count();
        assert!(
            !missing.ends_with(".dwo") || named == 0,
            "{command}: {named}"
        );
    }
}

#[test]
fn a_build_id_is_found_in_any_note() {
    needs!("gcc");
    const ID: &[u8] = &[0xab, 0xcd, 0xef, 0x01, 0x23];
    let folder = built(
        "gcc -Wl,--build-id=0xabcdef0123 -o own nops.c; objcopy --rename-section .note.gnu.build-id=.notes own renamed;
        printf 'SECTIONS { .note : { *(.note.ABI-tag) *(.note.gnu.build-id) } } INSERT AFTER .interp;' >merge.ld
        gcc -Wl,--build-id=0xabcdef0123 -Wl,-T,merge.ld -o merged nops.c",
    );
    // Without a table of sections, only the segments are left.
    let mut bytes = std::fs::read(folder.path().join("own")).unwrap();
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    std::fs::write(folder.path().join("segments"), bytes).unwrap();
    for name in ["own", "renamed", "merged", "segments"] {
        let file = ObjectFile::open(&folder.path().join(name), &Limits::default()).unwrap();
        assert_eq!(file.build_id(), Some(ID), "{name}");
    }
}
