//! Runs the commands in the README of the nextest example, with the real cargo-nextest and Valgrind.

use std::path::Path;
use std::process::{Command, Stdio};

use needs::needs;

use crate::support::leak_check_in;

/// Returns the commands in the console blocks of a README, each with its continuation lines.
fn commands(readme: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for block in readme.split("```console\n").skip(1) {
        let Some((block, _)) = block.split_once("```") else {
            continue;
        };
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push(command.to_owned()),
                (None, Some(command)) => {
                    command.push('\n');
                    command.push_str(line);
                }
                (None, None) => {}
            }
        }
    }
    commands
}

#[test]
fn the_example_finds_errors_that_its_tests_miss() {
    needs!("valgrind", "nextest");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/nextest");
    let project = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .arg("-r")
        .args(["Cargo.toml", "README.md", ".config", "src", "tests"].map(|file| example.join(file)))
        .arg(project.path())
        .status()
        .unwrap();
    assert!(copied.success());

    let commands = commands(&std::fs::read_to_string(example.join("README.md")).unwrap());
    let script = commands
        .iter()
        .map(|command| format!("{command}\necho \"status $?\"\n"))
        .collect::<String>();
    // Keep the logs of nextest's tests, because later commands replace them.
    let script = script.replacen(
        "\nleak-check",
        "\ncp -r target/valgrind logs\nleak-check",
        1,
    );
    let tools = Path::new(env!("CARGO_BIN_EXE_leak-check"))
        .parent()
        .unwrap();
    let mut bash = needs::command("bash");
    bash.arg("-c").arg(&script).current_dir(project.path());
    // Hide the variables of the Cargo that runs this test from the Cargo in the script.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_") && name_text != "CARGO_HOME"
            || name_text.starts_with("NEXTEST")
        {
            bash.env_remove(&name);
        }
    }
    let output = bash
        .env(
            "PATH",
            format!("{}:{}", tools.display(), needs::path().display()),
        )
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let statuses: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("status "))
        .collect();
    // The commands: create the directory, run the tests, judge; judge with --allow-exec; write the baseline, judge with it;
    // then create the directory, run the tests and judge without nextest.
    assert_eq!(
        statuses,
        ["0", "0", "1", "1", "0", "0", "0", "0", "1"],
        "{script}\n{stdout}\n{stderr}"
    );
    for finding in [
        "nextest_example::Buffer::new (src/lib.rs)\n  leaks 100 bytes in 1 block, definitely lost\n",
        "nextest_example::Buffer::get (src/lib.rs)\n  reads 1 byte just past a 16-byte block allocated at src/lib.rs:17\n",
        "    in test leaks of buffer, process ",
        "    in test reads_past_the_end of buffer, process ",
        "failed: 2 new findings (1 InvalidRead, 1 definite leak) in 2 processes, ",
        " suppressed; judged 3 of 3 processes",
        ") in 1 process",
    ] {
        assert!(stdout.contains(finding), "{finding}\n{stdout}");
    }

    let args = ["--format=junit", "logs"];
    let run = leak_check_in(project.path(), &args, b"");
    let report = quick_junit::Report::deserialize_from_str(&run.stdout).unwrap();
    let mut cases: Vec<(&str, bool)> = report
        .test_suites
        .iter()
        .filter(|suite| suite.name == *"buffer")
        .flat_map(|suite| &suite.test_cases)
        .map(|case| {
            let passes = matches!(case.status, quick_junit::TestCaseStatus::Success { .. });
            (case.name.as_str(), passes)
        })
        .collect();
    cases.sort_unstable();
    cases.dedup();
    assert_eq!(
        cases,
        [
            ("clean", true),
            ("leaks", false),
            ("reads_past_the_end", false)
        ]
    );
}
