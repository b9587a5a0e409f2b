//! The command line of cg-diff.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments here are help text, not markdown"
)]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cg_document::number::plural;
use cg_names::rules::Rules;
use cg_parse::Snapshots;
use cg_parse::record_args::{RecordArgs, RedactArgs};
use cg_stream::percent::Percent;
use cg_stream::record::{Count, RecordType};
use cg_tool::{CommandLine, Spellings, Suggested};
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use regex::Regex;

use crate::diff::{Options, RelativeTo, TYPES_BY_DEFAULT};
use crate::history::HistoryOptions;
use crate::join::JoinOptions;
use crate::limits::{self, Limit};
use crate::pairs::{self, Benchmarks};
use crate::runs::{ComparedSides, Side, Statistic};
use crate::sampling::Shares;

/// Compare two or more profiles record by record.
///
/// Inputs are streams, or raw profiles in any format that cg-parse reads. The output is a stream of diff records, greatest
/// change first.
///
/// Functions match if name, file and object are equal. Remaining functions match if their names differ only in build details
/// such as hashes and directories; --list-rules prints the rules. If several functions have the same name (closures, static
/// functions), paths decide, then similarity. cg-diff then guesses renames and moves, and marks each guess.
#[derive(Parser, Debug)]
#[command(
    name = "cg-diff",
    version,
    before_help = "Examples:
  cg-diff before.out after.out | cg-fmt
  cg-diff --fail-if 'Ir>+5%' main.out branch.out | cg-fmt -f markdown",
    before_long_help = "Examples:
  cg-diff callgrind.out.before callgrind.out.after | cg-fmt
  cg-diff --fail-if 'Ir>+5%' main.out branch.out | cg-fmt -f markdown > comment.md
  cg-diff --before a1.out a2.out a3.out --after b1.out b2.out b3.out | cg-fmt
  cg-diff --fail-if 'peak_bytes>256MiB' heaptrack.demo.zst
  cg-diff --history profiles/*/bench.jsonl.gz | cg-fmt
  cg-diff --snapshot 3..9 massif.out | cg-fmt
  cg-diff --statistic sum --before 'profiles/commit=a/*/*.gz' --after 'profiles/commit=b/*/*.gz' | cg-fmt",
    after_long_help = "Exit status: 0 is success, with or without differences; 1 is a broken limit or, with --exit-code, a difference; 2 is an error."
)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct Args {
    /// The profiles to compare, oldest first; - is standard input.
    ///
    /// One directory: compares each NAME.out with NAME.out.old, recursively. Two directories: compares files with the same
    /// relative path (.out, .jsonl, .jsonl.gz, .jsonl.zst). A file without a counterpart is an error; see --allow-missing.
    /// The benchmarks in one stream (cg-parse --label bench=NAME) are compared like the files of a directory.
    #[arg(value_name = "FILE", help_heading = None)]
    pub(crate) files: Vec<PathBuf>,

    /// Several files for the old side, or quoted patterns.
    ///
    /// In a pattern such as 'a/*/*.out', * and ? match parts of a name, and ** matches any directories. The figure of a side
    /// is the median of its files. A change within their noise does not count as a change; see --statistic.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", conflicts_with = "files")]
    pub(crate) before: Vec<PathBuf>,

    /// Several files for the new side, or quoted patterns.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub(crate) after: Vec<PathBuf>,

    /// How to combine the files of a side: median or sum.
    ///
    /// median is for repeated runs of one program, whose noise it measures. With four or more files per side, cg-diff
    /// compares each file with each file of the other side. A few outliers do not matter: two of ten files may be off by any
    /// amount. Expect a false alarm in 1 of 40 comparisons of identical programs. With fewer files, the noise is the spread
    /// of the files, which one outlier widens. With two files per side, expect a false alarm in 1 of 4 comparisons. sum is
    /// for the parts of one thing, such as all benchmarks of a commit. Files are added up while they are read, so memory
    /// grows only with distinct functions. Sums over different numbers of files are an error; see --allow-missing.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "median",
        requires = "before",
        hide_possible_values = true
    )]
    pub(crate) statistic: Statistic,

    /// Find the steps in a series of files, oldest first: where the cost of a function, or the total, changed.
    ///
    /// Files with different labels bench (cg-parse --label bench=NAME) are a series each. A version is named by its label
    /// commit, or else by its file. If most figures of a function are the same as the one before, each difference is a step;
    /// otherwise a step has to stand out from the noise of the function.
    #[arg(
        long,
        conflicts_with_all = ["before", "after", "base", "fail_if", "limits", "exit_code", "causes", "inclusive", "types", "by", "list_matches"]
    )]
    pub(crate) history: bool,

    /// Names for the runs, in order; other runs have their file names.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// The run to compare with: first, previous or the name of a run.
    #[arg(
        long,
        value_name = "RUN",
        default_value = "first",
        hide_possible_values = true,
        value_parser = Suggested(&["first", "previous"])
    )]
    pub(crate) relative_to: String,

    /// Also write the rows that did not change.
    #[arg(long, help_heading = "Output")]
    pub(crate) all: bool,

    /// Leave out smaller changes.
    ///
    /// PERCENT is a share of the total of each event; 0 shows all changes. Two runs of one program differ by about the
    /// default if a path is longer or the environment differs. Added, removed and renamed rows, changed call counts and
    /// findings are always written. Limits and --exit-code see all changes.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "0.01",
        help_heading = "Output"
    )]
    pub(crate) min_change: Percent,

    /// The types of records to compare; the default is all types with self cost.
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = PossibleValuesParser::new(RecordType::DECLARED).map(|name| RecordType::from_name(&name)),
        value_delimiter = ','
    )]
    pub(crate) types: Vec<RecordType>,

    /// Compare stacks by function: fn.
    ///
    /// Applies to the stacks of leaks, heap records and program points, which are otherwise compared one by one. The self
    /// cost of a function is the cost of the stacks that blame it. Its inclusive cost is the cost of all stacks that contain
    /// it. Profiles that have only stacks, such as samples, are compared by function in any case, except with --type stack.
    /// The self samples of a function are the samples in which it is innermost.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = [PossibleValue::new("fn").alias("function")],
        conflicts_with_all = ["types", "inline"],
        hide_possible_values = true
    )]
    pub(crate) by: Option<String>,

    #[command(flatten)]
    pub(crate) records: RecordArgs,

    #[command(flatten)]
    redact: RedactArgs,

    /// Also look for objects and debug files of the old side below DIR.
    ///
    /// Like --debug-root, for one side: the profiled build is often no longer at its old path. The old side is the first
    /// side.
    #[arg(long, value_name = "DIR", help_heading = "Records of raw profiles")]
    pub(crate) debug_root_old: Vec<PathBuf>,

    /// Also look for objects and debug files of the new (last) side below DIR.
    #[arg(long, value_name = "DIR", help_heading = "Records of raw profiles")]
    pub(crate) debug_root_new: Vec<PathBuf>,

    /// Compare shares of all samples: auto, always or never.
    ///
    /// Sample counts are not comparable if one run was sampled for longer or at a higher rate. auto compares shares if
    /// durations, rates or totals differ by more than chance, and reports this. A change of at most three standard
    /// deviations of chance does not count as a change. If chance decides whether a limit is broken, the exit status is 2.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) shares: Shares,

    /// Explain the difference of the totals.
    ///
    /// Needs profiles with call counts, one per side. Writes a cause record for each function; they add up exactly to the
    /// difference. A function is expected to spend the cost of its callers' calls as it spent it before. If its own code or
    /// one of its calls takes more or less, that is its cause. Functions that only one run has are details of their callers,
    /// and calls cost what the profile recorded for them. A detail names the line of the calls or, with --lines, the line
    /// that changed most.
    #[arg(long, help_heading = "Output")]
    pub(crate) causes: bool,

    /// Judge and rank by inclusive cost.
    ///
    /// Rows that are explained by one callee come last and name this callee.
    #[arg(long, help_heading = "Output")]
    pub(crate) inclusive: bool,

    /// The Massif snapshot to compare: peak, a number, or one per run as N..M.
    ///
    /// N..M with one file compares the heap of that run at two snapshots.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "peak",
        hide_possible_values = true,
        value_parser = Suggested(&["peak"]).try_map(|which| snapshots(&which))
    )]
    pub(crate) snapshot: SnapshotPerRun,

    /// Match equal names only.
    #[arg(long, help_heading = "Matching", conflicts_with_all = ["rules"])]
    pub(crate) exact: bool,

    /// Print the rows that were matched despite different names, or that combine several functions, instead of the diff.
    #[arg(long, help_heading = "Matching")]
    pub(crate) list_matches: bool,

    /// Print the rules for matching names, and exit.
    #[arg(long, help_heading = "Matching")]
    pub(crate) list_rules: bool,

    /// Apply your own rules, one per line: [fn|file|obj] s/PATTERN/REPLACEMENT/[g].
    #[arg(long, value_name = "FILE", help_heading = "Matching")]
    pub(crate) rules: Option<PathBuf>,

    /// Match functions if REGEX captures the same text in their names.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = parse_capturing_regex,
        help_heading = "Matching"
    )]
    pub(crate) join: Option<Regex>,

    /// Do not guess renamed and moved functions.
    #[arg(long, help_heading = "Matching")]
    pub(crate) no_renames: bool,

    /// Exit with 1 if anything differs.
    #[arg(long, help_heading = "Gates")]
    pub(crate) exit_code: bool,

    /// Exit with 1 if a figure is beyond a limit.
    ///
    /// May be given several times. A limit is [any.][worst.][incl.]EVENT[REGEX] OP VALUE; calls can replace EVENT. 'Ir>+5%'
    /// limits the total, 'incl.Ir[^mycrate::]>+1000' each matching function, 'worst.Ir>+10%' the function that grew most,
    /// and 'end_bytes>0' the new figure itself. OP is > >= < or <=; a VALUE with a sign is a change, and it may have a unit: k,
    /// M, G are powers of 1000, KiB, MiB, GiB of 1024. Limits without a sign also judge a single file. A limit applies to the
    /// last run or, with any., to each run compared with the run of --relative-to. With several files per side, a change
    /// within their noise does not break a limit; cg-diff then prints a warning.
    #[arg(long, value_name = "LIMIT", help_heading = "Gates")]
    pub(crate) fail_if: Vec<Limit>,

    /// A file of limits, one per line; # begins a comment.
    #[arg(long, value_name = "FILE", help_heading = "Gates")]
    pub(crate) limits: Vec<PathBuf>,

    /// Accept limits and --type that match nothing.
    ///
    /// A limit whose regex matches no function, and a --type that is in no run, lead to exit status 2: the name may be
    /// misspelled, or it has changed. With this option, cg-diff only prints a warning.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_unmatched: bool,

    /// Also judge fragments and empty inputs.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_fragment: bool,

    /// In a directory, compare with NAME.out.base@BASE instead of NAME.out.old.
    #[arg(long, value_name = "BASE", help_heading = "Gates")]
    base: Option<String>,

    /// Accept files without a counterpart, and sums over different numbers of files.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_missing: bool,
}

