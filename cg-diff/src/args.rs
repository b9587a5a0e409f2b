//! The command line of cg-diff.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments here are help text, not markdown"
)]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cg_names::rules::Rules;
use cg_parse::Snapshots;
use cg_parse::record_args::RecordArgs;
use cg_stream::percent::Percent;
use cg_stream::record::RecordType;
use cg_stream::tool::{CommandLine, Spellings, Suggested};
use clap::Parser;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use regex::Regex;

use crate::diff::{Options, RelativeTo, TYPES_BY_DEFAULT};
use crate::join::JoinOptions;
use crate::limits::{self, Limit};
use crate::pairs::{self, Benchmarks};
use crate::runs::{Side, Statistic};
use crate::sampling::Shares;

/// Compare two or more profiles record by record.
///
/// Inputs are streams or raw profiles of any kind that cg-parse reads. The output is a stream of diff records, greatest
/// change first.
///
/// Functions are the same where name, file and object are equal. Of the rest, those are joined whose names differ only by
/// what a build puts into them (hashes, directories); --list-rules has these rules. Where several have one name (closures,
/// static functions), paths decide, then likeness. What is left is tried as renames and moves, which are guesses and marked
/// as such.
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
  cg-diff --snapshot 3..9 massif.out | cg-fmt
  cg-diff --statistic sum --before 'profiles/commit=a/*/*.gz' --after 'profiles/commit=b/*/*.gz' | cg-fmt",
    after_long_help = "Exit status: 0 is done, differences or not; 1 is a limit broken or, with --exit-code, a difference; 2 is trouble."
)]
#[command(next_help_heading = "What is compared")]
pub(crate) struct Args {
    /// The profiles to compare, oldest first; - is standard input.
    ///
    /// One directory stands for the pairs NAME.out.old and NAME.out in it and below, two for the files of the same path in
    /// them (.out, .jsonl, .jsonl.gz, .jsonl.zst); one without the other is trouble.
    #[arg(value_name = "FILE", help_heading = None)]
    pub(crate) files: Vec<PathBuf>,

    /// Several files of the old side, or quoted patterns.
    ///
    /// In a pattern like 'a/*/*.out' * and ? stand for parts of a name, ** for any directories. A side's figure is the median
    /// of its files, and a change within their noise is none; see --statistic.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", conflicts_with = "files")]
    pub(crate) before: Vec<PathBuf>,

    /// Several files of the new side, or quoted patterns.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub(crate) after: Vec<PathBuf>,

