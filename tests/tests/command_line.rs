//! Command lines: help, guesses, options of other programs, `-o`, completions.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileTypeExt as _;
use std::process::{Command, Stdio};

use tests::tools::{self, TOOLS, run};

const PROFILE: &str = "pair/before.callgrind.out";
const LOG: &str = "memcheck/3.27.1-leaky.log";

/// Each tool with arguments that make it write something.
const WRITERS: [(&str, &[&str]); 5] = [
    ("cg-parse", &[PROFILE]),
    ("cg-filter", &["main", PROFILE]),
    ("cg-diff", &[PROFILE, "pair/after.callgrind.out"]),
    ("cg-fmt", &[PROFILE]),
    ("leak-check", &[LOG]),
];

/// The previous content of the file of `-o`.
const OLD: &str = "{\"type\":\"run\",\"stream\":1}\n";

/// Returns the help of a tool for a terminal of 80 columns.
fn help(tool: &str, flag: &str) -> String {
    let mut command = tools::command(tool);
    let output = command.arg(flag).env("COLUMNS", "80").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{tool} {flag}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_begins_with_examples_and_its_summary_fits_a_screen() {
    for tool in TOOLS {
        for flag in ["-h", "--help"] {
            let help = help(tool, flag);
            let mut lines = help.lines();
            assert_eq!(lines.next(), Some("Examples:"), "{tool} {flag}");
            assert!(lines.next().unwrap().contains(tool), "{tool} {flag}");
            assert!(
                !help.contains("Options:"),
                "{tool}: options without a group"
            );
        }
        let short = help(tool, "-h");
        assert!(short.lines().count() <= 24, "{tool}: {short}");
        let widest = short.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{tool}: {short}");
    }
}

#[test]
fn every_example_of_help_is_in_the_manual() {
    for tool in TOOLS {
        let manual = run(tool, &["--generate", "man"], b"");
        assert_eq!(manual.status, 0, "{tool}");
        assert!(manual.text().contains(".TH"), "{tool}");
        // In roff, \- is a hyphen and \*(Aq is a quote.
        let manual = manual.text().replace("\\-", "-").replace("\\*(Aq", "'");
        let output = tools::command(tool)
            .arg("--help")
            .env("COLUMNS", "300")
            .output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let examples: Vec<&str> = help
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .collect();
        assert!(examples.len() > 2, "{tool}");
        for example in examples {
            assert!(manual.contains(example.trim()), "{tool}: {example}");
        }
    }
}

#[test]
fn examples_have_valid_options() {
    for tool in TOOLS {
        let output = tools::command(tool)
            .arg("--help")
            .env("COLUMNS", "300")
            .output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for example in help.lines().skip(1).take_while(|line| !line.is_empty()) {
            if example.contains("valgrind ") {
                continue;
            }
            let script = format!("PATH={}:$PATH\n{example}", tools::folder().display());
            let output = Command::new("bash")
                .args(["-c", &script])
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            // The files do not exist, but the options must.
            let is_missing = ["No such file", "there is nothing on standard input"]
                .iter()
                .any(|message| stderr.contains(message));
            assert!(is_missing, "{example}: {stderr}");
            assert!(!stderr.contains("error:"), "{example}: {stderr}");
            assert!(!stderr.contains(" here; write "), "{example}: {stderr}");
        }
    }
}

#[test]
fn list_rules_prints_the_table_of_rules() {
    let rules = run("cg-diff", &["--list-rules"], b"");
    assert_eq!((rules.status, rules.stderr.as_str()), (0, ""));
    assert!(rules.text().contains("llvm-suffix"), "{}", rules.text());
    assert!(!help("cg-diff", "--help").contains("llvm-suffix"));
}

#[test]
fn options_of_other_programs_get_a_one_line_hint() {
    for (tool, args, expected) in [
        (
            "cg-fmt",
            &["--csv", PROFILE][..],
            "there is no --csv here; write -f csv",
        ),
        (
            "cg-fmt",
            &["--limit=5"],
            "there is no --limit here; write -n N",
        ),
        (
            "cg-fmt",
            &["-s", "Ir"],
            "there is no -s here; write --sort COLUMN",
        ),
        (
            "cg-fmt",
            &["-c", "Ir"],
            "there is no -c here; write --columns COLUMNS",
        ),
        ("cg-fmt", &["-l"], "there is no -l here; write -n N"),
        (
            "cg-fmt",
            &["--crate"],
            "there is no --crate here; write --group-by crate",
        ),
        (
            "cg-fmt",
            &["--module"],
            "there is no --module here; write --group-by module",
        ),
        (
            "leak-check",
            &["--json"],
            "there is no --json here; write -f json",
        ),
        (
            "cg-filter",
            &["--limit", "3"],
            "there is no --limit here; write -n N",
        ),
        (
            "cg-parse",
            &["--json"],
            "there is no --json here; write nothing: the output is JSON lines",
        ),
        (
            "cg-diff",
            &["--markdown"],
            "there is no --markdown here; write | cg-fmt with that option after cg-diff",
        ),
    ] {
        let refused = run(tool, args, b"");
        assert_eq!(refused.status, 2, "{tool} {args:?}");
        assert_eq!(refused.stderr, format!("{tool}: {expected}\n"));
    }
}

#[test]
fn only_the_generate_option_generates() {
    let man = run("cg-filter", &["-e", "--generate", PROFILE], b"");
    assert_eq!((man.status, man.stderr.as_str()), (0, ""));
    assert!(
        man.text().starts_with("{\"type\":\"run\""),
        "{}",
        man.text()
    );
    let file = run("cg-fmt", &["--", "--generate"], b"");
    assert!(
        file.stderr.contains("--generate: No such file"),
        "{}",
        file.stderr
    );
    for tool in TOOLS {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = run(tool, &[&format!("--generate=complete-{shell}")], b"");
            assert_eq!(script.status, 0, "{tool} {shell}");
            assert!(script.text().contains(tool), "{tool} {shell}");
        }
        for args in [&["--generate", "nonsense"][..], &["--generate"]] {
            assert_eq!(run(tool, args, b"").status, 2, "{tool}");
        }
    }
}

