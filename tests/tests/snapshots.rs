//! Comparisons of two snapshots of Massif: as a tree, as a diff, on a page.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::data;
use tests::made_massif::massif;
use tests::tools::{Run, run};

const SHOWN: &str = "1000 root\n 980 load:31\n  980 main:9\n 15 pool:8\n  15 main:9\n 5 3";
const HIDDEN: &str = "2000 root\n 1979 load:31\n  1500 main:9\n  479 main:12\n 21 4";

/// Writes a file with these snapshots. The file exists until the folder is dropped.
fn file(trees: &[Option<&str>]) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("massif.out");
    fs::write(&path, massif(trees)).unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

fn tree(file: &str, snapshots: &str, args: &[&str]) -> Run {
    let which = format!("snapshot={snapshots}");
    run(
        "cg-fmt",
        &[&["--tree", &which][..], args, &[file]].concat(),
        b"",
    )
}

/// Returns the rows of `-f csv`, by column name.
fn rows(file: &str, snapshots: &str) -> Vec<BTreeMap<String, String>> {
    let written = tree(file, snapshots, &["-f", "csv"]);
    assert_eq!(written.status, 0, "{}", written.stderr);
    let mut reader = csv::Reader::from_reader(&written.stdout[..]);
    let rows = reader.deserialize().map(Result::unwrap);
    rows.collect()
}

/// Returns the rows as `depth old new delta status function`. `-` replaces an omitted value.
fn shown(file: &str, snapshots: &str) -> Vec<String> {
    let field = |row: &BTreeMap<String, String>, name: &str| match row[name].as_str() {
        "" => "-".to_owned(),
        text => text.to_owned(),
    };
    let row = |row: BTreeMap<String, String>| {
        let names = ["depth", "bytes.old", "bytes.new", "bytes.delta", "status"];
        let figures = names.map(|name| field(&row, name)).join(" ");
        let name = row["fn"].clone() + &row["line"] + &row["what"];
        format!("{figures} {name}")
    };
    rows(file, snapshots).into_iter().map(row).collect()
}

#[test]
fn tree_has_both_figures_but_no_change_below_the_threshold() {
    let (_folder, file) = file(&[Some(SHOWN), Some(HIDDEN)]);
    assert_eq!(
        shown(&file, "0..1"),
        [
            "0 1000 2000 1000 changed total",
            "1 980 1979 999 changed load31",
            "2 980 1500 520 changed main9",
            "2 - 479 479 added main12",
            "1 20 21 1 changed cost below Massif's threshold in one snapshot",
            "2 5 21 - below-threshold places below Massif's threshold: 3 → 4",
            "2 15 - - below-threshold pool8",
            "3 15 - - below-threshold main9",
        ]
    );
    let people = tree(&file, "0..1", &[]);
    for words in [
        "snapshot 0 → 1: 1,000 → 2,000 bytes on the heap (+1,000)",
        "below Massif's threshold in one snapshot; rerun Massif with --threshold=0",
    ] {
        assert!(people.text().contains(words), "{}", people.text());
    }
    assert!(!people.text().contains("-100"), "{}", people.text());
    // If the new tree has no places below the threshold, or only ones without bytes, a missing place is removed.
    let whole = "1979 root\n 1979 load:31\n  1979 main:9";
    for whole in [whole, &format!("{whole}\n 0 4")] {
        let (_folder, file) = self::file(&[Some(SHOWN), Some(whole)]);
        let shown = shown(&file, "0..1");
        assert!(
            shown.contains(&"1 15 - -15 removed pool8".to_owned()),
            "{shown:?}"
        );
    }
}

