//! Dialects and edge cases as small texts, each next to the expected output. The figures were computed by hand.

use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};

use crate::tests;

mod rules;

fn options() -> Options {
    Options {
        ..Options::default()
    }
}

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = options();
    change(&mut options);
    options
}

/// Shortens a record to `fn [file] {obj} calls cost incl`, without missing fields.
fn short(record: &str) -> String {
    let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
    let mut text = record["fn"].as_str().unwrap_or("-").to_owned();
    for (key, open, close) in [("file", "[", "]"), ("obj", "{", "}")] {
        if let Some(value) = record[key].as_str() {
            text += &format!(" {open}{value}{close}");
        }
    }
    if let Some(line) = record["line"].as_u64() {
        text += &format!(" :{line}");
    }
    if let Some(addr) = record["addr"].as_str() {
        text += &format!(" {addr}");
    }
    if let Some(callee) = record["callee"]["fn"].as_str() {
        text += &format!(" > {callee}");
    }
    if let Some(calls) = record["calls"].as_u64() {
        text += &format!(" x{calls}");
    }
    for key in ["cost", "incl"] {
        if let Some(counts) = record[key].as_object() {
            let counts: Vec<String> = counts
                .iter()
                .map(|(event, count)| format!("{event}={count}"))
                .collect();
            text += &format!(" {key} {}", counts.join(","));
        }
    }
    if let Some(cycle) = record["cycle"].as_u64() {
        text += &format!(" cycle {cycle}");
    }
    text
}

fn records(parsed: &Parsed, kind: &str) -> Vec<String> {
    parsed
        .records_of_type(kind)
        .into_iter()
        .map(short)
        .collect()
}

/// Checks that a text parses into these functions, without errors and warnings.
#[track_caller]
fn check(text: &str, functions: &[&str]) {
    let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
    assert_eq!(parsed.messages, [""; 0]);
    assert!(parsed.is_whole());
    assert_eq!(records(&parsed, "fn"), functions);
}

/// Checks that a text is refused with this message, and that the stream has no `end`.
#[track_caller]
fn check_refused(text: &str, message: &str) {
    let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
    assert_eq!(parsed.messages, [message]);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn the_manuals_example_adds_up() {
    check(
        "# callgrind format\nevents: Cycles Instructions Flops\nfl=file.f\nfn=main\n15 90 14 2\n16 20 12\n",
        &[
            "main [file.f] x0 cost Cycles=110,Flops=2,Instructions=26 incl Cycles=110,Flops=2,Instructions=26",
        ],
    );
}

#[test]
fn objects_files_and_functions_have_separate_numbers() {
    check(
        "events: Ir\nob=(0) a.out\nfl=(0) a.c\nfn=(0) main\n1 10\ncob=(1) b.so\ncfi=(1) b.c\ncfn=(1) f\ncalls=2 7\n2 6\n\n\
         ob=(1)\nfl=(1)\nfn=(1)\n7 6\n",
        &[
            "main [a.c] {a.out} x0 cost Ir=10 incl Ir=16",
            "f [b.c] {b.so} x2 cost Ir=6 incl Ir=6",
        ],
    );
}

#[test]
fn names_may_look_like_lines() {
    check(
        "events: Ir\nfn=(1) fn=(2)\n1 1\nfn=(2) summary: 1\n1 2\nfn=(below main)\n1 3\nfn=tab\there\n1 4\nfn=(1)\n1 5\nfn=(3) (7)\n1 7\nfn=nul\0\n1 8\n",
        &[
            "nul\0 x0 cost Ir=8 incl Ir=8",
            "(7) x0 cost Ir=7 incl Ir=7",
            "fn=(2) x0 cost Ir=6 incl Ir=6",
            "tab\there x0 cost Ir=4 incl Ir=4",
            "(below main) x0 cost Ir=3 incl Ir=3",
            "summary: 1 x0 cost Ir=2 incl Ir=2",
        ],
    );
}

#[test]
fn a_number_needs_no_blank_after_it() {
    check(
        "events: Ir\nfl=(1)a.c\nfn=(1)f\n1 1\ncfn=(2)g\ncalls=1 2\n1 4\n\nfn=(2)\n2 4\n\nfn=(1)\n3 2\n",
        &[
            "g [a.c] x1 cost Ir=4 incl Ir=4",
            "f [a.c] x0 cost Ir=3 incl Ir=7",
        ],
    );
}

#[test]
fn uncompressed_names_of_callgrind_are_not_references() {
    let head = "creator: callgrind-3.19.0\nevents: Ir\nob=a.out\nfl=a.c\n";
    check(
        &format!("{head}fn=main\n1 1\nfn=(7)\n1 2\nfn=(1) fake\n1 3\ntotals: 6\n"),
        &[
            "(1) fake [a.c] {a.out} x0 cost Ir=3 incl Ir=3",
            "(7) [a.c] {a.out} x0 cost Ir=2 incl Ir=2",
            "main [a.c] {a.out} x0 cost Ir=1 incl Ir=1",
        ],
    );
}

#[test]
fn files_of_inlined_code_belong_to_lines_and_not_to_functions() {
    let text = "events: Ir\nfl=a.c\nfn=f\n1 1\nfi=b.h\n+6 2\nfe=a.c\n-5 4\n";
    check(text, &["f [a.c] x0 cost Ir=7 incl Ir=7"]);
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.lines = true),
    );
    assert_eq!(
        records(&parsed, "line"),
        [
            "f [a.c] :2 cost Ir=4",
            "f [b.h] :7 cost Ir=2",
            "f [a.c] :1 cost Ir=1"
        ]
    );
}

