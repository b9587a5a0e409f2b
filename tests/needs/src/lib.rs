//! What tests need of the machine they run on, asked for in one place.
//!
//! A test that needs more than Rust begins with [`needs!`], with names of [`CAPABILITIES`], and starts programs with
//! [`command`]. What is there and works is used as it is, whatever it was installed by. What is missing fails the test
//! where the environment has `CI`; elsewhere the test is skipped and goes into the ledger, which the last test program
//! of a run reads ([`skipped`]). `cargo run -p needs` installs what is missing.
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

/// Ends a test where something is missing that it needs: skipped, or failed with `CI` set.
///
/// # Panics
/// Where a name is not in the table, and where the environment has `CI` and something is missing.
#[macro_export]
macro_rules! needs {
    ($($name:literal),+ $(,)?) => {
        if !$crate::is_there(&[$($name),+]) {
            return;
        }
    };
}

/// False where something of this is missing and the test, which is the calling thread's, is to be skipped for that.
///
/// # Panics
/// Where a name is not in the table, and where the environment has `CI` and something is missing.
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

/// A capability by its name.
pub fn capability(name: &str) -> Option<&'static Capability> {
    CAPABILITIES
        .iter()
        .find(|capability| capability.name == name)
}

/// What a probe came to, asked once for each process.
fn found(capability: &'static Capability) -> Result<(), String> {
    static FOUND: Mutex<BTreeMap<&str, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap();
    found
        .entry(capability.name)
        .or_insert_with(|| probe(capability, &path()))
        .clone()
}

/// Whether a capability is there and works with this path, else the last line of what its probe said.
pub(crate) fn probe(capability: &Capability, path: &OsStr) -> Result<(), String> {
    // Whoever hangs does not work.
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
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| output.status.to_string(), |line| line.trim().to_owned()))
}

/// The size of a long test: a tenth or so by default, all of it where the environment has `CG_TESTS_FULL`.
pub fn size<Size>(full: Size, tenth: Size) -> Size {
    if std::env::var_os("CG_TESTS_FULL").is_some() {
        full
    } else {
        tenth
    }
}

/// Where things are installed that are not the whole machine's: a folder of the build folder.
pub fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        // The build folder is wherever it is configured to be. Cargo marks it by the tag where it made the folder itself,
        // and keeps what it knows of the compiler in any.
        let program = std::env::current_exe().unwrap();
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        let build = program
            .ancestors()
            .find(|folder| marks.iter().any(|mark| folder.join(mark).exists()));
        build.expect("a program built by Cargo").join("needs")
    });
    &FOLDER
}

/// The path with all folders in front that [`install`] puts programs into.
pub fn path() -> OsString {
    let own = ["bin", "python/bin", "cargo/bin", "node/node_modules/.bin"];
    let own = own.map(|name| folder().join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path))).unwrap()
}

/// A command, looked for in [`path`].
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path());
    command
}

/// The folder of a package of Node's: installed here, or for the whole machine.
pub fn node_package(name: &str) -> PathBuf {
    let own = folder().join("node/node_modules").join(name);
    if own.exists() {
        return own;
    }
    let root = command("npm").args(["root", "--global"]).output().unwrap();
    Path::new(String::from_utf8(root.stdout).unwrap().trim()).join(name)
}

/// Where tests of this run say that they were skipped: a run is the process that started the test programs, and when it began.
fn ledger() -> PathBuf {
    let parent = std::os::unix::process::parent_id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    // proc(5): behind the name, which is in parentheses, field 22 is the time it started.
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

/// One line on what was skipped in this run up to now and why, and forgets it.
///
/// # Panics
/// Where the ledger is there and cannot be read.
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
        "{count} {plural} skipped for want of: {} (cargo run -p needs installs what is missing)",
        Vec::from_iter(reasons).join(", ")
    )
}

/// The table in markdown, for people.
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
    fn a_summary_counts_tests_by_what_they_lack() {
        assert_eq!(summary(""), "no test was skipped");
        assert_eq!(
            summary("go\ta\nbrowser\tb\ngo\tc\n"),
            "3 tests were skipped for want of: browser 1, go 2 (cargo run -p needs installs what is missing)"
        );
    }

    #[test]
    fn contributing_has_the_table() {
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
    fn a_probe_that_fails_is_missing_with_the_reason_it_gave() {
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