#[test]
fn shells_complete_values_of_sort_columns_and_tree() {
    let script = run("cg-fmt", &["--generate", "complete-bash"], b"");
    for (option, typed, expected) in [
        ("--sort", "in", "incl incl.Ir"),
        ("--columns", "cal", "calls callee"),
        ("--tree", "call", "callers callees"),
        ("--group-by", "cr", "crate"),
        ("--type", "program", "program_point"),
        ("-f", "mark", "markdown"),
    ] {
        let ask = format!(
            "{}\nCOMP_WORDS=(cg-fmt {option} {typed}); COMP_CWORD=2\n_cg__fmt cg-fmt {typed} {option}\necho \
             \"${{COMPREPLY[@]}}\"",
            script.text()
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        let completed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(completed.trim(), expected, "{option}");
    }
}

#[test]
fn file_instead_of_a_regex_is_read() {
    let whole = run("cg-filter", &["", PROFILE], b"");
    let note = format!(
        "cg-filter: {PROFILE} is read as a file; -e {PROFILE} searches function names for it\n"
    );
    let guessed = run("cg-filter", &[PROFILE], b"");
    assert_eq!((guessed.status, &guessed.stderr), (0, &note));
    assert_eq!(guessed.stdout, whole.stdout);
    for condition in [
        &["-n", "3"][..],
        &["--top=3"],
        &["--type", "fn"],
        &["--caller", "main"],
    ] {
        let guessed = run("cg-filter", &[condition, &[PROFILE]].concat(), b"");
        let explicit = run("cg-filter", &[condition, &["", PROFILE]].concat(), b"");
        // With a condition, nobody expects a regular expression.
        assert_eq!(
            (guessed.status, guessed.stderr.as_str()),
            (0, ""),
            "{condition:?}"
        );
        assert_eq!(guessed.stdout, explicit.stdout, "{condition:?}");
        let keeps_all = condition[0] == "--type";
        assert_eq!(
            explicit.stdout.len() < whole.stdout.len(),
            !keeps_all,
            "{condition:?}"
        );
    }
    // After a pipe, the argument is the regex.
    let piped = run("cg-filter", &["README.md"], &whole.stdout);
    assert_eq!((piped.status, piped.stderr.as_str()), (0, ""));
    assert_eq!(piped.text().lines().count(), 2);
}

#[test]
fn regex_without_input_gets_a_hint() {
    let output = tools::command("cg-filter")
        .arg("^main$")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "cg-filter: ^main$ is the regular expression, and there is nothing on standard input; cg-filter \
                    REGEX FILE reads a file\n";
    assert!(stderr.starts_with(expected), "{stderr}");
}

#[test]
fn column_and_event_names_ignore_case_and_blanks() {
    let exact = run(
        "cg-fmt",
        &[
            "--sort",
            "incl.Ir",
            "--columns",
            "Ir,incl.Ir%,fn",
            "-n",
            "3",
            PROFILE,
        ],
        b"",
    );
    assert_eq!(exact.status, 0, "{}", exact.stderr);
    let loose = [
        "--sort",
        "INCL.ir",
        "--columns",
        "ir, Incl.IR%, FN",
        "--top=3",
        PROFILE,
    ];
    assert_eq!(run("cg-fmt", &loose, b""), exact);
    let named = ["--events", "ir", PROFILE];
    assert_eq!(
        run("cg-fmt", &named, b""),
        run("cg-fmt", &["--events", "Ir", PROFILE], b"")
    );
}

#[test]
fn output_files_equal_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let name = path.to_str().unwrap();
    for (tool, args) in WRITERS {
        fs::write(&path, OLD).unwrap();
        let printed = run(tool, args, b"");
        let written = run(tool, &[args, &["-o", name]].concat(), b"");
        assert_eq!(
            (written.status, &written.stderr),
            (printed.status, &printed.stderr),
            "{tool}"
        );
        assert_eq!(written.stdout, b"", "{tool}");
        assert_eq!(fs::read(&path).unwrap(), printed.stdout, "{tool}");
        for stdout in ["-", "/dev/stdout"] {
            assert_eq!(
                run(tool, &[args, &["-o", stdout]].concat(), b""),
                printed,
                "{tool}"
            );
        }
        let null = run(tool, &[args, &["--output=/dev/null"]].concat(), b"");
        assert_eq!(
            (null.status, null.stdout.len()),
            (printed.status, 0),
            "{tool}"
        );
        let generated = run(tool, &["--generate=man", "-o", name], b"");
        assert_eq!((generated.status, generated.stdout.len()), (0, 0), "{tool}");
        assert!(fs::read_to_string(&path).unwrap().contains(".TH"), "{tool}");
    }
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing temporary is left"
    );
}