#[test]
fn a_call_without_a_file_goes_to_the_file_in_force() {
    check(
        "events: Ir\nfl=a.c\nfn=f\n1 1\nfi=b.h\n2 1\ncfn=g\ncalls=1 9\n2 5\nfe=a.c\n3 1\ncfn=h\ncalls=1 9\n3 7\n",
        &[
            "f [a.c] x0 cost Ir=3 incl Ir=15",
            "g [b.h] x1 cost Ir=0 incl Ir=5",
            "h [a.c] x1 cost Ir=0 incl Ir=7",
        ],
    );
}

#[test]
fn called_positions_apply_to_one_function() {
    // The second call uses the file in force again. KCachegrind's converters write the file after the function.
    check(
        "events: Ir\nfl=a.c\nfn=f\n1 1\ncfi=b.c\ncfn=g\ncalls=1\n1 2\ncfn=h\ncalls=1\n1 4\ncfn=i\ncfi=c.c\ncalls=1\n1 8\n",
        &[
            "f [a.c] x0 cost Ir=1 incl Ir=15",
            "g [b.c] x1 cost Ir=0 incl Ir=2",
            "h [a.c] x1 cost Ir=0 incl Ir=4",
            "i [c.c] x1 cost Ir=0 incl Ir=8",
        ],
    );
}

#[test]
fn a_called_name_without_calls_is_only_a_name() {
    check(
        "events: Ir\nfl=(1) a.c\nfn=(1) f\ncfi=(2) b.c\ncfn=(2) g\n1 5\ncfn=(3) h\ncalls=1 1\n1 2\n",
        &[
            "f [a.c] x0 cost Ir=5 incl Ir=7",
            "h [a.c] x1 cost Ir=0 incl Ir=2",
        ],
    );
}

#[test]
fn a_number_means_one_function_with_the_file_of_its_definition() {
    // A call assumed b.h, because the writer omitted `fe=`. The function itself is in a.c.
    check(
        "events: Ir\nfl=(1) a.c\nfn=(1) f\nfi=(2) b.h\n1 1\ncfn=(2) g\ncalls=1 9\n1 4\n\nfn=(2)\n9 4\n",
        &[
            "g [a.c] x1 cost Ir=4 incl Ir=4",
            "f [a.c] x0 cost Ir=1 incl Ir=5",
        ],
    );
    // Producers that number only names always give the file.
    check(
        "events: Ir\nfl=(1) a.c\nfn=(1) init\n1 1\nfl=(2) b.c\nfn=(1)\n1 2\n",
        &[
            "init [b.c] x0 cost Ir=2 incl Ir=2",
            "init [a.c] x0 cost Ir=1 incl Ir=1",
        ],
    );
}

#[test]
fn recursion_levels_fold_and_the_first_level_has_the_inclusive_cost() {
    // main calls f (100 inclusive). f calls itself at deeper levels.
    let text = "creator: callgrind-3.19.0\nevents: Ir\nfl=(1) a.c\nfn=(1) main\n1 10\ncfn=(2) f\ncalls=1 5\n1 100\n\n\
                fn=(2)\n5 40\ncfn=(3) f'2\ncalls=1 5\n5 60\n\nfn=(3)\n5 60\ncfn=(3)\ncalls=3 5\n5 55\n\ntotals: 110\n";
    check(
        text,
        &[
            "f [a.c] x5 cost Ir=100 incl Ir=100",
            "main [a.c] x0 cost Ir=10 incl Ir=110",
        ],
    );
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.calls = true),
    );
    assert_eq!(
        records(&parsed, "call"),
        [
            "main [a.c] :1 > f x1 incl Ir=100",
            "f [a.c] :5 > f x4 incl Ir=0"
        ]
    );
}

#[test]
fn levels_fold_into_a_function_of_a_later_part() {
    // In the first part, the first level of f is active but has no self cost.
    let text = "creator: callgrind-3.19.0\npart: 1\nevents: Ir\nfl=a.c\nfn=f'2\n1 7\ncfn=g\ncalls=1 9\n1 3\n\nfn=g\n9 3\ntotals: 10\n\
                part: 2\nevents: Ir\nfl=a.c\nfn=f\n1 1\ncfn=f'2\ncalls=1 1\n1 5\n\nfn=f'2\n1 5\ntotals: 6\n";
    check(
        text,
        &[
            "f [a.c] x1 cost Ir=13 incl Ir=16",
            "g [a.c] x1 cost Ir=3 incl Ir=3",
        ],
    );
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| {
            options.lines = true;
            options.calls = true;
        }),
    );
    assert_eq!(
        records(&parsed, "line"),
        ["f [a.c] :1 cost Ir=13 incl Ir=16", "g [a.c] :9 cost Ir=3"]
    );
    assert_eq!(
        records(&parsed, "call"),
        ["f [a.c] :1 > g x1 incl Ir=3", "f [a.c] :1 > f x1 incl Ir=0"]
    );
    // Levels do not fold across separate parts.
    let apart = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.per_part = true),
    );
    assert_eq!(
        records(&apart, "fn")[0],
        "f'2 [a.c] x0 cost Ir=7 incl Ir=10"
    );
}

