use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};

fn read(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

fn node(id: u64, name: &str, line: i64, rest: &str) -> String {
    format!(
        r#"{{"id":{id},"callFrame":{{"functionName":"{name}","scriptId":"7","url":"file:///a.js","lineNumber":{line},"columnNumber":3}}{rest}}}"#
    )
}

const ROOT: &str = r#"{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"hitCount":0,"children":[2]}"#;

const STACKS: [&str; 2] = [
    r#""fn":"(anonymous)","file":"file:///a.js","line":10,"cost":{"samples":3,"time":7000},"stack":[{"fn":"(anonymous)","file":"file:///a.js","line":10},{"fn":"main","file":"file:///a.js","line":1}]}"#,
    r#""fn":"main","file":"file:///a.js","line":1,"cost":{"samples":1,"time":4000},"stack":[{"fn":"main","file":"file:///a.js","line":1}]}"#,
];

#[test]
fn hits_are_samples_and_deltas_are_the_time_that_ended_with_one() {
    let children = format!(
        r#"{{"nodes":[{ROOT},{},{}],"startTime":100,"endTime":150,"samples":[2,3,3,3],"timeDeltas":[4,5,-3,2]}}"#,
        node(2, "main", 0, r#","hitCount":1,"children":[3]"#),
        node(
            3,
            "",
            9,
            r#","hitCount":3,"positionTicks":[{"line":10,"ticks":3}]"#
        ),
    );
    let parents = format!(
        r#"{{"startTime":100,"samples":[2,3,3,3],"timeDeltas":[4,5,-3,2],"endTime":150,"nodes":[{},{},{}]}}"#,
        node(3, "", 9, r#","parent":2"#),
        node(2, "main", 0, r#","parent":1"#),
        r#"{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1}}"#,
    );
    for text in [children, parents] {
        let parsed = read(&text);
        assert_eq!(
            parsed.of("run"),
            [
                r#""stream":1,"tool":"cpuprofile","source":["in"],"events":["samples","time"],"total":{"samples":4,"time":11000},"duration":50000,"units":{"time":"ns"}}"#
            ]
        );
        assert_eq!(parsed.of("stack"), STACKS);
        assert_eq!(
            parsed.messages,
            ["in: 1 times between samples are below 0; they count as 0"]
        );
        assert!(parsed.is_whole());
    }
}

#[test]
fn trees_of_old_are_read_too() {
    let parsed = read(
        r#"{"head":{"functionName":"(root)","url":"","lineNumber":0,"hitCount":0,"id":1,"children":[{"functionName":"main","url":"file:///a.js","lineNumber":1,"hitCount":1,"id":2,"children":[{"functionName":"","url":"file:///a.js","lineNumber":10,"hitCount":3,"id":3,"children":[]}]}]},"startTime":0.0001,"endTime":0.00015,"samples":[2,3,3,3],"timestamps":[104,109,109,111]}"#,
    );
    assert_eq!(parsed.of("stack"), STACKS);
    assert!(parsed.of("run")[0].contains(r#""duration":50000"#));
    assert!(parsed.messages.is_empty());
}

#[test]
fn heaps_are_bytes_however_deep_their_tree_is() {
    let depth = 100_000;
    let open = r#"{"callFrame":{"functionName":"f","url":"","lineNumber":-1},"selfSize":1,"id":1,"children":["#;
    let text = format!(
        r#"{{"head":{}{},"samples":[{{"size":1,"nodeId":1,"ordinal":1}}]}}"#,
        open.repeat(depth),
        "]}".repeat(depth)
    );
    let options = Options::default();
    let document = super::V8Document::read(text.as_bytes()).unwrap();
    assert_eq!(document.nodes.len(), depth);
    let shallow =
        text.replacen(&open.repeat(depth - 2), "", 1)
            .replacen(&"]}".repeat(depth - 2), "", 1);
    let parsed = parsed::read(super::parse, shallow.as_bytes(), &options);
    assert_eq!(
        parsed.of("run"),
        [
            r#""stream":1,"tool":"heapprofile","source":["in"],"events":["bytes"],"total":{"bytes":2},"units":{"bytes":"bytes"}}"#
        ]
    );
    assert_eq!(
        parsed.of("stack"),
        [
            r#""fn":"f","cost":{"bytes":1},"stack":[{"fn":"f"}]}"#,
            r#""fn":"f","cost":{"bytes":1},"stack":[{"fn":"f"},{"fn":"f"}]}"#,
        ]
    );
}

#[test]
fn nodes_that_do_not_fit_together_are_errors() {
    for (nodes, samples, message) in [
        (
            node(2, "a", 0, r#","children":[2]"#),
            "[2]",
            "in: stack 0 is called from itself",
        ),
        (
            node(2, "a", 0, r#","children":[9]"#),
            "[2]",
            "in: expected the id of a node, found 9",
        ),
        (
            node(2, "a", 0, ""),
            "[7]",
            "in: expected the id of a node, found 7",
        ),
        (
            node(2, "a", 0, ""),
            "[2,2]",
            "in: expected as many times as samples, found fewer",
        ),
        (
            node(2, "a", 0, ""),
            "[]",
            "in: expected as many times as samples, found more",
        ),
    ] {
        let text = format!(r#"{{"nodes":[{nodes}],"samples":{samples},"timeDeltas":[1]}}"#);
        let parsed = read(&text);
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.trouble && !parsed.is_whole());
    }
}

#[test]
fn no_prefix_is_taken_for_a_whole_profile() {
    let flat = format!(
        r#"{{"nodes":[{ROOT},{}],"samples":[2],"timeDeltas":[4]}}"#,
        node(2, "main", 0, r#","hitCount":1"#)
    );
    let tree = r#"{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0,"id":1,"children":[{"callFrame":{"functionName":"f"},"selfSize":9,"id":2,"children":[]}]}}"#;
    let options = Options::default();
    for text in [flat.as_str(), tree] {
        assert!(!parsed::read(super::parse, text.as_bytes(), &options).trouble);
        check_all_prefixes(super::parse, text.as_bytes(), &options);
        for length in 1..text.len() {
            assert!(
                parsed::read(super::parse, &text.as_bytes()[..length], &options).trouble,
                "{length}"
            );
        }
    }
}

fn read_trace(text: &str) -> Parsed {
    parsed::read(super::parse_trace, text.as_bytes(), &Options::default())
}

/// The events of a trace: the names, a profile in two chunks of another thread, and what is no profile.
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
    ]
}

#[test]
fn profiles_in_traces_are_put_together() {
    let events = trace_events().join(",\n");
    let expected = [
        r#""fn":"main","file":"file:///a.js","line":1,"thread":"CrRendererMain","process":"Renderer","pid":5,"cost":{"samples":2,"time":9000},"stack":[{"fn":"main","file":"file:///a.js","line":1}]}"#,
        r#""fn":"work","file":"file:///a.js","line":5,"thread":"CrRendererMain","process":"Renderer","pid":5,"cost":{"samples":1,"time":2000},"stack":[{"fn":"work","file":"file:///a.js","line":5},{"fn":"main","file":"file:///a.js","line":1}]}"#,
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
        assert_eq!(parsed.of("stack"), expected, "{text}");
        assert!(parsed.is_whole() && !parsed.trouble);
        assert_eq!(
            parsed.messages,
            ["in: 1 events of the trace are no samples and are left out, 1 of them slices"]
        );
    }
    // Of other events the begin of a slice is one, and what is said of threads and processes is none.
    let other = |phase: &str| format!(r#"{{"pid":5,"tid":6,"ts":9,"ph":"{phase}","name":"x"}}"#);
    let others = ["B", "E", "X", "i", "M"].map(other).join(",");
    assert_eq!(
        read_trace(&format!("[{others},{events}]")).messages,
        ["in: 5 events of the trace are no samples and are left out, 3 of them slices"]
    );
}

#[test]
fn traces_that_are_cut_inside_an_event_or_an_object_say_so() {
    let events = trace_events().join(",");
    for text in [
        format!("[{}", &events[..events.len() - 9]),
        format!(r#"{{"traceEvents":[{events}"#),
        format!(r#"{{"traceEvents":[{events}]"#),
    ] {
        let parsed = read_trace(&text);
        assert!(parsed.trouble && !parsed.is_whole(), "{text}");
        assert!(
            parsed.messages.last().unwrap().contains("cut short"),
            "{:?}",
            parsed.messages
        );
        // What could be read is written.
        assert!(!parsed.of("stack").is_empty());
    }
}

#[test]
fn a_trace_without_a_profile_says_what_to_record() {
    let parsed = read_trace(&format!("[{}]", trace_events()[2]));
    assert!(parsed.messages[1].contains("disabled-by-default-v8.cpu_profiler"));
    assert!(parsed.messages[0].contains("1 of them slices"));
    assert!(parsed.trouble && parsed.records.is_empty());
}

#[test]
fn samples_of_nodes_that_a_trace_has_lost_are_kept_and_counted() {
    let mut events = trace_events();
    events[5] = events[5].replace("\"samples\":[3]", "\"samples\":[3,44]");
    let parsed = read_trace(&format!("[{}]", events.join(",")));
    assert!(parsed.of("run")[0].contains(r#""total":{"samples":4,"time":11000}"#));
    assert_eq!(
        parsed.messages[1..],
        ["in: 1 samples were taken in nodes that the trace has not; they have no stack"]
    );
}

#[test]
fn nodes_whose_callers_a_trace_has_lost_begin_a_stack() {
    let mut events = trace_events();
    events.remove(4);
    let parsed = read_trace(&format!("[{}]", events.join(",")));
    assert_eq!(
        parsed.of("stack"),
        [
            r#""fn":"work","file":"file:///a.js","line":5,"thread":"CrRendererMain","process":"Renderer","pid":5,"cost":{"samples":1,"time":2000},"stack":[{"fn":"work","file":"file:///a.js","line":5}]}"#
        ]
    );
    assert_eq!(
        parsed.messages[1..],
        ["in: 1 nodes are called from others that the trace has not; their stacks begin with them"]
    );
    assert!(parsed.is_whole() && !parsed.trouble);
}
