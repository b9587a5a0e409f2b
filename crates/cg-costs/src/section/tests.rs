//! Sections that are filled by hand: sums over parts, merged functions, arcs, and the facts of runs.

use std::cell::RefCell;

use cg_stream::record::{Description, PartialRun};

use super::*;

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn section(events: &[&str]) -> Section {
    let mut section = Section::new("callgrind", true);
    section.columns(&owned(events));
    section
}

fn function(section: &mut Section, name: &str) -> FunctionId {
    let name = section.strings.intern(name.as_bytes()).unwrap();
    let key = SectionFunction {
        name,
        file: StringId::NOT_GIVEN,
        object: StringId::NOT_GIVEN,
    };
    section.function(key).unwrap()
}

fn line(function: FunctionId, line: u64) -> LineKey<FunctionId> {
    LineKey {
        function,
        file: StringId::NOT_GIVEN,
        line,
        address: None,
    }
}

fn arc(caller: FunctionId, callee: FunctionId, address: Option<u64>) -> ArcKey {
    ArcKey {
        caller,
        callee,
        site: StringId::NOT_GIVEN,
        line: 3,
        address,
        inlined: None,
    }
}

/// Returns the arcs with their calls and inclusive costs, in the order of their first use.
fn arcs(section: &Section) -> Vec<(ArcKey, u64, Vec<u64>)> {
    let arcs = section.arcs();
    let row = |(arc, key)| (key, *arcs.facts(arc), arcs.inclusive(arc).to_vec());
    arcs.all().map(row).collect()
}

/// The number that is this much below 2^64: a negative number in two's complement.
fn below(missing: u64) -> u64 {
    missing.wrapping_neg()
}

#[test]
fn counts_keep_their_events_if_a_later_part_has_further_events() {
    let mut section = section(&["Ir"]);
    let f = function(&mut section, "f");
    section.add_cost(f, &[5]).unwrap();
    section.add_inclusive(f, &[9], 1).unwrap();
    assert_eq!(section.columns(&owned(&["Dr", "Ir"])), [1, 0]);
    section.add_cost(f, &[7, 2]).unwrap();
    assert_eq!(section.cost(f), [12, 2]);
    assert_eq!(section.inclusive(f), [9, 0]);
    assert_eq!(section.total(), [12, 2]);
}

#[test]
fn negative_counts_are_refused_after_a_count_of_2_to_the_63() {
    type Fill = fn(&mut Section, u64);
    let fills: [Fill; 4] = [
        |section, count| {
            let f = function(section, "f");
            section.add_cost(f, &[count]).unwrap();
        },
        |section, count| {
            let f = function(section, "f");
            section.add_inclusive(f, &[count], 1).unwrap();
        },
        |section, count| {
            let f = function(section, "f");
            section.add_line(line(f, 1), &[count]).unwrap();
        },
        |section, count| {
            let f = function(section, "f");
            section.add_arc(arc(f, f, None), 1, &[count]).unwrap();
        },
    ];
    for fill in fills {
        let mut large = section(&["Ir"]);
        fill(&mut large, 1 << 63);
        assert_eq!(large.switch_to_signed(), Err(NoRoom::Sum));
        assert_eq!(large.signedness(), Signedness::Unsigned);
        let mut small = section(&["Ir"]);
        fill(&mut small, (1 << 63) - 1);
        assert_eq!(small.switch_to_signed(), Ok(()));
    }
}

#[test]
fn total_counts_negative_costs_as_negative() {
    let mut section = section(&["Ir"]);
    let f = function(&mut section, "f");
    section.add_cost(f, &[10]).unwrap();
    section.switch_to_signed().unwrap();
    section.add_cost(f, &[below(13)]).unwrap();
    assert_eq!(section.total(), [-3]);
}

#[test]
fn merged_functions_give_all_their_data_to_the_last_of_a_chain() {
    let mut section = section(&["Ir"]);
    let [a, b, c, other] = ["a", "b", "c", "other"].map(|name| function(&mut section, name));
    for (function, own, inclusive, calls) in [(a, 1, 10, 3), (b, 2, 20, 5), (c, 4, 40, 7)] {
        section.add_cost(function, &[own]).unwrap();
        section
            .add_inclusive(function, &[inclusive], calls)
            .unwrap();
        section.add_line(line(function, 1), &[own]).unwrap();
    }
    section.add_cost(other, &[8]).unwrap();
    section.add_arc(arc(a, other, None), 2, &[5]).unwrap();
    section.add_arc(arc(c, other, None), 3, &[6]).unwrap();
    section.add_arc(arc(other, b, None), 1, &[7]).unwrap();
    section.add_cycle(&[a, other]);
    let same = [(a, b), (b, c)].into_iter().collect();
    section.merge(&same).unwrap();
    let present: Vec<FunctionId> = section.present().map(|(function, _)| function).collect();
    assert_eq!(present, [c, other]);
    assert_eq!(
        [a, b, c].map(|function| section.merged_into(function)),
        [c; 3]
    );
    assert_eq!(
        (section.cost(c), section.inclusive(c)),
        (&[7][..], &[70][..])
    );
    assert_eq!(section.calls(c), 15);
    assert_eq!(section.total(), [15]);
    section.settle_lines().unwrap();
    let lines: Vec<_> = section.lines().all().collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(section.lines().own_count(lines[0].0, 0), 7);
    assert_eq!(
        arcs(&section),
        [
            (arc(c, other, None), 5, vec![11]),
            (arc(other, c, None), 1, vec![7])
        ]
    );
    let cycles = section.cycle_numbers();
    assert_eq!(cycles.get(&c), cycles.get(&other));
    assert!(cycles.contains_key(&c));
}

