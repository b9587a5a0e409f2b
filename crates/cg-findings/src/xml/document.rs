//! Reads one document: the elements at its top, and the facts about the process in them.

use cg_collections::maps::Map;
use cg_stream::record::{Name, Tool};

use super::error::{self, ErrorElement, FinishedError};
use super::frame;
use super::scanner::{XmlToken, unescape_into};
use super::summary_element;
use crate::evidence::name_and_value;
use crate::fields::whole_amount;
use crate::preamble;
use crate::process::{AnnouncedThread, FatalSignal, Process};
use crate::stacks::GatheredStacks;
use crate::table::FindingTable;
use crate::text::sentences::EXIT_ON_FIRST_ERROR;

/// A document while it is read.
#[derive(Default)]
pub(super) struct XmlDocument {
    pub(super) process: Process,
    /// The line of the last token.
    pub(super) last_line: u64,
    section: TopElement,
    /// The positions in the process's errors, by `<unique>`.
    errors: Map<u64, usize>,
    is_finished: bool,
    end: End,
    /// The line where two errors were found to be mixed up.
    mixed_up_at: Option<u64>,
    /// The line where an error was found to be incomplete.
    damaged_at: Option<u64>,
    /// The line where the opening tag was found to be missing.
    beginning_missed_at: Option<u64>,
    /// True if an element followed the first elements, which every document has.
    has_more_than_preamble: bool,
}

/// The end of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// The end of the input, between two elements.
    #[default]
    Missing,
    /// The end of the input, inside an element.
    MissingInElement,
    /// The closing tag.
    Closed,
    /// The beginning of the program that the process executed.
    Executed,
    /// The beginning of another process with the same pid.
    Replaced,
}

/// The element at the top of the document that is being read.
#[derive(Default)]
enum TopElement {
    #[default]
    None,
    Preamble,
    /// `of_program` is true inside the program's arguments, and false inside Valgrind's own.
    Arguments {
        of_program: bool,
        words: Vec<u8>,
    },
    Status,
    Error(Box<ErrorElement>),
    Thread(AnnouncedThread, GatheredStacks),
    Signal(FatalSignal, GatheredStacks),
    Qualifier {
        variable: String,
        value: String,
    },
    ErrorCounts {
        unique: Option<u64>,
        count: u64,
    },
    SuppressionCounts {
        name: String,
        count: u64,
    },
    Summary(summary_element::SummaryElement),
    /// An irrelevant element.
    Skipped,
    /// An unknown element, with its name.
    Unknown(Vec<u8>),
}

impl XmlDocument {
    /// Creates a document without a beginning. `line` is the line where this was found.
    pub(super) fn without_beginning(line: u64) -> XmlDocument {
        XmlDocument {
            last_line: line,
            beginning_missed_at: Some(line),
            ..XmlDocument::default()
        }
    }

    /// Creates the document of a forked process, which writes its ending to the same file.
    pub(super) fn fork(&mut self) -> XmlDocument {
        let mut fork = XmlDocument::default();
        fork.process = self.process.fork();
        fork
    }

    /// Ends the document at its closing tag.
    pub(super) fn close(&mut self, table: &mut FindingTable) {
        self.end_section(table);
        self.end = End::Closed;
        self.process.is_complete = self.is_finished && self.is_sound();
    }

    /// Ends the document because the process executed another program, whose document has just begun.
    pub(super) fn exec(&mut self, table: &mut FindingTable) {
        self.end_section(table);
        self.end = End::Executed;
        self.process.has_execed = true;
        self.process.is_complete = self.is_sound();
    }

    /// Returns true if the process may have executed the program of `next`, which has the same pid. Both must have the same
    /// parent, the output must be a descriptor or a socket, and this document must be between two elements and before any
    /// summary. The parent 0, outside a container, does not identify a process.
    pub(super) fn may_execute(&self, next: &XmlDocument) -> bool {
        let parent = self.process.ppid.filter(|parent| *parent != 0);
        parent.is_some()
            && self.is_written_to_descriptor()
            && parent == next.process.ppid
            && matches!(self.section, TopElement::None)
            && !self.is_finished
            && !self.process.has_summary()
    }

