//! The use of pages: texts are readable at three widths, the keyboard focus stays, and addresses keep what they show.

use std::path::PathBuf;

use needs::needs;
use serde_json::json;
use tests::browser::Browser;
use tests::pages::{IS_READY, go, open, show, show_diff, texts};

/// Returns texts that overlap another text, are cut without an ellipsis, have letters below 9 pixels, or are values of the script
/// that are no words. Lists that scroll
/// sideways may cut texts. Heads that stay in their place cover the texts that scroll below them.
const UNREADABLE: &str = r"
(() => {
  const found = [], shown = [];
  const clips = (element) => {
    let box = { left: 0, top: 0, right: innerWidth, bottom: innerHeight }, isWhole = true;
    let hasEllipsis = false;
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      hasEllipsis ||= style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none';
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const own = one.getBoundingClientRect();
      if (own.right < box.right) isWhole = hasEllipsis || ['auto', 'scroll'].includes(style.overflowX);
      box = { left: Math.max(box.left, own.left), top: Math.max(box.top, own.top), right: Math.min(box.right, own.right), bottom: Math.min(box.bottom, own.bottom) };
    }
    return { box, mayCut: isWhole };
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode, element = text.parentElement;
    if (/\b(null|undefined|NaN|Infinity)\b|\[object/.test(text.data) && !element.closest('[data-fn],script')) found.push(`no word: ${text.data}`);
    if (!text.data.trim() || element.closest('script,style,option,title,noscript') || !element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
    let sticky = element;
    while (sticky && getComputedStyle(sticky).position !== 'sticky') sticky = sticky.parentElement;
    const range = document.createRange();
    range.selectNodeContents(text);
    const { box, mayCut } = clips(element);
    for (const own of range.getClientRects()) {
      const seen = { left: Math.max(own.left, box.left), top: Math.max(own.top, box.top), right: Math.min(own.right, box.right), bottom: Math.min(own.bottom, box.bottom), element, sticky, words: text.data.trim().slice(0, 60) };
      if (seen.right - seen.left < 2 || seen.bottom - seen.top < 4) continue;
      shown.push(seen);
      if (own.right > box.right + 2 && !mayCut) found.push(`cut: ${seen.words}`);
      if (parseFloat(getComputedStyle(element).fontSize) < 9) found.push(`small: ${seen.words}`);
    }
  }
  shown.forEach((a, at) => {
    for (const b of shown.slice(at + 1)) {
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left), height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 2 && height > 4 && a.element !== b.element && a.sticky === b.sticky) found.push(`overlap: ${a.words} | ${b.words}`);
    }
  });
  return [...new Set(found)];
})()";

/// The size of the window in pixels, and whether it is a phone's.
const WINDOWS: [(u32, u32, bool); 3] = [(1440, 900, false), (1280, 800, false), (390, 844, true)];

fn set_window(browser: &mut Browser, (width, height, is_phone): (u32, u32, bool)) {
    browser.send_command(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}),
    );
}

/// Opens the page of an input, or of the difference of inputs. Returns its path.
fn show_inputs(browser: &mut Browser, inputs: &[&str]) -> PathBuf {
    match inputs {
        [one] => show(browser, &[one], b""),
        _ => show_diff(browser, inputs),
    }
}

const BEFORE: &str = "pair/before.callgrind.out";
const AFTER: &str = "pair/after.callgrind.out";

#[test]
fn no_text_overlaps_another_or_is_cut_at_any_width() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let inputs: [&[&str]; 9] = [
        &["perf/6.1-busy_two_events.perf.txt"],
        &["jfr/jdk17.jfr.gz"],
        &["massif/3.19.0-heapy_i.massif.out"],
        &["memcheck/3.27.1-leaky.xml"],
        &[BEFORE],
        &["--causes", BEFORE, AFTER],
        &[BEFORE, AFTER, BEFORE],
        &["gungraun/0.20-compared.summary.json"],
        &["names/rust/massif.out", "massif/3.19.0-heapy_i.massif.out"],
    ];
    let mut states = 0;
    for input in inputs {
        let page = show_inputs(&mut browser, input);
        for window in WINDOWS {
            set_window(&mut browser, window);
            open(&mut browser, &page);
            go(&mut browser, "#view=table");
            let name =
                "encodeURIComponent(rows().map((row) => row.dataset.fn).find(Boolean) ?? '')";
            let name = browser.evaluate(name);
            let name = name.as_str().unwrap();
            let views = "all('[data-tab]').map((tab) => tab.dataset.tab)";
            for view in texts(&browser.evaluate(views)) {
                for selection in [String::new(), format!("&fn={name}")] {
                    go(&mut browser, &format!("#view={view}{selection}"));
                    browser.evaluate(
                        "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))",
                    );
                    let found = texts(&browser.evaluate(UNREADABLE));
                    assert_eq!(
                        found,
                        Vec::<String>::new(),
                        "{input:?} {window:?} {view}{selection}"
                    );
                    states += 1;
                }
            }
        }
        assert_eq!(browser.errors, Vec::<String>::new(), "{input:?}");
    }
    assert!(states > 150, "{states}");
}

