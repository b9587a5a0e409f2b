//! Laws over the seeds of all formats: lanes of threads, ranges of time, lines of sources and benchmarks have the figures of
//! `cg-fmt -f json`.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use needs::needs;
use serde_json::Value;
use tests::browser::Browser;
use tests::pages::{go, texts};
use tests::{data, tools};

use crate::page_seeds::{Sums, address, count, events, open_page, records, table, text};

/// The part of the whole time that a range begins and ends at.
const RANGE: [f64; 2] = [0.25, 0.6];

/// The number of functions per page whose lines are checked.
const FUNCTIONS: usize = 4;

/// Calls a check with each seed that has a page with a view, and returns the number of these pages.
fn each_page(browser: &mut Browser, view: &str, check: fn(&mut Browser, &str)) -> usize {
    let mut pages = 0;
    for format in cg_parse::FORMATS {
        for path in format.seeds_below(&data("")).unwrap() {
            let file = path.display().to_string();
            let page = tools::run("cg-fmt", &["-f", "html", &file], b"");
            if !open_page(browser, &page.stdout) {
                continue;
            }
            let has_view = format!("all('[data-tab={view}]').length > 0");
            if browser.evaluate(&has_view) == true {
                check(browser, &file);
                pages += 1;
            }
            assert_eq!(browser.errors, Vec::<String>::new(), "{file}");
        }
    }
    pages
}

/// Costs by function name.
fn by_name(records: &[Value], event: &str) -> Sums {
    let mut sums = Sums::default();
    for record in records.iter().filter(|record| record["type"] == "fn") {
        sums.add(text(&record["fn"]), count(&record["cost"][event]));
    }
    sums
}

/// Checks that the lanes have the costs of their threads, and that their slices add up.
fn check_lanes(browser: &mut Browser, file: &str, event: &str) {
    let lanes = browser.evaluate(
        "all('[data-lane]').map(({ dataset: { thread, total, activity } }) => [thread, total, activity])",
    );
    let lanes = lanes.as_array().unwrap();
    let mut shown = Sums::default();
    for lane in lanes {
        let slices = text(&lane[2]).split(',');
        let sum: i128 = slices.map(|slice| slice.parse::<i128>().unwrap()).sum();
        assert_eq!(sum, count(&lane[1]), "{file} {event}: {lane}");
        shown.add(text(&lane[0]), sum);
    }
    let threads = records("cg-fmt", &["-f", "json", "--group-by", "thread", file]);
    let mut expected = by_name(&threads, event);
    let has_threads = browser.evaluate("all('select[aria-label=Thread]').length > 0");
    if has_threads == false {
        // Samples of one thread are in one lane without a name.
        expected = expected.in_one();
    }
    assert_eq!(shown, expected, "{file} {event}: lanes");
}

fn check_times(browser: &mut Browser, file: &str) {
    go(browser, "#view=timeline");
    let seconds = browser.evaluate("Number(pane('timeline').dataset.seconds)");
    let [from, to] = RANGE.map(|part| part * seconds.as_f64().unwrap());
    let range = format!("{from:.9}-{to:.9}");
    let inside = tools::run("cg-filter", &["--time", &range, file], b"");
    let inside = tools::run(
        "cg-fmt",
        &["-f", "json", "--group-by", "fn", "-"],
        &inside.stdout,
    );
    let inside: Vec<Value> = inside
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for event in events(browser) {
        go(
            browser,
            &address(&[("view", "timeline"), ("event", &event)]),
        );
        check_lanes(browser, file, &event);
        let fields = [("view", "table"), ("event", &event), ("time", &range)];
        go(browser, &address(&fields));
        let mut shown = Sums::default();
        for row in table(browser, file) {
            shown.add(text(&row["fn"]), count(&row["self"]));
        }
        assert_eq!(shown, by_name(&inside, &event), "{file} {event} {range}");
    }
}

#[test]
fn lanes_and_ranges_of_time_have_the_figures_of_json_for_all_seeds() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let pages = each_page(&mut browser, "timeline", check_times);
    assert!(pages > 20, "{pages}");
}

