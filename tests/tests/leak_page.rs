//! The page of leak-check in a real browser: search, what it is narrowed to, links, the source around the lines of frames.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use needs::needs;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::browser::Browser;
use tests::tools;

/// A frame of a stream.
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

/// The stream of a process.
fn process(pid: u64, records: &[String]) -> String {
    let end = records.len();
    let run = format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"memcheck\",\"command\":\"./prog\",\"pid\":{pid},\"source\":[\"prog.xml\"],\"events\":[],\"total\":{{}},\"complete\":true,\"all_heap_blocks_freed\":true}}\n"
    );
    run + &records.join("\n") + &format!("\n{{\"type\":\"end\",\"records\":{end}}}\n")
}

/// Two processes: `make` leaks in both, and in the second `grow` may leak and `keep` holds what does not count.
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

/// A folder with the sources, and the log that the streams say they are of.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    let lines: Vec<String> = (1..=30).map(|line| format!("\tint of_{line};")).collect();
    std::fs::write(folder.path().join("src/a.c"), lines.join("\n")).unwrap();
    folder
}

/// The page of a stream, whose sources are below the folder.
fn page(folder: &TempDir, stream: &str, args: &[&str]) -> PathBuf {
    let root = folder.path().to_str().unwrap();
    let all = [&["-f", "html", "--root", root][..], args].concat();
    let run = tools::run("leak-check", &all, stream.as_bytes());
    assert_eq!(run.status, 1, "{}", run.stderr);
    let path = folder.path().join("page.html");
    std::fs::write(&path, &run.stdout).unwrap();
    path
}

/// What a person sees.
const SEEN: &str = r"
globalThis.all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
globalThis.folds = () => all('details.finding').filter((fold) => fold.checkVisibility());
globalThis.named = () => folds().map((fold) => fold.querySelector('summary').textContent.split(' ')[0]).join(' ');
globalThis.matches = () => Number(document.querySelector('[role=status]').dataset.matches);
globalThis.chip = (key, word) => all(`.chip[data-${key}]`).find((chip) => chip.dataset[key] === word);
globalThis.chips = (key) => Object.fromEntries(all(`.chip[data-${key}]`).map((chip) => [chip.dataset[key], Number(chip.dataset.count)]));
// The address that the page has followed: its own listener comes before this one.
globalThis.followed = location.hash;
addEventListener('hashchange', () => { followed = location.hash; });
0";

const IS_READY: &str = "document.querySelector('main').getAttribute('aria-busy') === 'false' && 'matches' in document.querySelector('[role=status]').dataset";

fn open(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.wait_for(IS_READY);
    browser.evaluate(SEEN);
}

/// What an expression comes to, as text.
fn text(browser: &mut Browser, expression: &str) -> String {
    let value = browser.evaluate(&format!("String({expression})"));
    value.as_str().unwrap().to_owned()
}

