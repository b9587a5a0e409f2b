//! The report formats, each checked against the requirements of its consumer.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::HashSet;

use needs::needs;
use serde_json::Value;

use crate::support::{Bench, leak_check, leak_check_in};

/// Returns a bench with an XML file that has each kind of finding, and a clean XML file.
fn bench() -> Bench {
    let bench = Bench::new("errors.c");
    bench.valgrind("out.xml", &["--show-leak-kinds=all", "--track-origins=yes"]);
    bench
}

/// Returns a stream of one process with `count` leaks, each in a different function. The names contain characters that
/// formats must escape.
fn many_leaks(count: usize, file: &str) -> String {
    let mut stream = "{\"type\":\"run\",\"stream\":1,\"tool\":\"memcheck\",\"command\":\"./a b\",\"pid\":7,\"source\":[\"a,b:c.xml\"],\"events\":[],\"total\":{},\"complete\":true,\"all_heap_blocks_freed\":true}\n".to_owned();
    for number in 0..count {
        let record = serde_json::json!({
            "type": "leak", "kind": "definite", "cost": { "bytes": 8, "blocks": 1 }, "indirect_bytes": 0,
            "stack": [
                { "fn": "malloc", "obj": "/usr/lib/libc.so" },
                { "fn": format!("f{number}<T&, \"x\">(char*, #{number}) @@\n::set 100% `code` \u{1b}[1m"), "file": file, "line": number },
            ],
        });
        stream.push_str(
            &record
                .to_string()
                .replacen("{\"", "{\"type\":\"leak\",\"", 1)
                .replace(",\"type\":\"leak\"}", "}"),
        );
        stream.push('\n');
    }
    stream.push_str(&format!("{{\"type\":\"end\",\"records\":{count}}}\n"));
    stream
}

// The required properties of SARIF 2.1.0 (OASIS Standard, 27 March 2020), by section.

fn message_text(message: &Value) -> &str {
    // §3.11.7: a message has a text or an id. The report has no message strings, so every message has a text.
    message["text"].as_str().expect("message.text")
}

fn check_location(location: &Value) {
    if let Some(physical) = location.get("physicalLocation") {
        // §3.29.2: requires an artifact location or an address.
        let artifact = &physical["artifactLocation"];
        let uri = artifact["uri"].as_str().expect("§3.4.3 uri");
        assert!(
            uri.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%:".contains(&byte)),
            "§3.4.3, RFC 3986: {uri}"
        );
        if artifact.get("uriBaseId").is_some() {
            assert!(
                !uri.contains(':') && !uri.starts_with('/'),
                "§3.4.4: {uri} is not relative"
            );
        } else {
            assert!(
                uri.starts_with("file:///") || !uri.starts_with('/'),
                "{uri}"
            );
        }
        if let Some(region) = physical.get("region") {
            // §3.30.5: requires a positive integer.
            assert!(region["startLine"].as_u64().unwrap() > 0);
        }
    }
    for logical in location["logicalLocations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        assert!(logical["fullyQualifiedName"].is_string(), "§3.33.5");
    }
}

fn check_sarif(text: &str) -> Vec<Value> {
    let log: Value = serde_json::from_str(text).unwrap();
    assert_eq!(log["version"], "2.1.0", "§3.13.2");
    assert!(
        log["$schema"]
            .as_str()
            .unwrap()
            .ends_with("sarif-2.1.0.json"),
        "§3.13.3"
    );
    let [run] = log["runs"].as_array().unwrap().as_slice() else {
        panic!("§3.13.4: one run")
    };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "leak-check", "§3.19.8");
    let rules = driver["rules"].as_array().unwrap();
    let ids: HashSet<&str> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), rules.len(), "§3.49.3: ids are unique");
    for rule in rules {
        assert!(
            message_text(&rule["shortDescription"]).ends_with('.'),
            "§3.49.9"
        );
    }
    for invocation in run["invocations"].as_array().unwrap() {
        assert!(invocation["executionSuccessful"].is_boolean(), "§3.20.14");
    }
    let results = run["results"].as_array().unwrap().clone();
    let mut fingerprints = HashSet::new();
    for result in &results {
        assert!(!message_text(&result["message"]).is_empty(), "§3.27.11");
        assert!(
            ["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()),
            "§3.27.10"
        );
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"], "§3.27.6");
        // Code scanning hides results without a location.
        let locations = result["locations"].as_array().unwrap();
        assert_eq!(locations.len(), 1);
        assert!(locations[0]["physicalLocation"]["region"]["startLine"].is_u64());
        locations.iter().for_each(check_location);
        for stack in result["stacks"].as_array().into_iter().flatten() {
            for frame in stack["frames"].as_array().expect("§3.44.3 frames") {
                check_location(&frame["location"]);
            }
        }
        for fingerprint in result["partialFingerprints"].as_object().unwrap().values() {
            assert!(
                fingerprints.insert(fingerprint.as_str().unwrap().to_owned()),
                "§3.27.16"
            );
        }
        assert!(result["occurrenceCount"].as_u64().unwrap() > 0, "§3.27.21");
    }
    results
}

