//! Records of other types than functions, objects, and inclusive costs of sums.

use cg_parse::Snapshots;

use super::*;
use crate::runs::tests::sides;

/// Joins records of one type. Returns each row as `NAME COSTS RULES`, sorted, where costs are inclusive for calls.
fn joined_rows(kind: RecordType, mut runs: Runs) -> Vec<String> {
    let options = JoinOptions {
        types: vec![kind],
        ..options()
    };
    let joined = join(&mut runs, &options);
    let event = runs.first_event(kind);
    let shown = |row: usize| {
        let figures = figures::row_figures(&runs, &joined, row);
        let figures = match kind {
            RecordType::Call => figures.incl,
            _ => figures.cost,
        };
        let key = crate::compare::first_key(&runs, &joined, row).unwrap();
        let entry = |entry: &Option<Count>| entry.map_or("-".to_owned(), |cost| cost.to_string());
        let costs: Vec<String> = figures[event].entries.iter().map(entry).collect();
        let mut how: Vec<&str> = options.rules.names(joined.rows[row].matched).collect();
        // The first value of the enumeration means that names decide.
        if joined.rows[row].certainty > Certainty::default() {
            how.push("guess");
        }
        let name = place(&runs, key.function)[0].unwrap_or("-");
        let text = format!("{name} {} {}", costs.join(","), how.join("+"));
        text.trim_end().to_owned()
    };
    let mut rows: Vec<String> = (0..joined.rows.len()).map(shown).collect();
    rows.sort();
    rows
}

fn heap(name: &str, snapshot: u64, is_peak: bool, bytes: u64) -> String {
    let peak = if is_peak { "\"peak\":true," } else { "" };
    format!(
        "{{\"type\":\"heap\",\"fn\":\"{name}\",\"snapshot\":{snapshot},{peak}\"cost\":{{\"bytes\":{bytes}}},\"stack\":[{{\"fn\":\"{name}\"}}]}}\n"
    )
}

#[test]
fn only_the_marked_peak_of_massif_is_compared() {
    // In the old run, a snapshot that is not marked is larger than the peak.
    let old = [
        heap("f", 1, true, 10),
        heap("f", 2, false, 500),
        heap("g", 2, false, 9),
    ]
    .concat();
    let new = [heap("f", 7, false, 3), heap("f", 8, true, 12)].concat();
    assert_eq!(
        joined_rows(RecordType::Heap, runs(&[&old, &new])),
        ["f 10,12"]
    );
    assert_eq!(
        joined_rows(RecordType::Heap, runs(&[&new, &old])),
        ["f 12,10"]
    );
}

#[test]
fn snapshot_with_the_most_bytes_is_compared_if_none_is_marked() {
    let old = [
        heap("f", 1, false, 10),
        heap("f", 2, false, 6),
        heap("g", 2, false, 9),
    ]
    .concat();
    let new = heap("f", 4, false, 7);
    assert_eq!(
        joined_rows(RecordType::Heap, runs(&[&old, &new])),
        ["f 6,7", "g 9,-"]
    );
}

#[test]
fn wanted_snapshot_is_compared_whatever_its_size() {
    let stream = [
        heap("f", 1, false, 10),
        heap("f", 2, true, 60),
        heap("f", 3, false, 90),
    ]
    .concat();
    let mut runs = runs(&[&stream, &stream]);
    runs.snapshots = vec![Snapshots::Number(1), Snapshots::Number(3)];
    assert_eq!(joined_rows(RecordType::Heap, runs), ["f 10,90"]);
}

#[test]
fn object_in_another_directory_is_matched_by_the_directory_rule() {
    check(
        &["f a.c /old/lib/libx.so 1", "f a.c /new/lib/libx.so 2"],
        &["f 1,2 directory"],
    );
    check(
        &["f a.c libx.so 1", "f a.c /new/lib/libx.so 2"],
        &["f 1,2 directory"],
    );
}

