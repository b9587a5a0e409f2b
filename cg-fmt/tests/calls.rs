//! Views of calls: they report missing records, and show the available records.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use super::behaviour::{Run, cg_fmt};

/// `main` calls `f` twice and `g` once. `f` calls `g` three times. The self costs are 5, 10 and 8.
const RECORDS: [&str; 6] = [
    r#"{"type":"fn","fn":"main","file":"a.c","calls":0,"cost":{"Ir":5},"incl":{"Ir":23}}"#,
    r#"{"type":"fn","fn":"f","file":"a.c","calls":2,"cost":{"Ir":10},"incl":{"Ir":16}}"#,
    r#"{"type":"fn","fn":"g","file":"a.c","calls":4,"cost":{"Ir":8},"incl":{"Ir":8}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","line":1,"callee":{"fn":"f","file":"a.c"},"calls":2,"incl":{"Ir":16}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","line":2,"callee":{"fn":"g","file":"a.c"},"calls":1,"incl":{"Ir":2}}"#,
    r#"{"type":"call","fn":"f","file":"a.c","line":3,"callee":{"fn":"g","file":"a.c"},"calls":3,"incl":{"Ir":6}}"#,
];

/// Runs cg-fmt with some of the records of a stream whose `end` counts all six.
fn run_with_records(args: &[&str], records: &[usize]) -> Run {
    let mut stream = "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"source\":[\"out 7\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":23}}\n".to_owned();
    for record in records {
        stream += RECORDS[*record];
        stream += "\n";
    }
    stream += "{\"type\":\"end\",\"records\":6}\n";
    cg_fmt(args, &stream)
}

#[test]
fn calls_removed_by_a_filter_are_reported() {
    let cases: &[(&str, &[usize], &str)] = &[
        ("both", &[0, 1, 2, 3, 4, 5], ""),
        // All records about `f` are present.
        ("both", &[1, 3, 5], ""),
        (
            "callers",
            &[0, 1, 2, 3, 4],
            "incomplete tree: the input lacks calls to 1 function (g: 1 of 4 calls present)",
        ),
        (
            "callees",
            &[0, 1, 2, 4, 5],
            "incomplete tree: the input lacks calls to 1 function (f: 0 of 2 calls present)",
        ),
        // The input lacks `g` and the calls to it.
        (
            "callees",
            &[0, 1, 3],
            "incomplete tree: the input may lack callees of 2 functions (main: inclusive cost 23, self cost and callees 21)",
        ),
        ("callers", &[0, 1, 3], ""),
        ("callers", &[3, 4, 5], "the input has no fn records"),
    ];
    for (which, records, expected) in cases {
        let run = run_with_records(&["--tree", which], records);
        assert_eq!(run.status, Some(0), "{records:?}");
        match expected.is_empty() {
            true => assert_eq!(run.stderr, "", "{which} {records:?}"),
            false => assert!(run.stderr.contains(expected), "{}", run.stderr),
        }
    }
}

#[test]
fn a_tree_without_fn_records_has_functions_without_self_cost() {
    let run = run_with_records(
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
fn a_view_without_its_records_fails_and_names_the_whole_command() {
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
        let run = run_with_records(args, records);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.ends_with(command), "{}", run.stderr);
    }
}

/// Returns the rows of a peek in CSV: role, function, self cost, inclusive cost, calls.
fn peek_rows(run: &Run) -> Vec<String> {
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let rows = run.stdout.lines().skip(1);
    rows.map(str::to_owned).collect()
}

const COLUMNS: [&str; 4] = ["-f", "csv", "--columns", "role,fn,Ir,incl.Ir,calls"];

