//! Runs cg-filter on small streams and checks the kept lines.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

const RUN: &str = r#"{"type":"run","stream":1,"tool":"callgrind","events":["Ir","Dr"],"total":{"Ir":1000,"Dr":20}}"#;
const END: &str = r#"{"type":"end","records":5}"#;

/// Five functions, and one record of an unknown type.
const FUNCTIONS: [&str; 6] = [
    r#"{"type":"fn","fn":"demo::main","file":"src/main.rs","obj":"demo","calls":1,"cost":{"Ir":500},"incl":{"Ir":1000}}"#,
    r#"{"type":"fn","fn":"demo::parse","file":"src/parse.rs","obj":"demo","calls":7,"cost":{"Ir":300,"Dr":20},"incl":{"Ir":490}}"#,
    r#"{"fn":"std::\"Vec\"<T>::push","calls":40, "cost":{"Dr":0,"Ir":150},"obj":"demo","type":"fn","later":[{"fn":"x"}]}"#,
    r#"{"type":"fn","file":"src/parse.rs","calls":0,"cost":{"Ir":40}}"#,
    r#"{"type":"fn","fn":"malloc","obj":"libc.so.6","calls":9,"cost":{"Ir":10}}"#,
    r#"{"type":"weather","degrees":21}"#,
];

/// Runs cg-filter.
fn filter(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cg-filter"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // cg-filter does not read its input if it refuses the arguments.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn stream(lines: &[&str]) -> String {
    let mut text = RUN.to_owned() + "\n";
    for line in lines {
        text += line;
        text += "\n";
    }
    text + END + "\n"
}

/// Returns the positions of the kept records in the input, in the order of the output. Checks that `run` and `end` are kept.
fn kept(args: &[&str], lines: &[&str]) -> Vec<usize> {
    let output = filter(args, stream(lines).as_bytes());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.as_str()),
        (Some(0), ""),
        "{args:?}"
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut left: Vec<&str> = stdout.lines().collect();
    assert_eq!((left.remove(0), left.pop()), (RUN, Some(END)), "{args:?}");
    left.iter()
        .map(|line| lines.iter().position(|known| known == line).unwrap())
        .collect()
}

#[test]
fn records_that_match_all_conditions_are_kept() {
    let cases: &[(&[&str], &[usize])] = &[
        (&[""], &[0, 1, 2, 3, 4, 5]),
        (&["^demo::"], &[0, 1, 5]),
        (&["-v", "^demo::"], &[2, 3, 4, 5]),
        (&["-e", "main", "-e", "^malloc$"], &[0, 4, 5]),
        (&["-i", "MALLOC"], &[4, 5]),
        (&["-x", "malloc|demo"], &[4, 5]),
        (&["-w", "demo"], &[0, 1, 5]),
        (&["-F", "\"Vec\"<T>"], &[2, 5]),
        (&["^$"], &[3, 5]),
        (&["--file", "parse"], &[1, 3, 5]),
        (&["--file", "parse", "^demo"], &[1, 5]),
        (&["--file", "parse", "-v", "^demo"], &[0, 2, 3, 4, 5]),
        (&["--obj", "^libc", "--obj", "^$"], &[3, 4, 5]),
        (&["--crate", "demo"], &[0, 1, 5]),
        (&["--crate", "dem"], &[5]),
        (&["--crate", "demo,std"], &[0, 1, 2, 5]),
        (&["-v", "--crate", "demo", "--crate", "std"], &[3, 4, 5]),
        (&["--crate", "libc.so.6"], &[4, 5]),
        (&["--module", "demo"], &[0, 1, 5]),
        (&["--module", "demo::main"], &[5]),
        (&["--crate", "demo", "parse"], &[1, 5]),
        (&["--min", "Ir=150"], &[0, 1, 2, 5]),
        (&["--min", "Dr=1"], &[1, 5]),
        (&["--min", "calls=7", "--min", "Ir=100"], &[1, 2, 5]),
        (&["--min", "incl.Ir=491"], &[0, 5]),
        (&["--min-percent", "Ir=15%"], &[0, 1, 2, 5]),
        (&["--min-percent", "Dr=100"], &[1, 5]),
        (&["--type", "weather"], &[5]),
        (&["--type", "fn,line", "malloc"], &[4]),
        (&["--top", "2"], &[0, 1, 5]),
        (&["--top", "2", "--sort", "calls"], &[2, 4, 5]),
        (&["--sort", "calls"], &[2, 4, 1, 0, 3, 5]),
        (&["--top", "1", "--file", "parse"], &[1, 5]),
        (&["--threshold", "80"], &[0, 1, 5]),
        (&["--threshold", "80.1"], &[0, 1, 2, 5]),
        (&["--threshold", "0"], &[5]),
        (&["--threshold", "100"], &[0, 1, 2, 3, 4, 5]),
        (&["no such function"], &[5]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &FUNCTIONS), *expect, "{args:?}");
    }
}

