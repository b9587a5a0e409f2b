//! The panes of a page in a real browser: flame graphs, trees, calls, source, heaps, findings.

use std::collections::{BTreeMap, BTreeSet};

use needs::needs;
use serde_json::{Value, json};
use tests::browser::Browser;
use tests::made_massif::massif;
use tests::pages::{IS_READY, go, show, texts};
use tests::tools;

/// `main` has 9 samples itself, `parse` 55 + 300 + 120, `write` 140, and `walk` 95, including 70 below another `walk`.
const FOLDED: &str = "main;parse;token 300\nmain;parse;token;hash 120\nmain;parse 55\nmain;write;hash 140\nmain;walk;walk;leaf 70\nmain;walk;leaf 25\nmain 9\nboot;init 31\n";

#[test]
fn flames_trees_and_calls_agree_with_the_stacks() {
    needs!("browser");
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &["-"], FOLDED.as_bytes());
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

    // A click selects a frame. Its callers and callees come from the stacks, and a recursion counts once.
    go(&mut browser, "#view=flame");
    browser.click_on(
        "all('[role=treeitem]', pane('flame')).find((item) => item.dataset.fn === 'walk')",
    );
    assert_eq!(browser.evaluate("hashFields().fn"), "walk");
    go(&mut browser, "#view=calls&fn=walk");
    assert_eq!(
        browser.evaluate("[arcs('Callers'), arcs('Callees')]"),
        json!([
            [["main", "95", ""], ["walk", "70", ""]],
            [["leaf", "95", ""], ["walk", "70", ""]]
        ])
    );

    // Keys fold and unfold the tree. The most expensive path to the selected function is open.
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
    assert_eq!(browser.errors, Vec::<String>::new());
}

const OLD_SOURCE: &str =
    "int work(int n) {\n  return n * 2;\n}\nint main() {\n  return work(4);\n}\n";
const NEW_SOURCE: &str =
    "#define X 1\nint work(int n) {\n  return n * 3;\n}\nint main() {\n  return work(4);\n}\n";

/// Returns a profile with `work` in file `path`: a line with 2, a line with `cost`, and 7 in a header. `main`, which costs
/// 5, calls it 4 times.
fn callgrind(path: &str, first: u64, cost: u64) -> String {
    let (second, main) = (first + 1, first + 4);
    format!(
        "events: Ir Dr\nob=/bin/work\nfl={path}\nfn=work\n{first} 2 1\n{second} {cost} 10\nfi=head.h\n9 7 0\nfe={path}\n\nfn=main\n{main} 5 1\ncfn=work\ncalls=4 {first}\n{main} {} 11\n",
        cost + 9
    )
}

