//! Where a tool writes to: standard output, or the file of `-o`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anstream::AutoStream;
use clap::ColorChoice;

use super::own_output::is_replaceable;
use super::partitions::Partitions;
use super::whole_file::{Replaceable, Unfinished};

/// What happens when nobody reads the output any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenClosed {
    /// The tool stops, quietly and with status 0: a filter has nothing left to do.
    Stop,
    /// The rest of the output is thrown away and the tool goes on: the exit status of a gate does not depend on anybody
    /// reading its output.
    GoOn,
}

/// What a tool writes to. Errors name it.
pub struct Output {
    sink: OutputSink,
    /// What it is called in messages.
    name: String,
    /// The file of `-o`.
    path: Option<PathBuf>,
    when_closed: WhenClosed,
    closed: bool,
    stands_with_trouble: bool,
}

enum OutputSink {
    Stdout(StdoutLock<'static>),
    /// A device or a pipe, which cannot be replaced by a new file.
    Direct(BufWriter<File>),
    /// A temporary file, which replaces the target once it is complete.
    Whole(BufWriter<Unfinished>),
    /// A directory with a file for each partition.
    Partitions(Box<Partitions>),
}

impl Output {
    /// Opens standard output, or the file at a path. For a regular file, a temporary file is opened beside it; anything
    /// else is written to directly.
    ///
    /// # Errors
    /// Where no file can be made there, and where there is one that none of the tools wrote, unless `force` says that it
    /// may go.
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
                        "is there, and none of these tools wrote it; --force replaces it",
                    ));
                }
                OutputSink::Whole(BufWriter::with_capacity(64 * 1024, target.begin()?))
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

    /// Opens a directory, in which the labels of a stream under these keys choose its file.
    ///
    /// # Errors
    /// Where it cannot be made.
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
            stands_with_trouble: false,
        }
    }

    /// Decides what happens when nobody reads any more; otherwise the tool stops.
    pub fn set_when_closed(&mut self, when_closed: WhenClosed) {
        self.when_closed = when_closed;
    }

    /// Keeps the file of `-o` even after trouble, because what is written reports the trouble itself.
    pub fn stand_with_trouble(&mut self) {
        self.stands_with_trouble = true;
    }

    /// Whether the file of `-o` has one of these endings, in letters of either case.
    pub fn ends_in(&self, endings: &[&str]) -> bool {
        let name = self.path.as_deref().and_then(Path::file_name);
        let name = name.map(|name| name.to_string_lossy().to_ascii_lowercase());
        name.is_some_and(|name| endings.iter().any(|ending| name.ends_with(ending)))
    }

    /// Whether this is standard output, which can be a terminal.
    pub fn is_stdout(&self) -> bool {
        matches!(self.sink, OutputSink::Stdout(_))
    }

    /// How many columns of text the terminal has that this is; `None` where it is none.
    pub fn terminal_width(&self) -> Option<usize> {
        let is_terminal = self.is_stdout() && io::stdout().is_terminal();
        let (width, _) = is_terminal.then(terminal_size::terminal_size).flatten()?;
        Some(usize::from(width.0))
    }

    /// Whether text is coloured: always, never, or where standard output shows it.
    pub fn is_coloured(&self, when: ColorChoice) -> bool {
        match when {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // Knows NO_COLOR, CLICOLOR_FORCE, TERM=dumb and whether this is a terminal.
            ColorChoice::Auto => {
                self.is_stdout()
                    && AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
            }
        }
    }

    /// Fails if standard output was closed, although every write would seem to succeed.
    pub(super) fn check_open() -> io::Result<()> {
        if cg_stdout::was_closed() {
            return Err(io::Error::other("is closed"));
        }
        Ok(())
    }

    /// Moves the file of `-o` into place. After trouble the old file stays as it was, and its name is returned, unless
    /// [`Output::stand_with_trouble`] was called.
    ///
    /// # Errors
    /// Where not all of it can be written.
    pub(super) fn finish(mut self, had_trouble: bool) -> io::Result<Option<String>> {
        let name = self.name.clone();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        match self.sink {
            OutputSink::Whole(_) | OutputSink::Partitions(_)
                if had_trouble && !self.stands_with_trouble =>
            {
                Ok(Some(self.name))
            }
            OutputSink::Whole(file) => {
                let file = file
                    .into_inner()
                    .map_err(|error| named(error.into_error()))?;
                file.finish().map_err(named)?;
                Ok(None)
            }
            OutputSink::Partitions(partitions) => {
                partitions.finish().map_err(named)?;
                Ok(None)
            }
            _ => {
                self.flush()?;
                Ok(None)
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

/// Whether a path cannot be replaced by a new file: a device, a pipe, or a path below `/dev/fd` or `/proc`, which leads
/// to a file that is open already. A path without metadata is left to the code that creates the file.
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
