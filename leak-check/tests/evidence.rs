//! The evidence for a verdict: known options, all processes, and every line of the inputs.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};

use needs::needs;

use crate::support::{Bench, leak_check, leak_check_in};

/// Returns the log of a clean process with the parent pid 1.
fn clean(pid: u64) -> String {
    let summary = "==P== HEAP SUMMARY:\n==P==     in use at exit: 0 bytes in 0 blocks\n==P==   total heap usage: 0 allocs, 0 frees, 0 bytes allocated\n==P== \n==P== All heap blocks were freed -- no leaks are possible\n==P== \n";
    let text = preamble(pid)
        + summary
        + "==P== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";
    text.replace("==P==", &format!("=={pid}=="))
}

fn preamble(pid: u64) -> String {
    "==P== Memcheck, a memory error detector\n==P== Copyright (C) 2002-2022, and GNU GPL'd, by Julian Seward et al.\n==P== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info\n==P== Command: ./a\n==P== Parent PID: 1\n==P== \n"
        .replace("==P==", &format!("=={pid}=="))
}

/// Returns the last lines of a text.
fn last(lines: usize, text: &str) -> String {
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    all[all.len() - lines..].concat()
}

#[test]
fn a_log_without_its_beginning_is_never_clean() {
    let text = clean(7);
    assert_eq!(leak_check(&[], text.as_bytes()).status, 0);
    for lines in 1..text.lines().count() {
        let tail = last(lines, &text);
        let run = leak_check(&[], tail.as_bytes());
        assert_eq!(run.status, 2, "{tail}: {}", run.stdout);
    }
    let run = leak_check(&[], last(8, &text).as_bytes());
    assert!(run.stderr.contains("has no preamble"), "{}", run.stderr);
    let run = leak_check(&["--allow-fragment"], last(8, &text).as_bytes());
    assert_eq!(run.status, 0, "{}", run.stderr);
    // The tail is not a child of the complete log, because it lacks lines that every child writes.
    for lines in [1, 2] {
        let both = clean(8) + &last(lines, &text);
        assert_eq!(leak_check(&[], both.as_bytes()).status, 2, "{lines}");
    }
}