#[test]
fn changes_below_a_node_add_up_to_the_change_of_the_node() {
    let real = data("massif/3.19.0-heapy_i.massif.out");
    let (_folder, made) = file(&[
        Some(SHOWN),
        Some(HIDDEN),
        Some("60 root\n 50 load:31\n  30 main:9"),
    ]);
    let real = real.to_str().unwrap();
    for (file, pairs) in [
        (real, &["21..36", "29..94", "36..21"][..]),
        (&made, &["0..1", "1..2", "0..2"]),
    ] {
        for pair in pairs {
            let rows = rows(file, pair);
            let number = |row: usize, name: &str| rows[row][name].parse::<i64>();
            let depth = |row: usize| number(row, "depth").unwrap();
            let mut sums = 0;
            for row in 0..rows.len() {
                let inside = (row + 1..rows.len()).take_while(|inner| depth(*inner) > depth(row));
                let below: Vec<usize> = inside
                    .filter(|inner| depth(*inner) == depth(row) + 1)
                    .collect();
                let sum: Option<i64> = below
                    .iter()
                    .map(|inner| number(*inner, "bytes.delta").ok())
                    .sum();
                let (Some(sum), Ok(delta), false) =
                    (sum, number(row, "bytes.delta"), below.is_empty())
                else {
                    continue;
                };
                assert_eq!(sum, delta, "{file} {pair}: {:?}", rows[row]);
                sums += 1;
            }
            assert!(sums > 1, "{file} {pair}");
        }
    }
}

#[test]
fn swapping_snapshots_negates_changes_and_equal_snapshots_have_none() {
    let real = data("massif/3.19.0-heapy_i.massif.out");
    let (_folder, made) = file(&[Some(SHOWN), Some(HIDDEN)]);
    for (file, [a, b]) in [(real.to_str().unwrap(), ["21", "36"]), (&made, ["0", "1"])] {
        let rows_of = |pair: &str, [old, new, sign]: [&str; 3]| {
            let row = |row: BTreeMap<String, String>| {
                let delta = row["bytes.delta"].parse::<i64>().ok();
                let delta = delta.map(|delta| if sign == "-" { -delta } else { delta });
                let places = ["places.old", "places.new"].map(|name| row[name].clone());
                assert_eq!(
                    places.iter().all(String::is_empty),
                    !row["what"].contains("places below")
                );
                (
                    row["depth"].clone(),
                    row["fn"].clone(),
                    row["line"].clone(),
                    row[old].clone(),
                    row[new].clone(),
                    delta,
                )
            };
            let mut rows: Vec<_> = rows(file, pair).into_iter().map(row).collect();
            rows.sort();
            rows
        };
        let forward = rows_of(&format!("{a}..{b}"), ["bytes.old", "bytes.new", "+"]);
        let back = rows_of(&format!("{b}..{a}"), ["bytes.new", "bytes.old", "-"]);
        assert_eq!(forward, back, "{file}");
        assert!(forward.len() > 5, "{file}");
        let same = rows(file, &format!("{a}..{a}"));
        assert!(
            same.len() < 3 && same.iter().all(|row| row["bytes.delta"] == "0"),
            "{same:?}"
        );
    }
}

#[test]
fn compared_trees_equal_the_single_trees() {
    let real = data("massif/3.19.0-heapy_i.massif.out");
    let real = real.to_str().unwrap();
    let alone = |number: &str| {
        let written = tree(real, number, &["-f", "csv", "--columns", "bytes"]);
        let total = written.text().lines().nth(1).unwrap();
        total.parse::<i64>().unwrap()
    };
    let total = &rows(real, "29..36")[0];
    assert_eq!(total["bytes.old"], alone("29").to_string());
    assert_eq!(total["bytes.new"], alone("36").to_string());
    assert_eq!(
        total["bytes.delta"],
        (alone("36") - alone("29")).to_string()
    );
}

