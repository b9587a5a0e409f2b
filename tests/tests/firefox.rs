//! Tests that read cg-fmt's output for the Firefox Profiler with `readers/firefox_profile.py`. That reader is based only on
//! the published documentation of the format, because the profiler's own loader is not published as a package.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::process::Output;

use needs::needs;
use serde_json::Value;
use tests::{tools, workspace};

/// Runs the reader on a profile.
fn read(profile: &[u8]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.json");
    std::fs::write(&path, profile).unwrap();
    let reader = workspace().join("tests/readers/firefox_profile.py");
    let output = needs::command("python3").arg(reader).arg(path).output();
    output.unwrap()
}

fn figures(profile: &[u8]) -> Value {
    let output = read(profile);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the output of a tool, and ignores warnings about data that is not kept.
fn written(tool: &str, arguments: &[&str]) -> Vec<u8> {
    let run = tools::run(tool, arguments, b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stdout
}

/// Returns the self and inclusive counts of an event by function, from cg-fmt, and the total of the stream.
fn listed(file: &str, event: &str) -> (BTreeMap<String, [i64; 2]>, i64) {
    let columns = format!("{event},incl.{event},fn");
    let arguments = ["-f", "csv", "--by", "fn", "--columns", &columns, file];
    let csv = written("cg-fmt", &arguments);
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let mut functions: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    for row in reader.records().map(|row| row.unwrap()) {
        let counts = [0, 1].map(|at| row[at].parse::<i64>().unwrap_or(0));
        let sums = functions.entry(row[2].to_owned()).or_default();
        *sums = [sums[0] + counts[0], sums[1] + counts[1]];
    }
    let stream = written("cg-parse", &[file]);
    let run: Value =
        serde_json::from_slice(stream.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    (functions, run["total"][event].as_i64().unwrap())
}

#[test]
fn totals_and_functions_agree_with_the_stream() {
    needs!("python");
    for (file, event, functions) in [
        (
            "stacks/before.folded",
            "samples",
            [
                "wordcount::insert",
                "wordcount::normalise",
                "wordcount::main",
            ],
        ),
        (
            "perf/6.1-busy.perf.txt",
            "cpu-clock",
            ["(anonymous namespace)::Sieve::primes", "mix", "deeper"],
        ),
        (
            "dhat/3.19.0-heapy.dhat.json",
            "total_bytes",
            ["ramp", "spike", "malloc"],
        ),
        (
            "pprof/go-cpu.pb.gz",
            "cpu",
            ["main.work", "main.inl", "runtime.asyncPreempt"],
        ),
    ] {
        let arguments = ["-f", "firefox", "--event", event, file];
        let found = figures(&written("cg-fmt", &arguments));
        let (expected, total) = listed(file, event);
        // Times are in ms.
        let unit = if event.starts_with("cpu") { 1e6 } else { 1.0 };
        let count = |found: &Value| (found.as_f64().unwrap_or(0.0) * unit).round() as i64;
        assert_eq!(count(&found["total"]), total, "{file}");
        for function in functions {
            let [own, inclusive] = expected[function];
            assert!(inclusive > 0, "{function} of {file}");
            let read = count(&found["inclusive"][function]);
            assert_eq!(read, inclusive, "{function} of {file}");
            // cg-fmt lists the self cost of an allocator at the blamed function.
            if function != "malloc" {
                let read = count(&found["self"][function]);
                assert_eq!(read, own, "{function} of {file}");
            }
        }
    }
}

#[test]
fn runs_of_a_diff_are_separate_threads() {
    needs!("python");
    let folded = b"main;a 10 30\nmain;b 20 20\nmain;gone 5 0\n";
    let found = figures(&tools::run("cg-fmt", &["-f", "firefox"], folded).stdout);
    assert_eq!(found["threads"], serde_json::json!(["before", "after"]));
    assert_eq!(found["total"], 85);
    assert_eq!(found["self"]["a"], 40);
    assert_eq!(found["self"]["gone"], 5);
    assert_eq!(found["inclusive"]["main"], 85);
}

#[test]
fn reader_accepts_foreign_profiles_and_rejects_invalid_ones() {
    needs!("python");
    // Computed by hand from the file: self costs of a 2, b 5, c 3 and d -4.
    let small = std::fs::read(tests::data("firefox/small-v55.json")).unwrap();
    let found = figures(&small);
    assert_eq!(found["total"], 6);
    assert_eq!(
        found["self"],
        serde_json::json!({"a": 2, "b": 5, "c": 3, "d": -4})
    );
    let written = written("cg-fmt", &["-f", "firefox", "stacks/before.folded"]);
    let written: Value = serde_json::from_slice(&written).unwrap();
    let changes: [(&str, Value); 5] = [
        ("/meta/preprocessedProfileVersion", 40.into()),
        ("/threads/0/pid", 7.into()),
        ("/threads/0/stackTable/prefix/0", 0.into()),
        ("/threads/0/frameTable/func/0", 1_000_000.into()),
        ("/threads/0/samples/weightType", "instructions".into()),
    ];
    for (pointer, value) in changes {
        let mut broken = written.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        let output = read(broken.to_string().as_bytes());
        assert!(!output.status.success(), "{pointer}");
    }
}
