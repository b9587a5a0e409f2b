//! Pages in a real browser: it loads them from a file, clicks, types, goes back, and has nothing to complain of.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::browser::Browser;
use tests::made_massif::massif;
use tests::tools;

/// What a tool writes, as a file.
fn page(folder: &TempDir, tool: &str, args: &[&str], input: &[u8]) -> PathBuf {
    let run = tools::run(tool, args, input);
    assert!(run.status < 2, "{args:?}: {}", run.stderr);
    let path = folder.path().join("page.html");
    std::fs::write(&path, &run.stdout).unwrap();
    path
}

/// What a person sees, as functions of the test's own: panes, the rows of the table, items of trees, nodes.
const SEEN: &str = r"
globalThis.all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
globalThis.pane = (view) => all('[data-view]').find((pane) => pane.dataset.view === view && pane.offsetWidth > 0);
globalThis.grid = () => pane('table').querySelector('[role=grid]');
globalThis.rows = () => all('[role=row][data-fn]', grid());
globalThis.selected = () => rows().filter((row) => row.getAttribute('aria-selected') === 'true').map((row) => row.dataset.fn);
globalThis.items = (view, from = pane(view)) => all('[role=treeitem]', from).map((item) =>
  [Number(item.getAttribute('aria-level')), item.dataset.fn, Number(item.dataset.x), Number(item.dataset.incl), Number(item.dataset.self)]);
globalThis.said = () => Object.fromEntries(location.hash.slice(1).split('&').map((part) => part.split('=').map(decodeURIComponent)));
globalThis.nodes = () => { const walk = document.createTreeWalker(document, NodeFilter.SHOW_ALL); let count = 0; while (walk.nextNode()) count++; return count; };
globalThis.arcs = (name) => all(`[aria-label=${name}] [data-fn]`).map((arc) => [arc.dataset.fn, arc.dataset.incl, arc.dataset.calls]);
0";

const IS_READY: &str = "document.querySelector('main').getAttribute('aria-busy') === 'false'";

/// Opens a page and waits until it shows what it has.
fn open(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.wait_for(IS_READY);
    browser.evaluate(SEEN);
}

/// Goes to an address of the page, and waits until it is shown.
fn go(browser: &mut Browser, hash: &str) {
    browser.evaluate(&format!(
        "new Promise((done) => {{ if (location.hash === {hash:?}) return done(0); \
         addEventListener('hashchange', () => setTimeout(done, 0), {{once: true}}); location.hash = {hash:?}; }})"
    ));
    browser.wait_for(IS_READY);
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// A column as programs get it.
fn csv(name: &str, file: &str) -> Vec<String> {
    let written = tools::stdout("cg-fmt", &["-f", "csv", "--columns", name, file], b"");
    let mut reader = csv::Reader::from_reader(&written[..]);
    let rows = reader.records().map(|record| record.unwrap()[0].to_owned());
    rows.collect()
}

/// The scripts of pages.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cg-document/src/html")
}

#[test]
fn the_script_keeps_its_tests() {
    needs!("npm");
    for file in [
        "viewer/tests/viewer.test.mjs",
        "findings/tests/findings.test.mjs",
    ] {
        let run = needs::command("node")
            .arg("--test")
            .arg(scripts().join(file))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{told}");
        assert!(!told.contains("# tests 0"), "{told}");
    }
}

#[test]
fn the_types_of_the_script_are_right() {
    needs!("typescript");
    for (folder, others, least) in [
        ("viewer", &[][..], 10),
        ("findings", &["page/tables.js"], 3),
    ] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(scripts().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
            .collect();
        files.sort();
        assert!(files.len() >= least, "{files:?}");
        files.extend(others.iter().map(|other| scripts().join(other)));
        let run = needs::command("tsc")
            .args(["--noEmit", "--allowJs", "--checkJs", "--strict", "false"])
            .args(["--target", "es2022", "--lib", "es2023,dom,dom.iterable"])
            .args(&files)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{told}");
    }
}

