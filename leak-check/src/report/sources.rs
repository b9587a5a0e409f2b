//! The source around the lines of frames, for a page: as far as it is found where the page is written, below the root or in
//! another directory of sources. It is there to be read, and no verdict depends on it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::time::SystemTime;

use cg_document::html::FrameSource;
use cg_document::number::plural;
use cg_document::visible;
use cg_sources::{FoundSource, SourceText, around};
use cg_stream::record::Count;
use cg_stream::sorting::Order as _;

use super::{GateReport, ReportEntry};
use crate::finding::JudgedProcess;

/// Lines that are shown before and behind that of a frame.
const CONTEXT: u64 = 3;
/// Files that are looked for, those of the first findings first.
const MOST_FILES: usize = 1000;
/// Passages of a page: those of blamed frames first.
const MOST_PASSAGES: usize = 2000;
/// The longest line that is shown in full; what is longer was made by a program.
const LONGEST_LINE: usize = 300;

/// What was found of the sources of a page.
pub(super) struct Sources {
    /// The lines of frames, by entry and position.
    lines: HashMap<(usize, usize), FrameLine>,
    /// Those that have a passage.
    passages: HashSet<(usize, usize)>,
    /// The files that were looked for, in the order of the findings.
    files: Vec<(String, FoundSource)>,
    files_left: usize,
    /// Passages that there was no room for.
    passages_left: usize,
    /// When the log of each process was written, where that is known.
    written: Vec<Option<SystemTime>>,
}

/// A line of a source that a frame names.
struct FrameLine {
    /// The index of the file.
    file: usize,
    line: u64,
    is_blamed: bool,
}

/// The files that frames name, with the lines of them.
#[derive(Default)]
struct WantedFiles {
    index: HashMap<String, usize>,
    files: Vec<(String, BTreeSet<u64>)>,
}

impl Sources {
    /// Reads the wanted lines of each file once.
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

    /// The source of a frame. What is missing is said of the frame to blame alone: a page would be full of it.
    pub(super) fn of(
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

    /// Whether the source may be another one by now.
    fn remark(&self, text: &SourceText, entry: &ReportEntry<'_>) -> Option<&'static str> {
        let processes = entry.processes.iter();
        let first = processes
            .filter_map(|process| self.written[process.0])
            .min()?;
        let is_younger = text.modified.is_some_and(|modified| modified > first);
        is_younger.then_some("written after the log: its lines may be others")
    }

    /// What there is to say of sources that are not shown.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        /// As many as a line has room for.
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
            (self.files_left > 0).then(|| format!("{} not looked for", sources(self.files_left))),
            (self.passages_left > 0).then(|| {
                let count = plural(self.passages_left as Count, "passage", "passages");
                format!("{count} of source left out: the page has {MOST_PASSAGES}")
            }),
            is_undated.then(|| {
                "When a log was written is not known: sources may have changed since.".to_owned()
            }),
        ]
        .into_iter()
        .flatten()
    }
}

impl WantedFiles {
    /// Adds the lines of the frames of an entry that can be looked for. Of a base name alone, all that a text log tells,
    /// only the program's own files are known: those of the root that have it.
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
            let file = self.index_of(file);
            self.files[file].1.insert(line);
            let known = FrameLine {
                file,
                line,
                is_blamed: entry.is_blamed_on(position, count),
            };
            lines.insert((at, position), known);
        }
    }

    fn index_of(&mut self, file: &str) -> usize {
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

/// When the log of a process was written: of several files the first of them.
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
