//! The source around the lines of frames, for a page. Reads files below the root and the other directories of sources, on
//! the machine that writes the page. No verdict depends on sources.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::time::SystemTime;

use cg_collections::sorting::Order as _;
use cg_document::html::FrameSource;
use cg_document::number::plural;
use cg_document::visible;
use cg_sources::{FoundSource, SourceText, around};
use cg_stream::record::Count;

use super::{GateReport, ReportEntry};
use crate::finding::JudgedProcess;

/// The number of lines to show before and after the line of a frame.
const CONTEXT: u64 = 3;
/// The maximum number of files to search for, in the order of the findings.
const MOST_FILES: usize = 1000;
/// The maximum number of passages on a page. Blamed frames come first.
const MOST_PASSAGES: usize = 2000;
/// The maximum number of characters to show of a line. Longer lines are usually generated.
const LONGEST_LINE: usize = 300;

/// The sources of a page.
pub(super) struct Sources {
    /// The lines of frames, by entry and position.
    lines: HashMap<(usize, usize), FrameLine>,
    /// The entries and positions with a passage.
    passages: HashSet<(usize, usize)>,
    /// The results of the search for files, in the order of the findings.
    files: Vec<(String, FoundSource)>,
    files_left: usize,
    /// The number of passages beyond [`MOST_PASSAGES`].
    passages_left: usize,
    /// The modification time of each process's log; `None` if it is unknown.
    written: Vec<Option<SystemTime>>,
}

/// The source line of a frame.
struct FrameLine {
    /// The index of the file.
    file: usize,
    line: u64,
    is_blamed: bool,
}

/// The files of frames, with the lines to show.
#[derive(Default)]
struct WantedFiles {
    index: HashMap<String, usize>,
    files: Vec<(String, BTreeSet<u64>)>,
}

impl Sources {
    /// Searches for the files and reads the wanted lines, each file once.
    pub(super) fn read(report: &GateReport<'_>, entries: &[ReportEntry<'_>]) -> Sources {
        let mut wanted = WantedFiles::default();
        let mut lines = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            wanted.add(report, at, entry, &mut lines);
        }
        let files_left = wanted.files.len().saturating_sub(MOST_FILES);
        let files = wanted.files.into_iter().take(MOST_FILES);
        let files: Vec<_> = files
            .map(|(name, lines)| {
                let found = report.places.find(&name, &around(lines, CONTEXT));
                (name, found)
            })
            .collect();
        let is_found = |line: &FrameLine| {
            let found = files.get(line.file).map(|(_, found)| found);
            matches!(found, Some(FoundSource::Shown(_, text)) if text.has(line.line))
        };
        let mut found: Vec<(bool, (usize, usize))> = lines
            .iter()
            .filter(|(_, line)| is_found(line))
            .map(|(place, line)| (!line.is_blamed, *place))
            .collect();
        found.order_by_key(|found| *found);
        let passages_left = found.len().saturating_sub(MOST_PASSAGES);
        let passages = found.into_iter().take(MOST_PASSAGES);
        Sources {
            passages: passages.map(|(_, place)| place).collect(),
            lines,
            files,
            files_left,
            passages_left,
            written: report.evidence.processes.iter().map(written).collect(),
        }
    }

    /// Returns the source of a frame. Reports a missing source only for the blamed frame, to keep the page short.
    pub(super) fn get(
        &self,
        at: usize,
        entry: &ReportEntry<'_>,
        position: usize,
        is_blamed: bool,
    ) -> Option<FrameSource> {
        let frame = &entry.finding.stack[position];
        let line = frame
            .line
            .filter(|line| *line > 0 && frame.file.is_some())?;
        let missing = |reason: String| is_blamed.then_some(FrameSource::Missing(reason));
        let Some(known) = self.lines.get(&(at, position)) else {
            return missing("source not found".to_owned());
        };
        let (_, found) = self.files.get(known.file)?;
        match found {
            FoundSource::Shown(_, text) if text.has(line) => {
                let is_there = self.passages.contains(&(at, position));
                is_there.then(|| FrameSource::Shown {
                    lines: passage(text, line),
                    line,
                    remark: self.remark(text, entry),
                })
            }
            FoundSource::Shown(..) => missing(format!("the source has no line {line}")),
            FoundSource::Refused(_, reason) => missing(format!("source not shown: {reason}")),
            FoundSource::Nowhere => missing("source not found".to_owned()),
        }
    }

    /// Returns a remark if the source may have changed since the run.
    fn remark(&self, text: &SourceText, entry: &ReportEntry<'_>) -> Option<&'static str> {
        let processes = entry.processes.iter();
        let first = processes
            .filter_map(|process| self.written[process.0])
            .min()?;
        let is_younger = text.modified.is_some_and(|modified| modified > first);
        is_younger.then_some("written after the log: its lines may have changed")
    }

    /// Returns notes about sources that are missing or may be outdated.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        /// The maximum number of names in a note, to keep it on one line.
        const MOST_NAMED: usize = 5;
        let files = self.files.iter();
        let missing = files.filter(|(_, found)| matches!(found, FoundSource::Nowhere));
        let missing: Vec<_> = missing.map(|(name, _)| visible(name)).collect();
        let named = missing[..missing.len().min(MOST_NAMED)].join(", ");
        let more = if missing.len() > MOST_NAMED {
            ", …"
        } else {
            ""
        };
        let sources = |count: usize| plural(count as Count, "source", "sources");
        let is_undated = !self.passages.is_empty() && self.written.contains(&None);
        [
            (!missing.is_empty()).then(|| {
                let count = sources(missing.len());
                format!("{count} not found: {named}{more} (--source-root DIR searches DIR)")
            }),
            (self.files_left > 0).then(|| format!("{} not searched for", sources(self.files_left))),
            (self.passages_left > 0).then(|| {
                let count = plural(self.passages_left as Count, "passage", "passages");
                format!("{count} of source left out: a page has at most {MOST_PASSAGES}")
            }),
            is_undated.then(|| "sources may have changed: the date of a log is unknown".to_owned()),
        ]
        .into_iter()
        .flatten()
    }
}

