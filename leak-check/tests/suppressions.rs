//! Suppression files, compared with the real Valgrind: both suppress the same findings, and Valgrind reads the
//! suppressions that leak-check writes.

use needs::needs;

use crate::support::Bench;

/// Returns Valgrind's counts of errors and of suppressed errors.
fn error_summary(log: &str) -> &str {
    log.lines()
        .rev()
        .find_map(|line| line.split_once("ERROR SUMMARY: "))
        .map_or("", |(_, summary)| summary)
}

#[test]
fn written_suppressions_work_in_valgrind() {
    needs!("gcc", "g++", "valgrind");
    let every_kind = ["--show-leak-kinds=all", "--errors-for-leak-kinds=all"];
    for program in ["errors.c", "shapes.cpp", "nodes.rs"] {
        let bench = Bench::new(program);
        // Only with --gen-suppressions=all are the mangled names known. Otherwise the suppressions have patterns.
        for options in [&["--gen-suppressions=no"][..], &["--gen-suppressions=all"]] {
            for file in ["out.log", "out.xml"] {
                bench.valgrind(file, &[options, &every_kind].concat());
                let run = bench.leak_check(&[
                    "--errors-for-leak-kinds=all",
                    "--no-default-suppressions",
                    "--write-suppressions",
                    file,
                ]);
                assert_eq!((run.status, run.stderr.as_str()), (1, ""));
                bench.write("written.supp", &run.stdout);

                let status = bench.valgrind(
                    "again.log",
                    &[&every_kind[..], &["--suppressions=written.supp"]].concat(),
                );
                let log = bench.read("again.log");
                assert!(
                    status == 0
                        && error_summary(&log)
                            .starts_with("0 errors from 0 contexts (suppressed: "),
                    "{program} {file} {options:?}\n{}\n{log}",
                    run.stdout
                );
                // leak-check applies them with the same result.
                let run = bench.leak_check(&[
                    "--errors-for-leak-kinds=all",
                    "--no-default-suppressions",
                    "--suppressions=written.supp",
                    "--list-unused-suppressions",
                    file,
                ]);
                assert_eq!(run.status, 0, "{program} {file}\n{}", run.stdout);
                // A pattern for a constructor matches the methods of its class too, so their suppressions stay unused.
                if options == ["--gen-suppressions=all"] {
                    assert_eq!(run.stderr, "", "{program} {file}");
                }
            }
        }
    }
}

#[test]
fn written_suppressions_work_in_helgrind_and_drd() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("race.c");
    for tool in ["--tool=helgrind", "--tool=drd"] {
        for file in ["out.log", "out.xml"] {
            assert_eq!(bench.valgrind(file, &[tool]), 99);
            let run = bench.leak_check(&["--write-suppressions", file]);
            assert_eq!((run.status, run.stderr.as_str()), (1, ""));
            bench.write("written.supp", &run.stdout);
            assert_eq!(
                bench.valgrind("again.log", &[tool, "--suppressions=written.supp"]),
                0,
                "{tool} {file}\n{}",
                run.stdout
            );
            let run = bench.leak_check(&["--suppressions=written.supp", file]);
            assert_eq!(run.status, 0, "{tool} {file}\n{}", run.stdout);
        }
    }
}

#[test]
fn a_suppression_hides_no_other_leak() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    bench.valgrind("out.log", &[]);
    let run = bench.leak_check(&["--only=^lose$", "--write-suppressions", "out.log"]);
    bench.write("written.supp", &run.stdout);
    assert!(
        run.stdout.starts_with("{\n   definite leak in lose, ")
            && run.stdout.ends_with(
                "\n   Memcheck:Leak\n   match-leak-kinds: definite\n   fun:malloc\n   fun:lose\n   fun:main\n}\n"
            ),
        "{}",
        run.stdout
    );
    let run = bench.leak_check(&["--suppressions=written.supp", "out.log"]);
    assert!(
        run.stdout
            .contains(") in 1 process, 1 suppressed; judged 1 of 1 process"),
        "{}",
        run.stdout
    );
}

#[test]
fn equal_suppressions_are_written_once() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text(
        "two.c",
        "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 2; i++) { char *p = i ? malloc(1) : malloc(2); p[0] = 1; } return 0; }\n",
    );
    bench.valgrind("out.log", &[]);
    let run = bench.leak_check(&["--write-suppressions", "out.log"]);
    assert_eq!(
        run.stdout.matches("Memcheck:Leak").count(),
        1,
        "{}",
        run.stdout
    );
}

