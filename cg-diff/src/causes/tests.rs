use cg_stream::record::CauseKind::{self, Calls, Gone, Inlined, Moved, New, Own, Runs};
use cg_stream::record::InlinedIn;

use super::graph::{FoundCalls, InlinedPair};
use super::*;
use crate::compare::{CompareOptions, compare};
use crate::join::join;
use crate::join::tests::options;
use crate::runs::tests::{divide_by_chains, runs};

/// Makes a graph with one event from own costs and arcs `(caller, callee, calls, inclusive cost)`. `None` is a function that
/// did not run.
fn graph(own: &[Option<Count>], arcs: &[(usize, usize, Count, Count)]) -> CallGraph {
    let own: Vec<Option<Vec<Count>>> = own.iter().map(|cost| cost.map(|cost| vec![cost])).collect();
    let arcs: Vec<_> = arcs
        .iter()
        .map(|(caller, callee, calls, cost)| (*caller, *callee, *calls, vec![*cost]))
        .collect();
    graph_with_events(&own, &arcs, 1)
}

fn graph_with_events(
    own: &[Option<Vec<Count>>],
    arcs: &[(usize, usize, Count, Vec<Count>)],
    events: usize,
) -> CallGraph {
    let mut graph = CallGraph::new(own.len(), events);
    for (node, cost) in own.iter().enumerate() {
        if let Some(cost) = cost {
            graph.add_own(node, cost);
        }
    }
    let mut found = FoundCalls::default();
    for (caller, callee, calls, cost) in arcs {
        found.add_arc(*caller, *callee, *calls, cost);
    }
    graph.set(found);
    graph
}

/// Returns the delta of each function with a cause, by node.
fn deltas(rows: &[Cause]) -> Vec<(usize, Count)> {
    let mut deltas: Vec<(usize, Count)> = rows.iter().map(|row| (row.node, row.delta[0])).collect();
    deltas.sort_unstable();
    deltas
}

/// Returns kind, function and delta of each detail of a function.
fn details(rows: &[Cause], node: usize) -> Vec<(CauseKind, Option<usize>, Count)> {
    let row = rows.iter().find(|row| row.node == node).unwrap();
    let details = row.details.iter();
    details
        .map(|detail| (detail.kind, detail.function, detail.delta[0]))
        .collect()
}

#[test]
fn a_call_costs_what_was_recorded_for_it() {
    // The functions are main, parse, work, leaf and log. leaf costs 300 in the call by parse, and 5 in each call by work.
    let (main, parse, work, leaf, log) = (0, 1, 2, 3, 4);
    let old = graph(
        &[Some(100), Some(50), Some(500), Some(400), None],
        &[
            (main, parse, 1, 350),
            (parse, leaf, 1, 300),
            (main, work, 10, 600),
            (work, leaf, 20, 100),
        ],
    );
    let new = graph(
        &[Some(120), Some(50), Some(780), Some(180), Some(30)],
        &[
            (main, parse, 1, 50),
            (main, work, 15, 960),
            (work, leaf, 30, 180),
            (main, log, 1, 30),
        ],
    );
    let (rows, cycles) = attribute([old, new], &[]);
    assert_eq!(
        deltas(&rows),
        [(main, 350), (parse, -300), (work, 30), (leaf, 30)]
    );
    assert_eq!(
        details(&rows, main),
        [
            (Calls, Some(work), 300),
            (New, Some(log), 30),
            (Own, None, 20)
        ]
    );
    assert_eq!(details(&rows, parse), [(Calls, Some(leaf), -300)]);
    let gone = &rows.iter().find(|row| row.node == parse).unwrap().details[0];
    assert_eq!(
        (gone.calls, &gone.recorded[..]),
        (Some([1, 0]), &[[300, 0]][..])
    );
    assert_eq!(cycles, []);
}

#[test]
fn a_renamed_and_an_inlined_function_net_out_at_their_callers() {
    // try_main became run, and helper went into walk.
    let (main, try_main, run, walk, helper, print) = (0, 1, 2, 3, 4, 5);
    let old = graph(
        &[Some(10), Some(20), None, Some(400), Some(300), Some(100)],
        &[
            (main, try_main, 1, 820),
            (try_main, walk, 1, 700),
            (walk, helper, 50, 300),
            (try_main, print, 1, 100),
        ],
    );
    let new = graph(
        &[Some(10), None, Some(35), Some(640), None, Some(210)],
        &[
            (main, run, 1, 885),
            (run, walk, 1, 640),
            (run, print, 2, 210),
        ],
    );
    let (rows, _) = attribute([old, new], &[]);
    assert_eq!(deltas(&rows), [(main, 115), (walk, -60), (print, 10)]);
    assert_eq!(
        details(&rows, main),
        [
            (Calls, Some(print), 100),
            (New, Some(run), 35),
            (Gone, Some(try_main), -20)
        ]
    );
    assert_eq!(
        details(&rows, walk),
        [(Gone, Some(helper), -300), (Own, None, 240)]
    );
    let main = rows.iter().find(|row| row.node == main).unwrap();
    assert_eq!(main.details[1].recorded, [[0, 885]]);
}

