//! The first screen of cg-fmt for a file of each format, at several widths of terminals.

use tests::data;
use tests::tools::run;
use unicode_width::UnicodeWidthStr as _;

const WIDTHS: [usize; 4] = [60, 80, 100, 120];

/// Returns the headings of tables with functions.
fn headings(text: &str) -> Vec<Vec<String>> {
    let is_heading = |words: &Vec<String>| {
        words.iter().any(|word| word == "function")
            && words[0] != "columns"
            && !words[0].starts_with(|first: char| first.is_ascii_digit())
    };
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect());
    lines.filter(is_heading).collect()
}

fn at(heading: &[String], names: &[&str]) -> Option<usize> {
    heading
        .iter()
        .position(|word| names.contains(&word.as_str()))
}

#[test]
fn first_screen_has_cost_share_function_and_place() {
    let mut tables = 0;
    for format in cg_parse::FORMATS {
        for seed in format.seeds_below(&data("")).unwrap() {
            let seed = seed.display().to_string();
            let whole = run("cg-fmt", &["--width", "0", &seed], b"");
            let whole_headings = headings(whole.text());
            for width in WIDTHS {
                let shown = run("cg-fmt", &["--width", &width.to_string(), &seed], b"");
                assert_eq!(shown.status, whole.status, "{seed} {width}");
                for line in shown.text().lines() {
                    assert!(line.width() <= width, "{seed} {width}: {line}");
                }
                let narrow = headings(shown.text());
                assert_eq!(
                    narrow.len(),
                    whole_headings.len(),
                    "{seed} {width}: {}",
                    shown.text()
                );
                for (narrow, whole) in narrow.iter().zip(&whole_headings) {
                    tables += 1;
                    let place = format!("{seed} {width}: {narrow:?} of {whole:?}");
                    let function = at(narrow, &["function"]).unwrap();
                    // The count comes first, then its share.
                    assert_eq!(narrow[0], whole[0], "{place}");
                    if whole.get(1).is_some_and(|word| word == "%") {
                        assert_eq!(narrow[1], "%", "{place}");
                    }
                    // A count is never shown without its share, if it has one.
                    let pairs =
                        |heading: &[String]| heading.iter().filter(|word| *word == "%").count();
                    let figures = narrow.iter().filter(|word| {
                        whole
                            .iter()
                            .position(|known| known == *word)
                            .is_some_and(|at| whole.get(at + 1).is_some_and(|next| next == "%"))
                    });
                    assert_eq!(pairs(narrow), figures.count(), "{place}");
                    let last_share = narrow.iter().rposition(|word| word == "%");
                    assert!(last_share.is_none_or(|share| share < function), "{place}");
                    // The place follows the function.
                    let places = ["file", "object"];
                    if at(whole, &places).is_some() && width >= 80 {
                        assert!(
                            at(narrow, &places).is_some_and(|file| file > function),
                            "{place}"
                        );
                    }
                }
            }
        }
    }
    assert!(tables > 100, "{tables}");
}

#[test]
fn redundant_event_is_omitted_and_named() {
    let perf = |period: u64| {
        format!(
            "w 7  1.000001:  {period} cycles: \n\t 401131 a+0x1 (/opt/w)\n\nw 7  1.000002:  1000 cycles: \n\t 401132 b+0x1 (/opt/w)\n\nw 7  1.000003:  1000 cycles: \n\t 401132 b+0x1 (/opt/w)\n\n"
        )
    };
    let steady = run("cg-fmt", &["-"], perf(1000).as_bytes());
    assert!(
        steady.text().contains("events not shown: samples"),
        "{}",
        steady.text()
    );
    assert!(!headings(steady.text())[0].contains(&"samples".to_owned()));
    let other = run("cg-fmt", &["-"], perf(3000).as_bytes());
    assert!(
        headings(other.text())[0].contains(&"samples".to_owned()),
        "{}",
        other.text()
    );
    let asked = run("cg-fmt", &["--events", "all", "-"], perf(1000).as_bytes());
    assert!(
        headings(asked.text())[0].contains(&"samples".to_owned()),
        "{}",
        asked.text()
    );
    let csv = run("cg-fmt", &["-f", "csv", "-"], perf(1000).as_bytes());
    assert!(
        csv.text().starts_with("cycles,cycles%,samples"),
        "{}",
        csv.text()
    );
}

#[test]
fn definitely_lost_comes_first() {
    let table = run(
        "cg-fmt",
        &[
            "-f",
            "csv",
            "--type",
            "leak",
            "--columns",
            "bytes,kind",
            "memcheck/3.27.1-leaky.xml",
        ],
        b"",
    );
    let kinds: Vec<(usize, i64)> = table
        .text()
        .lines()
        .skip(1)
        .map(|line| {
            let (bytes, kind) = line.split_once(',').unwrap();
            let order = ["definite", "indirect", "possible", "reachable"];
            (
                order.iter().position(|known| *known == kind).unwrap(),
                -bytes.parse::<i64>().unwrap(),
            )
        })
        .collect();
    assert!(kinds.is_sorted(), "{}", table.text());
    // A sort by cost would give another order.
    assert!(
        kinds.iter().any(|(_, bytes)| *bytes < kinds[0].1),
        "{}",
        table.text()
    );
}
