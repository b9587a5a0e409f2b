use std::collections::BTreeMap;

use cg_reader::Options;
use parsed::Parsed;
use serde_json::Value;

fn node(id: u64, name: &str, line: i64, rest: &str) -> String {
    format!(
        r#"{{"id":{id},"callFrame":{{"functionName":"{name}","url":"file:///a.js","lineNumber":{line}}}{rest}}}"#
    )
}

fn read_trace(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

/// Returns the events of a trace: the names, a profile in two chunks from another thread, and other events.
fn trace_events() -> Vec<String> {
    let chunk = |nodes: &str, samples: &str, deltas: &str| {
        format!(
            r#"{{"pid":5,"tid":99,"ts":3,"ph":"P","cat":"c","name":"ProfileChunk","id":"0x1","args":{{"data":{{"cpuProfile":{{"nodes":[{nodes}],"samples":{samples}}},"timeDeltas":{deltas}}}}}}}"#
        )
    };
    vec![
        r#"{"pid":5,"tid":6,"ts":0,"ph":"M","name":"thread_name","args":{"name":"CrRendererMain"}}"#.to_owned(),
        r#"{"pid":5,"tid":6,"ts":0,"ph":"M","name":"process_name","args":{"name":"Renderer"}}"#.to_owned(),
        r#"{"pid":5,"tid":6,"ts":1,"ph":"X","dur":4,"name":"RunTask","args":{"data":[1,{"cpuProfile":2}]}}"#.to_owned(),
        r#"{"pid":5,"tid":6,"ts":2,"ph":"P","name":"Profile","id":"0x1","args":{"data":{"startTime":1}}}"#.to_owned(),
        chunk(
            &format!(
                "{},{}",
                r#"{"id":1,"callFrame":{"functionName":"(root)"}}"#,
                node(2, "main", 0, r#","parent":1"#)
            ),
            "[2,2]",
            "[4,5]",
        ),
        chunk(&node(3, "work", 4, r#","parent":2"#), "[3]", "[2]"),
        r#"{"pid":5,"tid":99,"ts":9,"ph":"P","cat":"c","name":"ProfileChunk","id":"0x1","args":{"data":{"endTime":20}}}"#.to_owned(),
    ]
}

#[test]
fn the_pieces_of_a_profile_in_a_trace_are_joined() {
    let events = trace_events().join(",\n");
    let expected = [
        r#""fn":"main","file":"file:///a.js","line":1,"thread":"CrRendererMain","tid":6,"process":"Renderer","pid":5,"cost":{"samples":2,"time":7000},"stack":[{"fn":"main","file":"file:///a.js","line":1}]}"#,
        r#""fn":"work","file":"file:///a.js","line":5,"thread":"CrRendererMain","tid":6,"process":"Renderer","pid":5,"cost":{"samples":1,"time":8000},"stack":[{"fn":"work","file":"file:///a.js","line":5},{"fn":"main","file":"file:///a.js","line":1}]}"#,
    ];
    for text in [
        format!("[{events}]"),
        // Chrome may be killed before it writes the bracket.
        format!("[{events}"),
        format!("[{events},\n"),
        format!(r#"{{"traceEvents":[{events}],"metadata":{{"source":"DevTools"}}}}"#),
        format!(r#"{{"metadata":{{}},"traceEvents":[{events}]}}"#),
    ] {
        let parsed = read_trace(&text);
        assert_eq!(parsed.records_of_type("stack"), expected, "{text}");
        assert!(parsed.is_whole() && !parsed.has_errors);
        assert_eq!(
            parsed.messages,
            ["in: left out: 1 event of the trace that is not a sample (slices: 1)"]
        );
    }
    // The beginning of a slice counts as a slice; the names of threads and processes do not count.
    let other = |phase: &str| format!(r#"{{"pid":5,"tid":6,"ts":9,"ph":"{phase}","name":"x"}}"#);
    let others = ["B", "E", "X", "i", "M"].map(other).join(",");
    assert_eq!(
        read_trace(&format!("[{others},{events}]")).messages,
        ["in: left out: 5 events of the trace that are not samples (slices: 3)"]
    );
}

#[test]
fn a_trace_truncated_inside_an_event_or_object_is_an_error() {
    let events = trace_events().join(",");
    for text in [
        format!("[{}", &events[..events.len() - 9]),
        format!(r#"{{"traceEvents":[{events}"#),
        format!(r#"{{"traceEvents":[{events}]"#),
    ] {
        let parsed = read_trace(&text);
        assert!(parsed.has_errors && !parsed.is_whole(), "{text}");
        assert!(
            parsed.messages.last().unwrap().contains("cut short"),
            "{:?}",
            parsed.messages
        );
        // The complete events are written.
        assert!(!parsed.records_of_type("stack").is_empty());
    }
}

#[test]
fn an_error_for_a_trace_without_profile_names_the_category_to_record() {
    let instant = r#"{"pid":5,"tid":6,"ts":9,"ph":"i","name":"x"}"#;
    let parsed = read_trace(&format!("[{},{instant}]", trace_events()[0]));
    assert!(parsed.messages[0].contains("disabled-by-default-v8.cpu_profiler"));
    assert!(parsed.messages[0].contains("found 1 other events"));
    assert!(parsed.has_errors && parsed.records.is_empty());
}

#[test]
fn samples_in_missing_nodes_are_kept_with_a_warning() {
    let mut events = trace_events();
    events[5] = events[5].replace("\"samples\":[3]", "\"samples\":[3,44]");
    let parsed = read_trace(&format!("[{}]", events.join(",")));
    assert!(parsed.records_of_type("run")[0].contains(r#""total":{"samples":4,"time":15000}"#));
    assert_eq!(
        parsed.messages[1..],
        ["in: 1 sample has no stack, because its node is missing from the trace"]
    );
}

#[test]
fn a_node_with_a_missing_caller_begins_a_stack() {
    let mut events = trace_events();
    events.remove(4);
    let parsed = read_trace(&format!("[{}]", events.join(",")));
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"work","file":"file:///a.js","line":5,"thread":"CrRendererMain","tid":6,"process":"Renderer","pid":5,"cost":{"samples":1,"time":17000},"stack":[{"fn":"work","file":"file:///a.js","line":5}]}"#
        ]
    );
    assert_eq!(
        parsed.messages[1..],
        ["in: 1 node begins a stack, because its caller is missing from the trace"]
    );
    assert!(parsed.is_whole() && !parsed.has_errors);
}

/// Returns events of one thread from texts: `B main 3`, `E 7`, `X f 3 4`. More JSON may follow in each text.
fn events(texts: &[&str]) -> String {
    let event = |text: &&str| {
        let mut words = text.splitn(5, ' ');
        let mut next = || words.next().unwrap_or_default();
        let phase = next();
        let mut name = next();
        let mut time = next();
        if phase == "E" && time.is_empty() {
            (name, time) = ("", name);
        }
        let dur = match phase {
            "X" => format!(",\"dur\":{}", next()),
            _ => String::new(),
        };
        let name = match name {
            "" => String::new(),
            name => format!(",\"name\":\"{}\"", name.replace('_', " ")),
        };
        let more = next();
        format!("{{\"pid\":1,\"tid\":2,\"ph\":\"{phase}\",\"ts\":{time}{dur}{name}{more}}}")
    };
    texts.iter().map(event).collect::<Vec<_>>().join(",")
}

/// Returns the stacks of slices: µs with ns as decimals, the number of slices, and the functions, innermost first.
fn shown(parsed: &Parsed) -> Vec<String> {
    let show = |record: &String| {
        let record: Value = serde_json::from_str(record).unwrap();
        let names = record["stack"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|frame| frame["fn"].as_str().unwrap()).collect();
        let cost = |event: &str| record["cost"][event].as_u64().unwrap_or(0);
        let (time, count) = (cost("time"), cost("slices"));
        let (micros, rest) = (time / 1000, time % 1000);
        let rest = if rest > 0 {
            format!(".{rest:03}")
        } else {
            String::new()
        };
        format!("{micros}{rest} {count} {}", names.join("<"))
    };
    let stacks = parsed
        .records
        .iter()
        .filter(|record| record.contains(r#""type":"stack""#));
    stacks.map(show).collect()
}

/// Each case is a claim about slices, with the events, the stacks and the messages.
#[test]
fn slices_nest_by_their_times() {
    const NONE: &[&str] = &[];
    const UNTIMED: &[&str] = &["in: 1 slice has no time of its own and is not counted"];
    const CUT: &str = "in: 1 slice overlaps another without nesting; it is cut, by 10 ns in total";
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
    );
    let cases: [Case; 17] = [
        (
            "self time is the duration without the slices inside",
            &["X main 0 10", "X f 2 3", "X g 3 1", "X f 6 2"],
            &["5 1 main", "4 2 f<main", "1 1 g<f<main"],
            NONE,
        ),
        (
            "the order in the file does not matter",
            &["X g 3 1", "X f 6 2", "X main 0 10", "X f 2 3"],
            &["5 1 main", "4 2 f<main", "1 1 g<f<main"],
            NONE,
        ),
        (
            "the longer one of slices that begin together is the outer one",
            &["X f 0 4", "X main 0 10"],
            &["6 1 main", "4 1 f<main"],
            NONE,
        ),
        (
            "the first one of equal slices is the outer one",
            &["X main 0 4", "X f 0 4"],
            &["4 1 f<main"],
            UNTIMED,
        ),
        (
            "an end without a name ends the last open slice",
            &["B main 0", "B f 2", "E 5", "E 10"],
            &["7 1 main", "3 1 f<main"],
            NONE,
        ),
        (
            "beginnings and ends may be in any order",
            &["E f 5", "E 10", "B f 2", "B main 0"],
            &["7 1 main", "3 1 f<main"],
            NONE,
        ),
        (
            "a slice that begins when another ends is not inside it, in any order",
            &["E 10", "B g 5", "B f 2", "E 5", "B main 0", "E 7"],
            &["5 1 main", "3 1 f<main", "2 1 g<main"],
            NONE,
        ),
        (
            "a slice without length ends after its beginning and is inside a slice that begins there",
            &["B main 0", "B f 5", "E 5", "B g 5", "E 7", "E 10"],
            &["8 1 main", "2 1 g<main"],
            UNTIMED,
        ),
        (
            "a slice without length is read even if its end comes first",
            &["B main 0", "E f 5", "B f 5", "E main 10"],
            &["10 1 main"],
            UNTIMED,
        ),
        (
            "ends at one time find the slices of their names",
            &["B main 0", "B f 2", "E main 10", "E f 10"],
            &["8 1 f<main", "2 1 main"],
            NONE,
        ),
        (
            "slices that begin at one time nest by their ends",
            &["B f 0", "B main 0", "E f 4", "E main 10"],
            &["6 1 main", "4 1 f<main"],
            NONE,
        ),
        (
            "a slice without an end lasts to the end of the trace",
            &["B main 0", "B f 2", "X g 4 6"],
            &["6 1 g<f<main", "2 1 f<main", "2 1 main"],
            &[
                "in: 2 slices have no end; they last to the end of the trace or of the slice around them",
            ],
        ),
        (
            "a slice without an end lasts to the end of the slice around it",
            &["B main 0", "B f 2", "E main 10", "X g 40 60"],
            &["60 1 g", "8 1 f<main", "2 1 main"],
            &["in: 1 slice has no end; it lasts to the end of the trace or of the slice around it"],
        ),
        (
            "ends without beginnings are counted",
            &["E 1", "B main 2", "E f 3", "E main 4"],
            &["2 1 main"],
            &["in: 2 ends of slices have no beginning and are omitted"],
        ),
        (
            "a slice that ends a little after the slice around it is cut at that end",
            &["X main 0 10", "X f 5 5.01", "X g 12 1"],
            &["5 1 f<main", "5 1 main", "1 1 g"],
            &[CUT],
        ),
        (
            "a slice that begins a little before another ends is not inside it",
            &["X main 0 20", "X f 2 3.01", "X g 5 7"],
            &["10 1 main", "7 1 g<main", "3 1 f<main"],
            &[CUT],
        ),
        (
            "clang's sums of slices are not slices",
            &[
                "X Frontend 0 10",
                "X Total_f 0 9",
                r#"X Total_f 0 9 ,"args":{"count":3,"avg ms":3}"#,
            ],
            &["9 1 Total f<Frontend", "1 1 Frontend"],
            &["in: 1 event \"Total …\" is omitted, because it is the sum of other slices"],
        ),
    ];
    for (claim, texts, stacks, messages) in cases {
        let parsed = read_trace(&format!("[{}]", events(texts)));
        assert_eq!(shown(&parsed), stacks, "{claim}");
        assert_eq!(parsed.messages, messages, "{claim}");
        assert!(parsed.is_whole() && !parsed.has_errors, "{claim}");
    }
}

#[test]
fn recordings_of_hermes_have_the_stacks_of_their_frames() {
    let recordings: [&[u8]; 3] = [
        include_bytes!("../../../../tests/data/chrome-trace/hermes-0.12-fib.json"),
        include_bytes!("../../../../tests/data/chrome-trace/hermes-0.12-text.json"),
        include_bytes!("../../../../tests/data/chrome-trace/hermes-0.12-bytecode.json"),
    ];
    for bytes in recordings {
        let json: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        let mut expected: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for sample in json["samples"].as_array().unwrap() {
            let (mut stack, mut frame) = (Vec::new(), sample["sf"].clone());
            while let Some(id) = frame.as_u64() {
                let known = &json["stackFrames"][id.to_string()];
                let name = known["name"].as_str().unwrap();
                // `FUNCTION(FILE:LINE:COLUMN)`, and the line once more.
                stack.push(match known["line"].as_str() {
                    None => name.to_owned(),
                    Some(line) => {
                        let (function, place) = name.rsplit_once('(').unwrap();
                        let file = place.split(':').next().unwrap();
                        let function = if function.is_empty() {
                            "(anonymous)"
                        } else {
                            function
                        };
                        format!("{function} {file}:{line}")
                    }
                });
                frame = known["parent"].clone();
            }
            *expected.entry(stack).or_default() += 1;
        }
        let parsed = read_trace(std::str::from_utf8(bytes).unwrap());
        let mut found: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for record in parsed
            .records
            .iter()
            .filter(|record| record.contains(r#""type":"stack""#))
        {
            let record: serde_json::Value = serde_json::from_str(record).unwrap();
            let frames = record["stack"].as_array().unwrap().iter();
            let stack = frames.map(|frame| {
                let function = frame["fn"].as_str().unwrap();
                match (frame["file"].as_str(), frame["line"].as_u64()) {
                    (Some(file), Some(line)) => format!("{function} {file}:{line}"),
                    _ => function.to_owned(),
                }
            });
            *found.entry(stack.collect()).or_default() +=
                record["cost"]["samples"].as_u64().unwrap();
        }
        assert_eq!(found, expected);
        assert!(
            parsed.messages.is_empty() && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
    }
}

#[test]
fn samples_with_frames_take_precedence_over_slices() {
    // As Hermes writes them.
    let text = r#"{"traceEvents":[
        {"name":"thread_name","ph":"M","pid":5,"tid":"71","ts":"10","args":{"name":"js"}},
        {"name":"mark","ph":"X","dur":0,"pid":5,"tid":"71","ts":"10","args":{}}],
        "samples":[
        {"cpu":"-1","name":"","ts":"20","pid":5,"tid":"71","weight":"1","sf":2},
        {"cpu":"-1","name":"","ts":"30","pid":5,"tid":"72","weight":"1","sf":1},
        {"cpu":"-1","name":"","ts":"40","pid":5,"tid":"71","weight":"2","sf":2},
        {"cpu":"-1","name":"","ts":"50","pid":5,"tid":"71","weight":"1","sf":9}],
        "stackFrames":{"1":{"name":"[root]","category":"root"},
        "2":{"name":"draw(http://host:8081/a.bundle:12:7)","category":"JavaScript","parent":1}}}"#;
    let parsed = read_trace(text);
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"draw","file":"http://host:8081/a.bundle","line":12,"thread":"js","tid":71,"pid":5,"cost":{"samples":3},"stack":[{"fn":"draw","file":"http://host:8081/a.bundle","line":12},{"fn":"[root]"}]}"#,
            r#""thread":"js","tid":71,"pid":5,"cost":{"samples":1},"stack":[]}"#,
            r#""fn":"[root]","thread":"72","tid":72,"pid":5,"cost":{"samples":1},"stack":[{"fn":"[root]"}]}"#,
        ]
    );
    assert_eq!(
        parsed.messages,
        ["in: 1 sample has no stack, because its frame is missing from the trace"]
    );
    let circle = text.replace(r#""category":"root""#, r#""category":"root","parent":2"#);
    assert!(
        read_trace(&circle)
            .messages
            .last()
            .unwrap()
            .contains("does not call itself")
    );
}

#[test]
fn the_length_of_a_profile_comes_from_one_clock() {
    // rspack writes 0 as the beginning, and V8's own beginning and end in the chunk.
    let chunk = format!(
        r#"{{"pid":5,"tid":6,"ts":3,"ph":"P","name":"ProfileChunk","id":1,"args":{{"data":{{"cpuProfile":{{"nodes":[{}],"samples":[2,2],"startTime":470029996751,"endTime":470029996771}},"timeDeltas":[4,5]}}}}}}"#,
        r#"{"id":2,"callFrame":{"functionName":"f"}}"#
    );
    let text = format!(
        r#"[{{"pid":5,"tid":6,"ts":2,"ph":"P","name":"Profile","id":1,"args":{{"data":{{"startTime":0}}}}}},{chunk}]"#
    );
    let parsed = read_trace(&text);
    let record = parsed.records_of_type("stack")[0];
    assert!(
        record.contains(r#""cost":{"samples":2,"time":16000}"#),
        "{record}"
    );
}
