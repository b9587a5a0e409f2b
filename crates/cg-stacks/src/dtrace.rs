//! DTrace's output of aggregations by stack: `profile-997 { @[execname, stack(), ustack()] = count(); }`.
//!
//! ```text
//! text  := header* entry*
//! entry := key* frame* ["\n" frame*] count "\n"     kernel frames, a blank line, frames of the program
//! frame := [module "`"] function ["+0x" offset]      innermost first
//! ```
//!
//! Keys other than stacks precede the frames, one per line. A text is the thread's name, a number is the pid. A number is a
//! count unless frames follow.

use cg_collections::intern::TooMany;
use cg_reader::number::whole_u64;
use cg_reader::{Error, LineEvidence, Lines, Reading};

use super::table::{FrameId, FrameParts, NameId, StackKey, StackTable};
use super::unread::UnreadLines;
use super::write;

/// The event: how often DTrace aggregated a stack.
const EVENT: &str = "samples";

/// Returns the evidence for the output of DTrace, before the first line.
pub fn line_evidence() -> Box<dyn LineEvidence> {
    Box::new(DtraceEvidence::default())
}

/// The numbers of lines of each kind.
#[derive(Default)]
struct DtraceEvidence {
    /// Frames with a module.
    frames: u64,
    counts: u64,
    others: u64,
}

impl LineEvidence for DtraceEvidence {
    fn add(&mut self, line: &[u8]) {
        match ScriptLine::parse(line) {
            ScriptLine::Blank | ScriptLine::Probe => {}
            _ if !line.starts_with(b" ") => self.others += 1,
            ScriptLine::Frame => self.frames += u64::from(line.contains(&b'`')),
            ScriptLine::Number(_) => self.counts += 1,
            ScriptLine::Text => self.others += 1,
        }
    }

    /// Many frames, and few other lines.
    fn is_proven(&self) -> bool {
        self.frames >= 16 && self.counts > 0 && self.frames + self.counts > self.others * 4
    }

    /// Frames with a module and counts, and more of these than other lines.
    fn is_likely(&self) -> bool {
        self.frames > 0 && self.counts > 0 && self.frames + self.counts > self.others
    }
}

/// Reads the aggregations of stacks that DTrace prints: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut script = DtraceScript {
        table: StackTable::new([EVENT]),
        demangle: reading.options.demangle,
        blocks: vec![Vec::new()],
        is_in_header: true,
        ..DtraceScript::default()
    };
    let read = script.read(reading.lines);
    (script.left_out).warn("neither a frame nor a count", reading);
    let run = reading.run("dtrace");
    write::write(run, &script.table, read, reading.out)
}

/// The kind of a line, judged without its context.
enum ScriptLine {
    Blank,
    /// The heading of the columns, or the probe that printed the following lines.
    Probe,
    Frame,
    Number(u64),
    Text,
}

impl ScriptLine {
    fn parse(line: &[u8]) -> ScriptLine {
        let text = line.trim_ascii();
        if text.is_empty() {
            return ScriptLine::Blank;
        }
        if text.contains(&b'`') || is_address(text) {
            return ScriptLine::Frame;
        }
        if is_probe(text) {
            return ScriptLine::Probe;
        }
        whole_u64(text).map_or(ScriptLine::Text, ScriptLine::Number)
    }
}

/// Returns true for `CPU     ID                    FUNCTION:NAME` and for `  0  64091                        :tick-60s`.
fn is_probe(text: &[u8]) -> bool {
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let [cpu, id, name, rest] = [(); 4].map(|()| words.next());
    let is_number = |word: Option<&[u8]>| word.is_some_and(|word| whole_u64(word).is_some());
    let is_heading = (cpu, id) == (Some(b"CPU"), Some(b"ID"));
    let is_name = name.is_some_and(|name| name.contains(&b':')) && rest.is_none();
    is_name && (is_heading || is_number(cpu) && is_number(id))
}

fn is_address(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"0x").unwrap_or_default();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}

/// The state of reading the output of DTrace.
#[derive(Default)]
struct DtraceScript {
    table: StackTable,
    demangle: bool,
    /// The stacks of the entry, innermost frame first.
    blocks: Vec<Vec<FrameId>>,
    thread: Option<NameId>,
    pid: Option<u64>,
    /// A number and its line. The next line decides if the number is a count or a pid.
    number: Option<(u64, u64)>,
    is_in_header: bool,
    left_out: UnreadLines,
}

