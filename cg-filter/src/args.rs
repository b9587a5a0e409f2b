//! The command line of cg-filter.

use std::ffi::OsString;

use cg_names::whose::CodeOwner;
use cg_parse::record_args::{RecordArgs, SnapshotArgs};
use cg_stream::percent::Percent;
use cg_stream::record::RecordType;
use cg_stream::tool::{CommandLine, Spellings, Suggested};
use clap::Parser;
use clap::builder::TypedValueParser as _;

use crate::condition;
use crate::count::{CountKey, Minimum, MinimumChange, MinimumPercent};
use crate::filter::{Options, Prints};
use crate::pattern::{PatternOptions, Patterns};
use crate::positionals::{self, Positionals, Stdin};
use crate::predicate::{NamePredicates, Types};
use crate::rank::Selection;
use crate::whose::WantedOwners;

/// Keep the records of a cost stream that match.
///
/// REGEX is searched for in function names, as grep would; of a record with a stack, in the function to blame. All
/// conditions have to hold. A record without a name, file or object is matched as if that were empty. Records of a type
/// that this version does not know pass unless --type leaves them out.
///
/// What is known of a function that is kept is kept with it: a call where its caller or its callee matches, a sampled
/// stack where the function to blame or the innermost one does. -v keeps what does not, and no call that a left out
/// function makes or gets.
///
/// Kept lines are passed on byte for byte. Without any condition all of them are. The run and end records always pass,
/// so percentages stay those of the whole program. A raw profile is read as cg-parse would read it, with the records
/// that --calls, --lines, --stacks and --inline ask for: cg-fmt's trees, sources and flame graphs need them.
#[derive(Parser, Debug)]
#[command(
    name = "cg-filter",
    version,
    override_usage = "cg-filter [OPTIONS] [REGEX] [FILE]...",
    before_help = "Examples:
  cg-filter '^mycrate::' callgrind.out.1234 | cg-fmt
  cg-filter --calls '^malloc$' callgrind.out.1234 | cg-fmt --tree callers",
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-filter '^mycrate::' | cg-fmt
  cg-filter -n 10 callgrind.out.1234 | cg-fmt
  cg-filter --threshold 90 callgrind.out.1234 | cg-fmt
  cg-filter --calls '^malloc$' callgrind.out.1234 | cg-fmt --tree callers
  cg-filter --stacks '^mycrate::' callgrind.out.1234 | cg-fmt -f flamegraph -o mine.svg
  cg-filter --calls --callee '^malloc$' --min-percent incl.Ir=1 callgrind.out.1234 | cg-fmt
  cg-filter --frame '^mycrate::' memcheck.xml | cg-fmt
  cg-diff before.out after.out | cg-filter --min-change Ir=5%
  cg-diff before.out after.out | cg-filter --min Ir=1000 -v -e '^std::' -e '^core::'",
    after_long_help = "An EVENT is looked up in a record's cost; where a record has none (call records), in incl; \
else in the field of that name (calls, indirect_bytes, max_bytes). incl.EVENT is the inclusive cost. In a diff it is the size of the \
difference between the last and the first run.

