//! Reads a profile line by line: one pass, costs first, nothing allocated a line.

use cg_stream::tool::Diagnostics;

use super::counts::LineCounts;
use super::functions::{Certainty, FunctionNames, NameId, NodeId, Nodes, Position};
use super::inclusive::{self, Shown};
use super::names::{self, Compressed, NumberTable};
use super::part::{NodeArc, NodeLine, Part, Wanted};
use super::position::Positions;
use super::{PartDone, header};
use crate::error::excerpt;
use crate::number::leading_u64;
use crate::section::{Overflow, Section, Signedness, StringId};
use crate::{Error, Lines, Options};

/// A function's number: its name, and the function it stands for once it was used.
#[derive(Clone, Copy)]
struct Numbered {
    name: NameId,
    node: Option<NodeId>,
}

/// A function as a line names it.
#[derive(Clone, Copy)]
struct Named {
    name: NameId,
    number: Option<u64>,
}

/// A position line's value, and whether it was given since the last use.
#[derive(Clone, Copy)]
struct InForce {
    name: StringId,
    is_fresh: bool,
}

impl InForce {
    const NOTHING: InForce = InForce {
        name: StringId::NOT_GIVEN,
        is_fresh: false,
    };

    fn position(self, otherwise: Certainty) -> Position {
        Position {
            name: self.name,
            certainty: if self.is_fresh {
                Certainty::Explicit
            } else {
                otherwise
            },
        }
    }
}

/// Whether a part's names are compressed.
///
/// Callgrind compresses all names or none (`--compress-strings=no`), and without compression a function that is called
/// `(7)` is written like a reference. A part of Callgrind's is plain where no name up to its first function is
/// compressed. Other producers mix both, and mean numbers by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    /// No name seen; Callgrind's first one is that of an object.
    Unknown {
        has_object: bool,
    },
    Numbers,
    Plain,
}

/// How far a part has come.
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

pub(super) struct Reader<'a> {
    source: &'a str,
    section: &'a mut Section,
    part_done: PartDone<'a>,
    diagnostics: &'a mut Diagnostics,
    wanted: Wanted,
    per_part: bool,

    objects: NumberTable<StringId>,
    files: NumberTable<StringId>,
    functions: NumberTable<Numbered>,
    function_names: FunctionNames,
    nodes: Nodes,
    shown: Shown,
    is_xtree: bool,
    compression: Compression,

    stage: Stage,
    /// A header has begun and has not come to its `events:` yet.
    has_header: bool,
    parts: u64,
    line_number: u64,
    events: Vec<String>,
    /// Where the events of this part are among those of the section; `None` where they are its first ones, in order.
    columns: Option<Vec<usize>>,
    totals: Option<(u64, Vec<i128>)>,
    summary: Option<Vec<i128>>,
    positions: Positions,
    part: Part,

    object: InForce,
    /// The file of the function (`fl=`).
    function_file: InForce,
    /// The file of the lines (`fl=`, `fi=`, `fe=`).
    file: StringId,
    function: Option<Named>,
    /// The node of `function`, from its first cost line on.
    node: Option<NodeId>,
    called_object: Option<StringId>,
    called_file: Option<StringId>,
    /// The function called; it stays for further `calls=` lines.
    callee: Option<Named>,
    /// The positions `callee` was named with.
    callee_object: Option<StringId>,
    callee_file: Option<StringId>,
    /// How many calls the next cost line is the cost of.
    calls: Option<u64>,
    counts: LineCounts,
    /// The counts of a line in the section's columns.
    row: Vec<u64>,
}

/// Why reading stops: a message about the line at hand, or an error that has nothing to do with it.
enum Refusal {
    Line(String),
    Other(Error),
}

impl From<String> for Refusal {
    fn from(message: String) -> Refusal {
        Refusal::Line(message)
    }
}

impl From<Overflow> for Refusal {
    fn from(_: Overflow) -> Refusal {
        Refusal::Line("a sum of counts is beyond 64 bits".to_owned())
    }
}

