//! The baseline: known findings pass and new findings fail, even after rebuilds and edits.

use needs::needs;

use crate::support::{Bench, Run};

const LEAK: &str = "#include <stdlib.h>
static char *make(int size) { return malloc(size); }
static char *grow(int depth) { return depth ? grow(depth - 1) : make(8); }
int main(void) {
    make(64)[0] = 1;
    grow(3)[0] = 1;
    return 0;
}
";

/// A program with a baseline of its findings in `known.jsonl`.
fn known() -> Bench {
    let bench = Bench::from_text("leak.c", LEAK);
    bench.valgrind("out.xml", &[]);
    let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", "out.xml"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .ends_with("clean: no new findings, 2 known; judged 1 of 1 process\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr
            .ends_with("known.jsonl: known findings: 2; added: 2; removed: 0\n"),
        "{}",
        run.stderr
    );
    bench
}

/// Changes the program, runs it, and checks the result against the baseline.
fn check_after(bench: &Bench, from: &str, to: &str, flags: &[&str]) -> Run {
    assert!(LEAK.contains(from));
    bench.compile("leak.c", &LEAK.replace(from, to), flags);
    bench.valgrind("out.xml", &[]);
    bench.leak_check(&["--baseline=known.jsonl", "out.xml"])
}

#[test]
fn a_baseline_is_sorted_lines_with_kind_frames_and_sizes() {
    needs!("gcc", "valgrind");
    let bench = known();
    let text = bench.read("known.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        r#"{"type":"known","kind":"definite","frames":["make","grow","main"],"count":1,"bytes":8,"blocks":1,"fingerprint":""#
    ));
    assert!(lines[1].starts_with(
        r#"{"type":"known","kind":"definite","frames":["make","main"],"count":1,"bytes":64,"blocks":1,"fingerprint":""#
    ));
    assert_eq!(lines.len(), 2);
}

#[test]
fn known_findings_pass_through_rebuilds_edits_and_other_sizes() {
    needs!("gcc", "valgrind");
    let bench = known();
    assert_eq!(
        bench
            .leak_check(&["--baseline=known.jsonl", "out.xml"])
            .status,
        0
    );
    for (from, to, flags) in [
        ("#include", "/* a line\n * or two */\n#include", &[][..]),
        (
            "make(64)[0] = 1;",
            "int unused = 1; (void)unused;\n make(99)[0] = 1;",
            &[],
        ),
        // The depth of a recursion depends on the input.
        ("grow(3)", "grow(6)", &[]),
        ("return 0", "return 0", &["-DANY", "-fno-pie", "-no-pie"]),
    ] {
        let run = check_after(&bench, from, to, flags);
        assert_eq!(run.status, 0, "{to}: {}", run.stdout);
        assert!(run.stdout.contains("2 known"), "{}", run.stdout);
    }
    // The text log gives the same fingerprints.
    bench.valgrind("out.log", &[]);
    assert_eq!(
        bench
            .leak_check(&["--baseline=known.jsonl", "out.log"])
            .status,
        0
    );
}

