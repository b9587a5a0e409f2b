//! Real recordings of heaptrack. Compares the totals and the inclusive costs of functions with `heaptrack_print`: its
//! summary, and its folded stacks for flame graphs.
//!
//! The printer omits frames outside `main`, shortens templates and reorders inlined frames, but its stacks have the right
//! set of functions.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use needs::needs;
use serde_json::Value;
use tests::{data, tools};

/// Functions of `shapes.cpp`.
const FUNCTIONS: [&str; 7] = [
    "main",
    "leak()",
    "churn()",
    "twice()",
    "outermost(unsigned long)",
    "innermost",
    "descend(int)",
];

/// The key for all functions together.
const ALL: &str = "all";

const EVENTS: [(&str, &str); 4] = [
    ("allocations", "allocations"),
    ("temporary", "temporary"),
    ("leaked", "leaked_bytes"),
    ("peak", "peak_bytes"),
];

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles `shapes.cpp` with this option, and records a run with these arguments.
fn record(folder: &Path, optimisation: &str, arguments: &[&str]) -> PathBuf {
    let program = folder.join("shapes");
    let compiled = needs::command("g++")
        .args(["-g", optimisation, "-o"])
        .args([&program, &data("heaptrack/shapes.cpp")])
        .status();
    assert!(compiled.unwrap().success());
    let recording = folder.join("recording");
    run(needs::command("heaptrack")
        .arg("-o")
        .arg(&recording)
        .arg(&program)
        .args(arguments));
    // heaptrack uses any installed packer.
    let packed = ["zst", "gz"].map(|packer| recording.with_extension(packer));
    packed.into_iter().find(|path| path.exists()).unwrap()
}

/// Inclusive counts of an event by function, and the count of all stacks under [`ALL`].
type Costs = BTreeMap<String, i64>;

fn add(costs: &mut Costs, functions: &BTreeSet<&str>, count: i64) {
    let own = functions
        .iter()
        .filter(|function| FUNCTIONS.contains(function));
    for function in own.chain([&ALL]) {
        *costs.entry((*function).to_owned()).or_default() += count;
    }
}

/// Reads the folded stacks of heaptrack_print: `main (shapes.cpp);leak() (shapes.cpp); 2`.
fn printed(recording: &Path, cost_type: &str) -> Costs {
    let folded = recording.with_extension(cost_type);
    run(needs::command("heaptrack_print")
        .arg("--disable-builtin-suppressions")
        .args(["--flamegraph-cost-type", cost_type, "-F"])
        .args([&folded, &recording.to_owned()]));
    let mut costs = Costs::new();
    for line in std::fs::read_to_string(folded).unwrap().lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let functions = stack.split(';').map(|frame| {
            let place = frame.rfind(" (").unwrap_or(frame.len());
            &frame[..place]
        });
        add(&mut costs, &functions.collect(), count.parse().unwrap());
    }
    costs
}

/// Reads the costs from cg-parse. Returns them with the `run` record.
fn parsed(recording: &Path, event: &str) -> (Costs, Value) {
    let stream = tools::run("cg-parse", &[recording.to_str().unwrap()], b"");
    assert_eq!(stream.status, 0, "{}", stream.stderr);
    let mut costs = Costs::new();
    let mut run = Value::Null;
    for line in stream.text().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        match record["type"].as_str() {
            Some("run") => run = record,
            Some("program_point") => {
                let frames = record["stack"].as_array().unwrap();
                let functions = frames.iter().filter_map(|frame| frame["fn"].as_str());
                let count = record["cost"][event].as_i64().unwrap_or(0);
                add(&mut costs, &functions.collect(), count);
            }
            _ => {}
        }
    }
    (costs, run)
}

/// Checks that the `heap` records of each snapshot sum to the snapshot, and that the peak agrees with the total.
fn check_trees(recording: &Path) {
    let path = recording.to_str().unwrap();
    let stream = tools::run("cg-parse", &["--snapshots", "all", path], b"");
    assert_eq!(stream.status, 0, "{}", stream.stderr);
    let mut snapshots: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut run = Value::Null;
    for line in stream.text().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let number = record["snapshot"].as_u64().unwrap_or_default();
        match record["type"].as_str() {
            Some("run") => run = record,
            Some("snapshot") if record["detail"] != "empty" => {
                let level = record["heap_bytes"].as_u64().unwrap();
                snapshots.insert(number, (level, 0));
            }
            Some("heap") => {
                let sum = &mut snapshots.get_mut(&number).unwrap().1;
                *sum += record["cost"]["bytes"].as_u64().unwrap();
            }
            _ => {}
        }
    }
    assert!(snapshots.len() > 1, "{snapshots:?}");
    for (snapshot, (level, sum)) in &snapshots {
        assert_eq!(level, sum, "snapshot {snapshot}");
    }
    let all: u64 = snapshots.values().map(|(_, sum)| sum).sum();
    assert_eq!(run["total"]["bytes"], all);
    let peak = snapshots.values().map(|(level, _)| *level).max();
    assert_eq!(run["total"]["peak_bytes"].as_u64(), peak);
}

fn check(recording: &Path) {
    check_trees(recording);
    let summary = run(needs::command("heaptrack_print").arg(recording));
    for (cost_type, event) in EVENTS {
        let expected = printed(recording, cost_type);
        let (mut found, run) = parsed(recording, event);
        // The printer omits stacks without a cost.
        found.retain(|function, count| *count != 0 || expected.contains_key(function));
        assert_eq!(found, expected, "{event}");
        assert!(expected["main"] > 0 || event == "temporary", "{event}");
        assert_eq!(run["total"][event], expected[ALL], "{event}");
        let line = match event {
            "allocations" => format!("calls to allocation functions: {} ", expected[ALL]),
            "temporary" => format!("temporary memory allocations: {} ", expected[ALL]),
            _ => continue,
        };
        assert!(summary.contains(&line), "{summary}");
    }
}

#[test]
fn costs_of_a_recording_agree_with_heaptrack_print() {
    needs!("g++", "heaptrack");
    let folder = tempfile::tempdir().unwrap();
    for optimisation in ["-O0", "-O2"] {
        check(&record(folder.path(), optimisation, &[]));
    }
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.zst");
    std::fs::copy(data("heaptrack/1.4.0-shapes.zst"), &copy).unwrap();
    check(&copy);
}

#[test]
fn recording_of_a_killed_program_is_read() {
    needs!("g++", "heaptrack");
    let folder = tempfile::tempdir().unwrap();
    let recording = record(folder.path(), "-O2", &["killed"]);
    check(&recording);
    let whole = tools::run("cg-parse", &[recording.to_str().unwrap()], b"");
    assert!(
        whole.stderr.contains("did not exit normally"),
        "{}",
        whole.stderr
    );
    // A truncated file gives fewer allocations, no `end` record and an error.
    let bytes = std::fs::read(&recording).unwrap();
    // A gzip file ends with a checksum, so more has to be cut to lose data.
    let is_gzip = recording.extension().is_some_and(|packer| packer == "gz");
    let kept = bytes.len() - if is_gzip { bytes.len() / 4 } else { 10 };
    let cut = tools::run("cg-parse", &["-"], &bytes[..kept]);
    assert_eq!(cut.status, 2);
    assert!(cut.stderr.contains("data ends early"), "{}", cut.stderr);
    assert!(!cut.text().contains("\"type\":\"end\""));
    let total = |text: &str| {
        let run: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        run["total"]["allocations"].as_i64().unwrap()
    };
    assert!((1..total(whole.text())).contains(&total(cut.text())));
}
