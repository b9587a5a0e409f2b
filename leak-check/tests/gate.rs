//! The verdict: which findings count, which inputs cannot be judged, and agreement with Valgrind's own verdict.

use std::process::{Command, Stdio};

use needs::needs;
use serde_json::Value;

use crate::support::{Bench, leak_check};

#[test]
fn the_verdict_is_valgrinds_own_in_text_and_xml() {
    needs!("gcc", "valgrind");
    for (program, expected) in [("clean.c", 0), ("leak.c", 1), ("errors.c", 1)] {
        let bench = Bench::new(program);
        for file in ["out.log", "out.xml"] {
            let valgrind = bench.valgrind(file, &[]);
            let run = bench.leak_check(&[file]);
            assert_eq!(run.status, expected, "{program} {file}: {}", run.stderr);
            assert_eq!(valgrind, if expected == 0 { 0 } else { 99 });
            assert_eq!(run.stderr, "");
        }
    }
}

#[test]
fn text_and_xml_have_the_same_findings() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    let options = ["--show-leak-kinds=all", "--track-origins=yes"];
    let [mut text, mut xml] = ["out.log", "out.xml"].map(|file| {
        bench.valgrind(file, &options);
        let run = bench.leak_check(&["--format", "json", file]);
        run.records(&["leak", "error"])
            .iter()
            .map(|record| {
                let field = |name: &str| record[name].to_string();
                [
                    "kind",
                    "cost",
                    "indirect_bytes",
                    "what",
                    "status",
                    "fingerprint",
                ]
                .map(field)
            })
            .collect::<Vec<_>>()
    });
    text.sort();
    xml.sort();
    assert_eq!(text, xml);
    // Five errors and five loss records: two definite ones, and one of each other kind.
    assert_eq!(text.len(), 10);
}

#[test]
fn kinds_count_according_to_the_policy() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    bench.valgrind("out.xml", &["--show-leak-kinds=all"]);
    for (args, leaks, errors) in [
        (&[][..], 3, 5),
        (&["--errors-for-leak-kinds=definite"], 2, 5),
        (&["--errors-for-leak-kinds=none"], 0, 5),
        (&["--errors-for-leak-kinds=all", "--no-errors"], 5, 0),
        (&["--no-errors", "--errors"], 3, 5),
        (&["--only", "^lose_chain$"], 1, 0),
        (&["--only", "src/errors[.]c"], 3, 5),
        (&["--ignore", "^lose"], 0, 5),
        (&["--ignore", "^lose$", "--ignore", "^free_twice$"], 2, 4),
        (&["--only", "^(lose|decide)$", "--ignore", "^lose$"], 0, 1),
    ] {
        let mut all = vec!["--format", "json"];
        all.extend(args);
        all.push("out.xml");
        let run = bench.leak_check(&all);
        let count = |kind: &str| {
            run.records(&[kind])
                .iter()
                .filter(|record| record["status"] == "new")
                .count()
        };
        assert_eq!((count("leak"), count("error")), (leaks, errors), "{args:?}");
        assert_eq!(run.status, i32::from(leaks + errors > 0), "{args:?}");
    }
}

#[test]
fn leaks_within_the_limits_pass() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    for (args, expected) in [
        (&["--max-bytes=64"][..], 0),
        (&["--max-bytes=63"], 1),
        (&["--max-blocks=1"], 0),
        (&["--max-blocks=0"], 1),
        (&["--max-bytes=64", "--max-blocks=0"], 1),
        (&["--max-bytes=64", "--max-blocks=1"], 0),
    ] {
        let run = bench.leak_check(&[args, &["out.log"]].concat());
        assert_eq!(run.status, expected, "{args:?}");
    }
    // The limits apply only to leaks, so an error fails.
    let bench = Bench::new("errors.c");
    bench.valgrind("out.log", &[]);
    assert_eq!(bench.leak_check(&["--max-bytes=9999", "out.log"]).status, 1);
}

