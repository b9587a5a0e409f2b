//! Opens any input as a stream: a stream as it is, a raw profile through the parser.
//!
//! Every tool that takes a stream takes a raw profile by this one door. The parser runs on a thread of its own and its
//! lines arrive over a short queue, so nothing is held whole and the two work side by side.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context as _;
use cg_stream::lines::LineReader;
use cg_stream::tool::{Diagnostics, Input};
use cg_stream::{Framing, Line, Reader};

use crate::{Options, detect};

/// What is done with the lines of an input.
///
/// A closure over a line and the diagnostics is one; a filter that passes bytes on as they come needs the rest.
pub trait Visitor {
    /// Takes a line that is a record.
    ///
    /// # Errors
    /// See [`read`].
    fn line(&mut self, line: Line<'_>, diagnostics: &mut Diagnostics) -> anyhow::Result<()>;

    /// Takes a line of nothing but white space, `\n` included.
    ///
    /// # Errors
    /// Whatever should end the reading.
    fn blank_line(&mut self, _raw: &[u8]) -> anyhow::Result<()> {
        Ok(())
    }

    /// Called before the next line is waited for: time to hand on what is buffered.
    ///
    /// # Errors
    /// Whatever should end the reading.
    fn before_waiting(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(Line<'_>, &mut Diagnostics) -> anyhow::Result<()>> Visitor for F {
    fn line(&mut self, line: Line<'_>, diagnostics: &mut Diagnostics) -> anyhow::Result<()> {
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
/// # Errors
/// What `visitor` returns, but for errors about a line ([`cg_stream::Error`] with a line number): these are trouble with
/// the input, and end its reading.
pub fn read(
    path: &Path,
    options: &Options,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> anyhow::Result<Framing> {
    let input = match Input::open(path) {
        Ok(input) => input,
        Err(error) => {
            diagnostics.trouble(format!("{error:#}"));
            return Ok(Framing::default());
        }
    };
    let name = input.name.clone();
    let mut source = LineReader::new(input.reader);
    let is_stream = match detect::is_stream(&mut source) {
        Ok(is_stream) => is_stream,
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
    let (sender, receiver) = sync_channel(QUEUE_LENGTH);
    let options = options.clone();
    let input = Input {
        name: name.clone(),
        reader: Box::new(source),
    };
    let parser = thread::spawn(move || parse_into(input, &options, sender));
    let mut reader = Reader::new(Parsed {
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
    // The parser neither panics nor blocks once its queue is gone.
    parser
        .join()
        .map_err(|_| anyhow::anyhow!("{name}: the parser panicked"))
        .context("internal error")?;
    result?;
    Ok(framing)
}

/// Visits all lines; true where a line that cannot be read ended it early.
fn visit_all<R: Read>(
    reader: &mut Reader<R>,
    name: &str,
    diagnostics: &mut Diagnostics,
    visitor: &mut dyn Visitor,
) -> anyhow::Result<bool> {
    loop {
        if !reader.has_next() {
            visitor.before_waiting()?;
        }
        let error = match reader.advance() {
            Ok(false) => return Ok(false),
            Ok(true) => match visit_last(reader, diagnostics, visitor) {
                Ok(()) => continue,
                Err(error) => match error.downcast::<cg_stream::Error>() {
                    Ok(error) if error.line().is_some() => error,
                    Ok(error) => return Err(error.into()),
                    Err(error) => return Err(error),
                },
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
) -> anyhow::Result<()> {
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
    let _ = crate::parse_each(
        std::iter::once(Ok(input)),
        options,
        &mut Sending(sender),
        &mut diagnostics,
    );
}

/// The receiving end, read as the bytes of a stream.
struct Parsed {
    blocks: Receiver<Message>,
    block: Vec<u8>,
    taken: usize,
    messages: Vec<Message>,
}

impl Parsed {
    /// The messages that came between the lines, in order.
    fn finish(self) -> Vec<Message> {
        self.messages
    }
}

impl Read for Parsed {
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