impl WantedFiles {
    /// Adds the source lines of an entry's frames. A text log has only the base name of a file. Such a file is searched
    /// for below the root, and only for the program's own frames.
    fn add(
        &mut self,
        report: &GateReport<'_>,
        at: usize,
        entry: &ReportEntry<'_>,
        lines: &mut HashMap<(usize, usize), FrameLine>,
    ) {
        let stack = &entry.finding.stack;
        let own = stack.own();
        for ((_, count), position) in report.lines.placed(stack) {
            let Some(position) = position else {
                continue;
            };
            let frame = &stack[position];
            let file = frame
                .file
                .as_deref()
                .and_then(|file| match file.contains('/') {
                    true => Some(file),
                    false => report.paths.found(file).filter(|_| own[position]),
                });
            let (Some(file), Some(line)) = (file, frame.line.filter(|line| *line > 0)) else {
                continue;
            };
            let file = self.file_index(file);
            self.files[file].1.insert(line);
            let known = FrameLine {
                file,
                line,
                is_blamed: entry.is_blamed_on(position, count),
            };
            lines.insert((at, position), known);
        }
    }

    fn file_index(&mut self, file: &str) -> usize {
        if let Some(index) = self.index.get(file) {
            return *index;
        }
        self.files.push((file.to_owned(), BTreeSet::new()));
        let index = self.files.len() - 1;
        self.index.insert(file.to_owned(), index);
        index
    }
}

fn passage(text: &SourceText, line: u64) -> Vec<(u64, String)> {
    let shown = line.saturating_sub(CONTEXT)..=line.saturating_add(CONTEXT);
    let lines = text.lines().range(shown);
    let cut = |text: &String| match text.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text.clone(),
    };
    lines.map(|(number, text)| (*number, cut(text))).collect()
}

/// Returns the modification time of a process's log, the oldest of several; `None` if any of them is unknown.
fn written(process: &JudgedProcess) -> Option<SystemTime> {
    let one = std::slice::from_ref(&process.source);
    let sources = match process.run.source.as_slice() {
        [] => one,
        sources => sources,
    };
    let times = sources
        .iter()
        .map(|source| fs::metadata(source).ok()?.modified().ok());
    times.collect::<Option<Vec<_>>>()?.into_iter().min()
}
