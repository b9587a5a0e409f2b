//! A static program built with `-pg`: compares gprof's own report with cg-parse.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::process::Command;

use needs::needs;
use serde_json::Value;
use tests::tools;

/// Calls a small function so often that the functions that count calls are sampled, too. A static program contains them.
const PROGRAM: &str = "
volatile long sum;
__attribute__((noinline)) void tick(int by) { sum += by; }
__attribute__((noinline)) void spin(long n) { for (long i = 0; i < n; i++) sum ^= i; }
int main(void) {
    for (int i = 0; i < 30000000; i++) tick(i);
    for (int i = 0; i < 3; i++) spin(20000000);
    return 0;
}
";

/// Runs a command, and returns its standard output and standard error.
fn run(command: &mut Command) -> (String, String) {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {stderr}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
}

/// Seconds and calls by function.
type FlatProfile = BTreeMap<String, (f64, u64)>;

/// Reads the rows of a flat profile. Functions that were not called have no number of calls.
fn flat_profile(text: &str) -> FlatProfile {
    let rows = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let seconds = fields.get(2)?.parse().ok()?;
        match fields[..] {
            [_, _, _, calls, _, _, name] => Some((name.to_owned(), (seconds, calls.parse().ok()?))),
            [_, _, _, name] => Some((name.to_owned(), (seconds, 0))),
            _ => None,
        }
    });
    rows.collect()
}

#[test]
fn functions_that_count_calls_are_left_out_as_by_gprof() {
    // gprof comes with the linker that gcc needs.
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("tick.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let compiler = needs::command("gcc")
        .args(["-O1", "-pg", "-static", "-o", "tick", "tick.c"])
        .current_dir(folder.path())
        .status();
    assert!(compiler.unwrap().success());
    run(Command::new(folder.path().join("tick")).current_dir(folder.path()));
    let mut gprof = Command::new("gprof");
    let gprof = gprof.args(["-b", "-p", "tick", "gmon.out"]);
    let expected = flat_profile(&run(gprof.current_dir(folder.path())).0);
    let mut parse = tools::command("cg-parse");
    let parse = parse.args(["--exe", "tick", "gmon.out"]);
    let (stream, stderr) = run(parse.current_dir(folder.path()));
    let mut found = FlatProfile::new();
    for line in stream.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["type"] == "fn" {
            let seconds = record["cost"]["time"].as_u64().unwrap() as f64 / 1e9;
            let name = record["fn"].as_str().unwrap_or("???").to_owned();
            found.insert(name, (seconds, record["calls"].as_u64().unwrap_or(0)));
        }
    }
    assert!(
        stderr.contains("s in the functions that count calls, such as mcount"),
        "{stderr}"
    );
    let total = |profile: &FlatProfile| profile.values().map(|(seconds, _)| seconds).sum::<f64>();
    assert!(
        (total(&found) - total(&expected)).abs() < 0.02,
        "{found:?} {expected:?}"
    );
    for name in ["tick", "spin"] {
        let ((seconds, calls), (gprof_seconds, gprof_calls)) = (found[name], expected[name]);
        assert!((seconds - gprof_seconds).abs() < 0.02, "{name}: {seconds}");
        assert_eq!(calls, gprof_calls, "{name}");
    }
}
