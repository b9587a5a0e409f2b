//! The contents of one process. Both readers fill it, [`super::section`] writes it.

use std::collections::{HashMap, HashSet};

use cg_collections::sorting::Order as _;
use cg_stream::record::{Blocks, ErrorSummary, HeapSummary, LeakKind, LeakSummary, Tool};

use super::evidence::LeakKinds;
use super::leak::LossRecord;
use super::table::{FindingStackId, NameId};

/// An error.
#[derive(Clone, Debug)]
pub(super) struct KeptError {
    pub(super) kind: NameId,
    /// True if this is certainly an error, and not another message with a stack.
    pub(super) is_known: bool,
    pub(super) what: NameId,
    /// The number of occurrences in the log: a text log without `-s` prints each error once.
    pub(super) count: u64,
    pub(super) thread: Option<u64>,
    pub(super) thread_name: Option<NameId>,
    pub(super) stack: FindingStackId,
    pub(super) notes: Box<[KeptNote]>,
    pub(super) suppression: Option<NameId>,
}

/// A further description of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptNote {
    pub(super) what: Option<NameId>,
    pub(super) stack: FindingStackId,
}

/// A loss record.
#[derive(Clone, Debug)]
pub(super) struct KeptLeak {
    pub(super) kind: LeakKind,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) indirect_bytes: u64,
    pub(super) stack: FindingStackId,
    pub(super) suppression: Option<NameId>,
}

/// The signal that ended the process.
#[derive(Clone, Debug, Default)]
pub(super) struct FatalSignal {
    pub(super) number: Option<u64>,
    pub(super) name: String,
    pub(super) event: Option<String>,
    pub(super) address: Option<String>,
    pub(super) thread: Option<u64>,
    pub(super) stack: FindingStackId,
}

/// A thread that Helgrind announced.
#[derive(Clone, Debug)]
pub(super) struct AnnouncedThread {
    pub(super) thread: u64,
    pub(super) is_root: bool,
    pub(super) stack: FindingStackId,
}

/// One process, or one of the programs that it executed.
#[derive(Default)]
pub(super) struct Process {
    pub(super) tool: Option<Tool>,
    pub(super) creator: Option<String>,
    /// Valgrind's version: `(3, 19)`.
    pub(super) version: Option<(u64, u64)>,
    pub(super) command: Option<String>,
    /// True if the command is from the preamble, which escapes blanks in its words.
    pub(super) has_command_line: bool,
    pub(super) pid: Option<u64>,
    pub(super) ppid: Option<u64>,
    /// Valgrind's own options, including those from its environment and files.
    pub(super) options: Vec<String>,
    pub(super) is_complete: bool,
    pub(super) is_quiet: bool,
    pub(super) is_forked: bool,
    pub(super) has_execed: bool,
    pub(super) heap_summary: Option<HeapSummary>,
    pub(super) all_heap_blocks_freed: bool,
    /// True if the HEAP SUMMARY has its row `in use at exit`.
    pub(super) has_in_use: bool,
    pub(super) leak_summary: Option<LeakSummary>,
    /// The kinds with a row in the LEAK SUMMARY.
    leak_rows: LeakKinds,
    pub(super) error_summary: Option<ErrorSummary>,
    pub(super) fatal_signal: Option<FatalSignal>,
    pub(super) error_limit_reached: bool,
    pub(super) stopped_reporting: bool,
    /// The names of used suppressions, with their numbers of uses.
    pub(super) used_suppressions: Vec<(String, u64)>,
    pub(super) threads: Vec<AnnouncedThread>,
    pub(super) user_comment: Option<String>,
    /// The variables of `%q{VARIABLE}` in Valgrind's file names, with their values.
    pub(super) log_file_qualifiers: Vec<(String, String)>,
    pub(super) errors: Vec<KeptError>,
    pub(super) leaks: Vec<KeptLeak>,
    /// The loss records that later leak checks replaced, by kind and stack.
    replaced_leaks: HashMap<(LeakKind, FindingStackId), ReplacedLeaks>,
    /// The number of leak checks that later ones replaced.
    replaced_checks: u64,
    pub(super) leak_check: LeakCheck,
    /// True if each leak check ends with a LEAK SUMMARY, as in every text log with a preamble. Otherwise the numbers of the
    /// loss records show where a check ends.
    pub(super) has_leak_summaries: bool,
    /// The number of loss records in all leak checks, printed or not. Each may count as an error.
    pub(super) loss_records: u64,
    /// True if the log contains the errors' real counts.
    pub(super) has_counts: bool,
    /// The number of dropped messages with a stack. The ERROR SUMMARY shows that they are not errors.
    pub(super) dropped_messages: u64,
    /// True if the log has only a preamble with the parent's pid, like the log of a forked child that executed a program
    /// which Valgrind does not follow.
    pub(super) has_only_preamble: bool,
    /// The number of different errors that the log counts but does not contain.
    pub(super) unprinted_errors: u64,
    /// True if a sanitizer ended the process, or did not report its end.
    pub(super) unfinished: bool,
}

