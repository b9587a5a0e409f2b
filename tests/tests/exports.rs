//! Exports in the default views of other viewers, with names that a viewer could misread. Also checks the documentation of
//! the data that each format keeps and loses.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use needs::needs;
use serde_json::Value;
use tests::{data, tools, workspace};

/// Runs cg-fmt. Returns its output and standard error.
fn written(args: &[&str], input: &[u8]) -> (Vec<u8>, String) {
    let run = tools::run("cg-fmt", args, input);
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    (run.stdout, run.stderr)
}

/// Reads an export with cg-parse, and ignores warnings.
fn read_again(export: &[u8]) -> Vec<u8> {
    let run = tools::run("cg-parse", &["-"], export);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stdout
}

fn records(stream: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(stream).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn stacks(stream: &[u8]) -> Vec<Value> {
    let mut records = records(stream);
    records.retain(|record| record["type"] == "stack");
    records
}

/// Runs a viewer in a folder. Returns its output.
fn shown(command: &mut Command, folder: &Path) -> String {
    let output = command.current_dir(folder).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    // The viewer may warn about other sources, which this machine may lack.
    let has_sources = folder.join("mutual.c").exists() && !folder.join("others").exists();
    assert!(
        !has_sources || !stderr.contains("uninitialized"),
        "{command:?}: {stderr}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the output of `go tool pprof` with its default settings.
fn pprof(args: &[&str], profiles: &[&Path]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = needs::command("go");
    command.args(["tool", "pprof"]).args(args).args(profiles);
    command.env("PPROF_TMPDIR", folder.path());
    shown(&mut command, folder.path())
}

fn saved(folder: &tempfile::TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Writes a stream of stacks, each with a cost and frames, innermost first.
fn stream_of(events: &Value, stacks: &[(&Value, Value)]) -> Vec<u8> {
    let names: Vec<&String> = events.as_object().unwrap().keys().collect();
    let run = serde_json::json!({"type": "run", "stream": 1, "tool": "perf", "events": names, "total": events});
    let mut lines = vec![run.to_string()];
    for (cost, rest) in stacks {
        let mut record = rest.clone();
        record["type"] = "stack".into();
        record["cost"] = (*cost).clone();
        lines.push(record.to_string());
    }
    lines.push(serde_json::json!({"type": "end", "records": stacks.len()}).to_string());
    (lines.join("\n") + "\n").into_bytes()
}

/// Names that a viewer could shorten, split or merge.
const NAMES: [&str; 14] = [
    "geo::area(int)",
    "geo::area(double)",
    "geo::Box<int>::run(int)",
    "geo::Box<double>::run(int)",
    "operator<<(std::ostream&, geo::Box<int> const&)",
    "<geo::A as core::iter::Iterator>::next",
    "<geo::B as core::iter::Iterator>::next",
    "geo::main::{{closure}}",
    "core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
    "<module>",
    "<listcomp>",
    "x<y>&\"",
    "get size",
    "(anonymous)",
];

#[test]
fn pprof_shows_every_function_in_a_separate_row() {
    needs!("go");
    let counts: Vec<Value> = (0..NAMES.len())
        .map(|at| serde_json::json!({"samples": 1 << at}))
        .collect();
    let rows: Vec<(&Value, Value)> = counts
        .iter()
        .zip(NAMES)
        .map(|(cost, name)| {
            (
                cost,
                serde_json::json!({"stack": [{"fn": name, "file": "demo", "obj": "/opt/demo"}]}),
            )
        })
        .collect();
    let total = (1 << NAMES.len()) - 1;
    let stream = stream_of(&serde_json::json!({"samples": total}), &rows);
    let folder = tempfile::tempdir().unwrap();
    let path = saved(
        &folder,
        "names.pb.gz",
        &written(&["-f", "pprof"], &stream).0,
    );
    let top = pprof(&["-top", "-nodefraction=0", "-nodecount=1000"], &[&path]);
    let shown: BTreeMap<&str, u64> = top
        .lines()
        .skip_while(|line| !line.contains("flat%"))
        .skip(1)
        .map(|row| {
            let fields: Vec<&str> = row.split_whitespace().collect();
            let name = row.split_once(fields[4]).unwrap().1;
            (
                name.rsplit("%  ").next().unwrap(),
                fields[0].parse().unwrap(),
            )
        })
        .collect();
    for (at, name) in NAMES.iter().enumerate() {
        assert_eq!(shown.get(name), Some(&(1 << at)), "{name} in {top}");
    }
}

/// Profiles of pprof that use all features of the format.
const PPROF: [&str; 3] = [
    "exports/heap.pb.gz",
    "pprof/go-heap.pb.gz",
    "pprof/go-cpu.pb.gz",
];

#[test]
fn pprof_export_of_a_pprof_profile_is_equivalent() {
    needs!("go");
    for file in PPROF {
        let source = data(file);
        let folder = tempfile::tempdir().unwrap();
        let (direct, stderr) = written(&["-f", "pprof", file], b"");
        assert_eq!(stderr, "", "{file}: data is lost");
        let stream = tools::stdout("cg-parse", &[file], b"");
        for export in [direct, written(&["-f", "pprof"], &stream).0] {
            let export = saved(&folder, "export.pb.gz", &export);
            let base = format!("-diff_base={}", source.display());
            let raw = pprof(&["-raw"], &[&source]);
            // The header: sample types, period, time and duration.
            let facts = |raw: &str| -> Vec<String> {
                let head = raw.lines().take_while(|line| !line.starts_with("Samples:"));
                head.map(str::to_owned).collect()
            };
            assert_eq!(facts(&pprof(&["-raw"], &[&export])), facts(&raw), "{file}");
            assert_eq!(
                pprof(&["-comments"], &[&export]),
                pprof(&["-comments"], &[&source]),
                "{file}"
            );
            assert_eq!(
                pprof(&["-tags"], &[&export]),
                pprof(&["-tags"], &[&source]),
                "{file}"
            );
            assert_eq!(
                mappings(&pprof(&["-raw"], &[&export])),
                mappings(&raw),
                "{file}"
            );
            for granularity in ["-functions", "-lines", "-files"] {
                let top = pprof(&["-top", granularity, &base], &[&export]);
                let rows = top
                    .lines()
                    .skip_while(|line| !line.contains("flat%"))
                    .skip(1);
                let changed: Vec<&str> = rows
                    .filter(|row| !row.trim_start().starts_with("0 "))
                    .collect();
                assert_eq!(changed, [""; 0], "{file} {granularity}: {top}");
            }
            let top = |path| pprof(&["-top", "-nodefraction=0"], &[path]);
            let rows = |top: &str| -> BTreeSet<String> {
                let rows = top.lines().filter(|row| !row.starts_with("File:"));
                rows.map(str::to_owned).collect()
            };
            assert_eq!(rows(&top(&export)), rows(&top(&source)), "{file}");
        }
    }
}

/// Returns the list of mapped objects.
fn mappings(raw: &str) -> Vec<String> {
    let lines = raw
        .lines()
        .skip_while(|line| !line.starts_with("Mappings"))
        .skip(1);
    lines.map(str::to_owned).collect()
}

/// Returns the figures of callgrind_annotate by file and function.
fn annotated(profile: &[u8], args: &[&str]) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    saved(&folder, "callgrind.out", profile);
    // callgrind_annotate runs in a folder with sources that it can open, and shortens their paths.
    for source in ["mutual.c", "step.h"] {
        saved(&folder, source, b"\n\n\n\n\n\n\n\n\n");
    }
    if !profile.windows(8).any(|text| text == b"mutual.c") {
        saved(&folder, "others", b"");
    }
    let mut command = needs::command("callgrind_annotate");
    let command = command
        .args(args)
        .args(["--threshold=100", "callgrind.out"]);
    let listing = shown(command, folder.path());
    let rows = listing
        .lines()
        .skip_while(|line| !line.ends_with("file:function"));
    let rows = rows.skip(2).take_while(|line| !line.is_empty());
    let mut figures = BTreeMap::new();
    for row in rows.filter(|row| !row.trim_start().starts_with(['.', '0'])) {
        let (count, rest) = row.trim_start().split_once(' ').unwrap();
        let (_, name) = rest.split_once(")  ").unwrap_or_else(|| panic!("{row}"));
        let name = name.split(" [").next().unwrap().to_owned();
        let count = count.replace(',', "").parse().unwrap();
        assert_eq!(
            figures.insert(name.clone(), count),
            None,
            "{name} appears twice"
        );
    }
    figures
}

#[test]
fn callgrind_annotate_shows_the_same_figures_for_export_and_original() {
    needs!("annotate");
    for file in [
        "exports/mutual.callgrind.out",
        "callgrind/3.19.0-rec_default.callgrind.out",
        "fmt/sort.callgrind.out",
    ] {
        let raw = std::fs::read(data(file)).unwrap();
        let (export, stderr) = written(&["-f", "callgrind", file], b"");
        assert_eq!(stderr, "", "{file}");
        for args in [["--inclusive=yes"], ["--inclusive=no"]] {
            assert_eq!(
                annotated(&export, &args),
                annotated(&raw, &args),
                "{file} {args:?}"
            );
        }
        let stream = tools::stdout("cg-parse", &["--calls", "--lines", "--levels", file], b"");
        assert_eq!(
            written(&["-f", "callgrind"], &stream).0,
            export,
            "{file}: from a stream"
        );
    }
}

#[test]
fn export_of_a_stream_without_levels_warns() {
    let stream = tools::stdout(
        "cg-parse",
        &["--calls", "exports/mutual.callgrind.out"],
        b"",
    );
    let (_, stderr) = written(&["-f", "callgrind"], &stream);
    assert!(stderr.contains("cg-parse --levels"), "{stderr}");
}

/// Returns the self and inclusive cost by function over the records with stacks. Each stack counts once.
fn figures_of(file: &str, event: &str) -> BTreeMap<String, [u64; 2]> {
    let mut figures: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for record in records(&tools::stdout("cg-parse", &[file], b"")) {
        let Some(frames) = record["stack"].as_array() else {
            continue;
        };
        let cost = record["cost"][event].as_u64().unwrap_or(0);
        let name = |frame: &Value| {
            let part = |field: &str| frame[field].as_str().unwrap_or("???").to_owned();
            format!("{}:{}", part("file"), part("fn"))
        };
        // A frame without a name gets its object's name.
        let named = frames.iter().filter(|frame| frame["fn"].is_string());
        let all: BTreeSet<String> = named.map(name).collect();
        for function in all {
            figures.entry(function).or_default()[1] += cost;
        }
        if let Some(innermost) = frames.first().filter(|frame| frame["fn"].is_string()) {
            figures.entry(name(innermost)).or_default()[0] += cost;
        }
    }
    figures.retain(|_, [own, inclusive]| *own > 0 || *inclusive > 0);
    figures
}

#[test]
fn stacks_of_any_profiler_are_converted_to_a_call_graph() {
    needs!("annotate");
    for (file, event) in [
        ("dhat/3.19.0-heapy.dhat.json", "total_bytes"),
        ("heaptrack/1.4.0-shapes.zst", "total_bytes"),
        ("massif/3.19.0-heapy_i.massif.out", "bytes"),
        ("perf/6.1-busy.perf.txt", "cpu-clock"),
        ("exports/heap.pb.gz", "alloc_space"),
        ("v8/node.cpuprofile", "time"),
    ] {
        let (export, stderr) = written(&["-f", "callgrind", "--event", event, file], b"");
        assert!(
            stderr.contains("calls are derived from stacks"),
            "{file}: {stderr}"
        );
        let own = annotated(&export, &["--inclusive=no"]);
        let inclusive = annotated(&export, &["--inclusive=yes"]);
        let mut self_costs: BTreeMap<String, u64> = BTreeMap::new();
        for (name, cost) in &own {
            let (first, level) = name.rsplit_once('\'').unwrap_or((name, ""));
            let is_level = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
            let function = if is_level { first } else { name };
            *self_costs.entry(function.to_owned()).or_default() += cost;
        }
        for (function, [own, incl]) in figures_of(file, event) {
            assert_eq!(
                self_costs.get(&function).copied().unwrap_or(0),
                own,
                "{file}: {function}"
            );
            assert_eq!(inclusive.get(&function), Some(&incl), "{file}: {function}");
        }
        let total: u64 = own.values().sum();
        let stream = records(&tools::stdout("cg-parse", &[file], b""));
        assert_eq!(stream[0]["total"][event], total, "{file}");
    }
}

#[test]
fn inclusive_cost_counts_recursive_stacks_once() {
    needs!("annotate");
    // The second stack contains f twice, and the third begins with f.
    let stream = b"main;f;g 5\nmain;f;g;f 7\nf;g 11\ng;f;g;f 13\n";
    let (export, _) = written(&["-f", "callgrind"], stream);
    let inclusive = annotated(&export, &["--inclusive=yes"]);
    for (function, cost) in [("main", 12), ("f", 36), ("g", 36), ("f'2", 20), ("g'2", 13)] {
        assert_eq!(
            inclusive.get(&format!("???:{function}")),
            Some(&cost),
            "{function}"
        );
    }
    let again = tools::stdout("cg-parse", &["-"], &export);
    let incl = |name: &str| {
        let mut all = records(&again).into_iter();
        all.find(|record| record["fn"] == name).unwrap()["incl"]["samples"].clone()
    };
    assert_eq!((incl("f"), incl("g")), (36.into(), 36.into()));
}

#[test]
fn samples_for_firefox_have_their_times() {
    let times = |file: &str, event: &str| -> (Value, Vec<f64>, Vec<f64>) {
        let (profile, stderr) = written(&["-f", "firefox", "--event", event, file], b"");
        assert!(!stderr.contains("time axis"), "{stderr}");
        let profile: Value = serde_json::from_slice(&profile).unwrap();
        let samples = profile["threads"][0]["samples"].clone();
        let column = |name: &str| -> Vec<f64> {
            let values = samples[name].as_array().unwrap().iter();
            values.map(|value| value.as_f64().unwrap()).collect()
        };
        (
            samples["weightType"].clone(),
            column("time"),
            column("weight"),
        )
    };
    // One sample per ms, from 0.3 ms on. The last sample lasts to the end.
    let (kind, at, weights) = times("exports/phases.cpuprofile", "time");
    assert_eq!(kind, "tracing-ms");
    assert_eq!((at.len(), at[0], at[1], at[59]), (60, 0.3, 1.3, 59.3));
    assert_eq!(
        weights,
        [1.0; 59].into_iter().chain([5.0]).collect::<Vec<f64>>()
    );
    let (kind, at, weights) = times("perf/6.1-busy.perf.txt", "samples");
    assert_eq!(kind, "samples");
    // In perf script, this thread's first sample is 21.86 ms after the first sample of all threads.
    assert_eq!((at[0], weights[0]), (21.86, 1.0));
    assert!(at.windows(2).all(|pair| pair[0] <= pair[1]), "{at:?}");
    // A stream has times only with --times; otherwise cg-fmt warns.
    let file = "perf/6.1-busy.perf.txt";
    let stream = tools::stdout("cg-parse", &["--times", file], b"");
    assert_eq!(
        written(&["-f", "firefox"], &stream).0,
        written(&["-f", "firefox", file], b"").0
    );
    let stream = tools::stdout("cg-parse", &[file], b"");
    let (profile, stderr) = written(&["-f", "firefox"], &stream);
    assert!(stderr.contains("the time axis has no meaning"), "{stderr}");
    assert!(
        String::from_utf8(profile)
            .unwrap()
            .contains("the time axis has no meaning")
    );
}

#[test]
fn firefox_gets_threads_processes_and_categories() {
    let cost = serde_json::json!({"samples": 3});
    let frames = serde_json::json!([
        {"fn": "do_syscall_64", "obj": "[kernel.kallsyms]", "kernel": true, "addr": "0xffffffff81000000"},
        {"fn": "read", "obj": "/usr/lib/x86_64-linux-gnu/libc.so.6"},
        {"fn": "serde_json::from_slice", "file": "/home/dev/.cargo/registry/src/index-1/serde_json-1.0.1/src/lib.rs", "obj": "/opt/demo"},
        {"fn": "demo::main", "file": "/home/dev/demo/src/main.rs", "line": 7, "obj": "/opt/demo", "addr": "0x1a20"},
    ]);
    let stack = |tid: u64| serde_json::json!({"thread": "worker", "tid": tid, "process": "demo", "pid": 70, "stack": frames});
    let stream = stream_of(
        &serde_json::json!({"samples": 6}),
        &[(&cost, stack(71)), (&cost, stack(70))],
    );
    let (profile, stderr) = written(&["-f", "firefox"], &stream);
    assert!(
        stderr.contains("1 addresses") || stderr.contains("2 addresses"),
        "{stderr}"
    );
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    let threads: Vec<[&Value; 5]> = profile["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| {
            ["name", "tid", "processName", "pid", "isMainThread"].map(|field| &thread[field])
        })
        .collect();
    let expected = |tid: u64, is_main: bool| {
        [
            Value::from("worker"),
            tid.into(),
            "demo".into(),
            "70".into(),
            is_main.into(),
        ]
    };
    assert_eq!(
        threads,
        [
            expected(71, false).each_ref(),
            expected(70, true).each_ref()
        ]
    );
    let thread = &profile["threads"][0];
    let names: BTreeMap<String, (String, Value)> = (0..4)
        .map(|row| {
            let cell = |table: &str, column: &str, row: usize| thread[table][column][row].clone();
            let index = |value: Value| usize::try_from(value.as_u64().unwrap()).unwrap();
            let function = index(cell("frameTable", "func", row));
            let name = index(cell("funcTable", "name", function));
            let category = index(cell("frameTable", "category", row));
            let category = profile["meta"]["categories"][category]["name"]
                .as_str()
                .unwrap();
            (
                thread["stringArray"][name].as_str().unwrap().to_owned(),
                (category.to_owned(), cell("frameTable", "address", row)),
            )
        })
        .collect();
    for (name, category, address) in [
        ("do_syscall_64", "Kernel", -1),
        ("read", "System", -1),
        ("serde_json::from_slice", "Dependency", -1),
        ("demo::main", "Own", 0x1a20),
    ] {
        assert_eq!(names[name], (category.to_owned(), address.into()), "{name}");
    }
}

/// Returns the times of a trace in ns, by thread and stack of open slices, innermost first.
fn sliced(trace: &[u8]) -> BTreeMap<(u64, Vec<String>), i64> {
    let trace: Value = serde_json::from_slice(trace).unwrap();
    let mut open: BTreeMap<u64, (Vec<String>, i64)> = BTreeMap::new();
    let mut times = BTreeMap::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let tid = event["tid"].as_u64().unwrap();
        let Some(now) = event["ts"].as_f64() else {
            continue;
        };
        let now = (now * 1000.0).round() as i64;
        let (frames, last) = open.entry(tid).or_insert((Vec::new(), now));
        assert!(now >= *last, "{event}");
        if now > *last && !frames.is_empty() {
            let stack: Vec<String> = frames.iter().rev().cloned().collect();
            *times.entry((tid, stack)).or_insert(0) += now - *last;
        }
        *last = now;
        match event["ph"].as_str().unwrap() {
            "B" => frames.push(event["name"].as_str().unwrap().to_owned()),
            "E" => assert!(frames.pop().is_some(), "{event}"),
            other => panic!("{other}"),
        }
    }
    assert!(open.values().all(|(frames, _)| frames.is_empty()));
    times
}

#[test]
fn trace_has_the_stacks_and_can_be_read_again() {
    for (file, event) in [
        ("exports/phases.cpuprofile", "time"),
        ("perf/6.1-busy.perf.txt", "cpu-clock"),
        ("chrome-trace/py-spy-0.4.json", "time"),
        ("pprof/go-cpu.pb.gz", "cpu"),
    ] {
        let (trace, _) = written(&["-f", "trace", file], b"");
        let mut expected: BTreeMap<Vec<String>, i64> = BTreeMap::new();
        let by_names = |stream: &[u8], event: &str| -> BTreeMap<Vec<String>, i64> {
            let mut sums = BTreeMap::new();
            for record in stacks(stream) {
                let frames = record["stack"].as_array().unwrap().iter();
                let names: Vec<String> = frames
                    .map(|frame| frame["fn"].as_str().unwrap_or("[unknown]").to_owned())
                    .collect();
                let cost = record["cost"][event].as_i64().unwrap_or(0);
                if cost > 0 && !names.is_empty() {
                    *sums.entry(names).or_insert(0) += cost;
                }
            }
            sums
        };
        for ((_, stack), time) in sliced(&trace) {
            *expected.entry(stack).or_insert(0) += time;
        }
        assert_eq!(
            by_names(&tools::run("cg-parse", &[file], b"").stdout, event),
            expected,
            "{file}"
        );
        let again = read_again(&trace);
        assert_eq!(by_names(&again, "time"), expected, "{file}: read again");
    }
    // The order of phases is the same as in the profile.
    let (trace, stderr) = written(&["-f", "trace", "exports/phases.cpuprofile"], b"");
    assert_eq!(stderr, "");
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let begun: Vec<&str> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "B")
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(begun, ["main", "alpha", "beta", "alpha"]);
}

