use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};

use crate::wire::testing::{Message, message};

/// The strings that the profiles here refer to.
const STRINGS: [&str; 14] = [
    "",
    "samples",
    "count",
    "cpu",
    "leaf",
    "inner",
    "outer",
    "a.rs",
    "/opt/app",
    "thread",
    "worker",
    "phase",
    "parse",
    "nanoseconds",
];

fn position(text: &str) -> i64 {
    STRINGS.iter().position(|string| *string == text).unwrap() as i64
}

fn pair(kind: &str, unit: &str) -> Message {
    message()
        .number(1, position(kind))
        .number(2, position(unit))
}

fn function(id: i64, name: &str) -> Message {
    message()
        .number(1, id)
        .number(2, position(name))
        .number(4, position("a.rs"))
}

fn line(function: i64, line: i64) -> Message {
    message().number(1, function).number(2, line)
}

fn label(key: &str, text: &str) -> Message {
    message().number(1, position(key)).number(2, position(text))
}

/// Returns a profile with two columns and four locations: with two functions, with one function, and two without a name.
fn profile(samples: &[Message]) -> Message {
    let mut profile = message()
        .message(1, pair("samples", "count"))
        .message(1, pair("cpu", "nanoseconds"));
    for sample in samples {
        profile = profile.message(2, sample.clone());
    }
    let mapping = message()
        .number(1, 7)
        .number(2, 0x400000)
        .number(3, 0x500000)
        .number(4, 0x1000)
        .number(5, position("/opt/app"));
    let location = |id| message().number(1, id).number(2, 7);
    profile = profile
        .message(3, mapping)
        .message(
            4,
            location(u64::MAX as i64)
                .number(3, 0x400010)
                .message(4, line(1, 3))
                .message(4, line(2, 5)),
        )
        .message(4, location(2).number(3, 0x400020).message(4, line(3, 9)))
        .message(4, location(3).number(3, 0x400abc))
        .message(4, message().number(1, 4).number(3, 0x77))
        .message(5, function(1, "leaf"))
        .message(5, function(2, "inner"))
        .message(5, function(3, "outer"));
    for string in STRINGS {
        profile = profile.bytes(6, string.as_bytes());
    }
    profile
}

fn sample(locations: &[i64], values: &[i64]) -> Message {
    message().packed(1, locations).packed(2, values)
}

fn parse(profile: &Message) -> Parsed {
    parsed::read(super::parse, &profile.0, &Options::default())
}

const LEAF: i64 = u64::MAX as i64;

#[test]
fn samples_of_one_stack_are_added_up_and_inlined_functions_are_frames() {
    let profile = profile(&[
        sample(&[LEAF, 2], &[1, 10]),
        sample(&[2], &[5, 50]),
        // Older writers use one field per number.
        message()
            .number(1, LEAF)
            .number(1, 2)
            .number(2, 2)
            .number(2, -3),
    ])
    .message(11, pair("cpu", "nanoseconds"))
    .number(12, 10_000_000)
    .number(10, 2_000_000_000)
    .number(14, position("cpu"))
    .number(7, position("phase"));
    let parsed = parse(&profile);
    assert_eq!(
        parsed.records_of_type("run"),
        [
            r#""stream":1,"tool":"pprof","source":["in"],"events":["samples","cpu"],"total":{"samples":8,"cpu":57},"duration":2000000000,"labels":{"default_sample_type":"cpu","drop_frames":"phase","period":"10000000 nanoseconds cpu"},"mappings":[{"obj":"/opt/app","start":"0x400000","end":"0x500000","offset":"0x1000"}],"period":{"event":"cpu","unit":"nanoseconds","value":10000000},"sample_rate":100,"units":{"cpu":"ns"}}"#
        ]
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","cost":{"samples":5,"cpu":50},"stack":[{"fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","addr":"0x1020"}]}"#,
            r#""fn":"leaf","file":"a.rs","line":3,"obj":"/opt/app","cost":{"samples":3,"cpu":7},"stack":[{"fn":"leaf","file":"a.rs","line":3,"obj":"/opt/app","addr":"0x1010","inlined":true},{"fn":"inner","file":"a.rs","line":5,"obj":"/opt/app","addr":"0x1010"},{"fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","addr":"0x1020"}]}"#,
        ]
    );
    assert!(parsed.is_whole() && parsed.messages.is_empty());
}

