//! Names in all tools: the blamed function of a finding, names of the same function, and equal answers for all records of
//! the same run.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use needs::needs;
use serde_json::Value;
use tests::{data, shell, tools, workspace};

fn records(tool: &str, args: &[&str]) -> Vec<Value> {
    let run = tools::run(tool, args, b"");
    run.text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the blamed functions of an input's errors and definite leaks.
fn blamed(input: &str) -> BTreeSet<String> {
    records("cg-parse", &[input])
        .iter()
        .filter(|record| record["type"] == "error" || record["kind"] == "definite")
        .map(|record| record["fn"].as_str().unwrap_or("-").to_owned())
        .collect()
}

/// Returns a log with one leak of this function.
fn log_of(function: &str) -> String {
    format!(
        "==77== Memcheck, a memory error detector
==77== Using Valgrind-3.24.0 and LibVEX; rerun with -h for copyright info
==77== Command: ./demo
==77== 
==77== HEAP SUMMARY:
==77==     in use at exit: 10 bytes in 1 blocks
==77==   total heap usage: 1 allocs, 0 frees, 10 bytes allocated
==77== 
==77== 10 bytes in 1 blocks are definitely lost in loss record 1 of 1
==77==    at 0x48407B4: malloc (vg_replace_malloc.c:381)
==77==    by 0x109171: {function} (main.rs:12)
==77==    by 0x109181: main (main.rs:20)
==77== 
==77== LEAK SUMMARY:
==77==    definitely lost: 10 bytes in 1 blocks
==77==    indirectly lost: 0 bytes in 0 blocks
==77==      possibly lost: 0 bytes in 0 blocks
==77==    still reachable: 0 bytes in 0 blocks
==77==         suppressed: 0 bytes in 0 blocks
==77== 
==77== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
"
    )
}

/// Returns true for cg-diff and for a baseline, respectively, if they match two names.
fn joins(old: &str, new: &str) -> [bool; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [old_log, new_log, known] = [path("old.log"), path("new.log"), path("known")];
    std::fs::write(&old_log, log_of(old)).unwrap();
    std::fs::write(&new_log, log_of(new)).unwrap();
    let update = ["--baseline", &known, "--update-baseline", &old_log];
    assert_eq!(tools::run("leak-check", &update, b"").status, 0, "{old}");
    let judged = tools::run("leak-check", &["--baseline", &known, &new_log], b"").status;
    let differs = ["--exit-code", "--no-renames", &old_log, &new_log];
    let compared = tools::run("cg-diff", &differs, b"").status;
    [compared == 0, judged == 0]
}

#[test]
fn cg_diff_and_baselines_match_the_same_names() {
    let pairs = std::fs::read_to_string(data("names/pairs.tsv")).unwrap();
    let written = pairs.lines().skip(1).map(|line| {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut field = || fields.next().unwrap();
        (field(), field(), field() == "yes")
    });
    // The examples of all rules for names of functions.
    let examples = cg_names::rules::function_examples().map(|[before, after]| {
        // In profiles, there is another address instead of the normal form.
        let after = after.replace("0x…", "0x0000000000401a50");
        (before.to_owned(), after, true)
    });
    for (old, new, is_same) in written.chain(examples) {
        assert_eq!(joins(&old, &new), [is_same; 2], "{old} | {new}");
    }
}

#[test]
fn clone_made_by_the_next_build_is_not_a_new_finding() {
    let folder = tempfile::tempdir().unwrap();
    let known = folder.path().join("known");
    let known = known.to_str().unwrap();
    for (args, status) in [
        (&["--update-baseline", "names/clone/1.xml"][..], 0),
        (&["names/clone/2.xml"], 0),
    ] {
        let args = [&["--baseline", known], args].concat();
        assert_eq!(tools::run("leak-check", &args, b"").status, status);
    }
    // A baseline from a version without support for clones.
    let old = r#"{"type":"known","kind":"definite","frames":["make(int, int*) [clone .constprop.0]","main"],"count":1}"#;
    std::fs::write(known, old).unwrap();
    let run = tools::run(
        "leak-check",
        &["--baseline", known, "names/clone/1.xml"],
        b"",
    );
    assert_eq!(run.status, 0, "{}", run.text());
    let args = [
        "--baseline",
        known,
        "--update-baseline",
        "names/clone/1.xml",
    ];
    assert_eq!(tools::run("leak-check", &args, b"").status, 0);
    let written = std::fs::read_to_string(known).unwrap();
    assert!(
        written.contains(r#""frames":["make(int, int*)","main"]"#),
        "{written}"
    );
}

#[test]
fn findings_are_blamed_on_the_program() {
    for (input, function) in [
        ("names/decltype.log", "app::run()"),
        ("names/mangled.log", "demo::foo"),
    ] {
        assert_eq!(
            blamed(input),
            BTreeSet::from([function.to_owned()]),
            "{input}"
        );
    }
    for input in ["mem.xml", "mem.log", "err.xml", "err.log"] {
        let blamed = blamed(&format!("names/rust/{input}"));
        assert!(!blamed.is_empty());
        assert!(
            blamed.iter().all(|name| name.contains("logcrate::")),
            "{input}: {blamed:?}"
        );
    }
    for input in ["hashmap-legacy.xml", "hashmap-v0.xml"] {
        let blamed = blamed(&format!("names/rust/{input}"));
        let own = |name: &String| name.contains("m::") && !name.contains("hashbrown");
        assert!(blamed.iter().all(own), "{input}: {blamed:?}");
    }
}

#[test]
fn crates_come_from_the_function_not_from_its_return_type() {
    let run = tools::run(
        "cg-fmt",
        &["--group-by", "crate", "-f", "csv", "names/crates.cg"],
        b"",
    );
    let crates: BTreeSet<&str> = run
        .text()
        .lines()
        .skip(1)
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    assert_eq!(
        crates,
        BTreeSet::from(["(anonymous namespace)", "A", "ns", "std"])
    );
}

#[test]
fn frame_is_the_same_from_a_log_and_from_dhat() {
    let stack = |input: &str| -> Vec<Value> {
        let records = records("cg-parse", &[input]);
        let stack = records.iter().find_map(|record| record["stack"].as_array());
        let fields = ["fn", "file", "line", "obj"];
        let frame = |frame: &Value| Value::from_iter(fields.map(|field| frame[field].clone()));
        stack.unwrap().iter().map(frame).collect()
    };
    assert_eq!(stack("names/fr.log"), stack("names/fr.dhat"));
}

#[test]
fn crate_is_found_in_every_profile_of_it() {
    for input in ["mem.xml", "mem.log", "dhat-b.out", "massif.out"] {
        let input = format!("names/rust/{input}");
        let kept = records("cg-filter", &["logcrate", &input]);
        let is_record = |record: &&Value| {
            !["run", "end", "snapshot"].contains(&record["type"].as_str().unwrap())
        };
        assert!(kept.iter().filter(is_record).count() > 0, "{input}");
    }
}

#[test]
fn only_option_gives_the_same_verdict_for_log_and_xml() {
    for input in ["names/rust/err.log", "names/rust/err.xml"] {
        let run = tools::run("leak-check", &["--only", "^logcrate::", input], b"");
        assert_eq!(run.status, 1, "{input}");
        let run = tools::run("leak-check", &["--only", "^nowhere::", input], b"");
        assert_eq!(run.status, 2, "{input}");
        assert!(
            run.stderr.contains(
                "--only \"^nowhere::\" matches no frame of any finding; findings excluded: 1;"
            ),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn only_option_matches_displayed_file_names() {
    // Place the crate's paths below a root.
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let xml = std::fs::read_to_string(data("names/rust/leaky-test.xml")).unwrap();
    let xml = xml.replace("/home/dev/work/logcrate", root.to_str().unwrap());
    std::fs::write(root.join("leaky.xml"), xml).unwrap();
    let status = |only: &str, pattern: &str| {
        let status = tools::command("leak-check")
            .args([only, pattern, "leaky.xml"])
            .current_dir(&root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap().code()
    };
    assert_eq!(status("--only", "^src/"), Some(1));
    assert_eq!(
        status("--only", &format!("^{}/src/", root.display())),
        Some(1)
    );
    assert_eq!(status("--only", "^elsewhere/"), Some(2));
    // The test binary is also below the root, but it is not a source file.
    assert_eq!(status("--only", "/deps/"), Some(2));
    assert_eq!(status("--only-obj", "/deps/"), Some(1));
}

/// A folder with a compiled program of the test data.
struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    fn build(source: &str, options: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let compiler = match source.ends_with(".rs") {
            true => "rustc",
            false => "g++",
        };
        let status = needs::command(compiler)
            .args(options)
            .arg("-o")
            .arg(folder.path().join("program"))
            .arg(data(source))
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{compiler} {options:?}");
        Program { folder }
    }

    fn valgrind(&self, options: &[&str]) {
        let status = needs::command("valgrind")
            .args(options)
            .arg("./program")
            .current_dir(&self.folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{options:?}");
    }

    fn records(&self, file: &str) -> Vec<Value> {
        let path = self.folder.path().join(file);
        assert!(Path::new(&path).exists());
        records("cg-parse", &[path.to_str().unwrap()])
    }
}

/// Returns the blamed functions of records of these types, by the addresses of the stack.
fn blame_by_stack(records: &[Value], types: &[&str]) -> std::collections::BTreeMap<String, Value> {
    records
        .iter()
        .filter(|record| types.contains(&record["type"].as_str().unwrap()))
        .map(|record| {
            let addresses = record["stack"].as_array().unwrap().iter();
            let addresses: Vec<&str> = addresses
                .filter_map(|frame| frame["addr"].as_str())
                .collect();
            (addresses.join(" "), record["fn"].clone())
        })
        .collect()
}

#[test]
fn log_and_xml_of_a_run_blame_the_same_function() {
    needs!("gcc", "g++", "valgrind");
    const LEAKS: [&str; 3] = [
        "--leak-check=full",
        "--show-leak-kinds=all",
        "--num-callers=40",
    ];
    for (source, options, own) in [
        ("names/twins.rs", &["-g", "--edition=2021"][..], "twins::"),
        ("names/twins.rs", &["-g", "-O"], "twins::"),
        (
            "names/twins.rs",
            &["-Cdebuginfo=line-tables-only", "-O"],
            "twins::",
        ),
        ("names/twins.cpp", &["-g", "-w", "-std=c++17"], ""),
        ("names/twins.cpp", &["-g", "-w", "-std=c++17", "-O2"], ""),
    ] {
        let program = Program::build(source, options);
        program.valgrind(&[&LEAKS[..], &["--log-file=log"]].concat());
        program.valgrind(&[&LEAKS[..], &["--xml=yes", "--xml-file=xml"]].concat());
        let types = ["leak", "error"];
        let log = blame_by_stack(&program.records("log"), &types);
        let xml = blame_by_stack(&program.records("xml"), &types);
        assert!(log.len() > 10, "{source} {options:?}: {}", log.len());
        assert_eq!(log, xml, "{source} {options:?}");
        let is_own = |name: &&Value| {
            let name = name.as_str().unwrap();
            match own {
                "" => ["app::", "main", "compare"]
                    .iter()
                    .any(|own| name.starts_with(own)),
                own => name.contains(own),
            }
        };
        // Only Rust's start code and the memory of system libraries are not blamed on the program.
        let others: Vec<&Value> = log.values().filter(|name| !is_own(name)).collect();
        assert!(others.len() <= 2, "{source} {options:?}: {others:?}");
    }
}

#[test]
fn heap_profilers_blame_functions_of_the_program() {
    needs!("gcc", "g++", "valgrind");
    let program = Program::build("names/twins.rs", &["-g", "-O"]);
    program.valgrind(&["--tool=dhat", "--num-callers=40", "--dhat-out-file=dhat"]);
    program.valgrind(&[
        "--tool=massif",
        "--depth=40",
        "--threshold=0",
        "--massif-out-file=massif",
    ]);
    for (file, kind) in [("dhat", "program_point"), ("massif", "heap")] {
        let blamed: BTreeSet<String> = blame_by_stack(&program.records(file), &[kind])
            .values()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        for function in ["twins::leak_map", "twins::leak_set", "twins::leak_tree"] {
            assert!(blamed.contains(function), "{file}: {blamed:?}");
        }
        let is_inner = |name: &&String| {
            name.starts_with("alloc::")
                || name.starts_with("hashbrown::")
                || name.contains("alloc::alloc::Global")
        };
        // The library's own memory has no frame of the program.
        assert!(
            blamed.iter().filter(is_inner).count() <= 3,
            "{file}: {blamed:?}"
        );
    }
}

#[test]
fn demangled_names_of_cpp_agree_with_those_of_binutils() {
    needs!("g++");
    let folder = tempfile::tempdir().unwrap();
    let programs = [
        data("names").join("modern.cpp"),
        workspace().join("crates/cg-debug-info/tests/programs/heavy.cpp"),
    ];
    for (number, program) in programs.iter().enumerate() {
        let program = program.display();
        shell(
            folder.path(),
            &format!(
                "g++ -std=c++20 -O0 '{program}' -o program{number}; nm program{number} >> symbols"
            ),
        );
    }
    shell(
        folder.path(),
        "awk '$2 ~ /[TtWw]/ && $3 ~ /^_Z/ {print $3}' symbols | sort -u > mangled; c++filt < mangled > demangled",
    );
    let lines = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let (mangled, theirs) = (lines("mangled"), lines("demangled"));
    // The innermost frame numbers the stacks, because two constructors of a class have the same name.
    let stacks: Vec<String> = mangled
        .iter()
        .enumerate()
        .map(|(number, name)| format!("{name};number{number} 1\n"))
        .collect();
    let stream = tools::stdout(
        "cg-parse",
        &["--from", "folded"],
        stacks.concat().as_bytes(),
    );
    let stream = String::from_utf8(stream).unwrap();
    let mut ours = vec![String::new(); mangled.len()];
    for record in stream.lines() {
        let record: Value = serde_json::from_str(record).unwrap();
        if record["type"] == "stack" {
            let frame = |index: usize| record["stack"][index]["fn"].as_str().unwrap();
            let number: usize = frame(0)["number".len()..].parse().unwrap();
            ours[number] = frame(1).to_owned();
        }
    }
    let left = ours.iter().filter(|name| name.starts_with("_Z")).count();
    // c++filt leaves many constrained templates mangled, and prints their clauses.
    let known = ours
        .iter()
        .zip(&theirs)
        .filter(|(_, theirs)| !theirs.starts_with("_Z"));
    let known: Vec<_> = known
        .map(|(ours, theirs)| (ours.as_str(), theirs.split(" requires ").next().unwrap()))
        .collect();
    let different: Vec<_> = known
        .iter()
        .filter(|(ours, theirs)| ours != theirs)
        .collect();
    assert!(left <= 1, "{ours:#?}");
    assert!(known.len() > 600, "{}", known.len());
    assert!(different.len() * 100 <= known.len() * 3, "{different:#?}");
}