/// The loss records of one kind and stack that later leak checks replaced.
#[derive(Default)]
struct ReplacedLeaks {
    /// The number of records in all replaced checks.
    reports: u64,
    /// The number of the latest of these checks.
    check: u64,
    /// The records of that check.
    latest: Vec<KeptLeak>,
}

/// The state of a leak check while it is read.
#[derive(Default)]
pub(super) struct LeakCheck {
    /// The number of the last loss record, and the count in `loss record 4 of 10`; 0 before the first record.
    number: u64,
    count: u64,
    /// True if its LEAK SUMMARY has begun.
    is_over: bool,
    /// True if the check prints only changes, so its loss records need not match a sum.
    pub(super) is_delta: bool,
}

impl Process {
    pub(super) fn new(pid: Option<u64>) -> Process {
        Process {
            pid,
            ..Process::default()
        }
    }

    /// Creates a process that this one forked, or that forked this one; the log does not show which.
    pub(super) fn fork(&mut self) -> Process {
        self.is_forked = true;
        Process {
            tool: self.tool.clone(),
            creator: self.creator.clone(),
            version: self.version,
            command: self.command.clone(),
            pid: self.pid,
            ppid: self.ppid,
            options: self.options.clone(),
            user_comment: self.user_comment.clone(),
            log_file_qualifiers: self.log_file_qualifiers.clone(),
            is_forked: true,
            ..Process::default()
        }
    }

    /// Adds a loss record.
    ///
    /// A run can have several leak checks: client requests, the monitor, and the check at exit. The LEAK SUMMARY describes
    /// the last one. So a full check replaces all earlier records, and a check in a delta mode replaces only the records
    /// that it prints. Valgrind counts the records of every check as errors, so replaced records are kept separately.
    pub(super) fn add_leak(&mut self, loss: LossRecord, stack: FindingStackId) {
        let check = &self.leak_check;
        let is_first = check.number == 0;
        let is_numbered = check.number != 0 && loss.number != 0 && !self.has_leak_summaries;
        let is_new_check = check.is_over
            || (is_numbered && (loss.number <= check.number || loss.of != check.count));
        if is_new_check && !loss.is_delta {
            self.replace_leaks();
        }
        if is_new_check || is_first {
            self.loss_records = self.loss_records.saturating_add(loss.of);
        }
        self.leak_check = LeakCheck {
            number: loss.number,
            count: loss.of,
            is_over: false,
            is_delta: loss.is_delta,
        };
        let row = KeptLeak {
            kind: loss.kind,
            bytes: loss.bytes,
            blocks: loss.blocks,
            indirect_bytes: loss.indirect_bytes,
            stack,
            suppression: None,
        };
        let known = loss.is_delta.then(|| {
            self.leaks
                .iter()
                .position(|known| known.kind == row.kind && known.stack == stack)
        });
        // Move the record to the end, because a suppression that follows belongs to the last record.
        if let Some(Some(position)) = known {
            self.leaks.remove(position);
            self.replaced_leaks
                .entry((row.kind, stack))
                .or_default()
                .reports += 1;
        }
        self.leaks.push(row);
    }

    /// Sets the loss records of an earlier leak check aside.
    fn replace_leaks(&mut self) {
        self.replaced_checks += 1;
        for leak in self.leaks.drain(..) {
            let replaced = self
                .replaced_leaks
                .entry((leak.kind, leak.stack))
                .or_default();
            replaced.reports += 1;
            if replaced.check != self.replaced_checks {
                replaced.check = self.replaced_checks;
                replaced.latest.clear();
            }
            replaced.latest.push(leak);
        }
    }

