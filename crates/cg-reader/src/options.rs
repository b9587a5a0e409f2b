//! The options of readers.

use std::collections::BTreeMap;
use std::io::Read;

use cg_debug_info::Search;
use cg_stream::lines::LineReader;

/// The lines of an input.
pub type Lines = LineReader<Box<dyn Read>>;

/// The byte order mark of UTF-8. After `cat`, it also occurs before each further file.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Options for reading a profile. All tools use the default for raw profiles.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keep parts, threads and files separate instead of adding them up.
    pub per_part: bool,
    /// Write `line` records.
    pub lines: bool,
    /// Write `call` records.
    pub calls: bool,
    /// Keep the instruction addresses of the profile in `line` records.
    pub instr: bool,
    /// Write `inline` records; callgrind profiles only.
    pub inline: bool,
    /// Identify the machine code of functions; callgrind profiles only.
    pub code: bool,
    /// The places of objects and their debug information. Used for `inline` records, and for function names that a sampled
    /// profile lacks.
    pub search: Search,
    /// Write `stack` records; callgrind profiles only. Without `lines` and `calls`, they replace other records. Other formats
    /// with stacks always have them.
    pub stacks: bool,
    /// Keep the levels of a recursion separate, as `f'2`; callgrind profiles only.
    pub levels: bool,
    /// Keep samples separate by time, if the input contains times.
    pub times: bool,
    /// Times in ns since the beginning at which spans are cut, if the records are separate by time.
    pub cuts: Option<[u64; 2]>,
    /// Demangle the names that Valgrind left mangled.
    pub demangle: bool,
    /// Write names in their normal form, which is the same in every build of a program.
    pub stable_names: bool,
    /// Replace secrets in command lines and labels.
    pub redact: bool,
    /// Labels for every `run` record.
    pub labels: BTreeMap<String, String>,
    /// The results to read, if a benchmark also keeps earlier results.
    pub revision: Revision,
    /// The snapshots for `heap` records. For heaptrack, all snapshots or none.
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
            cuts: None,
            demangle: true,
            stable_names: false,
            redact: false,
            labels: BTreeMap::new(),
            revision: Revision::New,
            snapshots: Snapshots::Peak,
        }
    }
}

/// The results of a benchmark to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Revision {
    /// The results of the last run.
    #[default]
    New,
    /// The results of the previous run, which the last run was compared with: `NAME.out.old`.
    Old,
    /// The results that were saved under this name: `NAME.out.base@NAME`.
    Base(String),
}

impl Revision {
    /// Returns the suffix of the file names, after `NAME.out`.
    pub fn suffix(&self) -> String {
        match self {
            Revision::New => String::new(),
            Revision::Old => ".old".to_owned(),
            Revision::Base(name) => format!(".base@{name}"),
        }
    }
}

/// The snapshots whose trees become `heap` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Every snapshot that has a tree.
    All,
    /// The snapshot that Massif marked as the peak. Without a mark, the largest snapshot that has a tree.
    Peak,
    /// The snapshot with this number.
    Number(u64),
}
