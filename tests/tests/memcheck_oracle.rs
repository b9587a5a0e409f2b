//! Logs and XML of the real Valgrind, compared with each other and with Valgrind's own summaries.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cg_tool::Diagnostics;
use needs::needs;
use serde_json::Value;
use tempfile::TempDir;

/// The result of cg-parse for an input.
struct Reading {
    runs: Vec<Value>,
    /// `error` and `leak` records.
    findings: Vec<Value>,
    ends: usize,
    warnings: Vec<String>,
    errors: Vec<String>,
}

fn read(path: &Path) -> Reading {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |text, is_error| {
        sink.lock().unwrap().push((text.to_owned(), is_error));
    });
    let mut out = Vec::new();
    let options = cg_parse::Options::default();
    cg_parse::parse(
        &[path.to_owned()],
        None,
        &options,
        &mut out,
        &mut diagnostics,
    )
    .unwrap();
    let records: Vec<Value> = out
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let of_types = |wanted: &[&str]| -> Vec<Value> {
        let is_wanted = |record: &&Value| wanted.contains(&record["type"].as_str().unwrap());
        records.iter().filter(is_wanted).cloned().collect()
    };
    let messages = messages.lock().unwrap();
    let texts = |is_error: bool| {
        let matching = messages.iter().filter(|message| message.1 == is_error);
        matching.map(|message| message.0.clone()).collect()
    };
    Reading {
        runs: of_types(&["run"]),
        findings: of_types(&["error", "leak"]),
        ends: of_types(&["end"]).len(),
        warnings: texts(false),
        errors: texts(true),
    }
}

/// A folder with a compiled program of `tests/data`.
struct Program {
    folder: TempDir,
}

