//! The title of a process: its test or command, its pid and its input.

use cg_names::commands::words;
use cg_names::identity::normal_object;

use crate::finding::JudgedProcess;

/// A test that a process ran as its only test, as started by nextest and other runners of libtest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// The name of the test binary, without its hash.
    pub(crate) binary: String,
    /// The path of the test: `module::test`.
    pub(crate) name: String,
}

impl JudgedProcess {
    /// Returns the test; `None` unless the command has `--exact` and a name.
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

    /// Returns the known parts of `test leaks::one of demo, process 4242 (out.4242.xml)`.
    pub(crate) fn title(&self) -> String {
        match self.test() {
            Some(test) => self.titled(Some(format!("test {} of {}", test.name, test.binary))),
            None => self.command_title(),
        }
    }

    /// Returns the title with the command, even if the process ran a test.
    pub(crate) fn command_title(&self) -> String {
        self.titled(self.run.command.clone())
    }

    fn titled(&self, program: Option<String>) -> String {
        let pid = self.run.pid.map(|pid| format!("process {pid}"));
        match (program, pid) {
            (Some(program), Some(pid)) => format!("{program}, {pid} ({})", self.source),
            (Some(one), None) | (None, Some(one)) => format!("{one} ({})", self.source),
            (None, None) => self.source.clone(),
        }
    }
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
    fn a_process_with_exact_is_titled_by_its_test() {
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
}
