//! `--exe`: names from a program that the profile does not identify.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cg_parse::{Options, Search};
use cg_stream::Diagnostics;
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    workspace.join("tests/data").join(name)
}

/// Returns the stacks of a profile, and the messages.
fn read(profile: &str, exe: Option<PathBuf>) -> (Vec<Value>, Vec<String>) {
    let options = Options {
        search: Search {
            exe,
            ..Search::default()
        },
        ..Options::default()
    };
    let messages = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&messages);
    let mut diagnostics =
        Diagnostics::to(move |message, _| log.lock().unwrap().push(message.to_owned()));
    let mut output = Vec::new();
    let inputs = [data(profile)];
    cg_parse::parse(&inputs, None, &options, &mut output, &mut diagnostics).unwrap();
    drop(diagnostics);
    let lines = String::from_utf8(output).unwrap();
    let records = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let stacks = records.filter(|record: &Value| record["type"] == "stack");
    let messages = Arc::into_inner(messages).unwrap().into_inner().unwrap();
    (stacks.collect(), messages)
}

/// Returns the inclusive samples of each function of the program.
fn samples(stacks: &[Value]) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for stack in stacks {
        let frames = stack["stack"].as_array().unwrap();
        let mut names: Vec<&str> = frames
            .iter()
            .map(|frame| frame["fn"].as_str().unwrap())
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| !name.contains('+')) {
            *found.entry(name.to_owned()).or_default() +=
                stack["cost"]["samples"].as_u64().unwrap();
        }
    }
    found
}

/// The same samples in the formats of gperftools and pprof, both without a build id.
const PROFILES: [&str; 2] = ["exe/gperftools.cpu", "exe/gperftools.pb.gz"];

#[test]
fn exe_supplies_the_names_that_a_profile_lacks() {
    let program = Some(data("exe/program.unstripped"));
    // The counts of google-pprof.
    let expected = [
        ("_start", 146),
        ("crunch", 146),
        ("descend", 45),
        ("main", 146),
        ("middle", 94),
    ];
    let expected = expected.map(|(name, samples)| (name.to_owned(), samples));
    for profile in PROFILES {
        let (stacks, messages) = read(profile, program.clone());
        assert_eq!(samples(&stacks), BTreeMap::from(expected.clone()));
        assert_eq!(
            messages
                .iter()
                .filter(|message| message.contains("--exe"))
                .count(),
            0
        );
    }
    // The profile that pprof wrote with names has the same samples.
    let (stacks, _) = read("pprof/gperftools.raw", None);
    for (name, count) in samples(&stacks) {
        assert!(
            name.starts_with("__libc_start")
                || samples(&read("exe/gperftools.cpu", program.clone()).0)[&name] == count,
            "{name}"
        );
    }
}

#[test]
fn callers_of_allocators_are_blamed_for_allocations() {
    let (stacks, messages) = read("exe/jemalloc.heap", Some(data("exe/program.unstripped")));
    assert_eq!(messages, [""; 0]);
    let is_hold = |stack: &&Value| stack["fn"] == "hold";
    let bytes = |stack: &Value| stack["cost"]["inuse_space"].as_u64().unwrap();
    let held: u64 = stacks.iter().filter(is_hold).map(bytes).sum();
    // 10,253,286 and 3,072,200 bytes of two callers, each truncated to an integer.
    assert_eq!(held, 13_325_486);
}

#[test]
fn a_message_suggests_exe_if_names_are_missing() {
    for (exe, expected) in [
        (
            None,
            "12 addresses of native have no names in the profile; cg-parse --exe PROGRAM FILE looks up names in the program",
        ),
        (Some(data("README.md")), "--exe "),
    ] {
        for profile in PROFILES {
            let (stacks, messages) = read(profile, exe.clone());
            assert_eq!(samples(&stacks), BTreeMap::new());
            assert!(
                messages.iter().any(|message| message.contains(expected)),
                "{messages:?}"
            );
        }
    }
}

#[test]
fn a_profile_of_gprof_has_the_figures_of_gprof() {
    let parse = |exe: Option<PathBuf>, name: &str| {
        let options = Options {
            calls: true,
            search: Search {
                exe,
                ..Search::default()
            },
            ..Options::default()
        };
        let mut diagnostics = Diagnostics::to(|_, _| {});
        let mut output = Vec::new();
        let inputs = [data(name)];
        cg_parse::parse(&inputs, None, &options, &mut output, &mut diagnostics).unwrap();
        let errors = diagnostics.errors().join("\n");
        let text = String::from_utf8(output).unwrap();
        let records: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        (records, errors)
    };
    let (records, errors) = parse(None, "gprof/tally.gmon");
    assert!(
        records.is_empty() && errors.contains("cg-parse --exe PROGRAM gmon.out"),
        "{errors}"
    );
    let (records, errors) = parse(Some(data("stacks/before.folded")), "gprof/tally.gmon");
    assert!(records.is_empty() && errors.contains("--exe "), "{errors}");
    // As `gprof -b tally gmon.out` prints them: seconds and calls, and the calls between functions.
    for (exe, name) in [
        (Some(data("gprof/tally")), "gprof/tally.gmon"),
        (None, "gprof/2.40-tally.txt"),
        (None, "gprof/2.40-tally-explained.txt"),
        (None, "gprof/2.40-tally-graph.txt"),
    ] {
        let (records, errors) = parse(exe, name);
        assert_eq!(errors, "", "{name}");
        for (function, hundredths, calls) in [
            ("grind", 68, 1501),
            ("sift", 18, 2400),
            ("idle", 0, 900),
            ("batch", 0, 300),
            ("main", 0, 0),
        ] {
            let is_it = |record: &&Value| record["type"] == "fn" && record["fn"] == function;
            let record = records.iter().find(is_it).unwrap();
            let time = record["cost"]["time"].as_u64().unwrap();
            let expected = hundredths * 10_000_000u64;
            assert!(
                time.abs_diff(expected) <= 20_000_000,
                "{name} {function}: {time}"
            );
            assert_eq!(record["calls"], calls, "{name} {function}");
        }
        for (caller, callee, calls) in [
            ("main", "batch", 300),
            ("main", "idle", 900),
            ("main", "grind", 1),
            ("batch", "grind", 1500),
            ("batch", "sift", 1500),
            ("idle", "sift", 900),
        ] {
            let is_it = |record: &&Value| {
                (&record["type"], &record["fn"], &record["callee"]["fn"])
                    == (&"call".into(), &caller.into(), &callee.into())
            };
            let record = records.iter().find(is_it).unwrap();
            assert_eq!(record["calls"], calls, "{name}: {caller} to {callee}");
        }
    }
}
