//! bpftrace's output of maps whose keys are stacks: `profile:hz:99 { @[kstack, ustack, comm] = count(); }`.
//!
//! ```text
//! text  := (entry | other)*
//! entry := "@" name "[" key ("," key)* "]: " count "\n"
//! key   := "\n" ("    " frame "\n")*                  a stack, innermost frame first
//!        | word                                       comm, pid and the like, in the brackets or after a stack
//! frame := symbol "+" offset [" (" object ")"] | address
//! ```
//!
//! If an entry has two stacks, the first is the kernel's. A word is the thread's name, a number is the pid. Several words
//! are joined into one name, so that entries with different words stay separate.

use cg_collections::intern::TooMany;
use cg_collections::sorting::Order as _;
use cg_reader::{Error, LineEvidence, Lines, Reading};
use cg_stream::record::Count;

use super::table::{FrameId, FrameParts, NameId, StackKey, StackTable};
use super::unread::UnreadLines;
use super::write;

/// The event of the map without a name.
const EVENT: &str = "samples";

/// Returns the evidence for the output of bpftrace, before the first line.
pub fn line_evidence() -> Box<dyn LineEvidence> {
    Box::new(BpftraceEvidence::default())
}

/// The parts of a map entry that were found.
#[derive(Default)]
struct BpftraceEvidence {
    is_open: bool,
    has_frames: bool,
    is_closed: bool,
}

impl LineEvidence for BpftraceEvidence {
    fn add(&mut self, line: &[u8]) {
        if opened(line).is_some() {
            self.is_open = true;
        } else if self.is_open && matches!(line, [b' ' | b'\t', ..]) {
            self.has_frames = true;
        }
        self.is_closed |= self.has_frames && closed(line).is_some();
    }

    /// An entry with frames.
    fn is_proven(&self) -> bool {
        self.is_closed
    }

    fn is_likely(&self) -> bool {
        self.is_closed
    }
}

/// Reads the maps that bpftrace prints: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut maps = BpftraceMaps {
        demangle: reading.options.demangle,
        ..BpftraceMaps::default()
    };
    let read = maps.read(reading.lines);
    maps.left_out.warn("not an entry of a map", reading);
    // Sorts the maps by name, so that the order of the entries does not matter.
    let mut order: Vec<usize> = (0..maps.table.events().len()).collect();
    order.order_by_key(|event| {
        let name = &maps.table.events()[*event];
        (name != EVENT, name)
    });
    maps.table.reorder_events(&order);
    let run = reading.run("bpftrace");
    write::write(run, &maps.table, read, reading.out)
}

/// Parses the first line of an entry: returns the name of the map, and the text after the bracket.
fn opened(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = line.strip_prefix(b"@")?;
    let bracket = memchr::memchr(b'[', text)?;
    let name = &text[..bracket];
    let is_name = name
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_name.then_some((name, &text[bracket + 1..]))
}

/// Parses the last line of an entry: returns the text before the bracket, and the count.
fn closed(line: &[u8]) -> Option<(&[u8], Count)> {
    let bracket = memchr::memmem::rfind(line, b"]: ")?;
    let count = std::str::from_utf8(&line[bracket + 3..]).ok()?.trim();
    let count: i64 = match count.parse::<i64>() {
        Ok(count) => count,
        Err(_) => {
            return count
                .parse::<u64>()
                .ok()
                .map(|count| (&line[..bracket], count.into()));
        }
    };
    Some((&line[..bracket], count.into()))
}

/// The state of reading the output of bpftrace.
#[derive(Default)]
struct BpftraceMaps {
    table: StackTable,
    demangle: bool,
    entry: Option<MapEntry>,
    left_out: UnreadLines,
}

/// The state of reading an entry.
struct MapEntry {
    event: usize,
    line: u64,
    /// The stacks of the entry, innermost frame first.
    stacks: Vec<Vec<FrameId>>,
    thread: Option<NameId>,
    pid: Option<u64>,
}

