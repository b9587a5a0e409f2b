//! A block of a text log while it is read: a sentence, its stack, and what else is said with stacks of their own.

use crate::leak::LossRecord;
use crate::process::{AnnouncedThread, FatalSignal, KeptError, KeptNote, Process};
use crate::stacks::GatheredStacks;
use crate::table::{FindingTable, NameId};

/// What a block is about.
#[derive(Debug)]
pub(super) enum About {
    /// An error; `again` is the count where it is the second printing that `-s` gives.
    Error {
        kind: NameId,
        /// Whether the sentence is one that only errors have.
        is_known: bool,
        what: Vec<u8>,
        thread: Option<u64>,
        thread_name: Option<NameId>,
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
    /// Notes that come before the sentence of their error: Helgrind's locks, DRD's `Acquired at:`.
    Early,
    /// A warning or a remark, which can have a stack too.
    Nothing,
}

/// A block that is not finished.
#[derive(Debug)]
pub(super) struct LogBlock {
    pub(super) about: About,
    pub(super) stacks: GatheredStacks,
    /// Whether an empty line was read since.
    pub(super) after_blank: bool,
}

impl LogBlock {
    pub(super) fn new(about: About) -> LogBlock {
        LogBlock::with_notes(about, Vec::new())
    }

    /// A block whose first notes came before it.
    pub(super) fn with_notes(about: About, notes: Vec<KeptNote>) -> LogBlock {
        LogBlock {
            about,
            stacks: GatheredStacks::with_notes(notes),
            after_blank: false,
        }
    }

    /// Adds a note, or what comes between a sentence and its stack: that stack remains the sentence's.
    pub(super) fn note_or_remark(&mut self, what: &[u8], table: &mut FindingTable) {
        const REMARKS: [&str; 2] = ["Locks held: ", "Observed (incorrect) order is: "];
        let is = |remark: &&str| what.starts_with(remark.as_bytes());
        if REMARKS.iter().any(is) {
            self.stacks.remark(what, table);
        } else {
            self.stacks.note(what, table);
        }
    }

    /// Puts what was read into the process.
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
