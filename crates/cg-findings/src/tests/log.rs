//! Tests of text logs.

use serde_json::Value;

use super::read;

pub(super) const PREAMBLE: &str = "\
==7== Memcheck, a memory error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== Command: ./a
==7== Parent PID: 1
==7== 
";

pub(super) const ERROR: &str = "\
==7== Invalid read of size 4
==7==    at 0x10939A: f (a.c:18)
==7==    by 0x1096C9: main (a.c:30)
==7==  Address 0x4a435e8 is 0 bytes after a block of size 40 alloc'd
==7==    at 0x48417B4: malloc (in /v.so)
==7==    by 0x10938D: f (a.c:17)
==7== 
";

pub(super) const SUMMARY: &str = "\
==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
";

#[test]
fn a_log_becomes_a_section() {
    let reading = read([PREAMBLE, ERROR, SUMMARY].concat());
    let lines: Vec<String> = reading.records.iter().map(Value::to_string).collect();
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(lines.len(), 3);
    let run = &reading.records[0];
    assert_eq!(run["tool"], "memcheck");
    assert_eq!(run["creator"], "Valgrind-3.19.0");
    assert_eq!(run["command"], "./a");
    assert_eq!((&run["pid"], &run["ppid"]), (&7.into(), &1.into()));
    assert_eq!(run["complete"], true);
    assert_eq!(run["total"]["count"], 1);
    let error = &reading.records[1];
    assert_eq!(error["fn"], "f");
    assert_eq!(error["line"], 18);
    assert_eq!(error["thread"], 1);
    assert_eq!(error["notes"][0]["stack"][0]["fn"], "malloc");
    assert_eq!(reading.records[2]["records"], 1);
}

#[test]
fn an_error_that_is_printed_twice_has_the_count_of_the_second_printing() {
    let again = "\
==7== 
==7== 12 errors in context 1 of 1:
";
    let summary = SUMMARY.replace("1 errors", "12 errors");
    let reading = read([PREAMBLE, ERROR, &summary, again, ERROR, &summary].concat());
    assert_eq!(
        reading.findings(),
        ["InvalidRead: Invalid read of size 4 x12"]
    );
    assert_eq!(reading.warnings, [""; 0]);
    assert_eq!(reading.records[0]["complete"], true);
    // The second printing is truncated.
    let cut = read([PREAMBLE, ERROR, &summary, again, ERROR].concat());
    assert_eq!(cut.records[0]["complete"], false);
    assert_eq!(cut.errors.len(), 1);
}

#[test]
fn differences_from_valgrinds_summaries_are_reported_with_both_figures() {
    // Fewer contexts than errors.
    let other = ERROR.replace("a.c:18", "a.c:19");
    let reading = read([PREAMBLE, ERROR, &other, SUMMARY].concat());
    assert_eq!(reading.warnings.len(), 1);
    assert!(
        reading.warnings[0].contains("has 1 context, but 2 errors"),
        "{:?}",
        reading.warnings
    );
    let summary = SUMMARY.replace("1 contexts", "3 contexts");
    let reading = read([PREAMBLE, ERROR, &summary].concat());
    assert_eq!(reading.warnings.len(), 1);
    assert!(
        reading.warnings[0].contains("has 3 contexts, but 1 error and"),
        "{:?}",
        reading.warnings
    );
    let leaks = "\
==7== 10 bytes in 1 blocks are definitely lost in loss record 1 of 1
==7==    at 0x48417B4: malloc (in /v.so)
==7== 
==7== LEAK SUMMARY:
==7==    definitely lost: 14 bytes in 2 blocks
==7==    indirectly lost: 0 bytes in 0 blocks
==7==      possibly lost: 0 bytes in 0 blocks
==7==    still reachable: 99 bytes in 9 blocks
==7== 
";
    let reading = read([PREAMBLE, leaks, SUMMARY].concat());
    assert_eq!(reading.findings(), ["definite: 10+0 bytes in 1"]);
    assert_eq!(
        reading.warnings,
        [
            "log: process 7: LEAK SUMMARY has 14 bytes in 2 blocks definitely lost, but the loss records sum to 10 bytes in 1 block"
        ]
    );
}