#[test]
fn a_quote_and_a_number_are_a_name_if_no_function_has_the_rest_as_its_name() {
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nfn=(1) file.c:func'2\n1 3\nfn=(2) a'b'c'2'3\n1 2\nfn=(3) main::'lambda'(int)\n1 1\ntotals: 6\n",
        &[
            "file.c:func'2 x0 cost Ir=3 incl Ir=3",
            "a'b'c'2'3 x0 cost Ir=2 incl Ir=2",
            "main::'lambda'(int) x0 cost Ir=1 incl Ir=1",
        ],
    );
}

#[test]
fn callers_in_names_fold_if_a_call_confirms_them() {
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nfn=(1) main\n1 1\ncfn=(2) a'main\ncalls=1 1\n1 30\ncfn=(3) b'main\ncalls=1 1\n1 5\n\n\
         fn=(2)\n2 10\ncfn=(4) b'a'main\ncalls=2 1\n2 20\n\nfn=(3)\n3 5\n\nfn=(4)\n3 12\ncfn=(5) b'2'a'main\ncalls=1 1\n3 8\n\nfn=(5)\n3 8\ntotals: 36\n",
        &[
            "b x4 cost Ir=25 incl Ir=25",
            "a x1 cost Ir=10 incl Ir=30",
            "main x0 cost Ir=1 incl Ir=36",
        ],
    );
}

#[test]
fn names_that_consist_of_numbers_are_expanded() {
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nob=(1) a.out\nfl=(1) a.c\nfn=(10) main\n1 1\ncfn=(11) f\ncfn=(12) (11)'(10)\ncalls=1 1\n1 6\n\nfn=(12)\n1 6\ntotals: 7\n",
        &[
            "f [a.c] {a.out} x1 cost Ir=6 incl Ir=6",
            "main [a.c] {a.out} x0 cost Ir=1 incl Ir=7",
        ],
    );
}

#[test]
fn without_levels_self_arcs_do_not_count_and_cycles_follow_kcachegrind() {
    check(
        "events: Ir\nfn=main\n1 1\ncfn=f\ncalls=1\n1 50\n\nfn=f\n1 20\ncfn=f\ncalls=9\n1 99\ncfn=g\ncalls=1\n1 30\n\nfn=g\n1 30\n",
        &[
            "g x1 cost Ir=30 incl Ir=30",
            "f x10 cost Ir=20 incl Ir=50",
            "main x0 cost Ir=1 incl Ir=51",
        ],
    );
    // even and odd call each other. odd calls leaf.
    check(
        "events: Ir\nfn=main\n1 1\ncfn=even\ncalls=1\n1 60\n\nfn=even\n1 20\ncfn=odd\ncalls=4\n1 90\n\n\
         fn=odd\n1 30\ncfn=even\ncalls=3\n1 45\ncfn=leaf\ncalls=2\n1 10\n\nfn=leaf\n1 10\n",
        &[
            "odd x4 cost Ir=30 incl Ir=40 cycle 1",
            "even x4 cost Ir=20 incl Ir=20 cycle 1",
            "leaf x2 cost Ir=10 incl Ir=10",
            "main x0 cost Ir=1 incl Ir=61",
        ],
    );
}

#[test]
fn callgrind_without_recursion_has_no_cycles() {
    // f calls g and g calls f, but at different times. main enters them with costs of 12 and 23.
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 1\n1 12\ncfn=g\ncalls=1 1\n1 23\n\n\
         fn=f\n1 15\ncfn=g\ncalls=1 1\n1 7\n\nfn=g\n1 20\ncfn=f\ncalls=1 1\n1 10\ntotals: 36\n",
        &[
            "g x2 cost Ir=20 incl Ir=30",
            "f x2 cost Ir=15 incl Ir=22",
            "main x0 cost Ir=1 incl Ir=36",
        ],
    );
    // A circle with one entry must be recursion (--separate-recs=1).
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 1\n1 35\n\n\
         fn=f\n1 15\ncfn=g\ncalls=2 1\n1 40\n\nfn=g\n1 20\ncfn=f\ncalls=1 1\n1 10\ntotals: 36\n",
        &[
            "g x2 cost Ir=20 incl Ir=20 cycle 1",
            "f x2 cost Ir=15 incl Ir=15 cycle 1",
            "main x0 cost Ir=1 incl Ir=36",
        ],
    );
}

#[test]
fn the_cost_of_0_calls_is_inclusive_cost() {
    check(
        "events: Ir\nfn=main\n1 5\ncfn=f\ncalls=0 1\n1 20\n\nfn=f\n1 20\n",
        &["f x0 cost Ir=20 incl Ir=20", "main x0 cost Ir=5 incl Ir=25"],
    );
}

#[test]
fn only_the_leaf_of_an_xtree_chain_has_self_cost() {
    check(
        "creator: xtree-1\npositions: line\nevent: curB : currently allocated Bytes\nevents: curB  curBk \n\n\
         fl=(1) a.c\nfn=(1) main\n5\ncfi=(1)\ncfn=(2) f\ncalls=0 7\n5 30 2\n\nfl=(1)\nfn=(2)\n7 30 2\n\ntotals: 30 2\n",
        &[
            "f [a.c] x0 cost curB=30,curBk=2 incl curB=30,curBk=2",
            "main [a.c] x0 cost curB=0 incl curB=30,curBk=2",
        ],
    );
}

