//! Reads text logs and XML documents from one input, in any order.
//!
//! A file with several runs, or the output of a CI job, may contain both. Text may precede, separate and follow documents.
//! Lines inside a document belong to the document.

use cg_reader::{Error, Reading};

use super::text::{Log, LogLine};
use super::xml::XmlReader;

/// Parses an input. Writes the processes of documents as they end, then the processes of text logs.
pub fn parse_logs(reading: &mut Reading) -> Result<(), Error> {
    let contents = read(reading)?;
    if contents.is_empty() {
        return Err(Error::whole(
            "no message of Memcheck, Helgrind, DRD or a sanitizer was found: expected lines such as \"==PID== Memcheck, a memory error detector\" or \"==PID==ERROR: AddressSanitizer: …\"",
        ));
    }
    Ok(())
}

/// Parses the output of a job like [`parse_logs`], and accepts that it has no report.
pub fn parse_job_output(reading: &mut Reading) -> Result<(), Error> {
    read(reading).map(drop)
}

/// Parses an input that must contain a document.
pub fn parse_documents(reading: &mut Reading) -> Result<(), Error> {
    let contents = read(reading)?;
    if !contents.has_documents {
        return Err(Error::whole(
            "expected a document of Valgrind, found no <valgrindoutput>",
        ));
    }
    Ok(())
}

/// The contents of an input.
struct InputContents {
    has_documents: bool,
    has_logs: bool,
}

impl InputContents {
    fn is_empty(&self) -> bool {
        !self.has_documents && !self.has_logs
    }
}

fn read(reading: &mut Reading) -> Result<InputContents, Error> {
    let mut log = Log::new(reading.options.demangle);
    let mut documents: Option<XmlReader> = None;
    let mut ends_in_log = false;
    while reading.lines.advance().map_err(Error::Input)? {
        let Some(reader) = &mut documents else {
            ends_in_log = true;
            if log.line(reading.lines.last_line(), reading.lines.line_number()) == LogLine::Document
            {
                let reader = documents.insert(XmlReader::new(reading.options.demangle));
                reader.line(reading.lines);
                ends_in_log = false;
            }
            log.check_room(reading.lines.line_number())?;
            continue;
        };
        reader.line(reading.lines);
        // A log may begin on the last line of a document.
        ends_in_log = reader.is_between()
            && log.line(reading.lines.last_line(), reading.lines.line_number()) == LogLine::Text;
        reader.check_room(reading.lines.line_number())?;
        reader.write_processes(reading)?;
    }
    log.finish(
        ends_in_log && !reading.lines.ended_with_newline(),
        reading.lines.line_number(),
    );
    if let Some(reader) = &mut documents {
        reader.finish();
        reader.write_processes(reading)?;
    }
    log.write_processes(reading)?;
    Ok(InputContents {
        has_documents: documents.is_some_and(|reader| reader.has_begun()),
        has_logs: !log.is_empty(),
    })
}
