//! A condition that matches nothing never makes the gate pass.

use needs::needs;

use crate::support::{Bench, Run, leak_check};

/// Returns benches for `leak.c`, which leaks 64 bytes in `make`, called by `main`, and `clean.c`. Both have a text log and
/// XML.
fn benches() -> [Bench; 2] {
    ["leak.c", "clean.c"].map(|program| {
        let bench = Bench::new(program);
        for file in ["out.log", "out.xml"] {
            bench.valgrind(file, &[]);
        }
        bench.name_own_object("out.log");
        bench.write("known", "# ours\n^other$\n^make$\n");
        bench.write("stale", "^other$\n^another$\n");
        bench.write("none", "# nothing yet\n\n");
        bench
    })
}

fn judge(bench: &Bench, conditions: &str, file: &str) -> Run {
    let mut args: Vec<&str> = conditions.split_whitespace().collect();
    args.push(file);
    bench.leak_check(&args)
}

/// Conditions for the leak, the exit statuses for its log and its XML, and a text on standard error.
const CONDITIONS: [(&str, [i32; 2], &str); 25] = [
    ("--only ^make$", [1, 1], ""),
    // A regex may match a frame that is not the blamed one.
    ("--only ^main$", [1, 1], ""),
    ("--only ^mak$", [2, 2], "--only \"^mak$\" matches no frame"),
    ("--only src/leak.c", [1, 1], ""),
    (
        "--only ^make$ --only ^mak$",
        [1, 1],
        "--only \"^mak$\" matches no frame",
    ),
    ("--ignore ^make$", [0, 0], ""),
    ("--ignore ^main$ --max-bytes 64", [0, 0], ""),
    (
        "--ignore ^mak$",
        [1, 1],
        "--ignore \"^mak$\" matches no frame",
    ),
    (
        "--ignore ^mak$ --max-bytes 64",
        [2, 2],
        "--ignore \"^mak$\" matches no frame",
    ),
    (
        "--ignore ^make$ --ignore ^mak$",
        [2, 2],
        "--ignore \"^mak$\" matches no frame",
    ),
    ("--ignore ^make$ --only ^main$", [0, 0], ""),
    ("--ignore-file known", [0, 0], ""),
    ("--ignore-file known --ignore-file none", [0, 0], ""),
    (
        "--ignore-file known --ignore-file stale",
        [2, 2],
        "--ignore-file stale matches no frame",
    ),
    (
        "--ignore-file stale --max-bytes 64",
        [2, 2],
        "--ignore-file stale matches no frame",
    ),
    // In a text log, a frame with a line has no object.
    ("--only-obj program$", [2, 1], ""),
    (
        "--only-obj progam$",
        [2, 2],
        "--only-obj \"progam$\" matches no frame",
    ),
    ("--ignore-obj program$ --max-bytes 64", [2, 0], ""),
    ("--ignore-obj vgpreload", [0, 0], ""),
    ("--only ^make$ --only-obj program$", [2, 1], ""),
    // Each condition matches a frame, but no frame matches both.
    (
        "--only ^make$ --only-obj vgpreload",
        [2, 2],
        "--only together with --only-obj matches no frame",
    ),
    (
        "--ignore ^make$ --ignore-obj vgpreload --max-bytes 64",
        [2, 2],
        "--ignore together with --ignore-obj matches no frame",
    ),
    // The leak does not count, so it does not reach the conditions.
    ("--errors-for-leak-kinds possible --only ^mak$", [0, 0], ""),
    (
        "--no-errors --errors-for-leak-kinds none",
        [2, 2],
        "nothing that counts",
    ),
    (
        "--no-errors --ignore ^mak$ --max-blocks 1",
        [2, 2],
        "--ignore \"^mak$\" matches no frame",
    ),
];