impl BpftraceMaps {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            self.line(lines.last_line().trim_ascii_end(), number)?;
        }
        match &self.entry {
            Some(entry) => Err(Error::at(
                entry.line,
                "expected the count of this entry, found the end of the input",
            )),
            None => Ok(()),
        }
    }

    fn line(&mut self, line: &[u8], number: u64) -> Result<(), Error> {
        if self.entry.is_none() {
            let Some((name, rest)) = opened(line) else {
                self.leave_out(line, number);
                return Ok(());
            };
            let event = match name {
                b"" => self.table.event(EVENT),
                name => self.table.event(&String::from_utf8_lossy(name)),
            };
            self.entry = Some(MapEntry {
                event,
                line: number,
                stacks: Vec::new(),
                thread: None,
                pid: None,
            });
            return self.keys(rest);
        }
        let is_frame = line.starts_with(b" ") || line.starts_with(b"\t");
        match is_frame {
            true => self.frame(line.trim_ascii()),
            false => self.keys(line),
        }
    }

    /// Reads the words between the stacks of an entry, or its last line.
    fn keys(&mut self, text: &[u8]) -> Result<(), Error> {
        let (words, count) = match closed(text) {
            Some((words, count)) => (words, Some(count)),
            None => (text, None),
        };
        let Some(entry) = &mut self.entry else {
            return Ok(());
        };
        for word in words.split(|byte| *byte == b',') {
            let word = word.trim_ascii();
            match cg_reader::number::whole_u64(word) {
                Some(pid) => entry.pid = Some(pid),
                None if word.is_empty() => {}
                None => {
                    let text = match self.table.name(entry.thread) {
                        Some(before) => [before.as_bytes(), b", ", word].concat(),
                        None => word.to_vec(),
                    };
                    entry.thread = self.table.text_unless_empty(&text)?;
                }
            }
        }
        // Frames that follow belong to the next key.
        entry.stacks.push(Vec::new());
        let Some(count) = count else { return Ok(()) };
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        // The last list is not a stack, because no key follows it. Other empty lists are stacks without frames.
        let stacks = &entry.stacks[..entry.stacks.len() - 1];
        let frames = self.table.join_with_kernel(stacks)?;
        let stack = self.table.stack(&frames)?;
        let row = self.table.row(StackKey {
            stack,
            thread: entry.thread,
            pid: entry.pid,
            ..StackKey::default()
        })?;
        self.table.add(row, entry.event, count);
        Ok(())
    }

    fn frame(&mut self, text: &[u8]) -> Result<(), Error> {
        let frame = self.described(text)?;
        if let Some(stack) = self
            .entry
            .as_mut()
            .and_then(|entry| entry.stacks.last_mut())
        {
            stack.push(frame);
        }
        Ok(())
    }

    fn described(&mut self, text: &[u8]) -> Result<FrameId, TooMany> {
        // With `ustack(perf)` an address comes first and an object last.
        let (symbol, object) = match (text.strip_suffix(b")"), memchr::memmem::rfind(text, b" (")) {
            (Some(inside), Some(blank)) if text[..blank].contains(&b'+') => {
                (&text[..blank], &inside[blank + 2..])
            }
            _ => (text, &b""[..]),
        };
        let symbol = match memchr::memchr(b' ', symbol) {
            Some(blank)
                if !object.is_empty() && symbol[..blank].iter().all(u8::is_ascii_hexdigit) =>
            {
                &symbol[blank + 1..]
            }
            _ => symbol,
        };
        let digits = symbol
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let name = match symbol[..symbol.len() - digits].strip_suffix(b"+") {
            Some(name) if digits > 0 && !name.is_empty() => name,
            _ => symbol,
        };
        let parts = FrameParts {
            name: self.table.function(name, self.demangle)?,
            obj: match object {
                b"[unknown]" => None,
                object => self.table.text_unless_empty(object)?,
            },
            ..FrameParts::default()
        };
        self.table.frame(parts)
    }

    fn leave_out(&mut self, line: &[u8], number: u64) {
        let is_talk = line.is_empty() || line.starts_with(b"Attach") || line == b"^C";
        if !is_talk {
            self.left_out.add(line, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/bpftrace.txt");

    #[test]
    fn entries_are_stacks_with_a_count() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "12: vfs_read<ksys_read",
                "9 comm:",
                "5 tracepoint:x, dd: main",
                "3 dd: vfs_write<ksys_write",
                "2 my app: do_syscall_64[kernel]<operator new(unsigned long)<0x7f0011223344<main",
                "1 idle: main",
                "0: main",
            ]
        );
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        assert_eq!(
            run["total"],
            serde_json::json!({"samples": 32, "bytes": 4096})
        );
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }

    #[test]
    fn rust_names_that_a_cpp_demangler_left_in_part_lose_their_hash() {
        let text = "@[\n\tdemo::Pool$LT$T$GT$::get::h64bbc2df299ab37d+17\n\tmain+2\n]: 3\n";
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(shown_stacks(&parsed), ["3: demo::Pool<T>::get<main"]);
    }

    #[test]
    fn frames_in_the_form_of_perf_have_objects() {
        let text = "@[\n\t7f0011223344 f(int)+17 (/opt/demo)\n\t401136 main+2 (/opt/demo)\n]: 3\n";
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            ["3: f(int)@/opt/demo<main@/opt/demo"]
        );
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