/// `main` calls `f` and `g`; `f` calls `malloc`. The test also reverses the order, so that arcs come first.
const GRAPH: [&str; 9] = [
    r#"{"type":"fn","fn":"main","file":"a.c","obj":"p","cost":{"Ir":5}}"#,
    r#"{"type":"fn","fn":"f","file":"a.c","obj":"p","cost":{"Ir":4}}"#,
    r#"{"type":"fn","fn":"f","file":"other.c","obj":"p","cost":{"Ir":3}}"#,
    r#"{"type":"fn","fn":"g","file":"a.c","obj":"p","cost":{"Ir":2}}"#,
    r#"{"type":"fn","fn":"malloc","obj":"libc","cost":{"Ir":1}}"#,
    r#"{"type":"line","fn":"f","file":"inlined.h","obj":"p","line":3,"cost":{"Ir":4}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","obj":"p","line":1,"callee":{"fn":"f","file":"a.c","obj":"p"},"calls":1,"incl":{"Ir":5}}"#,
    r#"{"type":"call","fn":"main","file":"a.c","obj":"p","line":2,"callee":{"fn":"g","file":"a.c","obj":"p"},"calls":1,"incl":{"Ir":2}}"#,
    r#"{"type":"call","fn":"f","file":"a.c","obj":"p","callee":{"obj":"libc","fn":"malloc"},"calls":1,"incl":{"Ir":1}}"#,
];

#[test]
fn callers_and_callees_are_found_through_call_records() {
    let cases: &[(&[&str], &[usize])] = &[
        (&["--caller", "^main$"], &[1, 3, 5, 6, 7]),
        (&["--callee", "malloc"], &[1, 5, 8]),
        (&["--caller", "main", "--callee", "malloc"], &[1, 5]),
        (&["--caller", "main", "--type", "fn"], &[1, 3]),
        (&["--caller", "main", "-v", "--type", "fn"], &[0, 2, 4]),
        (&["--caller", "main", "--type", "fn", "--top", "1"], &[1]),
        (&["--top", "2"], &[0, 1, 5, 6, 7, 8]),
        (&["--type", "call", "--top", "1"], &[6]),
        // A call belongs to both of its functions.
        (&["^malloc$"], &[4, 8]),
        (&["-x", "g"], &[3, 7]),
        (&["--file", "^a.c$", "-x", "f"], &[1, 6, 8]),
        (&["--file", "^a.c$", "-x", "malloc"], &[]),
        (&["--obj", "^libc$"], &[4, 8]),
        (&["--obj", "^libc$", "-x", "f"], &[]),
        (&["--frame", "^malloc$", "-x", "f"], &[8]),
        (&["-v", "-x", "f"], &[0, 3, 4, 7]),
        (&["-x", "g", "--top", "1"], &[3, 7]),
    ];
    let mut backwards = GRAPH;
    backwards.reverse();
    for (args, expect) in cases {
        assert_eq!(kept(args, &GRAPH), *expect, "{args:?}");
        let mut mirrored = kept(args, &backwards);
        mirrored
            .iter_mut()
            .for_each(|index| *index = GRAPH.len() - 1 - *index);
        mirrored.reverse();
        assert_eq!(mirrored, *expect, "{args:?} backwards");
    }
}