#[test]
fn findings_are_searched_and_the_address_says_for_what() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &two_processes(), &[]);
    let mut browser = Browser::start(1000, 900);
    open(&mut browser, &path);
    assert_eq!(text(&mut browser, "named()"), "make grow keep");
    assert_eq!(browser.evaluate("matches()"), 4);
    // Names of functions, files and kinds, letters of either case.
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
    // On, on to the first again, and back.
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
    // Such an address opens the same.
    let address = text(&mut browser, "location.hash");
    let marked = text(&mut browser, current);
    browser.open(&folder.path().join("src/a.c"));
    open(
        &mut browser,
        &PathBuf::from(format!("{}{address}", path.display())),
    );
    assert_eq!(text(&mut browser, "named()"), "make grow");
    assert_eq!(text(&mut browser, current), marked);
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn tables_names_and_chips_lead_to_findings_and_back_undoes_it() {
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

    // A count of the table leads to what it counts, that of a process to the process' own.
    let cells = "all('td[data-filter] a')";
    let count = browser
        .evaluate(&format!("{cells}.length"))
        .as_u64()
        .unwrap();
    assert!(count > 8, "{count}");
    for at in 0..count {
        let cell = format!("{cells}[{at}]");
        let told = text(&mut browser, &format!("{cell}.textContent"));
        browser.click_on(&cell);
        browser.wait_for(&format!("followed === {cell}.hash"));
        if let Ok(told) = told.parse::<u64>() {
            assert_eq!(browser.evaluate("matches()"), told, "{cell}");
        }
    }
    browser.evaluate("location.hash = '#process=1&status=new'");
    browser.wait_for("named() === 'make grow' && matches() === 2");
    browser
        .click_on("all('.chip').find((chip) => chip.textContent.startsWith('./prog, process 8'))");
    browser.wait_for("matches() === 3");

    // A function or a file that other findings have too leads to them; one of its own to nothing.
    browser.evaluate("location.hash = ''");
    browser.wait_for("matches() === 4");
    let links = "all('.frame a', folds()[0]).map((link) => link.textContent).join()";
    assert_eq!(text(&mut browser, links), "malloc,src/a.c,main,src/main.c");
    browser.click_on("all('.frame a', folds()[0])[1]");
    browser.wait_for("named() === 'make grow'");

    // A finding has an address of its own, which opens it whatever the page was narrowed to.
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
    // Addresses that say what there is not do no harm.
    browser.evaluate("location.hash = '#finding-none&kind=%zz&x=1&process=9'");
    browser.wait_for("matches() === 0");
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn sources_are_below_the_frames_and_say_whether_they_are_younger_than_the_log() {
    needs!("browser");
    let folder = project();
    let log = folder.path().join("prog.xml");
    std::fs::write(&log, "").unwrap();
    // The stream names its log by a path that is read from where the tool runs.
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
            "source, written after the log: its lines may be others",
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
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn a_source_changes_no_verdict_and_nothing_but_regular_files_below_the_root_is_read() {
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
    // A directory of sources that is given is one.
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

/// As many findings as a large project has, each of ten frames.
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
fn a_page_of_2_000_findings_is_searched_at_once_and_a_limit_of_passages_is_said() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &many(2100), &[]);
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.matches("<details class=source>").count(), 2000);
    assert!(written.contains("100 passages of source left out: the page has 2000"));
    let mut browser = Browser::start(1200, 900);
    browser.time_threads();
    open(&mut browser, &path);
    assert_eq!(browser.evaluate("matches()"), 2100);
    assert_eq!(browser.evaluate("all('details.finding[open]').length"), 0);
    // Against work whose time is known on the same machine: at most 100 ms, or 8 plain sorts of 10,000 texts.
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
    // 19, 191 to 199 that are odd, and 1901 to 1999 that are.
    browser.wait_for("matches() === 56");
    assert_eq!(browser.evaluate("folds().length"), 56);
    assert_eq!(browser.troubles, Vec::<String>::new());
}

#[test]
fn the_page_is_readable_without_script_on_a_phone_in_print_and_in_the_dark() {
    needs!("browser");
    let folder = project();
    let path = page(&folder, &two_processes(), &[]);
    let mut browser = Browser::start(1000, 900);
    browser.tell(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": true}),
    );
    browser.open(&path);
    let root = browser.tell("DOM.getDocument", json!({}))["root"]["nodeId"].clone();
    let mut count = |selector: &str| {
        let found = browser.tell(
            "DOM.querySelectorAll",
            json!({"nodeId": root, "selector": selector}),
        );
        found["nodeIds"].as_array().unwrap().len()
    };
    assert_eq!(count("details.finding:not([hidden])"), 3);
    // Nothing leads nowhere, and what only a script answers to is not there.
    assert_eq!(count("main a"), 0);
    assert_eq!(count(".search[hidden], .chips[hidden]"), 2);
    browser.tell(
        "Emulation.setScriptExecutionDisabled",
        json!({"value": false}),
    );
    browser.tell(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}),
    );
    let mut backgrounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.tell(
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
    browser.tell("Emulation.setEmulatedMedia", json!({"media": "print"}));
    assert_eq!(
        text(
            &mut browser,
            "all('.search, .chips, nav').some((one) => one.checkVisibility())"
        ),
        "false"
    );
    assert_eq!(browser.evaluate("folds().length"), 3);
    assert_eq!(browser.troubles, Vec::<String>::new());
}
