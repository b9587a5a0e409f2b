//! Every profile of the test data is read, with the sums that a reader finds which shares no code with cg-parse.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;

use cg_parse::FORMATS;
use tests::corpus::{self, Verdict};
use tests::data;

/// Profiles that end before their end.
const CUT: [&str; 3] = [
    "callgrind/3.19.0-truncated_midwrite.callgrind.out",
    "memcheck/3.27.1-drd_leaky_segv.log",
    "memcheck/3.27.1-drd_leaky_segv.xml",
];

/// What lies beside profiles: the programs they are of, and where they are from.
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
        // A stream is what cg-parse writes, and nothing for it to read; perf's own recordings are for perf.
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
fn every_format_is_read_and_has_the_sums_of_a_second_reader_that_knows_it() {
    for format in FORMATS {
        for seed in tests::seeds(format) {
            let verdict = corpus::check(&seed);
            let is_read = matches!(verdict, Verdict::Agrees(_) | Verdict::Unchecked);
            let is_cut = CUT.iter().any(|cut| seed.ends_with(cut));
            assert_ne!(is_read, is_cut, "{}: {verdict}", seed.display());
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
        // Each of them is added up, and not only read.
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
