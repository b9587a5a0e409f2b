//! Reads a profile line by line in one pass. Tries cost lines first, and allocates nothing per line.

use cg_collections::intern::TooMany;
use cg_costs::ids::{FileFunctionId, StringId};
use cg_costs::inlines::At;
use cg_costs::section::Section;
use cg_costs::tables::{NoRoom, Signedness};
use cg_reader::{Error, Lines, Options, excerpt};
use cg_stream::Diagnostics;

use super::counts::LineCounts;
use super::functions::{
    DecoratedId, FileFunctionNames, FileFunctions, Position, PositionCertainty,
};
use super::names::NumberTable;
use super::part::{NodeLine, PartSums, Wanted};
use super::position::{Mark, Positions};
use super::recursion::RecursionSigns;
use crate::PartDone;
use crate::continued::NameLine;
use crate::refusal::Refusal;

mod positions;

mod headers;

mod ends;

use positions::{BodyKey, Compression};

/// The meaning of a function's number: its name and, after its first use, the function.
#[derive(Clone, Copy)]
struct Numbered {
    name: DecoratedId,
    node: Option<FileFunctionId>,
}

/// The name of a function, and its number if the line has one.
#[derive(Clone, Copy)]
struct NamedFunction {
    name: DecoratedId,
    number: Option<u64>,
}

/// The value of a position line, and whether the line came after the last use.
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

/// The progress within a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// `events:` has not been read.
    Header,
    /// `events:` has been read, but no positions or costs.
    Events,
    /// Positions or costs have been read.
    Body,
    /// `totals:` has been read.
    Totals,
}

/// The state within a part. The value of a position line stays in force until the next line of its kind, or the end of the
/// part.
#[derive(Default)]
struct PartState {
    /// The position of the last cost line. The next position can be relative to it.
    positions: Positions,
    compression: Compression,
    object: InForce,
    /// The file of the function (`fl=`).
    function_file: InForce,
    /// The file of the lines (`fl=`, `fi=`, `fe=`).
    file: StringId,
    /// True if `fi=` or `fe=` followed the last `fn=`.
    file_is_fresh: bool,
    /// True if the part has functions, but no `fl=` so far.
    fi_replaces_fl: bool,
    function: Option<NamedFunction>,
    /// The node of `function`, from its first cost line on.
    node: Option<FileFunctionId>,
    called_object: Option<StringId>,
    called_file: Option<StringId>,
    /// The called function. It stays in force for further `calls=` lines.
    callee: Option<NamedFunction>,
    /// The positions that were given with `callee`.
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
    /// True if the part's header has neither `version:` nor `creator:`. Converters of Python profiles omit both.
    is_anonymous: bool,

    stage: Stage,
    /// True if a header has begun and its `events:` line has not been read.
    has_header: bool,
    parts: u64,
    /// The previous part's pid, until this part gives one.
    pid: Option<u64>,
    last_command: Option<String>,
    line_number: u64,
    events: Vec<String>,
    /// The columns of this part's events in the section; `None` if they are the first columns, in the same order.
    columns: Option<Vec<usize>>,
    totals: Option<(u64, Vec<i128>)>,
    summary: Option<Vec<i128>>,
    part: PartSums,

    state: PartState,
    /// The number of calls whose cost is on the next cost line.
    calls: Option<u64>,
    /// The last line that contained a name, with its key and the number that it gave to the name.
    name_line: Option<NameLine<(BodyKey, Option<u64>)>>,
    /// True if a line of the part was read as the rest of a name.
    has_continued_names: bool,
    /// The `cmd:` of the part, while further lines may belong to it.
    command: Option<Command>,
    counts: LineCounts,
    /// The counts of a line, in the section's columns.
    row: Vec<u64>,
}

