//! From inputs to one stream.
//!
//! Callgrind and Cachegrind profiles are the exception that the stream asks for: several inputs of these are summed into
//! one section, so they are read first and written together, behind what other formats wrote.

use std::io::Write;
use std::path::{Path, PathBuf};

use cg_callgrind::sums::{Summed, Sums};
use cg_reader::{Error, Lines, Options, Out, Reading, Revision};
use cg_stream::rows::RowSink;
use cg_stream::{Diagnostics, Framing, Writer};

use crate::format::{Format, FormatReader};
use crate::input::{self, Input};
use crate::layouts::two_layouts;
use crate::stable_names::StableNames;
use crate::{detect, directory};

/// Parses inputs into one stream, `from` a format where it is not to be recognised by content. What cannot be read is told to `diagnostics`; what could be read of it is written
/// all the same, without an `end` record, and the other inputs are read on.
///
/// ```
/// use cg_parse::{Options, parse};
/// use cg_stream::Diagnostics;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("callgrind.out.1");
/// std::fs::write(&file, "events: Ir\nfl=main.c\nfn=main\n3 40\n4 2\ntotals: 42\n")?;
///
/// let mut diagnostics = Diagnostics::to(|message, is_trouble| eprintln!("{is_trouble} {message}"));
/// let mut stream = Vec::new();
/// parse(&[file], None, &Options::default(), &mut stream, &mut diagnostics)?;
/// let stream = String::from_utf8(stream)?;
/// assert!(stream.contains(r#"{"type":"fn","fn":"main","file":"main.c","calls":0,"cost":{"Ir":42}"#));
/// assert!(!diagnostics.had_trouble());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Output`] where the output cannot be written. Everything about the inputs goes to `diagnostics`.
pub fn parse(
    inputs: &[PathBuf],
    from: Option<&'static Format>,
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut writer = Writer::new(output);
    match options.stable_names {
        true => parse_all(
            inputs,
            from,
            options,
            &mut StableNames::new(&mut writer),
            diagnostics,
        )?,
        false => parse_all(inputs, from, options, &mut writer, diagnostics)?,
    }
    writer.flush().map_err(Error::Output)
}

fn parse_all(
    inputs: &[PathBuf],
    from: Option<&'static Format>,
    options: &Options,
    sink: &mut dyn RowSink,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        inputs.iter().cloned().partition(|path| path.is_dir());
    for directory in &directories {
        parse_directory(directory, from, options, sink, diagnostics)?;
    }
    if files.is_empty() {
        return Ok(());
    }
    diagnostics.begin_inputs(&files);
    let result = Parser::new(from, options, sink).read_files(&files, diagnostics);
    diagnostics.end_inputs();
    result
}

/// Parses the results of benchmarks that lie in a directory, each benchmark and tool into sections of its own, which say
/// by their labels what they are of.
fn parse_directory(
    directory: &Path,
    from: Option<&'static Format>,
    options: &Options,
    sink: &mut dyn RowSink,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let name = directory.display();
    let all = match directory::results(directory, &options.revision) {
        Ok(all) => all,
        Err(error) => {
            diagnostics.trouble(format!("{name}: {error}"));
            return Ok(());
        }
    };
    if all.is_empty() {
        let suffix = options.revision.suffix();
        diagnostics.trouble(format!(
            "{name}: is a directory without results of benchmarks (NAME.out{suffix}); name the files to read"
        ));
    }
    for results in all {
        for sentence in two_layouts(&results.files) {
            diagnostics.warn(sentence);
        }
        let mut parser = Parser::new(from, options, sink);
        parser.is_of_revision = true;
        parser.out = parser.out.with_labels(results.labels);
        parser.read_files(&results.files, diagnostics)?;
    }
    Ok(())
}

/// [`parse`] for one input that is open, into any sink. Returns what was handed on.
pub(crate) fn parse_lines(
    source: &str,
    lines: Lines,
    options: &Options,
    sink: &mut dyn RowSink,
    diagnostics: &mut Diagnostics,
) -> Result<Framing, Error> {
    let mut parser = Parser::new(None, options, sink);
    parser.read_lines(source, lines, diagnostics)?;
    parser.finish(diagnostics)
}

