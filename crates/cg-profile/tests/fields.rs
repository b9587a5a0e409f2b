//! Law 3 of `FORMAT.md`, field by field: the value of each field after records and runs are added up.
//!
//! The tables here are written from `FORMAT.md`, not from the crate's own declarations. A field of `FORMAT.md` without an
//! entry fails the first test, so every new field needs a law.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;

use cg_profile::Profile;
use cg_stream::{Reader, Writer};
use serde_json::{Map, Value, json};

const FORMAT: &str = include_str!("../../cg-stream/FORMAT.md");

/// The law of a field in records with equal keys, which are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// A part of the key.
    Key,
    /// Counts by event, added up.
    Counts,
    /// Counts by event, added up. In a record without the field, its `cost` is used.
    CountsOrCost,
    Sum,
    Max,
    Min,
    /// True if it is true in one of the records.
    Any,
    /// Kept if all records have the same value.
    Agreed,
    /// Kept from one record, which does not depend on the order.
    One,
}

use Law::{Agreed, Any, Counts, CountsOrCost, Key, Max, Min, One, Sum};

/// The laws of fields: the record type, the field and its law. `*` is all types without their own entry.
const RECORD_FIELDS: [(&str, &str, Law); 47] = [
    ("*", "fn", Key),
    ("*", "file", Key),
    ("*", "obj", Key),
    ("*", "line", Key),
    ("*", "addr", Key),
    ("*", "site", Key),
    ("*", "callee", Key),
    ("*", "kind", Key),
    ("*", "what", Key),
    ("*", "snapshot", Key),
    ("*", "stack", Key),
    ("*", "part", Key),
    ("*", "thread", Key),
    ("error", "thread", One),
    ("*", "process", Key),
    ("*", "tid", Key),
    ("*", "cut", Key),
    ("*", "earlier_search", Key),
    ("call", "inlined", Key),
    ("line", "inlined", One),
    ("*", "ambiguous", Key),
    ("*", "labels", Key),
    ("stack", "time", Key),
    ("*", "cost", Counts),
    ("*", "incl", Counts),
    ("line", "incl", CountsOrCost),
    ("*", "calls", Sum),
    ("*", "indirect_bytes", Sum),
    ("*", "places", Sum),
    ("*", "lifetime", Sum),
    ("*", "max_bytes", Max),
    ("*", "max_blocks", Max),
    ("*", "cycle", Min),
    ("*", "peak", Any),
    ("*", "estimated", Any),
    ("*", "pid", Agreed),
    ("*", "code", Agreed),
    ("*", "code_ran", Agreed),
    ("*", "size", One),
    ("*", "address", One),
    ("*", "block", One),
    ("*", "thread_name", One),
    ("*", "notes", One),
    ("*", "suppression", One),
    ("*", "accesses", One),
    // Snapshots are not added up.
    ("snapshot", "time", One),
    ("snapshot", "detail", One),
];

/// The law of a field in several `run` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunLaw {
    /// Kept if all runs have the same value.
    Agreed,
    /// Texts by key. A key is kept if its text is the same in all runs.
    ByKey,
    /// The distinct entries of all runs.
    Union,
    /// Added up. A run without the field counts as 0.
    Sum,
    /// Added up if all runs have the field.
    SumOfAll,
    /// Counts by event, added up. Other tests cover these fields.
    Figures,
    /// A framing field, or a field of a diff.
    Framing,
}

