//! Small profiles, each next to the expected output. The figures were computed by hand.

use cg_reader::Options;
use parsed::check_all_prefixes;

use crate::tests;

fn records(text: &str, kind: &str, options: &Options) -> Vec<String> {
    let parsed = parsed::read(tests::recognised, text.as_bytes(), options);
    assert!(
        !parsed.has_errors && parsed.is_whole(),
        "{:?}",
        parsed.messages
    );
    assert_eq!(parsed.messages, [""; 0]);
    parsed
        .records_of_type(kind)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn check_refused(text: &str, message: &str) {
    let parsed = parsed::read(tests::recognised, text.as_bytes(), &Options::default());
    assert_eq!(parsed.messages, [message]);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn a_function_is_one_record_under_its_own_file() {
    let text = "desc: I1 cache: 32768 B\ncmd: ./a b\nevents: Ir I1mr \nfl=b.h\nfn=f\n0 20 .\nfl=a.c\nfn=f\n3 10 1\n4 5\nsummary: 35 1\n";
    assert_eq!(
        records(text, "run", &Options::default()),
        [
            "\"stream\":1,\"tool\":\"cachegrind\",\"command\":\"./a b\",\"source\":[\"in\"],\"events\":[\"Ir\",\"I1mr\"],\"total\":{\"Ir\":35,\"I1mr\":1},\"desc\":{\"I1 cache\":\"32768 B\"},\"parts\":1}"
        ]
    );
    let lines = Options {
        lines: true,
        ..Options::default()
    };
    assert_eq!(
        records(text, "fn", &lines),
        ["\"fn\":\"f\",\"file\":\"a.c\",\"cost\":{\"Ir\":35,\"I1mr\":1}}"]
    );
    assert_eq!(
        records(text, "line", &lines),
        [
            "\"fn\":\"f\",\"file\":\"b.h\",\"line\":0,\"cost\":{\"Ir\":20}}",
            "\"fn\":\"f\",\"file\":\"a.c\",\"line\":3,\"cost\":{\"Ir\":10,\"I1mr\":1}}",
            "\"fn\":\"f\",\"file\":\"a.c\",\"line\":4,\"cost\":{\"Ir\":5}}"
        ]
    );
}

/// Reads a profile with these names, files and counts. Returns its functions as `name file count`.
fn folded(rows: &[(&str, &str, u64)]) -> Vec<String> {
    let mut text = "cmd: a\nevents: Ir\n".to_owned();
    for (name, file, count) in rows {
        text += &format!("fl={file}\nfn={name}\n1 {count}\n");
    }
    let sum: u64 = rows.iter().map(|(_, _, count)| count).sum();
    text += &format!("summary: {sum}\n");
    records(&text, "fn", &Options::default())
        .iter()
        .map(|record| {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            let text = |key: &str| record[key].as_str().unwrap_or("-").to_owned();
            format!("{} {} {}", text("fn"), text("file"), record["cost"]["Ir"])
        })
        .collect()
}

#[test]
fn a_name_is_one_function_unless_it_can_belong_to_several() {
    // Static functions in two source files. It is unknown which of them contains the header's code.
    assert_eq!(
        folded(&[("init", "a.c", 1), ("init", "b.c", 2), ("init", "c.h", 4)]),
        ["init c.h 4", "init b.c 2", "init a.c 1"]
    );
    // A qualified name is unique. The program's own file takes precedence over a library's file.
    let std = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/iter.rs";
    assert_eq!(
        folded(&[
            ("app::run", std, 9),
            ("app::run", "src/run.rs", 2),
            ("app::run", "src/list.rs", 1)
        ]),
        ["app::run src/run.rs 12"]
    );
    assert_eq!(
        folded(&[
            ("(anonymous namespace)::f()", "a.cc", 9),
            ("(anonymous namespace)::f()", "b.cc", 1)
        ]),
        [
            "(anonymous namespace)::f() a.cc 9",
            "(anonymous namespace)::f() b.cc 1"
        ]
    );
    // `???` is not the name of a function.
    assert_eq!(
        folded(&[("???", "???", 9), ("???", "a.c", 1)]),
        ["??? ??? 9", "??? a.c 1"]
    );
    // Between equal files, the first by name wins, in any order of input.
    for files in [["x.c", "y.c"], ["y.c", "x.c"]] {
        assert_eq!(
            folded(&files.map(|file| ("n::f", file, 5))),
            ["n::f x.c 10"]
        );
    }
}

#[test]
fn file_with_the_largest_cost_of_the_first_event_is_the_functions_own() {
    for (counts, file) in [
        (["5 1", "3 9"], "x.c"),
        (["3 9", "5 1"], "y.c"),
        (["4 0", "5 0"], "y.c"),
    ] {
        let text = format!(
            "cmd: a\nevents: Ir Dr\nfl=x.c\nfn=n::f\n1 {}\nfl=y.c\nfn=n::f\n1 {}\n",
            counts[0], counts[1]
        );
        let sum = |column: usize| -> u64 {
            let counts = counts
                .iter()
                .map(|counts| counts.split(' ').nth(column).unwrap());
            counts.map(|count| count.parse::<u64>().unwrap()).sum()
        };
        let text = format!("{text}summary: {} {}\n", sum(0), sum(1));
        let functions = records(&text, "fn", &Options::default());
        assert_eq!(functions.len(), 1);
        assert!(
            functions[0].contains(&format!("\"file\":\"{file}\"")),
            "{functions:?}"
        );
    }
}

#[test]
fn a_name_may_have_line_breaks() {
    let text = "cmd: a\nevents: Ir\nfl=a\n.c\nfn=new\nline\n+\n3 10\nsummary: 10\n";
    let parsed = parsed::read(tests::recognised, text.as_bytes(), &Options::default());
    assert_eq!(
        parsed.messages,
        [
            "in:4: read as the rest of the name on the previous line: \".c\"",
            "in:6: read as the rest of the name on the previous line: \"line\"",
            "in:7: read as the rest of the name on the previous line: \"+\"",
        ]
    );
    assert!(parsed.is_whole() && !parsed.has_errors);
    let function = parsed.records_of_type("fn")[0];
    assert!(
        function.starts_with("\"fn\":\"new\\nline\\n+\",\"file\":\"a\\n.c\","),
        "{function}"
    );
}

#[test]
fn concatenated_files_are_added_up() {
    let a = "desc: x: 1\ncmd: a\nevents: Ir Dr\nfl=a.c\nfn=f\n3 10 1\nsummary: 10 1\n";
    let b = "cmd: b\nevents: Dr Ir\n3 1 2\nfl=a.c\nfn=f\n4 2 5\nsummary: 3 7\n";
    let both = format!("{a}{b}");
    assert_eq!(
        records(&both, "fn", &Options::default()),
        [
            "\"fn\":\"f\",\"file\":\"a.c\",\"cost\":{\"Ir\":15,\"Dr\":3}}",
            "\"cost\":{\"Ir\":2,\"Dr\":1}}"
        ]
    );
    let run = &records(&both, "run", &Options::default())[0];
    assert!(
        run.contains("\"total\":{\"Ir\":17,\"Dr\":4}") && run.contains("\"parts\":2"),
        "{run}"
    );
    assert!(!run.contains("command"), "{run}");
    let apart = Options {
        per_part: true,
        ..Options::default()
    };
    let runs = records(&both, "run", &apart);
    assert_eq!(runs.len(), 2);
    assert!(
        runs[0].contains("\"command\":\"a\"") && runs[0].contains("\"Ir\":10"),
        "{}",
        runs[0]
    );
    assert!(
        runs[1].contains("\"command\":\"b\"") && runs[1].contains("\"Ir\":7"),
        "{}",
        runs[1]
    );
    // An error in the second file does not affect the first.
    let parsed = parsed::read(
        tests::recognised,
        format!("{a}cmd: b\nevents: Ir\n1 2\n").as_bytes(),
        &Options::default(),
    );
    assert!(parsed.has_errors && !parsed.is_whole());
    assert_eq!(parsed.records_of_type("fn").len(), 2);
}

#[test]
fn an_argument_may_have_line_breaks() {
    let text = "cmd: python3 -c print(1)\nprint(2)\nevents: Ir\nfl=a.c\nfn=f\n3 10\nsummary: 10\n";
    let run = &records(text, "run", &Options::default())[0];
    assert!(
        run.contains("\"command\":\"python3 -c print(1)\\nprint(2)\""),
        "{run}"
    );
}

#[test]
fn content_distinguishes_cachegrind_from_callgrind() {
    let cost = "fl=a.c\nfn=f\n1 2\n";
    for (text, tool) in [
        (
            format!("cmd: a\nevents: Ir\n{cost}summary: 2\n"),
            "cachegrind",
        ),
        (
            format!("cmd: a\nevents: Ir\n\n{cost}summary: 2\n"),
            "cachegrind",
        ),
        (
            format!("cmd: a\nevents: Ir\n# note\n\n{cost}\nsummary: 2\n"),
            "cachegrind",
        ),
        (
            format!("# note\n\ndesc: x\n\ncmd: a\n\nevents: Ir\n{cost}summary: 2\n"),
            "cachegrind",
        ),
        (
            "cmd: a\nevents: Ir\n\nsummary: 0\n".to_owned(),
            "cachegrind",
        ),
        (
            format!("cmd: a\nevents: Ir\n{cost}fn=(1) f\n1 1\nsummary: 3\n"),
            "cachegrind",
        ),
        // Callgrind's format without its own header lines, as written by other programs.
        (format!("cmd: a\nevents: Ir\n\n{cost}"), "callgrind"),
        (
            format!("cmd: a\nevents: Ir\nsummary: 2\n\n{cost}"),
            "callgrind",
        ),
        (
            "cmd: unknown\nevents: Time\n\nfn=(1) f\n1 2\n".to_owned(),
            "callgrind",
        ),
        (format!("cmd: a\nevents: Ir\n{cost}+1 2\n"), "callgrind"),
        (
            format!("cmd: a\nevents: Ir\n{cost}totals: 2\n"),
            "callgrind",
        ),
        (
            format!("cmd: a\nevents: Ir\n{cost}cfn=g\ncalls=1 1\n1 2\n"),
            "callgrind",
        ),
    ] {
        let parsed = parsed::read(tests::recognised, text.as_bytes(), &Options::default());
        assert!(
            parsed.records_of_type("run")[0].contains(&format!("\"tool\":\"{tool}\"")),
            "{text}"
        );
        assert!(parsed.is_whole(), "{text}: {:?}", parsed.messages);
    }
}

#[test]
fn a_long_body_after_a_blank_line_is_recognised_too() {
    let mut text = "cmd: a\nevents: Ir\n\nfl=a.c\nfn=f\n".to_owned();
    let lines = 200_000;
    for line in 1..=lines {
        text += &format!("{line} 1\n");
    }
    text += &format!("summary: {lines}\n");
    assert!(text.len() > 1024 * 1024);
    assert_eq!(records(&text, "fn", &Options::default()).len(), 1);
}

#[test]
fn old_profiles_switch_files_inside_a_function() {
    let lines = Options {
        lines: true,
        ..Options::default()
    };
    let text = "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n3 10\nfi=b.h\n7 2\nfe=a.c\n4 1\nsummary: 13\n";
    assert_eq!(records(text, "fn", &lines).len(), 1);
    assert_eq!(
        records(text, "line", &lines)[1],
        "\"fn\":\"f\",\"file\":\"b.h\",\"line\":7,\"cost\":{\"Ir\":2}}"
    );
}

#[test]
fn differences_are_negative() {
    let text = "desc: Files compared:   a; b\ncmd: a; b\nevents: Ir\nfl=a.c\nfn=f\n0 -10\nfn=g\n0 4\nsummary: -6\n";
    assert_eq!(
        records(text, "fn", &Options::default()),
        [
            "\"fn\":\"g\",\"file\":\"a.c\",\"cost\":{\"Ir\":4}}",
            "\"fn\":\"f\",\"file\":\"a.c\",\"cost\":{\"Ir\":-10}}"
        ]
    );
}

#[test]
fn errors_have_a_line_number() {
    check_refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\n",
        "in:5: expected summary: at the end, found the end of the file; the profile is cut short",
    );
    check_refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 20\nsummary: 2",
        "in:6: the summary: is cut short by the end of the file",
    );
    check_refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2 3\nsummary: 2\n",
        "in:5: expected at most 1 counts, one per event, found 2",
    );
    check_refused(
        "cmd: a\nevents: Ir\nfl=a.c\n1 2\nhello\nsummary: 2\n",
        "in:5: expected fl=, fn=, a line number or summary:, found \"hello\"",
    );
}