#[test]
fn an_ignore_file_has_one_regex_per_line() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    bench.write("ignore", "# what is not ours\n\n  ^make$  \n");
    assert_eq!(
        bench
            .leak_check(&["--ignore-file=ignore", "out.log"])
            .status,
        0
    );
    bench.write("ignore", "^main$\n# next\n(\n");
    let run = bench.leak_check(&["--ignore-file=ignore", "out.log"]);
    assert_eq!(run.status, 2);
    assert!(
        run.stderr
            .starts_with("leak-check: ignore:3: expected a regex, found \"(\": unclosed group"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_ignore_file_may_have_any_number_of_lines() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    let others = |from: u32| -> String {
        (from..from + 50_000)
            .map(|number| format!("^f{number}$\n"))
            .collect()
    };
    // The matching regex is in the middle, not in the first or the last set of patterns.
    bench.write(
        "ignore",
        &[&others(0), "^make$\n", &others(50_000)].concat(),
    );
    let run = bench.leak_check(&["--ignore-file=ignore", "out.log"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""));
}

#[test]
fn unprinted_leaks_are_never_clean() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    for options in [
        &["--leak-check=summary"][..],
        &["--show-leak-kinds=reachable"],
    ] {
        bench.valgrind("out.log", options);
        let run = bench.leak_check(&["out.log"]);
        assert_eq!(run.status, 1, "{options:?}");
        assert!(
            run.stdout.contains(
                "64 bytes in 1 block definitely lost, in loss records that Valgrind did not print"
            ),
            "{}",
            run.stdout
        );
        assert_eq!(bench.leak_check(&["--only=x", "out.log"]).status, 1);
        assert_eq!(
            bench
                .leak_check(&["--errors-for-leak-kinds=possible", "out.log"])
                .status,
            0
        );
        assert_eq!(bench.leak_check(&["--max-bytes=64", "out.log"]).status, 0);
    }
}

/// Returns the stream of a Memcheck run without findings. `run` has further fields of the run record.
fn stream_with(run: &str) -> String {
    format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"memcheck\",\"events\":[],\"total\":{{}},\"all_heap_blocks_freed\":true,{run}}}\n{{\"type\":\"end\",\"records\":0}}\n"
    )
}

#[test]
fn errors_that_only_the_summary_counts_are_findings() {
    let contexts = |count| {
        format!("\"complete\":true,\"error_summary\":{{\"errors\":9,\"contexts\":{count}}}")
    };
    assert_eq!(
        leak_check(&[], stream_with(&contexts(0)).as_bytes()).status,
        0
    );
    let run = leak_check(&[], stream_with(&contexts(2)).as_bytes());
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .contains("the tool counted 2 errors beyond what it printed")
    );
    assert_eq!(
        leak_check(&["--no-errors"], stream_with(&contexts(2)).as_bytes()).status,
        0
    );
}

#[test]
fn errors_of_a_parent_do_not_count_again_in_its_child() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text(
        "fork.c",
        "#include <stdlib.h>\n#include <unistd.h>\n#include <sys/wait.h>\n\
         int main(void) { char *p = malloc(8); free(p); volatile char c = p[0]; (void)c;\n\
         if (fork() == 0) _exit(0); wait(0); return 0; }\n",
    );
    bench.valgrind("one.log", &[]);
    let run = bench.leak_check(&["--ignore=^main$", "one.log"]);
    assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    bench.valgrind("%p.log", &[]);
    let logs: Vec<String> = std::fs::read_dir(bench.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".log") && name != "one.log")
        .collect();
    assert_eq!(logs.len(), 2);
    let mut args = vec!["--ignore=^main$"];
    args.extend(logs.iter().map(String::as_str));
    assert_eq!(bench.leak_check(&args).status, 0);
    // The child counts the parent's error. Without the parent's log, that error is treated as the child's.
    let statuses: Vec<i32> = logs
        .iter()
        .map(|log| bench.leak_check(&["--ignore=^main$", log]).status)
        .collect();
    assert_eq!(statuses.iter().sum::<i32>(), 1);
}

