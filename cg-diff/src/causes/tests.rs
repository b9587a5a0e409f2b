use super::*;

/// A graph of functions `(calls, cost)` and arcs `(caller, callee, calls)`.
fn graph(functions: &[(Count, Count)], arcs: &[(usize, usize, Count)]) -> CallGraph {
    let mut graph = CallGraph::new(functions.len(), 1);
    for (node, (calls, cost)) in functions.iter().enumerate() {
        graph.calls[node] = *calls;
        graph.cost[node][0] = *cost;
    }
    let arcs = arcs.iter().map(|(caller, callee, calls)| NodeArc {
        caller: *caller,
        callee: *callee,
        calls: *calls,
    });
    graph.set_arcs(arcs.collect());
    graph.enter_components();
    graph
}

/// Kind, function, callee and delta of each cause, sorted.
fn told(old: &CallGraph, new: &CallGraph) -> Vec<(CauseKind, usize, Option<usize>, Count)> {
    let causes = attribute(old, new, 1).unwrap();
    let mut told: Vec<_> = causes
        .iter()
        .map(|cause| (cause.kind, cause.node, cause.callee, cause.delta[0]))
        .collect();
    told.sort_unstable();
    told
}

use CauseKind::{Calls, CostPerCall, Entered};

#[test]
fn the_example_by_hand_comes_out() {
    // leaf, log, main, work
    let old = graph(
        &[(20, 400), (0, 0), (1, 100), (10, 500)],
        &[(2, 3, 10), (3, 0, 20)],
    );
    let new = graph(
        &[(46, 1_012), (1, 30), (1, 120), (15, 600)],
        &[(2, 3, 15), (2, 1, 1), (3, 0, 45), (1, 0, 1)],
    );
    assert_eq!(
        told(&old, &new),
        [
            (CostPerCall, 0, None, 92),
            (CostPerCall, 2, None, 20),
            (CostPerCall, 3, None, -150),
            (Calls, 2, Some(1), 50),
            (Calls, 2, Some(3), 450),
            (Calls, 3, Some(0), 300),
        ]
    );
}

#[test]
fn a_function_that_is_gone_is_charged_to_the_call_that_led_there() {
    let old = graph(&[(1, 10), (5, 100), (10, 300)], &[(0, 1, 5), (1, 2, 10)]);
    let new = graph(&[(1, 12), (0, 0), (0, 0)], &[]);
    assert_eq!(
        told(&old, &new),
        [(CostPerCall, 0, None, 2), (Calls, 0, Some(1), -400)]
    );
    assert_eq!(
        told(&new, &old),
        [(CostPerCall, 0, None, -2), (Calls, 0, Some(1), 400)]
    );
}

#[test]
fn recursion_a_thousand_million_times_loses_no_unit() {
    let n: Count = 1_000_000_000;
    let old = graph(&[(1, 7), (n, 3 * n)], &[(0, 1, 1), (1, 1, n - 1)]);
    let new = graph(&[(1, 7), (n + 5, 3 * (n + 5))], &[(0, 1, 1), (1, 1, n + 4)]);
    assert_eq!(told(&old, &new), [(Calls, 1, Some(1), 15)]);
    // Entered twice in place of once: each entry costs all of it.
    let twice = graph(&[(2, 14), (2 * n, 6 * n)], &[(0, 1, 2), (1, 1, 2 * n - 2)]);
    assert_eq!(told(&old, &twice), [(Entered, 0, None, 3 * n + 7)]);
}

#[test]
fn counts_of_sixty_bits_in_a_cycle_add_up() {
    let n: Count = 1 << 60;
    let functions = |more: Count| [(1, 1), (n, n + more), (n - 1, 3)];
    let arcs = [(0, 1, 1), (1, 2, n - 1), (2, 1, n - 1)];
    let (old, new) = (graph(&functions(0), &arcs), graph(&functions(1_000), &arcs));
    assert_eq!(told(&old, &new), [(CostPerCall, 1, None, 1_000)]);
}

#[test]
fn what_nothing_enters_is_entered_once_where_it_ran_most() {
    // Two functions that call each other, and none that calls them.
    let round = |calls: Count, cost: Count| {
        graph(
            &[(calls, cost), (calls, cost)],
            &[(0, 1, calls), (1, 0, calls)],
        )
    };
    let (old, new) = (round(10, 100), round(20, 300));
    assert_eq!(
        (old.calls[0], old.entered[0], old.calls[1], old.entered[1]),
        (11, 1, 10, 0)
    );
    let sum: Count = told(&old, &new).iter().map(|(.., delta)| delta).sum();
    assert_eq!(sum, 400);
}

