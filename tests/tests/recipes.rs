//! What the help of leak-check and the recipes in `examples/` tell people to type does what they say, in a Rust crate whose
//! tests pass and leak.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::Path;

use needs::needs;
use tests::{tools, workspace};

const LIBRARY: &str = "\
//! Passes its tests, and leaks in one of them.
pub fn keep(size: usize) {
    std::mem::forget(std::hint::black_box(vec![1u8; size]));
}

#[test]
fn keeps() {
    std::thread::sleep(std::time::Duration::from_millis(200));
    keep(100);
}

#[test]
fn adds() {
    assert_eq!(2 + 2, 4);
}
";

/// A crate of that library, and a program `prog` that leaks in `keep` too.
fn leaky_crate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let file = folder.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"leaky\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    write("src/lib.rs", LIBRARY);
    write("src/bin/prog.rs", "fn main() {\n    leaky::keep(64);\n}\n");
    folder
}

/// Runs a command of a shell's in a folder, with the tools in its path. Returns its exit status and all it prints.
fn shell(folder: &Path, command: &str) -> (i32, String) {
    let mut bash = needs::command("bash");
    bash.args(["-o", "pipefail", "-c", command]);
    bash.current_dir(folder);
    // What the Cargo that runs this test says to it is not meant for the one within.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_") && name_text != "CARGO_HOME" {
            bash.env_remove(&name);
        }
    }
    let output = bash
        .env("PATH", tools::path())
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(printed).unwrap(),
    )
}

#[test]
fn the_examples_of_the_help_work_on_a_rust_crate() {
    needs!("valgrind");
    let leaky = leaky_crate();
    let folder = leaky.path();
    let prepare = "set -e
        cargo build --quiet; cp target/debug/prog prog; mkdir -p target/valgrind
        cp \"$(cargo test --quiet --lib --no-run --message-format=json | grep -o '\"executable\":\"[^\"]*' | cut -d'\"' -f4)\" tests
        valgrind -q --leak-check=full --xml=yes --xml-file=target/valgrind/%p.xml ./tests
        valgrind -q --leak-check=full --xml=yes --xml-file=valgrind.%p.xml ./prog
        valgrind --leak-check=full --log-file=valgrind.log ./prog";
    let (status, printed) = shell(folder, prepare);
    assert_eq!(status, 0, "{printed}");

    let help = tools::run("leak-check", &["--help"], b"");
    let (_, examples) = help.text().split_once("Examples:\n").unwrap();
    let examples: Vec<&str> = examples
        .lines()
        .map_while(|line| line.strip_prefix("  "))
        .collect();
    // The baseline is there once it was written.
    let order = |example: &&str| !example.contains("--update-baseline");
    let (after, first): (Vec<&str>, Vec<&str>) = examples.into_iter().partition(order);
    let mut seen = 0;
    for example in first.into_iter().chain(after) {
        let (status, printed) = shell(folder, example);
        let (expected, part) = match example {
            _ if example.contains("--update-baseline") => (0, "known findings: 1, of which new: 1"),
            _ if example.contains("--baseline") => {
                (0, "clean: no new findings in 1 process, 1 known")
            }
            _ if example.contains("--write-suppressions") => (1, ""),
            _ => (1, "leaky::keep (src/lib.rs)\n  leaks 64 bytes"),
        };
        // A text log has the base names of files.
        let part = match example.contains("cg-parse") {
            true => "leaky::keep (lib.rs)\n  leaks 64 bytes",
            false => part,
        };
        assert!(
            status == expected && printed.contains(part),
            "{example}: {status}\n{printed}"
        );
        seen += 1;
    }
    assert_eq!(seen, 5);
    let (status, printed) = shell(
        folder,
        "valgrind -q --error-exitcode=9 --leak-check=full --suppressions=valgrind.supp ./prog",
    );
    assert_eq!(status, 0, "{printed}");
}

#[test]
fn the_recipe_for_leaks_names_the_one_of_the_crate() {
    needs!("gcc", "valgrind");
    let leaky = leaky_crate();
    let justfile = std::fs::read_to_string(workspace().join("examples/justfile")).unwrap();
    let (_, recipe) = justfile.split_once("\nleaks:\n").unwrap();
    let recipe: Vec<&str> = recipe
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .collect();
    let recipe = recipe
        .join(" && ")
        .replace("{{justfile_directory()}}", leaky.path().to_str().unwrap());
    let (status, printed) = shell(leaky.path(), &recipe);
    assert_eq!(status, 1, "{printed}");
    assert!(
        printed.contains("leaky::keep (src/lib.rs)\n  leaks 100 bytes in 1 block, definitely lost")
            && printed.contains("suppressed by default: libtest's handle of the main thread"),
        "{printed}"
    );
    assert!(printed.contains("1 new finding in "), "{printed}");
}
