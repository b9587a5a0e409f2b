use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cg_reader::Options;
use parsed::Parsed;
use serde_json::Value;

use crate::tests;

fn stacks(text: &str) -> Parsed {
    let options = Options {
        stacks: true,
        ..Options::default()
    };
    parsed::read(tests::recognised, text.as_bytes(), &options)
}

fn records(parsed: &Parsed, kind: &str) -> Vec<Value> {
    let whole = |record: &&str| serde_json::from_str(&format!("{{{record}")).unwrap();
    parsed.records_of_type(kind).iter().map(whole).collect()
}

/// Returns the stacks as `main;f 3`, outermost frame first, sorted. Estimated stacks end in `~`, cut stacks in `<`.
fn folded(parsed: &Parsed) -> Vec<String> {
    let fold = |record: &Value| {
        let frames = record["stack"].as_array().unwrap().iter().rev();
        let names: Vec<&str> = frames.map(|frame| frame["fn"].as_str().unwrap()).collect();
        let mark = |field: &str, mark| if record[field] == true { mark } else { "" };
        let (estimated, cut) = (mark("estimated", "~"), mark("cut", "<"));
        format!(
            "{} {}{estimated}{cut}",
            names.join(";"),
            record["cost"]["Ir"]
        )
    };
    let mut folded: Vec<String> = records(parsed, "stack").iter().map(fold).collect();
    folded.sort();
    folded
}

type ByFunction = BTreeMap<(String, String, String, String), i128>;

fn add(sums: &mut ByFunction, function: &Value, cost: &Value) {
    for (event, count) in cost.as_object().unwrap() {
        let name = |field: &str| function[field].as_str().unwrap_or_default().to_owned();
        let key = (name("fn"), name("file"), name("obj"), event.clone());
        *sums.entry(key).or_default() += i128::from(count.as_u64().unwrap());
    }
}

/// Returns self cost by function and event, once from functions and once from the innermost frames of stacks.
fn self_costs(text: &str) -> (ByFunction, ByFunction) {
    let (mut functions, mut leaves) = (ByFunction::new(), ByFunction::new());
    for record in records(
        &parsed::read(tests::recognised, text.as_bytes(), &Options::default()),
        "fn",
    ) {
        add(&mut functions, &record, &record["cost"]);
    }
    let parsed = stacks(text);
    assert!(parsed.is_whole(), "{:?}", parsed.messages);
    for record in records(&parsed, "stack") {
        add(&mut leaves, &record["stack"][0], &record["cost"]);
    }
    functions.retain(|_, count| *count != 0);
    leaves.retain(|_, count| *count != 0);
    (functions, leaves)
}

/// Checks that the stacks that end in a function sum to its self cost.
#[track_caller]
fn check_self_costs(text: &str) {
    let (functions, leaves) = self_costs(text);
    assert_eq!(functions, leaves);
}

/// Checks that all stacks add up to the total of the run without stacks.
#[track_caller]
fn check_total(text: &str, parsed: &Parsed) {
    let mut sums: BTreeMap<String, i128> = BTreeMap::new();
    for record in parsed.records_of_type("stack") {
        // There can be many records, so read only their costs.
        let cost = &record[record.find("\"cost\":").unwrap() + 7..];
        let cost = &cost[..=cost.find('}').unwrap()];
        let cost: BTreeMap<String, i128> = serde_json::from_str(cost).unwrap();
        for (event, count) in cost {
            *sums.entry(event).or_default() += count;
        }
    }
    let run = &records(
        &parsed::read(tests::recognised, text.as_bytes(), &Options::default()),
        "run",
    )[0];
    for (event, total) in run["total"].as_object().unwrap() {
        let sum = sums.get(event).copied().unwrap_or(0);
        assert_eq!(sum, i128::from(total.as_u64().unwrap()), "{event}");
    }
    assert_eq!(records(parsed, "run")[0]["total"], run["total"]);
}

fn profile(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/callgrind");
    std::fs::read_to_string(format!("{folder}/{name}.callgrind.out")).unwrap()
}

