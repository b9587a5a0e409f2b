use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes, shown_stacks};

const TEXT: &str = include_str!("../../../../tests/data/ghc/ticks.prof");
const JSON: &str = include_str!("../../../../tests/data/ghc/ghc.json");

fn read(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

#[test]
fn text_and_json_of_a_run_have_the_same_stacks() {
    let (text, json) = (
        read(TEXT),
        parsed::read(super::parse, JSON.as_bytes(), &Options::default()),
    );
    assert_eq!(text.records_of_type("stack"), json.records_of_type("stack"));
    for parsed in [text, json] {
        assert!(!parsed.has_errors && parsed.is_whole() && parsed.messages.is_empty());
        let run = parsed.records_of_type("run")[0];
        assert!(run.contains(r#""total":{"ticks":222,"bytes":3069184},"duration":222000000,"sample_rate":1000,"units":{"bytes":"bytes"}"#), "{run}");
        assert_eq!(
            parsed.records_of_type("stack")[2],
            r#""fn":"Data.Proto.frames","file":"src/Data.Proto.hs","line":4,"cost":{"ticks":47,"bytes":375944},"stack":[{"fn":"Data.Proto.frames","file":"src/Data.Proto.hs","line":4},{"fn":"MAIN.MAIN"}]}"#
        );
    }
}

/// Returns the report in the form of `-p`.
fn without_counts() -> String {
    let cut = |line: &str| match line.split_once("  ticks     bytes") {
        Some((before, _)) => before.to_owned(),
        None if line.contains(":(") || line.contains("<built-in>") || line.contains("<entire") => {
            line[..line.len() - 17].trim_end().to_owned()
        }
        None => line.to_owned(),
    };
    TEXT.lines().map(|line| cut(line) + "\n").collect()
}

#[test]
fn percentages_are_counted_in_tenths() {
    let parsed = read(&without_counts());
    assert!(!parsed.has_errors, "{:?}", parsed.messages);
    let run = parsed.records_of_type("run")[0];
    assert!(
        run.contains(r#""total":{"ticks":1002,"bytes":998}"#),
        "{run}"
    );
    assert!(
        run.contains(r#""units":{"bytes":"0.1 %","ticks":"0.1 %"}"#),
        "{run}"
    );
    assert_eq!(
        shown_stacks(&parsed)[..2],
        [
            "221: Data.Proto.emit<MAIN.MAIN",
            "221: Main.parse<Data.Proto.main<Main.step.go.(...)<Main.parse<MAIN.MAIN"
        ]
    );
}

#[test]
fn places_are_files_and_first_lines() {
    for (place, file, line) in [
        ("src/Main.hs:(4,1)-(7,57)", "src/Main.hs", Some(4)),
        ("src/My Main.hs:12:1-20", "src/My Main.hs", Some(12)),
        ("Main.hs:12:5", "Main.hs", Some(12)),
        ("C:\\a\\Main.hs:12:5", "C:\\a\\Main.hs", Some(12)),
        ("<entire-module>", "", None),
        ("<no location info>", "", None),
        ("Main.hs", "Main.hs", None),
    ] {
        let found = super::source_place(place.as_bytes());
        assert_eq!(found, (file.as_bytes(), line), "{place}");
    }
}

#[test]
fn truncated_or_changed_reports_are_reported() {
    let options = Options::default();
    check_all_prefixes(super::parse, TEXT.as_bytes(), &options);
    check_all_prefixes(super::parse, JSON.as_bytes(), &options);
    let lines: Vec<&str> = TEXT.lines().collect();
    // The missing line has no ticks, only bytes.
    let cut = read(&lines[..lines.len() - 1].join("\n"));
    assert_eq!(
        cut.messages,
        ["in:29: the report states 3069184 bytes, but its lines have 2849560: it may be truncated"]
    );
    assert!(cut.has_errors && !cut.records_of_type("stack").is_empty());
    let odd = read(&TEXT.replace("     47    375944", "     x7    375944"));
    assert!(odd.has_errors);
    let missing = parsed::read(
        super::parse,
        JSON.replace("\"total_ticks\": 222", "\"total_ticks\": 220")
            .as_bytes(),
        &options,
    );
    assert_eq!(
        missing.messages,
        ["in: the report states 220 ticks, but its tree has 222"]
    );
}
