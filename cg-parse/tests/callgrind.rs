//! Callgrind profiles, read through the public API: sums of files and parts, and comparisons with Valgrind's own tools.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cg_parse::Options;
use cg_stream::Diagnostics;
use needs::needs;
use serde_json::Value;

/// The result of parsing.
struct Parsed {
    records: Vec<Value>,
    messages: Vec<String>,
    has_errors: bool,
}

impl Parsed {
    fn records_of_type(&self, kind: &str) -> Vec<&Value> {
        self.records
            .iter()
            .filter(|record| record["type"] == kind)
            .collect()
    }

    fn count(&self, function: &str, field: &str) -> i64 {
        self.records_of_type("fn")
            .into_iter()
            .filter(|record| record["fn"] == function)
            .map(|record| record[field]["Ir"].as_i64().unwrap())
            .sum()
    }
}

fn parse(inputs: &[PathBuf], options: &Options) -> Parsed {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |message, _| {
        log.lock().unwrap().push(message.to_owned());
    });
    let mut output = Vec::new();
    cg_parse::parse(inputs, None, options, &mut output, &mut diagnostics).unwrap();
    let records = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let has_errors = diagnostics.has_errors();
    drop(diagnostics);
    Parsed {
        records,
        messages: Arc::into_inner(messages).unwrap().into_inner().unwrap(),
        has_errors,
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name)
}

#[test]
fn files_of_one_tool_are_summed_into_one_section() {
    let threads = [
        data("callgrind/thread-2.callgrind.out"),
        data("callgrind/thread-3.callgrind.out"),
    ];
    let parsed = parse(&threads, &Options::default());
    assert_eq!(parsed.messages, [""; 0]);
    let run = &parsed.records_of_type("run")[0];
    assert_eq!(parsed.records_of_type("run").len(), 1);
    assert_eq!(run["total"]["Ir"], 114_750 + 26_704);
    assert_eq!(run["parts"], 2);
    assert_eq!(run["pid"], 25_736);
    assert_eq!(run["thread"], Value::Null, "there are two");
    assert_eq!(parsed.count("sum", "cost"), 104_240 + 26_240);
    assert_eq!(parsed.count("sum", "incl"), 104_240 + 26_240);

    let per_part = Options {
        per_part: true,
        ..Options::default()
    };
    let parsed = parse(&threads, &per_part);
    let sections: Vec<(&Value, &Value)> = parsed
        .records_of_type("run")
        .into_iter()
        .map(|run| (&run["thread"], &run["total"]["Ir"]))
        .collect();
    assert_eq!(
        sections,
        [(&2.into(), &114_750.into()), (&3.into(), &26_704.into())]
    );
    assert!(
        parsed
            .records_of_type("fn")
            .iter()
            .all(|record| record["thread"] != Value::Null)
    );
}

#[test]
fn each_tool_has_a_separate_section() {
    let parsed = parse(
        &[
            data("cachegrind/3.19.0-rec_nocache.cachegrind.out"),
            data("callgrind/thread-2.callgrind.out"),
        ],
        &Options::default(),
    );
    let tools: Vec<&Value> = parsed
        .records_of_type("run")
        .into_iter()
        .map(|run| &run["tool"])
        .collect();
    assert_eq!(tools, ["cachegrind", "callgrind"]);
    assert_eq!(parsed.records_of_type("end").len(), 2);
}

#[test]
fn a_sum_with_a_missing_input_has_no_end_record() {
    let parsed = parse(
        &[
            data("callgrind/thread-2.callgrind.out"),
            data("callgrind/no-such-file"),
        ],
        &Options::default(),
    );
    assert!(parsed.has_errors);
    assert_eq!(parsed.records_of_type("run")[0]["total"]["Ir"], 114_750);
    assert_eq!(parsed.records_of_type("end").len(), 0);
}

#[test]
fn a_truncated_profile_keeps_its_readable_part_and_has_no_end_record() {
    let parsed = parse(
        &[data("callgrind/3.19.0-truncated_midwrite.callgrind.out")],
        &Options::default(),
    );
    assert!(parsed.has_errors);
    assert_eq!(parsed.messages.len(), 1);
    assert!(parsed.records_of_type("fn").len() > 1);
    assert_eq!(parsed.records_of_type("end").len(), 0);
}