#[test]
fn jumps_define_names_and_have_no_cost() {
    check(
        "positions: instr line\nevents: Ir\nfl=(1) a.c\nfn=(1) f\n0x10 3 2\njcnd=1/2 +4 +1\n* * \njfi=(2) b.c\njfn=(2) g\njump=3 0x99 7\n+2 * \n+1 * 4\nfl=(2)\nfn=(2)\n0x99 7 1\n",
        &[
            "f [a.c] x0 cost Ir=6 incl Ir=6",
            "g [b.c] x0 cost Ir=1 incl Ir=1",
        ],
    );
}

#[test]
fn instructions_are_lines_with_addresses() {
    let text = "positions: instr line\nevents: Ir\nfl=a.c\nfn=f\n0x10 3 2\n+4 * 1\n+2 +1 5\ncfn=g\ncalls=1 0x80 9\n* * 7\n+4 * \n";
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| {
            options.lines = true;
            options.instr = true;
        }),
    );
    assert_eq!(
        records(&parsed, "line"),
        [
            "f [a.c] :4 0x16 cost Ir=5 incl Ir=12",
            "f [a.c] :3 0x10 cost Ir=2",
            "f [a.c] :3 0x14 cost Ir=1"
        ]
    );
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.lines = true),
    );
    assert_eq!(
        records(&parsed, "line"),
        ["f [a.c] :4 cost Ir=5 incl Ir=12", "f [a.c] :3 cost Ir=3"]
    );
}

#[test]
fn lines_of_calls_and_jumps_of_callgrind_are_no_base_of_positions() {
    let body = "positions: instr line\nevents: Ir\nfl=a.c\nfn=f\n0x10 3 2\ncfn=g\ncalls=1 0x80 9\n+4 +1 7\n\
                +5 +2 1\njump=1 +8 *\n+1 +1\n+5 +2 4\n";
    for (creator, expected) in [
        (
            "creator: callgrind-3.24.0\n",
            [
                "f [a.c] :7 0x1a cost Ir=4",
                "f [a.c] :3 0x10 cost Ir=2",
                "f [a.c] :5 0x15 cost Ir=1",
                "f [a.c] :4 0x14 cost Ir=0 incl Ir=7",
            ],
        ),
        (
            "creator: other\n",
            [
                "f [a.c] :9 0x1f cost Ir=4",
                "f [a.c] :3 0x10 cost Ir=2",
                "f [a.c] :6 0x19 cost Ir=1",
                "f [a.c] :4 0x14 cost Ir=0 incl Ir=7",
            ],
        ),
    ] {
        let parsed = parsed::read(
            tests::callgrind,
            (creator.to_owned() + body).as_bytes(),
            &with(|options| {
                options.lines = true;
                options.instr = true;
            }),
        );
        assert_eq!(records(&parsed, "line"), expected, "{creator}");
    }
}

#[test]
fn parts_are_summed_by_event_name() {
    let text = "part: 1\nevents: Ir Dr\nfn=(1) f\n1 10 3\ntotals: 10 3\n\npart: 2\nevents: Ir sysCount Dr\nfn=(1) g\n1 5 1 2\ntotals: 5 1 2\n";
    check(
        text,
        &[
            "f x0 cost Dr=3,Ir=10 incl Dr=3,Ir=10",
            "g x0 cost Dr=2,Ir=5,sysCount=1 incl Dr=2,Ir=5,sysCount=1",
        ],
    );
    let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
    assert_eq!(
        parsed.records_of_type("run"),
        [
            "\"stream\":1,\"tool\":\"callgrind\",\"source\":[\"in\"],\"events\":[\"Ir\",\"Dr\",\"sysCount\"],\"total\":{\"Ir\":15,\"Dr\":5,\"sysCount\":1},\"parts\":2}"
        ]
    );
}

#[test]
fn parts_can_be_read_separately() {
    let text = "creator: c\npart: 1\nthread: 1\nevents: Ir\nfn=(1) f\n1 10\ntotals: 10\n\npart: 1\nthread: 2\nevents: Ir\nfn=(2) g\n1 5\ntotals: 5\n";
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.per_part = true),
    );
    let totals: Vec<&str> = parsed.records_of_type("run");
    assert_eq!(totals.len(), 2);
    assert!(totals[1].contains("\"creator\":\"c\"") && totals[1].contains("\"total\":{\"Ir\":5}"));
    assert_eq!(
        parsed.records_of_type("fn"),
        [
            "\"fn\":\"f\",\"part\":1,\"thread\":1,\"calls\":0,\"cost\":{\"Ir\":10},\"incl\":{\"Ir\":10}}",
            "\"fn\":\"g\",\"part\":1,\"thread\":2,\"calls\":0,\"cost\":{\"Ir\":5},\"incl\":{\"Ir\":5}}"
        ]
    );
    assert_eq!(parsed.records_of_type("end").len(), 2);
}

#[test]
fn a_different_summary_is_kept_and_different_totals_are_an_error() {
    let parsed = parsed::read(
        tests::callgrind,
        b"events: Ir sysTime\nsummary: 12 18446744073709551615\nfn=f\n1 10 4\ntotals: 11 4\n",
        &options(),
    );
    assert_eq!(
        parsed.messages,
        ["in:5: totals: has 11 Ir, but the costs add up to 10"]
    );
    assert!(parsed.has_errors && !parsed.is_whole());
    assert_eq!(records(&parsed, "fn").len(), 1);
    assert!(
        parsed.records_of_type("run")[0]
            .contains("\"summary\":{\"Ir\":12,\"sysTime\":18446744073709551615}")
    );
}