#[test]
fn a_page_has_every_row_in_cost_order_and_sorts_and_searches_them() {
    needs!("browser");
    let file = "pair/before.callgrind.out";
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", file], b"");
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    let (counts, names, files) = (csv("Ir", file), csv("fn", file), csv("file", file));
    let count = "Number(grid().getAttribute('aria-rowcount')) - 1";
    assert_eq!(browser.evaluate(count), names.len());
    let shown = |browser: &mut Browser, what: &str| {
        texts(&browser.evaluate(&format!("rows().map((row) => row.dataset.{what})")))
    };
    let seen = shown(&mut browser, "self");
    assert!(seen.len() > 10 && seen.len() < names.len());
    assert_eq!(seen, counts[..seen.len()]);
    assert_eq!(shown(&mut browser, "fn"), names[..seen.len()]);
    assert_eq!(
        browser.evaluate("document.querySelector('main').dataset.total"),
        "6115676"
    );

    // By name, and turned round; Back undoes it.
    let head = "grid().querySelector('[data-column=fn]')";
    let mut sorted = names.clone();
    sorted.sort();
    browser.click_on(&format!("{head}.querySelector('button')"));
    assert_eq!(shown(&mut browser, "fn")[0], sorted[0]);
    assert_eq!(
        browser.evaluate(&format!("{head}.getAttribute('aria-sort')")),
        "ascending"
    );
    browser.click_on(&format!("{head}.querySelector('button')"));
    assert_eq!(&shown(&mut browser, "fn")[0], sorted.last().unwrap());
    browser.evaluate("history.back()");
    browser.wait_for(&format!("{head}.getAttribute('aria-sort') === 'ascending'"));

    // A search, next, previous, and back to all.
    browser.press("/", 191);
    browser.write("MALLOC");
    let matches = |(name, file): (&String, &String)| {
        format!("{name}{file}").to_lowercase().contains("malloc")
    };
    let expected = names.iter().zip(&files).filter(|row| matches(*row)).count();
    assert!(expected > 3 && expected < names.len());
    assert_eq!(browser.evaluate(count), expected);
    assert_eq!(
        browser.evaluate("Number(document.querySelector('[role=status]').dataset.matches)"),
        expected
    );
    let hits = shown(&mut browser, "fn");
    browser.press("Enter", 13);
    assert_eq!(browser.evaluate("selected()[0]"), hits[0]);
    browser.press("Enter", 13);
    assert_eq!(browser.evaluate("said().fn"), hits[1]);
    browser.press("Escape", 27);
    assert_eq!(browser.evaluate(count), names.len());

    // Addresses that say what there is not do no harm.
    go(
        &mut browser,
        "#view=none&event=x&fn=nothing&sort=y&whose=z&flame=w&snapshot=9&q&%",
    );
    assert_eq!(shown(&mut browser, "self")[0], counts[0]);
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn a_selection_is_one_in_all_panes_and_in_the_address_and_keys_move_it() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = page(
        &folder,
        "cg-fmt",
        &["-f", "html", "pair/before.callgrind.out"],
        b"",
    );
    let mut browser = Browser::start(1300, 900);
    open(&mut browser, &path);
    browser.click_on("rows()[1]");
    let first = browser.evaluate("selected()[0]");
    assert_eq!(browser.evaluate("said().fn"), first);
    browser.click_on("rows()[3]");
    assert_ne!(browser.evaluate("selected()[0]"), first);
    browser.evaluate("history.back()");
    let name = first.as_str().unwrap();
    browser.wait_for(&format!("selected()[0] === {name:?}"));
    go(&mut browser, "#view=tree&fn=wordcount%3A%3Anormalise");
    let is_selected = |view: &str| {
        format!("all('[aria-selected=true]', pane('{view}')).map((one) => one.dataset.fn).join()")
    };
    for view in ["tree", "table"] {
        assert_eq!(
            browser.evaluate(&is_selected(view)),
            "wordcount::normalise",
            "{view}"
        );
    }
    go(&mut browser, "#view=flame&fn=wordcount%3A%3Anormalise");
    let frames = browser.evaluate(&is_selected("flame"));
    assert!(
        frames.as_str().unwrap().contains("wordcount::normalise"),
        "{frames}"
    );
    go(&mut browser, "#view=table");
    browser.evaluate("grid().focus()");
    browser.press("End", 35);
    assert_eq!(
        browser.evaluate("rows().at(-1).getAttribute('aria-selected')"),
        "true"
    );
    assert_eq!(
        browser.evaluate("document.getElementById(grid().getAttribute('aria-activedescendant')).dataset.fn === said().fn"),
        true
    );
    assert_eq!(browser.troubles, Vec::<String>::new());
}

