use cg_reader::{Options, Snapshots};
use parsed::{Parsed, check_all_prefixes};

/// Written by hand. `leak` of `a.c` calls malloc with `wrap` inlined, for 3 blocks of 16 bytes. One of them is freed
/// immediately and one later. `main` temporarily has a block of 256 bytes. Strings: 1 `/bin/p`, 2 `wrap`, 3 `a.c`, 4 `leak`,
/// 5 `main`.
const BODY: &str = "i 10 1 2 3 7 4 3 9\ni 20 1 5 3 14\nt 2 0\nt 1 1\na 100 1\na 10 2\n+ 1\n+ 1\n- 1\nc a\nR 2\n+ 0\n+ 1\n- 0\n- 1\nc 1e\nR 3\n\n# strings: 5\n# ips: 2\n";

const SIZED: &str = "s 6 /bin/p\ns 4 wrap\ns 3 a.c\ns 4 leak\ns 4 main\n";
const UNSIZED: &str = "s /bin/p\ns wrap\ns a.c\ns leak\ns main\n";

const POINTS: [&str; 2] = [
    r#""fn":"main","file":"a.c","line":20,"obj":"/bin/p","cost":{"total_bytes":256,"allocations":1,"peak_bytes":256},"stack":[{"fn":"main","file":"a.c","line":20,"obj":"/bin/p","addr":"0x20"}]}"#,
    r#""fn":"wrap","file":"a.c","line":7,"obj":"/bin/p","cost":{"total_bytes":48,"allocations":3,"temporary":1,"peak_bytes":32,"leaked_bytes":16},"stack":[{"fn":"wrap","file":"a.c","line":7,"obj":"/bin/p","addr":"0x10","inlined":true},{"fn":"leak","file":"a.c","line":9,"obj":"/bin/p","addr":"0x10"},{"fn":"main","file":"a.c","line":20,"obj":"/bin/p","addr":"0x20"}]}"#,
];

fn sized(command: &str) -> String {
    format!("v 10400 3\nX {command}\nI 1000 10\n{SIZED}{BODY}")
}

