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
    (0..facts.len())
        .map(|position| whose_at(position, |at| facts.get(at).copied()))
        .collect()
}

#[cfg(test)]
mod tests;
