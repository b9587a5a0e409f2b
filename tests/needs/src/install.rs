//! Installs what is missing, each thing by itself.
//!
//! What is there and works stays as it is. Only packages of the distribution are the whole machine's; what comes from
//! elsewhere goes into [`folder`], with pinned versions, so that another clone neither gains nor misses anything.

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::{Capability, Install, folder, path, probe};

/// What became of a capability.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was there and worked.
    There,
    /// One that works stood behind one that does not; it was put in front.
    Preferred(PathBuf),
    /// It was installed and works.
    Installed,
    /// It is missing.
    Missing(Failure),
}

/// Why a capability is missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The command that was to install it, or the probe that failed behind that.
    pub command: String,
    /// The last thing that the command said.
    pub reason: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::There => write!(f, "there"),
            Outcome::Preferred(folder) => write!(f, "there, in {}", folder.display()),
            Outcome::Installed => write!(f, "installed"),
            Outcome::Missing(Failure { command, reason }) => {
                write!(f, "MISSING: `{command}` failed: {reason}")
            }
        }
    }
}

/// Sees to it that a capability is there, and says what became of it.
pub fn ensure(capability: &Capability) -> Outcome {
    if probe(capability, &path()).is_ok() {
        return Outcome::There;
    }
    if let Some(folder) = prefer(capability) {
        return Outcome::Preferred(folder);
    }
    if let Err(failure) = install(&capability.install) {
        return Outcome::Missing(failure);
    }
    match probe(capability, &path()) {
        Ok(()) => Outcome::Installed,
        // What was installed may stand behind something older in the path.
        Err(reason) => prefer(capability).map_or_else(
            || {
                Outcome::Missing(Failure {
                    command: capability.probe.to_owned(),
                    reason,
                })
            },
            Outcome::Preferred,
        ),
    }
}

/// Looks for a folder of the path whose commands work when they are started from the folder that comes first, and leaves
/// them there.
fn prefer(capability: &Capability) -> Option<PathBuf> {
    let first = capability.commands.first()?;
    let own = folder().join("bin");
    let works = std::env::split_paths(&path()).find(|folder| {
        *folder != own
            && folder.join(first).exists()
            && put_in_front(capability.commands, folder).is_ok()
            && probe(capability, &path()).is_ok()
    });
    if works.is_none() {
        for command in capability.commands {
            let _ = fs::remove_file(own.join(command));
        }
    }
    works
}

fn put_in_front(commands: &[&str], from: &Path) -> io::Result<()> {
    let bin = folder().join("bin");
    fs::create_dir_all(&bin)?;
    for command in commands {
        let target = from.join(command);
        if target.exists() {
            // No link: Debian's valgrind is a script that starts what lies beside the name it was called by.
            let launcher = bin.join(command);
            let _ = fs::remove_file(&launcher);
            fs::write(
                &launcher,
                format!("#!/bin/sh\nexec '{}' \"$@\"\n", target.display()),
            )?;
            fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn install(install: &Install) -> Result<(), Failure> {
    let python = folder().join("python");
    match install {
        Install::Debian(packages) => debian(packages),
        Install::Python(packages) => {
            if !python.join("bin/pip").exists() {
                // What the machine has is seen from within.
                let new = ["-m", "venv", "--system-site-packages"];
                run(crate::command("python3").args(new).arg(&python))?;
            }
            let mut pip = crate::command(python.join("bin/python3"));
            pip.args(["-m", "pip", "install", "--quiet"]);
            run(pip.args(*packages))
        }
        Install::Node(packages) => {
            let mut npm = crate::command("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
            run(npm.arg(folder().join("node")).args(*packages))
        }
        Install::Cargo(words) => {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut cargo = crate::command(cargo);
            // Run a few times by tests: what it takes to build counts, not what it takes to run.
            cargo.args(["install", "--quiet", "--locked", "--debug", "--root"]);
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
            cargo.env("CARGO_INCREMENTAL", "0");
            run(cargo.arg(folder().join("cargo")).args(*words))
        }
    }
}

/// Installs packages for the whole machine. The list of packages is brought up to date first, once for each process.
fn debian(packages: &[&str]) -> Result<(), Failure> {
    static UPDATE: std::sync::Once = std::sync::Once::new();
    // Packages may be had from a list that is not of today; where not, their installation says so.
    UPDATE.call_once(|| drop(run(apt_get().args(["update", "-q"]))));
    run(apt_get()
        .args(["install", "-q", "-y", "--no-install-recommends"])
        .args(packages))
}

fn apt_get() -> Command {
    let is_root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout == b"0\n");
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    if !is_root {
        command.args(["-n", "env"]);
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    // Another apt-get, of a machine that has just been started say, is waited for.
    command.args(["-o", "DPkg::Lock::Timeout=300"]);
    command
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Result<(), Failure> {
    let failure = |command: &Command, reason: String| {
        let words = [command.get_program()]
            .into_iter()
            .chain(command.get_args());
        let words = words.map(|word| word.to_string_lossy().into_owned());
        Failure {
            command: Vec::from_iter(words).join(" "),
            reason,
        }
    };
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| failure(command, error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    // Packagers say what is wrong in the last lines that begin so, and sum up behind.
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let error = lines
        .clone()
        .rfind(|line| line.starts_with("E: ") || line.to_lowercase().starts_with("error"));
    let reason = error.or_else(|| lines.next_back()).unwrap_or("").trim();
    Err(failure(command, reason.to_owned()))
}
