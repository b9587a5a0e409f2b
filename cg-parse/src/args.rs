//! The command line of cg-parse.

use std::path::PathBuf;

use cg_parse::record_args::{RecordArgs, SnapshotArgs};
use cg_parse::{Format, KeptObjects, Options, Revision, Search};
use cg_stream::tool::{CommandLine, Spellings};
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Parse what profilers write into a stream of JSON lines.
///
/// The format is recognised by content; --from, below, lists all that are read. Each may be packed by gzip or zstd.
/// Several callgrind or cachegrind profiles, and the parts of one, are summed.
#[derive(Parser, Debug)]
#[command(
    name = "cg-parse",
    version,
    before_help = "Examples:
  cg-parse callgrind.out.1234 | cg-fmt
  valgrind --leak-check=full ./prog 2>&1 | cg-parse | leak-check",
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-fmt
  cg-parse --calls callgrind.out.1234 | cg-fmt --tree callers
  valgrind --leak-check=full ./prog 2>&1 | cg-parse | leak-check",
    after_long_help = "Exit status: 0 is done; 2 is trouble, after what could be read was written."
)]
pub(crate) struct Args {
    /// The profiles and logs to read; - or none is standard input.
    ///
    /// Of a directory, the results of benchmarks in it and below (NAME.out, as gungraun, iai-callgrind and CodSpeed leave
    /// them) are read, each benchmark and tool into a section of its own.
    #[arg(value_name = "FILE", help_heading = None)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// Keep copies of the objects that --inline reads in DIR.
    ///
    /// They are kept by build id, with their debug files: --debug-root DIR finds the build that was profiled when another one
    /// has taken its place.
    #[arg(
        long,
        value_name = "DIR",
        requires = "inline",
        help_heading = "Records of raw profiles"
    )]
    keep_objects: Option<PathBuf>,

    /// Read the input as this format.
    ///
    /// For inputs that are not recognised.
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Input",
        value_parser = formats()
    )]
    pub(crate) from: Option<&'static Format>,

    /// Read a benchmark's earlier results.
    ///
    /// Of a directory of gungraun's, NAME.out.old instead of NAME.out; of its summary.json the old figures.
    #[arg(long, help_heading = "Input", conflicts_with = "base")]
    old: bool,

    /// Read a benchmark's results of this name.
    ///
    /// Of a directory of gungraun's, NAME.out.base@BASE instead of NAME.out.
    #[arg(long, value_name = "BASE", help_heading = "Input")]
    base: Option<String>,

    /// Write names in a form that every build of a program has alike.
    ///
    /// It is what cg-diff joins functions by: names without hashes, clones and numbers of closures, base names of files
    /// and objects. A history of many builds needs it. Functions whose names become one are records of one name.
    #[arg(long, help_heading = "Output")]
    stable_names: bool,

    /// Put a label into run records: commit, machine, …
    ///
    /// It takes the place of a label of this name that the input has. May be given several times.
    #[arg(
        long = "label",
        value_name = "KEY=TEXT",
        help_heading = "Output",
        value_parser = label
    )]
    labels: Vec<(String, String)>,

    /// Write a file for each combination of these labels.
    ///
    /// With -o DIR: DIR/KEY=TEXT/KEY=TEXT/profile.jsonl.gz, as DuckDB, Spark, Trino and ClickHouse read partitions. What is
    /// there under these names is replaced, all files or none.
    #[arg(
        long,
        value_name = "KEY,KEY",
        help_heading = "Output",
        value_delimiter = ',',
        value_parser = label_key
    )]
    pub(crate) partition_by: Vec<String>,

    /// Keep samples apart by when they were taken.
    ///
    /// Of perf, V8, Chrome, trace events and the Firefox Profiler: a stack record has the time of its sample. cg-fmt -f firefox
    /// and -f trace do so by themselves with a raw profile.
    #[arg(long, help_heading = "Records of raw profiles")]
    times: bool,

    /// Keep the levels of a recursion apart, as f'2.
    ///
    /// Of callgrind profiles; cg-fmt -f callgrind does so by itself with a raw profile.
    #[arg(long, help_heading = "Records of raw profiles")]
    levels: bool,

    /// Leave mangled names as they are.
    #[arg(long, help_heading = "Input")]
    no_demangle: bool,
}

impl CommandLine for Args {
    const SHORT_HELP: &[&str] = &[
        "old",
        "per_part",
        "lines",
        "calls",
        "instr",
        "inline",
        "stacks",
        "snapshots",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");

    fn partition_keys(&self) -> &[String] {
        &self.partition_by
    }
}

impl Args {
    pub(crate) fn options(&self) -> Options {
        let of_records = self.records.options();
        Options {
            demangle: !self.no_demangle,
            stable_names: self.stable_names,
            labels: self.labels.iter().cloned().collect(),
            revision: match (&self.base, self.old) {
                (Some(base), _) => Revision::Base(base.clone()),
                (None, true) => Revision::Old,
                (None, false) => Revision::New,
            },
            snapshots: self.snapshots.snapshots,
            times: self.times,
            levels: self.levels,
            search: Search {
                keep: self.keep_objects.clone().map(KeptObjects::new),
                ..of_records.search
            },
            ..of_records
        }
    }
}

/// Formats as they are called on the command line.
fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = Format::by_name().into_iter().map(|format| {
        let name = PossibleValue::new(format.name).help(format.reads);
        name.aliases(format.aliases)
    });
    PossibleValuesParser::new(names)
        .try_map(|name| Format::named(&name).ok_or("expected the name of a format"))
}

/// A label's key, which is also a part of a path and the name of a column.
fn label_key(text: &str) -> Result<String, String> {
    let is_word = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins_well = text.starts_with(|first: char| !first.is_ascii_digit());
    if is_word && begins_well {
        Ok(text.to_owned())
    } else {
        Err("a key is letters, digits and _, and begins with no digit".to_owned())
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, text) = text
        .split_once('=')
        .ok_or("expected KEY=TEXT, as in commit=4f2a91c")?;
    Ok((label_key(key)?, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_is_of_options_and_no_spelling_is_one() {
        assert_eq!(cg_stream::tool::check::<Args>(), Ok(()));
    }
}
