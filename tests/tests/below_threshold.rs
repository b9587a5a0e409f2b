//! Places that only one of two Massif runs shows, because they are below the threshold in the other run.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use tests::made_massif::massif;
use tests::tools::{Run, run};

struct Pair {
    folder: TempDir,
}

impl Pair {
    fn new(old: &str, new: &str) -> Pair {
        let folder = TempDir::new().unwrap();
        for (name, tree) in [("old", old), ("new", new)] {
            fs::write(folder.path().join(name), massif(&[Some(tree)])).unwrap();
        }
        Pair { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn diff(&self, args: &[&str]) -> Run {
        let (old, new) = (self.path("old"), self.path("new"));
        run("cg-diff", &[args, &[&old, &new]].concat(), b"")
    }

    /// Returns the rows as `function status below [old,new] delta`, sorted. `-` replaces an omitted value.
    fn rows(&self, args: &[&str]) -> Vec<String> {
        let written = self.diff(args);
        assert_eq!(written.status, 0, "{}", written.stderr);
        let records = written.text().lines();
        let records = records.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let shown = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            value => value.to_string().replace('"', ""),
        };
        let mut rows: Vec<String> = records
            .filter(|record| record["type"] == "diff")
            .map(|record| {
                let cost = shown(&record["cost"]["bytes"]);
                let delta = shown(&record["delta"]["bytes"]);
                let [name, status, below] =
                    ["fn", "status", "below"].map(|key| shown(&record[key]));
                format!("{name} {status} {below} {cost} {delta}")
            })
            .collect();
        rows.sort();
        rows
    }
}

const SHOWN: &str = "1000 root\n 980 load:31\n  980 main:9\n 15 pool:8\n  15 main:9\n 5 3";
const HIDDEN: &str = "2000 root\n 1979 load:31\n  1979 main:9\n 21 4";

/// A name, options of cg-diff, the trees of two runs, and the expected rows.
type Case<'c> = (&'c str, &'c [&'c str], &'c str, &'c str, &'c [&'c str]);

const CASES: [Case<'_>; 8] = [
    (
        "a place that falls below the threshold",
        &[],
        SHOWN,
        HIDDEN,
        &[
            "- below-threshold new [5,21] -",
            "load changed - [980,1979] 999",
            "pool below-threshold new [15,null] -",
        ],
    ),
    (
        "a place that rises above the threshold",
        &[],
        HIDDEN,
        SHOWN,
        &[
            "- below-threshold old [21,5] -",
            "load changed - [1979,980] -999",
            "pool below-threshold old [null,15] -",
        ],
    ),
    (
        "a complete tree",
        &[],
        SHOWN,
        "1979 root\n 1979 load:31\n  1979 main:9",
        &[
            "- removed - [5,null] -5",
            "load changed - [980,1979] 999",
            "pool removed - [15,null] -15",
        ],
    ),
    (
        "a tree that hides only other places",
        &[],
        "100 root\n 60 f:1\n  40 a:1\n  20 b:1\n 40 g:1\n  40 a:2",
        "100 root\n 60 f:1\n  60 a:1\n 40 g:1\n  33 a:2\n  7 2",
        &[
            "f changed - [40,60] 20",
            "f removed - [20,null] -20",
            "g added - [null,7] 7",
            "g changed - [40,33] -7",
        ],
    ),
    (
        "callers that are hidden deeper in the tree",
        &[],
        "100 root\n 60 f:1\n  40 a:1\n  20 b:1\n 40 g:1\n  40 a:2",
        "100 root\n 60 f:1\n  55 a:1\n  5 1\n 40 g:1\n  40 a:2",
        &[
            "f below-threshold new [20,null] -",
            "f below-threshold new [null,5] -",
            "f changed - [40,55] 15",
        ],
    ),
    (
        "a change only in places below the threshold of both runs",
        &[],
        "100 root\n 96 f:1\n 4 3",
        "100 root\n 95 f:1\n 5 3",
        &["- changed - [4,5] 1", "f changed - [96,95] -1"],
    ),
    (
        "functions instead of stacks",
        &["--by", "fn"],
        SHOWN,
        HIDDEN,
        &[
            "- below-threshold new [5,21] -",
            "load changed - [980,1979] 999",
            "pool below-threshold new [15,null] -",
        ],
    ),
    (
        "functions with only hidden callers",
        &["--by", "fn"],
        "100 root\n 60 f:1\n  40 a:1\n  20 b:1\n 40 g:1\n  40 a:2",
        "90 root\n 50 f:1\n  45 a:1\n  5 1\n 40 g:1\n  40 a:2",
        &[
            "b below-threshold new [0,null] -",
            "f changed - [60,50] -10",
        ],
    ),
];

