//! The output of a tool: standard output, or the file of `-o`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anstream::AutoStream;
use clap::ColorChoice;

use super::own_output::is_replaceable;
use super::partitions::Partitions;
use super::whole_file::{Replaceable, Unfinished};

/// The reaction to a closed pipe, when nobody reads the output any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenClosed {
    /// The tool stops without a message and with status 0, because a filter has nothing left to do.
    Stop,
    /// The tool discards the rest of the output and continues, because the exit status of a gate must not depend on the
    /// reader of its output.
    GoOn,
}

/// The output of a tool. Its errors contain its name.
pub struct Output {
    sink: OutputSink,
    /// The name in messages.
    name: String,
    /// The file of `-o`.
    path: Option<PathBuf>,
    when_closed: WhenClosed,
    closed: bool,
    keeps_file_on_error: bool,
}

/// The end of an output.
pub(super) enum Finished {
    /// The output is complete. The warnings are about files that were not replaced in one step.
    Written(Vec<String>),
    /// The file with this name is unchanged, because the output is incomplete.
    Discarded(String),
}

enum OutputSink {
    Stdout(StdoutLock<'static>),
    /// A device or a pipe, which cannot be replaced by a new file.
    Direct(BufWriter<File>),
    /// New contents, which replace the target when they are complete.
    Whole(Box<BufWriter<Unfinished>>),
    /// A directory that gets a file for each partition.
    Partitions(Box<Partitions>),
}

impl Output {
    /// Opens standard output, or the file at a path. Devices and pipes are written to directly.
    ///
    /// # Errors
    /// Returns an error if no file can be created there, and, unless `force` is true, if the path has a file that none of
    /// the tools wrote.
    pub(super) fn open(path: Option<&Path>, force: bool) -> io::Result<Output> {
        let sink = match path {
            None => OutputSink::Stdout(io::stdout().lock()),
            Some(path) if path == Path::new("-") || path == Path::new("/dev/stdout") => {
                OutputSink::Stdout(io::stdout().lock())
            }
            Some(path) if is_written_directly(path) => {
                OutputSink::Direct(BufWriter::new(File::options().append(true).open(path)?))
            }
            Some(path) => {
                let target = Replaceable::at(path)?;
                if target.exists() && !force && !is_replaceable(&mut File::open(path)?)? {
                    return Err(io::Error::other(
                        "the file exists, and none of these tools wrote it; --force replaces it",
                    ));
                }
                let file = BufWriter::with_capacity(64 * 1024, target.begin()?);
                OutputSink::Whole(Box::new(file))
            }
        };
        let name = match (&sink, path) {
            (OutputSink::Stdout(_), _) | (_, None) => "standard output".to_owned(),
            (_, Some(path)) => path.display().to_string(),
        };
        Ok(Output {
            path: path.map(Path::to_owned),
            ..Output::over(sink, name)
        })
    }

    /// Opens a directory. The labels of a stream with these keys choose its file in the directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub(super) fn partitions(directory: &Path, keys: &[String]) -> io::Result<Output> {
        let partitions = Box::new(Partitions::open(directory, keys)?);
        let name = directory.display().to_string();
        Ok(Output::over(OutputSink::Partitions(partitions), name))
    }

    fn over(sink: OutputSink, name: String) -> Output {
        Output {
            sink,
            name,
            path: None,
            when_closed: WhenClosed::Stop,
            closed: false,
            keeps_file_on_error: false,
        }
    }

    /// Sets the reaction to a closed pipe. The default is [`WhenClosed::Stop`].
    pub fn set_when_closed(&mut self, when_closed: WhenClosed) {
        self.when_closed = when_closed;
    }

    /// Keeps the file of `-o` even after an error, because the output reports the error itself.
    pub fn keep_file_on_error(&mut self) {
        self.keeps_file_on_error = true;
    }

    /// Returns true if the file of `-o` has one of these endings, ignoring case.
    pub fn ends_in(&self, endings: &[&str]) -> bool {
        let name = self.path.as_deref().and_then(Path::file_name);
        let name = name.map(|name| name.to_string_lossy().to_ascii_lowercase());
        name.is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)))
    }

    /// Returns true if this is standard output, which may be a terminal.
    pub fn is_stdout(&self) -> bool {
        matches!(self.sink, OutputSink::Stdout(_))
    }

    /// Returns true if this is standard output, and it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_stdout() && io::stdout().is_terminal()
    }

    /// Returns the number of columns for text: `wanted` (`--width`), or else the width of the terminal or, if the output
    /// is not a terminal, the variable `COLUMNS`. `None` if text is written in full: `wanted` is 0, or there is no width.
    pub fn width(&self, wanted: Option<usize>) -> Option<usize> {
        let width = wanted.or_else(|| match self.is_terminal() {
            true => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)),
            false => std::env::var("COLUMNS").ok()?.parse().ok(),
        });
        width.filter(|width| *width > 0)
    }

    /// Returns true if text is coloured: always, never, or if standard output supports colours.
    pub fn is_coloured(&self, when: ColorChoice) -> bool {
        match when {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // Considers NO_COLOR, CLICOLOR_FORCE, TERM=dumb, and if standard output is a terminal.
            ColorChoice::Auto => {
                self.is_stdout()
                    && AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
            }
        }
    }

    /// Returns an error if standard output was closed at the start. Otherwise writes would seem to succeed.
    pub(super) fn check_open() -> io::Result<()> {
        if cg_startup::stdout_was_closed() {
            return Err(io::Error::other("is closed"));
        }
        Ok(())
    }

    /// Moves the file of `-o` into place. After an error, leaves the old file unchanged, unless
    /// [`Output::keep_file_on_error`] was called.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written completely.
    pub(super) fn finish(mut self, has_errors: bool) -> io::Result<Finished> {
        let name = self.name.clone();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        match self.sink {
            OutputSink::Whole(_) | OutputSink::Partitions(_)
                if has_errors && !self.keeps_file_on_error =>
            {
                Ok(Finished::Discarded(self.name))
            }
            OutputSink::Whole(file) => {
                let file = file
                    .into_inner()
                    .map_err(|error| named(error.into_error()))?;
                let replaced = file.finish().map_err(named)?;
                let warning = replaced.warning(&name);
                Ok(Finished::Written(Vec::from_iter(warning)))
            }
            OutputSink::Partitions(partitions) => {
                let warnings = partitions.finish().map_err(named)?;
                Ok(Finished::Written(warnings))
            }
            _ => {
                self.flush()?;
                Ok(Finished::Written(Vec::new()))
            }
        }
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
                format!("{}: {error}", self.name),
            )),
            Ok(value) => Ok(value),
        }
    }
}

/// Returns true if a path cannot be replaced by a new file: a device, a pipe, or a path below `/dev/fd` or `/proc`, which
/// refers to an open file. Returns false for a path without metadata, so that creating the file reports the error.
fn is_written_directly(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let is_special = path
        .metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    is_special || path.starts_with("/dev/fd") || path.starts_with("/proc")
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = match &mut self.sink {
            OutputSink::Stdout(stdout) => Output::check_open().and_then(|()| stdout.write(bytes)),
            OutputSink::Direct(file) => file.write(bytes),
            OutputSink::Whole(file) => file.write(bytes),
            OutputSink::Partitions(partitions) => partitions.write(bytes),
        };
        self.settle(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = match &mut self.sink {
            OutputSink::Stdout(stdout) => stdout.flush(),
            OutputSink::Direct(file) => file.flush(),
            OutputSink::Whole(file) => file.flush(),
            OutputSink::Partitions(partitions) => partitions.flush(),
        };
        self.settle(result, ())
    }
}
