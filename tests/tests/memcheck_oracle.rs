//! Logs and XML of the real Valgrind, held against each other and against Valgrind's own summaries.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cg_stream::tool::Diagnostics;
use needs::needs;
use serde_json::Value;
use tempfile::TempDir;

/// What cg-parse makes of an input.
struct Reading {
    runs: Vec<Value>,
    /// `error` and `leak` records.
    findings: Vec<Value>,
    ends: usize,
    warnings: Vec<String>,
    troubles: Vec<String>,
}

fn read(path: &Path) -> Reading {
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let mut diagnostics = Diagnostics::to(move |text, is_trouble| {
        heard.lock().unwrap().push((text.to_owned(), is_trouble));
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
    let of = |wanted: &[&str]| -> Vec<Value> {
        let is = |record: &&Value| wanted.contains(&record["type"].as_str().unwrap());
        records.iter().filter(is).cloned().collect()
    };
    let said = said.lock().unwrap();
    let told = |trouble: bool| {
        let is = |said: &&(String, bool)| said.1 == trouble;
        said.iter().filter(is).map(|said| said.0.clone()).collect()
    };
    Reading {
        runs: of(&["run"]),
        findings: of(&["error", "leak"]),
        ends: of(&["end"]).len(),
        warnings: told(false),
        troubles: told(true),
    }
}

/// A program of `tests/data`, compiled, with a folder to run it in.
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

    /// Runs the program under Valgrind; returns its exit status, if it has one.
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

    /// The reading of a text log.
    fn text(&self, options: &[&str], arguments: &[&str]) -> Reading {
        let options = [&["--log-file=log"], options].concat();
        self.run(&options, arguments);
        read(&self.path("log"))
    }

    /// The reading of XML.
    fn xml(&self, options: &[&str], arguments: &[&str]) -> Reading {
        let options = [&["--xml=yes", "--xml-file=xml"], options].concat();
        self.run(&options, arguments);
        read(&self.path("xml"))
    }
}

const ALL_LEAKS: [&str; 2] = ["--leak-check=full", "--show-leak-kinds=all"];

/// What text and XML both tell: no directories, and an object only where there is no file.
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

/// Addresses on the stack and of threads' data differ from run to run.
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

fn sum(reading: &Reading, kind: &str, event: &str) -> u64 {
    reading
        .findings
        .iter()
        .filter(|finding| finding["type"] == "leak" && finding["kind"] == kind)
        .map(|finding| finding["cost"][event].as_u64().unwrap_or_default())
        .sum()
}

/// The loss records sum to the LEAK SUMMARY, errors and loss records to the ERROR SUMMARY, and nothing was remarked.
fn assert_sums(reading: &Reading) {
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(reading.troubles, [""; 0]);
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
        assert_eq!(run["total"]["bytes"], run["heap_summary"]["in_use_bytes"]);
    }
}

#[test]
fn every_kind_of_error_in_c_is_read_alike_from_text_and_xml() {
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
        "-s tells that it happened thrice"
    );
    assert_eq!(first["fn"], "reads_and_writes");
    assert_eq!(xml.findings[0]["cost"]["count"], 3);
    let summary = &text.runs[0]["error_summary"];
    // Three loss records are definite or possible, and so count as errors.
    assert_eq!(summary["errors"], 15 + 3);
    assert_eq!(summary["contexts"], 13 + 3);
    assert_eq!(text.runs[0]["command"], xml.runs[0]["command"]);
    assert_eq!(text.runs[0]["creator"], xml.runs[0]["creator"]);
}

#[test]
fn valgrinds_own_verdict_is_that_of_the_summary() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let status = program.run(&["--log-file=log", "--error-exitcode=9"], &[]);
    let reading = read(&program.path("log"));
    let errors = reading.runs[0]["error_summary"]["errors"].as_u64();
    assert_eq!(errors.is_some_and(|errors| errors > 0), status == Some(9));
    assert_eq!(program.run(&["--log-file=log"], &[]), Some(7));
}

#[test]
fn mismatches_and_names_of_cpp_are_read_alike() {
    needs!("g++", "valgrind");
    let program = Program::build("memcheck/mismatches.cpp");
    let options = [&ALL_LEAKS[..], &["-s"]].concat();
    let text = program.text(&options, &[]);
    let xml = program.xml(&options, &[]);
    assert_eq!(all_common(&text), all_common(&xml));
    // Valgrind tells a wrong size from a wrong function since 3.24.
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
        "the frame to blame is not an operator new: {lost}"
    );
    assert!(lost["indirect_bytes"].as_u64() > Some(0));
}

#[test]
fn rust_programs_are_read_alike() {
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
    assert!(lost > 40 + 50, "the cycle and what its nodes hold");
    for bytes in [40, 50, 800] {
        let name = name(bytes);
        let is_allocator = name == "alloc" || name.contains("raw_vec") || name.contains("RawVec");
        assert!(!is_allocator, "{name}");
    }
}

