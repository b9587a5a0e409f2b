//! Pages in a real browser: it loads them from a file, sorts, searches, clicks a frame, and has nothing to complain of.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::PathBuf;

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::browser::Browser;
use tests::tools;

/// What a tool writes, as a file.
fn page(folder: &TempDir, tool: &str, args: &[&str], input: &[u8]) -> PathBuf {
    let run = tools::run(tool, args, input);
    assert!(run.status < 2, "{args:?}: {}", run.stderr);
    let path = folder.path().join("page.html");
    std::fs::write(&path, &run.stdout).unwrap();
    path
}

/// The texts of a column of the largest table, of the rows that are seen.
fn column(number: usize) -> String {
    format!(
        "Array.from(largest().tBodies[0].rows).filter((row) => !row.hidden).map((row) => row.cells[{number}].textContent)"
    )
}

/// The table with the most rows, by a function of the test's own.
const LARGEST: &str = "globalThis.largest = () => Array.from(document.querySelectorAll('table')).reduce((a, b) => \
                       a.tBodies[0].rows.length >= b.tBodies[0].rows.length ? a : b); 0";

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

#[test]
fn a_page_has_every_row_and_sorts_and_searches_them() {
    needs!("browser");
    let file = "pair/before.callgrind.out";
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", file], b"");
    let mut browser = Browser::start(1200, 900);
    browser.open(&path);
    browser.evaluate(LARGEST);

    let counts: Vec<String> = csv("Ir", file);
    let shown = |browser: &mut Browser, number| texts(&browser.evaluate(&column(number)));
    let plain = |texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| text.replace(',', "")).collect()
    };
    let first = shown(&mut browser, 0);
    let code = shown(&mut browser, 8);
    let mut sorted = plain(&first);
    sorted.sort_by_key(|count| std::cmp::Reverse(count.parse::<u64>().unwrap()));
    assert_eq!(sorted, counts);
    // Own code first, and by cost within it.
    let own = code.iter().take_while(|code| *code == "own").count();
    assert!(
        own > 0 && !code[own..].contains(&"own".to_owned()),
        "{code:?}"
    );
    assert_eq!(first[0], "1,296,679");

    browser.click_on("largest().tHead.rows[0].cells[0].querySelector('button')");
    assert_eq!(plain(&shown(&mut browser, 0)), counts);
    browser.click_on("largest().tHead.rows[0].cells[0].querySelector('button')");
    let mut ascending = counts.clone();
    ascending.reverse();
    assert_eq!(plain(&shown(&mut browser, 0)), ascending);
    browser.click_on("largest().tHead.rows[0].cells[5].querySelector('button')");
    let mut names = csv("fn", file);
    names.sort();
    assert_eq!(shown(&mut browser, 5), names);

    // A path of which a part is shown is said in full where the pointer is, and found by what is not shown.
    let files = csv("file", file);
    for mark in ["cell.hasAttribute('d')", "cell.querySelector('i')"] {
        let cell = format!("Array.from(largest().querySelectorAll('td')).find((cell) => {mark})");
        let said = texts(&browser.evaluate(&format!(
            "(() => {{ const cell = {cell}; \
             cell.dispatchEvent(new MouseEvent('mouseover', {{bubbles: true}})); \
             return [cell.title, getComputedStyle(cell, '::before').content, cell.textContent]; }})()"
        )));
        assert!(files.contains(&said[0]), "{said:?}");
        assert!(said[0].ends_with(&said[2]), "{said:?}");
    }
    browser.evaluate(
        "(() => { const input = document.getElementById('search'); \
         input.value = document.querySelector('.paths[data-column] code').textContent; \
         input.dispatchEvent(new Event('input')); })()",
    );
    browser.wait_for(
        "(() => { const rows = Array.from(largest().tBodies[0].rows); \
         return rows.some((row) => row.hidden) && rows.every((row) => !row.hidden || !row.querySelector('[d=\"0\"]')) \
           && rows.some((row) => row.querySelector('[d=\"0\"]')); })()",
    );

    browser.evaluate(
        "(() => { const input = document.getElementById('search'); \
         input.value = ''; input.dispatchEvent(new Event('input')); })()",
    );
    browser.wait_for("document.getElementById('found').textContent === ''");

    // The key that begins a search, words, and what is left of the rows.
    browser.press("/", 191);
    browser.write("MALLOC");
    browser.wait_for("document.getElementById('found').textContent !== ''");
    let found: Vec<String> = shown(&mut browser, 5);
    let files = shown(&mut browser, 6);
    let matches = |(name, file): (&String, &String)| {
        format!("{name}{file}").to_lowercase().contains("malloc")
    };
    assert!(found.len() > 3 && found.len() < names.len());
    assert!(found.iter().zip(&files).all(matches), "{found:?}");
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn a_click_on_a_frame_and_a_key_zoom_the_flame_graph() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = page(
        &folder,
        "cg-fmt",
        &["-f", "html", "pair/before.callgrind.out"],
        b"",
    );
    let mut browser = Browser::start(1200, 900);
    browser.open(&path);
    browser.evaluate("document.querySelector('iframe').scrollIntoView({block: 'start'})");
    let total =
        "Array.from(frames.children).map(g_to_text).find((text) => text.startsWith('all '))";
    assert_eq!(
        browser.evaluate_in_frame("#frames", total),
        "all (6,115,676 Ir, 100%)"
    );
    let frame =
        "Array.from(frames.children).find((g) => g_to_text(g).startsWith('wordcount::normalise '))";
    let width = format!("{frame}.querySelector('rect').getAttribute('width')");
    assert_ne!(browser.evaluate_in_frame("#frames", &width), "100.0%");
    let inside = browser.evaluate_in_frame(
        "#frames",
        &format!("(() => {{ const box = {frame}.getBoundingClientRect(); return [box.x + 20, box.y + 5]; }})()"),
    );
    let outside = browser.evaluate(
        "(() => { const box = document.querySelector('iframe').getBoundingClientRect(); return [box.x + 1, box.y + 1]; })()",
    );
    let place = |axis: usize| inside[axis].as_f64().unwrap() + outside[axis].as_f64().unwrap();
    let is_wide = format!("parseFloat({width}) === 100");
    let is_narrow = format!("parseFloat({width}) < 100");
    let (x, y) = (place(0), place(1));
    browser.act_until(|browser| browser.click(x, y), "#frames", &is_wide);

    // The same by keys alone.
    let escape = |browser: &mut Browser| browser.press("Escape", 27);
    browser.act_until(escape, "#frames", &is_narrow);
    browser.evaluate_in_frame("#frames", &format!("{frame}.focus()"));
    browser.act_until(|browser| browser.press("Enter", 13), "#frames", &is_wide);
    browser.press("ArrowDown", 40);
    let is_below = "g_to_text(document.activeElement).startsWith('wordcount::count_words ')";
    browser.act_until(|_| {}, "#frames", is_below);

    // A tree folds.
    let open = "document.querySelector('.tree details').open";
    let was = browser.evaluate(open);
    browser.click_on("document.querySelector('.tree summary .name')");
    assert_eq!(browser.evaluate(open), !was.as_bool().unwrap());
}