/// Checks the lines of the functions with the largest costs. Lines of other files are one sum.
fn check_lines(browser: &mut Browser, file: &str) {
    let functions = records("cg-fmt", &["-f", "json", file]);
    let functions: Vec<&Value> = functions
        .iter()
        .filter(|record| record["type"] == "fn")
        .collect();
    let lines = records("cg-parse", &["--lines", file]);
    let event = events(browser).remove(0);
    let is_only = |function: &&&Value| {
        let same = functions.iter().filter(|one| one["fn"] == function["fn"]);
        same.count() == 1
    };
    for function in functions.iter().filter(is_only).take(FUNCTIONS) {
        let name = text(&function["fn"]);
        let mut expected: BTreeMap<i128, i128> = BTreeMap::new();
        let mut elsewhere = count(&function["cost"][&event]);
        for line in lines.iter().filter(|line| line["type"] == "line") {
            let is_own = line["fn"] == function["fn"] && line["file"] == function["file"];
            let cost = count(&line["cost"][&event]);
            // Line 0 is not a line.
            if is_own && count(&line["line"]) != 0 && cost != 0 {
                *expected.entry(count(&line["line"])).or_default() += cost;
                elsewhere -= cost;
            }
        }
        let fields = [("view", "source"), ("event", event.as_str()), ("fn", name)];
        go(browser, &address(&fields));
        let shown = browser.evaluate(
            "({ lines: all('[data-line]', pane('source')).map(({ dataset: { line, self } }) => [line, self]), elsewhere: pane('source').dataset.elsewhere ?? null })",
        );
        if shown["elsewhere"].is_null() {
            // The profile has no lines of the function.
            assert_eq!(expected, BTreeMap::new(), "{file}: {name}");
            continue;
        }
        let shown_lines = shown["lines"].as_array().unwrap().iter();
        let shown_lines = shown_lines.map(|line| (count(&line[0]), count(&line[1])));
        let shown_lines: BTreeMap<i128, i128> =
            shown_lines.filter(|(_, cost)| *cost != 0).collect();
        assert_eq!(shown_lines, expected, "{file}: {name}");
        assert_eq!(count(&shown["elsewhere"]), elsewhere, "{file}: {name}");
    }
}

#[test]
fn lines_of_a_function_have_the_figures_of_its_records_for_all_seeds() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let pages = each_page(&mut browser, "source", check_lines);
    assert!(pages > 20, "{pages}");
}

/// Figures of both runs and their difference, by benchmark and function.
type BenchFigures = BTreeMap<[String; 2], [i128; 3]>;

#[test]
fn rows_and_sums_of_a_suite_have_the_figures_of_its_benchmarks() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    // Benchmark `a` is a program before and after a change, and `b` is the reverse.
    for (run, at) in [(&old, 0), (&new, 1)] {
        std::fs::create_dir(run).unwrap();
        for (bench, side) in [("a", at), ("b", 1 - at)] {
            let file = ["pair/before.callgrind.out", "pair/after.callgrind.out"][side];
            std::fs::copy(data(file), run.join(format!("{bench}.out"))).unwrap();
        }
    }
    let [old, new]: [PathBuf; 2] = [old, new];
    let runs = [old.to_str().unwrap(), new.to_str().unwrap()];
    let diff = tools::run("cg-diff", &runs, b"");
    let page = tools::run("cg-fmt", &["-f", "html", "-"], &diff.stdout);
    let mut browser = Browser::start(1440, 900);
    assert!(open_page(&mut browser, &page.stdout));
    let mut expected = BenchFigures::new();
    let mut total = 0;
    for line in diff.text().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["type"] == "run" {
            total += count(&record["total"]["Ir"][1]);
        }
        if record["type"] == "diff" && record["of"] == "fn" {
            let runs = &record["cost"]["Ir"];
            let last = |value: &Value| value.as_array().map_or(value.clone(), |all| all[1].clone());
            let key = [text(&record["bench"]), text(&last(&record["fn"]))].map(str::to_owned);
            let sums = expected.entry(key).or_default();
            for (sum, figure) in sums
                .iter_mut()
                .zip([&runs[0], &runs[1], &record["delta"]["Ir"]])
            {
                *sum += count(figure);
            }
        }
    }
    browser.evaluate(
        "globalThis.benches = async () => { const found = new Map(), table = grid(); \
           for (table.scrollTop = 0; ; table.scrollTop += table.clientHeight - 60) { await frame(); \
             const at = all('[data-column]', table).findIndex((head) => head.dataset.column === 'bench'); \
             for (const row of rows()) found.set(row.getAttribute('aria-rowindex'), [row.children[at].textContent, row.dataset.fn, row.dataset.old, row.dataset.new, row.dataset.delta]); \
             if (table.scrollTop + table.clientHeight >= table.scrollHeight - 1) return Array.from(found.values()); } }; 0",
    );
    let mut shown = BenchFigures::new();
    for row in browser.evaluate("benches()").as_array().unwrap() {
        let sums = shown.entry([text(&row[0]), text(&row[1])].map(str::to_owned));
        let sums = sums.or_default();
        (0..3).for_each(|at| sums[at] += count(&row[at + 2]));
    }
    assert!(shown.keys().any(|[bench, _]| bench == "b"));
    assert_eq!(shown, expected);
    let chips = "all('button[data-whose]').map((chip) => chip.dataset.self)";
    let chips = texts(&browser.evaluate(chips));
    let chips: i128 = chips.iter().map(|chip| chip.parse::<i128>().unwrap()).sum();
    assert_eq!(chips, total);
}
