//! Stacks of graphs that are small enough to be computed by hand.

use parsed::{Parsed, shown_stacks};

use super::*;
use crate::ids::StringId;
use crate::section::SectionFunction;
use crate::write::write_stacks;

/// Calls: caller, callee, number of calls, and cost by event.
type Calls<'c> = (usize, usize, u64, &'c [u64]);

/// The size of a frame.
const FRAME: usize = 100;

/// Estimates the stacks of functions with these self costs.
fn estimate_stacks(own: &[&[u64]], calls: &[Calls]) -> Estimate {
    estimate_within(usize::MAX, own, calls)
}

/// Estimates stacks of at most this size.
fn estimate_within(most_bytes: usize, own: &[&[u64]], calls: &[Calls]) -> Estimate {
    let arc = |(caller, callee, calls, cost): &Calls<'static>| ContextArc {
        caller: *caller,
        callee: *callee,
        calls: *calls,
        cost,
    };
    let calls: Vec<Calls<'static>> = (calls.iter())
        .map(|(caller, callee, calls, cost)| (*caller, *callee, *calls, &*cost.to_vec().leak()))
        .collect();
    estimate(&ContextGraph {
        ranking: 0,
        own: own.to_vec(),
        arcs: calls.iter().map(arc).collect(),
        bytes: vec![FRAME; own.len()],
        most_bytes,
    })
}

/// Formats the stacks as `0;1 COST`, outermost function first, sorted; `p` is `[pruned]`.
fn folded(estimate: &Estimate) -> Vec<String> {
    let stack = |path: usize| {
        let outer = |path: &usize| estimate.paths[*path].outer;
        let mut frames: Vec<String> = std::iter::successors(Some(path), outer)
            .map(|path| match estimate.paths[path].at {
                PathFrame::Context(context) => context.to_string(),
                PathFrame::Pruned => "p".to_owned(),
            })
            .collect();
        frames.reverse();
        frames.join(";")
    };
    let costs = |costs: &[u64]| {
        costs
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(",")
    };
    let rows = estimate.rows.iter();
    let mut folded: Vec<String> = rows
        .map(|row| format!("{} {}", stack(row.path), costs(&row.cost)))
        .collect();
    folded.sort();
    folded
}

#[track_caller]
fn check(own: &[&[u64]], calls: &[Calls], stacks: &[&str]) {
    assert_eq!(folded(&estimate_stacks(own, calls)), stacks);
}

#[test]
fn cost_is_divided_among_callers_by_the_cost_of_their_calls() {
    // 0 calls 1 and 2, which both call 3.
    check(
        &[&[0], &[0], &[0], &[40]],
        &[
            (0, 1, 1, &[30]),
            (0, 2, 1, &[10]),
            (1, 3, 1, &[30]),
            (2, 3, 9, &[10]),
        ],
        &["0;1;3 30", "0;2;3 10"],
    );
}

#[test]
fn numbers_of_calls_decide_only_if_no_calls_have_a_cost() {
    let calls = |to_first: u64, to_second: u64| {
        estimate_stacks(
            &[&[1], &[0], &[0], &[40]],
            &[
                (0, 1, 1, &[0]),
                (0, 2, 1, &[0]),
                (1, 3, to_first, &[0]),
                (2, 3, to_second, &[0]),
            ],
        )
    };
    assert_eq!(folded(&calls(3, 1)), ["0 1", "0;1;3 30", "0;2;3 10"]);
    // Without numbers, each call site has the same share.
    assert_eq!(folded(&calls(0, 0)), ["0 1", "0;1;3 20", "0;2;3 20"]);
}

#[test]
fn calls_with_a_negative_cost_have_no_share() {
    check(
        &[&[0], &[0], &[0], &[40]],
        &[
            (0, 1, 1, &[40]),
            (0, 2, 1, &[0]),
            (1, 3, 1, &[40]),
            (2, 3, 1, &[5u64.wrapping_neg()]),
        ],
        &["0;1;3 40"],
    );
}

#[test]
fn cost_beyond_the_calls_of_a_function_has_no_caller() {
    check(
        &[&[7], &[50]],
        &[(0, 1, 1, &[40])],
        &["0 7", "0;1 40", "1 10"],
    );
}

#[test]
fn each_event_is_divided_by_its_own_costs() {
    check(
        &[&[0, 0], &[0, 0], &[0, 0], &[40, 8]],
        &[
            (0, 1, 1, &[30, 0]),
            (0, 2, 1, &[10, 8]),
            (1, 3, 1, &[30, 0]),
            (2, 3, 1, &[10, 8]),
        ],
        &["0;1;3 30,0", "0;2;3 10,8"],
    );
}