#[test]
fn races_count_as_errors() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("race.c");
    for tool in ["--tool=helgrind", "--tool=drd"] {
        for file in ["out.log", "out.xml"] {
            bench.valgrind(file, &[tool]);
            let run = bench.leak_check(&[file]);
            assert_eq!((run.status, run.stderr.as_str()), (1, ""), "{tool} {file}");
            assert!(
                run.stdout.contains("\n\ncount (src/race.c)\n")
                    || run.stdout.contains("\n\ncount (race.c)\n"),
                "{}",
                run.stdout
            );
        }
    }
}

#[test]
fn excused_errors_do_not_hide_errors_beyond_valgrinds_limit() {
    let limited = "\"complete\":true,\"stopped_reporting\":true";
    let run = leak_check(&[], stream_with(limited).as_bytes());
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("stopped reporting errors"),
        "{}",
        run.stderr
    );
    assert_eq!(
        leak_check(&["--no-errors"], stream_with(limited).as_bytes()).status,
        0
    );
}

#[test]
fn an_input_that_cannot_be_judged_exits_with_2() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("clean.c");
    bench.valgrind("out.log", &[]);
    bench.valgrind("quiet.log", &["-q"]);
    bench.write("empty.log", "");
    bench.write("other.txt", "hello\n");
    bench.write("profile", "{\"type\":\"run\",\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":0}}\n{\"type\":\"end\",\"records\":0}\n");
    bench.write("diff.jsonl", "{\"type\":\"run\",\"tool\":\"memcheck\",\"runs\":[\"a\",\"b\"],\"events\":[],\"total\":{}}\n{\"type\":\"end\",\"records\":0}\n");
    bench.write("cut.jsonl", "{\"type\":\"run\",\"tool\":\"memcheck\"}\n");
    bench.write(
        "bad.jsonl",
        "{\"type\":\"run\",\"tool\":\"memcheck\"}\nnonsense\n",
    );
    bench.write("kind.jsonl", "{\"type\":\"leak\",\"kind\":\"lost\"}\n");
    for file in [
        "missing.log",
        "empty.log",
        "quiet.log",
        "other.txt",
        "profile",
        "diff.jsonl",
        "cut.jsonl",
        "bad.jsonl",
        "kind.jsonl",
        ".",
    ] {
        let run = bench.leak_check(&[file]);
        assert_eq!(run.status, 2, "{file}");
        assert!(
            run.stderr.starts_with("leak-check: "),
            "{file}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(file), "{file}: {}", run.stderr);
        assert!(
            run.stdout.contains("could not judge"),
            "{file}: {}",
            run.stdout
        );
        // A good log among the inputs does not change that.
        assert_eq!(bench.leak_check(&["out.log", file]).status, 2, "{file}");
    }
    assert_eq!(leak_check(&[], b"").status, 2);
    assert_eq!(leak_check(&["--no-such-flag"], b"").status, 2);
    assert_eq!(leak_check(&["--errors-for-leak-kinds=lost"], b"").status, 2);
    assert_eq!(leak_check(&["--only=("], b"").status, 2);
}

#[test]
fn allow_fragment_accepts_fragments() {
    let fragment = b"{\"type\":\"leak\",\"kind\":\"reachable\",\"cost\":{\"bytes\":1,\"blocks\":1},\"stack\":[]}\n";
    assert_eq!(leak_check(&[], fragment).status, 2);
    assert_eq!(leak_check(&["--allow-fragment"], fragment).status, 0);
    assert_eq!(
        leak_check(
            &["--allow-fragment", "--errors-for-leak-kinds=all"],
            fragment
        )
        .status,
        1
    );
    let beside_a_whole_stream = [stream_with("\"complete\":true").as_bytes(), fragment].concat();
    assert_eq!(leak_check(&[], &beside_a_whole_stream).status, 2);
    let stray_end = [
        stream_with("\"complete\":true"),
        "{\"type\":\"end\"}\n".to_owned(),
    ]
    .concat();
    assert_eq!(leak_check(&[], stray_end.as_bytes()).status, 2);
    let filtered = stream_with("\"complete\":true").replace("\"records\":0", "\"records\":3");
    let run = leak_check(&[], filtered.as_bytes());
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("3 records were filtered out, of 3"),
        "{}",
        run.stderr
    );
    assert_eq!(
        leak_check(&["--allow-fragment"], filtered.as_bytes()).status,
        0
    );
    let quiet = stream_with("\"complete\":false,\"quiet\":true");
    assert_eq!(leak_check(&[], quiet.as_bytes()).status, 2);
    assert_eq!(
        leak_check(&["--allow-fragment"], quiet.as_bytes()).status,
        0
    );
}

