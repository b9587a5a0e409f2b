//! cg-diff with sums of many files per side: the result is the same as for the concatenated files.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use tests::{data, tools};

/// Writes the streams of two commits with three benchmarks each, one directory per benchmark.
fn profiles(root: &Path) {
    let files = [
        ("commit=a/bench=1", "pair/before.callgrind.out"),
        ("commit=a/bench=2", "diff/pairs/closure_base.cg.gz"),
        ("commit=a/bench=3", "diff/pairs/static_x.cg.gz"),
        ("commit=b/bench=1", "pair/after.callgrind.out"),
        ("commit=b/bench=2", "diff/pairs/closure_inserted.cg.gz"),
        ("commit=b/bench=3", "diff/pairs/static_w.cg.gz"),
    ];
    for (directory, file) in files {
        let stream = tools::run("cg-parse", &[data(file).to_str().unwrap()], b"");
        assert_eq!(stream.status, 0, "{}", stream.stderr);
        let directory = root.join(directory);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("profile.jsonl"), stream.stdout).unwrap();
    }
}

/// Returns the rows of a comparison.
fn rows(output: &str) -> Vec<&str> {
    let is_row = |line: &&str| line.starts_with("{\"type\":\"diff\"");
    output.lines().filter(is_row).collect()
}

fn pattern(root: &Path, below: &str) -> String {
    root.join(below).to_str().unwrap().to_owned()
}

