//! Compares the records of a process with Valgrind's own summaries.

use cg_reader::plural;
use cg_stream::Diagnostics;
use cg_stream::record::{Count, LeakKind};

use super::process::Process;
use super::section::sum;

impl Process {
    /// Warns if the records differ from Valgrind's own summaries.
    pub(super) fn check_sums(&self, source: &str, diagnostics: &mut Diagnostics) {
        let process = match self.pid {
            Some(pid) => format!("{source}: process {pid}"),
            None => source.to_owned(),
        };
        if self.dropped_messages > 0 {
            diagnostics.warn(format!(
                "{process}: left out messages with a stack that ERROR SUMMARY does not count as errors: {}",
                self.dropped_messages
            ));
        }
        for kind in LeakKind::ALL {
            self.check_leaks(kind, &process, diagnostics);
        }
        self.check_errors(&process, diagnostics);
    }

    /// Checks the sums of a leak kind. Valgrind prints a kind in full or, with `--show-leak-kinds` or
    /// `--leak-check=summary`, not at all. A check in a delta mode prints only a part, so its sums are not checked.
    fn check_leaks(&self, kind: LeakKind, process: &str, diagnostics: &mut Diagnostics) {
        let Some(summary) = &self.leak_summary else {
            return;
        };
        let expected = summary.row(kind);
        let leaks = || self.leaks.iter().filter(|leak| leak.kind == kind);
        let bytes = sum(leaks().map(|leak| leak.bytes));
        let blocks = sum(leaks().map(|leak| leak.blocks));
        let is_hidden = leaks().next().is_none() || self.leak_check.is_delta;
        let is_equal =
            bytes == Count::from(expected.bytes) && blocks == Count::from(expected.blocks);
        if !is_hidden && !is_equal {
            diagnostics.warn(format!(
                "{process}: LEAK SUMMARY has {} in {} {}, but the loss records sum to {} in {}",
                plural(expected.bytes, "byte", "bytes"),
                plural(expected.blocks, "block", "blocks"),
                kind.phrase(),
                plural(bytes, "byte", "bytes"),
                plural(blocks, "block", "blocks")
            ));
        }
    }

    /// Returns the maximum number of loss records if none is printed.
    fn lost_blocks(&self) -> u64 {
        let Some(summary) = &self.leak_summary else {
            return 0;
        };
        LeakKind::ALL.iter().fold(0, |blocks, kind| {
            blocks.saturating_add(summary.row(*kind).blocks)
        })
    }

    /// Checks the counts of errors. Allows a range, because loss records may count as errors (`--errors-for-leak-kinds`),
    /// printed or not.
    fn check_errors(&self, process: &str, diagnostics: &mut Diagnostics) {
        if self.unprinted_errors > 0 && !self.is_forked {
            diagnostics.warn(format!(
                "{process}: the log counts {} that it does not contain, besides {} that it contains; a forked process counts its parent's too",
                plural(self.unprinted_errors, "error", "errors"),
                self.errors.len()
            ));
        }
        let Some(summary) = self.error_summary else {
            return;
        };
        // A forked process continues its parent's counters, and beyond its limit Valgrind counts more than it prints.
        if self.is_forked || self.error_limit_reached {
            return;
        }
        let contexts = self.errors.len() as u64;
        let leaks = match self.loss_records {
            0 => self.lost_blocks(),
            records => records,
        };
        if summary.contexts < contexts || summary.contexts > contexts.saturating_add(leaks) {
            diagnostics.warn(format!(
                "{process}: ERROR SUMMARY has {}, but {} and {} were read; a forked process counts its parent's too",
                plural(summary.contexts, "context", "contexts"),
                plural(contexts, "error", "errors"),
                plural(self.loss_records, "loss record", "loss records")
            ));
            return;
        }
        let errors = sum(self.errors.iter().map(|error| error.count));
        let most_errors = errors + Count::from(leaks);
        let counted = Count::from(summary.errors);
        if counted < errors || (self.has_counts && counted > most_errors) {
            diagnostics.warn(format!(
                "{process}: ERROR SUMMARY has {}, but {} and {} were read; a forked process counts its parent's too",
                plural(counted, "error", "errors"),
                plural(errors, "error", "errors"),
                plural(self.loss_records, "loss record", "loss records")
            ));
        }
    }
}
