//! Conservation: what was read of a process, held against Valgrind's own summaries.

use cg_stream::Diagnostics;
use cg_stream::record::{Count, LeakKind};

use super::process::Process;
use super::section::sum;

impl Process {
    /// Holds what was read against Valgrind's own summaries.
    pub(super) fn check_sums(&self, source: &str, diagnostics: &mut Diagnostics) {
        let process = match self.pid {
            Some(pid) => format!("{source}: process {pid}"),
            None => source.to_owned(),
        };
        if self.messages_that_are_no_errors > 0 {
            diagnostics.warn(format!(
                "{process}: messages with a stack that are left out, since ERROR SUMMARY counts them as no errors: {}",
                self.messages_that_are_no_errors
            ));
        }
        for kind in LeakKind::ALL {
            self.check_leaks(kind, &process, diagnostics);
        }
        self.check_errors(&process, diagnostics);
    }

    /// A kind of leak is printed in full or, by `--show-leak-kinds` or `--leak-check=summary`, not at all; a check that
    /// shows what changed prints a part.
    fn check_leaks(&self, kind: LeakKind, process: &str, diagnostics: &mut Diagnostics) {
        let Some(summary) = &self.leak_summary else {
            return;
        };
        let expected = summary.of(kind);
        let leaks = || self.leaks.iter().filter(|leak| leak.kind == kind);
        let bytes = sum(leaks().map(|leak| leak.bytes));
        let blocks = sum(leaks().map(|leak| leak.blocks));
        let is_hidden = leaks().next().is_none() || self.leak_check.is_delta;
        let is_equal =
            bytes == Count::from(expected.bytes) && blocks == Count::from(expected.blocks);
        if !is_hidden && !is_equal {
            diagnostics.warn(format!(
                "{process}: LEAK SUMMARY has {} bytes in {} blocks {}, but the loss records sum to {bytes} bytes in {blocks} blocks",
                expected.bytes,
                expected.blocks,
                kind.phrase()
            ));
        }
    }

    /// As many loss records there can be where none is printed.
    fn lost_blocks(&self) -> u64 {
        let Some(summary) = &self.leak_summary else {
            return 0;
        };
        LeakKind::ALL.iter().fold(0, |blocks, kind| {
            blocks.saturating_add(summary.of(*kind).blocks)
        })
    }

    /// Loss records may count as errors (`--errors-for-leak-kinds`), printed or not, so there is some play.
    fn check_errors(&self, process: &str, diagnostics: &mut Diagnostics) {
        if self.unprinted_errors > 0 && !self.is_forked {
            diagnostics.warn(format!(
                "{process}: {} errors are counted that the log does not have, beside the {} that it has; a forked process counts its parent's too",
                self.unprinted_errors,
                self.errors.len()
            ));
        }
        let Some(summary) = self.error_summary else {
            return;
        };
        // A forked process counts on from its parent's counters; past its limit Valgrind counts more than it prints.
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
                "{process}: ERROR SUMMARY has {} contexts, but {contexts} errors and {} loss records were read; a forked process counts its parent's too",
                summary.contexts, self.loss_records
            ));
            return;
        }
        let errors = sum(self.errors.iter().map(|error| error.count));
        let most_errors = errors + Count::from(leaks);
        let counted = Count::from(summary.errors);
        if counted < errors || (self.has_counts && counted > most_errors) {
            diagnostics.warn(format!(
                "{process}: ERROR SUMMARY has {counted} errors, but {errors} errors and {} loss records were read; a forked process counts its parent's too",
                self.loss_records
            ));
        }
    }
}
