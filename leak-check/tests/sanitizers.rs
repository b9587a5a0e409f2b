//! Reports of sanitizers are judged like Valgrind's, and an incomplete report is not clean.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::leak_check;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

fn report(name: &str) -> String {
    let path = data().join("sanitizers").join(name);
    std::fs::read_to_string(path).expect("the test data has it")
}

const CLEAN: &str = "\
==7== Memcheck, a memory error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== Command: ./a
==7== 
==7== HEAP SUMMARY:
==7==     in use at exit: 0 bytes in 0 blocks
==7==   total heap usage: 2 allocs, 2 frees, 4,136 bytes allocated
==7== 
==7== All heap blocks were freed -- no leaks are possible
==7== 
==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)
";

fn status(args: &[&str], input: &str) -> i32 {
    leak_check(args, input.as_bytes()).status
}

#[test]
fn every_report_fails_with_and_without_a_clean_log() {
    assert_eq!(status(&[], CLEAN), 0);
    let folder = std::fs::read_dir(data().join("sanitizers")).unwrap();
    let mut judged = 0;
    for entry in folder {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for input in [text.clone(), CLEAN.to_owned() + &text, text + CLEAN] {
            let run = leak_check(&[], input.as_bytes());
            assert_eq!(run.status, 1, "{}: {}", path.display(), run.stderr);
        }
        judged += 1;
    }
    assert!(judged > 20);
}

