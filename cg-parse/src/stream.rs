//! Opens any input: a stream is read line by line, a raw profile by the reader of its format.
//!
//! Every tool that takes a stream takes a raw profile by this one door. What comes in as rows goes on as rows: no text is
//! made of a raw profile but for who passes lines on, as cg-filter does.

use std::io::{self, Read, Write};
use std::path::Path;

use cg_reader::{Error, Lines, Options};
use cg_stream::rows::{RowSink, hand_over};
use cg_stream::{Completeness, Diagnostics, Framing, Line, Reader, Writer};

use crate::input::{self, Input};
use crate::{detect, profiles};

/// What is done with the lines of an input by who passes bytes on as they come.
pub trait Visitor {
    /// Takes a line that is a record.
    ///
    /// # Errors
    /// See [`read_lines`].
    fn line(&mut self, line: Line<'_>) -> Result<(), cg_stream::Error>;

    /// Takes a line of nothing but white space, `\n` included.
    ///
    /// # Errors
    /// Whatever should end the reading.
    fn blank_line(&mut self, _raw: &[u8]) -> Result<(), cg_stream::Error> {
        Ok(())
    }

    /// Called before the next line is waited for: time to hand on what is buffered.
    ///
    /// # Errors
    /// Whatever should end the reading.
    fn before_waiting(&mut self) -> Result<(), cg_stream::Error> {
        Ok(())
    }
}

/// Reads one input, whatever it is, and hands its rows to `sink`.
///
/// An input that cannot be read to its end, and a stream that was cut short, are told to `diagnostics` as trouble:
/// what was read until then has been handed on.
///
/// ```
/// use cg_parse::{Options, stream};
/// use cg_stream::profile::Profile;
/// use cg_stream::record::RecordType;
/// use cg_stream::{Completeness, Diagnostics};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("out.folded");
/// # std::fs::write(&file, "main;work 30\nmain 12\n")?;
/// // Folded stacks here; any format, and a stream, is read in the same way.
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
/// [`Error::Output`] with the I/O error that `sink` returns. Its other errors are about what was read: trouble with the
/// input, which end its reading.
pub fn read(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    sink: &mut dyn RowSink,
) -> Result<Framing, Error> {
    match Opened::open(path, diagnostics) {
        None => Ok(Framing::default()),
        Some(Opened::Stream(name, lines)) => {
            read_stream(&name, lines, diagnostics, &mut ToRows(sink))
        }
        Some(Opened::Profile(name, lines)) => {
            profiles::parse_lines(&name, lines, options, sink, diagnostics)
        }
    }
}

/// The same for who takes lines: those of a stream as they are, those that cg-parse would write of a raw profile.
///
/// # Errors
/// As [`read`], with what `visitor` returns.
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
        diagnostics.trouble(format!("{name}:{refusal}"));
        return Ok(read.unwrap_or_default());
    }
    flushed.and(read)
}

/// An input that is open, and what it is called.
enum Opened {
    Stream(String, Lines),
    Profile(String, Lines),
}

impl Opened {
    /// Opens an input; `None` where it cannot be read, which is trouble.
    fn open(path: &Path, diagnostics: &mut Diagnostics) -> Option<Opened> {
        let name = input::name_of(path);
        let lines = Input::open(path, diagnostics)
            .and_then(|input| input::lines(input.reader))
            .and_then(|mut lines| Ok((detect::is_stream(&mut lines)?, lines)));
        match lines {
            Ok((true, lines)) => Some(Opened::Stream(name, lines)),
            Ok((false, lines)) => Some(Opened::Profile(name, lines)),
            Err(error) => {
                diagnostics.trouble(error.in_file(&name));
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
        diagnostics.trouble(format!(
            "{name}: the stream was cut short: {} run and {} end records; what wrote it died or was stopped",
            framing.runs, framing.ends
        ));
    }
    Ok(framing)
}

/// Hands the records of lines to a sink.
struct ToRows<'s>(&'s mut dyn RowSink);

impl Visitor for ToRows<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), cg_stream::Error> {
        hand_over(&line, self.0)
    }
}

/// Shows the lines that a writer writes.
struct ToLines<'v> {
    visitor: &'v mut dyn Visitor,
    number: u64,
    /// What the visitor said that is not about its output.
    refusal: Option<cg_stream::Error>,
}

impl Write for ToLines<'_> {
    /// Takes whole lines, as a writer of records hands them on.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        for raw in lines.split_inclusive(|byte| *byte == b'\n') {
            self.number += 1;
            let line = Line::of(raw, self.number);
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

/// Visits all lines; true where a line that cannot be read ended it early.
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
            Some(_) => diagnostics.trouble(format!("{name}:{error}")),
            None => diagnostics.trouble(format!("{name}: {error}")),
        }
        return Ok(true);
    }
}

/// Visits the line that the reader went to.
fn visit_last<R: Read>(
    reader: &mut Reader<R>,
    visitor: &mut dyn Visitor,
) -> Result<(), cg_stream::Error> {
    match reader.blank_line() {
        Some(raw) => visitor.blank_line(raw),
        None => visitor.line(reader.line()?),
    }
}