/// Returns the fields of `run` records, each with its law and two values.
fn run_fields() -> Vec<(&'static str, RunLaw, Value, Value)> {
    use RunLaw::{Agreed, ByKey, Figures, Framing, Sum, SumOfAll, Union};
    let of_keys = |a: &str, b: &str| json!({"same": "1", "a": a, "b": b});
    let texts = |name, law| (name, law, json!("a"), json!("b"));
    let numbers = |name, law| (name, law, json!(3), json!(4));
    let flag = |name| (name, Agreed, json!(true), json!(false));
    let by_key = |name| (name, ByKey, of_keys("2", "3"), of_keys("2", "4"));
    let leaks = |bytes: u64| {
        let blocks = json!({"bytes": bytes, "blocks": 1});
        json!({"definite": blocks, "indirect": blocks, "possible": blocks, "reachable": blocks, "suppressed": blocks})
    };
    let heap = |bytes: u64| json!({"allocated_bytes": bytes, "allocs": 1, "frees": 1, "in_use_blocks": 0, "in_use_bytes": 0});
    let errors = |errors: u64| json!({"contexts": 1, "errors": errors, "suppressed": 0, "suppressed_contexts": 0});
    let signal = |name: &str| json!({"name": name, "signal": 11, "stack": [{"fn": "f"}]});
    let inlines = |count: u64| json!({"resolved": {"Ir": count}, "objects": [{"obj": "a", "debug": "object", "agrees": count, "named": 2 * count}]});
    vec![
        numbers("stream", Framing),
        texts("tool", Agreed),
        texts("creator", Agreed),
        texts("command", Agreed),
        numbers("pid", Agreed),
        ("source", Union, json!(["a", "both"]), json!(["both", "b"])),
        ("events", Framing, json!(["Ir"]), json!(["Dr"])),
        by_key("units"),
        ("total", Figures, json!({"Ir": 1}), json!({"Ir": 2})),
        by_key("desc"),
        numbers("duration", SumOfAll),
        ("sample_rate", Agreed, json!(996.5), json!(997)),
        by_key("labels"),
        (
            "mappings",
            Agreed,
            json!([{"obj": "/bin/a", "start": "0x400000", "end": "0x402000", "offset": "0x0", "build_id": "4f"}]),
            json!([{"start": "0x0", "end": "0x0", "offset": "0x0"}]),
        ),
        (
            "period",
            Agreed,
            json!({"event": "cpu", "unit": "nanoseconds", "value": 3}),
            json!({"event": "cpu", "unit": "nanoseconds", "value": 4}),
        ),
        (
            "sample_types",
            Agreed,
            json!([["cpu", "ns"]]),
            json!([["cpu", "nanoseconds"]]),
        ),
        numbers("start", Agreed),
        (
            "threads",
            Agreed,
            json!([{"thread": 1}]),
            json!([{"thread": 2}]),
        ),
        ("runs", Framing, json!(["a"]), json!(["b"])),
        (
            "partial",
            Union,
            json!([{"pid": 3, "parts": [[1, 2]]}]),
            json!([{"pid": 4, "parts": [[2, 2]], "last": 2}]),
        ),
        numbers("parts", Sum),
        texts("timerange", Agreed),
        texts("trigger", Agreed),
        numbers("part", Agreed),
        numbers("thread", Agreed),
        by_key("event_names"),
        by_key("derived"),
        ("summary", Figures, json!({"Ir": 1}), json!({"Ir": 2})),
        ("inlines", Figures, inlines(3), inlines(4)),
        flag("complete"),
        flag("quiet"),
        flag("only_preamble"),
        numbers("ppid", Agreed),
        ("options", Agreed, json!(["-q"]), json!(["-v"])),
        flag("forked"),
        flag("exec"),
        ("heap_summary", Agreed, heap(5), heap(6)),
        flag("all_heap_blocks_freed"),
        ("leak_summary", Agreed, leaks(5), leaks(6)),
        numbers("repeated_leaks", Agreed),
        ("error_summary", Agreed, errors(1), errors(2)),
        flag("unfinished"),
        numbers("unprinted_errors", Agreed),
        ("fatal_signal", Agreed, signal("SIGSEGV"), signal("SIGBUS")),
        flag("error_limit_reached"),
        flag("stopped_reporting"),
        (
            "used_suppressions",
            Agreed,
            json!([{"count": 1, "name": "a"}]),
            json!([{"count": 2, "name": "a"}]),
        ),
        texts("user_comment", Agreed),
        (
            "log_file_qualifiers",
            Agreed,
            json!([{"value": "1", "variable": "A"}]),
            json!([{"value": "2", "variable": "A"}]),
        ),
        texts("time_unit", Agreed),
        texts("mode", Agreed),
        texts("verb", Agreed),
        texts("mega_time_unit", Agreed),
        numbers("end_time", Agreed),
        numbers("gmax_time", Agreed),
        numbers("short_lived", Agreed),
        texts("byte_unit", Agreed),
        texts("bytes_unit", Agreed),
        texts("blocks_unit", Agreed),
        (
            "counted_share",
            Agreed,
            json!({"Ir": 50}),
            json!({"Ir": 60}),
        ),
        ("not_counted", Agreed, json!(["Ir"]), json!(["Dr"])),
        ("not_supported", Agreed, json!(["Ir"]), json!(["Dr"])),
        flag("attached"),
        ("leak_suppressions", Agreed, json!(["a"]), json!(["b"])),
    ]
}

