//! The command line of cg-filter.

use std::ffi::OsString;
use std::path::PathBuf;

use cg_stream::percent::Percent;
use cg_stream::tool::CommonArgs;
use clap::Parser;

use crate::count::{CountKey, Minimum, MinimumChange, MinimumPercent};
use crate::filter::Options;
use crate::pattern::{PatternOptions, Patterns};
use crate::predicate::{NamePredicates, Types};
use crate::rank::Selection;

/// Keep the records of a cost stream that match.
///
/// REGEX is looked for in function names, as grep would; '' matches all. The function of a record with a stack is the one
/// to blame. Kept lines are passed on byte for byte, and
/// without any condition all are. The run and end records always pass, so percentages stay those of the whole
/// program. A raw profile is read as cg-parse would read it.
///
/// All conditions have to hold. A record that lacks a name, file or object is matched as if it were empty. Records of a
/// type that this version does not know pass unless --type leaves them out.
#[derive(Parser, Debug)]
#[command(
    name = "cg-filter",
    version,
    override_usage = "cg-filter [OPTIONS] [REGEX [FILE]...]\n       cg-filter [OPTIONS] -e REGEX [FILE]...",
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-filter '^mycrate::' | cg-fmt
  cg-filter --threshold 90 '' callgrind.out.1234 | cg-fmt
  cg-parse --calls callgrind.out.1234 | cg-filter --callee '^malloc$' --min-percent incl.Ir=1
  cg-filter --frame '^mycrate::' memcheck.xml | cg-fmt
  cg-diff before.out after.out | cg-filter --min-change Ir=5% ''
  cg-diff before.out after.out | cg-filter --min Ir=1000 -v -e '^std::' -e '^core::'",
    after_long_help = "An EVENT is looked up in a record's cost, or incl for records that have only that (call \
records), or else beside them (calls, indirect_bytes, max_bytes). incl.EVENT is the inclusive cost. Of the records of a \
diff it is the absolute value of the difference between last and first run.

Exit status: 0 is done, even when nothing is left; 1 is nothing left, with --exit-status; 2 is trouble."
)]
pub(crate) struct Args {
    /// A regular expression to look for in function names, and the inputs: streams or profiles, - or none for standard
    /// input. With -e all are inputs.
    #[arg(value_names = ["REGEX", "FILE"], num_args = 0..)]
    positionals: Vec<OsString>,

