//! The kind of a command: a program, or a launcher of other programs. Valgrind runs the command itself, and follows the
//! programs that it starts only with `--trace-children=yes`.

use cg_stream::record::{RunRecord, Tool};

use crate::paths::base_name;

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// A program, which is probably the one under test.
    Program,
    /// The interpreter of a language. It may be under test, because it may load an extension module.
    Interpreter,
    /// A command that starts other programs: a shell, `timeout`, `make`.
    Launcher,
}

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"];

/// Commands that start the command in their arguments, build tools, and runners of tests.
const LAUNCHERS: [&str; 49] = [
    "timeout",
    "env",
    "nice",
    "ionice",
    "nohup",
    "time",
    "setsid",
    "setarch",
    "linux32",
    "linux64",
    "stdbuf",
    "taskset",
    "chrt",
    "chroot",
    "unshare",
    "sudo",
    "doas",
    "su",
    "runuser",
    "xargs",
    "parallel",
    "flock",
    "watch",
    "script",
    "strace",
    "ltrace",
    "catchsegv",
    "fakeroot",
    "xvfb-run",
    "dbus-run-session",
    "tini",
    "dumb-init",
    "make",
    "gmake",
    "ninja",
    "meson",
    "cmake",
    "ctest",
    "bazel",
    "cargo",
    "cargo-nextest",
    "nextest",
    "go",
    "npm",
    "npx",
    "yarn",
    "prove",
    "tox",
    "libtool",
];

/// The endings of shell scripts.
const SCRIPT_ENDINGS: [&str; 4] = [".sh", ".bash", ".zsh", ".ksh"];

/// An interpreter, the letters of the options that code follows, and the letters of the options that a value follows.
struct Interpreter {
    name: &'static str,
    code: &'static str,
    value: &'static str,
}

const INTERPRETERS: [Interpreter; 7] = [
    Interpreter::new("python", "c", "WX"),
    Interpreter::new("perl", "eE", "ImMCDFVdilx0"),
    Interpreter::new("ruby", "e", "rICEKTWFix0"),
    Interpreter::new("node", "ep", "rC"),
    Interpreter::new("lua", "e", "l"),
    Interpreter::new("php", "r", "cdfFz"),
    Interpreter::new("tclsh", "", ""),
];

/// Words in code that starts a program.
const STARTS: [&str; 5] = ["system", "subprocess", "popen", "exec", "spawn"];

/// Returns the kind of a command. In a command, a `\` precedes a blank inside a word, as in Valgrind's logs.
///
/// Names are known only without a directory or in a directory of the system: `./bash` is a program under test.
///
/// ```
/// use cg_names::commands::{CommandKind, kind};
///
/// assert_eq!(kind("timeout 20 ./p"), CommandKind::Launcher);
/// assert_eq!(kind("./timeout 20 ./p"), CommandKind::Program);
/// assert_eq!(kind("python3 tests.py"), CommandKind::Interpreter);
/// ```
pub fn kind(command: &str) -> CommandKind {
    let words = words(command);
    let Some((program, arguments)) = words.split_first() else {
        return CommandKind::Program;
    };
    if SCRIPT_ENDINGS
        .iter()
        .any(|ending| program.ends_with(ending))
    {
        return CommandKind::Launcher;
    }
    let name = base_name(program);
    if name.len() < program.len() && !is_system_directory(&program[..program.len() - name.len()]) {
        return CommandKind::Program;
    }
    if is_launcher(name) {
        return CommandKind::Launcher;
    }
    match Interpreter::find(name) {
        Some(interpreter) if interpreter.starts_program(arguments) => CommandKind::Launcher,
        Some(_) => CommandKind::Interpreter,
        None => CommandKind::Program,
    }
}

/// Returns the kind of a script with this first line. An interpreter may be in any directory.
pub fn script_kind(first_line: &str) -> CommandKind {
    let Some(line) = first_line.strip_prefix("#!") else {
        return CommandKind::Program;
    };
    // `#!/usr/bin/env -S VARIABLE=value bash -e`
    let mut words = line.split_ascii_whitespace().map(base_name);
    let name = words.find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='));
    match name {
        Some(name) if SHELLS.contains(&name) => CommandKind::Launcher,
        Some(name) if Interpreter::find(name).is_some() => CommandKind::Interpreter,
        _ => CommandKind::Program,
    }
}

/// Returns a note if Valgrind profiled only launchers; `None` if it profiled another command too.
pub fn launcher_note<'r>(runs: impl IntoIterator<Item = &'r RunRecord>) -> Option<String> {
    let is_valgrinds = |run: &&RunRecord| run.tool.as_ref().is_some_and(Tool::is_valgrinds);
    let runs = runs.into_iter().filter(is_valgrinds);
    let mut launcher = None;
    for command in runs.filter_map(|run| run.command.as_deref()) {
        match kind(command.trim()) {
            CommandKind::Launcher => launcher = launcher.or(Some(command.trim())),
            CommandKind::Program | CommandKind::Interpreter => return None,
        }
    }
    launcher.map(|command| {
        format!(
            "\"{command}\" starts other programs, which this profile does not contain; \
             valgrind --trace-children=yes profiles them too"
        )
    })
}

/// Splits a command into words. A `\` precedes a blank inside a word.
pub fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if matches!(chars.peek(), Some(' ' | '\\' | '<' | '>')) => {
                word.extend(chars.next());
            }
            ' ' if !word.is_empty() => words.push(std::mem::take(&mut word)),
            ' ' => {}
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_launcher(name: &str) -> bool {
    SHELLS.contains(&name) || LAUNCHERS.contains(&name)
}

