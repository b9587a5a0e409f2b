//! Forked children that executed a program which Valgrind does not follow: `system()`, `popen()`, Rust's `Command`.
//!
//! With `%p` in the log's name, Valgrind creates a log for such a child between fork and exec. The log ends after its
//! preamble, exactly like the log of a killed process. With `--allow-exec` the user asserts that such children executed
//! a program. A child is then skipped with a warning if the complete log of its parent is among the inputs and has the
//! same command.

use cg_stream::Diagnostics;

use crate::finding::{Evidence, JudgedProcess};

/// Processes whose logs have only a preamble.
#[derive(Default)]
pub(crate) struct Children(Vec<Child>);

struct Child {
    process: JudgedProcess,
    /// The error message for its incomplete log.
    error: String,
}

impl Children {
    pub(crate) fn add(&mut self, process: JudgedProcess, error: &str) {
        let error = error.to_owned();
        self.0.push(Child { process, error });
    }

    /// Skips the children whose parent is known, if `allow_exec` is set. Reports the other children as errors and adds
    /// them to the evidence.
    pub(crate) fn skip_or_report(
        self,
        allow_exec: bool,
        evidence: &mut Evidence,
        diagnostics: &mut Diagnostics,
    ) {
        let mut left = self.0;
        let mut forked: Vec<Child> = Vec::new();
        // Repeat, because a skipped child may itself have forked before its exec.
        loop {
            let whole = evidence.processes.iter().filter(|parent| parent.is_whole);
            let known: Vec<&JudgedProcess> = whole
                .chain(forked.iter().map(|child| &child.process))
                .collect();
            let (passed, others): (Vec<Child>, Vec<Child>) = left.into_iter().partition(|child| {
                known
                    .iter()
                    .any(|parent| may_have_forked(parent, &child.process))
            });
            left = others;
            if passed.is_empty() {
                break;
            }
            forked.extend(passed);
        }
        if !allow_exec {
            left.extend(forked.drain(..).map(|child| Child {
                error: format!(
                    "{}; Valgrind's --child-silent-after-fork=yes prevents the logs of such children, and --allow-exec \
                     skips them if all of them execute a program",
                    child.error
                ),
                ..child
            }));
        }
        if let Some(first) = forked.first() {
            let more = match forked.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            diagnostics.warn(format!(
                "{}{more}: skipped (--allow-exec): the log has only a preamble, and the log of the parent is complete",
                first.process.title()
            ));
        }
        for mut child in left {
            diagnostics.error(&child.error);
            child.process.not_judged = Some("the log has only a preamble".to_owned());
            evidence.processes.push(child.process);
        }
    }
}

/// Returns true if this process may have forked the child.
fn may_have_forked(parent: &JudgedProcess, child: &JudgedProcess) -> bool {
    // With this option Valgrind follows the executed program, so the log would continue.
    let follows = child
        .facts()
        .options
        .iter()
        .any(|option| option.trim_start_matches('-') == "trace-children=yes");
    let parent_pid = child.facts().ppid;
    parent_pid.is_some_and(|pid| pid != 0)
        && parent_pid == parent.run.pid
        && child.run.command == parent.run.command
        && child.run.tool == parent.run.tool
        && !follows
}
