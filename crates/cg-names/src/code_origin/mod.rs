//! The origin of a frame's code: an allocator, Valgrind, a language runtime, the system, the kernel, another project that
//! the program uses, or the program itself.
//!
//! The cause of a leak is rarely in `malloc`, `strdup` or `Vec::push`, and such names change with every update of libc and
//! of the compiler. Therefore findings are blamed on own frames, and fingerprints consist of own frames.
//!
//! Usually a frame's name, file and object suffice ([`Facts`]). Text logs, Massif and DHAT omit the object if they know the
//! file, omit most directories, and print bare names of inlined functions: `read_volatile<u8> (mod.rs:2091)`. For such
//! frames, the neighbouring frames decide ([`classify_frame`]). Therefore all formats classify the same stack in the same way.

mod crate_files;
mod dependencies;
mod facts;
mod neighbours;
mod places;
mod places_of_code;
mod tables;

use std::ops::Range;

use cg_stream::record::{Frame, Name};

pub use crate_files::{FileFit, fit_file};
pub use facts::{Facts, UNKNOWN_INLINED, is_address, is_unplaced_address};
pub use neighbours::classify_frame;
pub use places_of_code::FactsFinder;

/// The origin of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeOrigin {
    /// A function that allocates or frees memory, or only passes such a request on.
    Allocator,
    /// A function with which Valgrind replaces a function of the program.
    Replacement,
    /// The runtime of C++ or Rust and its parts, start code of programs and threads, and the test harness.
    Runtime,
    /// A library of the system.
    System,
    /// The operating system's kernel.
    Kernel,
    /// Another project, built and run with the program: cargo's registry, `vendor`, `node_modules`.
    Dependency,
    /// Another project that the system installed as source, if only a bare name is known: `/usr/include`,
    /// `/usr/lib/python3/dist-packages`.
    Installed,
    /// The program itself.
    Own,
}

/// The owner of code, in the words of the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeOwner {
    /// The program itself.
    Own,
    /// Another project that the program uses.
    Dependency,
    /// The runtime and the library of the program's language.
    Std,
    /// The system, including C's allocator and its replacements.
    System,
    /// The operating system's kernel.
    Kernel,
    /// Nobody knows: machine code without a name and an object, such as code that was made while the program ran.
    Unknown,
}

impl CodeOwner {
    /// All owners, the nearest to the program first.
    pub const ALL: [CodeOwner; 6] = [
        CodeOwner::Own,
        CodeOwner::Dependency,
        CodeOwner::Std,
        CodeOwner::System,
        CodeOwner::Kernel,
        CodeOwner::Unknown,
    ];

    /// Returns the owner of a function with this name, file and object, judged without the frames around it.
    pub fn from_names([name, file, obj]: [Option<&str>; 3]) -> CodeOwner {
        let facts = Facts::from_frame(&Frame {
            name: name.map(Name::from),
            file: file.map(Name::from),
            obj: obj.map(Name::from),
            ..Frame::default()
        });
        facts.owner_without_context()
    }

    /// Returns the word for this owner in outputs.
    pub fn word(self) -> &'static str {
        match self {
            CodeOwner::Own => "own",
            CodeOwner::Dependency => "dependency",
            CodeOwner::Std => "std",
            CodeOwner::System => "system",
            CodeOwner::Kernel => "kernel",
            CodeOwner::Unknown => "unknown",
        }
    }

    /// Returns the owner with this word.
    pub fn from_word(word: &str) -> Option<CodeOwner> {
        CodeOwner::ALL
            .into_iter()
            .find(|owner| owner.word() == word)
    }
}

impl CodeOrigin {
    /// Returns true for an allocator and for Valgrind's replacement functions.
    pub fn is_allocator_or_replacement(self) -> bool {
        matches!(self, CodeOrigin::Allocator | CodeOrigin::Replacement)
    }

    /// Returns true for a program's own code and the code of its dependencies. Only these frames can be blamed, and they are
    /// never folded.
    pub fn is_program(self) -> bool {
        matches!(self, CodeOrigin::Own | CodeOrigin::Dependency)
    }
}

/// Returns the owner of each frame in a stack with known facts.
pub fn find_owners(facts: &[Facts]) -> Vec<CodeOwner> {
    let origins = classify_facts(facts).into_iter().zip(facts);
    origins.map(|(origin, facts)| facts.owner(origin)).collect()
}

/// Returns the origin of each frame in a stack, innermost first.
pub fn classify_stack(stack: &[Frame]) -> Vec<CodeOrigin> {
    let facts: Vec<Facts> = stack.iter().map(Facts::from_frame).collect();
    classify_facts(&facts)
}

/// Returns the origin of each frame in a stack with known facts, innermost first.
pub fn classify_facts(facts: &[Facts]) -> Vec<CodeOrigin> {
    (0..facts.len())
        .map(|position| classify_frame(position, |at| facts.get(at).copied()))
        .collect()
}

/// A line in the printed form of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackLine {
    /// The frame at this position.
    Frame(usize),
    /// Consecutive frames that belong neither to the program nor to its dependencies.
    Libraries {
        /// Their positions.
        frames: Range<usize>,
        /// Their common origin: `std`, `the allocator`, `the system`, `the kernel` or `dependencies`; `libraries` for a
        /// mixture.
        of: &'static str,
    },
}

/// Folds consecutive library frames, such as the twenty frames with which a test harness calls a test. Single library frames
/// stay, and so does a stack of only library frames.
pub fn fold_libraries(origins: &[CodeOrigin]) -> Vec<StackLine> {
    if !origins.iter().any(|origin| origin.is_program()) {
        return (0..origins.len()).map(StackLine::Frame).collect();
    }
    let mut pieces = Vec::new();
    let mut position = 0;
    while position < origins.len() {
        let run = origins[position..]
            .iter()
            .take_while(|origin| !origin.is_program())
            .count();
        let frames = position..position + run.max(1);
        position = frames.end;
        pieces.push(match run {
            0 | 1 => StackLine::Frame(frames.start),
            _ => StackLine::Libraries {
                of: common_origin(&origins[frames.clone()]),
                frames,
            },
        });
    }
    pieces
}

/// Returns the common origin of folded frames. Ignores the allocator if there are other libraries, and the kernel if there
/// are frames of the system.
fn common_origin(origins: &[CodeOrigin]) -> &'static str {
    let has = |wanted: CodeOrigin| origins.contains(&wanted);
    let system = has(CodeOrigin::System) || has(CodeOrigin::Kernel);
    match (has(CodeOrigin::Runtime), system, has(CodeOrigin::Installed)) {
        (false, true, false) if !has(CodeOrigin::System) => "the kernel",
        (false, true, false) => "the system",
        (true, false, false) => "std",
        (false, false, true) => "dependencies",
        (false, false, false) => "the allocator",
        _ => "libraries",
    }
}

#[cfg(test)]
mod tests;
