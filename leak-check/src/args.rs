//! The command line of leak-check.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_document::text::Screen;
use cg_sources::{Places, rust_sources};
use cg_stream::record::Count;
use cg_stream::tool::{ColorChoice, CommandLine, Output, Spellings, Suggested};
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

/// Judge Valgrind's errors and leaks: exit 0 if clean, 1 if not, 2 if in doubt.
///
/// Reads text logs and XML of Memcheck, Helgrind and DRD, reports of sanitizers, and streams of cg-parse. A finding is a counted error or leak
/// that no suppression, --ignore or baseline excuses. What is missing, empty, cut short or not recognised is never
/// clean.
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
    after_long_help = "Exit status: 0 is clean; 1 is a finding that counts; 2 is trouble, or something that could not be judged."
)]
#[command(next_help_heading = "What counts")]
pub(crate) struct Args {
    /// Logs, XML files, streams, and folders of them; - or none is standard input.
    #[arg(value_name = "FILE", help_heading = None)]
    files: Vec<PathBuf>,

    /// Leak kinds that count.
    ///
    /// all, none or some of definite,indirect,possible,reachable.
    #[arg(
        value_parser = Suggested(&["all", "none", "definite", "indirect", "possible", "reachable"])
            .try_map(|kinds| kinds.parse::<LeakKinds>()),
        hide_possible_values = true,
        long,
        value_name = "KINDS",
        default_value = "definite,possible",
        help_heading = "What counts"
    )]
    errors_for_leak_kinds: LeakKinds,

    /// Count memory errors (default).
    #[arg(
        long = "errors",
        overrides_with = "no_errors",
        help_heading = "What counts"
    )]
    _errors: bool,

    /// Count leaks alone.
    #[arg(long, overrides_with = "_errors", help_heading = "What counts")]
    no_errors: bool,

    /// Let processes pass that a signal ended.
    ///
    /// A fatal signal is a finding of the kind FatalSignal, with the stack that the log has. This is for tests that end
    /// their processes by signals on purpose.
    #[arg(long, help_heading = "What counts")]
    ignore_signals: bool,

    /// Let new leaks pass that have at most N direct bytes together.
    #[arg(long, value_name = "N", help_heading = "What counts")]
    max_bytes: Option<u64>,

    /// Let new leaks pass that have at most N blocks together.
    #[arg(long, value_name = "N", help_heading = "What counts")]
    max_blocks: Option<u64>,

    /// Count only findings in functions or files that match.
    ///
    /// The function or file is that of the frame to blame.
    /// A file matches in full, and as reports show it: relative to --root. A leak is blamed on the innermost frame that
    /// matches; an error on the innermost frame of the program itself. What Valgrind counted without printing it counts
    /// always. May be given several times; one match is enough.
    #[arg(long, value_name = "REGEX", value_parser = regex, help_heading = "What counts")]
    only: Vec<Regex>,

    /// Count only what is blamed on a frame whose object matches; with --only, both have to match.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = regex,
        help_heading = "What counts"
    )]
    only_obj: Vec<Regex>,

    /// Leave out findings in functions or files that match.
    ///
    /// The function or file is that of the frame to blame, or of a frame that it called. May be given several times.
    #[arg(long, value_name = "REGEX", value_parser = regex_that_tells, help_heading = "What counts")]
    ignore: Vec<Regex>,

    /// Leave out findings where the object of the frame to blame, or of a frame that it called, matches; with --ignore,
    /// both have to match.
    #[arg(
        long,
        value_name = "REGEX",
        value_parser = regex_that_tells,
        help_heading = "What counts"
    )]
    ignore_obj: Vec<Regex>,

    /// Read regexes for --ignore from FILE, one a line; lines that begin with # are comments.
    #[arg(long, value_name = "FILE", help_heading = "What counts")]
    ignore_file: Vec<PathBuf>,

    /// Accept conditions that match nothing.
    ///
    /// A regex of --only, --only-obj, --ignore or --ignore-obj, or a file of --ignore-file, that matches no frame of any
    /// finding judged nothing, and is 2: a name was misspelled, or has changed. With this, standard error says so and no more.
    #[arg(long, help_heading = "What counts")]
    allow_unmatched: bool,

    /// Judge what there is of streams without run and end records, filtered streams and logs without a summary (-q).
    #[arg(long, help_heading = "What counts")]
    allow_fragment: bool,

    /// Exit 2 unless there are N processes, those that could not be judged among them.
    ///
    /// A log that was never written is missed by nothing else.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "What counts"
    )]
    expect: Option<u64>,

    /// Pass over children whose log ends behind its preamble.
    ///
    /// So ends the log of a child that executed a program which Valgrind does not follow, and that of one that was killed.
    /// The log of the child's parent has to be among the inputs. Valgrind's --child-silent-after-fork=yes keeps children
    /// from leaving such logs, but hides what others do.
    #[arg(long, help_heading = "What counts")]
    allow_exec: bool,

    /// Let the findings of this file pass.
    ///
    /// They are known, as --update-baseline wrote them.
    /// A finding is known by its kind and the names of its own frames, which survive rebuilds and edits. The baseline
    /// says how many equal ones a process may have. Baseline entries that no longer occur are reported, and so are
    /// known leaks that grew.
    #[arg(long, value_name = "FILE", help_heading = "What is known")]
    baseline: Option<PathBuf>,

    /// Write what was found to the baseline.
    ///
    /// New findings come in, those that no longer occur go out, sizes are those of now.
    /// The file behind a symbolic link is replaced and keeps its permissions; it has to be a regular file.
    /// The report is of what is known then. If anything could not be judged, the file is left as it was.
    #[arg(long, requires = "baseline", help_heading = "What is known")]
    update_baseline: bool,

    /// Fail on a known leak that grew by more than N bytes, or by more than P per cent of its bytes or blocks.
    ///
    /// The baseline says how many bytes and blocks each known leak has in the process that has most of them. Growth is
    /// reported with and without this.
    #[arg(
        long,
        value_name = "N|P%",
        requires = "baseline",
        help_heading = "What is known"
    )]
    max_growth: Option<MaxGrowth>,

    /// Apply a suppression file of Valgrind's.
    ///
    /// Valgrind matches suppressions by mangled names and by objects, and its reports leave some of these out. A pattern
    /// for a mangled name is compared with that name where the report has it (--gen-suppressions=all), else demangled. A
    /// pattern for an object is compared where the report names the object; XML names all of them.
    #[arg(long, value_name = "FILE", help_heading = "What is known")]
    suppressions: Vec<PathBuf>,

    /// Count too what Rust's standard library and test harness leave allocated in every program.
    ///
    /// leak-check has suppressions for it of its own, and the report says what they matched. No stack that shows the
    /// program's own code below these functions is among them.
    #[arg(long, help_heading = "What is known")]
    no_default_suppressions: bool,

    /// Name the suppressions that matched nothing, on standard error.
    #[arg(long, help_heading = "What is known")]
    list_unused_suppressions: bool,

    /// Write suppressions instead of a report.
    ///
    /// Valgrind compares with mangled names, which its reports have only with --gen-suppressions=all. Without
    /// them, a C++ or Rust function is written as a pattern: each of its identifiers behind its length. A program without
    /// symbols has nothing but objects; standard error says so.
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    write_suppressions: bool,

    /// text, markdown, html, json, junit, sarif, github, gitlab.
    ///
    /// Without it the ending of -o's file tells: .html, .md, .jsonl, .xml (JUnit), .sarif; of any other it is text.
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    format: Option<ReportFormat>,

    /// Show source paths relative to DIR, the root of the repository.
    ///
    /// Formats for code hosts need this. Text logs have the base names of files alone; for code hosts they are looked up below DIR.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Output")]
    root: PathBuf,

    /// Look for the sources of a page below this directory too, and show them from there; can be given several times.
    ///
    /// A page (-f html) shows the source around the lines of a stack. A log may name any file, so only sources below --root
    /// and these directories are shown, and those of the Rust toolchains' own library.
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

    /// Show every frame of a stack.
    ///
    /// Without this, frames of allocators, language runtimes and the system are folded where several stand in a row.
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
    /// The options these arguments ask for.
    pub(crate) fn options(self, output: &Output) -> anyhow::Result<Options> {
        anyhow::ensure!(
            !self.no_errors || self.errors_for_leak_kinds != LeakKinds::default(),
            "--no-errors and --errors-for-leak-kinds none leave nothing that counts"
        );
        let mut ignore: Vec<String> = self.ignore.iter().map(|regex| regex.to_string()).collect();
        let mut ignore_files = Vec::new();
        for path in &self.ignore_file {
            let patterns = read_patterns(path)?;
            // A file without any line asks for nothing.
            if !patterns.is_empty() {
                ignore_files.push((format!("--ignore-file {}", path.display()), patterns.len()));
            }
            ignore.extend(patterns);
        }
        let from_files = |flag: &'static str, regexes: &[String], files: Vec<(String, usize)>| {
            (!regexes.is_empty())
                .then(|| AnyOf::new(regexes).map(|all| all.given(flag, files)))
                .transpose()
                .context(flag)
        };
        let patterns = |flag, regexes: &[String]| from_files(flag, regexes, Vec::new());
        let texts = |regexes: &[Regex]| -> Vec<String> {
            regexes.iter().map(|regex| regex.to_string()).collect()
        };
        let policy = Policy {
            leak_kinds: self.errors_for_leak_kinds,
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
            .or_else(|| ReportFormat::of_name(output))
            .unwrap_or(ReportFormat::Text);
        Ok(Options {
            files: self.files,
            allow_fragment: self.allow_fragment,
            allow_exec: self.allow_exec,
            expect: self.expect,
            allow_unmatched: self.allow_unmatched,
            policy,
            suppressions: self.suppressions,
            default_suppressions: !self.no_default_suppressions,
            list_unused_suppressions: self.list_unused_suppressions,
            write_suppressions: self.write_suppressions,
            baseline: self.baseline,
            update_baseline: self.update_baseline,
            format,
            screen: Screen {
                width: output.terminal_width(),
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

/// A regex of a condition. An empty one is a variable that was not set, and matches everything.
fn regex(text: &str) -> Result<Regex, String> {
    if text.trim().is_empty() {
        return Err("expected a regex, found none (a variable that is not set?)".to_owned());
    }
    Regex::new(text).map_err(|error| error.to_string())
}

/// A regex of what is left out, which must not be everything: `a|` is what is left of `a|$B` where B is not set.
fn regex_that_tells(text: &str) -> Result<Regex, String> {
    let regex = regex(text)?;
    match regex.is_match("") {
        true => Err("it matches every name, so nothing would count".to_owned()),
        false => Ok(regex),
    }
}

/// The regexes of a file, each checked by itself so that a bad one is named with its line.
fn read_patterns(path: &Path) -> anyhow::Result<Vec<String>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| name.to_string())?;
    let mut patterns = Vec::new();
    for (position, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        regex_that_tells(line).map_err(|error| {
            // The error draws the pattern over several lines; its last one says what is wrong.
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
    fn the_short_help_is_of_options_and_no_spelling_is_one() {
        assert_eq!(cg_stream::tool::check::<Args>(), Ok(()));
    }
}
