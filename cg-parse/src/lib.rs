//! Parses what Valgrind's tools write into a cost stream. This crate alone knows their file formats.
//!
//! A format is one module with one function of one signature, `parse(source, lines, options, out, diagnostics)`; a
//! `match` in [`parse`] picks. Callgrind and Cachegrind profiles are the exception that the stream asks for: several
//! inputs of these are summed into one section, so they are read first and written together, behind what other formats
//! wrote.
#![warn(missing_docs)]

use std::io::{Read, Write};
use std::path::PathBuf;

use cg_stream::lines::LineReader;
use cg_stream::tool::{Diagnostics, Input};
use cg_stream::writer::Writer;

mod detect;
mod error;
pub mod stream;

mod number;

mod costs;
mod findings;
mod heaps;

#[cfg(test)]
mod testing;

pub use detect::Format;
pub use error::Error;

use costs::sums::{Summed, Sums};

/// The lines of an input.
pub(crate) type Lines = LineReader<Box<dyn Read + Send>>;

/// Where a format writes its records: a buffered writer over whatever the caller has.
pub type Out<'a> = Writer<&'a mut dyn Write>;

/// What to read and what to write of it. The default is what every tool uses for a raw profile it was given.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format, where it is not to be recognised by content.
    pub from: Option<Format>,
    /// Keep parts, threads and files apart instead of summing them.
    pub per_part: bool,
    /// Write `line` records.
    pub lines: bool,
    /// Write `call` records.
    pub calls: bool,
    /// Keep instruction addresses in `line` records, where the profile has them.
    pub instr: bool,
    /// Demangle the names that Valgrind left mangled.
    pub demangle: bool,
    /// The Massif snapshots whose `heap` records are written.
    pub snapshots: Snapshots,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            from: None,
            per_part: false,
            lines: false,
            calls: false,
            instr: false,
            demangle: true,
            snapshots: Snapshots::Peak,
        }
    }
}

/// Which Massif snapshots' trees become `heap` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// Every snapshot that has a tree.
    All,
    /// The one Massif marked as the peak; where none is marked, the largest that has a tree.
    Peak,
    /// The one with this number.
    Number(u64),
}

/// Parses inputs into one stream. What cannot be read is told to `diagnostics`; what could be read of it is written
/// all the same, without an `end` record, and the other inputs are read on.
///
/// # Errors
/// Where the output cannot be written. Everything about the inputs goes to `diagnostics`.
pub fn parse(
    inputs: &[PathBuf],
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    parse_each(
        inputs.iter().map(|path| Input::open(path)),
        options,
        output,
        diagnostics,
    )
}

/// [`parse`] for inputs that are opened as they are needed.
pub(crate) fn parse_each(
    inputs: impl Iterator<Item = anyhow::Result<Input>>,
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let mut out = Writer::new(output);
    let mut sums = Sums::new(options);
    let mut all_read = true;
    for input in inputs {
        match input {
            Ok(input) => {
                all_read &= parse_input(input, options, &mut sums, &mut out, diagnostics)?;
            }
            Err(error) => {
                all_read = false;
                diagnostics.trouble(format!("{error:#}"));
            }
        }
    }
    match sums.write(all_read, &mut out, diagnostics) {
        Err(Error::Output(error)) => return Err(error.into()),
        Err(error) => diagnostics.trouble(error.in_file("output")),
        Ok(()) => {}
    }
    out.flush()?;
    Ok(())
}

/// Parses one input; false where it could not be read to its end.
fn parse_input(
    input: Input,
    options: &Options,
    sums: &mut Sums,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<bool> {
    let source = input.name;
    let mut lines = LineReader::new(input.reader);
    let result = detect::format_of(&mut lines, options.from).and_then(|format| match format {
        Format::Callgrind => sums.read(Summed::Callgrind, &source, &mut lines, out, diagnostics),
        Format::Cachegrind => sums.read(Summed::Cachegrind, &source, &mut lines, out, diagnostics),
        Format::Log => findings::text::parse(&source, &mut lines, options, out, diagnostics),
        Format::Xml => findings::xml::parse(&source, &mut lines, options, out, diagnostics),
        Format::Massif => heaps::massif::parse(&source, &mut lines, options, out, diagnostics),
        Format::Dhat => heaps::dhat::parse(&source, &mut lines, options, out, diagnostics),
    });
    match result {
        Ok(()) => Ok(true),
        Err(Error::Output(error)) => Err(error.into()),
        Err(error) => {
            diagnostics.trouble(error.in_file(&source));
            Ok(false)
        }
    }
}
