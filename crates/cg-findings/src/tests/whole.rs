//! Tests of the evidence that an input is complete.

use super::document::{XML_END, XML_ERROR, XML_LEAK, document};
use super::log::{ERROR, PREAMBLE, SUMMARY};
use super::read;

const LEAK_ROWS: &str = "\
==7== LEAK SUMMARY:
==7==    definitely lost: 14 bytes in 2 blocks
==7==    indirectly lost: 0 bytes in 0 blocks
==7==      possibly lost: 0 bytes in 0 blocks
==7==    still reachable: 99 bytes in 9 blocks
";

/// Checks the runs of an input, as `pid complete`, and that the messages of its errors contain these parts.
fn check(what: &str, text: &str, runs: &[&str], errors: &[&str]) {
    let reading = read(text);
    let seen: Vec<String> = reading
        .records_of_type("run")
        .iter()
        .map(|run| format!("{} {}", run["pid"], run["complete"]))
        .collect();
    assert_eq!(seen, runs, "{what}: {:?}", reading.errors);
    let messages = &reading.errors;
    assert_eq!(messages.len(), errors.len(), "{what}: {messages:?}");
    for (message, part) in messages.iter().zip(errors) {
        assert!(message.contains(part), "{what}: {message}");
    }
}

#[test]
fn a_log_without_a_required_line_is_incomplete() {
    let whole = [PREAMBLE, ERROR, LEAK_ROWS, SUMMARY].concat();
    let without = |part: &str| {
        let left: Vec<&str> = whole
            .split_inclusive('\n')
            .filter(|line| !line.contains(part))
            .collect();
        assert!(left.len() < whole.lines().count(), "{part}");
        left.concat()
    };
    check("all of it", &whole, &["7 true"], &[]);
    for part in ["Command", "Using Valgrind"] {
        check(
            "a line that hides nothing",
            &without(part),
            &["7 true"],
            &[],
        );
    }
    for (part, message) in [
        (
            "Memcheck, a",
            "damaged: the first line of a preamble is missing",
        ),
        (
            "definitely lost",
            "damaged: a row of its LEAK SUMMARY is missing",
        ),
        (
            "indirectly lost",
            "damaged: a row of its LEAK SUMMARY is missing",
        ),
        (
            "possibly lost",
            "damaged: a row of its LEAK SUMMARY is missing",
        ),
        (
            "still reachable",
            "damaged: a row of its LEAK SUMMARY is missing",
        ),
        ("ERROR SUMMARY", "ends without its ERROR SUMMARY"),
    ] {
        check(part, &without(part), &["7 false"], &[message]);
    }
    // Valgrind before 3.6 prints this row only if there are such leaks.
    let old = without("indirectly lost").replace("3.19.0", "3.5.0");
    check("an old one", &old, &["7 true"], &[]);
    // A log without its beginning is read without an error, but it is not complete.
    let tail = [ERROR, LEAK_ROWS, SUMMARY].concat();
    check("no preamble", &tail, &["7 false"], &[]);
    check("only a line", SUMMARY, &["7 false"], &[]);
    // A forked process writes to its parent's log, without a preamble.
    let child = tail.replace("==7==", "==8==");
    check(
        "forked",
        &[&whole, child.as_str()].concat(),
        &["7 true", "8 true"],
        &[],
    );
    check(
        "before its parent",
        &[&child, whole.as_str()].concat(),
        &["8 false", "7 true"],
        &[],
    );
}

#[test]
fn two_preambles_with_one_pid_are_two_runs() {
    let whole = [PREAMBLE, SUMMARY].concat();
    let killed = [PREAMBLE, ERROR].concat();
    check(
        "both whole",
        &[&whole, whole.as_str()].concat(),
        &["7 true", "7 true"],
        &[],
    );
    let message = "before the log of another process 7";
    check(
        "the first was killed",
        &[&killed, whole.as_str()].concat(),
        &["7 false", "7 true"],
        &[message],
    );
    check(
        "after its preamble",
        &[PREAMBLE, &whole].concat(),
        &["7 false", "7 true"],
        &[message],
    );
    // A second preamble without its first line is an error, so the two runs are not treated as one.
    let headless = whole.replace("==7== Memcheck, a memory error detector\n", "");
    check(
        "headless",
        &[PREAMBLE, &headless].concat(),
        &["7 false"],
        &["the first line of a preamble"],
    );
    // On a descriptor, the preamble lacks the parent, and after an exec Valgrind continues the same log.
    let on_descriptor = PREAMBLE.replace("==7== Parent PID: 1\n", "");
    let message = "or the process executed another program";
    check(
        "on a descriptor",
        &[&on_descriptor, on_descriptor.as_str(), SUMMARY].concat(),
        &["7 false", "7 true"],
        &[message],
    );
}

