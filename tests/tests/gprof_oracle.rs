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

/// Returns the number of samples in a file of a little-endian program of 64 bits, whose first record is the histogram.
fn samples(gmon: &[u8]) -> u64 {
    let number = |at: usize| u32::from_le_bytes(gmon[at..at + 4].try_into().unwrap());
    let (bins, begin) = (number(37) as usize, 61);
    assert_eq!((gmon[20], number(41)), (0, 100));
    let bins = gmon[begin..begin + 2 * bins].chunks_exact(2);
    bins.map(|bin| u64::from(u16::from_le_bytes([bin[0], bin[1]])))
        .sum()
}

/// Reads the rows of a flat profile, and their total. Functions that were not called have no number of calls.
fn flat_profile(text: &str) -> (FlatProfile, f64) {
    let mut total = 0.0;
    let rows = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let seconds = fields.get(2)?.parse().ok()?;
        total = fields[1].parse().ok()?;
        match fields[..] {
            [_, _, _, calls, _, _, name] => Some((name.to_owned(), (seconds, calls.parse().ok()?))),
            [_, _, _, name] => Some((name.to_owned(), (seconds, 0))),
            _ => None,
        }
    });
    let rows = rows.collect();
    (rows, total)
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
    let (expected, expected_total) = flat_profile(&run(gprof.current_dir(folder.path())).0);
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
    let left_out = stderr
        .split_once("left out as by gprof: ")
        .and_then(|(_, rest)| {
            rest.split_once(" s in the functions that count calls, such as mcount")
        })
        .expect(&stderr);
    let left_out: f64 = left_out.0.parse().unwrap();
    let total: f64 = found.values().map(|(seconds, _)| seconds).sum();
    let sampled = samples(&std::fs::read(folder.path().join("gmon.out")).unwrap()) as f64 / 100.0;
    // The warning rounds to 0.01 s, the time of a sample.
    assert!(
        (total + left_out - sampled).abs() < 0.0051,
        "{total} + {left_out} s of {sampled} s"
    );
    // Samples of mcount's first instruction can be under the function before it in gprof's report, but not the other way.
    assert!(
        left_out + 0.0051 > sampled - expected_total,
        "{left_out} s of {sampled} s, gprof: {expected_total} s are not left out"
    );
    for name in ["tick", "spin", "main"] {
        let ((seconds, calls), (gprof_seconds, gprof_calls)) = (found[name], expected[name]);
        // For samples at the border of two functions, gprof's part differs by a quarter of a sample.
        assert!(
            (seconds - gprof_seconds).abs() < 0.02,
            "{name}: {found:?} {expected:?}"
        );
        assert_eq!(calls, gprof_calls, "{name}");
    }
}
