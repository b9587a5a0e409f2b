//! Recordings of perf: compares the costs of each function with the output of perf script.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::{data, tools};

/// Counts of an event by function.
type ByFunction = BTreeMap<String, i64>;

/// The figures of a stream for one event.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    total: i64,
    /// Counts by pid and thread name.
    threads: BTreeMap<String, i64>,
    own: ByFunction,
    inclusive: ByFunction,
}

fn stdout(command: &mut Command) -> Vec<u8> {
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    output.stdout
}

fn records(stream: &[u8]) -> Vec<Value> {
    let lines = stream
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let records: Vec<Value> = lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(records.last().unwrap()["type"], "end");
    records
}

/// Returns the name of a frame's function without parameters, as perf prints it; `?` for a function without a name.
fn plain(frame: &Value) -> String {
    let name = frame["fn"].as_str().unwrap();
    let has_place = frame["addr"].is_string() || name.starts_with("[unknown]");
    let (called, stub) = match name.strip_suffix("@plt") {
        Some(called) => (called, "@plt"),
        None => (name, ""),
    };
    match called.rfind('(').filter(|_| called.ends_with(')')) {
        _ if has_place => "?".to_owned(),
        Some(open) => format!("{}{stub}", &called[..open]),
        None => name.to_owned(),
    }
}

fn figures(records: &[Value]) -> BTreeMap<String, Figures> {
    let mut events: BTreeMap<String, Figures> = BTreeMap::new();
    for record in records.iter().filter(|record| record["type"] == "stack") {
        let frames = record["stack"].as_array().unwrap().iter();
        let names: Vec<String> = frames
            .filter(|frame| frame["inlined"] != true)
            .map(plain)
            .collect();
        for (event, count) in record["cost"].as_object().unwrap() {
            let count = count.as_i64().unwrap();
            let figures = events.entry(event.clone()).or_default();
            figures.total += count;
            let thread = format!("{} {}", record["pid"], record["thread"]);
            *figures.threads.entry(thread).or_default() += count;
            if let Some(innermost) = names.first() {
                *figures.own.entry(innermost.clone()).or_default() += count;
            }
            for name in names.iter().collect::<BTreeSet<_>>() {
                *figures.inclusive.entry(name.clone()).or_default() += count;
            }
        }
    }
    events
}

/// Reads a recording with cg-parse, directly and through perf script.
fn both(folder: &Path, recording: &Path, root: Option<&Path>) -> [BTreeMap<String, Figures>; 2] {
    let mut direct = tools::command("cg-parse");
    let mut script = needs::command("perf");
    script.args(["script", "--no-inline", "-F", "+pid,+period"]);
    if let Some(root) = root {
        direct.arg("--debug-root").arg(root);
        script.arg("--symfs").arg(root);
    }
    let text = folder.join("script.txt");
    std::fs::write(&text, stdout(script.arg("-i").arg(recording))).unwrap();
    let direct = stdout(direct.arg(recording));
    let printed = stdout(tools::command("cg-parse").arg(&text));
    [direct, printed].map(|stream| figures(&records(&stream)))
}

/// Returns the share of the total by which the functions of `b` exceed those of `a`.
fn difference(a: &ByFunction, b: &ByFunction, total: i64) -> f64 {
    let names: BTreeSet<&String> = a
        .keys()
        .chain(b.keys())
        .filter(|name| *name != "?")
        .collect();
    let count = |counts: &ByFunction, name: &String| counts.get(name).copied().unwrap_or(0);
    let less = names
        .iter()
        .map(|name| (count(b, name) - count(a, name)).max(0));
    less.sum::<i64>() as f64 / total.max(1) as f64
}

#[test]
fn recordings_in_the_test_data_agree_with_perf_script() {
    needs!("perf");
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("root");
    let program = root.join("home/dev/work/spin");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::copy(data("perf-data/spin"), &program).unwrap();
    for name in ["spin", "spin-dwarf", "spin-pipe"] {
        let recording: PathBuf = folder.path().join(name);
        std::fs::copy(data(&format!("perf-data/6.1-{name}.data")), &recording).unwrap();
        let [direct, printed] = both(folder.path(), &recording, Some(&root));
        assert!(direct["samples"].total >= 7, "{name}");
        assert_eq!(direct, printed, "{name}");
    }
}

