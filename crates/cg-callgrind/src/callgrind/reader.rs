//! Reads a profile line by line in one pass: tries cost lines first, and allocates nothing per line.

use cg_costs::ids::{FileFunctionId, StringId};
use cg_costs::inlines::At;
use cg_costs::section::Section;
use cg_costs::tables::{NoRoom, Signedness};
use cg_reader::{Error, Lines, Options, excerpt};
use cg_stream::Diagnostics;
use cg_stream::intern::TooMany;

use super::counts::LineCounts;
use super::functions::{
    DecoratedId, FileFunctionNames, FileFunctions, Position, PositionCertainty,
};
use super::names::NumberTable;
use super::part::{NodeLine, PartSums, Wanted};
use super::position::Positions;
use super::recursion::RecursionSigns;
use crate::PartDone;
use crate::continued::NameLine;
use crate::refusal::Refusal;

mod positions;

mod headers;

mod ends;

use positions::{BodyKey, Compression};

/// What a function's number refers to: its name and, once it was used, the function.
#[derive(Clone, Copy)]
struct Numbered {
    name: DecoratedId,
    node: Option<FileFunctionId>,
}

/// A function as a line names it.
#[derive(Clone, Copy)]
struct NamedFunction {
    name: DecoratedId,
    number: Option<u64>,
}

/// A position line's value, and whether it was given since the last use.
#[derive(Clone, Copy, Default)]
struct InForce {
    name: StringId,
    is_fresh: bool,
}

impl InForce {
    fn position(self, otherwise: PositionCertainty) -> Position {
        Position {
            name: self.name,
            certainty: if self.is_fresh {
                PositionCertainty::Explicit
            } else {
                otherwise
            },
        }
    }
}

/// How much of a part has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// No `events:` yet.
    Header,
    /// `events:` were named, nothing else came.
    Events,
    /// Positions or costs were read.
    Body,
    /// `totals:` were read.
    Totals,
}

/// What a position line sets stays in force until the next one of its kind, or the end of the part.
#[derive(Default)]
struct PartState {
    /// The position of the last cost line, which the next one can be relative to.
    positions: Positions,
    compression: Compression,
    object: InForce,
    /// The file of the function (`fl=`).
    function_file: InForce,
    /// The file of the lines (`fl=`, `fi=`, `fe=`).
    file: StringId,
    /// `fi=` or `fe=` came behind the last `fn=`.
    file_is_fresh: bool,
    /// The part has functions and no `fl=` yet.
    fi_stands_for_fl: bool,
    function: Option<NamedFunction>,
    /// The node of `function`, from its first cost line on.
    node: Option<FileFunctionId>,
    called_object: Option<StringId>,
    called_file: Option<StringId>,
    /// The function called; it stays for further `calls=` lines.
    callee: Option<NamedFunction>,
    /// The positions `callee` was named with.
    callee_object: Option<StringId>,
    callee_file: Option<StringId>,
}

pub(super) struct CallgrindReader<'a> {
    source: &'a str,
    section: &'a mut Section,
    part_done: PartDone<'a>,
    diagnostics: &'a mut Diagnostics,
    wanted: Wanted,

    objects: NumberTable<StringId>,
    files: NumberTable<StringId>,
    functions: NumberTable<Numbered>,
    function_names: FileFunctionNames,
    nodes: FileFunctions,
    shown: RecursionSigns,
    is_xtree: bool,
    is_xdebug: bool,
    /// Whether the header of the part says neither a version of the format nor who wrote it, as converters of Python's
    /// profiles do.
    is_anonymous: bool,

    stage: Stage,
    /// A header has begun and has not come to its `events:` yet.
    has_header: bool,
    parts: u64,
    /// Of the part before, as far as this one has not said its own.
    pid: Option<u64>,
    last_command: Option<String>,
    line_number: u64,
    events: Vec<String>,
    /// The columns of this part's events in the section; `None` if they are its first ones, in order.
    columns: Option<Vec<usize>>,
    totals: Option<(u64, Vec<i128>)>,
    summary: Option<Vec<i128>>,
    part: PartSums,

    state: PartState,
    /// How many calls the next cost line is the cost of.
    calls: Option<u64>,
    /// The last line that gave a name, with its key and the number that the name was given.
    name_line: Option<NameLine<(BodyKey, Option<u64>)>>,
    /// A line of the part was taken for the rest of a name.
    has_continued_names: bool,
    /// The `cmd:` of the part, while further lines may belong to it.
    command: Option<Command>,
    counts: LineCounts,
    /// The counts of a line in the section's columns.
    row: Vec<u64>,
}

