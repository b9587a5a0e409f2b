//! Undecided inputs are never clean, and lines that only look like errors do not fail.

use needs::needs;

use crate::support::{Bench, Run, leak_check};

/// A block with a pointer only into its middle.
const POSSIBLE: &str = "#include <stdlib.h>\nchar *k; int main(void) { char *p = malloc(77); k = p + 5; p = 0; return 0; }\n";
/// A block with a pointer to its start.
const REACHABLE: &str =
    "#include <stdlib.h>\nvoid *k; int main(void) { k = malloc(77); return 0; }\n";

fn status(run: &Run, expected: i32, what: &str) {
    assert_eq!(run.status, expected, "{what}: {}{}", run.stdout, run.stderr);
}

#[test]
fn xml_with_hidden_leak_kinds_that_count_is_not_clean() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text("poss.c", POSSIBLE);
    for (options, expected) in [
        (&[][..], 1),
        (&["--show-leak-kinds=all"], 1),
        (&["--show-leak-kinds=definite,indirect"], 2),
        (&["--show-leak-kinds=none"], 2),
        (&["--show-possibly-lost=no"], 2),
        (&["--show-reachable=yes", "--show-possibly-lost=no"], 2),
        (
            &["--show-leak-kinds=definite", "--show-possibly-lost=yes"],
            1,
        ),
    ] {
        bench.valgrind("out.xml", options);
        let run = bench.leak_check(&["out.xml"]);
        status(&run, expected, &format!("{options:?}"));
        if expected == 2 {
            assert!(run.stderr.contains("possible"), "{}", run.stderr);
            assert!(
                run.stderr
                    .contains("run it with --show-leak-kinds=definite,possible"),
                "{}",
                run.stderr
            );
        }
        let run = bench.leak_check(&["--errors-for-leak-kinds=none", "out.xml"]);
        status(&run, 0, "what does not count need not be shown");
    }
}

