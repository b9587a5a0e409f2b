//! Exports as their consumers show them by default, with names that these could take for something else; and the page about
//! exports, which says what each format keeps and loses.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use needs::needs;
use serde_json::Value;
use tests::{data, tools, workspace};

/// What cg-fmt writes, and what it says.
fn written(args: &[&str], input: &[u8]) -> (Vec<u8>, String) {
    let run = tools::run("cg-fmt", args, input);
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    (run.stdout, run.stderr)
}

/// What cg-parse makes of an export; what it says is no matter here.
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

/// What a viewer prints of a file, run in a folder.
fn shown(command: &mut Command, folder: &Path) -> String {
    let output = command.current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    // Which other sources this machine has, and without lines, is not known.
    let has_sources = folder.join("mutual.c").exists() && !folder.join("others").exists();
    assert!(
        !has_sources || !said.contains("uninitialized"),
        "{command:?}: {said}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// What `go tool pprof` prints by its defaults.
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

/// A stream of stacks, each a count with frames, innermost first.
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

/// Names of which a viewer could strip, split or merge something.
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
fn pprof_shows_every_function_in_a_row_of_its_own() {
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

/// Profiles of pprof that say all that one can.
const PPROF: [&str; 3] = [
    "exports/heap.pb.gz",
    "pprof/go-heap.pb.gz",
    "pprof/go-cpu.pb.gz",
];

#[test]
fn a_profile_of_pprof_and_its_export_differ_by_nothing() {
    needs!("go");
    for file in PPROF {
        let source = data(file);
        let folder = tempfile::tempdir().unwrap();
        let (direct, said) = written(&["-f", "pprof", file], b"");
        assert_eq!(said, "", "{file}: something is said to be lost");
        let stream = tools::stdout("cg-parse", &[file], b"");
        for export in [direct, written(&["-f", "pprof"], &stream).0] {
            let export = saved(&folder, "export.pb.gz", &export);
            let base = format!("-diff_base={}", source.display());
            let raw = pprof(&["-raw"], &[&source]);
            // What each sample is of, and the types, period, time and duration.
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

/// Where objects were, and what is known of their code.
fn mappings(raw: &str) -> Vec<String> {
    let lines = raw
        .lines()
        .skip_while(|line| !line.starts_with("Mappings"))
        .skip(1);
    lines.map(str::to_owned).collect()
}

/// The figures of callgrind_annotate by file and function.
fn annotated(profile: &[u8], args: &[&str]) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    saved(&folder, "callgrind.out", profile);
    // In the folder of the sources, whose paths it cuts, and with sources that it can open.
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
            "{name} is there twice"
        );
    }
    figures
}

#[test]
fn callgrind_annotate_says_of_an_export_what_it_says_of_the_file() {
    needs!("annotate");
    for file in [
        "exports/mutual.callgrind.out",
        "callgrind/3.19.0-rec_default.callgrind.out",
        "fmt/sort.callgrind.out",
    ] {
        let raw = std::fs::read(data(file)).unwrap();
        let (export, said) = written(&["-f", "callgrind", file], b"");
        assert_eq!(said, "", "{file}");
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
            "{file}: by a stream"
        );
    }
}

#[test]
fn a_stream_without_levels_says_that_they_are_made_up() {
    let stream = tools::stdout(
        "cg-parse",
        &["--calls", "exports/mutual.callgrind.out"],
        b"",
    );
    let (_, said) = written(&["-f", "callgrind"], &stream);
    assert!(said.contains("cg-parse --levels"), "{said}");
}

/// Self and inclusive cost by function, each stack once, of the records with stacks.
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
        // A frame without a name is called by its object.
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
fn stacks_of_any_profiler_are_a_graph_of_calls() {
    needs!("annotate");
    for (file, event) in [
        ("dhat/3.19.0-heapy.dhat.json", "total_bytes"),
        ("heaptrack/1.4.0-shapes.zst", "total_bytes"),
        ("massif/3.19.0-heapy_i.massif.out", "bytes"),
        ("perf/6.1-busy.perf.txt", "cpu-clock"),
        ("exports/heap.pb.gz", "alloc_space"),
        ("v8/node.cpuprofile", "time"),
    ] {
        let (export, said) = written(&["-f", "callgrind", "--event", event, file], b"");
        assert!(said.contains("calls are those of stacks"), "{file}: {said}");
        let own = annotated(&export, &["--inclusive=no"]);
        let inclusive = annotated(&export, &["--inclusive=yes"]);
        let mut of_levels: BTreeMap<String, u64> = BTreeMap::new();
        for (name, cost) in &own {
            let (first, level) = name.rsplit_once('\'').unwrap_or((name, ""));
            let is_level = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit());
            let function = if is_level { first } else { name };
            *of_levels.entry(function.to_owned()).or_default() += cost;
        }
        for (function, [own, incl]) in figures_of(file, event) {
            assert_eq!(
                of_levels.get(&function).copied().unwrap_or(0),
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
fn a_recursion_of_stacks_counts_each_stack_once_whatever_it_begins_with() {
    needs!("annotate");
    // f is in the second stack twice, and the third begins inside of it.
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
fn samples_of_firefox_stand_where_they_were_taken() {
    let times = |file: &str, event: &str| -> (Value, Vec<f64>, Vec<f64>) {
        let (profile, said) = written(&["-f", "firefox", "--event", event, file], b"");
        assert!(!said.contains("time axis"), "{said}");
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
    // A sample a ms from 0.3 ms on, of which the last lasts to the end.
    let (kind, at, weights) = times("exports/phases.cpuprofile", "time");
    assert_eq!(kind, "tracing-ms");
    assert_eq!((at.len(), at[0], at[1], at[59]), (60, 0.3, 1.3, 59.3));
    assert_eq!(
        weights,
        [1.0; 59].into_iter().chain([5.0]).collect::<Vec<f64>>()
    );
    let (kind, at, weights) = times("perf/6.1-busy.perf.txt", "samples");
    assert_eq!(kind, "samples");
    // perf script: the first of this thread 21.86 ms behind the first of all.
    assert_eq!((at[0], weights[0]), (21.86, 1.0));
    assert!(at.windows(2).all(|pair| pair[0] <= pair[1]), "{at:?}");
    // A stream has times where they were asked for, and says so where it has none.
    let file = "perf/6.1-busy.perf.txt";
    let stream = tools::stdout("cg-parse", &["--times", file], b"");
    assert_eq!(
        written(&["-f", "firefox"], &stream).0,
        written(&["-f", "firefox", file], b"").0
    );
    let stream = tools::stdout("cg-parse", &[file], b"");
    let (profile, said) = written(&["-f", "firefox"], &stream);
    assert!(said.contains("the time axis means nothing"), "{said}");
    assert!(
        String::from_utf8(profile)
            .unwrap()
            .contains("the time axis means nothing")
    );
}

#[test]
fn threads_processes_and_whose_code_it_is_are_told_to_firefox() {
    let cost = serde_json::json!({"samples": 3});
    let frames = serde_json::json!([
        {"fn": "do_syscall_64", "obj": "[kernel.kallsyms]", "kernel": true, "addr": "0xffffffff81000000"},
        {"fn": "read", "obj": "/usr/lib/x86_64-linux-gnu/libc.so.6"},
        {"fn": "serde_json::from_slice", "file": "/home/dev/.cargo/registry/src/index-1/serde_json-1.0.1/src/lib.rs", "obj": "/opt/demo"},
        {"fn": "demo::main", "file": "/home/dev/demo/src/main.rs", "line": 7, "obj": "/opt/demo", "addr": "0x1a20"},
    ]);
    let of = |tid: u64| serde_json::json!({"thread": "worker", "tid": tid, "process": "demo", "pid": 70, "stack": frames});
    let stream = stream_of(
        &serde_json::json!({"samples": 6}),
        &[(&cost, of(71)), (&cost, of(70))],
    );
    let (profile, said) = written(&["-f", "firefox"], &stream);
    assert!(
        said.contains("1 addresses") || said.contains("2 addresses"),
        "{said}"
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

/// The slices of a trace by thread: what is open while time passes, innermost first, and for how many ns.
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
fn a_trace_has_the_stacks_and_is_read_again() {
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
    // alpha, beta, alpha, as the profile has it.
    let (trace, said) = written(&["-f", "trace", "exports/phases.cpuprofile"], b"");
    assert_eq!(said, "");
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
fn a_line_goes_with_the_file_that_it_is_a_line_of() {
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
    let (profile, said) = written(&["-f", "speedscope", "exports/site.jsonl"], b"");
    assert!(
        said.contains("files of functions beside those of their lines"),
        "{said}"
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

/// What a page's table says that a format keeps or loses, by the words of the messages.
fn told(cell: &str) -> BTreeSet<String> {
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
fn the_page_says_what_each_format_loses() {
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
        let (_, said) = written(&["-f", format.trim_matches('`')], &stream);
        let said = said.lines().find_map(|line| {
            let (_, lost) = line.split_once(" hold no ")?;
            Some(lost.trim_end_matches(": left out").to_owned())
        });
        let lost = told(&said.unwrap_or_default());
        assert_eq!(lost, told(loses), "{format}");
        let kept = told(keeps);
        let both: Vec<_> = kept.intersection(&lost).collect();
        assert_eq!(
            both.iter().filter(|word| **word != "marks").count(),
            0,
            "{format}: {both:?}"
        );
    }
}

#[test]
fn what_an_estimate_does_not_follow_is_said_in_figures() {
    // Forty layers of ten functions, each calling all of the next: more ways than are followed.
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
        .filter(|record| record["stack"][0]["fn"] == "[pruned]");
    let pruned: u64 = pruned
        .map(|record| record["cost"]["Ir"].as_u64().unwrap())
        .sum();
    assert!(pruned > 0);
    assert!(
        run.stderr.contains(&format!("; {pruned} Ir (")),
        "{pruned}: {}",
        run.stderr
    );
    // Of a graph with few ways nothing is left out, however little it costs.
    let small = b"# callgrind format\nevents: Ir\nfl=a.c\nfn=main\n1 9999999\ncfn=tiny\ncalls=1 1\n1 1\nfn=tiny\n2 1\n";
    let run = tools::run("cg-parse", &["--stacks", "-"], small);
    assert!(!run.stderr.contains("[pruned]"), "{}", run.stderr);
    assert_eq!(stacks(&run.stdout).len(), 2);
}
