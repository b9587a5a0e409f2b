//! How a verdict is shown. Everything is decided by now: this is only form, one module a format.

mod text;

mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod sarif;

mod kinds;
mod ordinal;
mod place;

use std::collections::HashMap;
use std::io;

use cg_stream::record::{Count, Frame};

use crate::finding::{Evidence, Finding, LeakKind, ProcessId};
use crate::own;
use crate::paths::Paths;
use crate::policy::{Ruling, Status, Verdict};
use crate::sentence::{grouped, plural, sentence};

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
    Junit,
    Sarif,
    Github,
    Gitlab,
}

impl Format {
    /// Whether its consumer looks up source lines in the repository.
    pub(crate) fn needs_repository_paths(self) -> bool {
        matches!(
            self,
            Format::Markdown | Format::Sarif | Format::Github | Format::Gitlab
        )
    }
}

/// What a report is made of.
pub(crate) struct Report<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) verdict: &'a Verdict,
    pub(crate) paths: &'a Paths,
    /// Something kept the inputs from being judged as a whole.
    pub(crate) could_not_judge: bool,
}

/// The report as bytes.
///
/// # Errors
/// Where a count does not fit the format.
pub(crate) fn render(report: &Report<'_>, format: Format, in_colour: bool) -> io::Result<Vec<u8>> {
    match format {
        Format::Text => Ok(text::render(report, in_colour).into_bytes()),
        Format::Markdown => Ok(markdown::render(report).into_bytes()),
        Format::Json => json::render(report),
        Format::Junit => junit::render(report),
        Format::Sarif => sarif::render(report),
        Format::Github => Ok(github::render(report).into_bytes()),
        Format::Gitlab => gitlab::render(report),
    }
}

/// Equal findings of one or several processes.
pub(crate) struct Entry<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) ruling: &'a Ruling,
    pub(crate) sentence: String,
    /// One a finding, so a process may be there several times.
    pub(crate) processes: Vec<ProcessId>,
}

/// Entries that are blamed on one function.
pub(crate) struct Group<'a> {
    /// The function, or what else is known of the frame.
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) entries: Vec<Entry<'a>>,
}