    /// Returns true if the output is a descriptor or a socket, where another document may follow. The last option counts.
    fn is_written_to_descriptor(&self) -> bool {
        let tool = self.process.tool.as_deref();
        let options = self.process.options.iter().rev();
        let mut names = options.filter_map(|option| Some(name_and_value(option, tool)?.0));
        let to = names.find(|name| matches!(*name, "xml-fd" | "xml-socket" | "xml-file"));
        to.is_some_and(|to| to != "xml-file")
    }

    /// Ends the document because another process has the same pid, so this document was cut short.
    pub(super) fn replace(&mut self, table: &mut FindingTable) {
        self.end_section(table);
        self.end = End::Replaced;
    }

    fn is_sound(&self) -> bool {
        self.mixed_up_at.is_none()
            && self.damaged_at.is_none()
            && self.beginning_missed_at.is_none()
    }

    /// Ends the document at the end of the input.
    pub(super) fn cut(&mut self, is_inside_element: bool, table: &mut FindingTable) {
        let is_inside_section = !matches!(self.section, TopElement::None);
        self.end = if is_inside_element || is_inside_section {
            End::MissingInElement
        } else {
            End::Missing
        };
        self.end_section(table);
        self.process.has_only_preamble =
            self.end == End::Missing && self.process.ppid.is_some() && !self.has_more_than_preamble;
    }

    /// Returns true if the document may refer to a stack of the table.
    pub(super) fn may_have_stacks(&self) -> bool {
        !matches!(self.section, TopElement::None) || self.process.has_stacks()
    }

    pub(super) fn take(&mut self, token: XmlToken, table: &mut FindingTable) {
        if let XmlToken::Open(name) = token
            && let Some(section) = self.new_section(name)
        {
            self.begin_section(section, table);
            return;
        }
        if matches!(self.section, TopElement::None) && is_part_of_error(token) {
            self.damaged_at.get_or_insert(self.last_line);
        }
        match (&mut self.section, token) {
            (TopElement::None, XmlToken::Text(name, text)) => self.top_text(name, text),
            (TopElement::None, XmlToken::Open(name)) => {
                self.section = TopElement::Unknown(name.to_vec())
            }
            (TopElement::Error(_), XmlToken::Close(b"error")) => self.end_section(table),
            (TopElement::Error(error), token) => error.take(token, table),
            (_, XmlToken::Close(name)) if TopElement::new(name).is_some() => {
                self.end_section(table);
            }
            (TopElement::Unknown(unknown), XmlToken::Close(name)) if *unknown == name => {
                self.end_section(table);
            }
            (TopElement::Skipped | TopElement::Unknown(_), _) => {}
            (
                TopElement::Thread(_, stacks) | TopElement::Signal(_, stacks),
                XmlToken::Frame(raw),
            ) => {
                stacks.frame(table.frame(raw, frame::parse));
            }
            (_, XmlToken::Text(name, text)) => {
                let mut unescaped = Vec::new();
                unescape_into(text.trim_ascii(), &mut unescaped);
                self.section_text(name, &unescaped);
            }
            (TopElement::Summary(summary), XmlToken::Open(name)) => summary.open(name),
            (TopElement::Arguments { of_program, words }, XmlToken::Open(name)) => {
                *of_program = name == b"argv";
                words.clear();
            }
            (_, XmlToken::Close(b"pair")) => self.end_pair(),
            _ => {}
        }
    }

    /// Returns the reason why the document is incomplete; `None` if it is complete.
    pub(super) fn error(&self, source: &str) -> Option<String> {
        let process = match self.process.pid {
            Some(pid) => format!("process {pid}"),
            None => "an unknown process".to_owned(),
        };
        if let Some(line) = self.mixed_up_at {
            return Some(format!(
                "{source}:{line}: two errors are mixed up in the document of {process}: several processes wrote to it at once"
            ));
        }
        if let Some(line) = self.beginning_missed_at {
            return Some(format!(
                "{source}:{line}: expected <valgrindoutput> before this: the beginning of the document of {process} is missing"
            ));
        }
        let line = self.last_line;
        if let (End::Closed | End::Executed, Some(line)) = (self.end, self.damaged_at) {
            return Some(format!(
                "{source}:{line}: expected an <error> with <kind>, <what> and, for a leak, its size, found an incomplete one: the document of {process} is damaged"
            ));
        }
        match self.end {
            End::Executed => None,
            End::Replaced => Some(format!(
                "{source}:{line}: the document of {process} was cut short: the document of another process with the same pid follows"
            )),
            End::Closed if self.is_finished => None,
            End::Closed if self.process.exits_on_first_error() => Some(format!(
                "{source}:{line}: the document of {process} ends early: {EXIT_ON_FIRST_ERROR}"
            )),
            End::Closed => Some(format!(
                "{source}:{line}: the document of {process} is closed, but the process never finished: Valgrind failed, or an option stopped it early"
            )),
            End::Missing => Some(format!(
                "{source}:{line}: expected </valgrindoutput>, found the end: the end of the document of {process} is missing: {}",
                self.process.reason_without_end()
            )),
            End::MissingInElement => Some(format!(
                "{source}:{line}: expected the rest of an element, found the end: the document of {process} was cut short"
            )),
        }
    }

