//! Laws of a page: each pane has the figures of `cg-fmt -f json`, and parts add up to the whole.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;

use needs::needs;
use serde_json::{Value, json};
use tests::browser::Browser;
use tests::pages::{go, show};
use tests::tools;

/// Profiles of several formats. Those with times have a timeline.
const PROFILES: [(&str, bool); 7] = [
    ("callgrind/3.19.0-rec_default.callgrind.out", false),
    ("perf/6.1-busy.perf.txt", true),
    ("perf/6.1-busy_two_events.perf.txt", true),
    ("v8/node.cpuprofile", true),
    ("firefox/samply-bash.json.gz", true),
    ("chrome-trace/py-spy-0.4.json", true),
    ("jfr/jdk17.jfr.gz", true),
];

/// Returns the self cost by function of the first event, as `-f json` has it.
fn costs_of_json(file: &str, event: &str) -> BTreeMap<String, i64> {
    let run = tools::run("cg-fmt", &["-f", "json", "--group-by", "fn", file], b"");
    let mut costs = BTreeMap::new();
    for line in run.text().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let Some(cost) = record["cost"][event].as_i64()
            && ["fn", "stack"].contains(&record["type"].as_str().unwrap_or_default())
        {
            let name = record["fn"].as_str().unwrap_or_default().to_owned();
            *costs.entry(name).or_insert(0) += cost;
        }
    }
    costs
}

#[test]
fn panes_of_a_page_have_the_figures_of_json_and_add_up() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    for (file, has_times) in PROFILES {
        show(&mut browser, &[file], b"");
        let main = "document.querySelector('main').dataset";
        let event = browser.evaluate(&format!("{main}.event"));
        let total = browser.evaluate(&format!("Number({main}.total)"));
        let costs = costs_of_json(file, event.as_str().unwrap());
        // `-f json` names functions that a profile does not name with an empty text too.
        let shown = browser.evaluate(
            "Object.entries(rows().reduce((sums, {dataset: row}) => ({...sums, [row.fn]: (sums[row.fn] ?? 0) + Number(row.self)}), {}))",
        );
        let in_sight = browser.evaluate("rows().length").as_u64().unwrap() as usize;
        let is_whole = in_sight + 1
            == browser
                .evaluate("Number(grid().getAttribute('aria-rowcount'))")
                .as_u64()
                .unwrap() as usize;
        for row in shown.as_array().unwrap() {
            let (name, own) = (row[0].as_str().unwrap(), row[1].as_i64().unwrap());
            if name.is_empty() || name == "???" {
                continue;
            }
            let expected = costs.get(name).copied().unwrap_or(0);
            // A function may have further rows out of sight.
            let is_equal = if is_whole {
                own == expected
            } else {
                own <= expected
            };
            assert!(is_equal, "{file}: {name}: {own}, not {expected}");
        }
        let chips = "all('[data-whose][aria-pressed]').reduce((sum, chip) => sum + Number(chip.dataset.self), 0)";
        assert_eq!(browser.evaluate(chips), total, "{file}");
        go(&mut browser, "#view=flame");
        let frames = "items('flame').filter(([level]) => level === 1).map((frame) => frame[3])";
        assert_eq!(browser.evaluate(frames), json!([total]), "{file}");
        go(&mut browser, "#view=tree");
        let roots = "items('tree').filter(([level]) => level === 1).reduce((sum, root) => sum + root[3], 0)";
        assert_eq!(browser.evaluate(roots), total, "{file}");
        let length = browser
            .evaluate("all('[data-view=timeline]').map((one) => one.dataset.seconds)[0] ?? null");
        assert_eq!(!length.is_null(), has_times, "{file}");
        if let Some(length) = length.as_str() {
            lanes_and_ranges_add_up(&mut browser, length.parse().unwrap(), &total, file);
        }
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Checks that lanes sum to the total, slices to their lane, and the figures of two ranges to those of the whole.
fn lanes_and_ranges_add_up(browser: &mut Browser, length: f64, total: &Value, file: &str) {
    go(browser, "#view=timeline");
    let lanes = "all('[data-lane]').reduce((sum, lane) => sum + Number(lane.dataset.total), 0)";
    assert_eq!(browser.evaluate(lanes), *total, "{file}");
    let slices = "all('[data-lane]').every(({dataset: lane}) => lane.activity.split(',').reduce((sum, one) => sum + Number(one), 0) === Number(lane.total))";
    assert_eq!(browser.evaluate(slices), true, "{file}");
    let cut = length / 3.0;
    let mut parts = 0;
    for (from, to) in [(0.0, cut), (cut, length)] {
        go(browser, &format!("#view=timeline&time={from:.9}-{to:.9}"));
        let part = browser.evaluate("Number(document.querySelector('main').dataset.total)");
        parts += part.as_i64().unwrap();
        let chips = "all('[data-whose][aria-pressed]').reduce((sum, chip) => sum + Number(chip.dataset.self), 0)";
        assert_eq!(browser.evaluate(chips), part, "{file}");
    }
    assert_eq!(json!(parts), *total, "{file}");
}
