//! What to call a process: by the test it ran, its command, pid and input.

use cg_names::identity::normal_object;

use crate::finding::JudgedProcess;

/// A test that a process ran alone, as nextest and other runners of libtest start them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The test binary, without the hash in its name.
    pub(crate) binary: String,
    /// `module::test`.
    pub(crate) name: String,
}

impl JudgedProcess {
    /// The test, where the command says `--exact` and names one.
    pub(crate) fn test(&self) -> Option<Test> {
        let words = words(self.run.command.as_deref()?);
        let (program, arguments) = words.split_first()?;
        if !arguments.iter().any(|argument| argument == "--exact") {
            return None;
        }
        let name = arguments
            .iter()
            .find(|argument| !argument.starts_with('-'))?;
        Some(Test {
            binary: normal_object(program).into_owned(),
            name: name.clone(),
        })
    }

    /// `test leaks::one of demo, process 4242 (out.4242.xml)`, as far as is known.
    pub(crate) fn title(&self) -> String {
        let what = match (self.test(), &self.run.command) {
            (Some(test), _) => Some(format!("test {} of {}", test.name, test.binary)),
            (None, Some(command)) => Some(command.clone()),
            (None, None) => None,
        };
        let pid = self.run.pid.map(|pid| format!("process {pid}"));
        match (what, pid) {
            (Some(what), Some(pid)) => format!("{what}, {pid} ({})", self.source),
            (Some(one), None) | (None, Some(one)) => format!("{one} ({})", self.source),
            (None, None) => self.source.clone(),
        }
    }
}

/// The words of a command; logs put `\` in front of blanks that belong to a word.
fn words(command: &str) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::RunRecord;

    fn process(command: &str) -> JudgedProcess {
        JudgedProcess {
            run: RunRecord {
                command: Some(command.to_owned()),
                pid: Some(42),
                ..RunRecord::default()
            },
            source: "out.42.xml".to_owned(),
            ..JudgedProcess::default()
        }
    }

    #[test]
    fn a_test_is_named_by_what_its_runner_asked_for() {
        let nextest = process("/t/debug/deps/demo-0123456789abcdef --exact leaks::one --nocapture");
        assert_eq!(
            nextest.test().unwrap(),
            Test {
                binary: "demo".to_owned(),
                name: "leaks::one".to_owned()
            }
        );
        assert_eq!(
            nextest.title(),
            "test leaks::one of demo, process 42 (out.42.xml)"
        );
        assert_eq!(process("./a --exact").test(), None);
        assert_eq!(process("./a one").test(), None);
        assert_eq!(
            process("./a one").title(),
            "./a one, process 42 (out.42.xml)"
        );
    }

    #[test]
    fn escaped_blanks_stay_in_their_word() {
        assert_eq!(words(r"./a\ b  c\\d"), ["./a b", r"c\d"]);
    }
}
