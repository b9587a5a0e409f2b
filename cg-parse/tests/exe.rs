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
            "12 addresses of native have no names in the profile; cg-parse --exe PROGRAM FILE looks them up in the program",
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