#[test]
fn sarif_meets_the_requirements_of_the_standard() {
    needs!("gcc", "valgrind");
    let bench = bench();
    let run = bench.leak_check(&["--format=sarif", "out.xml"]);
    assert_eq!(run.status, 1);
    let results = check_sarif(&run.stdout);
    assert_eq!(results.len(), 8);
    let paths: HashSet<&Value> = results
        .iter()
        .map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        .collect();
    assert_eq!(paths, HashSet::from([&Value::from("src/errors.c")]));
    check_sarif(&leak_check(&["--format=sarif"], many_leaks(30, "/x/a b.c").as_bytes()).stdout);
    // A run without findings is a valid log too.
    let clean = leak_check(
        &["--format=sarif", "--no-errors"],
        many_leaks(0, "").as_bytes(),
    );
    assert_eq!((clean.status, check_sarif(&clean.stdout).len()), (0, 0));
    let unread = leak_check(&["--format=sarif"], b"");
    assert!(unread.stdout.contains("\"executionSuccessful\": false"));
    check_sarif(&unread.stdout);
}

#[test]
fn junit_has_one_case_per_process() {
    needs!("gcc", "valgrind");
    let bench = bench();
    bench.write(
        "test.jsonl",
        "{\"type\":\"run\",\"tool\":\"memcheck\",\"command\":\"/t/deps/demo-0123456789abcdef --exact m::passes --nocapture\",\"pid\":8,\"complete\":true}\n{\"type\":\"end\"}\n",
    );
    let run = bench.leak_check(&["--format=junit", "out.xml", "test.jsonl"]);
    assert_eq!(run.status, 1);
    let report = quick_junit::Report::deserialize_from_str(&run.stdout).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (2, 1, 0));
    let names: Vec<(&str, &str)> = report
        .test_suites
        .iter()
        .flat_map(|suite| {
            suite
                .test_cases
                .iter()
                .map(|case| (suite.name.as_str(), case.name.as_str()))
        })
        .collect();
    assert!(names[0].1.starts_with("./program, process "), "{names:?}");
    assert_eq!(names[1], ("demo", "m::passes"));
    for sentence in [
        "lose leaks 64 bytes in 1 block, definitely lost\n  at malloc",
        "8 findings; the first: ",
    ] {
        assert!(run.stdout.contains(sentence), "{sentence}\n{}", run.stdout);
    }
    let run = leak_check(&["--format=junit"], many_leaks(3, "a.c").as_bytes());
    quick_junit::Report::deserialize_from_str(&run.stdout).unwrap();
    let unread = bench.leak_check(&["--format=junit", "test.jsonl", "missing.xml"]);
    // quick_junit does not read numeric entities inside elements, which XML allows.
    let unescaped = unread.stdout.replace("&#39;", "'");
    let report = quick_junit::Report::deserialize_from_str(&unescaped).unwrap();
    assert_eq!((unread.status, report.tests, report.errors), (2, 2, 1));
}