#[test]
fn xdebug_2_has_its_summary_inside_a_function() {
    check(
        "version: 0.9.6\ncmd: Aggregate\nevents: Time\n\nfl=php:internal\nfn=php::strlen\n3 4\n\nfl=a.php\nfn={main}\n\nsummary: 100\n\n0 96\ncfn=php::strlen\ncalls=1 0 0\n3 4\n",
        &[
            "{main} [a.php] x0 cost Time=96 incl Time=100",
            "php::strlen [php:internal] x0 cost Time=4 incl Time=4",
            "php::strlen [a.php] x1 cost Time=0 incl Time=4",
        ],
    );
}

#[test]
fn fi_is_the_functions_file_if_there_is_no_fl() {
    // Written by lsprofcalltree.py and Mercurial. KCachegrind uses the file in force at fn=.
    check(
        "events: Ticks\nfi=main.py\nfn=main\n1 10\ncfn=work\ncfi=lib.py\ncalls=3 5\n1 90\n\nfi=lib.py\nfn=work\n5 80\nfn=idle\n7 10\n\nfe=~\nfn=len\n0 5\n",
        &[
            "work [lib.py] x3 cost Ticks=80 incl Ticks=90",
            "idle [lib.py] x0 cost Ticks=10 incl Ticks=10",
            "main [main.py] x0 cost Ticks=10 incl Ticks=100",
            "len [~] x0 cost Ticks=5 incl Ticks=5",
        ],
    );
    // The same with numbers, and with a second part that has fl= again.
    check(
        "events: Ir\nfi=(1) a.c\nfn=(1) f\n1 1\ncfn=(2) g\ncfi=(2) b.c\ncalls=1 7\n1 4\nfi=(2)\nfn=(2)\n7 4\n\
         part: 2\nevents: Ir\nfl=(1)\nfn=(1)\n1 2\nfi=(2)\n9 3\nfn=(3) h\n1 5\n",
        &[
            "f [a.c] x0 cost Ir=6 incl Ir=10",
            "h [a.c] x0 cost Ir=5 incl Ir=5",
            "g [b.c] x1 cost Ir=4 incl Ir=4",
        ],
    );
}

#[test]
fn rcalls_are_calls() {
    check(
        "events: Ir\nfl=a.c\nfn=f\n1 1\ncfn=g\nrcalls=2 7\n1 4\nfn=g\n7 4\n",
        &[
            "g [a.c] x2 cost Ir=4 incl Ir=4",
            "f [a.c] x0 cost Ir=1 incl Ir=5",
        ],
    );
}

#[test]
fn numbers_have_up_to_64_bits() {
    check(
        "events: Ir\nfl=(18446744073709551615) a.c\nfn=(18446744073709551615) f\n1 1\nfn=(18446744073709551614) g\n1 2\n\
         fn=(18446744073709551615)\n1 4\n",
        &[
            "f [a.c] x0 cost Ir=5 incl Ir=5",
            "g [a.c] x0 cost Ir=2 incl Ir=2",
        ],
    );
    check_refused(
        "events: Ir\nfn=(18446744073709551616) f\n1 1\n",
        "in:2: expected the number of a name, of at most 64 bits, found \"18446744073709551616\"",
    );
}

/// Parses a text, and checks that there are these messages and no errors.
#[track_caller]
fn parse_with_messages(text: &str, messages: &[&str]) -> Parsed {
    let parsed = parsed::read(
        tests::callgrind,
        text.as_bytes(),
        &with(|options| options.calls = true),
    );
    assert_eq!(parsed.messages, messages);
    assert!(parsed.is_whole() && !parsed.has_errors);
    parsed
}

#[test]
fn a_command_may_have_line_breaks() {
    let head = "version: 1\ncreator: callgrind-3.19.0\npid: 1\n";
    let body = "part: 1\nevents: Ir\nfn=f\n1 10\ntotals: 10\n";
    for (more, lines) in [
        ("b", 1),
        ("fn=b", 1),
        ("12 b", 1),
        ("3 4", 1),
        ("note: b", 1),
        ("\n\nb\nc", 2),
    ] {
        let text = format!("{head}cmd: ./a\n{more}\n{body}");
        let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
        let command = serde_json::to_string(&format!("./a\n{more}")).unwrap();
        let run = parsed.records_of_type("run")[0];
        assert!(run.contains(&format!("\"command\":{command}")), "{run}");
        assert_eq!(parsed.messages.len(), lines, "{:?}", parsed.messages);
        assert!(parsed.is_whole() && !parsed.has_errors);
        assert_eq!(records(&parsed, "fn"), ["f x0 cost Ir=10 incl Ir=10"]);
    }
    // Other producers may write unknown keys, which are ignored.
    let parsed = parse_with_messages("cmd: ./a\nnote: b\nevents: Ir\nfn=f\n1 10\n", &[]);
    assert!(parsed.records_of_type("run")[0].contains("\"command\":\"./a\""));
}

