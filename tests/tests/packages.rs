//! Packages for a registry, and the installation of the tools from a clone.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tests::{tools, workspace};

/// Runs cargo offline and returns its output.
fn cargo(args: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .arg("--offline")
        .current_dir(workspace())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the packages of the workspace that may be published.
fn packages() -> Vec<Value> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let may_be_published = |package: &&Value| package["publish"] != Value::Array(Vec::new());
    packages.filter(may_be_published).cloned().collect()
}

#[test]
fn every_package_contains_its_licence_texts() {
    let packages = packages();
    assert!(packages.len() > 10, "{}", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let files = cargo(&["package", "--list", "--allow-dirty", "--package", name]);
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("");
        let licences = package["license"].as_str().unwrap().split(" OR ");
        for licence in licences {
            let word = licence.split('-').next().unwrap().to_uppercase();
            let file = format!("LICENSE-{word}");
            let remedy = format!("{name} has no {file}: link it to the file of the workspace");
            assert!(files.lines().any(|packed| packed == file), "{remedy}");
            let text = fs::read(folder.join(&file)).unwrap();
            assert_eq!(text, fs::read(workspace().join(&file)).unwrap(), "{remedy}");
        }
    }
}

/// Returns the first command of the README, found as in `scripts/fresh`.
fn first_command() -> String {
    let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, block) = readme.split_once("```sh\n").unwrap();
    let command = block.lines().next().unwrap();
    command.to_owned()
}

#[test]
fn first_command_of_the_readme_installs_every_tool() {
    let folder = tempfile::tempdir().unwrap();
    let stub = folder.path().join("cargo");
    // A cargo that installs a script, which prints the name that it was started with.
    let script = "#!/bin/sh\necho \"$@\" >> asked\nmkdir -p \"$CARGO_HOME/bin\"\n\
        printf '#!/bin/sh\\necho \"${0##*/}\"\\n' > \"$CARGO_HOME/bin/cg-tools\"\n\
        chmod +x \"$CARGO_HOME/bin/cg-tools\"\n";
    let asked = folder.path().join("asked");
    fs::write(
        &stub,
        script.replace(">> asked", &format!(">> '{}'", asked.display())),
    )
    .unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    let home = folder.path().join("home");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let output = Command::new("/bin/bash")
        .args(["-o", "pipefail", "-c", &first_command()])
        .env("PATH", path)
        .env("CARGO_HOME", &home)
        .env_remove("CARGO_INSTALL_ROOT")
        .current_dir(workspace())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", first_command());
    let asked = fs::read_to_string(&asked).unwrap();
    assert_eq!(asked, "install --locked --path crates/cg-tools\n");
    for tool in tools::TOOLS {
        let output = Command::new(home.join("bin").join(tool)).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{tool}\n"));
    }
    // There are no other packages with programs.
    let has_programs = |package: &Value| {
        let mut targets = package["targets"].as_array().unwrap().iter();
        targets.any(|target| target["kind"][0] == "bin")
    };
    assert_eq!(
        packages().into_iter().filter(has_programs).count(),
        tools::TOOLS.len()
    );
}
