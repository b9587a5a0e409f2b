use std::io::Read as _;

use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes, shown_stacks};

/// Written by `tests/data/src/jfr/make.py`, which contains the expected figures.
const ASYNC: &[u8] = include_bytes!("../../../../tests/data/jfr/async-profiler.jfr");

fn parse(bytes: &[u8]) -> Parsed {
    parsed::read(super::parse, bytes, &Options::default())
}

fn run_record(parsed: &Parsed) -> serde_json::Value {
    serde_json::from_str(&parsed.records[0]).unwrap()
}

fn recorded(name: &str) -> Vec<u8> {
    let path = format!("{}/../../tests/data/jfr/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).unwrap();
    let mut unpacked = flate2::read::MultiGzDecoder::new(file);
    unpacked.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn events_are_added_up_by_stack_and_thread() {
    let parsed = parse(ASYNC);
    let run = run_record(&parsed);
    assert_eq!(
        run["total"],
        serde_json::json!({
            "samples": 11, "wall_samples": 204, "tlab_bytes": 108_192, "live_bytes": (1u64 << 40) + 64,
            "malloc_bytes": 1137, "malloc_live_bytes": 1007,
        })
    );
    assert_eq!(
        (
            &run["creator"],
            &run["command"],
            &run["pid"],
            &run["sample_rate"],
            &run["duration"]
        ),
        (
            &"OpenJDK 64-Bit Server VM (21.0.8+9)".into(),
            &"shop.Main 3".into(),
            &4242.into(),
            &100.into(),
            &2_500_000_000u64.into()
        )
    );
    assert_eq!(
        shown_stacks(&parsed),
        [
            "5 main: shop.Cart.add<shop.Main.main",
            "3 wörker 𝟙: __do_page_fault[kernel]<shop::fill()<java.util.HashMap.put<shop.Cart.add<shop.Main.main",
            "1:",
            "1 pooled: shop.Cart.add<shop.Main.main",
            "1 gc-ü: shop.Cart.add<shop.Main$$Lambda+0x00007f0d8c001a48.run<shop.Main.main",
            "0 wörker 𝟙: byte[]<shop.Cart.add<shop.Main.main",
            "0 main: operator new(unsigned long)<shop::fill()<shop.Main.main",
        ]
    );
    let cut: Vec<&str> = parsed.records_of_type("stack");
    let cut = cut.iter().filter(|record| record.contains(r#""cut":true"#));
    assert_eq!(cut.count(), 1);
    assert!(
        parsed.is_whole() && parsed.messages.is_empty(),
        "{:?}",
        parsed.messages
    );
}

/// The expected figures come from `jfr print --json --stack-depth 64`, run on each chunk separately: on several chunks, it
/// mixes up their names.
#[test]
fn recordings_of_the_jvm_agree_with_jfr_print() {
    let parsed = parse(&recorded("jdk17.jfr.gz"));
    assert_eq!(
        run_record(&parsed)["total"],
        serde_json::json!({ "samples": 120 })
    );
    let parsed = parse(&recorded("jdk25-chunks.jfr.gz"));
    assert_eq!(
        run_record(&parsed)["total"],
        serde_json::json!({
            "samples": 321, "cpu_time": 3_700_000_000u64, "cpu_time_samples": 366, "native_samples": 271,
            "allocated_bytes": 6_012_005_432u64,
        })
    );
    // A thread that named itself in the first chunk has this name in the second chunk.
    let samples_in_thread = |thread: &str| -> u64 {
        let field = format!(r#""thread":"{thread}","#);
        let stacks = parsed
            .records_of_type("stack")
            .into_iter()
            .filter(|record| record.contains(&field));
        let counts = stacks.map(|record| {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            record["cost"]["samples"].as_u64().unwrap()
        });
        counts.sum()
    };
    assert_eq!(
        ["Thread-0", "wörker 1", "Thread-1", "main"].map(samples_in_thread),
        [146, 17, 130, 3]
    );
}

#[test]
fn the_described_part_of_an_unfinished_chunk_is_read() {
    let zero = |bytes: &mut Vec<u8>, from: usize| bytes[from..from + 8].fill(0);
    let mut unfinished = ASYNC.to_vec();
    zero(&mut unfinished, 8);
    zero(&mut unfinished, 16);
    zero(&mut unfinished, 24);
    let mut written = ASYNC.to_vec();
    written[64] = 3;
    // Unfinished data of the JVM follows, including a truncated event.
    let with_more = [&unfinished[..], &[0x20, 0x65, 5]].concat();
    for bytes in [unfinished.clone(), written, with_more] {
        let parsed = parse(&bytes);
        assert_eq!(shown_stacks(&parsed).len(), 7);
        assert!(
            parsed.has_errors && !parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
    }
    // The second of two chunks is truncated in its events, before their description.
    let two = [ASYNC, &ASYNC[..400]].concat();
    let parsed = parse(&two);
    assert_eq!(run_record(&parsed)["total"]["samples"], 11);
    assert!(
        parsed.has_errors && !parsed.is_whole(),
        "{:?}",
        parsed.messages
    );
    let doubled = parse(&[ASYNC, ASYNC].concat());
    assert_eq!(run_record(&doubled)["total"]["malloc_bytes"], 2274);
    assert!(doubled.is_whole());
}

#[test]
fn other_files_and_versions_are_refused() {
    let with = |at: usize, byte: u8| {
        let mut bytes = ASYNC.to_vec();
        bytes[at] = byte;
        parse(&bytes).messages
    };
    assert!(with(5, 1)[0].contains("expected version 2 of the format"));
    assert!(with(67, 0)[0].contains("expected compressed integers"));
    let with_more = parse(&[ASYNC, b"more"].concat());
    assert!(
        with_more.messages[0].ends_with("expected a chunk of a recording, found something else")
    );
    assert!(with_more.has_errors && shown_stacks(&with_more).len() == 7);
}

/// Returns a chunk with these events.
fn chunk(events: &[&[u8]]) -> Vec<u8> {
    let body: Vec<u8> = events
        .iter()
        .flat_map(|event| [&[event.len() as u8 + 1][..], event].concat())
        .collect();
    let mut bytes = ASYNC[..super::HEADER].to_vec();
    let size = (bytes.len() + body.len()) as u64;
    bytes[8..16].copy_from_slice(&size.to_be_bytes());
    [bytes, body].concat()
}

#[test]
fn endless_counts_and_recursive_types_are_errors() {
    const MANY: [u8; 9] = [0xff; 9];
    // Metadata with no times, one text, and an element with endless children; then metadata with endless texts.
    let deep = [&[0, 0, 0, 0, 1, 3, 1, b'x'][..], &[0, 0, 1].repeat(30)].concat();
    let texts = [&[0, 0, 0, 0][..], &MANY].concat();
    // A class with a field of its own type.
    let words: [&[u8]; 9] = [
        b"root",
        b"class",
        b"id",
        b"5",
        b"name",
        b"A",
        b"field",
        b"f",
        b"java.lang.Thread",
    ];
    let strings: Vec<u8> = words
        .iter()
        .flat_map(|word| [&[3, word.len() as u8][..], word].concat())
        .collect();
    let itself = [
        &[0, 0, 0, 0, 9][..],
        &strings,
        &[0, 0, 1, 1, 2, 2, 3, 4, 8, 1, 6, 2, 4, 7, 1, 3, 0],
    ]
    .concat();
    let pool = [&[1, 0, 0, 0, 0, 1, 5][..], &MANY, &[1]].concat();
    for (events, expected) in [
        (vec![&deep[..]], "metadata is nested too deeply"),
        (vec![&texts], "expected more of an event, found its end"),
        (vec![&itself, &pool], "a type that is nested too deeply"),
        (
            vec![&[][..]],
            "expected an event that ends within its chunk, found one of 1 bytes",
        ),
    ] {
        let parsed = parse(&chunk(&events));
        assert!(
            parsed.messages[0].contains(expected),
            "{:?}",
            parsed.messages
        );
    }
    let no_size = [&chunk(&[])[..], &[0]].concat();
    assert!(parse(&no_size).has_errors);
}

#[test]
fn no_prefix_panics_and_every_error_is_reported() {
    check_all_prefixes(super::parse, ASYNC, &Options::default());
}

#[test]
fn waits_are_counted_and_their_durations_added_up() {
    let parsed = parse(&recorded("locks.jfr.gz"));
    let total = &run_record(&parsed)["total"];
    // `jfr print --json locks.jfr` prints these events; its durations are rounded to nine decimals of a second.
    for (count, number, time, nanoseconds) in [
        ("monitor_enters", 2, "monitor_enter_time", 31_143_906u64),
        ("monitor_waits", 10, "monitor_wait_time", 774_329_485),
        ("thread_parks", 8, "thread_park_time", 280_692_155),
        ("thread_sleeps", 8, "thread_sleep_time", 240_799_645),
    ] {
        assert_eq!(total[count], number, "{count}");
        let found = total[time].as_u64().unwrap();
        assert!(found.abs_diff(nanoseconds) <= number, "{time}: {found}");
    }
    assert!(
        parsed
            .messages
            .contains(&"in: events with stacks are left out: 4 jdk.ThreadStart".to_owned())
    );
    let waits = parsed.records_of_type("stack");
    let in_wait = |record: &&&str| record.contains("\"monitor_waits\":");
    let mut waits = waits.iter().filter(in_wait);
    assert!(waits.all(|record| record.contains(r#""stack":[{"fn":"java.lang.Object.wait""#)));
    // These events have no state. The JVM numbers its states from 0, which is `STATE_NEW`.
    let stacks = parsed.records_of_type("stack");
    let mut waits = stacks
        .iter()
        .filter(|record| record.contains(r#""samples":0"#));
    assert!(waits.all(|record| !record.contains(r#""state""#)));
}

#[test]
fn samples_of_sleeping_threads_are_separate_also_by_the_wall_clock() {
    let mut asleep = ASYNC.to_vec();
    let state = asleep
        .windows(14)
        .position(|text| text == b"STATE_RUNNABLE");
    asleep[state.unwrap()..][..14].copy_from_slice(b"STATE_SLEEPING");
    let parsed = parse(&asleep);
    let total = &run_record(&parsed)["total"];
    let count = |event: &str| total[event].as_u64().unwrap_or_default();
    let counts = ["samples", "wall_samples", "sleeping_samples"].map(count);
    assert_eq!(counts.iter().sum::<u64>(), 11 + 204);
    let stacks = parsed.records_of_type("stack");
    let sleeping: u64 = stacks
        .iter()
        .filter(|record| record.contains(r#""state":"STATE_SLEEPING""#))
        .map(|record| {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            let cost = &record["cost"];
            assert_eq!(cost["samples"].as_u64().unwrap_or_default(), 0);
            cost["sleeping_samples"].as_u64().unwrap_or_default()
        })
        .sum();
    assert!(sleeping > 0);
    assert_eq!(counts[2], sleeping);
}
