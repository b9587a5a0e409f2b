//! `cg-diff --code` on programs with known differences in their machine code, run under the real Callgrind.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::Path;

use needs::needs;
use serde_json::Value;
use tests::shell;
use tests::tools::{self, Run};

/// A program with a function `work`, which depends on macros.
const PROGRAM: &str = r#"
#include <stdlib.h>
#define APART __attribute__((noipa))
#ifndef NAME
#define NAME work
#endif
#ifdef BEFORE
APART long before(long x) { for (int i = 0; i < 9; i++) x = x * 5 + 1; return x; }
#endif
#ifdef HIDDEN
#define CALLED other
#else
#define CALLED called
#endif
APART long called(long x) { return x * 3; }
APART long other(long x) { return x * 3; }
APART double NAME(long x) {
    double sum = 0;
    for (long i = 0; i < ROUNDS; i++) {
        if (x == 7) sum -= x;
#ifdef MORE
        if (x == 9 + i) sum *= x;
#endif
        sum += x * FACTOR + CALLED(i) + labs(x);
    }
    return sum;
}
int main(int argc, char **argv) {
    double sum = 0;
    long times = argc > 1 ? 14 : 6;
    for (long i = 0; i < times; i++) sum += NAME(i);
#ifdef BEFORE
    sum += before(3);
#endif
    return sum == 1;
}
"#;

/// Builds a version in a separate folder and profiles it.
fn make(folder: &Path, version: &str, build: &str, arguments: &str) {
    std::fs::create_dir_all(folder.join(version)).unwrap();
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    let define = |name: &str, value: &str| match build.contains(name) {
        true => String::new(),
        false => format!("-D{name}={value} "),
    };
    let defines = define("ROUNDS", "30") + &define("FACTOR", "2.5");
    shell(
        folder,
        &format!("gcc -O1 -g -fno-builtin {defines}{build} program.c -o {version}/program"),
    );
    profile(folder, version, version, arguments);
}

fn profile(folder: &Path, version: &str, to: &str, arguments: &str) {
    shell(
        folder,
        &format!(
            "valgrind -q --tool=callgrind --dump-instr=yes --toggle-collect=main --callgrind-out-file={to}.out {version}/program {arguments} || true"
        ),
    );
}

fn diff(folder: &Path, args: &[&str]) -> Run {
    let [old, new] = ["old.out", "new.out"].map(|name| folder.join(name).display().to_string());
    let run = tools::run(
        "cg-diff",
        &[args, &["--code", "--all", &old, &new]].concat(),
        b"",
    );
    assert_eq!(run.status, 0, "{}", run.stderr);
    run
}

/// Returns the row of a function.
fn row(run: &Run, name: &str) -> Value {
    let rows = run.text().lines();
    let mut rows = rows.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let row = rows.find(|row| row["type"] == "diff" && row["fn"] == name);
    row.unwrap_or_else(|| panic!("{name} is not in {}", run.text()))
}

#[test]
fn code_is_same_constants_or_other() {
    needs!("gcc", "valgrind");
    for (claim, build, arguments, code) in [
        ("another input, and another branch", "", "more", "same"),
        ("at another address", "-DBEFORE", "", "same"),
        (
            "without address randomisation",
            "-DBEFORE -Wl,-z,norelro",
            "",
            "same",
        ),
        ("linked differently", "-Wl,-z,now", "", "same"),
        ("another limit", "-DROUNDS=50", "", "constants"),
        (
            "another constant in the data",
            "-DFACTOR=7.25",
            "",
            "constants",
        ),
        ("calls another function", "-DHIDDEN", "", "constants"),
        ("has more code that is not executed", "-DMORE", "", "other"),
        ("other instructions", "-O2 -mavx2 -ffast-math", "", "other"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "old", "", "");
        make(folder.path(), "new", build, arguments);
        let run = diff(folder.path(), &[]);
        assert_eq!(row(&run, "work")["code"], code, "{claim}: {}", run.text());
        assert_eq!(run.stderr, "", "{claim}");
    }
}