#[test]
fn parts_merge_their_functions_separately() {
    let mut section = Section::new("cachegrind", false);
    section.columns(&owned(&["Ir"]));
    let [a, b] = ["a", "b"].map(|name| function(&mut section, name));
    let keys = [a, b].map(|function| section.key_of(function));
    // A section without functions takes over the tables of its first part.
    let strings = std::mem::take(&mut section.strings);
    let mut section = Section::new("cachegrind", false);
    section.strings = strings;
    section.columns(&owned(&["Ir"]));
    let part = |costs: [u64; 2]| {
        let mut part = Section::new("cachegrind", false);
        part.columns(&owned(&["Ir"]));
        let ids = keys.map(|key| part.function(key).unwrap());
        for (function, cost) in ids.into_iter().zip(costs) {
            part.add_cost(function, &[cost]).unwrap();
        }
        (part, ids)
    };
    let (mut first, [a, b]) = part([1, 2]);
    section
        .add_part(&mut first, &[(a, b)].into_iter().collect())
        .unwrap();
    let (mut second, _) = part([4, 8]);
    section.add_part(&mut second, &Map::default()).unwrap();
    let [a, b] = keys.map(|key| section.function(key).unwrap());
    assert_eq!((section.cost(a), section.cost(b)), (&[4][..], &[11][..]));
    assert_eq!(section.merged_into(a), a);
    assert_eq!(section.total(), [15]);
}

#[test]
fn cleared_section_has_names_and_no_counts() {
    let mut section = section(&["Ir"]);
    let f = function(&mut section, "f");
    section.add_cost(f, &[5]).unwrap();
    section.add_line(line(f, 1), &[5]).unwrap();
    section.add_arc(arc(f, f, None), 1, &[5]).unwrap();
    section.add_cycle(&[f]);
    section.switch_to_signed().unwrap();
    section.mark_incomplete();
    section.clear();
    assert!(section.strings.find(b"f").is_some());
    assert!(section.is_complete());
    assert_eq!(section.signedness(), Signedness::Unsigned);
    assert_eq!((section.event_count(), section.total()), (0, &[][..]));
    assert_eq!(section.present().count(), 0);
    assert_eq!((section.lines().len(), section.arcs().row_count()), (0, 0));
    assert!(section.cycle_numbers().is_empty());
}

#[test]
fn records_are_ranked_by_the_first_event_that_is_not_0_throughout() {
    let mut section = section(&["zero", "calls", "own"]);
    let [f, g] = ["f", "g"].map(|name| function(&mut section, name));
    assert_eq!(section.ranking_event(), 0);
    section.add_cost(f, &[0, 0, 5]).unwrap();
    assert_eq!(section.ranking_event(), 2);
    // Inclusive cost counts too.
    section.add_inclusive(g, &[0, 3, 0], 1).unwrap();
    assert_eq!(section.ranking_event(), 1);
}

#[test]
fn call_sites_at_different_addresses_are_one_arc_unless_addresses_are_wanted() {
    let filled = || {
        let mut section = section(&["Ir"]);
        let [f, g] = ["f", "g"].map(|name| function(&mut section, name));
        section.add_arc(arc(f, g, Some(0x10)), 1, &[5]).unwrap();
        section.add_arc(arc(f, g, Some(0x14)), 2, &[6]).unwrap();
        (section, f, g)
    };
    let (mut section, f, g) = filled();
    section.split_arcs_by_chain(|_, _, _| None, false).unwrap();
    assert_eq!(arcs(&section), [(arc(f, g, None), 3, vec![11])]);
    let (mut section, f, g) = filled();
    section.split_arcs_by_chain(|_, _, _| None, true).unwrap();
    assert_eq!(
        arcs(&section),
        [
            (arc(f, g, Some(0x10)), 1, vec![5]),
            (arc(f, g, Some(0x14)), 2, vec![6])
        ]
    );
}

#[test]
fn call_site_is_in_the_callers_file_unless_the_arc_has_another() {
    let mut section = section(&["Ir"]);
    let [name, own, other] =
        [&b"f"[..], b"a.c", b"a.h"].map(|text| section.strings.intern(text).unwrap());
    let key = SectionFunction {
        name,
        file: own,
        object: StringId::NOT_GIVEN,
    };
    let f = section.function(key).unwrap();
    section.add_arc(arc(f, f, None), 1, &[1]).unwrap();
    let from_header = ArcKey {
        site: other,
        ..arc(f, f, None)
    };
    section.add_arc(from_header, 1, &[1]).unwrap();
    let files = RefCell::new(Vec::new());
    let innermost = |_: &Section, _, at: At| {
        files.borrow_mut().push(at.file);
        None
    };
    section.split_arcs_by_chain(innermost, false).unwrap();
    assert_eq!(files.into_inner(), [own, other]);
}