#[test]
fn cost_is_divided_among_callers_by_the_cost_of_their_calls() {
    // start has 39/57 of shared, end has 18/57. The self cost of 20 gives 13.68 and 6.32. leaf's 37 give 25.32 and 11.68.
    let text = "events: Ir\nfl=e.c\nfn=(1) main\n1 1\ncfn=(2) start\ncalls=1 2\n1 40\ncfn=(3) end\ncalls=1 3\n1 20\nfn=(2)\n2 1\ncfn=(4) shared\ncalls=3 4\n2 39\nfn=(3)\n3 2\ncfn=(4)\ncalls=1 4\n3 18\nfn=(4)\n4 20\ncfn=(5) leaf\ncalls=4 5\n4 37\nfn=(5)\n5 37\ntotals: 61\n";
    let parsed = stacks(text);
    assert_eq!(
        folded(&parsed),
        [
            "main 1",
            "main;end 2",
            "main;end;shared 6~",
            "main;end;shared;leaf 12~",
            "main;start 1",
            "main;start;shared 14~",
            "main;start;shared;leaf 25~",
        ]
    );
    assert!(parsed.records_of_type("fn").is_empty() && parsed.is_whole() && !parsed.has_errors);
    // main, start and end have 4 of 61.
    assert!(
        parsed.messages[0].contains("exact for 6.5% of Ir"),
        "{:?}",
        parsed.messages
    );
}

#[test]
fn a_circle_is_entered_once() {
    let text = "events: Ir\nfl=c.c\nfn=(1) main\n1 1\ncfn=(2) a\ncalls=1 2\n1 30\nfn=(2)\n2 10\ncfn=(3) b\ncalls=2 3\n2 25\nfn=(3)\n3 20\ncfn=(2)\ncalls=1 2\n3 12\ntotals: 31\n";
    let parsed = stacks(text);
    assert_eq!(folded(&parsed), ["main 1", "main;a 10~", "main;a;b 20~"]);
    // The stacks inside a circle are unknown.
    assert!(parsed.messages[0].contains("3.2%"), "{:?}", parsed.messages);
}

#[test]
fn each_recursion_level_is_a_frame() {
    let text = "creator: callgrind-3.19.0\nevents: Ir\nfl=a.c\nfn=(1) main\n1 1\ncfn=(2) f\ncalls=1 1\n1 100\nfn=(2)\n1 40\ncfn=(3) f'2\ncalls=1 1\n1 60\nfn=(3)\n1 60\ncfn=(3)\ncalls=2 1\n1 20\n";
    assert_eq!(
        folded(&stacks(text)),
        ["main 1", "main;f 40", "main;f;f 60~"]
    );
}

#[test]
fn cost_without_a_caller_begins_a_stack() {
    // f costs 10, but only 4 come from a call. g is never called. h is called at no cost.
    let text = "events: Ir\nfl=a.c\nfn=(1) main\n1 1\ncfn=(2) f\ncalls=1 1\n1 4\ncfn=(4) h\ncalls=3 1\n1 0\nfn=(2)\n1 10\nfn=(3) g\n1 7\ncfn=(4)\ncalls=1 1\n1 0\nfn=(4)\n1 8\n";
    assert_eq!(
        folded(&stacks(text)),
        ["f 6~", "g 7", "g;h 2~", "main 1", "main;f 4~", "main;h 6~"]
    );
}

#[test]
fn each_event_is_divided_by_its_own_cost() {
    let text = "events: Ir Dr\nfl=a.c\nfn=(1) m\n1 1\ncfn=(2) f\ncalls=1 1\n1 30 1\ncfn=(3) g\ncalls=1 1\n1 10 3\nfn=(2)\n1 0\ncfn=(4) h\ncalls=1 1\n1 30 1\nfn=(3)\n1 0\ncfn=(4)\ncalls=1 1\n1 10 3\nfn=(4)\n1 40 4\n";
    let parsed = stacks(text);
    let stack_of_h = |record: &Value| {
        let stack = &record["stack"];
        let is_h = stack[0]["fn"] == "h";
        is_h.then(|| format!("{} {}", stack[1]["fn"], record["cost"]))
    };
    let costs: Vec<String> = records(&parsed, "stack")
        .iter()
        .filter_map(stack_of_h)
        .collect();
    assert_eq!(
        costs,
        ["\"f\" {\"Dr\":1,\"Ir\":30}", "\"g\" {\"Dr\":3,\"Ir\":10}"]
    );
}

