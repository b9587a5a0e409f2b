//! Thread dumps of a JVM, printed by `jstack PID`, `jcmd PID Thread.print` or `kill -QUIT`. A file has one dump or several;
//! several dumps make a profile.
//!
//! ```text
//! dump   := "Full thread dump " … thread* "JNI global refs…"
//! thread := "\"" name "\"" … "   java.lang.Thread.State: " state frame*
//! frame  := "\tat " function "(" (module "/")? (file ":" line | "Native Method" | "Unknown Source") ")"
//! ```
//!
//! Each thread that has frames is a stack. It counts as `samples` if it is RUNNABLE, and as `waiting` in any other state.
//! For the JVM a thread that waits in a system call is RUNNABLE; its function names show that it waits.

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Reading};
use cg_stream::record::RunRecord;

use super::table::{FrameId, FrameParts, NameId, StackKey, StackTable};
use super::write::write;

/// The text before the state of a thread, in the line after its name.
const STATE: &[u8] = b"java.lang.Thread.State: ";

/// Returns true for a line that only thread dumps contain.
pub fn is_dump_line(line: &[u8]) -> bool {
    const STATES: [&[u8]; 6] = [
        b"RUNNABLE",
        b"WAITING",
        b"TIMED_WAITING",
        b"BLOCKED",
        b"NEW",
        b"TERMINATED",
    ];
    let state = line
        .strip_prefix(b"   ")
        .and_then(|line| line.strip_prefix(STATE));
    let word = state.and_then(|state| state.split(|byte| *byte == b' ').next());
    word.is_some_and(|word| STATES.contains(&word)) || is_title(line)
}

fn is_title(line: &[u8]) -> bool {
    line.starts_with(b"Full thread dump ") && line.ends_with(b"):")
}

/// Reads thread dumps: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut dumps = ThreadDumps {
        run: reading.run("jstack"),
        table: StackTable::new(["samples", "waiting"]),
        thread: None,
        is_running: None,
        frames: Vec::new(),
        count: 0,
    };
    let read = dumps.read(reading.lines);
    if dumps.count > 0 {
        let labels = &mut dumps.run.sampling.labels;
        labels.insert("dumps".to_owned(), dumps.count.to_string());
    }
    write(dumps.run, &dumps.table, read, reading.out)
}

/// The state of reading dumps.
struct ThreadDumps {
    run: RunRecord,
    table: StackTable,
    thread: Option<NameId>,
    /// True if the thread is RUNNABLE; `None` outside a thread.
    is_running: Option<bool>,
    /// The frames of the current thread, innermost first.
    frames: Vec<FrameId>,
    /// The number of dumps.
    count: u64,
}