/// The snapshot of each run, in order; a single entry applies to all runs.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotPerRun(Vec<Snapshots>);

fn snapshots(text: &str) -> Result<SnapshotPerRun, String> {
    let one = |text: &str| match text {
        "peak" => Some(Snapshots::Peak),
        number => number.parse().map(Snapshots::Number).ok(),
    };
    let all: Option<Vec<Snapshots>> = text.split("..").map(one).collect();
    all.map(SnapshotPerRun)
        .ok_or_else(|| "expected peak, a snapshot number, or one per run: N..M".to_owned())
}

impl SnapshotPerRun {
    /// Sets the snapshot of each side.
    ///
    /// # Errors
    /// Returns an error if the numbers of snapshots and sides differ.
    fn set_snapshots(&self, sides: &mut [Side]) -> anyhow::Result<()> {
        let all = match self.0[..] {
            [one] => vec![one; sides.len()],
            _ => self.0.clone(),
        };
        anyhow::ensure!(
            all.len() == sides.len(),
            "--snapshot has {} for {}",
            plural(all.len() as Count, "snapshot", "snapshots"),
            plural(sides.len() as Count, "run", "runs")
        );
        for (side, snapshot) in sides.iter_mut().zip(all) {
            side.snapshot = snapshot;
        }
        Ok(())
    }

