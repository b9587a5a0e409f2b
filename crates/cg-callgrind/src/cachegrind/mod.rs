//! Cachegrind's profile format.
//!
//! Manual: Cachegrind, "Cachegrind Out File Format"; writer: `cachegrind/cg_main.c:fprint_CC_table_and_calc_totals`,
//! and `cg_diff` and `cg_merge`, which write the same.
//!
//! ```text
//! desc: …          any number of lines; none if the cache is not simulated (3.21 and later)
//! cmd: …
//! events: Ir …
//! fl=FILE
//! fn=FUNCTION
//! LINE COUNT …     0 is an unknown line; missing counts and `.` are 0; cg_diff writes negative ones
//! summary: …       the sum of all counts, always last
//! ```
//!
//! There are no objects, calls or inclusive cost, and names are written in full. Paths and symbols may have line ends, which
//! are not escaped. A function has an entry under each source file of its code, and the format does not mark its own file.
//! [`fold`] finds this file and makes one record per function, as in a Callgrind profile. Very old files have `fi=` and
//! `fe=`, which change the file of the lines and not the function. Files joined by `cat` are read one by one.

use std::mem;

use cg_collections::intern::TooMany;
use cg_costs::ids::{FunctionId, StringId};
use cg_costs::section::{Section, SectionFunction};
use cg_costs::tables::{Added, LineKey, Signedness};
use cg_names::demangle::demangle;
use cg_reader::number::leading_u64;
use cg_reader::{BYTE_ORDER_MARK, Error, Lines, Options, excerpt};
use cg_stream::Diagnostics;

use super::PartDone;
use super::continued::{NameLine, append_to_name};
use super::refusal::Refusal;
use crate::callgrind::{counts::LineCounts, header};

mod fold;

/// Adds a profile to a section, file by file if the input has several. If there is an error, the section keeps the data read
/// before it.
pub(crate) fn read(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    section: &mut Section,
    part_done: PartDone,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    section.run.add_source(source);
    let mut part = Section::new("cachegrind", false);
    mem::swap(&mut part.strings, &mut section.strings);
    let mut reader = CachegrindReader {
        source,
        part,
        section,
        part_done,
        diagnostics,
        demangle: options.demangle,
        wants_lines: options.lines || options.instr,
        line_number: 0,
        events: Vec::new(),
        columns: Vec::new(),
        sums: Vec::new(),
        command: None,
        file: StringId::NOT_GIVEN,
        line_file: StringId::NOT_GIVEN,
        function: None,
        name_line: None,
        counts: LineCounts::default(),
        row: Vec::new(),
        summary: None,
    };
    let read = reader
        .read(lines)
        .and_then(|()| reader.finish(!lines.ended_with_newline()));
    mem::swap(&mut reader.part.strings, &mut reader.section.strings);
    let added = reader.add_part();
    read.and(added)
        .map_err(|refusal| refusal.at(reader.line_number))
        .inspect_err(|_| reader.section.mark_incomplete())
}

#[derive(Clone, Copy)]
enum NameKey {
    Function,
    File,
    LineFile,
}

struct CachegrindReader<'a> {
    source: &'a str,
    /// The current profile, with the events of the section. Until the profile ends, it also holds the names of the section.
    part: Section,
    section: &'a mut Section,
    part_done: PartDone<'a>,
    diagnostics: &'a mut Diagnostics,
    demangle: bool,
    wants_lines: bool,
    line_number: u64,
    /// Empty in the header.
    events: Vec<String>,
    columns: Vec<usize>,
    /// The sum of each event, for comparison with `summary:`.
    sums: Vec<i128>,
    /// The `cmd:` of the current header.
    command: Option<Vec<u8>>,
    file: StringId,
    /// The file of the lines: `file`, unless an old profile has changed it by `fi=`.
    line_file: StringId,
    function: Option<FunctionId>,
    /// The last line that contained a name, and the name.
    name_line: Option<NameLine<(NameKey, StringId)>>,
    counts: LineCounts,
    row: Vec<u64>,
    summary: Option<Vec<i128>>,
}

