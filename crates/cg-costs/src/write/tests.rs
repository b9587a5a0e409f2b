//! Records of sections that are filled by hand.

use parsed::Parsed;
use serde_json::Value;

use super::*;
use crate::ids::{FunctionId, StringId};
use crate::section::{ArcKey, SectionFunction};
use crate::tables::LineKey;

fn section(events: &[&str]) -> Section {
    let mut section = Section::new("callgrind", true);
    let events: Vec<String> = events.iter().map(|event| (*event).to_owned()).collect();
    section.columns(&events);
    section
}

/// Adds a function with its name, file and object. An empty text is a missing name.
fn function(section: &mut Section, [name, file, object]: [&str; 3], cost: &[u64]) -> FunctionId {
    let [name, file, object] =
        [name, file, object].map(|text| section.strings.intern(text.as_bytes()).unwrap());
    let function = section
        .function(SectionFunction { name, file, object })
        .unwrap();
    section.add_cost(function, cost).unwrap();
    function
}

fn written(section: &mut Section, options: &Options) -> Parsed {
    parsed::parsed(|writer, _| write(section, None, None, options, &mut Out::new(writer)).map(drop))
}

fn records(parsed: &Parsed, kind: &str) -> Vec<Value> {
    let record = |record: &&str| serde_json::from_str(&format!("{{{record}")).unwrap();
    parsed.records_of_type(kind).iter().map(record).collect()
}

/// Returns some fields of the records of a type, each record as one text.
fn fields(parsed: &Parsed, kind: &str, fields: &[&str]) -> Vec<String> {
    let text = |record: &Value| {
        let field = |field: &&str| match record.pointer(field) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "-".to_owned(),
        };
        fields.iter().map(field).collect::<Vec<_>>().join(" ")
    };
    records(parsed, kind).iter().map(text).collect()
}

#[test]
fn summary_is_written_only_if_it_differs_from_the_sum_in_either_direction() {
    for (summary, expected) in [(9, Some(9)), (10, None), (11, Some(11))] {
        let mut section = section(&["Ir"]);
        function(&mut section, ["f", "", ""], &[10]);
        section.run.add_summary("Ir", summary);
        let run = &records(&written(&mut section, &Options::default()), "run")[0];
        assert_eq!(run.pointer("/summary/Ir").and_then(Value::as_u64), expected);
    }
    // If one event differs, the summary has all events.
    let mut section = section(&["Ir", "Dr"]);
    function(&mut section, ["f", "", ""], &[10, 3]);
    section.run.add_summary("Ir", 10);
    section.run.add_summary("Dr", 2);
    let run = &records(&written(&mut section, &Options::default()), "run")[0];
    assert_eq!(run["summary"], serde_json::json!({"Ir": 10, "Dr": 2}));
}

#[test]
fn functions_of_equal_cost_are_sorted_by_name_then_file_then_object() {
    let mut section = section(&["Ir"]);
    for names in [
        ["z", "a", "a"],
        ["f", "b", "a"],
        ["f", "a", "y"],
        ["f", "a", "x"],
        ["", "z", "z"],
    ] {
        function(&mut section, names, &[5]);
    }
    function(&mut section, ["zz", "", ""], &[6]);
    let found = written(&mut section, &Options::default());
    assert_eq!(
        fields(&found, "fn", &["/fn", "/file", "/obj"]),
        ["zz - -", "- z z", "f a x", "f a y", "f b a", "z a a"]
    );
}

#[test]
fn negative_costs_follow_positive_costs() {
    let mut section = section(&["Ir"]);
    section.switch_to_signed().unwrap();
    for (name, cost) in [("minus", -10i64), ("plus", 4), ("zero", 0)] {
        function(&mut section, [name, "", ""], &[cost.cast_unsigned()]);
    }
    let found = written(&mut section, &Options::default());
    assert_eq!(
        fields(&found, "fn", &["/fn", "/cost/Ir"]),
        ["plus 4", "zero 0", "minus -10"]
    );
    assert_eq!(fields(&found, "run", &["/total/Ir"]), ["-6"]);
}

#[test]
fn lines_are_sorted_by_cost_then_function_then_place() {
    let mut section = section(&["Ir"]);
    let [f, g] = ["f", "g"].map(|name| function(&mut section, [name, "a.c", ""], &[9]));
    let files = ["b.c", "a.c"].map(|file| section.strings.intern(file.as_bytes()).unwrap());
    for (function, file, line, cost) in [
        (g, files[1], 1, 5),
        (f, files[0], 1, 5),
        (f, files[1], 10, 5),
        (f, files[1], 9, 5),
        (g, files[0], 7, 6),
    ] {
        let key = LineKey {
            function,
            file,
            line,
            address: None,
        };
        section.add_line(key, &[cost]).unwrap();
    }
    let options = Options {
        lines: true,
        ..Options::default()
    };
    assert_eq!(
        fields(
            &written(&mut section, &options),
            "line",
            &["/fn", "/file", "/line"]
        ),
        ["g b.c 7", "f a.c 9", "f a.c 10", "f b.c 1", "g a.c 1"]
    );
}

#[test]
fn calls_are_sorted_by_cost_then_both_functions_then_line() {
    let mut section = section(&["Ir"]);
    let [f, g, h] = ["f", "g", "h"].map(|name| function(&mut section, [name, "", ""], &[9]));
    for (caller, callee, line, cost) in [
        (g, f, 1, 5),
        (f, h, 1, 5),
        (f, g, 12, 5),
        (f, g, 3, 5),
        (h, h, 1, 6),
    ] {
        let key = ArcKey {
            caller,
            callee,
            site: StringId::NOT_GIVEN,
            line,
            address: None,
            inlined: None,
        };
        section.add_arc(key, 1, &[cost]).unwrap();
    }
    let options = Options {
        calls: true,
        ..Options::default()
    };
    assert_eq!(
        fields(
            &written(&mut section, &options),
            "call",
            &["/fn", "/callee/fn", "/line"]
        ),
        ["h h 1", "f g 3", "f g 12", "f h 1", "g f 1"]
    );
}

#[test]
fn records_have_their_part_and_thread_only_if_parts_are_separate() {
    for per_part in [false, true] {
        let mut section = section(&["Ir"]);
        function(&mut section, ["f", "", ""], &[1]);
        section.run.record_part(3);
        section.run.thread.record(2);
        section.run.end_part(None);
        let options = Options {
            per_part,
            ..Options::default()
        };
        let expected = if per_part { "3 2" } else { "- -" };
        let found = written(&mut section, &options);
        assert_eq!(fields(&found, "fn", &["/part", "/thread"]), [expected]);
    }
}

#[test]
fn total_beyond_64_bits_is_an_error() {
    for (costs, is_refused) in [([u64::MAX - 1, 1], false), ([u64::MAX, 1], true)] {
        let mut section = section(&["Ir"]);
        for (name, cost) in ["f", "g"].into_iter().zip(costs) {
            function(&mut section, [name, "", ""], &[cost]);
        }
        let found = written(&mut section, &Options::default());
        assert_eq!(found.has_errors, is_refused);
        assert_eq!(found.is_whole(), !is_refused);
    }
}

#[test]
fn incomplete_section_has_records_and_no_end() {
    let mut section = section(&["Ir"]);
    function(&mut section, ["f", "", ""], &[1]);
    section.mark_incomplete();
    let found = written(&mut section, &Options::default());
    assert_eq!(found.records_of_type("fn").len(), 1);
    assert!(!found.is_whole());
}