Exit status: 0 is done, even when nothing is left; 1 is nothing left, with --exit-status; 2 is trouble."
)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct Args {
    /// A regular expression to search for in function names, and the inputs: streams or profiles; - or none is standard
    /// input.
    ///
    /// With -e all are inputs. Without, the first is one too where it is the path of a file and hardly a regular
    /// expression; a line on standard error says so. '' matches all names.
    #[arg(value_names = ["REGEX", "FILE"], num_args = 0.., help_heading = None)]
    positionals: Vec<OsString>,

    /// Search for this in function names.
    ///
    /// May be given several times; one match is enough.
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "REGEX",
        allow_hyphen_values = true
    )]
    regexps: Vec<String>,

    /// Keep records with a frame that matches, anywhere in their stack.
    ///
    /// Of records without a stack, those whose function matches. REGEX and -e look at the function to blame: the
    /// innermost one of the program itself; of sampled stacks, at the innermost of all too.
    #[arg(long, value_name = "REGEX")]
    frame: Vec<String>,

    /// Keep records whose file matches.
    ///
    /// That is a function's own file, a line's file, the file of the frame to blame. Of a call, REGEX, --file and --obj
    /// have to match the same end.
    #[arg(long, value_name = "REGEX")]
    file: Vec<String>,

    /// Keep records whose ELF object matches.
    #[arg(long, value_name = "REGEX")]
    obj: Vec<String>,

    /// Keep records of threads whose name or number matches.
    ///
    /// Of samples and findings, as far as the profile tells threads apart: perf script prints their numbers.
    #[arg(long, value_name = "REGEX")]
    thread: Vec<String>,

    /// Keep records of processes whose name or number matches; perf script prints them with -F +pid.
    #[arg(long, value_name = "REGEX")]
    process: Vec<String>,

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

    /// Keep what is own, dependency, std, system or kernel; several are separated by commas.
    ///
    /// Whose code the function is: the program's own, another project's that it uses (cargo's registry, vendor folders,
    /// /usr/include, site-packages, node_modules, …), the library of its language, the system's or the kernel's. Of a call,
    /// either end's.
    #[arg(long, value_name = "WHOSE", value_delimiter = ',', value_parser = Suggested(OWNERS).try_map(|word| owner(&word)), hide_possible_values = true)]
    whose: Vec<CodeOwner>,

    /// Keep the records that the patterns do not match.
    ///
    /// Of all regular expressions and --whose taken together.
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

    /// Keep records of these types: fn, line, call, leak, …
    ///
    /// Types are fn, line, call, inline, leak, error, heap, program_point, stack, snapshot, diff, or any other; of a diff,
    /// also the type that was compared.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = Suggested(RecordType::LISTED), hide_possible_values = true)]
    types: Vec<String>,

    /// Keep records with at least N of this event.
    ///
    /// May be given several times, and all have to hold.
    #[arg(long, value_name = "EVENT=N")]
    min: Vec<Minimum>,

    /// Keep records with at least P percent of the total of their run.
    #[arg(long, value_name = "EVENT=P")]
    min_percent: Vec<MinimumPercent>,

    /// Keep records of a diff whose count of this event changed by at least N, or by P percent of the old figure.
    #[arg(long, value_name = "EVENT=P%|N")]
    min_change: Vec<MinimumChange>,

    /// Keep the N most expensive functions.
    ///
    /// Of records of types other than fn, the N most expensive of each type. Records of several runs are added up before
    /// they are ranked. line and call records stay with their functions where the stream has fn records: a call where its
    /// caller or its callee is kept.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = number_of_functions,
        conflicts_with = "threshold",
        help_heading = "Ranking"
    )]
    top: Option<usize>,

    /// Keep the smallest set of functions that covers P percent of the total, as callgrind_annotate does.
    ///
    /// It does not work by an inclusive cost, which does not add up.
    #[arg(long, value_name = "P", help_heading = "Ranking")]
    threshold: Option<Percent>,

    /// Sort by an event (Ir), incl.EVENT or calls, largest first.
    ///
    /// --top and --threshold then go by it instead of the first event.
    #[arg(long, value_name = "KEY", help_heading = "Ranking", hide_possible_values = true, allow_hyphen_values = true, value_parser = Suggested(SORT_KEYS).try_map(|key| sort_key(&key)))]
    sort: Option<CountKey>,

    /// Print how many records are kept, not the records.
    ///
    /// Of several inputs behind the name of each, which is judged by itself.
    #[arg(
        short,
        long,
        help_heading = "Output",
        conflicts_with = "files_with_matches"
    )]
    count: bool,

    /// Print the names of the inputs of which a record is kept, not the records.
    #[arg(short = 'l', long, help_heading = "Output")]
    files_with_matches: bool,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// Exit with 1 when no record is kept, as grep does.
    #[arg(long, help_heading = "Output")]
    exit_status: bool,
}

fn number_of_functions(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "expected how many functions to keep".to_owned())
}

/// A key to sort by. The largest come first anyway, which is what a `-` in front of it asks for elsewhere.
fn sort_key(key: &str) -> Result<CountKey, String> {
    key.strip_prefix('-').unwrap_or(key).parse()
}

/// The words of --whose.
const OWNERS: &[&str] = &["own", "dependency", "std", "system", "kernel"];

fn owner(word: &str) -> Result<CodeOwner, String> {
    CodeOwner::with_word(word).ok_or_else(|| format!("expected one of {}", OWNERS.join(", ")))
}

/// The keys that shells complete.
const SORT_KEYS: &[&str] = &[
    "Ir",
    "incl.Ir",
    "calls",
    "bytes",
    "blocks",
    "total_bytes",
    "gmax_bytes",
];

impl CommandLine for Args {
    const SHORT_HELP: &[&str] = &[
        "regexps",
        "file",
        "caller",
        "invert_match",
        "types",
        "min",
        "top",
        "sort",
        "count",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

impl Args {
    /// The arguments without an option, told apart.
    pub(crate) fn positionals(&self, stdin: impl FnOnce() -> Stdin) -> Positionals {
        positionals::tell_apart(&self.positionals, !self.regexps.is_empty(), stdin)
    }

    /// What is to be kept.
    ///
    /// # Errors
    /// For a regular expression that is none, and a condition that makes no sense.
    pub(crate) fn options(&self, positionals: &Positionals) -> anyhow::Result<Options> {
        if let Some(told) = positionals.regex.as_deref().and_then(condition::told)
            && !self.fixed_strings
        {
            anyhow::bail!(told);
        }
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
        let first = match &positionals.regex {
            Some(regex) => vec![
                regex
                    .to_str()
                    .map(str::to_owned)
                    .ok_or_else(|| anyhow::anyhow!("REGEX: {} is not UTF-8", regex.display()))?,
            ],
            None => Vec::new(),
        };
        let patterns =
            |flag: &str, regexes: &[String]| Patterns::new(flag, regexes, pattern_options);
        Ok(Options {
            types: Types::new(&self.types),
            records: cg_parse::Options {
                snapshots: self.snapshots.snapshots,
                ..self.records.options()
            },
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
                thread: patterns("--thread", &self.thread)?,
                process: patterns("--process", &self.process)?,
                whose: WantedOwners::new(&self.whose),
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
            prints: match (self.count, self.files_with_matches) {
                (true, _) => Prints::Counts,
                (_, true) => Prints::Names,
                _ => Prints::Records,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_is_of_options_and_no_spelling_is_one() {
        assert_eq!(cg_stream::tool::check::<Args>(), Ok(()));
    }
}