#[test]
fn separate_callers_are_stacks() {
    let text = profile("3.19.0-sepc_callers10_recs10");
    let parsed = stacks(&text);
    let bottom = "0x000000000001ab70;(below main);__libc_start_main@@GLIBC_2.34;(below main);main";
    let expected = |rest: &str, cost: u64| format!("{bottom}{rest} {cost}");
    let found = folded(&parsed);
    for (rest, cost) in [
        ("", 11),
        (";end", 4),
        (";end;shared", 3),
        (";end;shared;leaf", 66),
        (";start", 4),
        (";start;shared", 3),
        (";start;shared;leaf", 606),
        (";fib", 18),
        (";fib;fib", 36),
        (";fib;fib;fib;fib;fib;fib;fib;fib", 22),
    ] {
        assert!(found.contains(&expected(rest, cost)), "{rest}: {found:#?}");
    }
    assert_eq!(parsed.messages, [""; 0]);
    // Each of the two functions called (below main) is in its own file.
    let is_leaf = |record: &&Value| record["stack"][0]["fn"] == "leaf";
    let leaf = &records(&parsed, "stack")
        .into_iter()
        .find(|record| is_leaf(&record))
        .unwrap();
    let files: Vec<&str> = (leaf["stack"].as_array().unwrap().iter())
        .map(|frame| frame["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        files[4..],
        [
            "./csu/../sysdeps/nptl/libc_start_call_main.h",
            "./csu/../csu/libc-start.c",
            "???",
            "???"
        ]
    );
}

#[test]
fn chains_with_the_maximum_number_of_callers_are_cut() {
    let found = folded(&stacks(&profile("3.19.0-sepc_callers3")));
    for stack in [
        "(below main);main;start;shared 3<",
        "main;start;shared;leaf 606<",
        "main;end;shared;leaf 66<",
        // The second level includes all deeper levels.
        "__libc_start_main@@GLIBC_2.34;(below main);main;fib;fib 950<",
    ] {
        assert!(
            found.iter().any(|found| found == stack),
            "{stack}: {found:#?}"
        );
    }
}

#[test]
fn a_function_without_callers_ends_a_chain_of_any_length() {
    let text = "creator: callgrind-3.19.0\nevents: Ir\nfl=a.c\nfn=(1) m\n1 1\ncfn=(2) a'm\ncalls=1 1\n1 9\nfn=(2)\n1 2\ncfn=(3) b'a'm\ncalls=1 1\n1 7\nfn=(3)\n1 3\ncfn=(4) c'b'a\ncalls=1 1\n1 4\nfn=(4)\n1 4\n";
    assert_eq!(
        folded(&stacks(text)),
        ["a;b;c 4<", "m 1", "m;a 2", "m;a;b 3"]
    );
}

#[test]
fn levels_count_activations_among_the_callers() {
    let found = folded(&stacks(&profile("3.19.0-mut_callers12_recs10")));
    let bottom = "0x000000000001ab70;(below main);__libc_start_main@@GLIBC_2.34;(below main);main";
    for (rest, cost) in [
        (";r", 8),
        (";r;r", 8),
        (";r;r;r", 8),
        // Callgrind does not record the recursion depth of a caller.
        (";r;a", 8),
        (";r;a;b;a", 8),
        (";r;a;b;a;b", 8),
        (";r;a;b;a;b;leaf", 36),
    ] {
        let expected = format!("{bottom}{rest} {cost}");
        assert!(found.contains(&expected), "{expected}: {found:#?}");
    }
}

#[test]
fn stacks_sum_to_the_functions_of_every_profile() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/callgrind");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let parsed = stacks(&text);
        if !parsed.is_whole() {
            continue;
        }
        check_total(&text, &parsed);
        check_self_costs(&text);
        seen += 1;
    }
    assert!(seen > 15, "{seen}");
}

/// Simulates a profile with known stacks: random paths of calls, with their costs.
fn simulated(seed: u64, functions: u64) -> (String, BTreeMap<Vec<u64>, u64>) {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut real = BTreeMap::new();
    let mut own: BTreeMap<u64, u64> = BTreeMap::new();
    let mut arcs: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for _ in 0..200 {
        // Functions call only functions with larger numbers, so there is no recursion.
        let mut path = vec![0];
        while random(4) > 0 && *path.last().unwrap() + 1 < functions {
            let last = *path.last().unwrap();
            path.push(last + 1 + random((functions - last - 1).min(6)));
        }
        let cost = 1 + random(1000);
        *own.entry(*path.last().unwrap()).or_default() += cost;
        for pair in path.windows(2) {
            *arcs.entry((pair[0], pair[1])).or_default() += cost;
        }
        *real.entry(path).or_default() += cost;
    }
    let mut text = "events: Ir\nfl=a.c\n".to_owned();
    for function in 0..functions {
        text += &format!("fn=f{function}\n");
        if let Some(own) = own.get(&function) {
            text += &format!("1 {own}\n");
        }
        for ((_, callee), cost) in arcs.range((function, 0)..(function + 1, 0)) {
            text += &format!("cfn=f{callee}\ncalls=1 1\n1 {cost}\n");
        }
    }
    (text, real)
}

