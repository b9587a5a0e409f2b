//! Where a finding is shown in the formats of code hosts: a path in the repository and a line.

use cg_stream::record::Frame;

use super::{GateReport, ReportEntry};

/// A source line, or a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportPlace {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) line: Option<u64>,
    /// False where the finding has no source in the repository, and the path is that of the log it is from.
    pub(super) is_source: bool,
}

impl GateReport<'_> {
    /// The frame to blame, else the next one outwards whose file is in the repository, else any; where there is none,
    /// the log itself: code hosts want a path for everything.
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
            .unwrap_or_else(|| self.log_of(entry))
    }

    fn log_of(&self, entry: &ReportEntry<'_>) -> ReportPlace {
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
