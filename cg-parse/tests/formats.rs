//! The list of formats: the claims of each entry hold for its seeds, and the documents contain the tables of the list.
//!
//! `UPDATE_EXPECT=1` rewrites the tables in the documents.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cg_parse::{Answer, FORMATS, Format, Options, stream};
use cg_stream::{Diagnostics, Writer};
use serde_json::Value;

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the files of the test data for a format.
fn seeds(format: &Format) -> Vec<PathBuf> {
    let seeds = format.seeds_below(&workspace().join("tests/data"));
    seeds.unwrap_or_else(|error| panic!("{format:?}: {error}"))
}

/// The result of parsing.
#[derive(PartialEq)]
struct Parsed {
    text: String,
    messages: Vec<String>,
}

impl Parsed {
    fn records(&self) -> impl Iterator<Item = Value> {
        let lines = self.text.lines();
        lines.map(|line| serde_json::from_str(line).unwrap())
    }
}

fn parse(input: &Path, from: Option<&'static Format>, options: &Options) -> Parsed {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&messages);
    let mut diagnostics =
        Diagnostics::to(move |message, _| log.lock().unwrap().push(message.to_owned()));
    let mut output = Vec::new();
    cg_parse::parse(
        &[input.to_owned()],
        from,
        options,
        &mut output,
        &mut diagnostics,
    )
    .unwrap();
    drop(diagnostics);
    Parsed {
        text: String::from_utf8(output).unwrap(),
        messages: Arc::into_inner(messages).unwrap().into_inner().unwrap(),
    }
}

fn as_format(input: &Path, format: &'static Format) -> Parsed {
    parse(input, Some(format), &options())
}

fn options() -> Options {
    Options {
        lines: true,
        calls: true,
        ..Options::default()
    }
}

#[test]
fn every_name_belongs_to_one_format() {
    let mut names = BTreeSet::new();
    for format in FORMATS {
        for name in format.aliases.iter().chain([&format.name]) {
            assert!(names.insert(name), "{name} belongs to two formats");
            assert_eq!(Format::find(name), Some(format));
        }
    }
    assert_eq!(Format::find("none"), None);
    assert_eq!(Format::sorted_by_name().len(), FORMATS.len());
}

#[test]
fn every_seed_is_recognised_and_the_first_is_read_without_messages() {
    for format in FORMATS {
        let first = workspace().join("tests/data").join(format.seeds[0]);
        assert!(first.is_file(), "{format:?} has no seed");
        assert_eq!(as_format(&first, format).messages, [""; 0], "{format:?}");
        for seed in seeds(format) {
            let is_same = parse(&seed, None, &options()) == as_format(&seed, format);
            assert!(is_same, "{format:?}: {}", seed.display());
        }
    }
}

#[test]
fn seeds_have_the_tools_that_their_format_lists() {
    for format in FORMATS {
        let mut tools = BTreeSet::new();
        for seed in seeds(format) {
            let parsed = as_format(&seed, format);
            let runs = parsed.records().filter(|record| record["type"] == "run");
            tools.extend(runs.map(|run| run["tool"].as_str().unwrap().to_owned()));
        }
        let named = format.tools().iter().map(|tool| (*tool).to_owned());
        assert_eq!(tools, named.collect(), "{format:?}");
    }
}

/// Returns the questions that a record answers.
fn answered(record: &Value) -> Vec<Answer> {
    let none = Vec::new();
    let stack = record["stack"].as_array().unwrap_or(&none);
    let neighbours = || stack.iter().zip(stack.iter().skip(1));
    // Valgrind does not mark inlined frames, but they have the same address as their caller.
    let is_inlined = |(inner, outer): (&Value, &Value)| {
        inner["inlined"] == true || inner["addr"].is_string() && inner["addr"] == outer["addr"]
    };
    let has_line = record["type"] == "line" || stack.iter().any(|frame| frame["line"].is_u64());
    let answers = [
        (Answer::Lines, has_line),
        (Answer::Calls, record["type"] == "call"),
        (Answer::Stacks, stack.len() > 1),
        (Answer::Inlined, neighbours().any(is_inlined)),
    ];
    let given = answers.into_iter().filter(|(_, is_answered)| *is_answered);
    given.map(|(answer, _)| answer).collect()
}

