//! The command line of cg-fmt.

use std::path::PathBuf;

use cg_parse::record_args::{RedactArgs, SearchArgs};
use cg_profile::formula::Formula;
use cg_sources::{Places, rust_sources};
use cg_stream::record::RecordType;
use cg_tool::{ColorChoice, CommandLine, Output, Spellings, Suggested};
use clap::builder::{PossibleValue, TypedValueParser as _};
use clap::{Parser, ValueEnum};

use regex::Regex;

use crate::options::{Directions, Events, GroupBy, Options, OutputFormat, PercentOf, Top, View};

/// Format a cost stream or a raw profile: tables, CSV, TSV, markdown, JSON, pictures, and files for other viewers.
///
/// Adds up records with equal keys, sorts them by cost and lists them. Tables and markdown are for people: they show the 25
/// largest rows with thousands separators, and end with a line about the rows that are left out. CSV and TSV are for
/// programs: they have all rows, with plain integers. JSON is the same stream after adding up, sorting and cutting. Pictures
/// and files for other viewers need records with stacks (sampled stacks, leaks, errors, heap records, program points, and
/// diffs of these), or functions and calls. Control characters in names are shown as escapes (\n, \u{1b}), except in JSON.
#[derive(Parser, Debug)]
#[command(
    name = "cg-fmt",
    version,
    before_help = "Examples:
  cg-fmt --sort incl -n 10 callgrind.out.1234
  cg-diff old.out new.out | cg-fmt -f markdown",
    before_long_help = "Examples:
  cg-parse callgrind.out.1234 | cg-fmt
  cg-fmt --sort incl -n 10 callgrind.out.1234
  cg-fmt --group-by crate callgrind.out.1234
  cg-fmt -f csv -o profile.csv callgrind.out.1234
  cg-diff old.out new.out | cg-fmt -f markdown
  cg-fmt --tree callers callgrind.out.1234
  cg-fmt --peek '^malloc$' callgrind.out.1234
  cg-fmt --source callgrind.out.1234
  cg-fmt -f html -o profile.html callgrind.out.1234
  cg-fmt -f svg -o memory.svg massif.out.1234
  cg-fmt --tree snapshot=3..9 massif.out.1234
  cg-fmt -f flamegraph -o allocations.svg dhat.out.1234
  cg-fmt --tree callers --sort gmax_bytes dhat.out.1234",
    after_long_help = "Exit status: 0 is success; 2 is an error, after all readable input was written."
)]
#[command(next_help_heading = "Views")]
pub(crate) struct Args {
    /// Streams and raw profiles to add up. Without FILE, or with -, reads standard input.
    #[arg(value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    /// List this record type: fn, line, call, leak, error, …
    ///
    /// Default: the first of these types that the input has: functions, lines, calls, errors and leaks, program points, heap
    /// records, stacks.
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = Suggested(RecordType::LISTED).try_map(|name| record_type(&name))
    )]
    kind: Option<RecordType>,

    /// Sum by file, obj, crate, module, fn, thread, whose, …
    ///
    /// Also by process. whose is the origin of the code: own, dependency (cargo's registry, vendor folders, /usr/include,
    /// site-packages, node_modules, …), std, system, kernel or unknown. The self cost is summed. Crates and modules come from the
    /// paths in Rust and C++ names. Functions without a path, as in C, are grouped by their object. Groups of stacks also
    /// have an inclusive cost: the cost of all stacks that contain a function of the group.
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    group_by: Option<GroupBy>,

    /// Show stacks (of samples, leaks, heap records, program points) by function.
    ///
    /// The self cost of a function is the cost of the stacks that it is blamed for; with samples, of the stacks whose
    /// innermost frame it is. The inclusive cost is the cost of all stacks that contain it. Tables, CSV and TSV always show
    /// samples by function.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = [PossibleValue::new("fn").alias("function")],
        conflicts_with = "kind"
    )]
    by: Option<String>,

    /// Show a tree of callers, callees or both.
    ///
    /// For functions, the tree has call counts and the cost of these calls. It needs the call records that cg-parse writes
    /// with --calls. For records with stacks (leaks, heap records, program points), it has the cost of all stacks through
    /// each frame. snapshot=N shows the heap at Massif snapshot N, and snapshot=N..M compares the heap at M with the heap at
    /// N. If a snapshot has no tree, the newest earlier tree is used. cg-diff --snapshot N..M writes the same comparison as
    /// a stream.
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = Suggested(&["callers", "callees", "both", "snapshot="]).try_map(|which| tree(&which)),
        hide_possible_values = true,
        conflicts_with_all = ["group_by", "kind"]
    )]
    tree: Option<TreeOf>,

    /// Show matching functions with their callers, their callees, and the nearest own functions on the way to them.
    ///
    /// Lists callers (<), the function (*) and its callees (>), each with its calls, inclusive cost and share. Then lists
    /// (^) the nearest own functions on the call paths to the function, at any distance. Figures from stacks are exact, but
    /// have no counts of calls. In a call graph (cg-parse --calls), the cost through a function with several callers is
    /// divided among them by the cost of their calls, and a note says that it is estimated.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = Regex::new,
        conflicts_with_all = ["group_by", "kind", "tree", "source"]
    )]
    peek: Option<Regex>,

    /// Fold the branches of a tree of stacks that are below this percentage of the total.
    ///
    /// The default is 1. If inlined functions are known, callers and callees in a tree of calls are folded too. A flame
    /// graph leaves out narrower frames; the default is 0.01. A call graph leaves out functions below this percentage and
    /// calls below a fifth of it; the default is 0.5.
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,

    /// Compare the stacks of two inputs, OLD NEW: with -f flamegraph, folded, speedscope or pprof.
    ///
    /// Frames of the flame graph are as wide as in the new run, red if they cost more and blue if they cost less. Stacks
    /// that only the old run has are drawn below. Two stacks match if all their names are equal; --names stable ignores the
    /// parts of names that change from build to build. Without --diff, inputs are added up.
    #[arg(long)]
    diff: bool,

    /// Show every frame of a stack.
    ///
    /// By default, if a stack has own frames of the program, tables and markdown fold consecutive frames of allocators,
    /// language runtimes and the system: "… 7 frames of std".
    #[arg(long)]
    all_frames: bool,

    /// Show source lines with their cost.
    ///
    /// A profile may name any file, so only sources below DIR (default: the current directory) and the sources of Rust's
    /// standard library are shown. `--source DIR` also works if DIR comes before the files. Reads the line records that
    /// cg-parse writes with --lines. If there are call records (--calls), the calls from a line follow the line. If line
    /// records have chains of inlined functions (--inline --instr), consecutive lines with code of one function have a
    /// heading with its name, their cost, and the function that it is inlined into.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with_all = ["group_by", "kind", "tree"])]
    source: Option<Option<PathBuf>>,

    /// Look for sources below this directory too; can be given several times.
    #[arg(long, value_name = "DIR", requires = "source")]
    source_root: Vec<PathBuf>,

    /// Show inlined functions of raw profiles separately.
    ///
    /// Needs callgrind profiles with addresses (--dump-instr=yes) whose objects have debug information. Functions are then
    /// listed as if nothing were inlined. --tree also shows which function is inlined into which, and calls start at the
    /// functions of the source. --source heads lines with the function that their code belongs to. For streams, use
    /// cg-parse --inline, which writes the necessary records.
    #[arg(long)]
    inline: bool,

    #[command(flatten)]
    search: SearchArgs,

    #[command(flatten)]
    redact: RedactArgs,

    /// Show this many lines of source around each line with a cost.
    #[arg(long, value_name = "N", default_value_t = 8)]
    context: usize,

    /// Sort by a column: Ir, incl, calls, fn, file, delta, …
    ///
    /// COLUMN is an event (Ir), incl, incl.EVENT, calls, fn, file, obj, delta or any other column. Counts are sorted largest
    /// first, differences by absolute value, and names as bytes. With - before COLUMN, names are sorted in descending order
    /// too. By default rows are sorted by the cost of the first event, and the rows of a diff keep the order of cg-diff.
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = Suggested(COLUMNS),
        hide_possible_values = true,
        allow_hyphen_values = true,
        help_heading = "Rows and columns"
    )]
    sort: Option<String>,

    /// Reverse the order of the rows.
    #[arg(long, help_heading = "Rows and columns")]
    reverse: bool,

    /// Show this many rows, or all.
    ///
    /// By default, tables and markdown show 25 rows, and other formats show all.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = Suggested(&["all"]).try_map(|rows| top(&rows)),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    top: Option<Top>,

    /// Show these columns, separated by commas.
    #[arg(
        long,
        long_help = columns_help(),
        value_name = "COLUMNS",
        value_delimiter = ',',
        value_parser = Suggested(COLUMNS),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    columns: Vec<String>,

    /// Show the columns of these events, separated by commas, or all; --event EVENT chooses the event of a picture.
    ///
    /// By default, tables and markdown show all events if there are at most three, otherwise the first event and the event
    /// that --sort names. CSV and TSV have all events.
    #[arg(
        long,
        value_name = "EVENTS",
        value_delimiter = ',',
        alias = "event",
        help_heading = "Rows and columns"
    )]
    events: Vec<String>,

    /// Base percentages on the total of the program, or on the sum of the records read (shown).
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "total",
        help_heading = "Rows and columns"
    )]
    percent_of: PercentOf,

    /// table (default), csv, tsv, markdown, html, json, svg, flamegraph, …
    ///
    /// Without -f, the extension of the file of -o chooses the format: .html, .csv, .tsv, .md, .jsonl, .svg (memory over
    /// time if the profile has it, otherwise a flame graph), .folded, .dot, .pb.gz, .speedscope.json, .trace.json,
    /// .callgrind.
    ///
    /// html is a self-contained viewer for a browser: all rows to sort, filter and search, flame graphs, a tree of calls,
    /// callers and callees, annotated source, and memory over time. For a raw profile it also reads calls, lines and stacks.
    /// For a diff it reads these from the two profiles, if the files still exist unchanged. --source sets the sources that
    /// the page may show.
    ///
    /// svg is a picture of memory over time for Massif and heaptrack. It shows the peak, the growth, and the functions that
    /// held most memory at the snapshots with a tree. For two runs, or a diff of two, it draws the later run over the
    /// earlier one.
    ///
    /// flamegraph is an interactive picture (SVG) of stacks. For a diff of stacks (cg-diff --all --type stack), frames are
    /// as wide as in the later run, red if they cost more and blue if they cost less. Stacks that only the earlier run has
    /// are drawn below.
    ///
    /// folded has one line per stack, for flamegraph.pl, inferno and speedscope; for a diff, each line has two counts.
    /// speedscope and pprof (compressed with gzip) are the files of these viewers, with all events. firefox is the JSON of
    /// the Firefox Profiler, and trace is trace events for Perfetto. Both have one event. All except pprof have the times of
    /// samples, or their order, if the profile has times; streams have them with cg-parse --times. For a raw Callgrind profile, which has calls instead of
    /// stacks, these formats draw the estimated stacks of cg-parse --stacks.
    ///
    /// callgrind has functions and calls, for KCachegrind, callgrind_annotate and gprof2dot. From a raw profile it takes
    /// calls, lines and levels of recursion; a stream needs cg-parse --calls --lines --levels for these. It is also made
    /// from stacks. For a diff, each event occurs twice, as EVENT.old and EVENT.new. dot is the call graph for Graphviz (dot
    /// -Tsvg) in the style of gprof2dot, with a frame around own functions.
    #[arg(short, long, hide_possible_values = true, help_heading = "Output")]
    format: Option<OutputFormat>,

    /// Names in pictures and files for other viewers: unchanged (full), or the same for every build (stable).
    ///
    /// Stable names are the names that cg-diff joins by. They have no hashes, disambiguators and numbers of closures;
    /// objects have no directory, version and hash, and files have no directory. Any viewer can compare two such exports.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "full",
        help_heading = "Output"
    )]
    names: NamesName,

    /// Write CSV, or TSV with -f tsv, for a spreadsheet.
    ///
    /// The file begins with a byte order mark. Names that would be formulas begin with '. Integers above 2^53, which
    /// spreadsheets round, are written as text.
    #[arg(long, help_heading = "Output")]
    excel: bool,

    /// Colour the table: on a terminal (auto), always or never; auto obeys NO_COLOR.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub(crate) color: ColorChoice,

    /// Fit tables into this many columns; 0 writes them in full.
    ///
    /// By default, tables fit the terminal. Elsewhere they fit the variable COLUMNS, or are written in full if it is not set.
    /// Objects, files, calls and explanations are shortened first, then the text in the brackets of names. On a terminal,
    /// percentages have bars beside them if there is room. Graphs have this width too; their default is 80 columns.
    #[arg(long, value_name = "COLUMNS", help_heading = "Output")]
    pub(crate) width: Option<usize>,
}