#[test]
fn xml_must_show_every_kind_that_counts() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("clean.c");
    for (options, kinds, expected) in [
        (&[][..], "definite,possible", 0),
        (&["--undef-value-errors=no"], "definite", 0),
        (&[], "reachable", 2),
        (&[], "definite,indirect", 2),
        (&["--show-leak-kinds=all"], "all", 0),
        (&["--show-reachable=yes"], "all", 0),
        (&["--leak-check=no"], "definite", 2),
        (
            &["--leak-check=summary", "--leak-check=full"],
            "definite",
            0,
        ),
    ] {
        bench.valgrind("out.xml", options);
        let kinds = format!("--errors-for-leak-kinds={kinds}");
        let run = bench.leak_check(&[&kinds, "out.xml"]);
        status(&run, expected, &format!("{options:?} {kinds}"));
    }
    // A finding fails even if other kinds are hidden.
    let bench = Bench::new("leak.c");
    bench.valgrind("out.xml", &[]);
    let run = bench.leak_check(&["--errors-for-leak-kinds=all", "out.xml"]);
    status(&run, 1, "red is red");
    assert!(
        run.stderr.contains("--show-leak-kinds=all"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_heap_without_a_leak_check_is_not_clean() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text("reach.c", REACHABLE);
    bench.valgrind("no.log", &["--leak-check=no"]);
    let run = bench.leak_check(&["no.log"]);
    status(&run, 2, "in use and not searched");
    assert!(
        run.stderr.contains("77 bytes in 1 block in use at exit")
            && run.stderr.contains("--leak-check=full"),
        "{}",
        run.stderr
    );
    status(
        &bench.leak_check(&["--errors-for-leak-kinds=none", "no.log"]),
        0,
        "leaks do not count",
    );
    bench.valgrind("summary.log", &["--leak-check=summary"]);
    status(&bench.leak_check(&["summary.log"]), 0, "only reachable");
    status(
        &bench.leak_check(&["--errors-for-leak-kinds=reachable", "summary.log"]),
        1,
        "the summary counts it",
    );
    let bench = Bench::new("clean.c");
    bench.valgrind("no.log", &["--leak-check=no"]);
    status(&bench.leak_check(&["no.log"]), 0, "nothing was in use");
}

/// Returns a text log: the preamble, then `lines`.
fn log(pid: u64, parent: Option<u64>, lines: &[&str]) -> String {
    let parent = parent.map(|parent| format!("Parent PID: {parent}"));
    let mut all = vec![
        "Memcheck, a memory error detector",
        "Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info",
        "Command: ./a",
    ];
    all.extend(parent.as_deref());
    all.push("");
    all.extend(lines);
    all.iter()
        .map(|line| format!("=={pid}== {line}\n"))
        .collect()
}

const HEAP: &str = "HEAP SUMMARY:";
const NOTHING_IN_USE: &str = "    in use at exit: 0 bytes in 0 blocks";
const FREED: &str = "All heap blocks were freed -- no leaks are possible";
const NO_ERRORS: &str = "ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)";
const CLEAN: [&str; 4] = [HEAP, NOTHING_IN_USE, FREED, NO_ERRORS];

#[test]
fn an_earlier_leak_check_does_not_replace_the_one_at_exit() {
    let lines = |end: &[&'static str]| {
        let mut lines = vec![
            "LEAK SUMMARY:",
            "   definitely lost: 0 bytes in 0 blocks",
            "   indirectly lost: 0 bytes in 0 blocks",
            "     possibly lost: 0 bytes in 0 blocks",
            "   still reachable: 5 bytes in 1 blocks",
            HEAP,
            "    in use at exit: 5 bytes in 1 blocks",
        ];
        lines.extend(end);
        lines.push(NO_ERRORS);
        log(7, None, &lines)
    };
    let hint = "For a detailed leak analysis, rerun with: --leak-check=full";
    status(
        &leak_check(&[], lines(&[hint]).as_bytes()),
        2,
        "no check at exit",
    );
    let run = leak_check(
        &[],
        lines(&[
            "LEAK SUMMARY:",
            "   definitely lost: 0 bytes in 0 blocks",
            "   indirectly lost: 0 bytes in 0 blocks",
            "     possibly lost: 0 bytes in 0 blocks",
            "   still reachable: 5 bytes in 1 blocks",
        ])
        .as_bytes(),
    );
    status(&run, 0, "a check at exit");
}

#[test]
fn two_preambles_with_one_pid_are_two_runs_in_text() {
    let error = ["Invalid read of size 1", "   at 0x1: f (a.c:1)", ""];
    for (what, first, second, expected) in [
        ("another parent", log(1, Some(7), &[]), Some(9), 2),
        ("no parent", log(1, None, &[]), None, 2),
        ("one parent", log(1, Some(7), &[]), None, 2),
        ("no parent before", log(1, None, &[]), Some(7), 2),
        (
            "the parent of a container",
            log(1, Some(0), &[]),
            Some(0),
            2,
        ),
        (
            "a summary between",
            log(1, Some(7), &[HEAP, NOTHING_IN_USE]),
            Some(7),
            2,
        ),
        (
            "truncated in a message",
            log(1, Some(7), &error[..2]),
            Some(7),
            2,
        ),
        (
            "a log file that was not emptied",
            log(1, Some(7), &[]),
            Some(7),
            2,
        ),
        ("one that had an error", log(1, Some(7), &error), Some(7), 2),
        ("a reused pid", log(1, None, &CLEAN), None, 0),
    ] {
        let text = first + &log(1, second, &CLEAN);
        let run = leak_check(&[], text.as_bytes());
        status(&run, expected, what);
        assert!(run.stdout.contains("2 processes"), "{what}: {}", run.stdout);
    }
}

/// Returns a document of protocol 4 with these elements, and with an end if `ends` is set.
fn document(parent: u64, elements: &str, ends: bool) -> String {
    let end = "<status><state>FINISHED</state></status>\n<errorcounts></errorcounts><suppcounts></suppcounts>\n</valgrindoutput>\n";
    format!(
        "<?xml version=\"1.0\"?>\n<valgrindoutput>\n<protocolversion>4</protocolversion>\n\
         <preamble><line>Memcheck, a memory error detector</line></preamble>\n\
         <pid>1</pid><ppid>{parent}</ppid><tool>memcheck</tool>\n\
         <args><vargv><exe>valgrind</exe><arg>--leak-check=full</arg><arg>--xml=yes</arg><arg>--xml-fd=9</arg></vargv><argv><exe>./a</exe></argv></args>\n\
         <status><state>RUNNING</state></status>\n{elements}\n{}",
        if ends { end } else { "" }
    )
}

#[test]
fn two_documents_with_one_pid_are_one_process_only_after_an_exec() {
    let finished = "<status><state>FINISHED</state></status>";
    for (what, first, second, expected) in [
        ("another parent", document(7, "", false), 9, 2),
        ("the parent of a container", document(0, "", false), 0, 2),
        (
            "finished and not closed",
            document(7, finished, false),
            7,
            2,
        ),
        (
            "truncated in an error",
            document(7, "<error><unique>0x0</unique>", false),
            7,
            2,
        ),
        ("an exec", document(7, "", false), 7, 0),
        (
            "in a file",
            document(7, "", false).replace("fd=9", "file=a"),
            7,
            2,
        ),
        ("a reused pid", document(7, "", true), 7, 0),
    ] {
        let text = first + &document(second, "", true);
        let run = leak_check(&[], text.as_bytes());
        status(&run, expected, what);
    }
}

const ERROR: &str = "<error>\n<unique>0x0</unique>\n<tid>1</tid>\n<kind>InvalidRead</kind>\n<what>Invalid read of size 1</what>\n<stack><frame><ip>0x1</ip><fn>f</fn></frame></stack>\n</error>";
const LEAK: &str = "<error>\n<unique>0x1</unique>\n<tid>1</tid>\n<kind>Leak_DefinitelyLost</kind>\n<xwhat>\n<text>16 bytes in 1 blocks are definitely lost in loss record 1 of 1</text>\n<leakedbytes>16</leakedbytes>\n<leakedblocks>1</leakedblocks>\n</xwhat>\n<stack><frame><ip>0x1</ip><fn>f</fn></frame></stack>\n</error>";

#[test]
fn an_error_that_lacks_a_line_is_never_clean() {
    for (element, only) in [(ERROR, "--errors"), (LEAK, "--no-errors")] {
        let whole = document(7, element, true);
        status(&leak_check(&[only], whole.as_bytes()), 1, "whole");
        for (number, left_out) in element.lines().enumerate() {
            let rest: Vec<&str> = element.lines().filter(|line| *line != left_out).collect();
            let run = leak_check(&[only], document(7, &rest.join("\n"), true).as_bytes());
            assert_ne!(
                run.status, 0,
                "without line {number}, {left_out}: {}",
                run.stdout
            );
        }
    }
}

#[test]
fn errors_that_xml_only_counts_are_findings() {
    let counts = "<errorcounts><pair><count>3</count><unique>0x0</unique></pair></errorcounts>";
    let run = leak_check(&[], document(7, counts, true).as_bytes());
    status(&run, 1, "counted, not printed");
    assert!(
        run.stdout.contains("counted 1 error beyond"),
        "{}",
        run.stdout
    );
    status(
        &leak_check(&["--no-errors"], document(7, counts, true).as_bytes()),
        0,
        "only leaks",
    );
    let both = format!("{ERROR}{counts}");
    let run = leak_check(&["--ignore=^f$"], document(7, &both, true).as_bytes());
    status(&run, 0, "counted and printed");
}

#[test]
fn leaks_that_valgrind_counted_as_errors_are_judged_as_leaks() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text("reach.c", REACHABLE);
    for (options, with_all) in [
        (&["--errors-for-leak-kinds=all"][..], 1),
        (&["--errors-for-leak-kinds=all", "--show-leak-kinds=all"], 1),
        (
            &["--errors-for-leak-kinds=reachable", "--leak-check=summary"],
            1,
        ),
        (&["--errors-for-leak-kinds=all", "-v"], 1),
    ] {
        bench.valgrind("out.log", options);
        status(&bench.leak_check(&["out.log"]), 0, &format!("{options:?}"));
        let run = bench.leak_check(&["--errors-for-leak-kinds=all", "--format=json", "out.log"]);
        let new = run.records(&["leak", "error"]).len();
        assert_eq!(
            (run.status, new),
            (1, with_all),
            "{options:?}: {}",
            run.stdout
        );
    }
}