#[test]
fn a_name_may_have_line_breaks() {
    let parsed = parse_with_messages(
        "creator: callgrind-3.19.0\nevents: Ir\nob=(1) a\nout\nfl=(1) a.c\n.c\nfn=(1) new\nline\n1 10\ncob=(2) b\nso\ncfi=(2) c\nd\ncfn=(2) x\ny\nz\n\
         calls=1 1\n1 5\n\nob=(2)\nfl=(2)\nfn=(2)\n1 5\nfn=(3) g\nob=(1)\nfl=(1)\nfn=(1)\n1 2\ntotals: 17\n",
        &[
            "in:4: read as the rest of the name on the previous line: \"out\"",
            "in:6: read as the rest of the name on the previous line: \".c\"",
            "in:8: read as the rest of the name on the previous line: \"line\"",
            "in:11: read as the rest of the name on the previous line: \"so\"",
            "in:13: read as the rest of the name on the previous line: \"d\"",
            "in:15: read as the rest of the name on the previous line: \"y\"",
            "in:16: read as the rest of the name on the previous line: \"z\"",
        ],
    );
    assert_eq!(
        records(&parsed, "fn"),
        [
            "new\nline [a.c\n.c] {a\nout} x0 cost Ir=12 incl Ir=17",
            "x\ny\nz [c\nd] {b\nso} x1 cost Ir=5 incl Ir=5",
        ]
    );
    // Without totals, the line may belong to a name or be a damaged cost line.
    let parsed = parsed::read(
        tests::callgrind,
        b"events: Ir\nfn=f\nx 1\n1 2\n",
        &options(),
    );
    assert_eq!(
        parsed.messages,
        [
            "in:3: read as the rest of the name on the previous line: \"x 1\"",
            "in:4: no totals: at the end of the part; lines read as the rest of a name may be damaged costs"
        ]
    );
    assert!(parsed.has_errors && !parsed.is_whole());
    // A line with an invalid count does not continue a name.
    check_refused(
        "events: Ir\nfn=f\n1 1.5\n",
        "in:3: expected a count of at most 64 bits, found \"1.5\"",
    );
}

#[test]
fn a_call_inlined_from_another_file_has_a_site() {
    let parsed = parsed::read(tests::callgrind,
        b"events: Ir\nfl=a.c\nfn=f\n1 1\nfi=a.h\n40 1\ncfn=g\ncfi=a.c\ncalls=1 7\n40 4\nfe=a.c\n40 1\ncfn=g\ncfi=a.c\ncalls=2 7\n40 8\nfl=a.c\nfn=g\n7 12\n",
        &with(|options| options.calls = true),
    );
    let sites: Vec<serde_json::Value> = parsed
        .records_of_type("call")
        .iter()
        .map(|call| serde_json::from_str(&format!("{{{call}")).unwrap())
        .map(|call: serde_json::Value| {
            serde_json::json!([call["file"], call["site"], call["line"], call["calls"]])
        })
        .collect();
    assert_eq!(
        serde_json::Value::from(sites),
        serde_json::json!([["a.c", null, 40, 2], ["a.c", "a.h", 40, 1]])
    );
}

#[test]
fn an_xdebug_profile_without_summary_gets_a_warning() {
    let parsed = parsed::read(
        tests::callgrind,
        b"creator: xdebug 3.2.0 (PHP 8.2.35)\nevents: Time_(10ns)\n\nfl=(1) a.php\nfn=(1) f\n3 4\n",
        &options(),
    );
    assert_eq!(
        parsed.messages,
        ["in:6: no summary:, which Xdebug writes last; the profile may be cut short"]
    );
    assert!(!parsed.has_errors && parsed.is_whole());
}

#[test]
fn costs_may_be_compressed_like_positions() {
    check(
        "events: I\nfl=file1.c\nfn=main\n16 20\ncfn=func1\ncalls=1 50\n* 400\ncfi=file2.c\ncfn=func2\ncalls=3 20\n* *\n\n\
         fn=func1\n+35 -300\ncfi=file2.c\ncfn=func2\ncalls=2 20\n* 300\n\nfl=file2.c\nfn=func2\n-31 +400",
        &[
            "func2 [file2.c] x5 cost I=700 incl I=700",
            "func1 [file1.c] x1 cost I=100 incl I=400",
            "main [file1.c] x0 cost I=20 incl I=820",
        ],
    );
}

#[test]
fn inclusive_costs_of_counters_that_ran_backwards_add_up_modulo_2_to_the_64() {
    // -6 + 10 + 3 of self cost is 7. Self costs that do not fit are still an error.
    check(
        "creator: callgrind-3.19.0\nevents: Ir\nfn=f\n1 3\ncfn=g\ncalls=1 2\n1 18446744073709551610\n\ncfn=g\ncalls=1 2\n1 10\n\n\
         fn=g\n2 4\ntotals: 7\n",
        &["g x2 cost Ir=4 incl Ir=4", "f x0 cost Ir=3 incl Ir=7"],
    );
}

#[test]
fn negative_costs_are_costs() {
    check(
        "events: Mem\nfn=f\n1 -5\n2 3\n",
        &["f x0 cost Mem=-2 incl Mem=-2"],
    );
}

#[test]
fn costs_before_the_first_function_have_no_name() {
    check(
        "events: Ir\n1 5\nfn=f\n1 2\n",
        &["- x0 cost Ir=5 incl Ir=5", "f x0 cost Ir=2 incl Ir=2"],
    );
}

#[test]
fn carriage_returns_and_a_missing_newline_are_ignored() {
    check(
        "events: Ir\r\nfn=f\r\n16 0x10\r\n17",
        &["f x0 cost Ir=16 incl Ir=16"],
    );
}