#[test]
fn incomplete_output_does_not_replace_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let name = path.to_str().unwrap();
    let stream = run("cg-parse", &[PROFILE], b"").stdout;
    let cut = &stream[..stream.len() - 40];
    for (tool, args) in [
        ("cg-filter", &["", "-"][..]),
        ("cg-fmt", &["-"]),
        ("cg-diff", &[PROFILE, "-"]),
    ] {
        fs::write(&path, OLD).unwrap();
        let failed = run(tool, &[args, &["-o", name]].concat(), cut);
        assert_eq!(failed.status, 2, "{tool}: {}", failed.stderr);
        assert!(
            failed.stderr.ends_with(&format!(
                "{name} was not written, because the output is incomplete; without -o, it goes to standard output\n"
            )),
            "{tool}: {}",
            failed.stderr
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), OLD, "{tool}");
    }
    // leak-check writes its report even after an error.
    let log = fs::read(tests::data(LOG)).unwrap();
    let doubtful = run("leak-check", &["-o", name], &log[..log.len() / 2]);
    assert_eq!(doubtful.status, 2, "{}", doubtful.stderr);
    assert_ne!(fs::read_to_string(&path).unwrap(), OLD);
    // A full disk, a missing folder, and a folder instead of a file.
    for (output, expected) in [
        ("/dev/full", "/dev/full: No space left on device"),
        (
            "/no/such/folder/file",
            "/no/such/folder/file: the directory /no/such/folder does not exist",
        ),
        (
            folder.path().to_str().unwrap(),
            "expected a regular file, found a directory",
        ),
    ] {
        let failed = run("cg-parse", &[PROFILE, "-o", output], b"");
        assert_eq!(failed.status, 2, "{output}");
        assert!(
            failed.stderr.contains(expected),
            "{output}: {}",
            failed.stderr
        );
        assert_eq!(
            failed.stderr.lines().count(),
            1,
            "{output}: {}",
            failed.stderr
        );
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing temporary is left"
    );
}

