//! The output of jobs: the exit status of a job is evidence if there is no report. Every report carries the verdict and the
//! reasons for a missing one.

use std::path::Path;
use std::process::Command;

use needs::needs;

use crate::support::{Run, leak_check, leak_check_in};

const FORMATS: [&str; 8] = [
    "text", "markdown", "html", "json", "junit", "sarif", "github", "gitlab",
];

const RACE: &str = "==================\nWARNING: DATA RACE\nRead at 0x00c000012345 by goroutine 7:\n  x.inc()\n      /src/x_test.go:4 +0x6a\n\nPrevious write at 0x00c000012345 by goroutine 8:\n  x.inc()\n      /src/x_test.go:4 +0x84\n==================\n";
const MEMCHECK: &str = "==7== Memcheck, a memory error detector\n==7== Using Valgrind-3.19.0 and LibVEX; rerun\n==7== Command: ./p --all\n==7== \n";
const ENDED: &str = "==7== Process terminating with default action of signal 15 (SIGTERM)\n==7==    at 0x1: raise (raise.c:26)\n==7== \n==7== HEAP SUMMARY:\n==7==     in use at exit: 10 bytes in 1 blocks\n==7== \n==7== 10 bytes in 1 blocks are definitely lost in loss record 1 of 1\n==7==    at 0x2: malloc (vg_replace_malloc.c:1)\n==7==    by 0x3: lose (p.c:11)\n==7== \n==7== LEAK SUMMARY:\n==7==    definitely lost: 10 bytes in 1 blocks\n==7==    indirectly lost: 0 bytes in 0 blocks\n==7==      possibly lost: 0 bytes in 0 blocks\n==7==    still reachable: 0 bytes in 0 blocks\n==7==         suppressed: 0 bytes in 0 blocks\n==7== \n";
const SUMMARY: &str = "==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n";
const CLEAN: &str = "==7== HEAP SUMMARY:\n==7==     in use at exit: 0 bytes in 0 blocks\n==7== \n==7== All heap blocks were freed -- no leaks are possible\n==7== \n==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";

fn judge(options: &[&str], input: &str) -> Run {
    leak_check(options, input.as_bytes())
}

