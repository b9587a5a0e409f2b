//! Pages that tools write, opened in a browser: what a person sees of them and where they go.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::tools;

/// What a tool writes, as a file.
pub fn page(folder: &TempDir, tool: &str, args: &[&str], input: &[u8]) -> PathBuf {
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
globalThis.grid = () => pane('table').querySelector('[role=grid],[role=treegrid]');
globalThis.rows = () => all('[role=row][data-fn]', grid());
globalThis.selected = () => rows().filter((row) => row.getAttribute('aria-selected') === 'true').map((row) => row.dataset.fn);
globalThis.items = (view, from = pane(view)) => all('[role=treeitem]', from).map((item) =>
  [Number(item.getAttribute('aria-level')), item.dataset.fn, Number(item.dataset.x), Number(item.dataset.incl), Number(item.dataset.self)]);
globalThis.said = () => Object.fromEntries(location.hash.slice(1).split('&').map((part) => part.split('=').map(decodeURIComponent)));
globalThis.nodes = () => { const walk = document.createTreeWalker(document, NodeFilter.SHOW_ALL); let count = 0; while (walk.nextNode()) count++; return count; };
globalThis.arcs = (name) => all(`[aria-label=${name}] [data-fn]`).map((arc) => [arc.dataset.fn, arc.dataset.incl, arc.dataset.calls]);
0";

/// Holds once a page shows what it has.
pub const IS_READY: &str = "document.querySelector('main').getAttribute('aria-busy') === 'false'";

/// Opens a page and waits until it shows what it has.
pub fn open(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.wait_for(IS_READY);
    browser.evaluate(SEEN);
}

/// Goes to an address of the page, and waits until it is shown.
pub fn go(browser: &mut Browser, hash: &str) {
    browser.evaluate(&format!(
        "new Promise((done) => {{ if (location.hash === {hash:?}) return done(0); \
         addEventListener('hashchange', () => setTimeout(done, 0), {{once: true}}); location.hash = {hash:?}; }})"
    ));
    browser.wait_for(IS_READY);
}

/// The texts of an array.
pub fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// A column as programs get it.
pub fn csv(name: &str, file: &str) -> Vec<String> {
    let written = tools::stdout("cg-fmt", &["-f", "csv", "--columns", name, file], b"");
    let mut reader = csv::Reader::from_reader(&written[..]);
    let rows = reader.records().map(|record| record.unwrap()[0].to_owned());
    rows.collect()
}
