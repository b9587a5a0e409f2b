//! The process edge of the five tools: arguments, exit statuses, messages on stderr, output files, closed pipes. This crate does
//! not look into records, except for the labels that choose an output file.
//!
//! Exit statuses: 0 is success (for a gate: passed), 1 is a gate that failed, 2 is an error, so that a gate could not
//! judge. Data goes to stdout or to the file of `-o`. Messages go to stderr, one per line: `tool: file:line: message`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::StringValueParser;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{ArgAction, Args as _, FromArgMatches as _, Parser};

mod manual;
mod output;
mod own_output;
mod partitions;
mod progress;
mod spelling;
pub mod whole_file;

pub use cg_stream::diagnostics::Diagnostics;
pub use clap::ColorChoice;
use output::Finished;
pub use output::{Output, WhenClosed};
pub use own_output::PPROF_COMMENT;
pub use spelling::{Spellings, check};

/// The result of a tool without errors, which determines its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit 0.
    Done,
    /// Exit 1: a gate failed.
    No,
}

/// A tool's own options.
pub trait CommandLine: Parser {
    /// The ids of the options in the output of `-h`. `--help` and the manual have all options.
    const SHORT_HELP: &[&str];

    /// The tool's options for options that users know from other programs.
    const SPELLINGS: Spellings;

    /// Returns the labels of a stream that choose its file. If there are any, `-o` is a directory.
    fn partition_keys(&self) -> &[String] {
        &[]
    }
}

/// Runs a tool: parses its arguments, opens its output, calls `run` and prints its error. Returns the exit status.
pub fn main<Args: CommandLine>(
    run: impl FnOnce(Args, &mut Output, &mut Diagnostics) -> anyhow::Result<Outcome>,
) -> ExitCode {
    let mut command = whole_command::<Args>();
    let mut diagnostics = on_stderr(command.get_name());
    let written: Vec<OsString> = std::env::args_os().skip(1).collect();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| {
        let common = CommonArgs::from_arg_matches(&matches)?;
        Ok((common, Args::from_arg_matches(&matches)?))
    });
    let outcome = match parsed {
        Err(error) => match spelling::usage_error(&error, &command, &written, Args::SPELLINGS) {
            Some(message) => Err(anyhow::Error::msg(message)),
            None => return show(&error, &mut diagnostics),
        },
        Ok((common, args)) => {
            if common.quiet {
                diagnostics = errors_on_stderr(command.get_name());
            }
            let usage_error =
                spelling::usage_error_for_word(&written, Args::SPELLINGS).or_else(|| {
                    let path = common.output.as_deref()?;
                    spelling::usage_error_for_output(path, Args::SPELLINGS)
                });
            match usage_error {
                Some(message) => Err(anyhow::Error::msg(message)),
                None => run_with(&common, command, args, run, &mut diagnostics),
            }
        }
    };
    match outcome {
        Err(error) if is_closed_pipe(&error) => {}
        Err(error) => diagnostics.error(format!("{error:#}")),
        Ok(Outcome::No) if !diagnostics.has_errors() => return ExitCode::from(1),
        Ok(_) => {}
    }
    if diagnostics.has_errors() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

/// Opens the output, runs the tool, and moves the file of `-o` into place.
fn run_with<Args: CommandLine>(
    common: &CommonArgs,
    command: clap::Command,
    args: Args,
    run: impl FnOnce(Args, &mut Output, &mut Diagnostics) -> anyhow::Result<Outcome>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let mut output = open(common, args.partition_keys())?;
    if !output.is_stdout() {
        diagnostics.replace_progress(progress::bar_beside_file);
    }
    let outcome = match common.generate {
        Some(what) => {
            output.set_when_closed(WhenClosed::GoOn);
            manual::write(what, command, &mut output)?;
            Outcome::Done
        }
        None => run(args, &mut output, diagnostics)?,
    };
    match output.finish(diagnostics.has_errors())? {
        Finished::Written(warnings) => {
            warnings.iter().for_each(|warning| diagnostics.warn(warning));
        }
        Finished::Discarded(file) => diagnostics.error(format!(
            "{file} was not written, because the output is incomplete; without -o, it goes to standard output"
        )),
    }
    Ok(outcome)
}

/// Returns the command with the tool's own options and the options of all tools.
fn whole_command<Args: CommandLine>() -> clap::Command {
    let command = Args::command();
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    let command = command.disable_help_flag(true).disable_version_flag(true);
    let command = CommonArgs::augment_args(command);
    let is_first = |id: &str| Args::SHORT_HELP.contains(&id) || ["output", "help"].contains(&id);
    command
        .mut_args(|arg| {
            let hides = !is_first(arg.get_id().as_str());
            arg.hide_short_help(hides)
        })
        .about(about.unwrap_or_default())
        .long_about(long_about.unwrap_or_default())
}

