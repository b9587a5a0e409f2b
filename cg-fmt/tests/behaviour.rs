//! The behaviour of cg-fmt with incomplete inputs, impossible requests, and different outputs.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::io::Write;
use std::process::{Command, Stdio};

/// The result of a run of cg-fmt.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs cg-fmt with an input.
pub(crate) fn cg_fmt(args: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cg-fmt"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    run(command.args(args), input)
}

fn run(command: &mut Command, input: &str) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The write fails if the tool refuses its arguments, because it then closes its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

const RUN: &str = r#"{"type":"run","stream":1,"tool":"callgrind","events":["Ir"],"total":{"Ir":1000}}
"#;
const TWO: &str = r#"{"type":"fn","fn":"f","file":"a.c","calls":1,"cost":{"Ir":300},"incl":{"Ir":400}}
{"type":"fn","fn":"g","file":"b.c","calls":2,"cost":{"Ir":100},"incl":{"Ir":100}}
"#;
const END: &str = "{\"type\":\"end\",\"records\":2}\n";

fn whole() -> String {
    [RUN, TWO, END].concat()
}

#[test]
fn percentages_of_a_filtered_stream_refer_to_the_whole_program() {
    let table = cg_fmt(&[], &whole());
    assert!(table.stdout.contains("300 (30.00%)"), "{}", table.stdout);
    assert!(table.stdout.contains("1,000 (100.0%)"), "{}", table.stdout);
    let shown = cg_fmt(&["--percent-of", "shown"], &whole());
    assert!(shown.stdout.contains("300 (75.00%)"), "{}", shown.stdout);
    assert!(shown.stdout.contains("400 (100.0%)"), "{}", shown.stdout);
}

#[test]
fn a_fragment_has_percentages_of_its_own_sum_and_a_warning() {
    let table = cg_fmt(&[], TWO);
    assert_eq!(table.status, Some(0));
    assert!(table.stdout.contains("300 (75.00%)"), "{}", table.stdout);
    assert_eq!(
        table.stderr,
        "cg-fmt: the input has no run record: percentages are of the sum of its records\n"
    );
    let json = cg_fmt(&["-f", "json"], TWO);
    assert_eq!((json.stdout.as_str(), json.stderr.as_str()), (TWO, ""));
}