#[test]
fn a_function_without_calls_that_costs_ran_once() {
    let old = graph(&[(0, 10), (0, 0)], &[]);
    let new = graph(&[(0, 30), (0, 5)], &[]);
    assert_eq!(
        told(&old, &new),
        [(CostPerCall, 0, None, 20), (Entered, 1, None, 5)]
    );
}

/// A small generator of numbers, so that the graphs are the same in every run (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Any graph: functions that did not run, cycles, entries from outside.
fn any_graph(numbers: &mut Numbers, nodes: usize) -> CallGraph {
    let functions: Vec<(Count, Count)> = (0..nodes)
        .map(|_| match numbers.below(5) {
            0 => (0, 0),
            _ => (numbers.below(50).into(), numbers.below(1_000_000).into()),
        })
        .collect();
    let mut arcs = Vec::new();
    for _ in 0..numbers.below(4 * nodes as u64) {
        let mut node = || numbers.below(nodes as u64) as usize;
        let ends = (node(), node());
        arcs.push((ends.0, ends.1, numbers.below(1_000).into()));
    }
    arcs.retain(|(.., calls): &(usize, usize, Count)| *calls > 0);
    graph(&functions, &arcs)
}

#[test]
fn the_causes_of_any_two_graphs_add_up_and_terms_are_those_of_the_formula() {
    let mut numbers = Numbers(0x5eed);
    for round in 0..400 {
        let nodes = 2 + numbers.below(30) as usize;
        let (old, new) = (
            any_graph(&mut numbers, nodes),
            any_graph(&mut numbers, nodes),
        );
        let total = |graph: &CallGraph| -> Count { graph.cost.iter().map(|cost| cost[0]).sum() };
        let told = told(&old, &new);
        let sum: Count = told.iter().map(|(.., delta)| delta).sum();
        assert_eq!(sum, total(&new) - total(&old), "graph {round}");
        let inclusive = solution(&old.completed_by(&new));
        for (kind, node, callee, delta) in told {
            let [ran, rerun] = [old.calls[node] as f64, new.calls[node] as f64];
            let exact = match (kind, callee) {
                (CostPerCall, _) => {
                    new.cost[node][0] as f64 - rerun * old.cost[node][0] as f64 / ran
                }
                (Entered, _) => (new.entered[node] - old.entered[node]) as f64 * inclusive[node],
                (Calls, callee) => {
                    let callee = callee.unwrap();
                    let calls = [&old, &new].map(|graph| graph.calls_between(node, callee) as f64);
                    (calls[1] - rerun * calls[0] / ran) * inclusive[callee]
                }
            };
            let error = (delta as f64 - exact).abs();
            assert!(
                error <= 1.0 + exact.abs() * 1e-6,
                "graph {round}: {kind:?} {node} {callee:?}: {delta}, {exact}"
            );
        }
    }
}

/// What a call costs with all below it, which is what solves the equations: to 25 digits.
fn solution(graph: &CallGraph) -> Vec<f64> {
    let solved = inclusive::cost_per_call(graph, &graph.components()).unwrap();
    for node in (0..graph.calls.len()).filter(|node| graph.calls[*node] > 0) {
        let whole = Double::of(graph.calls[node]).times(solved[node][0]);
        let parts = sum_of_parts(graph, node, &solved);
        let error = whole.minus_product(1.0, parts).nearest().abs();
        assert!(
            error <= parts.nearest() * 1e-25,
            "{node}: {whole:?}, {parts:?}"
        );
    }
    solved.iter().map(|costs| costs[0].nearest()).collect()
}

fn sum_of_parts(graph: &CallGraph, node: usize, solved: &[Vec<Double>]) -> Double {
    let parts = graph.from(node).iter();
    let parts = parts.map(|arc| Double::of(arc.calls).times(solved[arc.callee][0]));
    parts.fold(Double::of(graph.cost[node][0]), Double::plus)
}

#[test]
fn functions_that_all_call_each_other_are_solved_as_well_as_others() {
    let mut numbers = Numbers(0xfeed);
    for (nodes, deepest) in [(40, 9), (120, 9), (120, 1_000_000), (120, 1 << 50)] {
        let mut arcs = Vec::new();
        let mut incoming = vec![0; nodes];
        for caller in 0..nodes {
            for (callee, incoming) in incoming.iter_mut().enumerate() {
                let calls: Count = numbers.below(deepest).into();
                *incoming += calls;
                arcs.push((caller, callee, calls));
            }
        }
        let functions: Vec<(Count, Count)> = (incoming.iter().enumerate())
            .map(|(node, calls)| {
                (
                    calls + Count::from(node == 7),
                    numbers.below(1 << 40).into(),
                )
            })
            .collect();
        // To 25 digits, as it says.
        solution(&graph(&functions, &arcs));
    }
}