impl Program {
    fn build(source: &str) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("data")
            .join(source);
        let (compiler, options): (_, &[&str]) =
            match source.extension().and_then(|extension| extension.to_str()) {
                Some("c") => ("gcc", &["-g", "-w", "-fno-builtin", "-pthread"]),
                Some("cpp") => ("g++", &["-g", "-w"]),
                Some("rs") => ("rustc", &["-g"]),
                other => panic!("{other:?}"),
            };
        let status = needs::command(compiler)
            .args(options)
            .arg("-o")
            .arg(folder.path().join("program"))
            .arg(source)
            .status()
            .unwrap();
        assert!(status.success());
        Program { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program under Valgrind. Returns its exit status; `None` if a signal ended it.
    fn run(&self, options: &[&str], arguments: &[&str]) -> Option<i32> {
        needs::command("valgrind")
            .args(options)
            .arg(self.path("program"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap()
            .status
            .code()
    }

    /// Runs the program and reads the text log.
    fn text(&self, options: &[&str], arguments: &[&str]) -> Reading {
        let options = [&["--log-file=log"], options].concat();
        self.run(&options, arguments);
        read(&self.path("log"))
    }

    /// Runs the program and reads the XML.
    fn xml(&self, options: &[&str], arguments: &[&str]) -> Reading {
        let options = [&["--xml=yes", "--xml-file=xml"], options].concat();
        self.run(&options, arguments);
        read(&self.path("xml"))
    }
}

const ALL_LEAKS: [&str; 2] = ["--leak-check=full", "--show-leak-kinds=all"];

/// Reduces a finding to the data in both text and XML: no directories, and an object only if there is no file.
fn common(finding: &Value) -> Value {
    let mut finding = finding.clone();
    let fields = finding.as_object_mut().unwrap();
    for field in ["pid", "fn", "file", "line", "obj"] {
        fields.remove(field);
    }
    for field in ["kind", "what"] {
        if let Some(text) = fields.get_mut(field) {
            *text = without_addresses(text.as_str().unwrap()).into();
        }
    }
    if let Some(stack) = fields.get_mut("stack") {
        common_stack(stack);
    }
    if let Some(Value::Array(notes)) = fields.get_mut("notes") {
        for note in notes {
            if let Some(what) = note.get_mut("what") {
                *what = without_addresses(what.as_str().unwrap()).into();
            }
            if let Some(stack) = note.get_mut("stack") {
                common_stack(stack);
            }
        }
    }
    finding
}

fn common_stack(stack: &mut Value) {
    for frame in stack.as_array_mut().unwrap() {
        let frame = frame.as_object_mut().unwrap();
        frame.remove("addr");
        if frame.get("fn").is_some_and(|name| name == "???") {
            frame.remove("fn");
        }
        if let Some(file) = frame.get_mut("file") {
            *file = file.as_str().unwrap().rsplit('/').next().unwrap().into();
            frame.remove("obj");
        }
    }
}

/// Removes addresses: the addresses of stacks and thread data differ between runs.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        result += "0x";
        result += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    result
}

fn all_common(reading: &Reading) -> Vec<Value> {
    reading.findings.iter().map(common).collect()
}

fn kinds(reading: &Reading) -> Vec<&str> {
    reading
        .findings
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect()
}

/// Adds up the leaks of a kind that the last search reported.
fn sum(reading: &Reading, kind: &str, event: &str) -> u64 {
    reading
        .findings
        .iter()
        .filter(|finding| finding["type"] == "leak" && finding["kind"] == kind)
        .filter(|finding| finding["earlier_search"] != true)
        .map(|finding| finding["cost"][event].as_u64().unwrap_or_default())
        .sum()
}

/// Checks that there are no messages and that the findings sum to the run record's totals and its leak summary.
fn assert_sums(reading: &Reading) {
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(reading.runs.len(), 1);
    assert_eq!(reading.ends, 1);
    let run = &reading.runs[0];
    assert_eq!(run["complete"], true);
    let errors: u64 = reading
        .findings
        .iter()
        .filter(|finding| finding["type"] == "error")
        .map(|finding| finding["cost"]["count"].as_u64().unwrap())
        .sum();
    assert_eq!(run["total"]["count"], errors);
    if let Some(summary) = run.get("leak_summary") {
        for kind in ["definite", "indirect", "possible", "reachable"] {
            for event in ["bytes", "blocks"] {
                assert_eq!(summary[kind][event], sum(reading, kind, event), "{kind}");
            }
        }
        let earlier: u64 = reading
            .findings
            .iter()
            .filter(|finding| finding["earlier_search"] == true)
            .map(|finding| finding["cost"]["bytes"].as_u64().unwrap())
            .sum();
        let in_use = run["heap_summary"]["in_use_bytes"].as_u64().unwrap();
        assert_eq!(run["total"]["bytes"], in_use + earlier);
    }
}

#[test]
fn every_kind_of_error_in_c_is_the_same_from_text_and_xml() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let options = [&ALL_LEAKS[..], &["-s", "--track-origins=yes"]].concat();
    let text = program.text(&options, &[]);
    let xml = program.xml(&options, &[]);
    assert_eq!(
        kinds(&text),
        [
            "InvalidWrite",
            "InvalidRead",
            "InvalidRead",
            "InvalidFree",
            "UninitCondition",
            "UninitValue",
            "SyscallParam",
            "SyscallParam",
            "ClientCheck",
            "ClientCheck",
            "Overlap",
            "InvalidMemPool",
            "FishyValue",
            "indirect",
            "indirect",
            "possible",
            "definite",
            "definite",
            "reachable",
        ]
    );
    assert_eq!(all_common(&text), all_common(&xml));
    assert_sums(&text);
    assert_sums(&xml);
    let first = &text.findings[0];
    assert_eq!(
        first["cost"]["count"], 3,
        "-s prints the number of occurrences"
    );
    assert_eq!(first["fn"], "reads_and_writes");
    assert_eq!(xml.findings[0]["cost"]["count"], 3);
    let summary = &text.runs[0]["error_summary"];
    // Three loss records are definite or possible, so they count as errors.
    assert_eq!(summary["errors"], 15 + 3);
    assert_eq!(summary["contexts"], 13 + 3);
    assert_eq!(text.runs[0]["command"], xml.runs[0]["command"]);
    assert_eq!(text.runs[0]["creator"], xml.runs[0]["creator"]);
}

#[test]
fn exit_status_of_valgrind_agrees_with_the_summary() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let status = program.run(&["--log-file=log", "--error-exitcode=9"], &[]);
    let reading = read(&program.path("log"));
    let errors = reading.runs[0]["error_summary"]["errors"].as_u64();
    assert_eq!(errors.is_some_and(|errors| errors > 0), status == Some(9));
    assert_eq!(program.run(&["--log-file=log"], &[]), Some(7));
}

