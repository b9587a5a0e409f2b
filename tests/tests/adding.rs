//! A test of the instructions in CONTRIBUTING: adds a format in a copy of the workspace.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::workspace;

/// The files of a workspace by their paths in it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the texts in backticks of a row of CONTRIBUTING, with these names for its placeholders.
fn row(title: &str, names: &[(&str, &str)]) -> Vec<String> {
    let contributing = fs::read_to_string(workspace().join("CONTRIBUTING.md")).unwrap();
    let row = contributing
        .lines()
        .find(|line| line.starts_with(&format!("| {title} |")))
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

/// Collects the files of the workspace, except build results and fuzzing.
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

/// Writes files into a folder. Unchanged files keep their modification time, so cargo does not build them again.
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

/// Returns a file of the toy format.
fn part(name: &str) -> String {
    fs::read_to_string(workspace().join("tests/adding").join(name)).unwrap()
}

/// Returns a file of the workspace, with a line inserted above the last line that begins with `before`.
fn with_line(files: &Files, path: &str, line: &str, before: &str) -> String {
    let text = String::from_utf8(files[Path::new(path)].clone()).unwrap();
    let place = text.rfind(&format!("\n{before}")).unwrap() + 1;
    [&text[..place], line, &text[place..]].concat()
}

#[test]
fn following_contributing_adds_a_format() {
    let row = row(
        "an input format",
        &[
            ("CRATE", "cg-stacks"),
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
    // Another version, so that the crates have different files in the shared build folder.
    let version = |line: &str| format!("\nversion = \"{}{line}\"\n", env!("CARGO_PKG_VERSION"));
    let manifest = String::from_utf8(files[Path::new("Cargo.toml")].clone()).unwrap();
    assert!(manifest.contains(&version("")));
    let manifest = manifest.replace(&version(""), &version("+toy"));
    // Optimisation is not needed: the input is small.
    let lines = manifest.lines().map(|line| format!("{line}\n"));
    let manifest: String = lines
        .filter(|line| !(line.starts_with("cg-") && line.contains(".opt-level = 1")))
        .collect();
    files.insert("Cargo.toml".into(), manifest.into_bytes());

    // Keep the folder: the next run builds only changes.
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
            // This workspace's build already has the dependencies.
            .env("CARGO_BUILD_BUILD_DIR", built)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{command}: {stderr}{}",
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
    assert!(run(&["--help"]).contains("stacks in a toy format"));
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
