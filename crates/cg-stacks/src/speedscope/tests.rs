use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};

fn file(profiles: &str) -> String {
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"py-spy@0.4","name":"run","shared":{{"frames":[{{"name":"main","file":"m.py","line":3}},{{"name":"a"}},{{"name":"b","line":null}}]}},"profiles":[{profiles}]}}"#
    )
}

fn read(profiles: &str) -> Parsed {
    parsed::read(super::parse, file(profiles).as_bytes(), &Options::default())
}

#[test]
fn weights_are_costs_of_whole_stacks() {
    let parsed = read(
        r#"{"type":"sampled","name":"Ir","unit":"none","startValue":0,"endValue":6,"samples":[[0,1],[0,1,1,2],[],[0,1]],"weights":[5,3,-4,2]}"#,
    );
    assert_eq!(
        parsed.records_of_type("run"),
        [r#""stream":1,"tool":"speedscope","creator":"py-spy@0.4","source":["in"],"events":["samples"],"total":{"samples":6},"labels":{"name":"run"}"#.to_owned() + "}"]
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"a","cost":{"samples":7},"stack":[{"fn":"a"},{"fn":"main","file":"m.py","line":3}]}"#,
            r#""fn":"b","cost":{"samples":3},"stack":[{"fn":"b"},{"fn":"a"},{"fn":"a"},{"fn":"main","file":"m.py","line":3}]}"#,
            r#""cost":{"samples":-4},"stack":[]}"#,
        ]
    );
    assert!(parsed.is_whole() && parsed.messages.is_empty());
}

#[test]
fn times_are_nanoseconds_and_keep_their_sum() {
    let parsed = read(
        r#"{"type":"sampled","name":"t","unit":"milliseconds","samples":[[0],[1],[0]],"weights":[0.0000004,0.0000004,1.5]}"#,
    );
    let run = parsed.records_of_type("run")[0];
    assert!(
        run.contains(r#""total":{"time":1500001,"samples":3}"#),
        "{run}"
    );
    assert!(run.contains(r#""units":{"time":"ns"}"#), "{run}");
    assert!(parsed.messages.is_empty());
}

#[test]
fn fractions_of_other_units_are_kept() {
    let parsed = read(r#"{"type":"sampled","unit":"none","samples":[[0],[1]],"weights":[0.25,3]}"#);
    let run = parsed.records_of_type("run")[0];
    assert!(run.contains(r#""total":{"samples":325}"#), "{run}");
    assert!(
        run.contains(r#""units":{"samples":"0.01 samples"}"#),
        "{run}"
    );
}

#[test]
fn the_time_between_events_is_charged_to_the_open_frames() {
    let parsed = read(
        r#"{"type":"evented","name":"t1","unit":"microseconds","startValue":0,"endValue":14,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"O","frame":2,"at":4.5},{"type":"C","frame":2,"at":9},{"type":"C","frame":1,"at":10},{"type":"C","frame":0,"at":14},{"type":"O","frame":0,"at":20},{"type":"C","frame":0,"at":21}]}"#,
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"main","file":"m.py","line":3,"cost":{"time":6000},"stack":[{"fn":"main","file":"m.py","line":3}]}"#,
            r#""fn":"a","cost":{"time":4500},"stack":[{"fn":"a"},{"fn":"main","file":"m.py","line":3}]}"#,
            r#""fn":"b","cost":{"time":4500},"stack":[{"fn":"b"},{"fn":"a"},{"fn":"main","file":"m.py","line":3}]}"#,
        ]
    );
}

#[test]
fn profiles_with_one_unit_are_threads_and_other_units_are_sections() {
    let parsed = read(
        r#"{"type":"sampled","name":"one","unit":"seconds","samples":[[0]],"weights":[1]},{"type":"sampled","name":"heap","unit":"bytes","samples":[[0]],"weights":[7]},{"type":"sampled","name":"two","unit":"seconds","samples":[[0]],"weights":[2]}"#,
    );
    let totals: Vec<bool> = [
        r#""total":{"time":3000000000,"samples":2}"#,
        r#""total":{"bytes":7}"#,
    ]
    .iter()
    .zip(parsed.records_of_type("run"))
    .map(|(total, run)| run.contains(total))
    .collect();
    assert_eq!(totals, [true, true]);
    let threads: Vec<bool> = ["two", "one", "heap"]
        .iter()
        .zip(parsed.records_of_type("stack"))
        .map(|(thread, stack)| stack.contains(&format!(r#""thread":"{thread}""#)))
        .collect();
    assert_eq!(threads, [true, true, true]);
    assert_eq!(parsed.records_of_type("end").len(), 2);
}

#[test]
fn an_inconsistent_profile_is_an_error() {
    for (profile, message) in [
        (
            r#"{"type":"sampled","unit":"none","samples":[[0],[3]],"weights":[1,1]}"#,
            "in: profile 0: expected one of 3 frames, found another",
        ),
        (
            r#"{"type":"sampled","unit":"none","samples":[[0],[1]],"weights":[1]}"#,
            "in: profile 0: expected as many weights as samples, found fewer",
        ),
        (
            r#"{"type":"sampled","unit":"none","samples":[[0]],"weights":[1,1]}"#,
            "in: profile 0: expected as many weights as samples, found more",
        ),
        (
            r#"{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":0},{"type":"C","frame":1,"at":1}]}"#,
            "in: profile 0: event 1: expected frame 0 to be closed, found frame 1",
        ),
        (
            r#"{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":5},{"type":"C","frame":0,"at":1}]}"#,
            "in: profile 0: event 1: expected a time at or after the previous one, found 1",
        ),
        (
            r#"{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":5}]}"#,
            "in: profile 0: expected all frames to be closed, found 1 open frames",
        ),
        (
            r#"{"type":"sampled","unit":"parsecs","samples":[],"weights":[]}"#,
            "in: expected a unit (none, bytes, nanoseconds, microseconds, milliseconds, seconds), found \"parsecs\"",
        ),
    ] {
        let parsed = read(profile);
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.has_errors && !parsed.is_whole());
    }
}

#[test]
fn every_truncated_file_is_an_error() {
    let text = file(r#"{"type":"sampled","unit":"none","samples":[[0],[1]],"weights":[1,2]}"#);
    let options = Options::default();
    check_all_prefixes(super::parse, text.as_bytes(), &options);
    for length in 1..text.len() {
        assert!(
            parsed::read(super::parse, &text.as_bytes()[..length], &options).has_errors,
            "{length}"
        );
    }
}