#[test]
fn new_findings_and_additional_equal_findings_fail() {
    needs!("gcc", "valgrind");
    let bench = known();
    let run = check_after(
        &bench,
        "return 0",
        "char *p = malloc(5); p[0] = 1; return 0",
        &[],
    );
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .contains(" in 1 process, 2 known; judged 1 of 1 process"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("equal findings"));
    // A second loss record, from another line of the same function.
    let run = check_after(&bench, "return 0", "make(64)[0] = 1; return 0", &[]);
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .contains(" in 1 process, 2 known; judged 1 of 1 process"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("    one of several equal findings; the baseline has 1\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_known_leak_in_another_process_is_not_new() {
    needs!("gcc", "valgrind");
    let bench = known();
    std::fs::copy(bench.file("out.xml"), bench.file("again.xml")).unwrap();
    let run = bench.leak_check(&["--baseline=known.jsonl", "out.xml", "again.xml"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
}

#[test]
fn missing_findings_are_reported_and_removed_by_an_update() {
    needs!("gcc", "valgrind");
    let bench = known();
    let run = check_after(&bench, "grow(3)[0] = 1;", "", &[]);
    assert_eq!(run.status, 0);
    assert!(
        run.stdout.contains(
            "no longer found (--update-baseline removes these):\n  definite in make < grow < main\n"
        ),
        "{}",
        run.stdout
    );
    let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", "out.xml"]);
    assert_eq!(run.status, 0);
    assert!(
        run.stderr
            .ends_with("known findings: 1; added: 0; removed: 1\n"),
        "{}",
        run.stderr
    );
    assert_eq!(bench.read("known.jsonl").lines().count(), 1);
    // A finding that comes back after the update is new.
    let run = check_after(&bench, "return 0", "return 0", &[]);
    assert_eq!(run.status, 1);
}

#[test]
fn a_baseline_is_not_updated_if_an_input_cannot_be_judged() {
    needs!("gcc", "valgrind");
    let bench = known();
    let before = bench.read("known.jsonl");
    let whole = bench.read("out.xml");
    bench.write("cut.xml", &whole[..whole.len() / 2]);
    for file in ["cut.xml", "missing.xml"] {
        let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", file]);
        assert_eq!(run.status, 2, "{file}");
        assert!(
            run.stderr.contains("baseline not updated"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(bench.read("known.jsonl"), before);
}

#[test]
fn an_unreadable_baseline_exits_with_2() {
    needs!("gcc", "valgrind");
    let bench = known();
    assert_eq!(
        bench
            .leak_check(&["--baseline=none.jsonl", "out.xml"])
            .status,
        2
    );
    bench.write(
        "bad.jsonl",
        "{\"type\":\"known\",\"kind\":\"definite\",\"frames\":[],\"count\":1}\n[]\n",
    );
    let run = bench.leak_check(&["--baseline=bad.jsonl", "out.xml"]);
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.starts_with("leak-check: bad.jsonl:2: expected"),
        "{}",
        run.stderr
    );
    assert_eq!(
        bench.leak_check(&["--update-baseline", "out.xml"]).status,
        2
    );
    let run = bench.leak_check(&[
        "--baseline=no/such/directory/x",
        "--update-baseline",
        "out.xml",
    ]);
    assert_eq!(run.status, 2);
}

/// Changes the size of the program's leak, runs the program, and checks the result against the baseline with `options`.
fn check_size(bench: &Bench, size: &str, options: &[&str]) -> Run {
    check_after(bench, "make(64)", &format!("make({size})"), &[]);
    bench.leak_check(&[&["--baseline=known.jsonl", "out.xml"], options].concat())
}

#[test]
fn growth_of_known_leaks_is_reported_and_fails_beyond_the_limit() {
    needs!("gcc", "valgrind");
    let bench = known();
    for (size, limit, status) in [
        ("64", "0", 0),
        ("63", "0%", 0),
        ("74", "10", 0),
        ("75", "10", 1),
        ("128", "100%", 0),
        ("129", "100%", 1),
    ] {
        let run = check_size(&bench, size, &["--max-growth", limit]);
        assert_eq!(run.status, status, "{size} {limit}: {}", run.stdout);
        assert_eq!(run.stderr, "");
        let growth = format!("1 block, 64 bytes → 1 block, {size} bytes");
        let has_grown = size.parse::<u32>().unwrap() > 64;
        assert_eq!(run.stdout.contains(&growth), has_grown, "{}", run.stdout);
        if status == 1 {
            assert!(
                run.stdout.ends_with(
                    "1 known leak grown beyond --max-growth (1 definite leak) in 1 process, 1 known; judged 1 of 1 process\n"
                ),
                "{}",
                run.stdout
            );
        }
    }
    let run = check_size(&bench, "99", &[]);
    assert!(
        run.stdout.contains(
            "\n\nin the baseline and grown (--max-growth limits this, --update-baseline accepts it):\n  definite in make < main: 1 block, 64 bytes → 1 block, 99 bytes\n"
        ) && run
            .stdout
            .ends_with("clean: no new findings, 2 known, 1 of the known ones grown; judged 1 of 1 process\n"),
        "{}",
        run.stdout
    );
    // The same bytes in more blocks, at the same place.
    let run = check_after(
        &bench,
        "make(64)[0] = 1;",
        "for (int i = 0; i < 3; i++) make(i ? 0 : 64);",
        &[],
    );
    assert_eq!(run.status, 0);
    let grown = |limit: &str| {
        bench.leak_check(&[
            "--baseline=known.jsonl",
            "--max-growth",
            limit,
            "--format=json",
            "out.xml",
        ])
    };
    assert_eq!(grown("0").status, 0);
    let run = grown("199%");
    assert_eq!(run.status, 1);
    let records = run.records(&["leak"]);
    let grown: Vec<_> = records
        .iter()
        .filter(|record| record["status"] == "grown")
        .map(|record| {
            (
                record["cost"]["blocks"].as_u64(),
                record["baseline"]["blocks"].as_u64(),
            )
        })
        .collect();
    assert_eq!(grown, [(Some(3), Some(1))]);
}

#[test]
fn every_format_reports_growth_beyond_the_limit_as_a_failure() {
    needs!("gcc", "valgrind");
    let bench = known();
    check_size(&bench, "4096", &[]);
    for (format, failure) in [
        (
            "text",
            "  leaks 4,096 bytes in 1 block, definitely lost; grown: 1 block, 64 bytes → 1 block, 4,096 bytes\n    at malloc",
        ),
        ("markdown", "; grown: 1 block, 64 bytes → "),
        ("junit", "<failure message=\"make leaks 4,096 bytes"),
        ("sarif", "\"level\": \"error\""),
        ("github", "::error file=src/leak.c,line=2"),
        ("gitlab", "\"severity\": \"major\""),
    ] {
        let run_with_limit = |limit: &str| {
            bench.leak_check(&[
                "--baseline=known.jsonl",
                "--max-growth",
                limit,
                "--format",
                format,
                "out.xml",
            ])
        };
        let run = run_with_limit("4031");
        assert_eq!(run.status, 1);
        assert!(run.stdout.contains(failure), "{format}: {}", run.stdout);
        let run = run_with_limit("4032");
        assert_eq!(run.status, 0);
        assert!(!run.stdout.contains(failure), "{format}: {}", run.stdout);
    }
}

#[test]
fn an_update_replaces_the_sizes_by_larger_or_smaller_ones() {
    needs!("gcc", "valgrind");
    let bench = known();
    for size in ["99", "10", "64"] {
        check_size(&bench, size, &[]);
        let run = check_size(&bench, size, &["--update-baseline", "--max-growth=0%"]);
        assert_eq!(run.status, 0, "{}", run.stdout);
        assert!(
            bench
                .read("known.jsonl")
                .contains(&format!(r#""bytes":{size},"blocks":1,"#)),
            "{}",
            bench.read("known.jsonl")
        );
    }
    assert_eq!(check_size(&bench, "65", &["--max-growth=0"]).status, 1);
}

#[test]
fn a_baseline_without_sizes_is_valid_but_max_growth_needs_sizes() {
    needs!("gcc", "valgrind");
    let bench = known();
    let text = bench.read("known.jsonl");
    let (size, without_size) = (
        r#""bytes":64,"blocks":1,"#,
        text.replace(r#""bytes":64,"blocks":1,"#, ""),
    );
    assert!(text.contains(size));
    bench.write("known.jsonl", &without_size);
    let run = check_size(&bench, "4096", &["--max-growth=0"]);
    assert_eq!(run.status, 2, "{}", run.stdout);
    assert!(!run.stdout.contains("grown"), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("--max-growth: the baseline has no size for 1 known leak;"),
        "{}",
        run.stderr
    );
    let run = check_size(&bench, "4096", &[]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

#[test]
fn growth_is_measured_separately_for_each_process() {
    needs!("gcc", "valgrind");
    let bench = known();
    let once = bench.read("out.xml");
    bench.write("again.xml", &once);
    let judge = |files: &[&str]| {
        bench.leak_check(&[&["--baseline=known.jsonl", "--max-growth=0%"], files].concat())
    };
    assert_eq!(judge(&["out.xml", "again.xml"]).status, 0);
    check_size(&bench, "65", &[]);
    let run = judge(&["out.xml", "again.xml"]);
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .ends_with("1 known leak grown beyond --max-growth (1 definite leak) in 1 process, 3 known; judged 2 of 2 processes\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_update_follows_a_symbolic_link_and_keeps_the_mode() {
    needs!("gcc", "valgrind");
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let bench = known();
    std::fs::create_dir(bench.file("shared")).unwrap();
    bench.write("shared/known.jsonl", "");
    std::fs::set_permissions(
        bench.file("shared/known.jsonl"),
        std::fs::Permissions::from_mode(0o664),
    )
    .unwrap();
    symlink("shared/known.jsonl", bench.file("link.jsonl")).unwrap();
    let run = bench.leak_check(&["--baseline=link.jsonl", "--update-baseline", "out.xml"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(bench.file("link.jsonl").is_symlink());
    assert_eq!(bench.read("shared/known.jsonl"), bench.read("known.jsonl"));
    let mode = std::fs::metadata(bench.file("shared/known.jsonl"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o664);
    assert_eq!(std::fs::read_dir(bench.file("shared")).unwrap().count(), 1);
}

#[test]
fn only_a_regular_file_can_be_updated_as_a_baseline() {
    needs!("gcc", "valgrind");
    let bench = known();
    std::fs::create_dir(bench.file("folder")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(bench.file("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("fifo", bench.file("link")).unwrap();
    for (path, found) in [
        ("folder", "directory"),
        ("fifo", "pipe"),
        ("link", "pipe"),
        ("/dev/null", "device"),
    ] {
        let run = bench.leak_check(&["--baseline", path, "--update-baseline", "out.xml"]);
        assert_eq!(
            (run.status, run.stderr.as_str()),
            (
                2,
                format!("leak-check: {path}: expected a regular file, found a {found}\n").as_str()
            )
        );
    }
}