#[test]
fn rows_below_the_threshold_have_no_figure_and_no_change() {
    for (what, args, old, new, expected) in CASES {
        assert_eq!(Pair::new(old, new).rows(args), expected, "{what}");
    }
}

#[test]
fn limits_that_depend_on_rows_below_the_threshold_are_not_judged() {
    let pair = Pair::new(HIDDEN, SHOWN);
    for (limit, status) in [
        // pool had 0 to 21 bytes and has 15.
        ("bytes[^pool$]>+0", 2),
        ("bytes[^pool$]>+15", 0),
        ("bytes[^pool$]>15", 0),
        ("bytes[^pool$]>14", 1),
        ("worst.bytes>+0", 2),
        ("bytes[^load$]>+0", 0),
        ("bytes>+0", 0),
    ] {
        let judged = pair.diff(&["--fail-if", limit]);
        assert_eq!(judged.status, status, "{limit}: {}", judged.stderr);
        let has_hint = judged.stderr.contains("--threshold=0");
        assert_eq!(has_hint, status == 2, "{limit}: {}", judged.stderr);
    }
    // In the other direction, pool now has 0 to 21 bytes.
    let pair = Pair::new(SHOWN, HIDDEN);
    for (limit, status) in [
        ("bytes[^pool$]>+6", 0),
        ("bytes[^pool$]>+5", 2),
        ("bytes[^pool$]>20", 2),
    ] {
        assert_eq!(pair.diff(&["--fail-if", limit]).status, status, "{limit}");
    }
}

#[test]
fn exit_code_is_undecided_if_only_rows_below_the_threshold_differ() {
    // One run of a program with two thresholds.
    let (all, some) = (
        "100 root\n 96 f:1\n 3 g:1\n 1 h:1",
        "100 root\n 96 f:1\n 4 2",
    );
    let judged = Pair::new(all, some).diff(&["--exit-code"]);
    assert_eq!(judged.status, 2, "{}", judged.stderr);
    assert!(judged.stderr.contains("--threshold=0"), "{}", judged.stderr);
    assert_eq!(Pair::new(some, some).diff(&["--exit-code"]).status, 0);
    assert_eq!(Pair::new(all, HIDDEN).diff(&["--exit-code"]).status, 1);
}

#[test]
fn reports_mark_rows_below_the_threshold() {
    let pair = Pair::new(SHOWN, HIDDEN);
    let diff = pair.diff(&["--all"]).stdout;
    let shown = |args: &[&str]| run("cg-fmt", args, &diff).text().to_owned();
    assert!(shown(&[]).contains("2 below-threshold"), "{}", shown(&[]));
    let csv = shown(&[
        "-f",
        "csv",
        "--columns",
        "bytes.old,bytes.new,bytes.delta,bytes.delta%,status,fn",
    ]);
    let expected = "15,,,,below-threshold,pool";
    assert!(csv.lines().any(|line| line == expected), "{csv}");
    let groups = shown(&[
        "-f",
        "csv",
        "--group-by",
        "file",
        "--columns",
        "bytes.delta,status,file",
    ]);
    assert!(groups.contains(",below-threshold,pool.c"), "{groups}");
    let markdown = shown(&["-f", "markdown"]);
    assert!(!markdown.contains("-15"), "{markdown}");
    let why = shown(&["-f", "csv", "--columns", "why,fn"]);
    assert!(why.contains("at most 21 bytes now,pool"), "{why}");
    // A picture shows it as neither removed nor changed, but as the cost in one run.
    let picture = shown(&["-f", "flamegraph"]);
    let title = "<title>pool (15 known in one run only) (15 bytes)";
    assert!(picture.contains(title), "{picture}");
    let (old, new) = (pair.path("old"), pair.path("new"));
    let direct = run("cg-fmt", &["-f", "flamegraph", "--diff", &old, &new], b"");
    assert!(direct.text().contains(title), "{}", direct.text());
}