impl ThreadDumps {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line().trim_ascii_end();
            let text = line.trim_ascii_start();
            if let Some(frame) = text.strip_prefix(b"at ")
                && self.is_running.is_some()
            {
                let frame = self.frame(frame).map_err(|bad| match bad {
                    None => Error::unexpected(number, "a frame", text),
                    Some(error) => error,
                })?;
                self.frames.push(frame);
            } else if line.starts_with(b"\"") {
                self.end_thread()?;
                self.thread = thread_name(line)
                    .map(|name| self.table.text(name))
                    .transpose()?;
            } else if let Some(state) = text.strip_prefix(STATE) {
                self.is_running = Some(state.starts_with(b"RUNNABLE"));
            } else if line.is_empty() {
                self.end_thread()?;
            } else if is_title(line) {
                self.end_thread()?;
                self.count += 1;
                let machine = line.strip_prefix(b"Full thread dump ").unwrap_or_default();
                let machine = machine.strip_suffix(b":").unwrap_or(machine);
                self.run.creator = Some(String::from_utf8_lossy(machine).into_owned());
            }
        }
        self.end_thread()
    }

    /// Adds the current thread to the table.
    fn end_thread(&mut self) -> Result<(), Error> {
        let is_running = self.is_running.take();
        let thread = self.thread.take();
        if let Some(is_running) = is_running
            && !self.frames.is_empty()
        {
            let stack = self.table.stack(&self.frames)?;
            let row = self.table.row(StackKey {
                stack,
                thread,
                ..StackKey::default()
            })?;
            self.table.add(row, usize::from(!is_running), 1);
        }
        self.frames.clear();
        Ok(())
    }

    /// Parses a frame: `J.main(J.java:11)` or `java.lang.Thread.sleep(java.base@17/Native Method)`. The error is `None` if
    /// the text is not a frame.
    fn frame(&mut self, text: &[u8]) -> Result<FrameId, Option<Error>> {
        let inside = text.strip_suffix(b")").ok_or(None)?;
        let open = memchr::memrchr(b'(', inside)
            .filter(|open| *open > 0)
            .ok_or(None)?;
        let place = &inside[open + 1..];
        let place = memchr::memrchr(b'/', place).map_or(place, |slash| &place[slash + 1..]);
        let (file, line) = match memchr::memrchr(b':', place) {
            Some(colon) => (&place[..colon], whole_u64(&place[colon + 1..])),
            None => (place, None),
        };
        let has_file = line.is_some() || file.ends_with(b".java");
        let mut parts = || {
            Ok::<_, Error>(FrameParts {
                name: self.table.text_unless_empty(&inside[..open])?,
                file: match has_file {
                    true => self.table.text_unless_empty(file)?,
                    false => None,
                },
                line,
                ..FrameParts::default()
            })
        };
        let parts = parts().map_err(Some)?;
        self.table.frame(parts).map_err(|error| Some(error.into()))
    }
}

/// Returns the text between the first and the last quotation mark, because names are not escaped.
fn thread_name(line: &[u8]) -> Option<&[u8]> {
    let end = memchr::memrchr(b'"', line).filter(|end| *end > 1)?;
    Some(&line[1..end])
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/jstack/17.txt");

    #[test]
    fn running_threads_are_samples_and_others_are_waiting() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert!(
            !parsed.has_errors && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        assert_eq!(run["total"]["samples"], 4);
        assert_eq!(run["labels"]["dumps"], "2");
        let stacks = shown_stacks(&parsed);
        assert!(
            stacks.contains(
                &"2 worker: \"odd\" 1: J.leaf<J.rec<J.rec<J.rec<J.rec<J.heavy<J.lambda$main$0<J$$Lambda$1/0x00007f39c4000a08.run<java.lang.Thread.run".to_owned()
            ),
            "{stacks:#?}"
        );
        let waits = parsed
            .records
            .iter()
            .filter(|record| record.contains("\"waiting\":2"));
        let waits: Vec<_> = waits
            .filter(|record| record.contains(r#""thread":"main""#))
            .collect();
        assert_eq!(waits.len(), 1);
        assert!(waits[0].contains(r#"{"fn":"J.main","file":"J.java","line":11}"#));
        assert!(waits[0].contains(r#"{"fn":"java.lang.Thread.sleep"}"#));
    }

    #[test]
    fn lines_of_other_texts_are_not_dump_lines() {
        for (line, is_of_dump) in [
            ("   java.lang.Thread.State: RUNNABLE", true),
            ("   java.lang.Thread.State: WAITING (parking)", true),
            (
                "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):",
                true,
            ),
            ("} elsif (/java.lang.Thread.State: (\\S+)/) {", false),
            ("   java.lang.Thread.State: is printed", false),
            ("java.lang.Thread.State: RUNNABLE", false),
            ("Full thread dump follows", false),
        ] {
            assert_eq!(super::is_dump_line(line.as_bytes()), is_of_dump, "{line}");
        }
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
        let cut = &TEXT[..TEXT.find("J.java:6)").unwrap()];
        let parsed = parsed::read(super::parse, cut.as_bytes(), &Options::default());
        assert!(parsed.messages[0].contains("expected a frame, found \"at J.heavy("));
        assert!(parsed.has_errors && !parsed.records_of_type("stack").is_empty());
    }
}