#[test]
fn pages_are_light_and_dark_and_print() {
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
        browser.open(&path);
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
}

/// Names that would be markup, scripts or the end of what they are in.
const HOSTILE: [&str; 4] = [
    "<img src=x onerror=\"globalThis.hit=1\">",
    "</script><script>globalThis.hit=1</script>",
    "</iframe>'\"><svg onload=globalThis.hit=1>&lt;b&gt;",
    "</title></textarea></style>{{alert(1)}}",
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
    browser.open(&path);
    browser.evaluate(LARGEST);
    let names = browser.evaluate(
        "Array.from(largest().querySelectorAll('tbody tr'), (row) => Array.from(row.cells, (cell) => cell.textContent)).flat()",
    );
    let names = texts(&names);
    for name in HOSTILE {
        assert!(names.iter().any(|text| text == name), "{name}: {names:?}");
    }
    let hit = "typeof globalThis.hit";
    assert_eq!(browser.evaluate(hit), "undefined");
    assert_eq!(browser.evaluate_in_frame("#frames", hit), "undefined");
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
fn a_page_of_10_000_functions_is_below_2_mb_and_sorts() {
    needs!("browser");
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[\"Ir\"],\"total\":{\"Ir\":0}}\n",
    );
    for number in 0..10_000_u64 {
        let (kind, file, object) = match number % 5 {
            0..3 => (
                "server::storage::Table<alloc::vec::Vec<core::option::Option<Row>>>::insert_sorted",
                format!("/home/dev/server/src/storage/table_{}.rs", number % 700),
                "/home/dev/server/target/release/server",
            ),
            3 => (
                "std::__detail::_Map_base<int, std::pair<const int, Row>, std::allocator<char> >::at",
                "/usr/include/c++/12/bits/hashtable_policy.h".to_owned(),
                "/home/dev/server/target/release/server",
            ),
            _ => (
                "_IO_file_xsgetn",
                "./libio/fileops.c".to_owned(),
                "/usr/lib/x86_64-linux-gnu/libc.so.6",
            ),
        };
        let cost = number * number % 1_000_003;
        stream.push_str(&format!(
            "{{\"type\":\"fn\",\"fn\":\"{kind}_{number}\",\"file\":\"{file}\",\"obj\":\"{object}\",\"calls\":{number},\"cost\":{{\"Ir\":{cost}}},\"incl\":{{\"Ir\":{}}}}}\n",
            cost * 3
        ));
    }
    stream.push_str("{\"type\":\"end\",\"records\":10000}\n");
    let folder = tempfile::tempdir().unwrap();
    let path = page(&folder, "cg-fmt", &["-f", "html", "-"], stream.as_bytes());
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 2_000_000, "{size}");
    let mut browser = Browser::start(1200, 900);
    browser.open(&path);
    browser.evaluate(LARGEST);
    assert_eq!(browser.evaluate("largest().tBodies[0].rows.length"), 10_000);
    browser.click_on("largest().tHead.rows[0].cells[0].querySelector('button')");
    let counts: Vec<u64> = texts(&browser.evaluate(&column(0)))
        .iter()
        .map(|count| count.replace(',', "").parse().unwrap())
        .collect();
    assert!(counts.is_sorted_by(|a, b| a >= b));
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
    browser.wait_for("document.getElementById('found').textContent === '1 match'");
    browser.click_on("document.querySelector('details.fold:not([hidden]) summary')");
    let stack = browser.evaluate("document.querySelector('details.fold[open] pre').textContent");
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
