//! Runs the commands of `examples/skill/SKILL.md`, and the profile `callgrind` of `examples/nextest`.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use needs::needs;
use tests::{data, tools, workspace};

/// Returns the lines in the blocks of a language.
fn block_lines(markdown: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = markdown.split(&fence).skip(1);
    let lines = blocks.flat_map(|block| block.split_once("```").unwrap().0.lines());
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

/// Runs a shell command with the tools first in its path, and without the variables of the Cargo that runs this test.
fn shell(folder: &Path, command: &str) -> Output {
    let mut bash = needs::command("bash");
    bash.args(["-o", "pipefail", "-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("PATH", tools::path());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_cargo = text.starts_with("CARGO_") && text != "CARGO_HOME";
        if is_of_cargo || text.starts_with("NEXTEST") {
            bash.env_remove(&name);
        }
    }
    bash.output().unwrap()
}

/// Returns a real file of the format that a name in the skill suggests.
fn fixture(name: &str) -> &'static str {
    match name {
        _ if name.contains("massif") => "massif/3.19.0-heapy_i.massif.out",
        _ if name.contains("dhat") => "dhat/3.19.0-heapy.dhat.json",
        _ if name.contains("heaptrack") => HEAPTRACK,
        _ if name.contains("memcheck") => "memcheck/3.27.1-leaky.xml",
        _ if ["after", "v2"].iter().any(|word| name.contains(word)) => "pair/after.callgrind.out",
        _ => "pair/before.callgrind.out",
    }
}

const HEAPTRACK: &str = "heaptrack/1.4.0-shapes.zst";

/// The commands of the skill that exit with 1, because they judge: the leaks of the log, and the function that costs more.
const FAILING: [&str; 2] = [
    "cg-diff --fail-if 'worst.Ir>+10%' before.out after.out",
    "leak-check memcheck.xml",
];

#[test]
fn every_command_of_the_skill_runs() {
    let skill = fs::read_to_string(workspace().join("examples/skill/SKILL.md")).unwrap();
    let front = skill.strip_prefix("---\n").unwrap();
    let (front, _) = front.split_once("\n---\n").unwrap();
    for key in ["name: ", "description: "] {
        assert!(front.lines().any(|line| line.starts_with(key)), "{key}");
    }
    // callgrind_annotate has no such option.
    assert!(!skill.contains("callgrind_annotate --diff"));
    let commands = block_lines(&skill, "sh");
    let folder = tempfile::tempdir().unwrap();
    let mut failing = BTreeSet::new();
    for command in &commands {
        for word in command.split_whitespace() {
            let endings = [".out", ".zst", ".xml"];
            if endings.iter().any(|ending| word.ends_with(ending)) {
                fs::copy(data(fixture(word)), folder.path().join(word)).unwrap();
            }
        }
        // The program of the profiles has the crate `wordcount`.
        let output = shell(folder.path(), &command.replace("mycrate", "wordcount"));
        let shown = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                failing.insert(command.as_str());
            }
            status => panic!("{command}: {status:?} {stderr}"),
        }
        assert!(shown.lines().count() > 2, "{command}: {shown}{stderr}");
    }
    for tool in ["cg-parse", "cg-filter", "cg-diff", "cg-fmt", "leak-check"] {
        assert!(commands.iter().any(|line| line.contains(tool)), "{tool}");
    }
    assert_eq!(failing, BTreeSet::from(FAILING));
}

/// The skill's commands that run Valgrind, with a program that the skill calls `myprogram`.
#[test]
fn valgrind_commands_of_the_skill_make_the_files_that_it_reads() {
    needs!("gcc", "valgrind");
    let skill = fs::read_to_string(workspace().join("examples/skill/SKILL.md")).unwrap();
    let commands = block_lines(&skill, "text");
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <stdlib.h>\nint main(void) { volatile char *kept = malloc(7); kept[0] = 1; kept = 0; return 0; }\n";
    fs::write(folder.path().join("myprogram.c"), source).unwrap();
    let compile = "mkdir -p target/release target/debug && gcc -g -O1 -o target/debug/myprogram myprogram.c && cp target/debug/myprogram target/release";
    assert!(shell(folder.path(), compile).status.success());
    let mut count = 0;
    for command in commands.iter().filter(|line| line.starts_with("valgrind ")) {
        let output = shell(folder.path(), command);
        assert!(output.status.success(), "{command}: {output:?}");
        count += 1;
    }
    assert_eq!(count, 2, "{commands:?}");
    let judged = shell(folder.path(), "leak-check memcheck.xml");
    let text = String::from_utf8_lossy(&judged.stdout);
    assert!(text.contains("leaks 7 bytes in 1 block"), "{text}");
    let table = shell(folder.path(), "cg-fmt callgrind.out");
    assert!(String::from_utf8_lossy(&table.stdout).contains("main"));
}

#[test]
fn nextest_writes_one_callgrind_profile_per_test() {
    needs!("valgrind", "nextest");
    let example = workspace().join("examples/nextest");
    let project = tempfile::tempdir().unwrap();
    let copy = format!(
        "cp -r {0}/Cargo.toml {0}/.config {0}/src {0}/tests .",
        example.display()
    );
    assert!(shell(project.path(), &copy).status.success());
    // A test of the same name in another binary gets a file of its own.
    let other = "#[test]\nfn clean() {}\n";
    fs::write(project.path().join("tests/other.rs"), other).unwrap();
    let readme = fs::read_to_string(example.join("README.md")).unwrap();
    let commands = block_lines(&readme, "sh");
    assert_eq!(commands.len(), 5, "{commands:?}");
    let run = |command: &str| {
        let output = shell(project.path(), command);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&commands[0]);
    let mut files: Vec<String> = fs::read_dir(project.path().join("target/callgrind"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = [
        "nextest-example::buffer.clean.out",
        "nextest-example::buffer.leaks.out",
        "nextest-example::buffer.reads_past_the_end.out",
        "nextest-example::other.clean.out",
    ];
    assert_eq!(files, expected);
    // One test gets more work, and the comparison finds which one.
    run(&commands[1]);
    let tests = project.path().join("tests/buffer.rs");
    let text = fs::read_to_string(&tests).unwrap();
    let more = text.replacen(
        "Buffer::new(16);\n    assert_eq!",
        "Buffer::new(16);\n    for at in 0..1000 {\n        std::hint::black_box(buffer.get(at % 16));\n    }\n    assert_eq!",
        1,
    );
    assert_ne!(text, more);
    fs::write(&tests, more).unwrap();
    run("rm -r target/callgrind");
    run(&commands[0]);
    let report = run(&commands[2]);
    let worst = "worst: nextest-example::buffer.clean +";
    assert!(report.contains(worst), "{report}");
    // The last commands show and limit the functions of the crate.
    let of_crate = |command: &str| {
        let command = command.replace("mycrate", "nextest_example");
        shell(project.path(), &command)
    };
    let shown = of_crate(&commands[3]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("nextest_example::Buffer::get"), "{shown}");
    assert!(!shown.contains("  malloc  "), "{shown}");
    let judged = of_crate(&commands[4]);
    let stderr = String::from_utf8_lossy(&judged.stderr);
    assert_eq!(judged.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("nextest-example::buffer.clean: Ir["),
        "{stderr}"
    );
    // The profile of a test is not the launcher's profile.
    let own = run(
        "cg-filter --whose own target/callgrind/*buffer.clean.out | cg-fmt -f csv --columns fn",
    );
    assert!(own.contains("Buffer::new"), "{own}");
    assert!(!own.contains("test::run"), "{own}");
}
