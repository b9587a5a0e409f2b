//! The command line of cg-filter.

use std::ffi::OsString;

use cg_names::code_origin::CodeOwner;
use cg_parse::record_args::{RecordArgs, SnapshotArgs};
use cg_stream::percent::Percent;
use cg_stream::record::RecordType;
use cg_tool::{CommandLine, Spellings, Suggested};
use clap::Parser;
use clap::builder::TypedValueParser as _;

use crate::condition;
use crate::count::{CountKey, Minimum, MinimumChange, MinimumPercent};
use crate::filter::{Options, Prints};
use crate::label::WantedLabel;
use crate::membership::WantedCode;
use crate::pattern::{PatternOptions, Patterns};
use crate::positionals::{self, GivenOptions, Positionals, Stdin};
use crate::predicate::{NamePredicates, Types};
use crate::rank::Selection;
use crate::time::TimeRange;
use crate::whose::WantedOwners;

/// Keep the records of a cost stream that match.
///
/// Searches function names for REGEX, like grep. In a record with a stack, searches the blamed function. All conditions have
/// to match. A missing name, file or object counts as an empty text. Records of unknown types are kept, except with --type.
///
/// A call is kept if its caller or its callee matches. A sampled stack is kept if its blamed or its innermost function
/// matches. -v keeps the other records. It drops a call if one of its functions matches.
///
/// Kept lines are passed on byte for byte. Without a condition, all lines are kept. The run and end records are always kept,
/// so percentages still refer to the whole program. A raw profile is read like in cg-parse, with the records of --calls,
/// --lines, --stacks and --inline. The trees, sources and flame graphs of cg-fmt need these records.
#[derive(Parser, Debug)]
#[command(
    name = "cg-filter",
    version,
    override_usage = "cg-filter [OPTIONS] [REGEX] [FILE]...",
    before_help = "Examples:
  cg-filter --crate mycrate callgrind.out.1234 | cg-fmt
  cg-filter --calls '^malloc$' callgrind.out.1234 | cg-fmt --tree callers",
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-filter --crate mycrate | cg-fmt
  cg-filter -n 10 callgrind.out.1234 | cg-fmt
  cg-filter --threshold 90 callgrind.out.1234 | cg-fmt
  cg-filter --calls '^malloc$' callgrind.out.1234 | cg-fmt --tree callers
  cg-filter --stacks --crate mycrate callgrind.out.1234 | cg-fmt -f flamegraph -o mine.svg
  cg-filter --calls --callee '^malloc$' --min-percent incl.Ir=1 callgrind.out.1234 | cg-fmt
  cg-filter --frame '^mycrate::' memcheck.xml | cg-fmt
  cg-diff before.out after.out | cg-filter --min-change Ir=5%
  cg-diff before.out after.out | cg-filter --min Ir=1000 -v --crate std,core",
    after_long_help = "An EVENT is looked up in a record's cost, then in the field of the same name (calls, indirect_bytes, max_bytes) \
and, in records without cost (call records), in incl. incl.EVENT is the inclusive cost. In a diff, the count is the size of the \
difference between the last and the first run.

