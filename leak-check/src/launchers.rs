//! Launchers that ran under Valgrind although the program did not: `valgrind timeout 20 ./p` without
//! `--trace-children=yes` judges `timeout`.
//!
//! A launcher is traced if a program that it started, directly or through other launchers, was judged too. Such a program
//! names the launcher as its parent, or is in the same log.

use std::fs::File;
use std::io::Read as _;

use cg_collections::maps::Map;
use cg_names::commands::{CommandKind, kind, script_kind, words};

use crate::finding::{Evidence, JudgedProcess};
use crate::paths::Paths;

/// A doubt about the processes, which a message describes.
pub(crate) struct LauncherNote {
    pub(crate) sentence: String,
    /// True if the program under test did not run under Valgrind. False if that is only possible.
    pub(crate) is_error: bool,
}

/// Returns a note for each command of a launcher that was not traced, and of an interpreter without traced programs.
pub(crate) fn notes(evidence: &Evidence, paths: &Paths) -> Vec<LauncherNote> {
    let processes = &evidence.processes;
    let family = Family::new(processes, paths);
    let mut commands: Vec<(&str, CommandKind, &JudgedProcess, usize)> = Vec::new();
    for (position, process) in processes.iter().enumerate() {
        let (Some(kind), Some(command)) = (family.kinds[position], &process.run.command) else {
            continue;
        };
        if kind == CommandKind::Program || !is_judged(process) || family.is_traced(position) {
            continue;
        }
        match commands.iter_mut().find(|known| known.0 == command) {
            Some((.., more)) => *more += 1,
            None => commands.push((command, kind, process, 0)),
        }
    }
    let notes = commands.into_iter().map(|(_, kind, process, more)| {
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let title = process.command_title();
        let is_error = kind == CommandKind::Launcher;
        let reason = match is_error {
            true => {
                "this command starts other programs, and none of them is among the inputs; rerun Valgrind with \
                 --trace-children=yes, or accept this with --allow-launcher"
            }
            false => {
                "judged as the program under test; if it starts that program, rerun Valgrind with \
                 --trace-children=yes"
            }
        };
        LauncherNote {
            sentence: format!("{title}{more}: {reason}"),
            is_error,
        }
    });
    notes.collect()
}

/// Returns true if Valgrind ran the process, and the process can be judged.
fn is_judged(process: &JudgedProcess) -> bool {
    process.is_judged() && !process.is_from_sanitizer()
}

/// The processes by parent and by log.
struct Family<'a> {
    processes: &'a [JudgedProcess],
    /// The kind of each process's command; `None` if it is unknown.
    kinds: Vec<Option<CommandKind>>,
    by_parent: Map<u64, Vec<usize>>,
    by_log: Map<&'a str, Vec<usize>>,
}

impl<'a> Family<'a> {
    fn new(processes: &'a [JudgedProcess], paths: &Paths) -> Family<'a> {
        let mut known: Map<&str, CommandKind> = Map::default();
        let mut family = Family {
            processes,
            kinds: Vec::with_capacity(processes.len()),
            by_parent: Map::default(),
            by_log: Map::default(),
        };
        for (position, process) in processes.iter().enumerate() {
            let command = process.run.command.as_deref();
            let kind = command.map(|command| {
                *known
                    .entry(command)
                    .or_insert_with(|| command_kind(command, paths))
            });
            family.kinds.push(kind);
            if let Some(parent) = process.facts().ppid.filter(|pid| *pid != 0) {
                family.by_parent.entry(parent).or_default().push(position);
            }
            let log = process.source.as_str();
            family.by_log.entry(log).or_default().push(position);
        }
        family
    }

    /// Returns true if a program that the process started was judged.
    fn is_traced(&self, launcher: usize) -> bool {
        let mut is_seen = vec![false; self.processes.len()];
        is_seen[launcher] = true;
        let mut open = vec![launcher];
        while let Some(position) = open.pop() {
            let process = &self.processes[position];
            let children = process.run.pid.and_then(|pid| self.by_parent.get(&pid));
            let neighbours = self.by_log.get(process.source.as_str());
            for &next in children.into_iter().chain(neighbours).flatten() {
                if std::mem::replace(&mut is_seen[next], true) {
                    continue;
                }
                let is_program = matches!(
                    self.kinds[next],
                    Some(CommandKind::Program | CommandKind::Interpreter)
                );
                if is_program && is_judged(&self.processes[next]) {
                    return true;
                }
                open.push(next);
            }
        }
        false
    }
}

/// Returns the kind of a command. Reads the first line of a script below the root.
fn command_kind(command: &str, paths: &Paths) -> CommandKind {
    match kind(command) {
        CommandKind::Program => script_below_root(command, paths).unwrap_or(CommandKind::Program),
        kind => kind,
    }
}

fn script_below_root(command: &str, paths: &Paths) -> Option<CommandKind> {
    /// The maximum length of the first line. Linux reads 256 bytes.
    const LONGEST: u64 = 256;
    let words = words(command);
    let program = words.first().filter(|program| program.contains('/'))?;
    let path = paths.absolute(program)?;
    // Opening a pipe could block.
    if !path.is_file() {
        return None;
    }
    let mut beginning = Vec::new();
    File::open(path)
        .ok()?
        .take(LONGEST)
        .read_to_end(&mut beginning)
        .ok()?;
    let line = beginning.split(|byte| *byte == b'\n').next()?;
    Some(script_kind(&String::from_utf8_lossy(line)))
}
