//! What was read of one process, and the section of the stream that it becomes.

use std::collections::HashMap;

use cg_stream::blame::frame_to_blame;
use cg_stream::record::{
    Count, Counts, ErrorRecord, Frame, LeakRecord, Name, Note, RunRecord, Total,
};
use cg_stream::tool::Diagnostics;
use serde_json::{Value, json};

use super::leak::{LeakKind, LossRecord};
use super::summary::{Blocks, ErrorSummary, HeapSummary, LeakSummary};
use super::table::{NameId, StackId, Table};
use crate::{Error, Out};

/// An error as it is kept.
#[derive(Clone, Debug)]
pub(super) struct ErrorRow {
    pub(super) kind: NameId,
    pub(super) what: NameId,
    /// How often it happened, as far as the log tells: a text log that is not of `-s` shows each error once.
    pub(super) count: u64,
    pub(super) thread: Option<u64>,
    pub(super) thread_name: Option<NameId>,
    pub(super) stack: StackId,
    pub(super) notes: Box<[NoteRow]>,
    pub(super) suppression: Option<NameId>,
}

/// What else is said of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteRow {
    pub(super) what: Option<NameId>,
    pub(super) stack: StackId,
}

/// A loss record as it is kept.
#[derive(Clone, Debug)]
pub(super) struct LeakRow {
    pub(super) kind: LeakKind,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) indirect_bytes: u64,
    pub(super) stack: StackId,
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
    pub(super) stack: StackId,
}

/// A thread that Helgrind announced.
#[derive(Clone, Debug)]
pub(super) struct AnnouncedThread {
    pub(super) thread: u64,
    pub(super) is_root: bool,
    pub(super) stack: StackId,
}

/// One process, or one of the programs that it was in turn.
#[derive(Default)]
pub(super) struct Process {
    pub(super) tool: Option<String>,
    pub(super) creator: Option<String>,
    /// Valgrind's version: `(3, 19)`.
    pub(super) version: Option<(u64, u64)>,
    pub(super) command: Option<String>,
    /// Whether the command is from the preamble, which escapes blanks in its words.
    pub(super) has_command_line: bool,
    pub(super) pid: Option<u64>,
    pub(super) ppid: Option<u64>,
    pub(super) is_complete: bool,
    pub(super) is_quiet: bool,
    pub(super) is_forked: bool,
    pub(super) has_execed: bool,
    pub(super) heap_summary: Option<HeapSummary>,
    pub(super) all_heap_blocks_freed: bool,
    pub(super) leak_summary: Option<LeakSummary>,
    pub(super) error_summary: Option<ErrorSummary>,
    pub(super) fatal_signal: Option<FatalSignal>,
    pub(super) error_limit_reached: bool,
    /// Names with how often each was used.
    pub(super) used_suppressions: Vec<(String, u64)>,
    pub(super) threads: Vec<AnnouncedThread>,
    pub(super) user_comment: Option<String>,
    /// The variables of `%q{VARIABLE}` in Valgrind's file names, with their values.
    pub(super) log_file_qualifiers: Vec<(String, String)>,
    pub(super) errors: Vec<ErrorRow>,
    pub(super) leaks: Vec<LeakRow>,
    /// How often a leak check printed what a later one replaced.
    replaced_leaks: HashMap<(LeakKind, StackId), u64>,
    leak_check: LeakCheck,
    /// How many loss records all leak checks found, printed or not; each may count as an error.
    loss_records: u64,
    /// Whether the log gives the errors' real counts.
    pub(super) has_counts: bool,
    /// How many errors the log counts that it does not have.
    pub(super) unknown_errors: u64,
}