/// A log sorted or joined by other tools does not lose a leak, because the LEAK SUMMARY shows where a leak check ends.
#[test]
fn loss_records_in_any_order_belong_to_one_leak_check() {
    let leaks = "\
==7== 10 bytes in 1 blocks are definitely lost in loss record 2 of 2
==7==    at 0x48417B4: malloc (in /v.so)
==7==    by 0x10938D: f (a.c:17)
==7== 
==7== 4 bytes in 1 blocks are definitely lost in loss record 1 of 2
==7==    at 0x48417B4: malloc (in /v.so)
==7==    by 0x10939D: g (a.c:27)
==7== 
";
    let summary = "\
==7== LEAK SUMMARY:
==7==    definitely lost: 14 bytes in 2 blocks
==7== 
";
    let check = [leaks, summary].concat();
    let both = ["definite: 10+0 bytes in 1", "definite: 4+0 bytes in 1"];
    let reading = read([PREAMBLE, &check, SUMMARY].concat());
    assert_eq!(reading.findings(), both);
    // A second leak check still replaces the first.
    let reading = read([PREAMBLE, &check, &check, SUMMARY].concat());
    assert_eq!(reading.findings(), both);
}

/// Valgrind counts the records of every leak check, so none is lost, and a repeated one is one record.
#[test]
fn leaks_of_earlier_checks_are_kept_and_marked() {
    let leak = |bytes: u64, function: &str| {
        format!(
            "==7== {bytes} bytes in 1 blocks are definitely lost in loss record 1 of 1\n==7==    at 0x48417B4: malloc (in /v.so)\n==7==    by 0x10938D: {function} (a.c:17)\n==7== \n"
        )
    };
    let summary = |bytes: u64| {
        format!(
            "==7== LEAK SUMMARY:\n==7==    definitely lost: {bytes} bytes in 1 blocks\n==7== \n"
        )
    };
    let check = |bytes, function| [leak(bytes, function), summary(bytes)].concat();
    let freed = "==7== All heap blocks were freed -- no leaks are possible\n==7== \n";
    for (checks, expected, repeated) in [
        (check(8, "f") + freed, &[(8, true)][..], 0),
        (check(8, "f") + &summary(0), &[(8, true)], 0),
        (check(8, "f") + &check(9, "f"), &[(9, false)], 1),
        (check(8, "f") + &check(9, "g"), &[(8, true), (9, false)], 0),
        // The latest report counts.
        (check(8, "f") + &check(9, "f") + freed, &[(9, true)], 1),
    ] {
        let reading = read([PREAMBLE, &checks, SUMMARY].concat());
        let leaks = reading.records_of_type("leak");
        let found: Vec<_> = leaks
            .iter()
            .map(|leak| {
                (
                    leak["cost"]["bytes"].as_u64().unwrap(),
                    leak["earlier_search"] == true,
                )
            })
            .collect();
        assert_eq!(found, expected, "{checks}");
        let run = &reading.records[0];
        assert_eq!(
            run["repeated_leaks"].as_u64().unwrap_or(0),
            repeated,
            "{checks}"
        );
        let total: u64 = expected.iter().map(|(bytes, _)| bytes).sum();
        assert_eq!(run["total"]["bytes"], total, "{checks}");
    }
}

#[test]
fn output_of_programs_is_ignored() {
    let text = format!(
        "hello==7== Memcheck, a memory error detector\n==99== not valgrind\n{}no newline{}{SUMMARY}",
        &PREAMBLE[PREAMBLE.find('\n').unwrap() + 1..],
        ERROR.replace("==7==  Address", "==99== x\n--98-- y\nglued==7==  Address"),
    );
    let reading = read(text);
    assert_eq!(reading.records_of_type("run").len(), 1);
    assert_eq!(reading.errors, [""; 0]);
    assert_eq!(
        reading.findings(),
        ["InvalidRead: Invalid read of size 4 x1"]
    );
    assert_eq!(reading.records[1]["notes"][0]["stack"][1]["line"], 17);
}

#[test]
fn only_generated_suppressions_belong_to_errors() {
    let json = "{\n   \"a\": 1\n}\n";
    let suppression = "{\n   <insert_a_suppression_name_here>\n   Memcheck:Addr4\n   fun:f\n}\n";
    let reading = read([PREAMBLE, ERROR, json, suppression, json, SUMMARY].concat());
    assert_eq!(reading.records[1]["suppression"], suppression.trim_end());
    let reading = read([PREAMBLE, ERROR, json, SUMMARY].concat());
    assert_eq!(reading.records[1]["suppression"], Value::Null);
}

