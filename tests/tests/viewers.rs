//! Files of cg-fmt opened in other viewers: their figures must be the same as in the stream.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use needs::needs;
use serde_json::Value;
use tests::tools;

/// Runs a viewer with this input.
fn viewer(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// Runs cg-fmt. Returns its output and standard error.
fn written(args: &[&str], input: &[u8]) -> (Vec<u8>, String) {
    let run = tools::run("cg-fmt", args, input);
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    (run.stdout, run.stderr)
}

fn records(stream: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(stream).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the names of a function in a record. `???` replaces a missing name.
fn function(record: &Value) -> [String; 3] {
    ["fn", "file", "obj"].map(|field| record[field].as_str().unwrap_or("???").to_owned())
}

/// Returns the counts that are not 0.
fn counts(value: &Value) -> BTreeMap<String, u64> {
    let counts = value.as_object().into_iter().flatten();
    let counts = counts.map(|(event, count)| (event.clone(), count.as_u64().unwrap()));
    counts.filter(|(_, count)| *count != 0).collect()
}

/// Self cost, call count and inclusive cost of a function.
type Figures = (BTreeMap<String, u64>, u64, BTreeMap<String, u64>);

/// Returns the functions of a stream that have a cost or calls.
fn functions(stream: &[u8]) -> BTreeMap<[String; 3], Figures> {
    let mut functions = BTreeMap::new();
    for record in records(stream) {
        if record["type"] == "fn" {
            let calls = record["calls"].as_u64().unwrap_or(0);
            let figures = (counts(&record["cost"]), calls, counts(&record["incl"]));
            if figures != Figures::default() {
                functions.insert(function(&record), figures);
            }
        }
    }
    functions
}

/// The calls from one line: caller, callee and line.
type CallSite = ([String; 3], [String; 3], u64);

/// Returns the calls and their inclusive cost. Omits lines in files other than the caller's.
fn calls(stream: &[u8]) -> BTreeMap<CallSite, (u64, BTreeMap<String, u64>)> {
    let mut calls = BTreeMap::new();
    for record in records(stream) {
        if record["type"] == "call" {
            let line = match record.get("site") {
                Some(_) => 0,
                None => record["line"].as_u64().unwrap_or(0),
            };
            let key = (function(&record), function(&record["callee"]), line);
            let (count, incl): &mut (u64, BTreeMap<String, u64>) = calls.entry(key).or_default();
            *count += record["calls"].as_u64().unwrap();
            for (event, cost) in counts(&record["incl"]) {
                *incl.entry(event).or_insert(0) += cost;
            }
        }
    }
    calls
}

/// Profiles of Callgrind and others: recursion with and without levels, all events, several parts, names with blanks.
const CALLGRIND: [&str; 10] = [
    "callgrind/3.19.0-rec_default.callgrind.out",
    "callgrind/3.19.0-rec_dumpbefore.callgrind.out",
    "callgrind/3.14.0-rec_sep.callgrind.out",
    "callgrind/3.14.0-weird_default.callgrind.out",
    "callgrind/3.27.1-heapy_systime.callgrind.out",
    "callgrind/recursion-toggled.callgrind.out",
    "callgrind/nytprof-nytprof.callgrind",
    "callgrind/xdebug-cachegrind.out.w",
    "callgrind/pprof-go-gg_calltree.callgrind",
    "fmt/sort-cache.callgrind.out",
];

#[test]
fn callgrind_file_is_read_back_unchanged() {
    for file in CALLGRIND {
        let stream = tools::stdout("cg-parse", &["--calls", file], b"");
        let (profile, stderr) = written(&["-f", "callgrind"], &stream);
        assert!(
            !stderr.contains("inclusive cost differs"),
            "{file}: {stderr}"
        );
        let again = tools::stdout("cg-parse", &["--calls", "-"], &profile);
        assert_eq!(functions(&again), functions(&stream), "{file}");
        assert_eq!(calls(&again), calls(&stream), "{file}");
        let total = |stream: &[u8]| counts(&records(stream)[0]["total"]);
        assert_eq!(total(&again), total(&stream), "{file}");
        // Every number means one name, which is defined at the number's first use.
        let text = String::from_utf8(profile).unwrap();
        for kinds in [["fn=", "cfn="], ["fl=", "cfi="], ["ob=", "cob="]] {
            let mut named = Vec::new();
            for line in text.lines() {
                let position = kinds.iter().find_map(|kind| line.strip_prefix(kind));
                let Some((number, name)) = position.and_then(|position| position.split_once(')'))
                else {
                    continue;
                };
                assert_ne!(named.contains(&number), !name.is_empty(), "{file}: {line}");
                named.push(number);
            }
        }
    }
}

#[test]
fn callgrind_export_warns_about_changed_inclusive_cost() {
    // The inclusive cost of a function that is called in only one of two parts is the sum of both.
    let (_, stderr) = written(
        &[
            "-f",
            "callgrind",
            "callgrind/3.19.0-mtcg_threads_combined.callgrind.out",
        ],
        b"",
    );
    assert!(
        stderr.contains("inclusive cost differs from the incoming calls for 1 function"),
        "{stderr}"
    );
}

#[test]
fn lines_are_read_back_with_their_files() {
    for file in CALLGRIND {
        let stream = tools::stdout("cg-parse", &["--calls", "--lines", file], b"");
        let (profile, _) = written(&["-f", "callgrind"], &stream);
        let again = tools::stdout("cg-parse", &["--lines", "-"], &profile);
        let lines = |stream: &[u8]| -> BTreeMap<([String; 3], u64), BTreeMap<String, u64>> {
            let lines = records(stream)
                .into_iter()
                .filter(|record| record["type"] == "line");
            let lines = lines.map(|record| {
                (
                    (function(&record), record["line"].as_u64().unwrap()),
                    counts(&record["cost"]),
                )
            });
            lines.filter(|(_, cost)| !cost.is_empty()).collect()
        };
        assert_eq!(lines(&again), lines(&stream), "{file}");
        assert_eq!(functions(&again), functions(&stream), "{file}");
    }
}

/// Returns the figures of callgrind_annotate by file and function.
fn annotated(profile: &[u8], args: &[&str]) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("callgrind.out");
    std::fs::write(&path, profile).unwrap();
    let listing = text(viewer(
        needs::command("callgrind_annotate")
            .args(args)
            .arg("--threshold=100")
            .arg(&path),
        b"",
    ));
    let rows = listing
        .lines()
        .skip_while(|line| !line.ends_with("file:function"));
    let rows = rows.skip(2).take_while(|line| !line.is_empty());
    // A row without cost has a dot or 0 as its count.
    let rows = rows.filter(|row| !row.trim_start().starts_with(['.', '0']));
    rows.map(|row| {
        let (count, rest) = row.trim_start().split_once(' ').unwrap();
        let (_, name) = rest.split_once(")  ").unwrap_or_else(|| panic!("{row}"));
        // callgrind_annotate adds up functions with the same name and file in several objects, and names one object.
        let name = name.split(" [").next().unwrap();
        (name.to_owned(), count.replace(',', "").parse().unwrap())
    })
    .collect()
}

#[test]
fn callgrind_annotate_agrees_with_the_stream_despite_recursion() {
    needs!("annotate");
    for file in [
        "callgrind/3.19.0-rec_default.callgrind.out",
        "fmt/sort.callgrind.out",
    ] {
        let stream = tools::stdout("cg-parse", &["--calls", file], b"");
        let (profile, _) = written(&["-f", "callgrind"], &stream);
        let inclusive = annotated(&profile, &["--inclusive=yes"]);
        let own = annotated(&profile, &["--inclusive=no"]);
        let mut expected: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
        for ([name, source, _], (cost, _, incl)) in functions(&stream) {
            let sums = expected.entry((source, name)).or_default();
            for (sum, counts) in sums.iter_mut().zip([cost, incl]) {
                *sum += counts.get("Ir").copied().unwrap_or(0);
            }
        }
        for ((source, name), [cost, incl]) in expected {
            let row = format!("{source}:{name}");
            let figure =
                |rows: &BTreeMap<String, u64>, row: &str| rows.get(row).copied().unwrap_or(0);
            assert_eq!(figure(&inclusive, &row), incl, "{file} {row}");
            let deeper = figure(&own, &format!("{row}'2"));
            assert_eq!(figure(&own, &row) + deeper, cost, "{file} {row}");
        }
        let total: u64 = own.values().sum();
        assert_eq!(
            Some(&total),
            counts(&records(&stream)[0]["total"]).get("Ir"),
            "{file}"
        );
    }
}

#[test]
fn gprof2dot_and_graphviz_draw_callgrind_files() {
    needs!("dot", "gprof2dot");
    let (profile, _) = written(&["-f", "callgrind", "fmt/sort.callgrind.out"], b"");
    let graph = viewer(
        needs::command("gprof2dot").args(["-f", "callgrind", "-n0", "-e0"]),
        &profile,
    );
    let graph = text(graph);
    // Shares of 114,587: bubble_sort has inclusive cost 93,640, self cost 55,579 and one call.
    for part in [
        "bubble_sort",
        "81.72%",
        "(48.50%)",
        "less\\n21.17%\\n(21.17%)\\n2426×",
        "main",
    ] {
        assert!(graph.contains(part), "{part} in {graph}");
    }
    let picture = viewer(needs::command("dot").arg("-Tsvg"), graph.as_bytes());
    assert!(text(picture).contains("bubble_sort"));
}

#[test]
fn call_graph_agrees_with_gprof2dot() {
    needs!("dot", "gprof2dot");
    let file = "fmt/sort.callgrind.out";
    // Use a stream: in the raw file, recursion levels are separate functions.
    let stream = tools::stdout("cg-parse", &["--calls", file], b"");
    let (profile, _) = written(&["-f", "callgrind"], &stream);
    let theirs = text(viewer(
        needs::command("gprof2dot").args(["-f", "callgrind"]),
        &profile,
    ));
    let (ours, _) = written(&["-f", "dot", file], b"");
    let ours = String::from_utf8(ours).unwrap();
    // gprof2dot merges functions with the same name, so compare only the program's functions and their callees.
    let labels = |graph: &str| -> Vec<String> {
        let labels = graph
            .lines()
            .filter_map(|line| line.split_once(" [")?.1.split_once("label=\""));
        let labels = labels.map(|(_, label)| label.split_once('"').unwrap().0.to_owned());
        let mut own: Vec<String> = labels
            .filter(|label| {
                !label.contains("main") && !label.contains("100.00%") && !label.contains("ld-linux")
            })
            .collect();
        own.sort();
        own
    };
    assert!(labels(&ours).len() >= 12, "{ours}");
    assert_eq!(labels(&ours), labels(&theirs));
    for function in ["bubble_sort", "quick_sort", "less", "swap", "fill"] {
        let line = ours
            .lines()
            .find(|line| line.contains(&format!("\\n{function}\\n")))
            .unwrap();
        assert!(line.contains(r#"color="black", penwidth="2""#), "{line}");
    }
    let library = ours
        .lines()
        .find(|line| line.contains("__libc_start_main"))
        .unwrap();
    assert!(!library.contains("black"), "{library}");
    let (_, stderr) = written(&["-f", "dot", CALLGRIND[0]], b"");
    assert!(
        stderr.contains("functions below 0.50% of the total, and"),
        "{stderr}"
    );
    let picture = text(viewer(needs::command("dot").arg("-Tsvg"), ours.as_bytes()));
    assert!(
        picture.contains("bubble_sort") && picture.contains("2426×"),
        "{picture}"
    );
}

#[test]
fn graphviz_draws_names_of_any_kind_and_a_graph_without_calls() {
    needs!("dot");
    let names = [
        "a\"];b [label=\"",
        "back\\slash",
        "line\nbreak",
        "<b>&amp;",
        "ключ",
    ];
    let mut stream =
        String::from("{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{\"Ir\":50}}\n");
    for name in names {
        let record = serde_json::json!({"type": "fn", "fn": name, "file": name, "obj": name, "cost": {"Ir": 10}});
        stream += &format!("{record}\n");
    }
    stream += "{\"type\":\"end\",\"records\":5}\n";
    let (graph, stderr) = written(&["-f", "dot"], stream.as_bytes());
    assert!(stderr.contains("no records of calls"), "{stderr}");
    let picture = text(viewer(needs::command("dot").arg("-Tsvg"), &graph));
    assert_eq!(picture.matches("class=\"node\"").count(), names.len());
    for name in [
        "a&quot;];b [label=&quot;",
        "back\\slash",
        "line\\nbreak",
        "&lt;b&gt;&amp;amp;",
        "ключ",
    ] {
        assert!(
            picture.contains(&format!(">{name}<")),
            "{name} in {picture}"
        );
    }
}

/// Returns the folded stacks of a heap, for flame graphs.
fn folded() -> Vec<u8> {
    written(
        &[
            "-f",
            "folded",
            "--event",
            "gmax_bytes",
            "dhat/3.19.0-heapy.dhat.json",
        ],
        b"",
    )
    .0
}

#[test]
fn inferno_draws_folded_stacks() {
    needs!("inferno");
    let picture = text(viewer(&mut needs::command("inferno-flamegraph"), &folded()));
    // According to dh_view, t-gmax has 1,030,800 bytes: 900,000 by `spike` and 130,800 by `ramp`.
    for title in [
        "all (1,030,800 samples, 100%)",
        "spike (900,000 samples, 87.31%)",
        "ramp (130,800 samples, 12.69%)",
    ] {
        assert!(picture.contains(title), "{title} in {picture}");
    }
}

#[test]
fn inferno_draws_two_counts_as_a_difference() {
    needs!("inferno");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (before, after) = (path("before.folded"), path("after.folded"));
    std::fs::write(&before, "main;a 10\nmain;b 20\nmain;gone 5\n").unwrap();
    std::fs::write(&after, "main;a 30\nmain;b 20\nmain;new 7\n").unwrap();
    let diff = tools::stdout(
        "cg-diff",
        &["--all", "--type", "stack", &before, &after],
        b"",
    );
    let (folded, _) = written(&["-f", "folded"], &diff);
    assert_eq!(
        folded,
        b"main;a 10 30\nmain;b 20 20\nmain;gone 5 0\nmain;new 0 7\n"
    );
    let picture = text(viewer(&mut needs::command("inferno-flamegraph"), &folded));
    for title in [
        "all (57 samples, 100%)",
        "a (30 samples, 52.63%; +35.09%)",
        "new (7 samples, 12.28%; +12.28%)",
    ] {
        assert!(picture.contains(title), "{title} in {picture}");
    }
}

/// Profiles with stacks with files, lines, objects and threads.
const SAMPLED: [&str; 5] = [
    "firefox/samply-bash.json.gz",
    "firefox/small-v55.json",
    "firefox/small-v70.json",
    "pprof/go-cpu.pb.gz",
    "pprof/go-heap.pb.gz",
];

/// Returns the stream of a profile, and ignores the warning about omitted labels.
fn parsed(file: &str) -> Vec<u8> {
    let run = tools::run("cg-parse", &[file], b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stdout
}

/// A frame: function, file, line, object and marks.
type Place = (String, String, u64, String, Vec<&'static str>);

/// Thread and process, and the frames of a stack.
type Stack = (Option<String>, Option<String>, Vec<Place>);

/// Returns the stacks of a stream, with these marks of their frames. Ignores addresses.
fn stacks(stream: &[u8], marks: &[&'static str]) -> BTreeMap<Stack, BTreeMap<String, i64>> {
    let mut stacks = BTreeMap::new();
    for record in records(stream) {
        if record["type"] != "stack" {
            continue;
        }
        let text = |value: &Value, field: &str| value[field].as_str().map(str::to_owned);
        let frame = |frame: &Value| {
            let marks = marks.iter().copied().filter(|mark| frame[*mark] == true);
            let known = |field| text(frame, field).unwrap_or_default();
            let line = frame["line"].as_u64().unwrap_or(0);
            (
                known("fn"),
                known("file"),
                line,
                known("obj"),
                marks.collect(),
            )
        };
        let frames = record["stack"]
            .as_array()
            .unwrap()
            .iter()
            .map(frame)
            .collect();
        let key = (text(&record, "thread"), text(&record, "process"), frames);
        let sums: &mut BTreeMap<String, i64> = stacks.entry(key).or_default();
        for (event, count) in record["cost"].as_object().unwrap() {
            *sums.entry(event.clone()).or_insert(0) += count.as_i64().unwrap();
        }
    }
    for sums in stacks.values_mut() {
        sums.retain(|_, count| *count != 0);
    }
    stacks
}

#[test]
fn pprof_files_are_read_back_unchanged() {
    for file in SAMPLED {
        let stream = parsed(file);
        let (profile, _) = written(&["-f", "pprof"], &stream);
        let again = tools::stdout("cg-parse", &["-"], &profile);
        // Inlined functions become separate locations, so that speedscope shows them.
        let marks = ["kernel"];
        assert_eq!(stacks(&again, &marks), stacks(&stream, &marks), "{file}");
        let run = |stream: &[u8]| records(stream)[0].clone();
        let (again, first) = (run(&again), run(&stream));
        for field in ["events", "total", "units", "duration"] {
            assert_eq!(again[field], first[field], "{file}: {field}");
        }
        assert_eq!(
            written(&["-f", "pprof"], &stream).0,
            profile,
            "{file}: the output differs for the same input"
        );
    }
}

/// Returns the samples of a stream with addresses: frames, labels and costs, sorted.
fn samples_with_addresses(stream: &[u8]) -> Vec<String> {
    let records = records(stream).into_iter();
    let samples = records.filter(|record| record["type"] == "stack");
    let mut samples: Vec<String> = samples
        .map(|mut record| {
            for frame in record["stack"].as_array_mut().unwrap() {
                frame.as_object_mut().unwrap().remove("inlined");
            }
            format!(
                "{} {} {}",
                record["stack"], record["labels"], record["cost"]
            )
        })
        .collect();
    samples.sort();
    samples
}

#[test]
fn pprof_keeps_samples_that_differ_only_in_their_addresses() {
    let frame = |address: u64| {
        format!(r#"{{"fn":"work","file":"a.c","line":3,"obj":"/opt/a","addr":"{address:#x}"}}"#)
    };
    let sample = |address: u64, labels: &str, samples: u64| {
        format!(
            r#"{{"type":"stack","fn":"work","file":"a.c","line":3,"obj":"/opt/a",{labels}"cost":{{"samples":{samples}}},"stack":[{}]}}"#,
            frame(address)
        )
    };
    let stream = [
        r#"{"type":"run","stream":1,"tool":"pprof","events":["samples"],"total":{"samples":15}}"#,
        &sample(0x1010, "", 1),
        &sample(0x1018, "", 2),
        &sample(0x1018, r#""labels":{"n":7},"#, 4),
        &sample(0x1020, r#""labels":{"n":7},"#, 8),
        r#"{"type":"end","records":4}"#,
    ]
    .join("\n");
    let mut profiles = vec![("four samples", stream.into_bytes())];
    for file in [
        "pprof/go-cpu.pb.gz",
        "pprof/go-heap.pb.gz",
        "exports/heap.pb.gz",
    ] {
        profiles.push((file, parsed(file)));
    }
    for (file, stream) in profiles {
        let (profile, _) = written(&["-f", "pprof"], &stream);
        let again = tools::stdout("cg-parse", &["-"], &profile);
        let expected = samples_with_addresses(&stream);
        assert_eq!(samples_with_addresses(&again), expected, "{file}");
        // Other formats do not write addresses, and add these samples up.
        let (folded, _) = written(&["-f", "folded"], &stream);
        let lines = folded.split(|byte| *byte == b'\n').count();
        assert!(lines <= expected.len(), "{file}");
    }
}

#[test]
fn speedscope_files_are_read_back_unchanged() {
    for file in SAMPLED {
        let stream = parsed(file);
        let (profile, _) = written(&["-f", "speedscope"], &stream);
        let again = tools::stdout("cg-parse", &["-"], &profile);
        // Speedscope has no objects and no marks, and rejects negative counts.
        let held = |stream: &[u8]| {
            let mut held: BTreeMap<Stack, BTreeMap<String, i64>> = BTreeMap::new();
            for ((thread, process, mut frames), counts) in stacks(stream, &[]) {
                frames.iter_mut().for_each(|frame| frame.3.clear());
                let sums = held.entry((thread, process, frames)).or_default();
                for (event, count) in counts {
                    *sums.entry(event).or_insert(0) += count.max(0);
                }
            }
            held.retain(|_, counts| counts.values().any(|count| *count > 0));
            held
        };
        assert_eq!(held(&again), held(&stream), "{file}");
    }
}

#[test]
fn firefox_profiles_are_read_back_unchanged() {
    for file in SAMPLED {
        let stream = parsed(file);
        let event = records(&stream)[0]["events"][0]
            .as_str()
            .unwrap()
            .to_owned();
        let (profile, _) = written(&["-f", "firefox", "--event", &event], &stream);
        let again = tools::stdout("cg-parse", &["-"], &profile);
        let marks = ["kernel", "jit", "inlined"];
        let only =
            |stacks: BTreeMap<Stack, BTreeMap<String, i64>>, event: &str| -> BTreeMap<Stack, i64> {
                let count = |counts: BTreeMap<String, i64>| counts.get(event).copied().unwrap_or(0);
                stacks
                    .into_iter()
                    .map(|(stack, counts)| (stack, count(counts)))
                    .collect()
            };
        let written_event = records(&again)[0]["events"][0].as_str().unwrap().to_owned();
        assert_eq!(
            only(stacks(&again, &marks), &written_event),
            only(stacks(&stream, &marks), &event),
            "{file}"
        );
    }
}

/// Reads the stacks of a processed profile of version 55, outermost frame first, based only on the format's documentation.
fn walked(profile: &Value) -> BTreeMap<String, i64> {
    let mut stacks = BTreeMap::new();
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 55);
    for thread in profile["threads"].as_array().unwrap() {
        let cell = |table: &str, column: &str, row: usize| thread[table][column][row].clone();
        let index = |value: Value| value.as_u64().map(|value| usize::try_from(value).unwrap());
        for table in [
            "samples",
            "stackTable",
            "frameTable",
            "funcTable",
            "resourceTable",
            "markers",
        ] {
            let length = index(thread[table]["length"].clone()).unwrap();
            for (column, values) in thread[table].as_object().unwrap() {
                if let Some(values) = values.as_array() {
                    assert_eq!(values.len(), length, "{table}.{column}");
                }
            }
        }
        for sample in 0..thread["samples"]["stack"].as_array().unwrap().len() {
            let mut names = Vec::new();
            let mut stack = index(cell("samples", "stack", sample));
            while let Some(row) = stack {
                let frame = index(cell("stackTable", "frame", row)).unwrap();
                let function = index(cell("frameTable", "func", frame)).unwrap();
                let name = index(cell("funcTable", "name", function)).unwrap();
                names.push(thread["stringArray"][name].as_str().unwrap().to_owned());
                let prefix = index(cell("stackTable", "prefix", row));
                assert!(prefix.is_none_or(|prefix| prefix < row));
                stack = prefix;
            }
            names.reverse();
            let weight = cell("samples", "weight", sample).as_i64().unwrap();
            *stacks.entry(names.join(";")).or_insert(0) += weight;
        }
    }
    stacks
}

#[test]
fn firefox_tables_agree_with_the_folded_stacks() {
    for file in SAMPLED {
        let (profile, _) = written(&["-f", "firefox"], &parsed(file));
        let mut walked = walked(&serde_json::from_slice(&profile).unwrap());
        // Folded stacks have no negative counts.
        walked.retain(|_, count| *count > 0);
        let (folded, _) = written(&["-f", "folded", file], b"");
        let folded = String::from_utf8(folded).unwrap();
        let mut expected = BTreeMap::new();
        for line in folded.lines() {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            let frames: Vec<&str> = stack
                .split(';')
                .map(|frame| frame.trim_end_matches("_[k]").trim_end_matches("_[i]"))
                .collect();
            *expected.entry(frames.join(";")).or_insert(0) += count.parse::<i64>().unwrap();
        }
        assert_eq!(walked, expected, "{file}");
    }
}

/// Returns the output of `go tool pprof` for a profile.
fn pprof(profile: &[u8], args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.pb.gz");
    std::fs::write(&path, profile).unwrap();
    text(viewer(
        needs::command("go")
            .args(["tool", "pprof"])
            .args(args)
            .arg(path)
            .env("PPROF_TMPDIR", folder.path()),
        b"",
    ))
}

#[test]
fn go_tool_pprof_agrees_with_the_stream() {
    needs!("go");
    let (profile, _) = written(&["-f", "pprof", "dhat/3.19.0-heapy.dhat.json"], b"");
    let top = pprof(&profile, &["-top", "-unit=B", "-sample_index=gmax_bytes"]);
    for row in [
        "1030800B   100%   100%   1030800B   100%  malloc",
        "900000B 87.31%  spike",
        "130800B 12.69%  ramp",
    ] {
        assert!(top.contains(row), "{row} in {top}");
    }
    assert!(top.contains("of 1030800B total"), "{top}");
    // By default, pprof shows DHAT's first event.
    assert!(pprof(&profile, &["-top"]).contains("Type: total_bytes"));
    // The totals equal those of Go's own profile. Samples that differ only in labels are merged.
    let raw = pprof(
        &written(&["-f", "pprof", "pprof/go-cpu.pb.gz"], b"").0,
        &["-raw"],
    );
    let original = std::fs::read_to_string(tests::data("pprof/go-cpu.pb.gz.raw.txt")).unwrap();
    let sums = |raw: &str| -> [u64; 2] {
        let lines = raw
            .lines()
            .skip_while(|line| !line.starts_with("Samples:"))
            .skip(2);
        let lines = lines.take_while(|line| !line.starts_with("Locations"));
        let values = lines.filter_map(|line| {
            let mut values = line.split(':').next()?.split_whitespace().map(str::parse);
            Some([values.next()?.ok()?, values.next()?.ok()?])
        });
        values.fold([0, 0], |sums, values: [u64; 2]| {
            [sums[0] + values[0], sums[1] + values[1]]
        })
    };
    assert_eq!(sums(&raw), sums(&original));
    assert_eq!(sums(&raw), [48, 480_000_000]);
}

#[test]
fn diff_is_written_as_two_pprof_columns_and_two_firefox_threads() {
    needs!("go");
    let folded = b"main;a 10 30\nmain;b 20 20\nmain;gone 5 0\n";
    let (profile, _) = written(&["-f", "pprof"], folded);
    let top = |column: &str| pprof(&profile, &["-top", &format!("-sample_index={column}")]);
    let (before, after) = (top("samples (before)"), top("samples (after)"));
    assert!(
        before.contains("of 35 total") && before.contains("14.29%  gone"),
        "{before}"
    );
    assert!(after.contains("of 50 total"), "{after}");
    let (profile, _) = written(&["-f", "firefox"], folded);
    let profile: Value = serde_json::from_slice(&profile).unwrap();
    let names: Vec<&Value> = profile["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| &thread["name"])
        .collect();
    assert_eq!(names, ["before", "after"]);
}