#[test]
fn calls_from_inlined_code_belong_to_the_inlined_functions() {
    let calls = [
        r#"{"type":"call","fn":"host","file":"h.c","obj":"p","inlined":[{"fn":"hash","file":"k.h"},{"fn":"put","file":"h.c"}],"callee":{"fn":"memcmp","obj":"libc"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"host","file":"h.c","obj":"p","callee":{"fn":"memcpy","obj":"libc"},"calls":1,"incl":{"Ir":1}}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["^hash$"], &[0]),
        (&["^put$"], &[0]),
        (&["^hash$", "--file", "k.h", "--obj", "^p$"], &[0]),
        (&["^hash$", "--obj", "libc"], &[]),
        (&["-v", "^hash$"], &[1]),
        (&["^host$"], &[0, 1]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &calls), *expect, "{args:?}");
    }
}

#[test]
fn called_function_is_found_in_any_form_of_a_call_record() {
    let calls = [
        r#"{"type":"call","fn":"f","obj":"p","callee":{"fn":"g<{closure}>","obj":"libc"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","callee":{"obj":"libc","fn":"g"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"callee":{"fn":"g"},"calls":1,"incl":{"Ir":1},"fn":"f","type":"call"}"#,
        r#"{"type":"call", "fn": "f", "callee": {"fn": "g"}, "calls": 1, "incl": {"Ir": 1}}"#,
        r#"{"type":"call","fn":"f","callee":{"fn":"\u0067"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","later":{"callee":{"fn":"g"}},"callee":{"fn":"h"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","later":[{"x":0,"callee":{"fn":"g"}}],"callee":{"fn":"h"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","x\"callee":{"fn":"g"},"callee":{"fn":"h"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","callee":{"obj":"g"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"call","fn":"f","callee":{"fn":"h\"g"},"inlined":[{"fn":"g"}],"calls":1,"incl":{"Ir":1}}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["^g"], &[0, 1, 2, 3, 4, 9]),
        (&["^[g]"], &[0, 1, 2, 3, 4, 9]),
        (&["g$"], &[1, 2, 3, 4, 9]),
        (&["^h$"], &[5, 6, 7]),
        (&["^$"], &[8]),
        (&["-v", "^g"], &[5, 6, 7, 8]),
        (&["g", "--obj", "libc"], &[0, 1]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &calls), *expect, "{args:?}");
    }
}

#[test]
fn sampled_stack_belongs_to_its_blamed_and_its_innermost_function() {
    let stacks = [
        r#"{"type":"stack","fn":"make","cost":{"Ir":7},"stack":[{"fn":"malloc","obj":"libc"},{"fn":"make","obj":"p"},{"fn":"main","obj":"p"}]}"#,
        r#"{"type":"stack","fn":"main","cost":{"Ir":3},"stack":[{"fn":"main","obj":"p"}]}"#,
        r#"{"type":"heap","fn":"make","cost":{"Ir":7},"stack":[{"fn":"malloc","obj":"libc"},{"fn":"make","obj":"p"}]}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["^malloc$"], &[0]),
        (&["^malloc$", "--obj", "libc"], &[0]),
        (&["--obj", "^libc$"], &[0]),
        (&["^make$"], &[0, 2]),
        (&["^main$"], &[1]),
        (&["-v", "^malloc$"], &[1, 2]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &stacks), *expect, "{args:?}");
    }
}