impl Refusal {
    fn at(self, line_number: u64) -> Error {
        match self {
            Refusal::Line(message) => Error::at(line_number, message),
            Refusal::Other(error) => error,
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        source: &'a str,
        options: &Options,
        section: &'a mut Section,
        part_done: PartDone<'a>,
        diagnostics: &'a mut Diagnostics,
    ) -> Reader<'a> {
        let wanted = Wanted {
            lines: options.lines,
            addresses: options.instr,
            calls: options.calls,
        };
        section.run.add_source(source);
        Reader {
            source,
            part: Part::new(section.event_count(), section.signedness(), wanted),
            section,
            part_done,
            diagnostics,
            wanted,
            per_part: options.per_part,
            objects: NumberTable::new(),
            files: NumberTable::new(),
            functions: NumberTable::new(),
            function_names: FunctionNames::new(options.demangle),
            nodes: Nodes::new(),
            shown: Shown::default(),
            is_xtree: false,
            compression: Compression::Unknown { has_object: false },
            stage: Stage::Header,
            has_header: false,
            parts: 0,
            line_number: 0,
            events: Vec::new(),
            columns: None,
            totals: None,
            summary: None,
            positions: Positions::new(),
            object: InForce::NOTHING,
            function_file: InForce::NOTHING,
            file: StringId::NOT_GIVEN,
            function: None,
            node: None,
            called_object: None,
            called_file: None,
            callee: None,
            callee_object: None,
            callee_file: None,
            calls: None,
            counts: LineCounts::default(),
            row: Vec::new(),
        }
    }