    /// Look for this in function names; may be repeated, and any may match.
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "REGEX",
        allow_hyphen_values = true
    )]
    regexps: Vec<String>,

    /// Keep records with a frame that matches, anywhere in their stack; of records without a stack, those whose function
    /// matches.
    ///
    /// REGEX and -e look at the function to blame alone: the innermost one of the program itself.
    #[arg(long, value_name = "REGEX")]
    frame: Vec<String>,

    /// Keep records whose file matches: a function's own file, a line's file, the file of the frame to blame.
    #[arg(long, value_name = "REGEX")]
    file: Vec<String>,

    /// Keep records whose ELF object matches.
    #[arg(long, value_name = "REGEX")]
    obj: Vec<String>,

    /// Keep what is called from functions that match.
    ///
    /// Of fn and line records: those of functions that a matching function calls directly, as the stream's call records
    /// say (cg-parse --calls). Of call records: those whose calling function matches. Of records with a stack: those
    /// with a matching frame anywhere outside the frame to blame.
    #[arg(long, value_name = "REGEX")]
    caller: Vec<String>,

    /// Keep what calls functions that match.
    ///
    /// Of fn and line records: those of functions that call a matching function directly, as the stream's call records
    /// say (cg-parse --calls). Of call records: those whose called function matches. Of records with a stack: those
    /// with a matching frame anywhere inside the frame to blame.
    #[arg(long, value_name = "REGEX")]
    callee: Vec<String>,

    /// Keep the records that the regular expressions, taken together, do not match.
    #[arg(short = 'v', long)]
    invert_match: bool,

    /// Ignore case in all regular expressions.
    #[arg(short, long)]
    ignore_case: bool,

    /// Take all regular expressions as plain text.
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Match whole words only.
    #[arg(short, long)]
    word_regexp: bool,

    /// Match whole names only.
    #[arg(short = 'x', long, conflicts_with = "word_regexp")]
    line_regexp: bool,

    /// Keep records of these types: fn, line, call, leak, error, heap, program_point, stack, snapshot, diff, or any
    /// other; of a diff, also the type that was compared.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,

    /// Keep records with at least N of this event; may be repeated, and all have to hold.
    #[arg(long, value_name = "EVENT=N")]
    min: Vec<Minimum>,

    /// Keep records with at least P percent of the total of their run.
    #[arg(long, value_name = "EVENT=P")]
    min_percent: Vec<MinimumPercent>,

    /// Keep records of a diff whose count of this event moved, either way, by at least N or P percent of the old figure.
    #[arg(long, value_name = "EVENT=P%|N")]
    min_change: Vec<MinimumChange>,

    /// Keep the N most expensive functions, or records of types other than fn, of each type.
    ///
    /// Records of several runs are added up before they are ranked. line and call records stay with their functions
    /// where the stream has fn records.
    #[arg(long, value_name = "N", conflicts_with = "threshold")]
    top: Option<usize>,

    /// Keep the smallest set of functions that covers P percent of the total, as callgrind_annotate does. Not by an inclusive
    /// cost, which does not add up.
    #[arg(long, value_name = "P")]
    threshold: Option<Percent>,

    /// Sort the output by an EVENT, incl.EVENT or calls, largest first, and let --top and --threshold go by it instead
    /// of the first event.
    #[arg(long, value_name = "KEY")]
    sort: Option<CountKey>,

    /// Exit with 1 when no record is kept, as grep does.
    #[arg(long)]
    exit_status: bool,

    #[command(flatten)]
    _common: CommonArgs,
}

impl Args {
    /// The inputs: all positionals, but for the one that is a regular expression.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let is_regex = self.regexps.is_empty() && !self.positionals.is_empty();
        self.positionals[usize::from(is_regex)..]
            .iter()
            .map(PathBuf::from)
            .collect()
    }

    /// What is to be kept.
    ///
    /// # Errors
    /// For a regular expression that is none, and a condition that makes no sense.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let is_inclusive = self.sort.as_ref().is_some_and(|key| key.is_inclusive);
        anyhow::ensure!(
            !is_inclusive || self.threshold.is_none(),
            "--threshold adds costs up, and inclusive costs overlap: use --min-percent incl.EVENT=P"
        );
        let pattern_options = PatternOptions {
            ignore_case: self.ignore_case,
            fixed_strings: self.fixed_strings,
            whole_words: self.word_regexp,
            whole_names: self.line_regexp,
        };
        let first =
            match self.positionals.first() {
                Some(first) if self.regexps.is_empty() => {
                    vec![first.to_str().map(str::to_owned).ok_or_else(|| {
                        anyhow::anyhow!("REGEX: {} is not UTF-8", first.display())
                    })?]
                }
                _ => Vec::new(),
            };
        let patterns =
            |flag: &str, regexes: &[String]| Patterns::new(flag, regexes, pattern_options);
        Ok(Options {
            types: Types::new(&self.types),
            names: NamePredicates {
                name: match self.regexps.is_empty() {
                    true => patterns("REGEX", &first)?,
                    false => patterns("--regexp", &self.regexps)?,
                },
                frame: patterns("--frame", &self.frame)?,
                file: patterns("--file", &self.file)?,
                obj: patterns("--obj", &self.obj)?,
                caller: patterns("--caller", &self.caller)?,
                callee: patterns("--callee", &self.callee)?,
                invert: self.invert_match,
            },
            minimums: self.min.clone(),
            minimum_percents: self.min_percent.clone(),
            minimum_changes: self.min_change.clone(),
            selection: match (self.top, self.threshold) {
                (Some(count), _) => Selection::Top(count),
                (None, Some(percent)) => Selection::Threshold(percent),
                (None, None) => Selection::All,
            },
            sort: self.sort.clone(),
            exit_status: self.exit_status,
        })
    }
}