#[test]
fn an_unmatched_condition_exits_with_2_only_if_there_are_findings() {
    needs!("gcc", "valgrind");
    let [leak, clean] = benches();
    for (conditions, statuses, message) in CONDITIONS {
        for (file, status) in ["out.log", "out.xml"].into_iter().zip(statuses) {
            let run = judge(&leak, conditions, file);
            assert_eq!(run.status, status, "{conditions} {file}: {}", run.stderr);
            match message {
                "" if status != 2 => assert_eq!(run.stderr, "", "{conditions} {file}"),
                message => assert!(run.stderr.contains(message), "{conditions}: {}", run.stderr),
            }
            let run = judge(&clean, conditions, file);
            let expected = if message.contains("counts") { 2 } else { 0 };
            assert_eq!(run.status, expected, "{conditions} clean: {}", run.stderr);
        }
    }
    let run = judge(&leak, "--only-obj program$", "out.log");
    assert!(
        run.stderr.contains(
            "--only-obj cannot be judged: findings with frames without an object: 1; use Valgrind's XML (--xml=yes)"
        ),
        "{}",
        run.stderr
    );
}

#[test]
fn allow_unmatched_changes_only_the_status_of_unmatched_conditions() {
    needs!("gcc", "valgrind");
    let mut differing = 0;
    for bench in benches() {
        for (conditions, ..) in CONDITIONS {
            for file in ["out.log", "out.xml"] {
                let without = judge(&bench, conditions, file);
                let with = judge(&bench, &format!("--allow-unmatched {conditions}"), file);
                let lines =
                    |run: &Run| -> Vec<String> { run.stderr.lines().map(str::to_owned).collect() };
                assert_eq!(lines(&with), lines(&without), "{conditions} {file}");
                if with.status != without.status {
                    differing += 1;
                    assert_eq!((without.status, with.status), (2, 0), "{conditions} {file}");
                    assert!(without.stderr.contains("--allow-unmatched accepts that"));
                }
            }
        }
    }
    assert!(differing > 10, "{differing}");
}

#[test]
fn an_additional_condition_never_hides_an_unmatched_one() {
    needs!("gcc", "valgrind");
    let [leak, _] = benches();
    let doubtful: Vec<&str> = CONDITIONS
        .iter()
        .filter(|(_, statuses, _)| statuses[1] == 2)
        .map(|(conditions, ..)| *conditions)
        .collect();
    for conditions in doubtful {
        for further in [
            "--only ^make$",
            "--ignore ^make$",
            "--ignore ^mak$",
            "--only-obj program$",
        ] {
            let run = judge(&leak, &format!("{conditions} {further}"), "out.xml");
            assert_ne!(run.status, 0, "{conditions} {further}");
        }
    }
}

#[test]
fn an_empty_regex_is_refused_and_so_is_one_that_ignores_everything() {
    for option in ["--only", "--only-obj", "--ignore", "--ignore-obj"] {
        for empty in ["", " ", "\t"] {
            let run = leak_check(&[option, empty], b"");
            assert_eq!(run.status, 2, "{option}");
            assert!(
                run.stderr.contains("found none"),
                "{option}: {}",
                run.stderr
            );
        }
    }
    // These regexes would ignore every finding.
    for everything in ["a|", "|", "^", "$", "(a|)", ".*"] {
        for option in ["--ignore", "--ignore-obj"] {
            let run = leak_check(&[option, everything], b"");
            assert!(
                run.stderr.contains("matches every name"),
                "{option}: {}",
                run.stderr
            );
        }
    }
}

#[test]
fn no_errors_needs_a_tool_that_searches_for_leaks() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("race.c");
    bench.valgrind("races.log", &["--tool=helgrind"]);
    bench.valgrind("memory.log", &[]);
    for (args, expected) in [
        (&["--no-errors", "races.log"][..], 2),
        (&["--no-errors", "--allow-unmatched", "races.log"], 0),
        (&["--no-errors", "races.log", "memory.log"], 0),
        (&["races.log"], 1),
    ] {
        let run = bench.leak_check(args);
        assert_eq!(run.status, expected, "{args:?}: {}", run.stderr);
    }
}
