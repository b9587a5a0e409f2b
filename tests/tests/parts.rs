//! Sums of parts, files and processes: the result of several inputs is the sum of their separate results, no matter how the
//! inputs are combined. State of one input does not leak into the next.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;

use cg_parse::FORMATS;
use serde_json::Value;
use tests::data;
use tests::tools::{run, stdout};

/// Inputs of related formats. The tests try every pair of a row.
const TOGETHER: [&[&str]; 14] = [
    &[
        "callgrind/3.14.0-parts_combined.callgrind.out",
        "callgrind/3.14.0-rec_sep.callgrind.out",
        "callgrind/3.19.0-rec_dumpbefore.callgrind.out",
        "callgrind/3.19.0-leaky_xtleak.kcg",
        "callgrind/thread-2.callgrind.out",
        "callgrind/recursion-toggled.callgrind.out",
        "callgrind/nothing-collected.callgrind.out",
    ],
    &[
        "cachegrind/3.14.0-rec_default.cachegrind.out",
        "cachegrind/3.19.0-diff_rec_O2.cgdiff.out",
        "cachegrind/3.19.0-rec_nocache.cachegrind.out",
        "cachegrind/3.27.1-rec_default.cachegrind.out",
    ],
    &[
        "memcheck/3.27.1-leaky.log",
        "memcheck/3.27.1-weird.log",
        "memcheck/3.27.1-leaky.xml",
        "names/fr.log",
        "memcheck/3.27.1-clean.log",
    ],
    &[
        "memcheck/3.27.1-helgrind_threads2.log",
        "memcheck/3.27.1-helgrind_threads2.xml",
        "memcheck/3.27.1-drd_threads2.log",
    ],
    &[
        "massif/3.19.0-heapy_i.massif.out",
        "massif/3.27.1-leaky3.massif.out",
        "massif/3.19.0-empty.massif.out",
        "massif/3.19.0-heapy_xtmemory.ms",
    ],
    &[
        "dhat/3.19.0-inl.dhat.json",
        "dhat/3.19.0-parts_copy.dhat.json",
        "dhat/dhat-rs-dhat-heap-trim.json",
    ],
    &["heaptrack/1.4.0-shapes.zst"],
    &[
        "perf/6.1-busy.perf.txt",
        "perf/6.1-busy_two_events.perf.txt",
        "perf/6.1-busy_ip_sym.perf.txt",
    ],
    &["stacks/before.folded", "stacks/after.folded"],
    &[
        "pprof/go-cpu.pb.gz",
        "pprof/go-heap.txt",
        "pprof/gperftools.cpu",
        "pprof/jemalloc.heap",
    ],
    &["firefox/small-v55.json", "firefox/small-v70.json"],
    &["speedscope/evented.json", "speedscope/small.json"],
    &["v8/node.cpuprofile", "v8/node.heapprofile"],
    &[
        "gungraun/0.20-compared.summary.json",
        "perf-stat/6.1-counters.csv",
        "perf-stat/6.1-processors.jsonl",
    ],
];

/// Returns the rows of [`TOGETHER`], and one profile of each format, which is combined with itself.
fn together() -> impl Iterator<Item = &'static [&'static str]> {
    let seeds = FORMATS.iter().map(|format| &format.seeds[..1]);
    TOGETHER.into_iter().chain(seeds)
}

/// Formats whose files can be concatenated.
const CONCATENATED: [&[&str]; 6] = [
    &[
        "callgrind/3.14.0-parts_combined.callgrind.out",
        "callgrind/3.14.0-rec_sep.callgrind.out",
        "callgrind/3.19.0-leaky_xtleak.kcg",
        "callgrind/thread-2.callgrind.out",
        "callgrind/3.19.0-mut_callers12_recs10.callgrind.out",
    ],
    &[
        "cachegrind/3.14.0-rec_default.cachegrind.out",
        "cachegrind/3.19.0-diff_rec_O2.cgdiff.out",
        "cachegrind/3.27.1-rec_default.cachegrind.out",
    ],
    &[
        "memcheck/3.27.1-leaky.log",
        "memcheck/3.27.1-weird.log",
        "memcheck/3.27.1-helgrind_threads2.log",
        "memcheck/3.27.1-drd_threads2.log",
        "memcheck/3.27.1-clean.log",
        "names/fr.log",
    ],
    &[
        "memcheck/3.14.0-leaky.xml",
        "memcheck/3.27.1-clean.xml",
        "memcheck/3.27.1-leaky.xml",
    ],
    &[
        "massif/3.19.0-heapy_i.massif.out",
        "massif/3.27.1-leaky3.massif.out",
        "massif/3.19.0-heapy_xtmemory.ms",
    ],
    &["stacks/before.folded", "stacks/after.folded"],
];