    /// Returns the leaks that earlier leak checks reported and the last one did not, each as it was reported last. They are
    /// sorted by stack, because stacks are numbered in the order of the input.
    pub(super) fn earlier_leaks(&self) -> Vec<&KeptLeak> {
        let last: HashSet<_> = self
            .leaks
            .iter()
            .map(|leak| (leak.kind, leak.stack))
            .collect();
        let mut earlier: Vec<&KeptLeak> = self
            .replaced_leaks
            .iter()
            .filter(|(leak, _)| !last.contains(*leak))
            .flat_map(|(_, replaced)| &replaced.latest)
            .collect();
        earlier.order_by_key(|leak| {
            (
                leak.stack,
                leak.kind as usize,
                leak.bytes,
                leak.indirect_bytes,
            )
        });
        earlier
    }

    /// Returns the number of reports of leaks that are reported again, by a later leak check. Valgrind counts each as an
    /// error.
    pub(super) fn repeated_leaks(&self) -> u64 {
        let reports: u64 = self
            .replaced_leaks
            .values()
            .map(|replaced| replaced.reports)
            .sum();
        reports.saturating_sub(self.earlier_leaks().len() as u64)
    }

    /// Begins the leak check at exit, which may find nothing.
    pub(super) fn begin_exit_check(&mut self) {
        self.replace_leaks();
        self.leak_check.is_over = true;
    }

    /// Returns true if Valgrind's options end the process at its first error, and there was one.
    pub(super) fn exits_on_first_error(&self) -> bool {
        let is_set = |option: &String| option == "--exit-on-first-error=yes";
        !self.errors.is_empty() && self.options.iter().any(is_set)
    }