/// Column names for shell completion.
const COLUMNS: &[&str] = &[
    "Ir",
    "Ir%",
    "incl",
    "incl.Ir",
    "calls",
    "fn",
    "file",
    "obj",
    "line",
    "callee",
    "bytes",
    "blocks",
    "kind",
    "what",
    "total_bytes",
    "total_blocks",
    "gmax_bytes",
    "end_bytes",
    "Ir.old",
    "Ir.new",
    "Ir.delta",
    "delta",
    "status",
    "why",
];

impl CommandLine for Args {
    const SHORT_HELP: &[&str] = &[
        "group_by", "tree", "source", "sort", "top", "columns", "format",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

/// Returns the help of `--columns`, with the figures that have a name.
fn columns_help() -> String {
    let figures: Vec<&str> = Formula::known_names().collect();
    format!(
        "Show these columns, separated by commas.\n\n\
         EVENT% is the percentage of an event. The error for an unknown name lists all columns. Sums and ratios are computed from \
         events: {}; and your own, such as 'IPC=instructions/cycles' or 'cost=Ir + 10 L1m'. CEst is KCachegrind's estimate of \
         cycles. A sum adds up like an event and has percentages. A ratio is computed from sums, and is empty if the divisor is 0. \
         --sort and --event accept both.",
        figures.join(", ")
    )
}

impl Args {
    /// The inputs, without the directory that may follow `--source`.
    pub(crate) fn inputs(&self) -> &[PathBuf] {
        match self.separate_directory() {
            Some(_) => &self.files[1..],
            None => &self.files,
        }
    }

    /// The directory of `--source DIR`, which looks like the first input.
    fn separate_directory(&self) -> Option<&PathBuf> {
        let first = self.files.first()?;
        (matches!(self.source, Some(None)) && first.is_dir()).then_some(first)
    }

    /// Converts the arguments. Without `--format`, the name of the output file chooses the format.
    pub(crate) fn options(&self, output: &Output) -> Options {
        let by_name = OutputFormat::from_name(output);
        let format = match self.format.or(by_name).unwrap_or(OutputFormat::Table) {
            OutputFormat::Table if self.excel => OutputFormat::Csv,
            format => format,
        };
        let sort = self.sort.as_deref().map(str::trim);
        let descending = sort.and_then(|sort| sort.strip_prefix('-'));
        Options {
            format,
            is_any_picture: self.format.is_none() && format == OutputFormat::Flamegraph,
            excel: self.excel,
            kind: self.kind,
            sort: descending.or(sort).map(str::to_owned),
            is_descending: descending.is_some(),
            reverse: self.reverse,
            top: self.top,
            columns: words(&self.columns),
            events: match words(&self.events).as_slice() {
                [] => Events::Fitting,
                [all] if all == "all" => Events::All,
                names => Events::Named(names.to_vec()),
            },
            ratios: Vec::new(),
            percent_of: self.percent_of,
            by_function: self.by.is_some(),
            group_by: self.group_by,
            view: self.view(),
            inline: self.inline,
            search: self.search.search(),
            redact: self.redact.redact,
            threshold: self.threshold,
            all_frames: self.all_frames,
            is_diff: self.diff,
            stable_names: self.names == NamesName::Stable,
            graph_width: self.width.filter(|width| *width > 0).unwrap_or(80),
            places: match format {
                OutputFormat::Html => self.places(
                    self.source
                        .as_ref()
                        .and_then(Option::as_ref)
                        .or(self.separate_directory()),
                ),
                _ => Places::default(),
            },
        }
    }

    /// Returns the places whose sources may be shown.
    fn places(&self, directory: Option<&PathBuf>) -> Places {
        let mut roots = self.source_root.clone();
        match directory {
            Some(directory) => {
                roots.insert(0, directory.clone());
                Places {
                    roots,
                    ..Places::default()
                }
            }
            None => Places {
                here: Some(PathBuf::from(".")),
                roots,
                rust: rust_sources(),
            },
        }
    }

    fn view(&self) -> View {
        if let Some(wanted) = &self.peek {
            return View::Peek(wanted.clone());
        }
        match self.tree {
            Some(TreeOf::Calls(directions)) => return View::Tree(directions),
            Some(TreeOf::Snapshot(number)) => return View::Snapshot(number),
            Some(TreeOf::Snapshots(numbers)) => return View::Snapshots(numbers),
            None => {}
        }
        match &self.source {
            Some(directory) => View::Source {
                places: self.places(directory.as_ref().or(self.separate_directory())),
                context: self.context,
            },
            None => View::List,
        }
    }
}

/// The value of `--names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NamesName {
    Full,
    Stable,
}

/// The value of `--tree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeOf {
    Calls(Directions),
    Snapshot(u64),
    Snapshots([u64; 2]),
}