/// Options for all record types of a profile.
const WHOLE: [&str; 2] = ["--lines", "--calls"];

/// Returns the stream of some inputs, and ignores warnings.
fn parsed(inputs: &[&str]) -> Vec<u8> {
    let parsed = run("cg-parse", &[&WHOLE[..], inputs].concat(), b"");
    assert_eq!(parsed.status, 0, "{inputs:?}: {}", parsed.stderr);
    parsed.stdout
}

/// Adds up a stream. Returns its `run` record without `source`, and its other records in their order.
fn added_up(stream: &[u8]) -> (Value, Vec<String>) {
    let text = run("cg-fmt", &["-f", "json"], stream);
    assert_eq!(text.status, 0, "{}", text.stderr);
    let text = String::from_utf8(text.stdout).unwrap();
    let (first, others) = text.split_once('\n').unwrap();
    let mut facts: Value = serde_json::from_str(first).unwrap();
    facts.as_object_mut().unwrap().remove("source");
    (facts, others.lines().map(str::to_owned).collect())
}

/// Panics with the first record that differs between two streams.
#[track_caller]
fn assert_same_records(a: &[String], b: &[String], what: &str) {
    let differing = a.iter().zip(b).find(|(a, b)| a != b);
    assert_eq!(differing, None, "{what}");
    assert_eq!(a.len(), b.len(), "{what}");
}

#[test]
fn inputs_read_together_equal_the_sum_of_their_streams() {
    for inputs in together() {
        let streams: Vec<Vec<u8>> = inputs.iter().map(|input| parsed(&[input])).collect();
        for (a, stream_a) in inputs.iter().zip(&streams) {
            for (b, stream_b) in inputs.iter().zip(&streams) {
                let what = format!("{a} {b}");
                let (facts, records) = added_up(&parsed(&[a, b]));
                let (facts_apart, records_apart) = added_up(&[&stream_a[..], stream_b].concat());
                assert_same_records(&records, &records_apart, &what);
                assert_eq!(facts, facts_apart, "{what}");
            }
        }
    }
}

#[test]
fn file_concatenated_with_itself_is_doubled_or_rejected() {
    for format in FORMATS {
        let seed = format.seeds[0];
        let once = parsed(&[seed]);
        let raw = fs::read(data(seed)).unwrap().repeat(2);
        let twice = run("cg-parse", &[&WHOLE[..], &["-"]].concat(), &raw);
        if twice.status == 0 {
            let (facts, records) = added_up(&twice.stdout);
            let (facts_apart, records_apart) = added_up(&once.repeat(2));
            assert_same_records(&records, &records_apart, seed);
            assert_eq!(facts["total"], facts_apart["total"], "{seed}");
        }
    }
}

#[test]
fn concatenated_files_equal_the_sum_of_their_streams() {
    for inputs in CONCATENATED {
        let streams: Vec<Vec<u8>> = inputs.iter().map(|input| parsed(&[input])).collect();
        for (a, stream_a) in inputs.iter().zip(&streams) {
            for (b, stream_b) in inputs.iter().zip(&streams) {
                let what = format!("{a} {b}");
                let raw = [a, b].map(|input| fs::read(data(input)).unwrap()).concat();
                let (facts, records) =
                    added_up(&stdout("cg-parse", &[&WHOLE[..], &["-"]].concat(), &raw));
                let (facts_apart, records_apart) = added_up(&[&stream_a[..], stream_b].concat());
                assert_same_records(&records, &records_apart, &what);
                for field in ["tool", "events", "total", "parts", "summary"] {
                    assert_eq!(facts[field], facts_apart[field], "{what}: {field}");
                }
            }
        }
    }
}