#[test]
fn valgrind_options_that_hide_findings_are_detected_in_xml() {
    needs!("gcc", "valgrind");
    let leak = Bench::new("leak.c");
    for (options, expected, message) in [
        (
            &["--memcheck:show-leak-kinds=none"][..],
            2,
            "run it with --show-leak-kinds=definite,possible",
        ),
        (
            &["--memcheck:show-leak-kinds=none", "--show-leak-kinds=all"],
            1,
            "",
        ),
        (&["--helgrind:show-leak-kinds=none"], 1, ""),
        (&["--xtree-leak=yes"], 2, "run it without that option"),
        (
            &["--memcheck:xtree-leak=yes"],
            2,
            "run it without that option",
        ),
        (&["--xtree-leak=yes", "--xtree-leak=no"], 1, ""),
        (&["--leak-check=summary"], 1, ""),
        (&["--leak-check=yes", "-q"], 1, ""),
    ] {
        leak.valgrind("out.xml", options);
        let run = leak.leak_check(&["out.xml"]);
        assert_eq!(run.status, expected, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
        // A text log has a summary that counts hidden findings.
        leak.valgrind("out.log", options);
        let run = leak.leak_check(&["out.log"]);
        let expected = if options.contains(&"-q") { 2 } else { 1 };
        assert_eq!(run.status, expected, "{options:?}: {}", run.stderr);
    }
    let bench = Bench::new("clean.c");
    for options in [
        &["--leak-check=summary"][..],
        &[
            "--track-origins=yes",
            "--num-callers=40",
            "--error-limit=no",
            "--gen-suppressions=all",
            "--fair-sched=try",
        ],
        &[
            "--vgdb=no",
            "--trace-children=yes",
            "--xtree-memory=none",
            "--drd:leak-scan=off",
            "-q",
        ],
    ] {
        bench.valgrind("out.xml", options);
        let run = bench.leak_check(&["out.xml"]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{options:?}");
    }
    let xml = bench.read("out.xml");
    let with = |option: &str| xml.replacen("<arg>", &format!("<arg>{option}</arg><arg>"), 1);
    for (option, expected) in [
        ("--leak-scan=off", 2),
        ("--memcheck:leak-scan=off", 2),
        ("--hide-errors=yes", 2),
        ("--frobnicate=yes", 0),
    ] {
        let run = leak_check(&[], with(option).as_bytes());
        assert_eq!(run.status, expected, "{option}: {}", run.stderr);
        assert_eq!(run.stderr.contains(option), expected == 2, "{}", run.stderr);
    }
    let without_options = xml.replace("<args>", "");
    assert_eq!(leak_check(&[], without_options.as_bytes()).status, 2);
}

#[test]
fn expect_checks_the_number_of_processes() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("leak.xml", &[]);
    bench.write("a.log", &clean(7));
    bench.write("b.log", &(clean(8) + &clean(9)));
    bench.write(
        "child.log",
        &preamble(10).replace("Parent PID: 1\n", "Parent PID: 7\n"),
    );
    for (args, expected) in [
        (&["--expect=1", "a.log"][..], 0),
        (&["--expect=2", "a.log"], 2),
        (&["--expect=2", "b.log"], 0),
        (&["--expect=1", "b.log"], 2),
        (&["--expect=3", "a.log", "b.log"], 0),
        (&["--expect=2", "a.log", "leak.xml"], 1),
        (&["--expect=1", "a.log", "leak.xml"], 2),
        // A skipped child is not counted.
        (&["--expect=1", "--allow-exec", "a.log", "child.log"], 0),
        (&["--expect=2", "--allow-exec", "a.log", "child.log"], 2),
        (&["--expect=0", "a.log"], 2),
        (&["--expect=x", "a.log"], 2),
    ] {
        let run = bench.leak_check(args);
        assert_eq!(run.status, expected, "{args:?}: {}", run.stderr);
    }
    let run = bench.leak_check(&["--expect=2", "a.log"]);
    assert!(
        run.stderr
            .contains("expected 2 processes (--expect), found 1 process"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("could not judge"), "{}", run.stdout);
}

#[test]
fn a_directory_means_all_files_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), text).unwrap();
    };
    let leaky = clean(9).replace("==9== All heap blocks were freed -- no leaks are possible\n", "==9== LEAK SUMMARY:\n==9==    definitely lost: 5 bytes in 1 blocks\n==9==    indirectly lost: 0 bytes in 0 blocks\n==9==      possibly lost: 0 bytes in 0 blocks\n==9==    still reachable: 0 bytes in 0 blocks\n");
    write("clean/7.log", &clean(7));
    write("clean/8", &clean(8));
    write("leaky/7.log", &clean(7));
    write("leaky/9.txt", &leaky);
    for (name, text) in [
        ("killed/8.log", ""),
        ("other/notes.txt", "hello\n"),
        ("core/vgcore.8", "\u{7f}ELF\u{2}\u{1}\u{1}\u{0}"),
        ("deep/below/8.log", leaky.as_str()),
    ] {
        write(
            &format!("{}/7.log", name.split('/').next().unwrap()),
            &clean(7),
        );
        write(name, text);
    }
    write("hidden/7.log", &clean(7));
    write("hidden/.gitignore", "*\n");
    std::fs::create_dir(path("empty")).unwrap();
    for (args, expected, message) in [
        (&["clean"][..], 0, ""),
        (&["clean/"], 0, ""),
        (&["--expect=2", "clean"], 0, ""),
        (&["--expect=3", "clean"], 2, "found 2 processes"),
        (&["leaky"], 1, ""),
        (&["clean", "leaky/9.txt"], 1, ""),
        (
            &["empty"],
            2,
            "empty: expected logs in this directory, found none",
        ),
        (&["clean", "empty"], 2, "empty: expected logs"),
        (&["killed"], 2, "killed/8.log: the input is empty"),
        (&["other"], 2, "other/notes.txt:1: not recognised"),
        (&["core"], 2, "core/vgcore.8"),
        (&["deep"], 2, "deep/below: a subdirectory is not read"),
        (&["deep", "deep/below"], 1, ""),
        (&["hidden"], 0, "hidden/.gitignore: skipped"),
        (&["nosuch"], 2, "nosuch: "),
    ] {
        let run = leak_check_in(folder.path(), args, b"");
        assert_eq!(
            run.status, expected,
            "{args:?}: {}{}",
            run.stdout, run.stderr
        );
        assert!(run.stderr.contains(message), "{args:?}: {}", run.stderr);
        assert_eq!(
            run.stderr.is_empty(),
            message.is_empty(),
            "{args:?}: {}",
            run.stderr
        );
    }
    let socket = std::os::unix::net::UnixListener::bind(path("clean/socket")).unwrap();
    let run = leak_check_in(folder.path(), &["clean"], b"");
    assert!(
        run.stderr.contains("found neither a file nor a directory"),
        "{}",
        run.stderr
    );
    assert_eq!(run.status, 2);
    drop(socket);
}

