//! Names of inlined functions: one row per function, and messages about unknown inlining. The first lines of the programs
//! document their costs.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::tools::{self, Run};
use tests::{shell, workspace};

/// Runs a command in a new folder. The command can use `profile PROGRAM FILE OPTIONS…`.
fn made(command: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs = workspace().join("crates/cg-debug-info/tests/programs");
    for entry in std::fs::read_dir(programs).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
    }
    let profile =
        "profile() { valgrind -q --tool=callgrind --callgrind-out-file=$2 ${@:3} $1 > out; }";
    shell(folder.path(), &format!("{profile}\n{command}"));
    folder
}

fn run(tool: &str, folder: &TempDir, args: &[&str]) -> (Run, Vec<Value>) {
    let path = |arg: &&str| match folder.path().join(arg) {
        path if path.exists() => path.display().to_string(),
        _ => (*arg).to_owned(),
    };
    let args: Vec<String> = args.iter().map(path).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = tools::run(tool, &args, b"");
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    let lines = run.stdout.split(|byte| *byte == b'\n');
    let records = lines.filter(|line| !line.is_empty());
    let records = records
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    (run, records)
}

/// Returns the self cost of inlined functions with this text in their names, by name and file.
fn inlined(records: &[Value], name: &str) -> BTreeMap<(String, String), u64> {
    let mut costs = BTreeMap::new();
    for record in records
        .iter()
        .filter(|record| record["type"] == "inline" && record["ambiguous"].is_null())
    {
        let is_inlined = record["stack"].as_array().unwrap().len() > 1;
        let called = record["fn"].as_str().unwrap();
        if is_inlined && called.contains(name) {
            let file = record["file"]
                .as_str()
                .unwrap_or("")
                .rsplit('/')
                .next()
                .unwrap();
            *costs
                .entry((called.to_owned(), file.to_owned()))
                .or_insert(0) += record["cost"]["Ir"].as_u64().unwrap();
        }
    }
    costs
}

/// Returns true if a cost is the number of nops, or at most a sixth more for the surrounding instructions.
fn is_about(cost: u64, nops: u64) -> bool {
    (nops..=nops + nops / 6).contains(&cost)
}

#[test]
fn function_and_its_clone_have_the_same_name() {
    needs!("gcc", "g++", "valgrind");
    let folder = made("g++ -O2 -g mixed.cpp -o mixed; profile ./mixed mixed.cg --dump-instr=yes");
    let (_, records) = run("cg-parse", &folder, &["--inline", "mixed.cg"]);
    let names: BTreeSet<&str> = (records.iter())
        .filter(|record| record["type"] == "inline")
        .filter_map(|record| record["fn"].as_str())
        .filter(|name| name.contains("weigh"))
        .collect();
    assert_eq!(names, BTreeSet::from(["app::weigh(int, int)"]));
    let lambdas = inlined(&records, "main::{lambda(int)#");
    let costs: Vec<u64> = lambdas.values().copied().collect();
    assert!(
        lambdas.keys().all(|(_, file)| file == "mixed.cpp"),
        "{lambdas:?}"
    );
    assert!(
        matches!(costs[..], [a, b] if is_about(a, 3_000) && (6_000..8_400).contains(&b)),
        "{lambdas:?}"
    );
}

#[test]
fn functions_match_between_builds_with_different_inlining() {
    needs!("gcc", "g++", "valgrind");
    let build = |how: &str| {
        format!(
            "mkdir {how}; g++ -w -O2 -g -DHOW={how} join.cpp -o {how}/join; profile {how}/join {how}.cg --dump-instr=yes"
        )
    };
    let folder = made(&["always_inline", "noinline"].map(build).join("\n"));
    for order in [
        ["always_inline.cg", "noinline.cg"],
        ["noinline.cg", "always_inline.cg"],
    ] {
        let (_, rows) = run(
            "cg-diff",
            &folder,
            &["--inline", "--all", order[0], order[1]],
        );
        let is_in_program = |row: &&Value| {
            row["fn"]
                .as_str()
                .is_some_and(|name| name.contains("weigh") || name.contains("hid("))
        };
        let rows: Vec<&Value> = rows.iter().filter(is_in_program).collect();
        assert_eq!(rows.len(), 2, "{rows:?}");
        for row in rows {
            assert!(
                ["same", "changed"].contains(&row["status"].as_str().unwrap()),
                "{row}"
            );
            let cost = [0, 1].map(|side| row["cost"]["Ir"][side].as_u64().unwrap());
            assert!(cost[0].abs_diff(cost[1]) * 10 <= cost[0], "{row}");
            assert!(row["guess"].is_null(), "{row}");
        }
    }
}

#[test]
fn closures_are_distinguished_and_records_are_unique() {
    needs!("valgrind");
    let folder = made(
        "rustc --edition 2021 -O -C debuginfo=1 closures.rs -o closures; profile ./closures closures.cg --dump-instr=yes",
    );
    let (_, records) = run("cg-parse", &folder, &["--inline", "closures.cg"]);
    let closures = inlined(&records, "closures::main::{closure#");
    let costs: Vec<u64> = closures.values().copied().collect();
    assert!(
        matches!(costs[..], [a, b] if is_about(a, 6_000) && (3_000..3_900).contains(&b)),
        "{closures:?}"
    );
    let mut keys = BTreeSet::new();
    for mut record in records
        .into_iter()
        .filter(|record| record["type"] == "inline")
    {
        let fields = record.as_object_mut().unwrap();
        fields.remove("cost");
        fields.remove("incl");
        assert!(keys.insert(record.to_string()), "{record}");
    }
}

