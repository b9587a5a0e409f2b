//! speedscope's published page in a real browser opens files of cg-fmt and shows the same figures as the stream. Files in
//! speedscope's format conform to the published schema.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use needs::needs;
use tests::browser::Browser;
use tests::tools;

/// Returns the folder of the page in the npm package.
fn release() -> PathBuf {
    needs::node_package("speedscope").join("dist/release")
}

/// Self and inclusive figures by function.
type Functions = BTreeMap<String, [u64; 2]>;

/// Returns the functions from cg-fmt, for one event.
fn listed(file: &str, event: &str) -> Functions {
    let columns = format!("{event},incl.{event},fn");
    let csv = tools::stdout("cg-fmt", &["-f", "csv", "--columns", &columns, file], b"");
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let rows = reader.records().map(|row| row.unwrap());
    rows.map(|row| (row[2].to_owned(), [0, 1].map(|at| row[at].parse().unwrap())))
        .collect()
}

/// Opens a file in the page. Returns the functions in the page's table.
fn shown(browser: &mut Browser, name: &str, written: &[u8]) -> Functions {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, written).unwrap();
    let base64 = Command::new("base64").arg("--wrap=0").arg(&path).output();
    let base64 = String::from_utf8(base64.unwrap().stdout).unwrap();
    let script = folder.path().join("load.js");
    let load = format!("speedscope.loadFileFromBase64({name:?}, {base64:?})");
    std::fs::write(&script, load).unwrap();
    let index = release().join("index.html");
    let address = format!("{}#localProfilePath={}", index.display(), script.display());
    // Open another page first: a page is not loaded again if only the part after `#` differs.
    browser.open(Path::new("/dev/null"));
    browser.open(Path::new(&address));
    browser.wait_for("document.body.textContent.includes('Sandwich')");
    browser.press("3", 51);
    browser.evaluate("window.dispatchEvent(new KeyboardEvent('keypress', {key: '3'}))");
    browser.wait_for("document.querySelectorAll('table tr').length > 3");
    let rows = browser.evaluate(
        "Array.from(document.querySelectorAll('table tr'), (row) => Array.from(row.cells, (cell) => cell.textContent))",
    );
    let mut shown = Functions::new();
    for row in rows.as_array().unwrap() {
        let cells: Vec<&str> = row
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell.as_str().unwrap())
            .collect();
        let [total, own, name] = cells.as_slice() else {
            continue;
        };
        // `260 (26.0%)`
        let figure = |text: &str| text.split(' ').next()?.replace(',', "").parse::<u64>().ok();
        if let (Some(total), Some(own)) = (figure(total), figure(own)) {
            shown.insert((*name).to_owned(), [own, total]);
        }
    }
    shown
}

#[test]
fn speedscope_page_shows_the_same_functions_and_figures() {
    needs!("browser", "speedscope");
    let file = "stacks/before.folded";
    let expected = listed(file, "samples");
    let mut browser = Browser::start(1400, 1000);
    for (format, name) in [
        ("speedscope", "profile.speedscope.json"),
        ("folded", "profile.folded.txt"),
        ("pprof", "profile.pb"),
    ] {
        let mut written = tools::stdout("cg-fmt", &["-f", format, file], b"");
        if format == "pprof" {
            // Unpack the file first, because the page's own unpacking is not tested here.
            let mut unpacked = Vec::new();
            std::io::copy(&mut GzDecoder::new(&written[..]), &mut unpacked).unwrap();
            written = unpacked;
        }
        let found = shown(&mut browser, name, &written);
        assert_eq!(found, expected, "{format}");
    }
}

#[test]
fn speedscope_page_opens_functions_and_calls() {
    needs!("browser", "speedscope");
    let file = "fmt/sort.callgrind.out";
    // Use a stream: in a raw profile, recursion levels call each other, and the page makes too expensive stacks from them.
    let calls = tools::stdout("cg-parse", &["--calls", file], b"");
    let written = tools::run("cg-fmt", &["-f", "callgrind"], &calls).stdout;
    let mut browser = Browser::start(1400, 1000);
    let found = shown(&mut browser, "callgrind.out.1", &written);
    let expected = listed(file, "Ir");
    for function in ["main", "bubble_sort", "quick_sort", "less", "swap", "fill"] {
        assert_eq!(
            found.get(function),
            expected.get(function),
            "{function}: {found:?}"
        );
    }
    // The totals are also equal.
    let stream = tools::stdout("cg-parse", &[file], b"");
    let total: u64 = expected.values().map(|[own, _]| own).sum();
    let shown: u64 = found.values().map(|[own, _]| own).sum();
    assert!(
        String::from_utf8(stream)
            .unwrap()
            .contains(&format!("\"total\":{{\"Ir\":{total}}}"))
    );
    assert_eq!(shown, total);
}

#[test]
fn files_conform_to_the_speedscope_schema() {
    needs!("python", "jsonschema", "speedscope");
    let schema = release().join("file-format-schema.json");
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "stacks/before.folded",
        "perf/6.1-busy.perf.txt",
        "dhat/3.19.0-heapy.dhat.json",
        "massif/3.19.0-heapy_i.massif.out",
        "heaptrack/1.4.0-shapes.zst",
    ] {
        let run = tools::run("cg-fmt", &["-f", "speedscope", file], b"");
        assert_eq!(run.status, 0, "{file}: {}", run.stderr);
        let path = folder.path().join("profile.json");
        std::fs::write(&path, run.stdout).unwrap();
        let check = "import json, sys, jsonschema; jsonschema.validate(*(json.load(open(name)) for name in sys.argv[1:]))";
        let output = needs::command("python3")
            .args(["-c", check])
            .args([&path, &schema])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file}: {stderr}");
    }
}
