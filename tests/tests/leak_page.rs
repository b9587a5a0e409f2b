//! The page of leak-check in a real browser: search, filters, links, and the source around the lines of frames.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::browser::Browser;
use tests::tools;

/// Returns a frame of a stream.
fn frame(name: &str, place: Option<(&str, u64)>) -> Value {
    match place {
        Some((file, line)) => json!({"fn": name, "file": file, "line": line}),
        None => json!({"fn": name, "obj": "/usr/libexec/valgrind/vgpreload.so"}),
    }
}

fn leak(kind: &str, bytes: u64, stack: &[Value]) -> String {
    let record = json!({"kind": kind, "cost": {"bytes": bytes, "blocks": 1}, "indirect_bytes": 0, "stack": stack});
    record.to_string().replacen('{', "{\"type\":\"leak\",", 1)
}

/// Returns the stream of a process.
fn process(pid: u64, records: &[String]) -> String {
    let end = records.len();
    let run = format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"memcheck\",\"command\":\"./prog\",\"pid\":{pid},\"source\":[\"prog.xml\"],\"events\":[],\"total\":{{}},\"complete\":true,\"all_heap_blocks_freed\":true}}\n"
    );
    run + &records.join("\n") + &format!("\n{{\"type\":\"end\",\"records\":{end}}}\n")
}

/// Returns the streams of two processes. `make` leaks in both. In the second, `grow` possibly leaks, and the memory of
/// `keep` is still reachable, which does not count.
fn two_processes() -> String {
    let malloc = || frame("malloc", None);
    let main = |line| frame("main", Some(("src/main.c", line)));
    let make = leak(
        "definite",
        64,
        &[malloc(), frame("make", Some(("src/a.c", 10))), main(5)],
    );
    let grow = leak(
        "possible",
        16,
        &[malloc(), frame("grow", Some(("src/a.c", 12))), main(6)],
    );
    let keep = leak(
        "reachable",
        8,
        &[malloc(), frame("keep", Some(("src/gone.c", 3))), main(7)],
    );
    process(7, std::slice::from_ref(&make)) + &process(8, &[make, grow, keep])
}

/// Creates a folder with the source of `src/a.c`.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    let lines: Vec<String> = (1..=30).map(|line| format!("\tint of_{line};")).collect();
    std::fs::write(folder.path().join("src/a.c"), lines.join("\n")).unwrap();
    folder
}

/// Writes the page of a stream with sources below the folder.
fn page(folder: &TempDir, stream: &str, args: &[&str]) -> PathBuf {
    let root = folder.path().to_str().unwrap();
    let all = [&["-f", "html", "--root", root][..], args].concat();
    let run = tools::run("leak-check", &all, stream.as_bytes());
    assert_eq!(run.status, 1, "{}", run.stderr);
    let path = folder.path().join("page.html");
    std::fs::write(&path, &run.stdout).unwrap();
    path
}

/// Script functions for the tests, which return visible content.
const SEEN: &str = r"
globalThis.all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
globalThis.folds = () => all('details.finding').filter((fold) => fold.checkVisibility());
globalThis.named = () => folds().map((fold) => fold.querySelector('summary').textContent.split(' ')[0]).join(' ');
globalThis.matches = () => Number(document.querySelector('[role=status]').dataset.matches);
globalThis.chip = (key, word) => all(`.chip[data-${key}]`).find((chip) => chip.dataset[key] === word);
globalThis.chips = (key) => Object.fromEntries(all(`.chip[data-${key}]`).map((chip) => [chip.dataset[key], Number(chip.dataset.count)]));
// The address that the page has followed. The page's own listener runs before this one.
globalThis.followed = location.hash;
addEventListener('hashchange', () => { followed = location.hash; });
0";

const IS_READY: &str = "document.querySelector('main').getAttribute('aria-busy') === 'false' && 'matches' in document.querySelector('[role=status]').dataset";

fn open(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.wait_for(IS_READY);
    browser.evaluate(SEEN);
}

/// Evaluates an expression and converts the result to text.
fn text(browser: &mut Browser, expression: &str) -> String {
    let value = browser.evaluate(&format!("String({expression})"));
    value.as_str().unwrap().to_owned()
}

