//! Pages that tools write, opened in a browser: their visible content and their addresses.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::tools;

/// Runs a tool and writes its output to a file.
pub fn page(folder: &TempDir, tool: &str, args: &[&str], input: &[u8]) -> PathBuf {
    let run = tools::run(tool, args, input);
    assert!(run.status < 2, "{args:?}: {}", run.stderr);
    let path = folder.path().join("page.html");
    std::fs::write(&path, &run.stdout).unwrap();
    path
}

/// Opens the page that cg-fmt writes of an input. Returns its path.
pub fn show(browser: &mut Browser, args: &[&str], input: &[u8]) -> PathBuf {
    let path = page(
        &browser.folder,
        "cg-fmt",
        &[&["-f", "html"], args].concat(),
        input,
    );
    open(browser, &path);
    path
}

/// Opens the page of the difference of inputs. Returns its path.
pub fn show_diff(browser: &mut Browser, args: &[&str]) -> PathBuf {
    let diff = tools::run("cg-diff", args, b"");
    show(browser, &["-"], &diff.stdout)
}

/// Script functions for the tests, which return visible content: panes, the rows of the table, items of trees, nodes.
const SEEN: &str = r"
globalThis.all = (selector, from = document) => Array.from(from.querySelectorAll(selector));
globalThis.pane = (view) => all('[data-view]').find((pane) => pane.dataset.view === view && pane.offsetWidth > 0);
globalThis.grid = () => pane('table').querySelector('[role=grid],[role=treegrid]');
globalThis.rows = () => all('[role=row][data-fn]', grid());
globalThis.selected = () => rows().filter((row) => row.getAttribute('aria-selected') === 'true').map((row) => row.dataset.fn);
globalThis.items = (view, from = pane(view)) => all('[role=treeitem]', from).map((item) =>
  [Number(item.getAttribute('aria-level')), item.dataset.fn, Number(item.dataset.x), Number(item.dataset.incl), Number(item.dataset.self)]);
globalThis.hashFields = () => Object.fromEntries(location.hash.slice(1).split('&').map((part) => part.split('=').map(decodeURIComponent)));
globalThis.nodes = () => { const walk = document.createTreeWalker(document, NodeFilter.SHOW_ALL); let count = 0; while (walk.nextNode()) count++; return count; };
globalThis.arcs = (name) => all(`[aria-label=${name}] [data-fn]`).map((arc) => [arc.dataset.fn, arc.dataset.incl, arc.dataset.calls]);
0";

/// An expression that becomes true when a page shows its content.
pub const IS_READY: &str = "document.querySelector('main').getAttribute('aria-busy') === 'false'";

/// Opens a page and waits until it shows its content.
pub fn open(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.wait_for(IS_READY);
    browser.evaluate(SEEN);
}

/// Goes to an address of the page, and waits until the page shows it.
pub fn go(browser: &mut Browser, hash: &str) {
    browser.evaluate(&format!(
        "new Promise((done) => {{ if (location.hash === {hash:?}) return done(0); \
         addEventListener('hashchange', () => setTimeout(done, 0), {{once: true}}); location.hash = {hash:?}; }})"
    ));
    browser.wait_for(IS_READY);
}

/// Returns the texts of an array.
pub fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Returns a column as cg-fmt writes it for programs.
pub fn csv(name: &str, file: &str) -> Vec<String> {
    let written = tools::stdout("cg-fmt", &["-f", "csv", "--columns", name, file], b"");
    let mut reader = csv::Reader::from_reader(&written[..]);
    let rows = reader.records().map(|record| record.unwrap()[0].to_owned());
    rows.collect()
}