#[test]
fn functions_are_kept_by_the_owner_of_their_code() {
    let records = [
        r#"{"type":"fn","fn":"app::run","file":"src/main.rs","cost":{"Ir":1}}"#,
        r#"{"type":"fn","fn":"text::cut","file":"/home/dev/.cargo/registry/src/i-1949cf8c6b5b557f/text-1.0.0/src/lib.rs","cost":{"Ir":1}}"#,
        r#"{"type":"fn","fn":"core::fmt::write","cost":{"Ir":1}}"#,
        r#"{"type":"fn","fn":"memcpy","obj":"/usr/lib/libc.so.6","cost":{"Ir":1}}"#,
        r#"{"type":"call","fn":"app::run","file":"src/main.rs","callee":{"fn":"memcpy","obj":"/usr/lib/libc.so.6"},"calls":1,"incl":{"Ir":1}}"#,
        r#"{"type":"stack","fn":"app::run","cost":{"Ir":1},"stack":[{"fn":"do_read","kernel":true},{"fn":"app::run"}]}"#,
        // The equal address shows that `with` is inlined into the function of the library.
        r#"{"type":"leak","fn":"with","file":"cell.rs","kind":"definite","cost":{"bytes":1},"stack":[{"fn":"malloc","addr":"0x1"},{"fn":"with","file":"cell.rs","addr":"0x2"},{"fn":"std::rt::init","file":"rt.rs","addr":"0x2"}]}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["--whose", "own"], &[0, 4, 5]),
        (&["--whose", "own,dependency"], &[0, 1, 4, 5]),
        (&["--whose", "std"], &[2, 6]),
        (&["--whose", "system"], &[3, 4]),
        (&["--whose", "kernel"], &[5]),
        (&["--whose", "own", "-v"], &[1, 2, 3, 6]),
        (&["--whose", "own", "--type", "fn", "run"], &[0]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &records), *expect, "{args:?}");
    }
    let output = filter(&["--whose", "mine"], b"");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("own, dependency, std, system, kernel"),
        "{stderr}"
    );
}

#[test]
fn missing_types_of_wanted_records_are_reported() {
    for (option, kind) in [
        ("--calls", "call"),
        ("--lines", "line"),
        ("--inline", "inline"),
        ("--stacks", "stack"),
    ] {
        let stderr = |records: &[&str]| {
            let output = filter(&[option], stream(records).as_bytes());
            assert_eq!(output.status.code(), Some(0));
            String::from_utf8(output.stderr).unwrap()
        };
        let missing = stderr(&FUNCTIONS[..1]);
        assert!(missing.contains(&format!("{option}: there are no {kind} records")));
        let there = format!(r#"{{"type":"{kind}","fn":"f","callee":{{}},"stack":[]}}"#);
        assert_eq!(stderr(&[&there]), "");
    }
}

#[test]
fn caller_condition_without_call_records_is_an_error() {
    let output = filter(&["--caller", "main"], stream(&FUNCTIONS).as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("cg-parse --calls")
    );
}

#[test]
fn frames_outside_the_blamed_frame_are_callers_and_frames_inside_are_callees() {
    let leaks = [
        r#"{"type":"leak","fn":"make","kind":"definite","cost":{"bytes":64,"blocks":1},"stack":[{"fn":"malloc"},{"fn":"make"},{"fn":"main"}]}"#,
        r#"{"type":"leak","fn":"grow","kind":"possible","cost":{"bytes":32,"blocks":2},"stack":[{"fn":"realloc"},{"fn":"grow"},{"fn":"make"},{"fn":"main"}]}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["--caller", "make"], &[1]),
        (&["--caller", "main"], &[0, 1]),
        (&["--callee", "malloc"], &[0]),
        (&["--callee", "make"], &[]),
        (&["--caller", "main", "make"], &[0]),
        (&["--top", "1", "--sort", "blocks"], &[1]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &leaks), *expect, "{args:?}");
    }
}

#[test]
fn diff_is_filtered_by_its_difference_and_its_compared_type() {
    let diffs = [
        r#"{"type":"diff","fn":"a","of":"fn","status":"changed","cost":{"Ir":[900,500]},"delta":{"Ir":-400}}"#,
        r#"{"type":"diff","fn":"b","of":"fn","status":"added","cost":{"Ir":[null,50]},"delta":{"Ir":50}}"#,
        r#"{"type":"diff","fn":"c","of":"leak","kind":"definite","status":"added","cost":{"bytes":[null,8]},"delta":{"bytes":8}}"#,
    ];
    let cases: &[(&[&str], &[usize])] = &[
        (&["--min", "Ir=50"], &[0, 1]),
        (&["--min", "Ir=51"], &[0]),
        (&["--min-percent", "Ir=40"], &[0]),
        (&["--type", "leak"], &[2]),
        (&["--type", "diff", "^b"], &[1]),
        (&["--top", "1"], &[0, 2]),
    ];
    for (args, expect) in cases {
        assert_eq!(kept(args, &diffs), *expect, "{args:?}");
    }
}