#[test]
fn members_of_a_cycle_appear_once_below_the_member_that_was_entered() {
    let own: [&[u64]; 4] = [&[1], &[20], &[30], &[10]];
    let inside: [Calls; 3] = [(1, 2, 4, &[90]), (2, 1, 3, &[45]), (2, 3, 2, &[10])];
    let entered_at = |member: usize| {
        let calls: Vec<Calls> = inside
            .into_iter()
            .chain([(0, member, 1, &[60][..])])
            .collect();
        estimate_stacks(&own, &calls)
    };
    let first = entered_at(1);
    assert_eq!(folded(&first), ["0 1", "0;1 20", "0;1;2 30", "0;1;2;3 10"]);
    assert_eq!(
        folded(&entered_at(2)),
        ["0 1", "0;2 30", "0;2;1 20", "0;2;3 10"]
    );
    // Only the function outside the cycle has a stack that is certain.
    assert_eq!(first.certain, 1);
}

#[test]
fn member_of_a_cycle_is_reached_by_the_most_expensive_calls() {
    // 1 calls 2 directly, but most of the cost comes by 3.
    check(
        &[&[0], &[1], &[2], &[4]],
        &[
            (0, 1, 1, &[7]),
            (1, 2, 1, &[5]),
            (1, 3, 1, &[50]),
            (3, 2, 1, &[40]),
            (2, 1, 1, &[1]),
        ],
        &["0;1 1", "0;1;3 4", "0;1;3;2 2"],
    );
}

#[test]
fn cycle_without_callers_begins_at_the_member_that_spends_most_beyond_its_calls() {
    // 1 spends 1 + 30 - 10, and 0 spends 20 + 10 - 30.
    check(
        &[&[20], &[1]],
        &[(1, 0, 1, &[30]), (0, 1, 1, &[10])],
        &["1 1", "1;0 20"],
    );
    // Between equal members, the first is taken.
    check(
        &[&[5], &[5]],
        &[(1, 0, 1, &[10]), (0, 1, 1, &[10])],
        &["0 5", "0;1 5"],
    );
}

#[test]
fn stacks_are_certain_only_along_single_calls_without_recursion() {
    let certain = |own: &[&[u64]], calls: &[Calls]| estimate_stacks(own, calls).certain;
    let own: [&[u64]; 3] = [&[1], &[10], &[100]];
    let chain: [Calls; 2] = [(0, 1, 1, &[110]), (1, 2, 1, &[100])];
    assert_eq!(certain(&own, &chain), 111);
    // 1 calls itself: its number of frames is unknown, and so are the stacks below it.
    let again: Calls = (1, 1, 1, &[5]);
    let recursive = [&chain[..], &[again]].concat();
    assert_eq!(certain(&own, &recursive), 1);
    // 2 has a second caller.
    let direct: Calls = (0, 2, 1, &[50]);
    let two = [&chain[..], &[direct]].concat();
    assert_eq!(certain(&own, &two), 11);
    // 2 also ran without a caller.
    let more: [Calls; 2] = [(0, 1, 1, &[60]), (1, 2, 1, &[50])];
    assert_eq!(certain(&own, &more), 11);
}

/// A chain of calls in which each function costs 1, without its last function.
fn chain(depth: usize) -> (Vec<[u64; 1]>, Vec<[u64; 1]>) {
    let costs = (1..depth as u64).rev().map(|left| [left]).collect();
    (vec![[1]; depth], costs)
}

#[test]
fn functions_beyond_256_frames_are_below_one_pruned_frame() {
    let (own, costs) = chain(300);
    let calls: Vec<Calls> = costs
        .iter()
        .enumerate()
        .map(|(caller, cost)| (caller, caller + 1, 1, &cost[..]))
        .collect();
    let own: Vec<&[u64]> = own.iter().map(|own| &own[..]).collect();
    let found = estimate_stacks(&own, &calls);
    assert_eq!((found.pruned, found.pruned_functions), (44, 44));
    let frames: Vec<String> = (0..256)
        .map(|function: usize| function.to_string())
        .collect();
    let mut pruned: Vec<String> = (256..300)
        .map(|function| format!("{};p;{function} 1", frames.join(";")))
        .collect();
    pruned.sort();
    let stacks = folded(&found);
    let found: Vec<&String> = stacks.iter().filter(|stack| stack.contains('p')).collect();
    assert_eq!(found, pruned.iter().collect::<Vec<_>>());
    assert_eq!(stacks.len(), 300);
}

