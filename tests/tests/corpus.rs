//! Every profile in the test data must be readable, with the same sums as in an independent reader.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;

use cg_parse::FORMATS;
use tests::corpus::{self, Verdict};
use tests::data;

/// Truncated profiles.
const CUT: [&str; 3] = [
    "callgrind/3.19.0-truncated_midwrite.callgrind.out",
    "memcheck/3.27.1-drd_leaky_segv.log",
    "memcheck/3.27.1-drd_leaky_segv.xml",
];

/// Profiles that cg-parse refuses without the program that they belong to (`--exe`).
const WITHOUT_PROGRAM: [&str; 1] = ["gprof/tally.gmon"];

/// Returns true for files that accompany profiles: sources of programs, and documentation.
fn is_beside(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        ["c", "cpp", "md", "rs"]
            .iter()
            .any(|known| *known == extension)
    })
}

fn check_folder(format: &str) {
    let mut checked = 0;
    for entry in fs::read_dir(data(format)).unwrap() {
        let path = entry.unwrap().path();
        // cg-parse rejects streams, and the independent reader does not read recordings of perf.
        let name = path.to_str().unwrap();
        if name.ends_with(".jsonl.gz") || name.ends_with(".perf.data") {
            continue;
        }
        let verdict = corpus::check(&path);
        let name = format!("{format}/{}", path.file_name().unwrap().to_str().unwrap());
        match &verdict {
            Verdict::Refused(message) => {
                assert!(CUT.contains(&name.as_str()), "{name}: {message}");
            }
            Verdict::NoProfile => assert!(is_beside(&path), "{name}"),
            Verdict::Wrong(message) => panic!("{name}: {message}"),
            Verdict::Agrees(_) | Verdict::Unchecked => {
                assert!(!CUT.contains(&name.as_str()), "{name}: {verdict}");
                checked += 1;
            }
        }
    }
    assert!(checked > 0);
}

#[test]
fn every_format_agrees_with_the_independent_reader() {
    for format in FORMATS {
        for seed in tests::seeds(format) {
            let verdict = corpus::check(&seed);
            let is_read = matches!(verdict, Verdict::Agrees(_) | Verdict::Unchecked);
            let mut refused = CUT.iter().chain(&WITHOUT_PROGRAM);
            let is_refused = refused.any(|name| seed.ends_with(name));
            assert_ne!(is_read, is_refused, "{}: {verdict}", seed.display());
        }
    }
}

#[test]
fn callgrind_profiles_have_the_sums_of_their_cost_lines() {
    check_folder("pair");
    check_folder("callgrind");
}

#[test]
fn cachegrind_profiles_have_the_sums_of_their_cost_lines() {
    check_folder("cachegrind");
}

#[test]
fn massif_profiles_have_the_heap_of_their_peak() {
    check_folder("massif");
}

#[test]
fn dhat_profiles_have_the_sums_of_their_program_points() {
    check_folder("dhat");
}

#[test]
fn stacks_have_the_sums_of_their_samples() {
    check_folder("perf");
    check_folder("folded");
}

#[test]
fn documents_of_samplers_have_the_sums_of_their_weights() {
    for format in ["firefox", "speedscope", "v8", "chrome-trace", "gungraun"] {
        check_folder(format);
        // The independent reader must support all of these files.
        for entry in fs::read_dir(data(format)).unwrap() {
            let path = entry.unwrap().path();
            let verdict = corpus::check(&path);
            assert!(matches!(verdict, Verdict::Agrees(_)), "{path:?}: {verdict}");
        }
    }
}

#[test]
fn logs_and_xml_have_the_sums_of_their_leak_summaries() {
    check_folder("memcheck");
}
