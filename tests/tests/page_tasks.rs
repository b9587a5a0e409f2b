//! Tasks of an engineer, carried out in a page by clicks and keys. docs/viewer.md lists the number of clicks and keys of each.
//!
//! `PAGE_TASKS=FOLDER` carries them out on other inputs: the files `costs`, `threads`, `heap`, `leaks`, `old` and `new` there.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::{Path, PathBuf};

use needs::needs;
use serde_json::json;
use tests::browser::Browser;
use tests::pages::{IS_READY, open, page};
use tests::tools;

/// The path of an input.
fn input(name: &str) -> String {
    if let Some(folder) = std::env::var_os("PAGE_TASKS") {
        return PathBuf::from(folder).join(name).display().to_string();
    }
    let file = match name {
        "costs" | "old" => "pair/before.callgrind.out",
        "new" => "pair/after.callgrind.out",
        "threads" => "perf/6.1-busy.perf.txt",
        "heap" => "massif/3.19.0-heapy_i.massif.out",
        _ => "memcheck/3.27.1-leaky.xml",
    };
    file.to_owned()
}

/// An action of the user. Each counts as one, also the words of a search.
enum Action {
    /// A click on the element that an expression returns.
    Click(&'static str),
    /// The choice of an entry of a list, by an expression for its position.
    Choose(&'static str, &'static str),
    Key(&'static str, u32),
    Write(&'static str),
    /// A drag over the middle of the element that an expression returns.
    Drag(&'static str),
    /// The address is copied and opened again.
    CopyAddress,
}

use Action::{Choose, Click, CopyAddress, Drag, Key, Write};

/// A task: its name in docs/viewer.md, its input, its actions, and an expression that is true when it is done.
type Task = (&'static str, &'static str, &'static [Action], &'static str);

const TASKS: [Task; 18] = [
    (
        "see the functions with the largest cost",
        "costs",
        &[],
        "rows().every(({dataset: row}, at, all) => !at || Number(all[at - 1].dataset.self) >= Number(row.self))",
    ),
    (
        "sort by inclusive cost",
        "costs",
        &[Click("all('[data-column=incl] button')[0]")],
        "rows().every(({dataset: row}, at, all) => !at || Number(all[at - 1].dataset.incl) >= Number(row.incl)) && rows().some(({dataset: row}, at, all) => at && Number(all[at - 1].dataset.self) < Number(row.self))",
    ),
    (
        "see the callers and callees of a function",
        "costs",
        &[Click("rows()[1]")],
        "pane('table') && pane('calls') && all('[data-fn]', pane('calls')).length > 0",
    ),
    (
        "see the source of the most expensive function",
        "costs",
        &[Click("all('[data-tab=source]')[0]")],
        "all('[data-line]', pane('source')).length > 0",
    ),
    (
        "see the costliest path of calls",
        "costs",
        &[
            Click("all('[data-tab=tree]')[0]"),
            Click(
                "all('button', pane('tree')).find((button) => button.textContent === 'Costliest path')",
            ),
        ],
        "all('[role=treeitem]', pane('tree')).length > 3 && all('[aria-selected=true]', pane('tree')).length > 0",
    ),
    (
        "find a function by a part of its name",
        "costs",
        &[Key("/", 191), Write("main")],
        "Number(all('[role=status]')[0].dataset.matches) > 0 && rows().every((row) => `${row.dataset.fn} ${row.dataset.file}`.toLowerCase().includes('main'))",
    ),
    (
        "see the share of all functions that match an expression",
        "costs",
        &[
            Click("all('[data-tab=flame]')[0]"),
            Key("/", 191),
            Write("/^mem|alloc/"),
        ],
        "/^matched \\d+\\.\\d %$/.test(all('[data-matched]')[0].textContent)",
    ),
    (
        "look into a part of a flame graph, and leave it",
        "costs",
        &[
            Click(
                "all('[role=treeitem]', pane('flame')).find((item) => item.getAttribute('aria-level') === '3')",
            ),
            Key("Escape", 27),
        ],
        "globalThis.zoomedTo && !pane('flame').dataset.zoom",
    ),
    (
        "see only the stacks through a function",
        "costs",
        &[Click("rows()[0]"), Key("f", 70)],
        "all('[data-focus]').length === 1",
    ),
    (
        "leave out the stacks through a function",
        "costs",
        &[Click("rows()[0]"), Key("h", 72)],
        "all('[data-hide]').length === 1",
    ),
    (
        "see the figures of one thread",
        "threads",
        &[Choose("all('select[aria-label=Thread]')[0]", "1")],
        "document.querySelector('main').dataset.thread !== '' && Number(document.querySelector('main').dataset.total) > 0",
    ),
    (
        "see the figures of a range of time",
        "threads",
        &[
            Click("all('[data-tab=timeline]')[0]"),
            Drag("all('[data-lane]')[0]"),
        ],
        "/^0?\\.?\\d.*-/.test(hashFields().time)",
    ),
    (
        "see where two runs differ, and by how much",
        "new",
        &[],
        "rows()[0].querySelector('[data-bar]') && rows()[0].dataset.delta !== ''",
    ),
    (
        "see what a new version no longer calls",
        "new",
        &[Click("all('[data-tab=flame]')[0]")],
        "all('[data-status=removed]', pane('flame')).length > 0",
    ),
    (
        "see the heap at a time",
        "heap",
        &[Click(
            "all('.chart path.layer, svg path.layer')[0].parentElement",
        )],
        "document.querySelector('main').dataset.snapshot !== globalThis.firstSnapshot",
    ),
    (
        "see what grew between two snapshots",
        "heap",
        &[
            Click("all('[role=option][data-snapshot]').at(-2)"),
            Choose(
                "all('select').find((one) => /compared/.test(one.textContent))",
                "1",
            ),
        ],
        "document.querySelector('main').dataset.base",
    ),
    (
        "give a colleague a leak with its stack",
        "leaks",
        &[
            Click("rows().find((row) => row.dataset.kind === 'definite')"),
            CopyAddress,
        ],
        "selected().length === 1 && all('[data-stack] [data-fn]').length > 0",
    ),
    (
        "save the rows or the picture that is shown",
        "costs",
        &[Click(
            "all('button').find((button) => button.textContent === 'Save as CSV')",
        )],
        "/\\.csv$/.test(globalThis.saved)",
    ),
];

fn act(browser: &mut Browser, action: &Action, page: &Path) {
    match action {
        Click(element) => browser.click_on(element),
        Choose(list, at) => {
            browser.evaluate(&format!("((list) => {{ list.selectedIndex = {at}; list.dispatchEvent(new Event('change', {{bubbles: true}})); }})({list})"));
        }
        Key(key, code) => browser.press(key, *code),
        Write(words) => browser.write(words),
        Drag(element) => {
            let place = browser.evaluate(&format!("(() => {{ const box = {element}.getBoundingClientRect(); return [box.x, box.y + box.height / 2, box.width]; }})()"));
            let [x, y, width] = [0, 1, 2].map(|at| place[at].as_f64().unwrap());
            for (kind, share, buttons) in [
                ("mousePressed", 0.2, 1),
                ("mouseMoved", 0.4, 1),
                ("mouseMoved", 0.6, 1),
                ("mouseReleased", 0.6, 0),
            ] {
                let event = json!({"type": kind, "x": x + width * share, "y": y, "button": "left", "buttons": buttons, "clickCount": 1});
                browser.send_command("Input.dispatchMouseEvent", event);
            }
        }
        CopyAddress => {
            let hash = browser.evaluate("location.hash");
            browser.open(Path::new("/dev/null"));
            open(
                browser,
                Path::new(&format!("{}{}", page.display(), hash.as_str().unwrap())),
            );
        }
    }
    browser.evaluate("new Promise((done) => setTimeout(done, 150))");
    browser.wait_for(IS_READY);
}

/// Carries out a task.
fn carry_out(browser: &mut Browser, page: &Path, (name, _, actions, done): &Task) {
    open(browser, page);
    let view = if name.starts_with("look into") {
        "flame"
    } else {
        ""
    };
    if !view.is_empty() {
        // The reader is in the flame graph already.
        tests::pages::go(browser, "#view=flame");
    }
    browser.evaluate(
        "globalThis.firstSnapshot = document.querySelector('main').dataset.snapshot; globalThis.saved = ''; \
         const click = HTMLAnchorElement.prototype.click; HTMLAnchorElement.prototype.click = function () { if (this.download) globalThis.saved = this.download; else click.call(this); }; \
         new MutationObserver(() => { if (pane('flame')?.dataset.zoom) globalThis.zoomedTo = true; }).observe(document.body, {subtree: true, attributes: true}); 0",
    );
    for action in *actions {
        act(browser, action, page);
    }
    let is_done = browser.evaluate(&format!("Boolean({done})"));
    assert_eq!(is_done, true, "{name}");
    assert_eq!(browser.errors, Vec::<String>::new(), "{name}");
}

#[test]
fn tasks_need_as_many_clicks_and_keys_as_documented() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let mut browser = Browser::start(1440, 900);
    let document = std::fs::read_to_string(tests::workspace().join("docs/viewer.md")).unwrap();
    for task in &TASKS {
        let (name, kind, actions, _) = task;
        let file = input(kind);
        let written = match *kind {
            "new" => {
                let diff = tools::run("cg-diff", &[&input("old"), &file], b"");
                page(&folder, "cg-fmt", &["-f", "html", "-"], &diff.stdout)
            }
            _ => page(&folder, "cg-fmt", &["-f", "html", &file], b""),
        };
        carry_out(&mut browser, &written, task);
        let row = format!("| {name} | {}", actions.len());
        assert!(document.contains(&row), "docs/viewer.md lacks: {row}");
    }
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| see ") || line.starts_with("| find "));
    assert!(rows.count() <= TASKS.len());
}