#[test]
fn errors_of_unknown_kinds_are_kept() {
    let unknown = ERROR.replace("Invalid read of size 4", "Something else is wrong");
    let warning = "\
==7== Warning: invalid file descriptor -1 in syscall close()
==7==    at 0x4955350: close (close.c:26)
==7==    by 0x1096C9: main (a.c:30)
==7== 
**7** a message of the client
==7==    at 0x1096C9: main (a.c:30)
";
    let reading = read([PREAMBLE, warning, &unknown, warning, SUMMARY].concat());
    assert_eq!(reading.findings(), ["Unknown: Something else is wrong x1"]);
    assert_eq!(reading.warnings, [""; 0]);
}

#[test]
fn errors_without_an_empty_line_between_them_are_two() {
    let descriptor = "\
==7== File descriptor 3 was closed already
==7==  Previously closed
==7==    at 0x4B599F0: close (close.c:27)
==7==    at 0x4B592AD: read (read.c:26)
==7==    by 0x1094A6: main (a.c:14)
==7== Open file descriptor 4:
==7==    <inherited from parent>
==7== 
";
    let preamble = PREAMBLE.replace("3.19.0", "3.24.0");
    let text = [&preamble, descriptor, &SUMMARY.replace('1', "2")].concat();
    let reading = read(text);
    assert_eq!(
        reading.findings(),
        [
            "FdBadUse: File descriptor 3 was closed already x1",
            "FdNotClosed: Open file descriptor 4 x1"
        ]
    );
    // The main stack follows the stack of the note, and `read` belongs to libc.
    assert_eq!(reading.records[1]["fn"], "main");
    assert_eq!(reading.records[1]["notes"][0]["stack"][0]["fn"], "close");
    // Up to 3.22, open descriptors are only remarks.
    let reading = read(
        [
            PREAMBLE,
            &descriptor[descriptor.find("==7== Open").unwrap()..],
            SUMMARY,
        ]
        .concat(),
    );
    assert_eq!(reading.findings(), [""; 0]);
}

