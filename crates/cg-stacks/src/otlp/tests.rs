use cg_reader::{Head, Options};
use parsed::{Parsed, check_all_prefixes, shown_stacks};

use crate::wire::testing::{Message, message};

const RELEASES: [&[u8]; 3] = [
    include_bytes!("../../../../tests/data/otlp/1.7.pb"),
    include_bytes!("../../../../tests/data/otlp/1.9.pb"),
    include_bytes!("../../../../tests/data/otlp/1.10.pb"),
];

fn parse(bytes: &[u8]) -> Parsed {
    parsed::read(super::parse, bytes, &Options::default())
}

#[test]
fn the_same_profile_from_every_release_gives_the_same_records() {
    for bytes in RELEASES {
        let parsed = parse(bytes);
        assert_eq!(
            parsed.records_of_type("run"),
            [
                r#""stream":1,"tool":"otlp","creator":"io.example.profiler 1.2","source":["in"],"events":["cpu","samples"],"total":{"cpu":73000000,"samples":4},"duration":3000000000,"labels":{"host.name":"builder","period":"10000000 nanoseconds cpu"},"period":{"event":"cpu","unit":"nanoseconds","value":10000000},"sample_rate":100,"units":{"cpu":"ns"}}"#
            ]
        );
        let shown = [
            "40000000 main: leaf@/opt/shop[inlined]<inner@/opt/shop<outer@/opt/shop<main@/opt/shop",
            "25000000 wörker: ksys_read[kernel]<outer@/opt/shop<main@/opt/shop",
            "7000000 main: outer@/opt/shop<main@/opt/shop",
            "1000000 81: shop+0x1abc@/opt/shop<main@/opt/shop",
        ];
        assert_eq!(shown_stacks(&parsed), shown);
        for (record, origin) in parsed.records_of_type("stack").iter().zip([
            r#""process":"shop","cost":{"cpu":40000000,"samples":3}"#,
            r#""process":"shop","pid":4242,"cost":{"cpu":25000000,"samples":1}"#,
            r#""process":"till","cost":{"cpu":7000000}"#,
        ]) {
            assert!(record.contains(origin), "{record}");
        }
        assert_eq!(
            parsed.messages,
            ["in: attributes are not kept: shop.cart (1 sample)"]
        );
        assert!(parsed.is_whole());
    }
}

/// Returns a dictionary of two functions that call each other. Other strings follow the necessary ones.
fn dictionary(attributes: usize) -> Message {
    let mut dictionary = message().bytes(1, b"").bytes(2, b"").bytes(3, b"");
    for function in [1, 2] {
        let line = message().number(1, function);
        dictionary = dictionary
            .message(2, message().message(3, line))
            .message(3, message().number(1, function + 2));
    }
    for text in ["", "samples", "count", "leaf", "main", "thread.name", "t"] {
        dictionary = dictionary.bytes(5, text.as_bytes());
    }
    dictionary = dictionary.bytes(6, b"");
    for _ in 1..attributes {
        let value = message().bytes(1, b"t");
        dictionary = dictionary.message(6, message().number(1, 5).message(2, value));
    }
    dictionary
        .bytes(7, b"")
        .message(7, message().packed(1, &[1, 2]))
}

fn resource(profile: Message) -> Message {
    message().message(2, message().message(2, profile))
}

fn profile(samples: &[Message]) -> Message {
    let start = message().message(1, message().number(1, 1).number(2, 2));
    let add = |profile: Message, sample: &Message| profile.message(2, sample.clone());
    samples.iter().fold(start, add)
}

fn data(samples: &[Message], attributes: usize) -> Vec<u8> {
    message()
        .message(1, resource(profile(samples)))
        .message(2, dictionary(attributes))
        .0
}

const TIME: i64 = 1_700_000_000_000_000_000;

