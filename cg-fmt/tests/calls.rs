//! Views of calls: what a stream lacks is said, and what is there is shown.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use super::behaviour::{Run, cg_fmt};

/// `main` calls `f` twice and `g` once; `f` calls `g` three times. What each costs itself: 5, 10, 8.
const RECORDS: [&str; 6] = [
    r#"{"type":"fn","fn":"main","file":"a.c","calls":0,"cost":{"Ir":5},"incl":{"Ir":23}}"#,
    r#"{"type":"fn","fn":"f","file":"a.c","calls":2,"cost":{"Ir":10},"incl":{"Ir":16}}"#,
    r#"{"type":"fn","fn":"g","file":"a.c","calls":4,"cost":{"Ir":8},"incl":{"Ir":8}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","line":1,"callee":{"fn":"f","file":"a.c"},"calls":2,"incl":{"Ir":16}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","line":2,"callee":{"fn":"g","file":"a.c"},"calls":1,"incl":{"Ir":2}}"#,
    r#"{"type":"call","fn":"f","file":"a.c","line":3,"callee":{"fn":"g","file":"a.c"},"calls":3,"incl":{"Ir":6}}"#,
];

/// What cg-fmt makes of some of the records of a stream that was written with all six.
fn of_records(args: &[&str], records: &[usize]) -> Run {
    let mut stream = "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"source\":[\"out 7\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":23}}\n".to_owned();
    for record in records {
        stream += RECORDS[*record];
        stream += "\n";
    }
    stream += "{\"type\":\"end\",\"records\":6}\n";
    cg_fmt(args, &stream)
}

#[test]
fn calls_that_a_filter_took_out_of_a_tree_are_told() {
    let cases: &[(&str, &[usize], &str)] = &[
        ("both", &[0, 1, 2, 3, 4, 5], ""),
        // All that is known of `f` is there.
        ("both", &[1, 3, 5], ""),
        (
            "callers",
            &[0, 1, 2, 3, 4],
            "calls to 1 function are not in the input, and not in the tree: of g it has 1 of its 4 calls",
        ),
        (
            "callees",
            &[0, 1, 2, 4, 5],
            "calls to 1 function are not in the input, and not in the tree: of f it has 0 of its 2 calls",
        ),
        // Neither `g` nor the calls to it.
        (
            "callees",
            &[0, 1, 3],
            "callees of 2 functions may not be in the input, and not in the tree: main costs 23, itself and those in the tree 21",
        ),
        ("callers", &[0, 1, 3], ""),
        ("callers", &[3, 4, 5], "there are no fn records"),
    ];
    for (which, records, expected) in cases {
        let run = of_records(&["--tree", which], records);
        assert_eq!(run.status, Some(0), "{records:?}");
        match expected.is_empty() {
            true => assert_eq!(run.stderr, "", "{which} {records:?}"),
            false => assert!(run.stderr.contains(expected), "{}", run.stderr),
        }
    }
}

#[test]
fn a_tree_of_calls_alone_has_their_functions_without_self_cost() {
    let run = of_records(
        &["--tree", "callers", "--columns", "Ir,incl.Ir,role,fn"],
        &[3, 4, 5],
    );
    let rows: Vec<&str> = run.stdout.lines().skip(3).map(str::trim).collect();
    assert_eq!(
        rows,
        [
            "23              PROGRAM TOTALS",
            "16  <  main (2x)",
            "16  *  f",
            "",
            "6  <  f (3x)",
            "2  <  main (1x)",
            "8  *  g",
            "",
            "*  main",
        ]
    );
}

#[test]
fn a_view_without_its_records_is_2_and_names_the_whole_command() {
    for (args, records, command) in [
        (
            &["--tree", "both"][..],
            &[0, 1][..],
            "cg-filter --calls REGEX 'out 7' | cg-fmt --tree both\n",
        ),
        (
            &["--source=src"],
            &[0, 1],
            "cg-filter --lines REGEX 'out 7' | cg-fmt --source=src\n",
        ),
        (
            &["-f", "folded"],
            &[0, 1],
            "cg-filter --stacks REGEX 'out 7' | cg-fmt -f folded\n",
        ),
        (
            &["-f", "flamegraph"],
            &[0, 1, 2, 3, 4, 5],
            "cg-parse --stacks 'out 7' | cg-fmt -f flamegraph, or for some functions cg-filter --stacks REGEX 'out 7' | cg-fmt -f flamegraph\n",
        ),
    ] {
        let run = of_records(args, records);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.ends_with(command), "{}", run.stderr);
    }
}