/// Where the leak check that is being read stands.
#[derive(Default)]
struct LeakCheck {
    /// Number and count of the loss record read last; zeros before the first.
    number: u64,
    of: u64,
    /// Whether its LEAK SUMMARY was begun.
    is_over: bool,
    /// Whether it shows only what changed, so that its loss records need not sum to anything.
    is_delta: bool,
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
    pub(super) fn add_leak(&mut self, loss: LossRecord, stack: StackId) {
        let check = &self.leak_check;
        let is_first = check.number == 0;
        let is_numbered = check.number != 0 && loss.number != 0;
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
        let row = LeakRow {
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
    fn repeated_leaks(&self) -> u64 {
        let mut last: Vec<_> = self
            .leaks
            .iter()
            .map(|leak| (leak.kind, leak.stack))
            .collect();
        last.sort_unstable_by_key(|(kind, stack)| (*kind as usize, *stack));
        last.dedup();
        last.iter()
            .filter_map(|leak| self.replaced_leaks.get(leak))
            .sum()
    }

    /// Begins a LEAK SUMMARY.
    pub(super) fn begin_leak_summary(&mut self) {
        self.leak_summary = Some(LeakSummary::default());
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
        *self.leak_summary.get_or_insert_default().of_mut(kind) = blocks;
    }

    /// The last leak check found nothing at all.
    pub(super) fn set_all_heap_blocks_freed(&mut self) {
        self.all_heap_blocks_freed = true;
        self.leak_summary = None;
        self.replace_leaks();
        self.leak_check.is_over = true;
    }

    /// Gives an error that was printed before the count that its second printing has.
    pub(super) fn count_again(&mut self, again: ErrorRow) {
        self.has_counts = true;
        let is_same = |error: &ErrorRow| error.what == again.what && error.stack == again.stack;
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

    /// Writes the section. Without `trouble` the log was read to its end, and so the section has one.
    pub(super) fn write(
        &self,
        table: &Table,
        source: &str,
        trouble: Option<&str>,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        self.write_records(table, source, trouble.is_none(), out)
            .map_err(Error::Output)?;
        match trouble {
            Some(trouble) => diagnostics.trouble(trouble),
            None => self.check_sums(source, diagnostics),
        }
        Ok(())
    }

    fn write_records(
        &self,
        table: &Table,
        source: &str,
        is_whole: bool,
        out: &mut Out,
    ) -> std::io::Result<()> {
        out.run(&self.run_record(table, source))?;
        for error in &self.errors {
            out.record(&self.error_record(error, table))?;
        }
        for leak in &self.leaks {
            out.record(&self.leak_record(leak, table))?;
        }
        if is_whole { out.end() } else { out.flush() }
    }

    fn run_record(&self, table: &Table, source: &str) -> RunRecord {
        let mut run = RunRecord {
            stream: 1,
            tool: self.tool.clone(),
            creator: self.creator.clone(),
            command: self.command.clone(),
            pid: self.pid,
            source: vec![source.to_owned()],
            ..RunRecord::default()
        };
        let mut totals = Vec::new();
        let has_leaks = self.tool.as_deref().is_none_or(|tool| tool == "memcheck");
        if has_leaks || !self.leaks.is_empty() {
            totals.push(("bytes", sum(self.leaks.iter().map(|leak| leak.bytes))));
            totals.push(("blocks", sum(self.leaks.iter().map(|leak| leak.blocks))));
        }
        totals.push(("count", sum(self.errors.iter().map(|error| error.count))));
        run.events = totals
            .iter()
            .map(|(event, _)| (*event).to_owned())
            .collect();
        run.total = Total::One(Counts(
            totals
                .into_iter()
                .map(|(event, total)| (Name::from(event), total))
                .collect(),
        ));
        self.put_facts(&mut run.extra, table);
        run
    }

    fn put_facts(&self, facts: &mut serde_json::Map<String, Value>, table: &Table) {
        facts.insert("complete".to_owned(), self.is_complete.into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                facts.insert(name.to_owned(), value);
            }
        };
        put("ppid", self.ppid.map(Value::from));
        put("quiet", self.is_quiet.then_some(true.into()));
        put("forked", self.is_forked.then_some(true.into()));
        put("exec", self.has_execed.then_some(true.into()));
        put("heap_summary", self.heap_summary.map(HeapSummary::value));
        put(
            "all_heap_blocks_freed",
            self.all_heap_blocks_freed.then_some(true.into()),
        );
        put(
            "leak_summary",
            self.leak_summary.as_ref().map(LeakSummary::value),
        );
        put(
            "repeated_leaks",
            Some(self.repeated_leaks())
                .filter(|repeated| *repeated > 0)
                .map(Value::from),
        );
        put("error_summary", self.error_summary.map(ErrorSummary::value));
        put(
            "fatal_signal",
            self.fatal_signal.as_ref().map(|signal| signal.value(table)),
        );
        put(
            "error_limit_reached",
            self.error_limit_reached.then_some(true.into()),
        );
        put(
            "used_suppressions",
            list(
                &self.used_suppressions,
                |(name, count)| json!({ "name": name, "count": count }),
            ),
        );
        put("threads", list(&self.threads, |thread| thread.value(table)));
        put(
            "user_comment",
            self.user_comment.as_deref().map(Value::from),
        );
        put(
            "log_file_qualifiers",
            list(
                &self.log_file_qualifiers,
                |(variable, value)| json!({ "variable": variable, "value": value }),
            ),
        );
    }

    fn error_record<'a>(&self, error: &ErrorRow, table: &'a Table) -> ErrorRecord<'a> {
        let stack = table.record_stack(error.stack);
        let notes: Vec<Note> = error
            .notes
            .iter()
            .map(|note| Note {
                what: note.what.map(|what| Name::from(table.text(what))),
                stack: table.record_stack(note.stack),
            })
            .collect();
        // Helgrind and `--track-fds` have errors whose only stacks are those of their notes.
        let blamed = if stack.is_empty() {
            notes
                .iter()
                .find(|note| !note.stack.is_empty())
                .map_or(&stack, |note| &note.stack)
        } else {
            &stack
        };
        let place = place(blamed);
        ErrorRecord {
            name: place.name,
            file: place.file,
            line: place.line,
            obj: place.obj,
            kind: Name::from(table.text(error.kind)),
            what: Name::from(table.text(error.what)),
            cost: Counts::from([("count", Count::from(error.count))]),
            thread: error.thread,
            thread_name: error.thread_name.map(|name| Name::from(table.text(name))),
            pid: self.pid,
            stack,
            notes,
            suppression: error.suppression.map(|text| Name::from(table.text(text))),
        }
    }

