//! Valgrind's XML (`--xml=yes`), protocols 4 to 6, of Memcheck, Helgrind, DRD and Nulgrind.
//!
//! Valgrind's `docs/internals/xml-output-protocol4.txt` and its successors specify the format. The output often differs from
//! the specification, so the reader is not an XML parser (see `scanner`). It accepts
//!
//! - several documents in sequence, and one inside another (`--trace-children=yes` with one `--xml-fd`);
//! - a process that executes another program. Its document ends anywhere, and if Valgrind follows the program, another
//!   document with the same `<pid>` and `<ppid>` begins. This happens only on a descriptor or a socket. A file is emptied
//!   first, so two such documents in one file are two runs;
//! - a process that forks without `%p` in `--xml-file`. Both processes write an ending, so elements follow the closing tag.
//!   These become a separate section with the same pid, and both sections are `forked`;
//! - the unclosed `<still_reachable>` of 3.26.0. Every element at the top of a document ends all open elements;
//! - the `<suppression>` that `--gen-suppressions` repeats after its `<error>`;
//! - unknown elements, which are skipped.
//!
//! A document is complete if it has FINISHED and the closing tag. It is written then, or when the next document begins.

mod document;
mod error;
mod frame;
mod scanner;
mod summary_element;

use cg_reader::{Error, Head, Lines, Reach, Reading};

use self::document::XmlDocument;
use self::scanner::{XmlScanner, XmlToken};
use super::line_end::undecorated;
use super::table::FindingTable;
use super::write_processes;

pub(super) use self::scanner::unescape_into;

/// Returns true if an input has a document. Output of the program may precede it. A log inside another tool's XML is not a
/// document.
pub fn is_document(head: &Head) -> bool {
    const ROOT: &[u8] = b"<valgrindoutput>";
    memchr::memmem::find_iter(head.bytes, ROOT).any(|at| {
        // Exclude prose that mentions the element.
        match head.bytes[at + ROOT.len()..].trim_ascii_start() {
            [] => head.reach != Reach::Beginning,
            rest => rest.starts_with(b"<"),
        }
    })
}

/// Reads the documents of an input, line by line.
pub(super) struct XmlReader {
    scanner: XmlScanner,
    documents: Documents,
}

impl XmlReader {
    pub(super) fn new(demangles: bool) -> XmlReader {
        XmlReader {
            scanner: XmlScanner::new(),
            documents: Documents::new(demangles),
        }
    }

    /// Returns true if any document has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.documents.has_begun
    }

    /// Returns true if no document is open.
    pub(super) fn is_between(&self) -> bool {
        self.documents.open.is_empty()
    }

    /// Reads the current line of `lines`, and the frame that may follow it.
    pub(super) fn line(&mut self, lines: &mut Lines) {
        let documents = &mut self.documents;
        documents.line_number = lines.line_number();
        self.scanner.line(undecorated(lines.last_line()), |token| {
            documents.take(token)
        });
        if let Some((frame, length, more_lines)) = self.scanner.frame(lines.buffered()) {
            documents.line_number += 1 + more_lines as u64;
            documents.take(XmlToken::Frame(frame));
            lines.consume(length);
        }
    }

    /// Ends all open documents.
    pub(super) fn finish(&mut self) {
        self.documents.finish(self.scanner.is_inside_element());
    }

    /// Checks that every entry of the table has a unique id, after this line.
    ///
    /// # Errors
    /// Returns an error if the table exceeds a limit.
    pub(super) fn check_room(&self, line_number: u64) -> Result<(), Error> {
        let room = self.documents.table.check_room();
        room.map_err(|error| Error::at(line_number, error.to_string()))
    }

    /// Writes the processes whose documents have ended.
    pub(super) fn write_processes(&mut self, reading: &mut Reading) -> Result<(), Error> {
        if self.documents.ready.is_empty() {
            return Ok(());
        }
        self.documents.write_processes(reading)
    }
}