/// A command line. Callgrind does not escape it.
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
            arcs: section.stacks.is_some(),
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

    /// Reads the whole input. If there is an error, the section keeps the data read before it.
    #[inline]
    pub(super) fn read(mut self, lines: &mut Lines) -> Result<(), Error> {
        let result = self.read_lines(lines).and_then(|()| {
            let ended_with_newline = lines.ended_with_newline();
            self.end_of_file(ended_with_newline)
        });
        if let Err(error) = result {
            self.section.mark_incomplete();
            // Keep the data, and report only the first error.
            let _ = self.finish_part();
            return Err(error);
        }
        Ok(())
    }

    // Like `read`, this is inlined into its only caller, which saves 2 % of the instructions.
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

    /// Continues reading if the refused line is the rest of the previous line.
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

    /// Reads a cost line and returns the lines after it.
    #[inline]
    fn read_costs<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Refusal> {
        // Most lines have the plain form. The end of the line is then found while reading its numbers.
        let positions_before = self.state.positions.mark();
        let plain = self
            .state
            .positions
            .read_plain(text)
            .and_then(|counts| self.counts.read_plain(counts, self.events.len()));
        if let Some(after) = plain {
            self.cost_line(positions_before)?;
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
        self.cost_line(positions_before)?;
        Ok(after)
    }

    /// Records a cost line and sets the base of later positions: in Callgrind's files the last line of self cost, in those of
    /// other producers any last line.
    #[inline]
    fn cost_line(&mut self, positions_before: Mark) -> Result<(), Refusal> {
        // The line after a jump has no counts.
        let has_self_cost = self.calls.is_none() && !self.counts.get().is_empty();
        self.record_costs()?;
        if self.shown.is_callgrind && !has_self_cost {
            self.state.positions.go_back_to(positions_before);
        }
        Ok(())
    }

    /// Records self cost or the cost of calls. Ignores the positions after a jump.
    #[inline]
    fn record_costs(&mut self) -> Result<(), Refusal> {
        if self.stage != Stage::Body {
            self.begin_body("a cost line")?;
        }
        if self.counts.has_negative() && self.part.signedness == Signedness::Unsigned {
            self.switch_to_signed()?;
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
        // The line after a jump has only positions. It is not a line with a cost of 0.
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

    /// Returns the key of the line to which the costs of this cost line belong.
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

    /// Records the cost line after `calls=`.
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

    /// Records pending calls without a cost line, with a cost of 0.
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

    /// Resolves the function in force. From its first use on, its number means this function.
    fn use_function(&mut self) -> Result<FileFunctionId, TooMany> {
        let object = self.state.object.position(PositionCertainty::InForce);
        let file = self
            .state
            .function_file
            .position(PositionCertainty::InForce);
        let named = match self.state.function {
            Some(named) => named,
            // Costs before the first `fn=` belong to a function without a name.
            None => NamedFunction {
                name: self.function_names.intern(b"", &mut self.section.strings)?,
                number: None,
            },
        };
        self.state.object.is_fresh = false;
        self.state.function_file.is_fresh = false;
        let node = self.use_named(named, object, file)?;
        self.state.node = Some(node);
        self.note_file(node);
        Ok(node)
    }

    /// Notes the file in force as a file with code of a function.
    fn note_file(&mut self, node: FileFunctionId) {
        let strings = &self.section.strings;
        (self.nodes).note_file(node, self.state.file, &self.function_names, strings);
    }

    /// Resolves the called function.
    fn use_callee(&mut self) -> Result<FileFunctionId, TooMany> {
        // KCachegrind's converters write the file after the function, so it may not be part of the callee yet.
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

    fn switch_to_signed(&mut self) -> Result<(), Refusal> {
        self.part
            .switch_to_signed()
            .and_then(|()| self.section.switch_to_signed())
            .map_err(|_| {
                Refusal::Line(
                    "a negative count in a profile that also has counts beyond 2^63".to_owned(),
                )
            })
    }
}

/// Splits off the first line, without its line end. Returns it and the lines after it.
fn first_line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, after) = match memchr::memchr(b'\n', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), after)
}

/// Copies counts to the section's columns.
fn scatter(counts: &[u64], columns: &[usize], row: &mut Vec<u64>) -> Result<(), Refusal> {
    row.clear();
    for (count, column) in counts.iter().zip(columns) {
        if row.len() <= *column {
            row.resize(column + 1, 0);
        }
        // The cell is not 0 only if the header names an event twice.
        row[*column] = row[*column].checked_add(*count).ok_or(NoRoom::Sum)?;
    }
    Ok(())
}

#[cold]
fn not_a_position(line: &[u8]) -> String {
    format!("expected positions and costs, found {}", excerpt(line))
}

/// Returns true if a line has only characters that occur in costs. The costs may still be invalid.
#[cold]
fn can_be_costs(line: &[u8]) -> bool {
    line.iter()
        .all(|byte| byte.is_ascii_hexdigit() || b"xX+-*.:, \t".contains(byte))
}

/// Returns the place of the last cost line.
#[inline]
fn at(positions: &Positions, file: StringId) -> At {
    At {
        address: positions.address(),
        file,
        line: positions.line(),
    }
}

#[cfg(test)]
mod tests;