    /// What several files of a side are compared by: median or sum.
    ///
    /// median is for runs of the same thing: it measures their noise. With four files a side or more, each file is compared
    /// with each of the other side, and a few outliers make no difference: of ten files two may be as far off as they like. One
    /// of 40 comparisons of equal sides shows a change. With fewer files noise is their spread, which one outlier widens; with
    /// two, one of four comparisons of equal sides shows a change. sum is for parts of one thing, such as all benchmarks of a
    /// commit; files are added up as they are read, so memory goes with distinct functions. Sums over different numbers of
    /// files are trouble, unless --allow-missing is given.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "median",
        requires = "before",
        hide_possible_values = true
    )]
    pub(crate) statistic: Statistic,

    /// Names for the runs, in order; the file names are used for the others.
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// The run that changes are relative to: first, previous or the name of a run.
    #[arg(
        long,
        value_name = "RUN",
        default_value = "first",
        hide_possible_values = true,
        value_parser = Suggested(&["first", "previous"])
    )]
    pub(crate) relative_to: String,

    /// Write the rows that did not change too.
    #[arg(long, help_heading = "What is shown")]
    pub(crate) all: bool,

    /// Leave out smaller changes.
    ///
    /// As a percentage of the total of each event; 0 leaves out none.
    /// Two runs of one program differ by that much where a path is longer or the environment another. What was added,
    /// removed, renamed or called more often is never left out, nor is any finding. Limits and --exit-code see all.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "0.01",
        help_heading = "What is shown"
    )]
    pub(crate) min_change: Percent,

    /// The types of records to compare, instead of all that have costs of their own.
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = PossibleValuesParser::new(RecordType::DECLARED).map(|name| RecordType::from_name(&name)),
        value_delimiter = ','
    )]
    pub(crate) types: Vec<RecordType>,

    /// Compare stacks by function: fn.
    ///
    /// Stacks are those of leaks, heap records and program points; without this they are compared one by one.
    /// A function's own cost is the cost of the stacks it is blamed for, its inclusive cost that of all stacks it is in.
    /// Samples are compared by function anyway, unless --type stack asks for their stacks; a function's own samples are
    /// those it is innermost in.
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

    /// Look for objects and debug files of the old side below DIR too.
    ///
    /// As --debug-root, for one side: the build that was profiled is often no longer where it was. Of more than two sides
    /// this is the first.
    #[arg(long, value_name = "DIR", help_heading = "Records of raw profiles")]
    pub(crate) debug_root_old: Vec<PathBuf>,

    /// Look for objects and debug files of the new side below DIR too.
    #[arg(long, value_name = "DIR", help_heading = "Records of raw profiles")]
    pub(crate) debug_root_new: Vec<PathBuf>,

    /// Compare shares of all samples: auto, always or never.
    ///
    /// Counts of samples say nothing of each other where one run was sampled for longer, or more often. auto compares
    /// shares where durations, rates or totals differ by more than chance, and says so. A change of no more than three
    /// standard deviations of chance is no change; limits say 2 where chance leaves open whether they are broken.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) shares: Shares,

    /// Say where the difference of the totals comes from.
    ///
    /// Of profiles with call counts, one a side: cause records that add up to the difference, to the unit. A function costs
    /// more a call, it calls another more often for each call of its own (at what such a call cost before, with all below it),
    /// or it is entered more often from outside. What a call cost is an average over its callers. A call is named with the line
    /// it leaves from, with --lines a cost with the line that has most of it.
    #[arg(long, help_heading = "What is shown")]
    pub(crate) causes: bool,

    /// Judge and rank by inclusive cost.
    ///
    /// Rows that one callee explains come last and name it.
    #[arg(long, help_heading = "What is shown")]
    pub(crate) inclusive: bool,

    /// The Massif snapshot to compare: peak, its number, or one a run as N..M.
    ///
    /// N..M of one file compares what its heap held at the two.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "peak",
        hide_possible_values = true,
        value_parser = Suggested(&["peak"]).try_map(|which| snapshots(&which))
    )]
    pub(crate) snapshot: SnapshotPerRun,

    /// Join equal names only.
    #[arg(long, help_heading = "Matching", conflicts_with_all = ["rules"])]
    pub(crate) exact: bool,

    /// Print the rules by which names are joined, and exit.
    #[arg(long, help_heading = "Matching")]
    pub(crate) list_rules: bool,

    /// Apply rules of your own, a line each: [fn|file|obj] s/PATTERN/REPLACEMENT/[g].
    #[arg(long, value_name = "FILE", help_heading = "Matching")]
    pub(crate) rules: Option<PathBuf>,

    /// Join functions in whose names REGEX captures the same text.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = regex_that_captures,
        help_heading = "Matching"
    )]
    pub(crate) join: Option<Regex>,

    /// Do not guess at renamed and moved functions.
    #[arg(long, help_heading = "Matching")]
    pub(crate) no_renames: bool,

    /// Exit with 1 if anything differs.
    #[arg(long, help_heading = "Gates")]
    pub(crate) exit_code: bool,

    /// Exit with 1 if a figure is beyond a limit.
    ///
    /// May be given several times. A limit is [any.][worst.][incl.]EVENT[REGEX] OP VALUE, or calls in place of EVENT:
    /// 'Ir>+5%' is on the total, 'incl.Ir[^mycrate::]>+1000' on each function that matches, 'worst.Ir>+10%' on the function
    /// that grew most, 'end_bytes>0' on the new figure itself. OP is > >= < or <=; a VALUE with a sign is a change. It is
    /// on the last run; behind any. on each run against the one of --relative-to. With several files a side a change within
    /// their noise is none, and a warning says so.
    #[arg(long, value_name = "LIMIT", help_heading = "Gates")]
    pub(crate) fail_if: Vec<Limit>,

    /// A file of limits, one a line; # begins a comment.
    #[arg(long, value_name = "FILE", help_heading = "Gates")]
    pub(crate) limits: Vec<PathBuf>,

    /// Accept limits and --type where they match nothing.
    ///
    /// A limit whose regex matches no function of any run, and a --type that no run has, judged nothing, and is 2: a name
    /// was misspelled, or has changed. With this, standard error says so and no more.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_unmatched: bool,

    /// Judge fragments and empty inputs too.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_fragment: bool,

    /// In a directory, compare with NAME.out.base@BASE instead of NAME.out.old.
    #[arg(long, value_name = "BASE", help_heading = "Gates")]
    base: Option<String>,

    /// In directories pass over files that lack their counterpart; compare sums of different numbers of files.
    #[arg(long, help_heading = "Gates")]
    pub(crate) allow_missing: bool,
}

/// The snapshot of each run, in order; one of all.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotPerRun(Vec<Snapshots>);

fn snapshots(text: &str) -> Result<SnapshotPerRun, String> {
    let one = |text: &str| match text {
        "peak" => Some(Snapshots::Peak),
        number => number.parse().map(Snapshots::Number).ok(),
    };
    let all: Option<Vec<Snapshots>> = text.split("..").map(one).collect();
    all.map(SnapshotPerRun)
        .ok_or_else(|| "expected peak, the number of a snapshot, or one a run: N..M".to_owned())
}

