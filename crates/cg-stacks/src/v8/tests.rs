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
    r#""fn":"(anonymous)","file":"file:///a.js","line":10,"cost":{"samples":3,"time":41000},"stack":[{"fn":"(anonymous)","file":"file:///a.js","line":10},{"fn":"main","file":"file:///a.js","line":1}]}"#,
    r#""fn":"main","file":"file:///a.js","line":1,"cost":{"samples":1,"time":5000},"stack":[{"fn":"main","file":"file:///a.js","line":1}]}"#,
];

#[test]
fn hits_are_samples_and_time_lasts_from_one_sample_to_the_next() {
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
            parsed.records_of_type("run"),
            [
                r#""stream":1,"tool":"cpuprofile","source":["in"],"events":["samples","time"],"total":{"samples":4,"time":46000},"duration":50000,"units":{"time":"ns"}}"#
            ]
        );
        assert_eq!(parsed.records_of_type("stack"), STACKS);
        assert_eq!(
            parsed.messages,
            [
                "in: 1 sample is earlier than the sample before it; it counts as taken at the same time"
            ]
        );
        assert!(parsed.is_whole());
    }
}

#[test]
fn an_end_is_ignored_if_the_beginning_is_of_another_clock() {
    for (start, end, duration, last) in [
        (0u64, 4_461_117_721u64, None, 0u64),
        (4_461_117_671, 4_461_117_721, Some(50_000), 41_000),
        // A clock that starts with the profile. The program idles at the end.
        (0, 50, Some(50_000), 41_000),
        (0, 800_000, Some(800_000_000), 799_991_000),
        (
            7,
            4_461_117_721,
            Some(4_461_117_714_000u64),
            4_461_117_705_000,
        ),
    ] {
        let parsed = read(&format!(
            r#"{{"nodes":[{ROOT},{},{}],"startTime":{start},"endTime":{end},"samples":[2,3],"timeDeltas":[4,5]}}"#,
            node(2, "main", 0, r#","hitCount":1,"children":[3]"#),
            node(3, "leaf", 9, r#","hitCount":1"#),
        ));
        let run = &parsed.records_of_type("run")[0];
        let expected = duration.map(|duration| format!(r#""duration":{duration},"#));
        match &expected {
            Some(expected) => assert!(run.contains(expected), "{run}"),
            None => assert!(!run.contains("duration"), "{run}"),
        }
        let total = format!(r#""total":{{"samples":2,"time":{}}}"#, last + 5000);
        assert!(run.contains(&total), "{start} to {end}: {run}");
    }
}

#[test]
fn older_profiles_with_trees_are_read() {
    let parsed = read(
        r#"{"head":{"functionName":"(root)","url":"","lineNumber":0,"hitCount":0,"id":1,"children":[{"functionName":"main","url":"file:///a.js","lineNumber":1,"hitCount":1,"id":2,"children":[{"functionName":"","url":"file:///a.js","lineNumber":10,"hitCount":3,"id":3,"children":[]}]}]},"startTime":0.0001,"endTime":0.00015,"samples":[2,3,3,3],"timestamps":[104,109,109,111]}"#,
    );
    assert_eq!(parsed.records_of_type("stack"), STACKS);
    assert!(parsed.records_of_type("run")[0].contains(r#""duration":50000"#));
    assert!(parsed.messages.is_empty());
}

#[test]
fn older_times_may_have_one_more_entry_and_another_clock() {
    let tree = r#"{"head":{"functionName":"(root)","url":"","lineNumber":0,"hitCount":0,"id":1,"children":[{"functionName":"f","url":"","lineNumber":1,"hitCount":2,"id":2,"children":[{"functionName":"g","url":"","lineNumber":1,"hitCount":1,"id":3,"children":[]}]}]},"startTime":7,"endTime":7.5,"samples":[2,3,2],"timestamps":"#;
    for (stamps, f, g) in [
        // From each time to the next.
        ("[9000100,9000104,9000109,9000111]", 6000, 5000),
        // The end of the profile is unknown.
        ("[9000104,9000109,9000111]", 5000, 2000),
        ("[7000104,7000109,7000111]", 499_894_000, 2000),
    ] {
        let parsed = read(&format!("{tree}{stamps}}}"));
        assert_eq!(
            parsed.records_of_type("stack"),
            [
                format!(
                    r#""fn":"f","line":1,"cost":{{"samples":2,"time":{f}}},"stack":[{{"fn":"f","line":1}}]}}"#
                ),
                format!(
                    r#""fn":"g","line":1,"cost":{{"samples":1,"time":{g}}},"stack":[{{"fn":"g","line":1}},{{"fn":"f","line":1}}]}}"#
                ),
            ]
        );
        assert!(parsed.messages.is_empty() && parsed.is_whole());
    }
}

#[test]
fn heaps_with_very_deep_trees_are_read() {
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
        parsed.records_of_type("run"),
        [
            r#""stream":1,"tool":"heapprofile","source":["in"],"events":["bytes"],"total":{"bytes":2},"units":{"bytes":"bytes"}}"#
        ]
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"f","cost":{"bytes":1},"stack":[{"fn":"f"}]}"#,
            r#""fn":"f","cost":{"bytes":1},"stack":[{"fn":"f"},{"fn":"f"}]}"#,
        ]
    );
}

#[test]
fn inconsistent_nodes_are_errors() {
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
        assert!(parsed.has_errors && !parsed.is_whole());
    }
}

#[test]
fn every_truncated_profile_is_an_error() {
    let flat = format!(
        r#"{{"nodes":[{ROOT},{}],"samples":[2],"timeDeltas":[4]}}"#,
        node(2, "main", 0, r#","hitCount":1"#)
    );
    let tree = r#"{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0,"id":1,"children":[{"callFrame":{"functionName":"f"},"selfSize":9,"id":2,"children":[]}]}}"#;
    let options = Options::default();
    for text in [flat.as_str(), tree] {
        assert!(!parsed::read(super::parse, text.as_bytes(), &options).has_errors);
        check_all_prefixes(super::parse, text.as_bytes(), &options);
        for length in 1..text.len() {
            assert!(
                parsed::read(super::parse, &text.as_bytes()[..length], &options).has_errors,
                "{length}"
            );
        }
    }
}