#[test]
fn seeds_answer_exactly_the_questions_that_their_format_claims() {
    for format in FORMATS {
        let stacks = Options {
            stacks: true,
            ..Options::default()
        };
        let mut answers = Vec::new();
        for seed in seeds(format) {
            for options in [&options(), &stacks] {
                answers.extend(
                    parse(&seed, Some(format), options)
                        .records()
                        .flat_map(|record| answered(&record)),
                );
            }
        }
        // The seeds have no debug information. Use the warning to find out whether --inline would search for some.
        let inline = Options {
            inline: true,
            ..options()
        };
        let first = workspace().join("tests/data").join(format.seeds[0]);
        let messages = parse(&first, Some(format), &inline).messages;
        if !messages
            .iter()
            .any(|message| message.contains("--inline has no effect here"))
        {
            answers.push(Answer::Inlined);
        }
        for answer in [
            Answer::Lines,
            Answer::Calls,
            Answer::Stacks,
            Answer::Inlined,
        ] {
            let (found, claimed) = (answers.contains(&answer), format.answers.contains(&answer));
            assert_eq!(found, claimed, "{format:?}: {answer:?}");
        }
    }
}

/// Returns the list of format names for the README.
fn names_of_readme() -> String {
    let mut lines = vec![String::new()];
    let formats = Format::sorted_by_name();
    for (at, format) in formats.iter().enumerate() {
        let end = if at + 1 == formats.len() { '.' } else { ',' };
        let word = format!("`{}`{end}", format.name);
        match lines.last_mut().unwrap() {
            line if line.is_empty() => *line = word,
            line if line.len() + 1 + word.len() <= 120 => *line += &format!(" {word}"),
            _ => lines.push(word),
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the table of docs/formats.md, with the questions that each format answers.
fn table_of_answers() -> String {
    let mut table = String::from(
        "| format | what is read | lines | calls | stacks | inlined |\n|---|---|:---:|:---:|:---:|:---:|\n",
    );
    for format in Format::sorted_by_name() {
        let names = [&[format.name], format.aliases].concat();
        let answers = [
            Answer::Lines,
            Answer::Calls,
            Answer::Stacks,
            Answer::Inlined,
        ];
        let answers = answers.map(|answer| match format.answers.contains(&answer) {
            true => "yes",
            false => "",
        });
        table += &row(&[
            &[code(&names), format.reads.to_owned()][..],
            &answers.map(str::to_owned),
        ]
        .concat());
    }
    table
}

/// Returns the table of FORMAT.md, with the tools and events in the streams of each format.
fn table_of_format() -> String {
    let mut table =
        String::from("| `cg-parse --from` | `tool` | events | remarks |\n|---|---|---|---|\n");
    for format in Format::sorted_by_name() {
        table += &row(&[
            code(&[format.name]),
            code(format.tools()),
            format.events.to_owned(),
            format.remarks.to_owned(),
        ]);
    }
    table
}

fn code(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn row(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| match cell.as_str() {
        "" => " |".to_owned(),
        cell => format!(" {cell} |"),
    });
    format!("|{}\n", cells.collect::<String>())
}

#[test]
fn documents_contain_the_tables_of_the_list() {
    const BEGIN: &str = "<!-- Generated from cg-parse/src/formats.rs by UPDATE_EXPECT=1 cargo test -p cg-parse --test all formats -->\n\n";
    const END: &str = "\n<!-- end -->\n";
    for (document, table) in [
        ("README.md", names_of_readme()),
        ("docs/formats.md", table_of_answers()),
        ("crates/cg-stream/FORMAT.md", table_of_format()),
    ] {
        let path = workspace().join(document);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(BEGIN).expect(document);
        let (found, behind) = rest.split_once(END).expect(document);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, [before, BEGIN, &table, END, behind].concat()).unwrap();
        } else {
            assert_eq!(found, table, "{document}: UPDATE_EXPECT=1 updates it");
        }
    }
}

#[test]
fn an_input_without_records_is_an_error_unless_the_format_allows_it() {
    const ERROR: &str = "no samples or other records were found in this input, which was read as";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    let node =
        r#"{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"hitCount":0}"#;
    for (text, expected) in [
        (
            format!(r#"{{"nodes":[{node}],"startTime":1,"endTime":9,"samples":[],"timeDeltas":[]}}"#),
            Some(ERROR),
        ),
        (
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},"profiles":[{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":0,"samples":[],"weights":[]}]}"#.to_owned(),
            Some(ERROR),
        ),
        (
            "# ========\n# captured on    : Tue Nov 24 16:05:53 2026\n# arch : x86_64\n# ========\n#\n".to_owned(),
            Some(ERROR),
        ),
        (
            r#"{"format":"profileJSONWithSymbolicationTable,1","meta":{"interval":1,"version":2,"stackwalk":1},"profileJSON":[{"frames":[0]}]}"#.to_owned(),
            Some(ERROR),
        ),
        // The file itself counts nothing.
        (
            "heap profile: 0: 0 [0: 0] @ heapprofile\n\nMAPPED_LIBRARIES:\n".to_owned(),
            Some("the profile is empty"),
        ),
        // Slices without time have a message of their own.
        (
            r#"[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":0}]"#.to_owned(),
            Some("1 slice has no time of its own"),
        ),
        // A log without errors.
        (
            "==7== Memcheck, a memory error detector\n==7== Command: ./a\n==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n".to_owned(),
            None,
        ),
    ] {
        fs::write(&path, &text).unwrap();
        let parsed = parse(&path, None, &options());
        let message = parsed.messages.last();
        match expected {
            None => assert_eq!(message, None, "{text}"),
            Some(part) => assert!(message.unwrap().contains(part), "{text}: {message:?}"),
        }
    }
}

#[test]
fn an_empty_file_beside_files_of_threads_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in [
        "callgrind.out.7",
        "callgrind.out.7-02",
        "callgrind.out.7-01",
        "callgrind.out.8-01",
    ] {
        fs::write(path(name), "").unwrap();
    }
    let parsed = parse(&path("callgrind.out.7"), None, &options());
    let others =
        ["callgrind.out.7-01", "callgrind.out.7-02"].map(|name| path(name).display().to_string());
    assert!(
        parsed.messages[0].ends_with(&format!("read {}", others.join(" "))),
        "{:?}",
        parsed.messages
    );
    let parsed = parse(&path("callgrind.out.8-01"), None, &options());
    assert!(
        parsed.messages[0].contains("the input is empty; a program under Valgrind"),
        "{:?}",
        parsed.messages
    );
}

fn written(mut rows: Writer<Vec<u8>>) -> Vec<u8> {
    rows.flush().unwrap();
    rows.into_inner()
}

#[test]
fn one_reading_gives_the_records_and_the_stacks_of_two() {
    let stacks = Options {
        stacks: true,
        ..Options::default()
    };
    let mut with_stacks = 0;
    for name in ["callgrind", "cachegrind", "massif", "folded"] {
        let format = Format::find(name).unwrap();
        for seed in seeds(format) {
            let read = |options: &Options| {
                let mut diagnostics = Diagnostics::to(|_, _| {});
                let mut rows = Writer::new(Vec::new());
                stream::read(&seed, options, &mut diagnostics, &mut rows).unwrap();
                (written(rows), diagnostics.has_errors())
            };
            let mut diagnostics = Diagnostics::to(|_, _| {});
            let mut rows = Writer::new(Vec::new());
            let mut apart = Writer::new(Vec::new());
            let options = &options();
            stream::read_with_stacks(&seed, options, &mut diagnostics, &mut rows, &mut apart)
                .unwrap();
            let (records, has_errors) = read(options);
            assert!(written(rows) == records, "{}", seed.display());
            let apart = written(apart);
            if name != "callgrind" {
                assert!(apart.is_empty(), "{}", seed.display());
                continue;
            }
            let (expected, has_errors_in_stacks) = read(&stacks);
            assert!(apart == expected, "{}", seed.display());
            let has_either = has_errors || has_errors_in_stacks;
            assert_eq!(diagnostics.has_errors(), has_either, "{}", seed.display());
            with_stacks += usize::from(!apart.is_empty());
        }
    }
    assert!(with_stacks > 5, "{with_stacks}");
}
