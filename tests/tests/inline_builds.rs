//! Inlined functions of programs built by various compilers and packaging tools. Compares them with llvm-symbolizer, an
//! independent reader of debug information. Also tests profiles of programs that were edited, moved or replaced.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::Path;

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::tools::{self, Run};
use tests::{shell, workspace};

/// A way to build a program. `docs/inline.md` lists them.
struct Build {
    /// The name in the documentation.
    name: &'static str,
    /// Builds `prog` from `heavy.cpp`, `nops.rs` or `heavy.go`.
    command: &'static str,
    /// Changes `prog` after profiling. llvm-symbolizer reads the program as it was before, because neither it nor
    /// Valgrind 3.19 supports all of these changes.
    afterwards: &'static str,
}

const fn build(name: &'static str, command: &'static str, afterwards: &'static str) -> Build {
    Build {
        name,
        command,
        afterwards,
    }
}

const BUILDS: [Build; 16] = [
    build("g++ -O2 -g", "g++ -std=c++17 -O2 -g heavy.cpp -o prog", ""),
    build(
        "g++ -O3 -gdwarf-4 -no-pie",
        "g++ -std=c++17 -O3 -gdwarf-4 -no-pie heavy.cpp -o prog",
        "",
    ),
    build("g++ -g1", "g++ -std=c++17 -O2 -g1 heavy.cpp -o prog", ""),
    build(
        "g++ -static",
        "g++ -std=c++17 -O2 -g -static heavy.cpp -o prog",
        "",
    ),
    build(
        "g++ -flto",
        "g++ -std=c++17 -O2 -g -flto heavy.cpp -o prog",
        "",
    ),
    build(
        "g++ -gsplit-dwarf",
        "g++ -std=c++17 -O2 -gdwarf-4 -gsplit-dwarf -c heavy.cpp -o heavy.o; g++ heavy.o -o prog",
        "",
    ),
    build(
        "dwp",
        "g++ -std=c++17 -O2 -gdwarf-4 -gsplit-dwarf -c heavy.cpp -o heavy.o; g++ heavy.o -o prog",
        "dwp -e prog; cp prog.dwp oracle.dwp; rm *.dwo",
    ),
    build(
        "dwz -m",
        "g++ -std=c++17 -O2 -g heavy.cpp -o prog",
        "cp prog other; dwz -m shared.debug prog other",
    ),
    build(
        "zlib",
        "g++ -std=c++17 -O2 -g -gz=zlib heavy.cpp -o prog",
        "",
    ),
    build(
        "objcopy --compress-debug-sections=zstd",
        "g++ -std=c++17 -O2 -g heavy.cpp -o prog",
        "objcopy --compress-debug-sections=zstd prog",
    ),
    build(
        "strip, debug link",
        "g++ -std=c++17 -O2 -g heavy.cpp -o prog",
        "objcopy --only-keep-debug prog prog.debug; strip prog; objcopy --add-gnu-debuglink=prog.debug prog",
    ),
    build(
        "clang -O2 -g",
        "clang -x c++ -O2 -g -std=c++17 heavy.cpp -o prog -lstdc++ -lm",
        "",
    ),
    build(
        "rustc debuginfo=1",
        "rustc --edition 2021 -O -C debuginfo=1 nops.rs -o prog",
        "",
    ),
    build(
        "rustc debuginfo=2, v0",
        "rustc --edition 2021 -O -C debuginfo=2 -C symbol-mangling-version=v0 nops.rs -o prog",
        "",
    ),
    build(
        "rustc line-tables-only",
        "rustc --edition 2021 -O -C debuginfo=line-tables-only nops.rs -o prog",
        "",
    ),
    build(
        "go",
        "printf 'module heavy\\ngo 1.18\\n' > go.mod; HOME=$PWD GOFLAGS=-mod=mod go build -o prog heavy.go",
        "",
    ),
];

/// Builds and profiles a program in a folder. `oracle` is the copy for llvm-symbolizer.
fn profiled(build: &Build) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs = workspace().join("crates/cg-debug-info/tests/programs");
    for name in ["heavy.cpp", "heavy.go", "nops.c", "nops.rs"] {
        std::fs::copy(programs.join(name), folder.path().join(name)).unwrap();
    }
    shell(folder.path(), build.command);
    shell(folder.path(), "cp prog oracle");
    // Go's runtime interrupts itself with signals, which Valgrind does not handle well.
    let run = "GODEBUG=asyncpreemptoff=1 valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=profile ./prog > out";
    shell(folder.path(), run);
    shell(folder.path(), build.afterwards);
    folder
}

