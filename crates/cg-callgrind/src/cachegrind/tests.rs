//! Small profiles, each beside what comes out; figures are worked out by hand.

use cg_reader::Options;
use parsed::check_all_prefixes;

use crate::tests;

fn records(text: &str, kind: &str, options: &Options) -> Vec<String> {
    let parsed = parsed::read(tests::recognised, text.as_bytes(), options);
    assert!(
        !parsed.trouble && parsed.is_whole(),
        "{:?}",
        parsed.messages
    );
    assert_eq!(parsed.messages, [""; 0]);
    parsed.of(kind).into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let parsed = parsed::read(tests::recognised, text.as_bytes(), &Options::default());
    assert_eq!(parsed.messages, [message]);
    assert!(parsed.trouble && !parsed.is_whole());
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

/// The functions of a profile that has these under these files, with these counts: `name file count` each.
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
fn a_name_is_one_function_unless_it_can_be_that_of_several() {
    // Static functions of two sources; nobody knows which of them the header's code is in.
    assert_eq!(
        folded(&[("init", "a.c", 1), ("init", "b.c", 2), ("init", "c.h", 4)]),
        ["init c.h 4", "init b.c 2", "init a.c 1"]
    );
    // A qualified name is unique: the source before the header, the program's own file before the library's.
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
    // Neither names a function.
    assert_eq!(
        folded(&[("???", "???", 9), ("???", "a.c", 1)]),
        ["??? ??? 9", "??? a.c 1"]
    );
    // Of equals the first by name, whatever their order.
    for files in [["x.c", "y.c"], ["y.c", "x.c"]] {
        assert_eq!(
            folded(&files.map(|file| ("n::f", file, 5))),
            ["n::f x.c 10"]
        );
    }
}

#[test]
fn a_name_may_have_lines() {
    let text = "cmd: a\nevents: Ir\nfl=a\n.c\nfn=new\nline\n+\n3 10\nsummary: 10\n";
    let parsed = parsed::read(tests::recognised, text.as_bytes(), &Options::default());
    assert_eq!(
        parsed.messages,
        [
            "in:4: taken for the rest of the name in the line before: \".c\"",
            "in:6: taken for the rest of the name in the line before: \"line\"",
            "in:7: taken for the rest of the name in the line before: \"+\"",
        ]
    );
    assert!(parsed.is_whole() && !parsed.trouble);
    let function = parsed.of("fn")[0];
    assert!(
        function.starts_with("\"fn\":\"new\\nline\\n+\",\"file\":\"a\\n.c\","),
        "{function}"
    );
}

#[test]
fn files_behind_each_other_are_added_up() {
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
    // What cannot be read of the second leaves the first.
    let parsed = parsed::read(
        tests::recognised,
        format!("{a}cmd: b\nevents: Ir\n1 2\n").as_bytes(),
        &Options::default(),
    );
    assert!(parsed.trouble && !parsed.is_whole());
    assert_eq!(parsed.of("fn").len(), 2);
}

#[test]
fn an_argument_may_have_lines() {
    let text = "cmd: python3 -c print(1)\nprint(2)\nevents: Ir\nfl=a.c\nfn=f\n3 10\nsummary: 10\n";
    let run = &records(text, "run", &Options::default())[0];
    assert!(
        run.contains("\"command\":\"python3 -c print(1)\\nprint(2)\""),
        "{run}"
    );
}

#[test]
fn content_tells_cachegrind_from_callgrind() {
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
        // Callgrind's format without its own header lines, as other programs write it.
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
            parsed.of("run")[0].contains(&format!("\"tool\":\"{tool}\"")),
            "{text}"
        );
        assert!(parsed.is_whole(), "{text}: {:?}", parsed.messages);
    }
}

#[test]
fn a_long_body_behind_a_blank_line_is_recognised_too() {
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
fn what_cannot_be_read_is_told_with_its_line() {
    refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\n",
        "in:5: expected summary: at the end, found the end of the file; the profile is cut short",
    );
    refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 20\nsummary: 2",
        "in:6: the summary: is cut short by the end of the file",
    );
    refused(
        "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2 3\nsummary: 2\n",
        "in:5: expected at most 1 counts, one an event, found 2",
    );
    refused(
        "cmd: a\nevents: Ir\nfl=a.c\n1 2\nhello\nsummary: 2\n",
        "in:5: expected fl=, fn=, a line number or summary:, found \"hello\"",
    );
}

#[test]
fn a_summary_that_is_wrong_is_told_with_both_figures() {
    let parsed = parsed::read(
        tests::recognised,
        b"cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\nsummary: 3\n",
        &Options::default(),
    );
    assert_eq!(
        parsed.messages,
        ["in:6: summary: has 3 Ir, but the counts add up to 2"]
    );
    assert!(parsed.trouble && !parsed.is_whole());
    assert_eq!(parsed.of("fn").len(), 1);
    assert!(parsed.of("run")[0].contains("\"summary\":{\"Ir\":3}"));
}

#[test]
fn no_prefix_panics_and_every_one_is_an_error() {
    let text = b"desc: x\ncmd: ./a\nevents: Ir Dr\nfl=a.c\nfn=f\n3 10 4\n4 5\nsummary: 15 4\n";
    check_all_prefixes(tests::recognised, text, &Options::default());
    for length in 0..text.len() - 1 {
        assert!(
            parsed::read(tests::recognised, &text[..length], &Options::default()).trouble,
            "{length}"
        );
    }
}

/// What the header's code is part of is told by the first profile alone: in the second the header stands by itself.
#[test]
fn what_one_profile_makes_of_a_name_says_nothing_of_the_next() {
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
