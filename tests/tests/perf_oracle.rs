//! A program sampled by the real perf: compares perf's own report with cg-parse.
//!
//! Containers and virtual machines often forbid sampling. So perf also reads a recording of the same program from another
//! machine. The program is missing there, so its functions are unknown.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::data;
use tests::tools;

/// Counts by name.
type Counts = BTreeMap<String, i128>;

/// Returns the standard output of a command, and ignores standard error.
fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn perf(recording: &Path, arguments: &[&str]) -> String {
    output(
        needs::command("perf")
            .args(arguments)
            .arg("-i")
            .arg(recording),
    )
}

/// Samples the program. Returns false if perf may not sample on this machine.
fn record(program: &Path, recording: &Path, arguments: &[&str]) -> bool {
    let status = needs::command("perf")
        .args(["record", "-q", "-o"])
        .arg(recording)
        .args(arguments)
        .arg("--")
        .arg(program)
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Reads a text with cg-parse. Returns the total of the run and the stacks.
fn stacks(folder: &Path, text: &str) -> (Counts, Vec<Value>) {
    let file = folder.join("text");
    std::fs::write(&file, text).unwrap();
    let stream = output(tools::command("cg-parse").arg(&file));
    let records: Vec<Value> = stream
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.last().unwrap()["type"], "end");
    let total = records[0]["total"].as_object().unwrap();
    let total = total
        .iter()
        .map(|(event, count)| (event.clone(), count.as_i64().unwrap().into()));
    let stacks = records.iter().filter(|record| record["type"] == "stack");
    (total.collect(), stacks.cloned().collect())
}

/// Counts the samples of stacks by name.
fn samples_by(stacks: &[Value], name: impl Fn(&Value) -> String) -> Counts {
    let mut counts = Counts::new();
    for stack in stacks {
        *counts.entry(name(stack)).or_default() +=
            i128::from(stack["cost"]["samples"].as_i64().unwrap());
    }
    counts
}

/// Returns the samples of each row of `perf report`, by its last column.
fn reported(recording: &Path, sort: &str) -> Counts {
    let text = perf(
        recording,
        &[
            "report",
            "--stdio",
            "--no-children",
            "--no-inline",
            "-n",
            "-g",
            "none",
            "-t",
            "|",
            "--sort",
            sort,
        ],
    );
    let rows = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let mut counts = Counts::new();
    for row in rows {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = columns[2..].join("|");
        // A letter precedes each symbol: `[.]` in the program, `[k]` in the kernel.
        let name = name
            .split_once("] ")
            .map_or(name.as_str(), |(_, symbol)| symbol);
        *counts.entry(name.to_owned()).or_default() += columns[1].parse::<i128>().unwrap();
    }
    counts
}

#[test]
fn samples_of_a_recording_agree_with_perf_report() {
    needs!("perf");
    let folder = TempDir::new().unwrap();
    let recording = folder.path().join("perf.data");
    std::fs::copy(data("perf/6.1-busy.perf.data"), &recording).unwrap();
    check(folder.path(), &recording, &["6.1-busy.perf.data"]);
}

#[test]
fn samples_periods_threads_and_functions_agree_with_perf_report() {
    needs!("g++", "perf");
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let program = folder.join("busy");
    output(
        needs::command("g++")
            .args(["-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o"])
            .arg(&program)
            .arg(data("perf/busy.cpp")),
    );
    for arguments in [
        &["-e", "cpu-clock:u", "-F", "499"][..],
        &["-e", "cpu-clock:u", "-F", "499", "-g"],
        &[
            "-e",
            "cpu-clock:u",
            "-F",
            "499",
            "--call-graph",
            "dwarf,4096",
        ],
        &[
            "-e",
            "cpu-clock:u",
            "-e",
            "page-faults:u",
            "-F",
            "499",
            "-g",
        ],
    ] {
        let recording = folder.join("perf.data");
        if !record(&program, &recording, arguments) {
            // The recording in the other test is enough.
            return;
        }
        check(folder, &recording, arguments);
    }
}

/// Compares the results of cg-parse for a recording, with various fields of perf script, with perf's own reports.
fn check(folder: &Path, recording: &Path, arguments: &[&str]) {
    // One line per sample, with only the event and the period.
    let mut expected = Counts::new();
    for line in perf(recording, &["script", "-F", "event,period"]).lines() {
        let mut words = line.split_whitespace();
        let Some(period) = words.next() else { continue };
        let event = words.next().unwrap().trim_end_matches(':').to_owned();
        *expected.entry(event).or_default() += period.parse::<i128>().unwrap();
        *expected.entry("samples".to_owned()).or_default() += 1;
    }
    assert!(expected["samples"] > 20, "{expected:?}");
    let samples = Counts::from([("samples".to_owned(), expected["samples"])]);
    for (fields, expected) in [
        (&[][..], &expected),
        (&["--no-inline"], &expected),
        (&["-F", "+pid"], &expected),
        (
            &["--ns", "-F", "comm,tid,time,event,period,ip,sym,symoff"],
            &expected,
        ),
        (&["-F", "period,event,ip,sym,dso"], &expected),
        (&["-F", "comm,tid,time,period,event"], &expected),
        (&["-F", "ip,sym"], &samples),
        (&["-F", "comm,tid,ip,sym,dso"], &samples),
        (
            &["--header", "--show-mmap-events", "--show-task-events"],
            &expected,
        ),
    ] {
        let text = perf(recording, &[&["script"], fields].concat());
        let (total, _) = stacks(folder, &text);
        assert_eq!(
            total, *expected,
            "perf record {arguments:?}, perf script {fields:?}"
        );
    }
    let (_, all) = stacks(folder, &perf(recording, &["script", "--no-inline"]));
    let thread = |stack: &Value| stack["thread"].as_str().unwrap().to_owned();
    assert_eq!(
        samples_by(&all, thread),
        reported(recording, "comm"),
        "{arguments:?}"
    );
    let leaf = |stack: &Value| stack["stack"][0]["fn"].as_str().unwrap().to_owned();
    let known = |counts: Counts| -> Counts {
        let is_known = |(name, _): &(String, i128)| name != "[unknown]" && !name.starts_with("0x");
        counts.into_iter().filter(is_known).collect()
    };
    assert_eq!(
        known(samples_by(&all, leaf)),
        known(reported(recording, "sym")),
        "{arguments:?}"
    );
}
