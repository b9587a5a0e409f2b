//! The process edge of the five tools, written once: arguments, exit statuses, messages on stderr, closed pipes.
//!
//! Exit statuses: 0 is done (for a gate: clean), 1 is done and the gate says no, 2 is could not do it or could not
//! judge. Data goes to stdout or to the file of `-o`, talk to stderr, a message a line: `tool: file:line: message`.

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

pub use crate::diagnostics::Diagnostics;
pub use clap::ColorChoice;
pub use output::{Output, WhenClosed};
pub use own_output::PPROF_COMMENT;
pub use spelling::{Spellings, check};

/// What a tool has to say by its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit 0.
    Done,
    /// Exit 1: a gate says no.
    No,
}

/// A tool's own options.
pub trait CommandLine: Parser {
    /// What `-h` shows of them, by id; `--help` and the manual have all.
    const SHORT_HELP: &[&str];

    /// What options are called here that users know from other programs.
    const SPELLINGS: Spellings;

    /// The labels of a stream that choose its file; where there are any, `-o` is a directory.
    fn partition_keys(&self) -> &[String] {
        &[]
    }
}

/// Runs a tool: parses its arguments, opens its output, calls `run`, prints its error, and maps all of it to an exit
/// status.
pub fn main<Args: CommandLine>(
    run: impl FnOnce(Args, &mut Output, &mut Diagnostics) -> anyhow::Result<Outcome>,
) -> ExitCode {
    let command = whole_command::<Args>();
    let mut diagnostics = on_stderr(command.get_name());
    let written: Vec<OsString> = std::env::args_os().skip(1).collect();
    let parsed = command.clone().try_get_matches().and_then(|matches| {
        let common = CommonArgs::from_arg_matches(&matches)?;
        Ok((common, Args::from_arg_matches(&matches)?))
    });
    let outcome = match parsed {
        Err(error) => match spelling::told(&error, &command, &written, Args::SPELLINGS) {
            Some(told) => Err(anyhow::Error::msg(told)),
            None => return show(&error, &mut diagnostics),
        },
        Ok((common, args)) => {
            if common.quiet {
                diagnostics = errors_on_stderr(command.get_name());
            }
            let told = spelling::told_of_word(&written, Args::SPELLINGS).or_else(|| {
                let path = common.output.as_deref()?;
                spelling::told_of_output(path, Args::SPELLINGS)
            });
            match told {
                Some(told) => Err(anyhow::Error::msg(told)),
                None => run_with(&common, command, args, run, &mut diagnostics),
            }
        }
    };
    match outcome {
        Err(error) if is_closed_pipe(&error) => {}
        Err(error) => diagnostics.trouble(format!("{error:#}")),
        Ok(Outcome::No) if !diagnostics.had_trouble() => return ExitCode::from(1),
        Ok(_) => {}
    }
    if diagnostics.had_trouble() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

/// Opens the output, runs the tool, and puts the file of `-o` into place.
fn run_with<Args: CommandLine>(
    common: &CommonArgs,
    command: clap::Command,
    args: Args,
    run: impl FnOnce(Args, &mut Output, &mut Diagnostics) -> anyhow::Result<Outcome>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let mut output = open(common, args.partition_keys())?;
    let outcome = match common.generate {
        Some(what) => {
            output.set_when_closed(WhenClosed::GoOn);
            manual::write(what, command, &mut output)?;
            Outcome::Done
        }
        None => run(args, &mut output, diagnostics)?,
    };
    if let Some(file) = output.finish(diagnostics.had_trouble())? {
        diagnostics.trouble(format!(
            "{file} was not written, because not all of it could be; without -o there is what could be read"
        ));
    }
    Ok(outcome)
}

/// A tool's options and those that all tools have.
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

/// Opens the output. If a file cannot be made, the error names it.
fn open(common: &CommonArgs, partition_keys: &[String]) -> anyhow::Result<Output> {
    let path = common.output.as_deref();
    let opened = match (path, partition_keys) {
        (_, []) => Output::open(path, common.force),
        (Some(directory), keys) if directory != Path::new("-") => {
            Output::partitions(directory, keys)
        }
        _ => anyhow::bail!("--partition-by writes files: -o DIR says where to"),
    };
    opened.map_err(|error| match path {
        Some(path) => anyhow::anyhow!("{}: {error}", path.display()),
        None => error.into(),
    })
}

/// Prints what clap has to say: a usage error to stderr, `--help` and `--version` to stdout.
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
        Err(error) => diagnostics.trouble(format!("standard output: {error}")),
        Ok(()) => {}
    }
    if message.use_stderr() || diagnostics.had_trouble() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints each message to stderr behind the tool's name, and shows a bar to a person who waits.
fn on_stderr(tool: &str) -> Diagnostics {
    let tool = tool.to_owned();
    Diagnostics::to(move |message, _| {
        // There is nowhere left to report a stderr that cannot be written.
        let _ = writeln!(io::stderr(), "{tool}: {message}");
    })
    .with_progress(progress::bar)
}

/// Prints errors alone, and no bar.
fn errors_on_stderr(tool: &str) -> Diagnostics {
    let mut all = on_stderr(tool);
    Diagnostics::to(move |message, is_trouble| {
        if is_trouble {
            all.trouble(message);
        }
    })
}

/// The paths a tool was given, `-` where it was given none. A person who started it by mistake is told what it waits for.
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

/// True where an error is that of writing to a pipe nobody reads.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io_error = cause.downcast_ref::<io::Error>().or_else(|| {
            cause
                .downcast_ref::<crate::Error>()
                .and_then(crate::Error::as_io)
        });
        io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// The options that every tool has besides its own.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
struct CommonArgs {
    /// Write to FILE instead of standard output.
    ///
    /// The file is there as a whole when the tool is done, and as it was before where the tool fails. Devices and pipes
    /// are written to as they are. A file that is there is replaced if it is empty or one of these tools wrote it.
    #[arg(short, long, value_name = "FILE", display_order = 900)]
    output: Option<PathBuf>,

    /// Replace the file of -o whatever it holds.
    #[arg(long, requires = "output", display_order = 900)]
    force: bool,

    /// Say nothing but errors on standard error.
    ///
    /// Output, exit status and errors are as without it.
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

/// Takes any text, of which shells complete some words.
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