#[test]
fn a_location_without_a_name_is_named_by_object_and_offset() {
    let parsed = parse(&profile(&[sample(&[3, 4], &[1, 0]), sample(&[], &[2, 0])]));
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""cost":{"samples":2},"stack":[]}"#,
            r#""fn":"app+0x1abc","obj":"/opt/app","cost":{"samples":1},"stack":[{"fn":"app+0x1abc","obj":"/opt/app","addr":"0x1abc"},{"fn":"0x77","addr":"0x77"}]}"#,
        ]
    );
}

#[test]
fn a_thread_label_sets_the_thread_and_other_labels_are_kept() {
    let with = |label: Message| sample(&[2], &[1, 0]).message(3, label);
    let parsed = parse(&profile(&[
        with(label("thread", "worker")),
        with(label("phase", "parse")),
        with(label("phase", "worker")),
    ]));
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","labels":{"phase":"parse"},"cost":{"samples":1},"stack":[{"fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","addr":"0x1020"}]}"#,
            r#""fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","labels":{"phase":"worker"},"cost":{"samples":1},"stack":[{"fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","addr":"0x1020"}]}"#,
            r#""fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","thread":"worker","cost":{"samples":1},"stack":[{"fn":"outer","file":"a.rs","line":9,"obj":"/opt/app","addr":"0x1020"}]}"#,
        ]
    );
    assert!(parsed.messages.is_empty());
}

#[test]
fn columns_of_one_type_are_distinguished_by_their_units() {
    let mut profile = message()
        .message(1, pair("cpu", "count"))
        .message(1, pair("cpu", "nanoseconds"))
        .message(1, pair("cpu", "nanoseconds"))
        .message(2, message().packed(2, &[1, 2, 3]));
    for string in STRINGS {
        profile = profile.bytes(6, string.as_bytes());
    }
    let parsed = parse(&profile);
    assert_eq!(
        parsed.records_of_type("stack"),
        [r#""cost":{"cpu/count":1,"cpu/nanoseconds":2,"cpu/nanoseconds#2":3},"stack":[]}"#]
    );
}

#[test]
fn fields_of_later_versions_are_skipped() {
    let known = profile(&[sample(&[LEAF], &[1, 10])]);
    let later = Message(known.0.clone()).number(40, 7).bytes(41, b"later");
    assert_eq!(parse(&later).records, parse(&known).records);
    assert!(parse(&later).is_whole());
}

#[test]
fn a_sample_with_a_missing_location_or_value_is_an_error() {
    for (samples, message) in [
        (
            sample(&[99], &[1, 2]),
            "in: a sample refers to location 99, which is not in the profile",
        ),
        (
            sample(&[2], &[1]),
            "in: byte 14: expected a sample with 2 values, found 1",
        ),
    ] {
        let parsed = parse(&profile(&[samples]));
        assert_eq!(
            (parsed.messages, parsed.has_errors),
            (vec![message.to_owned()], true)
        );
        assert!(parsed.records.is_empty());
    }
    // Earlier samples are written, and the stream is incomplete.
    let parsed = parse(&profile(&[sample(&[2], &[1, 2]), sample(&[99], &[1, 2])]));
    assert_eq!(parsed.records_of_type("stack").len(), 1);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn sums_beyond_64_bits_are_an_error() {
    let parsed = parse(&profile(&[
        sample(&[2], &[i64::MAX, 0]),
        sample(&[2], &[i64::MAX, 0]),
        sample(&[2], &[i64::MAX, 0]),
    ]));
    assert_eq!(
        parsed.messages,
        ["in: the sum of samples is beyond 64 bits"]
    );
}

#[test]
fn every_truncated_profile_is_an_error() {
    let profile = profile(&[sample(&[LEAF, 2], &[1, 10])]);
    let options = Options::default();
    check_all_prefixes(super::parse, &profile.0, &options);
    for length in 1..profile.0.len() {
        let parsed = parsed::read(super::parse, &profile.0[..length], &options);
        assert!(parsed.has_errors, "{length} bytes");
    }
}

fn text(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

#[test]
fn symbols_next_to_stacks_of_go_name_the_frames() {
    let parsed = text(
        "goroutine profile: total 3
2 @ 0x401011 0x402001
#\t0x401010\tmain.inlined+0x10\t\t/src/main.go:7
#\t0x401010\tmain.work+0x10\t\t/src/main.go:12
#\t0x402000\tmain.main+0x20\t/src/main.go:3

1 @ 0x402001 0x403001
",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"main.inlined","file":"/src/main.go","line":7,"cost":{"goroutine":2},"stack":[{"fn":"main.inlined","file":"/src/main.go","line":7,"addr":"0x401010","inlined":true},{"fn":"main.work","file":"/src/main.go","line":12,"addr":"0x401010"},{"fn":"main.main","file":"/src/main.go","line":3,"addr":"0x402000"}]}"#,
            r#""fn":"main.main","file":"/src/main.go","line":3,"cost":{"goroutine":1},"stack":[{"fn":"main.main","file":"/src/main.go","line":3,"addr":"0x402000"},{"fn":"0x403000","addr":"0x403000"}]}"#,
        ]
    );
    assert!(parsed.is_whole());
}

#[test]
fn the_sum_of_threads_is_not_counted_again() {
    let parsed = text(
        "heap_v2/1
  t*: 5: 640 [0: 0]
  t0: 2: 256 [0: 0]
  t3: 3: 384 [0: 0]
@ 0x401011 0x7f01
  t*: 5: 640 [0: 0]
  t0: 2: 256 [0: 0]
  t3: 3: 384 [0: 0]

MAPPED_LIBRARIES:
00401000-00402000 r-xp 00001000 fe:01 12 /opt/app
",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"app+0x1010","obj":"/opt/app","cost":{"inuse_objects":5,"inuse_space":640},"stack":[{"fn":"app+0x1010","obj":"/opt/app","addr":"0x1010"},{"fn":"0x7f00","addr":"0x7f00"}]}"#
        ]
    );
}

#[test]
fn delays_are_counted_in_nanoseconds() {
    let parsed = text(
        "--- contention:
cycles/second=2000000000
sampling period = 10
1000 3 @ 0x401011
--- Memory map: ---
  400000-500000: /opt/app
",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"app+0x1010","obj":"/opt/app","cost":{"contentions":30,"delay":5000},"stack":[{"fn":"app+0x1010","obj":"/opt/app","addr":"0x1010"}]}"#
        ]
    );
}

