//! Runs leak-check, compilers and the real Valgrind.
#![allow(dead_code, reason = "no test program uses all of it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use regex::Regex;
use serde_json::Value;

/// The result of a run of leak-check.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Returns the records of these types on standard output.
    pub(crate) fn records(&self, types: &[&str]) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|record| types.contains(&record["type"].as_str().unwrap()))
            .collect()
    }
}

/// Runs leak-check in a directory, with `input` on standard input.
pub(crate) fn leak_check_in(directory: &Path, args: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_leak-check"))
        .args(args)
        .current_dir(directory)
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output: Output = std::thread::scope(|scope| {
        // leak-check does not read its input if the arguments are wrong, so this write may fail.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr,
    }
}

/// Runs leak-check with `input` on standard input.
pub(crate) fn leak_check(args: &[&str], input: &[u8]) -> Run {
    leak_check_in(Path::new("/"), args, input)
}

/// A directory with a compiled program, where Valgrind runs.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    /// Compiles a program of `tests/programs`.
    pub(crate) fn new(source: &str) -> Bench {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(source);
        let text = std::fs::read_to_string(&file).unwrap();
        Bench::from_text(source, &text)
    }

    /// Compiles a text, written to a file with this name.
    pub(crate) fn from_text(name: &str, text: &str) -> Bench {
        let bench = Bench {
            directory: tempfile::tempdir().unwrap(),
        };
        bench.compile(name, text, &[]);
        bench
    }

    /// Compiles another text, which replaces the program.
    pub(crate) fn compile(&self, name: &str, text: &str, flags: &[&str]) {
        let source = self.path().join("src").join(name);
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(&source, text).unwrap();
        let mut command = match Path::new(name).extension().unwrap().to_str().unwrap() {
            "c" => {
                let mut command = needs::command("cc");
                command.arg("-pthread");
                command
            }
            "cpp" => needs::command("c++"),
            "rs" => needs::command("rustc"),
            other => panic!("no compiler for .{other}"),
        };
        let status = command
            .args(["-g", "-o", "program"])
            .args(flags)
            .arg(Path::new("src").join(name))
            .current_dir(self.path())
            .status()
            .unwrap();
        assert!(status.success(), "{name} does not compile");
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Runs the program under Valgrind, which writes XML if the file's name ends in `.xml`, else text. Returns the exit
    /// status, or -1 for a signal.
    pub(crate) fn valgrind(&self, file: &str, options: &[&str]) -> i32 {
        let output = if file.ends_with(".xml") {
            vec!["--xml=yes".to_owned(), format!("--xml-file={file}")]
        } else {
            vec![format!("--log-file={file}")]
        };
        // Only Memcheck has a leak check.
        let is_memcheck = !options.iter().any(|option| option.starts_with("--tool="));
        needs::command("valgrind")
            .args(output)
            .arg("--error-exitcode=99")
            .args(is_memcheck.then_some("--leak-check=full"))
            .args(options)
            .arg("./program")
            .current_dir(self.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .code()
            .unwrap_or(-1)
    }

    /// Replaces the lines of Valgrind's own code in a log by its object, which a Valgrind without debug information prints.
    pub(crate) fn name_own_object(&self, log: &str) {
        let own_line = Regex::new(r"\(vg_replace_malloc\.c:\d+\)").unwrap();
        let object = "(in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)";
        let text = std::fs::read_to_string(self.file(log)).unwrap();
        self.write(log, &own_line.replace_all(&text, object));
    }

    /// Runs leak-check in the directory.
    pub(crate) fn leak_check(&self, args: &[&str]) -> Run {
        leak_check_in(self.path(), args, b"")
    }
}
