//! The laws of FORMAT.md, checked on real profiles.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cg_parse::FORMATS;
use serde_json::Value;
use tempfile::TempDir;
use tests::data;
use tests::tools::{run, stdout};

/// More profiles: several levels of recursion, hostile names, negative costs, and a log of another tool.
const MORE: [&str; 4] = [
    "pair/before.callgrind.out",
    "callgrind/3.14.0-weird_default.callgrind.out",
    "cachegrind/3.19.0-diff_rec_O2.cgdiff.out",
    "memcheck/3.27.1-helgrind_threads2.log",
];

/// Returns a profile or log of each format, and the additional ones.
fn profiles() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.seeds[0]).chain(MORE)
}

fn stream(profile: &str) -> Vec<u8> {
    stdout("cg-parse", &[profile], b"")
}

fn records(stream: &[u8]) -> Vec<Value> {
    stream
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Sums a field with counts over all records of a type.
fn sums(records: &[Value], kind: &str, field: &str) -> BTreeMap<String, i128> {
    let mut sums = BTreeMap::new();
    for record in records.iter().filter(|record| record["type"] == kind) {
        for (event, count) in record[field].as_object().into_iter().flatten() {
            let count: i128 = count.to_string().parse().unwrap();
            *sums.entry(event.clone()).or_default() += count;
        }
    }
    sums.retain(|_, sum| *sum != 0);
    sums
}

/// Returns the output of cg-fmt, which may warn that it shows only one of several record types.
fn formatted(args: &[&str], input: &[u8]) -> String {
    let run = run("cg-fmt", args, input);
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn cost_sums_to_the_total() {
    for profile in profiles() {
        let records = records(&stdout("cg-parse", &["--lines", profile], b""));
        let total = sums(&records, "run", "total");
        for kind in ["fn", "line", "heap", "program_point", "stack"] {
            if records.iter().any(|record| record["type"] == kind) {
                assert_eq!(sums(&records, kind, "cost"), total, "{profile} {kind}");
            }
        }
    }
}

#[test]
fn end_record_counts_the_records() {
    for profile in profiles() {
        let records = records(&stdout("cg-parse", &["--lines", "--calls", profile], b""));
        for section in records.split_inclusive(|record| record["type"] == "end") {
            assert_eq!(section[0]["type"], "run", "{profile}");
            let end = section.last().unwrap();
            assert_eq!(end["type"], "end", "{profile}");
            assert_eq!(end["records"], section.len() - 2, "{profile}");
        }
    }
}

#[test]
fn filter_without_a_condition_is_cat() {
    for profile in profiles() {
        let stream = stdout("cg-parse", &["--lines", "--calls", profile], b"");
        assert!(stdout("cg-filter", &[], &stream) == stream, "{profile}");
        assert!(stdout("cg-filter", &[""], &stream) == stream, "{profile}");
        assert!(
            stdout("cg-filter", &["--top", "1000000"], &stream) == stream,
            "{profile}"
        );
        let parsed_by_filter = stdout("cg-filter", &["", profile], b"");
        assert!(parsed_by_filter == self::stream(profile), "{profile}");
    }
}

#[test]
fn matching_and_other_records_together_are_all_records() {
    for profile in profiles() {
        let stream = stdout("cg-parse", &["--calls", profile], b"");
        let [kept, left] = [&["m"][..], &["-v", "m"]].map(|args| {
            let run = run("cg-filter", args, &stream);
            // If nothing matches, there can be a hint.
            let is_quiet = run.stderr.is_empty() || run.stderr.contains("--frame REGEX");
            assert!(
                run.status == 0 && is_quiet,
                "{profile} {args:?}: {}",
                run.stderr
            );
            records(&run.stdout).len()
        });
        let all = records(&stream);
        let passed = all.iter().filter(|record| record["type"] == "run").count() * 2;
        assert_eq!(kept + left, all.len() + passed, "{profile}");
    }
}

#[test]
fn concatenation_is_addition() {
    for profile in profiles() {
        let once = stream(profile);
        let twice = [once.clone(), once.clone()].concat();
        let once = records(&stdout("cg-fmt", &["-f", "json"], &once));
        let twice = records(&stdout("cg-fmt", &["-f", "json"], &twice));
        for kind in ["fn", "heap", "program_point", "leak", "stack"] {
            let doubled: BTreeMap<String, i128> = sums(&once, kind, "cost")
                .into_iter()
                .map(|(event, sum)| (event, 2 * sum))
                .collect();
            assert_eq!(sums(&twice, kind, "cost"), doubled, "{profile} {kind}");
        }
        let rows = |records: &[Value]| {
            records
                .iter()
                .filter(|record| record["type"] == "fn")
                .count()
        };
        assert_eq!(rows(&once), rows(&twice), "{profile}");
    }
}

#[test]
fn several_inputs_are_summed_like_their_streams() {
    let parts = [
        "callgrind/3.19.0-parts_multi.callgrind.out.1",
        "callgrind/3.19.0-parts_multi.callgrind.out.2",
        "callgrind/3.19.0-parts_multi.callgrind.out.3",
        "callgrind/3.19.0-parts_multi.callgrind.out",
    ];
    let together = stdout("cg-parse", &parts, b"");
    let apart: Vec<u8> = parts.iter().flat_map(|part| stream(part)).collect();
    let table = |stream: &[u8]| {
        let csv = stdout(
            "cg-fmt",
            &["-f", "csv", "--columns", "Ir,calls,fn,file,obj"],
            stream,
        );
        String::from_utf8(csv).unwrap()
    };
    assert_eq!(table(&together), table(&apart));
    let per_part = stdout("cg-parse", &[&["--per-part"][..], &parts].concat(), b"");
    let sum_field = |stream: &[u8], kind: &str, field: &str| sums(&records(stream), kind, field);
    assert_eq!(
        sum_field(&per_part, "fn", "cost"),
        sum_field(&together, "run", "total")
    );
}

/// Callgrind and Cachegrind profiles with several parts, threads and files. Some have a summary that differs from their sum.
const SUMMED: [&[&str]; 5] = [
    &["pair/before.callgrind.out", "pair/after.callgrind.out"],
    &[
        "callgrind/3.14.0-parts_combined.callgrind.out",
        "callgrind/3.19.0-rec_dumpbefore.callgrind.out",
        "callgrind/3.19.0-rec_dumpbefore.callgrind.out.1",
    ],
    &[
        "callgrind/3.19.0-mtcg_threads_combined.callgrind.out",
        "callgrind/3.19.0-parts_multi.callgrind.out.1",
        "callgrind/3.27.1-heapy_systime.callgrind.out",
    ],
    &[
        "callgrind/3.19.0-leaky_xtleak.kcg",
        "callgrind/3.19.0-leaky_xtleak.kcg",
    ],
    &[
        "cachegrind/3.19.0-rec_nocache.cachegrind.out",
        "cachegrind/3.27.1-rec_default.cachegrind.out",
    ],
];

#[test]
fn run_facts_add_up_for_files_streams_and_raw_profiles() {
    for profiles in SUMMED {
        let together = &records(&stdout("cg-parse", profiles, b""))[0];
        let streams: Vec<u8> = profiles
            .iter()
            .flat_map(|profile| stream(profile))
            .collect();
        let raw: Vec<u8> = profiles
            .iter()
            .flat_map(|profile| fs::read(data(profile)).unwrap())
            .collect();
        let from_streams = formatted(&["-f", "json"], &streams);
        let from_raw = formatted(&["-f", "json"], &raw);
        let from_files = formatted(&[&["-f", "json"], profiles].concat(), b"");
        for (how, text) in [
            ("streams", from_streams),
            ("raw", from_raw),
            ("files", from_files),
        ] {
            let run = &records(text.as_bytes())[0];
            for field in ["parts", "summary", "total", "events", "tool"] {
                assert_eq!(run[field], together[field], "{profiles:?} {how} {field}");
            }
        }
    }
}

#[test]
fn order_of_lines_does_not_matter() {
    for profile in profiles() {
        let stream = String::from_utf8(stream(profile)).unwrap();
        let mut lines: Vec<&str> = stream.lines().collect();
        let end = lines.pop().unwrap();
        lines[1..].sort_by_key(|line| line.bytes().rev().collect::<Vec<u8>>());
        lines.push(end);
        let shuffled = lines.join("\n") + "\n";
        for args in [&["-f", "csv"][..], &["--top", "10"]] {
            assert_eq!(
                formatted(args, shuffled.as_bytes()),
                formatted(args, stream.as_bytes()),
                "{profile}"
            );
        }
        let top = [&shuffled, &stream].map(|input| {
            let kept = stdout("cg-filter", &["--top", "7"], input.as_bytes());
            let mut lines: Vec<Vec<u8>> = kept
                .split(|byte| *byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            lines.sort();
            lines
        });
        assert_eq!(top[0], top[1], "{profile}");
    }
}

#[test]
fn profile_has_no_diff_with_itself() {
    for profile in profiles() {
        let same = run("cg-diff", &["--exit-code", profile, profile], b"");
        assert_eq!((same.status, same.stderr.as_str()), (0, ""), "{profile}");
        let diffs = records(&same.stdout);
        assert!(
            diffs.iter().all(|record| record["type"] != "diff"),
            "{profile}"
        );
        let same = run("cg-diff", &["--exit-code", profile, "-"], &stream(profile));
        assert_eq!(same.status, 0, "{profile}: {}", same.stderr);
    }
}

#[test]
fn row_deltas_sum_to_the_difference_of_the_totals() {
    let (before, after) = ("pair/before.callgrind.out", "pair/after.callgrind.out");
    let totals = |profile: &str| sums(&records(&stream(profile)), "run", "total")["Ir"];
    let delta = |old: &str, new: &str| {
        let sum = |options: &[&str]| {
            let diffs = records(&stdout("cg-diff", &[options, &[old, new]].concat(), b""));
            let rows = sums(&diffs, "diff", "delta")
                .get("Ir")
                .copied()
                .unwrap_or(0);
            // The run record has the sum of the changes that are too small for rows.
            let left_out = diffs[0]["left_out"]["delta"]["Ir"].as_i64().unwrap_or(0);
            (rows, i128::from(left_out))
        };
        let (all, none) = sum(&["--min-change", "0"]);
        let (most, left_out) = sum(&[]);
        assert_eq!((most + left_out, none), (all, 0));
        assert_ne!(left_out, 0, "the pair has such changes");
        all
    };
    assert_eq!(delta(before, after), totals(after) - totals(before));
    assert_eq!(delta(after, before), totals(before) - totals(after));
}

#[test]
fn reading_a_profile_equals_reading_its_stream() {
    for profile in profiles() {
        let stream = stream(profile);
        assert!(
            formatted(&["-f", "csv", profile], b"") == formatted(&["-f", "csv", "-"], &stream),
            "{profile}"
        );
    }
}

#[test]
fn every_prefix_of_a_profile_is_read_or_rejected() {
    for profile in profiles() {
        let bytes = fs::read(data(profile)).unwrap();
        // A hundred lengths that do not coincide with line ends.
        for length in (1..bytes.len()).step_by(bytes.len() / 101 + 1) {
            let cut = run("cg-parse", &["-"], &bytes[..length]);
            assert!(
                matches!(cut.status, 0 | 2),
                "{profile} {length}: {}",
                cut.stderr
            );
            // Readers of sampling profilers skip and count unknown lines, with a warning.
            let is_counted = (profile.starts_with("perf/") || profile.starts_with("printouts/"))
                && cut.stderr.contains("left out");
            assert!(
                (cut.status == 2) != cut.stderr.is_empty() || is_counted,
                "{profile} {length}: {}",
                cut.stderr
            );
            let records = records(&cut.stdout);
            let is_whole = records.last().is_some_and(|record| record["type"] == "end");
            assert_eq!(is_whole, cut.status == 0, "{profile} {length}");
        }
    }
}

#[test]
fn inputs_need_not_be_seekable() {
    for profile in profiles() {
        // Copy the profile into an empty folder, because a reader of a pipe finds no other files.
        let folder = TempDir::new().unwrap();
        let bytes = fs::read(data(profile)).unwrap();
        let alone = folder.path().join(Path::new(profile).file_name().unwrap());
        fs::write(&alone, &bytes).unwrap();
        let alone = alone.to_str().unwrap();
        let (whole, piped) = (
            run("cg-parse", &[alone], b""),
            run("cg-parse", &["-"], &bytes),
        );
        assert_eq!((whole.status, piped.status), (0, 0), "{profile}");
        assert_eq!(
            whole.stderr.replace(alone, "<stdin>"),
            piped.stderr,
            "{profile}"
        );
        let without_source = |stream: &[u8]| {
            let mut records = records(stream);
            for record in &mut records {
                record.as_object_mut().unwrap().remove("source");
            }
            records
        };
        assert_eq!(
            without_source(&piped.stdout),
            without_source(&whole.stdout),
            "{profile}"
        );
    }
}
