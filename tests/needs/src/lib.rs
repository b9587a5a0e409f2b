//! Programs and libraries that tests need on their machine.
//!
//! A test that needs more than Rust begins with [`needs!`] and names from [`CAPABILITIES`], and starts programs with
//! [`command`]. An installed capability that works is used unchanged. If one is missing, the test fails if the environment
//! has `CI`. Otherwise the test is skipped and recorded in a ledger, which the last test program of a run reads
//! ([`skipped`]). `cargo run -p needs` installs missing capabilities.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

pub mod install;
mod table;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

pub use table::{CAPABILITIES, Capability, Install};

/// Ends a test if a capability is missing. The test is skipped, or fails if `CI` is set.
///
/// # Panics
/// Panics if a name is not in the table, or if the environment has `CI` and a capability is missing.
#[macro_export]
macro_rules! needs {
    ($($name:literal),+ $(,)?) => {
        if !$crate::is_there(&[$($name),+]) {
            return;
        }
    };
}

/// Returns false if a capability is missing and the calling thread's test must be skipped.
///
/// # Panics
/// Panics if a name is not in the table, or if the environment has `CI` and a capability is missing.
pub fn is_there(names: &[&str]) -> bool {
    for name in names {
        let capability = capability(name).unwrap_or_else(|| panic!("{name}: no such capability"));
        let Err(reason) = found(capability) else {
            continue;
        };
        assert!(
            std::env::var_os("CI").is_none(),
            "needs {name}, which is missing ({reason}): cargo run -p needs {name} installs it"
        );
        skip(name);
        return false;
    }
    true
}

/// Returns a capability by its name; `None` if the name is unknown.
pub fn capability(name: &str) -> Option<&'static Capability> {
    CAPABILITIES
        .iter()
        .find(|capability| capability.name == name)
}

/// Returns the result of a capability's probe, which runs once per process.
fn found(capability: &'static Capability) -> Result<(), String> {
    static FOUND: Mutex<BTreeMap<&str, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap();
    found
        .entry(capability.name)
        .or_insert_with(|| probe(capability, &path()))
        .clone()
}

/// Runs a capability's probe with this path. The error is the last line that the probe printed.
pub(crate) fn probe(capability: &Capability, path: &OsStr) -> Result<(), String> {
    // A program that hangs does not work.
    let output = Command::new("timeout")
        .args(["60", "bash", "-c", capability.probe])
        .env("PATH", path)
        .env("NEEDS_FOLDER", folder())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().rfind(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
}

/// Returns the size of a long test: about a tenth by default, the full size if the environment has `CG_TESTS_FULL`.
pub fn size<Size>(full: Size, tenth: Size) -> Size {
    if std::env::var_os("CG_TESTS_FULL").is_some() {
        full
    } else {
        tenth
    }
}

/// Returns the folder for local installations, a subfolder of the build folder.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        // The build folder can be configured. Cargo puts the tag only into a folder that it created itself, and its
        // information on the compiler into every build folder.
        let program = std::env::current_exe().unwrap();
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        let build = program
            .ancestors()
            .find(|folder| marks.iter().any(|mark| folder.join(mark).exists()));
        build.expect("a program built by Cargo").join("needs")
    });
    &FOLDER
}

/// Returns the path, preceded by all folders that [`install`] puts programs into.
pub fn path() -> OsString {
    let own = ["bin", "python/bin", "cargo/bin", "node/node_modules/.bin"];
    let own = own.map(|name| folder().join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

/// Returns a command that is searched for in [`path`].
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path());
    command
}

/// Returns the folder of a Node package, installed locally or for the whole machine.
pub fn node_package(name: &str) -> PathBuf {
    let own = folder().join("node/node_modules").join(name);
    if own.exists() {
        return own;
    }
    let root = command("npm").args(["root", "--global"]).output().unwrap();
    Path::new(String::from_utf8(root.stdout).unwrap().trim()).join(name)
}

/// Returns the file with the skipped tests of this run. A run is identified by the process that started the test programs
/// and by its start time.
fn ledger() -> PathBuf {
    #[cfg(unix)]
    let parent = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let parent = std::process::id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    // proc(5): the name is in parentheses, and field 22 is the start time.
    let started = stat
        .rsplit(')')
        .next()
        .and_then(|fields| fields.split_whitespace().nth(19));
    let name = format!("{parent}-{}", started.unwrap_or("0"));
    folder().join("skipped").join(name)
}

fn skip(name: &str) {
    let ledger = ledger();
    fs::create_dir_all(ledger.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(ledger)
        .unwrap();
    let thread = std::thread::current();
    let line = format!("{name}\t{}\n", thread.name().unwrap_or("?"));
    file.write_all(line.as_bytes()).unwrap();
}

/// Returns one line on the tests skipped so far in this run, with the reasons, and deletes the ledger.
///
/// # Panics
/// Panics if the ledger exists and cannot be read.
pub fn skipped() -> String {
    let ledger = ledger();
    let text = match fs::read_to_string(&ledger) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => {
            fs::remove_file(&ledger).unwrap();
            read.unwrap()
        }
    };
    summary(&text)
}

fn summary(ledger: &str) -> String {
    let mut tests: BTreeMap<&str, usize> = BTreeMap::new();
    for line in ledger.lines() {
        let (name, _) = line.split_once('\t').unwrap_or((line, ""));
        *tests.entry(name).or_default() += 1;
    }
    if tests.is_empty() {
        return "no test was skipped".to_owned();
    }
    let count: usize = tests.values().sum();
    let plural = if count == 1 { "test was" } else { "tests were" };
    let reasons = tests.iter().map(|(name, count)| format!("{name} {count}"));
    format!(
        "{count} {plural} skipped because of missing capabilities: {}; cargo run -p needs installs them",
        Vec::from_iter(reasons).join(", ")
    )
}

/// Returns the table in markdown.
pub fn listed() -> String {
    let mut text = "| capability | for | installed by |\n|---|---|---|\n".to_owned();
    for capability in CAPABILITIES {
        let (tool, words) = match capability.install {
            Install::Debian(words) => ("Debian", words),
            Install::Python(words) => ("pip", words),
            Install::Node(words) => ("npm", words),
            Install::Cargo(words) => ("cargo install", words),
        };
        let (name, purpose, words) = (capability.name, capability.purpose, words.join(" "));
        text += &format!("| `{name}` | {purpose} | {tool}: {words} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_counts_tests_by_missing_capability() {
        assert_eq!(summary(""), "no test was skipped");
        assert_eq!(
            summary("go\ta\nbrowser\tb\ngo\tc\n"),
            "3 tests were skipped because of missing capabilities: browser 1, go 2; cargo run -p needs installs them"
        );
    }

    #[test]
    fn contributing_contains_the_table() {
        let text = include_str!("../../../CONTRIBUTING.md");
        assert!(text.contains(&listed()), "expected\n{}", listed());
    }

    #[test]
    fn names_are_distinct() {
        let mut names = Vec::from_iter(CAPABILITIES.iter().map(|capability| capability.name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CAPABILITIES.len());
    }

    #[test]
    fn failed_probe_returns_its_last_message() {
        let probed = |script| {
            let capability = Capability {
                name: "none",
                purpose: "",
                probe: script,
                install: Install::Debian(&[]),
                commands: &[],
            };
            probe(&capability, &path())
        };
        assert_eq!(probed("exit 0"), Ok(()));
        assert_eq!(
            probed("echo one >&2; echo two >&2; exit 3"),
            Err("two".to_owned())
        );
    }
}