/// `main` 9 of its own; `parse` 55 + 300 + 120, `write` 140, `walk` 95, of which 70 below another `walk`.
const FOLDED: &str = "main;parse;token 300\nmain;parse;token;hash 120\nmain;parse 55\nmain;write;hash 140\nmain;walk;walk;leaf 70\nmain;walk;leaf 25\nmain 9\nboot;init 31\n";

#[test]
fn flames_trees_and_calls_tell_what_stacks_do() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", "-"], FOLDED.as_bytes());
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    go(&mut browser, "#view=flame");
    let level = |number: usize| format!("items('flame').filter(([level]) => level === {number})");
    assert_eq!(browser.evaluate(&level(1)), json!([[1, "", 0, 750, 0]]));
    assert_eq!(
        browser.evaluate(&level(2)),
        json!([[2, "main", 0, 719, 9], [2, "boot", 719, 31, 0]])
    );
    assert_eq!(browser.evaluate("items('flame').length"), 13);
    assert_eq!(
        browser.evaluate("all('[role=treeitem]', pane('flame'))[1].getAttribute('aria-label')"),
        "main, 719 samples, 95.87%"
    );
    go(&mut browser, "#view=flame&flame=reversed");
    assert_eq!(
        browser.evaluate(&format!(
            "Object.fromEntries({}.map(([, fn,, incl]) => [fn, incl]))",
            level(2)
        )),
        json!({"token": 300, "hash": 260, "parse": 55, "leaf": 95, "main": 9, "init": 31})
    );
    go(&mut browser, "#view=flame&flame=left-heavy");
    assert_eq!(
        browser.evaluate(&format!("{}.map(([, fn, x]) => [fn, x])", level(3))),
        json!([["parse", 0], ["write", 475], ["walk", 615], ["init", 719]])
    );
    go(&mut browser, "#view=flame&flame=sandwich&fn=hash");
    let side = |side: &str| {
        format!(
            "items('flame', document.querySelector('[data-side={side}]')).map(([level, fn,, incl]) => [level, fn, incl]).slice(0, 3)"
        )
    };
    assert_eq!(
        browser.evaluate(&side("callees")),
        json!([[1, "hash", 260]])
    );
    assert_eq!(
        browser.evaluate(&side("callers"))[0],
        json!([1, "hash", 260])
    );

    // A click on a frame selects; its callers and callees are those of the stacks, a recursion once.
    go(&mut browser, "#view=flame");
    browser.click_on(
        "all('[role=treeitem]', pane('flame')).find((item) => item.dataset.fn === 'walk')",
    );
    assert_eq!(browser.evaluate("said().fn"), "walk");
    go(&mut browser, "#view=calls&fn=walk");
    assert_eq!(
        browser.evaluate("[arcs('Callers'), arcs('Callees')]"),
        json!([
            [["main", "95", ""], ["walk", "70", ""]],
            [["leaf", "95", ""], ["walk", "70", ""]]
        ])
    );

    // The tree folds and unfolds by keys, and opens the costliest path to what is selected.
    go(&mut browser, "#view=tree");
    browser.evaluate("pane('tree').querySelector('[role=tree]').focus()");
    browser.press("Home", 36);
    browser.press("ArrowRight", 39);
    let named = "items('tree').map(([level, fn,, incl, self]) => [level, fn, incl, self])";
    assert_eq!(
        browser.evaluate(named),
        json!([
            [1, "main", 719, 9],
            [2, "parse", 475, 55],
            [2, "write", 140, 0],
            [2, "walk", 95, 0],
            [1, "boot", 31, 0]
        ])
    );
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.evaluate(&format!("{named}.length")), 2);
    go(&mut browser, "#view=tree&fn=hash");
    assert_eq!(
        browser.evaluate("all('[aria-selected=true]', pane('tree')).map((item) => [item.getAttribute('aria-level'), item.dataset.incl])"),
        json!([["3", "140"]])
    );
    assert_eq!(browser.troubles, Vec::<String>::new());
}