#[test]
fn source_has_line_costs_and_both_sides_of_a_diff() {
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
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &[&source, &at("old.out")], b"");
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
    // The line of a call has the cost of the call and links to the callee.
    go(&mut browser, "#view=source&fn=main");
    let calling = "all('[data-line]', pane('source')).find((line) => line.dataset.line === '5')";
    assert_eq!(
        browser.evaluate(&format!("[{calling}.dataset.self, {calling}.dataset.incl]")),
        json!(["5", "54"])
    );
    browser.click_on(&format!("{calling}.querySelector('button')"));
    assert_eq!(browser.evaluate("hashFields().fn"), "work");
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
    show(&mut browser, &[&source], &diff);
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
    assert_eq!(
        browser.evaluate("[pane('source').dataset.oldElsewhere, pane('source').dataset.elsewhere]"),
        json!(["7", "7"])
    );
    go(&mut browser, "#view=flame");
    assert_eq!(
        browser.evaluate("all('[role=treeitem]', pane('flame')).map((item) => [item.dataset.fn, item.dataset.old, item.dataset.new])"),
        json!([["", "54", "74"], ["main", "54", "74"], ["work", "49", "69"]])
    );
    // If the files of the runs have changed since the diff, the page has a note and shows only the diff.
    std::fs::write(at("old.out"), callgrind("old/work.c", 1, 41)).unwrap();
    show(&mut browser, &["-"], &diff);
    assert_eq!(
        browser.evaluate("all('[data-view]').map((pane) => pane.dataset.view).join()"),
        "table"
    );
    let notes = browser.evaluate("document.querySelector('.lead').textContent");
    assert!(
        notes
            .as_str()
            .unwrap()
            .contains("are missing or have changed"),
        "{notes}"
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn selected_snapshot_determines_the_heap() {
    needs!("browser");
    let file = "massif/3.19.0-heapy_i.massif.out";
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &[file], b"");
    let shown = "[document.querySelector('main').dataset.snapshot, document.querySelector('main').dataset.total]";
    // The file's peak has 1,030,800 bytes on the heap.
    assert_eq!(browser.evaluate(shown), json!(["36", "1030800"]));
    go(&mut browser, "#view=memory");
    let snapshots = tools::stdout("cg-parse", &["--snapshots", "all", file], b"");
    let snapshots: Vec<Value> = String::from_utf8(snapshots)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let records_of_type = |name: &'static str| {
        let records = snapshots.iter();
        records.filter(move |record| record["type"] == name)
    };
    let bytes = |record: &Value| {
        let part = |name: &str| record[name].as_u64().unwrap();
        part("heap_bytes") + part("extra_bytes") + part("stacks_bytes")
    };
    let listed: Vec<Value> = records_of_type("snapshot")
        .map(|record| json!([record["snapshot"], record["time"], bytes(record)]))
        .collect();
    assert_eq!(
        browser.evaluate("all('[role=option]', pane('memory')).map((one) => ['snapshot', 'time', 'bytes'].map((key) => Number(one.dataset[key])))"),
        Value::from(listed)
    );
    let first = records_of_type("heap").next().unwrap()["snapshot"].clone();
    let held: u64 = records_of_type("heap")
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
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn heap_is_compared_with_another_snapshot() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let shown = "1000 root\n 980 load:31\n  980 main:9\n 15 pool:8\n  15 main:9\n 5 3";
    let hidden = "2000 root\n 1900 load:31\n  1900 main:9\n 79 new:4\n  79 main:7\n 21 4";
    let file = folder.path().join("massif.out");
    std::fs::write(&file, massif(&[Some(shown), None, Some(hidden)])).unwrap();
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &[file.to_str().unwrap()], b"");
    go(&mut browser, "#view=table");
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
    assert_eq!(browser.evaluate("hashFields().base"), "0");
    // A row below the threshold in one of the heaps has no change, because its earlier or later size is unknown.
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
    // In the other direction.
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
    // Back undoes a choice, and unknown values in an address cause no errors.
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
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn findings_are_listed_by_severity_with_their_stacks() {
    needs!("browser");
    let file = "memcheck/3.27.1-leaky.xml";
    let mut browser = Browser::start(1200, 900);
    let path = show(&mut browser, &[file], b"");
    // The text is also there without script.
    let text = std::fs::read_to_string(&path).unwrap();
    let lead = text.split("<div class=lead>").nth(1).unwrap();
    let lead = lead.split("</div>").next().unwrap();
    assert_eq!(
        lead.trim(),
        "<p>13 errors in 11 places; most often, 2 times: Invalid read of size 4 in inv_rw</p>\n\
         <p>definitely lost: 3,297 bytes and 35 blocks in 6 leak records; most in definitely, 3,000 bytes</p>\n\
         <p>indirectly lost: 224 bytes and 7 blocks in 2 leak records</p>\n\
         <p>possibly lost: 64 bytes and 1 blocks in 1 leak record</p>\n\
         <p>still reachable: 4,096 bytes and 1 blocks in 1 leak record</p>"
    );
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
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn recording_shows_live_heap_and_allocations() {
    needs!("browser");
    let file = "heaptrack/1.4.0-shapes.zst";
    // The bytes and functions of each snapshot, from its records.
    let records = tools::stdout("cg-parse", &["--snapshots", "all", file], b"");
    let records = String::from_utf8(records).unwrap();
    let mut held: BTreeMap<u64, (u64, BTreeSet<String>)> = BTreeMap::new();
    for record in records.lines() {
        let record: Value = serde_json::from_str(record).unwrap();
        if record["type"] == "heap" {
            let snapshot = held
                .entry(record["snapshot"].as_u64().unwrap())
                .or_default();
            snapshot.0 += record["cost"]["bytes"].as_u64().unwrap();
            snapshot
                .1
                .insert(record["fn"].as_str().unwrap_or_default().to_owned());
        }
    }
    assert_eq!(held.keys().collect::<Vec<_>>(), [&0, &1]);
    assert_eq!([held[&0].0, held[&1].0], [132_804, 200]);
    let mut browser = Browser::start(1300, 900);
    show(&mut browser, &[file], b"");
    go(&mut browser, "#view=table");
    let main = "(({event, total, snapshot}) => [event, total, snapshot ?? null])(document.querySelector('main').dataset)";
    let functions = "Array.from(new Set(rows().map((row) => row.dataset.fn))).sort()";
    let allocated = browser.evaluate(functions);
    assert_eq!(
        browser.evaluate(main),
        json!(["total_bytes", "175733", null])
    );
    assert_eq!(
        browser.evaluate("grid().getAttribute('aria-rowcount')"),
        "14"
    );
    go(&mut browser, "#view=memory");
    browser.click_on("all('[role=option]', pane('memory'))[1]");
    assert_eq!(browser.evaluate(main), json!(["bytes", "200", "1"]));
    go(&mut browser, "#view=flame&snapshot=1");
    assert_eq!(browser.evaluate(main), json!(["bytes", "200", "1"]));
    assert_eq!(browser.evaluate("items('flame')[0][3]"), 200);
    for (snapshot, (bytes, names)) in &held {
        go(&mut browser, &format!("#view=table&snapshot={snapshot}"));
        assert_eq!(
            browser.evaluate("rows().reduce((sum, row) => sum + Number(row.dataset.self), 0)"),
            *bytes
        );
        assert_eq!(browser.evaluate(functions), json!(names));
    }
    // Two snapshots can be compared, but another event has no comparison.
    go(&mut browser, "#view=table&snapshot=1&base=0");
    assert_eq!(
        browser.evaluate("rows().reduce((sum, row) => sum + Number(row.dataset.old), 0)"),
        132_804
    );
    browser.evaluate("(() => { const event = document.querySelector('select[aria-label=Event]'); event.value = 'total_bytes'; event.dispatchEvent(new Event('change')); })()");
    browser.wait_for(IS_READY);
    assert_eq!(
        browser.evaluate(main),
        json!(["total_bytes", "175733", null])
    );
    assert_eq!(browser.evaluate(functions), allocated);
    assert_eq!(browser.evaluate("'base' in hashFields()"), false);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn flame_graph_can_follow_time_if_times_are_known() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    // perf lists the innermost frame first. The samples are `a`, `b` twice and `a`, with the periods 5, 1, 1 and 3.
    let sample = |time: &str, period: u32, inner: &str| {
        format!(
            "prog 7/7 {time}: {period} cycles: \n\t4010 {inner}+0x1 (/tmp/prog)\n\t4020 main+0x2 (/tmp/prog)\n\n"
        )
    };
    let text = [
        sample("1.000000", 5, "a"),
        sample("1.000002", 1, "b"),
        sample("1.000003", 1, "b"),
        sample("1.000009", 3, "a"),
    ]
    .concat();
    let file = folder.path().join("perf.txt");
    std::fs::write(&file, &text).unwrap();
    let file = file.to_str().unwrap();
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &[file], b"");
    let drawn =
        "items('flame').map(([level, fn, x, incl]) => `${level} ${fn} ${x} ${incl}`).join(', ')";
    go(&mut browser, "#view=flame&event=cycles");
    assert_eq!(
        browser.evaluate(drawn),
        "1  0 10, 2 main 0 10, 3 a 0 8, 3 b 8 2"
    );
    go(&mut browser, "#view=flame&flame=time&event=cycles");
    assert_eq!(
        browser.evaluate(drawn),
        "1  0 10, 2 main 0 10, 3 a 0 5, 3 b 5 2, 3 a 7 3"
    );
    // A pipe is read only once, without times, so there is no order of time.
    show(&mut browser, &["-"], text.as_bytes());
    go(&mut browser, "#view=flame&flame=time");
    let kinds =
        "Array.from(pane('flame').querySelector('select').options, (option) => option.value)";
    let kinds = texts(&browser.evaluate(kinds));
    assert!(kinds.len() > 3 && !kinds.iter().any(|kind| kind == "time"));
    assert_eq!(browser.errors, Vec::<String>::new());
}