#[test]
fn estimates_keep_what_is_certain() {
    for seed in 1..40 {
        let (text, real) = simulated(seed, 2 + seed);
        check_total(&text, &stacks(&text));
        check_self_costs(&text);
        // Below the root, no estimated stack costs more than any of its calls.
        let mut calls: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (path, cost) in &real {
            for pair in path.windows(2) {
                *calls.entry((pair[0], pair[1])).or_default() += cost;
            }
        }
        for record in records(&stacks(&text), "stack") {
            let frames = record["stack"].as_array().unwrap().iter().rev();
            if frames.clone().any(|frame| frame["fn"] == "[pruned]") {
                continue;
            }
            let path: Vec<u64> = frames
                .map(|frame| frame["fn"].as_str().unwrap()[1..].parse().unwrap())
                .collect();
            let cost = record["cost"]["Ir"].as_u64().unwrap();
            assert_eq!(path[0], 0, "{text}");
            for pair in path.windows(2) {
                assert!(
                    // Rounding up can add one.
                    cost <= calls[&(pair[0], pair[1])] + 1,
                    "{path:?} {cost}\n{text}"
                );
            }
        }
    }
}

#[test]
fn a_tree_of_calls_is_reconstructed() {
    // Each function has one caller.
    let mut text = "events: Ir\nfl=a.c\n".to_owned();
    let mut below = vec![0u64; 512];
    for function in (1..512usize).rev() {
        below[function] += function as u64;
        if function > 1 {
            below[function / 2] += below[function];
        }
    }
    for function in 1..512usize {
        text += &format!("fn=f{function}\n1 {function}\n");
        for callee in [2 * function, 2 * function + 1] {
            if callee < 512 {
                text += &format!("cfn=f{callee}\ncalls=1 1\n1 {}\n", below[callee]);
            }
        }
    }
    let parsed = stacks(&text);
    let mut expected: Vec<String> = (1..512usize)
        .map(|function| {
            let mut path = vec![format!("f{function}")];
            let mut at = function;
            while at > 1 {
                at /= 2;
                path.insert(0, format!("f{at}"));
            }
            format!("{} {function}", path.join(";"))
        })
        .collect();
    expected.sort();
    assert_eq!(folded(&parsed), expected);
    assert!(
        parsed.messages[0].contains("100.0%"),
        "{:?}",
        parsed.messages
    );
}

/// Checks that parsing finishes within this time and keeps the total cost.
#[track_caller]
fn check_bounded(text: &str, limit: Duration) -> Parsed {
    let start = Instant::now();
    let parsed = stacks(text);
    assert!(start.elapsed() < limit, "{:?}", start.elapsed());
    assert!(parsed.is_whole());
    check_total(text, &parsed);
    parsed
}

#[test]
fn a_dense_graph_is_pruned() {
    // 30 layers of 20 functions, each of which calls the whole next layer: 20^30 paths.
    let (layers, width) = (30, 20u64);
    let below = |layer: u64| 100 * (layers - layer);
    let mut text = "events: Ir Dr\nfl=a.c\n".to_owned();
    for layer in 0..layers {
        for function in 0..width {
            text += &format!("fn=f{layer}_{function}\n1 {} 7\n", 100);
            for callee in 0..if layer + 1 < layers { width } else { 0 } {
                let cost = below(layer + 1) / width;
                text += &format!(
                    "cfn=f{}_{callee}\ncalls=1 1\n1 {cost} {}\n",
                    layer + 1,
                    cost / 9
                );
            }
        }
    }
    let parsed = check_bounded(&text, Duration::from_secs(60));
    let found = parsed.records_of_type("stack");
    assert!(found.iter().any(|record| record.contains("[pruned]")));
    let ends = "\"stack\":[{\"fn\":\"[pruned]\"}";
    assert!(!found.iter().any(|record| record.contains(ends)));
    check_self_costs(&text);
    let calls = Options {
        calls: true,
        ..Options::default()
    };
    let calls = parsed::read(tests::recognised, text.as_bytes(), &calls);
    let size = |parsed: &Parsed, kind| -> usize {
        let records = parsed.records_of_type(kind);
        records.iter().map(|record| record.len()).sum()
    };
    let most = 3 * (size(&calls, "fn") + size(&calls, "call"));
    assert!(size(&parsed, "stack") <= most, "{}", size(&parsed, "stack"));
}

