//! One warning about the properties of stacks that a format cannot hold.

use cg_collections::intern::Made;
use cg_tool::Diagnostics;

use super::CountedStack;
use crate::format::holds::{FormatHolds, Held};

/// The properties of the stacks so far, some of which the format may leave out.
#[derive(Default)]
pub(crate) struct Losses {
    noted: Made<()>,
    /// True if any stack has the property; indexed by [`Held`].
    are_there: [bool; Held::Wakers as usize + 1],
}

/// The properties that a format may lose, with their names in the message.
const LOSSES: [(Held, &str); 12] = [
    (Held::Files, "files"),
    (Held::Lines, "lines"),
    (
        Held::Sites,
        "files of functions beside those of their lines",
    ),
    (Held::Objects, "objects"),
    (Held::Addresses, "addresses"),
    (Held::Threads, "threads"),
    (Held::Processes, "processes"),
    (Held::Labels, "labels"),
    (Held::Times, "times of samples"),
    (Held::Inlined, "marks"),
    (Held::Jit, "marks"),
    (Held::Wakers, "marks of wakers"),
];

impl Losses {
    /// Records the properties of a stack.
    pub(crate) fn record(&mut self, stack: &CountedStack) {
        let mut note = |held: Held, is_there: bool| self.are_there[held as usize] |= is_there;
        for (number, frame) in stack.frames() {
            if self.noted.get(number).is_some() {
                continue;
            }
            self.noted.set(number, ());
            note(Held::Files, frame.file.is_some());
            note(Held::Lines, frame.line.is_some());
            note(Held::Sites, frame.site.is_some());
            note(Held::Objects, frame.obj.is_some());
            note(Held::Addresses, frame.addr.is_some());
            note(Held::Inlined, frame.inlined);
            // The mark of kernel code is not a loss, because the object shows it.
            note(Held::Jit, frame.jit);
            note(Held::Wakers, frame.waker);
        }
        note(Held::Threads, stack.thread.is_some());
        note(Held::Processes, stack.process.is_some());
        note(Held::Labels, stack.labels.is_some());
        note(Held::Times, stack.time.is_some());
    }

    /// Warns about the properties that the format left out.
    pub(crate) fn warn(&self, holds: &FormatHolds, diagnostics: &mut Diagnostics) {
        let is_lost = |held: Held| {
            // If a format holds no lines at all, the entry for lines already covers their files.
            let is_covered = held == Held::Sites && !holds.has(Held::Lines);
            self.are_there[held as usize] && !holds.has(held) && !is_covered
        };
        let lost = LOSSES.iter().filter(|(held, _)| is_lost(*held));
        let mut lost: Vec<&str> = lost.map(|(_, words)| *words).collect();
        lost.dedup();
        if !lost.is_empty() {
            let format = holds.format;
            diagnostics.warn(format!("{format} hold no {}: left out", lost.join(", ")));
        }
    }
}