/// An expression for the column of the heading with the keyboard focus.
const HEADING: &str =
    "document.activeElement.closest('[data-column]')?.getAttribute('data-column') ?? ''";

/// True if the element with the keyboard focus is in a pane.
const IS_IN_PANE: &str = "document.activeElement.closest('[data-view]') !== null";

#[test]
fn keyboard_focus_stays_when_its_element_goes() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    show_inputs(&mut browser, &["perf/6.1-busy.perf.txt"]);
    // A sorted table has new headings.
    browser.evaluate("grid().focus()");
    for (key, code) in [("Home", 36), ("ArrowUp", 38), ("ArrowRight", 39)] {
        browser.press(key, code);
    }
    assert_eq!(browser.evaluate(HEADING), "incl");
    browser.evaluate("document.activeElement.click()");
    assert_eq!(browser.evaluate(HEADING), "incl");
    let sorted = "document.querySelector('[aria-sort]').dataset.column";
    assert_eq!(browser.evaluate(sorted), "incl");
    // The buttons that end a focus, a search or a range of time go when they are pressed.
    go(&mut browser, "#view=table");
    browser.click_on("rows()[0]");
    browser.press("h", 72);
    browser.wait_for("document.querySelector('[data-hide]') !== null");
    browser
        .evaluate("document.querySelector('[data-hide]').focus(); document.activeElement.click()");
    assert_eq!(browser.evaluate(IS_IN_PANE), true);
    go(&mut browser, "#view=table&q=zzzz");
    let clear = "all('button', pane('table')).find((one) => one.textContent === 'Clear search')";
    browser.evaluate(&format!("{clear}.focus(); document.activeElement.click()"));
    assert_eq!(browser.evaluate(IS_IN_PANE), true);
    go(&mut browser, "#view=timeline&time=0-0.01");
    let whole = "all('button', pane('timeline')).find((one) => one.textContent === 'Whole time')";
    browser.evaluate(&format!("{whole}.focus(); document.activeElement.click()"));
    assert_eq!(browser.evaluate(IS_IN_PANE), true);
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn click_on_a_leak_shows_its_callers_with_the_bytes() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    show_inputs(&mut browser, &["memcheck/3.27.1-leaky.xml"]);
    // The first event counts errors, and leaks have no count.
    assert_eq!(browser.evaluate("hashFields().event ?? 'count'"), "count");
    browser.click_on(
        "rows().find((row) => row.dataset.kind === 'definite' && row.dataset.fn !== 'main')",
    );
    browser.wait_for(IS_READY);
    assert_eq!(browser.evaluate("hashFields().event"), "bytes");
    let bytes = browser.evaluate("rows().find((row) => row.ariaSelected === 'true').dataset.self");
    let callers = "arcs('Callers').reduce((sum, [, incl]) => sum + Number(incl), 0)";
    let callers = browser.evaluate(callers).as_f64().unwrap();
    assert!(
        callers >= bytes.as_str().unwrap().parse().unwrap(),
        "{callers} {bytes}"
    );
    // An address without an event shows the finding with its own event, too.
    let finding = browser.evaluate("hashFields().finding");
    go(
        &mut browser,
        &format!("#finding={}", finding.as_str().unwrap()),
    );
    let event = browser.evaluate("document.querySelector('main').dataset.event");
    assert_eq!(event, "bytes");
}

#[test]
fn picture_of_a_graph_around_a_function_has_both_trees() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    show_inputs(&mut browser, &["perf/6.1-busy.perf.txt"]);
    let name = "items('flame').toSorted((a, b) => b[0] - a[0])[0][1]";
    go(&mut browser, "#view=flame");
    let name = browser.evaluate(&format!("encodeURIComponent({name})"));
    let name = name.as_str().unwrap();
    go(
        &mut browser,
        &format!("#view=flame&flame=sandwich&fn={name}"),
    );
    browser.evaluate(
        "URL.createObjectURL = (blob) => { globalThis.saved = blob.text(); return 'data:,'; }; \
         HTMLAnchorElement.prototype.click = () => {}; \
         all('button', pane('flame')).find((one) => one.textContent === 'Save as SVG').click()",
    );
    let frames = browser.evaluate(
        "saved.then((text) => new DOMParser().parseFromString(text, 'image/svg+xml').querySelectorAll('g > title').length)",
    );
    let trees = browser.evaluate(
        "all('[data-side]', pane('flame')).map((tree) => all('[role=treeitem]', tree).length)",
    );
    let trees: Vec<i64> = trees
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_i64().unwrap())
        .collect();
    assert_eq!(trees.len(), 2);
    assert!(trees.iter().all(|frames| *frames > 0), "{trees:?}");
    assert_eq!(frames.as_i64().unwrap(), trees.iter().sum::<i64>());
}

