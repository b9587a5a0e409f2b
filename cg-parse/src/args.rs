//! The command line of cg-parse.

use std::path::PathBuf;

use crate::record_args::{RecordArgs, RedactArgs, SnapshotArgs};
use crate::{Format, KeptObjects, Options, Revision, Search};
use cg_tool::{CommandLine, Spellings};
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Convert the output of profilers to a stream of JSON lines.
///
/// The format is recognised by content; --from, below, lists all formats. Inputs may be compressed with gzip or zstd.
/// Several Callgrind or Cachegrind profiles, and the parts of one profile, are summed.
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
    after_long_help = "Exit status: 0 is success; 2 is an error, after all readable input was written."
)]
pub(crate) struct Args {
    /// Profiles and logs to read; without FILE, or with -, standard input.
    ///
    /// In a directory, cg-parse searches recursively for benchmark results (NAME.out), as gungraun, iai-callgrind and
    /// CodSpeed write them. Each benchmark and tool becomes a separate section. A directory that perf record --threads wrote
    /// is one recording.
    #[arg(value_name = "FILE", help_heading = None)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// Copy the objects that --inline reads to DIR.
    ///
    /// The copies are stored by build id, together with their debug files. --debug-root DIR then finds the profiled build
    /// even after a newer build has replaced it.
    #[arg(
        long,
        value_name = "DIR",
        requires = "inline",
        help_heading = "Records of raw profiles"
    )]
    keep_objects: Option<PathBuf>,

    /// Read the input as this format.
    ///
    /// Needed only for inputs whose format is not recognised.
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Input",
        value_parser = formats()
    )]
    pub(crate) from: Option<&'static Format>,

    /// Read the earlier results of a benchmark.
    ///
    /// In a gungraun directory, reads NAME.out.old instead of NAME.out. In a summary.json, reads the old figures.
    #[arg(long, help_heading = "Input", conflicts_with = "base")]
    old: bool,

    /// Read the benchmark results that were saved under this name.
    ///
    /// In a gungraun directory, reads NAME.out.base@BASE instead of NAME.out.
    #[arg(long, value_name = "BASE", help_heading = "Input")]
    base: Option<String>,

    /// Write names in a form that is the same in every build of a program.
    ///
    /// Function names lose hashes, clone suffixes and closure numbers; files and objects lose their directories. cg-diff
    /// joins functions by these names, and a history of many builds needs them. If the names of several functions become
    /// equal, they keep separate records.
    #[arg(long, help_heading = "Output")]
    stable_names: bool,

    #[command(flatten)]
    redact: RedactArgs,

    /// Add a label to run records: commit, machine, …
    ///
    /// Replaces a label of the same name in the input. Can be given several times.
    #[arg(
        long = "label",
        value_name = "KEY=TEXT",
        help_heading = "Output",
        value_parser = label
    )]
    labels: Vec<(String, String)>,

    /// Write one file for each combination of these labels.
    ///
    /// Needs -o DIR. The files are DIR/KEY=TEXT/KEY=TEXT/profile.jsonl.gz, the layout in which DuckDB, Spark, Trino and
    /// ClickHouse read partitions. Existing files with these names are replaced, either all or none.
    #[arg(
        long,
        value_name = "KEY,KEY",
        help_heading = "Output",
        value_delimiter = ',',
        value_parser = label_key
    )]
    pub(crate) partition_by: Vec<String>,

    /// Keep samples with different times in separate records.
    ///
    /// For perf, V8, Chrome, trace events and the Firefox Profiler: each stack record has the time of its sample.
    /// cg-fmt -f firefox, -f speedscope and -f trace do this automatically for a raw profile.
    #[arg(long, help_heading = "Records of raw profiles")]
    times: bool,

    /// Keep the levels of a recursion separate, as f'2.
    ///
    /// For Callgrind profiles. cg-fmt -f callgrind does this automatically for a raw profile.
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
        let record_options = self.records.options();
        Options {
            demangle: !self.no_demangle,
            stable_names: self.stable_names,
            redact: self.redact.redact,
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
                ..record_options.search
            },
            ..record_options
        }
    }
}

/// Returns the parser for names and aliases of formats.
fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = Format::sorted_by_name().into_iter().map(|format| {
        let name = PossibleValue::new(format.name).help(format.reads);
        name.aliases(format.aliases)
    });
    PossibleValuesParser::new(names)
        .try_map(|name| Format::find(&name).ok_or("expected the name of a format"))
}

/// Checks the key of a label, which is also used in paths and as the name of a column.
fn label_key(text: &str) -> Result<String, String> {
    let is_word = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let has_valid_start = text.starts_with(|first: char| !first.is_ascii_digit());
    if is_word && has_valid_start {
        Ok(text.to_owned())
    } else {
        Err("a key consists of letters, digits and _, and does not begin with a digit".to_owned())
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
    fn short_help_lists_options_and_no_spelling_is_an_option() {
        assert_eq!(cg_tool::check::<Args>(), Ok(()));
    }
}