#[test]
fn search_filters_findings_and_is_in_the_address() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &two_processes(), &[]);
    let mut browser = Browser::start(1000, 900);
    open(&mut browser, &path);
    assert_eq!(text(&mut browser, "named()"), "make grow keep");
    assert_eq!(browser.evaluate("matches()"), 4);
    // Names of functions, files and kinds, ignoring case.
    for (words, found, count) in [
        ("GROW", "grow", 1),
        ("a.C", "make grow", 3),
        ("reachable", "keep", 1),
        ("possibly lost", "grow", 1),
        ("of_10", "", 0),
        ("nothing", "", 0),
    ] {
        browser.press("/", 191);
        browser.press("Escape", 27);
        browser.write(words);
        assert_eq!(text(&mut browser, "named()"), found, "{words}");
        assert_eq!(browser.evaluate("matches()"), count, "{words}");
        assert_eq!(
            text(
                &mut browser,
                "new URLSearchParams(location.hash.slice(1)).get('q')"
            ),
            words
        );
    }
    browser.press("Escape", 27);
    assert_eq!(text(&mut browser, "named()"), "make grow keep");
    browser.write("A.c");
    let marks = "all('mark', folds()[0]).map((mark) => mark.textContent).join()";
    assert_eq!(text(&mut browser, marks), "a.c,a.c");
    // Next, next again (which wraps to the first), and previous.
    let current = "all('[aria-current]').map((fold) => fold.id).join()";
    let ids = "folds().map((fold) => fold.id)";
    for (shift, at) in [(false, 0), (false, 1), (false, 0), (true, 1)] {
        match shift {
            true => browser.evaluate("document.querySelector('[aria-label=\"Previous match\"]').click()"),
            false => browser.evaluate("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))"),
        };
        let id = text(&mut browser, &format!("{ids}[{at}]"));
        assert_eq!(text(&mut browser, current), id);
        assert_eq!(
            text(
                &mut browser,
                &format!("document.getElementById('{id}').open")
            ),
            "true"
        );
    }
    // The address opens the same view.
    let address = text(&mut browser, "location.hash");
    let marked = text(&mut browser, current);
    browser.open(&folder.path().join("src/a.c"));
    open(
        &mut browser,
        &PathBuf::from(format!("{}{address}", path.display())),
    );
    assert_eq!(text(&mut browser, "named()"), "make grow");
    assert_eq!(text(&mut browser, current), marked);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn tables_names_and_chips_filter_findings_and_back_undoes_it() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &two_processes(), &[]);
    let mut browser = Browser::start(1000, 900);
    open(&mut browser, &path);
    assert_eq!(
        browser.evaluate("chips('kind')"),
        json!({"definite": 2, "possible": 1, "reachable": 1})
    );
    assert_eq!(
        browser.evaluate("chips('status')"),
        json!({"new": 3, "not_counted": 1})
    );
    browser.click_on("chip('kind', 'definite')");
    assert_eq!(text(&mut browser, "named()"), "make");
    assert_eq!(browser.evaluate("matches()"), 2);
    assert_eq!(
        browser.evaluate("chips('status')"),
        json!({"new": 2, "not_counted": 0})
    );
    browser.click_on("chip('kind', 'reachable')");
    assert_eq!(text(&mut browser, "named()"), "make keep");
    assert_eq!(
        text(
            &mut browser,
            "chip('kind', 'reachable').getAttribute('aria-pressed')"
        ),
        "true"
    );
    browser.evaluate("history.back()");
    browser.wait_for("named() === 'make'");
    browser.evaluate("history.back()");
    browser.wait_for("named() === 'make grow keep'");

    // A count in the table leads to its findings, for one process if it is in the process's row.
    let cells = "all('td[data-filter] a')";
    let count = browser
        .evaluate(&format!("{cells}.length"))
        .as_u64()
        .unwrap();
    assert!(count > 8, "{count}");
    for at in 0..count {
        let cell = format!("{cells}[{at}]");
        let count = text(&mut browser, &format!("{cell}.textContent"));
        browser.click_on(&cell);
        browser.wait_for(&format!("followed === {cell}.hash"));
        if let Ok(count) = count.parse::<u64>() {
            assert_eq!(browser.evaluate("matches()"), count, "{cell}");
        }
    }
    browser.evaluate("location.hash = '#process=1&status=new'");
    browser.wait_for("named() === 'make grow' && matches() === 2");
    browser
        .click_on("all('.chip').find((chip) => chip.textContent.startsWith('./prog, process 8'))");
    browser.wait_for("matches() === 3");

    // A function or a file is a link only if other findings have it too.
    browser.evaluate("location.hash = ''");
    browser.wait_for("matches() === 4");
    let links = "all('.frame a', folds()[0]).map((link) => link.textContent).join()";
    assert_eq!(text(&mut browser, links), "malloc,src/a.c,main,src/main.c");
    browser.click_on("all('.frame a', folds()[0])[1]");
    browser.wait_for("named() === 'make grow'");

    // A finding has its own address, which opens the finding despite the page's filters.
    let id = text(&mut browser, "all('details.finding').at(-1).id");
    assert!(id.starts_with("finding-") && id.len() == 24, "{id}");
    browser.evaluate(&format!("location.hash = '#{id}'"));
    browser.wait_for(&format!("document.getElementById('{id}').open"));
    assert_eq!(text(&mut browser, "named()"), "make grow keep");
    assert_eq!(
        text(&mut browser, "document.querySelector('[aria-current]').id"),
        id
    );
    let in_sight = format!(
        "(() => {{ const box = document.getElementById('{id}').getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight; }})()"
    );
    assert_eq!(text(&mut browser, &in_sight), "true");
    // Addresses with unknown values cause no errors.
    browser.evaluate("location.hash = '#finding-none&kind=%zz&x=1&process=9'");
    browser.wait_for("matches() === 0");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn sources_are_below_frames_with_a_note_if_newer_than_the_log() {
    needs!("browser");
    let folder = project();
    let log = folder.path().join("prog.xml");
    std::fs::write(&log, "").unwrap();
    // The stream's path of the log must be valid in the working directory of the tool.
    let stream = two_processes().replace("\"prog.xml\"", &json!(log).to_string());
    let written = |path: &Path, time: SystemTime| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    };
    let now = SystemTime::now();
    let mut browser = Browser::start(1000, 900);
    for (age, summary) in [
        (Duration::from_secs(60), "source"),
        (
            Duration::ZERO,
            "source, written after the log: its lines may have changed",
        ),
    ] {
        written(&folder.path().join("src/a.c"), now - age);
        written(&log, now - Duration::from_secs(30));
        let path = page(&folder, &stream, &[]);
        open(&mut browser, &path);
        let source = "folds()[0].querySelector('.blamed .source')";
        assert_eq!(text(&mut browser, &format!("{source}.open")), "false");
        assert_eq!(
            text(
                &mut browser,
                &format!("{source}.querySelector('summary').textContent")
            ),
            summary
        );
        assert_eq!(
            text(
                &mut browser,
                &format!("{source}.querySelector('pre').textContent")
            ),
            (7..=13)
                .map(|line| format!(
                    "{} {line:2}      int of_{line};\n",
                    if line == 10 { '>' } else { ' ' }
                ))
                .collect::<String>()
        );
        assert_eq!(
            text(
                &mut browser,
                &format!("all('b', {source}).map((own) => own.textContent.trim()).join()")
            ),
            "> 10      int of_10;"
        );
        assert_eq!(
            text(
                &mut browser,
                "all('.blamed .note').map((note) => note.textContent).join()"
            ),
            "source not found"
        );
        let notes = text(
            &mut browser,
            "all('p.note').map((note) => note.textContent).join()",
        );
        assert_eq!(
            notes,
            "2 sources not found: src/main.c, src/gone.c (--source-root DIR searches DIR)"
        );
    }
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn sources_do_not_change_the_verdict_and_must_be_regular_files_below_the_root() {
    let folder = project();
    let secret = tempfile::tempdir().unwrap();
    std::fs::write(
        secret.path().join("secret.c"),
        "int of_others;\n".repeat(20),
    )
    .unwrap();
    let pipe = folder.path().join("src/pipe.c");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let outside = secret.path().join("secret.c");
    let frames = [
        (
            outside.to_str().unwrap(),
            "source not shown: not below a directory of sources",
        ),
        ("src/pipe.c", "source not shown: not a regular file"),
        ("src/a.c", "the source has no line 400"),
        ("only_a_name.c", "source not found"),
    ];
    let records: Vec<String> = frames
        .iter()
        .map(|(file, _)| leak("definite", 8, &[frame("mine", Some((file, 400)))]))
        .collect();
    let root = folder.path().to_str().unwrap();
    let run = |args: &[&str]| {
        let all = [args, &["--root", root]].concat();
        tools::run("leak-check", &all, process(7, &records).as_bytes())
    };
    let page = run(&["-f", "html"]);
    let text = String::from_utf8(page.stdout).unwrap();
    for (file, reason) in frames {
        assert!(
            text.contains(&format!("<span class=note>{reason}</span>")),
            "{file}"
        );
    }
    assert!(!text.contains("of_others"));
    let other = run(&[]);
    assert_eq!((page.status, page.stderr), (other.status, other.stderr));
    // With --source-root, the other directory may be read.
    let page = run(&[
        "-f",
        "html",
        "--source-root",
        secret.path().to_str().unwrap(),
    ]);
    let text = String::from_utf8(page.stdout).unwrap();
    assert_eq!(text.matches("the source has no line 400</span>").count(), 2);
    assert!(!text.contains("not below a directory"));
}

