//! The table of a page in a real browser: its order, columns and groups, and the time for each action.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::browser::Browser;
use tests::pages::{csv, go, open, page, show, show_diff, texts};
use tests::tools;

/// The maximum number of nodes of a page. More nodes make a page slow.
const MOST_NODES: u64 = 3000;

#[test]
fn table_has_every_row_in_cost_order_and_can_be_sorted_and_searched() {
    needs!("browser");
    let file = "pair/before.callgrind.out";
    let mut browser = Browser::start(1200, 900);
    show(&mut browser, &[file], b"");
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

    // Sort by name, then in reverse. Back undoes the last sort.
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

    // Search, go to the first and the next match, and end the search.
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
    assert_eq!(browser.evaluate("hashFields().fn"), hits[1]);
    browser.press("Escape", 27);
    assert_eq!(browser.evaluate(count), names.len());

    // Addresses with unknown values cause no errors.
    go(
        &mut browser,
        "#view=none&event=x&fn=nothing&sort=y&whose=z&flame=w&snapshot=9&q&%",
    );
    assert_eq!(shown(&mut browser, "self")[0], counts[0]);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn page_of_10_000_functions_has_few_nodes_and_exact_counts() {
    needs!("browser");
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":0}}\n",
    );
    let count = |number: u64| (1 << 60) + number * number;
    for number in 0..10_000_u64 {
        let file = format!("/home/dev/server/src/storage/table_{}.rs", number % 700);
        let name = format!("server::storage::Table<alloc::vec::Vec<Row>>::insert_{number}");
        // The first 15 costs exceed the exact range of a double, but the total is less than 2^64.
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
    // Go to a row far down. `insert_500` costs 500; 9,499 others and the 15 expensive ones cost more.
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
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn chosen_columns_always_include_the_function_and_the_sort_column() {
    needs!("browser");
    let file = "callgrind/3.14.0-rec_sep.callgrind.out";
    let mut browser = Browser::start(1200, 900);
    let path = show(&mut browser, &[file], b"");
    let shown = "all('[role=columnheader]').map((head) => head.dataset.column).join()";
    let usual = browser.evaluate(shown);
    // All functions are in one object, so there is no column for it.
    assert_eq!(usual, "self,incl,calls,fn,whose,file");
    let boxes = "all('details.columns input').map((box) => [box.value, box.checked, box.disabled])";
    browser.click_on("document.querySelector('details.columns summary')");
    let listed = browser.evaluate(boxes);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 7, "{listed:?}");
    let locked = listed.iter().filter(|one| one[2] == true);
    let locked: Vec<&Value> = locked.map(|one| &one[0]).collect();
    assert_eq!(locked, ["self", "fn"]);
    let choose = |column: &str| format!("document.querySelector('.columns input[value={column}]')");
    browser.click_on(&choose("whose"));
    browser.evaluate(&format!("{}.focus()", choose("file")));
    browser.press(" ", 32);
    assert_eq!(browser.evaluate(shown), "self,incl,calls,fn");
    assert_eq!(browser.evaluate("hashFields().cols"), "self,incl,calls,fn");
    assert_eq!(
        browser.evaluate("document.activeElement.value"),
        "file",
        "the focus stays"
    );
    browser.evaluate("history.back()");
    browser.wait_for(&format!("{shown} === 'self,incl,calls,fn,file'"));
    browser.press("Escape", 27);
    assert_eq!(
        browser.evaluate("document.querySelector('details.columns').open"),
        false
    );

    // Unknown columns are ignored. The function and the sorted column always stay.
    for (hash, expected) in [
        ("#view=table&cols=none,%25zz", usual.as_str().unwrap()),
        ("#view=table&cols=obj,none", "self,fn,obj"),
        ("#view=table&cols=obj&sort=-calls", "calls,fn,obj"),
        ("#view=table", usual.as_str().unwrap()),
    ] {
        go(&mut browser, hash);
        assert_eq!(browser.evaluate(shown), expected, "{hash}");
        let sorted = browser.evaluate("all('[role=columnheader][aria-sort]').length");
        assert_eq!(sorted, 1, "{hash}");
    }
    // A narrow window shows the chosen columns; by default, only the cost and the name.
    browser.send_command(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}),
    );
    open(&mut browser, &path);
    go(&mut browser, "#view=table");
    assert_eq!(browser.evaluate(shown), "self,fn");
    go(&mut browser, "#view=table&cols=self,calls,fn,file");
    assert_eq!(browser.evaluate(shown), "self,calls,fn,file");
    assert_eq!(
        browser.evaluate("document.documentElement.scrollWidth <= 390"),
        true
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Writes a page of 10,000 functions in 700 files, with four events.
fn large_page(folder: &TempDir) -> std::path::PathBuf {
    const EVENTS: [&str; 4] = ["Ir", "Dr", "Dw", "L1"];
    let mut stream = json!({"stream": 1, "tool": "callgrind", "events": EVENTS}).to_string();
    stream = format!("{{\"type\":\"run\",{}\n", &stream[1..]);
    for number in 0..10_000_u64 {
        // Steps without common factors give each event a different order.
        let cost = |step: u64| number * step % 10_007;
        let cost =
            json!({"Ir": 10_007 - number, "Dr": cost(7919), "Dw": cost(4801), "L1": cost(2909)});
        let (file, class) = (number % 700, number % 97);
        let name = format!("server_{class}::storage::Table<alloc::vec::Vec<Row>>::insert_{number}");
        let file = format!("/home/dev/server/src/storage/table_{file}.rs");
        let record = json!({"fn": name, "file": file, "calls": number, "cost": cost}).to_string();
        stream.push_str(&format!("{{\"type\":\"fn\",{}\n", &record[1..]));
    }
    stream.push_str("{\"type\":\"end\",\"records\":10000}\n");
    page(folder, "cg-fmt", &["-f", "html", "-"], stream.as_bytes())
}

#[test]
fn every_action_on_10_000_functions_is_fast() {
    needs!("browser");
    const MOST: f64 = 100.0;
    let folder = tempfile::tempdir().unwrap();
    let path = large_page(&folder);
    let mut browser = Browser::start(1300, 900);
    browser.time_threads();
    open(&mut browser, &path);
    let choose = |name: &str, values: &str| {
        format!(
            "const one = document.querySelector('[aria-label=\"{name}\"]'); \
             one.value = [{values}][time % 2]; one.dispatchEvent(new Event('change'));"
        )
    };
    let event = choose("Event", "'Dr', 'L1'");
    let sort =
        "document.querySelector(`[data-column=${['fn', 'file'][time % 2]}] button`).click();"
            .to_owned();
    let search = "const one = document.querySelector('input[type=search]'); one.value = `insert_${time}`; one.dispatchEvent(new Event('input'));".to_owned();
    let group = choose("Group by", "'crate', 'file'");
    let unfold = "document.querySelectorAll('[data-group]')[0].click();".to_owned();
    let all = "const one = document.querySelector('input[type=search]'); one.value = ''; one.dispatchEvent(new Event('input'));".to_owned();
    // The time of a plain sort calibrates the limit for this machine.
    let plain = "const all = Array.from({length: 10000}, (_, at) => at * 7919 % 10007); all.sort((a, b) => a - b);";
    let plain = browser.main_thread(plain);
    for (what, action) in [
        ("event", &event),
        ("sort", &sort),
        ("search", &search),
        ("back to all", &all),
        ("group", &group),
        ("event in groups", &event),
        ("unfold", &unfold),
    ] {
        let taken = browser.main_thread(action);
        assert!(
            taken <= MOST.max(8.0 * plain),
            "{what}: {taken} ms, a plain sort {plain} ms"
        );
        let nodes = browser.evaluate("nodes()").as_u64().unwrap();
        assert!(nodes <= MOST_NODES, "{what}: {nodes}");
    }
    // Check the effects of the timed actions.
    assert_eq!(
        browser.evaluate("document.querySelectorAll('[data-group][aria-expanded=true]').length"),
        1
    );
    assert_eq!(
        browser.evaluate("[hashFields().event, hashFields().group]"),
        json!(["Dr", "crate"])
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Returns the figures of each group from cg-fmt's CSV: the self cost, or old, new and delta of a diff. Omits groups with
/// only inclusive cost, which are not in a page.
fn written_groups(by: &str, input: &str, stream: &[u8]) -> BTreeMap<String, Vec<String>> {
    let written = tools::stdout(
        "cg-fmt",
        &["-q", "-f", "csv", "--group-by", by, input],
        stream,
    );
    let mut reader = csv::Reader::from_reader(&written[..]);
    let heads = reader.headers().unwrap().clone();
    let at = |ending: &str| heads.iter().position(|head| head.ends_with(ending));
    let figures: Vec<usize> = match at(".old") {
        Some(old) => vec![old, at(".new").unwrap(), at(".delta").unwrap()],
        None => vec![0],
    };
    let name = at(by).or_else(|| at("fn")).unwrap();
    let rows = reader.records().map(|row| row.unwrap());
    // A group without a name has an empty name in CSV and `???` in a page.
    let named = |name: &str| {
        if name.is_empty() {
            "???".to_owned()
        } else {
            name.to_owned()
        }
    };
    let groups = rows.map(|row| {
        let figures = figures.iter().map(|at| row[*at].to_owned()).collect();
        (named(&row[name]), figures)
    });
    groups.filter(|(_, figures)| figures != &["0"]).collect()
}

#[test]
fn groups_and_sums_agree_with_the_command_line() {
    needs!("browser");
    let pair = ["pair/before.callgrind.out", "pair/after.callgrind.out"];
    let diff = tools::stdout("cg-diff", &pair, b"");
    let mut browser = Browser::start(1300, 8000);
    let mut compared = 0;
    for (input, stream) in [
        (pair[0], &b""[..]),
        ("-", &diff),
        ("perf/6.1-busy_dwarf_srcline.perf.txt", b""),
        ("massif/3.19.0-heapy_i.massif.out", b""),
        ("dhat/3.19.0-inl.dhat.json", b""),
    ] {
        show(&mut browser, &[input], stream);
        let offered = texts(&browser.evaluate(
            "all('[aria-label=\"Group by\"] option').map((option) => option.value).filter((by) => by && by !== 'whose')",
        ));
        assert!(
            offered.contains(&"crate".to_owned()),
            "{input}: {offered:?}"
        );
        for by in offered {
            go(&mut browser, &format!("#view=table&group={by}"));
            let figures = match input {
                "-" => "[one.dataset.old, one.dataset.new, one.dataset.delta]",
                _ => "[one.dataset.self]",
            };
            let shown = browser.evaluate(&format!(
                "Object.fromEntries(all('[data-group]').map((one) => [one.dataset.group, {figures}]).filter(([, figures]) => figures.join() !== '0'))"
            ));
            let shown: BTreeMap<String, Vec<String>> = serde_json::from_value(shown).unwrap();
            assert_eq!(shown, written_groups(&by, input, stream), "{input} {by}");
            compared += shown.len();
            if input != "-" {
                let sum = "String(all('[data-group]').reduce((sum, one) => sum + Number(one.dataset.self), 0))";
                let total = "document.querySelector('main').dataset.total";
                assert_eq!(
                    browser.evaluate(sum),
                    browser.evaluate(total),
                    "{input} {by}"
                );
            }
        }
    }
    assert!(compared > 60, "{compared}");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn groups_unfold_by_keys_and_for_the_selection() {
    needs!("browser");
    let file = "pair/before.callgrind.out";
    let mut browser = Browser::start(1300, 900);
    show(&mut browser, &[file], b"");
    assert_eq!(browser.evaluate("grid().getAttribute('role')"), "grid");
    browser.evaluate("(() => { const by = document.querySelector('[aria-label=\"Group by\"]'); by.value = 'crate'; by.dispatchEvent(new Event('change')); })()");
    assert_eq!(browser.evaluate("hashFields().group"), "crate");
    let grid = "document.querySelector('[role=treegrid]')";
    let state = format!(
        "all('[role=row][aria-level]', {grid}).map((row) => [row.getAttribute('aria-level'), row.getAttribute('aria-expanded'), \
         row.getAttribute('aria-posinset'), row.getAttribute('aria-setsize'), row.getAttribute('aria-rowindex')].join(' '))"
    );
    let folded = texts(&browser.evaluate(&state));
    let count = folded.len();
    assert_eq!(folded[0], format!("1 false 1 {count} 2"));
    assert_eq!(
        browser.evaluate(&format!("{grid}.getAttribute('aria-rowcount')")),
        (count + 1).to_string()
    );
    // Sorted by name, the first group has few functions.
    go(&mut browser, "#view=table&group=crate&sort=fn");
    browser.evaluate(&format!("{grid}.focus()"));
    browser.press("Home", 36);
    browser.press("ArrowRight", 39);
    let first = browser.evaluate("(({dataset}) => [Number(dataset.rows), dataset.self])(document.querySelector('[data-group]'))");
    let members = first[0].as_u64().unwrap() as usize;
    assert!(members > 1 && members < 30, "{first}");
    let opened = texts(&browser.evaluate(&state));
    assert_eq!(opened.len().min(count + members), opened.len());
    assert_eq!(opened[0], format!("1 true 1 {count} 2"));
    let label = browser.evaluate("document.querySelector('[data-group]').dataset.group");
    assert_eq!(browser.evaluate("hashFields().open"), label);
    assert_eq!(
        opened[members],
        format!("2  {members} {members} {}", members + 2)
    );
    assert_eq!(
        browser.evaluate("String(all('[aria-level=\"2\"]').reduce((sum, row) => sum + Number(row.dataset.self), 0))"),
        first[1]
    );
    browser.press("ArrowRight", 39);
    let selected = browser.evaluate("all('[aria-level=\"2\"]')[0].dataset.fn");
    assert_eq!(browser.evaluate("hashFields().fn"), selected);
    browser.press("ArrowLeft", 37);
    let active = format!("document.getElementById({grid}.getAttribute('aria-activedescendant'))");
    assert_eq!(
        browser.evaluate(&format!("{active}.dataset.group !== undefined")),
        true
    );
    browser.press("ArrowLeft", 37);
    assert_eq!(texts(&browser.evaluate(&state)).len(), count);
    browser.press("Enter", 13);
    browser.click_on("document.querySelector('[data-group]')");
    assert_eq!(texts(&browser.evaluate(&state)).len(), count);

    // Selecting a function elsewhere unfolds its group. A search keeps only groups with matches.
    go(
        &mut browser,
        "#view=table&group=crate&fn=wordcount%3A%3Anormalise",
    );
    assert_eq!(
        browser.evaluate(
            "all('[aria-level][aria-selected=true]').map((row) => row.dataset.fn).join()"
        ),
        "wordcount::normalise"
    );
    go(&mut browser, "#view=table&group=file&q=malloc");
    assert_eq!(
        browser.evaluate(
            "all('[data-group]').reduce((sum, one) => sum + Number(one.dataset.rows), 0)"
        ),
        browser.evaluate("Number(document.querySelector('[role=status]').dataset.matches)")
    );
    go(&mut browser, "#view=table&group=none");
    assert_eq!(browser.evaluate("grid().getAttribute('role')"), "grid");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn findings_in_groups_are_counted_not_summed() {
    needs!("browser");
    let mut browser = Browser::start(1300, 2000);
    show(&mut browser, &["memcheck/3.27.1-leaky.xml"], b"");
    // A row may stand for several records of one stack.
    let found = "all('[data-kind][data-records]').filter((one) => one.matches('li')).reduce((sum, one) => sum + Number(one.dataset.records), 0)";
    let found = browser.evaluate(found);
    go(&mut browser, "#view=table&group=file");
    let shown = "all('[data-group]').map((one) => Array.from(one.children, (cell) => cell.textContent).filter(Boolean).join('|'))";
    let shown = texts(&browser.evaluate(shown));
    assert!(
        !shown.is_empty()
            && shown
                .iter()
                .all(|cells| cells.contains(" finding") && !cells.contains('|')),
        "{shown:?}"
    );
    assert_eq!(
        browser.evaluate(
            "all('[data-group]').reduce((sum, one) => sum + Number(one.dataset.self), 0)"
        ),
        found
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Writes a profile of Callgrind with the cost of each function.
fn write_costs(path: &std::path::Path, costs: &[(&str, u64)]) {
    let functions = costs.iter().zip(1..);
    let functions = functions.map(|((name, cost), line)| format!("fn={name}\n{line} {cost}\n"));
    let functions: String = functions.collect();
    std::fs::write(path, format!("events: Ir\nfl=work.c\n{functions}")).unwrap();
}

#[test]
fn differences_begin_with_the_row_that_changed_most() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (run, a, b) in [("old", [100, 50], [100, 40]), ("new", [110, 50], [400, 39])] {
        std::fs::create_dir(at(run)).unwrap();
        let path = |bench: &str| folder.path().join(run).join(bench);
        write_costs(&path("a.out"), &[("x", a[0]), ("same", a[1])]);
        write_costs(&path("b.out"), &[("z", b[0]), ("w", b[1])]);
    }
    // `f` changes most between the first two runs, and least from the first run to the last one.
    for (run, costs) in [("1", [10, 10, 7]), ("2", [50, 10, 7]), ("3", [12, 15, 4])] {
        let costs = [("f", costs[0]), ("g", costs[1]), ("h", costs[2])];
        write_costs(&folder.path().join(run), &costs);
    }
    let mut browser = Browser::start(1300, 900);
    for (inputs, column, expected, by_old) in [
        (
            &["old", "new"][..],
            "delta",
            ["z 300", "x 10", "w -1"],
            "z x w",
        ),
        (
            &["1", "2", "3"][..],
            "spread",
            ["f 2", "g 5", "h -3"],
            "f g h",
        ),
    ] {
        let inputs: Vec<String> = inputs.iter().map(|input| at(input)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let page = show_diff(&mut browser, &inputs);
        let rows = texts(
            &browser.evaluate("rows().map((row) => `${row.dataset.fn} ${row.dataset.delta}`)"),
        );
        assert_eq!(rows, expected);
        let sorted = "document.querySelector('[aria-sort=descending]').dataset.column";
        assert_eq!(browser.evaluate(sorted), column);
        let lead = browser.evaluate("document.querySelector('.lead').textContent");
        let most = ["; z of b changed most, +300", "; f changed most, by 40"];
        assert!(
            most.iter()
                .any(|most| lead.as_str().unwrap().contains(most)),
            "{lead}"
        );
        // The table for browsers without scripts has the same order.
        let page = std::fs::read_to_string(page).unwrap();
        let table = page.split("<noscript>").nth(1).unwrap();
        let places = expected.map(|row| table.find(&format!(">{}<", &row[..1])).unwrap());
        assert!(places.is_sorted(), "{places:?}");
        // A head sorts the rows of all benchmarks.
        let old =
            "document.querySelector('[data-column=old] button,[data-column=\"run.1\"] button')";
        browser.click_on(old);
        let rows = browser.evaluate("rows().map((row) => row.dataset.fn).join(' ')");
        assert_eq!(rows, by_old);
    }
}

#[test]
fn functions_that_are_named_by_address_have_their_object() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let paths = [("old", 100), ("new", 300)].map(|(name, cost)| {
        let path = folder.path().join(name);
        let costs = format!(
            "events: Ir\nob=/opt/bin/git\nfl=???\nfn=0x2a1da0\n0 {cost}\nob=/opt/lib/libz.so.1\nfn=0xaa60\n0 7{cost}\nfn=inflate\n0 {cost}\n"
        );
        std::fs::write(&path, costs).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let [old, new] = &paths;
    let diff = tools::run("cg-diff", &[old, new], b"");
    let report = tools::run("cg-fmt", &["--width", "100"], &diff.stdout);
    let csv = tools::run("cg-fmt", &["-f", "csv"], &diff.stdout);
    let (report, csv) = (report.text(), csv.text());
    for (name, object) in [("0x2a1da0", "git"), ("0xaa60", "libz.so.1")] {
        assert!(
            report.contains(&format!("{name} (in {object})")),
            "{report}"
        );
        assert!(csv.contains(&format!(",{name},")), "{csv}");
    }
    assert!(!report.contains("inflate (in"), "{report}");

    let mut browser = Browser::start(900, 900);
    show_diff(&mut browser, &[old, new]);
    let names = browser.evaluate("rows().map((row) => row.querySelector('.name').textContent)");
    assert_eq!(
        texts(&names),
        ["0x2a1da0 git", "0xaa60 libz.so.1", "inflate"]
    );
}