/// A command line, of which Callgrind escapes nothing.
struct Command {
    text: Vec<u8>,
    /// The last line that belongs to it.
    line_number: u64,
}

impl<'a> CallgrindReader<'a> {
    pub(super) fn new(
        source: &'a str,
        options: &Options,
        section: &'a mut Section,
        part_done: PartDone<'a>,
        diagnostics: &'a mut Diagnostics,
    ) -> CallgrindReader<'a> {
        let wanted = Wanted {
            lines: options.lines,
            addresses: options.instr,
            calls: options.calls,
            call_addresses: options.instr || options.inline,
            arcs: options.stacks,
        };
        section.run.add_source(source);
        CallgrindReader {
            source,
            part: PartSums::new(section.event_count(), section.signedness(), wanted),
            section,
            part_done,
            diagnostics,
            wanted,
            objects: NumberTable::new(),
            files: NumberTable::new(),
            functions: NumberTable::new(),
            function_names: FileFunctionNames::new(options.demangle, options.levels),
            nodes: FileFunctions::default(),
            shown: RecursionSigns::default(),
            is_xtree: false,
            is_xdebug: false,
            is_anonymous: true,
            stage: Stage::Header,
            has_header: false,
            parts: 0,
            pid: None,
            last_command: None,
            line_number: 0,
            events: Vec::new(),
            columns: None,
            totals: None,
            summary: None,
            state: PartState::default(),
            calls: None,
            name_line: None,
            has_continued_names: false,
            command: None,
            counts: LineCounts::default(),
            row: Vec::new(),
        }
    }

    /// Reads all of it. After an error the section has what was read until then.
    #[inline]
    pub(super) fn read(mut self, lines: &mut Lines) -> Result<(), Error> {
        let result = self.read_lines(lines).and_then(|()| {
            let ended_with_newline = lines.ended_with_newline();
            self.end_of_file(ended_with_newline)
        });
        if let Err(error) = result {
            self.section.leave_open();
            // What was read is kept; the first error is the one to tell.
            let _ = self.finish_part();
            return Err(error);
        }
        Ok(())
    }

    // Inlined, as `read` is, into its one caller: 2 % fewer instructions than where the compiler leaves them apart.
    #[inline]
    fn read_lines(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while let Some(mut rest) = lines.next_lines().map_err(Error::Input)? {
            while let Some(first) = rest.first() {
                self.line_number += 1;
                let read = if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'*') {
                    self.read_costs(rest)
                } else {
                    let (line, after) = first_line(rest);
                    self.other_line(line).map(|()| after)
                };
                rest = match read {
                    Ok(after) => after,
                    Err(refusal) => {
                        let (line, after) = first_line(rest);
                        self.recover(line, refusal)
                            .map_err(|refusal| refusal.at(self.line_number))?;
                        after
                    }
                };
            }
        }
        Ok(())
    }

    /// Goes on where a line is the rest of the one before it.
    #[cold]
    fn recover(&mut self, line: &[u8], refusal: Refusal) -> Result<(), Refusal> {
        let is_continuation = matches!(refusal, Refusal::Unknown(_))
            && (self.continue_command(line) || self.continue_name(line)?);
        if is_continuation {
            Ok(())
        } else {
            Err(refusal)
        }
    }

    /// Reads a cost line and returns the lines behind it.
    #[inline]
    fn read_costs<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Refusal> {
        // Most lines are written plainly, and their end is found while their numbers are read.
        let positions_before = self.state.positions.mark();
        let plain = self
            .state
            .positions
            .read_plain(text)
            .and_then(|counts| self.counts.read_plain(counts, self.events.len()));
        if let Some(after) = plain {
            self.cost_line()?;
            return Ok(after);
        }
        self.state.positions.go_back_to(positions_before);
        let (line, after) = first_line(text);
        let read = match self.state.positions.read(line) {
            Ok(counts) => self.counts.read(counts, self.events.len()),
            Err(_) => Err(not_a_position(line)),
        };
        if let Err(message) = read {
            self.state.positions.go_back_to(positions_before);
            return Err(if self.stage == Stage::Body && can_be_costs(line) {
                Refusal::Line(message)
            } else {
                Refusal::Unknown(message)
            });
        }
        self.cost_line()?;
        Ok(after)
    }

    /// Self cost, the cost of calls, or the positions behind a jump.
    #[inline]
    fn cost_line(&mut self) -> Result<(), Refusal> {
        if self.stage != Stage::Body {
            self.begin_body("a cost line")?;
        }
        if self.counts.has_negative() && self.part.signedness == Signedness::Unsigned {
            self.become_signed()?;
        }
        let node = match self.state.node {
            Some(node) => node,
            None => self.use_function()?,
        };
        if self.calls.is_some() {
            return self.call_cost(node);
        }
        let counts = match &self.columns {
            None => self.counts.get(),
            Some(columns) => {
                scatter(self.counts.get(), columns, &mut self.row)?;
                &self.row
            }
        };
        self.part.add_own(node, counts)?;
        // The line behind a jump has positions only, and is no line with a cost of 0.
        if let Some(trace) = &mut self.section.trace
            && !counts.is_empty()
        {
            let object = || self.nodes.get(node).object;
            trace.add(
                node,
                object,
                at(&self.state.positions, self.state.file),
                None,
                counts,
            );
        }
        if self.part.lines.is_some() && !counts.is_empty() {
            self.part.add_line(self.line_key(node), counts)?;
        }
        Ok(())
    }

    /// Where the costs of this line belong.
    fn line_key(&self, node: FileFunctionId) -> NodeLine {
        NodeLine {
            function: node,
            file: self.state.file,
            line: self.state.positions.line(),
            address: self
                .state
                .positions
                .address()
                .filter(|_| self.wanted.addresses),
        }
    }

    /// The cost line behind `calls=`.
    fn call_cost(&mut self, node: FileFunctionId) -> Result<(), Refusal> {
        let calls = self.calls.take().unwrap_or(0);
        let callee = self.use_callee()?;
        if !self.shown.chains
            && self.function_names.shows_chains(
                self.nodes.get(node).name,
                self.nodes.get(callee).name,
                &self.section.strings,
            )
        {
            self.shown.chains = true;
        }
        let counts = match &self.columns {
            None => self.counts.get(),
            Some(columns) => {
                scatter(self.counts.get(), columns, &mut self.row)?;
                &self.row
            }
        };
        if let Some(trace) = &mut self.section.trace
            && node != callee
        {
            let object = || self.nodes.get(node).object;
            let at = at(&self.state.positions, self.state.file);
            trace.add(node, object, at, Some(callee), counts);
        }
        let from = self.line_key(node);
        let address = (self.state.positions.address()).filter(|_| self.wanted.call_addresses);
        self.part.add_call(from, address, callee, calls, counts)?;
        Ok(())
    }

    /// Calls without a cost line cost nothing.
    fn flush_calls(&mut self) -> Result<(), Refusal> {
        if self.calls.is_none() {
            return Ok(());
        }
        self.counts.clear();
        let node = match self.state.node {
            Some(node) => node,
            None => self.use_function()?,
        };
        self.call_cost(node)
    }

    /// The function in force is used: from now on its number stands for this function.
    fn use_function(&mut self) -> Result<FileFunctionId, TooMany> {
        let object = self.state.object.position(PositionCertainty::InForce);
        let file = self
            .state
            .function_file
            .position(PositionCertainty::InForce);
        let named = match self.state.function {
            Some(named) => named,
            // Cost in front of the first `fn=` belongs to a function without a name.
            None => NamedFunction {
                name: self.function_names.intern(b"", &mut self.section.strings)?,
                number: None,
            },
        };
        self.state.object.is_fresh = false;
        self.state.function_file.is_fresh = false;
        let node = self.use_named(named, object, file)?;
        self.state.node = Some(node);
        Ok(node)
    }

    /// The function called is used.
    fn use_callee(&mut self) -> Result<FileFunctionId, TooMany> {
        // KCachegrind's converters name the file behind the function; it is then still waiting.
        if let Some(object) = self.state.called_object.take() {
            self.state.callee_object = Some(object);
        }
        if let Some(file) = self.state.called_file.take() {
            self.state.callee_file = Some(file);
        }
        let position = |given: Option<StringId>, in_force: StringId| Position {
            name: given.unwrap_or(in_force),
            certainty: if given.is_some() {
                PositionCertainty::Explicit
            } else {
                PositionCertainty::Assumed
            },
        };
        let object = position(self.state.callee_object, self.state.object.name);
        let file = position(self.state.callee_file, self.state.file);
        let named = match self.state.callee {
            Some(named) => named,
            None => NamedFunction {
                name: self.function_names.intern(b"", &mut self.section.strings)?,
                number: None,
            },
        };
        self.use_named(named, object, file)
    }

    fn use_named(
        &mut self,
        named: NamedFunction,
        object: Position,
        file: Position,
    ) -> Result<FileFunctionId, TooMany> {
        let known = named
            .number
            .and_then(|number| self.functions.get(number))
            .and_then(|numbered| numbered.node);
        let node = match known {
            Some(node) if self.nodes.reuse(node, object, file) => node,
            _ => {
                let node = self.nodes.find(named.name, object, file)?;
                if let (Some(number), None) = (named.number, known) {
                    let numbered = Numbered {
                        name: named.name,
                        node: Some(node),
                    };
                    self.functions.define(number, numbered);
                }
                node
            }
        };
        self.part.enter(node);
        Ok(node)
    }

    fn become_signed(&mut self) -> Result<(), Refusal> {
        self.part
            .become_signed()
            .and_then(|()| self.section.become_signed())
            .map_err(|_| {
                Refusal::Line(
                    "a negative count in a profile that also has counts beyond 2^63".to_owned(),
                )
            })
    }
}

/// A line without its end, and the lines behind it.
fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, after) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), after)
}

/// Counts into the section's columns.
fn scatter(counts: &[u64], columns: &[usize], row: &mut Vec<u64>) -> Result<(), Refusal> {
    row.clear();
    for (count, column) in counts.iter().zip(columns) {
        if row.len() <= *column {
            row.resize(column + 1, 0);
        }
        // Only an event named twice finds something there.
        row[*column] = row[*column].checked_add(*count).ok_or(NoRoom::Sum)?;
    }
    Ok(())
}

#[cold]
fn not_a_position(line: &[u8]) -> String {
    format!("expected positions and costs, found {}", excerpt(line))
}

/// Whether a line has nothing in it but what costs are written with, well or badly.
#[cold]
fn can_be_costs(line: &[u8]) -> bool {
    line.iter()
        .all(|byte| byte.is_ascii_hexdigit() || b"xX+-*.:, \t".contains(byte))
}

/// Where the last cost line is.
#[inline]
fn at(positions: &Positions, file: StringId) -> At {
    At {
        address: positions.address(),
        file,
        line: positions.line(),
    }
}
