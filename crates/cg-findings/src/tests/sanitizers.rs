//! Tests of reports of sanitizers.

use std::path::Path;

use super::{LogReading, PREAMBLE, SUMMARY, read};

fn report(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/sanitizers");
    std::fs::read_to_string(data.join(name)).unwrap()
}

/// Returns `kind function line size side+offset/size thread notes-with-stacks` for each error and leak.
fn summaries(reading: &LogReading) -> Vec<String> {
    let findings = reading
        .records
        .iter()
        .filter(|record| record["kind"].is_string());
    let summaries = findings.map(|record| {
        let text = |field: &str| match &record[field] {
            serde_json::Value::Null => "-".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let block = match record["block"].as_object() {
            Some(block) => format!(
                "{}+{}/{}",
                block["side"].as_str().unwrap(),
                block["offset"],
                block["size"]
            ),
            None => "-".to_owned(),
        };
        let notes = record["notes"].as_array().map_or(0, |notes| {
            notes
                .iter()
                .filter(|note| {
                    note["stack"]
                        .as_array()
                        .is_some_and(|stack| !stack.is_empty())
                })
                .count()
        });
        format!(
            "{} {} {} {} {block} {} {notes}",
            text("kind"),
            text("fn"),
            text("line"),
            text("size"),
            text("thread")
        )
    });
    summaries.collect()
}

#[test]
fn each_kind_of_report_becomes_its_record() {
    for (name, tool, expected) in [
        (
            "gcc-12-heap-buffer-overflow.log",
            "asan",
            &["heap-buffer-overflow heap_over(int) 15 1 after+2/10 0 1"][..],
        ),
        (
            "clang-14-use-after-free.log",
            "asan",
            &["heap-use-after-free use_after_free() 17 1 inside+3/16 0 2"],
        ),
        (
            "clang-14-stack-buffer-overflow.log",
            "asan",
            &["stack-buffer-overflow stack_over(int) 18 4 - 0 1"],
        ),
        (
            "clang-14-thread.log",
            "asan",
            &["heap-buffer-overflow heap_over(int) 15 1 after+2/10 1 2"],
        ),
        (
            "gcc-12-double-free.log",
            "asan",
            &["double-free double_free() 20 - inside+0/8 0 2"],
        ),
        (
            "gcc-12-new-delete-type-mismatch.log",
            "asan",
            &["new-delete-type-mismatch new_delete_size() 23 - inside+0/32 0 1"],
        ),
        (
            "gcc-12-segv.log",
            "asan",
            &["FatalSignal null_deref(int volatile*) 28 - - 0 0"],
        ),
        (
            "gcc-12-colours.log",
            "asan",
            &["heap-buffer-overflow heap_over(int) 15 1 after+2/10 0 1"],
        ),
        (
            "hwasan.log",
            "hwasan",
            &["tag-mismatch fill(char*) 5 1 after+0/4 0 1"],
        ),
        (
            "clang-14-msan-heap.log",
            "msan",
            &["use-of-uninitialized-value branch(int*) 4 - - - 1"],
        ),
        (
            "clang-14-data-race.log",
            "tsan",
            &["data-race named(void*) 14 4 - 2 4"],
        ),
        (
            "gcc-12-deadlock.log",
            "tsan",
            &["lock-order-inversion ab 17 - - 1 5"],
        ),
        (
            "gcc-12-thread-leak.log",
            "tsan",
            &["thread-leak main 28 - - 0 0", "thread-leak main 28 - - 0 0"],
        ),
        (
            "clang-14-destroy-locked.log",
            "tsan",
            &["destroy-of-a-locked-mutex main 30 - - - 3"],
        ),
        (
            "rustc-data-race.log",
            "tsan",
            &["data-race rs::main::{closure#0} 13 8 - 1 2"],
        ),
        (
            "go-1.19-race.log",
            "tsan",
            &["data-race main.(*box).add 12 - - 8 3"],
        ),
        (
            "rustc-use-after-free-mangled.log",
            "asan",
            &["heap-use-after-free rs::uaf 4 1 inside+1/3 0 2"],
        ),
        (
            "clang-14-ubsan-stacks.log",
            "ubsan",
            &[
                "signed-integer-overflow overflow(int) 8 - - - 0",
                "shift-exponent int shift<int>(int) 9 - - - 0",
                "bounds main 13 - - - 0",
                "bool main 15 - - - 0",
                "float-cast-overflow main 16 - - - 0",
                "pointer-overflow main 17 - - - 0",
                "vptr main 18 - - - 0",
                "signed-integer-overflow main 19 - - - 0",
                "builtin main 21 - - - 0",
            ],
        ),
        (
            "clang-14-leaks.log",
            "asan",
            &[
                "definite Store<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::take(unsigned long) 13 - - - 0",
                "definite leak() 34 - - - 0",
                "definite leak() 34 - - - 0",
                "indirect leak() 34 - - - 0",
            ],
        ),
    ] {
        let reading = read(report(name));
        assert_eq!(reading.errors, [""; 0], "{name}");
        assert_eq!(reading.records[0]["tool"], tool, "{name}");
        assert_eq!(summaries(&reading), expected, "{name}");
    }
}

#[test]
fn leaks_sum_to_their_summary() {
    for (name, direct, indirect) in [
        ("clang-14-leaks.log", [127, 5], [100, 1]),
        ("gcc-12-leaks-unsymbolized.log", [127, 5], [100, 1]),
        ("clang-14-leaks-suppressed.log", [23, 4], [100, 1]),
        // The report prints only 104 bytes in 1 block, of 227 bytes in 6 blocks.
        ("clang-14-max-leaks.log", [227, 6], [0, 0]),
        ("rustc-leaks.log", [32, 1], [132, 2]),
    ] {
        let reading = read(report(name));
        assert_eq!(
            (&reading.errors, &reading.warnings),
            (&vec![], &vec![]),
            "{name}"
        );
        let sums = &reading.records[0]["leak_summary"];
        for (kind, [bytes, blocks]) in [("definite", direct), ("indirect", indirect)] {
            assert_eq!(
                (&sums[kind]["bytes"], &sums[kind]["blocks"]),
                (&bytes.into(), &blocks.into()),
                "{name}: {kind}"
            );
        }
    }
    let wrong = report("clang-14-leaks.log").replace("227 byte(s)", "228 byte(s)");
    let reading = read(wrong);
    assert_eq!(reading.errors.len(), 1);
    assert!(
        reading.errors[0].contains(
            "has 228 bytes in 6 allocations in its SUMMARY, but its leaks sum to 227 bytes in 6"
        ),
        "{:?}",
        reading.errors
    );
}

#[test]
fn the_sanitizers_number_of_reports_is_checked() {
    let name = "gcc-12-thread-leak.log";
    let text = report(name);
    assert_eq!(
        read(text.clone()).records[0]["error_summary"]["contexts"],
        2
    );
    let more = read(text.replace("reported 2 warnings", "reported 3 warnings"));
    assert_eq!(more.warnings.len(), 1);
    assert!(
        more.warnings[0].contains("counts 3 reports, but 2 were read"),
        "{:?}",
        more.warnings
    );
    let unfinished = read(text.replace("ThreadSanitizer: reported 2 warnings\n", ""));
    assert_eq!(unfinished.records[0]["unfinished"], true);
    assert_eq!(read(text).records[0]["unfinished"], serde_json::Value::Null);
}

#[test]
fn decorations_of_ci_services_and_terminals_are_ignored() {
    type Decorate = fn(&str) -> String;
    let decorations: [Decorate; 5] = [
        |line| format!("2024-05-01T10:00:00.1234567Z {line}"),
        |line| format!("test-1  | {line}"),
        |line| format!("{line}\r"),
        |line| format!("{line}\u{1b}[0m"),
        |line| format!("\u{1b}[36mapp_1 |\u{1b}[0m {line}\u{1b}[K"),
    ];
    for name in [
        "gcc-12-heap-buffer-overflow.log",
        "clang-14-leaks.log",
        "gcc-12-deadlock.log",
        "go-1.19-race.log",
        "clang-14-ubsan-stacks.log",
        "clang-14-msan-heap.log",
        "gcc-12-segv.log",
    ] {
        let text = report(name);
        let plain = read(text.clone());
        for decorate in decorations {
            let decorated: String = text.lines().map(|line| decorate(line) + "\n").collect();
            let reading = read(decorated.clone());
            assert_eq!(reading.errors, [""; 0], "{decorated}");
            assert_eq!(reading.records, plain.records, "{decorated}");
        }
    }
}

#[test]
fn reports_may_be_mixed_with_lines_of_valgrind_and_the_program() {
    let sanitizer = report("gcc-12-heap-buffer-overflow.log");
    let alone = read(sanitizer.clone());
    let valgrind = [PREAMBLE, SUMMARY].concat();
    let mut mixed = String::new();
    let mut lines = valgrind.lines();
    for line in sanitizer.lines() {
        mixed += &format!("{line}\nprogram output\n");
        if let Some(line) = lines.next() {
            mixed += &format!("{line}\n");
        }
    }
    let reading = read(mixed);
    assert_eq!(reading.errors, [""; 0]);
    let sections = reading.records_of_type("run");
    assert_eq!(sections.len(), 2);
    assert_eq!(
        (&sections[0]["tool"], &sections[1]["tool"]),
        (&"memcheck".into(), &"asan".into())
    );
    assert_eq!(
        reading.records_of_type("error"),
        alone.records_of_type("error")
    );
}

#[test]
fn a_pid_can_be_reused_after_its_process_ended() {
    let one = report("gcc-12-heap-buffer-overflow.log");
    let reading = read(one.clone() + &one);
    assert_eq!(reading.records_of_type("run").len(), 2);
    // If the process continues, all its reports belong to one section.
    let recovered = read(report("clang-14-recover.log"));
    assert_eq!(recovered.records_of_type("run").len(), 1);
    assert_eq!(
        (
            recovered.records_of_type("error").len(),
            recovered.records_of_type("leak").len()
        ),
        (2, 4)
    );
}

/// Every prefix is read without a panic. It is complete, or the open report is reported as cut short.
#[test]
fn an_incomplete_prefix_of_a_report_is_an_error() {
    for (name, whole_from) in [
        ("gcc-12-heap-buffer-overflow.log", "  Right alloca redzone:"),
        ("gcc-12-segv.log", "==6437==ABORTING"),
        (
            "clang-14-leaks.log",
            "SUMMARY: AddressSanitizer: 227 byte(s) leaked in 6 allocation(s)",
        ),
        (
            "clang-14-data-race.log",
            "in named(void*)\n==================",
        ),
        ("go-1.19-race.log", "+0x2dd\n=================="),
        ("clang-14-msan-heap.log", "in branch(int*)\n"),
        ("gcc-12-ubsan.log", "type 'int'\n"),
    ] {
        let text = report(name);
        let end = text.find(whole_from).unwrap() + whole_from.len();
        for length in (0..text.len()).filter(|length| text.is_char_boundary(*length)) {
            let reading = read(&text.as_bytes()[..length]);
            let is_reported = !reading.errors.is_empty();
            assert!(length >= end || is_reported, "{name}: {}", &text[..length]);
        }
        assert_eq!(
            read(text[..end].to_owned() + "\n").errors,
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn a_log_without_blank_lines_is_read() {
    let name = "clang-14-ubsan-stacks.log";
    let without: String = report(name)
        .split_inclusive('\n')
        .filter(|line| !line.trim().is_empty())
        .collect();
    let reading = read(without);
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(
        reading.records_of_type("error"),
        read(report(name)).records_of_type("error")
    );
}

#[test]
fn lines_without_their_report_are_errors() {
    for (line, words) in [
        (
            "==7==LeakSanitizer has encountered a fatal error.\n",
            "has a failure of the sanitizer, which checked nothing after it",
        ),
        (
            "AddressSanitizer:DEADLYSIGNAL\n",
            "announces a signal but ends before its report",
        ),
        (
            "    testing.go:1319: race detected during execution of test\n",
            "is missing, although a test failed because of a race",
        ),
        (
            "SUMMARY: AddressSanitizer: heap-use-after-free a.c:1 in f\n",
            "has a SUMMARY but no report",
        ),
        (
            "ThreadSanitizer: reported 2 warnings\n",
            "counts reports that the log lacks",
        ),
        ("==7==ABORTING\n", "has ABORTING but no report"),
    ] {
        let reading = read(line);
        assert_eq!(reading.errors.len(), 1, "{line}");
        assert!(reading.errors[0].contains(words), "{:?}", reading.errors);
        assert_eq!(reading.records_of_type("end").len(), 0);
    }
}

/// Returns the events of `go test -json` for lines of several packages in turn.
fn go_events(logs: &[(&str, &str)]) -> String {
    let longest = logs.iter().map(|(_, log)| log.lines().count()).max();
    let mut events = String::new();
    for number in 0..longest.unwrap_or(0) {
        for (package, log) in logs {
            let Some(line) = log.lines().nth(number) else {
                continue;
            };
            // A long line can be in several events.
            let (start, end) = line.split_at(line.len() / 2);
            for output in [start.to_owned(), format!("{end}\n")] {
                let event = serde_json::json!({
                    "Action": "output", "Package": package, "Test": "TestA", "Output": output,
                });
                events.push_str(&format!("{event}\n"));
            }
        }
    }
    events
}

#[test]
fn events_of_go_test_have_the_findings_of_each_packages_output() {
    let race = report("go-1.19-race.log");
    let test = report("go-1.19-test.log");
    let of = |log: &str| summaries(&read(log));
    let clean = "=== RUN   TestC\nPASS\n";
    let reading = read(go_events(&[("a", &race), ("b", &test), ("c", clean)]));
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(summaries(&reading), [of(&race), of(&test)].concat());
    let commands = reading.records_of_type("run");
    let commands = commands.iter().map(|run| run["command"].clone());
    assert_eq!(commands.collect::<Vec<_>>(), ["a.test", "b.test"]);
    let clean = read(go_events(&[("c", clean)]));
    assert!(
        clean.errors[0].contains("no message of"),
        "{:?}",
        clean.errors
    );
}

#[test]
fn a_blank_after_the_pid_changes_nothing() {
    let new = report("gcc-12-heap-buffer-overflow.log");
    let old = new.replace("==ERROR: ", "== ERROR: ");
    let old = old.replace("==ABORTING", "== ABORTING");
    assert_ne!(new, old);
    assert_eq!(read(old.clone()).records, read(new).records);
    // A clean log of Valgrind before it.
    let reading = read([PREAMBLE, SUMMARY, &old].concat());
    assert_eq!(summaries(&reading), summaries(&read(old)));
}

#[test]
fn reports_of_the_minimal_runtime_have_only_a_check() {
    let reading = read("ubsan: add-overflow\nubsan: type-mismatch by 0x55d0c4e0\nubsan: done\n");
    let kinds = reading.records_of_type("error");
    let kinds = kinds.iter().map(|error| error["kind"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["add-overflow", "type-mismatch"]);
    assert_eq!(reading.errors, [""; 0]);
    // The runtime stops after twenty different places.
    let stopped = read("ubsan: add-overflow\nubsan: too many errors\n");
    assert_eq!(stopped.errors.len(), 1, "{:?}", stopped.errors);
}
