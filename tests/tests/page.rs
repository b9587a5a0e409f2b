//! Pages in a real browser: it loads them from a file, clicks, types and goes back without errors.

use needs::needs;
use serde_json::json;
use tests::browser::Browser;
use tests::pages::{go, page, show, texts};

#[test]
fn selection_is_shared_by_panes_and_address_and_moved_by_keys() {
    needs!("browser");
    let mut browser = Browser::start(1300, 900);
    show(&mut browser, &["pair/before.callgrind.out"], b"");
    browser.click_on("rows()[1]");
    let first = browser.evaluate("selected()[0]");
    assert_eq!(browser.evaluate("hashFields().fn"), first);
    browser.click_on("rows()[3]");
    assert_ne!(browser.evaluate("selected()[0]"), first);
    browser.evaluate("history.back()");
    let name = first.as_str().unwrap();
    browser.wait_for(&format!("selected()[0] === {name:?}"));
    go(&mut browser, "#view=tree&fn=wordcount%3A%3Anormalise");
    let is_selected = |view: &str| {
        format!("all('[aria-selected=true]', pane('{view}')).map((one) => one.dataset.fn).join()")
    };
    for view in ["tree", "table"] {
        assert_eq!(
            browser.evaluate(&is_selected(view)),
            "wordcount::normalise",
            "{view}"
        );
    }
    go(&mut browser, "#view=flame&fn=wordcount%3A%3Anormalise");
    let frames = browser.evaluate(&is_selected("flame"));
    assert!(
        frames.as_str().unwrap().contains("wordcount::normalise"),
        "{frames}"
    );
    go(&mut browser, "#view=table");
    browser.evaluate("grid().focus()");
    browser.press("End", 35);
    assert_eq!(
        browser.evaluate("rows().at(-1).getAttribute('aria-selected')"),
        "true"
    );
    assert_eq!(
        browser.evaluate("document.getElementById(grid().getAttribute('aria-activedescendant')).dataset.fn === hashFields().fn"),
        true
    );
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn pages_support_dark_mode_print_and_phones() {
    needs!("browser");
    let mut browser = Browser::start(1000, 900);
    let mut seen = Vec::new();
    for scheme in ["light", "dark"] {
        browser.send_command(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        show(&mut browser, &["massif/3.19.0-heapy_i.massif.out"], b"");
        seen.push(browser.evaluate(
            "[document.body, document.querySelector('.chart .bytes')].map((element) => \
             getComputedStyle(element)[element === document.body ? 'backgroundColor' : 'fill'])",
        ));
        assert_eq!(browser.errors, Vec::<String>::new());
    }
    assert_eq!(seen[0][0], "rgb(255, 255, 255)");
    assert_eq!(seen[1][0], "rgb(22, 24, 29)");
    assert_ne!(seen[0][1], seen[1][1]);
    let printed = browser.send_command("Page.printToPDF", json!({}));
    // `%PDF`
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi"));
    let numbers = browser.evaluate(
        "Array.from(document.querySelectorAll('.chart .bytes'), (text) => text.textContent).join(' ')",
    );
    assert_eq!(numbers, "0 256 KiB 512 KiB 768 KiB 1 MiB");
    browser.send_command(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true}),
    );
    show(&mut browser, &["massif/3.19.0-heapy_i.massif.out"], b"");
    for view in ["table", "flame", "tree", "calls", "memory"] {
        go(&mut browser, &format!("#view={view}"));
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth <= 390"),
            true,
            "{view}"
        );
    }
    let letters = "Math.min(...all('.chart text').map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))";
    let letters = browser.evaluate(letters);
    assert!(letters.as_f64().unwrap() >= 9.0, "{letters}");
    go(&mut browser, "#view=table");
    let first = browser.evaluate("(() => { const box = rows()[0].getBoundingClientRect(); return [box.top, box.bottom]; })()");
    assert!(
        first[0].as_f64().unwrap() > 0.0 && first[1].as_f64().unwrap() < 844.0,
        "{first}"
    );
}

/// Names that contain markup, scripts or ends of elements.
const HOSTILE: [&str; 4] = [
    "<img src=x onerror=\"globalThis.hit=1\">",
    "</script><script>globalThis.hit=1</script>",
    "</iframe>'\"><svg onload=globalThis.hit=1>&lt;b&gt;",
    "</title></textarea></noscript></style>{{alert(1)}}",
];

#[test]
fn hostile_names_are_text_and_pages_load_nothing() {
    needs!("browser");
    let mut stream = String::from(
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"</title><script>globalThis.hit=1</script>\",\"events\":[\"samples\"],\"total\":{\"samples\":4}}\n",
    );
    for name in HOSTILE {
        let frame = json!({"fn": name, "file": name, "obj": name});
        let record = json!({"type": "stack", "fn": name, "stack": [frame, {"fn": "main"}], "cost": {"samples": 1}});
        // The type must be the first field.
        let record = record.to_string();
        let record = record.replacen("\"type\":\"stack\"", "\"of\":\"\"", 1);
        stream.push_str(&record.replacen('{', "{\"type\":\"stack\",", 1));
        stream.push('\n');
    }
    stream.push_str("{\"type\":\"end\",\"records\":4}\n");
    let mut browser = Browser::start(1000, 900);
    show(&mut browser, &["-"], stream.as_bytes());
    let hit = "typeof globalThis.hit";
    for view in ["table", "flame", "tree", "calls"] {
        go(&mut browser, &format!("#view={view}&fn=main"));
        assert_eq!(browser.evaluate(hit), "undefined", "{view}");
    }
    go(&mut browser, "#view=table");
    let names = texts(&browser.evaluate(
        "rows().flatMap((row) => [row.dataset.fn, ...Array.from(row.children, (cell) => cell.textContent)])",
    ));
    for name in HOSTILE {
        assert!(
            names.iter().filter(|text| *text == name).count() > 1,
            "{name}: {names:?}"
        );
    }
    assert_eq!(browser.errors, Vec::<String>::new());

    // Even if a name became markup, the page's policy would block its scripts and images.
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
fn verdict_can_be_a_page() {
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
        "lead bad: failed: 20 new findings (1 FishyValue, 2 InvalidFree, 2 InvalidRead, 3 InvalidWrite, 1 Overlap, 1 ReallocSizeZero, 1 SyscallParam, 1 UninitCondition, 1 UninitValue, 6 definite leaks, 1 possible leak) in 1 process; judged 1 of 1 process"
    );
    browser.press("/", 191);
    browser.write("chain leaks");
    // One direct leak, and one indirect leak below it.
    browser.wait_for("document.querySelector('[role=status]').dataset.matches === '2'");
    browser.click_on("document.querySelector('details.fold:not([hidden]) summary')");
    let stack =
        browser.evaluate("document.querySelector('details.fold[open] .frames').textContent");
    assert!(stack.as_str().unwrap().contains("by chain ("), "{stack}");
    assert_eq!(browser.errors, Vec::<String>::new());
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