    /// Returns the possible reasons why the log has no end.
    pub(super) fn reason_without_end(&self) -> &'static str {
        match self.has_summary() {
            true => "it was cut short, or the process was killed",
            false => {
                "it was cut short, or the process was killed or executed a program that Valgrind did not follow, as \
                 --trace-children=yes would do"
            }
        }
    }

    /// Returns the HEAP SUMMARY; `None` without its row `in use at exit`.
    pub(super) fn whole_heap_summary(&self) -> Option<HeapSummary> {
        self.heap_summary.filter(|_| self.has_in_use)
    }

    /// Returns the LEAK SUMMARY; `None` unless it has a row for each kind. Before Valgrind 3.6, the row for indirect leaks
    /// is optional.
    pub(super) fn whole_leak_summary(&self) -> Option<LeakSummary> {
        let mut rows = self.leak_rows;
        if self.version.is_some_and(|version| version < (3, 6)) {
            rows.set(LeakKind::Indirect, true);
        }
        self.leak_summary.filter(|_| rows == LeakKinds::ALL)
    }

    /// Returns true if the process has any of the summaries at exit.
    pub(super) fn has_summary(&self) -> bool {
        self.error_summary.is_some() || self.heap_summary.is_some() || self.leak_summary.is_some()
    }

    /// Returns true if the process refers to any stack of the table.
    pub(super) fn has_stacks(&self) -> bool {
        !self.errors.is_empty()
            || !self.leaks.is_empty()
            || !self.replaced_leaks.is_empty()
            || !self.threads.is_empty()
            || self.fatal_signal.is_some()
    }

    /// Begins the HEAP SUMMARY, which is written at exit, before the last leak check.
    pub(super) fn begin_heap_summary(&mut self) {
        self.heap_summary = None;
        self.has_in_use = false;
        // Discard the summary of an earlier leak check, which does not describe the state at exit.
        self.leak_summary = None;
    }

    /// Sets the row `in use at exit` of the HEAP SUMMARY.
    pub(super) fn set_in_use(&mut self, in_use: Blocks) {
        self.has_in_use = true;
        let summary = self.heap_summary.get_or_insert_default();
        summary.in_use_bytes = in_use.bytes;
        summary.in_use_blocks = in_use.blocks;
    }

    /// Begins a LEAK SUMMARY.
    pub(super) fn begin_leak_summary(&mut self) {
        self.leak_summary = Some(LeakSummary::default());
        self.leak_rows = LeakKinds::default();
        self.all_heap_blocks_freed = false;
    }

    /// Sets a row of the LEAK SUMMARY. `is_delta` is true if the row also has changes.
    pub(super) fn set_leak_summary(&mut self, kind: LeakKind, blocks: Blocks, is_delta: bool) {
        if self.leak_check.is_over && kind == LeakKind::Definite && !is_delta {
            // A full check without records: the records of earlier checks are outdated.
            self.replace_leaks();
        }
        self.leak_check.is_over = true;
        self.leak_check.is_delta = is_delta;
        self.leak_rows.set(kind, true);
        *self.leak_summary.get_or_insert_default().row_mut(kind) = blocks;
    }

    /// Sets the leak summary of a sanitizer, which has only direct and indirect leaks.
    pub(super) fn set_sanitizer_summary(&mut self, sums: LeakSummary) {
        self.leak_rows = LeakKinds::ALL;
        self.leak_summary = Some(sums);
    }

    /// Records that the last leak check found no blocks.
    pub(super) fn set_all_heap_blocks_freed(&mut self) {
        self.all_heap_blocks_freed = true;
        self.leak_summary = None;
        self.replace_leaks();
        self.leak_check.is_over = true;
    }

    /// Sets the count of an error that is printed for the second time.
    pub(super) fn count_again(&mut self, again: KeptError) {
        self.has_counts = true;
        let is_same = |error: &KeptError| error.what == again.what && error.stack == again.stack;
        // Two contexts can differ only in their notes. But a description of memory may have changed since the first
        // printing, so equal notes are not required.
        let position = self
            .errors
            .iter()
            .position(|error| is_same(error) && error.notes == again.notes)
            .or_else(|| self.errors.iter().position(is_same));
        match position {
            Some(position) => self.errors[position].count = again.count,
            None => self.errors.push(again),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds loss records with these numbers, such as 1 of 3. Returns the numbers of kept, counted and repeated records.
    fn kept_leaks(numbers: &[(u64, u64)], has_leak_summaries: bool) -> (usize, u64, u64) {
        let mut process = Process::new(None);
        process.has_leak_summaries = has_leak_summaries;
        for (number, of) in numbers {
            let loss = LossRecord {
                kind: LeakKind::Definite,
                bytes: 8,
                blocks: 1,
                indirect_bytes: 0,
                number: *number,
                of: *of,
                is_delta: false,
            };
            process.add_leak(loss, FindingStackId::EMPTY);
        }
        let repeated = process.repeated_leaks();
        (process.leaks.len(), process.loss_records, repeated)
    }

    #[test]
    fn number_that_does_not_rise_begins_another_leak_check() {
        assert_eq!(kept_leaks(&[(1, 3), (2, 3)], false), (2, 3, 0));
        // The second check repeats the only record of the first.
        assert_eq!(kept_leaks(&[(1, 1), (1, 1)], false), (1, 2, 1));
        assert_eq!(kept_leaks(&[(1, 3), (3, 3), (2, 3)], false), (1, 6, 2));
        // The second check has more records.
        assert_eq!(kept_leaks(&[(1, 2), (2, 3)], false), (1, 5, 1));
        // In a text log, only a LEAK SUMMARY ends a check.
        assert_eq!(kept_leaks(&[(1, 1), (1, 1)], true), (2, 1, 0));
    }

    #[test]
    fn summary_of_an_earlier_leak_check_does_not_apply_to_a_later_one() {
        let mut process = Process::new(None);
        process.set_all_heap_blocks_freed();
        process.begin_leak_summary();
        assert!(!process.all_heap_blocks_freed);
        let blocks = Blocks {
            bytes: 8,
            blocks: 1,
        };
        for kind in LeakKind::ALL {
            process.set_leak_summary(kind, blocks, false);
        }
        assert!(process.whole_leak_summary().is_some());
        process.set_all_heap_blocks_freed();
        assert!(process.whole_leak_summary().is_none());
        process.begin_leak_summary();
        assert!(process.whole_leak_summary().is_none());
    }

    #[test]
    fn heap_summary_begins_without_the_figures_of_an_earlier_one() {
        let mut process = Process::new(None);
        process.set_in_use(Blocks {
            bytes: 8,
            blocks: 1,
        });
        assert_eq!(
            process.whole_heap_summary().map(|heap| heap.in_use_bytes),
            Some(8)
        );
        process.begin_heap_summary();
        assert_eq!(process.whole_heap_summary(), None);
    }
}
