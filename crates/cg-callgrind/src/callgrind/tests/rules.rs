//! Rules of the reader: sums, positions, and the cost of calls.

use super::*;

#[test]
fn totals_above_and_below_the_sum_of_the_costs_are_errors() {
    for (totals, wrong) in [
        ("10 4", None),
        ("9 4", Some("9 Ir, but the costs add up to 10")),
        ("11 4", Some("11 Ir, but the costs add up to 10")),
        ("10 3", Some("3 Dr, but the costs add up to 4")),
        ("10 5", Some("5 Dr, but the costs add up to 4")),
        // Omitted counts are 0.
        ("10", Some("0 Dr, but the costs add up to 4")),
    ] {
        let text = format!("events: Ir Dr\nfn=f\n1 10 4\ntotals: {totals}\n");
        let parsed = parsed::read(tests::callgrind, text.as_bytes(), &options());
        assert_eq!(parsed.has_errors, wrong.is_some(), "{totals}");
        let messages: Vec<String> = (wrong.iter())
            .map(|wrong| format!("in:4: totals: has {wrong}"))
            .collect();
        assert_eq!(parsed.messages, messages);
    }
}

#[test]
fn totals_of_a_part_are_compared_with_the_costs_of_that_part() {
    let part = |number: u64, cost: u64, total: u64| {
        format!("part: {number}\nevents: Ir\nfn=(1) f\n1 {cost}\ntotals: {total}\n\n")
    };
    let parsed = |text: String| parsed::read(tests::callgrind, text.as_bytes(), &options());
    assert!(!parsed(part(1, 10, 10) + &part(2, 5, 5)).has_errors);
    // The second total includes the first part.
    assert!(parsed(part(1, 10, 10) + &part(2, 5, 15)).has_errors);
    assert!(parsed(part(1, 10, 15) + &part(2, 5, 5)).has_errors);
}

#[test]
fn position_line_applies_to_the_next_function_and_is_then_only_in_force() {
    // The second time, g has no file of its own, and a.c was given for f.
    check(
        "events: Ir\nfl=(2) b.c\nfn=(2) g\n1 1\nfl=(1) a.c\nfn=(1) f\n2 2\nfn=(2)\n3 4\n",
        &[
            "g [b.c] x0 cost Ir=5 incl Ir=5",
            "f [a.c] x0 cost Ir=2 incl Ir=2",
        ],
    );
    // If the file directly precedes it, it is another function.
    check(
        "events: Ir\nfl=(2) b.c\nfn=(2) g\n1 1\nfl=(1) a.c\nfn=(1) f\n2 2\nfl=(1)\nfn=(2)\n3 4\n",
        &[
            "g [a.c] x0 cost Ir=4 incl Ir=4",
            "f [a.c] x0 cost Ir=2 incl Ir=2",
            "g [b.c] x0 cost Ir=1 incl Ir=1",
        ],
    );
    // The same for objects.
    check(
        "events: Ir\nob=(2) b.so\nfn=(2) g\n1 1\nob=(1) a.so\nfn=(1) f\n2 2\nfn=(2)\n3 4\n",
        &[
            "g {b.so} x0 cost Ir=5 incl Ir=5",
            "f {a.so} x0 cost Ir=2 incl Ir=2",
        ],
    );
}

#[test]
fn incoming_cost_as_large_as_the_most_expensive_call_explains_a_timed_function() {
    let python = |incoming: u64| {
        format!(
            "events: ns\nsummary: 1000\n\nfl=~\nfn=main\n0 300\ncfn=f\ncalls=1 1\n0 {incoming}\n\n\
             fn=f\n1 10\ncfn=g\ncalls=1 2\n1 100\n\nfn=g\n2 100\n"
        )
    };
    let f = |incoming: u64| {
        let parsed = parsed::read(tests::callgrind, python(incoming).as_bytes(), &options());
        records(&parsed, "fn")
            .into_iter()
            .find(|record| record.starts_with('f'))
            .unwrap()
    };
    assert_eq!(f(100), "f [~] x1 cost ns=10 incl ns=100");
    // A call below f costs more than the calls of f, so f was also entered from outside the profile.
    assert_eq!(f(99), "f [~] x1 cost ns=10 incl ns=110");
}

#[test]
fn caller_whose_call_is_missing_is_the_first_function_of_its_name() {
    let text = "creator: callgrind-3.19.0\nevents: Ir\nfl=a.c\nfn=helper\n1 1\nfl=b.c\nfn=helper\n1 2\n\
                fl=c.c\nfn=main\n1 1\ncfn=f'main\ncalls=1 1\n1 4\n\nfn=f'main\n1 4\n\nfn=leaf'helper\n5 8\ntotals: 16\n";
    let stacks = with(|options| options.stacks = true);
    let parsed = parsed::read(tests::callgrind, text.as_bytes(), &stacks);
    let leaf = parsed
        .records_of_type("stack")
        .into_iter()
        .find(|stack| stack.contains("leaf"))
        .unwrap();
    let record: serde_json::Value = serde_json::from_str(&format!("{{{leaf}")).unwrap();
    let caller = &record["stack"][1];
    assert_eq!(
        (&caller["fn"], &caller["file"]),
        (&"helper".into(), &"a.c".into())
    );
}
