//! The event of a sample, and its count.

use super::*;

#[test]
fn counters_read_with_a_sample_count_as_samples_of_their_events() {
    const TIMES: u64 = 3;
    const ID_OF_EACH: u64 = 4;
    const GROUP: u64 = 8;
    const LOST_OF_EACH: u64 = 16;
    const INHERIT: u64 = 2;
    let fields = IDENTIFIER | IP | TID | TIME | READ;
    // The figures are perf's: the growth of each counter since the previous sample; no sample if it did not grow.
    let total = |formats: u64, flags: u64, samples: &[(u32, &[u64])]| {
        let mut pipe = Pipe::little(fields)
            .event_read(1, fields, [10, formats, flags], &[5])
            .event_read(2, fields, [10, formats, flags], &[6]);
        for (time, (tid, read)) in samples.iter().enumerate() {
            let mut parts = vec![U64(5), U64(0x1010), U32(7), U32(*tid), U64(time as u64 + 1)];
            parts.extend(read.iter().map(|word| U64(*word)));
            pipe = pipe.record(kind::SAMPLE, USER_MODE, &parts);
        }
        let read = pipe.read_below(&[]);
        let run = read.records.first().map_or("{}", String::as_str);
        let run: serde_json::Value = serde_json::from_str(run).unwrap();
        (run["total"].to_string(), read.is_whole())
    };
    let both = ID_OF_EACH | GROUP;
    let two: &[(u32, &[u64])] = &[(7, &[2, 100, 5, 3, 6]), (7, &[2, 130, 5, 3, 6])];
    let timed: &[(u32, &[u64])] = &[
        (7, &[2, 77, 77, 100, 5, 0, 3, 6, 0]),
        (7, &[2, 78, 78, 130, 5, 0, 3, 6, 0]),
    ];
    let whole = r#"{"page-faults":3,"samples":3,"task-clock":130}"#;
    assert_eq!(total(both, 0, two), (whole.to_owned(), true));
    let formats = both | TIMES | LOST_OF_EACH;
    assert_eq!(total(formats, 0, timed), (whole.to_owned(), true));
    // A single event, whose times follow its value.
    let alone: &[(u32, &[u64])] = &[(7, &[100, 77, 77, 5]), (7, &[130, 77, 77, 5])];
    let one = r#"{"samples":2,"task-clock":130}"#;
    assert_eq!(total(ID_OF_EACH | TIMES, 0, alone), (one.to_owned(), true));
    // A thread that inherited the events has separate counts.
    let threads: &[(u32, &[u64])] = &[(7, &[2, 100, 5, 3, 6]), (8, &[2, 130, 5, 3, 6])];
    let each = r#"{"page-faults":6,"samples":4,"task-clock":230}"#;
    assert_eq!(total(both, INHERIT, threads), (each.to_owned(), true));
    // An unknown id, and more values than fit into the record.
    let unknown: &[(u32, &[u64])] = &[(7, &[2, 100, 5, 3, 66])];
    let known = r#"{"samples":1,"task-clock":100}"#;
    assert_eq!(total(both, 0, unknown), (known.to_owned(), false));
    for count in [3, u64::MAX] {
        assert!(!total(both, 0, &[(7, &[count, 100, 5, 3, 6])]).1, "{count}");
    }
    // Without ids, the sample counts for its own event, with the event's period.
    let nameless: &[(u32, &[u64])] = &[(7, &[2, 100, 3])];
    let own = r#"{"samples":1,"task-clock":10}"#;
    assert_eq!(total(GROUP, 0, nameless), (own.to_owned(), true));
}

