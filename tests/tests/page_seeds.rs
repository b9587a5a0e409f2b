//! A law over the seeds of all formats: every row of every pane has the figures of `cg-fmt -f json`.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use needs::needs;
use serde_json::Value;
use tests::browser::Browser;
use tests::pages::{go, open, texts};
use tests::{data, tools};

/// The maximum number of events that are checked per page.
const EVENTS: usize = 3;

/// Functions that read a pane: all rows of the table, and all items of the tree, which unfolds.
const PANES: &str = r"
globalThis.frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
globalThis.allRows = async () => {
  const table = grid(), found = new Map(), count = Number(table.getAttribute('aria-rowcount')) - 1;
  for (table.scrollTop = 0; ; table.scrollTop += table.clientHeight - 60) {
    await frame();
    for (const row of rows()) found.set(row.getAttribute('aria-rowindex'), { ...row.dataset });
    if (found.size >= count || table.scrollTop + table.clientHeight >= table.scrollHeight - 1) break;
  }
  return { count, rows: Array.from(found.values()) };
};
globalThis.itemData = (item) => [Number(item.getAttribute('aria-level')), item.dataset.fn, item.dataset.incl, item.dataset.self];
globalThis.allFrames = () => all('[role=treeitem]', pane('flame')).sort((a, b) => a.dataset.x - b.dataset.x || itemData(a)[0] - itemData(b)[0]).map(itemData);
globalThis.allItems = () => {
  const tree = pane('tree').querySelector('[role=tree]'), found = [], seen = new Set();
  const press = (key) => tree.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const item = () => document.getElementById(tree.getAttribute('aria-activedescendant'));
  for (press('Home'); item() && !seen.has(item().id) && found.length < 6000; press('ArrowDown')) {
    if (item().getAttribute('aria-expanded') === 'false') press('ArrowRight');
    seen.add(item().id);
    found.push(itemData(item()));
  }
  return found;
};
globalThis.arcsOf = (name) => all(`[aria-label=${name}] [data-fn]`).map((arc) => [arc.dataset.fn, arc.dataset.incl, arc.dataset.calls]);
0";

/// Counts by text. Zeros are left out, because a pane may show them or not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, i128>);

impl Sums {
    pub(crate) fn add(&mut self, name: &str, count: i128) {
        if count == 0 {
            return;
        }
        // `-f json` with groups has a name for functions without one.
        let name = if name == "???" { "" } else { name };
        *self.0.entry(name.to_owned()).or_default() += count;
    }

    /// The sum of all counts, without a name.
    pub(crate) fn in_one(&self) -> Sums {
        let mut one = Sums::default();
        one.add("", self.0.values().sum());
        one
    }
}

