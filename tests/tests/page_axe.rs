//! Accessibility of pages: axe-core finds no violation in any state, light and dark, on a desktop and on a phone.
//!
//! `PAGE_AXE=FOLDER` checks all pages of a folder instead, and prints their number and the number of states.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::json;
use tests::browser::Browser;
use tests::pages::{go, open, texts};
use tests::tools;

/// The pages of the project's own run: a tool, its input, and its options.
const PAGES: [(&str, &[&str]); 6] = [
    (
        "cg-fmt",
        &["-f", "html", "perf/6.1-busy_two_events.perf.txt"],
    ),
    (
        "cg-fmt",
        &["-f", "html", "massif/3.19.0-heapy_i.massif.out"],
    ),
    ("cg-fmt", &["-f", "html", "memcheck/3.27.1-leaky.xml"]),
    (
        "cg-diff",
        &["pair/before.callgrind.out", "pair/after.callgrind.out"],
    ),
    (
        "cg-fmt",
        &["-f", "html", "gungraun/0.20-compared.summary.json"],
    ),
    ("leak-check", &["-f", "html", "memcheck/3.27.1-leaky.xml"]),
];

/// The states beyond the panes: a name, and the actions that lead there.
const STATES: [(&str, &str); 5] = [
    (
        "zoomed, with a search",
        "location.hash = '#view=flame&q=a'; await wait(); all('[role=treeitem]', pane('flame') ?? document.body)[2]?.click()",
    ),
    (
        "sandwich",
        "location.hash = '#view=flame&flame=sandwich&fn=' + encodeURIComponent(globalThis.firstName)",
    ),
    ("nothing matches", "location.hash = '#view=table&q=zzzzqq'"),
    (
        "menu",
        "location.hash = '#view=table'; await wait(); rows()[0]?.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true, clientX: 60, clientY: 300 }))",
    ),
    (
        "dialog of keys",
        "document.querySelector('[role=menu]')?.remove(); all('button[aria-label=Keys]')[0]?.click()",
    ),
];

/// Runs axe in the page.
fn violations(browser: &mut Browser) -> Vec<String> {
    let found = browser.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations.map(({id, impact, nodes}) => `${id} (${impact}): ${nodes[0].html.slice(0, 120)}`))",
    );
    texts(&found)
}

/// Checks all states of a page. Returns their number.
fn check_page(browser: &mut Browser, axe: &str, path: &Path, size: &str) -> usize {
    open_any(browser, path);
    browser.evaluate(&format!("{axe}; 0"));
    browser.evaluate("globalThis.wait = () => new Promise((done) => setTimeout(done, 120)); globalThis.all ??= (selector, from = document) => Array.from(from.querySelectorAll(selector)); 0");
    let mut states = 0;
    let mut check = |browser: &mut Browser, state: &str| {
        states += 1;
        let found = violations(browser);
        assert_eq!(
            found,
            Vec::<String>::new(),
            "{} {size}: {state}",
            path.display()
        );
    };
    let views = texts(&browser.evaluate("all('[data-tab]').map((tab) => tab.dataset.tab)"));
    check(browser, "as opened");
    if views.is_empty() {
        return states;
    }
    go(browser, "#view=table");
    browser
        .evaluate("globalThis.firstName = rows().map((row) => row.dataset.fn).find(Boolean) ?? ''");
    for view in &views {
        go(browser, &format!("#view={view}"));
        check(browser, view);
        browser.evaluate(&format!(
            "location.hash = '#view={view}&fn=' + encodeURIComponent(firstName); wait()"
        ));
        check(browser, &format!("{view} with a selection"));
    }
    for (state, actions) in STATES {
        browser.evaluate(&format!("(async () => {{ {actions}; await wait(); }})()"));
        check(browser, state);
    }
    assert_eq!(browser.errors, Vec::<String>::new(), "{}", path.display());
    states
}

/// Opens a viewer or a page without one.
fn open_any(browser: &mut Browser, path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    if text.contains("id=data>") {
        open(browser, path);
    } else {
        browser.open(path);
        browser.wait_for(
            "document.readyState === 'complete' && document.querySelector('h1') !== null",
        );
    }
}

#[test]
fn axe_finds_no_violation_in_any_state() {
    needs!("browser", "axe");
    let axe = needs::node_package("axe-core").join("axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let given = std::env::var_os("PAGE_AXE");
    let pages: Vec<PathBuf> = match &given {
        Some(given) => {
            let files = std::fs::read_dir(given)
                .unwrap()
                .map(|entry| entry.unwrap().path());
            files
                .filter(|path| path.extension().is_some_and(|end| end == "html"))
                .collect()
        }
        None => {
            let written = PAGES.iter().zip(0..).map(|((tool, args), number)| {
                let path = folder.path().join(format!("{number}.html"));
                let mut page = tools::run(tool, args, b"").stdout;
                if *tool == "cg-diff" {
                    page = tools::run("cg-fmt", &["-f", "html"], &page).stdout;
                }
                std::fs::write(&path, page).unwrap();
                path
            });
            written.collect()
        }
    };
    let mut browser = Browser::start(1440, 900);
    let mut states = 0;
    for (width, height, is_phone) in [(1440, 900, false), (390, 844, true)] {
        browser.send_command(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}),
        );
        for scheme in ["light", "dark"] {
            let feature = json!({"name": "prefers-color-scheme", "value": scheme});
            browser.send_command("Emulation.setEmulatedMedia", json!({"features": [feature]}));
            for path in &pages {
                states += check_page(&mut browser, &axe, path, &format!("{width} {scheme}"));
            }
        }
    }
    if given.is_some() {
        println!("{} pages, {states} states, 0 violations", pages.len());
    }
    assert!(states > 100 || given.is_some(), "{states}");
}