#[test]
fn samples_of_a_program_agree_with_perf_script() {
    needs!("gcc", "perf");
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("spin");
    stdout(
        needs::command("gcc")
            .args([
                "-O1",
                "-g",
                "-fno-omit-frame-pointer",
                "-mno-omit-leaf-frame-pointer",
            ])
            .args([
                "-fno-optimize-sibling-calls",
                "-nostdlib",
                "-static",
                "-Wl,--eh-frame-hdr,--build-id",
            ])
            .arg("-o")
            .arg(&program)
            .arg(data("perf-data/spin.c")),
    );
    for arguments in [
        &["-e", "cpu-clock:u", "-F", "499", "-g"][..],
        &["-e", "task-clock:u", "-c", "1000000", "-g"],
        &["-e", "cpu-clock:u", "-F", "499", "-g", "-z"],
        &[
            "-e",
            "cpu-clock:u",
            "-e",
            "page-faults:u",
            "-F",
            "499",
            "-g",
        ],
        &[
            "-e",
            "{cpu-clock:u,page-faults:u,task-clock:u}:S",
            "-F",
            "499",
            "-g",
        ],
        &["-e", "cpu-clock:u", "-F", "499"],
        &[
            "-e",
            "cpu-clock:u",
            "-F",
            "499",
            "--call-graph",
            "dwarf,1024",
        ],
    ] {
        let recording = folder.path().join("perf.data");
        let status = needs::command("perf")
            .args(["record", "-q", "-o"])
            .arg(&recording)
            .args(arguments)
            .arg("--")
            .arg(&program)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            // perf may not sample on this machine. The recordings of the test data are enough then.
            return;
        }
        let [direct, printed] = both(folder.path(), &recording, None);
        assert!(direct["samples"].total > 10, "{arguments:?}");
        for (event, printed) in &printed {
            let direct = &direct[event];
            let whole = (direct.total, &direct.threads);
            assert_eq!(whole, (printed.total, &printed.threads), "{arguments:?}");
            // Both unwind DWARF stacks separately, so perf may find functions in 1 % of the samples that cg-parse lacks.
            let most = if arguments.contains(&"dwarf,1024") {
                0.01
            } else {
                0.0
            };
            for (own, others) in [
                (&direct.own, &printed.own),
                (&direct.inclusive, &printed.inclusive),
            ] {
                let share = difference(own, others, direct.total);
                assert!(
                    share <= most,
                    "{arguments:?}, {event}: {own:?} for {others:?}"
                );
            }
        }
    }
}

#[test]
fn stubs_have_the_same_names_as_in_perf_script() {
    needs!("gcc", "g++", "perf");
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Without start code, because perf assigns the stubs to `_init` if there is one, whose size is unknown.
    let program = "extern long turn(long);
        #ifdef __cplusplus
        extern \"C\"
        #endif
        void _start(void) {
            long n = 0;
            for (long i = 0; i < 60000000L; i++) n = turn(n);
            __asm__ volatile(\"syscall\" : : \"a\"(60L), \"D\"(n == 1));
        }";
    for (compiler, end) in [("gcc", "c"), ("g++", "cpp")] {
        let (source, library) = (at(&format!("main.{end}")), at(&format!("lib.{end}")));
        std::fs::write(&source, program).unwrap();
        std::fs::write(&library, "long turn(long x) { return x * 31 + 7; }").unwrap();
        let so = at("libturn.so");
        let shared = ["-O1", "-shared", "-fPIC", "-o"];
        stdout(needs::command(compiler).args(shared).args([&so, &library]));
        let linked = [
            "-O1",
            "-g",
            "-nostartfiles",
            "-Wl,-z,lazy,-rpath,$ORIGIN",
            "-o",
        ];
        stdout(
            needs::command(compiler)
                .args(linked)
                .args([&at("main"), &source, &so]),
        );
        let recording = at("perf.data");
        let status = needs::command("perf")
            .args(["record", "-q", "-e", "cpu-clock:u", "-F", "997", "-o"])
            .args([&recording, &at("main")])
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return;
        }
        let [direct, printed] = both(folder.path(), &recording, None);
        let [direct, printed] = [&direct["samples"], &printed["samples"]];
        // A busy machine has few samples.
        assert!(printed.own["turn@plt"] > 0, "{:?}", printed.own);
        assert_eq!(difference(&direct.own, &printed.own, direct.total), 0.0);
        assert_eq!(difference(&printed.own, &direct.own, direct.total), 0.0);
    }
}