/// Returns a stream with many findings of ten frames each.
fn many(count: u64) -> String {
    let records: Vec<String> = (0..count)
        .map(|number| {
            let mut stack = vec![frame("malloc", None)];
            for depth in 0..8 {
                let name = format!(
                    "server::Table<Row>::insert_{}",
                    (number * 7 + depth * 13) % 900
                );
                let file = format!("src/table_{}.c", (number + depth) % 70);
                stack.push(frame(
                    &name,
                    Some((if depth == 0 { "src/a.c" } else { &file }, 1 + number % 30)),
                ));
            }
            stack.push(frame(&format!("own_{number}"), Some(("src/main.c", 5))));
            let kind = ["definite", "possible"][number as usize % 2];
            leak(kind, 8 + number, &stack)
        })
        .collect();
    process(7, &records)
}

#[test]
fn page_of_2_000_findings_is_searched_quickly_and_limits_passages() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &many(2100), &[]);
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.matches("<details class=source>").count(), 2000);
    assert!(written.contains("100 passages of source left out: a page has at most 2000"));
    let mut browser = Browser::start(1200, 900);
    browser.time_threads();
    open(&mut browser, &path);
    assert_eq!(browser.evaluate("matches()"), 2100);
    assert_eq!(browser.evaluate("all('details.finding[open]').length"), 0);
    // The limit is 100 ms, or the time for 8 plain sorts of 10,000 texts on the same machine.
    let sort = browser.main_thread(
        "Array.from({length: 10000}, (_, at) => `text ${(at * 7919) % 10007}`).sort();",
    );
    for words in [
        "['x', 's', 'se', 'server', 'insert_4'][time]",
        "['insert_45', 'insert_', 'own_1', 'own_19', 'own'][time]",
    ] {
        let stroke = browser.main_thread(&format!(
            "const one = document.getElementById('search'); one.value = {words}; one.dispatchEvent(new Event('input'));"
        ));
        assert!(stroke <= f64::max(100.0, 8.0 * sort), "{stroke} {sort}");
    }
    assert_eq!(
        browser.evaluate("document.querySelector('[role=status]').textContent"),
        "2,100 findings"
    );
    browser.evaluate("location.hash = '#q=own_19&kind=possible'");
    // 19, and the odd numbers from 191 to 199 and from 1901 to 1999.
    browser.wait_for("matches() === 56");
    assert_eq!(browser.evaluate("folds().length"), 56);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn page_is_readable_without_script_on_a_phone_in_print_and_in_dark_mode() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &two_processes(), &[]);
    let mut browser = Browser::start(1000, 900);
    browser.send_command(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.open(&path);
    let root = browser.send_command("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let mut count = |selector: &str| {
        let found = browser.send_command(
            "DOM.querySelectorAll",
            json!({"nodeId": root, "selector": selector}),
        );
        found["nodeIds"].as_array().unwrap().len()
    };
    assert_eq!(count("details.finding:not([hidden])"), 3);
    // Without script, there are no links, and no controls that need a script.
    assert_eq!(count("main a"), 0);
    assert_eq!(count(".search[hidden], .chips[hidden]"), 2);
    browser.send_command(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": false}),
    );
    browser.send_command(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}),
    );
    let mut backgrounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.send_command(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        open(&mut browser, &path);
        browser.evaluate("all('details').forEach((details) => { details.open = true; })");
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth"),
            390
        );
        backgrounds.push(text(
            &mut browser,
            "getComputedStyle(document.body).backgroundColor",
        ));
    }
    assert_eq!(backgrounds, ["rgb(255, 255, 255)", "rgb(22, 24, 29)"]);
    browser.send_command("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(
        text(
            &mut browser,
            "all('.search, .chips, nav').some((one) => one.checkVisibility())"
        ),
        "false"
    );
    assert_eq!(browser.evaluate("folds().length"), 3);
    assert_eq!(browser.errors, Vec::<String>::new());
}
