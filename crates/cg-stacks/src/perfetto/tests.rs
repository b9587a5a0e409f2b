use cg_reader::{Head, Options};
use parsed::{Parsed, check_all_prefixes, shown_stacks};

use crate::wire::testing::{Message, message};

/// Written by `tests/data/src/perfetto/make.py`, which contains the expected figures.
const EVERYTHING: &[u8] = include_bytes!("../../../../tests/data/perfetto/everything.pb");

fn parse(bytes: &[u8]) -> Parsed {
    parsed::read(super::parse, bytes, &Options::default())
}

fn total(parsed: &Parsed) -> serde_json::Value {
    let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
    run["total"].clone()
}

#[test]
fn samples_and_slices_of_all_sequences_are_added_up() {
    let parsed = parse(EVERYTHING);
    assert_eq!(
        total(&parsed),
        serde_json::json!({ "samples": 10, "cycles": 5000, "time": 166_000 })
    );
    let samples = shown_stacks(&parsed);
    assert_eq!(
        samples[..8],
        [
            "2 CrBrowserMain: paint<main",
            "2 wörker: shop::get@/opt/libshop.so[inlined]<shop::put@/opt/libshop.so<shop::main()@/opt/libshop.so",
            "1 CrBrowserMain:",
            "1 CrBrowserMain: gc",
            "1 reader: ksys_read@[kernel.kallsyms][kernel]<libshop.so+0x2020@/opt/libshop.so<shop::main()@/opt/libshop.so",
            "1 wörker: ksys_read@[kernel.kallsyms][kernel]<libshop.so+0x2020@/opt/libshop.so<shop::main()@/opt/libshop.so",
            "1 CrBrowserMain: main",
            "1 wörker: other",
        ]
    );
    let records = parsed.records_of_type("stack");
    assert!(records[5].contains(r#""cut":true"#), "{}", records[5]);
    assert!(
        records[1].contains(r#""file":"get.h","line":3"#),
        "{}",
        records[1]
    );
    let slices: Vec<String> = records[8..]
        .iter()
        .map(|record| {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            let frames = record["stack"].as_array().unwrap().iter();
            let names: Vec<&str> = frames.map(|frame| frame["fn"].as_str().unwrap()).collect();
            format!(
                "{} {}: {}",
                record["cost"]["time"],
                record["thread"].as_str().unwrap(),
                names.join("<")
            )
        })
        .collect();
    assert_eq!(
        slices,
        [
            "32000 wörker: frame",
            "3000 wörker: frame<frame",
            "16000 wörker: last",
            "15000 wörker: layout<frame",
            "100000 network: load; \"x\"",
        ]
    );
    assert_eq!(
        parsed.messages,
        [
            "in: 1 sample has no stack: the packet with the stack is missing from the trace",
            "in: 5 records or samples were lost, according to the profiler",
            "in: 1 end of a slice has no beginning in the trace: it is not counted",
        ]
    );
    assert!(parsed.is_whole());
}

fn string(id: i64, text: &str) -> Message {
    message().number(1, id).bytes(2, text.as_bytes())
}

/// Returns a packet of sequence 1. Its stack 1 is `leaf`, called by `main`.
fn first_packet() -> Message {
    let frame = |id| message().number(1, id).number(2, id);
    let data = message()
        .message(5, string(1, "main"))
        .message(5, string(2, "leaf"))
        .message(6, frame(1))
        .message(6, frame(2))
        .message(7, message().number(1, 1).number(2, 1).number(2, 2))
        .message(7, message().number(1, 2).packed(2, &[1]));
    packet().number(13, 1).message(12, data)
}

fn packet() -> Message {
    message().number(8, 5).number(10, 1)
}

fn trace(packets: &[Message]) -> Vec<u8> {
    let add = |trace: Message, packet: &Message| trace.message(1, packet.clone());
    packets.iter().fold(message(), add).0
}

/// Returns a heap sample: stack, bytes allocated and freed, blocks allocated and freed.
fn heap_sample(figures: [i64; 5]) -> Message {
    let [stack, allocated, freed, blocks, freed_blocks] = figures;
    message()
        .number(1, stack)
        .number(2, allocated)
        .number(3, freed)
        .number(5, blocks)
        .number(6, freed_blocks)
}

fn heap(is_continued: i64, samples: &[[i64; 5]]) -> Message {
    let dump = samples
        .iter()
        .fold(message().number(1, 70), |dump, sample| {
            dump.message(2, heap_sample(*sample))
        });
    packet().message(37, message().message(5, dump).number(6, is_continued))
}

#[test]
fn a_later_dump_of_a_heap_replaces_the_earlier_one() {
    let json = |figures: [u64; 4]| {
        let [allocated, live, blocks, live_blocks] = figures;
        serde_json::json!({
            "allocated_bytes": allocated, "live_bytes": live, "allocations": blocks, "live_allocations": live_blocks,
        })
    };
    for (dumps, expected) in [
        // One dump in two packets.
        (
            vec![heap(1, &[[1, 100, 30, 4, 1]]), heap(0, &[[2, 50, 0, 2, 0]])],
            [150, 120, 6, 5],
        ),
        // Two dumps: the second one includes the counts of the first.
        (
            vec![
                heap(0, &[[1, 100, 30, 4, 1]]),
                heap(0, &[[1, 160, 100, 6, 3]]),
            ],
            [160, 60, 6, 3],
        ),
        // A stack that is missing from the second dump keeps its counts.
        (
            vec![
                heap(0, &[[1, 100, 100, 4, 4], [2, 8, 0, 1, 0]]),
                heap(0, &[[2, 16, 0, 2, 0]]),
            ],
            [116, 16, 6, 2],
        ),
        // A forgotten stack is counted again from zero.
        (
            vec![
                heap(0, &[[1, 100, 100, 4, 4]]),
                heap(0, &[[1, 10, 0, 1, 0]]),
            ],
            [110, 10, 5, 1],
        ),
    ] {
        let parsed = parse(&trace(&[&[first_packet()][..], &dumps].concat()));
        assert_eq!(total(&parsed), json(expected));
        assert!(parsed.is_whole() && parsed.messages.is_empty());
    }
}

#[test]
fn heaps_of_android_10_contain_their_tables() {
    let tables = message()
        .message(1, string(1, "main"))
        .message(1, string(2, "lib"))
        .message(4, message().number(1, 7).number(7, 2))
        .message(
            2,
            message()
                .number(1, 1)
                .number(2, 1)
                .number(3, 7)
                .number(4, 0x10),
        )
        .message(3, message().number(1, 1).number(2, 1))
        .message(
            5,
            message()
                .number(1, 70)
                .message(2, heap_sample([1, 9, 4, 1, 0])),
        );
    let parsed = parse(&trace(&[packet().message(37, tables)]));
    assert_eq!(shown_stacks(&parsed), ["9: main@/lib"]);
}

#[test]
fn a_number_refers_to_the_latest_data_of_its_sequence() {
    let sample = |sequence: i64| {
        let sample = message().number(2, 70).number(3, 71).number(4, 1);
        message()
            .number(8, 6)
            .number(10, sequence)
            .message(66, sample)
    };
    let anew = packet().number(13, 1);
    let packets = [first_packet(), sample(1), sample(2), anew, sample(1)];
    let parsed = parse(&trace(&packets));
    assert_eq!(shown_stacks(&parsed), ["2 71:", "1 71: leaf<main"]);
    assert_eq!(
        parsed.messages,
        ["in: 2 samples have no stack: the packets with the stacks are missing from the trace"]
    );
}

#[test]
fn slices_in_the_oldest_form_of_chrome_are_read() {
    let thread = message()
        .number(1, 70)
        .number(2, 9)
        .bytes(5, b"t")
        .number(6, 1000);
    let slice = |delta: i64, phase: u8, name: i64| {
        let legacy = message().number(1, name).number(2, phase.into());
        packet().message(11, message().number(1, delta).message(6, legacy))
    };
    let names = message()
        .message(2, string(1, "outer"))
        .message(2, string(2, "inner"));
    let parsed = parse(&trace(&[
        packet()
            .number(13, 1)
            .message(44, thread)
            .message(12, names),
        slice(10, b'B', 1),
        slice(5, b'B', 2),
        slice(2, b'E', 0),
        slice(4, b'E', 0),
    ]));
    assert_eq!(
        shown_stacks(&parsed),
        ["9000 t: outer", "2000 t: inner<outer"]
    );
}

/// Reads a trace of one thread with events in Chrome's older form: microseconds, phase, duration, name.
fn older_events(events: &[(i64, u8, i64, i64)]) -> Parsed {
    let thread = message()
        .number(1, 7)
        .number(2, 8)
        .bytes(5, b"t")
        .number(6, 1000);
    let names = (1..).zip(["outer", "inner", "third"]);
    let names = names.fold(message(), |all, (id, name)| {
        all.message(2, string(id, name))
    });
    let first = packet()
        .number(13, 1)
        .message(44, thread)
        .message(12, names);
    let events = events.iter().map(|(time, phase, duration, name)| {
        let legacy = message()
            .number(1, *name)
            .number(2, (*phase).into())
            .number(3, *duration);
        packet().message(11, message().number(16, *time).message(6, legacy))
    });
    parse(&trace(&Vec::from_iter([first].into_iter().chain(events))))
}

#[test]
fn whole_slices_nest_by_their_times_in_any_order() {
    let events = [
        (10, b'X', 20, 1),
        (10, b'X', 5, 2),
        (15, b'X', 5, 2),
        (18, b'X', 1, 3),
        (30, b'X', 4, 3),
    ];
    for shift in 0..events.len() {
        let mut turned = events;
        turned.rotate_left(shift);
        let parsed = older_events(&turned);
        assert_eq!(
            sorted(&parsed),
            [
                "1000 t: third<inner<outer",
                "10000 t: outer",
                "4000 t: third",
                "9000 t: inner<outer",
            ]
        );
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }
}

#[test]
fn whole_slices_nest_in_slices_with_begin_and_end_events() {
    let parsed = older_events(&[
        (10, b'B', 0, 1),
        (12, b'X', 6, 2),
        (13, b'B', 0, 3),
        (15, b'E', 0, 0),
        (40, b'E', 0, 0),
    ]);
    assert_eq!(
        sorted(&parsed),
        [
            "2000 t: third<inner<outer",
            "24000 t: outer",
            "4000 t: inner<outer",
        ]
    );
    assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
}

#[test]
fn slices_that_overlap_or_have_no_thread_are_reported() {
    let parsed = older_events(&[
        (10, b'X', 10, 1),
        (15, b'X', 10, 2),
        (22, b'X', -1, 3),
        (23, b'b', 0, 3),
        (24, b'e', 0, 3),
        (30, b'B', 0, 1),
        (31, b'X', 9, 2),
        (33, b'E', 0, 0),
        (50, b'X', 4, 1),
        (51, b'B', 0, 3),
        (60, b'X', 1, 3),
        (70, b'E', 0, 0),
    ]);
    assert_eq!(
        sorted(&parsed),
        [
            "1000 t: third",
            "3000 t: third<outer",
            "7000 t: inner<outer",
            "7000 t: outer",
        ]
    );
    assert_eq!(
        parsed.messages,
        [
            "in: 1 end of a slice has no beginning in the trace: it is not counted",
            "in: 3 slices end after a slice around them: they are counted up to its end",
            "in: 1 slice has no duration: it is not counted",
            "in: 1 asynchronous slice of Chrome has no thread: it is not counted",
        ]
    );
}

fn sorted(parsed: &Parsed) -> Vec<String> {
    let mut stacks = shown_stacks(parsed);
    stacks.sort_unstable();
    stacks
}

#[test]
fn a_truncated_or_damaged_packet_is_an_error_after_the_others() {
    let sample = packet().message(66, message().number(4, 1));
    let whole = trace(&[first_packet(), sample.clone()]);
    let bad = trace(&[
        first_packet(),
        sample,
        message().bytes(50, b"\x78\x9cnothing"),
    ]);
    for bytes in [&bad[..], &[&whole[..], &[0x0a, 100, 8]].concat()] {
        let parsed = parse(bytes);
        assert_eq!(shown_stacks(&parsed), ["1: leaf<main"]);
        assert!(
            parsed.has_errors && !parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
    }
    let nothing = parse(&trace(&[first_packet()]));
    assert!(nothing.messages[0].contains("expected samples, a heap or slices"));
    check_all_prefixes(super::parse, EVERYTHING, &Options::default());
}

#[test]
fn other_messages_are_not_recognised() {
    let is_trace = |bytes: &[u8]| super::is_trace(&Head::new(bytes, true));
    assert!(is_trace(EVERYTHING) && is_trace(&EVERYTHING[..100]));
    let deflated = b"\x78\x9c\x03\x00\x00\x00\x00\x01";
    assert!(is_trace(&trace(&[message().bytes(50, deflated)])));
    let releases: [&[u8]; 2] = [
        include_bytes!("../../../../tests/data/otlp/1.10.pb"),
        include_bytes!("../../../../tests/data/otlp/1.7.pb"),
    ];
    for profile in releases {
        assert!(!is_trace(profile));
        assert!(!crate::otlp::is_profiles(&Head::new(EVERYTHING, true)));
    }
    for other in [
        // The descriptor of a file, pprof's sample type, a message of numbers, and an empty message.
        message()
            .bytes(1, b"a.proto")
            .bytes(2, b"a")
            .bytes(3, b"b.proto"),
        message().number(1, 1).number(2, 2),
        message().number(8, 5).number(10, 1),
        message().number(8, 5).bytes(10, b"x"),
        message(),
    ] {
        assert!(
            !is_trace(&trace(std::slice::from_ref(&other))),
            "{:?}",
            other.0
        );
    }
    assert!(!crate::pprof::is_profile(&Head::new(EVERYTHING, true)));
}