/// Trims the words of a list and drops empty ones.
fn words(list: &[String]) -> Vec<String> {
    let words = list.iter().map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

fn record_type(text: &str) -> Result<RecordType, String> {
    match RecordType::from_name(text) {
        RecordType::Run | RecordType::End | RecordType::Other => {
            Err(format!("expected one of {}", RecordType::LISTED.join(", ")))
        }
        kind => Ok(kind),
    }
}

fn tree(text: &str) -> Result<TreeOf, String> {
    let calls = |callers, callees| TreeOf::Calls(Directions { callers, callees });
    match text {
        "callers" | "caller" => Ok(calls(true, false)),
        "callees" | "calling" => Ok(calls(false, true)),
        "both" => Ok(calls(true, true)),
        _ => text
            .strip_prefix("snapshot=")
            .and_then(parse_snapshots)
            .ok_or_else(|| {
                "expected callers, callees, both, snapshot=N or snapshot=N..M".to_owned()
            }),
    }
}

fn parse_snapshots(text: &str) -> Option<TreeOf> {
    match text.split_once("..") {
        None => text.parse().ok().map(TreeOf::Snapshot),
        Some((old, new)) => Some(TreeOf::Snapshots([old.parse().ok()?, new.parse().ok()?])),
    }
}

fn top(text: &str) -> Result<Top, String> {
    match text {
        "all" => Ok(Top::All),
        number => number
            .parse()
            .map(Top::Rows)
            .map_err(|_| "expected a number of rows or all".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_help_lists_options_and_spellings_are_not_options() {
        assert_eq!(cg_tool::check::<Args>(), Ok(()));
    }
}