#[test]
fn gitlab_issues_have_the_required_fields_and_unique_fingerprints() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text(
        "two.c",
        "#include <stdlib.h>\nstatic char *make(void) { return malloc(8); }\n\
         int main(void) {\n make()[0] = 1;\n make()[0] = 2;\n return 0; }\n",
    );
    bench.valgrind("out.xml", &[]);
    let first = bench.leak_check(&["--format=gitlab", "out.xml"]);
    assert_eq!(first.status, 1);
    let mut seen = HashSet::new();
    let issues: Vec<Value> = serde_json::from_str(&first.stdout).unwrap();
    // The two loss records have equal fingerprints, but unique ones for GitLab.
    assert_eq!(issues.len(), 2);
    for issue in &issues {
        assert!(
            issue["description"]
                .as_str()
                .unwrap()
                .starts_with("make leaks 8 bytes")
        );
        assert_eq!(issue["check_name"], "DefiniteLeak");
        assert!(
            ["info", "minor", "major", "critical", "blocker"]
                .contains(&issue["severity"].as_str().unwrap())
        );
        assert!(seen.insert(issue["fingerprint"].as_str().unwrap()));
        assert_eq!(issue["location"]["path"], "src/two.c");
        assert_eq!(issue["location"]["lines"]["begin"], 2);
    }
    let none = leak_check(&["--format=gitlab"], many_leaks(0, "").as_bytes());
    assert_eq!(none.stdout, "[]\n");
    // A path is never absolute, even if the finding's path is.
    let outside = leak_check(
        &["--format=gitlab", "--root=/home"],
        many_leaks(1, "/x/a.c").as_bytes(),
    );
    let issues: Vec<Value> = serde_json::from_str(&outside.stdout).unwrap();
    assert_eq!(issues[0]["location"]["path"], "a,b:c.xml");
}

/// A workflow command, parsed like in the runner: `::name key=value,…::message`.
struct WorkflowCommand {
    name: String,
    properties: Vec<(String, String)>,
    message: String,
}

fn workflow_command(line: &str) -> Option<WorkflowCommand> {
    let (command, message) = line.strip_prefix("::")?.split_once("::")?;
    let (name, properties) = command.split_once(' ').unwrap_or((command, ""));
    let unescape = |text: &str| {
        text.replace("%2C", ",")
            .replace("%3A", ":")
            .replace("%0A", "\n")
            .replace("%0D", "\r")
            .replace("%25", "%")
    };
    let properties = properties
        .split(',')
        .filter_map(|property| property.split_once('='))
        .map(|(key, value)| (key.to_owned(), unescape(value)))
        .collect();
    Some(WorkflowCommand {
        name: name.to_owned(),
        properties,
        message: unescape(message),
    })
}

#[test]
fn github_annotations_are_limited_and_the_rest_is_counted() {
    // An annotation names only existing files.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/a,b:c%.c"), "").unwrap();
    let run = leak_check_in(
        folder.path(),
        &["--format=github"],
        many_leaks(14, "src/a,b:c%.c").as_bytes(),
    );
    assert_eq!(run.status, 1);
    let commands: Vec<_> = run.stdout.lines().filter_map(workflow_command).collect();
    assert_eq!(commands.len(), 10);
    for WorkflowCommand {
        name,
        properties,
        message,
    } in &commands
    {
        assert_eq!(name, "error");
        assert_eq!(
            properties[0],
            ("file".to_owned(), "src/a,b:c%.c".to_owned())
        );
        assert!(
            message.contains("leaks 8 bytes in 1 block, definitely lost\n  at malloc"),
            "{message}"
        );
    }
    assert!(
        run.stdout
            .contains("\n4 findings are not annotated: GitHub shows at most 10 of each level\n"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .starts_with("leak-check: failed: 14 new findings (14 definite leaks) in 1 process; judged 1 of 1 process\n")
    );
    // A function name cannot begin another command.
    assert_eq!(
        run.stdout
            .lines()
            .filter(|line| line.contains("::set"))
            .count(),
        10
    );
}

#[test]
fn github_shows_lines_of_the_repository_first() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src/b.c");
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(&source, "").unwrap();
    let outside = many_leaks(12, "/elsewhere/a.c");
    let inside = many_leaks(1, source.to_str().unwrap());
    let root = format!("--root={}", folder.path().display());
    let run = leak_check(
        &["--format=github", &root],
        [outside, inside].concat().as_bytes(),
    );
    let first = run.stdout.lines().nth(1).unwrap();
    assert!(first.starts_with("::error file=src/b.c,"), "{first}");
}