struct Parser<'a> {
    /// The format, where it is not to be recognised by content.
    from: Option<&'static Format>,
    options: &'a Options,
    out: Out<'a>,
    sums: Sums<'a>,
    /// False once an input could not be read to its end.
    all_read: bool,
    /// True where the inputs were chosen by the revision that is wanted.
    is_of_revision: bool,
}

impl<'a> Parser<'a> {
    fn new(
        from: Option<&'static Format>,
        options: &'a Options,
        sink: &'a mut dyn RowSink,
    ) -> Parser<'a> {
        Parser {
            from,
            options,
            out: Out::new(sink).with_overriding_labels(options.labels.clone()),
            sums: Sums::new(options),
            all_read: true,
            is_of_revision: false,
        }
    }

    /// Reads files to the end of the stream.
    fn read_files(mut self, files: &[PathBuf], diagnostics: &mut Diagnostics) -> Result<(), Error> {
        for path in &input::without_empty_bases(files) {
            match Input::open(path, diagnostics) {
                Ok(input) => self.read(input, diagnostics)?,
                Err(error) => self.give_up(&input::name_of(path), &error, diagnostics),
            }
        }
        self.finish(diagnostics).map(drop)
    }

    fn read(&mut self, input: Input, diagnostics: &mut Diagnostics) -> Result<(), Error> {
        match input::lines(input.reader) {
            Ok(lines) => self.read_lines(&input.name, lines, diagnostics),
            Err(error) => {
                self.give_up(&input.name, &error, diagnostics);
                Ok(())
            }
        }
    }

    fn read_lines(
        &mut self,
        source: &str,
        mut lines: Lines,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        self.out.watch(lines.end_at_error());
        let is_for_directories = self.options.revision != Revision::New && !self.is_of_revision;
        let Parser {
            options, out, sums, ..
        } = self;
        let format = detect::format_of(&mut lines, self.from);
        if let Ok(format) = format
            && options.inline
            && let Some(why) = format.without_inline
        {
            diagnostics.warn(format!("{source}: --inline tells nothing here: {why}"));
        }
        if let Ok(format) = format
            && options.code
            && !matches!(format.reader, FormatReader::Sums(Summed::Callgrind))
        {
            diagnostics.warn(format!(
                "{source}: --code tells nothing here: only Callgrind says which instructions ran"
            ));
        }
        let mut reading = Reading {
            source,
            lines: &mut lines,
            options,
            out,
            diagnostics,
        };
        let read = format.and_then(|format| match format.reader {
            FormatReader::Revisions(read) => read(&mut reading),
            // Of other files nobody knows which are older.
            _ if is_for_directories => Err(Error::whole(format!(
                "earlier results are looked for in a directory (NAME.out{}) or a summary.json; name the older file itself",
                options.revision.suffix()
            ))),
            FormatReader::Records(read) => read(&mut reading),
            FormatReader::Sums(tool) => sums.read(tool, &mut reading),
        });
        match (read, lines.take_error()) {
            (Err(Error::Output(error)), _) => return Err(Error::Output(error)),
            // What the reader missed was behind it.
            (_, Some(error)) => self.give_up(source, &Error::Input(error), diagnostics),
            (Err(error), None) => self.give_up(source, &error, diagnostics),
            (Ok(()), None) => {}
        }
        Ok(())
    }

    /// Goes on without the rest of an input.
    fn give_up(&mut self, source: &str, error: &Error, diagnostics: &mut Diagnostics) {
        self.all_read = false;
        diagnostics.trouble(error.in_file(source));
    }

    fn finish(mut self, diagnostics: &mut Diagnostics) -> Result<Framing, Error> {
        self.sums.write(self.all_read, &mut self.out, diagnostics)?;
        Ok(self.out.framing())
    }
}