fn parse(folder: &Path, args: &[&str]) -> (Run, Vec<Value>) {
    let profile = folder.join("profile").display().to_string();
    let run = tools::run(
        "cg-parse",
        &[&["--inline", "--instr", &profile], args].concat(),
        b"",
    );
    assert_eq!(run.status, 0, "{}", run.stderr);
    let lines = run.stdout.split(|byte| *byte == b'\n');
    let records = lines.filter(|line| !line.is_empty());
    let records = records
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    (run, records)
}

/// A frame of a chain: a function's own name and a line.
type Frame = (String, u64);

/// The line and the chain at each address.
type Chains = BTreeMap<u64, (u64, Vec<Frame>)>;

/// Returns the chain at each address of the program, innermost first, without the outermost function.
fn chains(folder: &Path, records: &[Value]) -> Chains {
    let program = folder
        .join("prog")
        .canonicalize()
        .unwrap_or(folder.join("prog"));
    let program = program.display().to_string();
    let lines = records
        .iter()
        .filter(|record| record["type"] == "line" && record["obj"] == *program);
    let chain = |record: &Value| -> (u64, (u64, Vec<Frame>)) {
        let address = record["addr"].as_str().unwrap().trim_start_matches("0x");
        let mut frames: Vec<Frame> = Vec::new();
        for (position, frame) in record["inlined"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let line = match position {
                0 => &record["line"],
                _ => &frame["line"],
            };
            frames.push((
                own_name(frame["fn"].as_str().unwrap()),
                line.as_u64().unwrap_or(0),
            ));
        }
        let line = record["line"].as_u64().unwrap_or(0);
        (u64::from_str_radix(address, 16).unwrap(), (line, frames))
    };
    lines.map(chain).collect()
}

/// Shortens a name to its last part, without arguments and brackets.
fn own_name(name: &str) -> String {
    if name.contains("operator") || name.contains("closure") || name.contains("lambda") {
        return "{…}".to_owned();
    }
    // Rust's legacy mangling ends with a hash.
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 => path,
        _ => name,
    };
    let (mut depth, mut plain) = (0, String::new());
    let mut last = ' ';
    for letter in name.chars() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if last == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        last = letter;
    }
    let plain = plain.trim_end_matches(" const").trim_end_matches("::");
    plain.rsplit([':', '.', ' ']).next().unwrap().to_owned()
}

/// Returns llvm-symbolizer's frames for addresses.
fn oracle(folder: &Path, addresses: &[u64]) -> Vec<Vec<Frame>> {
    let asked: Vec<String> = addresses
        .iter()
        .map(|address| format!("{address:#x}"))
        .collect();
    let run = needs::command("llvm-symbolizer")
        .args(["--output-style=JSON", "-e", "oracle"])
        .args(&asked)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(answers.len(), addresses.len());
    let frames = |answer: &Value| -> Vec<Frame> {
        let symbols = answer["Symbol"].as_array().unwrap();
        let frame = |symbol: &Value| {
            (
                own_name(symbol["FunctionName"].as_str().unwrap()),
                symbol["Line"].as_u64().unwrap(),
            )
        };
        symbols.iter().map(frame).collect()
    };
    answers.iter().map(frames).collect()
}

/// The maximum number of addresses to compare per build.
const ADDRESSES: usize = 400;

/// Compares the chains of a profile with llvm-symbolizer's.
fn compare_with_llvm_symbolizer(build: &Build) {
    let name = build.name;
    let folder = profiled(build);
    let (run, records) = parse(folder.path(), &[]);
    let program = folder
        .path()
        .join("prog")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let objects = records[0]["inlines"]["objects"].as_array().unwrap();
    let own = objects
        .iter()
        .find(|object| object["obj"] == *program)
        .unwrap();
    assert_eq!(
        (&own["unresolved"], &own["missing"]),
        (&Value::Null, &Value::Null),
        "{name}: {own}"
    );
    let [agrees, named] = ["agrees", "named"].map(|field| own[field].as_u64().unwrap());
    assert!(
        named > 0 && agrees * 1000 >= named * 999,
        "{name}: {own} {}",
        run.stderr
    );
    // In some runs, Callgrind writes a few costs of Go's runtime at addresses between instructions. Their functions stay
    // unresolved.
    let elsewhere = own["elsewhere"].as_array().into_iter().flatten();
    let elsewhere: Vec<String> = elsewhere
        .map(|function| own_name(function.as_str().unwrap()))
        .collect();
    assert!(elsewhere.is_empty() || name == "go", "{name}: {own}");
    let chains = chains(folder.path(), &records);
    let step = chains.len().div_ceil(ADDRESSES).max(1);
    let sample: Vec<u64> = chains.keys().step_by(step).copied().collect();
    let mut inlined = 0;
    for (address, theirs) in sample.iter().zip(oracle(folder.path(), &sample)) {
        let (line, ours) = &chains[address];
        let host = theirs.last().map(|(function, _)| function);
        let is_elsewhere = host.is_some_and(|host| elsewhere.contains(host));
        // Valgrind 3.19 writes no lines for the largest function of Go's standard library.
        let has_no_line = name == "go" && *line == 0;
        if ours.is_empty() && (is_elsewhere || has_no_line) {
            continue;
        }
        assert_eq!(*line, theirs[0].1, "{name}: {address:#x}");
        // The last frame is the function in the profile.
        assert_eq!(
            ours.len() + 1,
            theirs.len(),
            "{name}: {address:#x}: {ours:?} {theirs:?}"
        );
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.1, theirs.1, "{name}: {address:#x}");
            // LLVM leaves a name mangled if g++ mangles members of dependent types in its own way.
            let is_name = |name: &str| name != "{…}" && !name.is_empty() && !name.starts_with("_Z");
            let are_comparable = is_name(&theirs.0) && ours.0 != "{…}";
            assert!(
                !are_comparable || ours.0 == theirs.0,
                "{name}: {address:#x}: {ours:?} {theirs:?}"
            );
        }
        inlined += usize::from(!ours.is_empty());
    }
    assert!(
        sample.len() > 100 && inlined > 20,
        "{name}: {inlined} of {}",
        sample.len()
    );
}

