//! cg-diff on real programs built twice: in another directory, with another crate hash, and with three functions touched.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::{data, tools};

/// A build of a program, and the profile of a run of it.
struct Build {
    profile: PathBuf,
}

/// How the two builds of a program differ.
struct Language {
    source: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// What the second build, but not the first, is given.
    changed: &'static [&'static str],
    /// What tells two builds of the same source apart.
    marks: [&'static [&'static str]; 2],
}

const RUST: Language = Language {
    source: "rebuild.rs",
    compiler: "rustc",
    flags: &[
        "--edition=2024",
        "-O",
        "-g",
        "--crate-name=rebuild",
        "--check-cfg=cfg(changed)",
    ],
    changed: &["--cfg=changed"],
    marks: [&["-Cmetadata=0001"], &["-Cmetadata=0002"]],
};

const RUST_V0: Language = Language {
    flags: &[
        "--edition=2024",
        "-O",
        "-g",
        "--crate-name=rebuild",
        "--check-cfg=cfg(changed)",
        "-Csymbol-mangling-version=v0",
    ],
    ..RUST
};

const CPP: Language = Language {
    source: "rebuild.cpp",
    compiler: "g++",
    flags: &["-O2", "-g"],
    changed: &["-DCHANGED"],
    marks: [&[], &["-frandom-seed=2"]],
};

impl Language {
    /// Builds the program in a directory of its own below `home`, and profiles a run.
    fn build(&self, home: &Path, mark: usize, is_changed: bool, valgrind: &[&str]) -> Build {
        // As with cargo, the name of the program has a hash; the directories have other depths.
        let directory = home.join(["checkout", "other/deeper/checkout"][mark]);
        let program = format!("rebuild-{}", ["0123456789abcdef", "fedcba9876543210"][mark]);
        fs::create_dir_all(directory.join("src")).unwrap();
        fs::copy(
            data("diff").join(self.source),
            directory.join("src").join(self.source),
        )
        .unwrap();
        let mut compile = needs::command(self.compiler);
        compile
            .args(self.flags)
            .args(self.marks[mark])
            .args(if is_changed { self.changed } else { &[] })
            .arg("-o")
            .arg(&program)
            .arg(format!("src/{}", self.source))
            .current_dir(&directory);
        assert!(compile.status().unwrap().success());
        let profile = directory.join("callgrind.out");
        run_in_valgrind(&directory, &program, &profile, valgrind);
        Build { profile }
    }
}

/// The environment is set, because the dynamic linker and the start of a program depend on its size.
fn run_in_valgrind(directory: &Path, program: &str, profile: &Path, options: &[&str]) {
    let status = needs::command("valgrind")
        .args(["-q", "--tool=callgrind"])
        .args(options)
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(format!("./{program}"))
        .current_dir(directory)
        .env_clear()
        .env("PATH", needs::path())
        .status()
        .unwrap();
    assert!(status.success());
}

/// The records of a diff.
fn diff(options: &[&str], old: &Build, new: &Build) -> Vec<Value> {
    let paths = [&old.profile, &new.profile].map(|path| path.to_str().unwrap());
    let output = tools::stdout("cg-diff", &[options, &paths].concat(), b"");
    output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Status and name of each row of the program itself; what the system's libraries do in other directories is theirs.
fn own_rows(records: &[Value]) -> Vec<String> {
    let mut rows: Vec<String> = records
        .iter()
        .filter(|record| record["type"] == "diff")
        .filter(|record| {
            record["obj"]
                .as_str()
                .is_some_and(|obj| obj.contains("rebuild-"))
        })
        .map(|record| {
            let name = record["fn"].as_str().unwrap();
            let name = name.split('(').next().unwrap();
            let was = record["was"]["fn"]
                .as_str()
                .map(|was| format!(" was {}", was.split('(').next().unwrap()));
            format!(
                "{} {name}{}",
                record["status"].as_str().unwrap(),
                was.unwrap_or_default()
            )
        })
        .collect();
    rows.sort();
    rows
}

fn why<'a>(records: &'a [Value], name: &str) -> &'a Value {
    let record = records
        .iter()
        .find(|record| {
            record["fn"]
                .as_str()
                .is_some_and(|found| found.contains(name))
        })
        .unwrap();
    &record["why"]["cause"]
}