/// The functions are main, a, b, fmt and load. a and b call each other; main called load, and a calls it now.
fn cycle() -> [CallGraph; 2] {
    let (main, a, b, fmt, load) = (0, 1, 2, 3, 4);
    let old = graph(
        &[Some(10), Some(100), Some(200), Some(200), Some(50)],
        &[
            (main, a, 2, 500),
            (a, b, 8, 480),
            (b, a, 8, 450),
            (b, fmt, 8, 200),
            (main, load, 1, 50),
        ],
    );
    let new = graph(
        &[Some(10), Some(180), Some(450), Some(450), Some(60)],
        &[
            (main, a, 3, 1_140),
            (a, b, 15, 1_000),
            (b, a, 15, 900),
            (b, fmt, 15, 450),
            (a, load, 1, 60),
        ],
    );
    [old, new]
}

#[test]
fn causes_in_a_cycle_are_by_entry_and_moved_calls_net_out() {
    let (main, a, b, fmt, load) = (0, 1, 2, 3, 4);
    let (rows, cycles) = attribute(cycle(), &[]);
    assert_eq!(
        deltas(&rows),
        [(main, 250), (a, 30), (b, 225), (fmt, 75), (load, 10)]
    );
    assert_eq!(details(&rows, b), [(Runs, None, 150), (Own, None, 75)]);
    assert_eq!(
        details(&rows, a),
        [(Runs, None, 30), (Moved, Some(load), 0)]
    );
    assert_eq!(
        details(&rows, main),
        [(Calls, Some(a), 250), (Moved, Some(load), 0)]
    );
    let of = |node: usize| rows.iter().find(|row| row.node == node).unwrap();
    let runs = &of(b).details[0];
    assert_eq!((runs.calls, runs.entries), (Some([8, 15]), Some([2, 3])));
    let moved = &of(a).details[1];
    assert_eq!(
        (moved.calls, &moved.moved[..], moved.other),
        (Some([0, 1]), &[50][..], Some(main))
    );
    assert_eq!(
        (of(a).cycle, of(b).cycle, of(fmt).cycle),
        (Some(1), Some(1), None)
    );
    assert_eq!(
        cycles,
        [Cycle {
            number: 1,
            node: a,
            members: 2,
            delta: vec![255]
        }]
    );
}

#[test]
fn more_calls_at_half_the_price_are_one_figure_near_0() {
    let (main, chunk) = (0, 1);
    let old = graph(&[Some(10), Some(300_000)], &[(main, chunk, 300, 300_000)]);
    let new = graph(&[Some(10), Some(306_000)], &[(main, chunk, 600, 306_000)]);
    let (rows, _) = attribute([old, new], &[]);
    assert_eq!(deltas(&rows), [(main, 6_000)]);
}

#[test]
fn code_that_is_inlined_now_is_one_detail() {
    // main called helper, whose code is now inlined into main. The inlined function is another node with the same code.
    let (main, helper, inlined) = (0, 1, 2);
    let old = graph(&[Some(10), Some(300), None], &[(main, helper, 50, 300)]);
    let mut new = graph(&[Some(12), None, None], &[]);
    let mut found = FoundCalls::default();
    let pair = InlinedPair {
        host: main,
        function: inlined,
        into: main,
    };
    found.add_inlined(pair, &[240]);
    new.set(found);
    let (rows, _) = attribute([old.clone(), new.clone()], &[0, 1, 1]);
    assert_eq!(
        details(&rows, main),
        [(Inlined, Some(inlined), -60), (Own, None, 2)]
    );
    let (back, _) = attribute([new, old], &[0, 1, 1]);
    assert_eq!(
        details(&back, main),
        [(Inlined, Some(inlined), 60), (Own, None, -2)]
    );
    assert_eq!(rows[0].details[0].inlined, Some(InlinedIn::New));
    assert_eq!(back[0].details[0].inlined, Some(InlinedIn::Old));
}