#[test]
fn chains_agree_with_llvm_symbolizer_in_every_build() {
    needs!(
        "gcc",
        "g++",
        "clang",
        "dwp",
        "dwz",
        "go",
        "llvm-symbolizer",
        "valgrind"
    );
    let documented = std::fs::read_to_string(workspace().join("docs/inline.md")).unwrap();
    for build in &BUILDS {
        let name = build.name;
        assert!(documented.contains(&format!("| `{name}` |")), "{name}");
        compare_with_llvm_symbolizer(build);
    }
}

/// Returns the share of addresses whose chain differs from the earlier chain. Addresses that are now unresolved do not
/// count.
fn wrong_share(before: &Chains, after: &Chains) -> f64 {
    let inlined = after.iter().filter(|(_, (_, chain))| !chain.is_empty());
    let wrong = inlined
        .filter(|(address, chain)| before[address] != **chain)
        .count();
    wrong as f64
        / before
            .values()
            .filter(|(_, chain)| !chain.is_empty())
            .count() as f64
}

#[test]
fn edited_moved_or_replaced_program_gives_no_wrong_chain() {
    needs!("gcc", "g++", "clang", "valgrind");
    let edits = [
        "s/for (int i = 0; i < 200; i++) {/& sum ^= i * 5;/",
        "s/groups\\[i % 17\\]/groups[i % 19 + 1]/",
        // Changes only the numbers of the lines that follow.
        "2i\\\\n\\n",
    ];
    for build in [&BUILDS[0], &BUILDS[2], &BUILDS[11]] {
        let folder = profiled(build);
        let folder = folder.path();
        let (_, records) = parse(folder, &[]);
        let before = chains(folder, &records);
        let store = folder.join("store").display().to_string();
        let keep = parse(folder, &["--keep-objects", &store]);
        assert_eq!(keep.1, records);
        shell(folder, "mkdir moved; mv prog moved/prog");
        let (run, gone) = parse(folder, &[]);
        assert!(run.stderr.contains("--debug-root"), "{}", run.stderr);
        assert!(
            chains(folder, &gone)
                .values()
                .all(|(_, chain)| chain.is_empty())
        );
        let moved = folder.join("moved").display().to_string();
        assert_eq!(parse(folder, &["--debug-root", &moved]).1, records);
        for edit in &edits {
            shell(
                folder,
                &format!(
                    "cp heavy.cpp whole.cpp; sed -i '{edit}' heavy.cpp; ! cmp -s heavy.cpp whole.cpp"
                ),
            );
            shell(folder, build.command);
            shell(folder, "mv whole.cpp heavy.cpp");
            let (run, edited) = parse(folder, &[]);
            let after = chains(folder, &edited);
            let wrong = wrong_share(&before, &after);
            assert!(wrong < 0.01, "{} {edit}: {wrong}", build.name);
            assert!(
                run.stderr.contains("stay unknown"),
                "{} {edit}: {}",
                build.name,
                run.stderr
            );
            // The profiled build stays in the store, even if another build replaces the program.
            assert_eq!(
                parse(folder, &["--debug-root", &store]).1,
                records,
                "{} {edit}",
                build.name
            );
        }
        shell(folder, "gcc -O2 -g nops.c -o prog");
        let (run, swapped) = parse(folder, &[]);
        assert!(run.stderr.contains("another build"), "{}", run.stderr);
        assert!(
            chains(folder, &swapped)
                .values()
                .all(|(_, chain)| chain.is_empty())
        );
    }
}
