//! Parts of the README other than its sessions: the table of commands, the picture, the length, the links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tests::{data, tools, workspace};

/// The file names in the commands of the table, with the profiles used for them.
const FILES: [(&str, &str); 10] = [
    ("callgrind.out", "pair/before.callgrind.out"),
    ("old.out", "pair/before.callgrind.out"),
    ("new.out", "pair/after.callgrind.out"),
    ("massif.out", "massif/3.19.0-heapy_i.massif.out"),
    ("dhat.out", "dhat/3.19.0-heapy.dhat.json"),
    ("valgrind.1.xml", "memcheck/3.27.1-leaky.xml"),
    ("valgrind.2.xml", "memcheck/3.27.1-clean.xml"),
    ("heaptrack.zst", "heaptrack/1.4.0-shapes.zst"),
    ("perf.data", "perf-data/6.1-spin.data"),
    ("src/wordcount.rs", "pair/wordcount.rs"),
];

#[test]
fn every_command_of_the_table_runs() {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    for (name, profile) in FILES {
        fs::copy(data(profile), folder.path().join(name)).unwrap();
    }
    // A stand-in for perf.
    let perf = format!(
        "perf() {{ cat {}; }}",
        data("perf/6.1-busy.perf.txt").display()
    );
    let rows = readme
        .lines()
        .skip_while(|line| !line.starts_with("| instead of"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut commands = 0;
    for row in rows {
        let now = row.replace("\\|", "\u{1}");
        let now = now.split('|').nth(2).unwrap().replace('\u{1}', "|");
        for command in now.split('`').skip(1).step_by(2) {
            commands += 1;
            let script = format!("{perf}\n{command}");
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-c", &script])
                .env(
                    "PATH",
                    format!("{}:/usr/bin:/bin", tools::folder().display()),
                )
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            // leak-check exits with 1 because of the leaks in the log.
            let expected = i32::from(command.starts_with("leak-check"));
            assert_eq!(output.status.code(), Some(expected), "{command}: {stderr}");
            let written = command.split_once("-o ").map(|(_, rest)| {
                let name = rest.split(' ').next().unwrap();
                fs::read(folder.path().join(name)).unwrap()
            });
            let shown = match &written {
                Some(file) => file,
                None => &output.stdout,
            };
            // The profile has no crate called mycrate.
            let least = if command.contains("mycrate") { 50 } else { 200 };
            assert!(shown.len() > least, "{command}: {}", shown.len());
        }
    }
    assert!(commands > 12, "{commands}");
}

#[test]
fn picture_is_the_output_of_the_command_below_it() {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, below) = readme.split_once("![").unwrap();
    let picture = workspace().join(below.split(['(', ')']).nth(1).unwrap());
    let name = picture.file_name().unwrap().to_str().unwrap();
    let command = below.split("```").nth(1).unwrap();
    let command = command.strip_prefix("bash\n").unwrap();
    assert!(command.contains(&format!("-o {name}\n")), "{command}");
    let folder = tempfile::tempdir().unwrap();
    let drawn = folder.path().join(name);
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c"])
        .arg(command.replace(name, drawn.to_str().unwrap()))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", tools::folder().display()),
        )
        .current_dir(data(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let drawn = fs::read(drawn).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&picture, &drawn).unwrap();
    }
    assert!(
        drawn == fs::read(&picture).unwrap(),
        "{}: out of date; UPDATE_EXPECT=1 draws it again",
        picture.display()
    );
    assert!(drawn.len() < 60_000, "{}", drawn.len());
}

#[test]
fn readme_has_at_most_200_lines() {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= 200, "{lines} lines; move text to the tour");
}

#[test]
fn speed_in_the_readme_is_a_row_of_the_full_table() {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Speed\n\n").unwrap();
    let (sentence, _) = section.split_once("\n\n").unwrap();
    let table = fs::read_to_string(workspace().join("docs/speed.md")).unwrap();
    let row = table
        .lines()
        .find(|line| line.starts_with("| `cg-parse`, callgrind with `--dump-instr=yes` |"))
        .unwrap();
    let figures = |text: &str| -> Vec<String> {
        text.split_whitespace()
            .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(figures(sentence), figures(row), "{sentence}");
}

#[test]
fn every_link_has_an_existing_file_and_heading() {
    let mut files: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ]
    .map(PathBuf::from)
    .into();
    for folder in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(workspace().join(folder)).unwrap() {
            files.push(Path::new(folder).join(entry.unwrap().file_name()));
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    let mut links = 0;
    for file in files {
        let text = fs::read_to_string(workspace().join(&file)).unwrap();
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => workspace().join(&file),
                path => workspace().join(&file).with_file_name(path),
            };
            assert!(target.exists(), "{}: {link}", file.display());
            if !heading.is_empty() {
                let headings = fs::read_to_string(&target).unwrap();
                let found = headings
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .any(|line| anchor(line.trim_start_matches('#')) == heading);
                assert!(found, "{}: {link}", file.display());
            }
        }
    }
    assert!(links > 20, "{links}");
}

/// Returns the anchor of a heading for links.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter(|character| character.is_alphanumeric() || " -_".contains(*character))
        .map(|character| character.to_ascii_lowercase())
        .map(|character| if character == ' ' { '-' } else { character })
        .collect()
}
