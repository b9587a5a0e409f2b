//! Says once what a format cannot hold of the stacks that it is given.

use cg_stream::intern::Made;
use cg_stream::tool::Diagnostics;

use super::CountedStack;
use crate::format::holds::{FormatHolds, Held};

/// What stacks had that may have been left out.
#[derive(Default)]
pub(crate) struct Losses {
    noted: Made<()>,
    /// By [`Held`].
    are_there: [bool; Held::Wakers as usize + 1],
}

/// What a format may lose, with the words of the message.
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
    /// Takes note of what a stack has.
    pub(crate) fn note(&mut self, stack: &CountedStack) {
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
            // That a function is the kernel's its object tells.
            note(Held::Jit, frame.jit);
            note(Held::Wakers, frame.waker);
        }
        note(Held::Threads, stack.thread.is_some());
        note(Held::Processes, stack.process.is_some());
        note(Held::Labels, stack.labels.is_some());
        note(Held::Times, stack.time.is_some());
    }

    /// Says what was left out of a format that holds only some of it.
    pub(crate) fn say(&self, holds: &FormatHolds, diagnostics: &mut Diagnostics) {
        let is_lost = |held: Held| {
            // Where a format holds no lines at all, the entry for lines says so already.
            let is_told = held == Held::Sites && !holds.has(Held::Lines);
            self.are_there[held as usize] && !holds.has(held) && !is_told
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
