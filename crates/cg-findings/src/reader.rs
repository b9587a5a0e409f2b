//! Reads text logs and documents of XML from one input, in whatever order they come.
//!
//! A file that several runs wrote to, or the output of a CI job, may have both. Text stands in front of documents, between and
//! behind them; what stands inside a document is that document's.

use cg_reader::{Error, Reading};

use super::text::{Log, LogLine};
use super::xml::XmlReader;

/// Parses an input and hands on the processes of its documents as they end, then those of its text.
pub fn parse_logs(reading: &mut Reading) -> Result<(), Error> {
    let read = read(reading)?;
    if read.is_nothing() {
        return Err(Error::whole(
            "no message of Memcheck, Helgrind, DRD or a sanitizer was found: expected lines such as \"==PID== Memcheck, a memory error detector\" or \"==PID==ERROR: AddressSanitizer: …\"",
        ));
    }
    Ok(())
}

/// Parses an input that is to have a document.
pub fn parse_documents(reading: &mut Reading) -> Result<(), Error> {
    let read = read(reading)?;
    if !read.has_documents {
        return Err(Error::whole(
            "expected a document of Valgrind, found no <valgrindoutput>",
        ));
    }
    Ok(())
}

/// What an input had.
struct WasRead {
    has_documents: bool,
    has_logs: bool,
}

impl WasRead {
    fn is_nothing(&self) -> bool {
        !self.has_documents && !self.has_logs
    }
}

fn read(reading: &mut Reading) -> Result<WasRead, Error> {
    let mut log = Log::new(reading.options.demangle);
    let mut documents: Option<XmlReader> = None;
    let mut ends_in_log = false;
    while reading.lines.advance().map_err(Error::Input)? {
        let Some(reader) = &mut documents else {
            ends_in_log = true;
            if log.line(reading.lines.last_line(), reading.lines.line_number())
                == LogLine::OfDocument
            {
                let reader = documents.insert(XmlReader::new(reading.options.demangle));
                reader.line(reading.lines);
                ends_in_log = false;
            }
            continue;
        };
        reader.line(reading.lines);
        // A log may begin in the line in which a document ends.
        ends_in_log = reader.is_between()
            && log.line(reading.lines.last_line(), reading.lines.line_number()) == LogLine::OfText;
        reader.hand_on(reading)?;
    }
    log.finish(
        ends_in_log && !reading.lines.ended_with_newline(),
        reading.lines.line_number(),
    );
    if let Some(reader) = &mut documents {
        reader.finish();
        reader.hand_on(reading)?;
    }
    log.hand_on(reading)?;
    Ok(WasRead {
        has_documents: documents.is_some_and(|reader| reader.has_begun()),
        has_logs: !log.is_empty(),
    })
}
