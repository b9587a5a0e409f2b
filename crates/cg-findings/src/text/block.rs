//! A block of a text log while it is read: a sentence, its stack, and notes with their stacks.

use crate::leak::LossRecord;
use crate::process::{AnnouncedThread, FatalSignal, KeptError, KeptNote, Process};
use crate::stacks::GatheredStacks;
use crate::table::{FindingTable, NameId};

/// The subject of a block.
#[derive(Debug)]
pub(super) enum About {
    Error {
        kind: NameId,
        /// True if only errors have this sentence.
        is_known: bool,
        what: Vec<u8>,
        thread: Option<u64>,
        thread_name: Option<NameId>,
        /// The count, if `-s` prints the error again.
        again: Option<u64>,
    },
    Leak(LossRecord),
    /// Helgrind's announcement of a thread.
    Thread {
        thread: u64,
        is_root: bool,
    },
    /// The signal that ended the process.
    Signal(FatalSignal),
    /// Notes that precede the sentence of their error: Helgrind's locks, DRD's `Acquired at:`.
    Early,
    /// A warning or a remark, which may have a stack.
    Nothing,
}

/// An unfinished block.
#[derive(Debug)]
pub(super) struct LogBlock {
    pub(super) about: About,
    pub(super) stacks: GatheredStacks,
    /// True if the last line was empty.
    pub(super) after_blank: bool,
}

impl LogBlock {
    pub(super) fn new(about: About) -> LogBlock {
        LogBlock::with_notes(about, Vec::new())
    }

    /// Creates a block with notes that precede its sentence.
    pub(super) fn with_notes(about: About, notes: Vec<KeptNote>) -> LogBlock {
        LogBlock {
            about,
            stacks: GatheredStacks::with_notes(notes),
            after_blank: false,
        }
    }

    /// Adds a note, or a remark between a sentence and its stack. After a remark, the next stack keeps its owner.
    pub(super) fn note_or_remark(&mut self, what: &[u8], table: &mut FindingTable) {
        const REMARKS: [&str; 2] = ["Locks held: ", "Observed (incorrect) order is: "];
        let is = |remark: &&str| what.starts_with(remark.as_bytes());
        if REMARKS.iter().any(is) {
            self.stacks.remark(what, table);
        } else {
            self.stacks.note(what, table);
        }
    }

    /// Adds the finished block to the process.
    pub(super) fn finish(self, process: &mut Process, table: &mut FindingTable) {
        let (stack, notes) = self.stacks.finish(table);
        match self.about {
            About::Error {
                kind,
                is_known,
                what,
                thread,
                thread_name,
                again,
            } => {
                let error = KeptError {
                    kind,
                    is_known,
                    what: table.name(&what),
                    count: again.unwrap_or(1),
                    thread,
                    thread_name,
                    stack,
                    notes: notes.into_boxed_slice(),
                    suppression: None,
                };
                match again {
                    Some(_) => process.count_again(error),
                    None => process.errors.push(error),
                }
            }
            About::Leak(loss) => process.add_leak(loss, stack),
            About::Thread { thread, is_root } => process.threads.push(AnnouncedThread {
                thread,
                is_root,
                stack,
            }),
            About::Signal(signal) => process.fatal_signal = Some(FatalSignal { stack, ..signal }),
            About::Early | About::Nothing => {}
        }
    }
}
