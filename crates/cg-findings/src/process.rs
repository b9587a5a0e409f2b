//! What was read of one process. Both readers fill it, [`super::section`] writes it.

use std::collections::HashMap;

use cg_stream::record::{Blocks, ErrorSummary, HeapSummary, LeakKind, LeakSummary, Tool};
use cg_stream::sorting::Order as _;

use super::evidence::LeakKinds;
use super::leak::LossRecord;
use super::table::{FindingStackId, NameId};

/// An error as it is kept.
#[derive(Clone, Debug)]
pub(super) struct KeptError {
    pub(super) kind: NameId,
    /// Whether it is an error for sure, and no message of other words that has a stack too.
    pub(super) is_known: bool,
    pub(super) what: NameId,
    /// How often it happened, as far as the log tells: a text log that is not of `-s` shows each error once.
    pub(super) count: u64,
    pub(super) thread: Option<u64>,
    pub(super) thread_name: Option<NameId>,
    pub(super) stack: FindingStackId,
    pub(super) notes: Box<[KeptNote]>,
    pub(super) suppression: Option<NameId>,
}

/// What else is said of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptNote {
    pub(super) what: Option<NameId>,
    pub(super) stack: FindingStackId,
}

/// A loss record as it is kept.
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

/// One process, or one of the programs that it was in turn.
#[derive(Default)]
pub(super) struct Process {
    pub(super) tool: Option<Tool>,
    pub(super) creator: Option<String>,
    /// Valgrind's version: `(3, 19)`.
    pub(super) version: Option<(u64, u64)>,
    pub(super) command: Option<String>,
    /// Whether the command is from the preamble, which escapes blanks in its words.
    pub(super) has_command_line: bool,
    pub(super) pid: Option<u64>,
    pub(super) ppid: Option<u64>,
    /// Valgrind's own options, those of its environment and files among them.
    pub(super) options: Vec<String>,
    pub(super) is_complete: bool,
    pub(super) is_quiet: bool,
    pub(super) is_forked: bool,
    pub(super) has_execed: bool,
    pub(super) heap_summary: Option<HeapSummary>,
    pub(super) all_heap_blocks_freed: bool,
    /// Whether the HEAP SUMMARY has its row of what was in use at exit.
    pub(super) has_in_use: bool,
    pub(super) leak_summary: Option<LeakSummary>,
    /// The kinds that have their row in the LEAK SUMMARY.
    leak_rows: LeakKinds,
    pub(super) error_summary: Option<ErrorSummary>,
    pub(super) fatal_signal: Option<FatalSignal>,
    pub(super) error_limit_reached: bool,
    pub(super) stopped_reporting: bool,
    /// Names with how often each was used.
    pub(super) used_suppressions: Vec<(String, u64)>,
    pub(super) threads: Vec<AnnouncedThread>,
    pub(super) user_comment: Option<String>,
    /// The variables of `%q{VARIABLE}` in Valgrind's file names, with their values.
    pub(super) log_file_qualifiers: Vec<(String, String)>,
    pub(super) errors: Vec<KeptError>,
    pub(super) leaks: Vec<KeptLeak>,
    /// By kind and stack: how often earlier leak checks printed a loss record that a later one replaced.
    replaced_leaks: HashMap<(LeakKind, FindingStackId), u64>,
    pub(super) leak_check: LeakCheck,
    /// Whether each leak check has its LEAK SUMMARY, as in every text log that has a preamble: then the numbers of the
    /// loss records need not tell where one ends.
    pub(super) has_leak_summaries: bool,
    /// How many loss records all leak checks found, printed or not; each may count as an error.
    pub(super) loss_records: u64,
    /// Whether the log gives the errors' real counts.
    pub(super) has_counts: bool,
    /// How many messages with a stack were left out, since the ERROR SUMMARY shows that they are no errors.
    pub(super) messages_that_are_no_errors: u64,
    /// Whether nothing came but the preamble, with the parent's pid: so begins the log of a child that was forked and
    /// then executed a program that Valgrind does not follow.
    pub(super) has_only_preamble: bool,
    /// How many different errors the log counts that it does not have.
    pub(super) unprinted_errors: u64,
    /// Whether a sanitizer ended the process, or does not tell that it came to its end.
    pub(super) unfinished: bool,
}

/// Where the leak check that is being read stands.
#[derive(Default)]
pub(super) struct LeakCheck {
    /// Number and count of the loss record read last; zeros before the first.
    number: u64,
    of: u64,
    /// Whether its LEAK SUMMARY was begun.
    is_over: bool,
    /// Whether it shows only what changed, so that its loss records need not sum to anything.
    pub(super) is_delta: bool,
}

impl Process {
    pub(super) fn new(pid: Option<u64>) -> Process {
        Process {
            pid,
            ..Process::default()
        }
    }