/// Returns true for a directory of the system, or of cargo's programs. The path ends with `/`.
fn is_system_directory(path: &str) -> bool {
    let system = [
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/sbin/",
        "/usr/sbin/",
    ];
    system.contains(&path) || path.ends_with("/.cargo/bin/")
}

impl Interpreter {
    const fn new(name: &'static str, code: &'static str, value: &'static str) -> Interpreter {
        Interpreter { name, code, value }
    }

    /// Returns the interpreter with this name, which a version may follow: `python3.11`.
    fn find(name: &str) -> Option<&'static Interpreter> {
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS.iter().find(|known| known.name == name)
    }

    /// Returns true if the arguments contain code that starts a program.
    fn starts_program(&self, arguments: &[String]) -> bool {
        self.find_code(arguments)
            .is_some_and(|code| STARTS.iter().any(|start| code.contains(start)))
    }

    /// Returns the code in the arguments: `-c CODE`, or in a group of options, `-we CODE`.
    fn find_code<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--eval" || argument == "--print" {
                return arguments.next().map(String::as_str);
            }
            if let Some(code) = argument.strip_prefix("--eval=") {
                return Some(code);
            }
            // A script or a module follows, and its arguments are its own.
            let options = argument.strip_prefix('-')?;
            for (at, letter) in options.char_indices() {
                let rest = &options[at + letter.len_utf8()..];
                if self.code.contains(letter) {
                    return match rest {
                        "" => arguments.next().map(String::as_str),
                        code => Some(code),
                    };
                }
                if self.value.contains(letter) {
                    if rest.is_empty() && !letter.is_ascii_digit() {
                        arguments.next();
                    }
                    break;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_blanks_stay_in_their_word() {
        assert_eq!(words(r"./a\ b  c\\d"), ["./a b", r"c\d"]);
    }

    #[test]
    fn launchers_are_known_by_their_name_and_directory() {
        for command in [
            "timeout 20 ./p",
            "/usr/bin/timeout 20 ./p",
            "/bin/sh -c ./p",
            "/usr/local/bin/fish -c ./p",
            "/usr/sbin/chroot / p",
            "/home/me/.cargo/bin/cargo nextest run",
            "make",
            "libtool --mode=execute ./p",
            "./run-tests.sh",
            "/opt/x/all.ksh -v",
            "xvfb-run ./p",
        ] {
            assert_eq!(kind(command), CommandKind::Launcher, "{command}");
        }
        for command in [
            "",
            "./p sh",
            "./bash -c x",
            "src/timeout 5 true",
            "/opt/bin/timeout 5 true",
            "/home/me/cargo/bin/cargo build",
            "bashful",
            "./sh.c",
            r"./time\ out.sh2",
            "./venv/bin/python tests.py",
        ] {
            assert_eq!(kind(command), CommandKind::Program, "{command}");
        }
    }

    #[test]
    fn interpreters_are_launchers_if_their_code_starts_a_program() {
        for command in [
            r"python3 -c import\ os;\ os.system('./p')",
            r"/usr/bin/python3.11 -Sc import\ subprocess",
            r"python -W ignore -c os.popen('./p')",
            r"perl -we system('./p')",
            r"perl5.36 -Mstrict -e exec('./p')",
            r"perl -esystem('./p')",
            r"ruby -e spawn('./p')",
            r"node --eval require('child_process').exec('./p')",
            r"php8.2 -r system('./p');",
        ] {
            assert_eq!(kind(command), CommandKind::Launcher, "{command}");
        }
        for command in [
            "python3 tests.py",
            r"python3 -c import\ mymodule;\ mymodule.run()",
            "python3 -m pytest -c system.cfg",
            "python3 tests.py -c subprocess",
            "python3 -Wignore test_subprocess.py",
            "perl -I lib t/exec.t",
            "lua5.4",
            "tclsh x.tcl -e exec",
        ] {
            assert_eq!(kind(command), CommandKind::Interpreter, "{command}");
        }
    }

    #[test]
    fn a_profile_of_launchers_alone_has_a_note() {
        let run = |tool: &str, command: &str| RunRecord {
            command: Some(command.to_owned()),
            ..RunRecord::new(tool)
        };
        let launcher = run("callgrind", " timeout 20 ./p");
        let note = launcher_note([&launcher]).unwrap_or_default();
        assert!(note.starts_with("\"timeout 20 ./p\" "), "{note}");
        assert!(note.contains("--trace-children=yes"), "{note}");
        for other in [run("callgrind", "./p"), run("massif", "python3 a.py")] {
            assert_eq!(launcher_note([&launcher, &other]), None);
        }
        // perf follows the programs that a command starts.
        assert_eq!(launcher_note([&run("perf", "make")]), None);
        assert_eq!(launcher_note([]), None);
    }

    #[test]
    fn a_script_is_a_launcher_if_a_shell_runs_it() {
        for (line, expected) in [
            ("#!/bin/sh", CommandKind::Launcher),
            ("#! /usr/bin/env -S LANG=C bash -e", CommandKind::Launcher),
            ("#!/opt/homebrew/bin/fish", CommandKind::Launcher),
            ("#!/usr/bin/env python3", CommandKind::Interpreter),
            ("#!/usr/bin/awk -f", CommandKind::Program),
            ("#!", CommandKind::Program),
            ("sh", CommandKind::Program),
        ] {
            assert_eq!(script_kind(line), expected, "{line}");
        }
    }
}