#[test]
fn a_truncated_stream_is_shown_and_reported() {
    for format in ["table", "csv", "tsv", "markdown", "json"] {
        let run = cg_fmt(&["-f", format], &[RUN, TWO].concat());
        assert_eq!(run.status, Some(2), "{format}");
        assert!(run.stdout.contains("b.c"), "{format}: {}", run.stdout);
        assert!(!run.stdout.contains("\"end\""), "{}", run.stdout);
        assert!(run.stderr.contains("truncated stream"), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}

#[test]
fn nothing_is_written_if_nothing_was_read() {
    for (args, input) in [(&[][..], ""), (&["no-such-file"], ""), (&[], "\u{1}binary")] {
        let run = cg_fmt(args, input);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
}

#[test]
fn a_stream_without_records_is_an_empty_table() {
    let run = cg_fmt(&[], &[RUN, "{\"type\":\"end\",\"records\":0}\n"].concat());
    assert_eq!(run.status, Some(0));
    assert!(run.stdout.contains("no functions"), "{}", run.stdout);
    let csv = cg_fmt(
        &["-f", "csv"],
        &[RUN, "{\"type\":\"end\",\"records\":0}\n"].concat(),
    );
    assert_eq!(csv.stdout, "Ir,Ir%,incl.Ir,incl.Ir%,calls,fn,file,obj\n");
}

#[test]
fn a_bad_line_is_reported_with_its_number_and_earlier_records_are_shown() {
    let run = cg_fmt(&["-f", "csv"], &[RUN, TWO, "{\"type\":\"fn\",\n"].concat());
    assert_eq!(run.status, Some(2));
    assert!(run.stdout.contains("300,30.00"), "{}", run.stdout);
    assert!(
        run.stderr.starts_with("cg-fmt: <stdin>:4: "),
        "{}",
        run.stderr
    );
}

#[test]
fn a_request_for_missing_data_is_an_error_that_lists_the_available_data() {
    for (args, message) in [
        (
            ["--sort", "Dr"],
            "there is no column Dr; there are Ir, Ir%, incl.Ir",
        ),
        (
            ["--columns", "Ir,x"],
            "there is no column x; there are Ir, ",
        ),
        (["--events", "Dr"], "there is no event Dr; there are Ir"),
        (
            ["--tree", "both"],
            "no call records for a tree; if the profile has calls, use: cg-parse --calls PROFILE | cg-fmt --tree both, or for some functions cg-filter --calls REGEX PROFILE | cg-fmt --tree both\n",
        ),
        (
            ["--source", "--context=1"],
            "no line records for annotated sources; use: cg-parse --lines PROFILE | cg-fmt --source, or",
        ),
        (["--top", "x"], "expected a number of rows or all"),
    ] {
        let run = cg_fmt(&args, &whole());
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn tables_have_25_rows_and_a_sum_of_the_rest() {
    let mut stream = RUN.to_owned();
    for number in 0..30 {
        let cost = 40 - number;
        stream += &format!(
            "{{\"type\":\"fn\",\"fn\":\"f{number}\",\"calls\":0,\"cost\":{{\"Ir\":{cost}}}}}\n"
        );
    }
    stream += END;
    // The omitted costs are 15 to 11, together 65 of 1000.
    let closing = "5 more functions with 65 Ir (6.50%) not shown (--top all)\n";
    let table = cg_fmt(&[], &stream);
    assert!(table.stdout.ends_with(closing), "{}", table.stdout);
    assert!(table.stdout.contains("  f24\n") && !table.stdout.contains("  f25\n"));
    let all = cg_fmt(&["--top", "all"], &stream);
    assert!(all.stdout.ends_with("  f29\n"), "{}", all.stdout);
    assert_eq!(cg_fmt(&["-f", "csv"], &stream).stdout.lines().count(), 31);
    assert_eq!(
        cg_fmt(&["-f", "tsv", "--top", "3"], &stream)
            .stdout
            .lines()
            .count(),
        4
    );
}

#[test]
fn records_with_equal_keys_are_added_up() {
    let twice = [whole(), whole()].concat();
    let csv = cg_fmt(
        &["-f", "csv", "--columns", "fn,Ir,incl.Ir,calls,Ir%"],
        &twice,
    );
    assert_eq!(
        csv.stdout,
        "fn,Ir,incl.Ir,calls,Ir%\nf,600,800,2,30.00\ng,200,200,4,10.00\n"
    );
}

#[test]
fn json_writes_the_stream_back() {
    assert_eq!(cg_fmt(&["-f", "json"], &whole()).stdout, whole());
    let again = cg_fmt(&["-f", "json", "--sort", "fn", "--reverse"], &whole());
    let names: Vec<&str> = again
        .stdout
        .lines()
        .skip(1)
        .map(|line| &line[19..20])
        .collect();
    assert_eq!(names[..2], ["g", "f"], "{}", again.stdout);
}

#[test]
fn group_by_sums_cost_and_drops_inclusive_cost() {
    let csv = cg_fmt(
        &["-f", "csv", "--group-by", "file"],
        &[RUN, TWO, TWO, END].concat(),
    );
    assert_eq!(
        csv.stdout,
        "Ir,Ir%,functions,file\n600,60.00,1,a.c\n200,20.00,1,b.c\n"
    );
}

#[test]
fn only_terminals_get_colour_unless_an_option_decides() {
    assert!(!cg_fmt(&[], &whole()).stdout.contains('\x1b'));
    assert!(
        cg_fmt(&["--color", "always"], &whole())
            .stdout
            .contains('\x1b')
    );
    let mut no_color = Command::new(env!("CARGO_BIN_EXE_cg-fmt"));
    let run = run(
        no_color.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1"),
        &whole(),
    );
    assert!(!run.stdout.contains('\x1b'), "{}", run.stdout);
}

/// Characters that a name must not send to a terminal: raw ESC, C1's CSI, a right-to-left override and a line feed.
const HOSTILE: &str = "\u{1b}[2J\u{9b}\u{202e}\n";

#[test]
fn control_characters_in_names_are_escaped_for_people_and_kept_for_programs() {
    let name = serde_json::to_string(&format!("f{HOSTILE}g")).unwrap();
    let stream = format!(
        r#"{{"type":"run","stream":1,"tool":"dhat","command":{name},"events":["bytes"],"total":{{"bytes":7}},"bytes_unit":{name}}}
{{"type":"fn","fn":{name},"file":{name},"obj":{name},"calls":1,"cost":{{"bytes":7}},"incl":{{"bytes":7}}}}
{{"type":"call","fn":{name},"line":1,"callee":{{"fn":{name}}},"calls":1,"incl":{{"bytes":7}}}}
{{"type":"line","fn":{name},"file":{name},"line":1,"cost":{{"bytes":7}}}}
{{"type":"stack","fn":{name},"cost":{{"bytes":7}},"stack":[{{"fn":{name},"file":{name}}}]}}
{{"type":"end","records":4}}
"#
    );
    let shown = "f\\u{1b}[2J\\u{9b}\\u{202e}\\ng";
    for args in [
        &[][..],
        &["-f", "csv"],
        &["-f", "markdown"],
        &["--tree", "both"],
        &["--type", "stack"],
        &["--group-by", "file"],
        &["--source"],
        &["--width", "200"],
    ] {
        let run = cg_fmt(args, &stream);
        assert_eq!(run.status, Some(0), "{args:?}: {}", run.stderr);
        let text = run.stdout.replace('\n', "");
        assert!(
            !text.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
            "{args:?}: {text:?}"
        );
        assert!(text.contains(shown), "{args:?}: {text}");
    }
    let tsv = cg_fmt(&["-f", "tsv", "--columns", "fn"], &stream).stdout;
    assert_eq!(tsv, format!("fn\n{shown}\n"));
    let json = cg_fmt(&["-f", "json", "--type", "fn"], &stream).stdout;
    let record: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!(record["fn"], format!("f{HOSTILE}g"));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let script = format!(
        "set -o pipefail; {} -f csv --top all | head -1",
        env!("CARGO_BIN_EXE_cg-fmt")
    );
    let mut stream = RUN.to_owned();
    for number in 0..20_000 {
        stream += &format!(
            "{{\"type\":\"fn\",\"fn\":\"a::rather::long::name::f{number}\",\"cost\":{{\"Ir\":1}}}}\n"
        );
    }
    let run = run(Command::new("bash").args(["-c", &script]), &(stream + END));
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_an_error() {
    let script = format!("{} > /dev/full", env!("CARGO_BIN_EXE_cg-fmt"));
    let run = run(Command::new("bash").args(["-c", &script]), &whole());
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("standard output: "), "{}", run.stderr);
}

/// Returns a diff of many functions with long names.
fn large_diff(functions: usize) -> String {
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"runs\":[\"old\",\"new\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[100000000,200000000]}}\n",
    );
    for number in 0..functions {
        let delta = functions - number;
        let name = format!(
            "<demo::module{number}::Type<T> as demo::Trait<'_>>::method|{}",
            "x".repeat(number % 300)
        );
        stream += &format!(
            "{{\"type\":\"diff\",\"fn\":\"{name}\",\"file\":\"src/lib.rs\",\"of\":\"fn\",\"status\":\"changed\",\"calls\":[1,1],\"cost\":{{\"Ir\":[100,{}]}},\"delta\":{{\"Ir\":{delta}}}}}\n",
            100 + delta
        );
    }
    stream + END
}

#[test]
fn a_pull_request_comment_fits_and_counts_the_omitted_rows() {
    let run = cg_fmt(&["-f", "markdown"], &large_diff(20_000));
    assert!(run.stdout.len() < 65_536, "{}", run.stdout.len());
    assert!(run.stdout.len() > 50_000, "{}", run.stdout.len());
    let mut lines = run.stdout.lines();
    assert_eq!(lines.next(), Some("<!-- cg-diff -->"));
    assert_eq!(
        lines.next(),
        Some("### Ir +100.00% (100,000,000 → 200,000,000, +100,000,000)")
    );
    let rows = run.stdout.matches("method\\|").count();
    let left_out = format!(" {} more functions with +", thousands(20_000 - rows));
    let closing = run.stdout.lines().last().unwrap().replace("<sub>", " ");
    assert!(closing.starts_with(&left_out), "{closing}");
    assert_eq!(run.stdout.matches("<details>").count(), 1);
    assert_eq!(run.stdout.matches("</details>").count(), 1);
}

fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

#[test]
fn a_diff_without_differences_reports_no_differences() {
    let stream = "{\"type\":\"run\",\"stream\":1,\"runs\":[\"a\",\"b\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[5,5]}}\n{\"type\":\"end\",\"records\":0}\n";
    let comment = cg_fmt(&["-f", "markdown"], stream);
    assert!(
        comment
            .stdout
            .starts_with("<!-- cg-diff -->\n### Ir unchanged at 5\n\na → b: no differences\n"),
        "{}",
        comment.stdout
    );
    assert!(cg_fmt(&[], stream).stdout.contains("no differences"));
}

#[test]
fn diffs_add_up_element_by_element() {
    let diff = "{\"type\":\"run\",\"stream\":1,\"runs\":[\"a\",\"b\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[5,8]}}\n{\"type\":\"diff\",\"fn\":\"f\",\"of\":\"fn\",\"status\":\"changed\",\"cost\":{\"Ir\":[5,8]},\"delta\":{\"Ir\":3}}\n{\"type\":\"end\",\"records\":1}\n";
    let csv = cg_fmt(
        &[
            "-f",
            "csv",
            "--columns",
            "Ir.old,Ir.new,Ir.delta,Ir.delta%,status,fn",
        ],
        &diff.repeat(2),
    );
    assert_eq!(
        csv.stdout,
        "Ir.old,Ir.new,Ir.delta,Ir.delta%,status,fn\n10,16,6,60.00,changed,f\n"
    );
    let three = diff
        .replace("\"b\"]", "\"b\",\"c\"]")
        .replace("8]", "8,9]")
        .replace("\"Ir\":3", "\"Ir\":4");
    let csv = cg_fmt(
        &["-f", "csv", "--columns", "Ir.a,Ir.b,Ir.c,delta,fn"],
        &three,
    );
    assert_eq!(csv.stdout, "Ir.a,Ir.b,Ir.c,Ir.delta,fn\n5,8,9,4,f\n");
}

#[test]
fn sentences_with_long_names_do_not_fill_a_comment() {
    let sentence = format!("\"Ir[x]>+1: {} is new with 5\"", "long::".repeat(2_000));
    let sentences = vec![sentence; 40].join(",");
    let stream = format!(
        "{{\"type\":\"run\",\"stream\":1,\"runs\":[\"a\",\"b\"],\"events\":[\"Ir\"],\"total\":{{\"Ir\":[5,8]}},\"broken_limits\":[{sentences}],\"notes\":[{sentences}]}}\n{{\"type\":\"end\",\"records\":0}}\n"
    );
    let comment = cg_fmt(&["-f", "markdown"], &stream).stdout;
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.contains("…long::"), "{comment}");
    assert!(comment.contains(" is new with 5\n"), "{comment}");
    assert!(comment.contains("15 more limits are broken"), "{comment}");
    assert!(comment.contains("30 more notes like these"), "{comment}");
}

#[test]
fn a_limit_is_broken_if_any_comparison_breaks_it() {
    let pair = |name: &str, totals: &str, broken: &str| {
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"runs\":[\"{name}.old\",\"{name}\"],\"events\":[\"Ir\"],\"total\":{{\"Ir\":{totals}}},\"broken_limits\":[{broken}],\"joined\":{{\"directory\":2}},\"merged\":0,\"notes\":[\"n\"],\"relative_to\":\"{name}.old\",\"rows\":{{\"changed\":1,\"same\":3}}}}\n{{\"type\":\"end\",\"records\":0}}\n"
        )
    };
    let faster = pair("a", "[120,100]", "");
    let slower = pair("b", "[100,120]", "\"Ir>+5%: the total rose\"");
    for stream in [
        [faster.as_str(), &slower].concat(),
        [slower.as_str(), &faster].concat(),
    ] {
        let comment = cg_fmt(&["-f", "markdown"], &stream).stdout;
        assert!(
            comment.starts_with("<!-- cg-diff -->\n### a limit is broken: 2 of 2 benchmarks changed; worst: b +20.00%, best: a -16.67%\n"),
            "{comment}"
        );
        assert!(
            comment.contains(
                " and 1 more: 2 changed, 6 same\n\nlimit broken: b: Ir&gt;+5%: the total rose\n"
            ),
            "{comment}"
        );
        assert!(
            comment.contains("4 rows matched despite different names; cg-diff --list-matches"),
            "{comment}"
        );
        assert_eq!(comment.matches("<sub>n</sub>").count(), 1, "{comment}");
        let json = cg_fmt(&["-f", "json"], &stream).stdout;
        assert!(
            json.contains("\"broken_limits\":[\"b: Ir>+5%: the total rose\"]"),
            "{json}"
        );
    }
    let comment = cg_fmt(&["-f", "markdown"], &faster.repeat(2)).stdout;
    assert!(
        comment.contains("### within limits: Ir -16.67% (240 → 200, -40)\n\na.old → a: 2 changed"),
        "{comment}"
    );
}

#[test]
fn requested_columns_choose_the_record_type() {
    let stream = r#"{"type":"run","stream":1,"tool":"memcheck","events":["count","bytes","blocks"],"total":{"count":1,"bytes":8,"blocks":1}}
{"type":"error","fn":"f","kind":"InvalidRead","what":"Invalid read of size 8","cost":{"count":1},"stack":[]}
{"type":"leak","fn":"g","kind":"definite","cost":{"bytes":8,"blocks":1},"indirect_bytes":0,"stack":[]}
{"type":"end","records":2}
"#;
    let both = cg_fmt(&[], stream);
    assert!(both.stdout.contains("1 error\n") && both.stdout.contains("1 leak record\n"));
    let csv = cg_fmt(&["-f", "csv"], stream);
    assert_eq!(
        csv.stdout,
        "count,count%,kind,what,fn,file,line,obj\n1,100.00,InvalidRead,Invalid read of size 8,f,,,\n"
    );
    assert_eq!(
        csv.stderr,
        "cg-fmt: only error records are written; --type selects the other records of the input: leak\n"
    );
    let leaks = cg_fmt(&["-f", "csv", "--columns", "bytes,fn"], stream);
    assert_eq!(
        (leaks.stdout.as_str(), leaks.stderr.as_str()),
        (
            "bytes,fn\n8,g\n",
            "cg-fmt: only leak records are written; --type selects the other records of the input: error\n"
        )
    );
    let json = cg_fmt(&["-f", "json", "--sort", "bytes"], stream);
    assert_eq!(json.stdout.lines().count(), 4, "{}", json.stdout);
    assert_eq!(cg_fmt(&["-f", "json", "--sort", "Ir"], stream).stdout, "");
}

#[test]
fn only_files_with_a_cost_are_reported_as_missing() {
    let line = |file: &str, count: u64| {
        format!(
            "{{\"type\":\"line\",\"fn\":\"f\",\"file\":\"{file}\",\"line\":3,\"cost\":{{\"Ir\":{count}}}}}\n"
        )
    };
    let call = "{\"type\":\"call\",\"fn\":\"f\",\"file\":\"gone/a.c\",\"site\":\"gone/site.h\",\"line\":3,\"callee\":{\"fn\":\"g\"},\"calls\":1,\"incl\":{\"Ir\":7}}\n";
    let lines = [
        line("gone/a.c", 400),
        line("gone/b.h", 0),
        line("gone/c.c", 600),
    ];
    let end = "{\"type\":\"end\",\"records\":4}\n";
    let input = [RUN, &lines.concat(), call, end].concat();
    let run = cg_fmt(&["--source"], &input);
    assert!(
        run.stdout
            .contains("2 files not found: gone/c.c, gone/a.c ("),
        "{}",
        run.stdout
    );
}

#[test]
fn the_directory_of_sources_may_be_a_separate_word() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.c"), "int only_line;\n").unwrap();
    let folder = directory.path().to_str().unwrap();
    let line = r#"{"type":"line","fn":"f","file":"/build/a.c","line":1,"cost":{"Ir":300}}"#;
    let input = format!("{RUN}{line}\n{END}");
    let joined = cg_fmt(&[&format!("--source={folder}")], &input);
    assert!(joined.stdout.contains("int only_line;"), "{joined:?}");
    for args in [&["--source", folder][..], &["--source", folder, "-"]] {
        let separate = cg_fmt(args, &input);
        assert_eq!(separate.stdout, joined.stdout, "{args:?}");
        assert_eq!(separate.status, Some(0), "{separate:?}");
    }
}

#[test]
fn a_heading_names_the_function_that_owns_the_lines() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_str().unwrap();
    std::fs::write(directory.path().join("a.c"), "one\ntwo\nthree\nfour\n").unwrap();
    std::fs::write(directory.path().join("b.h"), "five\nsix\nseven\n").unwrap();
    let line = |function: &str, file: &str, line: u32, address: u32, inlined: &str| {
        let inlined = match inlined {
            "" => String::new(),
            name => format!(r#","inlined":[{{"fn":"{name}","file":"b.h"}}]"#),
        };
        format!(
            "{{\"type\":\"line\",\"fn\":\"{function}\",\"file\":\"{file}\",\"line\":{line},\"addr\":\"0x{address}\"{inlined},\"cost\":{{\"Ir\":100}}}}\n"
        )
    };
    let with = |inlined: &str| {
        [
            RUN,
            "{\"type\":\"fn\",\"fn\":\"main\",\"file\":\"a.c\",\"cost\":{\"Ir\":800}}\n",
            &line("main", "a.c", 1, 1, ""),
            &line("main", "a.c", 2, 2, inlined),
            &line("main", "a.c", 3, 3, inlined),
            &line("f", "a.c", 3, 4, inlined),
            &line("main", "a.c", 4, 5, ""),
            // The code of an inlined function whose name is unknown.
            &line("main", "b.h", 1, 6, ""),
            &line("main", "b.h", 2, 7, inlined),
            // The next line of the header is outside the functions' own file, too.
            &line("main", "b.h", 3, 8, ""),
            END,
        ]
        .concat()
    };
    let source = |stream: &str| {
        let run = cg_fmt(&[&format!("--source={folder}")], stream);
        assert_eq!(run.status, Some(0), "{run:?}");
        let lines = run
            .stdout
            .lines()
            .skip_while(|line| !line.ends_with("a.c") || line.contains("shown"));
        lines.skip(3).map(str::to_owned).collect::<Vec<String>>()
    };
    let headed = source(&with("probe"));
    let headings = headed.iter().filter_map(|line| line.split_once("-- "));
    let headings: Vec<(&str, &str)> = headings.map(|(cost, name)| (cost.trim(), name)).collect();
    assert_eq!(
        headings,
        [
            ("100 (10.00%)", "main"),
            ("300 (30.00%)", "probe, inlined into 2 functions"),
            ("100 (10.00%)", "main"),
            ("100 (10.00%)", "probe, inlined into main"),
        ]
    );
    let below = |heading: &str| {
        let position = headed.iter().position(|line| line.ends_with(heading));
        headed[position.unwrap() + 1].as_str()
    };
    assert!(below("2 functions").ends_with("2  two"), "{headed:?}");
    assert!(below("into main").ends_with("2  six"), "{headed:?}");
    // The other lines are unchanged. Without inlined functions there are no headings.
    let unheaded = headed.iter().filter(|line| !line.contains("-- "));
    assert_eq!(unheaded.cloned().collect::<Vec<_>>(), source(&with("")));
}

#[test]
fn diffs_sort_by_the_change_of_a_count() {
    let input = r#"{"type":"run","stream":1,"runs":["a","b"],"events":["Ir","Dr"],"total":{"Ir":[30,50],"Dr":[9,5]}}
{"type":"diff","fn":"f","of":"fn","status":"changed","calls":[1,2],"cost":{"Ir":[10,30],"Dr":[5,4]},"incl":{"Ir":[10,31]},"delta":{"Ir":20,"Dr":-1}}
{"type":"diff","fn":"g","of":"fn","status":"changed","calls":[1,7],"cost":{"Ir":[20,20],"Dr":[4,1]},"incl":{"Ir":[20,90]},"delta":{"Ir":0,"Dr":-3}}
{"type":"end","records":2}
"#;
    for (column, order) in [
        ("Ir", "fn\nf\ng\n"),
        ("Dr", "fn\ng\nf\n"),
        ("incl", "fn\ng\nf\n"),
        ("incl.Ir", "fn\ng\nf\n"),
        ("calls", "fn\ng\nf\n"),
        ("Ir.old", "fn\ng\nf\n"),
        ("fn", "fn\nf\ng\n"),
        ("-fn", "fn\ng\nf\n"),
        // Counts are in descending order anyway.
        ("-Ir", "fn\nf\ng\n"),
    ] {
        let run = cg_fmt(&["-f", "csv", "--columns", "fn", "--sort", column], input);
        assert_eq!(run.stdout, order, "{column}: {}", run.stderr);
    }
}

/// Returns a run of Massif with one snapshot per time unit, given by total and detail.
fn massif(snapshots: &[(u64, &str)]) -> String {
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"massif\",\"source\":[\"m.out\"],\"time_unit\":\"ms\",\"events\":[\"bytes\"],\"total\":{}}\n",
    );
    for (number, (bytes, detail)) in snapshots.iter().enumerate() {
        stream += &format!(
            "{{\"type\":\"snapshot\",\"snapshot\":{number},\"time\":{number},\"heap_bytes\":{bytes},\"extra_bytes\":0,\"stacks_bytes\":0,\"detail\":\"{detail}\"}}\n"
        );
    }
    stream + &format!("{{\"type\":\"end\",\"records\":{}}}\n", snapshots.len())
}

