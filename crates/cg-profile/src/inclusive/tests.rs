//! Inclusive costs of small graphs that are computed by hand.

use cg_stream::Reader;
use cg_stream::record::Count;

use crate::Profile;

/// Reads lines such as `in f<main 5 9` (code of `f` inlined into `main`, its self and inclusive cost) and `call f g 4`.
fn profile(total: u64, lines: &[&str]) -> Profile {
    let mut text = format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"source\":[],\"events\":[\"Ir\"],\"total\":{{\"Ir\":{total}}}}}\n"
    );
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        text += &match words[..] {
            ["in", stack, own, incl] => {
                let frames: Vec<String> = (stack.split('<'))
                    .map(|name| format!("{{\"fn\":\"{name}\"}}"))
                    .collect();
                let innermost = stack.split('<').next().unwrap();
                format!(
                    "{{\"type\":\"inline\",\"fn\":\"{innermost}\",\"cost\":{{\"Ir\":{own}}},\"incl\":{{\"Ir\":{incl}}},\"stack\":[{}]}}\n",
                    frames.join(",")
                )
            }
            ["call", caller, callee, incl] => {
                let frames: Vec<&str> = caller.split('<').collect();
                let inlined: Vec<String> = (frames[..frames.len() - 1].iter())
                    .map(|name| format!("{{\"fn\":\"{name}\"}}"))
                    .collect();
                let inlined = match inlined.is_empty() {
                    true => String::new(),
                    false => format!("\"inlined\":[{}],", inlined.join(",")),
                };
                let host = frames[frames.len() - 1];
                format!(
                    "{{\"type\":\"call\",\"fn\":\"{host}\",\"line\":1,{inlined}\"callee\":{{\"fn\":\"{callee}\"}},\"calls\":1,\"incl\":{{\"Ir\":{incl}}}}}\n"
                )
            }
            _ => panic!("{line}"),
        };
    }
    let mut reader = Reader::new(text.as_bytes());
    let mut profile = Profile::default();
    while let Some(line) = reader.next_line().unwrap() {
        profile.add(&line).unwrap();
    }
    profile
}

/// Returns the inclusive cost of a function, and true if it is a bound.
fn inclusive(profile: &Profile, name: &str) -> (Count, bool) {
    let rows = profile.by_innermost().unwrap().rows;
    let named = |row: &usize| profile.text(rows.function(*row).name) == Some(name);
    let row = (0..rows.len()).find(named).unwrap();
    match (rows.incl(row), rows.incl_bound(row)) {
        (Some(incl), None) => (incl[0], false),
        (None, Some(bound)) => (bound[0], true),
        _ => panic!("{name}"),
    }
}

#[test]
fn recursion_below_the_inlined_first_level_counts_once() {
    // The first level of `ins` is inlined into `main`. It calls `ins`, which calls itself and `malloc`.
    let lines = [
        "in main 20 130",
        "in ins<main 10 100",
        "in ins 60 85",
        "in malloc 30 30",
        "call ins<main ins 85",
        "call ins ins 0",
        "call ins<main malloc 5",
        "call ins malloc 25",
        "call main malloc 0",
    ];
    let exact = profile(200, &lines);
    assert_eq!(inclusive(&exact, "ins"), (100, false));
    assert_eq!(inclusive(&exact, "main"), (130, false));
    // Without calls, the code out of line may have other callers.
    let unknown = profile(200, &lines[..4]);
    assert_eq!(inclusive(&unknown, "ins"), (185, true));
    assert_eq!(inclusive(&profile(150, &lines[..4]), "ins"), (150, true));
    assert_eq!(inclusive(&unknown, "main"), (130, false));
    assert_eq!(inclusive(&unknown, "malloc"), (30, false));
}

#[test]
fn code_that_is_entered_from_inside_itself_is_bounded_by_its_callee() {
    // `frame` is inlined into `run` and `call`, and calls `eval`, which calls `run` again.
    let lines = [
        "in main 5 100",
        "in run 10 90",
        "in frame<run 4 80",
        "in call 6 70",
        "in frame<call 3 60",
        "in eval 72 84",
        "call main run 90",
        "call frame<run eval 84",
        "call eval call 70",
        "call frame<call eval 0",
    ];
    let profile = profile(100, &lines);
    assert_eq!(inclusive(&profile, "frame"), (91, true));
    assert_eq!(inclusive(&profile, "eval"), (84, false));
}

#[test]
fn callers_and_the_total_limit_a_bound() {
    let callers = [
        "in main 1 100",
        "in a 4 50",
        "in f<a 40 46",
        "in f 30 48",
        "call main a 50",
        "call f<a f 6",
        "call a f 42",
        "call f a 0",
    ];
    // The sum is 46 + 48 - 6, but `a` contains all of it.
    assert_eq!(inclusive(&profile(100, &callers), "f"), (50, true));
    let total = ["in a 10 60", "in f<a 5 50", "in b 10 60", "in f<b 5 50"];
    assert_eq!(inclusive(&profile(80, &total), "f"), (80, true));
}

#[test]
fn code_that_calls_nothing_is_exact_without_calls() {
    let lines = [
        "in a 10 60",
        "in f<a 5 7",
        "in g<f<a 2 2",
        "in b 10 60",
        "in f<b 5 5",
        "in f 3 3",
    ];
    assert_eq!(inclusive(&profile(80, &lines), "f"), (15, false));
}

#[test]
fn two_programs_can_have_the_same_records_but_for_calls() {
    // In the first program, the inlined first level of `ins` calls `ins`. In the second one, `dl` calls `ins`, and the first
    // level calls `reloc`. Only the calls differ, so without them nothing below the sum is a bound.
    let records = [
        "in main 5 100",
        "in ins<main 5 60",
        "in ins 35 55",
        "in malloc 20 20",
        "in rest 35 35",
        "in dl 25 80",
        "in reloc 35 55",
        "in look 20 20",
    ];
    let common = [
        "call main rest 35",
        "call ins ins 0",
        "call ins malloc 20",
        "call reloc look 20",
    ];
    let with_calls = |calls: [&'static str; 2]| {
        let lines = [&records[..], &common, &calls].concat();
        inclusive(&profile(180, &lines), "ins")
    };
    let inner = with_calls(["call ins<main ins 55", "call dl reloc 55"]);
    let outer = with_calls(["call ins<main reloc 55", "call dl ins 55"]);
    assert_eq!((inner, outer), ((60, false), (115, false)));
    assert_eq!(inclusive(&profile(180, &records), "ins"), (115, true));
}