#[test]
fn mismatches_and_names_of_cpp_are_the_same_from_text_and_xml() {
    needs!("g++", "valgrind");
    let program = Program::build("memcheck/mismatches.cpp");
    let options = [&ALL_LEAKS[..], &["-s"]].concat();
    let text = program.text(&options, &[]);
    let xml = program.xml(&options, &[]);
    assert_eq!(all_common(&text), all_common(&xml));
    // Since 3.24, Valgrind distinguishes a wrong size from a wrong function.
    for kind in &kinds(&text)[..3] {
        assert!(["MismatchedFree", "MismatchedAllocateDeallocateSize"].contains(kind));
    }
    assert_sums(&text);
    assert_sums(&xml);
    let lost = text
        .findings
        .iter()
        .find(|finding| finding["kind"] == "definite")
        .unwrap();
    assert!(
        lost["fn"].as_str().unwrap().contains("operator()("),
        "the blamed frame must not be an operator new: {lost}"
    );
    assert!(lost["indirect_bytes"].as_u64() > Some(0));
}

#[test]
fn rust_programs_are_the_same_from_text_and_xml() {
    needs!("valgrind");
    let program = Program::build("memcheck/leaks.rs");
    let options = [&ALL_LEAKS[..], &["-s", "--num-callers=40"]].concat();
    let text = program.text(&options, &[]);
    let xml = program.xml(&options, &[]);
    assert_eq!(all_common(&text), all_common(&xml));
    assert_sums(&text);
    assert_sums(&xml);
    assert_eq!(text.findings[0]["kind"], "InvalidRead");
    let name = |bytes: u64| {
        let is = |finding: &&Value| finding["cost"]["bytes"] == bytes;
        let finding = text.findings.iter().find(is).unwrap();
        finding["fn"].as_str().unwrap().to_owned()
    };
    let lost = sum(&text, "definite", "bytes") + sum(&text, "indirect", "bytes");
    assert!(lost > 40 + 50, "the cycle and the memory of its nodes");
    for bytes in [40, 50, 800] {
        let name = name(bytes);
        let is_allocator = name == "alloc" || name.contains("raw_vec") || name.contains("RawVec");
        assert!(!is_allocator, "{name}");
    }
}

#[test]
fn options_for_the_layout_of_a_log_do_not_change_the_result() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let expected = all_common(&program.text(&[&ALL_LEAKS[..], &["-s"]].concat(), &[]));
    for option in [
        "-v",
        "--time-stamp=yes",
        "--error-markers=<<<BEGIN,END>>>",
        "--fullpath-after=",
        "--gen-suppressions=all",
        "--num-callers=40",
        "--read-inline-info=no",
        "--demangle=no",
    ] {
        let mut reading = program.text(&[&ALL_LEAKS[..], &["-s", option]].concat(), &[]);
        for finding in &mut reading.findings {
            let suppression = finding.as_object_mut().unwrap().remove("suppression");
            assert_eq!(
                suppression.is_some(),
                option.starts_with("--gen"),
                "{finding}"
            );
            if let Some(text) = suppression {
                let text = text.as_str().unwrap();
                assert!(text.starts_with("{\n   <insert_a_suppression"), "{text}");
                assert!(text.ends_with("\n}"), "{text}");
            }
        }
        assert_sums(&reading);
        assert_eq!(all_common(&reading), expected, "{option}");
    }
}

#[test]
fn wrapped_logs_give_the_same_result() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let plain = program.text(&[&ALL_LEAKS[..], &["--gen-suppressions=all"]].concat(), &[]);
    let log = std::fs::read_to_string(program.path("log")).unwrap();
    let wrap = |before: &str, after: &str| -> String {
        log.lines()
            .map(|line| format!("{before}{line}{after}\n"))
            .collect()
    };
    let escaped = log
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    for (name, text) in [
        ("windows line ends", wrap("", "\r")),
        (
            "time of a CI service",
            wrap("2026-01-31T12:00:00.1234567Z ", ""),
        ),
        ("self-hosting", wrap(">", "")),
        (
            "another program's lines between",
            log.replace('\n', "\nnot valgrind --5 == 6\n"),
        ),
        (
            "CTest",
            format!("<?xml version=\"1.0\"?>\n<Site>\n<Log>\n{escaped}</Log>\n</Site>\n"),
        ),
    ] {
        std::fs::write(program.path("wrapped"), text).unwrap();
        let wrapped = read(&program.path("wrapped"));
        assert_eq!(wrapped.errors, [""; 0], "{name}");
        let [wrapped, plain] = [&wrapped, &plain].map(|reading| {
            let mut findings = all_common(reading);
            if name == "another program's lines between" {
                for finding in &mut findings {
                    finding.as_object_mut().unwrap().remove("suppression");
                }
            }
            findings
        });
        assert_eq!(wrapped, plain, "{name}");
    }
}

