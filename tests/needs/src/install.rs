//! Installs missing capabilities, one at a time.
//!
//! Does not change a capability that works. Packages of the distribution are installed for the whole machine. Everything
//! else goes into [`folder`], with pinned versions, so it does not affect other clones.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::{Capability, Install, folder, path, probe};

/// The result of [`ensure`].
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The capability already worked.
    There,
    /// A working version in this folder was hidden by a broken one earlier in the path, and now comes first.
    Preferred(PathBuf),
    /// The capability was installed and works.
    Installed,
    /// The capability is missing.
    Missing(Failure),
}

/// The reason why a capability is missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The command that failed: the installation, or the probe after it.
    pub command: String,
    /// The command's error message.
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

/// Makes a capability available, if possible.
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
        // An older version may precede the installed one in the path.
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

/// Finds a folder of the path whose commands work, and puts launchers for them into the first folder of the path.
fn prefer(capability: &Capability) -> Option<PathBuf> {
    let first = capability.commands.first()?;
    let own = folder().join("bin");
    let works = std::env::split_paths(&path()).find(|folder| {
        *folder != own
            && folder.join(first).exists()
            && write_launchers(capability.commands, folder).is_ok()
            && probe(capability, &path()).is_ok()
    });
    if works.is_none() {
        for command in capability.commands {
            let _ = fs::remove_file(own.join(command));
        }
    }
    works
}

fn write_launchers(commands: &[&str], from: &Path) -> io::Result<()> {
    let bin = folder().join("bin");
    fs::create_dir_all(&bin)?;
    for command in commands {
        let target = from.join(command);
        if target.exists() {
            // A link would not work: Debian's valgrind is a script that starts a program next to its own name.
            let launcher = bin.join(command);
            let _ = fs::remove_file(&launcher);
            fs::write(
                &launcher,
                format!("#!/bin/sh\nexec '{}' \"$@\"\n", target.display()),
            )?;
            #[cfg(unix)]
            fs::set_permissions(
                &launcher,
                std::os::unix::fs::PermissionsExt::from_mode(0o755),
            )?;
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
                // Packages of the whole machine stay visible in the virtual environment.
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
            // Tests run these programs only a few times, so build time matters more than run time. Benchmarks build their
            // own release builds.
            cargo.args(["install", "--quiet", "--locked", "--debug", "--root"]);
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
            cargo.env("CARGO_INCREMENTAL", "0");
            run(cargo.arg(folder().join("cargo")).args(*words))
        }
    }
}

/// Installs packages for the whole machine. Updates the list of packages first, once per process.
fn debian(packages: &[&str]) -> Result<(), Failure> {
    static UPDATE: std::sync::Once = std::sync::Once::new();
    // Ignores errors: an old list may be good enough, and otherwise the installation fails.
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
    // Waits for another apt-get, which may run on a machine that has just started.
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
    let messages = [output.stdout, output.stderr].concat();
    let messages = String::from_utf8_lossy(&messages).into_owned();
    // Package managers print a summary after the line with the error.
    let mut lines = messages.lines().filter(|line| !line.trim().is_empty());
    let error = lines
        .clone()
        .rfind(|line| line.starts_with("E: ") || line.to_lowercase().starts_with("error"));
    let reason = error.or_else(|| lines.next_back()).unwrap_or("").trim();
    Err(failure(command, reason.to_owned()))
}
