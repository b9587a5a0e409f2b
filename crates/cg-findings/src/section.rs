//! Writes a process as a section of the stream: `run`, `error` and `leak` records, `end`.

use cg_names::blame::frames_before_program;
use cg_reader::{Error, Out, Reading};
use cg_stream::record::{
    Count, Counts, Frame, LogFileQualifier, Name, ProcessFacts, RunRecord, SignalFacts,
    ThreadFacts, Tool, Total, UsedSuppression,
};
use cg_stream::rows::{Cells, ErrorRow, LeakRow, NameRef, NoteRef, NotesRef, StackRef};

use super::described::Described;
use super::process::{AnnouncedThread, FatalSignal, KeptError, KeptLeak, Process};
use super::sanitizers;
use super::table::{FindingStackId, FindingTable, NameId};

impl Process {
    /// Writes the section. Omits `end` if `error` is set, because the log is incomplete. Compares a complete log with
    /// Valgrind's own summaries.
    pub(super) fn write(
        &self,
        table: &FindingTable,
        error: Option<&str>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let run = self.run_record(table, reading.source);
        reading.out.run(&run)?;
        // `count` is the last event, after the bytes and blocks of leaks.
        let count = run.events.len() - 1;
        for error in &self.errors {
            self.write_error(error.finding(table), count, table, reading.out)?;
        }
        if let Some(signal) = &self.fatal_signal {
            let (sentence, event) = (signal.sentence(), signal.event());
            let finding = signal.finding(&sentence, event.as_deref());
            self.write_error(finding, count, table, reading.out)?;
        }
        for (leaks, earlier_search) in [
            (self.earlier_leaks(), true),
            (self.leaks.iter().collect(), false),
        ] {
            for leak in leaks {
                self.write_leak(leak, earlier_search, table, reading.out)?;
            }
        }
        match error {
            None => {
                reading.out.end()?;
                if !self.is_from_sanitizer() {
                    self.check_sums(reading.source, reading.diagnostics);
                }
            }
            Some(error) if !reading.out.cut(Some(error))? => reading.diagnostics.error(error),
            Some(_) => {}
        }
        Ok(())
    }

    fn is_from_sanitizer(&self) -> bool {
        self.tool.as_ref().is_some_and(Tool::is_sanitizer)
    }

    pub(super) fn run_record(&self, table: &FindingTable, source: &str) -> RunRecord {
        let mut run = RunRecord {
            stream: cg_stream::record::VERSION,
            tool: self.tool.clone(),
            creator: self.creator.clone(),
            command: self.command.clone(),
            pid: self.pid,
            source: vec![source.to_owned()],
            ..RunRecord::default()
        };
        let mut totals = Vec::new();
        let has_leaks = self.tool.as_ref().is_none_or(Tool::looks_for_leaks);
        let earlier = self.earlier_leaks();
        if has_leaks || !self.leaks.is_empty() {
            let leaks = || earlier.iter().copied().chain(&self.leaks);
            totals.push(("bytes", sum(leaks().map(|leak| leak.bytes))));
            totals.push(("blocks", sum(leaks().map(|leak| leak.blocks))));
        }
        let signals = self.fatal_signal.iter().map(|_| 1);
        let errors = self.errors.iter().map(|error| error.count);
        totals.push(("count", sum(errors.chain(signals))));
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
        let threads = self.threads.iter().map(|thread| thread.facts(table));
        run.threads = threads.collect();
        run.process = self.facts(table);
        run
    }

    fn facts(&self, table: &FindingTable) -> ProcessFacts {
        ProcessFacts {
            all_heap_blocks_freed: self.all_heap_blocks_freed,
            complete: Some(self.is_complete),
            error_limit_reached: self.error_limit_reached,
            error_summary: self.error_summary,
            exec: self.has_execed,
            fatal_signal: self.fatal_signal.as_ref().map(|signal| signal.facts(table)),
            forked: self.is_forked,
            heap_summary: self.whole_heap_summary(),
            leak_summary: self.whole_leak_summary(),
            log_file_qualifiers: self
                .log_file_qualifiers
                .iter()
                .map(|(variable, value)| LogFileQualifier {
                    value: value.clone(),
                    variable: variable.clone(),
                })
                .collect(),
            only_preamble: self.has_only_preamble,
            options: self.options.clone(),
            ppid: self.ppid,
            quiet: self.is_quiet,
            repeated_leaks: self.repeated_leaks(),
            stopped_reporting: self.stopped_reporting,
            unfinished: self.unfinished,
            unprinted_errors: self.unprinted_errors,
            used_suppressions: self
                .used_suppressions
                .iter()
                .map(|(name, count)| UsedSuppression {
                    count: *count,
                    name: name.clone(),
                })
                .collect(),
            user_comment: self.user_comment.clone(),
        }
    }