#[test]
fn the_log_of_a_profiler_is_ignored() {
    let callgrind = "==9== Callgrind, a call-graph generating cache profiler\n==9== Using Valgrind-3.19.0 and LibVEX; rerun\n==9== Command: ./a\n==9== Parent PID: 1\n==9== \n==9== Events    : Ir\n";
    check(
        "callgrind",
        &[PREAMBLE, SUMMARY, callgrind].concat(),
        &["7 true"],
        &[],
    );
}

#[test]
fn a_run_that_never_began_is_an_error() {
    let whole = [PREAMBLE, SUMMARY].concat();
    let begins = "the run never began: valgrind: ";
    for (what, lines) in [
        (
            "no program",
            "valgrind: ./nothere: No such file or directory\n",
        ),
        (
            "an option",
            "valgrind: Bad option: --num-callers=x\nvalgrind: Invalid integer value 'x'\nvalgrind: Use --help for more information or consult the user manual.\n",
        ),
        ("no Valgrind", "sh: 1: valgrind: not found\n"),
    ] {
        check(
            what,
            &[&whole, lines].concat(),
            &["7 true", "null false"],
            &[begins],
        );
        check(
            what,
            &[lines, &whole].concat(),
            &["null false", "7 true"],
            &[begins],
        );
        check(
            what,
            &[lines, &whole, lines].concat(),
            &["null false", "7 true", "null false"],
            &[begins, begins],
        );
    }
    let refused = "==8== Bad option: --xml=yes, but no XML destination specified\n==8== --xml=yes has been specified, but there is no XML output\n";
    check(
        "after its pid",
        &[&whole, refused].concat(),
        &["7 true", "8 false"],
        &["never began: Bad option: --xml=yes"],
    );
}

#[test]
fn text_and_documents_in_one_input_are_both_read() {
    let log = [PREAMBLE, ERROR, SUMMARY]
        .concat()
        .replace("==7==", "==8==");
    let xml = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let unfinished = [PREAMBLE, ERROR].concat().replace("==7==", "==8==");
    let ends = "the log of process 8 ends without";
    let not_started = "valgrind: ./nothere: No such file or directory\n";
    check(
        "after a document",
        &[&xml, log.as_str()].concat(),
        &["7 true", "8 true"],
        &[],
    );
    check(
        "in the last line",
        &[xml.trim_end(), &log].concat(),
        &["7 true", "8 true"],
        &[],
    );
    check(
        "before",
        &[&log, xml.as_str()].concat(),
        &["7 true", "8 true"],
        &[],
    );
    check(
        "between",
        &[&xml, log.as_str(), &xml.replace(">7<", ">9<")].concat(),
        &["7 true", "9 true", "8 true"],
        &[],
    );
    check(
        "cut",
        &[&xml, unfinished.as_str()].concat(),
        &["7 true", "8 false"],
        &[ends],
    );
    check(
        "cut before",
        &[&unfinished, xml.as_str()].concat(),
        &["7 true", "8 false"],
        &[ends],
    );
    let headless = xml.replace("<valgrindoutput>", "");
    let missing = "expected <valgrindoutput> before this";
    check(
        "no opening tag",
        &[&log, headless.as_str()].concat(),
        &["7 false", "8 true"],
        &[missing],
    );
    let tail = [XML_ERROR, XML_LEAK, XML_END].concat();
    check(
        "only the end",
        &[&log, tail.as_str()].concat(),
        &["null false", "8 true"],
        &[missing],
    );
    check(
        "not started",
        &[&xml, not_started].concat(),
        &["7 true", "null false"],
        &["never began"],
    );
    let both = read([&xml, log.as_str()].concat());
    assert_eq!(both.findings().len(), 3, "{:?}", both.findings());
    let cut = read([&xml, &log[..log.len() - 30]].concat());
    assert_eq!(cut.errors.len(), 1, "cut in its last line");
}

#[test]
fn decorations_at_line_ends_are_ignored() {
    let log = [PREAMBLE, ERROR, LEAK_ROWS, SUMMARY].concat();
    let plain = read(log.as_str());
    for end in [
        "\x1b[0m",
        "\x1b[K",
        "\x1b[0K\r",
        "\r",
        "  \t",
        "\x1b(B\x1b[m",
        "\x1b[1;31m \x1b[m\r",
    ] {
        let decorated = read(log.replace('\n', &format!("{end}\n")));
        assert_eq!(decorated.records, plain.records, "{end:?}");
        assert_eq!(decorated.errors, [""; 0], "{end:?}");
        let xml = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
        let decorated = read(xml.replace(">\n", &format!(">{end}\n")));
        assert_eq!(decorated.findings(), read(xml).findings(), "{end:?}");
        assert_eq!(decorated.errors, [""; 0], "{end:?}");
    }
}