/// Returns the paths of the logs and documents in the test data.
fn data() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "memcheck",
        "names",
        "names/rust",
        "names/clone",
        "diff/pairs",
    ];
    let folders = folders.map(|folder| here.join("../tests/data").join(folder));
    let mut files = Vec::new();
    for folder in folders.iter().chain([&here.join("tests/data/rust")]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            if [".log", ".xml", ".memcheck.out"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Returns inputs that cannot be judged, built from complete logs.
fn doubtful() -> Vec<(&'static str, String)> {
    let xml = std::fs::read_to_string(
        data()
            .into_iter()
            .find(|path| path.ends_with("3.27.1-clean.xml"))
            .unwrap(),
    );
    let xml = xml.unwrap();
    let cut_xml = xml.replace("</valgrindoutput>", "");
    vec![
        ("a tail", last(8, &clean(7))),
        ("killed and restarted", preamble(7) + &clean(7)),
        ("killed beside another", preamble(8) + &clean(7)),
        (
            "a child",
            clean(7) + &preamble(8).replace("Parent PID: 1\n", "Parent PID: 7\n"),
        ),
        (
            "never began",
            clean(7) + "valgrind: ./nothere: No such file or directory\n",
        ),
        (
            "refused",
            clean(7)
                + "valgrind: Bad option: --num-callers=x\nvalgrind: Invalid integer value 'x'\n",
        ),
        ("killed behind a document", xml.clone() + &preamble(8)),
        ("a document that was cut", clean(7) + &cut_xml),
        ("two, and the first was cut", cut_xml + &xml),
    ]
}

/// Returns true if removing the line changes the run that the input describes: the sentence of an error or leak, which a
/// stack follows, an option of Valgrind, or the report that a run never began.
fn reports_what_is_judged(line: &str, next: Option<&&str>) -> bool {
    let is_sentence = next.is_some_and(|next| next.contains("==    at 0x"));
    let is_option = line.contains("<arg>") || (line.starts_with("--") && line.contains("--    -"));
    let never_began = line.starts_with("valgrind: ");
    is_sentence || is_option || never_began
}

#[test]
fn removing_a_line_never_makes_an_input_clean() {
    let logs = data().into_iter().map(|path| {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        (path.display().to_string(), text)
    });
    let doubtful = doubtful().into_iter();
    let logs: Vec<(String, String)> = logs
        .chain(doubtful.map(|(what, text)| (what.to_owned(), text)))
        .collect();
    assert!(logs.len() >= 40, "{}", logs.len());
    let mut cuts = 0;
    for (what, text) in logs {
        if leak_check(&[], text.as_bytes()).status == 0 {
            continue;
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // Test every line at the beginning and the end of a log. The lines between are similar, so test some of them.
        let step = needs::size(1, lines.len().div_ceil(16).max(1));
        let edges = needs::size(lines.len(), 7);
        for (number, line) in lines.iter().enumerate() {
            let is_edge = number < edges || number + edges >= lines.len();
            if reports_what_is_judged(line, lines.get(number + 1))
                || !(is_edge || number % step == 0)
            {
                continue;
            }
            let rest = [&lines[..number], &lines[number + 1..]].concat().concat();
            let run = leak_check(&[], rest.as_bytes());
            assert_ne!(
                run.status,
                0,
                "{what} without line {}: {line}{}",
                number + 1,
                run.stdout
            );
            cuts += 1;
        }
    }
    assert!(cuts > 500, "{cuts}");
}

#[test]
fn an_additional_input_never_makes_an_undecided_one_clean() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = doubtful();
    inputs.push(("clean", clean(7)));
    inputs.push(("clean too", clean(30)));
    for (name, text) in &inputs {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for (doubtful, _) in &inputs[..inputs.len() - 2] {
        let status = |args: &[&str]| leak_check_in(folder.path(), args, b"").status;
        assert_eq!(status(&[doubtful]), 2, "{doubtful}");
        for (more, _) in &inputs {
            assert_ne!(status(&[doubtful, more]), 0, "{doubtful}, {more}");
            assert_ne!(status(&[more, doubtful]), 0, "{more}, {doubtful}");
        }
    }
}

/// Returns the log of a process with a loss record of 64 bytes in 1 block, and these totals in its LEAK SUMMARY.
fn leaking(pid: u64, totals: &str) -> String {
    let summary = "==P== HEAP SUMMARY:\n==P==     in use at exit: 64 bytes in 2 blocks\n==P==   total heap usage: 2 allocs, 0 frees, 64 bytes allocated\n==P== \n";
    let leaks = format!(
        "==P== 64 bytes in 1 blocks are definitely lost in loss record 1 of 1\n==P==    at 0x48417B4: malloc (in /v.so)\n==P==    by 0x10938D: f (a.c:17)\n==P== \n==P== LEAK SUMMARY:\n==P==    definitely lost: {totals}\n==P==    indirectly lost: 0 bytes in 0 blocks\n==P==      possibly lost: 0 bytes in 0 blocks\n==P==    still reachable: 0 bytes in 0 blocks\n==P==         suppressed: 0 bytes in 0 blocks\n==P== \n"
    );
    let text = preamble(pid)
        + summary
        + &leaks
        + "==P== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n";
    text.replace("==P==", &format!("=={pid}=="))
}

#[test]
fn leaks_beyond_the_loss_records_are_findings_even_if_only_their_blocks_are_counted() {
    const NOT_PRINTED: &str = "in loss records that Valgrind did not print";
    for (totals, unprinted) in [
        ("64 bytes in 1 blocks", None),
        (
            "64 bytes in 2 blocks",
            Some("0 bytes in 1 block definitely lost"),
        ),
        (
            "70 bytes in 2 blocks",
            Some("6 bytes in 1 block definitely lost"),
        ),
    ] {
        let run = leak_check(&[], leaking(7, totals).as_bytes());
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert_eq!(
            run.stdout.contains(NOT_PRINTED),
            unprinted.is_some(),
            "{}",
            run.stdout
        );
        assert!(
            run.stdout.contains(unprinted.unwrap_or_default()),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn processes_that_lack_the_same_evidence_are_counted_in_one_message() {
    let without_check = |pid: u64, bytes: u64| {
        let text = preamble(pid)
            + &format!(
                "==P== HEAP SUMMARY:\n==P==     in use at exit: {bytes} bytes in 2 blocks\n==P==   total heap usage: 2 allocs, 0 frees, {bytes} bytes allocated\n==P== \n"
            )
            + "==P== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";
        text.replace("==P==", &format!("=={pid}=="))
    };
    let same: String = (7..10).map(|pid| without_check(pid, 64)).collect();
    let run = leak_check(&[], (same + &without_check(10, 80)).as_bytes());
    assert_eq!(run.status, 2);
    let lines: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.contains("in use at exit"))
        .collect();
    assert_eq!(lines.len(), 2, "{}", run.stderr);
    assert!(lines[0].contains(" and 2 more: 64 bytes"), "{}", run.stderr);
    assert!(
        !lines[1].contains(" more: ") && lines[1].contains("80 bytes"),
        "{}",
        run.stderr
    );
}