#[test]
fn contexts_that_no_set_of_leak_kinds_explains_are_errors() {
    let summed = |reachable: &str, contexts: u64, options: &str| {
        let errors =
            format!("ERROR SUMMARY: 9 errors from {contexts} contexts (suppressed: 0 from 0)");
        let lines = [
            HEAP,
            "    in use at exit: 5 bytes in 2 blocks",
            "LEAK SUMMARY:",
            "   definitely lost: 0 bytes in 0 blocks",
            "   indirectly lost: 0 bytes in 0 blocks",
            "     possibly lost: 0 bytes in 0 blocks",
            reachable,
            &errors,
        ];
        options.to_owned() + &log(1, None, &lines)
    };
    let two = "   still reachable: 5 bytes in 2 blocks";
    let none = "   still reachable: 0 bytes in 0 blocks";
    // A log with -v contains Valgrind's options.
    let default =
        "--1-- Valgrind options:\n--1--    -v\n--1--    --errors-for-leak-kinds=definite\n";
    for (text, expected) in [
        (summed(two, 0, ""), 0),
        (summed(two, 1, ""), 0),
        (summed(two, 2, ""), 0),
        (summed(two, 3, ""), 1),
        (summed(none, 1, ""), 1),
        (summed(two, 1, default), 1),
        (summed(two, 0, default), 0),
    ] {
        status(&leak_check(&[], text.as_bytes()), expected, &text);
    }
}

