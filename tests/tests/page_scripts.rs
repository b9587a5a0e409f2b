//! Pages that no browser opens: the tests and the types of their scripts, what is sent of these, how much a page is and what it
//! says of a profile that was cut.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use needs::needs;
use tests::tools;

/// What pages are made of.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cg-document/src/html")
}

/// The kinds of pages, with the files of their scripts. Where a folder is named, all its files are meant.
const KINDS: [(&str, &[&str]); 3] = [
    ("page", &["page/tables.js", "page/search.js"]),
    (
        "findings",
        &["page/tables.js", "page/search-keys.js", "findings"],
    ),
    ("viewer", &["page/search-keys.js", "viewer"]),
];

/// The files of a script. `main.js`, which starts it, is the last of its folder.
fn scripts(parts: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for part in parts.iter().map(|part| sources().join(part)) {
        let Ok(folder) = std::fs::read_dir(&part) else {
            files.push(part);
            continue;
        };
        let inside = folder.map(|entry| entry.unwrap().path());
        let is_script = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "js");
        let mut inside: Vec<PathBuf> = inside.filter(is_script).collect();
        inside.sort_by_key(|path| (path.ends_with("main.js"), path.clone()));
        assert!(inside.len() >= 3, "{inside:?}");
        files.extend(inside);
    }
    files
}

/// A script in as few bytes as do the same.
fn minified(script: &str) -> String {
    let mut run = needs::command("esbuild")
        .args(["--minify", "--target=es2022", "--charset=utf8"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = run.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    let run = run.wait_with_output().unwrap();
    assert!(run.status.success());
    String::from_utf8(run.stdout).unwrap()
}

/// The scripts that pages send are made here, by `UPDATE_EXPECT=1`: whoever builds the tools needs nothing of Node's.
#[test]
fn the_scripts_that_pages_send_are_made_of_their_sources() {
    needs!("esbuild");
    for (kind, parts) in KINDS {
        let files = scripts(parts);
        let files = files
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap());
        let script = format!(
            "\"use strict\";(()=>{{\n{}}})();\n",
            files.collect::<String>()
        );
        let made = minified(&script);
        assert!(
            !made.contains("</script"),
            "{kind}.js would end its element"
        );
        let path = sources().join("sent").join(kind).with_extension("js");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, made).unwrap();
            continue;
        }
        let sent = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            sent == made,
            "{}: UPDATE_EXPECT=1 makes it anew",
            path.display()
        );
    }
}

#[test]
fn the_script_keeps_its_tests() {
    needs!("npm");
    for file in [
        "viewer/tests/viewer.test.mjs",
        "findings/tests/findings.test.mjs",
    ] {
        let run = needs::command("node")
            .arg("--test")
            .arg(sources().join(file))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{told}");
        assert!(!told.contains("# tests 0"), "{told}");
    }
}

#[test]
fn the_types_of_the_script_are_right() {
    needs!("typescript");
    for (kind, script) in KINDS.iter().skip(1) {
        let run = needs::command("tsc")
            .args(["--noEmit", "--allowJs", "--checkJs", "--strict", "false"])
            .args(["--target", "es2022", "--lib", "es2023,dom,dom.iterable"])
            .args(scripts(script))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "{kind}: {told}");
    }
}

/// A page is sent by mail and kept by CI: it has at most 0.9 times what gzip makes of its profile, and 100 KB.
#[test]
fn a_page_is_not_larger_than_its_profile() {
    let mut folders = vec![tests::data("")];
    let mut pages = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let run = tools::run("cg-fmt", &["-f", "html", path.to_str().unwrap()], b"");
            if run.status != 0 {
                continue;
            }
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            packer.write_all(&std::fs::read(&path).unwrap()).unwrap();
            let most = packer.finish().unwrap().len() * 9 / 10 + 100_000;
            let size = run.stdout.len();
            assert!(size <= most, "{}: {size} of {most} bytes", path.display());
            pages += 1;
        }
    }
    assert!(pages > 100, "{pages}");
}

#[test]
fn what_is_kept_of_a_profile_that_was_cut_says_so() {
    let whole = std::fs::read(tests::data("pair/before.callgrind.out")).unwrap();
    let lost = "an input is damaged or cut: figures are of what could be read of it";
    for args in [
        &["-f", "html"][..],
        &["-f", "html", "--tree", "callees"],
        &["-f", "markdown"],
    ] {
        let kept = tools::run("cg-fmt", args, &whole);
        assert!(kept.status == 0 && !kept.text().contains(lost), "{args:?}");
        let kept = tools::run("cg-fmt", args, &whole[..whole.len() / 2]);
        assert!(kept.status == 2 && kept.text().contains(lost), "{args:?}");
    }
}
