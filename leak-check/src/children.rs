//! Children that were forked and then executed a program which Valgrind does not follow: `system()`, `popen()`, Rust's
//! `Command`.
//!
//! With `%p` in its log's name, Valgrind creates a log for such a child between fork and exec; it ends after the
//! preamble, as the log of a killed process does, and nothing tells the two apart. With `--allow-exec` the user says that such
//! children executed something: those whose parent's whole log is among the inputs, with the same command, are passed over
//! with a warning.

use cg_stream::Diagnostics;

use crate::finding::{Evidence, JudgedProcess};

/// Processes of which nothing but the preamble is known.
#[derive(Default)]
pub(crate) struct Children(Vec<Child>);

struct Child {
    process: JudgedProcess,
    /// Why its log cannot be whole.
    trouble: String,
}

impl Children {
    pub(crate) fn add(&mut self, process: JudgedProcess, trouble: &str) {
        let trouble = trouble.to_owned();
        self.0.push(Child { process, trouble });
    }

    /// Skips the children whose parent is known, if that is allowed. The others are trouble, and are added to the evidence.
    pub(crate) fn pass_over(
        self,
        allow_exec: bool,
        evidence: &mut Evidence,
        diagnostics: &mut Diagnostics,
    ) {
        let mut left = self.0;
        let mut forked: Vec<Child> = Vec::new();
        // Repeated, since a skipped child may itself have forked before its exec.
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
                trouble: format!(
                    "{}; --allow-exec passes such children over where all of them execute something",
                    child.trouble
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
                "{}{more}: passed over: forked by a process that is judged, and nothing but the preamble, as of a child that executes a program which Valgrind does not follow",
                first.process.title()
            ));
        }
        for mut child in left {
            diagnostics.trouble(&child.trouble);
            child.process.not_judged = Some("nothing but its preamble is known".to_owned());
            evidence.processes.push(child.process);
        }
    }
}

/// True if this process may have forked the child whose log is only a preamble.
fn may_have_forked(parent: &JudgedProcess, child: &JudgedProcess) -> bool {
    // With this option Valgrind follows the executed program, so the log would go on.
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