#[test]
fn samples_for_speedscope_are_in_the_order_of_time() {
    let (profile, stderr) = written(&["-f", "speedscope", "exports/phases.cpuprofile"], b"");
    assert_eq!(stderr, "");
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    for profile_of_event in profile["profiles"].as_array().unwrap() {
        let innermost = profile_of_event["samples"].as_array().unwrap().iter();
        let innermost = innermost.map(|stack| {
            let frame = stack.as_array().unwrap().last().unwrap();
            let frame = &profile["shared"]["frames"][frame.as_u64().unwrap() as usize];
            frame["name"].as_str().unwrap()
        });
        let phases: Vec<&str> = innermost.filter(|name| *name != "main").collect();
        // Consecutive samples of one stack are one sample of speedscope.
        assert_eq!(
            phases,
            ["alpha", "beta", "alpha"],
            "{}",
            profile_of_event["event"]
        );
    }
}

#[test]
fn speedscope_has_no_profile_of_a_thread_without_the_event() {
    let stream = br#"{"type":"run","stream":1,"tool":"jfr","events":["samples","waits","parks"],"total":{"samples":3,"waits":2}}
{"type":"stack","fn":"f","thread":"a","cost":{"samples":0,"waits":2},"stack":[{"fn":"f"}]}
{"type":"stack","fn":"f","thread":"b","cost":{"samples":3},"stack":[{"fn":"f"}]}
{"type":"end","records":2}
"#;
    let (profile, stderr) = written(&["-f", "speedscope", "-"], stream);
    assert_eq!(stderr, "");
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    let profiles = profile["profiles"].as_array().unwrap().iter();
    let names: BTreeSet<&str> = profiles
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    // An event without counts has one empty profile.
    assert_eq!(
        names,
        BTreeSet::from(["a (parks)", "a (waits)", "b (samples)"])
    );
}