/// Words of the document in backticks that are not fields: types and their values, events, and fields within fields. The
/// list of formats is not searched.
const OTHER_WORDS: &str = "
    after before inside side state offset allocated freed agrees debug debuglink last named objects resolved unresolved object
    missing elsewhere
    call end error event heap inline leak program_point run snapshot stack stream
    definite indirect possible reachable suppressed suppressed_contexts contexts errors root
    kernel jit waker inlined f
    gungraun asan hwasan lsan max_leaks msan tsan ubsan
    bytes count ns ms samples cpu heap_bytes rss_bytes
    allocations temporary peak_bytes leaked_bytes suppressed_bytes total_bytes total_blocks gmax_bytes gmax_blocks end_bytes
    end_blocks read_bytes write_bytes
    args name raw_lines slices node_modules vendor
    bench interval cmdline comment default_sample_type drop_frames keep_frames
    build_id known unit value nanoseconds comm thread_id
";

/// Returns the words in backticks between two headings of the document.
fn words_between(from: &str, to: &str) -> BTreeSet<String> {
    let begin = FORMAT.find(from).unwrap();
    let end = begin + FORMAT[begin..].find(to).unwrap();
    let text: String = FORMAT[begin..end].split("```").step_by(2).collect();
    let is_word = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let words = text.split('`').skip(1).step_by(2);
    words.filter(is_word).map(str::to_owned).collect()
}

