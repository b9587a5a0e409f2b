//! Whose code a frame is: an allocator's, Valgrind's, a language runtime's, the system's, or the program's own.
//!
//! Nobody looks for a leak in `malloc`, `strdup` or `Vec::push`, and their names change with every update of libc and
//! compiler. So own frames are where findings are blamed and what fingerprints are made of.
//!
//! A frame's name, file and object tell most of it ([`Facts`]). Text logs, and what Massif and DHAT write, leave out the
//! object where they know the file, and the directory of most files, and give the bare name of what was inlined:
//! `read_volatile<u8> (mod.rs:2091)`. There the neighbouring frames decide ([`whose_at`]), so that every account of one
//! stack comes to the same answer.

mod facts;
mod neighbours;
mod tables;

use std::ops::Range;

use cg_stream::record::Frame;

pub use facts::{Facts, UNKNOWN_INLINED};
pub use neighbours::whose_at;

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose {
    /// A function that allocates or frees memory, or only passes that on.
    Allocator,
    /// A function that Valgrind put in place of the program's own.
    Replacement,
    /// The runtime of C++ or Rust with what it is built of, start code of programs and threads, and the test harness.
    Runtime,
    /// A library that the system brings.
    System,
    /// The program's own.
    Own,
}

impl Whose {
    /// True for an allocator and for one of Valgrind's replacements.
    pub fn is_allocator_or_replacement(self) -> bool {
        matches!(self, Whose::Allocator | Whose::Replacement)
    }
}

/// Whose each frame of a stack is, innermost first.
pub fn whose(stack: &[Frame]) -> Vec<Whose> {
    let facts: Vec<Facts> = stack.iter().map(Facts::of).collect();
    whose_by(&facts)
}

/// [`whose`] for a stack of which the facts are known.
pub fn whose_by(facts: &[Facts]) -> Vec<Whose> {
    (0..facts.len())
        .map(|position| whose_at(position, |at| facts.get(at).copied()))
        .collect()
}

/// A part of a stack as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackLine {
    /// The frame at this position.
    Frame(usize),
    /// Frames in a row that are not the program's own.
    Libraries {
        /// Their positions.
        frames: Range<usize>,
        /// What they are of: `std`, `the allocator`, `the system`, or `libraries` of several sorts.
        of: &'static str,
    },
}

/// A stack with its runs of frames that are not own folded: nobody has to read the twenty frames with which a test
/// harness calls a test. One frame alone stays, and so does a stack that has no own frame.
pub fn folded(whose: &[Whose]) -> Vec<StackLine> {
    if !whose.contains(&Whose::Own) {
        return (0..whose.len()).map(StackLine::Frame).collect();
    }
    let mut pieces = Vec::new();
    let mut position = 0;
    while position < whose.len() {
        let run = whose[position..]
            .iter()
            .take_while(|whose| **whose != Whose::Own)
            .count();
        let frames = position..position + run.max(1);
        position = frames.end;
        pieces.push(match run {
            0 | 1 => StackLine::Frame(frames.start),
            _ => StackLine::Libraries {
                of: sort(&whose[frames.clone()]),
                frames,
            },
        });
    }
    pieces
}

/// What frames that are not own are of. The allocator behind a library is not worth a word.
fn sort(whose: &[Whose]) -> &'static str {
    match (
        whose.contains(&Whose::Runtime),
        whose.contains(&Whose::System),
    ) {
        (true, true) => "libraries",
        (true, false) => "std",
        (false, true) => "the system",
        (false, false) => "the allocator",
    }
}

#[cfg(test)]
mod tests;
