//! The evidence about objects, the spans of their code, the sums of cost lines, and messages, without any object file.

use cg_collections::intern::Id as _;
use cg_debug_info::Chains;

use super::add_up::add_up;
use super::chain::{ChainKey, ChainRows, Inlined};
use super::evidence::{
    Agreement, BuildEvidence, PlaceEvidence, compare_files, is_symbol, place_evidence,
};
use super::inclusive::{Recursion, add_inclusive_of_callers};
use super::objects::{TracedObject, TracedObjects, Unresolved};
use super::paths::is_same_file;
use super::resolve::Inlines;
use super::spans::{CodeFacts, SpanOwner, Spans};
use super::trace::{At, CostLines, Traced, TracedNode};
use crate::ids::{FileFunctionId, FunctionId, StringId};
use crate::section::{Section, SectionFunction};
use crate::tables::CostRows;

/// Creates a section in which each function has a name, an object and a self cost.
fn section(functions: &[(&str, &str, u64)]) -> (Section, Vec<FunctionId>) {
    let mut section = Section::new("callgrind", true);
    section.columns(&["Ir".to_owned()]);
    let mut ids = Vec::new();
    for (name, object, cost) in functions {
        let key = SectionFunction {
            name: section.strings.intern(name.as_bytes()).unwrap(),
            file: StringId::NOT_GIVEN,
            object: section.strings.intern(object.as_bytes()).unwrap(),
        };
        let function = section.function(key).unwrap();
        section.add_cost(function, &[*cost]).unwrap();
        ids.push(function);
    }
    (section, ids)
}

fn at(address: Option<u64>, line: u64) -> At {
    At {
        address,
        file: StringId::NOT_GIVEN,
        line,
    }
}

#[test]
fn agreement_of_exactly_the_percentage_is_enough() {
    let agreement = |agrees, named| Agreement { named, agrees };
    assert!(agreement(95, 100).reaches(95));
    assert!(!agreement(94, 100).reaches(95));
    assert!(agreement(0, 0).reaches(95));
    // The products exceed 64 bits.
    assert!(!agreement(u64::MAX / 2, u64::MAX).reaches(50));
    assert!(agreement(u64::MAX / 2 + 1, u64::MAX).reaches(50));
}

#[test]
fn agreement_beyond_64_bits_saturates() {
    let mut agreement = Agreement::default();
    agreement.add(true, u64::MAX);
    agreement.add(false, 5);
    agreement.add(true, 5);
    assert_eq!((agreement.named, agreement.agrees), (u64::MAX, u64::MAX));
}

/// Judges an object by costs of `f`, whose only symbol is called `f`, and of `g`: the evidence from places and the cost.
fn judge(costs: &[(&str, PlaceEvidence, u64)]) -> (bool, Vec<&'static str>) {
    let (section, functions) = section(&[("f", "o", 0), ("g", "o", 0)]);
    let mut evidence = BuildEvidence::new(vec![vec![b"f".to_vec()]]);
    for (name, place, count) in costs {
        let function = functions[usize::from(*name == "g")];
        evidence.add_cost(function, *place, 0, *count, &section);
    }
    let judgement = evidence.judge();
    let mut moved: Vec<&str> = [("f", functions[0]), ("g", functions[1])]
        .into_iter()
        .filter(|(_, function)| judgement.moved_function_names.contains(function))
        .map(|(name, _)| name)
        .collect();
    moved.sort_unstable();
    (judgement.is_profiled_build, moved)
}

#[test]
fn object_is_the_profiled_build_if_half_of_its_cost_agrees() {
    use PlaceEvidence::{Agrees, Differs};
    assert_eq!(
        judge(&[("f", Agrees, 50), ("g", Differs, 50)]),
        (true, vec!["g"])
    );
    assert_eq!(
        judge(&[("f", Agrees, 49), ("g", Differs, 51)]),
        (false, vec!["g"])
    );
}

#[test]
fn function_is_moved_if_less_than_95_percent_of_its_cost_agrees() {
    use PlaceEvidence::{Agrees, Differs};
    assert_eq!(
        judge(&[("f", Agrees, 95), ("f", Differs, 5)]),
        (true, vec![])
    );
    assert_eq!(
        judge(&[("f", Agrees, 94), ("f", Differs, 6)]),
        (true, vec!["f"])
    );
}

#[test]
fn names_decide_only_if_no_line_is_known() {
    use PlaceEvidence::{Agrees, Nothing};
    // The symbol has the name of f and not of g.
    assert_eq!(
        judge(&[("f", Nothing, 95), ("g", Nothing, 5)]),
        (true, vec!["g"])
    );
    assert_eq!(
        judge(&[("f", Nothing, 94), ("g", Nothing, 6)]),
        (false, vec!["g"])
    );
    // With a known line, half of the cost is enough, and code without lines does not count as moved.
    assert_eq!(
        judge(&[("f", Agrees, 50), ("g", Nothing, 50)]),
        (true, vec![])
    );
}

