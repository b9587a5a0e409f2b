//! The command line of cg-fmt.

use std::path::PathBuf;

use cg_parse::record_args::SearchArgs;
use cg_sources::{Places, rust_sources};
use cg_stream::record::RecordType;
use cg_stream::tool::{ColorChoice, CommandLine, Output, Spellings, Suggested};
use clap::builder::{PossibleValue, TypedValueParser as _};
use clap::{Parser, ValueEnum};

use regex::Regex;

use crate::options::{Directions, Events, GroupBy, Options, OutputFormat, PercentOf, Top, View};

/// Format a cost stream, or a raw profile: tables, CSV, TSV, markdown, JSON, pictures, and what other viewers read.
///
/// Records with equal keys are added up, sorted by cost and listed. Tables and markdown are for reading: the 25 largest
/// rows, with thousands separators, and a closing line that says what was left out. CSV and TSV are for programs: all
/// rows and bare integers. JSON is the stream again, added up, sorted and cut. Pictures and files for other viewers are of
/// records with stacks (sampled stacks, leaks, errors, heap records, program points, and the rows of a diff of these), or
/// of functions and calls. Control characters in names are shown as escapes (\n, \u{1b}) everywhere but in JSON.
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
    after_long_help = "Exit status: 0 is done; 2 is trouble, after what could be read was written."
)]
#[command(next_help_heading = "Views")]
pub(crate) struct Args {
    /// Streams and raw profiles, added up; - or none is standard input.
    #[arg(value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    /// The record type to list: fn, line, call, leak, error, …
    ///
    /// Default: functions if there are any, else lines, calls, errors and leaks, heap, program points.
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = Suggested(RecordType::LISTED).try_map(|name| record_type(&name))
    )]
    kind: Option<RecordType>,

    /// Sum by file, obj, crate, module, fn, thread, whose, …
    ///
    /// Also by process. whose is whose code it is: own, dependency (cargo's registry, vendor folders, /usr/include, site-packages, node_modules, …), std, system or
    /// kernel. Self cost is summed. Crates and modules are read from the paths in Rust and C++ names; functions without a path, as
    /// in C, are grouped by their object. Groups of stacks have inclusive cost too: that of all stacks that a function of
    /// the group is in.
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    group_by: Option<GroupBy>,

    /// Show stacks (of samples, leaks, heap records, program points) by function.
    ///
    /// A function's own cost is the cost of the stacks it is blamed for; of samples, of the stacks it is innermost in. Its
    /// inclusive cost is that of all stacks it is in. Tables, CSV and TSV of samples are by function anyway.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = [PossibleValue::new("fn").alias("function")],
        conflicts_with = "kind"
    )]
    by: Option<String>,

    /// Show a tree of callers, callees or both.
    ///
    /// Of functions, with call counts and the cost of these calls, from the call records that cg-parse writes with
    /// --calls. Of records with stacks (leaks, heap records, program points), with the cost of all stacks through each
    /// frame. snapshot=N shows what the heap held at a Massif snapshot, snapshot=N..M what it held at M against N; of one
    /// without a tree the newest before it stands for it. cg-diff --snapshot N..M is the same as a stream.
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = Suggested(&["callers", "callees", "both", "snapshot="]).try_map(|which| tree(&which)),
        hide_possible_values = true,
        conflicts_with_all = ["group_by", "kind"]
    )]
    tree: Option<TreeOf>,

    /// Show the functions that match: who calls them, what they call, and which own functions brought the program there.
    ///
    /// Callers (<), the function (*) and its callees (>), each with its calls, inclusive cost and share, and nobody else;
    /// then (^) the nearest own functions on the ways that lead there, however far. Of stacks all of it is exact, without
    /// counts of calls; of a graph of calls (cg-parse --calls) what came through a function with several callers is divided
    /// by the cost of their calls, and a note says that it is estimated.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = Regex::new,
        conflicts_with_all = ["group_by", "kind", "tree", "source"]
    )]
    peek: Option<Regex>,

    /// Fold the branches of a tree of stacks that are below this percentage of the total.
    ///
    /// By default 1. Where inlined functions are known, callers and callees in a tree of calls are folded too. In a flame
    /// graph, leave out frames that are narrower; by default 0.01. In a graph of calls, leave out functions below it and
    /// calls below a fifth of it; by default 0.5.
    #[arg(long, value_name = "PERCENT")]
    threshold: Option<f64>,

    /// Compare the stacks of two inputs, OLD NEW: with -f flamegraph, folded, speedscope or pprof.
    ///
    /// A flame graph is as wide as the later run, red where that costs more and blue where it costs less, with what is gone
    /// below. Stacks are the same where all names are; --names stable leaves out what a build puts into them. Without it
    /// inputs are added up.
    #[arg(long)]
    diff: bool,

    /// Show every frame of a stack.
    ///
    /// Where a stack has frames of the program itself, tables and markdown fold those of allocators, language runtimes and
    /// the system that stand in a row: "… 7 frames of std".
    #[arg(long)]
    all_frames: bool,

    /// Show source lines with their cost.
    ///
    /// A profile may name any file, so only sources below DIR, or else below the current directory, are shown, and those of
    /// the Rust toolchains' own library. `--source DIR` works too if DIR comes before the files. Reads the line records
    /// that cg-parse writes with --lines, and shows the calls that leave from a line where there are call records
    /// (--calls) too. Where line records have chains of inlined functions (--inline --instr), lines in a row whose code is
    /// of one function are headed by its name, their cost, and what it is inlined into.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with_all = ["group_by", "kind", "tree"])]
    source: Option<Option<PathBuf>>,

    /// Look for sources below this directory too, and show them from there; can be given several times.
    #[arg(long, value_name = "DIR", requires = "source")]
    source_root: Vec<PathBuf>,

    /// Tell inlined functions of raw profiles by name.
    ///
    /// Of callgrind profiles with addresses (--dump-instr=yes) whose objects have debug information. Functions are then
    /// listed as if nothing were inlined, --tree shows what is inlined into what beside the calls, which leave from the
    /// functions that the source shows, and --source heads lines by the functions that they are of. Of streams, cg-parse --inline writes what this needs.
    #[arg(long)]
    inline: bool,

    #[command(flatten)]
    search: SearchArgs,

    /// How many lines of source to show around a line with a cost.
    #[arg(long, value_name = "N", default_value_t = 8)]
    context: usize,

    /// Sort by a column: Ir, incl, calls, fn, file, delta, …
    ///
    /// That is an event (Ir), incl, incl.EVENT, calls, fn, file, obj, delta or any other column. Counts are sorted from the
    /// largest down, differences by their size, names as bytes; behind a - all from the largest down. By default rows are sorted by the cost of the first event;
    /// those of a diff stay as cg-diff sorted them.
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = Suggested(COLUMNS),
        hide_possible_values = true,
        allow_hyphen_values = true,
        help_heading = "Rows and columns"
    )]
    sort: Option<String>,

    /// Turn the order around.
    #[arg(long, help_heading = "Rows and columns")]
    reverse: bool,

    /// Show this many rows, or all.
    ///
    /// Tables and markdown show 25 by default, other formats all.
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
    ///
    /// EVENT% is the percentage of an event. An unknown name is answered with all that there are. Sums and ratios follow
    /// from events: CEst (KCachegrind's estimate of cycles), L1m, D1m, LLm, Bm; IPC, CPI, cache-miss-rate,
    /// branch-miss-rate, D1-miss-rate, LL-miss-rate; and your own, as 'IPC=instructions/cycles' or 'cost=Ir + 10 L1m'. A sum
    /// adds up like an event, with percentages; a ratio is computed from sums, and is empty where it divides by 0. Both can
    /// be named in --sort and --event too.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        value_parser = Suggested(COLUMNS),
        hide_possible_values = true,
        help_heading = "Rows and columns"
    )]
    columns: Vec<String>,

    /// Show the columns of these events, separated by commas, or all; --event EVENT chooses the one of a picture.
    ///
    /// By default tables and markdown show all events where there are at most three, otherwise the first and the one
    /// that --sort names; CSV and TSV have all.
    #[arg(
        long,
        value_name = "EVENTS",
        value_delimiter = ',',
        alias = "event",
        help_heading = "Rows and columns"
    )]
    events: Vec<String>,

    /// What percentages are of: the total of the program, or the sum of the records that were read.
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "total",
        help_heading = "Rows and columns"
    )]
    percent_of: PercentOf,

    /// table (default), csv, tsv, markdown, html, json, svg, flamegraph, …
    ///
    /// Without it the ending of -o's file tells: .html, .csv, .tsv, .md, .jsonl, .svg (memory over time where the profile
    /// has it, else a flame graph), .folded, .dot, .pb.gz, .speedscope.json, .trace.json.
    ///
    /// html is a viewer for a browser that needs nothing else: all rows to sort, filter and search, flame graphs, a tree of
    /// calls, callers and callees, annotated source, memory over time. Of a raw profile it reads calls, lines and stacks too,
    /// of a diff the two profiles that it names, as far as they are there; the sources it may show are those of --source.
    /// svg is a picture of the memory of a run of Massif or heaptrack over time, with its peak and its growth, and the
    /// functions that held most at the snapshots with a tree; of two runs, or of a diff of two, it has the later over the
    /// earlier. flamegraph is an interactive picture (SVG) of stacks; of a diff of stacks (cg-diff --all --type stack) it is
    /// as wide as the later run, red where that costs more and blue where it costs less, with what is gone below.
    /// folded is a line a stack, as flamegraph.pl, inferno and speedscope read it, of a diff with two counts.
    /// Of a raw profile of Callgrind's, whose calls are no stacks, these formats draw what cg-parse --stacks makes of it.
    /// speedscope and pprof (packed by gzip) are those viewers' own files, with all events; firefox is the Firefox Profiler's
    /// JSON, and trace is trace events for Perfetto, with one and with the times of samples: of a stream where cg-parse --times
    /// wrote it. callgrind is of functions and calls, for KCachegrind, callgrind_annotate
    /// and gprof2dot: of a stream as far as it has them (cg-parse --calls --lines --levels), of a raw profile with its calls,
    /// lines and levels of recursion, and of stacks; of a diff each event stands twice, as EVENT.old and EVENT.new.
    /// dot is the graph of calls for Graphviz (dot -Tsvg), as gprof2dot draws it, own functions framed.
    #[arg(short, long, hide_possible_values = true, help_heading = "Output")]
    format: Option<OutputFormat>,

    /// Names in pictures and files for other viewers: as they are (full), or stable over builds.
    ///
    /// Stable names are what cg-diff joins by: without hashes, disambiguators and numbers of closures, objects without
    /// directory, version and hash, files without directories. So two exports compare in any viewer.
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "full",
        help_heading = "Output"
    )]
    names: NamesName,

    /// Write CSV, or with -f tsv TSV, for a spreadsheet.
    ///
    /// A byte order mark comes first, names that would be formulas get a ' in front, and integers above 2^53, which
    /// spreadsheets round, are texts.
    #[arg(long, help_heading = "Output")]
    excel: bool,

    /// Colour the table: when writing to a terminal (auto), always or never. NO_COLOR is obeyed.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub(crate) color: ColorChoice,

    /// Fit tables into this many columns; 0 writes them in full.
    ///
    /// By default tables fit the terminal, and are written in full anywhere else. Objects, files, calls and explanations give
    /// way first, then what is in the brackets of names. On a terminal percentages have bars beside them where there is
    /// room. Graphs are this wide, by default 80 columns.
    #[arg(long, value_name = "COLUMNS", help_heading = "Output")]
    pub(crate) width: Option<usize>,
}

/// The columns that shells complete.
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

    /// What is asked for, also by the name of the output.
    pub(crate) fn options(&self, output: &Output) -> Options {
        let by_name = OutputFormat::of_name(output);
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

    /// Where sources may be shown from.
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

/// Which names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NamesName {
    Full,
    Stable,
}

/// What `--tree` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeOf {
    Calls(Directions),
    Snapshot(u64),
    Snapshots([u64; 2]),
}

/// The words of a list, without the blanks that stand behind its commas.
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
            .and_then(of_snapshots)
            .ok_or_else(|| {
                "expected callers, callees, both, snapshot=N or snapshot=N..M".to_owned()
            }),
    }
}

fn of_snapshots(text: &str) -> Option<TreeOf> {
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
    fn the_short_help_is_of_options_and_no_spelling_is_one() {
        assert_eq!(cg_stream::tool::check::<Args>(), Ok(()));
    }
}
