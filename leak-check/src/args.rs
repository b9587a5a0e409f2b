//! The command line of leak-check.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_stream::record::Count;
use cg_stream::tool::CommonArgs;
use clap::{Parser, ValueEnum};
use regex::{Regex, RegexSet};

use crate::finding::LeakKinds;
use crate::frame_patterns::FramePatterns;
use crate::gate::Options;
use crate::growth::MaxGrowth;
use crate::paths::Paths;
use crate::policy::Policy;
use crate::report::ReportFormat;

/// Judge Valgrind's errors and leaks: exit 0 if clean, 1 if there are findings, 2 if it cannot be told.
///
/// Reads text logs and XML of Memcheck, Helgrind and DRD, and streams of cg-parse. A finding is a counted error or leak
/// that no suppression, --ignore or baseline excuses. What is missing, empty, cut short or not recognised is never
/// clean.
#[derive(Parser, Debug)]
#[command(
    name = "leak-check",
    version,
    before_long_help = "Examples:
  leak-check valgrind.*.xml
  leak-check --baseline known.jsonl --only '^src/' target/valgrind/*.xml
  leak-check --baseline known.jsonl --update-baseline target/valgrind/*.xml
  leak-check --write-suppressions valgrind.log >> valgrind.supp
  valgrind --leak-check=full ./prog 2>&1 | cg-parse | leak-check"
)]
pub(crate) struct Args {
    /// Logs, XML files and streams; `-` or none is standard input.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Leak kinds that count: all, none or some of definite,indirect,possible,reachable.
    #[arg(
        long,
        value_name = "KINDS",
        default_value = "definite,possible",
        help_heading = "What counts"
    )]
    errors_for_leak_kinds: LeakKinds,

    /// Count errors that are no leaks; this is the default.
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
    /// A fatal signal is a finding of the kind FatalSignal, with the stack that the log has. Where tests end their
    /// processes by signals on purpose, it is none.
    #[arg(long, help_heading = "What counts")]
    ignore_signals: bool,

    /// Let new leaks pass that have at most N direct bytes together.
    #[arg(long, value_name = "N", help_heading = "What counts")]
    max_bytes: Option<u64>,

    /// Let new leaks pass that have at most N blocks together.
    #[arg(long, value_name = "N", help_heading = "What counts")]
    max_blocks: Option<u64>,

    /// Count only what is blamed on a frame whose function or file matches.
    ///
    /// A file matches in full, and as reports show it: relative to --root. A leak is blamed on the innermost frame that
    /// matches; an error on the innermost frame of the program itself. What Valgrind counted without printing it counts
    /// always. May be given several times; one match is enough.
    #[arg(long, value_name = "REGEX", help_heading = "What counts")]
    only: Vec<Regex>,

    /// Count only what is blamed on a frame whose object matches; with --only, both have to match.
    #[arg(long, value_name = "REGEX", help_heading = "What counts")]
    only_obj: Vec<Regex>,

    /// Leave out findings where the function or file of the frame to blame, or of a frame that it called, matches.
    ///
    /// May be given several times.
    #[arg(long, value_name = "REGEX", help_heading = "What counts")]
    ignore: Vec<Regex>,

    /// Leave out findings where the object of the frame to blame, or of a frame that it called, matches; with --ignore,
    /// both have to match.
    #[arg(long, value_name = "REGEX", help_heading = "What counts")]
    ignore_obj: Vec<Regex>,

    /// Read regexes for --ignore from FILE, one a line; lines that begin with # are comments.
    #[arg(long, value_name = "FILE", help_heading = "What counts")]
    ignore_file: Vec<PathBuf>,

    /// Judge what there is of streams without run and end records, filtered streams and logs without a summary (-q).
    #[arg(long, help_heading = "What counts")]
    allow_fragment: bool,

    /// Findings that are known and do not fail, as --update-baseline writes them.
    ///
    /// A finding is known by its kind and the names of its own frames, which survive rebuilds and edits. The baseline
    /// says how many equal ones a process may have. What it knows and is there no more is reported, and so is a leak of
    /// which there is more.
    #[arg(long, value_name = "FILE", help_heading = "What is known")]
    baseline: Option<PathBuf>,

    /// Write what was found to the baseline: new findings come in, those that are gone go out, sizes are those of now.
    ///
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

    /// Apply a suppression file of Valgrind's to what was found.
    ///
    /// Valgrind knows more than it reports: mangled names are compared where it wrote them (--gen-suppressions=all) or
    /// where demangling the pattern tells, objects where it names them (XML has those of all frames).
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

    /// Print a suppression for each finding that remains, instead of a report.
    ///
    /// Valgrind compares with mangled names, which its reports have only with --gen-suppressions=all. Without them the
    /// names of C++ and Rust functions are written as patterns of their identifiers and these' lengths. Of a program
    /// without symbols nothing but objects is known, which standard error says.
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    write_suppressions: bool,

    /// How to report.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Output"
    )]
    format: FormatName,

    /// Show source paths relative to DIR, which formats for code hosts need to be the root of the repository.
    ///
    /// Text logs have the base names of files alone; for code hosts they are looked up below DIR.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Output")]
    root: PathBuf,

    /// When to colour the text report.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    color: ColourName,

    /// Show every frame of a stack; else allocators, language runtimes and the system are folded where several of their
    /// frames stand in a row.
    #[arg(long, help_heading = "Output")]
    all_frames: bool,

    #[command(flatten)]
    _common: CommonArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// For people.
    Text,
    /// A comment on a pull request; its first line is a marker to find it by.
    Markdown,
    /// The stream, every record with what became of it and its fingerprint.
    Json,
    /// A case for each process or test.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// GitLab's Code Quality report.
    Gitlab,
}

impl FormatName {
    fn format(self) -> ReportFormat {
        match self {
            FormatName::Text => ReportFormat::Text,
            FormatName::Markdown => ReportFormat::Markdown,
            FormatName::Json => ReportFormat::Json,
            FormatName::Junit => ReportFormat::Junit,
            FormatName::Sarif => ReportFormat::Sarif,
            FormatName::Github => ReportFormat::Github,
            FormatName::Gitlab => ReportFormat::Gitlab,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColourName {
    Auto,
    Always,
    Never,
}

impl Args {
    /// The options these arguments ask for.
    pub(crate) fn options(self) -> anyhow::Result<Options> {
        let in_colour = self.in_colour();
        let mut ignore: Vec<String> = self.ignore.iter().map(|regex| regex.to_string()).collect();
        for path in &self.ignore_file {
            ignore.extend(read_patterns(path)?);
        }
        let patterns = |flag: &'static str, regexes: &[String]| {
            (!regexes.is_empty())
                .then(|| RegexSet::new(regexes))
                .transpose()
                .context(flag)
        };
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
                code: patterns("--ignore", &ignore)?,
                obj: patterns("--ignore-obj", &texts(&self.ignore_obj))?,
            },
        };
        Ok(Options {
            files: self.files,
            allow_fragment: self.allow_fragment,
            policy,
            suppressions: self.suppressions,
            default_suppressions: !self.no_default_suppressions,
            list_unused_suppressions: self.list_unused_suppressions,
            write_suppressions: self.write_suppressions,
            baseline: self.baseline,
            update_baseline: self.update_baseline,
            format: self.format.format(),
            in_colour,
            all_frames: self.all_frames,
            paths: Paths::relative_to(&self.root).context("--root")?,
        })
    }

    fn in_colour(&self) -> bool {
        match self.color {
            ColourName::Always => true,
            ColourName::Never => false,
            // NO_COLOR, CLICOLOR_FORCE, TERM and whether there is a terminal.
            ColourName::Auto => {
                anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
            }
        }
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
        Regex::new(line).map_err(|error| {
            // The error draws the pattern over several lines; its last one says what is wrong.
            let message = error.to_string();
            let reason = message.lines().last().unwrap_or_default();
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