#[test]
fn same_code_under_another_name_is_a_rename_at_any_cost() {
    needs!("gcc", "valgrind");
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "old", "", "");
    make(folder.path(), "new", "-DNAME=labour", "more");
    let run = diff(folder.path(), &[]);
    let renamed = row(&run, "labour");
    assert_eq!(renamed["status"], "renamed", "{}", run.text());
    assert_eq!(
        (&renamed["was"]["fn"], &renamed["code"]),
        (&"work".into(), &"same".into())
    );
    // Without the code, the rename is not found.
    let profiles = ["old.out", "new.out"].map(|name| folder.path().join(name));
    let [old, new] = profiles.each_ref().map(|path| path.to_str().unwrap());
    let without = tools::run("cg-diff", &[old, new], b"");
    assert_eq!(row(&without, "labour")["status"], "added");
}

#[test]
fn mismatched_object_is_reported_and_not_judged() {
    needs!("gcc", "valgrind");
    for (claim, spoil, message) in [
        (
            "stripped",
            "strip -s new/program -o s; cat s > new/program; touch -d 2000-01-01 new/program",
            "another build",
        ),
        ("gone", "rm new/program", "the object is missing"),
        (
            "rebuilt in place",
            "cp old/program new/program; touch -d 2100-01-01 new/program",
            "written after the profile",
        ),
        (
            "rebuilt differently, with an old date",
            "gcc -O0 -g -DROUNDS=30 -DFACTOR=2.5 -DBEFORE program.c -o new/program; touch -d 2000-01-01 new/program",
            "another build",
        ),
        (
            "for another processor",
            "printf '\\267' | dd of=new/program bs=1 seek=18 conv=notrunc status=none; touch -d 2000-01-01 new/program",
            "aarch64",
        ),
        (
            "not an object",
            "echo nothing > new/program; touch -d 2000-01-01 new/program",
            "not a usable ELF file",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), "old", "", "");
        make(folder.path(), "new", "-DROUNDS=40", "");
        shell(folder.path(), spoil);
        let run = diff(folder.path(), &[]);
        assert!(
            row(&run, "work")["code"].is_null(),
            "{claim}: {}",
            run.text()
        );
        assert!(run.stderr.contains(message), "{claim}: {}", run.stderr);
        assert!(run.stderr.contains("functions)"), "{claim}: {}", run.stderr);
        let notes = run.text().lines().next().unwrap();
        assert!(notes.contains("machine code of"), "{claim}: {notes}");
    }
}

#[test]
fn symbols_of_a_stripped_object_come_from_its_debug_file() {
    needs!("gcc", "valgrind");
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "old", "", "");
    make(folder.path(), "new", "-DROUNDS=40", "");
    let split = "cd new; objcopy --only-keep-debug program program.debug; strip -s program; objcopy --add-gnu-debuglink=program.debug program; touch -d 2000-01-01 program";
    shell(folder.path(), split);
    assert_eq!(row(&diff(folder.path(), &[]), "work")["code"], "constants");
}

#[test]
fn object_below_a_debug_root_replaces_a_missing_one() {
    needs!("gcc", "valgrind");
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), "old", "", "");
    make(folder.path(), "new", "", "more");
    shell(
        folder.path(),
        "mkdir kept; cp new/program kept; rm -r old new",
    );
    let kept = folder.path().join("kept").display().to_string();
    let run = diff(folder.path(), &["--debug-root", &kept]);
    assert_eq!(row(&run, "work")["code"], "same", "{}", run.stderr);
}

#[test]
fn code_option_only_warns_without_addresses() {
    let old = tests::data("pair/before.callgrind.out")
        .display()
        .to_string();
    let new = tests::data("pair/after.callgrind.out")
        .display()
        .to_string();
    let plain = tools::run("cg-diff", &[&old, &new], b"");
    let asked = tools::run("cg-diff", &["--code", &old, &new], b"");
    assert_eq!(plain.stdout, asked.stdout);
    assert!(
        asked.stderr.contains("--dump-instr=yes"),
        "{}",
        asked.stderr
    );
}
