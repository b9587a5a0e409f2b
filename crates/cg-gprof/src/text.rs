//! The text that `gprof` prints (`hist.c` and `cg_print.c` of binutils): a flat profile, a call graph, or both.
//!
//! ```text
//! flat    := "  %   cumulative   self …" "\n" " time   seconds …" "\n" row*
//! row     := percent cumulative self [calls self-per-call total-per-call] name "\n"
//! graph   := "index % time    self  children    called     name" "\n" entry*
//! entry   := parent* primary child* "-----…" "\n"
//! primary := "[" index "]" percent self children [calls ["+" own-calls]] name " [" index "]" "\n"
//! child   := self children calls "/" all-calls name " [" index "]" "\n"
//!          | calls name " [" index "]" "\n"                    of the function itself, or within a cycle
//! ```
//!
//! Calls are taken from the children of entries. The entry of a cycle as a whole has no function. Times are rounded to
//! hundredths of a second; those of calls are estimated again from the self times, which gives the same figures. A text has one
//! report: the calls of two reports, added up, would divide the rounded times in another way than each report does.

use std::collections::BTreeMap;

use cg_reader::number::leading_u64;
use cg_reader::{Error, Lines, Reading};

use crate::times::{CallTimes, FunctionName};

/// The beginnings of the headings of the flat profile and the call graph.
const FLAT: &[u8] = b"  %   cumulative   self  ";
const GRAPH: &[u8] = b"index % time    self  children    called     name";

/// Returns true if a line is a heading of gprof's tables.
pub fn is_header_line(line: &[u8]) -> bool {
    line.starts_with(FLAT) || line.starts_with(GRAPH)
}

/// Reads the text of gprof.
pub(crate) fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut text = GprofText::default();
    let read = text.read(reading.lines);
    let times = text.times()?;
    if times.is_empty() {
        read?;
        return Err(Error::whole(
            "expected functions in the tables of gprof, found none; gprof -b PROGRAM gmon.out prints them",
        ));
    }
    times.write(b"", read, reading)
}

/// The part of the text that is being read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Other,
    /// The second line of the headings of a flat profile.
    FlatHeading,
    Flat,
    Graph,
}

/// A function's self time in ns, and its calls.
#[derive(Clone, Copy, Default)]
struct Figures {
    own: u64,
    calls: u64,
}

#[derive(Default)]
struct GprofText {
    part: Part,
    has_flat: bool,
    has_graph: bool,
    flat: BTreeMap<Vec<u8>, Figures>,
    graph: BTreeMap<Vec<u8>, Figures>,
    arcs: Vec<(Vec<u8>, Vec<u8>, u64)>,
    /// The function of the current entry of the call graph.
    caller: Option<Vec<u8>>,
    /// True inside an entry of the call graph.
    is_in_entry: bool,
}