fn call(caller: &str, site: &str, line: u64, callee: &str, incl: u64) -> String {
    let site = match site {
        "" => String::new(),
        site => format!("\"site\":\"{site}\","),
    };
    format!(
        "{{\"type\":\"call\",\"fn\":\"{caller}\",{site}\"line\":{line},\"callee\":{{\"fn\":\"{callee}\"}},\"calls\":1,\"incl\":{{\"Ir\":{incl}}}}}\n"
    )
}

#[test]
fn calls_at_the_same_line_are_joined_before_calls_whose_line_moved() {
    let old = [call("f", "", 3, "g", 10), call("f", "", 5, "g", 20)].concat();
    let moved = [call("f", "", 5, "g", 21), call("f", "", 9, "g", 11)].concat();
    assert_eq!(
        joined_rows(RecordType::Call, runs(&[&old, &moved])),
        ["f 10,11 line", "f 20,21"]
    );
}

#[test]
fn calls_whose_lines_all_moved_are_one_row() {
    let old = [call("f", "", 3, "g", 10), call("f", "", 5, "g", 20)].concat();
    let new = [call("f", "", 13, "g", 11), call("f", "", 15, "g", 21)].concat();
    assert_eq!(
        joined_rows(RecordType::Call, runs(&[&old, &new])),
        ["f 30,32 line"]
    );
    // Nothing is added up without a counterpart.
    let other = call("f", "", 1, "h", 5);
    assert_eq!(
        joined_rows(RecordType::Call, runs(&[&old, &other])),
        ["f -,5", "f 10,-", "f 20,-"]
    );
}

#[test]
fn call_site_in_a_moved_file_is_the_same_call() {
    let old = call("f", "/old/src/a.h", 3, "g", 10);
    let new = call("f", "/new/src/a.h", 3, "g", 11);
    assert_eq!(
        joined_rows(RecordType::Call, runs(&[&old, &new])),
        ["f 10,11 directory"]
    );
}

fn point(line: u64, bytes: u64) -> String {
    format!(
        "{{\"type\":\"program_point\",\"fn\":\"f\",\"cost\":{{\"total_bytes\":{bytes}}},\"stack\":[{{\"fn\":\"f\",\"line\":{line}}}]}}\n"
    )
}

#[test]
fn stacks_that_differ_only_in_lines_are_paired_by_cost_and_distance() {
    // One stack on each side leaves no choice.
    let kind = RecordType::ProgramPoint;
    assert_eq!(
        joined_rows(kind, runs(&[&point(3, 100), &point(900, 7)])),
        ["f 100,7 line"]
    );
    let old = [point(10, 1000), point(20, 10)].concat();
    let new = [point(11, 1001), point(21, 11)].concat();
    assert_eq!(
        joined_rows(kind, runs(&[&old, &new])),
        ["f 10,11 line+guess", "f 1000,1001 line+guess"]
    );
    // If the places were exchanged, the costs decide.
    let exchanged = [point(21, 1001), point(11, 11)].concat();
    assert_eq!(
        joined_rows(kind, runs(&[&old, &exchanged])),
        ["f 10,11 line+guess", "f 1000,1001 line+guess"]
    );
    // Equal stacks are joined first, whatever they cost.
    let same = [point(10, 5), point(30, 1000)].concat();
    assert_eq!(
        joined_rows(kind, runs(&[&old, &same])),
        ["f 10,1000 line", "f 1000,5"]
    );
}

#[test]
fn records_of_several_files_of_a_side_are_one_row() {
    let [one, two, three] = [3, 5, 7].map(|bytes| heap("f", 1, true, bytes));
    assert_eq!(
        joined_rows(RecordType::Heap, sides(&[&[&one, &two, &three], &[&two]])),
        ["f 5,5"]
    );
}

/// Returns the inclusive costs of the only row: `f` and its piece in the old run with these further calls, and `f` in the
/// new run. `None` if they are unknown.
fn sum_of_pieces(calls: &[String]) -> Option<Vec<Option<Count>>> {
    let function = |name: &str, own: u64, incl: u64| {
        format!(
            "{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":1,\"cost\":{{\"Ir\":{own}}},\"incl\":{{\"Ir\":{incl}}}}}\n"
        )
    };
    let old = function("f", 40, 60) + &function("f.part.0", 11, 20) + &calls.concat();
    let mut runs = runs(&[&old, &function("f", 51, 63)]);
    let joined = join(&mut runs, &options());
    assert_eq!(joined.rows.len(), 1);
    let figures = figures::row_figures(&runs, &joined, 0);
    assert_eq!(figures.cost[0].entries, [Some(51), Some(51)]);
    assert_eq!(figures.merged, [Some(2), Some(1)]);
    figures.incl.first().map(|figure| figure.entries.clone())
}