#[test]
fn appended_profiles_have_separate_name_numbers() {
    let parsed = parse(
        &[data("callgrind/xdebug-appended.cachegrind.out")],
        &Options::default(),
    );
    assert_eq!(parsed.messages, [""; 0]);
    assert_eq!(
        parsed.records_of_type("run")[0]["total"]["Time_(10ns)"],
        36_187
    );
    assert_eq!(parsed.records_of_type("run")[0]["parts"], 2);
}

/// Runs a program of the test data under Callgrind with these options. Returns the path of the profile.
fn callgrind(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = folder.join("rec");
    if !program.exists() {
        let source = data("src/rec.c");
        let status = needs::command("gcc")
            .args(["-g", "-O0", "-o"])
            .args([&program, &source])
            .arg("-lm")
            .status()
            .unwrap();
        assert!(status.success());
    }
    let profile = folder.join(name);
    let output = needs::command("valgrind")
        .args(["-q", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .args(options)
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    profile
}

/// Returns the calls, the self cost and the inclusive cost of the program's own functions.
fn own_functions(profile: &Path) -> BTreeMap<String, [i64; 3]> {
    let parsed = parse(&[profile.to_owned()], &Options::default());
    assert_eq!(parsed.messages, [""; 0]);
    parsed
        .records_of_type("fn")
        .into_iter()
        .filter(|record| {
            record["file"]
                .as_str()
                .is_some_and(|file| file.ends_with("/rec.c"))
        })
        .map(|record| {
            let figures = [
                &record["calls"],
                &record["cost"]["Ir"],
                &record["incl"]["Ir"],
            ];
            let name = record["fn"].as_str().unwrap().to_owned();
            (name, figures.map(|figure| figure.as_i64().unwrap()))
        })
        .collect()
}

#[test]
fn recording_options_do_not_change_the_figures() {
    needs!("gcc", "valgrind");
    let folder = tempfile::tempdir().unwrap();
    let plain = own_functions(&callgrind(folder.path(), "plain", &[]));
    assert!(plain["fib"][0] > 1 && plain["fib"][2] < plain["main"][2]);
    for (name, options) in [
        ("levels", &["--separate-recs=10"][..]),
        ("callers", &["--separate-callers=3"]),
        ("both", &["--separate-callers=2", "--separate-recs=4"]),
        ("instructions", &["--dump-instr=yes", "--collect-jumps=yes"]),
        (
            "plain names",
            &["--compress-strings=no", "--compress-pos=no"],
        ),
        ("parts", &["--dump-before=fib", "--combine-dumps=yes"]),
    ] {
        assert_eq!(
            own_functions(&callgrind(folder.path(), name, options)),
            plain,
            "{name}"
        );
    }
}

#[test]
fn self_cost_equals_that_of_callgrind_annotate() {
    needs!("gcc", "valgrind", "annotate");
    let folder = tempfile::tempdir().unwrap();
    let profile = callgrind(folder.path(), "profile", &[]);
    let parsed = parse(std::slice::from_ref(&profile), &Options::default());
    let output = needs::command("callgrind_annotate")
        .args(["--threshold=100", "--show-percs=no", "--auto=no"])
        .arg(&profile)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // A row is `1,234  file:function [object]`. Recursion levels are separate functions.
    let mut annotated: BTreeMap<String, i64> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let Some((count, name)) = line.trim_start().split_once("  ") else {
            continue;
        };
        let (Ok(count), Some((_, function))) =
            (count.replace(',', "").parse::<i64>(), name.split_once(':'))
        else {
            continue;
        };
        let function = function
            .rsplit_once(" [")
            .map_or(function, |(name, _)| name);
        let function = function.strip_suffix("'2").unwrap_or(function);
        *annotated.entry(function.to_owned()).or_default() += count;
    }
    let mut ours: BTreeMap<String, i64> = BTreeMap::new();
    for record in parsed.records_of_type("fn") {
        let name = record["fn"].as_str().unwrap().to_owned();
        *ours.entry(name).or_default() += record["cost"]["Ir"].as_i64().unwrap();
    }
    ours.retain(|_, count| *count > 0);
    assert!(ours.len() > 100);
    assert_eq!(ours, annotated);
}