#[test]
fn concatenated_streams_are_summed_before_ranking() {
    let one = stream(&[
        r#"{"type":"fn","fn":"a","cost":{"Ir":60}}"#,
        r#"{"type":"fn","fn":"b","cost":{"Ir":50}}"#,
    ]);
    let two = stream(&[
        r#"{"type":"fn","fn":"c","cost":{"Ir":70}}"#,
        r#"{"type":"fn","fn":"b","cost":{"Ir":30}}"#,
    ]);
    let output = filter(&["--top", "1"], (one + &two).as_bytes());
    let expect = stream(&[r#"{"type":"fn","fn":"b","cost":{"Ir":50}}"#])
        + &stream(&[r#"{"type":"fn","fn":"b","cost":{"Ir":30}}"#]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expect);
}

#[test]
fn equal_costs_are_ranked_by_name() {
    let equal = [
        r#"{"type":"fn","fn":"z","cost":{"Ir":5}}"#,
        r#"{"type":"fn","fn":"ab","cost":{"Ir":5}}"#,
        r#"{"type":"fn","fn":"a","cost":{"Ir":5}}"#,
        r#"{"type":"fn","fn":"a","file":"f","cost":{"Ir":5}}"#,
    ];
    assert_eq!(kept(&["--sort", "Ir"], &equal), [2, 3, 1, 0]);
    assert_eq!(kept(&["--top", "1"], &equal), [2]);
}

#[test]
fn without_a_condition_every_byte_passes() {
    let odd = format!(
        "\n  \n{RUN}\r\n{}\n{{ \"fn\" : \"b\\u0000\\ud83d\\ude00\" , \"type\":\"fn\" }}\t\n{END}",
        FUNCTIONS[2]
    );
    for args in [&[][..], &[""], &["-v"], &["-e", ""]] {
        let output = filter(args, odd.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(output.stdout, odd.as_bytes(), "{args:?}");
    }
}

#[test]
fn truncated_stream_is_passed_on_and_is_an_error() {
    let whole = stream(&FUNCTIONS);
    for length in 1..whole.len() - 1 {
        let output = filter(&[], &whole.as_bytes()[..length]);
        assert_eq!(output.status.code(), Some(2), "{length}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(whole.starts_with(&stdout), "{length}");
        for line in stdout.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.starts_with("cg-filter: <stdin>"),
            "{length}: {stderr}"
        );
    }
}

#[test]
fn fragment_is_filtered_but_a_percentage_of_it_is_an_error() {
    let fragment = FUNCTIONS.join("\n");
    let output = filter(&["malloc"], fragment.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        FUNCTIONS[4..].join("\n")
    );
    assert_eq!(
        filter(&["--min-percent", "Ir=1"], fragment.as_bytes())
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn exit_status_is_like_greps_only_with_the_option() {
    let functions = stream(&FUNCTIONS[..5]);
    let status = |args: &[&str]| filter(args, functions.as_bytes()).status.code();
    assert_eq!(status(&["nothing"]), Some(0));
    assert_eq!(status(&["--exit-status", "nothing"]), Some(1));
    assert_eq!(status(&["--exit-status", "malloc"]), Some(0));
    assert_eq!(status(&["--exit-status", "malloc", "--top", "0"]), Some(1));
}

#[test]
fn invalid_condition_is_an_error_that_names_the_flag() {
    let cases: &[(&[&str], &str)] = &[
        (&["a("], "REGEX: \"a(\": unclosed group"),
        (&["--file", "["], "--file: \"[\": unclosed character class"),
        (&["--min", "Ir"], "--min"),
        (&["--min-percent", "Ir=x"], "--min-percent"),
        (&["--threshold", "x"], "--threshold"),
        (
            &["--min", "Irr=5"],
            "no record has \"Irr\"; the events are Ir, Dr",
        ),
        (
            &["--min-percent", "calls=5"],
            "no run has a total of \"calls\"",
        ),
        (&["--sort", "incl.x"], "no record has \"incl.x\""),
    ];
    for (args, expect) in cases {
        let output = filter(args, stream(&FUNCTIONS).as_bytes());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr.contains(expect), "{args:?}: {stderr}");
    }
}

#[test]
fn kept_line_is_written_before_the_next_line_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cg-filter"))
        .arg("demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    for line in [RUN, FUNCTIONS[0], FUNCTIONS[1]] {
        writeln!(stdin, "{line}").unwrap();
        let mut seen = vec![0; line.len() + 1];
        stdout.read_exact(&mut seen).unwrap();
        assert_eq!(seen, format!("{line}\n").as_bytes());
    }
    drop(stdin);
    // The stream has no end record.
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

const STACKS: &[u8] = br#"{"type":"run","stream":1,"tool":"memcheck","events":["bytes"],"total":{"bytes":12}}
{"type":"leak","fn":"demo::grow","kind":"definite","cost":{"bytes":8,"blocks":1},"indirect_bytes":0,"stack":[{"fn":"malloc"},{"fn":"alloc::vec::push"},{"fn":"demo::grow"},{"fn":"demo::main"}]}
{"type":"leak","fn":"other::make","kind":"definite","cost":{"bytes":4,"blocks":1},"indirect_bytes":0,"stack":[{"fn":"malloc"},{"fn":"other::make"},{"fn":"demo::main"}]}
{"type":"fn","fn":"alloc::vec::push","cost":{"Ir":3},"incl":{"Ir":3}}
{"type":"end","records":3}
"#;

/// Filters `STACKS`. Returns the number of kept records, and standard error.
fn filter_stacks(args: &[&str]) -> (usize, String) {
    let output = filter(args, STACKS);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let records = text
        .lines()
        .filter(|line| !line.contains("\"run\"") && !line.contains("\"end\""));
    (records.count(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn regex_matches_the_blamed_function_and_frame_matches_any_frame() {
    assert_eq!(filter_stacks(&["^demo::"]).0, 1);
    assert_eq!(filter_stacks(&["--frame", "^demo::main$"]).0, 2);
    // Without a stack, --frame matches the function.
    assert_eq!(filter_stacks(&["--frame", "^alloc::"]).0, 2);
    assert_eq!(filter_stacks(&["^demo::", "--frame", "^other::"]).0, 0);
    assert_eq!(filter_stacks(&["-v", "--frame", "^other::"]).0, 2);
}

#[test]
fn hint_is_printed_if_only_frames_match() {
    let hint = "--frame REGEX keeps records by any frame";
    assert!(filter_stacks(&["^demo::main$"]).1.contains(hint));
    for quiet in [
        &["^demo::grow$"][..],
        &["^nowhere$"],
        &["--frame", "^nowhere$"],
        // The names in frames would not keep more records.
        &["-v", "."],
    ] {
        assert_eq!(filter_stacks(quiet).1, "", "{quiet:?}");
    }
}

#[test]
fn negative_costs_are_ranked_by_their_size() {
    let differences = [
        r#"{"type":"fn","fn":"more","cost":{"Ir":4}}"#,
        r#"{"type":"fn","fn":"less","cost":{"Ir":-10}}"#,
        r#"{"type":"fn","fn":"most","cost":{"Ir":70}}"#,
        r#"{"type":"fn","fn":"same","cost":{"Ir":0}}"#,
    ];
    assert_eq!(kept(&["--sort", "Ir"], &differences), [2, 1, 0, 3]);
    assert_eq!(kept(&["--top", "2"], &differences), [1, 2]);
}

#[test]
fn percentage_is_a_share_of_the_run_that_the_record_belongs_to() {
    let section = |total: u64, cost: u64| {
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{{\"Ir\":{total}}}}}\n{{\"type\":\"fn\",\"fn\":\"f{cost}\",\"cost\":{{\"Ir\":{cost}}}}}\n{{\"type\":\"end\",\"records\":1}}\n"
        )
    };
    let both = section(1000, 500) + &section(100, 60) + &section(10_000, 501);
    let output = filter(&["--min-percent", "Ir=50"], both.as_bytes());
    let text = String::from_utf8(output.stdout).unwrap();
    let functions: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("\"fn\":"))
        .collect();
    assert_eq!(functions.len(), 2);
    assert!(functions[0].contains("f500") && functions[1].contains("f60"));
}

/// Samples at 5, 6 and 8 s since the start of the run. The costs do not follow the times.
const TIMED: [&str; 4] = [
    r#"{"type":"stack","fn":"b","time":6000000000,"cost":{"Ir":9},"stack":[{"fn":"b"}]}"#,
    r#"{"type":"stack","fn":"a","time":5000000000,"cost":{"Ir":5},"stack":[{"fn":"a"}]}"#,
    r#"{"type":"stack","fn":"c","time":8000000000,"cost":{"Ir":4},"stack":[{"fn":"c"}]}"#,
    r#"{"type":"fn","fn":"a","cost":{"Ir":5}}"#,
];

#[test]
fn a_range_of_time_keeps_samples_from_its_beginning_to_before_its_end() {
    // Seconds count from the first sample, and records without a time are dropped.
    assert_eq!(kept(&["--time", "0-1"], &TIMED), [1]);
    assert_eq!(kept(&["--time", "1-2.5"], &TIMED), [0]);
    assert_eq!(kept(&["--time", "0-3"], &TIMED), [0, 1, 2]);
    assert_eq!(kept(&["--time", "1-9"], &TIMED), [0, 2]);
    assert_eq!(kept(&["--time", "0-3", "-n", "1"], &TIMED), [0]);
    assert_eq!(kept(&["--time", "2-9", "-n", "1"], &TIMED), [2]);
    assert_eq!(kept(&["--time", "0-9", "c"], &TIMED), [2]);
    let untimed = filter(&["--time", "0-1"], stream(&TIMED[3..]).as_bytes());
    let stderr = String::from_utf8(untimed.stderr).unwrap();
    assert_eq!(untimed.status.code(), Some(2));
    assert!(stderr.contains("no record has a time"), "{stderr}");
    let wrong = filter(&["--time", "2-1"], b"");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn spans_of_trace_events_are_cut_and_their_parts_add_up() {
    let trace = br#"{"traceEvents": [
        {"ph": "X", "name": "outer", "pid": 1, "tid": 2, "ts": 1000, "dur": 1000},
        {"ph": "X", "name": "inner", "pid": 1, "tid": 2, "ts": 1200, "dur": 300}
    ]}"#;
    let times = |range: &str| -> Vec<(String, u64)> {
        let output = filter(&["--time", range], trace);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let records = stdout
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut sums = std::collections::BTreeMap::new();
        for record in records.filter(|record| record["type"] == "stack") {
            let name = record["fn"].as_str().unwrap().to_owned();
            *sums.entry(name).or_insert(0) += record["cost"]["time"].as_u64().unwrap();
        }
        sums.into_iter().collect()
    };
    let sum =
        |outer: u64, inner: u64| vec![("inner".to_owned(), inner), ("outer".to_owned(), outer)];
    // The trace lasts 1 ms: outer for 0.2 ms, inner for 0.3 ms, outer for 0.5 ms.
    assert_eq!(times("0-1"), sum(700_000, 300_000));
    assert_eq!(times("0.0001-0.0004"), sum(100_000, 200_000));
    assert_eq!(times("0-0.0003"), sum(200_000, 100_000));
    assert_eq!(times("0.0003-0.001"), sum(500_000, 200_000));
}
