//! The program acts by its name.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program under a name.
fn run(name: &str, arguments: &[&str]) -> io::Result<Output> {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join(name);
    let program = Path::new(env!("CARGO_BIN_EXE_cg-tools"));
    if fs::hard_link(program, &link).is_err() {
        fs::copy(program, &link)?;
    }
    Command::new(&link).args(arguments).output()
}

#[test]
fn each_name_is_its_tool() {
    for tool in ["cg-parse", "cg-filter", "cg-diff", "cg-fmt", "leak-check"] {
        let output = run(tool, &["--version"]).unwrap();
        let version = format!("{tool} {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), version);
        assert_eq!(output.status.code(), Some(0), "{tool}");
    }
}

#[test]
fn another_name_is_an_error_that_lists_the_tools() {
    let output = run("cg-tools", &["--version"]).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("cg-parse, cg-filter, cg-diff, cg-fmt, leak-check"));
}