#[test]
fn events_are_found_by_id_and_the_period_of_a_sample_takes_precedence() {
    let fields = IDENTIFIER | IP | TID | TIME;
    let sample = |pipe: Pipe, id: u64, time: u64| {
        pipe.record(
            kind::SAMPLE,
            USER_MODE,
            &[U64(id), U64(0x1010), U32(7), U32(7), U64(time)],
        )
    };
    let pipe = Pipe::little(fields).event(2, fields, 10, &[5, 6]);
    let pipe = sample(sample(sample(pipe, 6, 1), 1, 2), 5, 3);
    let read = pipe.read_below(&[]);
    assert!(read.is_whole(), "{:?}", read.messages);
    let run: serde_json::Value = serde_json::from_str(&read.records[0]).unwrap();
    let total = serde_json::json!({"page-faults": 20, "cpu-clock": 4000, "samples": 3});
    assert_eq!(run["total"], total);
    let unknown = sample(pipe, 99, 4).read_below(&[]);
    let expected = "in: records omitted because they are too short or their event is unknown: 1";
    assert_eq!(
        (unknown.is_whole(), unknown.messages),
        (false, vec![expected.to_owned()])
    );

    let own = IP | TID | TIME | PERIOD;
    let pipe = Pipe::little(own).record(
        kind::SAMPLE,
        USER_MODE,
        &[U64(0x1010), U32(7), U32(7), U64(1), U64(77)],
    );
    assert_eq!(pipe.stacks(), ["77 :7: [unknown]"]);
}

#[test]
fn branches_are_skipped_and_recorded_calls_replace_the_stack_of_the_program() {
    use crate::attributes::branch_type::*;
    const ANY: u64 = 1 << 3;
    const KERNEL_AT: u64 = 0xffff_ffff_8100_0010;
    let fields = IP | TID | TIME | CALLCHAIN | BRANCH_STACK | REGS_USER | STACK_USER;
    let chain = [KERNEL, KERNEL_AT, USER, 0x1010, 0x1020];
    let calls: [&[u64]; 2] = [&[0x1230, 0x1104, 0], &[0x1340, 0x1200, 0]];
    let read = |kind: u64, chain: &[u64], count: u64, after_calls: &[u64]| {
        let mut pipe = Pipe::little(fields);
        // The field of the attribute that selects the branches.
        pipe.bytes[96..104].copy_from_slice(&kind.to_le_bytes());
        let mut words = vec![chain.len() as u64];
        words.extend(chain);
        words.push(count);
        words.extend((kind & HW_INDEX != 0).then_some(0));
        words.extend(calls.concat().iter().take(3 * count as usize));
        // Then a thread without registers and without a stack.
        words.extend(after_calls.iter().chain(&[0, 0]));
        let start = [U64(0x1010), U32(7), U32(7), U64(4)];
        let parts: Vec<Part> = start
            .into_iter()
            .chain(words.into_iter().map(U64))
            .collect();
        // A second, empty sample.
        let last = [U64(0x10), U32(7), U32(7), U64(5), U64(0), U64(0)];
        let index = (kind & HW_INDEX != 0).then_some(U64(0));
        let last: Vec<Part> = last
            .into_iter()
            .chain(index)
            .chain([U64(0), U64(0)])
            .collect();
        let pipe = pipe
            .comm(7, 0, "a", 1)
            .map(7, 0x1000, 0, "/a", 2)
            .record(kind::SAMPLE, USER_MODE, &parts)
            .record(kind::SAMPLE, USER_MODE, &last);
        let read = pipe.read_below(&[]);
        let mut shown = shown_stacks(&read);
        shown.sort();
        (shown.join(" | "), read.is_whole())
    };
    let kernel = "[unknown][kernel]";
    let by_chain = format!("4000 a: {kernel}<a+0x10@/a<a+0x20@/a");
    let by_calls = format!("4000 a: {kernel}<a+0x104@/a<a+0x230@/a<a+0x340@/a");
    for (kind, chain, count, after_calls, expected) in [
        (ANY, &chain[..], 2, &[][..], &by_chain),
        (ANY | HW_INDEX, &chain, 2, &[], &by_chain),
        (CALL_STACK | HW_INDEX, &chain, 2, &[], &by_calls),
        (CALL_STACK | COUNTERS, &chain, 2, &[8, 9], &by_calls),
        (CALL_STACK, &chain, 0, &[], &by_chain),
        // In perf, the recorded calls replace the program's part of the stack. Without such a part, they are omitted.
        (
            CALL_STACK,
            &chain[..2],
            2,
            &[],
            &format!("4000 a: {kernel}"),
        ),
    ] {
        let both = format!("4000 a: [unknown] | {expected}");
        assert_eq!(
            read(kind, chain, count, after_calls),
            (both, true),
            "{kind:#x}"
        );
    }
    let cut = read(CALL_STACK, &chain, 1 << 62, &[]);
    assert_eq!(cut, ("4000 a: [unknown]".to_owned(), false));
}
