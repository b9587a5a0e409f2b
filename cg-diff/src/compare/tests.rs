//! The status, the name and the order of rows. The figures were computed by hand.

use super::*;
use crate::join::{JoinOptions, join, tests::options};
use crate::runs::tests::runs;

/// Converts functions `NAME CALLS COST [COST OF DR]` to a stream. Commas separate functions.
fn functions(text: &str) -> String {
    let mut stream = String::new();
    for function in text.split(", ") {
        let words: Vec<&str> = function.split(' ').collect();
        let more = words.get(3).map(|count| format!(",\"Dr\":{count}"));
        stream += &format!(
            "{{\"type\":\"fn\",\"fn\":\"{}\",\"file\":\"a.c\",\"calls\":{},\"cost\":{{\"Ir\":{}{}}}}}\n",
            words[0],
            words[1],
            words[2],
            more.unwrap_or_default()
        );
    }
    stream
}

fn with_runs<T>(texts: &[&str], take: impl FnOnce(Comparison) -> T, how: CompareOptions) -> T {
    let streams: Vec<String> = texts.iter().map(|text| functions(text)).collect();
    let streams: Vec<&str> = streams.iter().map(String::as_str).collect();
    let mut runs = runs(&streams);
    let joined = join(&mut runs, &options());
    take(compare(&runs, &joined, how))
}

/// Returns the changes in their order, as `NAME STATUS WEIGHT`.
fn changes(comparison: &Comparison) -> Vec<String> {
    let changes = comparison.changes.iter();
    let shown = |change: &Change| {
        let name = place(comparison.runs, change.shown.function)[0];
        format!(
            "{} {:?} {}",
            name.unwrap_or("-"),
            change.status,
            change.weight
        )
    };
    changes.map(shown).collect()
}

#[track_caller]
fn check(texts: &[&str], expected: &[&str]) {
    let found = with_runs(
        texts,
        |comparison| changes(&comparison),
        CompareOptions::default(),
    );
    assert_eq!(found, expected);
}

#[test]
fn changes_are_sorted_by_their_size_then_by_name() {
    check(
        &[
            "z 1 10, b 1 30, c 1 10, d 1 10",
            "z 1 15, b 1 27, c 1 13, d 1 10",
        ],
        &["z Changed 5", "b Changed 3", "c Changed 3", "d Same 0"],
    );
}

#[test]
fn equal_runs_have_no_changes() {
    let run = "f 1 10, g 2 0, h 3 7";
    check(&[run, run, run], &["f Same 0", "g Same 0", "h Same 0"]);
}

#[test]
fn swapped_runs_have_opposite_changes() {
    let (a, b) = ("f 1 10, g 1 5, h 1 3", "f 1 14, g 1 5, new 1 50");
    let deltas = |comparison: &Comparison| -> Vec<(String, Count)> {
        let delta = |change: &Change| {
            let figures = figures::row_figures(comparison.runs, comparison.joined, change.row);
            figures.cost[0].change(0, 1)
        };
        let names = changes(comparison).into_iter();
        names.zip(comparison.changes.iter().map(delta)).collect()
    };
    let both = [[a, b], [b, a]].map(|texts| {
        with_runs(
            &texts,
            |comparison| deltas(&comparison),
            CompareOptions::default(),
        )
    });
    let row = |text: &str, delta: Count| (text.to_owned(), delta);
    assert_eq!(
        both[0],
        [
            row("new Added 50", 50),
            row("f Changed 4", 4),
            row("h Removed 3", -3),
            row("g Same 0", 0)
        ]
    );
    assert_eq!(
        both[1],
        [
            row("new Removed 50", -50),
            row("f Changed 4", -4),
            row("h Added 3", 3),
            row("g Same 0", 0)
        ]
    );
}

#[test]
fn row_of_several_records_has_the_name_of_the_costliest_in_the_last_run() {
    let name = |new: &str| {
        let shown = |comparison: Comparison| {
            let change = &comparison.changes[0];
            let name = place(comparison.runs, change.shown.function)[0].unwrap();
            (
                name.to_owned(),
                change.has_several_names,
                comparison.changes.len(),
            )
        };
        with_runs(
            &["f.isra.0 1 90, f.isra.1 1 99", new],
            shown,
            CompareOptions::default(),
        )
    };
    assert_eq!(
        name("f.part.0 1 5, f.cold 1 6"),
        ("f.cold".to_owned(), true, 1)
    );
    assert_eq!(
        name("f.part.0 1 6, f.cold 1 5"),
        ("f.part.0".to_owned(), true, 1)
    );
    // Between equal records, the first.
    assert_eq!(
        name("f.part.0 1 5, f.cold 1 5"),
        ("f.part.0".to_owned(), true, 1)
    );
    assert_eq!(
        name("f.cold 1 5, f.part.0 1 5"),
        ("f.cold".to_owned(), true, 1)
    );
    assert_eq!(name("f 1 1"), ("f".to_owned(), false, 1));
}