fn read(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

fn check_points(text: &str) {
    let parsed = read(text);
    assert_eq!(parsed.messages, [""; 0], "{text}");
    assert_eq!(parsed.records_of_type("program_point"), POINTS, "{text}");
    assert!(parsed.is_whole());
}

#[test]
fn a_recording_is_replayed() {
    let text = sized("./p -x");
    let parsed = read(&text);
    assert_eq!(
        parsed.records_of_type("run"),
        [
            r#""stream":1,"tool":"heaptrack","creator":"heaptrack 1.4.0","command":"./p -x","source":["in"],"events":["total_bytes","allocations","temporary","peak_bytes","leaked_bytes"],"total":{"total_bytes":304,"allocations":4,"temporary":1,"peak_bytes":288,"leaked_bytes":16},"time_unit":"ms","duration":30000000,"units":{"leaked_bytes":"bytes","peak_bytes":"bytes","total_bytes":"bytes"}}"#
        ]
    );
    // The first stamp, the peak after it, and the second stamp.
    assert_eq!(
        parsed.records_of_type("snapshot"),
        [
            r#""snapshot":0,"time":10,"heap_bytes":16,"extra_bytes":0,"stacks_bytes":0,"rss_bytes":8192,"detail":"empty"}"#,
            r#""snapshot":1,"time":10,"heap_bytes":288,"extra_bytes":0,"stacks_bytes":0,"rss_bytes":8192,"detail":"peak"}"#,
            r#""snapshot":2,"time":30,"heap_bytes":16,"extra_bytes":0,"stacks_bytes":0,"rss_bytes":12288,"detail":"empty"}"#,
        ]
    );
    check_points(&text);
}

#[test]
fn snapshots_all_writes_the_heap_at_each_stamp() {
    let options = Options {
        snapshots: Snapshots::All,
        ..Options::default()
    };
    let parsed = parsed::read(super::parse, sized("./p").as_bytes(), &options);
    assert!(parsed.is_whole());
    let totals = r#""total_bytes":304,"allocations":4,"temporary":1,"peak_bytes":288,"leaked_bytes":16,"bytes":320}"#;
    assert!(
        parsed.records_of_type("run")[0].contains(totals),
        "{:?}",
        parsed.messages
    );
    assert_eq!(parsed.records_of_type("program_point"), POINTS);
    let details: Vec<bool> = parsed
        .records_of_type("snapshot")
        .iter()
        .map(|snapshot| snapshot.ends_with(r#""detail":"detailed"}"#))
        .collect();
    assert_eq!(details, [true, false, true]);
    // Computed by hand: one block of 16 bytes; two blocks of 16 bytes and one of 256; one block of 16 bytes.
    let stack = |point: &str| point[point.find("\"stack\"").unwrap()..].to_owned();
    let wrap = |snapshot: &str, bytes: u64| {
        format!(
            r#""fn":"wrap","file":"a.c","line":7,"obj":"/bin/p",{snapshot},"cost":{{"bytes":{bytes}}},{}"#,
            stack(POINTS[1])
        )
    };
    assert_eq!(
        parsed.records_of_type("heap"),
        [
            wrap(r#""snapshot":0,"peak":false"#, 16),
            format!(
                r#""fn":"main","file":"a.c","line":20,"obj":"/bin/p","snapshot":1,"peak":true,"cost":{{"bytes":256}},{}"#,
                stack(POINTS[0])
            ),
            wrap(r#""snapshot":1,"peak":true"#, 32),
            wrap(r#""snapshot":2,"peak":false"#, 16),
        ]
    );
}

#[test]
fn every_tree_belongs_to_a_snapshot() {
    // At the end, the heap is at its peak, as large as at the last stamp, or different. The last recordings have no stamp,
    // or no events.
    for (events, levels) in [
        ("+ 0\nc a\n+ 0\n", &[16, 32][..]),
        ("+ 0\nc a\n+ 0\n- 0\n", &[16, 32, 16]),
        ("+ 0\nc a\n+ 0\n- 0\n- 0\n", &[16, 32, 0]),
        ("+ 0\n+ 0\n- 0\n", &[32, 16]),
        ("+ 0\n", &[16]),
        ("", &[]),
    ] {
        let text = format!(
            "v 10400 3\nX ./p\nI 1000 10\ns 1 f\ni 1 0 1\nt 1 0\na 10 1\n{events}# strings: 1\n"
        );
        let options = Options {
            snapshots: Snapshots::All,
            ..Options::default()
        };
        let parsed = parsed::read(super::parse, text.as_bytes(), &options);
        assert!(parsed.is_whole(), "{events}: {:?}", parsed.messages);
        let number = |record: &str, field: &str| -> u64 {
            let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            record.pointer(field).unwrap().as_u64().unwrap()
        };
        let snapshots = parsed.records_of_type("snapshot");
        let found: Vec<u64> = snapshots
            .iter()
            .map(|one| number(one, "/heap_bytes"))
            .collect();
        assert_eq!(found, levels, "{events}");
        let held = parsed
            .records_of_type("heap")
            .into_iter()
            .map(|one| number(one, "/cost/bytes"));
        assert_eq!(held.sum::<u64>(), levels.iter().sum::<u64>(), "{events}");
        let total = number(parsed.records_of_type("run")[0], "/total/bytes");
        assert_eq!(total, levels.iter().sum::<u64>(), "{events}");
    }
}

#[test]
fn small_traces_are_summed_by_the_function_to_blame() {
    // 976 bytes at one trace. 6 bytes per trace at three traces of one function and two traces of another: 1.8 % and 1.2 %.
    // 2 bytes at another trace.
    let mut text =
        "v 10400 3\nX ./p\nI 1000 10\ns 3 a.c\ns 3 big\ns 3 own\ns 3 two\ns 3 few\n".to_owned();
    let places = [(2, 1), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (5, 1)];
    for (at, (function, line)) in (1..).zip(places) {
        text += &format!("i {at} 0 {function} 1 {line}\nt {at} 0\n");
    }
    for (at, size) in (1..).zip([976, 6, 6, 6, 6, 6, 2]) {
        text += &format!("a {size:x} {at}\n+ {:x}\n", at - 1);
    }
    text += "c a\n# strings: 5\n";
    let options = Options {
        snapshots: Snapshots::All,
        ..Options::default()
    };
    let parsed = parsed::read(super::parse, text.as_bytes(), &options);
    assert!(parsed.is_whole(), "{:?}", parsed.messages);
    // The peak precedes the stamp.
    let records: Vec<String> = parsed.records_of_type("heap")[..4]
        .iter()
        .map(|record| (*record).to_owned())
        .collect();
    assert_eq!(
        records,
        [
            r#""fn":"big","file":"a.c","line":1,"snapshot":0,"peak":true,"cost":{"bytes":976},"stack":[{"fn":"big","file":"a.c","line":1,"addr":"0x1"}]}"#,
            r#""fn":"own","file":"a.c","snapshot":0,"peak":true,"cost":{"bytes":18},"places":3,"stack":[{"fn":"own","file":"a.c"}]}"#,
            r#""fn":"two","file":"a.c","snapshot":0,"peak":true,"cost":{"bytes":12},"places":2,"stack":[{"fn":"two","file":"a.c"}]}"#,
            r#""snapshot":0,"peak":true,"cost":{"bytes":2},"places":1,"stack":[]}"#,
        ]
    );
}

#[test]
fn all_formats_have_the_same_records() {
    let unsized_strings = format!("I 1000 10\n{UNSIZED}{BODY}");
    for head in [
        "v 10100 2\nX ./p\n",
        "v 10000 1\nX ./p\n",
        "v 10200\nX ./p\n",
    ] {
        check_points(&format!("{head}{unsized_strings}"));
    }
    // Frees contain the addresses of blocks, and one address is used twice.
    let body = BODY
        .replace(
            "a 100 1\na 10 2\n+ 1\n+ 1\n- 1\n",
            "+ 10 2 f0\n+ 10 2 f8\n- f8\n",
        )
        .replace(
            "+ 0\n+ 1\n- 0\n- 1\n",
            "+ 100 1 f8\n+ 10 2 fc\n- f8\n- fc\n- ee\n",
        );
    let oldest = read(&format!("v 10000 0\nX ./p\n{UNSIZED}{body}"));
    assert_eq!(oldest.records_of_type("program_point"), POINTS);
    assert_eq!(
        oldest.messages,
        [
            "in: 1 free of a block that was allocated before heaptrack was attached; it is not counted"
        ]
    );
    assert!(oldest.is_whole());
}

#[test]
fn a_command_of_several_lines_is_read_completely() {
    let command = "python3 -c \nimport json\ns=json.dumps(1)\nI = 3\n+ 0\n";
    let text = sized(command);
    check_points(&text);
    let run = read(&text).records_of_type("run")[0].to_owned();
    let expected = r#""command":"python3 -c \nimport json\ns=json.dumps(1)\nI = 3\n+ 0\n","#;
    assert!(run.contains(expected), "{run}");
    // A recording without facts about the machine.
    check_points(
        &text
            .replace(command, "./p")
            .replace("I 1000 10\n", "")
            .replace("R 2\n", "")
            .replace("R 3\n", ""),
    );
}

#[test]
fn strings_must_have_their_recorded_sizes() {
    let text = sized("./p").replace("s 6 /bin/p", "s 8 /bin\n/\u{e9}");
    let point = read(&text).records_of_type("program_point")[0].to_owned();
    assert!(point.contains(r#""obj":"/bin\n/é""#), "{point}");
    for (wrong, message) in [
        ("s 5 /bin/p\n", "in:4: a string of 5 bytes has 6"),
        ("s 7 /bin/p\n", "in:5: a string of 7 bytes has 15"),
        (
            "s ffffffffffffffff /bin/p\n",
            "in:28: the recording is cut short: allocations and frees after this line are missing",
        ),
        (
            "s /bin/p\n",
            "in:4: expected a line of a heaptrack recording, found \"s /bin/p\"",
        ),
    ] {
        let parsed = read(&sized("./p").replace("s 6 /bin/p\n", wrong));
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.has_errors);
    }
}

#[test]
fn half_demangled_rust_names_are_completed() {
    let name = "_$LT$T$u20$as$u20$demo..Work$GT$::run::h64bbc2df299ab37d";
    let text = sized("./p").replace("s 4 main\n", &format!("s {:x} {name}\n", name.len()));
    let shown = |text: &str, demangle| {
        let options = Options {
            demangle,
            ..Options::default()
        };
        parsed::read(super::parse, text.as_bytes(), &options).records_of_type("program_point")[0]
            .to_owned()
    };
    let point = shown(&text, true);
    assert!(
        point.starts_with(r#""fn":"<T as demo::Work>::run","file""#),
        "{point}"
    );
    let point = shown(&text, false);
    assert!(
        point.starts_with(&format!(r#""fn":"{name}","file""#)),
        "{point}"
    );
}

#[test]
fn instruction_pointers_may_lack_names() {
    let text = sized("./p").replace("i 20 1 5 3 14\n", "i 20 1\n");
    let point = read(&text).records_of_type("program_point")[0].to_owned();
    assert_eq!(
        point,
        r#""obj":"/bin/p","cost":{"total_bytes":256,"allocations":1,"peak_bytes":256},"stack":[{"obj":"/bin/p","addr":"0x20"}]}"#
    );
    for (line, frame) in [
        ("i 20 0 5\n", r#"{"fn":"main","addr":"0x20"}"#),
        (
            "i 20 1 0 3 0\n",
            r#"{"file":"a.c","obj":"/bin/p","addr":"0x20"}"#,
        ),
    ] {
        let point = read(&sized("./p").replace("i 20 1 5 3 14\n", line))
            .records_of_type("program_point")[0]
            .to_owned();
        assert!(
            point.ends_with(&format!("\"stack\":[{frame}]}}")),
            "{point}"
        );
    }
    // An empty stack.
    let parsed = read(&sized("./p").replace("a 100 1\n", "a 100 0\n"));
    assert_eq!(
        parsed.records_of_type("program_point")[0],
        r#""cost":{"total_bytes":256,"allocations":1,"peak_bytes":256},"stack":[]}"#
    );
}

#[test]
fn events_before_attaching_do_not_count() {
    let text = sized("./p").replace("c a\n", "A\nc a\n");
    let parsed = read(&text);
    // The first block and its free are gone. All other freed blocks were allocated later.
    assert!(parsed.records_of_type("run")[0].contains(r#""total":{"total_bytes":272,"allocations":2,"temporary":0,"peak_bytes":272,"leaked_bytes":0}"#), "{:?}", parsed.records_of_type("run"));
    assert!(parsed.records_of_type("run")[0].contains(r#""attached":true"#));
    assert!(parsed.is_whole());
}

#[test]
fn suppressed_leaks_are_counted_separately() {
    let with = |pattern: &str| {
        let parsed = read(&sized("./p").replace(
            "s 6 /bin/p\n",
            &format!("S {pattern}\nS # known\ns 6 /bin/p\n"),
        ));
        assert_eq!(parsed.messages, [""; 0]);
        parsed
    };
    for (pattern, leaked, suppressed) in [
        ("leak:^leak$", 0, 16),
        ("leak:a.c", 0, 16),
        ("leak:other", 16, 0),
    ] {
        let run = with(pattern).records_of_type("run")[0].to_owned();
        let total = format!(r#""leaked_bytes":{leaked},"suppressed_bytes":{suppressed}}}"#);
        assert!(run.contains(&total), "{run}");
    }
    assert!(with("leak:x").records_of_type("run")[0].contains(r#""leak_suppressions":["x"]"#));
}

#[test]
fn an_impossible_line_is_an_error_after_the_readable_part() {
    for (from, to, message) in [
        ("t 1 1\n", "t 1 2\n", "in:12: there is no trace 2 yet"),
        (
            "t 1 1\n",
            "t 3 1\n",
            "in:12: there is no instruction pointer 3",
        ),
        (
            "i 20 1 5 3 14\n",
            "i 20 1 5 6 14\n",
            "in:10: there is no string 6",
        ),
        (
            "i 20 1 5 3 14\n",
            "i 20 1 5 3\n",
            "in:10: expected a line of a heaptrack recording, found \"i 20 1 5 3\"",
        ),
        (
            "i 20 1 5 3 14\n",
            "i 20 1 5 3 14 2\n",
            "in:10: expected a line of a heaptrack recording, found \"i 20 1 5 3 14 2\"",
        ),
        ("a 100 1\n", "a 100 3\n", "in:13: there is no trace 3"),
        (
            "a 100 1\n",
            "a 100 100000000\n",
            "in:13: there is no index 100000000",
        ),
        ("+ 0\n", "+ 2\n", "in:20: there is no allocation 2"),
        (
            "+ 0\n",
            "+ ffffffffffffffff\n",
            "in:20: there is no allocation ffffffffffffffff",
        ),
        (
            "+ 0\n",
            "+ 1ffffffffffffffff\n",
            "in:20: expected a line of a heaptrack recording, found \"+ 1ffffffffffffffff\"",
        ),
        (
            "+ 0\n",
            "- 1\n",
            "in:22: a block of allocation 0 is freed, but no block is live",
        ),
        (
            "c a\n",
            "c -1\n",
            "in:18: expected a line of a heaptrack recording, found \"c -1\"",
        ),
        (
            "R 2\n",
            "Q 2\n",
            "in:19: expected a line of a heaptrack recording, found \"Q 2\"",
        ),
        (
            "R 2\n",
            "v 10400 3\n",
            "in:19: a second recording begins here",
        ),
        (
            "v 10400 3\n",
            "v 10700 4\n",
            "in:1: heaptrack's format 4 is not supported; the newest supported format is 3",
        ),
        (
            "X ./p\n",
            "x ./p\n",
            "in:2: this is a raw recording of heaptrack; zstd -dcf FILE | PATH=$PATH:/usr/lib/heaptrack/libexec heaptrack_interpret | cg-parse, on the machine where it was recorded",
        ),
    ] {
        let text = sized("./p").replacen(from, to, 1);
        let parsed = read(&text);
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.has_errors && !parsed.is_whole());
        // The first kind of allocation is on line 13.
        let line: u64 = message[3..].split(':').next().unwrap().parse().unwrap();
        assert_eq!(parsed.records.is_empty(), line <= 13, "{message}");
    }
}

#[test]
fn sums_beyond_64_bits_are_errors() {
    let large = sized("./p").replace("a 100 1\n", "a ffffffffffffffff 1\n");
    let parsed = read(&large);
    assert_eq!(
        parsed.messages,
        ["in:20: the number of live bytes does not fit in 64 bits"]
    );
    // The sum overflows, although the blocks are not live at the same time.
    let twice = "a ffffffffffffffff 1\n+ 2\n- 2\n+ 2\n- 2\n+ 1\n";
    let parsed = read(&sized("./p").replacen("+ 1\n", twice, 1));
    assert_eq!(
        parsed.messages,
        ["in: a sum of bytes does not fit in 64 bits"]
    );
    assert!(parsed.has_errors);
}

#[test]
fn a_stack_longer_than_the_maximum_is_an_error() {
    let mut text = String::from("v 10400 3\nX p\nI 1000 1\ni 1 0\n");
    for trace in 0..20_000 {
        text += &format!("t 1 {trace:x}\n");
    }
    let parsed = read(&text);
    assert_eq!(
        parsed.messages,
        ["in:16389: a stack has more than 16384 frames"]
    );
}

#[test]
fn a_truncated_recording_is_an_error() {
    let text = sized("./p");
    check_all_prefixes(super::parse, text.as_bytes(), &Options::default());
    // The recording is also truncated if it ends after a complete line.
    let cut = &text[..text.find("- 0\n").unwrap()];
    let parsed = read(cut);
    assert_eq!(
        parsed.messages,
        ["in:21: the recording is cut short: allocations and frees after this line are missing"]
    );
    assert!(parsed.records_of_type("run")[0].contains(r#""leaked_bytes":288"#));
    assert!(!parsed.is_whole());
    // Only a comment is missing.
    let parsed = read(text.trim_end());
    assert!(parsed.is_whole() && !parsed.has_errors);
    // The recording of a killed program has no last time stamp, but it is complete.
    let parsed = read(&text.replace("c 1e\nR 3\n", ""));
    assert_eq!(
        parsed.messages,
        [
            "in: the heap changes after the last time stamp, so the program did not exit normally: leaked_bytes are the bytes that were live when the recording ended"
        ]
    );
    assert!(parsed.is_whole() && !parsed.has_errors);
}
