//! Opens any input as a stream: a stream as it is, a raw profile through the parser.
//!
//! Every tool that takes a stream takes a raw profile by this one door. The parser runs on a thread of its own and its
//! lines arrive over a short queue, so nothing is held whole and the two work side by side.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use cg_stream::{Diagnostics, Framing, Line, Reader};

use crate::error::Error;
use crate::findings::{self, ProcessFindings};
use crate::format::{Format, Lines, Options};
use crate::input::{self, Input};
use crate::{detect, profiles};

/// What is done with the lines of an input.
///
/// A closure over a line and the diagnostics is one; a filter that passes bytes on as they come needs the rest.
pub trait Visitor {
    /// Takes a line that is a record.
    ///
    /// # Errors
    /// See [`read`].
    fn line(
        &mut self,
        line: Line<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), cg_stream::Error>;

    /// Takes a line of nothing but white space, `\n` included.
    ///
    /// # Errors
    /// Whatever should end the reading.
    fn blank_line(&mut self, _raw: &[u8]) -> Result<(), cg_stream::Error> {
        Ok(())
    }

    /// Whether it would rather take the findings of a raw log or document as they are than as lines.
    fn takes_findings(&self) -> bool {
        false
    }

    /// Takes the findings of one process of a raw input, where it said that it does. What their log lacks has not been
    /// told to `diagnostics`.
    ///
    /// # Errors
    /// See [`read`].
    fn findings(
        &mut self,
        _findings: &ProcessFindings<'_>,
        _diagnostics: &mut Diagnostics,
    ) -> Result<(), cg_stream::Error> {
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

impl<F: FnMut(Line<'_>, &mut Diagnostics) -> Result<(), cg_stream::Error>> Visitor for F {
    fn line(
        &mut self,
        line: Line<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), cg_stream::Error> {
        self(line, diagnostics)
    }
}

/// How many blocks of parsed lines may wait to be read.
const QUEUE_LENGTH: usize = 8;

/// Reads one input line by line, whatever it is, and shows each line of the stream to `visitor`.
///
/// An input that cannot be read to its end, and a stream that was cut short, are told to `diagnostics` as trouble:
/// what was read until then has been visited.
///
/// ```
/// use cg_parse::{Options, stream};
/// use cg_stream::record::RecordType;
/// use cg_stream::{Completeness, Diagnostics, Line};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("out.folded");
/// # std::fs::write(&file, "main;work 30\nmain 12\n")?;
/// // Folded stacks here; any format, and a stream, is read in the same way.
/// let mut diagnostics = Diagnostics::to(|message, _| eprintln!("{message}"));
/// let mut stacks = 0;
/// let framing = stream::read(
///     &file,
///     &Options::default(),
///     &mut diagnostics,
///     &mut |line: Line<'_>, _: &mut Diagnostics| {
///         stacks += usize::from(line.kind == RecordType::Stack);
///         Ok(())
///     },
/// )?;
/// assert_eq!(stacks, 2);
/// assert_eq!(framing.completeness(), Completeness::Whole);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Output`] with the I/O error that `visitor` returns. Its other errors are about what was read: trouble with the
/// input, which end its reading.
pub fn read(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<Framing, Error> {
    let input = match Input::open(path, diagnostics) {
        Ok(input) => input,
        Err(error) => {
            diagnostics.trouble(error.in_file(&input::name_of(path)));
            return Ok(Framing::default());
        }
    };
    let name = input.name.clone();
    let source = input::lines(input.reader)
        .and_then(|mut source| Ok((detect::is_stream(&mut source)?, source)));
    let (is_stream, mut source) = match source {
        Ok(source) => source,
        Err(error) => {
            diagnostics.trouble(error.in_file(&name));
            return Ok(Framing::default());
        }
    };
    if is_stream {
        let mut reader = Reader::over(source);
        let stopped = visit_all(&mut reader, &name, diagnostics, visitor)?;
        let framing = reader.framing();
        if !stopped && framing.completeness() == cg_stream::Completeness::CutShort {
            diagnostics.trouble(format!(
                "{name}: the stream was cut short: {} run and {} end records; what wrote it died or was stopped",
                framing.runs, framing.ends
            ));
        }
        return Ok(framing);
    }
    if visitor.takes_findings()
        && let Ok(format @ (Format::Log | Format::Xml)) =
            detect::format_of(&mut source, options.from)
    {
        return read_findings(format, &name, &mut source, options, diagnostics, visitor);
    }
    let (sender, receiver) = sync_channel(QUEUE_LENGTH);
    let options = options.clone();
    let input = Input {
        name: name.clone(),
        reader: Box::new(source),
    };
    let parser = thread::spawn(move || parse_into(input, &options, sender));
    let mut reader = Reader::new(ParsedInput {
        blocks: receiver,
        block: Vec::new(),
        taken: 0,
        messages: Vec::new(),
    });
    let result = visit_all(&mut reader, &name, diagnostics, visitor);
    let framing = reader.framing();
    for message in reader.into_input().finish() {
        match message {
            Message::Warning(text) => diagnostics.warn(text),
            Message::Trouble(text) => diagnostics.trouble(text),
            Message::Block(_) => {}
        }
    }
    // The parser does not block once its queue is gone. Were it to panic, so would whoever waits for it.
    if let Err(panic) = parser.join() {
        std::panic::resume_unwind(panic);
    }
    result?;
    Ok(framing)
}

/// Shows the findings of each process of a raw log or document.
fn read_findings(
    format: Format,
    name: &str,
    lines: &mut Lines,
    options: &Options,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<Framing, Error> {
    let mut framing = Framing::default();
    let mut take = |found: &ProcessFindings<'_>, diagnostics: &mut Diagnostics| {
        // What the log of a process lacks is the visitor's to judge.
        framing.runs += 1;
        framing.ends += 1;
        let taken = visitor.findings(found, diagnostics);
        taken.map_err(|error| Error::Output(error.into()))
    };
    match findings::parse(format, name, lines, options, &mut take, diagnostics) {
        Err(Error::Output(error)) => return Err(Error::Output(error)),
        Err(error) => diagnostics.trouble(error.in_file(name)),
        Ok(()) => {}
    }
    Ok(framing)
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
            Ok(true) => match visit_last(reader, diagnostics, visitor) {
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
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> Result<(), cg_stream::Error> {
    match reader.blank_line() {
        Some(raw) => visitor.blank_line(raw),
        None => visitor.line(reader.line()?, diagnostics),
    }
}

/// What the parser's thread sends.
enum Message {
    Block(Vec<u8>),
    Warning(String),
    Trouble(String),
}

/// The parser's thread: parses the input and sends its lines in blocks.
fn parse_into(input: Input, options: &Options, sender: SyncSender<Message>) {
    /// Sends what is written to it; a queue that is gone is a closed pipe.
    struct Sending(SyncSender<Message>);
    impl Write for Sending {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .send(Message::Block(bytes.to_vec()))
                .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let talk = sender.clone();
    // A receiver that is gone wants no messages either.
    let mut diagnostics = Diagnostics::to(move |text, is_trouble| {
        let message = if is_trouble {
            Message::Trouble(text.to_owned())
        } else {
            Message::Warning(text.to_owned())
        };
        let _ = talk.send(message);
    });
    // The only error is that of writing, and the receiver knows that it is gone.
    let _ = profiles::parse_input(input, options, &mut Sending(sender), &mut diagnostics);
}

/// The receiving end, read as the bytes of a stream.
struct ParsedInput {
    blocks: Receiver<Message>,
    block: Vec<u8>,
    taken: usize,
    messages: Vec<Message>,
}

impl ParsedInput {
    /// The messages that came between the lines, in order.
    fn finish(self) -> Vec<Message> {
        self.messages
    }
}

impl Read for ParsedInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.block.len() {
            match self.blocks.recv() {
                Ok(Message::Block(block)) => {
                    self.block = block;
                    self.taken = 0;
                }
                Ok(message) => self.messages.push(message),
                Err(_) => return Ok(0),
            }
        }
        let length = out.len().min(self.block.len() - self.taken);
        out[..length].copy_from_slice(&self.block[self.taken..self.taken + length]);
        self.taken += length;
        Ok(length)
    }
}
