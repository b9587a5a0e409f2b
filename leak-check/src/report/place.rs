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

impl GateReport<'_> {
    /// Returns the place of the blamed frame, or of the next frame outwards with a file in the repository, otherwise of any
    /// such frame. Without such a frame, returns the log, because code hosts require a path.
    pub(super) fn place(&self, entry: &ReportEntry<'_>) -> ReportPlace {
        let stack = &entry.finding.stack;
        let blame = entry.ruling.blame.unwrap_or(0).min(stack.len());
        let in_root = |frame: &Frame| {
            Some(ReportPlace {
                path: self.paths.in_root(frame.file.as_deref()?)?,
                line: frame.line,
                is_source: true,
            })
        };
        let inner = (0..blame).rev();
        (blame..stack.len())
            .chain(inner)
            .map(|position| &stack[position])
            .find_map(in_root)
            .unwrap_or_else(|| self.log_place(entry))
    }

    fn log_place(&self, entry: &ReportEntry<'_>) -> ReportPlace {
        let source = &self.evidence.process(entry.finding.process).source;
        ReportPlace {
            path: self
                .paths
                .in_root(source)
                .unwrap_or_else(|| source.trim_start_matches('/').to_owned()),
            line: None,
            is_source: false,
        }
    }
}