/// The documents of an input.
struct Documents {
    table: FindingTable,
    /// True if any document has begun.
    has_begun: bool,
    /// The open documents; the last one is the innermost.
    open: Vec<XmlDocument>,
    /// The last closed document. The next element shows if its process was forked.
    closed: Option<XmlDocument>,
    /// The documents to write.
    ready: Vec<XmlDocument>,
    line_number: u64,
}

impl Documents {
    fn new(demangles: bool) -> Documents {
        Documents {
            table: FindingTable::new(demangles),
            has_begun: false,
            open: Vec::new(),
            closed: None,
            ready: Vec::new(),
            line_number: 0,
        }
    }

    fn take(&mut self, token: XmlToken) {
        match token {
            XmlToken::Open(b"valgrindoutput") => {
                self.has_begun = true;
                self.ready.extend(self.closed.take());
                let mut document = XmlDocument::default();
                document.last_line = self.line_number;
                self.open.push(document);
            }
            XmlToken::Close(b"valgrindoutput") => {
                if self.open.is_empty() && self.closed.is_none() {
                    self.open_without_beginning();
                }
                if let Some(mut document) = self.open.pop() {
                    document.close(&mut self.table);
                    self.ready.extend(self.closed.replace(document));
                }
            }
            XmlToken::Text(b"protocolversion", _) if self.open.is_empty() => {
                self.ready.extend(self.closed.take());
                self.open_without_beginning();
            }
            token => {
                if self.open.is_empty() && !self.reopen(token) {
                    return;
                }
                if let Some(document) = self.open.last_mut() {
                    document.last_line = self.line_number;
                    document.take(token, &mut self.table);
                }
                if let XmlToken::Text(b"ppid", _) = token {
                    self.end_same();
                }
            }
        }
    }

    /// Begins a document without an opening tag.
    fn open_without_beginning(&mut self) {
        self.has_begun = true;
        self.open
            .push(XmlDocument::without_beginning(self.line_number));
    }

    /// Begins the document of a forked process if an element follows a closing tag. Returns false for other tokens.
    fn reopen(&mut self, token: XmlToken) -> bool {
        let is_element = matches!(token, XmlToken::Open(name) if document::is_top_element(name));
        if !is_element {
            return false;
        }
        let Some(mut closed) = self.closed.take() else {
            return false;
        };
        self.open.push(closed.fork());
        self.ready.push(closed);
        true
    }

    /// Ends an open document with the same pid as the innermost one, once the pid and the parent of the innermost one are
    /// known. Its process executed this program, or its document was cut short and the pid was reused.
    fn end_same(&mut self) {
        let Some((innermost, outer)) = self.open.split_last() else {
            return;
        };
        let pid = innermost.process.pid;
        if pid.is_none() {
            return;
        }
        let Some(position) = outer.iter().position(|outer| outer.process.pid == pid) else {
            return;
        };
        let executes = outer[position].may_execute(innermost);
        let mut ended = self.open.remove(position);
        if executes {
            ended.exec(&mut self.table);
        } else {
            ended.replace(&mut self.table);
        }
        self.ready.push(ended);
    }

    /// Ends all open documents.
    fn finish(&mut self, is_inside_element: bool) {
        self.ready.extend(self.closed.take());
        for mut document in self.open.drain(..) {
            document.cut(is_inside_element, &mut self.table);
            self.ready.push(document);
        }
    }

    /// Writes the processes that are ready. Drops all stacks if no other process refers to them.
    fn write_processes(&mut self, reading: &mut Reading) -> Result<(), Error> {
        let source = reading.source;
        let processes = self
            .ready
            .iter()
            .map(|document| (&document.process, document.error(source)));
        write_processes(processes, &self.table, reading)?;
        self.ready.clear();
        if self.closed.is_none() && !self.open.iter().any(XmlDocument::may_have_stacks) {
            self.table.forget_stacks();
        }
        Ok(())
    }
}