/// Returns the signals of a user or a system that this process does not ignore. The tools that it starts ignore the others,
/// too: `nohup` ignores HUP, and a shell script ignores INT for a command in the background.
fn signals_not_ignored() -> Vec<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    let is_ignored = |number: u32| ignored.is_some_and(|signals| signals >> (number - 1) & 1 != 0);
    [(1, "HUP"), (2, "INT"), (15, "TERM")]
        .into_iter()
        .filter(|(number, _)| !is_ignored(*number))
        .map(|(_, signal)| signal)
        .collect()
}

#[test]
fn interrupted_tool_leaves_only_the_old_file() {
    let stream = run("cg-parse", &[PROFILE], b"").stdout;
    let signals = signals_not_ignored();
    assert!(signals.contains(&"TERM"), "{signals:?}");
    for signal in signals {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, OLD).unwrap();
        let mut tool = tools::command("cg-filter");
        tool.args([".", "-o"]).arg(&path).stdin(Stdio::piped());
        let mut child = tool.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // The input is longer than the buffers, so the tool has written a part of its output when this returns.
        for _ in 0..4 {
            input.write_all(&stream).unwrap();
        }
        // A minimal system has no program `kill`, but each shell has the command.
        let mut kill = Command::new("sh");
        let process = child.id().to_string();
        let sent = kill
            .args(["-c", r#"kill -s "$0" "$1""#, signal, &process])
            .status();
        assert!(sent.unwrap().success());
        assert!(!child.wait().unwrap().success(), "{signal}");
        let left = Vec::from_iter(fs::read_dir(folder.path()).unwrap());
        assert_eq!(left.len(), 1, "{signal}: {left:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), OLD, "{signal}");
    }
}

#[test]
fn input_file_can_be_the_output_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream.jsonl");
    let name = path.to_str().unwrap();
    let stream = run("cg-parse", &[PROFILE], b"");
    fs::write(&path, &stream.stdout).unwrap();
    let kept = run("cg-filter", &["^wordcount::", name], b"");
    let written = run("cg-filter", &["^wordcount::", name, "-o", name], b"");
    assert_eq!((written.status, written.stderr.as_str()), (0, ""));
    assert_eq!(fs::read(&path).unwrap(), kept.stdout);
}

#[test]
fn excel_option_writes_csv_for_spreadsheets() {
    let plain = run("cg-fmt", &["-f", "csv", PROFILE], b"");
    let excel = run("cg-fmt", &["--excel", PROFILE], b"");
    assert_eq!((excel.status, excel.stderr.as_str()), (0, ""));
    assert_eq!(excel.text().strip_prefix('\u{feff}'), Some(plain.text()));
    let hostile = b"events: Ir\nfn==HYPERLINK(\"x\")\n1 9007199254740993\n";
    let excel = run("cg-fmt", &["--excel", "--columns", "Ir,fn"], hostile);
    assert_eq!(
        excel.text(),
        "\u{feff}Ir,fn\n\"=\"\"9007199254740993\"\"\",\"'=HYPERLINK(\"\"x\"\")\"\n"
    );
    let refused = run("cg-fmt", &["--excel", "-f", "markdown", PROFILE], b"");
    assert_eq!((refused.status, refused.stdout.len()), (2, 0));
}

#[test]
fn csv_and_tsv_report_omitted_record_types() {
    let calls = run("cg-parse", &["--lines", "--calls", PROFILE], b"").stdout;
    for (input, args, expected) in [
        (
            &calls[..],
            &["-f", "csv"][..],
            "only fn records are written; --type selects the other records of the input: line, call",
        ),
        (
            b"",
            &["-f", "tsv", "massif/3.19.0-heapy_i.massif.out"],
            "only heap records are written; --type selects the other records of the input: snapshot",
        ),
        (
            b"",
            &["-f", "csv", "memcheck/3.27.1-leaky.xml"],
            "only error records are written; --type selects the other records of the input: leak",
        ),
    ] {
        let written = run("cg-fmt", args, input);
        assert_eq!(written.stderr, format!("cg-fmt: {expected}\n"));
    }
    let chosen = run("cg-fmt", &["-f", "csv", "--type", "call"], &calls);
    assert_eq!((chosen.status, chosen.stderr.as_str()), (0, ""));
}
