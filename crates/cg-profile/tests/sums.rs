//! Law 3 of `FORMAT.md`, "concatenation is addition", for every field of every record type that is added up.
//!
//! The lists here are written from `FORMAT.md`, not from the crate's own declaration of the types. The records are the
//! examples of `FORMAT.md`.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;

use cg_profile::Profile;
use cg_stream::{Reader, Writer};
use serde_json::{Value, json};

const FORMAT: &str = include_str!("../../cg-stream/FORMAT.md");

/// The fields that are part of a record's key.
const KEYS: [&str; 22] = [
    "fn",
    "file",
    "obj",
    "site",
    "line",
    "addr",
    "callee",
    "kind",
    "what",
    "snapshot",
    "stack",
    "part",
    "thread",
    "process",
    "tid",
    "cut",
    "earlier_search",
    "inlined",
    "ambiguous",
    "labels",
    "time",
    "type",
];
/// Event counts.
const COUNTS: [&str; 2] = ["cost", "incl"];
/// Numbers that are added up.
const SUMS: [&str; 4] = ["calls", "indirect_bytes", "places", "lifetime"];

/// Returns the examples of records that are added up, and records with fields that no example has.
fn examples() -> Vec<Value> {
    let mut records: Vec<Value> = FORMAT
        .lines()
        .filter(|line| line.starts_with("{\"type\":"))
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &Value| {
            let other = ["run", "end", "diff", "snapshot", "cause", "step", "series"];
            !other.contains(&record["type"].as_str().unwrap())
        })
        .collect();
    let frames = json!([{"fn": "f", "file": "a.c", "line": 3, "obj": "/lib/a.so", "addr": "0x1"}, {"fn": "main"}]);
    records.extend([
        json!({"type": "fn", "fn": "f", "part": 2, "thread": 3, "calls": 5, "cost": {"Ir": 1, "Dr": 2}, "incl": {"Ir": 3, "Dr": 4}, "cycle": 1, "code": "x86-64.1 2 a b", "code_ran": "x86-64.1 1 c d"}),
        json!({"type": "line", "fn": "f", "file": "a.h", "line": 0, "addr": "0x1", "part": 1, "thread": 1, "cost": {"Ir": 1}}),
        json!({"type": "call", "fn": "f", "part": 1, "thread": 1, "callee": {"fn": "g"}, "calls": 2, "incl": {"Ir": 7}}),
        json!({"type": "inline", "fn": "f", "file": "a.c", "obj": "/lib/a.so", "ambiguous": ["g", "h"], "part": 1, "thread": 2, "cost": {"Ir": 3}, "incl": {"Ir": 4}, "stack": [{"fn": "f", "site": "a.h", "line": 3}]}),
        json!({"type": "leak", "fn": "f", "obj": "/lib/a.so", "kind": "possible", "cost": {"bytes": 8, "blocks": 1}, "indirect_bytes": 0, "earlier_search": true, "pid": 4, "stack": frames, "suppression": "{\n}"}),
        json!({"type": "error", "fn": "f", "obj": "/lib/a.so", "kind": "Race", "what": "Possible data race", "cost": {"count": 2}, "thread": 1, "thread_name": "main", "pid": 4, "stack": frames, "notes": [{"what": "at", "stack": frames}, {"what": "by"}], "suppression": "{\n}"}),
        json!({"type": "heap", "fn": "f", "obj": "/lib/a.so", "snapshot": 3, "peak": false, "cost": {"bytes": 9}, "places": 4, "stack": frames}),
        json!({"type": "program_point", "obj": "/lib/a.so", "cost": {"total_bytes": 9, "end_bytes": 2}, "max_bytes": 5, "max_blocks": 2, "lifetime": 77, "accesses": [1, null, 3], "stack": frames}),
        json!({"type": "stack", "fn": "f", "file": "a.c", "line": 3, "obj": "/lib/a.so", "thread": "worker", "process": "demo", "pid": 4, "estimated": true, "cut": true, "time": 5, "labels": {"phase": "parse", "bytes": [{"unit": "bytes", "value": 4}, {"unit": "bytes", "value": 8}], "n": 3}, "cost": {"Ir": 17}, "stack": [{"fn": "f", "inlined": true, "jit": true}, {"fn": "g", "kernel": true, "waker": true}]}),
    ]);
    records
}