    fn write_error(
        &self,
        finding: LogFinding<'_>,
        count_event: usize,
        table: &FindingTable,
        out: &mut Out,
    ) -> Result<(), Error> {
        // In some errors of Helgrind and `--track-fds`, only the notes have stacks.
        let mut stacks =
            std::iter::once(finding.stack).chain(finding.notes.iter().map(|(_, stack)| *stack));
        let blamed = stacks
            .find(|stack| *stack != FindingStackId::EMPTY)
            .unwrap_or_default();
        let before = frames_before_program(finding.kind, table.stack_frames(blamed).len());
        let place = table.blamed_frame(blamed, before);
        let sentences = finding.notes.iter().filter_map(|(what, _)| *what);
        let Described {
            size,
            address,
            block,
        } = match self.is_from_sanitizer() {
            true => sanitizers::described::parse(finding.what, sentences),
            false => Described::parse(finding.what, sentences),
        };
        let notes = finding.notes.iter().map(|(what, stack)| NoteRef {
            what: *what,
            stack: StackRef::Ids(table.stack_frames(*stack)),
        });
        let notes: Vec<NoteRef> = notes.collect();
        let cost = [Count::from(finding.count)];
        let row = ErrorRow {
            name: name(place.name),
            file: name(place.file),
            line: place.line.map(u64::from),
            obj: name(place.obj),
            kind: finding.kind,
            what: finding.what,
            cost: Cells::From(count_event, &cost),
            size,
            address,
            block: block.as_ref(),
            thread: finding.thread,
            thread_name: finding.thread_name,
            pid: self.pid,
            stack: StackRef::Ids(table.stack_frames(finding.stack)),
            notes: NotesRef::Refs(&notes),
            suppression: finding.suppression,
        };
        out.row(row, table)
    }

    fn write_leak(
        &self,
        leak: &KeptLeak,
        earlier_search: bool,
        table: &FindingTable,
        out: &mut Out,
    ) -> Result<(), Error> {
        let place = table.blamed_frame(leak.stack, 0);
        let cost = [leak.bytes, leak.blocks].map(Count::from);
        let row = LeakRow {
            name: name(place.name),
            file: name(place.file),
            line: place.line.map(u64::from),
            obj: name(place.obj),
            kind: leak.kind.word(),
            cost: Cells::From(0, &cost),
            indirect_bytes: leak.indirect_bytes,
            earlier_search,
            pid: self.pid,
            stack: StackRef::Ids(table.stack_frames(leak.stack)),
            suppression: leak.suppression.map(|text| table.text(text)),
        };
        out.row(row, table)
    }
}

fn name(id: Option<NameId>) -> Option<NameRef<'static>> {
    id.map(NameRef::Id)
}

/// An error, or the signal that ended the process.
struct LogFinding<'a> {
    kind: &'a str,
    what: &'a str,
    count: u64,
    thread: Option<u64>,
    thread_name: Option<&'a str>,
    stack: FindingStackId,
    notes: Vec<(Option<&'a str>, FindingStackId)>,
    suppression: Option<&'a str>,
}

impl KeptError {
    fn finding<'a>(&self, table: &'a FindingTable) -> LogFinding<'a> {
        let text = |name| table.text(name);
        let notes = self
            .notes
            .iter()
            .map(|note| (note.what.map(text), note.stack));
        LogFinding {
            kind: text(self.kind),
            what: text(self.what),
            count: self.count,
            thread: self.thread,
            thread_name: self.thread_name.map(text),
            stack: self.stack,
            notes: notes.collect(),
            suppression: self.suppression.map(text),
        }
    }
}

impl FatalSignal {
    /// Converts the signal to an error, although Valgrind does not count it as one.
    fn finding<'a>(&self, sentence: &'a str, event: Option<&'a str>) -> LogFinding<'a> {
        LogFinding {
            kind: "FatalSignal",
            what: sentence,
            count: 1,
            thread: self.thread,
            thread_name: None,
            stack: self.stack,
            notes: Vec::from_iter(event.map(|event| (Some(event), FindingStackId::EMPTY))),
            suppression: None,
        }
    }

    fn event(&self) -> Option<String> {
        let event = self.event.as_deref()?;
        Some(match &self.address {
            Some(address) => format!("{event} at address {address}"),
            None => event.to_owned(),
        })
    }

    /// Returns the sentence in text logs.
    fn sentence(&self) -> String {
        let named = match self.number {
            Some(number) if self.name.is_empty() => number.to_string(),
            Some(number) => format!("{number} ({})", self.name),
            None => self.name.clone(),
        };
        format!("Process terminating with default action of signal {named}")
    }

    fn facts(&self, table: &FindingTable) -> SignalFacts {
        SignalFacts {
            address: self.address.clone(),
            event: self.event.clone(),
            name: self.name.clone(),
            signal: self.number,
            stack: owned_stack(table, self.stack),
            thread: self.thread,
        }
    }
}

impl AnnouncedThread {
    fn facts(&self, table: &FindingTable) -> ThreadFacts {
        ThreadFacts {
            root: self.is_root,
            stack: (!self.is_root).then(|| owned_stack(table, self.stack)),
            thread: Some(self.thread),
            ..ThreadFacts::default()
        }
    }
}

fn owned_stack(table: &FindingTable, stack: FindingStackId) -> Vec<Frame<'static>> {
    let stack = table.record_stack(stack);
    stack.into_iter().map(Frame::into_owned).collect()
}

/// Adds up figures without overflow.
pub(super) fn sum(figures: impl Iterator<Item = u64>) -> Count {
    figures.map(Count::from).sum()
}