impl CachegrindReader<'_> {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Refusal> {
        while lines
            .advance()
            .map_err(|error| Refusal::Other(Error::Input(error)))?
        {
            self.line_number = lines.line_number();
            let line = match lines.last_line() {
                [line @ .., b'\r'] => line,
                line => line,
            };
            match self.line(line) {
                Err(Refusal::Unknown(message)) if !self.continues(line)? => {
                    return Err(message.into());
                }
                Err(Refusal::Unknown(_)) => {}
                result => result?,
            }
        }
        Ok(())
    }

    #[inline]
    fn line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        match line {
            [b'0'..=b'9', ..] => self.cost_line(line),
            [b'f', b'n', b'=', name @ ..] => self.name_line(NameKey::Function, name),
            [b'f', b'l', b'=', name @ ..] => self.name_line(NameKey::File, name),
            [b'f', b'i' | b'e', b'=', name @ ..] => self.name_line(NameKey::LineFile, name),
            [] | [b'#', ..] => Ok(()),
            _ => self.header_line(line),
        }
    }

    /// Checks that costs are allowed here, after `events:` and before `summary:`.
    fn check_in_body(&self) -> Result<(), Refusal> {
        if self.events.is_empty() {
            return Err(Refusal::Unknown(
                "expected events: before the first position".to_owned(),
            ));
        }
        if self.summary.is_some() {
            return Err("expected another profile or nothing after summary:"
                .to_owned()
                .into());
        }
        Ok(())
    }

    #[inline]
    fn cost_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        self.check_in_body()?;
        let refused = || {
            Refusal::Unknown(format!(
                "expected a line number and counts, found {}",
                excerpt(line)
            ))
        };
        let (line_number, rest) = leading_u64(line).ok_or_else(refused)?;
        let rest = match rest {
            [] => rest,
            [b' ' | b'\t', ..] => rest.trim_ascii_start(),
            _ => return Err(refused()),
        };
        self.counts.read(rest, self.events.len())?;
        if self.counts.has_negative() && self.part.signedness() == Signedness::Unsigned {
            self.switch_to_signed()
                .map_err(|_| "a negative count in a profile with counts beyond 2^63".to_owned())?;
        }
        let function = match self.function {
            Some(function) => function,
            // cg_annotate calls such functions `<unspecified>`. The stream omits the missing name.
            None => self.begin_function(StringId::NOT_GIVEN)?,
        };
        let signedness = self.part.signedness();
        self.row.clear();
        self.row.resize(self.part.event_count(), 0);
        for ((count, column), sum) in self
            .counts
            .get()
            .iter()
            .zip(&self.columns)
            .zip(&mut self.sums)
        {
            self.row[*column] = self.row[*column].wrapping_add(*count);
            *sum += signedness.count(*count);
        }
        self.part.add_cost(function, &self.row)?;
        if self.wants_lines {
            let key = LineKey {
                function,
                file: self.line_file,
                line: line_number,
                address: None,
            };
            self.part.add_line(key, &self.row)?;
        }
        Ok(())
    }

    fn name_line(&mut self, key: NameKey, name: &[u8]) -> Result<(), Refusal> {
        self.check_in_body()?;
        let id = self.part.strings.intern(name)?;
        self.name_line = Some(NameLine::new(self.line_number, (key, id)));
        match key {
            NameKey::Function => {
                let id = if self.demangle {
                    self.part.strings.intern(&demangle(name))?
                } else {
                    id
                };
                self.begin_function(id)?;
            }
            NameKey::File => {
                self.file = id;
                self.line_file = id;
                self.function = None;
            }
            NameKey::LineFile => self.line_file = id,
        }
        Ok(())
    }

    fn begin_function(&mut self, name: StringId) -> Result<FunctionId, TooMany> {
        let function = self.part.function(SectionFunction {
            name,
            file: self.file,
            object: StringId::NOT_GIVEN,
        })?;
        self.function = Some(function);
        Ok(function)
    }

    fn header_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        if let Some(line) = line.strip_prefix(BYTE_ORDER_MARK) {
            return self.line(line);
        }
        let Some((key, value)) = header::key_and_value(line) else {
            return Err(self.unknown(line));
        };
        if matches!(key, b"desc" | b"cmd" | b"events") && self.summary.is_some() {
            self.finish(false)?;
            self.next_part()?;
        }
        let in_header = self.events.is_empty();
        match key {
            b"desc" if in_header => header::description(value, &mut self.section.run),
            b"cmd" if in_header => self.command = Some(value.to_vec()),
            b"events" if in_header => {
                if let Some(command) = self.command.take() {
                    self.section.run.command.record(header::text(&command));
                }
                self.events = header::event_names(value)?;
                self.section.columns(&self.events);
                self.part.columns(self.section.events());
                self.columns = self.part.columns(&self.events);
                if self.section.signedness() == Signedness::Signed {
                    self.part.switch_to_signed()?;
                }
                self.sums = vec![0; self.events.len()];
            }
            b"summary" if !in_header => {
                self.check_in_body()?;
                self.summary = Some(header::sums(value, self.events.len())?);
            }
            _ => return Err(self.unknown(line)),
        }
        Ok(())
    }

    fn unknown(&self, line: &[u8]) -> Refusal {
        let expected = if self.events.is_empty() {
            "desc:, cmd: or events:"
        } else {
            "fl=, fn=, a line number or summary:"
        };
        Refusal::Unknown(format!("expected {expected}, found {}", excerpt(line)))
    }

    /// Reads a line that the format does not define as the rest of the previous line. Cachegrind does not escape line ends
    /// in arguments, paths and symbols. Returns false if the previous line cannot be continued.
    #[cold]
    fn continues(&mut self, line: &[u8]) -> Result<bool, Refusal> {
        if let Some(command) = self.command.as_mut().filter(|_| self.events.is_empty()) {
            command.push(b'\n');
            command.extend_from_slice(line);
            return Ok(true);
        }
        let given = self
            .name_line
            .and_then(|name| name.continued_at(self.line_number));
        let Some((key, begun)) = given else {
            return Ok(false);
        };
        let name = append_to_name(
            self.part.strings.get(begun),
            line,
            self.source,
            self.line_number,
            self.diagnostics,
        );
        self.name_line(key, &name)?;
        Ok(true)
    }

    /// Treats all counts as signed from now on.
    #[cold]
    fn switch_to_signed(&mut self) -> Added {
        self.section.switch_to_signed()?;
        self.part.switch_to_signed()
    }

    /// Adds the complete profile to the section. Merges only functions within this profile. The names have to be in the
    /// section.
    fn add_part(&mut self) -> Result<(), Refusal> {
        let same = fold::same_functions(&self.part, &self.section.strings);
        Ok(self.section.add_part(&mut self.part, &same)?)
    }

    /// Adds the profile to the section and prepares for the next profile.
    fn next_part(&mut self) -> Result<(), Refusal> {
        mem::swap(&mut self.part.strings, &mut self.section.strings);
        let added = self.add_part();
        let done = added.and_then(|()| (self.part_done)(self.section).map_err(Refusal::Other));
        mem::swap(&mut self.part.strings, &mut self.section.strings);
        self.part.clear();
        done
    }

    /// Ends a profile. Checks `summary:`, which Cachegrind always writes.
    fn finish(&mut self, is_cut: bool) -> Result<(), Refusal> {
        let Some(summary) = self.summary.take() else {
            return Err(
                "expected summary: at the end, found the end of the file; the profile is cut short"
                    .to_owned()
                    .into(),
            );
        };
        if summary != self.sums && is_cut {
            return Err("the summary: is cut short by the end of the file"
                .to_owned()
                .into());
        }
        for ((event, summary), sum) in self.events.iter().zip(&summary).zip(&self.sums) {
            // A summary is arithmetic modulo 2^64.
            self.section.run.add_summary(event, *summary as u64);
            if summary != sum {
                self.section.mark_incomplete();
                self.diagnostics.error(format!(
                    "{}:{}: summary: has {summary} {event}, but the counts add up to {sum}",
                    self.source, self.line_number
                ));
            }
        }
        self.section.run.parts += 1;
        self.events.clear();
        self.file = StringId::NOT_GIVEN;
        self.line_file = StringId::NOT_GIVEN;
        self.function = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
