//! Logs of children that execute a program which Valgrind does not follow.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use needs::needs;

use crate::support::{Bench, Run};

const STARTS_OTHERS: &str = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { system(\"true\"); FILE *f = popen(\"echo hi\", \"r\"); pclose(f); return 0; }\n";
const COMMAND: &str = "fn main() { let s = std::process::Command::new(\"true\").status().unwrap(); println!(\"{s}\"); }\n";

/// Returns the files with this ending, longest first. The parent's log is the longest.
fn files(bench: &Bench, ending: &str) -> Vec<String> {
    let mut files: Vec<(u64, String)> = std::fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.metadata().unwrap().len(),
                entry.file_name().into_string().unwrap(),
            )
        })
        .filter(|(_, name)| name.ends_with(ending))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, name)| name).collect()
}

fn judge(bench: &Bench, options: &[&str], files: &[String]) -> Run {
    let mut args = vec!["--errors-for-leak-kinds=none"];
    args.extend(options);
    args.extend(files.iter().map(String::as_str));
    bench.leak_check(&args)
}

#[test]
fn allow_exec_skips_children_of_a_judged_process() {
    needs!("gcc", "valgrind");
    for (name, text, children) in [("starts.c", STARTS_OTHERS, 2), ("command.rs", COMMAND, 1)] {
        let bench = Bench::from_text(name, text);
        for ending in [".log", ".xml"] {
            bench.valgrind(&format!("%p{ending}"), &[]);
            let files = files(&bench, ending);
            assert_eq!(files.len(), 1 + children, "{name}{ending}");
            let run = judge(&bench, &[], &files);
            assert_eq!(run.status, 2, "{name}{ending}: {}", run.stdout);
            for remedy in ["--allow-exec", "--child-silent-after-fork=yes"] {
                assert!(run.stderr.contains(remedy), "{}", run.stderr);
            }
            let run = judge(&bench, &["--allow-exec"], &files);
            assert_eq!(
                run.status, 0,
                "{name}{ending}: {}{}",
                run.stdout, run.stderr
            );
            assert!(
                run.stderr.contains("skipped (--allow-exec)"),
                "{}",
                run.stderr
            );
            assert!(
                run.stdout.contains("; judged 1 of 1 process"),
                "{}",
                run.stdout
            );
            // Without the parent's log, these children look like killed processes.
            let run = judge(&bench, &["--allow-exec"], &files[1..]);
            assert_eq!(run.status, 2, "{name}{ending}: {}", run.stdout);
            assert!(
                run.stderr.contains("--trace-children=yes"),
                "{}",
                run.stderr
            );
            assert!(!run.stderr.contains("silent"), "{}", run.stderr);
        }
    }
    let bench = Bench::from_text("starts.c", STARTS_OTHERS);
    bench.valgrind("%p.log", &["--child-silent-after-fork=yes"]);
    let files = files(&bench, ".log");
    assert_eq!(files.len(), 1);
    let run = judge(&bench, &[], &files);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

/// Returns a log: the preamble, then `lines`.
fn log(pid: u64, parent: u64, command: &str, lines: &str) -> String {
    format!(
        "==P== Memcheck, a memory error detector\n==P== Using Valgrind-3.19.0 and LibVEX; rerun\n==P== Command: {command}\n==P== Parent PID: {parent}\n==P== \n{lines}"
    )
    .replace("==P==", &format!("=={pid}=="))
}

const END: &str = "==P== HEAP SUMMARY:\n==P==     in use at exit: 0 bytes in 0 blocks\n==P== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";

#[test]
fn allow_exec_does_not_skip_processes_that_may_have_been_killed() {
    let bench = Bench::from_text("empty.c", "int main(void) { return 0; }\n");
    let options = |option: &str| {
        format!("--P-- Valgrind options:\n--P--    {option}\n").replace("--P--", "--8--")
    };
    let error = "==P== Invalid read of size 1\n==P==    at 0x1: f (a.c:1)\n==P== \n";
    for (what, parent, child, expected) in [
        ("forked", log(7, 1, "./a", END), log(8, 7, "./a", ""), 0),
        (
            "an exec that was followed",
            log(7, 1, "./a", END),
            log(8, 7, "./b", ""),
            2,
        ),
        (
            "of another parent",
            log(7, 1, "./a", END),
            log(8, 6, "./a", ""),
            2,
        ),
        (
            "of a parent outside",
            log(0, 1, "./a", END),
            log(8, 0, "./a", ""),
            2,
        ),
        (
            "of a parent that was cut",
            log(7, 1, "./a", ""),
            log(8, 7, "./a", ""),
            2,
        ),
        (
            "with findings",
            log(7, 1, "./a", END),
            log(8, 7, "./a", error),
            2,
        ),
        (
            "cut in the preamble",
            log(7, 1, "./a", END),
            log(8, 7, "./a", "==P== x")[..70].to_owned(),
            2,
        ),
        (
            "followed",
            log(7, 1, "./a", END),
            log(8, 7, "./a", &options("--trace-children=yes")),
            2,
        ),
        (
            "that goes on behind the preamble",
            log(7, 1, "./a", END),
            log(8, 7, "./a", "==P== Something that no rule knows\n"),
            2,
        ),
        (
            "without the preamble's last line",
            log(7, 1, "./a", END),
            log(8, 7, "./a", "").replace("==8== \n", ""),
            2,
        ),
        (
            "not followed",
            log(7, 1, "./a", END),
            log(8, 7, "./a", &options("--trace-children=no")),
            0,
        ),
    ] {
        bench.write("parent.log", &parent);
        bench.write("child.log", &child);
        // The order of the inputs does not matter.
        for files in [["parent.log", "child.log"], ["child.log", "parent.log"]] {
            let run = bench.leak_check(&[&["--allow-exec"], &files[..]].concat());
            assert_eq!(run.status, expected, "{what}: {}{}", run.stdout, run.stderr);
            assert_eq!(bench.leak_check(&files).status, 2, "{what}");
        }
    }
    bench.write("7.log", &log(7, 1, "./a", END));
    bench.write("8.log", &log(8, 7, "./a", ""));
    bench.write("9.log", &log(9, 8, "./a", ""));
    let run = bench.leak_check(&["--allow-exec", "9.log", "8.log", "7.log"]);
    assert_eq!(run.status, 0, "a child of a child: {}", run.stderr);
}