#[test]
fn base_names_are_completed_to_paths_for_code_hosts() {
    needs!("gcc", "valgrind");
    let bench = Bench::new("leak.c");
    bench.valgrind("out.log", &[]);
    for (format, path) in [
        ("github", "file=src/leak.c,line=6"),
        ("gitlab", "\"path\": \"src/leak.c\""),
        ("sarif", "\"uri\": \"src/leak.c\""),
        ("markdown", "<code>src/leak.c:6</code>"),
        ("text", "make (leak.c)"),
    ] {
        let run = bench.leak_check(&["--format", format, "out.log"]);
        assert!(run.stdout.contains(path), "{format}\n{}", run.stdout);
    }
}

#[test]
fn markdown_has_its_marker_and_fits_a_comment() {
    needs!("gcc", "valgrind");
    let bench = bench();
    let run = bench.leak_check(&["--format=markdown", "out.xml"]);
    assert_eq!(run.status, 1);
    assert!(
        run.stdout
            .starts_with("<!-- leak-check -->\n### leak-check: failed: 8 new findings (")
    );
    // Eight findings, and the commands.
    assert_eq!(run.stdout.matches("<details>").count(), 9);
    assert!(
        run.stdout.contains("| definitely lost | 72 | 2 |"),
        "{}",
        run.stdout
    );
    let run = leak_check(
        &["--format=markdown"],
        many_leaks(2000, "src/a.c").as_bytes(),
    );
    let length = run.stdout.chars().count();
    assert!((60_000..=65_536).contains(&length), "{length}");
    // The findings that fit, and the commands.
    let shown = run.stdout.matches("<details>").count();
    assert_eq!(shown, run.stdout.matches("</details>").count());
    assert!(
        run.stdout
            .contains(&format!("{} findings are left out", grouped(2001 - shown))),
        "{shown}"
    );
    let is_finding = |line: &&str| line.contains("<summary>") && !line.contains("Commands");
    for line in run.stdout.lines().filter(is_finding) {
        assert!(
            line.contains("&lt;T&amp;") && !line.contains("<T") && !line.contains('`'),
            "{line}"
        );
    }
}

fn grouped(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

#[test]
fn formats_for_people_escape_control_characters_in_names() {
    let name = "f\u{1b}[2J\u{9b}\u{202e}\ng";
    let run = serde_json::json!({
        "tool": "memcheck", "command": name, "pid": 7, "source": [name], "complete": true,
    });
    let record = serde_json::json!({
        "kind": "InvalidRead", "what": "Invalid read of size 4", "cost": { "count": 1 },
        "stack": [{ "fn": name, "file": name, "line": 3 }],
    });
    let typed = |kind: &str, record: &Value| {
        record
            .to_string()
            .replacen('{', &format!("{{\"type\":\"{kind}\","), 1)
    };
    let stream = format!(
        "{}\n{}\n{{\"type\":\"end\",\"records\":1}}\n",
        typed("run", &run),
        typed("error", &record)
    );
    for format in ["text", "markdown", "github", "gitlab", "junit", "sarif"] {
        let run = leak_check(&["--format", format], stream.as_bytes());
        assert_eq!(run.status, 1, "{format}: {}", run.stderr);
        let text = run.stdout.replace("&#92;", "\\").replace("\\\\", "\\");
        assert!(
            text.contains("f\\u{1b}[2J\\u{9b}\\u{202e}\\ng"),
            "{format}\n{text}"
        );
        // In JSON and XML, fields for programs contain the unchanged names, with the escapes of these formats.
        if matches!(format, "text" | "markdown" | "github") {
            assert!(
                !text.contains(['\u{1b}', '\u{9b}', '\u{202e}']),
                "{format}\n{text}"
            );
        }
    }
}

#[test]
fn every_format_gives_the_same_bytes_twice_and_the_same_verdict() {
    needs!("gcc", "valgrind");
    let bench = bench();
    for format in [
        "text", "markdown", "html", "json", "junit", "sarif", "github", "gitlab",
    ] {
        let args = ["--format", format, "out.xml"];
        let first = bench.leak_check(&args);
        assert_eq!(first.status, 1, "{format}");
        assert!(
            first.stdout.chars().all(|c| c == '\n' || !c.is_control()),
            "{format}"
        );
        assert_eq!(first.stdout, bench.leak_check(&args).stdout, "{format}");
        let cut = leak_check_in(
            bench.path(),
            &["--format", format],
            b"{\"type\":\"run\",\"tool\":\"memcheck\"}\n",
        );
        assert_eq!(cut.status, 2, "{format}");
    }
}
