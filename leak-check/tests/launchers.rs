//! Commands that start the program under test: only the program's own log shows that Valgrind ran it.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use crate::support::{Run, leak_check_in};

/// A log file of a process: its name, its pid, its parent's pid, its command, and the rest.
type LogFile<'a> = (&'a str, u64, u64, &'a str, &'a str);

const CLEAN: &str = "==P== \n==P== HEAP SUMMARY:\n==P==     in use at exit: 0 bytes in 0 blocks\n==P== \n==P== All heap blocks were freed -- no leaks are possible\n==P== \n==P== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";
const RED: &str = "==P== Invalid read of size 1\n==P==    at 0x1092F4: bad (p.c:12)\n==P==    by 0x1093B1: main (p.c:18)\n==P== \n==P== HEAP SUMMARY:\n==P==     in use at exit: 0 bytes in 0 blocks\n==P== \n==P== All heap blocks were freed -- no leaks are possible\n==P== \n==P== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n";
/// The process executed another program, or was killed.
const CUT: &str = "";

const LAUNCHERS: [&str; 8] = [
    "timeout 20 ./p",
    "/bin/sh -c ./p;\\ echo\\ done",
    "make -s check",
    "/home/me/.cargo/bin/cargo nextest run",
    "./run-tests.sh",
    "env FOO=1 ./p",
    "xargs ./p",
    "python3 -c import\\ os;\\ os.system('./p')",
];

fn text((_, pid, parent, command, rest): &LogFile<'_>) -> String {
    format!(
        "==P== Memcheck, a memory error detector\n==P== Using Valgrind-3.19.0 and LibVEX; rerun\n==P== Command: {command}\n==P== Parent PID: {parent}\n==P== \n{rest}"
    )
    .replace("==P==", &format!("=={pid}=="))
}

/// Runs leak-check on log files. Files with the same name are one file.
fn judge(options: &[&str], logs: &[LogFile<'_>]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let mut names: Vec<&str> = logs.iter().map(|log| log.0).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let parts = logs.iter().filter(|log| log.0 == *name).map(text);
        std::fs::write(folder.path().join(name), parts.collect::<String>()).unwrap();
    }
    leak_check_in(folder.path(), &[options, &names].concat(), b"")
}

#[test]
fn a_launcher_alone_is_never_clean() {
    for command in LAUNCHERS {
        for rest in [CLEAN, CUT] {
            let run = judge(&[], &[("a.log", 7, 1, command, rest)]);
            assert_eq!(run.status, 2, "{command}: {}", run.stdout);
            assert!(
                run.stderr.contains("--trace-children=yes"),
                "{}",
                run.stderr
            );
            assert!(!run.stderr.contains("silent"), "{}", run.stderr);
        }
        let accepted = judge(&["--allow-launcher"], &[("a.log", 7, 1, command, CLEAN)]);
        assert_eq!(accepted.status, 0, "{command}: {}", accepted.stderr);
        let cut = judge(&["--allow-launcher"], &[("a.log", 7, 1, command, CUT)]);
        assert_eq!(cut.status, 2, "{command}: {}", cut.stdout);
    }
}

#[test]
fn a_launcher_before_a_red_command_never_makes_it_clean() {
    let red = ("p.log", 8, 7, "./p", RED);
    assert_eq!(judge(&[], &[red]).status, 1);
    for command in LAUNCHERS {
        for rest in [CLEAN, CUT, RED] {
            for option in [&[][..], &["--allow-exec"], &["--allow-launcher"]] {
                // Without --trace-children=yes, the child leaves no log, or one that ends after its preamble.
                let child = ("b.log", 8, 7, command, CUT);
                let launcher = ("a.log", 7, 1, command, rest);
                let traced = judge(option, &[launcher, red]);
                assert_ne!(traced.status, 0, "{command}: {}", traced.stdout);
                if option != ["--allow-launcher"] {
                    for logs in [&[launcher][..], &[launcher, child]] {
                        let untraced = judge(option, logs);
                        assert_eq!(untraced.status, 2, "{command}: {}", untraced.stdout);
                    }
                }
            }
        }
    }
}

