//! Shell sessions in markdown, run and compared.
//!
//! A block fenced with `console` holds commands behind `$ ` and, below each, what it prints on standard output and
//! standard error. A command that does not exit with 0 is followed by a line `[exit status: N]`. Commands are run by
//! `bash -o pipefail` with the tools on the path. With `UPDATE_EXPECT=1` the file is rewritten instead, and the change
//! is for a person to read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tools;

/// Runs every session of a file in a folder.
///
/// # Panics
/// Where a command prints something else than the file says.
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
            "{}: UPDATE_EXPECT=1 would rewrite it\n{}",
            file.display(),
            failures.join("\n")
        );
    }
}

/// What a script prints, with its exit status where that is not 0.
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