#[test]
fn a_baseline_excuses_known_findings_of_complete_reports() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [
        // Complete reports: leak detection was on, or the sanitizer has none and the process continued to its end.
        ("clang-14-leaks.log", 0),
        ("clang-14-recover.log", 0),
        ("rustc-leaks.log", 0),
        ("clang-14-ubsan.log", 0),
        ("gcc-12-deadlock.log", 0),
        ("clang-14-msan-recover.log", 0),
        ("go-1.19-race.log", 0),
        // The sanitizer ended the process at an error.
        ("gcc-12-heap-buffer-overflow.log", 2),
        ("clang-14-msan-heap.log", 2),
        ("gcc-12-segv.log", 2),
        // A baseline does not contain leaks beyond max_leaks.
        ("clang-14-max-leaks.log", 1),
    ] {
        let baseline = folder.path().join(name);
        let baseline = baseline.to_str().unwrap();
        let text = report(name);
        let known = leak_check(&["-f", "json"], text.as_bytes());
        std::fs::write(baseline, "").unwrap();
        std::fs::remove_file(baseline).unwrap();
        let updated = leak_check(
            &["--baseline", baseline, "--update-baseline"],
            text.as_bytes(),
        );
        if expected != 2 {
            assert!(Path::new(baseline).exists(), "{name}: {}", updated.stderr);
        } else {
            // The gate does not write a baseline from input that it cannot judge.
            assert!(!Path::new(baseline).exists(), "{name}");
            assert_eq!(known.status, 1);
            let ignored = status(&["--ignore", ".", "--ignore-signals"], &text);
            assert_eq!(ignored, 2, "{name}");
            continue;
        }
        let run = leak_check(&["--baseline", baseline], text.as_bytes());
        assert_eq!(run.status, expected, "{name}: {}{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_report_with_only_excused_findings_is_not_clean_if_it_is_incomplete() {
    let recovered = report("clang-14-recover.log");
    let leaks = recovered.find("\n=================================================================\n==10088==ERROR: LeakSanitizer").unwrap();
    for (args, input, expected, message) in [
        // Either there are no leaks, or leak detection was off.
        (
            &["--ignore", "."][..],
            recovered[..leaks + 1].to_owned(),
            2,
            "no leak report",
        ),
        (
            &["--ignore", ".", "--errors-for-leak-kinds=none"],
            recovered[..leaks + 1].to_owned(),
            0,
            "",
        ),
        (
            &["--ignore", "."],
            report("gcc-12-heap-buffer-overflow.log"),
            2,
            "ended the process",
        ),
        (&["--ignore", "."], report("clang-14-leaks.log"), 0, ""),
        (
            &["--ignore", ".", "--errors-for-leak-kinds=all"],
            report("clang-14-leaks.log"),
            2,
            "still reachable",
        ),
        (&["--no-errors"], report("clang-14-leaks.log"), 1, ""),
        (
            &["--errors-for-leak-kinds=none"],
            report("clang-14-leaks.log"),
            0,
            "",
        ),
        // Without the last line of ThreadSanitizer, an option may have ended the process at the first report.
        (&["--ignore", "."], report("gcc-12-deadlock.log"), 0, ""),
        (
            &["--ignore", "."],
            report("gcc-12-deadlock.log").replace("ThreadSanitizer: reported 1 warnings\n", ""),
            2,
            "ended the process",
        ),
    ] {
        let run = leak_check(args, input.as_bytes());
        assert_eq!(run.status, expected, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn a_failure_of_the_sanitizer_exits_with_2() {
    for line in [
        "==7==LeakSanitizer has encountered a fatal error.\n==7==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)\n",
        "==7==AddressSanitizer CHECK failed: asan_rtl.cc:1 \"((0)) != (0)\" (0x0, 0x0)\n",
        "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2\n",
        "==7==ASan runtime does not come first in initial library list; you should either link runtime\n",
        "==7==ERROR: AddressSanitizer failed to allocate 0x1 (1) bytes of LargeMmapAllocator (error code: 12)\n",
        "AddressSanitizer:DEADLYSIGNAL\n",
        "SUMMARY: AddressSanitizer: 104 byte(s) leaked in 1 allocation(s).\n",
        "ThreadSanitizer: reported 2 warnings\n",
        "==7==ABORTING\n",
        "==7==ERROR: RealtimeSanitizer: unsafe-library-call\n",
    ] {
        for input in [line.to_owned(), CLEAN.to_owned() + line] {
            // A log with only ABORTING is not recognised.
            assert_eq!(status(&["--allow-fragment"], &input), 2, "{input}");
        }
    }
    assert_eq!(status(&[], "program output\n"), 2);
}

#[test]
fn a_truncated_report_is_never_clean() {
    for name in [
        "gcc-12-heap-buffer-overflow.log",
        "clang-14-leaks.log",
        "gcc-12-thread-leak.log",
        "gcc-12-segv.log",
        "go-1.19-race.log",
    ] {
        let text = report(name);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let head = lines
            .iter()
            .position(|line| line.contains("ERROR: ") || line.contains("WARNING: "))
            .unwrap();
        let whole = |before: &str| {
            let count = |words: &str| before.lines().filter(|line| line.contains(words)).count();
            let heads = count("ERROR: ") + count("WARNING: ");
            let is_closed = count("WARNING: ") == heads && count("==================") >= 2 * heads;
            let ends = ["Right alloca redzone", "byte(s) leaked in", "ABORTING"];
            is_closed
                || (!name.contains("segv") && count(ends[0]) + count(ends[1]) > 0)
                || count(ends[2]) > 0
        };
        for end in head + 1..lines.len() {
            let before = lines[..end].concat();
            let expected = if whole(&before) { 1 } else { 2 };
            assert_eq!(
                status(&[], &(CLEAN.to_owned() + &before)),
                expected,
                "{name}: {before}"
            );
        }
    }
}

#[test]
fn an_error_and_a_leak_read_as_plain_sentences() {
    for (name, sentences) in [
        (
            "gcc-12-heap-buffer-overflow.log",
            &[
                "heap_over(int) (src/asan.cpp)",
                "writes 1 byte, 2 bytes past a 10-byte block allocated at src/asan.cpp:15 (heap-buffer-overflow)",
            ][..],
        ),
        (
            "clang-14-use-after-free.log",
            &[
                "reads 1 byte, 3 bytes into a 16-byte block freed at",
                "and allocated at",
            ],
        ),
        (
            "clang-14-data-race.log",
            &[
                "named(void*)",
                "writes 4 bytes, in no order with the write at",
            ],
        ),
        (
            "gcc-12-deadlock.log",
            &[
                "ab (src/ts.cpp)",
                "takes locks in an order that can deadlock (lock-order-inversion)",
            ],
        ),
        (
            "gcc-12-thread-leak.log",
            &[
                "main (src/ts.cpp)",
                "leaves a thread that it neither joins nor detaches",
            ],
        ),
        (
            "clang-14-msan-heap.log",
            &["branch(int*)", "uses uninitialised memory, created at"],
        ),
        (
            "gcc-12-ubsan.log",
            &[
                "??? in ub.cpp",
                "shift exponent 40 is too large for 32-bit type 'int' (shift-exponent)",
            ],
        ),
        (
            "gcc-12-double-free.log",
            &["double_free()", "attempting double-free on … in thread T0"],
        ),
        (
            "gcc-12-segv.log",
            &["null_deref(int volatile*)", "is ended by SIGSEGV"],
        ),
        (
            "clang-14-leaks.log",
            &["leak()", "leaks 8 bytes in 1 block, definitely lost"],
        ),
        (
            "go-1.19-race.log",
            &[
                "main.(*box).add",
                "reads memory, in no order with the write at",
            ],
        ),
        (
            "clang-14-max-leaks.log",
            &["123 bytes in 5 blocks definitely lost"],
        ),
    ] {
        let run = leak_check(&[], report(name).as_bytes());
        for sentence in sentences {
            assert!(
                run.stdout.contains(sentence),
                "{name}: {sentence}\n{}",
                run.stdout
            );
        }
    }
}

#[test]
fn equal_reports_of_two_processes_are_one_entry() {
    let one = report("gcc-12-heap-buffer-overflow.log");
    let two = one
        .replace("==6410==", "==6411==")
        .replace("0x6020", "0x6030")
        .replace("0x7f", "0x7e");
    let run = leak_check(&[], (one + &two).as_bytes());
    assert_eq!(run.status, 1);
    assert_eq!(
        run.stdout.matches("(heap-buffer-overflow)").count(),
        1,
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("failed: 2 new findings (2 heap-buffer-overflow) in 2 processes"),
        "{}",
        run.stdout
    );
}

#[test]
fn junit_and_sarif_name_the_rule_and_the_place() {
    let input = CLEAN.to_owned()
        + &report("gcc-12-heap-buffer-overflow.log")
        + &report("clang-14-leaks.log");
    let junit = leak_check(&["-f", "junit"], input.as_bytes());
    assert_eq!(junit.status, 1);
    assert!(
        junit
            .stdout
            .contains("tests=\"3\" failures=\"2\" errors=\"0\""),
        "{}",
        junit.stdout
    );
    assert!(
        junit.stdout.contains("heap_over(int) writes 1 byte"),
        "{}",
        junit.stdout
    );
    let sarif = leak_check(&["-f", "sarif"], input.as_bytes());
    let sarif: Value = serde_json::from_str(&sarif.stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let mut rules: Vec<&str> = results
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap())
        .collect();
    rules.sort_unstable();
    assert_eq!(
        rules,
        [
            "DefiniteLeak",
            "DefiniteLeak",
            "DefiniteLeak",
            "heap-buffer-overflow"
        ]
    );
    let overflow = results
        .iter()
        .find(|result| result["ruleId"] == "heap-buffer-overflow")
        .unwrap();
    let region = &overflow["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 15);
}

#[test]
fn a_suppression_for_memcheck_matches_a_leak_of_a_sanitizer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known.supp");
    std::fs::write(&file, "{\n  known\n  Memcheck:Leak\n  match-leak-kinds: definite\n  ...\n  fun:_ZL4leakv\n}\n{\n  known too\n  Memcheck:Leak\n  ...\n  fun:_Z4leakv\n}\n").unwrap();
    let args = ["--suppressions", file.to_str().unwrap()];
    assert_eq!(status(&args, &report("clang-14-leaks.log")), 0);
    assert_eq!(status(&args, &report("gcc-12-heap-buffer-overflow.log")), 1);
    // A suppression written by leak-check matches too. Replace Clang's name of a lambda, which has no known mangled name.
    let leaks = report("clang-14-leaks.log").replace(
        "leak()::$_0::operator()[abi:cxx11](int) const",
        "helper(int)",
    );
    let written = leak_check(&["--write-suppressions"], leaks.as_bytes());
    std::fs::write(&file, &written.stdout).unwrap();
    assert_eq!(status(&args, &leaks), 0, "{}", written.stdout);
    let written = leak_check(
        &["--write-suppressions"],
        report("gcc-12-double-free.log").as_bytes(),
    );
    assert!(
        written
            .stderr
            .contains("1 finding left out: no suppression can match signals, errors of sanitizers"),
        "{}",
        written.stderr
    );
}
