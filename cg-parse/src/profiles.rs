//! Parsing of several inputs into one stream.
//!
//! Each input becomes its own sections, except Callgrind and Cachegrind profiles: they are summed into one section, which is
//! written after all inputs have been read.

use std::io::Write;
use std::path::{Path, PathBuf};

use cg_callgrind::sums::{Summed, Sums};
use cg_reader::{Error, Lines, Options, Out, Reading, Revision};
use cg_stream::rows::RowSink;
use cg_stream::{Diagnostics, Framing, Writer};

use crate::detect::Detected;
use crate::format::{Format, FormatReader, WithoutRecords};
use crate::formats::JOB_OUTPUT;
use crate::input::{self, Input};
use crate::layouts::find_mixed_layouts;
use crate::redact::Redacted;
use crate::stable_names::StableNames;
use crate::{detect, directory};

/// Parses inputs into one stream. If `from` is `None`, the format is recognised by content.
///
/// If an input cannot be read completely, reports an error to `diagnostics`, writes its readable part without an `end`
/// record, and continues with the other inputs.
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
/// let mut diagnostics = Diagnostics::to(|message, is_error| eprintln!("{is_error} {message}"));
/// let mut stream = Vec::new();
/// parse(&[file], None, &Options::default(), &mut stream, &mut diagnostics)?;
/// let stream = String::from_utf8(stream)?;
/// assert!(stream.contains(r#"{"type":"fn","fn":"main","file":"main.c","calls":0,"cost":{"Ir":42}"#));
/// assert!(!diagnostics.has_errors());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns [`Error::Output`] if the output cannot be written. Errors in the inputs go to `diagnostics`.
pub fn parse(
    inputs: &[PathBuf],
    from: Option<&'static Format>,
    options: &Options,
    output: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut writer = Writer::new(output);
    {
        let (mut stable, mut redacted);
        let mut sink: &mut dyn RowSink = &mut writer;
        if options.stable_names {
            stable = StableNames::new(sink);
            sink = &mut stable;
        }
        if options.redact {
            redacted = Redacted::new(sink);
            sink = &mut redacted;
        }
        parse_all(inputs, from, options, sink, diagnostics)?;
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
    let is_of_benchmarks =
        |path: &PathBuf| path.is_dir() && cg_perf_data::main_file(path).is_none();
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        inputs.iter().cloned().partition(is_of_benchmarks);
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

/// Parses the benchmark results in a directory. Each benchmark and tool has separate sections, with labels that identify it.
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
            diagnostics.error(format!("{name}: {error}"));
            return Ok(());
        }
    };
    if all.is_empty() {
        let suffix = options.revision.suffix();
        diagnostics.error(format!(
            "{name}: is a directory without benchmark results (NAME.out{suffix}); name the files to read"
        ));
    }
    for results in all {
        for sentence in find_mixed_layouts(&results.files) {
            diagnostics.warn(sentence);
        }
        let mut parser = Parser::new(from, options, sink);
        parser.are_inputs_of_revision = true;
        parser.out = parser.out.with_labels(results.labels);
        parser.read_files(&results.files, diagnostics)?;
    }
    Ok(())
}

/// Parses one open input into any sink, like [`parse`]. Returns the counts of `run` and `end` records.
pub(crate) fn parse_lines(
    source: &str,
    lines: Lines,
    options: &Options,
    sink: &mut dyn RowSink,
    diagnostics: &mut Diagnostics,
) -> Result<Framing, Error> {
    parse_with(Parser::new(None, options, sink), source, lines, diagnostics)
}

/// Parses one open input like [`parse_lines`]. If it is a Callgrind profile, passes its stacks to `stacks`.
pub(crate) fn parse_lines_and_stacks(
    source: &str,
    lines: Lines,
    options: &Options,
    (sink, stacks): (&mut dyn RowSink, &mut dyn RowSink),
    diagnostics: &mut Diagnostics,
) -> Result<Framing, Error> {
    let mut parser = Parser::new(None, options, sink);
    let stacks = Out::new(stacks).with_overriding_labels(options.labels.clone());
    parser.sums = parser.sums.with_stacks_apart(stacks);
    parse_with(parser, source, lines, diagnostics)
}

/// Parses one open input like [`parse_lines`]. Searches text of no known format for reports, and accepts that there are none.
pub(crate) fn parse_job_output(
    source: &str,
    lines: Lines,
    options: &Options,
    sink: &mut dyn RowSink,
    diagnostics: &mut Diagnostics,
) -> Result<Framing, Error> {
    let mut parser = Parser::new(None, options, sink);
    parser.is_job_output = true;
    parse_with(parser, source, lines, diagnostics)
}