#[test]
fn traces_of_drd_are_not_errors() {
    let traced = |line: &str, errors: u64| {
        format!(
            "==1== drd, a thread error detector\n==1== Using Valgrind-3.19.0 and LibVEX; rerun\n==1== Command: ./a\n==1== \n\
             ==1== {line}\n==1==    at 0x40162A: main (a.c:22)\n==1== \n\
             ==1== ERROR SUMMARY: {errors} errors from {errors} contexts (suppressed: 0 from 0)\n"
        )
    };
    for line in [
        "store 0x404030 size 4 val 1065353216/0x3f800000 (thread 1 / vc [ 1: 1 ])",
        "load  0x404030 size 4 (thread 1 / vc [ 1: 1 ])",
        "end   0x404030 size 4 (thread 1 / vc [ 1: 1 ])",
        "[2] mutex_trylock   mutex 0x1fff000590 rc 0 owner 0",
    ] {
        let run = leak_check(&[], traced(line, 0).as_bytes());
        status(&run, 0, line);
        assert_eq!(run.stderr, "", "{line}");
        // An error that Valgrind counts is never mistaken for a trace.
        status(&leak_check(&[], traced(line, 1).as_bytes()), 1, line);
        assert!(!run.stdout.contains("lost"), "{}", run.stdout);
    }
    let run = leak_check(&[], traced("Something that no rule knows", 0).as_bytes());
    status(&run, 0, "not counted");
    assert!(
        run.stderr.contains("does not count as errors: 1"),
        "{}",
        run.stderr
    );
    let run = leak_check(&[], traced("Something that no rule knows", 1).as_bytes());
    status(&run, 1, "counted");
    assert!(
        run.stdout.contains("something that no rule knows"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_signal_that_ended_the_process_is_a_finding() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("crash.c");
    for file in ["out.log", "out.xml"] {
        assert_eq!(bench.valgrind(file, &[]), -1);
        let run = bench.leak_check(&[file]);
        status(&run, 1, file);
        assert!(
            run.stdout.contains("  is ended by SIGTERM\n"),
            "{}",
            run.stdout
        );
        assert!(run.stdout.contains("by main ("), "{}", run.stdout);
        let run = bench.leak_check(&["--format=json", file]);
        let records = run.records(&["error"]);
        assert_eq!(records.len(), 1);
        assert_eq!(records[0]["kind"], "FatalSignal");
        let run = bench.leak_check(&["--ignore-signals", file]);
        status(&run, 0, file);
        assert!(
            run.stdout.contains("is ended by SIGTERM: ./program"),
            "{}",
            run.stdout
        );
        status(&bench.leak_check(&["--no-errors", file]), 0, "no leak");
        let run = bench.leak_check(&["--write-suppressions", file]);
        assert_eq!(run.stdout, "", "Valgrind reads no such suppression");
    }
    let bench = Bench::from_text(
        "null.c",
        "int main(int n, char **v) { return *(volatile int *)(long)(n - 1); }\n",
    );
    for file in ["out.log", "out.xml"] {
        bench.valgrind(file, &[]);
        let run = bench.leak_check(&["--format=json", file]);
        status(&run, 1, file);
        status(
            &bench.leak_check(&["--ignore=^main$", file]),
            0,
            "both are main's",
        );
        let kinds: Vec<_> = run
            .records(&["error"])
            .iter()
            .map(|record| record["kind"].to_string())
            .collect();
        assert_eq!(kinds, ["\"InvalidRead\"", "\"FatalSignal\""], "{file}");
        let text = bench.leak_check(&[file]).stdout;
        assert!(
            text.contains("is ended by SIGSEGV, access not within mapped region at address 0x0\n"),
            "{text}"
        );
    }
}

#[test]
fn the_table_has_a_dash_for_unknown_counts() {
    needs!("gcc", "valgrind");
    let row = |run: &Run, name: &str| {
        let line = run.stdout.lines().find(|line| line.starts_with(name));
        line.map(|line| {
            line[name.len()..]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    let bench = Bench::new("leak.c");
    bench.valgrind("out.xml", &[]);
    let run = bench.leak_check(&["out.xml"]);
    assert_eq!(row(&run, "definitely lost").as_deref(), Some("64 1 1 1"));
    assert_eq!(row(&run, "possibly lost").as_deref(), Some("0 0 0 0"));
    assert_eq!(row(&run, "indirectly lost").as_deref(), Some("– – – –"));
    assert_eq!(row(&run, "still reachable").as_deref(), Some("– – – –"));
    assert_eq!(
        row(&run, "processes").as_deref(),
        Some("certain not shown not measured")
    );
    bench.valgrind("all.xml", &["--show-leak-kinds=all"]);
    let run = bench.leak_check(&["all.xml"]);
    assert_eq!(row(&run, "still reachable").as_deref(), Some("0 0 0 0"));
    assert_eq!(row(&run, "processes"), None);
    bench.valgrind("no.log", &["--leak-check=no"]);
    let run = bench.leak_check(&["no.log"]);
    assert_eq!(row(&run, "definitely lost").as_deref(), Some("– – – –"));
    let last = run.stdout.split("processes").nth(1).unwrap();
    assert!(
        last.contains("definitely lost        0          0             1"),
        "{last}"
    );
    let bench = Bench::new("race.c");
    bench.valgrind("out.log", &["--tool=helgrind"]);
    let run = bench.leak_check(&["out.log"]);
    assert_eq!(row(&run, "definitely lost"), None, "{}", run.stdout);
    assert!(!run.stdout.contains("bytes  blocks"), "{}", run.stdout);
}