#[test]
fn stacks_that_are_too_large_keep_the_function_and_its_costliest_callers() {
    // 0 calls 1, which calls 2 to 6. Each of these calls 7.
    let own: [&[u64]; 8] = [&[1], &[2], &[10], &[20], &[30], &[40], &[900], &[500]];
    let middle = [[5u64], [15], [20], [60], [400]];
    let mut calls: Vec<Calls> = vec![(0, 1, 1, &[1502])];
    let all = [[15u64], [35], [50], [100], [1300]];
    for (position, (cost, below)) in middle.iter().zip(&all).enumerate() {
        calls.push((1, position + 2, 1, below));
        calls.push((position + 2, 7, 1, cost));
    }
    let whole = estimate_stacks(&own, &calls);
    assert_eq!(whole.pruned, 0);
    for bytes in [0, 2000, 3000, 4000, 5000] {
        let found = estimate_within(bytes, &own, &calls);
        let written = found.rows.iter().map(|row| found.paths[row.path].bytes);
        let names = found.rows.len() * FRAME;
        assert!(
            bytes < 5000 || written.sum::<usize>() + names <= bytes,
            "{bytes}"
        );
        let mut costs = [0; 8];
        for row in &found.rows {
            let PathFrame::Context(function) = found.paths[row.path].at else {
                panic!("a stack ends in [pruned]");
            };
            costs[function] += row.cost[0];
        }
        assert_eq!(costs, own.map(|own| own[0]), "{bytes}");
        let is_whole = folded(&found).contains(&"0;1;6;7 400".to_owned());
        assert_eq!(is_whole, bytes >= 2000, "{bytes} {:?}", folded(&found));
    }
}

/// Writes stacks that a profile records: each has a level, callers from the nearest outwards, and a cost.
fn known(signedness: Signedness, stacks: &[(&str, u64, &[&str], u64)]) -> Parsed {
    let mut section = Section::new("callgrind", true);
    section.columns(&["Ir".to_owned()]);
    if signedness == Signedness::Signed {
        section.switch_to_signed().unwrap();
    }
    let mut graph = StackGraph::default();
    graph.widen(1);
    let function = |section: &mut Section, name: &str| {
        let key = SectionFunction {
            name: section.strings.intern(name.as_bytes()).unwrap(),
            file: StringId::NOT_GIVEN,
            object: StringId::NOT_GIVEN,
        };
        section.function(key).unwrap()
    };
    for (name, level, callers, cost) in stacks {
        let callers: Vec<FunctionId> = (callers.iter())
            .map(|name| function(&mut section, name))
            .collect();
        let context = Context {
            function: function(&mut section, name),
            level: *level,
            callers: graph.known_callers(&callers, false).unwrap(),
        };
        section.add_cost(context.function, &[*cost]).unwrap();
        graph.add_own(context, &[*cost], signedness).unwrap();
    }
    parsed::parsed(|writer, _| write_stacks(&section, &graph, &mut Out::new(writer)).map(drop))
}

#[test]
fn recursion_level_counts_activations_among_the_callers_too() {
    let found = known(
        Signedness::Unsigned,
        &[
            ("f", 3, &["g", "f"], 5),
            ("f", 1, &["f", "main"], 7),
            ("g", 2, &["main"], 9),
        ],
    );
    let mut stacks = shown_stacks(&found);
    stacks.sort();
    assert_eq!(stacks, ["5: f<f<g<f", "7: f<f<main", "9: g<g<main"]);
}

#[test]
fn recursion_beyond_200_frames_is_cut() {
    for (level, frames, is_cut) in [(199, 199, false), (200, 200, false), (201, 200, true)] {
        let found = known(Signedness::Unsigned, &[("f", level, &[], 5)]);
        let record = found.records_of_type("stack")[0];
        assert_eq!(
            record.matches("\"fn\":\"f\"").count(),
            1 + frames,
            "{record}"
        );
        assert_eq!(record.contains("\"cut\":true"), is_cut, "{record}");
    }
}

#[test]
fn only_estimates_refuse_negative_costs() {
    let found = known(
        Signedness::Signed,
        &[("f", 1, &["main"], 5u64.wrapping_neg())],
    );
    assert_eq!(shown_stacks(&found), ["-5: f<main"]);
    let mut section = Section::new("callgrind", true);
    section.columns(&["Ir".to_owned()]);
    section.switch_to_signed().unwrap();
    let f = section.function(SectionFunction {
        name: StringId::NOT_GIVEN,
        file: StringId::NOT_GIVEN,
        object: StringId::NOT_GIVEN,
    });
    let context = Context {
        function: f.unwrap(),
        level: 1,
        callers: Callers::Unknown,
    };
    let mut graph = StackGraph::default();
    graph.widen(1);
    graph.add_own(context, &[1], Signedness::Signed).unwrap();
    let refused =
        parsed::parsed(|writer, _| write_stacks(&section, &graph, &mut Out::new(writer)).map(drop));
    assert!(refused.has_errors);
    assert!(
        refused.messages[0].contains("negative counts"),
        "{:?}",
        refused.messages
    );
}