impl GprofText {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            if let Some(table) = self.begun_again(line) {
                return Err(Error::at(
                    number,
                    format!(
                        "a second {table} begins here; put each report of gprof into a file of its own"
                    ),
                ));
            }
            self.line(line)
                .ok_or_else(|| Error::unexpected(number, "a line of a table of gprof", line))?;
        }
        match self.part == Part::Graph && self.is_in_entry {
            true => Err(Error::at(
                lines.line_number(),
                "the call graph is cut short: its last entry has no end",
            )),
            false => Ok(()),
        }
    }

    /// Returns the name of a table that the text has already, if a line begins it again.
    fn begun_again(&mut self, line: &[u8]) -> Option<&'static str> {
        let (has_table, table) = if line.starts_with(FLAT) {
            (&mut self.has_flat, "flat profile")
        } else if line.starts_with(GRAPH) {
            (&mut self.has_graph, "call graph")
        } else {
            return None;
        };
        std::mem::replace(has_table, true).then_some(table)
    }

    /// Reads a line; `None` if it does not belong to the table.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        if line.starts_with(FLAT) {
            self.part = Part::FlatHeading;
            return Some(());
        }
        if line.starts_with(GRAPH) {
            (self.part, self.is_in_entry) = (Part::Graph, false);
            return Some(());
        }
        match self.part {
            Part::Other => {}
            Part::FlatHeading => self.part = Part::Flat,
            Part::Flat | Part::Graph if line.is_empty() => self.part = Part::Other,
            Part::Flat => return self.flat_row(line),
            Part::Graph => return self.graph_line(line),
        }
        Some(())
    }

    fn flat_row(&mut self, line: &[u8]) -> Option<()> {
        let (_percent, rest) = split_word(line)?;
        let (_cumulative, rest) = split_word(rest)?;
        let (own, rest) = split_word(rest)?;
        let mut figures = Figures {
            own: nanoseconds(own)?,
            calls: 0,
        };
        let mut name = rest;
        let per_call = || {
            let (calls, rest) = split_word(rest)?;
            let (own, rest) = split_word(rest)?;
            let (total, rest) = split_word(rest)?;
            nanoseconds(own).zip(nanoseconds(total))?;
            Some((whole(calls)?, rest))
        };
        if let Some((calls, rest)) = per_call() {
            (figures.calls, name) = (calls, rest);
        }
        add(&mut self.flat, function_name(name), figures)
    }

    fn graph_line(&mut self, line: &[u8]) -> Option<()> {
        if line.starts_with(b"-----") {
            (self.caller, self.is_in_entry) = (None, false);
            return Some(());
        }
        self.is_in_entry = true;
        if line.starts_with(b"[") {
            return self.primary(line);
        }
        let Some(caller) = self.caller.clone() else {
            // A parent, or a child of a cycle as a whole.
            return Some(());
        };
        let (calls, name) = child(line)?;
        self.arcs
            .push((caller, function_name(name).to_vec(), calls));
        Some(())
    }

    fn primary(&mut self, line: &[u8]) -> Option<()> {
        let (_index, rest) = split_word(line)?;
        let (_percent, rest) = split_word(rest)?;
        let (own, rest) = split_word(rest)?;
        let (_children, rest) = split_word(rest)?;
        let counted = || {
            let (called, rest) = split_word(rest)?;
            let (calls, own_calls) = leading_u64(called)?;
            matches!(own_calls, [] | [b'+', ..]).then_some((calls, rest))
        };
        let (calls, name) = counted().unwrap_or((0, rest));
        let name = name.trim_ascii_start();
        if name.starts_with(b"<cycle ") {
            return Some(());
        }
        let name = function_name(name);
        self.caller = Some(name.to_vec());
        let own = nanoseconds(own)?;
        add(&mut self.graph, name, Figures { own, calls })
    }

    /// Returns the figures of both tables. The flat profile lacks functions without time and calls.
    fn times(&self) -> Result<CallTimes, Error> {
        let mut times = CallTimes::default();
        let named = |name: &[u8]| FunctionName {
            name: name.to_vec(),
            file: Vec::new(),
        };
        let others = self.graph.iter();
        let others = others.filter(|(name, _)| !self.flat.contains_key(*name));
        for (name, figures) in self.flat.iter().chain(others) {
            let function = times.function(named(name));
            times.add_own(function, figures.own)?;
            times.add_calls(function, figures.calls)?;
        }
        for (caller, callee, calls) in &self.arcs {
            let ends = [caller, callee].map(|name| times.function(named(name)));
            times.add_arc(ends[0], ends[1], *calls)?;
        }
        Ok(times)
    }
}

/// Parses a child: the number of calls from its parent, and its name.
fn child(line: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = split_word(line)?;
    if let Some(calls) = whole(first) {
        return Some((calls, rest));
    }
    let (_children, rest) = split_word(rest)?;
    let (called, name) = split_word(rest)?;
    let (calls, all) = leading_u64(called)?;
    all.starts_with(b"/").then_some((calls, name))
}

/// Adds figures to those of a function. Static functions of several files can have one name.
fn add(table: &mut BTreeMap<Vec<u8>, Figures>, name: &[u8], figures: Figures) -> Option<()> {
    let known = table.entry(name.to_vec()).or_default();
    known.own = known.own.checked_add(figures.own)?;
    known.calls = known.calls.checked_add(figures.calls)?;
    Some(())
}

/// Removes the index of a function, its cycle, and the place that `gprof -l` adds: `f <cycle 1> [3]`, `f (a.c:3 @ 401136)`.
fn function_name(text: &[u8]) -> &[u8] {
    let without = |text: &[u8], begin: &[u8], end: u8| -> Option<usize> {
        let inside = text.strip_suffix(&[end])?;
        memchr::memmem::rfind(inside, begin).filter(|at| *at > 0)
    };
    let mut name = text.trim_ascii();
    for (begin, end) in [(&b" ["[..], b']'), (b" <cycle ", b'>')] {
        if let Some(at) = without(name, begin, end) {
            name = &name[..at];
        }
    }
    if let Some(at) = without(name, b" (", b')')
        && memchr::memmem::find(&name[at..], b" @ ").is_some()
    {
        name = &name[..at];
    }
    name
}

/// Splits off the first word, after blanks; `None` if there is none.
fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (!word.is_empty()).then_some((word, rest))
}

fn whole(word: &[u8]) -> Option<u64> {
    leading_u64(word).and_then(|(number, rest)| rest.is_empty().then_some(number))
}

/// Converts seconds with decimals to ns.
fn nanoseconds(word: &[u8]) -> Option<u64> {
    let (seconds, rest) = leading_u64(word)?;
    let decimals = rest.strip_prefix(b".")?;
    let is_number = !decimals.is_empty() && decimals.len() <= 9;
    let decimals_value = whole(decimals).filter(|_| is_number)?;
    let unit = 10u64.pow(9 - decimals.len() as u32);
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(decimals_value * unit)
}