#[test]
fn names_that_are_no_symbols_are_no_evidence() {
    for (name, expected) in [
        ("f", true),
        ("", false),
        ("???", false),
        ("(below main)", false),
        ("0x401000", false),
        ("malloc@plt", false),
        ("main@@V1", true),
    ] {
        assert_eq!(is_symbol(name.as_bytes()), expected, "{name}");
    }
}

#[test]
fn places_are_no_evidence_without_lines() {
    let (section, _) = section(&[]);
    let chains = Chains::default();
    for line in [0, 7] {
        let found = place_evidence(&chains, None, at(Some(1), line), &section);
        assert_eq!(found, PlaceEvidence::Nothing);
    }
}

#[test]
fn files_agree_by_name_except_where_valgrind_replaced_them() {
    let possible = [Some(&b"/build/src/b.c"[..]), Some(&b"src/b.h"[..])];
    for (profiled, begins_sequence, expected) in [
        ("src/b.c", false, PlaceEvidence::Agrees),
        ("b.h", false, PlaceEvidence::Agrees),
        ("a.c", false, PlaceEvidence::Differs),
        // The line before belongs to another unit, and Valgrind merges equal lines of both.
        ("a.c", true, PlaceEvidence::Nothing),
        ("b.c", true, PlaceEvidence::Agrees),
    ] {
        let found = compare_files(profiled.as_bytes(), possible, begins_sequence);
        assert_eq!(found, expected, "{profiled} {begins_sequence}");
    }
}

#[test]
fn paths_are_the_same_file_if_one_ends_with_the_other_after_a_slash() {
    for (a, b, expected) in [
        ("src/a.c", "src/a.c", true),
        ("/build/src/a.c", "src/a.c", true),
        ("a.c", "/build/src/a.c", true),
        ("ba.c", "a.c", false),
        ("src/a.c", "lib/a.c", false),
        ("", "a.c", false),
        ("", "", false),
    ] {
        assert_eq!(
            is_same_file(a.as_bytes(), b.as_bytes()),
            expected,
            "{a} {b}"
        );
    }
}

#[test]
fn span_ends_before_the_next_begins() {
    let facts = |symbols| CodeFacts {
        symbols,
        ..CodeFacts::default()
    };
    let mut spans = Spans::new([(8, facts(1)), (16, facts(2))].into_iter());
    assert_eq!(spans.bounds(0), 0..=15);
    assert_eq!(spans.bounds(1), 16..=u64::MAX);
    assert_eq!((spans.holding(15), spans.holding(16)), (0, 1));
}

#[test]
fn span_belongs_to_one_level_of_one_function_at_one_line() {
    let (_, functions) = section(&[("f", "o", 1), ("g", "o", 1)]);
    let (f, g) = (functions[0], functions[1]);
    let own = |function, is_first, line| Traced::own(function, is_first, at(Some(8), line), &[1]);
    let mut rows: ChainRows = CostRows::new(1);
    let key = ChainKey {
        host: f,
        inlined: None,
    };
    let row = rows.row(key).unwrap();
    let owner = SpanOwner::new(&own(f, true, 3), PlaceEvidence::Agrees, row, true);
    assert!(owner.owns(&own(f, true, 3)));
    for other in [own(g, true, 3), own(f, false, 3), own(f, true, 4)] {
        assert!(!owner.owns(&other));
    }
    assert!(owner.owns(&owner.own_cost(&[7])));
}

fn node(index: usize) -> FileFunctionId {
    FileFunctionId::at(index).unwrap()
}

fn traced(index: usize, function: FunctionId) -> TracedNode {
    TracedNode {
        node: node(index),
        function,
        is_deeper: false,
        circle: None,
    }
}

#[test]
fn arcs_of_a_part_do_not_reach_into_the_next_part() {
    let (_, functions) = section(&[("f", "o", 1), ("g", "o", 1)]);
    let mut trace = CostLines::default();
    let object = StringId::NOT_GIVEN;
    trace.add(node(0), || object, at(None, 1), Some(node(1)), &[5]);
    assert_eq!(trace.arcs().collect::<Vec<_>>(), [(node(0), node(1))]);
    trace.end_part(
        false,
        [traced(0, functions[0]), traced(1, functions[1])].into_iter(),
    );
    assert_eq!(trace.arcs().count(), 0);
}

#[test]
fn addresses_belong_to_the_object_of_their_function_in_each_part() {
    let (section, functions) = section(&[("f", "a", 1), ("g", "b", 1)]);
    let objects = [0, 1].map(|index: usize| section.key_of(functions[index]).object);
    let mut trace = CostLines::default();
    trace.add(node(0), || objects[0], at(Some(0x10), 1), None, &[1]);
    trace.end_part(false, std::iter::once(traced(0, functions[0])));
    // In the next part, the same node is another function.
    trace.add(node(0), || objects[1], at(Some(0x20), 1), None, &[1]);
    trace.end_part(false, std::iter::once(traced(0, functions[1])));
    // A part that has not ended does not count.
    trace.add(
        node(0),
        || StringId::NOT_GIVEN,
        at(Some(0x30), 1),
        None,
        &[1],
    );
    let found: Vec<_> = trace
        .take_addresses()
        .map(|(object, addresses)| (object, addresses.into_sorted()))
        .collect();
    assert_eq!(found, [(objects[0], vec![0x10]), (objects[1], vec![0x20])]);
}

