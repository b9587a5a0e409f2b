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

/// The rows of a peek in CSV: role, function, self and inclusive cost, calls.
fn peeked(run: &Run) -> Vec<String> {
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let rows = run.stdout.lines().skip(1);
    rows.map(str::to_owned).collect()
}

const COLUMNS: [&str; 4] = ["-f", "csv", "--columns", "role,fn,Ir,incl.Ir,calls"];

#[test]
fn a_peek_shows_callers_the_function_its_callees_and_nobody_else() {
    let peek = |wanted| {
        of_records(
            &[&["--peek", wanted][..], &COLUMNS].concat(),
            &[0, 1, 2, 3, 4, 5],
        )
    };
    assert_eq!(
        peeked(&peek("^f$")),
        ["<,main,,16,2", "*,f,10,16,", ">,g,,6,3", "^,main,,16,"]
    );
    // The nearest own callers are its callers: all are own.
    assert_eq!(
        peeked(&peek("^g$")),
        [
            "<,f,,6,3",
            "<,main,,2,1",
            "*,g,8,8,",
            "^,f,,6,",
            "^,main,,2,"
        ]
    );
    let nobody = of_records(&["--peek", "^h$"], &[0, 1, 2, 3, 4, 5]);
    assert_eq!((nobody.status, nobody.stdout.as_str()), (Some(2), ""));
    assert!(
        nobody.stderr.contains("no function matches \"^h$\""),
        "{}",
        nobody.stderr
    );
    let without = of_records(&["--peek", "^f$"], &[0, 1, 2]);
    assert_eq!(without.status, Some(2));
    let command = "cg-parse --calls 'out 7' | cg-fmt --peek '^f$'\n";
    assert!(without.stderr.ends_with(command), "{}", without.stderr);
}

/// `read` and `write` of C's library call `lock`, which calls `spin`; own `a` calls `read` for 30, own `b` `write` for 10.
#[test]
fn own_functions_behind_a_library_share_what_came_through_it() {
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
    let of_libc = |name: &str| format!("\"fn\":\"{name}\",{libc}");
    let stream = |spin: u64| {
        let mut text = "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":40}}\n".to_owned();
        text += &function("spin", &format!(",{libc}"), spin);
        for (from, to, incl) in [
            (own("a"), "read", 30),
            (own("b"), "write", 10),
            (of_libc("read"), "lock", 30),
            (of_libc("write"), "lock", 10),
            // A circle, out of which all comes in the end.
            (of_libc("spin"), "lock", 0),
            (of_libc("lock"), "spin", spin),
        ] {
            text += &call(from, to, incl);
        }
        text + "{\"type\":\"end\",\"records\":7}\n"
    };
    let args = [&["--peek", "^spin$"][..], &COLUMNS].concat();
    let run = cg_fmt(&args, &stream(20));
    // Of the 20, three parts of four came by `a`.
    assert_eq!(
        peeked(&run),
        [
            "<,lock,,20,1",
            "*,spin,0,20,",
            ">,lock,,0,1",
            "^,a,,15,",
            "^,b,,5,"
        ]
    );
    let told = cg_fmt(&["--peek", "^spin$"], &stream(20)).stdout;
    assert!(told.contains("several callers are estimated"), "{told}");
    let told = cg_fmt(&["--peek", "^read$"], &stream(20)).stdout;
    assert!(!told.contains("estimated"), "{told}");
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
        peeked(&run),
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
    let told = cg_fmt(&["--peek", "^lock$"], &text).stdout;
    assert!(
        told.contains("nearest on each way") && !told.contains("estimated"),
        "{told}"
    );
}
