//! Golden files in `tests/data/fmt`: complete outputs of cg-fmt for small real profiles.
//!
//! `UPDATE_EXPECT=1` rewrites the files. The difference is then reviewed as code.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/fmt")
}

fn cg_fmt(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cg-fmt"))
        .args(args)
        .current_dir(folder())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap()
}

/// The golden files, each with the arguments of cg-fmt.
const OUTPUTS: [(&str, &[&str]); 20] = [
    ("table.txt", &["sort.callgrind.out"]),
    (
        "table-top-by-inclusive.txt",
        &["--sort", "incl", "--top", "3", "sort.callgrind.out"],
    ),
    (
        "table-all-events.txt",
        &["--events", "all", "sort-cache.callgrind.out"],
    ),
    (
        "table-sorted-by-event.txt",
        &["--sort", "D1mr", "sort-cache.callgrind.out"],
    ),
    (
        "table-two-runs-added.txt",
        &["sort.callgrind.out", "sort-quick.callgrind.out"],
    ),
    ("table-narrow.txt", &["--width", "80", "sort.callgrind.out"]),
    (
        "group-by-object.txt",
        &["--group-by", "obj", "sort.callgrind.out"],
    ),
    ("functions.csv", &["-f", "csv", "sort-cache.callgrind.out"]),
    ("functions.tsv", &["-f", "tsv", "sort.callgrind.out"]),
    (
        "functions.md",
        &["-f", "markdown", "--top", "5", "sort.callgrind.out"],
    ),
    (
        "two-sections.json",
        &["-f", "json", "--top", "2", "two-sections.jsonl"],
    ),
    ("two-sections.csv", &["-f", "csv", "two-sections.jsonl"]),
    ("two-sections.md", &["-f", "markdown", "two-sections.jsonl"]),
    (
        "group-by-crate.txt",
        &["--group-by", "crate", "two-sections.jsonl"],
    ),
    (
        "tree.txt",
        &["--tree", "both", "--top", "6", "sort.callgrind.out"],
    ),
    (
        "tree.md",
        &[
            "--tree",
            "callers",
            "--top",
            "3",
            "-f",
            "markdown",
            "sort.callgrind.out",
        ],
    ),
    (
        "source.txt",
        &["--source", "--context", "0", "sort.callgrind.out"],
    ),
    ("diff.txt", &["sort.diff.jsonl"]),
    ("diff.csv", &["-f", "csv", "sort.diff.jsonl"]),
    ("diff.md", &["-f", "markdown", "sort.diff.jsonl"]),
];

#[test]
fn outputs_match_the_golden_files() {
    let mut wrong = Vec::new();
    for (name, args) in OUTPUTS {
        let output = cg_fmt(args);
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{name}"
        );
        let path = folder().join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &output.stdout).unwrap();
        } else if std::fs::read(&path).unwrap_or_default() != output.stdout {
            let found = String::from_utf8_lossy(&output.stdout).into_owned();
            wrong.push(format!("{name} of cg-fmt {}:\n{found}", args.join(" ")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nUPDATE_EXPECT=1 accepts these",
        wrong.join("\n")
    );
}