fn parse_with(
    mut parser: Parser<'_>,
    source: &str,
    lines: Lines,
    diagnostics: &mut Diagnostics,
) -> Result<Framing, Error> {
    parser.read_lines(source, lines, diagnostics)?;
    parser.finish(diagnostics)
}

/// Checks that records were read since `records_before`, unless the format can lack them. Nothing read is not a whole
/// profile.
fn check_records(format: &Format, records_before: u64, reading: &mut Reading) -> Result<(), Error> {
    const NOTHING: &str = "no samples or other records were found";
    let is_explained = reading.out.take_expects_nothing();
    if is_explained || reading.out.framing().records > records_before {
        return Ok(());
    }
    match format.without_records {
        WithoutRecords::Complete => Ok(()),
        WithoutRecords::Unusual => {
            reading.warn(format!("{NOTHING}: the profile is empty"));
            Ok(())
        }
        WithoutRecords::Error => Err(Error::whole(format!(
            "{NOTHING} in this input, which was read as {}; record it again, for longer or with samples",
            format.name
        ))),
    }
}

struct Parser<'a> {
    /// The format; `None` to recognise it by content.
    from: Option<&'static Format>,
    options: &'a Options,
    out: Out<'a>,
    sums: Sums<'a>,
    /// False if an input could not be read to its end.
    all_read: bool,
    /// True if the inputs were selected by the requested revision.
    are_inputs_of_revision: bool,
    /// True if an input may be any text, with or without reports.
    is_job_output: bool,
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
            are_inputs_of_revision: false,
            is_job_output: false,
        }
    }

    /// Reads all files and finishes the stream.
    fn read_files(mut self, files: &[PathBuf], diagnostics: &mut Diagnostics) -> Result<(), Error> {
        for path in &input::without_empty_bases(files) {
            match Input::open(path, diagnostics) {
                Ok(input) => self.read(input, diagnostics)?,
                Err(error) => self.give_up(&input::input_name(path), &error, diagnostics),
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
        let needs_directory =
            self.options.revision != Revision::New && !self.are_inputs_of_revision;
        let Parser {
            options, out, sums, ..
        } = self;
        let records_before = out.framing().records;
        let format = match detect::detect(&mut lines, self.from) {
            Ok(Detected::Format(format)) if format.is_log() && self.is_job_output => {
                Ok(&JOB_OUTPUT)
            }
            Ok(Detected::Format(format)) => Ok(format),
            Ok(Detected::OtherText(_)) if self.is_job_output => Ok(&JOB_OUTPUT),
            Ok(Detected::OtherText(error)) | Err(error) => Err(error),
        }
        .map_err(|error| input::explain_empty(source, error));
        if let Ok(format) = format
            && options.inline
            && let Some(why) = format.without_inline
        {
            diagnostics.warn(format!("{source}: --inline has no effect here: {why}"));
        }
        if let Ok(format) = format
            && options.code
            && !matches!(format.reader, FormatReader::Sums(Summed::Callgrind))
        {
            diagnostics.warn(format!(
                "{source}: --code has no effect: only Callgrind records executed instructions"
            ));
        }
        let mut reading = Reading {
            source,
            lines: &mut lines,
            options,
            out,
            diagnostics,
        };
        let read = format.and_then(|format| {
            if matches!(format.without_records, WithoutRecords::Error) {
                reading.out.require_records();
            }
            match format.reader {
                FormatReader::Revisions(read) => read(&mut reading),
                // Other files contain no results of earlier runs.
                _ if needs_directory => Err(Error::whole(format!(
                    "--old and --base need a directory (NAME.out{}) or a summary.json; to read this file, omit the option",
                    options.revision.suffix()
                ))),
                FormatReader::Records(read) => read(&mut reading),
                FormatReader::Sums(tool) => sums.read(tool, &mut reading),
            }?;
            check_records(format, records_before, &mut reading)
        });
        self.out.finish_input(read.is_ok())?;
        match (read, lines.take_error()) {
            (Err(Error::Output(error)), _) => return Err(Error::Output(error)),
            // A read error is the cause of the reader's error, so report only the read error.
            (_, Some(error)) => self.give_up(source, &Error::Input(error), diagnostics),
            (Err(error), None) => self.give_up(source, &error, diagnostics),
            (Ok(()), None) => {}
        }
        Ok(())
    }

    /// Reports an error and skips the rest of the input.
    fn give_up(&mut self, source: &str, error: &Error, diagnostics: &mut Diagnostics) {
        self.all_read = false;
        diagnostics.error(error.in_file(source));
    }

    fn finish(mut self, diagnostics: &mut Diagnostics) -> Result<Framing, Error> {
        self.sums.write(self.all_read, &mut self.out, diagnostics)?;
        Ok(self.out.framing())
    }
}