/// Suppressions of every kind. Valgrind and leak-check must use the same ones.
const MIXED: &str = "# of errors.c
{
   by name
   Memcheck:Leak
   fun:malloc
   fun:lose
}
{
   by another kind of leak
   Memcheck:Leak
   match-leak-kinds: reachable
   ...
   fun:lose_chain
}
{
   by wildcards
   Memcheck,Helgrind:Free
   fun:fr?e
   fun:*twice
}
{
   of another size
   Memcheck:Addr8
   fun:read_past_the_end
}
{
   by file and line
   Memcheck:Addr1
   src:errors.c:49
}
{
   by object
   Memcheck:Cond
   obj:*/program
   ...
   fun:main
}
{
   of a system call
   Memcheck:Param
   write(buf)
   ...
   fun:write
}
{
   of another system call
   Memcheck:Param
   write(count)
   ...
   fun:main
}
{
   of another tool
   Helgrind:Race
   fun:main
}
";

#[test]
fn suppression_files_match_the_same_findings_as_in_valgrind() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    bench.write("mixed.supp", MIXED);
    bench.valgrind("with.log", &["--suppressions=mixed.supp", "-v"]);
    bench.valgrind("without.xml", &[]);
    let with = bench.read("with.log");
    // `--123--      1 by name mixed.supp:2 suppressed: 64 bytes in 1 blocks`
    let mut by_valgrind: Vec<&str> = MIXED
        .lines()
        .filter(|line| line.starts_with("   by") || line.starts_with("   of"))
        .map(str::trim)
        .filter(|name| {
            with.lines().any(|line| {
                line.contains("used_suppression") && line.contains(&format!(" {name} "))
            })
        })
        .collect();
    by_valgrind.sort_unstable();
    let run = bench.leak_check(&[
        "--suppressions=mixed.supp",
        "--list-unused-suppressions",
        "without.xml",
    ]);
    let mut here: Vec<&str> = MIXED
        .lines()
        .filter(|line| line.starts_with("   by") || line.starts_with("   of"))
        .map(str::trim)
        .filter(|name| {
            !run.stderr
                .contains(&format!("unused suppression \"{name}\""))
        })
        .collect();
    here.sort_unstable();
    assert_eq!(here, by_valgrind, "{with}\n{}", run.stderr);
    assert_eq!(
        here,
        [
            "by file and line",
            "by name",
            "by object",
            "by wildcards",
            "of a system call"
        ]
    );
    assert!(
        run.stderr
            .contains("mixed.supp:8: unused suppression \"by another kind of leak\""),
        "{}",
        run.stderr
    );
    let left = error_summary(&with).split(' ').next().unwrap();
    assert!(
        run.stdout
            .contains(&format!("failed: {left} new findings ("))
            && run.stdout.contains(") in 1 process, 5 suppressed; "),
        "{left}\n{}",
        run.stdout
    );
}

#[test]
fn an_unused_pattern_that_needs_mangled_names_is_reported() {
    needs!("gcc", "g++", "valgrind");
    let bench = Bench::new("shapes.cpp");
    bench.write(
        "mangled.supp",
        "{\n   a part of a mangled name\n   Memcheck:Leak\n   fun:_Zna*\n   fun:_ZN6sha*\n}\n",
    );
    bench.valgrind("without.xml", &[]);
    let run = bench.leak_check(&["--suppressions=mangled.supp", "without.xml"]);
    assert!(
        run.stderr.contains(
            "mangled.supp:1: unused suppression \"a part of a mangled name\": its wildcards"
        ),
        "{}",
        run.stderr
    );
    bench.valgrind("with.xml", &["--gen-suppressions=all"]);
    let run = bench.leak_check(&["--suppressions=mangled.supp", "with.xml"]);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains(" suppressed\n"), "{}", run.stdout);
}

#[test]
fn a_file_that_valgrind_refuses_is_an_error_with_file_and_line() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    for (text, message) in [
        (
            "{\n  n\n  Memcheck:Leak\n  fn:malloc\n}\n",
            "bad.supp:4: expected",
        ),
        (
            "{\n  n\n  Memcheck:Leak\n  ...\n}\n",
            "bad.supp:5: expected at least one line",
        ),
        ("n\n", "bad.supp:1: expected \"{\", found \"n\""),
    ] {
        bench.write("bad.supp", text);
        assert_ne!(
            bench.valgrind("refused.log", &["--suppressions=bad.supp"]),
            99,
            "{text}"
        );
        let run = bench.leak_check(&["--suppressions=bad.supp", "out.log"]);
        assert_eq!(run.status, 2, "{text}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    assert_eq!(
        bench
            .leak_check(&["--suppressions=missing.supp", "out.log"])
            .status,
        2
    );
}