impl<'a> Report<'a> {
    /// Findings with their rulings.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&'a Finding, &'a Ruling)> {
        self.evidence.findings.iter().zip(&self.verdict.rulings)
    }

    /// What fails the gate, and what a limit lets pass; equal findings in one entry. In the order of the groups: new
    /// ones first, errors before leaks, then by bytes lost.
    pub(crate) fn groups(&self) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut group_of: HashMap<(String, Option<String>), usize> = HashMap::new();
        let mut entry_of: HashMap<(usize, Status, String, Vec<String>), usize> = HashMap::new();
        for (finding, ruling) in self.findings() {
            if !matches!(ruling.status, Status::New | Status::Allowed) {
                continue;
            }
            let blamed = ruling.blame.map(|blame| &finding.stack[blame]);
            let function = blamed.map_or_else(
                || {
                    let title = match finding.is_unprinted() {
                        true => "not printed",
                        false => "without a stack",
                    };
                    title.to_owned()
                },
                function_name,
            );
            let file = blamed
                .and_then(|frame| frame.file.as_deref())
                .map(|file| one_line(&self.paths.shown(file)));
            let group = *group_of
                .entry((function.clone(), file.clone()))
                .or_insert_with(|| {
                    groups.push(Group {
                        function,
                        file,
                        entries: Vec::new(),
                    });
                    groups.len() - 1
                });
            let sentence = one_line(&sentence(finding, self.paths));
            let key = (
                group,
                ruling.status,
                sentence.clone(),
                stack_lines(&finding.stack, self.paths),
            );
            let entries = &mut groups[group].entries;
            let entry = *entry_of.entry(key).or_insert_with(|| {
                entries.push(Entry {
                    finding,
                    ruling,
                    sentence,
                    processes: Vec::new(),
                });
                entries.len() - 1
            });
            entries[entry].processes.push(finding.process);
        }
        for group in &mut groups {
            group.entries.sort_by_cached_key(Entry::rank);
        }
        groups.sort_by_cached_key(|group| {
            let first = group.entries.first().map(Entry::rank);
            (first, group.function.clone(), group.file.clone())
        });
        groups
    }

    /// The sentence with its subject: `make_node leaks 64 bytes in 1 block, definitely lost`.
    pub(crate) fn message(&self, entry: &Entry<'_>) -> String {
        let blamed = entry.ruling.blame.map(|blame| &entry.finding.stack[blame]);
        match blamed {
            Some(frame) => format!("{} {}", function_name(frame), entry.sentence),
            None => entry.sentence.clone(),
        }
    }

    /// The processes of an entry, the first few by name.
    pub(crate) fn process_lines(&self, entry: &Entry<'_>) -> Vec<String> {
        const MOST_SHOWN: usize = 5;
        let mut counted: Vec<(ProcessId, u64)> = Vec::new();
        for &process in &entry.processes {
            match counted.last_mut() {
                Some((last, count)) if *last == process => *count += 1,
                _ => counted.push((process, 1)),
            }
        }
        let mut lines: Vec<String> = counted
            .iter()
            .take(MOST_SHOWN)
            .map(|&(process, count)| {
                let title = one_line(&self.evidence.process(process).title());
                match count {
                    1 => title,
                    count => format!("{title}, {count} times"),
                }
            })
            .collect();
        if counted.len() > MOST_SHOWN {
            lines.push(format!("{} more processes", counted.len() - MOST_SHOWN));
        }
        lines
    }

    /// The sums for the table at the end.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = LeakKind::ALL
            .iter()
            .map(|kind| Row::new(kind.phrase(), true))
            .collect();
        rows.push(Row::new("errors", false));
        for (finding, ruling) in self.findings() {
            let row = match finding.leak_kind() {
                Some(kind) => &mut rows[kind as usize],
                None => &mut rows[LeakKind::ALL.len()],
            };
            if let Some((bytes, blocks)) = finding.lost() {
                let lost = row.lost.get_or_insert((0, 0));
                lost.0 += bytes;
                lost.1 += blocks;
            }
            row.findings[ruling.status as usize] += 1;
        }
        rows
    }

    /// `3 new findings in 2 of 40 processes`: the verdict in a line.
    pub(crate) fn verdict_line(&self) -> String {
        let new = self.verdict.count(Status::New);
        let all_processes = plural(
            self.evidence.processes.len() as Count,
            "process",
            "processes",
        );
        let mut with_new: Vec<ProcessId> = self
            .findings()
            .filter(|(_, ruling)| ruling.status == Status::New)
            .map(|(finding, _)| finding.process)
            .collect();
        with_new.sort_unstable();
        with_new.dedup();
        let mut line = match (new, self.could_not_judge) {
            (0, false) => format!("clean: no new findings in {all_processes}"),
            (0, true) => {
                format!("could not judge: no new findings in what could be read of {all_processes}")
            }
            (new, could_not_judge) => format!(
                "{}{} in {} of {all_processes}",
                if could_not_judge {
                    "could not judge all: "
                } else {
                    ""
                },
                plural(new as Count, "new finding", "new findings"),
                with_new.len()
            ),
        };
        for (status, word) in [
            (Status::Allowed, "within the limits"),
            (Status::Known, "known"),
            (Status::Suppressed, "suppressed"),
        ] {
            let count = self.verdict.count(status);
            if count > 0 {
                line.push_str(&format!(", {count} {word}"));
            }
        }
        line
    }
}

impl Entry<'_> {
    /// What sorts entries: what fails first, errors before leaks, more bytes before fewer, then by text.
    fn rank(&self) -> (Status, Option<LeakKind>, std::cmp::Reverse<Count>, String) {
        let bytes = self.finding.lost().map_or(0, |(bytes, _)| bytes);
        (
            self.ruling.status,
            self.finding.leak_kind(),
            std::cmp::Reverse(bytes),
            self.sentence.clone(),
        )
    }
}

/// A row of the table at the end of a report.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) is_of_leaks: bool,
    /// Bytes and blocks, where there were any.
    pub(crate) lost: Option<(Count, Count)>,
    /// How many findings have each status.
    pub(crate) findings: [u64; Status::ALL.len()],
}