/// Reads a count, as a number or as the text of an attribute; 0 without one.
pub(crate) fn count(value: &Value) -> i128 {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    text.parse().unwrap_or(0)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn records(tool: &str, args: &[&str]) -> Vec<Value> {
    let run = tools::run(tool, args, b"");
    let lines = run.text().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The identity of a frame in a record: its names.
type FrameNames = [String; 3];

fn frames(record: &Value) -> Vec<FrameNames> {
    let stack = record["stack"].as_array().cloned().unwrap_or_default();
    let names = |frame: &Value| ["fn", "file", "obj"].map(|key| text(&frame[key]).to_owned());
    let frames: Vec<FrameNames> = stack.iter().map(names).collect();
    match frames.is_empty() {
        true => vec![FrameNames::default()],
        false => frames,
    }
}

/// An input with its records.
struct Seed {
    file: String,
    records: Vec<Value>,
    by_function: Vec<Value>,
    calls: Vec<Value>,
}

impl Seed {
    fn read(file: String) -> Seed {
        let mut records = records("cg-fmt", &["-f", "json", &file]);
        records.retain(|record| record["type"] != "run" && record["type"] != "end");
        let has = |kind: &str| records.iter().any(|record| record["type"] == kind);
        let more = |wanted: bool, options: &[&str]| {
            let mut args = vec!["-f", "json"];
            args.extend(options);
            args.push(&file);
            match wanted {
                true => self::records("cg-fmt", &args),
                false => Vec::new(),
            }
        };
        let by_function = more(has("stack"), &["--group-by", "fn"]);
        let calls = more(has("fn"), &["--type", "call"]);
        Seed {
            records,
            by_function,
            calls,
            file,
        }
    }

    fn has(&self, kind: &str) -> bool {
        self.records.iter().any(|record| record["type"] == kind)
    }

    fn has_findings(&self) -> bool {
        self.has("leak") || self.has("error")
    }

    /// The records of the heap that is shown, or all records if no snapshot is shown.
    fn shown<'s>(
        &'s self,
        event: &'s str,
        snapshot: &'s Value,
    ) -> impl Iterator<Item = (&'s Value, i128)> {
        let is_shown = move |record: &Value| match text(&record["type"]) {
            "heap" => snapshot.is_null() || count(&record["snapshot"]) == count(snapshot),
            "program_point" => snapshot.is_null(),
            _ => true,
        };
        // A function may have only the cost of its callees.
        let of_event =
            move |record: &&Value| record["cost"].get(event).is_some() || record["type"] == "fn";
        let records = self.records.iter().filter(of_event);
        let records = records.filter(move |record| is_shown(record));
        records.map(move |record| (record, count(&record["cost"][event])))
    }

    /// Self cost, inclusive cost and calls by function.
    fn functions(&self, event: &str, snapshot: &Value) -> [Sums; 3] {
        let mut sums = [(); 3].map(|()| Sums::default());
        let [own, incl, calls] = &mut sums;
        let mut by_frame: BTreeMap<FrameNames, i128> = BTreeMap::new();
        for (record, cost) in self.shown(event, snapshot) {
            let name = text(&record["fn"]);
            if record["type"] == "stack" {
                for frame in BTreeSet::from_iter(frames(record)) {
                    *by_frame.entry(frame).or_default() += cost;
                }
                calls.add(&frames(record)[0][0], count(&record["cost"]["calls"]));
            } else {
                own.add(name, cost);
                incl.add(name, count(&record["incl"][event]));
                calls.add(name, count(&record["calls"]));
            }
        }
        for record in &self.by_function {
            own.add(text(&record["fn"]), count(&record["cost"][event]));
        }
        for ([name, ..], cost) in by_frame {
            incl.add(&name, cost);
        }
        sums
    }

    /// Inclusive cost and self cost by path, outermost function first. Also the paths that several functions share.
    fn paths(&self, event: &str, snapshot: &Value) -> ([Sums; 2], BTreeSet<String>) {
        let (mut incl, mut own) = (Sums::default(), Sums::default());
        let mut functions: BTreeMap<String, BTreeSet<Vec<FrameNames>>> = BTreeMap::new();
        for (record, cost) in self.shown(event, snapshot) {
            let (mut path, mut known) = (String::new(), Vec::new());
            for frame in frames(record).into_iter().rev() {
                path = format!("{path}\n{}", frame[0]);
                known.push(frame);
                incl.add(&path, cost);
                functions
                    .entry(path.clone())
                    .or_default()
                    .insert(known.clone());
            }
            own.add(&path, cost);
        }
        functions.retain(|_, known| known.len() > 1);
        ([incl, own], functions.into_keys().collect())
    }

    /// The arcs from or to a function: its callers or its callees with inclusive cost and calls.
    fn arcs(&self, name: &str, are_callers: bool, event: &str, snapshot: &Value) -> [Sums; 2] {
        let (mut incl, mut calls) = (Sums::default(), Sums::default());
        for call in self.calls.iter().filter(|call| call["type"] == "call") {
            let [caller, callee] = [text(&call["fn"]), text(&call["callee"]["fn"])];
            let (near, far) = if are_callers {
                (callee, caller)
            } else {
                (caller, callee)
            };
            if near == name {
                incl.add(far, count(&call["incl"][event]));
                calls.add(far, count(&call["calls"]));
            }
        }
        if !self.calls.is_empty() {
            return [incl, calls];
        }
        for (record, cost) in self.shown(event, snapshot) {
            let frames = frames(record);
            let arcs = frames.iter().zip(frames.iter().skip(1));
            for (callee, caller) in BTreeSet::from_iter(arcs) {
                let (near, far) = if are_callers {
                    (callee, caller)
                } else {
                    (caller, callee)
                };
                if near[0] == name {
                    incl.add(&far[0], cost);
                }
            }
        }
        [incl, calls]
    }
}

/// The rows of the table. All rows are read.
pub(crate) fn table(browser: &mut Browser, place: &str) -> Vec<Value> {
    let found = browser.evaluate("allRows()");
    let rows = found["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len() as i128, count(&found["count"]), "{place}");
    rows
}

fn check_table(seed: &Seed, rows: &[Value], event: &str, snapshot: &Value) {
    let place = format!("{} {event}", seed.file);
    let column = |name: &str| {
        let mut sums = Sums::default();
        rows.iter()
            .for_each(|row| sums.add(text(&row["fn"]), count(&row[name])));
        sums
    };
    let [own, incl, calls] = seed.functions(event, snapshot);
    if !seed.has_findings() {
        assert_eq!(column("self"), own, "{place}: self");
        let has = |name: &str| rows.iter().any(|row| !text(&row[name]).is_empty());
        if has("incl") {
            assert_eq!(column("incl"), incl, "{place}: inclusive");
        }
        if has("calls") {
            assert_eq!(column("calls"), calls, "{place}: calls");
        }
        return;
    }
    let [mut shown, mut expected] = [Sums::default(), Sums::default()];
    for row in rows {
        let name = format!("{} {}", text(&row["kind"]), text(&row["fn"]));
        shown.add(&name, count(&row["self"]));
    }
    for record in &seed.records {
        let unit = if record["type"] == "leak" {
            "bytes"
        } else {
            "count"
        };
        let name = format!("{} {}", text(&record["kind"]), text(&record["fn"]));
        expected.add(&name, count(&record["cost"][unit]));
    }
    assert_eq!(shown, expected, "{place}: findings");
}

/// Checks the items of a flame graph or a tree. Narrow frames of a flame graph may be missing.
fn check_items(seed: &Seed, items: &Value, (event, snapshot): (&str, &Value), is_tree: bool) {
    let place = format!(
        "{} {event} {}",
        seed.file,
        if is_tree { "tree" } else { "flame graph" }
    );
    let ([incl, own], shared) = seed.paths(event, snapshot);
    let mut shown = [Sums::default(), Sums::default()];
    let mut path: Vec<String> = Vec::new();
    let mut paths = BTreeSet::new();
    for item in items.as_array().unwrap() {
        // The frame of level 1 of a flame graph is the whole.
        let level = item[0].as_u64().unwrap() as usize - usize::from(!is_tree);
        if level == 0 {
            continue;
        }
        path.truncate(level - 1);
        path.push(text(&item[1]).to_owned());
        let name = format!("\n{}", path.join("\n"));
        shown[0].add(&name, count(&item[2]));
        shown[1].add(&name, count(&item[3]));
        paths.insert(name);
    }
    if is_tree {
        assert_eq!(shown, [incl, own], "{place}");
        return;
    }
    for (shown, expected) in shown.iter().zip([incl, own]) {
        for path in paths.difference(&shared) {
            assert_eq!(shown.0.get(path), expected.0.get(path), "{place}: {path}");
        }
    }
}

fn check_arcs(browser: &mut Browser, seed: &Seed, name: &str, (event, snapshot): (&str, &Value)) {
    go(
        browser,
        &address(&[("view", "calls"), ("event", event), ("fn", name)]),
    );
    for (list, are_callers) in [("Callers", true), ("Callees", false)] {
        let mut shown = [Sums::default(), Sums::default()];
        let arcs = browser.evaluate(&format!("arcsOf('{list}')"));
        for arc in arcs.as_array().unwrap() {
            shown[0].add(text(&arc[0]), count(&arc[1]));
            shown[1].add(text(&arc[0]), count(&arc[2]));
        }
        let expected = seed.arcs(name, are_callers, event, snapshot);
        assert_eq!(shown, expected, "{} {event}: {list} of {name}", seed.file);
    }
}

/// Checks the number of findings of each kind, and the stacks of the first findings.
fn check_findings(browser: &mut Browser, seed: &Seed, rows: &[Value]) {
    let mut expected = Sums::default();
    for record in records("cg-parse", &[&seed.file]) {
        if ["leak", "error"].contains(&text(&record["type"])) {
            expected.add(text(&record["kind"]), 1);
        }
    }
    let mut shown = Sums::default();
    let kinds = "all('.lead [data-kind]').map(({dataset: {kind, records}}) => [kind, records])";
    for kind in browser.evaluate(kinds).as_array().unwrap() {
        shown.add(text(&kind[0]), count(&kind[1]));
    }
    assert_eq!(shown, expected, "{}: kinds", seed.file);
    for row in rows.iter().take(4) {
        go(browser, &address(&[("finding", text(&row["finding"]))]));
        let stack =
            browser.evaluate("all('[data-stack] [data-fn]').map((frame) => frame.dataset.fn)");
        let stack = texts(&stack);
        let has_it = seed.records.iter().any(|record| {
            let frames = frames(record).into_iter().map(|[name, ..]| name);
            let names: Vec<String> = frames.take(stack.len().max(1)).collect();
            record["kind"] == row["kind"] && (names == stack || record["stack"].is_null())
        });
        assert!(has_it, "{}: {row}: {stack:?}", seed.file);
    }
}

/// Checks the listed snapshots. There are at most about 300 of them, so some may be missing.
fn check_snapshots(browser: &mut Browser, seed: &Seed) {
    let figures = |record: &Value| {
        let bytes = ["heap_bytes", "extra_bytes", "stacks_bytes"].map(|part| count(&record[part]));
        [
            count(&record["snapshot"]),
            count(&record["time"]),
            bytes.iter().sum(),
        ]
    };
    let snapshots = seed
        .records
        .iter()
        .filter(|record| record["type"] == "snapshot");
    let expected: BTreeSet<[i128; 3]> = snapshots.map(figures).collect();
    let listed = browser.evaluate("all('[role=option][data-snapshot]').map(({dataset: one}) => [one.snapshot, one.time, one.bytes])");
    let listed: BTreeSet<[i128; 3]> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| [0, 1, 2].map(|at| count(&one[at])))
        .collect();
    assert!(listed.is_subset(&expected), "{}", seed.file);
    assert!(expected.len() >= 300 || listed == expected, "{}", seed.file);
}

pub(crate) fn address(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| -> String {
        let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let fields = fields
        .iter()
        .map(|(key, value)| format!("{key}={}", encoded(value)));
    format!("#{}", fields.collect::<Vec<_>>().join("&"))
}

/// Opens the page of an input. Returns false if there is none, because the input is damaged.
pub(crate) fn open_page(browser: &mut Browser, written: &[u8]) -> bool {
    let path = browser.folder.path().join("page.html");
    fs::write(&path, written).unwrap();
    let has_page = String::from_utf8_lossy(written).contains("id=data>");
    if has_page {
        open(browser, &path);
        browser.evaluate(PANES);
    }
    has_page
}

pub(crate) fn events(browser: &mut Browser) -> Vec<String> {
    let events =
        browser.evaluate("all('select[aria-label=Event] option').map((option) => option.value)");
    texts(&events).into_iter().take(EVENTS).collect()
}

fn check_seed(browser: &mut Browser, seed: &Seed) {
    let views = texts(&browser.evaluate("all('[data-tab]').map((tab) => tab.dataset.tab)"));
    let has_view = |view: &str| views.iter().any(|known| known == view);
    let mut rows = Vec::new();
    for event in events(browser) {
        go(browser, &address(&[("view", "table"), ("event", &event)]));
        rows = table(browser, &seed.file);
        let snapshot = browser.evaluate("document.querySelector('main').dataset.snapshot ?? null");
        check_table(seed, &rows, &event, &snapshot);
        let shown = (event.as_str(), &snapshot);
        // The stacks of a call graph are estimates, which `-f json` does not have.
        let has_stacks = seed
            .shown(&event, &snapshot)
            .any(|(record, _)| record["stack"].is_array());
        if has_stacks && has_view("flame") {
            go(browser, &address(&[("view", "flame"), ("event", &event)]));
            check_items(seed, &browser.evaluate("allFrames()"), shown, false);
            go(browser, &address(&[("view", "tree"), ("event", &event)]));
            check_items(seed, &browser.evaluate("allItems()"), shown, true);
        }
        let names = rows
            .iter()
            .map(|row| text(&row["fn"]))
            .filter(|name| !name.is_empty());
        let names: Vec<&str> = names.collect();
        for name in BTreeSet::from_iter(names.iter().take(2).chain(names.last())) {
            if has_view("calls") {
                check_arcs(browser, seed, name, shown);
            }
        }
    }
    if seed.has_findings() {
        check_findings(browser, seed, &rows);
    }
    if has_view("memory") && seed.has("snapshot") {
        go(browser, "#view=memory");
        check_snapshots(browser, seed);
    }
}

#[test]
fn every_row_of_every_pane_has_the_figures_of_json_for_all_seeds() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let mut pages = 0;
    for format in cg_parse::FORMATS {
        for path in format.seeds_below(&data("")).unwrap() {
            let file = path.display().to_string();
            let page = tools::run("cg-fmt", &["-f", "html", &file], b"");
            if open_page(&mut browser, &page.stdout) {
                check_seed(&mut browser, &Seed::read(file.clone()));
                assert_eq!(browser.errors, Vec::<String>::new(), "{file}");
                pages += 1;
            }
        }
    }
    assert!(pages > 150, "{pages}");
}

/// Counts of the old run, of the new run, and their difference, by function and kind.
type Changes = BTreeMap<String, [i128; 3]>;

/// Returns a text, or the newest of the texts of several runs.
fn newest(value: &Value) -> &str {
    text(
        value
            .as_array()
            .and_then(|texts| texts.last())
            .unwrap_or(value),
    )
}

fn changes_of_json(records: &[Value], event: &str) -> Changes {
    let mut changes = Changes::new();
    for record in records
        .iter()
        .filter(|record| record["type"] == "diff" && record["of"] != "call")
    {
        let Some(runs) = record["cost"][event].as_array() else {
            continue;
        };
        let figures = [
            count(&runs[0]),
            count(&runs[runs.len() - 1]),
            count(&record["delta"][event]),
        ];
        let name = format!("{} {}", newest(&record["kind"]), newest(&record["fn"]));
        let sums = changes.entry(name).or_default();
        (0..3).for_each(|at| sums[at] += figures[at]);
    }
    changes.retain(|_, figures| *figures != [0; 3]);
    changes
}

fn changes_of_rows(rows: &[Value]) -> Changes {
    let mut changes = Changes::new();
    for row in rows {
        let name = format!("{} {}", text(&row["kind"]), text(&row["fn"]));
        let sums = changes.entry(name).or_default();
        for (sum, key) in sums.iter_mut().zip(["old", "new", "delta"]) {
            *sum += count(&row[key]);
        }
    }
    changes.retain(|_, figures| *figures != [0; 3]);
    changes
}

/// Checks that the chips of the classes of code sum to the total of each event.
fn check_chips(browser: &mut Browser, events: &[String], place: &str) {
    for event in events {
        go(browser, &address(&[("view", "table"), ("event", event)]));
        let chips =
            browser.evaluate("all('[data-whose][aria-pressed]').map((chip) => chip.dataset.self)");
        let chips: i128 = chips.as_array().unwrap().iter().map(count).sum();
        let total = browser.evaluate("document.querySelector('main').dataset.total");
        assert_eq!(chips, count(&total), "{place} {event}");
    }
}

#[test]
fn every_row_and_cause_of_a_difference_has_the_figures_of_json_and_chips_add_up() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let mut pages = 0;
    for format in cg_parse::FORMATS {
        let seeds: Vec<PathBuf> = format.seeds_below(&data("")).unwrap();
        let [old, new, ..] = seeds.as_slice() else {
            continue;
        };
        let [old, new] = [old, new].map(|path| path.display().to_string());
        let diff = tools::run("cg-diff", &["--causes", &old, &new], b"");
        let page = tools::run("cg-fmt", &["-f", "html", "-"], &diff.stdout);
        if !open_page(&mut browser, &page.stdout) {
            continue;
        }
        pages += 1;
        let records: Vec<Value> = diff
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let events = events(&mut browser);
        check_chips(&mut browser, &events, &format!("{old} {new}"));
        for event in &events {
            go(
                &mut browser,
                &address(&[("view", "table"), ("event", event)]),
            );
            let rows = table(&mut browser, &old);
            assert_eq!(
                changes_of_rows(&rows),
                changes_of_json(&records, event),
                "{old} {new} {event}"
            );
        }
        let size = |delta: i128| std::cmp::Reverse(delta.abs());
        let causes = records.iter().filter(|record| record["type"] == "cause");
        let mut expected: Vec<i128> = causes
            .map(|cause| count(&cause["delta"][&events[0]]))
            .collect();
        expected.sort_by_key(|delta| size(*delta));
        let shown = browser.evaluate("all('li[data-delta]').map((cause) => cause.dataset.delta)");
        let shown: Vec<i128> = shown.as_array().unwrap().iter().map(count).collect();
        assert_eq!(shown.is_empty(), expected.is_empty(), "{old} {new}");
        expected.truncate(shown.len());
        let sizes =
            |deltas: &[i128]| -> Vec<i128> { deltas.iter().map(|delta| delta.abs()).collect() };
        assert_eq!(sizes(&shown), sizes(&expected), "{old} {new}");
        assert_eq!(browser.errors, Vec::<String>::new(), "{old} {new}");
        // A page without the files of the runs has only the rows that changed.
        let gone = diff
            .text()
            .replace(&old, "/gone/old")
            .replace(&new, "/gone/new");
        let page = tools::run("cg-fmt", &["-f", "html", "-"], gone.as_bytes());
        assert!(open_page(&mut browser, &page.stdout), "{old} {new}");
        check_chips(&mut browser, &events, &format!("{old} {new}, files gone"));
    }
    assert!(pages > 12, "{pages}");
}