    /// Returns the section that an element begins; `None` if the element belongs to the current section.
    fn new_section(&self, name: &[u8]) -> Option<TopElement> {
        let is_inside_error =
            matches!(self.section, TopElement::Error(_)) && name == b"suppression";
        if is_inside_error {
            return None;
        }
        TopElement::new(name)
    }

    fn begin_section(&mut self, section: TopElement, table: &mut FindingTable) {
        if matches!(self.section, TopElement::Error(_)) {
            // An error never contains other top elements, so its end is missing.
            self.mixed_up_at.get_or_insert(self.last_line);
        }
        self.end_section(table);
        self.has_more_than_preamble |= !matches!(
            section,
            TopElement::Preamble
                | TopElement::Arguments { .. }
                | TopElement::Status
                | TopElement::Qualifier { .. }
        );
        match &section {
            TopElement::SuppressionCounts { .. } => self.process.used_suppressions.clear(),
            TopElement::Summary(summary) => summary.begin(&mut self.process),
            _ => {}
        }
        self.section = section;
    }

    fn end_section(&mut self, table: &mut FindingTable) {
        match std::mem::replace(&mut self.section, TopElement::None) {
            TopElement::Error(error) => {
                if error.is_mixed_up {
                    self.mixed_up_at.get_or_insert(self.last_line);
                }
                let unique = error.unique;
                match error.finish(&mut self.process, table) {
                    FinishedError::Leak => {}
                    FinishedError::Error(position) => {
                        if let Some(unique) = unique {
                            self.errors.insert(unique, position);
                        }
                    }
                    FinishedError::Damaged => {
                        self.damaged_at.get_or_insert(self.last_line);
                    }
                }
            }
            TopElement::Thread(thread, stacks) => {
                let stack = stacks.finish(table).0;
                self.process
                    .threads
                    .push(AnnouncedThread { stack, ..thread });
            }
            TopElement::Signal(signal, stacks) => {
                let stack = stacks.finish(table).0;
                self.process.fatal_signal = Some(FatalSignal { stack, ..signal });
            }
            TopElement::Qualifier { variable, value } => {
                self.process.log_file_qualifiers.push((variable, value));
            }
            _ => {}
        }
    }

    /// Reads a text directly inside `<valgrindoutput>`.
    fn top_text(&mut self, name: &[u8], text: &[u8]) {
        let text = text.trim_ascii();
        match name {
            b"pid" => self.process.pid = whole_amount(text),
            b"ppid" => self.process.ppid = whole_amount(text),
            b"tool" => self.process.tool = Some(Tool::from(string(text).as_str())),
            b"usercomment" => self.process.user_comment = Some(string(text)),
            b"all_heap_blocks_freed" if text == b"true" => {
                self.process.set_all_heap_blocks_freed();
            }
            _ => {}
        }
    }

