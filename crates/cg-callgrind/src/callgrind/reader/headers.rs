//! Header lines, and their effect on the part that they begin.

use cg_costs::tables::CostRows;
use cg_reader::{BYTE_ORDER_MARK, excerpt};

use super::{CallgrindReader, Command, Stage};
use crate::callgrind::header;
use crate::callgrind::part::PartSums;
use crate::callgrind::position::Positions;
use crate::callgrind::recursion::RecursionSigns;
use crate::refusal::Refusal;

/// The keys that this reader uses.
const KNOWN_KEYS: [&[u8]; 12] = [
    b"version",
    b"creator",
    b"cmd",
    b"pid",
    b"part",
    b"thread",
    b"desc",
    b"event",
    b"positions",
    b"events",
    b"summary",
    b"totals",
];

impl CallgrindReader<'_> {
    /// Reads header lines, comments and sums. Refuses all other lines.
    pub(super) fn header_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
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
        if let Some(line) = line.strip_prefix(BYTE_ORDER_MARK) {
            return self.other_line(line);
        }
        let Some((key, value)) = header::key_and_value(line) else {
            return Err(Refusal::Unknown(format!(
                "expected a header line, a position or costs, found {}",
                excerpt(line)
            )));
        };
        if KNOWN_KEYS.contains(&key) {
            self.end_command();
        } else if self.command.is_some() && self.shown.is_callgrind {
            // Callgrind writes no other keys, so this line belongs to an argument.
            return Err(Refusal::Unknown(String::new()));
        }
        self.begin_part_with(key)?;
        self.has_header |= self.stage == Stage::Header;
        match key {
            b"version" => self.version(value)?,
            b"creator" => self.creator(value),
            b"cmd" => {
                self.command = Some(Command {
                    text: value.to_vec(),
                    line_number: self.line_number,
                });
            }
            b"pid" => {
                if let Some(pid) = cg_reader::number::whole_u64(value) {
                    if self.pid.replace(pid) != Some(pid) {
                        self.begin_run();
                    }
                    self.section.run.pid.record(pid);
                }
            }
            b"part" => {
                if let Some(part) = cg_reader::number::whole_u64(value) {
                    self.section.run.record_part(part);
                }
            }
            b"thread" => {
                if let Some(thread) = cg_reader::number::whole_u64(value) {
                    self.section.run.thread.record(thread);
                }
            }
            b"desc" => header::description(value, &mut self.section.run),
            b"event" => header::event_definition(value, &mut self.section.run),
            b"positions" => self.state.positions = Positions::from_header(value)?,
            b"events" => self.name_events(value)?,
            // A summary without preceding events has no meaning.
            b"summary" if self.stage == Stage::Header => {}
            b"summary" => self.summary = Some(header::sums(value, self.events.len())?),
            b"totals" => {
                if self.stage == Stage::Header {
                    return Err("expected events: before totals:".to_owned().into());
                }
                self.totals = Some((self.line_number, header::sums(value, self.events.len())?));
                self.stage = Stage::Totals;
            }
            // The format allows unknown keys in the header.
            _ if self.stage < Stage::Body => {}
            _ => {
                return Err(Refusal::Unknown(format!(
                    "expected a position or costs, found {}",
                    excerpt(line)
                )));
            }
        }
        Ok(())
    }

    /// Reads a header line that the format does not define as the rest of the command.
    pub(super) fn continue_command(&mut self, line: &[u8]) -> bool {
        let line_number = self.line_number;
        let Some(command) = self
            .command
            .as_mut()
            .filter(|_| self.stage == Stage::Header)
        else {
            return false;
        };
        // Empty lines in between also belong to the command.
        for _ in command.line_number..line_number {
            command.text.push(b'\n');
        }
        command.text.extend_from_slice(line);
        command.line_number = line_number;
        self.diagnostics.warn(format!(
            "{}:{line_number}: read as the rest of the command on the previous line: {}",
            self.source,
            excerpt(line)
        ));
        true
    }

    fn end_command(&mut self) {
        if let Some(command) = self.command.take() {
            let command = header::text(&command.text);
            if self.last_command.as_ref() != Some(&command) {
                self.begin_run();
                self.last_command = Some(command.clone());
            }
            self.section.run.command.record(command);
        }
    }

    /// Begins a run. Its parts may follow parts of another run, in files joined by `cat`. Resets the signs that the parts of
    /// one run have in common. Keeps the numbers of names, because each part of one run may have a whole header.
    fn begin_run(&mut self) {
        self.shown = RecursionSigns {
            is_callgrind: self.shown.is_callgrind,
            ..RecursionSigns::default()
        };
    }

    /// Begins a new part if a header line shows that the old part has ended.
    pub(super) fn begin_part_with(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let begins = match key {
            b"version" | b"pid" | b"part" | b"thread" => self.stage > Stage::Header,
            b"creator" | b"cmd" | b"desc" | b"event" | b"events" | b"positions" => {
                self.stage >= Stage::Body
            }
            _ => false,
        };
        if begins {
            self.next_part()?;
            self.is_anonymous = true;
        }
        Ok(())
    }

    fn version(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.is_anonymous = false;
        // Version 1 is the only version of the format. Xdebug 2 writes 0.9.6.
        match cg_reader::number::whole_u64(value) {
            Some(version) if version > 1 => {
                Err(format!("expected version 1 of the format, found version {version}").into())
            }
            _ => Ok(()),
        }
    }

    fn creator(&mut self, value: &[u8]) {
        self.is_anonymous = false;
        self.shown.is_callgrind = value.starts_with(b"callgrind");
        self.is_xtree = value.starts_with(b"xtree");
        self.is_xdebug = value.starts_with(b"xdebug");
        self.section.run.creator.record(header::text(value));
    }

    fn name_events(&mut self, value: &[u8]) -> Result<(), Refusal> {
        self.events = header::event_names(value)?;
        let columns = self.section.columns(&self.events);
        let is_identity = columns.iter().enumerate().all(|(at, column)| at == *column);
        self.columns = (!is_identity).then_some(columns);
        let (events, signedness) = (self.section.event_count(), self.section.signedness());
        if self.part.own.event_count() != events || self.part.signedness != signedness {
            self.part = PartSums::new(events, signedness, self.wanted);
        }
        if self.shown.levels && !self.wanted.arcs {
            self.part.arcs = None;
        } else {
            self.part
                .arcs
                .get_or_insert_with(|| CostRows::for_arcs(events));
        }
        self.stage = Stage::Events;
        self.has_header = false;
        Ok(())
    }

    /// Records that the body has begun.
    pub(super) fn begin_body(&mut self, what: &str) -> Result<(), Refusal> {
        match self.stage {
            Stage::Header => Err(Refusal::Unknown(format!("expected events: before {what}"))),
            _ => {
                self.stage = Stage::Body;
                Ok(())
            }
        }
    }
}