#[test]
fn a_heap_that_differs_from_its_first_line_is_an_error_or_warning() {
    let header = "heap profile: 3: 30 [3: 30] @ heapprofile\n";
    let parsed = text(&format!("{header}1: 10 [1: 10] @ 0x5\n"));
    assert!(parsed.has_errors && parsed.records_of_type("stack").len() == 1);
    assert_eq!(
        parsed.messages,
        [
            "in: the first line counts 3 blocks of 30 bytes in use, the stacks 1 of 10: the file is cut short"
        ]
    );
    let parsed = text(&format!("{header}1: 10 [1: 10] @ 0x5\nMAPPED_LIBRARIES:\n"));
    assert!(!parsed.has_errors && parsed.messages.len() == 1);
    for (line, message) in [
        ("x: 10", "in:2: expected a number, found \"x: 10\""),
        (
            "1: 10 [1: 10] @ 5",
            "in:2: expected an address, found \"1: 10 [1: 10] @ 5\"",
        ),
        (
            "0: 10 [1: 10] @ 0x5",
            "in:2: expected no bytes where there are no blocks, found \"0: 10 [1: 10] @ 0x5\"",
        ),
    ] {
        assert_eq!(text(&format!("{header}{line}\n")).messages, [message]);
    }
    assert_eq!(
        text("goroutine profile: total 3\n1 @ 0x5\n").messages,
        [
            "in: expected stacks with a sum of 3, the total of the first line, found 1: the file is cut short"
        ]
    );
}

