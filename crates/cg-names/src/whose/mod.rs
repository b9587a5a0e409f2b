//! Whose code a frame is: an allocator's, Valgrind's, a language runtime's, the system's, the kernel's, another project's that
//! the program uses, or the program's own.
//!
//! Nobody looks for a leak in `malloc`, `strdup` or `Vec::push`, and their names change with every update of libc and
//! compiler. So own frames are where findings are blamed and what fingerprints are made of.
//!
//! A frame's name, file and object tell most of it ([`Facts`]). Text logs, and what Massif and DHAT write, leave out the
//! object where they know the file, and the directory of most files, and give the bare name of what was inlined:
//! `read_volatile<u8> (mod.rs:2091)`. There the neighbouring frames decide ([`whose_at`]), so that every account of one
//! stack comes to the same answer.

mod dependencies;
mod facts;
mod neighbours;
mod places;
mod tables;

use std::ops::Range;

use cg_stream::record::{Frame, Name};

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
    /// The operating system's kernel.
    Kernel,
    /// Another project's, which is built and run with the program: cargo's registry, `vendor`, `node_modules`.
    Dependency,
    /// Another project's that the system installed as source, of which nothing but a bare name is known:
    /// `/usr/include`, `/usr/lib/python3/dist-packages`.
    Installed,
    /// The program's own.
    Own,
}

/// Whose code it is, in the words that people are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeOwner {
    /// The program's own.
    Own,
    /// Another project's that the program uses.
    Dependency,
    /// The runtime and the library of the program's language.
    Std,
    /// What the system brings, C's allocator and what stands in for it among that.
    System,
    /// The operating system's kernel.
    Kernel,
}

impl CodeOwner {
    /// All of them, the nearest to the program first.
    pub const ALL: [CodeOwner; 5] = [
        CodeOwner::Own,
        CodeOwner::Dependency,
        CodeOwner::Std,
        CodeOwner::System,
        CodeOwner::Kernel,
    ];

    /// Whose the function of this name, file and object is, as far as these tell.
    pub fn of([name, file, obj]: [Option<&str>; 3]) -> CodeOwner {
        let facts = Facts::of(&Frame {
            name: name.map(Name::from),
            file: file.map(Name::from),
            obj: obj.map(Name::from),
            ..Frame::default()
        });
        facts.owner_alone()
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            CodeOwner::Own => "own",
            CodeOwner::Dependency => "dependency",
            CodeOwner::Std => "std",
            CodeOwner::System => "system",
            CodeOwner::Kernel => "kernel",
        }
    }

    /// The one with this word.
    pub fn with_word(word: &str) -> Option<CodeOwner> {
        CodeOwner::ALL
            .into_iter()
            .find(|owner| owner.word() == word)
    }
}

impl Whose {
    /// True for an allocator and for one of Valgrind's replacements.
    pub fn is_allocator_or_replacement(self) -> bool {
        matches!(self, Whose::Allocator | Whose::Replacement)
    }

    /// True for what a program is built of, its own code and that of its dependencies: what can be to blame, and what is
    /// never folded.
    pub fn is_of_program(self) -> bool {
        matches!(self, Whose::Own | Whose::Dependency)
    }
}

/// Whose each frame of a stack is of which the facts are known, in the words that people are shown.
pub fn owners_by(facts: &[Facts]) -> Vec<CodeOwner> {
    let whose = whose_by(facts).into_iter().zip(facts);
    whose.map(|(whose, facts)| facts.owner(whose)).collect()
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
    /// Frames in a row that are not of the program or what it is built with.
    Libraries {
        /// Their positions.
        frames: Range<usize>,
        /// What they are of: `std`, `the allocator`, `the system`, `the kernel`, `dependencies`, or `libraries` of several
        /// sorts.
        of: &'static str,
    },
}

/// A stack with its runs of frames that are not own folded: nobody has to read the twenty frames with which a test
/// harness calls a test. One frame alone stays, and so does a stack of nothing else.
pub fn folded(whose: &[Whose]) -> Vec<StackLine> {
    if !whose.iter().any(|whose| whose.is_of_program()) {
        return (0..whose.len()).map(StackLine::Frame).collect();
    }
    let mut pieces = Vec::new();
    let mut position = 0;
    while position < whose.len() {
        let run = whose[position..]
            .iter()
            .take_while(|whose| !whose.is_of_program())
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

/// What folded frames are of. The allocator behind a library is not worth a word, nor is the kernel behind the system.
fn sort(whose: &[Whose]) -> &'static str {
    let has = |wanted: Whose| whose.contains(&wanted);
    let system = has(Whose::System) || has(Whose::Kernel);
    match (has(Whose::Runtime), system, has(Whose::Installed)) {
        (false, true, false) if !has(Whose::System) => "the kernel",
        (false, true, false) => "the system",
        (true, false, false) => "std",
        (false, false, true) => "dependencies",
        (false, false, false) => "the allocator",
        _ => "libraries",
    }
}

#[cfg(test)]
mod tests;