/// Returns the examples of the document before `diff`, and records with fields that no example has.
fn examples() -> Vec<Value> {
    let end = FORMAT.find("## `diff`").unwrap();
    let mut records: Vec<Value> = FORMAT[..end]
        .lines()
        .filter(|line| line.starts_with("{\"type\":"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    records.extend([
        json!({"type": "fn", "fn": "f", "cost": {"Ir": 1}, "cycle": 1}),
        json!({"type": "heap", "snapshot": 1, "cost": {"bytes": 1}, "places": 2, "stack": []}),
        json!({"type": "stack", "estimated": true, "cost": {"Ir": 1}, "stack": []}),
    ]);
    records
}

fn law(kind: &str, field: &str) -> Option<Law> {
    let of = |wanted: &str| {
        let mut rows = RECORD_FIELDS.iter();
        rows.find(|(kind, name, _)| (*kind, *name) == (wanted, field))
    };
    of(kind).or_else(|| of("*")).map(|(_, _, law)| *law)
}

#[test]
fn every_field_of_the_document_has_a_law() {
    let mut known: BTreeSet<String> = OTHER_WORDS.split_whitespace().map(str::to_owned).collect();
    known.extend(RECORD_FIELDS.map(|(_, field, _)| field.to_owned()));
    known.extend(run_fields().into_iter().map(|(field, ..)| field.to_owned()));
    let words = words_between("## `run`", "## Formats");
    let without_law: Vec<&String> = words.difference(&known).collect();
    assert_eq!(
        without_law, [""; 0],
        "fields without a law, or words for OTHER_WORDS"
    );
    for record in examples() {
        let kind = record["type"].as_str().unwrap();
        for field in record.as_object().unwrap().keys() {
            let has_law = match kind {
                _ if field == "type" => true,
                "run" => run_fields().iter().any(|(name, ..)| name == field),
                "snapshot" | "end" => true,
                _ => law(kind, field).is_some(),
            };
            assert!(has_law, "{field} of {kind} has no law here");
        }
    }
}

/// Returns the sums of these records.
fn added_up(lines: &[&Value]) -> Vec<Value> {
    let text: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
    let text = text.join("\n");
    let mut reader = Reader::new(text.as_bytes());
    let mut profile = Profile::default();
    while let Some(line) = reader.next_line().unwrap() {
        profile.add(&line).unwrap();
    }
    let mut writer = Writer::new(Vec::new());
    let events: Vec<usize> = (0..profile.events().len()).collect();
    if let Some(run) = profile.run_record() {
        writer.run(&run).unwrap();
    }
    for of in profile.types() {
        let rows: Vec<usize> = (0..profile.table(of).len()).collect();
        profile.write_rows(of, &rows, &events, &mut writer).unwrap();
    }
    writer.flush().unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns pairs of values of a field that is not a key, each with the result of its law. `null` means no field.
fn merges(law: Law, example: &Value, cost: [&Value; 2]) -> Vec<[Value; 3]> {
    let null = Value::Null;
    let numbers = |sum: u64| {
        vec![
            [json!(3), json!(4), json!(sum)],
            [json!(3), null.clone(), json!(3)],
        ]
    };
    match law {
        Key => vec![],
        Counts => vec![[
            json!({"Ir": 3}),
            json!({"Ir": 4, "Dr": 1}),
            json!({"Ir": 7, "Dr": 1}),
        ]],
        CountsOrCost => {
            let of = |cost: &Value, more: u64| json!({"Ir": cost["Ir"].as_u64().unwrap() + more});
            vec![
                [json!({"Ir": 30}), json!({"Ir": 40}), json!({"Ir": 70})],
                [json!({"Ir": 30}), null.clone(), of(cost[1], 30)],
                [null.clone(), json!({"Ir": 30}), of(cost[0], 30)],
                [null.clone(), null.clone(), null],
            ]
        }
        Sum => numbers(7),
        Max => numbers(4),
        Min => numbers(3),
        Any => vec![[json!(true), json!(false), json!(true)]],
        Agreed => {
            let [a, b] = match example.is_string() {
                true => [json!("a"), json!("b")],
                false => [json!(3), json!(4)],
            };
            vec![
                [a.clone(), a.clone(), a.clone()],
                [a.clone(), b, null.clone()],
                [a, null.clone(), null],
            ]
        }
        One => vec![],
    }
}

#[test]
fn fields_of_records_that_are_one_are_added_up_by_their_laws() {
    let mut tried = BTreeSet::new();
    for (kind, field, _) in RECORD_FIELDS {
        let of_kind = |record: &Value| match kind {
            "*" => law(record["type"].as_str().unwrap(), field).is_some(),
            kind => record["type"] == kind,
        };
        for record in examples().into_iter().filter(of_kind) {
            let kind = record["type"].as_str().unwrap();
            if ["run", "end", "snapshot"].contains(&kind) {
                continue;
            }
            let law = law(kind, field).unwrap();
            if record.get(field).is_none() && law != CountsOrCost {
                continue;
            }
            let cost = &record["cost"];
            let example = record.get(field).unwrap_or(&Value::Null);
            for [a, b, both] in merges(law, example, [cost, cost]) {
                for (a, b) in [(&a, &b), (&b, &a)] {
                    let with = |value: &Value| {
                        let mut record = record.clone();
                        record.as_object_mut().unwrap().remove(field);
                        if !value.is_null() {
                            record[field] = value.clone();
                        }
                        record
                    };
                    let sum = added_up(&[&with(a), &with(b)]);
                    assert_eq!(sum.len(), 1, "{field}: {a} {b}");
                    let known = sum[0].get(field).cloned().unwrap_or_default();
                    let has_value = known != json!(0) && known != json!(false);
                    assert_eq!(
                        if has_value { known } else { Value::Null },
                        both,
                        "{field} of {kind}: {a} {b}"
                    );
                    tried.insert(field);
                }
            }
        }
    }
    for (_, field, law) in RECORD_FIELDS {
        assert!(
            matches!(law, Key | One) || tried.contains(field),
            "{field} is in no example"
        );
    }
}

#[test]
fn details_are_kept_from_one_record_in_any_order() {
    for record in examples() {
        let kind = record["type"].as_str().unwrap().to_owned();
        let details: Vec<String> = (record.as_object().unwrap().keys())
            .filter(|field| kind != "snapshot" && law(&kind, field) == Some(One))
            .cloned()
            .collect();
        if details.is_empty() {
            continue;
        }
        let bare = {
            let mut bare = record.clone();
            for field in &details {
                bare.as_object_mut().unwrap().remove(field);
            }
            bare
        };
        for order in [
            [&record, &bare, &bare],
            [&bare, &record, &bare],
            [&bare, &bare, &record],
        ] {
            let sum = added_up(&order);
            for field in &details {
                assert_eq!(sum[0][field], record[field], "{field} of {kind}");
            }
        }
    }
}

/// Returns the field in the sum of `run` records with these values. `null` means no field.
fn run_of(field: &str, values: &[&Value]) -> Value {
    let runs: Vec<Value> = (values.iter())
        .map(|value| {
            let mut run =
                json!({"type": "run", "stream": 1, "events": ["Ir"], "total": {"Ir": 10}});
            if !value.is_null() {
                run[field] = (*value).clone();
            }
            run
        })
        .collect();
    let sum = added_up(&runs.iter().collect::<Vec<_>>());
    sum[0].get(field).cloned().unwrap_or_default()
}

#[test]
fn facts_of_several_runs_are_added_up_by_their_laws() {
    let null = Value::Null;
    for (field, law, a, b) in run_fields() {
        let both = |a: &Value, b: &Value| run_of(field, &[a, b]);
        let (expected, with_none, with_itself) = match law {
            RunLaw::Framing | RunLaw::Figures => continue,
            RunLaw::Agreed => (null.clone(), null.clone(), a.clone()),
            RunLaw::ByKey => (json!({"same": "1", "a": "2"}), null.clone(), a.clone()),
            RunLaw::Union => (null.clone(), a.clone(), a.clone()),
            RunLaw::Sum => (json!(7), json!(3), json!(6)),
            RunLaw::SumOfAll => (json!(7), null.clone(), json!(6)),
        };
        assert_eq!(run_of(field, &[&a]), a, "{field} of one run");
        if law == RunLaw::Union {
            let [mut all, others] = [&a, &b].map(|entries| entries.as_array().unwrap().clone());
            let new = others.into_iter().filter(|entry| !all.contains(entry));
            all.extend(new.collect::<Vec<_>>());
            assert_eq!(both(&a, &b), json!(all), "{field}");
        } else {
            assert_eq!(both(&a, &b), expected, "{field}");
            assert_eq!(both(&b, &a), expected, "{field}");
        }
        assert_eq!(both(&a, &null), with_none, "{field} and nothing");
        assert_eq!(both(&null, &a), with_none, "nothing and {field}");
        assert_eq!(both(&a, &a), with_itself, "{field} twice");
    }
}

#[test]
fn facts_about_inlined_functions_are_added_up() {
    let facts = |objects: &[&Value], resolved: u64| json!({"resolved": {"Ir": resolved}, "objects": objects});
    let object = |obj: &str, debug: &str, agrees: u64, named: u64| json!({"obj": obj, "debug": debug, "agrees": agrees, "named": named});
    let elsewhere = object("b", "build-id", 2, 5);
    let missing = json!({"obj": "c", "unresolved": "missing", "agrees": 0, "named": 1});
    let (a, b) = (object("a", "object", 9, 10), object("b", "object", 8, 9));
    let first = facts(&[&a, &b], 100);
    let second = facts(&[&elsewhere, &missing], 20);
    // The result of an object can differ between the runs.
    let both = facts(&[&a, &b, &elsewhere, &missing], 120);
    assert_eq!(run_of("inlines", &[&first, &second]), both);
    assert_eq!(run_of("inlines", &[&first, &Value::Null]), first);
    let twice = facts(
        &[
            &object("a", "object", 18, 20),
            &object("b", "object", 16, 18),
        ],
        200,
    );
    assert_eq!(run_of("inlines", &[&first, &first]), twice);
}

/// Checks that no table has two entries for the same field.
#[test]
fn each_field_has_one_law() {
    let mut fields = Map::new();
    for (kind, field, law) in RECORD_FIELDS {
        let known = fields.insert(format!("{kind} {field}"), format!("{law:?}").into());
        assert_eq!(known, None, "{kind} {field}");
    }
    for (field, ..) in run_fields() {
        assert_eq!(
            fields.insert(format!("run {field}"), Value::Null),
            None,
            "{field}"
        );
    }
}