#[test]
fn errors_of_helgrind_and_drd_have_several_stacks() {
    let helgrind = "\
==7== Helgrind, a thread error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== 
==7== ---Thread-Announcement------------------------------------------
==7== 
==7== Thread #2 was created
==7==    at 0x496EB3F: clone (clone.S:76)
==7== 
==7== ----------------------------------------------------------------
==7== 
==7==  Lock at 0x10C1A0 was first observed
==7==    at 0x484976E: ??? (in /v.so)
==7==  Address 0x10c1a0 is 0 bytes inside data symbol \"b\"
==7== 
==7== Possible data race during read of size 4 at 0x10C260 by thread #2
==7== Locks held: 1, at address 0x10C1A0
==7==    at 0x109229: racy (t.c:12)
==7== 
==7== This conflicts with a previous write of size 4 by thread #1
==7== Locks held: none
==7==    at 0x10925D: other (t.c:13)
==7==  Address 0x10c260 is 0 bytes inside data symbol \"shared\"
==7== 
==7== ----------------------------------------------------------------
==7== 
==7== Thread #1's call to pthread_mutex_destroy failed
==7==    with error code 16 (EBUSY: Device or resource busy)
==7==    at 0x48495E2: ??? (in /v.so)
==7== 
==7== ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 14 from 14)
";
    let reading = read(helgrind);
    assert_eq!(
        reading.findings(),
        [
            "Race: Possible data race during read of size 4 at 0x10C260 by thread #2 x1",
            "PthAPIerror: Thread #1's call to pthread_mutex_destroy failed with error code 16 (EBUSY: Device or resource busy) x1"
        ]
    );
    let race = &reading.records[1];
    assert_eq!((&race["fn"], &race["thread"]), (&"racy".into(), &2.into()));
    let notes: Vec<_> = race["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| {
            (
                note["what"].as_str().unwrap(),
                note["stack"][0]["fn"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        notes,
        [
            ("Lock at 0x10C1A0 was first observed", Some("???")),
            ("Address 0x10c1a0 is 0 bytes inside data symbol \"b\"", None),
            ("Locks held: 1, at address 0x10C1A0", None),
            (
                "This conflicts with a previous write of size 4 by thread #1",
                Some("other")
            ),
            ("Locks held: none", None),
            (
                "Address 0x10c260 is 0 bytes inside data symbol \"shared\"",
                None
            ),
        ]
    );
    assert_eq!(reading.records[0]["threads"][0]["thread"], 2);
    let drd = "\
==7== drd, a thread error detector
==7== Thread 2:
==7== Acquired at:
==7==    at 0x4861: lock (t.c:9)
==7== Lock on mutex 0x10c120 was held during 51 ms (threshold: 10 ms).
==7==    at 0x4862: unlock (t.c:10)
==7== mutex 0x10c120 was first observed at:
==7==    at 0x4863: init (t.c:8)
==7== 
==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
";
    let reading = read(drd);
    let error = &reading.records[1];
    assert_eq!(error["kind"], "HoldtimeErr");
    assert_eq!(
        (&error["fn"], &error["thread"]),
        (&"unlock".into(), &2.into())
    );
    assert_eq!(error["notes"][0]["what"], "Acquired at:");
    assert_eq!(error["notes"][0]["stack"][0]["fn"], "lock");
    assert_eq!(error["notes"][1]["stack"][0]["fn"], "init");
}

#[test]
fn logs_of_other_tools_are_refused() {
    for text in [
        "==7== Callgrind, a call-graph generating cache profiler\n==7== Command: ./a\n==7== \n==7== Collected : 5\n",
        "==7== nothing that Valgrind says\n",
        "<valgrindoutputs>",
        "",
    ] {
        let reading = read(text);
        assert_eq!(reading.records.len(), 0, "{text}");
        assert_eq!(reading.errors.len(), 1, "{text}");
    }
}

/// A log of `-q` has no summary that marks its end, but it must not end inside a message.
#[test]
fn a_quiet_log_that_ends_inside_a_message_is_an_error() {
    let whole = read(ERROR);
    assert_eq!(whole.errors, [""; 0]);
    assert_eq!(whole.records_of_type("end").len(), 1);
    assert_eq!(whole.records[0]["quiet"], true);
    assert_eq!(whole.records[0]["complete"], false);
    for length in 1..ERROR.len() - 2 {
        let reading = read(&ERROR.as_bytes()[..length]);
        assert_eq!(
            reading.records_of_type("end").len(),
            0,
            "{:?}",
            &ERROR[..length]
        );
        assert_eq!(reading.errors.len(), 1, "{:?}", &ERROR[..length]);
    }
}

#[test]
fn a_log_that_valgrind_ended_has_its_reason() {
    let first = "==7== \n==7== Exit program on first error (--exit-on-first-error=yes)\n";
    let memory = "==7==     Valgrind's memory management: out of memory:\n==7==        newSuperblock's request for 4194304 bytes failed.\n==7==     Whatever the reason, Valgrind cannot continue.  Sorry.\n";
    for (text, expected) in [
        ([PREAMBLE, ERROR, first].concat(), "--exit-on-first-error"),
        // Without an empty line, the message is no part of the error.
        (
            [
                PREAMBLE,
                ERROR.trim_end_matches("==7== \n"),
                first.trim_start_matches("==7== \n"),
            ]
            .concat(),
            "--exit-on-first-error",
        ),
        ([PREAMBLE, memory].concat(), "out of memory"),
        ([PREAMBLE, ERROR, memory].concat(), "out of memory"),
    ] {
        let reading = read(text.as_str());
        let [error] = reading.errors.as_slice() else {
            panic!("{text}: {:?}", reading.errors);
        };
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("did not follow"), "{error}");
        assert_eq!(reading.records[0]["complete"], false);
        assert_eq!(
            reading.records_of_type("error").len(),
            usize::from(text.contains("Invalid"))
        );
    }
}

#[test]
fn a_log_after_its_summaries_executed_no_program() {
    let begun = read(
        [
            PREAMBLE,
            "==7== HEAP SUMMARY:\n==7==     in use at exit: 0 bytes in 0 blocks\n",
        ]
        .concat(),
    );
    assert!(
        !begun.errors[0].contains("--trace-children"),
        "{:?}",
        begun.errors
    );
    let before = read(PREAMBLE);
    assert!(
        before.errors[0].contains("--trace-children=yes"),
        "{:?}",
        before.errors
    );
}