#[test]
fn a_launcher_is_traced_if_a_program_that_it_started_was_judged() {
    let timeout = ("a.log", 7, 1, "timeout 20 make", CLEAN);
    let make = ("b.log", 8, 7, "make", CLEAN);
    let shell = ("c.log", 9, 8, "/bin/sh -c ./p", CLEAN);
    for (what, logs, expected) in [
        ("a child", vec![timeout, ("p.log", 8, 7, "./p", CLEAN)], 0),
        (
            "a descendant",
            vec![timeout, make, shell, ("p.log", 10, 9, "./p", CLEAN)],
            0,
        ),
        ("only launchers", vec![timeout, make, shell], 2),
        (
            "the same log",
            vec![timeout, ("a.log", 8, 3, "./p", CLEAN)],
            0,
        ),
        (
            "a log that ends after its preamble",
            vec![timeout, ("p.log", 8, 7, "./p", CUT)],
            2,
        ),
        (
            "another run",
            vec![timeout, ("p.log", 8, 3, "./p", CLEAN)],
            2,
        ),
        (
            "an interpreter",
            vec![timeout, ("p.log", 8, 7, "python3 tests.py", CLEAN)],
            0,
        ),
        (
            "one of two launchers",
            vec![
                timeout,
                ("p.log", 8, 7, "./p", CLEAN),
                ("d.log", 17, 1, "nice ./q", CLEAN),
            ],
            2,
        ),
    ] {
        let run = judge(&[], &logs);
        assert_eq!(run.status, expected, "{what}: {}", run.stderr);
    }
}

#[test]
fn a_program_with_the_name_of_a_launcher_is_judged() {
    for command in [
        "./bash -c x",
        "./src/timeout 5 true",
        "./p make",
        "python3 tests.py",
    ] {
        let run = judge(&[], &[("a.log", 7, 1, command, CLEAN)]);
        assert_eq!(run.status, 0, "{command}: {}", run.stderr);
        let has_remark = run.stderr.contains("--trace-children=yes");
        assert_eq!(has_remark, command.starts_with("python"), "{}", run.stderr);
    }
}

#[test]
fn a_script_below_the_root_is_a_launcher_if_a_shell_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = text(&("", 7, 1, "./check --all", CLEAN));
    for (script, expected) in [
        ("#!/usr/bin/env bash\n./p\n", 2),
        ("#!/usr/bin/env python3\n", 0),
        ("\x7fELF", 0),
    ] {
        std::fs::write(folder.path().join("check"), script).unwrap();
        let run = leak_check_in(folder.path(), &[], log.as_bytes());
        assert_eq!(run.status, expected, "{script}: {}", run.stderr);
        let root = folder.path().to_str().unwrap();
        let run = leak_check_in(std::path::Path::new("/"), &["--root", root], log.as_bytes());
        assert_eq!(run.status, expected, "{script}: {}", run.stderr);
    }
}

#[test]
fn each_command_regex_must_match_a_judged_process() {
    let logs = [
        ("a.log", 7, 1, "./p -x", CLEAN),
        ("b.log", 8, 1, "./q", CLEAN),
    ];
    for (options, expected) in [
        (&["--command", r"^\./p"][..], 0),
        (&["--command=-x$", "--command", "q"], 0),
        (&["--command", "p", "--command", "nowhere"], 2),
        (&["--command", "("], 2),
        (&["--command", ""], 2),
    ] {
        let run = judge(options, &logs);
        assert_eq!(run.status, expected, "{options:?}: {}", run.stderr);
    }
    let cut = judge(
        &["--command", "p"],
        &[("a.log", 7, 1, "./p -x", CUT), logs[1]],
    );
    assert!(cut.stderr.contains("--command p matches"), "{}", cut.stderr);
}