#[test]
fn quiet_log_has_the_findings_but_is_not_complete() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let plain = program.text(&ALL_LEAKS, &[]);
    let quiet = program.text(&[&ALL_LEAKS[..], &["-q"]].concat(), &[]);
    assert_eq!(all_common(&quiet), all_common(&plain));
    assert_eq!(quiet.errors, [""; 0]);
    assert_eq!(quiet.runs[0]["complete"], false);
    assert_eq!(quiet.runs[0]["quiet"], true);
    assert_eq!(quiet.runs[0]["tool"], "memcheck");
    // With -q, XML still has its start and end.
    let xml = program.xml(&[&ALL_LEAKS[..], &["-q"]].concat(), &[]);
    assert_eq!(xml.runs[0]["complete"], true);
}

#[test]
fn last_of_several_leak_checks_counts() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/leak_checks.c");
    let text = program.text(&ALL_LEAKS, &[]);
    let xml = program.xml(&ALL_LEAKS, &[]);
    assert_sums(&text);
    assert_sums(&xml);
    assert_eq!(sum(&text, "definite", "bytes"), 10 + 11 + 12);
    assert_eq!(sum(&text, "reachable", "bytes"), 500);
    // Only an earlier search reported the block of 13 bytes.
    assert_eq!(text.runs[0]["total"]["bytes"], 10 + 11 + 12 + 13 + 500);
    assert_eq!(all_common(&text), all_common(&xml));
    // Without the check at exit, only the checks during the run count, which print changes.
    let no_last = ["--leak-check=no", "--show-leak-kinds=all"];
    let text = program.text(&no_last, &[]);
    assert_eq!(sum(&text, "definite", "bytes"), 10 + 11 + 12);
    assert_eq!(sum(&text, "reachable", "bytes"), 13 + 500);
    assert_eq!(text.warnings, [""; 0]);
}

#[test]
fn forked_processes_have_separate_sections() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/processes.c");
    let text = program.text(&ALL_LEAKS, &["fork"]);
    assert_eq!(text.runs.len(), 2);
    assert_eq!((text.ends, text.errors.len()), (2, 0));
    assert_eq!(text.warnings, [""; 0]);
    let forked: Vec<&Value> = text
        .runs
        .iter()
        .filter(|run| run["forked"] == true)
        .collect();
    assert_eq!(forked.len(), 1);
    for field in ["command", "creator", "tool"] {
        assert_eq!(text.runs[0][field], text.runs[1][field], "{field}");
    }
    let xml = program.xml(&ALL_LEAKS, &["fork"]);
    assert_eq!((xml.runs.len(), xml.ends, xml.errors.len()), (2, 2, 0));
    let sorted = |reading: &Reading| {
        let mut findings: Vec<String> = all_common(reading).iter().map(Value::to_string).collect();
        findings.sort();
        findings
    };
    assert_eq!(sorted(&text), sorted(&xml));
}

#[test]
fn log_of_an_exec_is_complete_only_if_valgrind_follows() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/processes.c");
    let own = program.path("program");
    let arguments = ["exec", own.to_str().unwrap()];
    for reading in [
        program.text(&ALL_LEAKS, &arguments),
        program.xml(&ALL_LEAKS, &arguments),
    ] {
        assert_eq!(reading.runs.len(), 1);
        assert_eq!(reading.runs[0]["complete"], false);
        assert_eq!(
            (reading.ends, reading.errors.len()),
            (0, 1),
            "{:?}",
            reading.errors
        );
    }
    let follow = [&ALL_LEAKS[..], &["--trace-children=yes"]].concat();
    // A shell opens one descriptor for both programs. If they opened the file, each would truncate it.
    let run = |output: &str, program_and_arguments: &str| {
        let options = follow.join(" ");
        let command = format!("valgrind {options} {output} {program_and_arguments} 9>output");
        let output = needs::command("sh")
            .args(["-c", &command])
            .current_dir(program.folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        read(&program.path("output"))
    };
    let text = run("--log-fd=9", "./program exec ./program");
    let xml = run("--xml=yes --xml-fd=9", "./program exec ./program");
    // Text on a descriptor does not name the parent, so the two programs could be two processes with the same pid.
    assert_eq!((text.errors.len(), text.ends), (1, 1));
    assert_eq!(text.runs[0]["complete"], false);
    assert_eq!((xml.errors.len(), xml.ends), (0, 2));
    assert_eq!(xml.runs[0]["exec"], true);
    for reading in [&text, &xml] {
        assert_eq!(reading.runs.len(), 2);
        assert_eq!(reading.runs[0]["pid"], reading.runs[1]["pid"]);
        assert_eq!(reading.runs[0]["total"]["count"], 1);
    }
    assert_eq!(all_common(&text), all_common(&xml));
    // The documents of child processes are inside the document of their shell.
    let nested = run(
        "--xml=yes --xml-fd=9",
        "sh -c './program; ./program fork; true'",
    );
    assert_eq!(nested.errors, [""; 0]);
    assert_eq!(nested.runs.len(), nested.ends);
    assert!(nested.runs.len() >= 3, "{:?}", nested.runs);
}