#[test]
fn no_prefix_of_a_log_is_clean() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("clean.c");
    for file in ["out.log", "out.xml"] {
        bench.valgrind(file, &[]);
        let whole = bench.read(file);
        assert_eq!(leak_check(&[], whole.as_bytes()).status, 0);
        let ends: Vec<usize> = whole.match_indices('\n').map(|(end, _)| end + 1).collect();
        let last_line = whole.trim_end().lines().last().unwrap();
        for end in ends {
            if whole[..end].contains(last_line) {
                break;
            }
            let run = leak_check(&[], &whole.as_bytes()[..end]);
            assert_eq!(run.status, 2, "the first {end} bytes of {file}");
        }
    }
}

#[test]
fn a_closed_output_does_not_change_the_verdict() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_leak-check"))
        .arg("out.log")
        .current_dir(bench.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn an_unwritable_output_exits_with_2() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("clean.c");
    bench.valgrind("out.log", &[]);
    let output = Command::new(env!("CARGO_BIN_EXE_leak-check"))
        .arg("out.log")
        .current_dir(bench.path())
        .stdout(std::fs::File::create("/dev/full").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_text_report_has_plain_sentences() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    bench.valgrind("out.xml", &["--show-leak-kinds=all", "--track-origins=yes"]);
    let run = bench.leak_check(&["out.xml"]);
    for sentence in [
        "read_past_the_end (src/errors.c)\n  reads 1 byte just past a 16-byte block allocated at src/errors.c:39\n",
        "  writes 1 byte, 1 byte into an 8-byte block freed at src/errors.c:48 and allocated at src/errors.c:47\n",
        "  calls free on a 24-byte block freed at src/errors.c:55 and allocated at src/errors.c:54\n",
        "  decides on uninitialised memory, allocated at src/errors.c:61\n",
        "write_out (src/errors.c)\n  passes uninitialised memory to the system call write(buf), at the start of an 8-byte block allocated at src/errors.c:69\n",
        "  leaks 64 bytes in 1 block, definitely lost\n",
        "  leaks 8 bytes in 1 block, definitely lost, and with it 8 bytes more\n",
        "  may leak 48 bytes in 1 block, possibly lost: only pointers into the middle are left\n",
        "definitely lost     72       2      2    2            0\n",
        "\nfailed: 8 new findings (",
    ] {
        assert!(run.stdout.contains(sentence), "{sentence}\n{}", run.stdout);
    }
    assert!(!run.stdout.contains('\u{1b}'), "colour in a pipe");
    let coloured = bench.leak_check(&["--color=always", "out.xml"]).stdout;
    assert!(coloured.contains("\u{1b}["));
}

#[test]
fn the_json_report_gives_the_same_verdict_as_its_input() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("errors.c");
    bench.valgrind("out.log", &["--leak-check=summary"]);
    let run = bench.leak_check(&["--format=json", "out.log"]);
    assert_eq!(run.status, 1);
    let records = run.records(&["run", "leak", "error"]);
    let total = &records[0]["total"];
    for (event, kinds) in [("bytes", "leak"), ("blocks", "leak"), ("count", "error")] {
        let sum: i64 = records[1..]
            .iter()
            .filter(|record| record["type"] == kinds)
            .map(|record| record["cost"][event].as_i64().unwrap())
            .sum();
        assert_eq!(total[event], Value::from(sum), "{event}");
    }
    let again = leak_check(&["--format=json"], run.stdout.as_bytes());
    assert_eq!(again.status, 1, "{}", again.stderr);
}
