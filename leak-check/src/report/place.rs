//! The place of a finding for code hosts: a path in the repository and a line.

use cg_stream::record::Frame;

use super::{GateReport, ReportEntry};

/// A source line, or a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportPlace {
    /// The path relative to the root, with `/`.
    pub(super) path: String,
    pub(super) line: Option<u64>,
    /// False if the finding has no source in the repository; `path` is then the path of its log.
    pub(super) is_source: bool,
}

impl ReportPlace {
    fn new(path: String, frame: &Frame) -> ReportPlace {
        ReportPlace {
            path,
            line: frame.line,
            is_source: true,
        }
    }
}

impl GateReport<'_> {
    /// Returns the place of the blamed frame or of the innermost frame, with a file that exists below the root. Without
    /// such a frame, returns a place that the repository may have elsewhere, otherwise the log, because code hosts require
    /// a path.
    pub(super) fn place(&self, entry: &ReportEntry<'_>) -> ReportPlace {
        if let Some(place) = self.existing_place(entry) {
            return place;
        }
        let stack = &entry.finding.stack;
        let blame = entry.ruling.blame.unwrap_or(0).min(stack.len());
        let in_root = |frame: &Frame| {
            let path = self.paths.in_root(frame.file.as_deref()?)?;
            Some(ReportPlace::new(path, frame))
        };
        let inner = (0..blame).rev();
        (blame..stack.len())
            .chain(inner)
            .map(|position| &stack[position])
            .find_map(in_root)
            .unwrap_or_else(|| self.log_place(entry))
    }

    /// Returns the place like [`GateReport::place`], but only a place that exists below the root, or the log.
    pub(super) fn place_below_root(&self, entry: &ReportEntry<'_>) -> ReportPlace {
        self.existing_place(entry)
            .unwrap_or_else(|| self.log_place(entry))
    }

    fn existing_place(&self, entry: &ReportEntry<'_>) -> Option<ReportPlace> {
        let blamed = entry.ruling.blamed(entry.finding);
        let mut frames = blamed.into_iter().chain(entry.finding.stack.iter());
        frames.find_map(|frame| {
            let path = self.paths.existing(frame.file.as_deref()?)?;
            Some(ReportPlace::new(path, frame))
        })
    }

    /// Returns the path of the input that a reason names, otherwise of the first input.
    pub(super) fn reason_path(&self, reason: &str) -> String {
        let sources = self
            .evidence
            .processes
            .iter()
            .map(|process| process.source.as_str());
        let inputs = self.inputs.iter().map(String::as_str);
        let named = sources
            .chain(inputs.clone())
            .filter(|source| reason.contains(source));
        let longest = named.max_by_key(|source| source.len());
        let source = longest.or_else(|| inputs.clone().next()).unwrap_or("-");
        self.log_path(source)
    }

    fn log_path(&self, source: &str) -> String {
        let in_root = self.paths.in_root(source);
        in_root.unwrap_or_else(|| source.trim_start_matches('/').to_owned())
    }

    fn log_place(&self, entry: &ReportEntry<'_>) -> ReportPlace {
        let source = &self.evidence.process(entry.finding.process).source;
        ReportPlace {
            path: self.log_path(source),
            line: None,
            is_source: false,
        }
    }
}