#[test]
fn the_largest_snapshot_is_named_if_another_snapshot_is_the_peak() {
    let stream = massif(&[(0, "empty"), (900, "peak"), (100, "empty"), (1000, "empty")]);
    let table = cg_fmt(&[], &stream);
    let sentence = "peak: 900 bytes (900 B) at snapshot 1, time 1 ms; the largest snapshot is 3, with 1,000 bytes at time 3";
    assert!(table.stdout.contains(sentence), "{}", table.stdout);
    assert!(
        table.stdout.contains("largest snapshot ▲"),
        "{}",
        table.stdout
    );
    let picture = cg_fmt(&["-f", "svg"], &stream).stdout;
    assert!(picture.contains(">peak: 900 B<"), "{picture}");
    assert!(picture.contains(">largest snapshot: 1000 B<"), "{picture}");
}

#[test]
fn steady_growth_has_a_line_in_the_picture() {
    let rising: Vec<(u64, &str)> = (0..=8).map(|step| (step * 128, "empty")).collect();
    let picture = cg_fmt(&["-f", "svg"], &massif(&rising)).stdout;
    // The line rises from 0 at the left to 1 KiB, the top of the axis, at the right.
    assert!(
        picture.contains("class=\"trend\" d=\"M84 368L936 44\""),
        "{picture}"
    );
    assert!(
        picture.contains("growth: linear growth (128 bytes per ms"),
        "{picture}"
    );
}