#[test]
fn large_circles_and_deep_calls_are_bounded() {
    let mut ring = "events: Ir\nfl=a.c\nfn=main\n1 1\ncfn=f0\ncalls=1 1\n1 30000\n".to_owned();
    for function in 0..1500 {
        ring += &format!("fn=f{function}\n1 10\n");
        for step in [1, 2, 7, 100, 1000] {
            let callee = (function + step) % 1500;
            ring += &format!("cfn=f{callee}\ncalls=9 1\n1 {}\n", 1000 + step);
        }
    }
    let parsed = check_bounded(&ring, Duration::from_secs(60));
    assert!(
        parsed.records_of_type("stack").len() > 1000,
        "{}",
        parsed.records_of_type("stack").len()
    );

    let mut chain = "events: Ir\nfl=a.c\n".to_owned();
    for function in 0..5_000u64 {
        chain += &format!("fn=f{function}\n1 1\n");
        if function < 4_999 {
            let cost = 4_999 - function;
            chain += &format!("cfn=f{}\ncalls=1 1\n1 {cost}\n", function + 1);
        }
    }
    let parsed = check_bounded(&chain, Duration::from_secs(60));
    let deepest = records(&parsed, "stack")
        .iter()
        .map(|record| record["stack"].as_array().unwrap().len())
        .max();
    assert!(deepest <= Some(258), "{deepest:?}");
    check_self_costs(&chain);
}

#[test]
fn an_extreme_recursion_level_is_cut() {
    let text = "creator: callgrind-3.19.0\nevents: Ir\nfl=a.c\nfn=(1) m\n1 1\ncfn=(2) f'm\ncalls=1 1\n1 9\nfn=(2)\n1 2\ncfn=(3) f'4000000000'm\ncalls=1 1\n1 7\nfn=(3)\n1 7\n";
    let parsed = stacks(text);
    let deep = &records(&parsed, "stack")[0];
    assert_eq!(deep["cut"], true);
    assert_eq!(deep["stack"].as_array().unwrap().len(), 201);
}

#[test]
fn stacks_need_calls_and_nonnegative_costs() {
    let negative = stacks("events: Ir\nfl=a.c\nfn=f\n1 -5\n2 7\n");
    assert!(negative.has_errors && !negative.is_whole());
    assert!(
        negative.messages[0].contains("negative"),
        "{:?}",
        negative.messages
    );
    let cachegrind = stacks("desc: x: 1\ncmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 5\nsummary: 5\n");
    assert!(cachegrind.has_errors && cachegrind.records_of_type("stack").is_empty());
    assert!(
        cachegrind.messages[0].contains("expected calls"),
        "{:?}",
        cachegrind.messages
    );
}

#[test]
fn truncated_parts_have_stacks_and_no_end() {
    let parsed = stacks("creator: callgrind-3.19.0\nevents: Ir\nsummary: 7\nfl=a.c\nfn=f\n1 5\n");
    assert_eq!(folded(&parsed), ["f 5"]);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn parts_are_written_separately_or_summed() {
    let text = "part: 1\nevents: Ir\nfl=a.c\nfn=(1) m\n1 1\ncfn=(2) f\ncalls=1 1\n1 5\nfn=(2)\n1 5\n\npart: 2\nevents: Ir Dr\nfl=a.c\nfn=(1)\n1 2\ncfn=(2)\ncalls=1 1\n1 6 1\nfn=(2)\n1 6 1\n";
    let parsed = stacks(text);
    assert_eq!(folded(&parsed), ["m 3", "m;f 11"]);
    check_total(text, &parsed);
    let options = Options {
        stacks: true,
        per_part: true,
        ..Options::default()
    };
    let parts = parsed::read(tests::recognised, text.as_bytes(), &options);
    assert_eq!(folded(&parts), ["m 1", "m 2", "m;f 5", "m;f 6"]);
    assert_eq!(records(&parts, "run").len(), 2);
}