#[test]
fn code_inside_of_inlined_code_belongs_to_its_detail() {
    // main called helper, with inner inlined into it. Now helper is inlined into main, with inner and, in that, deep. inner is
    // also inlined into main itself, in both runs. The inlined helper is another node with the same code.
    let (main, helper, inlined, inner, deep) = (0, 1, 2, 3, 4);
    let with_chains = |mut graph: CallGraph, chains: &[(usize, usize, usize, Count)]| {
        let mut found = FoundCalls::default();
        for (function, into, host, cost) in chains {
            let pair = InlinedPair {
                host: *host,
                function: *function,
                into: *into,
            };
            found.add_inlined(pair, &[*cost]);
        }
        if graph.own(helper)[0] > 0 {
            found.add_arc(main, helper, 50, &[300]);
        }
        graph.set(found);
        graph
    };
    let old = with_chains(
        graph(&[Some(10), Some(200), None, None, None], &[]),
        &[(inner, helper, helper, 100), (inner, main, main, 50)],
    );
    let new = with_chains(
        graph(&[Some(12), None, None, None, None], &[]),
        &[
            (inlined, main, main, 140),
            (inner, inlined, main, 90),
            (deep, inner, main, 1),
            (inner, main, main, 70),
        ],
    );
    let (rows, _) = attribute([old.clone(), new.clone()], &[0, 1, 1, 3, 4]);
    // 140 + 90 + 1 - 200 - 100.
    assert_eq!(
        details(&rows, main),
        [
            (Inlined, Some(inlined), -69),
            (Inlined, Some(inner), 20),
            (Own, None, 2)
        ]
    );
    let (back, _) = attribute([new, old], &[0, 1, 1, 3, 4]);
    assert_eq!(
        details(&back, main),
        [
            (Inlined, Some(inlined), 69),
            (Inlined, Some(inner), -20),
            (Own, None, -2)
        ]
    );
}

#[test]
fn a_function_with_too_many_callers_and_calls_comes_at_its_recorded_cost() {
    // 100 functions call hub, which calls 100 functions: more pairs than are contracted.
    let callers = 1..101;
    let callees = 102..202;
    let hub = 101;
    let mut own = vec![Some(10); 202];
    let mut arcs: Vec<(usize, usize, Count, Count)> =
        callers.clone().map(|caller| (0, caller, 1, 10)).collect();
    for callee in callees.clone() {
        arcs.push((0, callee, 1, 10));
    }
    own[hub] = None;
    let old = graph(&own, &arcs);
    own[hub] = Some(100);
    for arc in arcs.iter_mut().filter(|arc| callers.contains(&arc.1)) {
        arc.3 += 11;
    }
    for callee in callees {
        own[callee] = Some(20);
        arcs.push((hub, callee, 1, 10));
    }
    own[hub] = Some(100);
    for caller in callers.clone() {
        arcs.push((caller, hub, 1, 11));
    }
    let new = graph(&own, &arcs);
    let (rows, _) = attribute([old, new], &[]);
    let sum: Count = rows.iter().map(|row| row.delta[0]).sum();
    assert_eq!(sum, 1_100);
    assert!(rows.iter().all(|row| row.node != hub));
    assert_eq!(details(&rows, 1), [(Calls, Some(hub), 11)]);
}

/// A small random number generator (Marsaglia's xorshift), which makes the same graphs in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Makes a random graph with two events: functions that did not run, cycles, entries from outside, inlined functions, and
/// inclusive costs that need not agree with the own costs.
fn any_graph(numbers: &mut Numbers, nodes: usize) -> CallGraph {
    let own: Vec<Option<Vec<Count>>> = (0..nodes)
        .map(|_| match numbers.below(4) {
            0 => None,
            _ => Some(vec![
                numbers.below(1_000_000).into(),
                numbers.below(30).into(),
            ]),
        })
        .collect();
    let mut arcs = Vec::new();
    for _ in 0..numbers.below(4 * nodes as u64) {
        let mut node = || numbers.below(nodes as u64) as usize;
        let (caller, callee) = (node(), node());
        // Calls without a number, and recursion, are rarer than other calls.
        if caller < callee || numbers.below(4) == 0 {
            let calls = numbers.below(50).into();
            let cost = vec![numbers.below(3_000_000).into(), numbers.below(99).into()];
            arcs.push((caller, callee, calls, cost));
        }
    }
    let mut graph = graph_with_events(&own, &arcs, 2);
    let mut found = FoundCalls::default();
    for _ in 0..numbers.below(6) {
        let mut node = || numbers.below(nodes as u64) as usize;
        let pair = InlinedPair {
            host: node(),
            function: node(),
            into: node(),
        };
        found.add_inlined(pair, &[numbers.below(1_000).into(), 1]);
    }
    graph.set(found);
    graph
}

