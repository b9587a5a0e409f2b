//! Tests of the examples in leak-check's help and of the recipes in `examples/`, in Rust crates with passing tests.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::Path;

use needs::needs;
use tests::{tools, workspace};

/// A crate with a leak in one of its tests.
const LEAKS: &str = "\
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

/// A crate that forks a worker, which leaks and is killed.
const KILLS_ITS_WORKER: &str = "\
use std::io::{Read, Write};

unsafe extern \"C\" {
    fn fork() -> i32;
    fn kill(pid: i32, signal: i32) -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
}

#[test]
fn works() {
    let (mut ready, mut says_ready) = std::io::pipe().unwrap();
    let worker = unsafe { fork() };
    if worker == 0 {
        std::mem::forget(std::hint::black_box(vec![1u8; 1 << 20]));
        says_ready.write_all(b\"!\").unwrap();
        loop {
            std::thread::park();
        }
    }
    ready.read_exact(&mut [0]).unwrap();
    let mut status = 0;
    assert_eq!(unsafe { kill(worker, 9) }, 0);
    assert_eq!(unsafe { waitpid(worker, &mut status, 0) }, worker);
}
";

/// A crate without leaks.
const CLEAN: &str = "\
#[test]
fn adds() {
    assert_eq!(vec![1, 2, 3].iter().sum::<i32>(), 6);
}

#[test]
#[ignore = \"slow\"]
fn waits() {}
";

/// A crate without leaks that starts a program.
const STARTS_A_PROGRAM: &str = "\
#[test]
fn starts() {
    assert!(std::process::Command::new(\"true\").status().unwrap().success());
}
";

/// Creates a crate with this library.
fn fresh_crate(name: &str, library: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "Cargo.toml",
        &format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n"
        ),
    );
    write(folder.path(), "src/lib.rs", library);
    folder
}

fn write(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Runs a shell command in a folder, with the tools in its path. Returns its exit status and its output.
fn shell(folder: &Path, command: &str) -> (i32, String) {
    let mut bash = needs::command("bash");
    bash.args(["-o", "pipefail", "-c", command]);
    bash.current_dir(folder);
    // Remove the variables that cargo sets for this test.
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
fn examples_in_the_help_work_on_a_rust_crate() {
    needs!("valgrind");
    let leaky = fresh_crate("leaky", LEAKS);
    let folder = leaky.path();
    write(
        folder,
        "src/bin/prog.rs",
        "fn main() {\n    leaky::keep(64);\n}\n",
    );
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
    // Write the baseline first, because other examples need it.
    let order = |example: &&str| !example.contains("--update-baseline");
    let (after, first): (Vec<&str>, Vec<&str>) = examples.into_iter().partition(order);
    let mut seen = 0;
    for example in first.into_iter().chain(after) {
        let (status, printed) = shell(folder, example);
        let (expected, part) = match example {
            _ if example.contains("--update-baseline") => (0, "known findings: 1; added: 1"),
            _ if example.contains("--baseline") => (0, "clean: no new findings, 1 known"),
            _ if example.contains("--write-suppressions") => (1, ""),
            _ => (1, "leaky::keep (src/lib.rs)\n  leaks 64 bytes"),
        };
        // A text log has only base names of files.
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

fn example(file: &str) -> String {
    std::fs::read_to_string(workspace().join("examples").join(file)).unwrap()
}

/// Returns the unmodified recipes for tests under Memcheck: a name, and the commands without and with `--allow-exec`.
fn recipes(folder: &Path) -> [(&'static str, String, String); 3] {
    let nextest = example("nextest/README.md");
    let blocks: Vec<&str> = nextest
        .split("```console\n")
        .skip(1)
        .filter_map(|block| Some(block.split_once("```")?.0))
        .collect();
    let commands = |block: &str| block.replace("$ ", "").trim().replace('\n', " && ");
    let just = example("justfile");
    let (_, just) = just.split_once("\nleaks *options:\n").unwrap();
    let just: Vec<&str> = just
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .collect();
    let just = |options: &str| {
        just.join(" && ")
            .replace("{{justfile_directory()}}", folder.to_str().unwrap())
            .replace("{{options}}", options)
    };
    let ci = workspace().join("examples/ci/leaks");
    [
        ("nextest", commands(blocks[0]), commands(blocks[1])),
        ("just", just(""), just("--allow-exec")),
        (
            "ci",
            ci.display().to_string(),
            format!("{} --allow-exec", ci.display()),
        ),
    ]
}

#[test]
fn unmodified_leak_recipes_judge_any_crate() {
    needs!("gcc", "valgrind", "nextest");
    for (name, library, (expected, expected_with_exec), message) in [
        (
            "cellar",
            LEAKS,
            (1, None),
            "cellar::keep (src/lib.rs)\n  leaks 100 bytes in 1 block, definitely lost",
        ),
        ("foundry", KILLS_ITS_WORKER, (2, Some(0)), "--allow-exec"),
        ("orchard", CLEAN, (0, None), "clean: "),
        (
            "switch-board",
            STARTS_A_PROGRAM,
            (2, Some(0)),
            "--allow-exec",
        ),
    ] {
        let fresh = fresh_crate(name, library);
        let folder = fresh.path();
        let config = "nextest/.config/nextest.toml";
        write(folder, ".config/nextest.toml", &example(config));
        for (recipe, commands, with_exec) in recipes(folder) {
            let (status, printed) = shell(folder, &commands);
            assert_eq!(status, expected, "{name}, {recipe}:\n{printed}");
            assert!(printed.contains(message), "{name}, {recipe}:\n{printed}");
            if let Some(expected) = expected_with_exec {
                let (status, printed) = shell(folder, &with_exec);
                assert_eq!(status, expected, "{name}, {recipe}:\n{printed}");
            }
        }
    }
}

#[test]
fn leak_recipes_detect_a_missing_log() {
    needs!("gcc", "valgrind", "nextest");
    let fresh = fresh_crate("orchard", CLEAN);
    let folder = fresh.path();
    let config = "nextest/.config/nextest.toml";
    write(folder, ".config/nextest.toml", &example(config));
    write(folder, "tests/more.rs", "#[test]\nfn more() {}\n");
    for (recipe, commands, _) in recipes(folder) {
        if recipe == "ci" {
            continue;
        }
        let (run, judge) = commands.rsplit_once(" && ").unwrap();
        let lose = "rm \"$(ls -d target/valgrind/*.xml | head -n 1)\"";
        let (status, printed) = shell(folder, &format!("{run} && {lose} && {judge}"));
        assert_eq!(status, 2, "{recipe}:\n{printed}");
        assert!(printed.contains("--expect"), "{recipe}:\n{printed}");
    }
}

#[test]
fn no_recipe_contains_the_name_of_a_crate() {
    for file in [
        "nextest/README.md",
        "justfile",
        "ci/leaks",
        "ci/leaks.github.yml",
        "ci/leaks.gitlab.yml",
    ] {
        assert!(!example(file).contains("--only"), "{file}");
    }
}