    /// Reads all of it. After an error the section has what was read until then.
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
                rest = read.map_err(|refusal| refusal.at(self.line_number))?;
            }
        }
        Ok(())
    }

    /// Reads a cost line and returns the lines behind it.
    #[inline]
    fn read_costs<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Refusal> {
        // Most lines are written plainly, and their end is found while their numbers are read.
        let positions_before = self.positions.mark();
        let plain = self
            .positions
            .read_plain(text)
            .and_then(|counts| self.counts.read_plain(counts, self.events.len()));
        if let Some(after) = plain {
            self.cost_line()?;
            return Ok(after);
        }
        self.positions.go_back_to(positions_before);
        let (line, after) = first_line(text);
        let Ok(counts) = self.positions.read(line) else {
            return Err(not_a_position(line));
        };
        self.counts.read(counts, self.events.len())?;
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
        let node = match self.node {
            Some(node) => node,
            None => self.use_function(),
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
        if let Some(lines) = &mut self.part.lines
            && !counts.is_empty()
        {
            let key = NodeLine {
                node,
                file: self.file,
                line: self.positions.line(),
                address: self.positions.address().filter(|_| self.wanted.addresses),
            };
            lines.add_own(key, counts, self.part.signedness)?;
        }
        Ok(())
    }

    /// The cost line behind `calls=`.
    fn call_cost(&mut self, node: NodeId) -> Result<(), Refusal> {
        let calls = self.calls.take().unwrap_or(0);
        let callee = self.use_callee();
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
        let part = &mut self.part;
        part.add_call(node, callee, calls, counts)?;
        if let Some(arcs) = &mut part.calls {
            let key = NodeArc {
                caller: node,
                callee,
                line: self.positions.line(),
            };
            arcs.add(key, calls, counts, part.signedness)?;
        }
        if node != callee
            && let Some(lines) = &mut part.lines
        {
            let key = NodeLine {
                node,
                file: self.file,
                line: self.positions.line(),
                address: self.positions.address().filter(|_| self.wanted.addresses),
            };
            lines.add_calls(key, counts, part.signedness)?;
        }
        Ok(())
    }

    /// Calls without a cost line cost nothing.
    fn flush_calls(&mut self) -> Result<(), Refusal> {
        if self.calls.is_none() {
            return Ok(());
        }
        self.counts.clear();
        let node = match self.node {
            Some(node) => node,
            None => self.use_function(),
        };
        self.call_cost(node)
    }

    /// The function in force is used: from now on its number stands for this function.
    fn use_function(&mut self) -> NodeId {
        let object = self.object.position(Certainty::InForce);
        let file = self.function_file.position(Certainty::InForce);
        let named = match self.function {
            Some(named) => named,
            // Cost in front of the first `fn=` belongs to a function without a name.
            None => Named {
                name: self.function_names.intern(b"", &mut self.section.strings),
                number: None,
            },
        };
        self.object.is_fresh = false;
        self.function_file.is_fresh = false;
        let node = self.use_named(named, object, file);
        self.node = Some(node);
        node
    }

    /// The function called is used.
    fn use_callee(&mut self) -> NodeId {
        // KCachegrind's converters name the file behind the function; it is then still waiting.
        if let Some(object) = self.called_object.take() {
            self.callee_object = Some(object);
        }
        if let Some(file) = self.called_file.take() {
            self.callee_file = Some(file);
        }
        let position = |given: Option<StringId>, in_force: StringId| Position {
            name: given.unwrap_or(in_force),
            certainty: if given.is_some() {
                Certainty::Explicit
            } else {
                Certainty::Assumed
            },
        };
        let object = position(self.callee_object, self.object.name);
        let file = position(self.callee_file, self.file);
        let named = match self.callee {
            Some(named) => named,
            None => Named {
                name: self.function_names.intern(b"", &mut self.section.strings),
                number: None,
            },
        };
        self.use_named(named, object, file)
    }

    fn use_named(&mut self, named: Named, object: Position, file: Position) -> NodeId {
        let known = named
            .number
            .and_then(|number| self.functions.get(number))
            .and_then(|numbered| numbered.node);
        let node = match known {
            Some(node) if self.nodes.reuse(node, object, file) => node,
            _ => {
                let node = self.nodes.find(named.name, object, file);
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
        node
    }

    fn become_signed(&mut self) -> Result<(), Refusal> {
        self.part
            .become_signed()
            .and_then(|()| self.section.become_signed())
            .map_err(|Overflow| {
                Refusal::Line(
                    "a negative count in a profile that also has counts beyond 2^63".to_owned(),
                )
            })
    }

    /// Everything but cost lines.
    fn other_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if line.trim_ascii_start().is_empty() {
            return Ok(());
        }
        let Some((key, value)) = key_of(line) else {
            return self.header_line(line);
        };
        if self.stage != Stage::Body {
            self.begin_body("a position")?;
        }
        if let Compression::Unknown { has_object } = self.compression {
            self.look_for_compression(key, value, has_object);
        }
        match key {
            Key::Function => {
                self.flush_calls()?;
                self.function = Some(self.function_name(value)?);
                self.node = None;
                self.file = self.function_file.name;
                self.callee = None;
                self.called_file = None;
                self.called_object = None;
            }
            Key::CalledFunction => {
                self.flush_calls()?;
                self.callee = Some(self.function_name(value)?);
                self.callee_file = self.called_file.take();
                self.callee_object = self.called_object.take();
            }
            Key::FunctionFile => {
                self.file = self.file_name(value)?;
                self.function_file = InForce {
                    name: self.file,
                    is_fresh: true,
                };
            }
            Key::LineFile => self.file = self.file_name(value)?,
            Key::CalledFile => self.called_file = Some(self.file_name(value)?),
            Key::Object => {
                self.object = InForce {
                    name: self.object_name(value)?,
                    is_fresh: true,
                };
            }
            Key::CalledObject => self.called_object = Some(self.object_name(value)?),
            Key::Calls => self.calls_line(value)?,
            Key::FileOfJump => {
                self.file_name(value)?;
            }
            Key::FunctionOfJump => {
                self.function_name(value)?;
            }
            Key::Skipped => {}
        }
        Ok(())
    }

    /// What stands behind the `=` of a position line.
    fn name<'n>(&self, value: &'n [u8]) -> Compressed<'n> {
        match self.compression {
            Compression::Plain => Compressed::Name(value),
            _ => names::read(value),
        }
    }

    /// Looks whether the part's names are compressed, up to its first function.
    #[cold]
    fn look_for_compression(&mut self, key: Key, value: &[u8], had_object: bool) {
        let has_object = had_object || key == Key::Object;
        let is_compressed = !matches!(names::read(value), Compressed::Name(_));
        self.compression = match key {
            _ if is_compressed || !self.shown.is_callgrind => Compression::Numbers,
            Key::Function if has_object => Compression::Plain,
            Key::Function => Compression::Numbers,
            _ => Compression::Unknown { has_object },
        };
    }

    /// `calls=N TARGET`. Targets are not needed, and other producers leave them out or mean something else by them.
    fn calls_line(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let refused = || format!("expected the number of calls, found {}", excerpt(value));
        let (calls, rest) = leading_u64(value).ok_or_else(refused)?;
        if !matches!(rest, [] | [b' ' | b'\t', ..]) {
            return Err(refused().into());
        }
        self.calls = Some(calls);
        Ok(())
    }

    fn function_name(&mut self, value: &[u8]) -> Result<Named, Refusal> {
        let (number, text) = match self.name(value) {
            Compressed::Reference(number) => {
                let numbered = self
                    .functions
                    .get(number)
                    .ok_or_else(|| undefined("function", number))?;
                return Ok(Named {
                    name: numbered.name,
                    number: Some(number),
                });
            }
            Compressed::Definition(number, text) => (Some(number), text),
            Compressed::Name(text) => (None, text),
        };
        let expanded = self.expanded(text);
        let text = expanded.as_deref().unwrap_or(text);
        let name = self.function_names.intern(text, &mut self.section.strings);
        if let Some(number) = number {
            self.functions.define(number, Numbered { name, node: None });
        }
        if !self.shown.levels && self.function_names.has_level(name, &self.section.strings) {
            self.shown.levels = true;
            self.part.arcs = None;
        }
        Ok(Named { name, number })
    }

    /// A name made of numbers, `(1234)'2'(1216)`, which is how `--compress-mangled=yes` writes callers.
    fn expanded(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !text.starts_with(b"(") || memchr::memchr(b'\'', text).is_none() {
            return None;
        }
        let mut expanded = Vec::new();
        for (index, piece) in text.split(|byte| *byte == b'\'').enumerate() {
            if index > 0 {
                expanded.push(b'\'');
            }
            match names::read(piece) {
                Compressed::Reference(number) => {
                    let name = self.functions.get(number)?.name;
                    let text = self.function_names.text(name);
                    expanded.extend_from_slice(self.section.strings.get(text));
                }
                Compressed::Name(level) if index == 1 && level.iter().all(u8::is_ascii_digit) => {
                    expanded.extend_from_slice(level);
                }
                _ => return None,
            }
        }
        Some(expanded)
    }

    fn file_name(&mut self, value: &[u8]) -> Result<StringId, Refusal> {
        plain_name(self.name(value), "file", &mut self.files, self.section)
    }

    fn object_name(&mut self, value: &[u8]) -> Result<StringId, Refusal> {
        plain_name(self.name(value), "object", &mut self.objects, self.section)
    }

    /// Header lines, comments, sums, and what is none of these.
    fn header_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if line.starts_with(b"#") {
            if line.starts_with(b"# callgrind format") && self.stage > Stage::Header {
                self.next_part()?;
            }
            return Ok(());
        }
        // Xdebug appends profiles to one file with this line between them.
        if line.starts_with(b"==== NEW PROFILING FILE") {
            return if self.stage > Stage::Header {
                self.next_part()
            } else {
                Ok(())
            };
        }
        let Some((key, value)) = header::key_and_value(line) else {
            return Err(format!(
                "expected a header line, a position or costs, found {}",
                excerpt(line)
            )
            .into());
        };
        self.begin_part_with(key)?;
        self.has_header |= self.stage == Stage::Header;
        match key {
            b"version" => self.version(value)?,
            b"creator" => self.creator(value),
            b"cmd" => self.section.run.command.say(header::text(value)),
            b"pid" => {
                if let Some(pid) = crate::number::whole_u64(value) {
                    self.section.run.pid.say(pid);
                }
            }
            b"part" => {
                if let Some(part) = crate::number::whole_u64(value) {
                    self.section.run.part.say(part);
                }
            }
            b"thread" => {
                if let Some(thread) = crate::number::whole_u64(value) {
                    self.section.run.thread.say(thread);
                }
            }
            b"desc" => header::description(value, &mut self.section.run),
            b"event" => header::event_definition(value, &mut self.section.run),
            b"positions" => self.positions = Positions::from_header(value)?,
            b"events" => self.name_events(value)?,
            b"summary" => self.summary = Some(header::sums(value, self.events.len())?),
            b"totals" => {
                if self.stage == Stage::Header {
                    return Err("expected events: before totals:".to_owned().into());
                }
                self.totals = Some((self.line_number, header::sums(value, self.events.len())?));
                self.stage = Stage::Totals;
            }
            // The format allows keys that are not known, in the header.
            _ if self.stage < Stage::Body => {}
            _ => {
                return Err(
                    format!("expected a position or costs, found {}", excerpt(line)).into(),
                );
            }
        }
        Ok(())
    }

    /// Begins a new part where a header line shows that the old one is over.
    fn begin_part_with(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let begins = match key {
            b"version" | b"pid" | b"part" | b"thread" => self.stage > Stage::Header,
            b"creator" | b"cmd" | b"desc" | b"event" | b"events" | b"positions" => {
                self.stage >= Stage::Body
            }
            _ => false,
        };
        if begins { self.next_part() } else { Ok(()) }
    }

    fn version(&self, value: &[u8]) -> Result<(), Refusal> {
        // 1 is all there ever was of the format; Xdebug 2 writes 0.9.6.
        match crate::number::whole_u64(value) {
            Some(version) if version > 1 => {
                Err(format!("expected version 1 of the format, found version {version}").into())
            }
            _ => Ok(()),
        }
    }

    fn creator(&mut self, value: &[u8]) {
        self.shown.is_callgrind = value.starts_with(b"callgrind");
        self.is_xtree = value.starts_with(b"xtree");
        self.section.run.creator.say(header::text(value));
    }

    fn name_events(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.events = header::event_names(value)?;
        let columns = self.section.columns(&self.events);
        let is_identity = columns.iter().enumerate().all(|(at, column)| at == *column);
        self.columns = (!is_identity).then_some(columns);
        let (events, signedness) = (self.section.event_count(), self.section.signedness());
        if self.part.own.event_count() != events || self.part.signedness != signedness {
            self.part = Part::new(events, signedness, self.wanted);
            if self.shown.levels {
                self.part.arcs = None;
            }
        }
        self.stage = Stage::Events;
        self.has_header = false;
        Ok(())
    }

    /// Notes that the body has begun.
    fn begin_body(&mut self, what: &str) -> Result<(), Refusal> {
        match self.stage {
            Stage::Header => Err(format!("expected events: before {what}").into()),
            _ => {
                self.stage = Stage::Body;
                Ok(())
            }
        }
    }

    /// Ends the part and begins the next one.
    fn next_part(&mut self) -> Result<(), Refusal> {
        self.flush_calls()?;
        self.check_totals()?;
        self.finish_part().map_err(Refusal::Other)
    }

    fn end_of_file(&mut self, ended_with_newline: bool) -> Result<(), Error> {
        let line_number = self.line_number;
        let here = |message: String| Error::at(line_number, message);
        self.flush_calls()
            .map_err(|refusal| refusal.at(line_number))?;
        if self.stage == Stage::Header && (self.has_header || self.parts == 0) {
            return Err(here(
                "expected events:, found the end of the file".to_owned(),
            ));
        }
        if self.stage == Stage::Events && self.summary.is_none() {
            return Err(here("expected costs, found the end of the file".to_owned()));
        }
        if self.stage == Stage::Totals
            && !ended_with_newline
            && let Some((_, totals)) = &self.totals
            && *totals != self.part_sums()
        {
            return Err(here(
                "the totals: are cut short by the end of the file".to_owned(),
            ));
        }
        self.check_totals()
            .map_err(|refusal| refusal.at(line_number))?;
        self.finish_part()
    }

    /// The self cost of the part, in the order of its events.
    fn part_sums(&self) -> Vec<i128> {
        let mut sums = vec![0i128; self.section.event_count()];
        for node in &self.part.present {
            for (sum, cell) in sums.iter_mut().zip(self.part.own.row(node.index())) {
                *sum += self.part.signedness.count(*cell);
            }
        }
        match &self.columns {
            None => {
                sums.truncate(self.events.len());
                sums
            }
            Some(columns) => columns.iter().map(|column| sums[*column]).collect(),
        }
    }

    /// Whether the part's writer ends every part with `totals:`. Callgrind writes `summary:` in front of the costs as
    /// well: a profile that has neither was not left like this by Callgrind.
    fn must_have_totals(&self) -> bool {
        self.is_xtree || self.shown.is_callgrind && self.summary.is_some()
    }

    /// Compares the part's `totals:` with the sum of its costs.
    fn check_totals(&mut self) -> Result<(), Refusal> {
        let Some((line, totals)) = self.totals.take() else {
            return if self.stage > Stage::Header && self.must_have_totals() {
                Err(
                    "expected totals: at the end of the part, found none; the profile is cut short"
                        .to_owned()
                        .into(),
                )
            } else {
                Ok(())
            };
        };
        for ((event, total), sum) in self.events.iter().zip(totals).zip(self.part_sums()) {
            if total != sum {
                self.diagnostics.warn(format!(
                    "{}:{line}: totals: has {total} {event}, but the costs add up to {sum}",
                    self.source
                ));
            }
        }
        Ok(())
    }

    /// Adds the part to the section and clears the way for another.
    fn finish_part(&mut self) -> Result<(), Error> {
        if self.stage == Stage::Header {
            return Ok(());
        }
        if let Some(summary) = self.summary.take() {
            for (event, count) in self.events.iter().zip(summary) {
                // A summary is arithmetic modulo 2^64.
                self.section.run.add_summary(event, count as u64);
            }
        }
        let added = inclusive::fold(
            &self.part,
            &self.nodes,
            &self.function_names,
            self.shown,
            self.section,
        );
        self.part.clear();
        self.parts += 1;
        self.section.run.parts += 1;
        self.totals = None;
        self.stage = Stage::Header;
        self.positions = Positions::new();
        self.compression = Compression::Unknown { has_object: false };
        self.object = InForce::NOTHING;
        self.function_file = InForce::NOTHING;
        self.file = StringId::NOT_GIVEN;
        self.function = None;
        self.node = None;
        self.called_object = None;
        self.called_file = None;
        self.callee = None;
        self.calls = None;
        added.map_err(|overflow| Refusal::from(overflow).at(self.line_number))?;
        if self.per_part {
            (self.part_done)(self.section)?;
        }
        Ok(())
    }
}