Exit status: 0 is success, even if no record is kept; 1 is no record kept, with --exit-status; 2 is an error."
)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct Args {
    /// A regular expression for function names, and the inputs: streams or profiles; - or no input is standard input.
    ///
    /// With -e, all arguments are inputs. Without -e, the first argument is also an input if it is the path of a file and
    /// does not look like a regular expression; a note on standard error says so unless there is another condition. '' matches
    /// all names.
    #[arg(value_names = ["REGEX", "FILE"], num_args = 0.., help_heading = None)]
    positionals: Vec<OsString>,

    /// Search function names for REGEX.
    ///
    /// May be given several times; one match is enough.
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "REGEX",
        allow_hyphen_values = true
    )]
    regexps: Vec<String>,

    /// Keep records with a matching frame anywhere in their stack.
    ///
    /// Without a stack, the function of the record has to match. REGEX and -e search only the blamed function, which is the
    /// innermost function of the program itself; in sampled stacks, also the innermost function of all.
    #[arg(long, value_name = "REGEX")]
    frame: Vec<String>,

    /// Keep records whose file matches.
    ///
    /// This is the file of the function, of the line, or of the blamed frame. In a call, REGEX, --file and --obj have to
    /// match the same function.
    #[arg(long, value_name = "REGEX")]
    file: Vec<String>,

    /// Keep records whose ELF object matches.
    #[arg(long, value_name = "REGEX")]
    obj: Vec<String>,

    /// Keep records of threads whose name or number matches.
    ///
    /// Samples and findings have threads, if the profile records them: perf script prints their numbers.
    #[arg(long, value_name = "REGEX")]
    thread: Vec<String>,

    /// Keep records of processes whose name or number matches; perf script prints them with -F +pid.
    #[arg(long, value_name = "REGEX")]
    process: Vec<String>,

    /// Keep records with this label, such as state=STATE_RUNNABLE.
    ///
    /// Samples have labels if the profile has them: those of pprof, and the state of the thread in a recording of Java's
    /// flight recorder. May be given several times; all have to match. -v does not invert this condition.
    #[arg(long, value_name = "KEY=TEXT")]
    with_label: Vec<WantedLabel>,

    /// Keep the samples in a range of time, in seconds since the first sample.
    ///
    /// A sample at t is kept if FROM <= t < TO; the last sample is also kept if TO is its time. The spans of trace events
    /// are cut at FROM and TO if the input is a raw profile. The records of a stream pass whole, and need the times of
    /// cg-parse --times.
    #[arg(long, value_name = "FROM-TO")]
    time: Option<TimeRange>,

    /// Keep functions that matching functions call.
    ///
    /// fn and line records are kept if a matching function calls their function directly; this needs call records (cg-parse
    /// --calls). A call record is kept if its caller matches. A record with a stack is kept if a frame outside the blamed
    /// frame matches.
    #[arg(long, value_name = "REGEX")]
    caller: Vec<String>,

    /// Keep functions that call matching functions.
    ///
    /// fn and line records are kept if their function calls a matching function directly; this needs call records (cg-parse
    /// --calls). A call record is kept if its callee matches. A record with a stack is kept if a frame inside the blamed
    /// frame matches.
    #[arg(long, value_name = "REGEX")]
    callee: Vec<String>,

    /// Keep the functions of a crate.
    ///
    /// NAME is the whole name, without an ending; - and _ are alike. Separate several names by commas. This is the crate of
    /// cg-fmt --group-by crate, found by the structure of the name: <mycrate::T>::f, <mycrate::T as Trait>::f and closures
    /// belong to mycrate. A function without a path, as in C, belongs to its object. A call is kept if one of its functions
    /// matches.
    #[arg(long = "crate", value_name = "NAME", value_delimiter = ',', value_parser = name_of_code)]
    crates: Vec<String>,

    /// Keep the functions of a module and of all modules below it: mycrate::parse.
    ///
    /// This is the module of cg-fmt --group-by module. In C++, it is a namespace or a class.
    #[arg(long = "module", value_name = "PATH", value_delimiter = ',', value_parser = name_of_code)]
    modules: Vec<String>,

    /// Keep functions by the owner of their code: own, dependency, std, system, kernel, unknown.
    ///
    /// Separate several values by commas. own is the program itself, dependency is a project that the program uses (cargo's
    /// registry, vendor folders, /usr/include, site-packages, node_modules, …), and std is the library of its language. A
    /// call is kept if one of its functions matches.
    #[arg(long, value_name = "WHOSE", value_delimiter = ',', value_parser = Suggested(OWNERS).try_map(|word| owner(&word)), hide_possible_values = true)]
    whose: Vec<CodeOwner>,

    /// Keep the records that do not match.
    ///
    /// This inverts all regular expressions, --crate, --module and --whose together.
    #[arg(short = 'v', long)]
    invert_match: bool,

    /// Ignore case in all regular expressions.
    #[arg(short, long)]
    ignore_case: bool,

    /// Treat all regular expressions as plain text.
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
    /// Types are fn, line, call, inline, leak, error, heap, program_point, stack, snapshot, diff, or any other. For a diff
    /// record, the compared type also counts.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = Suggested(RecordType::LISTED), hide_possible_values = true)]
    types: Vec<String>,

    /// Keep records with at least N of this event.
    ///
    /// May be given several times; all have to match.
    #[arg(long, value_name = "EVENT=N")]
    min: Vec<Minimum>,

    /// Keep records with at least P percent of the total of their run.
    #[arg(long, value_name = "EVENT=P")]
    min_percent: Vec<MinimumPercent>,

    /// Keep diff records whose count changed by at least N, or by P percent of the old count.
    #[arg(long, value_name = "EVENT=P%|N")]
    min_change: Vec<MinimumChange>,

    /// Keep the N most expensive functions.
    ///
    /// For other types than fn, keeps the N most expensive records of each type. Records of several runs are added up first.
    /// If the stream has fn records, line and call records are kept with their functions: a call is kept if its caller or
    /// its callee is kept.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = number_of_functions,
        conflicts_with = "threshold",
        help_heading = "Ranking"
    )]
    top: Option<usize>,

    /// Keep the fewest functions that cover P percent of the total, like callgrind_annotate.
    ///
    /// Inclusive costs are not possible, because they overlap.
    #[arg(long, value_name = "P", help_heading = "Ranking")]
    threshold: Option<Percent>,

    /// Sort by an event (Ir), incl.EVENT or calls, largest first.
    ///
    /// --top and --threshold then use this key instead of the first event.
    #[arg(long, value_name = "KEY", help_heading = "Ranking", hide_possible_values = true, allow_hyphen_values = true, value_parser = Suggested(SORT_KEYS).try_map(|key| sort_key(&key)))]
    sort: Option<CountKey>,

    /// Print the number of kept records, not the records.
    ///
    /// With several inputs, prints one count per input, after its name. Each input is filtered separately.
    #[arg(
        short,
        long,
        help_heading = "Output",
        conflicts_with = "files_with_matches"
    )]
    count: bool,

    /// Print the names of inputs with kept records, not the records.
    #[arg(short = 'l', long, help_heading = "Output")]
    files_with_matches: bool,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// Exit with 1 if no record is kept, like grep.
    #[arg(long, help_heading = "Output")]
    exit_status: bool,
}