    /// Reads a text inside a top element.
    fn section_text(&mut self, name: &[u8], text: &[u8]) {
        let process = &mut self.process;
        match (&mut self.section, name) {
            (TopElement::Preamble, b"line") => {
                preamble::read(text, process);
            }
            (TopElement::Status, b"state") if text == b"FINISHED" && !self.is_finished => {
                self.is_finished = true;
                // With XML, Memcheck always searches for leaks at exit. A search that finds nothing prints nothing.
                process.begin_exit_check();
            }
            (
                TopElement::Arguments {
                    of_program: true,
                    words,
                },
                b"exe" | b"arg",
            ) => {
                if !words.is_empty() {
                    words.push(b' ');
                }
                words.extend_from_slice(text);
                // Prefer the command in the preamble, because it has escaped blanks.
                if !process.has_command_line {
                    process.command = Some(string(words));
                }
            }
            (
                TopElement::Arguments {
                    of_program: false, ..
                },
                b"arg",
            ) => process.options.push(string(text)),
            (TopElement::Thread(thread, _), b"hthreadid") => {
                thread.thread = whole_amount(text).unwrap_or_default();
            }
            (TopElement::Thread(thread, _), b"isrootthread") => thread.is_root = true,
            (TopElement::Signal(signal, _), _) => signal_text(signal, name, text),
            (TopElement::Qualifier { variable, .. }, b"var") => *variable = string(text),
            (TopElement::Qualifier { value, .. }, b"value") => *value = string(text),
            (TopElement::ErrorCounts { count, .. }, b"count")
            | (TopElement::SuppressionCounts { count, .. }, b"count") => {
                *count = whole_amount(text).unwrap_or_default();
            }
            (TopElement::ErrorCounts { unique, .. }, b"unique") => *unique = error::unique(text),
            (TopElement::SuppressionCounts { name, .. }, b"name") => *name = string(text),
            (TopElement::Summary(summary), name) => summary.text(name, text, process),
            _ => {}
        }
    }

    /// Ends a `<pair>` of `<errorcounts>` or `<suppcounts>`.
    fn end_pair(&mut self) {
        match &mut self.section {
            TopElement::ErrorCounts { unique, count } => {
                let Some(unique) = unique.take() else { return };
                match self.errors.get(&unique) {
                    Some(position) => self.process.errors[*position].count = *count,
                    None => self.process.unprinted_errors += 1,
                }
                self.process.has_counts = true;
            }
            TopElement::SuppressionCounts { name, count } => {
                let name = std::mem::take(name);
                self.process.used_suppressions.push((name, *count));
            }
            _ => {}
        }
    }
}

/// Returns true for a token that occurs only inside an `<error>`.
fn is_part_of_error(token: XmlToken) -> bool {
    match token {
        XmlToken::Open(name) | XmlToken::Text(name, _) => matches!(
            name,
            b"unique" | b"kind" | b"what" | b"xwhat" | b"auxwhat" | b"xauxwhat" | b"stack"
        ),
        XmlToken::Close(name) => name == b"error",
        XmlToken::Frame(_) => true,
    }
}

/// Returns true for an element directly inside `<valgrindoutput>`.
pub(super) fn is_top_element(name: &[u8]) -> bool {
    TopElement::new(name).is_some()
}

impl TopElement {
    /// Creates the top element with this name; `None` for elements inside a top element.
    fn new(name: &[u8]) -> Option<TopElement> {
        Some(match name {
            b"preamble" => TopElement::Preamble,
            b"args" => TopElement::Arguments {
                of_program: false,
                words: Vec::new(),
            },
            b"status" => TopElement::Status,
            b"error" => TopElement::Error(Box::default()),
            b"announcethread" => {
                let thread = AnnouncedThread {
                    thread: 0,
                    is_root: false,
                    stack: Default::default(),
                };
                TopElement::Thread(thread, GatheredStacks::default())
            }
            b"fatal_signal" => {
                TopElement::Signal(FatalSignal::default(), GatheredStacks::default())
            }
            b"logfilequalifier" => TopElement::Qualifier {
                variable: String::new(),
                value: String::new(),
            },
            b"errorcounts" => TopElement::ErrorCounts {
                unique: None,
                count: 0,
            },
            b"suppcounts" => TopElement::SuppressionCounts {
                name: String::new(),
                count: 0,
            },
            // A `<suppression>` directly inside the document repeats the suppression of the error before it.
            b"clientmsg" | b"suppression" => TopElement::Skipped,
            _ => TopElement::Summary(summary_element::SummaryElement::new(name)?),
        })
    }
}

fn signal_text(signal: &mut FatalSignal, name: &[u8], text: &[u8]) {
    match name {
        b"tid" => signal.thread = whole_amount(text),
        b"signo" => signal.number = whole_amount(text),
        b"signame" => signal.name = string(text),
        b"event" => signal.event = Some(string(text)),
        b"siaddr" => signal.address = Some(string(text)),
        _ => {}
    }
}

fn string(text: &[u8]) -> String {
    Name::from_bytes(text).into_string()
}