    fn leak_record<'a>(&self, leak: &LeakRow, table: &'a Table) -> LeakRecord<'a> {
        let stack = table.record_stack(leak.stack);
        let place = place(&stack);
        LeakRecord {
            name: place.name,
            file: place.file,
            line: place.line,
            obj: place.obj,
            kind: Name::from(leak.kind.name()),
            cost: Counts::from([
                ("bytes", Count::from(leak.bytes)),
                ("blocks", Count::from(leak.blocks)),
            ]),
            indirect_bytes: leak.indirect_bytes,
            pid: self.pid,
            stack,
            suppression: leak.suppression.map(|text| Name::from(table.text(text))),
        }
    }

    /// Holds what was read against Valgrind's own summaries.
    fn check_sums(&self, source: &str, diagnostics: &mut Diagnostics) {
        let process = match self.pid {
            Some(pid) => format!("{source}: process {pid}"),
            None => source.to_owned(),
        };
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
                kind.words()
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
        if self.unknown_errors > 0 && !self.is_forked {
            diagnostics.warn(format!(
                "{process}: {} errors are counted that the log does not have, beside the {} that it has; a forked process counts its parent's too",
                self.unknown_errors,
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

impl FatalSignal {
    fn value(&self, table: &Table) -> Value {
        let mut value = json!({ "name": self.name });
        if let Value::Object(fields) = &mut value {
            let mut put = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    fields.insert(name.to_owned(), value);
                }
            };
            put("signal", self.number.map(Value::from));
            put("event", self.event.as_deref().map(Value::from));
            put("address", self.address.as_deref().map(Value::from));
            put("thread", self.thread.map(Value::from));
            put("stack", Some(stack_value(table, self.stack)));
        }
        value
    }
}

impl AnnouncedThread {
    fn value(&self, table: &Table) -> Value {
        if self.is_root {
            json!({ "thread": self.thread, "root": true })
        } else {
            json!({ "thread": self.thread, "stack": stack_value(table, self.stack) })
        }
    }
}

fn stack_value(table: &Table, stack: StackId) -> Value {
    // Frames are strings and numbers; there is nothing that JSON could not hold.
    serde_json::to_value(table.record_stack(stack)).unwrap_or_default()
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| Value::Array(items.iter().map(value).collect()))
}

fn sum(figures: impl Iterator<Item = u64>) -> Count {
    figures.map(Count::from).sum()
}

/// The frame to blame, without its address; all unknown where there is no frame.
fn place<'a>(stack: &[Frame<'a>]) -> Frame<'a> {
    stack
        .get(frame_to_blame(stack))
        .cloned()
        .unwrap_or_default()
}
