//! The baseline: what is known passes, what is new fails, and neither rebuilds nor edits change which is which.

mod support;

use support::Bench;

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
    let bench = Bench::of_text("leak.c", LEAK);
    bench.valgrind("out.xml", &[]);
    let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", "out.xml"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .ends_with("clean: no new findings in 1 process, 2 known\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr
            .ends_with("known.jsonl: known findings: 2, of which new: 2; gone: 0\n"),
        "{}",
        run.stderr
    );
    bench
}

/// Changes the program, runs it, and holds it against the baseline.
fn check_after(bench: &Bench, from: &str, to: &str, flags: &[&str]) -> support::Run {
    assert!(LEAK.contains(from));
    bench.compile("leak.c", &LEAK.replace(from, to), flags);
    bench.valgrind("out.xml", &[]);
    bench.leak_check(&["--baseline=known.jsonl", "out.xml"])
}

#[test]
fn a_baseline_is_sorted_lines_that_read_as_what_they_know() {
    let bench = known();
    let text = bench.read("known.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        r#"{"type":"known","kind":"definite","frames":["make","grow","main"],"count":1,"fingerprint":""#
    ));
    assert!(lines[1].starts_with(
        r#"{"type":"known","kind":"definite","frames":["make","main"],"count":1,"fingerprint":""#
    ));
    assert_eq!(lines.len(), 2);
}

#[test]
fn known_findings_pass_through_rebuilds_edits_and_other_sizes() {
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
        // How deep a recursion goes follows the input.
        ("grow(3)", "grow(6)", &[]),
        ("return 0", "return 0", &["-DANY", "-fno-pie", "-no-pie"]),
    ] {
        let run = check_after(&bench, from, to, flags);
        assert_eq!(run.status, 0, "{to}: {}", run.stdout);
        assert!(run.stdout.contains("2 known"), "{}", run.stdout);
    }
    // The text log knows them too.
    bench.valgrind("out.log", &[]);
    assert_eq!(
        bench
            .leak_check(&["--baseline=known.jsonl", "out.log"])
            .status,
        0
    );
}

#[test]
fn new_findings_fail_and_more_of_the_same_are_new() {
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
            .contains("1 new finding in 1 of 1 process, 2 known"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("alike"));
    // A second loss record, from another line of the same function.
    let run = check_after(&bench, "return 0", "make(64)[0] = 1; return 0", &[]);
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .contains("1 new finding in 1 of 1 process, 2 known"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("    one of several that are alike, of which the baseline knows 1\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn one_more_process_with_a_known_leak_is_not_new() {
    let bench = known();
    std::fs::copy(bench.file("out.xml"), bench.file("again.xml")).unwrap();
    let run = bench.leak_check(&["--baseline=known.jsonl", "out.xml", "again.xml"]);
    assert_eq!(run.status, 0, "{}", run.stdout);
}

#[test]
fn what_is_gone_is_reported_and_taken_out_on_request() {
    let bench = known();
    let run = check_after(&bench, "grow(3)[0] = 1;", "", &[]);
    assert_eq!(run.status, 0);
    assert!(
        run.stdout.contains("no longer found (--update-baseline takes them out):\n  definite in make < grow < main\n"),
        "{}",
        run.stdout
    );
    let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", "out.xml"]);
    assert_eq!(run.status, 0);
    assert!(
        run.stderr
            .ends_with("known findings: 1, of which new: 0; gone: 1\n"),
        "{}",
        run.stderr
    );
    assert_eq!(bench.read("known.jsonl").lines().count(), 1);
    // The ratchet holds: it is new when it comes back.
    let run = check_after(&bench, "return 0", "return 0", &[]);
    assert_eq!(run.status, 1);
}

#[test]
fn a_baseline_is_not_updated_from_what_could_not_be_judged() {
    let bench = known();
    let before = bench.read("known.jsonl");
    let whole = bench.read("out.xml");
    bench.write("cut.xml", &whole[..whole.len() / 2]);
    for file in ["cut.xml", "missing.xml"] {
        let run = bench.leak_check(&["--baseline=known.jsonl", "--update-baseline", file]);
        assert_eq!(run.status, 2, "{file}");
        assert!(run.stderr.contains("left as it was"), "{}", run.stderr);
    }
    assert_eq!(bench.read("known.jsonl"), before);
}

#[test]
fn a_baseline_that_cannot_be_read_is_2() {
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