#[test]
fn a_peek_shows_the_function_with_callers_callees_and_own_callers() {
    let peek = |wanted| {
        run_with_records(
            &[&["--peek", wanted][..], &COLUMNS].concat(),
            &[0, 1, 2, 3, 4, 5],
        )
    };
    assert_eq!(
        peek_rows(&peek("^f$")),
        ["<,main,,16,2", "*,f,10,16,", ">,g,,6,3", "^,main,,16,"]
    );
    // All callers are own functions, so the nearest own functions are the callers.
    assert_eq!(
        peek_rows(&peek("^g$")),
        [
            "<,f,,6,3",
            "<,main,,2,1",
            "*,g,8,8,",
            "^,f,,6,",
            "^,main,,2,"
        ]
    );
    let unmatched = run_with_records(&["--peek", "^h$"], &[0, 1, 2, 3, 4, 5]);
    assert_eq!((unmatched.status, unmatched.stdout.as_str()), (Some(2), ""));
    assert!(
        unmatched.stderr.contains("no function matches \"^h$\""),
        "{}",
        unmatched.stderr
    );
    let without = run_with_records(&["--peek", "^f$"], &[0, 1, 2]);
    assert_eq!(without.status, Some(2));
    let command = "cg-parse --calls 'out 7' | cg-fmt --peek '^f$'\n";
    assert!(without.stderr.ends_with(command), "{}", without.stderr);
}

/// `read` and `write` of the C library call `lock`, which calls `spin`. The program's own function `a` calls `read` for 30,
/// and its own function `b` calls `write` for 10.
#[test]
fn own_callers_of_a_library_share_the_cost_of_its_inner_functions() {
    let libc = "\"obj\":\"/usr/lib/libc.so.6\"";
    let function = |name: &str, obj: &str, incl: u64| {
        format!(
            "{{\"type\":\"fn\",\"fn\":\"{name}\"{obj},\"calls\":1,\"cost\":{{\"Ir\":0}},\"incl\":{{\"Ir\":{incl}}}}}\n"
        )
    };
    let call = |from: String, to: &str, incl: u64| {
        format!(
            "{{\"type\":\"call\",{from},\"callee\":{{\"fn\":\"{to}\",{libc}}},\"calls\":1,\"incl\":{{\"Ir\":{incl}}}}}\n"
        )
    };
    let own = |name: &str| format!("\"fn\":\"{name}\",\"file\":\"a.c\"");
    let in_libc = |name: &str| format!("\"fn\":\"{name}\",{libc}");
    let stream = |spin: u64| {
        let mut text = "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":40}}\n".to_owned();
        text += &function("spin", &format!(",{libc}"), spin);
        for (from, to, incl) in [
            (own("a"), "read", 30),
            (own("b"), "write", 10),
            (in_libc("read"), "lock", 30),
            (in_libc("write"), "lock", 10),
            // A cycle. All of its cost reaches the callers in the end.
            (in_libc("spin"), "lock", 0),
            (in_libc("lock"), "spin", spin),
        ] {
            text += &call(from, to, incl);
        }
        text + "{\"type\":\"end\",\"records\":7}\n"
    };
    let args = [&["--peek", "^spin$"][..], &COLUMNS].concat();
    let run = cg_fmt(&args, &stream(20));
    // `a` caused three quarters of the 20.
    assert_eq!(
        peek_rows(&run),
        [
            "<,lock,,20,1",
            "*,spin,0,20,",
            ">,lock,,0,1",
            "^,a,,15,",
            "^,b,,5,"
        ]
    );
    let table = cg_fmt(&["--peek", "^spin$"], &stream(20)).stdout;
    assert!(table.contains("several callers are estimated"), "{table}");
    let table = cg_fmt(&["--peek", "^read$"], &stream(20)).stdout;
    assert!(!table.contains("estimated"), "{table}");
}

