use super::*;

/// Makes a graph from functions `(calls, cost)` and arcs `(caller, callee, calls)`.
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

/// Returns kind, function, callee and delta of each cause, sorted.
fn sorted_causes(
    old: &CallGraph,
    new: &CallGraph,
) -> Vec<(CauseKind, usize, Option<usize>, Count)> {
    let causes = attribute(old, new, 1).unwrap();
    let mut sorted: Vec<_> = causes
        .iter()
        .map(|cause| (cause.kind, cause.node, cause.callee, cause.delta[0]))
        .collect();
    sorted.sort_unstable();
    sorted
}

use CauseKind::{Calls, CostPerCall, Entered};

#[test]
fn causes_of_the_example_are_those_computed_by_hand() {
    // The functions are leaf, log, main and work.
    let old = graph(
        &[(20, 400), (0, 0), (1, 100), (10, 500)],
        &[(2, 3, 10), (3, 0, 20)],
    );
    let new = graph(
        &[(46, 1_012), (1, 30), (1, 120), (15, 600)],
        &[(2, 3, 15), (2, 1, 1), (3, 0, 45), (1, 0, 1)],
    );
    assert_eq!(
        sorted_causes(&old, &new),
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
fn cost_of_a_removed_function_is_charged_to_the_call_that_led_to_it() {
    let old = graph(&[(1, 10), (5, 100), (10, 300)], &[(0, 1, 5), (1, 2, 10)]);
    let new = graph(&[(1, 12), (0, 0), (0, 0)], &[]);
    assert_eq!(
        sorted_causes(&old, &new),
        [(CostPerCall, 0, None, 2), (Calls, 0, Some(1), -400)]
    );
    assert_eq!(
        sorted_causes(&new, &old),
        [(CostPerCall, 0, None, -2), (Calls, 0, Some(1), 400)]
    );
}

#[test]
fn causes_are_exact_for_a_billion_recursive_calls() {
    let n: Count = 1_000_000_000;
    let old = graph(&[(1, 7), (n, 3 * n)], &[(0, 1, 1), (1, 1, n - 1)]);
    let new = graph(&[(1, 7), (n + 5, 3 * (n + 5))], &[(0, 1, 1), (1, 1, n + 4)]);
    assert_eq!(sorted_causes(&old, &new), [(Calls, 1, Some(1), 15)]);
    // With two entries instead of one, the second entry costs as much as the whole old run.
    let twice = graph(&[(2, 14), (2 * n, 6 * n)], &[(0, 1, 2), (1, 1, 2 * n - 2)]);
    assert_eq!(sorted_causes(&old, &twice), [(Entered, 0, None, 3 * n + 7)]);
}

#[test]
fn causes_in_a_cycle_are_exact_for_counts_of_60_bits() {
    let n: Count = 1 << 60;
    let functions = |more: Count| [(1, 1), (n, n + more), (n - 1, 3)];
    let arcs = [(0, 1, 1), (1, 2, n - 1), (2, 1, n - 1)];
    let (old, new) = (graph(&functions(0), &arcs), graph(&functions(1_000), &arcs));
    assert_eq!(sorted_causes(&old, &new), [(CostPerCall, 1, None, 1_000)]);
}

#[test]
fn cycle_without_a_caller_is_entered_once_at_the_function_that_ran_most() {
    // Two functions call each other, and no other function calls them.
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
    let causes = sorted_causes(&old, &new);
    let sum: Count = causes.iter().map(|(.., delta)| delta).sum();
    assert_eq!(sum, 400);
}

#[test]
fn function_with_cost_but_no_calls_ran_once() {
    let old = graph(&[(0, 10), (0, 0)], &[]);
    let new = graph(&[(0, 30), (0, 5)], &[]);
    assert_eq!(
        sorted_causes(&old, &new),
        [(CostPerCall, 0, None, 20), (Entered, 1, None, 5)]
    );
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

/// Makes a random graph, including functions that did not run, cycles, and entries from outside.
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
fn causes_of_random_graphs_add_up_and_match_the_formula() {
    let mut numbers = Numbers(0x5eed);
    for round in 0..400 {
        let nodes = 2 + numbers.below(30) as usize;
        let (old, new) = (
            any_graph(&mut numbers, nodes),
            any_graph(&mut numbers, nodes),
        );
        let total = |graph: &CallGraph| -> Count { graph.cost.iter().map(|cost| cost[0]).sum() };
        let causes = sorted_causes(&old, &new);
        let sum: Count = causes.iter().map(|(.., delta)| delta).sum();
        assert_eq!(sum, total(&new) - total(&old), "graph {round}");
        let inclusive = solution(&old.completed_by(&new));
        for (kind, node, callee, delta) in causes {
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

/// Computes the inclusive cost per call, and checks that it solves the equations to 25 digits.
fn solution(graph: &CallGraph) -> Vec<f64> {
    let solved = inclusive::cost_per_call(graph, &graph.components()).unwrap();
    for node in (0..graph.calls.len()).filter(|node| graph.calls[*node] > 0) {
        let whole = Double::from_count(graph.calls[node]).times(solved[node][0]);
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
    let parts = parts.map(|arc| Double::from_count(arc.calls).times(solved[arc.callee][0]));
    parts.fold(Double::from_count(graph.cost[node][0]), Double::plus)
}

#[test]
fn dense_graphs_are_solved_to_25_digits() {
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
        solution(&graph(&functions, &arcs));
    }
}