#[test]
fn causes_of_random_graphs_add_up_in_every_event() {
    let mut numbers = Numbers(0x5eed);
    let code: Vec<usize> = (0..40).map(|node| node / 2).collect();
    for round in 0..3_000 {
        let nodes = 2 + numbers.below(30) as usize;
        let graphs = [
            any_graph(&mut numbers, nodes),
            any_graph(&mut numbers, nodes),
        ];
        let [old, new] = graphs.clone();
        let (rows, cycles) = attribute(graphs.clone(), &code[..nodes]);
        let (back, _) = attribute([new, old], &code[..nodes]);
        for event in 0..2 {
            let [old, new] = [0, 1].map(|side: usize| graphs[side].total(event));
            let sum = |rows: &[Cause]| -> Count { rows.iter().map(|row| row.delta[event]).sum() };
            assert_eq!(sum(&rows), new - old, "graph {round}");
            assert_eq!(sum(&back), old - new, "graph {round}, exchanged");
            for row in &rows {
                let details: Count = row.details.iter().map(|detail| detail.delta[event]).sum();
                assert_eq!(details, row.delta[event], "graph {round}: {row:?}");
            }
            for cycle in &cycles {
                let members = rows.iter().filter(|row| row.cycle == Some(cycle.number));
                let members: Count = members.map(|row| row.delta[event]).sum();
                assert_eq!(members, cycle.delta[event], "graph {round}");
            }
        }
        let mut named: Vec<usize> = rows.iter().map(|row| row.node).collect();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named.len(), rows.len(), "graph {round}");
        let sizes = rows.iter().map(|row| row.delta[0].abs());
        assert!(sizes.rev().is_sorted(), "graph {round}");
    }
}

#[test]
fn equal_runs_have_no_causes() {
    let mut numbers = Numbers(0xfeed);
    for _ in 0..500 {
        let nodes = 2 + numbers.below(30) as usize;
        let graph = any_graph(&mut numbers, nodes);
        let (rows, _) = attribute([graph.clone(), graph], &[]);
        assert_eq!(rows, []);
    }
}

#[test]
fn a_deep_chain_of_new_functions_is_contracted_in_linear_time() {
    let depth = 60_000;
    let own: Vec<Option<Count>> = vec![Some(1); depth];
    let arcs: Vec<_> = (1..depth)
        .map(|callee| (callee - 1, callee, 1, (depth - callee) as Count))
        .collect();
    let new = graph(&own, &arcs);
    let mut only_main = vec![None; depth];
    only_main[0] = Some(1);
    let old = graph(&only_main, &[]);
    let (rows, _) = attribute([old, new], &[]);
    assert_eq!(deltas(&rows), [(0, depth as Count - 1)]);
    assert_eq!(rows[0].details.len(), depth - 1);
}

/// A run of `main`, with a function of a library inlined into it.
fn run_with_inlined(library: &str, inlined: u64, own: u64) -> String {
    let main = r#""fn":"main","file":"main.rs","obj":"/t/p""#;
    let start = r#""fn":"start","file":"start.c","obj":"/t/p""#;
    let file = format!("/registry/{library}/src/lib.rs");
    format!(
        r#"{{"type":"run","stream":1,"events":["Ir"],"total":{{"Ir":{total}}}}}
{{"type":"fn",{main},"calls":1,"cost":{{"Ir":{sum}}},"incl":{{"Ir":{sum}}}}}
{{"type":"fn",{start},"calls":0,"cost":{{"Ir":5}},"incl":{{"Ir":{total}}}}}
{{"type":"call",{start},"callee":{{{main}}},"calls":1,"incl":{{"Ir":{sum}}}}}
{{"type":"inline","fn":"library::push","file":"{file}","obj":"/t/p","cost":{{"Ir":{inlined}}},"stack":[{{"fn":"library::push","file":"{file}"}},{{{main}}}]}}
{{"type":"inline",{main},"cost":{{"Ir":{own}}},"stack":[{{{main}}}]}}
{{"type":"inline",{start},"cost":{{"Ir":5}},"stack":[{{{start}}}]}}
"#,
        sum = own + inlined,
        total = own + inlined + 5,
    )
}

#[test]
fn an_inlined_function_of_another_version_is_the_same_function() {
    let [old, new] = [("library-1.0.0", 1_000, 100), ("library-1.0.1", 1_500, 110)]
        .map(|(library, inlined, own)| run_with_inlined(library, inlined, own));
    let mut runs = runs(&[&old, &new]);
    divide_by_chains(&mut runs);
    let options = options();
    let joined = join(&mut runs, &options);
    let comparison = compare(&runs, &joined, CompareOptions::default());
    let rows = FunctionRows::collect(&runs, &joined);
    let causes = find_causes(&comparison, &rows, &options.rules).unwrap();
    let [main] = causes.rows.as_slice() else {
        panic!("{:?}", causes.rows);
    };
    let inlined = &main.details[0];
    assert_eq!((inlined.kind, inlined.delta[0]), (Inlined, 500));
    assert_eq!(inlined.inlined, Some(InlinedIn::Both));
    assert_eq!((main.details[1].kind, main.details[1].delta[0]), (Own, 10));
    assert_eq!(main.details.len(), 2);
}