fn name_of_code(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a name, found none (an unset variable?)".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn number_of_functions(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "expected the number of functions to keep".to_owned())
}

/// Parses a key to sort by. Ignores a leading `-`: in other tools it means largest first, which is always the order here.
fn sort_key(key: &str) -> Result<CountKey, String> {
    key.strip_prefix('-').unwrap_or(key).parse()
}

/// The words of --whose.
const OWNERS: &[&str] = &["own", "dependency", "std", "system", "kernel", "unknown"];

fn owner(word: &str) -> Result<CodeOwner, String> {
    CodeOwner::from_word(word).ok_or_else(|| format!("expected one of {}", OWNERS.join(", ")))
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
        "crates",
        "file",
        "caller",
        "invert_match",
        "types",
        "top",
        "sort",
        "count",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

impl Args {
    /// Splits the arguments without an option into a regular expression and files.
    pub(crate) fn positionals(&self, stdin: impl FnOnce() -> Stdin) -> Positionals {
        let options = GivenOptions {
            has_regexp: !self.regexps.is_empty(),
            has_condition: self.has_condition(),
        };
        positionals::split_arguments(&self.positionals, options, stdin)
    }

    /// Returns true if there is a condition other than a regular expression for function names.
    fn has_condition(&self) -> bool {
        let Args {
            frame,
            file,
            obj,
            thread,
            process,
            with_label,
            time,
            caller,
            callee,
            crates,
            modules,
            whose,
            types,
            min,
            min_percent,
            min_change,
            top,
            threshold,
            // These only change other conditions, or the output.
            positionals: _,
            regexps: _,
            invert_match: _,
            ignore_case: _,
            fixed_strings: _,
            word_regexp: _,
            line_regexp: _,
            sort: _,
            count: _,
            files_with_matches: _,
            records: _,
            snapshots: _,
            exit_status: _,
        } = self;
        let on_names = [
            frame, file, obj, thread, process, caller, callee, crates, modules, types,
        ];
        on_names.iter().any(|conditions| !conditions.is_empty())
            || !with_label.is_empty()
            || !whose.is_empty()
            || !min.is_empty()
            || !min_percent.is_empty()
            || !min_change.is_empty()
            || time.is_some()
            || top.is_some()
            || threshold.is_some()
    }

    /// Converts the arguments.
    ///
    /// # Errors
    /// Returns an error if a regular expression is invalid or a condition makes no sense.
    pub(crate) fn options(&self, positionals: &Positionals) -> anyhow::Result<Options> {
        if let Some(suggestion) = positionals.regex.as_deref().and_then(condition::suggestion)
            && !self.fixed_strings
        {
            anyhow::bail!(suggestion);
        }
        let is_inclusive = self.sort.as_ref().is_some_and(|key| key.is_inclusive);
        anyhow::ensure!(
            !is_inclusive || self.threshold.is_none(),
            "--threshold adds up costs, but inclusive costs overlap; use --min-percent incl.EVENT=P"
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
                code: WantedCode::new(&self.crates, &self.modules),
                invert: self.invert_match,
            },
            labels: self.with_label.clone(),
            time: self.time,
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
    fn short_help_lists_options_and_no_spelling_is_an_option() {
        assert_eq!(cg_tool::check::<Args>(), Ok(()));
    }
}
