//! A history of profiles: files by label, names that are stable across builds, and the queries of `examples/fleet`.
//!
//! The queries run in the real engines: DuckDB and PySpark.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use needs::needs;
use serde_json::Value;
use tests::tools::{self, run, stdout};
use tests::workspace;

fn records(stream: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(stream).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(fs::File::open(path).unwrap())
        .read_to_end(&mut text)
        .unwrap();
    text
}

/// Returns the files below a folder, unpacked, by their relative paths.
fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let below = files_below(&entry.path()).into_iter();
            files.extend(below.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            files.insert(name, unpacked(&entry.path()));
        }
    }
    files
}

#[test]
fn partitioned_stream_is_unchanged_in_the_folder_of_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("profiles");
    let labels = ["--label", "commit=4f/2a", "--label", "bench=parse"];
    let profile = "pair/before.callgrind.out";
    let stream = stdout("cg-parse", &[&labels[..], &[profile]].concat(), b"");
    let labels_of_run = &records(&stream)[0]["labels"];
    assert_eq!(labels_of_run["commit"], "4f/2a");
    assert_eq!(labels_of_run["bench"], "parse");

    let output = ["-o", to.to_str().unwrap(), "--partition-by", "commit,bench"];
    let written = run(
        "cg-parse",
        &[&labels[..], &output, &[profile]].concat(),
        b"",
    );
    assert_eq!(
        (written.status, written.stdout.len()),
        (0, 0),
        "{}",
        written.stderr
    );
    let path = "commit=4f%2F2a/bench=parse/profile.jsonl.gz".to_owned();
    assert_eq!(files_below(&to), BTreeMap::from([(path, stream)]));
}

#[test]
fn directory_of_benchmarks_is_written_as_one_file_per_benchmark() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    for bench in ["one", "two"] {
        let at = results.join(bench);
        fs::create_dir_all(&at).unwrap();
        let name = at.join(format!("callgrind.{bench}.out"));
        fs::copy(tests::data("pair/before.callgrind.out"), name).unwrap();
    }
    let to = folder.path().join("profiles");
    let written = run(
        "cg-parse",
        &[
            "--label=commit=1",
            "--partition-by=commit,bench",
            "-o",
            to.to_str().unwrap(),
            results.to_str().unwrap(),
        ],
        b"",
    );
    assert_eq!(written.status, 0, "{}", written.stderr);
    let files = files_below(&to);
    assert_eq!(
        Vec::from_iter(files.keys()),
        [
            "commit=1/bench=one/profile.jsonl.gz",
            "commit=1/bench=two/profile.jsonl.gz"
        ]
    );
    for stream in files.values() {
        assert_eq!(records(stream)[0]["total"]["Ir"], 6_115_676);
    }
}

/// Either all files are written or none. The first profile is complete, the second is truncated.
#[test]
fn no_file_is_written_if_one_profile_is_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let args = [
        "--per-part",
        "--label=commit=1",
        "--partition-by=commit",
        "-o",
        to,
    ];
    let profiles = [
        "massif/3.19.0-heapy_i.massif.out",
        "callgrind/3.19.0-truncated_midwrite.callgrind.out",
    ];
    let written = run("cg-parse", &[&args[..], &profiles].concat(), b"");
    assert_eq!(written.status, 2);
    assert!(
        written.stderr.contains("was not written"),
        "{}",
        written.stderr
    );
    assert_eq!(files_below(folder.path()), BTreeMap::new());
}