#[test]
fn snapshot_that_keys_choose_is_below_the_heads_of_the_list() {
    needs!("browser");
    let mut browser = Browser::start(1440, 500);
    show_inputs(&mut browser, &["massif/3.19.0-heapy_i.massif.out"]);
    browser.evaluate("document.querySelector('[role=listbox]').focus()");
    browser.press("End", 35);
    let chosen = "document.querySelector('[role=option][aria-selected=true]')";
    for _ in 0..60 {
        browser.press("ArrowUp", 38);
        let is_in_sight = browser.evaluate(&format!(
            "(() => {{ const box = {chosen}.getBoundingClientRect(); return {chosen}.contains(document.elementFromPoint(box.x + 20, box.y + box.height / 2)); }})()"
        ));
        assert_eq!(is_in_sight, true);
    }
}

#[test]
fn rows_of_one_function_are_distinguished_where_columns_have_no_room() {
    needs!("browser");
    let mut browser = Browser::start(390, 844);
    set_window(&mut browser, WINDOWS[2]);
    // Allocations of one function have different callers, functions of one name have different files.
    for (input, name, column, start) in [
        ("dhat/3.19.0-heapy.dhat.json", "xmalloc", "callers", " ← "),
        ("v8/node.cpuprofile", "(anonymous)", "file", " "),
    ] {
        show_inputs(&mut browser, &[input]);
        let head = browser.evaluate(&format!("document.querySelector('[data-column={column}]')"));
        assert_eq!(head, serde_json::Value::Null, "{input}");
        let words = browser.evaluate(&format!(
            "rows().filter((row) => row.dataset.fn === '{name}').map((row) => row.querySelector('.name .place').textContent)"
        ));
        let words = texts(&words);
        assert!(words.len() > 1, "{input}: {words:?}");
        assert!(
            words
                .iter()
                .all(|word| word.len() > start.len() && word.starts_with(start)),
            "{input}: {words:?}"
        );
    }
}

#[test]
fn address_of_a_comparison_keeps_the_flame_graph() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let page = show_inputs(&mut browser, &["massif/3.19.0-heapy_i.massif.out"]);
    go(&mut browser, "#view=flame");
    let compare = "const base = document.querySelector('select[aria-label=\"Compared with\"]'); base.selectedIndex = 1; base.dispatchEvent(new Event('change'))";
    browser.evaluate(compare);
    let kind = "document.querySelector('select[aria-label=\"Flame graph\"]')";
    assert_eq!(browser.evaluate(&format!("{kind}.value")), "differential");
    browser.evaluate(&format!(
        "{kind}.value = 'icicle'; {kind}.dispatchEvent(new Event('change'))"
    ));
    let hash = browser.evaluate("location.hash");
    let address = format!("{}{}", page.display(), hash.as_str().unwrap());
    browser.open(std::path::Path::new("/dev/null"));
    open(&mut browser, std::path::Path::new(&address));
    assert_eq!(browser.evaluate(&format!("{kind}.value")), "icicle");
}

#[test]
fn groups_of_files_show_the_names_of_the_files() {
    needs!("browser");
    let mut browser = Browser::start(1280, 800);
    show_inputs(&mut browser, &["v8/node.cpuprofile"]);
    for window in [WINDOWS[1], WINDOWS[2]] {
        set_window(&mut browser, window);
        go(&mut browser, "#view=table&group=file");
        let names = browser.evaluate(
            "all('[data-group]', grid()).filter((row) => row.dataset.group.includes('/')).map((row) => { \
               const name = row.querySelector('.base'), end = row.querySelector('.name').getBoundingClientRect().right; \
               return [row.dataset.group.split('/').pop(), name.textContent, name.getBoundingClientRect().right <= end + 1]; })",
        );
        let names = names.as_array().unwrap();
        assert!(names.len() > 2, "{names:?}");
        for name in names {
            let file = format!("/{}", name[0].as_str().unwrap());
            assert_eq!(
                (&name[1], &name[2]),
                (&json!(file), &json!(true)),
                "{window:?}"
            );
        }
    }
}

