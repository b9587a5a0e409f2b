//! The section of the stream that a process becomes: `run`, `error` and `leak` records, `end`.

use cg_names::blame::frames_before_program;
use cg_stream::record::{
    Count, Counts, ErrorRecord, Frame, LeakRecord, LogFileQualifier, Name, Note, ProcessFacts,
    RunRecord, SignalFacts, ThreadFacts, Total, UsedSuppression,
};

use cg_stream::writer::RenderedFrame;

use super::described::Described;
use super::found::{FoundError, FoundNote};
use super::process::{AnnouncedThread, ErrorRow, FatalSignal, LeakRow, Process};
use super::table::{FindingTable, StackId};
use crate::format::Out;

impl Process {
    /// Writes the section; it has an `end` where it is whole.
    pub(super) fn write_records(
        &self,
        table: &FindingTable,
        source: &str,
        is_whole: bool,
        out: &mut Out,
    ) -> std::io::Result<()> {
        out.run(&self.run_record(table, source))?;
        for error in &self.errors {
            self.write_error(error.found(table), table, out)?;
        }
        if let Some(signal) = &self.fatal_signal {
            self.write_error(signal.found(), table, out)?;
        }
        for leak in &self.leaks {
            self.write_leak(leak, table, out)?;
        }
        if is_whole { out.end() } else { out.flush() }
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
        let has_leaks = self.tool.as_deref().is_none_or(|tool| tool == "memcheck");
        if has_leaks || !self.leaks.is_empty() {
            totals.push(("bytes", sum(self.leaks.iter().map(|leak| leak.bytes))));
            totals.push(("blocks", sum(self.leaks.iter().map(|leak| leak.blocks))));
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
            heap_summary: self.heap_summary,
            leak_summary: self.leak_summary,
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
        found: FoundError,
        table: &FindingTable,
        out: &mut Out,
    ) -> std::io::Result<()> {
        let stacks: Vec<StackId> = std::iter::once(found.stack)
            .chain(found.notes.iter().map(|note| note.stack))
            .filter(|stack| *stack != StackId::EMPTY)
            .collect();
        // Helgrind and `--track-fds` have errors whose only stacks are those of their notes.
        let blamed = stacks.first().copied().unwrap_or_default();
        let before = frames_before_program(found.kind, table.frames_of(blamed).len());
        let place = table.to_blame(blamed, before);
        let Described {
            size,
            address,
            block,
        } = found.described();
        let address = address.map(|address| Name::from(address.to_owned()));
        let notes = found.notes.into_iter().map(|note| Note {
            what: note.what,
            stack: placeholder(note.stack),
        });
        let record = ErrorRecord {
            name: place.name,
            file: place.file,
            line: place.line,
            obj: place.obj,
            kind: Name::from(found.kind),
            what: found.what,
            cost: Counts::from([("count", Count::from(found.count))]),
            size,
            address,
            block,
            thread: found.thread,
            thread_name: found.thread_name.map(Name::from),
            pid: self.pid,
            stack: placeholder(found.stack),
            notes: notes.collect(),
            suppression: found.suppression.map(Name::from),
        };
        let stacks = stacks.into_iter().map(|stack| table.rendered_stack(stack));
        out.record_with_stacks(&record, stacks.collect::<std::io::Result<Vec<_>>>()?)
    }

    fn write_leak(
        &self,
        leak: &LeakRow,
        table: &FindingTable,
        out: &mut Out,
    ) -> std::io::Result<()> {
        let place = table.to_blame(leak.stack, 0);
        let record = LeakRecord {
            name: place.name,
            file: place.file,
            line: place.line,
            obj: place.obj,
            kind: Name::from(leak.kind.word()),
            cost: Counts::from([
                ("bytes", Count::from(leak.bytes)),
                ("blocks", Count::from(leak.blocks)),
            ]),
            indirect_bytes: leak.indirect_bytes,
            pid: self.pid,
            stack: placeholder(leak.stack),
            suppression: leak.suppression.map(|text| Name::from(table.text(text))),
        };
        let stack = Some(leak.stack).filter(|stack| *stack != StackId::EMPTY);
        let stack = stack.map(|stack| table.rendered_stack(stack)).transpose()?;
        out.record_with_stacks(&record, stack)
    }
}

/// What stands in a record for a stack that is written from rendered frames.
fn placeholder(stack: StackId) -> Vec<Frame<'static>> {
    match stack {
        StackId::EMPTY => Vec::new(),
        _ => RenderedFrame::placeholder(),
    }
}

impl ErrorRow {
    pub(super) fn found<'a>(&self, table: &'a FindingTable) -> FoundError<'a> {
        let text = |name| table.text(name);
        let notes = self.notes.iter().map(|note| FoundNote {
            what: note.what.map(|what| Name::from(text(what))),
            stack: note.stack,
        });
        FoundError {
            kind: text(self.kind),
            what: Name::from(text(self.what)),
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
    /// What Valgrind says when a signal ends the process, as an error: it counts none for it.
    pub(super) fn found<'a>(&self) -> FoundError<'a> {
        let event = self.event.as_deref().map(|event| match &self.address {
            Some(address) => format!("{event} at address {address}"),
            None => event.to_owned(),
        });
        FoundError {
            kind: "FatalSignal",
            what: Name::from(self.sentence()),
            count: 1,
            thread: self.thread,
            thread_name: None,
            stack: self.stack,
            notes: Vec::from_iter(event.map(|event| FoundNote {
                what: Some(Name::from(event)),
                stack: StackId::EMPTY,
            })),
            suppression: None,
        }
    }

    /// As text logs say it.
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

fn owned_stack(table: &FindingTable, stack: StackId) -> Vec<Frame<'static>> {
    let stack = table.record_stack(stack);
    stack.into_iter().map(Frame::into_owned).collect()
}

/// A sum of figures that are `u64` each.
pub(super) fn sum(figures: impl Iterator<Item = u64>) -> Count {
    figures.map(Count::from).sum()
}
