//! cg-diff on real programs that are rebuilt in another directory, with another crate hash, or with three changed functions.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::Value;
use tempfile::TempDir;
use tests::{data, tools};

/// A build of a program and the profile of one run.
struct Build {
    profile: PathBuf,
}

/// A program and the options of its builds.
struct Language {
    source: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
    /// The compiler options for the changed program.
    changed: &'static [&'static str],
    /// The compiler options that make two builds of the same source differ.
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
    /// Builds the program in a subdirectory of `home`, and profiles one run.
    fn build(&self, home: &Path, mark: usize, is_changed: bool, valgrind: &[&str]) -> Build {
        // The name of the program has a hash, as with cargo. The directories have different depths.
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

/// Profiles a program in a fixed environment: the costs of the dynamic linker and of the start code depend on its size.
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

/// Returns the records of a diff.
fn diff(options: &[&str], old: &Build, new: &Build) -> Vec<Value> {
    let paths = [&old.profile, &new.profile].map(|path| path.to_str().unwrap());
    let output = tools::stdout("cg-diff", &[options, &paths].concat(), b"");
    output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Returns the status and name of each row of the program. Ignores system libraries, whose costs vary with the directory.
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

/// Returns the numbers of added and removed rows.
fn added_and_removed(records: &[Value]) -> (u64, u64) {
    let rows = |status: &str| records[0]["rows"][status].as_u64().unwrap_or(0);
    (rows("added"), rows("removed"))
}

/// Checks three builds of a program: the old one, a rebuild of the same source, and a changed rebuild.
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
    // Each function was called once, so the cost per call adds nothing to the cost.
    assert_eq!(why(&records, "work::slower"), &Value::Null);
    assert_eq!(why(&records, "work::caller"), "callees");
    assert_eq!(why(&records, "work::inlined_away"), &Value::Null);
}

/// Checks that a rebuild of the same source has no changes and that every function of the program is matched.
#[allow(
    clippy::print_stdout,
    reason = "cargo test --nocapture prints the figures"
)]
fn check_rebuilt(old: &Build, rebuilt: &Build) {
    let records = diff(&[], old, rebuilt);
    assert_eq!(own_rows(&records), [""; 0]);
    assert_eq!(added_and_removed(&records), (0, 0));
    // If only equal names match, every function of the program is removed and added.
    let (added, removed) = added_and_removed(&diff(&["--exact"], old, rebuilt));
    assert!(
        added >= 5 && removed >= 5,
        "{added} added, {removed} removed"
    );
    // These figures are in the README.
    println!("rebuilt: by equal names {added} rows added, {removed} removed; by cg-diff none");
}

#[test]
fn rust_rebuilt_elsewhere_shows_only_changed_functions() {
    needs!("valgrind");
    check(&RUST, "rebuild::");
}

#[test]
fn cpp_rebuilt_elsewhere_shows_only_changed_functions() {
    needs!("g++", "valgrind");
    check(&CPP, "");
}

#[test]
fn mangled_rust_rebuilt_elsewhere_has_no_changes() {
    needs!("valgrind");
    // Legacy names end with a hash, and v0 names begin with one.
    for language in [RUST, RUST_V0] {
        let home = TempDir::new().unwrap();
        let old = language.build(home.path(), 0, false, &["--demangle=no"]);
        let rebuilt = language.build(home.path(), 1, false, &["--demangle=no"]);
        check_rebuilt(&old, &rebuilt);
    }
}

#[test]
fn rust_functions_match_across_mangling_schemes() {
    needs!("valgrind");
    // Only the scheme differs. Optimisations may change costs, but no function is added or removed.
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
fn same_program_run_twice_has_no_changes() {
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