#[test]
fn fact_is_unknown_as_soon_as_two_parts_state_different_values() {
    let mut pid = Agreed::default();
    assert_eq!(pid.one(), None);
    pid.record(7);
    pid.record(7);
    assert_eq!(pid.one(), Some(&7));
    pid.record(8);
    pid.record(8);
    assert_eq!(pid.one(), None);
}

#[test]
fn next_part_inherits_facts_of_the_run_until_it_states_others() {
    let mut first = RunFacts::new("callgrind");
    first.command.record("a".to_owned());
    first.thread.record(1);
    first.record_part(1);
    let mut second = first.next_part();
    assert_eq!(second.command.one(), Some(&"a".to_owned()));
    assert_eq!((second.thread.one(), second.part()), (None, None));
    second.command.record("b".to_owned());
    assert_eq!(second.command.one(), Some(&"b".to_owned()));
}

#[test]
fn descriptions_of_a_part_do_not_apply_to_the_next_part() {
    let mut first = RunFacts::new("callgrind");
    for (key, value) in [
        ("I1 cache", "32768 B"),
        ("Trigger", "Program termination"),
        ("Timerange", "Basic block 0 - 9"),
    ] {
        first.add_description(key, value);
    }
    let next = first.next_part();
    assert_eq!((next.facts().trigger, next.facts().timerange), (None, None));
    let Some(Description::ByKey(simulation)) = next.description() else {
        panic!("the parameters of the cache are missing")
    };
    assert_eq!(simulation.into_keys().collect::<Vec<_>>(), ["I1 cache"]);
}

#[test]
fn trigger_belongs_only_to_the_part_that_states_it() {
    let mut run = RunFacts::new("callgrind");
    run.record_part(1);
    run.add_description("Trigger", "Client Request");
    run.end_part(Some(7));
    run.record_part(2);
    run.end_part(Some(7));
    let first = PartialRun::one(Some(7), 1, "Client Request");
    assert_eq!(run.facts().partial, [first]);
    assert_eq!(run.parts, 2);
}

#[test]
fn summaries_add_up_as_unsigned_or_as_signed_numbers() {
    let sum = |counts: &[u64]| {
        let mut run = RunFacts::new("callgrind");
        for count in counts {
            run.add_summary("Ir", *count);
        }
        run.summary["Ir"]
    };
    assert_eq!(sum(&[below(5), 8]), Some(3));
    assert_eq!(sum(&[below(5), 3]), Some(below(2)));
    assert_eq!(sum(&[below(5), below(3)]), Some(below(8)));
    assert_eq!(sum(&[1 << 63, (1 << 63) - 1]), Some(u64::MAX));
    // Neither form has room for 2^64, and the sum stays unknown.
    assert_eq!(sum(&[1 << 63, 1 << 63]), None);
    assert_eq!(sum(&[1 << 63, 1 << 63, 1]), None);
}

/// Returns the facts of an input with one part.
fn input(source: &str, command: Option<&str>, summary: u64) -> RunFacts {
    let mut run = RunFacts::new("callgrind");
    run.add_source(source);
    run.pid.record(7);
    if let Some(command) = command {
        run.command.record(command.to_owned());
    }
    run.add_summary("Ir", summary);
    run.event_names.insert("Ir".to_owned(), source.to_owned());
    run.derived.insert("Cycles".to_owned(), "2 Ir".to_owned());
    run.end_part(None);
    run
}

#[test]
fn sum_of_two_inputs_states_only_facts_on_which_both_agree() {
    let sum = input("a", Some("x"), 3).and(input("b", None, 4));
    assert_eq!(sum.pid.one(), Some(&7));
    assert_eq!(sum.command.one(), None);
    assert_eq!((sum.parts, sum.summary["Ir"]), (2, Some(7)));
    assert_eq!(sum.sources, ["a", "b"]);
    assert!(sum.event_names.is_empty());
    assert_eq!(sum.derived["Cycles"], "2 Ir");
    // A fact that differs once is not stated again.
    let sum = sum.and(input("a", Some("x"), 1));
    assert_eq!(sum.command.one(), None);
    assert_eq!(sum.sources, ["a", "b"]);
}

#[test]
fn input_without_parts_adds_only_its_source() {
    let mut empty = RunFacts::new("callgrind");
    empty.add_source("empty");
    for (sum, sources) in [
        (input("a", Some("x"), 3).and(empty.clone()), ["a", "empty"]),
        (empty.and(input("a", Some("x"), 3)), ["empty", "a"]),
    ] {
        assert_eq!(sum.command.one(), Some(&"x".to_owned()));
        assert_eq!((sum.parts, sum.summary["Ir"]), (1, Some(3)));
        assert_eq!(sum.sources, sources);
    }
}