#[test]
fn change_of_less_than_the_minimum_share_of_the_total_is_minor() {
    let minor = |old: &str, new: &str| -> Vec<String> {
        let how = CompareOptions {
            min_change: Some("1".parse().unwrap()),
            ..CompareOptions::default()
        };
        let minor = |comparison: Comparison| {
            let changes = comparison.changes.iter().filter(|change| change.is_minor);
            let name = |change: &Change| place(comparison.runs, change.shown.function)[0].unwrap();
            changes.map(|change| name(change).to_owned()).collect()
        };
        with_runs(&[old, new], minor, how)
    };
    // A hundredth of 1000 is 10.
    assert_eq!(
        minor("f 1 100, rest 1 900", "f 1 109, rest 1 891"),
        ["f", "rest"]
    );
    assert_eq!(minor("f 1 100, rest 1 900", "f 1 110, rest 1 890"), [""; 0]);
    assert_eq!(minor("f 1 110, rest 1 890", "f 1 100, rest 1 900"), [""; 0]);
    // More calls are a change, however little they cost.
    assert_eq!(
        minor("f 1 100, rest 1 900", "f 2 101, rest 1 899"),
        ["rest"]
    );
}

#[test]
fn any_change_of_a_leak_counts() {
    let leak = |bytes: u64| {
        format!(
            "{{\"type\":\"leak\",\"fn\":\"f\",\"kind\":\"definite\",\"cost\":{{\"bytes\":{bytes},\"blocks\":1}},\"stack\":[{{\"fn\":\"f\"}}]}}\n"
        )
    };
    let mut runs = runs(&[&leak(1000), &leak(1001)]);
    let of_leaks = JoinOptions {
        types: vec![RecordType::Leak],
        ..options()
    };
    let joined = join(&mut runs, &of_leaks);
    let how = CompareOptions {
        min_change: Some("50".parse().unwrap()),
        ..CompareOptions::default()
    };
    let comparison = compare(&runs, &joined, how);
    assert_eq!(comparison.changes.len(), 1);
    assert_eq!(comparison.changes[0].status, Status::Changed);
}

#[test]
fn rows_are_ranked_by_the_first_event_that_they_count() {
    // f changes by 9 Dr and no Ir, g by 1 Ir and 100 Dr.
    check(
        &["f 1 0 1, g 1 10 100", "f 1 0 10, g 1 11 200"],
        &["f Changed 9", "g Changed 1"],
    );
}

#[test]
fn limits_compare_pairs_of_runs() {
    let runs = runs(&["", "", ""]);
    let how = |reference: usize, is_to_previous: bool| CompareOptions {
        reference,
        is_to_previous,
        ..CompareOptions::default()
    };
    assert_eq!(how(0, false).pairs(&runs, false), [[0, 2]]);
    assert_eq!(how(1, false).pairs(&runs, false), [[1, 2]]);
    assert_eq!(how(0, true).pairs(&runs, false), [[1, 2]]);
    assert_eq!(how(0, false).pairs(&runs, true), [[0, 1], [0, 2]]);
    assert_eq!(how(1, false).pairs(&runs, true), [[1, 0], [1, 2]]);
    assert_eq!(how(0, true).pairs(&runs, true), [[0, 1], [1, 2]]);
}

#[test]
fn summary_counts_rows_by_status_and_by_rule() {
    let rules = options().rules;
    let found = with_runs(
        &["f 1 40, f.part.0 1 11, g 1 5, gone 1 3", "f 1 51, g 1 6"],
        |comparison| summary(&comparison, &rules),
        CompareOptions::default(),
    );
    let counts: Vec<(Status, u64)> = found.rows.into_iter().collect();
    assert_eq!(counts.iter().map(|(_, rows)| rows).sum::<u64>(), 3);
    assert!(counts.contains(&(Status::Removed, 1)) && counts.contains(&(Status::Changed, 2)));
    assert_eq!(found.merged, 1);
    assert_eq!(
        found.joined.into_iter().collect::<Vec<_>>(),
        [("compiler-clone".to_owned(), 1)]
    );
    assert_eq!((found.statistic, found.files), (None, vec![]));
}