/// The stream has the sums from before the overflow, no value modulo 2^64, and no `end`.
#[test]
fn a_sum_beyond_64_bits_is_an_error_and_keeps_earlier_sums() {
    const MOST: &str = "18446744073709551615";
    const HALF: &str = "9223372036854775808";
    for (text, expect) in [
        (
            format!("events: Ir Dr\nfn=f\n1 {MOST} 3\n2 5 4\n"),
            [format!("f x0 cost Dr=3,Ir={MOST} incl Dr=3,Ir={MOST}")].as_slice(),
        ),
        (
            format!("events: Ir\nfn=f\n1 {MOST}\nfn=f'2\n1 5\nfn=g\n1 1\n"),
            &[],
        ),
        (
            format!("events: Ir\nfn=f\n1 {HALF}\ncfn=g\ncalls=1 1\n2 {HALF}\nfn=g\n1 1\n"),
            &[],
        ),
        (
            format!(
                "events: Ir\nfn=f\n1 1\ncfn=g\ncalls=1 1\n2 {HALF}\ncfn=g\ncalls=1 1\n2 {HALF}\n"
            ),
            &[],
        ),
        (format!("events: Ir\nfn=f\n1 {MOST}\nfn=g\n1 1\n"), &[]),
    ] {
        let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
        assert!(parsed.has_errors && !parsed.is_whole(), "{text}");
        assert!(
            parsed.messages[0].contains("64 bits"),
            "{:?}",
            parsed.messages
        );
        let records = records(&parsed, "fn");
        if !expect.is_empty() {
            assert_eq!(records, expect);
        }
        let total: serde_json::Value = match parsed.records_of_type("run").first() {
            Some(run) => serde_json::from_str(&format!("{{{run}")).unwrap(),
            None => continue,
        };
        let costs: u128 = parsed
            .records_of_type("fn")
            .iter()
            .map(|record| {
                let record: serde_json::Value =
                    serde_json::from_str(&format!("{{{record}")).unwrap();
                u128::from(record["cost"]["Ir"].as_u64().unwrap())
            })
            .sum();
        assert_eq!(
            costs,
            u128::from(total["total"]["Ir"].as_u64().unwrap()),
            "{text}"
        );
    }
}

#[test]
fn mangled_names_are_demangled_with_their_level() {
    check(
        "creator: callgrind-3.14.0\nevents: Ir\nfn=(1) _ZN2rs4pong17hcc47841c3c82513eE\n1 1\nfn=(2) _ZN2rs4pong17hcc47841c3c82513eE'2\n1 2\ntotals: 3\n",
        &["rs::pong x0 cost Ir=3 incl Ir=1"],
    );
}

#[test]
fn errors_have_a_line_number() {
    check_refused(
        "events: Ir\nfn=(3)\n",
        "in:2: (3) is not the number of a function on an earlier line",
    );
    check_refused(
        "events: Ir\nfn=f\n1 18446744073709551616\n",
        "in:3: expected a count of at most 64 bits, found \"18446744073709551616\"",
    );
    check_refused(
        "events: Ir\nfn=f\n1 18446744073709551615\n1 1\n",
        "in:4: a sum of counts is beyond 64 bits",
    );
    check_refused(
        "events: Ir\nfn=f\n1 2 3\n",
        "in:3: expected at most 1 counts, one per event, found 2",
    );
    check_refused(
        "events: Ir\nfn=f\n1 1\nx 1\n",
        "in:4: expected a header line, a position or costs, found \"x 1\"",
    );
    check_refused(
        "version: 1\nfn=f\n1 1\n",
        "in:2: expected events: before a position",
    );
    check_refused(
        "version: 2\nevents: Ir\n",
        "in:1: expected version 1 of the format, found version 2",
    );
    check_refused(
        "events: Ir\n",
        "in:1: expected costs, found the end of the file",
    );
    check_refused(
        "events: Ir\nfn=f\nfl=f.c\n",
        "in:3: expected costs, found the end of the file",
    );
    check_refused(
        "creator: remake 4.3\nevents: Ir\nsummary: 3\n",
        "in:3: expected costs, found the end of the file",
    );
    check_refused(
        "creator: callgrind-3.19.0\nevents: Ir\nsummary: 3\nfn=f\n1 3\n",
        "in:5: expected totals: at the end of the part, found none; the profile is cut short",
    );
    check_refused(
        "creator: callgrind-3.19.0\nevents: Ir\nsummary: 30\nfn=f\n1 30\ntotals: 3",
        "in:6: the totals: are cut short by the end of the file",
    );
    check_refused(
        "events: Ir\nfn=f\n1 3\ncfn=g\ncalls=1 2\n",
        "in:5: expected the cost of calls=, found the end of the file; the profile is cut short",
    );
}