const OLD_SOURCE: &str =
    "int work(int n) {\n  return n * 2;\n}\nint main() {\n  return work(4);\n}\n";
const NEW_SOURCE: &str =
    "#define X 1\nint work(int n) {\n  return n * 3;\n}\nint main() {\n  return work(4);\n}\n";

/// `work` of `PATH`: a line with 40, one with 2, and 7 in a header; called 4 times from `main`, which costs 5.
fn callgrind(path: &str, first: u64, cost: u64) -> String {
    let (second, main) = (first + 1, first + 4);
    format!(
        "events: Ir Dr\nob=/bin/work\nfl={path}\nfn=work\n{first} 2 1\n{second} {cost} 10\nfi=head.h\n9 7 0\nfe={path}\n\nfn=main\n{main} 5 1\ncfn=work\ncalls=4 {first}\n{main} {} 11\n",
        cost + 9
    )
}

#[test]
fn source_has_the_costs_of_its_lines_and_of_a_diff_both_sides() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for side in ["old", "new"] {
        std::fs::create_dir(at(side)).unwrap();
    }
    for (name, text) in [
        ("old/work.c", OLD_SOURCE.to_owned()),
        ("new/work.c", NEW_SOURCE.to_owned()),
        ("old.out", callgrind("old/work.c", 1, 40)),
        ("new.out", callgrind("new/work.c", 2, 60)),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let source = format!("--source={}", folder.path().to_str().unwrap());
    let path = page(
        &folder,
        "cg-fmt",
        &["-f", "html", &source, &at("old.out")],
        b"",
    );
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    go(&mut browser, "#view=source&fn=work");
    let lines = "all('[data-line]', pane('source')).filter((line) => line.dataset.self).map((line) => \
                 [line.dataset.line, line.dataset.self, getComputedStyle(line).getPropertyValue('--heat')])";
    assert_eq!(
        browser.evaluate(lines),
        json!([["1", "2", "0.0500"], ["2", "40", "1.0000"]])
    );
    assert_eq!(browser.evaluate("pane('source').dataset.elsewhere"), "7");
    let text = browser.evaluate("all('[data-line]', pane('source'))[1].textContent");
    assert!(text.as_str().unwrap().contains("return n * 2;"), "{text}");
    // The line of a call has what the call costs, and leads to what is called.
    go(&mut browser, "#view=source&fn=main");
    let calling = "all('[data-line]', pane('source')).find((line) => line.dataset.line === '5')";
    assert_eq!(
        browser.evaluate(&format!("[{calling}.dataset.self, {calling}.dataset.incl]")),
        json!(["5", "54"])
    );
    browser.click_on(&format!("{calling}.querySelector('button')"));
    assert_eq!(browser.evaluate("said().fn"), "work");
    go(&mut browser, "#view=calls&fn=work");
    assert_eq!(
        browser.evaluate("arcs('Callers')"),
        json!([["main", "49", "4"]])
    );
    go(&mut browser, "#view=table&event=Dr");
    assert_eq!(
        browser.evaluate("[document.querySelector('main').dataset.total, rows()[0].dataset.self]"),
        json!(["12", "11"])
    );

    let diff = tools::stdout("cg-diff", &[&at("old.out"), &at("new.out")], b"");
    let path = page(&folder, "cg-fmt", &["-f", "html", &source], &diff);
    open(&mut browser, &path);
    go(&mut browser, "#view=source&fn=work");
    let sides = "all('[data-old-line]', pane('source')).map((line) => \
                 [line.dataset.oldLine, line.dataset.newLine, line.dataset.old, line.dataset.new]).slice(0, 5)";
    assert_eq!(
        browser.evaluate(sides),
        json!([
            ["", "1", "", ""],
            ["1", "2", "2", "2"],
            ["2", "", "40", ""],
            ["", "3", "", "60"],
            ["3", "4", "", ""]
        ])
    );
    go(&mut browser, "#view=flame");
    assert_eq!(
        browser.evaluate("all('[role=treeitem]', pane('flame')).map((item) => [item.dataset.fn, item.dataset.old, item.dataset.new])"),
        json!([["", "54", "74"], ["main", "54", "74"], ["work", "49", "69"]])
    );
    // Where the runs are not what they were, the page says so and tells what the diff does.
    std::fs::write(at("old.out"), callgrind("old/work.c", 1, 41)).unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html"], &diff);
    open(&mut browser, &path);
    assert_eq!(
        browser.evaluate("all('[data-view]').map((pane) => pane.dataset.view).join()"),
        "table"
    );
    let notes = browser.evaluate("document.querySelector('.lead').textContent");
    assert!(
        notes.as_str().unwrap().contains("no longer as they were"),
        "{notes}"
    );
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn the_heap_that_is_shown_is_that_of_the_snapshot() {
    needs!("browser");
    let file = "massif/3.19.0-heapy_i.massif.out";
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", file], b"");
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    let shown = "[document.querySelector('main').dataset.snapshot, document.querySelector('main').dataset.total]";
    // The peak, as the file says: 1,030,800 bytes on the heap.
    assert_eq!(browser.evaluate(shown), json!(["36", "1030800"]));
    go(&mut browser, "#view=memory");
    let snapshots = tools::stdout("cg-parse", &["--snapshots", "all", file], b"");
    let snapshots: Vec<Value> = String::from_utf8(snapshots)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_type = |name: &'static str| {
        let records = snapshots.iter();
        records.filter(move |record| record["type"] == name)
    };
    let bytes = |record: &Value| {
        let part = |name: &str| record[name].as_u64().unwrap();
        part("heap_bytes") + part("extra_bytes") + part("stacks_bytes")
    };
    let listed: Vec<Value> = of_type("snapshot")
        .map(|record| json!([record["snapshot"], record["time"], bytes(record)]))
        .collect();
    assert_eq!(
        browser.evaluate("all('[role=option]', pane('memory')).map((one) => ['snapshot', 'time', 'bytes'].map((key) => Number(one.dataset[key])))"),
        Value::from(listed)
    );
    let first = of_type("heap").next().unwrap()["snapshot"].clone();
    let held: u64 = of_type("heap")
        .filter(|record| record["snapshot"] == first)
        .map(|record| record["cost"]["bytes"].as_u64().unwrap())
        .sum();
    browser.click_on(&format!(
        "pane('memory').querySelector('[data-snapshot=\"{first}\"]')"
    ));
    assert_eq!(
        browser.evaluate(shown),
        json!([first.to_string(), held.to_string()])
    );
    go(&mut browser, &format!("#view=flame&snapshot={first}"));
    assert_eq!(browser.evaluate("items('flame')[0][3]"), held);
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn a_heap_is_compared_with_that_of_another_snapshot() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let told = "1000 root\n 980 load:31\n  980 main:9\n 15 pool:8\n  15 main:9\n 5 3";
    let hidden = "2000 root\n 1900 load:31\n  1900 main:9\n 79 new:4\n  79 main:7\n 21 4";
    let file = folder.path().join("massif.out");
    std::fs::write(&file, massif(&[Some(told), None, Some(hidden)])).unwrap();
    let path = page(
        &folder,
        "cg-fmt",
        &["-f", "html", file.to_str().unwrap()],
        b"",
    );
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    let rows = "rows().map(({dataset: row}) => [row.fn, row.old, row.new, row.delta, row.status].join(' '))";
    assert_eq!(
        browser.evaluate("rows()[0].dataset.delta === undefined"),
        true
    );
    let base = "document.querySelector('select[aria-label=\"Compared with\"]')";
    let choices = format!("Array.from({base}.options, (option) => option.value)");
    assert_eq!(browser.evaluate(&choices), json!(["", "0", "2"]));
    browser.evaluate(&format!(
        "{base}.value = '0'; {base}.dispatchEvent(new Event('change')); 0"
    ));
    browser.wait_for(IS_READY);
    assert_eq!(browser.evaluate("said().base"), "0");
    // What one heap has below the threshold has no change: not all of it came or went. All of `new` may have been there.
    assert_eq!(
        browser.evaluate(rows),
        json!([
            "load 980 1900 920 changed",
            "new  79  below-threshold",
            " 5 21  below-threshold",
            "pool 15   below-threshold"
        ])
    );
    assert_eq!(
        browser.evaluate("all('[role=columnheader]').map((one) => one.dataset.column).slice(0, 3)"),
        json!(["delta", "old", "new"])
    );
    // As the two runs that `cg-diff` compares.
    go(&mut browser, "#view=table&base=2&snapshot=1");
    assert_eq!(
        browser.evaluate(rows),
        json!([
            "load 1900 980 -920 changed",
            "new 79   below-threshold",
            "pool  15  below-threshold",
            " 21 5  below-threshold"
        ])
    );
    go(&mut browser, "#view=flame&base=0");
    assert_eq!(
        browser.evaluate("[document.querySelector('main').dataset.total, pane('flame').querySelector('select').value]"),
        json!(["2000", "differential"])
    );
    assert_eq!(
        browser.evaluate("all('[role=treeitem]', pane('flame')).map(({dataset: item}) => [item.fn, item.incl, item.old ?? null]).sort()"),
        json!([
            ["", "2000", "1000"],
            ["", "21", null],
            ["load", "1900", "980"],
            ["main", "1979", "995"],
            ["new", "79", null]
        ])
    );
    go(&mut browser, "#view=calls&base=0&fn=main");
    assert_eq!(
        browser.evaluate("all('[aria-label=Callees] li').map((one) => one.textContent.match(/\\(.[0-9]*\\)/)?.[0] ?? '')"),
        json!(["(+920)", ""])
    );
    go(&mut browser, "#view=memory&base=0");
    let marks = "all('line.mark', pane('memory')).filter((line) => getComputedStyle(line).display !== 'none').map((line) => [line.dataset.snapshot, Number(line.getAttribute('x1'))]).sort()";
    let marked = browser.evaluate(marks);
    assert_eq!([&marked[0][0], &marked[1][0]], ["0", "2"]);
    assert!(marked[0][1].as_f64() < marked[1][1].as_f64(), "{marked}");
    // Back undoes a choice, and what is not there does no harm.
    go(&mut browser, "#view=table");
    assert_eq!(
        browser.evaluate("rows()[0].dataset.delta === undefined"),
        true
    );
    browser.evaluate("history.back()");
    browser.wait_for(&format!("({marks}).length === 2"));
    go(&mut browser, "#view=flame&base=7&flame=differential");
    assert_eq!(
        browser.evaluate("pane('flame').querySelector('select').value"),
        "icicle"
    );
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn findings_are_told_by_severity_with_their_stacks() {
    needs!("browser");
    let file = "memcheck/3.27.1-leaky.xml";
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", file], b"");
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    let kinds = texts(&browser.evaluate("rows().map((row) => row.dataset.kind)"));
    let rank = |kind: &String| {
        let known = ["definite", "indirect", "possible", "reachable"];
        known
            .iter()
            .position(|word| word == kind)
            .map_or(0, |at| at + 1)
    };
    assert!(kinds.iter().map(rank).is_sorted(), "{kinds:?}");
    assert!(
        rank(&kinds[0]) == 0 && kinds.iter().any(|kind| kind == "reachable"),
        "{kinds:?}"
    );
    assert_eq!(
        browser.evaluate("document.querySelector('main').dataset.total === undefined"),
        true
    );
    browser.click_on("rows().find((row) => row.dataset.kind === 'definite')");
    let stack = browser.evaluate("pane('table').querySelector('ol').textContent");
    assert!(stack.as_str().unwrap().contains("malloc"), "{stack}");
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn pages_are_light_and_dark_and_print_and_fit_a_phone() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = page(
        &folder,
        "cg-fmt",
        &["-f", "html", "massif/3.19.0-heapy_i.massif.out"],
        b"",
    );
    let mut browser = Browser::start(1000, 900);
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        browser.tell(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        open(&mut browser, &path);
        seen.push(browser.evaluate(
            "[document.body, document.querySelector('.chart .title')].map((element) => \
             getComputedStyle(element)[element === document.body ? 'backgroundColor' : 'fill'])",
        ));
        assert_eq!(browser.troubles, Vec::<String>::new());
    }
    assert_eq!(seen[0][0], "rgb(255, 255, 255)");
    assert_eq!(seen[1][0], "rgb(22, 24, 29)");
    assert_ne!(seen[0][1], seen[1][1]);
    let printed = browser.tell("Page.printToPDF", json!({}));
    // `%PDF`
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"));
    let numbers = browser.evaluate(
        "Array.from(document.querySelectorAll('.chart .bytes'), (text) => text.textContent).join(' ')",
    );
    assert_eq!(numbers, "0 256 KiB 512 KiB 768 KiB 1 MiB");
    browser.tell(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}),
    );
    open(&mut browser, &path);
    for view in ["table", "flame", "tree", "calls", "memory"] {
        go(&mut browser, &format!("#view={view}"));
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth <= 390"),
            true,
            "{view}"
        );
    }
    let letters = "Math.min(...all('.chart text').map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))";
    let letters = browser.evaluate(letters);
    assert!(letters.as_f64().unwrap() >= 9.0, "{letters}");
    go(&mut browser, "#view=table");
    let first = browser.evaluate("(() => { const box = rows()[0].getBoundingClientRect(); return [box.top, box.bottom]; })()");
    assert!(
        first[0].as_f64().unwrap() > 0.0 && first[1].as_f64().unwrap() < 844.0,
        "{first}"
    );
}