impl DtraceScript {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            self.line(lines.last_line(), number)?;
        }
        self.end_entry(lines.line_number(), "the end of the input")
    }

    /// Ends the entry. Returns an error if it has frames without a count.
    fn end_entry(&mut self, line_number: u64, found: &str) -> Result<(), Error> {
        self.take_count()?;
        match self.blocks.iter().all(Vec::is_empty) {
            true => Ok(()),
            false => Err(Error::at(
                line_number,
                format!("expected a count after these frames, found {found}"),
            )),
        }
    }

    fn line(&mut self, line: &[u8], line_number: u64) -> Result<(), Error> {
        match ScriptLine::parse(line) {
            ScriptLine::Frame => {
                self.is_in_header = false;
                if let Some((pid, _)) = self.number.take() {
                    self.pid = Some(pid);
                }
                let frame = self.frame(line.trim_ascii())?;
                if let Some(block) = self.blocks.last_mut() {
                    block.push(frame);
                }
            }
            ScriptLine::Blank => {
                self.take_count()?;
                if self.is_in_header {
                    // A blank line follows, so the text was not a key: keys directly precede frames.
                    (self.thread, self.pid) = (None, None);
                }
                if self.blocks.last().is_some_and(|block| !block.is_empty()) {
                    self.blocks.push(Vec::new());
                }
            }
            ScriptLine::Probe => {
                self.end_entry(line_number, "the next probe")?;
                self.is_in_header = true;
            }
            ScriptLine::Number(number) => {
                self.take_count()?;
                self.number = Some((number, line_number));
            }
            ScriptLine::Text => {
                self.take_count()?;
                let is_before_frames = self.blocks.iter().all(Vec::is_empty);
                if is_before_frames && line.starts_with(b" ") {
                    self.key(line.trim_ascii())?;
                } else if !self.is_in_header {
                    self.left_out.add(line, line_number);
                }
            }
        }
        Ok(())
    }

    /// Reads a key that is not a stack: a text, which a number in a separate column may follow.
    fn key(&mut self, text: &[u8]) -> Result<(), TooMany> {
        let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
        let (front, number) = text.split_at(text.len() - digits.count());
        let (text, pid) = match whole_u64(number) {
            Some(pid) if front.ends_with(b"  ") => (front.trim_ascii_end(), Some(pid)),
            _ => (text, None),
        };
        self.thread = self.table.text_unless_empty(text)?;
        self.pid = pid.or(self.pid);
        Ok(())
    }

    /// Ends the entry if its count was read.
    fn take_count(&mut self) -> Result<(), Error> {
        let Some((count, _)) = self.number.take() else {
            return Ok(());
        };
        if self.is_in_header {
            return Ok(());
        }
        let frames = self.table.join_with_kernel(&self.blocks)?;
        let stack = self.table.stack(&frames)?;
        let row = self.table.row(StackKey {
            stack,
            thread: self.thread.take(),
            pid: self.pid.take(),
            ..StackKey::default()
        })?;
        self.table.add(row, 0, count.into());
        self.blocks.clear();
        self.blocks.push(Vec::new());
        Ok(())
    }

    fn frame(&mut self, text: &[u8]) -> Result<FrameId, TooMany> {
        let (object, symbol) = match memchr::memchr(b'`', text) {
            Some(tick) => (&text[..tick], &text[tick + 1..]),
            None => (&b""[..], text),
        };
        let name = match memchr::memmem::rfind(symbol, b"+0x") {
            Some(offset) if offset > 0 && is_address(&symbol[offset + 1..]) => &symbol[..offset],
            _ => symbol,
        };
        let parts = FrameParts {
            name: self.table.function(name, self.demangle)?,
            obj: self.table.text_unless_empty(object)?,
            ..FrameParts::default()
        };
        self.table.frame(parts)
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/dtrace.txt");

    #[test]
    fn entries_are_stacks_with_a_count() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "11: 0x401a2@demo<0x104d08831",
                "7:",
                "4: mutex_lock_impl@libc.so.1<operator new(unsigned long)@libc.so.1<main@demo",
                "2: zio_execute@zfs[kernel]<thread_start@unix[kernel]<_lwp_start@libc.so.1",
                "1: taskq_thread@genunix[kernel]",
            ]
        );
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }

    #[test]
    fn keys_precede_the_frames() {
        let text = "CPU     ID\n\n  java worker\n             77\n              a`f+0x1\n                3\n\n  java worker\n              a`f+0x1\n                4\n";
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(
            parsed.records_of_type("stack").len(),
            2,
            "{:?}",
            parsed.messages
        );
        let first: serde_json::Value = serde_json::from_str(&parsed.records[2]).unwrap();
        assert_eq!(
            (&first["pid"], &first["cost"]["samples"]),
            (&77.into(), &3.into())
        );
    }

    #[test]
    fn keys_of_the_first_entry_are_distinct_from_the_header() {
        for (keys, expected) in [
            ("  node\n", "3 node: f@a<g@b<h@b"),
            ("  node                        77\n", "3 node: f@a<g@b<h@b"),
            ("  tick 60\n", "3 tick 60: f@a<g@b<h@b"),
            (
                "  0  64091                        :tick-60s\n\n",
                "3: f@a<g@b<h@b",
            ),
            (
                "  0  64091                        :tick-60s\n\n\n  node\n",
                "3 node: f@a<g@b<h@b",
            ),
        ] {
            let text = format!(
                "CPU     ID    FUNCTION:NAME\n{keys}              a`f+0x1\n              b`g\n              b`h\n                3\n"
            );
            let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
            assert_eq!(shown_stacks(&parsed), [expected], "{keys}");
            assert_eq!(
                parsed.records_of_type("stack")[0].contains(r#""pid":77"#),
                keys.contains("77")
            );
            assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
        }
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
