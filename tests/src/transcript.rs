//! Shell sessions in markdown: runs the commands and compares their output.
//!
//! A `console` block has commands after `$ ` and, below each command, its standard output and standard error. If a command
//! does not exit with 0, a line `[exit status: N]` follows. `bash -o pipefail` runs the commands, with the tools on the
//! path. With `UPDATE_EXPECT=1`, the file is rewritten instead, and a person reviews the change.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tools;

/// Runs every session of a file in a folder.
///
/// # Panics
/// Panics if the output of a command differs from the file.
pub fn check(file: &Path, folder: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let mut rewritten = String::new();
    let mut lines = text.lines().peekable();
    let mut in_session = false;
    let mut failures = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            in_session = !in_session && line == "```console";
        }
        rewritten += line;
        rewritten += "\n";
        let Some(first) = line.strip_prefix("$ ").filter(|_| in_session) else {
            continue;
        };
        let mut script = first.to_owned();
        while script.ends_with('\\')
            && let Some(more) = lines.next()
        {
            script += "\n";
            script += more;
            rewritten += more;
            rewritten += "\n";
        }
        let mut expected = String::new();
        while let Some(output) =
            lines.next_if(|line| !line.starts_with("```") && !line.starts_with("$ "))
        {
            expected += output;
            expected += "\n";
        }
        let found = run(&script, folder);
        rewritten += &found;
        if found != expected {
            failures.push(format!(
                "$ {script}\n--- expected\n{expected}--- found\n{found}"
            ));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(file, rewritten).unwrap();
    } else {
        assert!(
            failures.is_empty(),
            "{}: output differs; UPDATE_EXPECT=1 rewrites the file\n{}",
            file.display(),
            failures.join("\n")
        );
    }
}

/// Runs a script. Returns its output, followed by its exit status unless that is 0.
fn run(script: &str, folder: &Path) -> String {
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", tools::path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match output.status.code() {
        Some(0) => text,
        Some(status) => text + &format!("[exit status: {status}]\n"),
        None => text + "[killed by a signal]\n",
    }
}