/// Sums the costs of a stream's records by event and by all other fields of the record.
fn costs(stream: &[u8]) -> BTreeMap<String, i128> {
    let mut costs = BTreeMap::new();
    for line in stream.split(|byte| *byte == b'\n') {
        let Ok(mut record) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let fields = record.as_object_mut().unwrap();
        let counts = match fields["type"].as_str().unwrap() {
            "run" => {
                let total = fields["total"].clone();
                *fields = [("type".to_owned(), "run".into())].into_iter().collect();
                Some(total)
            }
            "end" => continue,
            _ => fields.remove("cost"),
        };
        for (event, count) in counts
            .as_ref()
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let count: i128 = count.to_string().parse().unwrap();
            *costs.entry(format!("{event} of {record}")).or_default() += count;
        }
    }
    costs.retain(|_, sum| *sum != 0);
    costs
}

/// heaptrack writes the header of a Massif file after the snapshots.
#[test]
fn files_with_a_trailing_header_add_up_like_their_streams() {
    let text = fs::read_to_string(data("massif/3.27.1-leaky3.massif.out")).unwrap();
    let snapshots = text.find("#-----------").unwrap();
    let behind = [&text[snapshots..], &text[..snapshots]].concat();
    let parsed = |text: &str| stdout("cg-parse", &["-"], text.as_bytes());
    let once = parsed(&behind);
    assert_eq!(added_up(&once), added_up(&parsed(&text)));
    let twice = parsed(&[behind.as_str(), &behind].concat());
    assert_eq!(added_up(&twice), added_up(&[&once[..], &once].concat()));
}

#[test]
fn samples_of_perf_add_up_for_any_split_of_the_text() {
    for profile in [
        "perf/6.1-busy.perf.txt",
        "perf/6.1-busy_records.perf.txt",
        "perf/6.1-busy_dwarf_srcline.perf.txt",
        "perf/6.1-busy_ip_sym.perf.txt",
    ] {
        let text = fs::read_to_string(data(profile)).unwrap();
        let parse = |text: &str| run("cg-parse", &["--from=perf", "-"], text.as_bytes()).stdout;
        let whole = costs(&parse(&text));
        // Samples end with an empty line.
        let ends: Vec<usize> = text
            .match_indices("\n\n")
            .map(|(place, _)| place + 2)
            .collect();
        assert!(ends.len() > 2, "{profile} has samples");
        for end in ends.iter().step_by(ends.len().div_ceil(20)) {
            let (a, b) = text.split_at(*end);
            if b.trim().is_empty() {
                continue;
            }
            let mut sum = costs(&parse(a));
            for (record, count) in costs(&parse(b)) {
                *sum.entry(record).or_default() += count;
            }
            assert_eq!(sum, whole, "{profile} cut at {end}");
        }
    }
}

#[test]
fn separate_parts_add_up_to_the_whole() {
    for profile in [
        "callgrind/3.14.0-parts_combined.callgrind.out",
        "callgrind/3.19.0-mtcg_threads_combined.callgrind.out",
        "callgrind/xdebug-appended.cachegrind.out",
    ] {
        let apart = stdout("cg-parse", &["--per-part", profile], b"");
        let mut fields = 0;
        let without_parts: Vec<String> = (apart.split(|byte| *byte == b'\n'))
            .filter(|line| !line.is_empty())
            .map(|line| {
                let mut record: Value = serde_json::from_slice(line).unwrap();
                if record["type"] != "run" {
                    for field in ["part", "thread"] {
                        fields +=
                            usize::from(record.as_object_mut().unwrap().remove(field).is_some());
                    }
                }
                record.to_string()
            })
            .collect();
        let without_parts = without_parts.join("\n") + "\n";
        let (facts, records) = added_up(&stdout("cg-parse", &[profile], b""));
        let (facts_apart, records_apart) = added_up(without_parts.as_bytes());
        assert!(
            fields > 0 || profile.contains("xdebug"),
            "{profile} has parts"
        );
        assert_eq!(facts, facts_apart, "{profile}");
        assert_same_records(&records, &records_apart, profile);
    }
}
