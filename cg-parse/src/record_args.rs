//! The options that say which records are made of raw profiles, for every tool that passes records on. Streams have the
//! records that they were written with.

use std::path::PathBuf;

use cg_reader::{Options, Search, Snapshots};
use cg_stream::tool::Suggested;
use clap::builder::TypedValueParser as _;

/// Which records are made of a raw profile.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of raw profiles")]
pub struct RecordArgs {
    /// Keep parts, threads and files apart.
    #[arg(long)]
    per_part: bool,

    /// Have a line record for every source line with a cost.
    #[arg(long)]
    lines: bool,

    /// Have a call record for every call arc.
    #[arg(long)]
    calls: bool,

    /// Have a line record for every instruction.
    ///
    /// Of callgrind profiles with addresses: --dump-instr=yes.
    #[arg(long)]
    instr: bool,

    /// Have inline records: chains of inlined functions.
    ///
    /// Callgrind charges inlined code to the function that it was inlined into; the debug information of the objects
    /// says whose it is. Of callgrind profiles with addresses: --dump-instr=yes. cg-diff then compares functions as if
    /// nothing were inlined, so that what a compiler decided to inline moves no cost; a row says where that changed.
    #[arg(long)]
    inline: bool,

    /// Say by what the machine code of functions is known.
    ///
    /// Of callgrind profiles with addresses (--dump-instr=yes) whose objects are there, x86 alone. cg-diff then says of a
    /// function whether its machine code is the same, the same but for constants, or other code.
    #[arg(long, conflicts_with = "stacks")]
    code: bool,

    #[command(flatten)]
    search: SearchArgs,

    /// Have stack records: who called whom.
    ///
    /// Of callgrind profiles, instead of other records. Stacks are exact where the profile was taken with
    /// --separate-callers=N; else they are estimated from its graph of calls.
    #[arg(long, conflicts_with_all = ["lines", "calls", "instr", "inline"])]
    stacks: bool,
}

impl RecordArgs {
    /// How raw profiles are read by these options, and by the defaults of all others.
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

/// Where objects and debug information of raw profiles are.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of raw profiles")]
pub struct SearchArgs {
    /// Look for objects and debug files below DIR too.
    ///
    /// DIR stands in for the root of the file system, or holds the files itself. They are wanted for --inline, --code, and for
    /// the names of addresses in perf.data and in profiles of samply and pprof that were saved without.
    #[arg(long, value_name = "DIR")]
    debug_root: Vec<PathBuf>,

    /// Take names of functions from PROGRAM.
    ///
    /// For profiles that say where the profiled program was in memory, and neither its names nor its build: those of
    /// gperftools and jemalloc. PROGRAM is the one that ran, wherever it lies now; it may be called differently.
    #[arg(long, value_name = "PROGRAM")]
    exe: Option<PathBuf>,
}

impl SearchArgs {
    /// Where to look by these options.
    pub fn search(&self) -> Search {
        Search {
            roots: self.debug_root.clone(),
            exe: self.exe.clone(),
            ..Search::default()
        }
    }
}

/// Which of Massif's and heaptrack's snapshots are read.
#[derive(clap::Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// Snapshots whose heap records are read: all, peak or a number.
    ///
    /// Massif has trees for some of its snapshots. A recording of heaptrack has what is wanted of its peak in its program
    /// points; all adds what the heap consisted of at up to 128 of its time stamps.
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
            .map_err(|_| "expected all, peak or the number of a snapshot".to_owned()),
    }
}