/// Two builds of the same source get the same names and the same figures.
#[test]
fn stable_names_are_the_same_in_every_build() {
    let build = |hash: &str, clone: &str, folder: &str| {
        format!(
            "events: Ir\nob=/{folder}/target/release/demo\nfl=/{folder}/src/main.rs\n\
             fn=demo::parse::h{hash}\n3 70\ncfi=/{folder}/src/lib.rs\ncfn=demo::read::{{closure#{clone}}}\ncalls=2 4\n3 30\n\
             fl=/{folder}/src/lib.rs\nfn=demo::read::{{closure#{clone}}}\n4 30\n\
             ob=/lib/libc-2.{clone}1.so\nfl=/{folder}/malloc.c\nfn=_int_free.constprop.{clone}\n9 11\n"
        )
    };
    let old = build("0123456789abcdef", "1", "home/a");
    let new = build("fedcba9876543210", "2", "build/b/c");
    let parse = |text: &str, more: &[&str]| {
        stdout(
            "cg-parse",
            &[&["--calls", "--lines"], more].concat(),
            text.as_bytes(),
        )
    };
    let stable = parse(&old, &["--stable-names"]);
    assert_eq!(stable, parse(&new, &["--stable-names"]));
    assert_ne!(parse(&old, &[]), parse(&new, &[]));
    let names = |record: &Value| {
        let place = |value: &Value| {
            ["fn", "file", "obj"].map(|key| value[key].as_str().unwrap().to_owned())
        };
        [place(record), place(&record["callee"])]
    };
    let calls: Vec<_> = records(&stable)
        .iter()
        .filter(|record| record["type"] == "call")
        .map(names)
        .collect();
    let text = |names: [&str; 3]| names.map(str::to_owned);
    assert_eq!(
        calls,
        [[
            text(["demo::parse", "main.rs", "demo"]),
            text(["demo::read::{closure}", "lib.rs", "demo"])
        ]]
    );
}

/// In real profiles of all kinds, the number of records and the figures stay the same.
#[test]
fn stable_names_change_only_names() {
    let mut changed = BTreeSet::new();
    for profile in [
        "pair/before.callgrind.out",
        "massif/3.19.0-heapy_i.massif.out",
        "dhat/3.19.0-inl.dhat.json",
        "memcheck/3.27.1-leaky.xml",
        "memcheck/3.27.1-helgrind_threads2.log",
    ] {
        let plain = records(&stdout("cg-parse", &[profile], b""));
        let stable = records(&stdout("cg-parse", &["--stable-names", profile], b""));
        assert_eq!(plain.len(), stable.len(), "{profile}");
        for (plain, stable) in plain.iter().zip(&stable) {
            for (key, value) in plain.as_object().unwrap() {
                if stable[key] != *value {
                    changed.insert(key.clone());
                }
            }
        }
    }
    let names = ["fn", "file", "obj", "stack", "notes"].map(str::to_owned);
    assert_eq!(changed, BTreeSet::from(names));
}

/// Both engines find a step at every position of a history, and the regression of every branch.
#[test]
fn steps_are_found_at_every_position_and_regressions_in_every_branch() {
    needs!("python", "duckdb", "spark");
    let folder = tempfile::tempdir().unwrap();
    let check = Command::new(workspace().join("examples/fleet/check-positions"))
        .arg(folder.path())
        .env("PATH", tools::path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&[check.stdout, check.stderr].concat()).into_owned();
    assert!(check.status.success(), "{output}");
    for engine in ["duckdb", "spark"] {
        for what in ["15 steps at all 11 positions", "regression of o'brien"] {
            assert!(
                output.contains(&format!("same: {engine}: {what}")),
                "{output}"
            );
        }
    }
}

/// DuckDB, Spark, cg-fmt and cg-diff give the same results for a folder of profiles, and find the planted regressions.
#[test]
fn both_engines_agree_with_the_tools() {
    needs!("python", "duckdb", "spark");
    let folder = tempfile::tempdir().unwrap();
    // Two thousand or two hundred profiles: commits times benchmarks, plus the check for leaks.
    let [commits, benches] = needs::size(["100", "19"], ["25", "7"]);
    let check = Command::new(workspace().join("examples/fleet/check"))
        .arg(folder.path())
        .args(["--commits", commits, "--benches", benches])
        .env("PATH", tools::path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&[check.stdout, check.stderr].concat()).into_owned();
    assert!(check.status.success(), "{output}");
    for what in [
        "steps",
        "regressions",
        "new leaks",
        "crates of cg-fmt",
        "of cg-diff",
    ] {
        assert!(output.contains(what), "{output}");
    }
}
