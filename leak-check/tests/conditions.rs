//! A condition that judged nothing is no reason for a yes.

use needs::needs;

use crate::support::{Bench, Run, leak_check};

/// `leak.c` leaks 64 bytes in `make` of `main`; `clean.c` nothing. In both, text and XML.
fn benches() -> [Bench; 2] {
    ["leak.c", "clean.c"].map(|program| {
        let bench = Bench::new(program);
        for file in ["out.log", "out.xml"] {
            bench.valgrind(file, &[]);
        }
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

/// What is asked of the leak, the exit status for its log and its XML, and what standard error names.
const CONDITIONS: [(&str, [i32; 2], &str); 25] = [
    ("--only ^make$", [1, 1], ""),
    // A frame that is not to blame is one all the same.
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
    // A text log names no object for a frame with a line.
    ("--only-obj program$", [2, 1], ""),
    (
        "--only-obj progam$",
        [2, 2],
        "--only-obj \"progam$\" matches no frame",
    ),
    ("--ignore-obj program$ --max-bytes 64", [2, 0], ""),
    ("--ignore-obj vgpreload", [0, 0], ""),
    ("--only ^make$ --only-obj program$", [2, 1], ""),
    // Each of the two matches a frame, and no frame matches both.
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
    // What is decided before is not asked.
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
fn a_condition_that_matches_nothing_is_in_doubt_and_without_findings_nothing_is_missing() {
    needs!("gcc", "valgrind");
    let [leak, clean] = benches();
    for (conditions, statuses, said) in CONDITIONS {
        for (file, status) in ["out.log", "out.xml"].into_iter().zip(statuses) {
            let run = judge(&leak, conditions, file);
            assert_eq!(run.status, status, "{conditions} {file}: {}", run.stderr);
            match said {
                "" if status != 2 => assert_eq!(run.stderr, "", "{conditions} {file}"),
                said => assert!(run.stderr.contains(said), "{conditions}: {}", run.stderr),
            }
            let run = judge(&clean, conditions, file);
            let expected = if said.contains("counts") { 2 } else { 0 };
            assert_eq!(run.status, expected, "{conditions} clean: {}", run.stderr);
        }
    }
    let run = judge(&leak, "--only-obj program$", "out.log");
    assert!(
        run.stderr.contains(
            "--only-obj cannot be judged: findings with frames that do not name their objects: 1; Valgrind's XML (--xml=yes)"
        ),
        "{}",
        run.stderr
    );
}

#[test]
fn what_is_allowed_to_match_nothing_changes_nothing_else() {
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
fn a_further_condition_never_makes_a_doubt_a_yes() {
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
fn a_regex_that_a_variable_left_empty_is_refused() {
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
    // What is left out would be everything.
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
fn leaks_are_not_asked_of_a_tool_that_looks_for_none() {
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