/// Reads the lines as one profile and returns the lines of its records in a fixed order.
fn added_up(lines: &[String]) -> Vec<String> {
    let text = lines.join("\n");
    let mut reader = Reader::new(text.as_bytes());
    let mut profile = Profile::default();
    while let Some(line) = reader.next_line().unwrap() {
        profile.add(&line).unwrap();
    }
    let mut writer = Writer::new(Vec::new());
    for of in profile.types() {
        let table = profile.table(of);
        let rows: Vec<usize> = (0..table.len()).collect();
        // The events that the type's records have, in the profile's order.
        let events: Vec<usize> = (0..profile.events().len())
            .filter(|event| {
                let has = |counts: &[i128]| counts.get(*event).is_some_and(|count| *count != 0);
                rows.iter()
                    .any(|row| has(table.cost(*row)) || table.incl(*row).is_some_and(has))
            })
            .collect();
        profile.write_rows(of, &rows, &events, &mut writer).unwrap();
    }
    writer.flush().unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_single_record_is_written_unchanged() {
    for record in examples() {
        let again = added_up(&[record.to_string()]);
        assert_eq!(again.len(), 1, "{record}");
        let again: Value = serde_json::from_str(&again[0]).unwrap();
        assert_eq!(again, record);
    }
}

#[test]
fn two_equal_records_have_twice_the_costs_and_sums() {
    for record in examples() {
        let line = record.to_string();
        let again = added_up(&[line.clone(), line]);
        assert_eq!(again.len(), 1, "{record}");
        let mut again: Value = serde_json::from_str(&again[0]).unwrap();
        for (field, value) in record.as_object().unwrap() {
            let twice = again.as_object_mut().unwrap().remove(field).unwrap();
            if COUNTS.contains(&field.as_str()) {
                for (event, count) in value.as_object().unwrap() {
                    assert_eq!(
                        twice[event].as_u64(),
                        count.as_u64().map(|n| 2 * n),
                        "{record}"
                    );
                }
            } else if SUMS.contains(&field.as_str()) {
                assert_eq!(
                    twice.as_u64(),
                    value.as_u64().map(|n| 2 * n),
                    "{field} of {record}"
                );
            } else {
                assert_eq!(twice, *value, "{field} of {record}");
            }
        }
        assert_eq!(again, json!({}), "{record} has more fields twice than once");
    }
}

/// Returns another value of the same type.
fn another(value: &Value) -> Value {
    match value {
        Value::Array(labels) if labels.iter().any(|label| label.get("unit").is_some()) => {
            labels[..1].to_vec().into()
        }
        Value::Null => json!(1),
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::String(text) => json!(format!("{text}'")),
        Value::Array(values) => {
            let mut values = values.clone();
            values.push(values.last().cloned().unwrap_or(json!({"fn": "g"})));
            values.into()
        }
        Value::Object(fields) => {
            let other = fields
                .iter()
                .map(|(key, value)| (key.clone(), another(value)));
            Value::Object(other.collect())
        }
    }
}

#[test]
fn records_stay_separate_exactly_if_a_key_field_differs() {
    let mut seen = BTreeSet::new();
    for record in examples() {
        for (field, value) in record.as_object().unwrap() {
            let mut other = record.clone();
            other[field] = match field.as_str() {
                "type" => continue,
                _ => another(value),
            };
            let rows = added_up(&[record.to_string(), other.to_string()]).len();
            // An error's thread is not a key, and a line's inlined functions follow from its address.
            let is_detail = (field == "thread" && record["type"] == "error")
                || (field == "inlined" && record["type"] == "line");
            let is_key = KEYS.contains(&field.as_str()) && !is_detail;
            assert_eq!(rows, 1 + usize::from(is_key), "{field}: {record} {other}");
            seen.insert(field.clone());
        }
    }
    let tried = KEYS.iter().chain(&COUNTS).chain(&SUMS);
    for field in tried.filter(|field| **field != "type") {
        assert!(seen.contains(*field), "no example has {field}");
    }
}

#[test]
fn frame_addresses_are_not_part_of_the_key() {
    for record in examples() {
        let Some(stack) = record.get("stack") else {
            continue;
        };
        for (field, is_key) in [
            ("addr", false),
            ("fn", true),
            ("line", true),
            ("site", true),
            ("obj", true),
            ("kernel", true),
            ("jit", true),
            ("inlined", true),
            ("waker", true),
        ] {
            let mut other = record.clone();
            let mut frames = stack.clone();
            frames[0][field] = match field {
                "line" => json!(77),
                "fn" | "obj" | "addr" | "site" => json!("other"),
                _ => json!(frames[0].get(field).is_none()),
            };
            other["stack"] = frames;
            let rows = added_up(&[record.to_string(), other.to_string()]).len();
            assert_eq!(rows, 1 + usize::from(is_key), "{field}: {record}");
        }
    }
}

/// Returns every order of a few lines.
fn orders(lines: &[String]) -> Vec<Vec<String>> {
    if lines.len() < 2 {
        return vec![lines.to_vec()];
    }
    (0..lines.len())
        .flat_map(|first| {
            let mut rest = lines.to_vec();
            let first = rest.remove(first);
            let with_first = move |mut order: Vec<String>| {
                order.insert(0, first.clone());
                order
            };
            orders(&rest).into_iter().map(with_first)
        })
        .collect()
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let run =
        json!({"type": "run", "stream": 1, "events": ["Dw", "Dr", "Ir", "bytes"], "total": {}});
    for record in examples() {
        // Records with equal keys that differ in all other fields, a record with another key, and the run with the events.
        let mut lines = vec![
            record.clone(),
            record.clone(),
            record.clone(),
            record.clone(),
        ];
        for (field, value) in record.as_object().unwrap() {
            if !KEYS.contains(&field.as_str()) {
                lines[1][field] = another(value);
                lines[2].as_object_mut().unwrap().remove(field);
            }
        }
        if let Some(stack) = lines[1].get_mut("stack") {
            stack[0]["addr"] = json!("0x0");
        }
        lines[3]["fn"] = json!("another");
        lines[3]["cost"] = json!({"Ir": 1, "Dw": 5});
        lines.push(run.clone());
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let first = added_up(&lines);
        for order in orders(&lines) {
            assert_eq!(added_up(&order), first, "{order:#?}");
        }
    }
}

#[test]
fn a_sum_that_does_not_fit_in_64_bits_is_an_error_of_its_line() {
    let most = u64::MAX;
    let mut tried = BTreeSet::new();
    for record in examples() {
        for (field, value) in record.as_object().unwrap() {
            let is_sum = SUMS.contains(&field.as_str());
            let limit = match field.as_str() {
                "cost" => {
                    let events = value.as_object().unwrap().keys();
                    Value::Object(events.map(|event| (event.clone(), most.into())).collect())
                }
                _ if is_sum => most.into(),
                _ => continue,
            };
            let mut large = record.clone();
            large[field] = limit;
            let text = format!("{large}\n{record}");
            let mut reader = Reader::new(text.as_bytes());
            let mut profile = Profile::default();
            let first = reader.next_line().unwrap().unwrap();
            profile.add(&first).unwrap();
            let second = reader.next_line().unwrap().unwrap();
            let has_count = match field.as_str() {
                "cost" => value.as_object().unwrap().values().any(|count| *count != 0),
                _ => *value != 0,
            };
            match profile.add(&second) {
                Ok(()) => assert!(!has_count, "{field}: {text}"),
                Err(error) => {
                    assert_eq!(error.line(), Some(2));
                    assert!(error.to_string().ends_with("is beyond 64 bits"), "{error}");
                    tried.insert(field.clone());
                }
            }
        }
    }
    let fields: BTreeSet<String> = SUMS.iter().map(|field| (*field).to_owned()).collect();
    assert_eq!(tried, &fields | &BTreeSet::from(["cost".to_owned()]));
}

#[test]
fn the_total_cost_of_a_type_must_fit_in_64_bits() {
    let record =
        |name: &str, count: u64| json!({"type": "fn", "fn": name, "cost": {"Dr": 1, "Ir": count}});
    for (count, holds) in [(5, true), (6, false)] {
        let text = format!("{}\n{}", record("f", u64::MAX - 5), record("g", count));
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        let checked = profile.check_sums().map_err(|error| error.to_string());
        let expected = "the sum of Ir is beyond 64 bits".to_owned();
        assert_eq!(checked, if holds { Ok(()) } else { Err(expected) });
    }
}

#[test]
fn totals_of_runs_are_added_up_exactly() {
    let run = |total: u64| {
        json!({"type": "run", "stream": 1, "events": ["Ir"], "total": {"Ir": total}}).to_string()
    };
    let mut profile = Profile::default();
    let text = [run(u64::MAX - 5), run(5), run(1)].join("\n");
    let mut reader = Reader::new(text.as_bytes());
    for total in [u64::MAX - 5, u64::MAX] {
        profile.add(&reader.next_line().unwrap().unwrap()).unwrap();
        assert_eq!(profile.total(), [i128::from(total)]);
    }
    let error = profile
        .add(&reader.next_line().unwrap().unwrap())
        .unwrap_err();
    assert_eq!(error.to_string(), "3: the sum of Ir is beyond 64 bits");
}