/// Names that would be markup, scripts or the end of what they are in.
const HOSTILE: [&str; 4] = [
    "<img src=x onerror=\"globalThis.hit=1\">",
    "</script><script>globalThis.hit=1</script>",
    "</iframe>'\"><svg onload=globalThis.hit=1>&lt;b&gt;",
    "</title></textarea></noscript></style>{{alert(1)}}",
];

#[test]
fn hostile_names_are_text_and_nothing_comes_from_elsewhere() {
    needs!("browser");
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"</title><script>globalThis.hit=1</script>\",\"events\":[\"samples\"],\"total\":{\"samples\":4}}\n",
    );
    for name in HOSTILE {
        let frame = json!({"fn": name, "file": name, "obj": name});
        let record = json!({"type": "stack", "fn": name, "stack": [frame, {"fn": "main"}], "cost": {"samples": 1}});
        // The type comes first.
        let record = record.to_string();
        let record = record.replacen("\"type\":\"stack\"", "\"of\":\"\"", 1);
        stream.push_str(&record.replacen('{', "{\"type\":\"stack\",", 1));
        stream.push('\n');
    }
    stream.push_str("{\"type\":\"end\",\"records\":4}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", "-"], stream.as_bytes());
    let mut browser = Browser::start(1000, 900);
    open(&mut browser, &path);
    let hit = "typeof globalThis.hit";
    for view in ["table", "flame", "tree", "calls"] {
        go(&mut browser, &format!("#view={view}&fn=main"));
        assert_eq!(browser.evaluate(hit), "undefined", "{view}");
    }
    go(&mut browser, "#view=table");
    let names = texts(&browser.evaluate(
        "rows().flatMap((row) => [row.dataset.fn, ...Array.from(row.children, (cell) => cell.textContent)])",
    ));
    for name in HOSTILE {
        assert!(
            names.iter().filter(|text| *text == name).count() > 1,
            "{name}: {names:?}"
        );
    }
    assert_eq!(browser.troubles, Vec::<String>::new());

    // Were a name markup all the same, the page's policy would stop its script and what it would load.
    let stopped = browser.evaluate(
        "new Promise((resolve) => { const stopped = []; \
         document.addEventListener('securitypolicyviolation', (event) => { \
           stopped.push(event.effectiveDirective); if (stopped.length === 2) resolve(stopped.sort()); }); \
         const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x'; document.body.append(image); \
         const script = document.createElement('script'); script.textContent = 'globalThis.hit=1'; document.body.append(script); })",
    );
    assert_eq!(texts(&stopped), ["img-src", "script-src-elem"]);
    assert_eq!(browser.evaluate(hit), "undefined");
}