/// Returns a report without the escapes and line breaks of its format.
fn plain(report: &str) -> String {
    let mut report = report.replace("<wbr>", "").replace('\\', "");
    for (entity, text) in [
        ("&#39;", "'"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ] {
        report = report.replace(entity, text);
    }
    report
}

#[test]
fn a_job_that_succeeded_without_a_report_is_clean() {
    let go = "{\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"PASS\\n\"}\n";
    let long = "3 tests passed\n".repeat(100_000);
    for input in ["done\n", "", "no line end", go, "a\0b\n", &long] {
        let name = &input[..input.len().min(20)];
        assert_eq!(judge(&[], input).status, 2, "{name}");
        assert_eq!(judge(&["--job-status", "0"], input).status, 0, "{name}");
        for status in ["1", "23", "66", "139", "255"] {
            let run = judge(&["--job-status", status], input);
            assert_eq!(run.status, 2, "{name}");
            assert!(
                run.stderr.contains(&format!(" {status} ")),
                "{}",
                run.stderr
            );
        }
        // A report is found wherever it is, and judged in the same way for each exit status.
        for status in ["0", "66"] {
            let run = judge(&["--job-status", status], &format!("{input}\n{RACE}"));
            assert_eq!(run.status, 1, "{name}: {}", run.stderr);
        }
    }
    for status in ["256", "-1", "x", ""] {
        let option = format!("--job-status={status}");
        assert_eq!(judge(&[&option], "done\n").status, 2, "{status}");
    }
}

#[test]
fn the_status_of_a_job_replaces_no_other_evidence() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("reports")).unwrap();
    std::fs::write(folder.path().join("done.log"), "done\n").unwrap();
    std::fs::write(folder.path().join("red.log"), RACE).unwrap();
    std::fs::write(folder.path().join("clean.log"), [MEMCHECK, CLEAN].concat()).unwrap();
    std::fs::write(folder.path().join("cut.log"), MEMCHECK).unwrap();
    std::fs::write(
        folder.path().join("never.log"),
        "valgrind: ./nothere: No such file or directory\n",
    )
    .unwrap();
    for (inputs, expected) in [
        (&["reports"][..], 0),
        (&["done.log", "reports", "clean.log"], 0),
        (&["done.log", "red.log"], 1),
        (&["done.log", "cut.log"], 2),
        (&["never.log"], 2),
        (&["nosuch.log"], 2),
        (&["done.log", "--expect", "1"], 2),
        (&["done.log", "clean.log", "--expect", "1"], 0),
    ] {
        let args = [&["--job-status", "0"], inputs].concat();
        let run = leak_check_in(folder.path(), &args, b"");
        assert_eq!(run.status, expected, "{inputs:?}: {}", run.stderr);
    }
    for format in FORMATS {
        let args = ["--job-status", "0", "-f", format, "done.log"];
        let run = leak_check_in(folder.path(), &args, b"");
        let names = run.stdout.contains("exit status");
        assert_eq!(
            names,
            !["json", "gitlab"].contains(&format),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn the_status_never_depends_on_the_format_and_every_report_has_the_reasons() {
    let cut = [MEMCHECK, "==7== HEAP SUMMARY:\n"].concat();
    let red = [MEMCHECK, ENDED, SUMMARY].concat();
    let launcher = [MEMCHECK, CLEAN]
        .concat()
        .replace("./p --all", "timeout 20 ./p");
    for (input, options, expected, words) in [
        (
            &cut,
            &["--expect", "417"][..],
            2,
            &["417", "416 missing", "cut short"][..],
        ),
        (&launcher, &[], 2, &["--trace-children=yes"]),
        (&red, &[], 1, &["SIGTERM ended the process"]),
        (&red, &["--ignore-signals"], 1, &["unfinished work"]),
        (&red, &["--no-errors", "--max-bytes", "10"], 0, &[]),
        (&red, &["--command", "nowhere"], 2, &["--command nowhere"]),
        (&"done\n".to_owned(), &[], 2, &["not recognised"]),
        (&[MEMCHECK, CLEAN].concat(), &[], 0, &[]),
    ] {
        for format in FORMATS {
            let run = judge(&[&["-f", format], options].concat(), input);
            assert_eq!(
                run.status, expected,
                "-f {format} {options:?}: {}",
                run.stderr
            );
            let report = plain(&run.stdout);
            // JSON has the signal in a field.
            let words = words.iter().filter(|word| {
                format != "json" || !["SIGTERM ended the process", "unfinished work"].contains(word)
            });
            for word in words {
                assert!(report.contains(word), "-f {format} lacks {word}: {report}");
            }
            for line in run.stderr.lines().filter(|_| expected == 2) {
                let reason = line.trim_start_matches("leak-check: ");
                let part: String = reason.chars().take(25).collect();
                assert!(report.contains(&part), "-f {format} lacks {part}: {report}");
            }
        }
        let json = judge(&[&["-f", "json"], options].concat(), input);
        for leak in json.records(&["leak"]) {
            assert_eq!(leak["ended_by"], "SIGTERM", "{leak}");
        }
    }
}

#[test]
fn every_report_lists_the_commands_and_begins_with_the_verdict() {
    let red = [MEMCHECK, ENDED, SUMMARY].concat();
    for format in FORMATS {
        let run = judge(&["-f", format, "--ignore-signals", "--expect", "1"], &red);
        let report = plain(&run.stdout);
        assert_eq!(
            report.contains("./p --all"),
            format != "gitlab",
            "-f {format}: {report}"
        );
        let verdict = "failed: 1 new finding (1 definite leak) in 1 process";
        assert_eq!(
            report.contains(verdict),
            !["json", "gitlab"].contains(&format),
            "-f {format}: {report}"
        );
        let first = match format {
            "text" => report.lines().next(),
            "github" => report
                .lines()
                .next()
                .and_then(|line| line.strip_prefix("leak-check: ")),
            "markdown" => report
                .lines()
                .nth(1)
                .and_then(|line| line.strip_prefix("### leak-check: ")),
            _ => continue,
        };
        let line = first.unwrap();
        assert!(line.starts_with(verdict), "-f {format}: {line}");
        assert!(
            line.contains("judged 1 of 1 process"),
            "-f {format}: {line}"
        );
    }
    let two = judge(&["-f", "text", "--expect", "3"], &[&red, MEMCHECK].concat());
    assert!(two.stdout.contains("of 3 processes"), "{}", two.stdout);
}

#[test]
fn an_annotation_names_only_files_below_the_root() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/p.c"), "").unwrap();
    let log = [MEMCHECK, ENDED, SUMMARY].concat();
    for (file, expected) in [
        ("/builds/job/src/p.c", "file=src/p.c,line=11"),
        ("src/p.c", "file=src/p.c,line=11"),
        ("p.c", "file=src/p.c,line=11"),
        ("/builds/job/other/q.c", "file=<stdin>,title="),
        ("q.c", "file=<stdin>,title="),
    ] {
        let log = log.replace("(p.c:11)", &format!("({file}:11)"));
        let args = ["-f", "github", "--ignore-signals"];
        let run = leak_check_in(folder.path(), &args, log.as_bytes());
        assert!(run.stdout.contains(expected), "{file}: {}", run.stdout);
    }
}

#[test]
fn the_recipe_judges_a_test_suite_under_sanitizers() {
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <stdlib.h>\n#include <limits.h>\nint add(int a) { return a + 1; }\nint main(int n, char **v) { if (n > 1 && v[1][0] == 'u') return add(INT_MAX) == 0; return n > 1 ? atoi(v[1]) : 0; }\n";
    std::fs::write(folder.path().join("p.c"), source).unwrap();
    let built = needs::command("cc")
        .args(["-g", "-fsanitize=address,undefined", "-o", "p", "p.c"])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(built.success());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ci/sanitize");
    let tools = Path::new(env!("CARGO_BIN_EXE_leak-check"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let sanitize = |argument: &str| {
        let done = Command::new(&example)
            .args(["./p", argument])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap(),
        )
    };
    let (status, report) = sanitize("0");
    assert_eq!(status, 0, "{report}");
    assert_eq!(sanitize("3").0, 2);
    let (status, report) = sanitize("undefined");
    assert_eq!(status, 1, "{report}");
    assert!(report.contains("add (p.c)"), "{report}");
    for file in ["sanitize.xml", "sanitize.sarif"] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(text.contains("signed-integer-overflow"), "{file}: {text}");
    }
    let known = [
        "--job-status=0",
        "--baseline=sanitize.jsonl",
        "--update-baseline",
        "sanitize.log",
    ];
    leak_check_in(folder.path(), &known, b"");
    assert_eq!(sanitize("undefined").0, 0);
}
