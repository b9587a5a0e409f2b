//! What every reader of a format is given: lines and options.

use std::collections::BTreeMap;
use std::io::Read;

use cg_debug_info::Search;
use cg_stream::lines::LineReader;

/// The lines of an input.
pub type Lines = LineReader<Box<dyn Read>>;

/// Of UTF-8. `cat` leaves it in front of the files that follow.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What to read and what to write of it. The default is what every tool uses for a raw profile it was given.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keep parts, threads and files apart instead of summing them.
    pub per_part: bool,
    /// Write `line` records.
    pub lines: bool,
    /// Write `call` records.
    pub calls: bool,
    /// Keep instruction addresses in `line` records, where the profile has them.
    pub instr: bool,
    /// Write `inline` records; callgrind profiles only.
    pub inline: bool,
    /// Say by what the machine code of functions is known; callgrind profiles only.
    pub code: bool,
    /// Where to look for objects and their debug information: for `inline` records, and for the names of addresses that
    /// a sampled profile was saved without.
    pub search: Search,
    /// Write `stack` records instead of the others; callgrind profiles only, where other formats have stacks anyway.
    pub stacks: bool,
    /// Keep the levels of a recursion apart, as `f'2`; callgrind profiles only.
    pub levels: bool,
    /// Keep samples apart by when they were taken, where the input says it.
    pub times: bool,
    /// Demangle the names that Valgrind left mangled.
    pub demangle: bool,
    /// Write names in their normal form, which is the same in every build of a program.
    pub stable_names: bool,
    /// Labels that every `run` record gets.
    pub labels: BTreeMap<String, String>,
    /// Of benchmarks that are kept with earlier results: whose figures are read.
    pub revision: Revision,
    /// The snapshots whose `heap` records are written; of heaptrack's, all of them or none.
    pub snapshots: Snapshots,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            per_part: false,
            lines: false,
            calls: false,
            instr: false,
            inline: false,
            code: false,
            search: Search::default(),
            stacks: false,
            levels: false,
            times: false,
            demangle: true,
            stable_names: false,
            labels: BTreeMap::new(),
            revision: Revision::New,
            snapshots: Snapshots::Peak,
        }
    }
}

/// Which results of a benchmark are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Revision {
    /// Those of the last run.
    #[default]
    New,
    /// Those of the run before, which it was compared with: `NAME.out.old`.
    Old,
    /// Those that were saved under this name: `NAME.out.base@NAME`.
    Base(String),
}

impl Revision {
    /// What stands behind `NAME.out` in the names of such results.
    pub fn suffix(&self) -> String {
        match self {
            Revision::New => String::new(),
            Revision::Old => ".old".to_owned(),
            Revision::Base(name) => format!(".base@{name}"),
        }
    }
}

/// Which snapshots' trees become `heap` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Every snapshot that has a tree.
    All,
    /// The one Massif marked as the peak; where none is marked, the largest that has a tree.
    Peak,
    /// The one with this number.
    Number(u64),
}