#[test]
fn the_error_about_a_wrong_summary_has_both_figures() {
    let parsed = parsed::read(
        tests::recognised,
        b"cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\nsummary: 3\n",
        &Options::default(),
    );
    assert_eq!(
        parsed.messages,
        ["in:6: summary: has 3 Ir, but the counts add up to 2"]
    );
    assert!(parsed.has_errors && !parsed.is_whole());
    assert_eq!(parsed.records_of_type("fn").len(), 1);
    assert!(parsed.records_of_type("run")[0].contains("\"summary\":{\"Ir\":3}"));
}

#[test]
fn no_prefix_panics_and_every_one_is_an_error() {
    let text = b"desc: x\ncmd: ./a\nevents: Ir Dr\nfl=a.c\nfn=f\n3 10 4\n4 5\nsummary: 15 4\n";
    check_all_prefixes(tests::recognised, text, &Options::default());
    for length in 0..text.len() - 1 {
        assert!(
            parsed::read(tests::recognised, &text[..length], &Options::default()).has_errors,
            "{length}"
        );
    }
}

/// Only the first profile shows the source file that contains the header's code. The second has only the header.
#[test]
fn functions_are_merged_only_within_a_profile() {
    let one = "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 10\nfl=x.h\nfn=f\n2 5\nsummary: 15\n";
    let other = "cmd: a\nevents: Ir\nfl=x.h\nfn=f\n2 7\nsummary: 7\n";
    for both in [format!("{one}{other}"), format!("{other}{one}")] {
        assert_eq!(
            records(&both, "fn", &Options::default()),
            [
                "\"fn\":\"f\",\"file\":\"a.c\",\"cost\":{\"Ir\":15}}",
                "\"fn\":\"f\",\"file\":\"x.h\",\"cost\":{\"Ir\":7}}"
            ]
        );
    }
}