#[test]
fn fatal_signal_is_recorded() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/processes.c");
    for (what, signal) in [("kill", "SIGSEGV"), ("jump", "SIGSEGV")] {
        let text = program.text(&ALL_LEAKS, &[what]);
        let xml = program.xml(&ALL_LEAKS, &[what]);
        assert_eq!(all_common(&text), all_common(&xml), "{what}");
        for reading in [text, xml] {
            assert_eq!(reading.runs[0]["complete"], true);
            assert_eq!(reading.runs[0]["fatal_signal"]["name"], signal);
            assert_eq!(reading.runs[0]["fatal_signal"]["signal"], 11);
        }
    }
}

#[test]
fn helgrind_and_drd_are_the_same_from_text_and_xml() {
    needs!("gcc", "valgrind");
    let program = Program::build("helgrind/threads.c");
    for tool in ["helgrind", "drd"] {
        let option = format!("--tool={tool}");
        let text = program.text(&[&option, "-s"], &[]);
        let xml = program.xml(&[&option], &[]);
        for reading in [&text, &xml] {
            assert_eq!(reading.errors, [""; 0]);
            assert_eq!(reading.runs[0]["tool"], tool);
            assert_eq!(reading.runs[0]["complete"], true);
        }
        assert_eq!(text.warnings, [""; 0]);
        // The order of threads varies between runs, so compare only the set of kinds.
        let mut kinds_of_text = kinds(&text);
        let mut kinds_of_xml = kinds(&xml);
        for kinds in [&mut kinds_of_text, &mut kinds_of_xml] {
            kinds.sort_unstable();
            kinds.dedup();
        }
        assert_eq!(kinds_of_text, kinds_of_xml);
        let expected: &[&str] = match tool {
            "drd" => &["BarrierErr", "ConflictingAccess", "MutexErr"],
            _ => &[
                "LockOrder",
                "Misc",
                "PthAPIerror",
                "Race",
                "UnlockBogus",
                "UnlockForeign",
            ],
        };
        assert_eq!(kinds_of_text, expected);
        for finding in text.findings.iter().chain(&xml.findings) {
            assert_ne!(finding["stack"], Value::Array(Vec::new()), "{finding}");
        }
    }
}

#[test]
fn announced_threads_are_in_the_run_record() {
    needs!("gcc", "valgrind");
    let program = Program::build("helgrind/threads.c");
    let option = ["--tool=helgrind"];
    for reading in [program.text(&option, &[]), program.xml(&option, &[])] {
        let threads = reading.runs[0]["threads"].as_array().unwrap();
        assert!(
            threads
                .iter()
                .any(|thread| thread["thread"] == 1 && thread["root"] == true)
        );
        let other = threads.iter().find(|thread| thread["thread"] == 2).unwrap();
        assert!(
            other["stack"]
                .as_array()
                .unwrap()
                .iter()
                .any(|frame| frame["fn"] == "run")
        );
    }
}

#[test]
fn no_prefix_of_a_log_or_document_is_complete() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/processes.c");
    for (option, name) in [
        (&["-s"][..], "log"),
        (&["--gen-suppressions=all"], "log"),
        (&[], "xml"),
    ] {
        let options = [&ALL_LEAKS[..], option].concat();
        let whole = match name {
            "log" => program.text(&options, &["fork"]),
            _ => program.xml(&options, &["fork"]),
        };
        let bytes = std::fs::read(program.path(name)).unwrap();
        let cut = program.path("cut");
        // The unit tests check all prefixes of a short log.
        let step = 29;
        for length in (0..bytes.len()).step_by(step) {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let reading = read(&cut);
            for run in &reading.runs {
                let is_known = run["complete"] == true || !reading.errors.is_empty();
                assert!(is_known || run["quiet"] == true, "{length}: {run}");
            }
            if reading.ends == whole.ends && reading.errors.is_empty() {
                assert_eq!(all_common(&reading), all_common(&whole), "{name} {length}");
            }
        }
    }
}
