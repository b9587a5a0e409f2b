//! Options that choose the records to create from raw profiles, shared by all tools that pass records on. Streams already
//! contain records, so these options do not affect them.

use std::path::PathBuf;

use cg_reader::{Options, Search, Snapshots};
use cg_tool::Suggested;
use clap::builder::TypedValueParser as _;

/// The records to create from a raw profile.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of raw profiles")]
pub struct RecordArgs {
    /// Keep parts, threads and files separate instead of summing them.
    #[arg(long)]
    per_part: bool,

    /// Create a line record for each source line with a cost.
    #[arg(long)]
    lines: bool,

    /// Create a call record for each call arc.
    #[arg(long)]
    calls: bool,

    /// Create a line record for each instruction.
    ///
    /// Needs Callgrind profiles with addresses (--dump-instr=yes).
    #[arg(long)]
    instr: bool,

    /// Create inline records: chains of inlined functions.
    ///
    /// Callgrind charges inlined code to the function that it was inlined into. The debug information of the objects
    /// identifies the inlined function. Needs Callgrind profiles with addresses (--dump-instr=yes). cg-diff then compares
    /// functions as if nothing were inlined, so a different inlining decision of the compiler does not move cost from one
    /// function to another. A row notes where inlining changed.
    #[arg(long)]
    inline: bool,

    /// Record a fingerprint of the machine code of each function.
    ///
    /// Needs Callgrind profiles with addresses (--dump-instr=yes) and their objects, which must be x86 code. cg-diff then
    /// reports for a function that its machine code is the same, differs only in constants, or is different.
    #[arg(long, conflicts_with = "stacks")]
    code: bool,

    #[command(flatten)]
    search: SearchArgs,

    /// Create stack records, which show chains of callers.
    ///
    /// For Callgrind profiles, instead of other records; with --calls or --lines, in addition to them. Stacks are exact if the profile was recorded with
    /// --separate-callers=N. Otherwise they are estimated from the call graph.
    #[arg(long, conflicts_with_all = ["instr", "inline"])]
    stacks: bool,
}

impl RecordArgs {
    /// Returns the reading options for raw profiles. Options that are not listed here have their defaults.
    pub fn options(&self) -> Options {
        Options {
            per_part: self.per_part,
            lines: self.lines || self.instr,
            calls: self.calls,
            instr: self.instr,
            inline: self.inline,
            code: self.code,
            search: self.search.search(),
            stacks: self.stacks,
            ..Options::default()
        }
    }
}

/// The places to search for objects and debug information of raw profiles.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of raw profiles")]
pub struct SearchArgs {
    /// Also look for objects and debug files below DIR.
    ///
    /// DIR replaces the root of the file system, or contains the files directly. The files are used for --inline and
    /// --code, and to find the names of addresses in perf.data and in samply and pprof profiles without names.
    #[arg(long, value_name = "DIR")]
    debug_root: Vec<PathBuf>,

    /// Take the names of functions from PROGRAM.
    ///
    /// For profiles of gperftools, jemalloc and gprof, which contain the addresses of the profiled program but neither
    /// function names nor a build id. PROGRAM is the program that ran; its path and its name may have changed since.
    #[arg(long, value_name = "PROGRAM")]
    exe: Option<PathBuf>,
}

impl SearchArgs {
    /// Returns the search that these options describe.
    pub fn search(&self) -> Search {
        Search {
            roots: self.debug_root.clone(),
            exe: self.exe.clone(),
            ..Search::default()
        }
    }
}

/// The treatment of secrets in profiles that are published.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct RedactArgs {
    /// Replace passwords and tokens in command lines and labels.
    ///
    /// Profiles contain the command line of the program, and options of Java's virtual machine. With this option, *** stands
    /// in place of the values of options, properties and variables whose names look like secrets (token, password, key, …),
    /// of passwords in URLs, and of texts in the form of known tokens. Names of functions and threads do not change.
    #[arg(long)]
    pub redact: bool,
}

/// The snapshots of Massif and heaptrack to read.
#[derive(clap::Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// Snapshots to read: all, peak or N.
    ///
    /// Massif writes trees for some of its snapshots. In a heaptrack recording, the program points already describe the
    /// peak; all adds the contents of the heap at up to 128 of its time stamps.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "peak",
        hide_possible_values = true,
        help_heading = "Records of raw profiles",
        value_parser = Suggested(&["all", "peak"]).try_map(|which| snapshots(&which))
    )]
    pub snapshots: Snapshots,
}

fn snapshots(text: &str) -> Result<Snapshots, String> {
    match text {
        "all" => Ok(Snapshots::All),
        "peak" => Ok(Snapshots::Peak),
        number => number
            .parse()
            .map(Snapshots::Number)
            .map_err(|_| "expected all, peak or a snapshot number".to_owned()),
    }
}