#[test]
fn sum_of_files_equals_their_concatenated_streams() {
    let root = tempfile::tempdir().unwrap();
    profiles(root.path());
    let all_of = |commit: &str| -> Vec<u8> {
        let file = |bench| {
            root.path()
                .join(format!("{commit}/bench={bench}/profile.jsonl"))
        };
        (1..=3)
            .flat_map(|bench| fs::read(file(bench)).unwrap())
            .collect()
    };
    let [a, b] = ["commit=a", "commit=b"].map(|commit| {
        let file = root.path().join(format!("{commit}.jsonl"));
        fs::write(&file, all_of(commit)).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let expected = tools::run("cg-diff", &["--min-change", "0", &a, &b], b"");
    let found = tools::run(
        "cg-diff",
        &[
            "--min-change",
            "0",
            "--statistic",
            "sum",
            "--before",
            &pattern(root.path(), "commit=a/*/profile.jsonl"),
            "--after",
            &pattern(root.path(), "commit=b/**/*.jsonl"),
        ],
        b"",
    );
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(rows(expected.text()).len() > 5);
    assert_eq!(rows(found.text()), rows(expected.text()));
    let run = |text: &str| serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap();
    let (found, expected) = (run(found.text()), run(expected.text()));
    assert_eq!(found["total"], expected["total"]);
    assert_eq!(found["files"], serde_json::json!([3, 3]));
    assert_eq!(found["statistic"], "sum");
}

#[test]
fn missing_benchmark_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    profiles(root.path());
    fs::remove_file(root.path().join("commit=b/bench=3/profile.jsonl")).unwrap();
    let gate = |options: &[&str]| {
        let before = pattern(root.path(), "commit=a/*/*.jsonl");
        let after = pattern(root.path(), "commit=b/*/*.jsonl");
        let inputs = ["--statistic", "sum", "--before", &before, "--after", &after];
        tools::run("cg-diff", &[options, &inputs].concat(), b"")
    };
    let run = gate(&["--fail-if", "Ir>+5%"]);
    assert_eq!(run.status, 2);
    let sentence = "before is the sum of 3 files, but after is the sum of 2";
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
    let run = gate(&["--fail-if", "Ir>+5%", "--allow-missing"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
}

#[test]
fn medians_over_different_benchmarks_are_noted() {
    let root = tempfile::tempdir().unwrap();
    profiles(root.path());
    let before = pattern(root.path(), "commit=a/*/*.jsonl");
    let after = pattern(root.path(), "commit=b/*/*.jsonl");
    let notes = |before: &str, after: &str| {
        let run = tools::run("cg-diff", &["--before", before, "--after", after], b"");
        let record: Value = serde_json::from_str(run.text().lines().next().unwrap()).unwrap();
        record["notes"].to_string()
    };
    let sentence = "have different commands or benchmarks";
    assert!(notes(&before, &after).contains(sentence));
    let [before, after] = ["a", "b"].map(|commit| {
        pattern(
            root.path(),
            &format!("commit={commit}/bench=1/profile.json?"),
        )
    });
    assert!(!notes(&before, &after).contains(sentence));
}

#[test]
fn pattern_without_a_match_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    profiles(root.path());
    let after = pattern(root.path(), "commit=b/*/*.jsonl");
    let run = tools::run(
        "cg-diff",
        &[
            "--before",
            &pattern(root.path(), "commit=c/*.jsonl"),
            "--after",
            &after,
        ],
        b"",
    );
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("No such file matches"),
        "{}",
        run.stderr
    );
    // A name with brackets is a file name if such a file exists.
    let bracketed = root.path().join("run[1].jsonl");
    fs::copy(
        root.path().join("commit=a/bench=1/profile.jsonl"),
        &bracketed,
    )
    .unwrap();
    let file = bracketed.to_str().unwrap();
    let run = tools::run("cg-diff", &["--before", file, "--after", file], b"");
    assert_eq!(run.status, 0, "{}", run.stderr);
}

#[test]
fn inline_chains_are_compared_only_if_all_files_have_them() {
    let root = tempfile::tempdir().unwrap();
    let run = "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":10}}\n";
    let function = "{\"type\":\"fn\",\"fn\":\"host\",\"calls\":1,\"cost\":{\"Ir\":10}}\n";
    let chain = "{\"type\":\"inline\",\"fn\":\"leaf\",\"cost\":{\"Ir\":10},\"stack\":[{\"fn\":\"leaf\"},{\"fn\":\"host\"}]}\n";
    let file = |name: &str, records: &[&str]| {
        let path = root.path().join(name);
        let end = format!("{{\"type\":\"end\",\"records\":{}}}\n", records.len());
        fs::write(&path, [&[run], records, &[&end]].concat().concat()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let with = file("with.jsonl", &[function, chain]);
    let without = file("without.jsonl", &[function]);
    let functions = |files: [&str; 2]| {
        let sides = [
            "--before", files[0], files[1], "--after", files[0], files[1],
        ];
        let run = tools::run(
            "cg-diff",
            &[&["--all", "--statistic", "sum"][..], &sides].concat(),
            b"",
        );
        assert_eq!(run.status, 0, "{}", run.stderr);
        let names = rows(run.text()).into_iter().map(|row| {
            let row: Value = serde_json::from_str(row).unwrap();
            format!("{} {}", row["fn"].as_str().unwrap(), row["cost"]["Ir"])
        });
        (
            names.collect::<Vec<_>>(),
            run.stderr.contains("not all inputs have inline records"),
        )
    };
    assert_eq!(
        functions([&with, &with]),
        // The host was called, but all its cost belongs to the leaf.
        (
            vec!["host [0,0]".to_owned(), "leaf [20,20]".to_owned()],
            false
        )
    );
    for files in [[&with[..], &without], [&without, &with]] {
        assert_eq!(functions(files), (vec!["host [20,20]".to_owned()], true));
    }
}

/// The place of the frame to blame, with the file of its line, is in the row of a changed, an added and a removed stack.
#[test]
fn rows_of_stacks_have_the_file_of_their_line() {
    let stack = |line: u64, samples: u64, frames: &str| {
        format!(
            r#"{{"type":"stack","fn":"put","file":"c.c","line":{line},"cost":{{"samples":{samples}}},"stack":[{frames},{{"fn":"main","file":"m.c","line":3}}]}}"#
        )
    };
    let inlined = r#"{"fn":"hash","file":"c.c","line":7,"inlined":true},{"fn":"put","file":"c.c","line":9,"site":"c.h"}"#;
    let innermost = |line| format!(r#"{{"fn":"put","file":"c.c","line":{line},"site":"d.h"}}"#);
    let own = r#"{"fn":"put","file":"c.c","line":30}"#;
    let write = |total: u64, stacks: &[String]| {
        let run = format!(
            r#"{{"type":"run","stream":1,"tool":"perf","events":["samples"],"total":{{"samples":{total}}}}}"#
        );
        let end = format!(r#"{{"type":"end","records":{}}}"#, stacks.len());
        let lines: Vec<&str> = std::iter::once(&run[..])
            .chain(stacks.iter().map(|stack| &stack[..]))
            .chain([&end[..]])
            .collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        file
    };
    let old = write(
        3000,
        &[
            stack(9, 1000, inlined),
            stack(10, 1500, &innermost(10)),
            stack(30, 500, own),
        ],
    );
    let new = write(
        3000,
        &[
            stack(9, 2000, inlined),
            stack(20, 800, &innermost(20)),
            stack(30, 200, own),
        ],
    );
    let files = [old.path(), new.path()].map(|path| path.to_str().unwrap());
    let args = ["--all", "--type", "stack", files[0], files[1]];
    let diff = tools::stdout("cg-diff", &args, b"");
    let diff = String::from_utf8(diff).unwrap();
    let rows = diff
        .lines()
        .filter(|line| line.contains(r#""type":"diff""#));
    let mut places: Vec<(u64, String)> = rows
        .map(|row| {
            let row: Value = serde_json::from_str(row).unwrap();
            assert_eq!((&row["fn"], &row["file"]), (&"put".into(), &"c.c".into()));
            let site = row["site"].as_str().unwrap_or_default();
            (row["line"].as_u64().unwrap(), site.to_owned())
        })
        .collect();
    places.sort();
    // A stack whose innermost line moved is one row.
    let expected = [(9, "c.h"), (20, "d.h"), (30, "")];
    assert_eq!(places, expected.map(|(line, site)| (line, site.to_owned())));
}
