//! The command line of leak-check.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_document::text::Screen;
use cg_parse::record_args::RedactArgs;
use cg_sources::{Places, rust_sources};
use cg_stream::record::Count;
use cg_tool::{ColorChoice, CommandLine, Output, Spellings, Suggested};
use clap::Parser;
use clap::builder::TypedValueParser as _;
use regex::Regex;

use crate::finding::LeakKinds;
use crate::frame_patterns::{AnyOf, FramePatterns};
use crate::gate::Options;
use crate::growth::MaxGrowth;
use crate::paths::Paths;
use crate::policy::Policy;
use crate::report::ReportFormat;

/// Fail a build on memory errors and leaks.
///
/// Reads text logs and XML files of Memcheck, Helgrind and DRD, reports of sanitizers, and streams of cg-parse. Errors and
/// leaks are findings. A finding fails the run unless a suppression, --ignore, --only or the baseline excuses it. An input
/// that is missing, empty, truncated or not recognised is never clean.
#[derive(Parser, Debug)]
#[command(
    name = "leak-check",
    version,
    before_help = "Examples:
  leak-check valgrind.*.xml
  leak-check --baseline known.jsonl --only '^src/' target/valgrind/*.xml",
    before_long_help = "Examples:
  leak-check valgrind.*.xml
  leak-check --baseline known.jsonl --only '^src/' target/valgrind/*.xml
  leak-check --baseline known.jsonl --update-baseline target/valgrind/*.xml
  leak-check --write-suppressions valgrind.log >> valgrind.supp
  valgrind --leak-check=full ./prog 2>&1 | cg-parse | leak-check",
    after_long_help = "Exit status: 0 is clean; 1 is new findings; 2 is an error, or an input that cannot be judged."
)]
#[command(next_help_heading = "Findings that count")]
pub(crate) struct Args {
    /// Logs, XML files, streams, and directories of these; reads standard input for - or without FILE.
    #[arg(value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    /// Leak kinds that count.
    ///
    /// Either all, none, or a comma-separated list of definite, indirect, possible and reachable.
    #[arg(
        value_parser = Suggested(&["all", "none", "definite", "indirect", "possible", "reachable"])
            .try_map(|kinds| kinds.parse::<LeakKinds>()),
        hide_possible_values = true,
        long,
        value_name = "KINDS",
        default_value = "definite,possible",
        help_heading = "Findings that count"
    )]
    errors_for_leak_kinds: LeakKinds,

    /// Count only leaks that the last leak search of a process reported.
    ///
    /// A process may search for leaks before its end (VALGRIND_DO_LEAK_CHECK, vgdb's leak_check). By default, a leak that any
    /// search reported counts, as in Valgrind's ERROR SUMMARY and exit status.
    #[arg(long, help_heading = "Findings that count")]
    last_search: bool,

    /// Count memory errors (default).
    #[arg(
        long = "errors",
        overrides_with = "no_errors",
        help_heading = "Findings that count"
    )]
    _errors: bool,

    /// Count only leaks.
    #[arg(long, overrides_with = "_errors", help_heading = "Findings that count")]
    no_errors: bool,

    /// Accept processes that a signal ended.
    ///
    /// A fatal signal is a finding of the kind FatalSignal, with the stack from the log. Use this for tests that end
    /// their processes by a signal on purpose.
    #[arg(long, help_heading = "Findings that count")]
    ignore_signals: bool,

    /// Accept new leaks if they have at most N direct bytes in total.
    #[arg(long, value_name = "N", help_heading = "Findings that count")]
    max_bytes: Option<u64>,

    /// Accept new leaks if they have at most N blocks in total.
    #[arg(long, value_name = "N", help_heading = "Findings that count")]
    max_blocks: Option<u64>,

    /// Count only findings in functions or files that match.
    ///
    /// Compares the function and the file of the blamed frame. The regex may match the full path of the file, or the path
    /// relative to --root. A leak is blamed on the innermost frame that matches, an error on the innermost frame of the
    /// program itself. Findings that Valgrind counted but did not print always count. Can be given several times; one
    /// match is enough.
    #[arg(long, value_name = "REGEX", value_parser = parse_regex, help_heading = "Findings that count")]
    only: Vec<Regex>,

    /// Count only findings whose blamed frame is in a matching object; with --only, both must match.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = parse_regex,
        help_heading = "Findings that count"
    )]
    only_obj: Vec<Regex>,

    /// Ignore findings in functions or files that match.
    ///
    /// Compares the function and the file of the blamed frame and of the frames that it called. Can be given several times.
    #[arg(long, value_name = "REGEX", value_parser = parse_selective_regex, help_heading = "Findings that count")]
    ignore: Vec<Regex>,

    /// Ignore findings whose blamed frame, or a frame that it called, is in a matching object; with --ignore, both must
    /// match.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = parse_selective_regex,
        help_heading = "Findings that count"
    )]
    ignore_obj: Vec<Regex>,

    /// Read regexes for --ignore from FILE, one per line; lines that begin with # are comments.
    #[arg(long, value_name = "FILE", help_heading = "Findings that count")]
    ignore_file: Vec<PathBuf>,

    /// Accept conditions that match nothing.
    ///
    /// A regex of --only, --only-obj, --ignore or --ignore-obj, or a file of --ignore-file, may match no frame of any
    /// finding, because a name is misspelled or has changed. The exit status is then 2. This option only prints a warning
    /// instead.
    #[arg(long, help_heading = "Findings that count")]
    allow_unmatched: bool,

    /// Accept streams without run and end records, filtered streams, and logs without a summary (-q).
    #[arg(long, help_heading = "Findings that count")]
    allow_fragment: bool,

    /// Exit 2 unless there are N processes, including those that cannot be judged.
    ///
    /// Only this option detects a log that was never written.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "Findings that count"
    )]
    expect: Option<u64>,

    /// Exit 2 unless the command of a judged process matches.
    ///
    /// A launcher or a wrong path can make Valgrind judge another program. Can be given several times; each regex must match
    /// the command of at least one process.
    #[arg(long, value_name = "REGEX", value_parser = parse_regex, help_heading = "Findings that count")]
    command: Vec<Regex>,

    /// Accept launchers whose programs did not run under Valgrind.
    ///
    /// A launcher is a shell, a shell script, make, timeout, a runner of tests or the like. Without --trace-children=yes,
    /// Valgrind judges only the launcher itself.
    #[arg(long, help_heading = "Findings that count")]
    allow_launcher: bool,

    /// The exit status of the job whose output is judged.
    ///
    /// A sanitizer prints nothing if it finds nothing. With 0, an input without a report is clean. With any other N, it
    /// cannot be judged, because the job failed for another reason. A report is judged in the same way for each N.
    #[arg(long, value_name = "N", help_heading = "Findings that count")]
    job_status: Option<u8>,

    /// Skip children whose log ends after its preamble.
    ///
    /// The log of a child ends there if the child executed a program that Valgrind does not follow, or if it was killed.
    /// The log of the child's parent must be among the inputs. Valgrind's --child-silent-after-fork=yes prevents such
    /// logs, but also hides the findings of all other children.
    #[arg(long, help_heading = "Findings that count")]
    allow_exec: bool,

    /// Accept the known findings in this file.
    ///
    /// --update-baseline writes the file. A finding is identified by its kind and the names of its own frames, which survive
    /// rebuilds and edits. If a name is missing, or another build inlined a function, the lines of the frames decide, or the
    /// text of the lines below --root. The baseline limits the number of equal findings per process. The report lists baseline
    /// entries that no longer occur and known leaks that grew.
    #[arg(long, value_name = "FILE", help_heading = "Known findings")]
    baseline: Option<PathBuf>,

    /// Write the present findings to the baseline.
    ///
    /// Adds new findings, removes those that no longer occur, and updates the sizes. The file must be a regular file or a
    /// symbolic link to one. It is replaced as a whole and keeps its permissions. The report then uses the new baseline.
    /// If an input cannot be judged, the file stays unchanged.
    #[arg(long, requires = "baseline", help_heading = "Known findings")]
    update_baseline: bool,

    /// Fail on a known leak that grew by more than N bytes, or by more than P percent of its bytes or blocks.
    ///
    /// The baseline records the bytes and blocks of each known leak in the process that has most of them. Growth is
    /// reported even without this option.
    #[arg(
        long,
        value_name = "N|P%",
        requires = "baseline",
        help_heading = "Known findings"
    )]
    max_growth: Option<MaxGrowth>,

    /// Apply a suppression file in Valgrind's format.
    ///
    /// Valgrind compares suppressions with mangled names and objects, but its reports do not contain all of these. If a
    /// report has the mangled name (--gen-suppressions=all), leak-check compares a pattern with that name, otherwise with
    /// the demangled name. It compares an object only if the report names the object; XML names all objects.
    #[arg(long, value_name = "FILE", help_heading = "Known findings")]
    suppressions: Vec<PathBuf>,

    /// Count also the blocks that Rust's standard library and test harness never free.
    ///
    /// By default, built-in suppressions excuse these blocks, and the report lists the findings that they matched. They do
    /// not match a leak of the program's own code through the same functions.
    #[arg(long, help_heading = "Known findings")]
    no_default_suppressions: bool,

    /// List the suppressions that matched nothing on standard error.
    #[arg(long, help_heading = "Known findings")]
    list_unused_suppressions: bool,

    /// Write suppressions instead of a report.
    ///
    /// Valgrind compares suppressions with mangled names, but its reports contain these only with --gen-suppressions=all.
    /// Otherwise leak-check writes a pattern for a C++ or Rust function: its identifiers, each preceded by its length. For
    /// a program without symbols, it can write only objects, and prints a warning.
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    write_suppressions: bool,

    /// text, markdown, html, json, junit, sarif, github, gitlab.
    ///
    /// By default, the ending of the -o file chooses the format: .html, .md, .jsonl, .xml (JUnit) or .sarif. For any other
    /// ending the format is text.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    format: Option<ReportFormat>,

    #[command(flatten)]
    redact: RedactArgs,

    /// Show source paths relative to DIR, the root of the repository.
    ///
    /// The formats for code hosts need this. Text logs contain only the base names of files; for code hosts, leak-check
    /// looks these up below DIR.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Output")]
    root: PathBuf,

    /// Search this directory too for the sources of an HTML page; can be given several times.
    ///
    /// The page (-f html) shows the source around the lines of a stack. Because a log may name any file, the page shows only
    /// sources below --root, below these directories, and in the Rust toolchains' library.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    source_root: Vec<PathBuf>,

    /// When to colour the text report.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    color: ColorChoice,

    /// Fit the frames of stacks into this many columns; 0 writes them in full.
    ///
    /// By default, they fit the terminal. Elsewhere they fit the variable COLUMNS, or are written in full if it is not set.
    #[arg(long, value_name = "COLUMNS", help_heading = "Output")]
    width: Option<usize>,

    /// Show every frame of a stack.
    ///
    /// By default, several consecutive frames of allocators, language runtimes or the system are folded into one line.
    #[arg(long, help_heading = "Output")]
    all_frames: bool,
}

impl CommandLine for Args {
    const SHORT_HELP: &[&str] = &[
        "no_errors",
        "only",
        "ignore",
        "baseline",
        "update_baseline",
        "suppressions",
        "write_suppressions",
        "format",
    ];
    const SPELLINGS: Spellings = include_str!("spellings.txt");
}

impl Args {
    /// Converts the arguments to options. Reads the files of `--ignore-file`.
    pub(crate) fn options(self, output: &Output) -> anyhow::Result<Options> {
        anyhow::ensure!(
            !self.no_errors || self.errors_for_leak_kinds != LeakKinds::default(),
            "--no-errors with --errors-for-leak-kinds none leaves nothing that counts; remove one of them"
        );
        let mut ignore: Vec<String> = self.ignore.iter().map(|regex| regex.to_string()).collect();
        let mut ignore_files = Vec::new();
        for path in &self.ignore_file {
            let patterns = read_patterns(path)?;
            // An empty file is not a condition, so it cannot be unmatched.
            if !patterns.is_empty() {
                ignore_files.push((format!("--ignore-file {}", path.display()), patterns.len()));
            }
            ignore.extend(patterns);
        }
        let from_files = |flag: &'static str, regexes: &[String], files: Vec<(String, usize)>| {
            (!regexes.is_empty())
                .then(|| AnyOf::new(regexes).map(|all| all.with_origin(flag, files)))
                .transpose()
                .context(flag)
        };
        let patterns = |flag, regexes: &[String]| from_files(flag, regexes, Vec::new());
        let texts = |regexes: &[Regex]| -> Vec<String> {
            regexes.iter().map(|regex| regex.to_string()).collect()
        };
        let policy = Policy {
            leak_kinds: self.errors_for_leak_kinds,
            last_search: self.last_search,
            errors: !self.no_errors,
            signals: !self.ignore_signals,
            max_bytes: self.max_bytes.map(Count::from),
            max_blocks: self.max_blocks.map(Count::from),
            max_growth: self.max_growth,
            only: FramePatterns {
                code: patterns("--only", &texts(&self.only))?,
                obj: patterns("--only-obj", &texts(&self.only_obj))?,
            },
            ignore: FramePatterns {
                code: from_files("--ignore", &ignore, ignore_files)?,
                obj: patterns("--ignore-obj", &texts(&self.ignore_obj))?,
            },
        };
        let format = self
            .format
            .or_else(|| ReportFormat::from_file_name(output))
            .unwrap_or(ReportFormat::Text);
        Ok(Options {
            files: self.files,
            allow_fragment: self.allow_fragment,
            allow_exec: self.allow_exec,
            allow_launcher: self.allow_launcher,
            commands: self.command,
            job_status: self.job_status,
            expect: self.expect,
            allow_unmatched: self.allow_unmatched,
            policy,
            suppressions: self.suppressions,
            default_suppressions: !self.no_default_suppressions,
            list_unused_suppressions: self.list_unused_suppressions,
            write_suppressions: self.write_suppressions,
            baseline: self.baseline,
            update_baseline: self.update_baseline,
            redact: self.redact.redact,
            format,
            screen: Screen {
                width: output.width(self.width),
                is_coloured: output.is_coloured(self.color),
                ..Screen::default()
            },
            all_frames: self.all_frames,
            paths: Paths::relative_to(&self.root).context("--root")?,
            places: match format {
                ReportFormat::Html => Places {
                    here: Some(self.root),
                    roots: self.source_root,
                    rust: rust_sources(),
                },
                _ => Places::default(),
            },
        })
    }
}

/// Parses the regex of a condition. Rejects an empty one: it matches everything, and probably comes from an unset variable.
fn parse_regex(text: &str) -> Result<Regex, String> {
    if text.trim().is_empty() {
        return Err("expected a regex, found none; check for an unset variable".to_owned());
    }
    Regex::new(text).map_err(|error| error.to_string())
}

/// Parses the regex of an exclusion. Rejects one that matches every name, such as `a|` from `a|$B` if B is not set.
fn parse_selective_regex(text: &str) -> Result<Regex, String> {
    let regex = parse_regex(text)?;
    match regex.is_match("") {
        true => Err("this regex matches every name, so no finding would count".to_owned()),
        false => Ok(regex),
    }
}

/// Reads the regexes of a file. Checks each regex, to report a bad one with its line number.
fn read_patterns(path: &Path) -> anyhow::Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| name.to_string())?;
    let mut patterns = Vec::new();
    for (position, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        parse_selective_regex(line).map_err(|error| {
            // The error shows the pattern on several lines; the last line contains the reason.
            let reason = error.lines().last().unwrap_or_default();
            let reason = reason.trim().trim_start_matches("error: ");
            anyhow::anyhow!(
                "{name}:{}: expected a regex, found \"{line}\": {reason}",
                position + 1
            )
        })?;
        patterns.push(line.to_owned());
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_lists_options_and_no_spelling_is_an_option() {
        assert_eq!(cg_tool::check::<Args>(), Ok(()));
    }
}
