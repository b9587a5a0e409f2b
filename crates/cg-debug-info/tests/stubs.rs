//! Compares the names of stubs with objdump.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::path::Path;

use cg_debug_info::{Limits, ObjectFile};
use needs::needs;

fn run(directory: &Path, command: &str) -> String {
    let mut words = command.split(' ');
    let mut process = needs::command(words.next().unwrap());
    let output = process.args(words).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the addresses of instructions in stubs, each with objdump's name of the stub.
fn parse_objdump(text: &str) -> Vec<(u64, Option<String>)> {
    let address = |digits: &str| u64::from_str_radix(digits.trim(), 16);
    let mut stub = None;
    let mut instructions = Vec::new();
    for line in text.lines() {
        if let Some((_, label)) = line.split_once(" <")
            && let Some(label) = label.strip_suffix(">:")
        {
            stub = label.ends_with("@plt").then(|| label.to_owned());
        } else if let Some((at, _)) = line.split_once(":\t") {
            instructions.push((address(at).unwrap(), stub.clone()));
        }
    }
    instructions
}

#[test]
fn stubs_have_the_same_names_as_in_objdump() {
    needs!("gcc");
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    // One function is called and its address is taken. Linkers put its stub into another section.
    let source = "int turn(int); int twist(int); int *keep;
        int main(void) { keep = (int *)twist; return turn(1) + twist(2); }";
    std::fs::write(directory.join("main.c"), source).unwrap();
    std::fs::write(
        directory.join("lib.c"),
        "int turn(int x) { return x; } int twist(int x) { return x; }",
    )
    .unwrap();
    run(directory, "gcc -shared -fPIC -o libturn.so lib.c");
    for options in [
        "-O1",
        "-O1 -no-pie",
        "-O1 -s -Wl,-z,now",
        "-O1 -fcf-protection -Wl,-z,ibtplt",
        "-O1 -fcf-protection -Wl,-z,ibtplt,-z,now",
    ] {
        run(
            directory,
            &format!("gcc {options} -o main main.c -L. -lturn"),
        );
        let text = run(directory, "objdump -d -j .plt -j .plt.sec -j .plt.got main");
        let expected = parse_objdump(&text);
        let addresses: Vec<u64> = expected.iter().map(|(address, _)| *address).collect();
        let object = ObjectFile::open(&directory.join("main"), &Limits::default()).unwrap();
        let found = object.stubs(&addresses);
        let found = found
            .into_iter()
            .map(|(at, name)| (at, String::from_utf8(name).unwrap()));
        let expected = expected
            .into_iter()
            .filter_map(|(at, name)| Some((at, name?)));
        let found: Vec<(u64, String)> = found.collect();
        let expected: Vec<(u64, String)> = expected.collect();
        assert_eq!(found, expected, "{options}");
        assert!(
            found.iter().any(|(_, name)| name == "turn@plt"),
            "{options}: {found:?}"
        );
    }
}