#[test]
fn options_that_change_how_a_log_looks_do_not_change_what_is_read() {
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
fn logs_in_other_wrappings_read_the_same() {
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
        assert_eq!(wrapped.troubles, [""; 0], "{name}");
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
fn a_quiet_log_has_the_findings_and_says_that_nobody_knows_whether_it_is_whole() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/errors.c");
    let plain = program.text(&ALL_LEAKS, &[]);
    let quiet = program.text(&[&ALL_LEAKS[..], &["-q"]].concat(), &[]);
    assert_eq!(all_common(&quiet), all_common(&plain));
    assert_eq!(quiet.troubles, [""; 0]);
    assert_eq!(quiet.runs[0]["complete"], false);
    assert_eq!(quiet.runs[0]["quiet"], true);
    assert_eq!(quiet.runs[0]["tool"], "memcheck");
    // XML of -q has its frame all the same.
    let xml = program.xml(&[&ALL_LEAKS[..], &["-q"]].concat(), &[]);
    assert_eq!(xml.runs[0]["complete"], true);
}

#[test]
fn of_several_leak_checks_the_last_one_counts() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/leak_checks.c");
    let text = program.text(&ALL_LEAKS, &[]);
    let xml = program.xml(&ALL_LEAKS, &[]);
    assert_sums(&text);
    assert_sums(&xml);
    assert_eq!(sum(&text, "definite", "bytes"), 10 + 11 + 12);
    assert_eq!(sum(&text, "reachable", "bytes"), 500);
    assert_eq!(all_common(&text), all_common(&xml));
    // The checks that show what changed are all there is without the one at exit.
    let no_last = ["--leak-check=no", "--show-leak-kinds=all"];
    let text = program.text(&no_last, &[]);
    assert_eq!(sum(&text, "definite", "bytes"), 10 + 11 + 12);
    assert_eq!(sum(&text, "reachable", "bytes"), 13 + 500);
    assert_eq!(text.warnings, [""; 0]);
}

#[test]
fn forked_processes_have_sections_of_their_own() {
    needs!("gcc", "valgrind");
    let program = Program::build("memcheck/processes.c");
    let text = program.text(&ALL_LEAKS, &["fork"]);
    assert_eq!(text.runs.len(), 2);
    assert_eq!((text.ends, text.troubles.len()), (2, 0));
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
    assert_eq!((xml.runs.len(), xml.ends, xml.troubles.len()), (2, 2, 0));
    let sorted = |reading: &Reading| {
        let mut findings: Vec<String> = all_common(reading).iter().map(Value::to_string).collect();
        findings.sort();
        findings
    };
    assert_eq!(sorted(&text), sorted(&xml));
}

#[test]
fn a_program_that_executes_another_is_whole_only_if_valgrind_follows() {
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
            (reading.ends, reading.troubles.len()),
            (0, 1),
            "{:?}",
            reading.troubles
        );
    }
    let follow = [&ALL_LEAKS[..], &["--trace-children=yes"]].concat();
    // One descriptor for both programs, opened by a shell: each would begin a file anew.
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
    // On a descriptor text does not name the parent, and so the two might be two processes with one number.
    assert_eq!((text.troubles.len(), text.ends), (1, 1));
    assert_eq!(text.runs[0]["complete"], false);
    assert_eq!((xml.troubles.len(), xml.ends), (0, 2));
    assert_eq!(xml.runs[0]["exec"], true);
    for reading in [&text, &xml] {
        assert_eq!(reading.runs.len(), 2);
        assert_eq!(reading.runs[0]["pid"], reading.runs[1]["pid"]);
        assert_eq!(reading.runs[0]["total"]["count"], 1);
    }
    assert_eq!(all_common(&text), all_common(&xml));
    // Documents of children stand inside that of the shell that started them.
    let nested = run(
        "--xml=yes --xml-fd=9",
        "sh -c './program; ./program fork; true'",
    );
    assert_eq!(nested.troubles, [""; 0]);
    assert_eq!(nested.runs.len(), nested.ends);
    assert!(nested.runs.len() >= 3, "{:?}", nested.runs);
}

#[test]
fn the_signal_that_ended_a_process_is_known() {
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
fn helgrind_and_drd_are_read_alike() {
    needs!("gcc", "valgrind");
    let program = Program::build("helgrind/threads.c");
    for tool in ["helgrind", "drd"] {
        let option = format!("--tool={tool}");
        let text = program.text(&[&option, "-s"], &[]);
        let xml = program.xml(&[&option], &[]);
        for reading in [&text, &xml] {
            assert_eq!(reading.troubles, [""; 0]);
            assert_eq!(reading.runs[0]["tool"], tool);
            assert_eq!(reading.runs[0]["complete"], true);
        }
        assert_eq!(text.warnings, [""; 0]);
        // Which thread comes first is not the same in every run, so what is counted is what both have.
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
fn announced_threads_stand_in_the_run_record() {
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
fn no_prefix_of_a_log_or_document_is_whole() {
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
        // The unit tests cut a short one at every byte.
        let step = 29;
        for length in (0..bytes.len()).step_by(step) {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let reading = read(&cut);
            for run in &reading.runs {
                let is_known = run["complete"] == true || !reading.troubles.is_empty();
                assert!(is_known || run["quiet"] == true, "{length}: {run}");
            }
            if reading.ends == whole.ends && reading.troubles.is_empty() {
                assert_eq!(all_common(&reading), all_common(&whole), "{name} {length}");
            }
        }
    }
}