#[test]
fn the_release_of_a_file_is_inferred_from_the_kinds_of_its_fields() {
    let first = || message().number(1, 1);
    for (samples, attributes, shown) in [
        // 1.8 and 1.9: only values, with a link, with attributes.
        (vec![first().packed(2, &[9])], 20, "9: leaf<main"),
        (
            vec![first().packed(2, &[1]).number(4, 1)],
            20,
            "1: leaf<main",
        ),
        (
            vec![first().packed(2, &[2]).packed(3, &[1])],
            20,
            "2 t: leaf<main",
        ),
        (
            vec![first().packed(2, &[4, 5]).number(5, TIME).number(5, TIME)],
            3,
            "9: leaf<main",
        ),
        // 1.10: only values, with a link, attributes with times.
        (vec![first().packed(4, &[7])], 20, "7: leaf<main"),
        (
            vec![first().packed(2, &[1]).number(3, 4).packed(4, &[7])],
            20,
            "7 t: leaf<main",
        ),
        (
            vec![first().packed(2, &[1]).number(5, TIME).number(5, TIME)],
            20,
            "2 t: leaf<main",
        ),
        // One sample decides for all.
        (
            vec![
                first().packed(2, &[1]).number(5, TIME),
                first().packed(4, &[7]),
            ],
            20,
            "7: leaf<main",
        ),
    ] {
        let parsed = parse(&data(&samples, attributes));
        assert_eq!(shown_stacks(&parsed)[0], shown, "{samples:?}");
        assert!(parsed.is_whole());
    }
}

#[test]
fn times_are_counted_in_either_encoding() {
    let varints: Vec<i64> = (0..8).map(|step| TIME + step).collect();
    let fixed: Vec<u8> = varints.iter().flat_map(|time| time.to_le_bytes()).collect();
    let attributes = message().number(1, 1).packed(2, &[1]);
    for sample in [
        attributes.clone().packed(5, &varints),
        attributes.bytes(5, &fixed),
    ] {
        let parsed = parse(&data(&[sample], 3));
        assert_eq!(shown_stacks(&parsed), ["8 t: leaf<main"]);
    }
}

#[test]
fn samples_before_a_dangling_reference_are_written() {
    let good = message().number(1, 1).packed(4, &[7]);
    for (bad, expected) in [
        (
            message().number(1, 2).packed(4, &[1]),
            "a sample refers to stack 2, but the dictionary has 2",
        ),
        (
            message().number(1, 1).packed(2, &[40]).packed(4, &[1]),
            "expected one of the 3 attributes of the dictionary, found number 40",
        ),
    ] {
        let parsed = parse(&data(&[good.clone(), bad], 3));
        assert_eq!(shown_stacks(&parsed), ["7: leaf<main"]);
        assert!(parsed.has_errors && !parsed.is_whole());
        assert!(
            parsed.messages[0].ends_with(expected),
            "{:?}",
            parsed.messages
        );
    }
    // In 1.7: a range that is not in its profile.
    let range = message().number(1, 1).number(2, i64::MAX).packed(3, &[1]);
    let parsed = parse(&data(&[range], 3));
    assert_eq!(
        parsed.messages,
        [
            "in: byte 14: a sample refers to 9223372036854775807 locations from number 1, but its profile has 0"
        ]
    );
}

#[test]
fn complete_resources_of_a_truncated_file_are_read() {
    let sample = |count| message().number(1, 1).packed(4, &[count]);
    let whole = message()
        .message(2, dictionary(3))
        .message(1, resource(profile(&[sample(7)])))
        .message(1, resource(profile(&[sample(8)])))
        .0;
    assert_eq!(shown_stacks(&parse(&whole)), ["15: leaf<main"]);
    let parsed = parse(&whole[..whole.len() - 1]);
    assert_eq!(shown_stacks(&parsed), ["7: leaf<main"]);
    assert!(parsed.has_errors && !parsed.is_whole());
    let doubled = [&whole[..], &whole].concat();
    assert!(parse(&doubled).messages[0].contains("expected one dictionary, found another"));
    // Releases before 1.7 have no dictionary.
    let old = message().message(1, resource(profile(&[sample(7)]))).0;
    assert!(parse(&old).messages[0].contains("expected a dictionary"));
}