#[test]
fn line_at_the_border_of_inlined_code_is_ambiguous() {
    needs!("gcc", "valgrind");
    let folder = made(
        "gcc -O2 -g -gno-column-info -gno-statement-frontiers -gno-variable-location-views oneline.c -o oneline; profile ./oneline lines.cg; profile ./oneline addresses.cg --dump-instr=yes",
    );
    let (_, records) = run("cg-parse", &folder, &["--inline", "addresses.cg"]);
    let exact = inlined(&records, "step").into_values().sum::<u64>();
    assert!((15_000..15_500).contains(&exact), "{exact}");
    let (_, records) = run("cg-parse", &folder, &["--inline", "lines.cg"]);
    let certain = inlined(&records, "step").into_values().sum::<u64>();
    let ambiguous = records
        .iter()
        .filter(|record| record["ambiguous"] == serde_json::json!(["host", "step"]));
    let ambiguous: u64 = ambiguous
        .map(|record| record["cost"]["Ir"].as_u64().unwrap())
        .sum();
    assert!(
        certain <= exact && certain + ambiguous >= 25_000,
        "{certain}, {ambiguous}"
    );
}

#[test]
fn missing_debug_files_are_reported_per_object() {
    needs!("gcc", "dwz", "valgrind");
    for (build, missing) in [
        (
            "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -c split.c -o split.o; gcc split.o -o prog",
            "split.dwo",
        ),
        (
            "gcc -O2 -g split.c -o prog; cp prog other; dwz -m common.debug prog other",
            "common.debug",
        ),
    ] {
        let folder = made(&format!("{build}; profile ./prog prog.cg --dump-instr=yes"));
        let program = folder
            .path()
            .join("prog")
            .canonicalize()
            .unwrap()
            .display()
            .to_string();
        let parse = || {
            let (run, records) = run("cg-parse", &folder, &["--inline", "prog.cg"]);
            let objects = records[0]["inlines"]["objects"].as_array().unwrap();
            let object = objects
                .iter()
                .find(|object| object["obj"] == *program)
                .unwrap()
                .clone();
            let resolved = records[0]["inlines"]["resolved"]["Ir"].as_u64().unwrap();
            let grind = inlined(&records, "grind").into_values().sum::<u64>();
            (run.stderr, object, resolved, grind)
        };
        let (_, whole, resolved, grind) = parse();
        assert!(
            whole["missing"].is_null() && is_about(grind, 20_000),
            "{whole} {grind}"
        );
        shell(folder.path(), &format!("mv {missing} away"));
        let (stderr, object, less, _) = parse();
        assert_eq!(object["missing"], serde_json::json!([missing]));
        assert!(stderr.contains(missing), "{stderr}");
        assert!(
            less > 0 && resolved - less >= 20_000,
            "{missing}: {less} of {resolved}"
        );
    }
}

#[test]
fn profiled_program_is_recognised_despite_name_spelling() {
    needs!("gcc", "g++", "valgrind");
    let folder = made(
        "g++ -std=c++17 -O2 -g pack.cpp -o pack; profile ./pack pack.cg --dump-instr=yes; profile ./pack lines.cg",
    );
    for (profile, most) in [("pack.cg", 464_000), ("lines.cg", 464_000)] {
        let (run, records) = run("cg-parse", &folder, &["--inline", profile]);
        let cost = |name: &str| inlined(&records, name).into_values().sum::<u64>();
        let costs = [cost("mixin<50>"), cost("mixin<30>")];
        assert!(
            (400_000..most).contains(&costs[0]) && (30_000..38_000).contains(&costs[1]),
            "{profile}: {costs:?} {}",
            run.stderr
        );
    }
}

#[test]
fn rebuilt_side_is_compared_without_inlining() {
    needs!("gcc", "valgrind");
    let folder = made(
        "mkdir old new; cp swap.c prog.c; gcc -O2 -g prog.c -o prog; cp prog old; profile ./prog old.cg --dump-instr=yes
         sed -i '7{h;d};8{G}' prog.c; gcc -O2 -g prog.c -o prog; cp prog new; profile ./prog new.cg --dump-instr=yes",
    );
    let (stale, records) = run("cg-parse", &folder, &["--inline", "old.cg"]);
    assert_eq!(inlined(&records, "code"), BTreeMap::new());
    assert!(stale.stderr.contains("prog"), "{}", stale.stderr);
    let costs = |rows: &[Value]| -> BTreeMap<String, String> {
        let program_rows = rows.iter().filter(|row| {
            ["run", "main", "encode", "decode"].contains(&row["fn"].as_str().unwrap_or(""))
        });
        program_rows
            .map(|row| (row["fn"].to_string(), row["cost"].to_string()))
            .collect()
    };
    let (unresolved, rows) = run(
        "cg-diff",
        &folder,
        &["--inline", "--all", "old.cg", "new.cg"],
    );
    assert!(
        unresolved.stderr.contains("--debug-root-old"),
        "{}",
        unresolved.stderr
    );
    let (_, plain) = run("cg-diff", &folder, &["--all", "old.cg", "new.cg"]);
    assert_eq!(costs(&rows), costs(&plain));
    let args = [
        "--inline",
        "--all",
        "--debug-root-old",
        "old",
        "--debug-root-new",
        "new",
        "old.cg",
        "new.cg",
    ];
    let (found, rows) = run("cg-diff", &folder, &args);
    assert!(!found.stderr.contains("are unknown"), "{}", found.stderr);
    let encode = rows.iter().find(|row| row["fn"] == "encode").unwrap();
    let cost = [0, 1].map(|side| encode["cost"]["Ir"][side].as_u64().unwrap());
    assert!(
        is_about(cost[0], 60_000) && cost[0].abs_diff(cost[1]) <= 20,
        "{encode}"
    );
}