/// Adds up lines `(function, address, line, count)` of an object without debug information. Returns the self cost of each
/// function.
fn sums(lines: &[(usize, Option<u64>, u64, u64)]) -> Vec<u64> {
    let (section, functions) = section(&[("f", "o", 0), ("g", "o", 0)]);
    let mut trace = CostLines::default();
    for (function, address, line, count) in lines {
        let object = || section.key_of(functions[*function]).object;
        trace.add(
            node(*function),
            object,
            at(*address, *line),
            None,
            &[*count],
        );
    }
    trace.end_part(
        false,
        [traced(0, functions[0]), traced(1, functions[1])].into_iter(),
    );
    let mut objects = TracedObjects::collect(&mut trace, &section).unwrap();
    let sums = add_up(&mut trace, &mut objects, &section, 0)
        .unwrap()
        .unwrap();
    let own = |host: &FunctionId| {
        let rows = sums.chains.all().filter(|(_, key)| key.host == *host);
        rows.map(|(row, _)| sums.chains.own(row)[0]).sum()
    };
    functions.iter().map(own).collect()
}

#[test]
fn lines_of_each_function_add_up_in_any_order() {
    let lines = [
        (0, Some(0x10), 1, 3),
        (0, Some(0x14), 1, 4),
        (1, Some(0x10), 1, 50),
        (0, Some(0x10), 2, 5),
        (1, None, 7, 600),
        (0, Some(0x10), 1, 1 << 40),
    ];
    let mut backwards = lines;
    backwards.reverse();
    for lines in [lines, backwards] {
        assert_eq!(sums(&lines), [12 + (1 << 40), 650]);
    }
}

#[test]
fn lines_of_a_span_add_up_to_64_bits() {
    let half = (1 << 63) - 1;
    let lines = [0x10, 0x14].map(|address| (0, Some(address), 1, half));
    assert_eq!(sums(&lines), [u64::MAX - 1, 0]);
}

/// Adds the cost of deeper levels and of calls back into the recursion to a chain with this inclusive cost.
fn inclusive(first: u64, deeper: u64, back: Option<u64>) -> u64 {
    let (section, functions) = section(&[("f", "o", 1)]);
    let key = ChainKey {
        host: functions[0],
        inlined: Some(Inlined::OneOf(0)),
    };
    let add = |rows: &mut ChainRows, cost: u64| {
        let row = rows.row(key).unwrap();
        rows.add_inclusive(row, &[cost], section.signedness())
            .unwrap();
    };
    let mut chains: ChainRows = CostRows::new(1);
    let mut recursion = Recursion::new(1);
    add(&mut chains, first);
    add(&mut recursion.deeper, deeper);
    if let Some(back) = back {
        add(&mut recursion.back, back);
    }
    let mut objects = TracedObjects::default();
    add_inclusive_of_callers(&mut chains, recursion, &mut objects, &section).unwrap();
    let row = chains.row(key).unwrap();
    chains.inclusive(row)[0]
}

#[test]
fn inclusive_cost_of_a_chain_is_the_larger_of_two_lower_bounds() {
    // Without calls back, all levels of the chain count.
    assert_eq!(inclusive(10, 7, None), 17);
    // The first level contains calls back of 3, which contain a part of the deeper levels.
    assert_eq!(inclusive(10, 7, Some(3)), 14);
    // The calls back contain all deeper levels.
    assert_eq!(inclusive(10, 7, Some(7)), 10);
    assert_eq!(inclusive(10, 7, Some(9)), 10);
}

/// Returns the messages about objects with these costs whose files are missing, as `NAME (SHARE)`.
fn missing(objects: &[(&str, u64)]) -> Vec<String> {
    let functions: Vec<(&str, &str, u64)> = (objects.iter())
        .map(|(object, cost)| ("f", *object, *cost))
        .collect();
    let (mut section, _) = section(&functions);
    let mut traced = TracedObjects::default();
    for (name, _) in objects {
        let mut object = TracedObject::default();
        object.name = section.strings.intern(name.as_bytes()).unwrap();
        object.unresolved = Some(Unresolved::Missing);
        traced.objects.push(object);
    }
    let inlines = Inlines {
        objects: traced,
        chains: CostRows::new(1),
        functions: Vec::new(),
        files: Vec::new(),
        resolved: vec![0],
        several: Vec::new(),
    };
    let after_colon = |message: String| message.rsplit_once(": ").unwrap().1.to_owned();
    inlines
        .messages(&section)
        .into_iter()
        .map(after_colon)
        .collect()
}

#[test]
fn objects_with_a_thousandth_of_the_cost_are_listed_by_cost_then_name() {
    assert_eq!(
        missing(&[("b", 100), ("least", 1), ("a", 100), ("most", 799)]),
        ["most (79.9%), a (10.0%), b (10.0%), least (0.1%)"]
    );
    assert_eq!(missing(&[("most", 2998), ("less", 2)]), ["most (99.9%)"]);
}
