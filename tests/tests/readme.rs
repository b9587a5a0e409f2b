//! The table of the README: what people type today, and what they type now.

use std::fs;
use std::process::{Command, Stdio};

use tests::{data, tools, workspace};

/// The files that the commands of the table name, and the profiles that these are.
const FILES: [(&str, &str); 9] = [
    ("callgrind.out", "pair/before.callgrind.out"),
    ("old.out", "pair/before.callgrind.out"),
    ("new.out", "pair/after.callgrind.out"),
    ("massif.out", "massif/3.19.0-heapy_i.massif.out"),
    ("dhat.out", "dhat/3.19.0-heapy.dhat.json"),
    ("valgrind.1.xml", "memcheck/3.27.1-leaky.xml"),
    ("valgrind.2.xml", "memcheck/3.27.1-clean.xml"),
    ("heaptrack.zst", "heaptrack/1.4.0-shapes.zst"),
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
    // What perf would print here.
    let perf = format!(
        "perf() {{ cat {}; }}",
        data("perf/6.1-busy.perf.txt").display()
    );
    let rows = readme
        .lines()
        .skip_while(|line| !line.starts_with("| today you type"))
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
            // The leaks of the log are a verdict, not a failure.
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
            // No crate of the profile is called mycrate.
            let least = if command.contains("mycrate") { 50 } else { 200 };
            assert!(shown.len() > least, "{command}: {}", shown.len());
        }
    }
    assert!(commands > 12, "{commands}");
}