/// Returns a CPU profile of gperftools in words of this size.
fn words(size: usize, is_big_endian: bool, words: &[u64]) -> Vec<u8> {
    let word = |word: &u64| {
        let bytes = word.to_le_bytes();
        let mut bytes = bytes[..size].to_vec();
        if is_big_endian {
            bytes.reverse();
        }
        bytes
    };
    words.iter().flat_map(word).collect()
}

#[test]
fn cpu_profiles_of_every_machine_are_read() {
    let samples = [
        0, 3, 0, 10_000, 0, // the header
        4, 2, 0x1010, 0x1021, // four times in the leaf
        1, 1, 0x1010, //
        2, 2, 0x1011, 0x1031, //
        0, 1, 0, // the end
    ];
    for (size, is_big_endian) in [(4, false), (4, true), (8, false), (8, true)] {
        let mut bytes = words(size, is_big_endian, &samples);
        bytes.extend_from_slice(b"1000-2000: /opt/app\n");
        let parsed = parsed::read(super::parse, &bytes, &Options::default());
        assert_eq!(
            parsed.records_of_type("stack"),
            [
                r#""fn":"app+0x10","obj":"/opt/app","cost":{"samples":4,"cpu":40000000},"stack":[{"fn":"app+0x10","obj":"/opt/app","addr":"0x10"},{"fn":"app+0x20","obj":"/opt/app","addr":"0x20"}]}"#,
                r#""fn":"app+0x11","obj":"/opt/app","cost":{"samples":2,"cpu":20000000},"stack":[{"fn":"app+0x11","obj":"/opt/app","addr":"0x11"},{"fn":"app+0x30","obj":"/opt/app","addr":"0x30"}]}"#,
                r#""fn":"app+0x10","obj":"/opt/app","cost":{"samples":1,"cpu":10000000},"stack":[{"fn":"app+0x10","obj":"/opt/app","addr":"0x10"}]}"#,
            ]
        );
        let cut = parsed::read(super::parse, &bytes[..size * 13], &Options::default());
        assert!(
            cut.has_errors && cut.records_of_type("stack").len() == 2,
            "{:?}",
            cut.messages
        );
    }
}

#[test]
fn frames_of_the_signal_are_omitted_with_a_warning() {
    let samples = [
        0, 3, 0, 1, 0, //
        1, 3, 0x1010, 0x5001, 0x1101, //
        1, 3, 0x1020, 0x5001, 0x1201, //
        1, 2, 0x1031, 0x1031, // the innermost frame twice
        0, 1, 0,
    ];
    let bytes = words(8, false, &samples);
    let parsed = parsed::read(super::parse, &bytes, &Options::default());
    assert!(parsed.messages.is_empty());
    let bytes = words(8, false, &[&samples[..15], &samples[19..]].concat());
    let parsed = parsed::read(super::parse, &bytes, &Options::default());
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"0x1010","cost":{"samples":1,"cpu":1000},"stack":[{"fn":"0x1010","addr":"0x1010"},{"fn":"0x1100","addr":"0x1100"}]}"#,
            r#""fn":"0x1020","cost":{"samples":1,"cpu":1000},"stack":[{"fn":"0x1020","addr":"0x1020"},{"fn":"0x1200","addr":"0x1200"}]}"#,
        ]
    );
    assert_eq!(
        parsed.messages,
        [
            "in: 2 frames omitted as the profiler's signal handler: nearly all samples have them after their innermost frame"
        ]
    );
}

#[test]
fn a_depth_beyond_the_file_is_an_error() {
    let bytes = words(8, false, &[0, 3, 0, 1, 0, 1, u64::MAX, 5]);
    let parsed = parsed::read(super::parse, &bytes, &Options::default());
    assert_eq!(
        parsed.messages,
        [
            "in: byte 40: expected more samples or their end, found the end of the file: it is cut short"
        ]
    );
}

#[test]
fn a_time_beyond_64_bits_is_an_error() {
    for (period, count) in [(1, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
        let bytes = words(8, false, &[0, 3, 0, period, 0, count, 1, 0x1010, 0, 1, 0]);
        let parsed = parsed::read(super::parse, &bytes, &Options::default());
        let [message] = &parsed.messages[..] else {
            panic!("{:?}", parsed.messages)
        };
        assert!(message.ends_with("is beyond 64 bits"), "{message}");
    }
}