    /// Returns one side per snapshot of a file; `None` if there is only one snapshot.
    fn sides_from_file(&self, file: &Path) -> anyhow::Result<Option<Vec<Side>>> {
        if self.0.len() < 2 {
            return Ok(None);
        }
        let name = file.display();
        anyhow::ensure!(
            !file.exists() || file.is_file(),
            "{name}: --snapshot N..M reads its input more than once; give a regular file"
        );
        let side = |snapshot: &Snapshots| Side {
            name: match snapshot {
                Snapshots::Number(number) => format!("{name} snapshot {number}"),
                Snapshots::Peak | Snapshots::All => format!("{name} peak"),
            },
            files: vec![file.to_owned()],
            snapshot: *snapshot,
        };
        Ok(Some(self.0.iter().map(side).collect()))
    }
}

impl CommandLine for Args {
    const SHORT_HELP: &[&str] = &[
        "before",
        "after",
        "all",
        "min_change",
        "causes",
        "history",
        "exit_code",
        "fail_if",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

impl Args {
    /// Converts the arguments.
    ///
    /// # Errors
    /// Returns an error if the arguments contradict each other, or a file of rules or limits cannot be read.
    pub(crate) fn options(self) -> anyhow::Result<Options> {
        let rules = match &self.rules {
            None => Rules::from_table(),
            Some(path) => Rules::with_file(&read(path)?)
                .map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?,
        };
        let mut limits = self.fail_if.clone();
        for path in &self.limits {
            let parsed = limits::parse_file(&read(path)?);
            limits.extend(parsed.map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?);
        }
        let Benchmarks {
            mut pairs,
            missing,
            mixed_layouts,
        } = self.benchmarks(&limits)?;
        for compared in &mut pairs {
            self.snapshot.set_snapshots(&mut compared.sides)?;
        }
        anyhow::ensure!(
            self.statistic == Statistic::Median || matches!(self.snapshot.0[..], [Snapshots::Peak]),
            "--snapshot does not work with --statistic sum, which adds up peaks; use --statistic median"
        );
        let types = if self.types.is_empty() {
            TYPES_BY_DEFAULT.to_vec()
        } else {
            self.types.clone()
        };
        Ok(Options {
            comparisons: pairs,
            missing,
            mixed_layouts,
            allow_missing: self.allow_missing,
            relative_to: match self.relative_to.as_str() {
                "first" => RelativeTo::First,
                "previous" => RelativeTo::Previous,
                name => RelativeTo::Named(name.to_owned()),
            },
            statistic: self.statistic,
            by_function: self.by.is_some(),
            records: cg_parse::Options {
                redact: self.redact.redact,
                ..self.records.options()
            },
            debug_roots: [self.debug_root_old, self.debug_root_new],
            stacks_by_function: self.types.is_empty(),
            shares: self.shares,
            join: JoinOptions {
                types,
                rules,
                exact: self.exact,
                capture: self.join,
                renames: !self.no_renames,
            },
            causes: self.causes,
            inclusive: self.inclusive,
            min_change: self.min_change,
            all: self.all,
            exit_code: self.exit_code,
            limits,
            allow_fragment: self.allow_fragment,
            allow_unmatched: self.allow_unmatched,
            list_matches: self.list_matches,
            wanted_types: self.types,
        })
    }

    /// Returns the options of a history; `None` without `--history`.
    ///
    /// # Errors
    /// Returns an error if there are fewer than two files.
    pub(crate) fn history(&self) -> anyhow::Result<Option<HistoryOptions>> {
        if !self.history {
            return Ok(None);
        }
        let files = pairs::matching(&self.files)?;
        anyhow::ensure!(
            files.len() >= 2,
            "--history needs two or more files, found {}: cg-diff --history FILE FILE…, oldest first",
            files.len()
        );
        anyhow::ensure!(
            self.names.len() <= files.len(),
            "--name is given {} for {}",
            plural(self.names.len() as Count, "time", "times"),
            plural(files.len() as Count, "file", "files")
        );
        Ok(Some(HistoryOptions {
            files,
            names: self.names.clone(),
            records: self.records.options(),
        }))
    }

    fn benchmarks(&self, limits: &[Limit]) -> anyhow::Result<Benchmarks> {
        match &self.files[..] {
            [directory] if directory.is_dir() => {
                pairs::in_directory(directory, self.base.as_deref())
            }
            [old, new] if self.base.is_none() && old.is_dir() && new.is_dir() => {
                pairs::in_directories(old, new)
            }
            _ if self.base.is_some() => {
                anyhow::bail!(
                    "--base needs one directory of benchmark results: cg-diff --base BASE DIR"
                )
            }
            _ => Ok(Benchmarks {
                pairs: vec![ComparedSides {
                    bench: None,
                    sides: self.sides(limits)?,
                }],
                ..Benchmarks::default()
            }),
        }
    }

    fn sides(&self, limits: &[Limit]) -> anyhow::Result<Vec<Side>> {
        let from_one_file = match &self.files[..] {
            [file] => self.snapshot.sides_from_file(file)?,
            _ => None,
        };
        let mut sides: Vec<Side> = if let Some(sides) = from_one_file {
            sides
        } else if self.before.is_empty() {
            self.files
                .iter()
                .map(|file| Side {
                    name: file.display().to_string(),
                    files: vec![file.clone()],
                    snapshot: Snapshots::Peak,
                })
                .collect()
        } else {
            [("before", &self.before), ("after", &self.after)]
                .into_iter()
                .map(|(name, files)| {
                    let files = pairs::matching(files)?;
                    Ok(Side {
                        name: name.to_owned(),
                        files,
                        snapshot: Snapshots::Peak,
                    })
                })
                .collect::<anyhow::Result<_>>()?
        };
        let is_budget = sides.len() == 1 && !limits.is_empty() && !self.exit_code && !self.causes;
        if let Some(change) = limits.iter().find(|limit| is_budget && !limit.is_level()) {
            anyhow::bail!(
                "{}: limits a change, which needs two profiles: cg-diff --fail-if '{}' OLD NEW",
                change.text(),
                change.text()
            );
        }
        anyhow::ensure!(
            sides.len() >= 2 || is_budget,
            "expected two or more profiles, found {}: cg-diff OLD NEW (--help has examples)",
            sides.len()
        );
        let is_stdin = |file: &&PathBuf| file.as_os_str() == "-";
        let stdins = sides.iter().flat_map(|side| &side.files).filter(is_stdin);
        anyhow::ensure!(
            stdins.count() < 2,
            "standard input (-) can be only one of the runs; give files for the others"
        );
        anyhow::ensure!(
            self.names.len() <= sides.len(),
            "--name is given {} for {}",
            plural(self.names.len() as Count, "time", "times"),
            plural(sides.len() as Count, "run", "runs")
        );
        for (side, name) in sides.iter_mut().zip(&self.names) {
            side.name = name.clone();
        }
        Ok(sides)
    }
}

/// Parses a regex. Refuses an empty one: it captures the same text in every name, so all functions would match.
fn parse_capturing_regex(text: &str) -> Result<Regex, String> {
    if text.trim().is_empty() {
        return Err("expected a regex, found none (an unset variable?)".to_owned());
    }
    Regex::new(text).map_err(|error| error.to_string())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_help_lists_options_and_no_spelling_is_an_option() {
        assert_eq!(cg_tool::check::<Args>(), Ok(()));
    }
}