#[test]
fn inclusive_costs_of_a_sum_do_not_count_calls_between_its_functions_twice() {
    let known = |incl: Count| Some(vec![Some(incl), Some(63)]);
    // The calls of others do not matter, but show that the profile has calls.
    let main = || call("main", "", 1, "f", 60);
    assert_eq!(sum_of_pieces(&[main()]), known(80));
    assert_eq!(
        sum_of_pieces(&[main(), call("f", "", 1, "f.part.0", 20)]),
        known(60)
    );
    let twice = [
        call("f", "", 1, "f.part.0", 5),
        call("f", "", 2, "f.part.0", 7),
    ];
    assert_eq!(sum_of_pieces(&twice), known(68));
}

#[test]
fn inclusive_costs_of_a_sum_are_unknown_without_calls_and_in_circles() {
    assert_eq!(sum_of_pieces(&[]), None);
    // A call of a function by itself does not show its other calls.
    assert_eq!(sum_of_pieces(&[call("f", "", 1, "f", 9)]), None);
    let there = || call("f", "", 1, "f.part.0", 20);
    assert_eq!(
        sum_of_pieces(&[there(), call("f.part.0", "", 1, "f", 5)]),
        None
    );
    // Through a function outside of the sum.
    let through = [call("f", "", 1, "g", 20), call("g", "", 1, "f.part.0", 20)];
    assert_eq!(sum_of_pieces(&through), None);
    // A function outside that calls nothing of the sum does not matter.
    let apart = [there(), call("f", "", 1, "g", 3), call("g", "", 1, "h", 3)];
    assert_eq!(sum_of_pieces(&apart), Some(vec![Some(60), Some(63)]));
}

#[test]
fn functions_of_a_profile_without_objects_are_joined_by_name_and_file() {
    // Cachegrind knows no objects, so functions of one name in several objects are one row.
    check(
        &[
            "f a.c - 30\ng b.c - 5",
            "f a.c x.so 10\nf a.c y.so 21\ng b.c x.so 6",
        ],
        &["f 30,31 object", "g 5,6 object"],
    );
    // The file may differ if there is only one function of the name on each side.
    check(
        &["f a.h - 30", "f a.c x.so 31"],
        &["f 30,31 object+inlined-file"],
    );
    check(
        &["f a.h - 30", "f a.c x.so 10\nf b.c x.so 11"],
        &["f -,10", "f -,11", "f 30,-"],
    );
}

#[test]
fn rename_needs_the_costs_of_all_events_to_agree() {
    let function = |name: &str, ir: u64, misses: u64| {
        format!(
            "{{\"type\":\"fn\",\"fn\":\"{name}\",\"file\":\"a.c\",\"obj\":\"o\",\"calls\":1,\"cost\":{{\"Ir\":{ir},\"D1mr\":{misses}}}}}\n"
        )
    };
    let rows =
        |new: String| joined_rows(RecordType::Fn, runs(&[&function("old", 1000, 100), &new]));
    assert_eq!(rows(function("new", 1000, 104)), ["old 1000,1000 guess"]);
    assert_eq!(
        rows(function("new", 1000, 105)),
        ["new -,1000", "old 1000,-"]
    );
    // 990 is 99 % of 1000.
    assert_eq!(rows(function("new", 990, 100)), ["old 1000,990 guess"]);
    assert_eq!(rows(function("new", 989, 100)), ["new -,989", "old 1000,-"]);
}

#[test]
fn rename_needs_a_considerable_cost() {
    check(&["old a.c o 100", "new a.c o 100"], &["old 100,100 guess"]);
    check(&["old a.c o 99", "new a.c o 99"], &["new -,99", "old 99,-"]);
}
