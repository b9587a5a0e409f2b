//! Command lines in the style of other programs: they work as intended, or a one-line hint names the right option.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tests::{data, tools};

/// Creates a folder with two callgrind profiles, a log and a Massif profile.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in [
        ("A", "pair/before.callgrind.out"),
        ("B", "pair/after.callgrind.out"),
        ("L", "memcheck/3.27.1-leaky.log"),
        ("M", "massif/3.19.0-heapy_i.massif.out"),
    ] {
        fs::copy(data(file), folder.path().join(name)).unwrap();
    }
    folder
}

fn sh(line: &str, folder: &Path) -> Output {
    Command::new("bash")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", tools::path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn at_least_95_percent_of_habits_work_or_get_a_one_line_hint() {
    let folder = folder();
    let table = fs::read_to_string(data("habits.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut tried = 0;
    for row in rows {
        let [typed, same, corrected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three columns: {row}");
        };
        tried += 1;
        let answer = sh(typed, folder.path());
        let stderr = String::from_utf8(answer.stderr).unwrap();
        let does_the_same = || {
            same.split(" || ")
                .filter(|same| !same.is_empty())
                .any(|same| {
                    let expected = sh(same, folder.path());
                    (answer.status, &answer.stdout) == (expected.status, &expected.stdout)
                })
        };
        let is_corrected = answer.status.code() == Some(2)
            && stderr.lines().count() == 1
            && corrected.split('|').any(|words| stderr.contains(words));
        if !is_corrected && !does_the_same() {
            wrong.push(format!("{typed}: {:?} {stderr}", answer.status.code()));
        }
    }
    assert!(tried >= 152, "{tried}");
    assert!(wrong.len() * 20 <= tried, "{}", wrong.join(""));
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn output_name_selects_the_format() {
    let folder = folder();
    for (line, expected) in [
        ("cg-fmt -o out.html A", "<!doctype html>"),
        ("cg-fmt -o out.HTM A", "<!doctype html>"),
        ("cg-fmt -o out.csv A", "Ir,Ir%,"),
        ("cg-fmt -o out.tsv A", "Ir\tIr%\t"),
        ("cg-fmt -o out.md A", "### callgrind: "),
        ("cg-fmt -o out.jsonl A", "{\"type\":\"run\""),
        ("cg-fmt -o out.folded A", "0x"),
        ("cg-fmt -o out.dot A", "digraph {"),
        (
            "cg-fmt -o out.callgrind A",
            "# callgrind format\nversion: 1\ncreator: cg-fmt",
        ),
        (
            "cg-fmt -o out.speedscope.json A",
            "{\"$schema\":\"https://www.speedscope.app/",
        ),
        // An SVG shows memory over time if the input has it, and stacks otherwise.
        (
            "cg-fmt -o out.svg M",
            "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"",
        ),
        (
            "cg-fmt -o out.svg A",
            "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flames\"",
        ),
        ("cg-fmt -f csv -o out.html A", "Ir,Ir%,"),
        ("cg-fmt --excel -o out.txt A", "\u{feff}Ir,Ir%,"),
        ("cg-fmt -o out.txt A", "callgrind: "),
        ("cg-fmt -o out A", "callgrind: "),
        (
            "leak-check -o out.xml L",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"leak-check: failed: ",
        ),
        ("leak-check -o out.md L", "<!-- leak-check -->"),
        (
            "leak-check -o out.sarif L",
            "{\n  \"$schema\": \"https://json.schemastore.org/sarif",
        ),
        ("leak-check -o out.html L", "<!doctype html>"),
        ("leak-check -f github -o out.xml L", "leak-check: failed: "),
        ("leak-check -o out.txt L", "failed: "),
    ] {
        let name = line
            .split(' ')
            .skip_while(|word| *word != "-o")
            .nth(1)
            .unwrap();
        let file = folder.path().join(name);
        let output = sh(line, folder.path());
        let is_fine = matches!(output.status.code(), Some(0 | 1));
        assert!(
            is_fine,
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let written = fs::read_to_string(&file).unwrap();
        assert!(written.starts_with(expected), "{line}: {:.80}", written);
        // A tool replaces its own output.
        assert_eq!(sh(line, folder.path()).status, output.status, "{line}");
        assert_eq!(fs::read_to_string(&file).unwrap(), written, "{line}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn foreign_file_is_replaced_only_with_force() {
    let folder = folder();
    let path = folder.path().join("out");
    for (tool, inputs) in [
        ("cg-parse", "A"),
        ("cg-filter", "main A"),
        ("cg-diff", "A B"),
        ("cg-fmt", "A"),
        ("leak-check", "L"),
    ] {
        for mine in [
            "#!/bin/sh\necho mine\n",
            "\u{7f}ELF\u{2}",
            "int main;\n",
            "# Notes\n",
        ] {
            fs::write(&path, mine).unwrap();
            let refused = sh(&format!("{tool} {inputs} -o out"), folder.path());
            let stderr = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{tool} {mine:?}");
            assert!(stderr.contains("--force"), "{tool} {mine:?}: {stderr}");
            assert_eq!(fs::read_to_string(&path).unwrap(), mine, "{tool}");
        }
        let printed = sh(&format!("{tool} {inputs}"), folder.path());
        let forced = sh(&format!("{tool} {inputs} -o out --force"), folder.path());
        assert_eq!(forced.status, printed.status, "{tool}");
        assert_eq!(fs::read(&path).unwrap(), printed.stdout, "{tool}");
        // Now the file is an output of the tool, so --force is not needed.
        let again = sh(&format!("{tool} {inputs} -o out"), folder.path());
        assert_eq!(again.status, printed.status, "{tool}");
    }
    let profile = fs::read(folder.path().join("A")).unwrap();
    assert_eq!(
        sh("cg-filter main A -o A", folder.path()).status.code(),
        Some(2)
    );
    assert_eq!(fs::read(folder.path().join("A")).unwrap(), profile);
}

#[test]
fn every_output_format_is_recognised_and_replaced() {
    let folder = folder();
    let formats = [
        "table",
        "csv",
        "tsv",
        "markdown",
        "html",
        "json",
        "flamegraph",
        "folded",
        "speedscope",
        "pprof",
        "firefox",
        "callgrind",
        "dot",
    ];
    let mut lines: Vec<String> = formats.map(|format| format!("cg-fmt -f {format} A")).into();
    lines.extend(
        [
            "text", "markdown", "html", "json", "junit", "sarif", "github", "gitlab",
        ]
        .map(|format| format!("leak-check -f {format} L")),
    );
    for tool in tools::TOOLS {
        lines.extend(
            [
                "man",
                "complete-bash",
                "complete-elvish",
                "complete-fish",
                "complete-powershell",
                "complete-zsh",
            ]
            .map(|what| format!("{tool} --generate {what}")),
        );
    }
    lines.extend(
        [
            "cg-parse A",
            "cg-filter main A",
            "cg-diff A B",
            "leak-check --write-suppressions L",
            "cg-fmt -f svg M",
            "cg-fmt M",
            "cg-fmt L",
            "cg-fmt --tree callers A",
            "cg-fmt --source A",
            "cg-fmt --group-by crate A",
            "cg-diff A B | cg-fmt",
            "cg-diff A B | cg-fmt -f csv",
            "cg-diff A B | cg-fmt -f markdown",
            "cg-fmt A B",
            "cg-fmt --excel A",
            "cg-parse A | grep '\"fn\":\"wordcount' | cg-fmt",
            "cg-filter -c main A > /dev/null; cg-fmt --columns Ir,fn -f csv A",
        ]
        .map(str::to_owned),
    );
    for seed in seeds() {
        lines.push(format!("cg-fmt {seed}"));
    }
    for line in lines {
        let path = folder.path().join("out");
        let _ = fs::remove_file(&path);
        let first = sh(&format!("{line} -o out"), folder.path());
        if first.status.code() == Some(2) {
            // Some seeds need other files.
            assert!(
                line.contains('/'),
                "{line}: {}",
                String::from_utf8_lossy(&first.stderr)
            );
            continue;
        }
        let second = sh(&format!("{line} -o out"), folder.path());
        let stderr = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status, first.status, "{line}: {stderr}");
    }
}

/// Returns all seeds of all formats.
fn seeds() -> Vec<String> {
    let mut seeds = Vec::new();
    for format in cg_parse::FORMATS {
        let below = format.seeds_below(&data("")).unwrap();
        seeds.extend(below.iter().map(|seed| seed.display().to_string()));
    }
    seeds
}

#[test]
fn counts_and_names_agree_with_grep() {
    let folder = folder();
    let printed = |line: &str| String::from_utf8(sh(line, folder.path()).stdout).unwrap();
    let grep = printed("cg-parse A | grep -c '\"fn\":\"[^\"]*count'");
    assert_eq!(printed("cg-filter -c count A"), grep);
    assert_eq!(printed("cg-parse A | cg-filter --count count"), grep);
    let other = printed("cg-parse B | grep -c '\"fn\":\"[^\"]*count'");
    assert_eq!(
        printed("cg-filter -c count A B"),
        format!("A:{grep}B:{other}")
    );
    assert_eq!(printed("cg-filter -c nowhere A"), "0\n");
    assert_eq!(printed("cg-filter -l . A M L"), "A\nM\nL\n");
    assert_eq!(printed("cg-filter -l wordcount A M L"), "A\n");
    assert_eq!(
        printed("cg-parse A | cg-filter -l wordcount"),
        "(standard input)\n"
    );
    // Ranking applies to each input separately, before counting.
    assert_eq!(printed("cg-filter -c -n 3 '' A B"), "A:3\nB:3\n");
    assert_eq!(
        sh("cg-filter -c --exit-status nowhere A", folder.path())
            .status
            .code(),
        Some(1)
    );
    assert_eq!(
        sh("head -c 9000 A | cg-filter -c . -", folder.path())
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn quiet_option_suppresses_only_remarks() {
    let folder = folder();
    for line in [
        "cg-fmt -f folded A",
        "cg-filter A",
        "cg-diff A B",
        "cg-parse A",
        "leak-check --only nowhere L",
        "leak-check L",
        "cg-fmt nosuch",
        "cg-parse nosuch A",
        "cg-filter x nosuch",
        "cg-diff A nosuch",
        "leak-check nosuch",
        "cg-fmt --columns nosuch A",
        "head -c 9000 A | cg-fmt -",
        "head -c 9000 A | cg-fmt -o out -",
    ] {
        let loud = sh(line, folder.path());
        let quiet = sh(&format!("{line} -q"), folder.path());
        assert_eq!(
            (quiet.status, &quiet.stdout),
            (loud.status, &loud.stdout),
            "{line}"
        );
        let is_in_report = !quiet.stdout.is_empty() && line.contains("--only");
        let has_messages = !quiet.stderr.is_empty();
        assert_eq!(
            has_messages,
            loud.status.code() == Some(2) && !is_in_report,
            "{line}"
        );
    }
}

#[test]
fn manuals_list_values_exit_statuses_and_other_pages() {
    for tool in tools::TOOLS {
        let manual = tools::run(tool, &["--generate", "man"], b"")
            .text()
            .replace("\\-", "-");
        for section in ["EXAMPLES", "OPTIONS", "EXIT STATUS", "SEE ALSO"] {
            let heads = manual.lines().filter(|line| {
                line.strip_prefix(".SH ")
                    .is_some_and(|title| title.trim_matches('"') == section)
            });
            assert_eq!(heads.count(), 1, "{tool}: {section}");
        }
        let status = manual.split("EXIT STATUS").nth(1).unwrap();
        let status = status.split(".SH").next().unwrap();
        for line in ["0 is ", "2 is "] {
            assert!(
                status.lines().any(|text| text.starts_with(line)),
                "{tool}: {status}"
            );
        }
        let others = tools::TOOLS.iter().filter(|other| **other != tool);
        let also = manual.split("SEE ALSO").nth(1).unwrap();
        for other in others {
            assert!(also.contains(&format!("{other}(1)")), "{tool}: {other}");
        }
    }
    let manual = tools::run("cg-fmt", &["--generate", "man"], b"")
        .text()
        .to_owned();
    assert!(
        manual.contains(".IP \\(bu 2\nspeedscope: "),
        "values of --format"
    );
}
