//! The process edge of the five tools, written once: arguments, exit statuses, messages on stderr, closed pipes.
//!
//! Exit statuses: 0 is done (for a gate: clean), 1 is done and the gate says no, 2 is could not do it or could not
//! judge. Data goes to stdout, talk to stderr, a message a line: `tool: file:line: message`.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

mod progress;

pub use crate::diagnostics::Diagnostics;

/// What a tool has to say by its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit 0.
    Done,
    /// Exit 1: a gate says no.
    No,
}

/// Runs a tool: parses its arguments, calls `run`, prints its error, and maps all of it to an exit status.
pub fn main<Args: Parser>(
    run: impl FnOnce(Args, &mut Diagnostics) -> anyhow::Result<Outcome>,
) -> ExitCode {
    let command = Args::command();
    let name = command.get_name().to_owned();
    if let Some(what) = wanted_generation() {
        return generate(command, what);
    }
    let mut diagnostics = on_stderr(&name);
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(message) => return show(&message, &mut diagnostics),
    };
    match run(args, &mut diagnostics) {
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

/// What happens when nobody reads the output any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenClosed {
    /// The tool stops, quietly and with status 0: a filter has nothing left to do.
    Stop,
    /// The rest of the output is thrown away and the tool goes on to its verdict: a gate is not a print.
    GoOn,
}

/// Standard output, with the two ways a closed pipe can be meant. Errors name it.
pub struct Output {
    stdout: io::StdoutLock<'static>,
    when_closed: WhenClosed,
    closed: bool,
}

impl Output {
    /// Standard output.
    pub fn new(when_closed: WhenClosed) -> Output {
        Output {
            stdout: io::stdout().lock(),
            when_closed,
            closed: false,
        }
    }

    /// Fails where nothing can be written to, although every write would succeed.
    fn check_open() -> io::Result<()> {
        if cg_stdout::was_closed() {
            return Err(io::Error::other("is closed"));
        }
        Ok(())
    }

    fn settle<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error)
                if error.kind() == io::ErrorKind::BrokenPipe
                    && self.when_closed == WhenClosed::GoOn =>
            {
                self.closed = true;
                Ok(otherwise)
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(error),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("standard output: {error}"),
            )),
            Ok(value) => Ok(value),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = Output::check_open().and_then(|()| self.stdout.write(bytes));
        self.settle(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.stdout.flush();
        self.settle(result, ())
    }
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

/// The flag every tool has besides its own; flatten it into the tool's arguments.
#[derive(clap::Args, Clone, Debug)]
pub struct CommonArgs {
    /// Print a shell completion or the man page, and exit.
    ///
    /// WHAT is complete-bash, complete-elvish, complete-fish, complete-powershell, complete-zsh or man.
    #[arg(long, value_name = "WHAT", help_heading = "Other options")]
    generate: Option<String>,
}

/// What `--generate` asks for, looked up before the arguments are parsed: it needs none of the others.
fn wanted_generation() -> Option<String> {
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let Some(arg) = arg.to_str() else { continue };
        match arg.strip_prefix("--generate") {
            _ if arg == "--" => return None,
            Some("") => {
                return Some(
                    args.next()
                        .and_then(|what| what.into_string().ok())
                        .unwrap_or_default(),
                );
            }
            Some(rest) => return rest.strip_prefix('=').map(str::to_owned),
            None => {}
        }
    }
    None
}

/// Prints a completion script or the man page.
fn generate(mut command: clap::Command, what: String) -> ExitCode {
    use clap_complete::Shell;
    let name = command.get_name().to_owned();
    let shell = what
        .strip_prefix("complete-")
        .and_then(|shell| shell.parse::<Shell>().ok());
    let mut text = Vec::new();
    match (shell, what.as_str()) {
        (Some(shell), _) => clap_complete::generate(shell, &mut command, &name, &mut text),
        (None, "man") => {
            if clap_mangen::Man::new(command).render(&mut text).is_err() {
                return ExitCode::from(2);
            }
        }
        _ => {
            on_stderr(&name).trouble(format!(
                "--generate takes complete-bash, complete-elvish, complete-fish, complete-powershell, complete-zsh or man, not \"{what}\""
            ));
            return ExitCode::from(2);
        }
    }
    let mut output = Output::new(WhenClosed::GoOn);
    match output.write_all(&text).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            on_stderr(&name).trouble(error);
            ExitCode::from(2)
        }
    }
}
