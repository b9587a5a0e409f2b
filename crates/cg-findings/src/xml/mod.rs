//! Valgrind's XML (`--xml=yes`), protocols 4 to 6, of Memcheck, Helgrind, DRD and Nulgrind.
//!
//! What is specified stands in Valgrind's `docs/internals/xml-output-protocol4.txt` and its successors. What is written
//! is often something else, so the reader is no XML parser (see `scanner`), and it is prepared for
//!
//! - documents one behind the other, and one inside another (`--trace-children=yes` with one `--xml-fd`);
//! - a process that executes another program: its document ends anywhere, and where Valgrind follows it, another
//!   document with the same `<pid>` and `<ppid>` begins. That is so on a descriptor or a socket: a file is emptied first, so
//!   that two such documents in one are two runs;
//! - a process that forks without `%p` in `--xml-file`: each of the two writes its own ending, so that elements follow
//!   the closing tag. They become a section of their own with the same pid, and both sections are `forked`;
//! - 3.26.0's `<still_reachable>` that is not closed: every element at the top of a document ends what is open;
//! - the `<suppression>` that `--gen-suppressions` repeats behind its `<error>`;
//! - elements that are not known, which are skipped.
//!
//! A document is whole once it says FINISHED and is closed. It is handed on then, or when the next begins.

mod document;
mod error;
mod frame;
mod scanner;
mod summary_element;

use cg_reader::{Error, Head, Lines, Reading};

use self::document::XmlDocument;
use self::scanner::{XmlScanner, XmlToken};
use super::hand_on;
use super::line_end::undecorated;
use super::table::FindingTable;

pub(super) use self::scanner::unescape_into;

/// True where an input has a document. A program's own output can come before it, and a log can stand inside another
/// tool's XML.
pub fn is_document(head: &Head) -> bool {
    const ROOT: &[u8] = b"<valgrindoutput>";
    memchr::memmem::find_iter(head.bytes, ROOT).any(|at| {
        // Texts about such documents name the element, too.
        let behind = head.bytes[at + ROOT.len()..].trim_ascii_start();
        behind.is_empty() || behind.starts_with(b"<")
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

    /// Whether any document has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.documents.has_begun
    }

    /// Whether no document is open.
    pub(super) fn is_between(&self) -> bool {
        self.documents.open.is_empty()
    }

    /// Reads the line that `lines` went to, and the frame that may begin behind it.
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

    /// Ends what the input left open.
    pub(super) fn finish(&mut self) {
        self.documents.finish(self.scanner.is_inside_element());
    }

    /// Hands on the processes whose documents have ended.
    pub(super) fn hand_on(&mut self, reading: &mut Reading) -> Result<(), Error> {
        if self.documents.ready.is_empty() {
            return Ok(());
        }
        self.documents.hand_on(reading)
    }
}

/// The documents of an input.
struct Documents {
    table: FindingTable,
    /// Whether any has begun.
    has_begun: bool,
    /// Those that are not closed; the last is the innermost.
    open: Vec<XmlDocument>,
    /// The one that was closed last. It is kept for a moment: what may follow tells whether it was forked.
    closed: Option<XmlDocument>,
    /// Those to be handed on.
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

    /// A document has begun whose opening tag is missing.
    fn open_without_beginning(&mut self) {
        self.has_begun = true;
        self.open
            .push(XmlDocument::without_beginning(self.line_number));
    }

    /// Elements behind a closing tag are those of another process that was forked. False for anything else there.
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

    /// The innermost document has just named its process and its parent. An open one of the same number has come to its
    /// end: it executed this one, or it was cut short before another process got the number.
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

    /// Ends what the input left open.
    fn finish(&mut self, is_inside_element: bool) {
        self.ready.extend(self.closed.take());
        for mut document in self.open.drain(..) {
            document.cut(is_inside_element, &mut self.table);
            self.ready.push(document);
        }
    }

    /// Hands on the processes that are ready, and forgets the stacks that no other refers to.
    fn hand_on(&mut self, reading: &mut Reading) -> Result<(), Error> {
        let source = reading.source;
        let processes = self
            .ready
            .iter()
            .map(|document| (&document.process, document.trouble(source)));
        hand_on(processes, &self.table, reading)?;
        self.ready.clear();
        if self.closed.is_none() && !self.open.iter().any(XmlDocument::may_have_stacks) {
            self.table.forget_stacks();
        }
        Ok(())
    }
}