#[test]
fn graphs_of_functions_have_no_inlined_functions() {
    let functions = b"events: Ir\nfl=a.c\nfn=f\n1 3\n";
    for format in ["callgrind", "dot"] {
        let plain = tools::run("cg-fmt", &["-f", format], functions);
        let inlined = tools::run("cg-fmt", &["--inline", "-f", format], functions);
        assert_eq!((plain.status, inlined.status), (0, 0), "{}", inlined.stderr);
        assert_eq!(plain.stdout, inlined.stdout);
        let message = "inlined functions are not in this format";
        assert!(inlined.stderr.contains(message), "{}", inlined.stderr);
        assert!(!plain.stderr.contains(message), "{}", plain.stderr);
    }
}

#[test]
fn line_is_exported_with_its_own_file() {
    let expected: BTreeSet<(String, String, u64)> =
        records(&std::fs::read(data("exports/site.jsonl")).unwrap())
            .iter()
            .flat_map(|record| record["stack"].as_array().cloned().unwrap_or_default())
            .map(|frame| {
                let text = |field: &str| frame[field].as_str().map(str::to_owned);
                let file = text("site").or(text("file")).unwrap();
                (text("fn").unwrap(), file, frame["line"].as_u64().unwrap())
            })
            .collect();
    let (profile, stderr) = written(&["-f", "speedscope", "exports/site.jsonl"], b"");
    assert!(
        stderr.contains("files of functions beside those of their lines"),
        "{stderr}"
    );
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    let frames = profile["shared"]["frames"].as_array().unwrap().iter();
    let found: BTreeSet<(String, String, u64)> = frames
        .map(|frame| {
            let text = |field: &str| frame[field].as_str().unwrap().to_owned();
            (text("name"), text("file"), frame["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(found, expected);
    for format in ["pprof", "firefox", "trace"] {
        let (export, _) = written(&["-f", format, "exports/site.jsonl"], b"");
        let again = stacks(&read_again(&export));
        let found: BTreeSet<(String, String, u64)> = again
            .iter()
            .flat_map(|record| record["stack"].as_array().unwrap())
            .map(|frame| {
                let text = |field: &str| frame[field].as_str().unwrap().to_owned();
                (text("fn"), text("file"), frame["line"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(found, expected, "{format}");
    }
}

/// Splits a cell of the page's table into the words that messages use for kept or lost data.
fn parse_words(cell: &str) -> BTreeSet<String> {
    let words = cell
        .split([',', ';'])
        .map(|word| word.split(" (").next().unwrap().trim());
    let words = words.map(|word| {
        if word.starts_with("marks") {
            "marks"
        } else {
            word
        }
    });
    words.map(str::to_owned).collect()
}

#[test]
fn documentation_lists_the_losses_of_each_format() {
    let page = std::fs::read_to_string(workspace().join("docs/exports.md")).unwrap();
    let cost = serde_json::json!({"cycles": 5});
    let stack = serde_json::json!({
        "thread": "worker", "tid": 2, "process": "demo", "pid": 1, "time": 9, "labels": {"phase": "parse"},
        "stack": [
            {"fn": "f", "file": "a.rs", "line": 3, "obj": "/opt/demo", "addr": "0x10", "inlined": true},
            {"fn": "g", "file": "a.rs", "line": 4, "obj": "/opt/demo", "addr": "0x10", "jit": true},
        ],
    });
    let stream = stream_of(&serde_json::json!({"cycles": 5}), &[(&cost, stack)]);
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
        .filter(|row: &Vec<&str>| row.len() == 4)
        .collect();
    assert_eq!(rows.len(), 7);
    for row in rows {
        let [format, _, keeps, loses] = row[..] else {
            panic!("{row:?}")
        };
        let (_, stderr) = written(&["-f", format.trim_matches('`')], &stream);
        let lost = stderr.lines().find_map(|line| {
            let (_, lost) = line.split_once(" hold no ")?;
            Some(lost.trim_end_matches(": left out").to_owned())
        });
        let lost = parse_words(&lost.unwrap_or_default());
        assert_eq!(lost, parse_words(loses), "{format}");
        let kept = parse_words(keeps);
        let both: Vec<_> = kept.intersection(&lost).collect();
        assert_eq!(
            both.iter().filter(|word| **word != "marks").count(),
            0,
            "{format}: {both:?}"
        );
    }
}

#[test]
fn pruned_cost_of_an_estimate_is_reported() {
    // Forty layers of ten functions, each calling all functions of the next layer: too many paths to follow all.
    let mut profile = String::from("# callgrind format\nevents: Ir\nfl=a.c\n");
    for layer in 0..40 {
        for function in 0..10 {
            profile += &format!("fn=f{layer}_{function}\n1 10\n");
            if layer < 39 {
                for callee in 0..10 {
                    let incl = 39 - layer;
                    profile += &format!("cfn=f{}_{callee}\ncalls=1 1\n1 {incl}\n", layer + 1);
                }
            }
        }
    }
    let run = tools::run("cg-parse", &["--stacks", "-"], profile.as_bytes());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let records = stacks(&run.stdout);
    let pruned = records
        .iter()
        .filter(|record| record["stack"].to_string().contains("\"[pruned]\""));
    let pruned: u64 = pruned
        .map(|record| record["cost"]["Ir"].as_u64().unwrap())
        .sum();
    assert!(pruned > 0);
    assert!(
        run.stderr.contains(&format!("; {pruned} Ir (")),
        "{pruned}: {}",
        run.stderr
    );
    // In a graph with few paths, nothing is pruned, not even at low cost.
    let small = b"# callgrind format\nevents: Ir\nfl=a.c\nfn=main\n1 9999999\ncfn=tiny\ncalls=1 1\n1 1\nfn=tiny\n2 1\n";
    let run = tools::run("cg-parse", &["--stacks", "-"], small);
    assert!(!run.stderr.contains("[pruned]"), "{}", run.stderr);
    assert_eq!(stacks(&run.stdout).len(), 2);
}