#[test]
fn data_before_an_error_is_written() {
    let parsed = parsed::read(
        tests::callgrind,
        b"events: Ir\nfn=f\n1 3\nfn=(9)\n",
        &options(),
    );
    assert_eq!(records(&parsed, "fn"), ["f x0 cost Ir=3 incl Ir=3"]);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn no_prefix_panics() {
    let everything = with(|options| {
        options.lines = true;
        options.calls = true;
        options.instr = true;
    });
    for name in [
        "nothing-collected.callgrind.out",
        "3.19.0-parts_multi.callgrind.out.2",
        "gperftools.callgrind",
    ] {
        let path = format!(
            "{}/../../tests/data/callgrind/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        check_all_prefixes(tests::callgrind, &std::fs::read(path).unwrap(), &everything);
    }
}

#[test]
fn every_prefix_of_callgrinds_own_profiles_is_an_error() {
    for name in [
        "recursion-toggled.callgrind.out",
        "3.19.0-parts_multi.callgrind.out.2",
        "xtree-memory.kcg",
    ] {
        let path = format!(
            "{}/../../tests/data/callgrind/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read(path).unwrap();
        // A profile without its last line end is complete.
        for length in 0..text.trim_ascii_end().len() {
            let parsed = parsed::read(tests::callgrind, &text[..length], &options());
            assert!(parsed.has_errors, "{name}: prefix of {length} bytes");
        }
        assert!(
            !parsed::read(tests::callgrind, text.trim_ascii_end(), &options()).has_errors,
            "{name}"
        );
    }
}

#[test]
fn parts_requested_by_a_benchmark_have_its_name_as_trigger() {
    // CodSpeed's runner writes a dump for each benchmark into one file, without name compression.
    let part = |number: u64, trigger: &str, own: u64| {
        format!(
            "part: {number}\n\ndesc: Trigger: {trigger}\n\npositions: line\nevents: Ir\nob=/opt/bench\nfl=lib.rs\nfn=fib\n0 {own}\n\nfn=main\n0 7\ncfn=fib\ncalls=1 0\n0 {own}\ntotals: {}\n\n",
            own + 7
        )
    };
    let text = [
        "# callgrind format\nversion: 1\ncreator: callgrind-3.26.0.codspeed\npid: 4242\ncmd: bench\n",
        &part(1, "Client Request: benches/fib.rs::fib[10]", 100),
        &part(2, "Client Request: benches/fib.rs::fib[20]", 2000),
        &part(3, "Program termination", 5),
    ]
    .concat();
    let parts = Options {
        per_part: true,
        ..Options::default()
    };
    let apart = parsed::read(tests::callgrind, text.as_bytes(), &parts);
    let runs: Vec<(String, u64)> = apart
        .records_of_type("run")
        .iter()
        .map(|run| {
            let run: serde_json::Value = serde_json::from_str(&format!("{{{run}")).unwrap();
            let trigger = run["trigger"].as_str().unwrap().to_owned();
            (trigger, run["total"]["Ir"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        runs,
        [
            ("Client Request: benches/fib.rs::fib[10]".to_owned(), 107),
            ("Client Request: benches/fib.rs::fib[20]".to_owned(), 2007),
            ("Program termination".to_owned(), 12),
        ]
    );
    // Together the parts are one profile. Its total is the sum of the parts.
    let whole = parsed::read(tests::callgrind, text.as_bytes(), &Options::default());
    assert_eq!(whole.records_of_type("run").len(), 1);
    assert!(whole.records_of_type("run")[0].contains(r#""total":{"Ir":2126}"#));
    assert!(!whole.records_of_type("run")[0].contains("trigger"));
    assert!(whole.messages.is_empty() && apart.messages.is_empty());
}

/// A profile as pyprof2calltree writes it from cProfile's figures. `exec` calls `even`. `even` and `odd` call each other.
/// Inclusive costs, computed by hand as in `pstats`: exec 1000, even 600, odd 580, leaf 100, `disable` 7.
const PYTHON: &str = "\
event: ns : Nanoseconds
events: ns
summary: 1000

fl=~
fn=exec
0 300
cfn=even
calls=1 1
0 600
cfn=leaf
calls=1 3
0 100

fn=even
1 20
cfn=odd
calls=3 2
1 580

fn=odd
2 40
cfn=even
calls=2 1
2 540

fn=leaf
3 100

fn=disable
0 7
";

#[test]
fn arcs_of_python_were_timed_one_by_one() {
    check(
        PYTHON,
        &[
            // No caller, and its most expensive call costs 600: self cost and calls, at most the summary.
            "exec [~] x0 cost ns=300 incl ns=1000",
            "leaf [~] x1 cost ns=100 incl ns=100",
            "odd [~] x3 cost ns=40 incl ns=580",
            "even [~] x3 cost ns=20 incl ns=1140",
            "disable [~] x0 cost ns=7 incl ns=7",
        ],
    );
    // From another producer, the same arcs are a circle, and calls inside it do not count.
    check(
        &format!("creator: other\n{PYTHON}"),
        &[
            "exec [~] x0 cost ns=300 incl ns=1000",
            "leaf [~] x1 cost ns=100 incl ns=100",
            "odd [~] x3 cost ns=40 incl ns=40 cycle 1",
            "even [~] x3 cost ns=20 incl ns=20 cycle 1",
            "disable [~] x0 cost ns=7 incl ns=7",
        ],
    );
}

#[test]
fn calls_have_valgrinds_grammar() {
    // Any blanks, a decimal or hexadecimal number, blanks, positions.
    for calls in [
        "calls=2 4",
        "calls= 2 4",
        "calls=\t2\t4",
        "calls=0x2 0x4",
        "calls=  0x2 +2",
    ] {
        let text =
            format!("version: 1\nevents: Ir\n\nfn=main\n1 5\ncfn=f\n{calls}\n2 7\nfn=f\n4 7\n");
        let options = with(|options| options.calls = true);
        let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options);
        assert_eq!(
            parsed.records_of_type("call"),
            [r#""fn":"main","line":2,"callee":{"fn":"f"},"calls":2,"incl":{"Ir":7}}"#],
            "{calls}"
        );
    }
}