impl SnapshotPerRun {
    /// Gives each side its snapshot.
    ///
    /// # Errors
    /// Where there are more or fewer of them than sides.
    fn put_into(&self, sides: &mut [Side]) -> anyhow::Result<()> {
        let all = match self.0[..] {
            [one] => vec![one; sides.len()],
            _ => self.0.clone(),
        };
        anyhow::ensure!(
            all.len() == sides.len(),
            "--snapshot has {} snapshots for {} runs",
            all.len(),
            sides.len()
        );
        for (side, snapshot) in sides.iter_mut().zip(all) {
            side.snapshot = snapshot;
        }
        Ok(())
    }

    /// A file once for each snapshot; `None` where there is one snapshot alone.
    fn of_one_file(&self, file: &Path) -> anyhow::Result<Option<Vec<Side>>> {
        if self.0.len() < 2 {
            return Ok(None);
        }
        let name = file.display();
        anyhow::ensure!(
            !file.exists() || file.is_file(),
            "{name}: snapshots of one run are read one after the other, which takes a file"
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
        "exit_code",
        "fail_if",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

impl Args {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// Where they contradict each other, or a file of rules or limits cannot be read.
    pub(crate) fn options(self) -> anyhow::Result<Options> {
        let Benchmarks {
            mut pairs,
            missing,
            of_two_layouts,
        } = self.benchmarks()?;
        for sides in &mut pairs {
            self.snapshot.put_into(sides)?;
        }
        let rules = match &self.rules {
            None => Rules::of_table(),
            Some(path) => Rules::with_file(&read(path)?)
                .map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?,
        };
        let mut limits = self.fail_if;
        for path in &self.limits {
            let parsed = limits::parse_file(&read(path)?);
            limits.extend(parsed.map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?);
        }
        anyhow::ensure!(
            self.statistic == Statistic::Median || matches!(self.snapshot.0[..], [Snapshots::Peak]),
            "--snapshot names a snapshot of one run; --statistic sum adds up peaks"
        );
        let types = if self.types.is_empty() {
            TYPES_BY_DEFAULT.to_vec()
        } else {
            self.types.clone()
        };
        Ok(Options {
            comparisons: pairs,
            missing,
            of_two_layouts,
            allow_missing: self.allow_missing,
            relative_to: match self.relative_to.as_str() {
                "first" => RelativeTo::First,
                "previous" => RelativeTo::Previous,
                name => RelativeTo::Named(name.to_owned()),
            },
            statistic: self.statistic,
            by_function: self.by.is_some(),
            records: self.records.options(),
            debug_roots: [self.debug_root_old, self.debug_root_new],
            samples_by_function: self.types.is_empty(),
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
            wanted_types: self.types,
        })
    }

    fn benchmarks(&self) -> anyhow::Result<Benchmarks> {
        match &self.files[..] {
            [directory] if directory.is_dir() => {
                pairs::in_directory(directory, self.base.as_deref())
            }
            [old, new] if self.base.is_none() && old.is_dir() && new.is_dir() => {
                pairs::in_directories(old, new)
            }
            _ if self.base.is_some() => {
                anyhow::bail!("--base is for one directory of benchmark results")
            }
            _ => Ok(Benchmarks {
                pairs: vec![self.sides()?],
                ..Benchmarks::default()
            }),
        }
    }

    fn sides(&self) -> anyhow::Result<Vec<Side>> {
        let of_one_file = match &self.files[..] {
            [file] => self.snapshot.of_one_file(file)?,
            _ => None,
        };
        let mut sides: Vec<Side> = if let Some(sides) = of_one_file {
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
        anyhow::ensure!(
            sides.len() >= 2,
            "expected two or more profiles, found {}: cg-diff OLD NEW (--help has examples)",
            sides.len()
        );
        let is_stdin = |file: &&PathBuf| file.as_os_str() == "-";
        let stdins = sides.iter().flat_map(|side| &side.files).filter(is_stdin);
        anyhow::ensure!(
            stdins.count() < 2,
            "standard input can be only one of the runs"
        );
        anyhow::ensure!(
            self.names.len() <= sides.len(),
            "{} names for {} runs",
            self.names.len(),
            sides.len()
        );
        for (side, name) in sides.iter_mut().zip(&self.names) {
            side.name = name.clone();
        }
        Ok(sides)
    }
}

/// A regex that is not empty: one would capture the same of every name, and all functions would be one.
fn regex_that_captures(text: &str) -> Result<Regex, String> {
    if text.trim().is_empty() {
        return Err("expected a regex, found none (a variable that is not set?)".to_owned());
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
    fn the_short_help_is_of_options_and_no_spelling_is_one() {
        assert_eq!(cg_stream::tool::check::<Args>(), Ok(()));
    }
}