#[test]
fn address_keeps_the_choice_to_hide_libraries_and_runtime() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let page = show_inputs(&mut browser, &["perf/6.1-busy.perf.txt"]);
    go(&mut browser, "#view=tree");
    let hides = "document.getElementById('hide-runtime')";
    let classes = "Array.from(new Set(items('tree').map((item, at) => all('[role=treeitem]', pane('tree'))[at].dataset.whose))).sort().join()";
    let before = browser.evaluate(classes);
    assert!(before.as_str().unwrap().contains("system"), "{before}");
    browser.click_on(hides);
    assert_eq!(browser.evaluate("hashFields().runtime"), "hidden");
    assert_eq!(browser.evaluate(classes), "own");
    let hash = browser.evaluate("location.hash");
    browser.evaluate("history.back()");
    browser.wait_for(&format!("!{hides}.checked"));
    assert_eq!(browser.evaluate(classes), before);
    let address = format!("{}{}", page.display(), hash.as_str().unwrap());
    browser.open(std::path::Path::new("/dev/null"));
    open(&mut browser, std::path::Path::new(&address));
    assert_eq!(browser.evaluate(&format!("{hides}.checked")), true);
    assert_eq!(browser.evaluate(classes), "own");
}

#[test]
fn rows_of_a_difference_of_leaks_have_their_kind_and_stack() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let inputs = ["memcheck/3.27.1-clean.xml", "memcheck/3.27.1-leaky.xml"];
    let page = show_inputs(&mut browser, &inputs);
    let head = "document.querySelector('[data-column=kind]') !== null";
    assert_eq!(browser.evaluate(head), true);
    let kinds = browser.evaluate("rows().every((row) => row.dataset.kind !== '')");
    assert_eq!(kinds, true);
    // The leaks of one function have different callers.
    let callers = "new Set(rows().map((row) => `${row.dataset.fn} ${row.textContent}`)).size === rows().length";
    assert_eq!(browser.evaluate(callers), true);
    browser.click_on("rows()[1]");
    let stack = "all('[data-stack] [data-fn]').map((frame) => frame.dataset.fn).join(' ')";
    let shown = browser.evaluate(stack);
    let selected = browser.evaluate("selected().join()");
    let name = selected.as_str().unwrap();
    assert!(shown.as_str().unwrap().contains(name), "{shown} {name}");
    let hash = browser.evaluate("location.hash");
    browser.open(std::path::Path::new("/dev/null"));
    let address = format!("{}{}", page.display(), hash.as_str().unwrap());
    open(&mut browser, std::path::Path::new(&address));
    assert_eq!(browser.evaluate(stack), shown);
    assert_eq!(browser.evaluate("selected().join()"), selected);
}

/// Returns the text of `perf script`: `count` samples, one per 10 ms, of `main` in `object`. It calls `a` in a share of the
/// samples, in percent, and `b` in the others.
fn samples(object: &str, count: u32, share: u32) -> String {
    let sample = |at: u32| {
        let callee = if at * 37 % 100 < share { "a" } else { "b" };
        let seconds = 10.0 + f64::from(at) / 100.0;
        format!(
            "prog  7 [000] {seconds:.6}:     1000000 cpu-clock:u: \n\t    1000 {callee}+0x0 ({object})\n\t    2000 main+0x0 ({object})\n\n"
        )
    };
    (0..count).map(sample).collect()
}

#[test]
fn runs_of_different_lengths_are_compared_by_shares_and_a_renamed_program_is_one_program() {
    needs!("browser");
    let mut browser = Browser::start(1440, 900);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("old"), samples("/bin/before", 400, 60)).unwrap();
    std::fs::write(at("new"), samples("/bin/after", 100, 20)).unwrap();
    show_diff(&mut browser, &[&at("old"), &at("new")]);
    let sorted = "document.querySelector('[aria-sort]').dataset.column";
    assert_eq!(browser.evaluate(sorted), "points");
    // `a` has 60 % of the samples, then 20 %.
    let cells = "rows().map((row) => [row.dataset.fn, row.children[0].textContent].join(' ')).toSorted().join()";
    assert_eq!(browser.evaluate(cells), "a -40.00,b +40.00");
    let lead = browser.evaluate("document.querySelector('.lead').textContent");
    assert!(lead.as_str().unwrap().contains("40.00 points"), "{lead}");
    go(&mut browser, "#view=flame");
    let frames = "all('[role=treeitem]', pane('flame')).map((item) => [item.dataset.fn, item.dataset.status, Number(item.style.getPropertyValue('--change')).toFixed(2)].join(' ')).toSorted().join()";
    assert_eq!(
        browser.evaluate(frames),
        " changed 0.00,a changed -0.67,b changed 0.50,main changed 0.00"
    );
}