impl Row {
    fn new(name: &'static str, is_of_leaks: bool) -> Row {
        Row {
            name,
            is_of_leaks,
            lost: None,
            findings: [0; Status::ALL.len()],
        }
    }
}

/// The table as text, its head first. Statuses that nothing has are left out, but for `new`.
pub(crate) fn table_cells(rows: &[Row]) -> Vec<Vec<String>> {
    let statuses: Vec<Status> = Status::ALL
        .into_iter()
        .filter(|status| {
            *status == Status::New || rows.iter().any(|row| row.findings[*status as usize] > 0)
        })
        .collect();
    let mut head: Vec<String> = ["", "bytes", "blocks", "found"].map(str::to_owned).into();
    head.extend(
        statuses
            .iter()
            .map(|status| status.word().replace('_', " ")),
    );
    let mut table = vec![head];
    for row in rows {
        let (bytes, blocks) = match row.lost {
            Some((bytes, blocks)) => (grouped(bytes), grouped(blocks)),
            None if row.is_of_leaks => ("0".to_owned(), "0".to_owned()),
            None => (String::new(), String::new()),
        };
        let mut cells = vec![row.name.to_owned(), bytes, blocks];
        cells.push(row.findings.iter().sum::<u64>().to_string());
        cells.extend(
            statuses
                .iter()
                .map(|status| row.findings[*status as usize].to_string()),
        );
        table.push(cells);
    }
    table
}

/// Names are input and may hold anything: control characters reach neither a terminal nor the lines of a format.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// The function of a frame; where it has none, its object or address.
pub(crate) fn function_name(frame: &Frame) -> String {
    let name = frame.name.as_deref().filter(|name| *name != "???");
    let text = match (name, frame.obj.as_deref(), frame.addr.as_deref()) {
        (Some(name), _, _) => name.to_owned(),
        (None, Some(object), _) => {
            format!("??? in {}", object.rsplit('/').next().unwrap_or(object))
        }
        (None, None, Some(address)) => address.to_owned(),
        (None, None, None) => "???".to_owned(),
    };
    one_line(&text)
}

/// `make_node (src/tree.c:12)`, `malloc (in vgpreload_memcheck-amd64-linux.so)`.
pub(crate) fn frame_line(frame: &Frame, paths: &Paths) -> String {
    let name = frame.name.as_deref().unwrap_or("???");
    match (&frame.file, frame.line, &frame.obj) {
        (Some(file), Some(line), _) => format!("{name} ({}:{line})", paths.shown(file)),
        (Some(file), None, _) => format!("{name} ({})", paths.shown(file)),
        (None, _, Some(object)) => {
            format!(
                "{name} (in {})",
                object.rsplit('/').next().unwrap_or(object)
            )
        }
        (None, _, None) => match &frame.addr {
            Some(address) if name == "???" => address.to_string(),
            _ => name.to_owned(),
        },
    }
}

/// A stack, a line a frame. A frame that repeats, as recursion does, is on one line, and so are frames of libraries in
/// a row: a Rust test has some twenty of them below its own.
pub(crate) fn stack_lines(stack: &[Frame], paths: &Paths) -> Vec<String> {
    /// As many frames of libraries in a row as are shown.
    const MOST_OF_LIBRARIES: usize = 2;
    let has_own = stack.iter().any(own::is_own);
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut position = 0;
    while let Some(frame) = stack.get(position) {
        let of_libraries = stack[position..]
            .iter()
            .take_while(|frame| !own::is_own(frame))
            .count();
        // What was called last is said in any case: it is what the program asked of the libraries.
        if has_own && position > 0 && of_libraries > MOST_OF_LIBRARIES {
            lines.push((format!("{of_libraries} frames of libraries"), 1));
            position += of_libraries;
            continue;
        }
        let line = one_line(&frame_line(frame, paths));
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
        position += 1;
    }
    lines
        .into_iter()
        .enumerate()
        .map(|(position, (line, count))| {
            let word = if position == 0 { "at" } else { "by" };
            match count {
                1 => format!("{word} {line}"),
                count => format!("{word} {line}, {count} times"),
            }
        })
        .collect()
}