#[test]
fn a_page_of_10_000_functions_has_few_nodes_and_exact_counts() {
    needs!("browser");
    const MOST_NODES: u64 = 3000;
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":0}}\n",
    );
    let count = |number: u64| (1 << 60) + number * number;
    for number in 0..10_000_u64 {
        let file = format!("/home/dev/server/src/storage/table_{}.rs", number % 700);
        let name = format!("server::storage::Table<alloc::vec::Vec<Row>>::insert_{number}");
        // Each costs more than a double counts exactly, and all together less than 2^64 counts.
        let cost = if number < 15 { count(number) } else { number };
        stream.push_str(&format!(
            "{{\"type\":\"fn\",\"fn\":\"{name}\",\"file\":\"{file}\",\"calls\":{number},\"cost\":{{\"Ir\":{cost}}}}}\n",
        ));
    }
    // One stack of 1,500 frames.
    let frames: Vec<Value> = (0..1500)
        .map(|frame| json!({"fn": format!("level_{frame}")}))
        .collect();
    stream.push_str(&format!(
        "{{\"type\":\"stack\",\"fn\":\"level_0\",\"stack\":{},\"cost\":{{\"Ir\":7}}}}\n",
        Value::from(frames)
    ));
    stream.push_str("{\"type\":\"end\",\"records\":10001}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", "-"], stream.as_bytes());
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 400_000, "{size}");
    let mut browser = Browser::start(1200, 900);
    open(&mut browser, &path);
    assert_eq!(
        browser.evaluate("grid().getAttribute('aria-rowcount')"),
        "10001"
    );
    assert_eq!(
        browser.evaluate("rows()[0].dataset.self"),
        count(14).to_string()
    );
    for view in [
        "table",
        "flame",
        "flame&flame=reversed",
        "tree&fn=level_0",
        "calls&fn=level_9",
        "table",
    ] {
        go(&mut browser, &format!("#view={view}"));
        let nodes = browser.evaluate("nodes()").as_u64().unwrap();
        assert!(nodes <= MOST_NODES, "{view}: {nodes}");
    }
    // A row far down by its address: `insert_500` costs 500, and 9,499 others and the dear ones cost more.
    let name = "server::storage::Table<alloc::vec::Vec<Row>>::insert_500";
    go(
        &mut browser,
        &format!(
            "#view=table&fn={}",
            name.replace(':', "%3A")
                .replace('<', "%3C")
                .replace('>', "%3E")
        ),
    );
    assert_eq!(browser.evaluate("selected()[0]"), name);
    let index = "rows().find((row) => row.getAttribute('aria-selected') === 'true').getAttribute('aria-rowindex')";
    assert_eq!(browser.evaluate(index), (15 + 9499 + 2).to_string());
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn a_verdict_is_a_page_too() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = page(
        &folder,
        "leak-check",
        &["-f", "html", "memcheck/3.27.1-leaky.xml"],
        b"",
    );
    let mut browser = Browser::start(1000, 900);
    browser.open(&path);
    let verdict = "document.querySelector('.lead').className + ': ' + document.querySelector('.lead').textContent.trim()";
    assert_eq!(
        browser.evaluate(verdict),
        "lead bad: 20 new findings in 1 of 1 process"
    );
    browser.press("/", 191);
    browser.write("chain leaks");
    // What it leaks directly, and what is only lost with that.
    browser.wait_for("document.querySelector('[role=status]').dataset.matches === '2'");
    browser.click_on("document.querySelector('details.fold:not([hidden]) summary')");
    let stack =
        browser.evaluate("document.querySelector('details.fold[open] .frames').textContent");
    assert!(stack.as_str().unwrap().contains("by chain ("), "{stack}");
    assert_eq!(browser.troubles, Vec::<String>::new());
    let path = page(
        &folder,
        "leak-check",
        &["-f", "html", "memcheck/3.27.1-clean.xml"],
        b"",
    );
    browser.open(&path);
    let verdict = browser.evaluate(verdict);
    assert!(
        verdict.as_str().unwrap().starts_with("lead good: clean"),
        "{verdict}"
    );
}