#[test]
fn no_prefix_panics_and_every_error_is_reported() {
    for bytes in RELEASES {
        check_all_prefixes(super::parse, bytes, &Options::default());
    }
}

#[test]
fn other_messages_of_opentelemetry_are_not_recognised() {
    let is_profiles = |message: &[u8]| super::is_profiles(&Head::new(message, true));
    for bytes in RELEASES {
        // The first sample is within 200 bytes.
        assert!(is_profiles(bytes) && is_profiles(&bytes[..200]));
    }
    let sample = message().number(1, 1).packed(4, &[7]);
    let value_type = message().number(1, 1).number(2, 2);
    let span = message()
        .bytes(1, &[0xab; 16])
        .bytes(2, &[0xcd; 8])
        .bytes(5, b"GET /")
        .number(6, 2);
    let log = message().bytes(2, b"").bytes(5, b"started");
    let metric = message().bytes(1, b"requests").bytes(2, b"how many");
    for other in [
        message().message(1, resource(span)),
        message().message(1, resource(log)),
        message().message(1, resource(metric)),
        // pprof, and empty messages.
        message().message(1, value_type.clone()).message(2, sample),
        message().message(1, resource(message().message(1, value_type))),
        message().message(1, message()),
        message(),
    ] {
        assert!(!is_profiles(&other.0), "{:?}", other.0);
    }
}

#[test]
fn json_of_the_official_classes_has_the_records_of_every_release() {
    let texts: [&[u8]; 3] = [
        include_bytes!("../../../../tests/data/otlp/1.7.json"),
        include_bytes!("../../../../tests/data/otlp/1.9.json"),
        include_bytes!("../../../../tests/data/otlp/1.10.json"),
    ];
    for (json, binary) in texts.into_iter().zip(RELEASES) {
        // Some writers also write the fields with default values.
        let text = std::str::from_utf8(json).unwrap();
        let with_defaults = text.replace(r#"", "value": {"#, r#"", "keyStrindex": 0, "value": {"#);
        assert!(with_defaults.len() > text.len());
        let binary = parse(binary);
        for json in [json, with_defaults.as_bytes()] {
            let json = parse(json);
            assert_eq!(json.records, binary.records);
            assert_eq!(json.messages, binary.messages);
        }
    }
}

#[test]
fn json_has_the_records_of_the_protocol_buffer() {
    let binary = parse(include_bytes!(
        "../../../../tests/data/otlp/known-stacks.pb"
    ));
    let json = include_bytes!("../../../../tests/data/otlp/known-stacks.json");
    let parsed = parse(json);
    assert!(
        parsed.is_whole() && parsed.messages.is_empty(),
        "{:?}",
        parsed.messages
    );
    assert_eq!(parsed.records, binary.records);
    // A message on each line is a section of its own, and so is one in a list.
    let expected = [binary.records.clone(), binary.records].concat();
    for twice in [
        [&json[..], b"\n", &json[..]].concat(),
        [b"[", &json[..], b",\n", &json[..], b"]\n"].concat(),
    ] {
        let head = Head::new(&twice, true);
        assert!(super::is_json(&head));
        let parsed = parse(&twice);
        assert_eq!(parsed.records, expected);
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }
    assert!(!super::is_json(&Head::new(
        b"[{\"name\":1,\"ph\":\"X\"}]",
        true
    )));
    // The collector also writes messages without profiles.
    let empty: [&[u8]; 3] = [
        br#"{"resourceProfiles":[]}"#,
        br#"{"resourceProfiles":[{"scopeProfiles":[]}],"dictionary":{}}"#,
        b"{}",
    ];
    for message in empty {
        let parsed_with = parse(&[message, b"\n", &json[..], message].concat());
        assert_eq!(parsed_with.records, parsed.records);
        assert!(
            parsed_with.messages.is_empty(),
            "{:?}",
            parsed_with.messages
        );
        assert!(parse(message).has_errors);
    }
    let unfinished = parse(&[b"[", &json[..], b","].concat());
    assert!(unfinished.has_errors);
    let cut = parse(&json[..json.len() / 2]);
    assert!(cut.has_errors && !cut.is_whole());
}