#[test]
fn a_peek_at_stacks_is_exact() {
    let stacks = [
        ("write;lock;copy;b;main", 5),
        ("write;lock;copy;a;main", 7),
        ("lock;a;main", 2),
        // Recursion counts once.
        ("lock;copy;lock;copy;a;main", 3),
        ("a;main", 11),
    ];
    let mut text = "{\"type\":\"run\",\"stream\":1,\"tool\":\"perf\",\"events\":[\"samples\"],\"total\":{\"samples\":28}}\n".to_owned();
    for (stack, samples) in stacks {
        let frame = |name: &str| match name {
            "a" | "b" | "main" => format!("{{\"fn\":\"{name}\",\"file\":\"a.c\"}}"),
            name => format!("{{\"fn\":\"{name}\",\"obj\":\"/usr/lib/libc.so.6\"}}"),
        };
        let frames: Vec<String> = stack.split(';').map(frame).collect();
        let innermost = stack.split(';').next().unwrap();
        text += &format!(
            "{{\"type\":\"stack\",\"fn\":\"{innermost}\",\"cost\":{{\"samples\":{samples}}},\"stack\":[{}]}}\n",
            frames.join(",")
        );
    }
    text += "{\"type\":\"end\",\"records\":5}\n";
    let columns = "role,fn,samples,incl.samples,calls";
    let run = cg_fmt(
        &["--peek", "^lock$", "-f", "csv", "--columns", columns],
        &text,
    );
    assert_eq!(
        peek_rows(&run),
        [
            "<,copy,,15,",
            "<,a,,2,",
            "*,lock,5,17,",
            ">,write,,12,",
            "^,a,,12,",
            "^,b,,5,",
        ]
    );
    let markdown = cg_fmt(&["--peek", "^lock$", "-f", "markdown"], &text).stdout;
    assert!(
        markdown.contains("| | | 15 | 53.57% | &lt; | `copy` |"),
        "{markdown}"
    );
    let table = cg_fmt(&["--peek", "^lock$"], &text).stdout;
    assert!(
        table.contains("nearest own function on each path") && !table.contains("estimated"),
        "{table}"
    );
}

#[test]
fn inclusive_cost_that_may_count_twice_is_an_upper_bound() {
    // `f` has code in two places, and calls something.
    let chain = |function: &str, outer: &str, own: u64, incl: u64| {
        format!(
            "{{\"type\":\"inline\",\"fn\":\"{function}\",\"cost\":{{\"Ir\":{own}}},\"incl\":{{\"Ir\":{incl}}},\"stack\":[{{\"fn\":\"{function}\"}}{outer}]}}\n"
        )
    };
    let stream = chain("f", "", 30, 60)
        + &chain("f", ",{\"fn\":\"main\"}", 10, 90)
        + &chain("main", "", 5, 95);
    let columns = ["--columns", "Ir,incl.Ir,fn"];
    let table = cg_fmt(&columns, &stream).stdout;
    assert!(table.contains("40     ≤150  f\n"), "{table}");
    assert!(table.contains(" 5       95  main\n"), "{table}");
    let markdown = cg_fmt(&["-f", "markdown", columns[0], columns[1]], &stream).stdout;
    assert!(markdown.contains("≤150"), "{markdown}");
    let csv = cg_fmt(
        &["-f", "csv", "--columns", "incl.Ir,incl_bound,fn"],
        &stream,
    )
    .stdout;
    assert_eq!(csv, "incl.Ir,incl_bound,fn\n150,true,f\n95,,main\n");
}

#[test]
fn bounds_of_a_diff_are_marked_in_csv_and_tsv() {
    let stream = "{\"type\":\"run\",\"stream\":1,\"runs\":[\"a\",\"b\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[900,950]}}\n\
        {\"type\":\"diff\",\"fn\":\"f\",\"of\":\"fn\",\"status\":\"changed\",\"cost\":{\"Ir\":[40,90]},\"incl_bound\":{\"Ir\":[150,200]},\"delta\":{\"Ir\":50}}\n\
        {\"type\":\"diff\",\"fn\":\"main\",\"of\":\"fn\",\"status\":\"same\",\"cost\":{\"Ir\":[5,5]},\"incl\":{\"Ir\":[900,950]},\"delta\":{\"Ir\":0},\"incl_delta\":{\"Ir\":50}}\n\
        {\"type\":\"end\",\"records\":2}\n";
    let columns = "incl.Ir.old,incl.Ir.new,incl_bound,fn";
    let csv = cg_fmt(&["-f", "csv", "--columns", columns], stream).stdout;
    assert_eq!(
        csv,
        "incl.Ir.old,incl.Ir.new,incl_bound,fn\n150,200,true,f\n900,950,,main\n"
    );
    let all = cg_fmt(&["-f", "tsv"], stream).stdout;
    assert!(all.contains("\tincl_bound\t"), "{all}");
    let exact = stream.replace("incl_bound", "incl");
    let exact = cg_fmt(&["-f", "tsv"], &exact).stdout;
    assert!(!exact.contains("incl_bound"), "{exact}");
}