#[test]
fn two_runs_of_massif_are_one_picture() {
    let before = massif(&[(0, "empty"), (512, "peak"), (0, "empty")]);
    let after = massif(&[(0, "empty"), (128, "empty"), (256, "peak")]);
    let after = after.replace("m.out", "n.out");
    let picture = cg_fmt(&["-f", "svg"], &(before.clone() + &after)).stdout;
    for part in [
        "<title>m.out → n.out</title>",
        ">m.out, at most 512 B<",
        ">n.out, at most 256 B<",
        // The axis ends at 512, so 128 and 256 are at a quarter and at half of its height.
        "class=\"before\" d=\"M84 368H510V44H936V368\"",
        "class=\"total\" d=\"M84 368H510V287H936V206\"",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    let three = before.clone() + &after + &before;
    let run = cg_fmt(&["-f", "svg"], &three);
    assert!(
        run.stderr
            .contains("needs the snapshots of one or two runs"),
        "{}",
        run.stderr
    );
    assert_eq!(run.status, Some(2));
    let in_bytes = after.replace("\"time_unit\":\"ms\"", "\"time_unit\":\"B\"");
    assert_ne!(in_bytes, after);
    let run = cg_fmt(&["-f", "svg"], &(before + &in_bytes));
    assert!(
        run.stderr.contains("time in different units"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_layers_of_a_massif_run_are_its_own_functions() {
    // The peak in Massif's file is snapshot 36: 1,030,800 bytes on the heap, all allocated below xmalloc.
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/massif/3.19.0-heapy_i.massif.out"
    );
    let picture = cg_fmt(&["-f", "svg", file], "").stdout;
    assert!(
        picture.contains(">xmalloc, at most 1006.64 KiB<"),
        "{picture}"
    );
    let layers = picture.matches("class=\"layer ").count();
    assert!((1..=7).contains(&layers), "{picture}");
    // The layer has steps, without lines between known values. Memory that no tree explains is marked.
    let path = picture.split("data-fn=\"xmalloc\" d=\"").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    assert!(!path.is_empty() && !path.contains('L'), "{path}");
    assert!(picture.contains("class=\"unknown\" d=\"M"), "{picture}");
}

/// In this run of Massif only some snapshots have a tree.
#[test]
fn a_layer_follows_the_newest_tree_but_never_exceeds_the_total() {
    let tree = |number: u64, function: &str, bytes: u64| {
        format!(
            "{{\"type\":\"heap\",\"fn\":\"{function}\",\"snapshot\":{number},\"cost\":{{\"bytes\":{bytes}}},\"stack\":[]}}\n"
        )
    };
    let levels = [
        (256, "detailed"),
        (128, "empty"),
        (256, "detailed"),
        (0, "empty"),
        (256, "empty"),
    ];
    let stream = massif(&levels);
    let (run, rest) = stream.split_once('\n').unwrap();
    let stream = format!("{run}\n{}{}{rest}", tree(0, "f", 256), tree(2, "g", 128))
        .replace("\"records\":5", "\"records\":7");
    let run = cg_fmt(&["-f", "svg"], &stream);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    // f has all of the first snapshot and all of the smaller second one. g has half of the third one. The last one is
    // unknown.
    for part in [
        "data-fn=\"f\" d=\"M84 44H297V206H510V368H84V44\"",
        "data-fn=\"g\" d=\"M510 206H723V368H510V206\"",
        "class=\"unknown\" d=\"M510 44H723V206H510V44\"",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

/// Returns the output of `cg-diff` for two runs of Massif, with at most 512 and 256 bytes.
fn massif_diff() -> String {
    let snapshot = |run: u64, time: u64, bytes: u64| {
        format!(
            "{{\"type\":\"snapshot\",\"snapshot\":{time},\"time\":{time},\"heap_bytes\":{bytes},\"extra_bytes\":0,\"stacks_bytes\":0,\"detail\":\"empty\",\"run\":{run}}}\n"
        )
    };
    let snapshots = [
        (0, 0, 0),
        (0, 1, 512),
        (0, 2, 0),
        (1, 0, 0),
        (1, 1, 128),
        (1, 2, 256),
    ];
    [
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"massif\",\"time_unit\":\"ms\",\"runs\":[\"old\",\"new\"],\"events\":[\"bytes\"],\"total\":{\"bytes\":[512,256]}}\n".to_owned(),
        "{\"type\":\"diff\",\"fn\":\"grow\",\"of\":\"heap\",\"status\":\"changed\",\"cost\":{\"bytes\":[512,256]},\"delta\":{\"bytes\":-256},\"stack\":[{\"fn\":\"grow\"}]}\n".to_owned(),
        snapshots.map(|(run, time, bytes)| snapshot(run, time, bytes)).concat(),
        "{\"type\":\"end\",\"records\":7}\n".to_owned(),
    ]
    .concat()
}

#[test]
fn a_diff_of_two_heaps_is_one_picture() {
    let stream = massif_diff();
    let picture = cg_fmt(&["-f", "svg"], &stream).stdout;
    for part in [
        "<title>old → new</title>",
        ">old, at most 512 B<",
        "class=\"before\" d=\"M84 368H510V44H936V368\"",
        "class=\"total\" d=\"M84 368H510V287H936V206\"",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    let table = cg_fmt(&[], &stream).stdout;
    assert!(table.contains("○ old, at most 512 B"), "{table}");
    assert!(table.contains("512 B ┤ "), "{table}");
    assert!(!cg_fmt(&["--top", "1"], &stream).stdout.contains('○'));
    // Another order of the lines gives the same diff.
    let mut lines: Vec<&str> = stream.lines().collect();
    lines[2..8].reverse();
    let again = cg_fmt(&["-f", "svg"], &(lines.join("\n") + "\n")).stdout;
    assert_eq!(again, picture);
    // The snapshots of the second run are passed on.
    let json = cg_fmt(&["-f", "json"], &stream).stdout;
    assert_eq!(json.matches("\"run\":1").count(), 3, "{json}");
    // One axis cannot show times in different units.
    let units = stream.replace("\"time_unit\":\"ms\",", "");
    let run = cg_fmt(&["-f", "svg"], &units);
    assert!(
        run.stderr.contains("time in different units"),
        "{}",
        run.stderr
    );
    assert_eq!(run.status, Some(2));
    assert!(!cg_fmt(&[], &units).stdout.contains('○'));
}

#[test]
fn a_heaptrack_heap_is_drawn_by_site_and_listed_by_program_point() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/heaptrack/1.4.0-shapes.zst"
    );
    // heaptrack_print reports 60,000 bytes of twice() and 72,704 bytes of libstdc++ at the peak. The picture has both.
    let picture = cg_fmt(&["-f", "svg", file], "").stdout;
    for layer in [
        ">twice(), at most 58.59 KiB<",
        ">libstdc++.so.6, at most 71.00 KiB<",
    ] {
        assert!(picture.contains(layer), "{layer}: {picture}");
    }
    let table = cg_fmt(&[file], "").stdout;
    assert!(
        table.contains(" libstdc++.so.6, at most 71.00 KiB"),
        "{table}"
    );
    assert!(table.contains("avg size"), "{table}");
}

#[test]
fn only_the_peaks_of_several_massif_runs_are_listed() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/massif/3.19.0-heapy_i.massif.out"
    );
    // The file has 1,030,800 bytes on the heap at the peak, and it is read twice.
    let shown = cg_fmt(&[file, file], "").stdout;
    assert!(shown.contains("2,061,600 (100.0%)"), "{shown}");
}

#[test]
fn each_group_of_leaks_has_one_kind() {
    let stream = r#"{"type":"run","stream":1,"tool":"memcheck","events":["bytes","blocks"],"total":{"bytes":1110,"blocks":4}}
{"type":"leak","fn":"f","file":"a.c","kind":"reachable","cost":{"bytes":1000,"blocks":1},"indirect_bytes":0,"stack":[{"fn":"f","file":"a.c"},{"fn":"main","file":"m.c"}]}
{"type":"leak","fn":"f","file":"a.c","kind":"definite","cost":{"bytes":60,"blocks":1},"indirect_bytes":7,"stack":[{"fn":"f","file":"a.c"},{"fn":"main","file":"m.c"}]}
{"type":"leak","fn":"g","file":"a.c","kind":"definite","cost":{"bytes":20,"blocks":1},"indirect_bytes":2,"stack":[{"fn":"g","file":"a.c"},{"fn":"main","file":"m.c"}]}
{"type":"leak","fn":"h","file":"b.c","kind":"definite","cost":{"bytes":30,"blocks":1},"indirect_bytes":0,"stack":[{"fn":"h","file":"b.c"}]}
{"type":"end","records":4}
"#;
    let csv = cg_fmt(
        &[
            "-f",
            "csv",
            "--group-by",
            "file",
            "--columns",
            "bytes,bytes%,incl.bytes,incl.bytes%,kind,file",
        ],
        stream,
    );
    assert_eq!(
        csv.stdout,
        "bytes,bytes%,incl.bytes,incl.bytes%,kind,file
80,72.73,80,72.73,definite,a.c
30,27.27,30,27.27,definite,b.c
0,0.00,80,72.73,definite,m.c
1000,100.00,1000,100.00,reachable,a.c
0,0.00,1000,100.00,reachable,m.c
"
    );
    for (by, format) in [
        ("file", "table"),
        ("file", "markdown"),
        ("file", "html"),
        ("whose", "table"),
    ] {
        let people = cg_fmt(&["-f", format, "--group-by", by], stream).stdout;
        for words in ["definitely lost: 110 bytes", "still reachable: 1,000 bytes"] {
            assert!(people.contains(words), "{format}: {people}");
        }
        // No figure is the sum of both kinds.
        for sum in ["1,110", "1,080", "1,060"] {
            assert!(!people.contains(sum), "{format}: {people}");
        }
    }
    let json = cg_fmt(&["-f", "json", "--group-by", "file"], stream).stdout;
    let group = r#"{"type":"leak","file":"a.c","kind":"definite","cost":{"bytes":80,"blocks":2},"indirect_bytes":9,"stack":[]}"#;
    assert!(json.lines().any(|line| line == group), "{json}");
    // In a diff, too, each group has one kind.
    let diff = r#"{"type":"run","stream":1,"tool":"memcheck","runs":["a","b"],"events":["bytes"],"total":{"bytes":[0,1060]}}
{"type":"diff","fn":"f","file":"a.c","kind":"reachable","of":"leak","status":"added","cost":{"bytes":[null,1000]},"delta":{"bytes":1000}}
{"type":"diff","fn":"f","file":"a.c","kind":"definite","of":"leak","status":"added","cost":{"bytes":[null,60]},"delta":{"bytes":60}}
{"type":"end","records":2}
"#;
    let columns = "bytes.new,kind,file";
    let csv = cg_fmt(
        &["-f", "csv", "--group-by", "file", "--columns", columns],
        diff,
    );
    assert_eq!(
        csv.stdout,
        "bytes.new,kind,file\n1000,reachable,a.c\n60,definite,a.c\n"
    );
}