/// Opens the output. If a file cannot be created, the error contains its path.
fn open(common: &CommonArgs, partition_keys: &[String]) -> anyhow::Result<Output> {
    let path = common.output.as_deref();
    let opened = match (path, partition_keys) {
        (_, []) => Output::open(path, common.force),
        (Some(directory), keys) if directory != Path::new("-") => {
            Output::partitions(directory, keys)
        }
        _ => anyhow::bail!("--partition-by writes files; add -o DIR to choose their directory"),
    };
    opened.map_err(|error| match path {
        Some(path) => anyhow::anyhow!("{}: {error}", path.display()),
        None => error.into(),
    })
}

/// Prints a message of clap: usage errors to stderr, `--help` and `--version` to stdout.
fn show(message: &clap::Error, diagnostics: &mut Diagnostics) -> ExitCode {
    let printed = if message.use_stderr() {
        message.print()
    } else {
        Output::check_open()
            .and_then(|()| message.print())
            .and_then(|()| io::stdout().flush())
    };
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => diagnostics.error(format!("standard output: {error}")),
        Ok(()) => {}
    }
    if message.use_stderr() || diagnostics.has_errors() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints each message to stderr after the tool's name, and shows a progress bar.
fn on_stderr(tool: &str) -> Diagnostics {
    let tool = tool.to_owned();
    Diagnostics::to(move |message, _| {
        // An error of writing to stderr cannot be reported.
        let _ = writeln!(io::stderr(), "{tool}: {message}");
    })
    .with_progress(progress::bar)
}

/// Prints only errors to stderr, and shows no progress bar.
fn errors_on_stderr(tool: &str) -> Diagnostics {
    let mut all = on_stderr(tool);
    Diagnostics::to(move |message, is_error| {
        if is_error {
            all.error(message);
        }
    })
}

/// Returns the paths in the arguments, or `-` if there are none. Warns if the tool waits for input from the terminal.
pub fn inputs(paths: &[PathBuf], diagnostics: &mut Diagnostics) -> Vec<PathBuf> {
    let paths = if paths.is_empty() {
        vec![PathBuf::from("-")]
    } else {
        paths.to_vec()
    };
    if paths.iter().any(|path| path.as_os_str() == "-") && io::stdin().is_terminal() {
        diagnostics
            .warn("reading from the terminal; name a file or pipe one in (--help has examples)");
    }
    paths
}

/// Returns true if the error comes from writing to a pipe that nobody reads.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io_error = cause.downcast_ref::<io::Error>().or_else(|| {
            cause
                .downcast_ref::<cg_stream::Error>()
                .and_then(cg_stream::Error::as_io)
        });
        io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// The options that all tools have.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
struct CommonArgs {
    /// Write to FILE instead of standard output.
    ///
    /// The file is written when the output is complete; if the tool fails, an old file is unchanged. A file that cannot be
    /// replaced, such as one mounted into a container, is overwritten at the end. Devices and pipes are written to directly.
    /// An existing file is replaced only if it is empty or if one of these tools wrote it.
    #[arg(short, long, value_name = "FILE", display_order = 900)]
    output: Option<PathBuf>,

    /// Replace the file of -o even if none of these tools wrote it.
    #[arg(long, requires = "output", display_order = 900)]
    force: bool,

    /// Print only errors on standard error.
    ///
    /// Output, exit status and errors do not change.
    #[arg(short, long, display_order = 900)]
    quiet: bool,

    /// Print a shell completion or the man page, and exit.
    ///
    /// WHAT is complete-bash, complete-elvish, complete-fish, complete-powershell, complete-zsh or man.
    #[arg(
        long,
        value_name = "WHAT",
        value_parser = manual::Generated::parse,
        display_order = 901
    )]
    generate: Option<manual::Generated>,

    /// Print the most used options; --help prints all.
    #[arg(id = "help", short = 'h', long = "help", action = ArgAction::Help, display_order = 902)]
    _help: Option<bool>,

    /// Print the version.
    #[arg(id = "version", short = 'V', long = "version", action = ArgAction::Version, display_order = 903)]
    _version: Option<bool>,
}

/// A parser that accepts any text. Shells complete these words.
#[derive(Clone, Copy, Debug)]
pub struct Suggested(pub &'static [&'static str]);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}