/// What a line of the body begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Function,
    FunctionFile,
    LineFile,
    Object,
    CalledFunction,
    CalledFile,
    CalledObject,
    Calls,
    /// Jumps are not kept, but their lines define names.
    FileOfJump,
    FunctionOfJump,
    /// Jumps themselves, and what `--mangle-names=no` and `--dump-bbs=yes` add, both undocumented.
    Skipped,
}

/// The key of a position, call or jump and what stands behind its `=`.
#[inline]
fn key_of(line: &[u8]) -> Option<(Key, &[u8])> {
    Some(match line {
        [b'f', b'n', b'=', value @ ..] => (Key::Function, value),
        [b'c', b'f', b'n', b'=', value @ ..] => (Key::CalledFunction, value),
        [b'c', b'f', b'i' | b'l', b'=', value @ ..] => (Key::CalledFile, value),
        [b'c', b'a', b'l', b'l', b's', b'=', value @ ..] => (Key::Calls, value),
        [b'j', b'u', b'm', b'p', b'=', value @ ..] | [b'j', b'c', b'n', b'd', b'=', value @ ..] => {
            (Key::Skipped, value)
        }
        [b'f', b'i' | b'e', b'=', value @ ..] => (Key::LineFile, value),
        [b'f', b'l', b'=', value @ ..] => (Key::FunctionFile, value),
        [b'c', b'o', b'b', b'=', value @ ..] => (Key::CalledObject, value),
        [b'o', b'b', b'=', value @ ..] => (Key::Object, value),
        [b'j', b'f', b'i', b'=', value @ ..] => (Key::FileOfJump, value),
        [b'j', b'f', b'n', b'=', value @ ..] | [b'f', b'r', b'f', b'n', b'=', value @ ..] => {
            (Key::FunctionOfJump, value)
        }
        [b'r', b'e', b'c', b'=', value @ ..]
        | [b'b', b'b', b'=', value @ ..]
        | [b'l', b'n', b'=', value @ ..] => (Key::Skipped, value),
        _ => return None,
    })
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
        row[*column] = row[*column].checked_add(*count).ok_or(Overflow)?;
    }
    Ok(())
}

/// A file's or object's name.
fn plain_name(
    name: Compressed,
    what: &str,
    numbers: &mut NumberTable<StringId>,
    section: &mut Section,
) -> Result<StringId, Refusal> {
    match name {
        Compressed::Reference(number) => {
            Ok(numbers.get(number).ok_or_else(|| undefined(what, number))?)
        }
        Compressed::Definition(number, text) => {
            let name = section.strings.intern(text);
            numbers.define(number, name);
            Ok(name)
        }
        Compressed::Name(text) => Ok(section.strings.intern(text)),
    }
}

#[cold]
fn not_a_position(line: &[u8]) -> Refusal {
    Refusal::Line(format!(
        "expected positions and costs, found {}",
        excerpt(line)
    ))
}

fn undefined(what: &str, number: u64) -> String {
    format!("({number}) is the number of a {what} that was not named before")
}