/// How many rows are called added and removed.
fn added_and_removed(records: &[Value]) -> (u64, u64) {
    let rows = |status: &str| records[0]["rows"][status].as_u64().unwrap_or(0);
    (rows("added"), rows("removed"))
}

/// Checks a program's three builds: the old one, a rebuild of the same source, and a rebuild with its changes.
fn check(language: &Language, prefix: &str) {
    let homes = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let old = language.build(homes[0].path(), 0, false, &[]);
    let rebuilt = language.build(homes[0].path(), 1, false, &[]);
    let changed = language.build(homes[1].path(), 1, true, &[]);
    check_rebuilt(&old, &rebuilt);
    let records = diff(&[], &old, &changed);
    assert_eq!(
        own_rows(&records),
        [
            format!("changed {prefix}work::caller"),
            format!("changed {prefix}work::slower"),
            format!("removed {prefix}work::inlined_away"),
            format!("renamed {prefix}work::to_text was {prefix}work::as_text"),
        ],
        "{records:#?}"
    );
    // Each was called once; that a call costs more is the figure itself.
    assert_eq!(why(&records, "work::slower"), &Value::Null);
    assert_eq!(why(&records, "work::caller"), "callees");
    assert_eq!(why(&records, "work::inlined_away"), &Value::Null);
}

/// A rebuild of the same source is no change, and every function of the program is joined.
#[allow(
    clippy::print_stdout,
    reason = "cargo test --nocapture tells the figures"
)]
fn check_rebuilt(old: &Build, rebuilt: &Build) {
    let records = diff(&[], old, rebuilt);
    assert_eq!(own_rows(&records), [""; 0]);
    assert_eq!(added_and_removed(&records), (0, 0));
    // What joining by equal names alone says of the same two builds: every function of the program is gone and new.
    let (added, removed) = added_and_removed(&diff(&["--exact"], old, rebuilt));
    assert!(
        added >= 5 && removed >= 5,
        "{added} added, {removed} removed"
    );
    // The README has these figures.
    println!("rebuilt: by equal names {added} rows added, {removed} removed; by cg-diff none");
}

#[test]
fn rust_rebuilt_elsewhere_shows_what_was_touched_and_no_more() {
    needs!("valgrind");
    check(&RUST, "rebuild::");
}

#[test]
fn cpp_rebuilt_elsewhere_shows_what_was_touched_and_no_more() {
    needs!("g++", "valgrind");
    check(&CPP, "");
}

#[test]
fn mangled_rust_rebuilt_elsewhere_is_no_change() {
    needs!("valgrind");
    // Legacy names end in a hash, and v0 names begin with one.
    for language in [RUST, RUST_V0] {
        let home = TempDir::new().unwrap();
        let old = language.build(home.path(), 0, false, &["--demangle=no"]);
        let rebuilt = language.build(home.path(), 1, false, &["--demangle=no"]);
        check_rebuilt(&old, &rebuilt);
    }
}

#[test]
fn rust_with_the_other_mangling_scheme_is_the_same_program() {
    needs!("valgrind");
    // The scheme is all that is changed, so what is optimised where may change, but nothing comes or goes.
    let home = TempDir::new().unwrap();
    let legacy = RUST.build(home.path(), 0, false, &[]);
    let v0 = RUST_V0.build(home.path(), 1, false, &[]);
    for (old, new) in [(&legacy, &v0), (&v0, &legacy)] {
        let records = diff(&["--no-renames"], old, new);
        assert_eq!(added_and_removed(&records), (0, 0), "{records:#?}");
        assert!(records[0]["joined"]["mangling"].as_u64().unwrap() >= 3);
    }
}

#[test]
fn the_same_program_run_twice_is_no_change() {
    needs!("valgrind");
    let home = TempDir::new().unwrap();
    let first = RUST.build(home.path(), 0, false, &[]);
    let second = Build {
        profile: home.path().join("again.out"),
    };
    run_in_valgrind(
        &home.path().join("checkout"),
        "rebuild-0123456789abcdef",
        &second.profile,
        &[],
    );
    let records = diff(&[], &first, &second);
    assert_eq!(own_rows(&records), [""; 0]);
    assert_eq!(added_and_removed(&records), (0, 0));
    assert_eq!(records[0]["joined"], serde_json::json!({}));
}
