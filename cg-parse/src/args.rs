//! The command line of cg-parse.

use std::path::PathBuf;

use cg_parse::{Format, Options, Snapshots};
use cg_stream::tool::CommonArgs;
use clap::{Parser, ValueEnum};

/// Parse what Valgrind's tools and other profilers write into a stream of JSON lines.
///
/// The format is recognised by content: callgrind, cachegrind, memcheck, helgrind and drd (text and XML), massif and
/// dhat; perf script's text, folded stacks and pprof; packed by gzip or zstd or not. Several callgrind or cachegrind
/// profiles, and the parts of one, are summed.
#[derive(Parser, Debug)]
#[command(
    name = "cg-parse",
    version,
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-fmt
  cg-parse --calls callgrind.out.1234 | cg-fmt --tree callers
  valgrind --leak-check=full ./prog 2>&1 | cg-parse | leak-check"
)]
pub(crate) struct Args {
    /// The profiles and logs to read; `-` or none is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Keep parts, threads and files apart instead of summing them.
    #[arg(long)]
    per_part: bool,

    /// Write a `line` record for every source line with a cost.
    #[arg(long)]
    lines: bool,

    /// Write a `call` record for every call arc.
    #[arg(long)]
    calls: bool,

    /// Write a `line` record for every instruction, where the profile has addresses.
    #[arg(long)]
    instr: bool,

    /// Which Massif snapshots to write `heap` records for: all, peak, or a snapshot's number.
    #[arg(long, value_name = "WHICH", default_value = "peak", value_parser = snapshots)]
    snapshots: Snapshots,

    /// The input's format, where it is not recognised.
    #[arg(long, value_name = "FORMAT")]
    from: Option<FormatName>,

    /// Leave mangled names as they are.
    #[arg(long)]
    no_demangle: bool,

    #[command(flatten)]
    _common: CommonArgs,
}

impl Args {
    pub(crate) fn options(&self) -> Options {
        Options {
            from: self.from.map(FormatName::format),
            per_part: self.per_part,
            lines: self.lines || self.instr,
            calls: self.calls,
            instr: self.instr,
            demangle: !self.no_demangle,
            snapshots: self.snapshots,
        }
    }
}

/// Formats as they are called on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    Callgrind,
    Cachegrind,
    #[value(aliases = ["helgrind", "drd", "log"])]
    Memcheck,
    Xml,
    Massif,
    Dhat,
    Perf,
    Folded,
    Pprof,
}

impl FormatName {
    fn format(self) -> Format {
        match self {
            FormatName::Callgrind => Format::Callgrind,
            FormatName::Cachegrind => Format::Cachegrind,
            FormatName::Memcheck => Format::Log,
            FormatName::Xml => Format::Xml,
            FormatName::Massif => Format::Massif,
            FormatName::Dhat => Format::Dhat,
            FormatName::Perf => Format::Perf,
            FormatName::Folded => Format::Folded,
            FormatName::Pprof => Format::Pprof,
        }
    }
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
