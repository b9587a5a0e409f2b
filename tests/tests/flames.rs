//! Flame graphs in a real browser: they fill the window's width, and can be zoomed and searched with mouse and keys.

use needs::needs;
use serde_json::json;
use tests::browser::Browser;
use tests::tools;

/// Returns a script expression for the frame with this name, found by its title.
fn frame(name: &str) -> String {
    format!(
        "Array.from(document.querySelectorAll('#frames>g')).find((g) => g_to_text(g).startsWith('{name} '))"
    )
}

#[test]
fn flame_graph_fills_its_window_zooms_and_searches() {
    needs!("browser");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.svg");
    // A diff with a section for removed stacks.
    let diff =
        b"main;ns::Cache<int, char>::grow(int);read 40 50\nmain;write 50 50\nmain;old 20 0\n";
    std::fs::write(&path, tools::stdout("cg-fmt", &["-f", "flamegraph"], diff)).unwrap();
    for window in [700, 1600] {
        let mut browser = Browser::start(window, 600);
        browser.open(&path);
        let widest = "Math.round(Math.max(...Array.from(document.querySelectorAll('g>rect')).map((r) => r.getBoundingClientRect().right)))";
        assert_eq!(browser.evaluate(widest), json!(window), "{window}");
    }
    let mut browser = Browser::start(700, 600);
    browser.open(&path);
    let width = |name: &str| {
        format!(
            "{}.querySelector('rect').getAttribute('width')",
            frame(name)
        )
    };
    let label = |name: &str| format!("{}.querySelector('text').textContent", frame(name));
    let name = "ns::Cache<int, char>::grow(int)";
    assert_eq!(browser.evaluate(&width("write")), "50%");
    assert_eq!(browser.evaluate(&label(name)), name);
    browser.click_on(&frame("read"));
    assert_eq!(browser.evaluate(&width("read")), "100%");
    let is_hidden = format!("{}.classList.contains('hide')", frame("write"));
    assert_eq!(browser.evaluate(&is_hidden), true);
    browser.press("Escape", 27);
    assert_eq!(browser.evaluate(&width("read")), "50%");
    browser.evaluate("window.prompt = () => 'GROW'; 0");
    browser.press("/", 191);
    let matched = "document.querySelector('#search').textContent";
    assert_eq!(browser.evaluate(matched), "Matched: 50.00% — search");
    // In a narrower window, labels keep the function's own name.
    browser.send_command(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 300, "height": 600, "deviceScaleFactor": 1, "mobile": false }),
    );
    browser.wait_for(&format!(
        "{} === '…::grow(…)' || {} === '…::Cache<…>::grow(…)'",
        label(name),
        label(name)
    ));
    assert_eq!(browser.errors, Vec::<String>::new());
}
