//! What CONTRIBUTING says of adding things is enough: a format is added in a copy of the workspace as its row says.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::workspace;

/// The files of a workspace by their paths in it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The row of CONTRIBUTING: what stands in backticks in it, with these names for its placeholders.
fn row(of: &str, names: &[(&str, &str)]) -> Vec<String> {
    let contributing = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let row = contributing
        .lines()
        .find(|line| line.starts_with(&format!("| {of} |")))
        .unwrap();
    let quoted = row.split('`').skip(1).step_by(2);
    let named = quoted.map(|text| {
        names
            .iter()
            .fold(text.to_owned(), |text, (placeholder, name)| {
                text.replace(placeholder, name)
            })
    });
    named.collect()
}

/// The workspace but for what is built of it and what is fuzzed.
fn files(folder: &Path, found: &mut Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let inside = path.strip_prefix(workspace()).unwrap();
        if ["target", ".git", "fuzz"]
            .iter()
            .any(|name| inside == Path::new(name))
        {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else {
            found.insert(inside.to_owned(), fs::read(&path).unwrap());
        }
    }
}

/// Makes a folder hold these files. What is there already keeps its time, by which cargo knows what it need not build again.
fn write(folder: &Path, files: &Files) {
    for (path, bytes) in files {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|known| known == *bytes) {
            continue;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A part of the toy that is added.
fn part(name: &str) -> String {
    fs::read_to_string(workspace().join("tests/adding").join(name)).unwrap()
}

/// A text of the workspace with this in front of the last line that begins so.
fn with_line(files: &Files, path: &str, line: &str, before: &str) -> String {
    let text = String::from_utf8(files[Path::new(path)].clone()).unwrap();
    let place = text.rfind(&format!("\n{before}")).unwrap() + 1;
    [&text[..place], line, &text[place..]].concat()
}

#[test]
fn a_format_is_added_as_contributing_says() {
    let row = row(
        "a format of profiles",
        &[
            ("ROOM", "cg-stacks"),
            ("NAME", "toy"),
            ("SEED", "three.toy"),
        ],
    );
    let (paths, commands): (Vec<String>, Vec<String>) =
        row.into_iter().partition(|text| !text.contains(' '));
    let mut files_before = Files::new();
    files(&workspace(), &mut files_before);
    let added = [
        ("crates/cg-stacks/src/toy.rs", part("module.rs")),
        (
            "crates/cg-stacks/src/lib.rs",
            with_line(
                &files_before,
                "crates/cg-stacks/src/lib.rs",
                "pub mod toy;\n",
                "pub mod ",
            ),
        ),
        (
            "cg-parse/src/formats.rs",
            with_line(
                &files_before,
                "cg-parse/src/formats.rs",
                &part("entry.rs"),
                "];",
            ),
        ),
        ("tests/data/toy/three.toy", part("seed")),
        (
            "tests/data/README.md",
            with_line(
                &files_before,
                "tests/data/README.md",
                "| `toy/three.toy` | by hand | three stacks |\n",
                "| `stacks/",
            ),
        ),
    ];
    assert_eq!(paths, added.each_ref().map(|(path, _)| *path));
    let mut files = files_before;
    files.extend(added.map(|(path, text)| (PathBuf::from(path), text.into_bytes())));
    // Of another version, so that its crates have other files in the folder where both are built.
    let version = |line: &str| format!("\nversion = \"{}{line}\"\n", env!("CARGO_PKG_VERSION"));
    let manifest = String::from_utf8(files[Path::new("Cargo.toml")].clone()).unwrap();
    assert!(manifest.contains(&version("")));
    let manifest = manifest.replace(&version(""), &version("+toy"));
    // Its readers read little.
    let lines = manifest.lines().map(|line| format!("{line}\n"));
    let manifest: String = lines
        .filter(|line| !(line.starts_with("cg-") && line.contains(".opt-level = 1")))
        .collect();
    files.insert("Cargo.toml".into(), manifest.into_bytes());

    // A folder that stays: the next run builds what has changed since.
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding");
    let tables = ["docs/formats.md", "crates/cg-stream/FORMAT.md"];
    write(&scratch, &files);
    let target = scratch.join("target");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    for command in &commands {
        let output = Command::new("bash")
            .args(["-c", &format!("{command} --offline --quiet")])
            .current_dir(&scratch)
            .env("CARGO_TARGET_DIR", &target)
            // Dependencies were built for this workspace already.
            .env("CARGO_BUILD_BUILD_DIR", built)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command}: {said}{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    for table in tables {
        let text = fs::read_to_string(scratch.join(table)).unwrap();
        assert!(text.contains("| `toy` |"), "{table}");
    }
    let run = |args: &[&str]| {
        let tool = Command::new(target.join("debug/cg-parse"))
            .args(args)
            .current_dir(&scratch)
            .output();
        String::from_utf8(tool.unwrap().stdout).unwrap()
    };
    assert!(run(&["--help"]).contains("stacks of a profiler that nobody uses"));
    assert_eq!(
        run(&["tests/data/toy/three.toy"]),
        concat!(
            "{\"type\":\"run\",\"stream\":1,\"tool\":\"toy\",\"source\":[\"tests/data/toy/three.toy\"],\"events\":[\"samples\"],\"total\":{\"samples\":22}}\n",
            "{\"type\":\"stack\",\"fn\":\"read\",\"cost\":{\"samples\":17},\"stack\":[{\"fn\":\"read\"},{\"fn\":\"parse\"},{\"fn\":\"main\"}]}\n",
            "{\"type\":\"stack\",\"fn\":\"parse\",\"cost\":{\"samples\":3},\"stack\":[{\"fn\":\"parse\"},{\"fn\":\"main\"}]}\n",
            "{\"type\":\"stack\",\"fn\":\"main\",\"cost\":{\"samples\":2},\"stack\":[{\"fn\":\"main\"}]}\n",
            "{\"type\":\"end\",\"records\":3}\n",
        )
    );
}