#[test]
fn snapshot_without_a_tree_is_replaced_by_the_newest_before_it_with_a_note() {
    let (_folder, file) = file(&[None, Some(SHOWN), None, Some(HIDDEN)]);
    let note = "snapshot 2 has no tree; the newest earlier tree is used, of snapshot 1";
    let people = tree(&file, "2..3", &[]);
    assert!(people.text().contains(note), "{}", people.text());
    let programs = tree(&file, "2..3", &["-f", "csv"]);
    assert_eq!(programs.stderr, format!("cg-fmt: {note}\n"));
    assert_eq!(programs.stdout, tree(&file, "1..3", &["-f", "csv"]).stdout);
    for (snapshots, expected) in [
        (
            "0..3",
            "cg-fmt: snapshot 0 has no tree, and no earlier one has a tree; snapshots with a tree: 1, 3\n",
        ),
        (
            "1..9",
            "cg-fmt: there is no snapshot 9; snapshots with a tree: 1, 3\n",
        ),
    ] {
        let refused = tree(&file, snapshots, &[]);
        assert_eq!((refused.status, refused.stderr.as_str()), (2, expected));
    }
    for bad in ["1..", "..3", "1..2..3", "1...3", "x"] {
        let refused = tree(&file, bad, &[]);
        assert_eq!(refused.status, 2, "{bad}");
        assert!(
            refused.stderr.contains("snapshot=N..M"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn row_formats_have_the_tree_and_stack_formats_give_a_hint() {
    let (_folder, file) = file(&[Some(SHOWN), Some(HIDDEN)]);
    for (format, words) in [
        ("markdown", "+1,000"),
        ("html", "places below Massif"),
        ("tsv", "below-threshold"),
    ] {
        let written = tree(&file, "0..1", &["-f", format]);
        assert_eq!(written.status, 0, "{}", written.stderr);
        assert!(
            written.text().contains(words),
            "{format}: {}",
            written.text()
        );
    }
    let refused = tree(&file, "0..1", &["-f", "flamegraph"]);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("cg-diff --snapshot N..M"),
        "{}",
        refused.stderr
    );
    assert_eq!(tree(&file, "0..1", &["-f", "json"]).status, 2);
}

#[test]
fn diff_of_two_snapshots_equals_the_diff_of_two_runs_with_these_peaks() {
    let (_folder, file) = file(&[Some(SHOWN), Some(HIDDEN)]);
    let (_old_folder, old) = self::file(&[Some(SHOWN)]);
    let (_new_folder, new) = self::file(&[Some(HIDDEN)]);
    let rows = |args: &[&str]| -> Vec<Value> {
        let written = run("cg-diff", args, b"");
        assert_eq!(written.status, 0, "{}", written.stderr);
        let records = written
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let records: Vec<Value> = records.collect();
        let records_of_type = |name: &str| {
            records
                .iter()
                .filter(|record| record["type"] == name)
                .cloned()
                .collect::<Vec<Value>>()
        };
        assert_eq!(
            records_of_type("run")[0]["total"],
            json!({"bytes": [1000, 2000]})
        );
        records_of_type("diff")
    };
    let snapshots = rows(&["--snapshot", "0..1", &file]);
    assert_eq!(snapshots, rows(&[&old, &new]));
    assert_eq!(snapshots, rows(&["--snapshot", "0..peak", &file]));
    // The input can be a stream with all trees.
    let stream = run("cg-parse", &["--snapshots", "all", &file], b"").stdout;
    let kept = format!("{file}.jsonl");
    fs::write(&kept, stream).unwrap();
    assert_eq!(snapshots, rows(&["--snapshot", "0..1", &kept]));
    // Several files give one snapshot each.
    assert_eq!(snapshots, rows(&["--snapshot", "0..1", &file, &file]));
    let diff = run("cg-diff", &["--snapshot", "0..1", &file], b"");
    let picture = run("cg-fmt", &["-f", "flamegraph"], &diff.stdout);
    assert!(
        picture.text().contains("pool (15 known in one run only)"),
        "{}",
        picture.text()
    );
    // A diff within one run does not contain the snapshots, which would be the same for both sides.
    assert!(
        !diff.text().contains("\"type\":\"snapshot\""),
        "{}",
        diff.text()
    );
    for (args, expected) in [
        (
            &["--snapshot", "0..1..1", &file, &file][..],
            "cg-diff: --snapshot has 3 snapshots for 2 runs\n",
        ),
        (&["--snapshot", "0..7", &file], "7"),
        (&["--snapshot", "0..x", &file], "N..M"),
    ] {
        let refused = run("cg-diff", args, b"");
        assert_eq!(refused.status, 2, "{args:?}");
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}
