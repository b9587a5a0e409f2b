//! What was found in one process, for whoever reads it in this program: the same as the section of the stream, without
//! making lines of it. Stacks stay numbers, because a log has few different frames and names each many times.

use cg_stream::Diagnostics;
use cg_stream::record::{Frame, Name, RunRecord};

use super::described::Described;
use super::process::Process;
use super::table::{FindingTable, FrameId, StackId};
use crate::error::Error;
use crate::format::Out;

/// Takes the findings of one process after the other.
pub(crate) type Take<'a> =
    &'a mut dyn FnMut(&ProcessFindings<'_>, &mut Diagnostics) -> Result<(), Error>;

/// The findings of a process, or of one of the programs that it was in turn.
pub struct ProcessFindings<'a> {
    process: &'a Process,
    table: &'a FindingTable,
    source: &'a str,
    trouble: Option<&'a str>,
}

/// A loss record of Memcheck.
#[derive(Clone, Copy, Debug)]
pub struct FoundLeak<'a> {
    /// `definite`, `indirect`, `possible` or `reachable`.
    pub kind: &'static str,
    /// Direct bytes.
    pub bytes: u64,
    /// How many blocks they are in.
    pub blocks: u64,
    /// Bytes reachable only through these blocks.
    pub indirect_bytes: u64,
    /// Where the blocks were allocated.
    pub stack: StackId,
    /// The suppression that Valgrind wrote for it.
    pub suppression: Option<&'a str>,
}

/// An error, or the signal that ended the process.
#[derive(Clone, Debug)]
pub struct FoundError<'a> {
    /// The kind as Valgrind's XML names it.
    pub kind: &'a str,
    /// The sentence.
    pub what: Name<'a>,
    /// How often it happened, as far as the log tells.
    pub count: u64,
    /// The number that the log gives the thread.
    pub thread: Option<u64>,
    /// The thread's name.
    pub thread_name: Option<&'a str>,
    /// Where it happened.
    pub stack: StackId,
    /// What else is said of it.
    pub notes: Vec<FoundNote<'a>>,
    /// The suppression that Valgrind wrote for it.
    pub suppression: Option<&'a str>,
}

/// A further sentence about an error, with a stack of its own.
#[derive(Clone, Debug)]
pub struct FoundNote<'a> {
    /// The sentence.
    pub what: Option<Name<'a>>,
    /// Its stack; empty where there is none.
    pub stack: StackId,
}

impl FoundError<'_> {
    /// What its sentences tell in figures.
    pub fn described(&self) -> Described<'_> {
        let notes = self.notes.iter().filter_map(|note| note.what.as_deref());
        Described::of(&self.what, notes)
    }
}

/// Hands on what was read of each process, and why that cannot be all of it.
///
/// # Errors
/// Where the table had no room for all of it, and whatever the one that takes it says.
pub(super) fn hand_on<'a>(
    processes: impl Iterator<Item = (&'a Process, Option<String>)>,
    table: &FindingTable,
    source: &str,
    take: Take<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    for (process, trouble) in processes {
        table
            .check_room()
            .map_err(|too_many| Error::whole(too_many.to_string()))?;
        let found = ProcessFindings {
            process,
            table,
            source,
            trouble: trouble.as_deref(),
        };
        take(&found, diagnostics)?;
    }
    Ok(())
}

impl<'a> ProcessFindings<'a> {
    /// What the `run` record says.
    pub fn run(&self) -> RunRecord {
        self.process.run_record(self.table, self.source)
    }

    /// Errors in the order of the log, and the signal that ended the process behind them.
    pub fn errors(&self) -> impl Iterator<Item = FoundError<'a>> {
        let (process, table) = (self.process, self.table);
        let errors = process.errors.iter().map(|error| error.found(table));
        errors.chain(process.fatal_signal.as_ref().map(|signal| signal.found()))
    }

    /// Loss records in the order of the log.
    pub fn leaks(&self) -> impl Iterator<Item = FoundLeak<'a>> {
        let table = self.table;
        self.process.leaks.iter().map(|leak| FoundLeak {
            kind: leak.kind.word(),
            bytes: leak.bytes,
            blocks: leak.blocks,
            indirect_bytes: leak.indirect_bytes,
            stack: leak.stack,
            suppression: leak.suppression.map(|text| table.text(text)),
        })
    }

    /// The frames of a stack, innermost first. Equal ids are equal frames, in all processes of one input.
    pub fn frames(&self, stack: StackId) -> &'a [FrameId] {
        self.table.frames_of(stack)
    }

    /// What is known of a frame.
    pub fn frame(&self, id: FrameId) -> Frame<'a> {
        self.table.record_frame(id)
    }

    /// Why the log or document cannot be the whole one, with file and line, if that is so.
    pub fn trouble(&self) -> Option<&'a str> {
        self.trouble
    }

    /// Whether nothing came but the preamble, with the parent's pid.
    pub fn has_only_preamble(&self) -> bool {
        self.process.has_only_preamble
    }

    /// Holds what was read against Valgrind's own summaries. Only what is whole can be.
    pub fn check_sums(&self, diagnostics: &mut Diagnostics) {
        self.process.check_sums(self.source, diagnostics);
    }

    /// Writes the section of the stream. Without trouble the log was read to its end, and so the section has one.
    pub(crate) fn write(&self, out: &mut Out, diagnostics: &mut Diagnostics) -> Result<(), Error> {
        let is_whole = self.trouble.is_none();
        self.process
            .write_records(self.table, self.source, is_whole, out)
            .map_err(Error::Output)?;
        match self.trouble {
            Some(trouble) => diagnostics.trouble(trouble),
            None => self.check_sums(diagnostics),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_handed_on_where_there_was_no_room_for_all_of_it() {
        let process = Process::default();
        let handed_on = |table: &FindingTable| {
            let mut taken = 0;
            let result = hand_on(
                [(&process, None)].into_iter(),
                table,
                "log",
                &mut |_, _| {
                    taken += 1;
                    Ok(())
                },
                &mut Diagnostics::to(|_, _| {}),
            );
            (result.map_err(|error| error.to_string()), taken)
        };
        assert_eq!(handed_on(&FindingTable::new(true)), (Ok(()), 1));
        let message = "more than four billion different names, stacks or rows".to_owned();
        assert_eq!(handed_on(&FindingTable::full()), (Err(message), 0));
    }
}