    /// A process that this one forked, or that forked this one: neither says which it is.
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
    /// A run can have several leak checks (client requests, the monitor, the one at exit). What counts is the state that
    /// the last one found, which is also what its LEAK SUMMARY sums up: a full check replaces what was known, one in a
    /// delta mode replaces the records it shows.
    pub(super) fn add_leak(&mut self, loss: LossRecord, stack: FindingStackId) {
        let check = &self.leak_check;
        let is_first = check.number == 0;
        let is_numbered = check.number != 0 && loss.number != 0 && !self.has_leak_summaries;
        let is_new_check =
            check.is_over || (is_numbered && (loss.number <= check.number || loss.of != check.of));
        if is_new_check && !loss.is_delta {
            self.replace_leaks();
        }
        if is_new_check || is_first {
            self.loss_records = self.loss_records.saturating_add(loss.of);
        }
        self.leak_check = LeakCheck {
            number: loss.number,
            of: loss.of,
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
        // The record to which a suppression that follows belongs is always the last.
        if let Some(Some(position)) = known {
            self.leaks.remove(position);
            *self.replaced_leaks.entry((row.kind, stack)).or_default() += 1;
        }
        self.leaks.push(row);
    }

    /// Forgets the loss records of a leak check that is not the last.
    fn replace_leaks(&mut self) {
        for leak in self.leaks.drain(..) {
            *self
                .replaced_leaks
                .entry((leak.kind, leak.stack))
                .or_default() += 1;
        }
    }

    /// How many loss records an earlier leak check had printed of what the last one printed again. Valgrind counts each
    /// as an error.
    pub(super) fn repeated_leaks(&self) -> u64 {
        let mut last: Vec<_> = self
            .leaks
            .iter()
            .map(|leak| (leak.kind, leak.stack))
            .collect();
        last.order_by_key(|(kind, stack)| (*kind as usize, *stack));
        last.dedup();
        last.iter()
            .filter_map(|leak| self.replaced_leaks.get(leak))
            .sum()
    }

    /// What to do about a log that has nothing but a preamble, where that is so.
    pub(super) fn advice_for_children(&self) -> &'static str {
        if self.has_only_preamble {
            "; --child-silent-after-fork=yes keeps children that execute another program from leaving such a log"
        } else {
            ""
        }
    }

    /// The HEAP SUMMARY, if it says what was in use at exit.
    pub(super) fn whole_heap_summary(&self) -> Option<HeapSummary> {
        self.heap_summary.filter(|_| self.has_in_use)
    }

    /// The LEAK SUMMARY, if it has a row for each kind; that of what is lost indirectly is not always there before 3.6.
    pub(super) fn whole_leak_summary(&self) -> Option<LeakSummary> {
        let mut rows = self.leak_rows;
        if self.version.is_some_and(|version| version < (3, 6)) {
            rows.set(LeakKind::Indirect, true);
        }
        self.leak_summary.filter(|_| rows == LeakKinds::ALL)
    }

    /// Whether any of the summaries was read that come at exit.
    pub(super) fn has_summary(&self) -> bool {
        self.error_summary.is_some() || self.heap_summary.is_some() || self.leak_summary.is_some()
    }

    /// Whether it refers to any stack of the table.
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
        // That of a check that the program asked for on its way says nothing of the end.
        self.leak_summary = None;
    }

    /// What the HEAP SUMMARY says was in use at exit.
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

    /// A row of the LEAK SUMMARY; `is_delta` where it gives changes too.
    pub(super) fn set_leak_summary(&mut self, kind: LeakKind, blocks: Blocks, is_delta: bool) {
        if self.leak_check.is_over && kind == LeakKind::Definite && !is_delta {
            // A full check that printed no record: what an earlier one printed is no longer so.
            self.replace_leaks();
        }
        self.leak_check.is_over = true;
        self.leak_check.is_delta = is_delta;
        self.leak_rows.set(kind, true);
        *self.leak_summary.get_or_insert_default().of_mut(kind) = blocks;
    }

    /// What a sanitizer that looked for leaks sums up: it counts those of two kinds and knows no others.
    pub(super) fn set_summary_of_sanitizer(&mut self, sums: LeakSummary) {
        self.leak_rows = LeakKinds::ALL;
        self.leak_summary = Some(sums);
    }

    /// The last leak check found nothing at all.
    pub(super) fn set_all_heap_blocks_freed(&mut self) {
        self.all_heap_blocks_freed = true;
        self.leak_summary = None;
        self.replace_leaks();
        self.leak_check.is_over = true;
    }

    /// Gives an error that was printed before the count that its second printing has.
    pub(super) fn count_again(&mut self, again: KeptError) {
        self.has_counts = true;
        let is_same = |error: &KeptError| error.what == again.what && error.stack == again.stack;
        // Two contexts can differ in their notes alone, and a description of memory can have changed since.
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
