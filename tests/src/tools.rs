//! The five binaries. Each test program builds them once, and runs them here.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread;

/// The five tools.
pub const TOOLS: [&str; 5] = ["cg-parse", "cg-filter", "cg-diff", "cg-fmt", "leak-check"];

/// Returns the folder that the tools were built into.
///
/// Cargo passes a test only the binaries of its own package, so this builds the tools, with the profile of the test.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(build);
    &FOLDER
}

fn build() -> PathBuf {
    // Use existing binaries, for example those of a release.
    if let Some(folder) = std::env::var_os("CG_TOOLS") {
        return folder.into();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--bins",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(crate::workspace())
        .stderr(Stdio::inherit());
    for tool in TOOLS {
        command.args(["-p", tool]);
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "the tools do not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo prints the paths of its binaries");
    executable.parent().unwrap().into()
}

/// Returns the path: the tools first, then the capabilities that tests need.
pub fn path() -> String {
    format!("{}:{}", folder().display(), needs::path().display())
}

/// Returns a command for one of the tools, which is not started yet.
pub fn command(tool: &str) -> Command {
    let mut command = Command::new(folder().join(tool));
    command.current_dir(crate::data(""));
    command
}

/// The result of running a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The exit status; -1 if a signal ended the tool.
    pub status: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Run {
    /// Returns standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

/// Runs a tool in the folder of the test data with this input, and fails if it panics.
pub fn run(tool: &str, args: &[&str], input: &[u8]) -> Run {
    let mut command = command(tool);
    command.args(args);
    run_command(command, input)
}

/// Runs a command with this input, and fails if it panics.
pub fn run_command(mut command: Command, input: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output: Output = thread::scope(|scope| {
        scope.spawn(move || {
            // A tool that rejects its arguments or its input does not read to the end.
            let _ = stdin.write_all(input);
        });
        child.wait_with_output().unwrap()
    });
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{command:?}: {stderr}");
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr,
    }
}

/// Runs a tool and returns its output. Panics unless the status is 0 and stderr is empty.
pub fn stdout(tool: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let run = run(tool, args, input);
    assert_eq!(
        (run.status, run.stderr.as_str()),
        (0, ""),
        "{tool} {args:?}"
    );
    run.stdout
}
