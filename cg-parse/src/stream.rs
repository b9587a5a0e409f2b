//! Opening of any input: a stream is read line by line, a raw profile by the reader of its format.
//!
//! All tools open their inputs with this module, so each tool that reads streams also reads raw profiles. Rows stay rows. A
//! raw profile becomes text only for tools that pass lines on, such as cg-filter.

use std::io::{self, Read, Write};
use std::path::Path;

use cg_reader::{Error, Lines, Options};
use cg_stream::rows::{RowSink, StreamRows};
use cg_stream::{Completeness, Diagnostics, Framing, Line, Reader, Writer};

use crate::input::{self, Input};
use crate::redact::Redacted;
use crate::{detect, profiles};

/// A receiver of lines, for tools that pass the bytes of an input on unchanged.
pub trait Visitor {
    /// Processes a line that is a record.
    ///
    /// # Errors
    /// See [`read_lines`].
    fn line(&mut self, line: Line<'_>) -> Result<(), cg_stream::Error>;

    /// Processes a line that contains only white space, including its `\n`.
    ///
    /// # Errors
    /// Returns an error to stop reading.
    fn blank_line(&mut self, _raw: &[u8]) -> Result<(), cg_stream::Error> {
        Ok(())
    }

    /// Called before waiting for the next line, so that buffered output can be flushed.
    ///
    /// # Errors
    /// Returns an error to stop reading.
    fn before_waiting(&mut self) -> Result<(), cg_stream::Error> {
        Ok(())
    }
}

/// Reads one input, a stream or a raw profile, and passes its rows to `sink`.
///
/// If an input cannot be read to its end, or a stream is truncated, reports an error to `diagnostics`. The rows before the
/// error have then been passed on.
///
/// ```
/// use cg_parse::{Options, stream};
/// use cg_profile::Profile;
/// use cg_stream::record::RecordType;
/// use cg_stream::{Completeness, Diagnostics};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("out.folded");
/// # std::fs::write(&file, "main;work 30\nmain 12\n")?;
/// // This input has folded stacks. All formats and streams are read in the same way.
/// let mut diagnostics = Diagnostics::to(|message, _| eprintln!("{message}"));
/// let mut profile = Profile::default();
/// let framing = stream::read(&file, &Options::default(), &mut diagnostics, &mut profile)?;
/// assert_eq!(profile.table(RecordType::Stack).len(), 2);
/// assert_eq!(framing.completeness(), Completeness::Whole);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns [`Error::Output`] with the I/O error that `sink` returns. Other errors of `sink` concern the input: they end its
/// reading and are reported to `diagnostics`.
pub fn read(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    sink: &mut dyn RowSink,
) -> Result<Framing, Error> {
    read_with(&mut profiles::parse_lines, path, options, diagnostics, sink)
}

/// Reads one input like [`read`]. If it is a raw profile of Callgrind, passes its stacks to `stacks` as a separate section.
/// These are the rows of a second reading with only [`Options::stacks`].
///
/// The options must not contain [`Options::inline`], [`Options::levels`], [`Options::per_part`] and [`Options::stacks`].
///
/// # Errors
/// Returns errors of the sinks in the same way as [`read`].
pub fn read_with_stacks(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    sink: &mut dyn RowSink,
    stacks: &mut dyn RowSink,
) -> Result<Framing, Error> {
    let mut redacted;
    let stacks: &mut dyn RowSink = match options.redact {
        true => {
            redacted = Redacted::new(stacks);
            &mut redacted
        }
        false => stacks,
    };
    let parse: ParseLines<'_> = &mut |name, lines, options, sink, diagnostics| {
        profiles::parse_lines_and_stacks(name, lines, options, (sink, stacks), diagnostics)
    };
    read_with(parse, path, options, diagnostics, sink)
}

/// Reads one input like [`read`]. A text of no known format is accepted, and searched for reports to its end. An input
/// without a report gives an empty [`Framing`], and no error.
///
/// # Errors
/// Returns errors of `sink` in the same way as [`read`].
pub fn read_job_output(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    sink: &mut dyn RowSink,
) -> Result<Framing, Error> {
    let parse = &mut profiles::parse_job_output;
    read_with(parse, path, options, diagnostics, sink)
}

/// Parses an open input that is not a stream.
type ParseLines<'p> = &'p mut dyn FnMut(
    &str,
    Lines,
    &Options,
    &mut dyn RowSink,
    &mut Diagnostics,
) -> Result<Framing, Error>;

fn read_with(
    parse: ParseLines<'_>,
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    sink: &mut dyn RowSink,
) -> Result<Framing, Error> {
    let mut redacted;
    let sink = match options.redact {
        true => {
            redacted = Redacted::new(sink);
            &mut redacted
        }
        false => sink,
    };
    match Opened::open(path, diagnostics) {
        None => Ok(Framing::default()),
        Some(Opened::Stream(name, lines)) => {
            let rows = StreamRows::default();
            read_stream(&name, lines, diagnostics, &mut ToRows { rows, sink })
        }
        Some(Opened::Profile(name, lines)) => parse(&name, lines, options, sink, diagnostics),
    }
}

/// Reads one input and passes its lines to `visitor`: the unchanged lines of a stream, or the lines that cg-parse would
/// write for a raw profile.
///
/// # Errors
/// Returns errors of `visitor` in the same way as [`read`] returns errors of its sink.
pub fn read_lines(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<Framing, Error> {
    let (name, lines) = match Opened::open(path, diagnostics) {
        None => return Ok(Framing::default()),
        Some(Opened::Stream(name, lines)) => {
            return read_stream(&name, lines, diagnostics, visitor);
        }
        Some(Opened::Profile(name, lines)) => (name, lines),
    };
    let mut to_lines = ToLines {
        visitor,
        number: 0,
        refusal: None,
    };
    let mut writer = Writer::new(&mut to_lines);
    let read = profiles::parse_lines(&name, lines, options, &mut writer, diagnostics);
    let flushed = writer.flush().map_err(Error::Output);
    if let Some(refusal) = to_lines.refusal {
        diagnostics.error(format!("{name}:{refusal}"));
        return Ok(read.unwrap_or_default());
    }
    flushed.and(read)
}

/// An open input with its name.
enum Opened {
    Stream(String, Lines),
    Profile(String, Lines),
}

impl Opened {
    /// Opens an input. Reports an error and returns `None` if it cannot be read.
    fn open(path: &Path, diagnostics: &mut Diagnostics) -> Option<Opened> {
        let name = input::input_name(path);
        let lines = Input::open(path, diagnostics)
            .and_then(|input| input::lines(input.reader))
            .and_then(|mut lines| Ok((detect::is_stream(&mut lines)?, lines)));
        match lines {
            Ok((true, lines)) => Some(Opened::Stream(name, lines)),
            Ok((false, lines)) => Some(Opened::Profile(name, lines)),
            Err(error) => {
                diagnostics.error(error.in_file(&name));
                None
            }
        }
    }
}

/// Visits the lines of a stream.
fn read_stream(
    name: &str,
    lines: Lines,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<Framing, Error> {
    let mut reader = Reader::over(lines);
    let stopped = visit_all(&mut reader, name, diagnostics, visitor)?;
    let framing = reader.framing();
    if !stopped && framing.completeness() == Completeness::CutShort {
        diagnostics.error(format!(
            "{name}: truncated stream (run records: {}, end records: {}); check the program that wrote it",
            framing.runs, framing.ends
        ));
    }
    Ok(framing)
}

/// Passes the records of lines to a sink.
struct ToRows<'s> {
    rows: StreamRows,
    sink: &'s mut dyn RowSink,
}

impl Visitor for ToRows<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), cg_stream::Error> {
        self.rows.hand_over(&line, self.sink)
    }
}

/// Passes the lines that a record writer writes to a visitor.
struct ToLines<'v> {
    visitor: &'v mut dyn Visitor,
    /// The number of lines so far.
    number: u64,
    /// The visitor's error, if it does not concern its output.
    refusal: Option<cg_stream::Error>,
}

impl Write for ToLines<'_> {
    /// Expects complete lines, which a record writer writes.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        for raw in lines.split_inclusive(|byte| *byte == b'\n') {
            self.number += 1;
            let line = Line::parse_header(raw, self.number);
            if let Err(error) = line.and_then(|line| self.visitor.line(line)) {
                if error.as_io().is_none() {
                    self.refusal = Some(error);
                    return Err(io::ErrorKind::InvalidData.into());
                }
                return Err(error.into());
            }
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.visitor.before_waiting()?)
    }
}

/// Visits all lines. Returns true if a line that cannot be read ended it early.
fn visit_all<R: Read>(
    reader: &mut Reader<R>,
    name: &str,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<bool, Error> {
    let output = |error: cg_stream::Error| Error::Output(error.into());
    loop {
        if !reader.has_next() {
            visitor.before_waiting().map_err(output)?;
        }
        let error = match reader.advance() {
            Ok(false) => return Ok(false),
            Ok(true) => match visit_last(reader, visitor) {
                Ok(()) => continue,
                Err(error) if error.as_io().is_some() => return Err(output(error)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        match error.line() {
            Some(_) => diagnostics.error(format!("{name}:{error}")),
            None => diagnostics.error(format!("{name}: {error}")),
        }
        return Ok(true);
    }
}

/// Visits the current line of the reader.
fn visit_last<R: Read>(
    reader: &mut Reader<R>,
    visitor: &mut dyn Visitor,
) -> Result<(), cg_stream::Error> {
    match reader.blank_line() {
        Some(raw) => visitor.blank_line(raw),
        None => visitor.line(reader.line()?),
    }
}
